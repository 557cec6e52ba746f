//! What the LUNs' devices served during a point.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use iostone_model::orion::{LunKind, ServedAtPoint};
use iostone_model::sample::{DiskCounters, Sample};
use iostone_probe::{DEFAULT_INTERVAL, Probe, Recording, Role, Root, WatchedDevice};
use rustix::fs::{major, minor};

use crate::lun::Lun;

/// Claimed and served may differ by this share.
const TOLERANCE: f64 = 0.05;
/// The counters are read ten times a second, and what was served at either edge of the measured time is interpolated.
const EDGES_SECONDS: f64 = 0.2;
/// Two clocks are held against each other within this.
const SHARP: Duration = Duration::from_micros(200);
/// And so many times at most.
const MOST_MARKS: u32 = 5;
/// An overlay may lie on an overlay, but not for ever.
const DEEPEST_OVERLAY: u32 = 4;

/// The devices that the LUNs are, or whose filesystems hold them, each once. A LUN whose device is not to be found (tmpfs,
/// a network filesystem) adds none.
pub fn devices_of(luns: &[Lun]) -> Vec<WatchedDevice> {
    let mut names = BTreeSet::new();
    for lun in luns {
        let Ok(metadata) = fs::metadata(lun.way()) else { continue };
        let name = match lun.kind {
            LunKind::Device => kernel_name(metadata.rdev()),
            LunKind::File => device_under(&lun.way(), 0),
        };
        names.extend(name);
    }
    names.into_iter().map(|name| WatchedDevice { name, role: Role::Stack }).collect()
}

/// The name of a block device under its number: that of a partition where it is one.
fn kernel_name(number: u64) -> Option<String> {
    let link = format!("/sys/dev/block/{}:{}", major(number), minor(number));
    fs::canonicalize(link).ok()?.file_name()?.to_str().map(str::to_owned)
}

/// The device of the filesystem that holds a path. Filesystems with a device number of their own (btrfs, overlay) are
/// looked up in the mount table.
fn device_under(path: &Path, depth: u32) -> Option<String> {
    if let Some(name) = fs::metadata(path).ok().and_then(|metadata| kernel_name(metadata.dev())) {
        return Some(name);
    }
    let path = fs::canonicalize(path).ok()?;
    let mounts = Root::live().mounts();
    // Of several on the same place the last one hides the others.
    let mount = mounts
        .iter()
        .filter(|mount| path.starts_with(&mount.target))
        .max_by_key(|mount| mount.target.as_os_str().len())?;
    if mount.filesystem == "overlay" {
        let upper = mount.super_option("upperdir")?;
        return if depth < DEEPEST_OVERLAY { device_under(&upper, depth + 1) } else { None };
    }
    let source = fs::metadata(&mount.source).ok()?;
    kernel_name(source.rdev())
}

/// Watches devices' counters while a point is measured.
pub(super) struct Watcher {
    probe: Option<Probe>,
    /// A moment of the probe's clock that is known by this one, too.
    marked: Instant,
    /// When the measured time was opened.
    opened: Option<Instant>,
}

impl Watcher {
    /// Begins to watch. Counters that cannot be had are no reason not to measure.
    pub(super) fn begin(devices: &[WatchedDevice]) -> Self {
        let probe = if devices.is_empty() { None } else { Probe::start(devices, DEFAULT_INTERVAL).ok() };
        let mut marked = Instant::now();
        for _ in 0..MOST_MARKS {
            let before = Instant::now();
            if let Some(probe) = &probe {
                probe.mark_start();
            }
            marked = Instant::now();
            // Held up meanwhile, the mark may be anywhere in between.
            if marked.duration_since(before) < SHARP {
                break;
            }
        }
        Self { probe, marked, opened: None }
    }

    /// The measured time has been open for so long now. Whoever says so may have been held up, never the other way round, so
    /// that the earliest opening is the best.
    pub(super) fn measuring(&mut self, elapsed: Duration) {
        if let Some(opened) = Instant::now().checked_sub(elapsed) {
            self.opened = Some(self.opened.map_or(opened, |earliest| earliest.min(opened)));
        }
    }

    /// What was served in the measured time, and what is to be said of it.
    pub(super) fn end(self, measured: Duration) -> (Option<ServedAtPoint>, Vec<String>) {
        let (Some(probe), Some(opened)) = (self.probe, self.opened) else { return (None, Vec::new()) };
        let recording = probe.stop();
        if recording.devices.iter().any(|device| !device.counting || device.ended.is_some()) {
            return (None, recording.losses);
        }
        let marked_ns = recording.measured_ns.0;
        let opened_ns = if opened >= self.marked {
            marked_ns.saturating_add(nanoseconds(opened.duration_since(self.marked)))
        } else {
            marked_ns.saturating_sub(nanoseconds(self.marked.duration_since(opened)))
        };
        let closed_ns = opened_ns.saturating_add(nanoseconds(measured));
        (served_between(&recording, opened_ns, closed_ns), Vec::new())
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn served_between(recording: &Recording, from_ns: u64, to_ns: u64) -> Option<ServedAtPoint> {
    let mut sum = ServedAtPoint::default();
    for (index, device) in recording.devices.iter().enumerate() {
        let between = |counter: fn(&DiskCounters) -> u64| {
            let before = counter_at(&recording.samples, index, from_ns, counter)?;
            let after = counter_at(&recording.samples, index, to_ns, counter)?;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count, rounded")]
            Some((after - before).max(0.0).round() as u64)
        };
        sum.devices.push(device.name.clone());
        sum.reads += between(|counters| counters.reads)?;
        sum.read_bytes += between(|counters| counters.read_bytes)?;
        sum.writes += between(|counters| counters.writes)?;
        sum.written_bytes += between(|counters| counters.written_bytes)?;
        sum.flushes += between(|counters| counters.flushes)?;
    }
    Some(sum)
}

/// A counter of a device at a moment, between the two samples around it.
fn counter_at(
    samples: &[Sample],
    device: usize,
    at_ns: u64,
    counter: fn(&DiskCounters) -> u64,
) -> Option<f64> {
    let read = |sample: &Sample| sample.disks.get(device).map(|disk| (sample.at_ns, counter(disk) as f64));
    let behind = samples.partition_point(|sample| sample.at_ns < at_ns);
    let (late_ns, late) = read(samples.get(behind).or(samples.last())?)?;
    let (early_ns, early) = read(samples.get(behind.saturating_sub(1))?)?;
    if late_ns <= early_ns || at_ns >= late_ns {
        return Some(late);
    }
    let share = at_ns.saturating_sub(early_ns) as f64 / (late_ns - early_ns) as f64;
    Some(early + (late - early) * share)
}

/// The share by which bytes claimed and served may differ in so many seconds.
pub(crate) fn tolerance(seconds: f64) -> f64 {
    TOLERANCE.max(EDGES_SECONDS / seconds.max(f64::MIN_POSITIVE))
}

/// Whether a note on a point is about bytes claimed and served, as [`divergences`](super::divergences) tells it.
pub(crate) fn tells_served(note: &str) -> bool {
    note.contains("` served ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_ns: u64, read_bytes: u64) -> Sample {
        let disk = DiskCounters { read_bytes, ..DiskCounters::default() };
        Sample { at_ns, disks: vec![disk], ..Sample::default() }
    }

    #[test]
    fn counters_are_interpolated_between_samples() {
        let samples = [sample(0, 100), sample(100, 200), sample(200, 600)];
        let at = |at_ns| counter_at(&samples, 0, at_ns, |disk| disk.read_bytes).map(f64::round);
        let read = [at(0), at(50), at(100), at(150), at(300)].map(Option::unwrap);
        assert_eq!(read.map(|bytes| format!("{bytes}")), ["100", "150", "200", "400", "600"]);
        assert_eq!(counter_at(&samples, 1, 50, |disk| disk.read_bytes), None);
        assert_eq!(counter_at(&[], 0, 50, |disk| disk.read_bytes), None);
    }

    #[test]
    fn a_file_in_a_folder_has_the_device_of_its_filesystem_once() {
        let folder = tempfile::tempdir().unwrap();
        let luns: Vec<Lun> = ["a", "b"]
            .map(|name| {
                let path = folder.path().join(name);
                fs::write(&path, "x").unwrap();
                Lun { name: name.to_owned(), path, kind: LunKind::File, bytes: 1, pin: None }
            })
            .to_vec();
        assert!(devices_of(&luns).len() <= 1);
    }
}
