//! Figures of all hosts together: sums over the time in which all of them ran, percentiles of the merged histograms. Anything else
//! (sums of means that were not at once, means of percentiles) is refused, with the reason.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use iostone_model::figures::counted;
use iostone_model::fleet::{Fleet, FleetTotal};
use iostone_model::metric::Unit;
use serde::Deserialize;

use crate::figures::HostRun;

/// What totals need of a trial; the rest of its record is passed over.
#[derive(Deserialize)]
struct Trial {
    configuration: String,
    block: u64,
    started_at: String,
    #[serde(default)]
    ramp_seconds: f64,
    workload: Workload,
}

#[derive(Deserialize)]
struct Workload {
    #[serde(default)]
    operations_per_100ms: Vec<u64>,
    #[serde(default)]
    latency_histogram: Vec<(u64, u64)>,
}

/// Less than a second in common is no time in which all ran.
const FEWEST_SLOTS: usize = 10;
const SLOTS_A_SECOND: f64 = 10.0;
/// A trial's record is some tens of kB.
const LARGEST_TRIAL: u64 = 64 << 20;
const PERCENTILES: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)];

/// What is gathered of a configuration.
#[derive(Default)]
struct Gathered {
    /// Hosts and operations of each tenth of a second since the epoch.
    slots: BTreeMap<i64, (usize, u64)>,
    histogram: BTreeMap<u64, u64>,
    /// Hosts with a histogram, and with a rate over time.
    with_latency: usize,
    with_rate: usize,
}

/// The totals of each configuration.
pub(crate) fn of(
    directory: &Path,
    fleet: &Fleet,
    runs: &[HostRun],
    configurations: &[String],
) -> Vec<FleetTotal> {
    let mut gathered: BTreeMap<&str, Gathered> = BTreeMap::new();
    for run in runs {
        let place =
            fleet.hosts.iter().find(|host| host.name == run.name).and_then(|host| host.run.as_deref());
        let Some(place) = place else { continue };
        let trials = read_trials(&directory.join(place));
        for configuration in configurations {
            let counted =
                run.configuration(configuration).map(|one| one.blocks.as_slice()).unwrap_or_default();
            let own = trials
                .iter()
                .filter(|one| one.configuration == *configuration && counted.contains(&one.block));
            gather(gathered.entry(configuration).or_default(), own);
        }
    }
    gathered.iter().flat_map(|(configuration, found)| totals(configuration, found, runs.len())).collect()
}

fn read_trials(run: &Path) -> Vec<Trial> {
    let directories = fs::read_dir(run.join("trials")).into_iter().flatten().flatten();
    let records = directories.map(|entry| entry.path().join("trial.json"));
    records
        .filter(|path| {
            fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() <= LARGEST_TRIAL)
        })
        .filter_map(|path| serde_json::from_reader(BufReader::new(File::open(path).ok()?)).ok())
        .collect()
}

fn gather<'a>(into: &mut Gathered, trials: impl Iterator<Item = &'a Trial>) {
    let mut own: BTreeMap<i64, u64> = BTreeMap::new();
    let mut has_latency = false;
    for trial in trials {
        for (latency, count) in &trial.workload.latency_histogram {
            has_latency = true;
            *into.histogram.entry(*latency).or_default() += count;
        }
        let Ok(started) = trial.started_at.parse::<jiff::Timestamp>() else { continue };
        let first = started.as_millisecond() as f64 / 1000.0 + trial.ramp_seconds;
        #[expect(clippy::cast_possible_truncation, reason = "tenths of seconds since the epoch")]
        let first = (first * SLOTS_A_SECOND).round() as i64;
        for (slot, operations) in (first..).zip(&trial.workload.operations_per_100ms) {
            own.insert(slot, *operations);
        }
    }
    into.with_latency += usize::from(has_latency);
    into.with_rate += usize::from(!own.is_empty());
    for (slot, operations) in own {
        let (hosts, sum) = into.slots.entry(slot).or_default();
        *hosts += 1;
        *sum += operations;
    }
}

fn totals(configuration: &str, found: &Gathered, hosts: usize) -> Vec<FleetTotal> {
    let total = |what: &str, unit: Unit, value: Result<f64, String>, because: &str| FleetTotal {
        configuration: configuration.to_owned(),
        what: what.to_owned(),
        unit,
        value: value.as_ref().ok().copied(),
        because: value.err().unwrap_or_else(|| because.to_owned()),
    };
    let every = counted(hosts, "host");
    let all_ran = if hosts == 1 { "the host".to_owned() } else { format!("all {every}") };
    let without = |with: usize| {
        if hosts == 1 { "the host".to_owned() } else { format!("{} of {every}", hosts - with) }
    };
    let common: Vec<u64> =
        found.slots.values().filter(|(running, _)| *running == hosts).map(|(_, sum)| *sum).collect();
    let rate = if found.with_rate < hosts {
        Err(format!("refused: {} recorded no rate over time", without(found.with_rate)))
    } else if common.len() < FEWEST_SLOTS {
        Err(format!(
            "refused: there is no second in which {all_ran} ran it, and sums over different times are no total"
        ))
    } else {
        Ok(common.iter().sum::<u64>() as f64 * SLOTS_A_SECOND / common.len() as f64)
    };
    let seconds = format!("over the {:.1} s in which {all_ran} ran it", common.len() as f64 / SLOTS_A_SECOND);
    let mut all = vec![total("operations of all hosts", Unit::PerSecond, rate, &seconds)];
    let requests: u64 = found.histogram.values().sum();
    for (name, share) in PERCENTILES {
        let what = format!("latency {name} of all requests");
        let value = if found.with_latency < hosts {
            let lacking = without(found.with_latency);
            Err(format!(
                "refused: {lacking} recorded no histogram, and percentiles of hosts cannot be averaged"
            ))
        } else if requests as f64 * (1.0 - share) < 10.0 {
            Err(format!("refused: too few requests ({requests})"))
        } else {
            Ok(percentile(&found.histogram, requests, share))
        };
        let merged = if hosts == 1 {
            format!("histogram of {}", counted(requests, "request"))
        } else {
            format!("merged histograms of {every}, {}", counted(requests, "request"))
        };
        all.push(total(&what, Unit::Seconds, value, &merged));
    }
    all
}

/// The latency in seconds that a share of all requests do not exceed.
fn percentile(histogram: &BTreeMap<u64, u64>, requests: u64, share: f64) -> f64 {
    let mut left = requests as f64 * share;
    for (latency, count) in histogram {
        left -= *count as f64;
        if left <= 0.0 {
            return *latency as f64 / 1e9;
        }
    }
    histogram.keys().next_back().map_or(0.0, |latency| *latency as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(started_at: &str, operations: Vec<u64>, latencies: Vec<(u64, u64)>) -> Trial {
        Trial {
            configuration: "on".to_owned(),
            block: 0,
            started_at: started_at.to_owned(),
            ramp_seconds: 0.0,
            workload: Workload { operations_per_100ms: operations, latency_histogram: latencies },
        }
    }

    #[test]
    fn sums_are_over_the_common_time_and_percentiles_of_the_merged_histogram() {
        let mut found = Gathered::default();
        let fast = vec![(1_000_000, 9_990)];
        gather(&mut found, [trial("2026-11-28T12:00:00Z", vec![10; 20], fast)].iter());
        gather(&mut found, [trial("2026-11-28T12:00:01Z", vec![30; 20], vec![(9_000_000, 1_010)])].iter());
        let all = totals("on", &found, 2);
        assert_eq!(all[0].value, Some(400.0), "{all:?}");
        assert!(all[0].because.contains("1.0 s"));
        // p50 of all is the fast host's, p99 the slow one's; their mean would be neither.
        assert_eq!((all[1].value, all[2].value), (Some(0.001), Some(0.009)));
    }

    #[test]
    fn what_was_not_at_once_has_no_total() {
        let mut found = Gathered::default();
        gather(&mut found, [trial("2026-11-28T12:00:00Z", vec![10; 20], vec![(1, 100)])].iter());
        gather(&mut found, [trial("2026-11-28T12:01:00Z", vec![10; 20], Vec::new())].iter());
        let all = totals("on", &found, 2);
        assert!(all.iter().all(|one| one.value.is_none()));
        assert!(all[0].because.contains("no second in which all 2 hosts ran it"), "{}", all[0].because);
        assert!(all[2].because.contains("1 of 2 hosts recorded no histogram"), "{}", all[2].because);
    }
}
