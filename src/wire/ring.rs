//! The last things of a row, known again by hashes of theirs.
//!
//! What comes is only written into a ring; its index is made when the first question is put, for most rows are never
//! asked. From then on it is kept, so that neither costs more than a few steps, however many there are.

use std::num::NonZeroU64;

/// A hash that something is known by. (Never 0: thousands are kept, and `None` takes no room of its own.)
pub type Key = NonZeroU64;

/// The word as a key.
pub fn key(word: u64) -> Key {
    Key::new(word).unwrap_or(Key::MAX)
}

/// What has keys, `N` of them at most, which stay as they are.
pub trait Keyed<const N: usize> {
    /// The keys, each in its place.
    fn keys(&self) -> [Option<Key>; N];
}

/// A row of keys alone.
impl Keyed<1> for Key {
    fn keys(&self) -> [Option<Key>; 1] {
        [Some(*self)]
    }
}

/// The last things of a row, at most 32 768 of them.
#[derive(Debug)]
pub struct Ring<T, const N: usize> {
    items: Vec<T>,
    most: usize,
    /// How many have come in all.
    count: u64,
    /// For each place of a key; none until the first question.
    indexes: Option<Box<[Index; N]>>,
}

impl<T: Keyed<N>, const N: usize> Ring<T, N> {
    /// An empty ring with room for so many.
    pub const fn new(most: usize) -> Self {
        Self { items: Vec::new(), most, count: 0, indexes: None }
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// How many have come in all.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The one that came last.
    pub fn last(&self) -> Option<&T> {
        self.items.get(self.slot(self.count.checked_sub(1)?))
    }

    /// All, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }

    /// All, from the oldest on.
    pub fn into_row(mut self) -> impl Iterator<Item = T> {
        let oldest = if self.items.len() < self.most { 0 } else { self.slot(self.count) };
        self.items.rotate_left(oldest);
        self.items.into_iter()
    }

    /// Adds the next one, in place of the oldest where there is no room.
    pub fn push(&mut self, item: T) {
        let slot = self.slot(self.count);
        self.count += 1;
        if slot < self.items.len() {
            self.unlist(slot);
            self.items[slot] = item;
        } else {
            self.items.push(item);
        }
        self.list(slot);
    }

    /// The last one with this key in this place, and its number in the row, from 0.
    pub fn find(&mut self, place: usize, key: Key) -> Option<(u64, &T)> {
        if self.indexes.is_none() {
            self.index();
        }
        let index = &self.indexes.as_ref()?[place];
        let slot = index.find(key, |slot| self.items.get(slot)?.keys()[place])?;
        let newest = self.slot(self.count + self.most as u64 - 1);
        let age = (newest + self.most - slot) % self.most;
        Some((self.count - 1 - age as u64, &self.items[slot]))
    }

    fn slot(&self, number: u64) -> usize {
        (number % self.most as u64) as usize
    }

    fn index(&mut self) {
        let size = 2 * self.items.len().next_power_of_two().max(8);
        self.indexes = Some(Box::new(std::array::from_fn(|_| Index { slots: vec![0; size] })));
        let oldest = if self.items.len() < self.most { 0 } else { self.slot(self.count) };
        (oldest..self.items.len()).chain(0..oldest).for_each(|slot| self.enter(slot));
    }

    /// Enters a new one into the indexes, where there are any; they are at most half full.
    fn list(&mut self, slot: usize) {
        match &self.indexes {
            Some(indexes) if indexes.iter().any(|index| 2 * self.items.len() > index.slots.len()) => {
                self.index();
            }
            Some(_) => self.enter(slot),
            None => {}
        }
    }

    fn enter(&mut self, slot: usize) {
        let Some(indexes) = self.indexes.as_mut() else { return };
        let keys = self.items[slot].keys();
        for (place, (index, key)) in indexes.iter_mut().zip(keys).enumerate() {
            if let Some(key) = key {
                index.set(key, slot, |slot| self.items.get(slot)?.keys()[place]);
            }
        }
    }

    /// Takes one out of the indexes that is about to be replaced.
    fn unlist(&mut self, slot: usize) {
        let Some(indexes) = self.indexes.as_mut() else { return };
        let keys = self.items[slot].keys();
        for (place, (index, key)) in indexes.iter_mut().zip(keys).enumerate() {
            if let Some(key) = key {
                index.unset(key, slot, |slot| self.items.get(slot)?.keys()[place]);
            }
        }
    }
}

/// From keys to slots of a ring, by open addressing: the slot plus 1, or 0 where there is none.
#[derive(Debug)]
struct Index {
    slots: Vec<u16>,
}

impl Index {
    fn home(&self, key: Key) -> usize {
        key.get() as usize & (self.slots.len() - 1)
    }

    fn next(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }

    /// Where the key is, or the free place where it belongs.
    fn seek(&self, key: Key, key_of: impl Fn(usize) -> Option<Key>) -> usize {
        let mut at = self.home(key);
        while self.slots[at] != 0 && key_of(usize::from(self.slots[at]) - 1) != Some(key) {
            at = self.next(at);
        }
        at
    }

    fn find(&self, key: Key, key_of: impl Fn(usize) -> Option<Key>) -> Option<usize> {
        usize::from(self.slots[self.seek(key, key_of)]).checked_sub(1)
    }

    fn set(&mut self, key: Key, slot: usize, key_of: impl Fn(usize) -> Option<Key>) {
        let at = self.seek(key, key_of);
        self.slots[at] = slot as u16 + 1;
    }

    /// Takes out a key that leads to this slot, and moves up what stands behind it.
    fn unset(&mut self, key: Key, slot: usize, key_of: impl Fn(usize) -> Option<Key>) {
        let mut free = self.seek(key, &key_of);
        if usize::from(self.slots[free]) != slot + 1 {
            return; // The key came again since.
        }
        let mut at = free;
        loop {
            at = self.next(at);
            let Some(held) = usize::from(self.slots[at]).checked_sub(1) else { break };
            let Some(home) = key_of(held).map(|key| self.home(key)) else { break };
            // It may stand in the free place unless its home lies behind that.
            let (from_home, from_free) = (at.wrapping_sub(home), at.wrapping_sub(free));
            let mask = self.slots.len() - 1;
            if from_home & mask >= from_free & mask {
                self.slots[free] = self.slots[at];
                free = at;
            }
        }
        self.slots[free] = 0;
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Two keys of few values, so that they collide and come again.
    #[derive(Copy, Clone, Debug, PartialEq)]
    struct Pair(u8, Option<u8>);

    /// Few homes, too.
    fn of(word: u8) -> Key {
        key(u64::from(word % 40) << 5 | u64::from(word % 3))
    }

    impl Keyed<2> for Pair {
        fn keys(&self) -> [Option<Key>; 2] {
            [Some(of(self.0)), self.1.map(of)]
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn a_ring_knows_what_a_search_through_all_of_it_finds(
            most in 1..40_usize,
            asked_from in 0..60_usize,
            row in prop::collection::vec((any::<u8>(), any::<Option<u8>>()), 0..200),
        ) {
            let mut ring = Ring::<Pair, 2>::new(most);
            let mut kept: Vec<(u64, Pair)> = Vec::new();
            for (number, (first, second)) in row.into_iter().enumerate() {
                let pair = Pair(first, second);
                ring.push(pair);
                kept.push((number as u64, pair));
                if kept.len() > most {
                    kept.remove(0);
                }
                prop_assert_eq!((ring.len(), ring.last()), (kept.len(), Some(&pair)));
                if number < asked_from {
                    continue;
                }
                for place in 0..2 {
                    for word in 0..120 {
                        let is_it = |(_, pair): &&(u64, Pair)| pair.keys()[place] == Some(of(word));
                        let naive = kept.iter().rev().find(is_it).map(|(number, pair)| (*number, *pair));
                        prop_assert_eq!(ring.find(place, of(word)).map(|(number, pair)| (number, *pair)), naive);
                    }
                }
            }
        }
    }
}
