//! The session's beginning and end.

use std::time::Duration;

use super::detection::versions_of;
use super::replace::LOST;
use super::{Client, Output};
use crate::proto::era::{Era, LEGACY_VERSIONS, OLD_VERSION};
use crate::proto::error::Reason;
use crate::proto::event::{AttemptResult, Diagnostics, DropCause, Event, Failure, Level, Settlement};
use crate::proto::facts::{Identity, Offer};
use crate::proto::jsonrpc::{field, quote, string};
use crate::proto::ledger::{members, notification, Call, Kind};
use crate::proto::machines::detection::{Got, Next, Probe};
use crate::proto::session::State;
use crate::proto::time::Instant;
use crate::proto::timer::{Clock, Owner};
use crate::proto::CallId;

/// The codes of servers that have no handshake: an unsupported version, headers that they miss, an unknown method.
const NO_HANDSHAKE: [i64; 3] = [-32_022, -32_020, -32_601];

impl Client {
    /// Begins the handshake, which is a call: [`Output::Ready`] or a failed settlement of it follows. None where the messages
    /// of a Client are carried, which does its own. A no-op after the first time.
    pub fn connect(&mut self, now: Instant) -> Option<CallId> {
        self.begin(now);
        if self.session.state != State::New {
            return None;
        }
        let known = self.config.resume.take();
        let era = known.as_ref().and_then(|known| known.era);
        let known = known.filter(|known| self.takes_up(known));
        let is_known = known.is_some();
        if let Some(known) = known {
            self.session.handshake.greeting = known.greeting.clone().unwrap_or_default();
            self.session.facts.restore(known);
        }
        if self.config.carry {
            self.carry(now, is_known);
            return None;
        }
        let call = self.number();
        if is_known {
            self.on_confirmed(now);
        } else {
            self.session.state = State::Initializing;
            self.tell_state(now);
            self.session.handshake.connects(call);
            let probe = self.session.detection.begins(era);
            self.open_probe(now, call, probe);
            self.send_probe(now, call);
        }
        Some(call)
    }

    /// Enters `initialize` into the ledger, always with the same parameters.
    pub(super) fn open_initialize(&mut self, now: Instant, call: CallId) {
        let members = match (&self.session.agreed, &self.session.facts.hello) {
            (Some(_), Some(hello)) => members("initialize", hello, "", None),
            _ => self.own_hello(),
        };
        let entry = self.entry(now, Kind::Initialize, "initialize", members);
        self.open_as(call, entry);
    }

    fn own_hello(&self) -> String {
        let mut version = String::new();
        quote(self.session.handshake.version(&self.config.legacy_versions), &mut version);
        let params = format!(
            "{{\"protocolVersion\":{version},\"capabilities\":{},\"clientInfo\":{}}}",
            self.config.capabilities, self.config.client_info
        );
        members("initialize", &params, "", None)
    }

    /// The server answered `initialize`: its session is adopted.
    pub(super) fn on_initialize_answer(
        &mut self,
        now: Instant,
        entry: Call,
        text: String,
        identity: Identity,
    ) {
        if self.session.agreed.is_none()
            && self.session.handshake.turns_to(&versions_of(&text), &self.config.legacy_versions).is_some()
        {
            self.give_back(now, identity);
            return self.ask_anew(now, Probe::Initialize, entry.diagnostics);
        }
        match self.read_offer(text, identity.clone()) {
            Ok(offer) => {
                let got = if offer.identity.id.is_some() { Got::Session } else { Got::Stateless };
                match self.session.detection.hears(got, None) {
                    Next::Ask(probe) => {
                        self.session.detection.keep(offer);
                        self.ask_anew(now, probe, entry.diagnostics);
                    }
                    Next::Speak(_) | Next::Fail => self.adopt(now, offer, Some(entry.diagnostics)),
                }
            }
            Err((reason, said)) => {
                self.give_back(now, identity);
                let failure = self.failure(now, entry, reason, &said);
                self.on_handshake_failed(now, failure);
            }
        }
    }

    /// The session that an answer to `initialize` offers, or why it is none.
    pub(super) fn read_offer(&self, text: String, identity: Identity) -> Result<Offer, (Reason, String)> {
        let version = field(&text, &["result", "protocolVersion"]).and_then(string);
        let Some(version) = version.map(String::from).filter(|_| field(&text, &["error"]).is_none()) else {
            return Err(self.refusal_of(&text, &versions_of(&text), Probe::Initialize));
        };
        let speaks = match &self.session.agreed {
            Some(agreed) => *agreed == version,
            None => {
                self.config.legacy_versions.contains(&version)
                    || (version == OLD_VERSION && self.speaks_oldest())
            }
        };
        if !speaks {
            let said = format!("the server speaks protocol version {}, and we do not", self.fit(&version));
            return Err((Reason::UnsupportedVersion, said));
        }
        Ok(Offer { identity: Identity { version: Some(version), ..identity }, greeting: text })
    }

    /// Whether the user has nothing against the oldest version of ours.
    fn speaks_oldest(&self) -> bool {
        LEGACY_VERSIONS
            .last()
            .is_some_and(|oldest| self.config.legacy_versions.iter().any(|ours| ours == oldest))
    }

    /// Goes on with a session that the server began, and confirms it by `notifications/initialized`. `known`: of the
    /// handshake so far.
    pub(super) fn adopt(&mut self, now: Instant, offer: Offer, known: Option<Diagnostics>) {
        let Offer { identity, greeting } = offer;
        let facts = self.session.facts.edit();
        facts.protocol_version = identity.version;
        facts.session_id = identity.id;
        self.session.state = State::Confirming;
        if !self.session.dialect.answers_elsewhere() {
            self.session.handshake.forgets_meetings();
        }
        self.session.handshake.greeting = greeting;
        let method = "notifications/initialized";
        let mut entry = self.entry(now, Kind::Initialized, method, notification(method, "", ""));
        entry.diagnostics = known.unwrap_or(entry.diagnostics);
        let call = self.open(entry);
        self.session.handshake.sends(call);
        self.post(now, call);
    }

    /// What bounds the wait for the answer to a message of a handshake: from its first attempt on where the host asked for
    /// it, else each attempt. Time that a provider of credentials took does not count.
    pub(super) fn bound_handshake(&mut self, now: Instant, call: CallId, kind: Kind) {
        let owner = Owner::Call(call);
        if self.timers.at(owner, Clock::Handshake).is_some() {
            return;
        }
        let by = self.session.handshake.by;
        let goes_on = kind == Kind::Initialized && by > now;
        let at = if goes_on { by } else { now + self.config.timeouts.handshake };
        self.timers.set(owner, Clock::Handshake, at);
        self.session.handshake.by = at;
    }

    /// A message of the handshake met what passes: it is sent again after a wait, as long as somebody waits for that.
    pub(super) fn greet_again(
        &mut self,
        now: Instant,
        call: CallId,
        reason: Reason,
        text: &str,
        floor: Option<Duration>,
    ) {
        let floor = floor.unwrap_or_default();
        let call = self.back_to_endpoint(now, call);
        self.note_greeted(call, reason);
        if let Some(exchange) = self.leave_stream(now, call).and_then(|stream| stream.exchange()) {
            self.abort(exchange);
        }
        // There is something to be content with.
        if self.session.detection.has_offer() {
            return self.fail(now, call, reason, text);
        }
        let Some(entry) = self.ledger.get(call) else { return };
        entry.delivery.repeat();
        // What the attempt began, nobody uses.
        let begun = entry.delivery.identity.as_mut().map(std::mem::take).unwrap_or_default();
        self.give_back(now, begun);
        let attempt = self.session.handshake.meets(reason, text);
        let wait = self.own_wait(call, attempt - 1).max(floor);
        let (mut level, next) = (Level::Reissue, now + wait);
        if self.session.handshake.replaces() {
            level = Level::L2;
            self.timers.stop(Owner::Call(call), Clock::Handshake);
            self.session.handshake.by = next + self.config.timeouts.handshake;
            self.tell_who_waits(now, attempt, wait, floor);
            if !self.is_awaited(next) {
                return self.fail(now, call, reason, text);
            }
        } else if !floor.is_zero() && self.passes_budget(now, call, floor) {
            return self.fail_over_budget(now, call, floor);
        }
        if let Some(entry) = self.ledger.get(call) {
            entry.lineage.planned = Some((level, wait));
            self.timers.set(Owner::Call(call), Clock::Wait, next);
        }
    }

    /// Makes an attempt of the handshake.
    pub(super) fn greet(&mut self, now: Instant, call: CallId) {
        if self.session.handshake.replaces() && !self.is_awaited(now) {
            let met = self.session.handshake.met().cloned();
            let (reason, text) = met.unwrap_or_else(|| (Reason::SessionLost, LOST.to_string()));
            return self.fail(now, call, reason, &text);
        }
        // No id goes out twice: a server may be at work for the one before.
        let is_again = |entry: &Call| entry.delivery.reissues() > 0 && entry.request.kind.wants_response();
        if self.ledger.peek(call).is_some_and(is_again) {
            self.renew_wire_id(call);
        }
        self.note_attempt(now, call);
        self.send_probe(now, call);
    }

    /// How an attempt of the handshake ended that was not the first.
    fn note_greeted(&mut self, call: CallId, reason: Reason) {
        if self.session.handshake.meetings() == 0 {
            return;
        }
        let Some(entry) = self.ledger.get(call) else { return };
        let Some(attempt) = entry.diagnostics.attempts.last_mut() else { return };
        (attempt.result, attempt.status) = match reason {
            Reason::HttpError => (AttemptResult::Refused, entry.diagnostics.last_status),
            Reason::ConnectTimeout => (AttemptResult::Timeout, None),
            _ => (AttemptResult::NetworkError, None),
        };
    }

    /// `handshakeMs` is over.
    pub(super) fn on_handshake_late(&mut self, now: Instant, call: CallId) {
        let within = format!("within {}", self.named(call, Clock::Handshake));
        let late = format!("the server did not answer {within}");
        if self.session.handshake.replaces() && !self.session.detection.has_offer() {
            return self.lost(now, call, Reason::ConnectTimeout, DropCause::Network.into(), &late, None);
        }
        match self.session.handshake.met().cloned() {
            None => self.fail(now, call, Reason::ConnectTimeout, &late),
            // What is known to be wrong is more telling.
            Some((reason, text)) => {
                self.fail(now, call, reason, &format!("{text}; no other attempt was answered {within}"));
            }
        }
    }

    /// The server took `notifications/initialized`: the queue may go.
    pub(super) fn on_confirmed(&mut self, now: Instant) {
        self.session.state = State::Ready;
        self.session.began = true;
        let replaces = self.session.handshake.replaces();
        self.session.handshake.over();
        let greeting = std::mem::take(&mut self.session.handshake.greeting);
        let message = self.keep(&greeting);
        let old = self.session.facts.capabilities().to_string();
        let facts = self.session.facts.edit();
        facts.era = Some(if self.config.carry { Era::Legacy } else { self.session.dialect.era() });
        facts.greeting = Some(greeting);
        let changed = facts.capabilities() != old;
        self.outputs.push_back(Output::Ready(message));
        self.tell_state(now);
        self.judge_contradicted(now);
        if replaces {
            self.on_replaced(now, changed);
        }
        self.listen(now);
        self.send_queued(now);
    }

    /// The Client began a session itself: ours is not needed.
    pub(super) fn drop_handshake(&mut self, now: Instant) {
        let Some(message) = self.session.handshake.message() else { return };
        self.session.handshake.over();
        let begun = match (self.release(now, message), self.session.state) {
            (_, State::Confirming) => Some(self.session.identity()),
            (entry, _) => entry.and_then(|entry| entry.delivery.identity),
        };
        self.give_back(now, begun.unwrap_or_default());
    }

    /// The handshake failed: the host is told, and every call that waits for it ends for the same reason.
    pub(super) fn on_handshake_failed(&mut self, now: Instant, failure: Failure) {
        let Some(failure) = self.ask_next(now, failure) else { return };
        let host = self.session.handshake.over();
        let failure = match failure.method.as_str() {
            "initialize" => failure,
            method => Failure { text: format!("{method}: {}", failure.text), ..failure },
        };
        if let Some(call) = host {
            let failure = Failure { method: "initialize".to_string(), ..failure.clone() };
            self.outputs.push_back(Output::Settle(call, now, Settlement::Failed(Box::new(failure))));
        }
        if self.session.is_over() {
            return;
        }
        // Nobody else knows of what it began.
        if self.session.state == State::Confirming
            && !matches!(failure.diagnostics.last_status, Some(404 | 410))
        {
            self.give_back(now, self.session.identity());
        }
        self.session.state = State::Lost;
        if host.is_none() {
            return self.on_replacement_failed(now, &failure);
        }
        let reason = failure.reason;
        let text = format!("the handshake failed: {}", failure.text);
        for call in self.ledger.calls() {
            self.fail(now, call, reason, &text);
        }
    }

    /// Ends the session: pending calls settle as `closed` at once, the server is told by DELETE (at most 2 s), then
    /// [`Output::Closed`]. Nothing happens after it. A no-op after the first time.
    pub fn close(&mut self, now: Instant) {
        self.begin(now);
        if self.session.is_over() {
            return;
        }
        let tell = self.session.facts.session_id.is_some()
            && self.session.state != State::Lost
            && self.config.terminate;
        self.end_trial(now);
        self.session.state = State::Closing;
        for call in self.ledger.calls() {
            self.fail(now, call, Reason::Closed, "the session was closed");
        }
        self.server_requests.end_all();
        if tell {
            self.give_back(now, self.session.identity());
        }
        if !self.dispatch.is_ending() {
            self.finish_close(now);
        }
    }

    /// Tells the session's state, where it is another.
    pub(super) fn tell_state(&mut self, now: Instant) {
        if let Some(state) = self.session.state_news() {
            self.event(now, None, Event::State { state });
        }
    }

    /// The DELETE was answered, failed, or took too long; or there was none to send.
    pub(super) fn finish_close(&mut self, now: Instant) {
        if self.session.state != State::Closing {
            return;
        }
        self.session.state = State::Closed;
        self.timers.release(Owner::Session);
        for exchange in self.dispatch.open() {
            self.abort(exchange);
        }
        self.tell_state(now);
        self.outputs.push_back(Output::Closed);
    }

    /// What a message of our own, or the handshake, means for the session.
    pub(super) fn on_own_settled(&mut self, now: Instant, call: CallId, kind: Kind, settlement: Settlement) {
        match (kind, settlement) {
            (Kind::Initialized, Settlement::Accepted) => self.on_confirmed(now),
            (Kind::Initialize | Kind::Initialized, Settlement::Failed(failure)) => {
                self.on_handshake_failed(now, *failure);
            }
            (Kind::Listen, Settlement::Failed(failure)) if self.session.handshake.is_message(call) => {
                self.session.listen = None;
                self.on_handshake_failed(now, *failure);
            }
            (Kind::Listen, _) => self.on_listen_ended(now, call),
            (Kind::Subscription, settlement) => self.on_unsubscribed(now, &settlement),
            (Kind::Scout, _) => self.on_scout_failed(now),
            (Kind::List, settlement) => self.on_hints_told(now, &settlement),
            (Kind::Probe, settlement) if self.session.liveness.is_probe(call) => {
                self.on_probed(now, &settlement)
            }
            (Kind::Probe, settlement) => self.on_trial_pinged(now, call, &settlement),
            (Kind::Task, settlement) => self.on_task_message(now, call, &settlement),
            _ => {}
        }
    }

    /// Why the server refused a question, from its answer and the versions in it: such a list means that ours is none of
    /// them, and so do the words of a server that knows no handshake.
    pub(super) fn refusal_of(&self, text: &str, supported: &[String], probe: Probe) -> (Reason, String) {
        let (name, ours) = match probe {
            Probe::Initialize | Probe::Endpoint => (probe.name(), self.config.legacy_versions.join(", ")),
            Probe::Discover => (probe.name(), self.config.modern_versions.join(", ")),
        };
        let said = field(text, &["error", "message"]).and_then(string).unwrap_or_default();
        if field(text, &["error"]).is_none() && supported.is_empty() {
            let text = format!("the answer to {name} names no protocol version");
            return (Reason::MalformedResponse, text);
        }
        let said = self.fit(&said);
        if !supported.is_empty() {
            let theirs = self.fit(&supported.join(", "));
            let text =
                format!("the server speaks protocol version {theirs} only, and this client {ours}: {said}");
            return (Reason::UnsupportedVersion, text);
        }
        let code = field(text, &["error", "code"]).and_then(|code| code.parse::<i64>().ok());
        if probe == Probe::Initialize && code.is_some_and(|code| NO_HANDSHAKE.contains(&code)) {
            let text = format!(
                "the server knows no initialize, and seems to speak a later protocol only than this client ({ours}): {said}"
            );
            return (Reason::UnsupportedVersion, text);
        }
        (Reason::ProtocolError, format!("the server refused {name}: {said}"))
    }
}
