//! The quota of the governed group: what a share comes to in the kernel's files, read and written; and the group's CPU time.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iostone_model::experiment::{DEFAULT_PERIOD, LONGEST_PERIOD, SHORTEST_PERIOD};

use super::serve::processors_here;
use crate::control_groups::CgroupVersion;
use crate::error::StackError;

/// Version 1: the quota in microseconds, -1 for none (Documentation/scheduler/sched-bwc.rst).
pub(super) const CFS_QUOTA: &str = "cpu.cfs_quota_us";
const CFS_PERIOD: &str = "cpu.cfs_period_us";
/// Version 2: quota or `max`, and period, in microseconds (Documentation/admin-guide/cgroup-v2.rst).
pub(super) const CPU_MAX: &str = "cpu.max";
/// No smaller quota is taken (`min_cfs_quota_period`, kernel/sched/core.c).
const SMALLEST_QUOTA: Duration = SHORTEST_PERIOD;

/// CPU time in each period; none where the group has whatever those above it leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quota {
    pub(super) quota_us: Option<u64>,
    pub(super) period_us: u64,
}

impl Quota {
    /// A share of one processor, or none if that is as much as there is.
    pub(super) fn of_share(share: f64, period: Duration, ceiling: f64) -> Self {
        let period_us = as_us(period);
        let quota = (share < ceiling).then(|| as_us(Duration::from_secs_f64(share * period.as_secs_f64())));
        Self { quota_us: quota.map(|quota| quota.max(as_us(SMALLEST_QUOTA))), period_us }
    }

    /// The period in which a law's smallest share can be held.
    ///
    /// # Errors
    /// [`StackError::Usage`] if there is none.
    pub(super) fn check_share(share: f64) -> Result<Duration, StackError> {
        period_for(share).ok_or_else(|| {
            let percent = share * 100.0;
            let reason = format!(
                "its model throttles to {percent} % of a processor; the kernel's smallest quota is 0.1 %: 1 ms in 1 s"
            );
            StackError::setting("machine.cpu", reason)
        })
    }

    /// "3000 us in 100000 us", or "no quota".
    pub(super) fn in_words(self) -> String {
        match self.quota_us {
            Some(quota) => format!("{quota} us in {} us", self.period_us),
            None => "no quota".to_owned(),
        }
    }
}

/// The period in which every share of a law is at least the kernel's smallest quota: its default or a longer one; none if
/// the longest is too short.
fn period_for(smallest_share: f64) -> Option<Duration> {
    let least = SMALLEST_QUOTA.as_secs_f64() / smallest_share.max(1e-9);
    let period = DEFAULT_PERIOD.as_secs_f64().max((least * 1e3).ceil() / 1e3);
    (period <= LONGEST_PERIOD.as_secs_f64()).then(|| Duration::from_secs_f64(period))
}

/// The group whose quota is moved, and the one that counts.
#[derive(Debug)]
pub(super) struct GovernedGroup {
    version: CgroupVersion,
    path: PathBuf,
    /// Kept open, because it is read some hundred times a second.
    usage: File,
    usage_path: PathBuf,
}

impl GovernedGroup {
    /// # Errors
    /// [`StackError::Io`] when the group does not count.
    pub(super) fn open(version: CgroupVersion, path: &Path, usage: &Path) -> Result<Self, StackError> {
        let usage_path = usage.join(match version {
            CgroupVersion::One => "cpuacct.usage",
            CgroupVersion::Two => "cpu.stat",
        });
        let usage = File::open(&usage_path).map_err(|source| StackError::io("open", &usage_path, source))?;
        Ok(Self { version, path: path.to_owned(), usage, usage_path })
    }

    /// CPU time that its processes used since it was made.
    ///
    /// # Errors
    /// [`StackError::Io`] once the group is gone.
    pub(super) fn used(&self) -> Result<Duration, StackError> {
        let mut text = [0; 1024];
        let count = self
            .usage
            .read_at(&mut text, 0)
            .map_err(|source| StackError::io("read", &self.usage_path, source))?;
        let text = String::from_utf8_lossy(text.get(..count).unwrap_or_default());
        parse_usage(self.version, &text)
            .ok_or_else(|| StackError::unexpected(&self.usage_path, "it does not report CPU time"))
    }

    /// The least share that any group above lets through; infinite if none has a quota. Version 1 refuses a quota above
    /// that of a group above (`tg_cfs_schedulable_down`, kernel/sched/core.c), so that there it is left out.
    pub(super) fn share_above(&self) -> f64 {
        let quotas = self.path.ancestors().skip(1).map_while(|group| read_quota(self.version, group).ok());
        quotas.filter_map(share_of).fold(f64::INFINITY, f64::min)
    }

    /// What it gets without a quota of its own, in processors: of those there are, or of what the groups above let through.
    pub(super) fn ceiling(&self) -> f64 {
        self.share_above().min(f64::from(processors_here()))
    }

    /// # Errors
    /// [`StackError::Io`] when the kernel does not take it, or the group is gone.
    pub(super) fn write(&self, quota: Quota) -> Result<(), StackError> {
        write_quota(self.version, &self.path, quota)
    }

    /// Sets the period, where it stands in a file of its own; without a quota for the moment.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(super) fn write_period(&self, of: Quota) -> Result<(), StackError> {
        if self.version == CgroupVersion::Two {
            return Ok(());
        }
        // Without a quota any period is within those above.
        put(&self.path.join(CFS_QUOTA), "-1")?;
        put(&self.path.join(CFS_PERIOD), &of.period_us.to_string())
    }

    /// Takes the quota away; harmless once the group is gone.
    pub(super) fn lift(&self) {
        lift(&self.path);
    }
}

/// Takes the quota of a group away, whichever version it has. Best effort: a group that is gone holds nobody back.
pub(super) fn lift(group: &Path) {
    for (file, lifted) in [(CFS_QUOTA, "-1"), (CPU_MAX, "max")] {
        let file = group.join(file);
        if file.exists() {
            let _ = put(&file, lifted);
        }
    }
}

/// The quota of a group as the kernel has it.
///
/// # Errors
/// [`StackError::Io`] when it has none, as the root has not; [`StackError::Unexpected`] when it is no quota.
pub(super) fn read_quota(version: CgroupVersion, group: &Path) -> Result<Quota, StackError> {
    let read = |name: &str| {
        let file = group.join(name);
        let text = fs::read_to_string(&file).map_err(|source| StackError::io("read", &file, source))?;
        Ok::<_, StackError>((text, file))
    };
    let (text, file) = match version {
        CgroupVersion::One => {
            let (quota, file) = read(CFS_QUOTA)?;
            (format!("{} {}", quota.trim(), read(CFS_PERIOD)?.0), file)
        }
        CgroupVersion::Two => read(CPU_MAX)?,
    };
    parse_quota(&text).ok_or_else(|| StackError::unexpected(&file, format!("`{}` is no quota", text.trim())))
}

fn write_quota(version: CgroupVersion, group: &Path, quota: Quota) -> Result<(), StackError> {
    let figure = quota.quota_us.map(|quota| quota.to_string());
    match version {
        CgroupVersion::One => put(&group.join(CFS_QUOTA), &figure.unwrap_or_else(|| "-1".to_owned())),
        CgroupVersion::Two => {
            let figure = figure.unwrap_or_else(|| "max".to_owned());
            put(&group.join(CPU_MAX), &format!("{figure} {}", quota.period_us))
        }
    }
}

fn put(file: &Path, text: &str) -> Result<(), StackError> {
    use std::io::Write;
    let mut open = fs::OpenOptions::new()
        .write(true)
        .open(file)
        .map_err(|source| StackError::io("open", file, source))?;
    open.write_all(text.as_bytes()).map_err(|source| StackError::io("write", file, source))
}

/// `-1 100000`, `max 100000`, `3000 100000`.
fn parse_quota(text: &str) -> Option<Quota> {
    let (quota, period) = text.trim().split_once(' ')?;
    let quota_us = if matches!(quota, "-1" | "max") { None } else { Some(quota.parse().ok()?) };
    Some(Quota { quota_us, period_us: period.trim().parse().ok().filter(|period| *period > 0)? })
}

#[expect(clippy::cast_precision_loss, reason = "microseconds of seconds")]
fn share_of(quota: Quota) -> Option<f64> {
    Some(quota.quota_us? as f64 / quota.period_us as f64)
}

/// Nanoseconds of `cpuacct.usage`, or the line `usage_usec` of `cpu.stat`.
fn parse_usage(version: CgroupVersion, text: &str) -> Option<Duration> {
    match version {
        CgroupVersion::One => Some(Duration::from_nanos(text.trim().parse().ok()?)),
        CgroupVersion::Two => {
            let figure = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
            Some(Duration::from_micros(figure.trim().parse().ok()?))
        }
    }
}

fn as_us(time: Duration) -> u64 {
    // To the nearest, because a share times a period falls beside the microsecond.
    u64::try_from((time.as_nanos() + 500) / 1000).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_becomes_a_quota_and_as_much_as_there_is_becomes_none() {
        let of = |share| Quota::of_share(share, Duration::from_millis(100), 2.0).quota_us;
        assert_eq!((of(0.03), of(1.0), of(2.0), of(4.0)), (Some(3000), Some(100_000), None, None));
        assert_eq!(of(0.001), Some(1000), "the kernel takes no smaller one");
    }

    #[test]
    fn the_period_is_as_long_as_the_smallest_share_needs() {
        let ms = |share| period_for(share).map(|period| period.as_millis());
        assert_eq!((ms(0.03), ms(0.005), ms(0.001), ms(0.0009)), (Some(100), Some(200), Some(1000), None));
    }

    #[test]
    fn quotas_and_times_are_read_as_either_version_writes_them() {
        let quota = |text| parse_quota(text).map(|quota| (quota.quota_us, quota.period_us));
        assert_eq!(quota("max 100000\n"), Some((None, 100_000)));
        assert_eq!(quota("-1 50000\n"), Some((None, 50_000)));
        assert_eq!(quota("3000 100000\n"), Some((Some(3000), 100_000)));
        assert_eq!((quota(""), quota("3000"), quota("x 1"), quota("1 0")), (None, None, None, None));
        let two = "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\n";
        assert_eq!(parse_usage(CgroupVersion::Two, two), Some(Duration::from_micros(1500)));
        assert_eq!(parse_usage(CgroupVersion::One, "1500\n"), Some(Duration::from_nanos(1500)));
        assert_eq!(parse_usage(CgroupVersion::One, "\n"), None);
    }

    #[test]
    fn the_tightest_of_the_groups_above_counts() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("a/b/governed");
        fs::create_dir_all(&inner).unwrap();
        fs::write(directory.path().join("a/cpu.max"), "50000 100000\n").unwrap();
        fs::write(directory.path().join("a/b/cpu.max"), "max 100000\n").unwrap();
        fs::write(inner.join("cpu.max"), "1000 100000\n").unwrap();
        fs::write(inner.join("cpu.stat"), "usage_usec 7\n").unwrap();
        let group = GovernedGroup::open(CgroupVersion::Two, &inner, &inner).unwrap();
        assert!((group.share_above() - 0.5).abs() < 1e-12);
        assert_eq!(group.used().unwrap(), Duration::from_micros(7));
        group.lift();
        assert!(fs::read_to_string(inner.join("cpu.max")).unwrap().starts_with("max"));
        fs::remove_dir_all(&inner).unwrap();
        group.lift();
    }
}
