//! The ioctls of the kernel's network block devices (linux/nbd.h).

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use super::call;

const NBD_SET_SOCK: libc::c_ulong = 0xAB00;
const NBD_SET_BLKSIZE: libc::c_ulong = 0xAB01;
const NBD_DO_IT: libc::c_ulong = 0xAB03;
const NBD_CLEAR_SOCK: libc::c_ulong = 0xAB04;
const NBD_SET_SIZE_BLOCKS: libc::c_ulong = 0xAB07;
const NBD_DISCONNECT: libc::c_ulong = 0xAB08;
const NBD_SET_FLAGS: libc::c_ulong = 0xAB0A;

/// Bytes of a block, which the device takes for its sector.
const BLOCK_BYTES: u64 = 512;

/// Connects a device to a socket behind which an NBD server has finished its handshake. EBUSY if another process has
/// the device.
pub(crate) fn connect(device: &File, socket: impl AsFd, size_bytes: u64, flags: u16) -> io::Result<()> {
    let fd = device.as_raw_fd();
    let socket = socket.as_fd().as_raw_fd();
    let argument = |value: u64| libc::c_ulong::try_from(value).map_err(io::Error::other);
    call(fd, NBD_SET_SOCK, argument(u64::from(socket.cast_unsigned()))?)?;
    call(fd, NBD_SET_BLKSIZE, argument(BLOCK_BYTES)?)?;
    call(fd, NBD_SET_SIZE_BLOCKS, argument(size_bytes / BLOCK_BYTES)?)?;
    call(fd, NBD_SET_FLAGS, libc::c_ulong::from(flags)).map(drop)
}

/// Carries requests between the device and its socket until it is disconnected; returns then. Should the process be
/// killed in here, the kernel disconnects.
pub(crate) fn carry(device: &File) -> io::Result<()> {
    call(device.as_raw_fd(), NBD_DO_IT, 0).map(drop)
}

/// Ends the connection: outstanding requests fail, and [`carry`] returns.
pub(crate) fn disconnect(device: &File) -> io::Result<()> {
    call(device.as_raw_fd(), NBD_DISCONNECT, 0)?;
    clear(device)
}

/// Takes the socket off the device.
pub(crate) fn clear(device: &File) -> io::Result<()> {
    call(device.as_raw_fd(), NBD_CLEAR_SOCK, 0).map(drop)
}
