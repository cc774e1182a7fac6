//! Requests that were refused for their credentials, and what waits for others: one flight for all.

use super::{Challenge, Client, Output};
use crate::proto::error::Reason;
use crate::proto::http::ResponseHead;
use crate::proto::machines::credentials::Then;
use crate::proto::machines::redirect::Hop;
use crate::proto::stream::{Phase, Resend, Stream};
use crate::proto::time::Instant;
use crate::proto::timer::{Clock, Owner};
use crate::proto::CallId;

impl Client {
    /// A request was refused for its credentials, where others can be had: it waits for them. Else why that is final, as
    /// the end of a message. `resend` is the request; none is the resume beside a silent body.
    pub(super) fn reauthorize(
        &mut self,
        now: Instant,
        call: CallId,
        head: &ResponseHead,
        resend: Option<Resend>,
    ) -> Result<(), &'static str> {
        let Some(entry) = self.ledger.get(call).filter(|_| self.config.auth) else { return Err("") };
        let challenge = match head.status {
            401 => Challenge::Unauthorized,
            403 if head.insufficient_scope => Challenge::StepUp,
            _ => return Err(""),
        };
        let then = self.credentials.refused(now, call, &mut entry.delivery.credentials, challenge)?;
        self.await_credentials(now, call, resend);
        match then {
            Then::Again => self.send_again(now, call),
            Then::Wait => {}
            Then::Ask => self.ask_provider(now, call, challenge),
        }
        Ok(())
    }

    /// The call's stream waits. A silent body is read on: only the resume beside it waits.
    fn await_credentials(&mut self, now: Instant, call: CallId, resend: Option<Resend>) {
        let Some((entry, resend)) = self.ledger.get(call).zip(resend) else { return };
        let ids = &self.session.ids;
        let stream = entry.lineage.stream.get_or_insert_with(|| Stream::waiting(ids));
        stream.phase = Phase::Held(resend);
        self.stop_timers_of_stream(call);
        self.timers.stop(Owner::Call(call), Clock::Handshake);
        self.set_clocks(now, call);
    }

    fn ask_provider(&mut self, now: Instant, call: CallId, challenge: Challenge) {
        let whose = self.ledger.peek(call).and_then(|entry| entry.request.on_behalf).unwrap_or(call);
        self.outputs.push_back(Output::Authorize(whose, challenge));
        self.timers.set(Owner::Session, Clock::Handshake, now + self.config.timeouts.handshake);
    }

    /// What [`Output::Authorize`] asked for is there (`ok`), or is not to be had.
    pub fn authorized(&mut self, now: Instant, ok: bool) {
        self.begin(now);
        let Some((asked, waiting)) = self.credentials.landed(ok) else { return };
        self.timers.stop(Owner::Session, Clock::Handshake);
        for (call, challenge) in waiting {
            match (ok, challenge == asked) {
                (true, _) => self.send_again(now, call),
                (false, true) => self.on_no_credentials(now, call, challenge),
                (false, false) => self.ask_instead(now, call, challenge),
            }
        }
    }

    /// What others asked for is not to be had: this call wants something else.
    fn ask_instead(&mut self, now: Instant, call: CallId, challenge: Challenge) {
        let Some(entry) = self.ledger.get(call) else { return };
        match self.credentials.join(now, call, &mut entry.delivery.credentials, challenge) {
            Ok(Then::Ask) => self.ask_provider(now, call, challenge),
            Ok(_) => {}
            Err(_) => self.on_no_credentials(now, call, challenge),
        }
    }

    fn on_no_credentials(&mut self, now: Instant, call: CallId, challenge: Challenge) {
        match challenge {
            Challenge::Unauthorized => {
                let text = "the server wants credentials, and there are none that it may accept";
                self.give_up_waiting(now, call, Reason::Unauthorized, text);
            }
            Challenge::StepUp => {
                let text = "the server wants more scope, and it was not given";
                self.give_up_waiting(now, call, Reason::Forbidden, text);
            }
        }
    }

    /// The provider took longer than `handshakeMs`.
    pub(super) fn on_credentials_late(&mut self, now: Instant) {
        let Some((_, waiting)) = self.credentials.landed(false) else { return };
        let clock = self.config.timeouts.named(Clock::Handshake);
        let text = format!("the provider gave no credentials within {clock}");
        for (call, _) in waiting {
            self.give_up_waiting(now, call, Reason::ConnectTimeout, &text);
        }
    }

    /// A body that is open may still bring the answer: as after any other refusal of a resume beside it, the session is
    /// asked.
    fn give_up_waiting(&mut self, now: Instant, call: CallId, reason: Reason, text: &str) {
        match self.stream(call).map(|stream| &stream.phase) {
            Some(Phase::Held(_)) => self.fail_request(now, call, reason, text),
            Some(Phase::Reading(..)) => self.ask_session(now),
            _ => {}
        }
    }

    /// The same request with other credentials.
    fn send_again(&mut self, now: Instant, call: CallId) {
        match self.stream(call).map(|stream| &stream.phase) {
            Some(Phase::Held(_)) => self.resend_held(now, call, Hop::default()),
            Some(Phase::Reading(..)) => self.race(now, call),
            _ => {}
        }
    }
}
