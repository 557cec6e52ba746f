//! The user's word that a device's content may go: what it has to be, and whether it was given.

use std::path::Path;

use iostone_model::experiment::{Stack, Volume};

use crate::device::extent::{Extent, all_devices};
use crate::device::{BlockDevice, named, size_in_words};
use crate::error::StackError;

/// What has to be typed in full: the stable path, or where the kernel offers none, identity and size.
pub(super) fn destroy_word(device: &BlockDevice) -> String {
    device.stable_path().map_or_else(
        || format!("{}, {}", device.identity(), size_in_words(device.size_bytes)),
        |path| path.display().to_string(),
    )
}

/// Whether one of the words is a link to this device that cannot be mistaken for another's.
pub(super) fn is_linked(device: &BlockDevice, destroy: &[String]) -> bool {
    destroy.iter().any(|word| {
        Path::new(word).starts_with("/dev/disk/by-id")
            && BlockDevice::at(Path::new(word))
                .ok()
                .flatten()
                .is_some_and(|named| named.number == device.number)
    })
}

/// Other devices to which the device's word would fit as well, though they show other bytes.
///
/// # Errors
/// [`StackError::Io`] when sysfs cannot be listed.
pub(super) fn twins(device: &BlockDevice) -> Result<Vec<BlockDevice>, StackError> {
    if device.stable_path().is_some() {
        return Ok(Vec::new());
    }
    let word = destroy_word(device);
    let own = Extent::of(device).ok().flatten();
    let mut twins = all_devices()?;
    twins.retain(|other| {
        let is_same_storage = || match (&own, Extent::of(other).ok().flatten()) {
            (Some(own), Some(other)) => own.covers(&other) && other.covers(own),
            _ => false,
        };
        other.number != device.number && destroy_word(other) == word && !is_same_storage()
    });
    Ok(twins)
}

/// Whether what a user typed to have its content destroyed is the identity of this device. Nothing else is.
///
/// # Errors
/// [`StackError::Io`] when the device cannot be looked at.
pub fn is_device_named(path: &Path, typed: &str) -> Result<bool, StackError> {
    let Some(device) = BlockDevice::at(path)? else { return Ok(false) };
    Ok(is_linked(&device, &[typed.to_owned()])
        || (typed == destroy_word(&device) && twins(&device)?.is_empty()))
}

/// A sentence for each word of the user's that fits none of the devices of these stacks: a slip, or a device that is not
/// where it was.
#[must_use]
pub fn strange_words(stacks: &[Stack], destroy: &[String]) -> Vec<String> {
    if destroy.is_empty() {
        return Vec::new();
    }
    let devices: Vec<BlockDevice> = stacks
        .iter()
        .filter_map(|stack| match &stack.volume {
            Volume::Block(volume) => Some(&volume.devices),
            _ => None,
        })
        .flatten()
        .filter_map(|word| BlockDevice::at(&named::resolve(word).ok()?).ok()?)
        .collect();
    let fits = |word: &String, device: &BlockDevice| {
        is_linked(device, std::slice::from_ref(word)) || *word == destroy_word(device)
    };
    destroy
        .iter()
        .filter(|word| !devices.iter().any(|device| fits(word, device)))
        .map(|word| format!("`--destroy {word}` matches none of the devices"))
        .collect()
}
