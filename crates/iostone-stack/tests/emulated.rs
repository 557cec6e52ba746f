//! Volumes emulated by control groups, on real devices: caps by count, credits by their law, nothing left. Caps are
//! asserted, raw speed never is.

use std::time::Duration;

use crate::common::limits::{needs_limits, take_turns};
use crate::common::machine::{MIB, Machine};
use iostone_model::experiment::{
    EmulatedBy, EmulatedVolume, Ext4, Filesystem, Link, LoopVolume, Stack, Volume,
};
use iostone_model::units::{ByteRate, Bytes, Span};
use iostone_stack::{DriveSource, Permission, Session, StackError};

fn emulated(volume: EmulatedVolume) -> Stack {
    Stack::of(Volume::Emulated(volume))
}

#[test]
fn a_filesystem_stands_on_a_linked_volume_and_images_change_with_the_size() {
    if needs_limits("a_filesystem_stands_on_a_linked_volume_and_images_change_with_the_size") {
        return;
    }
    let _turn = take_turns();
    let machine = Machine::new();
    let mut session = machine.session();
    for (trial, size) in [(1, 32 * MIB), (2, 48 * MIB)] {
        let stack = Stack {
            link: Some(Link::of(ByteRate(1_000_000_000))),
            filesystem: Filesystem::Ext4(Ext4::default()),
            ..emulated(EmulatedVolume::new(Bytes(size)))
        };
        let applied = session.apply(&stack, trial, 7).unwrap();
        std::fs::write(applied.target.mount.unwrap().join("file"), b"x").unwrap();
        assert_eq!(std::fs::metadata(machine.image()).unwrap().len(), size);
        session.undo().unwrap();
    }
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn what_control_groups_cannot_do_is_refused_by_its_key() {
    let volume = EmulatedVolume {
        by: Some(EmulatedBy::Cgroup),
        latency: Some(Span(Duration::from_millis(2))),
        ..EmulatedVolume::new(Bytes(32 * MIB))
    };
    let error = Session::preflight(&emulated(volume), false, std::path::Path::new("/var/tmp")).unwrap_err();
    assert!(error.to_string().contains("stack.volume.latency"), "{error}");
}

#[test]
fn a_loop_volume_is_handed_to_a_guest_as_a_filled_image() {
    let _turn = take_turns();
    let machine = Machine::new();
    let mut session = machine.session();
    let stack = Stack {
        filesystem: Filesystem::Ext4(Ext4::default()),
        ..Stack::of(Volume::Loop(LoopVolume::new(Bytes(8 * MIB))))
    };
    let found = Session::preflight_providing(&stack, false, &machine.work(), &Permission::default()).unwrap();
    assert_eq!(found.disk_bytes, 8 * MIB);
    let provided = session.provide(&stack, 1, 7).unwrap();
    let [drive] = provided.drives.as_slice() else { panic!("{provided:?}") };
    assert_eq!((drive.serial.as_str(), drive.size_bytes), ("iostone-v0", 8 * MIB));
    let DriveSource::File { path, direct: false } = &drive.source else { panic!("{drive:?}") };
    assert!(std::fs::read(path).unwrap().chunks(4096).all(|block| block.iter().any(|&byte| byte != 0)));
    let Volume::Block(block) = &provided.stack.volume else { panic!("{provided:?}") };
    assert_eq!(block.devices, [std::path::PathBuf::from("serial:iostone-v0")]);
    assert_eq!(provided.stack.filesystem, stack.filesystem);
    let directory = session.trial_directory().unwrap();
    assert!(directory.is_dir() && directory == session.trial_directory().unwrap());
    let mut command = std::process::Command::new("sleep");
    command.arg("1000");
    let mut server = session.spawn_server(command).unwrap();
    assert!(server.try_wait().unwrap().is_none());
    session.undo().unwrap();
    assert!(server.try_wait().unwrap().is_some(), "the server ended with its trial");
    assert!(!directory.exists());
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn limits_of_a_loop_volume_are_not_lost_on_the_way_into_a_guest() {
    let machine = Machine::new();
    let mut session = machine.session();
    let stack = Stack::of(Volume::Loop(LoopVolume { iops: Some(100), ..LoopVolume::new(Bytes(8 * MIB)) }));
    let error = session.provide(&stack, 1, 7).unwrap_err();
    assert!(matches!(&error, StackError::Usage { .. }) && error.to_string().contains("emulated"), "{error}");
    session.finish().unwrap();
    machine.assert_clean();
}
