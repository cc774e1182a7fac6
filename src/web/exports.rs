//! The exports. `handle` names a transport, `now` is epoch milliseconds; a call for an unknown handle does nothing.
//! Those that give a number give the address of what the core tells: see [`super::protocol`].

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Once;

use wasm_bindgen::prelude::*;

use super::exchange::response_head;
use super::host::Host;
use super::options::{call_spec, Object};
use super::protocol::tell_refusal;
use super::timer::Timer;
use super::transport::Transport;
use crate::proto::{
    CallId, Client, Config, ConfigError, ExchangeId, Input, Instant, IoFailure, SortedMap, Told,
};

thread_local! {
    static TRANSPORTS: RefCell<SortedMap<u32, Rc<Transport>>> = const { RefCell::new(SortedMap::new()) };
    static NEXT: Cell<u32> = const { Cell::new(1) };
    /// Where a panic's text goes: the host of the newest transport.
    static WITNESS: RefCell<Option<Host>> = const { RefCell::new(None) };
    /// Where the wrapper writes the bytes of bodies.
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// An input of this size is kept for the next bytes; the wrapper knows this number, too.
const KEPT_INPUT: usize = 64 << 10;

static HOOK: Once = Once::new();

fn transport(handle: u32) -> Option<Rc<Transport>> {
    TRANSPORTS.with_borrow(|all| all.get(&handle).cloned())
}

fn enter(handle: u32, now: f64, change: impl FnOnce(&mut Client, Instant)) -> u32 {
    transport(handle).map_or(0, |transport| transport.enter(now, change))
}

fn make(
    handle: u32,
    now: f64,
    change: impl FnOnce(&mut Client, Instant) -> Result<Option<CallId>, ConfigError>,
) -> u32 {
    transport(handle).map_or(0, |transport| transport.make(now, change))
}

/// Asks the wrapper of this transport for a poll.
fn schedule(handle: u32) {
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

/// Makes a transport of a configuration that is JSON text: its handle, or `{ option, message }` where an option is wrong,
/// as JSON text.
#[wasm_bindgen]
pub fn create(host: Host, config: &str, _now: f64) -> String {
    HOOK.call_once(|| std::panic::set_hook(Box::new(|info| testify(&info.to_string()))));
    WITNESS.set(Some(host.clone()));
    let object = Object::read(config);
    let checked = match object.options().and_then(Config::new) {
        Ok(checked) => checked,
        Err(error) => {
            let mut told = Told::default();
            told.open('{');
            tell_refusal(&mut told, &error);
            told.close('}');
            return told.take();
        }
    };
    let handle = NEXT.get();
    NEXT.set(handle + 1);
    let seed = object.number("seed").unwrap_or_default().to_bits();
    let transport = Transport::new(Timer::new(handle, schedule), host, checked, seed);
    TRANSPORTS.with_borrow_mut(|all| all.insert(handle, Rc::new(transport)));
    Told::of(&handle)
}

/// Begins the handshake: the first output is what was made, unless a Client does its own.
#[wasm_bindgen]
pub fn connect(handle: u32, now: f64) -> u32 {
    make(handle, now, |client, now| Ok(client.connect(now)))
}

/// Makes a call: the first output is what was made, or refused. `flags`, and what else is read of `rare`: see `call_spec`.
#[wasm_bindgen]
#[allow(clippy::too_many_arguments)] // Read property by property, an object of these takes longer than all else here.
pub fn call(
    handle: u32,
    now: f64,
    flags: u32,
    method: String,
    params: String,
    meta: String,
    tool: Option<String>,
    id: Option<String>,
    token: Option<String>,
    rare: Option<String>,
) -> u32 {
    make(handle, now, |client, now| {
        let spec = call_spec(flags, [method, params, meta], [tool, id, token], rare.as_deref())?;
        client.call(now, spec).map(Some)
    })
}

/// Sends a notification: the first output is what was made.
#[wasm_bindgen]
pub fn notify(handle: u32, now: f64, method: &str, params: &str) -> u32 {
    make(handle, now, |client, now| Ok(Some(client.notify(now, method, params))))
}

/// Ends the session at the server: the first output is what was made.
#[wasm_bindgen]
pub fn terminate(handle: u32, now: f64) -> u32 {
    make(handle, now, |client, now| Ok(Some(client.terminate(now))))
}

/// Whether a header of this name is the transport's own, whatever a user gives.
#[wasm_bindgen]
pub fn is_reserved(name: &str) -> bool {
    crate::proto::is_reserved(name)
}

/// The request id that the next call gets, unless it brings one along.
#[wasm_bindgen]
pub fn next_request_id(handle: u32) -> String {
    transport(handle)
        .map_or_else(String::new, |transport| transport.change(0.0, |client, _| client.next_request_id()))
}

/// Answers a request of the server's: the first output is what was made, where that is a call.
#[wasm_bindgen]
pub fn answer(handle: u32, now: f64, body: &str) -> u32 {
    make(handle, now, |client, now| Ok(client.answer(now, body)))
}

/// The handlers of the events from `first` to `last` are done with them, or failed: whether `drain` has something to tell.
#[wasm_bindgen]
pub fn handled(handle: u32, now: f64, call: u32, first: u32, last: u32, ok: bool) -> bool {
    transport(handle).is_some_and(|transport| {
        transport.change(now, |client, now| {
            client.handled(now, CallId(call), first..=last, ok);
            client.has_outputs()
        })
    })
}

/// Obeys what `handled` asked.
#[wasm_bindgen]
pub fn drain(handle: u32, now: f64) -> u32 {
    enter(handle, now, |_, _| {})
}

/// The application found events missing.
#[wasm_bindgen]
pub fn gap(handle: u32, now: f64, call: u32) -> u32 {
    enter(handle, now, |client, now| client.report_gap(now, CallId(call)))
}

/// The counters, as JSON text.
#[wasm_bindgen]
pub fn metrics(handle: u32, now: f64, reset: bool) -> Option<String> {
    transport(handle).map(|transport| Told::of(&transport.change(now, |client, _| client.metrics(reset))))
}

/// Cancels a call; the server is told this reason, where there is one.
#[wasm_bindgen]
pub fn cancel(handle: u32, now: f64, call: u32, reason: Option<String>) -> u32 {
    enter(handle, now, |client, now| match &reason {
        Some(reason) => client.cancel_because(now, CallId(call), reason),
        None => client.cancel(now, CallId(call)),
    })
}

/// There are other credentials, or there are none.
#[wasm_bindgen]
pub fn authorized(handle: u32, now: f64, ok: bool) -> u32 {
    enter(handle, now, |client, now| client.authorized(now, ok))
}

/// What the tool of this call declares, by the names behind `Mcp-Param-`: JSON text of an object.
#[wasm_bindgen]
pub fn declared(handle: u32, now: f64, call: u32, params: &str) -> u32 {
    enter(handle, now, |client, now| client.declare(now, CallId(call), Object::read(params).own_pairs()))
}

/// Ends a wait that was given to the wrapper.
#[wasm_bindgen]
pub fn reconnect(handle: u32, now: f64, call: u32) -> u32 {
    enter(handle, now, |client, now| client.reconnect(now, CallId(call)))
}

/// The protocol version that the Client negotiated.
#[wasm_bindgen]
pub fn set_version(handle: u32, now: f64, version: &str) -> u32 {
    enter(handle, now, |client, now| client.set_version(now, version))
}

/// A value that goes to the server, and is not to be shown.
#[wasm_bindgen]
pub fn learn_secret(handle: u32, secret: &str) {
    if let Some(transport) = transport(handle) {
        transport.change(0.0, |client, _| client.learn_secret(secret));
    }
}

/// Ends the session.
#[wasm_bindgen]
pub fn close(handle: u32, now: f64) -> u32 {
    enter(handle, now, Client::close)
}

/// A request is handed to `fetch`.
#[wasm_bindgen]
pub fn sent(handle: u32, now: f64, exchange: u32) -> u32 {
    enter(handle, now, |client, now| client.handle_input(now, Input::Sent(ExchangeId(exchange))))
}

/// The head of a response; `marks` and the target of a redirect: see `response_head`.
#[wasm_bindgen]
#[allow(clippy::too_many_arguments)] // One entry for each head, and no object.
pub fn head(
    handle: u32,
    now: f64,
    exchange: u32,
    status: u16,
    marks: u32,
    content_type: Option<String>,
    session_id: Option<String>,
    retry_after: Option<String>,
    target: Option<String>,
) -> u32 {
    let head = response_head(status, marks, [content_type, session_id, retry_after, target]);
    enter(handle, now, |client, now| client.handle_input(now, Input::Head(ExchangeId(exchange), head)))
}

/// Makes room for so many bytes of bodies: where they are to be written. It stands until more room is asked for, or more
/// than `KEPT_INPUT` was pushed.
#[wasm_bindgen]
pub fn room(bytes: usize) -> usize {
    INPUT.with_borrow_mut(|input| {
        input.resize(bytes, 0);
        input.as_ptr() as usize
    })
}

/// Takes bytes of a body: as many as were written into the room for them.
#[wasm_bindgen]
pub fn push(handle: u32, now: f64, exchange: u32, bytes: usize) -> u32 {
    let input = INPUT.take();
    let told = enter(handle, now, |client, now| {
        let bytes = input.get(..bytes).unwrap_or_default();
        client.handle_input(now, Input::Body(ExchangeId(exchange), bytes));
    });
    if input.len() <= KEPT_INPUT {
        INPUT.set(input);
    }
    told
}

/// A body ended cleanly.
#[wasm_bindgen]
pub fn end(handle: u32, now: f64, exchange: u32) -> u32 {
    enter(handle, now, |client, now| client.handle_input(now, Input::End(ExchangeId(exchange))))
}

/// A request, or the reading of its body, failed.
#[wasm_bindgen]
pub fn fail(handle: u32, now: f64, exchange: u32, message: String, code: String) -> u32 {
    let failure = IoFailure { message, code };
    enter(handle, now, |client, now| client.handle_input(now, Input::Failed(ExchangeId(exchange), failure)))
}

/// What was scheduled: looks at the timer.
#[wasm_bindgen]
pub fn poll(handle: u32, now: f64) -> u32 {
    transport(handle).map_or(0, |transport| transport.poll(now))
}

/// The rare ones of the outputs that the export before told of, in order: JSON text of an array.
#[wasm_bindgen]
pub fn rare(handle: u32) -> String {
    transport(handle).map_or_else(String::new, |transport| transport.rare())
}

/// Forgets a transport: its timer stops.
#[wasm_bindgen]
pub fn destroy(handle: u32) {
    let gone = TRANSPORTS.with_borrow_mut(|all| all.remove(&handle));
    drop(gone);
}
