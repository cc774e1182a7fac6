//! Sleep, pauses, and what a clock starts from after them.

use std::time::Duration;

use crate::world::{id_of, note, options, result, World, JSON, SSE};
use landfall::proto::{CallSpec, Input, Options, Reason, TimeoutOptions};

fn timeouts(timeouts: TimeoutOptions) -> Options {
    Options { timeouts, ..options() }
}

fn sleep(world: &mut World, seconds: u64) {
    world.now = world.now + Duration::from_secs(seconds);
    world.client.handle_input(world.now, Input::Timeout);
    world.drain();
    world.pass(0); // The timer was late: what has come is read first.
}

#[test]
fn a_deadline_that_passed_in_a_sleep_is_put_off_once_and_not_by_the_next_sleep() {
    let mut world = World::connected(options());
    let (call, _, post) = world.streaming();
    world.body(post, ": hi\n\n");
    sleep(&mut world, 3_600);
    assert!(world.is_pending(call));
    sleep(&mut world, 3_600);
    assert!(!world.is_pending(call));
}

#[test]
fn call_ms_that_was_spent_before_a_sleep_stays_spent() {
    let mut world = World::connected(options());
    let (call, _, post) = world.streaming();
    for _ in 0..4 {
        world.pass(25_000);
        world.body(post, ": heartbeat\n\n");
    }
    // 100 s of callMs are spent, and the deadline is still far away.
    sleep(&mut world, 200);
    world.body(post, ": heartbeat\n\n");
    assert!(world.is_pending(call));
    let start = world.now;
    while world.is_pending(call) {
        world.pass(1_000);
        if world.is_pending(call) {
            world.body(post, ": heartbeat\n\n");
        }
    }
    assert_eq!(world.failure(call).reason, Reason::CallTimeout);
    let left = world.now.since(start).as_secs();
    assert!((5..=30).contains(&left), "20 s were left, give or take what the timer does not tell: {left}");
}

#[test]
fn a_stream_has_the_whole_of_idle_ms_again_after_a_sleep() {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.pass(40_000);
    sleep(&mut world, 300);
    world.pass(44_900);
    assert!(!world.names().contains(&"suspect") && world.requests.is_empty());
    world.pass(200);
    assert!(world.names().contains(&"suspect"));
}

#[test]
fn a_stream_has_the_whole_of_idle_ms_again_after_its_consumer_was_slow() {
    let mut world = World::connected(Options { max_pending_events: Some(1.0), ..options() });
    let (call, _, post) = world.handling();
    world.body(post, &note("1", "a"));
    assert_eq!(world.paused, [post]);
    world.pass(100_000);
    assert!(!world.names().contains(&"suspect"), "a body that is not read is not silent");
    let key = world.keys[0];
    world.handled(call, key, true);
    assert!(world.paused.is_empty());
    world.pass(44_999);
    assert!(!world.names().contains(&"suspect"));
    world.pass(1);
    assert!(world.names().contains(&"suspect"));
}

#[test]
fn the_bytes_of_events_in_hand_pause_a_body_as_their_number_does() {
    let first = note("1", "a");
    let data = first.len() - "id: 1\ndata: \n\n".len();
    for (most, paused) in [(data, true), (data + 1, false)] {
        let mut world = World::connected(Options { max_pending_bytes: Some(most as f64), ..options() });
        let (call, _, post) = world.handling();
        world.body(post, &first);
        assert_eq!(world.paused.contains(&post), paused, "{most}");
        let key = world.keys[0];
        world.handled(call, key, true);
        assert!(world.paused.is_empty());
    }
}

#[test]
fn a_ping_has_connect_ms_for_its_whole_answer_and_not_for_its_head_alone() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.pass(45_000);
    let (ping, request) = world.request();
    assert!(request.body.unwrap().contains("\"ping\""));
    world.pass(1_000);
    world.head(ping, 200, JSON, None);
    world.pass(3_999);
    assert_eq!(world.client.metrics(false).probes.timed_out, 0);
    world.pass(1);
    assert_eq!(world.client.metrics(false).probes.timed_out, 1);
    assert!(world.aborted.contains(&ping));
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_resumes_time_for_headers_is_doubled_up_to_idle_ms() {
    let mut world = World::connected(timeouts(TimeoutOptions {
        connect: Some(5_000.0),
        idle: Some(15_000.0),
        recovery: Some(400_000.0),
        call: Some(400_000.0),
        ..TimeoutOptions::default()
    }));
    let (_, _, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.cut(post);
    for (miss, time) in [5_000, 10_000, 15_000, 15_000].into_iter().enumerate() {
        let get = loop {
            let (_, exchange, request) = world.next_request();
            if request.body.is_none() {
                break exchange;
            }
            world.cut(exchange);
        };
        world.requests.clear();
        world.pass_cut_off(time - 100);
        assert!(!world.aborted.contains(&get), "{miss}");
        world.pass_cut_off(100);
        assert!(world.aborted.contains(&get), "{miss}");
    }
}

#[test]
fn misses_before_some_progress_do_not_count_after_it() {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.cut(post);
    let (_, missed, _) = world.next_request();
    world.pass_cut_off(5_000);
    assert!(world.aborted.contains(&missed));
    let (_, get, _) = world.next_request();
    world.head(get, 200, SSE, None);
    world.body(get, &note("2", "b"));
    world.cut(get);
    let (_, get, _) = world.next_request();
    world.pass_cut_off(4_900);
    assert!(!world.aborted.contains(&get));
    world.pass_cut_off(100);
    assert!(world.aborted.contains(&get), "connectMs, not twice that");
}

#[test]
fn only_the_first_resume_without_headers_is_made_again_at_once() {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.cut(post);
    let (_, first, _) = world.next_request();
    world.pass_cut_off(5_000);
    assert!(world.aborted.contains(&first));
    let (wait, second, _) = world.next_request();
    assert!(wait < 1.0, "{wait}");
    world.pass_cut_off(10_000);
    assert!(world.aborted.contains(&second));
    let (wait, _, request) = world.next_request();
    assert!(request.body.is_none() && wait >= 375.0, "{wait}");
}

#[test]
fn a_stream_that_we_gave_up_for_its_silence_is_resumed_at_once() {
    // One connection for callers: no resume can be opened beside the silent body.
    let mut world = World::connected(Options { max_concurrent: Some(2.0), ..options() });
    let (call, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.pass(45_000);
    assert_eq!(world.aborted, [post]);
    let (wait, get, request) = world.next_request();
    assert!(request.body.is_none() && wait == 0.0, "{wait}");
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn progress_that_comes_on_the_stream_of_another_call_keeps_its_own_call_alive() {
    let mut world = World::connected(options());
    let (quiet, id, own) = world.streaming();
    let (other, _, stream) = world.streaming();
    for n in 1..=8 {
        world.pass(40_000);
        world.body(own, ": heartbeat\n\n");
        let params = format!(r#"{{"progressToken":{id},"progress":{n}}}"#);
        let method = "notifications/progress";
        world.body(
            stream,
            &format!("data: {{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params}}}\n\n"),
        );
    }
    assert!(world.is_pending(quiet), "five minutes");
    assert!(world.is_pending(other));
    world.body(own, &result(&id));
    assert!(world.answer(quiet).contains("ok"));
}

#[test]
fn a_call_that_timed_out_without_progress_makes_the_next_one_ask_the_session_first() {
    let mut world = World::connected(options());
    let hung = world.call_with(CallSpec {
        method: "tools/call".to_string(),
        timeouts: TimeoutOptions { call: Some(1_000.0), idle: Some(8_000.0), ..TimeoutOptions::default() },
        ..CallSpec::default()
    });
    let (post, _) = world.request();
    world.head(post, 200, SSE, None);
    world.pass(1_000);
    assert_eq!(world.failure(hung).reason, Reason::CallTimeout);
    world.take_cancelled();
    let next = world.call();
    let (ping, request) = world.request();
    assert!(request.body.as_deref().unwrap().contains("\"ping\"") && world.requests.is_empty());
    world.reply(ping, &request, "{}");
    let (post, request) = world.request();
    let id = id_of(&request);
    world.head(post, 200, SSE, None);
    world.body(post, &result(&id));
    assert!(world.answer(next).contains("ok"));
}
