//! Limits on programs, for real: they hold, they are read back, and nothing of them is left.

#![expect(clippy::unwrap_used, reason = "this is test code")]

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::groups::{Program, TestGroup, groups_named, needs_limit_controllers, stat};
use crate::common::limits::take_turns;
use crate::common::machine::{MIB, Machine, wait_for};
use iostone_model::experiment::{
    Allowance, AllowanceStart, Basis, Governor, Law, Limit, Limits, LoopVolume, Stack, Volume,
};
use iostone_model::units::{ByteRate, Bytes, Fraction};
use iostone_stack::{
    AppliedLimits, CgroupVersion, JournalOutcome, LimitControllers, Registry, Session, SessionOptions,
    StackError,
};

fn limit(json: &str) -> Limit {
    serde_json::from_str(json).unwrap()
}

fn ours() -> Vec<PathBuf> {
    groups_named("iostone-test-")
}

fn apply(session: &mut Session, json: &str) -> AppliedLimits {
    session.apply_limits(&limit(json), None).unwrap()
}

/// Anything that gives a governor's group; the law is not at work here.
fn governor() -> Governor {
    Governor {
        allowance: Allowance {
            instance: "m1.small".to_owned(),
            name: "share".to_owned(),
            vcpus: 1,
            law: Law::Share { share: Fraction(0.3) },
            basis: Basis::Assumed,
            source: "a test".to_owned(),
        },
        speed: 1.0,
        start: AllowanceStart::Launch,
    }
}

#[test]
fn a_busy_program_is_held_to_its_quota_which_reads_back() {
    if needs_limit_controllers("a_busy_program_is_held_to_its_quota_which_reads_back") {
        return;
    }
    let _turn = take_turns();
    let machine = Machine::new();
    let mut session = machine.session();
    let applied = apply(&mut session, r#"{"cpu":{"quota":"6ms","period":"20ms","burst":"2ms"}}"#);
    let read_back: Vec<&str> = applied.checks.iter().map(|check| check.read_back.as_str()).collect();
    assert_eq!(read_back[0], "CPU time 30% (6ms in 20ms), burst 2ms");
    assert!(applied.notes.iter().any(|note| note.starts_with("CPU time to 30%")), "{:?}", applied.notes);
    let groups = applied.groups.unwrap();
    let quota = groups.quota.clone().unwrap();
    let busy = [Program::busy(&groups), Program::busy(&groups)];
    // Both together: the quota is the group's. How much it leaves them is measured through the binary.
    wait_for("the quota stops somebody", None, || stat(&quota, "nr_throttled") > 0.0);
    wait_for("both are in it", None, || busy.iter().all(|one| one.cgroups().contains("/iostone-test-")));
    session.verify().unwrap();
    session.undo().unwrap();
    assert!(ours().is_empty(), "{:?}", ours());
    assert!(busy.iter().all(|program| !program.cgroups().contains("iostone")), "they went home");
    drop(busy);
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn a_quota_that_somebody_changes_is_noticed() {
    if needs_limit_controllers("a_quota_that_somebody_changes_is_noticed") {
        return;
    }
    let _turn = take_turns();
    let machine = Machine::new();
    let mut session = machine.session();
    let groups = apply(&mut session, r#"{"cpu":"30%"}"#).groups.unwrap();
    let file = match groups.version {
        CgroupVersion::One => "cpu.cfs_quota_us",
        CgroupVersion::Two => "cpu.max",
    };
    std::fs::write(groups.quota.unwrap().join(file), "40000").unwrap();
    let error = session.verify().unwrap_err().to_string();
    assert!(error.contains("asked for `CPU time 30%`") && error.contains("CPU time 40%"), "{error}");
    session.finish().unwrap();
    assert!(ours().is_empty());
    machine.assert_clean();
}

#[test]
fn a_program_with_too_much_memory_is_killed_and_processors_are_kept_from_it() {
    if needs_limit_controllers("a_program_with_too_much_memory_is_killed_and_processors_are_kept_from_it") {
        return;
    }
    let _turn = take_turns();
    let machine = Machine::new();
    let mut session = machine.session();
    let applied = apply(&mut session, r#"{"memory":"16000001B","cpuset":"0"}"#);
    let read_back: Vec<&str> = applied.checks.iter().map(|check| check.read_back.as_str()).collect();
    assert!(read_back.iter().any(|text| text.ends_with(": whole pages")), "{read_back:?}");
    assert!(read_back.contains(&"processors 0"), "{read_back:?}");
    let groups = applied.groups.unwrap();
    assert_eq!((&groups.quota, &groups.governed), (&None, &None));
    let mut greedy = Program::within(&groups, &["tail", "/dev/zero"]);
    assert_eq!(greedy.0.wait().unwrap().signal(), Some(9));
    let mut child = Program::within(&groups, &["grep", "Cpus_allowed_list", "/proc/self/status"]);
    let mut text = String::new();
    std::io::Read::read_to_string(child.0.stdout.as_mut().unwrap(), &mut text).unwrap();
    assert_eq!(text.trim(), "Cpus_allowed_list:\t0");
    session.finish().unwrap();
    assert!(ours().is_empty());
    machine.assert_clean();
}

#[test]
fn what_the_machine_does_not_have_is_refused_before_anything_is_made() {
    if needs_limit_controllers("what_the_machine_does_not_have_is_refused_before_anything_is_made") {
        return;
    }
    let _turn = take_turns();
    let machine = Machine::new();
    let mut session = machine.session();
    for (json, words) in [
        (r#"{"cpuset":"4000"}"#, "processor 4000 is not among"),
        (r#"{"cpu":"0.5%"}"#, "below the kernel's minimum"),
        (r#"{"cpu":{"quota":"5ms","burst":"6ms"}}"#, "the burst is above the quota"),
        (r#"{"cpu":{"quota":"5ms","period":"2s"}}"#, "does not accept a period of 2s"),
        (r#"{"memory":"1MiB"}"#, "at least 4MiB"),
        (r#"{"io":{"iops":5}}"#, "no volume"),
    ] {
        for error in [
            session.apply_limits(&limit(json), None).unwrap_err(),
            Session::preflight_limits(&limit(json), None).unwrap_err(),
        ] {
            assert!(matches!(&error, StackError::Usage { .. }), "{error:?}");
            assert!(error.to_string().contains(words), "{error}");
        }
        assert!(ours().is_empty());
    }
    assert_eq!(session.apply_limits(&Limit::default(), None).unwrap().groups, None);
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn the_governors_group_is_within_the_limit_and_goes_with_it() {
    if needs_limit_controllers("the_governors_group_is_within_the_limit_and_goes_with_it") {
        return;
    }
    let _turn = take_turns();
    let machine = Machine::new();
    let options = SessionOptions { server_program: Some(stand_in(machine.path())), ..machine.options() };
    let mut session = Session::begin(&machine.registry, options).unwrap();
    let foreign = TestGroup::new(LimitControllers::find().unwrap().cpu.join("foreign-iostone-test"));
    let free = session.apply_limits(&Limit::default(), Some(&governor())).unwrap().groups.unwrap();
    assert!(free.governed.is_some() && free.usage.is_some(), "{free:?}");
    assert_eq!(free.quota, None, "the governor alone has one");
    let groups = session.apply_limits(&limit(r#"{"cpu":"40%"}"#), Some(&governor())).unwrap().groups.unwrap();
    let (quota, governed) = (groups.quota.clone().unwrap(), groups.governed.clone().unwrap());
    assert_eq!(governed.parent(), Some(quota.as_path()));
    let file = match groups.version {
        CgroupVersion::One => "cpu.cfs_quota_us",
        CgroupVersion::Two => "cpu.max",
    };
    // As the governor does it, and tighter than what is above.
    std::fs::write(governed.join(file), "3000").unwrap();
    let busy = Program::busy(&groups);
    wait_for("the governor's quota stops it", None, || stat(&governed, "nr_throttled") > 0.0);
    session.undo().unwrap();
    assert!(ours().is_empty(), "{:?}", ours());
    assert!(foreign.0.exists(), "the groups of others stay");
    drop(busy);
    session.finish().unwrap();
    machine.assert_clean();
}

/// What stands in for the governor, which no program of these tests is: it sets the one quota of a constant share.
const STAND_IN: &str = r#"#!/bin/sh
read -r plan
group=$(printf '%s' "$plan" | sed 's/.*"governed":"\([^"]*\)".*/\1/')
if [ -e "$group/cpu.cfs_quota_us" ]; then
    echo 30000 > "$group/cpu.cfs_quota_us"
else
    echo "30000 100000" > "$group/cpu.max"
fi
echo '"ready"'
while read -r command; do :; done
"#;

fn stand_in(place: &Path) -> PathBuf {
    let program = place.join("governor");
    if !program.exists() {
        std::fs::write(&program, STAND_IN).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    program
}

/// Tells the child, which is this very program, where to work.
const CHILD_VARIABLE: &str = "IOSTONE_STACK_LIMITS_CHILD";

fn child(machine: &Machine, test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]).env(CHILD_VARIABLE, machine.path());
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command
}

fn session_of_child() -> Option<Session> {
    let place = PathBuf::from(std::env::var_os(CHILD_VARIABLE)?);
    let registry = Registry::at(&place.join("state")).unwrap();
    let options = SessionOptions {
        run_token: "test-killed".to_owned(),
        run_directory: place.join("run"),
        work_directory: place.join("run/work"),
        server_program: Some(stand_in(&place)),
        ..SessionOptions::default()
    };
    Some(Session::begin(&registry, options).unwrap())
}

/// Not a test of its own: the session that the next one kills while programs of its are limited.
#[test]
#[ignore = "run by the test that kills it"]
fn child_session() {
    let Some(mut session) = session_of_child() else { return };
    let limits = limit(r#"{"cpu":"1%","memory":"64MiB"}"#);
    let groups = session.apply_limits(&limits, Some(&governor())).unwrap().groups.unwrap();
    let (variable, value) = session.processes_marker();
    let files: Vec<&str> = groups.enter.iter().map(|path| path.to_str().unwrap()).collect();
    let busy = "for group in \"$@\"; do echo 0 > \"$group\"; done; while :; do :; done";
    let mut child =
        Command::new("/bin/sh").args(["-c", busy, "sh"]).args(files).env(variable, value).spawn().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_kill_leaves_nobody_limited_after_cleanup() {
    if needs_limit_controllers("a_kill_leaves_nobody_limited_after_cleanup") {
        return;
    }
    let _turn = take_turns();
    let machine = Machine::new();
    let mut child = Program(child(&machine, "limits::child_session").stdout(Stdio::null()).spawn().unwrap());
    let members = |group: &Path| {
        std::fs::read_to_string(group.join("cgroup.procs"))
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let inside = || groups_named("governed").iter().flat_map(|group| members(group)).next();
    let busy = loop {
        if let Some(found) = inside() {
            break found;
        }
        assert!(child.0.try_wait().unwrap().is_none(), "the child ended by itself");
        std::thread::sleep(Duration::from_millis(5));
    };
    drop(child);
    assert!(Path::new("/proc").join(&busy).exists(), "it goes on under its limit");
    let report = machine.registry.cleanup().unwrap();
    assert!(report.is_clean(), "{report:?}");
    let JournalOutcome::Undone { undone, .. } = &report.journals[0].1 else { panic!("{report:?}") };
    assert!(undone.iter().any(|undone| undone.starts_with("control group")), "{undone:?}");
    assert!(ours().is_empty(), "{:?}", ours());
    // What nobody waited for yet has no command line any more.
    let ended = std::fs::read(Path::new("/proc").join(&busy).join("cmdline")).unwrap_or_default().is_empty();
    assert!(ended, "the program was ended");
    machine.assert_clean();
}

/// Not a test of its own: what a process in a group with a quota finds.
#[test]
#[ignore = "run by the test that makes the group"]
fn child_in_a_group() {
    let Some(mut session) = session_of_child() else { return };
    let refused = session.apply_limits(&limit(r#"{"cpu":"50%"}"#), None).unwrap_err().to_string();
    let smaller = apply(&mut session, r#"{"cpu":"20%"}"#);
    println!("\nrefused {refused}");
    println!("smaller {}", smaller.groups.unwrap().quota.unwrap().display());
    println!("notes {}", smaller.notes.join("; "));
    session.finish().unwrap();
}

#[test]
fn a_quota_above_that_of_the_group_this_process_is_in_is_refused_by_name() {
    if needs_limit_controllers("a_quota_above_that_of_the_group_this_process_is_in_is_refused_by_name") {
        return;
    }
    let _turn = take_turns();
    let machine = Machine::new();
    let controllers = LimitControllers::find().unwrap();
    let outer = TestGroup::new(controllers.cpu.join(format!("outer-{}", std::process::id())));
    // With version 2 a group without processes of its own, so that it can hand the controller down.
    let (home, quota) = match controllers.version {
        CgroupVersion::One => (outer.0.clone(), ("cpu.cfs_quota_us", "30000")),
        CgroupVersion::Two => (outer.0.join("leaf"), ("cpu.max", "30000 100000")),
    };
    std::fs::write(outer.0.join(quota.0), quota.1).unwrap();
    let leaf = (home != outer.0).then(|| TestGroup::new(home.clone()));
    let enter = "echo 0 > \"$0\" && exec \"$@\"";
    let asked = child(&machine, "limits::child_in_a_group");
    let output = Command::new("/bin/sh")
        .args(["-c", enter])
        .arg(home.join("cgroup.procs"))
        .arg(asked.get_program())
        .args(asked.get_args())
        .env(CHILD_VARIABLE, machine.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = |word: &str| text.lines().find_map(|line| line.strip_prefix(word)).unwrap_or_default().trim();
    let named = outer.0.display().to_string();
    assert!(line("refused").contains("50% is more than the 30%"), "{text}");
    assert!(line("refused").contains(&named), "{text}");
    assert!(line("smaller").starts_with(&format!("{named}/iostone-test-killed-")), "{text}");
    assert!(line("notes").contains("within 30% of a processor"), "{text}");
    assert!(ours().is_empty());
    drop(leaf);
    if controllers.version == CgroupVersion::Two {
        let handed_down = std::fs::read_to_string(outer.0.join("cgroup.subtree_control")).unwrap();
        assert_eq!(handed_down.trim(), "", "what it was told to hand down is taken back");
    }
    machine.assert_clean();
}

#[test]
fn the_devices_limit_is_the_tighter_of_the_volumes_own_and_the_workloads() {
    if needs_limit_controllers("the_devices_limit_is_the_tighter_of_the_volumes_own_and_the_workloads") {
        return;
    }
    let _turn = take_turns();
    let machine = Machine::new();
    let mut session = machine.session();
    let io = Limits { iops: Some(300), throughput: Some(ByteRate(16_000_000)), ..Limits::default() };
    let plain = LoopVolume { fill: false, ..LoopVolume::new(Bytes(64 * MIB)) };
    let throttled = LoopVolume { read_iops: Some(100), ..plain.clone() };
    for (volume, expected) in [
        (plain, ["reads 16MB/s", "writes 16MB/s", "reads 300 IOPS", "writes 300 IOPS"]),
        (throttled, ["reads 16MB/s", "writes 16MB/s", "reads 100 IOPS", "writes 300 IOPS"]),
    ] {
        let mut stack = Stack::of(Volume::Loop(volume));
        stack.limit = Limit { io: Some(io), ..limit(r#"{"cpu":"50%"}"#) };
        let preflight = Session::preflight(&stack, false, &machine.work()).unwrap();
        assert!(
            preflight.notes.iter().any(|note| note.starts_with("the stack's device to")),
            "{preflight:?}"
        );
        let applied = session.apply(&stack, 1, 7).unwrap();
        let name = &applied.devices[0].name;
        let of_device: Vec<&str> = applied
            .checks
            .iter()
            .filter_map(|check| check.read_back.strip_prefix(name.as_str())?.strip_prefix(' '))
            .filter(|text| text.ends_with("B/s") || text.ends_with("IOPS"))
            .collect();
        assert_eq!(of_device, expected);
        let groups = applied.groups.unwrap();
        let program = Program::within(&groups, &["sleep", "60"]);
        assert_eq!(session.verify().unwrap(), applied.checks);
        drop(program);
        session.undo().unwrap();
        assert!(ours().is_empty(), "{:?}", ours());
    }
    session.finish().unwrap();
    machine.assert_clean();
}
