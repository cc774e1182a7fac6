//! Calls with a key, by which a relay knows a repeat in the same session.

use crate::world::{header, id_of, options, result, World, GREETING, JSON, SSE};
use landfall::proto::{CallId, CallSpec, ExchangeId, Options, Outcome, Reason, ReplayOption};

fn keyed(world: &mut World) -> (CallId, ExchangeId, String) {
    let call =
        world.call_with(CallSpec { method: "tools/call".to_string(), keyed: true, ..CallSpec::default() });
    let (post, request) = world.request();
    (call, post, id_of(&request))
}

#[test]
fn one_that_was_lost_is_sent_again_in_its_session() {
    for has_headers in [false, true] {
        let mut world = World::connected(options());
        let (call, post, first) = keyed(&mut world);
        if has_headers {
            world.head(post, 200, SSE, None);
        }
        world.cut(post);
        assert!(world.is_pending(call));
        let (_, post, request) = world.next_request();
        assert_ne!(id_of(&request), first);
        assert_eq!(header(&request, "mcp-session-id"), Some("s1"));
        world.head(post, 200, SSE, None);
        // The relay may answer under the id that it had first.
        world.body(post, &result(&first));
        assert!(world.answer(call).contains("ok"));
        world.assert_nothing_is_left();
    }
}

#[test]
fn in_another_session_nobody_would_know_it_again() {
    for is_planned in [false, true] {
        let mut world = World::connected(options());
        let (call, post, _) = keyed(&mut world);
        world.head(post, 200, SSE, None);
        if is_planned {
            world.cut(post);
        }
        let other = world.call();
        let (refused, _) = world.request();
        world.head(refused, 404, "", None);
        world.end(refused);
        if !is_planned {
            world.cut(post);
        }
        let failure = world.failure(call);
        assert_eq!((failure.reason, failure.outcome), (Reason::SessionLost, Outcome::Unknown));
        assert!(!failure.retry_safe, "another call would have another key");
        let (post, request) = world.request();
        world.head(post, 200, JSON, Some("s2"));
        world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},{GREETING}"#, id_of(&request)));
        world.end(post);
        assert!(world.is_pending(other));
    }
}

#[test]
fn who_wants_nothing_sent_again_is_obeyed() {
    let mut world = World::connected(Options { replay: ReplayOption::Never, ..options() });
    let (call, post, _) = keyed(&mut world);
    world.head(post, 200, SSE, None);
    world.cut(post);
    assert_eq!(world.failure(call).reason, Reason::StreamLost);
}
