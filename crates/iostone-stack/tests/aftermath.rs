//! What the user did with our things after a crash, or beside us, is kept, and the advice fits what is in the way.
#![expect(clippy::unwrap_used, reason = "this is test code")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::machine::{MIB, Machine, TestLoop, ext4_on, loop_stack, loops_under, needs_root, run};
use iostone_model::experiment::{BlockVolume, Volume};
use iostone_stack::{JournalOutcome, Permission, Registry, Session, SessionOptions, StackError, UndoFailure};

/// Tells the child, which is this very program, where to work.
const PLACE_VARIABLE: &str = "IOSTONE_STACK_TEST_PLACE";
/// A device of the test's for the child; without it, it works on a loop volume.
const DEVICE_VARIABLE: &str = "IOSTONE_STACK_TEST_DEVICE";

/// Not a test of its own: a session that stands until it is killed, or until it is told to end.
#[test]
#[ignore = "run by the other tests"]
fn standing_session() {
    let Some(place) = std::env::var_os(PLACE_VARIABLE).map(PathBuf::from) else { return };
    let registry = Registry::at(&place.join("state")).unwrap();
    let options = SessionOptions {
        run_token: "child".to_owned(),
        run_directory: place.join("run"),
        work_directory: place.join("run/work"),
        ..SessionOptions::default()
    };
    let stack = match std::env::var_os(DEVICE_VARIABLE) {
        Some(device) => ext4_on(Volume::Block(BlockVolume { devices: vec![device.into()] }), &[]),
        None => loop_stack(16 * MIB, &[]),
    };
    let mut session = Session::begin(&registry, options).unwrap();
    let mount = session.apply(&stack, 1, 7).unwrap().target.mount.unwrap();
    fs::write(place.join("mount.new"), mount.to_str().unwrap()).unwrap();
    fs::rename(place.join("mount.new"), place.join("mount")).unwrap();
    while !place.join("end").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let answer = session.undo().err().map(|error| error.to_string()).unwrap_or_default();
    fs::write(place.join("answer"), answer).unwrap();
}

struct Built(Child);

impl Built {
    fn start(machine: &Machine, device: Option<&Path>) -> (Self, PathBuf) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "aftermath::standing_session", "--ignored"])
            .env(PLACE_VARIABLE, machine.path());
        if let Some(device) = device {
            command.env(DEVICE_VARIABLE, device);
        }
        let mut child = Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let told = machine.path().join("mount");
        while !told.exists() {
            assert!(child.0.try_wait().unwrap().is_none(), "the session ended early");
            std::thread::sleep(Duration::from_millis(5));
        }
        (child, fs::read_to_string(told).unwrap().into())
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Built {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn failure(machine: &Machine) -> UndoFailure {
    let report = machine.registry.cleanup().unwrap();
    match report.journals.into_iter().next() {
        Some((_, JournalOutcome::Failed { failure, .. })) => failure,
        other => panic!("{other:?}"),
    }
}

fn undone(machine: &Machine) -> Vec<String> {
    let report = machine.registry.cleanup().unwrap();
    match report.journals.into_iter().next() {
        Some((_, JournalOutcome::Undone { undone, .. })) => undone,
        other => panic!("{other:?}"),
    }
}

fn uuid_of(device: &Path) -> Option<String> {
    let output =
        Command::new("blkid").args(["-p", "-o", "value", "-s", "UUID"]).arg(device).output().unwrap();
    Some(String::from_utf8(output.stdout).unwrap()).filter(|uuid| !uuid.is_empty())
}

#[test]
fn a_device_is_refused_after_a_crash_until_its_content_is_let_go() {
    if needs_root("a_device_is_refused_after_a_crash_until_its_content_is_let_go") {
        return;
    }
    let machine = Machine::new();
    let disk = TestLoop::new(&machine.path().join("disk.img"), 32 * MIB);
    let stack = ext4_on(Volume::Block(BlockVolume { devices: vec![disk.path.clone()] }), &[]);
    let state = machine.registry.directory().parent();
    let look = |destroy: &[String]| {
        let permission = Permission { destroy, state };
        Session::preflight_permitting(&stack, true, &machine.work(), &permission)
    };
    let (child, _) = Built::start(&machine, Some(&disk.path));
    child.kill();
    undone(&machine);
    // Nobody knows who wrote to it since.
    let Err(StackError::Refused(refusal)) = look(&[]) else { panic!("it passed") };
    look(&[refusal.destroy.unwrap()]).unwrap();
    drop(disk);
    machine.assert_clean();
}

#[test]
fn a_filesystem_of_ours_that_the_user_mounted_is_left_to_the_user() {
    if needs_root("a_filesystem_of_ours_that_the_user_mounted_is_left_to_the_user") {
        return;
    }
    let machine = Machine::new();
    let disk = TestLoop::new(&machine.path().join("disk.img"), 32 * MIB);
    let (child, mount) = Built::start(&machine, Some(&disk.path));
    child.kill();
    let mine = machine.path().join("mm");
    fs::create_dir(&mine).unwrap();
    // Beside our mount, which the user then takes off: the superblock tells nothing of that.
    run("mount", &[text(&disk.path), text(&mine)]);
    fs::write(mine.join("precious"), "years of work").unwrap();
    run("umount", &[text(&mount)]);
    let refused = failure(&machine);
    assert_eq!(refused.object, disk.path.display().to_string());
    assert!(refused.reason.contains(&format!("mounted on `{}`", mine.display())), "{refused}");
    assert_eq!(refused.next, format!("umount {}", mine.display()));
    run("umount", &[text(&mine)]);
    let words = undone(&machine);
    let left = words.iter().find(|word| word.starts_with("left alone: ")).unwrap();
    assert!(left.contains(&format!("mounted on `{}` too", mine.display())), "{left}");
    assert!(left.contains(&format!("`wipefs --all {}`", disk.path.display())), "{left}");
    run("mount", &[text(&disk.path), text(&mine)]);
    assert_eq!(fs::read_to_string(mine.join("precious")).unwrap(), "years of work");
    run("umount", &[text(&mine)]);
    drop(disk);
    machine.assert_clean();
}

#[test]
fn a_filesystem_that_the_user_unmounted_is_left_alone_and_one_that_we_unmount_is_wiped() {
    if needs_root("a_filesystem_that_the_user_unmounted_is_left_alone_and_one_that_we_unmount_is_wiped") {
        return;
    }
    for how in ["ours", "unmounted", "remounted"] {
        let machine = Machine::new();
        let disk = TestLoop::new(&machine.path().join("disk.img"), 32 * MIB);
        let (child, mount) = Built::start(&machine, Some(&disk.path));
        child.kill();
        if how != "ours" {
            run("umount", &[text(&mount)]);
        }
        if how == "remounted" {
            run("mount", &[text(&disk.path), text(&mount)]);
        }
        let words = undone(&machine);
        let left = words.iter().find(|word| word.starts_with("left alone: "));
        match how {
            "ours" => assert!(left.is_none() && uuid_of(&disk.path).is_none(), "{words:?}"),
            "unmounted" => assert!(left.unwrap().contains("another process unmounted it"), "{words:?}"),
            _ => assert!(left.unwrap().contains("and not by iostone"), "{words:?}"),
        }
        assert_eq!(uuid_of(&disk.path).is_some(), how != "ours", "{how}");
        drop(disk);
        machine.assert_clean();
    }
}

#[test]
fn what_is_mounted_on_top_or_elsewhere_is_named() {
    if needs_root("what_is_mounted_on_top_or_elsewhere_is_named") {
        return;
    }
    let machine = Machine::new();
    let mut session = machine.session();
    let mount = session.apply(&loop_stack(16 * MIB, &[]), 1, 7).unwrap().target.mount.unwrap();
    let sub = mount.join("a sub");
    fs::create_dir(&sub).unwrap();
    run("mount", &["-t", "tmpfs", "tmpfs", text(&sub)]);
    let error = session.undo().unwrap_err().to_string();
    assert!(error.contains(&format!("`{}` is mounted on top of it", sub.display())), "{error}");
    assert!(error.contains(&format!("next: `umount '{}'`", sub.display())), "{error}");
    run("umount", &[text(&sub)]);
    let bind = machine.path().join("bind");
    fs::create_dir(&bind).unwrap();
    run("mount", &["--bind", text(&mount), text(&bind)]);
    let error = session.undo().unwrap_err().to_string();
    assert!(error.contains(&format!("it is mounted on `{}`", bind.display())), "{error}");
    assert!(error.contains(&format!("next: `umount {}`", bind.display())), "{error}");
    assert!(!error.contains("nsenter"), "{error}");
    run("umount", &[text(&bind)]);
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn a_renamed_run_directory_is_followed() {
    if needs_root("a_renamed_run_directory_is_followed") {
        return;
    }
    for unmounted in [false, true] {
        let machine = Machine::new();
        let (child, mount) = Built::start(&machine, None);
        child.kill();
        let (old, new) = (machine.path().join("run"), machine.path().join("renamed"));
        fs::rename(&old, &new).unwrap();
        if unmounted {
            run("umount", &[text(&new.join(mount.strip_prefix(&old).unwrap()))]);
        }
        let words = undone(&machine);
        assert!(!words.iter().any(|word| word.starts_with("not found")), "{words:?}");
        assert!(
            words.iter().any(|word| word.starts_with("image ") && word.contains("/renamed/")),
            "{words:?}"
        );
        assert!(!new.exists(), "{words:?}");
        machine.assert_clean();
    }
}

#[test]
fn a_directory_that_nothing_leads_to_is_reported() {
    if needs_root("a_directory_that_nothing_leads_to_is_reported") {
        return;
    }
    let machine = Machine::new();
    let (child, mount) = Built::start(&machine, None);
    child.kill();
    run("umount", &[text(&mount)]);
    let image = machine.image();
    let loops = run("losetup", &["--noheadings", "--output", "NAME", "--associated", text(&image)]);
    run("losetup", &["--detach", loops.trim()]);
    fs::rename(machine.path().join("run"), machine.path().join("renamed")).unwrap();
    let words = undone(&machine);
    let own = image.parent().unwrap().display().to_string();
    let not_found = words.iter().find(|word| word.contains("not found at its path")).unwrap();
    assert!(not_found.contains(&own) && not_found.contains("if it was moved"), "{not_found}");
    machine.assert_clean();
}

#[test]
fn a_loop_device_of_the_users_over_our_image_is_theirs() {
    if needs_root("a_loop_device_of_the_users_over_our_image_is_theirs") {
        return;
    }
    let machine = Machine::new();
    let (child, _) = Built::start(&machine, None);
    child.kill();
    let image = machine.image();
    let theirs = run("losetup", &["--find", "--show", "--read-only", text(&image)]).trim().to_owned();
    let refused = failure(&machine);
    assert_eq!(refused.object, theirs);
    assert!(refused.reason.contains("not by iostone"), "{refused}");
    assert_eq!(refused.next, format!("losetup --detach {theirs}"));
    assert!(image.exists());
    assert_eq!(loops_under(machine.path()), 1, "ours is detached, theirs is not");
    run("losetup", &["--detach", &theirs]);
    undone(&machine);
    machine.assert_clean();
}

#[test]
fn a_process_that_is_not_ours_is_named_with_the_signal_that_it_takes() {
    if needs_root("a_process_that_is_not_ours_is_named_with_the_signal_that_it_takes") {
        return;
    }
    for (script, kill) in [
        ("echo > ready; exec sleep 1000", "kill"),
        ("trap '' TERM; echo > ready; exec sleep 1000", "kill -KILL"),
    ] {
        let machine = Machine::new();
        let (mut child, mount) = Built::start(&machine, None);
        // A child of the test, and so none of the session's, which is in another process.
        let mut holder = Command::new("sh").args(["-c", script]).current_dir(&mount).spawn().unwrap();
        while !mount.join("ready").exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        fs::write(machine.path().join("end"), "").unwrap();
        child.0.wait().unwrap();
        let answer = fs::read_to_string(machine.path().join("answer")).unwrap();
        let named = answer.contains(&format!("(pid {}, working directory)", holder.id()))
            && answer.contains(&format!("next: `{kill} {}`", holder.id()));
        let still_there = holder.try_wait().unwrap().is_none();
        holder.kill().unwrap();
        holder.wait().unwrap();
        assert!(named && still_there, "{answer}");
        assert!(undone(&machine).len() >= 4);
        machine.assert_clean();
    }
}
