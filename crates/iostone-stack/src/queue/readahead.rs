//! How far the kernel reads ahead: asked in sectors, kept in pages, set in KiB and read back in either.

use std::fs::File;

use iostone_model::trial::Check;

use crate::device::BlockDevice;
use crate::error::StackError;
use crate::ioctl;

/// What `blockdev --setra` counts in, in bytes.
const SECTOR_BYTES: u64 = 512;
/// The smallest page of any machine that Linux runs on; where pages are larger, the read-back tells.
const PAGE_BYTES: u64 = 4096;

/// A readahead that the kernel can keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Readahead {
    sectors: u64,
}

impl Readahead {
    /// # Errors
    /// [`StackError::Usage`] for a number of sectors that is no whole number of pages: the kernel keeps pages
    /// (`ra_pages` of `struct backing_dev_info`) and would round it down without a word.
    pub(crate) fn new(sectors: u32) -> Result<Self, StackError> {
        let (sectors, step) = (u64::from(sectors), PAGE_BYTES / SECTOR_BYTES);
        if !sectors.is_multiple_of(step) {
            let reason = format!(
                "{sectors} sectors are not a multiple of the page size: the kernel would set {}; give a multiple of {step}",
                sectors / step * step
            );
            return Err(StackError::usage("queue.readahead", reason));
        }
        Ok(Self { sectors })
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
    fn sectors_that_fill_no_page_are_refused_with_what_the_kernel_would_keep() {
        for sectors in [0, 8, 256, 65536] {
            let readahead = Readahead::new(sectors).unwrap();
            assert_eq!(readahead.kib() * 2, u64::from(sectors));
            assert!(readahead.check(&readahead.kib().to_string(), "sysfs".to_owned()).is_ok());
        }
        for (sectors, kept) in [(1, "set 0"), (257, "set 256"), (65534, "set 65528")] {
            let error = Readahead::new(sectors).unwrap_err().to_string();
            assert!(error.contains(kept) && error.contains("multiple of 8"), "{error}");
        }
        let error = Readahead::new(256).unwrap().check("64", "sysfs".to_owned()).unwrap_err();
        assert!(error.to_string().contains("128 sectors"), "{error}");
    }
}
