//! What is forgotten when something new comes, what is remembered though it does not, and who goes first.

use crate::world::{header, id_of, note, options, result, World, JSON, SSE};
use landfall::proto::{CallId, CallSpec, Event, ExchangeId, GapKind, OnGap, Options, Reason, ResponseHead};

/// A call whose stream was cut behind the event `1`, and the resume that followed.
fn cut(options: Options) -> (World, CallId, String, ExchangeId) {
    let mut world = World::connected(options);
    let (call, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.cut(post);
    let (_, get, _) = world.next_request();
    (world, call, id, get)
}

fn answer_ping(world: &mut World) {
    let (_, ping, request) = world.next_request();
    assert!(request.body.as_deref().unwrap_or_default().contains("\"ping\""), "{request:?}");
    world.reply(ping, &request, "{}");
}

fn next_get(world: &mut World) -> ExchangeId {
    let (_, get, request) = world.next_request();
    assert!(request.body.is_none(), "{request:?}");
    get
}

#[test]
fn a_cursor_that_was_refused_before_some_progress_is_asked_twice_again_after_it() {
    let (mut world, call, id, get) = cut(options());
    for event in ["2", "3"] {
        let refused = if event == "2" { get } else { next_get(&mut world) };
        world.head(refused, 404, "", None);
        answer_ping(&mut world);
        let again = next_get(&mut world);
        world.head(again, 200, SSE, None);
        world.body(again, &note(event, "b"));
        world.cut(again);
    }
    assert!(world.is_pending(call));
    let get = next_get(&mut world);
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn resumes_that_failed_before_one_was_opened_send_nothing_again() {
    let mut world = World::connected(options());
    let call = world.safe_call();
    let (post, request) = world.request();
    world.head(post, 200, SSE, None);
    world.body(post, &note("1", "a"));
    world.cut(post);
    for _ in 0..2 {
        let get = next_get(&mut world);
        world.head(get, 502, "", None);
    }
    let (ping, question) = world.request();
    assert!(question.body.as_deref().unwrap_or_default().contains("\"ping\""), "{question:?}");
    let get = next_get(&mut world);
    world.head(get, 200, SSE, None);
    world.cut(get);
    world.reply(ping, &question, "{}");
    let get = next_get(&mut world);
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id_of(&request)));
    assert!(world.answer(call).contains("ok"));
}

/// One resume that is rejected, then one that gets no headers, then the session answers.
fn rejected_once(world: &mut World, get: ExchangeId) {
    world.cut(get);
    next_get(world);
    world.pass(5_000);
    answer_ping(world);
}

#[test]
fn one_resume_that_the_page_could_not_make_does_not_end_resuming() {
    let (mut world, call, id, get) = cut(Options { cross_origin: true, ..options() });
    rejected_once(&mut world, get);
    assert!(world.is_pending(call));
    let get = next_get(&mut world);
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn resumes_that_were_rejected_before_some_progress_do_not_count_after_it() {
    let (mut world, call, id, get) = cut(Options { cross_origin: true, ..options() });
    world.cut(get);
    let get = next_get(&mut world);
    world.head(get, 200, SSE, None);
    world.body(get, &note("2", "b"));
    world.cut(get);
    let get = next_get(&mut world);
    rejected_once(&mut world, get);
    assert!(world.is_pending(call), "rejected twice, but not in a row");
    let get = next_get(&mut world);
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

fn refuse_until(world: &mut World, exchange: ExchangeId, status: u16, retry_after: &str) {
    let retry_after = Some(retry_after.to_string());
    world.input_head(exchange, ResponseHead { status, retry_after, ..ResponseHead::default() });
}

#[test]
fn a_shorter_retry_after_does_not_replace_a_longer_one() {
    let (mut world, _, _, get) = cut(Options { auth: true, ..options() });
    let start = world.now;
    refuse_until(&mut world, get, 401, "30");
    world.client.authorized(world.now, true);
    world.drain();
    let get = next_get(&mut world);
    refuse_until(&mut world, get, 503, "1");
    next_get(&mut world);
    let waited = world.now.since(start).as_secs();
    assert!(waited >= 30, "{waited}");
}

#[test]
fn a_503_to_a_ping_says_nothing_of_the_session() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.pass(45_000);
    let (ping, request) = world.request();
    assert!(request.body.unwrap().contains("\"ping\""));
    world.head(ping, 503, "", None);
    world.end(ping);
    world.pass(10_000);
    assert!(world.requests.is_empty(), "neither a second ping nor a handshake: {:?}", world.requests);
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_resume_that_finds_no_connection_goes_before_calls_that_waited_longer() {
    let mut world = World::connected(Options { max_concurrent: Some(2.0), ..options() });
    let (_, _, post) = world.streaming();
    world.body(post, &note("1", "a"));
    let (second, third) = (world.call(), world.call());
    assert!(world.requests.is_empty());
    world.cut(post);
    let (busy, request) = world.request();
    let id = id_of(&request);
    world.head(busy, 200, SSE, None);
    world.pass(10_000);
    assert!(world.requests.is_empty(), "the wait is over, and the only connection is in use");
    world.body(busy, &result(&id));
    assert!(world.answer(second).contains("ok"));
    let (_, request) = world.request();
    assert_eq!(header(&request, "last-event-id"), Some("1"));
    assert!(world.is_pending(third) && world.requests.is_empty());
}

fn resumed(world: &mut World) -> (CallId, String, ExchangeId) {
    let (call, id, post) = world.streaming();
    for event in ["k/1", "k/2", "k/3"] {
        world.body(post, &note(event, "x"));
    }
    world.cut(post);
    let get = next_get(world);
    world.head(get, 200, SSE, None);
    (call, id, get)
}

fn gaps(world: &World) -> Vec<(GapKind, bool)> {
    let gap = |(_, event): &(Option<CallId>, Event)| match event {
        Event::Gap { kind, certain, .. } => Some((*kind, *certain)),
        _ => None,
    };
    world.events.iter().filter_map(gap).collect()
}

#[test]
fn an_answer_behind_a_certain_gap_ends_the_call_as_an_answer_whatever_is_done_at_gaps() {
    for on_gap in [OnGap::Fail, OnGap::Reissue] {
        let mut world = World::connected(Options { on_gap, ..options() });
        let (call, id, get) = resumed(&mut world);
        world.body(get, &format!("id: k/9\n{}", result(&id)));
        assert!(world.answer(call).contains("ok"), "{on_gap:?}");
        assert_eq!(gaps(&world), [(GapKind::Missing, true)], "it is told all the same");
    }
}

#[test]
fn a_stream_that_was_given_up_before_it_showed_an_id_may_still_use_the_counter() {
    let mut world = World::connected(options());
    let (unseen, _, _) = world.streaming();
    world.client.cancel(world.now, unseen);
    world.drain();
    world.take_cancelled();
    let (_, _, get) = resumed(&mut world);
    world.body(get, &note("k/9", "x"));
    assert_eq!(gaps(&world), [(GapKind::Missing, false)]);
}

#[test]
fn the_prefixes_of_event_ids_are_forgotten_with_the_session_that_used_them() {
    let mut world = World::connected(options());
    let (old, _, post) = world.streaming();
    world.body(post, &note("k/1", "x"));
    world.cut(post);
    let get = next_get(&mut world);
    world.head(get, 404, "", None);
    let (_, ping, _) = world.next_request();
    world.head(ping, 404, "", None);
    world.end(ping);
    assert_eq!(world.failure(old).reason, Reason::SessionLost);
    let (_, hello, request) = world.next_request();
    world.head(hello, 200, JSON, Some("s2"));
    let id = id_of(&request);
    world.body(hello, &format!(r#"{{"jsonrpc":"2.0","id":{id},{}"#, crate::world::GREETING));
    world.end(hello);
    let (confirm, _) = world.request();
    world.head(confirm, 202, "", None);
    let (_, _, get) = resumed(&mut world);
    world.body(get, &note("k/9", "x"));
    assert_eq!(gaps(&world), [(GapKind::Missing, true)]);
}

#[test]
fn an_answer_under_an_id_of_a_call_that_has_ended_is_told_as_unmatched() {
    let mut world = World::connected(options());
    let call = world.safe_call();
    let (post, request) = world.request();
    let first = id_of(&request);
    world.head(post, 200, SSE, None);
    world.cut(post);
    let (_, post, request) = world.next_request();
    let second = id_of(&request);
    assert_ne!(first, second);
    world.head(post, 200, SSE, None);
    let (_, _, other) = world.streaming();
    world.body(post, &result(&second));
    assert!(world.answer(call).contains("ok"));
    for (n, id) in [first, second].iter().enumerate() {
        world.body(other, &result(id));
        assert_eq!(world.client.metrics(false).unmatched, n as u64 + 1, "{id}");
    }
}

#[test]
fn a_resume_beside_a_silent_body_is_no_more_allowed_than_any_other() {
    for most in [0, 1, 2] {
        let mut world = World::connected(Options { max_retries: Some(f64::from(most)), ..options() });
        let (call, id, post) = world.streaming();
        world.body(post, &note("1", "a"));
        world.pass(45_000);
        let mut gets = 0;
        for _ in 0..30 {
            world.pass(1_000);
            while let Some((exchange, request)) = world.requests.pop_front() {
                gets += i32::from(request.body.is_none());
                if request.body.is_none() {
                    world.cut(exchange);
                }
            }
        }
        assert_eq!(gets, most);
        assert!(world.is_pending(call) && !world.aborted.contains(&post), "its body is waited for");
        world.body(post, &result(&id));
        assert!(world.answer(call).contains("ok"));
    }
}

#[test]
fn where_the_page_may_not_resume_a_silent_body_is_waited_for() {
    let (mut world, refused, _, get) = cut(Options { cross_origin: true, ..options() });
    world.cut(get);
    for _ in 0..2 {
        assert!(world.is_pending(refused), "the network may have been away");
        let get = next_get(&mut world);
        world.cut(get);
        answer_ping(&mut world);
    }
    assert_eq!(world.failure(refused).reason, Reason::ResumeRejected);
    world.take_cancelled();
    let (call, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.pass(45_000);
    assert!(world.requests.iter().all(|(_, request)| request.body.is_some()), "{:?}", world.requests);
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

/// The one that speaks for all is a call that is sent again: its server works for it before it says anything.
#[test]
fn a_request_that_gets_no_headers_keeps_no_other_call_from_resuming() {
    let mut world = World::connected(options());
    let safe = CallSpec { method: "tools/call".to_string(), idempotent: true, ..CallSpec::default() };
    let first = world.call();
    let (one, _) = world.request();
    world.head(one, 200, SSE, None);
    world.body(one, &note("a1", "x"));
    let (other, _, two) = world.streaming();
    world.body(two, &note("b1", "x"));
    world.call_with(safe);
    let (three, _) = world.request();
    // The network goes away: the first call speaks, and is given up while the safe one waits.
    world.cut(one);
    let get = next_get(&mut world);
    world.cut(three);
    world.cut(get);
    world.pass(600);
    world.client.cancel(world.now, first);
    world.drain();
    world.requests.retain(|(_, request)| !request.body.as_deref().unwrap_or_default().contains("cancelled"));
    world.pass(3_000);
    assert!(world.requests.iter().any(|(_, r)| r.body.as_deref().unwrap_or_default().contains("tools/call")));
    world.requests.clear();
    world.cut(two);
    let start = world.now;
    next_get(&mut world);
    assert!(world.now.since(start).as_secs() <= 6, "{:?}", world.now.since(start));
    assert!(world.is_pending(other));
}

/// Resumes fail for so long; the one after that.
fn until(world: &mut World, mut get: ExchangeId, seconds: u64) -> ExchangeId {
    let start = world.now;
    while world.now.since(start).as_secs() < seconds {
        world.head(get, 503, "", None);
        get = next_get(world);
    }
    get
}

#[test]
fn recovery_ms_is_full_again_when_a_resume_brought_something_new() {
    let (mut world, call, id, get) = cut(options());
    let get = until(&mut world, get, 100);
    world.head(get, 200, SSE, None);
    world.body(get, &note("2", "b"));
    world.cut(get);
    let get = next_get(&mut world);
    let get = until(&mut world, get, 100);
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
}
