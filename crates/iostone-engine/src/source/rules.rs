//! What the walks over all of a job's targets have in common, worked out once from the job.

use iostone_model::load::{Direction, PerDirection, RandomDistribution};

use super::sizes::Sizes;
use crate::job::{Job, Strides};

/// The rules of a job's walks.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) sizes: PerDirection<Sizes>,
    /// The largest of the directions' smallest sizes: every direction has a block that fits into this.
    pub(crate) least_bytes: u64,
    /// Random places are multiples of this.
    pub(crate) steps_bytes: PerDirection<u64>,
    pub(crate) is_random: bool,
    pub(crate) coverage: Coverage,
    pub(crate) distribution: RandomDistribution,
    pub(crate) percentage_random: PerDirection<u32>,
    pub(crate) repeat_place: bool,
    /// Sequential jobs only.
    pub(crate) skip_bytes: i64,
    /// Where the first pass begins; sequential jobs only.
    pub(crate) start_bytes: u64,
    pub(crate) strides: Option<Strides>,
}

/// Whether random places are drawn with regard to which were visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// Every block of this many bytes once per pass.
    Blocks(u64),
    /// Blocks of several sizes, all multiples of this many bytes: every one of those once per pass.
    Units(u64),
    /// No.
    None,
}

impl Rules {
    /// The rules of a checked job.
    pub(crate) fn new(job: &Job) -> Self {
        let walk = &job.walk;
        let each = Direction::ALL.map(|direction| Sizes::new(job.bs.of(direction)));
        let [read, write, trim] = each;
        let sizes = PerDirection { read, write, trim };
        let step = |sizes: &Sizes| walk.align.map_or_else(|| sizes.smallest().into(), |align| align.0).max(1);
        Self {
            least_bytes: placed(job)
                .map(|direction| sizes.of(direction).smallest())
                .max()
                .unwrap_or(0)
                .into(),
            steps_bytes: PerDirection {
                read: step(&sizes.read),
                write: step(&sizes.write),
                trim: step(&sizes.trim),
            },
            is_random: job.rw.is_random(),
            coverage: choose_coverage(job, &sizes),
            distribution: walk.distribution.clone(),
            percentage_random: walk.percentage_random,
            repeat_place: walk.repeat_place,
            skip_bytes: if job.rw.is_random() { 0 } else { walk.skip_bytes },
            start_bytes: if job.rw.is_random() { 0 } else { walk.start.0 },
            strides: walk.strides,
            sizes,
        }
    }
}

/// The directions that find places of their own: where blocks are discarded and then written, the write goes to the
/// place and has the length of the discard.
fn placed(job: &Job) -> impl Iterator<Item = Direction> + use<> {
    let pairs = job.rw.trims() && job.rw.writes();
    job.directions().filter(move |direction| !pairs || *direction == Direction::Trim)
}

/// As in fio, only uniform jobs whose blocks lie at multiples of their smallest size are told apart into visited and
/// not, and reads and writes of a mix share one pass. (fio does so too where directions differ in their smallest
/// size, but then mistakes the blocks of one for those of the other.)
fn choose_coverage(job: &Job, sizes: &PerDirection<Sizes>) -> Coverage {
    let unit = placed(job).next().map_or(0, |direction| sizes.of(direction).smallest());
    let walk = &job.walk;
    let is_covered = !walk.revisits
        && walk.distribution == RandomDistribution::Random
        && walk.align.is_none_or(|align| align.0 == u64::from(unit))
        && placed(job).all(|direction| sizes.of(direction).smallest() == unit);
    if unit == 0 || !is_covered {
        Coverage::None
    } else if placed(job).all(|direction| sizes.of(direction).fixed().is_some()) {
        Coverage::Blocks(unit.into())
    } else {
        Coverage::Units(unit.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::load::{BlockRange, BlockSizes, Rw};
    use iostone_model::units::Bytes;

    fn coverage(rw: Rw, change: impl FnOnce(&mut Job)) -> Coverage {
        let mut job = Job::new("/nowhere", rw);
        change(&mut job);
        Rules::new(&job).coverage
    }

    #[test]
    fn uniform_blocks_of_one_smallest_size_are_covered() {
        let range = |min, max| BlockSizes::Range(BlockRange { min: Bytes(min), max: Bytes(max) });
        assert_eq!(coverage(Rw::RandRw, |_| ()), Coverage::Blocks(4096));
        assert_eq!(coverage(Rw::RandRw, |job| job.bs.write = range(4096, 8192)), Coverage::Units(4096));
        assert_eq!(coverage(Rw::RandRead, |job| job.bs.write = range(512, 8192)), Coverage::Blocks(4096));
        assert_eq!(coverage(Rw::RandRw, |job| job.bs.write = range(512, 8192)), Coverage::None);
        assert_eq!(
            coverage(Rw::RandTrimWrite, |job| job.bs.write = range(512, 8192)),
            Coverage::Blocks(4096)
        );
        assert_eq!(coverage(Rw::RandRead, |job| job.walk.align = Some(Bytes(4096))), Coverage::Blocks(4096));
        assert_eq!(coverage(Rw::RandRead, |job| job.walk.align = Some(Bytes(512))), Coverage::None);
        assert_eq!(coverage(Rw::RandRead, |job| job.walk.revisits = true), Coverage::None);
        let zipf = RandomDistribution::Zipf { theta: 1.2, center: None };
        assert_eq!(coverage(Rw::RandRead, |job| job.walk.distribution = zipf), Coverage::None);
    }
}
