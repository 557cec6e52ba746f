//! How long a request is: block sizes that are fixed, in a range, or split by weight.

use iostone_model::load::BlockSizes;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::chance::draw_below;

/// The sizes of one direction, ready to be drawn from.
///
/// Where the rest of a target is shorter than the largest size, only sizes that fit are drawn, in their proportions:
/// fio draws until one fits, which is the same thing. A rest shorter than the smallest size is not used.
#[derive(Debug, Clone)]
pub(crate) enum Sizes {
    /// Always this many bytes.
    Fixed(u32),
    /// Multiples of `min` up to `max`, each as likely as the others. Where `max` is no multiple it is a size of its
    /// own, as likely as what is left over of it after the last multiple (both as fio's `bsrange`).
    Range { min: u32, max: u32 },
    /// In ascending order, none of them without weight.
    Split(Vec<Weighted>),
}

/// One size of a split.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weighted {
    bytes: u32,
    /// The weights of this and all smaller sizes.
    cumulated: u64,
}

impl Sizes {
    /// Prepares the sizes of a checked job. Those of a split are rounded down to multiples of its smallest, as fio
    /// does, so that blocks stay aligned to it.
    pub(crate) fn new(sizes: &BlockSizes) -> Self {
        let short = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        match sizes {
            BlockSizes::Fixed(bytes) => Self::Fixed(short(bytes.0)),
            BlockSizes::Range(range) if range.min == range.max => Self::Fixed(short(range.min.0)),
            BlockSizes::Range(range) => Self::Range { min: short(range.min.0), max: short(range.max.0) },
            BlockSizes::Split(split) => {
                let mut shares: Vec<_> =
                    split.shares().iter().filter(|(_, percent)| *percent > 0).copied().collect();
                shares.sort_unstable_by_key(|(bytes, _)| *bytes);
                let smallest = shares.first().map_or(1, |(bytes, _)| short(bytes.0));
                let mut cumulated = 0;
                let sizes = shares.iter().map(|(bytes, percent)| {
                    cumulated += u64::from(*percent);
                    Weighted { bytes: short(bytes.0) / smallest * smallest, cumulated }
                });
                let sizes: Vec<Weighted> = sizes.collect();
                match sizes.as_slice() {
                    [only] => Self::Fixed(only.bytes),
                    _ => Self::Split(sizes),
                }
            }
        }
    }

    /// The smallest that can be drawn, in bytes.
    #[inline]
    pub(crate) fn smallest(&self) -> u32 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Range { min, .. } => *min,
            Self::Split(sizes) => sizes.first().map_or(0, |size| size.bytes),
        }
    }

    /// The size that is always drawn, if it is always the same.
    pub(crate) fn fixed(&self) -> Option<u32> {
        match self {
            Self::Fixed(bytes) => Some(*bytes),
            _ => None,
        }
    }

    /// A size in bytes, of at most `room_bytes`; none if even the smallest is longer.
    #[inline]
    pub(crate) fn draw(&self, room_bytes: u64, rng: &mut Xoshiro256PlusPlus) -> Option<u32> {
        match self {
            Self::Fixed(bytes) => (u64::from(*bytes) <= room_bytes).then_some(*bytes),
            Self::Range { min, max } => draw_of_range(*min, *max, room_bytes, rng),
            Self::Split(sizes) => draw_of_split(sizes, room_bytes, rng),
        }
    }
}

fn draw_of_range(min: u32, max: u32, room_bytes: u64, rng: &mut Xoshiro256PlusPlus) -> Option<u32> {
    let room = u32::try_from(room_bytes).unwrap_or(u32::MAX);
    if room < min {
        return None;
    }
    let rounded = |bytes: u64| u32::try_from(bytes).map_or(max, |bytes| bytes / min * min);
    if room < max {
        let multiples = u64::from(room / min);
        return Some(rounded((1 + draw_below(rng, multiples)) * u64::from(min)));
    }
    Some(rounded(u64::from(min) + draw_below(rng, max.into())).min(max))
}

fn draw_of_split(sizes: &[Weighted], room_bytes: u64, rng: &mut Xoshiro256PlusPlus) -> Option<u32> {
    // The largest comes last and nearly always fits.
    let fitting = sizes.iter().rposition(|size| u64::from(size.bytes) <= room_bytes)?;
    let drawn = draw_below(rng, sizes[fitting].cumulated);
    sizes[..=fitting].iter().find(|size| drawn < size.cumulated).map(|size| size.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::load::{BlockRange, BlockSplit};
    use iostone_model::units::Bytes;
    use proptest::prelude::*;
    use rand_xoshiro::rand_core::SeedableRng;
    use std::collections::BTreeMap;

    fn count(sizes: &Sizes, room_bytes: u64, draws: u32) -> BTreeMap<u32, u32> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut counts = BTreeMap::new();
        for _ in 0..draws {
            *counts.entry(sizes.draw(room_bytes, &mut rng).unwrap()).or_insert(0) += 1;
        }
        counts
    }

    fn split(shares: &[(u64, u32)]) -> Sizes {
        let shares = shares.iter().map(|(bytes, percent)| (Bytes(*bytes), *percent)).collect();
        Sizes::new(&BlockSizes::Split(BlockSplit::new(shares).unwrap()))
    }

    #[test]
    fn every_multiple_in_a_range_is_as_likely() {
        let sizes = Sizes::new(&BlockSizes::Range(BlockRange { min: Bytes(1024), max: Bytes(4096) }));
        let counts = count(&sizes, 1 << 40, 40_000);
        assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [1024, 2048, 3072, 4096]);
        assert!(counts.values().all(|count| (9_700..10_300).contains(count)), "{counts:?}");
    }

    #[test]
    fn the_end_of_a_range_that_is_no_multiple_is_a_size_of_its_own() {
        let sizes = Sizes::new(&BlockSizes::Range(BlockRange { min: Bytes(4096), max: Bytes(6144) }));
        let counts = count(&sizes, 1 << 40, 30_000);
        assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [4096, 6144]);
        assert!((9_600..10_400).contains(&counts[&6144]), "{counts:?}");
    }

    #[test]
    fn a_split_follows_its_weights_also_where_not_all_fit() {
        let sizes = split(&[(65_536, 50), (4096, 10), (32_768, 40), (8192, 0)]);
        let counts = count(&sizes, 1 << 40, 100_000);
        let near = |counts: &BTreeMap<u32, u32>, size, expected: u32| {
            assert!(counts[&size].abs_diff(expected) < 800, "{counts:?}");
        };
        assert_eq!(counts.len(), 3);
        near(&counts, 4096, 10_000);
        near(&counts, 32_768, 40_000);
        let counts = count(&sizes, 40_000, 100_000);
        assert_eq!(counts.len(), 2);
        near(&counts, 4096, 20_000);
        near(&counts, 32_768, 80_000);
    }

    #[test]
    fn a_split_is_rounded_to_its_smallest_size() {
        let counts = count(&split(&[(4096, 50), (10_000, 50)]), 1 << 20, 100);
        assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [4096, 8192]);
        assert_eq!(split(&[(4096, 100), (512, 0)]).fixed(), Some(4096));
    }

    proptest! {
        #[test]
        fn a_size_fits_and_is_a_multiple_of_the_smallest(
            min in 1u64..5000,
            times in 1u64..20,
            room in 0u64..100_000,
            seed in any::<u64>(),
        ) {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let range = Sizes::new(&BlockSizes::Range(BlockRange { min: Bytes(min), max: Bytes(min * times) }));
            let split = split(&[(min, 20), (min * times, 80)]);
            for sizes in [range, split] {
                match sizes.draw(room, &mut rng).map(u64::from) {
                    None => prop_assert!(room < min),
                    Some(size) => {
                        prop_assert!(size <= room && size.is_multiple_of(min) && size <= min * times && size > 0);
                    }
                }
            }
        }
    }
}
