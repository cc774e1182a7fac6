//! Streams that fall silent, and the questions that tell whether they live.

use crate::world::{header, note, options, result, World, SSE};
use landfall::proto::{Method, Options, Reason, Redirect, ResponseHead, Target, TimeoutOptions};

/// A call whose stream brought the event `1` and then nothing for `idleMs`; the rival resume is under way.
fn silent(
) -> (World, landfall::proto::CallId, String, landfall::proto::ExchangeId, landfall::proto::ExchangeId) {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.pass(45_000);
    let (get, request) = world.request();
    assert_eq!((request.method, header(&request, "last-event-id")), (Method::Get, Some("1")));
    assert!(world.aborted.is_empty(), "the silent body is kept beside the resume");
    (world, call, id, post, get)
}

fn answer_ping(world: &mut World) {
    let (ping, request) = world.request();
    assert!(request.body.as_deref().unwrap().contains("\"ping\""));
    world.reply(ping, &request, "{}");
}

#[test]
fn a_resume_that_brings_data_first_wins_over_the_silent_body() {
    let (mut world, call, id, post, get) = silent();
    world.head(get, 200, SSE, None);
    world.body(get, ": hi\n\n");
    assert!(world.aborted.is_empty(), "a comment is no data");
    world.body(get, &(note("1", "a") + &note("2", "b")));
    assert_eq!(world.aborted, [post]);
    assert_eq!(world.messages.len(), 2, "the event that was delivered is not delivered again");
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
    world.assert_nothing_is_left();
}

#[test]
fn the_silent_body_wins_when_it_speaks_first() {
    let (mut world, call, id, post, get) = silent();
    world.head(get, 200, SSE, None);
    world.body(post, &note("2", "b"));
    assert_eq!(world.aborted, [get]);
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
    world.assert_nothing_is_left();
}

#[test]
fn an_empty_resume_or_409_means_that_the_server_holds_the_old_body_which_is_given_up() {
    for empty in [true, false] {
        let (mut world, call, id, post, get) = silent();
        if empty {
            world.head(get, 200, SSE, None);
            world.end(get);
        } else {
            world.head(get, 409, "", None);
        }
        assert!(world.aborted.contains(&post));
        let (wait, get, request) = world.next_request();
        assert_eq!(header(&request, "last-event-id"), Some("1"));
        assert!(wait < 1_000.0, "{wait}");
        world.head(get, 200, SSE, None);
        world.body(get, &result(&id));
        assert!(world.answer(call).contains("ok"));
        world.assert_nothing_is_left();
    }
}

#[test]
fn another_refusal_keeps_the_old_body_and_asks_the_session() {
    let (mut world, call, id, post, get) = silent();
    world.head(get, 405, "", None);
    assert_eq!(world.aborted, [get]);
    answer_ping(&mut world);
    world.pass(60_000);
    assert!(world.requests.is_empty(), "its patience is doubled");
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_resume_that_gets_no_answer_is_tried_again_while_recovery_ms_allows() {
    let (mut world, call, _, _, _) = silent();
    let mut tries = 1;
    while world.is_pending(call) {
        world.pass(100);
        while let Some((get, request)) = world.requests.pop_front() {
            if request.method == Method::Get {
                tries += 1;
                world.cut(get);
            }
        }
    }
    assert!(tries > 3, "{tries}");
    assert_eq!(world.failure(call).reason, Reason::RecoveryExhausted);
}

#[test]
fn a_silent_stream_without_a_cursor_goes_on_when_the_session_answers_with_twice_the_patience() {
    let mut world = World::connected(Options {
        timeouts: TimeoutOptions { idle: Some(10_000.0), call: Some(400_000.0), ..TimeoutOptions::default() },
        ..options()
    });
    let (call, id, post) = world.streaming();
    for silence in [10_000, 20_000, 40_000, 40_000] {
        world.pass(silence - 1);
        assert!(world.requests.is_empty(), "{silence}");
        world.pass(1);
        answer_ping(&mut world);
    }
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_probe_refused_by_the_network_twice_ends_a_silent_stream_at_once() {
    let mut world = World::connected(options());
    let (call, _, post) = world.streaming();
    world.pass(45_000);
    let (ping, _) = world.request();
    world.cut(ping);
    assert!(world.is_pending(call));
    let (wait, ping, _) = world.next_request();
    assert!((4_999.0..=5_001.0).contains(&wait), "{wait}");
    world.cut(ping);
    assert_eq!(world.failure(call).reason, Reason::StreamLost);
    assert!(world.aborted.contains(&post));
}

#[test]
fn a_probe_that_times_out_proves_nothing_and_the_call_waits_until_recovery_ms() {
    let mut world = World::connected(options());
    let (call, _, _) = world.streaming();
    world.pass(45_000 + 119_999);
    assert!(world.is_pending(call));
    world.pass(1);
    assert_eq!(world.failure(call).reason, Reason::IdleTimeout);
}

#[test]
fn after_a_timeout_the_next_call_waits_until_the_session_was_asked() {
    let mut world = World::connected(options());
    world.hung_call();
    let next = world.call();
    let (ping, request) = world.request();
    assert!(request.body.unwrap().contains("\"ping\"") && world.requests.is_empty());
    world.head(ping, 404, "", None);
    world.end(ping);
    assert!(world.is_pending(next), "it never left, so it goes in the next session");
    let (_, request) = world.request();
    assert!(request.body.unwrap().contains("initialize"));
}

#[test]
fn a_retry_after_to_the_resume_beside_a_silent_body_is_a_floor_and_no_question_to_the_session() {
    let (mut world, call, id, _, get) = silent();
    let head = ResponseHead { status: 503, retry_after: Some("3".to_string()), ..ResponseHead::default() };
    world.input_head(get, head);
    let (wait, get, request) = world.next_request();
    assert!(wait >= 3_000.0 && request.method == Method::Get, "{wait}");
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_redirect_of_the_resume_beside_a_silent_body_is_followed_in_its_origin_and_else_keeps_the_body() {
    let to = |same_origin| ResponseHead {
        status: 307,
        redirect: Some(Redirect::To(Target { url: "http://h/mcp/2".to_string(), same_origin })),
        ..ResponseHead::default()
    };
    let (mut world, call, id, post, get) = silent();
    world.input_head(get, to(true));
    assert_eq!(world.aborted, [get], "and not the silent body");
    let (get, request) = world.request();
    assert_eq!((request.method, request.url.as_deref()), (Method::Get, Some("http://h/mcp/2")));
    assert_eq!(header(&request, "last-event-id"), Some("1"));
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
    assert!(world.aborted.contains(&post));
    world.assert_nothing_is_left();
    let (mut world, call, id, post, get) = silent();
    world.input_head(get, to(false));
    answer_ping(&mut world);
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_resume_beside_a_silent_body_goes_on_when_that_one_dies_with_what_it_brought() {
    for (brought, ended) in
        [(None, true), (None, false), (Some(": hi\n\nid: 2\n\n"), false), (Some(""), true)]
    {
        let (mut world, call, id, post, get) = silent();
        if let Some(brought) = brought {
            world.head(get, 200, SSE, None);
            world.body(get, brought);
        }
        match ended {
            true => world.end(post),
            false => world.cut(post),
        }
        assert!(world.aborted.is_empty() && world.requests.is_empty(), "the resume under way is the call's");
        assert!(world.names().contains(&if ended { "disconnected:end" } else { "disconnected:network" }));
        if brought.is_none() {
            world.head(get, 200, SSE, None);
        }
        world.body(get, &note("3", "c"));
        world.cut(get);
        let (_, get, request) = world.next_request();
        assert_eq!(header(&request, "last-event-id"), Some("3"));
        world.head(get, 200, SSE, None);
        world.body(get, &result(&id));
        assert!(world.answer(call).contains("ok"));
        let metrics = world.client.metrics(false);
        assert_eq!((metrics.resumes.tried, metrics.resumes.hit, metrics.resumes.empty), (2, 1, 1));
        world.assert_nothing_is_left();
    }
}

#[test]
fn a_resume_that_takes_over_before_its_headers_still_has_connect_ms_for_them() {
    let (mut world, _, _, post, get) = silent();
    world.cut(post);
    world.pass(4_999);
    assert!(world.requests.is_empty());
    world.pass(1);
    let (ping, _) = world.request();
    assert!(world.aborted.is_empty(), "the session is asked");
    world.cut(ping);
    assert!(world.aborted.contains(&get));
    let (_, _, request) = world.next_request();
    assert_eq!(header(&request, "last-event-id"), Some("1"));
}

#[test]
fn a_resume_beside_a_silent_body_that_moves_the_cursor_and_ends_was_closed_politely() {
    let (mut world, call, id, post, get) = silent();
    world.head(get, 200, SSE, None);
    world.body(get, "retry: 2000\nid: 2\n\n");
    world.end(get);
    assert_eq!(world.aborted, [post], "the silent body");
    assert!(world.names().contains(&"polling"));
    let (wait, get, request) = world.next_request();
    assert!(wait >= 2_000.0, "{wait}");
    assert_eq!(header(&request, "last-event-id"), Some("2"));
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
    world.assert_nothing_is_left();
}

#[test]
fn ids_that_a_lost_resume_brought_are_not_the_calls() {
    let (mut world, call, id, post, get) = silent();
    world.head(get, 200, SSE, None);
    world.body(get, "id: 9\n\n");
    world.body(post, &note("2", "b"));
    assert_eq!(world.aborted, [get]);
    world.cut(post);
    let (_, get, request) = world.next_request();
    assert_eq!(header(&request, "last-event-id"), Some("2"), "what lies between may be on its way to nobody");
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_silent_body_whose_cursor_is_lost_while_its_resume_is_under_way_is_kept_and_the_session_asked() {
    let mut world = World::connected(options());
    let (call, id, post) = world.handling();
    world.body(post, &(note("1", "a") + &note("\u{c}2", "b")));
    let keys = world.keys.clone();
    world.handled(call, keys[0], true);
    world.pass(45_000);
    let (get, request) = world.request();
    assert_eq!((request.method, header(&request, "last-event-id")), (Method::Get, Some("1")));
    world.handled(call, keys[1], true); // no request can carry that id
    world.head(get, 409, "", None);
    assert_eq!(world.aborted, [get]);
    answer_ping(&mut world);
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
    world.assert_nothing_is_left();
}

#[test]
fn what_a_resume_brought_when_it_took_the_place_of_the_silent_body_counts_as_bytes_of_it() {
    let timeouts = TimeoutOptions {
        idle: Some(8_000.0),
        call: Some(14_000.0),
        connect: Some(2_000.0),
        ..TimeoutOptions::default()
    };
    let mut world = World::connected(Options { timeouts, ..options() });
    let (call, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.pass(8_000);
    let (won, _) = world.request();
    world.head(won, 200, SSE, None);
    world.body(won, &note("1", "a")); // a repeat: `callMs` goes on
    assert_eq!(world.aborted, [post]);
    world.pass(4_000);
    let (last, _) = world.request();
    world.head(last, 200, SSE, None);
    world.body(last, "id: 1\ndata:\n\n");
    world.end(last);
    assert!(!world.aborted.contains(&won), "bytes of it came within `idleMs`");
    world.body(won, &result(&id));
    assert!(world.answer(call).contains("ok"));
}
