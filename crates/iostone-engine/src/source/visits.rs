//! The random places of one target: each once per pass where the job's rules allow that.

use iostone_model::load::{Direction, PerDirection};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::chance::{branch, draw_below};
use super::cover::CoverMap;
use super::permutation::Permutation;
use super::places::Places;
use super::rules::{Coverage, Rules};

/// A map has at most this many units, 32 MiB of them per thread and target (a tebibyte of 4 KiB units); above that,
/// blocks of several sizes are drawn without regard to earlier visits (as with fio's `softrandommap`).
const MOST_UNITS: u64 = 1 << 28;

/// Random places, in bytes from the start of the range that they were made for.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one per target, and a box would be one more step per draw"
)]
pub(crate) enum Visits {
    /// Blocks of one size.
    Blocks {
        order: Permutation,
        block_bytes: u64,
        blocks: u64,
        /// Not visited in this pass.
        left: u64,
    },
    /// Blocks of several sizes.
    Units { map: CoverMap, unit_bytes: u64 },
    /// Drawn anew every time.
    Drawn { places: PerDirection<Places>, steps_bytes: PerDirection<u64> },
}

impl Visits {
    /// Places in a range of `length_bytes`.
    pub(crate) fn new(rules: &Rules, length_bytes: u64, rng: Xoshiro256PlusPlus) -> Self {
        match rules.coverage {
            Coverage::Blocks(block_bytes) if length_bytes >= block_bytes => {
                let blocks = length_bytes / block_bytes;
                Self::Blocks { order: Permutation::new(blocks, rng), block_bytes, blocks, left: blocks }
            }
            Coverage::Units(unit_bytes) if length_bytes / unit_bytes <= MOST_UNITS => {
                Self::Units { map: CoverMap::new(length_bytes / unit_bytes), unit_bytes }
            }
            _ => {
                let places = |direction| place_blocks(rules, direction, length_bytes, &rng);
                let [read, write, trim] = Direction::ALL.map(places);
                Self::Drawn { places: PerDirection { read, write, trim }, steps_bytes: rules.steps_bytes }
            }
        }
    }

    /// Whether visits are remembered, so that a pass has an end.
    pub(crate) fn are_remembered(&self) -> bool {
        !matches!(self, Self::Drawn { .. })
    }

    /// Begins a new pass, wherever this one is.
    pub(crate) fn restart(&mut self, rng: &mut Xoshiro256PlusPlus) {
        match self {
            Self::Blocks { order, blocks, left, .. } => {
                if *left > 0 {
                    *order = Permutation::new(*blocks, branch(rng));
                }
                *left = *blocks;
            }
            Self::Units { map, .. } => map.clear(),
            Self::Drawn { .. } => (),
        }
    }

    /// A place for an I/O in this direction; none once all have been visited.
    #[inline]
    pub(crate) fn draw(&mut self, direction: Direction, rng: &mut Xoshiro256PlusPlus) -> Option<u64> {
        match self {
            Self::Blocks { order, block_bytes, left, .. } => {
                *left = left.checked_sub(1)?;
                Some(order.next_block() * *block_bytes)
            }
            Self::Units { map, unit_bytes } => {
                let guess = draw_below(rng, map.units());
                let unit = map.next_free(guess).or_else(|| map.next_free(0))?;
                Some(unit * *unit_bytes)
            }
            Self::Drawn { places, steps_bytes } => {
                let places = match direction {
                    Direction::Read => &mut places.read,
                    Direction::Write => &mut places.write,
                    Direction::Trim => &mut places.trim,
                };
                Some(places.draw(rng)? * *steps_bytes.of(direction))
            }
        }
    }

    /// Remembers a visit, and cuts it short where it would come upon what was visited before (as fio does).
    #[inline]
    pub(crate) fn cut(&mut self, place_bytes: u64, length_bytes: u32) -> u32 {
        let Self::Units { map, unit_bytes } = self else {
            return length_bytes;
        };
        let units = u64::from(length_bytes).div_ceil(*unit_bytes);
        let taken = map.take(place_bytes / *unit_bytes, units);
        u32::try_from(taken * *unit_bytes).map_or(length_bytes, |free| free.min(length_bytes))
    }
}

/// As many places as leave room for the smallest block after the last one.
fn place_blocks(rules: &Rules, direction: Direction, length_bytes: u64, rng: &Xoshiro256PlusPlus) -> Places {
    let step = *rules.steps_bytes.of(direction);
    let smallest = u64::from(rules.sizes.of(direction).smallest());
    let places = length_bytes.saturating_sub(smallest.saturating_sub(step)) / step;
    // Directions begin with the same state, so that their hot blocks are the same ones.
    Places::of_blocks(&rules.distribution, places, step, &mut rng.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Job;
    use iostone_model::load::{BlockRange, BlockSizes, RandomDistribution, Rw};
    use iostone_model::units::Bytes;
    use proptest::prelude::*;
    use rand_xoshiro::rand_core::SeedableRng;

    fn rng(seed: u64) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(seed)
    }

    #[test]
    fn reads_and_writes_have_the_same_hot_block() {
        let mut job = Job::new("/nowhere", Rw::RandRw);
        job.walk.distribution = RandomDistribution::Zipf { theta: 3.0, center: None };
        let mut visits = Visits::new(&Rules::new(&job), 1 << 30, rng(1));
        let mut rng = rng(2);
        let mut hottest = |direction| {
            let mut drawn: Vec<u64> = (0..501).filter_map(|_| visits.draw(direction, &mut rng)).collect();
            // Rank 1 has five sixths of all, so it is the median unless it lies at an end, and then half of all.
            drawn.sort_unstable();
            drawn.chunk_by(|a, b| a == b).max_by_key(|run| run.len()).map(|run| run[0])
        };
        assert_eq!(hottest(Direction::Read), hottest(Direction::Write));
    }

    #[test]
    fn a_range_too_short_for_a_block_has_no_place() {
        for revisits in [false, true] {
            let mut job = Job::new("/nowhere", Rw::RandRead);
            job.walk.revisits = revisits;
            let mut visits = Visits::new(&Rules::new(&job), 4095, rng(1));
            assert_eq!(visits.draw(Direction::Read, &mut rng(2)), None);
        }
    }

    proptest! {
        #[test]
        fn blocks_of_several_sizes_cover_a_pass_without_overlap(
            units in 1u64..500,
            times in 1u64..30,
            rest in 0u64..512,
            seed in any::<u64>(),
        ) {
            let mut job = Job::new("/nowhere", Rw::RandWrite);
            job.bs.write = BlockSizes::Range(BlockRange { min: Bytes(512), max: Bytes(512 * (times + 1)) });
            let rules = Rules::new(&job);
            let mut rng = rng(seed);
            let length = units * 512 + rest;
            let mut visits = Visits::new(&rules, length, rng.clone());
            for _ in 0..2 {
                let mut touched = vec![];
                while let Some(place) = visits.draw(Direction::Write, &mut rng) {
                    let wish = rules.sizes.write.draw(length - place, &mut rng).unwrap();
                    let taken = visits.cut(place, wish);
                    prop_assert!(taken > 0 && taken <= wish);
                    touched.push((place, u64::from(taken)));
                }
                touched.sort_unstable();
                let end = touched.iter().try_fold(0, |end, (place, taken)| (*place == end).then_some(end + taken));
                prop_assert_eq!(end, Some(units * 512));
                visits.restart(&mut rng);
            }
        }
    }
}
