//! The envelope scanner and the JSON scanner under it, on known texts. `properties` compares them with serde_json.

use landfall::proto::jsonrpc::{field, quote, scan, string, Id, Malformed, Message, Payload};
use serde_json::value::RawValue;
use std::borrow::Cow;

mod properties;

fn number(raw: &str) -> Id {
    Id::Number(raw.to_owned())
}

fn text(text: &str) -> Id {
    Id::String(text.to_owned())
}

fn request(id: Id, method: &str) -> Message {
    Message::Request { id, method: method.to_owned() }
}

fn notification(method: &str, token: Option<Id>) -> Message {
    Message::Notification { method: method.to_owned(), token }
}

#[track_caller]
fn is(json: &str, message: Message) {
    assert_eq!(scan(json), Ok(Payload::One(message)), "{json}");
}

#[track_caller]
fn is_other(json: &str) {
    assert_eq!(scan(json), Ok(Payload::Other), "{json}");
}

#[track_caller]
fn is_malformed(json: &str, at: usize) {
    assert_eq!(scan(json), Err(Malformed { at }), "{json}");
}

#[test]
fn a_method_with_an_id_is_a_request() {
    is(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#, request(number("7"), "ping"));
    is(r#" {"method":"a\n\u0062","id":"x\ty","jsonrpc":"2.0","params":[]} "#, request(text("x\ty"), "a\nb"));
    is(r#"{"jsonrpc":"2.0","id":-1.50E+2,"method":""}"#, request(number("-1.50E+2"), ""));
    is_other(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#);
}

#[test]
fn a_method_without_an_id_is_a_notification_with_its_progress_token() {
    let with = |params: &str| format!(r#"{{"jsonrpc":"2.0","method":"n","params":{params}}}"#);
    is(r#"{"jsonrpc":"2.0","method":"n"}"#, notification("n", None));
    is(&with(r#"{"progressToken":"t","progress":1}"#), notification("n", Some(text("t"))));
    is(&with(r#"{"progress":1,"progressToken":5}"#), notification("n", Some(number("5"))));
    is(&with(r#"{"\u0070rogressToken":1,"progressToken":2}"#), notification("n", Some(number("2"))));
    for params in
        [r#"{"progressToken":null}"#, r#"{"progressToken":{}}"#, r#"{"a":{"progressToken":1}}"#, "[1]", "3"]
    {
        is(&with(params), notification("n", None));
    }
    is(
        r#"{"jsonrpc":"2.0","method":"n","params":{"progressToken":1},"params":{"a":{"progressToken":2}}}"#,
        notification("n", None),
    );
}

#[test]
fn a_result_is_a_response() {
    is(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, Message::Result { id: number("7") });
    is(r#"{"jsonrpc":"2.0","id":"a","result":null}"#, Message::Result { id: text("a") });
    is(r#"{"jsonrpc":"2.0","id":null,"result":0}"#, Message::Result { id: Id::Null });
    is_other(r#"{"jsonrpc":"2.0","result":0}"#);
}

#[test]
fn an_error_may_have_a_null_id_or_none() {
    let error = |id: Id, code| Message::Error { id, code };
    is(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"x"}}"#, error(Id::Null, Some(-32603)));
    is(r#"{"jsonrpc":"2.0","error":{"code":-0}}"#, error(Id::Null, Some(0)));
    is(r#"{"jsonrpc":"2.0","id":"7","error":{"message":"x","data":{"code":1}}}"#, error(text("7"), None));
    for code in ["1.5", "\"1\"", "null", "{}", "1e2", "9223372036854775808"] {
        is(&format!(r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":{code}}}}}"#), error(number("7"), None));
    }
    is(r#"{"jsonrpc":"2.0","id":7,"error":{"code":1},"error":{}}"#, error(number("7"), None));
    is_other(r#"{"jsonrpc":"2.0","id":7,"error":null}"#);
    is_other(r#"{"jsonrpc":"2.0","id":7,"error":"x"}"#);
}

#[test]
fn what_contradicts_itself_is_no_message() {
    is_other(r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1}}"#);
    is_other(r#"{"jsonrpc":"2.0","id":7,"result":{},"error":null}"#);
    is_other(r#"{"jsonrpc":"2.0","id":7,"method":"m","result":{}}"#);
    is_other(r#"{"jsonrpc":"2.0","id":7,"method":"m","error":{}}"#);
    is_other(r#"{"jsonrpc":"2.0","id":7}"#);
    is_other(r#"{"jsonrpc":"2.0","method":5}"#);
    for id in ["true", "{}", "[7]"] {
        is_other(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        is_other(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{}}}}"#));
    }
}

#[test]
fn the_version_must_be_the_string() {
    is(r#"{"jsonrpc":"\u0032.0","id":7,"result":1}"#, Message::Result { id: number("7") });
    for version in ["2.0", "\"1.0\"", "\"2.0 \"", "\"\"", "null", "[\"2.0\"]"] {
        is_other(&format!(r#"{{"jsonrpc":{version},"id":7,"result":1}}"#));
    }
    is_other(r#"{"id":7,"result":1}"#);
}

#[test]
fn valid_json_of_another_kind_is_other() {
    for json in
        [r#"{"type":"heartbeat"}"#, "{}", "null", " true\n", "1", "\"\"", r#"{"a":{"jsonrpc":"2.0"}}"#]
    {
        is_other(json);
    }
}

#[test]
fn of_equal_keys_the_last_counts() {
    is(r#"{"jsonrpc":"1","id":1,"result":1,"id":2,"jsonrpc":"2.0"}"#, Message::Result { id: number("2") });
    is(r#"{"jsonrpc":"2.0","id":1,"method":"a","\u0069\u0064":"2"}"#, request(text("2"), "a"));
    is_other(r#"{"jsonrpc":"2.0","id":1,"result":1,"jsonrpc":"1"}"#);
    assert_eq!(field(r#"{"a":{"b":1},"\u0061":{"b":2,"b":3}}"#, &["a", "b"]), Some("3"));
    assert_eq!(field(r#"{"a":{"b":1},"a":{}}"#, &["a", "b"]), None);
}

#[test]
fn names_of_prototypes_are_plain_keys() {
    let json = r#"{"__proto__":{"id":1},"constructor":2,"jsonrpc":"2.0","id":7,"result":{"toString":3}}"#;
    is(json, Message::Result { id: number("7") });
    assert_eq!(field(json, &["__proto__", "id"]), Some("1"));
    assert_eq!(field(json, &["result", "toString"]), Some("3"));
}

#[test]
fn an_array_gives_each_element_its_place() {
    let json = r#" [ {"jsonrpc":"2.0","id":7,"result":[]} ,[{"jsonrpc":"2.0","id":8,"result":0}],3, {} ] "#;
    let Ok(Payload::Many(elements)) = scan(json) else { panic!("an array") };
    let texts: Vec<_> = elements.iter().map(|(range, _)| &json[range.clone()]).collect();
    let nested = r#"[{"jsonrpc":"2.0","id":8,"result":0}]"#;
    assert_eq!(texts, [r#"{"jsonrpc":"2.0","id":7,"result":[]}"#, nested, "3", "{}"]);
    let messages: Vec<_> = elements.into_iter().map(|(_, message)| message).collect();
    assert_eq!(messages, [Some(Message::Result { id: number("7") }), None, None, None]);
    assert_eq!(scan(" [ ] "), Ok(Payload::Many(Vec::new())));
}

#[test]
fn an_array_of_strangers_takes_no_room_for_each() {
    let json = format!(r#"[{}{{"jsonrpc":"2.0","id":7,"result":0}}]"#, "0,".repeat(100_000));
    let Ok(Payload::Many(elements)) = scan(&json) else { panic!("an array") };
    assert_eq!(elements.len(), 1001);
    assert_eq!(elements[1000].1, Some(Message::Result { id: number("7") }));
}

#[test]
fn malformed_text_is_refused_at_its_first_wrong_byte() {
    for (json, at) in [
        ("", 0),
        (" ", 1),
        ("{", 1),
        ("[", 1),
        ("[1", 2),
        ("[1,", 3),
        ("[1,]", 3),
        ("[,", 1),
        ("{,", 1),
        ("{\"a\"", 4),
        ("{\"a\":", 5),
        ("{\"a\":}", 5),
        ("{\"a\":1,}", 7),
        ("{a:1}", 1),
        ("{1:1}", 1),
        ("{\"a\" 1}", 5),
        ("]", 0),
        ("[}", 1),
        ("[1}", 2),
        ("{\"a\":1]", 6),
        ("[1 2]", 3),
        ("1 2", 2),
        ("{}{}", 2),
        ("[]x", 2),
        ("nul", 3),
        ("trux", 3),
        ("nulll", 4),
        ("True", 0),
        ("NaN", 0),
        ("Infinity", 0),
        ("undefined", 0),
        ("01", 1),
        ("-", 1),
        ("-a", 1),
        ("+1", 0),
        (".5", 0),
        ("1.", 2),
        ("1.e", 2),
        ("1e", 2),
        ("1e+", 3),
        ("0x1", 1),
        ("1_0", 1),
        ("--1", 1),
        ("\"", 1),
        ("\"a", 2),
        ("'a'", 0),
        ("\"\n\"", 1),
        ("\"\0\"", 1),
        ("\"\u{1f}\"", 1),
        ("\"\\x\"", 2),
        ("\"\\", 2),
        ("\"\\u12", 5),
        ("\"\\u12g4\"", 5),
        ("\"\\u+123\"", 3),
        ("/**/1", 0),
        ("\u{FEFF}1", 0),
        ("\u{A0}1", 0),
        ("1\u{2028}", 1),
        ("\u{c}1", 0),
        ("[1]\0", 3),
    ] {
        is_malformed(json, at);
    }
}

#[test]
fn what_json_parse_accepts_is_accepted() {
    for json in [
        "-0",
        "0.0e-0",
        "1E400",
        "-1e-999",
        "123456789012345678901234567890",
        "\"\u{7f}\u{2028}\u{10FFFF}\"",
        r#""\ud800""#,
        r#""\udc00\ud800""#,
        r#""\/\b\f\n\r\t\"\\\u0000""#,
        "\t\r\n [ ] ",
        r#"{"":{"":""}}"#,
        r#"{"\ud800":1}"#,
    ] {
        assert!(scan(json).is_ok(), "{json}");
        assert!(serde_json::from_str::<&RawValue>(json).is_ok(), "{json}");
        assert_eq!(field(json, &[]), Some(json.trim()));
    }
}

#[test]
fn a_twin_is_the_other_type_with_the_same_text() {
    assert!(number("7").twin(&text("7")));
    assert!(text("7").twin(&number("7")));
    assert!(!number("7").twin(&number("7")));
    assert!(!text("7").twin(&text("7")));
    assert!(!number("7.0").twin(&text("7")));
    assert!(!Id::Null.twin(&text("null")));
}

#[test]
fn strings_are_decoded_as_javascript_does() {
    for (raw, decoded) in [
        (r#""""#, ""),
        (r#""a""#, "a"),
        (r#""\u00e9\/\b\f\n\r\t\"\\""#, "\u{e9}/\u{8}\u{c}\n\r\t\"\\"),
        (r#""\uD83C\udf0D!""#, "\u{1F30D}!"),
        (r#""\ud800""#, "\u{FFFD}"),
        (r#""\udc00x""#, "\u{FFFD}x"),
        (r#""\ud800\u0041""#, "\u{FFFD}A"),
        (r#""\ud800\ud83c\udf0d""#, "\u{FFFD}\u{1F30D}"),
        (r#""\ud800\n""#, "\u{FFFD}\n"),
        (r#""\udc00\ud800""#, "\u{FFFD}\u{FFFD}"),
        (r#""\u0000""#, "\0"),
        (r#""\uffff""#, "\u{FFFF}"),
    ] {
        assert_eq!(string(raw).as_deref(), Some(decoded), "{raw}");
    }
    for raw in [
        "",
        "\"",
        "a",
        "\"a",
        "a\"",
        "\"a\" ",
        " \"a\"",
        "\"a\"b\"",
        r#""\""#,
        r#""\x""#,
        "1",
        "\"\n\"",
        r#""\u12""#,
    ] {
        assert_eq!(string(raw), None, "{raw}");
    }
    assert!(matches!(string("\"plain\""), Some(Cow::Borrowed("plain"))));
}

#[test]
fn quote_escapes_no_more_than_it_must() {
    let mut out = String::from("x=");
    quote("a\"b\\c/\u{7f}\u{2028}\u{1F30D}\n\r\t\0\u{1f}\u{b}", &mut out);
    assert_eq!(out, "x=\"a\\\"b\\\\c/\u{7f}\u{2028}\u{1F30D}\\n\\r\\t\\u0000\\u001f\\u000b\"");
}

#[test]
fn a_million_open_brackets_fit_a_stack_of_64_kib() {
    const DEEP: usize = 1_000_000;
    let on_small_stack = || {
        let array = "[".repeat(DEEP) + &"]".repeat(DEEP);
        let object = r#"{"a":"#.repeat(DEEP) + "1" + &"}".repeat(DEEP);
        let both = r#"[{"a":"#.repeat(DEEP) + "1" + &"}]".repeat(DEEP);
        for deep in [&array, &object, &both] {
            let json = format!(r#"{{"jsonrpc":"2.0","id":7,"params":{deep},"error":{{"data":{deep}}}}}"#);
            is(&json, Message::Error { id: number("7"), code: None });
            assert_eq!(field(&json, &["error", "data"]), Some(&deep[..]));
            assert!(scan(deep).is_ok());
            let half = &deep[..deep.len() / 2];
            is_malformed(half, half.len());
            assert_eq!(field(half, &["a"]), None);
        }
        is_malformed(&"[".repeat(DEEP), DEEP);
        is_malformed(&("[".repeat(DEEP) + "}"), DEEP);
    };
    std::thread::Builder::new().stack_size(64 * 1024).spawn(on_small_stack).unwrap().join().unwrap();
}

#[test]
fn every_closing_bracket_must_fit_its_own() {
    for depth in 1..=200 {
        let is_object = |level: usize| (level * level + depth) % 3 == 0;
        let opening: String = (0..depth).map(|level| if is_object(level) { "{\"\":" } else { "[" }).collect();
        let closing: String =
            (0..depth).rev().map(|level| if is_object(level) { '}' } else { ']' }).collect();
        let json = opening + "0" + &closing;
        assert!(scan(&json).is_ok(), "{json}");
        let first = json.len() - depth;
        for at in first..json.len() {
            let wrong = if &json[at..=at] == "}" { "]" } else { "}" };
            is_malformed(&format!("{}{wrong}{}", &json[..at], &json[at + 1..]), at);
        }
    }
}
