//! The clocks that a user sets. What is not set follows what is set (ARCHITECTURE.md, "Clocks").

use std::time::Duration;

use super::error::ConfigError;
use super::number::shown;
use super::timer::Clock;

/// The clocks that options set.
const CLOCKS: [Clock; 7] = [
    Clock::Deadline,
    Clock::FirstByte,
    Clock::Call,
    Clock::Recovery,
    Clock::Idle,
    Clock::Handshake,
    Clock::Connect,
];

/// The clocks as the user set them, in milliseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeoutOptions {
    /// `handshakeMs`.
    pub handshake: Option<f64>,
    /// `connectMs`.
    pub connect: Option<f64>,
    /// `firstByteMs`.
    pub first_byte: Option<f64>,
    /// `idleMs`.
    pub idle: Option<f64>,
    /// `callMs`.
    pub call: Option<f64>,
    /// `recoveryMs`.
    pub recovery: Option<f64>,
    /// `deadlineMs`.
    pub deadline: Option<f64>,
}

impl TimeoutOptions {
    /// These options, and `base` where they say nothing.
    pub(crate) fn over(&self, base: &Self) -> Self {
        Self {
            handshake: self.handshake.or(base.handshake),
            connect: self.connect.or(base.connect),
            first_byte: self.first_byte.or(base.first_byte),
            idle: self.idle.or(base.idle),
            call: self.call.or(base.call),
            recovery: self.recovery.or(base.recovery),
            deadline: self.deadline.or(base.deadline),
        }
    }

    fn get(&self, clock: Clock) -> Option<f64> {
        match clock {
            Clock::Deadline => self.deadline,
            Clock::FirstByte => self.first_byte,
            Clock::Call => self.call,
            Clock::Recovery => self.recovery,
            Clock::Idle => self.idle,
            Clock::Handshake => self.handshake,
            Clock::Connect => self.connect,
            Clock::Refusal | Clock::Wait | Clock::Close => None,
        }
    }

    /// Checks each value, then the relations among those that were set.
    fn check(&self) -> Result<(), ConfigError> {
        let of = |clock: Clock| (clock.name(), self.get(clock));
        for (option, value) in CLOCKS.map(of) {
            positive(option, value)?;
        }
        at_most(of(Clock::Connect), of(Clock::Idle))?;
        at_most(of(Clock::Call), of(Clock::Recovery))?;
        at_most(of(Clock::Recovery), of(Clock::Deadline))?;
        at_most(of(Clock::Call), of(Clock::Deadline))
    }

    /// The clocks in force. `timed`: whoever makes the call has a timer of its own.
    pub(crate) fn derive(&self, timed: bool) -> Result<Timeouts, ConfigError> {
        self.check()?;
        let set = |clock: Clock| self.get(clock).map(|ms| Derived { ms, by: Some(clock) });
        let unset = |ms: f64| Derived { ms, by: None };
        let (recovery, deadline) = (set(Clock::Recovery), set(Clock::Deadline));
        let budget = unset(120_000.0).at_most(deadline);
        let call = set(Clock::Call).unwrap_or_else(|| budget.at_most(recovery));
        let recovery = recovery.unwrap_or_else(|| budget.at_least(call));
        let longest = unset(if timed { 3_600_000.0 } else { 600_000.0 });
        let deadline = deadline.unwrap_or_else(|| longest.at_least(call.plus(recovery)));
        let idle = set(Clock::Idle).unwrap_or_else(|| unset(45_000.0).at_most(Some(call.times(2.0 / 3.0))));
        let patience = if timed && self.call.is_none() { unset(f64::INFINITY) } else { call };
        let derived = [
            deadline,
            set(Clock::FirstByte).unwrap_or(patience),
            patience,
            recovery,
            idle,
            set(Clock::Handshake).unwrap_or_else(|| unset(30_000.0).at_most(Some(deadline))),
            set(Clock::Connect).unwrap_or_else(|| unset(5_000.0).at_most(Some(idle.times(0.25)))),
        ];
        Ok(Timeouts { silence_counts: !timed || self.recovery.is_some(), ..Timeouts::of(derived) })
    }
}

/// Milliseconds, and the clock that was set and that they follow.
#[derive(Copy, Clone, Debug, PartialEq)]
struct Derived {
    ms: f64,
    by: Option<Clock>,
}

impl Derived {
    fn at_most(self, other: Option<Self>) -> Self {
        other.filter(|other| other.ms < self.ms).unwrap_or(self)
    }

    fn at_least(self, other: Self) -> Self {
        if other.ms > self.ms {
            other
        } else {
            self
        }
    }

    fn plus(self, other: Self) -> Self {
        Self { ms: self.ms + other.ms, by: self.by.or(other.by) }
    }

    fn times(self, factor: f64) -> Self {
        Self { ms: self.ms * factor, ..self }
    }
}

/// The clocks in force, for the transport or one call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Timeouts {
    pub(crate) handshake: Duration,
    pub(crate) connect: Duration,
    pub(crate) first_byte: Duration,
    pub(crate) idle: Duration,
    pub(crate) call: Duration,
    pub(crate) recovery: Duration,
    pub(crate) deadline: Duration,
    /// A stream that is silent, and of which nothing can be learned, fails its call after `recovery`.
    pub(crate) silence_counts: bool,
    /// What they were derived from, in the order of [`CLOCKS`].
    derived: [Derived; 7],
}

impl Timeouts {
    /// In the order of [`CLOCKS`].
    fn of(derived: [Derived; 7]) -> Self {
        let [deadline, first_byte, call, recovery, idle, handshake, connect] =
            derived.map(|each| span(each.ms));
        Self { handshake, connect, first_byte, idle, call, recovery, deadline, silence_counts: true, derived }
    }

    /// A stream that stays open for as long as its server likes.
    pub(crate) fn endless(self) -> Self {
        let never = span(f64::INFINITY);
        Self { first_byte: never, call: never, deadline: never, ..self }
    }

    /// A clock as messages name it: its option, its number, and whose that is.
    pub(crate) fn named(&self, clock: Clock) -> String {
        let name = clock.name();
        let mut all = CLOCKS.into_iter().zip(self.derived);
        let Some((_, Derived { ms, by })) = all.find(|(each, _)| *each == clock) else {
            return name.to_string();
        };
        let whose = match by {
            Some(by) if by == clock => "set by the caller".to_string(),
            Some(by) => format!("follows {}", by.name()),
            None => "the default".to_string(),
        };
        format!("{name}, {} ms ({whose})", grouped(ms as u64))
    }
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(" ")
}

/// One option must not pass another, where both are set.
pub(super) fn at_most(
    small: (&'static str, Option<f64>),
    large: (&'static str, Option<f64>),
) -> Result<(), ConfigError> {
    match (small, large) {
        ((option, Some(small)), (name, Some(large))) if small > large => {
            let (small, large) = (shown(small), shown(large));
            let message = format!("{option} ({small} ms) must be at most {name} ({large} ms)");
            Err(ConfigError { option, message })
        }
        _ => Ok(()),
    }
}

pub(super) fn positive(option: &'static str, value: Option<f64>) -> Result<(), ConfigError> {
    match value {
        Some(value) if !(value.is_finite() && value > 0.0) => Err(ConfigError {
            option,
            message: format!(
                "{option} must be a finite number of milliseconds above 0, not {}",
                shown(value)
            ),
        }),
        _ => Ok(()),
    }
}

/// Milliseconds to a duration; what passes the range of a clock is a wait for ever.
pub(super) fn span(ms: f64) -> Duration {
    Duration::from_micros((ms * 1_000.0) as u64)
}
