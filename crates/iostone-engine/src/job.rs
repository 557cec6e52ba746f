//! What to do to a target: a job, in fio's words where fio has them.

use std::path::PathBuf;

use iostone_model::units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use crate::error::EngineError;

/// The largest `bs`. Linux moves at most 2 GiB per call (`MAX_RW_COUNT`), and a fixed buffer is at most 1 GiB.
pub(crate) const LARGEST_BLOCK_BYTES: u64 = 1 << 30;
/// The most entries that the kernel gives a ring (`IORING_MAX_ENTRIES`).
pub(crate) const DEEPEST_QUEUE: u32 = 32_768;
/// More threads than this are a mistake in the unit of something.
const MOST_THREADS: u32 = 4_096;

/// Direction and order of the I/O; fio's `rw`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rw {
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Random reads.
    RandRead,
    /// Random writes.
    RandWrite,
}

impl Rw {
    /// Whether the job changes its target.
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::RandWrite)
    }

    /// Whether blocks are visited in random order.
    pub fn is_random(self) -> bool {
        matches!(self, Self::RandRead | Self::RandWrite)
    }
}

/// Whether each write is durable before it completes; fio's `sync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteSync {
    /// Writes complete when the kernel has taken them.
    #[default]
    None,
    /// `O_DSYNC`: data, and the metadata needed to read it back, are durable; see open(2).
    Dsync,
    /// `O_SYNC`: all metadata as well; see open(2).
    Sync,
}

/// Which engine issues the I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineChoice {
    /// Synchronous calls at depth 1, where a ring can only add cost; above that `io_uring`.
    #[default]
    Auto,
    /// `io_uring`, or an error that says why not.
    IoUring,
    /// pread(2), pwrite(2), fsync(2) and fdatasync(2); depth 1 only.
    Sync,
}

/// How often the clock is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stamp {
    /// Once per batch of completions reaped together; writes are stamped again before they are submitted.
    /// A completion is late by at most the time it takes to reap its batch.
    #[default]
    PerBatch,
    /// Once per batch submitted and once per completion. Costs several per cent of the rate.
    PerIo,
}

/// One load on one target.
///
/// With neither `runtime` nor `io_size`, each thread goes over its part of the span once. With `runtime` alone it
/// goes over it again and again until the time is up (fio's `time_based`). With both, whichever comes first ends it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// A regular file (made if missing, see `layout`), a block device, or `/dev/null`, `/dev/zero`, `/dev/full`.
    pub target: PathBuf,
    /// Direction and order.
    pub rw: Rw,
    /// Bytes per I/O.
    #[serde(default = "default_bs")]
    pub bs: Bytes,
    /// I/Os in flight per thread, at least 1.
    #[serde(default = "default_one")]
    pub iodepth: u32,
    /// The span of the target that is used, from its start. Default: all of a file or block device that exists.
    #[serde(default)]
    pub size: Option<Bytes>,
    /// Goes around the page cache (`O_DIRECT`).
    #[serde(default)]
    pub direct: bool,
    /// fsync(2) after every this many writes, which waits for the writes before it; 0 is never.
    #[serde(default)]
    pub fsync: u32,
    /// fdatasync(2) after every this many writes, likewise; where both fall due, fsync covers both.
    #[serde(default)]
    pub fdatasync: u32,
    /// Whether each write is durable before it completes.
    #[serde(default)]
    pub sync: WriteSync,
    /// Length of the measured window.
    #[serde(default)]
    pub runtime: Option<Span>,
    /// Bytes to transfer per thread in the measured window.
    #[serde(default)]
    pub io_size: Option<Bytes>,
    /// I/O goes on for this long before the window opens, and no figure counts it.
    #[serde(default)]
    pub ramp_time: Span,
    /// Which engine issues the I/O.
    #[serde(default)]
    pub engine: EngineChoice,
    /// How often the clock is read.
    #[serde(default)]
    pub stamp: Stamp,
    /// Seed of offsets and data; the same seed gives the same I/O.
    #[serde(default)]
    pub seed: u64,
    /// Threads. Random jobs each cover the whole span in an order of their own, sequential ones a part each.
    #[serde(default = "default_one")]
    pub numjobs: u32,
    /// Fills a file's missing end and holes with random data first, so that reads come from the device and
    /// writes meet allocated blocks. Data that is there is never overwritten by it.
    #[serde(default = "default_true")]
    pub layout: bool,
    /// Writes back and drops the target's pages from the page cache before the I/O begins.
    #[serde(default = "default_true")]
    pub invalidate: bool,
}

fn default_bs() -> Bytes {
    Bytes(4096)
}

fn default_one() -> u32 {
    1
}

fn default_true() -> bool {
    true
}

impl Job {
    /// A job with fio's defaults: 4 KiB blocks, depth 1, one thread, through the page cache.
    pub fn new(target: impl Into<PathBuf>, rw: Rw) -> Self {
        Self {
            target: target.into(),
            rw,
            bs: default_bs(),
            iodepth: 1,
            size: None,
            direct: false,
            fsync: 0,
            fdatasync: 0,
            sync: WriteSync::None,
            runtime: None,
            io_size: None,
            ramp_time: Span::default(),
            engine: EngineChoice::Auto,
            stamp: Stamp::PerBatch,
            seed: 0,
            numjobs: 1,
            layout: true,
            invalidate: true,
        }
    }

    /// Checks everything that can be checked without touching the target.
    ///
    /// # Errors
    /// [`EngineError::Invalid`] names the field, its value and what would be right.
    pub fn check(&self) -> Result<(), EngineError> {
        let refuse =
            |field, value: String, reason: String| Err(EngineError::Invalid { field, value, reason });
        if self.bs.0 == 0 || self.bs.0 > LARGEST_BLOCK_BYTES {
            return refuse("bs", self.bs.to_string(), "it must be from 1B to 1GiB".into());
        }
        if self.iodepth == 0 || self.iodepth > DEEPEST_QUEUE {
            return refuse(
                "iodepth",
                self.iodepth.to_string(),
                format!("it must be from 1 to {DEEPEST_QUEUE}"),
            );
        }
        if self.numjobs == 0 || self.numjobs > MOST_THREADS {
            return refuse(
                "numjobs",
                self.numjobs.to_string(),
                format!("it must be from 1 to {MOST_THREADS}"),
            );
        }
        for (field, size) in [("size", self.size), ("io_size", self.io_size)] {
            let Some(size) = size else { continue };
            if size < self.bs {
                return refuse(
                    field,
                    size.to_string(),
                    format!("it is smaller than one block of {}", self.bs),
                );
            }
            if !size.0.is_multiple_of(self.bs.0) {
                let whole = Bytes(size.0 / self.bs.0 * self.bs.0);
                let reason = format!("it is not a multiple of `bs` = {}; the next below is {whole}", self.bs);
                return refuse(field, size.to_string(), reason);
            }
        }
        if self.runtime.is_some_and(|runtime| runtime.0.is_zero()) {
            return refuse("runtime", "0s".into(), "a window needs a length".into());
        }
        if !self.rw.writes() {
            let asked = [
                ("fsync", self.fsync > 0, self.fsync.to_string()),
                ("fdatasync", self.fdatasync > 0, self.fdatasync.to_string()),
                ("sync", self.sync != WriteSync::None, format!("{:?}", self.sync).to_lowercase()),
            ];
            if let Some((field, _, value)) = asked.into_iter().find(|(_, given, _)| *given) {
                return refuse(field, value, "a job that only reads has nothing to make durable".into());
            }
        }
        if self.engine == EngineChoice::Sync && self.iodepth > 1 {
            return Err(EngineError::DepthNeedsRing {
                iodepth: self.iodepth,
                reason: "the `sync` engine has one I/O in flight per thread; use `numjobs` for more, or \
                         `engine = \"io_uring\"`"
                    .into(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut Job)) -> String {
        let mut job = Job::new("/nowhere", Rw::Write);
        change(&mut job);
        job.check().unwrap_err().to_string()
    }

    #[test]
    fn a_job_needs_no_more_than_target_and_direction() {
        let job: Job = serde_json::from_str(r#"{"target": "/dev/zero", "rw": "randread"}"#).unwrap();
        assert_eq!(job, Job::new("/dev/zero", Rw::RandRead));
        job.check().unwrap();
    }

    #[test]
    fn a_job_reads_back_the_same() {
        let mut job = Job::new("/tmp/f", Rw::RandWrite);
        job.size = Some(Bytes(1 << 20));
        job.runtime = "1500ms".parse().ok();
        job.sync = WriteSync::Dsync;
        job.engine = EngineChoice::IoUring;
        job.stamp = Stamp::PerIo;
        job.seed = u64::MAX;
        let text = serde_json::to_string(&job).unwrap();
        assert_eq!(serde_json::from_str::<Job>(&text).unwrap(), job);
    }

    #[test]
    fn an_unknown_field_is_refused() {
        assert!(serde_json::from_str::<Job>(r#"{"target": "a", "rw": "read", "iodpeth": 4}"#).is_err());
    }

    #[test]
    fn contradictions_are_named_with_what_would_be_right() {
        assert_eq!(refused(|job| job.iodepth = 0), "`iodepth` of `0` is refused: it must be from 1 to 32768");
        assert!(refused(|job| job.bs = Bytes(0)).contains("`bs`"));
        assert!(refused(|job| job.numjobs = 0).contains("`numjobs`"));
        assert!(refused(|job| job.size = Some(Bytes(1024))).contains("smaller than one block of 4KiB"));
        let message = refused(|job| job.io_size = Some(Bytes(10_000)));
        assert!(message.contains("not a multiple of `bs` = 4KiB; the next below is 8KiB"), "{message}");
        assert!(refused(|job| job.runtime = Some(Span::default())).contains("`runtime`"));
        assert!(
            refused(|job| {
                job.rw = Rw::Read;
                job.fdatasync = 1;
            })
            .contains("`fdatasync` of `1`")
        );
        assert!(
            refused(|job| {
                job.engine = EngineChoice::Sync;
                job.iodepth = 2;
            })
            .contains("one I/O in flight per thread")
        );
    }
}
