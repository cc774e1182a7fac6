//! Every reason that a call can end for is reached, here or in the place that is named.

use std::collections::BTreeSet;

use crate::world::{header, id_of, note, options, World, JSON, SSE};
use landfall::proto::{
    AttemptResult, CallId, CallSpec, ExchangeId, OnGap, Options, Outcome, Reason, Redirect, ResponseHead,
    Target, TimeoutOptions,
};

/// Reasons of other tests and later parts, and the one that only the wrapper can give (tests/js/trap.test.mjs).
const ELSEWHERE: [(&str, &str); 4] = [
    ("task_lost", "tests/proto/tasks.rs"),
    ("task_cancelled", "tests/proto/tasks.rs"),
    ("interrupted", "page lifecycle and store"),
    ("internal_error", "a trap: the wrapper's tests"),
];

fn world() -> World {
    World::connected(Options { max_reissues: Some(0.0), fail_lost_session: true, ..options() })
}

fn end(world: &World, call: CallId) -> Reason {
    world.failure(call).reason
}

/// The reason when the POST of a call is answered by this head and body.
fn answered(status: u16, content_type: &str, body: &str) -> Reason {
    let mut world = world();
    let call = world.call();
    let (post, _) = world.request();
    world.head(post, status, content_type, None);
    world.body(post, body);
    world.end(post);
    end(&world, call)
}

/// The reason when a cut stream's resume is answered by this status, and the `ping` that may follow by 200.
fn resumed(status: u16) -> Reason {
    let mut world = world();
    let (call, _, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.cut(post);
    while world.is_pending(call) {
        let (_, exchange, request) = world.next_request();
        if header(&request, "last-event-id").is_some() {
            world.head(exchange, status, SSE, None);
            world.end(exchange);
        } else if world.is_pending(call) {
            world.reply(exchange, &request, "{}");
        }
    }
    end(&world, call)
}

/// The reason when the server falls silent, with these clocks, after it said so much.
fn silent(said: &str, set: impl FnOnce(&mut TimeoutOptions)) -> Reason {
    let mut timeouts = TimeoutOptions::default();
    set(&mut timeouts);
    let mut world = World::connected(Options { timeouts, max_reissues: Some(0.0), ..options() });
    let call = world.call();
    let (post, _) = world.request();
    if !said.is_empty() {
        world.head(post, 200, SSE, None);
        world.body(post, said);
    }
    world.pass(700_000);
    end(&world, call)
}

fn connecting(answer: impl FnOnce(&mut World)) -> Reason {
    let mut world = World::connecting(options());
    answer(&mut world);
    world.pass(40_000);
    end(&world, world.handshake())
}

fn initialize(body: &str) -> Reason {
    connecting(|world| {
        let (post, request) = world.request();
        world.head(post, 200, JSON, None);
        world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},{body}}}"#, id_of(&request)));
        world.end(post);
    })
}

fn cut(said: &str) -> Reason {
    let mut world = world();
    let (call, _, post) = world.streaming();
    world.body(post, said);
    world.end(post);
    end(&world, call)
}

fn gap() -> Reason {
    let mut world = World::connected(Options { on_gap: OnGap::Fail, ..options() });
    let (call, _, _) = world.streaming();
    world.client.report_gap(world.now, call);
    world.drain();
    end(&world, call)
}

fn refused_connection() -> Reason {
    let mut world = world();
    let call = world.call();
    let (post, _) = world.request();
    world.cut(post);
    end(&world, call)
}

fn redirected() -> Reason {
    let mut world = world();
    let call = world.call();
    let (post, _) = world.request();
    let target = Target { url: "http://elsewhere/".to_string(), same_origin: false };
    let redirect = Some(Redirect::To(target));
    world.input_head(post, ResponseHead { status: 307, redirect, ..ResponseHead::default() });
    end(&world, call)
}

fn queue_full() -> Reason {
    let mut world =
        World::connected(Options { max_concurrent: Some(2.0), max_queued: Some(0.0), ..options() });
    world.call();
    let call = world.call();
    end(&world, call)
}

fn queued_too_long() -> Reason {
    let timeouts = TimeoutOptions { deadline: Some(1_000.0), ..TimeoutOptions::default() };
    let mut world = World::new(Options { timeouts, ..options() });
    let call = world.call();
    world.pass(1_000);
    end(&world, call)
}

fn ended_by(way: impl FnOnce(&mut World, CallId)) -> Reason {
    let mut world = world();
    let (call, _, _) = world.streaming();
    way(&mut world, call);
    world.drain();
    end(&world, call)
}

fn reached() -> Vec<Reason> {
    vec![
        connecting(|_| {}),
        silent("", |t| t.first_byte = Some(1_000.0)),
        silent(": hi\n\n", |t| t.idle = Some(1_000.0)),
        silent(": hi\n\n", |t| (t.call, t.idle) = (Some(1_000.0), Some(600_000.0))),
        queued_too_long(),
        resumed(503),
        cut("retry: 99999999999\nid: 1\ndata:\n\n"),
        refused_connection(),
        cut(""),
        resumed(405),
        answered(404, JSON, ""),
        gap(),
        answered(401, JSON, ""),
        answered(403, JSON, ""),
        answered(500, JSON, ""),
        redirected(),
        answered(200, "text/html", ""),
        initialize(r#""result":{"protocolVersion":"1"}"#),
        initialize(r#""error":{"code":-1,"message":"no"}"#),
        answered(200, JSON, "{"),
        answered(200, JSON, &"x".repeat(17 << 20)),
        queue_full(),
        ended_by(|world, call| world.client.cancel(world.now, call)),
        ended_by(|world, _| world.client.close(world.now)),
    ]
}

#[test]
fn every_reason_of_this_era_is_reached_and_the_rest_is_accounted_for() {
    let names: BTreeSet<String> = reached()
        .into_iter()
        .map(|reason| serde_json::to_value(reason).unwrap().as_str().unwrap().to_string())
        .chain(ELSEWHERE.map(|(name, _)| name.to_string()))
        .collect();
    let types = include_str!("../api/index.api.md");
    let union = types.split_once("export type FailureReason =").unwrap().1.split_once("\";").unwrap().0;
    // Each has a line above it that says what it means.
    let public: BTreeSet<String> = union
        .lines()
        .filter_map(|line| line.trim().trim_start_matches("| ").strip_prefix('"')?.split('"').next())
        .map(String::from)
        .collect();
    assert_eq!(names, public);
}

/// The bodies of the requests made so far.
fn told(world: &World) -> Vec<String> {
    let bodies = world.requests.iter().filter_map(|(_, request)| request.body.clone());
    bodies.filter(|body| body.contains("notifications/cancelled")).collect()
}

/// The server may still be working for a call that we gave up on our own side.
#[test]
fn the_server_is_told_once_of_a_call_that_was_given_up_and_may_still_run() {
    let gap = [note("k/1", "a"), note("k/2", "b"), note("k/3", "c")].concat();
    for reason in [Reason::StreamLost, Reason::ResumeRejected, Reason::Gap, Reason::MessageTooLarge] {
        let mut world =
            World::connected(Options { on_gap: OnGap::Fail, max_event_bytes: Some(1_000.0), ..options() });
        let (call, id, post) = world.streaming();
        match reason {
            Reason::StreamLost => world.cut(post),
            Reason::MessageTooLarge => world.body(post, &format!("data: {}\n\n", "x".repeat(2_000))),
            _ => {
                world.body(post, &gap);
                world.cut(post);
                let (_, get, _) = world.next_request();
                match reason {
                    Reason::Gap => {
                        world.head(get, 200, SSE, None);
                        world.body(get, &note("k/9", "x"));
                    }
                    _ => world.head(get, 405, "", None),
                }
            }
        }
        assert_eq!(world.failure(call).reason, reason);
        let told = told(&world);
        assert!(told.len() == 1 && told[0].contains(&id), "{reason:?}: {told:?}");
    }
}

#[test]
fn the_server_is_not_told_of_a_call_that_it_ended_itself_or_that_it_never_got() {
    let mut world = World::connected(options());
    let ends: [fn(&mut World, ExchangeId); 3] = [
        |world, post| {
            world.head(post, 500, "", None);
            world.end(post);
        },
        |world, post| world.failed(post, "ECONNREFUSED"),
        |world, post| world.cut(post),
    ];
    for end in ends {
        let call = world.call();
        let (post, _) = world.request();
        end(&mut world, post);
        if world.is_pending(call) {
            world.client.cancel(world.now, call);
            world.drain();
        }
        assert!(told(&world).is_empty(), "{:?}", world.failure(call).reason);
    }
    let mut world = World::connecting(options());
    let (post, _) = world.request();
    world.head(post, 200, SSE, Some("s1"));
    world.cut(post);
    world.pass(30_000);
    assert!(world.ended.contains_key(&world.handshake()) && told(&world).is_empty(), "never of `initialize`");
}

#[test]
fn a_call_whose_request_never_reached_fetch_was_not_sent() {
    let mut world = World::connected(options());
    world.sends = false;
    type End = fn(&mut World, CallId);
    let ends: [(End, Reason); 3] = [
        (|world, call| world.client.cancel(world.now, call), Reason::Cancelled),
        (|world, _| world.pass(700_000), Reason::FirstByteTimeout),
        (|world, _| world.client.close(world.now), Reason::Closed),
    ];
    for (end, reason) in ends {
        let call = world.call();
        let (_, request) = world.request();
        assert!(request.body.is_some());
        end(&mut world, call);
        world.drain();
        let failure = world.failure(call);
        assert_eq!((failure.reason, failure.outcome, failure.retry_safe), (reason, Outcome::NotSent, true));
        world.requests.clear();
    }
}

#[test]
fn a_call_whose_request_reached_fetch_may_have_run() {
    let mut world = World::connected(options());
    world.sends = false;
    let call = world.call();
    let (post, _) = world.request();
    world.sent(post);
    world.client.cancel(world.now, call);
    world.drain();
    assert_eq!(world.failure(call).outcome, Outcome::Unknown);
}

#[test]
fn a_call_that_goes_on_with_another_clients_stream_was_sent_by_that_one() {
    type End = fn(&mut World, CallId);
    let ends: [(End, Reason); 3] = [
        (|world, call| world.client.cancel(world.now, call), Reason::Cancelled),
        (|world, _| world.pass(10_000), Reason::DeadlineExceeded),
        (|world, _| world.client.close(world.now), Reason::Closed),
    ];
    for (end, reason) in ends {
        let mut world = World::connected(Options { max_concurrent: Some(2.0), ..options() });
        world.streaming(); // every connection that calls may have is in use
        let call = world.call_with(CallSpec {
            method: "tools/call".to_string(),
            resumption_token: Some("k1".to_string()),
            timeouts: TimeoutOptions { deadline: Some(10_000.0), ..TimeoutOptions::default() },
            ..CallSpec::default()
        });
        assert!(world.requests.is_empty());
        end(&mut world, call);
        world.drain();
        let failure = world.failure(call);
        assert_eq!((failure.reason, failure.outcome, failure.retry_safe), (reason, Outcome::Unknown, false));
    }
}

#[test]
fn an_attempt_to_send_a_call_again_has_the_status_and_the_result_that_it_had() {
    type Come = fn(&mut World, ExchangeId);
    let cases: [(Come, Option<u16>, AttemptResult); 3] = [
        (|world, post| world.cut(post), None, AttemptResult::NetworkError),
        (
            |world, post| {
                world.head(post, 403, "", None);
                world.end(post);
            },
            Some(403),
            AttemptResult::Refused,
        ),
        (
            |world, post| {
                world.head(post, 200, SSE, None);
                world.cut(post);
            },
            Some(200),
            AttemptResult::Empty,
        ),
    ];
    for (come, status, result) in cases {
        let mut world = World::connected(options());
        let call = world.safe_call();
        let (post, _) = world.request();
        world.head(post, 200, SSE, None);
        world.cut(post);
        while world.is_pending(call) {
            let (_, post, _) = world.next_request();
            come(&mut world, post);
        }
        let attempt = &world.failure(call).diagnostics.attempts[0];
        assert_eq!((attempt.status, attempt.result), (status, result));
    }
}
