//! The steps that change the machine, one kind for each real effect, as they stand in a journal.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A file or directory told apart by filesystem and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileIdentity {
    /// `st_dev` as stat(2) gives it.
    pub(crate) dev: u64,
    /// `st_ino`.
    pub(crate) ino: u64,
}

/// One effect on the machine. It holds what its undoing needs to find the object again, and to know it for ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Step {
    /// A directory. Its path holds the session's token if and only if what is in it is ours too.
    Directory { path: PathBuf, content_is_ours: bool },
    /// The image file under a loop device; created with `O_EXCL` at a path that holds the token.
    Image { path: PathBuf },
    /// A loop device over a file; the device number is not ours to choose and not an identity.
    Loop { backing: PathBuf, identity: FileIdentity },
    /// A setting under `queue/` of a block device.
    Queue { name: String, number: (u32, u32), diskseq: Option<u64>, setting: String, old: String },
    /// A setting of the whole machine, as sysctl(8) names it: `vm.dirty_ratio`.
    Sysctl { name: String, old: String },
    /// Devices that the kernel is told to belong to one btrfs.
    BtrfsDevices { numbers: Vec<(u32, u32)> },
    /// A filesystem of ours, known by its UUID, on a block device of the user's.
    Mkfs { device: PathBuf, size_bytes: u64, uuid: String },
    /// A software RAID over devices, known by its UUID.
    MdArray { node: PathBuf, uuid: String, members: Vec<PathBuf> },
    /// A volume group over devices; its name holds the token.
    VolumeGroup { name: String, members: Vec<PathBuf> },
    /// Servers of the emulated volumes, or of a guest: processes that carry the environment variable. They end in their
    /// place, after what stands on them, unlike those of [`Step::Processes`].
    Server { variable: String, value: String },
    /// A network block device of the kernel's, connected to a socket of ours.
    Nbd { number: (u32, u32), socket: PathBuf },
    /// A file that a FUSE program of ours mounted over a server's socket.
    Fuse { target: PathBuf },
    /// A mount of a device of ours.
    Mount { target: PathBuf, number: (u32, u32) },
    /// A mount between the filesystem and the workload, at a place of ours: of a device of ours (a bind mount) if there
    /// is a number, else of a filesystem without a device, whose source is the name of the session's directories.
    LayerMount {
        target: PathBuf,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<(u32, u32)>,
    },
    /// Version 2 of control groups: a group that was told to hand controllers down to its children.
    HandDown { group: PathBuf, controllers: Vec<String> },
    /// A control group with limits on our devices; its name holds the token. Who is in it came from `home`.
    ControlGroup { path: PathBuf, home: PathBuf },
    /// What a container engine leaves: processes that carry the environment variable, which end in their place and at
    /// once; mounts within its directories, and control groups whose name holds the token.
    Engine { variable: String, value: String, roots: Vec<PathBuf>, group: String },
    /// Processes that carry the environment variable.
    Processes { variable: String, value: String },
}

/// How long a step's effect lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    /// Until the end of the session.
    Session,
    /// Until the end of the trial.
    Trial,
}

impl Step {
    /// Turns a path below one directory into the same below another.
    pub(crate) fn relocate(&mut self, from: &Path, to: &Path) {
        let path = match self {
            Self::Directory { path, .. } | Self::Image { path } => path,
            Self::Loop { backing, .. } => backing,
            Self::Mount { target, .. } | Self::LayerMount { target, .. } | Self::Fuse { target } => target,
            Self::Nbd { socket, .. } => socket,
            Self::Engine { roots, .. } => {
                for root in roots {
                    relocate(root, from, to);
                }
                return;
            }
            Self::Queue { .. }
            | Self::Sysctl { .. }
            | Self::BtrfsDevices { .. }
            | Self::Mkfs { .. }
            | Self::MdArray { .. }
            | Self::VolumeGroup { .. }
            | Self::Server { .. }
            | Self::HandDown { .. }
            | Self::ControlGroup { .. }
            | Self::Processes { .. } => return,
        };
        relocate(path, from, to);
    }

    /// The object in a few words, for reports: "mount `/x`".
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Directory { path, .. } => format!("directory `{}`", path.display()),
            Self::Image { path } => format!("image `{}`", path.display()),
            Self::Loop { backing, .. } => format!("loop device over `{}`", backing.display()),
            Self::Queue { name, setting, old, .. } => format!("`{setting}` of `{name}` (was `{old}`)"),
            Self::Sysctl { name, old } => format!("`{name}` (was `{old}`)"),
            Self::BtrfsDevices { numbers } => format!("the kernel's list of {} btrfs devices", numbers.len()),
            Self::Mkfs { device, uuid, .. } => format!("filesystem {uuid} on `{}`", device.display()),
            Self::MdArray { node, .. } => format!("array `{}`", node.display()),
            Self::VolumeGroup { name, .. } => format!("volume group `{name}`"),
            Self::Server { variable, value } => format!("servers with `{variable}={value}`"),
            Self::Nbd { number, .. } => format!("network block device {}:{}", number.0, number.1),
            Self::Fuse { target } => format!("FUSE mount `{}`", target.display()),
            Self::Mount { target, .. } | Self::LayerMount { target, .. } => {
                format!("mount `{}`", target.display())
            }
            Self::HandDown { group, controllers } => {
                format!("controller `{}` handed down by `{}`", controllers.join("`, `"), group.display())
            }
            Self::ControlGroup { path, .. } => format!("control group `{}`", path.display()),
            Self::Engine { variable, value, .. } => format!("container engine with `{variable}={value}`"),
            Self::Processes { variable, value } => format!("processes with `{variable}={value}`"),
        }
    }
}

/// Turns a path below one directory into the same below another; others stay.
pub(crate) fn relocate(path: &mut PathBuf, from: &Path, to: &Path) {
    if let Ok(rest) = path.strip_prefix(from) {
        // Joining an empty rest would leave a slash at the end.
        *path = if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) };
    }
}
