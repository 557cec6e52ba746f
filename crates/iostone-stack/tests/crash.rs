//! A session killed at any moment leaves nothing that cleanup does not find and take away.

use crate::common::machine;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::machine::{MIB, Machine, loop_stack, loops_under, mounts_under, needs_root, wait_for};
use iostone_model::experiment::WriteCache;
use iostone_stack::{JournalOutcome, Registry, Session, SessionOptions};

/// Tells the child, which is this very program, where to work.
const CHILD_VARIABLE: &str = "IOSTONE_STACK_TEST_CHILD";

/// Not a test of its own: the session that the others kill. Builds and undoes stacks for ever.
#[test]
#[ignore = "run by the tests that kill it"]
fn child_session() {
    let Some(place) = std::env::var_os(CHILD_VARIABLE).map(PathBuf::from) else { return };
    let registry = Registry::at(&place.join("state")).unwrap();
    let options = SessionOptions {
        run_token: "child".to_owned(),
        run_directory: place.join("run"),
        work_directory: place.join("run/area"),
        ..SessionOptions::default()
    };
    let mut stack = loop_stack(16 * MIB, &["noatime"]);
    stack.queue.write_cache = Some(WriteCache::WriteThrough);
    loop {
        let mut session = Session::begin(&registry, options.clone()).unwrap();
        for trial in 1..4 {
            let applied = session.apply(&stack, trial, u64::from(trial)).unwrap();
            let (name, value) = session.processes_marker();
            let mount = applied.target.mount.unwrap();
            let mut worker =
                Command::new("sleep").arg("1000").env(name, value).current_dir(mount).spawn().unwrap();
            session.undo().unwrap();
            worker.wait().unwrap();
        }
        session.finish().unwrap();
    }
}

struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start_child(machine: &Machine) -> KilledOnDrop {
    let child = Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["--exact", "crash::child_session", "--ignored"])
        .env(CHILD_VARIABLE, machine.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("this program can be started");
    KilledOnDrop(child)
}

#[test]
fn kill_at_any_moment_leaves_nothing_after_cleanup() {
    if needs_root("kill_at_any_moment_leaves_nothing_after_cleanup") {
        return;
    }
    // Spread over more than one round of the child, by steps that are no divisor of it.
    let mut undone_at_all = Vec::new();
    for round in 0..16u64 {
        let machine = Machine::new();
        let mut child = start_child(&machine);
        wait_for("a journal", Some(&mut child.0), || machine.journals() > 0);
        std::thread::sleep(Duration::from_millis(round * 37 % 400));
        child.0.kill().unwrap();
        child.0.wait().unwrap();
        let report = machine.registry.cleanup().unwrap();
        assert!(report.is_clean(), "round {round}: {report:?}");
        for (_, outcome) in &report.journals {
            if let JournalOutcome::Undone { undone, .. } = outcome {
                undone_at_all.extend(undone.clone());
            }
        }
        machine.assert_clean();
        assert!(machine.registry.cleanup().unwrap().journals.is_empty());
    }
    for kind in ["directory", "image"] {
        assert!(undone_at_all.iter().any(|word| word.starts_with(kind)), "{undone_at_all:?}");
    }
}

#[test]
fn cleanup_is_itself_killed_and_repeated() {
    if needs_root("cleanup_is_itself_killed_and_repeated") {
        return;
    }
    let machine = Machine::new();
    let mut child = start_child(&machine);
    wait_for("a mount", Some(&mut child.0), || mounts_under(machine.path()) > 0);
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    // What a cleanup that died halfway leaves: the mount is gone, but nothing in the journal says so.
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let target = mounts
        .lines()
        .filter_map(|line| line.split(' ').nth(1))
        .find(|target| target.starts_with(machine.path().to_str().unwrap()));
    if let Some(target) = target {
        let _ = Command::new("umount").arg("--lazy").arg(target).status();
    }
    assert!(machine.registry.cleanup().unwrap().is_clean());
    machine.assert_clean();
}

#[test]
fn cleanup_works_when_the_run_directory_is_gone() {
    if needs_root("cleanup_works_when_the_run_directory_is_gone") {
        return;
    }
    let machine = Machine::new();
    let mut child = start_child(&machine);
    wait_for("a loop device", Some(&mut child.0), || loops_under(machine.path()) > 0);
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    // What is mounted has to go first, or the directory could not be removed.
    let end = Command::new("sh")
        .arg("-c")
        .arg("for pid in $(grep -lsz \"^IOSTONE_RUN=child-\" /proc/[0-9]*/environ | cut -d/ -f3); do \
              case $(readlink /proc/$pid/cwd) in \"$0\"*) kill -9 $pid;; esac; done; umount \"$0\"/run/area/*/mount || true")
        .arg(machine.path())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(end.success());
    wait_for("the end of the run directory", None, || {
        fs::remove_dir_all(machine.path().join("run")).is_ok() || !machine.path().join("run").exists()
    });
    let left = loops_under(machine.path());
    let report = machine.registry.cleanup().unwrap();
    assert!(report.is_clean(), "{report:?}");
    let JournalOutcome::Undone { undone, .. } = &report.journals[0].1 else { panic!("{report:?}") };
    assert_eq!(undone.iter().filter(|word| word.starts_with("loop device")).count(), left);
    machine.assert_clean();
}

#[test]
fn cleanup_leaves_a_live_owners_things_alone() {
    if needs_root("cleanup_leaves_a_live_owners_things_alone") {
        return;
    }
    let machine = Machine::new();
    let mut session = machine.session();
    let checks = session.apply(&loop_stack(16 * MIB, &[]), 1, 7).unwrap().checks;
    let report = machine.registry.cleanup().unwrap();
    assert!(matches!(&report.journals[..], [(_, JournalOutcome::Alive { owner: Some(_) })]), "{report:?}");
    assert_eq!(session.verify().unwrap(), checks);
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn two_cleanups_at_once_do_not_disturb_each_other() {
    if needs_root("two_cleanups_at_once_do_not_disturb_each_other") {
        return;
    }
    let machine = Machine::new();
    let mut children: Vec<_> = (0..2).map(|_| start_child(&machine)).collect();
    for child in &mut children {
        wait_for("a mount and two journals", Some(&mut child.0), || {
            mounts_under(machine.path()) > 0 && machine.journals() >= 2
        });
    }
    for child in &mut children {
        child.0.kill().unwrap();
        child.0.wait().unwrap();
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| machine.registry.cleanup().unwrap())).collect();
        for thread in threads {
            assert!(thread.join().unwrap().is_clean());
        }
    });
    assert!(machine.registry.cleanup().unwrap().journals.is_empty());
    assert_eq!((loops_under(machine.path()), mounts_under(machine.path()), machine.journals()), (0, 0, 0));
    // The two shared the work directory: whoever made it may have found the other's things in it.
    let left = walk(&machine.path().join("run"));
    assert!(left.iter().all(|path| path.is_dir()), "{left:?}");
}

fn walk(path: &std::path::Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        found.push(entry.path());
        if entry.path().is_dir() {
            found.extend(walk(&entry.path()));
        }
    }
    found
}

#[test]
fn a_foreign_mount_in_our_place_is_not_unmounted() {
    if needs_root("a_foreign_mount_in_our_place_is_not_unmounted") {
        return;
    }
    let machine = Machine::new();
    let mut session = machine.session();
    let mount = session.apply(&loop_stack(16 * MIB, &[]), 1, 7).unwrap().target.mount.unwrap();
    machine::run("mount", &["-t", "tmpfs", "tmpfs", mount.to_str().unwrap()]);
    let error = session.undo().unwrap_err().to_string();
    assert!(error.contains("but not by iostone") && error.contains("`umount "), "{error}");
    machine::run("umount", &[mount.to_str().unwrap()]);
    session.finish().unwrap();
    machine.assert_clean();
}
