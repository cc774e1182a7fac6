//! A handshake beside a session whose pings fail: it is replaced only if the server is well, and it is not.

use crate::world::{header, id_of, note, options, result, World, JSON, SSE};
use landfall::proto::{
    CallId, CallSpec, Event, ExchangeId, HttpRequest, Method, Options, Reason, SessionState, TimeoutOptions,
};

fn is(request: &HttpRequest, method: &str) -> bool {
    request.body.as_deref().unwrap_or_default().contains(&format!("\"{method}\""))
}

fn session(request: &HttpRequest) -> Option<&str> {
    header(request, "mcp-session-id")
}

fn offer(world: &mut World, post: ExchangeId, request: &HttpRequest) {
    let result =
        r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;
    world.head(post, 200, JSON, Some("s2"));
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id_of(request)));
    world.end(post);
}

/// What the server does with requests in session `s1`.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Old {
    Breaks,
    IsSilent,
}

/// A server that has begun to fail in session `s1`: everything that is asked there, until a handshake is tried; that
/// request. What the client did meanwhile is kept in `seen`.
fn until_trial(world: &mut World, old: Old, seen: &mut Vec<HttpRequest>) -> (ExchangeId, HttpRequest) {
    loop {
        let (_, exchange, request) = world.next_request();
        if is(&request, "initialize") {
            return (exchange, request);
        }
        if old == Old::Breaks {
            world.head(exchange, 500, "", None);
            world.end(exchange);
        }
        seen.push(request);
    }
}

/// Two calls whose streams were cut behind their first event, and the server fails in their session since then. The
/// second one may be sent again.
fn cut(options: Options) -> (World, CallId, CallId, String) {
    let mut world = World::connected(options);
    let (once, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.cut(post);
    let safe = world.safe_call();
    let (post, _) = world.request();
    world.head(post, 200, SSE, None);
    world.body(post, &note("b/1", "a"));
    world.cut(post);
    (world, once, safe, id)
}

/// Lets the trial's handshake pass, and its ping, which comes back.
fn prove(world: &mut World, trial: ExchangeId, request: &HttpRequest) {
    assert_eq!(session(request), None);
    offer(world, trial, request);
    let (ping, request) = world.request();
    assert!(is(&request, "ping") && session(&request) == Some("s2"), "{request:?}");
    world.reply(ping, &request, "{}");
}

#[test]
fn a_session_whose_pings_fail_while_the_server_begins_another_is_dead_and_that_one_replaces_it() {
    for old in [Old::Breaks, Old::IsSilent] {
        let (mut world, once, safe, _) = cut(options());
        let mut seen = Vec::new();
        let (trial, request) = until_trial(&mut world, old, &mut seen);
        assert_eq!(seen.iter().filter(|request| is(request, "ping")).count(), 2);
        assert!(world.is_pending(once) && world.is_pending(safe), "nothing is decided");
        world.requests.clear();
        assert_eq!(world.client.metrics(false).levels.l2.tried, 0);
        prove(&mut world, trial, &request);
        let (ping, request) = world.request();
        assert!(is(&request, "ping") && session(&request) == Some("s1"), "{request:?}");
        match old {
            Old::Breaks => world.head(ping, 500, "", None),
            Old::IsSilent => world.pass(5_000),
        }
        world.end(ping);
        assert_eq!(world.failure(once).reason, Reason::SessionLost);
        world.requests.retain(|(_, request)| session(request) != Some("s1"));
        let (confirm, request) = world.request();
        assert!(is(&request, "notifications/initialized") && session(&request) == Some("s2"));
        world.head(confirm, 202, "", None);
        assert_eq!(world.ready, Some(("2025-11-25".to_string(), Some("s2".to_string()))));
        let (post, request) = world.request();
        assert!(is(&request, "tools/call") && session(&request) == Some("s2"));
        world.head(post, 200, SSE, None);
        world.body(post, &result(&id_of(&request)));
        assert!(world.answer(safe).contains("ok"));
        let metrics = world.client.metrics(false);
        assert_eq!((metrics.levels.l2.tried, metrics.levels.l2.won, metrics.session_mismatches), (1, 1, 1));
        assert!(world.requests.is_empty());
        world.assert_nothing_is_left();
    }
}

#[test]
fn a_session_that_answers_in_the_end_lives_and_what_was_begun_beside_it_is_given_back() {
    let (mut world, once, _, id) = cut(options());
    let (trial, request) = until_trial(&mut world, Old::Breaks, &mut Vec::new());
    prove(&mut world, trial, &request);
    let (ping, request) = world.request();
    world.reply(ping, &request, "{}");
    let place = world.requests.iter().position(|(_, request)| request.method == Method::Delete);
    let (delete, request) = world.requests.remove(place.expect("a DELETE")).unwrap();
    assert_eq!(session(&request), Some("s2"));
    world.head(delete, 500, "", None);
    assert!(world.is_pending(once), "its own failure is ignored");
    let start = world.now;
    while world.is_pending(once) {
        let (_, exchange, request) = world.next_request();
        assert_eq!(session(&request), Some("s1"), "{request:?}");
        match request.method {
            Method::Get if world.now.since(start).as_secs() > 10 => {
                world.head(exchange, 200, SSE, None);
                world.body(exchange, &result(&id));
            }
            Method::Get => world.head(exchange, 500, "", None),
            _ => world.cut(exchange),
        }
    }
    assert!(world.answer(once).contains("ok"));
    assert!(!world.closed && world.client.metrics(false).levels.l2.tried == 0);
}

#[test]
fn a_server_that_answers_no_pings_in_any_session_proves_nothing_and_is_tried_once_a_minute() {
    let (mut world, once, _, _) = cut(options());
    let (mut trials, mut deletes) = (Vec::new(), 0);
    let mut pings = 0;
    while world.is_pending(once) {
        let (_, exchange, request) = world.next_request();
        if is(&request, "initialize") {
            trials.push(world.now);
            offer(&mut world, exchange, &request);
            continue;
        }
        pings += usize::from(is(&request, "ping"));
        if request.method == Method::Delete {
            assert_eq!(session(&request), Some("s2"));
            deletes += 1;
            continue;
        }
        world.head(exchange, 500, "", None);
        world.end(exchange);
    }
    assert_eq!(world.failure(once).reason, Reason::RecoveryExhausted, "the session is kept");
    assert_eq!(trials.len(), deletes, "each is given back");
    assert!((2..=3).contains(&trials.len()), "{trials:?}");
    assert!(trials.windows(2).all(|pair| pair[1].since(pair[0]).as_secs() >= 60));
    assert!(pings < 80, "{pings}");
}

#[test]
fn nothing_is_tried_where_a_lost_session_is_not_to_be_replaced() {
    let (mut world, once, _, _) = cut(Options { fail_lost_session: true, ..options() });
    while world.is_pending(once) {
        let (_, exchange, request) = world.next_request();
        assert!(!is(&request, "initialize"));
        world.head(exchange, 500, "", None);
        world.end(exchange);
    }
    assert_eq!(world.failure(once).reason, Reason::RecoveryExhausted);
}

#[test]
fn a_trial_that_fails_changes_nothing() {
    let (mut world, once, safe, id) = cut(options());
    let (trial, _) = until_trial(&mut world, Old::Breaks, &mut Vec::new());
    world.head(trial, 503, "", None);
    world.end(trial);
    assert!(world.is_pending(once) && world.is_pending(safe) && world.ready.is_some());
    let get = loop {
        let (_, exchange, request) = world.next_request();
        assert_eq!(session(&request), Some("s1"));
        if header(&request, "last-event-id") == Some("1") {
            break exchange;
        }
    };
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(once).contains("ok"));
}

#[test]
fn a_handshake_that_is_tried_when_the_server_names_the_session_dead_is_the_next_sessions_own() {
    for offered in [false, true] {
        let (mut world, once, safe, _) = cut(options());
        let (trial, request) = until_trial(&mut world, Old::Breaks, &mut Vec::new());
        if offered {
            offer(&mut world, trial, &request);
        }
        world.requests.clear();
        world.call();
        let (post, _) = world.request();
        world.head(post, 404, "", None);
        world.end(post);
        assert_eq!(world.failure(once).reason, Reason::SessionLost);
        if !offered {
            assert!(world.requests.is_empty(), "one handshake at a time");
            offer(&mut world, trial, &request);
        }
        let (confirm, request) = world.request();
        assert!(is(&request, "notifications/initialized") && session(&request) == Some("s2"));
        world.head(confirm, 202, "", None);
        assert!(world.requests.iter().all(|(_, request)| session(request) == Some("s2")));
        assert!(world.is_pending(safe) && world.requests.len() == 2, "it goes on in the next session");
    }
}

#[test]
fn a_ping_that_times_out_beside_an_open_body_tries_nothing_since_its_server_may_be_busy() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    for _ in 0..3 {
        world.pass(40_000);
        assert!(!world.requests.iter().any(|(_, request)| is(request, "initialize")));
    }
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn after_a_call_that_hung_the_next_one_waits_until_it_is_known_whether_the_session_hangs_too() {
    let mut world = World::connected(options());
    world.hung_call();
    let next = world.call();
    let start = world.now;
    let mut seen = Vec::new();
    let (trial, request) = until_trial(&mut world, Old::IsSilent, &mut seen);
    assert_eq!(seen.len(), 2, "two pings, and not the call: {seen:?}");
    prove(&mut world, trial, &request);
    world.pass(5_000);
    assert!(world.now.since(start).as_secs() <= 15, "three times connectMs");
    world.requests.pop_front();
    let (confirm, request) = world.request();
    assert!(is(&request, "notifications/initialized"));
    world.head(confirm, 202, "", None);
    let (post, request) = world.request();
    assert!(is(&request, "tools/call") && session(&request) == Some("s2"));
    world.head(post, 200, SSE, None);
    world.body(post, &result(&id_of(&request)));
    assert!(world.answer(next).contains("ok"));
    world.assert_nothing_is_left();
}

#[test]
fn a_call_that_waits_for_a_verdict_is_sent_when_there_is_none() {
    let mut world = World::connected(options());
    let hung = world.call_with(CallSpec {
        method: "tools/call".to_string(),
        timeouts: TimeoutOptions { first_byte: Some(1_000.0), ..TimeoutOptions::default() },
        ..CallSpec::default()
    });
    world.pass(1_000);
    assert!(!world.is_pending(hung));
    world.requests.clear();
    let next = world.call();
    until_trial(&mut world, Old::IsSilent, &mut Vec::new());
    world.pass(30_000);
    let (post, request) = world.request();
    assert!(is(&request, "tools/call") && session(&request) == Some("s1"));
    world.head(post, 200, SSE, None);
    world.body(post, &result(&id_of(&request)));
    assert!(world.answer(next).contains("ok"));
    world.assert_nothing_is_left();
}

#[test]
fn closing_ends_a_trial_and_gives_back_what_it_has() {
    for offered in [false, true] {
        let (mut world, _, _, _) = cut(options());
        let (trial, request) = until_trial(&mut world, Old::Breaks, &mut Vec::new());
        if offered {
            offer(&mut world, trial, &request);
        }
        world.requests.clear();
        world.client.close(world.now);
        world.drain();
        let mut ended: Vec<_> =
            world.requests.iter().map(|(_, r)| (r.method, session(r).unwrap_or_default())).collect();
        ended.sort_by_key(|(_, session)| session.to_string());
        let both = [(Method::Delete, "s1"), (Method::Delete, "s2")];
        assert_eq!(ended, both[..if offered { 2 } else { 1 }]);
        world.pass(2_000);
        assert!(world.closed);
        world.assert_nothing_is_left();
    }
}

#[test]
fn pings_that_fail_while_other_requests_are_taken_are_not_sent_again_and_again() {
    let mut world = World::connected(options());
    let hung = world.call_with(CallSpec {
        method: "tools/call".to_string(),
        timeouts: TimeoutOptions { first_byte: Some(1_000.0), ..TimeoutOptions::default() },
        ..CallSpec::default()
    });
    world.pass(1_000);
    assert!(!world.is_pending(hung));
    world.requests.clear();
    let next = world.call();
    for _ in 0..2 {
        let (_, ping, request) = world.next_request();
        assert!(is(&request, "ping") && world.is_pending(next));
        world.head(ping, 500, "", None);
        world.end(ping);
        world.client.notify(world.now, "notifications/roots/list_changed", "{}");
        world.drain();
        let place =
            world.requests.iter().position(|(_, request)| is(request, "notifications/roots/list_changed"));
        let (post, _) = world.requests.remove(place.unwrap()).unwrap();
        world.head(post, 202, "", None);
    }
    let (post, request) = world.request();
    assert!(is(&request, "tools/call"), "the session takes requests: {request:?}");
    world.head(post, 200, SSE, None);
    world.pass(40_000);
    assert!(world.requests.is_empty(), "{:?}", world.requests);
}

#[test]
fn a_session_that_was_offered_and_that_the_server_does_not_know_proves_nothing() {
    let (mut world, once, _, _) = cut(options());
    let (trial, request) = until_trial(&mut world, Old::Breaks, &mut Vec::new());
    world.requests.clear();
    offer(&mut world, trial, &request);
    let (ping, request) = world.request();
    assert_eq!(session(&request), Some("s2"));
    world.head(ping, 400, JSON, None);
    world.body(ping, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request"}}"#);
    world.end(ping);
    let (_, request) = world.request();
    assert_eq!((request.method, session(&request)), (Method::Delete, Some("s2")), "it is given back");
    assert!(world.is_pending(once));
}

#[test]
fn the_end_of_what_was_begun_beside_it_is_an_answer_of_http_like_any_other() {
    let (mut world, ..) = cut(options());
    let (trial, request) = until_trial(&mut world, Old::Breaks, &mut Vec::new());
    offer(&mut world, trial, &request);
    let (ping, _) = world.request();
    let resume = |world: &mut World| loop {
        let (_, get, request) = world.next_request();
        if request.method == Method::Get {
            return get;
        }
    };
    let first = resume(&mut world);
    world.head(ping, 404, "", None);
    world.end(ping);
    let place = world.requests.iter().position(|(_, request)| request.method == Method::Delete);
    let (delete, _) = world.requests.remove(place.expect("it is given back")).expect("it was found");
    world.events.clear();
    world.failed(first, "ENETUNREACH");
    world.head(delete, 200, "", None);
    let second = resume(&mut world);
    world.failed(second, "ENETUNREACH");
    let is_offline = |(_, event): &(_, Event)| *event == Event::State { state: SessionState::Offline };
    assert!(!world.events.iter().any(is_offline), "not two in a row without an answer: {:?}", world.events);
}
