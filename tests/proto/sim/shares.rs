//! What happened in a run, and in how many runs.

use std::collections::BTreeMap;

use super::world::Run;

// What a run may contain, and the least share that a test asks for, in thousandths of all schedules.
macro_rules! happened {
    ($($what:ident $least:literal)*) => {
        #[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Happened {
            $($what,)*
        }

        impl Happened {
            pub(crate) const ALL: &[Self] = &[$(Self::$what,)*];

            fn least(self) -> u64 {
                match self {
                    $(Self::$what => $least,)*
                }
            }
        }
    };
}

happened! {
    // The network.
    Cut 100
    HalfOpen 100
    Outage 50
    // The server and its store.
    Duplicate 100
    Eviction 100
    EvictedCursor 50
    SessionDeath 100
    RefusedResume 100
    Conflict 50
    PoliteClose 100
    Question 100
    Unasked 20
    Stray 20
    Expired 30
    Gateway 2
    Redirect 20
    Listened 20
    AnsweredElsewhere 0
    Elsewhere 5
    Foreign 5
    Renamed 5
    ResetIds 20
    Restarted 5
    Crossed 20
    Pair 2
    BusyPing 5
    HeadOnly 5
    Modern 50
    Refusal 20
    Round 5
    Task 20
    TaskDone 10
    TaskCancelled 2
    Endpoint 20
    OldEndpoint 2
    // The user and the host.
    Trap 100
    TakenUp 2
    Cancel 100
    Close 20
    Reported 20
    Slept 20
    ClockBack 20
    Asked 20
    Stale 2
    Scheduled 20
    Limited 2
    Page 20
    UntilHeaders 20
    Carried 100
    SharedId 5
    SharedToken 5
    CarriedAnswer 5
    CarriedAnew 1
    // What follows.
    Found 100
    Turned 5
    Unfit 5
    RoundsUsedUp 1
    Resumed 100
    Reissued 50
    Replaced 50
    Answered 500
    Failed 200
    Gap 50
    Skipped 50
    MustAnswer 50
    Tried 1
    Adopted 1
    GivenBack 1
    Beside 1
}

impl Happened {
    /// The ingredients that hurt most: each in a tenth of all, and three together in a fortieth.
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
pub(crate) struct Shares(u128);

impl Shares {
    pub(crate) fn happened(&mut self, what: Happened) {
        self.0 |= 1 << what as u128;
    }

    pub(crate) fn has(self, what: Happened) -> bool {
        self.0 & (1 << what as u128) != 0
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
        for what in Happened::ALL.iter().filter(|what| run.shares.has(**what)) {
            *self.counts.entry(*what).or_default() += 1;
            required += u32::from(Happened::REQUIRED.contains(what));
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

    /// Every ingredient, and all that the properties judge, is there as often as they need to say something.
    pub(crate) fn check(&self, runs: u64) {
        assert_eq!(self.runs, runs);
        for what in Happened::ALL {
            let count = self.counts.get(what).copied().unwrap_or_default();
            assert!(count >= runs * what.least() / 1_000, "{what:?} in {count} of {runs} schedules");
        }
        assert!(self.three >= runs / 40, "three together in {} of {runs} schedules", self.three);
    }
}
