//! A device with all that stands on it: its partitions, and what md, device mapper, bcache or loop devices made of them.

use std::collections::BTreeSet;

use super::{Objection, node_of};
use crate::device::{BlockDevice, DeviceNumber, linked_devices, partitions_of, read_attribute};
use crate::error::{RefusalReason, StackError};
use crate::volume::attached_loops;

/// One device of a family.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) device: BlockDevice,
    /// How it stands on the first: "sdb1 on sdb".
    pub(super) chain: String,
}

/// The device itself first, then everything on it.
pub(super) fn of(device: &BlockDevice) -> Vec<Member> {
    let mut members = vec![Member { device: device.clone(), chain: device.name.clone() }];
    let mut seen = BTreeSet::from([device.number]);
    let mut next = 0;
    while let Some(member) = members.get(next).cloned() {
        next += 1;
        let sysfs = member.device.sysfs();
        let on_it = partitions_of(&sysfs).into_iter().chain(linked_devices(&sysfs.join("holders")));
        for number in on_it.chain(loops_on(member.device.number)) {
            if seen.insert(number)
                && let Ok(device) = BlockDevice::numbered(number)
            {
                let chain = format!("{} on {}", device.name, member.chain);
                members.push(Member { device, chain });
            }
        }
    }
    members
}

/// The device's own partitions.
pub(super) fn partitions(device: &BlockDevice) -> Vec<BlockDevice> {
    partitions_of(&device.sysfs())
        .into_iter()
        .filter_map(|number| BlockDevice::numbered(number).ok())
        .collect()
}

/// Loop devices whose file is that block device.
fn loops_on(number: DeviceNumber) -> Vec<DeviceNumber> {
    let Ok(attached) = attached_loops() else { return Vec::new() };
    attached
        .into_iter()
        .filter(|attached| {
            let below = BlockDevice::at(attached.backing_file.as_ref());
            below.ok().flatten().is_some_and(|below| below.number == number)
        })
        .filter_map(|attached| BlockDevice::at(&attached.path).ok().flatten().map(|device| device.number))
        .collect()
}

/// An objection if md, device mapper, bcache or a loop device stands on it.
///
/// # Errors
/// [`StackError::Io`] when sysfs cannot be read.
pub(super) fn held(device: &BlockDevice, family: &[Member]) -> Result<Option<Objection>, StackError> {
    // What cannot be looked at must not pass for absent.
    let holders = device.sysfs().join("holders");
    std::fs::read_dir(&holders).map_err(|source| StackError::io("list", &holders, source))?;
    let holder = family.iter().skip(1).find(|member| !member.device.is_partition());
    let Some(member) = holder else { return Ok(None) };
    let name = &member.device.name;
    let (what, next) = release_command(&member.device);
    Ok(Some(
        Objection::alive(
            RefusalReason::Held,
            format!("it is held by {what} ({})", member.chain),
            vec![format!("`{next}`")],
        )
        .losing(format!("what is on {}", node_of(name).display())),
    ))
}

/// What a holder is, and the command that makes it let go.
fn release_command(holder: &BlockDevice) -> (String, String) {
    let name = &holder.name;
    let node = node_of(name);
    let node = node.display();
    let sysfs = holder.sysfs();
    if let Ok(mapped) = read_attribute(&sysfs.join("dm/name")) {
        let uuid = read_attribute(&sysfs.join("dm/uuid")).unwrap_or_default();
        return if uuid.starts_with("LVM-") {
            (format!("the logical volume {mapped}"), format!("lvchange --activate n /dev/mapper/{mapped}"))
        } else if uuid.starts_with("CRYPT-") {
            (format!("the encrypted volume {mapped}"), format!("cryptsetup close {mapped}"))
        } else {
            (format!("the device mapper's {mapped}"), format!("dmsetup remove {mapped}"))
        };
    }
    if sysfs.join("md").exists() {
        return (format!("the array {name}"), format!("mdadm --stop {node}"));
    }
    if sysfs.join("loop").exists() {
        return (format!("the loop device {name}"), format!("losetup --detach {node}"));
    }
    if sysfs.join("bcache").exists() {
        return (format!("the cache {name}"), format!("echo 1 > /sys/block/{name}/bcache/stop"));
    }
    (name.clone(), format!("lsblk --paths {node}"))
}
