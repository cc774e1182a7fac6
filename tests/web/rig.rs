//! A transport of the driver's with the smallest host it can have, and the log of what came out.

use std::cell::RefCell;
use std::rc::Rc;

use gloo_timers::future::TimeoutFuture;
use js_sys::{Array, Float64Array, Object, Promise, Reflect, Uint8Array, WebAssembly, JSON};
use landfall::web;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen(module = "/tests/web/host.js")]
extern "C" {
    type TestHost;
    #[wasm_bindgen(constructor)]
    fn new(
        on_poll: &Closure<dyn FnMut()>,
        on_sent: &Closure<dyn FnMut(u32)>,
        on_head: &Closure<OnHead>,
        on_chunk: &Closure<dyn FnMut(u32, Uint8Array)>,
        on_end: &Closure<dyn FnMut(u32)>,
        on_fail: &Closure<dyn FnMut(u32, String)>,
    ) -> TestHost;
    #[wasm_bindgen(method)]
    fn transmit(
        this: &TestHost,
        exchange: u32,
        url: &str,
        method: &str,
        headers: &Object,
        body: Option<String>,
    ) -> Promise;
    #[wasm_bindgen(method)]
    fn read(this: &TestHost, exchange: u32) -> Promise;
    #[wasm_bindgen(method)]
    fn abort(this: &TestHost, exchange: u32);
    #[wasm_bindgen(method)]
    fn stop(this: &TestHost);
    #[wasm_bindgen(method, getter = openCount)]
    fn open_count(this: &TestHost) -> u32;
    #[wasm_bindgen(method, getter = panicCount)]
    fn panic_count(this: &TestHost) -> u32;

    fn now() -> f64;
    #[wasm_bindgen(js_name = fetchJson)]
    fn fetch_json(url: &str) -> Promise;
}

/// Where the fault server listens: `node tests/server/main.mjs --port 8917`.
const SERVER: &str = match option_env!("LANDFALL_FAULT_SERVER") {
    Some(url) => url,
    None => "http://127.0.0.1:8917",
};

/// One output, with the message it points to.
#[derive(Clone, Debug)]
pub(crate) struct Out {
    pub(crate) fields: JsValue,
    pub(crate) message: JsValue,
}

impl Out {
    pub(crate) fn text(&self, name: &str) -> String {
        get(&self.fields, name).as_string().unwrap_or_default()
    }

    pub(crate) fn number(&self, name: &str) -> f64 {
        get(&self.fields, name).as_f64().unwrap_or(f64::NAN)
    }
}

/// Where the closures find the transport once it is made.
type Seat = Rc<RefCell<Option<(u32, Rc<TestHost>)>>>;
/// Exchange, status, content type, session id.
type OnHead = dyn FnMut(u32, u16, Option<String>, Option<String>);
type Log = Rc<RefCell<Vec<Out>>>;

/// A transport under test.
pub(crate) struct Rig {
    pub(crate) handle: u32,
    endpoint: String,
    log: Log,
    host: Rc<TestHost>,
    _keep: Box<dyn std::any::Any>,
}

pub(crate) fn get(of: &JsValue, name: &str) -> JsValue {
    Reflect::get(of, &JsValue::from_str(name)).unwrap_or_default()
}

fn parse(json: &str) -> JsValue {
    JSON::parse(json).expect("JSON of the test's own")
}

fn stringify(object: &Object) -> String {
    JSON::stringify(object).map_or_else(|_| String::new(), String::from)
}

/// Options of a transport to `url`, with more of them as JSON text.
fn config(url: &str, more: &str) -> Object {
    let base = r#"{"era":"resumable","clientInfo":"{\"name\":\"rig\",\"version\":\"1\"}","capabilities":"{}","terminate":true,"full":true}"#;
    let config: Object = parse(base).unchecked_into();
    let _ = Reflect::set(&config, &"url".into(), &url.into());
    let _ = Reflect::set(&config, &"seed".into(), &js_sys::Math::random().into());
    Object::assign(&config, &parse(more).unchecked_into());
    config
}

/// A record of the crossing's as an object of this type and these fields.
fn record(out: &str, fields: &[(&str, JsValue)]) -> JsValue {
    let object = Object::new();
    let _ = Reflect::set(&object, &"out".into(), &out.into());
    for (name, value) in fields {
        let _ = Reflect::set(&object, &(*name).into(), value);
    }
    object.into()
}

/// What an export told, as src/web/protocol.rs writes it.
fn told(handle: u32, address: u32) -> Vec<Out> {
    const HEAD: u32 = 6;
    if address == 0 {
        return Vec::new();
    }
    let rare: Vec<JsValue> = parse(&web::rare(handle)).unchecked_into::<Array>().iter().collect();
    // Copies: whatever is made here may let the memory grow.
    let buffer = wasm_bindgen::memory().unchecked_into::<WebAssembly::Memory>().buffer();
    let numbers = |at, length| Float64Array::new_with_byte_offset_and_length(&buffer, at, length).to_vec();
    let head = numbers(address, HEAD);
    let records = numbers(address + 8 * HEAD, head[0] as u32 - HEAD);
    let text = |at: f64, length: f64| {
        let bytes = Uint8Array::new_with_byte_offset_and_length(&buffer, at as u32, length as u32).to_vec();
        String::from_utf8(bytes).expect("UTF-8")
    };
    let messages: Array = match head[2] == 0.0 {
        true => Array::new(),
        false => parse(&text(head[1], head[2])).unchecked_into(),
    };
    // What the cases send is ASCII: a length is one of bytes, too.
    let mut texts = text(head[4], head[5]);
    let mut next = |length: f64| {
        let rest = texts.split_off(length as usize);
        std::mem::replace(&mut texts, rest)
    };
    let message = |index: f64| messages.get(index as u32);
    let mut told = Vec::new();
    let mut rare = rare.into_iter();
    let mut rest = records.as_slice();
    while let Some((kind, fields)) = rest.split_first() {
        let kind = *kind as u32;
        let length = match kind {
            9 => 8 + 2 * fields[7] as usize,
            10 => 4,
            11 => 5,
            kind => [0, 5, 5, 5, 5, 4, 3, 2, 1][kind as usize],
        };
        let (fields, after) = fields.split_at(length);
        rest = after;
        match kind {
            0 => {
                let fields = rare.next().expect("one for each record");
                let index = get(&fields, "message").as_f64();
                told.push(Out { message: index.map_or(JsValue::UNDEFINED, message), fields });
            }
            1..=4 => {
                let name = if kind % 2 == 1 { "message" } else { "progress" };
                for n in 0..fields[3] as u32 {
                    let fields_of =
                        [("type", name.into()), ("call", fields[0].into()), ("at", fields[1].into())];
                    let message = message(fields[4] + f64::from(n));
                    told.push(Out { fields: record("event", &fields_of), message });
                }
            }
            5 => {
                let fields_of = [
                    ("type", "result".into()),
                    ("call", fields[0].into()),
                    ("at", fields[1].into()),
                    ("httpStatus", fields[3].into()),
                ];
                told.push(Out { fields: record("settle", &fields_of), message: message(fields[2]) });
            }
            6 => {
                let fields_of =
                    [("type", "open".into()), ("call", fields[0].into()), ("status", fields[2].into())];
                told.push(Out { fields: record("event", &fields_of), message: JsValue::UNDEFINED });
            }
            7 | 8 => {
                let out = if kind == 8 {
                    "abort"
                } else if fields[1] == 1.0 {
                    "read"
                } else {
                    "pause"
                };
                let fields = record(out, &[("exchange", fields[0].into())]);
                told.push(Out { fields, message: JsValue::UNDEFINED });
            }
            9 => {
                let url = next(fields[4]);
                let headers = Object::new();
                for lengths in fields[8..].chunks(2) {
                    let (name, value) = (next(lengths[0]), next(lengths[1]));
                    let _ = Reflect::set(&headers, &name.into(), &value.into());
                }
                let body = (fields[6] > 0.0).then(|| text(fields[5], fields[6]));
                let fields_of = [
                    ("exchange", fields[0].into()),
                    ("method", ["GET", "POST", "DELETE"][fields[2] as usize].into()),
                    ("url", url.into()),
                    ("headers", headers.into()),
                    ("body", body.map_or(JsValue::UNDEFINED, JsValue::from)),
                ];
                told.push(Out { fields: record("transmit", &fields_of), message: JsValue::UNDEFINED });
            }
            10 => {
                let fields_of = [("call", fields[0].into()), ("requestId", next(fields[3]).into())];
                told.push(Out { fields: record("made", &fields_of), message: JsValue::UNDEFINED });
            }
            11 => {
                let id: JsValue = if fields[3] == 1.0 { next(fields[4]).into() } else { fields[4].into() };
                let fields_of = [("type", "sent".into()), ("call", fields[0].into()), ("wireId", id)];
                told.push(Out { fields: record("event", &fields_of), message: JsValue::UNDEFINED });
            }
            kind => panic!("a record of kind {kind}"),
        }
    }
    told
}

/// Obeys what an export told, and logs the rest.
fn take(log: &Log, host: &TestHost, endpoint: &str, told: Vec<Out>) {
    for out in told {
        let exchange = out.number("exchange") as u32;
        match out.text("out").as_str() {
            "transmit" => {
                let (url, headers) = (out.text("url"), get(&out.fields, "headers").unchecked_into());
                let url = if url.is_empty() { endpoint } else { &url };
                let body = get(&out.fields, "body").as_string();
                drop(host.transmit(exchange, url, &out.text("method"), &headers, body));
            }
            "read" => drop(host.read(exchange)),
            "abort" => host.abort(exchange),
            _ => log.borrow_mut().push(out),
        }
    }
}

impl Rig {
    /// A transport to the fault server that has not connected yet.
    pub(crate) fn new(more: &str) -> Self {
        Self::to(&format!("{SERVER}/mcp"), more)
    }

    pub(crate) fn to(url: &str, more: &str) -> Self {
        let log: Log = Rc::default();
        let seat: Seat = Rc::default();
        let run = {
            let (log, seat, endpoint) = (Rc::clone(&log), Rc::clone(&seat), url.to_string());
            move |change: &dyn Fn(u32) -> u32| {
                let Some((handle, host)) = seat.borrow().clone() else { return };
                let address = change(handle);
                take(&log, &host, &endpoint, told(handle, address));
            }
        };
        let (a, b, c, d, e, f) = (run.clone(), run.clone(), run.clone(), run.clone(), run.clone(), run);
        let on_poll: Closure<dyn FnMut()> = Closure::new(move || a(&|handle| web::poll(handle, now())));
        let on_sent: Closure<dyn FnMut(u32)> =
            Closure::new(move |exchange| e(&|handle| web::sent(handle, now(), exchange)));
        let on_head: Closure<OnHead> =
            Closure::new(move |exchange, status, kind: Option<String>, id: Option<String>| {
                let head = |handle| {
                    web::head(handle, now(), exchange, status, 0, kind.clone(), id.clone(), None, None)
                };
                f(&head);
            });
        let on_chunk: Closure<dyn FnMut(u32, Uint8Array)> =
            Closure::new(move |exchange, bytes: Uint8Array| {
                let room = web::room(bytes.length() as usize);
                let memory = wasm_bindgen::memory().unchecked_into::<WebAssembly::Memory>();
                Uint8Array::new(&memory.buffer()).set(&bytes, room as u32);
                b(&|handle| web::push(handle, now(), exchange, bytes.length() as usize));
            });
        let on_end: Closure<dyn FnMut(u32)> =
            Closure::new(move |exchange| c(&|handle| web::end(handle, now(), exchange)));
        let on_fail: Closure<dyn FnMut(u32, String)> = Closure::new(move |exchange, message: String| {
            d(&|handle| web::fail(handle, now(), exchange, message.clone(), String::new()));
        });
        let host = Rc::new(TestHost::new(&on_poll, &on_sent, &on_head, &on_chunk, &on_end, &on_fail));
        let raw: JsValue = AsRef::<JsValue>::as_ref(&*host).clone();
        let made = web::create(raw.unchecked_into(), &stringify(&config(url, more)), now());
        let handle = made.parse().expect("valid options");
        *seat.borrow_mut() = Some((handle, Rc::clone(&host)));
        let endpoint = url.to_string();
        let keep = (on_poll, on_sent, on_head, on_chunk, on_end, on_fail);
        Self { handle, endpoint, log, host, _keep: Box::new(keep) }
    }

    /// A transport to the fault server whose handshake is done.
    pub(crate) async fn connected(more: &str) -> Self {
        let rig = Self::new(more);
        rig.connect();
        rig.until("the handshake is done", |log| log.iter().any(|out| out.text("out") == "ready")).await;
        rig
    }

    pub(crate) fn take(&self, address: u32) {
        take(&self.log, &self.host, &self.endpoint, told(self.handle, address));
    }

    /// Begins the handshake, which is a call.
    pub(crate) fn connect(&self) -> u32 {
        self.made(web::connect(self.handle, now()))
    }

    /// Calls a tool with arguments as JSON text.
    pub(crate) fn call(&self, tool: &str, arguments: &str) -> u32 {
        self.call_with(tool, arguments, "{}")
    }

    /// Calls a tool with more of its own (clocks, `meta`), as JSON text.
    pub(crate) fn call_with(&self, tool: &str, arguments: &str, more: &str) -> u32 {
        const PROGRESS: u32 = 1;
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        let rare: Object = parse(more).unchecked_into();
        let meta = get(&rare, "meta").as_string().unwrap_or_else(|| "{}".to_string());
        let method = "tools/call".to_string();
        let (tool, rare) = (Some(tool.to_string()), Some(stringify(&rare)));
        let address = web::call(self.handle, now(), PROGRESS, method, params, meta, tool, None, None, rare);
        self.made(address)
    }

    /// The number of the call that was made.
    fn made(&self, address: u32) -> u32 {
        let mut told = told(self.handle, address);
        let made = told.remove(0);
        assert_eq!(made.text("out"), "made", "a valid spec");
        take(&self.log, &self.host, &self.endpoint, told);
        made.number("call") as u32
    }

    pub(crate) fn cancel(&self, call: u32) {
        self.take(web::cancel(self.handle, now(), call, None));
    }

    pub(crate) fn close(&self) {
        self.take(web::close(self.handle, now()));
    }

    pub(crate) fn log(&self) -> Vec<Out> {
        self.log.borrow().clone()
    }

    /// Waits until the log fulfils `wish`, 20 s at most.
    pub(crate) async fn until(&self, what: &str, wish: impl Fn(&[Out]) -> bool) {
        for _ in 0..4_000 {
            if wish(&self.log.borrow()) {
                return;
            }
            TimeoutFuture::new(5).await;
        }
        panic!("waited 20 s until {what}; the log: {:?}", self.log());
    }

    /// Waits for a call's settlement.
    pub(crate) async fn settled(&self, call: u32) -> Out {
        let is_it = |out: &Out| out.text("out") == "settle" && out.number("call") == f64::from(call);
        self.until("the call settled", |log| log.iter().any(is_it)).await;
        let log = self.log();
        assert_eq!(log.iter().filter(|out| is_it(out)).count(), 1, "a call settles once");
        log.into_iter().find(is_it).expect("it was found above")
    }

    /// Texts of the log messages that a call brought, in order.
    pub(crate) fn messages(&self, call: u32) -> Vec<String> {
        let of_call = |out: &&Out| out.text("type") == "message" && out.number("call") == f64::from(call);
        let text = |out: &Out| get(&get(&out.message, "params"), "data").as_string().unwrap_or_default();
        self.log().iter().filter(of_call).map(text).collect()
    }

    /// How many events of this type a call had.
    pub(crate) fn count(&self, call: u32, kind: &str) -> usize {
        let log = self.log();
        log.iter().filter(|out| out.text("type") == kind && out.number("call") == f64::from(call)).count()
    }

    pub(crate) fn open_exchanges(&self) -> u32 {
        self.host.open_count()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        assert_eq!(self.host.panic_count(), 0, "the driver never panics");
        self.host.stop();
        web::destroy(self.handle);
    }
}

/// How often the server ran the call with this key.
pub(crate) async fn executions(key: &str) -> f64 {
    let answer = control(&format!("executions?key={key}")).await;
    get(&answer, "executions").as_f64().or_else(|| answer.as_f64()).unwrap_or(f64::NAN)
}

/// What the server's control says.
pub(crate) async fn control(path: &str) -> JsValue {
    JsFuture::from(fetch_json(&format!("{SERVER}/control/{path}"))).await.expect("the fault server answers")
}

/// A key that no other test uses.
pub(crate) fn key(name: &str) -> String {
    format!("{name}-{}", (js_sys::Math::random() * 1e12).floor())
}

/// A promise that resolves after so long.
pub(crate) async fn sleep(ms: u32) {
    TimeoutFuture::new(ms).await;
}
