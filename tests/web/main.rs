//! The driver against the fault server, in Node or in the engine that a `WASM_BINDGEN_USE_*` variable names.
#![cfg(target_arch = "wasm32")]

mod cases;
mod engine;
mod rig;
