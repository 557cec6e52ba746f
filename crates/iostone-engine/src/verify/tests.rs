//! Damage done to real files is found, each kind by its name and place, within a process and across processes.
#![expect(clippy::cast_possible_truncation, reason = "the files here are small")]

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use iostone_model::load::{Direction, Rw};
use tempfile::TempDir;

use super::*;
use crate::job::Verify;
use crate::payload::streams_of_thread;
use crate::pins::Pins;

const UNIT: u64 = 4096;
const UNITS: u64 = 64;
/// The unit that is damaged.
const VICTIM: u64 = 17;

/// A file, a ledger and a job on them.
struct Site {
    folder: TempDir,
    job: Job,
}

/// One process's use of a site.
struct Process<'a> {
    site: &'a Site,
    verifier: Verifier,
    payload: Payload,
    files: Vec<File>,
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        std::fs::write(&path, vec![0xaa; (UNIT * UNITS) as usize]).unwrap();
        let ledger = Some(folder.path().join("ledger"));
        let verify = Some(Verify { ledger, ..Verify::default() });
        let job = Job { verify, seed: 3, fsync: 1000, ..Job::new(path, Rw::RandWrite) };
        Self { folder, job }
    }

    fn verify(&mut self) -> &mut Verify {
        self.job.verify.as_mut().unwrap()
    }

    fn file(&self) -> File {
        OpenOptions::new().read(true).write(true).open(&self.job.targets[0]).unwrap()
    }

    fn whole() -> Part {
        Part { offset_bytes: 0, length_bytes: UNIT * UNITS }
    }

    fn start(&self) -> Process<'_> {
        let ledger = Ledger::open(&self.job, &[Self::whole()], &Pins::default()).unwrap();
        let verifier = Verifier::new(&self.job, ledger, vec![Self::whole()]);
        let payload = Payload::new(&self.job.data, UNIT as usize, streams_of_thread(1, 0).1);
        Process { site: self, verifier, payload, files: vec![self.file()] }
    }

    /// Writes all units once, in one process.
    fn written() -> Self {
        let site = Self::new();
        site.write_all();
        site
    }

    fn write_all(&self) {
        let mut process = self.start();
        (0..UNITS).for_each(|unit| process.write(unit));
    }

    fn unit(&self, unit: u64) -> Vec<u8> {
        let mut bytes = vec![0; UNIT as usize];
        self.file().read_exact_at(&mut bytes, unit * UNIT).unwrap();
        bytes
    }

    fn put(&self, offset: u64, bytes: &[u8]) {
        self.file().write_all_at(bytes, offset).unwrap();
    }

    /// What another process finds.
    fn look(&self) -> VerifyReport {
        let mut process = self.start();
        process.verifier.check_all(&process.files, &AtomicBool::new(false)).unwrap();
        process.verifier.report()
    }

    /// The one mismatch that another process finds.
    fn find(&self) -> Mismatch {
        let report = self.look();
        assert_eq!((report.mismatch_count, report.units_checked), (1, UNITS), "{report:?}");
        report.mismatches[0].clone()
    }
}

fn request(direction: Direction, unit: u64, units: u64) -> Request {
    Request { direction, target: 0, offset_bytes: unit * UNIT, length_bytes: (units * UNIT) as u32 }
}

impl Process<'_> {
    fn submit(&mut self, unit: u64) -> (Request, Vec<u8>) {
        let request = request(Direction::Write, unit, 1);
        let mut block = vec![0; UNIT as usize];
        assert!(!self.verifier.is_busy(&request));
        self.verifier.seal(&request, &mut block, &mut self.payload);
        assert!(self.verifier.is_busy(&request));
        (request, block)
    }

    fn write(&mut self, unit: u64) {
        let (request, block) = self.submit(unit);
        self.site.put(request.offset_bytes, &block);
        self.verifier.acknowledge(&request);
        assert!(!self.verifier.is_busy(&request));
    }

    fn read(&mut self, unit: u64, units: u64) {
        let request = request(Direction::Read, unit, units);
        self.verifier.begin_read(&request);
        let mut block = vec![0; (units * UNIT) as usize];
        self.files[0].read_exact_at(&mut block, request.offset_bytes).unwrap();
        self.verifier.check(&request, &block);
    }

    fn finish(mut self) -> VerifyReport {
        self.verifier.read_back(&self.files, &AtomicBool::new(false)).unwrap();
        self.verifier.report()
    }
}

fn counts(report: &VerifyReport) -> (u64, u64, u64) {
    (report.units_checked, report.units_skipped, report.mismatch_count)
}

#[test]
fn what_was_written_is_found_in_this_process_and_the_next() {
    for (checksum, content) in [
        (Checksum::Crc32c, Content::Noise),
        (Checksum::Sha256, Content::Noise),
        (Checksum::Crc32c, Content::Pattern(vec![7, 8, 9])),
        (Checksum::Crc32c, Content::Zeros),
        (Checksum::Pattern(vec![1, 2, 3]), Content::Noise),
    ] {
        let mut site = Site::new();
        site.verify().checksum = checksum;
        site.job.data.content = content;
        let mut process = site.start();
        for unit in (0..UNITS).step_by(2).chain(0..10) {
            process.write(unit);
        }
        process.read(0, 4);
        assert_eq!(counts(&process.finish()), (4 + 37, 27, 0));
        let report = site.look();
        assert_eq!((counts(&report), report.bytes_checked), ((37, 27, 0), Bytes(37 * UNIT)));
    }
}

#[test]
fn data_of_any_shape_is_verified() {
    for data in [
        Data { compress_percent: 60, ..Data::default() },
        Data { dedupe_percent: 50, ..Data::default() },
        Data { content: Content::Same, ..Data::default() },
    ] {
        let mut site = Site::new();
        site.job.data = data;
        site.write_all();
        assert_eq!(counts(&site.look()), (UNITS, 0, 0));
        let mut unit = site.unit(VICTIM);
        unit[2000] ^= 1;
        site.put(VICTIM * UNIT, &unit);
        let found = site.find();
        assert_eq!((found.kind, found.offset), (MismatchKind::Corrupt, Bytes(VICTIM * UNIT)));
    }
}

#[test]
fn a_flipped_bit_is_found_at_its_byte() {
    for at in [0, 5, 13, 20, 33, 63, 64, 1000, 4095] {
        let site = Site::written();
        let right = site.unit(VICTIM)[at as usize];
        site.put(VICTIM * UNIT + at, &[right ^ 0x10]);
        let found = site.find();
        assert_eq!(found.kind, MismatchKind::Flipped);
        assert_eq!((found.offset, found.at), (Bytes(VICTIM * UNIT), Bytes(VICTIM * UNIT + at)));
        assert_eq!(found.target, site.job.targets[0]);
        assert_eq!(found.expected, format!("0x{right:02x} of generation 1"));
        assert_eq!(found.found, format!("0x{:02x} (bit 4 is wrong)", right ^ 0x10));
    }
}

#[test]
fn a_torn_unit_is_found_where_it_is_torn() {
    let site = Site::written();
    let old = site.unit(VICTIM);
    site.write_all();
    site.put(VICTIM * UNIT + 1536, &old[1536..]);
    let found = site.find();
    assert_eq!((found.kind, found.at), (MismatchKind::Torn, Bytes(VICTIM * UNIT + 1536)));
    assert_eq!(found.expected, "all of it of generation 2");
    assert_eq!(found.found, "generation 2 from byte 0, generation 1 from byte 1536");
    let path = site.job.targets[0].display();
    assert_eq!(
        found.to_string(),
        format!(
            "`{path}` has a torn write at byte 71168, in the unit at 69632: expected all of it of generation 2, found \
             generation 2 from byte 0, generation 1 from byte 1536"
        )
    );
}

#[test]
fn a_stale_unit_is_found_by_its_generation() {
    let site = Site::written();
    let old = site.unit(VICTIM);
    site.write_all();
    site.put(VICTIM * UNIT, &old);
    let found = site.find();
    assert_eq!((found.kind, found.at), (MismatchKind::Stale, Bytes(VICTIM * UNIT)));
    assert_eq!((found.expected.as_str(), found.found.as_str()), ("generation 2", "generation 1"));
}

#[test]
fn a_misplaced_unit_names_where_it_belongs() {
    let site = Site::written();
    site.put(VICTIM * UNIT, &site.unit(40));
    let found = site.find();
    assert_eq!((found.kind, found.offset), (MismatchKind::Misplaced, Bytes(VICTIM * UNIT)));
    assert_eq!(found.found, "generation 1 of offset 163840");
}

#[test]
fn zeros_foreign_data_and_a_missing_end_are_told_apart() {
    let site = Site::written();
    site.put(VICTIM * UNIT, &[0; UNIT as usize]);
    assert_eq!(site.find().kind, MismatchKind::Zeros);
    site.put(VICTIM * UNIT, &[b'A'; UNIT as usize]);
    assert_eq!(site.find().kind, MismatchKind::Foreign);

    let site = Site::written();
    site.file().set_len(UNIT * (UNITS - 1) + 100).unwrap();
    let found = site.find();
    assert_eq!((found.kind, found.offset), (MismatchKind::Missing, Bytes(UNIT * (UNITS - 1))));
}

#[test]
fn a_unit_of_the_future_is_one_that_the_ledger_does_not_know() {
    let site = Site::written();
    let ledger = site.folder.path().join("ledger");
    let kept = std::fs::read(&ledger).unwrap();
    site.start().write(VICTIM);
    std::fs::write(&ledger, kept).unwrap();
    let found = site.find();
    assert_eq!((found.kind, found.found.as_str()), (MismatchKind::Future, "generation 2"));
}

#[test]
fn the_jobs_own_reads_are_checked_too() {
    let site = Site::written();
    let mut unit = site.unit(VICTIM);
    unit[100] ^= 1;
    site.put(VICTIM * UNIT, &unit);
    let mut process = site.start();
    process.read(VICTIM - 1, 3);
    let report = process.verifier.report();
    assert_eq!(counts(&report), (3, 0, 1));
    assert_eq!(report.mismatches[0].kind, MismatchKind::Flipped);
}

#[test]
fn without_a_ledger_a_job_that_only_reads_wants_a_header_everywhere() {
    let mut site = Site::written();
    site.write_all();
    site.verify().ledger = None;
    site.job.rw = Rw::RandRead;
    // Of whatever generation.
    assert_eq!(counts(&site.look()), (UNITS, 0, 0));
    site.put(VICTIM * UNIT, &[0xaa; UNIT as usize]);
    assert_eq!(site.find().kind, MismatchKind::Foreign);
    // One that writes knows of nothing at first, and skips it.
    site.job.rw = Rw::RandRw;
    assert_eq!(counts(&site.look()), (0, UNITS, 0));
    site.verify().only = true;
    assert_eq!(site.find().kind, MismatchKind::Foreign);
}

#[test]
fn a_write_that_failed_may_or_may_not_be_there() {
    for landed in [false, true] {
        let site = Site::written();
        let mut process = site.start();
        let (request, block) = process.submit(VICTIM);
        if landed {
            site.put(request.offset_bytes, &block);
        }
        process.verifier.give_up(&request);
        assert!(!process.verifier.is_busy(&request));
        assert_eq!(counts(&process.finish()), (UNITS, 0, 0));
        // What was found is known from then on.
        if landed {
            let (_, old) = site.start().submit(VICTIM + 1);
            assert!(!old.is_empty());
            let mut stale = block.clone();
            UnitHeader { generation: 1, ..UnitHeader::parse(&block).unwrap() }.seal(&mut stale);
            site.put(VICTIM * UNIT, &stale);
            assert_eq!(site.find().kind, MismatchKind::Stale);
        }
    }
    // Nor was anything known of what a first write that failed should have replaced.
    let site = Site::new();
    let mut process = site.start();
    let (request, _) = process.submit(VICTIM);
    process.verifier.give_up(&request);
    assert_eq!(counts(&process.finish()), (0, UNITS, 0));
}

#[test]
fn after_a_crash_anything_from_durable_to_submitted_is_right() {
    // Written three times: the first durable, the second acknowledged, the third submitted.
    for (found, kind) in [(0, Some(MismatchKind::Stale)), (1, None), (2, None), (3, None), (4, None)] {
        let mut site = Site::written();
        let mut versions = vec![site.unit(VICTIM)];
        let mut process = site.start();
        process.write(VICTIM);
        process.verifier.made_durable();
        versions.push(site.unit(VICTIM));
        process.write(VICTIM);
        versions.push(site.unit(VICTIM));
        process.write(VICTIM);
        versions.push(site.unit(VICTIM));
        versions.push(process.submit(VICTIM).1);
        drop(process);
        site.verify().after_crash = true;
        site.put(VICTIM * UNIT, &versions[found]);
        let report = site.look();
        assert_eq!(report.mismatches.first().map(|mismatch| mismatch.kind), kind, "version {found}");
        if kind.is_none() {
            // The next check knows what the crash left: also without the word crash.
            site.verify().after_crash = false;
            assert_eq!(site.look().mismatch_count, 0);
            if found > 1 {
                site.put(VICTIM * UNIT, &versions[1]);
                assert_eq!(site.find().kind, MismatchKind::Stale);
            }
        }
    }
}

#[test]
fn after_a_crash_a_torn_unit_is_still_wrong() {
    let mut site = Site::written();
    let old = site.unit(VICTIM);
    site.start().write(VICTIM);
    site.put(VICTIM * UNIT, &old[..512]);
    site.verify().after_crash = true;
    let found = site.find();
    assert_eq!((found.kind, found.at), (MismatchKind::Torn, Bytes(VICTIM * UNIT + 512)));
}

#[test]
fn writes_that_are_durable_by_themselves_need_no_sync() {
    let mut site = Site::new();
    site.job.sync = SyncMode::Dsync;
    site.write_all();
    let old = site.unit(VICTIM);
    site.write_all();
    site.put(VICTIM * UNIT, &old);
    site.verify().after_crash = true;
    assert_eq!(site.find().kind, MismatchKind::Stale);
}

#[test]
fn a_backlog_is_read_back_once() {
    let mut site = Site::new();
    site.verify().backlog = 4;
    let mut process = site.start();
    let stop = AtomicBool::new(false);
    (0..4).for_each(|unit| process.write(unit));
    process.verifier.read_back_recent(&process.files, &stop).unwrap();
    process.write(9);
    assert_eq!(counts(&process.finish()), (5, 0, 0));
}

#[test]
fn mismatches_are_counted_without_end_and_listed_up_to_a_hundred() {
    let mut site = Site::new();
    site.verify().ledger = None;
    site.job.rw = Rw::Read;
    let mut report = site.look();
    assert_eq!((report.mismatch_count, report.mismatches.len()), (UNITS, UNITS as usize));
    report.merge(site.look());
    assert_eq!((report.mismatch_count, report.mismatches.len()), (2 * UNITS, 100));
    assert_eq!(report.bytes_checked, Bytes(2 * UNITS * UNIT));
    // A fatal one ends it, within the piece that was read.
    site.verify().fatal = true;
    let mut process = site.start();
    process.read(0, 1);
    assert!(process.verifier.is_fatal());
    assert_eq!(process.finish().units_checked, 1);
}

#[test]
fn direct_io_reads_back_as_well() {
    use std::os::unix::fs::OpenOptionsExt;
    let mut site = Site::written();
    site.job.direct = true;
    let direct = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(&site.job.targets[0]);
    let Ok(file) = direct else {
        eprintln!("skipped: no O_DIRECT in {}", site.folder.path().display());
        return;
    };
    let mut process = site.start();
    process.files = vec![file];
    assert_eq!(counts(&process.finish()), (UNITS, 0, 0));
}

#[test]
fn threads_share_a_ledger_and_each_checks_its_part() {
    let site = Site::new();
    let ledger = Ledger::open(&site.job, &[Site::whole()], &Pins::default()).unwrap();
    let half = UNIT * UNITS / 2;
    let reports: Vec<VerifyReport> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2u64)
            .map(|number| {
                let part = Part { offset_bytes: number * half, length_bytes: half };
                let verifier = Verifier::new(&site.job, Arc::clone(&ledger), vec![part]);
                let payload = Payload::new(&site.job.data, UNIT as usize, streams_of_thread(1, 0).1);
                let mut process = Process { site: &site, verifier, payload, files: vec![site.file()] };
                scope.spawn(move || {
                    let first = number * UNITS / 2;
                    (first..first + UNITS / 2).for_each(|unit| process.write(unit));
                    process.finish()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(reports.iter().all(|report| counts(report) == (UNITS / 2, 0, 0)), "{reports:?}");
    drop(ledger);
    assert_eq!(counts(&site.look()), (UNITS, 0, 0));
}

#[test]
fn a_path_is_named_as_it_was_given() {
    let site = Site::new();
    let mut process = site.start();
    process.write(0);
    site.put(0, &[0; UNIT as usize]);
    assert_eq!(process.finish().mismatches[0].target, Path::new(&site.job.targets[0]));
}
