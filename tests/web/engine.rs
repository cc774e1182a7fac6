//! Which engine this is: a variable that is misspelt would run the cases in Node, and all would pass.

use wasm_bindgen::JsValue;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::rig::{get, Rig};

fn text(of: &JsValue, path: [&str; 2]) -> String {
    let found = path.iter().fold(of.clone(), |at, name| get(&at, name));
    found.as_string().unwrap_or_default()
}

#[wasm_bindgen_test]
async fn the_log_of_the_server_tells_the_engine() {
    let rig = Rig::connected("{}").await;
    let global = JsValue::from(js_sys::global());
    let (scope, agent) = (text(&global, ["constructor", "name"]), text(&global, ["navigator", "userAgent"]));
    let call = rig.call("scripted", &format!(r#"{{"key":"engine {scope} {agent}"}}"#));
    assert_eq!(rig.settled(call).await.text("type"), "result");
}
