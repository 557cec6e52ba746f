//! The steps of a stack in a guest in words: drives made here, the guest booted on them, everything else inside.

use std::path::{Path, PathBuf};

use iostone_model::experiment::{BlockVolume, Stack, Volume};

use super::{Plan, PlannedStep, emulated, plan_steps_at};
use crate::provide::DRIVE_SERIAL;
use crate::site::own_directory_name;

/// As [`plan_steps`](crate::plan_steps), for a trial in a guest: what this host does in `work_directory`, `boot`, what the agent inside does
/// in `work_inside`, and the undoing of both. Touches nothing.
pub fn plan_guest_steps(
    stack: &Stack,
    work_directory: &Path,
    work_inside: &Path,
    boot: PlannedStep,
) -> Vec<PlannedStep> {
    let mut plan = Plan { steps: Vec::new() };
    let mut undo = Vec::new();
    let own = own_directory_name("TOKEN");
    let place = |asked: Option<&Path>| asked.unwrap_or(work_directory).join(&own);
    let sources = match &stack.volume {
        Volume::Loop(volume) => {
            let directory = place(volume.directory.as_deref());
            let image = directory.join("volume.img");
            plan.make_directory(&directory, &mut undo);
            emulated::make_image(&mut plan, &image, volume.size.0, volume.fill);
            vec![image.display().to_string()]
        }
        Volume::Emulated(volume) => {
            let directory = place(volume.directory.as_deref());
            plan.make_directory(&directory, &mut undo);
            emulated::serve(&mut plan, volume, stack.link, &directory, &mut undo);
            let socket = |index: u32| directory.join("trial-T").join(format!("v{index}"));
            (0..volume.count).map(|index| format!("the server at {}", socket(index).display())).collect()
        }
        Volume::Block(volume) => {
            plan.add_block(volume, true);
            volume.devices.iter().map(|device| device.display().to_string()).collect()
        }
        Volume::Directory(_) => Vec::new(),
    };
    let mut devices = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let node = node_inside(index);
        let text = format!("QEMU attaches {source} as the drive {DRIVE_SERIAL}{index}, {node} in the guest");
        plan.add("volume", text, Some(node.clone()), 0);
        devices.push(PathBuf::from(node));
    }
    let volume =
        if devices.is_empty() { stack.volume.clone() } else { Volume::Block(BlockVolume { devices }) };
    plan.steps.push(boot);
    plan.steps.extend(plan_steps_at(&Stack { volume, link: None, ..stack.clone() }, work_inside, false));
    plan.add("undo", "power the guest off".to_owned(), None, 0);
    for text in undo {
        plan.add("undo", text, None, 0);
    }
    plan.steps
}

impl Plan {
    fn make_directory(&mut self, directory: &Path, undo: &mut Vec<String>) {
        let shown = directory.display().to_string();
        self.add("volume", format!("mkdir {shown}"), Some(shown.clone()), 0);
        undo.push(format!("rm -r {shown}"));
    }
}

/// The node of a drive inside: virtio's disks have letters in the order in which QEMU has them.
fn node_inside(index: usize) -> String {
    match u8::try_from(index) {
        Ok(number @ 0..26) => format!("/dev/vd{}", char::from(b'a' + number)),
        _ => format!("serial:{DRIVE_SERIAL}{index}"),
    }
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::{EmulatedVolume, Ext4, Filesystem, LoopVolume};
    use iostone_model::units::Bytes;

    use super::*;

    fn texts(stack: &Stack) -> Vec<String> {
        let boot =
            PlannedStep { layer: "machine".to_owned(), text: "boot".to_owned(), creates: None, bytes: 0 };
        let steps = plan_guest_steps(stack, Path::new("/srv"), Path::new("/run/inside"), boot);
        steps.into_iter().map(|step| step.text).collect()
    }

    #[test]
    fn the_image_is_made_here_and_the_filesystem_inside() {
        let stack = Stack {
            filesystem: Filesystem::Ext4(Ext4::default()),
            ..Stack::of(Volume::Loop(LoopVolume { fill: false, ..LoopVolume::new(Bytes(64 << 20)) }))
        };
        assert_eq!(
            texts(&stack),
            [
                "mkdir /srv/iostone-TOKEN",
                "truncate --size=67108864 /srv/iostone-TOKEN/volume.img",
                "QEMU attaches /srv/iostone-TOKEN/volume.img as the drive iostone-v0, /dev/vda in the guest",
                "boot",
                "check that /dev/vda is not in use, and lock it (flock)",
                "mkfs.ext4 -F -q -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 -U UUID /dev/vda",
                "mkdir --parents /run/inside/iostone-TOKEN/mount",
                "mount -t ext4 /dev/vda /run/inside/iostone-TOKEN/mount",
                "umount /run/inside/iostone-TOKEN/mount",
                "wipe the superblock with iostone's UUID from /dev/vda",
                "power the guest off",
                "rm -r /srv/iostone-TOKEN",
            ]
        );
    }

    #[test]
    fn emulated_volumes_need_neither_a_control_group_nor_loop_devices() {
        let volume = EmulatedVolume { count: 2, ..EmulatedVolume::new(Bytes(64 << 20)) };
        let texts = texts(&Stack::of(Volume::Emulated(volume)));
        let all = texts.join("\n");
        assert!(!all.contains("losetup") && !all.contains("nbdfuse") && !all.contains("cgroup"), "{all}");
        assert!(
            texts.iter().any(|text| text.contains("the drive iostone-v1, /dev/vdb in the guest")),
            "{all}"
        );
        assert_eq!(texts[texts.len() - 2..], ["stop the server", "rm -r /srv/iostone-TOKEN"]);
    }
}
