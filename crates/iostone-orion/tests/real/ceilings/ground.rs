//! A loop device, and a control group with limits that this process is in; both are removed when dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use iostone_model::orion::LimitKind;
use iostone_probe::Root;
use iostone_probe::hierarchy::{Version, find_groups};

/// A loop device of the test's own.
pub(crate) struct TestLoop(pub(crate) PathBuf);

impl TestLoop {
    pub(crate) fn new(below: &Path) -> Self {
        let losetup = ["--find", "--show", "--direct-io=on"];
        let output = Command::new("losetup").args(losetup).arg(below).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self(PathBuf::from(String::from_utf8(output.stdout).unwrap().trim()))
    }

    pub(crate) fn name(&self) -> String {
        self.0.file_name().unwrap().to_string_lossy().into_owned()
    }

    fn number(&self) -> String {
        let file = Path::new("/sys/class/block").join(self.name()).join("dev");
        fs::read_to_string(file).unwrap().trim().to_owned()
    }
}

impl Drop for TestLoop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}

/// A group of the test's own with this process in it.
pub(crate) struct TestGroup {
    version: Version,
    path: PathBuf,
    home: PathBuf,
}

impl TestGroup {
    /// Makes it below this process's; none where the system does not let it be, or limits nothing there.
    pub(crate) fn enter() -> Option<Self> {
        let groups = find_groups(&Root::live(), "blkio")?;
        let home = groups.directories.into_iter().next()?;
        let path = home.join(format!("iostone-orion-{}", std::process::id()));
        fs::create_dir(&path).ok()?;
        let group = Self { version: groups.version, path, home };
        let limits = match group.version {
            Version::One => "blkio.throttle.read_iops_device",
            Version::Two => "io.max",
        };
        (group.path.join(limits).exists() && fs::write(group.path.join("cgroup.procs"), "0").is_ok())
            .then_some(group)
    }

    pub(crate) fn limit(&self, device: &TestLoop, kind: LimitKind, value: u32) {
        let (old, new) = match kind {
            LimitKind::ReadIops => ("read_iops", "riops"),
            LimitKind::WriteIops => ("write_iops", "wiops"),
            LimitKind::ReadBytes => ("read_bps", "rbps"),
            LimitKind::WriteBytes => ("write_bps", "wbps"),
        };
        let (file, line) = match self.version {
            Version::One => (format!("blkio.throttle.{old}_device"), format!("{} {value}", device.number())),
            Version::Two => ("io.max".to_owned(), format!("{} {new}={value}", device.number())),
        };
        fs::write(self.path.join(file), line).unwrap();
    }
}

impl Drop for TestGroup {
    fn drop(&mut self) {
        let _ = fs::write(self.home.join("cgroup.procs"), "0");
        // What this process started meanwhile is in the group too, until it ends.
        for _ in 0..100 {
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
