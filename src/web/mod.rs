//! The driver: obeys the core with `fetch`, one timer and a small executor. It decides nothing.
//!
//! Everything enters through the synchronous functions below, all exported, and leaves as their return value: a batch of
//! outputs for the TypeScript wrapper. Failures are values; whatever is thrown out of an export means that the
//! instance is lost.

mod batch;
mod executor;
mod exports;
mod host;
mod options;
mod transport;

pub use exports::{
    answer, authorized, call, cancel, close, connect, create, deadline_ms, destroy, drain, end, fail, gap,
    handled, metrics, next_call, notify, poll, push, reconnect, request_id, set_version, terminate,
};
pub use host::Host;
