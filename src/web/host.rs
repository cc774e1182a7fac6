//! What the wrapper gives us: the raw bindings.

use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// One per transport, made by the wrapper.
    #[derive(Clone)]
    pub type Host;

    /// Asks for one call of `poll`, later.
    #[wasm_bindgen(method, catch)]
    pub(super) fn schedule(this: &Host) -> Result<(), JsValue>;

    /// Takes the text of a panic, just before the trap.
    #[wasm_bindgen(method, catch)]
    pub(super) fn panicked(this: &Host, text: &str) -> Result<(), JsValue>;
}
