//! What a resume brings again, and events that came broken.

use crate::world::{header, note, options, result, World, SSE};
use landfall::proto::{Event, ExchangeId, Reason};

/// The next resume, under way.
fn resume(world: &mut World) -> ExchangeId {
    world.next_request().1
}

#[test]
fn what_was_delivered_is_dropped_when_a_resume_repeats_it() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, &(note("1", "a") + &note("2", "b")));
    world.cut(post);
    let get = resume(&mut world);
    world.head(get, 200, SSE, None);
    world.body(get, &(note("1", "a") + &note("2", "b") + &note("3", "c")));
    assert_eq!(world.messages.len(), 3);
    assert!(world.events.iter().any(|(_, e)| matches!(e, Event::Resumed { replayed: 3, duplicates: 2, .. })));
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn equal_ids_on_a_live_stream_are_no_repeats() {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    world.body(post, &(note("1", "a") + &note("1", "b")));
    assert_eq!(world.messages.len(), 2);
}

#[test]
fn a_broken_event_holds_the_cursor_before_it_and_a_second_broken_copy_is_final() {
    let mut world = World::connected(options());
    let (call, _, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.body(post, "id: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"resu\n\n");
    world.body(post, &note("3", "c"));
    world.end(post);
    let (_, get, request) = world.next_request();
    assert_eq!(header(&request, "last-event-id"), Some("1"));
    world.head(get, 200, SSE, None);
    world.body(get, "id: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"resu\n\n");
    world.body(get, &note("3", "c"));
    assert_eq!(world.messages.len(), 2, "the event after the broken one is not delivered again");
    world.end(get);
    assert_eq!(world.failure(call).reason, Reason::MalformedResponse);
}

#[test]
fn an_array_of_notifications_is_a_repeat_as_any_event_is() {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    let message = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
    let array = format!("id: 1\ndata: [{message},{message}]\n\n");
    world.body(post, &array);
    world.cut(post);
    let get = resume(&mut world);
    world.head(get, 200, SSE, None);
    world.body(get, &array);
    assert_eq!(world.messages.len(), 2);
}

#[test]
fn a_replayed_priming_block_does_not_move_the_cursor_back() {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    world.body(post, &("id: p\ndata:\n\n".to_string() + &note("2", "a")));
    world.cut(post);
    let get = resume(&mut world);
    world.head(get, 200, SSE, None);
    world.body(get, &("id: p\ndata:\n\n".to_string() + &note("2", "a")));
    world.cut(get);
    let (_, _, request) = world.next_request();
    assert_eq!(header(&request, "last-event-id"), Some("2"));
}

#[test]
fn after_a_broken_event_was_healed_the_cursor_is_behind_all_that_was_handled() {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    world.body(post, &(note("1", "a") + "id: 2\ndata: {\n\n" + &note("3", "c")));
    world.cut(post);
    let get = resume(&mut world);
    world.head(get, 200, SSE, None);
    world.body(get, &(note("2", "b") + &note("3", "c")));
    assert_eq!(world.messages.len(), 3);
    world.cut(get);
    let (_, _, request) = world.next_request();
    assert_eq!(header(&request, "last-event-id"), Some("3"));
}

#[test]
fn behind_a_broken_first_event_its_stream_is_resumed() {
    for rest in [String::new(), note("2", "b")] {
        let mut world = World::connected(options());
        let (call, id, post) = world.streaming();
        world.body(post, &("id: 1\ndata: {\n\n".to_string() + &rest));
        world.cut(post);
        let (_, get, request) = world.next_request();
        let place = if rest.is_empty() { "1" } else { "2" };
        assert_eq!(header(&request, "last-event-id"), Some(place));
        world.head(get, 200, SSE, None);
        world.body(get, &(note("1", "given up") + &note("3", "c") + &result(&id)));
        assert!(world.answer(call).contains("ok"));
        let told = world.messages.join("");
        assert!(told.contains("\"c\"") && !told.contains("given up"), "{told}");
        assert!(world.names().contains(&"malformed_event"));
        world.assert_nothing_is_left();
    }
}

/// A server that sends an event again on the stream that has brought it.
#[test]
fn a_live_stream_that_repeats_itself_is_not_heard_twice_and_the_same_id_with_other_data_is_new() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(
        post,
        &(note("1", "a") + &note("1", "a") + &note("2", "b") + &note("1", "a") + &note("1", "c")),
    );
    assert_eq!(world.messages.len(), 3);
    assert_eq!(world.client.metrics(false).duplicates, 2);
    let block = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n";
    world.body(post, &block.repeat(2));
    assert_eq!(world.messages.len(), 5, "what has no id is always new");
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn what_other_streams_have_brought_is_dropped_when_a_resume_replays_it() {
    let mut world = World::connected(options());
    let streams: Vec<_> = (0..3).map(|_| world.streaming()).collect();
    let mut all = String::new();
    for (n, (_, _, post)) in streams.iter().enumerate() {
        for event in 1..=3 {
            let event = note(&format!("s{n}-{event}"), "x");
            world.body(*post, &event);
            all += &event;
        }
    }
    let (call, id, post) = &streams[1];
    world.cut(*post);
    let get = resume(&mut world);
    world.head(get, 200, SSE, None);
    world.body(get, &(all + &note("s1-4", "x")));
    assert_eq!(world.messages.len(), 10);
    assert_eq!(world.client.metrics(false).duplicates, 9);
    world.body(get, &result(id));
    assert!(world.answer(*call).contains("ok"));
}

#[test]
fn where_ids_are_those_of_each_stream_only_the_stream_itself_is_asked() {
    let mut world = World::connected(options());
    let (_, _, other) = world.streaming();
    world.body(other, &(note("1", "x") + &note("2", "x") + &note("3", "x")));
    let (_, _, post) = world.streaming();
    world.body(post, &note("1", "x"));
    assert_eq!(world.messages.len(), 4);
    world.cut(post);
    let get = resume(&mut world);
    world.head(get, 200, SSE, None);
    world.body(get, &(note("1", "x") + &note("2", "x") + &note("3", "x")));
    assert_eq!(world.messages.len(), 6);
    assert_eq!(world.client.metrics(false).duplicates, 1);
}

#[test]
fn an_event_of_another_session_is_no_repeat() {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    world.body(post, &note("a/1", "x"));
    let safe = landfall::proto::CallSpec {
        method: "tools/call".to_string(),
        idempotent: true,
        ..landfall::proto::CallSpec::default()
    };
    let call = world.call_with(safe);
    let (refused, _) = world.request();
    world.head(refused, 404, "", None);
    world.end(refused);
    let (hello, request) = world.request();
    let id = crate::world::id_of(&request);
    world.head(hello, 200, crate::world::JSON, Some("s2"));
    world.body(hello, &format!(r#"{{"jsonrpc":"2.0","id":{id},{}"#, crate::world::GREETING));
    world.end(hello);
    let (confirm, _) = world.request();
    world.head(confirm, 202, "", None);
    let (post, _) = world.request();
    world.head(post, 200, SSE, None);
    world.body(post, "id: b/0\n\n");
    world.cut(post);
    let get = resume(&mut world);
    world.head(get, 200, SSE, None);
    world.body(get, &note("a/1", "x"));
    assert_eq!(world.messages.len(), 2);
    assert!(world.is_pending(call));
}

/// A server whose ids begin anew on one stream.
#[test]
fn an_event_whose_handler_failed_comes_again_and_another_under_the_same_id_does_not() {
    let mut world = World::connected(options());
    let (call, id, post) = world.handling();
    world.body(post, &[note("1", "a"), note("2", "b"), note("1", "c"), note("2", "d")].concat());
    for (key, ok) in world.keys.clone().into_iter().zip([true, true, true, false]) {
        world.handled(call, key, ok);
    }
    world.cut(post);
    let (_, get, request) = world.next_request();
    assert_eq!(header(&request, "last-event-id"), Some("1"));
    world.messages.clear();
    world.head(get, 200, SSE, None);
    world.body(get, &(note("2", "b") + &note("1", "c") + &note("2", "d")));
    assert_eq!(world.messages.len(), 1);
    assert!(world.messages[0].contains("\"d\""), "{:?}", world.messages);
    let again = *world.keys.last().expect("it was handed out");
    world.handled(call, again, true);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
    assert!(!world.names().contains(&"event_skipped"));
}

#[test]
fn a_block_that_only_has_the_id_of_a_failed_event_is_not_that_event() {
    let mut world = World::connected(options());
    let (call, id, post) = world.handling();
    world.body(post, &(note("1", "a") + &note("2", "b")));
    for (key, ok) in world.keys.clone().into_iter().zip([true, false]) {
        world.handled(call, key, ok);
    }
    world.body(post, "id: 2\n\n");
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
    assert!(world.names().contains(&"event_skipped"));
}

#[test]
fn behind_a_broken_event_what_the_stream_brought_under_the_same_id_is_a_repeat() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, &(note("1", "a") + "id: 1\ndata: {\n\n"));
    world.cut(post);
    let get = resume(&mut world);
    world.head(get, 200, SSE, None);
    world.body(get, &(note("1", "a") + &note("1", "b") + &result(&id)));
    assert!(world.answer(call).contains("ok"));
    assert_eq!(world.messages.len(), 2);
    assert!(world.messages[1].contains("\"b\""), "{:?}", world.messages);
}

#[test]
fn a_live_stream_that_uses_the_id_of_a_failed_event_anew_brings_another_event() {
    let mut world = World::connected(options());
    let (call, id, post) = world.handling();
    world.body(post, &note("1", "a"));
    world.handled(call, world.keys[0], false);
    world.body(post, &note("1", "b"));
    world.handled(call, world.keys[1], true);
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
    assert_eq!(world.names().iter().filter(|name| **name == "event_skipped").count(), 1);
}
