//! Formats of disk images: their names, and what a file's own bytes say of its format.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A format that images are turned from and into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageFormat {
    /// The disk's bytes and nothing else.
    Raw,
    /// QEMU's format: docs/interop/qcow2.txt of its sources.
    Qcow2,
    /// `VMware`'s: "Virtual Disk Format 5.0".
    Vmdk,
    /// Microsoft's of Virtual PC, Azure's: "Virtual Hard Disk Image Format Specification" 1.0. QEMU calls it `vpc`.
    Vhd,
    /// Hyper-V's: \[MS-VHDX\].
    Vhdx,
}

/// Bytes that are looked at: headers are at the beginning, the footer of a VHD is at the end.
const LOOKED_AT: usize = 64 << 10;
/// The footer of a VHD.
pub(super) const VHD_FOOTER: u64 = 512;

impl ImageFormat {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Raw, Self::Qcow2, Self::Vmdk, Self::Vhd, Self::Vhdx];

    /// As people say it, and as options take it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Qcow2 => "qcow2",
            Self::Vmdk => "vmdk",
            Self::Vhd => "vhd",
            Self::Vhdx => "vhdx",
        }
    }

    /// The name of QEMU's driver.
    pub(super) fn driver(self) -> &'static str {
        match self {
            Self::Vhd => "vpc",
            other => other.name(),
        }
    }

    /// The format of that name, QEMU's own names too.
    pub fn of_name(name: &str) -> Option<Self> {
        let lower = name.to_ascii_lowercase();
        Self::ALL.into_iter().find(|format| format.name() == lower || format.driver() == lower)
    }

    /// What the end of a file's name says; none where it says nothing.
    pub fn of_file_name(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "img" | "dd" => Some(Self::Raw),
            "qcow" => None,
            other => Self::of_name(other),
        }
    }

    /// The subformats that make one file, QEMU's default first; none where the format has no choice.
    pub fn subformats(self) -> &'static [&'static str] {
        match self {
            Self::Raw | Self::Qcow2 => &[],
            Self::Vmdk => &["monolithicSparse", "streamOptimized"],
            Self::Vhd | Self::Vhdx => &["dynamic", "fixed"],
        }
    }

    /// The largest disk that it holds, in bytes, where that is less than files can be. VHD: 2040 GiB, of its
    /// specification; VHDX: 64 TiB, \[MS-VHDX\] 2.2.
    pub(super) fn most_bytes(self) -> Option<u64> {
        match self {
            Self::Vhd => Some(2040 << 30),
            Self::Vhdx => Some(64 << 40),
            _ => None,
        }
    }
}

/// What a file's bytes look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// A header of this format.
    Known(ImageFormat),
    /// A header of another.
    Foreign(&'static Foreign),
    /// No header: raw, or nothing.
    Plain,
}

impl Content {
    /// "qcow2", "no image format's header".
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Known(format) => format!("the header of {}", format.name()),
            Self::Foreign(other) => format!("the header of {}", other.name),
            Self::Plain => "no image format's header".to_owned(),
        }
    }
}

/// What is not turned from or into: other formats of images, and what images are packed in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Foreign {
    offset: u64,
    magic: &'static [u8],
    pub(super) name: &'static str,
    /// What makes something of it that is read here.
    pub(super) next: &'static str,
}

impl Foreign {
    const fn image(offset: u64, magic: &'static [u8], name: &'static str) -> Self {
        Self { offset, magic, name, next: "convert it to qcow2 with `qemu-img convert`" }
    }

    const fn packed(offset: u64, magic: &'static [u8], name: &'static str, next: &'static str) -> Self {
        Self { offset, magic, name, next }
    }
}

/// Of version 1, which has another header than its successor.
static QCOW_1: Foreign = Foreign::image(0, b"QFI\xfb", "qcow, version 1");

/// A LUKS volume is a disk's content as any other, and so is an ISO 9660.
static FOREIGN: &[Foreign] = &[
    Foreign::image(0, b"QED\0", "qed"),
    Foreign::image(0, b"COWD", "vmdk 3"),
    Foreign::image(0x40, &[0x7f, 0x10, 0xda, 0xbe], "vdi"),
    Foreign::image(0, b"WithoutFreeSpace", "parallels"),
    Foreign::image(0, b"WithouFreSpacExt", "parallels"),
    // An OVA is a tar (DMTF DSP0243); `ustar` stands in the header of its first file (POSIX, pax).
    Foreign::packed(
        257,
        b"ustar",
        "tar",
        "extract the disks with `tar --extract` (those of an OVA are vmdk)",
    ),
    Foreign::packed(0, &[0x1f, 0x8b, 8], "gzip", "unpack it with `gunzip`"),
    Foreign::packed(0, b"\xfd7zXZ\0", "xz", "unpack it with `unxz`"),
    Foreign::packed(0, &[0x28, 0xb5, 0x2f, 0xfd], "zstd", "unpack it with `unzstd`"),
    Foreign::packed(4, b"1AY&SY", "bzip2", "unpack it with `bunzip2`"),
    Foreign::packed(0, b"PK\x03\x04", "zip", "unpack it with `unzip`"),
    Foreign::packed(0, b"7z\xbc\xaf\x27\x1c", "7z", "unpack it with `7z x`"),
];

/// What stands at the end of an Apple disk image, which has nothing at its beginning.
static DMG: Foreign = Foreign::image(0, b"koly", "dmg");

/// The beginning and the end of an image's file, read once.
pub(super) struct Header {
    pub(super) head: Vec<u8>,
    /// The last 512 bytes; empty in a shorter file.
    pub(super) tail: Vec<u8>,
    pub(super) size_bytes: u64,
}

impl Header {
    /// Reads them.
    ///
    /// # Errors
    /// Bytes that cannot be read.
    pub(super) fn read(file: &File) -> io::Result<Self> {
        let size_bytes = file.metadata()?.len();
        let part = |offset: u64, most: usize| -> io::Result<Vec<u8>> {
            let mut bytes = vec![0; most];
            let mut filled = 0;
            while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
                match file.read_at(rest, offset + filled as u64)? {
                    0 => break,
                    count => filled += count,
                }
            }
            bytes.truncate(filled);
            Ok(bytes)
        };
        let tail = match size_bytes.checked_sub(VHD_FOOTER) {
            Some(start) => part(start, 512)?,
            None => Vec::new(),
        };
        Ok(Self { head: part(0, LOOKED_AT)?, tail, size_bytes })
    }

    /// What it looks like.
    pub(super) fn content(&self) -> Content {
        let at = |offset: u64, magic: &[u8]| {
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            self.head.get(start..start.saturating_add(magic.len())) == Some(magic)
        };
        if at(0, b"QFI\xfb") {
            return if self.u32_at(4).is_some_and(|version| version >= 2) {
                Content::Known(ImageFormat::Qcow2)
            } else {
                Content::Foreign(&QCOW_1)
            };
        }
        if at(0, b"KDMV") || is_descriptor(&self.head) {
            return Content::Known(ImageFormat::Vmdk);
        }
        if at(0, b"vhdxfile") {
            return Content::Known(ImageFormat::Vhdx);
        }
        if at(0, b"conectix") || self.tail.starts_with(b"conectix") {
            return Content::Known(ImageFormat::Vhd);
        }
        if self.tail.starts_with(DMG.magic) {
            return Content::Foreign(&DMG);
        }
        let foreign = FOREIGN.iter().find(|other| at(other.offset, other.magic));
        foreign.map_or(Content::Plain, Content::Foreign)
    }

    /// The footer of a VHD, which a dynamic disk repeats at its beginning.
    fn vhd_footer(&self) -> &[u8] {
        if self.head.starts_with(b"conectix") { &self.head } else { &self.tail }
    }

    /// The type of disk that the footer of a VHD states: 2 fixed, 3 dynamic, 4 differences to another.
    pub(super) fn vhd_kind(&self) -> Option<u32> {
        let bytes = self.vhd_footer().get(60..64)?;
        bytes.try_into().ok().map(u32::from_be_bytes)
    }

    /// Bytes of the disk as the footer of a VHD states them ("Current Size", offset 48). Its cylinders, heads and
    /// sectors may come to less: whole cylinders only.
    pub(super) fn vhd_current_bytes(&self) -> Option<u64> {
        let bytes = self.vhd_footer().get(48..56)?;
        bytes.try_into().ok().map(u64::from_be_bytes)
    }

    /// Bytes before the footer of a fixed VHD: the disk itself.
    pub(super) fn vhd_fixed_bytes(&self) -> Option<u64> {
        if self.head.starts_with(b"conectix") { None } else { self.size_bytes.checked_sub(VHD_FOOTER) }
    }

    /// Internal snapshots of a qcow2 (`nb_snapshots`, docs/interop/qcow2.txt).
    pub(super) fn qcow2_snapshots(&self) -> u32 {
        self.u32_at(60).unwrap_or(0)
    }

    /// A big-endian number at an offset of the beginning.
    pub(super) fn u32_at(&self, offset: usize) -> Option<u32> {
        self.head.get(offset..offset + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes)
    }

    /// A big-endian number at an offset of the beginning.
    pub(super) fn u64_at(&self, offset: usize) -> Option<u64> {
        self.head.get(offset..offset + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes)
    }

    /// A little-endian number at an offset of the beginning.
    pub(super) fn u64_le_at(&self, offset: usize) -> Option<u64> {
        self.head.get(offset..offset + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes)
    }
}

/// Whether a file is the text of a `VMware` disk, as QEMU takes one: comments and empty lines may stand before its version.
fn is_descriptor(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head.get(..head.len().min(4096)).unwrap_or_default());
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    first.is_some_and(|line| line.starts_with("version=")) || text.starts_with("# Disk DescriptorFile")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(head: &[u8], tail: &[u8]) -> Content {
        Header { head: head.to_vec(), tail: tail.to_vec(), size_bytes: 1 << 20 }.content()
    }

    #[test]
    fn headers_are_told_by_their_bytes() {
        assert_eq!(content(b"QFI\xfb\0\0\0\x03", b""), Content::Known(ImageFormat::Qcow2));
        assert_eq!(content(b"QFI\xfb\0\0\0\x01", b""), Content::Foreign(&QCOW_1));
        assert_eq!(content(b"KDMV\x01\0\0\0", b""), Content::Known(ImageFormat::Vmdk));
        assert_eq!(content(b"# x\n\nversion=1\nCID=1\n", b""), Content::Known(ImageFormat::Vmdk));
        assert_eq!(content(b"vhdxfile", b""), Content::Known(ImageFormat::Vhdx));
        assert_eq!(content(b"\0\0\0\0", b"conectix\0\0"), Content::Known(ImageFormat::Vhd));
        assert_eq!(content(b"", b""), Content::Plain);
    }

    #[test]
    fn what_is_packed_is_no_raw_disk() {
        let name = |head: &[u8], tail: &[u8]| match content(head, tail) {
            Content::Foreign(other) => other.name,
            other => panic!("{other:?}"),
        };
        assert_eq!(name(b"QED\0", b""), "qed");
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        assert_eq!(name(&tar, b""), "tar");
        assert_eq!(name(b"\x1f\x8b\x08\0", b""), "gzip");
        assert_eq!(name(b"\xfd7zXZ\0\0", b""), "xz");
        assert_eq!(name(b"\x28\xb5\x2f\xfd", b""), "zstd");
        assert_eq!(name(b"BZh91AY&SY", b""), "bzip2");
        assert_eq!(name(b"PK\x03\x04", b""), "zip");
        assert_eq!(name(b"\0\0", b"koly\0\0\0\x04"), "dmg");
    }

    #[test]
    fn names_say_formats_and_qemus_names_are_known() {
        let of = |name: &str| ImageFormat::of_file_name(Path::new(name));
        assert_eq!(of("disk.IMG"), Some(ImageFormat::Raw));
        assert_eq!(of("disk.vpc"), Some(ImageFormat::Vhd));
        assert_eq!(of("disk.2015"), None);
        assert_eq!(of("disk"), None);
        assert_eq!(ImageFormat::of_name("VHDX"), Some(ImageFormat::Vhdx));
    }
}
