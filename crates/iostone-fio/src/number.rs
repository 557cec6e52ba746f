//! Numbers in fio's spelling: sizes with suffixes, times with units, percentages, numbers of zones.
//!
//! Where fio reads less than what is written (`1.5g` is 1 byte to it, ` 4k` after a blank 4 bytes, `1min` one
//! microsecond), the text is refused with what to write instead. See HOWTO "Parameter types" and fio's `parse.c`.

use std::time::Duration;

use crate::arithmetic::{Units, evaluate};
use crate::values::KbBase;

/// What a number's text says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Amount {
    /// A number, its suffix multiplied in.
    Plain(i128),
    /// `20%`.
    Percent(u64),
    /// `8z`: zones of a zoned device.
    Zones(u32),
}

/// A number without unit, or a size.
pub(crate) fn amount(text: &str, kb_base: KbBase) -> Result<Amount, String> {
    let (text, had_blank) = without_blanks(text)?;
    if text.starts_with('(') {
        let outcome = evaluate(text, Units::Size)?;
        return outcome.number.whole().map(|whole| Amount::Plain(whole.into()));
    }
    let (number, suffix) = split(text)?;
    if had_blank && !suffix.is_empty() {
        return Err(format!(
            "fio reads a number behind a blank without its suffix, as {number}; write `{text}` right behind the `=`"
        ));
    }
    let suffix = suffix.to_ascii_lowercase();
    let factor: i128 = match suffix.as_str() {
        "%" => return u64::try_from(number).map(Amount::Percent).map_err(|_| negative()),
        "z" => return u32::try_from(number).map(Amount::Zones).map_err(|_| negative()),
        "" | "b" => 1,
        _ => size_factor(&suffix, kb_base).ok_or_else(|| {
            format!("`{suffix}` is not a suffix (k, m, g, t, p, each with `b` or `ib` behind)")
        })?,
    };
    number
        .checked_mul(factor)
        .filter(|value| value.unsigned_abs() < 1 << 64)
        .map(Amount::Plain)
        .ok_or_else(too_large)
}

/// `k` is `kb_base` to the power of one; `kib` is the other base, which is fio's way of keeping old files alive.
/// `ki` without the `b` is read as `k`.
fn size_factor(suffix: &str, kb_base: KbBase) -> Option<i128> {
    let mut letters = suffix.chars();
    let power = "kmgtp".find(letters.next()?)? + 1;
    let (same, other) = match kb_base {
        KbBase::Binary => (1024_i128, 1000_i128),
        KbBase::Decimal => (1000, 1024),
    };
    let base = match letters.as_str() {
        "" | "b" | "i" => same,
        "ib" => other,
        _ => return None,
    };
    Some(base.pow(u32::try_from(power).ok()?))
}

fn negative() -> String {
    "it cannot be negative".into()
}

fn too_large() -> String {
    "it passes 2^64".into()
}

fn without_blanks(text: &str) -> Result<(&str, bool), String> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err("a number is missing".into());
    }
    Ok((trimmed, text.starts_with(char::is_whitespace)))
}

/// The whole number at the start, and what is behind it.
fn split(text: &str) -> Result<(i128, &str), String> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1 } else { 1 };
    if let Some(hex) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        // Digits reach to f, so that no suffix can follow; fio ignores any.
        let value =
            u64::from_str_radix(hex, 16).map_err(|_| format!("`{text}` is not a hexadecimal number"))?;
        return Ok((sign * i128::from(value), ""));
    }
    let end = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
    let (digits, suffix) = unsigned.split_at(end);
    if digits.is_empty() {
        return Err("it must start with a number".into());
    }
    if suffix.starts_with('.') {
        return Err(format!("a whole number is needed: fio reads `{text}` as {digits}; use a smaller unit"));
    }
    let value: u64 = digits.parse().map_err(|_| too_large())?;
    Ok((sign * i128::from(value), suffix))
}

/// A whole number within bounds; sizes are allowed as suffix, as fio allows them everywhere.
pub(crate) fn whole(text: &str, kb_base: KbBase, least: i64, most: i64) -> Result<i64, String> {
    match amount(text, kb_base)? {
        Amount::Plain(value) => i64::try_from(value)
            .ok()
            .filter(|value| (least..=most).contains(value))
            .ok_or_else(|| format!("it must be from {least} to {most}")),
        Amount::Percent(_) => Err("a percentage has no meaning here".into()),
        Amount::Zones(_) => Err("a number of zones has no meaning here".into()),
    }
}

/// A size in bytes, never negative.
pub(crate) fn size(text: &str, kb_base: KbBase) -> Result<u64, String> {
    match amount(text, kb_base)? {
        Amount::Plain(value) => u64::try_from(value).map_err(|_| negative()),
        Amount::Percent(_) => Err("a percentage has no meaning here".into()),
        Amount::Zones(_) => Err("a number of zones has no meaning here".into()),
    }
}

/// The bytes of a size as fio reads it with its usual `kb_base`, 1024. A share, a number of zones and a range are none.
pub fn bytes_of(text: &str) -> Option<u64> {
    size(text, KbBase::default()).ok()
}

/// What a time without unit is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Microseconds,
}

impl Unit {
    fn microseconds(self) -> u64 {
        match self {
            Self::Seconds => 1_000_000,
            Self::Microseconds => 1,
        }
    }
}

/// A time, never negative.
pub(crate) fn time(text: &str, unit: Unit) -> Result<Duration, String> {
    let (text, had_blank) = without_blanks(text)?;
    let (number, factor) = if text.starts_with('(') {
        let outcome = evaluate(text, Units::Time)?;
        let factor = if outcome.has_unit { 1 } else { unit.microseconds() };
        // A fraction of a second is lost when the number is made whole before its unit is applied.
        let number = match outcome.number {
            crate::arithmetic::Number::Real(value) => {
                crate::arithmetic::Number::Real(value * factor as f64).whole()?
            }
            crate::arithmetic::Number::Whole(value) => {
                value.checked_mul(i64::try_from(factor).map_err(|_| too_large())?).ok_or_else(too_large)?
            }
        };
        (i128::from(number), 1)
    } else {
        let (number, suffix) = split(text)?;
        if had_blank && !suffix.is_empty() {
            return Err(format!(
                "fio reads a time behind a blank without its unit; write `{text}` right behind the `=`"
            ));
        }
        let factor = match suffix.to_ascii_lowercase().as_str() {
            "" => unit.microseconds(),
            "us" | "usec" => 1,
            "ms" | "msec" => 1_000,
            "s" | "sec" => 1_000_000,
            "m" => 60_000_000,
            "h" => 3_600_000_000,
            "d" => 86_400_000_000,
            "min" => return Err("fio reads `min` as microseconds; a minute is `m`".into()),
            other => return Err(format!("`{other}` is not a unit of time (us, ms, s, m, h, d)")),
        };
        (number, factor)
    };
    let number = u64::try_from(number).map_err(|_| negative())?;
    number.checked_mul(factor).map(Duration::from_micros).ok_or_else(too_large)
}

/// A number with a fraction.
pub(crate) fn real(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let text = text.trim();
    let value = if text.starts_with('(') {
        evaluate(text, Units::Size)?.number.real()
    } else if text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E'))
    {
        text.parse::<f64>().map_err(|_| format!("`{text}` is not a number"))?
    } else {
        return Err(format!("`{text}` is not a number"));
    };
    if value.is_finite() && (least..=most).contains(&value) {
        Ok(value)
    } else {
        Err(format!("`{text}` must be from {least} to {most}"))
    }
}

/// Splits the values of an option for reads, writes and trims: at commas, or where there is none at colons, or at minus
/// signs that are not a number's own. Brackets stay whole.
pub(crate) fn split_values(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) =
        separator(rest, ',').or_else(|| separator(rest, ':')).or_else(|| separator(rest, '-'))
    {
        parts.push(&rest[..at]);
        rest = &rest[at + 1..];
    }
    parts.push(rest);
    parts
}

fn separator(text: &str, wanted: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if letter == wanted && depth == 0 && !(wanted == '-' && at == 0) => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_follow_kb_base() {
        for (text, binary, decimal) in [
            ("4096", 4096, 4096),
            ("4096b", 4096, 4096),
            ("4k", 4096, 4000),
            ("4KB", 4096, 4000),
            ("4kib", 4000, 4096),
            ("4KiB", 4000, 4096),
            ("4ki", 4096, 4000),
            ("1m", 1 << 20, 1_000_000),
            ("2G", 2 << 30, 2_000_000_000),
            ("1t", 1 << 40, 1_000_000_000_000),
            ("1p", 1 << 50, 1_000_000_000_000_000),
            ("0x1000", 4096, 4096),
            ("(4*1k)", 4096, 4096),
        ] {
            assert_eq!(size(text, KbBase::Binary), Ok(binary), "{text}");
            assert_eq!(size(text, KbBase::Decimal), Ok(decimal), "{text}");
        }
    }

    #[test]
    fn what_fio_reads_otherwise_is_refused() {
        for (text, why) in [
            ("1.5g", "reads `1.5g` as 1"),
            (" 4k", "without its suffix"),
            ("4q", "not a suffix"),
            ("", "missing"),
            ("k", "start with a number"),
            ("99999999999999999999", "passes 2^64"),
            ("20000000p", "passes 2^64"),
            ("0x", "hexadecimal"),
            ("-4k", "negative"),
            ("20%", "percentage"),
            ("8z", "zones"),
        ] {
            let refusal = size(text, KbBase::Binary).unwrap_err();
            assert!(refusal.contains(why), "{text}: {refusal}");
        }
    }

    #[test]
    fn percentages_and_zones_are_told_apart() {
        assert_eq!(amount("20%", KbBase::Binary), Ok(Amount::Percent(20)));
        assert_eq!(amount("8z", KbBase::Binary), Ok(Amount::Zones(8)));
        assert_eq!(amount("-8k", KbBase::Binary), Ok(Amount::Plain(-8192)));
    }

    #[test]
    fn times_have_their_own_default_unit() {
        for (text, unit, micros) in [
            ("10", Unit::Seconds, 10_000_000),
            ("10", Unit::Microseconds, 10),
            ("500ms", Unit::Seconds, 500_000),
            ("20us", Unit::Seconds, 20),
            ("2M", Unit::Seconds, 120_000_000),
            ("1h", Unit::Microseconds, 3_600_000_000),
            ("1d", Unit::Seconds, 86_400_000_000),
            ("3sec", Unit::Microseconds, 3_000_000),
            ("(2*30)", Unit::Seconds, 60_000_000),
            ("(500ms)", Unit::Seconds, 500_000),
            ("(0.5)", Unit::Seconds, 500_000),
        ] {
            assert_eq!(time(text, unit), Ok(Duration::from_micros(micros)), "{text}");
        }
        assert!(time("1min", Unit::Seconds).unwrap_err().contains("a minute is `m`"));
        assert!(time("1ns", Unit::Seconds).is_err());
        assert!(time("-1", Unit::Seconds).is_err());
    }

    #[test]
    fn values_split_at_commas_then_colons_then_minus_signs() {
        for (text, parts) in [
            ("4k", &["4k"][..]),
            ("4k,8k", &["4k", "8k"]),
            ("500k,", &["500k", ""]),
            (",500k", &["", "500k"]),
            ("5-10", &["5", "10"]),
            ("-5-10", &["-5", "10"]),
            ("1:2", &["1", "2"]),
            ("(4-2),3", &["(4-2)", "3"]),
        ] {
            assert_eq!(split_values(text), parts, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,24}") {
            let _ = amount(&text, KbBase::Binary);
            let _ = amount(&text, KbBase::Decimal);
            let _ = time(&text, Unit::Seconds);
            let _ = real(&text, 0.0, 100.0);
            prop_assert_eq!(split_values(&text).iter().map(|part| part.len() + 1).sum::<usize>(), text.len() + 1);
        }

        #[test]
        fn plain_numbers_read_as_themselves(value in any::<u64>()) {
            prop_assert_eq!(size(&value.to_string(), KbBase::Binary), Ok(value));
            prop_assert_eq!(size(&format!("{value:#x}"), KbBase::Decimal), Ok(value));
        }
    }
}
