//! The session of an SDK's Client: it does the handshake, we carry its messages and keep what another session would need.

use super::{Client, Output};
use crate::proto::error::Reason;
use crate::proto::event::{Event, Level, SessionState, Settlement};
use crate::proto::jsonrpc::{field, string};
use crate::proto::ledger::{members, Call, Kind};
use crate::proto::machines::dialect::{Dialect, Question};
use crate::proto::session::{Hello, State};
use crate::proto::time::Instant;
use crate::proto::timer::{Clock, Owner};
use crate::proto::CallId;

impl Client {
    /// Takes the Client's messages from now on.
    pub(super) fn carry(&mut self, now: Instant) {
        let hello = self.config.carry.as_mut().and_then(|carry| carry.hello.take());
        self.session.hello = hello
            .zip(self.session.version.clone())
            .map(|(params, version)| Hello { members: members("initialize", &params, "", None), version });
        self.session.state = State::Ready;
        self.session.began = true;
        self.event(now, None, Event::State { state: SessionState::Ready });
        if self.session.hello.is_some() {
            self.listen(now);
        }
    }

    /// What a request of this method is to us.
    pub(super) fn kind_of(&self, method: &str) -> Kind {
        match method {
            "initialize" | "server/discover" if self.config.carry.is_some() => Kind::Handshake,
            _ => Kind::Request,
        }
    }

    /// A message of the Client's settled: what it means for the session.
    pub(super) fn heed(&mut self, now: Instant, entry: &Call, settlement: &Settlement) {
        match settlement {
            Settlement::Result { message, .. } if entry.request.kind == Kind::Handshake => {
                let text = self.text(*message).to_string();
                let version = field(&text, &["result", "protocolVersion"]).and_then(string);
                let Some(version) =
                    version.filter(|_| entry.request.method == "initialize").map(String::from)
                else {
                    return;
                };
                if let Some(old) = self.session.listen {
                    self.fail(now, old, Reason::SessionLost, "the Client began another session");
                }
                let capabilities = field(&text, &["result", "capabilities"]).unwrap_or_default().to_string();
                self.session.forget();
                self.session.id = entry.delivery.identity.as_ref().and_then(|identity| identity.id.clone());
                self.session.version = Some(version.clone());
                self.session.capabilities = capabilities;
                self.session.hello =
                    Some(Hello { members: entry.request.content.clone(), version: version.clone() });
                if self.session.state != State::Ready {
                    self.session.state = State::Ready;
                    self.event(now, None, Event::State { state: SessionState::Ready });
                }
                let session_id = self.session.id.clone();
                let ready = Output::Ready {
                    era: entry.request.dialect.era(),
                    protocol_version: version,
                    session_id,
                    message: *message,
                };
                self.outputs.push_back(ready);
            }
            Settlement::Accepted if entry.request.kind == Kind::Terminate => self.session.id = None,
            _ => {}
        }
    }

    /// The Client's handshake is done when the server took its last word.
    pub(super) fn listen_if_confirmed(&mut self, now: Instant, entry: &Call) {
        let is_last =
            entry.request.kind == Kind::Notification && entry.request.method == "notifications/initialized";
        if is_last && self.config.carry.is_some() && self.is_ready() {
            self.listen(now);
        }
    }

    /// What asks whether the server lives, in the words of a Client's messages.
    pub(super) fn probe_entry(&self, now: Instant) -> Call {
        let dialect = match self.session.hello {
            Some(_) => &Dialect::Legacy,
            None => &self.session.dialect,
        };
        let Question { rpc, meta, dialect } = dialect.probe_with();
        let mut entry = self.entry(now, Kind::Probe, rpc, members(rpc, "", meta, None));
        entry.request.dialect = dialect;
        entry
    }

    /// `MCP-Protocol-Version` of later messages, as the Client negotiated it.
    pub fn set_version(&mut self, version: &str) {
        self.session.version = Some(version.to_string());
    }

    /// [`Self::cancel`], with the reason that the server is told.
    pub fn cancel_because(&mut self, now: Instant, call: CallId, reason: &str) {
        if let Some(entry) = self.ledger.get(call) {
            entry.delivery.cancel_reason = Some(reason.to_string());
        }
        self.cancel(now, call);
    }

    /// Ends the session at the server, by DELETE, and keeps the client. Exactly one [`Output::Settle`] follows.
    pub fn terminate(&mut self, now: Instant) -> CallId {
        self.begin();
        let entry = self.entry(now, Kind::Terminate, "DELETE", String::new());
        let call = self.open(entry);
        self.enqueue(now, call);
        call
    }

    /// The host ends a wait that it was given by [`Output::Schedule`]. A no-op where nothing waits for that.
    pub fn reconnect(&mut self, now: Instant, call: CallId) {
        self.begin();
        let Some(stream) = self.stream(call).filter(|stream| stream.scheduled) else { return };
        stream.scheduled = false;
        // A host that is in a hurry is no reason for a storm, and a `Retry-After` is a floor for everybody.
        let floor = self.floor(now, call);
        let wait = self.spaced(now, call, floor);
        match wait.is_zero() {
            true => self.attempt(now, call),
            false => self.timers.set(Owner::Call(call), Clock::Wait, now + wait),
        }
    }

    /// Begins a wait. The host ends the one before a resume, where it wants to.
    pub(super) fn arm_wait(&mut self, now: Instant, call: CallId, level: Level, wait: std::time::Duration) {
        let wants = self.config.scheduler && level == Level::L1;
        match self.stream(call).filter(|_| wants) {
            Some(stream) => {
                stream.scheduled = true;
                let attempt = stream.barren + 1;
                self.outputs.push_back(Output::Schedule(call, wait, attempt));
            }
            None => self.timers.set(Owner::Call(call), Clock::Wait, now + wait),
        }
    }
}
