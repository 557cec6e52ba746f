//! Whose hands a directory is in: who besides this process's user could rename what is in it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::entry::{LINKS_MAX, names_in};
use crate::error::{Refusal, RefusalReason, StackError};

/// Who may change what this process relies on: its own user and root; with sudo(8), the user who called it as well, who
/// could have any command run as root.
#[derive(Debug, Clone)]
pub(crate) struct Trust {
    user: u32,
    caller: Option<u32>,
}

impl Trust {
    /// That of this process.
    pub(crate) fn of_this_process() -> Self {
        let user = rustix::process::geteuid();
        let caller = std::env::var("SUDO_UID").ok().and_then(|text| text.parse().ok());
        Self { user: user.as_raw(), caller: caller.filter(|_| user.is_root()) }
    }

    /// Whether a user may change it.
    pub(crate) fn includes(&self, user: u32) -> bool {
        user == 0 || user == self.user || self.caller == Some(user)
    }

    /// Whether the members of a group may: root's own, or that of one user alone, which has the user's number.
    fn includes_group(&self, group: u32) -> bool {
        group == 0 || (group == self.user || self.caller == Some(group))
    }

    /// Who else can rename or replace what is in a directory; in words, none if nobody can. With the sticky bit only an
    /// entry's owner can (inode(7)), so that it comes to `entry_owner`.
    pub(crate) fn stranger_in(&self, directory: &Metadata, entry_owner: Option<u32>) -> Option<String> {
        if !self.includes(directory.uid()) {
            return Some(user_in_words(directory.uid()));
        }
        let mode = directory.mode();
        let is_sticky = mode & libc::S_ISVTX != 0;
        if is_sticky && let Some(owner) = entry_owner {
            return (!self.includes(owner)).then(|| user_in_words(owner));
        }
        if mode & libc::S_IWOTH != 0 {
            return Some("every user".to_owned());
        }
        (mode & libc::S_IWGRP != 0 && !self.includes_group(directory.gid()))
            .then(|| format!("the group {}", name_of("/etc/group", directory.gid())))
    }
}

/// A directory that somebody else can rename, or whose content somebody else can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exposed {
    /// The directory in which that can be done.
    pub(crate) directory: PathBuf,
    /// Who can: "user alice".
    pub(crate) by: String,
}

/// Whether somebody else can rename a directory, or a directory or symbolic link on the way to it, so that the path leads
/// elsewhere; the part that does not exist yet is taken to be made by this process. The outermost is told.
///
/// # Errors
/// [`StackError::Io`] when a directory on the way cannot be looked at.
pub(crate) fn exposed(path: &Path) -> Result<Option<Exposed>, StackError> {
    let trust = Trust::of_this_process();
    let io = |action, path: &Path, source: io::Error| StackError::io(action, path, source);
    let whole = std::path::absolute(path).map_err(|source| io("find", path, source))?;
    let mut left: VecDeque<OsString> = names_in(&whole);
    // Without symbolic links, which are followed one by one.
    let mut here = PathBuf::from("/");
    let mut links = 0;
    loop {
        let directory = fs::metadata(&here).map_err(|source| io("stat", &here, source))?;
        if !directory.is_dir() {
            return Ok(None);
        }
        let by_entry = |owner| {
            trust.stranger_in(&directory, Some(owner)).map(|by| Exposed { directory: here.clone(), by })
        };
        let Some(name) = left.pop_front() else { return Ok(by_entry(trust.user)) };
        if name == ".." {
            here.pop();
            continue;
        }
        let entry = here.join(&name);
        let found = match fs::symlink_metadata(&entry) {
            Ok(found) => found,
            // It is made here, with what follows, unless that leads back.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if let Some(exposed) = by_entry(trust.user) {
                    return Ok(Some(exposed));
                }
                if !leads_back(&mut left) {
                    return Ok(None);
                }
                continue;
            }
            Err(source) => return Err(io("stat", &entry, source)),
        };
        if let Some(exposed) = by_entry(found.uid()) {
            return Ok(Some(exposed));
        }
        if !found.is_symlink() {
            here = entry;
            continue;
        }
        links += 1;
        if links > LINKS_MAX {
            return Err(StackError::io("follow", path, rustix::io::Errno::LOOP));
        }
        let target = fs::read_link(&entry).map_err(|source| io("read", &entry, source))?;
        if target.is_absolute() {
            here = PathBuf::from("/");
        }
        for name in names_in(&target).into_iter().rev() {
            left.push_front(name);
        }
    }
}

/// Whether the names behind a directory that is missing lead back out of it by `..`; those up to there are taken off.
fn leads_back(left: &mut VecDeque<OsString>) -> bool {
    let mut depth = 1u32;
    while let Some(name) = left.pop_front() {
        depth = if name == ".." { depth - 1 } else { depth + 1 };
        if depth == 0 {
            return true;
        }
    }
    false
}

/// Makes sure that what root makes in a directory stays there: that no other user can rename the directory, or one on the
/// way to it, and so have root write elsewhere. Who called sudo(8) counts as root; nobody but root is held to it. `what` is
/// the directory in words, `next` what to do.
///
/// # Errors
/// [`StackError::Refused`] with the directory that somebody else can change, and by whom.
pub fn refuse_exposed(directory: &Path, what: &str, next: &[&str]) -> Result<(), StackError> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let Some(found) = exposed(directory)? else { return Ok(()) };
    Err(StackError::Refused(Box::new(Refusal {
        device: directory.to_owned(),
        identity: what.to_owned(),
        reason: RefusalReason::Exposed,
        because: format!(
            "{} can rename files in `{}`, and so redirect root's writes",
            found.by,
            found.directory.display()
        ),
        loses: Vec::new(),
        next: next.iter().map(|&next| next.to_owned()).collect(),
        destroy: None,
    })))
}

/// As [`refuse_exposed`], for the directory that runs are kept in.
///
/// # Errors
/// Those of [`refuse_exposed`].
pub fn refuse_exposed_runs(directory: &Path) -> Result<(), StackError> {
    let next = ["`--runs /var/lib/iostone/runs`", "another directory that only root can write to"];
    refuse_exposed(directory, "directory of runs", &next)
}

/// "user alice", or "user 1000" where nobody has a name for it.
pub(crate) fn user_in_words(user: u32) -> String {
    format!("user {}", name_of("/etc/passwd", user))
}

/// The name of a number in `passwd(5)` or `group(5)`, whose third field it is; the number itself if there is none.
fn name_of(table: &str, number: u32) -> String {
    let text = fs::read_to_string(table).unwrap_or_default();
    let wanted = number.to_string();
    text.lines()
        .find_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            (fields.nth(1)? == wanted).then(|| name.to_owned())
        })
        .unwrap_or(wanted)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_everybody_can_write_is_exposed_and_the_sticky_bit_protects_what_is_ours_in_it() {
        let place = tempfile::tempdir().unwrap();
        let open = place.path().join("open");
        fs::create_dir(&open).unwrap();
        let run = open.join("run/of/today");
        let mode = |mode| fs::set_permissions(&open, fs::Permissions::from_mode(mode)).unwrap();
        mode(0o755);
        assert_eq!(exposed(&run).unwrap(), None);
        mode(0o777);
        let found = exposed(&run).unwrap().unwrap();
        assert_eq!((found.directory, found.by.as_str()), (fs::canonicalize(&open).unwrap(), "every user"));
        mode(0o1777);
        assert_eq!(exposed(&run).unwrap(), None);
        let (link, elsewhere) = (open.join("link"), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(elsewhere.path(), &link).unwrap();
        assert_eq!(exposed(&link.join("run")).unwrap(), None);
        mode(0o777);
        assert!(exposed(&link.join("run")).unwrap().is_some(), "the link can be changed");
        assert!(exposed(&link.join("../run")).unwrap().is_some());
    }

    #[test]
    fn a_directory_of_another_user_is_exposed_with_the_name() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let theirs = place.path().join("theirs");
        fs::create_dir_all(theirs.join("runs")).unwrap();
        std::os::unix::fs::chown(&theirs, Some(65534), None).unwrap();
        for path in ["theirs/runs", "none/../theirs/new", "none/x/../../theirs", "theirs/none/../.."] {
            let found = exposed(&place.path().join(path)).unwrap().unwrap_or_else(|| panic!("{path}"));
            assert_eq!(found.by, "user nobody", "{path}");
        }
        assert_eq!(exposed(&place.path().join("none/../new")).unwrap(), None);
        let trust = Trust { user: 0, caller: Some(65534) };
        assert_eq!(trust.stranger_in(&fs::metadata(&theirs).unwrap(), None), None, "who called sudo");
    }
}
