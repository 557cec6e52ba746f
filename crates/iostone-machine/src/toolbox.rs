//! The foreign programs that iostone can use: what for, and how each tells its version.

use iostone_model::experiment::{Container, Stack};
use iostone_probe::programs::install_command;
use iostone_probe::{ToolQuery, VersionLine};

/// A foreign program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
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
    Tool::new("mkfs.ext4", "-V", "makes ext4 filesystems")
        .needed_by("every experiment with an ext4 filesystem, such as experiments/barrier.toml"),
    Tool::new("mkfs.xfs", "-V", "makes XFS filesystems")
        .needed_by("every experiment with an xfs filesystem, such as experiments/raid0.toml"),
    Tool::new("mkfs.btrfs", "--version", "makes btrfs filesystems, also over several volumes")
        .needed_by("every experiment with a btrfs filesystem or array"),
    Tool::new("mkfs.ext2", "-V", "makes ext2 filesystems")
        .needed_by("every experiment with an ext2 filesystem, such as experiments/filesystems.toml"),
    Tool::new("mkfs.f2fs", "-V", "makes F2FS filesystems")
        .needed_by("every experiment with an f2fs filesystem"),
    Tool::new("mdadm", "--version", "makes software RAID")
        .needed_by("every experiment with an `md` array, such as experiments/raid0.toml"),
    // `lvm version` would make the node /dev/mapper/control, even where the kernel has no device mapper.
    Tool::new("lvm", "formats", "makes striped logical volumes")
        .needed_by("every experiment with an `lvm` array"),
    Tool::new(
        "nbdfuse",
        "--version",
        "brings an emulated volume with latency, a cache or faults to this kernel where it has no nbd driver",
    ),
    Tool::new("qemu-system-x86_64", "--version", "boots guests with kernels of their own")
        .needed_by("every experiment on a `guest` machine, such as experiments/kernel.toml"),
    Tool::new("qemu-img", "--version", "turns disk images from one format into another")
        .needed_by("`iostone image`")
        .only_for(Use::OtherCommands),
    Tool::new("docker", "--version", "the client that drives a private Docker daemon")
        .needed_by("every experiment with a `docker` container")
        .only_for(Use::Docker),
    Tool::new("dockerd", "--version", "the daemon of its own that a `docker` container gets")
        .needed_by("every experiment with a `docker` container")
        .only_for(Use::Docker),
    Tool::new("podman", "--version", "runs `podman` containers; it needs no daemon")
        .needed_by("every experiment with a `podman` container")
        .only_for(Use::Podman),
    Tool::new("conmon", "--version", "watches over podman's containers")
        .needed_by("every experiment with a `podman` container")
        .only_for(Use::Podman),
    Tool::new("runc", "--version", "starts the containers of Docker and podman")
        .needed_by("every experiment with a `docker` container")
        .only_for(Use::Engines),
    Tool::new("crun", "--version", "starts the containers of podman where there is no runc")
        .only_for(Use::Podman),
    Tool::new("blkid", "--version", "a second opinion for the guard on what a device carries"),
    Tool::new("wipefs", "--version", "lists signatures for the guard, without touching them"),
    // There is no such option; the version comes before the complaint.
    Tool::new("dbench", "--version", "the workload of that name")
        .needed_by("every experiment with a `dbench` workload, such as experiments/barrier-dbench.toml")
        .marked("dbench version"),
    Tool::new("bonnie++", "--version", "the workload `bonnie`")
        .needed_by("every experiment with a `bonnie` workload, such as experiments/disk.toml")
        .marked("Version:"),
    Tool::new("fio", "--version", "the workload of that name; `iostone io` needs none")
        .needed_by("every experiment with a `fio` workload"),
    Tool::new("dd", "--version", "the workload of that name")
        .needed_by("every experiment with a `dd` workload"),
    Tool::new("sysbench", "--version", "the workload of that name")
        .needed_by("every experiment with a `sysbench` workload"),
    Tool::new("ioping", "-v", "the workload of that name")
        .needed_by("every experiment with an `ioping` workload"),
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
    /// A tool that tells its version when asked with an argument.
    const fn new(name: &'static str, version_argument: &'static str, purpose: &'static str) -> Self {
        Self { name, purpose, blocks: None, only_for: None, version_argument, version_mark: None }
    }

    const fn needed_by(self, experiments: &'static str) -> Self {
        Self { blocks: Some(experiments), ..self }
    }

    const fn only_for(self, only_for: Use) -> Self {
        Self { only_for: Some(only_for), ..self }
    }

    const fn marked(self, mark: &'static str) -> Self {
        Self { version_mark: Some(mark), ..self }
    }

    /// The question that the probe asks it.
    fn query(&self) -> ToolQuery {
        let simple = ToolQuery::simple(self.name, self.version_argument);
        match self.version_mark {
            Some(mark) => ToolQuery { line: VersionLine::Containing(mark.to_owned()), ..simple },
            None => simple,
        }
    }

    /// The command that installs it.
    pub fn install_command(&self) -> String {
        install_command(self.name)
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
