//! Dirty page cache and what of it is being written back, from `/proc/meminfo`.

use crate::error::ProbeError;
use crate::fields::find_value;
use crate::kernel_file::KernelFile;
use crate::root::Root;

/// Both lines are among the first twenty; the whole text has some 1,600 bytes.
const MEMINFO_BYTES: usize = 4096;

/// Levels of the moment, not counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct MemoryLevels {
    pub(crate) dirty_bytes: u64,
    pub(crate) writeback_bytes: u64,
}

#[derive(Debug)]
pub(crate) struct MemorySignal {
    file: KernelFile,
}

impl MemorySignal {
    pub(crate) fn open(root: &Root) -> Result<Self, ProbeError> {
        let path = root.join("/proc/meminfo");
        let file = KernelFile::open(path.clone(), MEMINFO_BYTES)
            .map_err(|source| ProbeError::Unreadable { path, source })?;
        let mut signal = Self { file };
        signal.take()?;
        Ok(signal)
    }

    pub(crate) fn take(&mut self) -> Result<MemoryLevels, ProbeError> {
        let levels = match self.file.read_beginning() {
            Ok(text) => parse_levels(text),
            Err(source) => {
                return Err(ProbeError::Unreadable { path: self.file.path().to_path_buf(), source });
            }
        };
        levels.ok_or_else(|| ProbeError::Unexpected {
            path: self.file.path().to_path_buf(),
            wanted: "lines `Dirty:` and `Writeback:`",
        })
    }
}

/// Reads `Dirty:` and `Writeback:` (`proc_meminfo(5)`); its "kB" are 1024 bytes.
pub(crate) fn parse_levels(text: &[u8]) -> Option<MemoryLevels> {
    Some(MemoryLevels {
        dirty_bytes: find_value(text, b"Dirty:")?.saturating_mul(1024),
        writeback_bytes: find_value(text, b"Writeback:")?.saturating_mul(1024),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_levels_are_read_in_bytes() {
        let text = b"MemTotal:       1019200 kB\nDirty:              1340 kB\nWriteback:            12 kB\n\
                     WritebackTmp:          7 kB\n";
        let levels = parse_levels(text).unwrap();
        assert_eq!(levels.dirty_bytes, 1340 * 1024);
        assert_eq!(levels.writeback_bytes, 12 * 1024);
    }

    #[test]
    fn a_text_without_them_is_none() {
        assert_eq!(parse_levels(b"MemTotal: 1 kB\nDirty: 2 kB\n"), None);
    }
}
