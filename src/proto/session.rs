//! The session: its state, its id and version, and the one question whether it lives.

use super::CallId;

/// Where the session stands.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// `connect` was not called.
    New,
    /// `initialize` is under way.
    Initializing,
    /// `notifications/initialized` is under way.
    Confirming,
    /// Calls are sent.
    Ready,
    /// The handshake failed, or the server forgot the session.
    Dead,
    /// `close` was called; the DELETE is under way.
    Closing,
    /// Nothing moves any more.
    Closed,
}

/// A legacy session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) state: State,
    /// `Mcp-Session-Id`, from a 2xx answer to `initialize`; a server may have none.
    pub(crate) id: Option<String>,
    /// The negotiated version; sent with every request after the handshake.
    pub(crate) version: Option<String>,
    /// The `ping` that asks whether the session lives; one for all calls.
    pub(crate) probe: Option<CallId>,
    /// The response to `initialize`, until the session is ready.
    pub(crate) greeting: String,
    /// A 400 or 401 that only *looks* like a lost session is believed once.
    pub(crate) believed_marker: bool,
}

/// The longest session id we accept.
const MOST_ID_BYTES: usize = 1_024;

impl Session {
    pub(crate) fn new() -> Self {
        Self {
            state: State::New,
            id: None,
            version: None,
            probe: None,
            greeting: String::new(),
            believed_marker: false,
        }
    }

    /// Whether a server may hand out this id: visible ASCII (MCP 2025-11-25, *Session Management*).
    pub(crate) fn is_legal_id(id: &str) -> bool {
        !id.is_empty() && id.len() <= MOST_ID_BYTES && id.bytes().all(|b| (0x21..=0x7E).contains(&b))
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, State::Closing | State::Closed)
    }
}

/// Whether the body of a 400 or 401 says that the session is unknown: an error code that SDKs use for it, or the
/// word itself near the start.
pub(crate) fn has_session_marker(code: Option<i64>, body: &str) -> bool {
    const NEAR: usize = 200;
    let head: String = body.chars().take(NEAR).collect::<String>().to_ascii_lowercase();
    matches!(code, Some(-32_000 | -32_001)) || head.contains("session")
}
