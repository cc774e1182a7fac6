//! Dispatch: which requests are under way, what they serve, and who waits for a connection.

use std::collections::VecDeque;

use crate::proto::facts::Identity;
use crate::proto::sorted::SortedMap;
use crate::proto::{CallId, ExchangeId};

/// Messages of our own under way at once.
const MOST_CONTROLS: usize = 8;
/// Where a seventh request that waits for headers would wait for another's: beside the callers' four.
const MOST_CONTROLS_IN_WORKERD: usize = 2;
/// And of those that wait.
const MOST_WAITING_CONTROLS: usize = 1_000;

/// What an exchange serves.
#[derive(Clone, Debug)]
pub(crate) enum Purpose {
    /// A stream of this call.
    Call(CallId, Slot),
    /// The DELETE of a session.
    Delete(Ending),
}

/// Which of the connections an exchange takes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// One of the callers'.
    Caller,
    /// The one that is kept for control traffic.
    Control,
    /// None of these: it may stay open for as long as the server likes.
    Endless,
}

/// A session that is ended by a DELETE.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    pub(crate) identity: Identity,
    /// How many redirects led to the request under way.
    pub(crate) redirects: u32,
}

/// What a call in the queue waits for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The session alone: it takes none of the callers' connections.
    Aside,
    /// A connection, and the session's good name: nothing of it was sent yet.
    First,
    /// A connection.
    Again,
}

/// What a call in the queue may know of it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It has gone.
    Gone,
    Waits,
    /// More wait than `limits.maxQueued`.
    TooMany,
}

/// Whose word a message of our own is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// The application's: an answer, or that a call is cancelled.
    Given,
    /// The server provoked it: a pong, or that it asks too much.
    Provoked,
}

/// What becomes of a message of our own.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    Go,
    Wait,
    /// It waits in place of this one, which is dropped.
    WaitFor(CallId),
    /// A flood brought more than are kept.
    Drop,
}

/// The exchanges of a client, and who waits for one.
#[derive(Debug)]
pub(crate) struct Dispatch {
    max_concurrent: usize,
    max_queued: usize,
    until_headers: bool,
    exchanges: SortedMap<ExchangeId, Purpose>,
    next_exchange: u32,
    queue: VecDeque<(CallId, Turn)>,
    /// Messages of our own that wait: few are under way at once, whatever a server provokes.
    controls: VecDeque<CallId>,
    /// Those that the server provoked: they give way.
    provoked: VecDeque<CallId>,
}

impl Dispatch {
    /// `limits.maxConcurrent`, `limits.maxQueued`; `until_headers`: an exchange holds its connection until its headers.
    pub(crate) fn new(max_concurrent: usize, max_queued: usize, until_headers: bool) -> Self {
        Self {
            max_concurrent,
            max_queued,
            until_headers,
            exchanges: SortedMap::new(),
            next_exchange: 1,
            queue: VecDeque::new(),
            controls: VecDeque::new(),
            provoked: VecDeque::new(),
        }
    }

    /// A request is made.
    pub(crate) fn launch(&mut self, purpose: Purpose) -> ExchangeId {
        let exchange = ExchangeId(self.next_exchange);
        self.next_exchange += 1;
        self.exchanges.insert(exchange, purpose);
        exchange
    }

    /// An exchange is over. Whether it was under way.
    pub(crate) fn over(&mut self, exchange: ExchangeId) -> bool {
        self.exchanges.remove(&exchange).is_some()
    }

    pub(crate) fn is_open(&self, exchange: ExchangeId) -> bool {
        self.exchanges.contains_key(&exchange)
    }

    /// The call that an exchange serves; `None` for one that is over (its input is late) or that serves no call.
    pub(crate) fn owner_of(&self, exchange: ExchangeId) -> Option<CallId> {
        match self.exchanges.get(&exchange) {
            Some(&Purpose::Call(call, _)) => Some(call),
            _ => None,
        }
    }

    /// The session that an exchange ends.
    pub(crate) fn ending(&self, exchange: ExchangeId) -> Option<&Ending> {
        match self.exchanges.get(&exchange) {
            Some(Purpose::Delete(ending)) => Some(ending),
            _ => None,
        }
    }

    /// Whether a session is being ended.
    pub(crate) fn is_ending(&self) -> bool {
        self.exchanges.values().any(|purpose| matches!(purpose, Purpose::Delete(_)))
    }

    /// All that are under way.
    pub(crate) fn open(&self) -> Vec<ExchangeId> {
        self.exchanges.keys().copied().collect()
    }

    pub(crate) fn open_count(&self) -> usize {
        self.exchanges.len()
    }

    /// Headers came, for which alone the exchange may have held its connection. Whether another may have it now.
    pub(crate) fn headers_came(&mut self, exchange: ExchangeId) -> bool {
        if let Some(Purpose::Call(_, slot)) = self.exchanges.get_mut(&exchange).filter(|_| self.until_headers)
        {
            *slot = Slot::Endless;
        }
        self.until_headers
    }

    fn taken(&self, wanted: Slot) -> usize {
        let takes = |purpose: &&Purpose| matches!(purpose, Purpose::Call(_, slot) if *slot == wanted);
        self.exchanges.values().filter(takes).count()
    }

    /// Connections that calls may still take: one of all is kept for control traffic.
    pub(crate) fn free(&self) -> usize {
        (self.max_concurrent - 1).saturating_sub(self.taken(Slot::Caller))
    }

    /// A call waits, behind all others.
    pub(crate) fn enqueue(&mut self, call: CallId, turn: Turn) {
        self.queue.push_back((call, turn));
    }

    /// A call that was under way waits, before all others.
    pub(crate) fn enqueue_first(&mut self, call: CallId) {
        self.queue.push_front((call, Turn::Again));
    }

    /// The next call whose turn it is: in order, as far as connections are free. `suspect`: while the session is in doubt
    /// nothing goes there for the first time.
    pub(crate) fn next(&mut self, suspect: bool) -> Option<CallId> {
        let free = self.free() > 0;
        let may_go = |&(_, turn): &(CallId, Turn)| match turn {
            Turn::Aside => true,
            Turn::First => free && !suspect,
            Turn::Again => free,
        };
        let place = self.queue.iter().position(may_go)?;
        self.queue.remove(place).map(|(call, _)| call)
    }

    /// Where a call stands that was enqueued.
    pub(crate) fn place(&self, call: CallId) -> Place {
        match self.waits(call) {
            false => Place::Gone,
            true if self.queue.len() > self.max_queued => Place::TooMany,
            true => Place::Waits,
        }
    }

    pub(crate) fn waits(&self, call: CallId) -> bool {
        self.queue.iter().any(|(waiting, _)| *waiting == call)
    }

    pub(crate) fn waiting(&self) -> Vec<CallId> {
        self.queue.iter().map(|(call, _)| *call).collect()
    }

    pub(crate) fn waiting_count(&self) -> usize {
        self.queue.len()
    }

    /// A call waits for a connection no more.
    pub(crate) fn leave(&mut self, call: CallId) {
        self.queue.retain(|(waiting, _)| *waiting != call);
    }

    /// A call ended.
    pub(crate) fn gone(&mut self, call: CallId) {
        self.leave(call);
        self.controls.retain(|control| *control != call);
        self.provoked.retain(|control| *control != call);
    }

    fn may_control(&self) -> bool {
        let most = if self.until_headers { MOST_CONTROLS_IN_WORKERD } else { MOST_CONTROLS };
        self.taken(Slot::Control) < most
    }

    /// A message of our own is to go. Where too many wait, one that the server provoked gives way to what was given.
    pub(crate) fn control(&mut self, control: CallId, word: Word) -> Control {
        if self.may_control() {
            return Control::Go;
        }
        let is_full = self.controls.len() + self.provoked.len() >= MOST_WAITING_CONTROLS;
        match word {
            Word::Provoked if is_full => return Control::Drop,
            Word::Provoked => self.provoked.push_back(control),
            Word::Given if is_full => {
                let Some(dropped) = self.provoked.pop_front() else { return Control::Drop };
                self.controls.push_back(control);
                return Control::WaitFor(dropped);
            }
            Word::Given => self.controls.push_back(control),
        }
        Control::Wait
    }

    /// The next message of our own that may go now.
    pub(crate) fn next_control(&mut self) -> Option<CallId> {
        self.may_control().then(|| self.controls.pop_front().or_else(|| self.provoked.pop_front())).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls<const N: usize>() -> [CallId; N] {
        std::array::from_fn(|n| CallId(n as u32 + 1))
    }

    fn two_connections() -> Dispatch {
        Dispatch::new(3, 2, false)
    }

    fn launch(dispatch: &mut Dispatch, slot: Slot) -> ExchangeId {
        dispatch.launch(Purpose::Call(CallId(9), slot))
    }

    #[test]
    fn one_connection_of_all_is_kept_and_only_callers_take_the_others() {
        let mut dispatch = two_connections();
        for (slot, free) in
            [(Slot::Caller, 1), (Slot::Control, 1), (Slot::Endless, 1), (Slot::Caller, 0), (Slot::Caller, 0)]
        {
            launch(&mut dispatch, slot);
            assert_eq!(dispatch.free(), free, "{slot:?}");
        }
    }

    #[test]
    fn calls_go_in_order_but_for_what_needs_no_connection() {
        let [one, two, three, note] = calls();
        let mut dispatch = two_connections();
        let held = [launch(&mut dispatch, Slot::Caller), launch(&mut dispatch, Slot::Caller)];
        for (call, turn) in [(one, Turn::First), (note, Turn::Aside), (two, Turn::Again)] {
            dispatch.enqueue(call, turn);
        }
        dispatch.enqueue_first(three);
        assert_eq!((dispatch.next(false), dispatch.next(false)), (Some(note), None));
        assert!(dispatch.over(held[0]) && !dispatch.over(held[0]));
        assert_eq!(dispatch.next(false), Some(three));
        assert_eq!(dispatch.next(true), Some(two), "a session in doubt gets nothing new");
        assert_eq!((dispatch.next(true), dispatch.next(false)), (None, Some(one)));
    }

    #[test]
    fn who_waits_is_told_its_place() {
        let [one, two, three, _] = calls();
        let mut dispatch = two_connections();
        for call in [one, two, three] {
            dispatch.enqueue(call, Turn::First);
        }
        assert_eq!(dispatch.place(three), Place::TooMany);
        dispatch.leave(three);
        assert_eq!((dispatch.place(two), dispatch.place(three)), (Place::Waits, Place::Gone));
        dispatch.gone(one);
        assert_eq!(dispatch.waiting(), [two]);
    }

    #[test]
    fn few_messages_of_our_own_are_under_way_and_a_flood_is_dropped_or_gives_way() {
        for (until_headers, most) in [(false, 8), (true, 2)] {
            let mut dispatch = Dispatch::new(5, 10, until_headers);
            let under_way: Vec<_> = (0..most)
                .map(|n| {
                    assert_eq!(dispatch.control(CallId(n), Word::Given), Control::Go);
                    launch(&mut dispatch, Slot::Control)
                })
                .collect();
            for n in 0..1_000 {
                assert_eq!(
                    dispatch.control(CallId(100 + n), if n < 2 { Word::Provoked } else { Word::Given }),
                    Control::Wait
                );
            }
            assert_eq!(dispatch.control(CallId(97), Word::Provoked), Control::Drop);
            assert_eq!(dispatch.control(CallId(98), Word::Given), Control::WaitFor(CallId(100)));
            dispatch.gone(CallId(101));
            assert_eq!(dispatch.control(CallId(99), Word::Provoked), Control::Wait);
            assert_eq!(dispatch.next_control(), None);
            dispatch.gone(CallId(102));
            dispatch.over(under_way[0]);
            assert_eq!(dispatch.next_control(), Some(CallId(103)), "what was given goes first");
        }
    }

    #[test]
    fn where_headers_end_the_wait_for_a_connection_they_give_it_free() {
        for until_headers in [true, false] {
            let mut dispatch = Dispatch::new(2, 10, until_headers);
            let exchange = launch(&mut dispatch, Slot::Caller);
            assert_eq!(
                (dispatch.headers_came(exchange), dispatch.free()),
                (until_headers, until_headers.into())
            );
            assert!(dispatch.is_open(exchange));
        }
    }

    #[test]
    fn an_exchange_has_an_owner_while_it_is_under_way() {
        let mut dispatch = two_connections();
        let exchange = launch(&mut dispatch, Slot::Caller);
        assert!(!dispatch.is_ending());
        let ending = Ending { identity: Identity::default(), redirects: 1 };
        let delete = dispatch.launch(Purpose::Delete(ending));
        assert_eq!((dispatch.owner_of(exchange), dispatch.owner_of(delete)), (Some(CallId(9)), None));
        assert_eq!(dispatch.ending(delete).map(|ending| ending.redirects), Some(1));
        assert!(dispatch.is_ending());
        assert!(dispatch.ending(exchange).is_none());
        assert_eq!((dispatch.open(), dispatch.open_count()), (vec![exchange, delete], 2));
        dispatch.over(exchange);
        assert_eq!(dispatch.owner_of(exchange), None);
    }
}
