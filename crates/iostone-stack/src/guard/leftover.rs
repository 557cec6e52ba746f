//! What iostone left on a device of the user's: a device that was empty holds the remains of trials after a run, and is
//! used again only if they are still what they were.
//!
//! A record in the state directory tells them: a fingerprint of the places that are looked at on any device, and what
//! changes with every write: the kernel's counters of all devices that show the bytes, and the times of the file under a loop
//! device. After a reboot the counters of a disk begin anew, so that only a loop device is known again then.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::contents::{self, Look};
use super::{places, survey};
use crate::device::extent::{Extent, FileBelow, all_devices, file_below};
use crate::device::opened::{FoundDevice, OpenedDevice};
use crate::device::{BlockDevice, partitions_of, read_attribute};
use crate::error::StackError;
use crate::journal::random_bytes;
use crate::owner::boot_id;
use crate::registry::Registry;
use crate::whole_file::write_whole_file;

/// Where the records lie; without a place nothing is ever known for iostone's own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Leftovers {
    directory: Option<PathBuf>,
}

/// What is known of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    identity: String,
    size_bytes: u64,
    /// Of the places that were read.
    seed: u64,
    fingerprint: u64,
    /// The version that made it: another one may hash in another way.
    version: String,
    writes: Writes,
}

/// What changes with every write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Writes {
    boot_id: String,
    /// Of the device, and of all that show some of the same bytes.
    counters: Vec<Counter>,
    /// The file below, and when it was last changed; none for a disk.
    file: Option<Change>,
}

/// What the kernel counts of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counter {
    name: String,
    /// The number of this use of the device within the boot.
    diskseq: Option<u64>,
    /// Sectors written and discarded so far (Documentation/block/stat.rst), of a disk without those of its partitions.
    sectors: [u64; 2],
}

/// A file's state. Nobody can set the time of a change (`st_ctime` of stat(2)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    inode: u64,
    /// In seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Leftovers {
    /// Those of a state directory.
    pub(crate) fn of_state(state: &Path) -> Self {
        Self { directory: Some(state.join("leftovers")) }
    }

    /// Whether a device holds what iostone left on it, and nobody wrote to it since.
    ///
    /// # Errors
    /// That of a read of the device.
    pub(super) fn holds(&self, opened: &OpenedDevice) -> io::Result<bool> {
        let Some(record) = self.record_of(&opened.device) else { return Ok(false) };
        let Some(now) = Writes::of(&opened.device) else { return Ok(false) };
        if !now.may_follow(&record.writes) {
            return Ok(false);
        }
        let spans = places::spans(record.size_bytes, record.seed);
        Ok(survey::fingerprint(&opened.reader()?, &spans)? == record.fingerprint)
    }

    /// Writes down what a device holds, all of which is iostone's; to be called with nothing on it alive. Best effort:
    /// without a record the device is refused next time, and the user says that its content may go.
    fn remember(&self, opened: &OpenedDevice) {
        if let Some(directory) = &self.directory {
            let _ = write(directory, opened);
        }
    }

    fn record_of(&self, device: &BlockDevice) -> Option<Record> {
        let bytes = fs::read(self.directory.as_ref()?.join(file_name(device))).ok()?;
        let record: Record = serde_json::from_slice(&bytes).ok()?;
        let is_it = record.identity == device.identity()
            && record.size_bytes == device.size_bytes
            && record.version == env!("CARGO_PKG_VERSION");
        is_it.then_some(record)
    }
}

/// A device that the guard let pass, from before it is written to until what was left on it is written down.
#[derive(Debug)]
pub struct DeviceLoad {
    opened: OpenedDevice,
    before: Option<Writes>,
}

impl DeviceLoad {
    /// To be called before the first write; none for what cannot be opened.
    pub fn begin(device: &Path) -> Option<Self> {
        let opened = FoundDevice::find(device).ok()??.open().ok()?;
        let before = Writes::of(&opened.device);
        Some(Self { opened, before })
    }

    /// Writes down what the device holds now, so that it may be used again. Nothing is written down if nothing was written to
    /// it, as what it holds is then the user's still; nor where somebody else has made something on it meanwhile.
    pub fn end(&self, registry: &Registry) {
        self.remember(&registry.leftovers());
    }

    pub(super) fn remember(&self, leftovers: &Leftovers) {
        let _ = self.opened.write_back();
        let is_written = self.before.is_some() && Writes::of(&self.opened.device) != self.before;
        if is_written && holds_no_signature(&self.opened, leftovers) {
            leftovers.remember(&self.opened);
        }
    }
}

/// Whether nobody has made anything on a device that would be known by its signature.
fn holds_no_signature(opened: &OpenedDevice, leftovers: &Leftovers) -> bool {
    contents::objection(opened, Look::Signatures, leftovers, &mut Vec::new()).is_none()
}

impl Writes {
    /// As the kernel tells now; none where it does not tell all.
    pub(super) fn of(device: &BlockDevice) -> Option<Self> {
        let file = match file_below(device).ok()? {
            None => None,
            // One that cannot be looked at tells nothing, and nothing is taken for unchanged then.
            Some(FileBelow::Unreachable(_)) => return None,
            Some(FileBelow::Opened(file, _)) => Some(Change::of(&file.metadata().ok()?)),
        };
        let own = Extent::of(device).ok()??;
        let shares = |other: &BlockDevice| {
            other.number == device.number
                || Extent::of(other).ok().flatten().is_some_and(|extent| extent.overlaps(&own))
        };
        let sharing = all_devices().ok()?.into_iter().filter(shares);
        let counters = sharing.map(|device| Counter::of(&device)).collect::<Option<_>>()?;
        Some(Self { boot_id: boot_id().ok()?, counters, file })
    }

    /// Whether nothing can have been written between `before` and this. The counters of a disk begin anew with a boot, so
    /// that nothing is known of one then; a file keeps its times.
    fn may_follow(&self, before: &Self) -> bool {
        let same_counters = self.boot_id == before.boot_id && self.counters == before.counters;
        match (&self.file, &before.file) {
            (Some(now), Some(then)) => now == then,
            (None, None) => same_counters,
            _ => false,
        }
    }
}

impl Counter {
    fn of(device: &BlockDevice) -> Option<Self> {
        let mut sectors = written_sectors(&device.sysfs())?;
        for partition in partitions_of(&device.sysfs()) {
            let of_partition = written_sectors(&BlockDevice::of_any(partition).ok()?.sysfs())?;
            for (whole, part) in sectors.iter_mut().zip(of_partition) {
                *whole = whole.wrapping_sub(part);
            }
        }
        Some(Self { name: device.name.clone(), diskseq: device.diskseq(), sectors })
    }
}

impl Change {
    fn of(metadata: &fs::Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

fn written_sectors(sysfs: &Path) -> Option<[u64; 2]> {
    let stat = read_attribute(&sysfs.join("stat")).ok()?;
    let fields: Vec<u64> = stat.split_ascii_whitespace().filter_map(|field| field.parse().ok()).collect();
    // Kernels before 4.18 have no field for discards.
    Some([*fields.get(6)?, fields.get(13).copied().unwrap_or(0)])
}

fn write(directory: &Path, opened: &OpenedDevice) -> Result<(), StackError> {
    let device = &opened.device;
    let failed = |source: io::Error| StackError::io("read", &device.path, source);
    opened.write_back().map_err(failed)?;
    let seed = u64::from_ne_bytes(random_bytes::<8>()?);
    let spans = places::spans(device.size_bytes, seed);
    let fingerprint =
        opened.reader().and_then(|reader| survey::fingerprint(&reader, &spans)).map_err(failed)?;
    let Some(writes) = Writes::of(device) else { return Ok(()) };
    let record = Record {
        identity: device.identity(),
        size_bytes: device.size_bytes,
        seed,
        fingerprint,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        writes,
    };
    let path = directory.join(file_name(device));
    let text = serde_json::to_vec_pretty(&record)
        .map_err(|error| StackError::unexpected(&path, error.to_string()))?;
    fs::create_dir_all(directory).map_err(|source| StackError::io("mkdir", directory, source))?;
    write_whole_file(&path, &text, 0o600).map_err(|source| StackError::io("write", &path, source))
}

/// One name for each device: what tells it from others, with nothing in it that a file's name cannot hold.
fn file_name(device: &BlockDevice) -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    (device.identity(), device.size_bytes).hash(&mut hasher);
    format!("{:016x}.json", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writes(boot: &str, sectors: u64, file: Option<u64>) -> Writes {
        let counters = vec![Counter { name: "x".to_owned(), diskseq: Some(7), sectors: [sectors, 0] }];
        let file = file.map(|inode| Change { inode, modified: (1, 2), changed: (3, 4) });
        Writes { boot_id: boot.to_owned(), counters, file }
    }

    #[test]
    fn a_write_since_speaks_against_it() {
        let (disk, file) = (writes("a", 10, None), writes("a", 10, Some(5)));
        assert!(writes("a", 10, None).may_follow(&disk));
        assert!(!writes("a", 11, None).may_follow(&disk), "within the boot");
        assert!(!writes("b", 10, None).may_follow(&disk), "counters begin anew with a boot");
        assert!(writes("b", 0, Some(5)).may_follow(&file), "a file keeps its times");
        assert!(!writes("a", 10, Some(6)).may_follow(&file), "another file");
        let mut later = file.clone();
        later.file = Some(Change { inode: 5, modified: (1, 2), changed: (3, 5) });
        assert!(!later.may_follow(&file), "its time of modification was set back");
        assert!(!disk.may_follow(&file));
    }
}
