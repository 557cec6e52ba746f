//! The guard: nothing on a device of the user's is touched while it is alive, nor destroyed unless the user named it.
//!
//! Everything here reads and never writes: devices are opened read-only, and what was found is a refusal or a clean
//! bill. It is asked at preflight, before a device is claimed, and once more right before each destructive step.

mod claims;
mod consent;
mod family;
mod foreign;
mod mounts;
mod siblings;
mod signatures;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::device::{BlockDevice, DeviceNumber, read_attribute, size_in_words};
use crate::error::{Refusal, RefusalReason, StackError};
use consent::{destroy_word, is_linked, twins};
use signatures::Window;

pub(crate) use claims::claim;
pub use consent::{is_device_named, strange_words};

/// No filesystem and no measurement makes sense below this many bytes.
const SIZE_MIN_BYTES: u64 = 8 << 20;

/// What the caller may do that others may not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowance<'a> {
    /// Identities of devices whose content may be destroyed, as the user typed them.
    pub(crate) destroy: &'a [String],
    /// The session's locks; whoever holds the lock on a device is not refused for its being locked.
    pub(crate) claims: &'a BTreeMap<DeviceNumber, OwnedFd>,
}

impl<'a> Allowance<'a> {
    /// An allowance without any lock.
    pub(crate) fn with_destroy(destroy: &'a [String]) -> Self {
        static NONE: BTreeMap<DeviceNumber, OwnedFd> = BTreeMap::new();
        Self { destroy, claims: &NONE }
    }
}

/// A device that may be written.
#[derive(Debug)]
pub(crate) struct Guarded {
    pub(crate) device: BlockDevice,
    pub(crate) notes: Vec<String>,
}

/// A reason against a device, before it is put into a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Objection {
    reason: RefusalReason,
    because: String,
    loses: Vec<String>,
    next: Vec<String>,
    /// Whether the user may have it nevertheless, by naming the device.
    content_only: bool,
}

impl Objection {
    /// Something alive, which nobody may override.
    fn alive(reason: RefusalReason, because: impl Into<String>, next: Vec<String>) -> Self {
        Self { reason, because: because.into(), loses: Vec::new(), next, content_only: false }
    }

    fn losing(mut self, loses: impl Into<String>) -> Self {
        self.loses.push(loses.into());
        self
    }

    /// Takes the override away: the word for it would let other devices go too.
    fn forbid_word(&mut self, word: &str, twins: &[BlockDevice]) {
        let names: Vec<String> = twins.iter().map(|twin| format!("`{}`", twin.path.display())).collect();
        let also = format!("; `{word}` names {} as well", names.join(" and "));
        self.because.push_str(&also);
        self.next.push("name it behind `--destroy` by a link of its own under `/dev/disk/by-id`".to_owned());
        self.content_only = false;
    }
}

/// Looks at a device from all sides. Reading only; not a byte is changed.
///
/// # Errors
/// [`StackError::Refused`] with the first objection, those of living things before those of mere content;
/// [`StackError::Usage`] if there is nothing at the path.
pub(crate) fn inspect(path: &Path, allowance: &Allowance<'_>) -> Result<Guarded, StackError> {
    if !path.exists() {
        return Err(StackError::usage("volume.devices", format!("there is no `{}`", path.display())));
    }
    let Some(device) = BlockDevice::at(path)? else {
        return Err(StackError::Refused(Box::new(Refusal {
            device: path.to_owned(),
            identity: "no block device".to_owned(),
            reason: RefusalReason::NotABlockDevice,
            because: "it is not a block device".to_owned(),
            loses: Vec::new(),
            next: vec!["`lsblk --paths --output NAME,SIZE,TYPE,MOUNTPOINTS` lists those that are".to_owned()],
            destroy: None,
        })));
    };
    let mut notes = Vec::new();
    let refuse = |objection: Objection| refusal(path, &device, objection);
    if let Some(objection) = alive(&device)? {
        return Err(refuse(objection));
    }
    if let Some(mut objection) = contents(&device, &mut notes)? {
        if !is_linked(&device, allowance.destroy) {
            let word = destroy_word(&device);
            let twins = twins(&device)?;
            if !twins.is_empty() && objection.content_only {
                objection.forbid_word(&word, &twins);
            }
            if !objection.content_only || !allowance.destroy.contains(&word) {
                return Err(refuse(objection));
            }
        }
        let lost = objection.loses.join(", ");
        notes.push(format!("`{}` is destroyed as asked: {lost}", path.display()));
    }
    if !allowance.claims.contains_key(&device.number)
        && let Some(objection) = claims::locked_by_others(&device)?
    {
        return Err(refuse(objection));
    }
    if let Some(objection) = siblings::locked_by_others(&device, allowance)? {
        return Err(refuse(objection));
    }
    Ok(Guarded { device, notes })
}

fn refusal(path: &Path, device: &BlockDevice, objection: Objection) -> StackError {
    let mut next = objection.next;
    next.push("name another device".to_owned());
    StackError::Refused(Box::new(Refusal {
        device: path.to_owned(),
        identity: format!("{}, {}", device.identity(), size_in_words(device.size_bytes)),
        reason: objection.reason,
        because: objection.because,
        loses: objection.loses,
        next,
        destroy: objection.content_only.then(|| destroy_word(device)),
    }))
}

/// Objections that nobody can override: something uses the device now, or it cannot be written at all.
fn alive(device: &BlockDevice) -> Result<Option<Objection>, StackError> {
    let family = family::of(device);
    if let Some(objection) = mounts::objection(device, &family, true)? {
        return Ok(Some(objection));
    }
    if let Some(objection) = family::held(device, &family)? {
        return Ok(Some(objection));
    }
    if let Some(objection) = claims::open_by_others(device)? {
        return Ok(Some(objection));
    }
    if let Some(objection) = siblings::alive(device, &family)? {
        return Ok(Some(objection));
    }
    if read_attribute(&device.sysfs().join("ro"))? != "0" {
        let next = format!("`blockdev --setrw {}`", device.path.display());
        return Ok(Some(Objection::alive(RefusalReason::ReadOnly, "it is read-only", vec![next])));
    }
    if device.size_bytes < SIZE_MIN_BYTES {
        let because = format!("it is smaller than {}", size_in_words(SIZE_MIN_BYTES));
        return Ok(Some(Objection::alive(RefusalReason::TooSmall, because, Vec::new())));
    }
    Ok(None)
}

/// Objections for the sake of what is stored.
fn contents(device: &BlockDevice, notes: &mut Vec<String>) -> Result<Option<Objection>, StackError> {
    let node = device.path.display();
    let save = |next: String| vec![format!("save what is on it, then {next}")];
    let partitions = family::partitions(device);
    if !partitions.is_empty() {
        let names: Vec<String> = partitions
            .iter()
            .map(|partition| {
                format!("partition {} ({})", partition.name, size_in_words(partition.size_bytes))
            })
            .collect();
        return Ok(Some(Objection {
            reason: RefusalReason::Partitioned,
            because: format!("it has {} partitions", partitions.len()),
            loses: names,
            next: save(format!("`wipefs --all {node}`")),
            content_only: true,
        }));
    }
    let window = match Window::read(&device.path, device.size_bytes) {
        Ok(window) => window,
        Err(StackError::Io { source, .. }) => {
            let because = format!("it cannot be read ({source}), so nothing proves it empty");
            return Ok(Some(Objection::alive(RefusalReason::Unreadable, because, Vec::new())));
        }
        Err(other) => return Err(other),
    };
    let known = foreign::identify(&device.path);
    if let Some(found) = signatures::find(&window) {
        // Where libblkid knows the same thing, its name is the more exact one.
        let is_same = |word: &String| {
            word.contains(found.name) || found.uuid.as_ref().is_some_and(|uuid| word.contains(uuid.as_str()))
        };
        let words =
            known.found.iter().find(|word| is_same(word)).cloned().unwrap_or_else(|| found.in_words());
        let others = known.found.iter().filter(|word| !is_same(word)).cloned();
        let loses = std::iter::once(words.clone()).chain(others).collect();
        return Ok(Some(Objection {
            reason: if found.is_partition_table {
                RefusalReason::Partitioned
            } else {
                RefusalReason::Signature
            },
            because: format!("it carries {words}"),
            loses,
            next: save(format!("`wipefs --all {node}`")),
            content_only: true,
        }));
    }
    if !known.found.is_empty() {
        return Ok(Some(Objection {
            reason: RefusalReason::Signature,
            because: format!("it carries {} (found by {})", known.found.join(", "), known.by),
            loses: known.found,
            next: save(format!("`wipefs --all {node}`")),
            content_only: true,
        }));
    }
    if !known.asked {
        notes.push("neither `wipefs` nor `blkid` is there to look as well; util-linux has them".to_owned());
    }
    if !window.starts_with_zeros() {
        notes.push(format!("{node} carries nothing known, but its beginning is not all zeros"));
    }
    Ok(None)
}

/// A node in /dev for a kernel name.
fn node_of(name: &str) -> PathBuf {
    Path::new("/dev").join(name.replace('!', "/"))
}

/// The first signature that a device of these bytes carries, in words.
pub fn name_content(device: &[u8]) -> Option<String> {
    signatures::find(&Window::of(device)).map(|found| found.in_words())
}

/// Every magic of the table with each offset at which it may stand on a device of that size, in bytes.
pub(crate) fn magic_places(size_bytes: u64) -> Vec<(u64, &'static [u8])> {
    let places = |signature: &table::Signature| {
        let magics = signature.magics;
        signatures::offsets(signature, size_bytes)
            .into_iter()
            .flat_map(move |offset| magics.iter().map(move |magic| (offset, *magic)))
    };
    table::SIGNATURES.iter().flat_map(places).collect()
}

/// What wipefs(8) and blkid(8) are understood to say, one item for each thing found.
pub(crate) fn read_foreign(text: &str) -> Vec<String> {
    foreign::parse_wipefs(text).into_iter().flatten().chain(foreign::parse_blkid(text)).collect()
}

/// The areas in the text of `/proc/swaps` (`proc_swaps(5)`).
pub(crate) fn read_swaps(text: &[u8]) -> Vec<PathBuf> {
    mounts::swap_paths(text)
}
