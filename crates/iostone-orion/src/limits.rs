//! The limits of control groups that this process is held to on the devices under the LUNs.

mod groups;
mod holding;

use iostone_model::figures::list;
use iostone_model::metric::Unit;
use iostone_model::orion::{KnownLimit, LimitKind};
use iostone_probe::Root;

use crate::lun::Lun;

pub use holding::{Holding, holdings};

/// Two limits within this share of each other bind together.
const TOGETHER: f64 = 0.01;

/// What limits the volume that the LUNs make, as far as control groups tell: at most one limit of each kind, the one that
/// binds first.
///
/// Looked at are `blkio.throttle.*_device` of this process's group (version 1, in which the groups above do not count:
/// Documentation/admin-guide/cgroup-v1/blkio-controller.rst) or `io.max` of it and of all groups above
/// (Documentation/admin-guide/cgroup-v2.rst), on every device that the volume's I/O passes: partitions' whole disks, what
/// is under a loop device's file, a device mapper's or md RAID 0's members.
///
/// The values are those of the whole volume. I/O spreads over the LUNs by their size, so a device that holds a quarter
/// of the volume and takes 500 writes a second lets the volume have 2,000; `on` says so then.
pub fn known_limits(luns: &[Lun]) -> Vec<KnownLimit> {
    let root = Root::live();
    limits_on(&root, &holdings(&root, luns))
}

/// The same of devices that are known already, in any tree of `/proc` and `/sys`.
pub fn limits_on(root: &Root, holdings: &[Holding]) -> Vec<KnownLimit> {
    let limits = groups::read_limits(root);
    let kinds = [LimitKind::ReadIops, LimitKind::WriteIops, LimitKind::ReadBytes, LimitKind::WriteBytes];
    kinds
        .into_iter()
        .filter_map(|kind| {
            let of_kind = |holding: &Holding| {
                let limits =
                    limits.iter().filter(|limit| limit.kind == kind && limit.device == holding.number);
                limits.min_by(|a, b| a.value.total_cmp(&b.value)).cloned()
            };
            let mut found: Vec<(f64, &Holding, groups::GroupLimit)> = holdings
                .iter()
                .filter_map(|holding| {
                    of_kind(holding).map(|limit| (limit.value / holding.share, holding, limit))
                })
                .collect();
            found.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (value, _, limit) = found.first()?;
            let binding = found.iter().take_while(|(other, ..)| *other <= value * (1.0 + TOGETHER));
            let on = name(&binding.map(|(_, holding, _)| *holding).collect::<Vec<_>>());
            Some(KnownLimit { on, kind, value: *value, from: limit.file.display().to_string() })
        })
        .collect()
}

/// What a limit lies on: "loop0", "loop0 (25.0 % of the volume)", "loop0 and loop1 together".
fn name(holdings: &[&Holding]) -> String {
    // One that holds everything is reason enough; its name alone says what it needs to.
    if let Some(whole) = holdings.iter().find(|holding| holding.is_whole()) {
        return whole.name.clone();
    }
    match holdings {
        [one] => format!("{} ({} of the volume)", one.name, Unit::Share.format(one.share)),
        several => {
            let names: Vec<&str> = several.iter().map(|holding| holding.name.as_str()).collect();
            format!("{} together", list(&names))
        }
    }
}

#[cfg(test)]
mod tests;
