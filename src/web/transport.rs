//! One transport: its core and its one timer.

use std::cell::{Cell, RefCell};

use super::host::Host;
use super::protocol::{Made, Outbox};
use super::timer::Timer;
use crate::proto::{CallId, Client, Config, ConfigError, Input, Instant, Output};

pub(super) struct Transport {
    host: Host,
    client: RefCell<Client>,
    timer: RefCell<Timer>,
    outbox: RefCell<Outbox>,
    now: Cell<Instant>,
}

impl Transport {
    pub(super) fn new(timer: Timer, host: Host, config: Config, seed: u64) -> Self {
        Self {
            host,
            client: RefCell::new(Client::new(config, seed)),
            timer: RefCell::new(timer),
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
            Err(error) => outbox.refused(&error),
        }
        drop((client, outbox));
        self.drain()
    }

    /// The rare ones of the outputs that were told last.
    pub(super) fn rare(&self) -> String {
        self.outbox.borrow_mut().rare_text()
    }

    /// Changes the core. What it asks is obeyed by the next [`Self::enter`], which must follow where there is something.
    pub(super) fn change<T>(&self, now_ms: f64, change: impl FnOnce(&mut Client, Instant) -> T) -> T {
        let now = self.advance(now_ms);
        change(&mut self.client.borrow_mut(), now)
    }

    /// Looks at the timer. A Worker's clock may stand still, so where it fired it is at least the armed instant.
    pub(super) fn poll(&self, now_ms: f64) -> u32 {
        let fired = self.timer.borrow_mut().fired();
        let now_ms = fired.map_or(now_ms, |at| at.as_millis().max(now_ms));
        self.enter(now_ms, |client, now| {
            if fired.is_some() {
                client.handle_input(now, Input::Timeout);
            }
        })
    }

    /// Time never goes back.
    fn advance(&self, now_ms: f64) -> Instant {
        let now = Instant::from_millis(now_ms).max(self.now.get());
        self.now.set(now);
        now
    }

    fn drain(&self) -> u32 {
        let mut client = self.client.borrow_mut();
        let mut outbox = self.outbox.borrow_mut();
        loop {
            match client.poll_output() {
                Output::Timeout(next) => {
                    self.timer.borrow_mut().arm(self.now.get(), next.map(|(at, _)| at));
                    break;
                }
                output => outbox.add(output),
            }
        }
        outbox.seal(client.messages())
    }
}
