//! Which of the known limits bound a configuration: what it moved is held against volumes and link, direction by direction.

use iostone_model::experiment::{BlockSizes, Configuration, DdDirection, Workload};
use iostone_model::metric::Unit;
use iostone_model::run::{BlockRecord, Plan};
use iostone_model::trial::{DeviceActivity, TrialRecord};
use iostone_model::units::three_digits;
use iostone_model::verdict::{CeilingState, Flag, KnownCeiling};

use super::evidence::counted;
use super::limits::{Flow, Limit, of_ios, of_throughput};

/// A limit of which this share is used binds.
const BINDS: f64 = 0.95;
/// Beyond this share, and what a slice more comes to, the limit was not what held the rate.
const EXCEEDED: f64 = 1.03;
/// The kernel grants bytes in slices of 100 ms (`throtl_slice`, block/blk-throttle.c), of which the measured time may
/// hold one more than its length.
const SLICE_SECONDS: f64 = 0.1;
/// A buffered rate this far above a limit did not come through it.
const FROM_MEMORY: f64 = 1.10;
/// What stands for the counters of devices in place of a metric's name.
const SERVED: &str = "served";

/// A rate of a configuration, over the trials that count.
struct Rate {
    /// The metric, or [`SERVED`].
    figure: String,
    flow: Flow,
    unit: Unit,
    /// The median.
    value: f64,
    /// Whether all of it passed the device.
    reaches_device: bool,
    limits: Vec<Limit>,
}

/// What every configuration moved, held against its tightest limit; where a burst is above it and was used, against that.
pub(super) fn ceilings(plan: &Plan, trials: &[TrialRecord], blocks: &[BlockRecord]) -> Vec<KnownCeiling> {
    let configurations = &plan.experiment.configurations;
    configurations.iter().flat_map(|configuration| of_configuration(configuration, trials, blocks)).collect()
}

fn of_configuration(
    configuration: &Configuration,
    trials: &[TrialRecord],
    blocks: &[BlockRecord],
) -> Vec<KnownCeiling> {
    let own: Vec<&TrialRecord> = counted(&configuration.name, trials, blocks).collect();
    let mut found: Vec<(Flow, KnownCeiling)> = Vec::new();
    for rate in rates(configuration, &own).into_iter().filter(|rate| rate.reaches_device) {
        let seconds = middle(own.iter().map(|trial| trial.workload.measured_seconds)).unwrap_or(0.0);
        let Some(ceiling) = hold(configuration, &rate, EXCEEDED + slice(seconds)) else { continue };
        // Whole trials have phases in which nothing is read: only at its limit do counters say something.
        if rate.figure == SERVED && ceiling.state != CeilingState::Binds {
            continue;
        }
        let same = |(flow, other): &&mut (Flow, KnownCeiling)| *flow == rate.flow && other.unit == rate.unit;
        match found.iter_mut().find(same) {
            Some((_, other)) if other.figure == SERVED || ceiling.share > other.share => {
                if ceiling.figure != SERVED {
                    *other = ceiling;
                }
            }
            Some(_) => {}
            None => found.push((rate.flow, ceiling)),
        }
    }
    found.into_iter().map(|(_, ceiling)| ceiling).collect()
}

fn slice(seconds: f64) -> f64 {
    SLICE_SECONDS / seconds.max(SLICE_SECONDS)
}

/// Holds a rate against its tightest limit, or, where credits allowed more than that, against the next.
fn hold(configuration: &Configuration, rate: &Rate, exceeded: f64) -> Option<KnownCeiling> {
    let over = |limit: &&Limit| rate.value > limit.rate * exceeded;
    let has_burst = rate.limits.iter().any(|limit| limit.is_burst);
    let limit = match rate.limits.iter().find(|limit| !over(limit)) {
        Some(limit) if has_burst => limit,
        _ => rate.limits.first()?,
    };
    let share = rate.value / limit.rate;
    let state = if over(&limit) {
        CeilingState::Exceeded
    } else if share >= BINDS {
        CeilingState::Binds
    } else {
        CeilingState::Free
    };
    Some(KnownCeiling {
        configuration: configuration.name.clone(),
        figure: rate.figure.clone(),
        limit: limit.name.clone(),
        at_most: limit.rate,
        measured: rate.value,
        unit: rate.unit,
        share,
        state,
    })
}

/// One sentence for each ceiling of a configuration: "the link of 62.5MB/s binds: throughput is 62.4 MB/s,
/// 99.8 % of what it lets through".
pub(super) fn sentences(configuration: &str, ceilings: &[KnownCeiling]) -> Vec<String> {
    ceilings.iter().filter(|ceiling| ceiling.configuration == configuration).map(sentence).collect()
}

fn sentence(ceiling: &KnownCeiling) -> String {
    let KnownCeiling { limit, unit, .. } = ceiling;
    let (measured, at_most) = (unit.format(ceiling.measured), unit.format(ceiling.at_most));
    let share = three_digits(ceiling.share * 100.0);
    let figure = if ceiling.figure == SERVED {
        format!("{measured} were served")
    } else {
        format!("{} is {measured}", ceiling.figure)
    };
    match ceiling.state {
        CeilingState::Binds => format!("{limit} binds: {figure}, {share} % of the {at_most} that it allows"),
        CeilingState::Exceeded => {
            format!("{limit} was exceeded: {figure}, {share} % of the {at_most} that it allows")
        }
        CeilingState::Free => {
            format!("no known limit binds: {figure}, {share} % of the {at_most} that {limit} allows")
        }
    }
}

/// A flag for each configuration with rates of buffered I/O above every known limit.
pub(super) fn above_limits(plan: &Plan, trials: &[TrialRecord], blocks: &[BlockRecord]) -> Vec<Flag> {
    let flag = |configuration: &Configuration| {
        let own: Vec<&TrialRecord> = counted(&configuration.name, trials, blocks).collect();
        let rates = rates(configuration, &own);
        let above: Vec<String> = rates
            .iter()
            .filter(|rate| !rate.reaches_device && rate.unit == Unit::BytesPerSecond)
            .filter_map(|rate| {
                // Of a volume with credits even the burst is exceeded.
                let bursts = rate.limits.iter().filter(|limit| limit.is_burst);
                let own = rate.limits.iter().find(|limit| !limit.is_burst)?;
                let limit = bursts.fold(own, |most, burst| if burst.rate > most.rate { burst } else { most });
                let times = rate.value / limit.rate;
                (times > FROM_MEMORY).then(|| {
                    let (value, times) = (rate.unit.format(rate.value), three_digits(times));
                    format!("{} of {value} is {times} times {}", rate.figure, all_of(limit))
                })
            })
            .collect();
        (!above.is_empty()).then(|| {
            Flag::new(
                "page-cache",
                format!("under {}: {}: the page cache answered", configuration.name, above.join("; ")),
            )
        })
    };
    plan.experiment.configurations.iter().filter_map(flag).collect()
}

/// A limit of several volumes with its sum.
fn all_of(limit: &Limit) -> String {
    if limit.several {
        format!("{}, {}", limit.name, Unit::BytesPerSecond.format(limit.rate))
    } else {
        limit.name.clone()
    }
}

/// Every rate of a configuration that limits are known for.
fn rates(configuration: &Configuration, trials: &[&TrialRecord]) -> Vec<Rate> {
    let Some(first) = trials.first() else { return Vec::new() };
    let stack = &configuration.stack;
    let mut rates = Vec::new();
    for metric in configuration.workload.metrics() {
        let name = metric.name.as_ref();
        let Some(value) = middle(trials.iter().filter_map(|trial| trial.metrics.get(name).copied())) else {
            continue;
        };
        let flow = flow_of(name, configuration, first);
        let limits = match metric.unit {
            Unit::BytesPerSecond => of_throughput(stack, flow),
            Unit::PerSecond => match fixed_block(&configuration.workload).filter(|_| name == "iops") {
                Some((bytes, sequential)) => of_ios(stack, flow, bytes, sequential),
                None => Vec::new(),
            },
            _ => Vec::new(),
        };
        if !limits.is_empty() {
            let reaches_device = reaches(name, configuration, first);
            rates.push(Rate {
                figure: name.to_owned(),
                flow,
                unit: metric.unit,
                value,
                reaches_device,
                limits,
            });
        }
    }
    for (flow, bytes) in [
        (Flow::Read, (|device| device.served.read_bytes) as fn(&DeviceActivity) -> u64),
        (Flow::Write, |device| device.served.written_bytes),
    ] {
        let served = trials.iter().filter_map(|trial| {
            let device = trial.signals.devices.iter().find(|device| device.role == "stack")?;
            (trial.signals.seconds > 0.0).then(|| bytes(device) as f64 / trial.signals.seconds)
        });
        let limits = of_throughput(stack, flow);
        if let Some(value) = middle(served).filter(|value| *value > 0.0 && !limits.is_empty()) {
            let (figure, unit) = (SERVED.to_owned(), Unit::BytesPerSecond);
            rates.push(Rate { figure, flow, unit, value, reaches_device: true, limits });
        }
    }
    rates
}

/// Which way the bytes of a figure move: as its name says, else as what was claimed.
fn flow_of(name: &str, configuration: &Configuration, trial: &TrialRecord) -> Flow {
    // bonnie++ reads and writes each block anew; reading it is part of that.
    if name.contains("read") || name == "rewrite" {
        return Flow::Read;
    }
    if name.contains("write") {
        return Flow::Write;
    }
    if let Workload::Dd(dd) = &configuration.workload {
        return if dd.direction == DdDirection::Read { Flow::Read } else { Flow::Write };
    }
    match (trial.workload.claimed_read_bytes, trial.workload.claimed_written_bytes) {
        (_, 0) => Flow::Read,
        (0, _) => Flow::Write,
        _ => Flow::Both,
    }
}

/// Whether all bytes of a figure passed the device while it was measured.
fn reaches(name: &str, configuration: &Configuration, trial: &TrialRecord) -> bool {
    match &configuration.workload {
        Workload::Io(io) => io.must_reach_device(),
        // Each of bonnie++'s phases that write ends with fsync(2) in its measured time.
        Workload::Bonnie(_) => matches!(name, "direct_read_throughput" | "block_write"),
        _ => trial.workload.must_reach_device,
    }
}

/// The size of every I/O, and whether they follow each other; none where sizes vary or only the program knows.
fn fixed_block(workload: &Workload) -> Option<(u64, bool)> {
    match workload {
        Workload::Io(io) => match io.block_sizes() {
            BlockSizes::Fixed(size) => Some((size.0, !io.rw.is_random())),
            BlockSizes::Split(_) | BlockSizes::Range(_) => None,
        },
        _ => None,
    }
}

fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests;
