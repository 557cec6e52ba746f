//! Sockets of a server: for their owner alone, never over a live server's, and gone when the server is.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::error::DiskError;

/// A socket that is listened at. Dropped, its name is removed, unless it is another's by then.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) listener: UnixListener,
    path: PathBuf,
    inode: u64,
}

impl Socket {
    /// Binds a socket that only its owner may connect to. One that a dead server left is replaced.
    ///
    /// # Errors
    /// When a server listens there, when something else stands there, when the system refuses.
    pub(crate) fn bind(path: &Path, control: &Path) -> Result<Self, DiskError> {
        remove_stale(path, control)?;
        // Bound under a name that nobody knows, so that nobody connects before the mode is set.
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{}", std::process::id()));
        let fresh = PathBuf::from(name);
        let bound = (|| {
            let listener = UnixListener::bind(&fresh)?;
            fs::set_permissions(&fresh, fs::Permissions::from_mode(0o600))?;
            listener.set_nonblocking(true)?;
            let inode = fs::symlink_metadata(&fresh)?.ino();
            // A link, unlike a rename, fails if another server was faster.
            fs::hard_link(&fresh, path)?;
            Ok(Self { listener, path: path.to_owned(), inode })
        })();
        let _ = fs::remove_file(&fresh);
        bound.map_err(|source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => {
                DiskError::Alive { socket: path.to_owned(), control: control.to_owned() }
            }
            _ => DiskError::Socket { action: "listen at", path: path.to_owned(), source },
        })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|found| found.ino() == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn remove_stale(path: &Path, control: &Path) -> Result<(), DiskError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(DiskError::socket("look at", path)(error)),
        Ok(found) if !found.file_type().is_socket() => return Err(DiskError::NoSocket(path.to_owned())),
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        // Refused is what the kernel says of a socket that nobody listens at any more.
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(DiskError::socket("remove the stale", path))
        }
        Err(error) => Err(DiskError::socket("connect to", path)(error)),
        Ok(_) => Err(DiskError::Alive { socket: path.to_owned(), control: control.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_socket_is_replaced_and_a_live_one_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        // A listener of the standard library leaves its name behind, as a server that was killed does.
        drop(UnixListener::bind(&path).unwrap());
        let first = Socket::bind(&path, Path::new("c")).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let refused = Socket::bind(&path, Path::new("c")).unwrap_err();
        assert!(matches!(refused, DiskError::Alive { .. }), "{refused}");
        drop(first);
        assert!(!path.exists());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_no_socket_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        fs::write(&path, "mine").unwrap();
        assert!(matches!(Socket::bind(&path, Path::new("c")), Err(DiskError::NoSocket(_))));
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }

    #[test]
    fn a_socket_that_another_took_over_is_not_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        let first = Socket::bind(&path, Path::new("c")).unwrap();
        fs::remove_file(&path).unwrap();
        let second = Socket::bind(&path, Path::new("c")).unwrap();
        drop(first);
        assert!(path.exists());
        drop(second);
    }
}
