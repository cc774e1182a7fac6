//! The cursor of a lineage: handle, then commit (ARCHITECTURE.md, "Cursors and gaps").
//!
//! The cursor is the last id before the first event that was not handled. Events in hand hold it; what comes again
//! while it is in hand, or after it was handled, is a repeat; what failed comes again once.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::RangeInclusive;

use super::http::header_value;
use super::sorted::SortedMap;

/// Ids of events that were handled, with their order: the newest, as hashes.
#[derive(Debug, Default)]
struct Seen {
    /// By the low bits of the hash: in one table, each new id would move half of all.
    shelves: Vec<SortedMap<u64, u64>>,
    queue: VecDeque<u64>,
    next: u64,
}

impl Seen {
    const MOST: usize = 4_096;
    const SHELVES: usize = 64;

    fn hash(id: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        hasher.finish()
    }

    fn shelf(&mut self, hash: u64) -> &mut SortedMap<u64, u64> {
        &mut self.shelves[hash as usize % Self::SHELVES]
    }

    fn insert(&mut self, hash: u64) {
        self.next += 1;
        let order = self.next;
        self.shelves.resize_with(Self::SHELVES, SortedMap::new);
        if self.shelf(hash).insert(hash, order).is_some() {
            return;
        }
        self.queue.push_back(hash);
        if self.queue.len() > Self::MOST {
            if let Some(oldest) = self.queue.pop_front() {
                self.shelf(oldest).remove(&oldest);
            }
        }
    }

    fn place(&self, hash: u64) -> Option<u64> {
        self.shelves.get(hash as usize % Self::SHELVES)?.get(&hash).copied()
    }

    /// A block without data goes by a name of its own: an event may follow under the same id.
    fn mark(id: &str) -> String {
        format!("\0{id}")
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

/// One block of the stream from the first not handled on.
#[derive(Debug)]
struct Block {
    id: Option<String>,
    /// Of its id: what is in hand is searched for each event.
    hash: u64,
    key: Option<u32>,
    bytes: usize,
    state: State,
    /// It failed before.
    second: bool,
    /// Its data was no JSON: nothing was handed out.
    broken: bool,
}

impl Block {
    fn new(id: Option<&str>, key: Option<u32>, bytes: usize, state: State) -> Self {
        let hash = id.map_or(0, Seen::hash);
        Self { id: id.map(str::to_string), hash, key, bytes, state, second: false, broken: false }
    }
}

/// Events in hand: their keys, and their ids where they have any.
pub(crate) type Held = Vec<(u32, Option<String>)>;

/// What a report did.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// The cursor moved.
    pub(crate) moved: bool,
    /// Events that failed for good: their ids, where they have any.
    pub(crate) skipped: Vec<Option<String>>,
}

/// The cursor of one lineage, and the events it waits for.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    id: Option<String>,
    /// An id came that no request can carry: the place in the stream is lost.
    unusable: bool,
    blocks: VecDeque<Block>,
    /// How many of these are in hand, and their bytes.
    in_hand: (usize, usize),
    /// How many of these failed.
    failed: usize,
    seen: Seen,
}

impl Cursor {
    /// A cursor that starts behind this event.
    pub(crate) fn at(id: &str) -> Self {
        let mut cursor = Self::default();
        cursor.commit(id);
        cursor
    }

    fn commit(&mut self, id: &str) {
        // The empty id clears the cursor (WHATWG 9.2.6).
        self.id = (!id.is_empty()).then(|| id.to_string());
        self.unusable = !id.is_empty() && header_value(id).is_none();
    }

    /// Where a resume is possible: the id to ask with. With nothing handled yet it is the first event in hand: that
    /// one can't come again, but the stream is not lost.
    pub(crate) fn usable(&self) -> Option<&str> {
        // An empty id that waits for its turn: what came with it could not be told from a repeat.
        if self.blocks.iter().any(|block| block.id.as_deref() == Some("")) {
            return None;
        }
        let unbroken = || self.blocks.iter().take_while(|block| !block.broken);
        let first_in_hand = || unbroken().find_map(|block| block.id.as_deref());
        self.id.as_deref().or_else(first_in_hand).filter(|id| !self.unusable && header_value(id).is_some())
    }

    /// A block came and was handed out under `key`, or needs no handler. Whether the cursor moved.
    pub(crate) fn arrive(&mut self, id: Option<&str>, key: Option<u32>, bytes: usize) -> bool {
        let state = if key.is_some() { State::InHand } else { State::Done };
        let again = id.filter(|id| !id.is_empty() && self.failed > 0).and_then(|id| {
            self.blocks.iter_mut().find(|b| b.state == State::Failed && b.id.as_deref() == Some(id))
        });
        if let Some(block) = again {
            block.second = !std::mem::take(&mut block.broken);
            (block.key, block.state) = (key, state);
            let bytes = block.bytes;
            self.failed -= 1;
            self.hold(key, bytes);
        } else {
            self.hold(key, bytes);
            self.blocks.push_back(Block::new(id, key, bytes, state));
        }
        self.advance()
    }

    /// A broken event came: the cursor stays before it, so that a resume brings it again.
    /// Whether it came broken before.
    pub(crate) fn broken(&mut self, id: Option<&str>) -> bool {
        const NEAR: usize = 64; // A resume brings it early; an endless row of them is not searched.
        let mut near = self.blocks.iter().take(NEAR);
        let known = id.is_some() && near.any(|block| block.broken && block.id.as_deref() == id);
        if self.blocks.len() > Seen::MOST {
            self.drop_first();
        }
        if !known {
            self.failed += 1;
            self.blocks.push_back(Block { broken: true, ..Block::new(id, None, 1, State::Failed) });
        }
        known
    }

    /// The id that was committed last.
    pub(crate) fn committed(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Handlers reported. Keys that are not in hand are left out.
    pub(crate) fn handled(&mut self, keys: &RangeInclusive<u32>, ok: bool) -> Report {
        let mut report = Report::default();
        let mut left = keys.end().saturating_sub(*keys.start()).saturating_add(1);
        let in_hand = |block: &&mut Block| {
            block.state == State::InHand && block.key.is_some_and(|key| keys.contains(&key))
        };
        for block in self.blocks.iter_mut().filter(in_hand) {
            self.in_hand = (self.in_hand.0 - 1, self.in_hand.1 - block.bytes);
            block.state = if ok || block.second { State::Done } else { State::Failed };
            self.failed += usize::from(block.state == State::Failed);
            if !ok && block.second {
                report.skipped.push(block.id.clone());
            }
            if block.state == State::Done && block.id.is_some() {
                self.seen.insert(block.hash);
            }
            left -= 1;
            if left == 0 {
                break; // What comes after them is not searched.
            }
        }
        report.moved = self.advance();
        report
    }

    fn hold(&mut self, key: Option<u32>, bytes: usize) {
        if key.is_some() {
            self.in_hand = (self.in_hand.0 + 1, self.in_hand.1 + bytes);
        }
    }

    /// The first block is given up, whatever became of it.
    fn drop_first(&mut self) {
        match self.blocks.pop_front() {
            Some(block) if block.state == State::InHand => {
                self.in_hand = (self.in_hand.0 - 1, self.in_hand.1 - block.bytes);
            }
            Some(block) if block.state == State::Failed => self.failed -= 1,
            _ => {}
        }
    }

    /// Commits what is handled up to the first event that is not.
    fn advance(&mut self) -> bool {
        let mut moved = false;
        if self.blocks.len() > Seen::MOST {
            self.drop_first(); // What held it back for so long won't come again.
        }
        while self.blocks.front().is_some_and(|block| block.state == State::Done) {
            let Some(Block { id: Some(id), hash, bytes, .. }) = self.blocks.pop_front() else { continue };
            match bytes {
                _ if id.is_empty() => {} // It clears the cursor and names nothing.
                0 => self.seen.insert(Seen::hash(&Seen::mark(&id))),
                _ => self.seen.insert(hash),
            }
            self.commit(&id);
            moved = true;
        }
        moved
    }

    /// Whether an event with this id is in hand or was handled; and its place in the order of handling.
    pub(crate) fn is_repeat(&self, id: &str) -> Option<u64> {
        if id.is_empty() {
            return None;
        }
        let hash = Seen::hash(id);
        let is_mine =
            |block: &&Block| block.hash == hash && block.bytes > 0 && block.id.as_deref() == Some(id);
        match self.blocks.iter().find(is_mine) {
            Some(block) if block.state == State::Failed => None,
            Some(_) => Some(u64::MAX),
            None => self.seen.place(hash),
        }
    }

    /// Whether an event with this id failed: it is to come again.
    pub(crate) fn is_due(&self, id: &str) -> bool {
        self.blocks.iter().any(|block| block.state == State::Failed && block.id.as_deref() == Some(id))
    }

    /// Whether a block without data, of this id, was passed before: a replay of it does not move the cursor back.
    pub(crate) fn is_passed(&self, id: &str) -> bool {
        let waits = |block: &Block| block.bytes == 0 && block.id.as_deref() == Some(id);
        self.blocks.iter().any(waits) || self.seen.place(Seen::hash(&Seen::mark(id))).is_some()
    }

    /// Events that failed and did not come again: their ids, where they have any.
    pub(crate) fn failed(&self) -> Vec<Option<String>> {
        self.blocks
            .iter()
            .filter(|block| block.state == State::Failed && !block.broken)
            .map(|block| block.id.clone())
            .collect()
    }

    /// Events in hand: their keys, and their ids where they have any.
    pub(crate) fn held(&self) -> Held {
        let in_hand = self.blocks.iter().filter(|block| block.state == State::InHand);
        in_hand.filter_map(|block| Some((block.key?, block.id.clone()))).collect()
    }

    /// The keys among these that are in hand.
    pub(crate) fn held_keys(&self, keys: &RangeInclusive<u32>) -> Vec<u32> {
        let in_hand = self.blocks.iter().filter(|block| block.state == State::InHand);
        in_hand.filter_map(|block| block.key.filter(|key| keys.contains(key))).collect()
    }

    /// Events in hand, and their bytes.
    pub(crate) fn in_hand(&self) -> (usize, usize) {
        self.in_hand
    }
}
