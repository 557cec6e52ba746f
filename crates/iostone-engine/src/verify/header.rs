//! The header at the start of each verified unit: which bytes it is made of, how it is written and read.
//!
//! A unit is what a header protects: one block, or a part of one. Its first [`HEADER_BYTES`] are, little-endian:
//!
//! | bytes | content |
//! |---|---|
//! | 0..4 | `iosV` |
//! | 4 | version of this layout, 1 |
//! | 5 | checksum: 1 is CRC-32C (Castagnoli, RFC 3720 appendix B.4), 2 is SHA-256 (FIPS 180-4) |
//! | 6 | the rest of the unit: 0 is anything, 1 is noise made from this header |
//! | 7 | 0 |
//! | 8..12 | length of the unit in bytes, header included |
//! | 12..16 | generation: how often this unit was written, from 1 |
//! | 16..24 | offset of the unit in its target, in bytes |
//! | 24..28 | number of the target among those of its job, from 0 |
//! | 28..32 | the job: its seed, mixed to 32 bits |
//! | 32..64 | checksum over bytes 0..32 and 64 to the end; CRC-32C fills the first four bytes, the others are 0 |

use sha2::{Digest, Sha256};

use super::content;
use crate::payload::noise;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 64;
/// Bytes before the checksum.
pub(crate) const FIELD_BYTES: usize = 32;
const SUM_BYTES: usize = HEADER_BYTES - FIELD_BYTES;

const MAGIC: [u8; 4] = *b"iosV";
const VERSION: u8 = 1;

/// How a unit's bytes are summed up; see the layout for its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnitChecksum {
    /// CRC-32C.
    Crc32c,
    /// SHA-256.
    Sha256,
}

/// What follows the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnitContent {
    /// Bytes that only the checksum speaks for.
    Any,
    /// Noise that can be made again from the header.
    Noise,
}

/// What a unit says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UnitHeader {
    /// How its bytes are summed up.
    pub checksum: UnitChecksum,
    /// What follows the header.
    pub content: UnitContent,
    /// Its length in bytes, header included.
    pub unit_bytes: u32,
    /// How often it was written, from 1.
    pub generation: u32,
    /// Where it lies in its target.
    pub offset_bytes: u64,
    /// Which of the job's targets, from 0.
    pub target: u32,
    /// Which job: see [`identify_job`].
    pub job: u32,
}

/// Why bytes are no unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Shorter than a header.
    #[error("{0} bytes are too few for a header of {HEADER_BYTES}")]
    TooShort(usize),
    /// Something else is there.
    #[error("there is no header")]
    NoMagic,
    /// A field has a value without meaning.
    #[error("the header has {value} for its {field}")]
    Unknown {
        /// "version", "checksum", "content", "reserved byte", "generation".
        field: &'static str,
        /// The value.
        value: u32,
    },
}

/// The number by which a job's units are told from another's.
pub fn identify_job(seed: u64) -> u32 {
    // The upper half of a mixed word: one in 2^32 pairs of seeds looks the same.
    (noise::mix(seed.wrapping_add(noise::GAMMA)) >> 32) as u32
}

impl UnitHeader {
    /// The bytes before the checksum.
    fn encode(&self) -> [u8; FIELD_BYTES] {
        let checksum = match self.checksum {
            UnitChecksum::Crc32c => 1,
            UnitChecksum::Sha256 => 2,
        };
        let content = match self.content {
            UnitContent::Any => 0,
            UnitContent::Noise => 1,
        };
        let mut bytes = [0; FIELD_BYTES];
        bytes[0..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&[VERSION, checksum, content, 0]);
        bytes[8..12].copy_from_slice(&self.unit_bytes.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.generation.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.offset_bytes.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.target.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.job.to_le_bytes());
        bytes
    }

    /// Reads what a unit says about itself. Whether that is true, [`is_sound`](Self::is_sound) tells.
    ///
    /// # Errors
    /// [`HeaderError`] says what is not as a header has it.
    pub fn parse(unit: &[u8]) -> Result<Self, HeaderError> {
        let (fields, _) = unit
            .split_first_chunk::<HEADER_BYTES>()
            .and_then(|(header, _)| header.split_first_chunk::<FIELD_BYTES>())
            .ok_or(HeaderError::TooShort(unit.len()))?;
        let &[m0, m1, m2, m3, version, checksum, content, reserved, ..] = fields;
        if [m0, m1, m2, m3] != MAGIC {
            return Err(HeaderError::NoMagic);
        }
        let unknown = |field, value: u8| HeaderError::Unknown { field, value: value.into() };
        if version != VERSION {
            return Err(unknown("version", version));
        }
        let checksum = match checksum {
            1 => UnitChecksum::Crc32c,
            2 => UnitChecksum::Sha256,
            other => return Err(unknown("checksum", other)),
        };
        let content = match content {
            0 => UnitContent::Any,
            1 => UnitContent::Noise,
            other => return Err(unknown("content", other)),
        };
        if reserved != 0 {
            return Err(unknown("reserved byte", reserved));
        }
        let word = |from: usize| {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(&fields[from..from + 4]);
            u32::from_le_bytes(bytes)
        };
        let header = Self {
            checksum,
            content,
            unit_bytes: word(8),
            generation: word(12),
            offset_bytes: u64::from(word(16)) | u64::from(word(20)) << 32,
            target: word(24),
            job: word(28),
        };
        if header.generation == 0 {
            return Err(HeaderError::Unknown { field: "generation", value: 0 });
        }
        Ok(header)
    }

    /// Makes `unit` a unit with this header: writes it, the noise if that is its content, and the checksum.
    ///
    /// Bytes that are too few for a header stay as they are.
    pub fn seal(&self, unit: &mut [u8]) {
        if unit.len() < HEADER_BYTES {
            return;
        }
        if self.content == UnitContent::Noise {
            content::fill(self, unit);
        }
        self.write_over(unit);
    }

    /// Writes the header with the checksum of what follows it, which stays as it is.
    pub(crate) fn write_over(&self, unit: &mut [u8]) {
        let fields = self.encode();
        let sum = self.sum(&fields, unit.get(HEADER_BYTES..).unwrap_or_default());
        if let Some((head, _)) = unit.split_first_chunk_mut::<HEADER_BYTES>() {
            head[..FIELD_BYTES].copy_from_slice(&fields);
            head[FIELD_BYTES..].copy_from_slice(&sum);
        }
    }

    /// Whether the checksum in `unit` is that of its bytes, this being its header.
    pub fn is_sound(&self, unit: &[u8]) -> bool {
        let Some((header, rest)) = unit.split_first_chunk::<HEADER_BYTES>() else { return false };
        let (fields, stored) = header.split_at(FIELD_BYTES);
        self.unit_bytes as usize == unit.len() && stored == self.sum(fields, rest)
    }

    /// The checksum of a unit in the form it is stored in.
    pub(crate) fn sum(&self, fields: &[u8], rest: &[u8]) -> [u8; SUM_BYTES] {
        match self.checksum {
            UnitChecksum::Crc32c => {
                let sum = crc32c::crc32c_append(crc32c::crc32c(fields), rest);
                let mut bytes = [0; SUM_BYTES];
                bytes[..4].copy_from_slice(&sum.to_le_bytes());
                bytes
            }
            UnitChecksum::Sha256 => {
                let mut state = Sha256::new();
                state.update(fields);
                state.update(rest);
                state.finalize().into()
            }
        }
    }

    /// A stored checksum for people: 8 or 64 hexadecimal digits.
    pub(crate) fn show_sum(&self, sum: &[u8]) -> String {
        use std::fmt::Write;
        let length = match self.checksum {
            UnitChecksum::Crc32c => 4,
            UnitChecksum::Sha256 => SUM_BYTES,
        };
        // The number of a CRC begins with its highest byte, the string of a SHA with its first.
        let mut bytes: Vec<u8> = sum.iter().copied().take(length).collect();
        if self.checksum == UnitChecksum::Crc32c {
            bytes.reverse();
        }
        bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    /// The checksum as it is stored in a unit and as it would have to be, for people.
    pub(crate) fn show_sums(&self, unit: &[u8]) -> Option<(String, String)> {
        let (header, rest) = unit.split_first_chunk::<HEADER_BYTES>()?;
        let (fields, stored) = header.split_at(FIELD_BYTES);
        Some((self.show_sum(stored), self.show_sum(&self.sum(fields, rest))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_header() -> impl Strategy<Value = UnitHeader> {
        (any::<bool>(), any::<bool>(), 128u32..5000, 1u32.., any::<u64>(), any::<u32>(), any::<u32>())
            .prop_map(|(sha, noise, unit_bytes, generation, offset_bytes, target, job)| UnitHeader {
                checksum: if sha { UnitChecksum::Sha256 } else { UnitChecksum::Crc32c },
                content: if noise { UnitContent::Noise } else { UnitContent::Any },
                unit_bytes,
                generation,
                offset_bytes,
                target,
                job,
            })
    }

    #[test]
    fn the_layout_is_as_documented() {
        let header = UnitHeader {
            checksum: UnitChecksum::Crc32c,
            content: UnitContent::Any,
            unit_bytes: 128,
            generation: 7,
            offset_bytes: 0x0102_0304_0506_0708,
            target: 3,
            job: 0xaabb_ccdd,
        };
        let mut unit = [0; 128];
        header.seal(&mut unit);
        assert_eq!(unit[..8], *b"iosV\x01\x01\x00\x00");
        assert_eq!(unit[8..16], [128, 0, 0, 0, 7, 0, 0, 0]);
        assert_eq!(unit[16..32], [8, 7, 6, 5, 4, 3, 2, 1, 3, 0, 0, 0, 0xdd, 0xcc, 0xbb, 0xaa]);
        let mut summed = unit[..32].to_vec();
        summed.extend_from_slice(&unit[64..]);
        assert_eq!(unit[32..36], crc32c::crc32c(&summed).to_le_bytes());
        assert_eq!(unit[36..64], [0; 28]);
    }

    #[test]
    fn crc_is_the_one_of_rfc_3720() {
        assert_eq!(crc32c::crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c::crc32c(&[0xff; 32]), 0x62a8_ab43);
    }

    #[test]
    fn jobs_with_other_seeds_have_other_numbers() {
        let numbers: std::collections::HashSet<u32> = (0..1000).map(identify_job).collect();
        assert_eq!(numbers.len(), 1000);
    }

    proptest! {
        #[test]
        fn what_is_sealed_is_read_and_sound(header in any_header()) {
            let mut unit = vec![0x55; header.unit_bytes as usize];
            header.seal(&mut unit);
            prop_assert_eq!(UnitHeader::parse(&unit), Ok(header));
            prop_assert!(header.is_sound(&unit));
        }

        #[test]
        fn any_flipped_bit_is_seen(header in any_header(), at in any::<prop::sample::Index>(), bit in 0u32..8) {
            let mut unit = vec![0x55; header.unit_bytes as usize];
            header.seal(&mut unit);
            let at = at.index(unit.len());
            unit[at] ^= 1 << bit;
            prop_assert!(!UnitHeader::parse(&unit).is_ok_and(|header| header.is_sound(&unit)));
        }

        #[test]
        fn any_bytes_are_read_or_refused(unit in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = UnitHeader::parse(&unit);
            let mut marked = b"iosV\x01".to_vec();
            marked.extend_from_slice(&unit);
            if let Ok(header) = UnitHeader::parse(&marked) {
                prop_assert_eq!(&header.encode()[..], &marked[..32]);
                let _ = header.is_sound(&marked);
            }
        }
    }
}
