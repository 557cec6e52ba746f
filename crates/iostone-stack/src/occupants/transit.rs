//! Descriptors on their way through a Unix socket: sent by a process that has closed them since, and received by none yet.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use rustix::fs::{OFlags, fcntl_getfl};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// One message carries so many descriptors at most (`SCM_MAX_FD`, unix(7)).
const PER_MESSAGE: usize = 253;
/// The kernel lets sockets travel through sockets so deep (`MAX_RECURSION_LEVEL`, net/unix).
const DEPTH_MAX: usize = 4;

/// How a wanted descriptor is on its way through a process's socket; none if none is. Nothing is taken off the socket: the
/// message is looked at (`MSG_PEEK`, recv(2)). Where others stand behind it, which nobody can look at, they count as wanted.
pub(super) fn through_socket(
    pid: u32,
    number: &OsStr,
    info: &Path,
    is_wanted: &dyn Fn(&Metadata) -> bool,
) -> Option<&'static str> {
    let queued = queued(&fs::read_to_string(info).ok()?).filter(|queued| *queued > 0)?;
    let seen = number.to_str().and_then(|number| number.parse().ok()).and_then(|number| peek(pid, number));
    judge(seen.unwrap_or_default(), queued, is_wanted, 0)
}

/// What the descriptors of a message are; a socket among them may have others on their way in turn.
fn judge(
    seen: Vec<File>,
    queued: usize,
    is_wanted: &dyn Fn(&Metadata) -> bool,
    depth: usize,
) -> Option<&'static str> {
    const UNKNOWN: &str = "descriptors in transit on a socket, which cannot be looked at";
    if seen.len() < queued {
        return Some(UNKNOWN);
    }
    for file in seen {
        let Ok(metadata) = file.metadata() else { continue };
        if is_wanted(&metadata) && may_write(&file) {
            return Some("in transit on a socket");
        }
        if !metadata.file_type().is_socket() {
            continue;
        }
        let info = format!("/proc/self/fdinfo/{}", file.as_raw_fd());
        let queued = fs::read_to_string(info).ok().and_then(|info| self::queued(&info)).unwrap_or(0);
        if queued > 0 {
            if depth >= DEPTH_MAX {
                return Some(UNKNOWN);
            }
            let found = judge(peek_at(&file).unwrap_or_default(), queued, is_wanted, depth + 1);
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

fn may_write(file: &File) -> bool {
    fcntl_getfl(file).is_ok_and(|flags| flags & OFlags::RWMODE != OFlags::RDONLY)
}

/// The count that `unix_show_fdinfo` of the kernel gives: descriptors in messages that wait on the socket (Linux 5.6).
fn queued(info: &str) -> Option<usize> {
    info.lines().find_map(|line| line.strip_prefix("scm_fds:")?.trim().parse().ok())
}

/// What the first waiting message on a process's socket carries.
fn peek(pid: u32, number: i32) -> Option<Vec<File>> {
    let process = pidfd_open(Pid::from_raw(pid.cast_signed())?, PidfdFlags::empty()).ok()?;
    peek_at(&pidfd_getfd(&process, number, PidfdGetfdFlags::empty()).ok()?)
}

fn peek_at(socket: impl AsFd) -> Option<Vec<File>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PER_MESSAGE))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, flags).ok()?;
    let mut files = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            files.extend(descriptors.map(File::from));
        }
    }
    Some(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_count_is_read() {
        assert_eq!(queued("pos:\t0\nflags:\t02\nscm_fds: 2\n"), Some(2));
        assert_eq!(queued("pos:\t0\n"), None);
    }
}
