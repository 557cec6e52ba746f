//! Looking for signatures in what a device holds at its beginning and its end.

use std::fs::File;
use std::io;

use super::survey::read_span;
use super::table::{Place, SIGNATURES, Signature};
use crate::aligned::ALIGNMENT;
use crate::filesystem::format_uuid;

/// The furthest signature from the beginning is LUKS2's last spare header, at 4 MiB.
const HEAD_BYTES: u64 = (4 << 20) + (64 << 10);
/// The furthest from the end are ZFS labels, two of 256 KiB below a multiple of that.
const TAIL_BYTES: u64 = 1 << 20;

/// The beginning and the end of a device.
pub(super) struct Window {
    head: Vec<u8>,
    tail: Vec<u8>,
    size_bytes: u64,
}

impl Window {
    /// Reads both.
    ///
    /// # Errors
    /// That of any byte that cannot be read.
    pub(super) fn read(file: &File, size_bytes: u64) -> io::Result<Self> {
        // The tail starts at a multiple of the alignment, so it may be a little longer than asked.
        let alignment = ALIGNMENT as u64;
        let tail_start = size_bytes.saturating_sub(TAIL_BYTES) / alignment * alignment;
        Ok(Self {
            head: read_span(file, &(0..HEAD_BYTES.min(size_bytes)))?,
            tail: read_span(file, &(tail_start..size_bytes))?,
            size_bytes,
        })
    }

    /// A window on a device that lies in memory as a whole.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let within =
            |length: u64| usize::try_from(length).map_or(bytes.len(), |length| length.min(bytes.len()));
        Self {
            head: bytes[..within(HEAD_BYTES)].to_vec(),
            tail: bytes[bytes.len() - within(TAIL_BYTES)..].to_vec(),
            size_bytes: bytes.len() as u64,
        }
    }

    /// Bytes at an offset from the beginning; none where the window does not reach, or the device ends.
    pub(super) fn bytes(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let slice = |part: &'_ Vec<u8>, start: u64| {
            let start = usize::try_from(offset.checked_sub(start)?).ok()?;
            Some((start, start.checked_add(length)?)).filter(|(_, end)| *end <= part.len())
        };
        if let Some((start, end)) = slice(&self.head, 0) {
            return self.head.get(start..end);
        }
        let (start, end) = slice(&self.tail, self.size_bytes - self.tail.len() as u64)?;
        self.tail.get(start..end)
    }
}

/// A signature that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) name: &'static str,
    pub(super) is_partition_table: bool,
    label: Option<String>,
    pub(super) uuid: Option<String>,
}

impl Found {
    /// "an ext2, ext3 or ext4 filesystem, label `x`, UUID `y`".
    pub(super) fn in_words(&self) -> String {
        let label = self.label.as_ref().map(|label| format!(", label `{}`", label.escape_debug()));
        let uuid = self.uuid.as_ref().map(|uuid| format!(", UUID `{uuid}`"));
        format!("{}{}{}", self.name, label.unwrap_or_default(), uuid.unwrap_or_default())
    }
}

/// The first signature of the table that the device carries.
pub(super) fn find(window: &Window) -> Option<Found> {
    let signature = first_of(SIGNATURES, window)?;
    let (label, uuid) = names(signature, window);
    Some(Found { name: signature.name, is_partition_table: signature.is_partition_table, label, uuid })
}

/// The first of a table that the device carries.
pub(super) fn first_of(table: &'static [Signature], window: &Window) -> Option<&'static Signature> {
    table.iter().find(|signature| is_carried(signature, window))
}

fn is_carried(signature: &Signature, window: &Window) -> bool {
    offsets(signature, window.size_bytes)
        .into_iter()
        .any(|offset| signature.magics.iter().any(|magic| window.bytes(offset, magic.len()) == Some(*magic)))
}

/// The offsets from the beginning at which a signature may stand on a device of that size.
pub(super) fn offsets(signature: &Signature, size_bytes: u64) -> Vec<u64> {
    signature.places.iter().flat_map(|place| place_offsets(place, size_bytes)).collect()
}

fn place_offsets(place: &Place, size_bytes: u64) -> Vec<u64> {
    match place {
        Place::Start(offset) => vec![*offset],
        Place::SectorsFromEnd(sectors, within) => {
            let start = (size_bytes / 512).checked_sub(*sectors).map(|sector| sector * 512);
            start.map(|start| start + within).into_iter().collect()
        }
        Place::LastBlock { block, back, within } => {
            let start = (size_bytes / block * block).checked_sub(*back);
            start.map(|start| start + within).into_iter().collect()
        }
        Place::ZfsLabels { from, step, count } => {
            // Four labels of 256 KiB: two at the beginning, two below the last multiple of that (vdev_impl.h).
            const LABEL: u64 = 256 << 10;
            let end = size_bytes / LABEL * LABEL;
            [Some(0), Some(LABEL), end.checked_sub(2 * LABEL), end.checked_sub(LABEL)]
                .into_iter()
                .flatten()
                .flat_map(|label| (0..*count).map(move |index| label + from + index * step))
                .collect()
        }
    }
}

/// Label and UUID, where the table says where they stand.
fn names(signature: &Signature, window: &Window) -> (Option<String>, Option<String>) {
    let label = signature.label.and_then(|(offset, length)| {
        let bytes = window.bytes(offset, length)?;
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        let text = String::from_utf8_lossy(bytes.get(..end)?).trim().to_owned();
        (!text.is_empty()).then_some(text)
    });
    let uuid = signature.uuid.and_then(|offset| {
        let bytes: [u8; 16] = window.bytes(offset, 16)?.try_into().ok()?;
        (bytes != [0; 16]).then(|| format_uuid(bytes))
    });
    (label, uuid)
}
