//! A trial: where pings fail, a handshake beside the session tells whether the server is unwell, or the session dead.
//!
//! Nothing happens to the calls until it is decided, and a session that lives is not replaced: what was begun beside it
//! is given back.

use std::time::Duration;

use super::doubt::Asked;
use super::handshake::CLOSE_WAIT;
use super::{Client, Purpose};
use crate::proto::event::Settlement;
use crate::proto::http::{HttpRequest, Method};
use crate::proto::ledger::{members, Kind};
use crate::proto::session::{Identity, State, Trial};
use crate::proto::time::Instant;
use crate::proto::timer::{Clock, Owner};
use crate::proto::CallId;

/// So many pings in a row fail before a handshake is tried.
const PROBES_TO_TRY: u32 = 2;
/// Between two trials, at least.
const SPACING: Duration = Duration::from_secs(60);

impl Client {
    /// Weighs what a probe brought. Whether nothing can be said to the calls yet, or all is said: the session died.
    pub(super) fn weigh(&mut self, now: Instant, asked: Asked) -> bool {
        let failed = asked == Asked::Failed;
        let again = std::mem::take(&mut self.session.asks_again);
        match asked {
            Asked::Answered => self.session.failed_probes = 0,
            Asked::Failed => self.session.failed_probes += 1,
            Asked::Unanswered | Asked::Unknown => {}
        }
        let count = self.session.failed_probes;
        if self.session.trial.is_some() {
            let dead = failed && count > PROBES_TO_TRY;
            match dead {
                true => self.session_died(now),
                false => self.end_trial(now),
            }
            return dead;
        }
        if !failed || !self.may_try(now) {
            return false;
        }
        if count >= PROBES_TO_TRY {
            self.begin_trial(now);
        } else if again {
            return false; // The session took a request meanwhile: it was no second failure in a row.
        } else {
            self.session.asks_again = true;
            self.plan_probe(now);
        }
        true
    }

    /// Whether it is being found out if the session lives.
    pub(super) fn is_undecided(&self) -> bool {
        self.session.trial.is_some() || self.timers.at(Owner::Session, Clock::Connect).is_some()
    }

    fn may_try(&mut self, now: Instant) -> bool {
        self.config.replace_session
            && (self.config.carry.is_none() || self.session.hello.is_some())
            && self.session.id.is_some()
            && self.session.next_trial <= now
            && self.session.may_replace(now)
    }

    fn begin_trial(&mut self, now: Instant) {
        self.session.next_trial = now + SPACING;
        let call = self.number();
        self.session.trial = Some(Trial::Initializing(call));
        self.initialize(now, call);
    }

    fn number(&mut self) -> CallId {
        let call = CallId(self.next_call);
        self.next_call += 1;
        call
    }

    /// Whether this call is the `initialize` of a trial.
    pub(super) fn is_trial(&self, call: CallId) -> bool {
        matches!(self.session.trial, Some(Trial::Initializing(trial)) if trial == call)
    }

    /// The server answered the trial's `initialize`. One that answers no pings at all says nothing by that: the session
    /// that it offers is asked first.
    pub(super) fn on_trial_answer(&mut self, now: Instant, text: String, identity: Identity) {
        self.session.trial = None;
        let in_doubt = self.session.failed_probes >= PROBES_TO_TRY;
        match self.read_offer(text, identity.clone()) {
            Ok(offer) if in_doubt => {
                let mut entry = self.entry(now, Kind::Probe, "ping", members("ping", "", "", None));
                entry.identity = Some(offer.identity.clone());
                let ping = self.open(entry);
                self.session.trial = Some(Trial::Pinging(ping, offer));
                self.post(now, ping);
            }
            _ => {
                self.give_back(now, identity);
                self.on_no_verdict(now);
            }
        }
    }

    pub(super) fn on_trial_failed(&mut self, now: Instant, call: CallId) {
        self.session.trial = None;
        if let Some(entry) = self.release(now, call) {
            self.give_back(now, entry.identity.unwrap_or_default());
        }
        self.on_no_verdict(now);
    }

    /// The ping in the offered session is over.
    pub(super) fn on_trial_pinged(&mut self, now: Instant, call: CallId, settlement: &Settlement) {
        if !matches!(self.session.trial, Some(Trial::Pinging(ping, _)) if ping == call) {
            return;
        }
        let Some(Trial::Pinging(_, offer)) = self.session.trial.take() else { return };
        if matches!(settlement, Settlement::Result { .. }) {
            self.session.trial = Some(Trial::Proven(offer));
            return self.ask_session(now);
        }
        self.give_back(now, offer.identity);
        self.on_no_verdict(now);
    }

    /// The trial proved nothing: the calls go on as after any probe that failed.
    fn on_no_verdict(&mut self, now: Instant) {
        if self.is_ready() {
            self.tell_asked(now, Asked::Unknown, false);
        }
    }

    /// What was begun beside the session is not needed.
    pub(super) fn end_trial(&mut self, now: Instant) {
        let (call, offer) = match self.session.trial.take() {
            None => return,
            Some(Trial::Initializing(call)) => (Some(call), None),
            Some(Trial::Pinging(ping, offer)) => (Some(ping), Some(offer)),
            Some(Trial::Proven(offer)) => (None, Some(offer)),
        };
        let identity = call.and_then(|call| self.release(now, call)).and_then(|entry| entry.identity);
        self.give_back(now, offer.map(|offer| offer.identity).or(identity).unwrap_or_default());
    }

    /// Begins the session that replaces a dead one: with what a trial has of it already.
    pub(super) fn begin_session(&mut self, now: Instant) {
        match self.session.trial.take() {
            None => {
                let call = self.number();
                self.session.state = State::Initializing;
                self.initialize(now, call);
            }
            Some(Trial::Initializing(_)) => self.session.state = State::Initializing,
            Some(Trial::Pinging(_, offer) | Trial::Proven(offer)) => {
                self.session.handshake_by = now + self.config.timeouts.handshake;
                self.adopt(now, offer);
            }
        }
    }

    /// Ends a session that was only tried. Nobody waits for the answer.
    fn give_back(&mut self, now: Instant, identity: Identity) {
        if identity.id.is_none() {
            return;
        }
        let headers = Self::headers(Method::Delete, identity);
        let request = HttpRequest { call: None, url: None, method: Method::Delete, headers, body: None };
        self.launch(Purpose::GiveBack, request);
        self.timers.set(Owner::Session, Clock::Close, now + CLOSE_WAIT);
    }

    /// A DELETE was answered, or failed.
    pub(super) fn on_delete_over(&mut self, now: Instant, purpose: Purpose) {
        if purpose == Purpose::Close {
            self.finish_close(now);
        } else if !self.session.is_over() {
            self.timers.stop(Owner::Session, Clock::Close);
        }
    }

    /// A DELETE took too long.
    pub(super) fn on_delete_timeout(&mut self, now: Instant) {
        let given_back = self.exchanges.iter().filter(|(_, purpose)| **purpose == Purpose::GiveBack);
        for exchange in given_back.map(|(exchange, _)| *exchange).collect::<Vec<_>>() {
            self.abort(exchange);
        }
        self.finish_close(now);
    }
}
