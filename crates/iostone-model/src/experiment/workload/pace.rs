//! The pace of a load: arrival rates of an open loop, and the cadence of `sync_file_range(2)`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{ByteRate, UnitError, textual};

/// How the arrivals of an open loop follow each other; fio's `rate_process`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RateProcess {
    /// At equal distances.
    #[default]
    Linear,
    /// At random: a Poisson process, as independent users make it.
    Poisson,
}

impl RateProcess {
    /// The word used in the experiment file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Poisson => "poisson",
        }
    }
}

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

/// `sync_file_range(2)` over what was written since the last one: `write:8`, `wait_before,write,wait_after:32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeSync {
    /// After this many writes, at least 1.
    pub every: u32,
    /// `SYNC_FILE_RANGE_WAIT_BEFORE`.
    pub wait_before: bool,
    /// `SYNC_FILE_RANGE_WRITE`.
    pub write: bool,
    /// `SYNC_FILE_RANGE_WAIT_AFTER`.
    pub wait_after: bool,
}

impl FromStr for RangeSync {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let refuse = |reason: &str| UnitError {
            text: text.to_owned(),
            kind: "a sync of ranges",
            reason: reason.to_owned(),
        };
        let (words, every) =
            text.split_once(':').ok_or_else(|| refuse("it needs a number of writes, as in write:8"))?;
        let every = every.trim().parse().ok().filter(|every| *every > 0);
        let every = every.ok_or_else(|| refuse("the number after the colon must be at least 1"))?;
        let mut sync = Self { every, wait_before: false, write: false, wait_after: false };
        for word in words.split(',') {
            let flag = match word.trim() {
                "wait_before" => &mut sync.wait_before,
                "write" => &mut sync.write,
                "wait_after" => &mut sync.wait_after,
                _ => return Err(refuse("expected wait_before, write or wait_after")),
            };
            if std::mem::replace(flag, true) {
                return Err(refuse("a word is repeated"));
            }
        }
        Ok(sync)
    }
}

impl fmt::Display for RangeSync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words =
            [(self.wait_before, "wait_before"), (self.write, "write"), (self.wait_after, "wait_after")];
        let words: Vec<&str> = words.into_iter().filter(|(set, _)| *set).map(|(_, word)| word).collect();
        write!(f, "{}:{}", words.join(","), self.every)
    }
}

textual!(
    RangeSync,
    "RangeSync",
    "a sync of ranges",
    r"^(wait_before|write|wait_after)(,(wait_before|write|wait_after)){0,2}:[0-9]+$",
    "write:8"
);

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

    #[test]
    fn what_is_wrong_with_a_sync_of_ranges_is_named() {
        let refused = |text: &str| text.parse::<RangeSync>().unwrap_err().reason;
        assert_eq!(refused("write"), "it needs a number of writes, as in write:8");
        assert_eq!(refused("write:0"), "the number after the colon must be at least 1");
        assert_eq!(refused("writes:8"), "expected wait_before, write or wait_after");
        assert_eq!(refused("write,write:8"), "a word is repeated");
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

        #[test]
        fn syncs_of_ranges_print_and_read_back_the_same(
            every in 1u32..,
            flags in any::<[bool; 3]>().prop_filter("one of them", |flags| flags.contains(&true)),
        ) {
            let [wait_before, write, wait_after] = flags;
            let sync = RangeSync { every, wait_before, write, wait_after };
            prop_assert_eq!(sync.to_string().parse(), Ok(sync));
        }
    }
}
