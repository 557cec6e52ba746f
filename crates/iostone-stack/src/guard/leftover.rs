//! What iostone left on a device of the user's: a device that was empty holds the remains of trials after a run, and is
//! used again only if they are still what they were.
//!
//! A record in the state directory tells them: a fingerprint of the places that are looked at on any device, and what
//! counts writes. Within one boot the kernel's counters of the device tell of any write through it; the time at which the file
//! under a loop device was last modified does so after a reboot too. For a disk that was taken to another machine or written
//! by one, the fingerprint alone speaks.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::contents::{self, Look};
use super::{places, survey};
use crate::device::extent::backing_file_of;
use crate::device::opened::{FoundDevice, OpenedDevice};
use crate::device::{BlockDevice, read_attribute};
use crate::error::StackError;
use crate::journal::{Claim, Journal, random_bytes};
use crate::owner::boot_id;
use crate::registry::Registry;

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
    /// The number of this use of the device within the boot.
    diskseq: Option<u64>,
    /// Sectors written and discarded so far (Documentation/block/stat.rst).
    sectors: [u64; 2],
    /// When the file under a loop device was last modified, in seconds and nanoseconds.
    modified: Option<(i64, i64)>,
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

    /// Writes down what the devices hold that a dead session had claimed, of this boot and not attached anew since.
    pub(crate) fn remember_claims(&self, journal: &Journal) {
        if !journal.owner.is_of_this_boot().unwrap_or(false) {
            return;
        }
        for claim in &journal.claims {
            let found =
                BlockDevice::numbered(claim.number).and_then(|device| FoundDevice::find(&device.path));
            let Ok(Some(Ok(opened))) = found.map(|found| found.map(FoundDevice::open)) else { continue };
            if Claim::of(&opened.device) == *claim && holds_no_signature(&opened, self) {
                self.remember(&opened);
            }
        }
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
    /// As the kernel tells now.
    pub(super) fn of(device: &BlockDevice) -> Option<Self> {
        let stat = read_attribute(&device.sysfs().join("stat")).ok()?;
        let fields: Vec<u64> = stat.split_ascii_whitespace().filter_map(|field| field.parse().ok()).collect();
        let modified = if device.backing_file().is_some() {
            // One that cannot be looked at any more tells nothing, and nothing is taken for unchanged then.
            let metadata = backing_file_of(device)?.0.metadata().ok()?;
            Some((metadata.mtime(), metadata.mtime_nsec()))
        } else {
            None
        };
        Some(Self {
            boot_id: boot_id().ok()?,
            diskseq: device.diskseq(),
            // Kernels before 4.18 have no field for discards.
            sectors: [*fields.get(6)?, fields.get(13).copied().unwrap_or(0)],
            modified,
        })
    }

    /// Whether nothing speaks for a write between `before` and this.
    fn may_follow(&self, before: &Self) -> bool {
        let same_use = self.boot_id == before.boot_id && self.diskseq == before.diskseq;
        self.modified == before.modified && (!same_use || self.sectors == before.sectors)
    }
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
    let new = path.with_extension("new");
    let _ = fs::remove_file(&new);
    let file = File::options().write(true).create_new(true).mode(0o600).open(&new);
    file.and_then(|mut file| io::Write::write_all(&mut file, &text).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&new, &path))
        .map_err(|source| StackError::io("write", &path, source))
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

    fn writes(boot: &str, sectors: u64, modified: Option<(i64, i64)>) -> Writes {
        Writes { boot_id: boot.to_owned(), diskseq: Some(7), sectors: [sectors, 0], modified }
    }

    #[test]
    fn a_write_since_speaks_against_it() {
        let before = writes("a", 10, Some((1, 2)));
        assert!(writes("a", 10, Some((1, 2))).may_follow(&before));
        assert!(!writes("a", 11, Some((1, 2))).may_follow(&before), "within the boot");
        assert!(writes("b", 0, Some((1, 2))).may_follow(&before), "counters begin anew with a boot");
        assert!(!writes("b", 0, Some((1, 3))).may_follow(&before), "the file was modified");
        assert!(!writes("a", 10, None).may_follow(&before));
    }
}
