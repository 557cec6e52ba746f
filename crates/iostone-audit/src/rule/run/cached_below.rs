//! `cached-below`: reads that a loop device served out of the memory of its host: the disk below it, which holds its file, hardly saw them.

use iostone_model::audit::Severity;
use iostone_model::evidence::{Evidence, Group, RunEvidence};
use iostone_model::experiment::{BackingIo, Volume};
use iostone_model::metric::Unit;

use super::looked;
use crate::{Outcome, Rule, finding};

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

/// Reads that no disk served. Only reads are judged. Writes that a loop device keeps in memory reach the disk with the flush
/// that asks for it, and what nobody flushed is allowed to wait.
pub(super) struct CachedBelow;

impl Rule for CachedBelow {
    fn name(&self) -> &'static str {
        "cached-below"
    }

    fn looks_for(&self) -> &'static str {
        "reads of a loop device that its file answered from the host's memory"
    }

    fn judge(&self, evidence: &Evidence<'_>) -> Outcome {
        looked(evidence, |run| {
            let all: Vec<Reads<'_>> = run.groups.iter().filter_map(reads).collect();
            let most =
                all.iter().max_by(|left, right| left.cached_share().total_cmp(&right.cached_share()))?;
            let message = (most.cached_share() > WORTH_SAYING).then(|| message(run, &all, most));
            let advice = "Set `backing_io = \"direct\"`, which asks the disk.";
            Some(
                message
                    .map(|message| finding(self, Severity::Warning, message, advice))
                    .into_iter()
                    .collect(),
            )
        })
    }
}

fn message(run: &RunEvidence<'_>, all: &[Reads<'_>], most: &Reads<'_>) -> String {
    let elsewhere = match all.iter().filter(|one| one.cached_share() > WORTH_SAYING).count() {
        0 | 1 => String::new(),
        2 => ", and likewise under one configuration more".to_owned(),
        several => format!(", and likewise under {} configurations more", several - 1),
    };
    let unlike = unlike(run, all);
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
    format!(
        "under {} {} read {} but {} below it served {}: {} of the reads came out of the volume's own file in the host's \
         memory{elsewhere}; {meaning}",
        most.configuration,
        most.device,
        Unit::Bytes.format(most.volume_bytes as f64),
        most.below,
        Unit::Bytes.format(most.below_bytes as f64),
        percent(most.cached_share())
    )
}

/// The comparisons whose sides read from memory to different shares, in words. Where reads do not matter there is none.
fn unlike(run: &RunEvidence<'_>, all: &[Reads<'_>]) -> Vec<String> {
    let told = |place: usize| {
        let name = run.groups.get(place)?.configuration.name.as_str();
        let own = all.iter().find(|one| one.configuration == name);
        Some((name, own.map_or(0.0, Reads::cached_share)))
    };
    let pairs: Vec<(usize, usize)> = if run.plan.experiment.sweep().is_some() {
        (1..run.groups.len()).map(|place| (place, 0)).collect()
    } else {
        run.plan.comparisons().into_iter().map(|pair| (pair.configuration, pair.baseline)).collect()
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
fn reads<'a>(group: &Group<'a>) -> Option<Reads<'a>> {
    let configuration = group.configuration;
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
    for trial in &group.trials {
        let device = trial.signals.device_under_test()?;
        let disks: Vec<_> = trial.signals.devices.iter().filter(|device| device.role == "below").collect();
        if disks.is_empty() || disks.len() == trial.signals.devices.len() {
            return None;
        }
        let served = trial.signals.members_served().unwrap_or(device.served);
        found.device = device.name;
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
