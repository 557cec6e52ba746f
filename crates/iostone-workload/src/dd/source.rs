//! Where dd's data comes from: whether it can be read without waiting, and how fast it is by itself.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

use iostone_model::experiment::DdWorkload;
use iostone_model::metric::Unit;
use iostone_model::units::Bytes;
use rustix::fs::{major, minor};

use crate::program::Finished;
use crate::tool::{checked, observe};
use crate::{Measurement, WorkloadError};

/// Character devices that give data without end and without side effects: zero, full, random, urandom, hwrng
/// (devices.txt of the kernel's documentation). Opening others may do anything; a watchdog resets the machine.
const ENDLESS: &[(u32, u32)] = &[(1, 5), (1, 7), (1, 8), (1, 9), (10, 183)];
/// A rate is taken over this long, unless less is to be copied at all.
const LONG_ENOUGH: Duration = Duration::from_secs(1);
/// What the first look takes.
const FIRST_LOOK_BYTES: u64 = 32 << 20;

/// How fast a source is when what is read from it goes nowhere.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SourceRate {
    pub(super) bytes_per_second: f64,
    measured: Bytes,
}

/// Lets only sources through that give so many bytes without anybody being waited for.
///
/// # Errors
/// A sentence with the path and the reason.
pub(super) fn check(path: &Path, size: Bytes) -> Result<(), WorkloadError> {
    let shown = path.display();
    let refuse = |reason: String| Err(WorkloadError::Unsuitable { program: "dd", reason });
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) => return refuse(format!("the source `{shown}` cannot be looked at: {error}")),
    };
    let kind = metadata.file_type();
    if kind.is_file() && metadata.len() < size.0 {
        return refuse(format!(
            "the source `{shown}` holds {}, less than the {size} that are to be written; make `workload.size` smaller",
            Bytes(metadata.len())
        ));
    }
    let device = (major(metadata.rdev()), minor(metadata.rdev()));
    if kind.is_file() || (kind.is_char_device() && ENDLESS.contains(&device)) {
        return Ok(());
    }
    refuse(format!(
        "the source `{shown}` is neither a regular file nor a device such as `/dev/zero` or `/dev/urandom`, so that dd \
         might wait for ever, or do harm by opening it"
    ))
}

/// Measures the source with the same dd, written nowhere: a short look, then as much as takes a second.
///
/// # Errors
/// dd could not be started, failed, or was interrupted.
pub(super) fn measure(
    spec: &DdWorkload,
    copy: &mut dyn FnMut(Bytes) -> Result<Finished, WorkloadError>,
) -> Result<SourceRate, WorkloadError> {
    let block = spec.bs.0.max(1);
    let whole_blocks = |bytes: u64| Bytes((bytes.max(block) / block * block).min(spec.size.0));
    let mut size = whole_blocks(FIRST_LOOK_BYTES);
    loop {
        let finished = checked(copy(size)?)?;
        let observed = observe("dd", &finished.stderr).map_err(WorkloadError::Preparation)?;
        let figure = |name: &str| observed.value(name).filter(|value| *value > 0.0);
        let (Some(rate), Some(seconds)) = (figure("throughput"), figure("wall_time")) else {
            return Err(WorkloadError::Preparation("dd named no rate of its source".to_owned()));
        };
        let enough = seconds >= LONG_ENOUGH.as_secs_f64() || size >= spec.size;
        if enough {
            return Ok(SourceRate { bytes_per_second: rate, measured: size });
        }
        // A little more than a second's worth, since rates vary; four times as much at least, so that this ends.
        let took = Duration::try_from_secs_f64(seconds).unwrap_or(LONG_ENOUGH).as_nanos().max(1);
        let wanted = u128::from(size.0) * (LONG_ENOUGH.as_nanos() * 6 / 5) / took;
        let wanted = u64::try_from(wanted).unwrap_or(u64::MAX);
        size = whole_blocks(wanted.max(size.0.saturating_mul(4)));
    }
}

impl SourceRate {
    /// States the source and its rate among the facts of a trial.
    pub(super) fn state(&self, measured: &mut Measurement, source: &str) {
        let words = match source {
            "generated" => "generated: incompressible, through a pipe".to_owned(),
            "/dev/zero" => "/dev/zero: zeros, which storage may compress or never store".to_owned(),
            path => path.to_owned(),
        };
        measured.state("source", words);
        measured.state(
            "source_rate",
            format!(
                "{} by itself (dd to /dev/null, {} before the trial): a ceiling of what can be written",
                Unit::BytesPerSecond.format(self.bytes_per_second),
                self.measured.approximate()
            ),
        );
        measured.state("source_bytes_per_second", format!("{:.0}", self.bytes_per_second));
    }
}
