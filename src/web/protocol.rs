//! The crossing, on this side: what the core tells, as the wrapper's `protocol.ts` reads it.
//!
//! What comes by the thousand crosses as numbers, in one array that the wrapper reads in this module's memory, beside
//! the one text of all JSON-RPC messages; events in a row that differ by their place alone are one record. What is rare
//! crosses as plain objects.
//!
//! An export gives the address of that array, or 0 where there is nothing to tell. It begins with [`HEAD`] numbers: how
//! many there are in all, the address and length of the text, how many rare outputs wait for [`Outbox::rare`], and the
//! address and length of the short texts: those of all records, in a row, each of so many UTF-16 units as its record says.
//! The array and the texts are valid until the next export.

use serde::Serialize;
use serde_wasm_bindgen::Serializer;
use wasm_bindgen::JsValue;

use crate::proto::jsonrpc::Id;
use crate::proto::{
    CallId, Challenge, ConfigError, Event, Instant, MessageRef, Output, SessionFacts, Settlement,
};

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

/// What is rare.
#[derive(Serialize)]
#[serde(tag = "out", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Out {
    Refused {
        option: &'static str,
        message: String,
    },
    Event {
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<u32>,
        at: f64,
        #[serde(flatten)]
        event: Event,
    },
    Settle {
        call: u32,
        at: f64,
        #[serde(flatten)]
        settlement: Settlement,
    },
    Request {
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<u32>,
        at: f64,
        message: MessageRef,
    },
    RequestCancelled {
        id: Id,
    },
    Persist(Box<SessionFacts>),
    RequestOver {
        id: Id,
    },
    Tools {
        message: MessageRef,
    },
    Declare {
        call: u32,
    },
    Ready {
        message: MessageRef,
    },
    Token {
        call: u32,
        token: String,
    },
    Authorize {
        call: u32,
        why: Challenge,
    },
    Schedule {
        call: u32,
        wait_ms: f64,
        attempt: u32,
    },
    Closed,
}

/// A call as it was made.
pub(super) struct Made {
    pub(super) call: CallId,
    pub(super) request_id: String,
    /// `None` where it has ended already.
    pub(super) terms: Option<crate::proto::Terms>,
}

/// Outputs on their way to the wrapper.
#[derive(Default)]
pub(super) struct Outbox {
    numbers: Vec<f64>,
    rare: Vec<Out>,
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
        self.run = None;
    }

    /// A call was made.
    pub(super) fn made(&mut self, Made { call, request_id, terms }: Made) {
        let millis = |duration: std::time::Duration| duration.as_secs_f64() * 1_000.0;
        let clocks = terms.map_or([-1.0, -1.0], |terms| [millis(terms.deadline), millis(terms.connect)]);
        let id = self.text(&request_id);
        self.record(Record::Made, &[f64::from(call.0), clocks[0], clocks[1], id]);
    }

    /// No call was made.
    pub(super) fn refused(&mut self, error: ConfigError) {
        self.push(Out::Refused { option: error.option, message: error.message });
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

    fn rare_output(&mut self, output: Output) {
        let number = |call: CallId| call.0;
        self.push(match output {
            Output::Event(call, at, event) => {
                Out::Event { call: call.map(number), at: at.as_millis(), event }
            }
            Output::Settle(call, at, settlement) => {
                Out::Settle { call: call.0, at: at.as_millis(), settlement }
            }
            Output::Request(call, at, message) => {
                Out::Request { call: call.map(number), at: at.as_millis(), message }
            }
            Output::RequestCancelled(id) => Out::RequestCancelled { id },
            Output::Persist(facts) => Out::Persist(facts),
            Output::RequestOver(id) => Out::RequestOver { id },
            Output::Tools(message) => Out::Tools { message },
            Output::Declare(call) => Out::Declare { call: call.0 },
            Output::Ready(message) => Out::Ready { message },
            Output::Token(call, token) => Out::Token { call: call.0, token },
            Output::Authorize(call, why) => Out::Authorize { call: call.0, why },
            Output::Schedule(call, wait, attempt) => {
                Out::Schedule { call: call.0, wait_ms: (wait.as_secs_f64() * 1_000.0).ceil(), attempt }
            }
            Output::Closed => Out::Closed,
            Output::Read(..) | Output::Abort(_) | Output::Transmit(..) | Output::Timeout(_) => return,
        });
    }

    fn push(&mut self, out: Out) {
        self.rare.push(out);
        self.record(Record::Rare, &[]);
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
            self.rare.len(),
            texts.as_ptr() as usize,
            texts.len(),
        ];
        for (place, number) in self.numbers.iter_mut().zip(head) {
            *place = number as f64;
        }
        self.numbers.as_ptr() as u32
    }

    /// The rare outputs, in order.
    pub(super) fn rare(&mut self) -> JsValue {
        to_js(&std::mem::take(&mut self.rare))
    }
}

/// A plain value. A count above 2^53 would be the only thing that can't cross.
pub(super) fn to_js(value: &impl Serialize) -> JsValue {
    value.serialize(&Serializer::new().serialize_maps_as_objects(true)).unwrap_or_default()
}
