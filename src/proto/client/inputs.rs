//! Answers that are not the end of their request: the server wants something first, and gets it with the same request, sent
//! again (ARCHITECTURE.md, "Sessions and eras").

use super::Client;
use crate::proto::era::Era;
use crate::proto::error::Reason;
use crate::proto::event::Event;
use crate::proto::jsonrpc::{field, quote, Id};
use crate::proto::ledger::Kind;
use crate::proto::machines::answer::Answer;
use crate::proto::machines::inputs::{Input, Inputs, NoRound};
use crate::proto::time::Instant;
use crate::proto::CallId;

/// The code of a host that answers nothing of this method.
const NOBODY: &str = "-32601";

impl Client {
    /// A request of ours was answered: whether that was dealt with, for it is not its end. A Client reads its own.
    pub(super) fn goes_on(&mut self, now: Instant, call: CallId, text: &str) -> bool {
        let is_modern = |kind, era| kind == Kind::Request && era == Era::Modern;
        let Some((entry, result)) = self.ledger.peek(call).zip(field(text, &["result"])) else {
            return false;
        };
        if !is_modern(entry.request.kind, entry.request.dialect.era()) {
            return false;
        }
        match Answer::of(&entry.request.method, result) {
            Answer::Complete => return false,
            Answer::Task if self.config.tasks => self.on_task(now, call, result),
            _ if self.config.carry => return false,
            Answer::InputRequired => self.on_input_required(now, call, result),
            Answer::Task | Answer::Unfit => {
                let kind = self.fit(field(result, &["resultType"]).unwrap_or_default());
                let text = format!("its answer is of a type that it may not have: {kind}");
                self.fail(now, call, Reason::MalformedResponse, &text);
            }
        }
        true
    }

    /// How often the call was answered, and that was not its end; `None` once it has ended.
    pub(super) fn answers_taken(&self, call: CallId) -> Option<u32> {
        let entry = self.ledger.peek(call)?;
        Some(entry.rounds.count() + u32::from(entry.task.is_some()))
    }

    fn on_input_required(&mut self, now: Instant, call: CallId, result: &str) {
        let Some(entry) = self.ledger.get(call) else { return };
        match entry.rounds.begin(result) {
            Ok(()) => {}
            Err(NoRound::Malformed) => {
                let text = "the server wants input, and does not say what as the protocol has it";
                return self.fail(now, call, Reason::MalformedResponse, text);
            }
            Err(NoRound::TooMany) => {
                let rounds = entry.rounds.count();
                let text = format!("the server wants input again, after {rounds} rounds of it");
                return self.fail(now, call, Reason::ProtocolError, &text);
            }
        }
        self.end_exchanges(now, call);
        let Some(entry) = self.ledger.get(call) else { return };
        entry.delivery.begins_round();
        entry.clocks.rearm_call(now);
        entry.clocks.recovery.rearm(now);
        self.ledger.forget_ids(call);
        self.ask_inputs(now, call);
        self.send_inputs(now, call);
    }

    /// Whatever is open of the call is over: it was answered.
    pub(super) fn end_exchanges(&mut self, now: Instant, call: CallId) {
        self.close_open_stream(now, call);
        let open = self.leave_stream(now, call).and_then(|stream| stream.exchange());
        let earlier = self.ledger.get(call).and_then(|entry| entry.lineage.earlier.take());
        for exchange in open.into_iter().chain(earlier.map(|earlier| earlier.exchange)) {
            self.abort(exchange);
        }
    }

    /// Hands out what the call's server wants, as many at once as may be open.
    pub(super) fn ask_inputs(&mut self, now: Instant, call: CallId) {
        while self.server_requests.has_room(call) {
            let Some(Input { key, method, params }) = self.inputs(call).and_then(Inputs::next) else {
                return;
            };
            if self.config.carry {
                return self.fail_unasked(now, call, &method);
            }
            let name = Id::String(self.request_id(CallId(self.next_call)));
            self.next_call += 1;
            let mut message = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":", name.text());
            quote(&method, &mut message);
            message.extend(params.map(|params| format!(",\"params\":{params}")));
            message.push('}');
            let message = self.keep(&message);
            self.server_requests.open_input(call, method.clone(), key, name);
            self.ask_host(now, call, message, &method);
        }
    }

    /// A Client takes no question in this era: it has the task's name, and may ask for it by itself.
    fn fail_unasked(&mut self, now: Instant, call: CallId, method: &str) {
        let method = self.fit(method);
        let text = format!("the task wants an answer to {method}, which no Client can be asked for");
        self.fail(now, call, Reason::ProtocolError, &text);
    }

    /// What the call's server wants and did not get yet.
    fn inputs(&mut self, call: CallId) -> Option<&mut Inputs> {
        let entry = self.ledger.get(call)?;
        match entry.task.as_deref_mut() {
            Some(task) => Some(&mut task.inputs),
            None => entry.rounds.inputs(),
        }
    }

    /// The host answered what was wanted under this key. An error can't be told the server: there is no form for it.
    pub(super) fn on_input(&mut self, now: Instant, call: CallId, key: String, method: &str, body: &str) {
        let method = self.fit(method);
        let Some(result) = field(body, &["result"]) else {
            let why = match field(body, &["error", "code"]) {
                Some(NOBODY) => "nothing here answers it (onRequest)",
                _ => "its handler failed (onRequest)",
            };
            let text = format!("the server wants an answer to {method} before it goes on, and {why}");
            return self.fail(now, call, Reason::ProtocolError, &text);
        };
        if let Some(inputs) = self.inputs(call) {
            inputs.answered(key, result);
        }
        self.call_event(now, call, Event::InputAnswered { method });
        self.ask_inputs(now, call);
        self.request_over(now, call);
        self.send_inputs(now, call);
    }

    /// Sends what the call's server wants: to a task what is there, else the request again once nothing is missing.
    pub(super) fn send_inputs(&mut self, now: Instant, call: CallId) {
        self.update_task(now, call);
        if !self.ledger.get(call).is_some_and(|entry| entry.rounds.goes_on()) {
            return;
        }
        self.renew_wire_id(call);
        self.dispatch.enqueue(call, self.turn(call));
        self.send_queued(now);
        self.set_clocks(now, call);
    }
}
