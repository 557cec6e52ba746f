//! The superblock of md on a member: whose array it belongs to, and taking it off again.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use crate::aligned::{ALIGNMENT, AlignedBuffer};
use crate::device::{BlockDevice, linked_devices, read_attribute};
use crate::error::StackError;
use crate::filesystem::format_uuid;

/// `MD_SB_MAGIC` (`linux/raid/md_p.h`).
const MAGIC: u32 = 0xa92b_4efc;
/// As much is read at each place, and wiped: both forms keep within it (`MD_SB_BYTES`, `md_p.h`).
const LENGTH: usize = 4096;
/// What lies before the end of a member whose data begin at its start is wiped from there, so that no filesystem of
/// the array's shows on the member: the last of the known magics at a beginning is that of btrfs, at 64 KiB.
const BEGINNING: usize = 128 << 10;

/// An md superblock, as far as it tells whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MdSuperblock {
    /// Of the array, in the form 8-4-4-4-12.
    pub(crate) uuid: String,
    /// In bytes from the start of the member.
    pub(crate) offset: u64,
    /// Whether the array's data begin where the member begins: versions 0.90 and 1.0.
    pub(crate) is_at_end: bool,
}

/// What became of an attempt to wipe superblocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wiped {
    /// They are gone.
    Yes,
    /// There were none of that array.
    Nothing,
    /// Somebody has the member open for itself alone.
    Busy,
}

impl MdSuperblock {
    /// Every superblock on a device, of whatever version and array.
    ///
    /// # Errors
    /// [`StackError::Io`] when the device cannot be read.
    pub(crate) fn read_all(device: &BlockDevice) -> Result<Vec<Self>, StackError> {
        let path = &device.path;
        let open = |flags| File::options().read(true).custom_flags(flags | libc::O_NONBLOCK).open(path);
        // Past the page cache, which does not see what md writes.
        let file = open(libc::O_DIRECT)
            .or_else(|_| open(0))
            .map_err(|source| StackError::io("open", path, source))?;
        Self::read_from(&file, device.size_bytes).map_err(|source| StackError::io("read", path, source))
    }

    fn read_from(file: &File, size_bytes: u64) -> std::io::Result<Vec<Self>> {
        let mut found = Vec::new();
        let mut buffer = AlignedBuffer::new(LENGTH.next_multiple_of(ALIGNMENT));
        for (offset, version) in places(size_bytes) {
            let bytes = buffer.bytes_mut().get_mut(..LENGTH).unwrap_or_default();
            file.read_exact_at(bytes, offset)?;
            found.extend(parse(bytes, version).map(|uuid| Self {
                uuid,
                offset,
                is_at_end: matches!(version, Version::V090 | Version::V10),
            }));
        }
        Ok(found)
    }

    /// Whether a device carries a superblock of that array; one that cannot be read carries none.
    pub(crate) fn is_on(device: &BlockDevice, uuid: &str) -> bool {
        Self::read_all(device).is_ok_and(|found| found.iter().any(|superblock| superblock.uuid == uuid))
    }

    /// Wipes the superblocks of one array off a member, and with them what of the array's beginning shows on the
    /// member. Not a byte is changed if the member has no superblock of it.
    ///
    /// # Errors
    /// The reason in words.
    pub(crate) fn wipe(device: &BlockDevice, uuid: &str) -> Result<Wiped, String> {
        // Looked at first without claiming it: it may be a member of somebody else's array by now.
        let seen = Self::read_all(device).map_err(|error| error.to_string())?;
        if seen.iter().all(|superblock| superblock.uuid != uuid) {
            return Ok(Wiped::Nothing);
        }
        // O_EXCL without O_CREAT on a block device: refused while an array or a mount has it (open(2)).
        let open = File::options().read(true).write(true).custom_flags(libc::O_EXCL).open(&device.path);
        let file = match open {
            Ok(file) => file,
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => return Ok(Wiped::Busy),
            Err(error) => return Err(format!("it cannot be opened: {error}")),
        };
        forget_cache(&file);
        let found = Self::read_from(&file, device.size_bytes)
            .map_err(|error| format!("it cannot be read: {error}"))?;
        let ours: Vec<&Self> = found.iter().filter(|superblock| superblock.uuid == uuid).collect();
        if ours.is_empty() {
            return Ok(Wiped::Nothing);
        }
        let written = ours.iter().try_for_each(|superblock| {
            if superblock.is_at_end {
                let length = usize::try_from(superblock.offset).unwrap_or(BEGINNING).min(BEGINNING);
                file.write_all_at(&vec![0; length], 0)?;
                // The superblock goes last: by it the member is known for ours after a crash between the two.
                file.sync_all()?;
            }
            file.write_all_at(&[0; LENGTH], superblock.offset)?;
            file.sync_all()
        });
        written.map_err(|error| format!("it cannot be written: {error}"))?;
        forget_cache(&file);
        Ok(Wiped::Yes)
    }
}

/// Whoever keeps a member open keeps its page cache too, and that does not see what md wrote meanwhile: a look through
/// it would find what is long gone.
pub(super) fn forget_cache(file: &File) {
    // Advice, and the reads that matter go past the cache.
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}

/// Whether a device is a running or half made array with that UUID: by sysfs where it tells (Linux 6.1 does), else by
/// the superblocks of its members.
pub(super) fn is_array_of(device: &BlockDevice, uuid: &str) -> bool {
    let sysfs = device.sysfs();
    if !sysfs.join("md").exists() {
        return false;
    }
    if let Ok(told) = read_attribute(&sysfs.join("md/uuid"))
        && told == uuid
    {
        return true;
    }
    linked_devices(&sysfs.join("slaves"))
        .into_iter()
        .any(|number| BlockDevice::numbered(number).is_ok_and(|member| MdSuperblock::is_on(&member, uuid)))
}

/// Every array of that UUID that the kernel has.
pub(crate) fn arrays_of(uuid: &str) -> Vec<BlockDevice> {
    let Ok(entries) = fs::read_dir("/sys/block") else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| entry.path().join("md").exists())
        .filter_map(|entry| crate::device::number_in(&entry.path()))
        .filter_map(|number| BlockDevice::numbered(number).ok())
        .filter(|device| is_array_of(device, uuid))
        .collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    V090,
    V10,
    V11,
    V12,
}

/// Where each version keeps its superblock (md(4); `super_90_load`, `super_1_load` in drivers/md/md.c).
fn places(size_bytes: u64) -> Vec<(u64, Version)> {
    const BLOCK: u64 = 64 << 10;
    let from_end = |block: u64, back: u64| (size_bytes / block * block).checked_sub(back);
    [
        (Some(0), Version::V11),
        (Some(4096), Version::V12),
        (from_end(4096, 8192), Version::V10),
        (from_end(BLOCK, BLOCK), Version::V090),
    ]
    .into_iter()
    .filter_map(|(offset, version)| {
        let offset = offset?;
        (offset.checked_add(LENGTH as u64)? <= size_bytes).then_some((offset, version))
    })
    .collect()
}

/// The UUID of the array, if these bytes are a superblock of that version.
///
/// 1.x is little-endian with the UUID as 16 bytes at 16; 0.90 is in the writer's order with the UUID in four words, at
/// 20 and from 52 on, of which mdadm prints the digits of each (`linux/raid/md_p.h`).
fn parse(bytes: &[u8], version: Version) -> Option<String> {
    let word = |offset: usize| {
        let four: [u8; 4] = bytes.get(offset..offset.checked_add(4)?)?.try_into().ok()?;
        Some(four)
    };
    if version != Version::V090 {
        let is_one = u32::from_le_bytes(word(0)?) == MAGIC && u32::from_le_bytes(word(4)?) == 1;
        let uuid: [u8; 16] = bytes.get(16..32)?.try_into().ok()?;
        return is_one.then(|| format_uuid(uuid));
    }
    let native: fn([u8; 4]) -> u32 = match word(0)? {
        magic if u32::from_le_bytes(magic) == MAGIC => u32::from_le_bytes,
        magic if u32::from_be_bytes(magic) == MAGIC => u32::from_be_bytes,
        _ => return None,
    };
    if native(word(4)?) != 0 {
        return None;
    }
    let mut uuid = [0; 16];
    for (place, offset) in uuid.chunks_exact_mut(4).zip([20, 52, 56, 60]) {
        place.copy_from_slice(&native(word(offset)?).to_be_bytes());
    }
    Some(format_uuid(uuid))
}

/// What the superblocks on a device of these bytes say, for the fuzzer and the tests.
pub(crate) fn uuids_on(device: &[u8]) -> Vec<String> {
    places(device.len() as u64)
        .into_iter()
        .filter_map(|(offset, version)| {
            let start = usize::try_from(offset).ok()?;
            parse(device.get(start..start.checked_add(LENGTH)?)?, version)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UUID: &str = "01234567-89ab-cdef-0123-456789abcdef";
    const UUID_BYTES: [u8; 16] =
        [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef];

    /// The first bytes that mdadm 4.2 wrote for `--metadata=1.2 --uuid=01234567:89abcdef:01234567:89abcdef`.
    fn version_1() -> Vec<u8> {
        let mut bytes = vec![0; LENGTH];
        bytes[..8].copy_from_slice(&[0xfc, 0x4e, 0x2b, 0xa9, 1, 0, 0, 0]);
        bytes[16..32].copy_from_slice(&UUID_BYTES);
        bytes
    }

    /// The same for `--metadata=0.90`.
    fn version_0() -> Vec<u8> {
        let mut bytes = vec![0; LENGTH];
        bytes[..12].copy_from_slice(&[0xfc, 0x4e, 0x2b, 0xa9, 0, 0, 0, 0, 0x5a, 0, 0, 0]);
        bytes[20..24].copy_from_slice(&[0x67, 0x45, 0x23, 0x01]);
        bytes[52..64]
            .copy_from_slice(&[0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01, 0xef, 0xcd, 0xab, 0x89]);
        bytes
    }

    #[test]
    fn each_version_is_found_at_its_place() {
        let size = 48 << 20;
        let end = size - (64 << 10);
        for (offset, superblock) in
            [(0, version_1()), (4096, version_1()), (size - 8192, version_1()), (end, version_0())]
        {
            let mut device = vec![0; size];
            assert_eq!(uuids_on(&device), Vec::<String>::new());
            device[offset..offset + LENGTH].copy_from_slice(&superblock);
            assert_eq!(uuids_on(&device), [UUID], "at {offset}");
        }
    }

    #[test]
    fn the_old_form_is_read_in_either_byte_order() {
        let mut bytes = version_0();
        for word in bytes.chunks_exact_mut(4) {
            word.reverse();
        }
        assert_eq!(parse(&bytes, Version::V090).as_deref(), Some(UUID));
        assert_eq!(parse(&version_1(), Version::V090), None);
        assert_eq!(parse(&version_0(), Version::V12), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_stumble(bytes in proptest::collection::vec(any::<u8>(), 0..20_000)) {
            uuids_on(&bytes);
        }

        #[test]
        fn every_place_lies_on_the_device_and_on_a_page(size in 0..u64::MAX) {
            for (offset, _) in places(size) {
                prop_assert!(offset.is_multiple_of(4096) && offset + 4096 <= size);
            }
        }
    }
}
