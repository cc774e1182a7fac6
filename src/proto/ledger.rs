//! The ledger: one entry per call that has not ended, one outcome per entry.

use std::collections::BTreeMap;

use super::config::Timeouts;
use super::deadline::Budget;
use super::error::Outcome;
use super::event::Diagnostics;
use super::jsonrpc::quote;
use super::stream::Stream;
use super::time::Instant;
use super::CallId;

/// What a message is for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `initialize`.
    Initialize,
    /// `notifications/initialized`.
    Initialized,
    /// A request of the caller's.
    Request,
    /// A notification of the caller's.
    Notification,
    /// Our answer to a request of the server's, or our word that a call is cancelled: nobody waits for it.
    Control,
    /// A `ping` that asks whether the session lives.
    Probe,
}

impl Kind {
    /// Whether the server owes a response.
    pub(crate) fn wants_response(self) -> bool {
        matches!(self, Self::Initialize | Self::Request | Self::Probe)
    }
}

/// A call that has not ended.
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) method: String,
    pub(crate) tool: Option<String>,
    /// A request's members but its id (the same on every re-issue); any other message whole.
    pub(crate) content: String,
    /// The id the caller knows, and the progress token.
    pub(crate) request_id: String,
    pub(crate) idempotent: bool,
    pub(crate) timeouts: Timeouts,
    pub(crate) deadline: Instant,
    pub(crate) call_clock: Budget,
    pub(crate) recovery_clock: Budget,
    /// What is known of its execution.
    pub(crate) delivery: Outcome,
    /// `None` until it is sent.
    pub(crate) stream: Option<Stream>,
    /// Questions of the server's on its stream that wait for our answer.
    pub(crate) questions: u32,
    /// `Mcp-Session-Id` of an answer to `initialize`, adopted only with its result.
    pub(crate) offered_session: Option<String>,
    pub(crate) diagnostics: Diagnostics,
}

impl Entry {
    /// Whether making the call again can't do harm: the caller said so, or the method only reads.
    pub(crate) fn is_safe(&self) -> bool {
        let reads = matches!(
            self.method.as_str(),
            "resources/read"
                | "resources/subscribe"
                | "resources/unsubscribe"
                | "prompts/get"
                | "ping"
                | "server/discover"
                | "completion/complete"
                | "logging/setLevel"
                | "tasks/get"
                | "tasks/update"
                | "tasks/cancel"
        );
        self.idempotent || reads || self.method.ends_with("/list")
    }
}

/// A request under this id.
pub(crate) fn request(id: &str, members: &str) -> String {
    let mut text = String::from("{\"jsonrpc\":\"2.0\",\"id\":");
    quote(id, &mut text);
    text + "," + members + "}"
}

/// A notification.
pub(crate) fn notification(method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",{}}}", members(method, params, "", None))
}

/// The members `method` and `params`. `params` and `meta` are JSON texts of objects, or empty.
pub(crate) fn members(method: &str, params: &str, meta: &str, progress_token: Option<&str>) -> String {
    let inner =
        |object: &str| object.trim().strip_prefix('{').and_then(|o| o.strip_suffix('}')).map(str::to_string);
    let mut metas: Vec<String> = Vec::new();
    if let Some(token) = progress_token {
        let mut member = String::from("\"progressToken\":");
        quote(token, &mut member);
        metas.push(member);
    }
    metas.extend(inner(meta).filter(|meta| !meta.trim().is_empty()));
    let mut members: Vec<String> = Vec::new();
    if !metas.is_empty() {
        members.push(format!("\"_meta\":{{{}}}", metas.join(",")));
    }
    let given = inner(params);
    let has_params = given.is_some() || !members.is_empty();
    members.extend(given.filter(|params| !params.trim().is_empty()));
    let mut text = String::from("\"method\":");
    quote(method, &mut text);
    if has_params {
        text.push_str(",\"params\":{");
        text.push_str(&members.join(","));
        text.push('}');
    }
    text
}

/// All calls that have not ended, and the ids they go by on the wire.
#[derive(Default)]
pub(crate) struct Ledger {
    entries: BTreeMap<CallId, Entry>,
    wire: BTreeMap<String, CallId>,
}

impl Ledger {
    pub(crate) fn open(&mut self, call: CallId, entry: Entry) {
        if entry.kind.wants_response() {
            self.wire.insert(entry.request_id.clone(), call);
        }
        self.entries.insert(call, entry);
    }

    /// Removes the entry: from here on nothing of the call is known.
    pub(crate) fn close(&mut self, call: CallId) -> Option<Entry> {
        let entry = self.entries.remove(&call)?;
        self.wire.remove(&entry.request_id);
        Some(entry)
    }

    pub(crate) fn get(&mut self, call: CallId) -> Option<&mut Entry> {
        self.entries.get_mut(&call)
    }

    /// The call that goes by this id on the wire.
    pub(crate) fn by_wire_id(&self, id: &str) -> Option<CallId> {
        self.wire.get(id).copied()
    }

    pub(crate) fn calls(&self) -> Vec<CallId> {
        self.entries.keys().copied().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}
