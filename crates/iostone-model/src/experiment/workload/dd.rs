//! What dd is asked to do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sentence;
use crate::units::Bytes;

/// dd: one stream of blocks into a file or out of it. The source is measured by itself first, so that it is known
/// whether it could have been the limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DdWorkload {
    /// Which way.
    #[serde(default)]
    pub direction: DdDirection,
    /// How much, a whole number of blocks.
    pub size: Bytes,
    /// Bytes of each block.
    #[serde(default = "one_mebibyte")]
    pub bs: Bytes,
    /// What is written: `generated` (incompressible, by iostone, through a pipe), or a path such as `/dev/zero`. For
    /// `write` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// dd's `conv=`; `["fdatasync"]` for writes when left out, so that the figure is not the page cache's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conv: Option<Vec<String>>,
    /// dd's `oflag=`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub oflag: Vec<String>,
    /// dd's `iflag=`; `fullblock` is always set for writes, since pipes and random devices give less than a block at
    /// a time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub iflag: Vec<String>,
}

/// Which way dd copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DdDirection {
    /// From the source into a file.
    #[default]
    Write,
    /// From a file, laid out beforehand with incompressible data, to nowhere.
    Read,
}

fn one_mebibyte() -> Bytes {
    Bytes(1 << 20)
}

impl DdWorkload {
    /// What it writes from.
    pub fn source(&self) -> &str {
        self.source.as_deref().unwrap_or("generated")
    }

    /// Its conversions.
    pub fn conversions(&self) -> Vec<&str> {
        match (&self.conv, self.direction) {
            (Some(conv), _) => conv.iter().map(String::as_str).collect(),
            (None, DdDirection::Write) => vec!["fdatasync"],
            (None, DdDirection::Read) => Vec::new(),
        }
    }

    /// Whether what it writes has reached the device when it ends.
    pub fn syncs(&self) -> bool {
        let durable = |word: &&str| matches!(*word, "fsync" | "fdatasync" | "sync" | "dsync");
        self.direction == DdDirection::Write
            && (self.conversions().iter().any(|word| matches!(*word, "fsync" | "fdatasync"))
                || self.oflag.iter().map(String::as_str).any(|word| durable(&word)))
    }

    /// Whether it goes past the page cache on the side of the file.
    pub fn is_direct(&self) -> bool {
        let flags = match self.direction {
            DdDirection::Write => &self.oflag,
            DdDirection::Read => &self.iflag,
        };
        flags.iter().any(|word| word == "direct")
    }

    /// Whether all that it copies must pass the device while it runs: written past the cache or made durable before dd
    /// ends, or read past the cache. `conv=sparse` leaves out blocks of zeros.
    pub fn must_reach_device(&self) -> bool {
        (self.is_direct() || self.syncs()) && !self.conversions().contains(&"sparse")
    }

    /// In a line for people.
    pub fn summary(&self) -> String {
        let what = match self.direction {
            DdDirection::Write if self.source() == "generated" => {
                format!("dd, {} of generated data written", self.size)
            }
            DdDirection::Write => format!("dd, {} written from {}", self.size, self.source()),
            DdDirection::Read => format!("dd, {} read", self.size),
        };
        let list =
            |name: &str, words: &[&str]| (!words.is_empty()).then(|| format!("{name}={}", words.join(",")));
        let flags = |words: &[String]| words.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        sentence([
            Some(what),
            Some(format!("bs={}", self.bs)),
            list("conv", &self.conversions()),
            (!self.oflag.is_empty()).then(|| format!("oflag={}", flags(&self.oflag))),
            (!self.iflag.is_empty()).then(|| format!("iflag={}", flags(&self.iflag))),
        ])
    }
}
