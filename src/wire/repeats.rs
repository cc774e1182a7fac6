//! Events that come again: on a live stream that repeats itself, and on a resumed one of a server that replays what
//! other streams have brought.
//!
//! Beside the ids of its own stream, an event is known by its id *with* its payload. What is live only adds to a ring,
//! until a resume asks.

use super::ring::{key, Key, Keyed, Ring};

/// A hash of an event's id and payload.
pub type Print = Key;

/// A stream's name: of its call, by its POST.
pub type Name = Key;

/// So many events of a live stream are remembered for it: servers that repeat themselves do so at once.
const NEAR: usize = 16;

/// The last events of one stream.
#[derive(Debug, Default)]
pub struct Near {
    ring: [Option<Print>; NEAR],
    next: usize,
}

impl Near {
    /// An event came.
    pub fn note(&mut self, print: Print) {
        self.ring[self.next] = Some(print);
        self.next = (self.next + 1) % NEAR;
    }

    /// Whether it is among the last.
    pub fn knows(&self, print: Print) -> bool {
        self.ring.contains(&Some(print))
    }
}

/// One event, or a block that only has an id.
#[derive(Copy, Clone, Debug)]
struct Came {
    id: Key,
    print: Option<Print>,
    /// The stream that brought it live: what a resume brings proves nothing of ids.
    live_on: Option<Name>,
}

const BY_PRINT: usize = 0;
const BY_LIVE_ID: usize = 1;

impl Keyed<2> for Came {
    fn keys(&self) -> [Option<Key>; 2] {
        [self.print, self.live_on.map(|_| self.id)]
    }
}

/// The last events of all streams of a session.
#[derive(Debug)]
pub struct Repeats {
    seed: u64,
    came: Ring<Came, 2>,
    /// A resume has asked: from then on each id is compared with those before it.
    asked: bool,
    /// An id came live on two streams: this server's ids are those of its streams.
    per_stream: bool,
}

impl Repeats {
    const MOST: usize = 4_096;

    /// Nothing has come yet.
    pub fn new(seed: u64) -> Self {
        Self { seed, came: Ring::new(Self::MOST), asked: false, per_stream: false }
    }

    /// The hash of an event.
    pub fn print(&self, id: &str, payload: &str) -> Print {
        key(hash(hash(self.seed, id), payload))
    }

    /// An event came: live on this stream, or by a resume. `print` is none where it has no payload.
    pub fn note(&mut self, id: &str, print: Option<Print>, live_on: Option<Name>) {
        if !self.per_stream {
            self.add(Came { id: key(hash(self.seed, id)), print, live_on });
        }
    }

    /// Whether any stream has brought this event, where that means something.
    pub fn knows(&mut self, print: Print) -> bool {
        if !self.asked {
            self.asked = true;
            let came = std::mem::replace(&mut self.came, Ring::new(Self::MOST));
            came.into_row().for_each(|came| self.add(came));
        }
        !self.per_stream && self.came.find(BY_PRINT, print).is_some()
    }

    /// Whether this stream brought the event live.
    pub fn came_on(&self, print: Print, stream: Name) -> bool {
        self.came.iter().any(|came| came.print == Some(print) && came.live_on == Some(stream))
    }

    fn add(&mut self, came: Came) {
        if self.asked && came.live_on.is_some() {
            let before = self.came.find(BY_LIVE_ID, came.id);
            self.per_stream |= before.is_some_and(|(_, before)| before.live_on != came.live_on);
        }
        match self.per_stream {
            true => self.came = Ring::new(Self::MOST),
            false => self.came.push(came),
        }
    }
}

const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(lane: u64, word: u64) -> u64 {
    (lane ^ word).wrapping_mul(ODD).rotate_left(29)
}

/// A seeded hash, quick on long texts: four lanes of words. Whoever can make two payloads alike can only lose his own.
pub fn hash(seed: u64, text: &str) -> u64 {
    const LANES: usize = 4;
    const BLOCK: usize = LANES * 8;
    let mut lanes = [seed, seed.rotate_left(16), seed.rotate_left(32), seed.rotate_left(48)];
    let mut take = |block: &[u8]| {
        for (lane, word) in lanes.iter_mut().zip(block.chunks_exact(8)) {
            *lane = mix(*lane, u64::from_le_bytes(word.try_into().unwrap_or_default()));
        }
    };
    let mut blocks = text.as_bytes().chunks_exact(BLOCK);
    for block in &mut blocks {
        take(block);
    }
    let mut last = [0; BLOCK];
    last[..blocks.remainder().len()].copy_from_slice(blocks.remainder());
    take(&last);
    lanes.into_iter().fold(text.len() as u64, |all, lane| mix(all, lane ^ (lane >> 32)))
}

#[cfg(test)]
mod tests {
    use super::{hash, key, Came, Near, Repeats};

    const A: u64 = 1;
    const B: u64 = 2;

    fn came(repeats: &mut Repeats, id: &str, payload: &str, stream: u64, live: bool) {
        let print = repeats.print(id, payload);
        repeats.note(id, Some(print), live.then(|| key(stream)));
    }

    fn knows(repeats: &mut Repeats, id: &str, payload: &str) -> bool {
        let print = repeats.print(id, payload);
        repeats.knows(print)
    }

    #[test]
    fn an_event_is_known_by_its_id_with_its_payload_whichever_stream_brought_it() {
        let mut repeats = Repeats::new(7);
        came(&mut repeats, "a1", "x", A, true);
        came(&mut repeats, "b1", "x", B, true);
        assert!(knows(&mut repeats, "a1", "x") && knows(&mut repeats, "b1", "x"));
        assert!(!knows(&mut repeats, "a1", "y") && !knows(&mut repeats, "c1", "x"));
    }

    #[test]
    fn an_id_that_came_live_on_two_streams_says_that_only_the_stream_itself_is_asked() {
        let mut repeats = Repeats::new(7);
        came(&mut repeats, "1", "x", A, true);
        assert!(knows(&mut repeats, "1", "x"));
        came(&mut repeats, "1", "y", B, false);
        assert!(knows(&mut repeats, "1", "x"), "a resume proves nothing");
        repeats.note("1", None, Some(key(B)));
        assert!(!knows(&mut repeats, "1", "x"));
        came(&mut repeats, "2", "x", A, true);
        assert!(!knows(&mut repeats, "2", "x"), "for good");
    }

    #[test]
    fn the_last_4_096_events_are_known() {
        let mut repeats = Repeats::new(7);
        for n in 0..5_000 {
            came(&mut repeats, &n.to_string(), "x", A, true);
        }
        assert!(knows(&mut repeats, "4999", "x") && knows(&mut repeats, "904", "x"));
        assert!(!knows(&mut repeats, "903", "x"));
        for n in 5_000..5_010 {
            came(&mut repeats, &n.to_string(), "x", A, false);
            assert!(knows(&mut repeats, &n.to_string(), "x"));
        }
    }

    #[test]
    fn a_session_remembers_its_events_in_less_than_128_kib() {
        let (ring, indexes) = (size_of::<Came>() * Repeats::MOST, 2 * size_of::<u16>() * 2 * Repeats::MOST);
        assert!(ring + indexes <= 128 << 10);
    }

    #[test]
    fn a_live_stream_asks_its_last_16() {
        let mut near = Near::default();
        let print = key;
        for word in 1..=17 {
            near.note(print(word));
        }
        assert!(near.knows(print(17)) && near.knows(print(2)) && !near.knows(print(1)));
    }

    #[test]
    fn hashes_tell_texts_apart_that_differ_in_a_byte_a_zero_or_their_seed() {
        let long = "x".repeat(100);
        let texts = ["", "\0", "\0\0", "x", "x\0", &long[..31], &long[..32], &long[..33], &long];
        let mut hashes: Vec<_> = texts.iter().flat_map(|text| [hash(1, text), hash(2, text)]).collect();
        hashes.extend((0..100).map(|place| {
            let mut bytes = long.clone().into_bytes();
            bytes[place] = b'y';
            hash(1, std::str::from_utf8(&bytes).expect("ASCII"))
        }));
        let all = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), all);
    }

    #[test]
    fn an_id_that_comes_twice_on_one_stream_is_a_name_for_all_the_same() {
        let mut repeats = Repeats::new(7);
        came(&mut repeats, "1", "x", A, true);
        repeats.note("1", None, Some(key(A)));
        assert!(knows(&mut repeats, "1", "x"));
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod properties {
    use proptest::prelude::*;

    use super::{key, Came, Name, Print, Repeats};

    /// All that came, looked through for each question.
    #[derive(Default)]
    struct Plain {
        came: Vec<Came>,
        per_stream: bool,
    }

    impl Plain {
        fn knows(&mut self, print: Print) -> bool {
            let live = || self.came.iter().filter_map(|came| Some((came.id, came.live_on?)));
            self.per_stream |=
                live().any(|(id, on)| live().any(|(other, other_on)| id == other && on != other_on));
            !self.per_stream && self.came.iter().any(|came| came.print == Some(print))
        }
    }

    fn name(stream: u64) -> Name {
        key(stream + 1)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        #[test]
        fn what_is_known_is_what_a_search_through_all_that_came_knows(
            // An id, a payload or none, a stream or a resume, and whether is asked then. Ids of two streams seldom meet.
            row in prop::collection::vec((0..30_u64, any::<Option<bool>>(), any::<Option<bool>>(), 0..40_u64, any::<bool>()), 0..80),
        ) {
            let (mut ours, mut plain) = (Repeats::new(7), Plain::default());
            for (number, payload, stream, meets, asks) in row {
                let stream = stream.map(u64::from);
                let id = (number * 2 + if meets == 0 { 0 } else { stream.unwrap_or_default() }).to_string();
                let print = payload.map(|payload| ours.print(&id, if payload { "x" } else { "y" }));
                let live_on = stream.map(name);
                ours.note(&id, print, live_on);
                plain.came.push(Came { id: key(super::hash(7, &id)), print, live_on });
                for id in (0..60_u64).filter(|_| asks) {
                    let print = ours.print(&id.to_string(), "x");
                    prop_assert_eq!(ours.knows(print), plain.knows(print), "{}", id);
                }
            }
        }
    }
}
