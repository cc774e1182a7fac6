//! The scanner: no text makes it panic, and it accepts what serde_json accepts.

use landfall::proto::jsonrpc::{elements, field, quote, scan, string, Id, Message, Payload};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// Any text.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let scanned = scan(&text);
    // `IgnoredAny` takes exactly the grammar: any depth, any number, lone surrogates too.
    let accepted = serde_json::from_str::<IgnoredAny>(&text).is_ok();
    assert_eq!(scanned.is_ok(), accepted, "{scanned:?}");
    parts_never_panic(&text);
    round_trip(&text);
    match scanned {
        Ok(payload) => check_valid(&text, &payload),
        Err(malformed) => assert!(malformed.at <= text.len()),
    }
}

/// A long text.
pub fn check_long(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let _ = scan(&text);
    let mut quoted = String::new();
    quote(&text, &mut quoted);
    assert_eq!(string(&quoted).map(|decoded| decoded.len()), Some(text.len()));
    let _ = (field(&text, &["params", "progressToken"]), elements(&text));
}

fn parts_never_panic(text: &str) {
    for path in [&[][..], &["id"], &["params", "progressToken"], &["result", "tools"], &["error", "code"]] {
        if let Some(value) = field(text, path) {
            assert!(scan(value).is_ok(), "a value is valid whatever is around it");
        }
    }
    for element in elements(text) {
        assert!(scan(element).is_ok());
    }
    let _ = string(text);
}

fn round_trip(text: &str) {
    let mut quoted = String::new();
    quote(text, &mut quoted);
    assert_eq!(string(&quoted).as_deref(), Some(text));
    assert_eq!(serde_json::from_str::<String>(&quoted).ok().as_deref(), Some(text));
    if let Ok(expected) = serde_json::from_str::<String>(text.trim_matches([' ', '\n', '\r', '\t'])) {
        assert_eq!(string(text.trim_matches([' ', '\n', '\r', '\t'])).as_deref(), Some(expected.as_str()));
    }
}

fn check_valid(text: &str, payload: &Payload) {
    assert_eq!(field(text, &[]), serde_json::from_str::<&RawValue>(text).ok().map(RawValue::get));
    match payload {
        Payload::One(message) => check_message(text, message),
        Payload::Many(messages) => {
            assert!(messages.len() <= elements(text).len());
            for (range, message) in messages {
                let element = &text[range.clone()];
                match (message, scan(element)) {
                    (Some(message), Ok(Payload::One(alone))) => assert_eq!(*message, alone),
                    (None, Ok(Payload::Other | Payload::Many(_))) => {}
                    other => panic!("an element is what it is alone: {other:?}"),
                }
            }
        }
        Payload::Other => {}
    }
}

fn check_message(text: &str, message: &Message) {
    let (Message::Request { id, .. } | Message::Result { id } | Message::Error { id, .. }) = message else {
        return;
    };
    let raw = field(text, &["id"]);
    match id {
        Id::Null => assert!(matches!(raw, None | Some("null"))),
        Id::Number(number) => assert_eq!(raw, Some(number.as_str())),
        Id::String(decoded) => assert_eq!(raw.and_then(string).as_deref(), Some(decoded.as_str())),
    }
}
