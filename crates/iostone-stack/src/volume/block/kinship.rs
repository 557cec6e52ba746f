//! Devices that are no members for one array, or poor ones: the same twice, of unequal size, parts of one disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use iostone_model::figures::{list, quoted};

use crate::below::{disks_under, disks_under_path};
use crate::device::extent::Extent;
use crate::device::{BlockDevice, DeviceNumber, partitions_of, size_in_words};
use crate::error::StackError;

/// The key that names the devices.
const KEY: &str = "volume.devices";

/// Refuses one device under two names, a partition beside its own disk, and devices that share bytes in other ways, as
/// two loop devices over one file do.
///
/// # Errors
/// [`StackError::Usage`] with both names; [`StackError::Io`] when a loop device does not tell what it stands on.
pub(super) fn refuse_doubles(devices: &[(&Path, BlockDevice)]) -> Result<(), StackError> {
    for (index, (word, device)) in devices.iter().enumerate() {
        for (earlier_word, earlier) in devices.iter().take(index) {
            if earlier.number == device.number {
                let reason = format!(
                    "`{}` and `{}` are the same device, `{}`",
                    earlier_word.display(),
                    word.display(),
                    device.name
                );
                return Err(StackError::usage(KEY, reason));
            }
            for (part, whole) in [(device, earlier), (earlier, device)] {
                if partitions_of(&whole.sysfs()).contains(&part.number) {
                    let reason =
                        format!("`{}` is a partition of `{}`: name one of them", part.name, whole.name);
                    return Err(StackError::usage(KEY, reason));
                }
            }
            if let (Some(one), Some(other)) = (Extent::of(earlier)?, Extent::of(device)?)
                && one.overlaps(&other)
            {
                let reason = format!(
                    "`{}` ({one}) and `{}` ({other}) are the same storage: name one of them",
                    earlier_word.display(),
                    word.display()
                );
                return Err(StackError::usage(KEY, reason));
            }
        }
    }
    Ok(())
}

/// Refuses devices of unequal size: an array uses so much of each as the smallest has, or stripes over fewer members
/// at its end, and either would be measured as the array's.
///
/// # Errors
/// [`StackError::Usage`] with every size.
pub(super) fn refuse_unequal(devices: &[&BlockDevice]) -> Result<(), StackError> {
    let Some(first) = devices.first() else { return Ok(()) };
    if devices.iter().all(|device| device.size_bytes == first.size_bytes) {
        return Ok(());
    }
    let sizes: Vec<String> = devices
        .iter()
        .map(|device| {
            format!("`{}` {} ({} bytes)", device.name, size_in_words(device.size_bytes), device.size_bytes)
        })
        .collect();
    let reason = format!("the members of an array must have equal sizes: {}", sizes.join(", "));
    Err(StackError::usage(KEY, reason))
}

/// A sentence for each disk that several members stand on.
pub(super) fn notes(devices: &[&BlockDevice]) -> Vec<String> {
    let mut standing: BTreeMap<DeviceNumber, Vec<&BlockDevice>> = BTreeMap::new();
    for device in devices {
        for disk in disks_of(device) {
            standing.entry(disk).or_default().push(device);
        }
    }
    standing
        .into_iter()
        .filter(|(_, members)| members.len() > 1)
        .map(|(disk, members)| {
            let are_parts = members.iter().all(|member| member.is_partition());
            let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
            let disk = BlockDevice::numbered(disk)
                .map_or_else(|_| format!("{}:{}", disk.0, disk.1), |device| device.name);
            in_words(&names, &disk, are_parts)
        })
        .collect()
}

/// "`sdb1` and `sdb2` are parts of one disk, `sdb`: ...".
fn in_words(members: &[&str], disk: &str, are_parts: bool) -> String {
    let are = if are_parts { "are parts of" } else { "stand on" };
    format!(
        "{} {are} one disk, `{disk}`: an array over them is no faster than the disk",
        list(&quoted(members))
    )
}

/// The whole disks under a device, through the file of a loop device too.
fn disks_of(device: &BlockDevice) -> BTreeSet<DeviceNumber> {
    let mut disks = BTreeSet::new();
    for disk in disks_under(device.number) {
        let file = BlockDevice::numbered(disk).ok().and_then(|disk| disk.backing_file());
        match file.as_deref().map(Path::new) {
            None => {
                disks.insert(disk);
            }
            Some(file) => match BlockDevice::at(file) {
                Ok(Some(below)) => disks.extend(disks_under(below.number)),
                Ok(None) => {
                    disks.extend(disks_under_path(file).unwrap_or_default().iter().map(|disk| disk.number));
                }
                Err(_) => {}
            },
        }
    }
    disks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, minor: u32, size_bytes: u64) -> BlockDevice {
        BlockDevice {
            path: Path::new("/dev").join(name),
            name: name.to_owned(),
            // A number that no machine has, so that sysfs has nothing to say about it.
            number: (4000, minor),
            size_bytes,
        }
    }

    #[test]
    fn one_device_under_two_names_is_told() {
        let (link, node) = (Path::new("/dev/disk/by-id/x"), Path::new("/dev/sdb"));
        let error = refuse_doubles(&[(link, device("sdb", 1, 1)), (node, device("sdb", 1, 1))]).unwrap_err();
        assert!(
            error.to_string().contains("`/dev/disk/by-id/x` and `/dev/sdb` are the same device"),
            "{error}"
        );
        refuse_doubles(&[(link, device("sda", 0, 1)), (node, device("sdb", 1, 1))]).unwrap();
    }

    #[test]
    fn unequal_sizes_are_named() {
        let (one, other) = (device("sda", 0, 64 << 20), device("sdb", 1, 32 << 20));
        refuse_unequal(&[&one, &one]).unwrap();
        let error = refuse_unequal(&[&one, &other]).unwrap_err().to_string();
        assert!(error.contains("`sda` 64 MiB (67108864 bytes), `sdb` 32 MiB"), "{error}");
    }

    #[test]
    fn members_on_one_disk_make_a_sentence() {
        assert_eq!(
            in_words(&["sdb1", "sdb2"], "sdb", true),
            "`sdb1` and `sdb2` are parts of one disk, `sdb`: an array over them is no faster than the disk"
        );
        assert_eq!(
            in_words(&["loop0", "loop1", "loop2"], "vda", false),
            "`loop0`, `loop1` and `loop2` stand on one disk, `vda`: an array over them is no faster than the disk"
        );
    }
}
