//! The session of an SDK's Client: it does the handshake, we carry its messages and keep what another session would need.

use std::time::Duration;

use super::{CallSpec, Client, Output};
use crate::proto::era::Era;
use crate::proto::event::{Level, Settlement};
use crate::proto::facts::Identity;
use crate::proto::jsonrpc::{field, string, with_field};
use crate::proto::ledger::{members, Call, Kind};
use crate::proto::machines::dialect::{meta_with_tasks, Dialect, Question};
use crate::proto::session::{Restorable, State};
use crate::proto::time::Instant;
use crate::proto::timer::{Clock, Owner};
use crate::proto::CallId;

impl Client {
    /// Takes the Client's messages from now on. `is_known`: it goes on with what another began.
    pub(super) fn carry(&mut self, now: Instant, is_known: bool) {
        let facts = &self.session.facts;
        self.session.agreed = facts.protocol_version.clone().filter(|_| facts.hello.is_some());
        self.session.state = State::Ready;
        if is_known {
            self.begins_to_call(now);
        }
        if self.session.agreed.is_some() {
            self.listen(now);
        }
    }

    /// The Client's handshake is done, or it needs none.
    pub(super) fn begins_to_call(&mut self, now: Instant) {
        self.session.began = true;
        self.tell_state(now);
    }

    /// What a request of this method is to us.
    pub(super) fn kind_of(&self, method: &str) -> Kind {
        match method {
            "initialize" | "server/discover" if self.config.carry => Kind::Handshake,
            _ => Kind::Request,
        }
    }

    /// A call of the Client's says that its server may answer it by a task, where those are carried to their ends.
    pub(super) fn declare_tasks(&self, spec: CallSpec) -> CallSpec {
        if !self.config.carry || !self.config.tasks || spec.method != "tools/call" {
            return spec;
        }
        match field(&spec.params, &["_meta"]).map(meta_with_tasks) {
            Some(meta) => CallSpec { params: with_field(&spec.params, &["_meta"], &meta), ..spec },
            None => CallSpec { meta: meta_with_tasks(&spec.meta), ..spec },
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
                    if field(&text, &["result"]).is_some() {
                        self.begins_to_call(now);
                    }
                    return;
                };
                let leaves = self.is_ready() && self.session.identity() != Identity::default();
                self.end_trial(now);
                self.drop_handshake(now);
                self.session.forget();
                self.session.restorable = Restorable::default();
                self.session.agreed = Some(version.clone());
                let said = format!("{{{}}}", entry.request.content);
                let identity = entry.delivery.identity.as_ref();
                let facts = self.session.facts.edit();
                facts.era = Some(entry.request.dialect.era());
                facts.session_id = identity.and_then(|identity| identity.id.clone());
                facts.protocol_version = Some(version);
                facts.hello = Some(field(&said, &["params"]).unwrap_or_default().to_string());
                facts.greeting = Some(text);
                self.outputs.push_back(Output::Ready(*message));
                if leaves {
                    self.leave_session(now);
                }
                self.session.state = State::Ready;
                self.begins_to_call(now);
            }
            Settlement::Accepted if entry.request.kind == Kind::Terminate => {
                self.session.facts.edit().session_id = None;
            }
            _ => {}
        }
    }

    /// The Client's handshake is done when the server took its last word.
    pub(super) fn listen_if_confirmed(&mut self, now: Instant, entry: &Call) {
        let is_last =
            entry.request.kind == Kind::Notification && entry.request.method == "notifications/initialized";
        if is_last && self.config.carry && self.is_ready() {
            self.listen(now);
        }
    }

    /// What a message speaks that is about to be sent. A modern one needs no session, and says nothing of one.
    pub(super) fn hear_dialect(&mut self, dialect: &Dialect) {
        if *dialect == Dialect::Legacy {
            return;
        }
        self.session.dialect = dialect.clone();
        if self.session.agreed.is_none() && self.session.facts.era != Some(Era::Modern) {
            self.session.facts.edit().era = Some(Era::Modern);
        }
    }

    /// What asks whether the server lives, in the words of a Client's messages.
    pub(super) fn probe_entry(&self, now: Instant) -> Call {
        let Question { rpc, meta, dialect } = self.words().probe_with();
        let mut entry = self.entry(now, Kind::Probe, rpc, members(rpc, "", meta, None));
        entry.request.dialect = dialect;
        entry
    }

    /// The `_meta` and the dialect of a request of our own.
    pub(super) fn own_dialect(&self) -> (String, Dialect) {
        let Question { meta, dialect, .. } = self.words().probe_with();
        (meta.to_string(), dialect)
    }

    fn words(&self) -> &Dialect {
        match self.session.agreed {
            Some(_) => &Dialect::Legacy,
            None => &self.session.dialect,
        }
    }

    /// `MCP-Protocol-Version` of later messages, as the Client negotiated it.
    pub fn set_version(&mut self, now: Instant, version: &str) {
        self.begin(now);
        self.session.facts.edit().protocol_version = Some(version.to_string());
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
        self.begin(now);
        let entry = self.entry(now, Kind::Terminate, "DELETE", String::new());
        let call = self.open(entry);
        self.enqueue(now, call);
        call
    }

    /// The host ends a wait that it was given by [`Output::Schedule`]. A no-op where nothing waits for that.
    pub fn reconnect(&mut self, now: Instant, call: CallId) {
        self.begin(now);
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

    /// Begins a wait after so many barren attempts. The host ends the one before a resume, where it wants to.
    pub(super) fn arm_wait(&mut self, now: Instant, call: CallId, level: Level, barren: u32, wait: Duration) {
        let wants = self.config.scheduler && level == Level::L1;
        match self.stream(call).filter(|_| wants) {
            Some(stream) => {
                stream.scheduled = true;
                // It takes the place of the one before, of which our own clock may have had the rest.
                self.timers.stop(Owner::Call(call), Clock::Wait);
                self.outputs.push_back(Output::Schedule(call, wait, barren + 1));
            }
            None => self.timers.set(Owner::Call(call), Clock::Wait, now + wait),
        }
    }
}
