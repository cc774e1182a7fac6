//! Handshakes that meet what passes wait and are tried again; and how often sessions may come to be.

use crate::world::{header, id_of, options, result, World, GREETING, JSON, SSE};
use landfall::proto::{
    Attempt, AttemptResult, CallId, CallSpec, Event, ExchangeId, HttpRequest, Level, Options, Outcome,
    Reason, ResponseHead, TimeoutOptions,
};

fn initializes(request: &HttpRequest) -> bool {
    request.body.as_deref().is_some_and(|body| body.contains("\"initialize\""))
}

fn refuse(world: &mut World, post: ExchangeId, status: u16) {
    world.head(post, status, "", None);
    world.end(post);
}

fn refuse_for(world: &mut World, post: ExchangeId, status: u16, retry_after: &str) {
    let retry_after = Some(retry_after.to_string());
    world.input_head(post, ResponseHead { status, retry_after, ..ResponseHead::default() });
    world.end(post);
}

/// The server answers `initialize`.
fn greet(world: &mut World, post: ExchangeId, request: &HttpRequest, session: &str) {
    assert!(initializes(request) && header(request, "mcp-session-id").is_none(), "{request:?}");
    world.head(post, 200, JSON, Some(session));
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},{GREETING}"#, id_of(request)));
    world.end(post);
}

/// And takes our word that the session is confirmed.
fn confirm(world: &mut World) {
    let (post, request) = world.request();
    assert!(request.body.as_deref().is_some_and(|body| body.contains("notifications/initialized")));
    world.head(post, 202, "", None);
}

fn answer(world: &mut World, session: &str) {
    let (post, request) = world.request();
    assert_eq!(header(&request, "mcp-session-id"), Some(session));
    world.head(post, 200, SSE, None);
    world.body(post, &result(&id_of(&request)));
}

/// A call meets a session that the server forgot.
fn meets_dead_session(world: &mut World) -> CallId {
    let call = world.call();
    let (post, _) = world.request();
    refuse(world, post, 404);
    call
}

/// What is on the way fails in these ways.
type Fails = fn(&mut World, ExchangeId);
const PASSING: [Fails; 9] = [
    |world, post| refuse(world, post, 502),
    |world, post| refuse(world, post, 500),
    |world, post| refuse(world, post, 503),
    |world, post| refuse(world, post, 429),
    |world, post| refuse(world, post, 408),
    |world, post| refuse(world, post, 425),
    |world, post| world.cut(post),
    |world, post| world.failed(post, "ECONNREFUSED"),
    // Somebody on the way writes JSON-RPC, too.
    |world, post| {
        world.head(post, 503, JSON, None);
        world.body(post, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"busy"}}"#);
        world.end(post);
    },
];

/// This `initialize` begins a session, in which the call goes on and is answered.
fn goes_on(world: &mut World, post: ExchangeId, request: &HttpRequest, session: &str, call: CallId) {
    greet(world, post, request, session);
    confirm(world);
    answer(world, session);
    assert!(world.answer(call).contains("ok"));
}

/// A call that has so little time.
fn hasty(world: &mut World, deadline: f64) -> CallId {
    world.call_with(CallSpec {
        method: "tools/list".to_string(),
        timeouts: TimeoutOptions { deadline: Some(deadline), ..TimeoutOptions::default() },
        ..CallSpec::default()
    })
}

#[test]
fn a_replacement_that_meets_what_passes_waits_and_is_tried_again_and_those_in_vain_do_not_count() {
    let mut world = World::connected(options());
    let call = meets_dead_session(&mut world);
    let mut ids = Vec::new();
    for (nth, fails) in PASSING.into_iter().enumerate() {
        let (wait, post, request) = world.next_request();
        let least = [0.0, 375.0, 750.0, 1_500.0, 3_000.0][nth.min(4)];
        assert!((least..=6_000.0).contains(&wait), "attempt {nth}: {wait}");
        assert!(initializes(&request) && !ids.contains(&id_of(&request)), "each goes under an id of its own");
        ids.push(id_of(&request));
        fails(&mut world, post);
        assert!(world.is_pending(call));
    }
    let told = world.events.iter().filter(|(told, event)| {
        *told == Some(call) && matches!(event, Event::Reconnecting { level: Level::L2, .. })
    });
    assert_eq!(told.count(), PASSING.len());
    let late = world.call();
    let (_, post, request) = world.next_request();
    greet(&mut world, post, &request, "s2");
    // The same holds for the second half.
    let (post, _) = world.request();
    refuse(&mut world, post, 503);
    let (_, post, request) = world.next_request();
    assert_eq!(header(&request, "mcp-session-id"), Some("s2"));
    world.head(post, 202, "", None);
    for _ in 0..2 {
        answer(&mut world, "s2");
    }
    assert!(world.answer(call).contains("ok") && world.answer(late).contains("ok"));
    // None of them was a session: two more may come at once.
    for session in ["s3", "s4"] {
        let call = meets_dead_session(&mut world);
        let (post, request) = world.request();
        goes_on(&mut world, post, &request, session, call);
    }
    world.assert_nothing_is_left();
}

#[test]
fn a_replacement_is_tried_again_until_recovery_ms_and_no_longer() {
    let timeouts =
        TimeoutOptions { recovery: Some(20_000.0), call: Some(10_000.0), ..TimeoutOptions::default() };
    let mut world = World::connected(Options { timeouts, ..options() });
    let start = world.now;
    let calls = [meets_dead_session(&mut world), world.call()];
    let mut attempts = 0;
    while world.is_pending(calls[0]) || world.is_pending(calls[1]) {
        while let Some((post, _)) = world.requests.pop_front() {
            attempts += 1;
            refuse(&mut world, post, 502);
        }
        world.pass(50);
    }
    let took = world.now.as_millis() - start.as_millis();
    assert!((20_000.0..20_100.0).contains(&took), "{took}");
    for (call, outcome) in calls.into_iter().zip([Outcome::Rejected, Outcome::NotSent]) {
        let failure = world.failure(call);
        assert_eq!((failure.reason, failure.outcome), (Reason::SessionLost, outcome));
        assert!(failure.retry_safe && failure.text.contains("502"), "{}", failure.text);
    }
    assert!((6..12).contains(&attempts), "{attempts}");
    world.pass(600_000);
    assert!(world.requests.is_empty());
    world.assert_nothing_is_left();
    // The next call tries anew.
    let call = world.call();
    let (post, request) = world.request();
    goes_on(&mut world, post, &request, "s2", call);
}

#[test]
fn each_attempt_of_a_replacement_has_handshake_ms() {
    let timeouts = TimeoutOptions { handshake: Some(5_000.0), ..TimeoutOptions::default() };
    let mut world = World::connected(Options { timeouts, ..options() });
    let call = meets_dead_session(&mut world);
    let (post, _) = world.request();
    world.pass(5_000);
    assert_eq!(world.aborted, [post]);
    let (_, post, request) = world.next_request();
    greet(&mut world, post, &request, "s2");
    world.pass(5_000);
    world.requests.clear();
    let (_, post, _) = world.next_request();
    world.head(post, 202, "", None);
    answer(&mut world, "s2");
    assert!(world.answer(call).contains("ok"));
    world.assert_nothing_is_left();
}

#[test]
fn a_retry_after_is_a_floor_for_a_replacement_and_ends_who_has_no_time_for_it() {
    let mut world = World::connected(options());
    let call = meets_dead_session(&mut world);
    let hasty = hasty(&mut world, 5_000.0);
    let (post, _) = world.request();
    refuse_for(&mut world, post, 503, "10");
    assert_eq!(world.failure(hasty).reason, Reason::RetryExceedsBudget);
    let (wait, post, request) = world.next_request();
    assert!((10_000.0..11_000.0).contains(&wait), "{wait}");
    goes_on(&mut world, post, &request, "s2", call);
    let call = meets_dead_session(&mut world);
    let (post, _) = world.request();
    refuse_for(&mut world, post, 503, "3600");
    assert_eq!(world.failure(call).reason, Reason::RetryExceedsBudget);
    world.assert_nothing_is_left();
}

#[test]
fn three_sessions_come_to_be_within_a_minute_and_calls_wait_for_the_next_where_their_clocks_allow() {
    let mut world = World::connected(options());
    for session in ["s2", "s3", "s4"] {
        world.pass(1_000);
        let call = meets_dead_session(&mut world);
        let (post, request) = world.request();
        goes_on(&mut world, post, &request, session, call);
    }
    world.pass(8_000);
    let waits = meets_dead_session(&mut world);
    assert!(world.requests.is_empty() && world.is_pending(waits));
    let hasty = hasty(&mut world, 30_000.0);
    let failure = world.failure(hasty);
    assert_eq!((failure.reason, failure.outcome), (Reason::SessionLost, Outcome::NotSent));
    assert!(failure.text.contains("the next is tried in 50 s"), "{}", failure.text);
    let (wait, post, request) = world.next_request();
    assert_eq!(wait, 50_000.0);
    goes_on(&mut world, post, &request, "s5", waits);
    world.assert_nothing_is_left();
}

#[test]
fn a_call_that_meets_a_second_dead_session_ends_and_takes_no_third() {
    let mut world = World::connected(options());
    let call = meets_dead_session(&mut world);
    let (post, request) = world.request();
    greet(&mut world, post, &request, "s2");
    confirm(&mut world);
    let (post, request) = world.request();
    assert_eq!(header(&request, "mcp-session-id"), Some("s2"));
    refuse(&mut world, post, 404);
    let failure = world.failure(call);
    assert_eq!(failure.reason, Reason::SessionLost);
    assert!(matches!(failure.diagnostics.attempts[..], [Attempt { level: Level::L2, .. }]));
}

#[test]
fn a_handshake_that_meets_what_passes_is_tried_again_under_handshake_ms() {
    let mut world = World::connecting(options());
    let early = world.call();
    let start = world.now;
    let mut ids = Vec::new();
    let fails: [Fails; 3] =
        [|w, post| refuse(w, post, 502), |w, post| refuse(w, post, 500), |w, post| w.cut(post)];
    for fails in fails {
        let (_, post, request) = world.next_request();
        assert!(initializes(&request) && !ids.contains(&id_of(&request)));
        ids.push(id_of(&request));
        fails(&mut world, post);
        assert!(world.is_pending(world.handshake()));
    }
    let mut last = 0;
    while world.is_pending(world.handshake()) {
        while let Some((post, _)) = world.requests.pop_front() {
            last += 1;
            refuse(&mut world, post, 502);
        }
        world.pass(50);
    }
    let took = world.now.as_millis() - start.as_millis();
    assert!((30_000.0..30_100.0).contains(&took), "{took}");
    let failure = world.failure(world.handshake());
    assert_eq!((failure.reason, failure.method.as_str()), (Reason::HttpError, "initialize"));
    assert!(failure.text.contains("502") && failure.text.contains("handshakeMs"), "{}", failure.text);
    let attempts = &failure.diagnostics.attempts;
    assert_eq!(attempts.len(), 2 + last);
    let told = |attempt: &Attempt| (attempt.level, attempt.result, attempt.status);
    assert_eq!(told(&attempts[0]), (Level::Reissue, AttemptResult::Refused, Some(500)));
    assert_eq!(told(&attempts[1]), (Level::Reissue, AttemptResult::NetworkError, None));
    assert_eq!(
        (world.failure(early).reason, world.failure(early).outcome),
        (Reason::HttpError, Outcome::NotSent)
    );
    world.assert_nothing_is_left();
}

#[test]
fn a_handshake_is_done_once_the_server_is_well_and_a_retry_after_is_its_floor() {
    for fails in PASSING {
        let mut world = World::connecting(options());
        let (post, _) = world.request();
        fails(&mut world, post);
        let (wait, post, request) = world.next_request();
        assert!((375.0..=625.0).contains(&wait), "{wait}");
        greet(&mut world, post, &request, "s1");
        confirm(&mut world);
        assert!(world.ready.is_some());
        world.assert_nothing_is_left();
    }
    let mut world = World::connecting(options());
    let (post, _) = world.request();
    refuse_for(&mut world, post, 429, "7");
    let (wait, post, request) = world.next_request();
    assert!((7_000.0..8_000.0).contains(&wait), "{wait}");
    greet(&mut world, post, &request, "s1");
    let (post, _) = world.request();
    world.cut(post);
    let (wait, post, _) = world.next_request();
    assert!(wait < 700.0, "{wait}");
    world.head(post, 202, "", None);
    assert!(world.ready.is_some());
    world.pass(600_000);
    world.assert_nothing_is_left();
    let mut world = World::connecting(options());
    let (post, _) = world.request();
    refuse_for(&mut world, post, 503, "31");
    assert_eq!(world.failure(world.handshake()).reason, Reason::RetryExceedsBudget);
    world.assert_nothing_is_left();
}

#[test]
fn a_handshake_that_fails_after_a_session_was_made_ends_that() {
    // Its answer is none, it speaks another version, or it takes no confirmation.
    let answers: [(&str, Option<u16>); 3] = [
        (r#""result":{}"#, None),
        (r#""result":{"protocolVersion":"2031-01-01"}"#, None),
        (r#""result":{"protocolVersion":"2025-11-25"}"#, Some(400)),
    ];
    for (said, status) in answers {
        let mut world = World::connecting(options());
        let (post, request) = world.request();
        world.head(post, 200, JSON, Some("s1"));
        world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},{said}}}"#, id_of(&request)));
        world.end(post);
        if let Some(status) = status {
            let (post, _) = world.request();
            refuse(&mut world, post, status);
        }
        assert!(!world.is_pending(world.handshake()), "{said}");
        // A host that closes now waits for that.
        world.client.close(world.now);
        world.drain();
        assert!(!world.closed);
        world.given_back("s1");
        assert!(world.closed);
        world.assert_nothing_is_left();
    }
    // And one that is cut after its head is begun anew.
    let mut world = World::connecting(options());
    let (post, _) = world.request();
    world.head(post, 200, JSON, Some("s1"));
    world.cut(post);
    world.given_back("s1");
    let (_, post, request) = world.next_request();
    greet(&mut world, post, &request, "s2");
    confirm(&mut world);
    assert_eq!(world.ready.as_ref().and_then(|(_, id)| id.as_deref()), Some("s2"));
}

#[test]
fn headers_that_can_not_be_had_end_a_handshake_at_once() {
    let mut world = World::connecting(options());
    let (post, _) = world.request();
    world.failed(post, "LANDFALL_NOT_SENT");
    assert_eq!(world.failure(world.handshake()).reason, Reason::NetworkError);
    world.assert_nothing_is_left();
}

#[test]
fn a_retry_after_beyond_handshake_ms_is_told_as_that() {
    let mut world = World::connecting(options());
    let (post, _) = world.request();
    refuse_for(&mut world, post, 503, "31");
    let failure = world.failure(world.handshake());
    assert_eq!(failure.reason, Reason::RetryExceedsBudget);
    assert!(failure.text.contains("handshakeMs") && !failure.text.contains("deadlineMs"), "{}", failure.text);
}

#[test]
fn one_that_was_sent_says_so_whatever_came_of_the_next_attempt() {
    let mut world = World::connecting(options());
    let (post, _) = world.request();
    refuse(&mut world, post, 503);
    for _ in 0..1_000 {
        world.pass(100);
        for (post, _) in std::mem::take(&mut world.requests) {
            world.failed(post, "ECONNREFUSED");
        }
    }
    assert_eq!(world.failure(world.handshake()).outcome, Outcome::Unknown);
}

#[test]
fn a_certificate_that_is_not_accepted_ends_it_at_once() {
    for code in ["DEPTH_ZERO_SELF_SIGNED_CERT", "CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID"] {
        let mut world = World::connecting(options());
        let (post, _) = world.request();
        world.failed(post, code);
        let failure = world.failure(world.handshake());
        assert_eq!((failure.reason, failure.outcome), (Reason::NetworkError, Outcome::NotSent), "{code}");
        assert!(failure.text.contains(code), "{}", failure.text);
    }
}

/// It waited until its handshakeMs were over, for a session that nobody would have begun for it.
#[test]
fn a_notification_waits_for_the_next_session_where_a_call_does_and_its_own_clock_allows() {
    for (with_call, passed) in [(false, 8_000), (false, 40_000), (true, 8_000), (true, 40_000)] {
        let mut world = World::connected(options());
        for session in ["s2", "s3", "s4"] {
            world.pass(1_000);
            let call = meets_dead_session(&mut world);
            let (post, request) = world.request();
            goes_on(&mut world, post, &request, session, call);
        }
        world.pass(passed);
        let notification = world.client.notify(world.now, "notifications/x", "");
        world.drain();
        let (post, _) = world.request();
        let call = with_call.then(|| world.safe_call());
        world.requests.clear();
        refuse(&mut world, post, 404);
        // The next session may begin a minute after the first of the three.
        let waits = with_call && passed > 28_000;
        assert_eq!(world.is_pending(notification), waits, "{with_call} {passed}");
        if waits {
            let call = call.expect("one was made");
            let (_, post, request) = world.next_request();
            greet(&mut world, post, &request, "s5");
            confirm(&mut world);
            let sessions: Vec<_> =
                world.requests.iter().map(|(_, request)| header(request, "mcp-session-id")).collect();
            assert_eq!(sessions, [Some("s5"); 2]);
            assert!(world.is_pending(notification) && world.is_pending(call));
        } else {
            let failure = world.failure(notification);
            assert_eq!((failure.reason, failure.outcome), (Reason::SessionLost, Outcome::Rejected));
            assert!(failure.text.contains("the next is tried in"), "{}", failure.text);
        }
    }
}

#[test]
fn a_refusal_whose_body_hangs_when_handshake_ms_is_over_is_told_as_what_it_is() {
    let timeouts = TimeoutOptions { handshake: Some(800.0), ..TimeoutOptions::default() };
    for status in [429, 503] {
        let mut world = World::connecting(Options { timeouts: timeouts.clone(), ..options() });
        let (post, _) = world.request();
        world.head(post, status, "", None);
        world.pass(800);
        let failure = world.failure(world.handshake());
        assert_eq!(failure.reason, Reason::HttpError, "{}", failure.text);
        assert!(failure.text.contains(&status.to_string()), "{}", failure.text);
    }
}
