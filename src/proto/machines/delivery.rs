//! Delivery: what became of a call's requests, what is known of its execution, and whether it may run twice.

use std::time::Duration;

use super::credentials::Standing;
use super::objection::Corrections;
use crate::proto::error::{Outcome, Reason};
use crate::proto::event::ReissueCause;
use crate::proto::facts::Identity;
use crate::proto::http::HeaderName;
use crate::proto::jsonrpc::Id;
use crate::proto::time::Instant;

/// What became of its requests.
pub(crate) struct Delivery {
    /// The ids it went by on the wire, the current one last: the caller's first. Earlier ones stay known: the first
    /// answer wins.
    pub(crate) wire_ids: Vec<Id>,
    /// What is known of its latest POST.
    latest: Outcome,
    /// An earlier POST of it may have been executed.
    may_have_run: bool,
    /// A server answered it, and that was not its end: something of it was executed.
    has_begun: bool,
    reissues: usize,
    /// Re-issues that got no HTTP answer.
    unanswered: usize,
    /// An earlier POST of it reached the server, whatever became of it there.
    arrived: bool,
    /// Since when its POSTs are refused by the network, and none arrived.
    refused_since: Option<Instant>,
    /// Why the next POST is a re-issue.
    pub(crate) reissue_why: Option<ReissueCause>,
    /// What the server said of its tool when it was sent, or later while it lived: that holds.
    hint: Option<bool>,
    /// The server was asked about its tool, on its behalf.
    asked_hint: bool,
    /// It is lost, and may be sent again if the server says so when it is asked.
    doubt: Option<Doubt>,
    /// The first cause that made its stream unrecoverable.
    pub(crate) cause: Option<Reason>,
    /// A replacement of the session carried it over: once is enough.
    pub(crate) carried_over: bool,
    /// It was sent again beside a silent body: once is enough.
    pub(crate) sent_beside: bool,
    /// Its session is dead. It is not asked any more, and what is open of it is read on.
    pub(crate) stranded: bool,
    /// The session it belongs to, where that is not the one in use: `initialize` has its own, adopted only with its
    /// result.
    pub(crate) identity: Option<Identity>,
    /// What it has seen of credentials.
    pub(crate) credentials: Standing,
    /// Its request was rejected once for what may be CORS.
    pub(crate) cors_suspected: bool,
    /// Why the caller cancelled it, in his words.
    pub(crate) cancel_reason: Option<String>,
    /// What was warned of, and how often it came again.
    pub(crate) warned: Vec<(&'static str, u64)>,
    /// How it was corrected after what the server objected to.
    pub(crate) corrections: Corrections,
    pub(crate) attempt: Attempt,
}

/// A loss, to be told or answered by a re-issue once it is known whether that does harm.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Doubt {
    pub(crate) reason: Reason,
    pub(crate) why: ReissueCause,
    pub(crate) text: String,
    /// A `Retry-After`.
    pub(crate) not_before: Instant,
}

/// Its request under way.
#[derive(Default)]
pub(crate) struct Attempt {
    /// Header names of it.
    pub(crate) headers: Vec<HeaderName>,
    /// How many redirects led to it.
    pub(crate) redirects: u32,
    /// How it was refused.
    pub(crate) refusal: Option<Refusal>,
}

/// A refusal, for a caller who wants to read it himself.
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Delivery {
    /// Nothing has been sent. `identity`: the session that it goes out in, where that is not the one in use.
    pub(crate) fn new(identity: Option<Identity>) -> Self {
        Self {
            wire_ids: Vec::new(),
            latest: Outcome::NotSent,
            may_have_run: false,
            has_begun: false,
            reissues: 0,
            unanswered: 0,
            arrived: false,
            refused_since: None,
            reissue_why: None,
            hint: None,
            asked_hint: false,
            doubt: None,
            cause: None,
            carried_over: false,
            sent_beside: false,
            stranded: false,
            identity,
            credentials: Standing::default(),
            cors_suspected: false,
            cancel_reason: None,
            warned: Vec::new(),
            corrections: Corrections::default(),
            attempt: Attempt::default(),
        }
    }

    pub(crate) fn wire_id(&self) -> &Id {
        self.wire_ids.last().unwrap_or(&Id::Null)
    }

    /// What is known of its execution.
    pub(crate) fn outcome(&self) -> Outcome {
        if self.has_begun {
            return Outcome::Unknown;
        }
        self.of_request()
    }

    /// The same of the request that is not answered yet, which is the last of the rounds of the call.
    fn of_request(&self) -> Outcome {
        if self.may_have_run {
            return Outcome::Unknown;
        }
        self.latest
    }

    /// How often it was re-issued.
    pub(crate) fn reissues(&self) -> usize {
        self.reissues
    }

    /// Whether it may be sent again, at most so often; `safe`: to execute it twice does no harm.
    pub(crate) fn may_reissue(&self, most: usize, safe: impl FnOnce() -> bool) -> bool {
        self.answered_reissues() < most && (self.of_request() != Outcome::Unknown || safe())
    }

    /// How often it was re-issued and that got an HTTP answer: what may run twice may be tried as often as it takes.
    fn answered_reissues(&self) -> usize {
        self.reissues.saturating_sub(self.unanswered)
    }

    /// Its latest POST got no HTTP answer. `left`: something of it may have left.
    pub(crate) fn unanswered(&mut self, now: Instant, left: bool) {
        self.unanswered += usize::from(self.reissues > 0);
        if !left {
            self.latest = Outcome::NotSent;
            self.refused_since.get_or_insert(now);
        }
    }

    /// How much longer it waits for a server that none of its POSTs has reached, of `patience` in all; `None` where one
    /// has.
    pub(crate) fn waits_for_server(&self, now: Instant, patience: Duration) -> Option<Duration> {
        let since = self.refused_since.filter(|_| !self.arrived && self.latest == Outcome::NotSent)?;
        Some((since + patience).since(now))
    }

    /// The machine slept for so long.
    pub(crate) fn forgive(&mut self, slept: Duration) {
        self.refused_since = self.refused_since.map(|since| since + slept);
    }

    /// What the server says now of its tool. The first word stays.
    pub(crate) fn hear_hint(&mut self, hint: Option<bool>) {
        self.hint = self.hint.or(hint);
    }

    /// What the server said of its tool, as far as it is known; `now` is what it says now.
    pub(crate) fn hint(&self, now: Option<bool>) -> Option<bool> {
        self.hint.or(now)
    }

    /// Whether the server was asked about its tool.
    pub(crate) fn has_asked_hint(&self) -> bool {
        self.asked_hint
    }

    /// The server is asked about its tool meanwhile: once.
    pub(crate) fn asks_hint(&mut self) {
        self.asked_hint = true;
    }

    /// It waits for what the server says of its tool.
    pub(crate) fn doubts(&mut self, doubt: Doubt) {
        self.cause.get_or_insert(doubt.reason);
        self.doubt = Some(doubt);
    }

    /// Whether what the server says of its tool matters to it.
    pub(crate) fn awaits_hint(&self) -> bool {
        self.doubt.is_some() || self.asked_hint
    }

    /// The server was asked: what becomes of it is decided now.
    pub(crate) fn decided(&mut self) -> Option<Doubt> {
        self.asked_hint |= self.doubt.is_some();
        self.doubt.take()
    }

    /// It is about to be handed to fetch, where nothing of it has left yet. Why it is, if that is a re-issue.
    pub(crate) fn goes_out(&mut self) -> Option<ReissueCause> {
        self.latest = Outcome::NotSent;
        self.doubt = None;
        self.reissue_why.take()
    }

    /// Its POST goes out: from now on it may be executed.
    pub(crate) fn sent(&mut self) {
        self.latest = Outcome::Unknown;
    }

    /// Its latest POST was refused unread.
    pub(crate) fn rejected(&mut self) {
        self.latest = Outcome::Rejected;
    }

    /// Nothing of its latest POST left.
    pub(crate) fn never_left(&mut self) {
        self.latest = Outcome::NotSent;
    }

    /// Whether its latest POST was refused unread.
    pub(crate) fn is_rejected(&self) -> bool {
        self.latest == Outcome::Rejected
    }

    /// Its latest request is given up, and the next POST is a re-issue.
    pub(crate) fn reissue(&mut self, why: ReissueCause, cause: Reason) {
        self.keep_outcome();
        self.arrived |= self.latest != Outcome::NotSent;
        self.reissues += 1;
        self.reissue_why = Some(why);
        self.doubt = None;
        self.cause.get_or_insert(cause);
    }

    /// Its request was answered, and that was not its end: what follows is another request, of which nothing has left.
    pub(crate) fn begins_round(&mut self) {
        self.has_begun = true;
        self.may_have_run = false;
        self.latest = Outcome::NotSent;
        self.arrived = true;
        self.refused_since = None;
        self.reissue_why = None;
        self.cause = None;
        self.sent_beside = false;
        self.doubt = None;
    }

    /// The same message goes out once more, as it is. How often it did.
    pub(crate) fn repeat(&mut self) -> usize {
        self.keep_outcome();
        self.reissues += 1;
        self.reissues
    }

    /// Whatever becomes of the next request, this one may have been executed.
    fn keep_outcome(&mut self) {
        self.may_have_run |= self.latest == Outcome::Unknown;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::event::DropCause;

    fn delivery() -> Delivery {
        Delivery::new(None)
    }

    #[derive(Copy, Clone, Debug)]
    enum Step {
        Sent,
        Rejected,
        NeverLeft,
        Reissue,
    }

    #[test]
    fn what_is_known_of_its_execution() {
        use Step::{NeverLeft, Reissue, Rejected, Sent};
        let rows: [(&[Step], Outcome); 8] = [
            (&[], Outcome::NotSent),
            (&[Sent], Outcome::Unknown),
            (&[Sent, Rejected], Outcome::Rejected),
            (&[Sent, NeverLeft], Outcome::NotSent),
            (&[Sent, Rejected, Reissue, Sent, Rejected], Outcome::Rejected),
            (&[Sent, Reissue, Sent, Rejected], Outcome::Unknown),
            (&[Sent, Reissue, NeverLeft], Outcome::Unknown),
            (&[Sent, NeverLeft, Reissue], Outcome::NotSent),
        ];
        for (steps, outcome) in rows {
            let mut delivery = delivery();
            for step in steps {
                match step {
                    Sent => delivery.sent(),
                    Rejected => delivery.rejected(),
                    NeverLeft => delivery.never_left(),
                    Reissue => delivery.reissue(DropCause::Network.into(), Reason::NetworkError),
                }
            }
            assert_eq!(delivery.outcome(), outcome, "{steps:?}");
        }
    }

    #[test]
    fn a_round_that_was_answered_has_begun_the_call_and_does_not_hinder_what_follows() {
        let mut delivery = delivery();
        delivery.sent();
        delivery.reissue(DropCause::Network.into(), Reason::NetworkError);
        delivery.sent();
        delivery.begins_round();
        assert_eq!((delivery.outcome(), delivery.cause), (Outcome::Unknown, None));
        assert!(delivery.may_reissue(2, || false), "nothing of the next one has left");
        delivery.sent();
        assert!(!delivery.may_reissue(2, || false));
        delivery.rejected();
        assert!(delivery.may_reissue(2, || false), "it was refused unread");
        assert_eq!(delivery.outcome(), Outcome::Unknown);
    }

    #[test]
    fn a_re_issue_without_an_http_answer_is_not_counted_and_the_first_request_is_none() {
        let at = |seconds: u64| Instant::from_micros(seconds * 1_000_000);
        let mut delivery = delivery();
        let mut step = |seconds, left: Option<bool>| {
            delivery.sent();
            left.into_iter().for_each(|left| delivery.unanswered(at(seconds), left));
            let counted = delivery.answered_reissues();
            let waits =
                delivery.waits_for_server(at(seconds), Duration::from_secs(15)).map(|left| left.as_secs());
            delivery.reissue(DropCause::Network.into(), Reason::NetworkError);
            (counted, waits)
        };
        assert_eq!(step(10, Some(false)), (0, Some(15)));
        assert_eq!(step(14, Some(false)), (0, Some(11)), "since the first that was refused");
        assert_eq!(step(30, Some(false)), (0, Some(0)));
        assert_eq!(step(31, Some(true)), (0, None), "it may have arrived");
        assert_eq!(step(32, Some(false)), (0, None));
        assert_eq!(step(33, None), (1, None), "it was answered");
        assert_eq!(step(34, None), (2, None));
        assert_eq!(step(35, Some(false)), (2, None));
    }

    #[test]
    fn the_first_word_of_its_tool_holds_and_it_is_asked_for_once() {
        let mut delivery = delivery();
        delivery.hear_hint(None);
        assert_eq!(
            [Some(true), Some(false), None].map(|now| delivery.hint(now)),
            [Some(true), Some(false), None]
        );
        let doubt = Doubt {
            reason: Reason::StreamLost,
            why: DropCause::End.into(),
            text: String::new(),
            not_before: Instant::default(),
        };
        assert_eq!((delivery.decided(), delivery.has_asked_hint()), (None, false));
        delivery.doubts(doubt.clone());
        assert!(!delivery.has_asked_hint());
        assert_eq!((delivery.decided(), delivery.has_asked_hint()), (Some(doubt.clone()), true));
        delivery.doubts(doubt);
        delivery.reissue(DropCause::Session.into(), Reason::SessionLost);
        assert_eq!((delivery.decided(), delivery.cause), (None, Some(Reason::StreamLost)));
        for word in [Some(true), Some(false), None] {
            delivery.hear_hint(word);
            assert_eq!(delivery.hint(word), Some(true));
        }
    }

    #[test]
    fn the_first_cause_stays_and_the_last_reason_to_send_again() {
        let mut delivery = delivery();
        delivery.reissue(DropCause::Network.into(), Reason::NetworkError);
        delivery.reissue(DropCause::Session.into(), Reason::SessionLost);
        assert_eq!(delivery.cause, Some(Reason::NetworkError));
        assert_eq!(delivery.reissue_why, Some(DropCause::Session.into()));
        assert_eq!((delivery.reissues(), delivery.repeat()), (2, 3));
    }

    #[test]
    fn a_call_is_sent_again_so_often_and_only_if_that_does_no_harm() {
        let cases = [
            (0, Outcome::Unknown, true, true),
            (0, Outcome::Unknown, false, false),
            (1, Outcome::NotSent, false, true),
            (1, Outcome::Rejected, false, true),
            (2, Outcome::Rejected, true, false),
        ];
        for (reissues, outcome, safe, may) in cases {
            let delivery = Delivery { reissues, latest: outcome, ..delivery() };
            assert_eq!(delivery.may_reissue(2, || safe), may, "{reissues} {outcome:?} {safe}");
        }
    }
}
