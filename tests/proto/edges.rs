//! Edges of the ladder, and what may not leak into a message.

use crate::world::{header, id_of, note, options, result, Ended, World, JSON, SSE};
use landfall::proto::{
    HttpRequest, Input, IoFailure, Method, OnGap, Options, Redirect, ResponseHead, Target,
};

fn body_of(request: &HttpRequest) -> &str {
    request.body.as_deref().unwrap_or_default()
}

/// Rung 3: two failed attempts, the session answers: a safe call is re-issued; here it polls until recoveryMs.
#[test]
fn a_safe_call_that_cannot_be_resumed_in_a_living_session_is_sent_again() {
    let mut world = World::connected(options());
    let call = world.safe_call();
    let (post, _) = world.request();
    world.head(post, 200, SSE, None);
    world.body(post, &note("1", "a"));
    world.cut(post);
    let mut reissued = false;
    while world.is_pending(call) && !reissued {
        world.pass(100);
        while let Some((exchange, request)) = world.requests.pop_front() {
            match request.method {
                Method::Get => world.head(exchange, 500, "", None),
                _ if body_of(&request).contains("\"ping\"") => world.reply(exchange, &request, "{}"),
                _ => reissued |= body_of(&request).contains("tools/call"),
            }
        }
    }
    assert!(reissued, "{:?}", world.failure(call).reason);
}

/// "A resume GET rejected twice while POSTs are answered turns L1 off for the endpoint."
#[test]
fn a_resume_rejected_twice_while_posts_are_answered_turns_l1_off() {
    let mut world = World::connected(Options { cross_origin: true, ..options() });
    let (call, _, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.cut(post);
    for _ in 0..100 {
        world.pass(100);
        while let Some((exchange, request)) = world.requests.pop_front() {
            match request.method {
                Method::Get => world.cut(exchange),
                _ if body_of(&request).contains("\"ping\"") => world.reply(exchange, &request, "{}"),
                _ => {}
            }
        }
    }
    assert!(
        !world.is_pending(call),
        "GETs are rejected, POSTs are answered, and the call waits for recoveryMs"
    );
}

/// A stream with a cursor whose race waits for a Retry-After is re-issued because a probe *for another call* timed out.
#[test]
fn a_probe_for_another_stream_does_not_reissue_one_that_has_a_cursor() {
    let mut world = World::connected(options());
    let call = world.safe_call();
    let (post, _) = world.request();
    world.head(post, 200, SSE, None);
    world.body(post, &note("1", "a"));
    world.streaming(); // another, without a cursor
    world.pass(45_000);
    let mut lost = false;
    for _ in 0..20 {
        while let Some((exchange, request)) = world.requests.pop_front() {
            if request.method == Method::Get {
                let retry_after = Some("30".to_string());
                world.input_head(
                    exchange,
                    ResponseHead { status: 503, retry_after, ..ResponseHead::default() },
                );
            } else if body_of(&request).contains("tools/call") {
                lost = true;
            }
        }
        world.pass(1_000);
    }
    assert!(
        !lost && world.is_pending(call),
        "it was executed again, with its cursor and a planned resume in hand"
    );
}

/// A re-issue that is planned and not yet sent counts as used when the session dies.
#[test]
fn a_session_that_dies_before_a_planned_reissue_is_sent_does_not_use_it_up() {
    let mut world = World::connected(Options { max_reissues: Some(1.0), ..options() });
    let call = world.safe_call();
    let (post, _) = world.request();
    world.cut(post); // a re-issue is planned
    world.call();
    let (other, _) = world.request();
    world.head(other, 404, "", None);
    world.end(other);
    assert!(world.is_pending(call), "safe, sent once, never again: {:?}", world.failure(call).reason);
}

/// It asked again `connectMs` after it had asked, and in between another call took the word: it waited for all of them.
#[test]
fn who_waits_for_an_attempt_that_hangs_goes_when_that_speaks_no_longer() {
    let mut world = World::connected(options());
    let [s_post, a_post] = ["s/1", "a/1"].map(|id| {
        let (_, _, post) = world.streaming();
        world.body(post, &note(id, "x"));
        post
    });
    world.cut(s_post);
    let (_, get, _) = world.next_request();
    world.cut(get); // dark: S speaks
    world.cut(a_post);
    // Each resume hangs; the first of S is made again at once.
    let mut asked = Vec::new();
    while asked.last().is_none_or(|(cursor, _)| cursor != "a/1") {
        world.pass(10);
        while let Some((_, request)) = world.requests.pop_front() {
            asked.extend(header(&request, "last-event-id").map(|cursor| (cursor.to_string(), world.now)));
        }
    }
    let [.., (_, s_asks), (_, a_asks)] = asked.as_slice() else { panic!("{asked:?}") };
    let waited = a_asks.since(*s_asks).as_millis();
    assert!((4_990..=5_010).contains(&waited), "connectMs, and no longer: {waited} ms");
}

/// A call parked twice: `cleared` leaves it in `parked`. Its second Wait opens a second GET; the first is leaked.
#[test]
fn a_call_is_parked_once_and_makes_one_get_for_a_cursor() {
    let mut world = World::connected(options());
    let (a, a_id, a_post) = world.streaming();
    world.body(a_post, &note("a/1", "x"));
    world.pass(1_000);
    let (s, _, s_post) = world.streaming();
    world.body(s_post, &note("s/1", "x"));
    world.pass(43_000);
    world.cut(s_post);
    let (_, get, _) = world.next_request();
    world.cut(get); // dark: S speaks
    while !world.names().contains(&"suspect") {
        world.pass(10);
    }
    world.pass(10); // A is silent; its race is parked
    let gets = |world: &World| {
        world.requests.iter().filter(|(_, r)| header(r, "last-event-id") == Some("a/1")).count()
    };
    assert_eq!(gets(&world), 0, "parked");
    world.body(a_post, ": here I am\n\n");
    world.cut(a_post);
    let mut waited = 0;
    while waited < 1_300 {
        world.pass(10);
        waited += 10;
        if let Some(at) = world.requests.iter().position(|(_, r)| header(r, "last-event-id") == Some("s/1")) {
            let _ = world.requests.remove(at); // S's next GET gets no answer: it goes on speaking
        }
    }
    assert_eq!(gets(&world), 0, "parked again");
    world.client.cancel(world.now, s);
    world.drain();
    world.pass(1);
    assert_eq!(gets(&world), 1, "A speaks now");
    // Another exchange is answered while A's GET is under way: whoever is still parked goes.
    let at =
        world.requests.iter().position(|(_, r)| body_of(r).contains("cancelled")).expect("S is cancelled");
    let (told, _) = world.requests.remove(at).expect("there");
    world.head(told, 202, "", None);
    world.pass(600);
    let count = gets(&world);
    let last =
        world.requests.iter().rposition(|(_, r)| header(r, "last-event-id") == Some("a/1")).expect("one");
    let (get, _) = world.requests.remove(last).expect("there");
    world.head(get, 200, SSE, None);
    world.body(get, &result(&a_id));
    assert!(!world.is_pending(a));
    assert_eq!(
        (count, world.client.load().exchanges),
        (1, 0),
        "(GETs for one cursor, exchanges left after settle)"
    );
}

/// The head of a race is not checked for a redirect: a stream of another origin (browsers follow) is taken as ours.
#[test]
fn a_race_that_was_redirected_to_another_origin_is_not_read() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, &note("1", "a"));
    world.pass(45_000);
    let (get, _) = world.request();
    world.input_head(
        get,
        ResponseHead {
            status: 200,
            content_type: Some(SSE.to_string()),
            redirect: Some(Redirect::Followed(Target {
                url: "https://evil.example/mcp".to_string(),
                same_origin: false,
            })),
            ..ResponseHead::default()
        },
    );
    world.body(get, &result(&id));
    assert!(!matches!(world.ended.get(&call), Some(Ended::Answer(_))), "another origin answered the call");
}

fn secretive() -> World {
    World::connected(Options { full_diagnostics: false, ..options() })
}

/// The excerpt of a body without our response is the text of a *result*.
#[test]
fn a_result_does_not_leak_into_the_message_of_a_failure() {
    let mut world = secretive();
    let call = world.call();
    let (post, _) = world.request();
    world.head(post, 200, JSON, None);
    world.body(post, r#"{"jsonrpc":"2.0","id":"x","result":{"secret":"hunter2"}}"#);
    world.end(post);
    assert!(!world.failure(call).text.contains("hunter2"), "{}", world.failure(call).text);
}

/// Servers name the session they refuse ("Session s1 not found").
#[test]
fn a_session_id_that_the_server_repeats_does_not_leak_into_the_message() {
    let redacted = Options { full_diagnostics: false, ..options() };
    let mut world = World::connected_in(redacted, "session-1234");
    let call = world.call();
    let (post, _) = world.request();
    world.head(post, 500, "text/plain", None);
    world.body(post, &format!("{} no worker holds session-1234 now", "x".repeat(172)));
    world.end(post);
    let text = &world.failure(call).text;
    assert!(text.contains("holds") && !text.contains("session-"), "{text}");
}

/// Deno: `error sending request for url (http://h/mcp?key=...)`.
#[test]
fn a_query_string_in_a_fetch_error_does_not_leak_into_the_message() {
    let mut world = secretive();
    let call = world.call();
    let (post, _) = world.request();
    let message = "error sending request for url (http://localhost:3000/mcp?key=hunter2): connection closed"
        .to_string();
    world.client.handle_input(world.now, Input::Failed(post, IoFailure { message, code: String::new() }));
    world.drain();
    assert!(!world.failure(call).text.contains("hunter2"), "{}", world.failure(call).text);
}

/// "Messages contain "401", "404", "405" or "Unauthorized" only if that is what happened."
#[test]
fn a_message_says_401_only_for_a_401() {
    let mut world = secretive();
    let call = world.call();
    let (post, _) = world.request();
    world.head(post, 500, "text/plain", None);
    world.body(post, "upstream said 401 Unauthorized");
    world.end(post);
    let text = &world.failure(call).text;
    assert!(!text.contains("401") && !text.contains("Unauthorized"), "{text}");
}

/// The application's own judgement comes late (the call was detached meanwhile): it must not use up a re-issue.
#[test]
fn a_gap_reported_after_the_stream_was_given_up_costs_no_second_reissue() {
    let mut world = World::connected(Options { on_gap: OnGap::Reissue, ..options() });
    let call = world.safe_call();
    let (post, _) = world.request();
    world.head(post, 200, SSE, None);
    world.body(post, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n");
    world.cut(post); // no id: a re-issue is planned
    let before = world.client.metrics(false).reissues;
    world.client.report_gap(world.now, call);
    world.drain();
    assert_eq!(world.client.metrics(false).reissues, before, "counted twice, sent never");
}

/// `detach` renames the call at once: a cancel during the wait names an id that the server has never seen, and the
/// request that may still run is not cancelled.
#[test]
fn a_cancel_before_a_planned_reissue_names_the_request_that_was_sent() {
    let mut world = World::connected(options());
    let call = world.safe_call();
    let (post, request) = world.request();
    let sent = id_of(&request);
    world.cut(post); // it may run; a re-issue is planned
    world.client.cancel(world.now, call);
    world.drain();
    let (_, request) = world.request();
    assert!(
        body_of(&request).contains(&format!("\"requestId\":{sent}")),
        "sent {sent}: {}",
        body_of(&request)
    );
}

/// "`redirected` naming origin and path": not the userinfo.
#[test]
fn a_redirects_userinfo_does_not_leak_into_the_message() {
    let mut world = secretive();
    let call = world.call();
    let (post, _) = world.request();
    world.input_head(
        post,
        ResponseHead {
            status: 307,
            redirect: Some(Redirect::To(Target {
                url: "https://user:hunter2@other.example/mcp".to_string(),
                same_origin: false,
            })),
            ..ResponseHead::default()
        },
    );
    assert!(!world.failure(call).text.contains("hunter2"), "{}", world.failure(call).text);
}

/// An id that is missing behind a doubt (another call has shown no ids yet) is not *certain*, but it is not nothing.
#[test]
fn a_jump_that_may_have_another_cause_is_reported_as_uncertain() {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    for n in 1..=3 {
        world.body(post, &note(&format!("k/{n}"), "x"));
    }
    world.call(); // a POST under way, in JSON mode say: no ids, ever
    world.requests.clear();
    world.cut(post);
    let (_, get, _) = world.next_request();
    world.head(get, 200, SSE, None);
    world.body(get, &note("k/99", "x"));
    assert!(world.names().contains(&"gap"), "k/4 to k/98 were lost, nothing said so: {:?}", world.names());
}
