//! The session's beginning and end.

use crate::world::{header, id_of, options, World, JSON, SSE};
use landfall::proto::{Method, Options, Outcome, Reason};

fn connecting() -> World {
    World::connecting(options())
}

#[test]
fn initialize_carries_no_session_and_no_version_header() {
    let mut world = connecting();
    let (_, request) = world.request();
    assert_eq!(request.method, Method::Post);
    assert_eq!(header(&request, "mcp-session-id"), None);
    assert_eq!(header(&request, "mcp-protocol-version"), None);
    let body: serde_json::Value = serde_json::from_str(request.body.as_deref().unwrap()).unwrap();
    assert_eq!(body["method"], "initialize");
    assert_eq!(body["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(body["params"]["clientInfo"]["name"], "test");
}

#[test]
fn the_session_and_version_go_with_every_later_request() {
    let mut world = World::connected(options());
    assert_eq!(world.ready, Some(("2025-11-25".to_string(), Some("s1".to_string()))));
    world.call();
    let (_, request) = world.request();
    assert_eq!(header(&request, "mcp-session-id"), Some("s1"));
    assert_eq!(header(&request, "mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!(header(&request, "accept"), Some("application/json, text/event-stream"));
}

#[test]
fn calls_wait_for_the_handshake_and_go_in_order() {
    let mut world = connecting();
    let (post, request) = world.request();
    let calls = [world.call(), world.call()];
    assert!(world.requests.is_empty(), "nothing is sent before the handshake is done");
    world.head(post, 200, SSE, Some("s1"));
    let id = id_of(&request);
    world.body(
        post,
        &format!(
            "data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"protocolVersion\":\"2025-06-18\"}}}}\n\n"
        ),
    );
    let (confirm, request) = world.request();
    assert!(request.body.unwrap().contains("notifications/initialized"));
    assert!(world.requests.is_empty());
    world.head(confirm, 202, "", None);
    let sent: Vec<String> = world.requests.iter().map(|(_, request)| id_of(request)).collect();
    let ids = calls.map(|call| format!("\"{}\"", world.client.request_id(call)));
    assert_eq!(sent, ids);
}

#[test]
fn a_server_that_never_answers_initialize_ends_connect_after_handshake_ms_and_with_it_what_waits() {
    let mut world = connecting();
    let call = world.call();
    world.pass(29_999);
    assert!(world.is_pending(world.handshake()));
    world.pass(1);
    assert_eq!(world.failure(world.handshake()).reason, Reason::ConnectTimeout);
    assert_eq!(world.failure(world.handshake()).method, "initialize");
    let failure = world.failure(call);
    assert_eq!((failure.reason, failure.outcome), (Reason::ConnectTimeout, Outcome::NotSent));
    assert!(failure.retry_safe);
    world.assert_nothing_is_left();
}

#[test]
fn a_server_that_knows_no_handshake_is_told_as_one_of_a_later_protocol() {
    for (status, code) in [(200, -32_022), (400, -32_020), (404, -32_601), (200, -32_601)] {
        let mut world = World::connecting(options());
        let (post, request) = world.request();
        let id = id_of(&request);
        world.head(post, status, JSON, None);
        let error = format!(r#"{{"code":{code},"message":"not here"}}"#);
        world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#));
        world.end(post);
        let failure = world.failure(world.handshake());
        assert_eq!(failure.reason, Reason::UnsupportedVersion, "{status} {code}");
        let told = ["seems to speak a later protocol only", "not here"];
        assert!(told.iter().all(|words| failure.text.contains(words)), "{}", failure.text);
    }
}

#[test]
fn a_version_that_we_do_not_speak_is_unsupported() {
    for body in [
        r#""result":{"protocolVersion":"2031-01-01"}"#,
        r#""error":{"code":-32602,"message":"no","data":{"supported":["2031-01-01"]}}"#,
    ] {
        let mut world = connecting();
        let (post, request) = world.request();
        world.head(post, 200, JSON, None);
        world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},{body}}}"#, id_of(&request)));
        world.end(post);
        assert_eq!(world.failure(world.handshake()).reason, Reason::UnsupportedVersion, "{body}");
    }
}

#[test]
fn an_illegal_session_id_is_refused() {
    for id in ["with space", "ünïcode", "x\u{7f}"] {
        let mut world = connecting();
        let (post, _) = world.request();
        world.head(post, 200, JSON, Some(id));
        assert_eq!(world.failure(world.handshake()).reason, Reason::MalformedResponse, "{id:?}");
    }
}

/// The server answers `initialize` like this.
fn answer(world: &mut World, status: u16, session: Option<&str>, said: &str) -> String {
    let (post, request) = world.request();
    let body = request.body.clone().unwrap_or_default();
    assert!(body.contains("\"initialize\""), "{body}");
    world.head(post, status, JSON, session);
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},{said}}}"#, id_of(&request)));
    world.end(post);
    body
}

#[test]
fn an_empty_session_id_counts_as_none() {
    let mut world = connecting();
    answer(&mut world, 200, Some(""), r#""result":{"protocolVersion":"2025-11-25"}"#);
    let (post, request) = world.request();
    assert_eq!(header(&request, "mcp-session-id"), None);
    world.head(post, 202, "", None);
    assert_eq!(world.ready, Some(("2025-11-25".to_string(), None)));
    world.client.close(world.now);
    world.drain();
    assert!(world.closed && world.requests.is_empty(), "there is no session to be ended");
}

#[test]
fn a_server_of_2024_is_spoken_to_without_a_version_header() {
    let mut world = connecting();
    answer(&mut world, 200, Some("s1"), r#""result":{"protocolVersion":"2024-11-05"}"#);
    let (post, request) = world.request();
    assert_eq!(
        (header(&request, "mcp-session-id"), header(&request, "mcp-protocol-version")),
        (Some("s1"), None)
    );
    world.head(post, 202, "", None);
    assert_eq!(world.ready, Some(("2024-11-05".to_string(), Some("s1".to_string()))));
    world.call();
    let (_, request) = world.request();
    assert_eq!(header(&request, "mcp-protocol-version"), None);
    // Not so where the user wants a later one.
    let protocol_versions = Some(vec!["2025-11-25".to_string()]);
    let mut world = World::connecting(Options { protocol_versions, ..options() });
    answer(&mut world, 200, None, r#""result":{"protocolVersion":"2024-11-05"}"#);
    assert_eq!(world.failure(world.handshake()).reason, Reason::UnsupportedVersion);
}

const NAMES_OLDER: &str =
    r#""error":{"code":-32602,"message":"no","data":{"supported":["2024-11-05","2025-03-26","2025-06-18"]}}"#;

#[test]
fn a_server_that_names_an_older_version_of_ours_is_asked_for_that_once() {
    for status in [200, 400] {
        let mut world = connecting();
        let first = answer(&mut world, status, None, NAMES_OLDER);
        assert!(first.contains("2025-11-25"));
        let second = answer(&mut world, 200, Some("s1"), r#""result":{"protocolVersion":"2025-06-18"}"#);
        assert!(second.contains("2025-06-18") && !second.contains("2025-11-25"), "{second}");
        let (post, _) = world.request();
        world.head(post, 202, "", None);
        assert!(world.ready.is_some());
        // A session that replaces this one is asked for it at once.
        world.call();
        let (post, _) = world.request();
        world.head(post, 404, "", None);
        world.end(post);
        let (_, request) = world.request();
        assert!(request.body.is_some_and(|body| body.contains("2025-06-18")));
    }
    let mut world = connecting();
    answer(&mut world, 200, None, NAMES_OLDER);
    answer(&mut world, 200, None, NAMES_OLDER);
    assert_eq!(world.failure(world.handshake()).reason, Reason::UnsupportedVersion);
    assert!(world.requests.is_empty());
    world.assert_nothing_is_left();
}

#[test]
fn asking_for_another_version_takes_no_more_than_handshake_ms_in_all() {
    let mut world = connecting();
    world.pass(29_000);
    answer(&mut world, 200, None, NAMES_OLDER);
    world.pass(1_000);
    assert_eq!(world.failure(world.handshake()).reason, Reason::ConnectTimeout);
}

#[test]
fn a_server_of_later_versions_only_is_told_as_such() {
    let mut world = connecting();
    let data = r#""data":{"supported":["2026-07-28","2027-01-01"],"requested":"2025-11-25"}"#;
    answer(&mut world, 400, None, &format!(r#""error":{{"code":-32022,"message":"unsupported",{data}}}"#));
    let failure = world.failure(world.handshake());
    assert_eq!(failure.reason, Reason::UnsupportedVersion);
    let said = "speaks protocol version 2026-07-28, 2027-01-01 only, and this client 2025-11-25, 2025-06-18";
    assert!(failure.text.contains(said), "{}", failure.text);
}

#[test]
fn a_session_id_on_a_refused_initialize_is_not_adopted() {
    let mut world = connecting();
    let (post, _) = world.request();
    world.head(post, 400, JSON, Some("zz"));
    world.end(post);
    assert_eq!(world.failure(world.handshake()).reason, Reason::HttpError);
    assert_eq!(world.failure(world.handshake()).diagnostics.session, None);
}

#[test]
fn close_settles_what_is_pending_tells_the_server_and_then_nothing_moves() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.client.close(world.now);
    world.drain();
    assert_eq!(world.failure(call).reason, Reason::Closed);
    assert!(world.aborted.contains(&post));
    let (delete, request) = world.request();
    assert_eq!(request.method, Method::Delete);
    assert_eq!(header(&request, "mcp-session-id"), Some("s1"));
    assert!(!world.closed);
    world.head(delete, 405, "", None);
    assert!(world.closed);
    world.body(post, &crate::world::result(&id));
    let late = world.call();
    assert_eq!(world.failure(late).reason, Reason::Closed);
    world.pass(1_000_000);
    assert!(world.requests.is_empty());
    world.assert_nothing_is_left();
}

#[test]
fn close_waits_two_seconds_for_its_delete_and_no_longer() {
    let mut world = World::connected(options());
    world.client.close(world.now);
    world.drain();
    let (delete, _) = world.request();
    world.pass(1_999);
    assert!(!world.closed);
    world.pass(1);
    assert!(world.closed);
    assert_eq!(world.aborted, [delete]);
    world.assert_nothing_is_left();
}

#[test]
fn close_during_the_handshake_ends_connect() {
    let mut world = connecting();
    world.client.close(world.now);
    world.drain();
    assert_eq!(world.failure(world.handshake()).reason, Reason::Closed);
    assert!(world.closed);
    world.assert_nothing_is_left();
}

#[test]
fn a_session_that_is_to_be_kept_gets_no_delete() {
    let mut world = World::connected(Options { keep_session: true, ..options() });
    world.client.close(world.now);
    world.drain();
    assert!(world.closed && world.requests.is_empty());
}

#[test]
fn a_session_that_is_refused_while_it_is_confirmed_ends_connect() {
    let mut world = connecting();
    let (post, request) = world.request();
    world.head(post, 200, JSON, Some("s1"));
    let result = r#""result":{"protocolVersion":"2025-11-25"}"#;
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},{result}}}"#, id_of(&request)));
    world.end(post);
    let (confirm, _) = world.request();
    world.head(confirm, 404, "", None);
    world.end(confirm);
    assert_eq!(world.failure(world.handshake()).reason, Reason::HttpError);
    world.assert_nothing_is_left();
}

#[test]
fn handshake_ms_bounds_the_whole_handshake() {
    let mut world = connecting();
    let (post, request) = world.request();
    world.pass(20_000);
    world.head(post, 200, JSON, Some("s1"));
    let result = r#""result":{"protocolVersion":"2025-11-25"}"#;
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},{result}}}"#, id_of(&request)));
    world.end(post);
    world.pass(10_000);
    assert_eq!(world.failure(world.handshake()).reason, Reason::ConnectTimeout);
}

#[test]
fn after_a_handshake_that_failed_in_either_half_the_next_call_fails_clearly_and_nothing_is_sent() {
    for confirming in [false, true] {
        let mut world = connecting();
        let (post, request) = world.request();
        if confirming {
            world.head(post, 200, JSON, Some("s1"));
            let result = r#""result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}"#;
            world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},{result}}}"#, id_of(&request)));
            world.end(post);
        }
        let (post, _) = if confirming { world.request() } else { (post, request) };
        world.head(post, 400, "", None);
        world.end(post);
        assert_eq!(world.failure(world.handshake()).reason, Reason::HttpError);
        if confirming {
            world.given_back("s1");
        }
        let call = world.call();
        let failure = world.failure(call);
        assert_eq!((failure.reason, failure.outcome), (Reason::SessionLost, Outcome::NotSent));
        assert!(failure.text.contains("its handshake failed"), "{}", failure.text);
        assert!(world.requests.is_empty() && world.ready.is_none());
        world.assert_nothing_is_left();
    }
}

#[test]
fn the_handshake_is_a_call_like_others_and_can_be_cancelled_in_either_half() {
    for confirming in [false, true] {
        let mut world = connecting();
        let (post, request) = world.request();
        if confirming {
            world.head(post, 200, JSON, Some("s1"));
            let result = r#""result":{"protocolVersion":"2025-11-25"}"#;
            world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},{result}}}"#, id_of(&request)));
            world.end(post);
        }
        assert_eq!(id_of(&request), format!("\"{}\"", world.client.request_id(world.handshake())));
        world.client.cancel(world.now, world.handshake());
        world.requests.clear();
        world.drain();
        assert_eq!(world.failure(world.handshake()).reason, Reason::Cancelled);
        if confirming {
            world.given_back("s1");
        }
        world.assert_nothing_is_left();
    }
}
