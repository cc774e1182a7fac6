//! Outputs on their way to the wrapper: one batch per export, the JSON-RPC messages as one text beside it.

use serde::Serialize;
use serde_wasm_bindgen::Serializer;
use wasm_bindgen::JsValue;

use crate::proto::jsonrpc::Id;
use crate::proto::{CallId, Challenge, Client, Event, Instant, MessageRef, Output, Settlement};

#[derive(Serialize)]
#[serde(tag = "out", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Out {
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
    Ready {
        era: &'static str,
        protocol_version: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        session_id: Option<String>,
        message: MessageRef,
        /// The text of that message, to go on with the session elsewhere.
        greeting: String,
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
    Read {
        exchange: u32,
        on: bool,
    },
    Abort {
        exchange: u32,
    },
    Closed,
}

/// What one export returns.
#[derive(Default, Serialize)]
pub(super) struct Batch<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<&'a str>,
    outputs: Vec<Out>,
}

impl<'a> Batch<'a> {
    /// Adds an output that is the wrapper's to obey. The driver obeys `Transmit` and `Timeout` itself.
    pub(super) fn add(&mut self, client: &Client, output: Output) {
        let number = |call: CallId| call.0;
        let millis = Instant::as_millis;
        self.outputs.push(match output {
            Output::Event(call, at, event) => Out::Event { call: call.map(number), at: millis(at), event },
            Output::Settle(call, at, settlement) => Out::Settle { call: call.0, at: millis(at), settlement },
            Output::Request(call, at, message) => {
                Out::Request { call: call.map(number), at: millis(at), message }
            }
            Output::RequestCancelled(id) => Out::RequestCancelled { id },
            Output::Ready { era, protocol_version, session_id, message } => {
                let greeting = client.text(message).to_string();
                Out::Ready { era, protocol_version, session_id, message, greeting }
            }
            Output::Read(exchange, on) => Out::Read { exchange: exchange.0, on },
            Output::Abort(exchange) => Out::Abort { exchange: exchange.0 },
            Output::Token(call, token) => Out::Token { call: call.0, token },
            Output::Authorize(call, why) => Out::Authorize { call: call.0, why },
            Output::Schedule(call, wait, attempt) => {
                Out::Schedule { call: call.0, wait_ms: wait.as_secs_f64() * 1_000.0, attempt }
            }
            Output::Closed => Out::Closed,
            Output::Transmit(..) | Output::Timeout(_) => return,
        });
    }

    /// `undefined` where there is nothing to tell.
    pub(super) fn into_js(mut self, messages: Option<&'a str>) -> JsValue {
        if self.outputs.is_empty() {
            return JsValue::UNDEFINED;
        }
        self.messages = messages;
        to_js(&self)
    }
}

/// A plain value. A count above 2^53 would be the only thing that can't cross.
pub(super) fn to_js(value: &impl Serialize) -> JsValue {
    value.serialize(&Serializer::new().serialize_maps_as_objects(true)).unwrap_or_default()
}
