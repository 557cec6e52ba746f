//! A block volume of the user's (here a loop device of the test's): built, taken off again, refused when it is not empty.

#[path = "common/machine.rs"]
mod machine;

use iostone_model::experiment::{BlockVolume, Volume, WriteCache};
use iostone_stack::{Refusal, RefusalReason, Role, Session, SessionOptions, StackError};
use machine::{MIB, Machine, TestLoop, ext4_on, needs_root};

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
    Session::preflight(&stack, true, &machine.work()).unwrap();
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
    Session::preflight_destroying(&stack, true, &machine.work(), &destroy).unwrap();
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
    assert!(error.contains("left alone, because somebody else unmounted it"), "{error}");
    // The guard keeps the session itself off it from now on.
    assert_eq!(refusal(session.apply(&stack, 2, 7).unwrap_err()).reason, RefusalReason::Signature);
    session.finish().unwrap();
    drop(disk);
    machine.assert_clean();
}
