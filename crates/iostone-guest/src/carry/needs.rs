//! What a stack and a workload need inside a guest: programs, files, modules of the kernel, and who needs each.

use std::path::PathBuf;

use iostone_model::experiment::{Array, Filesystem, MdLevel, Stack, Volume, Workload};

use crate::modules::ModuleNeed;

/// A program and who needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramNeed {
    /// Its name or path.
    pub name: String,
    /// Who needs it, as the beginning of a sentence: `the array`.
    pub by: String,
}

/// What a stack and a workload need inside.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Programs without which they cannot be.
    pub programs: Vec<ProgramNeed>,
    /// Programs that add to what is known, carried where this host has them.
    pub welcome_programs: Vec<&'static str>,
    /// Files and directories of this host, carried where they exist.
    pub files: Vec<PathBuf>,
    /// Files inside that are the same everywhere: path and content.
    pub contents: Vec<(&'static str, &'static str)>,
    /// Modules of the kernel, loaded in this order.
    pub modules: Vec<ModuleNeed>,
}

/// The drives of a guest, and the way to its agent.
const ALWAYS: &[&str] = &["virtio_pci", "virtio_blk", "virtio_console"];
/// lvm(8) has a name for each of its commands.
const LVM_PROGRAMS: &[&str] = &[
    "lvm", "pvcreate", "pvremove", "pvs", "vgcreate", "vgremove", "vgchange", "vgs", "lvcreate", "lvremove",
    "lvchange", "lvs", "dmsetup",
];
/// A machine of one user: bonnie++ runs as root by that name.
const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n";
const GROUP: &str = "root:x:0:\nnogroup:x:65534:\n";

/// What a stack and a workload need inside a guest, with what every guest needs.
pub fn needs_of(stack: &Stack, workload: Option<&Workload>) -> Needs {
    let mut needs = Needs {
        // The guard asks them what a device carries before it is touched.
        welcome_programs: vec!["blkid", "wipefs"],
        contents: vec![("etc/passwd", PASSWD), ("etc/group", GROUP)],
        ..Needs::default()
    };
    needs.modules("every guest", ALWAYS);
    match &stack.volume {
        Volume::Loop(_) => needs.modules("the `loop` volume", &["loop"]),
        // From outside they are drives.
        Volume::Block(_) | Volume::Emulated(_) | Volume::Directory(_) => {}
    }
    needs.of_array(&stack.array);
    needs.of_filesystem(&stack.filesystem);
    if !stack.container.is_none() {
        needs.modules("the container", &["overlay"]);
    }
    if let Some(workload) = workload {
        needs.of_workload(workload);
    }
    needs
}

/// What a workload needs in a container: its programs and files; the kernel is this host's.
pub fn needs_of_container(workload: &Workload) -> Needs {
    let mut needs =
        Needs { contents: vec![("etc/passwd", PASSWD), ("etc/group", GROUP)], ..Needs::default() };
    needs.of_workload(workload);
    needs
}

impl Needs {
    fn modules(&mut self, by: &str, names: &[&str]) {
        self.modules.extend(names.iter().map(|name| ModuleNeed::new(name, by)));
    }

    fn programs(&mut self, by: &str, names: &[&str]) {
        let needed = |name: &&str| ProgramNeed { name: (*name).to_owned(), by: by.to_owned() };
        self.programs.extend(names.iter().map(needed));
    }

    fn of_array(&mut self, array: &Array) {
        match array {
            Array::None => {}
            Array::Md(md) => {
                let by = format!("the {} array", md.level.as_str());
                self.programs(&by, &["mdadm"]);
                let personality = match md.level {
                    MdLevel::Raid0 => "raid0",
                    MdLevel::Raid1 => "raid1",
                    MdLevel::Raid10 => "raid10",
                    MdLevel::Raid5 => "raid456",
                };
                self.modules(&by, &["md_mod", personality]);
            }
            Array::Btrfs(_) => self.programs("the btrfs array", &["btrfs"]),
            Array::Lvm(_) => {
                self.programs("the LVM array", LVM_PROGRAMS);
                self.modules("the LVM array", &["dm_mod"]);
                self.files.push(PathBuf::from("/etc/lvm/lvm.conf"));
            }
        }
    }

    fn of_filesystem(&mut self, filesystem: &Filesystem) {
        let Some(name) = filesystem.name() else { return };
        let by = format!("the {name} filesystem");
        // Kernels of distributions have no driver for ext2 alone: ext4's serves it (`CONFIG_EXT4_USE_FOR_EXT2`).
        self.modules(&by, &[if name == "ext2" { "ext4" } else { name }]);
        match filesystem {
            Filesystem::None => {}
            Filesystem::Ext2(_) => {
                self.programs(&by, &["mkfs.ext2"]);
                self.welcome_programs.extend(["dumpe2fs", "tune2fs"]);
                self.files.push(PathBuf::from("/etc/mke2fs.conf"));
            }
            Filesystem::F2fs(_) => self.programs(&by, &["mkfs.f2fs"]),
            Filesystem::Ext4(_) => {
                self.programs(&by, &["mkfs.ext4"]);
                self.welcome_programs.extend(["dumpe2fs", "tune2fs"]);
                self.files.push(PathBuf::from("/etc/mke2fs.conf"));
            }
            Filesystem::Xfs(_) => {
                self.programs(&by, &["mkfs.xfs"]);
                self.welcome_programs.extend(["xfs_db", "xfs_io", "xfs_spaceman"]);
            }
            Filesystem::Btrfs(_) => {
                self.programs(&by, &["mkfs.btrfs"]);
                self.welcome_programs.push("btrfs");
            }
        }
    }

    fn of_workload(&mut self, workload: &Workload) {
        let by = format!("the `{}` workload", workload.kind());
        let profile = workload.profile();
        for program in &profile.programs {
            self.programs(&by, &[program]);
        }
        self.files.extend(profile.files);
        self.files.extend(profile.first_of.iter().map(PathBuf::from).find(|path| path.exists()));
    }
}
