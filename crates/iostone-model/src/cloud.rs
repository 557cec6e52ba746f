//! How things of a cloud are named: volumes by type and size, the date whose limits hold, and what a ceiling is one of.

mod date;
mod volume;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use date::{CatalogueDate, DateError};
pub use volume::{VolumeSpec, VolumeSpecError};

/// What a ceiling is one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CeilingKind {
    /// One volume: its I/Os or bytes a second.
    Volume,
    /// Several volumes joined: the sum over its members.
    Array,
    /// The instance's link to its volumes, or its network where volumes are reached through that.
    Link,
    /// The share of its processors that an instance gets.
    Cpu,
    /// What the data comes from, or goes to, beside the volume.
    Source,
    /// Memory that takes in writes, or answers reads, in place of the volume.
    PageCache,
    /// What the filesystem reads and writes beside the data.
    Filesystem,
    /// How many I/Os are under way at once, over the time that each takes (Little's law).
    QueueDepth,
}

impl CeilingKind {
    /// The word itself, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Volume => "volume",
            Self::Array => "array",
            Self::Link => "link",
            Self::Cpu => "cpu",
            Self::Source => "source",
            Self::PageCache => "page-cache",
            Self::Filesystem => "filesystem",
            Self::QueueDepth => "queue-depth",
        }
    }
}
