//! Taking our filesystem off a device of the user's, as long as nobody but us has used it.
//!
//! The UUID tells that iostone made it, not whose data it holds: after a crash anybody may mount it and put files there.
//! It is wiped only while nothing speaks for that:
//! - whenever our mount was taken off or looked for, the device was mounted nowhere else, and it was us who took the
//!   mount off, or a reboot;
//! - the superblock of an ext2 or ext4 counts no mount for writing but the one that the journal explains;
//! - after a reboot, it names no place but our mount point as the last where it was mounted;
//! - XFS, btrfs and F2FS keep no such account: once they were mounted for writing, a reboot takes away all knowledge of
//!   who it was, and they stay.
//!
//! What this cannot see is a second mount of a live filesystem that came and went between two looks, beside ours:
//! it leaves no trace in the superblock.

use std::fs;
use std::path::{Path, PathBuf};

use super::{ATTEMPTS, Did, PAUSE, failure, mounted};
use crate::device::{BlockDevice, DeviceNumber, number_in};
use crate::error::UndoFailure;
use crate::filesystem::{Superblock, Usage, Wiped, wipe};
use crate::journal::{Entry, Journal};
use crate::occupants;
use crate::step::Step;
use crate::tool::quote;

/// Notes in the journal, before our mount is taken off, whether somebody else has used the filesystem on it.
pub(super) fn note_other_users(journal: &mut Journal, mount: usize, number: DeviceNumber, target: &Path) {
    let made = journal.entries.iter().take(mount).rev().find_map(|entry| match &entry.step {
        Step::Mkfs { uuid, .. } => Some(uuid.clone()),
        _ => None,
    });
    // Only a filesystem on devices of the user's has such steps, one for each, and it is taken off after the mount.
    let Some(uuid) = made else { return };
    let is_on_it =
        |entry: &Entry| !entry.undone && matches!(&entry.step, Step::Mkfs { uuid: one, .. } if *one == uuid);
    let made: Vec<usize> =
        (0..mount).filter(|&number| journal.entries.get(number).is_some_and(is_on_it)).collect();
    if made.is_empty() {
        return;
    }
    let because = {
        let beside = mounted::places_beside(number, target);
        if !beside.is_empty() {
            format!("it was mounted on {} too", mounted::list(&beside))
        } else if !journal.entries.get(mount).is_some_and(|entry| entry.undoing)
            && !mounted::is_mounted_at(number, target)
            && was_mounted(number, &uuid)
        {
            format!("another process unmounted it from `{}`", target.display())
        } else {
            return;
        }
    };
    for made in made {
        journal.mark_shared(made, because.clone());
    }
}

fn was_mounted(number: DeviceNumber, uuid: &str) -> bool {
    let found = BlockDevice::numbered(number).and_then(|device| Superblock::find(&device.path, uuid));
    found.ok().flatten().is_some_and(|superblock| match superblock.usage {
        Usage::Counted { mount_count, .. } => mount_count > 0,
        Usage::Never => false,
        Usage::Perhaps => true,
    })
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
        let found = match Superblock::find(&candidate, known.uuid) {
            Ok(found) => found,
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
            let reason = format!("{}, so iostone's filesystem stays on it", obstacle.because);
            return Err(failure(path, reason, obstacle.next.clone()));
        }
        if obstacle.is_none() {
            let found = Superblock::find(path, known.uuid).map_err(|error| unclear(error.to_string()))?;
            let Some(superblock) = found else { return Ok(Did::Nothing) };
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
            return Err(unclear(format!("it is opened exclusively{by}")));
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
    let (mount_count, place) = match &superblock.usage {
        Usage::Never => return None,
        Usage::Perhaps if known.target.is_none() => {
            return Some("it was mounted since, and not by iostone".to_owned());
        }
        Usage::Perhaps if known.same_boot => return None,
        Usage::Perhaps => {
            return Some(format!(
                "the machine was rebooted since, and {} does not record who mounted it last",
                superblock.kind.name()
            ));
        }
        Usage::Counted { mount_count, last_mounted } => (*mount_count, last_mounted),
    };
    let named = !place.as_os_str().is_empty();
    if mount_count > u16::from(known.target.is_some()) {
        let place = if named { format!(", last on `{}`", place.display()) } else { String::new() };
        return Some(format!("it was mounted since, and not by iostone{place}"));
    }
    // A process in a container of the workload's may have seen our mount point by another path; while we ourselves
    // took the mount off, that is no evidence.
    if !known.same_boot && named && known.target != Some(place.as_path()) {
        return Some(format!("it was last mounted on `{}`", place.display()));
    }
    None
}

fn left_alone(path: &Path, because: &str) -> UndoFailure {
    failure(
        path,
        format!(
            "the filesystem that iostone created on it is left alone, because {because}; wipe it if its content is not needed"
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
        let number = number_in(&entry.path());
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
    use crate::filesystem::Kind;

    fn judge(
        kind: Kind,
        usage: Usage,
        target: Option<&Path>,
        shared: Option<&str>,
        same_boot: bool,
    ) -> Option<String> {
        let superblock = Superblock { kind, uuid: "u".to_owned(), usage };
        let device = Path::new("/dev/x");
        let known = Known { device, size_bytes: 1, uuid: "u", target, shared, same_boot };
        used_by_others(&superblock, &known)
    }

    #[test]
    fn one_that_keeps_no_count_is_ours_only_while_this_boot_lasts() {
        let target = Some(Path::new("/runs/mount"));
        for kind in [Kind::Xfs, Kind::Btrfs, Kind::F2fs] {
            for (target, same_boot) in [(None, true), (None, false), (target, true), (target, false)] {
                assert_eq!(judge(kind, Usage::Never, target, None, same_boot), None);
            }
            assert!(judge(kind, Usage::Never, target, Some("seen"), true).is_some());
            assert_eq!(judge(kind, Usage::Perhaps, target, None, true), None);
            assert!(judge(kind, Usage::Perhaps, target, None, false).unwrap().contains("rebooted since"));
            assert!(judge(kind, Usage::Perhaps, None, None, true).unwrap().contains("not by iostone"));
        }
    }

    #[test]
    fn only_a_filesystem_that_nobody_else_used_is_ours_to_wipe() {
        let target = Path::new("/runs/mount");
        let judge = |mount_count: u16, last_mounted: &str, target, shared, same_boot| {
            let usage = Usage::Counted { mount_count, last_mounted: last_mounted.into() };
            judge(Kind::Ext, usage, target, shared, same_boot)
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
