//! The core, natively: through its public API and in virtual time.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::disallowed_types, reason = "std's ordered tables: the size of a test is nobody's")]

mod answers;
mod busy;
mod calls;
mod carried;
mod clocks;
mod cors;
mod credentials;
mod edges;
mod eras;
mod facts;
mod gaps;
mod guards;
mod handled;
mod handshake;
mod handshakes;
mod hangs;
mod hints;
mod http_sse;
mod inputs;
mod jsonrpc;
mod late;
mod listening;
mod modern;
mod outcomes;
mod quiet;
mod reconnection;
mod redirects;
mod refusals;
mod repeats;
mod replace;
mod reports;
mod resume;
mod resumed_silence;
mod silence;
mod sim;
mod sse;
mod states;
mod stats;
mod storms;
mod stranded;
mod trial;
mod trust;
mod unreached;
mod world;
