//! The core, natively: through its public API and in virtual time.
#![cfg(not(target_arch = "wasm32"))]

mod calls;
mod clocks;
mod cors;
mod doubt;
mod gaps;
mod handled;
mod handshake;
mod jsonrpc;
mod outcomes;
mod repeats;
mod replace;
mod reports;
mod resume;
mod sse;
mod stats;
mod world;
