//! Points in time. The core has no clock: every instant enters as the `now` argument of a call.

use std::ops::Add;
use std::time::Duration;

/// A point in time: microseconds since an epoch of the caller's choice (the driver uses the Unix epoch).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// From whole microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// From milliseconds, as JavaScript's clocks count; negative and NaN give zero, too large saturates.
    pub fn from_millis(millis: f64) -> Self {
        Self((millis * 1_000.0) as u64)
    }

    /// Milliseconds, with the fraction.
    pub fn as_millis(self) -> f64 {
        self.0 as f64 / 1_000.0
    }

    /// So long before; not before the beginning of time.
    pub(crate) fn before(self, wait: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(wait.as_micros()).unwrap_or(u64::MAX)))
    }

    /// The time from `earlier` to here; zero if `earlier` is later (a Worker's clock may stand still).
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// Saturates: a wait beyond the end of time is a wait for ever.
    fn add(self, wait: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(wait.as_micros()).unwrap_or(u64::MAX)))
    }
}

/// Milliseconds of a duration, with the fraction, as events and diagnostics give them.
pub(super) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
