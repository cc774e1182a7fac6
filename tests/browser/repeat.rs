//! What a browser does by itself: a POST goes out again when the connection under it dies before the headers, if that
//! connection had served a request before. No client sees that; a server that is given a call key can.

use js_sys::{Array, JSON};
use wasm_bindgen::JsCast as _;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::rig::{control, executions, get, key, Rig};

/// How the server drops the connection; to a browser both are the same.
const CUTS: [&str; 2] = ["fin", "rst"];

/// A call that is executed and whose connection, used before, is then dropped before the headers, once. It is answered
/// nevertheless, and the driver sent it once.
async fn cut_before_headers(key: &str, how: &str, more: &str) {
    let rig = Rig::connected("{}").await;
    // In JSON mode: a body that was read to its end leaves its connection to the next request. The body of a stream may
    // be cancelled at its answer, and then its connection is closed.
    let first = rig.call("scripted", &format!(r#"{{"key":"{key}-first","post":{{"json":true}}}}"#));
    assert_eq!(rig.settled(first).await.text("type"), "result");
    let post = format!(r#"{{"cutBeforeHeaders":"{how}","execute":true,"times":1}}"#);
    let call = rig.call_with("scripted", &format!(r#"{{"key":"{key}","post":{post}}}"#), more);
    let settled = rig.settled(call).await;
    let log = get(&control(&format!("log?key={key}")).await, "log");
    let told = JSON::stringify(&log).map(String::from).unwrap_or_default();
    let posts: Array = log.unchecked_into();
    let nth = get(&posts.get(0), "nth").as_f64();
    assert!(nth > Some(1.0), "its connection was used before: {told}");
    assert_eq!(settled.text("type"), "result", "{how}: {settled:?}, {told}");
    assert_eq!(rig.count(call, "sent"), 1, "{how}: {:?}", rig.log());
    assert_eq!(posts.length(), 2, "{how}: the server got it twice: {told}");
}

#[wasm_bindgen_test]
async fn the_browser_repeats_a_post_and_the_server_runs_it_twice() {
    for how in CUTS {
        let key = key("repeat");
        cut_before_headers(&key, how, "{}").await;
        assert_eq!(executions(&key).await, 2.0, "{how}");
    }
}

#[wasm_bindgen_test]
async fn a_call_key_lets_the_server_drop_the_repeat_and_the_call_is_answered() {
    for how in CUTS {
        let key = key("keyed");
        let meta = format!(r#"{{"meta":"{{\"landfall/call-key\":\"{key}\"}}"}}"#);
        cut_before_headers(&key, how, &meta).await;
        assert_eq!(executions(&key).await, 1.0, "{how}");
    }
}
