//! Whole verifying jobs: what they write is found right, damage between two jobs is found and named, and a job that
//! is killed leaves a ledger that the next one can go by.
#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test may fail, and its files are small"
)]

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use iostone_engine::{
    Checksum, Data, Job, MismatchKind, Outcome, Verify, VerifyReport, run, uring_available,
};
use iostone_model::load::{BlockSizes, PerDirection, Rw};
use iostone_model::units::{Bytes, Span};

const SIZE: u64 = 4 << 20;
const UNIT: u64 = 4096;

fn job(folder: &Path, rw: Rw) -> Job {
    let ledger = Some(folder.join("ledger"));
    let verify = Some(Verify { ledger, ..Verify::default() });
    let iodepth = if uring_available().is_ok() { 16 } else { 1 };
    Job { size: Some(Bytes(SIZE)), iodepth, numjobs: 2, verify, ..Job::new(folder.join("data"), rw) }
}

fn done(job: &Job) -> (Outcome, VerifyReport) {
    let outcome = run(job, &AtomicBool::new(false), &mut |_| ()).unwrap();
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    let report = outcome.verify.clone().unwrap();
    (outcome, report)
}

/// What a job of its own finds that writes nothing.
fn look(job: &Job) -> VerifyReport {
    let verify = Verify { only: true, ..job.verify.clone().unwrap() };
    done(&Job { verify: Some(verify), ..job.clone() }).1
}

fn target(job: &Job) -> File {
    OpenOptions::new().read(true).write(true).open(&job.targets[0]).unwrap()
}

fn read(job: &Job, offset: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    target(job).read_exact_at(&mut bytes, offset).unwrap();
    bytes
}

#[test]
fn everything_written_is_found_by_the_job_itself_and_by_the_next() {
    let split = PerDirection::all(BlockSizes::Split("4KiB/50:16KiB/30:64KiB/20".parse().unwrap()));
    let compressible = Data { compress_percent: 50, dedupe_percent: 20, ..Data::default() };
    for rw in [Rw::Write, Rw::RandWrite, Rw::ReadWrite, Rw::RandRw] {
        for (bs, data, checksum) in [
            (Bytes(UNIT).into(), Data::default(), Checksum::Crc32c),
            (split.clone(), Data::default(), Checksum::Sha256),
            (split.clone(), compressible.clone(), Checksum::Crc32c),
            (Bytes(8192).into(), Data::default(), Checksum::Pattern(b"iostone".to_vec())),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let mut job = Job { bs, data, fdatasync: 50, ..job(folder.path(), rw) };
            job.verify.as_mut().unwrap().checksum = checksum;
            for _ in 0..2 {
                let (_, report) = done(&job);
                assert_eq!(report.mismatch_count, 0, "{rw:?}: {:?}", report.mismatches);
                assert!(report.units_checked > 0);
            }
            let report = look(&job);
            assert_eq!(report.mismatch_count, 0, "{rw:?}: {:?}", report.mismatches);
            if rw == Rw::Write {
                assert_eq!(report.bytes_checked, Bytes(SIZE));
            }
        }
    }
}

#[test]
fn damage_between_two_jobs_is_found_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let job = job(folder.path(), Rw::RandWrite);
    done(&job);
    let old = read(&job, 0, SIZE as usize);
    done(&job);
    let file = target(&job);
    let at = |unit: usize| unit * UNIT as usize;
    // Each on a unit of its own.
    let flipped = read(&job, 3 * UNIT + 700, 1)[0] ^ 0x20;
    file.write_all_at(&[flipped], 3 * UNIT + 700).unwrap();
    file.write_all_at(&old[at(5) + 2048..at(6)], 5 * UNIT + 2048).unwrap();
    file.write_all_at(&old[at(700)..at(701)], 700 * UNIT).unwrap();
    file.write_all_at(&read(&job, 40 * UNIT, at(1)), 900 * UNIT).unwrap();
    file.write_all_at(&[0; UNIT as usize], 901 * UNIT).unwrap();
    let report = look(&job);
    let mut found: Vec<(u64, u64, MismatchKind)> =
        report.mismatches.iter().map(|found| (found.offset.0 / UNIT, found.at.0, found.kind)).collect();
    found.sort_unstable_by_key(|(unit, ..)| *unit);
    assert_eq!(
        found,
        [
            (3, 3 * UNIT + 700, MismatchKind::Flipped),
            (5, 5 * UNIT + 2048, MismatchKind::Torn),
            (700, 700 * UNIT, MismatchKind::Stale),
            (900, 900 * UNIT, MismatchKind::Misplaced),
            (901, 901 * UNIT, MismatchKind::Zeros),
        ]
    );
    assert_eq!((report.mismatch_count, report.units_checked), (5, SIZE / UNIT));
}

/// What a ledger holds behind its head, which is a page of 64 KiB for a few targets.
fn generations(folder: &Path) -> Vec<u8> {
    let bytes = std::fs::read(folder.join("ledger")).unwrap_or_default();
    bytes.get(65_536..).unwrap_or_default().iter().copied().skip_while(|byte| *byte == 0).collect()
}

const CHILD: &str = "IOSTONE_TEST_VERIFY";

#[test]
fn a_job_that_is_killed_leaves_nothing_that_is_taken_for_damage() {
    // This test runs itself again as the process that is killed.
    if let Some(folder) = std::env::var_os(CHILD) {
        let mut job = job(Path::new(&folder), Rw::RandWrite);
        job.runtime = Some(Span(Duration::from_secs(60)));
        run(&job, &AtomicBool::new(false), &mut |_| ()).unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let job = job(folder.path(), Rw::RandWrite);
    for _ in 0..3 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["verify::a_job_that_is_killed_leaves_nothing_that_is_taken_for_damage", "--exact"])
            .env(CHILD, folder.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // In the middle of its writes: once some are on record.
        let before = generations(folder.path());
        while generations(folder.path()) == before && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(20));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let report = look(&job);
        assert_eq!(report.mismatch_count, 0, "{:?}", report.mismatches);
        assert!(report.units_checked > 0);
    }
}

#[test]
fn a_backlog_and_a_fatal_mismatch_are_honoured() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = job(folder.path(), Rw::Write);
    job.verify.as_mut().unwrap().backlog = 100;
    let (_, report) = done(&job);
    assert_eq!((report.units_checked, report.mismatch_count), (SIZE / UNIT, 0));

    target(&job).write_all_at(&[0; 100], 0).unwrap();
    let verify = Verify { fatal: true, backlog: 0, only: true, ..job.verify.clone().unwrap() };
    let only = Job { verify: Some(verify), ..job.clone() };
    let outcome = run(&only, &AtomicBool::new(false), &mut |_| ()).unwrap();
    assert_eq!(outcome.verify.unwrap().mismatch_count, 1);
}
