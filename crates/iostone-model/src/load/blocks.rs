//! Block sizes: one, a range, or a split by shares.

use std::fmt;
use std::str::FromStr;

use super::PerDirection;
use crate::units::{Bytes, UnitError, textual};

/// The sizes of a load's blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockSizes {
    /// Always the same; fio's `bs`.
    Fixed(Bytes),
    /// fio's `bsrange`.
    Range(BlockRange),
    /// fio's `bssplit`.
    Split(BlockSplit),
}

impl BlockSizes {
    /// The smallest size that can be drawn.
    pub fn smallest(&self) -> Bytes {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Range(range) => range.min,
            Self::Split(split) => split.sizes().min().unwrap_or_default(),
        }
    }

    /// The largest size that can be drawn.
    pub fn largest(&self) -> Bytes {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Range(range) => range.max,
            Self::Split(split) => split.sizes().max().unwrap_or_default(),
        }
    }

    /// The sizes that say how every block can be divided: a range's blocks are multiples of its smallest.
    pub fn written(&self) -> Vec<Bytes> {
        match self {
            Self::Fixed(bytes) => vec![*bytes],
            Self::Range(range) => vec![range.min, range.max],
            Self::Split(split) => split.sizes().collect(),
        }
    }

    /// The key of the experiment file that says so.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Fixed(_) => "bs",
            Self::Range(_) => "bsrange",
            Self::Split(_) => "bssplit",
        }
    }
}

impl fmt::Display for BlockSizes {
    /// As it is written in the experiment file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(bytes) => bytes.fmt(f),
            Self::Range(range) => range.fmt(f),
            Self::Split(split) => split.fmt(f),
        }
    }
}

impl From<Bytes> for PerDirection<BlockSizes> {
    fn from(bytes: Bytes) -> Self {
        Self::all(BlockSizes::Fixed(bytes))
    }
}

/// Sizes drawn uniformly from the multiples of `min` up to `max`, both included: `4KiB-64KiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockRange {
    /// The smallest.
    pub min: Bytes,
    /// The largest; never below the smallest.
    pub max: Bytes,
}

/// Sizes drawn by their shares of the requests: `4KiB/60:64KiB/40`. The shares add up to 100.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockSplit(Vec<(Bytes, u32)>);

impl BlockSplit {
    /// Sizes with their shares in percent.
    ///
    /// # Errors
    /// Shares that do not add up to 100.
    pub fn new(shares: Vec<(Bytes, u32)>) -> Result<Self, String> {
        match shares.iter().map(|(_, percent)| u64::from(*percent)).sum::<u64>() {
            100 => Ok(Self(shares)),
            sum => Err(format!("its shares add up to {sum}, not to 100")),
        }
    }

    /// Each size and its share of the requests in percent.
    pub fn shares(&self) -> &[(Bytes, u32)] {
        &self.0
    }

    /// The sizes.
    pub fn sizes(&self) -> impl Iterator<Item = Bytes> + '_ {
        self.0.iter().map(|(bytes, _)| *bytes)
    }
}

const RANGE: &str = "a range of sizes";
const SPLIT: &str = "a split of sizes";

fn refuse<T>(text: &str, kind: &'static str, reason: impl Into<String>) -> Result<T, UnitError> {
    Err(UnitError { text: text.to_owned(), kind, reason: reason.into() })
}

impl FromStr for BlockRange {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let Some((min, max)) = text.split_once('-') else {
            return refuse(text, RANGE, "it needs two sizes, as in 4KiB-64KiB");
        };
        let (min, max): (Bytes, Bytes) = (min.parse()?, max.parse()?);
        if min > max {
            return refuse(text, RANGE, "the first size must not exceed the second");
        }
        Ok(Self { min, max })
    }
}

impl fmt::Display for BlockRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.min, self.max)
    }
}

impl FromStr for BlockSplit {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let mut shares = Vec::new();
        for part in text.split(':') {
            let Some((bytes, percent)) = part.split_once('/') else {
                return refuse(text, SPLIT, "each size needs its share, as in 4KiB/60");
            };
            let Some(percent) = percent.trim().parse::<u32>().ok().filter(|percent| *percent <= 100) else {
                return refuse(text, SPLIT, format!("`{percent}` is not a whole percentage up to 100"));
            };
            shares.push((bytes.parse()?, percent));
        }
        Self::new(shares).or_else(|reason| refuse(text, SPLIT, reason))
    }
}

impl fmt::Display for BlockSplit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (bytes, percent)) in self.0.iter().enumerate() {
            write!(f, "{}{bytes}/{percent}", if index == 0 { "" } else { ":" })?;
        }
        Ok(())
    }
}

textual!(
    BlockRange,
    "BlockRange",
    "a range of sizes",
    r"^[0-9.]+\s*[kKMGTimgB]+-[0-9.]+\s*[kKMGTimgB]+$",
    "4KiB-64KiB"
);
textual!(
    BlockSplit,
    "BlockSplit",
    "a split of sizes",
    r"^[0-9.]+\s*[kKMGTimgB]+/[0-9]+(:[0-9.]+\s*[kKMGTimgB]+/[0-9]+)*$",
    "4KiB/60:64KiB/40"
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_wrong_with_a_range_or_a_split_is_named() {
        let range = |text: &str| text.parse::<BlockRange>().unwrap_err().to_string();
        assert!(range("4KiB").contains("it needs two sizes"));
        assert!(range("64KiB-4KiB").contains("the first size must not exceed the second"));
        assert!(range("4KiB-8").contains("`8` is not a size"));
        let split = |text: &str| text.parse::<BlockSplit>().unwrap_err().to_string();
        assert!(split("4KiB").contains("each size needs its share"));
        assert!(split("4KiB/60:8KiB/30").contains("add up to 90, not to 100"));
        assert!(split("4KiB/x:8KiB/30").contains("`x` is not a whole percentage"));
        assert!(split("").contains("each size needs its share"));
    }

    #[test]
    fn the_extremes_of_a_split_are_found_wherever_they_stand() {
        let split: BlockSplit = "16K/10:4K/50:64K/40".parse().unwrap();
        let sizes = BlockSizes::Split(split);
        assert_eq!((sizes.smallest(), sizes.largest()), (Bytes(4096), Bytes(65_536)));
        assert_eq!(sizes.to_string(), "16KiB/10:4KiB/50:64KiB/40");
    }

    proptest! {
        #[test]
        fn ranges_print_and_read_back_the_same(a in any::<u64>(), b in any::<u64>()) {
            let range = BlockRange { min: Bytes(a.min(b)), max: Bytes(a.max(b)) };
            prop_assert_eq!(range.to_string().parse(), Ok(range));
        }

        #[test]
        fn splits_print_and_read_back_the_same(
            sizes in prop::collection::vec(any::<u64>(), 1..6),
            cuts in prop::collection::vec(0u32..=100, 5),
        ) {
            let mut cuts = cuts[..sizes.len() - 1].to_vec();
            cuts.sort_unstable();
            cuts.push(100);
            let mut last = 0;
            let shares = cuts.iter().map(|cut| cut - std::mem::replace(&mut last, *cut));
            let split = BlockSplit(sizes.into_iter().map(Bytes).zip(shares).collect());
            prop_assert_eq!(split.to_string().parse(), Ok(split.clone()));
            let json = serde_json::to_string(&split).unwrap();
            prop_assert_eq!(serde_json::from_str::<BlockSplit>(&json).unwrap(), split);
        }

        #[test]
        fn no_text_panics(text in "[0-9KMiB/:-]{0,24}") {
            let _ = text.parse::<BlockRange>();
            let _ = text.parse::<BlockSplit>();
        }
    }
}
