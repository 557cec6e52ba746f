//! Taking arrays apart: stopped, and what told of them wiped off the members, as long as it is ours.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::{ATTEMPTS, PAUSE, failure, mounted};
use crate::array::{
    MdSuperblock, PhysicalVolume, VOLUME_NAME, Wiped, array_name, arrays_of, find_mapped, mapped_name,
};
use crate::device::{BlockDevice, linked_devices, number_in, number_of, read_attribute};
use crate::error::UndoFailure;
use crate::journal::Journal;
use crate::occupants;
use crate::step::Step;
use crate::tool::{self, quote};

/// Whether an array has to stay: the filesystem on it was left alone, because somebody else has used it.
pub(super) fn left_alone(journal: &Journal, number: usize) -> Option<UndoFailure> {
    let (node, next) = match &journal.entries.get(number)?.step {
        Step::MdArray { node, .. } => (node.clone(), format!("mdadm --stop {}", quote(node.as_os_str()))),
        Step::VolumeGroup { name, .. } => (PathBuf::from(name), format!("vgremove {}", quote(name.as_ref()))),
        _ => return None,
    };
    let above = journal.entries.iter().skip(number);
    let shared =
        above.filter(|entry| matches!(entry.step, Step::Mkfs { .. })).find_map(|e| e.shared.as_ref())?;
    Some(failure(&node, format!("the array below is left as well: {shared}"), next))
}

/// Stops a software RAID of ours and wipes its superblocks off its members. It is known by its UUID, whatever its
/// number is by now; an array of another UUID is not touched.
pub(super) fn undo_md(
    node: &Path,
    uuid: &str,
    members: &[PathBuf],
    same_boot: bool,
) -> Result<bool, UndoFailure> {
    let mut did = false;
    let mut arrays = arrays_of(uuid);
    if same_boot {
        arrays.extend(unborn(node).filter(|unborn| !arrays.contains(unborn)));
    }
    for array in arrays {
        stop(&array)?;
        did = true;
    }
    for member in devices_of(members, same_boot, |device| MdSuperblock::is_on(device, uuid)) {
        let next = || format!("mdadm --zero-superblock {}", quote(member.path.as_os_str()));
        did |= wipe(&member, next, || MdSuperblock::wipe(&member, uuid))?;
    }
    remove_stale_nodes(node, &array_name(uuid))?;
    Ok(did)
}

/// An array that was given its number, but no member yet: nothing is lost with it.
fn unborn(node: &Path) -> Option<BlockDevice> {
    let sysfs = Path::new("/sys/block").join(node.file_name()?);
    let is_empty = read_attribute(&sysfs.join("md/array_state")).is_ok_and(|state| state == "clear")
        && linked_devices(&sysfs.join("slaves")).is_empty();
    let number = number_in(&sysfs)?;
    is_empty.then(|| BlockDevice::numbered(number).ok()).flatten()
}

/// Stops an array by sysfs: `clear` is the same as the ioctl `STOP_ARRAY` (Documentation/admin-guide/md.rst).
fn stop(array: &BlockDevice) -> Result<(), UndoFailure> {
    let next = || format!("mdadm --stop {}", quote(array.path.as_os_str()));
    let state = array.sysfs().join("md/array_state");
    let holders = array.sysfs().join("holders");
    let mut attempts = 0;
    loop {
        refuse_mounted(array)?;
        let written = fs::write(&state, "clear");
        // The device goes with its last opener; where one is about to be made anew, it stays behind empty.
        let is_empty = || linked_devices(&array.sysfs().join("slaves")).is_empty();
        if !state.exists() || (written.is_ok() && is_empty()) {
            return Ok(());
        }
        if attempts >= ATTEMPTS {
            let above: Vec<String> = linked_devices(&holders)
                .into_iter()
                .filter_map(|number| BlockDevice::numbered(number).ok())
                .map(|holder| format!("`{}`", holder.name))
                .collect();
            let openers = occupants::openers_of_device(array.number);
            let why = match (above.is_empty(), openers.first(), written) {
                (false, _, _) => format!("held by {}", above.join(", ")),
                (_, Some(_), _) => format!("open in {}", occupants::in_words(&openers)),
                (_, _, Err(error)) => error.to_string(),
                (_, _, Ok(())) => "its members are left as well".to_owned(),
            };
            let next = openers.first().map_or_else(next, occupants::Occupant::end_command);
            return Err(failure(&array.path, format!("the array cannot be stopped: {why}"), next));
        }
        attempts += 1;
        std::thread::sleep(PAUSE);
    }
}

fn refuse_mounted(device: &BlockDevice) -> Result<(), UndoFailure> {
    for attempt in 0..=ATTEMPTS {
        let obstacle = mounted::obstacle(device.number)
            .map_err(|error| failure(&device.path, error.to_string(), "iostone cleanup"))?;
        let Some(obstacle) = obstacle else { return Ok(()) };
        // A mount namespace of a process that was just ended takes a moment to go.
        if obstacle.visible || attempt == ATTEMPTS {
            return Err(failure(&device.path, obstacle.because, obstacle.next));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// The members by their names; after a reboot, which gives other names, every device that is marked
/// as ours.
fn devices_of(
    members: &[PathBuf],
    same_boot: bool,
    is_marked: impl Fn(&BlockDevice) -> bool,
) -> Vec<BlockDevice> {
    let mut found: Vec<BlockDevice> =
        members.iter().filter_map(|path| BlockDevice::at(path).ok().flatten()).collect();
    if same_boot {
        return found;
    }
    let Ok(entries) = fs::read_dir("/sys/class/block") else { return found };
    for entry in entries.flatten() {
        let number = number_in(&entry.path());
        if let Some(device) = number.and_then(|number| BlockDevice::numbered(number).ok())
            && device.size_bytes > 0
            && found.iter().all(|known| known.number != device.number)
            && is_marked(&device)
        {
            found.push(device);
        }
    }
    found
}

/// Wipes one member, patiently: what is being stopped lets go of its members a moment later. `next` is the command that
/// helps where it fails.
fn wipe(
    member: &BlockDevice,
    next: impl Fn() -> String,
    attempt: impl Fn() -> Result<Wiped, String>,
) -> Result<bool, UndoFailure> {
    for _ in 0..=ATTEMPTS {
        match attempt() {
            Ok(Wiped::Yes) => return Ok(true),
            Ok(Wiped::Nothing) => return Ok(false),
            Ok(Wiped::Busy) => std::thread::sleep(PAUSE),
            Err(reason) => return Err(failure(&member.path, reason, next())),
        }
    }
    let by = occupants::openers_of_device(member.number);
    let by = if by.is_empty() { String::new() } else { format!("; open in {}", occupants::in_words(&by)) };
    Err(failure(
        &member.path,
        format!("it is opened exclusively{by}"),
        format!("lsblk --paths {}", quote(member.path.as_os_str())),
    ))
}

/// Removes nodes and links that nobody took away with the array, because there is neither udev nor devtmpfs.
fn remove_stale_nodes(node: &Path, name: &str) -> Result<(), UndoFailure> {
    let is_stale = fs::symlink_metadata(node).is_ok_and(|metadata| {
        let (major, minor) = number_of(metadata.rdev());
        metadata.file_type().is_block_device()
            && !Path::new(&format!("/sys/dev/block/{major}:{minor}")).exists()
    });
    if is_stale {
        remove_leftover(node)?;
    }
    for link in [name.to_owned(), format!("any:{name}")] {
        remove_dangling(&Path::new("/dev/md").join(link))?;
    }
    Ok(())
}

fn remove_dangling(link: &Path) -> Result<(), UndoFailure> {
    let is_link = fs::symlink_metadata(link).is_ok_and(|metadata| metadata.file_type().is_symlink());
    if is_link && !link.exists() { remove_leftover(link) } else { Ok(()) }
}

fn remove_leftover(path: &Path) -> Result<(), UndoFailure> {
    match fs::remove_file(path) {
        Ok(()) => Ok(()),
        // udev may have been faster.
        Err(error) if super::is_absent(&error) => Ok(()),
        Err(error) => Err(failure(path, error.to_string(), format!("rm {}", quote(path.as_os_str())))),
    }
}

/// Removes a volume group of ours: its volume from the device mapper, its labels from the members. What carries another
/// name is not touched.
pub(super) fn undo_volume_group(
    name: &str,
    members: &[PathBuf],
    same_boot: bool,
) -> Result<bool, UndoFailure> {
    let mapped = mapped_name(name);
    let mut did = false;
    // A system that activates every group it sees may bring the volume back until the labels are gone.
    for _ in 0..3 {
        did |= deactivate(&mapped)?;
        for member in devices_of(members, same_boot, |device| PhysicalVolume::is_on(device, name)) {
            let next = || format!("wipefs --all {}", quote(member.path.as_os_str()));
            did |= wipe(&member, next, || PhysicalVolume::wipe(&member, name))?;
        }
        if find_mapped(&mapped).is_none() {
            break;
        }
    }
    let node = Path::new("/dev/mapper").join(&mapped);
    if fs::symlink_metadata(&node).is_ok() && find_mapped(&mapped).is_none() {
        remove_leftover(&node)?;
    }
    remove_dangling(&Path::new("/dev").join(name).join(VOLUME_NAME))?;
    // A directory of lvm's for the links; not empty only if somebody put something else there.
    let _ = fs::remove_dir(Path::new("/dev").join(name));
    Ok(did)
}

fn deactivate(mapped: &str) -> Result<bool, UndoFailure> {
    let mut attempts = 0;
    let mut did = false;
    while let Some(device) = find_mapped(mapped) {
        refuse_mounted(&device)?;
        let dmsetup = tool::find("dmsetup")
            .map_err(|error| failure(&device.path, error.to_string(), "iostone cleanup"))?;
        let words: [OsString; 4] =
            ["remove".into(), "--noudevsync".into(), "--noudevrules".into(), mapped.into()];
        match tool::run_successfully(&dmsetup, &words, None) {
            Ok(_) => did = true,
            Err(_) if attempts < ATTEMPTS => {
                attempts += 1;
                std::thread::sleep(PAUSE);
            }
            Err(error) => {
                let by = occupants::openers_of_device(device.number);
                let by = if by.is_empty() {
                    String::new()
                } else {
                    format!("; open in {}", occupants::in_words(&by))
                };
                let next = by_command(mapped);
                return Err(failure(&device.path, format!("it cannot be removed: {error}{by}"), next));
            }
        }
    }
    Ok(did)
}

fn by_command(mapped: &str) -> String {
    format!("dmsetup remove {}", quote(mapped.as_ref()))
}
