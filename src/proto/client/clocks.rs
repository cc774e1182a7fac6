//! The clocks of a call: which of them runs when, and what happens when one is over.

use std::time::Duration;

use super::ladder::Loss;
use super::Client;
use crate::proto::error::Reason;
use crate::proto::event::{AttemptResult, DropCause};
use crate::proto::ledger::{Call, Kind};
use crate::proto::machines::recovery::Happened;
use crate::proto::stream::{Phase, Stream};
use crate::proto::time::Instant;
use crate::proto::timer::{Clock, Late, Owner};
use crate::proto::CallId;

/// So late, a timer did not fire late: the machine slept.
const SLEEP: Duration = Duration::from_secs(30);

impl Client {
    /// Runs at most one of `callMs` and `recoveryMs`, as the call's state asks.
    pub(super) fn set_clocks(&mut self, now: Instant, call: CallId) {
        let is_ready = self.is_ready();
        let Some(entry) = self.ledger.get(call).filter(|entry| entry.request.kind == Kind::Request) else {
            return;
        };
        // Nothing that is being read waits for a connection: of a long queue not each event has to ask.
        let is_read = entry.lineage.stream.as_ref().is_some_and(Stream::is_open);
        debug_assert!(!(is_read && self.dispatch.waits(call)));
        let waits_for_slot = !is_read && is_ready && self.dispatch.waits(call);
        let running = if waits_for_slot || entry.lineage.questions > 0 { None } else { running_clock(entry) };
        let owner = Owner::Call(call);
        for (clock, budget) in
            [(Clock::Call, &mut entry.clocks.call), (Clock::Recovery, &mut entry.clocks.recovery)]
        {
            if running == Some(clock) {
                budget.run(now);
            } else {
                budget.pause(now);
            }
            let expires = budget.expires().map(|at| match clock {
                Clock::Call if !entry.clocks.had_last => at.before(entry.request.timeouts.connect),
                _ => at,
            });
            match expires {
                Some(at) => self.timers.set(owner, clock, at),
                None => self.timers.stop(owner, clock),
            }
        }
    }

    /// Whatever came in, what is due is due: bytes that never pause would starve the host's timers. What came in is heard
    /// first, and where a clock is late the host has one turn to hand in what has come meanwhile: a silence may be none.
    pub(super) fn judge_clocks(&mut self, now: Instant, by_timer: bool) {
        self.late = Late::next(self.late, now, self.timers.next().map(|(at, _)| at), by_timer);
        if self.late.is_some() {
            return;
        }
        while let Some((owner, clock)) = self.timers.pop_due(now) {
            self.on_timer(now, owner, clock);
        }
    }

    pub(super) fn on_timer(&mut self, now: Instant, owner: Owner, clock: Clock) {
        let Owner::Call(call) = owner else {
            return match clock {
                Clock::Connect => self.ask_session(now),
                Clock::Handshake => self.on_credentials_late(now),
                _ => self.on_delete_timeout(now),
            };
        };
        match clock {
            Clock::Refusal => self.give_up_silent(now, call),
            Clock::Deadline => self.on_deadline(now, call),
            Clock::FirstByte => {
                if let Some(attempt) = self.attempt_again(call) {
                    attempt.result = AttemptResult::Timeout;
                }
                let text = format!("no response headers within {}", self.named(call, clock));
                self.fail(now, call, Reason::FirstByteTimeout, &text);
            }
            Clock::Call => self.on_call_over(now, call),
            Clock::Recovery => self.on_recovery_over(now, call),
            Clock::Idle => self.on_idle(now, call),
            Clock::Handshake if self.send_answer_again(now, call) => {}
            Clock::Handshake if self.session.handshake.is_message(call) => self.on_handshake_late(now, call),
            Clock::Connect if self.ledger.peek(call).is_some_and(|entry| !entry.request.kind.asks()) => {
                self.on_resume_timeout(now, call);
            }
            Clock::Handshake | Clock::Connect => {
                let text = format!("the server did not answer within {}", self.named(call, clock));
                self.fail(now, call, Reason::ConnectTimeout, &text);
            }
            Clock::Wait => self.attempt(now, call),
            Clock::Close => {}
        }
    }

    /// A timer that is very late means that we slept: no clock but the deadline counted it, and a deadline that passed
    /// in it is judged after one more attempt.
    pub(super) fn wake(&mut self, now: Instant) {
        let last = std::mem::replace(&mut self.awake, now);
        let Some((due, _)) = self.timers.next() else { return };
        let slept = now.since(due.max(last));
        if slept < SLEEP {
            return;
        }
        for call in self.ledger.calls() {
            let Some(entry) = self.ledger.get(call).filter(|entry| entry.request.kind == Kind::Request)
            else {
                continue;
            };
            let grace = entry.request.timeouts.connect;
            entry.delivery.forgive(slept);
            entry.clocks.call.forgive(now, slept, grace);
            entry.clocks.recovery.forgive(now, slept, grace);
            let overslept = entry.clocks.deadline <= now && !entry.clocks.woken;
            if overslept {
                entry.clocks.woken = true;
                self.timers.set(Owner::Call(call), Clock::Deadline, now + entry.request.timeouts.connect);
            }
            self.set_clocks(now, call);
            if let Some(at) = self.timers.at(Owner::Call(call), Clock::FirstByte) {
                self.timers.set(Owner::Call(call), Clock::FirstByte, (at + slept).max(now + grace));
            }
            if self.timers.at(Owner::Call(call), Clock::Idle).is_some() {
                let patience = if overslept { Duration::ZERO } else { self.patience(call) };
                self.timers.set(Owner::Call(call), Clock::Idle, now + patience);
            }
        }
    }

    /// `callMs` is over, or will be in `connectMs`: an answer may wait where a resume finds it.
    fn on_call_over(&mut self, now: Instant, call: CallId) {
        let Some(entry) = self.ledger.get(call) else { return };
        if entry.clocks.call.expires().is_none_or(|at| at <= now) {
            let text = format!("no progress or message within {}", self.named(call, Clock::Call));
            return self.fail(now, call, Reason::CallTimeout, &text);
        }
        entry.clocks.had_last = true;
        entry.lineage.stream.iter_mut().for_each(|stream| stream.race.wants_last());
        self.set_clocks(now, call);
        self.happens(now, call, Happened::EndsSoon, Loss::new(DropCause::Idle, ""));
    }

    fn on_recovery_over(&mut self, now: Instant, call: CallId) {
        if self.lacks_credentials(call) {
            let text =
                format!("the provider gave no credentials within {}", self.named(call, Clock::Recovery));
            return self.fail_request(now, call, Reason::ConnectTimeout, &text);
        }
        let Some(known) = self.known(now, call) else { return };
        let text = match (known.cause, known.resumable) {
            (Some(Reason::SessionLost), _) if !self.is_ready() => &*self.no_session(),
            (Some(_), _) => "it could not be sent again",
            (None, true) => "no resume brought anything new",
            (None, false) => "the stream fell silent, can't be resumed and did not go on",
        };
        let text = format!("{text} within {}", self.named(call, Clock::Recovery));
        self.happens(now, call, Happened::TimeUp, Loss::new(DropCause::Idle, &text));
    }

    /// Whether nothing of the call is under way until the provider has given credentials.
    fn lacks_credentials(&mut self, call: CallId) -> bool {
        let is_held = self.stream(call).is_some_and(|stream| matches!(stream.phase, Phase::Held(_)));
        is_held && self.credentials.awaits(call)
    }

    /// The deadline passed: it is the reason only where nothing more telling was pending.
    fn on_deadline(&mut self, now: Instant, call: CallId) {
        let lacks_credentials = self.lacks_credentials(call);
        let Some(entry) = self.ledger.get(call) else { return };
        let reason = match (entry.delivery.cause, running_clock(entry)) {
            (Some(cause), _) => cause,
            (None, Some(Clock::Recovery)) if lacks_credentials => Reason::ConnectTimeout,
            (None, Some(Clock::Recovery))
                if entry.lineage.stream.as_ref().is_some_and(|stream| stream.race.is_silent()) =>
            {
                Reason::IdleTimeout
            }
            (None, Some(Clock::Recovery)) => Reason::RecoveryExhausted,
            (None, _) => Reason::DeadlineExceeded,
        };
        let text = match (reason, entry.task.as_deref()) {
            (_, Some(task)) if task.misses() > 0 => "its task did not answer of late, and was not done",
            (_, Some(_)) => "its task was not done",
            (Reason::DeadlineExceeded, None) => "no answer",
            (_, None) => "it had not recovered",
        };
        let text = format!("{text} within {}", self.named(call, Clock::Deadline));
        self.fail(now, call, reason, &text);
    }

    /// A clock of a call as messages name it.
    pub(super) fn named(&self, call: CallId, clock: Clock) -> String {
        let own = self.ledger.peek(call).map(|entry| &entry.request.timeouts);
        own.unwrap_or(&self.config.timeouts).named(clock)
    }
}

/// Which of a call's two budgets its state asks for.
fn running_clock(entry: &Call) -> Option<Clock> {
    match clock_of_stream(entry) {
        // Sent again beside a silent body, a call waits for two requests.
        Some(Clock::Recovery) if entry.lineage.earlier.is_some() => Some(Clock::Call),
        clock => clock,
    }
}

fn clock_of_stream(entry: &Call) -> Option<Clock> {
    let Some(stream) = entry.lineage.stream.as_ref() else {
        // The server waits for our answer, or works on by itself.
        if entry.lineage.questions > 0 || entry.task.is_some() {
            return None;
        }
        // Nothing of it was sent, but the session that it was to go to is lost.
        return (entry.was_sent() || entry.delivery.cause.is_some()).then_some(Clock::Recovery);
    };
    match stream.phase {
        Phase::Posting(_) | Phase::Elsewhere => Some(Clock::Call),
        Phase::Reading(..) if stream.paused => None,
        // Where its silence is not to be judged, a suspect body is as good as any other.
        Phase::Reading(..) if !(stream.race.is_silent() && entry.request.timeouts.silence_counts) => {
            Some(Clock::Call)
        }
        Phase::Queued => None,
        Phase::Waiting if stream.resting => None,
        Phase::Reading(..) | Phase::Waiting | Phase::Resuming(..) | Phase::Asking | Phase::Held(_) => {
            Some(Clock::Recovery)
        }
    }
}
