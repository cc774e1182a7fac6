//! Task: work that a server goes on with by itself, and is asked for by its id (the extension `io.modelcontextprotocol/tasks`,
//! SEP-2663): when it is asked, what its answers say, and when it is lost.

use std::time::Duration;

use super::inputs::Inputs;
use crate::proto::jsonrpc::{field, quote, string};
use crate::proto::number::number;
use crate::proto::time::Instant;
use crate::proto::timeouts::span;
use crate::proto::CallId;

/// Between two questions, where the server says nothing.
const INTERVAL: Duration = Duration::from_millis(1_000);
/// And at least, whatever it says.
pub(crate) const LEAST_INTERVAL: Duration = Duration::from_millis(250);
/// An id is no longer than that.
const MOST_ID: usize = 1_024;

/// A task of a call's.
#[derive(Debug)]
pub(crate) struct Task {
    id: String,
    /// Its status and what it says of it, as they were told.
    told: Option<(String, Option<String>)>,
    interval: Duration,
    /// How long the server keeps it, from its first answer on: what its clock says is not known.
    ttl: Option<Duration>,
    since: Option<Instant>,
    /// Questions in a row that brought nothing.
    misses: u32,
    /// It is not asked before: a `Retry-After`.
    not_before: Instant,
    /// The message of ours that asks, while it is under way.
    poll: Option<CallId>,
    /// The message that brings what is wanted, while it is under way.
    update: Option<CallId>,
    /// What that brings: JSON text, kept until the server took it.
    given: Option<String>,
    /// What the server wants.
    pub(crate) inputs: Inputs,
}

/// What an answer says of a task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) id: String,
    status: String,
    message: Option<String>,
    interval: Option<Duration>,
    ttl: Option<Duration>,
    state: State,
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    /// It goes on: what the server says that is no end of it.
    Works,
    /// It wants these: JSON text.
    Wants(String),
    /// It is done, with this result: JSON text.
    Completed(String),
    /// It failed, with this error: JSON text.
    Failed(String),
    /// It is done, and the rest is to be asked for.
    Ended,
    Cancelled,
}

/// What follows from an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// It is asked again, after so long.
    Ask(Duration),
    /// Its call has this result: JSON text.
    Completed(String),
    /// Its call has this error: JSON text.
    Failed(String),
    /// The server cancelled it, and says why.
    Cancelled(Option<String>),
    /// It is done, and does not say with what.
    Malformed,
}

/// How a question was in vain.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Miss {
    /// The server answered with an error of this code.
    Error(Option<i64>),
    /// It got no answer; the status of HTTP, where there was one.
    Failed(Option<u16>),
}

/// Which of its messages it was.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Poll,
    Update,
}

impl Seen {
    /// Reads a `CreateTaskResult`, the answer to `tasks/get`, or the params of `notifications/tasks`. `None`: it tells of no
    /// task.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let word = |name: &str| field(text, &[name]).and_then(string).map(String::from);
        let id = word("taskId").filter(|id| !id.is_empty() && id.len() <= MOST_ID)?;
        let status = word("status")?;
        let holds = |name: &str| field(text, &[name]).map(String::from);
        let state = match status.as_str() {
            "input_required" => holds("inputRequests").map_or(State::Works, State::Wants),
            "completed" => holds("result").map_or(State::Ended, State::Completed),
            "failed" => {
                holds("error").filter(|error| error.starts_with('{')).map_or(State::Ended, State::Failed)
            }
            "cancelled" => State::Cancelled,
            _ => State::Works,
        };
        let (interval, ttl) = (millis(text, "pollIntervalMs"), millis(text, "ttlMs"));
        Some(Self { id, status, message: word("statusMessage"), interval, ttl, state })
    }
}

fn millis(text: &str, name: &str) -> Option<Duration> {
    let ms = number(field(text, &[name])?)?;
    (ms >= 0.0 && ms.is_finite()).then(|| span(ms))
}

impl Task {
    /// Nothing is known of it but its id.
    pub(crate) fn new(id: String) -> Self {
        Self {
            id,
            told: None,
            interval: INTERVAL,
            ttl: None,
            since: None,
            misses: 0,
            not_before: Instant::default(),
            poll: None,
            update: None,
            given: None,
            inputs: Inputs::default(),
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Its status and what it says of it, where it was heard of.
    pub(crate) fn told(&self) -> Option<&(String, Option<String>)> {
        self.told.as_ref()
    }

    /// Whether the server said something of it. An id that nobody knows was perhaps never one.
    pub(crate) fn hears(&mut self, now: Instant, seen: Seen) -> (bool, Next) {
        let is_first = self.since.is_none();
        self.since.get_or_insert(now);
        self.misses = 0;
        self.interval = seen.interval.unwrap_or(self.interval).max(LEAST_INTERVAL);
        self.ttl = seen.ttl;
        let told = Some((seen.status, seen.message));
        let is_news = self.told != told;
        self.told = told;
        let next = match seen.state {
            State::Works => Next::Ask(self.interval),
            State::Wants(requests) => match self.inputs.hear(&requests) {
                Some(()) => Next::Ask(self.interval),
                None => Next::Malformed,
            },
            State::Completed(result) => Next::Completed(result),
            State::Failed(error) => Next::Failed(error),
            State::Cancelled => Next::Cancelled(self.told.as_ref().and_then(|(_, message)| message.clone())),
            // Whoever made it says only what it is.
            State::Ended if is_first => Next::Ask(Duration::ZERO),
            State::Ended => Next::Malformed,
        };
        (is_news, next)
    }

    /// A question was in vain: why it is lost, if it is.
    pub(crate) fn missed(&mut self, now: Instant, miss: Miss) -> Option<&'static str> {
        self.misses = self.misses.saturating_add(1);
        let is_over = || self.since.zip(self.ttl).is_some_and(|(since, ttl)| now >= since + ttl);
        match miss {
            Miss::Error(Some(-32_602)) => Some("the server does not know the task"),
            Miss::Error(Some(-32_601)) => Some("the server knows no tasks"),
            // Once may have been somebody on the way.
            Miss::Failed(Some(404 | 410)) if self.misses > 1 => Some("nothing answers for the task any more"),
            Miss::Error(_) | Miss::Failed(_) if is_over() => Some(
                "nothing answers for the task, and the time is over for which the server keeps it (ttlMs)",
            ),
            Miss::Error(_) | Miss::Failed(_) => None,
        }
    }

    /// Questions in a row that brought nothing.
    pub(crate) fn misses(&self) -> u32 {
        self.misses
    }

    /// It is asked no more often than that.
    pub(crate) fn interval(&self) -> Duration {
        self.interval
    }

    /// It may not be asked before so long.
    pub(crate) fn postpone(&mut self, now: Instant, wait: Duration) {
        self.not_before = self.not_before.max(now + wait);
    }

    /// So long it may not be asked.
    pub(crate) fn rests(&self, now: Instant) -> Duration {
        self.not_before.since(now)
    }

    /// The params that name it, with this member more.
    pub(crate) fn params(&self, more: Option<(&str, &str)>) -> String {
        let mut params = String::from("{\"taskId\":");
        quote(&self.id, &mut params);
        params.extend(more.map(|(name, value)| format!(",\"{name}\":{value}")));
        params.push('}');
        params
    }

    /// The params of the message that brings what is wanted, where there is something and none is under way.
    pub(crate) fn next_update(&mut self) -> Option<String> {
        if self.update.is_some() {
            return None;
        }
        self.given = self.given.take().or_else(|| self.inputs.take_answers());
        self.given.as_deref().map(|given| self.params(Some(("inputResponses", given))))
    }

    /// Whether it is being asked.
    pub(crate) fn is_asked(&self) -> bool {
        self.poll.is_some()
    }

    /// A message of ours is under way for it.
    pub(crate) fn sends(&mut self, sent: Sent, message: CallId) {
        match sent {
            Sent::Poll => self.poll = Some(message),
            Sent::Update => self.update = Some(message),
        }
    }

    /// A message of ours is over: which it was, if it was for this task.
    pub(crate) fn over(&mut self, message: CallId) -> Option<Sent> {
        if self.poll.take_if(|poll| *poll == message).is_some() {
            return Some(Sent::Poll);
        }
        self.update.take_if(|update| *update == message).map(|_| Sent::Update)
    }

    /// The server took what it wanted, or does not want it.
    pub(crate) fn updated(&mut self) {
        self.given = None;
    }

    /// Its messages that are under way.
    pub(crate) fn messages(&self) -> impl Iterator<Item = CallId> {
        self.poll.into_iter().chain(self.update)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = r#""taskId":"t1""#;

    fn at(ms: u64) -> Instant {
        Instant::from_micros(ms * 1_000)
    }

    fn seen(members: &str) -> Seen {
        Seen::read(&format!("{{{ID},{members}}}")).expect("it tells of a task")
    }

    fn ask(ms: u64) -> Next {
        Next::Ask(Duration::from_millis(ms))
    }

    #[test]
    fn what_follows_from_an_answer() {
        let wants = r#""inputRequests":{"a":{"method":"roots/list"}}"#;
        let rows = [
            (r#""status":"working""#.to_string(), ask(1_000)),
            (r#""status":"working","pollIntervalMs":5000"#.to_string(), ask(5_000)),
            (r#""status":"working","pollIntervalMs":1"#.to_string(), ask(250)),
            (r#""status":"working","pollIntervalMs":-5"#.to_string(), ask(1_000)),
            (r#""status":"working","pollIntervalMs":1e400"#.to_string(), ask(1_000)),
            (r#""status":"paused","result":{}"#.to_string(), ask(1_000)),
            (format!(r#""status":"input_required",{wants}"#), ask(1_000)),
            (r#""status":"input_required""#.to_string(), ask(1_000)),
            (r#""status":"input_required","inputRequests":5"#.to_string(), Next::Malformed),
            (
                r#""status":"completed","result":{"a":1}"#.to_string(),
                Next::Completed(r#"{"a":1}"#.to_string()),
            ),
            (
                r#""status":"failed","error":{"code":1}"#.to_string(),
                Next::Failed(r#"{"code":1}"#.to_string()),
            ),
            (r#""status":"completed""#.to_string(), Next::Malformed),
            (r#""status":"failed","error":"no""#.to_string(), Next::Malformed),
            (
                r#""status":"cancelled","statusMessage":"no""#.to_string(),
                Next::Cancelled(Some("no".to_string())),
            ),
        ];
        for (members, next) in rows {
            let mut task = Task::new("t1".to_string());
            task.hears(at(0), seen(r#""status":"working""#));
            assert_eq!(task.hears(at(1), seen(&members)).1, next, "{members}");
        }
        let mut task = Task::new("t1".to_string());
        assert_eq!(task.hears(at(0), seen(r#""status":"completed""#)).1, ask(0), "it is only made known");
    }

    #[test]
    fn what_tells_of_no_task() {
        let long = "x".repeat(1_025);
        for text in [
            "5".to_string(),
            "{}".to_string(),
            r#"{"taskId":"","status":"working"}"#.to_string(),
            r#"{"taskId":7,"status":"working"}"#.to_string(),
            r#"{"taskId":"a"}"#.to_string(),
            format!(r#"{{"taskId":"{long}","status":"working"}}"#),
        ] {
            assert_eq!(Seen::read(&text), None, "{text}");
        }
    }

    #[test]
    fn it_is_told_where_its_status_or_its_message_is_another_and_the_last_interval_holds() {
        let mut task = Task::new("t1".to_string());
        for (members, is_news, wait) in [
            (r#""status":"working","pollIntervalMs":300"#, true, 300),
            (r#""status":"working""#, false, 300),
            (r#""status":"working","statusMessage":"half""#, true, 300),
            (r#""status":"working","statusMessage":"half","pollIntervalMs":400"#, false, 400),
            (r#""status":"input_required","statusMessage":"half""#, true, 400),
        ] {
            assert_eq!(task.hears(at(0), seen(members)), (is_news, ask(wait)), "{members}");
        }
    }

    #[test]
    fn a_question_in_vain_is_asked_again_unless_the_task_is_gone() {
        let rows = [
            (Miss::Error(Some(-32_602)), 0, true),
            (Miss::Error(Some(-32_601)), 0, true),
            (Miss::Failed(Some(404)), 0, false),
            (Miss::Failed(Some(410)), 0, false),
            (Miss::Error(Some(-32_603)), 0, false),
            (Miss::Error(None), 0, false),
            (Miss::Failed(None), 0, false),
            (Miss::Failed(Some(503)), 59_999, false),
            (Miss::Failed(Some(503)), 60_000, true),
            (Miss::Error(Some(-32_603)), 60_000, true),
        ];
        for (miss, later, is_lost) in rows {
            let mut task = Task::new("t1".to_string());
            task.hears(at(1_000), seen(r#""status":"working","ttlMs":60000"#));
            assert_eq!(task.missed(at(1_000 + later), miss).is_some(), is_lost, "{miss:?} {later}");
            assert_eq!(task.misses(), 1);
            let is_status = matches!(miss, Miss::Failed(Some(404 | 410)));
            assert!(!is_status || task.missed(at(1_000 + later), miss).is_some(), "twice in a row");
        }
        let mut task = Task::new("t1".to_string());
        assert_eq!(task.missed(at(900_000), Miss::Failed(None)), None, "nothing is known of its time");
        task.hears(at(900_000), seen(r#""status":"working","ttlMs":5"#));
        task.hears(at(900_001), seen(r#""status":"working","ttlMs":null"#));
        assert_eq!(task.missed(at(990_000), Miss::Failed(None)), None, "the latest word counts");
    }

    #[test]
    fn what_is_wanted_is_brought_by_one_message_at_a_time_until_the_server_took_it() {
        let mut task = Task::new("t\"1".to_string());
        assert_eq!(task.next_update(), None);
        let keys = [r#""a":{"method":"m"}"#, r#""b":{"method":"m"}"#].join(",");
        task.hears(at(0), seen(&format!(r#""status":"input_required","inputRequests":{{{keys}}}"#)));
        task.inputs.answered("a".to_string(), "1");
        let first = r#"{"taskId":"t\"1","inputResponses":{"a":1}}"#;
        assert_eq!(task.next_update().as_deref(), Some(first));
        task.sends(Sent::Update, CallId(5));
        task.inputs.answered("b".to_string(), "2");
        assert_eq!(task.next_update(), None, "one is under way");
        assert_eq!(task.over(CallId(5)), Some(Sent::Update));
        assert_eq!(task.next_update().as_deref(), Some(first), "it was not taken");
        task.updated();
        assert_eq!(task.next_update().as_deref(), Some(r#"{"taskId":"t\"1","inputResponses":{"b":2}}"#));
        task.updated();
        assert_eq!((task.next_update(), task.over(CallId(5))), (None, None));
    }
}
