//! What is told of a session's state, of a resume, and of a stream that another client began.

use crate::world::{id_of, note, options, result, World, GREETING, JSON, SSE};
use landfall::proto::{CallId, CallSpec, Event, ExchangeId, Level, Method, Options, SessionState};

/// The states that were told, the first ones left out.
fn states(world: &World) -> Vec<SessionState> {
    let state = |(call, event): &(Option<CallId>, Event)| match event {
        Event::State { state } if call.is_none() => Some(*state),
        _ => None,
    };
    world.events.iter().filter_map(state).collect()
}

/// What was told of resumes: how many events came with each, and how many of them were repeats.
fn resumed(world: &World) -> Vec<(u32, u32)> {
    let counts = |(_, event): &(Option<CallId>, Event)| match event {
        Event::Resumed { level: Level::L1, replayed, duplicates } => Some((*replayed, *duplicates)),
        _ => None,
    };
    world.events.iter().filter_map(counts).collect()
}

/// A call whose stream brought the event `1` and was cut, its id, and its resume.
fn resuming() -> (World, CallId, String, ExchangeId) {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.cut(post);
    let (_, get, _) = world.next_request();
    world.events.clear();
    (world, call, id, get)
}

#[test]
fn a_session_is_recovering_after_a_resume_without_an_answer_offline_after_two_and_ready_with_the_next() {
    let (mut world, call, id, get) = resuming();
    world.failed(get, "ENETUNREACH");
    assert_eq!(states(&world), [SessionState::Recovering]);
    for _ in 0..3 {
        let (_, get, request) = world.next_request();
        assert!(matches!(request.method, Method::Get | Method::Post));
        world.failed(get, "ENETUNREACH");
    }
    assert_eq!(states(&world), [SessionState::Recovering, SessionState::Offline], "each once");
    let get = loop {
        let (_, exchange, request) = world.next_request();
        match request.method {
            Method::Get => break exchange,
            _ => world.failed(exchange, ""),
        }
    };
    world.head(get, 200, SSE, None);
    let told = [SessionState::Recovering, SessionState::Offline, SessionState::Ready];
    assert_eq!(states(&world), told);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
    world.assert_nothing_is_left();
}

#[test]
fn one_request_that_got_no_answer_says_nothing_of_the_session_and_two_in_a_row_do() {
    let mut world = World::connected(options());
    // No tool's: of one that was never listed the hints would be asked for.
    let plain = || CallSpec { method: "custom".to_string(), ..CallSpec::default() };
    for told in [&[][..], &[SessionState::Offline]] {
        let call = world.call_with(plain());
        let (post, _) = world.request();
        world.cut(post);
        assert!(!world.is_pending(call));
        assert_eq!(states(&world), told);
    }
    let call = world.call_with(plain());
    let (post, _) = world.request();
    world.head(post, 500, "", None);
    world.end(post);
    assert!(!world.is_pending(call));
    assert_eq!(states(&world), [SessionState::Offline, SessionState::Ready], "500 is an answer");
}

#[test]
fn a_session_that_is_replaced_is_recovering_until_the_next_one_is_ready() {
    let mut world = World::connected(options());
    let call = world.call_with(CallSpec { idempotent: true, ..CallSpec::default() });
    let (post, _) = world.request();
    world.head(post, 404, "", None);
    world.end(post);
    assert_eq!(states(&world), [SessionState::Recovering]);
    let (post, request) = world.request();
    assert!(request.body.as_deref().is_some_and(|body| body.contains("initialize")));
    world.head(post, 200, JSON, Some("s2"));
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},{GREETING}"#, id_of(&request)));
    world.end(post);
    assert_eq!(states(&world), [SessionState::Recovering]);
    let (post, _) = world.request();
    world.head(post, 202, "", None);
    assert_eq!(states(&world), [SessionState::Recovering, SessionState::Ready]);
    assert!(world.is_pending(call));
    world.client.close(world.now);
    world.drain();
}

#[test]
fn resumed_comes_before_what_it_brought_and_counts_what_came_with_its_first_bytes() {
    let (mut world, call, id, get) = resuming();
    world.head(get, 200, SSE, None);
    assert_eq!(world.names(), ["open"], "at its headers");
    world.body(get, ": a comment\n\n");
    assert_eq!(resumed(&world), []);
    world.body(get, &[note("1", "a"), note("2", "b"), note("3", "c")].concat());
    assert_eq!(world.names(), ["open", "resumed", "message", "message"]);
    world.body(get, &(note("4", "d") + &result(&id)));
    assert_eq!(resumed(&world), [(3, 1)], "once, with the first bytes");
    assert!(world.answer(call).contains("ok"));
    let metrics = serde_json::to_value(world.client.metrics(false)).expect("metrics");
    assert_eq!(metrics["histograms"]["replayed"]["max"], 3.0);
}

#[test]
fn a_resume_that_brings_the_answer_at_once_is_told_before_it_and_one_that_brings_nothing_at_its_end() {
    let (mut world, call, id, get) = resuming();
    world.head(get, 200, SSE, None);
    world.end(get);
    assert_eq!(resumed(&world), [(0, 0)]);
    let (_, get, _) = world.next_request();
    world.head(get, 200, SSE, None);
    world.body(get, &(note("2", "b") + &result(&id)));
    assert_eq!(resumed(&world), [(0, 0), (2, 0)]);
    let names = world.names();
    assert_eq!(names[names.len() - 3..], ["open", "resumed", "message"]);
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_resume_beside_a_silent_body_tells_open_at_its_headers_and_resumed_when_it_wins() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.events.clear();
    let (_, get, request) = world.next_request();
    assert_eq!(request.method, Method::Get);
    world.head(get, 200, SSE, None);
    assert_eq!(world.names(), ["suspect", "reconnecting", "open"]);
    world.body(get, &note("2", "b"));
    assert_eq!(
        world.names()[3..],
        ["disconnected:idle", "resumed", "message"],
        "it has won, and what it brought comes after that"
    );
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn progress_on_a_stream_that_another_client_began_is_the_progress_of_the_call_that_took_it_up() {
    let mut world = World::connected(options());
    let call = world.call_with(CallSpec {
        resumption_token: Some("k/1".to_string()),
        progress: true,
        ..CallSpec::default()
    });
    let other = world.call();
    let (get, request) = world.request();
    assert_eq!(request.method, Method::Get);
    let (_, posted) = world.request();
    world.head(get, 200, SSE, None);
    world.events.clear();
    let progress = |token: &str, n: u32| {
        let method = r#""method":"notifications/progress""#;
        let params = format!(r#"{{"progressToken":{token},"progress":{n}}}"#);
        format!("id: k/{n}\ndata: {{\"jsonrpc\":\"2.0\",{method},\"params\":{params}}}\n\n")
    };
    world.body(get, &progress("\"theirs-7\"", 2));
    world.body(get, &progress("7", 3));
    world.body(get, &progress(&id_of(&posted), 4));
    let told: Vec<_> = world
        .events
        .iter()
        .filter(|(_, event)| matches!(event, Event::Progress { .. }))
        .map(|(of, _)| *of)
        .collect();
    assert_eq!(told[..2], [Some(call); 2]);
    let ours = told.get(2).copied().flatten();
    assert!(ours.is_none_or(|of| of == other), "a token of ours is whose it is");
    world.body(get, "id: k/5\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"theirs-7\",\"result\":{\"ok\":true}}\n\n");
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_session_is_recovering_once_however_often_another_is_begun_in_its_place() {
    let mut world = World::connected(options());
    let lost = world.safe_call();
    let (post, _) = world.request();
    world.head(post, 404, "", None);
    world.end(post);
    for _ in 0..2 {
        let (post, request) = world.request();
        assert!(request.body.as_deref().is_some_and(|body| body.contains("initialize")));
        world.head(post, 400, "", None);
        world.end(post);
        world.safe_call();
    }
    assert!(!world.is_pending(lost));
    assert_eq!(states(&world), [SessionState::Recovering], "a state is told when it is another");
    let (post, request) = world.request();
    world.head(post, 200, JSON, Some("s2"));
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},{GREETING}"#, id_of(&request)));
    world.end(post);
    let (post, _) = world.request();
    world.head(post, 202, "", None);
    assert_eq!(states(&world), [SessionState::Recovering, SessionState::Ready]);
}

#[test]
fn where_nothing_takes_the_place_of_a_lost_session_none_is_recovering() {
    let mut world = World::connected(Options { fail_lost_session: true, ..options() });
    let (open, id, post) = world.streaming();
    let lost = world.call();
    let (other, _) = world.request();
    world.head(other, 404, "", None);
    world.end(other);
    assert!(!world.is_pending(lost));
    world.body(post, &result(&id));
    assert!(world.answer(open).contains("ok"));
    assert_eq!(states(&world), []);
}

#[test]
fn the_session_of_a_client_that_is_carried_is_ready_when_its_handshake_is_answered_or_it_needs_none() {
    let mut world = World::carrying(options());
    assert_eq!(states(&world), []);
    let spec = CallSpec {
        method: "initialize".to_string(),
        params: r#"{"protocolVersion":"2025-11-25"}"#.to_string(),
        id: Some("0".to_string()),
        ..CallSpec::default()
    };
    world.call_with(spec);
    let (post, _) = world.request();
    assert_eq!(states(&world), [SessionState::Connecting]);
    world.head(post, 200, JSON, Some("s1"));
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":0,{GREETING}"#));
    world.end(post);
    assert_eq!(states(&world), [SessionState::Connecting, SessionState::Ready]);
    let mut world = World::carrying(options());
    world.call();
    assert_eq!(states(&world), [SessionState::Ready]);
}

#[test]
fn a_resume_that_takes_the_place_of_another_counts_what_it_brought_itself() {
    let (mut world, call, id, get) = resuming();
    world.head(get, 200, SSE, None);
    let (_, beside, request) = world.next_request();
    assert_eq!(request.method, Method::Get);
    world.head(beside, 200, SSE, None);
    world.events.clear();
    world.body(beside, &(note("2", "b") + &note("3", "c")));
    assert_eq!(world.names(), ["resumed", "disconnected:idle", "resumed", "message", "message"]);
    assert_eq!(resumed(&world), [(0, 0), (2, 0)]);
    world.body(beside, &result(&id));
    assert!(world.answer(call).contains("ok"));
}
