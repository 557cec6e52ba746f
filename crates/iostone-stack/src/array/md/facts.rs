//! What the kernel and mdadm tell of an array, held against what was asked.

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use iostone_model::experiment::{MdArray, MdLevel};
use iostone_model::trial::Check;

use super::mdadm_uuid;
use crate::device::{BlockDevice, read_attribute};
use crate::error::StackError;
use crate::tool;

const LAYER: &str = "array";

/// States of an array that takes writes (Documentation/admin-guide/md.rst, `array_state`); one that is `read-auto`
/// begins with the first of them.
const RUNNING: [&str; 5] = ["clean", "active", "active-idle", "write-pending", "read-auto"];

/// Level, chunk, count of members, version of the superblock, state, and that no resync runs: from
/// `/sys/block/NAME/md`.
///
/// # Errors
/// [`StackError::NotApplied`] for the first that is not as asked.
pub(super) fn check_sysfs(
    array: &MdArray,
    device: &BlockDevice,
    members: usize,
) -> Result<Vec<Check>, StackError> {
    let read = |name: &str| read_attribute(&device.sysfs().join("md").join(name));
    let from = |name: &str| format!("/sys/block/{}/md/{name}", device.name);
    let equal = |name: &str, asked: String| {
        let read_back = read(name)?;
        judge(asked == read_back, asked, read_back, from(name))
    };
    let mut checks =
        vec![equal("level", array.level.as_str().to_owned())?, equal("raid_disks", members.to_string())?];
    if let Some(chunk) = array.chunk {
        checks.push(equal("chunk_size", chunk.0.to_string())?);
    }
    if let Some(metadata) = array.metadata {
        checks.push(equal("metadata_version", metadata.as_str().to_owned())?);
    }
    let state = read("array_state")?;
    checks.push(judge(RUNNING.contains(&state.as_str()), "running".to_owned(), state, from("array_state"))?);
    if array.level != MdLevel::Raid0 {
        // With redundancy there is a thread that may rebuild it, and that would be measured too.
        checks.push(equal("degraded", "0".to_owned())?);
        checks.push(equal("sync_action", "idle".to_owned())?);
    }
    Ok(checks)
}

/// The UUID, as `mdadm --detail --export` tells it.
///
/// # Errors
/// [`StackError::NotApplied`] if it is not ours.
pub(super) fn check_detail(
    mdadm: &Path,
    node: &Path,
    uuid: &str,
    interrupt: Option<&AtomicBool>,
) -> Result<Check, StackError> {
    let words = ["--detail".into(), "--export".into(), "--config=none".into(), node.into()];
    let output = tool::run_successfully(mdadm, &words, interrupt)?;
    let asked = mdadm_uuid(uuid);
    let read_back = exported(&output.stdout, "MD_UUID").unwrap_or("no UUID").to_owned();
    judge(asked == read_back, asked, read_back, format!("mdadm --detail {}", node.display()))
}

/// The line by which mdadm assembles the array again: `ARRAY /dev/md127 metadata=1.2 UUID=...`.
///
/// # Errors
/// [`StackError::Tool`] when mdadm fails.
pub(super) fn assembly_line(
    mdadm: &Path,
    node: &Path,
    interrupt: Option<&AtomicBool>,
) -> Result<String, StackError> {
    let words: [OsString; 4] = ["--detail".into(), "--brief".into(), "--config=none".into(), node.into()];
    let output = tool::run_successfully(mdadm, &words, interrupt)?;
    Ok(array_line(&output.stdout))
}

/// The one `ARRAY` line; what mdadm may add about spares or devices stands on lines of its own, indented.
fn array_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A value of `KEY=VALUE` lines, as the option `--export` prints them.
fn exported<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix('='))
}

fn judge(holds: bool, asked: String, read_back: String, from: String) -> Result<Check, StackError> {
    if holds {
        return Ok(Check { layer: LAYER.to_owned(), asked, read_back, from });
    }
    Err(StackError::NotApplied { layer: LAYER, asked, read_back, from })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As mdadm 4.2 printed it in a guest.
    const EXPORT: &str = "MD_LEVEL=raid0\nMD_DEVICES=2\nMD_METADATA=1.2\n\
        MD_UUID=01234567:89abcdef:01234567:89abcdef\nMD_NAME=any:iostone-abc\nMD_DEVICE_dev_vda_ROLE=0\n\
        MD_DEVICE_dev_vda_DEV=/dev/vda\nMD_DEVICE_dev_vdb_ROLE=1\nMD_DEVICE_dev_vdb_DEV=/dev/vdb\n";

    #[test]
    fn what_mdadm_exports_is_read_by_key() {
        assert_eq!(exported(EXPORT, "MD_UUID"), Some("01234567:89abcdef:01234567:89abcdef"));
        assert_eq!(exported(EXPORT, "MD_LEVEL"), Some("raid0"));
        assert_eq!(exported(EXPORT, "MD_DEV"), None);
    }

    #[test]
    fn the_assembly_is_one_line() {
        let text = "ARRAY /dev/md127 metadata=1.2 UUID=1:2:3:4\n   devices=/dev/vda,/dev/vdb\n";
        assert_eq!(array_line(text), "ARRAY /dev/md127 metadata=1.2 UUID=1:2:3:4 devices=/dev/vda,/dev/vdb");
    }
}
