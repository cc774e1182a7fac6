//! Names that are used twice, and how many of them are kept.

use crate::world::{header, note, options, World, SSE};
use landfall::proto::{CallId, CallSpec, Event, ExchangeId};

/// A carried request with this progress token, streaming.
fn with_token(world: &mut World, id: &str, token: &str) -> (CallId, ExchangeId) {
    let call = world.call_with(CallSpec {
        method: "tools/call".to_string(),
        meta: format!(r#"{{"progressToken":{token}}}"#),
        id: Some(id.to_string()),
        token: Some(token.to_string()),
        timed: true,
        ..CallSpec::default()
    });
    let (post, _) = world.request();
    world.head(post, 200, SSE, None);
    (call, post)
}

#[test]
fn a_progress_token_that_two_calls_use_is_the_later_ones_when_the_first_has_ended() {
    let mut world = World::carried(options());
    let (first, post) = with_token(&mut world, "11", "5");
    let (second, stream) = with_token(&mut world, "12", "5");
    let id = "11";
    world.body(post, &crate::world::result(id));
    assert!(world.answer(first).contains("ok"));
    world.events.clear();
    let params = r#"{"progressToken":5,"progress":1}"#;
    let method = "notifications/progress";
    world.body(
        stream,
        &format!("data: {{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params}}}\n\n"),
    );
    assert!(
        matches!(world.events[..], [(Some(call), Event::Progress { .. })] if call == second),
        "{:?}",
        world.events
    );
}

/// How many of the first events of a long stream a resume may repeat unnoticed.
fn repeated(events: usize) -> usize {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    for n in 0..events {
        world.body(post, &note(&format!("x{n}x"), &format!("{n}")));
    }
    world.cut(post);
    let (_, get, request) = world.next_request();
    assert_eq!(header(&request, "last-event-id"), Some(format!("x{}x", events - 1).as_str()));
    world.head(get, 200, SSE, None);
    let before = world.messages.len();
    world.body(get, &note("x0x", "other"));
    world.messages.len() - before
}

#[test]
fn the_ids_of_the_last_4_096_events_are_known_to_a_resume() {
    assert_eq!(repeated(4_096), 0, "the oldest is still known");
    assert_eq!(repeated(4_097), 1, "and is the first to be forgotten");
}

#[test]
fn an_event_id_may_have_1_024_bytes_and_no_more() {
    for (length, resumable) in [(1_024, true), (1_025, false)] {
        let mut world = World::connected(options());
        let (call, _, post) = world.streaming();
        world.body(post, &note(&"e".repeat(length), "a"));
        world.cut(post);
        assert_eq!(world.is_pending(call), resumable, "{length}");
        if resumable {
            let (_, _, request) = world.next_request();
            assert_eq!(header(&request, "last-event-id").map(str::len), Some(length));
        }
    }
}
