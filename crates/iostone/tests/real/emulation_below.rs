//! What goes wrong below an emulation: a link that lets a mkfs wait, a server that was killed, a disk that is full.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::lab::{Lab, needs_root, needs_tool, words};

/// An emulation that is waited for at the end, whatever becomes of the test.
struct Emulation(Child);

impl Emulation {
    fn start(lab: &Lab, options: &[&str], script: &str) -> Self {
        let place = lab.path().display().to_string();
        let mut arguments =
            vec!["emulate", "c4.large", "--date", "2017-07", "--no-cpu", "--directory", &place];
        arguments.extend(["--volume", "gp2:100GiB", "--speed", "1000"]);
        arguments.extend(options);
        arguments.extend(["--", "sh", "-c", script]);
        let mut command = lab.iostone(&arguments);
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// Its status; none if it does not end.
    fn end(&mut self) -> Option<i32> {
        let deadline = Instant::now() + Duration::from_secs(60);
        while Instant::now() < deadline {
            if let Some(status) = self.0.try_wait().unwrap() {
                return Some(status.code().unwrap_or(-1));
            }
            sleep(Duration::from_millis(20));
        }
        None
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_for(path: &Path, emulation: &mut Emulation) {
    while !path.exists() {
        assert!(emulation.0.try_wait().unwrap().is_none(), "it ended before its command had begun");
        sleep(Duration::from_millis(10));
    }
}

/// Starts an emulation whose command only waits, and kills it: its loop device has a file then that nobody shows.
fn kill_an_emulation(lab: &Lab) {
    let ready = lab.path().join("ready");
    let mut emulation = Emulation::start(lab, &[], &format!("touch {}; sleep 1000", ready.display()));
    wait_for(&ready, &mut emulation);
    emulation.signal(Signal::KILL);
    emulation.0.wait().unwrap();
}

#[test]
fn a_signal_ends_a_mkfs_that_waits_for_the_link() {
    needs_root!();
    needs_tool!("nbdfuse");
    let lab = Lab::new();
    let mut emulation = Emulation::start(&lab, &["--link", "1kB/s"], "true");
    let deadline = Instant::now() + Duration::from_secs(60);
    while lab.attached_loops().is_empty() && Instant::now() < deadline {
        sleep(Duration::from_millis(10));
    }
    assert!(!lab.attached_loops().is_empty());
    // Long enough for the mkfs to wait in the kernel, where no signal reaches it.
    sleep(Duration::from_secs(2));
    emulation.signal(Signal::TERM);
    assert_eq!(emulation.end(), Some(130));
    lab.assert_nothing_left();
}

#[test]
fn cleanup_detaches_what_a_kill_left_and_other_emulations_end_beside_it() {
    needs_root!();
    needs_tool!("nbdfuse");
    let (killed, other) = (Lab::new(), Lab::new());
    kill_an_emulation(&killed);
    assert!(!killed.attached_loops().is_empty());
    let mut beside = Emulation::start(&other, &[], "true");
    assert_eq!(beside.end(), Some(0));
    other.assert_nothing_left();
    let cleaned = killed.iostone(&["cleanup"]).output().unwrap();
    assert!(cleaned.status.success(), "{}", words(&cleaned));
    killed.assert_nothing_left();
}

/// A filesystem in memory, unmounted again.
struct Small(PathBuf);

impl Small {
    fn mount(place: PathBuf, size: &str) -> Self {
        std::fs::create_dir(&place).unwrap();
        let size = format!("size={size}");
        let done = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&place).status();
        assert!(done.unwrap().success());
        Self(place)
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_below_is_an_io_error_that_is_told() {
    needs_root!();
    needs_tool!("nbdfuse");
    let lab = Lab::new();
    let small = Small::mount(lab.path().join("small"), "120m");
    let place = small.0.display().to_string();
    let script = format!(
        "head -c 200M /dev/zero > {place}/others 2> {place}/../why; dd if=/dev/urandom of=file bs=1M count=40 oflag=direct"
    );
    let arguments = [
        "emulate",
        "c4.large",
        "--date",
        "2017-07",
        "--no-cpu",
        "--directory",
        &place,
        "--volume",
        "gp2:100GiB",
        "--speed",
        "1000",
        "--",
        "sh",
        "-c",
        &script,
    ];
    let output = lab.iostone(&arguments).output().unwrap();
    let said = words(&output);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("the storage below `v0` failed"), "{said}");
    assert!(said.contains("Input/output error") && said.contains("\"No space left on device"), "{said}");
    drop(small);
    lab.assert_nothing_left();
}
