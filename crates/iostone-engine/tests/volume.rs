//! Several files as one volume: what lies where, what fails, and where a walk begins.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test may fail, and says what it skips")]

use std::fs::{self, OpenOptions};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use iostone_engine::{EngineKind, Job, Operation, Outcome, Preparation, Verify, Volume, prepare, run};
use iostone_model::load::{IoEngine, Rw};
use iostone_model::units::Bytes;
use tempfile::TempDir;

const KIB: u64 = 1024;

/// Files that are one volume; removed when dropped.
struct Members {
    folder: TempDir,
    lengths: Vec<u64>,
}

impl Members {
    /// Every 8 bytes of each file say which file it is and where they lie.
    fn create(lengths: &[u64]) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let members = Self { folder, lengths: lengths.to_vec() };
        for (number, length) in (0u64..).zip(lengths) {
            let words = (0..length / 8).flat_map(|word| ((number << 48) | (word * 8)).to_le_bytes());
            fs::write(members.path(number), words.collect::<Vec<u8>>()).unwrap();
        }
        members
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.path().join(number.to_string())
    }

    fn job(&self, volume: Volume, rw: Rw) -> Job {
        let mut job = Job::new(self.path(0), rw);
        job.targets = (0..self.lengths.len() as u64).map(|number| self.path(number)).collect();
        job.volume = Some(volume);
        job.preparation = Preparation::Leave;
        job
    }

    fn read(&self) -> Vec<Vec<u8>> {
        (0..self.lengths.len() as u64).map(|number| fs::read(self.path(number)).unwrap()).collect()
    }
}

fn raid0(chunk: u64) -> Volume {
    Volume::Raid0 { chunk: Bytes(chunk) }
}

fn measure(job: &Job) -> Outcome {
    run(job, &AtomicBool::new(false), &mut |_| ()).unwrap()
}

fn refusal(job: &Job) -> String {
    prepare(job).unwrap_err().to_string()
}

/// Engines and depths that can be tried here.
fn engines() -> Vec<(IoEngine, u32)> {
    let mut engines = vec![(IoEngine::Sync, 1)];
    match iostone_engine::uring_available() {
        Ok(()) => engines.extend([(IoEngine::IoUring, 1), (IoEngine::IoUring, 32)]),
        Err(reason) => eprintln!("skipped: {reason}"),
    }
    engines
}

/// What the job writes on one file as long as the volume.
fn written_on_one_file(job: &Job, length: u64) -> Vec<u8> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("whole");
    fs::write(&path, vec![0; usize::try_from(length).unwrap()]).unwrap();
    let outcome = measure(&Job { targets: vec![path.clone()], volume: None, ..job.clone() });
    assert!(outcome.error.is_none());
    fs::read(path).unwrap()
}

/// The bytes of a volume, put together from those of its members.
fn put_together(volume: Volume, members: &[Vec<u8>]) -> Vec<u8> {
    match volume {
        Volume::Concat => members.concat(),
        Volume::Raid0 { chunk } => {
            let chunk = usize::try_from(chunk.0).unwrap();
            let rows = members.iter().map(|member| member.len() / chunk).min().unwrap();
            (0..rows)
                .flat_map(|row| members.iter().map(move |member| &member[row * chunk..][..chunk]))
                .collect::<Vec<_>>()
                .concat()
        }
    }
}

#[test]
fn a_pass_over_a_volume_leaves_what_it_leaves_on_one_file() {
    let cases = [
        (raid0(4 * KIB), vec![256 * KIB; 3], 64 * KIB),
        (raid0(12 * KIB), vec![240 * KIB, 300 * KIB, 250 * KIB], 32 * KIB),
        (raid0(64 * KIB), vec![256 * KIB; 3], 4 * KIB),
        (Volume::Concat, vec![100 * KIB, 36 * KIB, 8 * KIB, 300 * KIB], 32 * KIB),
    ];
    for (volume, lengths, block) in cases {
        for (engine, iodepth) in engines() {
            for rw in [Rw::Write, Rw::RandWrite] {
                let members = Members::create(&lengths);
                let mut job = members.job(volume, rw);
                (job.bs, job.engine) = (Bytes(block).into(), engine);
                let before = put_together(volume, &members.read());
                // At depth 1 data does not depend on which request completes first.
                job.iodepth = 1;
                let outcome = measure(&job);
                assert!(outcome.error.is_none(), "{:?}", outcome.error);
                let after = put_together(volume, &members.read());
                let whole = after.len() as u64 / block * block;
                assert_eq!((outcome.writes.bytes, outcome.writes.ios), (Bytes(whole), whole / block));
                assert_eq!(outcome.writes.latency.count(), whole / block);
                let rest = usize::try_from(whole).unwrap();
                assert!(after[..rest] == written_on_one_file(&job, after.len() as u64)[..rest]);
                assert!(after[rest..] == before[rest..]);
                // And what is in flight at the same time does not mix.
                job.iodepth = iodepth;
                job.data.content = iostone_engine::Content::Pattern(b"twelve bytes".to_vec());
                assert!(measure(&job).error.is_none());
                let after = put_together(volume, &members.read());
                assert!(after[..rest] == written_on_one_file(&job, after.len() as u64)[..rest]);
                assert!(after[rest..] == before[rest..]);
            }
        }
    }
}

#[test]
fn what_a_stripe_does_not_fill_is_left_alone() {
    let members = Members::create(&[100 * KIB, 64 * KIB + 512]);
    let before = members.read();
    let mut job = members.job(raid0(16 * KIB), Rw::Write);
    job.bs = Bytes(128 * KIB).into();
    assert_eq!(prepare(&job).unwrap().span(), Bytes(128 * KIB));
    assert_eq!(measure(&job).writes.ios, 1);
    let after = members.read();
    for (before, after) in before.iter().zip(&after) {
        assert!(before[..64 << 10] != after[..64 << 10]);
        assert!(before[64 << 10..] == after[64 << 10..]);
    }
}

#[test]
fn a_mix_over_boundaries_counts_every_request_once() {
    for volume in [raid0(8 * KIB), Volume::Concat] {
        for (engine, iodepth) in engines() {
            let members = Members::create(&[132 * KIB, 132 * KIB, 140 * KIB]);
            let mut job = members.job(volume, Rw::RandRw);
            (job.engine, job.iodepth, job.ios) = (engine, iodepth, Some(3000));
            job.bs.read = iostone_model::load::BlockSizes::Fixed(Bytes(4 * KIB));
            job.bs.write = iostone_model::load::BlockSizes::Fixed(Bytes(36 * KIB));
            (job.fdatasync, job.end_fsync, job.batch) = (100, true, 7);
            let outcome = measure(&job);
            assert!(outcome.error.is_none(), "{:?}", outcome.error);
            let (reads, writes) = (&outcome.reads, &outcome.writes);
            assert_eq!(reads.ios + writes.ios, 3000);
            assert_eq!(reads.bytes, Bytes(reads.ios * 4 * KIB));
            assert_eq!(writes.bytes, Bytes(writes.ios * 36 * KIB));
            // One of the volume at a time, however many members it has.
            assert!((writes.ios / 100..=writes.ios / 100 + 1).contains(&outcome.syncs.count));
        }
    }
}

#[test]
fn a_member_that_was_cut_off_is_one_fault_that_names_it() {
    for (engine, iodepth) in engines() {
        let members = Members::create(&[256 * KIB; 3]);
        let mut job = members.job(raid0(16 * KIB), Rw::Read);
        (job.bs, job.engine, job.iodepth) = (Bytes(96 * KIB).into(), engine, iodepth);
        let prepared = prepare(&job).unwrap();
        // The third row of the second member, in the middle of its chunk.
        let member = OpenOptions::new().write(true).open(members.path(1)).unwrap();
        member.set_len(2 * 16 * KIB + 4 * KIB).unwrap();
        let outcome = prepared.run(&AtomicBool::new(false), &mut |_| ()).unwrap();
        let fault = outcome.error.unwrap();
        assert_eq!((fault.operation, fault.errno, fault.name.as_str()), (Operation::Read, 0, "short read"));
        assert_eq!(fault.target, Some(members.path(1)));
        if iodepth == 1 {
            assert_eq!((fault.offset, fault.length), (Bytes(32 * KIB), Bytes(16 * KIB)));
            assert_eq!((fault.transferred, outcome.reads.ios), (Bytes(4 * KIB), 1));
            assert_eq!(outcome.errors, 1);
        }
    }
}

#[test]
fn a_job_that_outlives_its_errors_goes_on_with_the_other_members() {
    let members = Members::create(&[256 * KIB; 2]);
    let mut job = members.job(raid0(16 * KIB), Rw::Read);
    (job.bs, job.continue_on_error) = (Bytes(16 * KIB).into(), true);
    let prepared = prepare(&job).unwrap();
    OpenOptions::new().write(true).open(members.path(1)).unwrap().set_len(128 * KIB).unwrap();
    let outcome = prepared.run(&AtomicBool::new(false), &mut |_| ()).unwrap();
    assert_eq!((outcome.reads.ios, outcome.errors), (24, 8));
}

#[test]
fn a_walk_begins_at_its_start_and_wraps() {
    let shaped = |job: &mut Job| job.walk.align = Some(Bytes(512));
    let plain: fn(&mut Job) = |_| ();
    for shape in [plain, shaped] {
        let members = Members::create(&[64 * KIB, 64 * KIB]);
        let mut job = members.job(Volume::Concat, Rw::Write);
        (job.offset, job.size) = (Bytes(8 * KIB), Some(Bytes(100 * KIB)));
        job.walk.start = Bytes(91 * KIB);
        shape(&mut job);
        // From 88 KiB into the span, 8 KiB into the volume, to its end, and then two more.
        job.ios = Some(5);
        let before = members.read().concat();
        assert_eq!(measure(&job).writes.ios, 5);
        let after = members.read().concat();
        let changed: Vec<usize> =
            (0..32).filter(|block| before[block << 12..][..4096] != after[block << 12..][..4096]).collect();
        assert_eq!(changed, [2, 3, 24, 25, 26]);
        job.walk.start = Bytes(100 * KIB);
        assert!(refusal(&job).contains("`walk.start` of `100KiB` is refused: it must lie within the span"));
    }
}

#[test]
fn a_block_over_several_members_goes_out_at_once_where_there_is_a_ring() {
    let members = Members::create(&[64 * KIB, 64 * KIB]);
    let mut job = members.job(raid0(4 * KIB), Rw::Read);
    job.bs = Bytes(16 * KIB).into();
    let ring = iostone_engine::uring_available().is_ok();
    let wanted = if ring { EngineKind::IoUring } else { EngineKind::Sync };
    let outcome = measure(&job);
    assert_eq!((outcome.engine.kind, outcome.reads.ios), (wanted, 8));
}

#[test]
fn direct_io_needs_chunks_that_it_can_cut_at() {
    let members = Members::create(&[256 * KIB, 256 * KIB]);
    let mut job = members.job(raid0(4 * KIB), Rw::RandWrite);
    (job.direct, job.iodepth, job.bs) = (true, 8, Bytes(32 * KIB).into());
    job.data.content = iostone_engine::Content::Pattern(b"pattern of direct writes".to_vec());
    match prepare(&job) {
        Ok(prepared) => {
            let outcome = prepared.run(&AtomicBool::new(false), &mut |_| ()).unwrap();
            assert!(outcome.error.is_none(), "{:?}", outcome.error);
            let after = put_together(raid0(4 * KIB), &members.read());
            assert!(after == written_on_one_file(&job, after.len() as u64));
            job.volume = Some(raid0(4 * KIB + 256));
            assert!(refusal(&job).contains("blocks are cut at multiples of 4352B"), "{}", refusal(&job));
        }
        Err(error) => eprintln!("skipped: {error}"),
    }
}

#[test]
fn what_has_no_place_in_a_volume_is_refused() {
    let members = Members::create(&[64 * KIB, 64 * KIB]);
    let refused = |change: fn(&mut Job)| {
        let mut job = members.job(raid0(16 * KIB), Rw::Write);
        change(&mut job);
        refusal(&job)
    };
    assert!(refused(|job| job.verify = Some(Verify::default())).starts_with("`verify`"));
    assert!(refused(|job| job.targets.push("/nonexistent".into())).contains("`/nonexistent` does not exist"));
    assert!(refused(|job| job.targets.push("/dev/zero".into())).contains("has no size of its own"));
    assert!(refused(|job| job.volume = Some(raid0(65 * KIB))).contains("has 64KiB where 65KiB are needed"));
    assert!(refused(|job| job.size = Some(Bytes(129 * KIB))).contains("the raid0 volume has 128KiB"));
    assert!(refused(|job| job.offset = Bytes(127 * KIB)).contains("no block of 4KiB follows there"));
    let deep = refused(|job| {
        (job.bs, job.iodepth) = (Bytes(64 * KIB).into(), 16_384);
        job.volume = Some(raid0(4 * KIB));
    });
    assert!(deep.contains("can be 17 pieces of the raid0 volume") && deep.contains("at most 1927"), "{deep}");
}

#[test]
fn only_what_is_used_of_members_is_laid_out() {
    let members = Members::create(&[64 * KIB; 3]);
    for number in 0..3 {
        // A file that is all hole.
        let file = OpenOptions::new().write(true).open(members.path(number)).unwrap();
        file.set_len(0).unwrap();
        file.set_len(64 * KIB).unwrap();
    }
    let mut job = members.job(Volume::Concat, Rw::Read);
    (job.size, job.pre_read) = (Some(Bytes(80 * KIB)), true);
    for preparation in [Preparation::Fill, Preparation::Reserve, Preparation::Allocate] {
        job.preparation = preparation;
        let outcome = measure(&job);
        let written = if preparation == Preparation::Fill { 80 * KIB } else { 0 };
        assert_eq!((outcome.reads.ios, outcome.layout.written), (20, Bytes(written)));
    }
    let after = members.read();
    assert!(after[2].iter().all(|byte| *byte == 0));
    assert!(after[1][16 << 10..].iter().all(|byte| *byte == 0));
    assert!(after[1][..16 << 10].iter().any(|byte| *byte != 0));
}

#[test]
fn arrivals_at_a_rate_and_engines_that_do_nothing_take_a_volume_as_well() {
    let members = Members::create(&[128 * KIB; 3]);
    let mut job = members.job(raid0(4 * KIB), Rw::RandRead);
    (job.bs, job.ios, job.iodepth) = (Bytes(20 * KIB).into(), Some(200), 8);
    let mut paced = job.clone();
    paced.pace.rate.read = Some(iostone_engine::Rate::Iops(20_000.0));
    if iostone_engine::uring_available().is_ok() {
        let outcome = measure(&paced);
        assert_eq!((outcome.reads.ios, outcome.reads.response.count()), (200, 200));
        job.engine = IoEngine::IoUringNop;
        assert_eq!(measure(&job).reads.bytes, Bytes(200 * 20 * KIB));
    }
    job.engine = IoEngine::Null;
    assert_eq!(measure(&job).reads.bytes, Bytes(200 * 20 * KIB));
    (job.numjobs, job.rw) = (3, Rw::Read);
    assert_eq!(measure(&job).reads.ios, 600);
}
