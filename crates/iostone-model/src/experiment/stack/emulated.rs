//! Emulated volumes: what a cloud's volume does to the I/O of its tenant, on a file of this machine.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Link;
use crate::cloud::{CatalogueDate, VolumeSpec};
use crate::units::{ByteRate, Bytes, Fraction, Span};

/// One or several volumes with the limits, and the faults, of a cloud's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmulatedVolume {
    /// The size of each volume.
    pub size: Bytes,
    /// The type of a cloud's volume whose limits hold, by its name in the catalogue: `gp2`, `gcp/pd-ssd`. `iops` and `throughput`
    /// are then what is provisioned, where the type has that.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub volume_type: Option<String>,
    /// The limits of which time hold for a `type`: `2017-07`; those of the machine's date, or of today, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<CatalogueDate>,
    /// What a `type` was settled to when the plan was made: the volume that this one stands for, at its real size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub stands_for: Option<VolumeSpec>,
    /// So many volumes, each with these properties; more than one needs an array.
    #[serde(default = "one")]
    pub count: u32,
    /// How it is done; left out, by control groups where they can do all that is asked and nothing bursts, else by a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<EmulatedBy>,
    /// Where the files are made; the run directory if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Fill the volumes with incompressible data before each trial, so that reads are real.
    #[serde(default = "yes")]
    pub fill: bool,
    /// I/Os a second in the long run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<u32>,
    /// Bytes a second in the long run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<ByteRate>,
    /// How large an I/O may be to count as one; a larger one counts as several. EBS has 256KiB on SSD, 1MiB on HDD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_size: Option<Bytes>,
    /// Whether adjacent small I/Os count as one until they fill `io_size`, as EBS does it; needs `io_size`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merge: bool,
    /// More for a while, out of a bucket of credits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Burst>,
    /// The time that every read and write takes at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Span>,
    /// That of writes, where it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_latency: Option<Span>,
    /// The time that a flush takes at least; none if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_latency: Option<Span>,
    /// How latencies scatter; not at all if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_spread: Option<LatencySpread>,
    /// A write cache that loses its content with the power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<VolatileCache>,
    /// What goes wrong on purpose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

impl EmulatedVolume {
    /// A volume of that size without any property.
    pub fn new(size: Bytes) -> Self {
        Self {
            size,
            volume_type: None,
            date: None,
            stands_for: None,
            count: 1,
            by: None,
            directory: None,
            fill: true,
            iops: None,
            throughput: None,
            io_size: None,
            merge: false,
            burst: None,
            latency: None,
            write_latency: None,
            flush_latency: None,
            latency_spread: None,
            cache: None,
            faults: Vec::new(),
        }
    }

    /// The keys set that only the server can honour, in the order of the file.
    pub fn server_keys(&self) -> Vec<&'static str> {
        [
            ("io_size", self.io_size.is_some()),
            ("merge", self.merge),
            ("latency", self.latency.is_some()),
            ("write_latency", self.write_latency.is_some()),
            ("flush_latency", self.flush_latency.is_some()),
            ("latency_spread", self.latency_spread.is_some()),
            ("cache", self.cache.is_some()),
            ("faults", !self.faults.is_empty()),
        ]
        .into_iter()
        .filter_map(|(key, set)| set.then_some(key))
        .collect()
    }

    /// How it is done on this host behind that link: as asked, or by what suffices. Control groups follow a bucket every 20 ms
    /// only, which short bursts show; so what bursts is the server's.
    pub fn effective_by(&self, link: Option<Link>) -> EmulatedBy {
        let bursts = self.burst.is_some() || link.is_some_and(|link| link.burst.is_some());
        let is_for_server = bursts || !self.server_keys().is_empty();
        self.by.unwrap_or(if is_for_server { EmulatedBy::Server } else { EmulatedBy::Cgroup })
    }

    /// The bytes of all volumes together.
    pub fn total_size(&self) -> Bytes {
        Bytes(self.size.0.saturating_mul(u64::from(self.count)))
    }
}

/// The ways to emulate a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EmulatedBy {
    /// Limits of control groups on loop devices over one loop device, which stands for the instance. Reads and writes
    /// are limited apart, and requests count as the kernel makes them.
    Cgroup,
    /// iostone's own disk server, which counts reads and writes together and does everything that is described here.
    Server,
}

/// A bucket of credits: it fills at the long-run rate, and what is in it may be spent faster.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// I/Os a second while credits last; with `credits`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<u32>,
    /// I/Os that the full bucket holds (gp2: 5400000).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credits: Option<u64>,
    /// Bytes a second while credits last; with `credit_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<ByteRate>,
    /// Bytes that the full bucket holds (st1: 1TiB for each TiB of the volume).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credit_bytes: Option<Bytes>,
    /// How full the bucket is when a trial begins; full if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Fraction>,
}

/// How latencies scatter around what is asked; none is ever below the device's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LatencySpread {
    /// The latency is the mean of an exponential distribution.
    Exponential,
    /// The latency is the median of a lognormal distribution with a sigma of 0.5: its 99th percentile is 3.2 medians.
    Lognormal,
    /// Anything from half to one and a half of the latency, all alike.
    Uniform,
}

/// A write cache that loses its content with the power.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VolatileCache {
    /// As much is held before writes wait; what is held goes to the medium in random order.
    pub size: Bytes,
}

/// What goes wrong on purpose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Fault {
    /// I/O errors.
    Error(ErrorFault),
    /// Nothing is answered for a while, again and again.
    Stall(StallFault),
}

/// I/O errors (EIO) on a part of the volume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorFault {
    /// The first byte; 0 if left out.
    #[serde(default)]
    pub offset: Bytes,
    /// So many bytes; to the end if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<Bytes>,
    /// Which requests; reads and writes if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<FaultyOperation>,
    /// The share of them that fails; all if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Fraction>,
}

/// Requests that fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FaultyOperation {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Flushes.
    Flush,
}

/// A pause that comes again and again, counted from the volume's first request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StallFault {
    /// From the start of one pause to the start of the next; the first comes after as long.
    pub every: Span,
    /// How long one lasts.
    pub lasts: Span,
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_bursts_is_the_servers_unless_somebody_says_otherwise() {
        let burst = Burst {
            iops: Some(3000),
            credits: Some(27_000),
            throughput: None,
            credit_bytes: None,
            start: None,
        };
        let plain = EmulatedVolume { iops: Some(100), ..EmulatedVolume::new(Bytes(1 << 30)) };
        let link = Link::of(ByteRate(62_500_000));
        let bursting_link = Link { iops: Some(1000), burst: Some(burst), ..link };
        assert_eq!(plain.effective_by(None), EmulatedBy::Cgroup);
        assert_eq!(plain.effective_by(Some(link)), EmulatedBy::Cgroup);
        assert_eq!(plain.effective_by(Some(bursting_link)), EmulatedBy::Server);
        let bursting = EmulatedVolume { burst: Some(burst), ..plain.clone() };
        assert_eq!(bursting.effective_by(None), EmulatedBy::Server);
        let asked = EmulatedVolume { by: Some(EmulatedBy::Cgroup), ..bursting };
        assert_eq!(asked.effective_by(Some(bursting_link)), EmulatedBy::Cgroup);
    }
}
