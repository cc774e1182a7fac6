//! The envelope of a JSON-RPC message, found without building the message: what kind it is, its id, its method and
//! its progress token. Parsing the rest is JavaScript's, which can rely on the proof that it will succeed.

use super::json::Scanner;
pub use super::json::{elements, entries, field, inside, quote, string, with_field, with_members, Malformed};
use super::number::number;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::ops::Range;

/// An array has room for so many elements that are no message. Beyond it they are left out, so that `[0,0,...]` does
/// not take many times its own size.
const MAX_STRANGERS: usize = 1000;

/// Doubles hold every integer below this.
const MOST_EXACT: f64 = 9_007_199_254_740_992.0;

/// A request's id, or a progress token.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    /// `null`, or no id at all on an error response.
    Null,
    /// A number, as it was written.
    Number(String),
    /// A string, decoded.
    String(String),
}

impl Id {
    /// Whether one is a number and the other the string of the same text: what a peer makes of an id that gets its
    /// type wrong.
    pub fn twin(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(number), Self::String(string)) | (Self::String(string), Self::Number(number)) => {
                number == string
            }
            _ => false,
        }
    }

    /// The same id as everybody writes it: some servers give the number 1 back as `1.0` or `1e0`.
    pub fn plain(&self) -> Self {
        self.exact().unwrap_or_else(|| self.clone())
    }

    /// The same id as JavaScript writes it, unless it is a number that would not be the same any more, or a fraction.
    pub fn exact(&self) -> Option<Self> {
        let Self::Number(raw) = self else { return Some(self.clone()) };
        let number = number(raw)?;
        let is_exact = number.fract() == 0.0 && number.abs() < MOST_EXACT;
        is_exact.then(|| Self::Number((number as i64).to_string()))
    }

    /// It as JSON text.
    pub fn text(&self) -> String {
        match self {
            Self::Null => "null".to_string(),
            Self::Number(raw) => raw.clone(),
            Self::String(text) => {
                let mut quoted = String::new();
                quote(text, &mut quoted);
                quoted
            }
        }
    }

    /// The id that this JSON text is: `None` where it is neither a string, a number nor null.
    pub fn read(raw: &str) -> Option<Self> {
        match raw.as_bytes().first()? {
            b'n' => Some(Self::Null),
            b'"' => string(raw).map(|text| Self::String(text.into_owned())),
            b'-' | b'0'..=b'9' => Some(Self::Number(raw.to_owned())),
            _ => None,
        }
    }
}

/// One JSON-RPC 2.0 message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// A method with an id that is a string or a number.
    Request {
        /// Its id, never null.
        id: Id,
        /// The method's name.
        method: String,
    },
    /// A method without an id.
    Notification {
        /// The method's name.
        method: String,
        /// `params.progressToken`, if that is a string or a number.
        token: Option<Id>,
    },
    /// A response with a result.
    Result {
        /// The id it answers; null where the sender wrote null.
        id: Id,
    },
    /// A response with an error object.
    Error {
        /// The id it answers; null where the sender wrote null or none.
        id: Id,
        /// `error.code`, if that is an integer.
        code: Option<i64>,
    },
}

/// What a text holds: messages of its own, or [`Heard`] ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload<M = Message> {
    /// One message.
    One(M),
    /// An array: the place of each element in the text, and its message, `None` where it is no JSON-RPC message. An
    /// array within the array is none. After a thousand such elements more of them are left out.
    Many(Vec<(Range<usize>, Option<M>)>),
    /// Valid JSON, but no JSON-RPC message: a heartbeat, say; or a contradictory one, like a result with an error.
    Other,
}

/// An id as it stands in a text: JSON that is a string, a number or null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdText<'a>(&'a str);

impl<'a> IdText<'a> {
    fn new(raw: &'a str) -> Option<Self> {
        matches!(raw.as_bytes().first()?, b'n' | b'"' | b'-' | b'0'..=b'9').then_some(Self(raw))
    }

    /// The id.
    pub fn id(self) -> Id {
        Id::read(self.0).unwrap_or(Id::Null)
    }

    /// As it was written.
    pub fn text(self) -> &'a str {
        self.0
    }
}

/// One JSON-RPC 2.0 message where it stands: see [`Message`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard<'a> {
    /// A method with an id that is a string or a number.
    Request {
        /// Its id, never null.
        id: IdText<'a>,
        /// The method's name.
        method: Cow<'a, str>,
    },
    /// A method without an id.
    Notification {
        /// The method's name.
        method: Cow<'a, str>,
        /// `params.progressToken`, if that is a string or a number.
        token: Option<IdText<'a>>,
        /// `params.progress`, as it was written, whatever it is.
        progress: Option<&'a str>,
    },
    /// A response with a result.
    Result {
        /// The id it answers; null where the sender wrote null.
        id: IdText<'a>,
    },
    /// A response with an error object.
    Error {
        /// The id it answers; null where the sender wrote null or none.
        id: IdText<'a>,
        /// `error.code`, if that is an integer.
        code: Option<i64>,
    },
}

impl From<Heard<'_>> for Message {
    fn from(heard: Heard<'_>) -> Self {
        match heard {
            Heard::Request { id, method } => Self::Request { id: id.id(), method: method.into_owned() },
            Heard::Notification { method, token, progress: _ } => {
                Self::Notification { method: method.into_owned(), token: token.map(IdText::id) }
            }
            Heard::Result { id } => Self::Result { id: id.id() },
            Heard::Error { id, code } => Self::Error { id: id.id(), code },
        }
    }
}

/// A number that no `f64` holds exactly is told as its text.
impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::String(text) => serializer.serialize_str(text),
            Self::Number(raw) => match raw.parse::<i64>() {
                Ok(number) if number.unsigned_abs() < 1 << 53 => serializer.serialize_f64(number as f64),
                _ => serializer.serialize_str(raw),
            },
        }
    }
}

type Elements<'a> = Vec<(Range<usize>, Option<Heard<'a>>)>;

/// Reads the envelope of a text and proves that the text is exactly one complete JSON value, as `JSON.parse` accepts
/// it. Of equal keys the last one counts, on every level.
///
/// # Errors
/// [`Malformed`] if the text is anything else.
pub fn scan(text: &str) -> Result<Payload, Malformed> {
    Ok(match hear(text)? {
        Payload::One(heard) => Payload::One(heard.into()),
        Payload::Many(all) => {
            Payload::Many(all.into_iter().map(|(range, heard)| (range, heard.map(Message::from))).collect())
        }
        Payload::Other => Payload::Other,
    })
}

/// The same, with all that is read left in its place.
///
/// # Errors
/// As [`scan`].
pub fn hear(text: &str) -> Result<Payload<Heard<'_>>, Malformed> {
    let mut scanner = Scanner::new(text);
    scanner.space();
    let payload = match scanner.peek() {
        Some(b'{') => message(&mut scanner)?.map_or(Payload::Other, Payload::One),
        Some(b'[') => Payload::Many(messages(&mut scanner)?),
        _ => {
            scanner.value()?;
            Payload::Other
        }
    };
    scanner.end()?;
    Ok(payload)
}

fn messages<'a>(scanner: &mut Scanner<'a>) -> Result<Elements<'a>, Malformed> {
    let mut found = Vec::new();
    let mut strangers = 0;
    let mut first = true;
    while scanner.element(&mut first)? {
        let start = scanner.at();
        let message = match scanner.peek() {
            Some(b'{') => message(scanner)?,
            _ => scanner.value().map(|_| None)?,
        };
        strangers += usize::from(message.is_none());
        if message.is_some() || strangers <= MAX_STRANGERS {
            found.push((start..scanner.at(), message));
        }
    }
    Ok(found)
}

/// The raw values of an object's members that matter here.
#[derive(Default)]
struct Envelope<'a> {
    version: Option<&'a str>,
    id: Option<&'a str>,
    method: Option<&'a str>,
    params: Params<'a>,
    result: Option<&'a str>,
    error: Option<ErrorMember<'a>>,
}

#[derive(Default)]
struct Params<'a> {
    token: Option<&'a str>,
    progress: Option<&'a str>,
}

struct ErrorMember<'a> {
    is_object: bool,
    code: Option<&'a str>,
}

fn message<'a>(scanner: &mut Scanner<'a>) -> Result<Option<Heard<'a>>, Malformed> {
    let mut envelope = Envelope::default();
    let mut first = true;
    while let Some(key) = scanner.member(&mut first)? {
        match &*key {
            "jsonrpc" => envelope.version = Some(scanner.value()?),
            "id" => envelope.id = Some(scanner.value()?),
            "method" => envelope.method = Some(scanner.value()?),
            "params" => envelope.params = params(scanner)?,
            "result" => envelope.result = Some(scanner.value()?),
            "error" => {
                let is_object = scanner.peek() == Some(b'{');
                let code =
                    if is_object { scanner.member_value("code")? } else { scanner.value().map(|_| None)? };
                envelope.error = Some(ErrorMember { is_object, code });
            }
            _ => {
                scanner.value()?;
            }
        }
    }
    Ok(envelope.read())
}

/// Goes over the value of `params`; what matters of it, if it is an object.
fn params<'a>(scanner: &mut Scanner<'a>) -> Result<Params<'a>, Malformed> {
    let mut found = Params::default();
    if scanner.peek() != Some(b'{') {
        scanner.value()?;
        return Ok(found);
    }
    let mut first = true;
    while let Some(key) = scanner.member(&mut first)? {
        let value = scanner.value()?;
        match &*key {
            "progressToken" => found.token = Some(value),
            "progress" => found.progress = Some(value),
            _ => {}
        }
    }
    Ok(found)
}

impl<'a> Envelope<'a> {
    fn read(self) -> Option<Heard<'a>> {
        if self.version? != "\"2.0\"" && string(self.version?)? != "2.0" {
            return None;
        }
        let id = match self.id {
            Some(raw) => Some(IdText::new(raw)?),
            None => None,
        };
        match (self.method, self.result, self.error) {
            (Some(method), None, None) => {
                let method = string(method)?;
                match id {
                    None => {
                        let Params { token, progress } = self.params;
                        // Null is none.
                        let token = token.and_then(IdText::new).filter(|token| *token != NULL);
                        Some(Heard::Notification { method, token, progress })
                    }
                    // JSON-RPC discourages it, MCP forbids it, and nobody could be answered.
                    Some(NULL) => None,
                    Some(id) => Some(Heard::Request { id, method }),
                }
            }
            (None, Some(_), None) => id.map(|id| Heard::Result { id }),
            (None, None, Some(error)) if error.is_object => {
                let code = error.code.and_then(|raw| raw.parse().ok());
                Some(Heard::Error { id: id.unwrap_or(NULL), code })
            }
            _ => None,
        }
    }
}

const NULL: IdText<'_> = IdText("null");
