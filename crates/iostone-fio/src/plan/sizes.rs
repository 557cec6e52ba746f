//! Which part of its files a clone uses and how much it moves, by fio's rules (its `setup_files`).

use iostone_engine::Job;

use crate::job_file::Section;
use crate::plan::targets::{Look, paths};
use crate::plan::{Planner, mix};
use crate::values::{Direction, Portion};

/// One clone's region and amount.
pub(super) struct Sized {
    pub(super) targets: Vec<String>,
    pub(super) offset_bytes: u64,
    /// None: all that is there.
    pub(super) length_bytes: Option<u64>,
    pub(super) io_bytes: Option<u64>,
    pub(super) ios: Option<u64>,
}

/// The region of one file.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Region {
    offset_bytes: u64,
    length_bytes: u64,
}

const DIRECTIONS: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];

impl Planner<'_> {
    pub(super) fn plan_sizes(&mut self, section: &Section, job: &Job, clone: u32) -> Option<Sized> {
        let targets = paths(section, clone, self.planning.targets);
        if targets.iter().any(|target| target == "-") {
            self.refuse_job(
                section,
                "filename",
                "`-` is standard input or output, which is no file or block device",
            );
            return None;
        }
        let looks: Vec<Look> = targets.iter().map(|target| self.look(target)).collect();
        if section.options.allow_file_create == Some(false)
            && let Some((target, _)) = targets.iter().zip(&looks).find(|(_, look)| **look == Look::Missing)
        {
            self.refuse_job(
                section,
                "allow_file_create",
                format!("`{target}` is missing and may not be made"),
            );
            return None;
        }
        let regions = self.regions(section, job, &targets, &looks, clone)?;
        let first = *regions.first()?;
        if regions.iter().any(|region| region.offset_bytes != first.offset_bytes) {
            self.refuse_job(
                section,
                "offset",
                "the files of a job differ in size, and so in where the region begins",
            );
            return None;
        }
        let takes_all = section.options.size.is_none() && section.options.filesize.is_none();
        let differ = regions.iter().any(|region| region.length_bytes != first.length_bytes);
        if differ && !takes_all {
            let option = if section.options.filesize.is_some() { "filesize" } else { "size" };
            self.refuse_job(section, option, "the files of a job would differ in size");
            return None;
        }
        for ((target, look), region) in targets.iter().zip(&looks).zip(&regions) {
            if let Look::Missing | Look::File(_) = look {
                let end = region.offset_bytes.saturating_add(region.length_bytes);
                let size = self.made.entry(target.clone()).or_default();
                *size = end.max(*size);
            }
        }
        // Files are as long as they are said to be, and only whole blocks of them are gone over.
        let whole = smallest_used(job);
        let total: u64 = regions.iter().map(|region| region.length_bytes - region.length_bytes % whole).sum();
        let (io_bytes, ios) = amounts(section, job, total);
        Some(Sized {
            targets,
            offset_bytes: first.offset_bytes,
            length_bytes: (!differ).then_some(first.length_bytes),
            io_bytes,
            ios,
        })
    }

    /// What will be at a path when the job runs.
    fn look(&self, target: &str) -> Look {
        match (self.planning.targets.look(target), self.made.get(target)) {
            (Look::Missing, Some(made)) => Look::File(*made),
            (Look::File(bytes), Some(made)) => Look::File(bytes.max(*made)),
            (look, _) => look,
        }
    }

    fn regions(
        &mut self,
        section: &Section,
        job: &Job,
        targets: &[String],
        looks: &[Look],
        clone: u32,
    ) -> Option<Vec<Region>> {
        let options = &section.options;
        let block = smallest_block(section);
        let count = targets.len() as u64;
        let wanted = match options.size {
            Some(Portion::Bytes(size)) => size.0,
            _ => 0,
        };
        let mut regions = Vec::with_capacity(targets.len());
        for (index, (target, look)) in targets.iter().zip(looks).enumerate() {
            let real = match look {
                Look::File(bytes) | Look::Device(bytes) => Some(*bytes),
                Look::Missing | Look::Other => None,
            };
            let offset = self.offset(section, real, block, clone)?;
            let share = wanted / count;
            let length = if let Some(range) = options.filesize {
                let kept = real.filter(|bytes| (range.least.0..=range.most.0).contains(bytes));
                let width = (range.most.0 - range.least.0).saturating_add(1);
                let drawn = range.least.0 + mix(u64::from(self.number) << 32 | index as u64) % width;
                let whole = kept.unwrap_or(drawn);
                whole.checked_sub(offset)
            } else if share > 0 {
                Some(share)
            } else {
                real.filter(|bytes| *bytes > 0).and_then(|bytes| bytes.checked_sub(offset))
            };
            let Some(mut length) = length.filter(|length| *length > 0) else {
                let (option, why) = match real {
                    Some(bytes) if bytes > 0 => {
                        ("offset", format!("`{target}` ends before the region begins"))
                    }
                    _ => ("size", format!("`size` is missing: `{target}` has none of its own")),
                };
                self.refuse_job(section, option, why);
                return None;
            };
            if let Some(Portion::Percent(percent)) = options.size
                && percent < 100
            {
                // The share is of all of the file, what is before the region included.
                let whole = u128::from(length) + u128::from(offset);
                length = length.min(u64::try_from(whole * u128::from(percent) / 100).unwrap_or(u64::MAX));
            }
            let whole = smallest_used(job);
            if length < whole {
                self.refuse_job(
                    section,
                    "size",
                    format!("`{target}` has less than one block of {whole} bytes to go over"),
                );
                return None;
            }
            regions.push(Region { offset_bytes: offset, length_bytes: length });
        }
        Some(regions)
    }

    /// Where the region begins; fio's `get_start_offset`.
    fn offset(&mut self, section: &Section, real: Option<u64>, block: u64, clone: u32) -> Option<u64> {
        let options = &section.options;
        let mut is_share = false;
        let mut bytes = |portion: Option<Portion>| match portion {
            None => Some(0),
            Some(Portion::Bytes(bytes)) => Some(bytes.0),
            Some(Portion::Percent(percent)) => {
                is_share = true;
                let share = u128::from(real?) * u128::from(percent) / 100;
                u64::try_from(share).ok()
            }
        };
        let start = bytes(options.offset);
        let step = bytes(options.offset_increment);
        let sum =
            start.zip(step).and_then(|(start, step)| step.checked_mul(clone.into())?.checked_add(start));
        let Some(sum) = sum else {
            self.refuse_job(section, "offset", "a share of a file that is not there yet is not known");
            return None;
        };
        let align = options.offset_align.filter(|align| *align > 0).unwrap_or(block);
        Some(if is_share { sum.div_ceil(align).saturating_mul(align) } else { sum })
    }
}

/// The smallest block of any direction, used or not; fio's `td_min_bs`.
pub(super) fn smallest_block(section: &Section) -> u64 {
    let smallest = DIRECTIONS.into_iter().map(|direction| {
        use crate::values::BlockChoice;
        match section.options.block_choice(direction) {
            BlockChoice::Fixed(bytes) => bytes.0,
            BlockChoice::Range(range) => range.least.0,
            BlockChoice::Split(shares) => shares.iter().map(|share| share.size.0).min().unwrap_or(u64::MAX),
        }
    });
    smallest.min().unwrap_or(1).max(1)
}

/// Bytes and I/Os after which a clone ends; none where time alone ends it, or one pass does.
fn amounts(section: &Section, job: &Job, total: u64) -> (Option<u64>, Option<u64>) {
    let options = &section.options;
    let loops = u64::from(options.loops.unwrap_or(1));
    if options.time_based == Some(true) && job.runtime.is_some() {
        return (None, None);
    }
    let ios = options.number_ios.filter(|ios| *ios > 0).map(|ios| ios.saturating_mul(loops));
    let block = smallest_used(job);
    let mut bytes = match options.io_size {
        None => None,
        Some(Portion::Bytes(size)) if size.0 == 0 => None,
        Some(Portion::Bytes(size)) => Some(size.0.div_ceil(block).saturating_mul(block)),
        Some(Portion::Percent(percent)) => {
            let share = u64::try_from(u128::from(total) * u128::from(percent) / 100).unwrap_or(total);
            Some(share.div_ceil(block).saturating_mul(block))
        }
    };
    let once = bytes.is_none() && loops == 1;
    if once && job.runtime.is_none() && ios.is_none() {
        return (None, None);
    }
    let pass = bytes.take().unwrap_or_else(|| with_gaps(total, job));
    // Blocks that are discarded before they are written are gone over twice.
    let passes = if job.rw.trims() && job.rw.writes() { 2 } else { 1 };
    (Some(pass.saturating_mul(loops).saturating_mul(passes)), ios)
}

/// What a sequential pass moves when it leaves gaps.
fn with_gaps(total: u64, job: &Job) -> u64 {
    let skip = job.walk.skip_bytes;
    let smallest = smallest_used(job);
    if job.rw.is_random() || skip == 0 {
        return total;
    }
    let step = i128::from(smallest) + i128::from(skip);
    let step = u64::try_from(step.unsigned_abs()).unwrap_or(u64::MAX).max(1);
    total.div_ceil(step).saturating_mul(smallest).min(total)
}

/// The smallest block that a job moves.
fn smallest_used(job: &Job) -> u64 {
    let used =
        [(job.rw.reads(), &job.bs.read), (job.rw.writes(), &job.bs.write), (job.rw.trims(), &job.bs.trim)];
    let smallest = used.into_iter().filter(|(has, _)| *has).map(|(_, size)| size.smallest().0).min();
    smallest.unwrap_or(1).max(1)
}
