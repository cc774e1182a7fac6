//! Streams that fell silent, and the resumes that are opened beside them: asks the machine of that name, and obeys.

use std::time::Duration;

use super::ladder::Loss;
use super::{Client, Output};
use crate::proto::event::{AttemptResult, DropCause, Event, Level};
use crate::proto::http::{header_value, Method, ResponseHead};
use crate::proto::machines::race::{Hedge, Stage, Standing};
use crate::proto::machines::recovery::{self, Happened, Open, Pace, Step};
use crate::proto::machines::redirect::{Hop, Verdict};
use crate::proto::stream::{Body, Events, Phase};
use crate::proto::time::{millis, Instant};
use crate::proto::timer::{Clock, Owner};
use crate::proto::{CallId, ExchangeId};

impl Client {
    /// No byte within `idleMs`. With a cursor, a resume is opened beside the silent body; without, the session is asked.
    pub(super) fn on_idle(&mut self, now: Instant, call: CallId) {
        // The resume beside it brings nothing, either: the server may have gone on elsewhere since it was opened.
        if self.stream(call).is_some_and(|stream| stream.race.is_open()) {
            self.stop_race(call);
            self.stream(call).into_iter().for_each(|stream| stream.race.bears());
        }
        let silent_ms = millis(self.patience(call));
        let free = self.dispatch.free() > 0;
        let Some(known) = self.known(now, call) else { return };
        let step = recovery::next(Happened::Silent { free }, &known);
        if step != Step::GiveUp && known.body == Open::Answer {
            let Some(stream) = self.stream(call) else { return };
            if !stream.race.is_silent() {
                stream.race.falls_silent();
                self.set_clocks(now, call);
                self.call_event(now, call, Event::Suspect { silent_ms });
            }
        }
        self.obey(now, call, step, &known, Loss::new(DropCause::Idle, ""));
    }

    /// `idleMs` of a stream: doubled each time the session answered for it.
    pub(super) fn patience(&mut self, call: CallId) -> Duration {
        let Some(entry) = self.ledger.get(call) else { return Duration::ZERO };
        let idle = entry.request.timeouts.idle;
        entry.lineage.stream.as_ref().map_or(idle, |stream| stream.race.patience(idle))
    }

    /// Bytes came on the body that was suspect: it lives, and whoever raced it gives up.
    pub(super) fn cleared(&mut self, now: Instant, call: CallId) {
        if !self.stream(call).is_some_and(|stream| stream.race.is_silent()) {
            return;
        }
        self.end_race(call);
        self.set_clocks(now, call);
    }

    /// The body is not suspect any more: no resume is made beside it.
    pub(super) fn end_race(&mut self, call: CallId) {
        self.stop_race(call);
        self.timers.stop(Owner::Call(call), Clock::Wait);
        self.session.outage.unpark(call);
        if let Some(entry) = self.ledger.get(call) {
            entry.lineage.planned = None;
            entry.lineage.stream.as_mut().map(|stream| stream.race.ends());
        }
    }

    /// Opens a resume beside the silent body: the first to bring data wins.
    pub(super) fn race(&mut self, now: Instant, call: CallId) {
        self.race_at(now, call, Hop::default());
    }

    fn race_at(&mut self, now: Instant, call: CallId, hop: Hop) {
        let Some(stream) = self.stream(call).filter(|stream| stream.race.may_begin()) else { return };
        let Some(cursor) = stream.cursor().and_then(header_value) else { return };
        if self.dispatch.free() == 0 {
            // A body that is not suspect is worth more than its resume.
            if self.stream(call).is_some_and(|stream| stream.race.is_silent()) {
                self.give_up_silent(now, call);
            }
            return;
        }
        self.stats.resumes.tried += 1;
        if let Some(stream) = self.stream(call) {
            stream.last_get = Some(now);
        }
        let exchange = self.transmit(call, hop, Method::Get, Some(cursor), None);
        if let Some(stream) = self.stream(call) {
            stream.race.begins(exchange);
        }
        self.note_attempt(now, call);
        self.arm_connect(now, call);
    }

    /// Whether this exchange is the resume beside the call's silent body.
    pub(super) fn is_hedge(&mut self, call: CallId, exchange: ExchangeId) -> bool {
        self.stream(call).is_some_and(|stream| stream.race.exchange() == Some(exchange))
    }

    /// Gives the resume up; the old body is kept.
    pub(super) fn stop_race(&mut self, call: CallId) {
        if let Some(exchange) = self.stream(call).and_then(|stream| stream.race.stop()) {
            self.timers.stop(Owner::Call(call), Clock::Connect);
            if self.stream(call).is_some_and(|stream| stream.race.is_silent()) {
                self.timers.stop(Owner::Call(call), Clock::Idle);
            }
            self.abort(exchange);
        }
    }

    pub(super) fn on_hedge_head(
        &mut self,
        now: Instant,
        call: CallId,
        exchange: ExchangeId,
        head: &ResponseHead,
    ) {
        self.timers.stop(Owner::Call(call), Clock::Connect);
        let verdict = self.judge_redirect(call, head);
        if let Verdict::Follow(hop) = verdict {
            self.stop_race(call);
            return self.race_at(now, call, hop);
        }
        let decoder = self.decoder();
        let Some(stream) = self.stream(call) else { return };
        let standing = stream.race.head(head, &verdict, decoder);
        let opened = standing == Standing::Open;
        if let Some(attempt) = self.last_attempt(call) {
            attempt.status = Some(head.status);
            attempt.result = if opened { AttemptResult::Empty } else { AttemptResult::Refused };
        }
        if opened {
            self.call_event(now, call, Event::Open { status: head.status });
            self.session.liveness.accepted();
            if self.stream(call).is_some_and(|stream| stream.race.is_silent()) {
                self.rearm_idle(now, call);
            }
            return self.outputs.push_back(Output::Read(exchange, true));
        }
        self.stop_race(call);
        self.stats.on_refused(head.status);
        self.note_retry_after(now, call, head);
        if standing == Standing::Lost && self.reauthorize(now, call, head, None).is_ok() {
            return;
        }
        self.on_standing(now, call, standing);
    }

    pub(super) fn on_hedge_body(&mut self, now: Instant, call: CallId, bytes: &[u8]) {
        let most = self.config.max_event_bytes;
        let Some(stream) = self.stream(call) else { return };
        let standing = stream.race.body(bytes, most);
        self.on_standing(now, call, standing);
    }

    pub(super) fn on_hedge_end(&mut self, now: Instant, call: CallId, exchange: ExchangeId) {
        let Some(entry) = self.ledger.get(call) else { return };
        let idle = entry.request.timeouts.idle;
        let Some(stream) = entry.lineage.stream.as_mut() else { return };
        // A body of which bytes come is not given up for an id.
        let standing = match stream.race.end() {
            Standing::WonAndOver if now.since(stream.fed_at) < idle => Standing::Held,
            standing => standing,
        };
        if standing == Standing::Held {
            self.stop_race(call);
        }
        self.on_standing(now, call, standing);
        if standing == Standing::WonAndOver {
            self.dispatch.over(exchange);
            self.on_body_over(now, call, DropCause::End);
            self.send_queued(now);
        }
    }

    /// The resume got no HTTP answer.
    pub(super) fn on_hedge_unanswered(&mut self, now: Instant, call: CallId, result: AttemptResult) {
        if !self.stream(call).is_some_and(|stream| stream.race.is_open()) {
            self.unanswered(now, None);
        }
        self.stop_race(call);
        if let Some(attempt) = self.last_attempt(call) {
            attempt.result = result;
        }
        self.on_standing(now, call, Standing::Again);
    }

    fn on_standing(&mut self, now: Instant, call: CallId, standing: Standing) {
        let Some(entry) = self.ledger.get(call) else { return };
        let idle = entry.request.timeouts.idle;
        let Some(stream) = entry.lineage.stream.as_mut() else { return };
        match standing {
            Standing::Open => {}
            // It was the last word before the end of `callMs`, about a body that is not suspect.
            Standing::Held | Standing::Lost if !stream.race.is_silent() => {}
            Standing::Held if now.since(stream.fed_at) < idle => {
                stream.race.lives();
                self.rearm_idle(now, call);
                self.set_clocks(now, call);
            }
            Standing::Won | Standing::WonAndOver => self.give_up_silent(now, call),
            Standing::Held => self.happens(now, call, Happened::Held, Loss::new(DropCause::Idle, "")),
            Standing::Again => {
                self.happens(now, call, Happened::HedgeFailed, Loss::new(DropCause::Network, ""));
            }
            Standing::Lost => self.ask_session(now),
        }
    }

    /// The old body is over: the resume beside it is the call's stream now, with all that it brought.
    pub(super) fn promote(&mut self, now: Instant, call: CallId, hedge: Hedge) {
        let decoder = self.decoder();
        let Some(stream) = self.stream(call) else { return };
        stream.paused = false;
        let events = match hedge.stage {
            Stage::Opening(headers) => {
                stream.phase = Phase::Resuming(hedge.exchange, headers);
                return self.set_clocks(now, call);
            }
            Stage::Quiet => return self.keep_quiet(now, call, hedge.exchange),
            Stage::Open(_) => Box::new(Events::new(now, decoder, true)),
        };
        stream.phase = Phase::Reading(hedge.exchange, Body::Events(events));
        stream.fed_at = now;
        stream.resumed();
        self.rearm_idle(now, call);
        self.set_clocks(now, call);
        self.feed(now, call, hedge.exchange, &hedge.bytes);
    }

    /// Plans a resume beside the silent body.
    pub(super) fn plan_race(&mut self, now: Instant, call: CallId, pace: Pace) {
        let Some(stream) = self.stream(call) else { return };
        if stream.race.exchange().is_some() {
            return;
        }
        let (misses, floor) = (stream.misses, stream.not_before.since(now));
        let (wait, attempt) = match pace {
            Pace::AtOnce => (floor, 1),
            Pace::Backoff => (self.own_wait(call, misses).max(floor), misses + 1),
        };
        if pace == Pace::Backoff && !floor.is_zero() && self.passes_budget(now, call, floor) {
            return; // The old body is waited for.
        }
        self.plan(now, call, Level::L1, wait);
        self.announce(now, call, Level::L1, attempt, wait);
    }

    /// The silent body is given up: what follows is what follows any drop.
    pub(super) fn give_up_silent(&mut self, now: Instant, call: CallId) {
        let Some(Phase::Reading(exchange, _)) = self.stream(call).map(|stream| &stream.phase) else { return };
        let exchange = *exchange;
        self.abort(exchange);
        self.on_body_over(now, call, DropCause::Idle);
        self.send_queued(now);
    }
}
