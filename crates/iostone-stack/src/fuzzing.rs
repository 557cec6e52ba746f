//! Doors for the fuzz targets to the readers of bytes from outside; hidden, because nothing else should use them.

use std::path::PathBuf;

use crate::{array, filesystem, guard, journal, owner};

/// Reads an undo journal whose lines carry no seal: its steps in words, and how many of its bytes are whole lines.
///
/// # Errors
/// The reason why it is no journal that this version understands.
pub fn read_journal(bytes: &[u8]) -> Result<(Vec<String>, usize), String> {
    let content = journal::read_unsealed(bytes)?;
    Ok((content.entries.iter().map(|entry| entry.step.describe()).collect(), content.whole_bytes))
}

/// The swap areas in the text of `/proc/swaps` (`proc_swaps(5)`).
pub fn read_swaps(text: &[u8]) -> Vec<PathBuf> {
    guard::read_swaps(text)
}

/// Start time in clock ticks since boot from a line of `proc_pid_stat(5)`.
pub fn read_start_time(stat: &str) -> Option<u64> {
    owner::parse_start_time(stat)
}

/// What the guard finds on a device that holds these bytes, in words.
pub fn name_content(device: &[u8]) -> Option<String> {
    guard::name_content(device)
}

/// Every magic that the guard knows, with each offset in bytes at which it looks on a device of that size.
pub fn magic_places(size_bytes: u64) -> Vec<(u64, &'static [u8])> {
    guard::magic_places(size_bytes)
}

/// What the guard takes from the output of wipefs(8) or blkid(8).
pub fn read_foreign(text: &str) -> Vec<String> {
    guard::read_foreign(text)
}

/// The filesystems of the kinds that iostone makes on a device of these bytes: kind and UUID.
pub fn read_superblocks(device: &[u8]) -> Vec<(&'static str, String)> {
    filesystem::Superblock::all_of(device).into_iter().map(|found| (found.kind.name(), found.uuid)).collect()
}

/// The UUIDs of the arrays whose superblocks stand on a device of these bytes.
pub fn read_md_superblocks(device: &[u8]) -> Vec<String> {
    array::uuids_on(device)
}

/// The UUID of the physical volume whose label these bytes of a device's beginning hold.
pub fn read_physical_volume(head: &[u8]) -> Option<String> {
    array::PhysicalVolume::parse(head).map(|found| found.uuid)
}
