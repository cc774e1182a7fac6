//! Resumes without headers: there are browsers that give these with the first byte of the body.

use crate::world::{header, id_of, note, options, result, safe, World, SSE};
use landfall::proto::{CallId, ExchangeId, HttpRequest, Method, Options, Reason, TimeoutOptions};

fn is_ping(request: &HttpRequest) -> bool {
    request.body.as_deref().unwrap_or_default().contains("\"ping\"")
}

fn answer_ping(world: &mut World) {
    let (ping, request) = world.request();
    assert!(is_ping(&request), "{request:?}");
    world.reply(ping, &request, "{}");
}

/// A call that was cut behind event `1`; its resume got no headers within `connectMs`, and the session is asked.
fn missed(timeouts: TimeoutOptions) -> (World, CallId, String, ExchangeId) {
    let mut world = World::connected(Options { timeouts, ..options() });
    let (call, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.cut(post);
    let (_, get, _) = world.next_request();
    world.pass(5_000);
    assert!(world.aborted.is_empty());
    (world, call, id, get)
}

/// The same, and it lives.
fn kept(timeouts: TimeoutOptions) -> (World, CallId, String, ExchangeId) {
    let (mut world, call, id, get) = missed(timeouts);
    answer_ping(&mut world);
    (world, call, id, get)
}

#[test]
fn where_the_session_lives_a_resume_without_headers_is_kept_and_brings_the_answer() {
    let (mut world, call, id, get) = kept(TimeoutOptions::default());
    world.pass(40_000);
    assert!(world.requests.is_empty() && world.aborted.is_empty());
    world.head(get, 200, SSE, None);
    world.body(get, &note("2", "b"));
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
    let told: Vec<_> = world.names().into_iter().skip_while(|name| *name != "reconnecting").collect();
    assert_eq!(told, ["reconnecting", "open", "resumed", "message"]);
    let metrics = world.client.metrics(false);
    assert_eq!((metrics.resumes.tried, metrics.resumes.hit, metrics.probes.asked), (1, 1, 1));
    world.assert_nothing_is_left();
}

#[test]
fn it_counts_as_open_and_call_ms_runs_for_it() {
    let timeouts = TimeoutOptions {
        connect: Some(5_000.0),
        idle: Some(100_000.0),
        call: Some(60_000.0),
        recovery: Some(60_000.0),
        ..TimeoutOptions::default()
    };
    let (mut world, call, _, _) = kept(timeouts);
    world.pass(59_000);
    assert_eq!(world.requests.len(), 1, "one last resume before the end");
    world.pass(999);
    assert!(world.is_pending(call));
    world.pass(1);
    assert_eq!(world.failure(call).reason, Reason::CallTimeout);
    world.take_cancelled();
    world.assert_nothing_is_left();
}

#[test]
fn a_recovery_ms_that_is_shorter_than_its_silence_does_not_end_it() {
    let timeouts =
        TimeoutOptions { call: Some(8_000.0), recovery: Some(8_000.0), ..TimeoutOptions::default() };
    let mut world = World::connected(Options { timeouts, ..options() });
    let (call, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.cut(post);
    let (_, get, _) = world.next_request();
    world.pass(1_500);
    answer_ping(&mut world);
    world.pass(4_000);
    assert!(world.requests.is_empty() && world.aborted.is_empty() && world.is_pending(call));
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn idle_ms_bounds_its_silence_and_the_resume_beside_it_is_asked_about_too() {
    for first in [true, false] {
        let (mut world, call, id, get) = kept(TimeoutOptions::default());
        world.pass(44_999);
        assert!(world.requests.is_empty());
        world.pass(1);
        assert!(world.names().contains(&"suspect"));
        let (beside, request) = world.request();
        assert_eq!((request.method, header(&request, "last-event-id")), (Method::Get, Some("1")));
        world.pass(5_000);
        answer_ping(&mut world);
        world.pass(44_999);
        assert!(world.aborted.is_empty() && world.requests.is_empty(), "both are kept");
        let (winner, loser) = if first { (get, beside) } else { (beside, get) };
        world.head(winner, 200, SSE, None);
        world.body(winner, &note("2", "b"));
        assert_eq!(world.aborted, [loser]);
        world.body(winner, &result(&id));
        assert!(world.answer(call).contains("ok"));
        world.assert_nothing_is_left();
    }
}

#[test]
fn the_resume_beside_it_gives_way_to_the_next_ever_more_rarely_and_takes_its_place_when_it_ends() {
    let (mut world, call, id, get) = kept(TimeoutOptions::default());
    world.pass(45_000);
    let (beside, _) = world.request();
    world.pass(5_000);
    answer_ping(&mut world);
    world.pass(45_000);
    assert_eq!(world.aborted, [beside]);
    let (beside, _) = world.request();
    world.pass(5_000);
    answer_ping(&mut world);
    world.cut(get);
    world.pass(30_000);
    assert_eq!((world.aborted.len(), world.requests.len()), (1, 0), "it is the call's stream now");
    world.head(beside, 200, SSE, None);
    world.body(beside, &result(&id));
    assert!(world.answer(call).contains("ok"));
    world.assert_nothing_is_left();
}

#[test]
fn where_the_session_does_not_answer_the_resume_is_made_again_with_twice_the_time() {
    for refused in [Some(503), Some(500), None] {
        let (mut world, call, id, get) = missed(TimeoutOptions::default());
        let (ping, request) = world.request();
        assert!(is_ping(&request));
        match refused {
            Some(status) => {
                world.head(ping, status, "", None);
                world.end(ping);
                world.pass(5_000);
            }
            None => world.cut(ping),
        }
        assert!(world.aborted.contains(&get), "{refused:?}");
        let second = loop {
            let (_, exchange, request) = world.next_request();
            match request.method {
                Method::Get => break exchange,
                _ => world.cut(exchange),
            }
        };
        world.requests.clear();
        world.pass(9_900);
        assert!(!world.aborted.contains(&second), "{refused:?}");
        world.head(second, 200, SSE, None);
        world.body(second, &result(&id));
        assert!(world.answer(call).contains("ok"));
    }
}

#[test]
fn one_question_is_for_all_resumes_without_headers() {
    let mut world = World::connected(options());
    let calls: Vec<_> = (0..3).map(|_| world.streaming()).collect();
    for (n, (_, _, post)) in calls.iter().enumerate() {
        world.body(*post, &note(&format!("s{n}/1"), "a"));
        world.cut(*post);
    }
    world.pass(3_000);
    let gets: Vec<_> = world.requests.drain(..).collect();
    assert_eq!(gets.len(), 3);
    world.pass(4_500);
    answer_ping(&mut world);
    world.pass(30_000);
    assert!(world.aborted.is_empty() && world.requests.is_empty());
    for (get, request) in gets {
        let of = header(&request, "last-event-id").unwrap().as_bytes()[1] - b'0';
        let (call, id, _) = &calls[usize::from(of)];
        world.head(get, 200, SSE, None);
        world.body(get, &result(id));
        assert!(world.answer(*call).contains("ok"));
    }
    world.assert_nothing_is_left();
}

#[test]
fn what_comes_of_it_late_is_heard_as_from_any_resume() {
    type Come = fn(&mut World, ExchangeId);
    let cases: [(&str, Come); 4] = [
        ("a busy server", |world, get| world.head(get, 503, "", None)),
        ("a cut", |world, get| world.cut(get)),
        ("an end", |world, get| world.end(get)),
        ("an empty stream", |world, get| {
            world.head(get, 200, SSE, None);
            world.end(get);
        }),
    ];
    for (what, come) in cases {
        let (mut world, call, id, get) = kept(TimeoutOptions::default());
        world.pass(20_000);
        come(&mut world, get);
        let (wait, again, request) = world.next_request();
        assert_eq!((request.method, header(&request, "last-event-id")), (Method::Get, Some("1")), "{what}");
        assert!(wait >= 200.0, "{what}: {wait}");
        world.head(again, 200, SSE, None);
        world.body(again, &result(&id));
        assert!(world.answer(call).contains("ok"), "{what}");
        world.assert_nothing_is_left();
    }
    let (mut world, call, _, get) = kept(TimeoutOptions::default());
    world.head(get, 401, "", None);
    assert_eq!(world.failure(call).reason, Reason::Unauthorized);
}

#[test]
fn a_refusal_of_one_that_was_raced_ends_the_race_too() {
    let (mut world, call, id, get) = kept(TimeoutOptions::default());
    world.pass(45_000);
    let (beside, _) = world.request();
    world.head(get, 503, "", None);
    assert_eq!(world.aborted, [beside, get]);
    let (_, again, _) = world.next_request();
    world.head(again, 200, SSE, None);
    world.body(again, &result(&id));
    assert!(world.answer(call).contains("ok"));
    world.assert_nothing_is_left();
}

#[test]
fn a_safe_call_that_was_sent_again_beside_it_is_answered_by_either() {
    for (brings, taken) in [(Some(200), true), (Some(503), false), (None, false)] {
        let mut world = World::connected(options());
        let call = world.call_with(safe());
        let (post, request) = world.request();
        let id = id_of(&request);
        world.head(post, 200, SSE, None);
        world.body(post, &note("1", "a"));
        world.cut(post);
        let (_, get, _) = world.next_request();
        world.pass(5_000);
        answer_ping(&mut world);
        let (new, new_id) = loop {
            let (_, exchange, request) = world.next_request();
            match () {
                () if is_ping(&request) => world.cut(exchange),
                () if request.method == Method::Get => world.head(exchange, 503, "", None),
                () => break (exchange, id_of(&request)),
            }
        };
        assert!(!world.aborted.contains(&get) && new_id != id, "it is sent again, beside the resume");
        match brings {
            Some(status) => world.head(get, status, SSE, None),
            None => world.cut(get),
        }
        if taken {
            world.body(get, &result(&id));
        } else {
            world.head(new, 200, SSE, None);
            world.body(new, &result(&new_id));
        }
        assert!(world.answer(call).contains("ok"), "{brings:?}");
        world.assert_nothing_is_left();
    }
}
