//! The second rung: a dead session is replaced, once for all its calls.

use std::time::Duration;

use super::Client;
use crate::proto::error::Reason;
use crate::proto::event::{DropCause, Event, Failure, Level, ReissueCause};
use crate::proto::http::ResponseHead;
use crate::proto::jsonrpc::field;
use crate::proto::ledger::{Call, Kind};
use crate::proto::machines::handshake::MOST;
use crate::proto::session::{Restorable, State};
use crate::proto::stream::{Body, Phase, Stream};
use crate::proto::time::Instant;
use crate::proto::timer::{Clock, Owner};
use crate::proto::{CallId, ExchangeId};

pub(super) const LOST: &str = "the server no longer knows the session";

impl Client {
    /// The server forgot the session. What is open of its calls is read on; the others end, or wait for the next session
    /// where they may be sent again. Its cursors are not polled; nothing of it fires later.
    pub(super) fn session_died(&mut self, now: Instant) {
        if !self.is_ready() {
            return;
        }
        self.session.state = State::Lost;
        self.timers.stop(Owner::Session, Clock::Connect);
        self.stats.session_mismatches += 1;
        let replace = self.replace_session(now);
        let is_call =
            |call: CallId| self.ledger.peek(call).is_some_and(|entry| entry.request.kind == Kind::Request);
        // Others wait for the next session where a call does.
        let (calls, others): (Vec<_>, Vec<_>) =
            self.ledger.calls().into_iter().partition(|call| is_call(*call));
        for call in calls.into_iter().chain(others) {
            self.part_from_session(now, call, replace);
        }
    }

    /// The Client began another session itself: what belongs to the one before parts from it as from a dead one.
    pub(super) fn leave_session(&mut self, now: Instant) {
        self.session.state = State::Lost;
        self.timers.stop(Owner::Session, Clock::Connect);
        for call in self.ledger.calls() {
            self.part_from_session(now, call, self.config.replace_session);
        }
    }

    fn part_from_session(&mut self, now: Instant, call: CallId, replace: bool) {
        // It is the next one's.
        if self.session.handshake.is_message(call) {
            return;
        }
        // One that is planned and not sent was allowed when it was planned; by its key only in the session that is over.
        let planned = self.ledger.peek(call).is_some_and(|entry| {
            entry.lineage.stream.is_none() && entry.delivery.reissue_why.is_some() && !entry.request.keyed
        });
        let is_adopted = self.forget_token(call);
        let may_reissue = planned || self.may_reissue(now, call);
        let Some(entry) = self.ledger.get(call) else { return };
        let phase = entry.lineage.stream.as_ref().map(|stream| &stream.phase);
        let may_carry = replace && !entry.delivery.carried_over;
        match entry.request.kind {
            Kind::Initialize | Kind::Initialized | Kind::Handshake | Kind::Scout | Kind::Subscription => {}
            // It is none of this session's.
            Kind::Request if !entry.request.dialect.has_session() || entry.delivery.stranded => {}
            Kind::Request | Kind::Notification if replace && !entry.was_sent() && !is_adopted => {
                self.await_session(now, call)
            }
            Kind::Request if may_be_answered(entry) => self.strand(now, call),
            Kind::Request if may_carry && may_reissue => self.carry_over(now, call),
            // It may be refused for the same session, unread: its headers are about to tell.
            Kind::Request if may_carry && matches!(phase, Some(Phase::Posting(_))) => self.strand(now, call),
            Kind::Notification if may_carry && entry.delivery.is_rejected() => {
                entry.delivery.carried_over = true;
                if let Some(exchange) = entry.lineage.stream.take().and_then(|stream| stream.exchange()) {
                    self.abort(exchange);
                }
                self.requeue(now, call);
                self.await_session(now, call);
            }
            _ => self.fail(now, call, Reason::SessionLost, LOST),
        }
    }

    /// Whether a call was to go on with a stream of another client's: there is no such stream any more.
    fn forget_token(&mut self, call: CallId) -> bool {
        self.ledger.get(call).is_some_and(|entry| entry.lineage.resume_from.take().is_some())
    }

    /// Whether a call begins with the cursor of a session that is dead: that is not polled. It is over then.
    pub(super) fn is_of_dead_session(&mut self, now: Instant, call: CallId) -> bool {
        let is_between = self.session.began && !self.is_ready();
        let is_so = is_between && self.forget_token(call);
        if is_so {
            self.fail(now, call, Reason::SessionLost, LOST);
        }
        is_so
    }

    /// What is open of the call is read on, though its session is dead. Nobody can answer what was asked in it.
    fn strand(&mut self, now: Instant, call: CallId) {
        self.stop_race(call);
        self.end_questions(call);
        let Some(entry) = self.ledger.get(call) else { return };
        entry.delivery.stranded = true;
        entry.lineage.questions = 0;
        if matches!(entry.lineage.stream.as_ref().map(|stream| &stream.phase), Some(Phase::Posting(_))) {
            let at = now + entry.request.timeouts.connect;
            self.timers.set(Owner::Call(call), Clock::Connect, at);
        }
        self.set_clocks(now, call);
    }

    /// The server refused a POST that it got after it forgot the session.
    pub(super) fn on_stranded_refused(
        &mut self,
        now: Instant,
        call: CallId,
        exchange: ExchangeId,
        head: &ResponseHead,
    ) {
        self.abort(exchange);
        // What else these say of the request is for the one in the next session to find out.
        if !matches!(head.status, 307 | 308 | 400 | 401 | 404 | 410) || self.session.is_over() {
            return self.fail_request(now, call, Reason::SessionLost, LOST);
        }
        if let Some(entry) = self.ledger.get(call) {
            entry.delivery.rejected();
        }
        self.lost(now, call, Reason::SessionLost, DropCause::Session.into(), LOST, None);
    }

    /// Whether a call of a dead session may go on in another: once is enough.
    pub(super) fn may_carry_over(&self, now: Instant, call: CallId) -> bool {
        let was_carried = self.ledger.peek(call).is_none_or(|entry| entry.delivery.carried_over);
        self.config.replace_session && !was_carried && self.may_reissue(now, call)
    }

    /// What was open of the call brought no answer: it goes on in the next session.
    pub(super) fn leave_dead_session(&mut self, now: Instant, call: CallId) {
        if self.session.state == State::Lost && !self.replace_session(now) {
            return self.fail(now, call, Reason::SessionLost, LOST);
        }
        self.carry_over(now, call);
        self.send_queued(now);
    }

    pub(super) fn carry_over(&mut self, now: Instant, call: CallId) {
        let Some(entry) = self.ledger.get(call) else { return };
        entry.delivery.carried_over = true;
        if entry.delivery.reissue_why.is_none() {
            self.plan_next_session(now, call);
        }
        self.timers.stop(Owner::Call(call), Clock::Wait);
        self.requeue(now, call);
        self.await_session(now, call);
    }

    /// The call is sent again in the next session.
    fn plan_next_session(&mut self, now: Instant, call: CallId) {
        self.detach(now, call, Reason::SessionLost, ReissueCause::Drop(DropCause::Session));
        if let Some(entry) = self.ledger.get(call) {
            entry.lineage.planned = Some((Level::L2, Duration::ZERO));
        }
    }

    pub(super) fn requeue(&mut self, now: Instant, call: CallId) {
        if !self.dispatch.waits(call) {
            self.dispatch.enqueue(call, self.turn(call));
        }
        self.set_clocks(now, call);
    }

    /// Begins a new session, where that is wanted: at once, or when so many have not come to be within a minute. One flight
    /// for all calls.
    pub(super) fn replace_session(&mut self, now: Instant) -> bool {
        let began = if self.config.carry { self.session.agreed.is_some() } else { self.session.began };
        let may = self.config.replace_session && began;
        let wait = self.session.handshake.wait(now);
        if !may || !wait.is_zero() {
            self.end_trial(now);
        }
        self.session.forget();
        if may {
            self.stats.levels.l2.tried += 1;
            self.session.handshake.begins(now + self.config.timeouts.recovery);
            self.begin_session(now, wait);
            self.tell_state(now);
        }
        may
    }

    /// The new session is ready: it is told what the old one knew, and the application that it is another.
    pub(super) fn on_replaced(&mut self, now: Instant, capabilities_changed: bool) {
        self.stats.levels.l2.won += 1;
        self.session.handshake.came(now);
        // A list that came meanwhile was of the session before.
        self.session.hints.forget();
        for call in self.dispatch.waiting() {
            self.set_clocks(now, call);
            self.call_event(now, call, Event::SessionReplaced { capabilities_changed });
        }
        // Where there is no session, a subscription has what of this there is.
        let restores =
            if self.session.dialect.has_session() { self.session.restorable.requests() } else { Vec::new() };
        for members in restores {
            let entry = self.entry(now, Kind::Restore, "restore", members);
            let call = self.open(entry);
            self.post(now, call);
        }
        for list in ["tools", "prompts", "resources"] {
            if field(self.session.facts.capabilities(), &[list]).is_some() {
                let text =
                    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/{list}/list_changed\"}}");
                let message = self.keep(&text);
                self.event(now, None, Event::Message { message, key: None, seam: false });
            }
        }
    }

    /// A call in the queue waits for the session that replaces a lost one, under its `recoveryMs`. One whose clocks end
    /// before another session may begin ends now, and so does what no session is begun for.
    pub(super) fn await_session(&mut self, now: Instant, call: CallId) {
        if !self.session.handshake.replaces() {
            return;
        }
        let Some(entry) = self.ledger.get(call) else { return };
        entry.delivery.cause.get_or_insert(Reason::SessionLost);
        self.set_clocks(now, call);
        let wait = self.session.handshake.wait(now);
        if !wait.is_zero() && (self.passes_budget(now, call, wait) || !self.is_awaited(now + wait)) {
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            let text = format!(
                "{LOST}, {MOST} have replaced others within a minute, and the next is tried in {seconds} s"
            );
            self.fail(now, call, Reason::SessionLost, &text);
        }
    }

    /// Whether another attempt at this instant is of use: a call waits for the new session, or the application listens for
    /// what belongs to no call, and the old one was lost a while ago at most.
    pub(super) fn is_awaited(&self, at: Instant) -> bool {
        let is_call = |call| self.ledger.peek(call).is_some_and(|entry| entry.request.kind == Kind::Request);
        (self.config.listen && self.session.handshake.lasts(at))
            || self.dispatch.waiting().into_iter().any(is_call)
    }

    /// The handshake is tried again after a wait: who waits for it is told, or ends where the server asks for more time than
    /// it has.
    pub(super) fn tell_who_waits(&mut self, now: Instant, attempt: u32, wait: Duration, floor: Duration) {
        for call in self.dispatch.waiting() {
            match !floor.is_zero() && self.passes_budget(now, call, floor) {
                true => self.fail_over_budget(now, call, floor),
                false => self.announce(now, call, Level::L2, attempt, wait),
            }
        }
    }

    /// Why there is no session to go on in.
    pub(super) fn no_session(&self) -> String {
        match self.session.handshake.met() {
            Some((_, text)) => format!("{LOST}, and there is no new one: {text}"),
            None => LOST.to_string(),
        }
    }

    /// There is no new session: whoever waited for it ends. The next call tries again.
    pub(super) fn on_replacement_failed(&mut self, now: Instant, failure: &Failure) {
        let text = format!("{LOST}, and there is no new one: {}", failure.text);
        for call in self.ledger.calls() {
            // What is open of the dead session, or needs none, is read on.
            let waits = |entry: &Call| {
                let is_of_session = entry.request.dialect.has_session() && !entry.delivery.stranded;
                is_of_session || entry.delivery.corrections.contradicted
            };
            if self.dispatch.waits(call) || self.ledger.peek(call).is_some_and(waits) {
                self.fail(now, call, Reason::SessionLost, &text);
            }
        }
    }
}

/// Whether a body is open that may bring the call's answer. One that fell silent counts as closed; and what is set in a
/// session is gone with it, whatever the answer says.
fn may_be_answered(entry: &Call) -> bool {
    let is_open = |stream: &Stream| match &stream.phase {
        Phase::Reading(_, Body::Json(_) | Body::Events(_)) => !stream.race.is_silent(),
        _ => false,
    };
    entry.lineage.stream.as_ref().is_some_and(is_open) && !Restorable::is_set_by(&entry.request.method)
}
