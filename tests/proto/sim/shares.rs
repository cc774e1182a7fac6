//! What happened in a run, and in how many runs.

use std::collections::BTreeMap;

use super::world::Run;

/// What a run may contain.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Happened {
    Cut,
    HalfOpen,
    Duplicate,
    Eviction,
    SessionDeath,
    Trap,
    RefusedResume,
    Cancel,
    EvictedCursor,
    Conflict,
    PoliteClose,
    Question,
    Stray,
    Outage,
    Resumed,
    Reissued,
    Replaced,
    Answered,
    Failed,
    Close,
    Gap,
    Skipped,
    MustAnswer,
    Tried,
    Adopted,
    GivenBack,
    Beside,
}

impl Happened {
    pub(crate) const ALL: [Self; 27] = [
        Self::Cut,
        Self::HalfOpen,
        Self::Duplicate,
        Self::Eviction,
        Self::SessionDeath,
        Self::Trap,
        Self::RefusedResume,
        Self::Cancel,
        Self::EvictedCursor,
        Self::Conflict,
        Self::PoliteClose,
        Self::Question,
        Self::Stray,
        Self::Outage,
        Self::Resumed,
        Self::Reissued,
        Self::Replaced,
        Self::Answered,
        Self::Failed,
        Self::Close,
        Self::Gap,
        Self::Skipped,
        Self::MustAnswer,
        Self::Tried,
        Self::Adopted,
        Self::GivenBack,
        Self::Beside,
    ];

    /// What the properties are about.
    const JUDGED: [Self; 8] = [
        Self::Resumed,
        Self::Reissued,
        Self::Replaced,
        Self::EvictedCursor,
        Self::Conflict,
        Self::Gap,
        Self::Skipped,
        Self::MustAnswer,
    ];

    /// The same, and rare.
    const RARE: [Self; 4] = [Self::Tried, Self::Adopted, Self::GivenBack, Self::Beside];

    /// The ingredients that the issue asks for.
    pub(crate) const REQUIRED: [Self; 8] = [
        Self::Cut,
        Self::HalfOpen,
        Self::Duplicate,
        Self::Eviction,
        Self::SessionDeath,
        Self::Trap,
        Self::RefusedResume,
        Self::Cancel,
    ];
}

/// What happened in one run.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shares(u32);

impl Shares {
    pub(crate) fn happened(&mut self, what: Happened) {
        self.0 |= 1 << what as u32;
    }

    pub(crate) fn has(self, what: Happened) -> bool {
        self.0 & (1 << what as u32) != 0
    }

    pub(crate) fn join(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// Over many runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) runs: u64,
    pub(crate) counts: BTreeMap<Happened, u64>,
    /// Runs with at least three of the required ingredients.
    pub(crate) three: u64,
    /// How calls ended, by the reason's name.
    pub(crate) endings: BTreeMap<String, u64>,
    /// Inputs of all clients.
    pub(crate) inputs: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, run: &Run) {
        self.runs += 1;
        self.inputs += run.inputs;
        let mut required = 0;
        for what in Happened::ALL.into_iter().filter(|what| run.shares.has(*what)) {
            *self.counts.entry(what).or_default() += 1;
            required += u32::from(Happened::REQUIRED.contains(&what));
        }
        self.three += u64::from(required >= 3);
        for ending in &run.endings {
            *self.endings.entry(ending.clone()).or_default() += 1;
        }
    }

    pub(crate) fn join(&mut self, other: Self) {
        self.runs += other.runs;
        self.three += other.three;
        self.inputs += other.inputs;
        for (what, count) in other.counts {
            *self.counts.entry(what).or_default() += count;
        }
        for (ending, count) in other.endings {
            *self.endings.entry(ending).or_default() += count;
        }
    }

    pub(crate) fn print(&self) {
        let runs = self.runs;
        println!("{runs} schedules, {} inputs; so many schedules held", self.inputs);
        for (what, count) in &self.counts {
            let percent = *count as f64 * 100.0 / runs as f64;
            println!("{count:>9} {percent:>5.1} %  {what:?}");
        }
        println!("{:>9}          three of the required ones together", self.three);
        println!("calls ended so:");
        for (ending, count) in &self.endings {
            println!("{count:>9} {ending}");
        }
    }

    /// Every required ingredient in a tenth of the schedules, three together in a fortieth; and what the properties
    /// need to have anything to judge.
    pub(crate) fn check(&self, runs: u64) {
        assert_eq!(self.runs, runs);
        for what in Happened::JUDGED {
            let count = self.counts.get(&what).copied().unwrap_or_default();
            assert!(count >= runs / 20, "{what:?} in {count} of {runs} schedules");
        }
        for what in Happened::RARE {
            let count = self.counts.get(&what).copied().unwrap_or_default();
            assert!(count >= runs / 1_000, "{what:?} in {count} of {runs} schedules");
        }
        for what in Happened::REQUIRED {
            let count = self.counts.get(&what).copied().unwrap_or_default();
            assert!(count >= runs / 10, "{what:?} in {count} of {runs} schedules");
        }
        assert!(self.three >= runs / 40, "three together in {} of {runs} schedules", self.three);
    }
}
