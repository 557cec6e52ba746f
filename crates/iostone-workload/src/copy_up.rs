//! First touches: what looking up, opening, creating and copying up files of a container's image costs.

mod layout;
mod report;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iostone_engine::{FileExtent, LatencyHistogram, NoiseStream, extents_of};
use iostone_model::experiment::{CopyUpWorkload, LARGE_FILE, small_file};
use rustix::fs::{Advice, OFlags, fadvise};

use crate::{CpuUse, Measurement, Place, Prepared, TrialContext, WorkloadError};
use layout::Origin;

/// The file that is made anew.
const CREATED_FILE: &str = "created";

struct PreparedTouches {
    spec: CopyUpWorkload,
    directory: PathBuf,
    origin: Origin,
    seed: u64,
}

/// What came of the touches; a time is none where its touch was not reached, or not asked for.
#[derive(Debug, Default)]
struct Touches {
    /// All look-ups together.
    looked_up: Option<Duration>,
    /// All opens together.
    opened: Option<Duration>,
    /// Each open.
    open_latency: LatencyHistogram,
    created: Option<Duration>,
    first_write: Option<Duration>,
    second_write: Option<Duration>,
    /// Bytes of the writes that were done.
    written_bytes: u64,
    /// Where the large file lay before its first write, and after it; why not, where nobody tells.
    moved: Option<Result<Moved, String>>,
    interrupted: bool,
}

/// How much of a file lies elsewhere than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Moved {
    /// Bytes with another place on the device.
    elsewhere_bytes: u64,
    /// Bytes that share their place with another file and did not before, as after a copy by reference.
    shared_bytes: u64,
    bytes: u64,
}

/// Lays out the files that do not lie there yet, as they do where no image brings them, and lets the page cache forget the
/// large one.
///
/// # Errors
/// [`WorkloadError::NoDirectory`] on a bare device; what keeps the files from being laid out.
pub(crate) fn prepare(
    touches: &CopyUpWorkload,
    place: &Place,
    context: &TrialContext,
    stop: &AtomicBool,
) -> Result<Box<dyn Prepared>, WorkloadError> {
    let directory = place.directory.clone().ok_or(WorkloadError::NoDirectory { kind: "copy-up" })?;
    let origin = layout::prepare(touches, &directory, context.seed, stop)?;
    Ok(Box::new(PreparedTouches { spec: touches.clone(), directory, origin, seed: context.seed }))
}

impl Prepared for PreparedTouches {
    fn run(self: Box<Self>, stop: &AtomicBool) -> Result<Measurement, WorkloadError> {
        let mut touches = Touches::default();
        let cpu_before = CpuUse::of_this_process();
        let started = Instant::now();
        let error = self.touch(&mut touches, stop).err();
        let elapsed = started.elapsed();
        let cpu = CpuUse::of_this_process().since(cpu_before);
        let mut measured = report::measurement(&self.spec, self.origin, &touches, error);
        measured.report.measured_seconds = elapsed.as_secs_f64();
        measured.cpu = Some(cpu);
        Ok(measured)
    }
}

impl PreparedTouches {
    /// Every touch, one after the other; what went wrong in a sentence.
    fn touch(&self, touches: &mut Touches, stop: &AtomicBool) -> Result<(), String> {
        let went_on = self.look_up(touches, stop)? && self.open_each(touches, stop)?;
        if !went_on || stop.load(Ordering::Relaxed) {
            touches.interrupted = true;
            return Ok(());
        }
        let mut data = vec![0; usize::try_from(self.spec.write.0).unwrap_or(usize::MAX)];
        let mut noise = Noise::new(self.seed);
        noise.fill(&mut data);
        let created = self.directory.join(CREATED_FILE);
        let mut fresh = OpenOptions::new();
        fresh.write(true).create_new(true);
        touches.created = Some(self.write(&fresh, &created, 0, &data, touches)?);
        if stop.load(Ordering::Relaxed) {
            touches.interrupted = true;
            return Ok(());
        }
        self.touch_large(&mut noise, &mut data, touches)
    }

    /// The two writes of the large file, and where it lies before and after the first. The map of the file is read
    /// between the times that are taken; it writes the file back, so that the second write finds no dirty page.
    fn touch_large(&self, noise: &mut Noise, data: &mut [u8], touches: &mut Touches) -> Result<(), String> {
        let large = self.directory.join(LARGE_FILE);
        let mut existing = OpenOptions::new();
        existing.write(true);
        let [first, second] = self.offsets(noise);
        let before = map_of(&large);
        noise.fill(data);
        touches.first_write = Some(self.write(&existing, &large, first, data, touches)?);
        let after = map_of(&large);
        touches.moved = Some(match (before, after) {
            (Ok(before), Ok(after)) => Ok(Moved::between(&before, &after)),
            (Err(error), _) | (_, Err(error)) => Err(error.to_string()),
        });
        noise.fill(data);
        touches.second_write = Some(self.write(&existing, &large, second, data, touches)?);
        Ok(())
    }

    /// Where the two writes go: aligned to their size, and apart if the file has room for both.
    fn offsets(&self, noise: &mut Noise) -> [u64; 2] {
        let blocks = (self.spec.size.0 / self.spec.write.0.max(1)).max(1);
        let first = noise.number() % blocks;
        let step = if blocks > 1 { 1 + noise.number() % (blocks - 1) } else { 0 };
        let second = (first + step) % blocks;
        [first, second].map(|block| block * self.spec.write.0)
    }

    /// Looks up every small file; false when it was to stop.
    fn look_up(&self, touches: &mut Touches, stop: &AtomicBool) -> Result<bool, String> {
        let mut together = Duration::ZERO;
        for number in 0..self.spec.files {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let path = self.directory.join(small_file(number));
            let began = Instant::now();
            let found = fs::symlink_metadata(&path);
            together += began.elapsed();
            let found = found.map_err(|error| sentence("look up", &path, &error))?;
            if !found.is_file() || found.len() != self.spec.file_size.0 {
                return Err(format!(
                    "`{}` has {} bytes and should have {}: it is not of this workload",
                    path.display(),
                    found.len(),
                    self.spec.file_size.0
                ));
            }
        }
        touches.looked_up = (self.spec.files > 0).then_some(together);
        Ok(true)
    }

    /// Opens every small file; false when it was to stop.
    fn open_each(&self, touches: &mut Touches, stop: &AtomicBool) -> Result<bool, String> {
        let mut together = Duration::ZERO;
        for number in 0..self.spec.files {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let path = self.directory.join(small_file(number));
            let began = Instant::now();
            let opened = File::open(&path);
            let took = began.elapsed();
            opened.map_err(|error| sentence("open", &path, &error))?;
            together += took;
            touches.open_latency.record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        }
        touches.opened = (self.spec.files > 0).then_some(together);
        Ok(true)
    }

    /// Opens a file for writing, writes once and, if asked, makes that durable; how long this took together, because opening
    /// is what copies a file up.
    fn write(
        &self,
        how: &OpenOptions,
        path: &Path,
        offset: u64,
        data: &[u8],
        touches: &mut Touches,
    ) -> Result<Duration, String> {
        let began = Instant::now();
        let written = how.open(path).and_then(|file| {
            file.write_all_at(data, offset)?;
            if self.spec.sync {
                file.sync_data()?;
            }
            Ok(file)
        });
        let took = began.elapsed();
        let _file = written.map_err(|error| sentence("write", path, &error))?;
        touches.written_bytes += data.len() as u64;
        Ok(took)
    }
}

impl Moved {
    fn between(before: &[FileExtent], after: &[FileExtent]) -> Self {
        let bytes = after.iter().map(|extent| extent.length).sum();
        let elsewhere_bytes = after.iter().map(|extent| extent.length - unmoved(before, extent)).sum();
        let shared = |extents: &[FileExtent]| -> u64 {
            extents.iter().filter(|extent| extent.is_shared()).map(|extent| extent.length).sum()
        };
        Self { elsewhere_bytes, shared_bytes: shared(after).saturating_sub(shared(before)), bytes }
    }
}

/// So many bytes of an extent lie where they lay before. Both maps are in the order of the file.
fn unmoved(before: &[FileExtent], extent: &FileExtent) -> u64 {
    if extent.is_placeless() {
        return 0;
    }
    let end = extent.logical + extent.length;
    let from = before.partition_point(|earlier| earlier.logical + earlier.length <= extent.logical);
    let overlapping = before.iter().skip(from).take_while(|earlier| earlier.logical < end);
    let alike = overlapping.filter(|earlier| {
        !earlier.is_placeless()
            && earlier.physical.wrapping_sub(earlier.logical) == extent.physical.wrapping_sub(extent.logical)
    });
    alike
        .map(|earlier| {
            let last = end.min(earlier.logical + earlier.length);
            last.saturating_sub(extent.logical.max(earlier.logical))
        })
        .sum()
}

fn map_of(path: &Path) -> io::Result<Vec<FileExtent>> {
    extents_of(&File::open(path)?)
}

fn sentence(what: &str, path: &Path, error: &io::Error) -> String {
    format!("{what} `{}`: {error}", path.display())
}

/// Lets the page cache forget a file; what is dirty is written back first.
fn forget(path: &Path) -> io::Result<()> {
    let file: File =
        rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, rustix::fs::Mode::empty())?.into();
    file.sync_data()?;
    fadvise(&file, 0, None, Advice::DontNeed)?;
    Ok(())
}

/// Random bytes of a seed, in pieces of any length.
struct Noise {
    stream: NoiseStream,
    rest: Vec<u8>,
}

impl Noise {
    fn new(seed: u64) -> Self {
        Self { stream: NoiseStream::new(seed), rest: Vec::new() }
    }

    fn fill(&mut self, mut bytes: &mut [u8]) {
        while !bytes.is_empty() {
            if self.rest.is_empty() {
                self.rest = self.stream.next_chunk().to_vec();
            }
            let length = bytes.len().min(self.rest.len());
            let (now, later) = bytes.split_at_mut(length);
            let from = self.rest.len() - length;
            now.copy_from_slice(&self.rest.split_off(from));
            bytes = later;
        }
    }

    fn number(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}

#[cfg(test)]
mod tests;
