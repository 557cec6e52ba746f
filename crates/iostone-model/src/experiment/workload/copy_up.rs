//! What touching the files of a container's image for the first time is asked to cost.

mod check;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Ends;
use super::profile::{Profile, Profiled, Rehearsal, WorkloadKind};
use crate::experiment::check::Findings;
use crate::experiment::{Configuration, Timing};
use crate::metric::{Direction, Metric, Unit, metric};
use crate::omitted::is_default;
use crate::units::Bytes;

/// The large file's name below the directory that the workload works in.
pub const LARGE_FILE: &str = "large";

/// The name of a small file, counted from 0.
pub fn small_file(number: u32) -> String {
    format!("small-{number:05}")
}

/// First touches: files that lie in the image (or, without a container, were laid out beforehand) are opened, and a large
/// one is written to, which a layered filesystem copies up whole (Documentation/filesystems/overlayfs.rst, "Non-directories").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CopyUpWorkload {
    /// The large file's size.
    #[serde(default = "default_size")]
    pub size: Bytes,
    /// Small files that are looked up and opened once each.
    #[serde(default = "default_files")]
    pub files: u32,
    /// The size of each of them.
    #[serde(default = "default_file_size")]
    pub file_size: Bytes,
    /// Bytes of the first write, and of the second.
    #[serde(default = "default_write")]
    pub write: Bytes,
    /// Whether each write is made durable (fdatasync) within its time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sync: bool,
}

/// Files that lie in the lowest layer when the workload begins, of incompressible data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LowerFiles {
    /// The size of the one called [`LARGE_FILE`].
    pub large: Bytes,
    /// How many are called as [`small_file`] says.
    pub small_count: u32,
    /// The size of each of those.
    pub small: Bytes,
}

impl CopyUpWorkload {
    /// The room that its files take: a copied-up file lies there twice.
    fn room(&self) -> Bytes {
        let small = self.file_size.0.saturating_mul(u64::from(self.files));
        Bytes(self.size.0.saturating_mul(2).saturating_add(small))
    }
}

pub(super) const KIND: WorkloadKind = WorkloadKind::new("copy-up", COPY_UP_METRICS);

impl Profiled for CopyUpWorkload {
    fn profile(&self) -> Profile {
        let summary = [
            "first touches".to_owned(),
            format!("{} files of {} opened", self.files, self.file_size),
            format!("{} written into a file of {}", self.write, self.size),
        ];
        Profile {
            direct: Some(false),
            syncs: Some(self.sync),
            // Each write is made durable within its time, if that is asked for.
            flushed: Some(self.sync),
            must_reach_device: Some(self.sync),
            demand: Err("what copying a file up takes is what it finds out"),
            ends: Ends::ByWork,
            ramp: Some(Timing::default()),
            runs_here: true,
            room: Some(self.room()),
            lower_files: Some(LowerFiles {
                large: self.size,
                small_count: self.files,
                small: self.file_size,
            }),
            ..Profile::of_program(
                summary.into_iter().chain(self.sync.then(|| "synced".to_owned())).collect(),
                None,
            )
        }
    }

    fn check(&self, configuration: &Configuration, findings: &mut Findings<'_>) {
        check::check(self, &configuration.stack, findings);
    }

    /// A large file that still holds a write.
    fn rehearse(&mut self, _: Rehearsal) {
        const FILES: u32 = 20;
        self.write = self.write.min(Rehearsal::FILE);
        self.size = self.size.min(Rehearsal::FILE.max(self.write));
        self.files = self.files.min(FILES);
        self.file_size = self.file_size.min(Bytes(4096));
    }
}

fn default_size() -> Bytes {
    Bytes(200 << 20)
}

fn default_files() -> u32 {
    200
}

fn default_file_size() -> Bytes {
    Bytes(4096)
}

fn default_write() -> Bytes {
    Bytes(4096)
}

/// What the `copy-up` workload yields.
const COPY_UP_METRICS: &[Metric] = &[
    metric("copy_up_time", Unit::Seconds, Direction::Lower, "first write into the large file"),
    metric("rewrite_time", Unit::Seconds, Direction::Lower, "second write into the large file"),
    metric("create_time", Unit::Seconds, Direction::Lower, "first write of a new file"),
    metric("open_time", Unit::Seconds, Direction::Lower, "mean time to open a small file"),
    metric("stat_time", Unit::Seconds, Direction::Lower, "mean time to look up a small file"),
];
