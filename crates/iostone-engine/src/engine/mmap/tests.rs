//! Transfers, syncs and discards through a mapping, and what becomes of one whose file shrinks or cannot grow.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::source::Request;

const BLOCK: u32 = 4096;
const MIB: u64 = 1 << 20;

fn open(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap()
}

/// Files of zeros, without blocks, in a folder that must outlive them.
fn sparse<const N: usize>(size: u64) -> (TempDir, [File; N]) {
    let folder = tempfile::tempdir().unwrap();
    let files = std::array::from_fn(|index| open(&folder.path().join(index.to_string())));
    for file in &files {
        file.set_len(size).unwrap();
    }
    (folder, files)
}

fn whole(size: u64) -> Part {
    Part { offset_bytes: 0, length_bytes: size }
}

fn request(direction: Direction, offset_bytes: u64) -> Request {
    Request { direction, target: 0, offset_bytes, length_bytes: BLOCK }
}

fn complete(engine: &mut MmapEngine) -> Completion {
    assert_eq!((engine.room(), engine.arrived()), (0, 0));
    engine.enter(1, None).unwrap();
    assert_eq!(engine.arrived(), 1);
    let mut completions = Vec::new();
    engine.reap(|completion| completions.push(completion));
    assert_eq!((completions.len(), engine.room(), engine.arrived()), (1, 1, 0));
    completions[0]
}

/// Does a request, for writes with a block full of `mark`.
fn perform(engine: &mut MmapEngine, request: Request, mark: u8) -> i32 {
    let place = engine.arena().place(0, 0);
    engine.arena().block_mut(place).fill(mark);
    engine.queue(Transfer { slot: 0, place, request });
    let completion = complete(engine);
    assert_eq!(completion.tag, 0);
    completion.result
}

fn sync(engine: &mut MmapEngine, target: u32, kind: SyncKind) -> i32 {
    engine.queue_sync(target, kind);
    let completion = complete(engine);
    assert_eq!(completion.tag, SYNC_TAG);
    completion.result
}

fn block_of(file: &File, offset: u64) -> Vec<u8> {
    let mut bytes = vec![0; BLOCK as usize];
    file.read_exact_at(&mut bytes, offset).unwrap();
    bytes
}

fn assert_all(bytes: &[u8], mark: u8) {
    assert!(bytes.iter().all(|byte| *byte == mark));
}

#[test]
fn blocks_go_to_and_come_from_their_place_in_their_target() {
    let (_folder, files) = sparse::<2>(MIB);
    let mut arena = Arena::map(1, BLOCK, false).unwrap();
    // Neither the part nor the block begins with a page.
    let parts = [Part { offset_bytes: 5000, length_bytes: 100_000 }, whole(MIB)];
    let mut engine = MmapEngine::new(&files, true, &parts, &mut arena).unwrap();
    engine.advise(true).unwrap();
    assert_eq!(perform(&mut engine, request(Direction::Write, 9000), 7), 4096);
    let second = Request { target: 1, length_bytes: 512, ..request(Direction::Write, MIB - 512) };
    assert_eq!(perform(&mut engine, second, 8), 512);
    let bytes = block_of(&files[0], 8000);
    assert_all(&bytes[..1000], 0);
    assert_all(&bytes[1000..], 7);
    let bytes = block_of(&files[1], MIB - 4096);
    assert_all(&bytes[..3584], 0);
    assert_all(&bytes[3584..], 8);

    files[0].write_all_at(&[9; 4096], 50_000).unwrap();
    assert_eq!(perform(&mut engine, request(Direction::Read, 50_000), 0), 4096);
    let place = engine.arena().place(0, 0);
    assert_all(engine.arena().block_mut(place), 9);
    // The rest of a write.
    engine.arena().block_mut(place).fill(6);
    let transfer = Transfer { slot: 0, place, request: request(Direction::Write, 60_000) };
    engine.write_rest(transfer, 4000).unwrap();
    assert_all(&block_of(&files[0], 60_000)[..4000], 0);
    assert_all(&block_of(&files[0], 60_000)[4000..], 6);
}

#[test]
fn large_blocks_are_copied_whole() {
    let size = 5 * MIB + 777;
    let (_folder, files) = sparse::<1>(size);
    let length_bytes = u32::try_from(size - 333).unwrap();
    let mut arena = Arena::map(1, length_bytes, false).unwrap();
    let mut engine = MmapEngine::new(&files, true, &[whole(size)], &mut arena).unwrap();
    let all = Request { length_bytes, ..request(Direction::Write, 333) };
    assert_eq!(perform(&mut engine, all, 7), length_bytes.cast_signed());
    let mut bytes = vec![0; length_bytes as usize];
    files[0].read_exact_at(&mut bytes, 333).unwrap();
    assert_all(&bytes, 7);
    assert_all(&block_of(&files[0], 0)[..333], 0);
    let back = Request { direction: Direction::Read, ..all };
    assert_eq!(perform(&mut engine, back, 0), length_bytes.cast_signed());
    let place = engine.arena().place(0, 0);
    assert_all(engine.arena().block_mut(place), 7);
}

#[test]
fn syncs_cover_what_is_mapped() {
    let (_folder, files) = sparse::<2>(MIB);
    let mut arena = Arena::map(1, BLOCK, false).unwrap();
    let parts = [Part { offset_bytes: 8192, length_bytes: 10_000 }, whole(0)];
    let mut engine = MmapEngine::new(&files, true, &parts, &mut arena).unwrap();
    engine.advise(false).unwrap();
    perform(&mut engine, request(Direction::Write, 8192), 7);
    let range = |offset_bytes, length_bytes| SyncKind::Range { flags: 7, offset_bytes, length_bytes };
    for kind in [
        SyncKind::All,
        SyncKind::Data,
        range(9000, 1),
        range(9000, 0),
        range(0, 4096),
        range(18_191, u32::MAX),
        range(u64::MAX, 1),
    ] {
        assert_eq!((sync(&mut engine, 0, kind), sync(&mut engine, 1, kind)), (0, 0), "{kind:?}");
    }
    assert_eq!(sync(&mut engine, 2, SyncKind::All), -libc::EBADF);
}

#[test]
fn a_discard_shows_in_the_mapping() {
    let (_folder, files) = sparse::<1>(MIB);
    let mut arena = Arena::map(1, BLOCK, false).unwrap();
    let mut engine = MmapEngine::new(&files, true, &[whole(MIB)], &mut arena).unwrap();
    perform(&mut engine, request(Direction::Write, 4096), 7);
    assert_eq!(perform(&mut engine, request(Direction::Trim, 4096), 0), 4096);
    assert_eq!(perform(&mut engine, request(Direction::Read, 4096), 1), 4096);
    let place = engine.arena().place(0, 0);
    assert_all(engine.arena().block_mut(place), 0);
}

#[test]
fn what_does_not_fit_the_mapping_is_an_errno() {
    let (folder, files) = sparse::<1>(MIB);
    let mut arena = Arena::map(1, BLOCK, false).unwrap();
    let part = Part { offset_bytes: 8192, length_bytes: 8192 };
    let mut engine = MmapEngine::new(&files, false, &[part], &mut arena).unwrap();
    assert_eq!(perform(&mut engine, request(Direction::Read, 8192), 0), 4096);
    assert_eq!(perform(&mut engine, request(Direction::Read, 4096), 0), -libc::EINVAL);
    assert_eq!(perform(&mut engine, request(Direction::Read, 16_000), 0), -libc::EINVAL);
    assert_eq!(perform(&mut engine, request(Direction::Read, u64::MAX - 9000), 0), -libc::EINVAL);
    assert_eq!(perform(&mut engine, request(Direction::Write, 8192), 0), -libc::EBADF);
    let other = Request { target: 1, ..request(Direction::Read, 8192) };
    assert_eq!(perform(&mut engine, other, 0), -libc::EBADF);

    let refused = |files: &[File], part| {
        let mut arena = Arena::map(1, BLOCK, false).unwrap();
        MmapEngine::new(files, true, &[part], &mut arena).unwrap_err().raw_os_error()
    };
    let read_only = [File::open(folder.path().join("0")).unwrap()];
    assert_eq!(refused(&read_only, part), Some(libc::EACCES));
    assert_eq!(refused(&[], part), Some(libc::EINVAL));
    assert_eq!(refused(&files, whole(1 << 60)), Some(libc::ENOMEM));
    let endless = Part { offset_bytes: u64::MAX, length_bytes: u64::MAX };
    assert_eq!(refused(&files, endless), Some(libc::EOVERFLOW));
}

#[test]
fn nothing_to_do_is_no_error() {
    let (_folder, files) = sparse::<1>(MIB);
    let mut arena = Arena::map(1, BLOCK, false).unwrap();
    let mut engine = MmapEngine::new(&files, false, &[whole(MIB)], &mut arena).unwrap();
    engine.enter(0, Some(Duration::from_millis(1))).unwrap();
    engine.enter(1, None).unwrap();
    assert_eq!((engine.room(), engine.arrived()), (1, 0));
}

#[test]
fn a_file_truncated_under_the_mapping_is_an_errno_and_no_signal() {
    let (_folder, files) = sparse::<1>(MIB);
    let mut arena = Arena::map(1, 3 * BLOCK, false).unwrap();
    let mut engine = MmapEngine::new(&files, true, &[whole(MIB)], &mut arena).unwrap();
    engine.advise(true).unwrap();
    for offset in (0..MIB).step_by(4096) {
        assert_eq!(perform(&mut engine, request(Direction::Write, offset), 7), 4096);
    }
    files[0].set_len(MIB / 2).unwrap();
    for direction in [Direction::Read, Direction::Write] {
        for offset in (0..MIB).step_by(4096) {
            let expected = if offset < MIB / 2 { 4096 } else { -libc::EIO };
            assert_eq!(perform(&mut engine, request(direction, offset), 8), expected, "{offset}");
        }
        // One that begins before the end.
        let across = Request { length_bytes: 3 * BLOCK, ..request(direction, MIB / 2 - 4196) };
        assert_eq!(perform(&mut engine, across, 8), -libc::EIO);
    }
    assert_eq!(sync(&mut engine, 0, SyncKind::All), 0);
    assert_eq!(files[0].metadata().unwrap().len(), MIB / 2);

    // Once the file has grown again, the same pages are the file's and not what stood in for them.
    files[0].set_len(MIB).unwrap();
    let last = MIB - 4096;
    assert_eq!(perform(&mut engine, request(Direction::Write, last), 9), 4096);
    assert_all(&block_of(&files[0], last), 9);
    assert_all(&block_of(&files[0], MIB / 2), 0);
}

#[test]
fn threads_are_struck_each_for_itself() {
    let (_folder, files) = sparse::<1>(MIB);
    thread::scope(|scope| {
        for thread in 0..4u64 {
            let files = &files;
            scope.spawn(move || {
                let mut arena = Arena::map(1, BLOCK, false).unwrap();
                let mut engine = MmapEngine::new(files, false, &[whole(2 * MIB)], &mut arena).unwrap();
                for block in 0..2048 {
                    let offset = (block * 7 + thread) % 512 * 4096;
                    let expected = if offset < MIB { 4096 } else { -libc::EIO };
                    assert_eq!(perform(&mut engine, request(Direction::Read, offset), 0), expected);
                }
            });
        }
    });
}

/// Something mounted on a folder of its own; unmounted when dropped.
struct Mount {
    folder: TempDir,
}

impl Mount {
    fn attach(arguments: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        run(Command::new("mount").args(arguments).arg(folder.path()))?;
        Some(Self { folder })
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let unmounted = |arguments: &[&str]| {
            let mut umount = Command::new("umount");
            umount.args(arguments).arg(self.folder.path()).stderr(Stdio::null());
            umount.status().is_ok_and(|status| status.success())
        };
        // Something that looks at every new mount, as an indexer does, may hold it for a moment.
        let is_gone = (0..50).any(|_| {
            let is_gone = unmounted(&[]);
            if !is_gone {
                sleep(Duration::from_millis(20));
            }
            is_gone
        });
        if !is_gone {
            unmounted(&["--lazy"]);
        }
    }
}

fn run(command: &mut Command) -> Option<()> {
    let output = command.output().ok()?;
    if !output.status.success() {
        eprintln!("skipped: {command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    output.status.success().then_some(())
}

fn assert_full_filesystem_is_an_errno(folder: &Path) {
    const SIZE: u64 = 64 * MIB;
    let files = [open(&folder.join("f"))];
    files[0].set_len(SIZE).unwrap();
    let mut arena = Arena::map(1, BLOCK, false).unwrap();
    let mut engine = MmapEngine::new(&files, true, &[whole(SIZE)], &mut arena).unwrap();
    let mut refused = 0u64;
    for offset in (0..SIZE).step_by(4096) {
        match perform(&mut engine, request(Direction::Write, offset), 7) {
            4096 => assert_all(&block_of(&files[0], offset), 7),
            result => {
                assert_eq!(result, -libc::ENOSPC, "{offset}");
                refused += 1;
            }
        }
    }
    assert!(refused > 0 && refused < SIZE / 4096, "{refused}");
    assert_eq!(sync(&mut engine, 0, SyncKind::All), 0);
    assert!(files[0].metadata().unwrap().blocks() * 512 < SIZE);
}

#[test]
fn a_full_filesystem_is_an_errno_and_no_signal() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    if let Some(mount) = Mount::attach(&["-t", "tmpfs", "-o", "size=1M", "tmpfs"]) {
        assert_full_filesystem_is_an_errno(mount.folder.path());
    }
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    open(&image).set_len(16 * MIB).unwrap();
    if run(Command::new("mkfs.ext4").arg("-q").arg(&image)).is_none() {
        return;
    }
    if let Some(mount) = Mount::attach(&["-o", "loop", image.to_str().unwrap()]) {
        assert_full_filesystem_is_an_errno(mount.folder.path());
    }
}
