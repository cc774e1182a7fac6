//! Outage: while no attempt gets an HTTP answer, the attempts of one call speak for all calls of the session.

use std::time::Duration;

use crate::proto::time::Instant;
use crate::proto::CallId;

/// Whether HTTP is answered, and who waits until it is.
#[derive(Debug, Default)]
pub(crate) struct Outage {
    /// `None` while HTTP is answered.
    dark: Option<Dark>,
    /// Attempts in a row that got no HTTP answer, of whatever kind.
    misses: u32,
}

#[derive(Debug, Default)]
struct Dark {
    /// The call whose attempts are made.
    speaker: Option<Speaker>,
    /// Calls that wait for what it gets, the longest first.
    parked: Vec<CallId>,
}

#[derive(Debug)]
struct Speaker {
    call: CallId,
    /// Since when an attempt of it is under way.
    tries_since: Option<Instant>,
}

/// What an attempt is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// A resume: its head comes at once if HTTP is answered, so it speaks for all.
    Resume,
    /// A request, which its server may work for before it says anything: it speaks for nobody.
    Post,
}

/// Whether an attempt may be made.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum MayGo {
    Now,
    /// Another call speaks for it: [`Outage::answered`] or [`Outage::gone`] tell when it may. It may be asked for again
    /// then, when the attempt that is under way speaks no longer.
    Later(Instant),
}

impl Outage {
    /// A request got no HTTP answer.
    pub(crate) fn missed(&mut self) {
        self.misses = self.misses.saturating_add(1);
    }

    /// An attempt to recover got no HTTP answer, and nothing did since.
    pub(crate) fn is_dark(&self) -> bool {
        self.dark.is_some()
    }

    /// No attempt gets an HTTP answer. One that did not may have had bad luck.
    pub(crate) fn is_offline(&self) -> bool {
        self.misses > 1
    }

    /// An attempt of this call got no HTTP answer. The first such call speaks.
    pub(crate) fn unanswered(&mut self, call: CallId) {
        let dark = self.dark.get_or_insert_with(Dark::default);
        let speaker = dark.speaker.get_or_insert(Speaker { call, tries_since: None });
        if speaker.call == call {
            speaker.tries_since = None;
        }
    }

    /// HTTP was answered: the calls that are released by it.
    pub(crate) fn answered(&mut self) -> Vec<CallId> {
        self.misses = 0;
        self.dark.take().map(|dark| dark.parked).unwrap_or_default()
    }

    /// Whether this call may make its attempt. An attempt speaks for `patience` at most. `is_far`: whether the next
    /// attempt of a speaker is so far off that it speaks for nobody.
    pub(crate) fn may_go(
        &mut self,
        now: Instant,
        call: CallId,
        attempt: Attempt,
        patience: Duration,
        is_far: impl FnOnce(CallId) -> bool,
    ) -> MayGo {
        let Some(dark) = &mut self.dark else { return MayGo::Now };
        let has_word = |speaker: &Speaker| {
            let is_late = speaker.tries_since.is_some_and(|since| now.since(since) >= patience);
            !is_late && (speaker.call == call || !is_far(speaker.call))
        };
        let speaker = dark.speaker.take().filter(has_word);
        if speaker.as_ref().is_none_or(|speaker| speaker.call == call) {
            dark.speaker = (attempt == Attempt::Resume).then_some(Speaker { call, tries_since: Some(now) });
            dark.parked.retain(|parked| *parked != call);
            return MayGo::Now;
        }
        let since = speaker.as_ref().and_then(|speaker| speaker.tries_since).unwrap_or(now);
        dark.speaker = speaker;
        if !dark.parked.contains(&call) {
            dark.parked.push(call);
        }
        MayGo::Later(since + patience)
    }

    /// This call waits for something of its own now, or for nothing.
    pub(crate) fn unpark(&mut self, call: CallId) {
        if let Some(dark) = &mut self.dark {
            dark.parked.retain(|parked| *parked != call);
        }
    }

    /// This call is over. Whoever takes the word from it makes its attempt now.
    pub(crate) fn gone(&mut self, call: CallId) -> Option<CallId> {
        self.unpark(call);
        let speaks = |dark: &&mut Dark| dark.speaker.as_ref().is_some_and(|speaker| speaker.call == call);
        let dark = self.dark.as_mut().filter(speaks)?;
        dark.speaker = None;
        (!dark.parked.is_empty()).then(|| dark.parked.remove(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: CallId = CallId(1);
    const B: CallId = CallId(2);
    const C: CallId = CallId(3);
    const CONNECT: Duration = Duration::from_secs(5);

    fn at(seconds: u64) -> Instant {
        Instant::from_micros(seconds * 1_000_000)
    }

    fn later(seconds: u64) -> MayGo {
        MayGo::Later(at(seconds))
    }

    fn resume(outage: &mut Outage, seconds: u64, call: CallId) -> MayGo {
        outage.may_go(at(seconds), call, Attempt::Resume, CONNECT, |_| false)
    }

    fn post(outage: &mut Outage, seconds: u64, call: CallId) -> MayGo {
        outage.may_go(at(seconds), call, Attempt::Post, CONNECT, |_| false)
    }

    /// Dark, `A` speaks, `B` and `C` wait.
    fn dark() -> Outage {
        let mut outage = Outage::default();
        outage.unanswered(A);
        outage.unanswered(B);
        let asked = [A, B, C, B].map(|call| resume(&mut outage, 0, call));
        assert_eq!(asked, [MayGo::Now, later(5), later(5), later(5)]);
        outage
    }

    #[test]
    fn everybody_goes_while_http_is_answered() {
        let mut outage = Outage::default();
        assert_eq!([A, B].map(|call| resume(&mut outage, 0, call)), [MayGo::Now; 2]);
        assert_eq!((outage.answered(), outage.gone(A)), (Vec::new(), None));
    }

    #[test]
    fn the_first_that_got_no_answer_speaks_until_one_is_answered() {
        let mut outage = dark();
        assert_eq!(outage.answered(), [B, C], "each once, the longest first");
        assert_eq!(resume(&mut outage, 0, C), MayGo::Now);
        assert_eq!(outage.answered(), []);
    }

    #[test]
    fn it_is_dark_after_an_attempt_to_recover_and_offline_after_two_of_any_kind_in_a_row() {
        let mut outage = Outage::default();
        let mut after = |step: fn(&mut Outage)| {
            step(&mut outage);
            (outage.is_dark(), outage.is_offline())
        };
        assert_eq!(after(Outage::missed), (false, false));
        assert_eq!(after(|outage| outage.unanswered(A)), (true, false));
        assert_eq!(after(Outage::missed), (true, true));
        assert_eq!(after(|outage| drop(outage.answered())), (false, false));
        assert_eq!(after(Outage::missed), (false, false), "the count begins anew");
    }

    #[test]
    fn the_word_passes_when_the_speaker_is_gone() {
        type Ask = fn(&mut Outage) -> Option<CallId>;
        let cases: [(&str, Ask, Option<CallId>); 4] = [
            ("the longest that waits has it", |outage| outage.gone(A), Some(B)),
            ("whoever else goes had no word", |outage| outage.gone(B), None),
            ("not to one that is gone", |outage| outage.gone(B).or_else(|| outage.gone(A)), Some(C)),
            (
                "not to one with a wait of its own",
                |outage| {
                    outage.unpark(B);
                    outage.gone(A)
                },
                Some(C),
            ),
        ];
        for (what, ask, next) in cases {
            assert_eq!(ask(&mut dark()), next, "{what}");
        }
        let mut outage = dark();
        outage.gone(A);
        assert_eq!(resume(&mut outage, 0, C), MayGo::Now, "the next that asks speaks");
        assert_eq!(resume(&mut outage, 0, A), later(5));
    }

    #[test]
    fn a_speaker_that_waits_for_long_loses_the_word() {
        let mut outage = dark();
        let go = outage.may_go(at(0), C, Attempt::Resume, CONNECT, |speaker| speaker == A);
        assert_eq!(go, MayGo::Now);
        assert_eq!(resume(&mut outage, 0, A), later(5), "now C speaks");
    }

    #[test]
    fn a_speaker_whose_attempt_is_under_way_for_long_loses_the_word_and_one_that_waits_does_not() {
        let mut outage = dark();
        // It may be asked for again when the attempt that is under way speaks no longer.
        assert_eq!([4, 5].map(|seconds| resume(&mut outage, seconds, B)), [later(5), MayGo::Now]);
        outage.unanswered(A);
        assert_eq!(resume(&mut outage, 6, A), later(10), "B speaks");
        outage.unanswered(B);
        assert_eq!(resume(&mut outage, 20, A), later(25), "B is about to try again");
        assert_eq!(resume(&mut outage, 21, B), MayGo::Now);
    }

    #[test]
    fn a_request_waits_for_a_speaker_and_speaks_for_nobody() {
        let mut outage = dark();
        assert_eq!([4, 5].map(|seconds| post(&mut outage, seconds, B)), [later(5), MayGo::Now]);
        assert_eq!(resume(&mut outage, 5, C), MayGo::Now, "nobody speaks while it is under way");
        assert_eq!(outage.answered(), []);
    }
}
