//! What dd is asked to do.

mod check;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::profile::{Demand, Profile, Profiled, Rehearsal, WorkingSet, WorkloadKind};
use super::{Ends, Preparation, parts};
use crate::dataset::DataKind;
use crate::experiment::check::Findings;
use crate::experiment::{Configuration, Timing};
use crate::metric::{Direction, Metric, Unit, metric};
use crate::units::{Bytes, Fraction};

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

    fn summary(&self) -> Vec<String> {
        let what = match self.direction {
            DdDirection::Write if self.source() == "generated" => {
                format!("{} of generated data written", self.size)
            }
            DdDirection::Write => format!("{} written from {}", self.size, self.source()),
            DdDirection::Read => format!("{} read", self.size),
        };
        let list =
            |name: &str, words: &[&str]| (!words.is_empty()).then(|| format!("{name}={}", words.join(",")));
        let flags =
            |name: &str, words: &[String]| (!words.is_empty()).then(|| format!("{name}={}", words.join(",")));
        parts([
            Some("dd".to_owned()),
            Some(what),
            Some(format!("bs={}", self.bs)),
            list("conv", &self.conversions()),
            flags("oflag", &self.oflag),
            flags("iflag", &self.iflag),
        ])
    }
}

pub(super) const KIND: WorkloadKind =
    WorkloadKind { program: Some("dd"), ..WorkloadKind::new("dd", DD_METRICS) };

impl Profiled for DdWorkload {
    fn profile(&self) -> Profile {
        let writes = self.direction == DdDirection::Write;
        let is_generated = self.source() == "generated";
        let direct = self.is_direct();
        let of_direction = |bytes: Bytes| if writes { [Bytes(0), bytes] } else { [bytes, Bytes(0)] };
        let (words, bytes) = if writes {
            ("measure the source by itself: the same dd to /dev/null, about a second".to_owned(), Bytes(0))
        } else {
            let size = self.size;
            (format!("lay out a file of {size} with random data, sync it, drop it from the cache"), size)
        };
        Profile {
            direct: Some(direct),
            syncs: Some(self.syncs()),
            flushed: writes.then(|| self.syncs()),
            reads: !writes,
            writes,
            must_reach_device: Some(self.must_reach_device()),
            data: (!writes || is_generated).then_some(DataKind::Random),
            source: writes.then(|| self.source().to_owned()),
            working_set: WorkingSet::Bytes(self.size),
            demand: Ok(Demand {
                amount: Some(of_direction(self.size)),
                time: None,
                written: Fraction(if writes { 1.0 } else { 0.0 }),
                // dd waits for each block; through the page cache the kernel makes of them what it likes.
                io_size: direct.then_some(self.bs),
                depth: direct.then_some(1),
                random: false,
                rate: None,
                leaves_dirty: writes && !self.must_reach_device(),
                goes_around: false,
            }),
            ends: Ends::ByWork,
            ramp: Some(Timing::default()),
            room: Some(self.size),
            preparation: Some(Preparation { words, bytes }),
            ..Profile::of_program(self.summary(), KIND.program)
        }
    }

    fn check(&self, _: &Configuration, findings: &mut Findings<'_>) {
        check::check(self, findings);
    }

    fn rehearse(&mut self, _: Rehearsal) {
        self.size = self.size.min(Rehearsal::file_of(self.bs.0));
    }
}

/// What dd yields: bytes and seconds as it printed them, divided here.
const DD_METRICS: &[Metric] = &[
    metric("throughput", Unit::BytesPerSecond, Direction::Higher, "throughput"),
    metric("wall_time", Unit::Seconds, Direction::Lower, "elapsed time"),
];
