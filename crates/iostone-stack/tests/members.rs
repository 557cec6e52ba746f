//! Several block devices at once: refused where they do not go together, and said where they hardly do.
#![expect(clippy::unwrap_used, reason = "this is test code")]

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use crate::common::machine::{MIB, Machine, TestLoop, has, needs_root, run};
use iostone_model::experiment::{Array, BlockVolume, MdArray, MdLevel, Stack, Volume};
use iostone_stack::{RefusalReason, Session, StackError};

fn over(devices: &[PathBuf]) -> Stack {
    let array = Array::Md(MdArray { level: MdLevel::Raid0, chunk: None, metadata: None });
    Stack { array, ..Stack::of(Volume::Block(BlockVolume { devices: devices.to_vec() })) }
}

fn refused(machine: &Machine, devices: &[PathBuf]) -> StackError {
    let error = Session::preflight(&over(devices), true, &machine.work()).unwrap_err();
    let mut session = machine.session();
    let applied = session.apply(&over(devices), 1, 7).unwrap_err();
    session.finish().unwrap();
    assert_eq!(error.to_string(), applied.to_string(), "the preflight tells what applying would");
    error
}

#[test]
fn one_device_under_two_names_is_refused() {
    if needs_root("one_device_under_two_names_is_refused") {
        return;
    }
    let machine = Machine::new();
    let disk = TestLoop::new(&machine.path().join("disk.img"), 32 * MIB);
    let link = machine.path().join("link");
    symlink(&disk.path, &link).unwrap();
    let error = refused(&machine, &[disk.path.clone(), link]).to_string();
    assert!(error.contains("are the same device"), "{error}");
    let error = refused(&machine, &[disk.path.clone(), disk.path.clone()]).to_string();
    assert!(error.contains("is named twice"), "{error}");
    drop(disk);
    machine.assert_clean();
}

#[test]
fn members_of_unequal_size_are_refused_with_their_sizes() {
    if needs_root("members_of_unequal_size_are_refused_with_their_sizes") {
        return;
    }
    let machine = Machine::new();
    let one = TestLoop::new(&machine.path().join("one.img"), 32 * MIB);
    let other = TestLoop::new(&machine.path().join("other.img"), 48 * MIB);
    let error = refused(&machine, &[one.path.clone(), other.path.clone()]).to_string();
    assert!(error.contains("32 MiB (33554432 bytes)") && error.contains("48 MiB"), "{error}");
    drop((one, other));
    machine.assert_clean();
}

#[test]
fn a_member_in_use_is_refused_by_the_guard() {
    if needs_root("a_member_in_use_is_refused_by_the_guard") {
        return;
    }
    let machine = Machine::new();
    let one = TestLoop::new(&machine.path().join("one.img"), 16 * MIB);
    let mounted = machine.small_filesystem(16 * MIB);
    let other = mounted.device.as_ref().unwrap().path.clone();
    let before = std::fs::read(&one.image).unwrap();
    match refused(&machine, &[one.path.clone(), other]) {
        StackError::Refused(refusal) => assert_eq!(refusal.reason, RefusalReason::Mounted, "{refusal}"),
        error => panic!("{error}"),
    }
    assert!(std::fs::read(&one.image).unwrap() == before, "the other member keeps every byte");
    drop(mounted);
    drop(one);
    machine.assert_clean();
}

#[test]
fn a_partition_beside_its_own_disk_is_refused() {
    if needs_root("a_partition_beside_its_own_disk_is_refused") {
        return;
    }
    let machine = Machine::new();
    let disk = TestLoop::new(&machine.path().join("disk.img"), 64 * MIB);
    let part = |number: u32| PathBuf::from(format!("{}p{number}", disk.path.display()));
    // The kernel is told of two partitions by hand; there is no table, so nothing else speaks against the disk.
    for (number, start) in [("1", "2048"), ("2", "43008")] {
        run("addpart", &[disk.path.to_str().unwrap(), number, start, "40960"]);
    }
    let error = refused(&machine, &[disk.path.clone(), part(1)]).to_string();
    assert!(error.contains("is a partition of"), "{error}");
    let stack = Stack { array: Array::Btrfs(btrfs()), ..over(&[part(1), part(2)]) };
    // Two partitions of one disk make an array; a poor one, and that is said.
    let notes = Session::preflight(&stack, true, &machine.work()).unwrap().notes.join("\n");
    assert!(notes.contains("are parts of one disk"), "{notes}");
    for number in ["1", "2"] {
        run("delpart", &[disk.path.to_str().unwrap(), number]);
    }
    drop(disk);
    machine.assert_clean();
}

#[test]
fn members_that_share_bytes_are_refused_as_the_same_storage() {
    if needs_root("members_that_share_bytes_are_refused_as_the_same_storage") {
        return;
    }
    let machine = Machine::new();
    let image = machine.path().join("disk.img");
    let whole = TestLoop::new(&image, 64 * MIB);
    let again = TestLoop::over(&image);
    let [low, middle, high] = [0, 16, 32].map(|start| TestLoop::over_part(&image, start * MIB, 32 * MIB));
    let upper = TestLoop::over(&again.path);
    for (one, other) in [(&whole, &again), (&whole, &high), (&low, &middle), (&whole, &upper)] {
        let error = refused(&machine, &[one.path.clone(), other.path.clone()]).to_string();
        assert!(error.contains("are the same storage"), "{error}");
        assert!([one, other].iter().all(|it| error.contains(it.path.to_str().unwrap())), "{error}");
    }
    // Two halves share nothing but the disk.
    let halves = [low.path.clone(), high.path.clone()];
    let stack = Stack { array: Array::Btrfs(btrfs()), ..over(&halves) };
    Session::preflight(&stack, true, &machine.work()).unwrap();
    std::fs::remove_file(&image).unwrap();
    let error = refused(&machine, &[whole.path.clone(), low.path.clone()]).to_string();
    assert!(error.contains("are the same storage"), "{error}");
    drop((upper, whole, again, low, middle, high));
    machine.assert_clean();
}

fn btrfs() -> iostone_model::experiment::BtrfsArray {
    iostone_model::experiment::BtrfsArray {
        level: iostone_model::experiment::BtrfsProfile::Raid0,
        metadata: None,
    }
}

#[test]
fn an_absent_serial_number_is_answered_with_those_there_are() {
    if needs_root("an_absent_serial_number_is_answered_with_those_there_are") {
        return;
    }
    let machine = Machine::new();
    for name in ["serial:iostone-no-such-serial", "vol-0123456789abcdef0"] {
        let error = refused(&machine, &[PathBuf::from(name)]).to_string();
        assert!(error.contains("no device has"), "{error}");
    }
    machine.assert_clean();
}

#[test]
fn a_kernel_without_software_raid_offers_a_guest() {
    if needs_root("a_kernel_without_software_raid_offers_a_guest") {
        return;
    }
    let has_module = || {
        has("modprobe")
            && std::process::Command::new("modprobe")
                .args(["--dry-run", "--quiet", "md_mod"])
                .status()
                .is_ok_and(|status| status.success())
    };
    if std::path::Path::new("/proc/mdstat").exists() || has_module() {
        eprintln!("a_kernel_without_software_raid_offers_a_guest skipped: needs a kernel without md");
        return;
    }
    let machine = Machine::new();
    let disk = TestLoop::new(&machine.path().join("disk.img"), 32 * MIB);
    let error = refused(&machine, std::slice::from_ref(&disk.path)).to_string();
    assert!(error.contains("`CONFIG_BLK_DEV_MD`") && error.contains("kernel = \"debian:6.1\""), "{error}");
    assert!(!error.contains('\n'), "{error}");
    assert_eq!(run("wipefs", &["--no-act", disk.path.to_str().unwrap()]).trim(), "");
    drop(disk);
    machine.assert_clean();
}
