//! Bytes to events: the `text/event-stream` format of the WHATWG HTML standard, sections 9.2.5 and 9.2.6.
//!
//! Lines are split as bytes and decoded one by one: an invalid UTF-8 sequence never reaches over CR or LF, so this
//! gives what a streaming UTF-8 decoder gives, and a character cut by a chunk's end is whole again in its line.
//!
//! The cost is linear under any chunking: a byte is searched once, copied at most twice, and not at all where it
//! belongs to a line that is no field of ours, or where one line in one chunk is all of an event's data.

use super::bytes::find;
use std::fmt;
use std::mem::take;
use std::ops::ControlFlow;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// So many bytes tell whether a line can be one of our fields: the longest name and its colon.
const TELLTALE: usize = "event:".len();

/// A buffer that grew beyond this for one event is given back after it.
const KEEP: usize = 64 * 1024;

/// The sizes beyond which a stream is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest line that carries a field, its name included and its line end not (never below 6, the shortest
    /// length that tells a field). Other lines are skipped as they come, hold no memory and have no limit.
    pub line_bytes: usize,
    /// The longest data of one event, decoded, with the line feeds that join its lines.
    pub event_bytes: usize,
    /// The longest event id, decoded.
    pub id_bytes: usize,
}

/// What the decoder found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// A block with data: an event to dispatch.
    Event {
        /// The `event` field, `"message"` where it is absent or empty.
        kind: &'a str,
        /// The data lines, joined by line feeds. Empty for a lone `data:`.
        data: &'a str,
        /// The last event ID after this block: its own, else that of an earlier block of this stream, else `""`.
        id: &'a str,
        /// Whether this block had a valid `id` line. Where it had none, nothing moved.
        own_id: bool,
    },
    /// A block without data whose `id` line moved the last event ID; `""` clears it.
    Id(&'a str),
    /// The reconnection time in milliseconds, saturated; given when its line is read.
    Retry(u64),
    /// A comment, or a line without effect: an unknown field or an invalid value. A sign of life only.
    Comment,
    /// The block's id is longer than [`Limits::id_bytes`], so the stream can't be resumed any more. Comes before the
    /// block's `Event` (whose `id` is `""`), or instead of its `Id`.
    LongId,
}

/// A line or an event beyond its limit. The decoder is dead after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge {
    /// The option that sets the limit.
    pub limit: &'static str,
    /// The size that was allowed, in bytes.
    pub allowed: usize,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an event is larger than {} ({} bytes)", self.limit, self.allowed)
    }
}

impl std::error::Error for TooLarge {}

/// Decodes one response body; the next body needs a new one.
#[derive(Debug)]
pub struct Decoder {
    limits: Limits,
    /// Bytes of the byte order mark seen so far; its length once that is decided.
    bom: usize,
    /// The last line ended with CR: an LF that comes next belongs to it.
    after_cr: bool,
    /// The line being read is no field of ours.
    skip: bool,
    /// The start of a line whose end has not come yet.
    line: Vec<u8>,
    data: String,
    has_data: bool,
    kind: String,
    id: String,
    own_id: bool,
    long_id: bool,
    dead: bool,
}

/// Why a feed ended early.
enum Stop {
    Break,
    TooLarge(usize),
}

#[derive(Clone, Copy)]
enum Field {
    Data,
    Event,
    Id,
    Retry,
}

const FIELDS: [&[u8]; 4] = [b"data", b"event", b"id", b"retry"];

type Sink<'s> = &'s mut dyn FnMut(Item<'_>) -> ControlFlow<()>;

impl Decoder {
    /// A decoder at the start of a body. The last event ID starts as `""`: a resumed stream's cursor is the caller's,
    /// and stays until a block with an id of its own.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits: Limits { line_bytes: limits.line_bytes.max(TELLTALE), ..limits },
            bom: 0,
            after_cr: false,
            skip: false,
            line: Vec::new(),
            data: String::new(),
            has_data: false,
            kind: String::new(),
            id: String::new(),
            own_id: false,
            long_id: false,
            dead: false,
        }
    }

    /// Bytes of what is not whole yet.
    pub fn held(&self) -> usize {
        self.line.len() + self.data.len()
    }

    /// Reads the next bytes of the body and gives `sink` everything they complete, in order. The sequence of items
    /// does not depend on how the body is cut. There is no call for the body's end: what no blank line ended is
    /// discarded with the decoder.
    ///
    /// After the sink's `Break` the rest of the bytes is dropped and later feeds do nothing; the same after an error.
    ///
    /// # Errors
    /// [`TooLarge`] once for a line or an event beyond its limit; the items before it have been given.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        sink: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> Result<(), TooLarge> {
        if self.dead {
            return Ok(());
        }
        let bytes = self.strip_bom(bytes);
        let Err(stop) = self.lines(bytes, sink) else { return Ok(()) };
        *self = Self { dead: true, ..Self::new(self.limits) };
        match stop {
            Stop::Break => Ok(()),
            Stop::TooLarge(allowed) => Err(TooLarge { limit: "maxEventBytes", allowed }),
        }
    }

    fn strip_bom<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let mut rest = bytes;
        while let (Some(&wanted), Some(&byte)) = (BOM.get(self.bom), rest.first()) {
            if byte != wanted {
                // A mark broken off is text, but of no field of ours.
                self.skip = self.bom > 0;
                self.bom = BOM.len();
                break;
            }
            self.bom += 1;
            rest = &rest[1..];
        }
        rest
    }

    fn lines(&mut self, bytes: &[u8], sink: Sink<'_>) -> Result<(), Stop> {
        let mut rest = bytes;
        let mut whole = None;
        while let Some(&first) = rest.first() {
            if take(&mut self.after_cr) && first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = find(rest, 0, [b'\n', b'\r'], 0);
            let Some(&terminator) = rest.get(end) else {
                self.copy(whole);
                return self.keep(rest);
            };
            self.after_cr = terminator == b'\r';
            self.end_line(&rest[..end], &mut whole, sink)?;
            rest = &rest[end + 1..];
        }
        self.copy(whole);
        Ok(())
    }

    /// The first line of an event's data was left in its chunk, and is not all of it.
    fn copy(&mut self, whole: Option<&str>) {
        if let Some(text) = whole {
            self.has_data = true;
            self.data.push_str(text);
        }
    }

    /// Buffers the part of a line that a chunk ended in, if the line can be a field.
    fn keep(&mut self, part: &[u8]) -> Result<(), Stop> {
        let mut part = part;
        if !self.skip && self.line.len() < TELLTALE {
            let (head, tail) = part.split_at(part.len().min(TELLTALE - self.line.len()));
            self.line.extend_from_slice(head);
            part = tail;
            self.skip = !may_be_field(&self.line);
        }
        if self.skip {
            self.line.clear();
            return Ok(());
        }
        if self.line.len() + part.len() > self.limits.line_bytes {
            return Err(Stop::TooLarge(self.limits.line_bytes));
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn end_line<'b>(
        &mut self,
        part: &'b [u8],
        whole: &mut Option<&'b str>,
        sink: Sink<'_>,
    ) -> Result<(), Stop> {
        if self.line.is_empty() && !self.skip {
            return self.line(part, whole, sink);
        }
        self.copy(whole.take());
        self.keep(part)?;
        if take(&mut self.skip) {
            return give(sink, Item::Comment);
        }
        let mut line = take(&mut self.line);
        let mut own = None;
        self.line(&line, &mut own, sink)?;
        self.copy(own);
        line.clear();
        line.shrink_to(KEEP);
        self.line = line;
        Ok(())
    }

    /// `whole` is the one line of data that came of the event, where that was left in its chunk.
    fn line<'b>(&mut self, line: &'b [u8], whole: &mut Option<&'b str>, sink: Sink<'_>) -> Result<(), Stop> {
        if line.is_empty() {
            return self.dispatch(whole.take(), sink);
        }
        let Some((field, value)) = split(line) else { return give(sink, Item::Comment) };
        if line.len() > self.limits.line_bytes {
            return Err(Stop::TooLarge(self.limits.line_bytes));
        }
        match field {
            Field::Data => self.add_data(value, whole),
            Field::Event => {
                self.kind.clear();
                push_lossy(&mut self.kind, value);
                Ok(())
            }
            Field::Id if find(value, 0, [0], 0) < value.len() => give(sink, Item::Comment),
            Field::Id => {
                self.set_id(value);
                Ok(())
            }
            Field::Retry => give(sink, milliseconds(value).map_or(Item::Comment, Item::Retry)),
        }
    }

    fn add_data<'b>(&mut self, value: &'b [u8], whole: &mut Option<&'b str>) -> Result<(), Stop> {
        if !self.has_data && whole.is_none() && value.len() <= self.limits.event_bytes {
            *whole = std::str::from_utf8(value).ok();
            if whole.is_some() {
                return Ok(());
            }
        }
        self.copy(whole.take());
        if self.has_data {
            self.data.push('\n');
        }
        self.has_data = true;
        push_lossy(&mut self.data, value);
        if self.data.len() > self.limits.event_bytes {
            return Err(Stop::TooLarge(self.limits.event_bytes));
        }
        Ok(())
    }

    fn set_id(&mut self, value: &[u8]) {
        self.id.clear();
        push_lossy(&mut self.id, value);
        self.own_id = true;
        self.long_id = self.id.len() > self.limits.id_bytes;
        if self.long_id {
            self.id = String::new();
        }
    }

    fn dispatch(&mut self, whole: Option<&str>, sink: Sink<'_>) -> Result<(), Stop> {
        let own_id = take(&mut self.own_id);
        let long_id = take(&mut self.long_id);
        if long_id {
            give(sink, Item::LongId)?;
        }
        let id = &self.id;
        if take(&mut self.has_data) || whole.is_some() {
            let kind = if self.kind.is_empty() { "message" } else { &self.kind };
            give(sink, Item::Event { kind, data: whole.unwrap_or(&self.data), id, own_id })?;
            self.data.clear();
            self.data.shrink_to(KEEP);
        } else if own_id && !long_id {
            give(sink, Item::Id(id))?;
        }
        self.kind.clear();
        self.kind.shrink_to(KEEP);
        Ok(())
    }
}

fn give(sink: Sink<'_>, item: Item<'_>) -> Result<(), Stop> {
    match sink(item) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Stop::Break),
    }
}

/// Whether a line that starts so may turn out to be a field of ours.
fn may_be_field(start: &[u8]) -> bool {
    FIELDS.iter().any(|name| match start.get(name.len()) {
        Some(&next) => next == b':' && start.starts_with(name),
        None => name.starts_with(start),
    })
}

/// A whole line's field and value, if the field is one of ours. Without a colon the value is empty; one space after
/// the colon is not part of it.
fn split(line: &[u8]) -> Option<(Field, &[u8])> {
    let (field, rest) = match line {
        [b'd', b'a', b't', b'a', rest @ ..] => (Field::Data, rest),
        [b'i', b'd', rest @ ..] => (Field::Id, rest),
        [b'e', b'v', b'e', b'n', b't', rest @ ..] => (Field::Event, rest),
        [b'r', b'e', b't', b'r', b'y', rest @ ..] => (Field::Retry, rest),
        _ => return None,
    };
    match rest {
        [] => Some((field, &[])),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some((field, value)),
        _ => None,
    }
}

fn milliseconds(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits
        .iter()
        .fold(0_u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
    Some(value)
}

fn push_lossy(out: &mut String, bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return out.push_str(text);
    }
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }
}
