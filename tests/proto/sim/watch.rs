//! One call, as the judge sees it.

use std::collections::BTreeSet;

use landfall::proto::{CallId, Outcome};

use super::agenda::Time;
use super::clocks::Bounds;
use super::network::{LinkId, Mark};
use super::trail::{Place, Trail};

/// What is known of one POST of a call.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// It may have been executed.
    Unknown,
    /// It was not: the runtime's code, or the server's status, proves it.
    Unexecuted,
    /// It was, and the call goes on by another.
    Round,
}

/// A call of the user's, watched.
pub(crate) struct Watch {
    /// Its plan; none for the first `tools/list`.
    pub(crate) plan: Option<usize>,
    pub(crate) call: CallId,
    pub(crate) made: Time,
    pub(crate) bounds: Bounds,
    pub(crate) ended: Option<Time>,
    pub(crate) answered: bool,
    pub(crate) cancelled: bool,
    /// What it claims of its execution.
    pub(crate) outcome: Option<Outcome>,
    pub(crate) posts: Vec<(LinkId, Sent)>,
    /// The server's hints were known when it was sent, or came since.
    pub(crate) hinted: bool,
    pub(crate) gets: usize,
    pub(crate) trail: Trail,
    /// Events in hand of streams that were given up, or that are an earlier request's; and how many failed, before or since.
    pub(crate) orphans: BTreeSet<u32>,
    pub(crate) orphans_failed: usize,
    /// What a resume brought beside a silent body: nothing, until it wins.
    pub(crate) rival: Option<(LinkId, Vec<Mark>)>,
    /// When bytes came last on a body of it that is read and believed.
    pub(crate) bytes_at: Time,
    /// Bodies whose bytes prove that the server goes on there: comments before the first event of a resumed one do not.
    pub(crate) believed: BTreeSet<LinkId>,
    /// It was sent again beside a body that was still open.
    pub(crate) beside: bool,
    /// It ended a body itself that could still have answered, and asked for nothing since.
    pub(crate) gave_up: bool,
    /// The session was replaced since its last POST.
    pub(crate) replaced: bool,
    /// When resumes were made since something new came.
    pub(crate) barren: Vec<Time>,
    /// The server's `retry` on this stream.
    pub(crate) retry: Option<u32>,
    /// When the server ended the last exchange; none if the client itself did.
    pub(crate) dropped: Option<Time>,
    /// No attempt before this: `Retry-After`.
    pub(crate) floor: Option<Time>,
    /// The last message on its stream, or its first POST.
    pub(crate) heard: Option<Time>,
    /// When a time began that no clock counts, and how much of it there was since it was heard of.
    resting: Option<Time>,
    pub(crate) rested: Time,
    /// Times began and ended that are not watched: a question, a pause.
    pub(crate) unclocked: bool,
    pub(crate) warned: bool,
    pub(crate) gaps: u32,
    /// Its stream was given up, and it is to be sent again.
    pub(crate) parted: bool,
    /// Events reported as skipped.
    pub(crate) skips: usize,
    /// The last token.
    pub(crate) token: Option<String>,
    /// The same, as it was told, and the session that the client used then.
    pub(crate) told: Option<(String, Option<String>)>,
    /// It goes on with a stream that another client began.
    pub(crate) adopts: bool,
    /// Events handed to its handler.
    pub(crate) keys: u32,
    /// The application said that events are missing.
    pub(crate) reported: bool,
    /// How often others were asked for because of it, after a 401.
    pub(crate) refreshes: u32,
    /// The machine slept: until when, and for how long in all.
    pub(crate) woke: Option<Time>,
    pub(crate) slept: Time,
    /// The server ordered a wait until then, whatever it said besides.
    pub(crate) ordered: Time,
    /// Since when no request of it is under way, though it has not ended.
    pub(crate) alone: Option<Time>,
    /// It ended a body of which bytes came: that is its call's end, or wrong.
    pub(crate) ended_fed: bool,
    /// Where it was when its stream was lost.
    pub(crate) left: Option<Place>,
    /// Its ids on the wire as JSON texts, the first one first; and the progress token that its caller gave.
    pub(crate) wire_ids: Vec<String>,
    /// Those of its requests on their own.
    pub(crate) ids: BTreeSet<String>,
    /// The state and the keys that its server wants, and how often it was answered so.
    pub(crate) wanted: (Option<String>, Vec<String>),
    pub(crate) rounds: u32,
    pub(crate) given_token: Option<String>,
    /// The task that its client knows it by: the number of its work.
    pub(crate) task: Option<usize>,
    /// Why it was cancelled, where the caller said so.
    pub(crate) because: Option<&'static str>,
    /// A redirect is to be followed.
    pub(crate) hop: bool,
    /// How many were followed in a row.
    pub(crate) hops: u32,
    /// Resumes that failed since something new came.
    pub(crate) vain: usize,
    /// Something new came since the last resume was answered.
    pub(crate) brought: bool,
}

impl Watch {
    pub(crate) fn new(now: Time, call: CallId, plan: Option<usize>, bounds: Bounds) -> Self {
        Self {
            plan,
            call,
            made: now,
            bounds,
            ended: None,
            answered: false,
            cancelled: false,
            outcome: None,
            posts: Vec::new(),
            hinted: false,
            gets: 0,
            trail: Trail::default(),
            orphans: BTreeSet::new(),
            orphans_failed: 0,
            rival: None,
            bytes_at: now,
            believed: BTreeSet::new(),
            beside: false,
            gave_up: false,
            replaced: false,
            barren: Vec::new(),
            retry: None,
            dropped: None,
            floor: None,
            heard: None,
            resting: None,
            rested: 0,
            unclocked: false,
            warned: false,
            gaps: 0,
            parted: false,
            skips: 0,
            token: None,
            told: None,
            adopts: false,
            keys: 0,
            reported: false,
            refreshes: 0,
            woke: None,
            slept: 0,
            ordered: 0,
            alone: None,
            ended_fed: false,
            left: None,
            ids: BTreeSet::new(),
            wanted: (None, Vec::new()),
            rounds: 0,
            wire_ids: Vec::new(),
            given_token: None,
            task: None,
            because: None,
            hop: false,
            hops: 0,
            vain: 0,
            brought: false,
        }
    }

    /// Its request was answered by this, and is to come again.
    pub(crate) fn begins_round(&mut self, state: Option<String>, keys: Vec<String>) {
        (self.wanted, self.rounds) = ((state, keys), self.rounds + 1);
        self.posts.iter_mut().for_each(|(_, sent)| *sent = Sent::Round);
        self.is_new();
    }

    /// Whether a request of it went out.
    pub(crate) fn was_sent(&self) -> bool {
        !self.posts.is_empty() || self.gets > 0
    }

    /// A message came: what bounds silence begins anew. A wait that no clock counts goes on: it may have come on another's
    /// stream.
    pub(crate) fn heard(&mut self, now: Time) {
        (self.heard, self.rested, self.resting) = (Some(now), 0, self.resting.map(|_| now));
    }

    /// Something new came.
    pub(crate) fn is_new(&mut self) {
        self.barren.clear();
        (self.vain, self.brought) = (0, true);
    }

    /// A time begins that no clock counts.
    pub(crate) fn rests(&mut self, now: Time) {
        self.resting.get_or_insert(now);
    }

    pub(crate) fn rest_over(&mut self, now: Time) {
        if let Some(since) = self.resting.take() {
            self.rested += now - since;
        }
    }
}
