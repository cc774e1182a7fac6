//! Liveness: whether the session lives, as its pings tell. Where they fail a handshake is tried beside it: that tells
//! whether the server is unwell, or the session dead.

use std::time::Duration;

use crate::proto::error::Reason;
use crate::proto::event::Settlement;
use crate::proto::facts::Offer;
use crate::proto::time::Instant;
use crate::proto::CallId;

/// So many pings in a row fail before a handshake is tried.
const FAILURES_TO_TRY: u32 = 2;
/// Between two trials, at least.
const SPACING: Duration = Duration::from_secs(60);

/// What a ping brought.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pong {
    Answered,
    /// The network refused it.
    Cut,
    /// It failed, though somebody is there.
    Failed,
    /// It says nothing of the session.
    Unknown,
}

impl Pong {
    /// `is_busy`: the server works for a call of ours, and whoever does may be too busy for a ping.
    pub(crate) fn of(settlement: &Settlement, is_busy: bool) -> Self {
        let Settlement::Failed(failure) = settlement else { return Self::Answered };
        match (failure.reason, failure.diagnostics.last_status) {
            (Reason::NetworkError, _) => Self::Cut,
            (Reason::ConnectTimeout, _) | (_, Some(408 | 504)) if is_busy => Self::Unknown,
            (Reason::StreamLost, _) | (_, Some(409 | 429 | 503)) => Self::Unknown,
            _ => Self::Failed,
        }
    }
}

/// What follows from a ping.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The session lives.
    Alive,
    /// It is dead.
    Dead,
    /// Nothing is known, and nobody waits for that any more. It is asked again then, if at all.
    Unknown { ask_at: Option<Instant> },
    /// The network refused two pings in a row: what is silent is dead.
    CutOff,
    /// Whoever waits goes on waiting: it is asked again then.
    AskAt(Instant),
    /// Whoever waits goes on waiting: a handshake is tried, [`Liveness::tries`].
    Try,
}

/// A handshake beside a session whose pings fail: how far it is.
#[derive(Debug)]
pub(crate) enum Trial {
    /// `initialize` is under way.
    Initializing(CallId),
    /// A ping in the offered session is under way: does this server answer pings at all?
    Pinging(CallId, Offer),
    /// The server is well: the next ping decides.
    Proven(Offer),
}

/// What a ping in an offered session means.
#[derive(Debug)]
pub(crate) enum Proof {
    /// The server is well: the session in use is asked once more.
    Well,
    /// It answers no pings there either: the offer is given back.
    None(Offer),
}

/// What is known of the life of one session.
#[derive(Debug, Default)]
pub(crate) struct Liveness {
    /// The ping under way; one for all calls.
    probe: Option<CallId>,
    asked_at: Instant,
    /// When the ping was sent that met the network's refusal first, with no HTTP answer since.
    cut: Option<Instant>,
    /// Pings in a row that failed, and no request was accepted between them.
    failed: u32,
    /// The next ping is the second word on a failed one: it is not followed by a third for that reason.
    asks_again: bool,
    /// A call ended in a timeout, and the session was not asked since.
    suspect: bool,
    trial: Option<Trial>,
    /// No other trial before this.
    next_trial: Instant,
}

impl Liveness {
    /// Another session is in use. What was begun beside the old one, and how often that may be done, stays.
    pub(crate) fn reset(&mut self) {
        let (asked_at, next_trial) = (self.asked_at, self.next_trial);
        *self = Self { asked_at, next_trial, trial: self.trial.take(), ..Self::default() };
    }

    /// A call ended in a timeout: the next one waits until the session was asked.
    pub(crate) fn doubt(&mut self) {
        self.suspect = true;
    }

    pub(crate) fn is_suspect(&self) -> bool {
        self.suspect
    }

    /// HTTP was answered, whatever it said.
    pub(crate) fn http_answered(&mut self) {
        self.cut = None;
    }

    /// The session took a request.
    pub(crate) fn accepted(&mut self) {
        self.failed = 0;
    }

    /// Whether a ping is of use: none is under way, and no trial that will ask for one.
    pub(crate) fn may_ask(&self) -> bool {
        self.probe.is_none() && !matches!(self.trial, Some(Trial::Initializing(_) | Trial::Pinging(..)))
    }

    /// This ping was sent.
    pub(crate) fn asks(&mut self, now: Instant, probe: CallId) {
        (self.probe, self.asked_at) = (Some(probe), now);
    }

    pub(crate) fn is_probe(&self, call: CallId) -> bool {
        self.probe == Some(call)
    }

    /// The ping is over. `again`: between two of them, at least. `may_try`: the session may be replaced now.
    pub(crate) fn heard(&mut self, now: Instant, pong: Pong, again: Duration, may_try: bool) -> Verdict {
        self.probe = None;
        let cut = self.cut.take().unwrap_or(self.asked_at);
        self.cut = (pong == Pong::Cut).then_some(cut);
        let is_second_word = std::mem::take(&mut self.asks_again);
        let failed = pong == Pong::Failed;
        match pong {
            Pong::Answered => self.failed = 0,
            Pong::Failed => self.failed += 1,
            Pong::Cut | Pong::Unknown => {}
        }
        if self.trial.is_some() {
            if failed && self.failed > FAILURES_TO_TRY {
                return Verdict::Dead;
            }
        } else if failed && may_try && self.next_trial <= now {
            if self.failed >= FAILURES_TO_TRY {
                self.next_trial = now + SPACING;
                return Verdict::Try;
            }
            // If it is: the session took a request meanwhile, so it was no second failure in a row.
            if !is_second_word {
                self.asks_again = true;
                return Verdict::AskAt(self.asked_at + again);
            }
        }
        self.suspect = false;
        match pong {
            Pong::Answered => Verdict::Alive,
            // Two refusals in one breath are one: others may have asked meanwhile.
            Pong::Cut if self.asked_at >= cut + again => Verdict::CutOff,
            Pong::Cut => Verdict::Unknown { ask_at: Some(cut + again) },
            Pong::Failed | Pong::Unknown => Verdict::Unknown { ask_at: None },
        }
    }

    /// `initialize` of a trial was sent.
    pub(crate) fn tries(&mut self, initialize: CallId) {
        self.trial = Some(Trial::Initializing(initialize));
    }

    /// Whether it is being tried if the server begins another session.
    pub(crate) fn is_trying(&self) -> bool {
        self.trial.is_some()
    }

    /// Whether this call is the `initialize` of a trial.
    pub(crate) fn is_trial(&self, call: CallId) -> bool {
        matches!(self.trial, Some(Trial::Initializing(trial)) if trial == call)
    }

    /// The trial is over, or what it has is used.
    pub(crate) fn take_trial(&mut self) -> Option<Trial> {
        self.trial.take()
    }

    /// The server offered a session. Whether a ping is to prove it: the session in use is still in doubt.
    pub(crate) fn wants_proof(&self) -> bool {
        self.failed >= FAILURES_TO_TRY
    }

    /// This ping was sent in the offered session.
    pub(crate) fn proves(&mut self, ping: CallId, offer: Offer) {
        self.trial = Some(Trial::Pinging(ping, offer));
    }

    /// A ping in the offered session is over; `None` where it is not the one that matters.
    pub(crate) fn proven(&mut self, ping: CallId, answered: bool) -> Option<Proof> {
        match self.trial.take() {
            Some(Trial::Pinging(pending, offer)) if pending == ping && answered => {
                self.trial = Some(Trial::Proven(offer));
                Some(Proof::Well)
            }
            Some(Trial::Pinging(pending, offer)) if pending == ping => Some(Proof::None(offer)),
            other => {
                self.trial = other;
                None
            }
        }
    }

    /// A trial proved nothing.
    pub(crate) fn no_verdict(&mut self) -> Verdict {
        self.suspect = false;
        Verdict::Unknown { ask_at: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::facts::Identity;

    const AGAIN: Duration = Duration::from_secs(5);
    const PING: CallId = CallId(1);
    const TRIAL: CallId = CallId(2);

    fn at(seconds: u32) -> Instant {
        Instant::from_millis(f64::from(seconds) * 1_000.0)
    }

    fn offer() -> Offer {
        Offer { identity: Identity::default(), greeting: String::new() }
    }

    fn asked() -> Liveness {
        let mut liveness = Liveness::default();
        liveness.asks(at(100), PING);
        liveness
    }

    fn hears(liveness: &mut Liveness, pong: Pong) -> Verdict {
        liveness.heard(at(101), pong, AGAIN, true)
    }

    /// Two pings failed, the server offered another session, and a ping came back there.
    fn proven() -> Liveness {
        let mut liveness = asked();
        hears(&mut liveness, Pong::Failed);
        assert_eq!(hears(&mut liveness, Pong::Failed), Verdict::Try);
        liveness.tries(TRIAL);
        assert!(liveness.is_trial(TRIAL) && !liveness.may_ask() && liveness.wants_proof());
        liveness.proves(PING, offer());
        assert!(!liveness.may_ask());
        assert!(matches!(liveness.proven(PING, true), Some(Proof::Well)));
        assert!(liveness.may_ask());
        liveness
    }

    #[test]
    fn pings_in_a_row_and_what_follows_from_the_last() {
        use Pong::{Answered, Cut, Failed, Unknown};
        let unknown = Verdict::Unknown { ask_at: None };
        let soon = Verdict::Unknown { ask_at: Some(at(105)) };
        let cases: [(&[Pong], Verdict); 10] = [
            (&[Answered], Verdict::Alive),
            (&[Unknown], unknown),
            (&[Unknown, Unknown, Unknown], unknown),
            (&[Cut], soon),
            (&[Cut, Cut], soon),
            (&[Cut, Unknown, Cut], soon),
            (&[Failed], Verdict::AskAt(at(105))),
            (&[Failed, Failed], Verdict::Try),
            (&[Failed, Answered, Failed], Verdict::AskAt(at(105))),
            (&[Failed, Cut, Failed], Verdict::Try),
        ];
        for (pongs, verdict) in cases {
            let mut liveness = asked();
            let last = pongs.iter().map(|pong| hears(&mut liveness, *pong)).last();
            assert_eq!(last, Some(verdict), "{pongs:?}");
        }
    }

    #[test]
    fn the_network_refuses_for_good_when_it_does_so_twice_and_not_in_one_breath() {
        for (seconds, verdict) in [
            (104, Verdict::Unknown { ask_at: Some(at(105)) }),
            (105, Verdict::CutOff),
            (200, Verdict::CutOff),
        ] {
            let mut liveness = asked();
            hears(&mut liveness, Pong::Cut);
            liveness.asks(at(seconds), PING);
            assert_eq!(liveness.heard(at(seconds), Pong::Cut, AGAIN, true), verdict, "{seconds}");
        }
    }

    #[test]
    fn what_happens_between_two_pings_counts() {
        type Between = fn(&mut Liveness);
        let cases: [(Pong, Between, Verdict); 3] = [
            (Pong::Cut, Liveness::http_answered, Verdict::Unknown { ask_at: Some(at(110)) }),
            // A request was taken: the second failure is a first one again, and no third ping is made for it.
            (Pong::Failed, Liveness::accepted, Verdict::Unknown { ask_at: None }),
            (Pong::Failed, Liveness::reset, Verdict::AskAt(at(110))),
        ];
        for (pong, between, verdict) in cases {
            let mut liveness = asked();
            hears(&mut liveness, pong);
            between(&mut liveness);
            liveness.asks(at(105), PING);
            assert_eq!(hears(&mut liveness, pong), verdict, "{pong:?}");
        }
    }

    #[test]
    fn nothing_is_tried_where_the_session_may_not_be_replaced_or_was_tried_a_moment_ago() {
        let mut liveness = asked();
        for _ in 0..4 {
            let verdict = liveness.heard(at(101), Pong::Failed, AGAIN, false);
            assert_eq!(verdict, Verdict::Unknown { ask_at: None });
        }
        let mut liveness = proven();
        liveness.take_trial();
        for (second, verdict) in [(160, Verdict::Unknown { ask_at: None }), (161, Verdict::Try)] {
            assert_eq!(liveness.heard(at(second), Pong::Failed, AGAIN, true), verdict, "{second}");
        }
    }

    #[test]
    fn where_the_server_is_well_the_next_ping_decides() {
        let cases = [
            (Pong::Failed, Verdict::Dead),
            (Pong::Answered, Verdict::Alive),
            (Pong::Unknown, Verdict::Unknown { ask_at: None }),
            (Pong::Cut, Verdict::Unknown { ask_at: Some(at(105)) }),
        ];
        for (pong, verdict) in cases {
            let mut liveness = proven();
            assert_eq!(hears(&mut liveness, pong), verdict);
            assert!(matches!(liveness.take_trial(), Some(Trial::Proven(_))), "it is used, or given back");
        }
        let mut liveness = proven();
        liveness.accepted();
        assert_eq!(hears(&mut liveness, Pong::Failed), Verdict::Unknown { ask_at: None });
    }

    #[test]
    fn a_server_that_answers_no_ping_in_a_new_session_either_proves_nothing() {
        let mut liveness = asked();
        liveness.tries(TRIAL);
        liveness.proves(PING, offer());
        assert!(liveness.proven(TRIAL, true).is_none(), "another call");
        assert!(matches!(liveness.proven(PING, false), Some(Proof::None(_))));
        assert!(!liveness.is_trying());
        assert!(liveness.proven(PING, true).is_none());
    }

    #[test]
    fn a_suspicion_ends_with_a_verdict_and_with_the_session() {
        type Over = fn(&mut Liveness);
        let cases: [(Over, bool); 5] = [
            (|liveness| _ = hears(liveness, Pong::Answered), false),
            (|liveness| _ = hears(liveness, Pong::Unknown), false),
            (|liveness| _ = hears(liveness, Pong::Failed), true),
            (|liveness| _ = liveness.no_verdict(), false),
            (Liveness::reset, false),
        ];
        for (place, (over, suspect)) in cases.into_iter().enumerate() {
            let mut liveness = asked();
            liveness.doubt();
            over(&mut liveness);
            assert_eq!(liveness.is_suspect(), suspect, "case {place}");
        }
    }
}
