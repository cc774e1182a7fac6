//! Tables of few entries: sorted vectors. The machine code of a B-tree per type of table was a quarter of the module.
//!
//! Lookups are binary searches. Most keys count up, so that most insertions append; any other one moves what comes
//! behind it, which for the some hundred entries of a table here costs less than a tree's nodes. What was found last is
//! looked at first: an event of a call asks for that call a dozen times.

use std::borrow::Borrow;
use std::cell::Cell;
use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};

/// A map in the order of its keys.
#[derive(Clone)]
pub struct SortedMap<K, V> {
    items: Vec<(K, V)>,
    /// Where the key was that was found last.
    near: Cell<usize>,
}

impl<K: PartialEq, V: PartialEq> PartialEq for SortedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.items == other.items
    }
}

impl<K: Eq, V: Eq> Eq for SortedMap<K, V> {}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SortedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Serialize, V: Serialize> Serialize for SortedMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (key, value) in self.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<K, V> SortedMap<K, V> {
    /// An empty map.
    pub const fn new() -> Self {
        Self { items: Vec::new(), near: Cell::new(0) }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The entries, in the order of their keys.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.items.iter().map(|(key, value)| (key, value))
    }

    /// The entries with what may be changed of them, in the order of their keys.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&K, &mut V)> {
        self.items.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> {
        self.items.iter().map(|(key, _)| key)
    }

    /// The values, in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> {
        self.items.iter().map(|(_, value)| value)
    }

    /// Takes all out.
    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// Takes the entry with the least key.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        (!self.items.is_empty()).then(|| self.items.remove(0))
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// Where the key is, or where it belongs. (Inlined is but the look at what was found last.)
    #[inline(always)]
    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        let near = self.near.get();
        if self.items.get(near).is_some_and(|(found, _)| found.borrow() == key) {
            return Ok(near);
        }
        self.search(key)
    }

    fn search<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        let place = match self.items.last() {
            Some((last, _)) if last.borrow() < key => Err(self.items.len()),
            _ => self.items.binary_search_by(|(other, _)| other.borrow().cmp(key)),
        };
        let (Ok(at) | Err(at)) = place;
        self.near.set(at);
        place
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let (_, value) = self.items.get(self.place(key).ok()?)?;
        Some(value)
    }

    /// The same, to change it.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key).ok()?;
        let (_, value) = self.items.get_mut(place)?;
        Some(value)
    }

    /// Whether there is an entry with this key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.place(key).is_ok()
    }

    /// Enters a value; what it replaces.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place(&key) {
            Ok(place) => Some(std::mem::replace(&mut self.items[place].1, value)),
            Err(place) => {
                self.items.insert(place, (key, value));
                None
            }
        }
    }

    /// The value of a key, entered if there is none yet.
    pub fn or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        let place = self.place(&key).unwrap_or_else(|place| {
            self.items.insert(place, (key, V::default()));
            place
        });
        &mut self.items[place].1
    }

    /// Takes the entry of a key out.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key).ok()?;
        Some(self.items.remove(place).1)
    }
}

/// A set in order.
#[derive(Clone, PartialEq, Eq)]
pub struct SortedSet<T> {
    items: SortedMap<T, ()>,
}

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        Self { items: SortedMap::new() }
    }
}

impl<T: fmt::Debug> fmt::Debug for SortedSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.items.keys()).finish()
    }
}

impl<T: Ord> SortedSet<T> {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The least.
    pub fn first(&self) -> Option<&T> {
        self.items.keys().next()
    }

    /// Whether it is among them.
    pub fn contains<Q: Ord + ?Sized>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.items.contains_key(item)
    }

    /// Whether it is new.
    pub fn insert(&mut self, item: T) -> bool {
        self.items.insert(item, ()).is_none()
    }

    /// Whether it was there.
    pub fn remove(&mut self, item: &T) -> bool {
        self.items.remove(item).is_some()
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        for item in items {
            self.insert(item);
        }
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
#[allow(clippy::disallowed_types, reason = "std's map is the oracle")]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u8, u32),
        Append(u32),
        OrDefault(u8),
        Change(u8, u32),
        Remove(u8),
        PopFirst,
        Clear,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let key = || 0..24_u8;
        let step = prop_oneof![
            6 => (key(), any::<u32>()).prop_map(|(key, value)| Step::Insert(key, value)),
            6 => any::<u32>().prop_map(Step::Append),
            2 => key().prop_map(Step::OrDefault),
            2 => (key(), any::<u32>()).prop_map(|(key, value)| Step::Change(key, value)),
            6 => key().prop_map(Step::Remove),
            2 => Just(Step::PopFirst),
            1 => Just(Step::Clear),
        ];
        prop::collection::vec(step, 0..80)
    }

    /// Takes the step in both maps, and compares what they answer.
    fn take(step: Step, ours: &mut SortedMap<u8, u32>, std: &mut BTreeMap<u8, u32>) {
        match step {
            Step::Insert(key, value) => assert_eq!(ours.insert(key, value), std.insert(key, value)),
            Step::Append(value) => {
                let key = std.keys().next_back().map_or(0, |last| last.saturating_add(1));
                assert_eq!(ours.insert(key, value), std.insert(key, value));
            }
            Step::OrDefault(key) => assert_eq!(ours.or_default(key), std.entry(key).or_default()),
            Step::Change(key, to) => {
                let (our, their) = (ours.get_mut(&key), std.get_mut(&key));
                assert_eq!(our, their);
                if let (Some(our), Some(their)) = (our, their) {
                    (*our, *their) = (to, to);
                }
            }
            Step::Remove(key) => assert_eq!(ours.remove(&key), std.remove(&key)),
            Step::PopFirst => assert_eq!(ours.pop_first(), std.pop_first()),
            Step::Clear => {
                ours.clear();
                std.clear();
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn a_sorted_map_is_stds_map(steps in steps()) {
            let (mut ours, mut std) = (SortedMap::new(), BTreeMap::new());
            for step in steps {
                take(step, &mut ours, &mut std);
                prop_assert!(ours.iter().eq(std.iter()));
                prop_assert!(ours.keys().eq(std.keys()) && ours.values().eq(std.values()));
                prop_assert!(ours.iter_mut().eq(std.iter_mut()));
                prop_assert_eq!((ours.len(), ours.is_empty()), (std.len(), std.is_empty()));
                for key in 0..26 {
                    prop_assert_eq!(ours.get(&key), std.get(&key));
                    prop_assert_eq!(ours.contains_key(&key), std.contains_key(&key));
                }
            }
            prop_assert_eq!(format!("{ours:?}"), format!("{std:?}"));
            prop_assert_eq!(serde_json::to_string(&ours)?, serde_json::to_string(&std)?);
        }

        #[test]
        fn a_sorted_set_is_stds_set(changes in prop::collection::vec((0..24_u8, any::<bool>()), 0..80)) {
            let (mut ours, mut std) = (SortedSet::default(), BTreeSet::new());
            for (item, comes) in changes {
                match comes {
                    true => prop_assert_eq!(ours.insert(item), std.insert(item)),
                    false => prop_assert_eq!(ours.remove(&item), std.remove(&item)),
                }
                prop_assert_eq!(ours.first(), std.first());
                prop_assert_eq!(ours.is_empty(), std.is_empty());
                prop_assert!((0..24).all(|item| ours.contains(&item) == std.contains(&item)));
                prop_assert_eq!(format!("{ours:?}"), format!("{std:?}"));
            }
        }
    }
}
