//! Reading back from the kernel that limits are as asked.

use std::fs;
use std::path::Path;
use std::time::Duration;

use iostone_model::experiment::{CpuQuota, ProcessorSet};
use iostone_model::trial::Check;
use iostone_model::units::Bytes;

use super::settings::{Setting, micros};
use crate::control_groups::CgroupVersion;
use crate::error::StackError;

/// The name under which this layer's checks and errors go.
pub(super) const LAYER: &str = "limit";

/// The kernel rounds down to whole pages, which are 4 KiB to 64 KiB.
const LARGEST_PAGE: u64 = 64 << 10;

/// What was asked against what a file says.
fn compare(asked: String, read_back: String, from: &Path, is_same: bool) -> Result<Check, StackError> {
    let from = from.display().to_string();
    if !is_same {
        return Err(StackError::NotApplied { layer: LAYER, asked, read_back, from });
    }
    Ok(Check { layer: LAYER.to_owned(), asked, read_back, from })
}

fn read(file: &Path) -> Result<String, StackError> {
    let text = fs::read_to_string(file).map_err(|source| StackError::io("read", file, source))?;
    Ok(text.trim().to_owned())
}

/// The quota of a group as the kernel has it; none where it has none.
fn read_quota(group: &Path, version: CgroupVersion) -> Result<Option<CpuQuota>, StackError> {
    let (quota, period, burst) = match version {
        CgroupVersion::One => (
            read(&group.join("cpu.cfs_quota_us"))?,
            read(&group.join("cpu.cfs_period_us"))?,
            read(&group.join("cpu.cfs_burst_us")),
        ),
        CgroupVersion::Two => {
            let text = read(&group.join("cpu.max"))?;
            let (quota, period) = text.split_once(' ').unwrap_or((&text, ""));
            (quota.to_owned(), period.to_owned(), read(&group.join("cpu.max.burst")))
        }
    };
    let duration = |text: &str| text.parse().ok().map(Duration::from_micros);
    let quota = duration(&quota).zip(duration(&period));
    // Kernels before 5.14 have no burst.
    let burst = burst.ok().and_then(|text| duration(&text)).filter(|burst| !burst.is_zero());
    Ok(quota.map(|(quota, period)| CpuQuota { quota, period, burst }))
}

/// Whether a group has the quota, to the microsecond.
pub(super) fn check_quota(
    group: &Path,
    version: CgroupVersion,
    asked: CpuQuota,
) -> Result<Check, StackError> {
    let now = read_quota(group, version)?;
    let in_words = |quota: Option<CpuQuota>| {
        quota.map_or("no CPU quota".to_owned(), |quota| format!("CPU time {quota}"))
    };
    let figures = |quota: CpuQuota| [quota.quota, quota.period, quota.burst.unwrap_or_default()].map(micros);
    let file = group.join(match version {
        CgroupVersion::One => "cpu.cfs_quota_us",
        CgroupVersion::Two => "cpu.max",
    });
    let is_same = now.is_some_and(|now| figures(now) == figures(asked));
    compare(in_words(Some(asked)), in_words(now), &file, is_same)
}

/// Whether a group has the memory limit, which the kernel keeps in whole pages (`page_counter_memparse`,
/// `mm/page_counter.c`), and none in swap beside it.
pub(super) fn check_memory(
    group: &Path,
    version: CgroupVersion,
    asked: Bytes,
) -> Result<Vec<Check>, StackError> {
    let file = group.join(match version {
        CgroupVersion::One => "memory.limit_in_bytes",
        CgroupVersion::Two => "memory.max",
    });
    let now = read(&file)?;
    let bytes: Option<u64> = now.parse().ok();
    let taken = bytes.filter(|&bytes| bytes <= asked.0 && asked.0 - bytes < LARGEST_PAGE);
    let read_back = match bytes {
        Some(bytes) if taken.is_some() && bytes != asked.0 => format!("memory {}: whole pages", Bytes(bytes)),
        Some(bytes) => format!("memory {}", Bytes(bytes)),
        None => format!("memory {now}"),
    };
    let mut checks = vec![compare(format!("memory {asked}"), read_back, &file, taken.is_some())?];
    let (swap, least) = match version {
        CgroupVersion::One => ("memory.memsw.limit_in_bytes", taken.unwrap_or_default()),
        CgroupVersion::Two => ("memory.swap.max", 0),
    };
    let file = group.join(swap);
    if file.exists() {
        let now = read(&file)?;
        let asked = "no swap beside it".to_owned();
        let is_same = now.parse() == Ok(least);
        let read_back = if is_same { asked.clone() } else { format!("{swap} {now}") };
        checks.push(compare(asked, read_back, &file, is_same)?);
    }
    Ok(checks)
}

/// Whether a group has the processors, and with version 2 also whether they are in effect: it takes what the group
/// above does not have.
pub(super) fn check_processors(
    group: &Path,
    version: CgroupVersion,
    asked: &ProcessorSet,
) -> Result<Check, StackError> {
    let file = group.join(match version {
        CgroupVersion::One => "cpuset.cpus",
        CgroupVersion::Two => "cpuset.cpus.effective",
    });
    let now = read(&file)?;
    let is_same = now.parse().as_ref() == Ok(asked);
    compare(format!("processors {asked}"), format!("processors {now}"), &file, is_same)
}

/// Whether a file says just what was written.
pub(super) fn check_plain(group: &Path, setting: &Setting) -> Result<Check, StackError> {
    let file = group.join(setting.file);
    let now = read(&file)?;
    let is_same = now == setting.value;
    compare(format!("{} {}", setting.file, setting.value), format!("{} {now}", setting.file), &file, is_same)
}

#[cfg(test)]
mod tests {
    use iostone_model::units::Fraction;

    use super::*;

    fn group(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(directory.path().join(name), text).unwrap();
        }
        directory
    }

    #[test]
    fn a_quota_is_compared_to_the_microsecond() {
        let quota = CpuQuota::of_share(Fraction(0.3));
        let two = group(&[("cpu.max", "30000 100000\n"), ("cpu.max.burst", "0\n")]);
        let check = check_quota(two.path(), CgroupVersion::Two, quota).unwrap();
        assert_eq!((check.asked.as_str(), check.read_back.as_str()), ("CPU time 30%", "CPU time 30%"));
        for other in ["30001 100000\n", "max 100000\n"] {
            fs::write(two.path().join("cpu.max"), other).unwrap();
            assert!(check_quota(two.path(), CgroupVersion::Two, quota).is_err(), "{other}");
        }
        let one = group(&[("cpu.cfs_quota_us", "30000\n"), ("cpu.cfs_period_us", "100000\n")]);
        assert!(check_quota(one.path(), CgroupVersion::One, quota).is_ok());
        fs::write(one.path().join("cpu.cfs_burst_us"), "5000\n").unwrap();
        assert!(check_quota(one.path(), CgroupVersion::One, quota).is_err(), "a burst that nobody asked for");
    }

    #[test]
    fn memory_comes_in_whole_pages() {
        let bytes = (10 << 20).to_string();
        let one = group(&[("memory.limit_in_bytes", &bytes), ("memory.memsw.limit_in_bytes", &bytes)]);
        let checks = check_memory(one.path(), CgroupVersion::One, Bytes((10 << 20) + 7)).unwrap();
        assert!(checks[0].read_back.contains("whole pages"), "{checks:?}");
        assert_eq!(checks.len(), 2);
        fs::write(one.path().join("memory.memsw.limit_in_bytes"), "9223372036854771712").unwrap();
        assert!(check_memory(one.path(), CgroupVersion::One, Bytes(10 << 20)).is_err(), "swap is open");
        assert!(check_memory(one.path(), CgroupVersion::Two, Bytes(10 << 20)).is_err());
    }

    #[test]
    fn processors_are_compared_as_sets() {
        let two = group(&[("cpuset.cpus.effective", "0-2\n")]);
        let check = |text: &str| check_processors(two.path(), CgroupVersion::Two, &text.parse().unwrap());
        assert!(check("2,0,1").is_ok());
        assert!(check("0-3").is_err());
    }
}
