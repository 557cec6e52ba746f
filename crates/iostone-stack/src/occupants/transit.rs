//! Descriptors on their way through a Unix socket: sent by a process that has closed them since, and received by none yet.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// One message carries so many descriptors at most (`SCM_MAX_FD`, unix(7)).
const PER_MESSAGE: usize = 253;

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
    let seen = seen.unwrap_or_default();
    if seen.iter().any(|file| file.metadata().is_ok_and(|metadata| is_wanted(&metadata))) {
        return Some("in transit on a socket");
    }
    (seen.len() < queued).then_some("descriptors in transit on a socket, which cannot be looked at")
}

/// The count that `unix_show_fdinfo` of the kernel gives: descriptors in messages that wait on the socket (Linux 5.6).
fn queued(info: &str) -> Option<usize> {
    info.lines().find_map(|line| line.strip_prefix("scm_fds:")?.trim().parse().ok())
}

/// What the first waiting message carries.
fn peek(pid: u32, number: i32) -> Option<Vec<File>> {
    let process = pidfd_open(Pid::from_raw(pid.cast_signed())?, PidfdFlags::empty()).ok()?;
    let socket: OwnedFd = pidfd_getfd(&process, number, PidfdGetfdFlags::empty()).ok()?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PER_MESSAGE))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    recvmsg(&socket, &mut [IoSliceMut::new(&mut byte)], &mut control, flags).ok()?;
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
