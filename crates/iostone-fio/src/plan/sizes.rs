//! Which part of its files a clone uses and how much it moves, by fio's rules (its `setup_files`).

use iostone_engine::Job;
use iostone_model::load::Direction;

use crate::job_file::Section;
use crate::place::Place;
use crate::plan::targets::{Look, paths};
use crate::plan::{Planner, mix};
use crate::values::Portion;

/// One clone's region and amount.
pub(super) struct Sized {
    pub(super) targets: Vec<String>,
    pub(super) offset_bytes: u64,
    /// None: all that is there.
    pub(super) length_bytes: Option<u64>,
    pub(super) io_bytes: Option<u64>,
    pub(super) ios: Option<u64>,
    /// How far from where it begins a clone can get.
    pub(super) reach_bytes: u64,
}

impl Sized {
    /// Whether two clones can come to the same blocks.
    pub(super) fn meets(&self, other: &Self) -> bool {
        let end = |sized: &Self| sized.offset_bytes.saturating_add(sized.reach_bytes);
        let apart = end(self) <= other.offset_bytes || end(other) <= self.offset_bytes;
        !apart && self.targets.iter().any(|target| other.targets.contains(target))
    }
}

/// The region of one file.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Region {
    offset_bytes: u64,
    length_bytes: u64,
    /// The end of the file, which may lie behind that of the region.
    end_of_file: u64,
}

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
        let takes_all = (section.options.size.is_none() && section.options.filesize.is_none())
            || looks.iter().zip(&regions).all(|(look, region)| match look {
                Look::Device(bytes) => region.offset_bytes.checked_add(region.length_bytes) == Some(*bytes),
                _ => false,
            });
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
        let (io_bytes, ios) = amounts(section, job, &pass(section, job, &regions, total), total);
        // In sequence a clone gets no further than what it moves.
        let in_sequence = !job.rw.is_random() && job.walk.skip_bytes == 0 && job.walk.strides.is_none();
        let reach = io_bytes.filter(|_| in_sequence).unwrap_or(u64::MAX).min(first.length_bytes);
        Some(Sized {
            reach_bytes: reach,
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
                    _ => ("size", format!("`size` is required: `{target}` does not exist or has no size")),
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
            if let Look::Device(bytes) = look
                && let Some(room) = bytes.checked_sub(offset)
                && room < length
                && room >= whole
            {
                let place = size_place(section).clone();
                self.remark(&place, format!("`{target}` has {room} bytes there, which is all that is used"));
                length = room;
            }
            let end_of_file = offset.saturating_add(length).max(real.unwrap_or(0));
            regions.push(Region { offset_bytes: offset, length_bytes: length, end_of_file });
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

/// Where a section says how much of its files it uses.
fn size_place(section: &Section) -> &Place {
    section.place_of("size").or_else(|| section.place_of("filesize")).unwrap_or(&section.place)
}

/// The smallest block of any direction, used or not; fio's `td_min_bs`.
pub(super) fn smallest_block(section: &Section) -> u64 {
    let smallest =
        Direction::ALL.into_iter().map(|direction| section.options.block_sizes(direction).smallest().0);
    smallest.min().unwrap_or(1).max(1)
}

/// What one pass moves.
#[derive(Clone, Copy)]
struct Pass {
    bytes: u64,
    /// It is not each whole block once, so that the engine must be told.
    is_bounded: bool,
}

/// What one pass over the files moves: `size` bytes where files are larger (fio's `total_io_size`), and less where it
/// leaves gaps.
fn pass(section: &Section, job: &Job, regions: &[Region], total: u64) -> Pass {
    let block = smallest_used(job);
    let gapped = regions.iter().map(|region| with_gaps(*region, job)).fold(0, u64::saturating_add);
    // Where it begins again, the last block is a whole one.
    let mut bytes = gapped.div_ceil(block).saturating_mul(block);
    if section.options.filesize.is_some()
        && let Some(Portion::Bytes(size)) = section.options.size
        && size.0 > 0
    {
        bytes = bytes.min(size.0.div_ceil(block).saturating_mul(block));
    }
    Pass { bytes, is_bounded: bytes != total }
}

/// Bytes and I/Os after which a clone ends; none where time alone ends it, or one pass does.
fn amounts(section: &Section, job: &Job, pass: &Pass, total: u64) -> (Option<u64>, Option<u64>) {
    let options = &section.options;
    let loops = u64::from(options.loops.unwrap_or(1));
    if options.time_based == Some(true) && job.runtime.is_some() {
        return (None, None);
    }
    let ios = options.number_ios.filter(|ios| *ios > 0).map(|ios| ios.saturating_mul(loops));
    let block = smallest_used(job);
    let bytes = match options.io_size {
        None => None,
        Some(Portion::Bytes(size)) if size.0 == 0 => None,
        Some(Portion::Bytes(size)) => Some(size.0.div_ceil(block).saturating_mul(block)),
        Some(Portion::Percent(percent)) => {
            let share = u64::try_from(u128::from(total) * u128::from(percent) / 100).unwrap_or(total);
            Some(share.div_ceil(block).saturating_mul(block))
        }
    };
    let once = bytes.is_none() && loops == 1 && !pass.is_bounded;
    if once && job.runtime.is_none() && ios.is_none() {
        return (None, None);
    }
    let bytes = bytes.unwrap_or(pass.bytes);
    // Blocks that are discarded before they are written are gone over twice.
    let passes = if job.rw.trims() && job.rw.writes() { 2 } else { 1 };
    (Some(bytes.saturating_mul(loops).saturating_mul(passes)), ios)
}

/// What a sequential pass over a region moves when it leaves gaps, by fio's `get_next_seq_offset`: it ends where no
/// block fits any more. But where a gap reaches beyond the end of the file, it begins again, until it has moved as
/// much as the region is long.
fn with_gaps(region: Region, job: &Job) -> u64 {
    let block = smallest_used(job);
    let whole = region.length_bytes - region.length_bytes % block;
    let mixes = job.rw.directions().count() > 1;
    let is_even = job.bs.iter().all(|bs| bs.smallest() == bs.largest());
    let Ok(skip) = u64::try_from(job.walk.skip_bytes) else { return whole };
    if job.rw.is_random() || skip == 0 || mixes || !is_even || region.length_bytes < block {
        return whole;
    }
    let step = block.saturating_add(skip);
    let blocks = (region.length_bytes - block) / step + 1;
    // fio holds the place of the next block, counted from the start of the region, against the end of the file.
    let wraps = blocks.saturating_mul(step) >= region.end_of_file
        && region.offset_bytes.saturating_add((blocks - 1).saturating_mul(step) + block) < region.end_of_file;
    if wraps { region.length_bytes } else { whole.min(blocks.saturating_mul(block)) }
}

/// The smallest block that a job moves.
fn smallest_used(job: &Job) -> u64 {
    job.smallest_block().0.max(1)
}
