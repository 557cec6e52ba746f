//! The probe against this machine's kernel: devices that serve and vanish, groups that are throttled. Needs root.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its own functions as well")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iostone_probe::{Probe, ProbePlan, Role, Root, WatchedDevice, WatchedGroups, watch_idle};

/// Longer than any test runs: only samples that are asked for are taken.
const NEVER: Duration = Duration::from_secs(3600);

/// A loop device over a file of 16 MiB; both go when it is dropped, and partitions with them.
struct Disk {
    device: PathBuf,
    _file: tempfile::NamedTempFile,
}

impl Disk {
    /// `None`, with the reason on standard error, where the machine cannot.
    fn attach() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return None;
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(16 << 20).unwrap();
        let Ok(output) =
            Command::new("losetup").args(["--find", "--show", "--partscan"]).arg(file.path()).output()
        else {
            eprintln!("skipped: needs losetup");
            return None;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let device = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
        Some(Self { device, _file: file })
    }

    fn name(&self) -> String {
        self.device.file_name().unwrap().to_str().unwrap().to_owned()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // A second time it fails, which is as well.
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).stderr(Stdio::null()).status();
    }
}

fn watch(name: &str) -> Vec<WatchedDevice> {
    vec![WatchedDevice { name: name.to_owned(), role: Role::Stack }]
}

/// Writes `count` blocks of 8 KiB past the page cache of the device, and flushes it.
fn write_direct(device: &Path, count: usize) {
    #[repr(align(4096))]
    struct Block([u8; 8192]);
    let block = Box::new(Block([7; 8192]));
    let flags = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).unwrap();
    let mut file = OpenOptions::new().write(true).custom_flags(flags).open(device).unwrap();
    for _ in 0..count {
        file.write_all(&block.0).unwrap();
    }
    file.sync_data().unwrap();
}

#[test]
fn served_bytes_are_those_between_the_marks() {
    let Some(disk) = Disk::attach() else { return };
    let probe = Probe::start(&watch(&disk.name()), NEVER).unwrap();
    write_direct(&disk.device, 3);
    probe.mark_start();
    write_direct(&disk.device, 10);
    probe.mark_end();
    write_direct(&disk.device, 5);
    let recording = probe.stop();
    let served = recording.summary.devices[0].served;
    assert_eq!(served.written_bytes, 10 * 8192);
    assert_eq!(served.in_flight, 0);
    if recording.devices[0].flushes_counted {
        assert!(served.flushes >= 1, "the flush is counted");
    }
    assert!(recording.losses.is_empty(), "{:?}", recording.losses);
}

#[test]
fn a_device_that_works_is_not_idle() {
    let Some(disk) = Disk::attach() else { return };
    let (done, never) = (AtomicBool::new(false), AtomicBool::new(false));
    let device = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                write_direct(&disk.device, 1);
            }
        });
        // However busy the machine is, the writer gets its turn some time.
        let patience = Instant::now();
        loop {
            let watched = watch_idle(&watch(&disk.name()), Duration::from_millis(50), &never);
            let device = watched.map(|mut idleness| idleness.devices.remove(0));
            let has_seen = device.as_ref().map_or(true, |device| device.bytes() > 0);
            if has_seen || patience.elapsed() > Duration::from_secs(60) {
                done.store(true, Ordering::Relaxed);
                return device;
            }
        }
    });
    let device = device.unwrap();
    assert!(device.bytes() >= 8192 && device.ios() >= 1);
    assert!(device.counting && device.lost.is_none());
}

#[test]
fn a_partition_that_vanishes_ends_its_series() {
    let Some(disk) = Disk::attach() else { return };
    // Tells the kernel of a partition whether or not it can read a partition table.
    let added = Command::new("addpart").arg(&disk.device).args(["1", "2048", "4096"]).status();
    let partition = format!("{}p1", disk.name());
    let stat = PathBuf::from(format!("/sys/class/block/{partition}/stat"));
    if added.is_err() || !stat.exists() {
        eprintln!("skipped: needs addpart and a kernel that makes partitions of loop devices");
        return;
    }
    let devices = [watch(&disk.name()), watch(&partition)].concat();
    let probe = Probe::start(&devices, Duration::from_millis(5)).unwrap();
    drop(disk);
    let patience = Instant::now();
    while stat.exists() {
        assert!(patience.elapsed() < Duration::from_secs(60), "the partition does not go");
        std::thread::sleep(Duration::from_millis(5));
    }
    probe.mark_end();
    let recording = probe.stop();
    let end = recording.devices[1].ended.as_ref().expect("the series has ended");
    assert_eq!(end.reason, format!("`{partition}` vanished"));
    assert_eq!(recording.devices[0].ended, None, "the loop device itself stays");
    assert!(recording.samples.iter().all(|sample| sample.disks.len() == 2));
}

/// A control group with a quota of a tenth of a CPU and a process in it that wants a whole one.
struct Throttled {
    group: PathBuf,
    child: Option<Child>,
}

impl Drop for Throttled {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        // The kernel takes a dead process out of its group a moment after it was waited for.
        for _ in 0..100 {
            if fs::remove_dir(&self.group).is_ok() || !self.group.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Throttled {
    fn make(group: PathBuf) -> Self {
        fs::create_dir(&group).unwrap();
        Self { group, child: None }
    }

    /// Gives it so many microseconds in each 20 ms.
    fn set_quota(&self, is_v1: bool, quota_us: u32) {
        if is_v1 {
            fs::write(self.group.join("cpu.cfs_period_us"), "20000").unwrap();
            fs::write(self.group.join("cpu.cfs_quota_us"), quota_us.to_string()).unwrap();
        } else {
            fs::write(self.group.join("cpu.max"), format!("{quota_us} 20000")).unwrap();
        }
    }
}

/// The mount point of a hierarchy whose CPU quotas can be set, and whether it is of version 1.
fn find_cpu_hierarchy() -> Option<(PathBuf, bool)> {
    Root::live().mounts().into_iter().find_map(|mount| {
        let target = mount.target.clone();
        match mount.filesystem.as_str() {
            "cgroup" if mount.super_options.iter().any(|option| option == "cpu") => Some((target, true)),
            "cgroup2" => {
                let enabled = fs::read_to_string(target.join("cgroup.subtree_control")).ok()?;
                enabled.split_whitespace().any(|name| name == "cpu").then_some((target, false))
            }
            _ => None,
        }
    })
}

#[test]
fn a_throttled_group_shows_its_throttling() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let Some((hierarchy, is_v1)) = find_cpu_hierarchy() else {
        eprintln!("skipped: no control group hierarchy with CPU quotas");
        return;
    };
    let group = hierarchy.join(format!("iostone-probe-test-{}", std::process::id()));
    let mut throttled = Throttled::make(group.clone());
    throttled.set_quota(is_v1, 2000);
    let groups = WatchedGroups { quota: Some(group.clone()), ..WatchedGroups::default() };
    let plan = ProbePlan { devices: Vec::new(), interval: NEVER, groups, root: Root::live() };
    let probe = Probe::start_with(&plan).unwrap();
    let child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let id = child.id();
    throttled.child = Some(child);
    fs::write(group.join("cgroup.procs"), id.to_string()).unwrap();
    let patience = Instant::now();
    while read_throttled_periods(&group) == 0 {
        assert!(patience.elapsed() < Duration::from_secs(60), "the group is never throttled");
        std::thread::sleep(Duration::from_millis(5));
    }
    let recording = probe.stop();
    assert!(recording.summary.throttled.is_some_and(|share| share > 0.0 && share <= 1.0));
}

/// The group that counts CPU time beside one of version 1, where that is another hierarchy.
fn find_accounting() -> Option<PathBuf> {
    let mounts = Root::live().mounts();
    let is_one = |options: &[String]| options.iter().any(|option| option == "cpuacct");
    mounts.into_iter().find(|mount| is_one(&mount.super_options)).map(|mount| mount.target)
}

#[test]
fn what_an_allowance_withholds_is_told_from_what_the_quota_around_it_does() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let Some((hierarchy, is_v1)) = find_cpu_hierarchy() else {
        eprintln!("skipped: no control group hierarchy with CPU quotas");
        return;
    };
    let name = format!("iostone-probe-governed-{}", std::process::id());
    let quota = Throttled::make(hierarchy.join(&name));
    if !is_v1 {
        fs::write(quota.group.join("cgroup.subtree_control"), "+cpu").unwrap();
    }
    // Where both controllers are mounted together the group is there already.
    let accounting = is_v1.then(find_accounting).flatten().map(|mount| mount.join(&name));
    let usage = accounting.clone().unwrap_or_else(|| quota.group.clone());
    let _counting = (!usage.exists()).then(|| Throttled::make(usage.clone()));
    // Made last, so dropped first: its process is in all of these groups, and none goes while that runs.
    let mut governed = Throttled::make(quota.group.join("governed"));
    quota.set_quota(is_v1, 10_000);
    governed.set_quota(is_v1, 1000);
    let groups = WatchedGroups {
        quota: Some(quota.group.clone()),
        governed: Some(governed.group.clone()),
        usage: Some(usage.clone()),
    };
    let plan = ProbePlan { devices: Vec::new(), interval: NEVER, groups, root: Root::live() };
    let probe = Probe::start_with(&plan).unwrap();
    let child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let id = child.id().to_string();
    governed.child = Some(child);
    fs::write(governed.group.join("cgroup.procs"), &id).unwrap();
    if usage != quota.group {
        fs::write(usage.join("cgroup.procs"), &id).unwrap();
    }
    let patience = Instant::now();
    // A period counts when it is throttled, its time once it is over.
    while read_throttled_periods(&governed.group) < 3 || read_throttled_time(&governed.group) == 0 {
        assert!(patience.elapsed() < Duration::from_secs(60), "the group is never throttled");
        std::thread::sleep(Duration::from_millis(5));
    }
    let recording = probe.stop();
    let account = recording.summary.cpu.as_ref().unwrap();
    assert!(account.governed_seconds.unwrap() > 0.0, "{account:?}");
    assert!(account.throttled_seconds.unwrap() < account.governed_seconds.unwrap(), "{account:?}");
    assert!(account.used_seconds().unwrap() > 0.0, "{account:?}");
    let last = recording.samples.last().unwrap();
    assert!(last.governed.unwrap().throttled_periods >= 3 && last.group_cpu_ns.unwrap() > 0, "{last:?}");
}

fn read_throttled_periods(group: &Path) -> u64 {
    read_stat(group, &["nr_throttled "])
}

/// In the unit of the version: nanoseconds or microseconds.
fn read_throttled_time(group: &Path) -> u64 {
    read_stat(group, &["throttled_time ", "throttled_usec "])
}

fn read_stat(group: &Path, names: &[&str]) -> u64 {
    let text = std::io::read_to_string(File::open(group.join("cpu.stat")).unwrap()).unwrap();
    let figure = |line: &str| names.iter().find_map(|name| line.strip_prefix(name)?.parse().ok());
    text.lines().find_map(figure).unwrap_or_default()
}
