//! The exports. `handle` names a transport, `now` is epoch milliseconds; a call for an unknown handle does nothing.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Once;

use wasm_bindgen::prelude::*;

use super::batch::to_js;
use super::host::Host;
use super::options::{config_error, Object};
use super::transport::Transport;
use crate::proto::{CallId, Client, Config, ExchangeId, Input, Instant, IoFailure, SortedMap};

thread_local! {
    static TRANSPORTS: RefCell<SortedMap<u32, Rc<Transport>>> = const { RefCell::new(SortedMap::new()) };
    static NEXT: Cell<u32> = const { Cell::new(1) };
    /// Where a panic's text goes: the host of the newest transport.
    static WITNESS: RefCell<Option<Host>> = const { RefCell::new(None) };
}

static HOOK: Once = Once::new();

fn transport(handle: u32) -> Option<Rc<Transport>> {
    TRANSPORTS.with_borrow(|all| all.get(&handle).cloned())
}

fn enter(handle: u32, now: f64, change: impl FnOnce(&mut Client, Instant)) -> JsValue {
    transport(handle).map_or(JsValue::UNDEFINED, |transport| transport.enter(now, change))
}

/// Asks the wrapper of this transport for a poll.
pub(super) fn schedule(handle: u32) {
    if let Some(transport) = transport(handle) {
        // The wrapper's `schedule` only queues a microtask; if even that throws, no poll can come.
        let _ = transport.host().schedule();
    }
}

/// Hands a panic's text to the wrapper. A second panic in here would hide the first: nothing may fail.
fn testify(text: &str) {
    let _ = WITNESS.try_with(|witness| {
        if let Ok(Some(host)) = witness.try_borrow().as_deref() {
            let _ = host.panicked(text);
        }
    });
}

/// Makes a transport: its handle, or `{ option, message }` where an option is wrong.
#[wasm_bindgen]
pub fn create(host: Host, config: &JsValue, _now: f64) -> JsValue {
    HOOK.call_once(|| std::panic::set_hook(Box::new(|info| testify(&info.to_string()))));
    WITNESS.set(Some(host.clone()));
    let object = Object(config);
    let checked = match object.options().and_then(Config::new) {
        Ok(checked) => checked,
        Err(error) => return config_error(&error),
    };
    let handle = NEXT.get();
    NEXT.set(handle + 1);
    let url = object.text("url").unwrap_or_default();
    let seed = object.number("seed").unwrap_or_default().to_bits();
    let transport = Transport::new(handle, host, url, object.flag("browser"), checked, seed);
    TRANSPORTS.with_borrow_mut(|all| all.insert(handle, Rc::new(transport)));
    JsValue::from(handle)
}

/// Begins the handshake.
#[wasm_bindgen]
pub fn connect(handle: u32, now: f64) -> JsValue {
    enter(handle, now, Client::connect)
}

/// Makes a call: its number, or `{ option, message }`. `drain` must follow.
#[wasm_bindgen]
pub fn call(handle: u32, now: f64, spec: &JsValue) -> JsValue {
    let Some(transport) = transport(handle) else { return JsValue::UNDEFINED };
    match transport
        .change(now, |client, now| Object(spec).call_spec().and_then(|spec| client.call(now, spec)))
    {
        Ok(call) => JsValue::from(call.0),
        Err(error) => config_error(&error),
    }
}

/// The request id of a call.
#[wasm_bindgen]
pub fn request_id(handle: u32, call: u32) -> String {
    transport(handle).map_or_else(String::new, |transport| {
        transport.change(0.0, |client, _| client.request_id(CallId(call)))
    })
}

/// Sends a notification: its call number. `drain` must follow.
#[wasm_bindgen]
pub fn notify(handle: u32, now: f64, method: &str, params: &str) -> u32 {
    transport(handle)
        .map_or(0, |transport| transport.change(now, |client, now| client.notify(now, method, params)).0)
}

/// Answers a request of the server's.
#[wasm_bindgen]
pub fn answer(handle: u32, now: f64, body: &str) -> JsValue {
    enter(handle, now, |client, now| client.answer(now, body))
}

/// The handler of an event is done with it, or failed.
#[wasm_bindgen]
pub fn handled(handle: u32, now: f64, call: u32, key: u32, ok: bool) -> JsValue {
    enter(handle, now, |client, now| client.handled(now, CallId(call), key, ok))
}

/// The application found events missing.
#[wasm_bindgen]
pub fn gap(handle: u32, now: f64, call: u32) -> JsValue {
    enter(handle, now, |client, now| client.report_gap(now, CallId(call)))
}

/// The counters.
#[wasm_bindgen]
pub fn metrics(handle: u32, now: f64, reset: bool) -> JsValue {
    transport(handle).map_or(JsValue::UNDEFINED, |transport| {
        to_js(&transport.change(now, |client, _| client.metrics(reset)))
    })
}

/// The number that the next call gets.
#[wasm_bindgen]
pub fn next_call(handle: u32) -> u32 {
    transport(handle).map_or(0, |transport| transport.change(0.0, |client, _| client.next_call()).0)
}

/// `deadlineMs` of a call that has not ended; NaN for any other.
#[wasm_bindgen]
pub fn deadline_ms(handle: u32, call: u32) -> f64 {
    let deadline = |client: &mut Client, _| client.deadline_ms(CallId(call));
    transport(handle).and_then(|transport| transport.change(0.0, deadline)).unwrap_or(f64::NAN)
}

/// Cancels a call; the server is told this reason, where there is one.
#[wasm_bindgen]
pub fn cancel(handle: u32, now: f64, call: u32, reason: Option<String>) -> JsValue {
    enter(handle, now, |client, now| match &reason {
        Some(reason) => client.cancel_because(now, CallId(call), reason),
        None => client.cancel(now, CallId(call)),
    })
}

/// There are other credentials, or there are none.
#[wasm_bindgen]
pub fn authorized(handle: u32, now: f64, ok: bool) -> JsValue {
    enter(handle, now, |client, now| client.authorized(now, ok))
}

/// Ends a wait that was given to the wrapper.
#[wasm_bindgen]
pub fn reconnect(handle: u32, now: f64, call: u32) -> JsValue {
    enter(handle, now, |client, now| client.reconnect(now, CallId(call)))
}

/// Ends the session at the server: a call number. `drain` must follow.
#[wasm_bindgen]
pub fn terminate(handle: u32, now: f64) -> u32 {
    transport(handle).map_or(0, |transport| transport.change(now, Client::terminate).0)
}

/// The protocol version that the Client negotiated.
#[wasm_bindgen]
pub fn set_version(handle: u32, version: &str) {
    if let Some(transport) = transport(handle) {
        transport.change(0.0, |client, _| client.set_version(version));
    }
}

/// Ends the session.
#[wasm_bindgen]
pub fn close(handle: u32, now: f64) -> JsValue {
    enter(handle, now, Client::close)
}

/// Takes bytes of a body.
#[wasm_bindgen]
pub fn push(handle: u32, now: f64, exchange: u32, bytes: &[u8]) -> JsValue {
    enter(handle, now, |client, now| client.handle_input(now, Input::Body(ExchangeId(exchange), bytes)))
}

/// A body ended cleanly.
#[wasm_bindgen]
pub fn end(handle: u32, now: f64, exchange: u32) -> JsValue {
    enter(handle, now, |client, now| client.handle_input(now, Input::End(ExchangeId(exchange))))
}

/// Reading a body failed.
#[wasm_bindgen]
pub fn fail(handle: u32, now: f64, exchange: u32, message: String, code: String) -> JsValue {
    let failure = IoFailure { message, code };
    enter(handle, now, |client, now| client.handle_input(now, Input::Failed(ExchangeId(exchange), failure)))
}

/// Runs what was scheduled.
#[wasm_bindgen]
pub fn poll(handle: u32, now: f64) -> JsValue {
    transport(handle).map_or(JsValue::UNDEFINED, |transport| transport.poll(now))
}

/// Obeys what earlier changes asked.
#[wasm_bindgen]
pub fn drain(handle: u32, now: f64) -> JsValue {
    enter(handle, now, |_, _| {})
}

/// Forgets a transport: its timer stops, its tasks are dropped.
#[wasm_bindgen]
pub fn destroy(handle: u32) {
    let gone = TRANSPORTS.with_borrow_mut(|all| all.remove(&handle));
    drop(gone);
}
