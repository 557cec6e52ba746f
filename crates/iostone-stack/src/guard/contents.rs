//! What a device holds: whether it is empty, and if not, what of, so that a refusal can name it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::Mutex;

use super::leftover::{Leftovers, Writes};
use super::signatures::{self, Window};
use super::{Objection, backups, family, foreign, formats, places, survey};
use crate::device::extent::{FileBelow, file_below};
use crate::device::opened::OpenedDevice;
use crate::device::{BlockDevice, DeviceNumber, size_in_words};
use crate::error::RefusalReason;
use crate::journal::random_bytes;

/// How closely content is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// The device has to be empty, or to hold what iostone left on it. An early look takes this process's word for it while
    /// nothing was written since.
    Whole { early: bool },
    /// For signatures alone: what else it holds was iostone's own, or may go.
    Signatures,
}

/// The objection for the sake of what is stored, if there is one.
pub(super) fn objection(
    opened: &OpenedDevice,
    look: Look,
    leftovers: &Leftovers,
    notes: &mut Vec<String>,
) -> Option<Objection> {
    let partitions = family::partitions(&opened.device);
    if !partitions.is_empty() {
        let names: Vec<String> = partitions
            .iter()
            .map(|partition| {
                format!("partition {} ({})", partition.name, size_in_words(partition.size_bytes))
            })
            .collect();
        let because = format!("it has {} partitions", partitions.len());
        return Some(content(opened, RefusalReason::Partitioned, because, names));
    }
    examine(opened, look, leftovers, notes).unwrap_or_else(|error| {
        let because = format!("it cannot be read ({error}), so it may hold data");
        Some(Objection::alive(RefusalReason::Unreadable, because, Vec::new()))
    })
}

fn examine(
    opened: &OpenedDevice,
    look: Look,
    leftovers: &Leftovers,
    notes: &mut Vec<String>,
) -> io::Result<Option<Objection>> {
    // Somebody may have written through the page cache a moment ago.
    opened.write_back()?;
    let writes = Writes::of(&opened.device);
    let early = look == Look::Whole { early: true };
    if early && writes.as_ref().is_some_and(|writes| is_known_free(&opened.device, writes)) {
        return Ok(None);
    }
    if look != Look::Signatures && leftovers.holds(opened)? {
        let node = opened.device.path.display();
        notes.push(format!("`{node}` holds what an earlier run left on it, unchanged since"));
        note_free(&opened.device, writes);
        return Ok(None);
    }
    let size_bytes = opened.device.size_bytes;
    let reader = opened.reader()?;
    let window = Window::read(&reader, size_bytes)?;
    if let Some(objection) = carried(opened, &window, notes) {
        return Ok(Some(objection));
    }
    if look == Look::Signatures {
        return Ok(None);
    }
    let Some(offset) = first_data(opened, &reader)? else {
        if let Some(name) = unproven(opened)? {
            let because = format!("its backing file `{name}` cannot be opened, so it may hold data");
            let loses = vec!["data that no sample shows".to_owned()];
            return Ok(Some(content(opened, RefusalReason::Data, because, loses)));
        }
        note_free(&opened.device, writes);
        return Ok(None);
    };
    let at = offset_in_words(offset);
    let (what, place) = match (formats::name(&window), backups::find(&reader, size_bytes)) {
        (Some(name), _) => (name, String::new()),
        (None, Some((name, offset))) => (name, format!(" at {}", offset_in_words(offset))),
        (None, None) => {
            let because = format!("it holds data of unknown format at {at}");
            let loses = vec![format!("data of unknown format, at {at} and perhaps elsewhere")];
            return Ok(Some(content(opened, RefusalReason::Data, because, loses)));
        }
    };
    let because = format!("it holds {what}{place}, and data at {at}");
    Ok(Some(content(opened, RefusalReason::Data, because, vec![format!("{what}{place}")])))
}

/// Devices that this process has found free, and what tells of a write since.
static FOUND_FREE: Mutex<BTreeMap<DeviceNumber, Writes>> = Mutex::new(BTreeMap::new());

fn is_known_free(device: &BlockDevice, writes: &Writes) -> bool {
    FOUND_FREE.lock().is_ok_and(|found| found.get(&device.number) == Some(writes))
}

fn note_free(device: &BlockDevice, writes: Option<Writes>) {
    if let (Ok(mut found), Some(writes)) = (FOUND_FREE.lock(), writes) {
        found.insert(device.number, writes);
    }
}

/// Filesystems, volume managers, arrays, encryption and partition tables, by the guard's own table and by util-linux.
fn carried(opened: &OpenedDevice, window: &Window, notes: &mut Vec<String>) -> Option<Objection> {
    let known = foreign::identify(&opened.device.path);
    if let Some(found) = signatures::find(window) {
        // Where libblkid knows the same thing, its name is the more exact one.
        let is_same = |word: &String| {
            word.contains(found.name) || found.uuid.as_ref().is_some_and(|uuid| word.contains(uuid.as_str()))
        };
        let words =
            known.found.iter().find(|word| is_same(word)).cloned().unwrap_or_else(|| found.in_words());
        let others = known.found.iter().filter(|word| !is_same(word)).cloned();
        let loses = std::iter::once(words.clone()).chain(others).collect();
        let reason =
            if found.is_partition_table { RefusalReason::Partitioned } else { RefusalReason::Signature };
        return Some(content(opened, reason, format!("it carries {words}"), loses));
    }
    if !known.found.is_empty() {
        let because = format!("it carries {} (found by {})", known.found.join(", "), known.by);
        return Some(content(opened, RefusalReason::Signature, because, known.found));
    }
    if !known.asked {
        notes.push(
            "neither `wipefs` nor `blkid` is installed for a second check; both are in util-linux".to_owned(),
        );
    }
    None
}

/// The first byte found that is not zero: in every extent of the sparse file under a loop device, which leaves nothing
/// out, and at places all over the device.
fn first_data(opened: &OpenedDevice, reader: &File) -> io::Result<Option<u64>> {
    let size_bytes = opened.device.size_bytes;
    if let Some(FileBelow::Opened(file, start)) = file_below(&opened.device).map_err(io::Error::other)? {
        let window = start..start.saturating_add(size_bytes);
        if let Some(extents) = survey::data_extents(&file, &window)?
            && let Some(offset) = survey::first_data(&file, &extents)?
        {
            return Ok(Some(offset.saturating_sub(start)));
        }
    }
    let seed = random_bytes::<8>().map_err(|error| io::Error::other(error.to_string()))?;
    survey::first_data(reader, &places::spans(size_bytes, u64::from_ne_bytes(seed)))
}

/// The file below a device, where its holes cannot be asked for and the device was not read whole.
fn unproven(opened: &OpenedDevice) -> io::Result<Option<String>> {
    let spans = places::spans(opened.device.size_bytes, 0);
    Ok(match file_below(&opened.device).map_err(io::Error::other)? {
        Some(FileBelow::Unreachable(name)) if spans.len() > 1 => Some(name),
        _ => None,
    })
}

fn content(opened: &OpenedDevice, reason: RefusalReason, because: String, loses: Vec<String>) -> Objection {
    let node = opened.device.path.display();
    // What wipefs wipes is a name; the rest of what was there stays.
    let command = match reason {
        RefusalReason::Data => format!("`blkdiscard --zeroout {node}`"),
        _ => format!("`wipefs --all {node} && blkdiscard --zeroout {node}`"),
    };
    let next = vec![format!("save what is on it, then {command}")];
    Objection { reason, because, loses, next, content_only: true }
}

/// Where on a device: "1.00 MiB", "byte 4" below a KiB.
fn offset_in_words(offset: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let unit = UNITS.iter().find(|(_, unit)| offset >= *unit);
    unit.map_or_else(
        || format!("byte {offset}"),
        |(name, unit)| format!("{}.{:02} {name}", offset / unit, offset % unit * 100 / unit),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_in_its_unit() {
        assert_eq!(offset_in_words(0), "byte 0");
        assert_eq!(offset_in_words(1023), "byte 1023");
        assert_eq!(offset_in_words(1 << 20), "1.00 MiB");
        assert_eq!(offset_in_words((1 << 20) + (1 << 19)), "1.50 MiB");
        assert_eq!(offset_in_words(u64::MAX), "16777215.99 TiB");
    }
}
