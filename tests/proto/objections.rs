//! What a server objects to in a modern request, and a verdict on its era that is wrong: the call, which was not read, goes
//! out once more in what it can be asked in (ARCHITECTURE.md, "Sessions and eras").

use crate::eras::{asked, auto, confirm, discovered, facts, greets, modern, refuse, rpc, say, UNKNOWN};
use crate::modern::modern as clients;
use crate::world::{header, id_of, known_session, options, World, JSON};
use landfall::proto::{
    CallId, CallSpec, Era, EraOption, Event, ExchangeId, HttpRequest, Options, Outcome, Reason, SessionFacts,
};

const MISMATCH: &str = r#""error":{"code":-32020,"message":"Mcp-Param-Region is missing"}"#;
const LEGACY_ONLY: &str =
    r#""error":{"code":-32022,"message":"no","data":{"supported":["2025-11-25","2025-06-18"]}}"#;
/// What a server of 2025 says to a request without a session.
const NO_SESSION: &str = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Mcp-Session-Id header is required"},"id":null}"#;

/// A session that knows from another client that its server is modern.
fn told_modern(options: Options) -> World {
    let known = SessionFacts { era: Some(Era::Modern), ..known_session(None, Some("2026-07-28"), None) };
    let world = World::connecting(Options { resume: Some(known), ..options });
    assert!(world.ready.is_some() && world.requests.is_empty());
    world
}

/// A refusal with this body, of no request's.
fn refused(world: &mut World, (post, _): (ExchangeId, HttpRequest), status: u16, body: &str) {
    world.head(post, status, JSON, None);
    world.body(post, body);
    world.end(post);
}

fn answered(world: &mut World, call: CallId) {
    let (post, request) = asked(world, "tools/call");
    world.reply(post, &request, "{}");
    assert!(world.answer(call).contains("result"));
}

/// A page of tools.
fn page(world: &mut World, tool: &str, next: &str) -> HttpRequest {
    let (post, request) = asked(world, "tools/list");
    world.reply(post, &request, &format!(r#"{{"tools":[{{"name":"{tool}"}}]{next}}}"#));
    request
}

fn declares(world: &mut World, call: CallId, region: &str) {
    assert_eq!(std::mem::take(&mut world.declaring), [call]);
    world.client.declare(world.now, call, vec![("Region".to_string(), region.to_string())]);
    world.drain();
}

#[test]
fn a_server_that_speaks_legacy_versions_alone_by_now_is_asked_anew_and_the_call_goes_on() {
    let mut world = modern(auto());
    let call = world.call();
    let (post, request) = asked(&mut world, "tools/call");
    let first = id_of(&request);
    say(&mut world, (post, request), 400, LEGACY_ONLY);
    let waiting = world.call();
    greets(&mut world, Some("s1"));
    confirm(&mut world);
    let (post, request) = asked(&mut world, "tools/call");
    assert_eq!(header(&request, "mcp-session-id"), Some("s1"));
    assert_eq!(header(&request, "mcp-method"), None);
    assert_ne!(id_of(&request), first, "an id goes out once");
    world.reply(post, &request, "{}");
    assert!(world.answer(call).contains("result"));
    answered(&mut world, waiting);
    assert_eq!(facts(&world).era, Some(Era::Legacy));
    world.client.close(world.now);
    world.drain();
    let _delete = world.request();
}

#[test]
fn a_server_that_contradicts_itself_has_answered() {
    let itself = r#""error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}"#;
    let others = r#""error":{"code":-32022,"message":"no","data":{"supported":["2031-01-01"]}}"#;
    for said in [itself, others] {
        let mut world = modern(auto());
        let call = world.call();
        let asked = asked(&mut world, "tools/call");
        say(&mut world, asked, 400, said);
        assert!(world.answer(call).contains("-32022"), "{said}");
        assert!(world.requests.is_empty());
    }
    // The user wants no other era, or no other session.
    for options in
        [Options { era: EraOption::Modern, ..options() }, Options { fail_lost_session: true, ..auto() }]
    {
        let mut world = World::connecting(options.clone());
        if options.era == EraOption::Auto {
            let initialize = asked(&mut world, "initialize");
            say(&mut world, initialize, 404, UNKNOWN);
        }
        discovered(&mut world);
        let call = world.call();
        let asked = asked(&mut world, "tools/call");
        say(&mut world, asked, 400, LEGACY_ONLY);
        assert!(world.answer(call).contains("-32022"));
        assert!(world.requests.is_empty());
    }
}

#[test]
fn a_client_hears_itself_that_its_version_is_not_spoken() {
    let mut world = World::carrying(options());
    let call = world.call_with(clients("tools/call"));
    let asked = asked(&mut world, "tools/call");
    say(&mut world, asked, 400, LEGACY_ONLY);
    assert!(world.answer(call).contains("-32022"));
    assert!(world.requests.is_empty());
}

#[test]
fn a_verdict_that_is_contradicted_is_found_out_anew_and_the_call_goes_on_in_the_other_era() {
    let python = r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: Missing session ID"}}"#;
    for (status, body) in [(400, NO_SESSION), (400, python), (404, ""), (405, ""), (406, "no"), (415, "no")] {
        let mut world = told_modern(auto());
        let call = world.call();
        let request = asked(&mut world, "tools/call");
        let other = world.call();
        let second = asked(&mut world, "tools/call");
        refused(&mut world, request, status, body);
        refused(&mut world, second, status, body);
        greets(&mut world, Some("s1"));
        confirm(&mut world);
        assert_eq!(facts(&world).era, Some(Era::Legacy), "{status} {body}");
        let is_told = |event: &Event| matches!(event, Event::SessionReplaced { .. });
        assert_eq!(world.events.iter().filter(|(_, event)| is_told(event)).count(), 2);
        answered(&mut world, call);
        answered(&mut world, other);
    }
}

#[test]
fn one_that_holds_leaves_the_call_refused_and_is_not_doubted_again() {
    let mut world = told_modern(auto());
    let call = world.call();
    let request = asked(&mut world, "tools/call");
    refused(&mut world, request, 415, "no such type");
    let initialize = asked(&mut world, "initialize");
    say(&mut world, initialize, 404, UNKNOWN);
    discovered(&mut world);
    let failure = world.failure(call);
    assert_eq!((failure.reason, failure.outcome), (Reason::HttpError, Outcome::Rejected));
    assert!(failure.text.contains("415"), "{}", failure.text);
    assert!(world.requests.is_empty());
    let call = world.call();
    let request = asked(&mut world, "tools/call");
    refused(&mut world, request, 415, "no such type");
    assert_eq!(world.failure(call).reason, Reason::HttpError);
    assert!(world.requests.is_empty(), "once is enough");
    world.assert_nothing_is_left();
}

#[test]
fn what_a_modern_server_answers_contradicts_nothing() {
    for (status, body) in [
        (404, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}"#),
        (400, r#"{"jsonrpc":"2.0","error":{"code":-32602,"message":"bad"}}"#),
        (400, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32021,"message":"no"}}"#),
    ] {
        let mut world = told_modern(auto());
        let call = world.call();
        let request = asked(&mut world, "tools/call");
        refused(&mut world, request, status, body);
        assert!(world.answer(call).contains("error"), "an answer: {status} {body}");
        assert!(world.requests.is_empty(), "{status} {body}");
    }
    for status in [401, 403, 408, 425, 429] {
        let mut world = told_modern(auto());
        world.call();
        let request = asked(&mut world, "tools/call");
        refused(&mut world, request, status, "");
        assert!(world.requests.is_empty(), "{status}");
    }
}

#[test]
fn where_nothing_is_found_out_whoever_waits_ends() {
    let mut world = told_modern(auto());
    let call = world.call();
    let request = asked(&mut world, "tools/call");
    refused(&mut world, request, 400, NO_SESSION);
    let waiting = world.call();
    for method in ["initialize", "server/discover"] {
        let question = asked(&mut world, method);
        refuse(&mut world, question, 404);
    }
    let get = world.request();
    refuse(&mut world, get, 404);
    assert_eq!(world.failure(call).reason, Reason::SessionLost);
    assert_eq!(world.failure(waiting).reason, Reason::SessionLost);
}

#[test]
fn headers_that_do_not_say_what_the_body_says_are_made_anew_once_the_tools_are_known() {
    let mut world = modern(auto());
    world.lists = true;
    let call = world.call();
    let (post, request) = asked(&mut world, "tools/call");
    let first = id_of(&request);
    say(&mut world, (post, request), 400, MISMATCH);
    let page = page(&mut world, "t", "");
    assert_eq!(header(&page, "mcp-method"), Some("tools/list"));
    assert_eq!(world.tools.len(), 1);
    declares(&mut world, call, "eu");
    let (post, request) = asked(&mut world, "tools/call");
    assert_eq!(header(&request, "mcp-param-region"), Some("eu"));
    assert_ne!(id_of(&request), first);
    assert!(world.events.iter().any(|(_, event)| matches!(event, Event::Reissued { .. })));
    world.reply(post, &request, "{}");
    assert!(world.answer(call).contains("result"));
}

#[test]
fn pages_are_asked_for_until_the_tool_is_seen_and_never_for_ever() {
    let mut world = modern(auto());
    world.lists = true;
    let call = world.call();
    let post = asked(&mut world, "tools/call");
    say(&mut world, post, 400, MISMATCH);
    page(&mut world, "a", r#","nextCursor":"2""#);
    assert!(world.declaring.is_empty());
    let second = page(&mut world, "t", r#","nextCursor":"3""#);
    assert!(second.body.is_some_and(|body| body.contains(r#""cursor":"2""#)));
    declares(&mut world, call, "eu");
    answered(&mut world, call);
    let call = world.call();
    let post = asked(&mut world, "tools/call");
    say(&mut world, post, 400, MISMATCH);
    page(&mut world, "a", r#","nextCursor":"""#);
    page(&mut world, "b", r#","nextCursor":"""#);
    declares(&mut world, call, "eu");
    answered(&mut world, call);
}

#[test]
fn one_list_is_asked_for_all_calls() {
    let mut world = modern(auto());
    world.lists = true;
    let calls = [world.call(), world.call()];
    let posts = [asked(&mut world, "tools/call"), asked(&mut world, "tools/call")];
    for post in posts {
        say(&mut world, post, 400, MISMATCH);
    }
    assert_eq!(world.requests.len(), 1);
    page(&mut world, "t", "");
    assert_eq!(std::mem::take(&mut world.declaring), calls);
    for call in calls {
        world.client.declare(world.now, call, Vec::new());
        world.drain();
        answered(&mut world, call);
    }
}

#[test]
fn a_mismatch_that_stays_is_an_error_of_the_protocol() {
    let mut world = modern(auto());
    world.lists = true;
    let call = world.call();
    for round in 0..2 {
        let post = asked(&mut world, "tools/call");
        say(&mut world, post, 400, MISMATCH);
        if round == 0 {
            // Without a list, too, the call is tried once more.
            let (list, _) = asked(&mut world, "tools/list");
            world.cut(list);
            declares(&mut world, call, "eu");
        }
    }
    let failure = world.failure(call);
    assert_eq!((failure.reason, failure.outcome), (Reason::ProtocolError, Outcome::Rejected));
    assert!(failure.text.contains("Mcp-Param-Region is missing"), "{}", failure.text);
    assert!(world.requests.is_empty());
}

#[test]
fn a_mismatch_of_what_has_no_parameters_is_its_answer() {
    let mut world = modern(auto());
    let call = world.call_with(CallSpec { method: "prompts/get".to_string(), ..CallSpec::default() });
    let post = asked(&mut world, "prompts/get");
    say(&mut world, post, 400, MISMATCH);
    assert!(world.answer(call).contains("-32020"));
}

#[test]
fn a_client_s_headers_are_its_own_affair_and_those_it_leaves_to_us_are_ours() {
    let given = vec![("region".to_string(), "eu".to_string())];
    let mut world = World::carrying(options());
    let call = world.call_with(CallSpec { param_headers: given, ..clients("tools/call") });
    let post = asked(&mut world, "tools/call");
    say(&mut world, post, 400, MISMATCH);
    assert!(world.answer(call).contains("-32020"));
    let mut world = World::carrying(options());
    world.lists = true;
    let spec = CallSpec { tool: Some("t".to_string()), ..clients("tools/call") };
    let call = world.call_with(spec);
    for round in 0..2 {
        let (post, request) = asked(&mut world, "tools/call");
        assert_eq!(header(&request, "mcp-param-region"), (round == 1).then_some("eu"));
        say(&mut world, (post, request), 400, MISMATCH);
        if round == 0 {
            page(&mut world, "t", "");
            declares(&mut world, call, "eu");
        }
    }
    assert!(world.answer(call).contains("-32020"), "it hears of what stays");
}

#[test]
fn a_declaration_that_nobody_asked_for_is_none() {
    let mut world = modern(auto());
    let call = world.call();
    let (post, request) = asked(&mut world, "tools/call");
    world.client.declare(world.now, call, vec![("Region".to_string(), "eu".to_string())]);
    world.drain();
    assert!(world.requests.is_empty());
    world.reply(post, &request, "{}");
    assert!(world.answer(call).contains("result"));
    assert_eq!(rpc(&request), "tools/call");
}
