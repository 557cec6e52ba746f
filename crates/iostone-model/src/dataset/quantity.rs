//! A quantity of any unit, with the text it was written as: what a unit slip is found from.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::metric::Unit;
use crate::units::{Bytes, BytesPerSecond, Fraction, Span};

/// A value in the base unit of its kind, and how it was written. In files it is that text: `"500Mbps"`.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// In bytes, bytes a second, seconds, a share of 1, per second, or plain.
    pub value: f64,
    /// What kind it is.
    pub unit: Unit,
    /// As it was written.
    pub text: String,
}

/// Why a text is no quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a quantity; expected a number with its unit, as in `160MiB/s`, `500Mbps`, `220GiB`, `23min`, `1000/s` or `20%`"
)]
pub struct ParseQuantityError(String);

impl FromStr for Quantity {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
        let trimmed = text.trim();
        let (value, unit) = if let Ok(rate) = trimmed.parse::<BytesPerSecond>() {
            (rate.0, Unit::BytesPerSecond)
        } else if let Ok(span) = trimmed.parse::<Span>() {
            (span.0.as_secs_f64(), Unit::Seconds)
        } else if let Ok(share) = trimmed.parse::<Fraction>() {
            (share.0, Unit::Share)
        } else if let Some(rate) = per_second(trimmed) {
            (rate, Unit::PerSecond)
        } else if let Some(number) = number(trimmed) {
            (number, Unit::Plain)
        } else if let Ok(bytes) = trimmed.parse::<Bytes>() {
            (bytes.0 as f64, Unit::Bytes)
        } else {
            return Err(ParseQuantityError(text.to_owned()));
        };
        Ok(Self { value, unit, text: trimmed.to_owned() })
    }
}

/// `1000/s`, `1000 IOPS`.
fn per_second(text: &str) -> Option<f64> {
    let rest = ["/s", "IOPS", "iops"].iter().find_map(|unit| text.strip_suffix(unit))?;
    number(rest.trim_end())
}

fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

impl fmt::Display for Quantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_told_by_its_unit() {
        let read = |text: &str| {
            let quantity: Quantity = text.parse().unwrap();
            (quantity.value, quantity.unit)
        };
        assert_eq!(read("500Mbps"), (62_500_000.0, Unit::BytesPerSecond));
        assert_eq!(read("62.5 MiB/s"), (65_536_000.0, Unit::BytesPerSecond));
        assert_eq!(read("220GiB"), (236_223_201_280.0, Unit::Bytes));
        assert_eq!(read("23min"), (1380.0, Unit::Seconds));
        assert_eq!(read("20%"), (0.2, Unit::Share));
        assert_eq!(read("1000 IOPS"), (1000.0, Unit::PerSecond));
        assert_eq!(read("1000/s"), (1000.0, Unit::PerSecond));
        assert_eq!(read("12.5"), (12.5, Unit::Plain));
        assert!("fast".parse::<Quantity>().unwrap_err().to_string().contains("`fast` is not a quantity"));
        assert!("1e400".parse::<Quantity>().is_err());
    }
}
