//! How I/Os are counted: what a byte of a workload costs in I/Os, and in bytes, of a volume.

use crate::prediction::Pattern;
use crate::volume::VolumeLimits;

/// The I/Os of a workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Io {
    /// Bytes of each; as large as the kernel makes them where it is not known.
    pub size: Option<f64>,
    /// Where one lies to the next.
    pub pattern: Pattern,
    /// Bytes of a request to the device on average, where it counted them.
    pub request: Option<f64>,
}

/// How I/Os are counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accounting {
    /// How large one may be to count as one; none where each counts as one, however large.
    pub size: Option<f64>,
    /// Whether adjacent small ones are counted together.
    pub merge: bool,
    /// Whether one that is smaller and not merged takes a whole one's bytes.
    pub whole: bool,
}

/// The kernel splits no I/O of up to this size (`max_sectors_kb`, Documentation/ABI/stable/sysfs-block); beyond, what a volume
/// that counts requests gets to see is not known.
const NEVER_SPLIT: f64 = 65_536.0;
/// The size of a random I/O of which nobody says it: fio's default.
pub(crate) const RANDOM_SIZE: f64 = 4096.0;

impl Accounting {
    /// That of EBS on SSD: up to 256 KiB are one I/O, adjacent ones are merged (EBS User Guide, I/O characteristics).
    pub const SSD: Self = Self { size: Some(262_144.0), merge: true, whole: false };

    /// That of a volume.
    pub fn of(limits: &VolumeLimits) -> Self {
        Self {
            size: limits.io_size.map(|size| size.0.max(1) as f64),
            merge: limits.merge,
            whole: limits.whole_ios,
        }
    }

    /// I/Os counted for each byte; none where it is not known how the kernel cuts them. `chunk` is where an array does.
    pub fn ios_per_byte(&self, io: Io, chunk: Option<u64>) -> Option<f64> {
        let piece = |size: f64| chunk.map_or(size, |chunk| size.min(chunk.max(1) as f64));
        match (self.size, io.pattern) {
            (Some(unit), Pattern::Sequential) if self.merge || io.size.is_none() => Some(1.0 / unit),
            (Some(unit), _) => {
                let size = io.size.unwrap_or(RANDOM_SIZE);
                let piece = piece(size);
                Some((piece / unit).ceil().max(1.0) / piece)
            }
            (None, Pattern::Sequential) if io.size.is_none() => None,
            (None, _) => {
                let piece = piece(io.size.unwrap_or(RANDOM_SIZE));
                if piece <= NEVER_SPLIT {
                    return Some(1.0 / piece);
                }
                // Some metadata among the requests makes their average smaller, and no part of an I/O.
                io.request.map(|request| (piece / request).round().max(1.0) / piece)
            }
        }
    }

    /// Bytes counted for each byte.
    pub fn bytes_per_byte(&self, io: Io, chunk: Option<u64>) -> f64 {
        let ios = if self.whole { self.ios_per_byte(io, chunk) } else { None };
        ios.zip(self.size).map_or(1.0, |(ios, size)| (ios * size).max(1.0))
    }
}
