//! Jobs on real files: what is counted, what is left in the file, and what happens when something goes wrong.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test may fail, and says what it skips")]

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iostone_engine::{
    EngineError, EngineKind, Job, Operation, Outcome, Phase, Preparation, Stamp, prepare, run,
};
use iostone_model::load::{IoEngine, Rw, SyncMode};
use iostone_model::units::{Bytes, Span};
use tempfile::TempDir;

const BLOCK: u64 = 4096;
const ALL: [Rw; 4] = [Rw::Read, Rw::Write, Rw::RandRead, Rw::RandWrite];

/// A folder on the disk that holds the build, since a memory filesystem has no holes to find or pages to drop.
fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn job(folder: &TempDir, rw: Rw) -> Job {
    let mut job = Job::new(folder.path().join("data"), rw);
    job.size = Some(Bytes(64 * BLOCK));
    job
}

fn measure(job: &Job) -> Outcome {
    run(job, &AtomicBool::new(false), &mut |_| ()).unwrap()
}

fn refusal(job: &Job) -> String {
    prepare(job).unwrap_err().to_string()
}

/// The engines that can be tried here: the ring only where the machine has one.
fn engines() -> Vec<(IoEngine, u32)> {
    let mut job = Job::new("/dev/zero", Rw::Read);
    job.size = Some(Bytes(BLOCK));
    job.engine = IoEngine::IoUring;
    let mut engines = vec![(IoEngine::Sync, 1)];
    match prepare(&job) {
        Ok(_) => engines.extend([(IoEngine::IoUring, 1), (IoEngine::IoUring, 32)]),
        Err(error) => eprintln!("skipped: {error}"),
    }
    engines
}

fn blocks_of(path: &Path) -> Vec<Vec<u8>> {
    fs::read(path).unwrap().chunks(4096).map(<[u8]>::to_vec).collect()
}

#[test]
fn a_size_bound_is_counted_exactly_in_every_direction_by_every_engine() {
    for (engine, iodepth) in engines() {
        for rw in ALL {
            let folder = folder();
            let mut job = job(&folder, rw);
            (job.engine, job.iodepth) = (engine, iodepth);
            job.io_size = Some(Bytes(150 * BLOCK));
            let outcome = measure(&job);
            let (done, other) = if rw.writes() {
                (&outcome.writes, &outcome.reads)
            } else {
                (&outcome.reads, &outcome.writes)
            };
            assert_eq!((done.ios, done.bytes), (150, Bytes(150 * BLOCK)), "{rw:?} {engine:?} {iodepth}");
            assert_eq!((done.latency.count(), other.ios), (150, 0));
            assert_eq!(outcome.series.ios.iter().sum::<u64>(), 150);
            assert_eq!(outcome.series.bytes.iter().sum::<u64>(), 150 * BLOCK);
            assert!(outcome.error.is_none() && !outcome.interrupted);
            assert_eq!(fs::metadata(&job.targets[0]).unwrap().len(), 64 * BLOCK);
            let wanted = if engine == IoEngine::Sync { EngineKind::Sync } else { EngineKind::IoUring };
            assert_eq!(outcome.engine.kind, wanted);
        }
    }
}

#[test]
fn a_pass_of_writes_replaces_every_block_with_data_that_never_repeats() {
    for (engine, iodepth) in engines() {
        for rw in [Rw::Write, Rw::RandWrite] {
            let folder = folder();
            let mut job = job(&folder, rw);
            (job.engine, job.iodepth) = (engine, iodepth);
            // Laid out by preparing, so that the run's own writes can be told from it.
            let prepared = prepare(&job).unwrap();
            let before: HashSet<Vec<u8>> = blocks_of(&job.targets[0]).into_iter().collect();
            assert_eq!((before.len(), prepared.layout().written), (64, Bytes(64 * BLOCK)));
            prepared.run(&AtomicBool::new(false), &mut |_| ()).unwrap();
            let after = blocks_of(&job.targets[0]);
            assert!(after.iter().all(|block| !before.contains(block)), "{rw:?} {engine:?} {iodepth}");
            let sectors: HashSet<&[u8]> = after.iter().flat_map(|block| block.chunks(512)).collect();
            assert_eq!(sectors.len(), 64 * 8);
        }
    }
}

#[test]
fn threads_share_a_sequential_span_and_each_cover_a_random_one() {
    for (rw, ios) in [(Rw::Write, 64), (Rw::RandWrite, 3 * 64), (Rw::Read, 64)] {
        let folder = folder();
        let mut job = job(&folder, rw);
        job.numjobs = 3;
        let prepared = prepare(&job).unwrap();
        let before: HashSet<Vec<u8>> = blocks_of(&job.targets[0]).into_iter().collect();
        let outcome = prepared.run(&AtomicBool::new(false), &mut |_| ()).unwrap();
        assert_eq!((outcome.ios(), outcome.threads), (ios, 3), "{rw:?}");
        let kept = blocks_of(&job.targets[0]).iter().filter(|block| before.contains(*block)).count();
        assert_eq!(kept, if rw.writes() { 0 } else { 64 });
    }
}

#[test]
fn syncs_follow_every_nth_write_and_are_no_part_of_the_rate() {
    for (engine, iodepth) in engines() {
        for (fsync, fdatasync, ios, syncs) in
            [(0, 10, 64, 6), (7, 0, 64, 9), (0, 1, 20, 20), (4, 6, 24, 8), (64, 0, 63, 0)]
        {
            let folder = folder();
            let mut job = job(&folder, Rw::RandWrite);
            (job.engine, job.iodepth) = (engine, iodepth);
            (job.fsync, job.fdatasync) = (fsync, fdatasync);
            job.io_size = Some(Bytes(ios * BLOCK));
            let outcome = measure(&job);
            assert_eq!((outcome.writes.ios, outcome.syncs.count), (ios, syncs), "{engine:?} {iodepth}");
            assert_eq!(outcome.syncs.latency.count(), syncs);
            let durable = &outcome.syncs.durable_write;
            assert_eq!(durable.count(), if fdatasync == 1 { syncs } else { 0 });
            if fdatasync == 1 {
                // A durable write is a write and its sync.
                assert!(durable.sum_ns() >= outcome.syncs.latency.sum_ns());
            }
        }
    }
}

#[test]
fn flags_are_read_back_from_the_kernel() {
    let flags = |sync, direct| {
        let folder = folder();
        let mut job = job(&folder, Rw::Write);
        (job.sync, job.direct) = (sync, direct);
        run(&job, &AtomicBool::new(false), &mut |_| ()).map(|outcome| outcome.open_flags)
    };
    assert_eq!(flags(SyncMode::None, false).unwrap(), Vec::<String>::new());
    assert_eq!(flags(SyncMode::Dsync, false).unwrap(), ["O_DSYNC"]);
    assert_eq!(flags(SyncMode::Sync, false).unwrap(), ["O_SYNC"]);
    match flags(SyncMode::Dsync, true) {
        Ok(flags) => assert_eq!(flags, ["O_DIRECT", "O_DSYNC"]),
        Err(error) => eprintln!("skipped: {error}"),
    }
}

#[test]
fn direct_io_moves_the_same_blocks() {
    for (engine, iodepth) in engines() {
        for rw in ALL {
            let folder = folder();
            let mut job = job(&folder, rw);
            (job.engine, job.iodepth, job.direct) = (engine, iodepth, true);
            let prepared = match prepare(&job) {
                Ok(prepared) => prepared,
                Err(error) => return eprintln!("skipped: {error}"),
            };
            let outcome = prepared.run(&AtomicBool::new(false), &mut |_| ()).unwrap();
            assert_eq!((outcome.ios(), outcome.error), (64, None), "{rw:?} {engine:?} {iodepth}");
        }
    }
}

#[test]
fn an_unaligned_block_is_refused_for_direct_io_with_the_alignment_it_needs() {
    let folder = folder();
    let mut job = job(&folder, Rw::Read);
    (job.bs, job.size, job.direct) = (Bytes(100).into(), Some(Bytes(100_000)), true);
    let message = refusal(&job);
    if message.contains("has no O_DIRECT") {
        return eprintln!("skipped: {message}");
    }
    assert!(
        message.contains("it must be a multiple of 512B")
            || message.contains("it must be a multiple of 4KiB"),
        "{message}"
    );
    assert!(!job.targets[0].exists(), "what was made is removed when preparing fails");
}

#[test]
fn the_ramp_is_in_no_figure() {
    for (engine, iodepth) in engines() {
        let folder = folder();
        let mut job = job(&folder, Rw::RandRead);
        (job.engine, job.iodepth) = (engine, iodepth);
        job.ramp_time = Span(Duration::from_millis(20));
        job.io_size = Some(Bytes(100 * BLOCK));
        let outcome = measure(&job);
        assert_eq!((outcome.reads.ios, outcome.reads.latency.count()), (100, 100));
        assert_eq!(outcome.series.ios.iter().sum::<u64>(), 100);
    }
}

#[test]
fn a_timed_window_is_as_long_as_asked_for_and_so_is_its_series() {
    for (engine, iodepth) in engines() {
        for stamp in [Stamp::PerBatch, Stamp::PerIo] {
            let folder = folder();
            let mut job = job(&folder, Rw::RandRead);
            (job.engine, job.iodepth, job.stamp, job.numjobs) = (engine, iodepth, stamp, 2);
            job.runtime = Some(Span(Duration::from_millis(250)));
            let outcome = measure(&job);
            assert_eq!(outcome.elapsed, Span(Duration::from_millis(250)));
            assert_eq!((outcome.series.ios.len(), outcome.stamp), (3, stamp));
            assert_eq!(outcome.series.ios.iter().sum::<u64>(), outcome.ios());
            assert!((outcome.iops() - outcome.ios() as f64 / 0.25).abs() < 1e-6);
            assert!(outcome.cpu.submitters.total_seconds() <= outcome.cpu.process.total_seconds() + 0.01);
            assert!(outcome.latency().percentile_ns(0.5) <= outcome.latency().percentile_ns(0.99));
        }
    }
}

#[test]
fn a_stop_keeps_what_was_counted() {
    for (engine, iodepth) in engines() {
        let folder = folder();
        let mut job = job(&folder, Rw::RandRead);
        (job.engine, job.iodepth) = (engine, iodepth);
        job.runtime = Some(Span(Duration::from_secs(3600)));
        let stop = AtomicBool::new(false);
        let mut told = Vec::new();
        let outcome = run(&job, &stop, &mut |progress| {
            told.push(progress);
            if progress.phase == Phase::Measure && progress.ios > 0 {
                stop.store(true, Ordering::Relaxed);
            }
        })
        .unwrap();
        assert!(outcome.interrupted && outcome.error.is_none());
        assert!(outcome.ios() >= told.last().unwrap().ios);
    }
}

#[test]
fn a_file_truncated_under_the_job_is_a_short_read_and_keeps_the_figures() {
    for (engine, iodepth) in engines() {
        let folder = folder();
        let mut job = job(&folder, Rw::Read);
        (job.engine, job.iodepth) = (engine, iodepth);
        let prepared = prepare(&job).unwrap();
        OpenOptions::new().write(true).open(&job.targets[0]).unwrap().set_len(40 * BLOCK + 100).unwrap();
        let outcome = prepared.run(&AtomicBool::new(false), &mut |_| ()).unwrap();
        let fault = outcome.error.clone().unwrap();
        assert_eq!((fault.operation, fault.errno, fault.name.as_str()), (Operation::Read, 0, "short read"));
        // Completions may be reaped in any order, but none lies within what is left.
        assert!(fault.offset.0 >= 40 * BLOCK, "{fault}");
        if iodepth == 1 {
            assert_eq!((fault.offset, fault.transferred), (Bytes(40 * BLOCK), Bytes(100)));
        }
        assert_eq!((outcome.reads.ios, fault.completed_ios), (40, 40));
    }
}

#[test]
fn a_full_device_ends_the_job_with_its_errno() {
    for (engine, iodepth) in engines() {
        let mut job = Job::new("/dev/full", Rw::Write);
        (job.engine, job.iodepth, job.size) = (engine, iodepth, Some(Bytes(64 * BLOCK)));
        let outcome = measure(&job);
        let fault = outcome.error.clone().unwrap();
        assert_eq!((fault.operation, fault.name.as_str()), (Operation::Write, "ENOSPC"));
        assert_eq!((outcome.writes.ios, fault.completed_ios), (0, 0));
    }
}

#[test]
fn a_sparse_or_short_file_is_laid_out_and_a_whole_one_is_left_alone() {
    let folder = folder();
    let job = job(&folder, Rw::Read);
    let file = File::create(&job.targets[0]).unwrap();
    file.write_all_at(&[9; 4096], 8 * BLOCK).unwrap();
    file.set_len(32 * BLOCK).unwrap();
    let layout = *prepare(&job).unwrap().layout();
    assert_eq!((layout.written, layout.created), (Bytes(63 * BLOCK), false));
    assert_eq!(blocks_of(&job.targets[0])[8], [9; 4096]);
    assert!(fs::metadata(&job.targets[0]).unwrap().blocks() * 512 >= 64 * BLOCK);
    let again = *prepare(&job).unwrap().layout();
    assert_eq!((again.written, again.took), (Bytes(0), Span::default()));
}

#[test]
fn without_layout_nothing_is_written_before_the_job() {
    let folder = folder();
    let mut job = job(&folder, Rw::Write);
    job.preparation = Preparation::Leave;
    let prepared = prepare(&job).unwrap();
    assert_eq!(fs::metadata(&job.targets[0]).unwrap().len(), 0);
    assert_eq!(prepared.run(&AtomicBool::new(false), &mut |_| ()).unwrap().writes.ios, 64);
    job.rw = Rw::Read;
    job.size = Some(Bytes(65 * BLOCK));
    assert!(refusal(&job).contains("has 256KiB where 260KiB are needed, and it is to be left as it is"));
}

#[test]
fn what_has_no_size_asks_for_one() {
    let folder = folder();
    let mut job = job(&folder, Rw::Read);
    job.size = None;
    assert!(refusal(&job).contains("does not exist: give `size`"));
    File::create(&job.targets[0]).unwrap();
    assert!(refusal(&job).contains("is empty: give `size`"));
    job.targets[0] = PathBuf::from("/dev/zero");
    assert!(refusal(&job).contains("has no size of its own: give `size`"));
    job.targets[0] = folder.path().to_owned();
    assert!(refusal(&job).contains("is a directory"));
}

#[test]
fn more_sequential_threads_than_blocks_are_refused() {
    let folder = folder();
    let mut job = job(&folder, Rw::Read);
    job.numjobs = 65;
    assert!(matches!(prepare(&job), Err(EngineError::Invalid { field: "numjobs", .. })));
}

#[test]
fn the_target_is_closed_and_threads_have_ended_afterwards() {
    for (engine, iodepth) in engines() {
        let folder = folder();
        let mut job = job(&folder, Rw::RandWrite);
        (job.engine, job.iodepth, job.numjobs) = (engine, iodepth, 2);
        measure(&job);
        let open =
            fs::read_dir("/proc/self/fd").unwrap().flatten().filter_map(|fd| fs::read_link(fd.path()).ok());
        assert_eq!(open.filter(|path| *path == job.targets[0]).count(), 0);
    }
}

#[test]
fn the_same_seed_gives_the_same_file_and_another_seed_another() {
    let written = |seed| {
        let folder = folder();
        let mut job = job(&folder, Rw::RandWrite);
        job.seed = seed;
        measure(&job);
        fs::read(&job.targets[0]).unwrap()
    };
    assert!(written(1) == written(1));
    assert!(written(1) != written(2));
}
