//! The groups above ours: what they allow is the most that a limit can give.

use std::fs;
use std::path::{Path, PathBuf};

use iostone_model::experiment::{CpuQuota, ProcessorSet};
use iostone_model::units::{Bytes, Fraction};

use super::LimitRequest;
use super::arrangement::Arrangement;
use crate::control_groups::{CgroupVersion, Controller};
use crate::error::StackError;

/// Shares nearer than this are the same: the kernel compares them in 2^20ths (`BW_SHIFT`, kernel/sched/sched.h).
const SAME_SHARE: f64 = 1e-6;

/// The CPU quota of a group as a share of one processor; none where it has none.
pub(super) fn quota_of(group: &Path, version: CgroupVersion) -> Option<f64> {
    let read = |file: &str| fs::read_to_string(group.join(file)).ok();
    let figure = |text: &str| text.trim().parse::<f64>().ok().filter(|&figure| figure > 0.0);
    match version {
        CgroupVersion::One => {
            Some(figure(&read("cpu.cfs_quota_us")?)? / figure(&read("cpu.cfs_period_us")?)?)
        }
        CgroupVersion::Two => {
            let text = read("cpu.max")?;
            let (quota, period) = text.trim().split_once(' ')?;
            Some(figure(quota)? / figure(period)?)
        }
    }
}

/// The memory limit of a group in bytes; none where it has none, which version 1 writes as the largest number of pages.
pub(super) fn memory_of(group: &Path, version: CgroupVersion) -> Option<u64> {
    let file = match version {
        CgroupVersion::One => "memory.limit_in_bytes",
        CgroupVersion::Two => "memory.max",
    };
    let bytes = fs::read_to_string(group.join(file)).ok()?.trim().parse().ok()?;
    (bytes < 1 << 62).then_some(bytes)
}

/// The processors that a group may hand on.
pub(super) fn processors_of(group: &Path, version: CgroupVersion) -> Option<ProcessorSet> {
    let read = |file: &str| fs::read_to_string(group.join(file)).ok();
    let text = match version {
        CgroupVersion::One => read("cpuset.effective_cpus").or_else(|| read("cpuset.cpus")),
        CgroupVersion::Two => read("cpuset.cpus.effective"),
    };
    text?.parse().ok().filter(|set: &ProcessorSet| !set.0.is_empty())
}

/// The smallest figure among the groups of a line, with the group that has it.
pub(super) fn least<T: PartialOrd>(
    line: &[PathBuf],
    version: CgroupVersion,
    figure: impl Fn(&Path, CgroupVersion) -> Option<T>,
) -> Option<(&Path, T)> {
    let figures = line.iter().filter_map(|group| Some((group.as_path(), figure(group, version)?)));
    figures.reduce(|one, other| if other.1 < one.1 { other } else { one })
}

/// The group above with the smallest CPU quota, whose `cpu.stat` tells how long it held back all that is in it.
pub(super) fn with_quota(arrangement: &Arrangement) -> Option<PathBuf> {
    let group = arrangement.with(Controller::Cpu)?;
    least(&group.place.line, group.place.version, quota_of).map(|(above, _)| above.to_owned())
}

/// Whether the groups above allow what is asked. Version 1 refuses a quota above theirs; whatever else is above theirs
/// is taken and does not hold. Gives notes on what holds beside the limit.
///
/// # Errors
/// [`StackError::Usage`] naming the group and what it has.
pub(super) fn check(asked: &LimitRequest, arrangement: &Arrangement) -> Result<Vec<String>, StackError> {
    let mut notes = Vec::new();
    if let Some(group) = arrangement.with(Controller::Cpu)
        && let Some((above, share)) = least(&group.place.line, group.place.version, quota_of)
    {
        check_quota(asked.limit.cpu.quota(), above, share)?;
        notes.push(format!("within {} of a processor, which `{}` has", Fraction(share), above.display()));
    }
    if let Some(memory) = asked.limit.memory
        && let Some(group) = arrangement.with(Controller::Memory)
        && let Some((above, bytes)) = least(&group.place.line, group.place.version, memory_of)
        && memory.0 > bytes
    {
        let reason = format!(
            "{memory} is more than the {} of `{}`, a cgroup of this process; ask for no more than that",
            Bytes(bytes),
            above.display()
        );
        return Err(StackError::usage("limit.memory", reason));
    }
    if let Some(processors) = asked.limit.processors()
        && let Some(group) = arrangement.with(Controller::Cpuset)
        && let Some(there) = processors_of(&group.place.parent, group.place.version)
        && let Some(other) = processors.0.difference(&there.0).next()
    {
        let reason = format!(
            "processor {other} is not among `{there}`, the processors of `{}`",
            group.place.parent.display()
        );
        return Err(StackError::usage("limit.cpuset", reason));
    }
    Ok(notes)
}

fn check_quota(quota: Option<CpuQuota>, above: &Path, share: f64) -> Result<(), StackError> {
    let Some(quota) = quota.filter(|quota| quota.share() > share * (1.0 + SAME_SHARE)) else { return Ok(()) };
    Err(StackError::usage(
        "limit.cpu",
        format!(
            "{quota} is more than the {} of a processor of `{}`, a cgroup of this process; ask for no more than that, or \
             start iostone outside of that cgroup",
            Fraction(share),
            above.display()
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_quota_of_the_groups_above_is_found_in_either_version() {
        let directory = tempfile::tempdir().unwrap();
        let (outer, inner) = (directory.path().join("a"), directory.path().join("a/b"));
        fs::create_dir_all(&inner).unwrap();
        for (group, quota, max) in [(&outer, "50000", "20000 100000"), (&inner, "-1", "max 100000")] {
            fs::write(group.join("cpu.cfs_quota_us"), quota).unwrap();
            fs::write(group.join("cpu.cfs_period_us"), "100000\n").unwrap();
            fs::write(group.join("cpu.max"), max).unwrap();
        }
        let line = [inner, outer.clone()];
        assert_eq!(least(&line, CgroupVersion::One, quota_of), Some((outer.as_path(), 0.5)));
        assert_eq!(least(&line, CgroupVersion::Two, quota_of), Some((outer.as_path(), 0.2)));
        assert_eq!(least(&line[..1], CgroupVersion::Two, quota_of), None);
        let half = CpuQuota::of_share(Fraction(0.5));
        assert!(check_quota(Some(half), &outer, 0.5).is_ok());
        let error = check_quota(Some(half), &outer, 0.2).unwrap_err().to_string();
        assert!(
            error.contains("50% is more than the 20% of a processor") && error.contains("/a`"),
            "{error}"
        );
    }

    #[test]
    fn a_limit_that_is_none_is_known_for_one() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("memory.limit_in_bytes"), "9223372036854771712\n").unwrap();
        assert_eq!(memory_of(directory.path(), CgroupVersion::One), None);
        fs::write(directory.path().join("memory.max"), "max\n").unwrap();
        assert_eq!(memory_of(directory.path(), CgroupVersion::Two), None);
        fs::write(directory.path().join("memory.max"), "4096\n").unwrap();
        assert_eq!(memory_of(directory.path(), CgroupVersion::Two), Some(4096));
    }
}
