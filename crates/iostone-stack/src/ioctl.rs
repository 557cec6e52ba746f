//! The ioctls of loop devices, with the kernel's structures (loop(4), linux/loop.h), and of block devices at large.
#![expect(unsafe_code, reason = "rustix and std have no calls for loop devices")]

mod btrfs;
pub(crate) mod fsmap;
pub(crate) mod nbd;

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

pub(crate) use btrfs::BtrfsControl;

const LOOP_CLR_FD: libc::c_ulong = 0x4C01;
const LOOP_GET_STATUS64: libc::c_ulong = 0x4C05;
const LOOP_CONFIGURE: libc::c_ulong = 0x4C0A;
const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4C82;
const BLKROSET: libc::c_ulong = 0x125D;
const BLKRAGET: libc::c_ulong = 0x1263;

/// The driver is at work with direct I/O on the file (`LO_FLAGS_DIRECT_IO`).
pub(crate) const LOOP_DIRECT_IO: u32 = 16;
/// The driver frees the device by itself on the last close (`LO_FLAGS_AUTOCLEAR`).
pub(crate) const LOOP_AUTOCLEAR: u32 = 4;
/// The device takes no writes (`LO_FLAGS_READ_ONLY`).
pub(crate) const LOOP_READ_ONLY: u32 = 1;

/// `struct loop_info64`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct LoopStatus {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) raw_device: u64,
    pub(crate) offset: u64,
    pub(crate) size_limit: u64,
    pub(crate) number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    pub(crate) flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopStatus,
    reserved: [u64; 8],
}

// The ioctl interface is fixed: linux/loop.h gives these sizes.
const _: () = assert!(size_of::<LoopStatus>() == 232 && size_of::<LoopConfig>() == 304);

impl LoopStatus {
    const EMPTY: Self = Self {
        device: 0,
        inode: 0,
        raw_device: 0,
        offset: 0,
        size_limit: 0,
        number: 0,
        encrypt_type: 0,
        encrypt_key_size: 0,
        flags: 0,
        file_name: [0; 64],
        crypt_name: [0; 64],
        encrypt_key: [0; 32],
        init: [0; 2],
    };

    /// The name that whoever attached the device gave; at most 63 bytes.
    pub(crate) fn file_name(&self) -> String {
        let length = self.file_name.iter().position(|&byte| byte == 0).unwrap_or(self.file_name.len());
        String::from_utf8_lossy(&self.file_name[..length]).into_owned()
    }
}

fn call(fd: RawFd, request: libc::c_ulong, argument: libc::c_ulong) -> io::Result<i32> {
    // SAFETY: every caller passes a request together with an argument that is either an integer or the address of a
    // live structure of the size that the request reads or writes.
    let answer = unsafe { libc::ioctl(fd, request as _, argument) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// The number of a loop device that is free at this moment; another process may take it before the caller does.
pub(crate) fn free_loop_number(control: &File) -> io::Result<u32> {
    call(control.as_raw_fd(), LOOP_CTL_GET_FREE, 0).map(i32::cast_unsigned)
}

/// How a loop device is attached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoopAttachment<'a> {
    /// Past the page cache of what is below.
    pub(crate) direct_io: bool,
    /// A name of ours, of which the kernel keeps 63 bytes.
    pub(crate) name: &'a str,
    /// Bytes from the start of what is below to the start of the device.
    pub(crate) offset: u64,
    /// Bytes of the device at most.
    pub(crate) size_limit: u64,
}

/// Attaches `backing` to the loop device in one step (`LOOP_CONFIGURE`, Linux 5.8), without autoclear. EBUSY if another
/// process took the device meanwhile.
pub(crate) fn configure_loop(
    device: &File,
    backing: &File,
    attachment: &LoopAttachment<'_>,
) -> io::Result<()> {
    let mut config = LoopConfig {
        fd: backing.as_raw_fd().cast_unsigned(),
        block_size: 0,
        info: LoopStatus::EMPTY,
        reserved: [0; 8],
    };
    config.info.flags = if attachment.direct_io { LOOP_DIRECT_IO } else { 0 };
    config.info.offset = attachment.offset;
    config.info.size_limit = attachment.size_limit;
    for (place, byte) in config.info.file_name.iter_mut().take(63).zip(attachment.name.bytes()) {
        *place = byte;
    }
    call(device.as_raw_fd(), LOOP_CONFIGURE, (&raw const config) as libc::c_ulong).map(drop)
}

/// What a loop device is attached to; ENXIO if to nothing.
pub(crate) fn loop_status(device: &File) -> io::Result<LoopStatus> {
    let mut status = LoopStatus::EMPTY;
    call(device.as_raw_fd(), LOOP_GET_STATUS64, (&raw mut status) as libc::c_ulong)?;
    Ok(status)
}

/// Detaches a loop device, at the latest when its last opener closes it.
pub(crate) fn detach_loop(device: &File) -> io::Result<()> {
    call(device.as_raw_fd(), LOOP_CLR_FD, 0).map(drop)
}

/// Makes a block device writable (BLKROSET, linux/fs.h). The read-only mark of `blockdev --setro` stays with a loop
/// device's number when the file is detached, so a fresh attachment may find it set.
pub(crate) fn make_writable(device: &File) -> io::Result<()> {
    let read_only: libc::c_int = 0;
    call(device.as_raw_fd(), BLKROSET, (&raw const read_only) as libc::c_ulong).map(drop)
}

/// How far the kernel reads ahead on a block device, in sectors of 512 bytes (BLKRAGET, linux/fs.h).
pub(crate) fn readahead_sectors(device: &File) -> io::Result<u64> {
    let mut sectors: libc::c_ulong = 0;
    call(device.as_raw_fd(), BLKRAGET, (&raw mut sectors) as libc::c_ulong)?;
    Ok(sectors)
}
