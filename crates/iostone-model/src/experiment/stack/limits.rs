//! Limits on what a device serves in a second, for each direction, as cgroups enforce them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::ByteRate;

/// The keys of limits, in the order in which they are explained.
pub const LIMIT_KEYS: &[&str] =
    &["iops", "throughput", "read_iops", "write_iops", "read_throughput", "write_throughput"];

/// Limits of a device; what is left out is not limited.
///
/// The kernel limits reads and writes apart (`blkio.throttle.read_bps_device` and its like in
/// Documentation/admin-guide/cgroup-v1/blkio-controller.rst, `io.max` in Documentation/admin-guide/cgroup-v2.rst), so
/// `iops` and `throughput` hold for each direction, not for the sum of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Requests a second: so many reads and, counted apart, so many writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<u32>,
    /// Bytes a second, for each direction apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<ByteRate>,
    /// Reads a second, in place of `iops`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_iops: Option<u32>,
    /// Writes a second, in place of `iops`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_iops: Option<u32>,
    /// Bytes read a second, in place of `throughput`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_throughput: Option<ByteRate>,
    /// Bytes written a second, in place of `throughput`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_throughput: Option<ByteRate>,
}

/// What holds for one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DirectionLimits {
    /// Requests a second.
    pub iops: Option<u32>,
    /// Bytes a second.
    pub throughput: Option<ByteRate>,
}

impl Limits {
    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What holds for reads.
    pub fn reads(&self) -> DirectionLimits {
        DirectionLimits {
            iops: self.read_iops.or(self.iops),
            throughput: self.read_throughput.or(self.throughput),
        }
    }

    /// What holds for writes.
    pub fn writes(&self) -> DirectionLimits {
        DirectionLimits {
            iops: self.write_iops.or(self.iops),
            throughput: self.write_throughput.or(self.throughput),
        }
    }
}

impl fmt::Display for DirectionLimits {
    /// `40MB/s and 1000 IOPS`; nothing if nothing is limited.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.throughput, self.iops) {
            (Some(rate), Some(iops)) => write!(f, "{rate} and {iops} IOPS"),
            (Some(rate), None) => write!(f, "{rate}"),
            (None, Some(iops)) => write!(f, "{iops} IOPS"),
            (None, None) => Ok(()),
        }
    }
}

impl fmt::Display for Limits {
    /// `reads 40MB/s, writes 20MB/s and 100 IOPS`; `reads and writes 40MB/s each` where both are the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (reads, writes) = (self.reads(), self.writes());
        let none = DirectionLimits::default();
        if reads == writes {
            return if reads == none { Ok(()) } else { write!(f, "reads and writes {reads} each") };
        }
        match (reads == none, writes == none) {
            (false, false) => write!(f, "reads {reads}, writes {writes}"),
            (false, true) => write!(f, "reads {reads}"),
            (true, _) => write!(f, "writes {writes}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directions_own_key_takes_the_place_of_the_common_one() {
        let limits = Limits {
            iops: Some(100),
            throughput: Some(ByteRate(40_000_000)),
            write_iops: Some(50),
            ..Limits::default()
        };
        assert_eq!(limits.reads().iops, Some(100));
        assert_eq!(limits.writes().iops, Some(50));
        assert_eq!(limits.writes().throughput, Some(ByteRate(40_000_000)));
        assert_eq!(limits.to_string(), "reads 40MB/s and 100 IOPS, writes 40MB/s and 50 IOPS");
    }

    #[test]
    fn limits_are_said_as_briefly_as_they_allow() {
        let both = Limits { throughput: Some(ByteRate(10_000_000)), ..Limits::default() };
        assert_eq!(both.to_string(), "reads and writes 10MB/s each");
        let writes = Limits { write_iops: Some(100), ..Limits::default() };
        assert_eq!(writes.to_string(), "writes 100 IOPS");
        let reads = Limits { read_iops: Some(100), ..Limits::default() };
        assert_eq!(reads.to_string(), "reads 100 IOPS");
        assert!(Limits::default().is_empty() && Limits::default().to_string().is_empty());
    }

    #[test]
    fn the_keys_are_those_of_the_schema() {
        let schema = serde_json::to_value(schemars::schema_for!(Limits)).unwrap();
        let mut keys: Vec<&str> =
            schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let mut known = LIMIT_KEYS.to_vec();
        keys.sort_unstable();
        known.sort_unstable();
        assert_eq!(keys, known);
    }
}
