//! Budgets that run only at times: `callMs` and `recoveryMs`.
//!
//! A budget is a stopwatch with a total. It runs, pauses and goes on where it stopped; only the re-arming that
//! ARCHITECTURE.md, "Clocks", names gives it back its total. So a server that opens streams and says nothing spends it.

use std::time::Duration;

use super::time::Instant;

/// One pausable clock of a call.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    total: Duration,
    spent: Duration,
    since: Option<Instant>,
}

impl Budget {
    /// A full budget that does not run yet.
    pub(crate) fn new(total: Duration) -> Self {
        Self { total, spent: Duration::ZERO, since: None }
    }

    /// Lets it run from `now`; a no-op while it runs.
    pub(crate) fn run(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// Stops it at `now` and keeps what is left.
    pub(crate) fn pause(&mut self, now: Instant) {
        if let Some(since) = self.since.take() {
            self.spent += now.since(since);
        }
    }

    /// Time that passed while we slept does not count. How long we slept is not known exactly: a budget that seems to be
    /// used up has this grace left.
    pub(crate) fn forgive(&mut self, now: Instant, slept: Duration, grace: Duration) {
        if self.since.is_none() {
            return;
        }
        self.since = self.since.map(|since| (since + slept).min(now));
        if self.expires().is_some_and(|at| at < now + grace) {
            self.pause(now);
            self.spent = self.total.saturating_sub(grace);
            self.run(now);
        }
    }

    /// Makes it full again; it runs on if it ran. Whether it was not full.
    pub(crate) fn rearm(&mut self, now: Instant) -> bool {
        let before = (self.spent, self.since);
        self.spent = Duration::ZERO;
        self.since = self.since.map(|_| now);
        before != (self.spent, self.since)
    }

    /// When it will be used up; `None` while it does not run.
    pub(crate) fn expires(&self) -> Option<Instant> {
        self.since.map(|since| since + self.total.saturating_sub(self.spent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: Duration = Duration::from_secs(10);

    fn at(seconds: u64) -> Instant {
        Instant::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn a_budget_that_rests_is_filled_and_rests_on() {
        let mut budget = Budget::new(TEN);
        budget.run(at(0));
        budget.pause(at(4));
        budget.rearm(at(5));
        assert_eq!(budget.expires(), None);
        budget.run(at(6));
        assert_eq!(budget.expires(), Some(at(16)));
    }

    #[test]
    fn one_that_seems_to_be_used_up_after_a_sleep_has_its_grace_left() {
        let mut budget = Budget::new(TEN);
        budget.run(at(0));
        budget.forgive(at(100), Duration::from_secs(80), Duration::from_secs(2));
        assert_eq!(budget.expires(), Some(at(102)));
    }
}
