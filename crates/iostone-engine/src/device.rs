//! Asks a block device for its size.
#![expect(unsafe_code, reason = "BLKGETSIZE64 has no safe binding")]

use std::fs::File;
use std::io;

use rustix::ioctl::{Getter, Opcode, ioctl};

/// `BLKGETSIZE64` of `linux/fs.h`: `_IOR(0x12, 114, size_t)`, yet it stores a 64-bit number everywhere.
const BLKGETSIZE64: Opcode = rustix::ioctl::opcode::read::<usize>(0x12, 114);

/// Size of a block device in bytes.
///
/// # Errors
/// What ioctl(2) says, `ENOTTY` if it is no block device.
pub(crate) fn read_size(device: &File) -> io::Result<u64> {
    // SAFETY: BLKGETSIZE64 writes exactly one u64, which is the getter's output.
    Ok(unsafe { ioctl(device, Getter::<BLKGETSIZE64, u64>::new()) }?)
}
