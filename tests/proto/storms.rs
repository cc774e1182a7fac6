//! Hostile pace: storms, floods, endless work; what is lost or doubled under it; sleep.

use std::time::Duration;

use crate::world::{header, note, options, result, World, SSE};
use landfall::proto::{Event, GapKind, HttpRequest, Input, Method, Options, Reason};

fn body_of(request: &HttpRequest) -> &str {
    request.body.as_deref().unwrap_or_default()
}

/// A wake-up after the machine slept: the clock jumps, and nothing was delivered in between.
fn sleep(world: &mut World, ms: u64) {
    world.now = world.now + Duration::from_millis(ms);
}

fn wake(world: &mut World) {
    world.client.handle_input(world.now, Input::Timeout);
    world.drain();
}

/// Seconds of real time: for the ratio of two, never for a bound.
#[allow(clippy::disallowed_methods)]
fn took(work: impl FnOnce()) -> f64 {
    let start = std::time::Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// An event without an id is "new" at every resume: barren = 0, so `retry: 1` sets the pace and every clock but the
/// deadline is re-armed by the same event.
#[test]
fn a_resume_that_does_not_move_the_cursor_is_barren_whatever_it_repeats() {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    world.body(post, "id: 1\nretry: 1\ndata:\n\n");
    world.end(post);
    let start = world.now;
    let mut gets = 0;
    while world.now < start + Duration::from_secs(10) && gets < 5_000 {
        let (_, get, _) = world.next_request();
        gets += 1;
        world.head(get, 200, SSE, None);
        world.body(get, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n");
        world.end(get);
    }
    assert!(gets < 100, "{gets} resumes in {} ms", world.now.since(start).as_millis());
}

/// The same with a new id each time: what a server may do for ever at the price of one event per request.
#[test]
fn a_server_that_closes_after_each_new_event_with_retry_0_makes_no_storm() {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    world.body(post, "id: 1\nretry: 0\ndata:\n\n");
    world.end(post);
    let start = world.now;
    let mut gets = 0;
    while world.now < start + Duration::from_secs(10) && gets < 5_000 {
        let (_, get, _) = world.next_request();
        gets += 1;
        world.head(get, 200, SSE, None);
        world.body(get, &note(&format!("e{gets}"), "x"));
        world.end(get);
    }
    assert!(gets < 100, "{gets} resumes in {} ms", world.now.since(start).as_millis());
}

/// A store that gives new ids to what it replays: the question that the user thinks about is no news each time.
#[test]
fn a_question_that_is_open_and_comes_again_under_other_ids_is_nothing_new() {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    let question = r#"data: {"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}"#;
    world.body(post, &format!("id: 1\nretry: 1\n{question}\n\n"));
    world.end(post);
    let start = world.now;
    let mut gets = 0;
    while world.now < start + Duration::from_secs(10) {
        let (_, get, _) = world.next_request();
        gets += 1;
        world.head(get, 200, SSE, None);
        world.body(get, &format!("id: r{gets}\n{question}\n\n"));
        world.end(get);
    }
    assert_eq!(world.questions.len(), 1);
    assert!(gets < 10, "{gets} resumes in {} ms", world.now.since(start).as_millis());
}

/// Every `ping` of the server's is a POST of ours, at once and beside all limits.
#[test]
fn a_flood_of_the_servers_pings_makes_no_flood_of_posts() {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    let pings: String = (0..1_000)
        .map(|n| format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"ping\"}}\n\n"))
        .collect();
    world.body(post, &pings);
    assert!(
        world.requests.len() <= 32,
        "{} POSTs under way, limits.maxConcurrent is 32",
        world.requests.len()
    );
}

/// Quadratic: each broken event is compared with all broken ones before it, and all are kept (`broken` never passes
/// through `advance`, which bounds the blocks).
#[test]
fn broken_events_cost_linear_time() {
    let time = |count: usize| {
        let mut world = World::connected(options());
        let (_, _, post) = world.streaming();
        let text: String = (0..count).map(|n| format!("id: {n:07}\ndata: x\n\n")).collect();
        took(|| world.body(post, &text))
    };
    let best = |count| (0..3).map(|_| time(count)).fold(f64::INFINITY, f64::min);
    let (small, large) = (best(2_000), best(128_000));
    assert!(
        large < small * 1_500.0,
        "64 times the bytes take {:.1} times as long ({small:.3} s, {large:.3} s)",
        large / small
    );
}

/// Quadratic: each question is compared with all open ones, and there is no bound.
#[test]
fn questions_cost_linear_time() {
    let time = |count: usize| {
        let mut world = World::connected(options());
        let (_, _, post) = world.streaming();
        let text: String = (0..count)
            .map(|n| format!("data: {{\"jsonrpc\":\"2.0\",\"id\":\"{n:07}\",\"method\":\"m\"}}\n\n"))
            .collect();
        took(|| world.body(post, &text))
    };
    let best = |count| (0..3).map(|_| time(count)).fold(f64::INFINITY, f64::min);
    let (small, large) = (best(2_000), best(128_000));
    assert!(
        large < small * 1_500.0,
        "64 times the bytes take {:.1} times as long ({small:.3} s, {large:.3} s)",
        large / small
    );
}

/// `on_idle` asks for a free connection, the race that it plans does not: bodies silent at one instant all see the
/// same one.
#[test]
fn races_do_not_pass_max_concurrent() {
    let mut world = World::connected(Options { max_concurrent: Some(5.0), ..options() });
    for n in 0..3 {
        let (_, _, post) = world.streaming();
        world.body(post, &note(&format!("{n}/1"), "x"));
    }
    world.pass(45_000);
    let open = world.client.load().exchanges;
    assert!(open <= 5, "{open} requests and bodies are open");
}

/// check_gap is not asked for a response: the events before it that were evicted are lost without a word.
#[test]
fn events_lost_before_the_answer_are_a_gap() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    for n in 1..=3 {
        world.body(post, &note(&format!("k/{n}"), "x"));
    }
    world.cut(post);
    let (_, get, _) = world.next_request();
    world.head(get, 200, SSE, None);
    world.body(get, &format!("id: k/9\n{}", result(&id)));
    assert!(world.answer(call).contains("ok"));
    assert!(world.names().contains(&"gap"), "k/4 to k/8 were lost, nothing said so: {:?}", world.names());
}

/// A redelivered event (its handler failed) makes the numbers fall and rise again on a live stream: "irregular" for
/// ever, and later gaps are not seen.
#[test]
fn an_event_that_came_again_does_not_blind_the_gap_watch() {
    let mut world = World::connected(options());
    let (call, _, post) = world.handling();
    for n in 1..=5 {
        world.body(post, &note(&format!("k/{n}"), "x"));
    }
    for (n, key) in world.keys.clone().into_iter().enumerate() {
        world.handled(call, key, n != 2); // the handler of k/3 fails
    }
    world.cut(post);
    let (_, get, request) = world.next_request();
    assert_eq!(header(&request, "last-event-id"), Some("k/2"));
    world.head(get, 200, SSE, None);
    world.keys.clear();
    for n in 3..=9 {
        world.body(get, &note(&format!("k/{n}"), "x"));
    }
    for key in world.keys.clone() {
        world.handled(call, key, true);
    }
    world.cut(get);
    let (_, get, request) = world.next_request();
    assert_eq!(header(&request, "last-event-id"), Some("k/9"));
    world.head(get, 200, SSE, None);
    world.body(get, &note("k/20", "x"));
    let certain = world
        .events
        .iter()
        .any(|(_, e)| matches!(e, Event::Gap { kind: GapKind::Missing, certain: true, .. }));
    assert!(certain, "k/10 to k/19 are missing: {:?}", world.names());
}

/// Progress that came on another call's stream is the owner's event: the stream it came on waits for no report of it.
#[test]
fn progress_of_another_call_holds_no_cursor() {
    let mut world = World::connected(options());
    let (owner, owner_id, _) = world.handling();
    let (_, _, stream) = world.handling();
    world.body(stream, &format!(
        "id: 1\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":{owner_id},\"progress\":1}}}}\n\n"
    ));
    assert!(world
        .events
        .iter()
        .any(|(call, event)| { *call == Some(owner) && matches!(event, Event::Progress { key: None, .. }) }));
    assert_eq!(world.tokens, ["1"]);
}

/// `broken` counts different events together and is never reset: an event that was broken once and healed, and a
/// *first* broken copy of another, end the call.
#[test]
fn a_response_to_nobody_that_each_resume_repeats_is_nothing_new() {
    let mut world = World::connected(options());
    let (call, _, post) = world.streaming();
    let foreign = "id: e1\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"nobody's\",\"result\":{}}\n\n";
    world.body(post, foreign);
    world.cut(post);
    let mut gets = 0;
    while world.is_pending(call) {
        let (_, get, _) = world.next_request();
        gets += 1;
        assert!(gets < 200, "it goes on for ever");
        world.head(get, 200, SSE, None);
        world.body(get, foreign);
        world.cut(get);
    }
    assert_eq!(world.failure(call).reason, Reason::RecoveryExhausted);
}

#[test]
fn polite_closes_with_retry_0_and_nothing_but_new_ids_end_by_recovery_ms() {
    let mut world = World::connected(options());
    let (call, _, mut post) = world.streaming();
    world.body(post, "id: p0\nretry: 0\ndata:\n\n");
    let start = world.now;
    let mut n = 0;
    while world.is_pending(call) {
        world.end(post);
        if !world.is_pending(call) {
            break;
        }
        n += 1;
        let Some(next) = next_or_end(&mut world, call) else { break };
        post = next;
        world.head(post, 200, SSE, None);
        world.body(post, &format!("id: p{n}\ndata:\n\n"));
    }
    assert_eq!(world.failure(call).reason, Reason::RecoveryExhausted);
    assert!(world.now.since(start) < Duration::from_secs(180));
}

/// The next request, or none where the call ends before.
fn next_or_end(world: &mut World, call: landfall::proto::CallId) -> Option<landfall::proto::ExchangeId> {
    while world.requests.is_empty() && world.is_pending(call) {
        world.pass(50);
    }
    world.requests.pop_front().map(|(exchange, _)| exchange)
}

#[test]
fn a_second_broken_event_is_not_the_second_copy_of_the_first() {
    let mut world = World::connected(options());
    let (call, _, post) = world.streaming();
    world.body(post, &(note("1", "a") + "id: 2\ndata: {\n\n"));
    world.cut(post);
    let (_, get, _) = world.next_request();
    world.head(get, 200, SSE, None);
    world.body(get, &(note("2", "b") + &note("3", "c") + "id: 4\ndata: {\n\n"));
    world.cut(get);
    assert!(world.is_pending(call), "event 4 was broken once: {:?}", world.failure(call).reason);
}

/// The connection's error comes before the late timer: the whole sleep is charged to callMs.
#[test]
fn a_sleep_is_not_charged_to_call_ms_when_the_error_comes_before_the_timer() {
    let mut world = World::connected(options());
    let (call, _, post) = world.streaming();
    world.body(post, &note("1", "a"));
    sleep(&mut world, 200_000);
    world.cut(post);
    wake(&mut world);
    let (_, get, _) = world.next_request();
    world.head(get, 200, SSE, None);
    wake(&mut world);
    assert!(world.is_pending(call), "{:?}", world.failure(call).reason);
}

/// firstByteMs (= callMs) counts the sleep that callMs forgives.
#[test]
fn a_sleep_before_the_headers_is_not_charged_to_first_byte_ms() {
    let mut world = World::connected(options());
    let call = world.call();
    world.requests.clear();
    sleep(&mut world, 300_000);
    wake(&mut world);
    assert!(world.is_pending(call), "{:?}", world.failure(call).reason);
}

/// Budget::forgive moves `since` into the future where the budget was re-armed after the sleep: callMs then lasts
/// longer by the sleep.
#[test]
fn a_sleep_does_not_lengthen_call_ms() {
    let mut world = World::connected(options());
    let (call, _, post) = world.streaming();
    world.streaming(); // another call, whose timers are late
    sleep(&mut world, 300_000);
    world.body(post, &note("1", "a")); // re-arms callMs
    wake(&mut world); // the late timer
    for _ in 0..5 {
        world.pass(30_000);
        if world.is_pending(call) {
            world.body(post, ": hi\n\n");
        }
    }
    assert!(!world.is_pending(call), "150 s without a message");
}

/// `cause` is kept from a loss that a re-issue healed.
#[test]
fn a_loss_that_was_healed_is_not_the_reason_of_a_later_failure() {
    let mut world = World::connected(options());
    let call = world.call();
    let (post, _) = world.request();
    world.failed(post, "ECONNREFUSED");
    let (_, post, request) = world.next_request();
    assert_eq!(request.method, Method::Post);
    world.head(post, 200, SSE, None);
    let mut n = 0;
    while world.is_pending(call) {
        n += 1;
        world.body(post, &note(&n.to_string(), "x"));
        world.pass(30_000);
    }
    assert_eq!(world.failure(call).reason, Reason::DeadlineExceeded, "a healthy stream met its deadline");
}

#[test]
fn a_loss_that_was_healed_is_not_the_reason_of_an_exhausted_recovery() {
    let mut world = World::connected(options());
    let call = world.call();
    let (post, _) = world.request();
    world.failed(post, "ECONNREFUSED");
    let (_, post, _) = world.next_request();
    world.head(post, 200, SSE, None);
    world.body(post, &note("1", "x"));
    world.cut(post);
    while world.is_pending(call) {
        world.pass(100);
        while let Some((exchange, _)) = world.requests.pop_front() {
            world.head(exchange, 503, "", None);
            world.end(exchange);
        }
    }
    assert_eq!(world.failure(call).reason, Reason::RecoveryExhausted);
}

/// `probe_unanswered` is kept for ever: one lost ping, an hour after an outage, is taken for the second in a row.
#[test]
fn a_probe_that_fails_once_long_after_an_outage_proves_nothing() {
    let mut world = World::connected(options());
    world.streaming();
    world.pass(45_000);
    let (ping, _) = world.request();
    world.cut(ping);
    let (_, ping, _) = world.next_request();
    world.cut(ping); // twice: dead
    world.requests.clear();
    world.pass(3_600_000);
    let (call, _, post) = world.streaming(); // HTTP is answered
    world.body(post, ": hi\n\n");
    world.pass(45_000);
    let (ping, request) = world.request();
    assert!(body_of(&request).contains("\"ping\""));
    world.cut(ping);
    assert!(world.is_pending(call), "one unanswered probe ended it as {:?}", world.failure(call).reason);
}

/// Found by the simulation: attempts beside a silent body that fail are in vain too, and after them `retry: 1` set the
/// pace as if they had not been made.
#[test]
fn attempts_beside_a_silent_body_count_as_made_in_vain() {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    world.body(post, &format!("retry: 1\n{}", note("1", "a")));
    world.pass(45_000);
    for _ in 0..3 {
        let (_, get) = next_get(&mut world);
        world.cut(get);
    }
    let (_, get) = next_get(&mut world);
    world.head(get, 409, "", None); // the server holds the silent body, which is given up
    let (wait, _) = next_get(&mut world);
    assert!(wait >= 3_000.0, "our own backoff, not the hint: {wait}");
}

fn next_get(world: &mut World) -> (f64, landfall::proto::ExchangeId) {
    let start = world.now;
    loop {
        let (_, exchange, request) = world.next_request();
        if request.method == Method::Get {
            return (world.now.as_millis() - start.as_millis(), exchange);
        }
    }
}

/// Found by the simulation: a broken copy shows as well as a whole one that its stream counts with this prefix.
#[test]
fn an_id_that_came_with_a_broken_event_makes_a_shared_counter_known() {
    let mut world = World::connected(options());
    let (_, other_id, other) = world.streaming();
    let (_, _, post) = world.streaming();
    for n in 1..=3 {
        world.body(post, &note(&n.to_string(), "x"));
    }
    world.cut(post);
    world.body(other, &format!("id: 4\ndata: {{\n\n{}", result(&other_id)));
    let (_, get) = next_get(&mut world);
    world.head(get, 200, SSE, None);
    world.body(get, &note("6", "x"));
    assert!(!world.names().contains(&"gap"), "the other stream spent the numbers");
}
