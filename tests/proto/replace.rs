//! Sending again, and replacing a dead session.

use crate::world::{header, id_of, note, options, result, World, JSON, SSE};
use landfall::proto::{
    CallId, CallSpec, Event, Method, Options, Outcome, Reason, ReplayOption, ResponseHead,
};

/// Lists tools `t` (these annotations) in a connected session.
fn with_hints(annotations: &str, options: Options) -> World {
    let mut world = World::connected(options);
    let list = world.call_with(CallSpec { method: "tools/list".to_string(), ..CallSpec::default() });
    let (post, request) = world.request();
    let tools = format!(r#"[{{"name":"u"}},{{"name":"t","annotations":{annotations}}}]"#);
    world.reply(post, &request, &format!(r#"{{"tools":{tools}}}"#));
    assert!(!world.is_pending(list));
    world.events.clear();
    world
}

/// Lets the new session's handshake pass.
fn handshake(world: &mut World, session: &str) {
    let (_, post, request) = world.next_request();
    assert!(request.body.as_deref().unwrap().contains("\"initialize\""), "{request:?}");
    assert_eq!(header(&request, "mcp-session-id"), None);
    let result = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#;
    world.head(post, 200, JSON, Some(session));
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id_of(&request)));
    world.end(post);
    let (confirm, _) = world.request();
    world.head(confirm, 202, "", None);
}

/// Loses the stream of a call for good.
fn lose(world: &mut World) -> CallId {
    let (call, _, post) = world.streaming();
    world.cut(post);
    call
}

#[test]
fn a_lost_call_is_sent_again_where_the_servers_hints_allow_it_under_a_new_id_and_the_same_token() {
    for (annotations, safe) in [
        (r#"{"readOnlyHint":true}"#, true),
        (r#"{"idempotentHint":true,"destructiveHint":true}"#, true),
        (r#"{"readOnlyHint":true,"destructiveHint":true}"#, false),
        (r#"{"readOnlyHint":"true"}"#, false),
        ("{}", false),
    ] {
        let mut world = with_hints(annotations, options());
        let call = lose(&mut world);
        assert_eq!(world.is_pending(call), safe, "{annotations}");
        if !safe {
            assert!(!world.failure(call).retry_safe);
            continue;
        }
        let first = world.client.request_id(call);
        let (_, post, request) = world.next_request();
        let body: serde_json::Value = serde_json::from_str(request.body.as_deref().unwrap()).unwrap();
        assert_ne!(body["id"], first.as_str());
        assert_eq!(body["params"]["_meta"]["progressToken"], first.as_str());
        assert!(world.names().contains(&"reissued"));
        world.head(post, 200, SSE, None);
        world.body(post, &result(&id_of(&request)));
        assert!(world.answer(call).contains("ok"));
        world.assert_nothing_is_left();
    }
}

#[test]
fn the_callers_word_counts_and_replay_bounds_it() {
    let idempotent = CallSpec { method: "tools/call".to_string(), idempotent: true, ..CallSpec::default() };
    let decided =
        |replay| CallSpec { method: "tools/call".to_string(), replay: Some(replay), ..CallSpec::default() };
    let read = CallSpec { method: "resources/read".to_string(), ..CallSpec::default() };
    for (replay, spec, again) in [
        (ReplayOption::Hints, idempotent.clone(), true),
        (ReplayOption::Caller, idempotent.clone(), true),
        (ReplayOption::Never, idempotent, false),
        (ReplayOption::Hints, decided(true), true),
        (ReplayOption::Hints, decided(false), false),
        (ReplayOption::Caller, read.clone(), true),
        (ReplayOption::Never, read, false),
    ] {
        let mut world = World::connected(Options { replay, ..options() });
        let call = world.call_with(spec);
        let (post, _) = world.request();
        world.head(post, 200, SSE, None);
        world.cut(post);
        assert_eq!(world.is_pending(call), again, "{replay:?}");
    }
}

#[test]
fn calls_that_meet_a_forgotten_session_at_once_all_go_on_in_the_next() {
    let mut world = World::connected(options());
    let calls: Vec<_> = (0..10).map(|_| world.call()).collect();
    let posts: Vec<_> = calls.iter().map(|_| world.request().0).collect();
    for (nth, post) in posts.iter().enumerate() {
        world.head(*post, 404, "", None);
        if nth == 0 {
            world.end(*post);
        }
    }
    handshake(&mut world, "s2");
    for call in &calls {
        let (post, request) = world.request();
        assert_eq!(header(&request, "mcp-session-id"), Some("s2"));
        world.reply(post, &request, "{}");
        let _ = call;
    }
    assert!(calls.iter().all(|call| world.answer(*call).contains("result")));
    world.assert_nothing_is_left();
}

#[test]
fn a_call_that_a_forgotten_session_leaves_without_headers_ends_after_connect_ms_or_by_its_own_answer() {
    for answered in [false, true] {
        let mut world = World::connected(options());
        let (refused, waiting) = (world.call(), world.call());
        let ((first, _), (second, request)) = (world.request(), world.request());
        world.head(first, 404, "", None);
        world.end(first);
        handshake(&mut world, "s2");
        let (post, again) = world.request();
        world.reply(post, &again, "{}");
        assert!(world.answer(refused).contains("result"));
        world.pass(4_999);
        assert!(world.is_pending(waiting));
        if answered {
            world.reply(second, &request, "{}");
            assert!(world.answer(waiting).contains("result"));
        } else {
            world.pass(1);
            assert_eq!(world.failure(waiting).reason, Reason::SessionLost);
            assert_eq!(world.failure(waiting).outcome, Outcome::Unknown);
        }
        world.pass(600_000);
        world.assert_nothing_is_left();
    }
}

#[test]
fn hints_end_with_list_changed_for_calls_to_come() {
    let mut world = with_hints(r#"{"readOnlyHint":true}"#, options());
    let (sent, _, post) = world.streaming();
    world.body(post, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n");
    let call = lose(&mut world);
    assert_eq!(world.failure(call).reason, Reason::StreamLost);
    world.cut(post);
    assert!(world.is_pending(sent), "a call keeps the word under which it was sent");
}

#[test]
fn hints_end_with_their_time_to_live_and_0_is_no_time() {
    for (ttl, ms, holds) in
        [("60000", 59_000, true), ("60000", 60_000, false), ("0", 600_000, true), ("-5", 600_000, true)]
    {
        let mut world = World::connected(options());
        world.call_with(CallSpec { method: "tools/list".to_string(), ..CallSpec::default() });
        let (post, request) = world.request();
        let tools = r#"[{"name":"t","annotations":{"readOnlyHint":true}}]"#;
        world.reply(post, &request, &format!(r#"{{"tools":{tools},"ttlMs":{ttl}}}"#));
        world.pass(ms);
        let call = world.call();
        let (post, _) = world.request();
        world.head(post, 200, SSE, None);
        world.cut(post);
        assert_eq!(world.is_pending(call), holds, "ttlMs {ttl}, after {ms} ms");
    }
}

#[test]
fn re_issues_are_bounded_and_the_first_cause_is_the_reason() {
    let mut world = with_hints(r#"{"readOnlyHint":true}"#, options());
    let call = lose(&mut world);
    for _ in 0..2 {
        let (_, post, _) = world.next_request();
        world.head(post, 200, SSE, None);
        world.cut(post);
    }
    assert!(!world.is_pending(call));
    assert_eq!(world.failure(call).diagnostics.attempts.len(), 2);
    world.take_cancelled();
    world.assert_nothing_is_left();
}

#[test]
fn a_request_that_is_known_not_to_have_left_or_to_have_been_refused_is_sent_again_whatever_the_tool() {
    let mut world = World::connected(options());
    let call = world.call();
    let (post, _) = world.request();
    world.failed(post, "ECONNREFUSED");
    let (_, post, _) = world.next_request();
    let head = ResponseHead { status: 429, retry_after: Some("2".to_string()), ..ResponseHead::default() };
    world.input_head(post, head);
    world.end(post);
    let (wait, post, request) = world.next_request();
    assert!((2_000.0..2_700.0).contains(&wait), "{wait}");
    world.head(post, 200, SSE, None);
    world.body(post, &result(&id_of(&request)));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn an_answer_to_an_earlier_id_is_an_answer() {
    let mut world = with_hints(r#"{"readOnlyHint":true}"#, options());
    let (call, first_id, post) = world.streaming();
    world.cut(post);
    let (_, post, _) = world.next_request();
    world.head(post, 200, SSE, None);
    world.body(post, &result(&first_id));
    assert!(world.answer(call).contains("ok"));
    world.assert_nothing_is_left();
}

#[test]
fn a_dead_session_is_replaced_once_for_all_and_only_safe_calls_are_sent_again() {
    let mut world = World::connected(options());
    let (unsafe_call, _, unsafe_post) = world.streaming();
    let read = world.call_with(CallSpec { method: "resources/read".to_string(), ..CallSpec::default() });
    let (read_post, _) = world.request();
    world.head(read_post, 200, SSE, None);
    let refused = world.call();
    let (post, _) = world.request();
    world.head(post, 404, "", None);
    world.end(post);
    world.cut(unsafe_post);
    let failure = world.failure(unsafe_call);
    assert_eq!((failure.reason, failure.outcome), (Reason::SessionLost, Outcome::Unknown));
    world.cut(read_post);
    handshake(&mut world, "s2");
    assert_eq!(world.ready, Some(("2025-11-25".to_string(), Some("s2".to_string()))));
    let replaced = |call| {
        world.events.iter().any(|(c, e)| *c == Some(call) && matches!(e, Event::SessionReplaced { .. }))
    };
    assert!(replaced(read) && replaced(refused));
    assert!(world.messages.iter().any(|text| text.contains("notifications/tools/list_changed")));
    for _ in 0..2 {
        let (post, request) = world.request();
        assert_eq!(header(&request, "mcp-session-id"), Some("s2"));
        world.head(post, 200, SSE, None);
        world.body(post, &result(&id_of(&request)));
    }
    assert!(world.answer(read).contains("ok") && world.answer(refused).contains("ok"));
    world.assert_nothing_is_left();
}

#[test]
fn what_waits_to_resume_in_a_dead_session_never_fires_into_the_next() {
    let mut world = World::connected(options());
    let mut cut = Vec::new();
    for _ in 0..3 {
        let (call, _, post) = world.streaming();
        world.body(post, &note("1", "a"));
        world.cut(post);
        cut.push(call);
    }
    let call = world.call();
    let (post, _) = world.request();
    world.head(post, 404, "", None);
    world.end(post);
    for call in cut {
        assert_eq!(world.failure(call).reason, Reason::SessionLost);
    }
    handshake(&mut world, "s2");
    let (post, request) = world.request();
    world.head(post, 200, SSE, None);
    world.body(post, &result(&id_of(&request)));
    assert!(world.answer(call).contains("ok"));
    world.pass(600_000);
    assert!(world.requests.is_empty());
}

#[test]
fn subscriptions_and_the_log_level_are_restored_in_the_next_session() {
    let mut world = World::connected(options());
    for (method, params) in [
        ("resources/subscribe", r#"{"uri":"a"}"#),
        ("resources/subscribe", r#"{"uri":"b"}"#),
        ("resources/unsubscribe", r#"{"uri":"a"}"#),
        ("logging/setLevel", r#"{"level":"debug"}"#),
    ] {
        let (method, params) = (method.to_string(), params.to_string());
        world.call_with(CallSpec { method, params, ..CallSpec::default() });
        let (post, request) = world.request();
        world.reply(post, &request, "{}");
    }
    world.call();
    let (post, _) = world.request();
    world.head(post, 404, "", None);
    world.end(post);
    handshake(&mut world, "s2");
    let bodies: Vec<String> = world.requests.iter().filter_map(|(_, request)| request.body.clone()).collect();
    assert!(
        bodies.iter().any(|body| body.contains("resources/subscribe") && body.contains("\"b\"")),
        "{bodies:?}"
    );
    assert!(bodies.iter().any(|body| body.contains("logging/setLevel") && body.contains("debug")));
    assert!(!bodies.iter().any(|body| body.contains("\"uri\":\"a\"")));
}

#[test]
fn a_replacement_that_fails_ends_who_waited_and_the_next_call_tries_again() {
    let mut world = World::connected(options());
    let call = world.call();
    let (post, _) = world.request();
    world.head(post, 404, "", None);
    world.end(post);
    let (post, _) = world.request();
    world.head(post, 400, "", None);
    world.end(post);
    assert_eq!(
        (world.failure(call).reason, world.failure(call).outcome),
        (Reason::SessionLost, Outcome::Rejected)
    );
    let call = world.call();
    handshake(&mut world, "s2");
    let (post, request) = world.request();
    world.head(post, 200, SSE, None);
    world.body(post, &result(&id_of(&request)));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn while_nothing_is_answered_one_call_speaks_for_all() {
    let mut world = World::connected(options());
    let mut calls = Vec::new();
    for _ in 0..30 {
        let (call, id, post) = world.streaming();
        world.body(post, &note("1", "a"));
        calls.push((call, id, post));
    }
    for (_, _, post) in &calls {
        world.cut(*post);
    }
    let mut gets = 0;
    for _ in 0..300 {
        world.pass(100);
        while let Some((exchange, request)) = world.requests.pop_front() {
            gets += usize::from(request.method == Method::Get);
            world.cut(exchange);
        }
    }
    assert!(gets < 100, "30 calls, 30 s: {gets} attempts");
    // The server is back: all calls go on.
    for _ in 0..200 {
        world.pass(100);
        while let Some((exchange, request)) = world.requests.pop_front() {
            if request.method == Method::Get {
                let known =
                    calls.iter().find(|(call, _, _)| Some(*call) == request.call).expect("one of ours");
                let answer = result(&known.1);
                world.head(exchange, 200, SSE, None);
                world.body(exchange, &answer);
            } else {
                world.reply(exchange, &request, "{}");
            }
        }
    }
    assert!(calls.iter().all(|(call, _, _)| !world.is_pending(*call)));
    world.assert_nothing_is_left();
}

#[test]
fn a_call_that_may_have_run_before_stays_unknown_when_its_second_request_is_refused() {
    let mut world = with_hints(r#"{"readOnlyHint":true}"#, Options { fail_lost_session: true, ..options() });
    let call = lose(&mut world);
    let (_, post, _) = world.next_request();
    world.head(post, 401, "", None);
    world.end(post);
    assert_eq!(
        (world.failure(call).reason, world.failure(call).outcome),
        (Reason::Unauthorized, Outcome::Unknown)
    );
}

#[test]
fn a_call_goes_on_in_the_next_session_by_the_hints_that_it_was_sent_under() {
    for streams in [false, true] {
        let mut world = with_hints(r#"{"readOnlyHint":true}"#, options());
        let call = lose(&mut world);
        let (_, again, _) = world.next_request();
        let mut refused = again;
        if streams {
            world.head(again, 200, SSE, None);
            world.call();
            refused = world.request().0;
        }
        world.head(refused, 404, "", None);
        world.end(refused);
        handshake(&mut world, "s2");
        if streams {
            world.next_request(); // The one that was refused goes again.
            world.cut(again); // What is open of a dead session is read on.
        }
        let (_, post, request) = world.next_request();
        assert!(request.body.as_deref().unwrap_or_default().contains("tools/call"), "{request:?}");
        world.reply(post, &request, "{}");
        assert!(world.answer(call).contains("result"));
    }
}

#[test]
fn a_new_session_that_fails_in_either_half_of_its_handshake_is_tried_again_by_the_next_call() {
    for confirming in [false, true] {
        // A server that tells no capabilities.
        let result = r#"{"protocolVersion":"2025-11-25"}"#;
        let mut world = World::new(options());
        world.client.connect(world.now);
        world.drain();
        let (post, request) = world.request();
        world.head(post, 200, JSON, Some("s1"));
        world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id_of(&request)));
        world.end(post);
        let (post, _) = world.request();
        world.head(post, 202, "", None);
        world.call();
        let (post, _) = world.request();
        world.head(post, 404, "", None);
        world.end(post);
        let (post, request) = world.request();
        if confirming {
            world.head(post, 200, JSON, Some("s2"));
            world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id_of(&request)));
            world.end(post);
        }
        let (post, _) = if confirming { world.request() } else { (post, request) };
        world.head(post, 400, "", None);
        world.end(post);
        if confirming {
            world.given_back("s2");
        }
        let call = world.call();
        handshake(&mut world, "s3");
        assert!(world.is_pending(call));
        let (_, request) = world.request();
        assert_eq!(header(&request, "mcp-session-id"), Some("s3"));
    }
}

#[test]
fn a_cursor_of_a_dead_session_is_not_polled_in_the_next_one() {
    let mut world = World::connected(options());
    let first = world.call();
    let (post, _) = world.request();
    world.head(post, 404, "", None);
    world.end(post);
    let token = CallSpec {
        method: "tools/call".to_string(),
        resumption_token: Some("k1".to_string()),
        ..CallSpec::default()
    };
    let resumed = world.call_with(token);
    assert_eq!(world.failure(resumed).reason, Reason::SessionLost);
    assert_eq!(world.failure(resumed).outcome, Outcome::Unknown);
    handshake(&mut world, "s2");
    assert!(world.requests.iter().all(|(_, request)| request.method == Method::Post), "{:?}", world.requests);
    assert!(world.is_pending(first));
}
