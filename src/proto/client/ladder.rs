//! The ladder: gathers what recovery's table asks about a call, and takes the step that it answers.

use std::time::Duration;

use super::Client;
use crate::proto::error::Reason;
use crate::proto::event::{DropCause, ReissueCause};
use crate::proto::ledger::Kind;
use crate::proto::machines::recovery::{self, Again, Happened, Known, Open, Step};
use crate::proto::stream::{Body, Phase};
use crate::proto::time::Instant;
use crate::proto::CallId;

/// What is told of a loss, should it end the call or be answered by a re-issue.
#[derive(Copy, Clone)]
pub(super) struct Loss<'a> {
    pub(super) why: ReissueCause,
    pub(super) text: &'a str,
    /// A `Retry-After`.
    pub(super) floor: Option<Duration>,
}

impl<'a> Loss<'a> {
    pub(super) fn new(cause: DropCause, text: &'a str) -> Self {
        Self { why: cause.into(), text, floor: None }
    }
}

impl Client {
    /// Something happened to a call: the table of recovery says what follows.
    pub(super) fn happens(&mut self, now: Instant, call: CallId, happened: Happened, loss: Loss<'_>) {
        if let Some(stream) = self.stream(call) {
            stream.barren += u32::from(happened.is_barren());
            stream.failures += u32::from(happened.says_nothing());
            stream.misses += u32::from(matches!(happened, Happened::Missed | Happened::HedgeFailed));
        }
        if let Some(known) = self.known(now, call) {
            self.obey(now, call, recovery::next(happened, &known), &known, loss);
        }
    }

    /// What recovery asks about a call.
    pub(super) fn known(&self, now: Instant, call: CallId) -> Option<Known> {
        let entry = self.ledger.peek(call)?;
        let stream = entry.lineage.stream.as_ref();
        // A probe is not worth a resume, some pages may not resume, and some users do not want it.
        let may_resume = !entry.request.kind.asks()
            && !entry.delivery.stranded
            && self.page_may_resume(now)
            && self.config.max_retries != Some(0);
        let again = match entry.lineage.earlier {
            _ if Self::is_kept_up(entry) => Again::Subscribe,
            Some(_) => Again::Earlier,
            None if self.session.handshake.is_message(call) => Again::Handshake,
            None if entry.delivery.stranded && !self.may_carry_over(now, call) => Again::No,
            None if self.may_reissue(now, call) => Again::Reissue,
            None if self.is_unsure(now, call) => Again::Unsure,
            None => Again::No,
        };
        let body = match stream.map(|stream| &stream.phase) {
            Some(Phase::Reading(_, Body::Refusal(..))) => Open::Refusal,
            Some(Phase::Reading(..)) => Open::Answer,
            _ => Open::None,
        };
        let has_floor = stream.is_some_and(|stream| stream.not_before > now);
        Some(Known {
            is_request: entry.request.kind == Kind::Request,
            again,
            is_stranded: entry.delivery.stranded,
            resumable: may_resume && stream.is_some_and(|stream| stream.cursor().is_some()),
            body,
            is_silent: stream.is_some_and(|stream| stream.race.is_silent()),
            broken: stream.map_or(0, |stream| stream.broken),
            passed: stream.is_some_and(|stream| stream.passed),
            barren: stream.map_or(0, |stream| stream.barren),
            misses: stream.map_or(0, |stream| stream.misses),
            failures: stream.map_or(0, |stream| stream.failures),
            max_retries: self.config.max_retries,
            was_refused: stream.is_some_and(|stream| stream.refused),
            may_ask: self.is_ready(),
            has_session: self.session.facts.session_id.is_some(),
            may_double: self.is_ready() && !entry.delivery.sent_beside && !has_floor,
            cause: entry.delivery.cause,
        })
    }

    /// Takes the step.
    pub(super) fn obey(&mut self, now: Instant, call: CallId, step: Step, known: &Known, loss: Loss<'_>) {
        // The user's own limit is what ended it.
        let limited = |reason| known.is_exhausted() && reason == Reason::RecoveryExhausted;
        match step {
            Step::Keep | Step::Promote => {}
            Step::Poll => self.wait_politely(now, call),
            Step::Resume { pace, asks } => {
                self.wait(now, call, pace);
                if asks {
                    self.ask_session(now);
                }
            }
            Step::Race(pace) => self.plan_race(now, call, pace),
            Step::Ask => {
                if let Some(stream) = self.stream(call).filter(|stream| !stream.is_open()) {
                    stream.phase = Phase::Asking;
                    self.set_clocks(now, call);
                }
                self.ask_session(now);
            }
            Step::GiveUp => self.give_up_silent(now, call),
            Step::Double => self.send_beside(now, call),
            Step::Wait(reason) => self.wait_for_earlier(now, call, reason),
            Step::Greet(reason) => self.greet_again(now, call, reason, loss.text, loss.floor),
            Step::Subscribe(reason) => self.subscribe_again(now, call, reason, loss.why, loss.floor),
            Step::Reissue(_) if known.is_stranded => self.leave_dead_session(now, call),
            Step::Reissue(reason) => {
                let why = if limited(reason) { DropCause::Network.into() } else { loss.why };
                self.reissue(now, call, reason, why, loss.floor);
            }
            Step::Doubt(reason) => self.doubt(now, call, reason, loss),
            Step::Learn => self.learn_hint(now, call),
            Step::Fail(reason) if limited(reason) => {
                let most = known.max_retries.unwrap_or_default();
                let text =
                    format!("{most} resumes in a row brought nothing new (reconnectionOptions.maxRetries)");
                self.fail(now, call, reason, &text);
            }
            Step::Fail(reason) => self.fail(now, call, reason, loss.text),
        }
    }
}
