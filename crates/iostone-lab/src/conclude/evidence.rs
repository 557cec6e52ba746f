//! What was verified: how each varied setting read back, and what the device saw of it.

use std::collections::BTreeMap;
use std::fmt;

use iostone_model::evidence::{Group, RunEvidence};
use iostone_model::experiment::{Configuration, Volume};
use iostone_model::figures::count;
use iostone_model::median::median;
use iostone_model::metric::Unit;
use iostone_model::trial::{Check, TrialRecord};
use iostone_model::units::round_count;
use iostone_model::verdict::Verified;

/// Flushes that the device under the workload completed, or its array's members together: the medians over the trials.
struct Flushes {
    a_trial: u64,
    /// Of each call of fsync(2) or fdatasync(2): a faster level syncs more often, and flushes more often for that alone.
    a_sync: Option<f64>,
}

impl Flushes {
    /// None where nobody counted them.
    fn of(trials: &[&TrialRecord]) -> Option<Self> {
        let counts = || {
            trials
                .iter()
                .filter_map(|trial| Some((*trial, trial.signals.device_under_test()?.flushes? as f64)))
        };
        let syncs = |trial: &TrialRecord| -> u64 {
            trial.workload.sync_latency_histogram.iter().map(|(_, count)| count).sum()
        };
        let a_sync =
            counts().filter(|(trial, _)| syncs(trial) > 0).map(|(trial, all)| all / syncs(trial) as f64);
        Some(Self { a_trial: round_count(median(counts().map(|(_, all)| all))?), a_sync: median(a_sync) })
    }
}

impl fmt::Display for Flushes {
    /// "2 158 flushes a trial" without the noun: "2 158, 1.00 a sync".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&count(self.a_trial))?;
        self.a_sync.map_or(Ok(()), |a_sync| write!(f, ", {a_sync:.2} a sync"))
    }
}

/// Whether there are members under the workload of a configuration.
fn is_array(trials: &[&TrialRecord]) -> bool {
    let mut devices = trials.iter().filter_map(|trial| trial.signals.device_under_test());
    devices.any(|device| device.members > 0)
}

/// What one sync costs the program that waits for it, over all trials of a configuration that count.
fn sync_price(trials: &[&TrialRecord]) -> Option<String> {
    let mut histogram: BTreeMap<u64, u64> = BTreeMap::new();
    for trial in trials {
        for (latency_ns, count) in &trial.workload.sync_latency_histogram {
            *histogram.entry(*latency_ns).or_default() += count;
        }
    }
    let total: u64 = histogram.values().sum();
    let at = |share: f64| {
        let mut seen = 0u64;
        histogram.iter().find_map(|(latency_ns, count)| {
            seen += count;
            (seen as f64 >= share * total as f64).then(|| Unit::Seconds.format(*latency_ns as f64 / 1e9))
        })
    };
    Some(format!("a sync takes {} at the median, {} at p99 ({} of them)", at(0.5)?, at(0.99)?, count(total)))
}

/// What the others have, by name.
fn against(others: &[(&str, String)]) -> String {
    let named: Vec<String> = others.iter().map(|(name, count)| format!("{name}: {count}")).collect();
    if named.is_empty() { String::new() } else { format!(" ({})", named.join("; ")) }
}

/// One sentence for each configuration, and one for what all have in common.
pub(super) fn sentences(run: &RunEvidence<'_>) -> Vec<Verified> {
    let checks: Vec<(&Group<'_>, Vec<&Check>)> = run
        .groups
        .iter()
        .filter_map(|group| {
            let checks = &group.trials.last()?.checks;
            Some((group, checks.iter().filter(|check| is_setting(check)).collect()))
        })
        .collect();
    let everywhere = |check: &Check| {
        checks.iter().all(|(_, others)| others.iter().any(|other| same_setting(other, check)))
    };
    // Zero against zero is worth a line only where flushes are the question, and those of a device that others write to as
    // well too.
    let flushes = |group: &Group<'_>| Flushes::of(&group.trials);
    let is_ours = |group: &Group<'_>| !matches!(group.configuration.stack.volume, Volume::Directory(_));
    let flushes_say_something = run.plan.experiment.flushes_matter()
        || run
            .groups
            .iter()
            .any(|one| is_ours(one) && flushes(one).is_some_and(|flushes| flushes.a_trial > 0));
    let mut sentences = Vec::new();
    for (group, own) in &checks {
        let configuration = group.configuration;
        let varied: Vec<String> = own
            .iter()
            .filter(|check| !everywhere(check))
            .map(|check| format!("{}: read back as {}", check.asked, check.read_back))
            .collect();
        let served = flushes(group).filter(|_| flushes_say_something).map(|own_flushes| {
            let factor = &run.plan.experiment.baseline_factor;
            let is_other = |other: &Configuration| {
                other.name != configuration.name && are_compared(other, configuration, factor)
            };
            let others = run.groups.iter().filter(|other| is_other(other.configuration));
            let others: Vec<(&str, String)> = others
                .filter_map(|other| Some((other.configuration.name.as_str(), flushes(other)?.to_string())))
                .collect();
            let against = against(&others);
            let over = if is_array(&group.trials) { " over its members" } else { "" };
            format!("flushes a trial{over}: {own_flushes}{against}")
        });
        let price = sync_price(&group.trials);
        let parts: Vec<String> = varied.into_iter().chain(served).chain(price).collect();
        if !parts.is_empty() {
            sentences
                .push(Verified { configuration: configuration.name.clone(), sentence: parts.join(", ") });
        }
    }
    if let Some((_, first)) = checks.first() {
        let common: Vec<String> = first
            .iter()
            .filter(|check| everywhere(check))
            .map(|check| {
                if check.asked == check.read_back {
                    check.asked.clone()
                } else {
                    format!("{} (read back as {})", check.asked, check.read_back)
                }
            })
            .collect();
        if !common.is_empty() {
            sentences.push(Verified {
                configuration: "all".to_owned(),
                sentence: format!("read back in every trial: {}", common.join("; ")),
            });
        }
    }
    sentences
}

/// Whether a check is of something that the experiment set. The others prove which device, image and filesystem a
/// trial had, differ from trial to trial, and stay in its record.
fn is_setting(check: &Check) -> bool {
    match check.layer.as_str() {
        "queue" | "machine" | "limit" | "sysctl" => true,
        "mount" => !check.asked.contains('/'),
        _ => false,
    }
}

/// The same setting on the same layer.
fn same_setting(left: &Check, right: &Check) -> bool {
    left.layer == right.layer && left.asked == right.asked
}

/// Whether two configurations differ in the compared factor alone, if in any.
fn are_compared(one: &Configuration, other: &Configuration, compared: &str) -> bool {
    let strata = |configuration: &Configuration| {
        let mut levels = configuration.levels.clone();
        levels.remove(compared);
        levels
    };
    strata(one) == strata(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_others_are_told_by_name() {
        let others = [("bind", "0".to_owned()), ("layer", "12".to_owned())];
        assert_eq!(against(&others), " (bind: 0; layer: 12)");
        assert_eq!(against(&others[..1]), " (bind: 0)");
        assert_eq!(against(&[]), "");
    }
}
