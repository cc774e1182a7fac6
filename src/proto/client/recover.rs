//! Recovery: what follows a drop, and the clocks that bound it.

use std::time::Duration;

use super::Client;
use crate::proto::error::{Outcome, Reason};
use crate::proto::event::{Attempt, AttemptResult, DropCause, Event, Level, Settlement};
use crate::proto::http::ResponseHead;
use crate::proto::ledger::{members, Kind};
use crate::proto::stream::{Body, Events, Phase};
use crate::proto::time::{millis, Instant};
use crate::proto::timer::{Clock, Owner};
use crate::proto::{CallId, ExchangeId};

/// So many attempts are kept in the diagnostics, the newest.
const MOST_ATTEMPTS: usize = 256;
/// From this many failures on that say nothing of the session, it is asked.
const FAILURES_TO_ASK: u32 = 2;

impl Client {
    /// An event stream ended without the call's response.
    pub(super) fn on_drop(&mut self, now: Instant, call: CallId, events: &Events, cause: DropCause) {
        self.close_attempt(call, events);
        if events.resumed && events.unreported {
            self.report(now, call, events.fresh, events.repeats);
        }
        let Some(stream) = self.stream(call) else { return };
        if events.resumed && events.fresh == 0 {
            stream.barren += 1;
        }
        let (broken, cursor) = (stream.broken, stream.cursor().map(str::to_string));
        let cursor = cursor.filter(|_| self.session.probe != Some(call)); // A probe is not worth a resume.
        if broken > 1 || (broken == 1 && cursor.is_none()) {
            let text = "the stream ended, and the data of its last event is no JSON";
            return self.fail(now, call, Reason::MalformedResponse, text);
        }
        let shown = cursor.as_deref().map(|cursor| self.shown(cursor));
        if cursor.is_some() && cause == DropCause::End && events.moved {
            return self.wait_politely(now, call);
        }
        self.call_event(now, call, Event::Disconnected { cause, cursor: shown });
        if cursor.is_none() {
            let text = "the stream ended without an answer, and without an event id to resume from";
            return self.fail(now, call, Reason::StreamLost, text);
        }
        let at_once = cause == DropCause::Idle && self.stream(call).is_some_and(|stream| stream.barren == 0);
        self.wait(now, call, at_once, None);
    }

    /// The server closed the stream itself and will go on (SEP-1699): no failure, no outage.
    fn wait_politely(&mut self, now: Instant, call: CallId) {
        let Some(entry) = self.ledger.get(call) else { return };
        let Some(stream) = entry.stream.as_mut() else { return };
        let (retry, barren) = (stream.retry, stream.barren);
        stream.resting = retry.is_some();
        let wait = self.config.backoff.resume(retry, barren, &mut self.rng);
        self.set_clocks(now, call);
        if retry.is_some() && self.passes_budget(now, call, wait) {
            return self.fail_over_budget(now, call, wait);
        }
        self.plan(now, call, wait);
        self.call_event(now, call, Event::Polling { wait_ms: millis(wait) });
    }

    /// Waits before the next resume: the server's hint, else our backoff; `floor` is a `Retry-After`.
    fn wait(&mut self, now: Instant, call: CallId, at_once: bool, floor: Option<Duration>) {
        let Some(stream) = self.stream(call) else { return };
        stream.resting = false;
        stream.phase = Phase::Waiting;
        let (retry, barren) = (stream.retry, stream.barren);
        let cursor = stream.cursor().map(str::to_string);
        let own = match at_once {
            true => Duration::ZERO,
            false => self.config.backoff.resume(retry, barren, &mut self.rng),
        };
        let wait = own.max(floor.unwrap_or_default());
        self.set_clocks(now, call);
        let is_hint = floor.is_some() || (retry.is_some() && !at_once);
        if is_hint && self.passes_budget(now, call, wait) {
            return self.fail_over_budget(now, call, wait);
        }
        self.plan(now, call, wait);
        let Some(entry) = self.ledger.get(call) else { return };
        let give_up = entry.recovery_clock.expires().map_or(entry.deadline, |at| at.min(entry.deadline));
        let event = Event::Reconnecting {
            level: Level::L1,
            attempt: barren + 1,
            wait_ms: millis(wait),
            next_at: (now + wait).as_millis(),
            give_up_at: give_up.as_millis(),
            cursor: cursor.map(|cursor| self.shown(&cursor)),
        };
        self.call_event(now, call, event);
    }

    fn plan(&mut self, now: Instant, call: CallId, wait: Duration) {
        self.timers.set(Owner::Call(call), Clock::Wait, now + wait);
        let cursor = self.stream(call).and_then(|stream| stream.cursor()).map(str::to_string);
        let cursor = cursor.map(|cursor| self.shown(&cursor));
        let Some(entry) = self.ledger.get(call) else { return };
        let attempts = &mut entry.diagnostics.attempts;
        if attempts.len() == MOST_ATTEMPTS {
            attempts.remove(0);
        }
        attempts.push(Attempt {
            level: Level::L1,
            at: (now + wait).as_millis(),
            wait_ms: millis(wait),
            cursor,
            result: AttemptResult::Aborted,
            status: None,
            events: 0,
        });
    }

    /// Whether a wait that the server asked for passes the clock that bounds it. It may not be shortened.
    fn passes_budget(&mut self, now: Instant, call: CallId, wait: Duration) -> bool {
        let Some(entry) = self.ledger.get(call) else { return false };
        let recovery_over = entry.recovery_clock.expires().is_some_and(|at| now + wait >= at);
        recovery_over || now + wait >= entry.deadline
    }

    fn fail_over_budget(&mut self, now: Instant, call: CallId, wait: Duration) {
        let text =
            format!("the server asks to wait {} ms, longer than this call may take", millis(wait).round());
        self.fail(now, call, Reason::RetryExceedsBudget, &text);
    }

    pub(super) fn on_resume_head(
        &mut self,
        now: Instant,
        call: CallId,
        exchange: ExchangeId,
        head: &ResponseHead,
    ) {
        if head.is_success() && head.is_event_stream() {
            let events = Events::new(self.decoder(), true);
            if let Some(attempt) = self.last_attempt(call) {
                attempt.status = Some(head.status);
            }
            return self.read(now, call, exchange, Body::Events(Box::new(events)));
        }
        self.abort(exchange);
        if let Some(attempt) = self.last_attempt(call) {
            attempt.status = Some(head.status);
            attempt.result = AttemptResult::Refused;
        }
        let status = head.status;
        match status {
            401 => self.fail(now, call, Reason::Unauthorized, "the server answered the resume with 401"),
            403 => self.fail(now, call, Reason::Forbidden, "the server answered the resume with 403"),
            404 | 410 | 400 => self.on_cursor_refused(now, call, status),
            408 | 409 | 425 | 429 | 500 | 502..=599 => {
                let says_nothing = !matches!(status, 409 | 429 | 503);
                self.on_attempt_failed(now, call, says_nothing, false, head.retry_after(now.as_millis()));
            }
            _ => self.reject_resume(now, call, status),
        }
        self.send_queued(now);
    }

    fn reject_resume(&mut self, now: Instant, call: CallId, status: u16) {
        let text = format!("the server can't resume this stream: it answered {status}");
        self.fail(now, call, Reason::ResumeRejected, &text);
    }

    /// 404, 410 or 400 to a cursor: the event may be gone, or the session. The session is asked.
    fn on_cursor_refused(&mut self, now: Instant, call: CallId, status: u16) {
        let ready = self.is_ready();
        let Some(stream) = self.stream(call) else { return };
        if stream.refused || !ready {
            return self.reject_resume(now, call, status);
        }
        stream.phase = Phase::Asking;
        self.set_clocks(now, call);
        self.ask_session(now);
    }

    /// The resume GET got no HTTP answer.
    pub(super) fn on_resume_failed(&mut self, now: Instant, call: CallId) {
        self.timers.stop(Owner::Call(call), Clock::Connect);
        if let Some(attempt) = self.last_attempt(call) {
            attempt.result = AttemptResult::NetworkError;
        }
        self.on_attempt_failed(now, call, true, false, None);
    }

    /// The resume GET got no headers within `connectMs`.
    fn on_resume_timeout(&mut self, now: Instant, call: CallId) {
        let Some(&Phase::Resuming(exchange)) = self.stream(call).map(|stream| &stream.phase) else { return };
        self.abort(exchange);
        if let Some(attempt) = self.last_attempt(call) {
            attempt.result = AttemptResult::Timeout;
        }
        let Some(stream) = self.stream(call) else { return };
        stream.misses += 1;
        let at_once = stream.misses == 1;
        self.on_attempt_failed(now, call, true, at_once, None);
        self.send_queued(now);
    }

    fn on_attempt_failed(
        &mut self,
        now: Instant,
        call: CallId,
        says_nothing: bool,
        at_once: bool,
        floor: Option<Duration>,
    ) {
        let Some(stream) = self.stream(call) else { return };
        stream.barren += 1;
        stream.failures += u32::from(says_nothing);
        let ask = says_nothing && stream.failures >= FAILURES_TO_ASK;
        self.wait(now, call, at_once, floor);
        if ask {
            self.ask_session(now);
        }
    }

    /// Asks by `ping` whether the session lives; one question for all calls.
    fn ask_session(&mut self, now: Instant) {
        if self.session.probe.is_some() || !self.is_ready() {
            return;
        }
        let entry = self.entry(now, Kind::Probe, "ping", members("ping", "", "", None));
        let probe = self.open(entry);
        self.session.probe = Some(probe);
        self.post(now, probe);
    }

    /// The session answered, or nothing is known. If it is dead, its calls have been settled before.
    pub(super) fn on_probed(&mut self, now: Instant, settlement: &Settlement) {
        self.session.probe = None;
        if !self.is_ready() {
            return;
        }
        let lives = matches!(settlement, Settlement::Result { .. });
        for call in self.ledger.calls() {
            let Some(stream) = self.stream(call) else { continue };
            if matches!(stream.phase, Phase::Asking) {
                // A store shared by several servers may lag: the cursor is tried once more.
                stream.refused = lives;
                stream.barren += 1;
                self.wait(now, call, false, None);
            }
        }
    }

    /// Runs at most one of `callMs` and `recoveryMs`, as the stream's state asks.
    pub(super) fn set_clocks(&mut self, now: Instant, call: CallId) {
        let Some(entry) = self.ledger.get(call).filter(|entry| entry.kind == Kind::Request) else { return };
        let running = entry.stream.as_ref().filter(|_| entry.questions == 0).and_then(|stream| match stream
            .phase
        {
            Phase::Posting(_) => Some(Clock::Call),
            Phase::Reading(..) if !stream.suspect => Some(Clock::Call),
            Phase::Queued => None,
            Phase::Waiting if stream.resting => None,
            Phase::Reading(..) | Phase::Waiting | Phase::Resuming(_) | Phase::Asking => Some(Clock::Recovery),
        });
        let owner = Owner::Call(call);
        for (clock, budget) in
            [(Clock::Call, &mut entry.call_clock), (Clock::Recovery, &mut entry.recovery_clock)]
        {
            if running == Some(clock) {
                budget.run(now);
            } else {
                budget.pause(now);
            }
            match budget.expires() {
                Some(at) => self.timers.set(owner, clock, at),
                None => self.timers.stop(owner, clock),
            }
        }
    }

    pub(super) fn on_timer(&mut self, now: Instant, owner: Owner, clock: Clock) {
        let Owner::Call(call) = owner else { return self.finish_close(now) };
        match clock {
            Clock::Deadline => self.fail(now, call, Reason::DeadlineExceeded, "deadlineMs passed"),
            Clock::FirstByte => {
                self.fail(now, call, Reason::FirstByteTimeout, "no response headers within firstByteMs");
            }
            Clock::Call => self.fail(now, call, Reason::CallTimeout, "no progress or message within callMs"),
            Clock::Recovery => self.on_recovery_over(now, call),
            Clock::Idle => self.on_idle(now, call),
            Clock::Handshake => {
                self.fail(now, call, Reason::ConnectTimeout, "the server did not answer within handshakeMs");
            }
            Clock::Connect if self.session.probe == Some(call) => {
                self.fail(now, call, Reason::ConnectTimeout, "the server did not answer within connectMs");
            }
            Clock::Connect => self.on_resume_timeout(now, call),
            Clock::Wait => self.resume(now, call),
            Clock::Close => {}
        }
    }

    fn on_recovery_over(&mut self, now: Instant, call: CallId) {
        let resumable = self.stream(call).is_some_and(|stream| stream.cursor().is_some());
        let (reason, text) = match resumable {
            true => (Reason::RecoveryExhausted, "no resume brought anything new within recoveryMs"),
            false => (Reason::IdleTimeout, "the stream fell silent and can't be resumed"),
        };
        self.fail(now, call, reason, text);
    }

    /// No byte within `idleMs`: resume where that is possible, else the stream is suspect.
    fn on_idle(&mut self, now: Instant, call: CallId) {
        let Some(entry) = self.ledger.get(call) else { return };
        let silent_ms = millis(entry.timeouts.idle);
        let Some(stream) = entry.stream.as_mut() else { return };
        let Phase::Reading(exchange, body) = &stream.phase else { return };
        let exchange = *exchange;
        let resumable = matches!(body, Body::Events(_)) && stream.cursor().is_some();
        if resumable || matches!(body, Body::Refusal(..)) {
            self.abort(exchange);
            self.on_body_over(now, call, DropCause::Idle);
            return self.send_queued(now);
        }
        stream.suspect = true;
        self.set_clocks(now, call);
        self.call_event(now, call, Event::Suspect { silent_ms });
    }

    /// Tells once per resume what came with its first data.
    pub(super) fn report_resumed(&mut self, now: Instant, call: CallId) {
        let Some(events) = self.stream(call).and_then(|stream| stream.events()) else { return };
        if !events.unreported || events.fresh + events.repeats == 0 {
            return;
        }
        events.unreported = false;
        let (fresh, repeats) = (events.fresh, events.repeats);
        self.report(now, call, fresh, repeats);
    }

    fn report(&mut self, now: Instant, call: CallId, fresh: u32, repeats: u32) {
        let event = Event::Resumed { level: Level::L1, replayed: fresh + repeats, duplicates: repeats };
        self.call_event(now, call, event);
    }

    fn close_attempt(&mut self, call: CallId, events: &Events) {
        if let Some(attempt) = self.last_attempt(call).filter(|_| events.resumed) {
            attempt.events = events.fresh;
            attempt.result = if events.fresh > 0 { AttemptResult::Resumed } else { AttemptResult::Empty };
        }
    }

    fn last_attempt(&mut self, call: CallId) -> Option<&mut Attempt> {
        self.ledger.get(call)?.diagnostics.attempts.last_mut()
    }

    /// The server forgot the session: its calls end at once, and its cursors are not polled.
    pub(super) fn session_died(&mut self, now: Instant) {
        self.session.state = crate::proto::session::State::Dead;
        for call in self.ledger.calls() {
            self.fail(now, call, Reason::SessionLost, "the server no longer knows the session");
        }
    }

    pub(super) fn cancel_call(&mut self, now: Instant, call: CallId) {
        self.fail(now, call, Reason::Cancelled, "cancelled by the caller");
    }

    /// Whether the server should be told that nobody waits any more: we gave up, and it may still be working.
    pub(super) fn should_tell(kind: Kind, delivery: Outcome, reason: Reason) -> bool {
        let gave_up = matches!(
            reason,
            Reason::Cancelled
                | Reason::DeadlineExceeded
                | Reason::CallTimeout
                | Reason::FirstByteTimeout
                | Reason::IdleTimeout
                | Reason::RecoveryExhausted
                | Reason::RetryExceedsBudget
        );
        kind == Kind::Request && delivery == Outcome::Unknown && gave_up
    }
}
