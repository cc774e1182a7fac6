//! The clocks of a call, in virtual time.

use crate::world::{note, options, result, World, SSE};
use landfall::proto::{CallSpec, Config, Options, Reason, TimeoutOptions};

fn timeouts(set: impl FnOnce(&mut TimeoutOptions)) -> Options {
    let mut timeouts = TimeoutOptions::default();
    set(&mut timeouts);
    Options { timeouts, ..options() }
}

#[test]
fn no_headers_within_first_byte_ms_fails_the_call_and_tells_the_server() {
    let mut world = World::connected(timeouts(|t| t.first_byte = Some(2_000.0)));
    let call = world.call();
    let (post, _) = world.request();
    world.pass(1_999);
    assert!(world.is_pending(call));
    world.pass(1);
    assert_eq!(world.failure(call).reason, Reason::FirstByteTimeout);
    assert_eq!(world.aborted, [post]);
    assert!(world.request().1.body.unwrap().contains("notifications/cancelled"));
}

#[test]
fn progress_extends_call_ms_and_never_the_deadline() {
    let mut world = World::connected(timeouts(|t| {
        t.call = Some(2_000.0);
        t.recovery = Some(2_000.0);
        t.deadline = Some(5_000.0);
        t.idle = Some(60_000.0);
    }));
    let (call, _, post) = world.streaming();
    for n in 0..4 {
        world.pass(1_000);
        world.body(post, &note(&n.to_string(), "still working"));
        assert!(world.is_pending(call));
    }
    world.pass(1_000);
    assert_eq!(world.failure(call).reason, Reason::DeadlineExceeded);
}

#[test]
fn comments_keep_the_stream_alive_and_not_the_call() {
    let mut world = World::connected(timeouts(|t| t.idle = Some(20_000.0)));
    let (call, _, post) = world.streaming();
    for _ in 0..11 {
        world.pass(10_000);
        world.body(post, ": heartbeat\n\n");
        assert!(world.is_pending(call));
    }
    world.pass(10_000);
    assert_eq!(world.failure(call).reason, Reason::CallTimeout);
    assert!(!world.names().contains(&"suspect"));
}

#[test]
fn a_byte_clears_the_suspicion_and_call_ms_goes_on_where_it_stopped() {
    let mut world = World::connected(options());
    let (call, _, post) = world.streaming();
    world.pass(100_000);
    world.body(post, ": hi\n\n");
    world.pass(44_000);
    world.body(post, ": hi\n\n");
    assert!(world.is_pending(call), "45 s and 44 s of callMs are spent, 55 s of recoveryMs");
    world.pass(32_000);
    assert_eq!(world.failure(call).reason, Reason::CallTimeout);
}

#[test]
fn a_resume_that_gets_no_headers_is_given_twice_the_time_at_each_miss() {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.cut(post);
    let (_, first, _) = world.next_request();
    world.pass_cut_off(4_900);
    assert!(!world.aborted.contains(&first));
    world.pass_cut_off(100);
    assert!(world.aborted.contains(&first));
    let (_, second, _) = world.next_request();
    world.pass_cut_off(9_900);
    assert!(!world.aborted.contains(&second));
    world.pass_cut_off(100);
    assert!(world.aborted.contains(&second));
}

#[test]
fn neither_clock_runs_while_the_server_waits_for_our_answer() {
    let mut world = World::connected(timeouts(|t| t.idle = Some(30_000.0)));
    let (call, id, post) = world.streaming();
    world.body(post, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\"}\n\n");
    for _ in 0..20 {
        world.pass(15_000);
        world.body(post, ": heartbeat\n\n");
    }
    assert!(world.is_pending(call), "five minutes with a question open");
    world.client.answer(world.now, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    world.drain();
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn the_deadline_counts_from_the_call_and_holds_in_every_state() {
    let mut world = World::connected(options());
    let (call, _, post) = world.streaming();
    world.body(post, "retry: 590000\nid: 1\ndata:\n\n");
    world.end(post);
    let (waited, get, _) = world.next_request();
    world.head(get, 200, SSE, None);
    world.pass(599_999 - waited.ceil() as u64);
    assert!(world.is_pending(call));
    world.pass(2);
    assert_eq!(world.failure(call).reason, Reason::DeadlineExceeded);
}

#[test]
fn late_and_spurious_wakes_do_nothing() {
    let mut world = World::connected(options());
    let (call, _, _) = world.streaming();
    for _ in 0..10 {
        world.client.handle_input(world.now, landfall::proto::Input::Timeout);
        world.drain();
    }
    assert!(world.is_pending(call));
    assert_eq!(world.names(), ["sent", "open"]);
}

#[test]
fn clocks_of_one_call_are_its_own() {
    let mut world = World::connected(options());
    let quick = world.call_with(CallSpec {
        method: "tools/call".to_string(),
        timeouts: TimeoutOptions { call: Some(1_000.0), ..TimeoutOptions::default() },
        ..CallSpec::default()
    });
    let slow = world.call();
    world.pass(1_000);
    assert_eq!(
        world.failure(quick).reason,
        Reason::FirstByteTimeout,
        "firstByteMs follows callMs and is judged first"
    );
    assert!(world.is_pending(slow));
}

fn refused(set: impl FnOnce(&mut TimeoutOptions)) -> landfall::proto::ConfigError {
    Config::new(timeouts(set)).expect_err("these options contradict each other")
}

#[test]
fn options_that_contradict_each_other_are_refused_and_both_are_named() {
    let error = refused(|t| {
        t.connect = Some(51.0);
        t.idle = Some(50.0);
    });
    assert_eq!(error.option, "connectMs");
    assert!(
        error.message.contains("connectMs (51 ms)") && error.message.contains("idleMs (50 ms)"),
        "{}",
        error.message
    );
    let error = refused(|t| {
        t.call = Some(9.0);
        t.recovery = Some(8.0);
    });
    assert!(error.message.contains("callMs (9 ms) must be at most recoveryMs (8 ms)"), "{}", error.message);
    let error = refused(|t| {
        t.recovery = Some(10.0);
        t.deadline = Some(9.0);
    });
    assert!(
        error.message.contains("recoveryMs (10 ms) must be at most deadlineMs (9 ms)"),
        "{}",
        error.message
    );
    let error = refused(|t| {
        t.call = Some(9.0);
        t.deadline = Some(5.0);
    });
    assert!(error.message.contains("callMs (9 ms) must be at most deadlineMs (5 ms)"), "{}", error.message);
}

#[test]
fn values_that_no_clock_can_have_are_refused() {
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = refused(|t| t.idle = Some(value));
        assert_eq!(error.option, "idleMs", "{value}");
    }
    let zero = Options { base_ms: Some(0.0), ..options() };
    assert_eq!(Config::new(zero).expect_err("no wait at all").option, "retry.baseMs");
    let one = Options { max_concurrent: Some(1.0), ..options() };
    assert_eq!(Config::new(one).expect_err("a call needs a slot").option, "limits.maxConcurrent");
}

#[test]
fn a_clock_that_is_not_set_ends_no_call_before_one_that_is() {
    type Set = fn(&mut TimeoutOptions);
    let rows: [(Set, bool, u64, Reason); 5] = [
        (|t| t.deadline = Some(10_000.0), false, 10_000, Reason::DeadlineExceeded),
        (|t| t.deadline = Some(10_000.0), true, 10_000, Reason::DeadlineExceeded),
        (|t| t.deadline = Some(130_000.0), true, 120_000, Reason::CallTimeout),
        (|t| t.recovery = Some(10_000.0), false, 10_000, Reason::FirstByteTimeout),
        (|t| t.call = Some(10_000.0), true, 10_000, Reason::CallTimeout),
    ];
    for (set, opens, ends, reason) in rows {
        let mut world = World::connected(timeouts(set));
        let call = world.call();
        let (post, _) = world.request();
        if opens {
            world.head(post, 200, SSE, None);
        }
        for _ in 0..ends / 1_000 {
            assert!(world.is_pending(call));
            if opens {
                world.body(post, ": the server lives\n\n");
            }
            world.pass(1_000);
        }
        assert_eq!(world.failure(call).reason, reason, "{ends}");
    }
}

#[test]
fn a_message_of_a_clock_has_its_number_and_whose_that_is() {
    type Set = fn(&mut TimeoutOptions);
    let rows: [(Set, &str); 5] = [
        (|t| t.deadline = Some(10_000.0), "no answer within deadlineMs, 10 000 ms (set by the caller)"),
        (|_| {}, "no response headers within firstByteMs, 120 000 ms (the default)"),
        (|t| t.call = Some(4_500.0), "no response headers within firstByteMs, 4 500 ms (follows callMs)"),
        (|t| t.recovery = Some(900.0), "no response headers within firstByteMs, 900 ms (follows recoveryMs)"),
        (
            |t| t.first_byte = Some(2_000_000.0),
            "no progress or message within callMs, 120 000 ms (the default)",
        ),
    ];
    for (set, said) in rows {
        let mut world = World::connected(timeouts(set));
        let call = world.call();
        world.pass(600_000);
        let failure = world.failure(call);
        assert!(failure.text.ends_with(said), "{}", failure.text);
    }
}

#[test]
fn a_timer_that_is_very_late_means_sleep_which_only_the_deadline_counted() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, ": hi\n\n");
    world.now = world.now + std::time::Duration::from_secs(3_600);
    world.client.handle_input(world.now, landfall::proto::Input::Timeout);
    world.drain();
    assert!(world.is_pending(call), "the deadline passed in the sleep: one more attempt first");
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
    let (call, _, post) = world.streaming();
    world.body(post, ": hi\n\n");
    world.now = world.now + std::time::Duration::from_secs(3_600);
    world.client.handle_input(world.now, landfall::proto::Input::Timeout);
    world.drain();
    world.pass(5_000);
    assert!(!world.is_pending(call), "and only one");
}

#[test]
fn a_call_is_told_the_clocks_in_force_where_none_is_set_as_they_follow_the_others() {
    type Set = fn(&mut TimeoutOptions);
    let none: Set = |_| {};
    let cases: [(Set, Set, u64, u64); 9] = [
        (none, none, 5_000, 600_000),
        (|t| t.connect = Some(7.0), none, 7, 600_000),
        (|t| t.connect = Some(7.0), |t| t.connect = Some(8.0), 8, 600_000),
        (|t| t.idle = Some(400.0), none, 100, 600_000),
        (|t| t.idle = Some(400.0), |t| t.idle = Some(40.0), 10, 600_000),
        (|t| t.call = Some(600.0), none, 100, 600_000),
        (|t| t.recovery = Some(600.0), none, 100, 600_000),
        (|t| t.deadline = Some(1_200.0), none, 200, 1_200),
        (|t| t.deadline = Some(1_200.0), |t| t.call = Some(300.0), 50, 1_200),
    ];
    for (session, own, connect, deadline) in cases {
        let mut world = World::connected(timeouts(session));
        let mut clocks = TimeoutOptions::default();
        own(&mut clocks);
        let call =
            world.call_with(CallSpec { method: "m".to_string(), timeouts: clocks, ..CallSpec::default() });
        let terms = world.client.terms(call).expect("it has not ended");
        assert_eq!(
            (terms.connect.as_millis(), terms.deadline.as_millis()),
            (connect.into(), deadline.into())
        );
        world.client.cancel(world.now, call);
        assert_eq!(world.client.terms(call), None);
    }
}
