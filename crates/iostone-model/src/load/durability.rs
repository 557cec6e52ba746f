//! When written data is durable: flags of open(2), and `sync_file_range(2)`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{UnitError, textual};

/// Synchronous open flags, open(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SyncMode {
    /// Neither.
    #[default]
    None,
    /// `O_DSYNC`: each write returns when its data is durable.
    Dsync,
    /// `O_SYNC`: data and all metadata.
    Sync,
}

/// `sync_file_range(2)` over what was written since the last one: `write:8`, `wait_before,write,wait_after:32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncFileRange {
    /// After this many writes, at least 1.
    pub every: u32,
    /// `SYNC_FILE_RANGE_WAIT_BEFORE`.
    pub wait_before: bool,
    /// `SYNC_FILE_RANGE_WRITE`.
    pub write: bool,
    /// `SYNC_FILE_RANGE_WAIT_AFTER`.
    pub wait_after: bool,
}

impl FromStr for SyncFileRange {
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
        let every = every.ok_or_else(|| refuse("what follows the colon must be 1 or more"))?;
        let mut sync = Self { every, wait_before: false, write: false, wait_after: false };
        for word in words.split(',') {
            let flag = match word.trim() {
                "wait_before" => &mut sync.wait_before,
                "write" => &mut sync.write,
                "wait_after" => &mut sync.wait_after,
                _ => return Err(refuse("expected wait_before, write or wait_after")),
            };
            if std::mem::replace(flag, true) {
                return Err(refuse("one of its words stands there twice"));
            }
        }
        Ok(sync)
    }
}

impl fmt::Display for SyncFileRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words =
            [(self.wait_before, "wait_before"), (self.write, "write"), (self.wait_after, "wait_after")];
        let words: Vec<&str> = words.into_iter().filter(|(set, _)| *set).map(|(_, word)| word).collect();
        write!(f, "{}:{}", words.join(","), self.every)
    }
}

textual!(
    SyncFileRange,
    "SyncFileRange",
    "a sync of ranges",
    r"^(wait_before|write|wait_after)(,(wait_before|write|wait_after)){0,2}:[0-9]+$",
    "write:8"
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_wrong_with_a_sync_of_ranges_is_named() {
        let refused = |text: &str| text.parse::<SyncFileRange>().unwrap_err().reason;
        assert_eq!(refused("write"), "it needs a number of writes, as in write:8");
        assert_eq!(refused("write:0"), "what follows the colon must be 1 or more");
        assert_eq!(refused("writes:8"), "expected wait_before, write or wait_after");
        assert_eq!(refused("write,write:8"), "one of its words stands there twice");
    }

    proptest! {
        #[test]
        fn syncs_of_ranges_print_and_read_back_the_same(
            every in 1u32..,
            flags in any::<[bool; 3]>().prop_filter("one of them", |flags| flags.contains(&true)),
        ) {
            let [wait_before, write, wait_after] = flags;
            let sync = SyncFileRange { every, wait_before, write, wait_after };
            prop_assert_eq!(sync.to_string().parse(), Ok(sync));
        }
    }
}
