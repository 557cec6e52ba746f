//! What the volume gives beside what the page cache gives: a file read past the cache once bonnie++ has ended.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use iostone_engine::Job;
use iostone_model::load::Rw;
use iostone_model::units::Bytes;

use crate::{CpuUse, Measurement, WorkloadError};

/// Beside bonnie++'s own files, which are gone by then.
const FILE_NAME: &str = "iostone.direct";
/// Large enough that the volume's throughput is the limit, and enough of them that it never waits.
const BLOCK: Bytes = Bytes(1 << 20);
const DEPTH: u32 = 4;
/// The figure.
const METRIC: &str = "direct_read_throughput";

/// The file, removed again whatever happens.
struct Laid(PathBuf);

impl Drop for Laid {
    fn drop(&mut self) {
        // Its directory goes with the trial.
        let _ = fs::remove_file(&self.0);
    }
}

/// Lays the file out, untimed, and reads it once in order with `O_DIRECT`; the rate goes to the measurement.
pub(super) fn add(
    measurement: &mut Measurement,
    folder: &Path,
    size: Bytes,
    seed: u64,
    stop: &AtomicBool,
) -> Result<(), WorkloadError> {
    let file = Laid(folder.join(FILE_NAME));
    let mut job = Job::new(file.0.clone(), Rw::Read);
    job.bs = BLOCK.into();
    job.iodepth = DEPTH;
    job.size = Some(size);
    job.direct = true;
    job.seed = seed;
    let prepared = iostone_engine::prepare_watched(&job, stop, &mut |_| {})?;
    let before = CpuUse::of_this_process();
    let outcome = prepared.run(stop, &mut |_| {})?;
    let cpu = CpuUse::of_this_process().since(before);
    measurement.cpu = measurement.cpu.map(|used| used.plus(cpu));
    measurement.interrupted |= outcome.interrupted;
    let report = &mut measurement.report;
    if outcome.succeeded() && outcome.ios() > 0 {
        measurement.metrics.insert(METRIC.to_owned(), outcome.throughput_bytes_per_second());
        report.claimed_read_bytes = report.claimed_read_bytes.saturating_add(outcome.reads.bytes.0);
        report.claimed_written_bytes = report.claimed_written_bytes.saturating_add(size.0);
        let words = format!("{size} read with O_DIRECT, {BLOCK} at a time, {DEPTH} in flight");
        report.facts.insert("direct_read".to_owned(), words);
    } else if !outcome.interrupted {
        report.error =
            Some(format!("the file of {size} could not be read with O_DIRECT after bonnie++ had ended"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_past_the_cache_and_gone_afterwards() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let mut measurement = Measurement::default();
        let size = Bytes(8 << 20);
        let added = add(&mut measurement, folder.path(), size, 7, &AtomicBool::new(false));
        if let Err(error) = added {
            eprintln!("skipped: needs O_DIRECT here: {error}");
            return;
        }
        assert!(measurement.metrics[METRIC] > 0.0);
        assert_eq!(measurement.report.claimed_read_bytes, size.0);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
