//! What happened in a run, and in how many runs.

use std::collections::BTreeMap;

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
}

impl Happened {
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
    /// Properties checked: how often each could have failed.
    pub(crate) inputs: u64,
}
