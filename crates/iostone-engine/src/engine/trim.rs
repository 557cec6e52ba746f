//! Discards blocks: they hold no data afterwards, and what they took up is free.
//!
//! io_uring and AIO have no discard that every kernel knows, so each engine does it while it is asked to, as fio
//! does (`do_io_u_trim`). Unlike fio, which knows discards of block devices only, a regular file is taken as well:
//! punching a hole is what a guest's discard becomes on a disk image, and most filesystems pass it on (`discard`).
#![expect(unsafe_code, reason = "BLKDISCARD has no safe binding")]

use std::fs::File;

use rustix::fs::{FallocateFlags, FileType, fallocate, fstat};
use rustix::io::{Errno, retry_on_intr};
use rustix::ioctl::{Opcode, Setter, ioctl};

use crate::source::Request;

/// `BLKDISCARD` of `linux/fs.h`: `_IO(0x12, 119)`, which all the same reads two 64-bit numbers, offset and length.
const BLKDISCARD: Opcode = rustix::ioctl::opcode::none(0x12, 119);

/// Discards the part of `file` that the request names, and waits until that is done. The file must be open for
/// writing.
///
/// The result has the form of a [completion](super::Completion)'s: the length of the request, or an errno negated,
/// which is what ioctl(2) or fallocate(2) said: `EOPNOTSUPP` where the device or filesystem cannot, `EINVAL` where
/// `BLKDISCARD` meets a part that is not whole sectors or not on the device, `EBADF` where the file is not open
/// for writing. It is `EOPNOTSUPP` on the memory devices as well: they hold nothing in the first place, and a rate of
/// discarding it would be a figure of nothing.
///
/// What the file is, is asked each time: fstat(2) costs nothing beside a discard, and nothing has to be kept.
pub(crate) fn discard(file: &File, request: &Request) -> i32 {
    match discard_part(file, request.offset_bytes, request.length_bytes.into()) {
        // No request is longer than 1 GiB.
        Ok(()) => i32::try_from(request.length_bytes).unwrap_or(i32::MAX),
        Err(errno) => -errno.raw_os_error(),
    }
}

fn discard_part(file: &File, offset_bytes: u64, length_bytes: u64) -> Result<(), Errno> {
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    match FileType::from_raw_mode(fstat(file)?.st_mode) {
        FileType::BlockDevice => retry_on_intr(|| discard_sectors(file, offset_bytes, length_bytes)),
        FileType::RegularFile => retry_on_intr(|| fallocate(file, hole, offset_bytes, length_bytes)),
        _ => Err(Errno::OPNOTSUPP),
    }
}

fn discard_sectors(device: &File, offset_bytes: u64, length_bytes: u64) -> Result<(), Errno> {
    // SAFETY: BLKDISCARD reads exactly two u64 through its pointer, which is what the setter points it at.
    unsafe { ioctl(device, Setter::<BLKDISCARD, [u64; 2]>::new([offset_bytes, length_bytes])) }
}

#[cfg(test)]
mod tests;
