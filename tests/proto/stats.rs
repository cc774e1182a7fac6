//! Metrics: counted where it happens, of fixed size, and reset on request.

use crate::world::{note, options, result, World, SSE};
use landfall::proto::{Histogram, Metrics, Reason};

#[test]
fn a_percentile_is_an_upper_bound_at_most_a_fifth_too_high() {
    let mut histogram = Histogram::default();
    for value in 1..=1_000 {
        histogram.record(f64::from(value));
    }
    for (part, exact) in [(0.5, 500.0), (0.9, 900.0), (0.99, 990.0)] {
        let bound = histogram.percentile(part);
        assert!((exact..=exact * 1.2).contains(&bound), "{part}: {bound}");
    }
    assert_eq!(histogram.percentile(1.0), 1_000.0);
    let mut odd = Histogram::default();
    for value in [f64::NAN, -1.0, 0.0, 1e300] {
        odd.record(value);
    }
    assert_eq!(odd.percentile(1.0), 1e300);
    assert_eq!(Histogram::default().percentile(0.99), 0.0);
}

#[test]
fn a_cut_and_resumed_call_and_a_failed_one_are_counted() {
    let mut world = World::connected(options());
    let (_, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.cut(post);
    let (_, get, _) = world.next_request();
    world.head(get, 200, SSE, None);
    world.body(get, &(note("1", "a") + &note("2", "b") + &result(&id)));
    let (_, _, post) = world.streaming();
    world.cut(post);
    let metrics = world.client.metrics(true);
    assert_eq!((metrics.calls, metrics.answered), (2, 1));
    assert_eq!(metrics.failed.get(&Reason::StreamLost), Some(&1));
    assert_eq!(metrics.outcomes.unknown, 1);
    assert_eq!(metrics.drops.network, 2);
    assert_eq!((metrics.events, metrics.duplicates), (4, 1));
    assert_eq!(metrics.resumes.hit, 1);
    assert_eq!((metrics.resumes.tried, metrics.levels.l1.tried, metrics.levels.l1.won), (1, 1, 1));
    assert_eq!(metrics.exhausted, 0, "the failed call had nothing to recover with");
    assert_eq!(world.client.metrics(false), Metrics::default());
}

#[test]
fn the_serialized_shape_is_the_public_one() {
    let mut world = World::connected(options());
    let shape = serde_json::to_value(world.client.metrics(false)).unwrap();
    let mut names: Vec<&str> = shape.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    let expected = [
        "answered",
        "bytes",
        "calls",
        "drops",
        "duplicates",
        "events",
        "exhausted",
        "failed",
        "gaps",
        "histograms",
        "levels",
        "outcomes",
        "polls",
        "probes",
        "reissues",
        "resumes",
        "sessionMismatches",
        "skipped",
    ];
    assert_eq!(names, expected);
    for histogram in ["callMs", "streamMs", "replayed", "recoverMs", "firstByteMs"] {
        for field in ["count", "sum", "p50", "p90", "p99", "max"] {
            assert!(shape["histograms"][histogram][field].is_number(), "{histogram}.{field}");
        }
    }
    assert!(shape["levels"]["L1"]["tried"].is_number() && shape["probes"]["timedOut"].is_number());
}

#[test]
fn an_attempt_counts_when_it_is_made_and_not_when_it_is_planned() {
    let mut world = World::connected(options());
    let (call, _, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.cut(post);
    world.client.cancel(world.now, call);
    world.drain();
    assert!(world.failure(call).diagnostics.attempts.is_empty());
    assert_eq!(world.client.metrics(false).exhausted, 0, "nothing was tried");
    world.requests.clear();
    let (call, _, post) = world.streaming();
    world.body(post, &note("k/1", "a"));
    world.cut(post);
    let (wait, _, _) = world.next_request();
    world.pass(1_000);
    world.client.cancel(world.now, call);
    world.drain();
    let attempts = &world.failure(call).diagnostics.attempts;
    assert_eq!(attempts.len(), 1);
    assert_eq!((attempts[0].wait_ms.round(), attempts[0].cursor.as_deref()), (wait.round(), Some("k/1")));
    assert_eq!(attempts[0].at, world.now.as_millis() - 1_000.0);
    assert_eq!(world.client.metrics(false).exhausted, 1);
}

#[test]
fn a_response_that_comes_too_late_is_dropped_and_counted() {
    let mut world = World::connected(options());
    let (call, id, _) = world.streaming();
    world.client.cancel(world.now, call);
    world.drain();
    world.take_cancelled();
    let (other, _, post) = world.streaming();
    world.body(post, &result(&id));
    assert!(world.is_pending(other));
    let metrics = world.client.metrics(false);
    assert_eq!((metrics.unmatched, metrics.duplicates), (1, 0));
}
