//! Recovery: what follows a drop, and the clocks that bound it.

use std::time::Duration;

use super::ladder::Loss;
use super::replace::LOST;
use super::{Client, Output};
use crate::proto::backoff::times;
use crate::proto::error::Reason;
use crate::proto::event::{Attempt, AttemptResult, DropCause, Event, Level};
use crate::proto::http::{IoFailure, Redirect, ResponseHead};
use crate::proto::jsonrpc::{Heard, Payload};
use crate::proto::ledger::{Call, Kind};
use crate::proto::machines::outage::{self, MayGo};
use crate::proto::machines::recovery::{self, Happened, Pace, Step};
use crate::proto::number::shown;
use crate::proto::stream::{Body, Brought, Events, Phase, Resend, Resumes};
use crate::proto::time::{millis, Instant};
use crate::proto::timer::{Clock, Owner};
use crate::proto::{CallId, ExchangeId};

/// Attempts of several calls are spread over this.
const SPREAD: Duration = Duration::from_millis(500);
/// Between GETs of one stream, at least.
const SPACING: Duration = Duration::from_millis(200);
/// So many attempts are kept in the diagnostics, the newest.
const MOST_ATTEMPTS: usize = 256;

impl Client {
    /// An event stream ended without the call's response. A resume that was opened beside it takes its place.
    pub(super) fn on_drop(&mut self, now: Instant, call: CallId, events: &Events, cause: DropCause) {
        let hedge = self.stream(call).and_then(|stream| stream.race.ends());
        self.close_attempt(now, call, events.brought(), hedge.is_none());
        if self.session.listen == Some(call) {
            return self.on_listen_over(now, call, events);
        }
        if events.resumes == Resumes::Silent {
            self.stats.histograms.replayed.record(0.0);
            self.tell_resumed(now, call);
        }
        let Some(stream) = self.stream(call) else { return };
        if events.resumed && events.fresh == 0 {
            stream.barren += 1;
        }
        if stream.broken == 1 && stream.cursor().is_none() && stream.cursor.passes_broken() {
            stream.passed = true;
            self.after_report(now, call, true);
        }
        let Some(known) = self.known(now, call) else { return };
        let happened = Happened::Dropped { cause, moved: events.moved, hedged: hedge.is_some() };
        let step = recovery::next(happened, &known);
        if step == Step::Fail(Reason::MalformedResponse) {
            hedge.inspect(|hedge| self.abort(hedge.exchange));
            let text = "the stream ended, and the data of its last event is no JSON";
            return self.fail(now, call, Reason::MalformedResponse, text);
        }
        if step == Step::Poll {
            return self.wait_politely(now, call);
        }
        self.stats.on_drop(cause);
        self.session.idle_drops += u32::from(cause == DropCause::Idle);
        if let Some(stream) = self.stream(call).filter(|stream| stream.lost_at.is_none() && known.resumable) {
            stream.lost_at = Some(now);
            self.stats.levels.l1.tried += 1;
        }
        let cursor = self.shown_cursor(call).filter(|_| known.resumable);
        self.call_event(now, call, Event::Disconnected { cause, cursor });
        if let Some(hedge) = hedge {
            return self.promote(now, call, hedge);
        }
        self.note_subscription(now, call, events.brought());
        let said = self.stream(call).filter(|_| !known.resumable).and_then(|stream| stream.said.take());
        let said = said.map_or_else(String::new, |said| format!("; it said: {said}"));
        let why = self.no_way_back(now, call);
        let ended = if cause == DropCause::Idle { "fell silent" } else { "ended without an answer" };
        let text = format!("the stream {ended}, and {why}{said}");
        self.obey(now, call, step, &known, Loss::new(cause, &text));
    }

    /// The server closed the stream itself and will go on (SEP-1699): no failure, no outage.
    pub(super) fn wait_politely(&mut self, now: Instant, call: CallId) {
        let Some(entry) = self.ledger.get(call) else { return };
        let Some(stream) = entry.lineage.stream.as_mut() else { return };
        let (retry, barren) = (stream.retry, stream.barren);
        // A shorter hint orders no wait: what follows is our own.
        stream.resting = retry.is_some_and(|retry| retry >= SPACING);
        let floor = self.floor(now, call);
        let wait = self.pace_of(call, retry, barren).max(floor);
        self.set_clocks(now, call);
        let asked = retry.map(|retry| retry.max(floor));
        if let Some(retry) = asked.filter(|retry| self.passes_budget(now, call, *retry)) {
            return self.fail_over_budget(now, call, retry);
        }
        self.stats.polls += 1;
        let wait = self.spaced(now, call, wait);
        self.plan(now, call, Level::L1, wait);
        self.call_event(now, call, Event::Polling { wait_ms: millis(wait) });
    }

    /// Waits before the next resume: the server's hint, else our backoff; never less than a `Retry-After`.
    pub(super) fn wait(&mut self, now: Instant, call: CallId, pace: Pace) {
        let at_once = pace == Pace::AtOnce;
        let Some(stream) = self.stream(call) else { return };
        stream.resting = false;
        stream.phase = Phase::Waiting;
        let (retry, barren) = (stream.retry, stream.barren);
        let own = if at_once { Duration::ZERO } else { self.pace_of(call, retry, barren) };
        let floor = self.floor(now, call);
        let wait = own.max(floor);
        self.set_clocks(now, call);
        // Only what the server asked for can fail the call; for our own waits there are the clocks.
        let asked = floor.max(retry.filter(|_| !at_once).unwrap_or_default());
        if !asked.is_zero() && self.passes_budget(now, call, asked) {
            return self.fail_over_budget(now, call, asked);
        }
        let wait = self.spaced(now, call, wait);
        self.plan(now, call, Level::L1, wait);
        self.announce(now, call, Level::L1, barren + 1, wait);
    }

    /// The wait that the stream's `retry` asks for, else one of our own.
    fn pace_of(&mut self, call: CallId, retry: Option<Duration>, barren: u32) -> Duration {
        match retry {
            Some(hint) => self.config.backoff.hinted(hint, barren, &mut self.rng),
            None => self.own_wait(call, barren),
        }
    }

    /// What is left of a `Retry-After`.
    pub(super) fn floor(&mut self, now: Instant, call: CallId) -> Duration {
        self.stream(call).map_or(Duration::ZERO, |stream| stream.not_before.since(now))
    }

    /// Whatever a server hints, GETs of one stream keep this distance.
    pub(super) fn spaced(&mut self, now: Instant, call: CallId, wait: Duration) -> Duration {
        let next = self.stream(call).and_then(|stream| stream.last_get).map(|last| last + SPACING);
        wait.max(next.map_or(Duration::ZERO, |next| next.since(now)))
    }

    /// Remembers a `Retry-After`: no GET of this stream goes before it.
    pub(super) fn note_retry_after(&mut self, now: Instant, call: CallId, head: &ResponseHead) {
        let wait = head.retry_after(now.as_millis()).unwrap_or_default();
        if let Some(stream) = self.stream(call) {
            stream.not_before = stream.not_before.max(now + wait);
        }
    }

    /// Tells that an attempt is planned.
    pub(super) fn announce(
        &mut self,
        now: Instant,
        call: CallId,
        level: Level,
        attempt: u32,
        wait: Duration,
    ) {
        let cursor = self.shown_cursor(call);
        let Some(entry) = self.ledger.get(call) else { return };
        let give_up =
            entry.clocks.recovery.expires().map_or(entry.clocks.deadline, |at| at.min(entry.clocks.deadline));
        let event = Event::Reconnecting {
            level,
            attempt,
            wait_ms: millis(wait),
            next_at: (now + wait).as_millis(),
            give_up_at: give_up.as_millis(),
            cursor,
        };
        self.call_event(now, call, event);
    }

    fn shown_cursor(&mut self, call: CallId) -> Option<String> {
        let cursor = self.stream(call).and_then(|stream| stream.cursor()).map(str::to_string);
        cursor.map(|cursor| self.shown(&cursor))
    }

    /// A wait of our own: where several calls recover at once, their attempts are spread.
    pub(super) fn own_wait(&mut self, call: CallId, attempt: u32) -> Duration {
        let wait = self.config.backoff.own(attempt, &mut self.rng);
        let is_waiting =
            |entry: &Call| matches!(entry.lineage.stream.as_ref().map(|s| &s.phase), Some(Phase::Waiting));
        let calls = self.ledger.calls();
        let others =
            calls.into_iter().any(|other| other != call && self.ledger.peek(other).is_some_and(is_waiting));
        if others {
            return wait + times(SPREAD, self.rng.fraction());
        }
        wait
    }

    /// Plans an attempt.
    pub(super) fn plan(&mut self, now: Instant, call: CallId, level: Level, wait: Duration) {
        // Whoever waited for the speaker has a wait of its own now.
        self.session.outage.unpark(call);
        let barren = self.stream(call).map_or(0, |stream| stream.barren);
        self.arm_wait(now, call, level, barren, wait);
        if let Some(entry) = self.ledger.get(call) {
            entry.lineage.planned = Some((level, wait));
        }
    }

    /// The planned attempt is made.
    pub(super) fn note_attempt(&mut self, now: Instant, call: CallId) {
        let cursor = self.shown_cursor(call);
        let Some(entry) = self.ledger.get(call) else { return };
        let Some((level, wait)) = entry.lineage.planned.take() else { return };
        let attempts = &mut entry.diagnostics.attempts;
        if attempts.len() == MOST_ATTEMPTS {
            attempts.remove(0);
        }
        attempts.push(Attempt {
            level,
            at: now.as_millis(),
            wait_ms: millis(wait),
            cursor: cursor.filter(|_| level == Level::L1),
            result: AttemptResult::Aborted,
            status: None,
            events: 0,
        });
    }

    /// Whether a wait that the server asked for passes the clock that bounds it. It may not be shortened.
    pub(super) fn passes_budget(&self, now: Instant, call: CallId, wait: Duration) -> bool {
        self.budget_passed(now, call, wait).is_some()
    }

    fn budget_passed(&self, now: Instant, call: CallId, wait: Duration) -> Option<Clock> {
        if self.session.handshake.is_message(call) {
            return (now + wait >= self.session.handshake.by).then_some(Clock::Handshake);
        }
        let clocks = &self.ledger.peek(call)?.clocks;
        let handshake = self.timers.at(Owner::Call(call), Clock::Handshake);
        let bounds = [(Clock::Recovery, clocks.recovery.expires()), (Clock::Handshake, handshake)];
        let passed = |(_, at): &(Clock, Option<Instant>)| at.is_some_and(|at| now + wait >= at);
        match bounds.into_iter().find(passed) {
            Some((clock, _)) => Some(clock),
            None => (now + wait >= clocks.deadline).then_some(Clock::Deadline),
        }
    }

    pub(super) fn fail_over_budget(&mut self, now: Instant, call: CallId, wait: Duration) {
        let clock = self.budget_passed(now, call, wait).unwrap_or(Clock::Deadline);
        let (asked, allowed) = (shown(millis(wait)), self.named(call, clock));
        let text = format!("the server asks to wait {asked} ms, longer than this call may take by {allowed}");
        self.fail(now, call, Reason::RetryExceedsBudget, &text);
    }

    pub(super) fn on_resume_head(
        &mut self,
        now: Instant,
        call: CallId,
        exchange: ExchangeId,
        head: &ResponseHead,
    ) {
        let Some(delivery) = self.ledger.peek(call).map(|entry| &entry.delivery) else { return };
        let (is_stranded, proves) = (delivery.stranded, delivery.identity.is_none() && !delivery.stranded);
        if is_stranded && !head.is_success() {
            self.abort(exchange);
            return self.lost(now, call, Reason::SessionLost, DropCause::Session.into(), LOST, None);
        }
        if self.redirected(now, call, exchange, head) {
            return;
        }
        if self.session.listen == Some(call) {
            return self.on_listen_head(now, call, exchange, head);
        }
        if head.is_success() && head.is_event_stream() {
            if proves {
                self.session.liveness.accepted();
            }
            if let Some(stream) = self.stream(call) {
                stream.resumed();
                stream.failures = 0;
            }
            self.call_event(now, call, Event::Open { status: head.status });
            let events = Events::new(now, self.decoder(), true);
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
        self.stats.on_refused(status);
        self.note_retry_after(now, call, head);
        if let Err(why) = self.reauthorize(now, call, head, Some(Resend::Get)) {
            let to = match &head.redirect {
                Some(Redirect::Followed(target)) => Some(target.shown()),
                _ => None,
            };
            let text = match &to {
                _ if matches!(status, 401 | 403) => {
                    format!("the server answered the resume with {status}{why}")
                }
                Some(to) => format!("the resume was redirected to {to}, which holds no stream"),
                None => format!("the server can't resume this stream: it answered {status}"),
            };
            let happened = Happened::Refused { status, redirected: to.is_some() };
            self.happens(now, call, happened, Loss::new(DropCause::Status, &text));
        }
        self.send_queued(now);
    }

    /// The resume GET got no HTTP answer.
    pub(super) fn on_resume_failed(&mut self, now: Instant, call: CallId, failure: &IoFailure) {
        self.timers.stop(Owner::Call(call), Clock::Connect);
        if self.awaits_endpoint(call) {
            return self.on_endpoint_unanswered(now, call, failure);
        }
        if self.session.listen == Some(call) {
            return self.listen_later(now, call);
        }
        if let Some(attempt) = self.last_attempt(call) {
            attempt.result = AttemptResult::NetworkError;
        }
        self.unanswered(now, Some(call));
        if let Some(stream) = self.stream(call) {
            stream.is_rejected = true;
        }
        self.happens(now, call, Happened::Unanswered, Loss::new(DropCause::Network, ""));
    }

    /// HTTP is answered: whoever waited for that may go.
    pub(super) fn answered(&mut self, now: Instant) {
        for call in self.session.outage.answered() {
            let wait = times(SPREAD, self.rng.fraction());
            self.timers.set(Owner::Call(call), Clock::Wait, now + wait);
        }
        self.tell_state(now);
    }

    /// A resume of this call got no HTTP answer; `None`: a request did not.
    pub(super) fn unanswered(&mut self, now: Instant, resume_of: Option<CallId>) {
        self.session.outage.missed();
        if let Some(call) = resume_of {
            self.session.outage.unanswered(call);
        }
        self.tell_state(now);
    }

    /// Whether the call may make its attempt. One that waits longer than our own backoff ever does, at its server's
    /// word, speaks for nobody.
    fn may_attempt(&mut self, now: Instant, call: CallId) -> bool {
        let Some(entry) = self.ledger.peek(call).filter(|entry| !entry.is_endless()) else { return true };
        let attempt = match entry.lineage.stream {
            Some(_) => outage::Attempt::Resume,
            None => outage::Attempt::Post,
        };
        let soon = now + self.config.backoff.max;
        let waits = |call| self.timers.at(Owner::Call(call), Clock::Wait);
        let is_far = |speaker| waits(speaker).is_some_and(|at| at > soon);
        let connect = self.config.timeouts.connect;
        match self.session.outage.may_go(now, call, attempt, connect, is_far) {
            MayGo::Now => true,
            MayGo::Later(at) => {
                self.timers.set(Owner::Call(call), Clock::Wait, at);
                false
            }
        }
    }

    /// A wait is over.
    pub(super) fn attempt(&mut self, now: Instant, call: CallId) {
        if let Some(stream) = self.stream(call) {
            stream.scheduled = false;
        }
        if self.ledger.peek(call).is_some_and(|entry| entry.task.is_some()) {
            return self.poll_task(now, call);
        }
        if self.session.listen == Some(call) && !self.awaits_endpoint(call) {
            return self.open_listen(now, call);
        }
        if self.session.handshake.is_message(call) && self.stream(call).is_none() {
            return self.greet(now, call);
        }
        if !self.may_attempt(now, call) {
            return;
        }
        if self.ledger.peek(call).is_some_and(|entry| entry.request.answers.is_some()) {
            return self.post(now, call);
        }
        match self.stream(call).map(|stream| &stream.phase) {
            None => {
                self.dispatch.enqueue(call, self.turn(call));
                self.send_queued(now);
                self.set_clocks(now, call);
            }
            Some(Phase::Reading(..)) => self.race(now, call),
            Some(Phase::Waiting) => self.resume(now, call),
            Some(_) => {}
        }
    }

    pub(super) fn events_of(&mut self, call: CallId) -> Option<&mut Events> {
        self.stream(call)?.events()
    }

    /// An event came. The first that a resume brings is announced before it is told, and those in the same bytes are
    /// counted in. What is no message may be a heartbeat.
    pub(super) fn count_replayed(
        &mut self,
        now: Instant,
        call: CallId,
        payload: &Payload<Heard<'_>>,
        repeat: bool,
    ) {
        if matches!(payload, Payload::Other) && !repeat {
            return;
        }
        let Some(events) = self.events_of(call) else { return };
        match events.resumes {
            Resumes::Told | Resumes::Live => return,
            Resumes::Counts(_) => {}
            Resumes::Silent => {
                events.resumes = Resumes::Counts(0);
                self.tell_resumed(now, call);
            }
        }
        if let Some(Events { resumes: Resumes::Counts(count), .. }) = self.events_of(call) {
            *count += 1;
        }
        // Near the front: what came before was obeyed, and this is among the first that these bytes gave. Before it may
        // stand that of a resume that this one took the place of.
        let is_message = |output: &&mut Output| {
            matches!(output, Output::Event(_, _, Event::Message { .. } | Event::Progress { .. }))
        };
        let first = self.outputs.iter_mut().take_while(|output| !is_message(output));
        let told = first.filter_map(|output| match output {
            Output::Event(Some(of), _, Event::Resumed { replayed, duplicates, .. }) if *of == call => {
                Some((replayed, duplicates))
            }
            _ => None,
        });
        let told = told.last();
        if let Some((replayed, duplicates)) = told {
            *replayed += 1;
            *duplicates += u32::from(repeat);
        }
    }

    fn tell_resumed(&mut self, now: Instant, call: CallId) {
        self.call_event(now, call, Event::Resumed { level: Level::L1, replayed: 0, duplicates: 0 });
    }

    /// The first bytes with events that a resume brought are over.
    pub(super) fn report_resumed(&mut self, call: CallId) {
        let Some(events) = self.events_of(call) else { return };
        if let Resumes::Counts(count) = events.resumes {
            events.resumes = Resumes::Told;
            self.stats.histograms.replayed.record(f64::from(count));
        }
    }

    /// An event stream is over: what it brought. Its attempt is the last, unless a resume was opened beside it.
    pub(super) fn close_attempt(&mut self, now: Instant, call: CallId, stream: Brought, is_last: bool) {
        self.stats.histograms.stream_ms.record(millis(now.since(stream.since)));
        let hit = stream.fresh > 0;
        if stream.resumed {
            let brought = if hit { &mut self.stats.resumes.hit } else { &mut self.stats.resumes.empty };
            *brought += 1;
        }
        let attempt = if stream.resumed { self.last_attempt(call) } else { self.attempt_again(call) };
        if let Some(attempt) = attempt.filter(|_| is_last) {
            attempt.events = stream.fresh;
            attempt.result = if hit { AttemptResult::Resumed } else { AttemptResult::Empty };
        }
    }

    pub(super) fn last_attempt(&mut self, call: CallId) -> Option<&mut Attempt> {
        self.ledger.get(call)?.diagnostics.attempts.last_mut()
    }

    /// The latest attempt, where it was to send the call again.
    pub(super) fn attempt_again(&mut self, call: CallId) -> Option<&mut Attempt> {
        let is_call = self.ledger.peek(call).is_some_and(|entry| entry.request.kind == Kind::Request);
        self.last_attempt(call).filter(|attempt| is_call && attempt.level != Level::L1)
    }
}
