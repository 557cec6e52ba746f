//! Superblocks of ext2 and ext4, XFS, btrfs and F2FS: whose a filesystem is, how it lies over its devices, and taking it off again.

mod btrfs;
mod ext;
mod f2fs;
mod xfs;

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::format_uuid;
use crate::error::StackError;

pub(crate) use btrfs::BtrfsSuperblock;
pub(crate) use ext::ExtSuperblock;
pub(crate) use f2fs::F2fsSuperblock;
pub(crate) use xfs::XfsSuperblock;

/// A family of filesystems that iostone makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Ext,
    Xfs,
    Btrfs,
    F2fs,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Ext, Self::Xfs, Self::Btrfs, Self::F2fs];

    /// For people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ext => "ext2 or ext4",
            Self::Xfs => "XFS",
            Self::Btrfs => "btrfs",
            Self::F2fs => "F2FS",
        }
    }

    /// Where its superblocks stand, in bytes from the start: the copies first and the one that counts last, so that a
    /// crash between two of them leaves the one by which the filesystem is known.
    fn places(self) -> &'static [u64] {
        match self {
            Self::Ext => &[ExtSuperblock::OFFSET],
            Self::Xfs => &[XfsSuperblock::OFFSET],
            Self::Btrfs => &BtrfsSuperblock::OFFSETS,
            Self::F2fs => &F2fsSuperblock::OFFSETS,
        }
    }

    /// Bytes that are wiped at each place: the superblock, and for XFS the headers of the first allocation group
    /// behind it.
    fn wiped_bytes(self) -> usize {
        match self {
            Self::Ext => ExtSuperblock::LENGTH,
            Self::Xfs => 4096,
            Self::Btrfs => BtrfsSuperblock::LENGTH,
            Self::F2fs => F2fsSuperblock::LENGTH,
        }
    }
}

/// Who has used a filesystem, as far as its superblock tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Usage {
    /// ext2 and ext4 count.
    Counted {
        /// How often it was mounted for writing; mkfs leaves none.
        mount_count: u16,
        /// Where it was when a file on it was first opened after the last mount; empty if that never came about, or if
        /// the path is longer than the field.
        last_mounted: PathBuf,
    },
    /// It was never mounted for writing, or mkfs did not come to its end.
    Never,
    /// It may have been, nobody knows how often.
    Perhaps,
}

/// What tells one filesystem from another, and who has used it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Superblock {
    pub(crate) kind: Kind,
    pub(crate) uuid: String,
    pub(crate) usage: Usage,
}

impl Superblock {
    /// The superblock with that UUID on a device; none if there is none. A device that was made anew without being
    /// wiped may carry several.
    ///
    /// # Errors
    /// [`StackError::Io`] when the device cannot be read.
    pub(crate) fn find(device: &Path, uuid: &str) -> Result<Option<Self>, StackError> {
        let file = File::open(device).map_err(|source| StackError::io("open", device, source))?;
        Self::find_in(&file, uuid).map_err(|source| StackError::io("read", device, source))
    }

    /// That of one kind, whatever its UUID; none where there is none or the device cannot be read.
    pub(crate) fn of_kind(device: &Path, kind: Kind) -> Option<Self> {
        let offset = kind.places().last().copied().unwrap_or_default();
        Self::read_at(&File::open(device).ok()?, kind, offset).ok()?
    }

    fn find_in(device: &File, uuid: &str) -> std::io::Result<Option<Self>> {
        for kind in Kind::ALL {
            let offset = kind.places().last().copied().unwrap_or_default();
            if let Some(found) = Self::read_at(device, kind, offset)?
                && found.uuid == uuid
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn read_at(device: &File, kind: Kind, offset: u64) -> std::io::Result<Option<Self>> {
        let mut bytes = [0; 4096];
        match device.read_exact_at(&mut bytes, offset) {
            Ok(()) => match Self::parse(kind, &bytes) {
                Some(found) if kind == Kind::F2fs => Self::with_checkpoints(found, device, &bytes).map(Some),
                found => Ok(found),
            },
            // Too small for one at that place.
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// F2FS tells elsewhere whether it was ever mounted for writing.
    fn with_checkpoints(found: Self, device: &File, bytes: &[u8; 4096]) -> std::io::Result<Self> {
        let place = F2fsSuperblock::parse(bytes).and_then(|found| found.second_checkpoint_bytes);
        let Some(place) = place else { return Ok(found) };
        let mut checkpoint = [0; 8];
        match device.read_exact_at(&mut checkpoint, place) {
            Ok(()) if !F2fsSuperblock::is_written(checkpoint) => Ok(Self { usage: Usage::Never, ..found }),
            Ok(()) => Ok(found),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(found),
            Err(error) => Err(error),
        }
    }

    /// Reads the bytes at one of its kind's places.
    pub(crate) fn parse(kind: Kind, bytes: &[u8; 4096]) -> Option<Self> {
        let (uuid, usage) = match kind {
            Kind::Ext => {
                let ext = ExtSuperblock::parse(bytes)?;
                (ext.uuid, Usage::Counted { mount_count: ext.mount_count, last_mounted: ext.last_mounted })
            }
            Kind::Xfs => {
                let xfs = XfsSuperblock::parse(bytes)?;
                (xfs.uuid, if xfs.is_untouched { Usage::Never } else { Usage::Perhaps })
            }
            Kind::Btrfs => {
                let btrfs = BtrfsSuperblock::parse(bytes)?;
                (btrfs.uuid, if btrfs.is_untouched { Usage::Never } else { Usage::Perhaps })
            }
            Kind::F2fs => (F2fsSuperblock::parse(bytes)?.uuid, Usage::Perhaps),
        };
        Some(Self { kind, uuid, usage })
    }

    /// Every filesystem of those kinds that a device of these bytes carries.
    pub(crate) fn all_of(device: &[u8]) -> Vec<Self> {
        let window = |kind: Kind| {
            let start = usize::try_from(*kind.places().last()?).ok()?;
            let bytes = device.get(start..start.checked_add(4096)?)?.try_into().ok()?;
            Self::parse(kind, bytes)
        };
        Kind::ALL.into_iter().filter_map(window).collect()
    }
}

/// A field of a superblock; none past its end.
fn field<const COUNT: usize>(bytes: &[u8], offset: usize) -> Option<[u8; COUNT]> {
    bytes.get(offset..offset.checked_add(COUNT)?)?.try_into().ok()
}

/// A UUID that stands in a superblock, as text.
fn uuid_at(bytes: &[u8], offset: usize) -> Option<String> {
    field(bytes, offset).map(format_uuid)
}

/// Reads one superblock of a device.
fn read_block(device: &Path, offset: u64) -> Result<[u8; 4096], StackError> {
    let file = File::open(device).map_err(|source| StackError::io("open", device, source))?;
    let mut bytes = [0; 4096];
    file.read_exact_at(&mut bytes, offset).map_err(|source| StackError::io("read", device, source))?;
    Ok(bytes)
}

/// What became of an attempt to take a filesystem off.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wiped {
    /// It is gone.
    Yes,
    /// It was not there any more.
    Gone,
    /// Somebody has the device mounted, or open for itself alone.
    Busy,
}

/// Takes our filesystem off a device of the user's: only if the superblock there is still the one that was looked at.
///
/// # Errors
/// The reason in words.
pub(crate) fn wipe(path: &Path, ours: &Superblock) -> Result<Wiped, String> {
    // O_EXCL without O_CREAT on a block device: refused while it is mounted or held (open(2)).
    let mut device = match File::options().read(true).write(true).custom_flags(libc::O_EXCL).open(path) {
        Ok(device) => device,
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => return Ok(Wiped::Busy),
        Err(error) => return Err(format!("it cannot be opened: {error}")),
    };
    let unreadable = |error: std::io::Error| format!("it cannot be read: {error}");
    let now = Superblock::find_in(&device, &ours.uuid).map_err(unreadable)?;
    if now.as_ref() != Some(ours) {
        // Somebody was faster; the next look tells who.
        return Ok(if now.is_some() { Wiped::Busy } else { Wiped::Gone });
    }
    let size_bytes = device.seek(SeekFrom::End(0)).map_err(unreadable)?;
    let zeros = vec![0; ours.kind.wiped_bytes()];
    for &offset in ours.kind.places() {
        if offset.saturating_add(4096) > size_bytes {
            continue;
        }
        let found = Superblock::read_at(&device, ours.kind, offset).map_err(unreadable)?;
        if found.is_some_and(|found| found.uuid == ours.uuid) {
            device.write_all_at(&zeros, offset).map_err(|error| format!("it cannot be written: {error}"))?;
        }
    }
    device.sync_all().map_err(|error| format!("it cannot be written: {error}"))?;
    Ok(Wiped::Yes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_bytes_make_a_reader_fail(mut bytes in prop::collection::vec(any::<u8>(), 4096), magic in 0..6_usize) {
            let magics: [(usize, &[u8]); 5] = [
                (0x38, &[0x53, 0xef]),
                (0, b"XFSB"),
                (0x40, b"_BHRfS_M"),
                (0x40, b"!BHRfS_M"),
                (0, &[0x10, 0x20, 0xf5, 0xf2]),
            ];
            if let Some((offset, magic)) = magics.get(magic) {
                bytes[*offset..*offset + magic.len()].copy_from_slice(magic);
            }
            let bytes: &[u8; 4096] = bytes.as_slice().try_into().unwrap();
            for kind in Kind::ALL {
                let found = Superblock::parse(kind, bytes);
                prop_assert!(found.is_none_or(|found| found.uuid.len() == 36));
            }
        }
    }

    #[test]
    fn all_copies_are_wiped_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("device");
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        file.set_len(65 << 20).unwrap();
        let mut block = [0x5a; 4096];
        block[0x20..0x30].copy_from_slice(&[0xab; 16]);
        block[0x40..0x48].copy_from_slice(b"_BHRfS_M");
        file.write_all_at(&block, 64 << 10).unwrap();
        file.write_all_at(&block, 64 << 20).unwrap();
        file.write_all_at(b"theirs", (64 << 10) + 4096).unwrap();
        let uuid = format_uuid([0xab; 16]);
        let found = Superblock::find(&path, &uuid).unwrap().unwrap();
        assert_eq!(found.kind, Kind::Btrfs);
        assert_eq!(wipe(&path, &found).unwrap(), Wiped::Yes);
        assert_eq!(wipe(&path, &found).unwrap(), Wiped::Gone);
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(&bytes[(64 << 10) + 4096..][..6], b"theirs");
        assert_eq!(bytes.iter().filter(|&&byte| byte != 0).count(), 6);
    }
}
