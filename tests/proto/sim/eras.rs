//! What the server of a run speaks, what its client asks for, and which era they are to agree on.

use landfall::proto::{Era, EraOption};
use proptest::prelude::*;

use super::schedule::{Reply, Schedule};
use super::strategies::reply;
use super::tasks::{tasks, TaskPlan};

/// What the server speaks.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    /// Sessions, and streams that can be resumed.
    Sessions,
    /// The same, and requests on their own.
    Both,
    /// Requests on their own; `initialize` gives no id.
    StatelessBoth,
    /// Requests on their own, and nothing else.
    Modern,
    /// `initialize` gives no id, and nothing can be resumed.
    Stateless,
    /// A GET stream that says where to POST.
    Sse,
}

impl Speaks {
    /// Whether a session of its has an id, and streams that can be resumed.
    pub(crate) fn has_sessions(self) -> bool {
        matches!(self, Self::Sessions | Self::Both)
    }

    pub(crate) fn is_modern(self) -> bool {
        matches!(self, Self::Both | Self::StatelessBoth | Self::Modern)
    }

    pub(crate) fn has_initialize(self) -> bool {
        !matches!(self, Self::Modern | Self::Sse)
    }

    /// Whether it speaks that era.
    pub(crate) fn speaks(self, era: Era) -> bool {
        match era {
            Era::Legacy => self.has_initialize(),
            Era::Modern => self.is_modern(),
            Era::Sse => self == Self::Sse,
        }
    }
}

/// The eras of a run.
#[derive(Clone, Debug)]
pub(crate) struct EraPlan {
    pub(crate) speaks: Speaks,
    pub(crate) option: EraOption,
    /// What the server wants for its next round, it wants for ever.
    pub(crate) insatiable: bool,
    /// It gives a state to come back with.
    pub(crate) keeps_state: bool,
    /// What becomes of calls that the server goes on with as tasks, where client and server know those.
    pub(crate) tasks: Option<TaskPlan>,
    /// The call whose first POST is refused so.
    refused: Option<(usize, Reply)>,
    /// What becomes of the questions of the handshake.
    greetings: Vec<Reply>,
}

impl EraPlan {
    /// The era in which a call survives most, of those that the server speaks and the client may ask for.
    pub(crate) fn agreed(&self) -> Option<Era> {
        let legacy = self.speaks.has_initialize().then_some(Era::Legacy);
        let modern = self.speaks.is_modern().then_some(Era::Modern);
        let old = (self.speaks == Speaks::Sse).then_some(Era::Sse);
        match self.option {
            EraOption::Auto if self.speaks.has_sessions() => legacy,
            EraOption::Auto => modern.or(legacy).or(old),
            EraOption::Legacy => legacy,
            EraOption::Modern => modern,
            EraOption::Sse => old,
        }
    }
}

pub(super) fn eras() -> impl Strategy<Value = EraPlan> {
    let speaks = prop_oneof![
        38 => Just(Speaks::Sessions),
        2 => Just(Speaks::Both),
        2 => Just(Speaks::StatelessBoth),
        6 => Just(Speaks::Modern),
        2 => Just(Speaks::Stateless),
        3 => Just(Speaks::Sse),
    ];
    let option = prop_oneof![
        20 => Just(EraOption::Auto),
        1 => Just(EraOption::Legacy),
        2 => Just(EraOption::Modern),
        1 => Just(EraOption::Sse),
    ];
    let code = prop::sample::select(vec![(400, -32_020), (400, -32_021), (400, -32_022), (404, -32_601)]);
    let refusal =
        (code, any::<bool>()).prop_map(|((status, code), named)| Reply::Refusal(status, code, named));
    let refused = prop::option::weighted(0.2, (0..4usize, refusal));
    let greetings = prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(reply(), 1..4)];
    let rounds = (prop::bool::weighted(0.2), prop::bool::weighted(0.8));
    (speaks, option, rounds, refused, greetings, prop::option::weighted(0.5, tasks())).prop_map(
        |(speaks, option, (insatiable, keeps_state), refused, greetings, tasks)| EraPlan {
            speaks,
            option,
            insatiable,
            keeps_state,
            tasks: tasks.filter(|_| speaks.is_modern()),
            refused,
            greetings,
        },
    )
}

impl Schedule {
    /// Where the server has more than sessions, or none, the client is one that finds out for itself.
    pub(super) fn meet(&mut self) {
        let plan = &self.era;
        if plan.speaks == Speaks::Sessions {
            // Nothing is learned of a client that is told the wrong word, time and again.
            self.era.option = match plan.option {
                EraOption::Modern | EraOption::Sse if self.seed % 8 > 0 => EraOption::Auto,
                option => option,
            };
            return;
        }
        (self.client.carries, self.client.listens) = (None, false);
        self.client.handshake.clone_from(&plan.greetings);
        let nth = plan.refused.map(|(nth, refusal)| (nth % self.calls.len(), refusal));
        if let Some((nth, refusal)) = nth.filter(|_| plan.speaks.is_modern()) {
            self.calls[nth].replies.insert(0, refusal);
        }
    }

    /// Leaves nothing of the eras but what passes.
    pub(super) fn tame_eras(&mut self) {
        (self.era.insatiable, self.era.refused) = (false, None);
        self.era.greetings.clear();
        self.era.tasks.iter_mut().for_each(TaskPlan::tame);
        if self.era.agreed().is_none() {
            self.era.option = EraOption::Auto;
        }
    }
}
