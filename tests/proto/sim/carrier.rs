//! An SDK's Client whose messages are carried: it does the handshake, and brings its own ids and progress tokens.

use landfall::proto::{CallId, CallSpec, Reason, Settlement};

use super::happening::Happening;
use super::schedule::CallPlan;
use super::shares::Happened;
use super::world::{instant, World};

/// How a Client names its requests, and what asks for progress.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    Numbers,
    Strings,
    /// Numbers and strings by turns.
    Both,
}

/// What a call has in common with the one before it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shared {
    Id,
    Token,
    Both,
}

/// A call of a Client's, as far as it is the Client that makes it so.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Carried {
    pub(crate) shares: Option<Shared>,
    /// The Client has a timer of its own.
    pub(crate) timed: bool,
    /// It wants to be told of progress.
    pub(crate) wants_progress: bool,
}

/// What a Client does next for its handshake.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Initialize,
    Initialized,
    /// The handshake is done.
    Calls,
}

/// Handshakes that a Client tries in all.
const MOST_TRIES: u32 = 4;
/// Between what it is told and what it says.
const THINKS: u64 = 1_000;
/// After a handshake that failed.
const TRIES_AGAIN: u64 = 1_000_000;

#[derive(Default)]
pub(super) struct Carrier {
    /// Names that were given.
    count: u64,
    /// The id and the token of its last call.
    last: Option<(String, String)>,
    tries: u32,
    /// The message of its handshake that is under way, and what follows it.
    sent: Option<(CallId, Word)>,
    /// It is planned to say something of its handshake.
    is_about_to: bool,
    is_ready: bool,
    /// Planned calls that wait for its handshake.
    waiting: Vec<usize>,
}

impl Carrier {
    fn name(&mut self, names: Names) -> String {
        self.count += 1;
        match names {
            Names::Strings => format!("\"c-{}\"", self.count),
            Names::Both if self.count % 2 == 0 => format!("\"c-{}\"", self.count),
            Names::Numbers | Names::Both => (7_000_000 + self.count).to_string(),
        }
    }
}

impl World<'_> {
    /// Another client carries the messages of the same Client, maybe in a session that stands.
    pub(super) fn carry(&mut self, stands: bool) {
        self.shares.happened(Happened::Carried);
        self.carrier.sent = None;
        (self.carrier.is_ready, self.carrier.is_about_to) = (stands, !stands);
        if !stands {
            self.say_in(THINKS, Word::Initialize);
        }
    }

    /// Whether a planned call is to wait for the Client's handshake.
    pub(super) fn waits_for_handshake(&mut self, number: usize) -> bool {
        let waits = self.schedule.client.carries.is_some() && !self.carrier.is_ready && !self.closed;
        if waits {
            self.carrier.waiting.push(number);
        }
        waits
    }

    fn say_in(&mut self, after: u64, word: Word) {
        self.agenda.plan(self.now + after, Happening::Says(self.generation, word));
    }

    /// The Client goes on with its handshake.
    pub(super) fn say(&mut self, word: Word) {
        self.carrier.is_about_to = false;
        let (call, then) = match word {
            Word::Initialize => (self.send_initialize(), Word::Initialized),
            Word::Initialized => {
                let call = self.client.notify(instant(self.now), "notifications/initialized", "");
                (call, Word::Calls)
            }
            Word::Calls => return self.make_waiting(),
        };
        self.carrier.sent = Some((call, then));
        self.judge.on_message(call);
        self.drain();
    }

    fn send_initialize(&mut self) -> CallId {
        self.carrier.tries += 1;
        self.carrier.is_ready = false;
        let names = self.schedule.client.carries.unwrap_or(Names::Numbers);
        let spec = CallSpec {
            method: "initialize".to_string(),
            params: r#"{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}"#
                .to_string(),
            id: Some(self.carrier.name(names)),
            timed: true,
            ..CallSpec::default()
        };
        self.client.call(instant(self.now), spec).expect("valid clocks")
    }

    fn make_waiting(&mut self) {
        self.client.set_version(instant(self.now), "2025-11-25");
        self.carrier.is_ready = true;
        self.drain();
        self.list();
        for number in std::mem::take(&mut self.carrier.waiting) {
            self.make(number);
        }
    }

    /// Something of the Client's ended: its handshake goes on, or is tried again.
    pub(super) fn heed(&mut self, call: CallId, settlement: &Settlement) {
        if self.schedule.client.carries.is_none() {
            return;
        }
        let is_lost =
            matches!(settlement, Settlement::Failed(failure) if failure.reason == Reason::SessionLost);
        match self.carrier.sent.filter(|(sent, _)| *sent == call) {
            Some((_, word)) => {
                self.carrier.sent = None;
                let is_error = |message| self.client.text(message).contains("\"error\"");
                match settlement {
                    Settlement::Failed(_) => self.begin_anew(TRIES_AGAIN),
                    Settlement::Result { message, .. } if is_error(*message) => self.begin_anew(TRIES_AGAIN),
                    _ => self.say_in(THINKS, word),
                }
            }
            // An application connects again; another waits for what the next call does.
            None if is_lost && self.carrier.is_ready && self.schedule.seed % 2 == 0 => {
                self.begin_anew(THINKS);
            }
            None => {}
        }
    }

    /// The Client begins another session, where it has not tried too often, and is not about to.
    pub(super) fn begin_anew(&mut self, after: u64) {
        let may = self.carrier.tries < MOST_TRIES && self.carrier.sent.is_none() && !self.closed;
        if may && !std::mem::replace(&mut self.carrier.is_about_to, true) {
            if std::mem::take(&mut self.carrier.is_ready) {
                self.shares.happened(Happened::CarriedAnew);
            }
            self.say_in(after, Word::Initialize);
        }
    }

    /// The same call as the Client would make it.
    pub(super) fn carried(&mut self, plan: Option<&CallPlan>, spec: CallSpec) -> CallSpec {
        let Some(names) = self.schedule.client.carries else { return spec };
        let carried =
            plan.map_or(Carried { shares: None, timed: true, wants_progress: false }, |plan| plan.carried);
        let (own_id, own_token) = (self.carrier.name(names), self.carrier.name(names));
        let (mut id, mut token) = (own_id, own_token);
        if let Some((last_id, last_token)) = self.carrier.last.take() {
            if matches!(carried.shares, Some(Shared::Id | Shared::Both)) {
                id = last_id;
                self.shares.happened(Happened::SharedId);
            }
            if matches!(carried.shares, Some(Shared::Token | Shared::Both)) {
                token = last_token;
                self.shares.happened(Happened::SharedToken);
            }
        }
        self.carrier.last = Some((id.clone(), token.clone()));
        let meta = carried.wants_progress.then(|| format!("{{\"progressToken\":{token}}}"));
        CallSpec {
            meta: meta.unwrap_or_default(),
            token: carried.wants_progress.then_some(token),
            // Without a token of the Client's the wrapper asks for progress where its own clock is in force.
            progress: !carried.wants_progress && !carried.timed,
            id: Some(id),
            timed: carried.timed,
            ..spec
        }
    }

    /// The Client gives a call up, at times with a reason.
    pub(super) fn cancel(&mut self, number: usize, call: CallId) {
        let because = self.schedule.client.carries.filter(|_| number % 2 == 0).map(|_| "the user left");
        self.judge.on_cancel(number, because);
        match because {
            Some(because) => self.client.cancel_because(instant(self.now), call, because),
            None => self.client.cancel(instant(self.now), call),
        }
    }
}
