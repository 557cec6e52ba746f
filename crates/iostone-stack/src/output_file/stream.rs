//! Names of the process's own open files: `/dev/stdout`, `/dev/fd/63` of a shell's `>(program)`.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

/// Opens what such a name stands for; none for any other path.
///
/// Opening `/dev/stdout` anew would write from the beginning of the file behind it (`proc_pid_fd(5)`), over what is there
/// already. So the descriptor itself is used for standard output and standard error, and others are only appended to.
pub(super) fn open_own_stream(path: &Path) -> Option<io::Result<File>> {
    let path = path.to_str()?;
    let number = match path {
        "/dev/stdout" => "1",
        "/dev/stderr" => "2",
        _ => path.strip_prefix("/dev/fd/").or_else(|| path.strip_prefix("/proc/self/fd/"))?,
    };
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(match number {
        "1" => io::stdout().as_fd().try_clone_to_owned().map(File::from),
        "2" => io::stderr().as_fd().try_clone_to_owned().map(File::from),
        other => OpenOptions::new().append(true).open(format!("/proc/self/fd/{other}")),
    })
}
