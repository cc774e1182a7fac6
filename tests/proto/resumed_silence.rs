//! Streams that a resume opened and that bring comments alone: the server may have gone on elsewhere.

use crate::world::{header, note, options, result, World, JSON, SSE};
use landfall::proto::{CallId, ExchangeId, Method, Options, Reason, TimeoutOptions};

/// A call that was cut behind event `1`, and whose resume is open and brought nothing yet.
fn resumed(idle: f64) -> (World, CallId, String, ExchangeId) {
    let timeouts = TimeoutOptions { idle: Some(idle), ..TimeoutOptions::default() };
    let mut world = World::connected(Options { timeouts, ..options() });
    let (call, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.cut(post);
    let (_, get, _) = world.next_request();
    world.head(get, 200, SSE, None);
    (world, call, id, get)
}

/// Comments for so long, one a second, while nothing is asked.
fn comments(world: &mut World, get: ExchangeId, seconds: usize) {
    for second in 0..seconds {
        assert!(world.requests.is_empty(), "after {second} s");
        world.body(get, ": beat\n\n");
        world.pass(1_000);
    }
}

#[test]
fn comments_on_a_resumed_stream_count_for_nothing_and_a_resume_beside_it_finds_the_answer() {
    let (mut world, call, id, get) = resumed(5_000.0);
    comments(&mut world, get, 5);
    let (beside, request) = world.request();
    assert_eq!((request.method, header(&request, "last-event-id")), (Method::Get, Some("1")));
    assert!(world.aborted.is_empty(), "the body is kept");
    world.head(beside, 200, SSE, None);
    world.body(beside, &(note("2", "b") + &result(&id)));
    assert!(world.answer(call).contains("ok"));
    world.assert_nothing_is_left();
}

#[test]
fn one_that_brings_comments_too_gives_way_to_the_next_ever_more_rarely() {
    let (mut world, call, id, get) = resumed(5_000.0);
    comments(&mut world, get, 5);
    for seconds in [5, 10, 20, 20] {
        let (beside, _) = world.request();
        world.head(beside, 200, SSE, None);
        comments(&mut world, beside, seconds);
        assert!(world.aborted.contains(&beside) && !world.aborted.contains(&get), "{seconds}");
    }
    let (beside, _) = world.request();
    world.head(beside, 200, SSE, None);
    world.body(beside, &result(&id));
    assert!(world.answer(call).contains("ok"));
    world.assert_nothing_is_left();
}

#[test]
fn once_an_event_came_comments_count_again() {
    let (mut world, call, id, get) = resumed(5_000.0);
    world.pass(3_000);
    world.body(get, &note("2", "b"));
    comments(&mut world, get, 60);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_409_to_it_keeps_a_body_that_brings_comments_and_gives_up_one_that_brings_nothing() {
    for fed in [true, false] {
        let (mut world, call, id, get) = resumed(5_000.0);
        match fed {
            true => comments(&mut world, get, 5),
            false => world.pass(5_000),
        }
        let (beside, _) = world.request();
        world.head(beside, 409, "", None);
        assert_eq!(world.aborted.contains(&get), !fed, "{fed}");
        if !fed {
            continue;
        }
        comments(&mut world, get, 10);
        let (beside, _) = world.request();
        world.head(beside, 409, "", None);
        world.body(get, &result(&id));
        assert!(world.answer(call).contains("ok"));
        world.assert_nothing_is_left();
    }
}

#[test]
fn connect_ms_before_call_ms_ends_a_call_that_has_a_cursor_one_last_resume_is_made_and_gives_it_no_more_time()
{
    for found in [true, false] {
        let mut world = World::connected(options());
        let (call, id, post) = world.streaming();
        world.body(post, &note("1", "a"));
        for _ in 0..115 {
            assert!(world.requests.is_empty());
            world.body(post, ": beat\n\n");
            world.pass(1_000);
        }
        let (last, request) = world.request();
        assert_eq!((request.method, header(&request, "last-event-id")), (Method::Get, Some("1")));
        world.head(last, 200, SSE, None);
        match found {
            true => {
                world.body(last, &result(&id));
                assert!(world.answer(call).contains("ok"));
            }
            false => {
                world.body(post, ": beat\n\n");
                world.pass(4_999);
                assert!(world.is_pending(call));
                world.pass(1);
                assert_eq!(world.failure(call).reason, Reason::CallTimeout);
                world.take_cancelled();
            }
        }
        world.assert_nothing_is_left();
    }
}

#[test]
fn what_the_last_resume_meets_leaves_the_body_as_it_was() {
    for status in [405, 409, 503] {
        let mut world = World::connected(options());
        let (call, id, post) = world.streaming();
        world.body(post, &note("1", "a"));
        world.pass(40_000);
        world.body(post, ": beat\n\n");
        world.pass(40_000);
        world.body(post, ": beat\n\n");
        world.pass(35_000);
        let (last, _) = world.request();
        world.head(last, status, JSON, None);
        assert!(world.requests.is_empty() && !world.aborted.contains(&post), "{status}");
        world.body(post, &result(&id));
        assert!(world.answer(call).contains("ok"));
    }
}

#[test]
fn a_last_resume_that_ends_behind_an_id_alone_leaves_a_body_of_which_bytes_come_as_it_was() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    for _ in 0..115 {
        world.body(post, ": beat\n\n");
        world.pass(1_000);
    }
    let (last, _) = world.request();
    world.head(last, 200, SSE, None);
    world.body(last, "id: 2\ndata: \n\n");
    world.end(last);
    assert!(!world.aborted.contains(&post) && world.requests.is_empty());
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
    world.assert_nothing_is_left();
}
