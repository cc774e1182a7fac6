//! Gaps: certain, likely, order; and no false alarm.

use crate::world::{id_of, note, options, result, safe, World, SSE};
use landfall::proto::{
    CallId, CallSpec, Event, ExchangeId, GapKind, Input, OnGap, Options, Outcome, Reason, ResponseHead,
};

/// A call that saw these ids live, was cut, and was resumed.
fn resumed(world: &mut World, ids: &[&str]) -> (CallId, String, ExchangeId) {
    let (call, id, post) = world.streaming();
    for name in ids {
        world.body(post, &note(name, "x"));
    }
    world.cut(post);
    let (_, get, _) = world.next_request();
    world.head(get, 200, SSE, None);
    (call, id, get)
}

fn gaps(world: &World) -> Vec<(GapKind, bool)> {
    let gap = |(_, event): &(Option<CallId>, Event)| match event {
        Event::Gap { kind, certain, .. } => Some((*kind, *certain)),
        _ => None,
    };
    world.events.iter().filter_map(gap).collect()
}

fn progress(id: &str, token: &str, value: f64) -> String {
    let params = format!(r#"{{"progressToken":{token},"progress":{value}}}"#);
    format!("id: {id}\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{params}}}\n\n")
}

#[test]
fn ids_that_rose_by_one_and_jump_at_a_resume_are_a_certain_gap() {
    let mut world = World::connected(options());
    let (call, id, get) = resumed(&mut world, &["k/1", "k/2", "k/3"]);
    world.body(get, &note("k/7", "x"));
    assert_eq!(gaps(&world), [(GapKind::Missing, true)]);
    assert!(world.events.iter().any(|(_, e)| {
        matches!(e, Event::Gap { before: Some(b), after: Some(a), .. } if b == "k/3" && a == "k/7")
    }));
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"), "on_gap: continue");
    assert_eq!(world.client.metrics(false).gaps, 1);
}

#[test]
fn what_is_no_series_is_no_gap() {
    for (ids, next) in [
        (&["k/1", "k/2"][..], "k/9"),                          // too few
        (&["k/1", "k/2", "k/3"], "k/4"),                       // the next one
        (&["k/1", "k/2", "k/3"], "k/5"),                       // a resume may spend an id on priming
        (&["k/1", "k/3", "k/4", "k/5"], "k/9"),                // it jumped live before
        (&["k/5", "k/15", "k/25", "k/35"], "k/95"),            // big steps
        (&["0d9f-1", "77ab-2", "c3e1-3", "91fe-4"], "aaaa-9"), // uuids
        (&["a", "b", "c"], "z"),                               // no numbers
        (&["k/1", "k/2", "k/3"], "m/9"),                       // another prefix
    ] {
        let mut world = World::connected(options());
        let (_, _, get) = resumed(&mut world, ids);
        world.body(get, &note(next, "x"));
        assert_eq!(gaps(&world), [], "{ids:?} {next}");
    }
}

#[test]
fn a_counter_that_several_streams_share_proves_nothing() {
    let mut world = World::connected(options());
    let (_, _, other) = world.streaming();
    world.body(other, &note("4", "x"));
    let (_, _, get) = resumed(&mut world, &["1", "2", "3"]);
    world.body(other, &note("5", "x"));
    world.body(get, &note("6", "x"));
    assert_eq!(gaps(&world), []);
}

#[test]
fn a_stream_that_has_not_shown_its_ids_may_share_the_counter() {
    let mut world = World::connected(options());
    let (_, _, get) = resumed(&mut world, &["2", "3", "4"]);
    world.streaming();
    world.body(get, &note("9", "x"));
    assert_eq!(gaps(&world), [(GapKind::Missing, false)]);
}

#[test]
fn priming_ids_of_other_streams_count_as_use_of_the_counter() {
    let mut world = World::connected(options());
    let (_, _, other) = world.streaming();
    world.body(other, "id: 1\ndata:\n\n");
    world.body(other, &note("x", "x"));
    let (_, _, get) = resumed(&mut world, &["2", "3", "4"]);
    world.body(get, &note("9", "x"));
    assert_eq!(gaps(&world), []);
}

#[test]
fn progress_that_leaps_across_a_seam_is_a_likely_gap() {
    for (value, leap) in [(4.0, false), (6.0, false), (6.5, true)] {
        let mut world = World::connected(Options { on_gap: OnGap::Fail, ..options() });
        let (call, id, post) = world.streaming();
        for n in 1..=3 {
            world.body(post, &progress(&format!("u{n}x"), &id, f64::from(n)));
        }
        world.cut(post);
        let (_, get, _) = world.next_request();
        world.head(get, 200, SSE, None);
        world.body(get, &progress("u4x", &id, value));
        assert_eq!(gaps(&world).len(), usize::from(leap), "{value}");
        assert!(world.is_pending(call), "only certain gaps are acted on");
    }
}

#[test]
fn a_replay_in_another_order_is_reported() {
    let mut world = World::connected(options());
    let (_, _, get) = resumed(&mut world, &["a", "b", "c"]);
    world.body(get, &(note("b", "x") + &note("a", "x")));
    assert_eq!(gaps(&world), [(GapKind::Order, false)]);
    assert_eq!(world.messages.len(), 3);
}

#[test]
fn on_gap_fails_the_call_or_sends_it_again_where_that_is_safe() {
    for on_gap in [OnGap::Fail, OnGap::Reissue] {
        let mut world = World::connected(Options { on_gap, ..options() });
        let (call, _, get) = resumed(&mut world, &["k/1", "k/2", "k/3"]);
        world.body(get, &note("k/7", "x"));
        assert_eq!(world.failure(call).reason, Reason::Gap);
        assert_eq!(world.failure(call).diagnostics.gaps, 1);
        assert_eq!(world.messages.len(), 3, "nothing after the gap is handed out");
    }
    let mut world = World::connected(Options {
        on_gap: OnGap::Reissue,
        replay: landfall::proto::ReplayOption::Caller,
        ..options()
    });
    let call = world.call_with(CallSpec {
        method: "tools/call".to_string(),
        idempotent: true,
        ..CallSpec::default()
    });
    let (post, _) = world.request();
    world.head(post, 200, SSE, None);
    for id in ["k/1", "k/2", "k/3"] {
        world.body(post, &note(id, "x"));
    }
    world.cut(post);
    let (_, get, _) = world.next_request();
    world.head(get, 200, SSE, None);
    world.body(get, &note("k/9", "x"));
    assert!(world.is_pending(call));
    let (_, _, request) = world.next_request();
    assert!(request.body.is_some());
    assert!(world.names().contains(&"reissued"));
}

#[test]
fn the_applications_own_judgement_is_a_certain_gap() {
    let mut world = World::connected(Options { on_gap: OnGap::Fail, ..options() });
    let (call, _, _) = world.streaming();
    world.client.report_gap(world.now, call);
    world.drain();
    assert_eq!(world.failure(call).reason, Reason::Gap);
}

/// The application is asked when all of the bytes are told: the answer may have been among them.
#[test]
fn a_gap_that_the_application_finds_before_an_answer_in_the_same_bytes_is_told_and_on_gap_decides_about_it() {
    for on_gap in [OnGap::Continue, OnGap::Reissue, OnGap::Fail] {
        let mut world = World::connected(Options { on_gap, ..options() });
        let (call, id, get) = resumed(&mut world, &["a"]);
        world.body(get, &(note("b", "x") + &result(&id)));
        assert_eq!(world.client.metrics(false).answered, 1);
        let answer = world.ended.remove(&call); // It is not told yet.
        world.client.report_gap(world.now, call);
        world.drain();
        let metrics = world.client.metrics(false);
        assert_eq!((gaps(&world), metrics.gaps), (vec![(GapKind::Missing, true)], 1));
        if on_gap == OnGap::Continue {
            assert!(world.is_pending(call), "the answer holds");
            assert_eq!(metrics.answered, 1);
        } else {
            let failure = world.failure(call);
            assert_eq!((failure.reason, failure.outcome), (Reason::Gap, Outcome::Unknown));
            assert_eq!((failure.diagnostics.gaps, failure.diagnostics.attempts.len()), (1, 1));
            assert_eq!((metrics.answered, metrics.failed.get(&Reason::Gap)), (0, Some(&1)));
        }
        assert!(world.requests.is_empty(), "after an answer nothing is sent again");
        world.ended.extend(answer.map(|answer| (call, answer)));
        world.pass(1);
        world.client.handle_input(world.now, Input::Timeout);
        world.client.report_gap(world.now, call);
        world.drain();
        assert_eq!(world.client.metrics(false).gaps, 1, "what was told stands");
    }
}

#[test]
fn the_first_message_after_a_resume_is_marked_as_a_seam() {
    let mut world = World::connected(options());
    let (_, _, get) = resumed(&mut world, &["a"]);
    world.body(get, &(note("b", "x") + &note("c", "x")));
    let seams: Vec<bool> = world
        .events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Message { seam, .. } => Some(*seam),
            _ => None,
        })
        .collect();
    assert_eq!(seams, [false, true, false]);
}

/// Found by the simulation: blocks that only move the cursor have ids of the same series.
#[test]
fn the_ids_of_blocks_that_bring_no_message_are_not_missing() {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    for n in 1..=3 {
        world.body(post, &note(&format!("k/{n}"), "x"));
    }
    world.cut(post);
    let (_, get, _) = world.next_request();
    world.head(get, 200, SSE, None);
    world.body(get, &("id: k/4\n\nid: k/5\ndata: {\n\n".to_string() + &note("k/6", "x")));
    assert!(!world.names().contains(&"gap"), "one moves the cursor, one is broken");
    world.cut(get);
    let (_, get, _) = world.next_request();
    world.head(get, 200, SSE, None);
    world.body(get, &("id: k/7\n\n".to_string() + &note("k/11", "x")));
    assert!(world.names().contains(&"gap"), "k/8 to k/10 are");
}

#[test]
fn of_a_request_that_is_refused_nothing_is_missing_and_it_goes_again_when_the_server_says() {
    let mut world = World::connected(options());
    let call = world.call_with(CallSpec { on_gap: Some(OnGap::Reissue), ..safe() });
    let (post, _) = world.request();
    let content_type = Some("text/plain".to_string());
    let retry_after = Some("3".to_string());
    world
        .input_head(post, ResponseHead { status: 408, content_type, retry_after, ..ResponseHead::default() });
    world.client.report_gap(world.now, call);
    world.drain();
    assert!(!world.names().contains(&"gap") && world.aborted.is_empty());
    world.end(post);
    let (wait, post, request) = world.next_request();
    assert!(wait >= 3_000.0, "{wait}");
    world.head(post, 200, SSE, None);
    world.body(post, &result(&id_of(&request)));
    assert!(world.answer(call).contains("ok"));
}
