//! The ioctls of `/dev/btrfs-control` (linux/btrfs.h).

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// What is asked of the kernel about a device by its path.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BtrfsControl {
    /// `BTRFS_IOC_SCAN_DEV`: know the device.
    Scan,
    /// `BTRFS_IOC_FORGET_DEV` (Linux 5.1): know it no longer. EBUSY while it is mounted, ENOENT if it was not known.
    Forget,
}

/// `struct btrfs_ioctl_vol_args`.
#[repr(C)]
struct VolumeArguments {
    fd: i64,
    name: [u8; BtrfsControl::NAME_BYTES],
}

// The size is part of the requests' numbers.
const _: () = assert!(size_of::<VolumeArguments>() == 4096);

impl BtrfsControl {
    /// Bytes of a path with the zero at its end.
    pub(crate) const NAME_BYTES: usize = 4088;

    /// `_IOW(0x94, 4, struct btrfs_ioctl_vol_args)` and `_IOW(0x94, 5, ...)`.
    fn request(self) -> libc::c_ulong {
        match self {
            Self::Scan => 0x5000_9404,
            Self::Forget => 0x5000_9405,
        }
    }

    /// Asks it; a path longer than [`Self::NAME_BYTES`] is `ENAMETOOLONG`.
    pub(crate) fn call(self, control: &File, path: &CStr) -> io::Result<()> {
        let bytes = path.to_bytes_with_nul();
        let mut arguments = VolumeArguments { fd: 0, name: [0; Self::NAME_BYTES] };
        arguments
            .name
            .get_mut(..bytes.len())
            .ok_or_else(|| io::Error::from_raw_os_error(libc::ENAMETOOLONG))?
            .copy_from_slice(bytes);
        super::call(control.as_raw_fd(), self.request(), (&raw const arguments) as libc::c_ulong).map(drop)
    }
}
