//! A device that holds anything at all is refused and keeps every byte; an empty one passes, however it came to be empty.
#![expect(clippy::unwrap_used, reason = "this is test code, and skipped tests say so")]

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::common::machine::{MIB, Machine, TestLoop, ext4_on, has, needs_root, run};
use iostone_model::experiment::{BlockVolume, Stack, Volume};
use iostone_stack::{Refusal, RefusalReason, Session, StackError};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustix::fs::SeekFrom;

const TIB: u64 = 1 << 40;

fn on(device: &Path) -> Stack {
    ext4_on(Volume::Block(BlockVolume { devices: vec![device.to_owned()] }), &[])
}

/// All data of a file with their places, in one number; holes are passed over.
fn sum(image: &Path) -> u64 {
    run("sync", &["--file-system", image.to_str().unwrap()]);
    let file = File::open(image).unwrap();
    let (mut hasher, mut at) = (DefaultHasher::new(), 0);
    while let Ok(start) = rustix::fs::seek(&file, SeekFrom::Data(at)) {
        let end = rustix::fs::seek(&file, SeekFrom::Hole(start)).unwrap();
        let mut bytes = vec![0; usize::try_from(end - start).unwrap()];
        file.read_exact_at(&mut bytes, start).unwrap();
        // Extents of zeros come and go with no byte changed.
        for (index, block) in bytes.chunks(4096).enumerate() {
            if block.iter().any(|&byte| byte != 0) {
                hasher.write_u64(start + index as u64 * 4096);
                hasher.write(block);
            }
        }
        at = end;
    }
    hasher.finish()
}

fn preflight(machine: &Machine, device: &Path) -> Option<Refusal> {
    match Session::preflight(&on(device), true, &machine.work()) {
        Ok(_) => None,
        Err(StackError::Refused(refusal)) => Some(*refusal),
        Err(other) => panic!("{other}"),
    }
}

/// Both looks refuse it, with the words to type and every byte kept.
fn refused(machine: &Machine, what: &str, disk: &TestLoop) -> Refusal {
    let before = sum(&disk.image);
    let refusal = preflight(machine, &disk.path).unwrap_or_else(|| panic!("{what}: it passed"));
    let mut session = machine.session();
    let applied = session.apply(&on(&disk.path), 1, 7);
    session.finish().unwrap();
    assert!(matches!(applied, Err(StackError::Refused(_))), "{what}");
    assert!(sum(&disk.image) == before, "{what}: a byte was changed");
    assert!(refusal.destroy.is_some() && !refusal.loses.is_empty(), "{what}: {refusal}");
    refusal
}

struct Disks {
    machine: Machine,
    count: u32,
}

impl Disks {
    fn new() -> Self {
        Self { machine: Machine::new(), count: 0 }
    }

    fn image(&mut self, size_bytes: u64) -> PathBuf {
        self.count += 1;
        let image = self.machine.path().join(format!("disk-{}.img", self.count));
        File::create(&image).unwrap().set_len(size_bytes).unwrap();
        image
    }

    /// A disk that holds some bytes at some places.
    fn with(&mut self, size_bytes: u64, pieces: &[(u64, &[u8])]) -> TestLoop {
        let image = self.image(size_bytes);
        let file = File::options().write(true).open(&image).unwrap();
        for (place, bytes) in pieces {
            file.write_all_at(bytes, *place).unwrap();
        }
        TestLoop::over(&image)
    }
}

fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; length];
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut bytes);
    // Zeros and magic numbers by chance are not what is meant.
    for byte in &mut bytes {
        *byte |= 0x80;
    }
    bytes
}

#[test]
fn what_has_no_signature_is_refused_by_its_name_or_its_place() {
    if needs_root("what_has_no_signature_is_refused_by_its_name_or_its_place") {
        return;
    }
    let mut disks = Disks::new();
    let page = noise(16384, 1);
    let mut innodb = noise(16384, 2);
    innodb[4..12].copy_from_slice(&[0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    innodb[24..26].copy_from_slice(&[0, 8]);
    innodb[34..42].copy_from_slice(&[0, 0, 0, 9, 0, 0, 0, 9]);
    let mut oracle = noise(8192, 3);
    oracle[..2].copy_from_slice(&[0, 0xa2]);
    oracle[28..32].copy_from_slice(b"}|{z");
    let superblock = |magic: u64| [&noise(32, 4)[..], &magic.to_le_bytes()].concat();
    let [thin, cache, era, clone] = [27_022_010, 0o6_142_003, 2_126_579_579, 0x8af2_7f64].map(superblock);
    let writecache = [&0x2348_9321u32.to_le_bytes()[..], &noise(60, 5)].concat();
    let lvm = [&noise(4, 6)[..], b" LVM2 x[5A%r0N*>"].concat();
    let size = 64 * MIB;
    let cases: [(&str, u64, &[u8], &str); 18] = [
        ("random database pages", 3 * MIB, &page, "data of unknown format at 3.00 MiB"),
        ("plain dm-crypt", 0, &page, "data of unknown format at byte 0"),
        ("the last 4 KiB alone", size - 4096, &page[..4096], "data of unknown format at 63.99 MiB"),
        ("the last byte", size - 1, b"x", "data of unknown format at 63.99 MiB"),
        ("one byte in the middle", 33 * MIB + 77, b"x", "data of unknown format at 33.00 MiB"),
        ("an InnoDB data file", 0, &innodb, "an InnoDB data file"),
        ("an Oracle data file", 0, &oracle, "an Oracle data file"),
        ("an Oracle ASM disk", 32, b"ORCLDISKDATA1", "an Oracle ASM disk"),
        ("a tar archive", 257, b"ustar\x0000", "a tar archive"),
        ("a qcow2 image", 0, b"QFI\xfb\0\0\0\x03", "a qcow2 disk image"),
        ("a VMDK image", 0, b"KDMV\x01", "a VMDK disk image"),
        ("a VHDX image", 0, b"vhdxfile", "a VHDX disk image"),
        ("a thin pool", 0, &thin, "metadata of a thin pool"),
        ("a cache", 0, &cache, "metadata of a cache"),
        ("an era device", 0, &era, "metadata of an era device"),
        ("a clone device", 0, &clone, "metadata of a clone device"),
        ("a writecache", 0, &writecache, "a writecache"),
        ("LVM without its label", 4096, &lvm, "metadata of LVM2 without its label"),
    ];
    for (what, place, bytes, words) in cases {
        let disk = disks.with(size, &[(place, bytes)]);
        let refusal = refused(&disks.machine, what, &disk);
        assert!(refusal.because.contains(words), "{what}: {refusal}");
    }
    disks.machine.assert_clean();
}

#[test]
fn what_real_tools_leave_is_refused_with_its_beginning_wiped() {
    if needs_root("what_real_tools_leave_is_refused_with_its_beginning_wiped") {
        return;
    }
    let mut disks = Disks::new();
    for (mkfs, options, size, wiped, words) in [
        ("mkfs.ext4", &["-F", "-q"][..], 300 * MIB, 64 << 10, "backup superblock of ext2, ext3 or ext4"),
        ("mkfs.btrfs", &["-q", "-f"], 300 * MIB, 2 * MIB, "superblock of btrfs"),
        ("mkfs.xfs", &["-q", "-f"], 400 * MIB, MIB, "backup superblock of XFS"),
    ] {
        if !has(mkfs) {
            eprintln!("{mkfs} skipped: it is not installed");
            continue;
        }
        let disk = disks.with(size, &[]);
        let node = disk.path.to_str().unwrap();
        run(mkfs, &[options, &[node]].concat());
        run(
            "dd",
            &[
                "if=/dev/zero",
                &format!("of={node}"),
                "bs=64K",
                &format!("count={}", wiped >> 16),
                "conv=fsync",
            ],
        );
        let refusal = refused(&disks.machine, mkfs, &disk);
        assert!(refusal.because.contains(words), "{mkfs}: {refusal}");
        // The window of a loop device may begin behind the superblock.
        let behind = TestLoop::over_part(&disk.image, MIB, size - MIB);
        assert!(
            refused(&disks.machine, mkfs, &behind).because.contains("data of unknown format at"),
            "{mkfs}"
        );
    }
    let source = disks.machine.path().join("thesis");
    std::fs::write(&source, noise(100_000, 9)).unwrap();
    let disk = disks.with(32 * MIB, &[]);
    run("tar", &["-C", disks.machine.path().to_str().unwrap(), "-cf", disk.path.to_str().unwrap(), "thesis"]);
    // The file below is compared, which the kernel would otherwise write to at some later time.
    run("sync", &[disk.path.to_str().unwrap()]);
    assert!(refused(&disks.machine, "tar", &disk).because.contains("a tar archive"));
    if has("qemu-img") {
        let disk = disks.with(32 * MIB, &[]);
        run("qemu-img", &["create", "-q", "-f", "qcow2", disk.path.to_str().unwrap(), "16M"]);
        assert!(refused(&disks.machine, "qemu-img", &disk).because.contains("a qcow2 disk image"));
    }
    drop(disk);
    disks.machine.assert_clean();
}

#[test]
fn whatever_is_anywhere_on_a_sparse_device_of_any_size_is_found() {
    if needs_root("whatever_is_anywhere_on_a_sparse_device_of_any_size_is_found") {
        return;
    }
    let mut disks = Disks::new();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(20);
    for case in 0..105 {
        let size = [8 * MIB, 64 * MIB, 300 * MIB, 3 << 30, TIB][case % 5];
        let length = [1, 512, 4096, 65536][usize::try_from(random.next_u64() % 4).unwrap()];
        let place = random.next_u64() % (size - length);
        let bytes = noise(usize::try_from(length).unwrap(), random.next_u64());
        let disk = disks.with(size, &[(place, &bytes)]);
        let before = sum(&disk.image);
        let refusal = preflight(&disks.machine, &disk.path)
            .unwrap_or_else(|| panic!("case {case}: {length} bytes at {place} of {size} passed"));
        assert!(sum(&disk.image) == before, "case {case}: a byte was changed");
        assert_eq!(refusal.reason, RefusalReason::Data, "case {case}: {refusal}");
        assert!(refusal.destroy.is_some(), "case {case}: {refusal}");
    }
    disks.machine.assert_clean();
}

#[test]
fn the_extents_of_a_sparse_file_are_read_through_whatever_stands_on_it() {
    if needs_root("the_extents_of_a_sparse_file_are_read_through_whatever_stands_on_it") {
        return;
    }
    let mut disks = Disks::new();
    let place = 500 << 30;
    let disk = disks.with(TIB, &[(place, &noise(65536, 1))]);
    let upper = TestLoop::over(&disk.path);
    let shifted = TestLoop::over_part(&disk.path, MIB, TIB - MIB);
    for device in [&upper, &shifted] {
        let refusal = preflight(&disks.machine, &device.path).expect("it passed");
        assert!(
            refusal.because.contains("data of unknown format at 499.99 GiB")
                || refusal.because.contains("data of unknown format at 500.00 GiB"),
            "{refusal}"
        );
    }
    drop((upper, shifted));
    // The file is gone, and its holes with it: what is not read whole is not known to be empty.
    std::fs::remove_file(&disk.image).unwrap();
    let refusal = preflight(&disks.machine, &disk.path).expect("it passed");
    assert!(refusal.because.contains("cannot be opened") && refusal.destroy.is_some(), "{refusal}");
    let small = disks.with(32 * MIB, &[]);
    std::fs::remove_file(&small.image).unwrap();
    assert!(preflight(&disks.machine, &small.path).is_none());
    drop((small, disk));
    disks.machine.assert_clean();
}

#[test]
fn a_device_is_empty_however_it_came_to_be() {
    if needs_root("a_device_is_empty_however_it_came_to_be") {
        return;
    }
    let mut disks = Disks::new();
    let passes = |machine: &Machine, what: &str, disk: &TestLoop| {
        let refusal = preflight(machine, &disk.path);
        assert!(refusal.is_none(), "{what}: {}", refusal.unwrap());
    };
    let fresh = disks.with(64 * MIB, &[]);
    passes(&disks.machine, "a fresh one", &fresh);
    let large = disks.with(TIB, &[]);
    passes(&disks.machine, "a large one", &large);
    let zeroed = disks.with(40 * MIB, &[]);
    run("dd", &["if=/dev/zero", &format!("of={}", zeroed.path.display()), "bs=1M", "count=40", "conv=fsync"]);
    passes(&disks.machine, "a zeroed one", &zeroed);
    let discarded = disks.with(64 * MIB, &[(0, &noise(4 << 20, 1)), (40 * MIB, &noise(4096, 2))]);
    assert!(preflight(&disks.machine, &discarded.path).is_some());
    run("blkdiscard", &[discarded.path.to_str().unwrap()]);
    passes(&disks.machine, "a discarded one", &discarded);
    let reserved = disks.image(300 * MIB);
    run("fallocate", &["--length", "300M", reserved.to_str().unwrap()]);
    passes(&disks.machine, "a reserved one", &TestLoop::over(&reserved));
    // Only the part that the device shows counts.
    let beside = disks.image(64 * MIB);
    File::options().write(true).open(&beside).unwrap().write_all_at(&noise(4096, 3), 60 * MIB).unwrap();
    passes(&disks.machine, "a part", &TestLoop::over_part(&beside, 0, 32 * MIB));
    drop((fresh, large, zeroed, discarded));
    disks.machine.assert_clean();
}
