//! What this host's kernel has, what guests with kernels of their own run on, and where these come from.

use std::fs;
use std::path::Path;

use iostone_guest::Cache;
use iostone_model::environment::Environment;
use iostone_probe::programs::{find_program, install_command};

use super::{Finding, LOOP_EXPERIMENTS, State, finding};

/// What helps where this host's kernel lacks something and takes no modules.
const GUEST_INSTEAD: &str = "machine = { kind = \"guest\", kernel = \"debian:6.1\" }";
/// Likewise, where only the kernels for all machines have it.
const GENERIC_GUEST_INSTEAD: &str = "machine = { kind = \"guest\", kernel = \"debian:6.1-generic\" }";

const OVERLAY_EXPERIMENTS: &str = "every experiment with a plain overlay whose `place` is layer, and with a `docker` or \
                                   `podman` container unless its `driver` is btrfs or vfs";

/// What the kernel tells of itself.
pub(super) struct KernelFacts {
    filesystems: String,
    devices: String,
    /// `modules.dep` of the running release.
    modules: String,
    /// `modules.alias` of the running release.
    aliases: String,
    takes_modules: bool,
}

impl KernelFacts {
    pub(super) fn read(release: &str) -> Self {
        let text = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        let takes_modules = takes_modules(
            Path::new("/proc/modules").exists(),
            &text(Path::new("/proc/sys/kernel/modules_disabled")),
            &text(Path::new("/proc/cmdline")),
        );
        Self {
            filesystems: text(Path::new("/proc/filesystems")),
            devices: text(Path::new("/proc/devices")),
            modules: text(&Path::new("/lib/modules").join(release).join("modules.dep")),
            aliases: text(&Path::new("/lib/modules").join(release).join("modules.alias")),
            takes_modules,
        }
    }

    /// What helps where a module is not loaded.
    fn help(&self, module: &str) -> String {
        match module {
            _ if self.takes_modules => format!("modprobe {module}"),
            // Debian's kernels for virtual machines, which are taken where no flavour is named, have none.
            "f2fs" => GENERIC_GUEST_INSTEAD.to_owned(),
            _ => GUEST_INSTEAD.to_owned(),
        }
    }

    /// Why something is not there.
    fn lacking(&self) -> &'static str {
        if self.takes_modules {
            "not loaded, or not in this kernel; guest kernels have it"
        } else {
            "not in this kernel, which loads no modules; guest kernels have it"
        }
    }

    fn has_device(&self, name: &str) -> bool {
        self.devices.lines().any(|line| line.split_whitespace().nth(1) == Some(name))
    }

    fn has_filesystem(&self, name: &str) -> bool {
        self.filesystems.lines().any(|line| line.split_whitespace().last() == Some(name))
    }

    /// A module of that name, `kernel/fs/xfs/xfs.ko.xz: kernel/lib/libcrc32c.ko.xz`; ext2's is mostly that of ext4.
    fn has_module(&self, name: &str) -> bool {
        let name = if name == "ext2" && self.aliases.contains("alias fs-ext2 ext4") { "ext4" } else { name };
        self.takes_modules
            && self.modules.lines().filter_map(|line| line.split(':').next()).any(|path| {
                let file = path.rsplit('/').next().unwrap_or(path);
                file.split_once(".ko").is_some_and(|(module, _)| module == name)
            })
    }
}

/// A kernel without modules has no /proc/modules; one that was told to take none any more says so
/// (`Documentation/admin-guide/sysctl/kernel.rst`, `modules_disabled`), and so does its command line.
fn takes_modules(has_list: bool, disabled: &str, command_line: &str) -> bool {
    has_list && disabled.trim() != "1" && !command_line.split_whitespace().any(|word| word == "nomodule")
}

pub(super) fn loop_devices(kernel: &KernelFacts) -> Finding {
    if Path::new("/dev/loop-control").exists() {
        return finding("loop devices", State::Ready, "/dev/loop-control exists");
    }
    Finding {
        help: Some(kernel.help("loop")),
        blocks: vec![LOOP_EXPERIMENTS],
        ..finding("loop devices", State::Missing, "no /dev/loop-control; a container needs it passed in")
    }
}

/// The filesystems that the kernel has, or can load upon a mount.
pub(super) fn filesystems(kernel: &KernelFacts) -> impl Iterator<Item = Finding> {
    let rows = [
        ("ext4", "every experiment with an ext4 filesystem on this host"),
        ("xfs", "every experiment with an xfs filesystem on this host"),
        ("btrfs", "every experiment with a btrfs filesystem or array on this host"),
        ("ext2", "every experiment with an ext2 filesystem on this host"),
        ("f2fs", "every experiment with an f2fs filesystem on this host"),
        ("overlay", OVERLAY_EXPERIMENTS),
    ];
    rows.into_iter().map(|(name, blocks)| {
        if kernel.has_filesystem(name) {
            return finding(name, State::Ready, "the kernel supports it");
        }
        if kernel.has_module(name) {
            return finding(name, State::Ready, "a kernel module, loaded on mount");
        }
        Finding {
            help: Some(kernel.help(name)),
            blocks: vec![blocks],
            ..finding(name, State::Limited, kernel.lacking())
        }
    })
}

/// Whether a private Docker daemon could start here, by what can be read: its parts, root, and control groups whose
/// controllers it finds. It is not started for that.
pub(super) fn docker_daemon(environment: &Environment) -> Finding {
    const NAME: &str = "docker daemon";
    const BLOCKS: &str = "every experiment with a `docker` container";
    let lacks = |found: &str, help: &str| Finding {
        help: Some(help.to_owned()),
        blocks: vec![BLOCKS],
        ..finding(NAME, State::Limited, found)
    };
    if let Some(name) =
        ["dockerd", "containerd", "runc"].into_iter().find(|name| find_program(name).is_none())
    {
        return lacks(&format!("{name} is not installed"), &install_command(name));
    }
    if !environment.root {
        return lacks("only root can start iostone's own daemon", "sudo iostone ...");
    }
    if environment.cgroup.mode.as_str() == "none" {
        return lacks("no cgroup filesystem is mounted", "mount -t cgroup2 cgroup2 /sys/fs/cgroup");
    }
    let foreign = if Path::new("/run/docker.sock").exists() {
        "; the daemon on /run/docker.sock is left alone"
    } else {
        ""
    };
    finding(NAME, State::Ready, format!("everything for iostone's own daemon is installed{foreign}"))
}

/// Whether the kernel joins volumes; a guest's kernel can where this one does not.
pub(super) fn arrays(kernel: &KernelFacts) -> [Finding; 2] {
    let row = |name: &str, ready: bool, module: &str, blocks: &'static str| {
        if ready {
            return finding(name, State::Ready, "the kernel has it");
        }
        Finding {
            help: Some(kernel.help(module)),
            blocks: vec![blocks],
            ..finding(name, State::Limited, kernel.lacking())
        }
    };
    let md = Path::new("/proc/mdstat").exists();
    let mapper = kernel.has_device("device-mapper");
    [
        row("software RAID", md, "md_mod", "every experiment with an `md` array on this host"),
        row("device mapper", mapper, "dm_mod", "every experiment with an `lvm` array on this host"),
    ]
}

/// How this kernel reaches the server of emulated volumes; a guest reaches it through QEMU.
pub(super) fn emulated_volumes(kernel: &KernelFacts, environment: &Environment) -> Finding {
    const NAME: &str = "emulated volumes";
    let nbdfuse = environment.tools.get("nbdfuse").is_some_and(Option::is_some);
    let fuse = Path::new("/dev/fuse").exists();
    if kernel.has_device("nbd") {
        return finding(NAME, State::Ready, "the kernel has nbd");
    }
    let (found, help) = match (fuse, nbdfuse) {
        (true, true) => {
            return finding(NAME, State::Ready, "by nbdfuse over FUSE; the kernel lacks nbd");
        }
        (true, false) => {
            ("the kernel lacks nbd; FUSE is available, nbdfuse is not", install_command("nbdfuse"))
        }
        (false, _) => ("neither nbd nor FUSE in the kernel; a guest needs neither", kernel.help("nbd")),
    };
    Finding {
        help: Some(help),
        blocks: vec!["emulated volumes with latency, a cache or faults on this host"],
        ..finding(NAME, State::Limited, found)
    }
}

/// What guests run on, and where their kernels come from.
pub(super) fn guests() -> [Finding; 3] {
    [kvm(), cached_kernels(), apt()]
}

fn kvm() -> Finding {
    const DEVICE: &str = "/dev/kvm";
    match fs::OpenOptions::new().read(true).write(true).open(DEVICE) {
        Ok(_) => finding(
            "kvm",
            State::Ready,
            "/dev/kvm can be opened; a guest's first boot shows whether it works",
        ),
        Err(error) => {
            let found = format!(
                "{DEVICE}: {error}; guests run under TCG: limits and counts are right, CPU-bound work is 10 to 50 times slower"
            );
            finding("kvm", State::Limited, found)
        }
    }
}

fn cached_kernels() -> Finding {
    const NAME: &str = "guests' kernels";
    let cache = match Cache::of_user() {
        Ok(cache) => cache,
        Err(error) => return finding(NAME, State::Limited, error.to_string()),
    };
    let place = cache.root().display();
    match cache.kernels().len() {
        0 => Finding {
            help: Some("iostone guest kernels --fetch 6.1".to_owned()),
            ..finding(
                NAME,
                State::Limited,
                format!("none in {place}; the first run that needs one fetches it"),
            )
        },
        1 => finding(NAME, State::Ready, format!("1 in {place}")),
        several => finding(NAME, State::Ready, format!("{several} in {place}")),
    }
}

/// Kernels are Debian's packages, found, fetched and unpacked by these.
fn apt() -> Finding {
    let missing = ["apt-cache", "apt-get", "dpkg-deb"].into_iter().find(|name| find_program(name).is_none());
    match missing {
        None => finding("apt", State::Ready, "fetches guests' kernels from Debian"),
        Some(name) => finding(
            "apt",
            State::Limited,
            format!("no {name}; guests can boot `host`, or a kernel given by its path"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_modules_gets_no_advice_to_load_one() {
        assert!(takes_modules(true, "0\n", "quiet"));
        assert!(!takes_modules(false, "", "quiet"));
        assert!(!takes_modules(true, "1\n", "quiet"));
        assert!(!takes_modules(true, "0\n", "quiet nomodule"));
        let kernel = |takes_modules| KernelFacts {
            filesystems: "nodev\tsysfs\n\text4\n".to_owned(),
            devices: "Block devices:\n  7 loop\n".to_owned(),
            modules: "kernel/fs/xfs/xfs.ko.xz: kernel/lib/libcrc32c.ko.xz\nkernel/fs/ext4/ext4.ko:\n"
                .to_owned(),
            aliases: "alias fs-ext2 ext4\n".to_owned(),
            takes_modules,
        };
        let helps = |takes: bool| -> Vec<Option<String>> {
            filesystems(&kernel(takes)).map(|row| row.help).collect()
        };
        let load = |name: &str| Some(format!("modprobe {name}"));
        assert_eq!(helps(true), [None, None, load("btrfs"), None, load("f2fs"), load("overlay")]);
        let guest = || Some(GUEST_INSTEAD.to_owned());
        let generic = Some(GENERIC_GUEST_INSTEAD.to_owned());
        assert_eq!(helps(false), [None, guest(), guest(), guest(), generic, guest()]);
        assert!(kernel(true).has_device("loop") && !kernel(true).has_device("device-mapper"));
    }
}
