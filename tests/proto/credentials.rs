//! Credentials: one flight for all that were refused, and what waits for it (ARCHITECTURE.md,
//! "Sessions and eras").

use crate::world::{header, id_of, note, options, result, World, GREETING, JSON, SSE};
use landfall::proto::{
    CallId, CallSpec, Challenge, ExchangeId, Options, Outcome, Reason, ResponseHead, TimeoutOptions,
};

fn world() -> World {
    World::connected(Options { auth: true, ..options() })
}

fn refuse(world: &mut World, exchange: ExchangeId, status: u16) {
    world.input_head(
        exchange,
        ResponseHead {
            status,
            challenged: true,
            insufficient_scope: status == 403,
            ..ResponseHead::default()
        },
    );
    world.end(exchange);
}

/// A call that is refused for its credentials.
fn refused(world: &mut World) -> CallId {
    let call = world.call();
    let (post, _) = world.request();
    refuse(world, post, 401);
    call
}

fn authorized(world: &mut World, ok: bool) {
    world.client.authorized(world.now, ok);
    world.drain();
}

fn answer(world: &mut World, call: CallId) {
    let (post, request) = world.request();
    let id = id_of(&request);
    world.head(post, 200, JSON, None);
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    world.end(post);
    assert!(world.answer(call).contains("result"));
}

#[test]
fn calls_that_are_refused_at_once_share_one_flight_and_go_again_under_their_ids() {
    let mut world = world();
    let calls: Vec<_> = (0..5).map(|_| world.call()).collect();
    let sent: Vec<_> = calls.iter().map(|_| world.request()).collect();
    for (post, _) in &sent {
        refuse(&mut world, *post, 401);
    }
    assert_eq!(world.challenges, [(calls[0], Challenge::Unauthorized)]);
    assert!(world.requests.is_empty());
    authorized(&mut world, true);
    let ids: Vec<_> = world.requests.iter().map(|(_, request)| id_of(request)).collect();
    assert_eq!(ids, sent.iter().map(|(_, request)| id_of(request)).collect::<Vec<_>>());
    for call in calls {
        answer(&mut world, call);
    }
    world.assert_nothing_is_left();
}

#[test]
fn calls_that_are_sent_again_with_new_credentials_take_no_more_connections_than_there_are() {
    let mut world = World::connected(Options { auth: true, max_concurrent: Some(2.0), ..options() });
    let first = refused(&mut world);
    let second = refused(&mut world);
    authorized(&mut world, true);
    assert_eq!(world.requests.len(), 1, "one connection is the callers'");
    answer(&mut world, first);
    answer(&mut world, second);
    world.assert_nothing_is_left();
}

#[test]
fn a_late_refusal_of_the_old_credentials_needs_no_second_flight() {
    let mut world = world();
    let (first, second) = (world.call(), world.call());
    let ((a, _), (b, _)) = (world.request(), world.request());
    refuse(&mut world, a, 401);
    authorized(&mut world, true);
    refuse(&mut world, b, 401);
    assert_eq!(world.challenges.len(), 1);
    answer(&mut world, first);
    answer(&mut world, second);
}

#[test]
fn a_refusal_right_after_a_flight_is_final_and_an_accepted_request_arms_it_again() {
    let mut world = world();
    let call = refused(&mut world);
    authorized(&mut world, true);
    let (post, _) = world.request();
    refuse(&mut world, post, 401);
    assert_eq!(world.failure(call).reason, Reason::Unauthorized);
    assert_eq!(world.failure(call).outcome, Outcome::Rejected);
    assert_eq!(world.challenges.len(), 1);

    let mut world = self::world();
    for flights in 1..4 {
        let call = refused(&mut world);
        assert_eq!(world.challenges.len(), flights);
        authorized(&mut world, true);
        answer(&mut world, call);
    }
}

#[test]
fn credentials_that_are_not_to_be_had_fail_who_waits_and_nobody_else() {
    let mut world = world();
    let (running, id, stream) = world.streaming();
    let call = refused(&mut world);
    authorized(&mut world, false);
    assert_eq!(world.failure(call).reason, Reason::Unauthorized);
    world.body(stream, &result(&id));
    assert!(world.answer(running).contains("true"));
    let next = refused(&mut world);
    assert_eq!(world.challenges.len(), 2, "the next refusal asks again");
    authorized(&mut world, true);
    answer(&mut world, next);
}

#[test]
fn a_provider_that_is_late_ends_who_waits_after_handshake_ms() {
    let mut world = world();
    let call = refused(&mut world);
    world.pass(29_999);
    assert!(world.is_pending(call));
    world.pass(1);
    assert_eq!(world.failure(call).reason, Reason::ConnectTimeout);
    authorized(&mut world, true);
    assert!(world.requests.is_empty());
    world.assert_nothing_is_left();
}

#[test]
fn a_resume_that_is_refused_keeps_its_cursor() {
    let mut world = world();
    let (call, id, post) = world.streaming();
    world.body(post, &note("e1", "a"));
    world.cut(post);
    let (_, get, _) = world.next_request();
    refuse(&mut world, get, 401);
    assert_eq!(world.challenges, [(call, Challenge::Unauthorized)]);
    authorized(&mut world, true);
    let (get, request) = world.request();
    assert_eq!(header(&request, "last-event-id"), Some("e1"));
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("true"));
}

#[test]
fn more_scope_is_asked_for_as_often_as_the_user_allows() {
    for most in [0, 1, 2] {
        let mut world =
            World::connected(Options { auth: true, max_step_ups: Some(f64::from(most)), ..options() });
        let call = world.call();
        for _ in 0..most {
            let (post, _) = world.request();
            refuse(&mut world, post, 403);
            authorized(&mut world, true);
        }
        let (post, _) = world.request();
        refuse(&mut world, post, 403);
        assert_eq!(world.failure(call).reason, Reason::Forbidden);
        assert_eq!(world.challenges, vec![(call, Challenge::StepUp); most as usize]);
    }
}

#[test]
fn without_a_provider_a_refusal_is_final() {
    let mut world = World::connected(options());
    let call = refused(&mut world);
    assert_eq!(world.failure(call).reason, Reason::Unauthorized);
    assert!(world.challenges.is_empty());
}

#[test]
fn a_call_that_is_cancelled_while_it_waits_is_not_sent_again() {
    let mut world = world();
    let call = refused(&mut world);
    world.client.cancel(world.now, call);
    world.drain();
    authorized(&mut world, true);
    assert!(world.requests.is_empty(), "neither the call nor a word to the server, which has refused it");
    world.assert_nothing_is_left();
}

#[test]
fn the_handshake_waits_for_credentials_too() {
    let mut world = World::new(Options { auth: true, ..options() });
    world.client.connect(world.now);
    world.drain();
    let (post, _) = world.request();
    refuse(&mut world, post, 401);
    world.pass(20_000);
    authorized(&mut world, true);
    let (post, request) = world.request();
    let id = id_of(&request);
    world.head(post, 200, JSON, Some("s1"));
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{id},{GREETING}"#));
    world.end(post);
    let (post, _) = world.request();
    world.head(post, 202, "", None);
    assert!(world.ready.is_some());
}

#[test]
fn a_call_that_went_on_in_another_session_is_not_sent_again_when_credentials_come() {
    let mut world = world();
    let spec = || CallSpec { method: "tools/call".to_string(), idempotent: true, ..CallSpec::default() };
    let waiting = world.call_with(spec());
    let (post, _) = world.request();
    world.head(post, 401, "", None);
    world.end(post);
    assert_eq!(world.challenges.len(), 1);
    world.call_with(spec());
    let (post, _) = world.request();
    world.head(post, 404, "", None); // The session is dead: both go on in the next one.
    world.end(post);
    let (post, request) = world.request();
    let id = id_of(&request);
    world.head(post, 200, JSON, Some("s2"));
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{id},{GREETING}"#));
    world.end(post);
    let (post, _) = world.request();
    world.head(post, 202, "", None);
    assert_eq!(world.requests.len(), 2);
    world.client.authorized(world.now, true);
    world.drain();
    assert_eq!(world.requests.len(), 2, "it is under way already");
    assert!(world.is_pending(waiting));
}

/// A server that likes one token only: the provider's first one is stale.
#[test]
fn a_token_that_is_refused_ends_its_call_and_the_next_call_asks_for_another() {
    let mut world = world();
    let unlucky = world.call();
    for _ in 0..2 {
        let (post, _) = world.request();
        refuse(&mut world, post, 401);
        authorized(&mut world, true);
    }
    assert_eq!(world.failure(unlucky).reason, Reason::Unauthorized);
    assert!(world.failure(unlucky).text.contains("401 to new credentials, too"));
    let call = refused(&mut world);
    assert_eq!(world.challenges.len(), 2);
    authorized(&mut world, true);
    answer(&mut world, call);
    world.assert_nothing_is_left();
}

#[test]
fn a_tool_that_is_always_refused_ends_whatever_other_calls_are_accepted_meanwhile() {
    let mut world = world();
    let refused = world.call();
    for _ in 0..2 {
        let (post, _) = world.request();
        refuse(&mut world, post, 401);
        authorized(&mut world, true);
        let other = world.call();
        let place = world.requests.len() - 1;
        let (post, request) = world.requests.remove(place).unwrap();
        world.reply(post, &request, "{}");
        assert!(world.answer(other).contains("result"));
    }
    assert_eq!(world.failure(refused).reason, Reason::Unauthorized);
    assert_eq!(world.challenges.len(), 1);
}

#[test]
fn a_server_that_alternates_refusals_with_streams_gets_three_refreshes_of_one_call() {
    let mut world = world();
    let call = world.call();
    let mut events = 0;
    while world.is_pending(call) {
        let (_, exchange, _) = world.next_request();
        refuse(&mut world, exchange, 401);
        if !world.is_pending(call) {
            break;
        }
        authorized(&mut world, true);
        let (exchange, _) = world.request();
        world.head(exchange, 200, SSE, None);
        events += 1;
        world.body(exchange, &note(&format!("e{events}"), "a"));
        world.cut(exchange);
    }
    assert_eq!(world.failure(call).reason, Reason::Unauthorized);
    assert!(world.failure(call).text.contains("401 again after three refreshes"));
    assert_eq!(world.challenges.len(), 3);
}

#[test]
fn all_calls_of_a_session_together_get_ten_refreshes_a_minute() {
    let mut world = world();
    let refreshes = |world: &mut World| {
        let call = world.call();
        let (post, _) = world.request();
        let before = world.challenges.len();
        refuse(world, post, 401);
        match world.challenges.len() > before {
            true => {
                authorized(world, true);
                answer(world, call);
                true
            }
            false => {
                assert_eq!(world.failure(call).reason, Reason::Unauthorized);
                assert!(world.failure(call).text.contains("ten times within a minute"));
                false
            }
        }
    };
    for _ in 0..10 {
        assert!(refreshes(&mut world));
    }
    assert!(!refreshes(&mut world));
    world.pass(60_000);
    assert!(refreshes(&mut world));
}

#[test]
fn after_a_provider_was_late_the_next_refusal_asks_it_again() {
    let mut world = world();
    let late = world.call();
    let (post, _) = world.request();
    refuse(&mut world, post, 401);
    world.pass(30_000);
    assert!(!world.is_pending(late));
    let call = refused(&mut world);
    assert_eq!(world.challenges.len(), 2);
    authorized(&mut world, true);
    answer(&mut world, call);
    world.assert_nothing_is_left();
}

/// A call whose stream fell silent behind the event `1`, in which the resume beside it is refused.
fn silent_and_refused() -> (World, CallId, String, ExchangeId) {
    let mut world = world();
    let (call, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.pass(45_000);
    let (get, _) = world.request();
    refuse(&mut world, get, 401);
    assert_eq!(world.challenges, [(call, Challenge::Unauthorized)]);
    assert!(world.requests.is_empty() && !world.aborted.contains(&post), "{:?}", world.requests);
    (world, call, id, post)
}

#[test]
fn a_refused_resume_beside_a_silent_body_is_made_again_with_other_credentials() {
    let (mut world, call, id, post) = silent_and_refused();
    authorized(&mut world, true);
    let (get, request) = world.request();
    assert_eq!(header(&request, "last-event-id"), Some("1"));
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
    assert!(world.aborted.contains(&post));
    world.assert_nothing_is_left();
}

#[test]
fn a_silent_body_is_read_on_whatever_becomes_of_the_credentials_for_the_resume_beside_it() {
    for ok in [true, false] {
        let (mut world, call, id, post) = silent_and_refused();
        world.body(post, &note("2", "b"));
        authorized(&mut world, ok);
        assert!(world.is_pending(call) && !world.requests.iter().any(|(_, r)| r.body.is_none()), "{ok}");
        world.body(post, &result(&id));
        assert!(world.answer(call).contains("ok"));
    }
    let (mut world, call, id, post) = silent_and_refused();
    world.pass(30_000);
    assert!(world.is_pending(call), "the provider is late");
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn more_scope_counts_as_asked_for_only_if_it_was() {
    let mut world = World::connected(Options { auth: true, max_step_ups: Some(1.0), ..options() });
    let (stale, narrow) = (world.call(), world.call());
    let ((a, _), (b, _)) = (world.request(), world.request());
    refuse(&mut world, a, 401);
    refuse(&mut world, b, 403);
    authorized(&mut world, true);
    answer(&mut world, stale);
    let (b, _) = world.request();
    refuse(&mut world, b, 403);
    assert_eq!(world.challenges, [(stale, Challenge::Unauthorized), (narrow, Challenge::StepUp)]);
    authorized(&mut world, true);
    answer(&mut world, narrow);
}

#[test]
fn a_flight_that_fails_fails_those_who_wanted_that_and_the_others_ask_for_theirs() {
    let mut world = World::connected(Options { auth: true, max_step_ups: Some(1.0), ..options() });
    let (stale, narrow) = (world.call(), world.call());
    let ((a, _), (b, _)) = (world.request(), world.request());
    refuse(&mut world, b, 403);
    refuse(&mut world, a, 401);
    assert_eq!(world.challenges, [(narrow, Challenge::StepUp)]);
    authorized(&mut world, false);
    assert_eq!(world.failure(narrow).reason, Reason::Forbidden);
    assert!(world.is_pending(stale));
    assert_eq!(world.challenges[1..], [(stale, Challenge::Unauthorized)]);
    authorized(&mut world, true);
    answer(&mut world, stale);
    world.assert_nothing_is_left();
}

/// The call waits for credentials in a session that dies meanwhile, and goes on in the next.
#[test]
fn what_a_call_of_a_dead_session_waited_for_is_nothing_to_it_in_the_next_one() {
    let mut world = world();
    let call = world.call();
    let (post, _) = world.request();
    let other = world.call();
    let (dead, _) = world.request();
    refuse(&mut world, post, 403);
    assert_eq!(world.challenges, [(call, Challenge::StepUp)]);
    world.head(dead, 404, "", None);
    world.end(dead);
    let (hello, request) = world.request();
    let id = id_of(&request);
    world.head(hello, 200, JSON, Some("s2"));
    world.body(hello, &format!(r#"{{"jsonrpc":"2.0","id":{id},{GREETING}"#));
    world.end(hello);
    let (confirm, _) = world.request();
    world.head(confirm, 202, "", None);
    authorized(&mut world, false);
    assert!(world.is_pending(call) && world.is_pending(other));
    answer(&mut world, call);
    answer(&mut world, other);
}

#[test]
fn a_sleep_is_forgiven_whoever_wakes_the_client() {
    let mut world = world();
    let call = world.call();
    let (post, request) = world.request();
    let id = id_of(&request);
    refuse(&mut world, post, 401);
    // The provider is there before any timer is: the sleep was longer than recoveryMs.
    world.now = world.now + std::time::Duration::from_secs(200);
    authorized(&mut world, true);
    let (post, _) = world.request();
    world.head(post, 200, SSE, None);
    world.body(post, "id: e1\n\n");
    world.cut(post);
    let (_, get, request) = world.next_request();
    assert_eq!(header(&request, "last-event-id"), Some("e1"), "recoveryMs is not used up");
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_403_that_wants_no_other_scope_is_final_and_nobody_is_asked() {
    let mut world = world();
    let call = world.call();
    let (post, _) = world.request();
    world.input_head(post, ResponseHead { status: 403, challenged: true, ..ResponseHead::default() });
    world.end(post);
    assert_eq!(world.failure(call).reason, Reason::Forbidden);
    assert!(world.challenges.is_empty());
}

#[test]
fn a_provider_that_hangs_is_told_as_that_whatever_clock_of_the_call_is_over_first() {
    let recovery = TimeoutOptions { recovery: Some(5_000.0), ..TimeoutOptions::default() };
    let deadline = TimeoutOptions { deadline: Some(5_000.0), ..TimeoutOptions::default() };
    for timeouts in [recovery, deadline] {
        let mut world = World::connected(Options { auth: true, timeouts, ..options() });
        let call = refused(&mut world);
        world.pass(5_000);
        let failure = world.failure(call);
        assert_eq!(failure.reason, Reason::ConnectTimeout, "{}", failure.text);
    }
}
