//! Refusals whose body does not end: the status is the verdict, and the body is read for a while only.

use crate::world::{id_of, options, result, World, JSON, SSE};
use landfall::proto::{Options, Outcome, Reason, TimeoutOptions};

#[test]
fn a_refusal_whose_body_never_ends_has_its_verdict_after_a_second() {
    for (status, reason, outcome) in [
        (401, Reason::Unauthorized, Outcome::Rejected),
        (403, Reason::Forbidden, Outcome::Rejected),
        (406, Reason::HttpError, Outcome::Rejected),
        (500, Reason::HttpError, Outcome::Unknown),
    ] {
        let mut world = World::connected(options());
        let call = world.call();
        let (post, _) = world.request();
        world.head(post, status, "text/plain", None);
        for _ in 0..9 {
            world.body(post, "no ");
            world.pass(110);
        }
        assert!(world.is_pending(call), "{status}: what it says is waited for");
        world.pass(10);
        let failure = world.failure(call);
        assert_eq!((failure.reason, failure.outcome), (reason, outcome), "{status}");
        assert!(failure.text.contains("no no no"), "{status}: as far as it came: {}", failure.text);
        assert_eq!(world.aborted, [post]);
        world.assert_nothing_is_left();
    }
}

#[test]
fn connect_ms_is_the_limit_where_it_is_less() {
    let timeouts = TimeoutOptions { connect: Some(200.0), ..TimeoutOptions::default() };
    let mut world = World::connected(Options { timeouts, ..options() });
    let call = world.call();
    let (post, _) = world.request();
    world.head(post, 403, "text/plain", None);
    world.pass(199);
    assert!(world.is_pending(call));
    world.pass(1);
    assert_eq!(world.failure(call).reason, Reason::Forbidden);
}

#[test]
fn a_whole_answer_in_a_refusal_that_stays_open_is_an_answer() {
    let mut world = World::connected(options());
    let call = world.call();
    let (post, request) = world.request();
    world.head(post, 400, JSON, None);
    let error = r#""error":{"code":-32602,"message":"bad"}"#;
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},{error}}}"#, id_of(&request)));
    world.pass(1_000);
    assert!(world.answer(call).contains("-32602"));
}

#[test]
fn a_404_whose_body_never_ends_replaces_the_session() {
    let mut world = World::connected(options());
    let call = world.safe_call();
    let (post, _) = world.request();
    world.head(post, 404, JSON, None);
    let (waited, _, request) = world.next_request();
    assert!(request.body.unwrap_or_default().contains("\"initialize\""));
    assert!(waited <= 1_000.0, "{waited}");
    assert!(world.is_pending(call));
}

#[test]
fn a_503_whose_body_never_ends_is_tried_again() {
    let mut world = World::connected(options());
    let call = world.safe_call();
    let (post, _) = world.request();
    world.head(post, 503, "text/plain", None);
    let (waited, again, request) = world.next_request();
    assert!(waited <= 2_000.0, "{waited}");
    world.head(again, 200, SSE, None);
    world.body(again, &result(&id_of(&request)));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_refused_ping_says_what_it_has_to_say_though_its_time_is_over_before_its_body() {
    let mut world = World::connected(options());
    let (call, _, _) = world.streaming();
    let (waited, ping, request) = world.next_request();
    assert!(request.body.unwrap_or_default().contains("\"ping\""), "after {waited} ms");
    world.pass(4_900);
    world.head(ping, 404, JSON, None);
    world.pass(100);
    assert!(world.is_pending(call) || world.failure(call).reason == Reason::SessionLost);
    let (_, _, request) = world.next_request();
    assert!(
        request.body.unwrap_or_default().contains("\"initialize\""),
        "the session is dead, and is replaced"
    );
}

#[test]
fn a_refused_handshake_says_so_at_the_end_of_handshake_ms_too() {
    let mut world = World::connecting(options());
    let (post, _) = world.request();
    world.pass(29_500);
    world.head(post, 401, "text/plain", None);
    world.pass(500);
    assert_eq!(world.failure(world.handshake()).reason, Reason::Unauthorized);
}
