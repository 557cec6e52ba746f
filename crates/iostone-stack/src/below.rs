//! The devices of a stack and the disks under it, whose counters tell what was really served.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use iostone_model::trial::DROPS_SYNCS;
use serde::{Deserialize, Serialize};

use crate::device::{BlockDevice, DeviceNumber, linked_devices, number_in, number_of};
use crate::error::StackError;
use crate::mountinfo::{self, Mount};

/// A device's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// What the workload's filesystem, or the workload itself, stands on.
    Stack,
    /// A member of the array that the stack stands on.
    Member,
    /// A disk under that: it holds the backing file, or the directory.
    Below,
}

/// A block device that takes part in a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackDevice {
    /// Kernel name, as in `/proc/diskstats`: `loop0`.
    pub name: String,
    /// Major and minor number.
    pub number: (u32, u32),
    /// Its place.
    pub role: Role,
}

/// The mount that a path lies on: statx(2) gives the mount's id since Linux 5.8, else the deepest mount point above.
pub(crate) fn mount_of(path: &Path) -> Result<Option<Mount>, StackError> {
    let mounts = mountinfo::own_mounts()?;
    let mount_id = rustix::fs::statx(
        rustix::fs::CWD,
        path,
        rustix::fs::AtFlags::empty(),
        rustix::fs::StatxFlags::MNT_ID,
    );
    if let Ok(statx) = mount_id
        && let Some(mounted) = mounts.iter().find(|mounted| mounted.mount_id == statx.stx_mnt_id)
    {
        return Ok(Some(mounted.clone()));
    }
    let path = fs::canonicalize(path).map_err(|source| StackError::io("find", path, source))?;
    Ok(mounts
        .into_iter()
        .filter(|mounted| path.starts_with(&mounted.target))
        .max_by_key(|mounted| mounted.target.as_os_str().len()))
}

/// The type of the filesystem that holds a path: `ext4`, `tmpfs`.
pub(crate) fn filesystem_kind(path: &Path) -> Result<String, StackError> {
    Ok(mount_of(path)?.map_or_else(|| "an unknown filesystem".to_owned(), |mounted| mounted.filesystem))
}

/// The filesystem that holds a path, in words: "ext4 (/dev/vda)"; an overlay that drops every fsync is told as such.
pub(crate) fn describe_filesystem(path: &Path) -> Result<String, StackError> {
    Ok(mount_of(path)?.map_or_else(|| "an unknown filesystem".to_owned(), |mounted| describe(&mounted)))
}

/// Whether the filesystem that holds a path drops every fsync.
pub(crate) fn drops_syncs_at(path: &Path) -> Result<bool, StackError> {
    Ok(mount_of(path)?.is_some_and(|mounted| drops_syncs(&mounted)))
}

fn describe(mounted: &Mount) -> String {
    let words = format!("{} ({})", mounted.filesystem, mounted.source.display());
    if drops_syncs(mounted) { format!("{words}, {DROPS_SYNCS}") } else { words }
}

/// Whether it is an overlay whose writable layer takes no fsync: `volatile` (Documentation/filesystems/overlayfs.rst,
/// "Volatile mount"), which newer kernels show as `fsync=volatile`. Podman mounts the layer of a `--rm` container so.
fn drops_syncs(mounted: &Mount) -> bool {
    let is_volatile = |option: &String| matches!(option.as_str(), "volatile" | "fsync=volatile");
    mounted.filesystem == "overlay" && mounted.super_options.iter().any(is_volatile)
}

/// The whole disks that hold a file or directory; none for what stands on no disk, or on one that is not to be found.
pub(crate) fn disks_under_path(path: &Path) -> Result<Vec<StackDevice>, StackError> {
    let mut numbers = BTreeSet::new();
    for number in devices_of_filesystem(path, 0)? {
        numbers.extend(disks_under(number));
    }
    Ok(as_stack_devices(&numbers))
}

/// The whole disks under a device: itself, if nothing is.
pub(crate) fn disks_under_device(device: &BlockDevice) -> Vec<StackDevice> {
    let mut numbers = disks_under(device.number);
    numbers.remove(&device.number);
    as_stack_devices(&numbers)
}

fn as_stack_devices(numbers: &BTreeSet<DeviceNumber>) -> Vec<StackDevice> {
    numbers
        .iter()
        .filter_map(|&number| {
            let device = BlockDevice::numbered(number).ok()?;
            Some(StackDevice { name: device.name, number, role: Role::Below })
        })
        .collect()
}

/// The block devices that the filesystem holding `path` was made on.
fn devices_of_filesystem(path: &Path, depth: usize) -> Result<Vec<DeviceNumber>, StackError> {
    let metadata = fs::metadata(path).map_err(|source| StackError::io("stat", path, source))?;
    let number = number_of(metadata.dev());
    if number.0 != 0 {
        return Ok(vec![number]);
    }
    let Some(mounted) = mount_of(path)? else { return Ok(Vec::new()) };
    if mounted.filesystem == "overlay" {
        // What is written goes to the upper directory; its path may belong to another mount namespace.
        return match mounted.super_option("upperdir") {
            Some(upper) if depth < 4 && upper.exists() => devices_of_filesystem(&upper, depth + 1),
            _ => Ok(Vec::new()),
        };
    }
    let Ok(Some(source)) = BlockDevice::at(&mounted.source) else { return Ok(Vec::new()) };
    let members = btrfs_filesystems().into_iter().find(|members| members.contains(&source.number));
    Ok(members.unwrap_or_else(|| vec![source.number]))
}

/// The member devices of each btrfs that the kernel has mounted (`/sys/fs/btrfs/UUID/devices`).
pub(crate) fn btrfs_filesystems() -> Vec<Vec<DeviceNumber>> {
    let Ok(entries) = fs::read_dir("/sys/fs/btrfs") else { return Vec::new() };
    entries
        .flatten()
        .map(|entry| linked_devices(&entry.path().join("devices")))
        .filter(|members| !members.is_empty())
        .collect()
}

/// Down through md, device mapper and partitions to whole disks.
pub(crate) fn disks_under(number: DeviceNumber) -> BTreeSet<DeviceNumber> {
    let mut disks = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![number];
    while let Some(number) = open.pop() {
        if !seen.insert(number) {
            continue;
        }
        let sysfs = PathBuf::from(format!("/sys/dev/block/{}:{}", number.0, number.1));
        if sysfs.join("partition").exists() {
            open.extend(whole_disk_of(&sysfs));
            continue;
        }
        let slaves = linked_devices(&sysfs.join("slaves"));
        if slaves.is_empty() {
            disks.insert(number);
        }
        open.extend(slaves);
    }
    disks
}

/// The disk of a partition: its directory in sysfs lies within the disk's.
pub(crate) fn whole_disk_of(partition: &Path) -> Option<DeviceNumber> {
    number_in(fs::canonicalize(partition).ok()?.parent()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overlay_that_drops_syncs_is_told_as_such() {
        let mounted = |line: &str| mountinfo::parse(line.as_bytes()).into_iter().next().unwrap();
        let plain = "40 35 0:60 / / rw,relatime - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w";
        assert_eq!(describe(&mounted(plain)), "overlay (overlay)");
        for word in ["volatile", "fsync=volatile"] {
            assert_eq!(
                describe(&mounted(&format!("{plain},{word}"))),
                "overlay (overlay), mounted volatile, which drops every fsync"
            );
        }
    }
}
