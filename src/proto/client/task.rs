//! A call that became a task of the server's: asked for until it is done, given what it wants, cancelled with its call
//! (ARCHITECTURE.md, "Sessions and eras").

use std::time::Duration;

use super::Client;
use crate::proto::error::Reason;
use crate::proto::event::{Event, Settlement};
use crate::proto::jsonrpc::{field, with_members, Id};
use crate::proto::ledger::{members, Call, Kind};
use crate::proto::machines::dispatch::Word;
use crate::proto::machines::task::{Miss, Next, Seen, Sent, Task, LEAST_INTERVAL};
use crate::proto::time::Instant;
use crate::proto::timer::{Clock, Owner};
use crate::proto::CallId;

impl Client {
    /// A call was answered by a task.
    pub(super) fn on_task(&mut self, now: Instant, call: CallId, result: &str) {
        let Some(seen) = Seen::read(result) else {
            let text = "its answer is a task, and does not say which";
            return self.fail(now, call, Reason::MalformedResponse, text);
        };
        self.end_exchanges(now, call);
        self.ledger.forget_ids(call);
        if let Some(entry) = self.ledger.get(call) {
            entry.delivery.begins_round();
            entry.task = Some(Box::new(Task::new(seen.id.clone())));
        }
        self.set_clocks(now, call);
        self.hear_task(now, call, seen);
    }

    /// The server told of a task by itself: as good as an answer.
    pub(super) fn on_task_told(&mut self, now: Instant, text: &str) {
        let Some(seen) = field(text, &["params"]).and_then(Seen::read) else { return };
        if let Some(call) = self.with_task(|task| task.id() == seen.id) {
            self.hear_task(now, call, seen);
        }
    }

    fn with_task(&self, is_it: impl Fn(&Task) -> bool) -> Option<CallId> {
        let holds = |call: &CallId| {
            let entry = self.ledger.peek(*call)?;
            entry.task.as_deref().map(&is_it)
        };
        self.ledger.calls().into_iter().find(|call| holds(call) == Some(true))
    }

    fn task(&mut self, call: CallId) -> Option<&mut Task> {
        self.ledger.get(call)?.task.as_deref_mut()
    }

    fn hear_task(&mut self, now: Instant, call: CallId, seen: Seen) {
        let Some(task) = self.task(call) else { return };
        let (is_news, next) = task.hears(now, seen);
        if let Some((status, message)) = task.told().cloned().filter(|_| is_news) {
            let task_id = task.id().to_string();
            let (status, status_message) = (self.fit(&status), message.map(|message| self.fit(&message)));
            self.call_event(now, call, Event::Task { task_id, status, status_message });
        }
        match next {
            Next::Ask(wait) => {
                let at = self.last_before_deadline(now, call, now + wait);
                self.timers.set(Owner::Call(call), Clock::Wait, at);
                self.ask_inputs(now, call);
                self.send_inputs(now, call);
            }
            Next::Completed(result) => {
                self.end_task(now, call, &format!("\"result\":{}", as_complete(&result)));
            }
            Next::Failed(error) => self.end_task(now, call, &format!("\"error\":{error}")),
            Next::Cancelled(why) => {
                let why = why.map_or_else(String::new, |why| format!(": {}", self.said(&why, 0)));
                let text = format!("the server cancelled the task{why}");
                self.fail(now, call, Reason::TaskCancelled, &text);
            }
            Next::Malformed => {
                let text = "the server tells of the task as the protocol does not have it";
                self.fail(now, call, Reason::MalformedResponse, text);
            }
        }
    }

    /// When a task is asked for that would be asked for then: once more before its call's deadline, however long the server
    /// would have it wait; and not sooner than a task is asked for again.
    fn last_before_deadline(&self, now: Instant, call: CallId, at: Instant) -> Instant {
        let Some(entry) = self.ledger.peek(call) else { return at };
        let last = entry.clocks.deadline.before(entry.request.timeouts.connect);
        if last > now {
            at.min(last.max(now + LEAST_INTERVAL))
        } else {
            at
        }
    }

    /// The task is done: its call has the answer that it would have had without one.
    fn end_task(&mut self, now: Instant, call: CallId, member: &str) {
        let id =
            self.ledger.peek(call).and_then(|entry| entry.delivery.wire_ids.first()).unwrap_or(&Id::Null);
        let message = self.keep(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{member}}}", id.text()));
        self.settle(now, call, Settlement::Result { message, http_status: None });
    }

    /// It is time to ask for a call's task.
    pub(super) fn poll_task(&mut self, now: Instant, call: CallId) {
        if !self.is_ready() {
            return self.ask_later(now, call);
        }
        self.send_inputs(now, call);
        if let Some(task) = self.task(call).filter(|task| !task.is_asked()) {
            let params = task.params(None);
            self.send_for_task(now, call, Sent::Poll, &params);
        }
    }

    /// Brings a call's task what it wants, as far as that is there.
    pub(super) fn update_task(&mut self, now: Instant, call: CallId) {
        if let Some(params) = self.task(call).and_then(Task::next_update) {
            self.send_for_task(now, call, Sent::Update, &params);
        }
    }

    fn send_for_task(&mut self, now: Instant, call: CallId, sent: Sent, params: &str) {
        let rpc = match sent {
            Sent::Poll => "tasks/get",
            Sent::Update => "tasks/update",
        };
        let Some(entry) = self.ledger.peek(call) else { return };
        let mut own = self.task_entry(now, entry, rpc, params);
        own.request.on_behalf = Some(call);
        let message = self.open(own);
        if let Some(task) = self.task(call) {
            task.sends(sent, message);
        }
        self.post_control(now, message, Word::Given);
    }

    /// A message of ours about a call's task, in its words.
    pub(super) fn task_entry(&self, now: Instant, call: &Call, rpc: &str, params: &str) -> Call {
        let dialect = call.request.dialect.about(rpc, params);
        let content = members(rpc, params, dialect.own_meta(), None);
        let mut own = self.entry(now, Kind::Task, rpc, content);
        own.speaks(dialect);
        own
    }

    /// The server is told that nobody waits for a task any more. Whether it heard is not waited for.
    pub(super) fn cancel_task(&mut self, now: Instant, message: Call) {
        if self.is_ready() {
            let message = self.open(message);
            self.post_control(now, message, Word::Given);
        }
    }

    /// A `Retry-After` that a message about a task got.
    pub(super) fn postpone_poll(&mut self, now: Instant, message: CallId, floor: Option<Duration>) {
        let call = self.ledger.peek(message).and_then(|entry| entry.request.on_behalf);
        if let Some(task) = call.and_then(|call| self.task(call)) {
            task.postpone(now, floor.unwrap_or_default().max(task.interval()));
        }
    }

    /// A message about a task is over.
    pub(super) fn on_task_message(&mut self, now: Instant, message: CallId, settlement: &Settlement) {
        let Some(call) = self.with_task(|task| task.messages().any(|own| own == message)) else { return };
        let Some(sent) = self.task(call).and_then(|task| task.over(message)) else { return };
        let text = match settlement {
            Settlement::Result { message, .. } => self.text(*message).to_string(),
            Settlement::Accepted | Settlement::Failed(_) => String::new(),
        };
        let answer = field(&text, &["result"]);
        match (sent, settlement) {
            (Sent::Poll, Settlement::Result { .. }) => match answer.and_then(Seen::read) {
                Some(seen) if self.task(call).is_some_and(|task| task.id() == seen.id) => {
                    self.hear_task(now, call, seen);
                }
                _ => self.on_task_missed(now, call, Miss::Error(code_of(&text))),
            },
            // What it says of the task the next question tells.
            (Sent::Update, Settlement::Result { .. }) => self.on_updated(now, call, answer.is_some()),
            (_, Settlement::Failed(failure)) => {
                let status = failure.diagnostics.last_status;
                let status = status.filter(|_| failure.reason == Reason::HttpError);
                if matches!(failure.reason, Reason::Unauthorized | Reason::Forbidden) {
                    let text = format!("its task, which goes on, may not be asked for: {}", failure.text);
                    return self.fail(now, call, failure.reason, &text);
                }
                match sent {
                    Sent::Poll => self.on_task_missed(now, call, Miss::Failed(status)),
                    Sent::Update => self.ask_later(now, call),
                }
            }
            (_, Settlement::Accepted) => {}
        }
    }

    fn on_updated(&mut self, now: Instant, call: CallId, is_taken: bool) {
        let Some(task) = self.task(call) else { return };
        task.updated();
        if !is_taken {
            let message = "our answer to what the task wants was not taken".to_string();
            self.call_event(now, call, Event::Warning { code: "answer_refused", message });
        }
        self.send_inputs(now, call);
    }

    fn on_task_missed(&mut self, now: Instant, call: CallId, miss: Miss) {
        let Some(task) = self.task(call) else { return };
        match task.missed(now, miss) {
            Some(why) => self.fail(now, call, Reason::TaskLost, why),
            None => self.ask_later(now, call),
        }
    }

    /// A message about a task was in vain, and that passes.
    fn ask_later(&mut self, now: Instant, call: CallId) {
        let Some(task) = self.task(call) else { return };
        let (misses, rest) = (task.misses(), task.rests(now));
        let wait = self.own_wait(call, misses.saturating_sub(1)).max(rest);
        self.timers.set(Owner::Call(call), Clock::Wait, now + wait);
    }
}

/// The result of a task as the call would have had it: what a task holds need not say what it is.
fn as_complete(result: &str) -> String {
    match field(result, &["resultType"]) {
        Some(_) => result.to_string(),
        None => with_members(result, "\"resultType\":\"complete\""),
    }
}

fn code_of(text: &str) -> Option<i64> {
    field(text, &["error", "code"])?.parse().ok()
}
