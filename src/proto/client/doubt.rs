//! Doubt: streams that fell silent, and the resumes that are opened beside them.

use std::time::Duration;

use super::Client;
use crate::proto::event::{AttemptResult, DropCause, Event, Level};
use crate::proto::http::{header_value, Method, ResponseHead};
use crate::proto::ledger::Kind;
use crate::proto::sse::Item;
use crate::proto::stream::{Body, Events, Phase, Rival};
use crate::proto::time::{millis, Instant};
use crate::proto::timer::{Clock, Owner};
use crate::proto::{CallId, ExchangeId};

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
        self.session.liveness.accepted();
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
    pub(super) fn give_up_silent(&mut self, now: Instant, call: CallId) {
        let Some(Phase::Reading(exchange, _)) = self.stream(call).map(|stream| &stream.phase) else { return };
        let exchange = *exchange;
        self.abort(exchange);
        self.on_body_over(now, call, DropCause::Idle);
        self.send_queued(now);
    }
}
