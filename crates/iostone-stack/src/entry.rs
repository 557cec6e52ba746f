//! A name in a directory that is held open: what is opened, made or removed by it cannot be swapped for something else
//! between two looks.
//!
//! The path is walked once, one directory after the other. A symbolic link on the way is followed only where nobody else
//! could have put it there, as `/dev/disk/by-id` has them; one that another user can swap is refused.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, readlinkat, unlinkat};
use rustix::io::Errno;

use crate::error::{Refusal, RefusalReason, StackError};
use crate::step::FileIdentity;
use crate::trust::{Trust, user_in_words};

/// As many links are followed as the kernel follows (`MAXSYMLINKS`, `path_resolution(7)`).
pub(crate) const LINKS_MAX: usize = 40;

/// A name within a directory that is held open.
#[derive(Debug)]
pub struct Entry {
    directory: OwnedFd,
    name: OsString,
    /// As it was typed, for messages.
    path: PathBuf,
}

impl Entry {
    /// Finds the directory that a path leads to; what the name in it stands for need not exist.
    ///
    /// # Errors
    /// [`StackError::Refused`] for a symbolic link that another user can swap; [`StackError::Io`] when a directory on the
    /// way is missing or cannot be searched, and for a path that ends in no name.
    pub fn find(path: &Path) -> Result<Self, StackError> {
        let fail = |errno: Errno| StackError::io("open", path, errno);
        if path.as_os_str().as_bytes().ends_with(b"/") {
            // Only a directory has such a name (path_resolution(7)).
            return Err(fail(Errno::ISDIR));
        }
        let open_directory = |at: &OwnedFd, name: &OsStr| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            openat(at, name, flags, Mode::empty()).map_err(fail)
        };
        let open_start = |start: &str| {
            openat(CWD, start, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
                .map_err(fail)
        };
        let trust = Trust::of_this_process();
        let mut directory = open_start(if path.is_absolute() { "/" } else { "." })?;
        let mut left: VecDeque<OsString> = names_in(path);
        let mut links = 0;
        while let Some(name) = left.pop_front() {
            let stat = match rustix::fs::statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) if left.is_empty() => {
                    return Ok(Self { directory, name, path: path.to_owned() });
                }
                stat => stat.map_err(fail)?,
            };
            if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
                links += 1;
                if links > LINKS_MAX {
                    return Err(fail(Errno::LOOP));
                }
                let holder =
                    metadata_of(&directory).map_err(|source| StackError::io("stat", path, source))?;
                if let Some(by) = trust.stranger_in(&holder, Some(stat.st_uid)) {
                    return Err(swappable(path, &name, &by));
                }
                let target = readlinkat(&directory, &name, Vec::new()).map_err(fail)?;
                let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                if target.is_absolute() {
                    directory = open_start("/")?;
                }
                for name in names_in(&target).into_iter().rev() {
                    left.push_front(name);
                }
            } else if left.is_empty() && name != ".." {
                return Ok(Self { directory, name, path: path.to_owned() });
            } else {
                directory = open_directory(&directory, &name)?;
            }
        }
        Err(fail(Errno::ISDIR))
    }

    /// As it was typed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens what the name stands for, which is no symbolic link; none if there is nothing.
    ///
    /// # Errors
    /// [`StackError::Io`] with what the kernel said, ELOOP for a link that was put there since.
    pub fn open(&self, flags: OFlags) -> Result<Option<File>, StackError> {
        match openat(&self.directory, &self.name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
            Ok(file) => Ok(Some(File::from(file))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(StackError::io("open", &self.path, errno)),
        }
    }

    /// As [`Self::open`], for a file of this process's user or root's: what somebody else's holds is theirs to say.
    ///
    /// # Errors
    /// Those of [`Self::open`], and [`StackError::Refused`] with the owner.
    pub fn open_own(&self, flags: OFlags) -> Result<Option<File>, StackError> {
        let Some(file) = self.open(flags | OFlags::NONBLOCK)? else { return Ok(None) };
        let metadata = file.metadata().map_err(|source| StackError::io("stat", &self.path, source))?;
        if metadata.is_file() && Trust::of_this_process().includes(metadata.uid()) {
            return Ok(Some(file));
        }
        let because = if metadata.is_file() {
            format!("it belongs to {}, who may have changed its content", user_in_words(metadata.uid()))
        } else {
            "it is not a regular file".to_owned()
        };
        Err(StackError::Refused(Box::new(Refusal {
            device: self.path.clone(),
            identity: "a file".to_owned(),
            reason: RefusalReason::ForeignFile,
            because,
            loses: Vec::new(),
            next: vec!["name a file of your own".to_owned()],
            destroy: None,
        })))
    }

    /// Makes a file of that name, open for reading and writing; none if there is something already.
    ///
    /// # Errors
    /// [`StackError::Io`] when it cannot be made.
    pub fn create(&self) -> Result<Option<File>, StackError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&self.directory, &self.name, flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => Ok(Some(File::from(file))),
            Err(Errno::EXIST) => Ok(None),
            Err(errno) => Err(StackError::io("create", &self.path, errno)),
        }
    }

    /// Removes the name, if it still stands for that very file; whether it did.
    ///
    /// # Errors
    /// [`StackError::Io`] when it cannot be removed.
    pub fn remove(&self, file: &File) -> Result<bool, StackError> {
        let fail = |source: std::io::Error| StackError::io("remove", &self.path, source);
        let wanted = identity_of(&file.metadata().map_err(fail)?);
        let found = match rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(false),
            stat => stat.map_err(|errno| fail(errno.into()))?,
        };
        if (FileIdentity { dev: found.st_dev, ino: found.st_ino }) != wanted {
            return Ok(false);
        }
        match unlinkat(&self.directory, &self.name, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(fail(errno.into())),
        }
    }
}

/// What tells a file from others.
pub(crate) fn identity_of(metadata: &Metadata) -> FileIdentity {
    FileIdentity { dev: metadata.dev(), ino: metadata.ino() }
}

/// The names that a path leads through, `..` among them.
pub(crate) fn names_in(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some(OsString::from("..")),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .collect()
}

/// The metadata behind a descriptor that was opened with `O_PATH`.
fn metadata_of(directory: &OwnedFd) -> std::io::Result<Metadata> {
    File::from(directory.try_clone()?).metadata()
}

fn swappable(path: &Path, link: &OsStr, by: &str) -> StackError {
    let link = Path::new(link).display();
    StackError::Refused(Box::new(Refusal {
        device: path.to_owned(),
        identity: format!("through the symbolic link `{link}`"),
        reason: RefusalReason::SwappableLink,
        because: format!("{by} can change that link and redirect the path"),
        loses: Vec::new(),
        next: vec!["name the file or device itself".to_owned()],
        destroy: None,
    }))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read, Write};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn read(entry: &Entry) -> Option<String> {
        let mut text = String::new();
        entry.open(OFlags::RDONLY).unwrap()?.read_to_string(&mut text).unwrap();
        Some(text)
    }

    #[test]
    fn a_name_stays_in_its_directory_whatever_becomes_of_the_path() {
        let place = tempfile::tempdir().unwrap();
        let [here, there] = ["here", "there"].map(|name| place.path().join(name));
        fs::create_dir(&here).unwrap();
        fs::write(here.join("f"), "ours").unwrap();
        let (entry, new) = (Entry::find(&here.join("f")).unwrap(), Entry::find(&here.join("new")).unwrap());
        fs::rename(&here, &there).unwrap();
        fs::create_dir(&here).unwrap();
        fs::write(here.join("f"), "theirs").unwrap();
        assert_eq!(read(&entry).unwrap(), "ours");
        let mut made = new.create().unwrap().unwrap();
        made.write_all(b"x").unwrap();
        assert!(there.join("new").exists() && !here.join("new").exists());
        assert!(new.create().unwrap().is_none());
        assert!(!entry.remove(&made).unwrap(), "another file");
        assert!(new.remove(&made).unwrap() && !new.remove(&made).unwrap());
        assert_eq!(fs::read(iostone_engine::path_of_open(&made)).unwrap(), b"x");
    }

    #[test]
    fn links_are_followed_only_where_nobody_else_can_put_them() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("f"), "data").unwrap();
        fs::create_dir(at("d")).unwrap();
        symlink("../f", at("d/link")).unwrap();
        symlink("d", at("dir")).unwrap();
        for path in ["d/link", "dir/link", "d/../dir/link", "./f"] {
            assert_eq!(read(&Entry::find(&at(path)).unwrap()).as_deref(), Some("data"), "{path}");
        }
        assert!(Entry::find(&at("missing/f")).is_err() && Entry::find(Path::new("/")).is_err());
        symlink("round", at("round")).unwrap();
        assert!(Entry::find(&at("round")).is_err());
        fs::set_permissions(at("d"), fs::Permissions::from_mode(0o777)).unwrap();
        let refused = Entry::find(&at("dir/link")).unwrap_err();
        let StackError::Refused(refusal) = refused else { panic!("{refused}") };
        assert_eq!(refusal.reason, RefusalReason::SwappableLink);
        assert!(refusal.because.contains("every user"), "{refusal}");
        assert_eq!(read(&Entry::find(&at("dir/../f")).unwrap()).as_deref(), Some("data"));
    }

    #[test]
    fn a_link_that_took_the_place_of_a_file_is_not_opened() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("f");
        fs::write(&path, "data").unwrap();
        let entry = Entry::find(&path).unwrap();
        fs::remove_file(&path).unwrap();
        symlink("/etc/passwd", &path).unwrap();
        assert!(entry.open(OFlags::RDWR).is_err());
    }
}
