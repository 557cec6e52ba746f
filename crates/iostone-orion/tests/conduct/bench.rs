//! Small files to test on, and an observer that notes what it hears.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use iostone_engine::NoiseStream;
use iostone_model::orion::{
    LoadPoint, LunKind, LunRecord, ORION_SCHEMA, OrionEnd, OrionHeader, OrionTest, PointRecord,
};
use iostone_orion::record::RecordFile;
use iostone_orion::schedule::WholePlan;
use iostone_orion::{Assignment, Lun, Observer, OrionError, conduct};
use tempfile::TempDir;

const LUN_BYTES: usize = 32 << 20;

/// LUNs in a folder that goes with it, and a test of them.
pub(crate) struct Bench {
    folder: TempDir,
    pub(crate) luns: Vec<Lun>,
    pub(crate) header: OrionHeader,
}

impl Bench {
    pub(crate) fn new(luns: u32, test: OrionTest) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let luns: Vec<Lun> = (0..luns).map(|number| make_lun(folder.path(), number)).collect();
        let direct = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(&luns[0].path).is_ok();
        let num_disks = u32::try_from(luns.len()).unwrap();
        let header = OrionHeader {
            schema: ORION_SCHEMA.to_owned(),
            iostone_version: "0.1.0".to_owned(),
            started_at: "2026-01-01T00:00:00+00:00".to_owned(),
            arguments: Vec::new(),
            directory: None,
            total_points: u32::try_from(test.points(num_disks).len()).unwrap(),
            test,
            num_disks,
            luns: luns
                .iter()
                .map(|lun| LunRecord {
                    name: lun.name.clone(),
                    kind: lun.kind,
                    bytes: lun.bytes,
                    identity: None,
                })
                .collect(),
            seed: 7,
            direct,
            data: iostone_model::orion::FileData::Random,
            until: None,
            knee: false,
            adaptive: None,
            limits: Vec::new(),
            machine: std::collections::BTreeMap::new(),
        };
        Self { folder, luns, header }
    }

    pub(crate) fn record_path(&self) -> PathBuf {
        self.folder.path().join("orion_record.jsonl")
    }

    pub(crate) fn conduct(
        &self,
        done: Vec<PointRecord>,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<(Vec<PointRecord>, OrionEnd), OrionError> {
        let schedule = WholePlan(self.header.test.points(self.header.num_disks));
        conduct(
            Assignment { header: &self.header, luns: &self.luns, schedule: &schedule, done },
            observer,
            stop,
        )
    }
}

fn make_lun(folder: &Path, number: u32) -> Lun {
    let name = format!("lun-{number}");
    let path = folder.join(&name);
    let mut noise = NoiseStream::new(u64::from(number));
    let mut file = File::create(&path).unwrap();
    let mut missing = LUN_BYTES;
    while missing > 0 {
        let chunk = noise.next_chunk();
        let length = chunk.len().min(missing);
        file.write_all(&chunk[..length]).unwrap();
        missing -= length;
    }
    file.sync_all().unwrap();
    Lun { name, path, kind: LunKind::File, bytes: LUN_BYTES as u64, pin: None }
}

/// Notes what it hears, and does what it was told to at a point.
#[derive(Default)]
pub(crate) struct Follower<'a> {
    pub(crate) record: Option<RecordFile>,
    pub(crate) begun: Vec<(u32, Option<u32>)>,
    /// Raises the flag while that point is measured.
    pub(crate) raise_at: Option<(u32, &'a AtomicBool)>,
    /// Is called as a point begins.
    pub(crate) before: Option<Box<dyn FnMut(u32)>>,
}

impl Follower<'_> {
    pub(crate) fn recording(bench: &Bench) -> Self {
        let record = RecordFile::create(&bench.record_path(), &bench.header).unwrap();
        Self { record: Some(record), ..Self::default() }
    }
}

impl Observer for Follower<'_> {
    fn begins(&mut self, number: u32, total: Option<u32>, _point: LoadPoint) {
        self.begun.push((number, total));
        if let Some(before) = &mut self.before {
            before(number);
        }
        if let Some((at, stop)) = self.raise_at
            && at == number
        {
            stop.store(true, Ordering::Relaxed);
        }
    }

    fn measured(&mut self, record: &PointRecord) -> Result<(), OrionError> {
        self.record.as_mut().map_or(Ok(()), |file| file.append_point(record))
    }
}
