//! Events that come again: on a live stream that repeats itself, and on a resumed one of a server that replays what
//! other streams have brought.
//!
//! Beside the ids of its own stream, an event is known by its id *with* its payload. What is live only adds to a ring;
//! it is put in order when a resume asks.

use std::collections::VecDeque;
use std::num::NonZeroU64;

use super::ExchangeId;

/// A hash of an event's id and payload. (Never 0, as below: thousands are kept, and `None` takes no room of its own.)
pub(crate) type Print = NonZeroU64;

/// A stream's name: of its call, by its POST.
pub(crate) type Name = NonZeroU64;

/// So many events of a live stream are remembered for it: servers that repeat themselves do so at once.
const NEAR: usize = 16;

/// The last events of one stream.
#[derive(Debug, Default)]
pub(crate) struct Near {
    ring: [Option<Print>; NEAR],
    next: usize,
}

impl Near {
    /// An event came.
    pub(crate) fn note(&mut self, print: Print) {
        self.ring[self.next] = Some(print);
        self.next = (self.next + 1) % NEAR;
    }

    /// Whether it is among the last.
    pub(crate) fn knows(&self, print: Print) -> bool {
        self.ring.contains(&Some(print))
    }
}

/// One event, or a block that only has an id.
#[derive(Copy, Clone, Debug)]
struct Came {
    id: u64,
    print: Option<Print>,
    /// The stream that brought it live: what a resume brings proves nothing of ids.
    live_on: Option<Name>,
}

/// The last events of all streams of a session.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    seed: u64,
    came: VecDeque<Came>,
    /// Prints of all but the last `unordered` of these, in order.
    ordered: Vec<Print>,
    unordered: usize,
    /// An id came live on two streams: this server's ids are those of its streams.
    per_stream: bool,
}

impl Repeats {
    const MOST: usize = 4_096;
    /// So many that are not in order yet are looked through one by one.
    const LOOSE: usize = 64;

    /// Nothing has come yet.
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// The hash of an event.
    pub(crate) fn print(&self, id: &str, payload: &str) -> Print {
        non_zero(hash(hash(self.seed, id), payload))
    }

    /// An event came: live on this stream, or by a resume. `print` is none where it has no payload.
    pub(crate) fn note(&mut self, id: &str, print: Option<Print>, live_on: Option<Name>) {
        if self.per_stream {
            return;
        }
        if self.came.len() == Self::MOST {
            self.came.pop_front();
        }
        self.came.push_back(Came { id: hash(self.seed, id), print, live_on });
        self.unordered = (self.unordered + 1).min(self.came.len());
    }

    /// Whether any stream has brought this event, where that means something.
    pub(crate) fn knows(&mut self, print: Print) -> bool {
        if self.unordered > Self::LOOSE || self.ordered.is_empty() {
            self.order();
        }
        let loose = || self.came.iter().rev().take(self.unordered);
        !self.per_stream
            && (self.ordered.binary_search(&print).is_ok() || loose().any(|came| came.print == Some(print)))
            && !self.loose_is_per_stream()
    }

    /// Whether this stream brought the event live.
    pub(crate) fn came_on(&self, print: Print, stream: Name) -> bool {
        self.came.iter().any(|came| came.print == Some(print) && came.live_on == Some(stream))
    }

    /// Puts all in order, and looks for an id that came live on two streams.
    fn order(&mut self) {
        let mut ids: Vec<(u64, Name)> =
            self.came.iter().filter_map(|came| Some((came.id, came.live_on?))).collect();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1) {
            self.per_stream = true;
            self.came.clear();
            self.ordered.clear();
        } else {
            self.ordered = self.came.iter().filter_map(|came| came.print).collect();
            self.ordered.sort_unstable();
        }
        self.unordered = 0;
    }

    /// A repeat is about to be told: what came since all was put in order may say that it is none.
    fn loose_is_per_stream(&mut self) -> bool {
        let has_live = self.came.iter().rev().take(self.unordered).any(|came| came.live_on.is_some());
        if has_live {
            self.order();
        }
        self.per_stream
    }
}

/// The name of a stream.
pub(crate) fn stream_of(call: super::CallId, post: ExchangeId) -> Name {
    non_zero(u64::from(call.0) << 32 | u64::from(post.0))
}

fn non_zero(word: u64) -> NonZeroU64 {
    NonZeroU64::new(word).unwrap_or(NonZeroU64::MAX)
}

const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(lane: u64, word: u64) -> u64 {
    (lane ^ word).wrapping_mul(ODD).rotate_left(29)
}

/// A seeded hash, quick on long texts: four lanes of words. Whoever can make two payloads alike can only lose his own.
fn hash(seed: u64, text: &str) -> u64 {
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
    lanes.into_iter().fold(text.len() as u64, |all, lane| mix(mix(all, lane), lane >> 32))
}

#[cfg(test)]
mod tests {
    use super::{hash, non_zero, Came, Near, Repeats};

    const A: u64 = 1;
    const B: u64 = 2;

    fn came(repeats: &mut Repeats, id: &str, payload: &str, stream: u64, live: bool) {
        let print = repeats.print(id, payload);
        repeats.note(id, Some(print), live.then(|| non_zero(stream)));
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
        repeats.note("1", None, Some(non_zero(B)));
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
            assert!(knows(&mut repeats, &n.to_string(), "x"), "before it is put in order");
        }
    }

    #[test]
    fn a_session_remembers_its_events_in_less_than_128_kib() {
        assert!(size_of::<Came>() * Repeats::MOST + 8 * Repeats::MOST <= 128 << 10);
    }

    #[test]
    fn a_live_stream_asks_its_last_16() {
        let mut near = Near::default();
        let print = non_zero;
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
        repeats.note("1", None, Some(non_zero(A)));
        assert!(knows(&mut repeats, "1", "x"));
    }
}
