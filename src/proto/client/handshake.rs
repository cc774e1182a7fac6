//! The session's beginning and end.

use super::{Client, Output};
use crate::proto::era::Era;
use crate::proto::error::Reason;
use crate::proto::event::{Diagnostics, Event, Failure, SessionState, Settlement};
use crate::proto::facts::{Identity, Offer};
use crate::proto::jsonrpc::{field, quote, string};
use crate::proto::ledger::{members, notification, Call, Kind};
use crate::proto::machines::dispatch::{Ending, Why};
use crate::proto::machines::redirect::Hop;
use crate::proto::session::State;
use crate::proto::time::Instant;
use crate::proto::timer::{Clock, Owner};
use crate::proto::CallId;

/// The wait for a DELETE.
pub(super) const CLOSE_WAIT: std::time::Duration = std::time::Duration::from_secs(2);

impl Client {
    /// Begins the handshake, which is a call: [`Output::Ready`] or a failed settlement of it follows. None where the messages
    /// of a Client are carried, which does its own. A no-op after the first time.
    pub fn connect(&mut self, now: Instant) -> Option<CallId> {
        self.begin(now);
        if self.session.state != State::New {
            return None;
        }
        let known = self.config.resume.take();
        let is_known = known.is_some();
        if let Some(known) = known {
            self.session.handshake.greeting = known.greeting.clone().unwrap_or_default();
            self.session.facts.restore(known);
        }
        if self.config.carry {
            self.carry(now);
            return None;
        }
        let call = self.number();
        if is_known {
            self.on_confirmed(now);
        } else {
            self.event(now, None, Event::State { state: SessionState::Connecting });
            self.session.state = State::Initializing;
            self.session.handshake.connects(call);
            self.initialize(now, call);
        }
        Some(call)
    }

    /// Sends `initialize`, always with the same parameters.
    pub(super) fn initialize(&mut self, now: Instant, call: CallId) {
        let members = match (&self.session.agreed, &self.session.facts.hello) {
            (Some(_), Some(hello)) => members("initialize", hello, "", None),
            _ => self.own_hello(),
        };
        let entry = self.entry(now, Kind::Initialize, "initialize", members);
        self.open_as(call, entry);
        self.post(now, call);
    }

    fn own_hello(&self) -> String {
        let mut version = String::new();
        quote(self.config.versions.first().map_or("", String::as_str), &mut version);
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
        match self.read_offer(text, identity) {
            Ok(offer) => self.adopt(now, offer, Some(entry.diagnostics)),
            Err((reason, said)) => {
                let failure = self.failure(now, entry, reason, &said);
                self.on_handshake_failed(now, failure);
            }
        }
    }

    /// The session that an answer to `initialize` offers, or why it is none.
    pub(super) fn read_offer(&self, text: String, identity: Identity) -> Result<Offer, (Reason, String)> {
        let version = field(&text, &["result", "protocolVersion"]).and_then(string);
        let Some(version) = version.map(String::from).filter(|_| field(&text, &["error"]).is_none()) else {
            return Err(self.refusal_of(&text));
        };
        let speaks = match &self.session.agreed {
            Some(agreed) => *agreed == version,
            None => self.config.versions.contains(&version),
        };
        if !speaks {
            let said = format!("the server speaks protocol version {}, and we do not", self.fit(&version));
            return Err((Reason::UnsupportedVersion, said));
        }
        Ok(Offer { identity: Identity { version: Some(version), ..identity }, greeting: text })
    }

    /// Goes on with a session that the server began, and confirms it by `notifications/initialized`. `known`: of the
    /// handshake so far.
    pub(super) fn adopt(&mut self, now: Instant, offer: Offer, known: Option<Diagnostics>) {
        let Offer { identity, greeting } = offer;
        let facts = self.session.facts.edit();
        facts.protocol_version = identity.version;
        facts.session_id = identity.id;
        self.session.state = State::Confirming;
        self.session.handshake.greeting = greeting;
        let method = "notifications/initialized";
        let mut entry = self.entry(now, Kind::Initialized, method, notification(method, ""));
        entry.diagnostics = known.unwrap_or(entry.diagnostics);
        let call = self.open(entry);
        self.session.handshake.sends(call);
        self.post(now, call);
    }

    /// The server took `notifications/initialized`: the queue may go.
    pub(super) fn on_confirmed(&mut self, now: Instant) {
        self.session.state = State::Ready;
        self.session.began = true;
        self.session.handshake.over();
        let greeting = std::mem::take(&mut self.session.handshake.greeting);
        let message = self.keep(&greeting);
        let old = self.session.facts.capabilities().to_string();
        let facts = self.session.facts.edit();
        facts.era = Some(Era::Legacy);
        facts.greeting = Some(greeting);
        let changed = facts.capabilities() != old;
        self.outputs.push_back(Output::Ready(message));
        self.event(now, None, Event::State { state: SessionState::Ready });
        if self.session.generation > 0 {
            self.on_replaced(now, changed);
        }
        self.listen(now);
        self.send_queued(now);
    }

    /// The handshake failed: the host is told, and every call that waits for it ends for the same reason.
    pub(super) fn on_handshake_failed(&mut self, now: Instant, failure: Failure) {
        let host = self.session.handshake.over();
        if let Some(call) = host {
            let failure = Failure { method: "initialize".to_string(), ..failure.clone() };
            self.outputs.push_back(Output::Settle(call, now, Settlement::Failed(Box::new(failure))));
        }
        if self.session.is_over() {
            return;
        }
        self.session.state = State::Lost;
        if host.is_none() {
            return self.on_replacement_failed(now, &failure);
        }
        let Failure { reason, text, .. } = failure;
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
        if !tell {
            return self.finish_close(now);
        }
        let ending = Ending { why: Why::Close, identity: self.session.identity(), redirects: 0 };
        self.delete(ending, Hop::default());
        self.timers.set(Owner::Session, Clock::Close, now + CLOSE_WAIT);
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
        self.event(now, None, Event::State { state: SessionState::Closed });
        self.outputs.push_back(Output::Closed);
    }

    /// What a message of our own, or the handshake, means for the session.
    pub(super) fn on_own_settled(&mut self, now: Instant, call: CallId, kind: Kind, settlement: Settlement) {
        match (kind, settlement) {
            (Kind::Initialized, Settlement::Accepted) => self.on_confirmed(now),
            (Kind::Initialize | Kind::Initialized, Settlement::Failed(failure)) => {
                self.on_handshake_failed(now, *failure);
            }
            (Kind::Listen, _) => self.on_listen_ended(now, call),
            (Kind::Scout, _) => self.on_scout_failed(now),
            (Kind::Probe, settlement) if self.session.liveness.is_probe(call) => {
                self.on_probed(now, &settlement)
            }
            (Kind::Probe, settlement) => self.on_trial_pinged(now, call, &settlement),
            _ => {}
        }
    }

    /// Why the server refused `initialize`, from its error: a list of versions means that ours is none of them.
    fn refusal_of(&self, text: &str) -> (Reason, String) {
        let said = field(text, &["error", "message"]).and_then(string).unwrap_or_default();
        if field(text, &["error"]).is_none() {
            return (
                Reason::MalformedResponse,
                "the answer to initialize has no protocolVersion".to_string(),
            );
        }
        let reason = match field(text, &["error", "data", "supported"]) {
            Some(_) => Reason::UnsupportedVersion,
            None => Reason::ProtocolError,
        };
        (reason, format!("the server refused initialize: {}", self.fit(&said)))
    }
}
