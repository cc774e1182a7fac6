//! Cuts, polite closes, cursors: the first rung of the ladder.

use crate::world::{header, note, options, result, World, JSON, SSE};
use landfall::proto::{AttemptResult, CallId, ExchangeId, Method, Options, Outcome, Reason, ResponseHead};

/// A call whose stream brought the event `1` and was cut.
fn cut_after_one() -> (World, CallId, String) {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.cut(post);
    (world, call, id)
}

fn resume(world: &mut World) -> (f64, ExchangeId) {
    let (wait, get, request) = world.next_request();
    assert_eq!(request.method, Method::Get);
    assert_eq!(header(&request, "accept"), Some("text/event-stream"));
    (wait, get)
}

#[test]
fn a_cut_stream_is_resumed_by_get_with_its_cursor_in_the_same_session() {
    let (mut world, call, id) = cut_after_one();
    let (wait, get, request) = world.next_request();
    assert!((375.0..=625.0).contains(&wait), "our own first wait is 500 ms, a quarter either way: {wait}");
    assert_eq!(request.method, Method::Get);
    assert_eq!(header(&request, "last-event-id"), Some("1"));
    assert_eq!(header(&request, "mcp-session-id"), Some("s1"));
    assert_eq!(request.body, None);
    world.head(get, 200, SSE, None);
    world.body(get, &(note("2", "b") + &result(&id)));
    assert!(world.answer(call).contains("ok"));
    let recovery = ["disconnected:network", "reconnecting", "open", "resumed", "message"];
    assert_eq!(world.names(), [&["sent", "open", "message"][..], &recovery].concat());
    world.assert_nothing_is_left();
}

#[test]
fn an_event_cut_in_half_is_discarded_and_comes_again() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    let half = note("2", "b");
    world.body(post, &half[..half.len() - 1]);
    world.cut(post);
    let (_, get, request) = world.next_request();
    assert_eq!(header(&request, "last-event-id"), Some("1"));
    world.head(get, 200, SSE, None);
    world.body(get, &(half + &result(&id)));
    assert_eq!(world.messages.len(), 2);
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_polite_close_is_polling_at_the_servers_pace_and_no_outage() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, &format!("retry: 700\n{}", note("1", "a")));
    world.end(post);
    assert_eq!(world.names(), ["sent", "open", "message", "polling"]);
    let (wait, get, request) = world.next_request();
    assert!((700.0..=770.0).contains(&wait), "never less than asked, at most a tenth more: {wait}");
    assert_eq!(header(&request, "last-event-id"), Some("1"));
    world.head(get, 200, SSE, None);
    world.body(get, &note("2", "b"));
    world.end(get);
    let (wait, get) = resume(&mut world);
    assert!((700.0..=770.0).contains(&wait), "`retry` stays until it is changed: {wait}");
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_priming_event_alone_is_enough_to_resume_with_or_without_a_data_line() {
    for prime in ["id: p0\ndata:\n\n", "id: p0\n\n"] {
        let mut world = World::connected(options());
        let (call, id, post) = world.streaming();
        world.body(post, prime);
        world.cut(post);
        let (_, get, request) = world.next_request();
        assert_eq!(header(&request, "last-event-id"), Some("p0"), "{prime:?}");
        world.head(get, 200, SSE, None);
        world.body(get, &result(&id));
        assert!(world.answer(call).contains("ok"));
    }
}

#[test]
fn the_cursor_survives_a_second_cut_before_any_new_id() {
    let (mut world, call, id) = cut_after_one();
    for _ in 0..3 {
        let (_, get, request) = world.next_request();
        assert_eq!(header(&request, "last-event-id"), Some("1"));
        world.head(get, 200, SSE, None);
        world.cut(get);
    }
    let (_, get) = resume(&mut world);
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_cut_without_any_id_fails_the_call_at_once_and_says_closed_not_timeout() {
    for clean in [true, false] {
        let mut world = World::connected(options());
        let (call, _, post) = world.streaming();
        world.body(post, ": hi\n\n");
        if clean {
            world.end(post);
        } else {
            world.cut(post);
        }
        let failure = world.failure(call);
        assert_eq!((failure.reason, failure.outcome), (Reason::StreamLost, Outcome::Unknown));
        assert!(failure.text.contains("ended") && !failure.retry_safe);
        world.take_cancelled();
        world.assert_nothing_is_left();
    }
}

#[test]
fn an_empty_id_clears_the_cursor_and_an_id_that_no_header_carries_makes_the_stream_unresumable() {
    for block in ["id:\ndata: {}\n\n", "id: a\u{c}b\n\n", &format!("id: {}\n\n", "x".repeat(2_000))] {
        let mut world = World::connected(options());
        let (call, _, post) = world.streaming();
        world.body(post, &note("1", "a"));
        world.body(post, block);
        world.cut(post);
        assert_eq!(world.failure(call).reason, Reason::StreamLost, "{block:?}");
        world.take_cancelled();
        assert!(world.requests.is_empty());
    }
}

#[test]
fn an_id_outside_latin_1_goes_back_as_its_utf_8_bytes() {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    world.body(post, &note("…x", "a"));
    world.cut(post);
    let (_, _, request) = world.next_request();
    assert_eq!(header(&request, "last-event-id"), Some("\u{e2}\u{80}\u{a6}x"));
}

#[test]
fn waits_grow_while_nothing_new_comes_and_start_again_when_it_does() {
    let mut world = World::connected(Options { fail_lost_session: true, ..options() });
    let (_, _, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.cut(post);
    let mut waits = Vec::new();
    for _ in 0..6 {
        let (wait, get) = resume(&mut world);
        waits.push(wait);
        world.failed(get, "");
        // A failed attempt asks the session too; that is another test's matter.
        world.requests.clear();
    }
    for (wait, expected) in waits.iter().zip([500.0, 1_000.0, 2_000.0, 4_000.0, 4_000.0, 4_000.0]) {
        assert!((expected * 0.75..=expected * 1.25).contains(wait), "{waits:?}");
    }
    let (_, get) = resume(&mut world);
    world.head(get, 200, SSE, None);
    world.body(get, &note("2", "b"));
    world.cut(get);
    let (wait, _) = resume(&mut world);
    assert!(wait <= 625.0, "{wait}");
}

#[test]
fn a_tiny_retry_makes_no_storm() {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    world.body(post, &format!("retry: 1\n{}", note("1", "a")));
    world.end(post);
    let mut gets = 0;
    let start = world.now;
    while world.now < start + std::time::Duration::from_secs(60) {
        let (_, get) = resume(&mut world);
        gets += 1;
        world.head(get, 200, SSE, None);
        world.body(get, &format!("id: p{gets}\ndata:\n\n"));
        world.end(get);
    }
    assert!(gets < 25, "{gets} resumes in a minute");
}

#[test]
fn a_retry_that_passes_the_budget_fails_at_once_and_is_never_shortened() {
    for retry in ["86400000", "99999999999999999999"] {
        let mut world = World::connected(options());
        let (call, _, post) = world.streaming();
        world.body(post, &format!("retry: {retry}\nid: q1\ndata:\n\n"));
        world.end(post);
        let failure = world.failure(call);
        assert_eq!(failure.reason, Reason::RetryExceedsBudget, "{retry}");
        assert!(world.requests.pop_front().unwrap().1.body.unwrap().contains("notifications/cancelled"));
        assert!(world.requests.is_empty());
    }
}

#[test]
fn a_polite_wait_longer_than_recovery_ms_is_waited_since_no_clock_but_the_deadline_runs_in_it() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, "retry: 300000\nid: q1\ndata:\n\n");
    world.end(post);
    let (wait, get) = resume(&mut world);
    assert!(wait >= 300_000.0);
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn retry_after_is_a_floor_of_the_wait() {
    let (mut world, _, _) = cut_after_one();
    let (_, get) = resume(&mut world);
    let head = ResponseHead { status: 429, retry_after: Some("3".to_string()), ..ResponseHead::default() };
    world.input_head(get, head);
    let (wait, _) = resume(&mut world);
    assert!((3_000.0..3_300.0).contains(&wait), "{wait}");
}

#[test]
fn resumes_that_bring_nothing_end_when_recovery_ms_is_spent_though_streams_open() {
    let (mut world, call, _) = cut_after_one();
    let start = world.now;
    let mut gets = 0;
    while world.is_pending(call) {
        let (_, get) = resume(&mut world);
        gets += 1;
        world.head(get, 200, SSE, None);
        world.end(get);
        while world.is_pending(call) && world.requests.is_empty() {
            world.pass(100);
        }
    }
    let took = world.now.as_millis() - start.as_millis();
    let failure = world.failure(call);
    assert_eq!(failure.reason, Reason::RecoveryExhausted);
    assert!((119_000.0..122_000.0).contains(&took), "{took}");
    assert!(failure.diagnostics.attempts.iter().filter(|a| a.result == AttemptResult::Empty).count() == gets);
}

#[test]
fn statuses_that_pass_are_waited_out_and_the_stream_goes_on() {
    let (mut world, call, id) = cut_after_one();
    for status in [408, 409, 425, 429, 500, 502, 503, 504] {
        let (_, get) = resume(&mut world);
        world.head(get, status, "text/plain", None);
        while let Some(place) = world.requests.iter().position(|(_, r)| r.method == Method::Post) {
            let (ping, request) = world.requests.remove(place).unwrap();
            world.reply(ping, &request, "{}");
        }
        assert!(world.is_pending(call), "{status}");
    }
    let (_, get) = resume(&mut world);
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn statuses_that_say_never_fail_the_call_at_once() {
    for (status, kind, reason) in [
        (405, "", Reason::ResumeRejected),
        (406, "", Reason::ResumeRejected),
        (501, "", Reason::ResumeRejected),
        (422, "", Reason::ResumeRejected),
        (200, "text/plain", Reason::ResumeRejected),
        (204, "", Reason::ResumeRejected),
        (401, "", Reason::Unauthorized),
        (403, "", Reason::Forbidden),
    ] {
        let (mut world, call, _) = cut_after_one();
        let (_, get) = resume(&mut world);
        world.head(get, status, kind, None);
        assert_eq!(world.failure(call).reason, reason, "{status}");
        if reason == Reason::ResumeRejected {
            world.take_cancelled();
        }
        world.assert_nothing_is_left();
    }
}

/// Answers the question whether the session lives.
fn ping_answered(world: &mut World) {
    let (ping, request) = world.request();
    assert!(request.body.as_deref().unwrap().contains("\"method\":\"ping\""));
    world.reply(ping, &request, "{}");
}

#[test]
fn a_cursor_refused_by_a_living_session_is_tried_once_more_and_then_is_gone() {
    for status in [404, 410, 400] {
        let (mut world, call, _) = cut_after_one();
        let (_, get) = resume(&mut world);
        world.head(get, status, "", None);
        assert!(world.is_pending(call), "a refused cursor is not yet a dead session");
        ping_answered(&mut world);
        let (_, get) = resume(&mut world);
        world.head(get, status, "", None);
        assert_eq!(world.failure(call).reason, Reason::ResumeRejected, "{status}");
        world.take_cancelled();
        world.assert_nothing_is_left();
    }
}

#[test]
fn a_dead_session_ends_its_calls_and_polls_no_cursor() {
    let mut world = World::connected(Options { fail_lost_session: true, ..options() });
    let (cut, _, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.cut(post);
    let (healthy, _, post) = world.streaming();
    let (_, get) = resume(&mut world);
    world.head(get, 404, "", None);
    let (ping, _) = world.request();
    world.head(ping, 404, "", None);
    world.end(ping);
    assert!(world.is_pending(healthy) && !world.aborted.contains(&post), "what is open is read on");
    world.cut(post);
    for call in [cut, healthy] {
        let failure = world.failure(call);
        assert_eq!((failure.reason, failure.outcome), (Reason::SessionLost, Outcome::Unknown));
    }
    let later = world.call();
    assert_eq!(
        (world.failure(later).reason, world.failure(later).outcome),
        (Reason::SessionLost, Outcome::NotSent)
    );
    world.pass(1_000_000);
    assert!(world.requests.is_empty());
    world.assert_nothing_is_left();
}

#[test]
fn a_post_refused_for_its_session_was_not_executed() {
    for (status, body) in [
        (404, ""),
        (410, ""),
        (400, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no valid session id"}}"#),
        (401, "Session not found"),
    ] {
        let mut world = World::connected(Options { fail_lost_session: true, ..options() });
        let call = world.call();
        let (post, _) = world.request();
        world.head(post, status, JSON, None);
        world.body(post, body);
        world.end(post);
        let failure = world.failure(call);
        assert_eq!((failure.reason, failure.outcome), (Reason::SessionLost, Outcome::Rejected), "{status}");
        assert!(failure.retry_safe);
    }
}

#[test]
fn a_call_that_ends_while_it_waits_leaves_nothing_behind() {
    let (mut world, call, _) = cut_after_one();
    world.client.cancel(world.now, call);
    world.drain();
    let (cancelled, _) = world.request();
    world.head(cancelled, 202, "", None);
    world.pass(1_000_000);
    assert!(world.requests.is_empty());
    world.assert_nothing_is_left();
}

#[test]
fn a_resume_waits_for_a_connection_when_all_are_taken() {
    let mut world = World::connected(Options { max_concurrent: Some(2.0), ..options() });
    let (first, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.cut(post);
    let (_, second_id, second_post) = world.streaming();
    world.pass(5_000);
    assert!(world.requests.is_empty());
    world.body(second_post, &result(&second_id));
    let (get, request) = world.request();
    assert_eq!(request.method, Method::Get);
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(first).contains("ok"));
}

#[test]
fn cursors_and_sessions_are_digests_unless_the_user_wants_them_whole() {
    let mut world = World::connected(Options { full_diagnostics: false, ..options() });
    let (call, _, post) = world.streaming();
    world.body(post, &note("secret-1", "a"));
    world.cut(post);
    world.client.cancel(world.now, call);
    world.drain();
    let told = format!("{:?} {:?}", world.events, world.failure(call));
    assert!(!told.contains("secret-1") && !told.contains("s1\""), "{told}");
    assert!(world.failure(call).diagnostics.session.as_deref().is_some_and(|s| s.starts_with('#')));
}

#[test]
fn our_own_backoff_is_not_charged_to_the_server() {
    let timeouts = landfall::proto::TimeoutOptions {
        call: Some(4_000.0),
        recovery: Some(4_000.0),
        ..landfall::proto::TimeoutOptions::default()
    };
    let mut world = World::connected(Options { timeouts, ..options() });
    let (call, _, post) = world.streaming();
    world.body(post, &format!("retry: 100\n{}", note("1", "a")));
    world.cut(post);
    let start = world.now;
    while world.is_pending(call) {
        world.pass(10);
        while let Some((exchange, request)) = world.requests.pop_front() {
            if request.method == Method::Get {
                world.head(exchange, 500, "", None);
            }
        }
    }
    assert_eq!(world.failure(call).reason, Reason::RecoveryExhausted);
    assert!(world.now.since(start).as_millis() >= 3_900);
}

/// SEP-1699 without a `retry`: the wait is our own, and spread like any other of ours.
#[test]
fn polite_closes_without_a_retry_are_waited_out_apart() {
    let mut world = World::connected(options());
    let mut posts = Vec::new();
    for n in 0..20 {
        let (_, _, post) = world.streaming();
        world.body(post, &note(&format!("{n}/1"), "a"));
        posts.push(post);
    }
    for post in posts {
        world.end(post);
    }
    let start = world.now;
    let mut late = 0;
    for _ in 0..20 {
        world.next_request();
        late += usize::from(world.now.since(start).as_millis() > 625);
    }
    assert!(late >= 5, "500 ms, a quarter either way, and up to 500 ms more: {late} of 20");
}

#[test]
fn where_there_is_no_session_a_refused_cursor_is_gone_and_nobody_is_asked() {
    for status in [400, 404, 410] {
        let known = crate::world::known_session(None, Some("2025-11-25"), Some("{}"));
        let mut world = World::new(Options { resume: Some(known), ..options() });
        world.client.connect(world.now);
        world.drain();
        let (call, _, post) = world.streaming();
        world.body(post, &note("1", "a"));
        world.cut(post);
        let (_, get, _) = world.next_request();
        world.head(get, status, "", None);
        assert_eq!(world.failure(call).reason, Reason::ResumeRejected, "{status}");
    }
}
