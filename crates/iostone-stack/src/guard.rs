//! The guard: nothing on a device of the user's is touched while it is alive, nor destroyed unless the user named it.
//!
//! Everything here reads and never writes: devices are opened read-only, and what was found is a refusal or a clean
//! bill. It is asked at preflight, before a device is claimed, and once more right before each destructive step.

mod backups;
mod claims;
mod consent;
mod contents;
mod family;
mod foreign;
mod formats;
mod leftover;
mod mounts;
mod places;
mod siblings;
mod signatures;
mod survey;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use iostone_model::figures::list;

use crate::device::extent::Extent;
use crate::device::opened::{FoundDevice, OpenedDevice};
use crate::device::{BlockDevice, DeviceNumber, read_attribute, size_in_words};
use crate::error::{Refusal, RefusalReason, StackError};
use crate::provide::DRIVE_SERIAL;
use consent::{destroy_word, is_linked, twins};
use contents::Look;
use family::Member;
use signatures::Window;

pub(crate) use claims::{Claim, claim};
pub use consent::{is_device_named, strange_words};
pub use leftover::DeviceLoad;
pub(crate) use leftover::Leftovers;
pub(crate) use places::{EDGE_BYTES, PLACES};

/// No filesystem and no measurement makes sense below this many bytes.
const SIZE_MIN_BYTES: u64 = 8 << 20;

/// What the caller may do that others may not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowance<'a> {
    /// Identities of devices whose content may be destroyed, as the user typed them.
    pub(crate) destroy: &'a [String],
    /// The session's locks; whoever holds the lock on a device is not refused for its being locked.
    pub(crate) claims: &'a BTreeMap<DeviceNumber, Claim>,
    /// What earlier runs left on devices.
    pub(crate) leftovers: &'a Leftovers,
    /// Whether the device is looked at once more before it is written: then one that was found empty is not read a second
    /// time for as long as nothing was written to it.
    pub(crate) early: bool,
}

impl<'a> Allowance<'a> {
    /// That of a look before a session.
    pub(crate) fn early(destroy: &'a [String], leftovers: &'a Leftovers) -> Self {
        static NONE: BTreeMap<DeviceNumber, Claim> = BTreeMap::new();
        Self { destroy, claims: &NONE, leftovers, early: true }
    }

    /// Whether the bytes of a device are among those of a device whose content is the session's own.
    fn owns_content(&self, device: &BlockDevice) -> bool {
        let extent = |device: &BlockDevice| Extent::of(device).ok().flatten();
        let cleared = self.claims.iter().filter(|(_, claim)| claim.is_cleared).map(|(number, _)| *number);
        cleared.into_iter().any(|number| {
            number == device.number
                || BlockDevice::of_any(number)
                    .ok()
                    .and_then(|claimed| Some(extent(&claimed)?.covers(&extent(device)?)))
                    .unwrap_or(false)
        })
    }
}

/// A device that may be written, and the descriptor by which it was looked at.
#[derive(Debug)]
pub(crate) struct Guarded {
    opened: OpenedDevice,
    /// Whether it was empty, or iostone's own; else its content was let go, and what a load leaves of that is the user's still.
    is_free: bool,
    pub(crate) notes: Vec<String>,
}

impl Guarded {
    pub(crate) fn device(&self) -> &BlockDevice {
        &self.opened.device
    }
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
        let also = format!("; `{word}` names {} as well", list(&names));
        self.because.push_str(&also);
        self.next.push("name it after `--destroy` by its link under `/dev/disk/by-id`".to_owned());
        self.content_only = false;
    }
}

/// Looks at a device from all sides. Reading only; not a byte is changed. The path is walked once, and everything is asked
/// of the one descriptor that it gave.
///
/// # Errors
/// [`StackError::Refused`] with the first objection, those of living things before those of mere content;
/// [`StackError::Usage`] if there is nothing at the path.
pub(crate) fn inspect(path: &Path, allowance: &Allowance<'_>) -> Result<Guarded, StackError> {
    let Some(found) = FoundDevice::find(path)? else {
        return Err(StackError::Refused(Box::new(Refusal {
            device: path.to_owned(),
            identity: "no block device".to_owned(),
            reason: RefusalReason::NotABlockDevice,
            because: "it is not a block device".to_owned(),
            loses: Vec::new(),
            next: vec!["`lsblk --paths --output NAME,SIZE,TYPE,MOUNTPOINTS` lists block devices".to_owned()],
            destroy: None,
        })));
    };
    let mut notes = Vec::new();
    let family = family::of(&found.device);
    // Before it is opened: that may be denied for the very disk that the system stands on.
    if let Some(objection) = occupied(&found.device, &family)? {
        return Err(refusal(path, &found.device, objection));
    }
    let opened = found.open()?;
    let device = &opened.device;
    let refuse = |objection: Objection| refusal(path, device, objection);
    if let Some(objection) = used(&opened, &family)? {
        return Err(refuse(objection));
    }
    if !allowance.claims.contains_key(&device.number)
        && let Some(objection) = claims::locked_by_others(device)?
    {
        return Err(refuse(objection));
    }
    if let Some(objection) = siblings::locked_by_others(device, allowance)? {
        return Err(refuse(objection));
    }
    let word = destroy_word(device);
    let is_typed = allowance.destroy.contains(&word);
    let look = if allowance.owns_content(device) || (is_typed && is_provided(device)) {
        Look::Signatures
    } else {
        Look::Whole { early: allowance.early }
    };
    let mut is_free = true;
    if let Some(mut objection) = contents::objection(&opened, look, allowance.leftovers, &mut notes) {
        let is_linked = is_linked(device, allowance.destroy);
        if objection.content_only && !is_linked {
            let twins = twins(device)?;
            if !twins.is_empty() {
                objection.forbid_word(&word, &twins);
            }
        }
        if !objection.content_only || !(is_linked || is_typed) {
            return Err(refuse(objection));
        }
        is_free = false;
        let lost = objection.loses.join(", ");
        notes.push(format!("destroying the data on `{}` as requested: {lost}", path.display()));
    }
    Ok(Guarded { opened, is_free, notes })
}

/// Whether it is a drive that iostone made for this guest.
fn is_provided(device: &BlockDevice) -> bool {
    device.identity().strip_prefix("serial ").is_some_and(|serial| serial.starts_with(DRIVE_SERIAL))
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

/// Objections that nobody can override, by what the kernel tells of a device that is not opened: it is mounted, or something
/// is made of it.
fn occupied(device: &BlockDevice, family: &[Member]) -> Result<Option<Objection>, StackError> {
    if let Some(objection) = mounts::objection(device, family, true)? {
        return Ok(Some(objection));
    }
    family::held(device, family)
}

/// Objections that nobody can override: something uses the device now, or it cannot be written at all.
fn used(opened: &OpenedDevice, family: &[Member]) -> Result<Option<Objection>, StackError> {
    let device = &opened.device;
    if let Some(objection) = claims::held_by_system(device, |flags| opened.reopen(flags))? {
        return Ok(Some(objection));
    }
    if let Some(objection) = siblings::alive(device, family)? {
        return Ok(Some(objection));
    }
    if let Some(objection) = claims::used_by_others(device, family)? {
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
