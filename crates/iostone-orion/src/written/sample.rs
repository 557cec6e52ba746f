//! Reads a sample of blocks, spread evenly over what was written, and counts those of nothing but zeros.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use rustix::fs::OFlags;

use super::buffer::{ALIGNMENT, AlignedBuffer, is_zero};
use crate::error::OrionError;
use crate::lun::Lun;

/// At most so many are read: a share of one half is told from a quarter or three quarters with near certainty.
const MOST_BLOCKS: u64 = 256;
const BLOCK_BYTES: u64 = ALIGNMENT as u64;

/// Where the sampled blocks begin, ascending: one in each of equal parts of the whole blocks in the ranges, at a place that
/// the seed settles.
pub(super) fn choose(written: &[Range<u64>], seed: u64) -> Vec<u64> {
    let blocks = |range: &Range<u64>| {
        let first = range.start.div_ceil(BLOCK_BYTES);
        (first, (range.end / BLOCK_BYTES).saturating_sub(first))
    };
    let total: u64 = written.iter().map(|range| blocks(range).1).sum();
    let parts = total.min(MOST_BLOCKS);
    let mut state = seed;
    let mut chosen = Vec::new();
    let mut ranges = written.iter().map(blocks);
    let (mut before, mut current) = (0, (0, 0));
    for part in 0..parts {
        let start = scaled(total, part, parts);
        let length = scaled(total, part + 1, parts) - start;
        let place = start + splitmix(&mut state) % length.max(1);
        while place >= before + current.1 {
            before += current.1;
            let Some(next) = ranges.next() else { return chosen };
            current = next;
        }
        chosen.push((current.0 + place - before) * BLOCK_BYTES);
    }
    chosen
}

/// `total * part / parts` without an overflow.
fn scaled(total: u64, part: u64, parts: u64) -> u64 {
    u64::try_from(u128::from(total) * u128::from(part) / u128::from(parts.max(1))).unwrap_or(total)
}

/// `SplitMix64` (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut word = *state;
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// How many of those blocks hold nothing but zeros; read around the page cache where that can be, so that the sample leaves
/// nothing in it.
pub(super) fn count_zeros(lun: &Lun, buffered: &File, blocks: &[u64]) -> Result<u32, OrionError> {
    let direct =
        OpenOptions::new().read(true).custom_flags(OFlags::DIRECT.bits().cast_signed()).open(lun.way()).ok();
    let mut buffer = AlignedBuffer::new(ALIGNMENT);
    let mut zeros = 0;
    for block in blocks {
        let bytes = buffer.bytes();
        read_block(direct.as_ref(), buffered, bytes, *block)
            .map_err(|error| OrionError::file("read", &lun.path, error))?;
        zeros += u32::from(is_zero(bytes));
    }
    Ok(zeros)
}

fn read_block(direct: Option<&File>, buffered: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    if let Some(direct) = direct {
        match direct.read_exact_at(bytes, at) {
            // Some filesystems take the flag and then refuse the read.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
            read => return read,
        }
    }
    buffered.read_exact_at(bytes, at)
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a list of one range is meant")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_small_file_is_read_whole_and_a_large_one_in_every_part() {
        assert_eq!(choose(&[0..12_288], 1), [0, 4096, 8192]);
        assert_eq!(choose(&[100..12_000], 1), [4096], "only whole blocks");
        assert!(choose(&[0..4095], 1).is_empty());
        let large = choose(&[0..1 << 30], 1);
        assert_eq!(large.len(), 256);
        let part = (1 << 30) / 256;
        assert!(large.iter().zip(0..).all(|(block, number)| block / part == number));
        assert_ne!(large, choose(&[0..1 << 30], 2));
    }

    proptest! {
        #[test]
        fn every_block_lies_within_what_was_written(
            lengths in proptest::collection::vec((0u64..100_000, 1u64..10_000_000), 0..10),
            seed in any::<u64>(),
        ) {
            let mut at = 0;
            let ranges: Vec<Range<u64>> = lengths.iter().map(|(gap, length)| {
                let start = at + gap;
                at = start + length;
                start..at
            }).collect();
            let blocks = choose(&ranges, seed);
            prop_assert!(blocks.is_sorted_by(|one, next| one < next));
            for block in blocks {
                prop_assert!(ranges.iter().any(|range| range.start <= block && block + 4096 <= range.end));
            }
        }
    }
}
