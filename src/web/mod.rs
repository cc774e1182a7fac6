//! The driver: obeys the core with one timer, and hands the rest to the wrapper to obey. It decides nothing.
//!
//! Everything enters through the synchronous functions below, all exported, and leaves as their return value: a batch of
//! outputs for the TypeScript wrapper, in the form that `protocol` gives it. Failures are values; whatever is thrown
//! out of an export means that the instance is lost.

mod exchange;
mod exports;
mod host;
mod options;
mod protocol;
mod timer;
mod transport;

pub use exports::{
    answer, authorized, call, cancel, close, connect, create, declared, destroy, drain, end, fail, gap,
    handled, head, is_reserved, learn_secret, metrics, next_request_id, notify, poll, push, rare, reconnect,
    room, sent, set_version, terminate,
};
pub use host::Host;
