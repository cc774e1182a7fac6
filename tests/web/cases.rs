//! What the driver does with real fetches, real streams and real cuts.

use wasm_bindgen_test::wasm_bindgen_test;

use crate::rig::{control, executions, get, key, sleep, Out, Rig};

/// The answer shows that what came before was read: a reset destroys what was not.
const READ: &str = r#"{"ask":{"method":"ping"}}"#;

fn names(count: u32) -> Vec<String> {
    (1..=count).map(|n| format!("m{n}")).collect()
}

fn failure(out: &Out) -> (String, String) {
    assert_eq!(out.text("type"), "tool_call_failed", "{out:?}");
    (out.text("reason"), out.text("outcome"))
}

fn assert_answered(out: &Out) {
    assert_eq!(out.text("type"), "result", "{out:?}");
    assert!(
        get(&out.message, "error").is_undefined() && !get(&out.message, "result").is_undefined(),
        "{out:?}"
    );
}

/// Steps that send `m1` to `mN`, with `between` after each of the numbers given.
fn script(key: &str, count: u32, between: &[(u32, &str)]) -> String {
    let mut steps = vec![r#"{"retry":20}"#.to_string()];
    for n in 1..=count {
        steps.push(format!(r#"{{"message":"m{n}"}}"#));
        let after = between.iter().filter(|(at, _)| *at == n);
        steps.extend(after.map(|(_, step)| (*step).to_string()));
    }
    format!(r#"{{"key":"{key}","steps":[{}]}}"#, steps.join(","))
}

#[wasm_bindgen_test]
async fn a_call_is_answered_and_its_events_come_in_order() {
    let rig = Rig::connected("{}").await;
    let key = key("plain");
    let call = rig.call("scripted", &script(&key, 3, &[]));
    assert_answered(&rig.settled(call).await);
    assert_eq!(rig.messages(call), names(3));
    assert_eq!(executions(&key).await, 1.0);
    assert_eq!(rig.open_exchanges(), 0);
}

#[wasm_bindgen_test]
async fn a_call_survives_a_fin_a_reset_and_a_cut_inside_an_event() {
    let rig = Rig::connected("{}").await;
    let key = key("cuts");
    let cut = |kind: &str| format!(r#"{READ},{{"cut":"{kind}"}},{{"awaitResume":true}}"#);
    let (fin, rst, inside) = (cut("fin"), cut("rst"), r#"{"wait":30},{"cut":"inside"}"#);
    let call = rig.call(
        "scripted",
        &script(&key, 9, &[(2, &fin), (4, &rst), (6, inside), (7, r#"{"awaitResume":true}"#)]),
    );
    assert_answered(&rig.settled(call).await);
    assert_eq!(rig.messages(call), names(9));
    assert_eq!(executions(&key).await, 1.0);
    // To WebKitGTK a body that a FIN cuts short ended politely.
    let (cuts, ends) = (rig.count(call, "disconnected"), rig.count(call, "polling"));
    assert!(rig.count(call, "resumed") >= 2 && cuts >= 1 && cuts + ends == 3, "{:?}", rig.log());
}

#[wasm_bindgen_test]
async fn polite_closes_are_polled_and_are_no_outage() {
    let rig = Rig::connected("{}").await;
    let key = key("polls");
    let arguments =
        format!(r#"{{"items":6,"checkpoint_every":2,"interval_ms":5,"retry_ms":30,"key":"{key}"}}"#);
    let call = rig.call("process_batch", &arguments);
    assert_answered(&rig.settled(call).await);
    let items = rig.messages(call).iter().filter(|text| text.starts_with('[')).count();
    assert_eq!((items, rig.count(call, "progress")), (6, 6));
    assert!(rig.count(call, "polling") >= 1 && rig.count(call, "resumed") == rig.count(call, "polling"));
    assert_eq!(rig.count(call, "disconnected"), 0);
    assert_eq!(executions(&key).await, 1.0);
}

#[wasm_bindgen_test]
async fn a_refused_resume_is_tried_again() {
    let rig = Rig::connected(r#"{"baseMs":20}"#).await;
    let key = key("refused");
    let refusal = r#"{"refuseResume":{"status":503,"times":2}}"#;
    let fault = format!(r#"{refusal},{READ},{{"cut":"rst"}},{{"awaitResume":true}}"#);
    let call = rig.call("scripted", &script(&key, 3, &[(1, &fault)]));
    assert_answered(&rig.settled(call).await);
    assert_eq!(rig.messages(call), names(3));
}

#[wasm_bindgen_test]
async fn a_stream_that_falls_silent_is_resumed() {
    let rig = Rig::connected(r#"{"idleMs":200,"connectMs":100}"#).await;
    let key = key("silent");
    let call = rig.call("scripted", &script(&key, 2, &[(1, r#"{"stall":10},{"awaitResume":true}"#)]));
    assert_answered(&rig.settled(call).await);
    assert_eq!(rig.messages(call), names(2));
    assert_eq!(executions(&key).await, 1.0);
}

#[wasm_bindgen_test]
async fn a_dead_session_fails_its_call_with_session_lost() {
    let rig = Rig::connected(r#"{"baseMs":20,"onSessionLost":"fail"}"#).await;
    let call = rig.call("scripted", &script(&key("dead"), 2, &[(1, r#"{"wait":30},{"killSession":404}"#)]));
    assert_eq!(failure(&rig.settled(call).await), ("session_lost".to_string(), "unknown".to_string()));
    assert_eq!(rig.open_exchanges(), 0);
}

#[wasm_bindgen_test]
async fn a_dead_session_is_replaced_for_the_next_call() {
    let rig = Rig::connected(r#"{"baseMs":20}"#).await;
    let lost = rig.call("scripted", &script(&key("dead"), 2, &[(1, r#"{"wait":30},{"killSession":404}"#)]));
    assert_eq!(failure(&rig.settled(lost).await).0, "session_lost");
    let key = key("next");
    let call = rig.call("scripted", &script(&key, 2, &[]));
    assert_answered(&rig.settled(call).await);
    assert_eq!(executions(&key).await, 1.0);
}

#[wasm_bindgen_test]
async fn a_cut_without_an_event_id_fails_at_once() {
    let rig = Rig::connected("{}").await;
    let arguments = format!(
        r#"{{"key":"{}","steps":[{{"noIds":true}},{{"message":"m1"}},{{"wait":30}},{{"cut":"rst"}}]}}"#,
        key("no-id")
    );
    let call = rig.call("scripted", &arguments);
    assert_eq!(failure(&rig.settled(call).await).0, "stream_lost");
}

#[wasm_bindgen_test]
async fn a_call_whose_answer_never_begins_ends_after_first_byte_ms() {
    let rig = Rig::connected("{}").await;
    let arguments = format!(r#"{{"key":"{}","post":{{"hang":true}}}}"#, key("hang"));
    let call = rig.call_with("scripted", &arguments, r#"{"firstByteMs":200}"#);
    assert_eq!(failure(&rig.settled(call).await), ("first_byte_timeout".to_string(), "unknown".to_string()));
}

#[wasm_bindgen_test]
async fn the_deadline_ends_a_call_that_chatters_on() {
    let rig = Rig::connected("{}").await;
    let (key, pause) = (key("chatter"), r#"{"wait":40}"#);
    let arguments = script(&key, 100, &(1..=100).map(|n| (n, pause)).collect::<Vec<_>>());
    let call = rig.call_with("scripted", &arguments, r#"{"deadlineMs":1500}"#);
    assert_eq!(failure(&rig.settled(call).await), ("deadline_exceeded".to_string(), "unknown".to_string()));
    assert!(rig.count(call, "message") > 2);
}

#[wasm_bindgen_test]
async fn an_http_error_and_a_json_answer_are_told_apart() {
    let rig = Rig::connected("{}").await;
    let refused =
        rig.call("scripted", &format!(r#"{{"key":"{}","post":{{"status":500,"body":"down"}}}}"#, key("500")));
    let json =
        rig.call("scripted", &format!(r#"{{"key":"{}","json":true,"post":{{"json":true}}}}"#, key("json")));
    assert_eq!(failure(&rig.settled(refused).await).0, "http_error");
    assert_answered(&rig.settled(json).await);
}

#[wasm_bindgen_test]
async fn a_server_that_is_not_there_fails_connect() {
    let rig = Rig::to("http://127.0.0.1:1/mcp", r#"{"handshakeMs":500}"#);
    let handshake = rig.connect();
    assert_eq!(failure(&rig.settled(handshake).await).0, "network_error");
}

#[wasm_bindgen_test]
async fn garbage_on_the_stream_does_no_harm() {
    let rig = Rig::connected("{}").await;
    let faults = [(1, r#"{"garbage":"not rpc"}"#), (2, r#"{"garbage":"bytes"}"#), (3, r#"{"comment":true}"#)];
    let call = rig.call("scripted", &script(&key("garbage"), 4, &faults));
    assert_answered(&rig.settled(call).await);
    assert_eq!(rig.messages(call), names(4));
}

#[wasm_bindgen_test]
async fn a_cancelled_call_settles_at_once_and_the_server_is_told() {
    let rig = Rig::connected("{}").await;
    let key = key("cancel");
    let call = rig.call("scripted", &script(&key, 2, &[(1, r#"{"wait":10000}"#)]));
    rig.until("the first message came", |_| rig.count(call, "message") == 1).await;
    rig.cancel(call);
    assert_eq!(failure(&rig.settled(call).await), ("cancelled".to_string(), "unknown".to_string()));
    for _ in 0..200 {
        let log = js_sys::JSON::stringify(&control("log").await).map(String::from).unwrap_or_default();
        if log.contains("notifications/cancelled") {
            return;
        }
        sleep(10).await;
    }
    panic!("the server was not told");
}

#[wasm_bindgen_test]
async fn ten_calls_at_once_each_cut_do_not_touch_each_other() {
    // As many bodies as leave a browser's seventh connection unneeded.
    let rig = Rig::connected(r#"{"maxConcurrent":5}"#).await;
    let mut calls = Vec::new();
    for n in 0..10 {
        let key = key(&format!("many-{n}"));
        let cut = if n % 2 == 0 { "fin" } else { "rst" };
        let fault = format!(r#"{READ},{{"cut":"{cut}"}},{{"awaitResume":true}}"#);
        calls.push((rig.call("scripted", &script(&key, 4, &[(2, &fault)])), key));
    }
    for (call, key) in calls {
        assert_answered(&rig.settled(call).await);
        assert_eq!(rig.messages(call), names(4));
        assert_eq!(executions(&key).await, 1.0);
    }
    assert_eq!(rig.open_exchanges(), 0);
}

#[wasm_bindgen_test]
async fn two_transports_in_one_instance_are_independent() {
    let (one, two) = (Rig::connected("{}").await, Rig::connected("{}").await);
    let hanging = one.call("scripted", &script(&key("one"), 2, &[(1, r#"{"wait":10000}"#)]));
    let call = two.call("scripted", &script(&key("two"), 2, &[]));
    assert_answered(&two.settled(call).await);
    one.close();
    assert_eq!(failure(&one.settled(hanging).await).0, "closed");
    one.until("the session is closed", |log| log.iter().any(|out| out.text("out") == "closed")).await;
    let call = two.call("scripted", &script(&key("two"), 2, &[]));
    assert_answered(&two.settled(call).await);
}
