//! A block volume of the user's (here a loop device of the test's): built, taken off again, refused when it is not empty.
#![expect(clippy::unwrap_used, reason = "this is test code")]

use crate::common::machine;
use std::path::Path;

use crate::common::machine::{MIB, Machine, TestLoop, TestMount, ext4_on, needs_root};
use iostone_model::experiment::{BlockVolume, Stack, Volume, WriteCache};
use iostone_stack::{
    Permission, Refusal, RefusalReason, Role, Session, SessionOptions, StackError, strange_words,
};

fn refusal(error: StackError) -> Refusal {
    match error {
        StackError::Refused(refusal) => *refusal,
        other => panic!("{other}"),
    }
}

#[test]
fn an_empty_device_is_used_and_left_without_our_filesystem() {
    if needs_root("an_empty_device_is_used_and_left_without_our_filesystem") {
        return;
    }
    let machine = Machine::new();
    let disk = TestLoop::new(&machine.path().join("disk.img"), 32 * MIB);
    let mut stack = ext4_on(Volume::Block(BlockVolume { devices: vec![disk.path.clone()] }), &["barrier=0"]);
    stack.queue.write_cache = Some(WriteCache::WriteThrough);
    Session::preflight(&stack, true, &machine.work()).unwrap();
    let mut session = machine.session();
    for trial in 1..3 {
        let applied = session.apply(&stack, trial, 7).unwrap();
        assert_eq!((applied.devices[0].name.clone(), applied.devices[0].role), (disk.name(), Role::Stack));
        std::fs::write(applied.target.mount.unwrap().join("file"), "x").unwrap();
        session.verify().unwrap();
    }
    // Another session cannot have it meanwhile, not even between two trials.
    session.undo().unwrap();
    let mut other = machine.session();
    assert_eq!(refusal(other.apply(&stack, 1, 7).unwrap_err()).reason, RefusalReason::Claimed);
    other.finish().unwrap();
    session.finish().unwrap();
    let write_cache =
        std::fs::read_to_string(format!("/sys/block/{}/queue/write_cache", disk.name())).unwrap();
    assert_eq!(write_cache.trim(), "write back");
    // What the trials left is known for iostone's own, until somebody writes.
    preflight(&machine, &disk.path, &[]).unwrap();
    std::fs::write(&disk.path, "theirs").unwrap();
    assert_eq!(refusal(preflight(&machine, &disk.path, &[]).unwrap_err()).reason, RefusalReason::Data);
    drop(disk);
    machine.assert_clean();
}

#[test]
fn a_device_with_content_is_refused_until_it_is_named() {
    if needs_root("a_device_with_content_is_refused_until_it_is_named") {
        return;
    }
    let machine = Machine::new();
    let disk = TestLoop::new(&machine.path().join("disk.img"), 32 * MIB);
    machine::run("mkfs.ext4", &["-F", "-q", "-L", "precious", disk.path.to_str().unwrap()]);
    let before = std::fs::read(&disk.image).unwrap();
    let stack = ext4_on(Volume::Block(BlockVolume { devices: vec![disk.path.clone()] }), &[]);
    assert!(Session::preflight(&stack, true, &machine.work()).is_err());
    let mut session = machine.session();
    let refusal = refusal(session.apply(&stack, 1, 7).unwrap_err());
    session.finish().unwrap();
    assert!(std::fs::read(&disk.image).unwrap() == before, "a refused device keeps every byte");
    let destroy = vec![refusal.destroy.unwrap()];
    let permission = Permission { destroy: &destroy, state: None };
    Session::preflight_permitting(&stack, true, &machine.work(), &permission).unwrap();
    let mut session =
        Session::begin(&machine.registry, SessionOptions { destroy, ..machine.options() }).unwrap();
    for trial in 1..3 {
        session.apply(&stack, trial, 7).unwrap();
    }
    session.finish().unwrap();
    drop(disk);
    machine.assert_clean();
}

#[test]
fn a_filesystem_that_somebody_else_made_meanwhile_is_not_wiped() {
    if needs_root("a_filesystem_that_somebody_else_made_meanwhile_is_not_wiped") {
        return;
    }
    let machine = Machine::new();
    let disk = TestLoop::new(&machine.path().join("disk.img"), 32 * MIB);
    let stack = ext4_on(Volume::Block(BlockVolume { devices: vec![disk.path.clone()] }), &[]);
    let mut session = machine.session();
    let mount = session.apply(&stack, 1, 7).unwrap().target.mount.unwrap();
    machine::run("umount", &[mount.to_str().unwrap()]);
    let node = disk.path.to_str().unwrap();
    machine::run("mkfs.ext4", &["-F", "-q", "-L", "theirs", node]);
    session.finish().unwrap();
    assert!(machine::run("blkid", &["-p", "-o", "export", node]).contains("LABEL=theirs"));
    drop(disk);
    machine.assert_clean();
}

#[test]
fn a_filesystem_that_the_user_took_over_during_a_trial_is_reported_once() {
    if needs_root("a_filesystem_that_the_user_took_over_during_a_trial_is_reported_once") {
        return;
    }
    let machine = Machine::new();
    let disk = TestLoop::new(&machine.path().join("disk.img"), 32 * MIB);
    let stack = ext4_on(Volume::Block(BlockVolume { devices: vec![disk.path.clone()] }), &[]);
    let mut session = machine.session();
    let mount = session.apply(&stack, 1, 7).unwrap().target.mount.unwrap();
    machine::run("umount", &[mount.to_str().unwrap()]);
    let error = session.undo().unwrap_err().to_string();
    assert!(error.contains("left alone, because another process unmounted it"), "{error}");
    // The guard keeps the session itself off it from now on.
    assert_eq!(refusal(session.apply(&stack, 2, 7).unwrap_err()).reason, RefusalReason::Signature);
    session.finish().unwrap();
    drop(disk);
    machine.assert_clean();
}

fn on(device: &Path) -> Stack {
    ext4_on(Volume::Block(BlockVolume { devices: vec![device.to_owned()] }), &[])
}

fn preflight(machine: &Machine, device: &Path, destroy: &[String]) -> Result<(), StackError> {
    let permission = Permission { destroy, state: machine.registry.directory().parent() };
    Session::preflight_permitting(&on(device), true, &machine.work(), &permission).map(drop)
}

fn mkfs(device: &TestLoop) {
    machine::run("mkfs.ext4", &["-F", "-q", device.path.to_str().unwrap()]);
}

#[test]
fn what_shows_the_bytes_of_a_mounted_device_is_refused_whatever_was_typed() {
    if needs_root("what_shows_the_bytes_of_a_mounted_device_is_refused_whatever_was_typed") {
        return;
    }
    let machine = Machine::new();
    let image = machine.path().join("disk.img");
    let lower = TestLoop::new(&image, 64 * MIB);
    let first = TestLoop::over_part(&image, 0, 32 * MIB);
    mkfs(&first);
    let [again, overlapping, beside] = [(0, 32), (16, 32), (32, 32)]
        .map(|(start, size)| TestLoop::over_part(&image, start * MIB, size * MIB));
    let upper = TestLoop::over_part(&lower.path, 0, 32 * MIB);
    let word = refusal(preflight(&machine, &again.path, &[]).unwrap_err()).destroy.unwrap();
    let destroy = [word, refusal(preflight(&machine, &upper.path, &[]).unwrap_err()).destroy.unwrap()];
    for idle in [&again, &upper] {
        preflight(&machine, &idle.path, &destroy).unwrap();
    }
    let target = machine.path().join("mount");
    std::fs::create_dir(&target).unwrap();
    machine::run("mount", &[first.path.to_str().unwrap(), target.to_str().unwrap()]);
    let mount = TestMount { target, device: None };
    for is_removed in [false, true] {
        if is_removed {
            std::fs::remove_file(&image).unwrap();
        }
        for device in [&again, &overlapping, &upper] {
            let refusal = refusal(preflight(&machine, &device.path, &destroy).unwrap_err());
            assert_eq!((refusal.reason, &refusal.destroy), (RefusalReason::Mounted, &None), "{refusal}");
            let text = refusal.to_string();
            let mounted = format!("mounted on `{}`", mount.target.display());
            assert!(text.contains(&mounted) && text.contains(first.path.to_str().unwrap()), "{text}");
        }
        preflight(&machine, &beside.path, &[]).unwrap();
    }
    drop((mount, upper, again, overlapping, beside, first, lower));
    machine.assert_clean();
}

#[test]
fn what_is_open_on_the_same_bytes_is_not_written_over() {
    use std::os::unix::fs::OpenOptionsExt;
    if needs_root("what_is_open_on_the_same_bytes_is_not_written_over") {
        return;
    }
    let machine = Machine::new();
    let one = TestLoop::new(&machine.path().join("disk.img"), 32 * MIB);
    let other = TestLoop::over(&one.image);
    {
        let _held = std::fs::File::options().read(true).custom_flags(libc::O_EXCL).open(&one.path).unwrap();
        let refusal = refusal(preflight(&machine, &other.path, &[]).unwrap_err());
        assert_eq!(refusal.reason, RefusalReason::Open, "{refusal}");
    }
    let mut session = machine.session();
    session.apply(&on(&one.path), 1, 7).unwrap();
    session.undo().unwrap();
    let refusal = refusal(preflight(&machine, &other.path, &[]).unwrap_err());
    assert_eq!(refusal.reason, RefusalReason::Claimed, "{refusal}");
    // What the session has itself it may have under the other name too.
    session.apply(&on(&other.path), 2, 7).unwrap();
    session.finish().unwrap();
    drop((one, other));
    machine.assert_clean();
}

#[test]
fn a_word_lets_one_device_go_and_no_other() {
    if needs_root("a_word_lets_one_device_go_and_no_other") {
        return;
    }
    let machine = Machine::new();
    let image = machine.path().join("disk.img");
    std::fs::File::create(&image).unwrap().set_len(64 * MIB).unwrap();
    let [low, high] = [0, 32].map(|start| TestLoop::over_part(&image, start * MIB, 32 * MIB));
    for device in [&low, &high] {
        mkfs(device);
    }
    let word = refusal(preflight(&machine, &low.path, &[]).unwrap_err()).destroy.unwrap();
    preflight(&machine, &low.path, std::slice::from_ref(&word)).unwrap();
    let refused = refusal(preflight(&machine, &high.path, std::slice::from_ref(&word)).unwrap_err());
    assert_ne!(refused.destroy.unwrap(), word);
    // Removed files of one name cannot be told from each other.
    let gone = machine.path().join("gone.img");
    let [one, two] = [(); 2].map(|()| {
        let device = TestLoop::new(&gone, 32 * MIB);
        mkfs(&device);
        std::fs::remove_file(&gone).unwrap();
        device
    });
    let word = format!("backing file {} (deleted), 32 MiB", gone.display());
    let refused = refusal(preflight(&machine, &one.path, &[word]).unwrap_err());
    let text = refused.to_string();
    assert!(text.contains(&format!("names `{}` as well", two.path.display())), "{text}");
    assert_eq!((refused.reason, &refused.destroy), (RefusalReason::Signature, &None), "{text}");
    drop((low, high, one, two));
    machine.assert_clean();
}

#[test]
fn a_word_that_fits_no_device_is_told() {
    if needs_root("a_word_that_fits_no_device_is_told") {
        return;
    }
    let machine = Machine::new();
    let disk = TestLoop::new(&machine.path().join("disk.img"), 32 * MIB);
    let fitting = format!("backing file {}, 32 MiB", disk.image.display());
    let told = strange_words(&[on(&disk.path)], &[fitting.clone(), "backing file x".to_owned()]);
    assert_eq!(told, ["`--destroy backing file x` matches none of the devices"]);
    assert_eq!(strange_words(&[], &[fitting]).len(), 1);
    drop(disk);
    machine.assert_clean();
}
