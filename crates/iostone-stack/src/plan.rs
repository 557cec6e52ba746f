//! The steps of a stack in words, for a dry run: everything in order, nothing touched.

mod container;
mod emulated;
mod filesystem;
mod guest;

use std::ffi::OsStr;
use std::path::Path;

use iostone_model::experiment::{BackingIo, BlockVolume, Container, Filesystem, Stack, Volume};
use serde::{Deserialize, Serialize};

use crate::array;
use crate::device::size_in_words;
use crate::governor;
use crate::guard::{EDGE_BYTES, PLACES};
use crate::limit::{self, LimitRequest};
use crate::mount::has_meaning_in_options;
use crate::site::own_directory_name;
use crate::sysctl;
use crate::tool::quote;

pub use guest::plan_guest_steps;

/// A session's directory for programs that refuse long paths; `HEX` stands for the random bits of its token.
const SHORT: &str = "/run/iostone-HEX";

/// One step as it would be typed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedStep {
    /// The layer: volume, throttle, queue, filesystem, mount.
    pub layer: String,
    /// The step: `losetup --find --direct-io=off ...`.
    pub text: String,
    /// What comes into being, if something does.
    pub creates: Option<String>,
    /// Bytes written to the disk.
    pub bytes: u64,
}

/// Every step that a trial on this stack takes, in order, the undoing last. Touches nothing. A part of the stack that
/// could not be built is left out here; [`crate::Session::preflight`] says what is wrong with it.
pub fn plan_steps(stack: &Stack, work_directory: &Path) -> Vec<PlannedStep> {
    plan_steps_at(stack, work_directory, true)
}

/// As [`plan_steps`], for this machine or for a guest, whose control groups are not known here.
fn plan_steps_at(stack: &Stack, work_directory: &Path, here: bool) -> Vec<PlannedStep> {
    let mut plan = Plan { steps: Vec::new() };
    let own = own_directory_name("TOKEN");
    let place = |asked: Option<&Path>| asked.unwrap_or(work_directory).join(&own);
    let (device, undo_volume) = match &stack.volume {
        Volume::Loop(volume) => {
            let directory = place(volume.directory.as_deref());
            let image = directory.join("volume.img").display().to_string();
            plan.add(
                "volume",
                format!("mkdir {}", directory.display()),
                Some(directory.display().to_string()),
                0,
            );
            let size = size_in_words(volume.size.0);
            if volume.fill {
                let text = format!("write {size} of random data to {image} with O_DIRECT, and sync it");
                plan.add("volume", text, Some(image.clone()), volume.size.0);
            } else {
                plan.add(
                    "volume",
                    format!("truncate --size={} {image}", volume.size.0),
                    Some(image.clone()),
                    0,
                );
            }
            let direct = if volume.effective_backing_io() == BackingIo::Direct { "on" } else { "off" };
            let mut undo = vec![format!("rm -r {}", directory.display())];
            let mut device = String::new();
            let layers: &[&str] =
                if volume.instance.is_some() { &["/dev/loopM", "/dev/loopN"] } else { &["/dev/loopN"] };
            let mut below = image;
            for node in layers {
                let text = format!("losetup --find --show --direct-io={direct} {below}");
                plan.add("volume", text, Some((*node).to_owned()), 0);
                undo.insert(0, format!("losetup --detach {node}"));
                (*node).clone_into(&mut device);
                device.clone_into(&mut below);
            }
            if volume.is_throttled() {
                plan.add("throttle", format!("create the cgroup {own}"), Some(own.clone()), 0);
                let instance = volume.instance.unwrap_or_default();
                for (node, limits) in [("/dev/loopN", volume.limits()), ("/dev/loopM", instance)] {
                    if !limits.is_empty() {
                        plan.add("throttle", format!("limit {node} in it: {limits}"), None, 0);
                    }
                }
                undo.insert(0, format!("remove the cgroup {own}"));
            }
            (device, undo)
        }
        Volume::Block(volume) => (plan.add_block(volume, here), Vec::new()),
        Volume::Emulated(volume) => {
            emulated::plan(&mut plan, volume, stack.link, &place(volume.directory.as_deref()))
        }
        Volume::Directory(volume) => {
            let directory = place(volume.path.as_deref()).join("data").display().to_string();
            plan.add("volume", format!("mkdir --parents {directory}"), Some(directory.clone()), 0);
            (directory.clone(), vec![format!("rm -r {directory}")])
        }
    };
    let mut undo = undo_volume;
    let device = plan.add_array(stack, device, &mut undo);
    for name in device.split_whitespace().filter_map(|node| node.rsplit('/').next()) {
        // A scheduler is set first and put back first, because it brings settings of its own.
        let mut restored = Vec::new();
        let mut set = |setting: &str, value: String| {
            let path = format!("/sys/block/{name}/queue/{setting}");
            plan.add("queue", format!("echo {value} > {path}"), None, 0);
            restored.push(format!("restore {path}"));
        };
        for (setting, value) in stack.queue.settings() {
            set(setting, quote(OsStr::new(&value)));
        }
        // btrfs reads ahead by a setting of its own.
        if let Some(sectors) = stack.queue.readahead_sectors()
            && !matches!(stack.filesystem, Filesystem::Btrfs(_))
        {
            set("read_ahead_kb", (sectors / 2).to_string());
        }
        undo.splice(0..0, restored);
    }
    let target = match &stack.container {
        Container::Docker(_) | Container::Podman(_) if has_meaning_in_options(&place(None)) => {
            format!("{SHORT}/mount")
        }
        _ => place(None).join("mount").display().to_string(),
    };
    filesystem::add(&mut plan, stack, &device, &target, &mut undo);
    container::add(&mut plan, stack, &target, &place(None).display().to_string(), &mut undo);
    sysctl::plan(&mut plan, &stack.sysctl, here, &mut undo);
    let is_throttled = plan.steps.iter().any(|step| step.layer == "throttle");
    if let Ok(Some(asked)) = LimitRequest::of(&stack.limit, stack.governor.as_deref(), is_throttled) {
        limit::plan(&mut plan, &asked, here, &mut undo);
    }
    if let Some(governor) = &stack.governor {
        plan.steps.push(governor::plan_step(governor, &own));
        undo.insert(0, "stop the governor, which removes its quota".to_owned());
    }
    for text in undo {
        plan.add("undo", text, None, 0);
    }
    plan.steps
}

pub(crate) struct Plan {
    pub(crate) steps: Vec<PlannedStep>,
}

impl Plan {
    /// The guard's look at each device; gives their names. What a guest's drives hold is looked at on this host.
    fn add_block(&mut self, volume: &BlockVolume, here: bool) -> String {
        let devices: Vec<String> = volume.devices.iter().map(|device| device.display().to_string()).collect();
        for device in &devices {
            self.add("volume", format!("check that {device} is not in use, and lock it (flock)"), None, 0);
            if here {
                let text = format!(
                    "check that {device} is empty: read its first and last {edge}, every offset of a known signature and \
                     {PLACES} samples between; of a loop device also all data of a sparse backing file",
                    edge = size_in_words(EDGE_BYTES)
                );
                self.add("volume", text, None, 0);
            }
        }
        devices.join(" ")
    }

    /// What joins the members, if anything does; gives the device that comes of it.
    fn add_array(&mut self, stack: &Stack, members: String, undo: &mut Vec<String>) -> String {
        let names: Vec<String> = members.split_whitespace().map(str::to_owned).collect();
        let Some(planned) = array::plan(stack, &names) else { return members };
        for step in planned.steps {
            self.add("array", step, None, 0);
        }
        undo.splice(0..0, planned.undo);
        planned.device
    }

    pub(crate) fn add(&mut self, layer: &str, text: String, creates: Option<String>, bytes: u64) {
        self.steps.push(PlannedStep { layer: layer.to_owned(), text, creates, bytes });
    }
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::{Ext4, Limits, LoopVolume, Mount, Queue, WriteCache};
    use iostone_model::units::Bytes;

    use super::*;

    #[test]
    fn the_steps_stand_in_order_with_their_bytes() {
        let stack = Stack {
            queue: Queue { write_cache: Some(WriteCache::WriteThrough), ..Queue::default() },
            filesystem: Filesystem::Ext4(Ext4::default()),
            mount: Mount { options: vec!["barrier=0".to_owned()] },
            ..Stack::of(Volume::Loop(LoopVolume::new(Bytes(64 << 20))))
        };
        let steps = plan_steps(&stack, Path::new("/srv"));
        let texts: Vec<&str> = steps.iter().map(|step| step.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "mkdir /srv/iostone-TOKEN",
                "write 64 MiB of random data to /srv/iostone-TOKEN/volume.img with O_DIRECT, and sync it",
                "losetup --find --show --direct-io=off /srv/iostone-TOKEN/volume.img",
                "echo 'write through' > /sys/block/loopN/queue/write_cache",
                "mkfs.ext4 -F -q -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 -U UUID /dev/loopN",
                "mkdir --parents /srv/iostone-TOKEN/mount",
                "mount -t ext4 -o barrier=0 /dev/loopN /srv/iostone-TOKEN/mount",
                "umount /srv/iostone-TOKEN/mount",
                "restore /sys/block/loopN/queue/write_cache",
                "losetup --detach /dev/loopN",
                "rm -r /srv/iostone-TOKEN",
            ]
        );
        assert_eq!(steps.iter().map(|step| step.bytes).sum::<u64>(), 64 << 20);
    }

    #[test]
    fn a_throttled_volume_stands_on_its_instance_and_is_limited_in_a_group() {
        let rate = |megabytes: u64| Some(iostone_model::units::ByteRate(megabytes * 1_000_000));
        let stack = Stack::of(Volume::Loop(LoopVolume {
            throughput: rate(40),
            write_iops: Some(100),
            instance: Some(Limits { throughput: rate(60), ..Limits::default() }),
            ..LoopVolume::new(Bytes(64 << 20))
        }));
        let steps = plan_steps(&stack, Path::new("/srv"));
        let texts: Vec<&str> = steps.iter().skip(2).map(|step| step.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "losetup --find --show --direct-io=on /srv/iostone-TOKEN/volume.img",
                "losetup --find --show --direct-io=on /dev/loopM",
                "create the cgroup iostone-TOKEN",
                "limit /dev/loopN in it: reads 40MB/s, writes 40MB/s and 100 IOPS",
                "limit /dev/loopM in it: reads and writes 60MB/s each",
                "remove the cgroup iostone-TOKEN",
                "losetup --detach /dev/loopN",
                "losetup --detach /dev/loopM",
                "rm -r /srv/iostone-TOKEN",
            ]
        );
    }
}
