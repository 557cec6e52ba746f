//! Reads that a loop device served out of the memory of its host: the disk below it, which holds its file, hardly saw them.

use iostone_model::experiment::{BackingIo, Configuration, Volume};
use iostone_model::run::{BlockRecord, Plan};
use iostone_model::trial::TrialRecord;
use iostone_model::units::Bytes;
use iostone_model::verdict::Flag;

use super::evidence::counted;

/// A smaller share of the reads is what a request under way or other programs on the disk can explain, and a smaller share of
/// all bytes is a filesystem's metadata beside writes.
const WORTH_SAYING: f64 = 0.10;
/// Less a trial than this says nothing: mounting alone reads some.
const LEAST_READ_BYTES: f64 = 1_048_576.0;

/// So many comparisons are named.
const NAMED: usize = 3;

/// What the devices of a configuration read in the trials that count.
struct Reads<'a> {
    configuration: &'a str,
    device: String,
    below: String,
    /// By the volume, and by the disks that hold its file.
    volume_bytes: u64,
    below_bytes: u64,
}

impl Reads<'_> {
    /// The share of what the volume read that no disk served. Reading ahead, a disk may serve more.
    fn cached_share(&self) -> f64 {
        let missing = self.volume_bytes.saturating_sub(self.below_bytes);
        missing as f64 / self.volume_bytes.max(1) as f64
    }
}

/// `cached-below`: one flag, where under some configuration reads matter and the volume's file answered them from memory.
///
/// Only reads are judged. Writes that a loop device keeps in memory reach the disk with the flush that asks for it, and what
/// nobody flushed is allowed to wait.
pub(super) fn flag(plan: &Plan, trials: &[TrialRecord], blocks: &[BlockRecord]) -> Option<Flag> {
    let configurations = &plan.experiment.configurations;
    let all: Vec<Reads<'_>> =
        configurations.iter().filter_map(|configuration| reads(configuration, trials, blocks)).collect();
    let most = all.iter().max_by(|left, right| left.cached_share().total_cmp(&right.cached_share()))?;
    let share = most.cached_share();
    if share <= WORTH_SAYING {
        return None;
    }
    let elsewhere = match all.iter().filter(|one| one.cached_share() > WORTH_SAYING).count() {
        0 | 1 => String::new(),
        2 => ", and likewise under one configuration more".to_owned(),
        several => format!(", and likewise under {} configurations more", several - 1),
    };
    let unlike = unlike(plan, &all);
    let meaning = if unlike.is_empty() {
        "alike on both sides of every comparison, so that it is no difference between them, but no figure of reading is the disk's"
            .to_owned()
    } else {
        let rest = match unlike.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let named: Vec<String> = unlike.into_iter().take(NAMED).collect();
        format!("{}{rest}: the ratio between them holds that difference too", named.join(", "))
    };
    Some(Flag::new(
        "cached-below",
        format!(
            "under {} {} read {} but {} below it served {}: {} of the reads came out of the volume's own file in the host's \
             memory{elsewhere}; {meaning}; `backing_io = \"direct\"` asks the disk",
            most.configuration,
            most.device,
            Bytes(most.volume_bytes).approximate(),
            most.below,
            Bytes(most.below_bytes).approximate(),
            percent(share)
        ),
    ))
}

/// The comparisons whose sides read from memory to different shares, in words. Where reads do not matter there is none.
fn unlike(plan: &Plan, all: &[Reads<'_>]) -> Vec<String> {
    let configurations = &plan.experiment.configurations;
    let told = |place: usize| {
        let name = configurations.get(place)?.name.as_str();
        let own = all.iter().find(|one| one.configuration == name);
        Some((name, own.map_or(0.0, Reads::cached_share)))
    };
    let pairs: Vec<(usize, usize)> = if plan.experiment.sweep().is_some() {
        (1..configurations.len()).map(|place| (place, 0)).collect()
    } else {
        plan.comparisons().into_iter().map(|pair| (pair.configuration, pair.baseline)).collect()
    };
    let both = pairs.into_iter().filter_map(|(one, other)| Some((told(one)?, told(other)?)));
    both.filter(|((_, own), (_, other))| (own - other).abs() > WORTH_SAYING)
        .map(|((name, own), (against, other))| {
            format!("{} under {name} against {} under {against}", percent(own), percent(other))
        })
        .collect()
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// None where memory does not stand between, reads do not matter, or nobody watched a disk below.
fn reads<'a>(
    configuration: &'a Configuration,
    trials: &[TrialRecord],
    blocks: &[BlockRecord],
) -> Option<Reads<'a>> {
    let Volume::Loop(volume) = &configuration.stack.volume else { return None };
    if volume.effective_backing_io() == BackingIo::Direct {
        return None;
    }
    let mut found = Reads {
        configuration: &configuration.name,
        device: String::new(),
        below: String::new(),
        volume_bytes: 0,
        below_bytes: 0,
    };
    let (mut moved, mut claimed, mut number) = (0u64, 0u64, 0u32);
    for trial in counted(&configuration.name, trials, blocks) {
        let footing = trial.signals.footing()?;
        let disks: Vec<_> = trial.signals.devices.iter().filter(|device| device.role == "below").collect();
        if disks.is_empty() || disks.len() == trial.signals.devices.len() {
            return None;
        }
        let served = trial.signals.members_served().unwrap_or(footing.served);
        found.device = footing.name;
        found.below = disks.iter().map(|disk| disk.name.as_str()).collect::<Vec<_>>().join(" + ");
        found.volume_bytes += served.read_bytes;
        found.below_bytes += disks.iter().map(|disk| disk.served.read_bytes).sum::<u64>();
        moved += served.read_bytes + served.written_bytes;
        claimed += trial.workload.claimed_read_bytes + trial.workload.claimed_written_bytes;
        number += 1;
    }
    let read = found.volume_bytes as f64;
    let matters =
        read >= WORTH_SAYING * moved.max(claimed) as f64 && read >= LEAST_READ_BYTES * f64::from(number);
    (number > 0 && matters).then_some(found)
}

#[cfg(test)]
mod tests {
    use iostone_model::sample::DiskCounters;
    use iostone_model::trial::DeviceActivity;

    use super::super::tests::{plan, trial};
    use super::*;

    const MIB: u64 = 1 << 20;

    /// A trial of each level: mebibytes read and written by the loop device, and read by the disk below it.
    fn told(plan: &Plan, on: [u64; 3], off: [u64; 3]) -> Option<String> {
        let one = |position: u32, name: &str, [read, written, below]: [u64; 3]| {
            let mut made = trial(position + 1, 0, position, name, 1.0, 0);
            let counters = |read_bytes, written_bytes| DiskCounters {
                read_bytes: read_bytes * MIB,
                written_bytes: written_bytes * MIB,
                ..DiskCounters::default()
            };
            let own = &mut made.signals.devices;
            own[0].served = counters(read, written);
            own.push(DeviceActivity {
                name: "vda".to_owned(),
                role: "below".to_owned(),
                served: counters(below, 0),
                ..DeviceActivity::default()
            });
            made
        };
        let trials = [one(0, "on", on), one(1, "off", off)];
        let blocks = [BlockRecord { number: 0, order: Vec::new(), counted: true, reason: None }];
        let flag = flag(plan, &trials, &blocks)?;
        assert_eq!(flag.name, "cached-below");
        Some(flag.message)
    }

    #[test]
    fn reads_that_no_disk_served_are_the_hosts_memory() {
        let message = told(&plan("", ""), [1000, 0, 10], [900, 0, 45]).unwrap();
        assert!(
            message.starts_with("under on loop0 read 1000 MiB but vda below it served 10.0 MiB: 99 %"),
            "{message}"
        );
        assert!(message.contains("likewise under one configuration more; alike on both sides"), "{message}");
        assert_eq!(told(&plan("", ""), [1000, 0, 1000], [900, 0, 1200]), None);
    }

    #[test]
    fn shares_that_differ_are_in_the_ratio() {
        let message = told(&plan("", ""), [1000, 0, 10], [1000, 0, 970]).unwrap();
        assert!(
            message.contains("; 3 % under off against 99 % under on: the ratio between them holds"),
            "{message}"
        );
    }

    #[test]
    fn writes_with_the_metadata_they_read_are_no_reads() {
        assert_eq!(told(&plan("", ""), [20, 1000, 0], [20, 1000, 0]), None);
        assert_eq!(told(&plan("", ""), [0, 0, 0], [0, 0, 0]), None);
    }

    #[test]
    fn a_file_past_memory_has_none_between() {
        let direct = plan("backing_io = \"buffered\"", "backing_io = \"direct\"");
        assert_eq!(told(&direct, [1000, 0, 10], [900, 0, 45]), None);
    }
}
