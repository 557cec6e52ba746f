//! The steps of a dry run that make and mount the filesystem.

use iostone_model::experiment::{Array, Filesystem, Stack, Volume};

use super::Plan;
use crate::filesystem::mkfs_line;
use crate::mount::MountOptions;

/// Adds mkfs and mount on a device, and what takes them back to the front of `undo`. The mount point is `target`.
pub(super) fn add(plan: &mut Plan, stack: &Stack, device: &str, target: &str, undo: &mut Vec<String>) {
    let (Some(name), Some(line)) = (stack.filesystem.name(), mkfs_line(stack)) else { return };
    let devices = devices_of(stack, device);
    // As they are spoken: "an F2FS", but "a btrfs".
    let article = if name == "btrfs" { "a" } else { "an" };
    plan.add(
        "filesystem",
        format!("{line} {}", devices.join(" ")),
        Some(format!("{article} {name} filesystem")),
        0,
    );
    if let [_, _, ..] = devices.as_slice() {
        plan.add(
            "filesystem",
            format!("register {} with the kernel (BTRFS_IOC_SCAN_DEV)", devices.join(" ")),
            None,
            0,
        );
    }
    if name == "btrfs" {
        let text = format!("unregister {} from the kernel (BTRFS_IOC_FORGET_DEV)", devices.join(" "));
        undo.insert(0, text);
    }
    if let Volume::Block(_) = stack.volume {
        undo.insert(0, format!("wipe the superblock with iostone's UUID from {}", devices.join(" ")));
    }
    let options = MountOptions::parse(&stack.mount.options)
        .map(|options| options.words().join(","))
        .unwrap_or_default();
    let with = if options.is_empty() { String::new() } else { format!(" -o {options}") };
    plan.add("mount", format!("mkdir --parents {target}"), Some(target.to_owned()), 0);
    let first = devices.first().map_or(device, String::as_str);
    let mount = format!("mount -t {name}{with} {first} {target}");
    plan.add("mount", mount, Some(format!("a mount on {target}")), 0);
    undo.insert(0, format!("umount {target}"));
    if let (Filesystem::Btrfs(_), Some(sectors)) = (&stack.filesystem, stack.queue.readahead_sectors()) {
        let kib = sectors / 2;
        plan.add("queue", format!("echo {kib} > /sys/fs/btrfs/UUID/bdi/read_ahead_kb"), None, 0);
    }
}

/// The devices that mkfs gets: all volumes where the filesystem itself joins them, else the one on top.
fn devices_of(stack: &Stack, device: &str) -> Vec<String> {
    match (&stack.array, &stack.volume) {
        (Array::Btrfs(_), Volume::Block(volume)) => {
            volume.devices.iter().map(|device| device.display().to_string()).collect()
        }
        (Array::Btrfs(_), _) => device.split_whitespace().map(str::to_owned).collect(),
        _ => vec![device.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use iostone_model::experiment::{BlockVolume, Btrfs, BtrfsArray, BtrfsProfile, Queue};

    use super::super::plan_steps;
    use super::*;

    #[test]
    fn a_btrfs_takes_all_devices_and_they_are_forgotten() {
        let devices = ["/dev/sdb", "/dev/sdc"].map(PathBuf::from).into();
        let stack = Stack {
            array: Array::Btrfs(BtrfsArray { level: BtrfsProfile::Raid0, metadata: None }),
            queue: Queue { readahead: Some(4096), ..Queue::default() },
            filesystem: Filesystem::Btrfs(Btrfs::default()),
            ..Stack::of(Volume::Block(BlockVolume { devices }))
        };
        let steps = plan_steps(&stack, Path::new("/srv"));
        let texts: Vec<&str> =
            steps.iter().filter(|step| step.layer != "volume").map(|step| step.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "mkfs.btrfs -f -K -q --data raid0 --metadata raid0 -U UUID /dev/sdb /dev/sdc",
                "register /dev/sdb /dev/sdc with the kernel (BTRFS_IOC_SCAN_DEV)",
                "mkdir --parents /srv/iostone-TOKEN/mount",
                "mount -t btrfs /dev/sdb /srv/iostone-TOKEN/mount",
                "echo 2048 > /sys/fs/btrfs/UUID/bdi/read_ahead_kb",
                "umount /srv/iostone-TOKEN/mount",
                "wipe the superblock with iostone's UUID from /dev/sdb /dev/sdc",
                "unregister /dev/sdb /dev/sdc from the kernel (BTRFS_IOC_FORGET_DEV)",
            ]
        );
    }
}
