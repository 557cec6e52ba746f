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
    /// A header of another, by its name.
    Foreign(&'static str),
    /// No header: raw, or nothing.
    Plain,
}

impl Content {
    /// "qcow2", "no image format's header".
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Known(format) => format!("the header of {}", format.name()),
            Self::Foreign(name) => format!("the header of {name}"),
            Self::Plain => "no image format's header".to_owned(),
        }
    }
}

/// Headers of formats that are not turned from or into. A LUKS volume is a disk's content as any other.
const FOREIGN: &[(u64, &[u8], &str)] = &[
    (0, b"QED\0", "qed"),
    (0, b"COWD", "vmdk 3"),
    (0x40, &[0x7f, 0x10, 0xda, 0xbe], "vdi"),
    (0, b"WithoutFreeSpace", "parallels"),
    (0, b"WithouFreSpacExt", "parallels"),
];

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
                Content::Foreign("qcow, version 1")
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
        let foreign = FOREIGN.iter().find(|(offset, magic, _)| at(*offset, magic));
        foreign.map_or(Content::Plain, |(_, _, name)| Content::Foreign(name))
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
        assert_eq!(content(b"QFI\xfb\0\0\0\x01", b""), Content::Foreign("qcow, version 1"));
        assert_eq!(content(b"KDMV\x01\0\0\0", b""), Content::Known(ImageFormat::Vmdk));
        assert_eq!(content(b"# x\n\nversion=1\nCID=1\n", b""), Content::Known(ImageFormat::Vmdk));
        assert_eq!(content(b"vhdxfile", b""), Content::Known(ImageFormat::Vhdx));
        assert_eq!(content(b"\0\0\0\0", b"conectix\0\0"), Content::Known(ImageFormat::Vhd));
        assert_eq!(content(b"QED\0", b""), Content::Foreign("qed"));
        assert_eq!(content(b"", b""), Content::Plain);
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
