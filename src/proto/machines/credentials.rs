//! Credentials: which are in use, who waits for others, and when a refusal is final.

use std::collections::VecDeque;
use std::time::Duration;

use serde::Serialize;

use crate::proto::time::Instant;
use crate::proto::CallId;

/// Why other credentials are asked for.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Challenge {
    /// The server answered 401.
    Unauthorized,
    /// It answered 403: `insufficient_scope`.
    StepUp,
}

/// So often others are asked for after a 401, for one call in all.
const MOST_PER_CALL: u32 = 3;
/// And for all calls of a session, within [`PERIOD`].
const MOST_PER_PERIOD: usize = 10;
const PERIOD: Duration = Duration::from_secs(60);

/// What a call has seen of credentials.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    /// Which its latest request was sent with.
    sent_with: u32,
    /// Which were refused, since a request with newer ones was accepted.
    refused: Option<u32>,
    /// How often others were asked for.
    refreshes: u32,
    /// How often more scope was.
    step_ups: usize,
}

impl Standing {
    /// A request of the call was accepted. That proves the credentials it was sent with, and no others.
    pub(crate) fn accepted(&mut self) {
        if self.refused.is_some_and(|refused| refused < self.sent_with) {
            self.refused = None;
        }
    }

    /// The same for a stream that stays open for days: others may be needed as often as it likes.
    pub(crate) fn accepted_for_good(&mut self) {
        self.accepted();
        if self.refused.is_none() {
            self.refreshes = 0;
        }
    }

    /// Others are asked for because of this call, if it may have that.
    fn count(&mut self, challenge: Challenge, most_step_ups: usize) -> Result<(), &'static str> {
        match challenge {
            Challenge::Unauthorized if self.refreshes == MOST_PER_CALL => Err(OFTEN),
            Challenge::Unauthorized => {
                self.refreshes += 1;
                Ok(())
            }
            Challenge::StepUp if self.step_ups >= most_step_ups => Err(""),
            Challenge::StepUp => {
                self.step_ups += 1;
                Ok(())
            }
        }
    }
}

const TWICE: &str = " to new credentials, too";
const OFTEN: &str = " again after three refreshes of the credentials";
const STORM: &str = " when the credentials had been refreshed ten times within a minute";

/// What a refused request does.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// There are other credentials already: it is made again.
    Again,
    /// It waits for others, which were asked for.
    Wait,
    /// It waits for others, and they are to be asked for now.
    Ask,
}

/// The credentials in use.
#[derive(Debug, Default)]
pub(crate) struct Credentials {
    /// So often more scope is asked for, for one call.
    most_step_ups: usize,
    /// Counts up when there are others.
    generation: u32,
    /// What others are being asked for.
    flight: Option<Challenge>,
    /// Who waits for that, and what for.
    waiting: Vec<(CallId, Challenge)>,
    /// When others were asked for after a 401.
    refreshes: VecDeque<Instant>,
}

impl Credentials {
    /// None have been asked for.
    pub(crate) fn new(most_step_ups: usize) -> Self {
        Self { most_step_ups, ..Self::default() }
    }

    /// A request of a call is sent.
    pub(crate) fn sent(&self, standing: &mut Standing) {
        standing.sent_with = self.generation;
    }

    /// A request of this call was refused: what it does now, or why that is final (for the end of a message).
    pub(crate) fn refused(
        &mut self,
        now: Instant,
        call: CallId,
        standing: &mut Standing,
        challenge: Challenge,
    ) -> Result<Then, &'static str> {
        if challenge == Challenge::Unauthorized {
            if standing.refused.is_some_and(|refused| refused != standing.sent_with) {
                return Err(TWICE);
            }
            standing.refused = Some(standing.sent_with);
        }
        if standing.sent_with != self.generation && self.flight.is_none() {
            return Ok(Then::Again);
        }
        self.join(now, call, standing, challenge)
    }

    /// Lets a call wait for others. Only what is asked for is counted: not what comes with somebody else's wish.
    pub(crate) fn join(
        &mut self,
        now: Instant,
        call: CallId,
        standing: &mut Standing,
        challenge: Challenge,
    ) -> Result<Then, &'static str> {
        let begins = self.flight.is_none();
        if begins && challenge == Challenge::Unauthorized && self.is_storm(now) {
            return Err(STORM);
        }
        if self.flight.is_none_or(|asked| asked == challenge) {
            standing.count(challenge, self.most_step_ups)?;
        }
        self.leave(call);
        self.waiting.push((call, challenge));
        if !begins {
            return Ok(Then::Wait);
        }
        self.flight = Some(challenge);
        if challenge == Challenge::Unauthorized {
            self.refreshes.push_back(now);
        }
        Ok(Then::Ask)
    }

    fn is_storm(&mut self, now: Instant) -> bool {
        while self.refreshes.front().is_some_and(|at| now.since(*at) >= PERIOD) {
            self.refreshes.pop_front();
        }
        self.refreshes.len() >= MOST_PER_PERIOD
    }

    /// Whether a call waits for others.
    pub(crate) fn awaits(&self, call: CallId) -> bool {
        self.waiting.iter().any(|(waiting, _)| *waiting == call)
    }

    /// A call waits no more.
    pub(crate) fn leave(&mut self, call: CallId) {
        self.waiting.retain(|(waiting, _)| *waiting != call);
    }

    /// What was asked for is there (`ok`), or is not to be had: what it was, and who waited for what. `None` where
    /// nothing was asked for.
    pub(crate) fn landed(&mut self, ok: bool) -> Option<(Challenge, Vec<(CallId, Challenge)>)> {
        let asked = self.flight.take()?;
        self.generation += u32::from(ok);
        Some((asked, std::mem::take(&mut self.waiting)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Challenge, Credentials, Standing, Then, OFTEN, STORM, TWICE};
    use crate::proto::time::Instant;
    use crate::proto::CallId;

    const NOW: Instant = Instant::from_micros(0);
    const A: CallId = CallId(1);
    const B: CallId = CallId(2);

    fn refused(
        credentials: &mut Credentials,
        call: CallId,
        standing: &mut Standing,
    ) -> Result<Then, &'static str> {
        credentials.refused(NOW, call, standing, Challenge::Unauthorized)
    }

    #[test]
    fn a_call_whose_new_credentials_are_refused_too_is_refused_for_good_and_the_next_call_asks_again() {
        let (mut credentials, mut a, mut b) =
            (Credentials::default(), Standing::default(), Standing::default());
        assert_eq!(refused(&mut credentials, A, &mut a), Ok(Then::Ask));
        assert_eq!(
            credentials.landed(true),
            Some((Challenge::Unauthorized, vec![(A, Challenge::Unauthorized)]))
        );
        credentials.sent(&mut a);
        assert_eq!(refused(&mut credentials, A, &mut a), Err(TWICE));
        credentials.sent(&mut b);
        assert_eq!(refused(&mut credentials, B, &mut b), Ok(Then::Ask));
    }

    #[test]
    fn only_what_was_sent_with_the_new_ones_proves_them() {
        let (mut credentials, mut a) = (Credentials::default(), Standing::default());
        refused(&mut credentials, A, &mut a).expect("asked");
        credentials.landed(true);
        a.accepted(); // A late head of a request with the old ones.
        credentials.sent(&mut a);
        assert_eq!(refused(&mut credentials, A, &mut a), Err(TWICE));
    }

    #[test]
    fn one_call_has_three_refreshes_and_all_together_ten_a_minute() {
        let mut credentials = Credentials::default();
        let mut round = |a: &mut Standing| {
            credentials.sent(a);
            a.accepted();
            let then = refused(&mut credentials, A, a);
            credentials.landed(true);
            then
        };
        let mut a = Standing::default();
        assert_eq!([0; 4].map(|_| round(&mut a)), [Ok(Then::Ask), Ok(Then::Ask), Ok(Then::Ask), Err(OFTEN)]);
        let others = [0; 8].map(|_| round(&mut Standing::default()));
        assert_eq!(others[..7], [Ok(Then::Ask); 7]);
        assert_eq!(others[7], Err(STORM));
    }

    #[test]
    fn what_was_sent_with_older_ones_goes_again_whatever_refused_it() {
        for challenge in [Challenge::Unauthorized, Challenge::StepUp] {
            let (mut credentials, mut late) = (Credentials::default(), Standing::default());
            refused(&mut credentials, A, &mut Standing::default()).expect("asked");
            credentials.landed(true);
            assert_eq!(credentials.refused(NOW, B, &mut late, challenge), Ok(Then::Again));
        }
    }
}
