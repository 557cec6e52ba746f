//! The head of a ledger's file: what it was made for, so that it is not used for anything else.
//!
//! Little-endian:
//!
//! | bytes | content |
//! |---|---|
//! | 0..8 | `iosLedgr` |
//! | 8..12 | version of this layout, 1 |
//! | 12..16 | length of the description |
//! | 16..20 | CRC-32C of the description |
//! | 20..24 | 0 |
//! | 24.. | the description: bytes per unit and seed of the job, 64 bits each, number of targets, 32 bits, and of each target: offset and length of its span in bytes, 64 bits each, length of its path, 32 bits, and the path |
//! | | zeros up to a multiple of 65536 |

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use iostone_model::units::Bytes;

use crate::job::Job;
use crate::source::Part;

const MAGIC: [u8; 8] = *b"iosLedgr";
const VERSION: u32 = 1;
const FIXED_BYTES: usize = 24;
/// Entries begin at a multiple of this, so that they can be mapped: the largest page of any common machine.
const PAGE_BYTES: usize = 1 << 16;
/// 4096 targets with paths of 4096 bytes each, and what belongs to them.
pub(super) const LARGEST_HEAD_BYTES: u64 = 20 << 20;

/// What a ledger was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    unit_bytes: u64,
    seed: u64,
    targets: Vec<Target>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Target {
    offset_bytes: u64,
    length_bytes: u64,
    path: PathBuf,
}

impl Head {
    /// The head of a job's ledger; a target is known by its full path without symbolic links.
    pub(super) fn of(job: &Job, parts: &[Part]) -> Self {
        let full = |path: &PathBuf| {
            path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.clone())
        };
        let targets = job.targets.iter().zip(parts);
        Self {
            unit_bytes: job.verify_unit().0,
            seed: job.seed,
            targets: targets
                .map(|(path, part)| Target {
                    offset_bytes: part.offset_bytes,
                    length_bytes: part.length_bytes,
                    path: full(path),
                })
                .collect(),
        }
    }

    /// The whole head, padded.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut description = Vec::new();
        description.extend(self.unit_bytes.to_le_bytes());
        description.extend(self.seed.to_le_bytes());
        description.extend(length_field(self.targets.len()));
        for target in &self.targets {
            let path = target.path.as_os_str().as_bytes();
            description.extend(target.offset_bytes.to_le_bytes());
            description.extend(target.length_bytes.to_le_bytes());
            description.extend(length_field(path.len()));
            description.extend(path);
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(length_field(description.len()));
        bytes.extend(crc32c::crc32c(&description).to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(description);
        bytes.resize(bytes.len().next_multiple_of(PAGE_BYTES), 0);
        bytes
    }

    /// Reads a head from the start of a file; also its length, where the entries begin.
    ///
    /// # Errors
    /// A sentence that says why it is none.
    pub(crate) fn parse(bytes: &[u8]) -> Result<(Self, u64), String> {
        let mut fields = Fields(bytes);
        if fields.take() != Some(MAGIC) {
            return Err("it is no ledger, or one that was not finished".into());
        }
        let cut_off = || "it is a ledger that was cut off".to_owned();
        let version = fields.u32().ok_or_else(cut_off)?;
        if version != VERSION {
            return Err(format!(
                "it is a ledger of version {version}, and this program knows version {VERSION}"
            ));
        }
        let length = fields.u32().ok_or_else(cut_off)? as usize;
        let sum = fields.u32().ok_or_else(cut_off)?;
        fields.u32().ok_or_else(cut_off)?;
        let description = fields.0.get(..length).ok_or_else(cut_off)?;
        if crc32c::crc32c(description) != sum {
            return Err("it is a ledger whose head is damaged".into());
        }
        let head = Self::parse_description(description).ok_or("it is a ledger whose head makes no sense")?;
        Ok((head, (FIXED_BYTES + length).next_multiple_of(PAGE_BYTES) as u64))
    }

    fn parse_description(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let (unit_bytes, seed, count) = (fields.u64()?, fields.u64()?, fields.u32()?);
        let mut targets = Vec::new();
        for _ in 0..count {
            let (offset_bytes, length_bytes) = (fields.u64()?, fields.u64()?);
            let length = fields.u32()? as usize;
            let (path, rest) = fields.0.split_at_checked(length)?;
            fields.0 = rest;
            targets.push(Target { offset_bytes, length_bytes, path: OsStr::from_bytes(path).into() });
        }
        fields.0.is_empty().then_some(Self { unit_bytes, seed, targets })
    }

    /// Whether a ledger that was made for `found` can be used for this.
    ///
    /// # Errors
    /// A sentence that names the first difference.
    pub(super) fn compare(&self, found: &Self) -> Result<(), String> {
        let differ = |what: &str, found: String, wanted: String| {
            Err(format!("it was made for {what} {found}, and this job has {wanted}"))
        };
        if self.unit_bytes != found.unit_bytes {
            return differ(
                "a `verify_interval` of",
                Bytes(found.unit_bytes).to_string(),
                Bytes(self.unit_bytes).to_string(),
            );
        }
        if self.seed != found.seed {
            return differ("a seed of", found.seed.to_string(), self.seed.to_string());
        }
        if self.targets.len() != found.targets.len() {
            return differ(
                "a number of targets of",
                found.targets.len().to_string(),
                self.targets.len().to_string(),
            );
        }
        for (wanted, found) in self.targets.iter().zip(&found.targets) {
            let show = |path: &Path| format!("`{}`", path.display());
            if wanted.path != found.path {
                return differ("the target", show(&found.path), show(&wanted.path));
            }
            let span = |target: &Target| {
                format!(
                    "{} from {} on in {}",
                    Bytes(target.length_bytes),
                    Bytes(target.offset_bytes),
                    show(&target.path)
                )
            };
            if wanted != found {
                return differ("the span of", span(found), span(wanted));
            }
        }
        Ok(())
    }
}

/// A length as it is stored; jobs have few targets, and paths have bounds.
fn length_field(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes()
}

/// What is left to be read of some bytes.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*field)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_head() -> impl Strategy<Value = Head> {
        let target =
            (any::<u64>(), any::<u64>(), "[a-zé/ ]{0,300}").prop_map(|(offset_bytes, length_bytes, path)| {
                Target { offset_bytes, length_bytes, path: path.into() }
            });
        (any::<u64>(), any::<u64>(), prop::collection::vec(target, 0..5))
            .prop_map(|(unit_bytes, seed, targets)| Head { unit_bytes, seed, targets })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(head in any_head()) {
            let bytes = head.encode();
            prop_assert_eq!(Head::parse(&bytes), Ok((head, bytes.len() as u64)));
        }

        #[test]
        fn a_damaged_head_is_refused(head in any_head(), at in any::<prop::sample::Index>()) {
            let mut bytes = head.encode();
            // All but the four zeros and the padding is covered.
            let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
            let at = at.index(FIXED_BYTES + length);
            bytes[at] ^= 16;
            prop_assert!((20..24).contains(&at) || Head::parse(&bytes).is_err());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Head::parse(&bytes);
            let _ = Head::parse_description(&bytes);
        }
    }
}
