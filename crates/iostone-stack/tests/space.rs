//! What files take up on filesystems that were made for them, on real loop devices.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "this is test code, and skipped tests say so")]

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::common::machine::{MIB, Machine, has, needs_root};
use iostone_engine::NoiseStream;
use iostone_model::experiment::{Btrfs, Ext4, Filesystem, LoopVolume, Mount, Stack, Volume, Xfs};
use iostone_model::trial::SpaceRecord;
use iostone_model::units::Bytes;
use iostone_stack::SpaceWatch;

/// True, with a word about it, where the kernel or the tools have no such filesystem.
fn lacks(test: &str, filesystem: &str) -> bool {
    if needs_root(test) {
        return true;
    }
    let listed = fs::read_to_string("/proc/filesystems").unwrap();
    let kernel = listed.lines().any(|line| line.split_whitespace().last() == Some(filesystem));
    let lacks = !kernel || !has(&format!("mkfs.{filesystem}"));
    if lacks {
        eprintln!("{test} skipped: needs {filesystem} in the kernel and mkfs.{filesystem}");
    }
    lacks
}

/// Lays files out on a fresh filesystem, works on them, and gives the record of it.
fn watched(
    filesystem: Filesystem,
    options: &[&str],
    lay_out: impl FnOnce(&Path),
    work: impl FnOnce(&Path),
) -> SpaceRecord {
    let machine = Machine::new();
    let volume = Volume::Loop(LoopVolume { fill: false, ..LoopVolume::new(Bytes(400 * MIB)) });
    let stack = Stack {
        filesystem,
        mount: Mount { options: options.iter().map(|option| (*option).to_owned()).collect() },
        ..Stack::of(volume)
    };
    let mut session = machine.session();
    let applied = session.apply(&stack, 1, 7).unwrap();
    let directory = applied.target.directory.clone().unwrap();
    let mut watch = SpaceWatch::made(&applied).unwrap();
    lay_out(&directory);
    watch.prepared();
    work(&directory);
    let record = watch.after();
    // Nothing that it opened is left to keep the filesystem mounted.
    session.finish().unwrap();
    machine.assert_clean();
    record
}

fn write_noise(path: &Path, bytes: u64) {
    let mut file = File::create(path).unwrap();
    let mut noise = NoiseStream::new(3);
    let mut written = 0;
    while written < bytes {
        let chunk = noise.next_chunk();
        let length = chunk.len().min(usize::try_from(bytes - written).unwrap());
        file.write_all(&chunk[..length]).unwrap();
        written += length as u64;
    }
    file.sync_all().unwrap();
}

/// Rewrites every other block of 4 KiB, each made durable, so that copies on write land apart.
fn rewrite_scattered(path: &Path) {
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    for block in 0..200u64 {
        file.write_all_at(&[0x5a; 4096], block * 8192).unwrap();
        file.sync_data().unwrap();
    }
}

fn noise_of_16_mib(directory: &Path) {
    write_noise(&directory.join("data"), 16 * MIB);
}

fn assert_plausible(record: &SpaceRecord, filesystem: &str) {
    assert_eq!(record.filesystem, filesystem);
    assert!(record.capacity_bytes > 300 * MIB && record.capacity_bytes <= 400 * MIB, "{record:?}");
    assert!(record.used_prepared_bytes >= record.used_made_bytes + 16 * MIB, "{record:?}");
    assert!(record.used_after_bytes < record.used_prepared_bytes + 16 * MIB, "{record:?}");
    let files = record.files;
    assert_eq!((files.count, files.bytes), (1, 16 * MIB));
    assert_eq!(files.shared_extents, 0);
    assert!(files.extents.unwrap() >= 1 && record.files_prepared.extents.unwrap() >= 1);
}

#[test]
fn ext4_rewrites_in_place_and_tells_its_free_runs() {
    if lacks("ext4_rewrites_in_place_and_tells_its_free_runs", "ext4") {
        return;
    }
    let work = |directory: &Path| rewrite_scattered(&directory.join("data"));
    let record = watched(Filesystem::Ext4(Ext4::default()), &[], noise_of_16_mib, work);
    assert_plausible(&record, "ext4");
    assert_eq!(record.losses, Vec::<String>::new());
    assert_eq!(record.files.extents, record.files_prepared.extents, "rewriting moves nothing");
    assert_eq!(record.files.encoded_extents, 0);
    let (before, after) = (record.free_prepared.unwrap(), record.free_after.unwrap());
    assert_eq!(before.bytes, after.bytes);
    assert!(before.longest_bytes <= before.bytes && before.extents >= 1);
    let free = record.capacity_bytes - record.used_after_bytes;
    assert!(after.bytes.abs_diff(free) < 16 * MIB, "{after:?} and {free}");
}

#[test]
fn xfs_tells_its_free_runs() {
    if lacks("xfs_tells_its_free_runs", "xfs") {
        return;
    }
    let work = |directory: &Path| fs::write(directory.join("data"), vec![7; 16 << 20]).unwrap();
    let record = watched(Filesystem::Xfs(Xfs::default()), &[], noise_of_16_mib, work);
    assert_plausible(&record, "xfs");
    assert_eq!(record.losses, Vec::<String>::new());
    assert!(record.free_after.unwrap().bytes > 200 * MIB, "{record:?}");
}

#[test]
fn btrfs_moves_what_is_rewritten_unless_it_may_not() {
    if lacks("btrfs_moves_what_is_rewritten_unless_it_may_not", "btrfs") {
        return;
    }
    let work = |directory: &Path| rewrite_scattered(&directory.join("data"));
    let rewritten = |options: &[&str]| {
        let record = watched(Filesystem::Btrfs(Btrfs::default()), options, noise_of_16_mib, work);
        assert_plausible(&record, "btrfs");
        assert_eq!(record.free_after, None);
        assert_eq!(record.losses.len(), 1, "{:?}", record.losses);
        assert!(record.losses[0].starts_with("free runs: not available on btrfs: "), "{:?}", record.losses);
        (record.files_prepared.extents.unwrap(), record.files.extents.unwrap())
    };
    let (before, after) = rewritten(&[]);
    assert!(after > before + 100, "{before} extents became {after}");
    let (before, after) = rewritten(&["nodatacow"]);
    assert_eq!(after, before);
}

#[test]
fn compressed_extents_are_told_and_take_less_room() {
    if lacks("compressed_extents_are_told_and_take_less_room", "btrfs") {
        return;
    }
    let zeros = |directory: &Path| {
        let mut file = File::create(directory.join("data")).unwrap();
        file.write_all(&vec![b'a'; 16 << 20]).unwrap();
        file.sync_all().unwrap();
    };
    let options = ["compress=zstd"];
    let record = watched(Filesystem::Btrfs(Btrfs::default()), &options, zeros, |_| {});
    assert_eq!(record.files.extents, Some(record.files.encoded_extents));
    assert!(record.files.encoded_extents > 0, "{record:?}");
    assert!(record.used_after_bytes - record.used_made_bytes < 4 * MIB, "{record:?}");
    let noise = watched(Filesystem::Btrfs(Btrfs::default()), &options, noise_of_16_mib, |_| {});
    assert_eq!(noise.files.encoded_extents, 0, "noise does not compress");
}

#[test]
fn a_directory_of_the_users_is_not_looked_at() {
    let machine = Machine::new();
    let stack = Stack::of(Volume::Directory(iostone_model::experiment::DirectoryVolume { path: None }));
    let mut session = machine.session();
    let applied = session.apply(&stack, 1, 7).unwrap();
    assert!(SpaceWatch::made(&applied).is_none());
    session.finish().unwrap();
}
