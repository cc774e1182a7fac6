//! Waits before an attempt, and the seeded randomness that spreads them.

use std::time::Duration;

/// SplitMix64: small, seeded, and good enough to spread waits and make ids. Not for secrets.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A fraction from 0 up to 1.
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// `len` characters of a-z and 0-9.
    pub(crate) fn word(&mut self, len: usize) -> String {
        const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        (0..len).map(|_| LETTERS[(self.next() % 36) as usize] as char).collect()
    }
}

/// Our own backoff: `base` grown by each attempt, capped, spread by a quarter either way.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    /// `retry.baseMs`.
    pub(crate) base: Duration,
    /// `retry.maxMs`.
    pub(crate) max: Duration,
    /// By what it grows.
    pub(crate) growth: f64,
}

/// `retry.baseMs` and `retry.maxMs`, in milliseconds, where the user says nothing: a first wait, and the cap.
pub(crate) const BASE_MS: f64 = 500.0;
pub(crate) const MOST_MS: f64 = 4_000.0;
/// A server's hint is never shortened; it is spread by a tenth of it, at most this much.
const HINT_SPREAD: Duration = Duration::from_millis(200);
/// From this many barren opens in a row on, a hint alone (`retry: 1`) no longer sets the pace.
const BARREN_LIMIT: u32 = 3;

/// The longest wait before a stream that belongs to no call is opened again.
const PATIENT: Duration = Duration::from_secs(60);

/// The duration by this factor, to the microsecond.
pub(crate) fn times(duration: Duration, factor: f64) -> Duration {
    Duration::from_micros((duration.as_secs_f64() * factor * 1e6 + 0.5) as u64)
}

impl Backoff {
    /// The wait before attempt `attempt` (from 0) without any hint.
    pub(crate) fn own(&self, attempt: u32, rng: &mut Rng) -> Duration {
        self.spread(attempt, self.max, rng)
    }

    /// The wait before an attempt that nobody waits for.
    pub(crate) fn patient(&self, attempt: u32, rng: &mut Rng) -> Duration {
        self.spread(attempt, self.max.max(PATIENT), rng)
    }

    fn spread(&self, attempt: u32, most: Duration, rng: &mut Rng) -> Duration {
        times(self.capped(attempt, most), 0.75 + rng.fraction() / 2.0)
    }

    fn capped(&self, attempt: u32, most: Duration) -> Duration {
        let growth = self.growth.powi(attempt.min(64) as i32);
        let most_growth = most.as_secs_f64() / self.base.as_secs_f64();
        if growth >= most_growth {
            return most;
        }
        times(self.base, growth)
    }

    /// The wait before a resume that the stream's `retry` asks for.
    pub(crate) fn hinted(&self, hint: Duration, barren: u32, rng: &mut Rng) -> Duration {
        let spread = times((hint / 10).min(HINT_SPREAD), rng.fraction());
        // Of whole milliseconds: a timer has no others, and would make one more of a part.
        let hinted = hint.saturating_add(Duration::from_millis(spread.as_millis() as u64));
        if barren < BARREN_LIMIT {
            return hinted;
        }
        hinted.max(self.own(barren, rng))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_of_our_own_are_spread_by_a_quarter_either_way() {
        let second = Duration::from_secs(1);
        let backoff = Backoff { base: second, max: second, growth: 2.0 };
        let mut rng = Rng::new(1);
        let waits: Vec<_> = (0..200).map(|_| backoff.own(0, &mut rng).as_millis()).collect();
        assert!(waits.iter().all(|wait| (750..=1_250).contains(wait)), "{waits:?}");
        assert!(waits.iter().any(|wait| *wait < 800) && waits.iter().any(|wait| *wait > 1_200), "{waits:?}");
    }

    #[test]
    fn a_hint_is_spread_by_a_tenth_in_whole_milliseconds_and_never_shortened() {
        let second = Duration::from_secs(1);
        let backoff = Backoff { base: second, max: second, growth: 2.0 };
        let mut rng = Rng::new(1);
        let mut waits = |hint| -> Vec<_> {
            (0..200).map(|_| backoff.hinted(Duration::from_millis(hint), 0, &mut rng).as_micros()).collect()
        };
        assert!(waits(10).iter().all(|wait| *wait == 10_000), "less than a millisecond is no spread");
        let long = waits(100);
        assert!(long.iter().all(|wait| wait % 1_000 == 0 && (100_000..110_000).contains(wait)), "{long:?}");
        assert!(long.contains(&100_000) && long.contains(&109_000), "{long:?}");
    }
}
