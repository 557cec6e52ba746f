//! Taking arrays apart: stopped, and their superblocks wiped off the members.

use std::path::{Path, PathBuf};

use crate::error::UndoFailure;

/// Stops a software RAID of ours and wipes its superblocks off its members.
pub(super) fn undo_md(
    _node: &Path,
    _uuid: &str,
    _members: &[PathBuf],
    _same_boot: bool,
) -> Result<bool, UndoFailure> {
    Ok(false)
}

/// Removes a volume group of ours and wipes its labels off its members.
pub(super) fn undo_volume_group(
    _name: &str,
    _members: &[PathBuf],
    _same_boot: bool,
) -> Result<bool, UndoFailure> {
    Ok(false)
}
