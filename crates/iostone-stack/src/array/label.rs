//! The label of LVM2 on a member: whose physical volume it is, and taking it off again.
//!
//! The UUIDs of our physical volumes are made from the group's name, which holds the session's random token. So a
//! label is known for ours even where the group was never finished.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use super::superblock::{Wiped, forget_cache};
use crate::device::BlockDevice;
use crate::error::StackError;

/// The label stands in one of the first four sectors (`LABEL_SCAN_SECTORS`, lib/label/label.h).
const SECTOR: usize = 512;
const SCANNED: usize = 4 * SECTOR;
/// Labels and the beginning of the metadata area.
const HEAD: usize = 4096;
/// Where the first extent begins by lvm's default alignment; before it lies the metadata area alone.
const FIRST_EXTENT: usize = 1 << 20;
/// Random hexadecimal digits at the end of a session's token.
const TOKEN_DIGITS: usize = 16;
/// How the UUIDs of our physical volumes begin.
const PREFIX: &str = "iostone0";

/// A physical volume of LVM2, known by its UUID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PhysicalVolume {
    /// Its 32 letters and digits, without the dashes that lvm prints between them.
    pub(crate) uuid: String,
}

impl PhysicalVolume {
    /// The physical volume that our group makes of its member number `index`.
    ///
    /// The name ends with the token's random digits; it is cut or filled up to the length that lvm takes.
    pub(super) fn of_group(group: &str, index: usize) -> Self {
        Self { uuid: format!("{}{index:08}", uuid_prefix(group)) }
    }

    /// As lvm writes it: 6-4-4-4-4-4-6.
    pub(super) fn uuid_with_dashes(&self) -> String {
        let mut text = String::with_capacity(38);
        for (index, letter) in self.uuid.chars().enumerate() {
            if matches!(index, 6 | 10 | 14 | 18 | 22 | 26) {
                text.push('-');
            }
            text.push(letter);
        }
        text
    }

    /// The physical volume that the first bytes of a device tell of: `LABELONE`, the label's own sector, a checksum, the
    /// offset of what follows, the type; and there the UUID (lvm2's `lib/label/label.h`, `lib/format_text/layout.h`).
    pub(crate) fn parse(head: &[u8]) -> Option<Self> {
        head.get(..SCANNED.min(head.len()))?.chunks(SECTOR).find_map(|sector| {
            if sector.get(..8)? != b"LABELONE" || sector.get(24..32)? != b"LVM2 001" {
                return None;
            }
            let offset: [u8; 4] = sector.get(20..24)?.try_into().ok()?;
            let start = usize::try_from(u32::from_le_bytes(offset)).ok()?;
            let uuid = sector.get(start..start.checked_add(32)?)?;
            let is_text = uuid.iter().all(|byte| byte.is_ascii_alphanumeric() || b"!#".contains(byte));
            is_text.then(|| Self { uuid: String::from_utf8_lossy(uuid).into_owned() })
        })
    }

    /// The physical volume on a device.
    ///
    /// # Errors
    /// [`StackError::Io`] when the device cannot be read.
    fn read(device: &BlockDevice) -> Result<Option<Self>, StackError> {
        let path = &device.path;
        let file = File::open(path).map_err(|source| StackError::io("open", path, source))?;
        Self::read_from(&file).map_err(|source| StackError::io("read", path, source))
    }

    /// Whether a device carries a label of that group; one that cannot be read carries none.
    pub(crate) fn is_on(device: &BlockDevice, group: &str) -> bool {
        Self::read(device).is_ok_and(|found| found.is_some_and(|found| is_of_group(&found, group)))
    }

    fn read_from(file: &File) -> std::io::Result<Option<Self>> {
        // lvm writes past the page cache, and what lies there may be older.
        forget_cache(file);
        let mut head = [0; SCANNED];
        file.read_exact_at(&mut head, 0)?;
        Ok(Self::parse(&head))
    }

    /// Wipes label and metadata off a member, if the label is of that group. Else not a byte is changed.
    ///
    /// # Errors
    /// The reason in words.
    pub(crate) fn wipe(device: &BlockDevice, group: &str) -> Result<Wiped, String> {
        // Looked at first without claiming it: it may be somebody else's by now.
        let is_ours = |found: Option<Self>| found.is_some_and(|found| is_of_group(&found, group));
        if !is_ours(Self::read(device).map_err(|error| error.to_string())?) {
            return Ok(Wiped::Nothing);
        }
        // O_EXCL without O_CREAT on a block device: refused while a logical volume or a mount has it (open(2)).
        let open = File::options().read(true).write(true).custom_flags(libc::O_EXCL).open(&device.path);
        let file = match open {
            Ok(file) => file,
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => return Ok(Wiped::Busy),
            Err(error) => return Err(format!("it cannot be opened: {error}")),
        };
        if !is_ours(Self::read_from(&file).map_err(|error| format!("it cannot be read: {error}"))?) {
            return Ok(Wiped::Nothing);
        }
        let end = usize::try_from(device.size_bytes).unwrap_or(FIRST_EXTENT).min(FIRST_EXTENT);
        // The label goes last: by it the member is known for ours after a crash between the two.
        file.write_all_at(&vec![0; end.saturating_sub(HEAD)], HEAD as u64)
            .and_then(|()| file.sync_all())
            .and_then(|()| file.write_all_at(&[0; HEAD], 0))
            .and_then(|()| file.sync_all())
            .map_err(|error| format!("it cannot be written: {error}"))?;
        forget_cache(&file);
        Ok(Wiped::Yes)
    }
}

/// Whether a physical volume is one that a group of ours has made.
fn is_of_group(volume: &PhysicalVolume, group: &str) -> bool {
    let random = uuid_prefix(group);
    volume.uuid.strip_prefix(&random).is_some_and(|index| index.bytes().all(|byte| byte.is_ascii_digit()))
}

fn uuid_prefix(group: &str) -> String {
    let letters: Vec<char> = group.chars().filter(char::is_ascii_alphanumeric).collect();
    let digits: String = letters.iter().skip(letters.len().saturating_sub(TOKEN_DIGITS)).collect();
    format!("{PREFIX}{digits:0>TOKEN_DIGITS$}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GROUP: &str = "iostone-20261122-raid0-0123456789abcdef";

    fn labelled(uuid: &str, sector: usize) -> Vec<u8> {
        let mut head = vec![0; SCANNED];
        let label = &mut head[sector * SECTOR..];
        label[..8].copy_from_slice(b"LABELONE");
        label[20..24].copy_from_slice(&[32, 0, 0, 0]);
        label[24..32].copy_from_slice(b"LVM2 001");
        label[32..64].copy_from_slice(uuid.as_bytes());
        head
    }

    #[test]
    fn our_physical_volumes_are_known_by_the_groups_token() {
        let ours = PhysicalVolume::of_group(GROUP, 3);
        assert_eq!(ours.uuid, "iostone00123456789abcdef00000003");
        assert_eq!(ours.uuid_with_dashes(), "ioston-e001-2345-6789-abcd-ef00-000003");
        assert!(is_of_group(&ours, GROUP));
        assert!(!is_of_group(&ours, "iostone-20261122-raid0-0123456789abcdee"));
        for sector in 0..4 {
            assert_eq!(PhysicalVolume::parse(&labelled(&ours.uuid, sector)), Some(ours.clone()));
        }
        let theirs = labelled("l7vRuhZ2cQ4k0PYbQmQe8rXzW1aTn5sd", 1);
        assert!(!is_of_group(&PhysicalVolume::parse(&theirs).unwrap(), GROUP));
        assert_eq!(PhysicalVolume::parse(&[0; SCANNED]), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_stumble(bytes in proptest::collection::vec(any::<u8>(), 0..3000), offset: u32) {
            PhysicalVolume::parse(&bytes);
            let mut head = labelled(&"x".repeat(32), 1);
            head[SECTOR + 20..SECTOR + 24].copy_from_slice(&offset.to_le_bytes());
            PhysicalVolume::parse(&head);
        }
    }
}
