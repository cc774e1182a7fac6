//! The one way out: every call leaves the ledger through here, once.

use super::{Client, Output};
use crate::proto::error::{Outcome, Reason};
use crate::proto::event::{Event, Failure, Settlement};
use crate::proto::http::{IoFailure, Reach};
use crate::proto::ledger::{Call, Kind};
use crate::proto::machines::detection::Probe;
use crate::proto::machines::dialect::CancelBy;
use crate::proto::stream::{Body, Phase};
use crate::proto::time::Instant;
use crate::proto::timer::{Clock, Owner};
use crate::proto::CallId;

/// So many characters of a runtime's code are shown.
const MOST_CODE: usize = 64;

impl Client {
    /// Ends a call with an outcome. A no-op for one that ended.
    pub(super) fn settle(&mut self, now: Instant, call: CallId, settlement: Settlement) {
        self.skip_failed(now, call);
        self.tell_warned(now, call);
        self.keep_unreported(call);
        let Some(mut entry) = self.release(now, call) else { return };
        match entry.request.kind {
            kind if kind.is_callers() => {
                self.stats.answered += u64::from(kind == Kind::Request);
                self.heed(now, &entry, &settlement);
                self.outputs.push_back(Output::Settle(call, now, settlement));
                self.listen_if_confirmed(now, &entry);
                self.keep_answered(call, entry);
            }
            Kind::Initialize => {
                if let Settlement::Result { message, .. } = settlement {
                    let text = self.text(message).to_string();
                    let identity = entry.delivery.identity.take().unwrap_or_default();
                    match self.session.liveness.is_trial(call) {
                        true => self.on_trial_answer(now, text, identity),
                        false if entry.request.method == Probe::Discover.name() => {
                            self.on_discovered(now, *entry, text);
                        }
                        false => self.on_initialize_answer(now, *entry, text, identity),
                    }
                }
            }
            kind => self.on_own_settled(now, call, kind, settlement),
        }
        self.send_queued(now);
    }

    /// Ends a call without an answer. A no-op for one that ended.
    pub(super) fn fail(&mut self, now: Instant, call: CallId, reason: Reason, text: &str) {
        if self.session.liveness.is_trial(call) {
            return self.on_trial_failed(now, call);
        }
        self.skip_failed(now, call);
        self.tell_warned(now, call);
        self.keep_unreported(call);
        self.note_given_up(call);
        let Some(mut entry) = self.release(now, call) else { return };
        if entry.request.kind == Kind::Initialize {
            self.give_back(now, entry.delivery.identity.take().unwrap_or_default());
        }
        let (kind, delivery, wire_id) = (entry.request.kind, entry.outcome(), entry.wire_id().clone());
        let (tells, is_stranded) = (Self::should_tell(&entry, reason), entry.delivery.stranded);
        let (why, answers) = (entry.delivery.cancel_reason.clone(), entry.request.answers);
        let hung = matches!(reason, Reason::FirstByteTimeout | Reason::IdleTimeout | Reason::CallTimeout);
        if kind == Kind::Request && hung && self.is_ready() && !is_stranded {
            self.session.liveness.doubt();
        }
        if kind == Kind::Request {
            let recovered = !entry.diagnostics.attempts.is_empty();
            self.stats.on_failed(reason, delivery, recovered);
        }
        let cancels = entry.task.as_deref().filter(|_| reason == Reason::Cancelled);
        let cancels = cancels.map(|task| self.task_entry(now, &entry, "tasks/cancel", &task.params(None)));
        let failure = self.failure(now, *entry, reason, text);
        let settlement = Settlement::Failed(Box::new(failure));
        if kind.is_callers() {
            self.outputs.push_back(Output::Settle(call, now, settlement));
        } else {
            self.on_own_settled(now, call, kind, settlement);
        }
        if let Some(during) = answers {
            let message = format!("our answer to a question of the server's was not taken: {text}");
            self.call_event(now, during, Event::Warning { code: "answer_refused", message });
        }
        if tells {
            self.send_cancelled(now, &wire_id, why.as_deref());
        }
        if let Some(message) = cancels {
            self.cancel_task(now, message);
        }
        self.send_queued(now);
    }

    /// Server text fit for the message of a failure: also without words that callers look for, unless they are what
    /// happened.
    pub(super) fn said(&self, text: &str, status: u16) -> String {
        let mut said = self.fit(text);
        for (word, meant) in [("401", 401), ("404", 404), ("405", 405), ("Unauthorized", 401)] {
            if status != meant {
                said = said.replace(word, "...");
            }
        }
        said
    }

    /// Why fetch failed, in its own words and with the runtime's code. What follows a `?` may be a query.
    pub(super) fn network_text(&self, failure: &IoFailure) -> String {
        let words = failure.message.split(' ').map(|word| match word.split_once('?') {
            Some((path, query)) if !query.is_empty() => path,
            _ => word,
        });
        let said = self.said(&words.collect::<Vec<_>>().join(" "), 0);
        match (failure.reach(), failure.code.as_str()) {
            (Reach::Unknown, "") if self.is_unseen() => {
                format!("the request failed: {said}; the network failed, or the server sends no CORS headers")
            }
            (Reach::Unready | Reach::Late, _) | (_, "") => format!("the request failed: {said}"),
            (_, code) => {
                let code: String = self.fit(code).chars().take(MOST_CODE).collect();
                format!("the request failed: {said} ({code})")
            }
        }
    }

    /// Stops the timers that belong to a call's stream; those of the call run on.
    pub(super) fn stop_timers_of_stream(&mut self, call: CallId) {
        for clock in [Clock::Refusal, Clock::FirstByte, Clock::Idle, Clock::Connect, Clock::Wait] {
            self.timers.stop(Owner::Call(call), clock);
        }
    }

    /// Answers to the questions of a call that ended, and that wait to be sent again, are of no use any more.
    fn drop_waiting_answers(&mut self, now: Instant, call: CallId) {
        for answer in self.ledger.calls() {
            let waits = |entry: &Call| entry.request.answers == Some(call) && entry.lineage.stream.is_none();
            if !self.ledger.peek(answer).is_some_and(waits) {
                continue;
            }
            let released = self.release(now, answer);
            if released.is_some_and(|entry| entry.request.kind.is_callers()) {
                self.outputs.push_back(Output::Settle(answer, now, Settlement::Accepted));
            }
        }
    }

    /// A stream of ours is given up, and the server may not know.
    pub(super) fn note_given_up(&mut self, call: CallId) {
        let is_call = |entry: &&Call| entry.request.kind == Kind::Request;
        let Some(entry) = self.ledger.peek(call).filter(is_call) else { return };
        if let Some(stream) = entry.lineage.stream.as_ref().filter(|stream| !stream.gaps.has_prefix()) {
            stream.ids.gives_up_unseen();
        }
    }

    /// Counts what a stream that is still open brought.
    pub(super) fn close_open_stream(&mut self, now: Instant, call: CallId) {
        let Some(stream) = self.stream(call) else { return };
        let is_last = stream.race.exchange().is_none();
        if let Phase::Reading(_, Body::Events(events)) = &stream.phase {
            let brought = events.brought();
            self.close_attempt(now, call, brought, is_last);
        }
    }

    /// Takes a call out of every table: its exchange is aborted, its timers stop.
    pub(super) fn release(&mut self, now: Instant, call: CallId) -> Option<Box<Call>> {
        self.close_open_stream(now, call);
        let entry = self.ledger.close(call)?;
        if entry.request.kind == Kind::Request {
            let took = now.as_millis() - entry.diagnostics.started_at;
            self.stats.histograms.call_ms.record(took);
        }
        self.timers.release(Owner::Call(call));
        if let Some(next) = self.session.outage.gone(call) {
            self.timers.set(Owner::Call(next), Clock::Wait, now);
        }
        self.dispatch.gone(call);
        self.end_questions(call);
        self.credentials.leave(call);
        self.session.endpoint.gone(call);
        self.drop_waiting_answers(now, call);
        if let Some(stream) = &entry.lineage.stream {
            for exchange in stream.exchange().into_iter().chain(stream.race.exchange()) {
                self.abort(exchange);
            }
        }
        if let Some(earlier) = &entry.lineage.earlier {
            self.abort(earlier.exchange);
        }
        for message in entry.task.iter().flat_map(|task| task.messages()) {
            self.release(now, message);
        }
        Some(entry)
    }

    pub(super) fn failure(&self, now: Instant, entry: Call, reason: Reason, text: &str) -> Failure {
        let outcome = entry.outcome();
        // Another handshake does no harm.
        let is_safe = matches!(entry.request.kind, Kind::Initialize | Kind::Handshake | Kind::Listen);
        let retry_safe = outcome != Outcome::Unknown || is_safe || self.is_safe(now, &entry);
        let mut diagnostics = entry.diagnostics;
        diagnostics.hint = diagnostics.hint.or_else(|| self.hint(reason, outcome, text));
        diagnostics.ended_at = now.as_millis();
        diagnostics.protocol_version.clone_from(&self.session.facts.protocol_version);
        let cursor = entry.lineage.stream.as_ref().and_then(|stream| stream.cursor.committed());
        diagnostics.last_event_id = cursor.map(|id| self.shown(id));
        for recent in &mut diagnostics.recent {
            recent.id = recent.id.take().map(|id| self.shown(&id));
        }
        let refusal = entry.delivery.attempt.refusal.filter(|_| is_refusal(reason));
        diagnostics.session = self.session.facts.session_id.as_deref().map(|id| self.shown(id));
        Failure {
            text: text.to_string(),
            method: entry.request.method,
            tool: entry.request.tool,
            reason,
            outcome,
            retry_safe,
            task_id: entry.task.map(|task| task.id().to_string()),
            http_status: refusal.as_ref().map(|refusal| refusal.status),
            body: refusal.map(|refusal| self.redacted(&refusal.body)),
            diagnostics,
        }
    }

    pub(super) fn cancel_call(&mut self, now: Instant, call: CallId) {
        let call = self.session.handshake.meant_by(call);
        self.fail(now, call, Reason::Cancelled, "cancelled by the caller");
    }

    /// Whether the server should be told that nobody waits any more: we gave up, and it may still be working. It is not
    /// where it answered or refused, where the session is gone, and where its POST met the network's error, as the word
    /// of it would. By what id it knows a stream that another client began is not known; a Client's own word goes out all
    /// the same.
    pub(super) fn should_tell(entry: &Call, reason: Reason) -> bool {
        let is_known = !entry.lineage.adopts || entry.delivery.cancel_reason.is_some();
        let by_notice = entry.request.dialect.cancel_by() == CancelBy::Notice;
        entry.request.kind == Kind::Request
            && is_known
            && !entry.delivery.stranded
            && by_notice
            && entry.outcome() == Outcome::Unknown
            && reason.gave_up()
    }
}

/// Whether a status is what ended the call.
fn is_refusal(reason: Reason) -> bool {
    matches!(reason, Reason::Unauthorized | Reason::Forbidden | Reason::HttpError | Reason::Redirected)
}
