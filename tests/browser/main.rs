//! The driver's cases in a browser's window: `wasm-pack test --headless --chrome` runs these.
#![cfg(target_arch = "wasm32")]

#[path = "../web/cases.rs"]
mod cases;
#[path = "../web/engine.rs"]
mod engine;
mod repeat;
#[path = "../web/rig.rs"]
mod rig;

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);
