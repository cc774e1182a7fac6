//! What a session is given, is asked, and answers.

use crate::world::{header, note, options, World, JSON};
use landfall::proto::{Event, ExchangeId, Method, Options};

#[test]
fn a_session_that_a_failed_trial_began_is_ended() {
    let mut world = World::connected(options());
    let (call, _, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.cut(post);
    let trial = loop {
        let (_, exchange, request) = world.next_request();
        if request.body.as_deref().unwrap_or_default().contains("\"initialize\"") {
            break exchange;
        }
        world.head(exchange, 500, "", None);
        world.end(exchange);
    };
    world.head(trial, 200, JSON, Some("s2"));
    world.cut(trial);
    let deletes: Vec<_> =
        world.requests.iter().filter(|(_, request)| request.method == Method::Delete).collect();
    assert_eq!(deletes.len(), 1, "{:?}", world.requests);
    assert_eq!(header(&deletes[0].1, "mcp-session-id"), Some("s2"));
    assert!(world.is_pending(call));
}

#[test]
fn a_session_id_may_have_1_024_characters_and_no_more() {
    for (length, accepted) in [(1_024, true), (1_025, false)] {
        let mut world = World::new(Options { keep_session: true, ..options() });
        world.client.connect(world.now);
        world.drain();
        let (post, request) = world.request();
        let session = "s".repeat(length);
        world.head(post, 200, JSON, Some(&session));
        let id = crate::world::id_of(&request);
        world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{id},{}"#, crate::world::GREETING));
        world.end(post);
        let confirmed = world.requests.iter().any(|(_, r)| header(r, "mcp-session-id") == Some(&session));
        assert_eq!(confirmed, accepted, "{length}");
    }
}

fn ask(world: &mut World, stream: ExchangeId, id: usize, method: &str) {
    world.body(stream, &format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\"}}\n\n"));
}

fn answer(world: &mut World, id: usize) {
    world.client.answer(world.now, &format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}"));
    world.drain();
}

/// Takes all messages that wait to be sent: their bodies.
fn take_all(world: &mut World) -> Vec<String> {
    let mut bodies = Vec::new();
    while let Some((post, request)) = world.requests.pop_front() {
        bodies.extend(request.body);
        world.head(post, 202, "", None);
    }
    bodies
}

#[test]
fn pongs_give_way_to_an_answer_of_the_users() {
    let mut world = World::connected(options());
    let (_, _, stream) = world.streaming();
    ask(&mut world, stream, 5_000, "elicitation/create");
    for id in 0..1_100 {
        ask(&mut world, stream, id, "ping");
    }
    answer(&mut world, 5_000);
    let bodies = take_all(&mut world);
    assert_eq!(bodies.iter().filter(|body| body.contains("5000")).count(), 1);
    assert_eq!(bodies.len(), 1_008, "those under way, and those that may wait");
    assert!(!world.names().contains(&"answer_refused"));
}

#[test]
fn an_answer_that_finds_no_room_is_told() {
    let mut world = World::connected(options());
    let (_, _, stream) = world.streaming();
    for id in 0..1_010 {
        ask(&mut world, stream, id, "elicitation/create");
        answer(&mut world, id);
    }
    let refused = world.names().iter().filter(|name| **name == "answer_refused").count();
    assert_eq!(refused, 2);
    assert_eq!(take_all(&mut world).len(), 1_008);
}

#[test]
fn a_call_that_was_not_sent_when_its_session_died_is_no_re_issue_in_the_next_one() {
    let mut world = World::connected(Options { max_concurrent: Some(2.0), ..options() });
    let (first, waiting) = (world.call(), world.call());
    let (post, _) = world.request();
    world.head(post, 404, "", None);
    world.end(post);
    let (post, request) = world.request();
    world.head(post, 200, JSON, Some("s2"));
    let id = crate::world::id_of(&request);
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{id},{}"#, crate::world::GREETING));
    world.end(post);
    let (confirm, _) = world.request();
    world.head(confirm, 202, "", None);
    for call in [first, waiting] {
        assert!(world.is_pending(call));
    }
    let (post, request) = world.request();
    assert_eq!(header(&request, "mcp-session-id"), Some("s2"));
    world.head(post, 500, "", None);
    world.end(post);
    world.request();
    let again = |call| {
        let mut events = world.events.iter().filter(|(of, _)| *of == Some(call));
        events.any(|(_, event)| matches!(event, Event::Reissued { .. }))
    };
    assert!(again(first) && !again(waiting));
}
