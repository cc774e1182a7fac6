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

    /// Whole milliseconds, as all that is told has them.
    pub fn as_millis(self) -> f64 {
        (self.0 / 1_000) as f64
    }

    /// So long before; not before the beginning of time.
    pub(crate) fn before(self, wait: Duration) -> Self {
        Self(self.0.saturating_sub(micros(wait)))
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
        Self(self.0.saturating_add(micros(wait)))
    }
}

/// Whole microseconds of a wait, saturated. (`as_micros` has 128 bits, which no module's machine has.)
fn micros(wait: Duration) -> u64 {
    wait.as_secs().saturating_mul(1_000_000).saturating_add(u64::from(wait.subsec_micros()))
}

/// Whole milliseconds of a duration, as events, diagnostics and counters give them.
pub(super) fn millis(duration: Duration) -> f64 {
    duration.as_millis() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_time_is_whole_milliseconds_that_add_up() {
        let (now, wait) = (Instant::from_millis(1_000.0), Duration::from_micros(418_900));
        assert_eq!((now + wait).as_millis(), now.as_millis() + millis(wait));
        assert_eq!((millis(wait), Instant::from_millis(0.9).as_millis()), (418.0, 0.0));
    }
}
