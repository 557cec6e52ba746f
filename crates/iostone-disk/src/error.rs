//! What keeps a server from serving, and a client from being served.

use std::io;
use std::path::{Path, PathBuf};

/// Why a volume cannot be served, or not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiskError {
    /// A socket at which a server listens already.
    #[error("a server is already listening at `{}`; name another socket, or stop that server: `iostone disk control {} end`", socket.display(), control.display())]
    Alive {
        /// The socket.
        socket: PathBuf,
        /// The control socket that goes with it.
        control: PathBuf,
    },
    /// Something that is no socket stands where one is to be made.
    #[error("`{}` exists and is not a socket; name another path, or move it away", .0.display())]
    NoSocket(PathBuf),
    /// A socket could not be made, or watched.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Socket {
        /// What was tried.
        action: &'static str,
        /// The socket.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// What a volume's bytes lie on could not be used.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Store {
        /// What was tried.
        action: &'static str,
        /// The file, the device, or the name of a volume in memory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Another process serves the same file.
    #[error("`{}` is locked by another process; two servers on one file would corrupt it: stop the other one first", .0.display())]
    Locked(PathBuf),
    /// The file is smaller than the volume.
    #[error("`{}` has {found_bytes} bytes and the volume {wanted_bytes}; enlarge it: `truncate --size {wanted_bytes} {}`", path.display(), path.display())]
    TooSmall {
        /// The file.
        path: PathBuf,
        /// Its bytes.
        found_bytes: u64,
        /// The volume's.
        wanted_bytes: u64,
    },
    /// A plan that cannot be carried out.
    #[error("{0}")]
    Plan(String),
    /// The event loop itself failed.
    #[error("the server cannot {action}: {source}")]
    Loop {
        /// What was tried.
        action: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The other end does not speak NBD as it should.
    #[error("the server at `{}` {what}", socket.display())]
    Protocol {
        /// The socket.
        socket: PathBuf,
        /// What it did.
        what: String,
    },
    /// A request was refused or failed.
    #[error("{command} of {length} bytes at {offset} failed with error {error} of the server")]
    Request {
        /// What was asked for.
        command: &'static str,
        /// The first byte.
        offset: u64,
        /// So many bytes.
        length: u32,
        /// The protocol's number; these are the system's.
        error: u32,
    },
}

impl DiskError {
    /// An error about a socket.
    pub(crate) fn socket(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Socket { action, path: path.to_owned(), source }
    }

    /// An error about what bytes lie on.
    pub(crate) fn store(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Store { action, path: path.to_owned(), source }
    }

    /// An error of the loop.
    pub(crate) fn event_loop<E: Into<io::Error>>(action: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::Loop { action, source: source.into() }
    }
}
