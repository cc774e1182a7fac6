//! Byte search shared by the two scanners.

const LOW: u64 = u64::from_ne_bytes([1; 8]);
const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);

/// The index of the first byte at or after `from` that is one of `wanted` or less than `below`, else the length.
///
/// Eight bytes at a time, since no wider search is as quick to give the place, and most runs here are short.
#[inline(always)]
pub(crate) fn find<const N: usize>(bytes: &[u8], from: usize, wanted: [u8; N], below: u8) -> usize {
    let mut at = from;
    while let Some(word) = bytes[at..].first_chunk() {
        let word = u64::from_le_bytes(*word);
        let hits = wanted
            .iter()
            .fold(less(word, below), |hits, &byte| hits | less(word ^ (LOW * u64::from(byte)), 1));
        if hits != 0 {
            return at + hits.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let tail = bytes[at..].iter().position(|byte| *byte < below || wanted.contains(byte));
    tail.map_or(bytes.len(), |found| at + found)
}

/// Marks the bytes less than `bound` (at most 0x80) by their highest bit. A borrow may mark bytes above the lowest
/// true one, so only the lowest mark counts.
#[inline(always)]
fn less(word: u64, bound: u8) -> u64 {
    word.wrapping_sub(LOW * u64::from(bound)) & !word & HIGH
}
