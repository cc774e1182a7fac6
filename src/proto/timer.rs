//! One table of named timers. Every deadline of the core is in it, under the name of its clock.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::BinaryHeap;
use std::time::Duration;

use super::sorted::SortedMap;
use super::time::Instant;
use super::CallId;

/// The clocks (ARCHITECTURE.md, "Clocks"), in the order in which they are judged when due at the same instant.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Clock {
    /// The time for the body of a refusal. Its status came in, and is heard before any other clock is judged.
    Refusal,
    /// `deadlineMs`: the whole life of a call, queue included.
    Deadline,
    /// `firstByteMs`: from a call's POST to its response headers.
    FirstByte,
    /// `callMs`: without progress or message while an exchange is open.
    Call,
    /// `recoveryMs`: while a sent call has no open exchange.
    Recovery,
    /// `idleMs`: without a byte on a body being read.
    Idle,
    /// `handshakeMs`: a handshake request, a notification or an answer.
    Handshake,
    /// `connectMs`: from a resume GET or a probe to its response headers.
    Connect,
    /// A wait before the next attempt: the server's `retry`, `Retry-After`, or our own backoff.
    Wait,
    /// The wait for the DELETE of `close`.
    Close,
}

impl Clock {
    /// Each of them, in their order.
    const EACH: [Self; 10] = [
        Self::Refusal,
        Self::Deadline,
        Self::FirstByte,
        Self::Call,
        Self::Recovery,
        Self::Idle,
        Self::Handshake,
        Self::Connect,
        Self::Wait,
        Self::Close,
    ];

    /// The option that sets it; of a clock that no option sets, a word.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Deadline => "deadlineMs",
            Self::FirstByte => "firstByteMs",
            Self::Call => "callMs",
            Self::Recovery => "recoveryMs",
            Self::Idle => "idleMs",
            Self::Handshake => "handshakeMs",
            Self::Connect => "connectMs",
            Self::Refusal => "refusal",
            Self::Wait => "wait",
            Self::Close => "close",
        }
    }
}

/// What a timer belongs to; releasing the owner releases its timers.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    /// The transport as a whole.
    Session,
    /// One call.
    Call(CallId),
}

/// A timer that was found to be late: something kept the host from its turn, and bytes may wait to be read.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Late {
    since: Instant,
    /// The host's own timer found it: by its next one the host had a turn.
    by_timer: bool,
}

impl Late {
    /// So much is late.
    const LEAST: Duration = Duration::from_millis(50);
    /// Bytes that never pause put off what is due for so long at most.
    const MOST: Duration = Duration::from_secs(1);

    /// What holds once the host was heard at `now`: `next` is due first; `by_timer`: its timer fired. `None`: what is due
    /// is judged.
    pub(crate) fn next(
        late: Option<Self>,
        now: Instant,
        next: Option<Instant>,
        by_timer: bool,
    ) -> Option<Self> {
        if next.is_none_or(|at| now.since(at) < Self::LEAST) {
            return None;
        }
        match late {
            None => Some(Self { since: now, by_timer }),
            Some(late) if late.by_timer && by_timer => None,
            Some(late) if now.since(late.since) >= Self::MOST => None,
            Some(late) => Some(Self { by_timer: late.by_timer || by_timer, ..late }),
        }
    }
}

/// All armed timers: at most one per owner and clock.
///
/// A timer that is moved to later, as each event moves some, stays where it is in the queue; it is put in its place
/// when it comes to the head of that. What stands at the head is always armed for just then.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    armed: SortedMap<Owner, Box<[Timer; Clock::EACH.len()]>>,
    queue: BinaryHeap<Reverse<(Instant, Clock, Owner)>>,
    /// How many are armed.
    count: usize,
}

#[derive(Copy, Clone, Debug, Default)]
struct Timer {
    at: Option<Instant>,
    /// Where it stands in the queue; what else stands there of it is void.
    queued: Option<Instant>,
}

impl Timers {
    /// So many void places in the queue are nobody's concern.
    const VOID: usize = 64;

    /// Arms a timer, or moves it.
    pub(crate) fn set(&mut self, owner: Owner, clock: Clock, at: Instant) {
        let timer = &mut self.armed.or_default(owner)[clock as usize];
        if timer.at == Some(at) {
            return; // Many events of one read move a clock to the same instant.
        }
        self.count += usize::from(timer.at.is_none());
        timer.at = Some(at);
        match timer.queued {
            Some(queued) if queued <= at => self.moved(owner, clock, queued),
            _ => {
                timer.queued = Some(at);
                self.queue.push(Reverse((at, clock, owner)));
                self.sweep();
            }
        }
    }

    /// Stops a timer; a no-op where none is armed.
    pub(crate) fn stop(&mut self, owner: Owner, clock: Clock) {
        let Some(timer) = self.armed.get_mut(&owner).map(|timers| &mut timers[clock as usize]) else {
            return;
        };
        if let (Some(_), Some(queued)) = (timer.at.take(), timer.queued) {
            self.count -= 1;
            self.moved(owner, clock, queued);
            self.sweep();
        }
    }

    /// Stops every timer of an owner.
    pub(crate) fn release(&mut self, owner: Owner) {
        let Some(timers) = self.armed.remove(&owner) else { return };
        self.count -= timers.iter().filter(|timer| timer.at.is_some()).count();
        self.settle();
        self.sweep();
    }

    /// When this timer is due, if it is armed.
    pub(crate) fn at(&self, owner: Owner, clock: Clock) -> Option<Instant> {
        self.armed.get(&owner)?[clock as usize].at
    }

    /// The earliest timer.
    pub(crate) fn next(&self) -> Option<(Instant, Clock)> {
        self.queue.peek().map(|&Reverse((at, clock, _))| (at, clock))
    }

    /// Takes the earliest timer that is due at `now`.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<(Owner, Clock)> {
        let &Reverse((at, clock, owner)) = self.queue.peek()?;
        if at > now {
            return None;
        }
        self.stop(owner, clock);
        Some((owner, clock))
    }

    /// How many timers are armed.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// A timer that stands there in the queue was moved to later, or stopped.
    fn moved(&mut self, owner: Owner, clock: Clock, queued: Instant) {
        if self.queue.peek() == Some(&Reverse((queued, clock, owner))) {
            self.settle();
        }
    }

    /// Puts what comes to the head of the queue in its place, until that is armed for just then.
    fn settle(&mut self) {
        while let Some(mut head) = self.queue.peek_mut() {
            let Reverse((queued, clock, owner)) = *head;
            let timer = self.armed.get_mut(&owner).map(|timers| &mut timers[clock as usize]);
            let timer = timer.filter(|timer| timer.queued == Some(queued));
            let at = timer.and_then(|timer| {
                timer.queued = timer.at;
                timer.at
            });
            match at {
                Some(at) if at == queued => return,
                Some(at) => *head = Reverse((at, clock, owner)),
                None => _ = PeekMut::pop(head),
            }
        }
    }

    /// Makes the queue anew where most of it is void.
    fn sweep(&mut self) {
        if self.queue.len() <= 2 * self.count + Self::VOID {
            return;
        }
        let mut queue = Vec::with_capacity(self.count);
        for (owner, timers) in self.armed.iter_mut() {
            for (clock, timer) in Clock::EACH.into_iter().zip(timers.iter_mut()) {
                timer.queued = timer.at;
                queue.extend(timer.at.map(|at| Reverse((at, clock, *owner))));
            }
        }
        self.queue = queue.into();
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
#[allow(clippy::disallowed_types, reason = "std's map is the oracle")]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Set(Owner, Clock, u64),
        Stop(Owner, Clock),
        Release(Owner),
        PopDue(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let owner =
            || (0..6_u32).prop_map(|call| if call == 0 { Owner::Session } else { Owner::Call(CallId(call)) });
        let clock = || prop::sample::select(Clock::EACH.to_vec());
        let step = prop_oneof![
            12 => (owner(), clock(), 0..60_u64).prop_map(|(owner, clock, at)| Step::Set(owner, clock, at)),
            4 => (owner(), clock()).prop_map(|(owner, clock)| Step::Stop(owner, clock)),
            1 => owner().prop_map(Step::Release),
            4 => (0..60_u64).prop_map(Step::PopDue),
        ];
        prop::collection::vec(step, 0..400)
    }

    #[test]
    fn each_clock_stands_at_its_number() {
        assert!(Clock::EACH.into_iter().enumerate().all(|(place, clock)| clock as usize == place));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn the_table_of_timers_is_a_plain_one_whose_least_entry_is_searched(steps in steps()) {
            let (mut ours, mut plain) = (Timers::default(), BTreeMap::<(Owner, Clock), Instant>::new());
            let least = |plain: &BTreeMap<_, _>| {
                plain.iter().map(|(&(owner, clock), &at): (&(Owner, Clock), &Instant)| (at, clock, owner)).min()
            };
            for step in steps {
                match step {
                    Step::Set(owner, clock, at) => {
                        ours.set(owner, clock, Instant::from_micros(at));
                        plain.insert((owner, clock), Instant::from_micros(at));
                    }
                    Step::Stop(owner, clock) => {
                        ours.stop(owner, clock);
                        plain.remove(&(owner, clock));
                    }
                    Step::Release(owner) => {
                        ours.release(owner);
                        plain.retain(|(other, _), _| *other != owner);
                    }
                    Step::PopDue(now) => {
                        let due = least(&plain).filter(|(at, ..)| *at <= Instant::from_micros(now));
                        let due = due.map(|(_, clock, owner)| (owner, clock));
                        due.inspect(|due| _ = plain.remove(due));
                        prop_assert_eq!(ours.pop_due(Instant::from_micros(now)), due);
                    }
                }
                prop_assert_eq!(ours.next(), least(&plain).map(|(at, clock, _)| (at, clock)));
                prop_assert_eq!(ours.len(), plain.len());
                prop_assert!(ours.queue.len() <= 2 * plain.len() + Timers::VOID);
                for clock in Clock::EACH {
                    let owner = Owner::Call(CallId(1));
                    prop_assert_eq!(ours.at(owner, clock), plain.get(&(owner, clock)).copied());
                }
            }
        }
    }
}
