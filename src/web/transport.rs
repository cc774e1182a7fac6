//! One transport: its core, its executor, its one timer.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Context;
use std::time::Duration;

use gloo_timers::future::TimeoutFuture;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;

use super::executor::Executor;
use super::host::{io_failure, request_init, response_head, Host};
use super::protocol::{Made, Outbox};
use crate::proto::{
    CallId, Client, Config, ConfigError, ExchangeId, HttpRequest, Input, Instant, IoFailure, Manner, Output,
    ResponseHead,
};

/// `setTimeout` takes a signed 32-bit number: longer waits are made in steps.
const LONGEST_STEP: Duration = Duration::from_millis(i32::MAX as u64);

type Arrival = (ExchangeId, Result<ResponseHead, IoFailure>);

pub(super) struct Transport {
    host: Host,
    url: String,
    browser: bool,
    client: RefCell<Client>,
    executor: Executor,
    /// Heads and failures of fetches, from their tasks.
    arrivals: Rc<RefCell<Vec<Arrival>>>,
    /// Fires at the instant or before; one that fires early is armed again.
    timer: RefCell<Option<(Instant, TimeoutFuture)>>,
    outbox: RefCell<Outbox>,
    now: Cell<Instant>,
}

impl Transport {
    pub(super) fn new(
        executor: Executor,
        host: Host,
        url: String,
        browser: bool,
        config: Config,
        seed: u64,
    ) -> Self {
        Self {
            host,
            url,
            browser,
            client: RefCell::new(Client::new(config, seed)),
            executor,
            arrivals: Rc::default(),
            timer: RefCell::new(None),
            outbox: RefCell::default(),
            now: Cell::default(),
        }
    }

    pub(super) fn host(&self) -> &Host {
        &self.host
    }

    /// Changes the core, and obeys what it asks. The address of what it tells: see [`Outbox`].
    pub(super) fn enter(&self, now_ms: f64, change: impl FnOnce(&mut Client, Instant)) -> u32 {
        let now = self.advance(now_ms);
        change(&mut self.client.borrow_mut(), now);
        self.outbox.borrow_mut().clear();
        self.drain()
    }

    /// The same for a change that makes a call: what was made, or why none was, is told first.
    pub(super) fn make(
        &self,
        now_ms: f64,
        change: impl FnOnce(&mut Client, Instant) -> Result<Option<CallId>, ConfigError>,
    ) -> u32 {
        let now = self.advance(now_ms);
        let mut outbox = self.outbox.borrow_mut();
        outbox.clear();
        let mut client = self.client.borrow_mut();
        match change(&mut client, now) {
            Ok(None) => {}
            Ok(Some(call)) => {
                outbox.made(Made { call, request_id: client.request_id(call), terms: client.terms(call) });
            }
            Err(error) => outbox.refused(error),
        }
        drop((client, outbox));
        self.drain()
    }

    /// The rare ones of the outputs that were told last.
    pub(super) fn rare(&self) -> JsValue {
        self.outbox.borrow_mut().rare()
    }

    /// Changes the core. What it asks is obeyed by the next [`Self::enter`], which must follow where there is something.
    pub(super) fn change<T>(&self, now_ms: f64, change: impl FnOnce(&mut Client, Instant) -> T) -> T {
        let now = self.advance(now_ms);
        change(&mut self.client.borrow_mut(), now)
    }

    /// Runs the tasks and the timer, and gives the core what they brought.
    pub(super) fn poll(&self, now_ms: f64) -> u32 {
        self.advance(now_ms);
        self.executor.run();
        let due = self.timer_fired();
        let arrivals = self.arrivals.take();
        let mut client = self.client.borrow_mut();
        for (exchange, result) in arrivals {
            client.handle_input(
                self.now.get(),
                match result {
                    Ok(head) => Input::Head(exchange, head),
                    Err(failure) => Input::Failed(exchange, failure),
                },
            );
        }
        if due {
            client.handle_input(self.now.get(), Input::Timeout);
        }
        drop(client);
        self.outbox.borrow_mut().clear();
        self.drain()
    }

    /// Time never goes back.
    fn advance(&self, now_ms: f64) -> Instant {
        let now = Instant::from_millis(now_ms).max(self.now.get());
        self.now.set(now);
        now
    }

    /// Whether the timer fired. A Worker's clock may stand still, so then it is at least the armed instant.
    fn timer_fired(&self) -> bool {
        let mut timer = self.timer.borrow_mut();
        let Some((at, future)) = timer.as_mut() else { return false };
        let waker = self.executor.waker();
        if Pin::new(future).poll(&mut Context::from_waker(&waker)).is_pending() {
            return false;
        }
        self.now.set(self.now.get().max(*at));
        *timer = None;
        true
    }

    fn drain(&self) -> u32 {
        let mut client = self.client.borrow_mut();
        let mut outbox = self.outbox.borrow_mut();
        loop {
            match client.poll_output() {
                Output::Transmit(exchange, request) => self.transmit(exchange, &request),
                Output::Timeout(next) => {
                    self.arm(next.map(|(at, _)| at));
                    break;
                }
                output => outbox.add(output),
            }
        }
        outbox.seal(client.messages())
    }

    /// Starts a fetch; its head comes by a task.
    fn transmit(&self, exchange: ExchangeId, request: &HttpRequest) {
        let call = request.call.map(|call| call.0);
        let url = request.url.clone().unwrap_or_else(|| self.url.clone());
        let started = request_init(request, self.browser)
            .and_then(|init| self.host.open(exchange.0, &url, &init, call, request.manner == Manner::Bare));
        let arrivals = Rc::clone(&self.arrivals);
        self.executor.spawn(Box::pin(async move {
            let result = match started {
                Ok(promise) => JsFuture::from(promise).await,
                Err(error) => Err(error),
            };
            let arrival = result.and_then(|response| response_head(&response, &url));
            arrivals.borrow_mut().push((exchange, arrival.map_err(|error| io_failure(&error))));
        }));
    }

    /// Keeps one timer: a later instant lets the old one fire for nothing, an earlier one replaces it.
    fn arm(&self, at: Option<Instant>) {
        let mut timer = self.timer.borrow_mut();
        let Some(at) = at else {
            *timer = None;
            return;
        };
        // What is late is due now: a timer for that stands, or the next entry would replace it, and each after that.
        let wait = at.since(self.now.get()).min(LONGEST_STEP);
        let at = self.now.get() + wait;
        if timer.as_ref().is_some_and(|(armed, _)| *armed <= at) {
            return;
        }
        let mut future =
            TimeoutFuture::new(u32::try_from(wait.as_micros().div_ceil(1_000)).unwrap_or(u32::MAX));
        let waker = self.executor.waker();
        // Registers the waker; a fresh timeout is never ready.
        let _ = Pin::new(&mut future).poll(&mut Context::from_waker(&waker));
        *timer = Some((at, future));
    }
}
