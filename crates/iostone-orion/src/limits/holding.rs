//! Which devices a volume's I/O passes, and what share of it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use iostone_probe::Root;

use crate::lun::Lun;

/// More levels of devices over devices than anybody stacks.
const DEEPEST: u32 = 16;
/// A share this near to all is all.
const WHOLE: f64 = 0.9999;

/// A device under the volume.
#[derive(Debug, Clone, PartialEq)]
pub struct Holding {
    /// `major:minor`.
    pub number: String,
    /// Kernel name.
    pub name: String,
    /// The share of the volume's I/O that passes it: 1 is all.
    pub share: f64,
}

impl Holding {
    /// Whether all I/O passes it.
    pub fn is_whole(&self) -> bool {
        self.share >= WHOLE
    }
}

/// The devices under the LUNs, in the order of their numbers. What cannot be found out is left out.
pub fn holdings(root: &Root, luns: &[Lun]) -> Vec<Holding> {
    let total: u64 = luns.iter().map(|lun| lun.bytes).sum();
    let under: Vec<(String, f64)> = luns
        .iter()
        .filter(|_| total > 0)
        .filter_map(|lun| Some((device_of(root, &lun.way(), 0)?, lun.bytes as f64 / total as f64)))
        .collect();
    holdings_under(root, &under)
}

/// The same from devices (`major:minor`), each with its share.
pub(super) fn holdings_under(root: &Root, devices: &[(String, f64)]) -> Vec<Holding> {
    let mut shares = BTreeMap::new();
    for (number, share) in devices {
        descend(root, number, *share, 0, &mut shares);
    }
    let named =
        |(number, share): (String, f64)| Some(Holding { name: name_of(root, &number)?, number, share });
    shares.into_iter().filter_map(named).collect()
}

fn sysfs(number: &str) -> PathBuf {
    Path::new("/sys/dev/block").join(number)
}

fn name_of(root: &Root, number: &str) -> Option<String> {
    root.link_name(sysfs(number))
}

/// Adds a device, and those under it.
fn descend(root: &Root, number: &str, share: f64, depth: u32, shares: &mut BTreeMap<String, f64>) {
    if depth > DEEPEST {
        return;
    }
    let device = sysfs(number);
    if root.exists(device.join("partition")) {
        // Limits are for whole disks; sysfs has a partition in the folder of its disk.
        let disk = root.link(&device).and_then(|target| Some(target.parent()?.file_name()?.to_owned()));
        let number = disk.and_then(|disk| root.word(Path::new("/sys/class/block").join(disk).join("dev")));
        if let Some(number) = number {
            descend(root, &number, share, depth + 1, shares);
        }
        return;
    }
    *shares.entry(number.to_owned()).or_default() += share;
    for (below, part) in below(root, &device) {
        descend(root, &below, share * part, depth + 1, shares);
    }
}

/// The devices directly under one, each with the share of its I/O that goes there; none where that is not to be told.
fn below(root: &Root, device: &Path) -> Vec<(String, f64)> {
    if let Some(file) = root.word(device.join("loop/backing_file")) {
        return device_of(root, Path::new(&file), 0).map(|number| (number, 1.0)).into_iter().collect();
    }
    let members: Vec<String> = root
        .entries(device.join("slaves"))
        .iter()
        .filter_map(|member| root.word(Path::new("/sys/class/block").join(member).join("dev")))
        .collect();
    // A mirror writes everything to each and reads from any; a logical volume over several disks may lie on one of them.
    let spreads_evenly = root.word(device.join("md/level")).as_deref() == Some("raid0");
    if members.len() > 1 && !spreads_evenly {
        return Vec::new();
    }
    let part = 1.0 / members.len() as f64;
    members.into_iter().map(|member| (member, part)).collect()
}

/// The device that a path is, or lies on.
fn device_of(root: &Root, path: &Path, depth: u32) -> Option<String> {
    let metadata = fs::metadata(root.join(path)).ok()?;
    if metadata.file_type().is_block_device() {
        return Some(number_of(metadata.rdev()));
    }
    let number = number_of(metadata.dev());
    if !number.starts_with("0:") {
        return Some(number);
    }
    // btrfs and overlay have a number of their own, which no device has.
    let canonical = fs::canonicalize(root.join(path)).ok()?;
    let mount = root
        .mounts()
        .into_iter()
        .filter(|mount| canonical.starts_with(&mount.target))
        .max_by_key(|mount| mount.target.as_os_str().len())?;
    if mount.filesystem == "overlay" {
        let upper = mount.super_option("upperdir")?;
        return if depth < DEEPEST { device_of(root, &upper, depth + 1) } else { None };
    }
    let source = fs::metadata(root.join(&mount.source)).ok()?;
    let number = source.file_type().is_block_device().then(|| number_of(source.rdev()))?;
    (!is_one_of_many(root, &number)).then_some(number)
}

/// Whether a device is one of several of a btrfs, whose I/O goes to any of them.
fn is_one_of_many(root: &Root, number: &str) -> bool {
    let Some(name) = name_of(root, number) else { return false };
    root.entries("/sys/fs/btrfs").iter().any(|filesystem| {
        let members = root.entries(Path::new("/sys/fs/btrfs").join(filesystem).join("devices"));
        members.len() > 1 && members.contains(&name)
    })
}

fn number_of(device: u64) -> String {
    format!("{}:{}", libc::major(device), libc::minor(device))
}
