//! The decoder gives what the standard's algorithm, done plainly, gives, however the stream is cut.

use super::{decode, Seen, AMPLE};
use landfall::proto::sse::Limits;
use proptest::prelude::*;

/// The standard's algorithm, word by word, over the whole stream decoded at once.
pub(super) fn naive(stream: &[u8], id_bytes: usize) -> Vec<Seen> {
    let text = String::from_utf8_lossy(stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(stream)).into_owned();
    let (mut seen, mut data, mut kind, mut id) = (Vec::new(), String::new(), String::new(), String::new());
    let mut own_id = false;
    for line in terminated_lines(&text) {
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            _ if line.is_empty() => {
                let too_long = id.len() > id_bytes;
                if own_id && too_long {
                    seen.push(Seen::LongId);
                }
                let shown = if too_long { String::new() } else { id.clone() };
                if let Some(data) = data.strip_suffix('\n') {
                    let kind = if kind.is_empty() { "message" } else { &kind };
                    let (kind, data) = (kind.to_owned(), data.to_owned());
                    seen.push(Seen::Event { kind, data, id: shown, own_id });
                } else if own_id && !too_long {
                    seen.push(Seen::Id(shown));
                }
                (data, kind, own_id) = (String::new(), String::new(), false);
            }
            "data" => data = data + value + "\n",
            "event" => kind = value.to_owned(),
            "id" if !value.contains('\0') => (id, own_id) = (value.to_owned(), true),
            "retry" if !value.is_empty() && value.chars().all(|digit| digit.is_ascii_digit()) => {
                seen.push(Seen::Retry(value.parse().unwrap_or(u64::MAX)));
            }
            _ => seen.push(Seen::Comment),
        }
    }
    seen
}

fn terminated_lines(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for character in text.replace("\r\n", "\n").chars() {
        match character {
            '\r' | '\n' => lines.push(String::new()),
            other => lines.last_mut().expect("never empty").push(other),
        }
    }
    lines.pop();
    lines
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: [&[u8]; 34] = [
        b"\n",
        b"\n",
        b"\n\n",
        b"\r",
        b"\r",
        b"\r\r",
        b"\r\n",
        b"\r\n\r\n",
        b":",
        b": ",
        b" ",
        b"\0",
        b"data",
        b"data:",
        b"data: ",
        b"id",
        b"id:",
        b"id: ",
        b"event",
        b"event: ",
        b"retry: ",
        b"retry:",
        b"12",
        b"9999999999999999999",
        b"\xEF\xBB\xBF",
        b"\xEF\xBB",
        b"\xEF",
        b"\xBF",
        "\u{1F30D}".as_bytes(),
        b"\xF0\x9F\x8C",
        b"\xE2\x82",
        b"\xFF",
        b"abc",
        b"a long piece of text that holds more than one word",
    ];
    prop_oneof![
        8 => prop::sample::select(&PIECES[..]).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ]
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    const STARTS: [&[u8]; 4] = [b"", b"", b"\xEF\xBB\xBF", b"\xEF\xBB"];
    let start = prop::sample::select(&STARTS[..]);
    (start, prop::collection::vec(piece(), 0..40))
        .prop_map(|(start, pieces)| [start, &pieces.concat()].concat())
}

/// Cuts a stream into chunks of the sizes given, over and over.
fn cut<'a>(stream: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut rest = stream;
    let mut chunks = Vec::new();
    for &size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (chunk, tail) = rest.split_at(size.min(rest.len()));
        chunks.push(chunk);
        rest = tail;
    }
    chunks
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    let size = prop_oneof![4 => 1_usize..5, 1 => 5_usize..60];
    (prop::collection::vec(prop_oneof![9 => size, 1 => Just(0)], 0..10), 1_usize..9).prop_map(
        |(mut sizes, last)| {
            sizes.push(last);
            sizes
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn any_stream_in_any_chunks_gives_what_the_naive_decoder_gives(stream in stream(), sizes in sizes()) {
        let expected = naive(&stream, AMPLE.id_bytes);
        prop_assert_eq!(&decode(AMPLE, [&stream[..]]), &expected);
        prop_assert_eq!(&decode(AMPLE, stream.chunks(1)), &expected);
        prop_assert_eq!(&decode(AMPLE, cut(&stream, &sizes)), &expected);
    }

    #[test]
    fn limits_act_at_the_same_place_in_any_chunks(
        stream in stream(), sizes in sizes(), line_bytes in 0_usize..40, event_bytes in 0_usize..40, id_bytes in 0_usize..9,
    ) {
        let limits = Limits { line_bytes, event_bytes, id_bytes };
        let expected = decode(limits, [&stream[..]]);
        prop_assert_eq!(&decode(limits, stream.chunks(1)), &expected);
        prop_assert_eq!(&decode(limits, cut(&stream, &sizes)), &expected);
        let unlimited = naive(&stream, id_bytes);
        match expected.split_last() {
            Some((Seen::TooLarge(_), before)) => prop_assert_eq!(before, &unlimited[..before.len()]),
            _ => prop_assert_eq!(expected, unlimited),
        }
    }
}
