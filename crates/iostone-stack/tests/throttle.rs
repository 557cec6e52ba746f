//! Limits on a real volume: they hold, they are read back, and nothing of them is left. Caps are asserted, raw speed
//! never is.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::limits::{bare, groups_of_tests, mixed, needs_limits, take_turns};
use crate::common::load::{self, Load};
use crate::common::machine::{MIB, Machine, needs_root};
use iostone_model::experiment::{Limits, LoopVolume};
use iostone_model::units::Bytes;
use iostone_stack::{JournalOutcome, Registry, Session, SessionOptions, StackError};

/// A process that ends with the test.
struct Sleeper(Child);

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_limit_that_somebody_changes_during_the_trial_is_noticed() {
    if needs_limits("a_limit_that_somebody_changes_during_the_trial_is_noticed") {
        return;
    }
    let _turn = take_turns();
    let machine = Machine::new();
    let mut session = machine.session();
    let applied = session.apply(&bare(mixed()), 1, 7).unwrap();
    let (major, minor) = applied.devices[0].number;
    let check = applied.checks.iter().find(|check| check.layer == "throttle").unwrap();
    let group = Path::new(&check.from).parent().unwrap();
    let (file, line) = if group.join("io.max").exists() {
        ("io.max", format!("{major}:{minor} rbps=1000"))
    } else {
        ("blkio.throttle.read_bps_device", format!("{major}:{minor} 1000"))
    };
    std::fs::write(group.join(file), line).unwrap();
    let error = session.verify().unwrap_err();
    assert!(
        matches!(&error, StackError::NotApplied { layer: "throttle", read_back, .. } if read_back.ends_with("reads 1kB/s")),
        "{error}"
    );
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn a_process_left_in_the_group_goes_home_and_a_group_within_it_goes_too() {
    if needs_limits("a_process_left_in_the_group_goes_home_and_a_group_within_it_goes_too") {
        return;
    }
    let _turn = take_turns();
    let machine = Machine::new();
    let mut session = machine.session();
    session.apply(&bare(mixed()), 1, 7).unwrap();
    let group = groups_of_tests().remove(0);
    let confinement = session.confine().unwrap().unwrap();
    let child = Sleeper(Command::new("sleep").arg("60").stdout(Stdio::null()).spawn().unwrap());
    let groups = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    assert!(groups(child.0.id()).contains("iostone-test-"));
    std::fs::create_dir(group.join("inner")).unwrap();
    // Neither the child nor this process leaves before the stack is undone.
    session.undo().unwrap();
    assert!(!groups(child.0.id()).contains("iostone-test-"));
    assert!(!groups(std::process::id()).contains("iostone-test-"));
    confinement.leave().unwrap();
    drop(child);
    session.finish().unwrap();
    assert!(groups_of_tests().is_empty());
    machine.assert_clean();
}

/// Tells the child, which is this very program, where to work.
const CHILD_VARIABLE: &str = "IOSTONE_STACK_THROTTLE_CHILD";

/// Not a test of its own: the session that the next one kills while it is held to limits.
#[test]
#[ignore = "run by the test that kills it"]
fn child_session() {
    let Some(place) = std::env::var_os(CHILD_VARIABLE).map(PathBuf::from) else { return };
    let registry = Registry::at(&place.join("state")).unwrap();
    let options = SessionOptions {
        run_token: "test-killed".to_owned(),
        run_directory: place.join("run"),
        work_directory: place.join("run/work"),
        ..SessionOptions::default()
    };
    let mut session = Session::begin(&registry, options).unwrap();
    let instance = Some(Limits { iops: Some(50), ..Limits::default() });
    let stack = bare(LoopVolume { instance, ..mixed() });
    let path = session.apply(&stack, 1, 7).unwrap().target.device.unwrap();
    let _confinement = session.confine().unwrap().unwrap();
    let load = Load { path, writes: true, block_bytes: 4 << 10, threads: 8, span_bytes: 64 * MIB };
    load::run(&[load], Duration::ZERO, Duration::from_mins(10));
}

#[test]
fn a_kill_under_limits_leaves_nothing_after_cleanup() {
    if needs_limits("a_kill_under_limits_leaves_nothing_after_cleanup") {
        return;
    }
    let _turn = take_turns();
    let machine = Machine::new();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "throttle::child_session", "--ignored"])
        .env(CHILD_VARIABLE, machine.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut child = Sleeper(child);
    let inside = || {
        let groups = groups_of_tests();
        groups.iter().any(|group| {
            std::fs::read_to_string(group.join("cgroup.procs")).is_ok_and(|text| !text.trim().is_empty())
        })
    };
    while !inside() {
        assert!(child.0.try_wait().unwrap().is_none(), "the child ended by itself");
        std::thread::sleep(Duration::from_millis(5));
    }
    // With requests queued behind the limits of both devices.
    std::thread::sleep(Duration::from_millis(300));
    drop(child);
    let report = machine.registry.cleanup().unwrap();
    assert!(report.is_clean(), "{report:?}");
    let JournalOutcome::Undone { undone, .. } = &report.journals[0].1 else { panic!("{report:?}") };
    let count = |word: &str| undone.iter().filter(|undone| undone.starts_with(word)).count();
    assert_eq!((count("control group"), count("loop device")), (1, 2), "{undone:?}");
    assert!(groups_of_tests().is_empty());
    machine.assert_clean();
}

#[test]
fn a_stack_without_limits_confines_nobody() {
    if needs_root("a_stack_without_limits_confines_nobody") {
        return;
    }
    let machine = Machine::new();
    let mut session = machine.session();
    session.apply(&bare(LoopVolume::new(Bytes(16 * MIB))), 1, 7).unwrap();
    assert!(session.confine().unwrap().is_none());
    session.finish().unwrap();
    machine.assert_clean();
}
