//! What the test works on: data files that are laid out first, or the bare device.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use iostone_engine::{Content, Job};
use iostone_model::experiment::OrionWorkload;
use iostone_model::load::Rw;
use iostone_model::orion::{FileData, LunKind};
use iostone_model::units::Bytes;
use iostone_orion::Lun;
use iostone_orion::written::{Prefill, examine, prefill};

use crate::{Place, WorkloadError};

/// Makes the LUNs ready: incompressible data in every block unless the spec says zeros, none of it in the page cache. Says what was done.
///
/// # Errors
/// No place to work in, no room, or an interruption.
pub(super) fn prepare(
    spec: &OrionWorkload,
    place: &Place,
    seed: u64,
    stop: &AtomicBool,
) -> Result<(Vec<Lun>, String), WorkloadError> {
    match (&place.directory, &place.device) {
        (Some(directory), _) => lay_out(spec, directory, seed, stop),
        (None, Some(_)) if spec.data != FileData::Random => Err(WorkloadError::Refused(
            "`workload.data` is for files; a bare device keeps what is on it".to_owned(),
        )),
        (None, Some(device)) => bare(device, seed, stop),
        (None, None) => Err(WorkloadError::NoDirectory { kind: "orion" }),
    }
}

fn lay_out(
    spec: &OrionWorkload,
    directory: &Path,
    seed: u64,
    stop: &AtomicBool,
) -> Result<(Vec<Lun>, String), WorkloadError> {
    let bytes = spec.size.filter(|size| size.0 > 0).ok_or_else(|| {
        WorkloadError::Refused("nothing says how large the data files are; give `workload.size`".to_owned())
    })?;
    let mut luns = Vec::new();
    for number in 1..=spec.files {
        let name = format!("orion-{number}.data");
        let path = directory.join(&name);
        fill(&path, spec.data, bytes, seed.wrapping_add(u64::from(number)), stop)?;
        luns.push(Lun { name, path, kind: LunKind::File, bytes: bytes.0, pin: None });
    }
    let files = if spec.files == 1 { "a file".to_owned() } else { format!("{} files", spec.files) };
    let data = match spec.data {
        FileData::Random => "incompressible data",
        FileData::Zeros => "zeros",
    };
    Ok((luns, format!("{files} of {bytes}, {data}, synced and dropped from the page cache")))
}

/// Lets the engine lay a file out: a job that is prepared and never run. What is there already is kept.
fn fill(
    path: &Path,
    data: FileData,
    bytes: Bytes,
    seed: u64,
    stop: &AtomicBool,
) -> Result<(), WorkloadError> {
    let mut job = Job::new(path, Rw::Read);
    job.size = Some(bytes);
    job.seed = seed;
    if data == FileData::Zeros {
        job.data.content = Content::Zeros;
    }
    iostone_engine::prepare_watched(&job, stop, &mut |_| {})?;
    Ok(())
}

/// The device. iostone fills the volumes that it makes unless it is told not to; what was never written is filled here, so
/// that it is not answered without touching the medium. What is there is kept.
fn bare(device: &PathBuf, seed: u64, stop: &AtomicBool) -> Result<(Vec<Lun>, String), WorkloadError> {
    let failed = |error: std::io::Error| {
        WorkloadError::Preparation(format!("cannot tell the size of `{}`: {error}", device.display()))
    };
    let bytes = File::open(device).and_then(|mut file| file.seek(SeekFrom::End(0))).map_err(failed)?;
    let lun = Lun {
        name: device.display().to_string(),
        path: device.clone(),
        kind: LunKind::Device,
        bytes,
        pin: None,
    };
    let written = examine(&lun, seed).map_err(super::failure)?;
    let words = if written.verdict().is_ok() {
        "nothing: the device's blocks hold data, by a sample of them".to_owned()
    } else {
        let filled = prefill(&lun, Prefill::ZerosToo, seed, stop, &mut |_, _| {}).map_err(super::failure)?;
        format!("{} of zeros on the device filled with incompressible data", Bytes(filled).approximate())
    };
    Ok((vec![lun], words))
}
