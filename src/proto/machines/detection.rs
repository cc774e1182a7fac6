//! Detection: which question finds out what a server speaks, and what follows from the answers (ARCHITECTURE.md, "Sessions
//! and eras"). Asked first is for the era in which a call survives most: only legacy streams can be resumed, and a server of
//! both eras does not tell that it is one.

use crate::proto::era::{Era, EraOption};
use crate::proto::event::{Diagnostics, Failure};
use crate::proto::facts::Offer;

/// What a server is asked.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// `initialize`.
    Initialize,
    /// `server/discover`.
    Discover,
    /// A GET for an `endpoint` event.
    Endpoint,
}

impl Probe {
    /// As messages name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Discover => "server/discover",
            Self::Endpoint => "GET",
        }
    }
}

/// What a question came to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Got {
    /// A session with an id.
    Session,
    /// A session without one: nothing of it can be resumed.
    Stateless,
    /// A modern version of ours.
    Modern,
    /// Where to POST.
    Endpoint,
    /// It is not known there.
    Refused,
    /// What says nothing of the era: nobody answered, or the caller may not ask.
    Failed,
}

/// What follows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Ask(Probe),
    Speak(Era),
    /// The server speaks nothing of ours, or nobody knows.
    Fail,
}

/// What is known of the era of a server, and of what it was asked in the handshake under way.
#[derive(Debug)]
pub(crate) struct Detection {
    option: EraOption,
    /// Whether there are versions of that era that may be spoken.
    legacy: bool,
    modern: bool,
    /// The question under way.
    asks: Option<Probe>,
    /// What was refused, and how.
    refused: Vec<(Probe, Failure)>,
    /// A session without an id, while the server is asked for something better.
    offer: Option<Offer>,
    /// What was found out was doubted once.
    doubted: bool,
}

impl Detection {
    pub(crate) fn new(option: EraOption, legacy: bool, modern: bool) -> Self {
        Self { option, legacy, modern, asks: None, refused: Vec::new(), offer: None, doubted: false }
    }

    /// A handshake begins: its first question, of a server that spoke this when it was last heard.
    pub(crate) fn begins(&mut self, known: Option<Era>) -> Probe {
        self.refused.clear();
        self.offer = None;
        let first = match (self.option, known) {
            (EraOption::Modern, _) | (EraOption::Auto, Some(Era::Modern)) => Probe::Discover,
            (EraOption::Sse, _) | (EraOption::Auto, Some(Era::Sse)) => Probe::Endpoint,
            _ if !self.legacy => Probe::Discover,
            _ => Probe::Initialize,
        };
        self.asks(first);
        first
    }

    /// This question goes out.
    pub(crate) fn asks(&mut self, probe: Probe) {
        self.asks = Some(probe);
    }

    /// The question under way.
    pub(crate) fn asked(&self) -> Option<Probe> {
        self.asks
    }

    /// The server offers a session without an id: it is kept while another question is under way.
    pub(crate) fn keep(&mut self, offer: Offer) {
        self.offer = Some(offer);
    }

    /// The server's words are none of the modern era that it was found to speak: whether that is to be found out anew, which
    /// is so once.
    pub(crate) fn doubts(&mut self) -> bool {
        self.may_turn() && !std::mem::replace(&mut self.doubted, true)
    }

    /// Of our legacy versions, those that a server may be asked for which was found to be modern.
    pub(crate) fn legacy_of<'a>(&self, ours: &'a [String]) -> &'a [String] {
        if self.may_turn() {
            ours
        } else {
            &[]
        }
    }

    fn may_turn(&self) -> bool {
        self.option == EraOption::Auto && self.legacy
    }

    /// The session to be content with.
    pub(crate) fn take_offer(&mut self) -> Option<Offer> {
        self.offer.take()
    }

    /// Whether a session is there to be content with: what passes is not waited for.
    pub(crate) fn has_offer(&self) -> bool {
        self.offer.is_some()
    }

    /// Whether this was asked and refused.
    pub(crate) fn has_refused(&self, probe: Probe) -> bool {
        self.refused.iter().any(|(asked, _)| *asked == probe)
    }

    /// The answer to the question under way, or how it failed.
    pub(crate) fn hears(&mut self, got: Got, failure: Option<&Failure>) -> Next {
        let Some(probe) = self.asks.take() else { return Next::Fail };
        match got {
            Got::Refused => self.refused.extend(failure.map(|failure| (probe, failure.clone()))),
            Got::Failed | Got::Session | Got::Stateless | Got::Modern | Got::Endpoint => {}
        }
        let may_ask = |next: Probe| {
            let speaks = match next {
                // Either agrees on a version by `initialize`.
                Probe::Initialize | Probe::Endpoint => self.legacy,
                Probe::Discover => self.modern,
            };
            self.option == EraOption::Auto && speaks && !self.has_refused(next)
        };
        match (probe, got) {
            (Probe::Initialize, Got::Session) => Next::Speak(Era::Legacy),
            (Probe::Initialize, Got::Stateless | Got::Refused) if may_ask(Probe::Discover) => {
                Next::Ask(Probe::Discover)
            }
            (Probe::Initialize, Got::Stateless) => Next::Speak(Era::Legacy),
            (Probe::Discover, Got::Modern) => Next::Speak(Era::Modern),
            (Probe::Discover, _) if self.offer.is_some() => Next::Speak(Era::Legacy),
            (Probe::Endpoint, Got::Endpoint) => Next::Speak(Era::Sse),
            (Probe::Discover | Probe::Endpoint, Got::Refused) if may_ask(Probe::Initialize) => {
                Next::Ask(Probe::Initialize)
            }
            (Probe::Endpoint, Got::Refused) if may_ask(Probe::Discover) => Next::Ask(Probe::Discover),
            (_, Got::Refused) if may_ask(Probe::Endpoint) => Next::Ask(Probe::Endpoint),
            _ => Next::Fail,
        }
    }

    /// How the handshake failed that ended so, with what each question got. Where all was refused, that is the first refusal.
    pub(crate) fn sums_up(&mut self, last: Failure) -> Failure {
        let refused = std::mem::take(&mut self.refused);
        let each = refused.iter().map(|(probe, failure)| format!("{}: {}", probe.name(), failure.text));
        let each = each.collect::<Vec<_>>().join("; ");
        let hint = refused.iter().find_map(|(_, failure)| failure.diagnostics.hint);
        match &refused[..] {
            [(_, first), .., (_, latest)] if *latest == last => {
                let text = format!("the server speaks no protocol of ours ({each})");
                let last_status = first.diagnostics.last_status;
                let diagnostics = Diagnostics { last_status, hint, ..last.diagnostics };
                Failure { text, diagnostics, ..first.clone() }
            }
            [] => last,
            [(_, only)] if *only == last => last,
            _ => Failure { text: format!("{} (before that: {each})", last.text), ..last },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::error::{Outcome, Reason};
    use crate::proto::facts::Identity;

    fn failure(text: &str, status: u16) -> Failure {
        Failure {
            method: "initialize".to_string(),
            tool: None,
            reason: Reason::HttpError,
            outcome: Outcome::Rejected,
            retry_safe: true,
            text: text.to_string(),
            task_id: None,
            http_status: None,
            body: None,
            diagnostics: Diagnostics { last_status: Some(status), ..Diagnostics::default() },
        }
    }

    type Row = (EraOption, Option<Era>, &'static [Got], &'static [Probe], Next);

    const BOTH: &[Probe] = &[Probe::Initialize, Probe::Discover];
    const ALL: &[Probe] = &[Probe::Initialize, Probe::Discover, Probe::Endpoint];

    fn detection(option: EraOption) -> Detection {
        Detection::new(option, true, true)
    }

    /// What follows from these answers, one after the other.
    fn run(mut detection: Detection, known: Option<Era>, answers: &[Got]) -> (Vec<Probe>, Next) {
        let mut asked = vec![detection.begins(known)];
        for (place, got) in answers.iter().enumerate() {
            if *got == Got::Stateless {
                detection.keep(Offer { identity: Identity::default(), greeting: String::new() });
            }
            match detection.hears(*got, Some(&failure("no", 400))) {
                Next::Ask(probe) => {
                    asked.push(probe);
                    detection.asks(probe);
                }
                end => {
                    assert_eq!(place + 1, answers.len(), "it ended before");
                    return (asked, end);
                }
            }
        }
        panic!("it goes on");
    }

    #[test]
    fn a_server_is_asked_in_the_order_in_which_calls_survive_most() {
        use Got::{Endpoint, Failed, Modern, Refused, Session, Stateless};
        use Probe::{Discover, Initialize};
        let rows: [Row; 23] = [
            (EraOption::Auto, None, &[Session], &[Initialize], Next::Speak(Era::Legacy)),
            (EraOption::Auto, None, &[Stateless, Modern], BOTH, Next::Speak(Era::Modern)),
            (EraOption::Auto, None, &[Stateless, Refused], BOTH, Next::Speak(Era::Legacy)),
            (EraOption::Auto, None, &[Stateless, Failed], BOTH, Next::Speak(Era::Legacy)),
            (EraOption::Auto, None, &[Refused, Modern], BOTH, Next::Speak(Era::Modern)),
            (EraOption::Auto, None, &[Refused, Refused, Endpoint], ALL, Next::Speak(Era::Sse)),
            (EraOption::Auto, None, &[Refused, Refused, Refused], ALL, Next::Fail),
            (EraOption::Auto, None, &[Refused, Refused, Failed], ALL, Next::Fail),
            (EraOption::Auto, None, &[Refused, Failed], BOTH, Next::Fail),
            (EraOption::Auto, None, &[Failed], &[Initialize], Next::Fail),
            (EraOption::Auto, Some(Era::Legacy), &[Session], &[Initialize], Next::Speak(Era::Legacy)),
            (EraOption::Auto, Some(Era::Modern), &[Modern], &[Discover], Next::Speak(Era::Modern)),
            (
                EraOption::Auto,
                Some(Era::Modern),
                &[Refused, Session],
                &[Discover, Initialize],
                Next::Speak(Era::Legacy),
            ),
            (EraOption::Auto, Some(Era::Modern), &[Failed], &[Discover], Next::Fail),
            (EraOption::Auto, Some(Era::Sse), &[Endpoint], &[Probe::Endpoint], Next::Speak(Era::Sse)),
            (
                EraOption::Auto,
                Some(Era::Sse),
                &[Refused, Refused, Modern],
                &[Probe::Endpoint, Initialize, Discover],
                Next::Speak(Era::Modern),
            ),
            (EraOption::Legacy, None, &[Stateless], &[Initialize], Next::Speak(Era::Legacy)),
            (EraOption::Legacy, None, &[Refused], &[Initialize], Next::Fail),
            (EraOption::Legacy, Some(Era::Modern), &[Refused], &[Initialize], Next::Fail),
            (EraOption::Modern, None, &[Modern], &[Discover], Next::Speak(Era::Modern)),
            (EraOption::Modern, None, &[Refused], &[Discover], Next::Fail),
            (EraOption::Sse, None, &[Endpoint], &[Probe::Endpoint], Next::Speak(Era::Sse)),
            (EraOption::Sse, None, &[Refused], &[Probe::Endpoint], Next::Fail),
        ];
        for (option, known, answers, asked, end) in rows {
            let ran = run(detection(option), known, answers);
            assert_eq!(ran, (asked.to_vec(), end), "{option:?} {known:?} {answers:?}");
        }
    }

    #[test]
    fn versions_that_are_left_out_are_not_asked_for() {
        let only = |legacy, modern| Detection::new(EraOption::Auto, legacy, modern);
        let modern = run(only(false, true), None, &[Got::Refused]);
        assert_eq!(modern, (vec![Probe::Discover], Next::Fail));
        let legacy = run(only(true, false), None, &[Got::Refused, Got::Refused]);
        assert_eq!(legacy, (vec![Probe::Initialize, Probe::Endpoint], Next::Fail));
        let stateless = run(only(true, false), None, &[Got::Stateless]);
        assert_eq!(stateless, (vec![Probe::Initialize], Next::Speak(Era::Legacy)));
    }

    #[test]
    fn where_nothing_fits_it_tells_what_each_question_got() {
        let mut auto = detection(EraOption::Auto);
        let (first, last) = (failure("405", 405), failure("404", 404));
        auto.begins(None);
        assert_eq!(auto.hears(Got::Refused, Some(&first)), Next::Ask(Probe::Discover));
        auto.asks(Probe::Discover);
        assert_eq!(auto.hears(Got::Refused, Some(&last)), Next::Ask(Probe::Endpoint));
        auto.asks(Probe::Endpoint);
        assert_eq!(auto.hears(Got::Refused, Some(&last)), Next::Fail);
        let told = auto.sums_up(last.clone());
        let text = "the server speaks no protocol of ours (initialize: 405; server/discover: 404; GET: 404)";
        assert_eq!((told.text.as_str(), told.diagnostics.last_status), (text, Some(405)));
        auto.begins(None);
        assert_eq!(auto.hears(Got::Refused, Some(&first)), Next::Ask(Probe::Discover));
        auto.asks(Probe::Discover);
        assert_eq!(auto.hears(Got::Failed, Some(&last)), Next::Fail);
        let told = auto.sums_up(last.clone());
        assert_eq!(
            (told.text.as_str(), told.diagnostics),
            ("404 (before that: initialize: 405)", last.diagnostics.clone())
        );
        auto.begins(None);
        assert_eq!(auto.sums_up(last.clone()), last, "another handshake");
    }
}
