//! A Client's session: it does the handshake, and its messages are carried (ARCHITECTURE.md,
//! "Sessions and eras").

use crate::modern::modern;
use crate::world::{header, id_of, known_session, note, options, result, Ended, World, JSON, SSE};
use landfall::proto::{
    CallId, CallSpec, Event, Method, Options, Reason, Redirect, ResponseHead, Target, TimeoutOptions,
};

/// A tool call of a Client's that has a timer of its own.
pub(crate) fn tool_call(world: &mut World, id: &str) -> CallId {
    world.call_with(spec(id))
}

pub(crate) fn spec(id: &str) -> CallSpec {
    CallSpec {
        method: "tools/call".to_string(),
        params: r#"{"name":"t","arguments":{}}"#.to_string(),
        meta: format!("{{\"progressToken\":{id}}}"),
        tool: Some("t".to_string()),
        id: Some(id.to_string()),
        token: Some(id.to_string()),
        timed: true,
        ..CallSpec::default()
    }
}

pub(crate) fn streaming(world: &mut World, spec: CallSpec) -> (CallId, landfall::proto::ExchangeId) {
    let call = world.call_with(spec);
    let (post, _) = world.request();
    world.head(post, 200, SSE, None);
    (call, post)
}

#[test]
fn the_clients_initialize_begins_the_session_and_is_answered_under_its_own_id() {
    let mut world = World::carrying(options());
    assert!(world.requests.is_empty(), "nothing is sent before the Client does");
    let call = world.client_initializes("0", Some("s1"));
    assert!(world.answer(call).contains("\"id\":0"));
    assert_eq!(world.ready, Some(("2025-11-25".to_string(), Some("s1".to_string()))));
    tool_call(&mut world, "1");
    let (_, request) = world.request();
    assert_eq!(header(&request, "mcp-session-id"), Some("s1"));
    assert_eq!(header(&request, "mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!(id_of(&request), "1");
}

#[test]
fn initialize_carries_no_session_even_where_one_stands() {
    let mut world = World::carried(options());
    world.call_with(CallSpec {
        method: "initialize".to_string(),
        id: Some("7".to_string()),
        ..CallSpec::default()
    });
    let (_, request) = world.request();
    assert_eq!(header(&request, "mcp-session-id"), None);
    assert_eq!(header(&request, "mcp-protocol-version"), None);
}

#[test]
fn a_handshake_that_is_refused_fails_with_what_the_server_said_and_is_not_sent_again() {
    for (status, reason) in [(401, Reason::Unauthorized), (403, Reason::Forbidden), (500, Reason::HttpError)]
    {
        let mut world = World::carrying(options());
        let call = world.call_with(CallSpec {
            method: "initialize".to_string(),
            id: Some("0".to_string()),
            ..CallSpec::default()
        });
        let (post, _) = world.request();
        world.head(post, status, "text/plain", None);
        world.body(post, "no");
        world.end(post);
        let failure = world.failure(call);
        assert_eq!((failure.reason, failure.http_status), (reason, Some(status)));
        assert_eq!(failure.body.as_deref(), Some("no"));
        world.pass(60_000);
        assert!(world.requests.is_empty());
        world.client_initializes("1", None);
    }
}

#[test]
fn a_handshake_that_is_redirected_fails_with_the_status() {
    let mut world = World::carrying(options());
    let call = world.call_with(modern("server/discover"));
    let (post, _) = world.request();
    let target = Target { url: "http://h/login".to_string(), same_origin: true };
    let redirect = Some(Redirect::To(target));
    world.input_head(post, ResponseHead { status: 302, redirect, ..ResponseHead::default() });
    assert_eq!(
        (world.failure(call).reason, world.failure(call).http_status),
        (Reason::Redirected, Some(302))
    );
    assert!(world.requests.is_empty());
}

#[test]
fn an_error_in_a_5xx_is_no_verdict_on_a_probe_of_the_era_and_in_a_4xx_it_is() {
    for (status, answered) in [(500, false), (400, true), (404, true)] {
        let mut world = World::carrying(options());
        let call = world.call_with(modern("server/discover"));
        let (post, request) = world.request();
        assert_eq!(header(&request, "mcp-method"), Some("server/discover"));
        world.head(post, status, JSON, None);
        world.body(post, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#);
        world.end(post);
        match answered {
            true => assert!(world.answer(call).contains("-32601")),
            false => assert_eq!(world.failure(call).reason, Reason::HttpError),
        }
    }
}

#[test]
fn a_handshake_that_is_not_answered_ends_after_handshake_ms() {
    let mut world = World::carrying(options());
    let call = world.call_with(modern("server/discover"));
    world.pass(29_999);
    assert!(world.is_pending(call));
    world.pass(1);
    assert_eq!(world.failure(call).reason, Reason::ConnectTimeout);
}

#[test]
fn progress_is_known_by_the_clients_token_also_after_a_resume() {
    let mut world = World::carried(options());
    let (call, post) = streaming(&mut world, spec("5"));
    let progress = |n: u32| {
        format!("id: e{n}\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":5,\"progress\":{n}}}}}\n\n")
    };
    world.body(post, &progress(1));
    world.cut(post);
    let (_, get, request) = world.next_request();
    assert_eq!(header(&request, "last-event-id"), Some("e1"));
    world.head(get, 200, SSE, None);
    world.body(get, &(progress(2) + &result("5")));
    assert!(world.answer(call).contains("\"id\":5"));
    let progress = world.events.iter().filter(|(_, event)| matches!(event, Event::Progress { .. })).count();
    assert_eq!(progress, 2);
    world.assert_nothing_is_left();
}

#[test]
fn a_reissue_goes_out_under_an_id_of_ours_and_either_answer_settles_the_call() {
    for late in [false, true] {
        let mut world = World::carried(options());
        let (call, post) = streaming(&mut world, CallSpec { idempotent: true, ..spec("5") });
        world.cut(post);
        let (_, again, request) = world.next_request();
        let id = id_of(&request);
        assert!(
            id.parse::<u64>().is_ok_and(|id| id > 1 << 20 && id < 1 << 53),
            "a number, as the first: {id}"
        );
        assert!(request.body.as_deref().is_some_and(|body| body.contains("\"progressToken\":5")));
        world.head(again, 200, SSE, None);
        world.body(again, &result(if late { "5" } else { &id }));
        assert!(world.answer(call).contains("true"));
    }
}

#[test]
fn a_request_under_a_string_is_sent_again_under_a_string() {
    let mut world = World::carried(options());
    let (_, post) = streaming(&mut world, CallSpec { idempotent: true, ..spec("\"a\"") });
    world.cut(post);
    let (_, _, request) = world.next_request();
    let id = id_of(&request);
    assert!(id.starts_with('"') && id != "\"a\"", "{id}");
}

#[test]
fn the_twin_of_a_clients_own_id_is_its_answer() {
    let mut world = World::carried(options());
    let (call, post) = streaming(&mut world, spec("0"));
    world.body(post, &result("\"0\""));
    assert!(world.answer(call).contains("true"));
    assert!(world.names().contains(&"odd_response_id"));
}

#[test]
fn a_number_is_the_same_however_it_is_written() {
    for written in ["1.0", "1e0", "10e-1"] {
        let mut world = World::carried(options());
        let (call, post) = streaming(&mut world, spec("1"));
        world.body(post, &result(written));
        assert!(world.answer(call).contains("true"), "{written}");
        assert!(!world.names().contains(&"odd_response_id"));
    }
}

#[test]
fn an_answer_of_ours_that_is_refused_is_told() {
    let mut world = World::carried(options());
    let (_, post) = streaming(&mut world, spec("5"));
    world.body(post, "data: {\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"roots/list\"}\n\n");
    let answer = world.client.answer(world.now, r#"{"jsonrpc":"2.0","id":77,"result":{"roots":[]}}"#);
    world.drain();
    let (post, _) = world.request();
    world.head(post, 500, "", None);
    world.end(post);
    assert!(world.names().contains(&"answer_refused"));
    assert_eq!(world.failure(answer.expect("it is a call")).reason, Reason::HttpError);
}

#[test]
fn a_clients_answer_settles_when_the_server_took_it_and_ends_with_the_session() {
    let mut world = World::carried(options());
    let (_, post) = streaming(&mut world, spec("5"));
    for id in [77, 78] {
        let question = format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"roots/list\"}}\n\n");
        world.body(post, &question);
    }
    let taken = world.client.answer(world.now, r#"{"jsonrpc":"2.0","id":77,"result":{"roots":[]}}"#);
    world.drain();
    let taken = taken.expect("it is a call");
    assert!(!world.ended.contains_key(&taken), "the server has not got it yet");
    let (post, _) = world.request();
    world.head(post, 202, "", None);
    assert!(matches!(world.ended[&taken], Ended::Accepted));
    let late = world.client.answer(world.now, r#"{"jsonrpc":"2.0","id":78,"result":{"roots":[]}}"#);
    world.drain();
    world.client.close(world.now);
    world.drain();
    assert_eq!(world.failure(late.expect("it is a call")).reason, Reason::Closed);
    let again = world.client.answer(world.now, r#"{"jsonrpc":"2.0","id":78,"result":{"roots":[]}}"#);
    assert_eq!(again, None, "nobody wants it");
}

#[test]
fn a_clients_cancel_tells_the_server_its_reason_and_the_id_it_knows() {
    let mut world = World::carried(options());
    let (call, post) = streaming(&mut world, spec("5"));
    world.client.cancel_because(world.now, call, "the user left");
    world.drain();
    assert_eq!(world.failure(call).reason, Reason::Cancelled);
    assert_eq!(world.aborted, [post]);
    let (post, request) = world.request();
    let body = request.body.unwrap_or_default();
    assert!(body.contains("\"requestId\":5") && body.contains("the user left"), "{body}");
    world.head(post, 202, "", None);
    world.pass(600_000);
    assert!(world.requests.is_empty());
    world.assert_nothing_is_left();
}

#[test]
fn a_call_with_a_timer_of_its_own_may_be_silent_for_half_an_hour() {
    // The server is one thread, and busy: it answers nothing else meanwhile.
    let mut world = World::carried(options());
    let (call, post) = streaming(&mut world, spec("5"));
    for _ in 0..60 {
        world.pass(30_000);
        assert!(world.is_pending(call), "after {}", world.now.as_millis());
    }
    world.body(post, &result("5"));
    assert!(world.answer(call).contains("true"));
}

#[test]
fn a_call_with_a_timer_of_its_own_that_gets_no_headers_has_an_hour() {
    let mut world = World::carried(options());
    let call = tool_call(&mut world, "5");
    world.pass(3_599_999);
    assert!(world.is_pending(call));
    world.pass(1);
    assert_eq!(world.failure(call).reason, Reason::DeadlineExceeded);
}

#[test]
fn clocks_that_were_set_hold_for_a_call_with_a_timer_of_its_own() {
    let set = |timeouts| CallSpec { timeouts, ..spec("5") };
    for (timeouts, ms, reason) in [
        (TimeoutOptions { call: Some(5_000.0), ..TimeoutOptions::default() }, 5_000, Reason::CallTimeout),
        (
            TimeoutOptions { deadline: Some(9_000.0), ..TimeoutOptions::default() },
            9_000,
            Reason::DeadlineExceeded,
        ),
    ] {
        let mut world = World::carried(options());
        let (call, _) = streaming(&mut world, set(timeouts));
        world.pass(ms - 1);
        assert!(world.is_pending(call));
        world.pass(1);
        assert_eq!(world.failure(call).reason, reason);
    }
    let recovery =
        TimeoutOptions { recovery: Some(9_000.0), idle: Some(4_000.0), ..TimeoutOptions::default() };
    let mut world = World::carried(options());
    let (call, _) = streaming(&mut world, set(recovery));
    world.pass(13_000);
    assert_eq!(
        world.failure(call).reason,
        Reason::IdleTimeout,
        "its silence counts where recoveryMs was set"
    );
}

#[test]
fn a_lost_session_is_replaced_with_what_the_client_said() {
    let mut world = World::carried(options());
    let call = tool_call(&mut world, "5");
    let (post, _) = world.request();
    world.head(post, 404, "", None);
    world.end(post);
    let (post, request) = world.request();
    let body = request.body.clone().unwrap_or_default();
    assert!(body.contains("\"name\":\"c\"") && body.contains("\"roots\""), "{body}");
    let id = id_of(&request);
    world.head(post, 200, JSON, Some("s2"));
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{id},{}"#, crate::world::GREETING));
    world.end(post);
    let (post, request) = world.request();
    assert!(request.body.as_deref().is_some_and(|body| body.contains("notifications/initialized")));
    world.head(post, 202, "", None);
    let (post, request) = world.request();
    assert_eq!(header(&request, "mcp-session-id"), Some("s2"));
    let id = id_of(&request);
    world.head(post, 200, SSE, None);
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("true"));
    assert!(world.names().contains(&"session_replaced"));
}

#[test]
fn another_version_is_no_session_for_a_client_that_negotiated_one() {
    let mut world = World::carried(options());
    let call = tool_call(&mut world, "5");
    let (post, _) = world.request();
    world.head(post, 404, "", None);
    world.end(post);
    let (post, request) = world.request();
    let id = id_of(&request);
    world.head(post, 200, JSON, Some("s2"));
    world.body(
        post,
        &format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-03-26","capabilities":{{}}}}}}"#
        ),
    );
    world.end(post);
    assert_eq!(world.failure(call).reason, Reason::SessionLost);
}

#[test]
fn a_preset_session_needs_no_handshake_and_can_not_be_replaced() {
    let resume = known_session(Some("old"), None, None);
    let mut world = World::carrying(Options { resume: Some(resume), ..options() });
    let call = tool_call(&mut world, "1");
    let (post, request) = world.request();
    assert_eq!(header(&request, "mcp-session-id"), Some("old"));
    world.head(post, 404, "", None);
    world.end(post);
    assert_eq!(world.failure(call).reason, Reason::SessionLost);
    assert!(world.requests.is_empty());
    world.client_initializes("2", Some("new"));
    tool_call(&mut world, "3");
    assert_eq!(header(&world.request().1, "mcp-session-id"), Some("new"));
}

#[test]
fn a_session_can_be_ended_without_closing() {
    for (status, accepted) in [(200, true), (404, true), (405, true), (500, false)] {
        let mut world = World::carried(options());
        let call = world.client.terminate(world.now);
        world.drain();
        let (exchange, request) = world.request();
        assert_eq!(request.method, Method::Delete);
        assert_eq!(header(&request, "mcp-session-id"), Some("s1"));
        world.head(exchange, status, "", None);
        world.end(exchange);
        assert_eq!(matches!(world.ended.get(&call), Some(Ended::Accepted)), accepted, "{status}");
        tool_call(&mut world, "1");
        assert_eq!(header(&world.request().1, "mcp-session-id").is_none(), accepted);
    }
}

#[test]
fn an_adopted_stream_posts_nothing_and_keeps_the_id_of_its_answer() {
    let mut world = World::carried(options());
    let call = world.call_with(CallSpec {
        method: "resume".to_string(),
        resumption_token: Some("e7".to_string()),
        wants_tokens: true,
        ..CallSpec::default()
    });
    let (get, request) = world.request();
    assert_eq!((request.method, header(&request, "last-event-id")), (Method::Get, Some("e7")));
    world.head(get, 200, SSE, None);
    assert!(world.names().contains(&"open"), "whoever waits for the stream knows that it is there");
    world.body(get, &(note("e8", "a") + &result("42")));
    assert!(world.answer(call).contains("\"id\":42"));
    assert_eq!(world.tokens, ["e8"]);
}

#[test]
fn a_cancel_goes_out_also_where_another_client_began_the_stream() {
    let mut world = World::carried(options());
    let call = world.call_with(CallSpec { resumption_token: Some("e7".to_string()), ..spec("9") });
    let (get, _) = world.request();
    world.head(get, 200, SSE, None);
    world.client.cancel_because(world.now, call, "enough");
    world.drain();
    let (_, request) = world.request();
    assert!(request.body.is_some_and(|body| body.contains("\"requestId\":9")));
    assert_eq!(world.aborted, [get]);
}

#[test]
fn the_id_of_the_event_that_holds_the_answer_is_told_also_where_an_earlier_one_is_in_hand() {
    for reports_handling in [false, true] {
        let mut world = World::carried(options());
        let spec = CallSpec { wants_tokens: true, reports_handling, ..spec("5") };
        let (call, post) = streaming(&mut world, spec);
        world.body(post, &(note("e1", "a") + "id: e2\n" + &result("5")));
        assert!(world.answer(call).contains("true"));
        assert_eq!(world.tokens.last().map(String::as_str), Some("e2"));
        assert_eq!(world.tokens.len(), if reports_handling { 1 } else { 2 });
    }
}

#[test]
fn an_answer_to_a_question_that_came_elsewhere_is_posted_and_one_that_is_too_late_is_not() {
    let mut world = World::carried(options());
    let answer = |world: &mut World, id: &str| {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"roots":[]}}}}"#);
        world.client.answer(world.now, &body);
        world.drain();
        body
    };
    let body = answer(&mut world, "77");
    let (_, request) = world.request();
    assert_eq!(request.body.as_deref(), Some(body.as_str()));
    assert_eq!(header(&request, "mcp-session-id"), Some("s1"));
    let (_, post) = streaming(&mut world, spec("5"));
    world.body(post, "data: {\"jsonrpc\":\"2.0\",\"id\":78,\"method\":\"roots/list\"}\n\n");
    world.body(post, &result("5"));
    answer(&mut world, "78");
    assert!(world.requests.is_empty(), "its call has ended");
    let mut world = World::connected(options());
    answer(&mut world, "77");
    assert!(world.requests.is_empty(), "only a Client's messages are carried");
}

#[test]
fn of_two_calls_under_one_id_and_token_each_has_what_comes_on_its_own_stream() {
    let mut world = World::carried(options());
    let [(first, one), (second, two)] = [(); 2].map(|()| streaming(&mut world, spec("5")));
    let progress = |n: u32| {
        let params = format!(r#"{{"progressToken":5,"progress":{n}}}"#);
        format!("data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{params}}}\n\n")
    };
    world.body(one, &progress(1));
    world.body(two, &progress(1));
    let told: Vec<_> =
        world.events.iter().filter(|(_, event)| matches!(event, Event::Progress { .. })).collect();
    assert_eq!(told.iter().map(|(call, _)| *call).collect::<Vec<_>>(), [Some(first), Some(second)]);
    world.body(two, &result("5"));
    assert!(world.answer(second).contains("true") && world.is_pending(first));
    world.body(one, &(progress(2) + &result("5")));
    assert!(world.answer(first).contains("true"));
    assert!(!world.names().contains(&"unmatched_response"));
    world.assert_nothing_is_left();
}

#[test]
fn a_client_that_begins_another_session_leaves_no_call_in_the_one_before() {
    let mut world = World::carried(options());
    let safe = |id: &str| CallSpec { idempotent: true, ..spec(id) };
    let [(cut, one), (safe_cut, two), (open, three)] =
        [spec("5"), safe("6"), spec("7")].map(|spec| streaming(&mut world, spec));
    for (post, id) in [(one, "a"), (two, "b"), (three, "c")] {
        world.body(post, &note(&format!("{id}1"), id));
    }
    world.cut(one);
    world.cut(two);
    world.client_initializes("8", Some("s2"));
    assert_eq!(
        world.failure(cut).reason,
        Reason::SessionLost,
        "its cursor is of use in its own session only"
    );
    let (post, request) = world.request();
    assert_eq!((request.method, header(&request, "mcp-session-id")), (Method::Post, Some("s2")));
    let id = id_of(&request);
    world.head(post, 200, SSE, None);
    world.body(post, &result(&id));
    assert!(world.answer(safe_cut).contains("true"));
    world.body(three, &result("7"));
    assert!(world.answer(open).contains("true"), "what is open is read on");
    world.pass(600_000);
    assert!(world.requests.is_empty());
    world.assert_nothing_is_left();
}
