//! Which bytes of the machine a device shows, so that two devices over the same ones are known for what they are.

use std::fmt;
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::overlay::{self, FileNumber};
use super::{BlockDevice, DeviceNumber, number_in, number_of, read_attribute};
use crate::below::whole_disk_of;
use crate::error::StackError;
use crate::mountinfo;
use crate::volume::{decode_device, open_attached};

/// A loop device may stand on a partition of a loop device, and so on; nobody piles them higher than this.
const DEPTH_MAX: usize = 16;

/// What the bytes belong to at the bottom.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Ground {
    /// A disk, or what md or device mapper made.
    Device(DeviceNumber),
    /// The file of a loop device, whatever its name is by now; of a file on an overlay, those of the layers as well.
    File(Vec<FileNumber>),
}

impl Ground {
    /// Whether they are the same disk, or have a file in common.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Device(one), Self::Device(other)) => one == other,
            (Self::File(one), Self::File(other)) => one.iter().any(|number| other.contains(number)),
            _ => false,
        }
    }
}

/// A run of bytes of a disk or a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Extent {
    ground: Ground,
    /// What the ground is called, for people.
    name: String,
    bytes: Range<u64>,
}

impl Extent {
    /// The bytes that a device shows, down through partitions and loop devices; none of one that is gone or empty.
    ///
    /// # Errors
    /// [`StackError::Io`] when a loop device does not tell what it stands on.
    pub(crate) fn of(device: &BlockDevice) -> Result<Option<Self>, StackError> {
        let mut at = device.clone();
        let mut start = 0u64;
        let extent = |ground, name: &str, start: u64| {
            let bytes = start..start.saturating_add(device.size_bytes);
            Ok((!bytes.is_empty()).then(|| Self { ground, name: name.to_owned(), bytes }))
        };
        for _ in 0..DEPTH_MAX {
            let sysfs = at.sysfs();
            let below = if at.is_partition() {
                // In sectors of 512 bytes, whatever the device's (Documentation/ABI/stable/sysfs-block).
                let sectors = read_attribute(&sysfs.join("start")).ok().and_then(|text| text.parse().ok());
                let (Some(sectors), Some(disk)) = (sectors, whole_disk_of(&sysfs)) else { return Ok(None) };
                start = start.saturating_add(u64::saturating_mul(sectors, 512));
                disk
            } else if at.backing_file().is_some() {
                let Some(backing) = Backing::of(&at)? else { return Ok(None) };
                start = start.saturating_add(backing.offset_bytes);
                match backing.ground {
                    Ground::Device(below) => below,
                    file @ Ground::File(_) => return extent(file, &backing.name, start),
                }
            } else {
                break;
            };
            let Ok(below) = BlockDevice::of_any(below) else { return Ok(None) };
            at = below;
        }
        extent(Ground::Device(at.number), &at.name, start)
    }

    /// Whether writing to one changes the other.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.ground.is_same(&other.ground)
            && self.bytes.start < other.bytes.end
            && other.bytes.start < self.bytes.end
    }

    /// Whether all bytes of the other are among these.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.ground.is_same(&other.ground)
            && self.bytes.start <= other.bytes.start
            && other.bytes.end <= self.bytes.end
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "bytes {} to {} of `{}`", self.bytes.start, self.bytes.end - 1, self.name)
    }
}

/// What a loop device stands on.
struct Backing {
    ground: Ground,
    name: String,
    offset_bytes: u64,
}

impl Backing {
    /// As the kernel tells (`LOOP_GET_STATUS64`, loop(4)), else by the name that sysfs has. None once it is detached.
    fn of(device: &BlockDevice) -> Result<Option<Self>, StackError> {
        let Some(name) = device.backing_file() else { return Ok(None) };
        let is_node =
            fs::metadata(&device.path).is_ok_and(|metadata| number_of(metadata.rdev()) == device.number);
        let answer = if is_node {
            open_attached(&device.path)
        } else {
            Err(StackError::unexpected(&device.path, format!("it is not `{}`", device.name)))
        };
        match answer {
            Ok(None) => Ok(None),
            Ok(Some((_, status))) => {
                let (dev, raw) = (decode_device(status.device), decode_device(status.raw_device));
                // Kernels of old repeat a file's filesystem there.
                let is_device = status.raw_device != 0 && raw != dev;
                let ground = if is_device {
                    Ground::Device(raw)
                } else {
                    Ground::File(overlay::numbers_of(Path::new(without_deleted(&name)), (dev, status.inode)))
                };
                Ok(Some(Self { ground, name, offset_bytes: status.offset }))
            }
            Err(error) => {
                let Ok(metadata) = fs::metadata(&name) else { return Err(error) };
                let ground = if let Ok(Some(below)) = BlockDevice::at(Path::new(&name)) {
                    Ground::Device(below.number)
                } else {
                    let own = (number_of(metadata.dev()), metadata.ino());
                    Ground::File(overlay::numbers_of(Path::new(&name), own))
                };
                Ok(Some(Self { ground, name, offset_bytes: device.loop_window().0 }))
            }
        }
    }
}

/// What a device's bytes are at the bottom, where that is a file.
#[derive(Debug)]
pub(crate) enum FileBelow {
    /// The file, opened for reading, and where in it the device begins.
    Opened(File, u64),
    /// A file that cannot be opened: it was removed, or lies where no process sees it. Its name, as the kernel has it.
    Unreachable(String),
}

/// The file that a device stands on, through partitions and other loop devices; none for one that stands on a disk.
///
/// # Errors
/// [`StackError::Io`] when a loop device does not tell what it stands on.
pub(crate) fn file_below(device: &BlockDevice) -> Result<Option<FileBelow>, StackError> {
    let Some(extent) = Extent::of(device)? else { return Ok(None) };
    let Ground::File(numbers) = &extent.ground else { return Ok(None) };
    let name = Path::new(&extent.name);
    let open = |path: &Path| {
        let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
        let metadata = file.metadata().ok()?;
        let number = (number_of(metadata.dev()), metadata.ino());
        (metadata.is_file() && numbers.contains(&number)).then_some(file)
    };
    // It may have been attached in another mount namespace.
    let found = open(name).or_else(|| mountinfo::as_others_see(name).iter().find_map(|path| open(path)));
    Ok(Some(match found {
        Some(file) => FileBelow::Opened(file, extent.bytes.start),
        None => FileBelow::Unreachable(extent.name),
    }))
}

/// The files under a device, through partitions and other loop devices, by their numbers: whoever writes to one of them
/// writes to the device.
///
/// # Errors
/// [`StackError::Io`] when a loop device does not tell what it stands on.
pub(crate) fn files_under(device: &BlockDevice) -> Result<Vec<FileNumber>, StackError> {
    Ok(match Extent::of(device)?.map(|extent| extent.ground) {
        Some(Ground::File(numbers)) => numbers,
        _ => Vec::new(),
    })
}

/// The kernel puts it behind the name of a file that was removed.
fn without_deleted(name: &str) -> &str {
    name.strip_suffix(" (deleted)").unwrap_or(name)
}

/// Every block device of the machine, partitions too; those without a node in `/dev` as well.
///
/// # Errors
/// [`StackError::Io`] when sysfs cannot be listed.
pub(crate) fn all_devices() -> Result<Vec<BlockDevice>, StackError> {
    let sysfs = PathBuf::from("/sys/class/block");
    let entries = fs::read_dir(&sysfs).map_err(|source| StackError::io("list", &sysfs, source))?;
    let mut devices: Vec<BlockDevice> = entries
        .flatten()
        .filter_map(|entry| number_in(&entry.path()))
        .filter_map(|number| BlockDevice::of_any(number).ok())
        .filter(|device| device.size_bytes > 0)
        .collect();
    devices.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(devices)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(ground: Ground, bytes: Range<u64>) -> Extent {
        Extent { ground, name: "x".to_owned(), bytes }
    }

    #[test]
    fn only_common_bytes_of_one_ground_overlap() {
        let file = |bytes| extent(Ground::File(vec![((8, 1), 7)]), bytes);
        assert!(file(0..10).overlaps(&file(9..20)) && file(9..20).overlaps(&file(0..10)));
        assert!(!file(0..10).overlaps(&file(10..20)) && !file(10..20).overlaps(&file(0..10)));
        assert!(file(0..10).covers(&file(2..10)) && !file(2..10).covers(&file(0..10)));
        let others =
            [Ground::File(vec![((8, 1), 8)]), Ground::File(vec![((8, 2), 7)]), Ground::Device((8, 1))];
        for other in others {
            assert!(!file(0..10).overlaps(&extent(other.clone(), 0..10)), "{other:?}");
            assert!(!file(0..10).covers(&extent(other.clone(), 0..10)), "{other:?}");
        }
        let on_overlay = extent(Ground::File(vec![((0, 52), 9), ((8, 1), 7)]), 0..10);
        assert!(file(0..10).overlaps(&on_overlay) && on_overlay.overlaps(&file(5..6)));
        assert_eq!(file(512..1024).to_string(), "bytes 512 to 1023 of `x`");
    }
}
