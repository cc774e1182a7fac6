//! What is open of a session that is known to be dead: it is read on, and its call ends by that.

use crate::world::{header, id_of, note, options, result, World, GREETING, JSON, SSE};
use landfall::proto::{
    CallId, CallSpec, Event, ExchangeId, GapKind, Options, Outcome, Reason, Redirect, ResponseHead, Target,
};

/// A call that may run twice, whose stream is open.
fn safe(world: &mut World) -> (CallId, String, ExchangeId) {
    let call = world.call_with(CallSpec {
        method: "tools/call".to_string(),
        idempotent: true,
        progress: true,
        ..CallSpec::default()
    });
    let (post, request) = world.request();
    world.head(post, 200, SSE, None);
    (call, id_of(&request), post)
}

/// Another call learns that the server forgot the session.
fn dies(world: &mut World) -> CallId {
    let call = world.call();
    let (post, _) = world.request();
    world.head(post, 404, "", None);
    world.end(post);
    call
}

/// The handshake of the session that replaces it.
fn replaced(world: &mut World, session: &str) {
    let (post, request) = world.request();
    assert!(request.body.as_deref().is_some_and(|body| body.contains("\"initialize\"")), "{request:?}");
    world.head(post, 200, JSON, Some(session));
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},{GREETING}"#, id_of(&request)));
    world.end(post);
    let (post, _) = world.request();
    world.head(post, 202, "", None);
}

fn answered_in(world: &mut World, session: &str, call: CallId) {
    let (post, request) = world.request();
    assert_eq!((request.call, header(&request, "mcp-session-id")), (Some(call), Some(session)));
    world.head(post, 200, SSE, None);
    world.body(post, &result(&id_of(&request)));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_body_that_is_open_is_read_on_and_its_answer_settles_the_call_before_or_after_the_next_session() {
    for late in [false, true] {
        let mut world = World::connected(options());
        let streaming = [world.streaming(), safe(&mut world)];
        let plain = world.call();
        let (json, request) = world.request();
        world.head(json, 200, JSON, None);
        let refused = dies(&mut world);
        if late {
            replaced(&mut world, "s2");
            answered_in(&mut world, "s2", refused);
        }
        for (call, id, post) in &streaming {
            assert!(world.is_pending(*call) && !world.aborted.contains(post));
            world.body(*post, &note("7", "a"));
            world.body(*post, &result(id));
            assert!(world.answer(*call).contains("ok"));
        }
        world.body(json, &format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, id_of(&request)));
        world.end(json);
        assert!(world.answer(plain).contains("result"));
        if !late {
            replaced(&mut world, "s2");
            answered_in(&mut world, "s2", refused);
        }
        assert!(world.requests.is_empty());
        world.assert_nothing_is_left();
    }
}

#[test]
fn one_that_ends_without_the_answer_is_lost_or_goes_on_in_the_next_session_where_it_is_safe() {
    type End = fn(&mut World, ExchangeId);
    // Ids that came before or after it died are no place to resume at.
    let ends: [End; 4] = [
        |world, post| world.cut(post),
        |world, post| world.end(post),
        |world, post| {
            world.body(post, &note("8", "b"));
            world.end(post);
        },
        |world, _| world.pass(46_000),
    ];
    for end in ends {
        let mut world = World::connected(options());
        let (lost, _, first) = world.streaming();
        let (kept, _, second) = safe(&mut world);
        world.body(first, &note("1", "a"));
        world.body(second, &note("2", "a"));
        let refused = dies(&mut world);
        replaced(&mut world, "s2");
        answered_in(&mut world, "s2", refused);
        end(&mut world, first);
        end(&mut world, second);
        let failure = world.failure(lost);
        assert_eq!((failure.reason, failure.outcome), (Reason::SessionLost, Outcome::Unknown));
        answered_in(&mut world, "s2", kept);
        assert!(
            world.requests.is_empty(),
            "no cursor of a dead session is polled, and nothing is asked of it"
        );
        world.assert_nothing_is_left();
    }
}

#[test]
fn a_call_that_outlives_the_replacement_of_its_session_begins_another_or_ends() {
    for fail_lost_session in [false, true] {
        let mut world = World::connected(Options { fail_lost_session, ..options() });
        let (call, id, post) = safe(&mut world);
        let (answered, answered_id, other) = world.streaming();
        let refused = dies(&mut world);
        if !fail_lost_session {
            let (post, _) = world.request();
            world.head(post, 400, "", None);
            world.end(post);
        }
        assert_eq!(world.failure(refused).reason, Reason::SessionLost);
        assert!(world.is_pending(call) && world.is_pending(answered), "{id}");
        world.body(other, &result(&answered_id));
        assert!(world.answer(answered).contains("ok"));
        world.cut(post);
        if fail_lost_session {
            assert_eq!(world.failure(call).reason, Reason::SessionLost);
        } else {
            replaced(&mut world, "s2");
            answered_in(&mut world, "s2", call);
        }
        world.assert_nothing_is_left();
    }
}

#[test]
fn the_next_session_hears_nothing_of_it() {
    let mut world = World::connected(options());
    let (asks, _, post) = world.streaming();
    let ask = |id: u32, method: &str| {
        format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\"}}\n\n")
    };
    world.body(post, &ask(1, "roots/list"));
    assert_eq!(world.questions.len(), 1);
    let refused = dies(&mut world);
    assert_eq!(world.cancelled, ["1"], "nobody can answer it any more");
    replaced(&mut world, "s2");
    answered_in(&mut world, "s2", refused);
    world.client.answer(world.now, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    world.body(post, &ask(2, "ping"));
    world.body(post, &ask(3, "roots/list"));
    assert!(world.requests.is_empty() && world.questions.len() == 1);
    world.client.cancel(world.now, asks);
    world.drain();
    assert_eq!(world.failure(asks).reason, Reason::Cancelled);
    assert!(world.requests.is_empty(), "it knows of no such request");
    world.assert_nothing_is_left();
}

#[test]
fn a_call_that_hangs_in_a_dead_session_makes_the_next_one_no_suspect() {
    let mut world = World::connected(options());
    let (hangs, _, post) = world.streaming();
    let refused = dies(&mut world);
    replaced(&mut world, "s2");
    answered_in(&mut world, "s2", refused);
    for _ in 0..12 {
        world.pass(10_000);
        world.body(post, ": comment\n\n");
    }
    assert_eq!(world.failure(hangs).reason, Reason::CallTimeout);
    world.call();
    let (_, request) = world.request();
    assert!(request.body.is_some_and(|body| body.contains("tools/call")), "no ping before it");
}

#[test]
fn what_is_set_in_a_dead_session_is_set_in_the_next() {
    let mut world = World::connected(options());
    let method = "resources/subscribe".to_string();
    let params = r#"{"uri":"a"}"#.to_string();
    let call = world.call_with(CallSpec { method, params, ..CallSpec::default() });
    let (post, _) = world.request();
    world.head(post, 200, SSE, None);
    let refused = dies(&mut world);
    assert!(world.aborted.contains(&post));
    replaced(&mut world, "s2");
    answered_in(&mut world, "s2", call);
    answered_in(&mut world, "s2", refused);
}

#[test]
fn what_a_dead_session_says_of_its_tools_holds_for_no_other() {
    let mut world = World::connected(options());
    let list = world.call_with(CallSpec { method: "tools/list".to_string(), ..CallSpec::default() });
    let (post, request) = world.request();
    world.head(post, 200, JSON, None);
    let refused = dies(&mut world);
    let tools = r#"{"tools":[{"name":"t","annotations":{"readOnlyHint":true}}]}"#;
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},"result":{tools}}}"#, id_of(&request)));
    world.end(post);
    assert!(world.answer(list).contains("readOnlyHint"));
    replaced(&mut world, "s2");
    answered_in(&mut world, "s2", refused);
    let (call, _, post) = world.streaming();
    world.cut(post);
    assert_eq!(world.failure(call).reason, Reason::StreamLost);
}

#[test]
fn one_that_falls_silent_says_so_and_that_its_session_is_gone() {
    let mut world = World::connected(options());
    let (call, _, post) = world.streaming();
    world.body(post, &note("1", "a"));
    dies(&mut world);
    replaced(&mut world, "s2");
    world.pass(45_000);
    let failure = world.failure(call);
    assert_eq!(failure.reason, Reason::SessionLost);
    assert!(
        failure.text.contains("fell silent") && failure.text.contains("session is gone"),
        "{}",
        failure.text
    );
}

/// The host would go on from there in the next session, where the name may be another event's.
#[test]
fn nobody_is_told_where_a_stream_of_a_dead_session_could_be_resumed() {
    for replaces in [false, true] {
        let mut world = World::connected(options());
        let (call, id, post) = world.handling();
        world.body(post, &(note("1", "a") + &note("2", "b")));
        let keys = world.keys.clone();
        world.handled(call, keys[0], true);
        let refused = dies(&mut world);
        if replaces {
            replaced(&mut world, "s2");
            answered_in(&mut world, "s2", refused);
        }
        world.handled(call, keys[1], true);
        world.body(post, &("id: 3\n".to_string() + &result(&id)));
        assert!(world.answer(call).contains("ok"));
        assert_eq!(world.tokens, ["1"]);
    }
}

/// A call that was cut, and whose resume is open.
fn resumed(world: &mut World) -> (CallId, String, ExchangeId) {
    let (call, id, post) = world.streaming();
    world.body(post, &(note("a-1", "one") + &note("a-2", "two") + &note("a-3", "three")));
    world.cut(post);
    let (_, get, _) = world.next_request();
    world.head(get, 200, SSE, None);
    (call, id, get)
}

fn told(world: &World, text: &str) -> usize {
    world.messages.iter().filter(|message| message.contains(&format!("\"{text}\""))).count()
}

#[test]
fn a_body_that_a_resume_opened_is_read_on_and_what_it_repeats_is_dropped() {
    for late in [false, true] {
        let mut world = World::connected(options());
        let (_, _, other) = world.streaming();
        world.body(other, &note("b-1", "elsewhere"));
        let (call, id, get) = resumed(&mut world);
        let refused = dies(&mut world);
        if late {
            replaced(&mut world, "s2");
            answered_in(&mut world, "s2", refused);
        }
        world.body(get, &(note("a-3", "three") + &note("b-1", "elsewhere") + &note("a-4", "four")));
        world.body(get, &(note("a-4", "four") + &result(&id)));
        assert!(world.answer(call).contains("ok"));
        for text in ["one", "two", "three", "four", "elsewhere"] {
            assert_eq!(told(&world, text), 1, "{text}");
        }
        assert!(!world.names().contains(&"gap"));
        assert_eq!(world.client.metrics(false).duplicates, 3);
    }
}

#[test]
fn what_is_missing_on_it_is_told() {
    let mut world = World::connected(options());
    let (call, id, get) = resumed(&mut world);
    let refused = dies(&mut world);
    replaced(&mut world, "s2");
    answered_in(&mut world, "s2", refused);
    world.body(get, &(note("a-6", "six") + &result(&id)));
    assert!(world.answer(call).contains("ok"));
    let is_told = |event: &Event| matches!(event, Event::Gap { kind: GapKind::Missing, .. });
    assert!(world.events.iter().any(|(_, event)| is_told(event)));
}

#[test]
fn a_live_one_that_repeats_itself_is_not_heard_twice() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    dies(&mut world);
    world.body(post, &(note("1", "a") + &note("2", "b") + &note("2", "b") + &result(&id)));
    assert!(world.answer(call).contains("ok"));
    assert_eq!((told(&world, "a"), told(&world, "b")), (1, 1));
}

#[test]
fn its_ids_say_nothing_of_those_in_the_next_session() {
    let mut world = World::connected(options());
    let (call, id, get) = resumed(&mut world);
    dies(&mut world);
    replaced(&mut world, "s2");
    world.requests.clear();
    let (next, next_id, post) = world.streaming();
    world.body(post, &note("b-1", "next"));
    world.cut(post);
    world.body(get, &note("c-1", "of both"));
    let (_, again, _) = world.next_request();
    world.head(again, 200, SSE, None);
    world.body(again, &(note("c-1", "of both") + &result(&next_id)));
    world.body(get, &result(&id));
    assert!(world.answer(next).contains("ok") && world.answer(call).contains("ok"));
    assert_eq!(told(&world, "of both"), 2);
}

#[test]
fn one_whose_headers_are_still_to_come_is_read_on_or_refused_for_the_dead_session() {
    for status in [200, 401, 404, 307, 503] {
        let mut world = World::connected(options());
        let (call, id, post) = world.streaming();
        world.body(post, &note("1", "a"));
        world.cut(post);
        let (_, get, _) = world.next_request();
        world.pass(5_000);
        let (ping, request) = world.request();
        world.reply(ping, &request, "{}");
        let refused = dies(&mut world);
        replaced(&mut world, "s2");
        answered_in(&mut world, "s2", refused);
        assert!(world.is_pending(call));
        world.head(get, status, if status == 200 { SSE } else { "" }, None);
        if status == 200 {
            world.body(get, &(note("1", "a") + &result(&id)));
            assert!(world.answer(call).contains("ok"));
            assert_eq!(told(&world, "a"), 1);
        } else {
            assert_eq!(world.failure(call).reason, Reason::SessionLost);
        }
        assert!(world.requests.is_empty(), "nothing more is asked of a dead session");
        world.assert_nothing_is_left();
    }
}

#[test]
fn a_resumed_one_that_ends_is_not_resumed_again() {
    type End = fn(&mut World, ExchangeId);
    let ends: [End; 4] = [
        |world, get| world.cut(get),
        |world, get| world.end(get),
        |world, get| {
            world.body(get, &("retry: 500\n".to_string() + &note("a-4", "four")));
            world.end(get);
        },
        |world, _| world.pass(46_000),
    ];
    for end in ends {
        let mut world = World::connected(options());
        let (call, _, get) = resumed(&mut world);
        let refused = dies(&mut world);
        replaced(&mut world, "s2");
        answered_in(&mut world, "s2", refused);
        end(&mut world, get);
        assert_eq!(world.failure(call).reason, Reason::SessionLost);
        assert!(world.requests.is_empty());
        world.assert_nothing_is_left();
    }
}

#[test]
fn a_redirect_of_a_request_to_a_dead_session_is_not_followed_and_the_call_goes_on_in_the_next() {
    for status in [307, 303] {
        let mut world = World::connected(options());
        let call = world.call();
        let (post, request) = world.request();
        let refused = dies(&mut world);
        replaced(&mut world, "s2");
        answered_in(&mut world, "s2", refused);
        let target = Target { url: "https://server.test/other".to_string(), same_origin: true };
        let redirect = Some(Redirect::To(target));
        world.input_head(post, ResponseHead { status, redirect, ..ResponseHead::default() });
        // Who answers by any other may have run it.
        if status == 303 {
            let failure = world.failure(call);
            assert_eq!((failure.reason, failure.outcome), (Reason::SessionLost, Outcome::Unknown));
        } else {
            let (again, next) = world.request();
            assert_eq!((next.url.as_deref(), header(&next, "mcp-session-id")), (None, Some("s2")));
            assert_ne!(id_of(&next), id_of(&request));
            world.reply(again, &next, "{}");
            assert!(world.answer(call).contains("result"));
        }
        world.assert_nothing_is_left();
    }
}
