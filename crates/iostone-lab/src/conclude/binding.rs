//! Which of the known limits bound a configuration: what it moved is held against volumes and link, direction by direction.

use iostone_model::experiment::{BlockSizes, Configuration, DdDirection, Stack, SyncMode, Volume, Workload};
use iostone_model::explanation::SERVED;
use iostone_model::median::median;
use iostone_model::metric::Unit;
use iostone_model::run::{BlockRecord, Plan};
use iostone_model::sample::DiskCounters;
use iostone_model::trial::TrialRecord;
use iostone_model::units::three_digits;
use iostone_model::verdict::{CeilingState, Flag, KnownCeiling};

use super::evidence::counted;
use super::limits::{FixedIo, Flow, Limit, copies, limits_ios, of_ios, of_throughput};

/// A limit of which this share is used binds.
const BINDS: f64 = 0.95;
/// Beyond this share, and what a slice more comes to, the limit was not what held the rate.
pub(super) const EXCEEDED: f64 = 1.03;
/// The kernel grants bytes in slices of 100 ms (`throtl_slice`, block/blk-throttle.c), of which the measured time may
/// hold one more than its length.
const SLICE_SECONDS: f64 = 0.1;
/// A buffered rate this far above a limit did not come through it.
const FROM_MEMORY: f64 = 1.10;
/// A rate of a configuration, over the trials that count.
pub(super) struct Rate {
    /// The metric, or [`SERVED`].
    pub(super) figure: String,
    pub(super) flow: Flow,
    pub(super) unit: Unit,
    /// The median.
    pub(super) value: f64,
    /// Whether all of it passed the device.
    pub(super) reaches_device: bool,
    pub(super) limits: Vec<Limit>,
    /// Whether there is another limit that cannot be reckoned for it.
    pub(super) incomplete: bool,
    /// Its I/Os, where they are all of one size and reach the volume as they are.
    pub(super) io: Option<FixedIo>,
}

/// A rate held against a limit.
struct Held {
    ceiling: KnownCeiling,
    /// Whether the limit is one of what the rate counts: bytes, or I/Os.
    in_own_unit: bool,
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
    let mut found: Vec<(Flow, Held)> = Vec::new();
    for rate in rates(configuration, &own).into_iter().filter(|rate| rate.reaches_device) {
        let seconds = finite_median(own.iter().map(|trial| trial.workload.measured_seconds)).unwrap_or(0.0);
        let Some(held) = hold(configuration, &rate, EXCEEDED + slice(seconds)) else { continue };
        // Whole trials have phases in which nothing is read: only at its limit do counters say something.
        if rate.figure == SERVED && held.ceiling.state != CeilingState::Binds {
            continue;
        }
        match found.iter_mut().find(|(flow, _)| *flow == rate.flow) {
            Some((_, other)) if tells_more(&held, other) => *other = held,
            Some(_) => {}
            None => found.push((rate.flow, held)),
        }
    }
    // Where one way is bound, that the other had room says nothing of the volume: it may have been a moment's work.
    let is_bound = found.iter().any(|(_, held)| held.ceiling.state == CeilingState::Binds);
    let says = |ceiling: &KnownCeiling| match ceiling.state {
        CeilingState::Binds | CeilingState::Exceeded => true,
        CeilingState::Free | CeilingState::Unknown => !is_bound,
    };
    found.into_iter().map(|(_, held)| held.ceiling).filter(says).collect()
}

/// Of two that hold the same bytes against limits, the one to tell: what binds before what does not, the workload's own
/// figures before counters, the figure that comes closer.
fn tells_more(new: &Held, old: &Held) -> bool {
    let rank = |held: &Held| match held.ceiling.state {
        CeilingState::Exceeded => 2,
        CeilingState::Binds => 1,
        CeilingState::Free | CeilingState::Unknown => 0,
    };
    let own = |held: &Held| held.ceiling.figure != SERVED;
    // A rate of bytes and one of I/Os are the same share of a limit, but for rounding.
    let close = (new.ceiling.share - old.ceiling.share).abs() < 1e-3;
    let closer =
        if close { new.in_own_unit && !old.in_own_unit } else { new.ceiling.share > old.ceiling.share };
    let key = |held: &Held| (rank(held), own(held));
    key(new) > key(old) || (key(new) == key(old) && closer)
}

pub(super) fn slice(seconds: f64) -> f64 {
    SLICE_SECONDS / seconds.max(SLICE_SECONDS)
}

/// Holds a rate against its tightest limit, or, where credits allowed more than that, against the next.
fn hold(configuration: &Configuration, rate: &Rate, exceeded: f64) -> Option<Held> {
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
    } else if rate.incomplete {
        CeilingState::Unknown
    } else {
        CeilingState::Free
    };
    let in_own_unit = limit.unit == rate.unit;
    let ceiling = KnownCeiling {
        configuration: configuration.name.clone(),
        figure: rate.figure.clone(),
        limit: limit.name.clone(),
        at_most: limit.rate,
        measured: rate.value,
        unit: rate.unit,
        share,
        state,
    };
    Some(Held { ceiling, in_own_unit })
}

/// One sentence for each ceiling of a configuration: "the link of 62.5MB/s binds: throughput is 62.4 MB/s,
/// 99.8 % of what it lets through". What a rehearsal finds in a moment may be otherwise at full length, and says so.
pub(super) fn sentences(configuration: &str, ceilings: &[KnownCeiling], rehearsal: bool) -> Vec<String> {
    let own = ceilings.iter().filter(|ceiling| ceiling.configuration == configuration).map(sentence);
    own.map(|told| if rehearsal { format!("in this rehearsal {told}") } else { told }).collect()
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
        CeilingState::Unknown => format!(
            "what binds is not known: {figure}, {share} % of the {at_most} that {limit} allows, but not how many I/Os \
             the volume counted"
        ),
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
        let compressed = own.first().and_then(|trial| trial.compressed_by(&configuration.stack));
        (!above.is_empty()).then(|| {
            if let Some(by) = compressed {
                let rates = above.join("; ");
                return Flag::new(
                    "compressed",
                    format!(
                        "under {}: {rates}: compressed by {by}, so that fewer bytes passed it, or the page cache answered",
                        configuration.name
                    ),
                );
            }
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

/// Every rate of a configuration that limits of its stack are known for.
fn rates(configuration: &Configuration, trials: &[&TrialRecord]) -> Vec<Rate> {
    measured(configuration, trials).into_iter().filter(|rate| !rate.limits.is_empty()).collect()
}

/// Every rate of a configuration, with the limits of its stack that are known for it.
pub(super) fn measured(configuration: &Configuration, trials: &[&TrialRecord]) -> Vec<Rate> {
    let Some(first) = trials.first() else { return Vec::new() };
    let stack = &configuration.stack;
    let mut rates = Vec::new();
    for metric in configuration.workload.metrics() {
        let name = metric.name.as_ref();
        let Some(value) = finite_median(trials.iter().filter_map(|trial| trial.metrics.get(name).copied()))
        else {
            continue;
        };
        let flow = flow_of(name, configuration, first);
        let io = fixed_io(configuration, flow, trials);
        let limits = match metric.unit {
            Unit::BytesPerSecond if name != "throughput" || io.is_none() => of_throughput(stack, flow),
            Unit::BytesPerSecond | Unit::PerSecond => io
                .filter(|_| matches!(name, "iops" | "throughput"))
                .map_or_else(Vec::new, |io| both(stack, flow, io, metric.unit)),
            _ => Vec::new(),
        };
        let is_rate = metric.unit == Unit::BytesPerSecond || name == "iops";
        if is_rate {
            let reaches_device = reaches(name, configuration, first);
            rates.push(Rate {
                figure: name.to_owned(),
                flow,
                unit: metric.unit,
                value,
                reaches_device,
                incomplete: limits_ios(stack) && !limits.iter().any(|limit| limit.unit == Unit::PerSecond),
                limits,
                io: io.filter(|_| matches!(name, "iops" | "throughput")),
            });
        }
    }
    for (flow, bytes) in [
        (Flow::Read, (|served| served.read_bytes) as fn(&DiskCounters) -> u64),
        (Flow::Write, |served| served.written_bytes),
    ] {
        let served = trials.iter().filter_map(|trial| {
            let footing = trial.signals.footing()?;
            // Of members each copy was counted; what the workload moved is a part of that.
            let copies = if footing.is_sum { copies(stack, flow) } else { 1.0 };
            let seconds = trial.signals.seconds;
            (seconds > 0.0).then(|| bytes(&footing.served) as f64 / copies / seconds)
        });
        let io = fixed_io(configuration, flow, trials);
        let unit = Unit::BytesPerSecond;
        let limits = io.map_or_else(|| of_throughput(stack, flow), |io| both(stack, flow, io, unit));
        if let Some(value) = finite_median(served).filter(|value| *value > 0.0) {
            let figure = SERVED.to_owned();
            rates.push(Rate {
                figure,
                flow,
                unit,
                value,
                reaches_device: true,
                limits,
                incomplete: true,
                io,
            });
        }
    }
    drop_what_nobody_asked_for(&mut rates, first);
    rates
}

/// Of a workload that moves bytes one way alone, what the devices served the other way is a filesystem's metadata: too little to
/// be held against anything. Parity is read for writes as well, and that is much.
fn drop_what_nobody_asked_for(rates: &mut Vec<Rate>, trial: &TrialRecord) {
    const METADATA: f64 = 0.05;
    let asked = match (trial.workload.claimed_read_bytes > 0, trial.workload.claimed_written_bytes > 0) {
        (true, false) => Flow::Read,
        (false, true) => Flow::Write,
        _ => return,
    };
    let of_asked = rates.iter().find(|rate| rate.figure == SERVED && rate.flow == asked);
    let worth = METADATA * of_asked.map_or(0.0, |rate| rate.value);
    rates.retain(|rate| rate.figure != SERVED || rate.flow == asked || rate.value > worth);
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
    if trial.compressed_by(&configuration.stack).is_some() {
        return false;
    }
    match &configuration.workload {
        Workload::Io(io) if io.direct => true,
        // In a layer that drops every fsync, writes end in the page cache.
        _ if trial.container.as_ref().is_some_and(|container| container.volatile) => false,
        Workload::Io(io) => io.must_reach_device(),
        // Each of bonnie++'s phases that write ends with fsync(2) in its measured time.
        Workload::Bonnie(_) => matches!(name, "direct_read_throughput" | "block_write"),
        _ => trial.workload.must_reach_device,
    }
}

/// Every limit in the unit of a figure, the tightest first.
pub(super) fn both(stack: &Stack, flow: Flow, io: FixedIo, unit: Unit) -> Vec<Limit> {
    let bytes = io.bytes.max(1) as f64;
    let scaled = |limit: Limit| {
        let factor = match (limit.unit, unit) {
            (Unit::PerSecond, Unit::BytesPerSecond) => bytes,
            (Unit::BytesPerSecond, Unit::PerSecond) => bytes.recip(),
            _ => 1.0,
        };
        let capacity = limit.capacity.map(|capacity| capacity * factor);
        Limit { rate: limit.rate * factor, capacity, ..limit }
    };
    let all = of_throughput(stack, flow).into_iter().chain(of_ios(stack, flow, io));
    let mut limits: Vec<Limit> = all.map(scaled).collect();
    limits.sort_by(|left, right| left.rate.total_cmp(&right.rate));
    limits
}

/// The size of every I/O, with what the devices counted of them; none where sizes vary, only the program knows, or the
/// page cache gathers what is written. A volume that merges what follows each other counts the same however it comes.
pub(super) fn fixed_io(
    configuration: &Configuration,
    flow: Flow,
    trials: &[&TrialRecord],
) -> Option<FixedIo> {
    let merged = match &configuration.stack.volume {
        Volume::Emulated(volume) if volume.merge => volume.io_size,
        _ => None,
    };
    let request_bytes = || finite_median(trials.iter().filter_map(|trial| request_bytes(trial, flow)));
    match &configuration.workload {
        Workload::Io(io) => {
            let one_by_one = io.direct || io.fsync == 1 || io.fdatasync == 1 || io.sync != SyncMode::None;
            let sequential = !io.rw.is_random();
            let BlockSizes::Fixed(size) = io.block_sizes() else { return None };
            (one_by_one || sequential && merged.is_some()).then(|| FixedIo {
                bytes: size.0,
                sequential,
                request_bytes: request_bytes(),
            })
        }
        Workload::Dd(_) => {
            merged.map(|size| FixedIo { bytes: size.0, sequential: true, request_bytes: request_bytes() })
        }
        _ => None,
    }
}

/// What a request held on average, on the volumes themselves.
fn request_bytes(trial: &TrialRecord, flow: Flow) -> Option<f64> {
    let of_footing = || trial.signals.footing().map(|footing| footing.served);
    let served = trial.signals.members_served().or_else(of_footing)?;
    let (bytes, requests) = match flow {
        Flow::Read => (served.read_bytes, served.reads),
        Flow::Write => (served.written_bytes, served.writes),
        Flow::Both => (served.read_bytes + served.written_bytes, served.reads + served.writes),
    };
    (bytes > 0 && requests > 0).then(|| bytes as f64 / requests as f64)
}

/// The median of the values that are finite: a trial that never ended has no rate.
pub(super) fn finite_median(values: impl Iterator<Item = f64>) -> Option<f64> {
    median(values.filter(|value| value.is_finite()))
}

#[cfg(test)]
mod tests;
