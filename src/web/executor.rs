//! A small executor: tasks are polled only from exports, so a panic in one is an exception of that call.
//!
//! (`spawn_local` polls in a microtask of its own: a panic there settles nothing, and ends a Node process.)

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use futures::future::LocalBoxFuture;
use futures::stream::{FuturesUnordered, Stream};

/// A task that wakes itself may be polled so often in one run; the rest is scheduled.
const MOST_ROUNDS: u32 = 64;

/// The tasks of one transport.
pub(super) struct Executor {
    tasks: RefCell<FuturesUnordered<LocalBoxFuture<'static, ()>>>,
    /// Tasks that were spawned and not polled yet.
    fresh: RefCell<Vec<LocalBoxFuture<'static, ()>>>,
    bell: Arc<Bell>,
}

/// Asks the wrapper for a poll. A wake during a poll only makes it go round again: it must not be lost.
struct Bell {
    handle: u32,
    schedule: fn(u32),
    scheduled: AtomicBool,
    polling: AtomicBool,
    again: AtomicBool,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.polling.load(Ordering::Relaxed) {
            self.again.store(true, Ordering::Relaxed);
        } else if !self.scheduled.swap(true, Ordering::Relaxed) {
            (self.schedule)(self.handle);
        }
    }
}

impl Executor {
    /// `schedule` asks for a poll of the transport of this handle: a waker may hold no reference to it.
    pub(super) fn new(handle: u32, schedule: fn(u32)) -> Self {
        let bell = Bell {
            handle,
            schedule,
            scheduled: AtomicBool::new(false),
            polling: AtomicBool::new(false),
            again: AtomicBool::new(false),
        };
        Self { tasks: RefCell::default(), fresh: RefCell::default(), bell: Arc::new(bell) }
    }

    /// Adds a task. It is polled for the first time in the next run.
    pub(super) fn spawn(&self, task: LocalBoxFuture<'static, ()>) {
        self.fresh.borrow_mut().push(task);
        self.bell.wake_by_ref();
    }

    /// Wakes this executor.
    pub(super) fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.bell))
    }

    /// Polls what was woken.
    pub(super) fn run(&self) {
        self.bell.scheduled.store(false, Ordering::Relaxed);
        self.bell.polling.store(true, Ordering::Relaxed);
        let waker = self.waker();
        let mut context = Context::from_waker(&waker);
        let mut settled = false;
        for _ in 0..MOST_ROUNDS {
            self.bell.again.store(false, Ordering::Relaxed);
            let mut tasks = self.tasks.borrow_mut();
            tasks.extend(self.fresh.borrow_mut().drain(..));
            while let Poll::Ready(Some(())) = Pin::new(&mut *tasks).poll_next(&mut context) {}
            if !self.bell.again.load(Ordering::Relaxed) && self.fresh.borrow().is_empty() {
                settled = true;
                break;
            }
        }
        self.bell.polling.store(false, Ordering::Relaxed);
        if !settled {
            self.bell.wake_by_ref();
        }
    }
}
