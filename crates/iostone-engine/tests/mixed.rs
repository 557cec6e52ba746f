//! What jobs write that read as well: never what they have read, and nothing that compresses or repeats.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test may fail, and says what it skips")]

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use iostone_engine::{Content, Data, Job, Outcome, Verify, Volume, prepare};
use iostone_model::load::{IoEngine, Rw};
use iostone_model::units::Bytes;
use tempfile::TempDir;

const BLOCK: u64 = 4096;
const BLOCKS: u64 = 64;
const SECTOR: usize = 512;

/// Half of these write: a few more than a slot of depth 1 has buffers for, so that the last ones use again those of
/// the first, when what the target held at first was still there to be read.
const IOS: u64 = 1100;

fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn job(folder: &TempDir, rw: Rw, engine: IoEngine, iodepth: u32) -> Job {
    let mut job = Job::new(folder.path().join("data"), rw);
    job.size = Some(Bytes(BLOCKS * BLOCK));
    job.ios = Some(IOS);
    (job.engine, job.iodepth) = (engine, iodepth);
    job
}

/// The engines that can be tried here: the ring only where the machine has one.
fn engines() -> Vec<(IoEngine, u32)> {
    let mut job = Job::new("/dev/zero", Rw::Read);
    job.size = Some(Bytes(BLOCK));
    job.engine = IoEngine::IoUring;
    let mut engines = vec![(IoEngine::Sync, 1), (IoEngine::Mmap, 1)];
    match prepare(&job) {
        Ok(_) => engines.extend([(IoEngine::IoUring, 1), (IoEngine::IoUring, 32)]),
        Err(error) => eprintln!("skipped: {error}"),
    }
    engines
}

fn blocks_of(path: &Path) -> Vec<Vec<u8>> {
    fs::read(path).unwrap().chunks(4096).map(<[u8]>::to_vec).collect()
}

/// What a target held before and after a job.
struct Change {
    before: Vec<Vec<u8>>,
    after: Vec<Vec<u8>>,
}

impl Change {
    fn by(job: &Job) -> (Self, Outcome) {
        let prepared = prepare(job).unwrap();
        let all = || job.targets.iter().flat_map(|path| blocks_of(path)).collect();
        let before = all();
        let outcome = prepared.run(&AtomicBool::new(false), &mut |_| ()).unwrap();
        assert!(outcome.error.is_none() && outcome.reads.ios > 0 && outcome.writes.ios > 0);
        (Self { before, after: all() }, outcome)
    }

    /// The blocks that were written.
    fn written(&self) -> impl Iterator<Item = &Vec<u8>> {
        let both = self.before.iter().zip(&self.after);
        both.filter(|(before, after)| before != after).map(|(_, after)| after)
    }

    /// No sector is there twice, and nothing that was written is what could be read before: of a block that was
    /// read and then stamped, all but one word of each sector would be.
    fn assert_nothing_repeats(&self, what: &str) {
        let sectors = |blocks: &[Vec<u8>]| -> HashSet<Vec<u8>> {
            blocks.iter().flat_map(|block| block.chunks(SECTOR).map(<[u8]>::to_vec)).collect()
        };
        assert_eq!(sectors(&self.after).len(), self.after.len() * 4096 / SECTOR, "{what}");
        assert!(self.written().count() > 10, "{what}");
        let before: HashSet<&[u8]> = self.before.iter().flat_map(|block| block.chunks(8)).collect();
        let mut written = self.written().flat_map(|block| block.chunks(8));
        assert!(written.all(|word| !before.contains(word)), "{what}");
    }
}

#[test]
fn a_mix_never_writes_what_it_has_read_and_never_the_same_twice() {
    for (engine, iodepth) in engines() {
        for (rw, rwmixread) in [(Rw::RandRw, 50), (Rw::RandRw, 90), (Rw::ReadWrite, 50)] {
            let folder = folder();
            let mut job = job(&folder, rw, engine, iodepth);
            job.rwmixread = rwmixread;
            let what = format!("{rw:?} {rwmixread} {engine:?} {iodepth}");
            let (change, outcome) = Change::by(&job);
            assert_eq!(outcome.reads.ios + outcome.writes.ios, IOS, "{what}");
            change.assert_nothing_repeats(&what);
            if iodepth == 1 {
                // Nor is any word of one block in another, for a compressor that sees them together to find.
                let words: HashSet<&[u8]> = change.written().flat_map(|block| block.chunks(8)).collect();
                assert_eq!(words.len(), change.written().count() * 512, "{what}");
            }
        }
    }
}

#[test]
fn a_mix_on_a_volume_whose_blocks_are_cut_does_neither() {
    for (engine, iodepth) in engines().into_iter().filter(|(engine, _)| *engine != IoEngine::Mmap) {
        let folder = folder();
        let mut job = job(&folder, Rw::RandRw, engine, iodepth);
        job.targets.push(folder.path().join("more"));
        job.volume = Some(Volume::Raid0 { chunk: Bytes(1024) });
        job.size = None;
        for path in &job.targets {
            let noise: Vec<u8> = (0..BLOCKS * BLOCK / 8)
                .flat_map(|n| (n ^ (u64::from(*path == job.targets[0]) << 40)).to_le_bytes())
                .collect();
            fs::write(path, noise).unwrap();
        }
        let (change, _) = Change::by(&job);
        let before: HashSet<&[u8]> = change.before.iter().flat_map(|block| block.chunks(SECTOR)).collect();
        let fresh =
            || change.after.iter().flat_map(|block| block.chunks(SECTOR)).filter(|one| !before.contains(one));
        assert!(fresh().count() > 100);
        let words: HashSet<&[u8]> = change.before.iter().flat_map(|block| block.chunks(8)).collect();
        assert!(fresh().flat_map(|sector| sector.chunks(8)).all(|word| !words.contains(word)));
        assert_eq!(fresh().collect::<HashSet<_>>().len(), fresh().count(), "{engine:?} {iodepth}");
    }
}

#[test]
fn what_a_mix_is_to_write_is_what_it_writes() {
    for (engine, iodepth) in engines() {
        let written = |data: Data| {
            let folder = folder();
            let mut job = job(&folder, Rw::RandRw, engine, iodepth);
            job.data = data;
            // Laid out with noise whatever the job writes.
            let mut layout = Job::new(&job.targets[0], Rw::Read);
            layout.size = job.size;
            prepare(&layout).unwrap();
            let (change, _) = Change::by(&job);
            change.written().cloned().collect::<Vec<_>>()
        };
        let of = |content| Data { content, ..Data::default() };
        let zeros = written(of(Content::Zeros));
        assert!(zeros.len() > 10 && zeros.concat().iter().all(|byte| *byte == 0), "{engine:?} {iodepth}");
        let pattern = written(of(Content::Pattern(b"stone".to_vec())));
        let is_pattern = |block: &Vec<u8>| block.chunks(5).all(|piece| piece == &b"stone"[..piece.len()]);
        assert!(pattern.len() > 10 && pattern.iter().all(is_pattern), "{engine:?} {iodepth}");
        let same: HashSet<Vec<u8>> = written(of(Content::Same)).into_iter().collect();
        assert_eq!(same.len(), 1, "{engine:?} {iodepth}");
        let half = written(Data { compress_percent: 50, ..Data::default() });
        let mut chunks = half.iter().flat_map(|block| block.chunks(SECTOR));
        assert!(half.len() > 10 && chunks.all(|chunk| chunk[SECTOR / 2..].iter().all(|byte| *byte == 0)));
        let repeats = written(Data { dedupe_percent: 80, ..Data::default() });
        assert!(repeats.iter().collect::<HashSet<_>>().len() < repeats.len(), "{engine:?} {iodepth}");
        let refilled = written(Data { refill: true, ..Data::default() });
        let words: HashSet<&[u8]> = refilled.iter().flat_map(|block| block.chunks(8)).collect();
        assert_eq!(words.len(), refilled.len() * 512, "{engine:?} {iodepth}");
    }
}

#[test]
fn a_verified_mix_finds_what_it_wrote() {
    for (engine, iodepth) in engines() {
        let folder = folder();
        let mut job = job(&folder, Rw::RandRw, engine, iodepth);
        job.verify = Some(Verify::default());
        let (change, outcome) = Change::by(&job);
        let report = outcome.verify.unwrap();
        assert!(report.units_checked > 0 && report.mismatch_count == 0, "{engine:?} {iodepth}");
        change.assert_nothing_repeats(&format!("{engine:?} {iodepth}"));
    }
}
