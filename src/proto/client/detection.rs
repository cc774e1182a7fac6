//! Finding out what the server speaks: asks what the machine of that name says, and adopts the words that fit
//! (ARCHITECTURE.md, "Sessions and eras").

use std::borrow::Cow;

use super::Client;
use crate::proto::era::Era;
use crate::proto::error::Reason;
use crate::proto::event::{Diagnostics, Failure, Hint};
use crate::proto::facts::SessionFacts;
use crate::proto::jsonrpc::{elements, field, string};
use crate::proto::ledger::{members, Call, Kind};
use crate::proto::machines::detection::{Got, Next, Probe};
use crate::proto::machines::dialect::{with_tasks, Dialect, Modern};
use crate::proto::time::Instant;
use crate::proto::timer::{Clock, Owner};
use crate::proto::CallId;

impl Client {
    /// Enters a question of the handshake into the ledger.
    pub(super) fn open_probe(&mut self, now: Instant, call: CallId, probe: Probe) {
        match probe {
            Probe::Initialize => {
                if !self.config.carry {
                    self.session.dialect = Dialect::Legacy;
                }
                self.open_initialize(now, call);
            }
            Probe::Discover => self.open_discover(now, call),
            Probe::Endpoint => self.open_stream_of_session(now, call),
        }
    }

    /// Sends it.
    pub(super) fn send_probe(&mut self, now: Instant, call: CallId) {
        match self.awaits_endpoint(call) {
            true => self.open_listen(now, call),
            false => self.post(now, call),
        }
    }

    fn open_discover(&mut self, now: Instant, call: CallId) {
        let version = self.config.modern_versions.first().cloned().unwrap_or_default();
        let modern = self.own_words(&version);
        let rpc = Probe::Discover.name();
        let mut entry = self.entry(now, Kind::Initialize, rpc, members(rpc, "", &modern.meta, None));
        entry.speaks(Dialect::Modern(modern));
        self.open_as(call, entry);
    }

    /// What each modern request of ours says of us.
    fn own_words(&self, version: &str) -> Modern {
        let capabilities = match self.config.tasks {
            true => with_tasks(&self.config.capabilities).into(),
            false => Cow::Borrowed(&*self.config.capabilities),
        };
        Modern::own(version, &self.config.client_info, &capabilities)
    }

    /// Asks another question in the time of the one before. `known`: of the handshake so far.
    pub(super) fn ask_anew(&mut self, now: Instant, probe: Probe, known: Diagnostics) {
        let call = self.number();
        self.session.detection.asks(probe);
        self.session.handshake.sends(call);
        self.open_probe(now, call, probe);
        let by = self.session.handshake.by;
        // Where there is a session already, it is not worth the wait.
        let soon = now + self.config.timeouts.connect;
        let at = if self.session.detection.has_offer() { by.min(soon) } else { by };
        self.go_on(now, call, known, at);
    }

    /// Sends a question that takes the place of another, with what is known of the handshake so far.
    pub(super) fn go_on(&mut self, now: Instant, call: CallId, known: Diagnostics, by: Instant) {
        if let Some(entry) = self.ledger.get(call) {
            entry.diagnostics = Diagnostics { era: entry.diagnostics.era, ..known };
        }
        self.timers.set(Owner::Call(call), Clock::Handshake, by);
        self.send_probe(now, call);
    }

    /// A question of the handshake failed: another is asked, or what another brought is enough. Else the handshake failed.
    pub(super) fn ask_next(&mut self, now: Instant, failure: Failure) -> Option<Failure> {
        let is_given_up = self.session.is_over() || failure.reason == Reason::Cancelled;
        let Some(probe) = self.session.detection.asked().filter(|_| !is_given_up) else {
            return Some(failure);
        };
        match self.session.detection.hears(got(probe, &failure), Some(&failure)) {
            Next::Ask(probe) => self.ask_anew(now, probe, failure.diagnostics),
            Next::Speak(_) => match self.session.detection.take_offer() {
                Some(offer) => self.adopt(now, offer, Some(failure.diagnostics)),
                None => return Some(failure),
            },
            Next::Fail => return Some(self.session.detection.sums_up(failure)),
        }
        None
    }

    /// The server answered `server/discover`.
    pub(super) fn on_discovered(&mut self, now: Instant, entry: Call, text: String) {
        let named = versions_of(&text);
        let mutual = self.config.modern_versions.iter().find(|ours| named.contains(ours)).cloned();
        if let Some(version) = mutual {
            self.session.detection.hears(Got::Modern, None);
            self.session.facts.edit().session_id = None;
            self.session.handshake.greeting = text;
            self.agrees_on(&version);
            return self.on_confirmed(now);
        }
        if self.session.detection.has_refused(Probe::Initialize)
            && self.session.handshake.turns_to(&named, &self.config.legacy_versions).is_some()
        {
            return self.ask_anew(now, Probe::Initialize, entry.diagnostics);
        }
        let (reason, said) = self.refusal_of(&text, &named, Probe::Discover);
        let failure = self.failure(now, entry, reason, &said);
        self.on_handshake_failed(now, failure);
    }

    /// The session speaks this modern version.
    pub(super) fn agrees_on(&mut self, version: &str) {
        self.session.facts.edit().protocol_version = Some(version.to_string());
        self.session.dialect = Dialect::Modern(self.own_words(version));
    }

    /// Goes on with what another client found out, where this one speaks it, too. A session of HTTP+SSE ended with that one.
    pub(super) fn takes_up(&mut self, known: &SessionFacts) -> bool {
        let version = known.protocol_version.as_deref().unwrap_or_default();
        let ours = self.config.modern_versions.iter().any(|ours| ours == version);
        match known.era {
            _ if self.config.carry => true,
            Some(Era::Modern) if ours => {
                self.session.dialect = Dialect::Modern(self.own_words(version));
                true
            }
            Some(Era::Modern | Era::Sse) => false,
            Some(Era::Legacy) | None => true,
        }
    }

    /// What a call or a notification speaks is the session's word; a Client's message says that itself.
    pub(super) fn choose_words(&mut self, call: CallId) {
        if self.config.carry {
            return;
        }
        let words = &self.session.dialect;
        let Some(entry) = self.ledger.get(call) else { return };
        let whole = match entry.request.kind {
            Kind::Request => format!("{{{}}}", entry.request.content),
            Kind::Notification => entry.request.content.clone(),
            _ => return,
        };
        let dialect = words.about(&entry.request.method, field(&whole, &["params"]).unwrap_or_default());
        entry.speaks(dialect);
    }
}

/// What the failure of a question says.
fn got(probe: Probe, failure: &Failure) -> Got {
    let status = failure.diagnostics.last_status;
    match failure.reason {
        Reason::HttpError if matches!(status, Some(408 | 425 | 429)) => Got::Failed,
        Reason::HttpError if matches!(status, Some(400..=499)) => Got::Refused,
        Reason::UnsupportedVersion | Reason::ProtocolError => Got::Refused,
        // What answers `initialize` by a page is no server at all.
        Reason::MalformedResponse if probe == Probe::Discover => Got::Refused,
        Reason::UnexpectedContent if probe != Probe::Initialize => Got::Refused,
        // Its headers are on no list of 2025.
        Reason::NetworkError if probe == Probe::Discover && failure.diagnostics.hint == Some(Hint::Cors) => {
            Got::Refused
        }
        _ => Got::Failed,
    }
}

/// The versions that the answer to a question of the handshake names: as its result, or in its error.
pub(super) fn versions_of(text: &str) -> Vec<String> {
    let in_result = field(text, &["result", "supportedVersions"]);
    let named = in_result.or_else(|| field(text, &["error", "data", "supported"])).unwrap_or_default();
    elements(named).into_iter().filter_map(string).map(String::from).collect()
}
