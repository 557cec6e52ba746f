//! The foreign programs that iostone can use: what for, and which Debian package brings each.

use iostone_probe::ToolQuery;

/// A foreign program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// The Debian package that holds it.
    pub package: &'static str,
    /// What iostone does with it.
    pub purpose: &'static str,
    /// Whether an experiment with an ext4 filesystem needs it; the others only add to what is known.
    pub needed_for_ext4: bool,
    /// How to ask for its version.
    version_argument: &'static str,
}

/// Every tool, in the order in which `iostone doctor` lists them.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "mkfs.ext4",
        package: "e2fsprogs",
        purpose: "makes ext4 filesystems",
        needed_for_ext4: true,
        version_argument: "-V",
    },
    Tool {
        name: "blkid",
        package: "util-linux",
        purpose: "a second opinion for the guard on what a device carries",
        needed_for_ext4: false,
        version_argument: "--version",
    },
    Tool {
        name: "wipefs",
        package: "util-linux",
        purpose: "lists signatures for the guard, without touching them",
        needed_for_ext4: false,
        version_argument: "--version",
    },
];

impl Tool {
    /// The question that the probe asks it.
    pub(crate) fn query(&self) -> ToolQuery {
        ToolQuery::simple(self.name, self.version_argument)
    }

    /// The command that installs it on Debian and its kin.
    pub fn install_command(&self) -> String {
        format!("apt-get install {}", self.package)
    }
}
