//! The foreign programs that iostone can use: what for, and which Debian package brings each.

use iostone_probe::{ToolQuery, VersionLine};

/// A foreign program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// The Debian package that holds it.
    pub package: &'static str,
    /// What iostone does with it.
    pub purpose: &'static str,
    /// The experiments that cannot run without it; none for one that only adds to what is known.
    pub blocks: Option<&'static str>,
    /// How to ask for its version.
    version_argument: &'static str,
    /// What stands on the line that tells it; none for the first line.
    version_mark: Option<&'static str>,
}

/// Every tool, in the order in which `iostone doctor` lists them.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "mkfs.ext4",
        package: "e2fsprogs",
        purpose: "makes ext4 filesystems",
        blocks: Some("every experiment with an ext4 filesystem, such as experiments/barrier.toml"),
        version_argument: "-V",
        version_mark: None,
    },
    Tool {
        name: "mkfs.xfs",
        package: "xfsprogs",
        purpose: "makes XFS filesystems",
        blocks: Some("every experiment with an xfs filesystem, such as experiments/raid0.toml"),
        version_argument: "-V",
        version_mark: None,
    },
    Tool {
        name: "mkfs.btrfs",
        package: "btrfs-progs",
        purpose: "makes btrfs filesystems, also over several volumes",
        blocks: Some("every experiment with a btrfs filesystem or array"),
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "mdadm",
        package: "mdadm",
        purpose: "makes software RAID",
        blocks: Some("every experiment with an `md` array, such as experiments/raid0.toml"),
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "lvm",
        package: "lvm2",
        purpose: "makes striped logical volumes",
        blocks: Some("every experiment with an `lvm` array"),
        // `lvm version` would make the node /dev/mapper/control, even where the kernel has no device mapper.
        version_argument: "formats",
        version_mark: None,
    },
    Tool {
        name: "nbdfuse",
        package: "libnbd-bin",
        purpose: "brings an emulated volume with latency, a cache or faults to this kernel where it has no nbd driver",
        blocks: None,
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "qemu-system-x86_64",
        package: "qemu-system-x86",
        purpose: "boots guests with kernels of their own",
        blocks: Some("every experiment on a `guest` machine, such as experiments/kernel.toml"),
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "blkid",
        package: "util-linux",
        purpose: "a second opinion for the guard on what a device carries",
        blocks: None,
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "wipefs",
        package: "util-linux",
        purpose: "lists signatures for the guard, without touching them",
        blocks: None,
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "dbench",
        package: "dbench",
        purpose: "the workload of that name",
        blocks: Some("every experiment with a `dbench` workload, such as experiments/barrier-dbench.toml"),
        // There is no such option; the version comes before the complaint.
        version_argument: "--version",
        version_mark: Some("dbench version"),
    },
    Tool {
        name: "bonnie++",
        package: "bonnie++",
        purpose: "the workload `bonnie`",
        blocks: Some("every experiment with a `bonnie` workload, such as experiments/disk.toml"),
        version_argument: "--version",
        version_mark: Some("Version:"),
    },
    Tool {
        name: "fio",
        package: "fio",
        purpose: "the workload of that name; `iostone io` needs none",
        blocks: Some("every experiment with a `fio` workload"),
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "dd",
        package: "coreutils",
        purpose: "the workload of that name",
        blocks: Some("every experiment with a `dd` workload"),
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "sysbench",
        package: "sysbench",
        purpose: "the workload of that name",
        blocks: Some("every experiment with a `sysbench` workload"),
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "ioping",
        package: "ioping",
        purpose: "the workload of that name",
        blocks: Some("every experiment with an `ioping` workload"),
        version_argument: "-v",
        version_mark: None,
    },
];

impl Tool {
    /// The question that the probe asks it.
    pub(crate) fn query(&self) -> ToolQuery {
        let simple = ToolQuery::simple(self.name, self.version_argument);
        match self.version_mark {
            Some(mark) => ToolQuery { line: VersionLine::Containing(mark.to_owned()), ..simple },
            None => simple,
        }
    }

    /// The command that installs it on Debian and its kin.
    pub fn install_command(&self) -> String {
        format!("apt-get install {}", self.package)
    }
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::json_schema;

    use super::*;

    #[test]
    fn every_program_of_a_workload_can_be_installed_by_its_name() {
        // The kinds of workloads are words of the schema; a program that is missing here would be one without a way out.
        let schema = serde_json::to_string(&json_schema()).unwrap();
        for program in ["dbench", "bonnie++", "fio", "dd", "sysbench", "ioping"] {
            let tool = TOOLS.iter().find(|tool| tool.name == program).unwrap();
            assert!(tool.blocks.is_some_and(|blocks| blocks.contains(program.trim_end_matches('+'))));
            assert!(schema.contains(program.trim_end_matches('+')));
        }
    }

    #[test]
    fn the_line_with_the_version_is_asked_for() {
        for tool in TOOLS {
            let told = iostone_probe::tool_versions(&[tool.query()]);
            if let Some(Some(version)) = told.get(tool.name) {
                assert!(version.chars().any(|c| c.is_ascii_digit()), "{}: {version}", tool.name);
            }
        }
    }
}
