//! Recovery: the ladder as a table. What happened to a call, and what is known of it, decide its next step.

use crate::proto::error::Reason;
use crate::proto::event::DropCause;

/// After so many failures in a row that say nothing of the session, it is asked.
const FAILURES_TO_ASK: u32 = 2;

/// What happened to a call.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Happened {
    /// Its event stream ended without the answer. `moved`: it had moved the cursor; `hedged`: a resume is open beside it.
    Dropped { cause: DropCause, moved: bool, hedged: bool },
    /// Its body brought no byte within `idleMs`. `free`: a connection is free.
    Silent { free: bool },
    /// Its resume was refused with this status; `redirected`: by where a redirect led to.
    Refused { status: u16, redirected: bool },
    /// Its resume met a network error.
    Unanswered,
    /// Its resume got no headers within `connectMs`, and the session, which was asked, did not say that it lives.
    Missed,
    /// `callMs` ends it in `connectMs`.
    EndsSoon,
    /// The resume beside its silent body was of no use.
    HedgeFailed,
    /// The resume beside its silent body found that the server still holds that.
    Held,
    /// The session was asked about it, and lives.
    Lives,
    /// It waited until the session was asked, which is not dead.
    Asked,
    /// Its latest request failed in a way that another would meet, too.
    Failed(Reason),
    /// Its request is lost for good.
    Lost(Reason),
    /// `recoveryMs` is over.
    TimeUp,
}

/// What is known of a call.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    /// Whether it is a caller's.
    pub(crate) is_request: bool,
    /// What it may do once its request is lost.
    pub(crate) again: Again,
    /// Its session is dead.
    pub(crate) is_stranded: bool,
    /// Whether it has a cursor, and may use it.
    pub(crate) resumable: bool,
    /// What its body is, if one is open.
    pub(crate) body: Open,
    /// Its body is suspect.
    pub(crate) is_silent: bool,
    /// Broken copies of its last event.
    pub(crate) broken: u32,
    /// Its first event was broken and is given up, and nothing came since.
    pub(crate) passed: bool,
    /// Attempts in a row that brought nothing new; of which got no headers; of which say nothing of the session.
    pub(crate) barren: u32,
    pub(crate) misses: u32,
    pub(crate) failures: u32,
    /// `reconnectionOptions.maxRetries`.
    pub(crate) max_retries: Option<usize>,
    /// Its cursor was refused before though the session lived.
    pub(crate) was_refused: bool,
    /// The session can be asked.
    pub(crate) may_ask: bool,
    /// There is a session, that may be what a server does not know.
    pub(crate) has_session: bool,
    /// It may be sent again beside its silent body.
    pub(crate) may_double: bool,
    /// The first cause that made its stream unrecoverable.
    pub(crate) cause: Option<Reason>,
}

/// What body of a call is open.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Open {
    None,
    /// That of a refusal.
    Refusal,
    /// One that may bring the answer.
    Answer,
}

/// What a call may do once its request is lost.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// An earlier request of it can still answer.
    Earlier,
    /// It is a subscription that is kept up: one that was open, or our own.
    Subscribe,
    /// It is a message of the handshake: as long as somebody waits for that, it is made again.
    Handshake,
    /// It may be sent again.
    Reissue,
    /// It may be sent again if the server says that its tool may run twice, and was not asked for that yet.
    Unsure,
    No,
}

/// When a resume is made.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    AtOnce,
    /// After the server's hint, else our own backoff.
    Backoff,
}

/// What a call does next.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Waits for what is open.
    Keep,
    /// The server closed the stream itself and will go on (SEP-1699): no failure.
    Poll,
    /// The resume beside the old body takes its place.
    Promote,
    /// GETs the rest of its stream. `asks`: and asks the session meanwhile.
    Resume {
        pace: Pace,
        asks: bool,
    },
    /// Opens a resume beside its silent body.
    Race(Pace),
    /// Waits until the session was asked.
    Ask,
    /// Ends its body, which is judged as far as it came.
    GiveUp,
    /// Sends its request again, beside the silent body.
    Double,
    /// Waits for an earlier request; its latest is lost for this reason.
    Wait(Reason),
    /// Goes on with the handshake, after a wait.
    Greet(Reason),
    /// Subscribes again.
    Subscribe(Reason),
    /// Sends its request again.
    Reissue(Reason),
    /// Waits until the server was asked whether its tool may run twice; it is lost for this reason.
    Doubt(Reason),
    /// The same is asked, and it goes on meanwhile.
    Learn,
    Fail(Reason),
}

/// The ladder.
pub(crate) fn next(happened: Happened, known: &Known) -> Step {
    match happened {
        // Whatever ended it: nothing of it waits for an answer.
        Happened::Dropped { .. } if known.again == Again::Subscribe => Step::Subscribe(Reason::StreamLost),
        Happened::Dropped { .. } if known.broken > 1 || (known.broken == 1 && !known.resumable) => {
            Step::Fail(Reason::MalformedResponse)
        }
        // Nothing comes behind it: it was the answer.
        Happened::Dropped { cause: DropCause::End, .. } if known.passed && known.barren > 0 => {
            Step::Fail(Reason::MalformedResponse)
        }
        Happened::Dropped { hedged: true, .. } => Step::Promote,
        Happened::Dropped { .. } | Happened::Lost(_) if known.is_stranded => lost(Reason::SessionLost, known),
        Happened::Dropped { .. } if !known.resumable => lost(Reason::StreamLost, known),
        Happened::Dropped { cause: DropCause::End, moved: true, .. } => Step::Poll,
        Happened::Dropped { cause: DropCause::Idle, .. } if known.barren == 0 => {
            resume(happened, Pace::AtOnce, known)
        }
        Happened::Dropped { .. } => resume(happened, Pace::Backoff, known),

        Happened::Silent { .. } if known.body == Open::None => Step::Keep,
        Happened::Silent { .. } if known.body == Open::Refusal => Step::GiveUp,
        // There is nobody to ask.
        Happened::Silent { .. } if known.is_stranded => Step::GiveUp,
        Happened::Silent { free: true } if known.may_resume() && known.is_request => Step::Race(Pace::AtOnce),
        // The resume has the connection of the silent body.
        Happened::Silent { .. } if known.may_resume() => Step::GiveUp,
        Happened::Silent { .. } if known.is_request => Step::Ask,
        Happened::Silent { .. } => Step::Keep,
        Happened::EndsSoon if known.body == Open::Answer && known.may_resume() => Step::Race(Pace::AtOnce),
        Happened::EndsSoon => Step::Keep,
        // One beside a body that is not suspect was the last before the end of `callMs`.
        Happened::HedgeFailed if known.is_silent && known.may_resume() => Step::Race(Pace::Backoff),
        Happened::HedgeFailed => Step::Keep,
        Happened::Held if known.may_resume() => Step::GiveUp,
        // Its cursor was lost meanwhile: nothing else can bring its answer.
        Happened::Held => Step::Ask,

        // To a resume, after credentials were asked for where there is a provider.
        Happened::Refused { status: 401, .. } => Step::Fail(Reason::Unauthorized),
        Happened::Refused { status: 403, .. } => Step::Fail(Reason::Forbidden),
        // The event may be gone, or the session. Where that lives, a store shared by several servers may lag: once more.
        Happened::Refused { status: 400 | 404 | 410, .. }
            if known.has_session && !known.was_refused && known.may_ask =>
        {
            Step::Ask
        }
        Happened::Refused { status: 400 | 404 | 410, .. } => lost(Reason::ResumeRejected, known),
        Happened::Refused { status, .. } if passes(status) => resume(happened, Pace::Backoff, known),
        Happened::Refused { redirected: true, .. } => Step::Fail(Reason::Redirected),
        Happened::Refused { .. } => lost(Reason::ResumeRejected, known),
        Happened::Missed if known.misses == 1 => resume(happened, Pace::AtOnce, known),
        Happened::Unanswered | Happened::Missed | Happened::Asked => resume(happened, Pace::Backoff, known),

        // Resumes fail all the same: a call that may be sent again is not kept waiting, if nothing of it is open.
        Happened::Lives if known.failures >= FAILURES_TO_ASK && known.body == Open::None => {
            match known.again {
                Again::Reissue => Step::Reissue(Reason::RecoveryExhausted),
                Again::Unsure => Step::Learn,
                Again::Earlier | Again::Subscribe | Again::Handshake | Again::No => Step::Keep,
            }
        }
        Happened::Lives => Step::Keep,

        Happened::Failed(reason) => match known.again {
            Again::Earlier => Step::Wait(reason),
            Again::Subscribe | Again::Handshake | Again::Reissue | Again::Unsure | Again::No => {
                Step::Fail(reason)
            }
        },
        Happened::Lost(reason) => lost(reason, known),

        Happened::TimeUp if known.is_silent && known.may_double && known.again == Again::Reissue => {
            Step::Double
        }
        Happened::TimeUp if known.again == Again::Subscribe => Step::Subscribe(Reason::IdleTimeout),
        Happened::TimeUp => Step::Fail(match (known.cause, known.resumable) {
            (Some(cause), _) => cause,
            (None, true) => Reason::RecoveryExhausted,
            (None, false) => Reason::IdleTimeout,
        }),
    }
}

impl Happened {
    /// Whether it is an attempt in vain.
    pub(crate) fn is_barren(self) -> bool {
        match self {
            Self::Refused { status, .. } => passes(status),
            Self::Unanswered | Self::Missed | Self::HedgeFailed | Self::Asked => true,
            _ => false,
        }
    }

    /// Whether it is one that says nothing of the session: enough of these, and it is asked.
    pub(crate) fn says_nothing(self) -> bool {
        match self {
            Self::Unanswered | Self::Missed => true,
            Self::Refused { status, .. } => passes(status) && !matches!(status, 409 | 429 | 503),
            _ => false,
        }
    }
}

/// Statuses to a resume that pass.
fn passes(status: u16) -> bool {
    matches!(status, 408 | 409 | 425 | 429 | 500 | 502..=599)
}

fn resume(happened: Happened, pace: Pace, known: &Known) -> Step {
    match known.is_exhausted() {
        true => lost(Reason::RecoveryExhausted, known),
        false => {
            let was_asked = happened == Happened::Missed;
            let asks = happened.says_nothing() && !was_asked && known.failures >= FAILURES_TO_ASK;
            Step::Resume { pace, asks }
        }
    }
}

impl Known {
    /// Whether the user wants no more attempts in vain.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.max_retries.is_some_and(|most| usize::try_from(self.barren).is_ok_and(|barren| barren >= most))
    }

    fn may_resume(&self) -> bool {
        self.resumable && !self.is_exhausted()
    }
}

fn lost(reason: Reason, known: &Known) -> Step {
    match known.again {
        Again::Earlier => Step::Wait(reason),
        Again::Subscribe => Step::Subscribe(reason),
        Again::Handshake => Step::Greet(reason),
        Again::Reissue => Step::Reissue(reason),
        Again::Unsure if known.may_ask => Step::Doubt(reason),
        Again::Unsure | Again::No => Step::Fail(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A caller's stream with a cursor, and nothing else that is worth a word.
    const PLAIN: Known = Known {
        is_request: true,
        again: Again::No,
        is_stranded: false,
        resumable: true,
        body: Open::None,
        is_silent: false,
        broken: 0,
        passed: false,
        barren: 0,
        misses: 0,
        failures: 0,
        max_retries: None,
        was_refused: false,
        may_ask: true,
        has_session: true,
        may_double: true,
        cause: None,
    };
    const LOOSE: Known = Known { resumable: false, ..PLAIN };
    const SAFE: Known = Known { again: Again::Reissue, ..LOOSE };
    const WAIT: Step = Step::Resume { pace: Pace::Backoff, asks: false };
    const AT_ONCE: Step = Step::Resume { pace: Pace::AtOnce, asks: false };
    const WAIT_AND_ASK: Step = Step::Resume { pace: Pace::Backoff, asks: true };

    fn check(cases: &[(Happened, Known, Step)]) {
        for (happened, known, step) in cases {
            assert_eq!(next(*happened, known), *step, "{happened:?}\n{known:?}");
        }
    }

    const fn dropped(cause: DropCause, moved: bool, hedged: bool) -> Happened {
        Happened::Dropped { cause, moved, hedged }
    }

    #[test]
    fn a_stream_that_ended() {
        let (end, cut) = (dropped(DropCause::End, false, false), dropped(DropCause::Network, true, false));
        let (idle, polite) = (dropped(DropCause::Idle, true, false), dropped(DropCause::End, true, false));
        let hedged = dropped(DropCause::End, true, true);
        check(&[
            (cut, PLAIN, WAIT),
            (end, PLAIN, WAIT),
            (polite, PLAIN, Step::Poll),
            (idle, PLAIN, AT_ONCE),
            (idle, Known { barren: 1, ..PLAIN }, WAIT),
            (hedged, PLAIN, Step::Promote),
            (hedged, LOOSE, Step::Promote),
            (cut, LOOSE, Step::Fail(Reason::StreamLost)),
            (polite, LOOSE, Step::Fail(Reason::StreamLost)),
            (cut, SAFE, Step::Reissue(Reason::StreamLost)),
            (cut, Known { again: Again::Earlier, ..LOOSE }, Step::Wait(Reason::StreamLost)),
            (cut, Known { again: Again::Subscribe, ..LOOSE }, Step::Subscribe(Reason::StreamLost)),
            (cut, Known { again: Again::Handshake, ..LOOSE }, Step::Greet(Reason::StreamLost)),
            (cut, Known { broken: 1, ..PLAIN }, WAIT),
            (cut, Known { broken: 2, ..PLAIN }, Step::Fail(Reason::MalformedResponse)),
            (cut, Known { broken: 1, ..SAFE }, Step::Fail(Reason::MalformedResponse)),
            (end, Known { broken: 1, passed: true, ..PLAIN }, WAIT),
            (cut, Known { broken: 1, passed: true, barren: 1, ..PLAIN }, WAIT),
            (
                end,
                Known { broken: 1, passed: true, barren: 1, ..PLAIN },
                Step::Fail(Reason::MalformedResponse),
            ),
            (cut, Known { failures: 5, ..PLAIN }, WAIT),
        ]);
    }

    #[test]
    fn what_is_open_of_a_dead_session() {
        let stranded = Known { is_stranded: true, body: Open::Answer, ..LOOSE };
        let safe = Known { again: Again::Reissue, ..stranded };
        let (cut, lost) = (dropped(DropCause::Network, false, false), Reason::SessionLost);
        check(&[
            (cut, stranded, Step::Fail(lost)),
            (cut, safe, Step::Reissue(lost)),
            (cut, Known { again: Again::Earlier, ..stranded }, Step::Wait(lost)),
            (Happened::Lost(Reason::NetworkError), safe, Step::Reissue(lost)),
            (Happened::Silent { free: true }, stranded, Step::GiveUp),
            (Happened::Failed(Reason::MalformedResponse), safe, Step::Fail(Reason::MalformedResponse)),
        ]);
    }

    #[test]
    fn a_body_that_fell_silent() {
        let silent = |free| Happened::Silent { free };
        let plain = Known { body: Open::Answer, ..PLAIN };
        let (loose, safe) = (Known { resumable: false, ..plain }, Known { body: Open::Answer, ..SAFE });
        let probe = Known { is_request: false, ..plain };
        let suspect = Known { is_silent: true, ..plain };
        check(&[
            (silent(true), PLAIN, Step::Keep),
            (silent(true), plain, Step::Race(Pace::AtOnce)),
            (silent(false), plain, Step::GiveUp),
            (silent(true), probe, Step::GiveUp),
            (silent(true), loose, Step::Ask),
            (silent(false), safe, Step::Ask),
            (silent(true), Known { is_request: false, ..loose }, Step::Keep),
            (silent(true), Known { body: Open::Refusal, ..LOOSE }, Step::GiveUp),
            (silent(true), Known { max_retries: Some(1), barren: 1, ..plain }, Step::Ask),
            (Happened::EndsSoon, plain, Step::Race(Pace::AtOnce)),
            (Happened::EndsSoon, PLAIN, Step::Keep),
            (Happened::EndsSoon, loose, Step::Keep),
            (Happened::HedgeFailed, suspect, Step::Race(Pace::Backoff)),
            (Happened::HedgeFailed, Known { max_retries: Some(1), barren: 1, ..suspect }, Step::Keep),
            (Happened::HedgeFailed, plain, Step::Keep),
            (Happened::Held, PLAIN, Step::GiveUp),
            (Happened::Held, LOOSE, Step::Ask),
        ]);
    }

    #[test]
    fn a_resume_that_was_refused() {
        let refused = |status| Happened::Refused { status, redirected: false };
        let rejected = Reason::ResumeRejected;
        let again = Known { was_refused: true, ..PLAIN };
        for status in [400, 404, 410] {
            check(&[
                (refused(status), PLAIN, Step::Ask),
                (refused(status), again, Step::Fail(rejected)),
                (refused(status), Known { again: Again::Reissue, ..again }, Step::Reissue(rejected)),
                (refused(status), Known { may_ask: false, ..PLAIN }, Step::Fail(rejected)),
                (refused(status), Known { has_session: false, ..PLAIN }, Step::Fail(rejected)),
            ]);
        }
        for status in [200, 204, 307, 402, 405, 406, 415, 501] {
            check(&[
                (refused(status), PLAIN, Step::Fail(rejected)),
                (Happened::Refused { status, redirected: true }, SAFE, Step::Fail(Reason::Redirected)),
            ]);
        }
        for status in [408, 409, 425, 429, 500, 502, 503, 504, 599] {
            let asks = !matches!(status, 409 | 429 | 503);
            check(&[
                (refused(status), Known { failures: 1, ..PLAIN }, WAIT),
                (refused(status), Known { failures: 2, ..PLAIN }, if asks { WAIT_AND_ASK } else { WAIT }),
            ]);
        }
        check(&[
            (refused(401), SAFE, Step::Fail(Reason::Unauthorized)),
            (refused(403), SAFE, Step::Fail(Reason::Forbidden)),
        ]);
    }

    #[test]
    fn a_resume_that_got_no_answer_and_what_the_session_says() {
        let most = Known { max_retries: Some(3), barren: 3, ..PLAIN };
        let tired = Known { failures: 2, ..SAFE };
        check(&[
            (Happened::Unanswered, Known { failures: 1, ..PLAIN }, WAIT),
            (Happened::Unanswered, Known { failures: 2, ..PLAIN }, WAIT_AND_ASK),
            (Happened::Missed, Known { misses: 1, failures: 1, ..PLAIN }, AT_ONCE),
            (Happened::Missed, Known { misses: 2, failures: 2, ..PLAIN }, WAIT),
            (Happened::Unanswered, Known { barren: 2, ..most }, WAIT),
            (Happened::Unanswered, most, Step::Fail(Reason::RecoveryExhausted)),
            (Happened::Asked, Known { failures: 5, ..PLAIN }, WAIT),
            (Happened::Asked, most, Step::Fail(Reason::RecoveryExhausted)),
            (Happened::Lives, tired, Step::Reissue(Reason::RecoveryExhausted)),
            (Happened::Lives, Known { failures: 1, ..tired }, Step::Keep),
            (Happened::Lives, Known { body: Open::Answer, ..tired }, Step::Keep),
            (Happened::Lives, Known { again: Again::No, ..tired }, Step::Keep),
            (Happened::Lives, Known { again: Again::Unsure, ..tired }, Step::Learn),
            (Happened::Lives, Known { again: Again::Unsure, failures: 1, ..tired }, Step::Keep),
        ]);
    }

    #[test]
    fn a_request_that_failed() {
        let why = Reason::HttpError;
        let earlier = Known { again: Again::Earlier, ..LOOSE };
        let unsure = Known { again: Again::Unsure, ..LOOSE };
        check(&[
            (Happened::Failed(why), SAFE, Step::Fail(why)),
            (Happened::Failed(why), earlier, Step::Wait(why)),
            (Happened::Lost(why), earlier, Step::Wait(why)),
            (Happened::Failed(why), earlier, Step::Wait(why)),
            (Happened::Lost(why), SAFE, Step::Reissue(why)),
            (Happened::Lost(why), LOOSE, Step::Fail(why)),
            (Happened::Lost(why), unsure, Step::Doubt(why)),
            (Happened::Lost(why), Known { may_ask: false, ..unsure }, Step::Fail(why)),
            (Happened::Failed(why), unsure, Step::Fail(why)),
            (dropped(DropCause::Network, false, false), unsure, Step::Doubt(Reason::StreamLost)),
            (Happened::TimeUp, unsure, Step::Fail(Reason::IdleTimeout)),
        ]);
    }

    #[test]
    fn the_end_of_recovery_ms() {
        let silent = Known { is_silent: true, body: Open::Answer, ..SAFE };
        let cause = Some(Reason::NetworkError);
        check(&[
            (Happened::TimeUp, silent, Step::Double),
            (Happened::TimeUp, Known { resumable: true, ..silent }, Step::Double),
            (Happened::TimeUp, Known { may_double: false, ..silent }, Step::Fail(Reason::IdleTimeout)),
            (Happened::TimeUp, Known { again: Again::No, ..silent }, Step::Fail(Reason::IdleTimeout)),
            (
                Happened::TimeUp,
                Known { again: Again::Subscribe, ..LOOSE },
                Step::Subscribe(Reason::IdleTimeout),
            ),
            (Happened::TimeUp, PLAIN, Step::Fail(Reason::RecoveryExhausted)),
            (Happened::TimeUp, Known { cause, ..SAFE }, Step::Fail(Reason::NetworkError)),
        ]);
    }
}
