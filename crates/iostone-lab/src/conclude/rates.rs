//! The rates of a configuration that ceilings can be held against: what its workload says it moved, and what its devices served.

use iostone_cloud::Joined;
use iostone_cloud::explain::IoShape;
use iostone_model::experiment::{BlockSizes, Configuration, DdDirection, Stack, SyncMode, Volume, Workload};
use iostone_model::explanation::{Flow, SERVED};
use iostone_model::median::median;
use iostone_model::metric::Unit;
use iostone_model::sample::DiskCounters;
use iostone_model::trial::TrialRecord;
use iostone_model::units::round_count;

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
    /// Its I/Os, where they are all of one size and reach the volume as they are.
    pub(super) io: Option<IoShape>,
}

/// Bytes that go to the volumes for each byte that a workload moves.
pub(super) fn copies(stack: &Stack, flow: Flow) -> f64 {
    match flow {
        Flow::Read => 1.0,
        Flow::Write | Flow::Both => {
            let members = u32::try_from(stack.volume.members()).unwrap_or(1);
            Joined::of(&stack.array, members).copies
        }
    }
}

/// Every rate of a configuration.
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
        let is_rate = metric.unit == Unit::BytesPerSecond || name == "iops";
        if is_rate {
            let reaches_device = reaches(name, configuration, first);
            rates.push(Rate {
                figure: name.to_owned(),
                flow,
                unit: metric.unit,
                value,
                reaches_device,
                io: io.filter(|_| matches!(name, "iops" | "throughput")),
            });
        }
    }
    for (flow, bytes) in [
        (Flow::Read, (|served| served.read_bytes) as fn(&DiskCounters) -> u64),
        (Flow::Write, |served| served.written_bytes),
    ] {
        let served = trials.iter().filter_map(|trial| {
            let device = trial.signals.device_under_test()?;
            // Of members each copy was counted; what the workload moved is a part of that.
            let copies = if device.is_sum { copies(stack, flow) } else { 1.0 };
            let seconds = trial.signals.seconds;
            (seconds > 0.0).then(|| bytes(&device.served) as f64 / copies / seconds)
        });
        let io = fixed_io(configuration, flow, trials);
        if let Some(value) = finite_median(served).filter(|value| *value > 0.0) {
            let (figure, unit) = (SERVED.to_owned(), Unit::BytesPerSecond);
            rates.push(Rate { figure, flow, unit, value, reaches_device: true, io });
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

/// The size of every I/O, with what the devices counted of them; none where sizes vary, only the program knows, or the
/// page cache gathers what is written. A volume that merges what follows each other counts the same however it comes.
pub(super) fn fixed_io(
    configuration: &Configuration,
    flow: Flow,
    trials: &[&TrialRecord],
) -> Option<IoShape> {
    let merged = match &configuration.stack.volume {
        Volume::Emulated(volume) if volume.merge => volume.io_size,
        _ => None,
    };
    let request_bytes = || {
        let mean = finite_median(trials.iter().filter_map(|trial| request_bytes(trial, flow)));
        mean.map(|bytes| round_count(bytes).max(1))
    };
    match &configuration.workload {
        Workload::Io(io) => {
            let one_by_one = io.direct || io.fsync == 1 || io.fdatasync == 1 || io.sync != SyncMode::None;
            let sequential = !io.rw.is_random();
            let BlockSizes::Fixed(size) = io.block_sizes() else { return None };
            (one_by_one || sequential && merged.is_some()).then(|| IoShape {
                bytes: size.0,
                sequential,
                request: request_bytes(),
            })
        }
        Workload::Dd(_) => {
            merged.map(|size| IoShape { bytes: size.0, sequential: true, request: request_bytes() })
        }
        _ => None,
    }
}

/// What a request held on average, on the volumes themselves.
fn request_bytes(trial: &TrialRecord, flow: Flow) -> Option<f64> {
    let of_device = || trial.signals.device_under_test().map(|device| device.served);
    let served = trial.signals.members_served().or_else(of_device)?;
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
