//! Our answers to what the server asks during a call.

use crate::world::{options, result, World};

#[test]
fn an_answer_that_got_no_http_answer_is_sent_again_while_the_call_lives() {
    let mut world = World::connected(options());
    let (call, id, post) = world.streaming();
    world.body(post, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"elicitation/create\"}\n\n");
    world.client.answer(world.now, r#"{"jsonrpc":"2.0","id":"q","result":{}}"#);
    world.drain();
    for _ in 0..2 {
        let (_, answer, request) = world.next_request();
        assert_eq!(request.body.as_deref(), Some(r#"{"jsonrpc":"2.0","id":"q","result":{}}"#));
        world.cut(answer);
    }
    let (_, answer, _) = world.next_request();
    world.head(answer, 202, "", None);
    world.body(post, &result(&id));
    assert!(world.answer(call).contains("ok"));
    world.assert_nothing_is_left();
}

#[test]
fn an_answer_that_waits_to_be_sent_again_goes_with_its_call() {
    let mut world = World::connected(options());
    let (_, id, post) = world.streaming();
    world.body(post, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"elicitation/create\"}\n\n");
    world.client.answer(world.now, r#"{"jsonrpc":"2.0","id":"q","result":{}}"#);
    world.drain();
    let (answer, _) = world.request();
    world.cut(answer);
    world.body(post, &result(&id));
    world.pass(60_000);
    assert!(world.requests.is_empty());
    world.assert_nothing_is_left();
}

#[test]
fn answers_to_a_flood_of_questions_go_a_few_at_a_time() {
    let mut world = World::connected(options());
    let (_, _, post) = world.streaming();
    for n in 0..100 {
        world.body(post, &format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"m\"}}\n\n"));
        world.client.answer(world.now, &format!(r#"{{"jsonrpc":"2.0","id":{n},"result":{{}}}}"#));
        world.drain();
    }
    let mut answered = 0;
    while let Some((answer, _)) = world.requests.pop_front() {
        answered += 1;
        assert!(world.requests.len() < 8);
        world.head(answer, 202, "", None);
    }
    assert_eq!(answered, 100);
}
