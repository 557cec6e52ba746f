//! Taking our filesystem off a device of the user's, as long as nobody but us has used it.
//!
//! The UUID tells that iostone made it, not whose data it holds: after a crash anybody may mount it and put files there.
//! It is wiped only while nothing speaks for that:
//! - whenever our mount was taken off or looked for, the device was mounted nowhere else, and it was us who took the
//!   mount off, or a reboot;
//! - the superblock counts no mount for writing but the one that the journal explains;
//! - after a reboot, the superblock names no place but our mount point as the last where it was mounted.
//!
//! What this cannot see is a second mount of a live filesystem that came and went between two looks, beside ours:
//! it leaves no trace in the superblock.

use std::fs;
use std::path::{Path, PathBuf};

use super::{ATTEMPTS, Did, PAUSE, failure, mounted};
use crate::device::{BlockDevice, DeviceNumber};
use crate::error::UndoFailure;
use crate::filesystem::{Superblock, Wiped, wipe};
use crate::journal::Journal;
use crate::occupants;
use crate::step::Step;
use crate::tool::quote;

/// Notes in the journal, before our mount is taken off, whether somebody else has used the filesystem on it.
pub(super) fn note_other_users(journal: &mut Journal, mount: usize, number: DeviceNumber, target: &Path) {
    let made = journal.entries.iter().take(mount).rposition(|entry| matches!(entry.step, Step::Mkfs { .. }));
    // Only a filesystem on a device of the user's has such a step, and it is taken off after the mount.
    let Some(made) = made.filter(|&made| journal.entries.get(made).is_some_and(|entry| !entry.undone)) else {
        return;
    };
    let beside = mounted::places_beside(number, target);
    if !beside.is_empty() {
        journal.mark_shared(made, format!("it was mounted on {} too", mounted::list(&beside)));
        return;
    }
    let was_mounted = || {
        BlockDevice::numbered(number)
            .and_then(|device| Superblock::read(&device.path))
            .is_ok_and(|found| found.is_some_and(|superblock| superblock.mount_count > 0))
    };
    if !mounted::is_mounted_at(number, target) && was_mounted() {
        let because = format!("somebody else unmounted it from `{}`", target.display());
        journal.mark_shared(made, because);
    }
}

/// What the journal tells about a filesystem of ours.
pub(super) struct Known<'a> {
    /// The device by its stable name, and its size, by which it is found if the name leads nowhere after a reboot.
    pub(super) device: &'a Path,
    pub(super) size_bytes: u64,
    pub(super) uuid: &'a str,
    /// Where we mounted it, if we came that far.
    pub(super) target: Option<&'a Path>,
    /// How somebody else was seen to use it.
    pub(super) shared: Option<&'a str>,
    /// Whether it was made in this boot.
    pub(super) same_boot: bool,
}

/// Takes it off, wherever the device is now.
pub(super) fn take_off(known: &Known<'_>) -> Result<Did, UndoFailure> {
    for candidate in candidates(known) {
        let found = match Superblock::read(&candidate) {
            Ok(found) => found.filter(|superblock| superblock.uuid == known.uuid),
            Err(error) if candidate == known.device => {
                return Err(failure(&candidate, error.to_string(), list_command(&candidate)));
            }
            // Some other device of the same size that cannot be read is none of ours to speak about.
            Err(_) => None,
        };
        if found.is_some() {
            return take_off_device(&candidate, known);
        }
    }
    Ok(Did::Nothing)
}

fn take_off_device(path: &Path, known: &Known<'_>) -> Result<Did, UndoFailure> {
    let unclear = |reason: String| failure(path, reason, list_command(path));
    let mut attempts = 0;
    loop {
        let device = BlockDevice::at(path).map_err(|error| unclear(error.to_string()))?;
        let Some(device) = device else { return Err(unclear("it is not a block device".to_owned())) };
        let obstacle = mounted::obstacle(device.number).map_err(|error| unclear(error.to_string()))?;
        if let Some(obstacle) = &obstacle
            && (obstacle.visible || attempts >= ATTEMPTS)
        {
            let reason = format!("{}, so our filesystem stays on it", obstacle.because);
            return Err(failure(path, reason, obstacle.next.clone()));
        }
        if obstacle.is_none() {
            let found = Superblock::read(path).map_err(|error| unclear(error.to_string()))?;
            let Some(superblock) = found.filter(|superblock| superblock.uuid == known.uuid) else {
                return Ok(Did::Nothing);
            };
            if let Some(because) = used_by_others(&superblock, known) {
                return Ok(Did::LeftAlone(left_alone(path, &because)));
            }
            match wipe(path, &superblock).map_err(&unclear)? {
                Wiped::Yes => return Ok(Did::Undone),
                Wiped::Gone => return Ok(Did::Nothing),
                Wiped::Busy => {}
            }
        }
        if attempts >= ATTEMPTS {
            let by = occupants::openers_of_device(device.number);
            let by =
                if by.is_empty() { String::new() } else { format!("; open in {}", occupants::in_words(&by)) };
            return Err(unclear(format!("the system has it open for itself alone{by}")));
        }
        attempts += 1;
        std::thread::sleep(PAUSE);
    }
}

/// Why the filesystem may hold somebody else's data, if anything speaks for it.
fn used_by_others(superblock: &Superblock, known: &Known<'_>) -> Option<String> {
    if let Some(shared) = known.shared {
        return Some(shared.to_owned());
    }
    let explained = u16::from(known.target.is_some());
    if superblock.mount_count > explained {
        let place = &superblock.last_mounted;
        let place = if place.as_os_str().is_empty() {
            String::new()
        } else {
            format!(", last on `{}`", place.display())
        };
        return Some(format!("it was mounted since, and not by iostone{place}"));
    }
    let named = !superblock.last_mounted.as_os_str().is_empty();
    // A process in a container of the workload's may have seen our mount point by another path; while we ourselves
    // took the mount off, that is no evidence.
    if !known.same_boot && named && known.target != Some(superblock.last_mounted.as_path()) {
        return Some(format!("it was last mounted on `{}`", superblock.last_mounted.display()));
    }
    None
}

fn left_alone(path: &Path, because: &str) -> UndoFailure {
    failure(
        path,
        format!(
            "the filesystem that iostone made on it is left alone, because {because}; if its content may go, wipe it"
        ),
        format!("wipefs --all {}", quote(path.as_os_str())),
    )
}

fn list_command(path: &Path) -> String {
    format!("lsblk --paths {}", quote(path.as_os_str()))
}

/// The device at its path first. Only a reboot gives other names: then all of the same size follow. Within one boot a
/// device that carries our UUID elsewhere is a copy that somebody made.
fn candidates(known: &Known<'_>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if BlockDevice::at(known.device).ok().flatten().is_some() {
        found.push(known.device.to_owned());
    }
    let Ok(entries) = fs::read_dir("/sys/class/block") else { return found };
    for entry in entries.flatten().filter(|_| !known.same_boot) {
        let number = crate::device::read_attribute(&entry.path().join("dev"))
            .ok()
            .and_then(|text| crate::device::parse_number(&text));
        if let Some(device) = number.and_then(|number| BlockDevice::numbered(number).ok())
            && device.size_bytes == known.size_bytes
        {
            found.push(device.path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_filesystem_that_nobody_else_used_is_ours_to_wipe() {
        let target = Path::new("/runs/mount");
        let judge = |mount_count: u16, last_mounted: &str, target, shared, same_boot| {
            let superblock =
                Superblock { uuid: "u".to_owned(), mount_count, last_mounted: last_mounted.into() };
            let device = Path::new("/dev/x");
            used_by_others(
                &superblock,
                &Known { device, size_bytes: 1, uuid: "u", target, shared, same_boot },
            )
        };
        assert_eq!(judge(0, "", None, None, true), None);
        assert_eq!(judge(1, "", Some(target), None, true), None);
        assert_eq!(judge(1, "/in/a/container", Some(target), None, true), None);
        assert_eq!(judge(1, "/runs/mount", Some(target), None, false), None);
        assert!(judge(1, "/mm", None, None, true).is_some(), "killed before our mount");
        assert!(judge(2, "/runs/mount", Some(target), None, true).unwrap().contains("not by iostone"));
        assert!(judge(1, "/mm", Some(target), None, false).unwrap().contains("`/mm`"));
        assert_eq!(judge(1, "", Some(target), Some("seen"), true).as_deref(), Some("seen"));
    }
}
