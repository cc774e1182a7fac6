//! Credentials: one flight for all that were refused (ARCHITECTURE.md, "Sessions and eras").

use super::{Challenge, Client, Output};
use crate::proto::error::Reason;
use crate::proto::http::ResponseHead;
use crate::proto::machines::redirect::Hop;
use crate::proto::stream::{Phase, Resend, Stream};
use crate::proto::time::Instant;
use crate::proto::timer::{Clock, Owner};
use crate::proto::{CallId, ExchangeId};

/// What is known of the credentials in use.
#[derive(Debug, Default)]
pub(super) struct Credentials {
    /// Counts up when there are others.
    pub(super) generation: u32,
    /// They are new, and no request with them was accepted yet: another 401 is final.
    unproven: bool,
    /// Others are being asked for.
    in_flight: bool,
    /// Who waits for that.
    pub(super) waiting: Vec<(CallId, Challenge)>,
}

impl Credentials {
    /// A request was accepted.
    pub(super) fn accepted(&mut self) {
        self.unproven = false;
    }
}

impl Client {
    /// A request was refused for its credentials, where others can be had: it waits for them. Whether that was so.
    /// `resend` is the request.
    pub(super) fn reauthorize(
        &mut self,
        now: Instant,
        call: CallId,
        head: &ResponseHead,
        resend: Resend,
    ) -> bool {
        let Some(entry) = self.ledger.get(call).filter(|_| self.config.auth) else { return false };
        let is_current = entry.delivery.attempt.credentials == self.credentials.generation;
        let challenge = match head.status {
            401 if is_current && self.credentials.unproven => return false,
            401 => Challenge::Unauthorized,
            403 if head.insufficient_scope && entry.delivery.step_ups < self.config.max_step_ups => {
                Challenge::StepUp
            }
            _ => return false,
        };
        entry.delivery.step_ups += usize::from(challenge == Challenge::StepUp);
        let stream = entry.lineage.stream.get_or_insert_with(|| Stream::new(ExchangeId(0)));
        stream.phase = Phase::Held(resend);
        self.stop_timers_of_stream(call);
        self.timers.stop(Owner::Call(call), Clock::Handshake);
        self.set_clocks(now, call);
        if challenge == Challenge::Unauthorized && !is_current && !self.credentials.in_flight {
            self.resend_held(now, call, Hop::default()); // There are others already.
            return true;
        }
        self.credentials.waiting.push((call, challenge));
        if !std::mem::replace(&mut self.credentials.in_flight, true) {
            self.outputs.push_back(Output::Authorize(call, challenge));
            self.timers.set(Owner::Session, Clock::Handshake, now + self.config.timeouts.handshake);
        }
        true
    }

    /// What [`Output::Authorize`] asked for is there (`ok`), or is not to be had.
    pub fn authorized(&mut self, now: Instant, ok: bool) {
        self.begin();
        if !std::mem::take(&mut self.credentials.in_flight) {
            return;
        }
        self.timers.stop(Owner::Session, Clock::Handshake);
        if ok {
            self.credentials.generation += 1;
            self.credentials.unproven = true;
        }
        for (call, challenge) in std::mem::take(&mut self.credentials.waiting) {
            match (ok, challenge) {
                (true, _) => self.resend_held(now, call, Hop::default()),
                (false, Challenge::Unauthorized) => {
                    let text = "the server wants credentials, and there are none that it may accept";
                    self.fail(now, call, Reason::Unauthorized, text);
                }
                (false, Challenge::StepUp) => {
                    let text = "the server wants more scope, and it was not given";
                    self.fail(now, call, Reason::Forbidden, text);
                }
            }
        }
    }

    /// The provider took longer than `handshakeMs`.
    pub(super) fn on_credentials_late(&mut self, now: Instant) {
        self.credentials.in_flight = false;
        for (call, _) in std::mem::take(&mut self.credentials.waiting) {
            let text = "the provider gave no credentials within handshakeMs";
            self.fail(now, call, Reason::ConnectTimeout, text);
        }
    }
}
