//! Removing directories of ours: never across a mount, never through a symbolic link, never somebody else's.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::mounted::obstacle_in;
use super::{failure, is_absent, is_ours};
use crate::error::UndoFailure;
use crate::step::FileIdentity;
use crate::tool::quote;

/// Deeper trees are left to the user: each level costs an open descriptor.
const DEPTH_MAX: usize = 256;

/// Files are stamped with the time of the last timer tick, up to 10 ms ago, so that two may seem to be in the wrong order.
const TICK: Duration = Duration::from_millis(10);

/// When a journal was begun, and when its last line was written. Each is none where the filesystem does not tell, or
/// where it does not matter.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Times {
    pub(super) begun: Option<SystemTime>,
    pub(super) announced: Option<SystemTime>,
}

/// Removes a plain directory that we made, if nothing is in it; what others put there stays, and the directory too.
///
/// A process that was killed between making it and saying so left no confirming line. The directory is ours then if it came
/// into being right after the journal's last line; otherwise an empty directory is the smaller evil. One that is older than
/// the journal is none that it speaks of.
pub(super) fn remove_if_empty(
    path: &Path,
    made: Option<FileIdentity>,
    times: Times,
) -> Result<bool, UndoFailure> {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(false) };
    let born = metadata.created().ok();
    let is_it = match made {
        Some(made) => made == FileIdentity { dev: metadata.dev(), ino: metadata.ino() },
        None => born.zip(times.announced).is_some_and(|(born, announced)| follows(announced, born)),
    };
    let is_older = born.zip(times.begun).is_some_and(|(born, begun)| born + TICK < begun);
    let ours = is_it && !is_older;
    if !ours || !metadata.is_dir() {
        return Ok(false);
    }
    match fs::remove_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOTEMPTY | libc::EEXIST | libc::EBUSY)) => {
            Ok(false)
        }
        Err(error) => Err(failure(path, error.to_string(), format!("rmdir {}", quote(path.as_os_str())))),
    }
}

/// Whether a directory born then can be the one announced at that time.
fn follows(announced: SystemTime, born: SystemTime) -> bool {
    announced <= born + TICK && born <= announced + Duration::from_secs(10)
}

/// Opens the directory that a path of the session's own lies in; none if it is gone. On the way to the session's directory
/// symbolic links are the user's to set; from there on there are none of ours, so that none is followed.
pub(super) fn open_parent(path: &Path, token: &str) -> Result<Option<OwnedFd>, Errno> {
    let outermost = path.ancestors().filter(|above| is_ours(above, token)).last();
    let Some(base) = outermost.and_then(Path::parent) else { return Err(Errno::PERM) };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let within = path.parent().and_then(|parent| parent.strip_prefix(base).ok()).unwrap_or(Path::new(""));
    let opened = rustix::fs::open(base, flags, Mode::empty()).and_then(|base| {
        if within.as_os_str().is_empty() {
            return Ok(base);
        }
        let way = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
        rustix::fs::openat2(base, within, flags, Mode::empty(), way)
    });
    match opened {
        Ok(parent) => Ok(Some(parent)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Removes a directory of the session's own with everything in it.
pub(super) fn remove_with_content(
    path: &Path,
    made: Option<FileIdentity>,
    token: &str,
) -> Result<bool, UndoFailure> {
    let next = || format!("ls -la {}", quote(path.as_os_str()));
    let wrong = |reason: String| failure(path, reason, next());
    if !is_ours(path, token) {
        return Err(wrong("its path does not contain the session's token, so it was left alone".to_owned()));
    }
    let Some(name) = path.file_name() else { return Err(wrong("it has no name".to_owned())) };
    let parent = open_parent(path, token).map_err(|errno| wrong(errno.to_string()))?;
    let Some(parent) = parent else { return Ok(false) };
    let directory = match open_within(parent.as_fd(), Path::new(name)) {
        Ok(directory) => directory,
        Err(Errno::NOENT) => return Ok(false),
        Err(Errno::XDEV) => {
            return Err(obstacle_in(path).unwrap_or_else(|| wrong("something is mounted on it".to_owned())));
        }
        Err(errno) => return Err(wrong(errno.to_string())),
    };
    let stat = rustix::fs::fstat(&directory).map_err(|errno| wrong(errno.to_string()))?;
    // The device number of a filesystem may differ after a reboot, the inode does not.
    if made.is_some_and(|made| made.ino != stat.st_ino) {
        return Err(wrong("it is not the directory that iostone created, so it was left alone".to_owned()));
    }
    if let Some(obstacle) = obstacle_in(path) {
        return Err(obstacle);
    }
    empty(&directory, 0).map_err(&wrong)?;
    match rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(wrong(errno.to_string())),
    }
}

/// Opens a directory by one name within another: openat2(2) refuses links and mounts, bind mounts too.
fn open_within(parent: impl AsFd, name: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::openat2(
        parent,
        name,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH,
    )
}

fn empty(directory: &OwnedFd, depth: usize) -> Result<(), String> {
    if depth > DEPTH_MAX {
        return Err(format!("it is more than {DEPTH_MAX} directories deep"));
    }
    let entries = Dir::read_from(directory).map_err(|errno| errno.to_string())?;
    for entry in entries {
        let entry = entry.map_err(|errno| errno.to_string())?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let explain = |errno: Errno| match errno {
            Errno::XDEV | Errno::BUSY => {
                format!("something is mounted on `{}` in it", name.to_string_lossy())
            }
            errno => format!("`{}` in it: {errno}", name.to_string_lossy()),
        };
        let is_directory = match entry.file_type() {
            FileType::Unknown => {
                let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).map_err(explain)?;
                FileType::from_raw_mode(stat.st_mode) == FileType::Directory
            }
            file_type => file_type == FileType::Directory,
        };
        let flags = if is_directory {
            let path = Path::new(std::ffi::OsStr::new(name.to_str().map_err(|error| error.to_string())?));
            empty(&open_within(directory, path).map_err(explain)?, depth + 1)?;
            AtFlags::REMOVEDIR
        } else {
            AtFlags::empty()
        };
        match rustix::fs::unlinkat(directory, name, flags) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(explain(errno)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_removed_and_not_followed() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("precious"), "x").unwrap();
        let work = tempfile::tempdir().unwrap();
        let own = work.path().join("iostone-t");
        fs::create_dir_all(own.join("a/b")).unwrap();
        fs::write(own.join("a/b/file"), "x").unwrap();
        std::os::unix::fs::symlink(outside.path(), own.join("a/link")).unwrap();
        assert!(remove_with_content(&own, None, "t").unwrap());
        assert!(!own.exists());
        assert!(outside.path().join("precious").exists());
        assert!(!remove_with_content(&own, None, "t").unwrap(), "a second time");
    }

    #[test]
    fn a_directory_that_became_a_link_is_left_alone() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("precious"), "x").unwrap();
        let work = tempfile::tempdir().unwrap();
        let own = work.path().join("iostone-t");
        std::os::unix::fs::symlink(outside.path(), &own).unwrap();
        assert!(remove_with_content(&own, None, "t").is_err());
        assert!(outside.path().join("precious").exists());
    }

    #[test]
    fn a_directory_of_another_token_or_inode_is_left_alone() {
        let work = tempfile::tempdir().unwrap();
        let own = work.path().join("iostone-t");
        fs::create_dir(&own).unwrap();
        assert!(remove_with_content(&own, None, "u").is_err());
        assert!(remove_with_content(&own, Some(FileIdentity { dev: 0, ino: 1 }), "t").is_err());
        assert!(own.exists());
    }

    #[test]
    fn a_link_in_place_of_the_sessions_directory_leads_nowhere() {
        let outside = tempfile::tempdir().unwrap();
        fs::create_dir_all(outside.path().join("etc/precious")).unwrap();
        let work = tempfile::tempdir().unwrap();
        let own = work.path().join("iostone-t");
        std::os::unix::fs::symlink(outside.path(), &own).unwrap();
        assert!(remove_with_content(&own.join("etc"), None, "t").is_err());
        assert!(remove_with_content(&own.join("etc/precious"), None, "t").is_err());
        assert!(outside.path().join("etc/precious").exists());
        // One on the way there is the user's.
        let link = work.path().join("link");
        std::os::unix::fs::symlink(outside.path(), &link).unwrap();
        fs::create_dir_all(outside.path().join("iostone-t/a")).unwrap();
        assert!(remove_with_content(&link.join("iostone-t/a"), None, "t").unwrap());
        assert!(remove_with_content(&link.join("iostone-t"), None, "t").unwrap());
    }

    #[test]
    fn a_plain_directory_goes_only_when_it_is_empty_and_ours() {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("plain");
        fs::create_dir(&path).unwrap();
        let metadata = fs::metadata(&path).unwrap();
        let made = FileIdentity { dev: metadata.dev(), ino: metadata.ino() };
        assert!(!remove_if_empty(&path, None, Times::default()).unwrap());
        fs::write(path.join("file"), "x").unwrap();
        assert!(!remove_if_empty(&path, Some(made), Times::default()).unwrap());
        fs::remove_file(path.join("file")).unwrap();
        assert!(remove_if_empty(&path, Some(made), Times::default()).unwrap());
    }

    #[test]
    fn an_unconfirmed_directory_goes_only_if_it_was_born_right_after_its_announcement() {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("plain");
        let announced = SystemTime::now();
        fs::create_dir(&path).unwrap();
        let hour = Duration::from_secs(3600);
        let at = |announced| Times { begun: None, announced: Some(announced) };
        assert!(!remove_if_empty(&path, None, at(announced - hour)).unwrap(), "somebody made it since");
        assert!(!remove_if_empty(&path, None, at(announced + hour)).unwrap(), "it was there before");
        if fs::metadata(&path).unwrap().created().is_ok() {
            let older = Times { begun: Some(announced + hour), announced: Some(announced) };
            assert!(!remove_if_empty(&path, None, older).unwrap(), "the journal is younger");
            assert!(remove_if_empty(&path, None, at(announced)).unwrap());
        }
    }
}
