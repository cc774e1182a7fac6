//! What a modern server wants before it goes on: asked of the host, and given by the same request, sent again
//! (ARCHITECTURE.md, "Sessions and eras").

use crate::eras::{auto, modern};
use crate::world::{header, id_of, options, World, SSE};
use landfall::proto::{CallId, CallSpec, ExchangeId, HttpRequest, Options, Outcome, Reason, TimeoutOptions};
use serde_json::{json, Value};

const COLOUR: &str = r#"{"method":"elicitation/create","params":{"message":"Which colour?"}}"#;
const ROOTS: &str = r#"{"method":"roots/list"}"#;

fn params(request: &HttpRequest) -> Value {
    let body: Value = serde_json::from_str(request.body.as_deref().expect("a POST")).expect("JSON");
    body["params"].clone()
}

/// The answer that wants these, by their keys.
fn wants(inputs: &[(&str, &str)], state: Option<&str>) -> String {
    let requests: Vec<_> = inputs.iter().map(|(key, request)| format!("\"{key}\":{request}")).collect();
    let mut result = r#"{"resultType":"input_required""#.to_string();
    if !inputs.is_empty() {
        result += &format!(",\"inputRequests\":{{{}}}", requests.join(","));
    }
    result += &state.map(|state| format!(",\"requestState\":\"{state}\"")).unwrap_or_default();
    result + "}"
}

/// The host answers the question that was asked so many before the last.
fn answer(world: &mut World, back: usize, answer: &str) {
    let question: Value = serde_json::from_str(&world.questions[world.questions.len() - 1 - back]).unwrap();
    let body = format!(r#"{{"jsonrpc":"2.0","id":{},{answer}}}"#, question["id"]);
    assert_eq!(world.client.answer(world.now, &body), None, "it is no message of its own");
    world.drain();
}

/// A call that was answered by this, in JSON.
fn answered(world: &mut World, result: &str) -> (CallId, HttpRequest) {
    let call = world.call();
    let (post, request) = world.request();
    world.reply(post, &request, result);
    (call, request)
}

fn again(world: &mut World) -> (ExchangeId, HttpRequest, Value) {
    let (post, request) = world.request();
    let params = params(&request);
    (post, request, params)
}

#[test]
fn what_is_wanted_is_asked_of_the_host_and_goes_with_the_same_request_under_a_new_id() {
    let mut world = modern(auto());
    let (call, first) = answered(&mut world, &wants(&[("a", COLOUR), ("b", ROOTS)], Some("opaque")));
    assert!(world.requests.is_empty() && world.is_pending(call));
    let asked: Vec<Value> = world.questions.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert_eq!(asked[0]["method"], "elicitation/create");
    assert_eq!(asked[0]["params"], json!({"message": "Which colour?"}));
    assert_eq!((asked[1]["method"].as_str(), asked[1].get("params")), (Some("roots/list"), None));
    answer(&mut world, 0, r#""result":{"roots":[]}"#);
    assert!(world.requests.is_empty(), "one is missing");
    answer(&mut world, 1, r#""result":{"action":"accept"}"#);
    let (post, request, params) = again(&mut world);
    assert_ne!(id_of(&request), id_of(&first));
    assert_eq!(params["inputResponses"], json!({"b": {"roots": []}, "a": {"action": "accept"}}));
    assert_eq!(params["requestState"], "opaque");
    assert_eq!((params["name"].as_str(), &params["arguments"]), (Some("t"), &json!({})));
    assert_eq!(params["_meta"]["progressToken"].to_string(), id_of(&first));
    assert_eq!(header(&request, "mcp-name"), Some("t"));
    world.reply(post, &request, r#"{"resultType":"complete","content":[]}"#);
    assert!(world.answer(call).contains("content"));
    let names: Vec<_> = world.names().into_iter().filter(|name| name.starts_with("input")).collect();
    assert_eq!(names, ["input_required", "input_required", "input_answered", "input_answered"]);
    assert!(!world.names().contains(&"reissued"), "it is no re-issue");
    world.assert_nothing_is_left();
}

#[test]
fn each_round_carries_the_latest_state_and_its_own_answers_alone() {
    let mut world = modern(auto());
    let (call, _) = answered(&mut world, &wants(&[("a", COLOUR)], Some("one")));
    answer(&mut world, 0, r#""result":{"n":1}"#);
    let (post, request, _) = again(&mut world);
    world.head(post, 200, SSE, None);
    let said =
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{}}}"#, id_of(&request), wants(&[], Some("two")));
    world.body(post, &format!("data: {said}\n\n"));
    let (post, request, params) = again(&mut world);
    assert_eq!((params.get("inputResponses"), &params["requestState"]), (None, &json!("two")), "at once");
    world.reply(post, &request, &wants(&[("a", ROOTS)], None));
    answer(&mut world, 0, r#""result":{"n":3}"#);
    let (post, request, params) = again(&mut world);
    assert_eq!((&params["inputResponses"], params.get("requestState")), (&json!({"a": {"n": 3}}), None));
    world.reply(post, &request, "{}");
    world.answer(call);
}

#[test]
fn ten_rounds_are_the_most() {
    let mut world = modern(auto());
    let (call, _) = answered(&mut world, &wants(&[], Some("s")));
    for round in 1..=10 {
        assert!(world.is_pending(call), "{round}");
        let (post, request, _) = again(&mut world);
        world.reply(post, &request, &wants(&[], Some("s")));
    }
    let failure = world.failure(call);
    assert_eq!((failure.reason, failure.outcome), (Reason::ProtocolError, Outcome::Unknown));
    assert!(failure.text.contains("10 rounds"), "{}", failure.text);
    world.assert_nothing_is_left();
}

#[test]
fn no_clock_but_the_deadline_runs_while_an_answer_is_owed() {
    let mut world = modern(Options {
        timeouts: TimeoutOptions { deadline: Some(900_000.0), ..TimeoutOptions::default() },
        ..auto()
    });
    let (call, _) = answered(&mut world, &wants(&[("a", COLOUR)], None));
    world.pass(899_999);
    assert!(world.is_pending(call));
    world.pass(1);
    let failure = world.failure(call);
    assert_eq!((failure.reason, failure.outcome), (Reason::DeadlineExceeded, Outcome::Unknown));
    assert_eq!(world.cancelled.len(), 1, "nobody waits for the answer");
    world.assert_nothing_is_left();
    let (call, _) = answered(&mut world, &wants(&[("a", COLOUR)], None));
    world.pass(300_000);
    answer(&mut world, 0, r#""result":{}"#);
    world.pass(119_999);
    assert!(world.is_pending(call), "callMs is full again");
    world.pass(1);
    assert_eq!(world.failure(call).reason, Reason::FirstByteTimeout);
}

#[test]
fn a_question_that_has_no_answer_ends_the_call() {
    for (error, says) in [
        (r#""error":{"code":-32601,"message":"Method not found"}"#, "nothing here answers it"),
        (r#""error":{"code":-32603,"message":"handler failed"}"#, "its handler failed"),
    ] {
        let mut world = modern(auto());
        let (call, _) = answered(&mut world, &wants(&[("a", COLOUR), ("b", ROOTS)], None));
        answer(&mut world, 1, error);
        let failure = world.failure(call);
        assert_eq!((failure.reason, failure.outcome), (Reason::ProtocolError, Outcome::Unknown));
        assert!(
            failure.text.contains(says) && failure.text.contains("elicitation/create"),
            "{}",
            failure.text
        );
        assert_eq!(world.cancelled.len(), 1, "the other one is over");
        assert!(world.requests.is_empty());
        world.assert_nothing_is_left();
    }
}

#[test]
fn a_call_that_waits_for_an_answer_can_be_cancelled_and_closed() {
    for close in [false, true] {
        let mut world = modern(auto());
        let (call, _) = answered(&mut world, &wants(&[("a", COLOUR)], None));
        match close {
            true => world.client.close(world.now),
            false => world.client.cancel(world.now, call),
        }
        world.drain();
        let reason = if close { Reason::Closed } else { Reason::Cancelled };
        assert_eq!(world.failure(call).reason, reason);
        assert_eq!((world.cancelled.len(), world.requests.len()), (1, 0));
        world.assert_nothing_is_left();
    }
}

#[test]
fn a_round_that_is_cut_goes_again_as_it_was_where_that_is_safe_or_nothing_of_it_left() {
    for (safe, code) in [(true, ""), (false, "ECONNREFUSED")] {
        let mut world = modern(auto());
        let call = world.call_with(CallSpec {
            method: "tools/call".to_string(),
            params: r#"{"name":"t"}"#.to_string(),
            idempotent: safe,
            ..CallSpec::default()
        });
        let (post, request) = world.request();
        world.reply(post, &request, &wants(&[("a", COLOUR)], Some("s")));
        answer(&mut world, 0, r#""result":{"n":1}"#);
        let (post, first, sent) = again(&mut world);
        world.failed(post, code);
        let (_, post, request) = world.next_request();
        assert_eq!(params(&request), sent);
        assert_ne!(id_of(&request), id_of(&first));
        assert!(world.names().contains(&"reissued"));
        world.reply(post, &request, "{}");
        world.answer(call);
    }
    let mut world = modern(auto());
    let (call, _) = answered(&mut world, &wants(&[("a", COLOUR)], Some("s")));
    answer(&mut world, 0, r#""result":{}"#);
    let (post, _) = world.request();
    world.head(post, 200, SSE, None);
    world.cut(post);
    let failure = world.failure(call);
    assert_eq!((failure.reason, failure.outcome), (Reason::StreamLost, Outcome::Unknown));
}

#[test]
fn more_than_max_questions_are_asked_one_after_the_other() {
    let mut world = modern(Options { max_questions: Some(1.0), ..auto() });
    let (call, _) = answered(&mut world, &wants(&[("a", COLOUR), ("b", ROOTS)], None));
    assert_eq!(world.questions.len(), 1);
    answer(&mut world, 0, r#""result":{"n":1}"#);
    assert_eq!((world.questions.len(), world.requests.len()), (2, 0));
    answer(&mut world, 0, r#""result":{"n":2}"#);
    let (post, request, params) = again(&mut world);
    assert_eq!(params["inputResponses"], json!({"a": {"n": 1}, "b": {"n": 2}}));
    world.reply(post, &request, "{}");
    world.answer(call);
}

#[test]
fn an_answer_of_no_type_that_its_request_may_have_is_none() {
    for (method, result) in [
        ("tools/call", r#"{"resultType":"later"}"#.to_string()),
        ("tools/call", r#"{"resultType":7}"#.to_string()),
        ("tools/list", wants(&[("a", ROOTS)], None)),
        ("tools/call", wants(&[], None)),
        ("tools/call", r#"{"resultType":"input_required","requestState":7}"#.to_string()),
        ("tools/call", r#"{"resultType":"input_required","inputRequests":{"a":{}}}"#.to_string()),
        ("resources/read", r#"{"resultType":"task","taskId":"1","status":"working"}"#.to_string()),
    ] {
        let mut world = modern(auto());
        let call = world.call_with(CallSpec { method: method.to_string(), ..CallSpec::default() });
        let (post, request) = world.request();
        world.reply(post, &request, &result);
        assert_eq!(world.failure(call).reason, Reason::MalformedResponse, "{method} {result}");
        assert!(world.questions.is_empty());
        world.assert_nothing_is_left();
    }
}

#[test]
fn a_read_that_was_sent_again_beside_its_silent_body_goes_on_by_whichever_answers_first() {
    let mut world = modern(auto());
    let call = world.call_with(CallSpec {
        method: "resources/read".to_string(),
        params: r#"{"uri":"file:///a"}"#.to_string(),
        ..CallSpec::default()
    });
    let (old, first) = world.request();
    world.head(old, 200, SSE, None);
    // Pings are not answered: nothing proves that the silence is one.
    let (_, ping, request) = world.next_request();
    assert_eq!(header(&request, "mcp-method"), Some("server/discover"));
    world.head(ping, 200, SSE, None);
    let second = loop {
        let (_, post, request) = world.next_request();
        if header(&request, "mcp-method") == Some("resources/read") {
            break post;
        }
    };
    world.requests.clear();
    let said = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{}}}"#, id_of(&first), wants(&[], Some("s")));
    world.body(old, &format!("data: {said}\n\n"));
    assert!(world.aborted.contains(&second), "the call has its answer");
    let (post, request, params) = again(&mut world);
    assert_eq!(params["requestState"], "s");
    world.reply(post, &request, "{}");
    world.answer(call);
}

#[test]
fn a_client_reads_what_its_server_wants_by_itself() {
    let mut world = World::carrying(options());
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    let call = world.call_with(CallSpec {
        method: "tools/call".to_string(),
        params: format!(r#"{{"name":"t","_meta":{meta}}}"#),
        id: Some("5".to_string()),
        ..CallSpec::default()
    });
    let (post, request) = world.request();
    let result = wants(&[("a", COLOUR)], Some("s"));
    world.reply(post, &request, &result);
    assert_eq!(world.answer(call), format!(r#"{{"jsonrpc":"2.0","id":5,"result":{result}}}"#));
    assert!(world.questions.is_empty());
}
