//! Disks of an instance's own: `2x420GB-hdd`, or `none`.

use std::fmt;
use std::str::FromStr;

use iostone_model::units::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Disks of an instance's own, all alike. Their content is gone when the instance stops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalDisks {
    /// As the table has it: `2x420GB-hdd`, `none`.
    pub words: String,
    /// How many; 0 is known to be none.
    pub count: u32,
    /// The size of each.
    pub each: Option<Bytes>,
    /// What they are.
    pub kind: Option<DiskKind>,
}

/// What a disk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DiskKind {
    /// Without moving parts.
    Ssd,
    /// With them.
    Hdd,
}

/// Why a piece of text tells of no disks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not disks: expected count, size and kind as in 2x420GB-hdd, or none")]
pub struct DisksError {
    /// The text as it was given.
    pub text: String,
}

impl LocalDisks {
    /// So many disks of that size and kind; none of them if the count is 0.
    pub fn of(count: u32, each: Bytes, kind: DiskKind) -> Self {
        // Disks are sold by the decimal gigabyte, which the shortest exact spelling is not always in.
        const GIGABYTE: u64 = 1_000_000_000;
        if count == 0 {
            return Self { words: "none".to_owned(), count, each: None, kind: None };
        }
        let size = if each.0.is_multiple_of(GIGABYTE) {
            format!("{}GB", each.0 / GIGABYTE)
        } else {
            each.to_string()
        };
        let words = format!("{count}x{size}-{}", kind.word());
        Self { words, count, each: Some(each), kind: Some(kind) }
    }

    /// All of them together.
    pub fn total(&self) -> Option<Bytes> {
        self.each.and_then(|each| each.0.checked_mul(self.count.into())).map(Bytes)
    }
}

impl DiskKind {
    /// The word itself, as in files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ssd => "ssd",
            Self::Hdd => "hdd",
        }
    }
}

impl FromStr for LocalDisks {
    type Err = DisksError;

    fn from_str(text: &str) -> Result<Self, DisksError> {
        let wrong = || DisksError { text: text.to_owned() };
        if text == "none" {
            return Ok(Self { words: text.to_owned(), count: 0, each: None, kind: None });
        }
        let (count, rest) = text.split_once('x').ok_or_else(wrong)?;
        let (size, kind) = rest.rsplit_once('-').ok_or_else(wrong)?;
        let count = count.parse::<u32>().ok().filter(|count| *count > 0).ok_or_else(wrong)?;
        let each = size.parse::<Bytes>().ok().filter(|each| each.0 > 0).ok_or_else(wrong)?;
        each.0.checked_mul(count.into()).ok_or_else(wrong)?;
        let kind = match kind {
            "ssd" => DiskKind::Ssd,
            "hdd" => DiskKind::Hdd,
            _ => return Err(wrong()),
        };
        Ok(Self { words: text.to_owned(), count, each: Some(each), kind: Some(kind) })
    }
}

impl fmt::Display for LocalDisks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl Serialize for LocalDisks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.words)
    }
}

impl<'de> Deserialize<'de> for LocalDisks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_a_count_a_size_and_a_kind() {
        let disks: LocalDisks = "2x420GB-hdd".parse().unwrap();
        assert_eq!(
            (disks.count, disks.each, disks.kind),
            (2, Some(Bytes(420_000_000_000)), Some(DiskKind::Hdd))
        );
        assert_eq!(disks.total(), Some(Bytes(840_000_000_000)));
        assert_eq!(LocalDisks::of(2, Bytes(420_000_000_000), DiskKind::Hdd), disks);
        assert_eq!("none".parse::<LocalDisks>().unwrap().count, 0);
        assert_eq!(LocalDisks::of(0, Bytes(1), DiskKind::Ssd).words, "none");
        for wrong in
            ["", "2", "2x420GB", "0x420GB-hdd", "2x420-hdd", "2x420GB-tape", "x-", "4000000000x15EB-ssd"]
        {
            assert!(wrong.parse::<LocalDisks>().is_err(), "{wrong}");
        }
    }
}
