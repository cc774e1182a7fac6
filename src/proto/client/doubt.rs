//! Doubt: streams that fell silent, sessions that may be dead, and the questions that settle it.

use std::time::Duration;

use super::recover::FAILURES_TO_ASK;
use super::Client;
use crate::proto::error::Reason;
use crate::proto::event::{AttemptResult, DropCause, Event, Level, Settlement};
use crate::proto::http::{header_value, Method, ResponseHead};
use crate::proto::ledger::{Entry, Kind};
use crate::proto::session::Trial;
use crate::proto::sse::Item;
use crate::proto::stream::{Body, Events, Phase, Rival};
use crate::proto::time::{millis, Instant};
use crate::proto::timer::{Clock, Owner};
use crate::proto::{CallId, ExchangeId};

/// A silent stream of a living session gets this many times its `idleMs` at most.
const MOST_PATIENCE: u32 = 4;

/// What asking the session brought.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// It lives.
    Answered,
    /// The network refused the question.
    Unanswered,
    /// The question failed though somebody is there.
    Failed,
    /// Nothing is known.
    Unknown,
}

impl Client {
    /// No byte within `idleMs`. With a cursor, a resume is opened beside the silent body; without, the session is asked.
    pub(super) fn on_idle(&mut self, now: Instant, call: CallId) {
        let silent_ms = millis(self.patience(call));
        let free = self.free_slots();
        let Some(entry) = self.ledger.get(call) else { return };
        let is_request = entry.kind == Kind::Request;
        let Some(stream) = entry.stream.as_mut() else { return };
        let Phase::Reading(exchange, body) = &stream.phase else { return };
        let exchange = *exchange;
        let resumable = matches!(body, Body::Events(_)) && stream.cursor().is_some();
        if matches!(body, Body::Refusal(..)) || (resumable && (!is_request || free == 0)) {
            self.abort(exchange);
            self.on_body_over(now, call, DropCause::Idle);
            return self.send_queued(now);
        }
        stream.suspect = true;
        self.set_clocks(now, call);
        self.call_event(now, call, Event::Suspect { silent_ms });
        if resumable {
            let wait = self.stream(call).map_or(Duration::ZERO, |stream| stream.not_before.since(now));
            self.plan(now, call, Level::L1, wait);
            self.announce(now, call, Level::L1, 1, wait);
        } else if is_request {
            self.ask_session(now);
        }
    }

    /// `idleMs` of a stream: doubled each time the session answered for it.
    pub(super) fn patience(&mut self, call: CallId) -> Duration {
        let Some(entry) = self.ledger.get(call) else { return Duration::ZERO };
        entry.timeouts.idle * entry.stream.as_ref().map_or(1, |stream| stream.patience)
    }

    /// Bytes came on the body that was suspect: it lives, and whoever raced it gives up.
    pub(super) fn cleared(&mut self, now: Instant, call: CallId) {
        let Some(entry) = self.ledger.get(call) else { return };
        if let Some(stream) = entry.stream.as_mut() {
            if std::mem::take(&mut stream.suspect) {
                entry.planned = None;
                self.timers.stop(Owner::Call(call), Clock::Wait);
                self.session.outage.unpark(call);
                self.stop_race(call);
                self.set_clocks(now, call);
            }
        }
    }

    /// Opens a resume beside the silent body: the first to bring data wins.
    pub(super) fn race(&mut self, now: Instant, call: CallId) {
        let Some(stream) = self.stream(call).filter(|stream| stream.suspect && stream.rival.is_none()) else {
            return;
        };
        let Some(cursor) = stream.cursor().and_then(header_value) else { return };
        if self.free_slots() == 0 {
            return self.give_up_silent(now, call);
        }
        self.stats.resumes.tried += 1;
        if let Some(stream) = self.stream(call) {
            stream.last_get = Some(now);
        }
        let exchange = self.transmit(call, Method::Get, Some(cursor), None);
        if let Some(stream) = self.stream(call) {
            stream.rival = Some(Rival { exchange, decoder: None, bytes: Vec::new(), moved: false });
        }
        self.note_attempt(now, call);
        self.arm_connect(now, call);
    }

    pub(super) fn rival(&mut self, call: CallId) -> Option<ExchangeId> {
        self.stream(call)?.rival.as_ref().map(|rival| rival.exchange)
    }

    /// Ends the race, and the old body is kept. What the rival brought goes with it: ids without data, from behind the
    /// cursor. To take them over could lose what the old body still brings; without them a resume asks from further
    /// back, and what it repeats is dropped.
    pub(super) fn stop_race(&mut self, call: CallId) {
        if let Some(rival) = self.stream(call).and_then(|stream| stream.rival.take()) {
            self.timers.stop(Owner::Call(call), Clock::Connect);
            self.abort(rival.exchange);
        }
    }

    pub(super) fn on_rival_head(&mut self, now: Instant, call: CallId, head: &ResponseHead) {
        self.timers.stop(Owner::Call(call), Clock::Connect);
        if self.turns(call, head) {
            self.stop_race(call);
            return self.race(now, call);
        }
        let elsewhere = head.redirect.as_ref().is_some_and(|redirect| !redirect.same_origin);
        let opened = head.is_success() && head.is_event_stream() && !elsewhere;
        if let Some(attempt) = self.last_attempt(call) {
            attempt.status = Some(head.status);
            attempt.result = if opened { AttemptResult::Empty } else { AttemptResult::Refused };
        }
        if !opened {
            self.stop_race(call);
            self.stats.on_refused(head.status);
            self.note_retry_after(now, call, head);
            return match head.status {
                409 => self.give_up_silent(now, call),
                408 | 425 | 429 | 500 | 502..=599 => self.plan_race(now, call),
                _ => self.ask_session(now), // It may be dead; else the old body is kept.
            };
        }
        self.session.failed_probes = 0;
        let decoder = self.decoder();
        if let Some(rival) = self.stream(call).and_then(|stream| stream.rival.as_mut()) {
            rival.decoder = Some(decoder);
            let exchange = rival.exchange;
            self.outputs.push_back(super::Output::Read(exchange, true));
        }
    }

    /// Keeps the rival's bytes until they hold data: then it wins, and they are read as a resume.
    pub(super) fn on_rival_body(&mut self, now: Instant, call: CallId, bytes: &[u8]) {
        let most = self.config.max_event_bytes;
        let Some(stream) = self.stream(call) else { return };
        let Some(rival) = stream.rival.as_mut() else { return };
        let Some(decoder) = rival.decoder.as_mut() else { return };
        let (mut has_data, mut moved) = (false, false);
        let fed = decoder.feed(bytes, &mut |item| {
            has_data |= matches!(item, Item::Event { data, .. } if !data.is_empty());
            moved |= matches!(item, Item::Id(_) | Item::Event { own_id: true, .. });
            std::ops::ControlFlow::Continue(())
        });
        rival.bytes.extend_from_slice(bytes);
        rival.moved |= moved;
        if has_data || fed.is_err() || rival.bytes.len() > most {
            self.give_up_silent(now, call);
        }
    }

    /// The old body is over: the rival is the call's stream now, with all that it brought.
    pub(super) fn promote(&mut self, now: Instant, call: CallId, rival: Rival) {
        let events = rival.decoder.map(|_| Box::new(Events::new(now, self.decoder(), true)));
        let Some(stream) = self.stream(call) else { return };
        stream.paused = false;
        let Some(events) = events else {
            stream.phase = Phase::Resuming(rival.exchange);
            return self.set_clocks(now, call);
        };
        stream.phase = Phase::Reading(rival.exchange, Body::Events(events));
        stream.gaps.resumed();
        self.rearm_idle(now, call);
        self.set_clocks(now, call);
        self.feed(now, call, rival.exchange, &rival.bytes);
    }

    /// The rival ended without data. One that moved the cursor was closed politely, and is read like any such stream; an
    /// empty one means that the server still holds the old body.
    pub(super) fn on_rival_end(&mut self, now: Instant, call: CallId) {
        let Some(rival) = self.stream(call).and_then(|stream| stream.rival.as_ref()) else { return };
        let (exchange, moved) = (rival.exchange, rival.moved);
        if !moved {
            self.stop_race(call);
            return self.give_up_silent(now, call);
        }
        self.give_up_silent(now, call);
        self.exchanges.remove(&exchange);
        self.on_body_over(now, call, DropCause::End);
        self.send_queued(now);
    }

    /// The rival got no HTTP answer: another try, while `recoveryMs` allows.
    pub(super) fn on_rival_unanswered(&mut self, now: Instant, call: CallId, result: AttemptResult) {
        self.stop_race(call);
        if let Some(attempt) = self.last_attempt(call) {
            attempt.result = result;
        }
        self.plan_race(now, call);
    }

    /// Plans another resume beside the silent body.
    fn plan_race(&mut self, now: Instant, call: CallId) {
        let Some(stream) = self.stream(call) else { return };
        stream.misses += 1;
        stream.barren += 1;
        let (misses, floor) = (stream.misses, stream.not_before.since(now));
        let wait = self.own_wait(call, misses).max(floor);
        if !floor.is_zero() && self.passes_budget(now, call, floor) {
            return; // The old body is waited for.
        }
        self.plan(now, call, Level::L1, wait);
        self.announce(now, call, Level::L1, misses + 1, wait);
    }

    /// The silent body is given up: what follows is what follows any drop.
    fn give_up_silent(&mut self, now: Instant, call: CallId) {
        let Some(Phase::Reading(exchange, _)) = self.stream(call).map(|stream| &stream.phase) else { return };
        let exchange = *exchange;
        self.abort(exchange);
        self.on_body_over(now, call, DropCause::Idle);
        self.send_queued(now);
    }

    /// Asks by `ping` whether the session lives; one question for all calls.
    pub(super) fn ask_session(&mut self, now: Instant) {
        let is_tried = matches!(self.session.trial, Some(Trial::Initializing(_) | Trial::Pinging(..)));
        if self.session.probe.is_some() || is_tried || !self.is_ready() {
            return;
        }
        self.timers.stop(Owner::Session, Clock::Connect);
        let entry = self.probe_entry(now);
        self.stats.probes.asked += 1;
        let probe = self.open(entry);
        self.session.probe = Some(probe);
        self.session.asked_at = now;
        self.post(now, probe);
    }

    /// The session answered, or nothing is known. If it is dead, its calls have been settled before.
    pub(super) fn on_probed(&mut self, now: Instant, settlement: &Settlement) {
        self.session.probe = None;
        if !self.is_ready() {
            return;
        }
        let probes = &mut self.stats.probes;
        *match settlement {
            Settlement::Result { .. } => &mut probes.answered,
            Settlement::Failed(failure) if failure.reason == Reason::ConnectTimeout => &mut probes.timed_out,
            _ => &mut probes.refused,
        } += 1;
        let asked = self.read_probe(settlement);
        let unanswered_twice =
            std::mem::replace(&mut self.session.probe_unanswered, asked == Asked::Unanswered);
        if asked == Asked::Unanswered && !unanswered_twice {
            self.plan_probe(now);
        }
        if !self.weigh(now, asked) {
            self.tell_asked(now, asked, unanswered_twice);
        }
    }

    fn read_probe(&self, settlement: &Settlement) -> Asked {
        let Settlement::Failed(failure) = settlement else { return Asked::Answered };
        match (failure.reason, failure.diagnostics.last_status) {
            (Reason::NetworkError, _) => Asked::Unanswered,
            // Whoever works for a call may be too busy for a ping.
            (Reason::ConnectTimeout, _) | (_, Some(408 | 504)) if self.may_be_busy() => Asked::Unknown,
            (Reason::StreamLost, _) | (_, Some(409 | 429 | 503)) => Asked::Unknown,
            _ => Asked::Failed,
        }
    }

    fn may_be_busy(&self) -> bool {
        let is_open = |entry: &Entry| {
            let phase = entry.stream.as_ref().map(|stream| &stream.phase);
            let is_open =
                entry.earlier.is_some() || matches!(phase, Some(Phase::Posting(_) | Phase::Reading(..)));
            entry.kind == Kind::Request && is_open
        };
        self.ledger.calls().into_iter().any(|call| self.ledger.peek(call).is_some_and(is_open))
    }

    /// The session is asked again, `connectMs` after the last time.
    pub(super) fn plan_probe(&mut self, now: Instant) {
        let at = self.session.asked_at + self.config.timeouts.connect;
        self.timers.set(Owner::Session, Clock::Connect, at.max(now));
    }

    /// What was asked is told to the calls that wait for it.
    pub(super) fn tell_asked(&mut self, now: Instant, asked: Asked, unanswered_twice: bool) {
        self.session.suspect = false;
        if asked == Asked::Answered {
            self.judge_rejected_resumes(now);
        }
        for call in self.ledger.calls() {
            let Some(stream) = self.stream(call) else { continue };
            if matches!(stream.phase, Phase::Asking) {
                // A store shared by several servers may lag: the cursor is tried once more.
                stream.refused = asked == Asked::Answered;
                stream.barren += 1;
                self.wait(now, call, false);
            } else if asked == Asked::Answered && stream.failures >= FAILURES_TO_ASK && !stream.is_open() {
                self.on_resumes_failed(now, call);
            } else if stream.suspect && stream.rival.is_none() {
                self.on_silent_asked(now, call, asked, unanswered_twice);
            }
        }
        self.send_queued(now);
    }

    /// The session lives, and resumes fail all the same: a call that may be sent again is not kept waiting.
    fn on_resumes_failed(&mut self, now: Instant, call: CallId) {
        if self.may_reissue(now, call) {
            let text = "its stream could not be resumed though the session lives";
            self.lost(now, call, Reason::RecoveryExhausted, DropCause::Status.into(), text, None);
        }
    }

    /// The session was asked about a silent stream.
    fn on_silent_asked(&mut self, now: Instant, call: CallId, asked: Asked, unanswered_twice: bool) {
        match asked {
            Asked::Answered => {
                let Some(stream) = self.stream(call) else { return };
                stream.suspect = false;
                stream.patience = (stream.patience * 2).min(MOST_PATIENCE);
                self.rearm_idle(now, call);
                self.set_clocks(now, call);
            }
            Asked::Unanswered if unanswered_twice => self.give_up_silent(now, call),
            // A server that works for this very call may answer nothing else: its body stays open, and `recoveryMs` runs.
            Asked::Unanswered | Asked::Failed | Asked::Unknown => {}
        }
    }
}
