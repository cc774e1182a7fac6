//! HTTP+SSE of 2024-11-05: the GET stream is the session, says where to POST, and brings every answer (ARCHITECTURE.md,
//! "Sessions and eras").

use crate::world::{header, id_of, options, result, safe, World, GREETING, SSE};
use landfall::proto::{
    CallId, Era, EraOption, Event, ExchangeId, HttpRequest, Method, Options, Outcome, Reason, SessionFacts,
};

const PLACE: &str = "https://h.test/messages?id=1";

fn sse() -> Options {
    Options { era: EraOption::Sse, ..options() }
}

/// The GET of a session, whose stream is open.
fn stream(world: &mut World) -> ExchangeId {
    let (get, request) = world.request();
    assert_eq!((request.method, request.url.as_deref()), (Method::Get, None));
    assert_eq!(header(&request, "accept"), Some("text/event-stream"));
    world.head(get, 200, SSE, None);
    get
}

/// The next POST, which goes to this place, is taken.
fn taken(world: &mut World, place: &str) -> HttpRequest {
    let (post, request) = world.request();
    assert_eq!((request.method, request.url.as_deref()), (Method::Post, Some(place)));
    let ours = request.headers.iter().any(|(name, _)| name.starts_with("mcp-"));
    assert!(!ours, "{:?}", request.headers);
    world.head(post, 202, "text/plain", None);
    request
}

fn names(world: &mut World, get: ExchangeId, place: &str) {
    world.body(get, &format!("event: endpoint\ndata: {place}\n\n"));
}

/// The handshake on an open stream.
fn greets(world: &mut World, get: ExchangeId, place: &str) {
    let request = taken(world, place);
    assert!(request.body.as_deref().is_some_and(|body| body.contains("\"initialize\"")));
    world.body(get, &format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{},{GREETING}\n\n", id_of(&request)));
    let request = taken(world, place);
    assert!(request.body.as_deref().is_some_and(|body| body.contains("notifications/initialized")));
}

fn connected() -> (World, ExchangeId) {
    let mut world = World::connecting(sse());
    let get = stream(&mut world);
    names(&mut world, get, "/messages?id=1");
    greets(&mut world, get, PLACE);
    assert!(world.ready.is_some());
    world.events.clear();
    (world, get)
}

/// A call that the server took: its id.
fn call(world: &mut World) -> (CallId, String) {
    let call = world.call();
    (call, id_of(&taken(world, PLACE)))
}

#[test]
fn a_stream_says_where_to_post_and_brings_the_answers() {
    let (mut world, get) = connected();
    assert_eq!(world.facts.last().and_then(|facts| facts.era), Some(Era::Sse));
    let (one, first) = call(&mut world);
    let (other, second) = call(&mut world);
    world.body(get, &result(&second));
    world.body(get, &result(&first));
    assert!(world.answer(one).contains("true") && world.answer(other).contains("true"));
    world.client.close(world.now);
    world.drain();
    assert!(world.closed && world.aborted.contains(&get), "there is no DELETE to wait for");
    assert!(world.requests.is_empty());
    world.assert_nothing_is_left();
}

#[test]
fn progress_and_questions_come_on_it_and_answers_to_these_are_posted() {
    let (mut world, get) = connected();
    let (one, id) = call(&mut world);
    let progress = format!(r#"{{"progressToken":{id},"progress":1}}"#);
    world.body(
        get,
        &format!(
            "data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{progress}}}\n\n"
        ),
    );
    assert!(world
        .events
        .iter()
        .any(|(of, event)| *of == Some(one) && matches!(event, Event::Progress { .. })));
    world.body(get, "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"roots/list\"}\n\n");
    assert_eq!(world.questions.len(), 1);
    world.client.answer(world.now, r#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
    world.drain();
    assert_eq!(id_of(&taken(&mut world, PLACE)), "7");
}

#[test]
fn a_cancel_is_told_by_a_notice() {
    let (mut world, _) = connected();
    let (one, _) = call(&mut world);
    world.client.cancel(world.now, one);
    world.drain();
    let request = taken(&mut world, PLACE);
    assert!(request.body.as_deref().is_some_and(|body| body.contains("notifications/cancelled")));
}

#[test]
fn a_call_that_is_taken_and_not_answered_has_its_clock() {
    let (mut world, _) = connected();
    let (one, _) = call(&mut world);
    world.pass(119_999);
    assert!(world.is_pending(one));
    world.pass(1);
    assert_eq!(world.failure(one).reason, Reason::CallTimeout);
}

#[test]
fn a_stream_that_is_over_takes_the_session_with_it_and_nothing_goes_to_the_old_place() {
    let (mut world, get) = connected();
    let (unsafe_one, _) = call(&mut world);
    let safe_one = world.call_with(safe());
    taken(&mut world, PLACE);
    world.cut(get);
    let failure = world.failure(unsafe_one);
    assert_eq!((failure.reason, failure.outcome), (Reason::SessionLost, Outcome::Unknown));
    let get = stream(&mut world);
    names(&mut world, get, "/messages?id=2");
    let place = "https://h.test/messages?id=2";
    greets(&mut world, get, place);
    let id = id_of(&taken(&mut world, place));
    world.body(get, &result(&id));
    assert!(world.answer(safe_one).contains("true"));
}

#[test]
fn a_call_that_is_taken_when_its_stream_is_gone_has_nobody_to_answer_it() {
    let (mut world, get) = connected();
    let one = world.call();
    let (post, _) = world.request();
    world.cut(get);
    assert!(world.is_pending(one), "it may be refused, and go on in the next session");
    world.head(post, 202, "text/plain", None);
    let failure = world.failure(one);
    assert_eq!((failure.reason, failure.outcome), (Reason::SessionLost, Outcome::Unknown));
}

#[test]
fn so_does_a_post_to_an_endpoint_that_is_not_known_any_more() {
    for status in [404, 410] {
        let (mut world, old) = connected();
        let one = world.call();
        let (post, _) = world.request();
        world.head(post, status, "text/plain", None);
        world.end(post);
        assert!(world.aborted.contains(&old), "{status}");
        let get = stream(&mut world);
        names(&mut world, get, "/messages?id=2");
        greets(&mut world, get, "https://h.test/messages?id=2");
        let id = id_of(&taken(&mut world, "https://h.test/messages?id=2"));
        world.body(get, &result(&id));
        assert!(world.answer(one).contains("true"), "it was refused, and never ran");
    }
}

#[test]
fn a_handshake_whose_stream_ends_goes_back_to_its_beginning() {
    let mut world = World::connecting(sse());
    let get = stream(&mut world);
    names(&mut world, get, "/messages?id=1");
    taken(&mut world, PLACE);
    world.cut(get);
    assert!(world.requests.is_empty(), "after a wait");
    let (_, get, request) = world.next_request();
    assert_eq!((request.method, request.url), (Method::Get, None));
    world.head(get, 200, SSE, None);
    names(&mut world, get, "/messages?id=2");
    greets(&mut world, get, "https://h.test/messages?id=2");
    assert!(world.ready.is_some());
}

#[test]
fn a_handshake_that_goes_back_to_its_beginning_has_handshake_ms_in_all() {
    let mut world = World::connecting(sse());
    for _ in 0..3 {
        let get = stream(&mut world);
        names(&mut world, get, "/messages?id=1");
        taken(&mut world, PLACE);
        world.pass(7_000);
        world.cut(get);
        world.pass(2_800);
    }
    assert!(world.is_pending(world.handshake()));
    world.pass(601);
    world.failure(world.handshake());
    world.assert_nothing_is_left();
}

#[test]
fn a_get_that_meets_what_passes_is_made_again() {
    for status in [0, 429, 503] {
        let mut world = World::connecting(sse());
        let (get, _) = world.request();
        match status {
            0 => world.failed(get, "ECONNREFUSED"),
            status => {
                world.head(get, status, "", None);
                world.end(get);
            }
        }
        let (_, get, request) = world.next_request();
        assert_eq!(request.method, Method::Get, "{status}");
        world.head(get, 200, SSE, None);
        names(&mut world, get, "/messages?id=1");
        greets(&mut world, get, PLACE);
        assert!(world.ready.is_some(), "{status}");
    }
}

#[test]
fn an_endpoint_that_never_comes_ends_the_handshake_in_time_and_one_elsewhere_at_once() {
    let mut world = World::connecting(sse());
    let get = stream(&mut world);
    for _ in 0..3 {
        world.body(get, ": here\n\n");
        world.pass(9_999);
    }
    assert!(world.is_pending(world.handshake()));
    world.pass(3);
    assert_eq!(world.failure(world.handshake()).reason, Reason::ConnectTimeout);
    world.assert_nothing_is_left();
    for place in ["https://other.test/m", "//other.test/m", "https://u@h.test/m", "javascript:x"] {
        let mut world = World::connecting(sse());
        let get = stream(&mut world);
        names(&mut world, get, place);
        assert_eq!(world.failure(world.handshake()).reason, Reason::MalformedResponse, "{place}");
        assert!(world.requests.is_empty(), "{place}");
        world.assert_nothing_is_left();
    }
}

#[test]
fn a_get_that_is_no_such_stream_is_a_refusal_that_says_what_came() {
    let mut world = World::connecting(sse());
    let (get, _) = world.request();
    world.head(get, 200, "text/html", None);
    let failure = world.failure(world.handshake());
    assert_eq!(failure.reason, Reason::UnexpectedContent);
    assert!(failure.text.contains("text/html"), "{}", failure.text);
    let mut world = World::connecting(sse());
    let get = stream(&mut world);
    world.end(get);
    assert_eq!(world.failure(world.handshake()).reason, Reason::UnexpectedContent);
    let mut world = World::connecting(sse());
    let (get, _) = world.request();
    world.head(get, 405, "", None);
    world.end(get);
    let failure = world.failure(world.handshake());
    assert_eq!((failure.reason, failure.diagnostics.last_status), (Reason::HttpError, Some(405)));
    world.assert_nothing_is_left();
}

#[test]
fn it_is_found_by_itself_where_nothing_else_is_known_and_at_once_where_it_was_found_before() {
    let auto = || Options { era: EraOption::Auto, ..options() };
    let mut world = World::connecting(auto());
    for _ in 0..2 {
        let (post, request) = world.request();
        assert_eq!(request.method, Method::Post);
        world.head(post, 404, "text/html", None);
        world.end(post);
    }
    let get = stream(&mut world);
    names(&mut world, get, "/messages?id=1");
    greets(&mut world, get, PLACE);
    assert_eq!(world.facts.last().and_then(|facts| facts.era), Some(Era::Sse));
    call(&mut world);
    world.cut(get);
    world.call();
    stream(&mut world);
    let known = SessionFacts { era: Some(Era::Sse), ..SessionFacts::default() };
    let mut world = World::connecting(Options { resume: Some(known), ..auto() });
    stream(&mut world);
}

#[test]
fn credentials_are_asked_for_on_the_get_too() {
    let mut world = World::connecting(Options { auth: true, ..sse() });
    let (get, _) = world.request();
    world.head(get, 401, "", None);
    world.end(get);
    assert_eq!(world.challenges.len(), 1);
    world.client.authorized(world.now, true);
    world.drain();
    let get = stream(&mut world);
    names(&mut world, get, "/messages?id=1");
    greets(&mut world, get, PLACE);
}

#[test]
fn whether_it_lives_is_asked_by_a_ping_that_is_answered_on_the_stream() {
    let (mut world, get) = connected();
    world.hung_call();
    let one = world.call();
    let request = taken(&mut world, PLACE);
    assert!(request.body.as_deref().is_some_and(|body| body.contains("\"ping\"")), "{request:?}");
    world.body(get, &result(&id_of(&request)));
    let id = id_of(&taken(&mut world, PLACE));
    world.body(get, &result(&id));
    assert!(world.answer(one).contains("true"));
}

#[test]
fn a_handshake_that_goes_back_to_its_beginning_has_handshake_ms_in_all_and_waits_ever_longer() {
    for ends in ["refused", "cut"] {
        let mut world = World::connecting(sse());
        let mut waits = Vec::new();
        let mut open = Some(world.request());
        while let Some((get, _)) = open.take() {
            world.head(get, 200, SSE, None);
            names(&mut world, get, "/messages?id=1");
            let (post, _) = world.request();
            match ends {
                "refused" => {
                    world.head(post, 503, "", None);
                    world.end(post);
                }
                _ => world.cut(get),
            }
            if !world.is_pending(world.handshake()) {
                break;
            }
            let before = world.now;
            while world.requests.is_empty() && world.is_pending(world.handshake()) {
                world.pass(100);
            }
            waits.push(world.now.as_millis() - before.as_millis());
            open = world.requests.pop_front();
        }
        let took = world.now.as_millis() - 1_000_000.0;
        assert!((29_000.0..=30_100.0).contains(&took), "{ends}: {took}");
        assert!(waits.len() < 16 && waits.iter().any(|wait| *wait > 2_500.0), "{ends}: {waits:?}");
        assert!(world.failure(world.handshake()).text.contains("handshakeMs"));
        world.assert_nothing_is_left();
    }
}

#[test]
fn an_event_that_is_too_large_ends_the_session_as_any_end_of_its_stream_does() {
    let mut world = World::connecting(Options { max_event_bytes: Some(2_000.0), ..sse() });
    let get = stream(&mut world);
    names(&mut world, get, "/messages?id=1");
    greets(&mut world, get, PLACE);
    let (one, _) = call(&mut world);
    let large = "x".repeat(4_000);
    world.body(get, &format!("data: {large}\n\n"));
    assert_eq!(world.failure(one).reason, Reason::SessionLost);
}

#[test]
fn a_stream_that_brings_nothing_any_more_is_left_once_no_call_waits_for_it() {
    let (mut world, old) = connected();
    let (hung, _) = call(&mut world);
    world.pass(120_000);
    assert_eq!(world.failure(hung).reason, Reason::CallTimeout);
    world.take_cancelled();
    let one = world.call();
    let ping = taken(&mut world, PLACE);
    assert!(ping.body.as_deref().is_some_and(|body| body.contains("\"ping\"")));
    world.pass(5_000);
    assert!(world.aborted.contains(&old));
    let get = stream(&mut world);
    names(&mut world, get, "/messages?id=2");
    let place = "https://h.test/messages?id=2";
    greets(&mut world, get, place);
    let id = id_of(&taken(&mut world, place));
    world.body(get, &result(&id));
    assert!(world.answer(one).contains("true"));
}

#[test]
fn a_get_that_goes_out_again_with_other_credentials_has_its_time_too() {
    let mut world = World::connecting(Options { auth: true, ..sse() });
    let (get, _) = world.request();
    world.head(get, 401, "", None);
    world.end(get);
    world.client.authorized(world.now, true);
    world.drain();
    world.request();
    world.pass(29_999);
    assert!(world.is_pending(world.handshake()));
    world.pass(1);
    assert_eq!(world.failure(world.handshake()).reason, Reason::ConnectTimeout);
    world.assert_nothing_is_left();
}
