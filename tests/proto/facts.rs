//! What is known of a session: told as it changes, and enough for another client to go on (ARCHITECTURE.md, "Sessions
//! and eras").

use crate::modern::modern;
use crate::world::{header, id_of, known_session, options, World, GREETING, JSON};
use landfall::proto::{CallSpec, Era, Event, Options, Redirect, ResponseHead, SessionFacts, Target};

const HELLO: &str =
    r#"{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"2"}}"#;

fn last(world: &World) -> SessionFacts {
    world.facts.last().cloned().expect("it was told")
}

/// The client that a trap makes necessary.
fn next(world: &World, options: Options) -> World {
    let mut next = World::new(Options { resume: Some(last(world)), ..options });
    next.client.connect(next.now);
    next.drain();
    next
}

#[test]
fn a_session_is_told_once_it_is_confirmed_and_another_client_goes_on_with_it() {
    let mut world = World::new(options());
    world.client.connect(world.now);
    world.drain();
    let (post, request) = world.request();
    let id = id_of(&request);
    world.head(post, 200, JSON, Some("s1"));
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{id},{GREETING}"#));
    world.end(post);
    assert!(world.facts.is_empty(), "it is not confirmed");
    let (post, _) = world.request();
    world.head(post, 202, "", None);
    let greeting = format!(r#"{{"jsonrpc":"2.0","id":{id},{GREETING}"#);
    let known = known_session(Some("s1"), Some("2025-11-25"), Some(&greeting));
    assert_eq!(world.facts, [SessionFacts { era: Some(Era::Legacy), ..known }]);
    let mut next = next(&world, options());
    assert!(next.ready.is_some() && next.facts.is_empty(), "there is no news for the host");
    next.call();
    let (_, request) = next.request();
    assert_eq!(header(&request, "mcp-session-id"), Some("s1"));
    assert_eq!(header(&request, "mcp-protocol-version"), Some("2025-11-25"));
}

#[test]
fn a_clients_session_is_told_with_what_it_said_and_each_change_of_it() {
    let mut world = World::carrying(options());
    assert!(world.facts.is_empty());
    world.client_initializes("0", Some("s1"));
    let facts = last(&world);
    assert_eq!((facts.session_id.as_deref(), facts.hello.as_deref()), (Some("s1"), Some(HELLO)));
    assert!(facts.greeting.is_some_and(|greeting| greeting.contains("capabilities")));
    world.client.set_version(world.now, "2025-06-18");
    world.client.set_version(world.now, "2025-06-18");
    world.drain();
    assert_eq!(last(&world).protocol_version.as_deref(), Some("2025-06-18"));
    assert_eq!(world.facts.len(), 2);
    world.client.terminate(world.now);
    world.drain();
    let (delete, _) = world.request();
    world.head(delete, 200, "", None);
    assert_eq!(last(&world).session_id, None);
    assert_eq!(last(&world).hello.as_deref(), Some(HELLO));
}

#[test]
fn a_clients_session_goes_on_elsewhere_and_is_replaced_in_its_words() {
    let first = World::carried(options());
    let mut world = next(&first, Options { carry: true, ..options() });
    let call = world.call_with(CallSpec {
        method: "tools/list".to_string(),
        id: Some("3".to_string()),
        ..CallSpec::default()
    });
    let (post, request) = world.request();
    assert_eq!(header(&request, "mcp-session-id"), Some("s1"));
    world.head(post, 404, "", None);
    world.end(post);
    let (post, request) = world.request();
    assert!(request.body.as_deref().is_some_and(|body| body.contains(HELLO)), "{:?}", request.body);
    let id = id_of(&request);
    world.head(post, 200, JSON, Some("s2"));
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{id},{GREETING}"#));
    world.end(post);
    assert!(world.facts.is_empty(), "the old one is what is known until the new one stands");
    let (post, _) = world.request();
    world.head(post, 202, "", None);
    assert_eq!(last(&world).session_id.as_deref(), Some("s2"));
    assert_eq!(last(&world).hello.as_deref(), Some(HELLO));
    let replaced = Event::SessionReplaced { capabilities_changed: false };
    assert!(world.events.contains(&(Some(call), replaced)), "the greeting says what the server could do");
}

#[test]
fn the_endpoint_that_a_browser_hides_is_not_sought_again() {
    let mut world = World::connected(options());
    let call = world.call_with(CallSpec {
        method: "tools/list".to_string(),
        idempotent: true,
        ..CallSpec::default()
    });
    let (post, _) = world.request();
    world.input_head(post, ResponseHead { redirect: Some(Redirect::Hidden), ..ResponseHead::default() });
    let (scout, _) = world.request();
    let target = Target { url: "http://h/mcp/".to_string(), same_origin: true };
    let found =
        ResponseHead { status: 405, redirect: Some(Redirect::Followed(target)), ..ResponseHead::default() };
    world.input_head(scout, found);
    assert_eq!(last(&world).location.as_deref(), Some("http://h/mcp/"));
    assert!(world.is_pending(call));
    let mut next = next(&world, options());
    next.call();
    assert_eq!(next.request().1.url.as_deref(), Some("http://h/mcp/"));
}

#[test]
fn that_a_client_speaks_modern_is_told_once() {
    let mut world = World::carrying(options());
    world.call_with(modern("tools/call"));
    world.call_with(CallSpec { id: Some("2".to_string()), ..modern("tools/list") });
    assert_eq!(world.facts, [SessionFacts { era: Some(Era::Modern), ..SessionFacts::default() }]);
    let mut world = World::carried(options());
    let told = world.facts.len();
    world.call_with(modern("tools/call"));
    assert_eq!(world.facts.len(), told, "it has a session");
}

#[test]
fn what_looks_modern_is_a_message_like_others_where_no_client_speaks() {
    let mut world = World::connected(options());
    world.call_with(CallSpec { id: None, timed: false, ..modern("tools/call") });
    let (_, request) = world.request();
    assert_eq!(header(&request, "mcp-session-id"), Some("s1"));
    assert_eq!(header(&request, "mcp-name"), None);
}
