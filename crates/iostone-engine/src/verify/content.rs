//! The noise of a unit: made from its header, so that a checker can tell what should be there, and what is there
//! instead.
//!
//! Each sector of a unit has a key of its own, made from the job, the target, the sector's place and the generation.
//! A word of noise gives its key away (see [`noise`]), so that from any few bytes of a sector it can be told which
//! generation they are of.

use super::header::{HEADER_BYTES, UnitHeader};
use crate::payload::noise::{self, WORD_BYTES};

/// Units are torn between sectors: no device writes less at once.
pub(crate) const SECTOR_BYTES: usize = 512;

/// The difference between the keys of two generations: odd, and unrelated to what words go up by.
const STEP: u64 = 0xd134_2543_de82_ef95;
const STEP_INVERSE: u64 = noise::invert(STEP);

/// A sector with more wrong bits than this is not what it was meant to be: two unrelated sectors differ in half of
/// their 4096 bits.
const MOST_FLIPS: u32 = 64;

/// The place that the noise of a sector is made for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) job: u32,
    pub(crate) target: u32,
    /// Of the unit.
    pub(crate) offset_bytes: u64,
}

impl Place {
    /// The key of generation 0 of a sector that lies this far into the unit.
    fn base(self, sector_bytes: usize) -> u64 {
        let job = noise::mix(u64::from(self.job) << 32 | u64::from(self.target));
        let position = self.offset_bytes.wrapping_add(sector_bytes as u64);
        noise::mix(job.wrapping_add(position.wrapping_mul(noise::GAMMA)))
    }

    /// Makes the noise of one sector, without what the header covers of it.
    #[inline]
    fn fill_sector(self, index: usize, generation: u32, sector: &mut [u8]) {
        let key = self.base(index * SECTOR_BYTES).wrapping_add(u64::from(generation).wrapping_mul(STEP));
        let covered = covered_bytes(index);
        noise::fill(key, (covered / WORD_BYTES) as u64, sector.get_mut(covered..).unwrap_or_default());
    }
}

impl From<&UnitHeader> for Place {
    fn from(header: &UnitHeader) -> Self {
        Self { job: header.job, target: header.target, offset_bytes: header.offset_bytes }
    }
}

/// Bytes of a sector that belong to the header.
fn covered_bytes(index: usize) -> usize {
    if index == 0 { HEADER_BYTES } else { 0 }
}

/// Makes the noise of a unit, all but its header.
pub(crate) fn fill(header: &UnitHeader, unit: &mut [u8]) {
    let place = Place::from(header);
    for (index, sector) in unit.chunks_mut(SECTOR_BYTES).enumerate() {
        place.fill_sector(index, header.generation, sector);
    }
}

/// What a sector holds, as far as its noise tells; the header in the first one is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sector {
    /// What was written for this place as this generation, but for a few wrong bits.
    Generation { generation: u32, wrong_bits: u32 },
    /// Zeros.
    Zeros,
    /// Something else.
    Foreign,
}

/// Finds out what each sector of a unit holds.
#[expect(clippy::cast_possible_truncation, reason = "the length of a sector")]
pub(crate) fn classify(place: Place, unit: &[u8]) -> Vec<Sector> {
    let mut scratch = [0; SECTOR_BYTES];
    let mut previous = None;
    unit.chunks(SECTOR_BYTES)
        .enumerate()
        .map(|(index, sector)| {
            let covered = covered_bytes(index);
            let found = sector.get(covered..).unwrap_or_default();
            if found.iter().all(|byte| *byte == 0) {
                return Sector::Zeros;
            }
            let base = place.base(index * SECTOR_BYTES);
            let (words, _) = found.as_chunks::<WORD_BYTES>();
            // A word that was damaged names a generation at random, which almost never is a 32-bit number, and whose
            // sector then differs; the next word is asked.
            let generations =
                words.iter().zip((covered / WORD_BYTES) as u64..).filter_map(|(word, number)| {
                    let key = noise::find_key(u64::from_le_bytes(*word), number);
                    u32::try_from(key.wrapping_sub(base).wrapping_mul(STEP_INVERSE)).ok()
                });
            // What is left over at the end may be too short to hold a word.
            for generation in generations.chain(previous) {
                let expected = scratch.get_mut(..sector.len()).unwrap_or_default();
                place.fill_sector(index, generation, expected);
                let wrong_bits = count_wrong_bits(found, expected.get(covered..).unwrap_or_default());
                // A short sector differs in fewer bits altogether.
                if wrong_bits <= MOST_FLIPS.min(found.len() as u32) {
                    previous = Some(generation);
                    return Sector::Generation { generation, wrong_bits };
                }
            }
            Sector::Foreign
        })
        .collect()
}

/// How many bits differ.
pub(crate) fn count_wrong_bits(found: &[u8], expected: &[u8]) -> u32 {
    found.iter().zip(expected).map(|(found, expected)| (found ^ expected).count_ones()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::header::{UnitChecksum, UnitContent};
    use proptest::prelude::*;

    fn header(generation: u32, unit_bytes: u32) -> UnitHeader {
        UnitHeader {
            checksum: UnitChecksum::Crc32c,
            content: UnitContent::Noise,
            unit_bytes,
            generation,
            offset_bytes: 1 << 20,
            target: 1,
            job: 9,
        }
    }

    #[test]
    fn units_share_no_word() {
        let mut seen = std::collections::HashSet::new();
        for generation in 1..50 {
            for offset_bytes in [0, 512, 4096, 8192] {
                for target in 0..2 {
                    let mut unit = vec![0; 4096];
                    fill(&UnitHeader { offset_bytes, target, ..header(generation, 4096) }, &mut unit);
                    let (words, _) = unit[HEADER_BYTES..].as_chunks::<8>();
                    // Offsets that overlap have sectors in common, of the same generation, by design: skip those.
                    if offset_bytes != 512 {
                        assert!(words.iter().all(|word| seen.insert(*word)));
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn every_sector_tells_its_generation(generation in 1u32.., unit_bytes in 128u32..3000, flip in 0usize..64) {
            let header = header(generation, unit_bytes);
            let mut unit = vec![0; unit_bytes as usize];
            fill(&header, &mut unit);
            unit[HEADER_BYTES + flip] ^= 4;
            for (index, sector) in classify(Place::from(&header), &unit).into_iter().enumerate() {
                let wrong_bits = u32::from(index == 0);
                prop_assert_eq!(sector, Sector::Generation { generation, wrong_bits });
            }
        }
    }
}
