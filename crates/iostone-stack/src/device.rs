//! A block device of this machine: its kernel name, number, size and what sysfs tells about its place among others.

pub(crate) mod extent;
pub(crate) mod named;
pub(crate) mod opened;
mod overlay;

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::below::whole_disk_of;
use crate::error::StackError;

pub(crate) use iostone_model::mountinfo::parse_device_number as parse_number;

pub(crate) use overlay::{FileNumber, numbers_of as file_numbers};

/// Major and minor number.
pub(crate) type DeviceNumber = (u32, u32);

/// A block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockDevice {
    /// A device node that opens it.
    pub(crate) path: PathBuf,
    /// Kernel name: `sdb`, `loop0`.
    pub(crate) name: String,
    pub(crate) number: DeviceNumber,
    pub(crate) size_bytes: u64,
}

impl BlockDevice {
    /// The device behind a node or a link to one. None if the path leads to something else.
    ///
    /// # Errors
    /// [`StackError::Io`] when the path or its entry in sysfs cannot be read.
    pub(crate) fn at(path: &Path) -> Result<Option<Self>, StackError> {
        let metadata = fs::metadata(path).map_err(|source| StackError::io("stat", path, source))?;
        if !metadata.file_type().is_block_device() {
            return Ok(None);
        }
        let number = number_of(metadata.rdev());
        Self::of_number(number, path.to_owned()).map(Some)
    }

    /// The device of a number, opened by its node in `/dev`.
    pub(crate) fn numbered(number: DeviceNumber) -> Result<Self, StackError> {
        let name = kernel_name(number)?;
        // sysfs writes `!` for the `/` in names such as cciss/c0d0.
        let path = Path::new("/dev").join(name.replace('!', "/"));
        let metadata = fs::metadata(&path).map_err(|source| StackError::io("stat", &path, source))?;
        if !metadata.file_type().is_block_device() || number_of(metadata.rdev()) != number {
            return Err(StackError::unexpected(
                &path,
                format!("it is not block device {}:{}, which sysfs calls `{name}`", number.0, number.1),
            ));
        }
        Self::of_number(number, path)
    }

    /// The device of a number, whether or not it has a node in `/dev`.
    pub(crate) fn of_any(number: DeviceNumber) -> Result<Self, StackError> {
        let node = Path::new("/dev").join(kernel_name(number)?.replace('!', "/"));
        Self::of_number(number, node)
    }

    pub(crate) fn of_number(number: DeviceNumber, path: PathBuf) -> Result<Self, StackError> {
        let sysfs = sysfs_of(number);
        let name = kernel_name(number)?;
        let size = sysfs.join("size");
        let sectors: u64 = read_attribute(&size)?
            .parse()
            .map_err(|_| StackError::unexpected(&size, "it is not a number of sectors"))?;
        // sysfs counts in 512 byte sectors, whatever the device's (Documentation/ABI/stable/sysfs-block).
        Ok(Self { path, name, number, size_bytes: sectors.saturating_mul(512) })
    }

    /// `/sys/dev/block/MAJOR:MINOR`.
    pub(crate) fn sysfs(&self) -> PathBuf {
        sysfs_of(self.number)
    }

    /// Whether it is a partition of another device.
    pub(crate) fn is_partition(&self) -> bool {
        self.sysfs().join("partition").exists()
    }

    /// The number of this use of the device; it changes when the device is attached anew (Linux 5.15).
    pub(crate) fn diskseq(&self) -> Option<u64> {
        read_attribute(&self.sysfs().join("diskseq")).ok()?.parse().ok()
    }

    /// A name under `/dev/disk/by-id` that leads here, if udev made one.
    pub(crate) fn stable_path(&self) -> Option<PathBuf> {
        let mut links: Vec<PathBuf> = fs::read_dir("/dev/disk/by-id")
            .ok()?
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| fs::metadata(path).is_ok_and(|metadata| number_of(metadata.rdev()) == self.number))
            .collect();
        links.sort();
        links.into_iter().next()
    }

    /// The file under a loop device, as sysfs names it; a removed file has ` (deleted)` behind its name.
    pub(crate) fn backing_file(&self) -> Option<String> {
        read_attribute(&self.sysfs().join("loop/backing_file")).ok()
    }

    /// Where a loop device's part of its file begins, and how long it is at most, in bytes; zeros for all of the file
    /// (Documentation/ABI/testing/sysfs-block-loop).
    pub(crate) fn loop_window(&self) -> (u64, u64) {
        let read = |name: &str| read_attribute(&self.sysfs().join("loop").join(name)).ok()?.parse().ok();
        (read("offset").unwrap_or(0), read("sizelimit").unwrap_or(0))
    }

    /// What tells this device from others: a stable name, else serial, model or backing file (with the part of it that a
    /// loop device shows), else the kernel name; of a partition its number on a disk told so.
    pub(crate) fn identity(&self) -> String {
        if let Some(path) = self.stable_path() {
            return path.display().to_string();
        }
        if let Ok(number) = read_attribute(&self.sysfs().join("partition"))
            && let Some(disk) = whole_disk_of(&self.sysfs()).and_then(|disk| Self::of_any(disk).ok())
        {
            return format!("partition {number} of {}", disk.identity());
        }
        if let Some(file) = self.backing_file() {
            return match self.loop_window() {
                (0, 0) => format!("backing file {file}"),
                (start, _) => {
                    let last = start.saturating_add(self.size_bytes).saturating_sub(1);
                    format!("backing file {file}, its bytes {start} to {last}")
                }
            };
        }
        for attribute in ["wwid", "device/wwid", "device/serial", "serial", "dm/uuid", "md/uuid"] {
            if let Ok(text) = read_attribute(&self.sysfs().join(attribute))
                && !text.is_empty()
            {
                return format!("serial {text}");
            }
        }
        format!("kernel name {}", self.name)
    }
}

/// Splits a `st_rdev` or `st_dev`.
pub(crate) fn number_of(dev: u64) -> DeviceNumber {
    (rustix::fs::major(dev), rustix::fs::minor(dev))
}

fn sysfs_of(number: DeviceNumber) -> PathBuf {
    PathBuf::from(format!("/sys/dev/block/{}:{}", number.0, number.1))
}

/// The kernel's name of a block device: the last part of where its sysfs link leads.
fn kernel_name(number: DeviceNumber) -> Result<String, StackError> {
    let link = sysfs_of(number);
    let target = fs::read_link(&link).map_err(|source| StackError::io("readlink", &link, source))?;
    target
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .ok_or_else(|| StackError::unexpected(&link, "it leads nowhere"))
}

/// One attribute of sysfs without its line end.
///
/// # Errors
/// [`StackError::Io`] when it cannot be read.
pub(crate) fn read_attribute(path: &Path) -> Result<String, StackError> {
    fs::read_to_string(path)
        .map(|text| text.trim_end().to_owned())
        .map_err(|source| StackError::io("read", path, source))
}

/// The number in the attribute `dev` of a directory of sysfs.
pub(crate) fn number_in(sysfs: &Path) -> Option<DeviceNumber> {
    parse_number(&read_attribute(&sysfs.join("dev")).ok()?)
}

/// The numbers of the devices that a directory of sysfs links to: `holders`, `slaves`.
pub(crate) fn linked_devices(directory: &Path) -> Vec<DeviceNumber> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries.flatten().filter_map(|entry| number_in(&entry.path())).collect()
}

/// The numbers of a disk's partitions.
pub(crate) fn partitions_of(sysfs: &Path) -> Vec<DeviceNumber> {
    let Ok(entries) = fs::read_dir(sysfs) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| entry.path().join("partition").exists())
        .filter_map(|entry| number_in(&entry.path()))
        .collect()
}

/// A size for people: `4 GiB`, `512 MiB`, bytes below.
pub(crate) fn size_in_words(bytes: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    for (name, unit) in UNITS {
        if bytes >= unit {
            let tenths = bytes / (unit / 10);
            return if bytes.is_multiple_of(unit) || tenths.is_multiple_of(10) {
                format!("{} {name}", bytes / unit)
            } else {
                format!("{}.{} {name}", bytes / unit, (bytes % unit) * 10 / unit)
            };
        }
    }
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_no_device_is_told() {
        assert_eq!(BlockDevice::at(Path::new("/dev/null")).unwrap(), None);
        assert_eq!(BlockDevice::at(Path::new("/proc/mounts")).unwrap(), None);
        assert!(BlockDevice::at(Path::new("/nonexistent")).is_err());
    }

    #[test]
    fn sizes_are_written_for_people() {
        assert_eq!(size_in_words(512), "512 bytes");
        assert_eq!(size_in_words(64 << 20), "64 MiB");
        assert_eq!(size_in_words(3 << 29), "1.5 GiB");
    }
}
