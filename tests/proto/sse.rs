//! The decoder against a naive one that reads the standard's words (WHATWG HTML 9.2.5, 9.2.6) over the whole text,
//! and against known streams; all of them whole, byte by byte, and cut at every place.

use landfall::proto::sse::{Decoder, Item, Limits, TooLarge};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

mod properties;

const AMPLE: Limits = Limits { line_bytes: 1 << 20, event_bytes: 1 << 20, id_bytes: 64 };

#[derive(Debug, Clone, PartialEq)]
enum Seen {
    Event { kind: String, data: String, id: String, own_id: bool },
    Id(String),
    Retry(u64),
    Comment,
    LongId,
    TooLarge(usize),
}

impl From<Item<'_>> for Seen {
    fn from(item: Item<'_>) -> Self {
        match item {
            Item::Event { kind, data, id, own_id } => {
                Self::Event { kind: kind.to_owned(), data: data.to_owned(), id: id.to_owned(), own_id }
            }
            Item::Id(id) => Self::Id(id.to_owned()),
            Item::Retry(milliseconds) => Self::Retry(milliseconds),
            Item::Comment => Self::Comment,
            Item::LongId => Self::LongId,
        }
    }
}

fn data(data: &str) -> Seen {
    event("message", data)
}

fn event(kind: &str, data: &str) -> Seen {
    Seen::Event { kind: kind.to_owned(), data: data.to_owned(), id: String::new(), own_id: false }
}

/// An event that has the id itself.
fn with_id(id: &str, data: &str) -> Seen {
    Seen::Event { kind: "message".to_owned(), data: data.to_owned(), id: id.to_owned(), own_id: true }
}

/// An event after one that had the id.
fn after_id(id: &str, data: &str) -> Seen {
    Seen::Event { kind: "message".to_owned(), data: data.to_owned(), id: id.to_owned(), own_id: false }
}

fn decode<'a>(limits: Limits, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Seen> {
    let mut decoder = Decoder::new(limits);
    let mut seen = Vec::new();
    for chunk in chunks {
        let fed = decoder.feed(chunk, &mut |item| {
            seen.push(item.into());
            ControlFlow::Continue(())
        });
        if let Err(TooLarge { limit, allowed }) = fed {
            assert_eq!(limit, "maxEventBytes");
            seen.push(Seen::TooLarge(allowed));
        }
    }
    seen
}

/// Asserts what a stream gives, however it is cut.
#[track_caller]
fn check_within(limits: Limits, stream: &[u8], expected: &[Seen]) {
    assert_eq!(decode(limits, [stream]), expected, "whole");
    assert_eq!(decode(limits, stream.chunks(1)), expected, "byte by byte");
    for cut in 0..=stream.len() {
        let (head, tail) = stream.split_at(cut);
        assert_eq!(decode(limits, [head, b"", tail]), expected, "cut at {cut}");
    }
}

#[track_caller]
fn check(stream: impl AsRef<[u8]>, expected: &[Seen]) {
    assert_eq!(properties::naive(stream.as_ref(), AMPLE.id_bytes), expected, "the naive decoder");
    check_within(AMPLE, stream.as_ref(), expected);
}

#[test]
fn a_priming_event_has_empty_data() {
    let answer = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
    check(
        format!("id: p0\nretry: 3000\ndata:\n\ndata: {answer}\n\n"),
        &[Seen::Retry(3000), with_id("p0", ""), after_id("p0", answer)],
    );
    check("data\n\n", &[data("")]);
    check("data\n\ndata\ndata\n\ndata:", &[data(""), data("\n")]);
}

#[test]
fn a_block_without_data_moves_only_the_id() {
    check("id: p0\n\n", &[Seen::Id("p0".to_owned())]);
    check("id: p0\nevent: e\n\ndata: x\n\n", &[Seen::Id("p0".to_owned()), after_id("p0", "x")]);
    check("event: e\n\n", &[]);
    check("\n\n\n", &[]);
}

#[test]
fn an_event_without_a_type_is_a_message() {
    check("data: x\n\n", &[data("x")]);
    check("event:\ndata: x\n\n", &[data("x")]);
    check("event\ndata: x\n\n", &[data("x")]);
}

#[test]
fn a_type_counts_for_its_block_only_and_the_last_of_a_block_wins() {
    check("event: error\ndata: x\n\ndata: y\n\n", &[event("error", "x"), data("y")]);
    check("event: a\nevent: b\ndata: x\n\n", &[event("b", "x")]);
    check("event: a\n\ndata: x\n\n", &[data("x")]);
}

#[test]
fn heartbeats_sent_as_data_are_events() {
    check(
        "data: {\"type\":\"heartbeat\"}\n\nevent: keepalive\ndata: {}\n\n",
        &[data("{\"type\":\"heartbeat\"}"), event("keepalive", "{}")],
    );
}

#[test]
fn lines_of_data_are_joined_by_line_feeds() {
    check(
        "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":7,\"result\":{}}\n\n",
        &[data("{\"jsonrpc\":\"2.0\",\n\"id\":7,\"result\":{}}")],
    );
    check("data:\ndata: a\ndata\n\n", &[data("\na\n")]);
}

#[test]
fn every_kind_of_line_end_works_and_they_mix() {
    check("data: A\r\ndata: B\r\n\n", &[data("A\nB")]);
    check("data: A\r\r\n\ndata: B\n\r", &[data("A"), data("B")]);
    check("data:x\r\rdata:y\r\r", &[data("x"), data("y")]);
    check("data: a\n\r\ndata: b\r\n\r\n", &[data("a"), data("b")]);
}

#[test]
fn a_blank_line_ended_by_cr_dispatches_without_the_next_byte() {
    assert_eq!(decode(AMPLE, [&b"data: x\r\r"[..]]), [data("x")]);
    assert_eq!(decode(AMPLE, [&b"data: x\r\n\r"[..]]), [data("x")]);
}

#[test]
fn one_space_after_the_colon_is_no_part_of_the_value() {
    check("data:  x \n\n", &[data(" x ")]);
    check("data:\tx\n\n", &[data("\tx")]);
    check("data: \n\n", &[data("")]);
    check("data::x\n\n", &[data(":x")]);
    check("event:ping\ndata: x\n\n", &[event("ping", "x")]);
}

#[test]
fn comments_and_unknown_fields_are_signs_of_life_and_nothing_else() {
    check(": hello\n:\ndata: x\n:\n\n", &[Seen::Comment, Seen::Comment, Seen::Comment, data("x")]);
    for line in
        ["dat: x", "datax: x", "Data: x", " data: x", "data : x", "i", "idd", "d", "e", "foo", "retry2: 1"]
    {
        check(format!("{line}\n"), &[Seen::Comment]);
        check(format!("{line}\ndata: y\n\n"), &[Seen::Comment, data("y")]);
    }
}

#[test]
fn retry_takes_ascii_digits_only() {
    for value in ["5s", "-1", "1e3", "", "5000abc", "+5", "1 000", " 7", "0x10", "\u{661}", "1\0"] {
        check(format!("retry: {value}\n\n"), &[Seen::Comment]);
    }
    check("retry:250\n", &[Seen::Retry(250)]);
    check("retry: 007\n", &[Seen::Retry(7)]);
    check("retry: 18446744073709551615\n", &[Seen::Retry(u64::MAX)]);
    check("retry: 18446744073709551616\n", &[Seen::Retry(u64::MAX)]);
    check("retry: 99999999999999999999\n", &[Seen::Retry(u64::MAX)]);
    check("retry\n", &[Seen::Comment]);
}

#[test]
fn an_id_stays_until_another_comes() {
    check(
        "id: k1\ndata: x\n\ndata: y\n\nid: k2\ndata: z\n\n",
        &[with_id("k1", "x"), after_id("k1", "y"), with_id("k2", "z")],
    );
    check("id: a\nid: b\ndata: x\n\n", &[with_id("b", "x")]);
}

#[test]
fn an_empty_id_clears() {
    check("id: k1\ndata: x\n\nid:\ndata: y\n\n", &[with_id("k1", "x"), with_id("", "y")]);
    check("id: k1\n\nid\n\ndata: y\n\n", &[Seen::Id("k1".to_owned()), Seen::Id(String::new()), data("y")]);
}

#[test]
fn an_id_line_with_nul_is_ignored_alone() {
    check("id: 12\nid: b\0d\ndata: h\n\n", &[Seen::Comment, with_id("12", "h")]);
    check("id: \0\ndata: h\n\n", &[Seen::Comment, data("h")]);
    check("data: a\0b\n\n", &[data("a\0b")]);
    check(format!("id: {}\0\n\n", "x".repeat(100)), &[Seen::Comment]);
}

#[test]
fn the_last_block_without_its_blank_line_is_discarded() {
    check("id: k1\ndata: x\n\nid: k2\ndata: y\n", &[with_id("k1", "x")]);
    check("data: y", &[]);
    check("id: k2\n", &[]);
    check("retry: 5", &[]);
}

#[test]
fn one_byte_order_mark_is_stripped_at_the_very_start() {
    check("\u{FEFF}data: x\n\n", &[data("x")]);
    check("\u{FEFF}\u{FEFF}data: x\n\n", &[Seen::Comment]);
    check("data: x\n\n\u{FEFF}data: y\n\n", &[data("x"), Seen::Comment]);
    check("\u{FEFF}\ndata: \u{FEFF}x\n\n", &[data("\u{FEFF}x")]);
    check("\u{FEFF}", &[]);
}

#[test]
fn a_broken_byte_order_mark_is_text() {
    check(b"\xEF\xBBdata: x\n\n", &[Seen::Comment]);
    check(b"\xEF\ndata: x\n\n", &[Seen::Comment, data("x")]);
    check(b"\xEF\xBB\r\rdata: x\r\r", &[Seen::Comment, data("x")]);
    check(b"\xEF\xBB", &[]);
}

#[test]
fn a_character_cut_by_a_chunk_is_whole_again() {
    check(
        "data: \u{1F30D}\u{20AC}\u{E9}\nid: \u{1F30D}\n\n",
        &[with_id("\u{1F30D}", "\u{1F30D}\u{20AC}\u{E9}")],
    );
    check("event: \u{1F30D}\ndata: x\n\n", &[event("\u{1F30D}", "x")]);
}

#[test]
fn invalid_utf8_becomes_replacement_characters() {
    check(b"data: {\"t\":\"\xFF\"}\n\n", &[data("{\"t\":\"\u{FFFD}\"}")]);
    check(b"data: \xF0\x9F\x8C\n\n", &[data("\u{FFFD}")]);
    check(b"data: \xF0\x9F\ndata: \x8C\x8D\n\n", &[data("\u{FFFD}\n\u{FFFD}\u{FFFD}")]);
    check(b"data: \xE0\x80\x80\xED\xA0\x80\xC0\xAF\n\n", &[data(&"\u{FFFD}".repeat(8))]);
    check(b"data\xFF: x\n\n", &[Seen::Comment]);
}

#[test]
fn an_id_over_its_limit_makes_the_stream_unresumable_and_nothing_else() {
    let long = "x".repeat(AMPLE.id_bytes + 1);
    let fitting = &long[1..];
    check(format!("id: {fitting}\ndata: a\n\n"), &[with_id(fitting, "a")]);
    check(
        format!("id: k\ndata: a\n\nid: {long}\ndata: b\n\ndata: c\n\nid: k2\n\n"),
        &[with_id("k", "a"), Seen::LongId, with_id("", "b"), data("c"), Seen::Id("k2".to_owned())],
    );
    check(format!("id: {long}\n\n"), &[Seen::LongId]);
    check(format!("id: {long}\nid: k\ndata: a\n\n"), &[with_id("k", "a")]);
    check(format!("id: k\nid: {long}\ndata: a\n\n"), &[Seen::LongId, with_id("", "a")]);
    check(format!("id: {long}\n"), &[]);
}

#[test]
fn a_line_over_its_limit_ends_the_decoder() {
    let limits = Limits { line_bytes: 10, event_bytes: 100, id_bytes: 100 };
    check_within(limits, b"data: 1234\n\n", &[data("1234")]);
    for line in ["data: 12345", "event: 1234", "id: 1234567", "retry: 1234"] {
        let stream = format!("data: a\n\n{line}\n\ndata: b\n\n");
        check_within(limits, stream.as_bytes(), &[data("a"), Seen::TooLarge(10)]);
        let unterminated = stream.strip_suffix("\n\ndata: b\n\n").unwrap();
        check_within(limits, unterminated.as_bytes(), &[data("a"), Seen::TooLarge(10)]);
        check_within(limits, &unterminated.as_bytes()[..unterminated.len() - 1], &[data("a")]);
    }
}

#[test]
fn a_line_that_is_no_field_has_no_limit() {
    let limits = Limits { line_bytes: 10, event_bytes: 100, id_bytes: 100 };
    for start in [":", "x", "datax: ", "dat", "\u{FEFF}\u{FEFF}data: "] {
        let stream = format!("{start}{}\ndata: a\n\n", "y".repeat(50));
        check_within(limits, stream.as_bytes(), &[Seen::Comment, data("a")]);
    }
}

#[test]
fn an_event_over_its_limit_ends_the_decoder() {
    let limits = Limits { line_bytes: 100, event_bytes: 5, id_bytes: 100 };
    check_within(limits, b"data: 12345\n\ndata: 12\ndata: 45\n\n", &[data("12345"), data("12\n45")]);
    check_within(limits, b"data: 12\ndata: 456\n\ndata: x\n\n", &[Seen::TooLarge(5)]);
    check_within(limits, b"data\ndata\ndata\ndata\ndata\ndata\n\n", &[data("\n\n\n\n\n")]);
    check_within(limits, b"data\ndata\ndata\ndata\ndata\ndata\ndata\n\n", &[Seen::TooLarge(5)]);
    check_within(limits, b"data: \xFF\xFF\n\n", &[Seen::TooLarge(5)]);
}

#[test]
fn an_endless_line_or_event_stops_at_its_limit() {
    let limits = Limits { line_bytes: 1 << 20, event_bytes: 1 << 20, id_bytes: 1024 };
    for (start, rest) in
        [("data: ", "x"), ("", "data: x\n"), ("id: ", "1"), ("retry: ", "1"), ("event: ", "e")]
    {
        let mut decoder = Decoder::new(limits);
        let mut feed = |bytes: &[u8]| decoder.feed(bytes, &mut |_| panic!("nothing is complete"));
        assert_eq!(feed(start.as_bytes()), Ok(()));
        let chunk = rest.repeat(1000);
        let fed = (0..).find_map(|count| feed(chunk.as_bytes()).err().map(|error| (count, error)));
        let (count, error) = fed.unwrap();
        assert_eq!(error.allowed, 1 << 20);
        assert!(count * chunk.len() <= 8 << 20, "{start}: stopped after {count} chunks");
        assert_eq!(feed(chunk.as_bytes()), Ok(()), "dead");
    }
}

#[test]
fn after_a_break_nothing_comes_any_more() {
    let mut decoder = Decoder::new(AMPLE);
    let mut seen = Vec::new();
    for chunk in [&b"data: a\n\nid: k\nretry: 5\ndata: b\n\ndata: c\n\n"[..], b"data: d\n\n"] {
        let fed = decoder.feed(chunk, &mut |item| {
            seen.push(Seen::from(item));
            if seen.len() == 2 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        assert_eq!(fed, Ok(()));
    }
    assert_eq!(seen, [data("a"), Seen::Retry(5)]);
}

#[test]
fn a_million_comments_pass_in_any_chunks() {
    let stream = b": keep-alive\n".repeat(1_000_000);
    for size in [7, 4096, stream.len()] {
        assert_eq!(decode(AMPLE, stream.chunks(size)).len(), 1_000_000);
    }
}

#[test]
fn a_large_event_in_small_chunks_costs_little_more_than_copying_it() {
    const SIZE: usize = 4 << 20;
    for (start, chunk) in
        [("data: ", "x".repeat(64)), ("", format!("data: {}\n", "x".repeat(57))), (":", "x".repeat(64))]
    {
        let chunks = || (0..SIZE / 64).map(|_| chunk.as_bytes());
        let copying = fastest(|| {
            let mut buffer = Vec::new();
            chunks().for_each(|bytes| buffer.extend_from_slice(bytes));
            assert!(buffer.clone().len() >= SIZE);
        });
        let decoding = fastest(|| {
            let limits = Limits { line_bytes: 8 << 20, event_bytes: 8 << 20, id_bytes: 64 };
            assert_eq!(
                decode(limits, [start.as_bytes()].into_iter().chain(chunks()).chain([&b"\n\n"[..]])).len(),
                1
            );
        });
        // Both meet the same allocator. What copies its buffer for each chunk takes ten thousand times as long.
        assert!(decoding < copying * 300, "{start}{chunk}: {decoding:?}, copying takes {copying:?}");
    }
}

#[allow(clippy::disallowed_methods, reason = "measures the machine, not the core")]
fn fastest(run: impl Fn()) -> Duration {
    let time = |_| {
        let begun = Instant::now();
        run();
        begun.elapsed()
    };
    (0..5).map(time).min().expect("five runs")
}
