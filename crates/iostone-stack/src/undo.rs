//! Taking steps back: each by the facts that the machine shows now, and each harmless when there is nothing to do.

mod array;
mod control_group;
mod directory;
mod engine;
mod frozen;
mod loop_device;
mod mounted;
mod own_device;
mod own_filesystem;
mod place;
mod processes;
mod server;

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use crate::control_groups;
use crate::error::UndoFailure;
use crate::filesystem;
use crate::journal::{Entry, Journal};
use crate::owner::Owner;
use crate::queue;
use crate::site::{hidden_directory_name, own_directory_name, short_directory};
use crate::step::{Scope, Step};
use crate::sysctl;

pub use frozen::is_frozen;
pub(crate) use processes::{adopt_orphans, reap};

/// A mount or device that is busy for a moment, because udev or a dying process still looks at it, is tried again
/// this many times, [`PAUSE`] apart.
const ATTEMPTS: u32 = 60;
const PAUSE: Duration = Duration::from_millis(50);

/// What came of taking one step back.
#[derive(Debug)]
enum Did {
    /// There was nothing to undo.
    Nothing,
    /// It is undone.
    Undone,
    /// It is neither there, nor known to be gone: in words, what the user may look for.
    NotFound(String),
    /// It is there, and for the user to decide about: somebody else has used it.
    LeftAlone(UndoFailure),
}

impl From<bool> for Did {
    fn from(did: bool) -> Self {
        if did { Self::Undone } else { Self::Nothing }
    }
}

/// What undoing came to.
#[derive(Debug, Default)]
pub(crate) struct Undone {
    /// What was undone, and what was not found, in words.
    pub(crate) words: Vec<String>,
    /// What was made by iostone and used by others since, so that it was left alone. The journal is done with it.
    pub(crate) left_alone: Vec<UndoFailure>,
}

impl Undone {
    /// Everything in words, in the order in which it was.
    pub(crate) fn into_words(self) -> Vec<String> {
        let left = self.left_alone.into_iter().map(|left| format!("left alone: {left}"));
        self.words.into_iter().chain(left).collect()
    }
}

/// Undoes the steps of a journal backwards: those of the trial, or all. Processes go first, whatever their place,
/// because they keep the rest busy.
///
/// # Errors
/// The first step that could not be undone; those before it in the journal were left alone, as it stands on them.
pub(crate) fn undo_steps(journal: &mut Journal, only: Option<Scope>) -> Result<Undone, UndoFailure> {
    let mut undone = Undone::default();
    let_signals_through(&journal.owner, &journal.entries);
    for entry in &journal.entries {
        if let Step::Processes { variable, value } = &entry.step
            && !entry.undone
        {
            undone.words.extend(processes::end(variable, value)?);
        }
    }
    place::follow_renames(journal);
    for number in (0..journal.entries.len()).rev() {
        if journal.entries.get(number).is_some_and(|entry| only.is_none_or(|only| only == entry.scope)) {
            match undo_entry(journal, number) {
                Ok(one) => {
                    undone.words.extend(one.words);
                    undone.left_alone.extend(one.left_alone);
                }
                Err(mut failure) => {
                    // The journal is done with what was left alone, so this is the only time to say it.
                    for left in undone.left_alone {
                        failure.reason = format!("{}; left alone: {left}", failure.reason);
                    }
                    return Err(failure);
                }
            }
        }
    }
    Ok(undone)
}

/// Handles on the processes of engines whose steps are still to be undone, for [`reap`]. A handle means the same process for
/// as long as it is held, also when its number is used again.
pub(crate) fn engine_processes(journal: &Journal) -> Vec<OwnedFd> {
    let token = &journal.owner.token;
    let left = journal.entries.iter().filter(|entry| !entry.undone);
    left.filter_map(|entry| match &entry.step {
        Step::Engine { variable, value, group, .. } => Some(engine::handles(variable, value, group, token)),
        _ => None,
    })
    .flatten()
    .collect()
}

/// Lifts the limits of the control groups that are still to be undone, and thaws those of engines: a process that waits
/// under a tight limit, or is frozen by version 1, acts on no signal, not even SIGKILL, and keeps its journal locked for as
/// long.
pub(crate) fn let_signals_through(owner: &Owner, entries: &[Entry]) {
    if !owner.is_of_this_boot().unwrap_or(false) {
        return;
    }
    for entry in entries.iter().filter(|entry| !entry.undone) {
        match &entry.step {
            Step::ControlGroup { path, .. } => control_group::lift(path, &owner.token),
            Step::Engine { group, .. } => engine::thaw(group, &owner.token),
            _ => {}
        }
    }
}

/// Undoes one step of a journal, unless that is done.
///
/// # Errors
/// What is left, why, and what to do.
pub(crate) fn undo_entry(journal: &mut Journal, number: usize) -> Result<Undone, UndoFailure> {
    let mut undone = Undone::default();
    let Some(entry) = journal.entries.get(number).filter(|entry| !entry.undone) else {
        return Ok(undone);
    };
    let words = entry.step.describe();
    let did = undo_step(journal, number)?;
    if let Did::LeftAlone(left) = &did {
        // What it stands on has to be left alone too, in this replay or a later one.
        journal.mark_shared(number, left.reason.clone());
    }
    journal.mark_undone(number);
    match did {
        Did::Nothing => {}
        Did::Undone => undone.words.push(words),
        Did::NotFound(words) => undone.words.push(words),
        Did::LeftAlone(left) => undone.left_alone.push(left),
    }
    Ok(undone)
}

fn undo_step(journal: &mut Journal, number: usize) -> Result<Did, UndoFailure> {
    let Some(entry) = journal.entries.get(number).cloned() else { return Ok(Did::Nothing) };
    let token = journal.owner.token.clone();
    let same_boot = journal.owner.is_of_this_boot().map_err(|error| UndoFailure {
        object: entry.step.describe(),
        reason: error.to_string(),
        next: "iostone cleanup".to_owned(),
    })?;
    if let Some(left) = array::left_alone(journal, number) {
        return Ok(Did::LeftAlone(left));
    }
    match &entry.step {
        Step::Directory { path, content_is_ours: true } => {
            let did = directory::remove_with_content(path, entry.made, &token)?;
            let is_whole = names_of(&token).iter().any(|name| path.ends_with(name));
            let lost = !did && entry.made.is_some() && is_whole;
            Ok(if lost {
                Did::NotFound(format!(
                    "directory `{}` not found at its path; if it was moved, remove it there",
                    path.display()
                ))
            } else {
                did.into()
            })
        }
        Step::Directory { path, content_is_ours: false } => {
            // Within one process no clock was set between the two: what it made need not be told by its age.
            let begun = journal.begun_at().filter(|_| !journal.owner.is_this_process());
            let times = directory::Times { begun, announced: journal.last_line_at() };
            directory::remove_if_empty(path, entry.made, times).map(Did::from)
        }
        Step::Image { path } => loop_device::remove_image(path, entry.made, &token),
        // Loop devices, mounts, settings of queues and of the kernel, and control groups do not outlive the boot in which they were made.
        Step::Loop { backing, identity } if same_boot => {
            loop_device::detach(backing, *identity, &token).map(Did::from)
        }
        Step::Queue { name, number, diskseq, setting, old } if same_boot => {
            if !own_device::is_own(journal, *number, *diskseq) {
                return Ok(Did::Nothing);
            }
            queue::restore(name, *number, *diskseq, setting, old).map(Did::from)
        }
        Step::Sysctl { name, old } if same_boot => sysctl::restore(name, old).map(Did::from),
        Step::Mount { target, number: device } if same_boot => {
            own_filesystem::note_other_users(journal, number, *device, target);
            // What descends from this process was started for the session, whatever is in its environment. After a
            // crash nobody can tell any more, so a cleanup only names those in the way.
            let end_ours = journal.owner.is_this_process();
            journal.mark_undoing(number);
            mounted::unmount(target, *device, &token, end_ours)
                .inspect_err(|_| journal.mark_kept(number))
                .map(Did::from)
        }
        Step::LayerMount { target, number } if same_boot => {
            mounted::unmount_layer(target, *number, &token, journal.owner.is_this_process()).map(Did::from)
        }
        Step::BtrfsDevices { numbers } if same_boot => filesystem::forget(numbers, &token).map(Did::from),
        Step::MdArray { node, uuid, members } => {
            array::undo_md(node, uuid, members, same_boot).map(Did::from)
        }
        Step::VolumeGroup { name, members } => {
            array::undo_volume_group(name, members, same_boot).map(Did::from)
        }
        Step::Server { variable, value } if same_boot => {
            Ok(processes::end(variable, value)?.is_some().into())
        }
        Step::Engine { variable, value, roots, group } if same_boot => {
            engine::take_off(variable, value, roots, group, &token).map(Did::from)
        }
        Step::Nbd { number, socket } if same_boot => server::disconnect(*number, socket).map(Did::from),
        Step::Fuse { target } if same_boot => server::unmount_fuse(target, &token).map(Did::from),
        Step::HandDown { group, controllers } if same_boot => {
            control_groups::stop_handing_down(group, controllers, &token).map(Did::from)
        }
        Step::ControlGroup { path, home } if same_boot => {
            control_group::remove(path, home, &token).map(Did::from)
        }
        Step::Loop { .. }
        | Step::Queue { .. }
        | Step::Sysctl { .. }
        | Step::Mount { .. }
        | Step::LayerMount { .. }
        | Step::BtrfsDevices { .. }
        | Step::Server { .. }
        | Step::Engine { .. }
        | Step::Nbd { .. }
        | Step::Fuse { .. }
        | Step::HandDown { .. }
        | Step::ControlGroup { .. } => Ok(Did::Nothing),
        Step::Mkfs { device, size_bytes, uuid } => {
            let target = journal.entries.iter().skip(number).find_map(|entry| match &entry.step {
                Step::Mount { target, .. } => Some(target.as_path()),
                _ => None,
            });
            own_filesystem::take_off(&own_filesystem::Known {
                device,
                size_bytes: *size_bytes,
                uuid,
                target,
                shared: entry.shared.as_deref(),
                same_boot,
            })
        }
        Step::Processes { variable, value } => Ok(processes::end(variable, value)?.is_some().into()),
    }
}

/// Whether a path lies within a directory of the session's own: anywhere the one with the whole token in its name, and
/// that with its random bits alone only where such a one is made.
pub(crate) fn is_ours(path: &Path, token: &str) -> bool {
    let names = names_of(token);
    path.components().any(|component| names.iter().any(|name| component.as_os_str() == name.as_str()))
        || short_directory(token).is_some_and(|short| path.starts_with(short))
}

/// The names of a session's own directories, plain and hidden.
fn names_of(token: &str) -> [String; 2] {
    [own_directory_name(token), hidden_directory_name(token)]
}

fn failure(object: &Path, reason: impl Into<String>, next: impl Into<String>) -> UndoFailure {
    UndoFailure { object: object.display().to_string(), reason: reason.into(), next: next.into() }
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_is_ours_in_its_one_place_only() {
        let token = "abcdefgh-0123456789abcdef";
        let is_ours = |path: &str| is_ours(Path::new(path), token);
        assert!(is_ours("/srv/iostone-abcdefgh-0123456789abcdef/mount"));
        assert!(is_ours("/srv/.iostone-abcdefgh-0123456789abcdef"));
        assert!(is_ours("/run/iostone-0123456789abcdef") && is_ours("/run/iostone-0123456789abcdef/run"));
        for foreign in [
            "/srv/iostone-0123456789abcdef",
            "/srv/..iostone-abcdefgh-0123456789abcdef",
            "/srv/.iostone-0123456789abcdef",
            "/run/other/iostone-0123456789abcdef",
            "/run/iostone-0123456789abcdee",
            "/run/iostone-0123456789abcdef0",
            "/run/iostone-abcdefgh",
            "/run",
        ] {
            assert!(!is_ours(foreign), "{foreign}");
        }
        assert!(!super::is_ours(Path::new("/run/iostone-token"), "token-token"), "no random bits");
    }
}
