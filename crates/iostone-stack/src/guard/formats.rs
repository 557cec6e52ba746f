//! Formats of data that no tool calls a signature: caches, disk images, databases, archives. They give a refusal its name.
//!
//! A device that holds anything at all is refused, known format or not; nothing here decides.

use super::signatures::{Window, first_of};
use super::table::Place::{LastBlock, Start};
use super::table::{Signature, content};

/// Magic numbers of device mapper's metadata, little-endian behind checksum, flags, block number and UUID
/// (drivers/md/dm-thin-metadata.c, dm-cache-metadata.c, dm-era-target.c, dm-clone-metadata.c, dm-writecache.c; the cache's is
/// octal there).
const THIN: [u8; 8] = 27_022_010u64.to_le_bytes();
const CACHE: [u8; 8] = 0o6_142_003u64.to_le_bytes();
const ERA: [u8; 8] = 2_126_579_579u64.to_le_bytes();
const CLONE: [u8; 8] = 0x8af2_7f64u64.to_le_bytes();
const WRITECACHE: [u8; 4] = 0x2348_9321u32.to_le_bytes();

/// What a device may hold without being a filesystem.
pub(super) const FORMATS: &[Signature] = &[
    content("metadata of a thin pool (device mapper)", &[&THIN], &[Start(32)]),
    content("metadata of a cache (device mapper)", &[&CACHE], &[Start(32)]),
    content("metadata of an era device (device mapper)", &[&ERA], &[Start(32)]),
    content("metadata of a clone device (device mapper)", &[&CLONE], &[Start(32)]),
    content("a writecache (device mapper)", &[&WRITECACHE], &[Start(0)]),
    // `FMTT_MAGIC` behind a checksum, in the first metadata area (lib/format_text/layout.h).
    content("metadata of LVM2 without its label", &[b" LVM2 x[5A%r0N*>"], &[Start(4096 + 4)]),
    content("a qcow2 disk image", &[b"QFI\xfb"], &[Start(0)]),
    content("a VMDK disk image", &[b"KDMV", b"COWD", b"# Disk DescriptorFile"], &[Start(0)]),
    content("a VHDX disk image", &[b"vhdxfile"], &[Start(0)]),
    content("a VHD disk image", &[b"conectix"], &[Start(0), LastBlock { block: 512, back: 512, within: 0 }]),
    content("a VDI disk image", &[b"\x7f\x10\xda\xbe"], &[Start(0x40)]),
    content("a tar archive", &[b"ustar"], &[Start(257)]),
    content("an Oracle data file", &[b"}|{z", b"z{|}"], &[Start(28)]),
    content("an SQLite database", &[b"SQLite format 3\0"], &[Start(0)]),
    content("a zstd archive", &[b"\x28\xb5\x2f\xfd"], &[Start(0)]),
    content("an xz archive", &[b"\xfd7zXZ\0"], &[Start(0)]),
    content("a gzip archive", &[b"\x1f\x8b\x08"], &[Start(0)]),
];

/// What the edges of a device are known for, if for anything.
pub(super) fn name(window: &Window) -> Option<&'static str> {
    let found = first_of(FORMATS, window).map(|signature| signature.name);
    found.or_else(|| is_innodb(window).then_some("an InnoDB data file"))
}

/// The first page of a tablespace: page number 0 at byte 4, `FIL_PAGE_TYPE_FSP_HDR` (8) at byte 24, and the number of the space
/// both in the page's head and in the space's (`fil0fil.h` and `fsp0fsp.h` of `InnoDB`; all big-endian).
fn is_innodb(window: &Window) -> bool {
    let field = |offset, length| window.bytes(offset, length).unwrap_or_default();
    field(4, 4) == [0; 4] && field(24, 2) == [0, 8] && field(34, 4) == field(38, 4) && field(0, 4) != [0; 4]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_is_named_at_each_of_its_places() {
        let mut bytes = vec![0; 1 << 20];
        assert_eq!(name(&Window::of(&bytes)), None);
        for signature in FORMATS {
            for offset in crate::guard::signatures::offsets(signature, 1 << 20) {
                for magic in signature.magics {
                    let start = usize::try_from(offset).unwrap();
                    bytes[start..start + magic.len()].copy_from_slice(magic);
                    assert_eq!(name(&Window::of(&bytes)), Some(signature.name));
                    bytes[start..start + magic.len()].fill(0);
                }
            }
        }
        bytes[..4].copy_from_slice(&[1, 2, 3, 4]);
        bytes[25] = 8;
        (bytes[37], bytes[41]) = (7, 7);
        assert_eq!(name(&Window::of(&bytes)), Some("an InnoDB data file"));
    }
}
