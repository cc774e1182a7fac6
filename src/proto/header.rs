//! A text as the value of a header (MCP 2026-07-28, *Streamable HTTP*).

const START: &str = "=?base64?";
const END: &str = "?=";
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text as it is where it survives that, else in base64 between two marks.
pub(crate) fn field_value(text: &str) -> String {
    let is_marked = text.starts_with(START) && text.ends_with(END);
    let is_plain = !text.is_empty()
        && text.bytes().all(|byte| byte == b'\t' || (0x20..=0x7E).contains(&byte))
        && text.trim().len() == text.len();
    if is_plain && !is_marked {
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
