//! The ledger outlives its process, and is refused where it does not fit.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use iostone_model::load::Rw;
use iostone_model::units::Bytes;

use super::*;
use crate::job::Verify;
use crate::pins::Pins;

const CHILD: &str = "IOSTONE_TEST_LEDGER";

fn job(folder: &Path) -> Job {
    let verify = Some(Verify { ledger: Some(folder.join("ledger")), ..Verify::default() });
    Job { verify, ..Job::new(folder.join("data"), Rw::RandWrite) }
}

fn part(units: u64) -> Part {
    Part { offset_bytes: 0, length_bytes: units * 4096 }
}

fn message(job: &Job, units: u64) -> String {
    Ledger::open(job, &[part(units)], &Pins::default()).unwrap_err().to_string()
}

#[test]
fn every_number_is_there_after_the_process_was_killed() {
    // This test runs itself again as the process that is killed.
    if let Some(folder) = std::env::var_os(CHILD) {
        let ledger = Ledger::open(&job(Path::new(&folder)), &[part(1000)], &Pins::default()).unwrap();
        for unit in 0..1000 {
            let entry = ledger.entry(unit).unwrap();
            for _ in 0..=unit {
                entry.issue();
            }
            if unit % 2 == 0 {
                entry.acknowledge();
            }
            if unit % 4 == 0 {
                entry.make_durable();
            }
        }
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let name = "verify::ledger::tests::every_number_is_there_after_the_process_was_killed";
    let status = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact"])
        .env(CHILD, folder.path())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.signal(), Some(libc::SIGKILL));
    let ledger = Ledger::open(&job(folder.path()), &[part(1000)], &Pins::default()).unwrap();
    for (unit, issued) in (0..1000).zip(1..) {
        let entry = ledger.entry(unit).unwrap();
        assert_eq!(entry.issued(), issued);
        assert_eq!(entry.acknowledged(), if unit % 2 == 0 { issued } else { 0 });
        assert_eq!(entry.durable(), if unit % 4 == 0 { issued } else { 0 });
    }
}

#[test]
fn the_file_is_as_documented() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&job(folder.path()), &[part(3)], &Pins::default()).unwrap();
    let entry = ledger.entry(1).unwrap();
    entry.issue();
    entry.issue();
    entry.acknowledge();
    entry.make_durable();
    entry.issue();
    let bytes = std::fs::read(folder.path().join("ledger")).unwrap();
    assert_eq!((bytes.len(), &bytes[..8]), (65_536 + 36, &b"iosLedgr"[..]));
    assert_eq!(check_ledger_head(&bytes), Ok(65_536));
    assert_eq!(bytes[65_536 + 12..65_536 + 24], [3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0]);
}

#[test]
fn a_generation_stays_at_the_last_number() {
    let entry = Entry::default();
    entry.settle(5);
    entry.issued.store(u32::MAX.to_le(), Ordering::Relaxed);
    assert_eq!(entry.issue(), u32::MAX);
}

#[test]
fn a_ledger_of_something_else_is_refused_and_both_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let original = job(folder.path());
    let ledger = folder.path().join("ledger").display().to_string();
    let refusal = |rest: String| format!("the ledger `{ledger}` cannot be used: {rest}");
    drop(Ledger::open(&original, &[part(8)], &Pins::default()).unwrap());

    let mut other = original.clone();
    other.verify.as_mut().unwrap().unit = Some(Bytes(512));
    let wanted = "it was made for a `verify_interval` of 4KiB, and this job has 512B";
    assert_eq!(message(&other, 8), refusal(wanted.into()));

    let other = Job { seed: 9, ..original.clone() };
    assert_eq!(message(&other, 8), refusal("it was made for a seed of 0, and this job has 9".into()));

    let data = folder.path().join("data").display().to_string();
    let wanted = format!(
        "it was made for the span of 32KiB from 0B on in `{data}`, and this job has 64KiB from 0B on in `{data}`"
    );
    assert_eq!(message(&original, 16), refusal(wanted));

    let other = Job { targets: vec![folder.path().join("else")], ..original.clone() };
    let wanted =
        format!("it was made for the target `{data}`, and this job has `{}`", other.targets[0].display());
    assert_eq!(message(&other, 8), refusal(wanted));
    assert!(Ledger::open(&original, &[part(8)], &Pins::default()).is_ok());
}

#[test]
fn what_is_no_ledger_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let job = job(folder.path());
    let path = folder.path().join("ledger");
    std::fs::write(&path, "a letter").unwrap();
    assert!(
        message(&job, 8).ends_with("it is no ledger, or one that was not finished; remove it to begin anew")
    );
    assert_eq!(std::fs::read(&path).unwrap(), b"a letter");

    std::fs::remove_file(&path).unwrap();
    drop(Ledger::open(&job, &[part(100_000)], &Pins::default()).unwrap());
    OpenOptions::new().write(true).open(&path).unwrap().set_len(70_000).unwrap();
    assert!(message(&job, 100_000).ends_with("it has 70000 bytes where 1265536 are needed"));
}

#[test]
fn a_ledger_in_use_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let job = job(folder.path());
    let _first = Ledger::open(&job, &[part(8)], &Pins::default()).unwrap();
    assert!(message(&job, 8).ends_with("another process is using it"));
}

#[test]
fn a_job_that_only_reads_needs_a_ledger_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let job = Job { rw: Rw::Read, ..job(folder.path()) };
    assert!(message(&job, 8).contains("it does not exist, and a job that writes nothing"));
    assert!(!folder.path().join("ledger").exists());
}

#[test]
fn too_many_units_and_blocks_between_units_are_refused() {
    let job = Job { verify: Some(Verify::default()), ..Job::new("/f", Rw::RandWrite) };
    let error = message(&job, MOST_UNITS + 1);
    assert_eq!(
        error,
        "`verify_interval` of `4KiB` is refused: 4294967297 units would have to be remembered, and 4294967296 is the \
         most; take larger ones"
    );
    let mut between = job.clone();
    between.walk.align = Some(Bytes(512));
    assert_eq!(
        message(&between, 8),
        "`blockalign` of `512B` is refused: it must be a multiple of `verify_interval` = 4KiB"
    );
}

#[test]
fn units_of_several_targets_are_numbered_through() {
    let job = Job {
        targets: vec!["/a".into(), "/b".into()],
        verify: Some(Verify::default()),
        ..Job::new("/a", Rw::RandWrite)
    };
    let second = Part { offset_bytes: 8192, length_bytes: 5 * 4096 + 100 };
    let ledger = Ledger::open(&job, &[part(3), second], &Pins::default()).unwrap();
    assert_eq!(ledger.units_of(0, 0, 1 << 20), 0..3);
    assert_eq!(ledger.units_of(1, 8192, 4096), 3..4);
    assert_eq!(ledger.units_of(1, 16_384, 1 << 20), 5..8);
    assert_eq!(ledger.units_of(1, 0, 4096), 0..0);
    assert_eq!(ledger.units_of(2, 0, 4096), 0..0);
    assert_eq!(ledger.offset_of(1, 5), 16_384);
    assert!(ledger.entry(7).is_some() && ledger.entry(8).is_none());
}
