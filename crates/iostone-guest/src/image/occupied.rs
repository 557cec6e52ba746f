//! Whether a file is in use: by the kernel as a loop device or as swap, or by QEMU, which locks what it has open.
#![expect(unsafe_code, reason = "asking for the locks of others takes fcntl(2) itself")]

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::open::open_file;

/// QEMU locks single bytes of an image: from 100 on for what it does, from 200 on for what it lets nobody else do
/// (`RAW_LOCK_PERM_BASE` and `RAW_LOCK_SHARED_BASE` of block/file-posix.c).
const LOCKS_START: libc::off_t = 100;
const LOCKS_LENGTH: libc::off_t = 200;

/// By what it is used, in words; none where the kernel knows of nothing.
pub(super) fn used_by(file: &fs::Metadata) -> Option<String> {
    let same = |path: &Path| {
        fs::metadata(path).is_ok_and(|other| (other.dev(), other.ino()) == (file.dev(), file.ino()))
    };
    for device in fs::read_dir("/sys/block").into_iter().flatten().flatten() {
        let backing = device.path().join("loop/backing_file");
        if let Ok(backing) = fs::read_to_string(backing)
            && same(Path::new(backing.trim_end_matches('\n')))
        {
            let name = device.file_name();
            return Some(format!("/dev/{}", name.to_string_lossy()));
        }
    }
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    let mut files = swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    files.any(|name| same(Path::new(&name.replace("\\040", " ")))).then(|| "the kernel as swap".to_owned())
}

/// Whether some program holds the locks of QEMU on a file, for reading or for writing: `F_OFD_GETLK` of fcntl(2), which
/// takes no lock. A virtual machine that was started with `locking=off` is not seen.
///
/// # Errors
/// A file that cannot be opened, a filesystem without locks.
pub(super) fn is_open_in_qemu(path: &Path) -> io::Result<bool> {
    let file = open_file(path)?;
    let short = |value: libc::c_int| libc::c_short::try_from(value).unwrap_or_default();
    let mut lock = libc::flock {
        l_type: short(libc::F_WRLCK),
        l_whence: short(libc::SEEK_SET),
        l_start: LOCKS_START,
        l_len: LOCKS_LENGTH,
        l_pid: 0,
    };
    // SAFETY: the descriptor is open as long as `file`, and `lock` is a whole `struct flock`.
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) };
    if answer == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(lock.l_type != short(libc::F_UNLCK))
}
