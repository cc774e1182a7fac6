//! What is told of events, failures, counters and facts, as JSON text: serde's names, and a writer of our own. What is
//! `None` is left out by the types themselves.

use std::fmt;

use serde::ser::{self, Impossible, Serialize};

use super::jsonrpc::quote;
use super::number::push_number;

/// Writes values of one JSON text, one after the other.
#[derive(Debug, Default)]
pub struct Told {
    text: String,
    /// The fields of the next structure go into the one that is open.
    joins: bool,
}

/// Nothing that is told can fail, but what JSON has no place for.
#[derive(Debug)]
pub struct NotToldAtAll;

impl Told {
    /// The value as JSON text.
    pub fn of(value: &impl Serialize) -> String {
        let mut told = Self::default();
        told.value(value);
        told.text
    }

    /// Nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text; nothing is left.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.text.clear();
    }

    /// Opens an object or an array: a value of what is open.
    pub fn open(&mut self, bracket: char) {
        self.comma();
        self.text.push(bracket);
    }

    /// Closes it.
    pub fn close(&mut self, bracket: char) {
        self.text.push(bracket);
    }

    /// A field of the open object.
    pub fn field(&mut self, name: &str, value: &impl Serialize) {
        self.name(name);
        self.value(value);
    }

    /// All fields of a structure, as fields of the open object.
    pub fn join(&mut self, structure: &impl Serialize) {
        self.joins = true;
        self.value(structure);
        self.joins = false;
    }

    fn value(&mut self, value: &impl Serialize) {
        // What has no place in JSON is no part of what is told.
        let _ = value.serialize(&mut *self);
    }

    fn comma(&mut self) {
        if !matches!(self.text.as_bytes().last(), None | Some(b'{' | b'[' | b':')) {
            self.text.push(',');
        }
    }

    #[inline(never)]
    fn name(&mut self, name: &str) {
        self.comma();
        quote(name, &mut self.text);
        self.text.push(':');
    }

    #[inline(never)]
    fn string(&mut self, text: &str) {
        self.comma();
        quote(text, &mut self.text);
    }

    /// An infinite one is what `JSON.parse` makes of a number that is too large for it.
    #[inline(never)]
    fn number(&mut self, number: f64) {
        self.comma();
        if number.is_finite() {
            push_number(number, &mut self.text);
        } else {
            self.text.push_str(if number.is_nan() {
                "null"
            } else {
                ["-1e999", "1e999"][usize::from(number > 0.0)]
            });
        }
    }

    #[inline(never)]
    fn word(&mut self, word: &str) {
        self.comma();
        self.text.push_str(word);
    }

    /// Opens a structure: the bracket that closes it.
    fn structure(&mut self) -> &'static str {
        if std::mem::take(&mut self.joins) {
            return "";
        }
        self.open('{');
        "}"
    }
}

type Written = Result<(), NotToldAtAll>;
type Nothing = Impossible<(), NotToldAtAll>;

impl<'a> ser::Serializer for &'a mut Told {
    type Ok = ();
    type Error = NotToldAtAll;
    type SerializeSeq = Open<'a>;
    type SerializeTuple = Open<'a>;
    type SerializeTupleStruct = Nothing;
    type SerializeTupleVariant = Nothing;
    type SerializeMap = Open<'a>;
    type SerializeStruct = Open<'a>;
    type SerializeStructVariant = Nothing;

    fn serialize_bool(self, is: bool) -> Written {
        self.word(if is { "true" } else { "false" });
        Ok(())
    }

    fn serialize_i8(self, number: i8) -> Written {
        self.serialize_f64(number.into())
    }

    fn serialize_i16(self, number: i16) -> Written {
        self.serialize_f64(number.into())
    }

    fn serialize_i32(self, number: i32) -> Written {
        self.serialize_f64(number.into())
    }

    fn serialize_i64(self, number: i64) -> Written {
        self.serialize_f64(number as f64)
    }

    fn serialize_u8(self, number: u8) -> Written {
        self.serialize_f64(number.into())
    }

    fn serialize_u16(self, number: u16) -> Written {
        self.serialize_f64(number.into())
    }

    fn serialize_u32(self, number: u32) -> Written {
        self.serialize_f64(number.into())
    }

    fn serialize_u64(self, number: u64) -> Written {
        self.serialize_f64(number as f64)
    }

    fn serialize_f32(self, number: f32) -> Written {
        self.serialize_f64(number.into())
    }

    fn serialize_f64(self, number: f64) -> Written {
        self.number(number);
        Ok(())
    }

    fn serialize_char(self, c: char) -> Written {
        self.serialize_str(c.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Written {
        self.string(text);
        Ok(())
    }

    fn serialize_bytes(self, _: &[u8]) -> Written {
        Err(NotToldAtAll)
    }

    fn serialize_none(self) -> Written {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Written {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Written {
        self.word("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Written {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Written {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Written {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Written {
        Err(NotToldAtAll)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Open<'a>, NotToldAtAll> {
        self.open('[');
        Ok(Open { told: self, bracket: "]" })
    }

    fn serialize_tuple(self, len: usize) -> Result<Open<'a>, NotToldAtAll> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Nothing, NotToldAtAll> {
        Err(NotToldAtAll)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Nothing, NotToldAtAll> {
        Err(NotToldAtAll)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Open<'a>, NotToldAtAll> {
        self.open('{');
        Ok(Open { told: self, bracket: "}" })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Open<'a>, NotToldAtAll> {
        let bracket = self.structure();
        Ok(Open { told: self, bracket })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Nothing, NotToldAtAll> {
        Err(NotToldAtAll)
    }
}

/// An array, a map or a structure that is open.
#[derive(Debug)]
pub struct Open<'a> {
    told: &'a mut Told,
    bracket: &'static str,
}

impl Open<'_> {
    fn close(self) -> Written {
        self.told.text.push_str(self.bracket);
        Ok(())
    }
}

impl ser::SerializeSeq for Open<'_> {
    type Ok = ();
    type Error = NotToldAtAll;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        value.serialize(&mut *self.told)
    }

    fn end(self) -> Written {
        self.close()
    }
}

impl ser::SerializeTuple for Open<'_> {
    type Ok = ();
    type Error = NotToldAtAll;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        value.serialize(&mut *self.told)
    }

    fn end(self) -> Written {
        self.close()
    }
}

impl ser::SerializeMap for Open<'_> {
    type Ok = ();
    type Error = NotToldAtAll;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Written {
        key.serialize(&mut *self.told)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        self.told.text.push(':');
        value.serialize(&mut *self.told)
    }

    fn end(self) -> Written {
        self.close()
    }
}

impl ser::SerializeStruct for Open<'_> {
    type Ok = ();
    type Error = NotToldAtAll;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Written {
        self.told.name(name);
        value.serialize(&mut *self.told)
    }

    fn end(self) -> Written {
        self.close()
    }
}

impl fmt::Display for NotToldAtAll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON has no place for it")
    }
}

impl std::error::Error for NotToldAtAll {}

impl ser::Error for NotToldAtAll {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

// serde_json is no dependency of a test in wasm.
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use serde_json::{from_str, json, to_value, Value};

    use super::*;
    use crate::proto::error::Reason;
    use crate::proto::event::{Attempt, AttemptResult, Diagnostics, Event, Failure, Level, ReissueCause};
    use crate::proto::jsonrpc::Id;
    use crate::proto::{DropCause, Metrics, Outcome, SessionFacts};

    fn assert_told(value: &impl Serialize) {
        let told: Value = from_str(&Told::of(value)).expect("JSON");
        // The other way writes 1.0 where this one writes 1.
        let theirs = to_value(value).expect("serializes").to_string().replace(".0,", ",").replace(".0}", "}");
        assert_eq!(told, from_str::<Value>(&theirs).expect("JSON"));
    }

    fn failure() -> Failure {
        let attempt = Attempt {
            level: Level::L1,
            at: 1_790_000_000_123.0,
            wait_ms: 0.0,
            cursor: Some("\"\\\u{1}\u{1F600}".to_string()),
            result: AttemptResult::NetworkError,
            status: None,
            events: 0,
        };
        Failure {
            method: "tools/call".to_string(),
            tool: Some("a".to_string()),
            reason: Reason::StreamLost,
            outcome: Outcome::Unknown,
            retry_safe: false,
            text: "lost".to_string(),
            task_id: None,
            http_status: Some(502),
            body: Some(String::new()),
            diagnostics: Diagnostics { attempts: vec![attempt.clone(), attempt], ..Diagnostics::default() },
        }
    }

    #[test]
    fn what_is_told_is_what_serde_json_makes_of_it() {
        assert_told(&failure());
        assert_told(&Event::Queued);
        assert_told(&Event::Sent { wire_id: Id::Number("7".to_string()), reissue: true });
        assert_told(&Event::Reissued {
            why: ReissueCause::Drop(DropCause::Idle),
            wire_id: Id::String("é".to_string()),
        });
        assert_told(&SessionFacts { session_id: Some("s".to_string()), ..SessionFacts::default() });
        assert_told(&SessionFacts::default());
        let mut metrics = Metrics { calls: 3, ..Metrics::default() };
        metrics.histograms.call_ms.record(0.2);
        *metrics.failed.or_default(Reason::Gap) += 1;
        *metrics.failed.or_default(Reason::Closed) += 2;
        assert_told(&metrics);
    }

    #[test]
    fn a_structure_joins_the_fields_of_another() {
        let mut told = Told::default();
        told.open('[');
        for _ in 0..2 {
            told.open('{');
            told.field("out", &"settle");
            told.join(&failure());
            told.field("at", &1.5);
            told.close('}');
        }
        told.close(']');
        let mut one = to_value(failure()).expect("serializes");
        one["out"] = json!("settle");
        one["at"] = json!(1.5);
        one["diagnostics"] = from_str(&Told::of(&failure().diagnostics)).expect("JSON");
        assert_eq!(from_str::<Value>(&told.take()).expect("JSON"), json!([one.clone(), one]));
        assert!(told.is_empty());
    }

    #[test]
    fn what_is_infinite_is_read_as_that() {
        assert_eq!(Told::of(&[f64::INFINITY, f64::NEG_INFINITY, f64::NAN]), "[1e999,-1e999,null]");
    }
}
