//! A page of another origin: fetch rejects without a cause, so it is judged by what worked before.

use crate::world::{header, id_of, known_session, note, options, result, World, JSON, SSE};
use landfall::proto::{CallId, CallSpec, Hint, Options, Outcome, Reason};

fn cross_origin() -> Options {
    Options { cross_origin: true, ..options() }
}

fn initialized(session: Option<&str>) -> World {
    let mut world = World::connecting(cross_origin());
    let (post, request) = world.request();
    world.head(post, 200, JSON, session);
    let result = r#""result":{"protocolVersion":"2025-11-25"}"#;
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},{result}}}"#, id_of(&request)));
    world.end(post);
    world
}

#[test]
fn a_request_that_adds_headers_and_is_rejected_twice_names_what_the_server_must_allow() {
    let mut world = initialized(Some("s1"));
    for _ in 0..2 {
        let (post, _) = world.request();
        world.cut(post);
    }
    world.given_back("s1");
    assert!(world.requests.is_empty(), "no storm");
    let failure = world.failure(world.handshake());
    assert_eq!((failure.reason, failure.diagnostics.hint), (Reason::NetworkError, Some(Hint::Cors)));
    assert!(
        failure.text.contains("mcp-session-id, mcp-protocol-version in Access-Control-Allow-Headers"),
        "{}",
        failure.text
    );
}

#[test]
fn a_session_id_that_is_not_exposed_is_named_when_the_next_request_is_refused() {
    let mut world = initialized(None);
    let (post, _) = world.request();
    world.head(post, 400, "", None);
    world.end(post);
    let failure = world.failure(world.handshake());
    assert_eq!(failure.diagnostics.hint, Some(Hint::Cors));
    assert!(failure.text.contains("Mcp-Session-Id in Access-Control-Expose-Headers"), "{}", failure.text);
}

/// Rejects each resume, and answers all else, until the call has ended.
fn reject_resumes(world: &mut World, call: CallId) {
    while world.is_pending(call) {
        let (_, exchange, request) = world.next_request();
        if request.body.is_none() {
            world.cut(exchange);
        } else {
            world.reply(exchange, &request, "{}");
        }
    }
}

fn cut_behind_an_event(world: &mut World) -> (CallId, String) {
    let (call, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.cut(post);
    (call, id)
}

#[test]
fn resumes_rejected_twice_while_posts_are_answered_end_that_call_and_for_a_minute_none_is_tried() {
    let mut world = World::connected(cross_origin());
    let (call, _) = cut_behind_an_event(&mut world);
    reject_resumes(&mut world, call);
    let failure = world.failure(call);
    assert_eq!((failure.reason, failure.diagnostics.hint), (Reason::ResumeRejected, Some(Hint::Cors)));
    assert!(failure.text.contains("perhaps the server does not list last-event-id"), "{}", failure.text);
    assert_eq!(failure.diagnostics.attempts.len(), 3, "a fourth was planned, and not made");
    world.take_cancelled();
    world.pass(59_000);
    let (call, _) = cut_behind_an_event(&mut world);
    let failure = world.failure(call);
    assert_eq!((failure.reason, failure.diagnostics.hint), (Reason::StreamLost, Some(Hint::Cors)));
    assert!(failure.text.contains("perhaps"), "it had an event id: {}", failure.text);
    world.take_cancelled();
    world.pass(1_000);
    let (call, id) = cut_behind_an_event(&mut world);
    let (_, get, _) = world.next_request();
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"), "after a minute it is tried again");
}

/// A page whose network was away for some seconds.
#[test]
fn resumes_that_are_rejected_while_nothing_is_answered_are_no_matter_of_headers() {
    let mut world = World::connected(cross_origin());
    let (call, id) = cut_behind_an_event(&mut world);
    let mut resumes = 0;
    let get = loop {
        let (_, exchange, request) = world.next_request();
        match &request.body {
            None if resumes == 3 => break exchange,
            None => {
                resumes += 1;
                world.cut(exchange);
            }
            Some(_) if resumes == 3 => world.reply(exchange, &request, "{}"),
            Some(_) => world.cut(exchange),
        }
    };
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_resume_that_is_answered_ends_the_belief_that_none_is_possible() {
    let mut world = World::connected(cross_origin());
    let (other, id, post) = world.streaming();
    world.body(post, &note("o/1", "a"));
    let (call, _) = cut_behind_an_event(&mut world);
    let (_, get, _) = world.next_request();
    world.cut(get);
    world.cut(post);
    // The first call is given up while a resume of the other is under way.
    let mut others = None;
    while world.is_pending(call) {
        let (_, exchange, request) = world.next_request();
        match (header(&request, "last-event-id"), &request.body) {
            (Some("o/1"), _) => others = Some(exchange),
            (Some(_), _) => world.cut(exchange),
            (None, Some(body)) if body.contains("\"ping\"") => {
                world.head(exchange, 200, JSON, None);
                let id = id_of(&request);
                world.body(exchange, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
                world.end(exchange);
            }
            _ => {}
        }
    }
    assert_eq!(world.failure(call).reason, Reason::ResumeRejected);
    assert!(world.is_pending(other), "the verdict ends one call");
    let get = others.unwrap_or_else(|| {
        world.requests.retain(|(_, request)| request.body.is_none());
        world.next_request().1
    });
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(other).contains("ok"));
    world.requests.clear();
    let (call, id) = cut_behind_an_event(&mut world);
    let (_, get, _) = world.next_request();
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_header_timeout_with_six_connections_open_hints_at_them() {
    let mut world = World::connected(options());
    let calls: Vec<CallId> = (0..6).map(|_| world.call()).collect();
    world.pass(120_000);
    let failure = world.failure(calls[0]);
    assert_eq!(
        (failure.reason, failure.diagnostics.hint),
        (Reason::FirstByteTimeout, Some(Hint::Connections))
    );
}

#[test]
fn in_the_same_origin_a_rejection_is_no_matter_of_headers() {
    let mut world = World::connected(Options { max_reissues: Some(0.0), ..options() });
    let (call, _, post) = world.streaming();
    world.head(post, 200, SSE, None);
    world.cut(post);
    assert_eq!(world.failure(call).diagnostics.hint, None);
}

#[test]
fn a_call_that_may_not_run_twice_is_not_repeated_for_a_guess_at_cors() {
    let known = known_session(None, Some("2025-11-25"), None);
    let mut world = World::new(Options { resume: Some(known), ..cross_origin() });
    world.client.connect(world.now);
    world.drain();
    world.call_with(CallSpec {
        method: "tools/call".to_string(),
        resumption_token: Some("k1".to_string()),
        ..CallSpec::default()
    });
    let (get, _) = world.request();
    world.head(get, 200, SSE, None);
    let call = world.call();
    let (post, _) = world.request();
    world.cut(post);
    assert!(world.requests.is_empty());
    assert_eq!(
        (world.failure(call).reason, world.failure(call).diagnostics.hint),
        (Reason::NetworkError, Some(Hint::Cors))
    );
}

/// It was sent twice.
#[test]
fn neither_is_a_notification_nor_the_word_that_a_call_is_cancelled() {
    let known = known_session(Some("s1"), Some("2025-11-25"), Some("{}"));
    let mut world = World::new(Options { resume: Some(known), ..cross_origin() });
    world.client.connect(world.now);
    world.drain();
    world.call_with(CallSpec {
        method: "tools/call".to_string(),
        resumption_token: Some("k1".to_string()),
        ..CallSpec::default()
    });
    let (get, _) = world.request();
    world.head(get, 200, SSE, None); // the headers of a GET pass; a POST adds `content-type`
    let notification = world.client.notify(world.now, "notifications/x", "");
    world.drain();
    let (post, _) = world.request();
    world.cut(post);
    let failure = world.failure(notification);
    assert_eq!(
        (failure.reason, failure.outcome, failure.diagnostics.hint),
        (Reason::NetworkError, Outcome::Unknown, Some(Hint::Cors))
    );
    let cancelled = world.call();
    world.request();
    world.client.cancel(world.now, cancelled);
    world.drain();
    let (post, word) = world.request();
    assert!(word.body.is_some_and(|body| body.contains("notifications/cancelled")));
    world.cut(post);
    world.pass(10_000);
    assert!(world.requests.is_empty(), "{:?}", world.requests);
}

/// What is rejected may have been the request itself, and not its preflight.
#[test]
fn a_request_of_our_own_that_is_tried_once_more_goes_under_a_new_id() {
    let known = known_session(Some("s1"), Some("2025-11-25"), Some("{}"));
    let mut world = World::new(Options { resume: Some(known), ..cross_origin() });
    world.client.connect(world.now);
    world.drain();
    let token = Some("k/1".to_string());
    world.call_with(CallSpec {
        method: "tools/call".to_string(),
        resumption_token: token,
        ..CallSpec::default()
    });
    let (get, _) = world.request();
    world.head(get, 404, "", None); // the headers of a GET pass; a POST adds `content-type`
    let (ping, first) = world.request();
    world.cut(ping);
    let (_, second) = world.request();
    assert!(second.body.as_deref().unwrap().contains("\"ping\""));
    assert_ne!(id_of(&first), id_of(&second));
}

/// Whatever the handshake tries is rejected, until it is given up.
fn reject_all(world: &mut World, code: &str) {
    while world.is_pending(world.handshake()) {
        while let Some((post, _)) = world.requests.pop_front() {
            world.failed(post, code);
        }
        world.pass(1_000);
    }
}

#[test]
fn a_handshake_that_is_rejected_may_mean_that_the_server_sends_no_cors_headers() {
    let mut world = World::connecting(cross_origin());
    reject_all(&mut world, "");
    let failure = world.failure(world.handshake());
    assert_eq!((failure.reason, failure.diagnostics.hint), (Reason::NetworkError, Some(Hint::Cors)));
    assert!(
        failure.text.contains("the network failed, or the server sends no CORS headers"),
        "{}",
        failure.text
    );
}

#[test]
fn no_more_is_said_of_them_where_the_server_was_seen_or_nothing_was_sent_or_the_origin_is_the_pages() {
    let mut seen = World::connected(cross_origin());
    let mut unsent = World::connecting(cross_origin());
    let mut own = World::connecting(options());
    let late = seen.call();
    for (world, code) in [(&mut unsent, "LANDFALL_NOT_SENT"), (&mut own, "")] {
        reject_all(world, code);
    }
    while seen.is_pending(late) {
        let (_, post, _) = seen.next_request();
        seen.cut(post);
    }
    for (world, call) in [(&seen, late), (&unsent, unsent.handshake()), (&own, own.handshake())] {
        let failure = world.failure(call);
        assert_eq!((failure.reason, failure.diagnostics.hint), (Reason::NetworkError, None));
        assert!(!failure.text.contains("CORS"), "{}", failure.text);
    }
}

#[test]
fn a_403_that_speaks_of_hosts_or_origins_does_not_hint_at_credentials() {
    for (body, hint) in [
        ("Invalid Host header: localhost", None),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Invalid Origin"}}"#, None),
        ("Origins: none", None),
        ("the original token is not yours", Some(Hint::Auth)),
        ("", Some(Hint::Auth)),
    ] {
        let mut world = World::connected(options());
        let call = world.call();
        let (post, _) = world.request();
        world.head(post, 403, "text/plain", None);
        world.body(post, body);
        world.end(post);
        if world.is_pending(call) {
            continue;
        }
        let failure = world.failure(call);
        assert_eq!((failure.reason, failure.diagnostics.hint), (Reason::Forbidden, hint), "{body}");
    }
}
