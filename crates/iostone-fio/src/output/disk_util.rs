//! What the block devices below the targets did meanwhile: fio's `disk_util`.
//!
//! The counters are those of `/sys/block/*/stat` (kernel document block/stat): reads, merged, sectors, milliseconds;
//! the same of writes; in flight, milliseconds busy, milliseconds in the queue.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What a block device did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DiskUtil {
    /// Its name in `/sys/block`.
    pub name: String,
    /// Reads completed.
    pub read_ios: u64,
    /// Writes completed.
    pub write_ios: u64,
    /// Reads merged into others.
    pub read_merges: u64,
    /// Writes merged into others.
    pub write_merges: u64,
    /// Time that reads took, all together, in milliseconds.
    pub read_ms: u64,
    /// Time that writes took.
    pub write_ms: u64,
    /// Time that all requests took.
    pub queue_ms: u64,
    /// Time in which at least one request was on its way.
    pub busy_ms: u64,
    /// Time over which this was counted.
    pub elapsed_ms: u64,
    /// What the devices below it did on average; None where there are none.
    pub slaves: Option<SlavesUtil>,
}

impl DiskUtil {
    /// Time busy in percent of all, 100 at most.
    pub fn busy_percent(&self) -> f64 {
        if self.elapsed_ms == 0 {
            0.0
        } else {
            (100.0 * self.busy_ms as f64 / self.elapsed_ms as f64).min(100.0)
        }
    }
}

/// The devices below one, on average; fio's `aggr_`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SlavesUtil {
    /// Reads completed.
    pub read_ios: u64,
    /// Writes completed.
    pub write_ios: u64,
    /// Reads merged into others.
    pub read_merges: u64,
    /// Writes merged into others.
    pub write_merges: u64,
    /// Time that reads took, in milliseconds.
    pub read_ms: u64,
    /// Time that writes took.
    pub write_ms: u64,
    /// Time that all requests took.
    pub queue_ms: u64,
    /// Of the one that was busiest.
    pub busy_percent: f64,
}

impl SlavesUtil {
    /// The mean of several, rounded down as by fio; None of none.
    pub fn of(slaves: &[DiskUtil]) -> Option<Self> {
        let mean = |of: fn(&DiskUtil) -> u64| {
            slaves.iter().map(of).sum::<u64>().checked_div(slaves.len() as u64).unwrap_or(0)
        };
        (!slaves.is_empty()).then(|| Self {
            read_ios: mean(|disk| disk.read_ios),
            write_ios: mean(|disk| disk.write_ios),
            read_merges: mean(|disk| disk.read_merges),
            write_merges: mean(|disk| disk.write_merges),
            read_ms: mean(|disk| disk.read_ms),
            write_ms: mean(|disk| disk.write_ms),
            queue_ms: mean(|disk| disk.queue_ms),
            busy_percent: slaves.iter().map(DiskUtil::busy_percent).fold(0.0, f64::max),
        })
    }
}

/// The block devices below some targets, watched from its making to [`finish`](Self::finish).
#[derive(Debug)]
pub struct DiskWatch {
    begun: Instant,
    disks: Vec<Watched>,
}

/// A device, where its counters stood, and which ones lie below it.
#[derive(Debug)]
struct Watched {
    folder: PathBuf,
    before: [u64; 11],
    slaves: Vec<PathBuf>,
}

impl DiskWatch {
    /// Begins to watch the devices that hold these targets (that of a partition is its disk), and the devices below
    /// those; a caller leaves out what no I/O will reach, such as the targets of the null engine. Targets on no block device of their own, such as tmpfs or btrfs, have none; nothing of this fails.
    pub fn start<P: AsRef<Path>>(targets: impl IntoIterator<Item = P>) -> Self {
        let mut watch = Self { begun: Instant::now(), disks: Vec::new() };
        for target in targets {
            if let Some((major, minor)) = find_device(target.as_ref()) {
                watch.add(Path::new(&format!("/sys/dev/block/{major}:{minor}")));
            }
        }
        watch
    }

    /// Adds a device by a path in sysfs, and those below it after it, each once; the folder it is known by.
    fn add(&mut self, link: &Path) -> Option<PathBuf> {
        let mut folder = fs::canonicalize(link).ok()?;
        if !folder.join("queue").exists() {
            // A partition; its disk counts all.
            folder.pop();
        }
        if self.disks.iter().any(|disk| disk.folder == folder) {
            return Some(folder);
        }
        let before = read_counters(&folder)?;
        let place = self.disks.len();
        self.disks.push(Watched { folder: folder.clone(), before, slaves: Vec::new() });
        let below = fs::read_dir(folder.join("slaves")).into_iter().flatten().flatten();
        let mut slaves: Vec<PathBuf> = below.filter_map(|entry| self.add(&entry.path())).collect();
        slaves.sort();
        slaves.dedup();
        if let Some(disk) = self.disks.get_mut(place) {
            disk.slaves = slaves;
        }
        Some(folder)
    }

    /// What each of them did since; one that is gone by now did nothing.
    pub fn finish(self) -> Vec<DiskUtil> {
        let elapsed_ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut found: Vec<DiskUtil> = self.disks.iter().map(|disk| disk.measure(elapsed_ms)).collect();
        let slaves: Vec<Option<SlavesUtil>> = self
            .disks
            .iter()
            .map(|disk| {
                let is_below = |other: &Watched| disk.slaves.contains(&other.folder);
                let below = self.disks.iter().zip(&found).filter(|(other, _)| is_below(other));
                SlavesUtil::of(&below.map(|(_, util)| util.clone()).collect::<Vec<_>>())
            })
            .collect();
        for (disk, slaves) in found.iter_mut().zip(slaves) {
            disk.slaves = slaves;
        }
        found
    }
}

impl Watched {
    fn measure(&self, elapsed_ms: u64) -> DiskUtil {
        let after = read_counters(&self.folder).unwrap_or(self.before);
        let [read_ios, read_merges, _, read_ms, write_ios, write_merges, _, write_ms, _, busy_ms, queue_ms] =
            std::array::from_fn(|field| {
                let at = |counters: &[u64; 11]| counters.get(field).copied().unwrap_or(0);
                at(&after).saturating_sub(at(&self.before))
            });
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        DiskUtil {
            name,
            read_ios,
            write_ios,
            read_merges,
            write_merges,
            read_ms,
            write_ms,
            queue_ms,
            busy_ms,
            elapsed_ms,
            slaves: None,
        }
    }
}

/// Major and minor number of the device that a target is or lies on; of a target that is still to be made, that of its
/// folder.
fn find_device(target: &Path) -> Option<(u32, u32)> {
    let metadata = fs::metadata(target).or_else(|_| {
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
        fs::metadata(folder.unwrap_or(Path::new(".")))
    });
    let metadata = metadata.ok()?;
    let kind = metadata.file_type();
    if kind.is_char_device() || kind.is_fifo() || kind.is_socket() {
        return None;
    }
    let device = if kind.is_block_device() { metadata.rdev() } else { metadata.dev() };
    Some((rustix::fs::major(device), rustix::fs::minor(device)))
}

fn read_counters(folder: &Path) -> Option<[u64; 11]> {
    parse_counters(&fs::read_to_string(folder.join("stat")).ok()?)
}

fn parse_counters(text: &str) -> Option<[u64; 11]> {
    let fields: Option<Vec<u64>> = text.split_whitespace().take(11).map(|field| field.parse().ok()).collect();
    fields?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_the_first_eleven_numbers() {
        let newer = "  10 1 80 5 20 2 160 9 0 12 14 0 0 0 0 3 1\n";
        assert_eq!(parse_counters(newer), Some([10, 1, 80, 5, 20, 2, 160, 9, 0, 12, 14]));
        assert_eq!(parse_counters("10 1 80"), None);
        assert_eq!(parse_counters("10 1 80 5 20 2 160 9 0 x 14"), None);
    }

    #[test]
    fn what_lies_below_is_averaged_and_the_busiest_counts() {
        let disk = |read_ios, busy_ms| DiskUtil { read_ios, busy_ms, elapsed_ms: 100, ..DiskUtil::default() };
        let slaves = SlavesUtil::of(&[disk(10, 30), disk(21, 120)]).unwrap();
        assert_eq!(slaves.read_ios, 15);
        assert!((slaves.busy_percent - 100.0).abs() < 1e-9);
        assert_eq!(SlavesUtil::of(&[]), None);
    }

    #[test]
    fn what_is_on_no_block_device_has_no_disks() {
        assert!(DiskWatch::start(["/dev/null", "/proc/version"]).finish().is_empty());
    }
}
