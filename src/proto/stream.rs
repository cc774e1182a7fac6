//! One lineage: the body of a POST and its resumes, with the cursor that joins them.

use std::time::Duration;

use super::cursor::Cursor;
use super::event_ids::{EventIds, Prefix};
use super::gap::GapWatch;
use super::http::ResponseHead;
use super::machines::race::Race;
use super::repeats::Near;
use super::sse::Decoder;
use super::time::Instant;
use super::{CallId, ExchangeId};

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
    Resuming(ExchangeId, Headers),
    /// The cursor was refused, and the session is asked whether it lives.
    Asking,
    /// Refused or redirected: it goes out again when there are other credentials, or it is known where to.
    Held(Resend),
    /// The server took the request and will answer on the GET stream.
    Elsewhere,
}

/// The headers of a resume, until they come.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Headers {
    /// They have `connectMs`.
    Due,
    /// They missed that, and the session is asked whether it lives: there are browsers that give headers with the first byte.
    AskedFor,
}

/// What goes out again.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resend {
    /// The POST.
    Post,
    /// The GET.
    Get,
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

impl Body {
    /// Bytes that are kept of it until they are a whole message.
    pub(crate) fn held(&self) -> usize {
        match self {
            Self::Events(events) => events.decoder.as_ref().map_or(0, Decoder::held),
            Self::Json(text) | Self::Refusal(_, text) => text.len(),
        }
    }
}

/// An event stream while it is open.
pub(crate) struct Events {
    /// Away while it is fed.
    pub(crate) decoder: Option<Decoder>,
    /// Whether a GET opened it: only then can an event be a repeat.
    pub(crate) resumed: bool,
    /// It counts as open though its headers are still to come: nothing of it was told.
    pub(crate) quiet: bool,
    /// Whether an id moved the cursor since it opened.
    pub(crate) moved: bool,
    /// When its headers came.
    pub(crate) since: Instant,
    /// The next message is the first after a resume.
    pub(crate) seam: bool,
    /// What was told of what a resume brought.
    pub(crate) resumes: Resumes,
    /// Its bytes count: an event came, or no resume opened it.
    pub(crate) heard: bool,
    /// New messages it brought.
    pub(crate) fresh: u32,
}

/// What was told of what a resume brought.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resumes {
    /// It is no resume.
    Live,
    /// No event came on it.
    Silent,
    /// The first ones came, so many, in bytes that are being read.
    Counts(u32),
    /// All.
    Told,
}

/// What came of an event stream.
#[derive(Copy, Clone)]
pub(crate) struct Brought {
    pub(crate) resumed: bool,
    pub(crate) since: Instant,
    pub(crate) fresh: u32,
}

impl Events {
    pub(crate) fn brought(&self) -> Brought {
        Brought { resumed: self.resumed, since: self.since, fresh: self.fresh }
    }

    pub(crate) fn new(now: Instant, decoder: Decoder, resumed: bool) -> Self {
        Self {
            since: now,
            seam: resumed,
            decoder: Some(decoder),
            resumed,
            quiet: false,
            moved: false,
            resumes: if resumed { Resumes::Silent } else { Resumes::Live },
            heard: !resumed,
            fresh: 0,
        }
    }

    /// A resume that counts as open before its headers.
    pub(crate) fn quiet(now: Instant, decoder: Decoder) -> Self {
        Self { quiet: true, resumes: Resumes::Told, ..Self::new(now, decoder, true) }
    }
}

/// A lineage of one call.
pub(crate) struct Stream {
    pub(crate) phase: Phase,
    /// Its POST: what it goes by among the streams of its call.
    pub(crate) post: ExchangeId,
    pub(crate) cursor: Cursor,
    /// What is known of the ids of events, in the session that its POST went to.
    pub(crate) ids: EventIds,
    /// The prefix of ids that it is known to use there.
    pub(crate) prefix: Option<Prefix>,
    /// What it brought last, whoever repeats it.
    pub(crate) near: Near,
    pub(crate) gaps: GapWatch,
    /// The server's `retry`: belongs to this lineage and stays until changed.
    pub(crate) retry: Option<Duration>,
    /// Attempts in a row that brought nothing new.
    pub(crate) barren: u32,
    /// Attempts in a row that got no headers in time.
    pub(crate) misses: u32,
    /// Failed attempts in a row that say nothing about the session.
    pub(crate) failures: u32,
    /// A resume was rejected by fetch, and nothing of the session's was answered since.
    pub(crate) is_rejected: bool,
    /// How often in a row the session was seen to live behind such a rejection.
    pub(crate) rejected: u32,
    /// Broken copies of an event: the second is final.
    pub(crate) broken: u32,
    /// The first event was broken and is given up: nothing that came since shows that it was not the answer.
    pub(crate) passed: bool,
    /// The cursor was refused while the session lived; a shared store may lag, so it is asked once more.
    pub(crate) refused: bool,
    /// When its last GET was sent.
    pub(crate) last_get: Option<Instant>,
    /// No GET before this: a `Retry-After`.
    pub(crate) not_before: Instant,
    /// The wait was ordered by `retry` after a clean close that moved the cursor: no clock of the call runs.
    pub(crate) resting: bool,
    /// Its consumer is slow: the body is not read.
    pub(crate) paused: bool,
    /// When its body brought bytes last, or was opened.
    pub(crate) fed_at: Instant,
    /// What it said last that is JSON and no message: an excerpt.
    pub(crate) said: Option<String>,
    /// When it was lost, until something new comes.
    pub(crate) lost_at: Option<Instant>,
    /// How it bears its silences.
    pub(crate) race: Race,
    /// The host ends the wait.
    pub(crate) scheduled: bool,
}

/// The body of an earlier request, silent when the call was sent again.
pub(crate) struct Earlier {
    pub(crate) exchange: ExchangeId,
    pub(crate) body: Body,
    /// What it brought last: it may bring that again.
    pub(crate) near: Near,
    pub(crate) ids: EventIds,
}

impl Stream {
    /// A lineage that another client began: it is resumed from this cursor.
    pub(crate) fn adopted(cursor: &str, ids: &EventIds) -> Self {
        Self { cursor: Cursor::at(cursor), ..Self::waiting(ids) }
    }

    /// A new lineage, whose POST is this exchange.
    pub(crate) fn new(post: ExchangeId, ids: &EventIds) -> Self {
        Self {
            phase: Phase::Posting(post),
            post,
            cursor: Cursor::default(),
            ids: ids.clone(),
            prefix: None,
            near: Near::default(),
            gaps: GapWatch::default(),
            retry: None,
            barren: 0,
            misses: 0,
            failures: 0,
            is_rejected: false,
            rejected: 0,
            broken: 0,
            passed: false,
            refused: false,
            last_get: None,
            not_before: Instant::default(),
            resting: false,
            paused: false,
            fed_at: Instant::default(),
            said: None,
            lost_at: None,
            race: Race::new(),
            scheduled: false,
        }
    }

    /// A lineage without a POST.
    pub(crate) fn waiting(ids: &EventIds) -> Self {
        Self { phase: Phase::Waiting, ..Self::new(ExchangeId(0), ids) }
    }

    /// The exchange that is open or opening.
    pub(crate) fn exchange(&self) -> Option<ExchangeId> {
        match self.phase {
            Phase::Posting(exchange) | Phase::Reading(exchange, _) | Phase::Resuming(exchange, _) => {
                Some(exchange)
            }
            Phase::Waiting | Phase::Queued | Phase::Asking | Phase::Held(_) | Phase::Elsewhere => None,
        }
    }

    /// Whether a body of it is being read: it may still bring the answer.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Reading(..))
    }

    /// Whether its request was answered by an event stream, that may be over by now.
    pub(crate) fn has_opened(&self) -> bool {
        match &self.phase {
            Phase::Reading(_, body) => matches!(body, Body::Events(_)),
            Phase::Waiting | Phase::Queued | Phase::Resuming(..) | Phase::Asking => true,
            Phase::Held(resend) => *resend == Resend::Get,
            Phase::Posting(_) | Phase::Elsewhere => false,
        }
    }

    /// The event stream that is open.
    pub(crate) fn events(&mut self) -> Option<&mut Events> {
        match &mut self.phase {
            Phase::Reading(_, Body::Events(events)) => Some(events),
            _ => None,
        }
    }

    /// Whether no headers came yet on its exchange.
    pub(crate) fn awaits_headers(&self) -> bool {
        matches!(self.phase, Phase::Posting(_) | Phase::Resuming(..)) || self.is_quiet()
    }

    /// The headers of the resume under way, where they are still to come.
    pub(crate) fn headers(&mut self) -> Option<&mut Headers> {
        match &mut self.phase {
            Phase::Resuming(_, headers) => Some(headers),
            _ => self.race.headers(),
        }
    }

    /// Whether its open stream is a resume whose headers are still to come.
    pub(crate) fn is_quiet(&self) -> bool {
        matches!(&self.phase, Phase::Reading(_, Body::Events(events)) if events.quiet)
    }

    /// Whether a GET opened the stream that is open.
    pub(crate) fn is_resumed(&mut self) -> bool {
        self.events().is_some_and(|events| events.resumed)
    }

    /// The cursor, where a resume is possible.
    pub(crate) fn cursor(&self) -> Option<&str> {
        self.cursor.usable()
    }

    /// An id with this prefix came: whoever else uses it is to know.
    pub(crate) fn counts_with(&mut self, prefix: &str, call: CallId) {
        let prefix = Prefix::new(prefix);
        if self.prefix.replace(prefix) != Some(prefix) {
            self.ids.shares(prefix, call);
        }
    }

    /// A resume opened.
    pub(crate) fn resumed(&mut self) {
        self.gaps.resumed();
        self.prefix = None;
    }

    /// Something new came: whatever failed before is over.
    pub(crate) fn progressed(&mut self) {
        self.barren = 0;
        self.misses = 0;
        self.failures = 0;
        self.rejected = 0;
        self.is_rejected = false;
        self.refused = false;
        self.passed = false;
    }
}
