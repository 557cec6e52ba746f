//! A plain overlay and the places beside it, on real filesystems: built, proven, killed and cleaned up.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "this is test code, and skipped tests say so")]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::machine::{MIB, Machine, has, loop_stack, mounts_under, needs_root, run, wait_for};
use iostone_model::experiment::{
    Btrfs, Contained, Container, ContainerPlace, Filesystem, LoopVolume, LowerFiles, Stack, Volume, Xfs,
};
use iostone_model::units::Bytes;
use iostone_stack::{
    Applied, InsideView, Provision, Registry, Session, SessionOptions, StackError, plan_steps,
};

const LOWER: LowerFiles = LowerFiles { large: Bytes(4 << 20), small_count: 5, small: Bytes(4096) };
const CHILD_VARIABLE: &str = "IOSTONE_CONTAINERS_TEST_CHILD";
const PLACES: [ContainerPlace; 4] =
    [ContainerPlace::Layer, ContainerPlace::Host, ContainerPlace::Bind, ContainerPlace::Tmpfs];

/// True, with a word about it, where the test cannot run.
fn lacks(test: &str, filesystems: &[&str]) -> bool {
    if needs_root(test) {
        return true;
    }
    let listed = fs::read_to_string("/proc/filesystems").unwrap();
    let missing = filesystems.iter().find(|name| {
        let known = listed.lines().any(|line| line.split_whitespace().last() == Some(**name));
        !known || (**name != "overlay" && !has(&format!("mkfs.{name}")))
    });
    if let Some(missing) = missing {
        eprintln!("{test} skipped: needs {missing} in the kernel, and its mkfs");
    }
    missing.is_some()
}

fn at(place: ContainerPlace, volatile: bool, stack: Stack) -> Stack {
    Stack { container: Container::Overlay(Contained { place, volatile, driver: None }), ..stack }
}

fn ext4() -> Stack {
    loop_stack(32 * MIB, &[])
}

fn provided(machine: &Machine) -> Session {
    let mut session = machine.session();
    session.provision(Provision { lower: Some(LOWER), ..Provision::default() }).unwrap();
    session
}

fn checks_of(applied: &Applied) -> Vec<String> {
    let mine = applied.checks.iter().filter(|check| check.layer == "container");
    mine.map(|check| format!("{} | {}", check.asked, check.read_back)).collect()
}

#[test]
fn a_layer_has_the_lower_files_and_takes_the_writes_in_its_upper_directory() {
    if lacks("a_layer_has_the_lower_files_and_takes_the_writes_in_its_upper_directory", &["overlay"]) {
        return;
    }
    let machine = Machine::new();
    let mut session = provided(&machine);
    let stack = at(ContainerPlace::Layer, false, ext4());
    Session::preflight(&stack, true, &machine.work()).unwrap();
    let applied = session.apply(&stack, 1, 7).unwrap();
    let directory = applied.target.directory.clone().unwrap();
    let standing = applied.container.clone().unwrap();
    let upper = standing.backing.clone().unwrap();
    assert_eq!(standing.directory, directory);
    assert!(standing.agent.is_empty());
    assert_eq!((standing.facts.driver.as_str(), standing.facts.place.as_str()), ("overlay2", "layer"));
    assert_eq!(standing.facts.backing_filesystem, "ext4");
    assert_eq!(standing.facts.device.as_deref(), Some(applied.devices[0].name.as_str()));
    assert!(standing.facts.mount_line.contains(" - overlay "), "{}", standing.facts.mount_line);
    assert!(!standing.facts.volatile);
    assert!(applied.notes.iter().any(|note| note.contains("metacopy=")), "{:?}", applied.notes);
    let checks = checks_of(&applied);
    assert!(
        checks.iter().any(|check| check.contains("upper directory") && check.contains("loop")),
        "{checks:?}"
    );
    assert!(checks.iter().any(|check| check.contains("fsync kept")), "{checks:?}");

    assert_eq!(fs::metadata(directory.join("large")).unwrap().len(), 4 << 20);
    assert!(directory.join("small-00004").exists());
    assert_eq!(fs::read_dir(&upper).unwrap().count(), 0);
    fs::write(directory.join("small-00000"), "copied up").unwrap();
    assert_eq!(fs::read_to_string(upper.join("small-00000")).unwrap(), "copied up");
    assert_eq!(session.verify().unwrap(), applied.checks);
    let (facts, _) = session.recognise(&InsideView::of(&directory).unwrap()).unwrap();
    assert_eq!(facts, standing.facts);
    // The next trial sees nothing of this one.
    let again = session.apply(&stack, 2, 8).unwrap();
    let upper = again.container.unwrap().backing.unwrap();
    assert_eq!(fs::read_dir(upper).unwrap().count(), 0);
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn dropped_fsync_is_read_back_both_ways() {
    if lacks("dropped_fsync_is_read_back_both_ways", &["overlay"]) {
        return;
    }
    let machine = Machine::new();
    let mut session = machine.session();
    let stack = at(ContainerPlace::Layer, true, ext4());
    Session::preflight(&stack, true, &machine.work()).unwrap();
    let applied = session.apply(&stack, 1, 7).unwrap();
    assert!(applied.container.clone().unwrap().facts.volatile);
    let checks = checks_of(&applied);
    assert!(
        checks.iter().any(|check| check.starts_with("fsync dropped (volatile) | fsync dropped")),
        "{checks:?}"
    );
    // A look that tells of an overlay which keeps fsync is not what was asked for.
    let mut view = InsideView::of(&applied.target.directory.unwrap()).unwrap();
    view.mount_line = view.mount_line.replace(",fsync=volatile", "").replace(",volatile", "");
    let error = session.recognise(&view).unwrap_err();
    assert!(matches!(&error, StackError::NotApplied { layer: "container", .. }), "{error}");
    assert!(error.to_string().contains("fsync kept"), "{error}");
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn every_place_lands_where_it_says() {
    if lacks("every_place_lands_where_it_says", &["overlay"]) {
        return;
    }
    let machine = Machine::new();
    let mut session = machine.session();
    for place in PLACES {
        let applied = session.apply(&at(place, false, ext4()), 1, 7).unwrap();
        let directory = applied.target.directory.clone().unwrap();
        let mount = fs::metadata(applied.target.mount.clone().unwrap()).unwrap();
        let standing = applied.container.clone().unwrap();
        fs::write(directory.join("file"), "bytes").unwrap();
        if let Some(backing) = &standing.backing {
            assert_eq!(fs::read_to_string(backing.join("file")).unwrap(), "bytes", "{place:?}");
            assert_eq!(fs::metadata(backing.join("file")).unwrap().dev(), mount.dev(), "{place:?}");
        }
        let is_memory = place == ContainerPlace::Tmpfs;
        assert_eq!(standing.facts.device.is_none(), is_memory, "{place:?}");
        assert_eq!(standing.backing.is_none(), is_memory, "{place:?}");
        let checks = checks_of(&applied);
        assert!(checks[0].contains(&format!("place {}", place.word())), "{checks:?}");
        assert_eq!(
            checks.iter().any(|check| check.contains("bind mount of /container/bind")),
            place.word() == "bind"
        );
        assert_eq!(session.verify().unwrap(), applied.checks, "{place:?}");
        // What a dry run says comes to be.
        let planned = plan_steps(&at(place, false, ext4()), &machine.work());
        let mounts =
            planned.iter().filter(|step| step.layer != "undo" && step.text.starts_with("mount ")).count();
        assert_eq!(mounts_under(&machine.work()), mounts, "{place:?}");
        session.undo().unwrap();
        assert_eq!(mounts_under(&machine.work()), 0, "{place:?}");
    }
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn xfs_and_btrfs_carry_a_layer_too() {
    if lacks("xfs_and_btrfs_carry_a_layer_too", &["overlay", "xfs", "btrfs"]) {
        return;
    }
    let machine = Machine::new();
    let mut session = provided(&machine);
    for filesystem in [Filesystem::Xfs(Xfs::default()), Filesystem::Btrfs(Btrfs::default())] {
        let volume = Volume::Loop(LoopVolume { fill: false, ..LoopVolume::new(Bytes(512 * MIB)) });
        let stack = Stack { filesystem, ..Stack::of(volume) };
        for place in PLACES {
            let stack = at(place, false, stack.clone());
            Session::preflight(&stack, true, &machine.work()).unwrap();
            let applied = session.apply(&stack, 1, 7).unwrap();
            fs::write(applied.target.directory.clone().unwrap().join("file"), "bytes").unwrap();
            assert_eq!(session.verify().unwrap(), applied.checks);
        }
    }
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn a_directory_on_another_device_is_refused() {
    if lacks("a_directory_on_another_device_is_refused", &["overlay"]) {
        return;
    }
    let machine = Machine::new();
    let mut session = machine.session();
    let applied = session.apply(&at(ContainerPlace::Bind, false, ext4()), 1, 7).unwrap();
    let elsewhere = InsideView::of(machine.path()).unwrap();
    let error = session.recognise(&elsewhere).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, StackError::NotApplied { layer: "container", .. }), "{text}");
    assert!(text.contains(&applied.devices[0].name) && text.contains("device "), "{text}");
    // Something mounted over the upper directory, so that the bytes would go there.
    let applied = session.apply(&at(ContainerPlace::Host, false, ext4()), 2, 7).unwrap();
    let directory = applied.target.directory.unwrap();
    run("mount", &["-t", "tmpfs", "tmpfs", directory.to_str().unwrap()]);
    let verified = session.verify();
    run("umount", &[directory.to_str().unwrap()]);
    assert!(verified.unwrap_err().to_string().contains("tmpfs"));
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn a_path_with_commas_and_colons_is_still_mounted_and_read_back() {
    if lacks("a_path_with_commas_and_colons_is_still_mounted_and_read_back", &["overlay"]) {
        return;
    }
    let machine = Machine::new();
    let work = machine.path().join("run/a b,c:d\\e");
    let options = SessionOptions { work_directory: work, ..machine.options() };
    let mut session = Session::begin(&machine.registry, options).unwrap();
    for place in PLACES {
        let applied = session.apply(&at(place, false, ext4()), 1, 7).unwrap();
        assert_eq!(session.verify().unwrap(), applied.checks);
    }
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn a_foreign_mount_over_the_layer_is_not_unmounted() {
    if lacks("a_foreign_mount_over_the_layer_is_not_unmounted", &["overlay"]) {
        return;
    }
    let machine = Machine::new();
    let mut session = machine.session();
    let applied = session.apply(&at(ContainerPlace::Layer, false, ext4()), 1, 7).unwrap();
    let directory = applied.target.directory.unwrap();
    run("mount", &["-t", "tmpfs", "foreign", directory.to_str().unwrap()]);
    let error = session.undo().unwrap_err().to_string();
    assert!(error.contains("`foreign` is mounted there, but not by iostone"), "{error}");
    run("umount", &[directory.to_str().unwrap()]);
    session.finish().unwrap();
    machine.assert_clean();
}

/// Not a test of its own: the session that the next one kills.
#[test]
#[ignore = "run by the test that kills it"]
fn child_session() {
    let Some(place) = std::env::var_os(CHILD_VARIABLE).map(PathBuf::from) else { return };
    let registry = Registry::at(&place.join("state")).unwrap();
    let options = SessionOptions {
        run_token: "child".to_owned(),
        run_directory: place.join("run"),
        work_directory: place.join("run/area"),
        ..SessionOptions::default()
    };
    let mut session = Session::begin(&registry, options).unwrap();
    session.provision(Provision { lower: Some(LOWER), ..Provision::default() }).unwrap();
    for trial in 1u32.. {
        for place in PLACES {
            let applied = session.apply(&at(place, false, loop_stack(16 * MIB, &[])), trial, 7).unwrap();
            let (name, value) = session.processes_marker();
            let directory = applied.target.directory.unwrap();
            // It has no time to be waited for when it is its parent that is killed.
            let mut worker =
                Command::new("sleep").arg("1000").env(name, value).current_dir(directory).spawn().unwrap();
            session.undo().unwrap();
            worker.wait().unwrap();
        }
    }
}

struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn kill_at_any_moment_leaves_nothing_after_cleanup() {
    if lacks("kill_at_any_moment_leaves_nothing_after_cleanup", &["overlay"]) {
        return;
    }
    let mut layers = 0;
    for round in 0..12u64 {
        let machine = Machine::new();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "containers::child_session", "--ignored"])
            .env(CHILD_VARIABLE, machine.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut child = KilledOnDrop(child);
        // The even rounds are killed with two mounts on one another, the odd ones anywhere.
        let least = if round % 2 == 0 { 2 } else { 0 };
        wait_for("a journal and the mounts", Some(&mut child.0), || {
            machine.journals() > 0 && mounts_under(machine.path()) >= least
        });
        std::thread::sleep(Duration::from_millis(if least == 0 { round * 37 } else { 0 }));
        child.0.kill().unwrap();
        child.0.wait().unwrap();
        layers += usize::from(mounts_under(machine.path()) == 2);
        let report = machine.registry.cleanup().unwrap();
        assert!(report.is_clean(), "round {round}: {report:?}");
        machine.assert_clean();
    }
    assert!(layers > 0, "no child was killed with a layer mounted");
}
