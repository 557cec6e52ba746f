//! Other devices over the same bytes: a second loop device on a file, the disk under a loop device, a disk's partition.
//! What is alive on one of them would be lost by writing to the device that is asked about.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;

use super::family::{self, Member};
use super::{Allowance, Objection, claims, mounts};
use crate::device::extent::{Extent, all_devices};
use crate::device::{BlockDevice, DeviceNumber, linked_devices, partitions_of};
use crate::error::StackError;

/// A device that shows some of the bytes.
struct Sibling {
    device: BlockDevice,
    /// It, and what holds it. Its partitions are siblings themselves, as far as they show some of the bytes.
    family: Vec<Member>,
    /// Whether all that it has are such bytes.
    is_covered: bool,
}

impl Sibling {
    fn new(device: BlockDevice, is_covered: bool) -> Self {
        let mut family = vec![Member { chain: device.name.clone(), device: device.clone() }];
        for number in linked_devices(&device.sysfs().join("holders")) {
            let Ok(holder) = BlockDevice::numbered(number) else { continue };
            family.extend(family::of(&holder).into_iter().map(|member| Member {
                chain: format!("{} on {}", member.chain, device.name),
                device: member.device,
            }));
        }
        Self { device, family, is_covered }
    }

    fn alive(&self) -> Result<Option<Objection>, StackError> {
        if let Some(objection) = mounts::objection(&self.device, &self.family, self.is_covered)? {
            return Ok(Some(objection));
        }
        if let Some(objection) = family::held(&self.device, &self.family)? {
            return Ok(Some(objection));
        }
        if !self.device.path.exists() {
            return Ok(None);
        }
        // A disk cannot be had exclusively while any of its partitions is in use, so they are asked themselves.
        if partitions_of(&self.device.sysfs()).is_empty() {
            let node = &self.device.path;
            let open = |flags| File::options().read(true).custom_flags(flags).open(node);
            return claims::held_by_system(&self.device, open);
        }
        Ok(None)
    }
}

/// The numbers of the devices that show some of the same bytes.
///
/// # Errors
/// [`StackError::Io`] when the kernel does not tell who shares them.
pub(super) fn numbers(device: &BlockDevice, family: &[Member]) -> Result<Vec<DeviceNumber>, StackError> {
    Ok(of(device, family)?.into_iter().map(|sibling| sibling.device.number).collect())
}

/// Objections of what is alive on a device that shows some of the same bytes.
///
/// # Errors
/// [`StackError::Io`] when the kernel does not tell who shares them.
pub(super) fn alive(device: &BlockDevice, family: &[Member]) -> Result<Option<Objection>, StackError> {
    for sibling in of(device, family)? {
        if let Some(objection) = sibling.alive()? {
            return Ok(Some(named(objection, &sibling.device)));
        }
    }
    Ok(None)
}

/// An objection if somebody else has claimed a device that shows some of the same bytes.
///
/// # Errors
/// As [`alive`].
pub(super) fn locked_by_others(
    device: &BlockDevice,
    allowance: &Allowance<'_>,
) -> Result<Option<Objection>, StackError> {
    for sibling in of(device, &family::of(device))? {
        if allowance.claims.contains_key(&sibling.device.number) || !sibling.device.path.exists() {
            continue;
        }
        if let Some(objection) = claims::locked_by_others(&sibling.device)? {
            return Ok(Some(named(objection, &sibling.device)));
        }
    }
    Ok(None)
}

fn named(mut objection: Objection, sibling: &BlockDevice) -> Objection {
    objection.because =
        format!("`{}` shows the same bytes, and {}", sibling.path.display(), objection.because);
    objection
}

fn of(device: &BlockDevice, family: &[Member]) -> Result<Vec<Sibling>, StackError> {
    let Some(own) = Extent::of(device)? else { return Ok(Vec::new()) };
    let known: BTreeSet<DeviceNumber> = family.iter().map(|member| member.device.number).collect();
    let mut siblings = Vec::new();
    for other in all_devices()?.into_iter().filter(|other| !known.contains(&other.number)) {
        // A device may go while it is asked; one that is there and does not tell is no reason to pass.
        match Extent::of(&other) {
            Ok(Some(extent)) if own.overlaps(&extent) => {
                siblings.push(Sibling::new(other, own.covers(&extent)));
            }
            Ok(_) => {}
            Err(_) if other.backing_file().is_none() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(siblings)
}
