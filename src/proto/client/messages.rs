//! JSON-RPC messages: whose they are, and what they mean.

use super::{Client, Output, Question};
use crate::proto::error::excerpt;
use crate::proto::event::{Event, Settlement};
use crate::proto::jsonrpc::{field, scan, Id, Message, Payload};
use crate::proto::ledger::Kind;
use crate::proto::time::Instant;
use crate::proto::CallId;

/// Open questions of the server's; more are not heard.
const MOST_QUESTIONS: usize = 256;

/// How a message is handed out.
#[derive(Copy, Clone, Default)]
pub(super) struct Handing {
    pub(super) key: Option<u32>,
    pub(super) seam: bool,
    /// It came on the body of an earlier request.
    pub(super) beside: bool,
}

impl Client {
    pub(super) fn deliver(
        &mut self,
        now: Instant,
        call: CallId,
        payload: Payload,
        text: &str,
        handing: Handing,
    ) {
        match payload {
            Payload::One(message) => self.on_message(now, call, message, text, handing),
            Payload::Many(messages) => {
                for (range, message) in messages {
                    if let (Some(message), Some(text)) = (message, text.get(range)) {
                        self.on_message(now, call, message, text, handing);
                    }
                }
            }
            Payload::Other => {}
        }
    }

    fn on_message(&mut self, now: Instant, call: CallId, message: Message, text: &str, handing: Handing) {
        match message {
            Message::Request { id, method } => self.on_question(now, call, id, method, text),
            Message::Notification { method, token } => {
                self.on_notification(now, call, &method, token, text, handing);
            }
            Message::Result { id } | Message::Error { id, code: _ } => {
                self.on_response(now, call, &id, text, None);
            }
        }
    }

    /// The call whose progress a notification tells.
    pub(super) fn progresses(&self, method: &str, token: &Option<Id>) -> Option<CallId> {
        match (method, token) {
            ("notifications/progress", Some(token)) => self.ledger.by_token(token),
            _ => None,
        }
    }

    /// Progress goes to the call whose token it bears, whichever stream it came on; the rest to the stream's own.
    fn on_notification(
        &mut self,
        now: Instant,
        call: CallId,
        method: &str,
        token: Option<Id>,
        text: &str,
        Handing { key, seam, beside }: Handing,
    ) {
        let owner = self.progresses(method, &token);
        if let Some(owner) = owner {
            if owner == call && !beside {
                self.check_progress(now, call, text);
            }
            let message = self.keep(text);
            self.rearm_call(now, owner);
            return self.call_event(now, owner, Event::Progress { message, key, seam });
        }
        match method {
            "notifications/tools/list_changed" => self.session.hints.forget(),
            "notifications/cancelled" => self.question_cancelled(now, text),
            _ => {}
        }
        let message = self.keep(text);
        let is_callers = self.ledger.get(call).is_some_and(|entry| entry.kind == Kind::Request);
        self.event(now, is_callers.then_some(call), Event::Message { message, key, seam });
    }

    /// Responses are matched by id, not by stream. A server that got the id's type wrong, or lost it on an error, can
    /// only mean the one request of this stream.
    pub(super) fn on_response(
        &mut self,
        now: Instant,
        call: CallId,
        id: &Id,
        text: &str,
        status: Option<u16>,
    ) {
        let exact = self.ledger.by_wire_id(id);
        let is_error = matches!(scan(text), Ok(Payload::One(Message::Error { .. })));
        let Some(owner) = self.answered_by(call, id, is_error) else {
            self.stats.unmatched += 1;
            let message =
                format!("a response under the id {} answers no request of ours", excerpt(&id.text()));
            return self.call_event(now, call, Event::Warning { code: "unmatched_response", message });
        };
        if exact.is_none() && !self.ledger.peek(owner).is_some_and(|entry| entry.adopts) {
            let message = "a response whose id is not the request's was taken as its answer".to_string();
            self.call_event(now, owner, Event::Warning { code: "odd_response_id", message });
        }
        self.report_resumed(now, owner);
        self.learn(now, owner, text);
        let message = self.keep(text);
        self.settle(now, owner, Settlement::Result { message, http_status: status });
    }

    /// The request that a response on this call's stream answers.
    pub(super) fn answered_by(&self, call: CallId, id: &Id, is_error: bool) -> Option<CallId> {
        self.ledger.by_wire_id(id).or_else(|| {
            let entry = self.ledger.peek(call).filter(|entry| entry.kind.wants_response())?;
            let is_ours = entry.adopts || id.twin(entry.wire_id()) || (*id == Id::Null && is_error);
            is_ours.then_some(call)
        })
    }

    /// An answer may say something of the tools, or of what a new session must be told.
    fn learn(&mut self, now: Instant, call: CallId, text: &str) {
        let Some(entry) = self.ledger.peek(call) else { return };
        if field(text, &["error"]).is_some() || entry.kind != Kind::Request {
            return;
        }
        match entry.method.as_str() {
            "tools/list" => self.session.hints.learn(now, text),
            method => self.session.restorable.learn(method, &entry.content),
        }
    }

    /// A request of the server's. `ping` is answered here; a repeat of an open question asks nobody twice.
    fn on_question(&mut self, now: Instant, call: CallId, id: Id, method: String, text: &str) {
        if method == "ping" {
            let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{}}}}", id.text());
            return self.send_control(now, "pong", body);
        }
        let is_full = self.questions.len() >= MOST_QUESTIONS;
        // Some servers count for each stream anew: only on its own stream it is the same question.
        let is_open = |question: &Question| question.id == id && question.call == call;
        if is_full || self.questions.iter().any(is_open) {
            return;
        }
        let message = self.keep(text);
        self.outputs.push_back(Output::Request(Some(call), now, message));
        self.call_event(now, call, Event::InputRequired { method: method.clone() });
        self.questions.push(Question { id, method, call });
        if let Some(entry) = self.ledger.get(call) {
            entry.questions += 1;
            self.set_clocks(now, call);
        }
    }

    /// The server does not want its answer any more.
    fn question_cancelled(&mut self, now: Instant, text: &str) {
        let id = field(text, &["params", "requestId"]).and_then(Id::read);
        if let Some(place) = self.questions.iter().position(|question| Some(&question.id) == id.as_ref()) {
            let call = self.questions.remove(place).call;
            self.question_over(now, call);
        }
    }

    fn question_over(&mut self, now: Instant, call: CallId) {
        if let Some(entry) = self.ledger.get(call) {
            entry.questions = entry.questions.saturating_sub(1);
            self.set_clocks(now, call);
        }
    }

    pub(super) fn answer_question(&mut self, now: Instant, body: &str) {
        let Ok(Payload::One(Message::Result { id } | Message::Error { id, .. })) = scan(body) else { return };
        let Some(place) = self.questions.iter().position(|question| question.id == id) else { return };
        let Question { method, call, .. } = self.questions.remove(place);
        self.send_answer(now, call, body.to_string());
        self.question_over(now, call);
        self.call_event(now, call, Event::InputAnswered { method });
    }
}
