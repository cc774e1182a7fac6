//! The GET stream for what belongs to no call (ARCHITECTURE.md, "Sessions and eras").

use std::time::Duration;

use crate::world::{header, id_of, note, options, result, World, JSON, SSE};
use landfall::proto::{
    Event, ExchangeId, GapKind, Method, OnGap, Options, Reason, ResponseHead, TimeoutOptions,
};

/// A session whose GET stream was asked for.
fn listening() -> (World, ExchangeId) {
    let mut world = World::connected(Options { listen: true, ..options() });
    let (get, request) = world.request();
    assert_eq!(request.method, Method::Get);
    assert_eq!(header(&request, "mcp-session-id"), Some("s1"));
    assert_eq!(header(&request, "last-event-id"), None);
    (world, get)
}

fn open() -> (World, ExchangeId) {
    let (mut world, get) = listening();
    world.head(get, 200, SSE, None);
    assert_eq!(world.names(), ["listen:open"]);
    (world, get)
}

#[test]
fn what_comes_on_it_belongs_to_no_call_and_its_questions_are_answered() {
    let (mut world, get) = open();
    world.body(get, &note("n1", "hello"));
    assert_eq!(world.messages.len(), 1);
    assert!(world.events.iter().all(|(call, _)| call.is_none()));
    world.body(get, "data: {\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"roots/list\"}\n\n");
    assert_eq!(world.questions.len(), 1);
    world.client.answer(world.now, r#"{"jsonrpc":"2.0","id":9,"result":{"roots":[]}}"#);
    world.drain();
    assert!(world.request().1.body.is_some_and(|body| body.contains("roots")));
}

#[test]
fn it_is_opened_when_a_client_said_initialized() {
    let mut world = World::carrying(Options { listen: true, ..options() });
    world.client_initializes("0", Some("s1"));
    assert!(world.requests.is_empty());
    world.client.notify(world.now, "notifications/initialized", "");
    world.drain();
    let (post, _) = world.request();
    world.head(post, 202, "", None);
    assert_eq!(world.request().1.method, Method::Get);
}

#[test]
fn a_server_without_one_is_not_asked_again() {
    for status in [405, 501] {
        let (mut world, get) = listening();
        world.head(get, status, "", None);
        world.pass(3_600_000);
        assert!(world.requests.is_empty(), "{status}");
        assert_eq!(world.names(), ["listen:unsupported"]);
        world.assert_nothing_is_left();
    }
}

#[test]
fn it_is_opened_again_where_it_was_lost_with_its_cursor() {
    let (mut world, get) = open();
    world.body(get, &note("n1", "a"));
    world.cut(get);
    let (_, get, request) = world.next_request();
    assert_eq!(header(&request, "last-event-id"), Some("n1"));
    world.head(get, 200, SSE, None);
    world.body(get, &(note("n1", "a") + &note("n2", "b")));
    assert_eq!(world.messages.len(), 2, "a repeat is told once");
}

#[test]
fn a_resume_that_brought_nothing_is_followed_by_one_without_a_cursor() {
    for silent in [true, false] {
        let (mut world, get) = open();
        world.body(get, &note("n1", "a"));
        world.cut(get);
        let (_, get, request) = world.next_request();
        assert_eq!(header(&request, "last-event-id"), Some("n1"));
        world.head(get, 200, SSE, None);
        world.body(get, ": beat\n\n");
        match silent {
            true => {
                world.pass(44_999);
                assert!(world.requests.is_empty(), "comments prove nothing, and idleMs is not over");
            }
            false => world.end(get),
        }
        let (_, get, request) = world.next_request();
        assert_eq!(header(&request, "last-event-id"), None, "{silent}");
        world.head(get, 200, SSE, None);
        world.pass(86_400_000);
        assert!(world.requests.is_empty(), "one that no cursor opened may be silent for days");
    }
}

/// The session is asked, and answers with this status.
fn asked(world: &mut World, status: u16) {
    let (ping, request) = world.request();
    assert!(request.body.as_deref().is_some_and(|body| body.contains("\"ping\"")), "{request:?}");
    world.head(ping, status, JSON, None);
    if status == 200 {
        world.body(ping, &format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, id_of(&request)));
    }
    world.end(ping);
}

#[test]
fn a_404_in_a_session_asks_that_at_once_and_where_it_lives_there_is_no_such_stream() {
    let (mut world, get) = listening();
    world.head(get, 404, "", None);
    asked(&mut world, 200);
    assert_eq!(world.names(), ["listen:unsupported"]);
    world.pass(3_600_000);
    assert!(world.requests.is_empty());
    world.assert_nothing_is_left();
}

#[test]
fn a_404_to_its_resume_in_a_session_that_lives_is_followed_by_one_without_a_cursor() {
    let (mut world, get) = open();
    world.body(get, &note("n1", "a"));
    world.cut(get);
    let (_, get, _) = world.next_request();
    world.head(get, 404, "", None);
    asked(&mut world, 200);
    let (_, _, request) = world.next_request();
    assert_eq!((request.method, header(&request, "last-event-id")), (Method::Get, None));
}

#[test]
fn a_404_of_a_dead_session_replaces_it_and_no_call_is_needed_for_that() {
    let (mut world, get) = open();
    world.cut(get);
    let (_, get, _) = world.next_request();
    world.head(get, 404, "", None);
    asked(&mut world, 404);
    let (_, request) = world.request();
    assert!(request.body.is_some_and(|body| body.contains("\"initialize\"")));
}

#[test]
fn barren_opens_are_ever_rarer_up_to_a_minute() {
    let (mut world, mut get) = open();
    let mut waits = Vec::new();
    for _ in 0..12 {
        world.end(get);
        let (wait, next, _) = world.next_request();
        waits.push(wait);
        get = next;
        world.head(get, 200, SSE, None);
    }
    assert!(waits[0] < 700.0, "{waits:?}");
    assert!(waits[11] > 40_000.0 && waits[11] < 80_000.0, "{waits:?}");
}

#[test]
fn a_stream_that_somebody_cuts_after_a_while_is_back_at_once_each_time() {
    let (mut world, mut get) = open();
    for _ in 0..12 {
        world.pass(10_000);
        world.cut(get);
        let (wait, next, _) = world.next_request();
        assert!(wait < 700.0, "{wait}");
        get = next;
        world.head(get, 200, SSE, None);
    }
}

#[test]
fn a_server_that_can_not_be_reached_or_is_busy_is_asked_again_not_before_it_says() {
    let (mut world, get) = listening();
    world.cut(get);
    let (_, get, _) = world.next_request();
    let head = ResponseHead { status: 503, retry_after: Some("7".to_string()), ..ResponseHead::default() };
    world.input_head(get, head);
    let (wait, _, _) = world.next_request();
    assert!(wait >= 7_000.0, "{wait}");
}

#[test]
fn its_silence_is_no_fault() {
    let (mut world, get) = open();
    world.pass(86_400_000);
    assert!(world.requests.is_empty());
    world.body(get, &note("n1", "a"));
    assert_eq!(world.messages.len(), 1);
}

#[test]
fn a_cursor_that_is_refused_is_forgotten() {
    let (mut world, get) = open();
    world.body(get, &note("n1", "a"));
    world.cut(get);
    let (_, get, _) = world.next_request();
    world.head(get, 400, "", None);
    let (_, get, request) = world.next_request();
    assert_eq!(header(&request, "last-event-id"), None);
    world.head(get, 405, "", None);
    world.pass(3_600_000);
    assert!(world.requests.is_empty());
}

#[test]
fn a_request_that_is_answered_by_202_waits_for_its_answer_there() {
    let (mut world, get) = open();
    let call = world.call();
    let (post, request) = world.request();
    let id = id_of(&request);
    world.head(post, 202, "", None);
    world.pass(100_000);
    assert!(world.is_pending(call));
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("true"));
    let silent = world.call();
    let (post, _) = world.request();
    world.head(post, 202, "", None);
    world.pass(120_000);
    assert_eq!(world.failure(silent).reason, Reason::CallTimeout);
}

#[test]
fn it_takes_no_connection_of_a_call() {
    let mut world = World::connected(Options { listen: true, max_concurrent: Some(2.0), ..options() });
    let (get, _) = world.request();
    world.head(get, 200, SSE, None);
    world.call();
    assert_eq!(world.request().1.method, Method::Post);
}

#[test]
fn it_ends_with_its_session_and_is_opened_in_the_next() {
    let (mut world, get) = open();
    let call = world.call();
    let (post, _) = world.request();
    world.head(post, 404, "", None);
    world.end(post);
    assert!(world.aborted.contains(&get));
    let (post, request) = world.request();
    let id = id_of(&request);
    world.head(post, 200, JSON, Some("s2"));
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{id},{}"#, crate::world::GREETING));
    world.end(post);
    let (post, _) = world.request();
    world.head(post, 202, "", None);
    let gets: Vec<_> = world.requests.iter().filter(|(_, request)| request.method == Method::Get).collect();
    assert_eq!(gets.len(), 1);
    assert_eq!(header(&gets[0].1, "mcp-session-id"), Some("s2"));
    assert!(world.is_pending(call));
}

#[test]
fn after_close_it_is_gone() {
    let (mut world, get) = open();
    world.client.close(world.now);
    world.drain();
    assert!(world.aborted.contains(&get));
    let (delete, _) = world.request();
    world.head(delete, 200, "", None);
    assert!(world.closed);
    world.now = world.now + Duration::from_secs(3_600);
    world.pass(1);
    assert!(world.requests.is_empty());
    world.assert_nothing_is_left();
}

#[test]
fn it_is_not_opened_again_once_max_retries_opens_in_a_row_brought_nothing() {
    for most in [0, 2] {
        let mut world =
            World::connected(Options { listen: true, max_retries: Some(f64::from(most)), ..options() });
        let (mut get, _) = world.request();
        world.head(get, 200, SSE, None);
        world.body(get, &note("n1", "something"));
        for _ in 0..most {
            world.end(get);
            get = world.next_request().1;
            world.head(get, 503, "", None);
        }
        if most == 0 {
            world.end(get);
        }
        assert_eq!(world.names().last(), Some(&"listen_given_up"), "{most}");
        world.pass(3_600_000);
        assert!(world.requests.is_empty());
        world.assert_nothing_is_left();
    }
}

#[test]
fn the_host_times_the_waits_before_it_is_opened_again_where_it_wants_to() {
    let mut world = World::connected(Options { listen: true, scheduler: true, ..options() });
    let (mut get, _) = world.request();
    for attempt in 1..=3 {
        world.head(get, 200, SSE, None);
        world.end(get);
        world.pass(3_600_000);
        assert!(world.requests.is_empty(), "the host has the wait");
        let (call, wait, told) = world.scheduled.pop().expect("it was told of the wait");
        assert_eq!(told, attempt);
        assert!(wait >= Duration::from_millis(300));
        world.client.reconnect(world.now, call);
        world.drain();
        get = world.request().0;
    }
}

#[test]
fn what_is_missing_on_it_is_told_as_a_gap_of_the_session_and_nothing_is_done_about_it() {
    for on_gap in [OnGap::Continue, OnGap::Fail, OnGap::Reissue] {
        let mut world = World::connected(Options { listen: true, on_gap, ..options() });
        let (get, _) = world.request();
        world.head(get, 200, SSE, None);
        for event in ["n/1", "n/2", "n/3"] {
            world.body(get, &note(event, "a"));
        }
        world.cut(get);
        let (_, get, _) = world.next_request();
        world.head(get, 200, SSE, None);
        world.body(get, &note("n/9", "a"));
        let is_told = |(call, event): &(Option<landfall::proto::CallId>, Event)| {
            call.is_none() && matches!(event, Event::Gap { kind: GapKind::Missing, certain: true, .. })
        };
        assert_eq!(world.events.iter().filter(|told| is_told(told)).count(), 1, "{on_gap:?}");
        world.body(get, &note("n/10", "a"));
        assert_eq!(world.messages.len(), 5, "it is read on");
        assert!(!world.aborted.contains(&get));
        assert_eq!(world.client.metrics(false).gaps, 1);
    }
}

#[test]
fn that_it_is_opened_between_two_pings_that_fail_is_a_sign_of_life() {
    let (mut world, get) = listening();
    let (call, _, _) = world.streaming();
    world.pass(45_000);
    for opens in [true, false] {
        let (ping, request) = world.request();
        assert!(request.body.is_some_and(|body| body.contains("\"ping\"")));
        world.head(ping, 500, "", None);
        world.end(ping);
        if opens {
            world.head(get, 200, SSE, None);
        }
        world.pass(5_000);
    }
    assert!(world.requests.is_empty(), "no handshake is tried: {:?}", world.requests);
    assert!(world.is_pending(call));
}

#[test]
fn a_quiet_stream_that_was_held_for_as_long_as_a_silence_may_last_was_not_in_vain() {
    let timeouts = TimeoutOptions { idle: Some(1_000.0), ..TimeoutOptions::default() };
    let mut world = World::connected(Options { listen: true, max_retries: Some(1.0), timeouts, ..options() });
    for _ in 0..4 {
        let (_, get, _) = world.next_request();
        world.head(get, 200, SSE, None);
        for _ in 0..3 {
            world.body(get, ": here\n\n");
            world.pass(400);
        }
        world.end(get);
    }
    assert!(!world.names().contains(&"listen_given_up"), "{:?}", world.names());
}
