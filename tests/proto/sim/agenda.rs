//! Virtual time: what will happen, in order, and the randomness that spreads it.

use std::collections::BTreeMap;

/// Microseconds.
pub(crate) type Time = u64;

/// Things to come. Due at the same instant: in the order in which they were planned.
pub(crate) struct Agenda<T> {
    things: BTreeMap<(Time, u64), T>,
    planned: u64,
}

impl<T> Agenda<T> {
    pub(crate) fn new() -> Self {
        Self { things: BTreeMap::new(), planned: 0 }
    }

    pub(crate) fn plan(&mut self, at: Time, thing: T) {
        self.things.insert((at, self.planned), thing);
        self.planned += 1;
    }

    /// What is next waits until then. It keeps its place among what is due at that instant: what was planned first
    /// comes first, so nothing overtakes another on a link, however often both were put off.
    pub(crate) fn postpone(&mut self, until: Time) {
        let Some(((_, nth), thing)) = self.things.pop_first() else { return };
        self.things.insert((until, nth), thing);
    }

    /// All that is to come comes so much earlier, but not before `now`.
    pub(crate) fn hasten(&mut self, now: Time, by: Time) {
        let things = std::mem::take(&mut self.things);
        self.things = things
            .into_iter()
            .map(|((at, nth), thing)| ((at.saturating_sub(by).max(now), nth), thing))
            .collect();
    }

    pub(crate) fn next(&self) -> Option<Time> {
        self.things.first_key_value().map(|((at, _), _)| *at)
    }

    pub(crate) fn peek(&self) -> Option<&T> {
        self.things.first_key_value().map(|(_, thing)| thing)
    }

    pub(crate) fn take(&mut self) -> Option<T> {
        self.things.pop_first().map(|(_, thing)| thing)
    }
}

/// SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 up to `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// A network's delay in microseconds: some milliseconds, rarely much more.
    pub(crate) fn delay(&mut self) -> Time {
        match self.below(100) {
            0 => 400_000 + self.below(2_000_000),
            1..=8 => 40_000 + self.below(360_000),
            _ => 500 + self.below(40_000),
        }
    }
}
