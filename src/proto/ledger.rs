//! The ledger: one entry per call that has not ended, one outcome per entry.

use std::time::Duration;

use super::config::{OnGap, Timeouts};
use super::deadline::Budget;
use super::error::{Outcome, Reason};
use super::event::{Diagnostics, Level, ReissueCause};
use super::jsonrpc::{quote, Id};
use super::machines::dialect::Dialect;
use super::session::Identity;
use super::sorted::SortedMap;
use super::stream::{Earlier, Stream};
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
    /// `initialize` or `server/discover` of a Client whose messages are carried.
    Handshake,
    /// The DELETE that ends the session, by the caller's wish.
    Terminate,
    /// The GET stream for what belongs to no call.
    Listen,
    /// Our answer to a request of the server's, or our word that a call is cancelled: nobody waits for it.
    Control,
    /// A `ping` that asks whether the session lives.
    Probe,
    /// A request that restores the state of a replaced session.
    Restore,
    /// A bare GET that asks where the redirects of the endpoint end.
    Scout,
}

impl Kind {
    /// Whether the server owes a response.
    pub(crate) fn wants_response(self) -> bool {
        matches!(self, Self::Initialize | Self::Request | Self::Probe | Self::Restore | Self::Handshake)
    }

    /// Whether it goes out without a session or a version: it asks for them.
    pub(crate) fn begins_session(self) -> bool {
        matches!(self, Self::Initialize | Self::Handshake)
    }

    /// Whether it asks something of the server, within `connectMs`.
    pub(crate) fn asks(self) -> bool {
        matches!(self, Self::Probe | Self::Scout)
    }

    /// Whether the caller waits for its outcome.
    pub(crate) fn is_callers(self) -> bool {
        matches!(self, Self::Request | Self::Notification | Self::Handshake | Self::Terminate)
    }
}

/// A refusal, for a caller who wants to read it himself.
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// A call that has not ended.
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) method: String,
    pub(crate) tool: Option<String>,
    /// A request's members but its id (the same on every re-issue); any other message whole.
    pub(crate) content: String,
    /// The ids it went by on the wire, the current one last: the caller's first. Earlier ones stay known: the first
    /// answer wins.
    pub(crate) wire_ids: Vec<Id>,
    /// The progress token: the same on every re-issue.
    pub(crate) token: Option<Id>,
    /// What it speaks.
    pub(crate) dialect: Dialect,
    /// Why the caller cancelled it, in his words.
    pub(crate) cancel_reason: Option<String>,
    /// Which credentials its request was sent with.
    pub(crate) credentials: u32,
    /// How often more scope was asked for.
    pub(crate) step_ups: usize,
    /// How its latest request was refused.
    pub(crate) refusal: Option<Refusal>,
    pub(crate) idempotent: bool,
    /// The caller's `replay` decided for this call.
    pub(crate) replay: Option<bool>,
    /// What to do at a certain gap.
    pub(crate) on_gap: OnGap,
    /// The host reports the handling of its events.
    pub(crate) reports_handling: bool,
    /// The host wants to know each new cursor.
    pub(crate) wants_tokens: bool,
    /// The cursor of a stream that another client began.
    pub(crate) resume_from: Option<String>,
    /// That stream's request id is not known: any response on it is the call's.
    pub(crate) adopts: bool,
    /// It slept through its deadline, and has had one more attempt.
    pub(crate) woken: bool,
    /// When its POST was sent.
    pub(crate) posted_at: Option<Instant>,
    /// How often in a row it was made again and brought nothing; only of what has no end.
    pub(crate) barren: u32,
    /// How often it was re-issued.
    pub(crate) reissues: usize,
    /// Why the next POST is a re-issue.
    pub(crate) reissue_why: Option<ReissueCause>,
    /// A replacement of the session carried it over: once is enough.
    pub(crate) carried_over: bool,
    /// An attempt to recover that waits to be made, and for how long.
    pub(crate) planned: Option<(Level, Duration)>,
    /// The first cause that made its stream unrecoverable.
    pub(crate) cause: Option<Reason>,
    pub(crate) timeouts: Timeouts,
    pub(crate) deadline: Instant,
    pub(crate) call_clock: Budget,
    pub(crate) recovery_clock: Budget,
    /// What is known of its latest POST.
    pub(crate) delivery: Outcome,
    /// The call whose question this message answers: while that lives, the answer is sent until HTTP answers it.
    pub(crate) answers: Option<CallId>,
    /// Header names of its request that is under way.
    pub(crate) headers: Vec<&'static str>,
    /// Its request was rejected once for what may be CORS.
    pub(crate) cors_suspected: bool,
    /// An earlier POST of it may have been executed.
    pub(crate) may_have_run: bool,
    /// Events in hand of a stream that was given up: what fails of them can't come again.
    pub(crate) orphans: Vec<(u32, Option<String>)>,
    /// `None` until it is sent.
    pub(crate) stream: Option<Stream>,
    /// The body of an earlier request that may still bring the answer.
    pub(crate) earlier: Option<Earlier>,
    /// It was sent again beside a silent body: once is enough.
    pub(crate) sent_beside: bool,
    /// How many redirects led to its request under way.
    pub(crate) redirects: u32,
    /// Its session died while its POST had no headers yet: they tell whether it was executed.
    pub(crate) stranded: bool,
    /// Questions of the server's on its stream that wait for our answer.
    pub(crate) questions: u32,
    /// The session it belongs to, where that is not the one in use: `initialize` has its own, adopted only with its
    /// result.
    pub(crate) identity: Option<Identity>,
    pub(crate) diagnostics: Diagnostics,
}

impl Entry {
    /// The id it goes by on the wire.
    pub(crate) fn wire_id(&self) -> &Id {
        self.wire_ids.last().unwrap_or(&Id::Null)
    }

    /// Whether it is no call but a stream that stays open (MCP 2026-07-28, *Subscriptions*).
    pub(crate) fn is_endless(&self) -> bool {
        self.kind == Kind::Listen || self.dialect.is_endless(&self.method)
    }

    /// What is known of its execution.
    pub(crate) fn outcome(&self) -> Outcome {
        if self.may_have_run {
            return Outcome::Unknown;
        }
        self.delivery
    }

    /// Whether a request of it ever left.
    pub(crate) fn was_sent(&self) -> bool {
        self.stream.is_some() || self.reissues > 0
    }
}

/// A request under this id.
pub(crate) fn request(id: &Id, members: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{members}}}", id.text())
}

/// A notification.
pub(crate) fn notification(method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",{}}}", members(method, params, "", None))
}

/// The members `method` and `params`. `params` and `meta` are JSON texts of objects, or empty.
pub(crate) fn members(method: &str, params: &str, meta: &str, progress_token: Option<&Id>) -> String {
    let inner =
        |object: &str| object.trim().strip_prefix('{').and_then(|o| o.strip_suffix('}')).map(str::to_string);
    let mut metas: Vec<String> = Vec::new();
    if let Some(token) = progress_token {
        metas.push(format!("\"progressToken\":{}", token.text()));
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
    entries: SortedMap<CallId, Box<Entry>>,
    wire: SortedMap<Id, CallId>,
    tokens: SortedMap<Id, CallId>,
}

impl Ledger {
    pub(crate) fn open(&mut self, call: CallId, entry: Entry) {
        for id in entry.wire_ids.iter().filter(|_| entry.kind.wants_response()) {
            self.wire.insert(id.plain(), call);
        }
        if let Some(token) = &entry.token {
            self.tokens.insert(token.plain(), call);
        }
        self.entries.insert(call, Box::new(entry));
    }

    /// Gives a call a new id on the wire.
    pub(crate) fn rename(&mut self, call: CallId, id: Id) {
        if let Some(entry) = self.entries.get_mut(&call) {
            entry.wire_ids.push(id.clone());
            self.wire.insert(id, call);
        }
    }

    /// Removes the entry: from here on nothing of the call is known.
    pub(crate) fn close(&mut self, call: CallId) -> Option<Box<Entry>> {
        let entry = self.entries.remove(&call)?;
        for id in &entry.wire_ids {
            Self::forget(&mut self.wire, id, call);
        }
        if let Some(token) = &entry.token {
            Self::forget(&mut self.tokens, token, call);
        }
        Some(entry)
    }

    /// A caller may use one id or token twice: then it is the later call's.
    fn forget(names: &mut SortedMap<Id, CallId>, name: &Id, call: CallId) {
        if names.get(&name.plain()) == Some(&call) {
            names.remove(&name.plain());
        }
    }

    pub(crate) fn get(&mut self, call: CallId) -> Option<&mut Entry> {
        self.entries.get_mut(&call).map(Box::as_mut)
    }

    pub(crate) fn peek(&self, call: CallId) -> Option<&Entry> {
        self.entries.get(&call).map(Box::as_ref)
    }

    /// The call that goes by this id on the wire.
    pub(crate) fn by_wire_id(&self, id: &Id) -> Option<CallId> {
        self.wire.get(&id.plain()).copied()
    }

    /// The call whose progress goes by this token.
    pub(crate) fn by_token(&self, token: &Id) -> Option<CallId> {
        self.tokens.get(&token.plain()).copied()
    }

    pub(crate) fn calls(&self) -> Vec<CallId> {
        self.entries.keys().copied().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}
