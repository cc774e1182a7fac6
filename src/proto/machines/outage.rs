//! Outage: while no attempt gets an HTTP answer, the attempts of one call speak for all calls of the session.

use crate::proto::CallId;

/// Whether HTTP is answered, and who waits until it is.
#[derive(Debug, Default)]
pub(crate) struct Outage {
    /// `None` while HTTP is answered.
    dark: Option<Dark>,
}

#[derive(Debug, Default)]
struct Dark {
    /// The call whose attempts are made.
    speaker: Option<CallId>,
    /// Calls that wait for what it gets, the longest first.
    parked: Vec<CallId>,
}

/// Whether an attempt may be made.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum MayGo {
    Now,
    /// Another call speaks for it: [`Outage::answered`] or [`Outage::gone`] tell when it may.
    Later,
}

impl Outage {
    /// An attempt of this call got no HTTP answer. The first such call speaks.
    pub(crate) fn unanswered(&mut self, call: CallId) {
        self.dark.get_or_insert_with(Dark::default).speaker.get_or_insert(call);
    }

    /// HTTP was answered: the calls that are released by it.
    pub(crate) fn answered(&mut self) -> Vec<CallId> {
        self.dark.take().map(|dark| dark.parked).unwrap_or_default()
    }

    /// Whether this call may make its attempt. `is_far`: whether the next attempt of a speaker is so far off that it
    /// speaks for nobody.
    pub(crate) fn may_go(&mut self, call: CallId, is_far: impl FnOnce(CallId) -> bool) -> MayGo {
        let Some(dark) = &mut self.dark else { return MayGo::Now };
        let speaker = *dark.speaker.get_or_insert(call);
        if speaker == call || is_far(speaker) {
            dark.speaker = Some(call);
            return MayGo::Now;
        }
        if !dark.parked.contains(&call) {
            dark.parked.push(call);
        }
        MayGo::Later
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
        let dark = self.dark.as_mut().filter(|dark| dark.speaker == Some(call))?;
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

    /// Dark, `A` speaks, `B` and `C` wait.
    fn dark() -> Outage {
        let mut outage = Outage::default();
        outage.unanswered(A);
        outage.unanswered(B);
        let near = |_| false;
        let asked = [A, B, C, B].map(|call| outage.may_go(call, near));
        assert_eq!(asked, [MayGo::Now, MayGo::Later, MayGo::Later, MayGo::Later]);
        outage
    }

    #[test]
    fn everybody_goes_while_http_is_answered() {
        let mut outage = Outage::default();
        assert_eq!([A, B].map(|call| outage.may_go(call, |_| false)), [MayGo::Now; 2]);
        assert_eq!((outage.answered(), outage.gone(A)), (Vec::new(), None));
    }

    #[test]
    fn the_first_that_got_no_answer_speaks_until_one_is_answered() {
        let mut outage = dark();
        assert_eq!(outage.answered(), [B, C], "each once, the longest first");
        assert_eq!(outage.may_go(C, |_| false), MayGo::Now);
        assert_eq!(outage.answered(), []);
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
        assert_eq!(outage.may_go(C, |_| false), MayGo::Now, "the next that asks speaks");
        assert_eq!(outage.may_go(A, |_| false), MayGo::Later);
    }

    #[test]
    fn a_speaker_that_waits_for_long_loses_the_word() {
        let mut outage = dark();
        assert_eq!(outage.may_go(C, |speaker| speaker == A), MayGo::Now);
        assert_eq!(outage.may_go(A, |_| false), MayGo::Later, "now C speaks");
    }
}
