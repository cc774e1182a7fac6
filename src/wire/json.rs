//! A JSON scanner that builds nothing: it proves a text to be what `JSON.parse` accepts (RFC 8259) and finds the
//! places of values in it.
//!
//! It is iterative, because the module's stack is 64 KiB: open brackets cost one bit each on the heap.

use super::bytes::find;
use super::sorted::SortedSet;
use std::borrow::Cow;
use std::fmt;
use std::mem::take;

/// What ends a run of plain characters in a string, besides the control characters.
const MARKS: [u8; 2] = [b'"', b'\\'];

/// The text is not exactly one JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed {
    /// The offset of the first byte that no JSON text with the same start can have here; the length where the text
    /// breaks off.
    pub at: usize,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no JSON at byte {}", self.at)
    }
}

impl std::error::Error for Malformed {}

/// Finds the raw text of the value at a path of object keys; the empty path is the whole value, without the white
/// space around it. Keys are compared decoded, and of equal keys the last one counts, as in `JSON.parse`.
///
/// The text should be known to be valid. In any other the answer is `None` or the value of the part that is valid.
pub fn field<'a>(text: &'a str, path: &[&str]) -> Option<&'a str> {
    let mut value = None;
    for key in path {
        value = Some(Scanner::new(value.unwrap_or(text)).member_value(key).ok()??);
    }
    value.or_else(|| Scanner::new(text).value().ok())
}

/// The text with another value in the place of the one that [`field`] finds; the same text where it finds none.
pub fn with_field(text: &str, path: &[&str], value: &str) -> String {
    let Some(found) = field(text, path) else { return text.to_string() };
    // `found` is a part of `text`.
    let start = found.as_ptr() as usize - text.as_ptr() as usize;
    [&text[..start], value, &text[start + found.len()..]].concat()
}

/// The text of an object with more members behind its own; of two of one name the last counts. Any other text is given
/// back as it is, and so is one where there are no more.
pub fn with_members(object: &str, more: &str) -> String {
    match inside(object) {
        Some(own) if own.is_empty() || more.is_empty() => format!("{{{own}{more}}}"),
        Some(own) => format!("{{{own},{more}}}"),
        None => object.to_string(),
    }
}

/// What stands between the braces of an object.
pub fn inside(object: &str) -> Option<&str> {
    Some(object.trim().strip_prefix('{')?.strip_suffix('}')?.trim())
}

/// The members of an object, keys decoded, values raw; of equal keys the last one counts. `None` where `text` is no object,
/// or one with more than so many.
pub fn entries(text: &str, most: usize) -> Option<Vec<(String, &str)>> {
    let mut scanner = Scanner::new(text);
    let mut found = Vec::new();
    let mut first = true;
    while let Some(key) = scanner.member(&mut first).ok()? {
        found.push((key.into_owned(), scanner.value().ok()?));
        if found.len() > most {
            return None;
        }
    }
    let mut seen = SortedSet::default();
    found.reverse();
    found.retain(|(key, _)| seen.insert(key.clone()));
    found.reverse();
    Some(found)
}

/// The raw texts of an array's elements; empty where `text` is no array, or from the first element on that is no JSON.
pub fn elements(text: &str) -> Vec<&str> {
    let mut scanner = Scanner::new(text);
    let mut found = Vec::new();
    let mut first = true;
    while let Ok(true) = scanner.element(&mut first) {
        let Ok(value) = scanner.value() else { break };
        found.push(value);
    }
    found
}

/// Decodes a JSON string literal, quotes included. A surrogate without its pair becomes U+FFFD. `None` if `raw` is
/// anything else than one literal.
pub fn string(raw: &str) -> Option<Cow<'_, str>> {
    let mut scanner = Scanner::new(raw);
    let literal = scanner.string().ok()?;
    (scanner.at == raw.len()).then(|| literal.decode())
}

/// Appends `text` as a JSON string literal.
pub fn quote(text: &str, out: &mut String) {
    out.push('"');
    let mut start = 0;
    loop {
        let end = find(text.as_bytes(), start, MARKS, b' ');
        out.push_str(&text[start..end]);
        let Some(&byte) = text.as_bytes().get(end) else { break };
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => {
                out.push_str("\\u00");
                out.extend(
                    [control >> 4, control & 15].map(|half| char::from(b"0123456789abcdef"[half as usize])),
                );
            }
        }
        start = end + 1;
    }
    out.push('"');
}

/// Reads one JSON text from left to right.
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    open: Brackets,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0, open: Brackets::default() }
    }

    /// The offset of the next byte.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The next byte.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes over white space.
    #[inline(always)]
    pub(crate) fn space(&mut self) {
        // Most writers put none.
        if self.peek().is_some_and(|byte| byte <= b' ') {
            self.spaces();
        }
    }

    #[inline(never)]
    fn spaces(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Makes sure that only white space is left.
    pub(crate) fn end(&mut self) -> Result<(), Malformed> {
        self.space();
        if self.at == self.text.len() {
            Ok(())
        } else {
            self.fail()
        }
    }

    /// Goes over one value of any kind and the white space before it; gives its raw text.
    pub(crate) fn value(&mut self) -> Result<&'a str, Malformed> {
        self.space();
        let start = self.at;
        // Most values are neither objects nor arrays.
        match self.peek() {
            Some(b'"') => _ = self.string()?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => return self.any_value(start),
        }
        Ok(&self.text[start..self.at])
    }

    fn any_value(&mut self, start: usize) -> Result<&'a str, Malformed> {
        loop {
            self.space();
            let opened = match self.peek() {
                Some(b'"') => self.string().map(|_| false)?,
                Some(b'{') => self.open_object()?,
                Some(b'[') => self.open_array(),
                Some(b'-' | b'0'..=b'9') => self.number().map(|()| false)?,
                Some(b't') => self.word(b"true").map(|()| false)?,
                Some(b'f') => self.word(b"false").map(|()| false)?,
                Some(b'n') => self.word(b"null").map(|()| false)?,
                _ => return self.fail(),
            };
            if !opened && !self.after_value()? {
                return Ok(&self.text[start..self.at]);
            }
        }
    }

    /// Steps through the object that begins here: its next key, decoded, with the value as the next thing to read;
    /// `None` behind its end. `first` is true for the first call of each object.
    pub(crate) fn member(&mut self, first: &mut bool) -> Result<Option<Cow<'a, str>>, Malformed> {
        if !self.step(take(first), b"{}")? {
            return Ok(None);
        }
        self.key().map(|literal| Some(literal.decode()))
    }

    /// Steps through the array that begins here: whether an element is next to be read.
    pub(crate) fn element(&mut self, first: &mut bool) -> Result<bool, Malformed> {
        self.step(take(first), b"[]")
    }

    /// Goes over the object that begins here; gives the raw value of the last member with this key.
    pub(crate) fn member_value(&mut self, key: &str) -> Result<Option<&'a str>, Malformed> {
        let mut found = None;
        let mut first = true;
        while let Some(name) = self.member(&mut first)? {
            let value = self.value()?;
            if name == key {
                found = Some(value);
            }
        }
        Ok(found)
    }

    fn fail<T>(&self) -> Result<T, Malformed> {
        Err(Malformed { at: self.at })
    }

    fn step(&mut self, first: bool, brackets: &[u8; 2]) -> Result<bool, Malformed> {
        self.space();
        if first {
            if self.peek() != Some(brackets[0]) {
                return self.fail();
            }
            self.at += 1;
            self.space();
        }
        match self.peek() {
            Some(byte) if byte == brackets[1] => self.at += 1,
            Some(b',') if !first => {
                self.at += 1;
                self.space();
                return Ok(true);
            }
            _ if first => return Ok(true),
            _ => return self.fail(),
        }
        Ok(false)
    }

    /// After a value inside [`Self::value`]: closes what ends here; whether another value follows.
    fn after_value(&mut self) -> Result<bool, Malformed> {
        while let Some(bracket) = self.open.last() {
            self.space();
            match (self.peek(), bracket) {
                (Some(b','), Bracket::Array) => {
                    self.at += 1;
                    return Ok(true);
                }
                (Some(b','), Bracket::Object) => {
                    self.at += 1;
                    self.key()?;
                    return Ok(true);
                }
                (Some(b']'), Bracket::Array) | (Some(b'}'), Bracket::Object) => {
                    self.at += 1;
                    self.open.pop();
                }
                _ => return self.fail(),
            }
        }
        Ok(false)
    }

    /// Whether a value of the object is next; false if it is empty and behind us.
    fn open_object(&mut self) -> Result<bool, Malformed> {
        self.at += 1;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(false);
        }
        self.open.push(Bracket::Object);
        self.key()?;
        Ok(true)
    }

    fn open_array(&mut self) -> bool {
        self.at += 1;
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return false;
        }
        self.open.push(Bracket::Array);
        true
    }

    /// A key and its colon, with the white space around; gives the key.
    fn key(&mut self) -> Result<Literal<'a>, Malformed> {
        self.space();
        let literal = self.string()?;
        self.space();
        self.expect(b':')?;
        self.space();
        Ok(literal)
    }

    fn expect(&mut self, byte: u8) -> Result<(), Malformed> {
        if self.peek() != Some(byte) {
            return self.fail();
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Result<Literal<'a>, Malformed> {
        self.expect(b'"')?;
        let start = self.at;
        let mut escaped = false;
        loop {
            self.at = find(self.text.as_bytes(), self.at, MARKS, b' ');
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                _ => return self.fail(),
            }
            escaped = true;
        }
        self.at += 1;
        Ok(Literal { inner: &self.text[start..self.at - 1], escaped })
    }

    fn escape(&mut self) -> Result<(), Malformed> {
        self.at += 1;
        let digits = match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 0,
            Some(b'u') => 4,
            _ => return self.fail(),
        };
        self.at += 1;
        for _ in 0..digits {
            if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                return self.fail();
            }
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), Malformed> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Malformed> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start {
            self.fail()
        } else {
            Ok(())
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Malformed> {
        word.iter().try_for_each(|&byte| self.expect(byte))
    }
}

/// A scanned string literal.
struct Literal<'a> {
    /// What is between the quotes.
    inner: &'a str,
    escaped: bool,
}

impl<'a> Literal<'a> {
    fn decode(self) -> Cow<'a, str> {
        if self.escaped {
            Cow::Owned(unescape(self.inner))
        } else {
            Cow::Borrowed(self.inner)
        }
    }
}

fn unescape(literal: &str) -> String {
    let mut out = String::with_capacity(literal.len());
    let mut start = 0;
    loop {
        let end = find(literal.as_bytes(), start, [b'\\'], 0);
        out.push_str(&literal[start..end]);
        let Some(&code) = literal.as_bytes().get(end + 1) else { return out };
        start = end + 2;
        match code {
            b'b' => out.push('\u{8}'),
            b'f' => out.push('\u{c}'),
            b'n' => out.push('\n'),
            b'r' => out.push('\r'),
            b't' => out.push('\t'),
            b'u' => {
                let (character, length) = utf16_escape(&literal[start..]);
                out.push(character);
                start += length;
            }
            itself => out.push(char::from(itself)),
        }
    }
}

/// The character of the hex digits after `\u`, with the escape after them where the two are a surrogate pair; and
/// how many bytes that took.
fn utf16_escape(rest: &str) -> (char, usize) {
    let unit = |at: usize| rest.get(at..at + 4).and_then(|hex| u16::from_str_radix(hex, 16).ok());
    let first = unit(0).unwrap_or(0xFFFD);
    let second = rest.get(4..6).filter(|&next| next == "\\u").and_then(|_| unit(6));
    let mut decoded = char::decode_utf16([first].into_iter().chain(second));
    match decoded.next() {
        Some(Ok(character)) => (character, if character.len_utf16() == 2 { 10 } else { 4 }),
        _ => (char::REPLACEMENT_CHARACTER, 4),
    }
}

#[derive(Clone, Copy)]
enum Bracket {
    Array = 0,
    Object = 1,
}

/// The open brackets, one bit each; the innermost 64 in a word of their own, so that usual texts allocate nothing.
#[derive(Default)]
struct Brackets {
    depth: usize,
    word: u64,
    outer: Vec<u64>,
}

impl Brackets {
    fn push(&mut self, bracket: Bracket) {
        if self.depth > 0 && self.depth % 64 == 0 {
            self.outer.push(self.word);
        }
        self.word = (self.word << 1) | bracket as u64;
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.word >>= 1;
        self.depth -= 1;
        if self.depth > 0 && self.depth % 64 == 0 {
            self.word = self.outer.pop().unwrap_or_default();
        }
    }

    fn last(&self) -> Option<Bracket> {
        let innermost = if self.word & 1 == 1 { Bracket::Object } else { Bracket::Array };
        (self.depth > 0).then_some(innermost)
    }
}
