//! Whether the session lives: asks the machine of that name, and obeys.

use std::time::Duration;

use super::ladder::Loss;
use super::Client;
use crate::proto::era::Era;
use crate::proto::error::Reason;
use crate::proto::event::{DropCause, Settlement};
use crate::proto::facts::Identity;
use crate::proto::ledger::{members, Call, Kind};
use crate::proto::machines::dispatch::Ending;
use crate::proto::machines::liveness::{Pong, Proof, Trial, Verdict};
use crate::proto::machines::recovery::Happened;
use crate::proto::machines::redirect::Hop;
use crate::proto::session::State;
use crate::proto::stream::{Headers, Phase};
use crate::proto::time::Instant;
use crate::proto::timer::{Clock, Owner};
use crate::proto::CallId;

/// The wait for a DELETE.
const CLOSE_WAIT: Duration = Duration::from_secs(2);

impl Client {
    /// Asks by `ping` whether the session lives; one question for all calls.
    pub(super) fn ask_session(&mut self, now: Instant) {
        if !self.session.liveness.may_ask() || !self.is_ready() {
            return;
        }
        self.timers.stop(Owner::Session, Clock::Connect);
        let entry = self.probe_entry(now);
        self.stats.probes.asked += 1;
        let probe = self.open(entry);
        self.session.liveness.asks(now, probe);
        self.post(now, probe);
    }

    /// A ping is over. If the session is dead, its calls have been settled before.
    pub(super) fn on_probed(&mut self, now: Instant, settlement: &Settlement) {
        if !self.is_ready() {
            return;
        }
        let probes = &mut self.stats.probes;
        *match settlement {
            Settlement::Result { .. } => &mut probes.answered,
            Settlement::Failed(failure) if failure.reason == Reason::ConnectTimeout => &mut probes.timed_out,
            _ => &mut probes.refused,
        } += 1;
        let is_late =
            matches!(settlement, Settlement::Failed(failure) if failure.reason == Reason::ConnectTimeout);
        // The one stream that brings answers brings none, and no call waits for what it may still bring.
        if is_late && self.session.dialect.answers_elsewhere() && !self.may_be_busy() {
            return self.session_died(now);
        }
        let pong = Pong::of(settlement, self.may_be_busy());
        let may_try = self.may_try(now);
        match self.session.liveness.heard(now, pong, self.config.timeouts.connect, may_try) {
            Verdict::Dead => self.session_died(now),
            Verdict::AskAt(at) => self.ask_at(now, at),
            Verdict::Try => self.begin_trial(now),
            verdict @ (Verdict::Alive | Verdict::CutOff | Verdict::Unknown { .. }) => {
                if let Verdict::Unknown { ask_at: Some(at) } = verdict {
                    self.ask_at(now, at);
                }
                self.end_trial(now);
                self.tell(now, verdict);
            }
        }
    }

    fn may_be_busy(&self) -> bool {
        let is_open = |entry: &Call| {
            let phase = entry.lineage.stream.as_ref().map(|stream| &stream.phase);
            let is_open = entry.lineage.earlier.is_some()
                || matches!(phase, Some(Phase::Posting(_) | Phase::Reading(..) | Phase::Elsewhere));
            entry.request.kind == Kind::Request && is_open
        };
        self.ledger.calls().into_iter().any(|call| self.ledger.peek(call).is_some_and(is_open))
    }

    fn may_try(&mut self, now: Instant) -> bool {
        self.config.replace_session
            && (!self.config.carry || self.session.agreed.is_some())
            && self.session.facts.session_id.is_some()
            && self.session.handshake.wait(now).is_zero()
    }

    fn ask_at(&mut self, now: Instant, at: Instant) {
        self.timers.set(Owner::Session, Clock::Connect, at.max(now));
    }

    /// Whether it is being found out if the session lives.
    pub(super) fn is_undecided(&self) -> bool {
        self.session.liveness.is_trying() || self.timers.at(Owner::Session, Clock::Connect).is_some()
    }

    /// What is known of the session is told to the calls that wait for it.
    fn tell(&mut self, now: Instant, verdict: Verdict) {
        let is_alive = verdict == Verdict::Alive;
        if is_alive {
            self.judge_rejected_resumes(now);
        }
        for call in self.ledger.calls() {
            let listens = self.session.listen == Some(call);
            let Some(stream) = self.stream(call) else { continue };
            if stream.headers().is_some_and(|headers| *headers == Headers::AskedFor) {
                self.on_headers_asked(now, call, is_alive);
            } else if matches!(stream.phase, Phase::Asking) && listens {
                self.on_listen_asked(now, call, is_alive);
            } else if matches!(stream.phase, Phase::Asking) {
                // A store shared by several servers may lag: the cursor is tried once more.
                stream.refused = is_alive;
                self.happens(now, call, Happened::Asked, Loss::new(DropCause::Network, ""));
            } else if is_alive && !stream.is_open() {
                let text = "its stream could not be resumed though the session lives";
                self.happens(now, call, Happened::Lives, Loss::new(DropCause::Status, text));
            } else if stream.race.is_silent() && stream.race.exchange().is_none() {
                self.on_silence_judged(now, call, verdict);
            }
        }
        self.send_queued(now);
    }

    /// The session was asked about a silent stream.
    fn on_silence_judged(&mut self, now: Instant, call: CallId, verdict: Verdict) {
        match verdict {
            Verdict::Alive => {
                let Some(stream) = self.stream(call) else { return };
                stream.race.lives();
                self.rearm_idle(now, call);
                self.set_clocks(now, call);
            }
            Verdict::CutOff => self.give_up_silent(now, call),
            // A server that works for this very call may answer nothing else: its body stays open, and `recoveryMs` runs.
            _ => {}
        }
    }

    fn begin_trial(&mut self, now: Instant) {
        let call = self.number();
        self.session.liveness.tries(call);
        self.open_initialize(now, call);
        self.post(now, call);
    }

    /// The server answered the trial's `initialize`. One that answers no pings at all says nothing by that: the session
    /// that it offers is asked first.
    pub(super) fn on_trial_answer(&mut self, now: Instant, text: String, identity: Identity) {
        self.session.liveness.take_trial();
        match self.read_offer(text, identity.clone()) {
            Ok(offer) if self.session.liveness.wants_proof() => {
                let mut entry = self.entry(now, Kind::Probe, "ping", members("ping", "", "", None));
                entry.delivery.identity = Some(offer.identity.clone());
                let ping = self.open(entry);
                self.session.liveness.proves(ping, offer);
                self.post(now, ping);
            }
            _ => {
                self.give_back(now, identity);
                self.on_no_verdict(now);
            }
        }
    }

    pub(super) fn on_trial_failed(&mut self, now: Instant, call: CallId) {
        self.session.liveness.take_trial();
        if let Some(entry) = self.release(now, call) {
            self.give_back(now, entry.delivery.identity.unwrap_or_default());
        }
        self.on_no_verdict(now);
    }

    /// The ping in the offered session is over.
    pub(super) fn on_trial_pinged(&mut self, now: Instant, call: CallId, settlement: &Settlement) {
        match self.session.liveness.proven(call, matches!(settlement, Settlement::Result { .. })) {
            Some(Proof::Well) => self.ask_session(now),
            Some(Proof::None(offer)) => {
                self.give_back(now, offer.identity);
                self.on_no_verdict(now);
            }
            None => {}
        }
    }

    /// The trial proved nothing: the calls go on as after any probe that failed.
    fn on_no_verdict(&mut self, now: Instant) {
        if self.is_ready() {
            let verdict = self.session.liveness.no_verdict();
            self.tell(now, verdict);
        }
    }

    /// What was begun beside the session is not needed.
    pub(super) fn end_trial(&mut self, now: Instant) {
        let (call, offer) = match self.session.liveness.take_trial() {
            None => return,
            Some(Trial::Initializing(call)) => (Some(call), None),
            Some(Trial::Pinging(ping, offer)) => (Some(ping), Some(offer)),
            Some(Trial::Proven(offer)) => (None, Some(offer)),
        };
        let identity =
            call.and_then(|call| self.release(now, call)).and_then(|entry| entry.delivery.identity);
        self.give_back(now, offer.map(|offer| offer.identity).or(identity).unwrap_or_default());
    }

    /// Begins the session that replaces a dead one, after a wait: with what a trial has of it already.
    pub(super) fn begin_session(&mut self, now: Instant, wait: Duration) {
        match self.session.liveness.take_trial() {
            None => {
                let call = self.number();
                self.session.state = State::Initializing;
                self.session.handshake.sends(call);
                let probe = self.session.detection.begins(self.session.facts.era);
                self.open_probe(now, call, probe);
                match wait.is_zero() {
                    true => self.send_probe(now, call),
                    false => self.timers.set(Owner::Call(call), Clock::Wait, now + wait),
                }
            }
            Some(Trial::Initializing(call)) => {
                self.session.state = State::Initializing;
                self.session.detection.begins(Some(Era::Legacy));
                self.session.handshake.sends(call);
            }
            Some(Trial::Pinging(_, offer) | Trial::Proven(offer)) => {
                self.session.handshake.by = now + self.config.timeouts.handshake;
                self.adopt(now, offer, None);
            }
        }
    }

    /// Ends a session that is not used. Nobody waits for the answer.
    pub(super) fn give_back(&mut self, now: Instant, identity: Identity) {
        if identity.id.is_none() {
            return;
        }
        self.delete(Ending { identity, redirects: 0 }, Hop::default());
        self.timers.set(Owner::Session, Clock::Close, now + CLOSE_WAIT);
    }

    /// A DELETE was answered, or failed.
    pub(super) fn on_delete_over(&mut self, now: Instant) {
        if !self.dispatch.is_ending() {
            self.timers.stop(Owner::Session, Clock::Close);
            self.finish_close(now);
        }
    }

    /// A DELETE took too long.
    pub(super) fn on_delete_timeout(&mut self, now: Instant) {
        for exchange in self.dispatch.open() {
            if self.dispatch.ending(exchange).is_some() {
                self.abort(exchange);
            }
        }
        self.finish_close(now);
    }
}
