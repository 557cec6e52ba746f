//! Reads the limits of this process's control groups, version 1 or 2.

use std::path::{Path, PathBuf};

use iostone_model::orion::LimitKind;
use iostone_probe::Root;
use iostone_probe::hierarchy::{Version, find_groups};

/// A limit as a group has it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GroupLimit {
    /// `major:minor`.
    pub(super) device: String,
    pub(super) kind: LimitKind,
    /// I/Os or bytes a second.
    pub(super) value: f64,
    pub(super) file: PathBuf,
}

const VERSION_1: [(&str, LimitKind); 4] = [
    ("blkio.throttle.read_iops_device", LimitKind::ReadIops),
    ("blkio.throttle.write_iops_device", LimitKind::WriteIops),
    ("blkio.throttle.read_bps_device", LimitKind::ReadBytes),
    ("blkio.throttle.write_bps_device", LimitKind::WriteBytes),
];

const VERSION_2: [(&str, LimitKind); 4] = [
    ("riops", LimitKind::ReadIops),
    ("wiops", LimitKind::WriteIops),
    ("rbps", LimitKind::ReadBytes),
    ("wbps", LimitKind::WriteBytes),
];

/// All limits that hold for this process; empty where there are none, or no such controller.
pub(super) fn read_limits(root: &Root) -> Vec<GroupLimit> {
    let Some(groups) = find_groups(root, "blkio") else { return Vec::new() };
    match groups.version {
        // Without hierarchy: the groups above have limits of their own, for what is in them alone.
        Version::One => groups.directories.first().map(|own| read_version_1(root, own)).unwrap_or_default(),
        Version::Two => groups.directories.iter().flat_map(|group| read_version_2(root, group)).collect(),
    }
}

fn read_version_1(root: &Root, group: &Path) -> Vec<GroupLimit> {
    let mut limits = Vec::new();
    for (name, kind) in VERSION_1 {
        let file = group.join(name);
        for line in root.text(&file).unwrap_or_default().lines() {
            if let Some((device, value)) = line.trim().split_once(' ')
                && let Some(value) = parse_rate(value)
            {
                limits.push(GroupLimit { device: device.to_owned(), kind, value, file: file.clone() });
            }
        }
    }
    limits
}

fn read_version_2(root: &Root, group: &Path) -> Vec<GroupLimit> {
    let file = group.join("io.max");
    let mut limits = Vec::new();
    for line in root.text(&file).unwrap_or_default().lines() {
        let mut fields = line.split_whitespace();
        let Some(device) = fields.next() else { continue };
        for (key, value) in fields.filter_map(|field| field.split_once('=')) {
            let kind = VERSION_2.iter().find(|(name, _)| *name == key).map(|(_, kind)| *kind);
            if let (Some(kind), Some(value)) = (kind, parse_rate(value)) {
                limits.push(GroupLimit { device: device.to_owned(), kind, value, file: file.clone() });
            }
        }
    }
    limits
}

/// A figure above zero; none for `max`.
fn parse_rate(text: &str) -> Option<f64> {
    text.trim().parse::<u64>().ok().filter(|rate| *rate > 0).map(|rate| rate as f64)
}
