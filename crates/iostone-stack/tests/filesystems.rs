//! XFS, btrfs, ext2 and F2FS on real devices: built, proven, read ahead, taken off again without a trace.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "this is test code, and skipped tests say so")]

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::common::machine::{
    MIB, Machine, TestLoop, has, loop_stack, loops_under, mounts_under, needs_root, run,
};
use iostone_model::experiment::{
    Array, BlockVolume, Btrfs, BtrfsArray, BtrfsProfile, Ext2, Ext4, F2fs, Filesystem, LoopVolume, Mount,
    Stack, Volume, Xfs,
};
use iostone_model::units::Bytes;
use iostone_stack::{Applied, Permission, Role, Session, StackError, fuzzing};

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

fn with(filesystem: Filesystem, volume: Volume, options: &[&str]) -> Stack {
    Stack {
        filesystem,
        mount: Mount { options: options.iter().map(|option| (*option).to_owned()).collect() },
        ..Stack::of(volume)
    }
}

/// A loop device over a file of holes.
fn sparse(size_bytes: u64) -> Volume {
    Volume::Loop(LoopVolume { fill: false, ..LoopVolume::new(Bytes(size_bytes)) })
}

fn xfs(mkfs: &[&str]) -> Filesystem {
    Filesystem::Xfs(Xfs { mkfs: mkfs.iter().map(|word| (*word).to_owned()).collect() })
}

fn btrfs() -> Filesystem {
    Filesystem::Btrfs(Btrfs::default())
}

fn reads_back(applied: &Applied, asked: &str) -> String {
    let found = applied.checks.iter().find(|check| check.asked == asked);
    found.unwrap_or_else(|| panic!("no check of {asked}: {:#?}", applied.checks)).read_back.clone()
}

/// The UUID that the kernel would have under `/sys/fs/btrfs` while it is mounted.
fn uuid_of(applied: &Applied) -> String {
    let prefixes = ["btrfs ", "XFS ", "ext2 ", "F2FS "];
    let uuid = applied
        .checks
        .iter()
        .find_map(|check| prefixes.iter().find_map(|prefix| check.asked.strip_prefix(prefix)));
    uuid.unwrap().to_owned()
}

fn assert_bare(disk: &TestLoop) {
    let node = disk.path.to_str().unwrap();
    assert_eq!(run("wipefs", &["--no-act", "--noheadings", node]), "", "{node}");
    let device = fs::File::open(&disk.path).unwrap();
    let mut head = vec![0; (64 << 10) + 4096];
    device.read_exact_at(&mut head, 0).unwrap();
    assert_eq!(fuzzing::read_superblocks(&head), []);
}

#[test]
fn xfs_is_built_proven_and_undone_without_a_trace() {
    if lacks("xfs_is_built_proven_and_undone_without_a_trace", "xfs") {
        return;
    }
    let machine = Machine::new();
    let layout = ["-d", "su=64k,sw=4"];
    let mut stack =
        with(xfs(&layout), sparse(640 * MIB), &["noatime", "logbufs=8", "sunit=128", "swidth=512"]);
    stack.queue.readahead = Some(512);
    Session::preflight(&stack, true, &machine.work()).unwrap();
    let mut session = machine.session();
    let applied = session.apply(&stack, 1, 7).unwrap();
    assert_eq!(
        reads_back(&applied, "stripe unit 65536 bytes, width 262144 bytes"),
        "stripe unit 65536 bytes, width 262144 bytes"
    );
    assert_eq!(reads_back(&applied, "sunit=128"), "sunit=128");
    assert_eq!(reads_back(&applied, "readahead 512 sectors"), "readahead 512 sectors");
    fs::write(applied.target.mount.clone().unwrap().join("file"), "hello").unwrap();
    assert_eq!(session.verify().unwrap(), applied.checks);
    let readahead = format!("/sys/block/{}/queue/read_ahead_kb", applied.devices[0].name);
    assert_eq!(fs::read_to_string(&readahead).unwrap().trim(), "256");
    session.undo().unwrap();
    assert_ne!(fs::read_to_string(&readahead).unwrap().trim(), "256", "put back");
    assert_eq!((loops_under(&machine.work()), mounts_under(&machine.work())), (0, 0));
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn what_xfs_does_not_take_is_an_error_and_everything_is_undone() {
    if lacks("what_xfs_does_not_take_is_an_error_and_everything_is_undone", "xfs") {
        return;
    }
    let machine = Machine::new();
    let mut session = machine.session();
    let stack = with(xfs(&[]), sparse(320 * MIB), &["nobarrier"]);
    let error = session.apply(&stack, 1, 7).unwrap_err();
    assert!(matches!(error, StackError::NotApplied { layer: "mount", .. }), "{error}");
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn a_filled_image_has_no_holes_after_mkfs_xfs() {
    if lacks("a_filled_image_has_no_holes_after_mkfs_xfs", "xfs") {
        return;
    }
    let machine = Machine::new();
    let stack = with(xfs(&[]), Volume::Loop(LoopVolume::new(Bytes(320 * MIB))), &[]);
    let mut session = machine.session();
    session.apply(&stack, 1, 7).unwrap();
    let file = fs::File::open(machine.image()).unwrap();
    let hole = rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(0)).unwrap();
    assert_eq!(hole, 320 * MIB, "mkfs zeroes its log without leaving unwritten extents");
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn a_volume_too_small_for_xfs_is_refused_with_the_size_that_would_do() {
    if lacks("a_volume_too_small_for_xfs_is_refused_with_the_size_that_would_do", "xfs") {
        return;
    }
    let machine = Machine::new();
    let smallest = "300 MiB";
    if Session::preflight(&with(xfs(&[]), sparse(64 * MIB), &[]), true, &machine.work()).is_ok() {
        eprintln!("skipped: this mkfs.xfs takes small volumes");
        return;
    }
    let examine = |size_bytes| {
        let stack = with(xfs(&[]), sparse(size_bytes), &[]);
        Session::preflight(&stack, true, &machine.work()).map_err(|error| error.to_string())
    };
    let error = examine(300 * MIB - 4096).unwrap_err();
    assert!(error.contains("stack.volume.size") && error.contains(smallest), "{error}");
    examine(300 * MIB).unwrap();
    // Where a guest makes it, this host says so before the guest is booted.
    let in_guest = |words: &[&str], size_bytes| {
        let stack = with(xfs(words), sparse(size_bytes), &[]);
        Session::preflight_providing(&stack, true, &machine.work(), &Permission::default())
            .map_err(|error| error.to_string())
    };
    let error = in_guest(&[], 96 * MIB).unwrap_err();
    assert!(error.contains("stack.volume.size") && error.contains(smallest), "{error}");
    let error = in_guest(&["-d", "su=64k,sw=4"], 512 * MIB).unwrap_err();
    assert!(error.contains("more than 512 MiB"), "{error}");
    in_guest(&[], 300 * MIB).unwrap();
    // And mkfs.xfs itself agrees.
    let mut session = machine.session();
    session.apply(&with(xfs(&[]), sparse(300 * MIB), &[]), 1, 7).unwrap();
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn a_volume_too_small_for_btrfs_is_refused_with_the_size_that_would_do() {
    if lacks("a_volume_too_small_for_btrfs_is_refused_with_the_size_that_would_do", "btrfs") {
        return;
    }
    let machine = Machine::new();
    let examine = |size_bytes| {
        let stack = with(btrfs(), sparse(size_bytes), &[]);
        Session::preflight(&stack, true, &machine.work()).map_err(|error| error.to_string())
    };
    if examine(108 * MIB).is_ok() {
        eprintln!("skipped: this mkfs.btrfs is of an old version");
        return;
    }
    assert!(examine(108 * MIB).unwrap_err().contains("at least 114294784 bytes"));
    examine(109 * MIB).unwrap();
    let mut session = machine.session();
    session.apply(&with(btrfs(), sparse(109 * MIB), &[]), 1, 7).unwrap();
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn btrfs_is_built_proven_and_undone_without_a_trace() {
    if lacks("btrfs_is_built_proven_and_undone_without_a_trace", "btrfs") {
        return;
    }
    let machine = Machine::new();
    let mut stack =
        with(btrfs(), sparse(256 * MIB), &["noatime", "compress=zstd", "barrier", "nodiscard", "commit=7"]);
    stack.queue.readahead = Some(1024);
    Session::preflight(&stack, true, &machine.work()).unwrap();
    let mut session = machine.session();
    let applied = session.apply(&stack, 1, 7).unwrap();
    assert_eq!(reads_back(&applied, "compress=zstd"), "compress=zstd:3");
    assert_eq!(applied.devices[0].role, Role::Stack);
    let sysfs = Path::new("/sys/fs/btrfs").join(uuid_of(&applied));
    assert_eq!(fs::read_to_string(sysfs.join("bdi/read_ahead_kb")).unwrap().trim(), "512");
    // The workload still works in it when the stack is undone: by its files, which show another number than the mount.
    let mount = applied.target.mount.clone().unwrap();
    let held = fs::File::create(mount.join("file")).unwrap();
    assert_eq!(session.verify().unwrap(), applied.checks);
    drop(held);
    let sleeper = std::process::Command::new("sleep").arg("1000").current_dir(&mount).spawn();
    let mut sleeper = sleeper.unwrap();
    session.undo().unwrap();
    let status = sleeper.wait().unwrap();
    assert!(!status.success(), "what descends from this process and keeps the mount busy is ended");
    assert!(!sysfs.exists());
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn a_single_device_of_the_users_is_left_bare_by_xfs_and_btrfs() {
    if lacks("a_single_device_of_the_users_is_left_bare_by_xfs_and_btrfs", "btrfs")
        || lacks("a_single_device_of_the_users_is_left_bare_by_xfs_and_btrfs", "xfs")
    {
        return;
    }
    let machine = Machine::new();
    let disk = TestLoop::new(&machine.path().join("disk.img"), 320 * MIB);
    let volume = || Volume::Block(BlockVolume { devices: vec![disk.path.clone()] });
    let mut session = machine.session();
    for (trial, filesystem) in [(1, xfs(&[])), (2, btrfs()), (3, xfs(&[]))] {
        let applied = session.apply(&with(filesystem, volume(), &[]), trial, 7).unwrap();
        fs::write(applied.target.mount.unwrap().join("file"), "x").unwrap();
        session.undo().unwrap();
        assert_bare(&disk);
    }
    session.finish().unwrap();
    drop(disk);
    machine.assert_clean();
}

#[test]
fn an_xfs_that_the_user_took_over_is_left_alone() {
    if lacks("an_xfs_that_the_user_took_over_is_left_alone", "xfs") {
        return;
    }
    let machine = Machine::new();
    let disk = TestLoop::new(&machine.path().join("disk.img"), 320 * MIB);
    let stack = with(xfs(&[]), Volume::Block(BlockVolume { devices: vec![disk.path.clone()] }), &[]);
    let mut session = machine.session();
    let mount = session.apply(&stack, 1, 7).unwrap().target.mount.unwrap();
    run("umount", &[mount.to_str().unwrap()]);
    let error = session.undo().unwrap_err().to_string();
    assert!(error.contains("left alone, because another process unmounted it"), "{error}");
    session.finish().unwrap();
    assert!(run("wipefs", &["--no-act", disk.path.to_str().unwrap()]).contains("xfs"));
    drop(disk);
    machine.assert_clean();
}

#[test]
fn a_btrfs_over_several_devices_leaves_none_of_them_and_nothing_in_the_kernel() {
    if lacks("a_btrfs_over_several_devices_leaves_none_of_them_and_nothing_in_the_kernel", "btrfs") {
        return;
    }
    let machine = Machine::new();
    let disks: Vec<TestLoop> = (0..4)
        .map(|index| TestLoop::new(&machine.path().join(format!("disk{index}.img")), 160 * MIB))
        .collect();
    let mut session = machine.session();
    for (trial, count, level, metadata) in [
        (1, 2, BtrfsProfile::Raid0, None),
        (2, 4, BtrfsProfile::Raid10, None),
        (3, 2, BtrfsProfile::Raid0, Some(BtrfsProfile::Raid1)),
        (4, 1, BtrfsProfile::Raid0, None),
    ] {
        let devices = disks.iter().take(count).map(|disk| disk.path.clone()).collect();
        let mut stack = with(btrfs(), Volume::Block(BlockVolume { devices }), &["noatime"]);
        stack.array = Array::Btrfs(BtrfsArray { level, metadata });
        stack.queue.readahead = Some(8192);
        let applied = session.apply(&stack, trial, 7).unwrap();
        let data = format!("data {}", level.as_str());
        assert_eq!(reads_back(&applied, &data), data);
        let metadata = format!("metadata {}", metadata.unwrap_or(level).as_str());
        assert_eq!(reads_back(&applied, &metadata), metadata);
        assert_eq!(reads_back(&applied, "readahead 8192 sectors"), "readahead 8192 sectors");
        assert_eq!(reads_back(&applied, &format!("{count} devices")), format!("{count} devices"));
        let members = applied.devices.iter().filter(|device| device.role == Role::Member).count();
        assert_eq!(members, if count == 1 { 0 } else { count });
        fs::write(applied.target.mount.clone().unwrap().join("file"), vec![7; 1 << 20]).unwrap();
        assert_eq!(session.verify().unwrap(), applied.checks);
        session.undo().unwrap();
        assert!(!Path::new("/sys/fs/btrfs").join(uuid_of(&applied)).exists());
        for disk in &disks {
            assert_bare(disk);
        }
    }
    session.finish().unwrap();
    drop(disks);
    machine.assert_clean();
}

#[test]
fn a_device_that_joins_a_btrfs_is_guarded_like_any_other() {
    if lacks("a_device_that_joins_a_btrfs_is_guarded_like_any_other", "btrfs") {
        return;
    }
    let machine = Machine::new();
    let disks: Vec<TestLoop> = (0..2)
        .map(|index| TestLoop::new(&machine.path().join(format!("disk{index}.img")), 160 * MIB))
        .collect();
    run("mkfs.ext4", &["-F", "-q", "-L", "precious", disks[1].path.to_str().unwrap()]);
    let before = fs::read(&disks[1].image).unwrap();
    let devices = disks.iter().map(|disk| disk.path.clone()).collect();
    let mut stack = with(btrfs(), Volume::Block(BlockVolume { devices }), &[]);
    stack.array = Array::Btrfs(BtrfsArray { level: BtrfsProfile::Raid0, metadata: None });
    let mut session = machine.session();
    let error = session.apply(&stack, 1, 7).unwrap_err();
    assert!(matches!(error, StackError::Refused(_)), "{error}");
    session.finish().unwrap();
    assert!(fs::read(&disks[1].image).unwrap() == before, "a refused device keeps every byte");
    assert_bare(&disks[0]);
    drop(disks);
    machine.assert_clean();
}

#[test]
fn a_readahead_of_an_ext4_is_set_beside_the_write_cache_and_both_are_put_back() {
    if needs_root("a_readahead_of_an_ext4_is_set_beside_the_write_cache_and_both_are_put_back") {
        return;
    }
    let machine = Machine::new();
    let disk = TestLoop::new(&machine.path().join("disk.img"), 32 * MIB);
    let queue = Path::new("/sys/block").join(disk.name()).join("queue");
    let read = |name: &str| fs::read_to_string(queue.join(name)).unwrap().trim().to_owned();
    fs::write(queue.join("read_ahead_kb"), "132").unwrap();
    let mut stack = loop_stack(32 * MIB, &[]);
    stack.volume = Volume::Block(BlockVolume { devices: vec![disk.path.clone()] });
    stack.queue.readahead = Some(65536);
    stack.queue.write_cache = Some(iostone_model::experiment::WriteCache::WriteThrough);
    let mut session = machine.session();
    let applied = session.apply(&stack, 1, 7).unwrap();
    assert_eq!(reads_back(&applied, "readahead 65536 sectors"), "readahead 65536 sectors");
    assert_eq!(run("blockdev", &["--getra", disk.path.to_str().unwrap()]).trim(), "65536");
    assert_eq!(read("write_cache"), "write through");
    session.undo().unwrap();
    assert_eq!((read("read_ahead_kb").as_str(), read("write_cache").as_str()), ("132", "write back"));
    stack.queue.readahead = Some(65535);
    let error = session.apply(&stack, 2, 7).unwrap_err().to_string();
    assert!(error.contains("stack.queue.readahead") && error.contains("65528"), "{error}");
    session.finish().unwrap();
    drop(disk);
    machine.assert_clean();
}

fn ext2(mkfs: &[&str]) -> Filesystem {
    Filesystem::Ext2(Ext2 { mkfs: mkfs.iter().map(|word| (*word).to_owned()).collect() })
}

fn f2fs() -> Filesystem {
    Filesystem::F2fs(F2fs::default())
}

#[test]
fn ext2_is_built_without_a_journal_proven_and_undone_without_a_trace() {
    if lacks("ext2_is_built_without_a_journal_proven_and_undone_without_a_trace", "ext2") {
        return;
    }
    let machine = Machine::new();
    let stack = with(ext2(&["-b", "4096"]), sparse(96 * MIB), &["noatime", "user_xattr"]);
    Session::preflight(&stack, true, &machine.work()).unwrap();
    let mut session = machine.session();
    let applied = session.apply(&stack, 1, 7).unwrap();
    assert_eq!(reads_back(&applied, "no journal, no extents"), "no journal, no extents");
    let mount = applied.target.mount.clone().unwrap();
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let line = mounts.lines().find(|line| line.contains(mount.to_str().unwrap())).unwrap();
    assert!(line.contains(" ext2 "), "{line}");
    fs::write(mount.join("file"), "hello").unwrap();
    assert_eq!(session.verify().unwrap(), applied.checks);
    session.undo().unwrap();
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn a_device_of_the_users_is_left_bare_by_ext2() {
    if lacks("a_device_of_the_users_is_left_bare_by_ext2", "ext2") {
        return;
    }
    let machine = Machine::new();
    let disk = TestLoop::new(&machine.path().join("disk.img"), 96 * MIB);
    let volume = Volume::Block(BlockVolume { devices: vec![disk.path.clone()] });
    let mut session = machine.session();
    let applied = session.apply(&with(ext2(&[]), volume, &[]), 1, 7).unwrap();
    fs::write(applied.target.mount.unwrap().join("file"), "x").unwrap();
    session.undo().unwrap();
    assert_bare(&disk);
    session.finish().unwrap();
    drop(disk);
    machine.assert_clean();
}

#[test]
fn f2fs_is_built_proven_and_undone_without_a_trace() {
    if lacks("f2fs_is_built_proven_and_undone_without_a_trace", "f2fs") {
        return;
    }
    let machine = Machine::new();
    let disk = TestLoop::new(&machine.path().join("disk.img"), 128 * MIB);
    let volume = Volume::Block(BlockVolume { devices: vec![disk.path.clone()] });
    let mut session = machine.session();
    let options = ["noatime", "barrier", "noinline_data", "fsync_mode=strict"];
    for (trial, volume) in [(1, volume.clone()), (2, sparse(128 * MIB)), (3, volume)] {
        let applied = session.apply(&with(f2fs(), volume, &options), trial, 7).unwrap();
        assert_eq!(reads_back(&applied, "fsync_mode=strict"), "fsync_mode=strict");
        let mount = applied.target.mount.clone().unwrap();
        assert!(!mount.join("file").exists());
        fs::write(mount.join("file"), "x").unwrap();
        assert_eq!(session.verify().unwrap(), applied.checks);
        session.undo().unwrap();
    }
    assert_bare(&disk);
    session.finish().unwrap();
    drop(disk);
    machine.assert_clean();
}

#[test]
fn f2fs_that_the_kernel_has_not_is_refused_before_anything_is_done() {
    let test = "f2fs_that_the_kernel_has_not_is_refused_before_anything_is_done";
    if needs_root(test) {
        return;
    }
    let has_f2fs = fs::read_to_string("/proc/filesystems").unwrap().contains("\tf2fs");
    if has_f2fs || !has("mkfs.f2fs") {
        eprintln!("{test} skipped: needs a kernel without f2fs, and mkfs.f2fs");
        return;
    }
    let machine = Machine::new();
    let examine = |size_bytes| {
        let stack = with(f2fs(), sparse(size_bytes), &[]);
        Session::preflight(&stack, true, &machine.work()).map_err(|error| error.to_string())
    };
    match examine(128 * MIB) {
        Err(error) => assert!(
            error.contains("neither f2fs") && error.contains("kind = \"guest\""),
            "what to do instead: {error}"
        ),
        Ok(_) => eprintln!("{test} skipped: this kernel has f2fs as a module"),
    }
    // Where a guest makes it, this host says what it knows before the guest is booted.
    let in_guest = |size_bytes| {
        let stack = with(f2fs(), sparse(size_bytes), &[]);
        Session::preflight_providing(&stack, true, &machine.work(), &Permission::default())
            .map_err(|error| error.to_string())
    };
    let error = in_guest(51 * MIB).unwrap_err();
    assert!(error.contains("stack.volume.size") && error.contains("at least 52 MiB"), "{error}");
    in_guest(52 * MIB).unwrap();
}

/// Each kind is made anew, so that nothing of the trial before is there, neither its files nor the room that they took.
#[test]
fn a_trial_sees_nothing_of_the_one_before_it_on_any_filesystem() {
    let test = "a_trial_sees_nothing_of_the_one_before_it_on_any_filesystem";
    let kinds = [Filesystem::Ext4(Ext4::default()), xfs(&[]), btrfs(), ext2(&[]), f2fs()];
    for filesystem in kinds {
        if lacks(test, filesystem.name().unwrap()) {
            continue;
        }
        let machine = Machine::new();
        let disk = TestLoop::new(&machine.path().join("disk.img"), 320 * MIB);
        let volumes = [
            Volume::Loop(LoopVolume { fill: false, ..LoopVolume::new(Bytes(320 * MIB)) }),
            Volume::Block(BlockVolume { devices: vec![disk.path.clone()] }),
        ];
        let mut session = machine.session();
        let mut trial = 0;
        for volume in volumes {
            let mut former: Option<(String, u64)> = None;
            for _ in 0..2 {
                trial += 1;
                let applied =
                    session.apply(&with(filesystem.clone(), volume.clone(), &[]), trial, 7).unwrap();
                let mount = applied.target.mount.clone().unwrap();
                let room = rustix::fs::statvfs(&mount).unwrap();
                let fresh = (made_as(&applied), room.f_bfree);
                if let Some((uuid, free)) = &former {
                    assert_ne!(*uuid, fresh.0, "{filesystem:?} was made anew");
                    assert_eq!(*free, fresh.1, "{filesystem:?} has its room back");
                }
                let names: Vec<String> = fs::read_dir(&mount)
                    .unwrap()
                    .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                    .filter(|name| name != "lost+found")
                    .collect();
                assert_eq!(names, <[String; 0]>::default(), "{filesystem:?}");
                former = Some(fresh);
                fs::write(mount.join("left-behind"), vec![7; 8 << 20]).unwrap();
                session.undo().unwrap();
            }
        }
        session.finish().unwrap();
        drop(disk);
        machine.assert_clean();
    }
}

/// The kind and the UUID that mkfs was given.
fn made_as(applied: &Applied) -> String {
    applied.checks.iter().find(|check| check.layer == "filesystem").unwrap().asked.clone()
}

#[test]
fn every_variant_of_btrfs_is_read_back_and_contradictions_are_refused() {
    let test = "every_variant_of_btrfs_is_read_back_and_contradictions_are_refused";
    if lacks(test, "btrfs") {
        return;
    }
    let machine = Machine::new();
    let mut session = machine.session();
    let variants: [&[&str]; 11] = [
        &["nodatacow"],
        &["nodatasum"],
        &["datacow", "datasum", "barrier", "treelog", "acl"],
        &["compress=zstd:3"],
        &["compress"],
        &["compress=lzo", "autodefrag"],
        &["compress-force=zstd", "discard"],
        &["compress-force=zlib:9", "noautodefrag"],
        &["compress-force=none"],
        &["space_cache=v2", "ssd", "nodiscard"],
        &["nossd", "nossd_spread", "notreelog", "flushoncommit", "max_inline=0", "commit=7"],
    ];
    for (trial, options) in (1..).zip(variants) {
        let applied = session.apply(&with(btrfs(), sparse(256 * MIB), options), trial, 7).unwrap();
        for option in options {
            reads_back(&applied, option);
        }
        session.undo().unwrap();
    }
    let error = session.apply(&with(btrfs(), sparse(256 * MIB), &["nodatacow", "compress=zstd"]), 99, 7);
    assert!(error.unwrap_err().to_string().contains("overwritten in place"));
    session.finish().unwrap();
    machine.assert_clean();
}
