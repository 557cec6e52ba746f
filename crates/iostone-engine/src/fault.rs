//! What ended a running job: which operation failed, where, and by which errno.

use std::fmt;
use std::path::PathBuf;

use iostone_model::units::Bytes;
use serde::Serialize;

/// What was being done when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Reading a block.
    Read,
    /// Writing a block.
    Write,
    /// Discarding a block.
    Trim,
    /// fsync, fdatasync or `sync_file_range`.
    Sync,
    /// Reading a block again to check it.
    Verify,
    /// Waiting for an I/O, longer than `max_latency` allows.
    TooSlow,
    /// Keeping up the rate that the job must not fall below.
    KeepRate,
    /// Handing requests to the kernel (`io_uring_enter`).
    Submit,
}

/// The I/O that ended a job. The figures up to it are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IoFault {
    /// What was being done.
    pub operation: Operation,
    /// The target; None for operations that have none.
    pub target: Option<PathBuf>,
    /// The errno; 0 when fewer bytes were transferred than asked for and the kernel gave no reason.
    pub errno: i32,
    /// The errno's name, `EIO`, or `short read`, `short write`.
    pub name: String,
    /// Where in the target; 0 for operations on all of it.
    pub offset: Bytes,
    /// Bytes asked for; 0 for operations on the whole target.
    pub length: Bytes,
    /// Bytes transferred by the failed I/O.
    pub transferred: Bytes,
    /// I/Os of the whole job that had succeeded by its end, ramp included.
    pub completed_ios: u64,
}

impl fmt::Display for IoFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, offset, length, transferred, completed_ios, .. } = self;
        match self.operation {
            Operation::Sync => write!(f, "{name} when making writes durable")?,
            Operation::Submit => write!(f, "{name} when handing I/O to the kernel")?,
            Operation::KeepRate => write!(f, "the rate fell below what was asked for: {name}")?,
            Operation::TooSlow => {
                write!(f, "{} bytes at offset {} took longer than `max_latency` allows", length.0, offset.0)?;
            }
            Operation::Verify if self.errno == libc::EILSEQ => {
                write!(f, "a block does not hold what was written")?;
            }
            Operation::Verify => write!(f, "{name} when reading back what was written")?,
            Operation::Read | Operation::Write | Operation::Trim if self.errno == 0 => {
                write!(f, "{name} at offset {}: {} of {} bytes", offset.0, transferred.0, length.0)?;
            }
            Operation::Read => write!(f, "{name} when reading {} bytes at offset {}", length.0, offset.0)?,
            Operation::Write => write!(f, "{name} when writing {} bytes at offset {}", length.0, offset.0)?,
            Operation::Trim => write!(f, "{name} when discarding {} bytes at offset {}", length.0, offset.0)?,
        }
        if let Some(target) = &self.target {
            write!(f, " of `{}`", target.display())?;
        }
        write!(f, ", after {completed_ios} I/Os")
    }
}

/// The name of an errno that I/O is known to fail with; errno(3).
pub(crate) fn name_errno(errno: i32) -> String {
    let name = match errno {
        libc::EIO => "EIO",
        libc::ENOSPC => "ENOSPC",
        libc::EDQUOT => "EDQUOT",
        libc::EFBIG => "EFBIG",
        libc::EINVAL => "EINVAL",
        libc::EROFS => "EROFS",
        libc::ENXIO => "ENXIO",
        libc::ENODEV => "ENODEV",
        libc::ENOMEM => "ENOMEM",
        libc::EFAULT => "EFAULT",
        libc::EPERM => "EPERM",
        libc::EACCES => "EACCES",
        libc::EBADF => "EBADF",
        libc::EBUSY => "EBUSY",
        libc::EAGAIN => "EAGAIN",
        libc::EINTR => "EINTR",
        libc::ECANCELED => "ECANCELED",
        libc::EOPNOTSUPP => "EOPNOTSUPP",
        libc::ETIMEDOUT => "ETIMEDOUT",
        libc::EREMOTEIO => "EREMOTEIO",
        libc::EILSEQ => "EILSEQ",
        libc::ENODATA => "ENODATA",
        libc::ENOLINK => "ENOLINK",
        libc::EBADE => "EBADE",
        libc::ESTALE => "ESTALE",
        libc::ESHUTDOWN => "ESHUTDOWN",
        libc::EUCLEAN => "EUCLEAN",
        libc::ENOSYS => "ENOSYS",
        libc::ENOENT => "ENOENT",
        other => return format!("errno {other}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(operation: Operation, errno: i32, name: &str) -> IoFault {
        IoFault {
            operation,
            target: None,
            errno,
            name: name.into(),
            offset: Bytes(8192),
            length: Bytes(4096),
            transferred: Bytes(512),
            completed_ios: 17,
        }
    }

    #[test]
    fn a_fault_says_what_where_and_after_how_much() {
        assert_eq!(
            fault(Operation::Read, 5, &name_errno(5)).to_string(),
            "EIO when reading 4096 bytes at offset 8192, after 17 I/Os"
        );
        assert_eq!(
            fault(Operation::Read, 0, "short read").to_string(),
            "short read at offset 8192: 512 of 4096 bytes, after 17 I/Os"
        );
        assert_eq!(
            fault(Operation::Sync, 28, &name_errno(28)).to_string(),
            "ENOSPC when making writes durable, after 17 I/Os"
        );
        assert_eq!(name_errno(99_999), "errno 99999");
    }
}
