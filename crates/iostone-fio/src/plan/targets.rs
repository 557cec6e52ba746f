//! What a plan must know of files and devices, and which of them a job uses.

use std::os::unix::fs::{FileTypeExt, MetadataExt};

use crate::job_file::Section;
use crate::world::OnDisk;

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Nothing, or nothing that can be looked at.
    Missing,
    /// A regular file of this many bytes.
    File(u64),
    /// A block device of this many bytes.
    Device(u64),
    /// A character device, a pipe, a directory.
    Other,
}

/// Looks at files and devices.
pub trait Targets {
    /// What is at a path.
    fn look(&self, path: &str) -> Look;
}

impl Targets for OnDisk {
    fn look(&self, path: &str) -> Look {
        let Ok(metadata) = std::fs::metadata(path) else { return Look::Missing };
        let kind = metadata.file_type();
        if kind.is_file() {
            return Look::File(metadata.len());
        }
        if !kind.is_block_device() {
            return Look::Other;
        }
        read_device_size(metadata.rdev()).map_or(Look::Missing, Look::Device)
    }
}

/// The size of a block device from sysfs, in sectors of 512 bytes (Documentation/ABI/stable/sysfs-block): known without
/// opening the device, which may need leave that is not needed to know that it must not be touched.
fn read_device_size(number: u64) -> Option<u64> {
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let sectors = std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/size")).ok()?;
    sectors.trim().parse::<u64>().ok()?.checked_mul(512)
}

/// The paths of one clone's files, as fio names them.
pub(super) fn paths(section: &Section, clone: u32, targets: &dyn Targets) -> Vec<String> {
    let options = &section.options;
    if !options.filename.is_empty() {
        return options.filename.iter().map(crate::values::FileName::path).collect();
    }
    let files = options.nrfiles.unwrap_or(1);
    // A job called after a device means that device.
    if files == 1 && matches!(targets.look(&section.name), Look::Device(_) | Look::Other) {
        return vec![section.name.clone()];
    }
    let directories = options.directory.as_deref().unwrap_or_default();
    let directory = directories.get(clone as usize % directories.len().max(1));
    let format = options.filename_format.clone().unwrap_or_default();
    (0..files)
        .map(|number| {
            let name = format.name(&section.name, clone, number);
            match directory {
                Some(directory) => format!("{directory}/{name}"),
                None => name,
            }
        })
        .collect()
}
