//! The core: sans-IO and deterministic. No clock, no randomness but a seed, no futures, no wasm, no I/O.
//!
//! ```text
//! loop {
//!     client.call(now, ..) | notify | answer | cancel | close | handle_input(now, ..)   // mutate,
//!     loop { match client.poll_output() {                                              // then drain
//!         Output::Timeout(when) => break,       // call handle_input(now, Input::Timeout) at `when`
//!         output => obey(output),
//!     } }
//! }
//! ```
//!
//! * Mutations are followed by draining [`Client::poll_output`] until [`Output::Timeout`].
//! * `now` is the first argument of every mutation and never decreases.
//! * A late or spurious [`Input::Timeout`], and an input for an exchange that is over, are no-ops.
//! * Messages in outputs point into the core's buffer, and are valid until the first mutation after a drain.
//!
//! A call and its stream (a *lineage*: the body of a POST and its resumes):
//!
//! ```text
//!  call() ──> queued ──────────────> posting ──────────────> reading ──> answered: settled `result`
//!               │  ready, a slot       │  2xx with a body     │  ▲
//!               │                      │                      │  │ 200 text/event-stream
//!               │                      │                      ▼  │
//!               │                      │        dropped: waiting ──> resuming ──┐ 409, 429, 5xx, network:
//!               │                      │                  ▲   ▲        │        │ wait again
//!               │                      │                  │   └────────┼────────┘
//!               │                      │                  │ it lives   ▼ 404, 410, 400
//!               │                      │                  └───────── asking (POST ping)
//!               ▼                      ▼                               │ it is dead
//!        a clock, a refusal, no usable cursor, a dead session, cancel, close:
//!                                 settled `tool_call_failed`
//! ```
//!
//! The session: `new ── connect() ──> initializing ──> confirming ──> ready ──> dead`, and `closing`, `closed`
//! from any of them. Where its pings fail, a handshake is tried beside it, and decides whether it is dead.

mod address;
mod backoff;
mod client;
mod config;
mod deadline;
mod era;
mod error;
mod event;
mod event_ids;
mod facts;
mod header;
mod http;
mod ledger;
mod machines;
mod replay;
mod server_requests;
mod server_text;
mod session;
mod stats;
mod stream;
mod time;
mod timeouts;
mod timer;
mod told;

#[cfg(target_arch = "wasm32")]
pub(crate) use landfall_wire::number::number;
use landfall_wire::{cursor, gap, number, repeats, ring, sorted};
#[doc(inline)]
pub use landfall_wire::{jsonrpc, sse};

pub use client::{CallSpec, Client, Input, Load, Output, Terms};
pub use config::{Config, OnGap, Options};
pub use era::{Era, EraOption};
pub use error::{ConfigError, Outcome, Reason};
pub use event::{
    Attempt, AttemptResult, Diagnostics, DropCause, Event, Failure, GapKind, GapWord, Hint, Level,
    ListenState, MessageRef, Recent, ReissueCause, SessionState, Settlement,
};
pub use facts::SessionFacts;
pub use header::is_reserved;
pub use http::{HeaderName, HttpRequest, IoFailure, Manner, Method, Redirect, ResponseHead, Target};
pub use machines::credentials::Challenge;
pub use machines::redirect::RedirectPolicy;
pub use replay::ReplayOption;
pub use sorted::SortedMap;
pub use stats::{Drops, Histogram, Histograms, Levels, Metrics, Outcomes, Probes, Resumes, Tried};
pub use time::Instant;
pub use timeouts::TimeoutOptions;
pub use timer::Clock;
pub use told::Told;

/// A call of the user's, or a message of our own.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u32);

/// One HTTP request and its response.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExchangeId(pub u32);
