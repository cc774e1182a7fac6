//! Handle, then commit: what a resume asks for while handlers work, fail, or never return.

use crate::world::{header, note, options, result, World, SSE};
use landfall::proto::{CallSpec, Event, Input, Options, Reason};

/// Cuts the stream: the cursor that the resume asks with, and its exchange.
fn cut(world: &mut World, exchange: landfall::proto::ExchangeId) -> (String, landfall::proto::ExchangeId) {
    world.cut(exchange);
    let (_, get, request) = world.next_request();
    let cursor = header(&request, "last-event-id").unwrap().to_string();
    world.head(get, 200, SSE, None);
    (cursor, get)
}

#[test]
fn the_cursor_is_the_last_id_before_the_first_event_that_was_not_handled() {
    let mut world = World::connected(options());
    let (call, id, post) = world.handling();
    world.body(post, &(note("1", "a") + &note("2", "b") + &note("3", "c")));
    let keys = world.keys.clone();
    world.handled(call, keys[0], true);
    world.handled(call, keys[2], true);
    assert_eq!(world.tokens, ["1"]);
    let (cursor, get) = cut(&mut world, post);
    assert_eq!(cursor, "1");
    world.body(get, &(note("2", "b") + &note("3", "c") + &note("4", "d")));
    assert_eq!(world.messages.len(), 4, "what is in hand or was handled is not handed out again");
    world.handled(call, keys[1], true);
    assert_eq!(world.tokens, ["1", "2", "3"][..1].iter().copied().chain(["3"]).collect::<Vec<_>>());
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"), "a response waits for no handler");
}

#[test]
fn an_event_whose_handler_failed_comes_again_with_the_next_resume_once() {
    let mut world = World::connected(options());
    let (call, id, post) = world.handling();
    world.body(post, &(note("1", "a") + &note("2", "b") + &note("3", "c")));
    let keys = world.keys.clone();
    world.handled(call, keys[0], true);
    world.handled(call, keys[1], false);
    world.handled(call, keys[2], true);
    assert!(world.requests.is_empty(), "no resume is made for it");
    let (cursor, get) = cut(&mut world, post);
    assert_eq!(cursor, "1");
    world.body(get, &(note("2", "b") + &note("3", "c")));
    assert_eq!(world.messages.len(), 4);
    let again = *world.keys.last().unwrap();
    world.handled(call, again, false);
    assert!(world
        .events
        .iter()
        .any(|(_, e)| matches!(e, Event::EventSkipped { event_id: Some(id) } if id == "2")));
    let (cursor, get) = cut(&mut world, get);
    assert_eq!(cursor, "3");
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
    assert_eq!(world.names().iter().filter(|name| **name == "event_skipped").count(), 1);
}

#[test]
fn an_event_that_failed_comes_again_under_the_id_of_a_block_without_data_that_still_waits() {
    let mut world = World::connected(options());
    let (call, id, post) = world.handling();
    world.body(post, &(note("1", "a") + "id: 2\n\n" + &note("2", "b")));
    let keys = world.keys.clone();
    world.handled(call, keys[1], false);
    let (cursor, get) = cut(&mut world, post);
    assert_eq!(cursor, "1");
    world.body(get, &("id: 2\n\n".to_string() + &note("2", "b")));
    let again = *world.keys.last().unwrap();
    assert_eq!(world.messages.len(), 3);
    world.handled(call, again, true);
    world.handled(call, keys[0], true);
    assert_eq!(world.tokens.last().map(String::as_str), Some("2"));
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
    assert!(!world.names().contains(&"event_skipped"), "it was handled at the second time");
}

#[test]
fn an_event_that_failed_and_did_not_come_again_is_reported_before_the_outcome() {
    let mut world = World::connected(options());
    let (call, id, post) = world.handling();
    world.body(post, &note("1", "a"));
    let key = world.keys[0];
    world.handled(call, key, false);
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
    assert_eq!(world.names().last(), Some(&"event_skipped"));
    assert_eq!(world.client.metrics(false).skipped, 1);
}

#[test]
fn with_nothing_handled_yet_the_stream_is_resumed_behind_the_first_event_in_hand() {
    let mut world = World::connected(options());
    let (call, id, post) = world.handling();
    world.body(post, &(note("1", "a") + &note("2", "b")));
    let (cursor, get) = cut(&mut world, post);
    assert_eq!(cursor, "1");
    world.body(get, &(note("2", "b") + &note("3", "c") + &result(&id)));
    assert_eq!(world.messages.len(), 3);
    assert!(world.answer(call).contains("ok"));
}

/// They failed as `stream_lost`, though the handler of the next event was done a moment later.
#[test]
fn behind_an_id_that_can_not_be_asked_with_the_stream_is_resumed_behind_the_first_event_in_hand() {
    // `id:  x` is " x", with white space at an edge: no header carries that. An empty one clears the cursor.
    for (odd, handled) in [(" x", true), (" x", false), ("", true), ("", false)] {
        let mut world = World::connected(options());
        let (call, id, post) = world.handling();
        world.body(post, &(note("1", "a") + &note(odd, "b") + &note("3", "c") + &note("4", "d")));
        let keys = world.keys.clone();
        let done = if handled { 2 } else { 1 };
        keys[..done].iter().for_each(|key| world.handled(call, *key, true));
        let (cursor, get) = cut(&mut world, post);
        let expected = if odd == " x" && !handled { "1" } else { "3" };
        assert_eq!(cursor, expected, "{odd:?}, handled: {handled}");
        world.handled(call, keys[2], false);
        world.body(get, &result(&id));
        assert!(world.answer(call).contains("ok"));
        assert!(world.names().contains(&"event_skipped"), "it could not come again");
    }
}

#[test]
fn a_slow_consumers_body_is_paused_and_its_clocks_rest() {
    let mut world = World::connected(Options { max_pending_events: Some(3.0), ..options() });
    let (call, id, post) = world.handling();
    world.body(post, &(note("1", "a") + &note("2", "b")));
    assert!(world.paused.is_empty());
    world.body(post, &note("3", "c"));
    assert_eq!(world.paused, [post]);
    world.pass(400_000);
    assert!(world.is_pending(call) && !world.names().contains(&"suspect"));
    let key = world.keys[0];
    world.handled(call, key, true);
    assert!(world.paused.is_empty());
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
    world.assert_nothing_is_left();
}

#[test]
fn a_call_can_go_on_from_a_token_that_another_client_kept() {
    let mut world = World::connected(options());
    let call = world.call_with(CallSpec {
        method: "tools/call".to_string(),
        resumption_token: Some("k7".to_string()),
        wants_tokens: true,
        ..CallSpec::default()
    });
    let (get, request) = world.request();
    assert_eq!(header(&request, "last-event-id"), Some("k7"));
    world.head(get, 200, SSE, None);
    world.body(get, &note("k8", "a"));
    world.cut(get);
    let (_, get, request) = world.next_request();
    assert_eq!(header(&request, "last-event-id"), Some("k8"));
    world.head(get, 200, SSE, None);
    world.body(get, &result("\"of-another-client\""));
    assert!(world.answer(call).contains("ok"));
    assert_eq!(world.tokens, ["k8"]);
    let call = world.call_with(CallSpec {
        method: "tools/call".to_string(),
        resumption_token: Some("bad\ntoken".to_string()),
        ..CallSpec::default()
    });
    assert_eq!(world.failure(call).reason, Reason::ResumeRejected);
    world.assert_nothing_is_left();
}

#[test]
fn a_handler_that_fails_when_its_stream_was_given_up_is_reported_at_once() {
    let mut world = World::connected(options());
    let call = world.call_with(CallSpec {
        method: "tools/call".to_string(),
        idempotent: true,
        reports_handling: true,
        ..CallSpec::default()
    });
    let (post, _) = world.request();
    world.head(post, 200, SSE, None);
    world.body(post, &(note("1", "a") + &note("2", "b") + &note("3", "c")));
    let keys = world.keys.clone();
    world.handled(call, keys[0], true);
    world.cut(post);
    let (_, get, _) = world.next_request();
    world.head(get, 405, "", None); // it can't be resumed, and is sent again
    world.handled(call, keys[1], false);
    world.handled(call, keys[1], false);
    let (_, post, request) = world.next_request();
    world.handled(call, keys[2], false);
    let skipped = |world: &World| -> Vec<Option<String>> {
        let ids = world.events.iter().filter_map(|(_, event)| match event {
            Event::EventSkipped { event_id } => Some(event_id.clone()),
            _ => None,
        });
        ids.collect()
    };
    assert_eq!(skipped(&world), [Some("2".to_string()), Some("3".to_string())], "each once");
    world.head(post, 200, SSE, None);
    world.body(post, &result(&crate::world::id_of(&request)));
    assert!(world.answer(call).contains("ok"));
    assert_eq!(world.client.metrics(false).skipped, 2);
    world.assert_nothing_is_left();
}

#[test]
fn a_handler_that_failed_is_told_where_the_answer_came_in_the_same_bytes() {
    let mut world = World::connected(options());
    let (call, id, post) = world.handling();
    let block = |n| note(&format!("e/{n}"), "x");
    world.body(post, &[block(1), block(2), block(3), result(&id)].concat());
    assert!(world.answer(call).contains("ok"));
    let keys = world.keys.clone();
    world.handled(call, keys[0], true);
    world.handled(call, keys[1], false);
    world.handled(call, keys[1], false);
    let skipped = |world: &World| {
        let id = |(_, event): &(_, Event)| match event {
            Event::EventSkipped { event_id } => event_id.clone(),
            _ => None,
        };
        world.events.iter().filter_map(id).collect::<Vec<_>>()
    };
    assert_eq!(skipped(&world), ["e/2"]);
    assert_eq!(world.client.metrics(false).skipped, 1);
    world.pass(1);
    world.client.handle_input(world.now, Input::Timeout);
    world.handled(call, keys[2], false);
    assert_eq!(skipped(&world).len(), 1, "the outcome was told");
}

#[test]
fn a_run_of_reports_counts_as_each_of_them() {
    let mut world = World::connected(options());
    let (call, _, post) = world.handling();
    for n in 1..=5 {
        world.body(post, &note(&format!("e/{n}"), "x"));
    }
    let keys = world.keys.clone();
    assert_eq!(keys, [1, 2, 3, 4, 5], "the keys of a call count up by one");
    world.client.handled(world.now, call, 1..=2, true);
    world.client.handled(world.now, call, 4..=9, true);
    world.drain();
    assert_eq!(world.tokens, ["e/1", "e/2"], "each cursor is told");
    world.client.handled(world.now, call, 0..=u32::MAX, true);
    world.drain();
    assert_eq!(world.tokens, ["e/1", "e/2", "e/5"]);
}

/// An array of three notifications, under this id.
fn three(id: &str) -> String {
    let message = |n: u32| format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{{"n":{n}}}}}"#);
    format!("id: {id}\ndata: [{},{},{}]\n\n", message(1), message(2), message(3))
}

#[test]
fn each_notification_of_an_array_is_reported_by_itself_and_the_one_that_failed_comes_again() {
    let mut world = World::connected(options());
    let (call, id, post) = world.handling();
    world.body(post, &(note("1", "a") + &three("2") + &note("3", "b")));
    let keys = world.keys.clone();
    assert_eq!(keys, [1, 2, 3, 4, 5]);
    for (key, ok) in [(1, true), (2, true), (3, false), (4, true), (5, true)] {
        world.handled(call, key, ok);
    }
    let (cursor, get) = cut(&mut world, post);
    assert_eq!(cursor, "1", "one of the array was not handled");
    world.body(get, &(three("2") + &note("3", "b")));
    assert_eq!(world.messages.len(), 6);
    assert!(world.messages[5].contains("\"n\":2"), "the others were handled: {}", world.messages[5]);
    world.handled(call, world.keys[5], false);
    let skipped = |(_, event): &(Option<_>, Event)| match event {
        Event::EventSkipped { event_id } => event_id.clone(),
        _ => None,
    };
    assert_eq!(world.events.iter().filter_map(skipped).collect::<Vec<_>>(), ["2"]);
    let (cursor, get) = cut(&mut world, get);
    assert_eq!(cursor, "3");
    world.body(get, &result(&id));
    assert_eq!(world.client.metrics(false).duplicates, 3, "two of the array, and what followed it");
}

#[test]
fn a_notification_in_one_array_with_the_answer_is_reported_also_where_the_answer_is_a_document() {
    for document in [false, true] {
        let mut world = World::connected(options());
        let call = world.call_with(CallSpec {
            method: "tools/call".to_string(),
            reports_handling: true,
            ..CallSpec::default()
        });
        let (post, request) = world.request();
        let id = crate::world::id_of(&request);
        let note = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
        let text = format!(r#"[{note},{{"jsonrpc":"2.0","id":{id},"result":1}}]"#);
        if document {
            world.head(post, 200, "application/json", None);
            world.body(post, &text);
            world.end(post);
        } else {
            world.head(post, 200, SSE, None);
            world.body(post, &format!("id: 1\ndata: {text}\n\n"));
        }
        assert!(world.answer(call).contains('1'));
        assert!(!world.names().contains(&"event_skipped"));
        world.handled(call, world.keys[0], false);
        assert!(world.names().contains(&"event_skipped"), "document: {document}");
    }
}

#[test]
fn an_event_in_hand_stays_in_hand_behind_however_many_blocks_without_data() {
    let mut world = World::connected(options());
    let (call, id, post) = world.handling();
    world.body(post, &(note("1", "a") + &note("2", "b")));
    let keys = world.keys.clone();
    world.handled(call, keys[0], true);
    for n in 0..6_000 {
        world.body(post, &format!("id: idle-{n}\n\n"));
    }
    assert_eq!(world.tokens, ["1"]);
    let (cursor, get) = cut(&mut world, post);
    assert_eq!(cursor, "1");
    world.body(get, &(note("2", "b") + "id: idle-0\n\nid: idle-5999\n\n"));
    assert_eq!(world.messages.len(), 2, "it is in hand");
    world.handled(call, keys[1], true);
    assert_eq!(world.tokens, ["1", "idle-5999"], "all that waited behind it is passed");
    world.body(get, &result(&id));
    assert!(!world.names().contains(&"event_skipped"));
}

#[test]
fn an_event_that_failed_and_that_thousands_of_blocks_follow_is_given_up_and_told() {
    let mut world = World::connected(options());
    let (call, _, post) = world.handling();
    world.body(post, &note("1", "a"));
    world.handled(call, world.keys[0], false);
    for n in 0..4_096 {
        assert!(!world.names().contains(&"event_skipped"), "{n}");
        world.body(post, &format!("id: idle-{n}\n\n"));
    }
    let skipped = |(_, event): &(Option<_>, Event)| matches!(event, Event::EventSkipped { event_id: Some(id) } if id == "1");
    assert_eq!(world.events.iter().filter(|event| skipped(event)).count(), 1);
    assert_eq!(world.tokens.last().map(String::as_str), Some("idle-4095"));
}
