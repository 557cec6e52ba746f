//! How far the kernel reads ahead: asked in sectors, kept in pages, set in KiB and read back in either.

use std::fs::File;

use iostone_model::experiment::Queue;
use iostone_model::trial::Check;

use crate::device::BlockDevice;
use crate::error::StackError;
use crate::ioctl;

/// What `blockdev --setra` counts in, in bytes.
const SECTOR_BYTES: u64 = 512;
/// How far a device is to read ahead, in whole pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Readahead {
    sectors: u64,
}

impl Readahead {
    /// None where nothing is asked.
    pub(crate) fn of(queue: &Queue) -> Option<Self> {
        queue.readahead_sectors().map(|sectors| Self { sectors })
    }

    /// As sysfs takes it.
    pub(crate) fn kib(self) -> u64 {
        self.sectors * SECTOR_BYTES / 1024
    }

    /// Holds what sysfs gives, in KiB, against what was asked.
    ///
    /// # Errors
    /// [`StackError::NotApplied`] where it is another.
    pub(crate) fn check(self, kib: &str, from: String) -> Result<Check, StackError> {
        let sectors = kib.parse::<u64>().map(|kib| kib.saturating_mul(1024) / SECTOR_BYTES).ok();
        self.hold_against(sectors.map_or_else(|| format!("`{kib}` KiB"), in_words), from)
    }

    /// Asks the device itself.
    ///
    /// # Errors
    /// [`StackError::NotApplied`] where it is another, [`StackError::Io`] where the device does not answer.
    pub(crate) fn check_device(self, device: &BlockDevice) -> Result<Check, StackError> {
        let file = File::open(&device.path).map_err(|source| StackError::io("open", &device.path, source))?;
        let sectors = ioctl::readahead_sectors(&file)
            .map_err(|source| StackError::io("ioctl BLKRAGET", &device.path, source))?;
        self.hold_against(in_words(sectors), format!("BLKRAGET of {}", device.path.display()))
    }

    fn hold_against(self, read_back: String, from: String) -> Result<Check, StackError> {
        let asked = in_words(self.sectors);
        if asked != read_back {
            return Err(StackError::NotApplied { layer: "queue", asked, read_back, from });
        }
        Ok(Check { layer: "queue".to_owned(), asked, read_back, from })
    }
}

fn in_words(sectors: u64) -> String {
    format!("readahead {sectors} sectors")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sysfs_gives_is_held_against_either_unit() {
        let in_sectors = Queue { readahead: Some(256), ..Queue::default() };
        let in_kib = Queue { read_ahead_kb: Some(128), ..Queue::default() };
        for readahead in [in_sectors, in_kib].map(|queue| Readahead::of(&queue).unwrap()) {
            assert_eq!(readahead.kib(), 128);
            assert!(readahead.check("128", "sysfs".to_owned()).is_ok());
            let error = readahead.check("64", "sysfs".to_owned()).unwrap_err();
            assert!(error.to_string().contains("128 sectors"), "{error}");
        }
    }
}
