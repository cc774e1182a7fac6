//! One lineage: the body of a POST and its resumes, with the cursor that joins them.

use std::collections::{BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use super::http::{header_value, ResponseHead};
use super::sse::Decoder;
use super::ExchangeId;

/// Where a lineage stands. Each state owns only its own data.
pub(crate) enum Phase {
    /// The POST was handed to fetch; no headers yet.
    Posting(ExchangeId),
    /// A body is being read.
    Reading(ExchangeId, Body),
    /// Waits before the next resume.
    Waiting,
    /// The wait is over, and every connection is in use.
    Queued,
    /// The resume GET was handed to fetch; no headers yet.
    Resuming(ExchangeId),
    /// The cursor was refused, and the session is asked whether it lives.
    Asking,
}

/// What a body is read as.
pub(crate) enum Body {
    /// `text/event-stream`.
    Events(Box<Events>),
    /// A whole JSON document.
    Json(Vec<u8>),
    /// The body of a refusal, for its JSON-RPC error or its text.
    Refusal(ResponseHead, Vec<u8>),
}

/// An event stream while it is open.
pub(crate) struct Events {
    /// Away while it is fed.
    pub(crate) decoder: Option<Decoder>,
    /// Whether a GET opened it: only then can an event be a repeat.
    pub(crate) resumed: bool,
    /// Whether an id moved the cursor since it opened.
    pub(crate) moved: bool,
    /// Whether the `resumed` event is still to come.
    pub(crate) unreported: bool,
    /// New messages it brought.
    pub(crate) fresh: u32,
    /// Messages dropped as repeats.
    pub(crate) repeats: u32,
    /// An event was broken: the cursor stays before it.
    pub(crate) held: bool,
}

impl Events {
    pub(crate) fn new(decoder: Decoder, resumed: bool) -> Self {
        Self {
            decoder: Some(decoder),
            resumed,
            moved: false,
            unreported: resumed,
            fresh: 0,
            repeats: 0,
            held: false,
        }
    }
}

/// The cursor: the id to resume after.
#[derive(Debug, Default)]
struct Cursor {
    id: Option<String>,
    /// An id came that no request can carry: the place in the stream is lost.
    unusable: bool,
}

/// Ids of events that were handed over: the newest `MOST`, as hashes.
#[derive(Debug, Default)]
struct Seen {
    hashes: BTreeSet<u64>,
    order: VecDeque<u64>,
}

impl Seen {
    const MOST: usize = 4_096;

    fn hash(id: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        hasher.finish()
    }

    fn insert(&mut self, id: &str) {
        let hash = Self::hash(id);
        if !self.hashes.insert(hash) {
            return;
        }
        self.order.push_back(hash);
        if self.order.len() > Self::MOST {
            if let Some(oldest) = self.order.pop_front() {
                self.hashes.remove(&oldest);
            }
        }
    }

    fn contains(&self, id: &str) -> bool {
        self.hashes.contains(&Self::hash(id))
    }
}

/// A lineage of one call.
pub(crate) struct Stream {
    pub(crate) phase: Phase,
    cursor: Cursor,
    seen: Seen,
    /// The server's `retry`: belongs to this lineage and stays until changed.
    pub(crate) retry: Option<Duration>,
    /// Attempts in a row that brought nothing new.
    pub(crate) barren: u32,
    /// Attempts in a row that got no headers in time.
    pub(crate) misses: u32,
    /// Failed attempts in a row that say nothing about the session.
    pub(crate) failures: u32,
    /// Broken copies of an event: the second is final.
    pub(crate) broken: u32,
    /// The cursor was refused while the session lived; a shared store may lag, so it is asked once more.
    pub(crate) refused: bool,
    /// No byte within `idleMs`, and nothing to resume with.
    pub(crate) suspect: bool,
    /// The wait was ordered by `retry` after a clean close that moved the cursor: no clock of the call runs.
    pub(crate) resting: bool,
    /// How many times its `idleMs` the stream may be silent.
    pub(crate) patience: u32,
    /// A resume beside the silent body.
    pub(crate) rival: Option<Rival>,
}

/// A resume that was opened beside a silent body.
pub(crate) struct Rival {
    pub(crate) exchange: ExchangeId,
    /// Looks for data; `None` until the headers came.
    pub(crate) decoder: Option<Decoder>,
    /// What it brought so far, none of it data.
    pub(crate) bytes: Vec<u8>,
}

impl Stream {
    /// A new lineage, whose POST is this exchange.
    pub(crate) fn new(post: ExchangeId) -> Self {
        Self {
            phase: Phase::Posting(post),
            cursor: Cursor::default(),
            seen: Seen::default(),
            retry: None,
            barren: 0,
            misses: 0,
            failures: 0,
            broken: 0,
            refused: false,
            suspect: false,
            resting: false,
            patience: 1,
            rival: None,
        }
    }

    /// The exchange that is open or opening.
    pub(crate) fn exchange(&self) -> Option<ExchangeId> {
        match self.phase {
            Phase::Posting(exchange) | Phase::Reading(exchange, _) | Phase::Resuming(exchange) => {
                Some(exchange)
            }
            Phase::Waiting | Phase::Queued | Phase::Asking => None,
        }
    }

    /// The event stream that is open.
    pub(crate) fn events(&mut self) -> Option<&mut Events> {
        match &mut self.phase {
            Phase::Reading(_, Body::Events(events)) => Some(events),
            _ => None,
        }
    }

    /// Moves the cursor: the block with this id was handled. The empty id clears it (WHATWG 9.2.6).
    pub(crate) fn commit(&mut self, id: &str) {
        if let Some(events) = self.events() {
            if events.held {
                return;
            }
            events.moved = true;
        }
        self.cursor = if id.is_empty() {
            Cursor::default()
        } else {
            Cursor { id: Some(id.to_string()), unusable: header_value(id).is_none() }
        };
    }

    /// An id came that is too long to keep: where we are in the stream is not known any more.
    pub(crate) fn lose_place(&mut self) {
        self.cursor = Cursor { id: None, unusable: true };
    }

    /// A broken event: the cursor stays before it, so that a resume brings it again.
    pub(crate) fn hold(&mut self) {
        self.broken += 1;
        if let Some(events) = self.events() {
            events.held = true;
        }
    }

    /// Remembers an event that was handed over.
    pub(crate) fn remember(&mut self, id: &str) {
        self.seen.insert(id);
    }

    /// Whether a resumed stream repeats an event that was handed over.
    pub(crate) fn is_repeat(&mut self, id: &str) -> bool {
        let resumed = self.events().is_some_and(|events| events.resumed);
        resumed && self.seen.contains(id)
    }

    /// The cursor, where a resume is possible.
    pub(crate) fn cursor(&self) -> Option<&str> {
        self.cursor.id.as_deref().filter(|_| !self.cursor.unusable)
    }

    /// Something new came: whatever failed before is over.
    pub(crate) fn progressed(&mut self) {
        self.barren = 0;
        self.misses = 0;
        self.failures = 0;
        self.refused = false;
    }
}
