//! What a plan must know of files and devices, and which of them a job uses.

use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;

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
        let size = std::fs::File::open(path).and_then(|mut device| device.seek(SeekFrom::End(0)));
        size.map_or(Look::Missing, Look::Device)
    }
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
