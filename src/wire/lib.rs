//! The leaves of landfall's core that work on every byte or every event, and know nothing of a session: [`sse`] makes
//! events of a body, [`json`] proves a text to be JSON and finds places in it, [`jsonrpc`] reads a message's envelope and
//! [`number`] its numbers, [`repeats`] and [`cursor`] tell what comes again and what was handled, [`gap`] what is missing.
//!
//! A crate of its own only so that these are compiled for speed while all else is compiled for size. It is no package
//! of its own: use `landfall::proto`, which has what is public.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod bytes;
pub mod cursor;
pub mod gap;
pub mod json;
pub mod jsonrpc;
pub mod number;
pub mod repeats;
pub mod ring;
pub mod sorted;
pub mod sse;
