//! One table of named timers. Every deadline of the core is in it, under the name of its clock.

use std::time::Duration;

use super::sorted::{SortedMap, SortedSet};
use super::time::Instant;
use super::CallId;

/// The clocks (ARCHITECTURE.md, "Clocks"), in the order in which they are judged when due at the same instant.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Clock {
    /// The time for the body of a refusal. Its status came in, and is heard before any other clock is judged.
    Refusal,
    /// `deadlineMs`: the whole life of a call, queue included.
    Deadline,
    /// `firstByteMs`: from a call's POST to its response headers.
    FirstByte,
    /// `callMs`: without progress or message while an exchange is open.
    Call,
    /// `recoveryMs`: while a sent call has no open exchange.
    Recovery,
    /// `idleMs`: without a byte on a body being read.
    Idle,
    /// `handshakeMs`: a handshake request, a notification or an answer.
    Handshake,
    /// `connectMs`: from a resume GET or a probe to its response headers.
    Connect,
    /// A wait before the next attempt: the server's `retry`, `Retry-After`, or our own backoff.
    Wait,
    /// The wait for the DELETE of `close`.
    Close,
}

impl Clock {
    /// The option that sets it; of a clock that no option sets, a word.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Deadline => "deadlineMs",
            Self::FirstByte => "firstByteMs",
            Self::Call => "callMs",
            Self::Recovery => "recoveryMs",
            Self::Idle => "idleMs",
            Self::Handshake => "handshakeMs",
            Self::Connect => "connectMs",
            Self::Refusal => "refusal",
            Self::Wait => "wait",
            Self::Close => "close",
        }
    }
}

/// What a timer belongs to; releasing the owner releases its timers.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    /// The transport as a whole.
    Session,
    /// One call.
    Call(CallId),
}

/// A timer that was found to be late: something kept the host from its turn, and bytes may wait to be read.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Late {
    since: Instant,
    /// The host's own timer found it: by its next one the host had a turn.
    by_timer: bool,
}

impl Late {
    /// So much is late.
    const LEAST: Duration = Duration::from_millis(50);
    /// Bytes that never pause put off what is due for so long at most.
    const MOST: Duration = Duration::from_secs(1);

    /// What holds once the host was heard at `now`: `next` is due first; `by_timer`: its timer fired. `None`: what is due
    /// is judged.
    pub(crate) fn next(
        late: Option<Self>,
        now: Instant,
        next: Option<Instant>,
        by_timer: bool,
    ) -> Option<Self> {
        if next.is_none_or(|at| now.since(at) < Self::LEAST) {
            return None;
        }
        match late {
            None => Some(Self { since: now, by_timer }),
            Some(late) if late.by_timer && by_timer => None,
            Some(late) if now.since(late.since) >= Self::MOST => None,
            Some(late) => Some(Self { by_timer: late.by_timer || by_timer, ..late }),
        }
    }
}

/// All armed timers: at most one per owner and clock.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    armed: SortedMap<(Owner, Clock), Instant>,
    due: SortedSet<(Instant, Clock, Owner)>,
}

impl Timers {
    /// Arms a timer, or moves it.
    pub(crate) fn set(&mut self, owner: Owner, clock: Clock, at: Instant) {
        match self.armed.insert((owner, clock), at) {
            // Many events of one read move a clock to the same instant.
            Some(old) if old == at => return,
            Some(old) => _ = self.due.remove(&(old, clock, owner)),
            None => {}
        }
        self.due.insert((at, clock, owner));
    }

    /// Stops a timer; a no-op where none is armed.
    pub(crate) fn stop(&mut self, owner: Owner, clock: Clock) {
        if let Some(at) = self.armed.remove(&(owner, clock)) {
            self.due.remove(&(at, clock, owner));
        }
    }

    /// Stops every timer of an owner.
    pub(crate) fn release(&mut self, owner: Owner) {
        while let Some((&(other, clock), _)) = self.armed.at_least(&(owner, Clock::Refusal)) {
            if other != owner {
                return;
            }
            self.stop(owner, clock);
        }
    }

    /// When this timer is due, if it is armed.
    pub(crate) fn at(&self, owner: Owner, clock: Clock) -> Option<Instant> {
        self.armed.get(&(owner, clock)).copied()
    }

    /// The earliest timer.
    pub(crate) fn next(&self) -> Option<(Instant, Clock)> {
        self.due.first().map(|&(at, clock, _)| (at, clock))
    }

    /// Takes the earliest timer that is due at `now`.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<(Owner, Clock)> {
        let &(at, clock, owner) = self.due.first()?;
        if at > now {
            return None;
        }
        self.stop(owner, clock);
        Some((owner, clock))
    }

    /// How many timers are armed.
    pub(crate) fn len(&self) -> usize {
        self.armed.len()
    }
}
