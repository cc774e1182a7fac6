//! The crossing, on this side: what the core tells, as the wrapper's `protocol.ts` reads it.
//!
//! What comes by the thousand crosses as numbers, in one array that the wrapper reads in this module's memory, beside
//! the one text of all JSON-RPC messages; events in a row that differ by their place alone are one record. What is rare
//! crosses as JSON text.
//!
//! An export gives the address of that array, or 0 where there is nothing to tell. It begins with [`HEAD`] numbers: how
//! many there are in all, the address and length of the text, how many rare outputs wait for [`Outbox::rare`], and the
//! address and length of the short texts: those of all records, in a row, each of so many UTF-16 units as its record says.
//! The array and the texts are valid until the next export.

use std::time::Duration;

use serde::Serialize;

use crate::proto::jsonrpc::Id;
use crate::proto::{CallId, ConfigError, Event, Instant, MessageRef, Output, Settlement, Terms, Told};

const HEAD: usize = 6;

/// The first number of each record, and how it goes on.
#[derive(Copy, Clone, PartialEq)]
pub(super) enum Record {
    /// The next of the rare outputs.
    Rare = 0,
    /// call, at, key, count, index: `message` events in a row. No key is 0, no call is -1; `index` is the place of the
    /// first in the array of messages.
    Message = 1,
    /// The same of `progress` events.
    Progress = 2,
    /// The first message after a resume.
    SeamMessage = 3,
    /// The first progress after a resume.
    SeamProgress = 4,
    /// call, at, index, status: an answer. No status is 0.
    Result = 5,
    /// call, at, status: an `open` event.
    Open = 6,
    /// exchange, on.
    Read = 7,
    /// exchange.
    Abort = 8,
    /// exchange, call, method, manner, url, address and length of the body, count, lengths: a request to make; see
    /// [`Outbox::transmit`]. No call is -1, no url and no body are of length 0.
    Transmit = 9,
    /// call, deadline, connect, length of the request id: a call was made. One that has ended already has -1 for both clocks.
    Made = 10,
    /// call, at, 1 for one that was sent before, 1 for an id that is a text, the id or its length: a `sent` event.
    Sent = 11,
}

/// A call as it was made.
pub(super) struct Made {
    pub(super) call: CallId,
    pub(super) request_id: String,
    /// `None` where it has ended already.
    pub(super) terms: Option<Terms>,
}

/// Outputs on their way to the wrapper.
#[derive(Default)]
pub(super) struct Outbox {
    numbers: Vec<f64>,
    /// JSON text: an array that is not closed yet.
    rare: Told,
    /// How many there are.
    rares: usize,
    /// Texts of records, in a row.
    texts: String,
    /// Texts that may be long, each by itself.
    bodies: Vec<String>,
    /// Where the last record begins, if events may join it.
    run: Option<usize>,
}

impl Outbox {
    /// Empties it.
    pub(super) fn clear(&mut self) {
        self.numbers.clear();
        self.rare.clear();
        self.texts.clear();
        self.bodies.clear();
        self.rares = 0;
        self.run = None;
    }

    /// A call was made.
    pub(super) fn made(&mut self, Made { call, request_id, terms }: Made) {
        let clocks = terms.map_or([-1.0, -1.0], |terms| [millis(terms.deadline), millis(terms.connect)]);
        let id = self.text(&request_id);
        self.record(Record::Made, &[f64::from(call.0), clocks[0], clocks[1], id]);
    }

    /// No call was made.
    pub(super) fn refused(&mut self, error: &ConfigError) {
        let told = self.rare("refused", None);
        tell_refusal(told, error);
        told.close('}');
    }

    /// Adds an output that is the wrapper's to obey. The driver obeys `Timeout` itself.
    pub(super) fn add(&mut self, output: Output) {
        match output {
            Output::Event(call, at, Event::Message { message, key, seam }) => {
                let record = if seam { Record::SeamMessage } else { Record::Message };
                self.message(record, call, at, key, message);
            }
            Output::Event(call, at, Event::Progress { message, key, seam }) => {
                let record = if seam { Record::SeamProgress } else { Record::Progress };
                self.message(record, call, at, key, message);
            }
            Output::Event(Some(call), at, Event::Open { status }) => {
                self.record(Record::Open, &[f64::from(call.0), at.as_millis(), f64::from(status)]);
            }
            Output::Event(Some(call), at, Event::Sent { wire_id, reissue }) => {
                self.sent(call, at, wire_id, reissue);
            }
            Output::Settle(call, at, Settlement::Result { message, http_status }) => {
                let status = f64::from(http_status.unwrap_or_default());
                self.record(
                    Record::Result,
                    &[f64::from(call.0), at.as_millis(), f64::from(message.index), status],
                );
            }
            Output::Read(exchange, on) => {
                self.record(Record::Read, &[f64::from(exchange.0), f64::from(u8::from(on))]);
            }
            Output::Abort(exchange) => self.record(Record::Abort, &[f64::from(exchange.0)]),
            Output::Transmit(exchange, request) => self.transmit(exchange, request),
            Output::Settle(call, at, settlement) => self.settle(call, at, &settlement),
            output => self.rare_output(output),
        }
    }

    fn sent(&mut self, call: CallId, at: Instant, wire_id: Id, reissue: bool) {
        let (is_text, id) = match &wire_id {
            Id::String(text) => (1.0, self.text(text)),
            Id::Number(raw) => match raw.parse::<i64>() {
                Ok(number) if number.unsigned_abs() < 1 << 53 => (0.0, number as f64),
                _ => (1.0, self.text(raw)),
            },
            Id::Null => return,
        };
        let again = f64::from(u8::from(reissue));
        self.record(Record::Sent, &[f64::from(call.0), at.as_millis(), again, is_text, id]);
    }

    fn settle(&mut self, call: CallId, at: Instant, settlement: &Settlement) {
        let told = self.rare("settle", Some(call));
        told.field("at", &at.as_millis());
        match settlement {
            Settlement::Result { message, .. } => told.field("message", message),
            Settlement::Accepted => told.field("type", &"accepted"),
            Settlement::Failed(failure) => {
                told.field("type", &"tool_call_failed");
                told.join(&**failure);
            }
        }
        told.close('}');
    }

    fn rare_output(&mut self, output: Output) {
        let told = match output {
            Output::Event(call, at, event) => {
                let told = self.rare("event", call);
                told.field("at", &at.as_millis());
                told.join(&event);
                told
            }
            Output::Request(call, at, message) => {
                let told = self.rare("request", call);
                told.field("at", &at.as_millis());
                told.field("message", &message);
                told
            }
            Output::RequestCancelled(id) => self.rare_with("request_cancelled", None, "id", &id),
            Output::RequestOver(id) => self.rare_with("request_over", None, "id", &id),
            Output::Persist(facts) => {
                let told = self.rare("persist", None);
                told.join(&*facts);
                told
            }
            Output::Tools(message) => self.rare_with("tools", None, "message", &message),
            Output::Ready(message) => self.rare_with("ready", None, "message", &message),
            Output::Declare(call) => self.rare("declare", Some(call)),
            Output::Token(call, token) => self.rare_with("token", Some(call), "token", &token),
            Output::Authorize(call, why) => self.rare_with("authorize", Some(call), "why", &why),
            Output::Schedule(call, wait, attempt) => {
                let told = self.rare_with("schedule", Some(call), "waitMs", &millis(wait).ceil());
                told.field("attempt", &attempt);
                told
            }
            Output::Closed => self.rare("closed", None),
            Output::Settle(..)
            | Output::Read(..)
            | Output::Abort(_)
            | Output::Transmit(..)
            | Output::Timeout(_) => return,
        };
        told.close('}');
    }

    /// Opens the next of the rare outputs.
    fn rare(&mut self, out: &str, call: Option<CallId>) -> &mut Told {
        self.record(Record::Rare, &[]);
        self.rares += 1;
        let told = &mut self.rare;
        if told.is_empty() {
            told.open('[');
        }
        told.open('{');
        told.field("out", &out);
        if let Some(call) = call {
            told.field("call", &call.0);
        }
        told
    }

    fn rare_with(
        &mut self,
        out: &str,
        call: Option<CallId>,
        name: &str,
        value: &impl Serialize,
    ) -> &mut Told {
        let told = self.rare(out, call);
        told.field(name, value);
        told
    }

    pub(super) fn record(&mut self, record: Record, fields: &[f64]) {
        if self.numbers.is_empty() {
            self.numbers.extend([0.0; HEAD]);
        }
        self.run = None;
        self.numbers.push(f64::from(record as u8));
        self.numbers.extend(fields);
    }

    /// More fields of the record that was added last.
    pub(super) fn go_on(&mut self, fields: &[f64]) {
        self.numbers.extend(fields);
    }

    /// The next of the short texts: its length.
    pub(super) fn text(&mut self, text: &str) -> f64 {
        self.texts.push_str(text);
        let units = if text.is_ascii() { text.len() } else { text.encode_utf16().count() };
        units as f64
    }

    /// A long text: its address and its length in bytes.
    pub(super) fn body(&mut self, body: String) -> (f64, f64) {
        let place = (body.as_ptr() as usize as f64, body.len() as f64);
        self.bodies.push(body);
        place
    }

    /// A message: the record before it takes it in, where it is the next of the same kind.
    fn message(
        &mut self,
        record: Record,
        call: Option<CallId>,
        at: Instant,
        key: Option<u32>,
        of: MessageRef,
    ) {
        let call = call.map_or(-1.0, |call| f64::from(call.0));
        let (at, key, index) = (at.as_millis(), key.map_or(0.0, f64::from), f64::from(of.index));
        let last = self.run.and_then(|run| self.numbers.get_mut(run..));
        if let Some([kind, its_call, its_at, its_key, count, its_index]) = last {
            let is_next = *kind == f64::from(record as u8)
                && (*its_call, *its_at, *its_index + *count) == (call, at, index)
                && (if *its_key == 0.0 { key == 0.0 } else { *its_key + *count == key });
            if is_next {
                *count += 1.0;
                return;
            }
        }
        let run = self.numbers.len().max(HEAD);
        self.record(record, &[call, at, key, 1.0, index]);
        self.run = matches!(record, Record::Message | Record::Progress).then_some(run);
    }

    /// Closes it, with the text that the indices point into. Its address, or 0 where there is nothing to tell.
    pub(super) fn seal(&mut self, messages: Option<&str>) -> u32 {
        if self.numbers.is_empty() {
            return 0;
        }
        let text = messages.unwrap_or_default();
        let texts = self.texts.as_str();
        let head = [
            self.numbers.len(),
            text.as_ptr() as usize,
            text.len(),
            self.rares,
            texts.as_ptr() as usize,
            texts.len(),
        ];
        for (place, number) in self.numbers.iter_mut().zip(head) {
            *place = number as f64;
        }
        self.numbers.as_ptr() as u32
    }

    /// The rare outputs, in order: JSON text of an array.
    pub(super) fn rare_text(&mut self) -> String {
        if self.rare.is_empty() {
            self.rare.open('[');
        }
        self.rare.close(']');
        self.rare.take()
    }
}

/// What a `ConfigError` is to the wrapper, which throws it.
pub(super) fn tell_refusal(told: &mut Told, error: &ConfigError) {
    told.field("option", &error.option);
    told.field("message", &error.message);
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
