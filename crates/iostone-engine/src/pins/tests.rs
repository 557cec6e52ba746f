//! Tests of pinned targets: whatever becomes of a name, the load is on what was pinned.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::fs::symlink;
use std::sync::atomic::AtomicBool;

use iostone_model::load::{IoEngine, Rw};
use iostone_model::units::Bytes;

use super::*;
use crate::job::{Job, Preparation, Verify, Volume};
use crate::prepared::prepare_pinned;

/// Two files of zeros: one to be pinned, and one that is put in its place.
struct Place {
    folder: tempfile::TempDir,
}

const BYTES: usize = 64 << 10;

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let place = Self { folder };
        for name in ["target", "precious"] {
            fs::write(place.at(name), vec![0; BYTES]).unwrap();
        }
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Pins the target as the caller of the engine does, and puts a link to the other file in its place.
    fn swapped(&self) -> Pins {
        let pinned =
            OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(self.at("target")).unwrap();
        let mut pins = Pins::default();
        pins.insert(self.at("target"), Pin::new(pinned));
        fs::rename(self.at("target"), self.at("moved")).unwrap();
        symlink(self.at("precious"), self.at("target")).unwrap();
        pins
    }

    fn job(&self, rw: Rw) -> Job {
        let mut job = Job::new(self.at("target"), rw);
        job.size = Some(Bytes(BYTES as u64));
        job
    }

    fn is_zero(&self, name: &str) -> bool {
        let bytes = fs::read(self.at(name)).unwrap();
        bytes.iter().all(|byte| *byte == 0) && bytes.len() == BYTES
    }
}

fn run(job: &Job, pins: &Pins) -> crate::Outcome {
    let stop = AtomicBool::new(false);
    let prepared = prepare_pinned(job, pins, &stop, &mut |_| ()).unwrap();
    prepared.run(&stop, &mut |_| ()).unwrap()
}

#[test]
fn every_thread_of_a_load_is_on_what_was_pinned() {
    for engine in [IoEngine::Auto, IoEngine::Sync, IoEngine::Mmap] {
        let place = Place::new();
        let pins = place.swapped();
        let mut job = place.job(Rw::Write);
        (job.engine, job.numjobs, job.pre_read) = (engine, 2, true);
        let outcome = run(&job, &pins);
        assert!(outcome.succeeded(), "{engine:?}: {outcome:?}");
        assert!(place.is_zero("precious") && !place.is_zero("moved"), "{engine:?}");
    }
}

#[test]
fn a_pinned_file_is_laid_out_and_prolonged_by_its_descriptor() {
    for preparation in [Preparation::Fill, Preparation::Allocate, Preparation::Extend] {
        let place = Place::new();
        let pins = place.swapped();
        let mut job = place.job(Rw::Read);
        (job.size, job.preparation) = (Some(Bytes(2 * BYTES as u64)), preparation);
        assert!(run(&job, &pins).succeeded());
        assert!(place.is_zero("precious"), "{preparation:?}");
        assert_eq!(fs::metadata(place.at("moved")).unwrap().len(), 2 * BYTES as u64, "{preparation:?}");
    }
}

#[test]
fn what_is_verified_is_read_back_from_what_was_pinned() {
    let place = Place::new();
    let pins = place.swapped();
    let mut job = place.job(Rw::RandWrite);
    job.verify = Some(Verify::default());
    let outcome = run(&job, &pins);
    let report = outcome.verify.unwrap();
    assert_eq!((report.mismatch_count, report.units_checked), (0, 16));
    assert!(place.is_zero("precious"));
}

#[test]
fn the_members_of_a_volume_are_pinned_too_and_named_as_the_job_has_them() {
    let place = Place::new();
    let pins = place.swapped();
    fs::write(place.at("second"), vec![0; BYTES]).unwrap();
    let mut job = place.job(Rw::Write);
    job.targets.push(place.at("second"));
    (job.volume, job.size) = (Some(Volume::Concat), None);
    assert!(run(&job, &pins).succeeded());
    assert!(place.is_zero("precious") && !place.is_zero("moved") && !place.is_zero("second"));
    let mut job = place.job(Rw::Read);
    (job.size, job.preparation) = (Some(Bytes(1 << 30)), Preparation::Leave);
    let error = prepare_pinned(&job, &pins, &AtomicBool::new(false), &mut |_| ()).unwrap_err().to_string();
    assert!(
        error.contains(&place.at("target").display().to_string()) && !error.contains("/proc/"),
        "{error}"
    );
}

#[test]
fn a_failed_preparation_leaves_a_pinned_file() {
    let place = Place::new();
    let pins = place.swapped();
    let mut job = place.job(Rw::Write);
    job.size = Some(Bytes(1 << 30));
    assert!(prepare_pinned(&job, &pins, &AtomicBool::new(true), &mut |_| ()).is_err());
    assert!(place.at("moved").exists() && place.is_zero("precious"));
}
