//! Redirects: each holds for its request, stays in the origin, and hands nothing of ours to another.

use crate::world::{header, id_of, note, options, result, World, GREETING, JSON, SSE};
use landfall::proto::{
    CallId, CallSpec, ExchangeId, HttpRequest, Manner, Method, Options, Outcome, Reason, Redirect,
    RedirectPolicy, ResponseHead, Target,
};

fn to(status: u16, url: &str, same_origin: bool) -> ResponseHead {
    let target = Target { url: url.to_string(), same_origin };
    ResponseHead { status, redirect: Some(Redirect::To(target)), ..ResponseHead::default() }
}

fn hidden() -> ResponseHead {
    ResponseHead { redirect: Some(Redirect::Hidden), ..ResponseHead::default() }
}

fn followed(status: u16, url: &str, same_origin: bool) -> ResponseHead {
    let target = Target { url: url.to_string(), same_origin };
    ResponseHead { status, redirect: Some(Redirect::Followed(target)), ..ResponseHead::default() }
}

fn url_of(request: &HttpRequest) -> Option<&str> {
    request.url.as_deref()
}

/// The GET that asks where the redirects end.
fn scout(world: &mut World) -> ExchangeId {
    let (get, request) = world.request();
    assert_eq!((request.method, request.manner), (Method::Get, Manner::Bare));
    assert!(request.headers.is_empty() && request.body.is_none() && request.url.is_none(), "{request:?}");
    get
}

fn answer_initialize(world: &mut World, post: ExchangeId, request: &HttpRequest) {
    world.head(post, 200, JSON, Some("s1"));
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},{GREETING}"#, id_of(request)));
    world.end(post);
    let (post, _) = world.request();
    world.head(post, 202, "", None);
}

/// A session whose endpoint a browser hid behind a redirect, and that was found at `/mcp/`.
fn found(options: Options) -> World {
    let mut world = World::new(options);
    world.client.connect(world.now);
    world.drain();
    let (post, _) = world.request();
    world.input_head(post, hidden());
    let get = scout(&mut world);
    world.input_head(get, followed(406, "http://h/mcp/", true));
    assert!(world.aborted.contains(&get), "it ends at its head");
    let (post, request) = world.request();
    assert_eq!((request.method, url_of(&request)), (Method::Post, Some("http://h/mcp/")));
    answer_initialize(&mut world, post, &request);
    assert!(world.ready.is_some());
    world
}

fn call_of(world: &mut World, idempotent: bool) -> CallId {
    world.call_with(CallSpec { method: "tools/call".to_string(), idempotent, ..CallSpec::default() })
}

#[test]
fn redirects_stay_in_the_origin_and_keep_the_method() {
    let mut world = World::connected(options());
    let call = world.call();
    let (post, _) = world.request();
    world.input_head(post, to(308, "http://h/mcp/", true));
    let (post, request) = world.request();
    assert_eq!((request.method, url_of(&request)), (Method::Post, Some("http://h/mcp/")));
    world.head(post, 200, SSE, None);
    world.body(post, &result(&id_of(&request)));
    assert!(world.answer(call).contains("ok"));
    let refused = [(307, false), (301, true), (302, true), (303, true)]
        .map(|(status, same_origin)| to(status, "http://other/x?secret=1", same_origin));
    for head in refused.into_iter().chain([followed(200, "http://other/x?secret=1", false)]) {
        let call = world.call();
        let (post, _) = world.request();
        world.input_head(post, head);
        let failure = world.failure(call);
        assert_eq!((failure.reason, failure.outcome), (Reason::Redirected, Outcome::Unknown));
        assert!(failure.text.contains("http://other/x") && !failure.text.contains("secret"));
        assert!(failure.text.contains("redirectPolicy"), "{}", failure.text);
    }
    let call = world.call();
    for _ in 0..6 {
        let (post, _) = world.request();
        world.input_head(post, to(307, "http://h/loop", true));
    }
    assert_eq!(world.failure(call).reason, Reason::Redirected);
    world.assert_nothing_is_left();
}

#[test]
fn a_redirect_holds_for_its_request_and_the_next_begins_at_the_endpoint() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.cut(post);
    // The first resume is turned, and cut; the second begins at the endpoint.
    let (_, get, request) = world.next_request();
    assert_eq!(url_of(&request), None);
    world.input_head(get, to(303, "http://h/elsewhere", true));
    let (get, request) = world.request();
    assert_eq!((request.method, url_of(&request)), (Method::Get, Some("http://h/elsewhere")));
    assert_eq!(header(&request, "last-event-id"), Some("1"));
    world.head(get, 200, SSE, None);
    world.body(get, &note("2", "b"));
    world.cut(get);
    let (_, get, request) = world.next_request();
    assert_eq!((url_of(&request), header(&request, "last-event-id")), (None, Some("2")));
    // Five redirects again are not too many: the first is forgotten.
    let mut get = get;
    for _ in 0..5 {
        world.input_head(get, to(307, "http://h/elsewhere", true));
        get = world.request().0;
    }
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
    world.assert_nothing_is_left();
}

#[test]
fn a_redirected_get_does_not_turn_the_request_that_is_sent_again() {
    let mut world = World::connected(options());
    let call = call_of(&mut world, true);
    let (post, request) = world.request();
    let id = id_of(&request);
    world.head(post, 200, SSE, None);
    world.body(post, &note("1", "a"));
    world.cut(post);
    let (_, get, _) = world.next_request();
    world.input_head(get, to(303, "http://h/stream", true));
    let (get, _) = world.request();
    world.head(get, 405, "", None); // It can't be resumed.
    let (_, post, request) = world.next_request();
    assert_eq!((request.method, url_of(&request)), (Method::Post, None));
    assert_ne!(id_of(&request), id, "sent again under an id of its own");
    world.head(post, 200, SSE, None);
    world.body(post, &result(&id_of(&request)));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_redirected_listen_stream_is_opened_there_and_may_stay_silent() {
    let mut world = World::connected(Options { listen: true, ..options() });
    let (get, _) = world.request();
    world.input_head(get, to(307, "http://h/mcp/", true));
    let (get, request) = world.request();
    assert_eq!((request.method, url_of(&request)), (Method::Get, Some("http://h/mcp/")));
    world.pass(3_600_000); // No clock bounds its headers.
    assert!(!world.aborted.contains(&get) && world.requests.is_empty());
    world.head(get, 200, SSE, None);
    world.body(get, &note("n1", "hello"));
    assert_eq!(world.messages.len(), 1);
    // With a cursor likewise.
    world.end(get);
    let (_, get, request) = world.next_request();
    assert_eq!((url_of(&request), header(&request, "last-event-id")), (None, Some("n1")));
    world.input_head(get, to(307, "http://h/mcp/", true));
    let (get, request) = world.request();
    assert_eq!(header(&request, "last-event-id"), Some("n1"));
    world.pass(3_600_000);
    assert!(!world.aborted.contains(&get) && world.requests.is_empty());
}

#[test]
fn an_address_with_a_user_in_it_is_not_gone_to() {
    let mut world = World::connected(options());
    let call = world.call();
    let (post, _) = world.request();
    world.input_head(post, to(307, "http://user:hunter2@h/mcp", true));
    let failure = world.failure(call);
    assert_eq!(failure.reason, Reason::Redirected);
    assert!(failure.text.contains("http://h/mcp") && !failure.text.contains("hunter2"), "{}", failure.text);
    assert!(world.requests.is_empty());
}

#[test]
fn where_the_user_wants_none_followed_none_is() {
    let refuse = RedirectPolicy::Refuse;
    for head in [to(307, "http://h/mcp/", true), hidden()] {
        let mut world = World::connected(Options { redirects: refuse, ..options() });
        let call = world.call();
        let (post, request) = world.request();
        assert_eq!(request.manner, Manner::Guarded);
        world.input_head(post, head);
        let failure = world.failure(call);
        assert_eq!(failure.reason, Reason::Redirected);
        assert!(failure.text.contains("requestInit.redirect"), "{}", failure.text);
        assert!(world.requests.is_empty());
    }
}

#[test]
fn where_the_user_leaves_redirects_to_fetch_their_answers_count() {
    let mut world = World::connected(Options { redirects: RedirectPolicy::Follow, ..options() });
    let call = world.call();
    let (post, request) = world.request();
    assert_eq!(request.manner, Manner::Following);
    let head = followed(200, "http://other/mcp", false);
    world.input_head(post, ResponseHead { content_type: Some(SSE.to_string()), ..head });
    world.body(post, &result(&id_of(&request)));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_hidden_endpoint_is_found_on_the_handshake_and_kept_for_the_session() {
    let mut world = found(Options { listen: true, ..options() });
    let (_, listen) = world.request();
    assert_eq!((listen.method, url_of(&listen)), (Method::Get, Some("http://h/mcp/")));
    let (call, id, post) = {
        let call = world.call();
        let (post, request) = world.request();
        assert_eq!(url_of(&request), Some("http://h/mcp/"));
        assert_eq!(header(&request, "mcp-session-id"), Some("s1"));
        world.head(post, 200, SSE, None);
        (call, id_of(&request), post)
    };
    world.body(post, &note("1", "a"));
    world.cut(post);
    let (_, get, request) = world.next_request();
    assert_eq!(url_of(&request), Some("http://h/mcp/"));
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
    world.client.close(world.now);
    world.drain();
    let (_, request) = world.request();
    assert_eq!((request.method, url_of(&request)), (Method::Delete, Some("http://h/mcp/")));
}

#[test]
fn the_next_session_finds_its_endpoint_anew() {
    let mut world = found(options());
    call_of(&mut world, true);
    let (post, _) = world.request();
    world.head(post, 404, "", None);
    world.end(post);
    let (_, request) = world.request();
    assert_eq!((request.method, url_of(&request)), (Method::Post, None));
    assert!(request.body.is_some_and(|body| body.contains("initialize")));
}

#[test]
fn a_hidden_redirect_that_leaves_the_origin_or_tells_nothing_fails_the_handshake() {
    let outside = Some(followed(200, "http://other/mcp?secret", false));
    let nowhere = Some(ResponseHead { status: 405, ..ResponseHead::default() });
    for (head, said) in
        [(outside, "to http://other/mcp,"), (nowhere, "does not tell"), (None, "does not tell")]
    {
        let mut world = World::connecting(options());
        let (post, _) = world.request();
        world.input_head(post, hidden());
        let get = scout(&mut world);
        match head {
            Some(head) => world.input_head(get, head),
            None => world.cut(get),
        }
        let failure = world.failure(world.handshake());
        assert_eq!(failure.reason, Reason::Redirected);
        assert!(failure.text.contains(said) && failure.text.contains("redirectPolicy"), "{}", failure.text);
        assert!(!failure.text.contains("secret"));
        assert!(world.requests.is_empty());
        world.assert_nothing_is_left();
    }
}

#[test]
fn looking_for_a_hidden_endpoint_takes_no_longer_than_connect_ms() {
    let mut world = World::connecting(options());
    let (post, _) = world.request();
    world.input_head(post, hidden());
    let get = scout(&mut world);
    world.pass(5_000);
    assert_eq!(world.failure(world.handshake()).reason, Reason::Redirected);
    assert!(world.aborted.contains(&get));
    world.assert_nothing_is_left();
}

#[test]
fn what_was_found_is_not_looked_for_again_when_it_redirects_too() {
    let mut world = World::connecting(options());
    let (post, _) = world.request();
    world.input_head(post, hidden());
    let get = scout(&mut world);
    world.input_head(get, followed(200, "http://h/mcp/", true));
    let (post, _) = world.request();
    world.input_head(post, hidden());
    assert_eq!(world.failure(world.handshake()).reason, Reason::Redirected);
    assert!(world.requests.is_empty());
}

#[test]
fn a_later_hidden_redirect_ends_a_call_that_may_not_run_twice_and_turns_one_that_may() {
    let mut world = World::connected(options());
    let (once, twice) = (call_of(&mut world, false), call_of(&mut world, true));
    let (first, _) = world.request();
    let (second, sent) = world.request();
    world.input_head(first, hidden());
    let failure = world.failure(once);
    assert_eq!((failure.reason, failure.outcome), (Reason::Redirected, Outcome::Unknown));
    world.input_head(second, hidden());
    assert!(world.is_pending(twice));
    let get = scout(&mut world);
    assert!(world.requests.is_empty(), "one for all");
    world.input_head(get, followed(405, "http://h/mcp/", true));
    let (post, request) = world.request();
    assert_eq!((url_of(&request), id_of(&request)), (Some("http://h/mcp/"), id_of(&sent)));
    world.head(post, 200, SSE, None);
    world.body(post, &result(&id_of(&request)));
    assert!(world.answer(twice).contains("ok"));
    // And the next one goes there at once.
    call_of(&mut world, false);
    assert_eq!(url_of(&world.request().1), Some("http://h/mcp/"));
}

#[test]
fn a_hidden_redirect_of_a_resume_and_of_the_listen_stream_is_found_out_too() {
    let mut world = World::connected(Options { listen: true, ..options() });
    let (listen, _) = world.request();
    let (call, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.cut(post);
    let (_, get, _) = world.next_request();
    world.input_head(get, hidden());
    world.input_head(listen, hidden());
    let asked = scout(&mut world);
    world.input_head(asked, followed(200, "http://h/mcp/", true));
    let (get, request) = world.request();
    assert_eq!((url_of(&request), header(&request, "last-event-id")), (Some("http://h/mcp/"), Some("1")));
    let (listen, request) = world.request();
    assert_eq!((request.method, url_of(&request)), (Method::Get, Some("http://h/mcp/")));
    world.pass(4_000);
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
    world.pass(60_000);
    assert!(!world.aborted.contains(&listen), "no clock bounds its headers");
}

#[test]
fn a_bare_get_proves_no_credentials() {
    let mut world = World::connected(Options { auth: true, ..options() });
    let call = call_of(&mut world, true);
    let (post, _) = world.request();
    world.head(post, 401, "", None);
    world.end(post);
    world.client.authorized(world.now, true);
    world.drain();
    let (post, _) = world.request();
    world.input_head(post, hidden());
    let get = scout(&mut world);
    world.input_head(get, followed(200, "http://h/mcp/", true));
    let (post, _) = world.request();
    world.head(post, 401, "", None);
    world.end(post);
    assert_eq!(world.failure(call).reason, Reason::Unauthorized);
    assert_eq!(world.challenges.len(), 1);
}

#[test]
fn the_delete_of_close_is_followed_in_the_origin_and_never_leaves_it() {
    let closing = || {
        let mut world = World::connected(options());
        world.client.close(world.now);
        world.drain();
        let (delete, request) = world.request();
        assert_eq!((request.method, url_of(&request)), (Method::Delete, None));
        (world, delete)
    };
    let (mut world, delete) = closing();
    world.input_head(delete, to(307, "http://h/mcp/", true));
    let (delete, request) = world.request();
    assert_eq!((request.method, url_of(&request)), (Method::Delete, Some("http://h/mcp/")));
    assert_eq!(header(&request, "mcp-session-id"), Some("s1"));
    assert!(!world.closed);
    world.head(delete, 200, "", None);
    assert!(world.closed);
    for head in [to(307, "http://other/mcp", false), to(303, "http://h/mcp/", true), hidden()] {
        let (mut world, delete) = closing();
        world.input_head(delete, head);
        assert!(world.closed && world.requests.is_empty());
        world.assert_nothing_is_left();
    }
}
