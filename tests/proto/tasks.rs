//! A call that its server goes on with as a task (SEP-2663): asked for until it is done, whatever is cut
//! (ARCHITECTURE.md, "Sessions and eras").

use crate::eras::{auto, modern};
use crate::world::{header, id_of, options, World, JSON, SSE};
use landfall::proto::{
    CallId, CallSpec, Event, ExchangeId, HttpRequest, Options, Outcome, Reason, ResponseHead, TimeoutOptions,
};
use serde_json::{json, Value};

const COLOUR: &str = r#"{"method":"elicitation/create","params":{"message":"Which colour?"}}"#;

fn driving() -> Options {
    Options { tasks: true, ..auto() }
}

fn task(id: &str, rest: &str) -> String {
    format!(r#"{{"resultType":"complete","taskId":"{id}","ttlMs":null,{rest}}}"#)
}

fn params(request: &HttpRequest) -> Value {
    let body: Value = serde_json::from_str(request.body.as_deref().expect("a POST")).expect("JSON");
    body["params"].clone()
}

/// The next request, which has this method, and the wait for it.
fn asked(world: &mut World, method: &str) -> (f64, ExchangeId, HttpRequest) {
    let (wait, post, request) = world.next_request();
    assert_eq!(header(&request, "mcp-method"), Some(method));
    (wait, post, request)
}

/// A call that its server made a task of, called `t1`, which it works for.
fn created(world: &mut World, rest: &str) -> CallId {
    let call = world.call();
    let (post, request) = world.request();
    let result = format!(r#"{{"resultType":"task","taskId":"t1","ttlMs":60000,{rest}}}"#);
    world.reply(post, &request, &result);
    call
}

fn working(world: &mut World) -> CallId {
    created(world, r#""status":"working""#)
}

/// `tasks/get` is answered by this.
fn poll(world: &mut World, rest: &str) -> f64 {
    let (wait, post, request) = asked(world, "tasks/get");
    world.reply(post, &request, &task("t1", rest));
    wait
}

fn refuse(world: &mut World, status: u16, error: &str) {
    let (_, post, request) = asked(world, "tasks/get");
    world.head(post, status, JSON, None);
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, id_of(&request)));
    world.end(post);
}

fn told(world: &World) -> Vec<(String, Option<String>)> {
    let told = world.events.iter().filter_map(|(_, event)| match event {
        Event::Task { task_id, status, status_message } => {
            assert_eq!(task_id, "t1");
            Some((status.clone(), status_message.clone()))
        }
        _ => None,
    });
    told.collect()
}

/// The host answers the question that was asked last.
fn answer(world: &mut World, answer: &str) {
    let question: Value = serde_json::from_str(world.questions.last().expect("it was asked")).unwrap();
    world.client.answer(world.now, &format!(r#"{{"jsonrpc":"2.0","id":{},{answer}}}"#, question["id"]));
    world.drain();
}

#[test]
fn a_call_that_becomes_a_task_is_asked_for_until_it_is_done_and_has_its_result() {
    let mut world = modern(driving());
    let call = world.call();
    let (post, request) = world.request();
    let id = id_of(&request);
    let capabilities = &params(&request)["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(capabilities["extensions"], json!({"io.modelcontextprotocol/tasks": {}}));
    world.head(post, 200, SSE, None);
    let result = r#"{"resultType":"task","taskId":"t1","status":"working","pollIntervalMs":5000}"#;
    world.body(post, &format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n\n"));
    assert_eq!(world.aborted.last(), Some(&post), "nothing more comes there");
    let (wait, post, request) = asked(&mut world, "tasks/get");
    assert_eq!((wait, header(&request, "mcp-name")), (5_000.0, Some("t1")));
    assert_eq!(params(&request)["taskId"], "t1");
    let meta = &params(&request)["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert!(meta["extensions"].is_object(), "each request declares it");
    world.reply(
        post,
        &request,
        &task("t1", r#""status":"working","statusMessage":"half","pollIntervalMs":1"#),
    );
    assert_eq!(poll(&mut world, r#""status":"working","statusMessage":"half""#), 250.0);
    assert_eq!(poll(&mut world, r#""status":"completed","result":{"content":[]}"#), 250.0);
    let answer: Value = serde_json::from_str(world.answer(call)).unwrap();
    assert_eq!(answer["result"], json!({"content": [], "resultType": "complete"}), "as without a task");
    assert_eq!(answer["id"].to_string(), id);
    let half = Some("half".to_string());
    let expected = [("working", None), ("working", half), ("completed", None)];
    assert_eq!(told(&world), expected.map(|(status, message)| (status.to_string(), message)));
    world.assert_nothing_is_left();
}

#[test]
fn no_clock_but_the_deadline_runs_and_at_that_the_task_is_left_running() {
    let mut world = modern(Options {
        timeouts: TimeoutOptions { deadline: Some(900_000.0), ..TimeoutOptions::default() },
        ..driving()
    });
    let call = working(&mut world);
    for _ in 0..899 {
        assert_eq!(poll(&mut world, r#""status":"working""#), 1_000.0);
    }
    world.pass(999);
    assert!(world.is_pending(call));
    world.pass(1);
    let failure = world.failure(call);
    assert_eq!((failure.reason, failure.outcome), (Reason::DeadlineExceeded, Outcome::Unknown));
    assert_eq!((failure.task_id.as_deref(), failure.retry_safe), (Some("t1"), false));
    let cancels =
        world.requests.iter().any(|(_, request)| header(request, "mcp-method") == Some("tasks/cancel"));
    assert!(!cancels);
    world.assert_nothing_is_left();
}

#[test]
fn the_last_question_before_the_deadline_comes_no_sooner_after_an_answer_than_any_other() {
    let mut world = modern(Options {
        timeouts: TimeoutOptions {
            connect: Some(400.0),
            deadline: Some(20_000.0),
            ..TimeoutOptions::default()
        },
        ..driving()
    });
    let call = created(&mut world, r#""status":"working","pollIntervalMs":19500"#);
    assert_eq!(poll(&mut world, r#""status":"working""#), 19_500.0);
    assert_eq!(poll(&mut world, r#""status":"completed","result":{}"#), 250.0, "not 100");
    world.answer(call);
}

#[test]
fn a_question_that_fails_is_asked_again_and_never_ends_the_call() {
    let mut world = modern(driving());
    let call = working(&mut world);
    let (_, post, _) = asked(&mut world, "tasks/get");
    world.cut(post);
    let (wait, post, _) = asked(&mut world, "tasks/get");
    assert!(wait < 700.0, "its own backoff: {wait}");
    world.head(post, 200, SSE, None);
    world.cut(post);
    let (wait, post, _) = asked(&mut world, "tasks/get");
    assert!((700.0..1_300.0).contains(&wait), "{wait}");
    let head = ResponseHead { status: 429, retry_after: Some("7".to_string()), ..ResponseHead::default() };
    world.input_head(post, head);
    world.end(post);
    let (wait, post, _) = asked(&mut world, "tasks/get");
    assert!((7_000.0..7_100.0).contains(&wait), "the server's word: {wait}");
    world.head(post, 200, "text/html", None);
    let (_, post, request) = asked(&mut world, "tasks/get");
    world.reply(post, &request, &task("another", r#""status":"completed","result":{}"#));
    refuse(&mut world, 200, r#"{"code":-32603,"message":"busy"}"#);
    // One that is never answered: it has `handshakeMs`.
    let (_, post, _) = asked(&mut world, "tasks/get");
    world.pass(30_000);
    assert!(world.aborted.contains(&post) && world.is_pending(call));
    assert!(poll(&mut world, r#""status":"completed","result":{}"#) < 5_000.0);
    world.answer(call);
    world.assert_nothing_is_left();
}

#[test]
fn credentials_that_a_question_wants_are_had_for_its_call() {
    let mut world = modern(Options { auth: true, ..driving() });
    let call = working(&mut world);
    let (_, post, request) = asked(&mut world, "tasks/get");
    assert_eq!(request.call, Some(call), "with what its caller gave for it");
    world.head(post, 401, "", None);
    world.end(post);
    assert_eq!(world.challenges.last().map(|(of, _)| *of), Some(call));
    world.client.authorized(world.now, true);
    world.drain();
    poll(&mut world, r#""status":"completed","result":{}"#);
    world.answer(call);
}

#[test]
fn a_task_that_is_gone_ends_its_call() {
    for (status, error) in [
        (200, r#"{"code":-32602,"message":"Task not found"}"#),
        (400, r#"{"code":-32602,"message":"Task not found"}"#),
        (404, r#"{"code":-32602,"message":"Task not found"}"#),
        (404, r#"{"code":-32601,"message":"Method not found"}"#),
    ] {
        let mut world = modern(driving());
        let call = working(&mut world);
        refuse(&mut world, status, error);
        let failure = world.failure(call);
        assert_eq!(
            (failure.reason, failure.outcome),
            (Reason::TaskLost, Outcome::Unknown),
            "{status} {error}"
        );
        assert_eq!(failure.task_id.as_deref(), Some("t1"));
        world.assert_nothing_is_left();
    }
    let mut world = modern(driving());
    let call = working(&mut world);
    while world.is_pending(call) {
        let (_, post, _) = asked(&mut world, "tasks/get");
        world.cut(post);
    }
    let failure = world.failure(call);
    assert_eq!(failure.reason, Reason::TaskLost, "{}", failure.text);
    assert!(failure.text.contains("ttlMs"), "{}", failure.text);
    let took = failure.diagnostics.ended_at - failure.diagnostics.started_at;
    assert!((60_000.0..66_000.0).contains(&took), "since the first answer: {took}");
}

#[test]
fn what_becomes_of_the_task_becomes_of_its_call() {
    let mut world = modern(driving());
    let call = working(&mut world);
    poll(&mut world, r#""status":"failed","error":{"code":-32603,"message":"no"}"#);
    assert!(world.answer(call).contains(r#""error":{"code":-32603,"message":"no"}"#));
    let call = working(&mut world);
    poll(&mut world, r#""status":"cancelled","statusMessage":"by an admin""#);
    let failure = world.failure(call);
    assert_eq!((failure.reason, failure.outcome), (Reason::TaskCancelled, Outcome::Unknown));
    assert!(failure.text.contains("by an admin"), "{}", failure.text);
    let call = working(&mut world);
    poll(&mut world, r#""status":"completed""#);
    assert_eq!(world.failure(call).reason, Reason::MalformedResponse);
    let call = created(&mut world, r#""status":"completed""#);
    assert_eq!(poll(&mut world, r#""status":"completed","result":{"isError":true}"#), 0.0, "at once");
    assert!(world.answer(call).contains("isError"), "which is a result");
    world.assert_nothing_is_left();
}

#[test]
fn a_cancel_ends_the_call_at_once_and_then_the_server_is_told() {
    let mut world = modern(driving());
    let call = working(&mut world);
    let (_, poll, _) = asked(&mut world, "tasks/get");
    world.client.cancel(world.now, call);
    world.drain();
    let failure = world.failure(call);
    assert_eq!((failure.reason, failure.task_id.as_deref()), (Reason::Cancelled, Some("t1")));
    assert!(world.aborted.contains(&poll), "its question is over");
    let (wait, post, request) = asked(&mut world, "tasks/cancel");
    assert_eq!((wait, params(&request)["taskId"].as_str()), (0.0, Some("t1")));
    world.cut(post);
    world.assert_nothing_is_left();
    let call = working(&mut world);
    world.client.close(world.now);
    world.drain();
    assert_eq!(world.failure(call).task_id.as_deref(), Some("t1"));
    assert!(world.closed && world.requests.is_empty(), "it is left running");
    world.assert_nothing_is_left();
}

#[test]
fn what_the_task_wants_is_asked_once_and_brought_by_a_message_of_its_own() {
    let mut world = modern(driving());
    let call = working(&mut world);
    let wants = format!(r#""status":"input_required","inputRequests":{{"a":{COLOUR}}}"#);
    poll(&mut world, &wants);
    poll(&mut world, &wants);
    assert_eq!(world.questions.len(), 1, "once");
    answer(&mut world, r#""result":{"action":"accept"}"#);
    let (wait, post, request) = asked(&mut world, "tasks/update");
    assert_eq!((wait, header(&request, "mcp-name")), (0.0, Some("t1")));
    assert_eq!(params(&request)["inputResponses"], json!({"a": {"action": "accept"}}));
    world.cut(post);
    let (_, post, request) = asked(&mut world, "tasks/update");
    assert_eq!(params(&request)["inputResponses"], json!({"a": {"action": "accept"}}), "again");
    world.reply(post, &request, "{}");
    poll(&mut world, &wants);
    poll(&mut world, r#""status":"completed","result":{}"#);
    assert_eq!(world.questions.len(), 1);
    world.answer(call);
    let names: Vec<_> = world.names().into_iter().filter(|name| name.starts_with("input")).collect();
    assert_eq!(names, ["input_required", "input_answered"]);
    world.assert_nothing_is_left();
}

#[test]
fn an_answer_that_the_server_refuses_is_told_and_one_that_is_not_to_be_had_ends_the_call() {
    let mut world = modern(driving());
    let call = working(&mut world);
    poll(&mut world, &format!(r#""status":"input_required","inputRequests":{{"a":{COLOUR}}}"#));
    answer(&mut world, r#""result":{}"#);
    let (_, post, request) = asked(&mut world, "tasks/update");
    world.head(post, 200, JSON, None);
    let error = r#""error":{"code":-32602,"message":"no"}"#;
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},{error}}}"#, id_of(&request)));
    world.end(post);
    assert!(world.names().contains(&"answer_refused") && world.is_pending(call));
    poll(&mut world, &format!(r#""status":"input_required","inputRequests":{{"b":{COLOUR}}}"#));
    answer(&mut world, r#""error":{"code":-32601,"message":"Method not found"}"#);
    let failure = world.failure(call);
    assert_eq!((failure.reason, failure.task_id.as_deref()), (Reason::ProtocolError, Some("t1")));
    world.assert_nothing_is_left();
}

#[test]
fn a_notification_is_as_good_as_an_answer() {
    let mut world = modern(driving());
    let call = working(&mut world);
    let (_, _, listening) = world.streaming();
    let tell = |world: &mut World, params: &str| {
        let method = "notifications/tasks";
        world.body(
            listening,
            &format!("data: {{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params}}}\n\n"),
        );
    };
    world.pass(900);
    tell(&mut world, &task("t1", r#""status":"working","statusMessage":"half""#));
    tell(&mut world, &task("another", r#""status":"completed","result":{}"#));
    assert_eq!(told(&world).len(), 2);
    assert_eq!(poll(&mut world, r#""status":"working","statusMessage":"half""#), 1_000.0, "from then on");
    let (_, under_way, _) = asked(&mut world, "tasks/get");
    tell(&mut world, &task("t1", r#""status":"completed","result":{"n":1}"#));
    assert!(world.answer(call).contains(r#""result":{"n":1,"#));
    assert!(world.aborted.contains(&under_way));
}

#[test]
fn a_task_is_taken_up_by_its_id_and_asked_for_at_once() {
    let mut world = modern(driving());
    let spec = |id: &str| CallSpec {
        method: "tasks/get".to_string(),
        params: format!(r#"{{"taskId":"{id}"}}"#),
        task: Some(id.to_string()),
        ..CallSpec::default()
    };
    let call = world.call_with(spec("t1"));
    assert_eq!(poll(&mut world, r#""status":"working""#), 0.0);
    assert_eq!(poll(&mut world, r#""status":"completed","result":{"n":1}"#), 1_000.0);
    assert!(world.answer(call).contains(r#""result":{"n":1,"#), "what it came to");
    let call = world.call_with(spec("t1"));
    refuse(&mut world, 200, r#"{"code":-32602,"message":"Task not found"}"#);
    let failure = world.failure(call);
    assert_eq!(
        (failure.reason, failure.outcome, failure.retry_safe),
        (Reason::TaskLost, Outcome::Unknown, true)
    );
    assert_eq!((failure.method.as_str(), failure.task_id.as_deref()), ("tasks/get", Some("t1")));
    world.assert_nothing_is_left();
}

#[test]
fn a_task_waits_for_the_session_and_takes_no_connection_of_the_callers() {
    let mut world = World::connecting(Options { max_concurrent: Some(2.0), ..driving() });
    let call = world.call_with(CallSpec {
        method: "tasks/get".to_string(),
        params: r#"{"taskId":"t1"}"#.to_string(),
        task: Some("t1".to_string()),
        ..CallSpec::default()
    });
    assert_eq!(world.requests.len(), 1, "the handshake");
    let (post, request) = world.request();
    world.head(post, 404, JSON, None);
    world.body(
        post,
        &format!(r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32601,"message":"no"}}}}"#, id_of(&request)),
    );
    world.end(post);
    let (post, request) = world.request();
    world.reply(post, &request, r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#);
    poll(&mut world, r#""status":"working""#);
    world.streaming(); // every connection that calls may have is in use
    poll(&mut world, r#""status":"completed","result":{}"#);
    world.answer(call);
}

#[test]
fn a_task_that_nobody_declared_is_no_answer() {
    let mut world = modern(auto());
    let call = world.call();
    let (post, request) = world.request();
    let capabilities = &params(&request)["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(*capabilities, json!({}));
    world.reply(post, &request, r#"{"resultType":"task","taskId":"t1","status":"working"}"#);
    assert_eq!(world.failure(call).reason, Reason::MalformedResponse);
    let mut world = modern(driving());
    let call = created(&mut world, r#""state":"working""#);
    assert_eq!(world.failure(call).reason, Reason::MalformedResponse, "it has no status");
    world.assert_nothing_is_left();
}

#[test]
fn a_safe_call_whose_task_is_known_is_never_sent_again() {
    let mut world = modern(driving());
    let call = world.safe_call();
    let (post, request) = world.request();
    world.reply(post, &request, r#"{"resultType":"task","taskId":"t1","status":"working","ttlMs":null}"#);
    for _ in 0..100 {
        let (_, post, request) = world.next_request();
        assert_eq!(header(&request, "mcp-method"), Some("tasks/get"));
        world.failed(post, "ECONNREFUSED");
    }
    assert!(world.is_pending(call));
    world.pass(600_000);
    let failure = world.failure(call);
    assert_eq!((failure.reason, failure.outcome), (Reason::DeadlineExceeded, Outcome::Unknown));
    assert!(failure.text.contains("did not answer of late"), "{}", failure.text);
}

/// A Client's call, in a transport that drives tasks or not.
fn carried(tasks: bool, meta: &str) -> (World, CallId, ExchangeId, HttpRequest) {
    let mut world = World::carrying(Options { tasks, ..options() });
    let call = world.call_with(CallSpec {
        method: "tools/call".to_string(),
        params: format!(r#"{{"name":"t","_meta":{meta}}}"#),
        id: Some("5".to_string()),
        timed: true,
        ..CallSpec::default()
    });
    let (post, request) = world.request();
    (world, call, post, request)
}

#[test]
fn a_clients_task_is_carried_to_its_end_where_its_transport_is_told_to_and_else_it_is_the_clients() {
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}"#;
    let created = r#"{"resultType":"task","taskId":"t1","status":"working"}"#;
    let (mut world, call, post, request) = carried(true, meta);
    let declared = &params(&request)["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(*declared, json!({"roots": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}));
    world.reply(post, &request, created);
    let (_, post, request) = asked(&mut world, "tasks/get");
    let meta_of_poll = &params(&request)["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(meta_of_poll["extensions"], json!({"io.modelcontextprotocol/tasks": {}}));
    world.reply(post, &request, &task("t1", r#""status":"completed","result":{"n":1}"#));
    assert_eq!(world.answer(call), r#"{"jsonrpc":"2.0","id":5,"result":{"n":1,"resultType":"complete"}}"#);
    let (mut world, call, post, request) = carried(false, meta);
    assert_eq!(params(&request)["_meta"], serde_json::from_str::<Value>(meta).unwrap());
    world.reply(post, &request, created);
    assert_eq!(world.answer(call), format!(r#"{{"jsonrpc":"2.0","id":5,"result":{created}}}"#));
}

#[test]
fn a_clients_task_that_wants_input_ends_its_call_for_it_takes_no_question_in_this_era() {
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let (mut world, call, post, request) = carried(true, meta);
    world.reply(post, &request, r#"{"resultType":"task","taskId":"t1","status":"working"}"#);
    poll(&mut world, &format!(r#""status":"input_required","inputRequests":{{"a":{COLOUR}}}"#));
    let failure = world.failure(call);
    assert_eq!((failure.reason, failure.task_id.as_deref()), (Reason::ProtocolError, Some("t1")));
    assert!(failure.text.contains("elicitation/create") && world.questions.is_empty(), "{}", failure.text);
    world.assert_nothing_is_left();
}
