//! Servers that are away when a request is made: what may run twice waits for them, and what never arrived for a while.

use crate::world::{id_of, known_session, options, result, safe, World, SSE};
use landfall::proto::{CallId, CallSpec, ExchangeId, Hint, Options, Outcome, Reason};

const REFUSED: &str = "ECONNREFUSED";

fn made(world: &mut World, spec: CallSpec) -> (CallId, ExchangeId) {
    let call = world.call_with(spec);
    (call, world.request().0)
}

/// Lets this attempt fail, and all that follow: how long after it each of these was made.
fn fail_all(world: &mut World, call: CallId, post: ExchangeId, code: &str) -> Vec<f64> {
    let mut waits = Vec::new();
    world.failed(post, code);
    let start = world.now;
    while world.is_pending(call) {
        world.pass(1);
        while let Some((post, _)) = world.requests.pop_front() {
            waits.push(world.now.as_millis() - start.as_millis());
            world.failed(post, code);
        }
    }
    waits
}

#[test]
fn a_safe_call_is_sent_again_until_a_server_that_restarts_is_back() {
    for code in ["", "ECONNRESET"] {
        let mut world = World::connected(options());
        let (call, mut post) = made(&mut world, safe());
        let mut waits = Vec::new();
        for _ in 0..8 {
            world.failed(post, code);
            let (wait, next, _) = world.next_request();
            waits.push(wait);
            post = next;
        }
        assert!(waits[0] < 700.0 && waits[7] > 3_000.0 && waits[7] <= 5_000.0, "the backoff: {waits:?}");
        world.head(post, 200, SSE, None);
        world.cut(post);
        assert!(world.is_pending(call), "those that got no answer are not counted");
        let (_, post, request) = world.next_request();
        world.head(post, 200, SSE, None);
        world.body(post, &result(&id_of(&request)));
        assert!(world.answer(call).contains("ok"));
        world.assert_nothing_is_left();
    }
}

#[test]
fn re_issues_that_were_answered_count_whatever_came_between_them() {
    let mut world = World::connected(options());
    let (call, mut post) = made(&mut world, safe());
    for code in [None, Some(REFUSED), None, Some(""), None] {
        assert!(world.is_pending(call), "{code:?}");
        match code {
            Some(code) => world.failed(post, code),
            None => {
                world.head(post, 200, SSE, None);
                world.cut(post);
            }
        }
        if world.is_pending(call) {
            post = world.next_request().1;
        }
    }
    assert_eq!((world.failure(call).reason, world.client.metrics(false).reissues), (Reason::StreamLost, 4));
}

#[test]
fn recovery_ms_bounds_how_long_a_safe_call_waits_for_its_server() {
    let mut world = World::connected(options());
    let (call, post) = made(&mut world, safe());
    let waits = fail_all(&mut world, call, post, "");
    let failure = world.failure(call);
    assert_eq!((failure.reason, failure.outcome), (Reason::NetworkError, Outcome::Unknown));
    assert!((28..=40).contains(&waits.len()), "{waits:?}");
    let took = failure.diagnostics.ended_at - failure.diagnostics.started_at;
    assert!((120_000.0..120_100.0).contains(&took), "the attempts themselves are no part of it: {took}");
    world.assert_nothing_is_left();
}

#[test]
fn a_call_that_never_reached_its_server_waits_three_connect_ms_for_it() {
    for spec in [CallSpec { method: "tools/call".to_string(), ..CallSpec::default() }, safe()] {
        let mut world = World::connected(options());
        let (call, post) = made(&mut world, spec);
        let waits = fail_all(&mut world, call, post, REFUSED);
        let failure = world.failure(call);
        assert_eq!((failure.reason, failure.outcome), (Reason::NetworkError, Outcome::NotSent));
        assert!(
            waits.len() >= 5 && waits.last() == Some(&15_000.0),
            "the last attempt at the end: {waits:?}"
        );
        world.assert_nothing_is_left();
    }
}

#[test]
fn a_call_that_reached_its_server_once_waits_as_long_as_any_other() {
    let mut world = World::connected(options());
    let (call, post) = made(&mut world, safe());
    world.head(post, 200, SSE, None);
    world.cut(post);
    let (_, post, _) = world.next_request();
    let waits = fail_all(&mut world, call, post, REFUSED);
    assert!(waits.last().is_some_and(|last| *last > 100_000.0), "{waits:?}");
    assert_eq!(
        (world.failure(call).reason, world.failure(call).outcome),
        (Reason::StreamLost, Outcome::Unknown)
    );
}

#[test]
fn a_sleep_is_no_waiting_for_a_server() {
    let mut world = World::connected(options());
    let (call, post) = made(&mut world, safe());
    world.failed(post, REFUSED);
    world.now = world.now + std::time::Duration::from_secs(60);
    let (_, post, _) = world.next_request();
    world.failed(post, REFUSED);
    assert!(world.is_pending(call));
    let (_, post, request) = world.next_request();
    world.head(post, 200, SSE, None);
    world.body(post, &result(&id_of(&request)));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn where_the_user_wants_no_re_issues_there_are_none() {
    for code in ["", REFUSED] {
        let mut world = World::connected(Options { max_reissues: Some(0.0), ..options() });
        let (call, post) = made(&mut world, safe());
        world.failed(post, code);
        assert_eq!(world.failure(call).reason, Reason::NetworkError);
    }
}

#[test]
fn a_safe_call_that_may_lack_the_servers_leave_for_its_headers_is_tried_twice() {
    let known = known_session(None, Some("2025-11-25"), None);
    let mut world = World::new(Options { resume: Some(known), cross_origin: true, ..options() });
    world.client.connect(world.now);
    world.drain();
    let resumed = CallSpec { resumption_token: Some("k1".to_string()), ..safe() };
    let (_, get) = made(&mut world, resumed);
    world.head(get, 200, SSE, None); // the headers of a GET pass; a POST adds `content-type`
    let (call, post) = made(&mut world, safe());
    let waits = fail_all(&mut world, call, post, "");
    assert_eq!(waits.len(), 1);
    let failure = world.failure(call);
    assert_eq!((failure.reason, failure.diagnostics.hint), (Reason::NetworkError, Some(Hint::Cors)));
}
