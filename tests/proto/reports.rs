//! Field reports (tests/field_reports.md) whose kind no other test has: what clients like this one got wrong.

use crate::world::{header, id_of, known_session, note, options, result, World, JSON, SSE};
use landfall::proto::jsonrpc::field;
use landfall::proto::{
    CallId, CallSpec, Client, Config, Event, ExchangeId, Hint, HttpRequest, Method, Options, Outcome, Reason,
    Redirect, ResponseHead, Target,
};

fn refuse(world: &mut World, post: ExchangeId, status: u16, body: &str) {
    world.head(post, status, JSON, None);
    world.body(post, body);
    world.end(post);
}

/// Lets the handshake of a new session pass.
fn handshake(world: &mut World, session: &str) {
    let (_, post, request) = world.next_request();
    assert!(request.body.as_deref().unwrap().contains("\"initialize\""), "{request:?}");
    assert_eq!(header(&request, "mcp-session-id"), None);
    let result =
        r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;
    world.head(post, 200, JSON, Some(session));
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id_of(&request)));
    world.end(post);
    let (confirm, _) = world.request();
    world.head(confirm, 202, "", None);
}

/// A call whose stream brought these events and was cut.
fn cut_after(events: &str) -> (World, CallId, String) {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, events);
    world.cut(post);
    (world, call, id)
}

/// Every request of the next hour is answered by this; the GETs that were made while the call was pending.
fn serve_while_pending(
    world: &mut World,
    call: CallId,
    serve: impl Fn(&mut World, ExchangeId, usize),
) -> usize {
    let mut gets = 0;
    while world.is_pending(call) {
        let (_, exchange, request) = world.next_request();
        if request.method == Method::Get {
            gets += 1;
            serve(world, exchange, gets);
        } else if request.body.as_deref().is_some_and(|body| body.contains("\"ping\"")) {
            world.reply(exchange, &request, "{}");
        }
        while world.is_pending(call) && world.requests.is_empty() {
            world.pass(50);
        }
    }
    gets
}

#[test]
fn a_broken_answer_that_nothing_follows_is_malformed_and_not_a_timeout() {
    for id in ["", "id: a1\n"] {
        let mut world = World::connected(options());
        let (call, _, post) = world.streaming();
        world.body(post, &format!("{id}data: {{\"jsonrpc\":\"2.0\",\"id\":7,\"resu\n\n"));
        assert!(world.is_pending(call), "the stream may still bring the answer");
        world.end(post);
        if !id.is_empty() {
            assert!(world.is_pending(call), "and so may what is behind it");
            let (_, get, _) = world.next_request();
            world.head(get, 200, SSE, None);
            world.end(get);
        }
        assert_eq!(world.failure(call).reason, Reason::MalformedResponse);
        world.assert_nothing_is_left();
    }
}

#[test]
fn a_response_with_neither_result_nor_error_is_malformed() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, &format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id}}}\n\n"));
    world.end(post);
    assert_eq!(world.failure(call).reason, Reason::MalformedResponse);
}

#[test]
fn a_call_that_is_lost_leaves_its_neighbours_alone() {
    let mut world = World::connected(options());
    let (lost, _, lost_post) = world.streaming();
    let (well, id, post) = world.streaming();
    world.cut(lost_post);
    assert!(!world.is_pending(lost) && world.is_pending(well));
    world.take_cancelled();
    world.pass(2_000);
    world.body(post, &result(&id));
    assert!(world.answer(well).contains("ok"));
    world.assert_nothing_is_left();
}

#[test]
fn a_server_that_primes_every_resume_and_closes_it_is_given_up_and_the_last_cursor_told() {
    let (mut world, call, _) = cut_after(&note("p0", "a"));
    let start = world.now;
    let gets = serve_while_pending(&mut world, call, |world, get, n| {
        world.head(get, 200, SSE, None);
        world.body(get, &format!("id: p{n}\ndata:\n\n"));
        world.end(get);
    });
    let failure = world.failure(call);
    assert_eq!(failure.reason, Reason::RecoveryExhausted);
    assert!(gets < 60, "{gets} resumes");
    assert_eq!(failure.diagnostics.last_event_id, Some(format!("p{gets}")));
    let took = world.now.as_millis() - start.as_millis();
    assert!((100_000.0..200_000.0).contains(&took), "{took}");
}

#[test]
fn a_resume_that_opens_and_stays_silent_spends_the_budget_all_the_same() {
    let (mut world, call, _) = cut_after(&note("k3", "a"));
    let start = world.now;
    let gets = serve_while_pending(&mut world, call, |world, get, _| world.head(get, 200, SSE, None));
    let took = world.now.as_millis() - start.as_millis();
    assert!(took <= 250_000.0 && gets < 60, "{took} ms, {gets} resumes");
    assert!(matches!(world.failure(call).reason, Reason::RecoveryExhausted | Reason::CallTimeout));
}

#[test]
fn streams_that_fall_silent_again_and_again_hint_at_a_proxy_that_holds_them_back() {
    let (mut world, call, _) = cut_after(&note("1", "a"));
    serve_while_pending(&mut world, call, |world, get, n| match n % 2 {
        1 => world.head(get, 200, SSE, None),
        _ => world.head(get, 409, "", None), // The old body is held, somewhere.
    });
    assert_eq!(world.failure(call).diagnostics.hint, Some(Hint::Buffering));
}

#[test]
fn a_resume_that_was_redirected_to_a_page_is_redirected_and_says_where_to() {
    let (mut world, call, _) = cut_after(&note("1", "a"));
    let (_, get, _) = world.next_request();
    let target = Target { url: "http://h/login?next=1".to_string(), same_origin: true };
    let redirect = Some(Redirect::Followed(target));
    let content_type = Some("text/html".to_string());
    world.input_head(get, ResponseHead { status: 200, content_type, redirect, ..ResponseHead::default() });
    let failure = world.failure(call);
    assert_eq!(failure.reason, Reason::Redirected);
    assert!(failure.text.contains("http://h/login") && !failure.text.contains("next=1"), "{}", failure.text);
    assert!(world.requests.is_empty());
}

#[test]
fn the_cursor_is_the_last_id_at_the_cut_and_goes_only_with_that_streams_resume() {
    let (mut world, call, id) = cut_after(&(note("k1", "a") + &note("k2", "b") + &note("k3", "c")));
    world.call_with(CallSpec { method: "tools/list".to_string(), ..CallSpec::default() });
    let (list, request) = world.request();
    assert_eq!((request.method, header(&request, "last-event-id")), (Method::Post, None));
    world.reply(list, &request, r#"{"tools":[]}"#);
    let (_, get, request) = world.next_request();
    assert_eq!(header(&request, "last-event-id"), Some("k3"));
    world.head(get, 200, SSE, None);
    world.body(get, &note("k4", "d"));
    world.cut(get);
    let (_, get, request) = world.next_request();
    assert_eq!(header(&request, "last-event-id"), Some("k4"));
    world.head(get, 200, SSE, None);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn a_question_that_a_resume_repeats_is_asked_once_though_it_was_answered() {
    let question = "id: k4\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"method\":\"elicitation/create\"}\n\n";
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, &(note("k3", "a") + question));
    world.client.answer(world.now, r#"{"jsonrpc":"2.0","id":"s1","result":{}}"#);
    world.drain();
    let (sent, _) = world.request();
    world.head(sent, 202, "", None);
    world.cut(post);
    let (_, get, _) = world.next_request();
    world.head(get, 200, SSE, None);
    world.body(get, question);
    assert_eq!(world.questions.len(), 1);
    world.body(get, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn questions_of_two_calls_may_bear_one_id_and_each_is_asked_and_answered() {
    let mut world = World::connected(options());
    let ((first_call, _, one), (second_call, _, two)) = (world.streaming(), world.streaming());
    for post in [one, two] {
        world.body(post, "data: {\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"roots/list\"}\n\n");
    }
    let names: Vec<_> = world.questions.iter().filter_map(|text| field(text, &["id"])).collect();
    assert_eq!(names[0], "0");
    assert_ne!(names[1], "0", "a Client that answers by an id alone must be able to tell them apart");
    let answers: Vec<_> = names
        .iter()
        .map(|name| format!(r#"{{"jsonrpc":"2.0","id":{name},"result":{{"to":{name}}}}}"#))
        .collect();
    let second = format!(r#"{{"jsonrpc":"2.0","id":0,"result":{{"to":{}}}}}"#, names[1]);
    for (answer, sent) in [(&answers[1], &second), (&answers[0], &answers[0])] {
        world.client.answer(world.now, answer);
        world.drain();
        let (post, request) = world.request();
        assert_eq!(request.body.as_ref(), Some(sent), "the server gets its own id");
        world.head(post, 202, "", None);
    }
    let answered = world.events.iter().filter(|(_, event)| matches!(event, Event::InputAnswered { .. }));
    assert_eq!(answered.map(|(call, _)| *call).collect::<Vec<_>>(), [Some(second_call), Some(first_call)]);
}

#[test]
fn a_cancel_of_the_servers_ends_the_question_of_its_own_stream_under_the_name_that_it_was_told_by() {
    let mut world = World::connected(options());
    let ((_, _, one), (_, _, two)) = (world.streaming(), world.streaming());
    for post in [one, two] {
        world.body(post, "data: {\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"roots/list\"}\n\n");
    }
    let name = field(&world.questions[1], &["id"]).expect("an id").to_string();
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}"#;
    world.body(two, &format!("data: {cancel}\n\n"));
    assert_eq!(world.cancelled, [name.as_str()]);
    assert_eq!(world.messages.last().and_then(|text| field(text, &["params", "requestId"])), Some(&*name));
    world.client.answer(world.now, &format!(r#"{{"jsonrpc":"2.0","id":{name},"result":{{}}}}"#));
    world.drain();
    assert!(world.requests.is_empty(), "nobody waits for it");
    world.client.answer(world.now, r#"{"jsonrpc":"2.0","id":0,"result":{}}"#);
    world.drain();
    assert_eq!(world.requests.len(), 1, "the first one is open still");
}

#[test]
fn a_question_may_bear_the_id_of_a_call_of_ours() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, &format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"roots/list\"}}\n\n"));
    assert_eq!(world.questions.len(), 1);
    let reply = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"roots":[]}}}}"#);
    world.client.answer(world.now, &reply);
    world.drain();
    assert_eq!(world.request().1.body, Some(reply));
    assert!(world.is_pending(call), "our answer to the server is no answer to our call");
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
}

#[test]
fn an_answer_under_an_unknown_id_fails_its_call_at_the_end_of_the_stream_and_is_told() {
    let mut world = World::connected(options());
    let (call, _, post) = world.streaming();
    world.body(post, &result("4711"));
    world.end(post);
    let failure = world.failure(call);
    assert_eq!((failure.reason, failure.outcome), (Reason::StreamLost, Outcome::Unknown));
    let told = format!("{:?} {}", world.events, failure.text);
    assert!(told.contains("unmatched_response") && told.contains("4711"), "{told}");
}

#[test]
fn an_error_without_an_id_is_the_answer_to_the_one_request_of_its_body() {
    let mut world = World::connected(options());
    for id in [r#""id":null,"#, ""] {
        let call = world.call();
        let (post, _) = world.request();
        world.head(post, 200, JSON, None);
        world.body(post, &format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32603,"message":"x"}}}}"#));
        world.end(post);
        assert!(world.answer(call).contains("-32603"));
    }
    world.assert_nothing_is_left();
}

#[test]
fn an_answer_on_another_calls_stream_does_not_save_that_call() {
    let mut world = World::connected(options());
    let (seven, _, post_seven) = world.streaming();
    let (eight, id_eight, _) = world.streaming();
    world.body(post_seven, &result(&id_eight));
    world.end(post_seven);
    assert!(world.answer(eight).contains("ok"));
    assert_eq!(world.failure(seven).reason, Reason::StreamLost);
}

#[test]
fn ids_are_never_used_again_and_what_the_client_asks_for_itself_is_nobodys_call() {
    let mut world = World::connected(options());
    let calls = [world.safe_call(), world.safe_call()];
    let mut ids = Vec::new();
    for (post, request) in std::mem::take(&mut world.requests) {
        ids.push(id_of(&request));
        world.head(post, 404, "", None);
        world.end(post);
    }
    ids.push(id_of(&world.requests[0].1));
    handshake(&mut world, "s2");
    let sent: Vec<_> = world.requests.drain(..).collect();
    for (post, request) in &sent {
        ids.push(id_of(request));
        world.reply(*post, request, "{}");
    }
    let known = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), sent.len()), (known, 2), "{ids:?}");
    let ended: Vec<CallId> = world.ended.keys().copied().collect();
    assert_eq!(ended, calls, "neither initialize nor ping is told");
    let other = Client::new(Config::new(options()).unwrap(), 8);
    assert_ne!(other.request_id(CallId(1)), world.client.request_id(CallId(1)));
}

#[test]
fn calls_that_are_all_refused_for_the_session_begin_one_new_session() {
    let mut world = World::connected(options());
    let calls: Vec<_> = (0..8).map(|_| world.safe_call()).collect();
    let posts: Vec<_> = world.requests.drain(..).map(|(post, _)| post).collect();
    refuse(&mut world, posts[0], 404, "");
    handshake(&mut world, "s2");
    for post in &posts[1..] {
        refuse(&mut world, *post, 404, "");
    }
    let sent: Vec<_> = world.requests.drain(..).collect();
    assert_eq!(sent.len(), 8, "each goes once into the new session, which nobody gives up again");
    for (post, request) in sent {
        assert_eq!(header(&request, "mcp-session-id"), Some("s2"));
        world.reply(post, &request, "{}");
    }
    assert!(calls.iter().all(|call| world.answer(*call).contains("result")));
    world.assert_nothing_is_left();
}

#[test]
fn a_session_from_elsewhere_that_the_server_forgot_is_replaced() {
    let greeting =
        r#"{"jsonrpc":"2.0","id":"x","result":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;
    let resume = known_session(Some("old"), Some("2025-11-25"), Some(greeting));
    let mut world = World::new(Options { resume: Some(resume), ..options() });
    world.client.connect(world.now);
    world.drain();
    let call = world.call();
    let (post, request) = world.request();
    assert_eq!(header(&request, "mcp-session-id"), Some("old"));
    refuse(&mut world, post, 404, "");
    handshake(&mut world, "s2");
    let (post, request) = world.request();
    assert_eq!(header(&request, "mcp-session-id"), Some("s2"));
    world.reply(post, &request, "{}");
    assert!(world.answer(call).contains("result"));
}

#[test]
fn a_refusal_that_only_looks_like_a_lost_session_is_believed_once() {
    for (status, reason) in [(400, Reason::HttpError), (401, Reason::Unauthorized)] {
        let mut world = World::connected(options());
        let plain = world.call();
        let (post, _) = world.request();
        refuse(&mut world, post, status, "no");
        assert_eq!(world.failure(plain).reason, reason, "without a marker it is no lost session");
        let call = world.call();
        let (post, _) = world.request();
        refuse(&mut world, post, status, "Session not found");
        handshake(&mut world, "s2");
        let (post, _) = world.request();
        refuse(&mut world, post, status, "Session not found");
        assert!(!world.is_pending(call), "{status}: a call is carried over once");
        world.pass(600_000);
        let begins = |(_, request): &(_, HttpRequest)| {
            id_of(request) != "null" && header(request, "mcp-session-id").is_none()
        };
        assert!(world.requests.len() <= 1 && world.requests.iter().all(begins), "{status}: never a loop");
    }
}

#[test]
fn what_a_server_says_instead_of_an_answer_is_in_the_failure() {
    let mut world = World::connected(options());
    let (call, _, post) = world.streaming();
    world.body(post, "data: {\"error\":\"Session not found\"}\n\n");
    world.end(post);
    assert!(world.failure(call).text.contains("Session not found"), "{}", world.failure(call).text);
}

#[test]
fn a_notification_that_was_refused_for_its_session_is_sent_into_the_next() {
    let mut world = World::connected(options());
    let call = world.client.notify(world.now, "notifications/roots/list_changed", "");
    world.drain();
    let (post, _) = world.request();
    refuse(&mut world, post, 404, "");
    handshake(&mut world, "s2");
    let (post, request) = world.request();
    assert!(request.body.unwrap().contains("roots/list_changed"));
    world.head(post, 202, "", None);
    assert!(!world.is_pending(call));
    world.assert_nothing_is_left();
}

#[test]
fn a_wait_that_was_planned_before_close_opens_nothing_after_it() {
    let (mut world, call, _) = cut_after(&note("1", "a"));
    world.pass(10);
    world.client.close(world.now);
    world.drain();
    assert_eq!(world.failure(call).reason, Reason::Closed);
    let (delete, request) = world.request();
    assert_eq!(request.method, Method::Delete);
    world.head(delete, 404, "", None);
    world.pass(600_000);
    assert!(world.closed && world.requests.is_empty());
    world.assert_nothing_is_left();
}

#[test]
fn a_page_instead_of_the_handshake_says_what_came() {
    let mut world = World::connecting(options());
    let (post, _) = world.request();
    world.head(post, 200, "text/html", None);
    let failure = world.failure(world.handshake());
    assert_eq!(failure.reason, Reason::UnexpectedContent);
    assert!(failure.text.contains("200") && failure.text.contains("text/html"), "{}", failure.text);
    assert_eq!(world.aborted, [post], "its 40 kB are not read");
}

#[test]
fn a_handshake_that_takes_too_long_is_not_cancelled_on_the_server() {
    let mut world = World::connecting(options());
    world.requests.clear();
    world.pass(600_000);
    assert_eq!(world.failure(world.handshake()).reason, Reason::ConnectTimeout);
    assert!(world.requests.is_empty());
}

#[test]
fn a_retry_after_beyond_the_budget_fails_at_once() {
    let head =
        |status| ResponseHead { status, retry_after: Some("100000".to_string()), ..ResponseHead::default() };
    let mut world = World::connected(options());
    let call = world.call();
    let (post, _) = world.request();
    world.input_head(post, head(429));
    world.end(post);
    let failure = world.failure(call);
    assert_eq!((failure.reason, failure.outcome), (Reason::RetryExceedsBudget, Outcome::Rejected));
    let (mut world, call, _) = cut_after(&note("1", "a"));
    let (_, get, _) = world.next_request();
    world.input_head(get, head(503));
    assert_eq!(world.failure(call).reason, Reason::RetryExceedsBudget);
}

#[test]
fn heartbeats_that_are_data_keep_the_stream_and_not_the_call() {
    let mut world = World::connected(options());
    let (call, _, post) = world.streaming();
    for _ in 0..11 {
        world.pass(10_000);
        world.body(post, "event: keepalive\ndata: {\"type\":\"heartbeat\"}\n\n");
        assert!(world.is_pending(call));
    }
    assert!(!world.names().contains(&"suspect"));
    world.pass(10_000);
    assert_eq!(world.failure(call).reason, Reason::CallTimeout);
}

#[test]
fn a_hint_stays_when_the_stream_was_well_for_a_while_and_is_judged_at_the_next_drop() {
    let mut world = World::connected(options());
    let (call, _, post) = world.streaming();
    world.body(post, &format!("retry: 2147483647\n{}", note("1", "a")));
    for n in 2..6 {
        world.pass(5_000);
        world.body(post, &note(&n.to_string(), "b"));
    }
    assert!(world.is_pending(call));
    world.cut(post);
    assert_eq!(world.failure(call).reason, Reason::RetryExceedsBudget);
    assert!(!world.events.iter().any(|(_, event)| matches!(event, Event::Reconnecting { .. })));
}
