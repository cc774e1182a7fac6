//! The cursor of a lineage: handle, then commit (ARCHITECTURE.md, "Cursors and gaps").
//!
//! The cursor is the last id before the first event that was not handled. Events in hand hold it; what comes again
//! while it is in hand, or after it was handled, is a repeat; what failed comes again once.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use super::repeats::{hash, Print};
use super::ring::{key, Key, Ring};

/// Ids of events that were handled, with their order: the newest, as hashes.
#[derive(Debug)]
struct Seen(Ring<Key, 1>);

impl Default for Seen {
    fn default() -> Self {
        Self(Ring::new(Self::MOST))
    }
}

impl Seen {
    const MOST: usize = 4_096;

    fn hash(id: &str) -> Key {
        key(hash(0, id))
    }

    /// A block without data goes by a name of its own: an event may follow under the same id.
    fn mark(id: &str) -> Key {
        key(hash(1, id))
    }

    fn insert(&mut self, hash: Key) {
        // A server may give all events one id.
        if self.0.last() != Some(&hash) {
            self.0.push(hash);
        }
    }

    fn place(&mut self, hash: Key) -> Option<u64> {
        Some(self.0.find(0, hash)?.0 + 1)
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum State {
    /// Handed out; the handler has not reported.
    InHand,
    /// The handler failed; the event may come again once.
    Failed,
    Done,
}

/// What was handed out of a block, by the keys that it is reported under.
#[derive(Clone, Debug, Default)]
pub enum Handed {
    /// Nothing: it needs no handler.
    #[default]
    Nothing,
    /// The one message in it.
    One(u32),
    /// Messages of an array, with their places in it.
    Several(Vec<(u32, u32)>),
}

impl Handed {
    /// The key of the message at this place.
    pub fn key_at(&self, place: usize) -> Option<u32> {
        match self {
            Self::Nothing => None,
            Self::One(key) => Some(*key),
            Self::Several(all) => all.iter().find(|(_, at)| *at as usize == place).map(|(key, _)| *key),
        }
    }

    /// How many there are.
    fn len(&self) -> usize {
        self.keys().count()
    }

    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = u32> + '_ {
        let (one, several) = match self {
            Self::Nothing => (None, &[][..]),
            Self::One(key) => (Some(*key), &[][..]),
            Self::Several(all) => (None, &all[..]),
        };
        one.into_iter().chain(several.iter().map(|(key, _)| *key))
    }

    /// Takes out those that these keys name, and gives their places to `each`. How many they were.
    fn take(&mut self, keys: &RangeInclusive<u32>, mut each: impl FnMut(u32)) -> usize {
        let before = self.len();
        match self {
            Self::One(key) if keys.contains(key) => {
                each(0);
                *self = Self::Nothing;
            }
            Self::Several(all) => all.retain(|(key, place)| {
                let is_named = keys.contains(key);
                if is_named {
                    each(*place);
                }
                !is_named
            }),
            Self::Nothing | Self::One(_) => {}
        }
        before - self.len()
    }
}

/// What tells which block came.
#[derive(Copy, Clone, Debug)]
pub struct Came<'a> {
    /// Its id, if it has one.
    pub id: Option<&'a str>,
    /// Of its id and payload: a server may give two events one id.
    pub print: Option<Print>,
    /// A resume brought it.
    pub resumed: bool,
}

/// One block of the stream from the first not handled on.
#[derive(Debug)]
struct Block {
    id: Option<String>,
    /// Of its id: what is in hand is searched for each event of a resume.
    hash: Option<Key>,
    /// Of its id and payload.
    print: Option<Print>,
    /// What is in hand of it.
    handed: Handed,
    /// The last key under which something was handed out of it, or of those before it.
    last_key: u32,
    /// The places of those whose handlers failed.
    failed: Vec<u32>,
    bytes: usize,
    state: State,
    /// It failed before.
    second: bool,
    /// Its data was no JSON: nothing was handed out.
    broken: bool,
}

impl Block {
    fn new(id: Option<&str>, print: Option<Print>, handed: Handed, bytes: usize) -> Self {
        let state = if handed.len() > 0 { State::InHand } else { State::Done };
        let (hash, id) = (id.map(Seen::hash), id.map(str::to_string));
        let (last_key, failed) = (0, Vec::new());
        Self { id, hash, print, handed, last_key, failed, bytes, state, second: false, broken: false }
    }

    /// Its id, once for each message in it whose handler failed.
    fn losses(&self) -> impl Iterator<Item = Option<String>> + '_ {
        self.failed.iter().map(|_| self.id.clone())
    }
}

/// Events in hand: their keys, and their ids where they have any.
pub type Held = Vec<(u32, Option<String>)>;

/// What a report did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The cursor moved.
    pub moved: bool,
    /// Events that failed for good: their ids, where they have any.
    pub skipped: Vec<Option<String>>,
}

/// The cursor of one lineage, and the events it waits for.
#[derive(Debug, Default)]
pub struct Cursor {
    id: Option<String>,
    /// An id came that no request can carry: the place in the stream is lost.
    unusable: bool,
    blocks: VecDeque<Block>,
    /// The keys of these rise: nothing of them came again.
    in_order: bool,
    /// How many of these are in hand, and their bytes.
    in_hand: (usize, usize),
    /// How many of these failed.
    failed: usize,
    seen: Seen,
}

impl Cursor {
    /// A cursor that starts behind this event.
    pub fn at(id: &str) -> Self {
        let mut cursor = Self::default();
        cursor.commit(id.to_string());
        cursor
    }

    fn commit(&mut self, id: String) {
        self.unusable = !id.is_empty() && !fits_header(&id);
        // The empty id clears the cursor (WHATWG 9.2.6).
        self.id = Some(id).filter(|id| !id.is_empty());
    }

    /// Where a resume is possible: the id to ask with. Where nothing was handled yet, or what was has an id that no
    /// request can carry, it is the first event in hand: that one can't come again, but the stream is not lost.
    pub fn usable(&self) -> Option<&str> {
        let is_usable = |id: &&str| fits_header(id);
        // An empty id that waits for its turn: what came with it could not be told from a repeat, and may not come again.
        let cleared = self.blocks.iter().rposition(|block| block.id.as_deref() == Some(""));
        let behind = cleared.map_or(0, |place| place + 1);
        let committed = self.id.as_deref().filter(|id| cleared.is_none() && is_usable(id));
        let unbroken = self.blocks.iter().take_while(|block| !block.broken).skip(behind);
        committed.or_else(|| unbroken.filter_map(|block| block.id.as_deref()).find(is_usable))
    }

    /// A block came and was handed out, or needs no handler. What that did.
    pub fn arrive(&mut self, came: Came<'_>, handed: Handed, bytes: usize) -> Report {
        // A block without data is another than the event under its id.
        let again = self.failed_at(came).filter(|_| bytes > 0);
        let again = again.and_then(|place| self.blocks.get_mut(place));
        let new = Block::new(came.id, came.print, handed, bytes);
        if new.state == State::InHand {
            let bytes = again.as_ref().map_or(bytes, |block| block.bytes);
            self.in_hand = (self.in_hand.0 + new.handed.len(), self.in_hand.1 + bytes);
        }
        if let Some(block) = again {
            let second = !block.broken;
            *block = Block { second, bytes: block.bytes, ..new };
            self.failed -= 1;
            self.in_order = false;
        } else {
            self.push(new);
        }
        let mut report = Report::default();
        self.shrink(&mut report);
        self.advance(&mut report);
        report
    }

    fn push(&mut self, mut block: Block) {
        let before = self.blocks.back().map(|before| before.last_key);
        block.last_key = block.handed.keys().last().or(before).unwrap_or_default();
        // In a row of billions the keys begin anew.
        self.in_order = before.is_none_or(|before| self.in_order && before <= block.last_key);
        self.blocks.push_back(block);
    }

    /// A broken event came: the cursor stays before it, so that a resume brings it again.
    /// Whether it came broken before, and what that did.
    pub fn broken(&mut self, id: Option<&str>) -> (bool, Report) {
        const NEAR: usize = 64; // A resume brings it early; an endless row of them is not searched.
        let mut near = self.blocks.iter().take(NEAR);
        let known = id.is_some() && near.any(|block| block.broken && block.id.as_deref() == id);
        if !known {
            self.failed += 1;
            let state = State::Failed;
            self.push(Block { broken: true, state, ..Block::new(id, None, Handed::Nothing, 1) });
        }
        let mut report = Report::default();
        self.shrink(&mut report);
        self.advance(&mut report);
        (known, report)
    }

    /// The stream ended, and there is no place to resume from. If that is for want of an id before a broken event, the
    /// place is behind that: it is given up, and the rest of the stream is not. Whether it is so.
    pub fn passes_broken(&mut self) -> bool {
        if self.id.is_some() || self.unusable {
            return false;
        }
        let first = self.blocks.iter().position(|block| block.id.is_some());
        let Some(place) = first.filter(|place| self.blocks[*place].broken) else { return false };
        let Some(Block { id: Some(id), .. }) = self.blocks.remove(place) else { return false };
        self.failed -= 1;
        self.seen.insert(Seen::hash(&id));
        self.commit(id);
        self.advance(&mut Report::default());
        self.id.is_some() && !self.unusable
    }

    /// The id that was committed last.
    pub fn committed(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Handlers reported. Keys that are not in hand are left out.
    pub fn handled(&mut self, keys: &RangeInclusive<u32>, ok: bool) -> Report {
        let mut report = Report::default();
        let mut left = keys.end().saturating_sub(*keys.start()).saturating_add(1) as usize;
        let first = match self.in_order {
            true => self.blocks.partition_point(|block| block.last_key < *keys.start()),
            false => 0,
        };
        for block in self.blocks.range_mut(first..).filter(|block| block.state == State::InHand) {
            let failed = &mut block.failed;
            let taken = block.handed.take(keys, |place| {
                if !ok {
                    failed.push(place)
                }
            });
            self.in_hand.0 -= taken;
            left = left.saturating_sub(taken);
            if taken > 0 && block.handed.len() == 0 {
                self.in_hand.1 -= block.bytes;
                block.state =
                    if block.failed.is_empty() || block.second { State::Done } else { State::Failed };
                self.failed += usize::from(block.state == State::Failed);
                if block.state == State::Done {
                    report.skipped.extend(block.losses());
                    block.failed.clear();
                }
            }
            if left == 0 || (self.in_order && block.last_key >= *keys.end()) {
                break; // What comes after them is not searched.
            }
        }
        self.advance(&mut report);
        report
    }

    /// What waits behind an event is kept short. What is in hand stays: its handler is still to report. Of two blocks in a
    /// row that are done the later one's id is enough; and what failed is given up, and told.
    fn shrink(&mut self, report: &mut Report) {
        while self.blocks.len() > Seen::MOST {
            let is_done =
                |place: usize| self.blocks.get(place).is_some_and(|block| block.state == State::Done);
            let has_id = |place: usize| self.blocks.get(place).is_some_and(|block| block.id.is_some());
            let may_go = |place: &usize| {
                self.blocks[*place].state == State::Failed
                    || (is_done(*place) && (!has_id(*place) || (is_done(*place + 1) && has_id(*place + 1))))
            };
            let place = (0..self.blocks.len()).find(may_go);
            let Some(block) = place.and_then(|place| self.blocks.remove(place)) else { return };
            if block.state == State::Failed {
                self.failed -= 1;
                report.skipped.extend(block.losses());
            } else {
                self.seen_done(&block);
            }
        }
    }

    /// It can't come again as something new.
    fn seen_done(&mut self, block: &Block) {
        match (block.id.as_deref(), block.hash) {
            (None | Some(""), _) | (_, None) => {} // That clears the cursor and names nothing.
            (Some(id), _) if block.bytes == 0 => self.seen.insert(Seen::mark(id)),
            (Some(_), Some(hash)) => self.seen.insert(hash),
        }
    }

    /// Commits what is handled up to the first event that is not.
    fn advance(&mut self, report: &mut Report) {
        while self.blocks.front().is_some_and(|block| block.state == State::Done) {
            let Some(block) = self.blocks.pop_front() else { return };
            self.seen_done(&block);
            if let Some(id) = block.id {
                self.commit(id);
                report.moved = true;
            }
        }
    }

    /// Whether an event with this id is in hand or was handled; and its place in the order of handling.
    pub fn is_repeat(&mut self, id: &str) -> Option<u64> {
        if id.is_empty() {
            return None;
        }
        let hash = Seen::hash(id);
        let is_mine =
            |block: &&Block| block.hash == Some(hash) && block.bytes > 0 && block.id.as_deref() == Some(id);
        match self.blocks.iter().find(is_mine) {
            Some(block) if block.state == State::Failed => None,
            Some(_) => Some(u64::MAX),
            None => self.seen.place(hash),
        }
    }

    /// Whether just this event failed, and is to come again. Nobody knows the payload of one that came broken: it is any
    /// that the stream has not brought under this id.
    pub fn is_due(&self, came: Came<'_>, has_brought: impl FnOnce() -> bool) -> bool {
        let block = self.failed_at(came).and_then(|place| self.blocks.get(place));
        block.is_some_and(|block| block.print == came.print || (block.broken && !has_brought()))
    }

    /// The event failed, and is to come again: the places in it whose handlers did; none where it was broken.
    pub fn due(&self, came: Came<'_>) -> Option<&[u32]> {
        let place = self.failed_at(came)?;
        self.blocks.get(place).map(|block| &block.failed[..])
    }

    /// The block that failed and came again. On a resume its id alone tells it, unless another of that id is the same; a
    /// live stream that brings other data under an id brings another event.
    fn failed_at(&self, Came { id, print, resumed }: Came<'_>) -> Option<usize> {
        let id = id.filter(|id| !id.is_empty() && self.failed > 0)?;
        let is_it = |block: &Block| block.state == State::Failed && block.id.as_deref() == Some(id);
        let is_same = |block: &Block| is_it(block) && block.print == print;
        let may_be = |block: &Block| is_it(block) && (resumed || block.broken);
        self.blocks.iter().position(is_same).or_else(|| self.blocks.iter().position(may_be))
    }

    /// Whether a block without data, of this id, was passed before: a replay of it does not move the cursor back.
    pub fn is_passed(&mut self, id: &str) -> bool {
        let waits = |block: &Block| block.bytes == 0 && block.id.as_deref() == Some(id);
        self.blocks.iter().any(waits) || self.seen.place(Seen::mark(id)).is_some()
    }

    /// Events that failed and did not come again: their ids, where they have any.
    pub fn failed(&self) -> Vec<Option<String>> {
        self.blocks.iter().filter(|block| !block.broken).flat_map(Block::losses).collect()
    }

    /// Events in hand: their keys, and their ids where they have any.
    pub fn held(&self) -> Held {
        self.blocks.iter().flat_map(|block| block.handed.keys().map(|key| (key, block.id.clone()))).collect()
    }

    /// The keys among these that are in hand.
    pub fn held_keys(&self, keys: &RangeInclusive<u32>) -> Vec<u32> {
        self.blocks.iter().flat_map(|block| block.handed.keys()).filter(|key| keys.contains(key)).collect()
    }

    /// Events in hand, and their bytes.
    pub fn in_hand(&self) -> (usize, usize) {
        self.in_hand
    }
}

/// Whether a header can carry an event id unchanged, byte for byte: it has no control characters, and no white space at
/// an edge, which would be trimmed.
pub fn fits_header(id: &str) -> bool {
    let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let carried = |b: u8| b == b'\t' || (b >= 0x20 && b != 0x7F);
    let bytes = id.as_bytes();
    !id.is_empty()
        && !is_space(bytes.first())
        && !is_space(bytes.last())
        && bytes.iter().copied().all(carried)
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        /// An event with so many messages to handle; its id is the next, or one of those before.
        Arrive { messages: u32, again: Option<u32> },
        /// So many keys from this one on are reported.
        Handled { first: u32, count: u32, ok: bool },
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (0..4_u32).prop_map(|messages| Step::Arrive { messages, again: None }),
            2 => (0..4_u32, 0..20_u32).prop_map(|(messages, id)| Step::Arrive { messages, again: Some(id) }),
            4 => (0..40_u32, 0..6_u32, any::<bool>())
                .prop_map(|(first, count, ok)| Step::Handled { first, count, ok }),
        ];
        prop::collection::vec(step, 0..60)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

        #[test]
        fn a_report_finds_what_a_search_through_all_that_is_in_hand_finds(steps in steps()) {
            let (mut ours, mut plain) = (Cursor::default(), Cursor::default());
            let (mut next_id, mut next_key) = (0, 1);
            for step in steps {
                match step {
                    Step::Arrive { messages, again } => {
                        let id = again.unwrap_or(next_id).to_string();
                        next_id += u32::from(again.is_none());
                        let keys: Vec<_> = (0..messages).map(|place| (next_key + place, place)).collect();
                        next_key += messages;
                        let handed = match keys[..] {
                            [] => Handed::Nothing,
                            [(key, _)] => Handed::One(key),
                            _ => Handed::Several(keys),
                        };
                        let came = Came { id: Some(&id), print: None, resumed: again.is_some() };
                        prop_assert_eq!(ours.arrive(came, handed.clone(), 10), plain.arrive(came, handed, 10));
                    }
                    Step::Handled { first, count, ok } => {
                        let keys = first..=first + count;
                        plain.in_order = false;
                        prop_assert_eq!(ours.handled(&keys, ok), plain.handled(&keys, ok));
                    }
                }
                prop_assert_eq!(ours.in_hand(), plain.in_hand());
                prop_assert_eq!((ours.committed(), ours.held()), (plain.committed(), plain.held()));
            }
        }
    }
}
