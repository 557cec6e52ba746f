//! What every mkfs has in common: the last look at the devices, the steps in the journal, and the image afterwards.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;

use iostone_model::trial::Check;

use crate::device::{BlockDevice, linked_devices};
use crate::error::StackError;
use crate::fill::{close_holes, forget_cache, is_without_holes};
use crate::guard;
use crate::mountinfo;
use crate::site::{Image, Site};
use crate::step::{Scope, Step};
use crate::tool;

/// Runs a mkfs over devices that the layers below vouch for; `arguments` end before the devices. Gives nothing back:
/// what came of it is read from the superblock.
///
/// # Errors
/// Whatever stands in the way; nothing was written if a device is not as it should be.
pub(super) fn make(
    site: &mut Site,
    mkfs: &Path,
    arguments: &[String],
    uuid: &str,
    devices: &[BlockDevice],
) -> Result<(), StackError> {
    for device in devices {
        check_device(site, device)?;
    }
    // On devices of the user's, or an array over such, the filesystem is taken off afterwards.
    if !site.claims.is_empty() {
        for device in devices {
            // Its stable name, by which it is found again even after a reboot.
            let node = device.stable_path().unwrap_or_else(|| device.path.clone());
            let step = Step::Mkfs { device: node, size_bytes: device.size_bytes, uuid: uuid.to_owned() };
            site.journal.begin(Scope::Trial, step)?;
        }
    }
    // The images below, where the volumes are ours.
    let images = if site.claims.is_empty() { site.images.clone() } else { Vec::new() };
    let were_full = images.iter().map(is_full).collect::<Result<Vec<bool>, StackError>>()?;
    let mut words: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    words.extend(devices.iter().map(|device| device.path.clone().into_os_string()));
    tool::run_successfully(mkfs, &words, site.interrupt())?;
    for (image, was_full) in images.iter().zip(were_full) {
        settle(image, was_full)?;
    }
    Ok(())
}

fn open(image: &Image) -> Result<File, StackError> {
    File::options()
        .read(true)
        .write(true)
        .open(&image.path)
        .map_err(|source| StackError::io("open", &image.path, source))
}

fn is_full(image: &Image) -> Result<bool, StackError> {
    is_without_holes(&open(image)?, &image.path)
}

/// What mkfs wrote went through the page cache of the host under a buffered loop device. And mkfs.xfs zeroes its log by
/// `FALLOC_FL_ZERO_RANGE`, which leaves unwritten extents in the file, read without touching the disk.
fn settle(image: &Image, was_full: bool) -> Result<(), StackError> {
    let file = open(image)?;
    let sync = |file: &File| file.sync_data().map_err(|source| StackError::io("fsync", &image.path, source));
    sync(&file)?;
    if was_full {
        close_holes(&file, &image.path)?;
        sync(&file)?;
    }
    forget_cache(&file, &image.path)
}

/// Makes sure at the last moment that a device is still what the layers below made of it.
fn check_device(site: &Site, device: &BlockDevice) -> Result<(), StackError> {
    if site.claims.contains_key(&device.number) {
        // The user's own: whatever is on it now was not there when it was claimed.
        return guard::inspect(&device.path, &site.allowance()).map(drop);
    }
    if site.members.iter().any(|member| member.number == device.number) {
        crate::volume::check_own_attachment(site, device)?;
    } else {
        check_array(site, device)?;
    }
    for (_, mounted) in mountinfo::mounts_of_all_namespaces()? {
        if mountinfo::is_of(&mounted, device.number) {
            return Err(StackError::unexpected(
                &device.path,
                format!("another process mounted it on `{}`", mounted.target.display()),
            ));
        }
    }
    Ok(())
}

/// An array has no other members than those that a layer of ours made or claimed.
fn check_array(site: &Site, device: &BlockDevice) -> Result<(), StackError> {
    let slaves = linked_devices(&device.sysfs().join("slaves"));
    let ours = |number| site.members.iter().any(|member| member.number == number);
    if slaves.is_empty() || !slaves.iter().all(|&number| ours(number)) {
        return Err(StackError::unexpected(&device.path, "no layer checked this device"));
    }
    Ok(())
}

/// Holds the UUID of a superblock against the one that was given to mkfs.
///
/// # Errors
/// [`StackError::NotApplied`] where another one, or none, is there.
pub(super) fn check_uuid(
    kind: &str,
    device: &BlockDevice,
    asked: &str,
    found: Option<&str>,
) -> Result<Check, StackError> {
    let from = superblock_of(device);
    let read_back = found.map_or_else(|| format!("no {kind}"), |found| format!("{kind} {found}"));
    expect(format!("{kind} {asked}"), read_back, from)
}

/// Where a check was read from.
pub(super) fn superblock_of(device: &BlockDevice) -> String {
    format!("superblock of {}", device.path.display())
}

/// A check of this layer, or the error that it is not so.
///
/// # Errors
/// [`StackError::NotApplied`] where the two differ.
pub(super) fn expect(asked: String, read_back: String, from: String) -> Result<Check, StackError> {
    if asked == read_back {
        Ok(Check { layer: "filesystem".to_owned(), asked, read_back, from })
    } else {
        Err(StackError::NotApplied { layer: "filesystem", asked, read_back, from })
    }
}
