//! The arrival rates of an open loop.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{ByteRate, UnitError, textual};

/// The arrival rates of each thread, as in fio: one for each direction, or one for reads and one for writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rates<T> {
    /// So many of each direction that the load goes in.
    Each(T),
    /// Reads and writes have rates of their own.
    Apart {
        /// Of reads.
        reads: T,
        /// Of writes.
        writes: T,
    },
}

impl<T: Copy> Rates<T> {
    /// The rate of reads.
    pub fn reads(self) -> T {
        match self {
            Self::Each(rate) | Self::Apart { reads: rate, .. } => rate,
        }
    }

    /// The rate of writes.
    pub fn writes(self) -> T {
        match self {
            Self::Each(rate) | Self::Apart { writes: rate, .. } => rate,
        }
    }

    /// Whether reads and writes are told apart.
    pub fn is_apart(self) -> bool {
        matches!(self, Self::Apart { .. })
    }

    fn read<E>(text: &str, read: impl Fn(&str) -> Result<T, E>) -> Result<Self, E> {
        match text.split_once(',') {
            None => read(text).map(Self::Each),
            Some((reads, writes)) => Ok(Self::Apart { reads: read(reads)?, writes: read(writes)? }),
        }
    }
}

impl<T: fmt::Display> fmt::Display for Rates<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Each(rate) => rate.fmt(f),
            Self::Apart { reads, writes } => write!(f, "{reads},{writes}"),
        }
    }
}

impl FromStr for Rates<u32> {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        Self::read(text, |number| {
            number.trim().parse().map_err(|_| UnitError {
                text: number.to_owned(),
                kind: "a number of requests a second",
                reason: "expected 2000, or \"1400,600\" for reads and writes".to_owned(),
            })
        })
    }
}

impl FromStr for Rates<ByteRate> {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        Self::read(text, str::parse)
    }
}

textual!(
    Rates<ByteRate>,
    "ByteRates",
    "a rate",
    r"^[0-9.]+\s*[kKMGiB]*(B/s|bps)(,[0-9.]+\s*[kKMGiB]*(B/s|bps))?$",
    "40MB/s"
);

impl Serialize for Rates<u32> {
    /// One rate is a number.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Each(rate) => serializer.serialize_u32(*rate),
            Self::Apart { .. } => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Rates<u32> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrText;
        impl serde::de::Visitor<'_> for NumberOrText {
            type Value = Rates<u32>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of requests a second, or \"1400,600\" for reads and writes")
            }
            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Rates<u32>, E> {
                let unexpected = serde::de::Unexpected::Unsigned(number);
                u32::try_from(number).map(Rates::Each).map_err(|_| E::invalid_value(unexpected, &self))
            }
            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Rates<u32>, E> {
                let unexpected = serde::de::Unexpected::Signed(number);
                u32::try_from(number).map(Rates::Each).map_err(|_| E::invalid_value(unexpected, &self))
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Rates<u32>, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(NumberOrText)
    }
}

impl JsonSchema for Rates<u32> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RequestRates".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [
                { "type": "integer", "minimum": 1, "maximum": u32::MAX },
                { "type": "string", "pattern": "^[0-9]+(,[0-9]+)?$", "examples": ["1400,600"] },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_rate_is_a_number_and_two_are_text() {
        let read = |text: &str| serde_json::from_str::<Rates<u32>>(text);
        assert_eq!(read("2000").unwrap(), Rates::Each(2000));
        assert_eq!(read("\"1400,600\"").unwrap(), Rates::Apart { reads: 1400, writes: 600 });
        assert_eq!(serde_json::to_string(&Rates::Each(2000)).unwrap(), "2000");
        assert!(read("-1").unwrap_err().to_string().contains("a number of requests a second"));
        assert!(read("1.5").is_err() && read("5000000000").is_err() && read("\"1,2,3\"").is_err());
    }

    proptest! {
        #[test]
        fn request_rates_write_and_read_back_the_same(reads in any::<u32>(), writes in any::<u32>()) {
            for rates in [Rates::Each(reads), Rates::Apart { reads, writes }] {
                let json = serde_json::to_string(&rates).unwrap();
                prop_assert_eq!(serde_json::from_str::<Rates<u32>>(&json).unwrap(), rates);
            }
        }

        #[test]
        fn byte_rates_print_and_read_back_the_same(reads in any::<u64>(), writes in any::<u64>()) {
            let (reads, writes) = (ByteRate(reads), ByteRate(writes));
            for rates in [Rates::Each(reads), Rates::Apart { reads, writes }] {
                prop_assert_eq!(rates.to_string().parse(), Ok(rates));
            }
        }
    }
}
