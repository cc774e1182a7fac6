//! Text of the server's in messages and events, and what a server may ask of us (ARCHITECTURE.md, "Trust").

use crate::world::{id_of, note, options, result, World, JSON, SSE};
use landfall::proto::{Event, Input, IoFailure, Options, Outcome, Reason, Redirect, ResponseHead, Target};

const TOKEN: &str = "Bearer tok-0123456789";
const SESSION: &str = "s1";

/// A world that sends a secret.
fn sending() -> World {
    let mut world = World::connected(Options { full_diagnostics: false, ..options() });
    for secret in [TOKEN, "tok-0123456789", "biscuit-42"] {
        world.client.learn_secret(secret);
    }
    world
}

/// What a hostile server says: what we sent, at once and where it would be cut, and what a terminal would obey.
fn hostile() -> String {
    format!("\u{1b}[2J\r\n{TOKEN} biscuit-42 {}{TOKEN}", "x".repeat(150))
}

/// Nothing of it may be told, and it is short: so long are our own words at most.
fn assert_fit(told: &str) {
    for secret in ["tok-0", "biscuit", "\u{1b}", "\r", "\n", "\u{0}"] {
        assert!(!told.contains(secret), "{secret:?} in {told:?}");
    }
    assert!(told.contains("[redacted]"), "{told:?}");
    assert!(told.chars().count() < 460, "{told:?}");
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string is JSON")
}

#[test]
fn text_of_a_refusal_is_fit_for_its_message_and_its_body_has_no_secret() {
    let mut world = World::carried(Options { full_diagnostics: false, ..options() });
    world.client.learn_secret(TOKEN);
    let call = world.call();
    let (post, _) = world.request();
    world.head(post, 500, "text/html", None);
    let page = format!("{}{}{}", TOKEN, "x".repeat(190), TOKEN);
    world.body(post, &page);
    world.end(post);
    let failure = world.failure(call);
    assert!(!failure.text.contains("tok-") && failure.text.contains("[redacted]"), "{}", failure.text);
    let body = failure.body.as_deref().expect("a Client is given the body");
    assert_eq!(body, format!("[redacted]{}[redacted]", "x".repeat(190)));
}

#[test]
fn every_other_place_for_text_of_the_servers_makes_it_fit() {
    type Fill = fn(&mut World);
    let places: [(&str, Fill); 7] = [
        ("the text of a refusal", |world| {
            let (post, _) = world.request();
            world.head(post, 500, "text/html", None);
            world.body(post, &hostile());
            world.end(post);
        }),
        ("a content type", |world| {
            let (post, _) = world.request();
            world.head(post, 200, &hostile(), None);
        }),
        ("the place of a redirect", |world| {
            let (post, _) = world.request();
            let target = Target { url: format!("https://elsewhere.test/{}", hostile()), same_origin: false };
            let redirect = Some(Redirect::To(target));
            world.input_head(post, ResponseHead { status: 302, redirect, ..ResponseHead::default() });
        }),
        ("the words of a failed fetch", |world| {
            let (post, _) = world.request();
            let failure = IoFailure { message: hostile(), code: hostile() };
            world.input(Input::Failed(post, failure));
        }),
        ("the id of a response", |world| {
            let (post, request) = world.request();
            world.head(post, 200, SSE, None);
            world.body(post, &result(&quoted(&hostile())));
            world.body(post, &result(&id_of(&request)));
        }),
        ("the method of a question", |world| {
            let (post, request) = world.request();
            world.head(post, 200, SSE, None);
            let method = quoted(&hostile());
            world.body(post, &format!("data: {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":{method}}}\n\n"));
            world.body(post, &result(&id_of(&request)));
        }),
        ("what a stream said that is no message", |world| {
            let (post, _) = world.request();
            world.head(post, 200, SSE, None);
            world.body(post, &format!("data: {}\n\n", quoted(&hostile())));
            world.end(post);
        }),
    ];
    for (place, fill) in places {
        let mut world = sending();
        let call = world.call();
        world.events.clear();
        fill(&mut world);
        let told: Vec<String> = world
            .events
            .iter()
            .filter_map(|(_, event)| match event {
                Event::Warning { message, .. } => Some(message.clone()),
                Event::InputRequired { method } => Some(method.clone()),
                _ => None,
            })
            .collect();
        let told = if told.is_empty() { vec![world.failure(call).text.clone()] } else { told };
        for text in told {
            println!("{place}: {text}");
            assert_fit(&text);
        }
    }
}

#[test]
fn a_short_session_id_garbles_no_message() {
    let mut world = World::connected(Options { full_diagnostics: false, ..options() });
    assert!(SESSION.len() < 8);
    let call = world.call();
    let (post, _) = world.request();
    world.head(post, 500, "text/plain", None);
    world.body(post, "s1s1 is a short id");
    world.end(post);
    assert!(world.failure(call).text.contains("s1s1 is a short id"), "{}", world.failure(call).text);
}

#[test]
fn what_a_server_does_without_end_is_told_once_and_counted() {
    let mut world = World::connected(options());
    let (_, id, post) = world.streaming();
    world.events.clear();
    let strange = result("4711").repeat(1_000);
    for _ in 0..100 {
        world.body(post, &strange);
    }
    let broken = "data: {\n\n".repeat(10);
    world.body(post, &broken);
    world.body(post, &result(&id));
    let warned: Vec<(&str, &str)> = world
        .events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Warning { code, message } => Some((*code, message.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(warned.len(), 4, "{warned:?}");
    assert_eq!(warned[2], ("unmatched_response", "99999 more of the same in this call"));
    assert_eq!(warned[3], ("malformed_event", "9 more of the same in this call"));
}

fn questions(ids: std::ops::Range<u32>) -> String {
    ids.map(|id| format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"roots/list\"}}\n\n")).collect()
}

#[test]
fn what_is_held_for_all_calls_together_is_bounded_and_the_call_that_holds_the_most_fails() {
    let mut world = World::connected(Options { max_buffered_bytes: Some(1_000_000.0), ..options() });
    let (one, one_id, one_post) = world.streaming();
    let (two, _, two_post) = world.streaming();
    let three = world.call();
    let (three_post, request) = world.request();
    world.head(three_post, 200, JSON, None);
    let part = "x".repeat(100_000);
    world.body(one_post, &format!("data: \"{part}"));
    world.body(three_post, &format!(r#"{{"jsonrpc":"2.0","id":{},"result":"{part}"#, id_of(&request)));
    for n in 0..8 {
        assert!(world.is_pending(two), "{n}");
        world.body(two_post, &if n == 0 { format!("data: \"{part}") } else { part.clone() });
    }
    let failure = world.failure(two);
    assert_eq!((failure.reason, failure.outcome), (Reason::MessageTooLarge, Outcome::Unknown));
    for said in ["limits.maxBufferedBytes", "1000000", "800007"] {
        assert!(failure.text.contains(said), "{said}: {}", failure.text);
    }
    assert!(world.aborted.contains(&two_post) && world.is_pending(one) && world.is_pending(three));
    world.body(three_post, "\"}");
    world.end(three_post);
    assert!(world.answer(three).contains("xxx"));
    // A row of whole events holds nothing.
    world.body(one_post, &format!("\"\n\n{}", note("1", &part).repeat(30)));
    world.body(one_post, &result(&one_id));
    assert!(world.answer(one).contains("ok"));
}

#[test]
fn a_call_may_ask_so_much_and_one_more_question_is_refused_and_takes_nobody_elses_place() {
    let mut world = World::connected(Options { max_questions: Some(3.0), ..options() });
    let (_, _, post) = world.streaming();
    let (_, _, other) = world.streaming();
    world.body(post, &questions(0..4));
    assert_eq!(world.questions.len(), 3);
    let (_, refusal) = world.request();
    let body = refusal.body.expect("it is POSTed");
    assert!(body.contains("\"id\":3") && body.contains("-32000") && body.contains("too many"), "{body}");
    world.body(other, &questions(10..12));
    assert_eq!(world.questions.len(), 5);
    world.client.answer(world.now, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    world.drain();
    world.body(post, &questions(4..5));
    assert_eq!(world.questions.len(), 6, "an answer makes room");
}

#[test]
fn the_questions_of_a_call_end_with_it() {
    let mut world = World::connected(options());
    let (_, id, post) = world.streaming();
    let (_, _, other) = world.streaming();
    world.body(post, &questions(5..7));
    world.body(other, &questions(8..9));
    world.body(post, &result(&id));
    assert_eq!(world.cancelled, ["5", "6"]);
}

#[test]
fn nobody_is_asked_before_the_session_stands() {
    let mut world = World::new(options());
    world.client.connect(world.now);
    world.drain();
    let (post, request) = world.request();
    world.head(post, 200, SSE, Some(SESSION));
    world.body(post, &questions(1..2));
    assert_eq!(world.questions.len(), 0);
    let hello =
        r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;
    let id = id_of(&request);
    world.body(post, &format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{hello}}}\n\n"));
    let (confirm, _) = world.request();
    world.head(confirm, 202, "", None);
    let (_, _, post) = world.streaming();
    world.body(post, &questions(1..2));
    assert_eq!(world.questions.len(), 1);
}

#[test]
fn a_refused_handshake_says_why_in_text_that_is_fit() {
    let mut world = World::new(options());
    world.client.learn_secret(TOKEN);
    world.client.learn_secret("biscuit-42");
    world.client.connect(world.now);
    world.drain();
    let (post, request) = world.request();
    world.head(post, 200, JSON, None);
    let error = format!(r#"{{"code":-1,"message":{}}}"#, quoted(&hostile()));
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, id_of(&request)));
    world.end(post);
    let (_, failed) = world.ended.iter().next().expect("connect has failed");
    let crate::world::Ended::Failed(failure) = failed else { panic!("{failed:?}") };
    assert_fit(&failure.text);
}
