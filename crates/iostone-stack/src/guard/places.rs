//! Where a device is read to find it empty: its edges, every place of a known signature, and places spread over the rest.

use std::collections::BTreeSet;
use std::ops::Range;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::backups;
use super::formats::FORMATS;
use super::signatures::offsets;
use super::table::SIGNATURES;

/// Read whole at the beginning and at the end: every superblock, label, header and partition table stands there.
pub(crate) const EDGE_BYTES: u64 = 16 << 20;
/// Places in what lies between, one in each of equal parts.
pub(crate) const PLACES: u64 = 4096;
/// What is read at each: a page, the unit in which filesystems and databases write.
const PLACE_BYTES: u64 = 4096;
/// What lies between is read whole up to so many bytes: that takes no longer than the places of a large device.
const WHOLE_BYTES: u64 = 256 << 20;

/// The spans of a device to be read, ascending and apart from each other. The places between the edges are drawn from
/// the seed, so that nobody's data lie where nobody looks.
pub(super) fn spans(size_bytes: u64, seed: u64) -> Vec<Range<u64>> {
    let (first, last) = (EDGE_BYTES, size_bytes.saturating_sub(EDGE_BYTES));
    if last.saturating_sub(first) <= WHOLE_BYTES {
        return std::iter::once(0..size_bytes).filter(|whole| !whole.is_empty()).collect();
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let pages = (last - first) / PLACE_BYTES;
    let drawn = (0..PLACES).map(|part| {
        let (start, end) = (scaled(pages, part), scaled(pages, part + 1));
        first / PLACE_BYTES + start + random.next_u64() % (end - start).max(1)
    });
    let signatures = SIGNATURES.iter().chain(FORMATS).flat_map(|signature| offsets(signature, size_bytes));
    let known = signatures.chain(backups::offsets(size_bytes)).map(|offset| offset / PLACE_BYTES);
    let wanted: BTreeSet<u64> = drawn.chain(known).collect();
    let between = wanted
        .into_iter()
        .map(|page| page * PLACE_BYTES..(page + 1) * PLACE_BYTES)
        .filter(|place| place.start >= first && place.end <= last);
    std::iter::once(0..first).chain(between).chain(std::iter::once(last..size_bytes)).collect()
}

/// `pages * part / PLACES` without an overflow.
fn scaled(pages: u64, part: u64) -> u64 {
    u64::try_from(u128::from(pages) * u128::from(part) / u128::from(PLACES)).unwrap_or(pages)
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a list of one span is meant")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_small_device_is_read_whole_and_a_large_one_at_its_edges_and_in_every_part() {
        assert!(spans(0, 1).is_empty());
        assert_eq!(spans(8 << 20, 1), [0..8 << 20]);
        assert_eq!(spans(288 << 20, 1), [0..288 << 20]);
        let terabyte = 1 << 40;
        let found = spans(terabyte, 1);
        assert_eq!(
            (found[0].clone(), found[found.len() - 1].clone()),
            (0..16 << 20, terabyte - (16 << 20)..terabyte)
        );
        let part = (terabyte - (32 << 20)) / PLACES;
        for index in 0..PLACES {
            let start = EDGE_BYTES + index * part;
            let is_within = |place: &&Range<u64>| {
                place.start + PLACE_BYTES > start && place.start < start + part + PLACE_BYTES
            };
            assert!(found.iter().any(|place| is_within(&place)), "part {index}");
        }
        assert_ne!(found, spans(terabyte, 2));
        // The first mirror of btrfs, a backup of ext4, the second allocation group of XFS.
        for offset in [64 << 20, 128 << 20, terabyte / 4] {
            assert!(found.iter().any(|place| place.contains(&offset)), "{offset}");
        }
    }

    proptest! {
        #[test]
        fn spans_ascend_within_the_device(size in 0u64..1 << 50, seed: u64) {
            let size = size / 512 * 512;
            let found = spans(size, seed);
            prop_assert!(found.iter().all(|span| !span.is_empty() && span.end <= size));
            prop_assert!(found.windows(2).all(|pair| pair[0].end <= pair[1].start));
        }
    }
}
