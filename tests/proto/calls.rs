//! Calls without a cut: bodies of each kind, refusals, ids, the queue, cancellation.

use crate::world::{header, id_of, note, options, result, Ended, World, JSON, SSE};
use landfall::proto::{CallSpec, Event, Options, Outcome, Reason, TimeoutOptions};

fn json_answer(world: &mut World, body: impl Fn(&str) -> String) -> landfall::proto::CallId {
    let call = world.call();
    let (post, request) = world.request();
    world.head(post, 200, JSON, None);
    let text = body(&id_of(&request));
    world.body(post, &text);
    world.end(post);
    call
}

#[test]
fn an_answer_by_event_stream_settles_the_call_and_cancels_the_body() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, &(note("1", "a") + &result(&id)));
    assert!(world.answer(call).contains("\"ok\":true"));
    assert_eq!(world.messages.len(), 1);
    assert_eq!(world.aborted, [post]);
    assert_eq!(world.names(), ["sent", "open", "message"]);
    world.assert_nothing_is_left();
}

#[test]
fn an_answer_by_json_or_by_an_array_settles_the_call() {
    let mut world = World::connected(options());
    let call = json_answer(&mut world, |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    assert!(world.answer(call).contains("result"));
    let call = json_answer(&mut world, |id| {
        format!(
            r#"[{{"jsonrpc":"2.0","method":"notifications/x"}},{{"jsonrpc":"2.0","id":{id},"result":1}}]"#
        )
    });
    assert!(world.answer(call).ends_with("\"result\":1}"));
    assert_eq!(world.messages.len(), 1);
    world.assert_nothing_is_left();
}

#[test]
fn a_body_without_an_answer_fails_the_call_at_once() {
    let mut world = World::connected(options());
    for (body, reason) in [
        ("[]", Reason::UnexpectedContent),
        ("{}", Reason::MalformedResponse),
        ("{\"jsonrpc\":\"2.0\",\"id\":", Reason::MalformedResponse),
        ("", Reason::MalformedResponse),
        (r#"{"jsonrpc":"2.0","id":"other","result":{}}"#, Reason::MalformedResponse),
    ] {
        let call = json_answer(&mut world, |_| body.to_string());
        assert_eq!(world.failure(call).reason, reason, "{body}");
    }
    world.assert_nothing_is_left();
}

#[test]
fn other_content_types_and_202_are_unexpected_content() {
    let mut world = World::connected(options());
    for (status, kind) in [(200, "text/html"), (200, ""), (202, ""), (204, "")] {
        let call = world.call();
        let (post, _) = world.request();
        world.head(post, status, kind, None);
        assert_eq!(world.failure(call).reason, Reason::UnexpectedContent, "{status} {kind}");
    }
    world.assert_nothing_is_left();
}

#[test]
fn a_refusal_has_the_reason_of_its_status_and_says_whether_the_call_ran() {
    let mut world = World::connected(Options { max_reissues: Some(0.0), ..options() });
    for (status, reason, outcome) in [
        (401, Reason::Unauthorized, Outcome::Rejected),
        (403, Reason::Forbidden, Outcome::Rejected),
        (405, Reason::HttpError, Outcome::Rejected),
        (429, Reason::HttpError, Outcome::Rejected),
        (500, Reason::HttpError, Outcome::Unknown),
        (302, Reason::Redirected, Outcome::Unknown),
    ] {
        let call = world.call();
        let (post, _) = world.request();
        world.head(post, status, "text/plain", None);
        world.body(post, "no");
        world.end(post);
        let failure = world.failure(call);
        assert_eq!((failure.reason, failure.outcome), (reason, outcome), "{status}");
        assert_eq!(failure.retry_safe, outcome == Outcome::Rejected);
        assert!(failure.text.contains(&format!("{status}: no")), "{}", failure.text);
    }
    world.assert_nothing_is_left();
}

#[test]
fn a_json_rpc_error_in_a_refusal_is_an_answer() {
    let mut world = World::connected(options());
    for id in ["null".to_string(), String::new()] {
        let call = world.call();
        let (post, request) = world.request();
        let id = if id.is_empty() { id_of(&request) } else { id };
        world.head(post, 400, JSON, None);
        world.body(
            post,
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"bad"}}}}"#),
        );
        world.end(post);
        assert!(world.answer(call).contains("-32602"));
    }
}

#[test]
fn an_endless_refusal_is_read_no_further_than_its_cap() {
    let mut world = World::connected(options());
    let call = world.call();
    let (post, _) = world.request();
    world.head(post, 500, "text/plain", None);
    for _ in 0..40 {
        world.body(post, &"x".repeat(4_096));
    }
    assert_eq!(world.failure(call).reason, Reason::HttpError);
    assert_eq!(world.aborted, [post]);
}

#[test]
fn a_network_error_before_headers_is_unknown_unless_the_runtime_proves_otherwise() {
    let mut world = World::connected(Options { max_reissues: Some(0.0), ..options() });
    for (code, outcome) in
        [("", Outcome::Unknown), ("ECONNRESET", Outcome::Unknown), ("ECONNREFUSED", Outcome::NotSent)]
    {
        let call = world.call();
        let (post, _) = world.request();
        world.failed(post, code);
        let failure = world.failure(call);
        assert_eq!((failure.reason, failure.outcome), (Reason::NetworkError, outcome), "{code}");
    }
}

#[test]
fn a_null_id_on_an_error_means_the_one_request_of_its_stream() {
    let mut world = World::connected(options());
    let (call, _, post) = world.streaming();
    world.body(post, "data: {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-1,\"message\":\"x\"}}\n\n");
    assert!(world.answer(call).contains("-1"));
    assert!(world.names().contains(&"odd_response_id"));
}

#[test]
fn answers_are_matched_by_id_and_not_by_stream() {
    let mut world = World::connected(options());
    let (one, id_one, post_one) = world.streaming();
    let (two, id_two, post_two) = world.streaming();
    world.body(post_one, &result(&id_two));
    assert!(world.answer(two).contains(&id_two));
    assert_eq!(world.aborted, [post_two]);
    world.body(post_one, &result("\"nobody\""));
    assert!(world.is_pending(one));
    world.body(post_one, &result(&id_one));
    assert!(world.answer(one).contains(&id_one));
    world.assert_nothing_is_left();
}

#[test]
fn progress_goes_to_the_call_whose_token_it_bears() {
    let mut world = World::connected(options());
    let (one, id_one, _) = world.streaming();
    let (_, _, post_two) = world.streaming();
    world.body(post_two, &format!("data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":{id_one},\"progress\":1}}}}\n\n"));
    assert!(matches!(world.events.last(), Some((Some(call), Event::Progress { .. })) if *call == one));
}

#[test]
fn the_progress_token_is_the_request_id_and_meta_of_the_caller_stays() {
    let mut world = World::connected(options());
    world.call_with(CallSpec {
        method: "tools/call".to_string(),
        params: r#"{"name":"t"}"#.to_string(),
        meta: r#"{"k":[1]}"#.to_string(),
        progress: true,
        ..CallSpec::default()
    });
    let (_, request) = world.request();
    let body: serde_json::Value = serde_json::from_str(request.body.as_deref().unwrap()).unwrap();
    assert_eq!(body["params"]["_meta"]["progressToken"], body["id"]);
    assert_eq!(body["params"]["_meta"]["k"][0], 1);
    assert_eq!(body["params"]["name"], "t");
}

#[test]
fn heartbeats_as_data_and_priming_events_are_no_messages() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, "id: p0\nretry: 3000\ndata:\n\ndata: {\"type\":\"heartbeat\"}\n\nevent: keepalive\ndata: {}\n\n: hi\n\n");
    assert!(world.messages.is_empty() && world.is_pending(call));
    world.body(post, &format!("event: error\n{}", result(&id)));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn of_an_event_under_another_name_only_an_answer_of_ours_counts() {
    let answer = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"ok"}}"#);
    let message = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    let question = r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#;
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, "id: 1\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n\n");
    world.body(post, &format!("id: 2\nevent: other\ndata: {message}\n\nevent: other\ndata: {question}\n\n"));
    world.body(post, &format!("event: other\ndata: {}\n\nevent: other\ndata: {{\n\n", answer("\"nobodys\"")));
    assert_eq!((world.messages.len(), world.questions.len()), (1, 0));
    assert!(!world.names().contains(&"warning"), "{:?}", world.names());
    world.cut(post);
    let (_, get, request) = world.next_request();
    assert_eq!(header(&request, "last-event-id"), Some("2"), "its id moves the cursor");
    world.head(get, 200, SSE, None);
    world.body(get, &format!("event: other\ndata: [{message},{}]\n\n", answer(&id)));
    assert_eq!((world.messages.len(), world.questions.len()), (1, 0));
    assert!(world.answer(call).contains("ok"));
    assert!(world.names().contains(&"odd_event_name"));
}

#[test]
fn a_call_waits_when_every_connection_is_taken_and_goes_when_one_is_free() {
    let mut world = World::connected(Options { max_concurrent: Some(3.0), ..options() });
    let (one, id, post) = world.streaming();
    world.streaming();
    let waiting = world.call();
    assert!(world.requests.is_empty(), "the third connection is for control traffic");
    assert_eq!(world.names().last(), Some(&"queued"));
    world.body(post, &result(&id));
    assert!(!world.is_pending(one));
    let (_, request) = world.request();
    assert_eq!(id_of(&request), format!("\"{}\"", world.client.request_id(waiting)));
}

#[test]
fn where_only_waits_for_headers_count_a_flood_of_questions_is_answered_two_at_a_time() {
    let mut world = World::connected(Options { max_concurrent: Some(5.0), until_headers: true, ..options() });
    let (_, _, post) = world.streaming();
    let pings: String = (0..20)
        .map(|id| format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n\n"))
        .collect();
    world.body(post, &pings);
    let mut answered = 0;
    while !world.requests.is_empty() {
        assert!(world.requests.len() <= 2);
        let (pong, _) = world.request();
        world.head(pong, 202, "", None);
        answered += 1;
    }
    assert_eq!(answered, 20);
}

#[test]
fn where_only_waits_for_headers_count_a_call_goes_as_soon_as_they_came() {
    let options = Options { max_concurrent: Some(3.0), until_headers: true, ..options() };
    let mut world = World::connected(options);
    world.streaming();
    world.streaming();
    let (_, _, three) = (world.call(), world.call(), world.call());
    let sent: Vec<_> = std::iter::from_fn(|| world.requests.pop_front()).collect();
    assert_eq!(sent.len(), 2, "two wait for headers, and the third connection is for control traffic");
    assert_eq!(world.names().last(), Some(&"queued"));
    world.head(sent[0].0, 200, SSE, None);
    let (_, request) = world.request();
    assert_eq!(id_of(&request), format!("\"{}\"", world.client.request_id(three)));
    world.head(sent[1].0, 503, "text/plain", None);
    world.call();
    assert_eq!(world.requests.len(), 1, "a refusal frees it, too");
}

#[test]
fn the_queue_is_bounded_and_a_queued_call_has_its_deadline() {
    let mut world =
        World::connected(Options { max_concurrent: Some(2.0), max_queued: Some(1.0), ..options() });
    world.streaming();
    let queued = world.call_with(CallSpec {
        method: "tools/call".to_string(),
        timeouts: TimeoutOptions { deadline: Some(500.0), ..TimeoutOptions::default() },
        ..CallSpec::default()
    });
    let refused = world.call();
    let failure = world.failure(refused);
    assert_eq!((failure.reason, failure.outcome), (Reason::QueueFull, Outcome::NotSent));
    world.pass(500);
    let failure = world.failure(queued);
    assert_eq!((failure.reason, failure.outcome), (Reason::DeadlineExceeded, Outcome::NotSent));
    assert!(world.requests.is_empty(), "nothing is to be cancelled on the server");
}

#[test]
fn cancelling_settles_at_once_and_then_tells_the_server_once() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.client.cancel(world.now, call);
    world.client.cancel(world.now, call);
    world.drain();
    let failure = world.failure(call);
    assert_eq!((failure.reason, failure.outcome), (Reason::Cancelled, Outcome::Unknown));
    assert_eq!(world.aborted, [post]);
    let (tell, request) = world.request();
    let body: serde_json::Value = serde_json::from_str(request.body.as_deref().unwrap()).unwrap();
    assert_eq!(body["method"], "notifications/cancelled");
    assert_eq!(body["params"]["requestId"].to_string(), id);
    assert!(world.requests.is_empty());
    world.body(post, &result(&id));
    world.failed(tell, "");
    world.assert_nothing_is_left();
}

#[test]
fn cancelling_a_queued_call_tells_nobody() {
    let mut world = World::connected(Options { max_concurrent: Some(2.0), ..options() });
    world.streaming();
    let queued = world.call();
    world.client.cancel(world.now, queued);
    world.drain();
    assert_eq!(world.failure(queued).outcome, Outcome::NotSent);
    assert!(world.requests.is_empty());
}

#[test]
fn a_notification_settles_when_any_2xx_came_and_its_body_is_not_read() {
    let mut world = World::connected(options());
    for status in [200, 202, 204] {
        let call = world.client.notify(world.now, "notifications/roots/list_changed", "");
        world.drain();
        let (post, request) = world.request();
        assert!(!request.body.unwrap().contains("\"id\""));
        world.head(post, status, "text/plain", None);
        assert!(matches!(world.ended.get(&call), Some(Ended::Accepted)));
        assert_eq!(world.aborted.pop(), Some(post));
    }
    let call = world.client.notify(world.now, "notifications/x", "{\"a\":1}");
    world.drain();
    let (post, _) = world.request();
    world.head(post, 500, "", None);
    world.end(post);
    assert_eq!(world.failure(call).reason, Reason::HttpError);
    world.assert_nothing_is_left();
}

#[test]
fn a_question_of_the_servers_is_answered_by_post_and_its_repeat_asks_nobody() {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    let question =
        "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"sampling/createMessage\",\"params\":{}}\n\n";
    world.body(post, question);
    world.body(post, question);
    assert_eq!(world.questions.len(), 1);
    for _ in 0..10 {
        world.pass(30_000);
        world.body(post, ": still there\n\n");
    }
    world.client.answer(world.now, r#"{"jsonrpc":"2.0","id":"q","result":{}}"#);
    world.drain();
    let (_, request) = world.request();
    assert_eq!(request.body.as_deref(), Some(r#"{"jsonrpc":"2.0","id":"q","result":{}}"#));
    assert!(world.names().contains(&"input_answered"));
    world.client.answer(world.now, r#"{"jsonrpc":"2.0","id":"q","result":{}}"#);
    world.drain();
    assert!(world.requests.is_empty(), "a question is answered once");
}

#[test]
fn a_ping_of_the_servers_is_answered_by_the_client_itself() {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    world.body(post, "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n\n");
    let (_, request) = world.request();
    assert_eq!(request.body.as_deref(), Some(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#));
    assert!(world.questions.is_empty());
}

#[test]
fn a_limit_that_is_passed_is_named_with_its_number() {
    let mut world =
        World::connected(Options { max_event_bytes: Some(100.0), max_body_bytes: Some(300.0), ..options() });
    let (call, _, post) = world.streaming();
    world.body(post, &format!("id: 1\ndata: {}\n\n", "x".repeat(200)));
    assert_eq!(world.failure(call).reason, Reason::MessageTooLarge);
    assert!(
        world.failure(call).text.contains("100 bytes (limits.maxEventBytes)"),
        "{}",
        world.failure(call).text
    );
    world.take_cancelled();
    let call = json_answer(&mut world, |_| "x".repeat(301));
    assert!(world.failure(call).text.contains("300 bytes (limits.maxBodyBytes)"));
    world.take_cancelled();
    world.pass(100_000);
    assert!(world.requests.is_empty(), "what is too large is not resumed");
}

#[test]
fn server_text_in_a_failure_is_short_and_without_control_characters() {
    let mut world = World::connected(options());
    let call = world.call();
    let (post, _) = world.request();
    world.head(post, 500, "text/plain", None);
    world.body(post, &format!("\u{1b}[31m{}", "y".repeat(10_000)));
    world.end(post);
    assert!(world.failure(call).text.len() < 300 && !world.failure(call).text.contains('\u{1b}'));
}

#[test]
fn an_answer_in_the_middle_of_a_chunk_leaves_the_rest_unread() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, &(result(&id) + &note("9", "after") + &result(&id)));
    assert!(world.answer(call).contains("ok"));
    assert!(world.messages.is_empty());
    world.head(post, 200, SSE, None);
    world.end(post);
    world.assert_nothing_is_left();
}

#[test]
fn a_call_that_is_cancelled_before_its_request_was_taken_was_not_sent() {
    let mut world = World::connected(options());
    let spec = CallSpec { method: "tools/call".to_string(), ..CallSpec::default() };
    let call = world.client.call(world.now, spec).unwrap();
    world.client.cancel(world.now, call);
    world.drain();
    assert_eq!(
        (world.failure(call).reason, world.failure(call).outcome),
        (Reason::Cancelled, Outcome::NotSent)
    );
    assert!(world.requests.is_empty() && world.aborted.is_empty());
    world.assert_nothing_is_left();
}

#[test]
fn a_call_is_told_as_sent_when_its_request_was_handed_to_fetch_and_not_before() {
    let mut world = World::connected(options());
    world.sends = false;
    let call = world.safe_call();
    let (post, _) = world.request();
    assert!(world.names().is_empty(), "{:?}", world.names());
    world.sent(post);
    assert_eq!(world.names(), ["sent"]);
    world.failed(post, "");
    let (_, post, request) = world.next_request();
    assert_eq!(world.names(), ["sent", "reconnecting", "reissued"]);
    world.sent(post);
    let Some((Some(told), Event::Sent { wire_id, reissue: true })) = world.events.last() else {
        panic!("it is told as a re-issue: {:?}", world.events)
    };
    assert_eq!((*told, wire_id.text()), (call, id_of(&request)));
    // One that its credentials keep from fetch was never sent.
    let late = world.call();
    let (post, _) = world.request();
    world.failed(post, "LANDFALL_LATE");
    assert!(!world.is_pending(late) && world.names().iter().filter(|name| **name == "sent").count() == 2);
}
