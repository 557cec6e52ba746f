//! Things of others that forged journals are aimed at: files, directories, a mount, a device, a control group, processes.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use serde_json::{Value, json};

/// The session that the forged journals speak of.
pub(super) const TOKEN: &str = "play-0123456789abcdef";

/// What is looked at, by name: content, and what tells the object from another at the same place.
type Look = BTreeMap<String, String>;

pub(super) struct Playground {
    directory: tempfile::TempDir,
    processes: Vec<Child>,
    /// An ext4 that nobody has mounted, where root allows.
    pub(super) device: Option<Device>,
    pub(super) group: Option<PathBuf>,
    mount: Option<PathBuf>,
    pub(super) before: Look,
}

pub(super) struct Device {
    pub(super) path: PathBuf,
    name: String,
    pub(super) number: (u32, u32),
    pub(super) uuid: String,
}

impl Playground {
    pub(super) fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("iostone-play-").tempdir_in("/var/tmp").unwrap();
        let at = |path: &str| directory.path().join(path);
        for path in ["full/sub", "empty", "x/empty", "sys/queue", &format!("group/iostone-{TOKEN}"), "mnt"] {
            fs::create_dir_all(at(path)).unwrap();
        }
        let group = format!("group/iostone-{TOKEN}");
        for (path, text) in [
            ("f1", "one"),
            ("full/f1", "precious"),
            ("full/sub/f2", "two"),
            ("sys/queue/write_cache", "write back\n"),
            ("group/cgroup.procs", "1\n"),
            ("group/cgroup.subtree_control", "cpu io\n"),
            (&format!("{group}/cgroup.procs"), "1\n"),
            (&format!("{group}/cpu.max"), "1000 2000\n"),
            (&format!("{group}/cpu.cfs_quota_us"), "1000\n"),
            (&format!("{group}/cgroup.freeze"), "1\n"),
        ] {
            fs::write(at(path), text).unwrap();
        }
        symlink(at("full"), at(&format!("x/iostone-{TOKEN}"))).unwrap();
        let root = rustix::process::geteuid().is_root();
        let device = if root { Device::make(&at("disk.img")) } else { None };
        if device.is_none() {
            eprintln!("skipped in part: needs root, loop devices and mkfs.ext4");
        }
        let mount = root
            .then(|| run("mount", &["-t", "tmpfs", "iostone-play", at("mnt").to_str().unwrap()]))
            .flatten()
            .map(|_| at("mnt"));
        let group = Some(PathBuf::from(format!(
            "/sys/fs/cgroup/pids/play-{}",
            crate::journal::random_hex().unwrap()
        )))
        .filter(|group| root && fs::create_dir(group).is_ok());
        let processes = [
            ("PLAY", "1"),
            ("IOSTONE_RUN", "other-0123456789abcdef"),
            ("IOSTONE_SERVER", "other-0123456789abcdef-1"),
            ("IOSTONE_ENGINE", "other-0123456789abcdef-2"),
        ];
        let processes = processes
            .map(|(name, value)| Command::new("sleep").arg("1000").env(name, value).spawn().unwrap())
            .into();
        let mut playground = Self { directory, processes, device, group, mount, before: Look::new() };
        if let Some(group) = &playground.group {
            fs::write(group.join("pids.max"), "100").unwrap();
            fs::write(group.join("cgroup.procs"), playground.processes[0].id().to_string()).unwrap();
        }
        playground.wait_for_environments();
        playground.before = playground.look();
        playground
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A child has its environment only after its exec.
    fn wait_for_environments(&self) {
        for process in &self.processes {
            while !fs::read_to_string(format!("/proc/{}/comm", process.id())).unwrap().starts_with("sleep") {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        }
    }

    pub(super) fn look(&self) -> Look {
        let mut look = Look::new();
        walk(self.directory.path(), &mut look);
        for process in &self.processes {
            let stat = fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap_or_default();
            let state = stat.rsplit(')').next().and_then(|rest| rest.trim().chars().next());
            look.insert(
                format!("process {}", process.id()),
                format!("runs: {}", matches!(state, Some('S' | 'R' | 'D'))),
            );
        }
        if let Some(device) = &self.device {
            for attribute in ["write_cache", "read_ahead_kb", "scheduler", "../loop/backing_file"] {
                let path = format!("/sys/block/{}/queue/{attribute}", device.name);
                look.insert(path.clone(), fs::read_to_string(&path).unwrap_or_default());
            }
            // Past the cache of the file that it stands on.
            look.insert("device".to_owned(), sum(&fs::read(&device.path).unwrap()));
        }
        if let Some(group) = &self.group {
            for file in ["pids.max", "cgroup.procs"] {
                look.insert(
                    format!("group {file}"),
                    fs::read_to_string(group.join(file)).unwrap_or_default(),
                );
            }
        }
        if let Some(mount) = &self.mount {
            let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
            let is_mounted = mounts.lines().any(|line| line.contains(mount.to_str().unwrap()));
            look.insert("mount".to_owned(), is_mounted.to_string());
        }
        look
    }
}

impl Device {
    fn make(image: &Path) -> Option<Self> {
        fs::File::create(image).unwrap().set_len(2 << 20).unwrap();
        let path = PathBuf::from(run("losetup", &["--find", "--show", image.to_str().unwrap()])?.trim());
        let uuid = "6c1a2b3c-0d4e-4f50-8a6b-7c8d9e0f1a2b";
        let made = run("mkfs.ext4", &["-F", "-q", "-U", uuid, path.to_str().unwrap()]);
        let rdev = fs::metadata(&path).unwrap().rdev();
        let device = Self {
            name: path.file_name().unwrap().to_str().unwrap().to_owned(),
            path,
            number: (rustix::fs::major(rdev), rustix::fs::minor(rdev)),
            uuid: uuid.to_owned(),
        };
        made.map(|_| device)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        run("losetup", &["--detach", self.path.to_str().unwrap()]);
    }
}

impl Drop for Playground {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
        if let Some(mount) = &self.mount {
            run("umount", &[mount.to_str().unwrap()]);
        }
        if let Some(group) = &self.group {
            let _ = (0..100).find(|_| {
                std::thread::sleep(std::time::Duration::from_millis(10));
                fs::remove_dir(group).is_ok()
            });
        }
    }
}

fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

/// As a journal tells files apart.
pub(super) fn identity(path: &Path) -> Value {
    fs::metadata(path).map_or_else(
        |_| json!({"dev": 1, "ino": 2}),
        |metadata| json!({"dev": metadata.dev(), "ino": metadata.ino()}),
    )
}

fn walk(directory: &Path, look: &mut Look) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let content = match metadata.file_type() {
            kind if kind.is_symlink() => fs::read_link(&path).unwrap().display().to_string(),
            kind if kind.is_file() => sum(&fs::read(&path).unwrap()),
            _ => String::new(),
        };
        let what = format!("{} {:?} {content}", metadata.ino(), metadata.file_type());
        look.insert(path.display().to_string(), what);
        if metadata.is_dir() {
            walk(&path, look);
        }
    }
}

fn sum(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    format!("{} bytes, {:016x}", bytes.len(), hasher.finish())
}
