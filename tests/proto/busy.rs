//! Servers that are busy with a call and answer nothing else: a probe that times out proves nothing.

use crate::world::{header, id_of, note, options, result, safe, World, JSON, SSE};
use landfall::proto::{
    CallId, CallSpec, ExchangeId, HttpRequest, Method, Options, Outcome, Reason, ResponseHead, TimeoutOptions,
};

fn is(request: &HttpRequest, method: &str) -> bool {
    request.body.as_deref().unwrap_or_default().contains(&format!("\"{method}\""))
}

/// Requests of tools that were made since the last look; all others are taken out, too, and get no answer.
fn runs(world: &mut World) -> Vec<(ExchangeId, HttpRequest)> {
    world.requests.drain(..).filter(|(_, request)| is(request, "tools/call")).collect()
}

/// A call that may be executed twice, whose silent body is open when `recoveryMs` is over: it was sent again just now.
fn sent_beside(world: &mut World, spec: CallSpec) -> (CallId, (ExchangeId, String), (ExchangeId, String)) {
    let call = world.call_with(spec);
    let (old, request) = world.request();
    let old_id = id_of(&request);
    world.head(old, 200, SSE, None);
    world.pass(45_000 + 119_999);
    assert!(runs(world).is_empty(), "not before recoveryMs is over");
    world.pass(1);
    let again = runs(world);
    let [(new, request)] = again.as_slice() else { panic!("it is sent once more: {again:?}") };
    assert!(!world.aborted.contains(&old), "the old body stays open");
    let new_id = id_of(request);
    assert_ne!(old_id, new_id);
    (call, (old, old_id), (*new, new_id))
}

#[test]
fn a_blocking_tool_of_56_s_is_answered_after_one_run_though_its_server_answers_no_ping_meanwhile() {
    let mut world = World::connected(options());
    let list = world.call_with(CallSpec { method: "tools/list".to_string(), ..CallSpec::default() });
    let (post, request) = world.request();
    world.reply(post, &request, r#"{"tools":[{"name":"t","annotations":{"readOnlyHint":true}}]}"#);
    assert!(world.answer(list).contains("readOnlyHint"));
    let (call, id, post) = world.streaming();
    world.pass(56_000);
    let meanwhile: Vec<_> = world.requests.drain(..).collect();
    assert!(
        !meanwhile.is_empty() && meanwhile.iter().all(|(_, request)| is(request, "ping")),
        "{meanwhile:?}"
    );
    assert!(!world.aborted.contains(&post) && world.is_pending(call));
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
    world.assert_nothing_is_left();
}

#[test]
fn where_headers_alone_hold_a_connection_a_call_that_is_sent_again_waits_for_one_and_its_body_stays() {
    let mut world = World::connected(Options { until_headers: true, max_concurrent: Some(2.0), ..options() });
    let call = world.safe_call();
    let (old, request) = world.request();
    let old_id = id_of(&request);
    world.head(old, 200, SSE, None);
    world.pass(45_000 + 60_000);
    world.requests.clear();
    let other = world.safe_call();
    let (post, request) = world.requests.pop_back().expect("it goes out");
    world.pass(60_000);
    assert!(runs(&mut world).is_empty(), "the one connection is the other's");
    assert!(!world.aborted.contains(&old), "the old body holds none, and can answer");
    world.reply(post, &request, "{}");
    assert!(world.answer(other).contains("result"));
    assert_eq!(runs(&mut world).len(), 1);
    world.body(old, &result(&old_id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_safe_call_is_sent_again_when_recovery_ms_is_over_and_either_answer_settles_it() {
    for old_wins in [true, false] {
        let mut world = World::connected(options());
        let (call, (old, old_id), (new, new_id)) = sent_beside(&mut world, safe());
        assert!(world.names().ends_with(&["reconnecting", "reissued", "sent"]), "{:?}", world.names());
        world.head(new, 200, SSE, None);
        let (winner, id, loser) = if old_wins { (old, old_id, new) } else { (new, new_id, old) };
        world.body(winner, &(note("7", "late") + &result(&id)));
        assert!(world.answer(call).contains("ok"));
        assert!(world.messages.last().is_some_and(|text| text.contains("late")), "{:?}", world.messages);
        assert!(world.aborted.contains(&loser));
        world.assert_nothing_is_left();
    }
}

#[test]
fn what_the_body_of_the_earlier_request_brings_again_is_dropped() {
    let mut world = World::connected(options());
    let call = world.safe_call();
    let (old, request) = world.request();
    world.head(old, 200, SSE, None);
    world.body(old, &note("7", "once"));
    // It has a cursor, and its resumes are refused for long.
    while world.requests.iter().all(|(_, request)| !is(request, "tools/call")) {
        for (exchange, request) in std::mem::take(&mut world.requests) {
            if request.method == Method::Get {
                world.head(exchange, 502, "", None);
            }
        }
        world.pass(1_000);
    }
    world.messages.clear();
    world.body(old, &(note("7", "once") + &note("8", "then") + &note("8", "then")));
    assert_eq!(world.messages.len(), 1, "{:?}", world.messages);
    world.body(old, &result(&id_of(&request)));
    assert!(world.answer(call).contains("ok"));
    assert_eq!(world.client.metrics(false).duplicates, 2);
    world.assert_nothing_is_left();
}

#[test]
fn a_broken_event_of_the_earlier_request_is_told() {
    let mut world = World::connected(options());
    let (call, (old, id), _) = sent_beside(&mut world, safe());
    world.body(old, ": beat\n\nid: 1\n\ndata: {\"jsonrpc\n\n");
    assert_eq!(world.names().iter().filter(|name| **name == "malformed_event").count(), 1);
    world.body(old, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn the_body_of_the_earlier_request_may_be_a_document() {
    let mut world = World::connected(options());
    let call = world.safe_call();
    let (old, request) = world.request();
    world.head(old, 200, JSON, None);
    world.body(old, r#"{"jsonrpc":"2.0","#);
    world.pass(45_000 + 120_000);
    assert_eq!(runs(&mut world).len(), 1);
    world.body(old, &format!(r#""id":{},"result":{{"late":true}}}}"#, id_of(&request)));
    assert!(world.is_pending(call));
    world.end(old);
    assert!(world.answer(call).contains("late"));
    world.assert_nothing_is_left();
}

#[test]
fn a_call_that_was_sent_again_beside_its_body_has_call_ms_anew_and_is_sent_no_third_time() {
    let mut world = World::connected(options());
    let (call, _, (new, _)) = sent_beside(&mut world, safe());
    world.head(new, 200, SSE, None);
    world.pass(119_999);
    assert!(world.is_pending(call) && runs(&mut world).is_empty());
    world.pass(1);
    let failure = world.failure(call);
    assert_eq!((failure.reason, failure.outcome), (Reason::CallTimeout, Outcome::Unknown));
    assert!(runs(&mut world).is_empty());
}

#[test]
fn when_the_second_request_fails_the_first_is_waited_for_and_nothing_is_sent_again() {
    type Failing = fn(&mut World, ExchangeId);
    let ways: [Failing; 5] = [
        |world, post| world.cut(post),
        |world, post| world.head(post, 200, "text/html", None),
        |world, post| {
            world.head(post, 503, "", None);
            world.end(post);
        },
        |world, post| {
            world.head(post, 400, "", None);
            world.end(post);
        },
        |world, post| {
            world.head(post, 200, SSE, None);
            world.end(post);
        },
    ];
    for fail in ways {
        let mut world = World::connected(options());
        let (call, (old, old_id), (new, _)) = sent_beside(&mut world, safe());
        fail(&mut world, new);
        world.pass(119_000);
        assert!(world.is_pending(call) && runs(&mut world).is_empty());
        world.body(old, &result(&old_id));
        assert!(world.answer(call).contains("ok"));
        world.assert_nothing_is_left();
    }
}

#[test]
fn a_call_ends_when_both_of_its_requests_are_over() {
    let mut world = World::connected(options());
    let (call, (old, _), (new, _)) = sent_beside(&mut world, safe());
    world.cut(new);
    assert!(world.is_pending(call));
    world.cut(old);
    assert_eq!(world.failure(call).reason, Reason::IdleTimeout, "the first cause");
    world.take_cancelled();
    world.assert_nothing_is_left();
}

#[test]
fn where_every_connection_is_taken_the_second_request_has_that_of_the_first() {
    let mut world = World::connected(Options { max_concurrent: Some(2.0), ..options() });
    let call = world.safe_call();
    let (old, _) = world.request();
    world.head(old, 200, SSE, None);
    world.pass(45_000 + 120_000);
    let again = runs(&mut world);
    let [(new, request)] = again.as_slice() else { panic!("it is sent once more: {again:?}") };
    assert!(world.aborted.contains(&old));
    world.head(*new, 200, SSE, None);
    world.body(*new, &result(&id_of(request)));
    assert!(world.answer(call).contains("ok"));
    world.assert_nothing_is_left();
}

#[test]
fn a_call_with_a_timer_of_its_own_is_judged_and_sent_again_only_where_recovery_ms_was_set() {
    for recovery in [None, Some(120_000.0)] {
        let mut world = World::connected(options());
        let timeouts = TimeoutOptions { recovery, ..TimeoutOptions::default() };
        let call = world.call_with(CallSpec { timed: true, timeouts, ..safe() });
        let (post, request) = world.request();
        world.head(post, 200, SSE, None);
        world.pass(45_000 + 120_000);
        assert_eq!(runs(&mut world).len(), usize::from(recovery.is_some()));
        world.pass(100_000);
        world.body(post, &result(&id_of(&request)));
        assert!(world.answer(call).contains("ok"));
    }
}

#[test]
fn recovery_ms_does_not_begin_anew_so_a_session_that_dies_then_ends_the_call_with_both_requests() {
    let mut world = World::connected(options());
    let (call, (old, _), (new, _)) = sent_beside(&mut world, safe());
    world.head(new, 404, "", None);
    world.end(new);
    assert_eq!(world.failure(call).reason, Reason::IdleTimeout);
    assert!(world.aborted.contains(&old) && runs(&mut world).is_empty());
}

#[test]
fn a_stream_that_a_resume_opened_is_not_ended_since_the_session_lives() {
    let mut world = World::connected(options());
    let call = world.safe_call();
    let (post, request) = world.request();
    let id = id_of(&request);
    world.head(post, 200, SSE, None);
    world.body(post, &note("1", "a"));
    world.cut(post);
    // Two resumes fail, and while the session is asked the third one is opened, and is silent.
    let mut ping = None;
    let get = loop {
        let (_, exchange, request) = world.next_request();
        match request.method {
            Method::Get if ping.is_some() => break exchange,
            Method::Get => world.cut(exchange),
            _ => ping = Some((exchange, request)),
        }
    };
    world.head(get, 200, SSE, None);
    let (ping, request) = ping.unwrap();
    world.reply(ping, &request, "{}");
    assert!(!world.aborted.contains(&get) && runs(&mut world).is_empty(), "it can still answer");
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_retry_after_beyond_recovery_ms_to_the_resume_beside_a_silent_body_ends_no_call() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.pass(45_000);
    let (get, request) = world.request();
    assert_eq!(header(&request, "last-event-id"), Some("1"));
    let head = ResponseHead { status: 503, retry_after: Some("300".to_string()), ..ResponseHead::default() };
    world.input_head(get, head);
    world.pass(119_000);
    assert!(world.is_pending(call) && world.requests.is_empty());
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_gateway_that_waits_in_vain_for_a_busy_server_proves_nothing() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    for _ in 0..9 {
        world.pass(10_000);
        for (exchange, request) in world.requests.drain(..).collect::<Vec<_>>() {
            assert!(is(&request, "ping"), "{request:?}");
            world.head(exchange, 504, "", None);
            world.end(exchange);
        }
    }
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn resumes_beside_a_silent_body_are_among_those_that_max_retries_bounds() {
    for most in [0, 2] {
        let mut world = World::connected(Options { max_retries: Some(f64::from(most)), ..options() });
        let (call, id, post) = world.streaming();
        world.body(post, &note("1", "a"));
        let mut gets = 0;
        for _ in 0..100 {
            world.pass(1_000);
            for (exchange, request) in world.requests.drain(..).collect::<Vec<_>>() {
                gets += u32::from(request.method == Method::Get);
                world.cut(exchange);
            }
        }
        assert_eq!(gets, most);
        assert_eq!(world.is_pending(call), most > 0, "without a resume, pings that are cut end it");
        if most > 0 {
            world.body(post, &result(&id));
            assert!(world.answer(call).contains("ok"));
        }
    }
}

#[test]
fn two_pings_that_the_network_refuses_in_one_breath_end_no_body() {
    let mut world = World::connected(options());
    let (first, first_id, first_post) = world.streaming();
    world.pass(1_000);
    let (second, second_id, second_post) = world.streaming();
    world.pass(44_000);
    for _ in 0..2 {
        let (ping, request) = world.request();
        assert!(is(&request, "ping"));
        world.cut(ping);
        world.pass(1_000);
    }
    assert!(world.aborted.is_empty() && world.is_pending(first) && world.is_pending(second));
    world.body(first_post, &result(&first_id));
    world.body(second_post, &result(&second_id));
    assert!(world.answer(first).contains("ok") && world.answer(second).contains("ok"));
}
