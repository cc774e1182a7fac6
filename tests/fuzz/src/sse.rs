//! The decoder: any bytes in any chunks give what they give in one.

use std::ops::ControlFlow;

use landfall::proto::sse::{Decoder, Item, Limits};

const AMPLE: Limits = Limits { line_bytes: 1 << 20, event_bytes: 1 << 20, id_bytes: 64 };

/// The first byte chooses the limits, the second one the chunks; the rest is the stream.
pub fn check(data: &[u8]) {
    let [form, seed, stream @ ..] = data else { return };
    let limits = match form % 4 {
        0 => Limits { line_bytes: 24, event_bytes: 16, id_bytes: 4 },
        1 => Limits { line_bytes: usize::from(*seed), event_bytes: usize::from(*seed / 2), id_bytes: 8 },
        _ => AMPLE,
    };
    let whole = decode(limits, [stream], usize::MAX);
    assert_eq!(decode(limits, stream.chunks(1), usize::MAX), whole, "byte by byte");
    assert_eq!(decode(limits, chunks(stream, *seed), usize::MAX), whole, "in chunks");
    let some = usize::from(*seed) % (whole.len() + 1);
    let broken = decode(limits, chunks(stream, *seed), some);
    assert_eq!(broken[..], whole[..some.max(1).min(whole.len())], "until a break");
}

/// A long stream, in small chunks and in one.
pub fn check_long(stream: &[u8]) {
    let len = stream.len();
    let lengths = |chunks: &mut dyn Iterator<Item = &[u8]>| {
        let mut decoder = Decoder::new(Limits { line_bytes: len, event_bytes: len, ..AMPLE });
        let mut lengths = [0; 3];
        for chunk in chunks {
            let _ = decoder.feed(chunk, &mut |item| {
                lengths[0] += 1;
                if let Item::Event { data, id, .. } = item {
                    lengths[1] += data.len();
                    lengths[2] += id.len();
                }
                ControlFlow::Continue(())
            });
        }
        lengths
    };
    assert_eq!(lengths(&mut stream.chunks(17)), lengths(&mut [stream].into_iter()));
}

/// Everything the decoder gives for the chunks, as text, until it gave `most` items and was told to stop.
fn decode<'a>(limits: Limits, chunks: impl IntoIterator<Item = &'a [u8]>, most: usize) -> Vec<String> {
    let mut decoder = Decoder::new(limits);
    let mut seen = Vec::new();
    let mut over = false;
    for chunk in chunks {
        let fed = decoder.feed(chunk, &mut |item| {
            assert!(!over, "nothing comes after a break or an error");
            assert_fits(&limits, &item);
            seen.push(format!("{item:?}"));
            over = seen.len() >= most;
            if over {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        if let Err(error) = fed {
            assert!(!over, "an error comes once");
            over = true;
            seen.push(format!("{error:?}"));
        }
    }
    seen
}

fn assert_fits(limits: &Limits, item: &Item<'_>) {
    match item {
        Item::Event { kind, data, id, .. } => {
            assert!(!kind.is_empty());
            assert!(data.len() <= limits.event_bytes);
            assert!(id.len() <= limits.id_bytes && !id.contains(['\0', '\n', '\r']));
        }
        Item::Id(id) => assert!(id.len() <= limits.id_bytes),
        Item::Retry(_) | Item::Comment | Item::LongId => {}
    }
}

/// Chunks of 0 to 12 bytes, in an order that the seed makes.
fn chunks(stream: &[u8], seed: u8) -> Vec<&[u8]> {
    let mut state = u32::from(seed);
    let mut rest = stream;
    let mut chunks = Vec::new();
    while !rest.is_empty() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (chunk, tail) = rest.split_at(((state >> 24) as usize % 13).min(rest.len()));
        chunks.push(chunk);
        rest = tail;
    }
    chunks
}
