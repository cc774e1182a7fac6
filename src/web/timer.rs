//! The one timer of a transport. It is a future that is polled only from exports, so a panic in there is an exception of
//! that call. (In gloo's `callback::Timeout` it would settle nothing, and end a Node process.)

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use gloo_timers::future::TimeoutFuture;

use crate::proto::Instant;

/// Longer waits are made in steps. A call's clocks are as a rule longer: one timer stands while they begin and end, where
/// each that is due before it would have another made in its place. (`setTimeout` itself takes 2^31 - 1 ms.)
const LONGEST_STEP: Duration = Duration::from_secs(10);

pub(super) struct Timer {
    /// Fires at the instant or before; one that fires early is armed again.
    armed: Option<(Instant, TimeoutFuture)>,
    bell: Arc<Bell>,
}

/// Asks the wrapper for a poll, once until that comes.
struct Bell {
    handle: u32,
    ring: fn(u32),
    is_silent: AtomicBool,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        if !self.is_silent.swap(true, Ordering::Relaxed) {
            (self.ring)(self.handle);
        }
    }
}

impl Timer {
    /// `ring` asks for a poll of the transport of this handle: a waker may hold no reference to it.
    pub(super) fn new(handle: u32, ring: fn(u32)) -> Self {
        Self { armed: None, bell: Arc::new(Bell { handle, ring, is_silent: AtomicBool::new(false) }) }
    }

    /// A later instant lets the old timer fire for nothing, an earlier one replaces it.
    pub(super) fn arm(&mut self, now: Instant, at: Option<Instant>) {
        let Some(at) = at else {
            self.replace(None);
            return;
        };
        // What is late is due now: a timer for that stands, or the next entry would replace it, and each after that.
        let wait = at.since(now).min(LONGEST_STEP);
        let at = now + wait;
        if self.armed.as_ref().is_some_and(|(armed, _)| *armed <= at) {
            return;
        }
        let ms = u32::try_from(wait.as_micros().div_ceil(1_000)).unwrap_or(u32::MAX);
        let mut future = TimeoutFuture::new(ms);
        // Registers the waker; a fresh timeout is never ready.
        let _ = self.look(&mut future);
        self.replace(Some((at, future)));
    }

    /// The instant that it was armed for, once it has fired.
    pub(super) fn fired(&mut self) -> Option<Instant> {
        self.bell.is_silent.store(false, Ordering::Relaxed);
        let (at, mut future) = self.armed.take()?;
        let has_fired = self.look(&mut future);
        if !has_fired {
            self.armed = Some((at, future));
        }
        has_fired.then_some(at)
    }

    fn look(&self, future: &mut TimeoutFuture) -> bool {
        let waker = Waker::from(Arc::clone(&self.bell));
        Pin::new(future).poll(&mut Context::from_waker(&waker)).is_ready()
    }

    /// A future that is dropped wakes whoever waits for it: that is no news.
    fn replace(&mut self, armed: Option<(Instant, TimeoutFuture)>) {
        let was_silent = self.bell.is_silent.swap(true, Ordering::Relaxed);
        self.armed = armed;
        self.bell.is_silent.store(was_silent, Ordering::Relaxed);
    }
}
