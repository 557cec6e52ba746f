//! Members for arrays: the drives of a guest that was booted for these tests, else loop devices of the test's own.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "this is test code, and skipped tests say so")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use iostone_model::experiment::{Array, BlockVolume, Ext4, Filesystem, Stack, Volume};

use super::machine::{MIB, Machine, TestLoop, has, needs_root};

/// The drives are the same for every test, and the numbers of arrays are looked at.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The kinds of kernel that the tests need.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kernel {
    SoftwareRaid,
    DeviceMapper,
}

/// True, with a word about it, where the test cannot run.
pub(crate) fn needs(test: &str, kernel: Kernel) -> bool {
    let (there, what, programs): (bool, _, &[&str]) = match kernel {
        Kernel::SoftwareRaid => (Path::new("/proc/mdstat").exists(), "software RAID", &["mdadm"]),
        Kernel::DeviceMapper => (has_device_mapper(), "a device mapper", &["lvm", "dmsetup"]),
    };
    if needs_root(test) {
        return true;
    }
    if !there {
        eprintln!("{test} skipped: needs a kernel with {what}");
        return true;
    }
    let missing = programs.iter().chain(&["mkfs.ext4", "wipefs"]).find(|program| !has(program));
    if let Some(program) = missing {
        eprintln!("{test} skipped: needs {program}");
    }
    missing.is_some()
}

/// Four devices of equal size, empty.
pub(crate) struct Members {
    /// As an experiment names them.
    pub(crate) names: Vec<PathBuf>,
    /// Their nodes.
    pub(crate) nodes: Vec<PathBuf>,
    loops: Vec<TestLoop>,
    _alone: MutexGuard<'static, ()>,
}

impl Members {
    pub(crate) fn new(machine: &Machine) -> Self {
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let drives: Vec<PathBuf> = (0..4).filter_map(|index| drive(&format!("iostone-v{index}"))).collect();
        if drives.len() == 4 {
            let names = (0..4).map(|index| PathBuf::from(format!("serial:iostone-v{index}"))).collect();
            return Self { names, nodes: drives, loops: Vec::new(), _alone: alone };
        }
        let loops: Vec<TestLoop> = (0..4)
            .map(|index| TestLoop::new(&machine.path().join(format!("member{index}.img")), 32 * MIB))
            .collect();
        let nodes: Vec<PathBuf> = loops.iter().map(|member| member.path.clone()).collect();
        Self { names: nodes.clone(), nodes, loops, _alone: alone }
    }

    /// An array of the first so many.
    pub(crate) fn stack(&self, count: usize, array: Array) -> Stack {
        Stack {
            array,
            filesystem: Filesystem::Ext4(Ext4::default()),
            ..Stack::of(Volume::Block(BlockVolume { devices: self.names[..count].to_vec() }))
        }
    }

    /// Nothing is on any member, by what others than iostone say.
    pub(crate) fn assert_untouched(&self, case: &str) {
        for node in &self.nodes {
            let found = Command::new("wipefs").arg("--no-act").arg(node).output().unwrap();
            let text = String::from_utf8_lossy(&found.stdout);
            assert!(found.status.success() && text.trim().is_empty(), "{case}: {}: {text}", node.display());
            if has("mdadm") {
                let examined = Command::new("mdadm").arg("--examine").arg(node).output().unwrap();
                assert!(!examined.status.success(), "{case}: {} has a superblock", node.display());
            }
        }
        assert_eq!(array_nodes(), Vec::<String>::new(), "{case}");
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        // Only needed when a test failed.
        for node in array_nodes() {
            if node.starts_with("/dev/md") {
                let _ = Command::new("mdadm").args(["--quiet", "--stop", &node]).status();
            }
        }
        if has_device_mapper() && has("dmsetup") {
            for name in array_nodes().iter().filter_map(|node| node.strip_prefix("/dev/mapper/iostone")) {
                let _ = Command::new("dmsetup").args(["remove", &format!("iostone{name}")]).status();
            }
        }
        for node in &self.nodes {
            let _ = Command::new("wipefs").args(["--all", "--quiet", "--force"]).arg(node).status();
        }
        self.loops.clear();
    }
}

/// The words that let the content of a guest's drives go, as the host's agent hands them in: one test leaves its data to
/// the next. None for loop devices, which are new for each.
pub(crate) fn words_for_drives() -> Vec<String> {
    let drives = (0..4).map(|index| format!("iostone-v{index}"));
    let word = |serial: String| {
        let node = drive(&serial)?;
        let size = Path::new("/sys/block").join(node.file_name()?).join("size");
        let sectors: u64 = std::fs::read_to_string(size).ok()?.trim().parse().ok()?;
        Some(format!("serial {serial}, {} MiB", sectors * 512 / MIB))
    };
    drives.filter_map(word).collect()
}

/// What arrays and logical volumes show under /dev and in sysfs.
pub(crate) fn array_nodes() -> Vec<String> {
    let list = |directory: &str, keep: fn(&str) -> bool| -> Vec<String> {
        std::fs::read_dir(directory)
            .map(|entries| {
                entries
                    .flatten()
                    .map(|entry| entry.file_name().to_string_lossy().into_owned())
                    .filter(|name| keep(name))
                    .map(|name| format!("{directory}/{name}"))
                    .collect()
            })
            .unwrap_or_default()
    };
    let is_array = |name: &str| {
        ["md", "dm-"]
            .iter()
            .any(|prefix| name.strip_prefix(prefix).is_some_and(|number| number.parse::<u32>().is_ok()))
            || name.starts_with("iostone")
    };
    let mut nodes = list("/dev", is_array);
    nodes.extend(list("/sys/block", is_array));
    nodes.extend(list("/dev/md", |_| true));
    nodes.extend(list("/dev/mapper", |name| name != "control"));
    nodes
}

fn drive(serial: &str) -> Option<PathBuf> {
    std::fs::read_dir("/sys/block").ok()?.flatten().find_map(|entry| {
        let found = std::fs::read_to_string(entry.path().join("serial")).ok()?;
        (found.trim() == serial).then(|| Path::new("/dev").join(entry.file_name()))
    })
}

/// Whether the kernel has a device mapper; its node may be there without.
pub(crate) fn has_device_mapper() -> bool {
    std::fs::read_to_string("/proc/misc").is_ok_and(|devices| devices.contains("device-mapper"))
}
