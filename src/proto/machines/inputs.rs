//! Inputs: what a server wants from the client before it goes on, by a result in place of a request of its own
//! (MCP 2026-07-28, *Multi Round-Trip Requests*), and the rounds in which a request is sent again with what it wants.

use std::collections::VecDeque;

use crate::proto::jsonrpc::{entries, field, quote, string};
use crate::proto::sorted::SortedSet;

/// So often a request is sent again with what its server wants.
const MOST_ROUNDS: u32 = 10;
/// So many things are wanted at once, at most.
const MOST_AT_ONCE: usize = 1_000;
/// And so many in all.
const MOST: usize = 10_000;

/// One thing that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Input {
    pub(crate) key: String,
    /// As in `elicitation/create`.
    pub(crate) method: String,
    /// JSON text, where there are any.
    pub(crate) params: Option<String>,
}

/// What is wanted, each key once, and what was given.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    known: SortedSet<String>,
    /// How many these are.
    count: usize,
    waiting: VecDeque<Input>,
    /// Handed out, and not answered.
    open: usize,
    /// Results by their keys, as JSON texts, in the order in which they came.
    answers: Vec<(String, String)>,
}

/// Why a result leads to no further round.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoRound {
    /// It wants nothing, or not as it may.
    Malformed,
    /// It is one too many.
    TooMany,
}

/// The rounds of one request.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    count: u32,
    /// What the next round waits for.
    inputs: Option<Inputs>,
    /// What the server wants back as it is: JSON text.
    state: Option<String>,
    /// Members of `params` beside its own.
    carried: String,
}

impl Inputs {
    /// The server wants these: JSON text. Keys that are known are not asked for again. `None`: it is no object of requests, or
    /// they are too many.
    pub(crate) fn hear(&mut self, requests: &str) -> Option<()> {
        let mut fresh = Vec::new();
        for (key, request) in entries(requests, MOST_AT_ONCE)? {
            let method = field(request, &["method"]).and_then(string)?.into_owned();
            let params = field(request, &["params"]).map(String::from);
            fresh.push(Input { key, method, params });
        }
        for input in fresh {
            if self.known.insert(input.key.clone()) {
                self.count += 1;
                self.waiting.push_back(input);
            }
        }
        (self.count <= MOST).then_some(())
    }

    /// The next one to ask for.
    pub(crate) fn next(&mut self) -> Option<Input> {
        let input = self.waiting.pop_front()?;
        self.open += 1;
        Some(input)
    }

    /// One was answered by this result: JSON text.
    pub(crate) fn answered(&mut self, key: String, result: &str) {
        self.open = self.open.saturating_sub(1);
        self.answers.push((key, result.to_string()));
    }

    /// Whether nothing is missing.
    pub(crate) fn is_complete(&self) -> bool {
        self.open == 0 && self.waiting.is_empty()
    }

    /// The answers that were not taken yet, as the JSON text of an object; `None` where there are none.
    pub(crate) fn take_answers(&mut self) -> Option<String> {
        if self.answers.is_empty() {
            return None;
        }
        let mut text = String::from("{");
        for (place, (key, result)) in self.answers.drain(..).enumerate() {
            if place > 0 {
                text.push(',');
            }
            quote(&key, &mut text);
            text.push(':');
            text.push_str(&result);
        }
        text.push('}');
        Some(text)
    }
}

impl Rounds {
    /// The request was answered by this result, which wants something: JSON text.
    pub(crate) fn begin(&mut self, result: &str) -> Result<(), NoRound> {
        let state = field(result, &["requestState"]);
        let requests = field(result, &["inputRequests"]);
        let is_odd = state.is_some_and(|state| string(state).is_none());
        if is_odd || (state.is_none() && requests.is_none()) {
            return Err(NoRound::Malformed);
        }
        let mut inputs = Inputs::default();
        requests.map_or(Some(()), |requests| inputs.hear(requests)).ok_or(NoRound::Malformed)?;
        if self.count == MOST_ROUNDS {
            return Err(NoRound::TooMany);
        }
        self.count += 1;
        self.state = state.map(String::from);
        self.inputs = Some(inputs);
        Ok(())
    }

    /// What the next round waits for, while it does.
    pub(crate) fn inputs(&mut self) -> Option<&mut Inputs> {
        self.inputs.as_mut()
    }

    /// Whether the next round may go out, where nothing is missing: from now on the request carries what is wanted.
    pub(crate) fn goes_on(&mut self) -> bool {
        let Some(mut inputs) = self.inputs.take_if(|inputs| inputs.is_complete()) else { return false };
        let answers = inputs.take_answers().map(|answers| format!("\"inputResponses\":{answers}"));
        let state = self.state.take().map(|state| format!("\"requestState\":{state}"));
        self.carried = answers.into_iter().chain(state).collect::<Vec<_>>().join(",");
        true
    }

    /// Members of `params` that the request carries beside its own; empty in its first round.
    pub(crate) fn carried(&self) -> &str {
        &self.carried
    }

    /// How often the request was answered, and was not at its end.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASK: &str = r#"{"method":"elicitation/create","params":{"message":"?"}}"#;

    fn keys(inputs: &mut Inputs) -> Vec<String> {
        std::iter::from_fn(|| inputs.next()).map(|input| input.key).collect()
    }

    #[test]
    fn each_key_is_asked_for_once_however_often_it_is_wanted() {
        let mut inputs = Inputs::default();
        let wants = |inputs: &mut Inputs, keys: &[&str]| {
            let all: Vec<_> = keys.iter().map(|key| format!("\"{key}\":{ASK}")).collect();
            inputs.hear(&format!("{{{}}}", all.join(","))).expect("requests");
        };
        wants(&mut inputs, &["a", "b"]);
        assert_eq!(keys(&mut inputs), ["a", "b"]);
        wants(&mut inputs, &["b", "c"]);
        assert_eq!(keys(&mut inputs), ["c"]);
        for (key, complete) in [("b", false), ("c", false), ("a", true)] {
            inputs.answered(key.to_string(), "{}");
            assert_eq!(inputs.is_complete(), complete, "{key}");
        }
        assert_eq!(inputs.take_answers().as_deref(), Some(r#"{"b":{},"c":{},"a":{}}"#));
        assert_eq!(inputs.take_answers(), None);
        wants(&mut inputs, &["a"]);
        assert_eq!(keys(&mut inputs), [""; 0], "also behind its answer");
    }

    #[test]
    fn what_is_no_object_of_requests_is_none_and_nothing_of_it_is_asked() {
        for text in ["5", "[]", "null", r#"{"a":5}"#, r#"{"a":{}}"#, r#"{"a":{"method":7}}"#] {
            let mut inputs = Inputs::default();
            assert_eq!(inputs.hear(text), None, "{text}");
            let mut inputs = Inputs::default();
            assert_eq!(inputs.hear(&format!("{{\"ok\":{ASK},\"no\":{text}}}")), None, "{text}");
            assert_eq!(inputs.next(), None);
        }
    }

    #[test]
    fn the_next_round_carries_what_the_last_result_wants_and_nothing_of_earlier_ones() {
        let mut rounds = Rounds::default();
        let asks = format!(r#"{{"inputRequests":{{"a":{ASK}}},"requestState":"s\u0031"}}"#);
        rounds.begin(&asks).expect("a round");
        assert!(!rounds.goes_on());
        let inputs = rounds.inputs().expect("it waits");
        let input = inputs.next().expect("one");
        inputs.answered(input.key, r#"{"x":1}"#);
        assert!(rounds.goes_on() && !rounds.goes_on());
        assert_eq!(rounds.carried(), r#""inputResponses":{"a":{"x":1}},"requestState":"s\u0031""#);
        rounds.begin(r#"{"requestState":""}"#).expect("a round");
        assert!(rounds.goes_on(), "nothing is wanted but another request");
        assert_eq!(rounds.carried(), r#""requestState":"""#);
        rounds.begin(r#"{"inputRequests":{}}"#).expect("a round");
        assert!(rounds.goes_on());
        assert_eq!((rounds.carried(), rounds.count()), ("", 3));
    }

    #[test]
    fn a_result_that_wants_nothing_is_no_round_and_ten_are_the_most() {
        for text in [r#"{}"#, r#"{"requestState":5}"#, r#"{"inputRequests":[]}"#] {
            let mut rounds = Rounds::default();
            assert_eq!(rounds.begin(text), Err(NoRound::Malformed), "{text}");
            assert_eq!(rounds.count(), 0);
        }
        let mut rounds = Rounds::default();
        for _ in 0..10 {
            rounds.begin(r#"{"requestState":"s"}"#).expect("a round");
            assert!(rounds.goes_on());
        }
        assert_eq!(rounds.begin(r#"{"requestState":"s"}"#), Err(NoRound::TooMany));
    }
}
