//! Ways in which a call could hang, and does not.

use crate::world::{header, id_of, note, options, World, JSON, SSE};
use landfall::proto::{CallSpec, HttpRequest, Outcome, Reason, TimeoutOptions};

fn body_of(request: &HttpRequest) -> &str {
    request.body.as_deref().unwrap_or_default()
}

fn new_session(world: &mut World, session: &str) {
    let (_, post, request) = world.next_request();
    assert!(body_of(&request).contains("\"initialize\""), "{request:?}");
    let result =
        r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;
    world.head(post, 200, JSON, Some(session));
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id_of(&request)));
    world.end(post);
    let (confirm, _) = world.request();
    world.head(confirm, 202, "", None);
}

/// on_refusal hands a JSON-RPC error of any id to on_response and returns; an id that is not ours (the Python SDK
/// writes "server-error") settles nobody: no exchange, no timer but callMs (or handshakeMs).
#[test]
fn a_refusal_whose_json_rpc_error_has_a_strange_id_ends_the_call_at_once() {
    let mut world = World::connected(options());
    let call = world.call();
    let (post, _) = world.request();
    world.head(post, 406, JSON, None);
    world.body(
        post,
        r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Not Acceptable"}}"#,
    );
    world.end(post);
    assert!(!world.is_pending(call), "the refusal is whole, and the call still waits");
    assert_eq!(
        (world.failure(call).reason, world.failure(call).outcome),
        (Reason::HttpError, Outcome::Rejected)
    );
}

#[test]
fn a_refused_initialize_with_a_strange_id_ends_connect_at_once() {
    let mut world = World::connecting(options());
    let (post, _) = world.request();
    world.head(post, 400, JSON, None);
    world.body(
        post,
        r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request"}}"#,
    );
    world.end(post);
    assert!(
        world.ended.contains_key(&world.handshake()),
        "connect waits for handshakeMs though the refusal is whole"
    );
}

/// The refused call settles another one (whose id the error bears), and itself never.
#[test]
fn a_refusal_with_the_id_of_another_call_ends_the_refused_call_too() {
    let mut world = World::connected(options());
    let (other, other_id, _) = world.streaming();
    let call = world.call();
    let (post, _) = world.request();
    world.head(post, 400, JSON, None);
    world.body(
        post,
        &format!(r#"{{"jsonrpc":"2.0","id":{other_id},"error":{{"code":-32602,"message":"bad"}}}}"#),
    );
    world.end(post);
    assert!(!world.is_pending(call), "settled: other {}, itself no", !world.is_pending(other));
}

/// Handlers report during the wait; the cursor becomes one that no request can carry; resume() returns silently.
#[test]
fn a_cursor_that_becomes_unusable_during_the_wait_ends_the_call_at_once() {
    let mut world = World::connected(options());
    let (call, _, post) = world.handling();
    world.body(post, &note("1", "a"));
    world.body(post, &note(" x", "b")); // `id:  x` is " x": white space at an edge
    world.cut(post);
    for key in world.keys.clone() {
        world.handled(call, key, true);
    }
    world.pass(10_000);
    assert!(
        !world.requests.is_empty() || !world.is_pending(call),
        "no request, no outcome: it waits for recoveryMs"
    );
}

/// A server's question of a dead session is still "open": the first question of the new one has the same id (SDK
/// servers count from 0 in each session), is taken for its repeat, and asks nobody.
#[test]
fn a_question_of_the_next_session_is_asked_though_a_dead_sessions_had_its_id() {
    let mut world = World::connected(options());
    let call = world.safe_call();
    let (post, _) = world.request();
    world.head(post, 200, SSE, None);
    let question = "data: {\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"elicitation/create\",\"params\":{}}\n\n";
    world.body(post, question);
    assert_eq!(world.questions.len(), 1);
    world.call();
    let (other, _) = world.request();
    world.head(other, 404, "", None);
    world.end(other);
    new_session(&mut world, "s2");
    let (again, request) = world.request();
    assert!(body_of(&request).contains("tools/call") && world.is_pending(call));
    world.head(again, 200, SSE, None);
    world.body(again, question);
    assert_eq!(world.questions.len(), 2, "the new session's question was swallowed");
}

/// ... and the answer to a question of the dead session is POSTed into the new one.
#[test]
fn an_answer_to_a_dead_sessions_question_does_not_go_to_the_next_session() {
    let mut world = World::connected(options());
    world.safe_call();
    let (post, _) = world.request();
    world.head(post, 200, SSE, None);
    world.body(
        post,
        "data: {\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"elicitation/create\",\"params\":{}}\n\n",
    );
    world.call();
    let (other, _) = world.request();
    world.head(other, 404, "", None);
    world.end(other);
    new_session(&mut world, "s2");
    world.requests.clear();
    world.client.answer(world.now, r#"{"jsonrpc":"2.0","id":0,"result":{"action":"accept"}}"#);
    world.drain();
    let stray = world.requests.pop_front();
    assert!(stray.is_none(), "{stray:?}");
}

/// "answers are POSTed, and sent again while the call lives if they got no HTTP answer".
#[test]
fn an_answer_that_got_no_http_answer_is_sent_again() {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    world.body(
        post,
        "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"sampling/createMessage\",\"params\":{}}\n\n",
    );
    world.client.answer(world.now, r#"{"jsonrpc":"2.0","id":"q","result":{}}"#);
    world.drain();
    let (answer, _) = world.request();
    world.cut(answer);
    for _ in 0..3 {
        world.pass(10_000);
        world.body(post, ": still there\n\n");
    }
    assert!(!world.requests.is_empty(), "the answer is lost, and the server waits for it for ever");
}

/// The server takes its question back: it waits for us no more, so callMs must run again.
#[test]
fn a_question_that_the_server_cancelled_rests_no_clock() {
    let mut world = World::connected(options());
    let (call, _, post) = world.streaming();
    world.body(
        post,
        "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"sampling/createMessage\",\"params\":{}}\n\n",
    );
    world.body(post, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"q\"}}\n\n");
    for _ in 0..6 {
        world.pass(30_000);
        if world.is_pending(call) {
            world.body(post, ": still there\n\n");
        }
    }
    assert!(!world.is_pending(call), "callMs (120 s) does not run: the call waits for deadlineMs");
}

/// The speaker waits as long as *its* server's hint says; everybody else is parked behind it without one attempt.
#[test]
fn the_speaker_of_a_dark_session_does_not_silence_the_others_for_as_long_as_its_retry_is() {
    let mut world = World::connected(options());
    let (_, _, a) = world.streaming();
    world.body(a, &format!("retry: 30000\n{}", note("a/1", "x")));
    world.cut(a);
    let (_, get, _) = world.next_request();
    world.cut(get); // no HTTP answer: dark; A speaks for all, in 30 s
                    // B's GET meets the same outage; then the network is back.
    let call = world.call_with(CallSpec {
        method: "tools/call".to_string(),
        timeouts: TimeoutOptions {
            call: Some(20_000.0),
            recovery: Some(20_000.0),
            ..TimeoutOptions::default()
        },
        resumption_token: Some("b/1".to_string()),
        ..CallSpec::default()
    });
    let (get, _) = world.request();
    world.cut(get);
    world.pass(19_000);
    let tries = world.requests.iter().filter(|(_, r)| header(r, "last-event-id") == Some("b/1")).count();
    assert!(tries > 0, "B made no attempt in 19 s, since A waits for its own stream's 30 s");
    let _ = call;
}

/// Found by the simulation: an answer of ours that speaks for all while it is dark, and is dropped with its call, was
/// spoken for ever after.
#[test]
fn an_answer_that_is_dropped_passes_the_word() {
    let mut world = World::connected(options());
    let (asked, asked_id, asking) = world.streaming();
    let question = r#"{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}"#;
    world.body(asking, &format!("data: {question}\n\n"));
    let (dark, _, post) = world.streaming();
    world.body(post, "id: a/1\ndata:\n\n");
    world.cut(post);
    let (_, get, _) = world.next_request();
    world.cut(get); // no HTTP answer: it is dark
    world.client.answer(world.now, r#"{"jsonrpc":"2.0","id":"q","result":{}}"#);
    world.drain();
    let (answer, _) = world.request();
    world.cut(answer);
    world.client.cancel(world.now, dark);
    world.drain();
    world.requests.clear();
    let (_, again, request) = world.next_request();
    assert!(body_of(&request).contains("\"q\""), "it speaks for all: {request:?}");
    world.cut(again);
    world.body(asking, &crate::world::result(&asked_id));
    assert!(!world.is_pending(asked), "and is of no use any more");
    world.call_with(CallSpec {
        method: "tools/call".to_string(),
        resumption_token: Some("b/1".to_string()),
        ..CallSpec::default()
    });
    let (get, _) = world.request();
    world.cut(get);
    world.pass(10_000);
    let tries = world.requests.iter().filter(|(_, r)| header(r, "last-event-id") == Some("b/1")).count();
    assert!(tries > 0, "nobody speaks, and it waits for recoveryMs");
}
