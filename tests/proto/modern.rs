//! Messages of 2026-07-28, as a Client speaks it: requests on their own, whose body is their life (ARCHITECTURE.md,
//! "Sessions and eras").

use crate::carried::{streaming, tool_call};
use crate::world::{header, id_of, note, options, result, World, JSON, SSE};
use landfall::proto::{CallSpec, Options, Outcome, Reason};

pub(crate) fn modern(method: &str) -> CallSpec {
    CallSpec {
        method: method.to_string(),
        meta: r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#.to_string(),
        id: Some("1".to_string()),
        params: if method == "tools/call" { r#"{"name":"t"}"#.to_string() } else { String::new() },
        timed: true,
        ..CallSpec::default()
    }
}

#[test]
fn a_modern_message_has_the_headers_of_its_body_and_no_session() {
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    let within = format!(r#"{{"name":"t","_meta":{meta}}}"#);
    let spec = CallSpec { params: within, meta: "{}".to_string(), ..modern("tools/call") };
    for spec in [modern("tools/call"), spec] {
        let mut world = World::carried(options());
        world.call_with(spec);
        let (_, request) = world.request();
        for (name, value) in [
            ("mcp-protocol-version", Some("2026-07-28")),
            ("mcp-method", Some("tools/call")),
            ("mcp-name", Some("t")),
            ("mcp-session-id", None),
        ] {
            assert_eq!(header(&request, name), value, "{name}");
        }
    }
}

#[test]
fn parameters_go_into_headers_too_on_each_request_of_a_modern_call_and_where_the_caller_gives_them_on_any() {
    let pair = |name: &str, text: &str| vec![(name.to_string(), text.to_string())];
    let declared =
        CallSpec { declared_params: pair("Region", "日本"), idempotent: true, ..modern("tools/call") };
    let given = CallSpec { param_headers: pair("region", "=?base64?5pel?="), ..declared.clone() };
    for (spec, value) in [(declared.clone(), "=?base64?5pel5pys?="), (given.clone(), "=?base64?5pel?=")] {
        let mut world = World::carrying(options());
        world.call_with(spec);
        let (post, request) = world.request();
        assert_eq!(header(&request, "mcp-param-region"), Some(value));
        world.head(post, 200, SSE, None);
        world.cut(post);
        let (_, _, again) = world.next_request();
        assert_eq!(header(&again, "mcp-param-region"), Some(value));
    }
    for (spec, value) in [(declared, None), (given, Some("=?base64?5pel?="))] {
        let mut world = World::carried(options());
        world.call_with(CallSpec { meta: "{}".to_string(), ..spec });
        let (_, request) = world.request();
        assert_eq!(header(&request, "mcp-param-region"), value, "a legacy one");
    }
}

#[test]
fn a_modern_stream_is_never_resumed_and_its_cancel_is_its_end() {
    let mut world = World::carrying(options());
    let (call, post) = streaming(&mut world, modern("tools/call"));
    world.body(post, &note("e1", "a"));
    world.cut(post);
    assert_eq!(world.failure(call).reason, Reason::StreamLost);
    assert_eq!(world.failure(call).outcome, Outcome::Unknown);
    assert!(world.requests.is_empty(), "no GET, no ping");
    let (call, post) = streaming(&mut world, modern("tools/call"));
    world.client.cancel(world.now, call);
    world.drain();
    assert_eq!(world.aborted.last(), Some(&post));
    assert!(world.requests.is_empty(), "nothing is posted");
    world.assert_nothing_is_left();
}

#[test]
fn a_modern_call_that_is_safe_goes_again_under_a_new_id() {
    let mut world = World::carrying(options());
    let (call, post) = streaming(&mut world, CallSpec { idempotent: true, ..modern("tools/call") });
    world.cut(post);
    let (_, post, request) = world.next_request();
    let id = id_of(&request);
    assert_ne!(id, "1");
    assert_eq!(header(&request, "mcp-protocol-version"), Some("2026-07-28"));
    world.head(post, 200, SSE, None);
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("true"));
}

#[test]
fn a_modern_servers_silence_is_asked_about_by_discover() {
    let mut world = World::carrying(options());
    let (call, post) = streaming(&mut world, modern("tools/call"));
    world.pass(45_000);
    let (probe, request) = world.request();
    assert_eq!(header(&request, "mcp-method"), Some("server/discover"));
    let id = id_of(&request);
    world.head(probe, 200, JSON, None);
    world.body(probe, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    world.end(probe);
    world.body(post, &result("1"));
    assert!(world.answer(call).contains("true"));
}

#[test]
fn a_subscription_may_be_silent_for_days_and_takes_no_connection_of_a_call() {
    let mut world = World::carrying(Options { max_concurrent: Some(2.0), ..options() });
    let (call, _) = streaming(&mut world, modern("subscriptions/listen"));
    tool_call(&mut world, "2");
    let (post, _) = world.request();
    world.head(post, 200, SSE, None);
    world.body(post, &result("2"));
    for _ in 0..48 {
        world.pass(3_600_000);
        while !world.requests.is_empty() {
            let (probe, request) = world.request();
            let id = id_of(&request);
            world.head(probe, 200, JSON, None);
            world.body(probe, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
            world.end(probe);
        }
    }
    assert!(world.is_pending(call));
}

#[test]
fn a_subscription_is_made_again_quietly_and_ever_more_rarely() {
    let mut world = World::carrying(Options { replay: landfall::proto::ReplayOption::Never, ..options() });
    let (call, mut post) = streaming(&mut world, modern("subscriptions/listen"));
    let ack = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\"}\n\n";
    world.body(post, ack);
    let mut waits = Vec::new();
    for _ in 0..12 {
        world.cut(post);
        let (wait, next, request) = world.next_request();
        assert_ne!(id_of(&request), "1", "an id of ours");
        waits.push(wait);
        post = next;
        world.head(post, 200, SSE, None);
        world.body(post, ack);
    }
    assert!(waits[0] < 700.0 && waits[11] > 40_000.0 && waits[11] < 80_000.0, "{waits:?}");
    world.body(post, &note("n", "more than its ack"));
    world.end(post);
    let (wait, post, request) = world.next_request();
    assert!(wait < 700.0, "what it brought makes it prompt again");
    world.head(post, 200, SSE, None);
    world.body(post, &result(&id_of(&request)));
    assert!(
        world.is_pending(call),
        "the server's end of it is none of the Client's: no Client subscribes again"
    );
}

#[test]
fn a_subscription_that_was_held_for_idle_ms_was_not_barren() {
    let mut world = World::carrying(options());
    let (_, mut post) = streaming(&mut world, modern("subscriptions/listen"));
    let ack = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\"}\n\n";
    world.body(post, ack);
    for _ in 0..12 {
        for _ in 0..3 {
            world.pass(16_000);
            world.body(post, ": alive\n\n");
        }
        world.end(post);
        let (wait, next, _) = world.next_request();
        assert!(wait < 700.0, "a proxy ends it once in a while: {wait}");
        post = next;
        world.head(post, 200, SSE, None);
        world.body(post, ack);
    }
}

#[test]
fn a_subscription_that_brought_nothing_max_retries_times_has_ended() {
    for most in [0, 2] {
        let mut world = World::carrying(Options { max_retries: Some(f64::from(most)), ..options() });
        let (call, mut post) = streaming(&mut world, modern("subscriptions/listen"));
        let ack = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\"}\n\n";
        world.body(post, ack);
        for _ in 0..most {
            world.end(post);
            post = world.next_request().1;
            world.head(post, 200, SSE, None);
            world.body(post, ack);
        }
        world.end(post);
        assert_eq!(world.failure(call).reason, Reason::StreamLost);
        assert!(world.failure(call).text.contains("maxRetries"));
        world.assert_nothing_is_left();
    }
}

#[test]
fn a_subscription_that_is_refused_has_ended() {
    for status in [404, 405] {
        let mut world = World::carrying(options());
        let (call, post) = streaming(&mut world, modern("subscriptions/listen"));
        world.body(post, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n");
        world.cut(post);
        let (_, post, _) = world.next_request();
        world.head(post, status, "", None);
        world.end(post);
        assert_eq!(world.failure(call).reason, Reason::HttpError);
        world.assert_nothing_is_left();
    }
}
