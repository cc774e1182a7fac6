//! JSON-RPC messages: whose they are, and what they mean.

use super::{Client, Output};
use crate::proto::cursor::Handed;
use crate::proto::event::{Event, MessageRef, Settlement};
use crate::proto::jsonrpc::{field, scan, with_field, Heard, Id, IdText, Message, Payload};
use crate::proto::ledger::{Call, Kind};
use crate::proto::machines::dispatch::Word;
use crate::proto::machines::subscription::SUBSCRIPTION_ID;
use crate::proto::server_requests::{Asked, Opened};
use crate::proto::time::Instant;
use crate::proto::CallId;

/// How the messages of an event are handed out.
#[derive(Copy, Clone)]
pub(super) struct Handing<'a> {
    /// Under which keys.
    pub(super) handed: &'a Handed,
    /// Of an array that comes again, what of it was not handled.
    pub(super) due: Option<&'a [u32]>,
    pub(super) seam: bool,
    /// It came on the body of an earlier request.
    pub(super) beside: bool,
}

impl<'a> Handing<'a> {
    pub(super) fn under(handed: &'a Handed) -> Self {
        Self { handed, due: None, seam: false, beside: false }
    }
}

/// How one message is.
#[derive(Copy, Clone)]
struct Hand {
    key: Option<u32>,
    seam: bool,
    beside: bool,
}

impl Client {
    pub(super) fn deliver(
        &mut self,
        now: Instant,
        call: CallId,
        payload: Payload<Heard<'_>>,
        text: &str,
        Handing { handed, due, mut seam, beside }: Handing<'_>,
    ) {
        match payload {
            Payload::One(message) => {
                self.on_message(now, call, message, text, Hand { key: handed.key_at(0), seam, beside });
            }
            Payload::Many(messages) => {
                for (place, (range, message)) in messages.into_iter().enumerate() {
                    let (Some(message), Some(text)) = (message, text.get(range)) else { continue };
                    let is_told = matches!(message, Heard::Notification { .. });
                    if is_told && due.is_some_and(|due| !due.iter().any(|due| *due as usize == place)) {
                        self.note_duplicate(call);
                        continue;
                    }
                    let hand = Hand { key: handed.key_at(place), seam, beside };
                    seam &= !is_told;
                    self.on_message(now, call, message, text, hand);
                }
            }
            Payload::Other => {}
        }
    }

    fn on_message(&mut self, now: Instant, call: CallId, message: Heard<'_>, text: &str, hand: Hand) {
        match message {
            Heard::Request { id, method } => {
                self.on_request(now, call, &id.id(), method.into_owned(), text);
            }
            Heard::Notification { method, token, progress } => {
                let owner = self.progresses(call, &method, token);
                match owner {
                    Some(owner) => self.on_progress(now, call, owner, progress, text, hand),
                    None => self.on_notification(now, call, &method, text, hand),
                }
            }
            Heard::Result { id } => self.on_response(now, call, &id.id(), false, text, None),
            Heard::Error { id, code: _ } => self.on_response(now, call, &id.id(), true, text, None),
        }
    }

    /// The call whose progress a notification tells that came on this call's stream. On one that another client began it
    /// bears a token of that client's.
    pub(super) fn progresses(&self, call: CallId, method: &str, token: Option<IdText<'_>>) -> Option<CallId> {
        let ("notifications/progress", Some(token)) = (method, token) else { return None };
        let adopts = || self.ledger.peek(call).is_some_and(|entry| entry.lineage.adopts);
        self.ledger.by_token(token, call).or_else(|| adopts().then_some(call))
    }

    /// Progress goes to the call whose token it bears, whichever stream it came on.
    fn on_progress(
        &mut self,
        now: Instant,
        call: CallId,
        owner: CallId,
        progress: Option<&str>,
        text: &str,
        Hand { key, seam, beside }: Hand,
    ) {
        if owner == call && !beside {
            self.check_progress(now, call, progress);
        }
        let message = self.keep(text);
        self.rearm_call(now, owner);
        self.call_event(now, owner, Event::Progress { message, key, seam });
    }

    /// Any other notification goes to the stream's own call.
    fn on_notification(
        &mut self,
        now: Instant,
        call: CallId,
        method: &str,
        text: &str,
        Hand { key, seam, beside: _ }: Hand,
    ) {
        let renamed = match method {
            "notifications/tools/list_changed" => {
                self.session.hints.forget();
                None
            }
            "notifications/cancelled" => self.request_cancelled(now, call, text),
            _ => None,
        };
        let is_task = method == "notifications/tasks";
        let Some(text) = self.on_subscribed(now, call, method, renamed.as_deref().unwrap_or(text)) else {
            return;
        };
        let message = self.keep(&text);
        let is_callers = self.ledger.get(call).is_some_and(|entry| entry.request.kind == Kind::Request);
        self.event(now, is_callers.then_some(call), Event::Message { message, key, seam });
        if is_task {
            self.on_task_told(now, &text);
        }
    }

    /// Responses are matched by id, not by stream. A server that got the id's type wrong, or lost it on an error, can
    /// only mean the one request of this stream.
    pub(super) fn on_response(
        &mut self,
        now: Instant,
        call: CallId,
        id: &Id,
        is_error: bool,
        text: &str,
        status: Option<u16>,
    ) {
        let exact = self.ledger.by_wire_id(id, call);
        let Some(owner) = self.answered_by(call, id, is_error) else {
            self.stats.unmatched += 1;
            let message =
                format!("a response under the id {} answers no request of ours", self.fit(&id.text()));
            return self.warn(now, call, "unmatched_response", message);
        };
        if exact.is_none() && !self.ledger.peek(owner).is_some_and(|entry| entry.lineage.adopts) {
            let message = "a response whose id is not the request's was taken as its answer".to_string();
            self.call_event(now, owner, Event::Warning { code: "odd_response_id", message });
        }
        // Whatever came with a success ran, as far as it came.
        let is_refused = is_error && status.is_some();
        if (is_refused && self.on_objection(now, owner, text))
            || self.on_subscription_answered(now, owner, text)
        {
            return;
        }
        self.report_resumed(owner);
        if self.goes_on(now, owner, text) {
            return;
        }
        self.learn(now, owner, text);
        let text = self.by_first_id(owner, text, &["result", "_meta", SUBSCRIPTION_ID]);
        let message = self.keep(&text);
        self.settle(now, owner, Settlement::Result { message, http_status: status });
    }

    /// The request that a response on this call's stream answers.
    pub(super) fn answered_by(&self, call: CallId, id: &Id, is_error: bool) -> Option<CallId> {
        self.ledger.by_wire_id(id, call).or_else(|| {
            let entry = self.ledger.peek(call).filter(|entry| entry.request.kind.wants_response())?;
            let is_ours = entry.lineage.adopts || id.twin(entry.wire_id()) || (*id == Id::Null && is_error);
            is_ours.then_some(call)
        })
    }

    /// An answer may say something of the tools, or of what a new session must be told.
    fn learn(&mut self, now: Instant, call: CallId, text: &str) {
        let Some(entry) = self.ledger.peek(call) else { return };
        let is_of_session = entry.request.kind == Kind::Request && !entry.delivery.stranded;
        if field(text, &["error"]).is_some() || !is_of_session {
            return;
        }
        match entry.request.method.as_str() {
            "tools/list" => self.session.hints.learn(now, text),
            method => self.session.restorable.learn(method, &entry.request.content),
        }
    }

    /// A request of the server's. `ping` is answered here; a repeat of an open one asks nobody twice, one too many of a
    /// call is refused, and before the session stands nobody is asked.
    fn on_request(&mut self, now: Instant, call: CallId, id: &Id, method: String, text: &str) {
        // The session that would take the answer is dead.
        if self.ledger.peek(call).is_some_and(|entry| entry.delivery.stranded) {
            return;
        }
        let written = field(text, &["id"]).unwrap_or_default();
        if method == "ping" {
            let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{written},\"result\":{{}}}}");
            return self.send_control(now, "pong", body, Word::Provoked);
        }
        let shakes_hands = |entry: &Call| matches!(entry.request.kind, Kind::Initialize | Kind::Handshake);
        if !self.is_ready() || self.ledger.peek(call).is_some_and(shakes_hands) {
            return;
        }
        let Self { server_requests, prefix, next_call, .. } = self;
        let fresh = || {
            *next_call += 1;
            Id::String(format!("{prefix}-{}", *next_call - 1))
        };
        let name = match server_requests.open(call, method.clone(), written, fresh) {
            Opened::As(name) => name,
            Opened::Before => return,
            Opened::TooMany => {
                let error = "{\"code\":-32000,\"message\":\"too many requests are open\"}";
                let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{written},\"error\":{error}}}");
                self.send_control(now, "response", body, Word::Provoked);
                let most = self.config.max_questions;
                let message = format!(
                    "a question of the server's beyond {most} open ones is refused (limits.maxQuestions)"
                );
                return self.warn(now, call, "too_many_questions", message);
            }
        };
        let message = match name == *id {
            true => self.keep(text),
            false => self.keep(&with_field(text, &["id"], &name.text())),
        };
        self.ask_host(now, call, message, &method);
    }

    /// The host is asked, and the call waits for the answer.
    pub(super) fn ask_host(&mut self, now: Instant, call: CallId, message: MessageRef, method: &str) {
        self.outputs.push_back(Output::Request(Some(call), now, message));
        self.call_event(now, call, Event::InputRequired { method: self.fit(method) });
        if let Some(entry) = self.ledger.get(call) {
            entry.lineage.questions += 1;
            self.set_clocks(now, call);
        }
    }

    /// The server does not want an answer any more: its word, with the request's name in place of another id.
    fn request_cancelled(&mut self, now: Instant, call: CallId, text: &str) -> Option<String> {
        const PATH: &[&str] = &["params", "requestId"];
        let id = field(text, PATH).and_then(Id::read)?;
        let request = self.server_requests.cancelled(call, &id)?;
        self.request_over(now, request.call);
        let renamed = (request.name != id).then(|| with_field(text, PATH, &request.name.text()));
        self.outputs.push_back(Output::RequestCancelled(request.name));
        renamed
    }

    /// The call is over, or its stream is: nobody waits for the answers to what was asked in it.
    pub(super) fn end_questions(&mut self, call: CallId) {
        for name in self.server_requests.end_call(call) {
            self.outputs.push_back(Output::RequestOver(name));
        }
    }

    pub(super) fn request_over(&mut self, now: Instant, call: CallId) {
        if let Some(entry) = self.ledger.get(call) {
            entry.lineage.questions = entry.lineage.questions.saturating_sub(1);
            self.set_clocks(now, call);
        }
    }

    pub(super) fn answer_request(&mut self, now: Instant, body: &str) -> Option<CallId> {
        let Ok(Payload::One(Message::Result { id } | Message::Error { id, .. })) = scan(body) else {
            return None;
        };
        let Some(request) = self.server_requests.answered(&id) else {
            // The question came to another transport of this Client's session, before a reload perhaps.
            let is_elsewheres = self.config.carry && !self.server_requests.knew(&id);
            return is_elsewheres.then(|| self.send_answer(now, None, body.to_string())).flatten();
        };
        let call = request.call;
        let written = match request.asked {
            Asked::Message(written) => written,
            Asked::Result(key) => {
                self.on_input(now, call, key, &request.method, body);
                return None;
            }
        };
        let answer = self.send_answer(now, Some(call), with_field(body, &["id"], &written));
        self.request_over(now, call);
        self.call_event(now, call, Event::InputAnswered { method: self.fit(&request.method) });
        answer
    }
}
