//! Resumes that bring no headers: there are browsers that give these with the first byte, so a quiet server is asked
//! before its GET is given up (ARCHITECTURE.md, "Silence").

use super::ladder::Loss;
use super::replace::LOST;
use super::Client;
use crate::proto::error::Reason;
use crate::proto::event::{AttemptResult, DropCause};
use crate::proto::machines::recovery::Happened;
use crate::proto::stream::{Body, Events, Headers, Phase};
use crate::proto::time::Instant;
use crate::proto::timer::{Clock, Owner};
use crate::proto::{CallId, ExchangeId};

impl Client {
    /// The resume GET got no headers within `connectMs`, or the session did not say that it lives.
    pub(super) fn on_resume_timeout(&mut self, now: Instant, call: CallId) {
        if self.ledger.peek(call).is_some_and(|entry| entry.delivery.stranded) {
            return self.fail_request(now, call, Reason::SessionLost, LOST);
        }
        if !self.ask_for_headers(now, call) {
            self.on_resume_missed(now, call);
        }
    }

    /// Asks the session about a resume without headers, and gives it as much time again. Whether it does: once is enough.
    fn ask_for_headers(&mut self, now: Instant, call: CallId) -> bool {
        let is_ready = self.is_ready();
        let Some(entry) = self.ledger.get(call).filter(|_| is_ready) else { return false };
        let at = now + entry.request.timeouts.connect;
        let headers = entry.lineage.stream.as_mut().and_then(|stream| stream.headers());
        let Some(headers) = headers.filter(|headers| **headers == Headers::Due) else { return false };
        *headers = Headers::AskedFor;
        self.timers.set(Owner::Call(call), Clock::Connect, at);
        self.ask_session(now);
        true
    }

    /// The session was asked about a resume without headers. If it lives, the GET is kept and counts as open.
    pub(super) fn on_headers_asked(&mut self, now: Instant, call: CallId, is_alive: bool) {
        if !is_alive {
            return self.on_resume_missed(now, call);
        }
        self.timers.stop(Owner::Call(call), Clock::Connect);
        if let Some(attempt) = self.last_attempt(call) {
            attempt.result = AttemptResult::Empty;
        }
        let Some(stream) = self.stream(call) else { return };
        stream.failures = 0;
        if let Phase::Resuming(exchange, _) = stream.phase {
            return self.keep_quiet(now, call, exchange);
        }
        stream.race.is_kept();
        if stream.race.is_silent() {
            self.rearm_idle(now, call);
        }
    }

    /// This GET is the call's stream, and its headers are still to come.
    pub(super) fn keep_quiet(&mut self, now: Instant, call: CallId, exchange: ExchangeId) {
        let events = Events::quiet(now, self.decoder());
        let Some(stream) = self.stream(call) else { return };
        stream.phase = Phase::Reading(exchange, Body::Events(Box::new(events)));
        stream.paused = false;
        stream.fed_at = now;
        self.rearm_idle(now, call);
        self.set_clocks(now, call);
    }

    /// Headers came on a resume that counted as open: it is one like any other, and what raced it gives way.
    pub(super) fn end_quiet(&mut self, call: CallId) {
        let Some(stream) = self.stream(call).filter(|stream| stream.is_quiet()) else { return };
        let Phase::Reading(exchange, _) = stream.phase else { return };
        stream.phase = Phase::Resuming(exchange, Headers::Due);
        self.timers.stop(Owner::Call(call), Clock::Idle);
        self.end_race(call);
    }

    /// The resume GET is given up.
    fn on_resume_missed(&mut self, now: Instant, call: CallId) {
        if self.stream(call).is_some_and(|stream| stream.race.exchange().is_some()) {
            return self.on_hedge_unanswered(now, call, AttemptResult::Timeout);
        }
        let Some(&Phase::Resuming(exchange, _)) = self.stream(call).map(|stream| &stream.phase) else {
            return;
        };
        self.abort(exchange);
        self.timers.stop(Owner::Call(call), Clock::Connect);
        if let Some(attempt) = self.last_attempt(call) {
            attempt.result = AttemptResult::Timeout;
        }
        self.unanswered(now, Some(call));
        self.happens(now, call, Happened::Missed, Loss::new(DropCause::Network, ""));
        self.send_queued(now);
    }
}
