//! The load engine: reads or writes a file or block device with a given queue depth and says how fast that went.
//!
//! One thread has one ring (or none, at depth 1), its own memory, offsets, histogram and time series; threads share
//! nothing until the end. Per I/O nothing is allocated, locked or asked of the kernel beyond the one
//! `io_uring_enter` per batch, so that the figures are the device's and not the engine's. Every I/O's latency is
//! recorded. The words are fio's where fio has them.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//!
//! use iostone_engine::{Job, run};
//! use iostone_model::load::Rw;
//! use iostone_model::units::Bytes;
//!
//! # let folder = tempfile::tempdir()?;
//! let mut job = Job::new(folder.path().join("data"), Rw::RandWrite);
//! job.size = Some(Bytes(1 << 20));
//! job.fdatasync = 64;
//! let outcome = run(&job, &AtomicBool::new(false), &mut |_| ())?;
//! assert_eq!((outcome.writes.ios, outcome.syncs.count), (256, 4));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A job goes through [`prepare`], which touches the target but measures nothing, and [`Prepared::run`], which
//! measures. What keeps it from starting is an [`EngineError`]; an I/O that fails later is an [`IoFault`] in the
//! [`Outcome`], beside the figures up to it.
//!
//! Several targets take turns, or are one [`Volume`]: then each request is cut at the boundaries of its members, and
//! is done when its last piece is.
//!
//! Without a rate a job is a closed loop: a new I/O is submitted when one completes, and latencies are service times.
//! With one ([`Pace`]) it is an open loop, and response times, from the intended start, are recorded beside them.

mod arena;
mod clock;
mod device;
mod driver;
mod engine;
mod error;
mod extents;
mod fault;
mod histogram;
mod job;
mod layout;
mod monitor;
mod outcome;
mod payload;
mod pins;
mod prepared;
mod processor;
mod slots;
mod source;
mod summary;
mod target;
mod tsc;
mod usage;
mod verify;
mod volume;
mod worker;

pub use error::EngineError;
pub use extents::{FileExtent, extents_of};
pub use fault::{IoFault, Operation};
pub use histogram::{HistogramError, LatencyHistogram, SparseHistogram};
pub use job::{
    Advice, Checksum, Content, Data, Job, LeastRate, Pace, Preparation, Rate, Service, ServiceOrder, Stamp,
    SteadyLimit, SteadyOf, SteadyRule, Strides, Think, Verify, Volume, Walk,
};
pub use outcome::{
    ClockKind, CpuTime, CpuUse, EngineKind, EngineReport, IntervalLatency, Layout, Outcome, SERIES_INTERVAL,
    Scheduling, Series, Steadiness, Syncs, Transfers,
};
pub use payload::NoiseStream;
pub use pins::{Pin, Pins, make_room_for_files, path_of_open};
pub use prepared::{Phase, Prepared, Progress, prepare, prepare_pinned, prepare_watched, run, run_together};
pub use target::claim_device;
pub use verify::{
    ExpectedUnit, Finding, HEADER_BYTES, HeaderError, Mismatch, MismatchKind, UnitChecksum, UnitContent,
    UnitHeader, VerifyReport, check_ledger_head, check_pattern, check_unit, identify_job,
};

/// Whether the kernel grants this process an `io_uring`; if not, why.
///
/// # Errors
/// The reason, as a sentence: an old kernel, `kernel.io_uring_disabled`, a seccomp filter.
pub fn uring_available() -> Result<(), String> {
    engine::uring::probe()
}
