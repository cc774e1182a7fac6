//! Lost calls of tools that were never listed: the server is asked once whether they may run twice.

use crate::world::{header, id_of, note, options, result, World, SSE};
use landfall::proto::{CallId, CallSpec, HttpRequest, Options, Outcome, Reason, ReplayOption};

const SAFE: &str = r#"[{"name":"u"},{"name":"t","annotations":{"readOnlyHint":true}}]"#;
const UNSAFE: &str = r#"[{"name":"t"}]"#;

/// A world whose tests answer `tools/list`.
fn world(options: Options) -> World {
    let mut world = World::connected(options);
    world.lists = true;
    world
}

fn is(request: &HttpRequest, method: &str) -> bool {
    request.body.as_deref().unwrap_or_default().contains(&format!("\"{method}\""))
}

fn tell(world: &mut World, tools: &str) {
    let (list, request) = world.request();
    assert!(is(&request, "tools/list"), "{request:?}");
    world.reply(list, &request, &format!(r#"{{"tools":{tools}}}"#));
}

/// A call whose body ended before any event id.
fn lost(world: &mut World) -> CallId {
    let (call, _, post) = world.streaming();
    world.cut(post);
    call
}

#[test]
fn where_a_call_would_fail_for_want_of_hints_the_tools_are_listed_once_for_all_and_then_it_is_decided() {
    let mut world = world(options());
    let streams = [world.streaming(), world.streaming()];
    let calls = streams.map(|(call, _, post)| {
        world.cut(post);
        call
    });
    tell(&mut world, SAFE);
    for _ in calls {
        let (_, post, request) = world.next_request();
        assert!(is(&request, "tools/call"), "{request:?}");
        world.head(post, 200, SSE, None);
        world.body(post, &result(&id_of(&request)));
    }
    assert!(calls.iter().all(|call| world.answer(*call).contains("ok")));
    world.assert_nothing_is_left();
}

#[test]
fn a_call_that_the_server_does_not_call_safe_fails_for_what_it_was_lost_for() {
    for tools in [UNSAFE, "[]"] {
        let mut world = world(options());
        let call = lost(&mut world);
        tell(&mut world, tools);
        let failure = world.failure(call);
        assert_eq!(
            (failure.reason, failure.outcome, failure.retry_safe),
            (Reason::StreamLost, Outcome::Unknown, false)
        );
        assert!(failure.text.contains("without an event id"), "{}", failure.text);
        world.take_cancelled();
        assert!(world.requests.is_empty(), "{:?}", world.requests);
        world.assert_nothing_is_left();
    }
}

#[test]
fn the_server_has_connect_ms_to_say_it() {
    let mut world = world(options());
    let call = lost(&mut world);
    let (list, request) = world.request();
    assert!(is(&request, "tools/list"));
    world.head(list, 200, SSE, None);
    world.pass(4_999);
    assert!(world.is_pending(call));
    world.pass(1);
    assert_eq!(world.failure(call).reason, Reason::StreamLost);
    assert!(world.aborted.contains(&list));
}

#[test]
fn a_word_that_came_too_late_for_one_call_is_there_for_the_next() {
    let mut world = world(options());
    let (_, _, post) = world.streaming();
    let early = lost(&mut world);
    tell(&mut world, SAFE);
    assert!(world.is_pending(early));
    world.cut(post);
    assert!(world.requests.is_empty(), "it is known");
}

#[test]
fn what_was_lost_with_a_cursor_keeps_its_reason_and_its_place() {
    let mut world = world(Options { full_diagnostics: true, ..options() });
    let (call, _, post) = world.streaming();
    world.body(post, &note("7", "a"));
    world.cut(post);
    let (_, get, _) = world.next_request();
    world.head(get, 405, "", None);
    world.pass(1_000);
    tell(&mut world, UNSAFE);
    let failure = world.failure(call);
    assert_eq!(failure.reason, Reason::ResumeRejected);
    assert_eq!(failure.diagnostics.last_event_id.as_deref(), Some("7"));
}

#[test]
fn a_call_whose_resumes_fail_is_sent_again_once_its_tool_is_known_to_be_safe() {
    let mut world = world(options());
    let (call, _, post) = world.streaming();
    world.body(post, &note("7", "a"));
    world.cut(post);
    let mut lists = 0;
    loop {
        let (_, exchange, request) = world.next_request();
        match request.body.as_deref() {
            None => world.head(exchange, 500, "", None),
            Some(_) if is(&request, "ping") => world.reply(exchange, &request, "{}"),
            Some(_) if is(&request, "tools/list") => {
                lists += 1;
                world.reply(exchange, &request, &format!(r#"{{"tools":{SAFE}}}"#));
            }
            Some(_) => {
                world.head(exchange, 200, SSE, None);
                world.body(exchange, &result(&id_of(&request)));
                break;
            }
        }
    }
    assert!(world.answer(call).contains("ok") && lists == 1);
}

#[test]
fn it_is_asked_once_for_a_call_that_the_server_says_nothing_of() {
    let mut world = world(options());
    let (call, _, post) = world.streaming();
    world.body(post, &note("7", "a"));
    world.cut(post);
    let mut lists = 0;
    while world.is_pending(call) {
        let (_, exchange, request) = world.next_request();
        match request.body.as_deref() {
            None => world.head(exchange, 500, "", None),
            Some(_) if is(&request, "ping") => world.reply(exchange, &request, "{}"),
            Some(_) => {
                lists += 1;
                world.reply(exchange, &request, r#"{"tools":[]}"#);
            }
        }
        while world.requests.is_empty() && world.is_pending(call) {
            world.pass(100);
        }
    }
    assert_eq!((lists, world.failure(call).reason), (1, Reason::RecoveryExhausted));
}

#[test]
fn where_hints_decide_nothing_they_are_not_asked_for() {
    let decided = CallSpec { replay: Some(false), ..CallSpec::default() };
    for (replay, spec) in [
        (ReplayOption::Caller, CallSpec::default()),
        (ReplayOption::Never, CallSpec::default()),
        (ReplayOption::Hints, decided),
    ] {
        let mut world = world(Options { replay, ..options() });
        let (method, tool) = ("tools/call".to_string(), Some("t".to_string()));
        let call = world.call_with(CallSpec { method, tool, ..spec });
        let (post, _) = world.request();
        world.head(post, 200, SSE, None);
        world.cut(post);
        assert_eq!(world.failure(call).reason, Reason::StreamLost, "{replay:?}");
    }
}

#[test]
fn a_call_may_end_while_it_is_asked_for() {
    let mut world = world(options());
    let call = lost(&mut world);
    let (list, request) = world.request();
    world.client.cancel(world.now, call);
    world.drain();
    assert_eq!(world.failure(call).reason, Reason::Cancelled);
    world.reply(list, &request, &format!(r#"{{"tools":{SAFE}}}"#));
    world.take_cancelled();
    world.assert_nothing_is_left();
}

#[test]
fn a_session_that_dies_meanwhile_ends_the_call_and_the_question() {
    let mut world = world(options());
    let call = lost(&mut world);
    let (list, _) = world.request();
    world.head(list, 404, "", None);
    world.end(list);
    assert_eq!(
        (world.failure(call).reason, world.failure(call).outcome),
        (Reason::SessionLost, Outcome::Unknown)
    );
}

#[test]
fn a_modern_server_is_asked_in_its_own_words() {
    let mut world = World::carrying(options());
    world.lists = true;
    let call =
        world.call_with(CallSpec { tool: Some("t".to_string()), ..crate::modern::modern("tools/call") });
    let (post, _) = world.request();
    world.head(post, 200, SSE, None);
    world.cut(post);
    let (list, request) = world.request();
    assert_eq!(header(&request, "mcp-method"), Some("tools/list"));
    assert!(request.body.as_deref().is_some_and(|body| body.contains("2026-07-28")), "{request:?}");
    world.reply(list, &request, &format!(r#"{{"tools":{SAFE}}}"#));
    let (_, post, request) = world.next_request();
    world.head(post, 200, SSE, None);
    world.body(post, &result(&id_of(&request)));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn pages_are_asked_for_until_the_tool_was_seen_or_connect_ms_is_over() {
    let page = |world: &mut World, cursor: &str, tools: &str, next: &str| {
        let (list, request) = world.request();
        assert!(is(&request, "tools/list"), "{request:?}");
        let asked = request.body.as_deref().unwrap().contains(&format!(r#""cursor":"{cursor}""#));
        assert!(asked || cursor.is_empty(), "{request:?}");
        world.reply(list, &request, &format!(r#"{{"tools":{tools},"nextCursor":"{next}"}}"#));
    };
    let mut found = world(options());
    let call = lost(&mut found);
    page(&mut found, "", r#"[{"name":"u"}]"#, "2");
    page(&mut found, "2", SAFE, "3");
    let (_, post, request) = found.next_request();
    assert!(is(&request, "tools/call"), "{request:?}");
    found.head(post, 200, SSE, None);
    found.body(post, &result(&id_of(&request)));
    assert!(found.answer(call).contains("ok"));
    let mut late = world(options());
    let call = lost(&mut late);
    late.pass(3_000);
    page(&mut late, "", "[]", "2");
    late.pass(1_999);
    assert!(late.is_pending(call));
    late.pass(1);
    assert_eq!(late.failure(call).reason, Reason::StreamLost);
    let mut endless = world(options());
    let call = lost(&mut endless);
    for n in 0..8 {
        let cursor = if n == 0 { String::new() } else { n.to_string() };
        page(&mut endless, &cursor, "[]", &(n + 1).to_string());
    }
    assert_eq!(endless.failure(call).reason, Reason::StreamLost);
}
