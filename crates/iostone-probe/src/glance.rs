//! What the machine does right now, for people who watch a run: two looks at the counters, and what lies between them.
//!
//! Nothing is recorded of it; a trial's own samples are those of [`crate::Probe`].

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use iostone_model::sample::{CpuTimes, DiskCounters};

use crate::error::ProbeError;
use crate::fields::{split_fields, split_lines};
use crate::root::Root;
use crate::signal::cpu::CpuSignal;
use crate::signal::disk::{parse_counters, subtract_counters};

/// The counters of the machine at a moment.
#[derive(Debug, Clone)]
pub struct Glance {
    at: Instant,
    cpu: CpuTimes,
    disks: BTreeMap<String, DiskCounters>,
}

/// What happened between two glances.
#[derive(Debug, Clone, PartialEq)]
pub struct Meanwhile {
    /// Seconds between them.
    pub seconds: f64,
    /// Share of all CPU time that was used.
    pub busy: f64,
    /// Share of all CPU time that was stolen; 0 also where the kernel cannot see it.
    pub steal: f64,
    /// Every whole device that did something, or has requests in flight, by name.
    pub devices: BTreeMap<String, DiskCounters>,
}

impl Glance {
    /// Looks at the machine.
    ///
    /// # Errors
    /// `/proc/stat` or `/proc/diskstats` cannot be read.
    pub fn take(root: &Root) -> Result<Self, ProbeError> {
        let path = root.join("/proc/diskstats");
        let table = fs::read(&path).map_err(|source| ProbeError::Unreadable { path, source })?;
        let disks = split_lines(&table).filter_map(|line| {
            let mut fields = split_fields(line).skip(2);
            let name = String::from_utf8_lossy(fields.next()?).into_owned();
            // A partition's I/O is its disk's as well.
            let is_whole = root.join("/sys/block").join(name.replace('/', "!")).exists();
            let (counters, _) = parse_counters(fields)?;
            is_whole.then_some((name, counters))
        });
        Ok(Self { at: Instant::now(), disks: disks.collect(), cpu: CpuSignal::open(root)?.take()? })
    }

    /// What happened since an earlier one.
    pub fn since(&self, before: &Self) -> Meanwhile {
        let cpu = |of: fn(&CpuTimes) -> u64| of(&self.cpu).saturating_sub(of(&before.cpu)) as f64;
        let (used, steal) =
            (cpu(|times| times.user_ns) + cpu(|times| times.system_ns), cpu(|times| times.steal_ns));
        let all = used + steal + cpu(|times| times.idle_ns) + cpu(|times| times.iowait_ns);
        let share = |part: f64| if all > 0.0 { part / all } else { 0.0 };
        let devices = self.disks.iter().filter_map(|(name, counters)| {
            let served = subtract_counters(before.disks.get(name)?, counters);
            let is_active = served.reads + served.writes + served.flushes + served.in_flight > 0;
            is_active.then(|| (name.clone(), served))
        });
        Meanwhile {
            seconds: self.at.duration_since(before.at).as_secs_f64(),
            busy: share(used),
            steal: share(steal),
            devices: devices.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_looks_tell_what_lies_between_them() {
        let place = tempfile::tempdir().unwrap();
        let write = |cpu: &str, disks: &str| {
            fs::create_dir_all(place.path().join("proc")).unwrap();
            fs::write(place.path().join("proc/stat"), cpu).unwrap();
            fs::write(place.path().join("proc/diskstats"), disks).unwrap();
        };
        fs::create_dir_all(place.path().join("sys/block/vda")).unwrap();
        let root = Root::at(place.path());
        write(
            "cpu  100 0 0 100 0 0 0 0\n",
            " 254 0 vda 10 0 80 5 10 0 80 5 0 10 10\n 254 1 vda1 10 0 80 5 10 0 80 5 0 10 10\n",
        );
        let before = Glance::take(&root).unwrap();
        write(
            "cpu  130 0 20 140 0 0 0 10\n",
            " 254 0 vda 30 0 240 25 10 0 80 5 4 20 30\n 254 1 vda1 30 0 240 25 10 0 80 5 4 20 30\n",
        );
        let meanwhile = Glance::take(&root).unwrap().since(&before);
        assert_eq!((meanwhile.busy, meanwhile.steal), (0.5, 0.1));
        assert_eq!(meanwhile.devices.keys().collect::<Vec<_>>(), ["vda"], "partitions are their disk's");
        let vda = &meanwhile.devices["vda"];
        assert_eq!((vda.reads, vda.read_bytes, vda.read_ms, vda.in_flight), (20, 160 * 512, 20, 4));
        let idle = Glance::take(&root).unwrap();
        assert_eq!(idle.since(&idle).devices.len(), 1, "requests in flight are something");
    }
}
