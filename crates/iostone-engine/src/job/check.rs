//! Everything about a job that can be refused without touching its targets.

mod volume;

use iostone_model::load::{BlockSizes, Direction, IoEngine, RandomDistribution, SyncMode};
use iostone_model::units::Bytes;

use super::{Checksum, Content, Job, Preparation, Rate, ServiceOrder};
use crate::error::EngineError;

/// The largest `bs`. Linux moves at most 2 GiB per call (`MAX_RW_COUNT`), and a fixed buffer is at most 1 GiB.
const LARGEST_BLOCK_BYTES: u64 = 1 << 30;
/// The most entries that the kernel gives a ring (`IORING_MAX_ENTRIES`).
pub(crate) const DEEPEST_QUEUE: u32 = 32_768;
/// More threads than this are a mistake in the unit of something.
const MOST_THREADS: u32 = 4_096;
/// More targets than this per job cannot be open at once on a common machine.
const MOST_TARGETS: usize = 4_096;

type Verdict = Result<(), EngineError>;

#[expect(clippy::needless_pass_by_value, reason = "numbers and texts alike, written where they are refused")]
fn refuse<T>(field: &'static str, value: impl ToString, reason: impl Into<String>) -> Result<T, EngineError> {
    Err(EngineError::Invalid { field, value: value.to_string(), reason: reason.into() })
}

fn check_between(field: &'static str, value: u64, least: u64, most: u64) -> Verdict {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    refuse(field, value, format!("it must be from {least} to {most}"))
}

impl Job {
    /// Checks everything that can be checked without touching the targets.
    ///
    /// # Errors
    /// [`EngineError::Invalid`] names the field, its value and what would be right.
    pub fn check(&self) -> Result<(), EngineError> {
        check_between("targets", self.targets.len() as u64, 1, MOST_TARGETS as u64)?;
        check_between("iodepth", self.iodepth.into(), 1, DEEPEST_QUEUE.into())?;
        check_between("iodepth_batch", self.batch.into(), 1, DEEPEST_QUEUE.into())?;
        check_between("numjobs", self.numjobs.into(), 1, MOST_THREADS.into())?;
        check_between("rwmixread", self.rwmixread.into(), 0, 100)?;
        check_between("file_service_type", self.service.every.into(), 1, u32::MAX.into())?;
        if let Some(low) = self.iodepth_low {
            check_between("iodepth_low", low.into(), 0, u64::from(self.iodepth) - 1)?;
        }
        for direction in self.directions() {
            check_sizes(self.bs.of(direction))?;
        }
        self.check_limits()?;
        self.check_walk()?;
        self.check_start()?;
        self.check_durability()?;
        self.check_pace()?;
        self.check_data()?;
        self.check_volume()?;
        self.check_engine()
    }

    fn check_limits(&self) -> Verdict {
        let Some(bs) = self.only_block_size() else {
            return self.check_window();
        };
        // A file may be as long as it likes, and only whole blocks of it are used; I/O is in whole blocks.
        for (field, size) in [("size", self.size), ("io_size", self.io_size)] {
            if let Some(size) = size.filter(|size| *size < bs) {
                return refuse(field, size, format!("it is smaller than one block of {bs}"));
            }
        }
        if let Some(size) = self.io_size.filter(|size| !size.0.is_multiple_of(bs.0)) {
            let whole = Bytes(size.0 / bs.0 * bs.0);
            let reason = format!("it is not a multiple of `bs` = {bs}; the next below is {whole}");
            return refuse("io_size", size, reason);
        }
        self.check_window()
    }

    fn check_window(&self) -> Verdict {
        if self.runtime.is_some_and(|runtime| runtime.0.is_zero()) {
            return refuse("runtime", "0s", "a window needs a length");
        }
        if self.ios == Some(0) {
            return refuse("number_ios", 0, "leave it out for no limit");
        }
        Ok(())
    }

    /// The block size, if all directions always have the same.
    fn only_block_size(&self) -> Option<Bytes> {
        (self.smallest_block() == self.largest_block()).then(|| self.largest_block())
    }

    fn check_walk(&self) -> Verdict {
        let walk = &self.walk;
        check_between("rw", walk.run_length.into(), 1, u32::MAX.into())?;
        for direction in Direction::ALL {
            check_between("percentage_random", (*walk.percentage_random.of(direction)).into(), 0, 100)?;
        }
        if walk.align.is_some_and(|align| align.0 == 0) {
            return refuse("blockalign", 0, "it must be at least 1 byte");
        }
        if let Some(strides) = walk.strides {
            if strides.io.0 == 0 || strides.range.0 == 0 {
                return refuse("zonesize", 0, "a zone needs a length");
            }
            if strides.range < self.largest_block() {
                return refuse("zonerange", strides.range, "it is smaller than one block");
            }
        }
        if let ServiceOrder::Random(distribution) = &self.service.order {
            check_distribution(distribution)?;
        }
        check_distribution(&walk.distribution)
    }

    fn check_durability(&self) -> Verdict {
        if self.rw.writes() {
            return Ok(());
        }
        let asked = [
            ("fsync", self.fsync > 0, self.fsync.to_string()),
            ("fdatasync", self.fdatasync > 0, self.fdatasync.to_string()),
            (
                "sync_file_range",
                self.sync_file_range.is_some(),
                self.sync_file_range.map_or_else(String::new, |sync| sync.to_string()),
            ),
            ("sync", self.sync != SyncMode::None, format!("{:?}", self.sync).to_lowercase()),
        ];
        match asked.into_iter().find(|(_, given, _)| *given) {
            Some((field, _, value)) if !self.rw.trims() => {
                refuse(field, value, "a job that only reads has nothing to make durable")
            }
            _ => Ok(()),
        }
    }

    fn check_pace(&self) -> Verdict {
        for direction in Direction::ALL {
            let (value, unit) = match self.pace.rate.of(direction) {
                None => continue,
                Some(Rate::Iops(rate)) => (*rate, "I/Os"),
                Some(Rate::Bytes(rate)) => (rate.0, "bytes"),
            };
            // From one a day to one a picosecond: anything else is a mistake.
            if !(1e-5..=1e12).contains(&value) {
                return refuse("rate", value, format!("it must be a number of {unit} per second above 0"));
            }
        }
        if self.think.is_some_and(|think| think.every == 0) {
            return refuse("thinktime_blocks", 0, "it must be at least 1");
        }
        if let Some(rule) = self.steady
            && (rule.interval.0.is_zero() || rule.over.0 < rule.interval.0 * 2)
        {
            return refuse("ss_dur", rule.over, "it must be at least two intervals long");
        }
        Ok(())
    }

    fn check_data(&self) -> Verdict {
        check_between("buffer_compress_percentage", self.data.compress_percent.into(), 0, 100)?;
        check_between("dedupe_percentage", self.data.dedupe_percent.into(), 0, 100)?;
        if matches!(&self.data.content, Content::Pattern(bytes) if bytes.is_empty()) {
            return refuse("buffer_pattern", "", "a pattern needs at least one byte");
        }
        let Some(verify) = &self.verify else { return Ok(()) };
        if matches!(&verify.checksum, Checksum::Pattern(bytes) if bytes.is_empty()) {
            return refuse("verify_pattern", "", "a pattern needs at least one byte");
        }
        if self.rw.trims() {
            return refuse("verify", self.rw.word(), "discarded blocks hold nothing to be checked");
        }
        let unit = self.verify_unit();
        // A header of 64 bytes, and something to be checked with it.
        if unit.0 < 128 {
            return refuse("verify_interval", unit, "it must be at least 128 bytes");
        }
        if self.block_sizes().any(|bytes| !bytes.0.is_multiple_of(unit.0)) {
            return refuse("verify_interval", unit, "every block size must be a multiple of it");
        }
        Ok(())
    }

    /// Bytes per verified unit.
    pub(crate) fn verify_unit(&self) -> Bytes {
        self.verify.as_ref().and_then(|verify| verify.unit).unwrap_or_else(|| self.smallest_block())
    }

    fn check_engine(&self) -> Verdict {
        let (engine, instead) = match self.engine {
            IoEngine::Sync => ("sync", "`numjobs` for more, or `engine = \"io_uring\"`"),
            IoEngine::Mmap => ("mmap", "`numjobs` for more"),
            _ => return Ok(()),
        };
        if self.iodepth > 1 {
            return Err(EngineError::DepthNeedsRing {
                iodepth: self.iodepth,
                reason: format!("the `{engine}` engine has one I/O in flight per thread; use {instead}"),
            });
        }
        if self.engine == IoEngine::Mmap { self.check_mapping() } else { Ok(()) }
    }

    fn check_mapping(&self) -> Verdict {
        if !self.flags.is_empty() {
            return refuse("flags", "mmap", "memory that is mapped has no requests to flag");
        }
        if self.direct {
            return refuse("direct", true, "a mapping is the page cache itself");
        }
        if self.sync != SyncMode::None {
            let value = format!("{:?}", self.sync).to_lowercase();
            return refuse("sync", value, "stores into a mapping pass it by; use `fsync` or `fdatasync`");
        }
        let only_checks = self.verify.as_ref().is_some_and(|verify| verify.only);
        if self.rw.writes()
            && !only_checks
            && matches!(self.preparation, Preparation::Leave | Preparation::Reserve)
        {
            let value = format!("{:?}", self.preparation).to_lowercase();
            return refuse("preparation", value, "a mapping cannot extend a file; use `allocate`");
        }
        Ok(())
    }
}

fn check_sizes(sizes: &BlockSizes) -> Verdict {
    match sizes.written().into_iter().find(|bytes| bytes.0 == 0 || bytes.0 > LARGEST_BLOCK_BYTES) {
        Some(bytes) => refuse("bs", bytes, "it must be from 1B to 1GiB"),
        None => Ok(()),
    }
}

fn check_distribution(distribution: &RandomDistribution) -> Verdict {
    distribution.check().or_else(|reason| refuse("random_distribution", distribution, reason))
}
