//! The private directory beside a target in which the new image is made, found again after a kill, and the one step out of it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, RenameFlags, flock, renameat_with};
use rustix::io::Errno;

use super::ImageError;

/// How the names of all such directories begin: [`super::Host::make_private_directory`] gives them.
const PREFIX: &str = ".iostone-image-";

/// A private directory that somebody is at work in, as long as this exists. Who made it removes it.
pub(super) struct Workplace {
    path: PathBuf,
    _lock: File,
}

impl Workplace {
    /// Enters a directory that was just made.
    ///
    /// # Errors
    /// It cannot be opened or locked.
    pub(super) fn enter(path: PathBuf) -> Result<Self, ImageError> {
        let failed = |error: io::Error| ImageError::io("enter the directory", &path, error);
        let lock = File::open(&path).map_err(failed)?;
        // Waiting, as somebody may be looking at this moment whether it was left behind.
        while let Err(errno) = flock(&lock, FlockOperation::LockExclusive) {
            if errno != Errno::INTR {
                return Err(failed(errno.into()));
            }
        }
        Ok(Self { path, _lock: lock })
    }

    /// A file within.
    pub(super) fn file(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }
}

/// What killed conversions left in a directory: nobody is at work in these. An empty one may be about to be entered.
pub(super) fn leftovers(parent: &Path) -> Vec<PathBuf> {
    let is_dead = |path: &PathBuf| {
        path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(PREFIX))
            && path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
            // Shared, so that two who look at once do not take each other for somebody at work.
            && File::open(path).is_ok_and(|directory| {
                flock(&directory, FlockOperation::NonBlockingLockShared).is_ok() && holds_anything(path)
            })
    };
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_dead).collect();
    found.sort();
    found
}

fn holds_anything(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some())
}

/// Gives a finished file its name, in one step; what has that name is replaced only if `replace`.
///
/// # Errors
/// [`ImageError::Refused`] where something took the name in the meantime; a failed rename(2).
pub(super) fn put(file: &Path, target: &Path, replace: bool) -> Result<(), ImageError> {
    let parent = super::parent_of(target);
    let unnamed = |error: io::Error| {
        ImageError::Failed(format!(
            "cannot rename the new image to `{}`: {error}; next: make `{}` writable, or choose another target",
            target.display(),
            parent.display()
        ))
    };
    if replace {
        fs::rename(file, target).map_err(unnamed)?;
    } else {
        match renameat_with(rustix::fs::CWD, file, rustix::fs::CWD, target, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Err(super::exists(target)),
            // A filesystem without that flag: a link is not made over anything either.
            Err(Errno::INVAL | Errno::NOSYS) => {
                fs::hard_link(file, target).map_err(|error| match error.kind() {
                    io::ErrorKind::AlreadyExists => super::exists(target),
                    _ => unnamed(error),
                })?;
            }
            Err(error) => return Err(unnamed(error.into())),
        }
    }
    File::open(&parent)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| ImageError::io("make durable", &parent, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_told_only_when_it_holds_something_and_nobody_is_at_work_in_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(".iostone-image-1");
        fs::create_dir(&path).unwrap();
        assert_eq!(leftovers(place.path()), Vec::<PathBuf>::new(), "it was only just made");
        let work = Workplace::enter(path.clone()).unwrap();
        fs::write(work.file(OsStr::new("x")), "x").unwrap();
        assert_eq!(leftovers(place.path()), Vec::<PathBuf>::new());
        drop(work);
        assert_eq!(leftovers(place.path()), [path]);
    }

    #[test]
    fn who_looks_for_leftovers_neither_keeps_the_owner_out_nor_hides_one_from_another() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(".iostone-image-1");
        fs::create_dir(&path).unwrap();
        let looking = File::open(&path).unwrap();
        flock(&looking, FlockOperation::NonBlockingLockShared).unwrap();
        fs::write(path.join("x"), "x").unwrap();
        assert_eq!(leftovers(place.path()), std::slice::from_ref(&path));
        std::thread::scope(|threads| {
            let owner = threads.spawn(|| Workplace::enter(path.clone()).is_ok());
            std::thread::sleep(std::time::Duration::from_millis(20));
            drop(looking);
            assert!(owner.join().unwrap());
        });
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
        let error = put(&place.path().join("gone"), &old, true).unwrap_err().to_string();
        assert!(error.contains("; next: make"), "{error}");
    }
}
