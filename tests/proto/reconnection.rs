//! How often a Client's streams are resumed, and when: `maxRetries` and the scheduler.

use crate::carried::{spec, streaming};
use crate::world::{id_of, note, options, World, JSON, SSE};
use landfall::proto::{HttpRequest, Method, Options, Reason, ResponseHead};

#[test]
fn no_resume_is_made_where_max_retries_is_0_and_at_most_so_many_barren_ones() {
    for (most, gets) in [(0.0, 0), (1.0, 1), (3.0, 3)] {
        let mut world = World::carried(Options { max_retries: Some(most), ..options() });
        let (call, post) = streaming(&mut world, spec("5"));
        world.body(post, &note("e1", "a"));
        world.cut(post);
        let mut made = 0;
        while world.is_pending(call) {
            let (_, exchange, request) = world.next_request();
            if request.method == Method::Get {
                made += 1;
                world.head(exchange, 503, "", None);
            } else {
                let id = id_of(&request);
                world.head(exchange, 200, JSON, None);
                world.body(exchange, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
                world.end(exchange);
            }
        }
        assert_eq!(made, gets);
        let reason = if gets == 0 { Reason::StreamLost } else { Reason::RecoveryExhausted };
        assert_eq!(world.failure(call).reason, reason);
    }
}

#[test]
fn a_scheduler_ends_the_waits_before_resumes_and_no_clock() {
    let mut world = World::carried(Options { scheduler: true, ..options() });
    let (call, post) = streaming(&mut world, spec("5"));
    world.body(post, &note("e1", "a"));
    world.cut(post);
    assert_eq!(world.scheduled.len(), 1);
    let (waiting, wait, attempt) = world.scheduled[0];
    assert_eq!((waiting, attempt), (call, 1));
    assert!(!wait.is_zero());
    world.pass(60_000);
    assert!(world.requests.is_empty(), "only the host ends the wait");
    world.client.reconnect(world.now, call);
    world.drain();
    let (get, _) = world.request();
    world.client.reconnect(world.now, call);
    world.drain();
    assert!(world.requests.is_empty(), "once");
    world.head(get, 200, SSE, None);
    world.body(get, &note("e2", "b"));
    world.cut(get);
    world.pass(120_000);
    assert_eq!(world.failure(call).reason, Reason::RecoveryExhausted, "recoveryMs runs all the same");
}

#[test]
fn a_scheduler_in_a_hurry_passes_no_floor() {
    let mut world = World::carried(Options { scheduler: true, ..options() });
    let (call, post) = streaming(&mut world, spec("5"));
    world.body(post, &note("e1", "a"));
    world.cut(post);
    world.client.reconnect(world.now, call);
    world.drain();
    let (get, _) = world.request();
    let busy = ResponseHead { status: 429, retry_after: Some("7".to_string()), ..ResponseHead::default() };
    world.input_head(get, busy);
    world.client.reconnect(world.now, call);
    world.drain();
    let (wait, get, _) = world.next_request();
    assert!(wait >= 7_000.0, "{wait}");
    world.head(get, 503, "", None);
    world.client.reconnect(world.now, call);
    world.drain();
    let (wait, ..) = world.next_request();
    assert!(wait >= 200.0, "{wait}");
}

/// The rest of the wait before a race, which our own clock had, ended the wait after the drop.
#[test]
fn a_wait_that_the_host_has_takes_the_place_of_the_one_before() {
    let mut world = World::carried(Options { scheduler: true, ..options() });
    let (call, post) = streaming(&mut world, spec("5"));
    world.body(post, &note("e1", "a"));
    world.pass(45_000);
    // It is silent: the host ends the wait before the resume beside it, which gets a 503, and the one after that.
    world.client.reconnect(world.now, call);
    world.drain();
    let (get, _) = world.request();
    world.head(get, 503, "", None);
    world.client.reconnect(world.now, call);
    world.drain();
    assert!(world.requests.is_empty(), "GETs keep their distance");
    world.cut(post);
    world.pass(3_000);
    assert!(world.requests.is_empty(), "the host has not ended the wait");
    world.client.reconnect(world.now, call);
    world.drain();
    world.request();
}

/// It was forgotten, and another was made when the stream fell silent after it.
#[test]
fn the_last_resume_before_call_ms_is_over_is_one_of_them() {
    for (most, more) in [(Some(1.0), 0), (Some(2.0), 1), (None, 1)] {
        let mut world = World::connected(Options { max_retries: most, ..options() });
        let (_, _, post) = world.streaming();
        world.body(post, &note("e1", "a"));
        for _ in 0..2 {
            world.pass(36_000);
            world.body(post, ": still here\n\n");
        }
        let (wait, get, request) = world.next_request();
        assert_eq!((wait, request.method), (43_000.0, Method::Get), "connectMs before callMs is over");
        world.cut(get);
        world.pass(2_000);
        let is_resume = |(_, request): &&(_, HttpRequest)| request.method == Method::Get;
        assert_eq!(world.requests.iter().filter(is_resume).count(), more, "{most:?}");
    }
}
