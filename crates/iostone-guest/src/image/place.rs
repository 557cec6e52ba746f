//! A private directory beside a target, in which the new image is made: removed whatever happens, found again after a kill.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, RenameFlags, flock, renameat_with};

use super::ImageError;

/// How the names of all such directories begin.
const PREFIX: &str = ".iostone-image-";

/// A directory of mode 0700 that exists as long as this.
pub(super) struct PrivateDirectory {
    path: PathBuf,
    /// Locked as long as somebody is at work in it.
    _lock: File,
}

impl PrivateDirectory {
    /// Makes one in a directory.
    ///
    /// # Errors
    /// It cannot be made there.
    pub(super) fn within(parent: &Path) -> Result<Self, ImageError> {
        let failed = |path: &Path, error: io::Error| match error.kind() {
            // The target's place does not do; nothing failed yet.
            io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded => ImageError::Usage(format!(
                "nothing can be written in `{}`: {error}; next: choose a target elsewhere, or make that one writable and \
                 with room",
                parent.display()
            )),
            _ => ImageError::io("make the directory", path, error),
        };
        for attempt in 0..100_u32 {
            let path = parent.join(format!("{PREFIX}{}-{attempt}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    let lock = File::open(&path).and_then(|directory| {
                        flock(&directory, FlockOperation::NonBlockingLockExclusive)?;
                        Ok(directory)
                    });
                    return match lock {
                        Ok(lock) => Ok(Self { path, _lock: lock }),
                        Err(error) => {
                            let _ = fs::remove_dir(&path);
                            Err(failed(&path, error))
                        }
                    };
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(&path, error)),
            }
        }
        let taken = io::Error::from(io::ErrorKind::AlreadyExists);
        Err(failed(&parent.join(PREFIX), taken))
    }

    /// A file within.
    pub(super) fn file(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        // It was made by us with a mode that lets nobody else in.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// What killed conversions left in a directory: nobody is at work in these.
pub(super) fn leftovers(parent: &Path) -> Vec<PathBuf> {
    let is_dead = |path: &PathBuf| {
        path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(PREFIX))
            && path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
            && File::open(path)
                .is_ok_and(|directory| flock(&directory, FlockOperation::NonBlockingLockExclusive).is_ok())
    };
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_dead).collect();
    found.sort();
    found
}

/// Gives a finished file its name, in one step; what has that name is replaced only if `replace`.
///
/// # Errors
/// [`ImageError::Refused`] where something took the name in the meantime; a failed rename(2).
pub(super) fn put(file: &Path, target: &Path, replace: bool) -> Result<(), ImageError> {
    if replace {
        fs::rename(file, target).map_err(|error| ImageError::io("rename to", target, error))?;
    } else {
        match renameat_with(rustix::fs::CWD, file, rustix::fs::CWD, target, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(rustix::io::Errno::EXIST) => return Err(super::exists(target)),
            // A filesystem without that flag: a link is not made over anything either.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                fs::hard_link(file, target).map_err(|error| match error.kind() {
                    io::ErrorKind::AlreadyExists => super::exists(target),
                    _ => ImageError::io("rename to", target, error),
                })?;
            }
            Err(error) => return Err(ImageError::io("rename to", target, error)),
        }
    }
    let parent = super::parent_of(target);
    File::open(&parent)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| ImageError::io("make durable", &parent, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_directory_goes_with_its_owner_and_is_told_only_when_dead() {
        let place = tempfile::tempdir().unwrap();
        let private = PrivateDirectory::within(place.path()).unwrap();
        fs::write(private.file(OsStr::new("x")), "x").unwrap();
        assert_eq!(leftovers(place.path()), Vec::<PathBuf>::new());
        drop(private);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
        let dead = place.path().join(".iostone-image-1-0");
        fs::create_dir(&dead).unwrap();
        assert_eq!(leftovers(place.path()), [dead]);
    }

    #[test]
    fn a_name_that_is_taken_is_not_taken_over() {
        let place = tempfile::tempdir().unwrap();
        let (new, old) = (place.path().join("new"), place.path().join("old"));
        fs::write(&new, "new").unwrap();
        fs::write(&old, "old").unwrap();
        assert!(matches!(put(&new, &old, false), Err(ImageError::Refused(_))));
        assert_eq!(fs::read_to_string(&old).unwrap(), "old");
        put(&new, &old, true).unwrap();
        assert_eq!(fs::read_to_string(&old).unwrap(), "new");
    }
}
