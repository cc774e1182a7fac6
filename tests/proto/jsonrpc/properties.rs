//! The scanner against serde_json, on generated texts and on damaged ones.
//!
//! serde_json's `RawValue` accepts exactly the grammar. Its `Value` refuses lone surrogates, numbers out of range
//! and more than 128 levels, so where values are compared the texts have none of these.

use super::{notification, request};
use landfall::proto::jsonrpc::{field, quote, scan, string, Id, Malformed, Message, Payload};
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::Value;

/// The kind of a message by plain rules, from the whole value.
fn naive(value: &Value) -> Option<Message> {
    let object = value.as_object()?;
    let id_of = |value: &Value| match value {
        Value::Null => Some(Id::Null),
        Value::Number(number) => Some(Id::Number(number.to_string())),
        Value::String(text) => Some(Id::String(text.clone())),
        _ => None,
    };
    if object.get("jsonrpc")? != "2.0" {
        return None;
    }
    let id = object.get("id").map(id_of);
    if id == Some(None) {
        return None;
    }
    let id = id.flatten();
    match (object.get("method"), object.get("result"), object.get("error")) {
        (Some(Value::String(method)), None, None) if id.is_none() => {
            let token =
                value.pointer("/params/progressToken").and_then(id_of).filter(|token| *token != Id::Null);
            Some(notification(method, token))
        }
        (Some(Value::String(method)), None, None) if id != Some(Id::Null) => Some(request(id?, method)),
        (None, Some(_), None) => Some(Message::Result { id: id? }),
        (None, None, Some(Value::Object(error))) => Some(Message::Error {
            id: id.unwrap_or(Id::Null),
            code: error.get("code").and_then(Value::as_i64),
        }),
        _ => None,
    }
}

/// Numbers as serde_json writes them: it doesn't keep how they were written.
fn normal(message: Message) -> Message {
    let id_of = |id| match id {
        Id::Number(raw) => Id::Number(serde_json::from_str::<serde_json::Number>(&raw).unwrap().to_string()),
        other => other,
    };
    match message {
        Message::Request { id, method } => Message::Request { id: id_of(id), method },
        Message::Notification { method, token } => Message::Notification { method, token: token.map(id_of) },
        Message::Result { id } => Message::Result { id: id_of(id) },
        Message::Error { id, code } => Message::Error { id: id_of(id), code },
    }
}

fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![4 => Just(""), 1 => prop::sample::select(vec![" ", "\n", "\r\n", "\t ", "  "])]
}

/// A string literal, with as many of its characters escaped as chance wants.
fn literal(text: String) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::bool::weighted(0.1), text.chars().count()).prop_map(move |escaped| {
        let mut out = String::from('"');
        for (character, escape) in text.chars().zip(escaped) {
            if escape || character < ' ' || character == '"' || character == '\\' {
                let mut units = [0; 2];
                character.encode_utf16(&mut units).iter().for_each(|unit| out += &format!("\\u{unit:04x}"));
            } else {
                out.push(character);
            }
        }
        out + "\""
    })
}

fn any_literal() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => any::<String>().prop_flat_map(literal),
        1 => "([a-z\u{e9}\u{1F30D}]|\\\\[\"\\\\/bfnrt]){0,12}".prop_map(|inner| format!("\"{inner}\"")),
    ]
}

fn key() -> impl Strategy<Value = String> {
    const KNOWN: [&str; 10] =
        ["jsonrpc", "id", "method", "params", "result", "error", "code", "progressToken", "__proto__", ""];
    prop_oneof![8 => prop::sample::select(&KNOWN[..]).prop_map(str::to_owned), 1 => any::<String>()]
        .prop_flat_map(literal)
}

/// In the range of a double; without `-0`, which serde_json takes for no integer.
fn number_text() -> impl Strategy<Value = String> {
    "-?[1-9][0-9]{0,20}(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,2})?|0(\\.[0-9]+)?|-?[1-9]"
}

fn json() -> BoxedStrategy<String> {
    let word = prop::sample::select(&["null", "true", "false", "\"2.0\""][..]).prop_map(str::to_owned);
    let leaf = prop_oneof![2 => word, 1 => number_text(), 1 => any_literal()];
    leaf.prop_recursive(5, 40, 6, |inner| {
        let element = (space(), inner.clone(), space())
            .prop_map(|(before, value, after)| format!("{before}{value}{after}"));
        prop_oneof![
            (prop::collection::vec(element, 0..6), space())
                .prop_map(|(elements, space)| bracket("[]", &elements, space)),
            object(prop::collection::vec((key(), inner), 0..6)),
        ]
    })
    .boxed()
}

fn bracket(brackets: &str, elements: &[String], space: &str) -> String {
    let inner = if elements.is_empty() { space.to_owned() } else { elements.join(",") };
    format!("{}{inner}{}", &brackets[..1], &brackets[1..])
}

fn object(members: impl Strategy<Value = Vec<(String, String)>>) -> impl Strategy<Value = String> {
    (members, prop::collection::vec(space(), 4)).prop_map(|(members, spaces)| {
        let member = |(key, value): &(String, String)| {
            format!("{}{key}{}:{}{value}{}", spaces[0], spaces[1], spaces[2], spaces[3])
        };
        bracket("{}", &members.iter().map(member).collect::<Vec<_>>(), spaces[0])
    })
}

/// An object that is a JSON-RPC message more often than not.
fn envelope() -> impl Strategy<Value = String> {
    let member = |name: &'static str, likely: BoxedStrategy<String>| {
        let value = prop_oneof![6 => likely, 1 => json()];
        (literal(name.to_owned()), value)
    };
    let id = || prop_oneof![number_text(), any_literal(), Just("null".to_owned())].boxed();
    let version = prop_oneof![3 => Just("\"2.0\"".to_owned()), 1 => literal("2.0".to_owned())].boxed();
    let params = object(prop::collection::vec((literal("progressToken".to_owned()), id()), 0..3)).boxed();
    let error = object(prop::collection::vec((key(), prop_oneof![number_text(), json()]), 0..5)).boxed();
    let body = prop_oneof![
        6 => member("method", any_literal().boxed()), 6 => member("id", id()), 4 => member("params", params),
        2 => member("result", json()), 3 => member("error", error), 1 => member("jsonrpc", version.clone()),
        1 => (key(), json()),
    ];
    let members =
        (member("jsonrpc", version), prop::collection::vec(body, 0..5), any::<prop::sample::Index>());
    object(members.prop_map(|(version, mut members, place)| {
        members.insert(place.index(members.len() + 1), version);
        members
    }))
}

fn document() -> impl Strategy<Value = String> {
    let batch = prop::collection::vec(prop_oneof![envelope().boxed(), json()], 0..4);
    let batch = (batch, space()).prop_map(|(elements, space)| bracket("[]", &elements, space));
    (space(), prop_oneof![1 => json(), 4 => envelope(), 1 => batch], space())
        .prop_map(|(before, value, after)| format!("{before}{value}{after}"))
}

/// A document with a few characters put in, taken out or replaced.
fn damaged() -> impl Strategy<Value = String> {
    let alphabet: Vec<char> =
        "\"\"\\\\{}[]:,,0123456789.-+eEtrufalsn/ \t\n\r\0\u{1}\u{1f}\u{7f}\u{a0}\u{feff}\u{e9}"
            .chars()
            .collect();
    let change =
        (any::<prop::sample::Index>(), prop::option::of(prop::sample::select(alphabet)), any::<bool>());
    (document(), prop::collection::vec(change, 1..4)).prop_map(|(document, changes)| {
        let mut characters: Vec<char> = document.chars().collect();
        for (place, put, take) in changes {
            let at = place.index(characters.len() + 1);
            characters.splice(at..(at + usize::from(take)).min(characters.len()), put);
        }
        characters.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn a_generated_document_is_what_serde_json_makes_of_it(json in document()) {
        let value: Value = serde_json::from_str(&json).unwrap();
        match scan(&json).unwrap() {
            Payload::One(message) => prop_assert_eq!(Some(normal(message)), naive(&value)),
            Payload::Other => prop_assert!(!value.is_array() && naive(&value).is_none()),
            Payload::Many(elements) => {
                prop_assert_eq!(elements.len(), value.as_array().unwrap().len());
                for (index, (range, message)) in elements.into_iter().enumerate() {
                    prop_assert_eq!(&serde_json::from_str::<Value>(&json[range]).unwrap(), &value[index]);
                    prop_assert_eq!(message.map(normal), naive(&value[index]));
                }
            }
        }
    }

    #[test]
    fn a_damaged_document_is_refused_where_serde_json_refuses(json in damaged()) {
        prop_assert_eq!(scan(&json).is_ok(), serde_json::from_str::<&RawValue>(&json).is_ok());
    }

    #[test]
    fn the_offset_is_the_first_byte_that_no_document_can_have(json in damaged()) {
        let Err(Malformed { at }) = scan(&json) else { return Ok(()) };
        let (before, wrong) = json.split_at(at);
        if let Err(broken_off) = scan(before) {
            prop_assert_eq!(broken_off.at, at);
        }
        if let Some(character) = wrong.chars().next() {
            prop_assert_eq!(scan(&json[..at + character.len_utf8()]), Err(Malformed { at }));
        }
    }

    #[test]
    fn a_field_is_what_serde_json_finds(
        json in document(), path in prop::collection::vec(key().prop_map(|key| string(&key).unwrap().into_owned()), 0..4),
    ) {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let value: Value = serde_json::from_str(&json).unwrap();
        let expected = path.iter().try_fold(&value, |value, key| value.get(key));
        let found = field(&json, &path);
        let found_value = found.map(|raw| serde_json::from_str::<Value>(raw).unwrap());
        prop_assert_eq!(found_value.as_ref(), expected);
        prop_assert_eq!(found.map(str::trim), found);
    }

    #[test]
    fn nothing_panics_on_any_text(json in prop_oneof![damaged(), any::<String>()], path in prop::collection::vec(key(), 0..3)) {
        let path: Vec<_> = path.iter().map(|key| string(key).unwrap()).collect();
        let _ = field(&json, &path.iter().map(|key| &**key).collect::<Vec<_>>());
        prop_assert_eq!(scan(&json).is_ok(), serde_json::from_str::<&RawValue>(&json).is_ok());
        prop_assert_eq!(string(&json).is_some(), json.starts_with('"') && json.ends_with('"') && scan(&json).is_ok());
    }

    #[test]
    fn a_quoted_text_is_read_back_by_both(text in any::<String>()) {
        let mut quoted = String::new();
        quote(&text, &mut quoted);
        prop_assert_eq!(&string(&quoted).unwrap(), &text);
        prop_assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), text);
    }

    #[test]
    fn a_literal_is_decoded_as_by_serde_json(raw in any_literal()) {
        prop_assert_eq!(string(&raw).unwrap().into_owned(), serde_json::from_str::<String>(&raw).unwrap());
    }
}
