//! Headers of a request: which are ours alone, and a text as the value of one (MCP 2026-07-28, *Streamable HTTP*).

use std::borrow::Cow;

use super::http::HeaderName;

const START: &str = "=?base64?";
const END: &str = "?=";
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Whether a header of this name, in lower case, is the transport's own, whatever a user gives.
pub fn is_reserved(name: &str) -> bool {
    matches!(name, "accept" | "content-type" | "last-event-id") || name.starts_with("mcp-")
}

/// The headers that repeat parameters: those that the caller gives, as far as they are any, else those that are declared.
/// Each is a name behind `Mcp-Param-` and a value; the caller may have encoded his.
pub(crate) fn param_headers(
    given: Vec<(String, String)>,
    declared: Vec<(String, String)>,
) -> Vec<(HeaderName, String)> {
    let line = |name: String, value: String| {
        is_token(&name).then(|| (Cow::from(format!("mcp-param-{}", name.to_ascii_lowercase())), value))
    };
    let encoded = |text: String| if is_marked(&text) { text } else { field_value(&text) };
    if given.is_empty() {
        return declared.into_iter().filter_map(|(name, text)| line(name, field_value(&text))).collect();
    }
    given.into_iter().filter_map(|(name, text)| line(name, encoded(text))).collect()
}

/// RFC 9110, 5.6.2.
fn is_token(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

fn is_marked(text: &str) -> bool {
    text.len() >= START.len() + END.len()
        && text.starts_with(START)
        && text.ends_with(END)
        && text.bytes().all(|byte| (0x20..=0x7E).contains(&byte))
}

/// The text as it is where it survives that, else in base64 between two marks.
pub(crate) fn field_value(text: &str) -> String {
    let is_plain = !text.is_empty()
        && text.bytes().all(|byte| byte == b'\t' || (0x20..=0x7E).contains(&byte))
        && text.trim().len() == text.len();
    if is_plain && !(text.starts_with(START) && text.ends_with(END)) {
        return text.to_string();
    }
    format!("{START}{}{END}", base64(text.as_bytes()))
}

fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits =
            chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = (bits >> (18 - 6 * place)) & 63;
            out.push(if place > chunk.len() { '=' } else { char::from(ALPHABET[letter as usize]) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_the_callers_where_he_gives_any_and_else_those_declared() {
        let pair = |name: &str, value: &str| (name.to_string(), value.to_string());
        let lines = |given: &[(String, String)], declared: &[(String, String)]| {
            let lines = param_headers(given.to_vec(), declared.to_vec());
            lines.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>()
        };
        let declared = [pair("Region", "日本"), pair("N", "=?base64?x?=")];
        let built = ["mcp-param-region: =?base64?5pel5pys?=", "mcp-param-n: =?base64?PT9iYXNlNjQ/eD89?="];
        assert_eq!(lines(&[], &declared), built);
        let given =
            [pair("Other", "=?base64?5pel?="), pair("Plain", "o"), pair("Odd", "日"), pair("no name", "x")];
        let kept =
            ["mcp-param-other: =?base64?5pel?=", "mcp-param-plain: o", "mcp-param-odd: =?base64?5pel?="];
        assert_eq!(lines(&given, &declared), kept);
    }

    #[test]
    fn what_the_transport_writes_itself_is_reserved() {
        for name in ["accept", "content-type", "last-event-id", "mcp-session-id", "mcp-param-x", "mcp-"] {
            assert!(is_reserved(name), "{name}");
        }
        for name in ["authorization", "x-mcp-a", "accept-language", "mcp", ""] {
            assert!(!is_reserved(name), "{name}");
        }
    }

    #[test]
    fn a_text_that_a_header_can_not_carry_goes_in_base64() {
        for (text, value) in [
            ("work", "work"),
            ("two words\there", "two words\there"),
            ("", "=?base64??="),
            (" a", "=?base64?IGE=?="),
            ("a\t", "=?base64?YQk=?="),
            ("abc\n", "=?base64?YWJjCg==?="),
            ("a\u{7f}", "=?base64?YX8=?="),
            ("é", "=?base64?w6k=?="),
            ("日本", "=?base64?5pel5pys?="),
            ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
            ("=?base64?x", "=?base64?x"),
        ] {
            assert_eq!(field_value(text), value, "{text:?}");
        }
    }
}
