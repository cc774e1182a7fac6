//! Numbers and their texts. The standard library's way, right to the last digit of any number, is 20 KB of the module.

/// Digits beyond these only count.
const MOST_DIGITS: u64 = 100_000_000_000_000_000;
/// From here on a number is written with an exponent; below it all whole numbers are written as they are.
const LARGE: f64 = 1e18;
/// As many decimals are written at most.
const DECIMALS: usize = 6;
const PART: f64 = 1e6;

/// The number that this JSON text is: exact with up to 15 digits and an exponent up to 22, else near it. `None` where the
/// text is no number.
pub fn number(raw: &str) -> Option<f64> {
    let (sign, text) = raw.strip_prefix('-').map_or((1.0, raw), |text| (-1.0, text));
    let (mut digits, mut exponent) = (0, 0_i32);
    // Zeros at the end of the decimals are nothing, and would make an exact number a long one.
    let mut zeros = 0_u32;
    let (mut has_digits, mut has_point) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'0' if has_point => zeros = zeros.saturating_add(1),
            b'0'..=b'9' => {
                has_digits = true;
                for digit in std::iter::repeat_n(0, zeros as usize).chain([byte - b'0']) {
                    let has_room = digits < MOST_DIGITS;
                    if has_room {
                        digits = digits * 10 + u64::from(digit);
                    }
                    exponent = exponent.saturating_add(i32::from(!has_room) - i32::from(has_point));
                }
                zeros = 0;
            }
            b'.' if has_digits && !has_point => has_point = true,
            b'e' | b'E' if has_digits => {
                let power = text.get(at + 1..)?.parse::<i64>().ok()?;
                exponent = exponent.saturating_add(power.clamp(-9_999, 9_999) as i32);
                break;
            }
            _ => return None,
        }
    }
    let scale = 10_f64.powi(exponent.abs());
    let digits = digits as f64;
    let scaled = match exponent {
        _ if digits == 0.0 => 0.0,
        0.. => digits * scale,
        _ => digits / scale,
    };
    has_digits.then_some(sign * scaled)
}

/// Writes a whole number.
pub fn push_whole(number: u64, out: &mut String) {
    let rest = number / 10;
    if rest > 0 {
        push_whole(rest, out);
    }
    out.push(char::from(b'0' + (number % 10) as u8));
}

/// Writes a number with at most six decimals: as JSON, unless it is none that JSON has.
pub fn push_number(number: f64, out: &mut String) {
    if !number.is_finite() {
        out.push_str(if number.is_nan() { "NaN" } else { ["-inf", "inf"][usize::from(number > 0.0)] });
        return;
    }
    if number < 0.0 {
        out.push('-');
    }
    let (mut left, mut exponent) = (number.abs(), 0_i32);
    while left >= LARGE || (exponent > 0 && left >= 10.0) {
        left /= 10.0;
        exponent += 1;
    }
    while left > 0.0 && (left < 1.0 / PART || (exponent < 0 && left < 1.0)) {
        left *= 10.0;
        exponent -= 1;
    }
    let mut whole = left as u64;
    let mut part = ((left - whole as f64) * PART + 0.5) as u64;
    if part == PART as u64 {
        (whole, part) = (whole + 1, 0);
    }
    push_whole(whole, out);
    if part > 0 {
        out.push('.');
        let mut decimals = String::new();
        push_whole(part, &mut decimals);
        out.extend(std::iter::repeat_n('0', DECIMALS - decimals.len()));
        out.push_str(decimals.trim_end_matches('0'));
    }
    if exponent != 0 {
        out.push_str(if exponent < 0 { "e-" } else { "e" });
        push_whole(u64::from(exponent.unsigned_abs()), out);
    }
}

/// A number in a sentence.
pub fn shown(number: f64) -> String {
    let mut out = String::new();
    push_number(number, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_number_that_the_standard_library_reads() {
        for text in [
            "0",
            "-0",
            "1",
            "-1",
            "10",
            "1.5",
            "0.1",
            "0.30",
            "1e3",
            "1E+3",
            "25e-1",
            "1.0",
            "100.00",
            "3.14159265358979",
            "9007199254740991",
            "9007199254740991.000",
            "9007199254740992",
            "9007199254740993",
            "123456789012345678901234567890",
            "1e22",
            "1e-22",
            "1e400",
            "-1e400",
            "0e400",
            "1.7e308",
            "1e-400",
            "0.00001",
            "123456.789e-3",
        ] {
            let (ours, theirs) = (number(text).expect(text), text.parse::<f64>().expect(text));
            assert!(ours == theirs || (ours / theirs - 1.0).abs() < 1e-14, "{text}: {ours}, {theirs}");
            let digits =
                text.bytes().take_while(|byte| *byte | 32 != b'e').filter(u8::is_ascii_digit).count();
            let is_exact = digits <= 15 && theirs.abs() < 1e37;
            assert!(!is_exact || ours == theirs, "{text}: {ours}, {theirs}");
        }
        for text in ["", "-", "x", "\"1\"", "1e", "1.5.5", ".5", "1x", "null", "+1"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_written_reads_as_the_same_number() {
        let parts = (0..128).map(|bucket| f64::from_bits(((0.125_f64.to_bits() >> 50) + bucket) << 50));
        let clocks = [0.0, 0.001, 1.5, -2.25, 1e15 + 0.5, 9_007_199_254_740_993.0, 18_446_744_073_709_552.0];
        for number in parts.chain(clocks) {
            assert_eq!(shown(number).parse::<f64>(), Ok(number), "{number}");
        }
    }

    #[test]
    fn a_sentence_has_numbers_that_a_person_can_read() {
        let numbers =
            [0.1, -1.5, 1e300, -2.5e-9, 0.999_999_9, 3.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        let texts = ["0.1", "-1.5", "1e300", "-2.5e-9", "1", "3", "NaN", "inf", "-inf"];
        assert_eq!(numbers.map(shown), texts);
    }
}
