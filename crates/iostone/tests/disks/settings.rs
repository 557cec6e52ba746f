//! Settings of queues and of the kernel through the binary: varied, read back in the records, put back at the end and after
//! kill -9, refused before the first block.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Stdio;

use rustix::fs::FlockOperation;
use serde_json::Value;

use crate::lab::{Disk, Lab, needs_root, wait_until, words};

/// What iostone sets and what a scheduler sets by itself.
const QUEUE: &[&str] = &[
    "scheduler",
    "nr_requests",
    "rotational",
    "wbt_lat_usec",
    "max_sectors_kb",
    "nomerges",
    "rq_affinity",
    "write_cache",
    "read_ahead_kb",
];
const KERNEL: &[&str] = &["dirty_bytes", "dirty_ratio", "dirty_expire_centisecs", "swappiness"];

/// The settings are the machine's: one test, of whichever program, has them at a time.
fn alone() -> File {
    let file = File::open("/proc/sys").unwrap();
    rustix::fs::flock(&file, FlockOperation::LockExclusive).unwrap();
    file
}

fn kernel() -> Vec<(&'static str, String)> {
    let read = |name: &&'static str| (*name, fs::read_to_string(format!("/proc/sys/vm/{name}")).unwrap());
    KERNEL.iter().map(read).collect()
}

fn queue(device: &str) -> Vec<(&'static str, String)> {
    let directory = PathBuf::from(device.replace("/dev/", "/sys/block/")).join("queue");
    let read = |name: &&'static str| (*name, fs::read_to_string(directory.join(name)).unwrap_or_default());
    QUEUE.iter().map(read).collect()
}

/// Puts back what a test changed itself or what a failed one left.
struct Kept(Vec<(&'static str, String)>);

impl Drop for Kept {
    fn drop(&mut self) {
        // Of a pair the one that is in force last: it makes the other 0, and 0 is no size.
        let (off, on): (Vec<_>, Vec<_>) = self.0.iter().partition(|(_, value)| value.trim() == "0");
        for (name, value) in off.into_iter().chain(on) {
            let _ = fs::write(format!("/proc/sys/vm/{name}"), value);
        }
    }
}

/// A file whose factor is one path with two values, on that volume.
fn experiment(volume: &str, stack: &str, factor: &str, runtime: &str) -> String {
    format!(
        r#"
name = "settings"
[stack]
volume = {{ {volume} }}
filesystem = {{ kind = "ext4" }}
{stack}
[[factor]]
name = "setting"
{factor}
[workload]
kind = "io"
rw = "randwrite"
size = "4MiB"
fdatasync = 1
runtime = "{runtime}"
[decide]
metric = "iops"
blocks = {{ min = 6, max = 6 }}
{baseline}
[trials]
settle = "10ms"
[gates]
steal = "off"
idle = "off"
throttling = "off"
"#,
        baseline = if factor.contains("none") { "baseline = \"none\"" } else { "baseline = \"1000\"" },
    )
}

/// What the trials of a level read back, each as one sorted text.
fn read_back(record: &Value, level: &str) -> Vec<String> {
    let trials = record["trials"].as_array().unwrap().iter().filter(|trial| trial["configuration"] == level);
    let of_trial = |trial: &Value| {
        let checks = trial["checks"].as_array().unwrap().iter();
        let own = checks.filter(|check| check["layer"] == "queue" || check["layer"] == "sysctl");
        let mut words: Vec<&str> = own.map(|check| check["read_back"].as_str().unwrap()).collect();
        words.sort_unstable();
        words.join(", ")
    };
    trials.map(of_trial).collect()
}

/// A device that the kernel has no mq-deadline for, or does not throttle writeback of, is no place for these tests.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn lacks_schedulers(device: &str) -> bool {
    let lacks = queue(device).iter().any(|(name, value)| match *name {
        "scheduler" => !value.contains("mq-deadline") || !value.contains("[none]"),
        _ => value.is_empty(),
    });
    if lacks {
        eprintln!("skipped: this kernel has no mq-deadline or no writeback throttling for loop devices");
    }
    lacks
}

#[test]
fn a_scheduler_and_all_other_settings_are_varied_read_back_and_put_back() {
    needs_root!();
    let _alone = alone();
    let _kept = Kept(kernel());
    let lab = Lab::new();
    let disk = Disk::attach(&lab);
    if lacks_schedulers(&disk.path) {
        return;
    }
    let directory = PathBuf::from(disk.path.replace("/dev/", "/sys/block/")).join("queue");
    // Not what a scheduler leaves behind when it goes.
    for (name, value) in [("nr_requests", "97"), ("wbt_lat_usec", "4321"), ("read_ahead_kb", "132")] {
        fs::write(directory.join(name), value).unwrap();
    }
    let before = (queue(&disk.path), kernel());
    let volume = format!("kind = \"block\", devices = [\"{}\"]", disk.path);
    let stack = "queue = { rotational = false, max_sectors_kb = 64, nomerges = 2, rq_affinity = 2, wbt_lat_usec = 0, \
                 write_cache = \"write through\", read_ahead_kb = 256 }\n\
                 sysctl = { vm.dirty_bytes = \"64MiB\", vm.swappiness = 17 }";
    let factor = "path = \"queue.scheduler\"\nvalues = [\"none\", \"mq-deadline\"]";
    let file = lab.write("experiment.toml", &experiment(&volume, stack, factor, "50ms"));
    let output = lab.iostone(&["run", &file]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let record = lab.record();
    for level in ["none", "mq-deadline"] {
        let expected = format!(
            "max_sectors_kb 64, nomerges 2, readahead 512 sectors, rotational 0, rq_affinity 2, scheduler {level}, \
             vm.dirty_bytes 67108864, vm.swappiness 17, wbt_lat_usec 0, write_cache write through"
        );
        let found = read_back(&record, level);
        assert!(found.len() >= 6, "{level}");
        assert!(found.iter().all(|one| *one == expected), "{level}: {found:?}\n{expected}");
    }
    assert_eq!((queue(&disk.path), kernel()), before);
    drop(disk);
    lab.assert_nothing_left();
}

#[test]
fn what_a_killed_run_had_set_is_put_back_by_cleanup() {
    needs_root!();
    let _alone = alone();
    let _kept = Kept(kernel());
    let lab = Lab::new();
    let disk = Disk::attach(&lab);
    if lacks_schedulers(&disk.path) {
        return;
    }
    let before = (queue(&disk.path), kernel());
    let volume = format!("kind = \"block\", devices = [\"{}\"]", disk.path);
    let stack = "queue = { scheduler = \"mq-deadline\", nr_requests = 33, read_ahead_kb = 64 }\n\
                 sysctl = { vm.dirty_bytes = \"96MiB\", vm.swappiness = 19 }";
    let factor = "path = \"sysctl.vm.dirty_expire_centisecs\"\nvalues = [1000, 2000]";
    let file = lab.write("experiment.toml", &experiment(&volume, stack, factor, "60s"));
    let mut child = lab.iostone(&["run", &file]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let in_force = |settings: &[(&str, String)], name: &str, value: &str| {
        settings.iter().any(|(one, now)| *one == name && now.contains(value))
    };
    wait_until(&mut child, || in_force(&kernel(), "swappiness", "19"));
    // Meanwhile nobody else may have the machine's settings.
    let other = experiment("kind = \"directory\"", "sysctl = { vm.swappiness = 21 }", factor, "50ms");
    let other = lab.write("other.toml", &other.replace("filesystem = { kind = \"ext4\" }\n", ""));
    let output = lab.iostone(&["run", &other]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
    assert!(words(&output).contains("another run has changed the kernel's settings"), "{}", words(&output));
    child.kill().unwrap();
    child.wait().unwrap();
    let left = (queue(&disk.path), kernel());
    assert!(in_force(&left.0, "scheduler", "[mq-deadline]") && in_force(&left.0, "nr_requests", "33"));
    assert!(in_force(&left.1, "dirty_bytes", "100663296") && in_force(&left.1, "dirty_ratio", "0"));
    let output = lab.iostone(&["cleanup"]).output().unwrap();
    assert!(output.status.success() && words(&output).contains("vm.dirty_ratio"), "{}", words(&output));
    assert_eq!((queue(&disk.path), kernel()), before);
    let again = lab.iostone(&["cleanup"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&again.stdout), "nothing to undo\n");

    // A directory has no queue, but the kernel's settings.
    let output = lab.iostone(&["run", &other]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    assert_eq!(kernel(), before.1);
    drop(disk);
    lab.assert_nothing_left();
}

#[test]
fn a_scheduler_that_the_kernel_lacks_is_refused_before_the_first_block() {
    needs_root!();
    let lab = Lab::new();
    let disk = Disk::attach(&lab);
    let own = format!("kind = \"block\", devices = [\"{}\"]", disk.path);
    for volume in [own.as_str(), "kind = \"loop\", size = \"16MiB\"", "kind = \"emulated\", size = \"16MiB\""]
    {
        let factor = "path = \"queue.scheduler\"\nvalues = [\"none\", \"cfq\"]";
        let file = lab.write("experiment.toml", &experiment(volume, "", factor, "50ms"));
        let output = lab.iostone(&["run", &file]).output().unwrap();
        let said = words(&output);
        assert_eq!(output.status.code(), Some(2), "{volume}: {said}");
        assert!(
            said.contains("`stack.queue.scheduler`: the kernel offers ")
                && said.contains("not `cfq`; choose one of these, or load its module: `modprobe cfq`"),
            "{volume}: {said}"
        );
    }
    let file = experiment(&own, "", "path = \"queue.max_sectors_kb\"\nvalues = [1000, 4294967295]", "50ms");
    let output = lab.iostone(&["run", &lab.write("experiment.toml", &file)]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
    assert!(words(&output).contains("`max_sectors_kb` of 4294967295 is more than"), "{}", words(&output));
    assert!(!lab.runs().exists() || fs::read_dir(lab.runs()).unwrap().next().is_none(), "a run was begun");
    drop(disk);
    lab.assert_nothing_left();
}
