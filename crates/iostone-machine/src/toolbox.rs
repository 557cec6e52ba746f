//! The foreign programs that iostone can use: what for, and which Debian package brings each.

use iostone_model::experiment::{Container, Stack};
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
    /// What alone uses it, for one that a run need not ask where it is of no use.
    only_for: Option<Use>,
    /// How to ask for its version.
    version_argument: &'static str,
    /// What stands on the line that tells it; none for the first line.
    version_mark: Option<&'static str>,
}

/// What some tools are only there for. They are large programs, and each takes a tenth of a second or more to tell its
/// version, which would be added to the start of every run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Commands other than runs.
    OtherCommands,
    /// Containers of Docker.
    Docker,
    /// Containers of Podman.
    Podman,
    /// Containers of either.
    Engines,
}

impl Use {
    fn is_of(self, container: &Container) -> bool {
        matches!(
            (self, container),
            (Self::Docker | Self::Engines, Container::Docker(_))
                | (Self::Podman | Self::Engines, Container::Podman(_))
        )
    }
}

/// Every tool, in the order in which `iostone doctor` lists them.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "mkfs.ext4",
        package: "e2fsprogs",
        purpose: "creates ext4 filesystems",
        blocks: Some("every experiment with an ext4 filesystem, such as experiments/barrier.toml"),
        only_for: None,
        version_argument: "-V",
        version_mark: None,
    },
    Tool {
        name: "mkfs.xfs",
        package: "xfsprogs",
        purpose: "creates XFS filesystems",
        blocks: Some("every experiment with an xfs filesystem, such as experiments/raid0.toml"),
        only_for: None,
        version_argument: "-V",
        version_mark: None,
    },
    Tool {
        name: "mkfs.btrfs",
        package: "btrfs-progs",
        purpose: "creates btrfs filesystems, also over several volumes",
        blocks: Some("every experiment with a btrfs filesystem or array"),
        only_for: None,
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "mkfs.ext2",
        package: "e2fsprogs",
        purpose: "creates ext2 filesystems",
        blocks: Some("every experiment with an ext2 filesystem, such as experiments/filesystems.toml"),
        only_for: None,
        version_argument: "-V",
        version_mark: None,
    },
    Tool {
        name: "mkfs.f2fs",
        package: "f2fs-tools",
        purpose: "creates F2FS filesystems",
        blocks: Some("every experiment with an f2fs filesystem"),
        only_for: None,
        version_argument: "-V",
        version_mark: None,
    },
    Tool {
        name: "mdadm",
        package: "mdadm",
        purpose: "creates software RAID",
        blocks: Some("every experiment with an `md` array, such as experiments/raid0.toml"),
        only_for: None,
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "lvm",
        package: "lvm2",
        purpose: "creates striped logical volumes",
        blocks: Some("every experiment with an `lvm` array"),
        only_for: None,
        // `lvm version` would make the node /dev/mapper/control, even where the kernel has no device mapper.
        version_argument: "formats",
        version_mark: None,
    },
    Tool {
        name: "nbdfuse",
        package: "libnbd-bin",
        purpose: "attaches emulated volumes with latency, a cache or faults if the kernel has no nbd driver",
        blocks: None,
        only_for: None,
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "qemu-system-x86_64",
        package: "qemu-system-x86",
        purpose: "boots guests with their own kernels",
        blocks: Some("every experiment on a `guest` machine, such as experiments/kernel.toml"),
        only_for: None,
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "qemu-img",
        package: "qemu-utils",
        purpose: "converts disk images",
        blocks: Some("`iostone image`"),
        only_for: Some(Use::OtherCommands),
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "docker",
        package: "docker.io",
        purpose: "client of iostone's own Docker daemon",
        blocks: Some("every experiment with a `docker` container"),
        only_for: Some(Use::Docker),
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "dockerd",
        package: "docker.io",
        purpose: "iostone's own Docker daemon",
        blocks: Some("every experiment with a `docker` container"),
        only_for: Some(Use::Docker),
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "podman",
        package: "podman",
        purpose: "runs `podman` containers without a daemon",
        blocks: Some("every experiment with a `podman` container"),
        only_for: Some(Use::Podman),
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "conmon",
        package: "conmon",
        purpose: "monitors podman's containers",
        blocks: Some("every experiment with a `podman` container"),
        only_for: Some(Use::Podman),
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "runc",
        package: "runc",
        purpose: "starts the containers of Docker and podman",
        blocks: Some("every experiment with a `docker` container"),
        only_for: Some(Use::Engines),
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "crun",
        package: "crun",
        purpose: "starts podman's containers if there is no runc",
        blocks: None,
        only_for: Some(Use::Podman),
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "blkid",
        package: "util-linux",
        purpose: "second check of a device's content for the guard",
        blocks: None,
        only_for: None,
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "wipefs",
        package: "util-linux",
        purpose: "lists signatures for the guard, read-only",
        blocks: None,
        only_for: None,
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "dbench",
        package: "dbench",
        purpose: "the workload of that name",
        blocks: Some("every experiment with a `dbench` workload, such as experiments/barrier-dbench.toml"),
        only_for: None,
        // There is no such option; the version comes before the complaint.
        version_argument: "--version",
        version_mark: Some("dbench version"),
    },
    Tool {
        name: "bonnie++",
        package: "bonnie++",
        purpose: "the workload `bonnie`",
        blocks: Some("every experiment with a `bonnie` workload, such as experiments/disk.toml"),
        only_for: None,
        version_argument: "--version",
        version_mark: Some("Version:"),
    },
    Tool {
        name: "fio",
        package: "fio",
        purpose: "the workload of that name; `iostone io` works without it",
        blocks: Some("every experiment with a `fio` workload"),
        only_for: None,
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "dd",
        package: "coreutils",
        purpose: "the workload of that name",
        blocks: Some("every experiment with a `dd` workload"),
        only_for: None,
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "sysbench",
        package: "sysbench",
        purpose: "the workload of that name",
        blocks: Some("every experiment with a `sysbench` workload"),
        only_for: None,
        version_argument: "--version",
        version_mark: None,
    },
    Tool {
        name: "ioping",
        package: "ioping",
        purpose: "the workload of that name",
        blocks: Some("every experiment with an `ioping` workload"),
        only_for: None,
        version_argument: "-v",
        version_mark: None,
    },
];

/// The names of the tools that runs on these stacks may use.
pub fn tools_of_runs<'a>(stacks: impl IntoIterator<Item = &'a Stack>) -> Vec<String> {
    let containers: Vec<&Container> = stacks.into_iter().map(|stack| &stack.container).collect();
    let is_used = |tool: &&Tool| {
        tool.only_for.is_none_or(|only_for| containers.iter().any(|container| only_for.is_of(container)))
    };
    TOOLS.iter().filter(is_used).map(|tool| tool.name.to_owned()).collect()
}

/// The questions for the tools of these names; for all of them if none are named. Other names are passed over.
pub(crate) fn queries(named: Option<&[String]>) -> Vec<ToolQuery> {
    let is_named = |tool: &&Tool| named.is_none_or(|names| names.iter().any(|name| name == tool.name));
    TOOLS.iter().filter(is_named).map(Tool::query).collect()
}

impl Tool {
    /// The question that the probe asks it.
    fn query(&self) -> ToolQuery {
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
    fn a_run_asks_only_the_engine_that_it_uses() {
        let asked = |container: &str| {
            let stack = format!(r#"{{"volume":{{"kind":"directory","path":"/d"}}{container}}}"#);
            let stack: Stack = serde_json::from_str(&stack).unwrap();
            let names = tools_of_runs([&stack]);
            assert_eq!(queries(Some(&names)).len(), names.len());
            assert!(names.iter().any(|name| name == "mkfs.ext4"));
            let engines = ["docker", "dockerd", "podman", "conmon", "runc", "crun", "qemu-img"];
            names.into_iter().filter(|name| engines.contains(&name.as_str())).collect::<Vec<_>>()
        };
        assert_eq!(asked(""), [""; 0]);
        assert_eq!(asked(r#","container":{"kind":"overlay"}"#), [""; 0]);
        assert_eq!(asked(r#","container":{"kind":"docker"}"#), ["docker", "dockerd", "runc"]);
        assert_eq!(asked(r#","container":{"kind":"podman"}"#), ["podman", "conmon", "runc", "crun"]);
        assert_eq!(queries(None).len(), TOOLS.len());
        assert!(queries(Some(&["another".to_owned()])).is_empty());
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
