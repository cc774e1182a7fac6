//! The core, natively: through its public API and in virtual time.
#![cfg(not(target_arch = "wasm32"))]

mod calls;
mod clocks;
mod handshake;
mod jsonrpc;
mod resume;
mod sse;
mod world;
