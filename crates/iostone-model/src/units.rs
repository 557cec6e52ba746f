//! Quantities that always carry their unit: sizes, rates, shares and spans of time.
//!
//! Decimal and binary prefixes are told apart (`MB` is 10^6 bytes, `MiB` is 2^20, `Mbps` is 10^6 bits
//! per second), because mixing them is how a 500 Mbps link was once expected to carry 62.5 MiB/s.

mod digits;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::figures::without_zeros;

pub use digits::{p_value, ratio_digits, round_count, three_digits};

/// Why a piece of text is not a quantity of the kind asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {kind}: {reason}")]
pub struct UnitError {
    /// The text as it was given.
    pub text: String,
    /// What it was read as, with its article: "a size", "a rate".
    pub kind: &'static str,
    /// What is wrong with it and what would be right.
    pub reason: String,
}

/// A size in bytes: `4KiB`, `160MB`, `220GiB`. `8K` is read as 8 KiB, as fio does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

/// A rate in bytes per second: `160MiB/s`, `62.5MB/s`, `500Mbps`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct BytesPerSecond(pub f64);

/// A rate in whole bytes per second, as the kernel takes limits: `40MB/s`, `160MiB/s`, `500Mbps`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteRate(pub u64);

/// A share of a whole, held as a fraction: `30%` is 0.3.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Fraction(pub f64);

/// A span of time: `200ms`, `5s`, `3min`, `1h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(pub Duration);

const SIZE_UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    // fio's shorthand with its default kb_base=1024.
    ("K", 1 << 10),
    ("k", 1 << 10),
    ("M", 1 << 20),
    ("m", 1 << 20),
    ("G", 1 << 30),
    ("g", 1 << 30),
    ("T", 1 << 40),
];

/// Bytes per second of each spelling; bits are divided by eight.
const RATE_UNITS: &[(&str, f64)] = &[
    ("B/s", 1.0),
    ("KiB/s", 1024.0),
    ("MiB/s", 1_048_576.0),
    ("GiB/s", 1_073_741_824.0),
    ("kB/s", 1e3),
    ("KB/s", 1e3),
    ("MB/s", 1e6),
    ("GB/s", 1e9),
    ("bps", 0.125),
    ("kbps", 125.0),
    ("Kbps", 125.0),
    ("Mbps", 125e3),
    ("Gbps", 125e6),
];

/// Nanoseconds of each spelling.
const SPAN_UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Splits `62.5MB/s` into its number and its unit.
fn split_quantity<'a>(text: &'a str, kind: &'static str) -> Result<(f64, &'a str), UnitError> {
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let value: f64 = number.parse().map_err(|_| UnitError {
        text: text.to_owned(),
        kind,
        reason: if trimmed.starts_with('-') {
            "it cannot be negative".to_owned()
        } else {
            "it must start with a number".to_owned()
        },
    })?;
    Ok((value, unit.trim_start()))
}

/// A product split at the decimal point.
struct Scaled {
    whole: u64,
    fract: f64,
}

/// `value * factor`, in integers where the text holds a whole number, so that no large quantity is rounded.
/// None above `u64::MAX`.
fn scale_exactly(text: &str, value: f64, factor: u64) -> Option<Scaled> {
    let digits = text.trim().split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    if !text.contains('.') {
        let whole = digits.parse::<u64>().ok()?.checked_mul(factor)?;
        return Some(Scaled { whole, fract: 0.0 });
    }
    let exact = value * factor as f64;
    // Above 2^53 an f64 no longer holds every integer, so the fraction would be a guess.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded and never negative")]
    (exact < 9_007_199_254_740_992.0).then(|| Scaled { whole: exact as u64, fract: exact.fract() })
}

/// Hundreds of digits are read as infinity, which is printed as no quantity at all.
fn finite(text: &str, kind: &'static str, value: f64) -> Result<f64, UnitError> {
    Some(value).filter(|value| value.is_finite()).ok_or_else(|| UnitError {
        text: text.to_owned(),
        kind,
        reason: "it is too large for a number".to_owned(),
    })
}

fn unit_error(text: &str, kind: &'static str, unit: &str, expected: &str) -> UnitError {
    let reason = if unit.is_empty() {
        format!("it needs a unit ({expected})")
    } else {
        format!("`{unit}` is not a unit here ({expected})")
    };
    UnitError { text: text.to_owned(), kind, reason }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        const KIND: &str = "a size";
        let (value, unit) = split_quantity(text, KIND)?;
        let factor = SIZE_UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .map(|(_, factor)| *factor)
            .ok_or_else(|| unit_error(text, KIND, unit, "B, KiB, MiB, GiB, TiB, kB, MB, GB, TB"))?;
        let bytes =
            scale_exactly(text, value, factor).filter(|exact| exact.fract == 0.0).map(|exact| exact.whole);
        bytes.map(Bytes).ok_or_else(|| UnitError {
            text: text.to_owned(),
            kind: KIND,
            reason: "it is not a whole number of bytes below 16 EiB".to_owned(),
        })
    }
}

impl FromStr for BytesPerSecond {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        const KIND: &str = "a rate";
        let (value, unit) = split_quantity(text, KIND)?;
        RATE_UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(|| unit_error(text, KIND, unit, "MiB/s, MB/s, Mbps, ..."))
            .and_then(|(_, factor)| finite(text, KIND, value * factor).map(Self))
    }
}

impl FromStr for ByteRate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        const KIND: &str = "a rate";
        let (_, unit) = split_quantity(text, KIND)?;
        let (_, factor) = RATE_UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(|| unit_error(text, KIND, unit, "MiB/s, MB/s, Mbps, ..."))?;
        // Every spelling stands for a whole number of bits a second, so that nothing need be rounded.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and positive")]
        let bits = (factor * 8.0) as u128;
        let number = text.trim().strip_suffix(unit).unwrap_or_default().trim_end();
        let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
        let exact = format!("{whole}{decimals}").parse::<u128>().ok().and_then(|digits| {
            let parts = 10u128.checked_pow(u32::try_from(decimals.len()).ok()?)?.checked_mul(8)?;
            let product = digits.checked_mul(bits)?;
            product.is_multiple_of(parts).then(|| u64::try_from(product / parts).ok()).flatten()
        });
        exact.map(Self).ok_or_else(|| UnitError {
            text: text.to_owned(),
            kind: KIND,
            reason: "it is not a whole number of bytes a second below 16 EiB".to_owned(),
        })
    }
}

impl FromStr for Fraction {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        const KIND: &str = "a share";
        let (value, unit) = split_quantity(text, KIND)?;
        if unit == "%" {
            finite(text, KIND, value / 100.0).map(Self)
        } else {
            Err(unit_error(text, KIND, unit, "%, as in 3%"))
        }
    }
}

impl FromStr for Span {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        const KIND: &str = "a span of time";
        let (value, unit) = split_quantity(text, KIND)?;
        let factor = SPAN_UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .map(|(_, factor)| *factor)
            .ok_or_else(|| unit_error(text, KIND, unit, "us, ms, s, min, h"))?;
        // A fraction of a nanosecond is nothing anybody asks for.
        scale_exactly(text, value, factor).map(|exact| Self(Duration::from_nanos(exact.whole))).ok_or_else(
            || UnitError {
                text: text.to_owned(),
                kind: KIND,
                reason: "it is longer than 584 years".to_owned(),
            },
        )
    }
}

impl fmt::Display for Bytes {
    /// The largest unit that divides the size exactly, so that printing and reading agree; a binary one where both do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const BINARY: [(&str, u64); 4] =
            [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        const DECIMAL: [(&str, u64); 4] =
            [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
        // 100GB are a whole number of KiB too, which nobody wants to read.
        const MUCH_LARGER: u64 = 100;
        let exact = |units: &'static [(&'static str, u64)]| {
            units.iter().find(|(_, factor)| self.0 != 0 && self.0.is_multiple_of(*factor))
        };
        let (binary, decimal) = (exact(&BINARY), exact(&DECIMAL));
        let larger = decimal.filter(|(_, ten)| binary.is_none_or(|(_, two)| ten / two >= MUCH_LARGER));
        let exact = larger.or(binary);
        match exact {
            Some((name, factor)) => write!(f, "{}{name}", self.0 / factor),
            None => write!(f, "{}B", self.0),
        }
    }
}

impl Bytes {
    /// The size rounded to three digits for people: `1.46 GiB`.
    pub fn approximate(self) -> String {
        let units = [("TiB", 1u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        match units.iter().find(|(_, factor)| self.0 >= *factor) {
            Some((name, factor)) => format!("{} {name}", three_digits(self.0 as f64 / *factor as f64)),
            None => format!("{} B", self.0),
        }
    }
}

impl Bytes {
    /// The size for people, with a blank before its unit: exact where it is a whole number of a binary unit below 1000
    /// (`8 KiB`), rounded to three digits else (`1.46 GiB`).
    pub fn in_words(self) -> String {
        let units = [("TiB", 1u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        let exact = units.iter().find(|(_, factor)| self.0 >= *factor);
        match exact {
            Some((name, factor)) if self.0.is_multiple_of(*factor) => format!("{} {name}", self.0 / factor),
            _ => self.approximate(),
        }
    }
}

impl fmt::Display for BytesPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)];
        match units.iter().find(|(_, factor)| self.0 >= *factor) {
            Some((name, factor)) => write!(f, "{}{name}", without_zeros(self.0 / factor, 9)),
            None => write!(f, "{}B/s", without_zeros(self.0, 6)),
        }
    }
}

impl fmt::Display for ByteRate {
    /// Binary units where MiB/s or GiB/s divide it, else decimal ones; always exact, so that it reads back the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary = [("GiB/s", 1u64 << 30), ("MiB/s", 1 << 20)];
        if let Some((name, factor)) =
            binary.iter().find(|(_, factor)| self.0 != 0 && self.0.is_multiple_of(*factor))
        {
            return write!(f, "{}{name}", self.0 / factor);
        }
        let decimal = [("GB/s", 1_000_000_000u64, 9), ("MB/s", 1_000_000, 6), ("kB/s", 1_000, 3)];
        match decimal.iter().find(|(_, factor, _)| self.0 >= *factor) {
            Some((name, factor, digits)) => {
                let decimals = format!("{:0digits$}", self.0 % factor);
                let decimals = decimals.trim_end_matches('0');
                let point = if decimals.is_empty() { "" } else { "." };
                write!(f, "{}{point}{decimals}{name}", self.0 / factor)
            }
            None => write!(f, "{}B/s", self.0),
        }
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", without_zeros(self.0 * 100.0, 6))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.as_nanos();
        let units: [(&str, u128); 6] = [
            ("h", 3_600_000_000_000),
            ("min", 60_000_000_000),
            ("s", 1_000_000_000),
            ("ms", 1_000_000),
            ("us", 1_000),
            ("ns", 1),
        ];
        match units.iter().find(|(_, factor)| ns != 0 && ns.is_multiple_of(*factor)) {
            Some((name, factor)) => write!(f, "{}{name}", ns / factor),
            None => write!(f, "0s"),
        }
    }
}

/// Serialises as text, and describes itself as a string of the given shape in the JSON Schema.
macro_rules! textual {
    ($type:ty, $name:literal, $description:literal, $pattern:literal, $example:literal) => {
        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl ::serde::de::Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        write!(f, "{} in quotes, as in \"{}\"", $description, $example)
                    }
                    fn visit_str<E: ::serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }

        impl ::schemars::JsonSchema for $type {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                $name.into()
            }
            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                ::schemars::json_schema!({
                    "type": "string",
                    "description": $description,
                    "pattern": $pattern,
                    "examples": [$example],
                })
            }
        }
    };
}

pub(crate) use textual;

textual!(Bytes, "Bytes", "a size", r"^[0-9]+(\.[0-9]+)?\s*([KMGT]iB|[kKMGT]?B|[kKmMgGT])$", "4KiB");
textual!(
    BytesPerSecond,
    "BytesPerSecond",
    "a rate",
    r"^[0-9]+(\.[0-9]+)?\s*([KMG]i?B/s|kB/s|B/s|[kKMG]?bps)$",
    "160MiB/s"
);
textual!(ByteRate, "ByteRate", "a rate", r"^[0-9]+(\.[0-9]+)?\s*([KMG]i?B/s|kB/s|B/s|[kKMG]?bps)$", "40MB/s");
textual!(Fraction, "Fraction", "a share", r"^[0-9]+(\.[0-9]+)?\s*%$", "3%");
textual!(Span, "Span", "a span of time", r"^[0-9]+(\.[0-9]+)?\s*(ns|us|µs|ms|s|min|h)$", "5s");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimal_and_binary_prefixes_are_told_apart() {
        assert_eq!("220GiB".parse(), Ok(Bytes(236_223_201_280)));
        assert_eq!("220GB".parse(), Ok(Bytes(220_000_000_000)));
        assert_eq!("8K".parse(), Ok(Bytes(8192)));
        assert_eq!("1.5MiB".parse(), Ok(Bytes(1_572_864)));
        assert_eq!("500Mbps".parse(), Ok(BytesPerSecond(62.5e6)));
        assert_eq!("160MiB/s".parse(), Ok(BytesPerSecond(167_772_160.0)));
        assert_eq!("30%".parse(), Ok(Fraction(0.3)));
        assert_eq!("200ms".parse(), Ok(Span(Duration::from_millis(200))));
    }

    #[test]
    fn a_missing_or_wrong_unit_is_named() {
        let text = |e: UnitError| e.to_string();
        assert_eq!(
            "4".parse::<Bytes>().map_err(text),
            Err("`4` is not a size: it needs a unit (B, KiB, MiB, GiB, TiB, kB, MB, GB, TB)".into())
        );
        assert!("4KiBs".parse::<Bytes>().map_err(text).unwrap_err().contains("`KiBs` is not a unit here"));
        assert!("160MiB".parse::<BytesPerSecond>().is_err());
        assert!("-1s".parse::<Span>().map_err(text).unwrap_err().contains("cannot be negative"));
        assert!("0.3".parse::<Fraction>().is_err());
        assert!("99999999999TiB".parse::<Bytes>().is_err());
        assert!("0.3B".parse::<Bytes>().is_err());
        assert!("1e400h".parse::<Span>().is_err());
    }

    #[test]
    fn what_is_too_long_for_a_number_is_refused() {
        let digits = "9".repeat(310);
        assert!(format!("{digits}GB/s").parse::<BytesPerSecond>().is_err());
        assert!(format!("{}GB/s", &digits[..305]).parse::<BytesPerSecond>().is_err());
        assert!(format!("{digits}%").parse::<Fraction>().is_err());
    }

    #[test]
    fn limits_are_whole_bytes_a_second_and_nothing_is_rounded() {
        assert_eq!("62.5MB/s".parse(), Ok(ByteRate(62_500_000)));
        assert_eq!("500Mbps".parse(), Ok(ByteRate(62_500_000)));
        assert_eq!("160MiB/s".parse(), Ok(ByteRate(167_772_160)));
        assert_eq!("1.5 KiB/s".parse(), Ok(ByteRate(1_536)));
        assert_eq!(ByteRate(62_500_000).to_string(), "62.5MB/s");
        assert_eq!(ByteRate(167_772_160).to_string(), "160MiB/s");
        let wrong = |text: &str| text.parse::<ByteRate>().unwrap_err().to_string();
        assert!(wrong("1bps").contains("not a whole number of bytes a second"));
        assert!(wrong("99999999999GiB/s").contains("below 16 EiB"));
        assert!(wrong("40MB").contains("`MB` is not a unit here"));
    }

    proptest! {
        #[test]
        fn limits_print_and_read_back_the_same(bytes in any::<u64>()) {
            prop_assert_eq!(ByteRate(bytes).to_string().parse(), Ok(ByteRate(bytes)));
        }

        #[test]
        fn sizes_print_and_read_back_the_same(bytes in any::<u64>()) {
            prop_assert_eq!(Bytes(bytes).to_string().parse(), Ok(Bytes(bytes)));
        }

        #[test]
        fn spans_print_and_read_back_the_same(ms in 0u64..10_000_000_000) {
            let span = Span(Duration::from_millis(ms));
            prop_assert_eq!(span.to_string().parse(), Ok(span));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,24}") {
            let _ = text.parse::<Bytes>();
            let _ = text.parse::<BytesPerSecond>();
            let _ = text.parse::<ByteRate>();
            let _ = text.parse::<Fraction>();
            let _ = text.parse::<Span>();
        }
    }
}
