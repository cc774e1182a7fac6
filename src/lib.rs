//! **landfall** is an MCP client transport: every call ends in exactly one outcome, in bounded time, with a
//! reason a program can act on; no event is lost or delivered twice unreported.
//!
//! The crate has two halves. [`proto`] is the core: sans-IO and deterministic, it decides everything and does
//! nothing. `web` (wasm32 only) is the driver: it obeys the core's outputs with `fetch` and one timer. The
//! published npm package wraps the driver in TypeScript (`src/ts`).

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod proto;
#[cfg(target_arch = "wasm32")]
pub mod web;
