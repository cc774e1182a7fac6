//! What a server speaks is found out in the handshake, and what follows for every request (ARCHITECTURE.md, "Sessions and
//! eras").

use crate::world::{header, id_of, known_session, options, safe, World, GREETING, JSON, SSE};
use landfall::proto::{
    CallSpec, Era, EraOption, ExchangeId, Hint, HttpRequest, Method, Options, Outcome, Reason, SessionFacts,
};

const DISCOVERED: &str =
    r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#;
pub(crate) const UNKNOWN: &str = r#""error":{"code":-32601,"message":"Method not found"}"#;

pub(crate) fn auto() -> Options {
    Options { era: EraOption::Auto, ..options() }
}

/// The method of a POST.
pub(crate) fn rpc(request: &HttpRequest) -> String {
    let body = request.body.as_deref().expect("a POST");
    let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
    body["method"].as_str().expect("a request").to_string()
}

/// The next request, which has this method.
pub(crate) fn asked(world: &mut World, method: &str) -> (ExchangeId, HttpRequest) {
    let (post, request) = world.request();
    assert_eq!(rpc(&request), method);
    (post, request)
}

/// A JSON answer under the id of the request: `said` are its members.
pub(crate) fn say(world: &mut World, (post, request): (ExchangeId, HttpRequest), status: u16, said: &str) {
    world.head(post, status, JSON, None);
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},{said}}}"#, id_of(&request)));
    world.end(post);
}

pub(crate) fn refuse(world: &mut World, (post, _): (ExchangeId, HttpRequest), status: u16) {
    world.head(post, status, "text/plain", None);
    world.body(post, "no such thing");
    world.end(post);
}

pub(crate) fn greets(world: &mut World, session: Option<&str>) {
    let (post, request) = asked(world, "initialize");
    world.head(post, 200, JSON, session);
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},{GREETING}"#, id_of(&request)));
    world.end(post);
}

pub(crate) fn confirm(world: &mut World) {
    let (post, _) = asked(world, "notifications/initialized");
    world.head(post, 202, "", None);
}

pub(crate) fn discovered(world: &mut World) {
    let discover = asked(world, "server/discover");
    say(world, discover, 200, &format!(r#""result":{DISCOVERED}"#));
}

/// What is known of a session at last.
pub(crate) fn facts(world: &World) -> &SessionFacts {
    world.facts.last().expect("the session stands")
}

/// A client of a server that speaks 2026-07-28 alone.
pub(crate) fn modern(options: Options) -> World {
    let mut world = World::connecting(options);
    let initialize = asked(&mut world, "initialize");
    say(&mut world, initialize, 404, UNKNOWN);
    discovered(&mut world);
    assert!(world.ready.is_some());
    world.events.clear();
    world
}

#[test]
fn a_session_with_an_id_is_legacy_and_nothing_else_is_asked() {
    let mut world = World::connecting(auto());
    greets(&mut world, Some("s1"));
    confirm(&mut world);
    assert_eq!((facts(&world).era, world.requests.len()), (Some(Era::Legacy), 0));
}

#[test]
fn a_server_that_resumes_nothing_is_spoken_to_in_the_modern_era_where_it_can() {
    let mut world = World::connecting(auto());
    greets(&mut world, None);
    discovered(&mut world);
    assert_eq!(world.ready, Some(("2026-07-28".to_string(), None)));
    assert_eq!(facts(&world).era, Some(Era::Modern));
    assert!(facts(&world).greeting.as_deref().is_some_and(|text| text.contains("supportedVersions")));
    assert!(world.requests.is_empty(), "there is nothing to confirm");
}

#[test]
fn else_its_session_without_an_id_goes_on_whatever_became_of_the_question() {
    for end in ["refused", "failed", "silent", "older"] {
        let mut world = World::connecting(auto());
        greets(&mut world, None);
        let discover = asked(&mut world, "server/discover");
        match end {
            "refused" => refuse(&mut world, discover, 405),
            "failed" => world.cut(discover.0),
            "older" => say(&mut world, discover, 200, r#""result":{"supportedVersions":["2025-11-25"]}"#),
            _ => world.pass(5_000),
        }
        confirm(&mut world);
        assert_eq!(world.ready, Some(("2025-11-25".to_string(), None)), "{end}");
        assert_eq!(facts(&world).era, Some(Era::Legacy), "{end}");
    }
}

#[test]
fn a_server_that_knows_no_initialize_is_asked_by_discover() {
    let unsupported = r#""error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}"#;
    let mismatch = r#""error":{"code":-32020,"message":"no"}"#;
    for (status, said) in
        [(200, UNKNOWN), (404, UNKNOWN), (400, unsupported), (400, mismatch), (404, ""), (405, "")]
    {
        let mut world = World::connecting(auto());
        let initialize = asked(&mut world, "initialize");
        match said {
            "" => refuse(&mut world, initialize, status),
            said => say(&mut world, initialize, status, said),
        }
        let (post, request) = asked(&mut world, "server/discover");
        for (name, value) in [
            ("mcp-protocol-version", Some("2026-07-28")),
            ("mcp-method", Some("server/discover")),
            ("mcp-session-id", None),
        ] {
            assert_eq!(header(&request, name), value, "{name}");
        }
        say(&mut world, (post, request), 200, &format!(r#""result":{DISCOVERED}"#));
        assert_eq!(facts(&world).era, Some(Era::Modern), "{status} {said}");
    }
}

#[test]
fn a_list_of_versions_in_the_error_of_discover_is_enough() {
    let mut world = World::connecting(auto());
    let initialize = asked(&mut world, "initialize");
    refuse(&mut world, initialize, 400);
    let discover = asked(&mut world, "server/discover");
    let said = r#""error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}"#;
    say(&mut world, discover, 400, said);
    assert_eq!(world.ready, Some(("2026-07-28".to_string(), None)));
}

#[test]
fn what_passes_is_no_verdict_and_credentials_are_asked_for_first() {
    for status in [429, 500, 503] {
        let mut world = World::connecting(auto());
        let initialize = asked(&mut world, "initialize");
        refuse(&mut world, initialize, status);
        assert!(world.requests.is_empty(), "{status}");
        let (_, _, request) = world.next_request();
        assert_eq!(rpc(&request), "initialize", "{status}");
    }
    for status in [401, 403] {
        let mut world = World::connecting(auto());
        let initialize = asked(&mut world, "initialize");
        refuse(&mut world, initialize, status);
        let failure = world.failure(world.handshake());
        assert_eq!(failure.diagnostics.last_status, Some(status), "nothing else is asked");
    }
    let mut world = World::connecting(Options { auth: true, ..auto() });
    let initialize = asked(&mut world, "initialize");
    refuse(&mut world, initialize, 401);
    assert_eq!(world.challenges.len(), 1);
    world.client.authorized(world.now, true);
    world.drain();
    asked(&mut world, "initialize");
}

#[test]
fn where_nothing_fits_the_error_tells_what_each_question_got() {
    let mut world = World::connecting(auto());
    let initialize = asked(&mut world, "initialize");
    refuse(&mut world, initialize, 404);
    let discover = asked(&mut world, "server/discover");
    refuse(&mut world, discover, 405);
    let get = world.request();
    assert_eq!(get.1.method, Method::Get);
    refuse(&mut world, get, 406);
    let failure = world.failure(world.handshake());
    assert_eq!((failure.reason, failure.method.as_str()), (Reason::HttpError, "initialize"));
    assert_eq!(failure.diagnostics.last_status, Some(404), "the first refusal is the reason");
    for words in [
        "initialize: the server answered 404",
        "server/discover: the server answered 405",
        "GET: the server answered 406",
    ] {
        assert!(failure.text.contains(words), "{}", failure.text);
    }
    world.assert_nothing_is_left();
}

#[test]
fn the_whole_search_has_handshake_ms() {
    let mut world = World::connecting(auto());
    world.pass(20_000);
    let initialize = asked(&mut world, "initialize");
    refuse(&mut world, initialize, 404);
    asked(&mut world, "server/discover");
    world.pass(9_999);
    assert!(world.is_pending(world.handshake()));
    world.pass(1);
    assert_eq!(world.failure(world.handshake()).reason, Reason::ConnectTimeout);
    world.assert_nothing_is_left();
}

#[test]
fn in_a_page_a_discover_that_is_rejected_twice_counts_as_refused() {
    let mut world = World::connecting(Options { cross_origin: true, ..auto() });
    greets(&mut world, None);
    for _ in 0..2 {
        let (post, _) = asked(&mut world, "server/discover");
        world.cut(post);
    }
    confirm(&mut world);
    assert_eq!(facts(&world).era, Some(Era::Legacy));
    let mut world = World::connecting(Options { cross_origin: true, ..auto() });
    let initialize = asked(&mut world, "initialize");
    refuse(&mut world, initialize, 404);
    for _ in 0..2 {
        let (post, _) = asked(&mut world, "server/discover");
        world.cut(post);
    }
    let get = world.request();
    refuse(&mut world, get, 404);
    let failure = world.failure(world.handshake());
    assert_eq!(failure.diagnostics.last_status, Some(404), "{}", failure.text);
    assert!(failure.text.contains("mcp-method"), "the headers are named: {}", failure.text);
    assert_eq!(failure.diagnostics.hint, Some(Hint::Cors));
}

#[test]
fn a_word_of_the_user_is_the_only_question() {
    let mut world = World::connecting(Options { era: EraOption::Modern, ..options() });
    let discover = asked(&mut world, "server/discover");
    refuse(&mut world, discover, 404);
    let failure = world.failure(world.handshake());
    assert!(failure.text.contains("server/discover"), "{}", failure.text);
    let mut world = World::connecting(Options { era: EraOption::Modern, ..options() });
    discovered(&mut world);
    assert_eq!(facts(&world).era, Some(Era::Modern));
    let only = |version: &str| Some(vec![version.to_string()]);
    let mut world = World::connecting(Options { protocol_versions: only("2026-07-28"), ..auto() });
    asked(&mut world, "server/discover");
    let mut world = World::connecting(Options { protocol_versions: only("2025-11-25"), ..auto() });
    greets(&mut world, None);
    confirm(&mut world);
}

#[test]
fn a_verdict_is_handed_in_without_a_round_trip() {
    let known = SessionFacts { era: Some(Era::Modern), ..known_session(None, Some("2026-07-28"), None) };
    let mut world = World::connecting(Options { resume: Some(known.clone()), ..auto() });
    assert!(world.ready.is_some() && world.requests.is_empty());
    world.call();
    let (_, request) = world.request();
    assert_eq!(header(&request, "mcp-method"), Some("tools/call"));
    let newer = SessionFacts { protocol_version: Some("2031-01-01".to_string()), ..known };
    let mut world = World::connecting(Options { resume: Some(newer), ..auto() });
    asked(&mut world, "server/discover");
}

#[test]
fn a_modern_request_of_ours_says_who_asks_and_in_its_headers_what_for() {
    let mut world = modern(auto());
    let declared_params = vec![("Region".to_string(), "日本".to_string())];
    let params = r#"{"name":"t","arguments":{}}"#.to_string();
    let (method, tool) = ("tools/call".to_string(), Some("t".to_string()));
    world.call_with(CallSpec {
        method,
        tool,
        params,
        declared_params,
        progress: true,
        ..CallSpec::default()
    });
    let (_, request) = world.request();
    for (name, value) in [
        ("mcp-protocol-version", Some("2026-07-28")),
        ("mcp-method", Some("tools/call")),
        ("mcp-name", Some("t")),
        ("mcp-param-region", Some("=?base64?5pel5pys?=")),
        ("mcp-session-id", None),
    ] {
        assert_eq!(header(&request, name), value, "{name}");
    }
    let body: serde_json::Value = serde_json::from_str(request.body.as_deref().unwrap()).unwrap();
    let meta = &body["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "test");
    assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
    assert_eq!(meta["progressToken"], body["id"]);
    assert_eq!(body["params"]["name"], "t");
}

#[test]
fn a_notification_speaks_what_the_session_does_also_one_that_waited_for_it() {
    let told = |request: &HttpRequest| {
        assert_eq!(header(request, "mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(header(request, "mcp-method"), Some("notifications/k"));
        let body = request.body.as_deref().expect("a POST");
        let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
        let meta = &body["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28", "{body}");
        assert_eq!((&body["params"]["k"], body.get("id")), (&serde_json::json!(1), None));
    };
    let mut world = World::connecting(auto());
    world.client.notify(world.now, "notifications/k", r#"{"k":1}"#);
    let initialize = asked(&mut world, "initialize");
    say(&mut world, initialize, 404, UNKNOWN);
    discovered(&mut world);
    told(&world.request().1);
    world.client.notify(world.now, "notifications/k", r#"{"k":1}"#);
    world.drain();
    told(&world.request().1);
}

#[test]
fn a_modern_call_that_is_cut_goes_again_under_a_new_id_if_it_is_safe_and_is_lost_else() {
    let mut world = modern(auto());
    let call = world.call_with(safe());
    let (post, first) = world.request();
    world.head(post, 200, SSE, None);
    world.body(post, "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n");
    world.cut(post);
    let (_, post, again) = world.next_request();
    assert_eq!(again.method, Method::Post, "nothing is resumed");
    assert_ne!(id_of(&again), id_of(&first));
    world.reply(post, &again, "{}");
    assert!(world.answer(call).contains("result"));
    let call = world.call();
    let (post, _) = world.request();
    world.head(post, 200, SSE, None);
    world.cut(post);
    let failure = world.failure(call);
    assert_eq!((failure.reason, failure.outcome), (Reason::StreamLost, Outcome::Unknown));
    assert_eq!(failure.diagnostics.era, "modern");
}

#[test]
fn closing_its_body_is_the_only_cancel_and_no_session_is_ended() {
    let mut world = modern(auto());
    let call = world.call();
    let (post, _) = world.request();
    world.head(post, 200, SSE, None);
    world.client.cancel(world.now, call);
    world.drain();
    assert_eq!((world.aborted.last(), world.requests.len()), (Some(&post), 0));
    world.client.close(world.now);
    world.drain();
    assert!(world.closed && world.requests.is_empty());
    world.assert_nothing_is_left();
}

#[test]
fn a_server_that_lost_its_session_and_speaks_another_era_by_now_is_spoken_to_in_that() {
    let mut world = World::connecting(auto());
    greets(&mut world, Some("s1"));
    confirm(&mut world);
    let call = world.call();
    let (post, request) = world.request();
    assert_eq!(header(&request, "mcp-session-id"), Some("s1"));
    world.head(post, 404, "", None);
    world.end(post);
    let initialize = asked(&mut world, "initialize");
    say(&mut world, initialize, 404, UNKNOWN);
    discovered(&mut world);
    let (post, request) = world.request();
    assert_eq!(header(&request, "mcp-method"), Some("tools/call"));
    assert_eq!(header(&request, "mcp-session-id"), None);
    world.reply(post, &request, "{}");
    assert!(world.answer(call).contains("result"));
}

#[test]
fn a_legacy_session_whose_server_speaks_later_requests_alone_by_now_is_found_out_anew() {
    for code in [-32_022, -32_020] {
        let mut world = World::connecting(auto());
        greets(&mut world, Some("s1"));
        confirm(&mut world);
        let call = world.call();
        let post = asked(&mut world, "tools/call");
        say(&mut world, post, 400, &format!(r#""error":{{"code":{code},"message":"no"}}"#));
        let initialize = asked(&mut world, "initialize");
        say(&mut world, initialize, 400, &format!(r#""error":{{"code":{code},"message":"no"}}"#));
        discovered(&mut world);
        let (post, request) = asked(&mut world, "tools/call");
        assert_eq!(header(&request, "mcp-protocol-version"), Some("2026-07-28"));
        world.reply(post, &request, "{}");
        assert!(world.answer(call).contains("result"), "it was refused, and never ran");
    }
}

#[test]
fn such_an_error_that_comes_with_a_success_is_an_answer_like_any_other() {
    for code in [-32_022, -32_020] {
        let mut world = modern(auto());
        let (call, id, post) = world.streaming();
        world.body(post, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n");
        let error =
            format!(r#"{{"code":{code},"message":"upstream's","data":{{"supported":["2031-01-01"]}}}}"#);
        world.body(post, &format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}\n\n"));
        assert!(world.answer(call).contains("upstream's"), "its tool ran");
        assert!(world.requests.is_empty());
    }
}

#[test]
fn what_was_begun_in_another_era_is_not_resumed_in_this() {
    let mut world = modern(auto());
    let resumption_token = Some("1".to_string());
    let call = world.call_with(CallSpec { resumption_token, ..safe() });
    assert_eq!(world.failure(call).reason, Reason::ResumeRejected);
    assert!(world.requests.is_empty());
}

#[test]
fn a_status_that_may_come_after_the_tool_ran_is_no_sign_of_another_era() {
    for status in [402, 409, 421, 422, 451] {
        let mut world = modern(auto());
        let call = world.call();
        let post = asked(&mut world, "tools/call");
        refuse(&mut world, post, status);
        let failure = world.failure(call);
        assert_eq!((failure.reason, failure.outcome), (Reason::HttpError, Outcome::Unknown), "{status}");
        assert!(world.requests.is_empty(), "{status}");
    }
}
