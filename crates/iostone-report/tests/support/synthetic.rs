//! Runs made up from a seed, the same on every machine: what tests and the sample page draw.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use iostone_model::environment::{BlockDevice, Cgroup, Cpu, Environment, Kernel, Memory, Virtualisation};
use iostone_model::experiment::{
    Array, Claim, Configuration, Decide, Experiment, Ext4, Factor, Filesystem, Gates, IoWorkload, LoopVolume,
    MachineSpec, Mount, Queue, Rw, Stack, Trials, Volume, Workload,
};
use iostone_model::metric::{self, Direction, Unit};
use iostone_model::run::{BlockRecord, PLAN_SCHEMA, Plan, RunRecord};
use iostone_model::sample::DiskCounters;
use iostone_model::trial::{
    Check, DeviceActivity, GateOutcome, GateReading, SignalSummary, TRIAL_SCHEMA, TrialRecord, WorkloadReport,
};
use iostone_model::units::{Bytes, Fraction, Span};

/// What a made-up run looks like.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    /// Name, question.
    pub(crate) name: &'static str,
    pub(crate) question: Option<&'static str>,
    /// Metric.
    pub(crate) metric: &'static str,
    /// Level and its figure's typical value; the first is the baseline.
    pub(crate) levels: Vec<(String, f64)>,
    /// Blocks begun.
    pub(crate) blocks: u32,
    /// Blocks whose first trial fails the steal gate.
    pub(crate) discarded: Vec<u32>,
    /// Spread of figures as a share.
    pub(crate) cv: f64,
    /// Whether trials carry histograms and timelines.
    pub(crate) latency: bool,
    /// A program instead of the load engine.
    pub(crate) command: bool,
}

impl Scene {
    /// Two levels of a write barrier, eleven blocks and one discarded.
    pub(crate) fn barrier() -> Self {
        Self {
            name: "ext4-barrier",
            question: Some("Does ext4 run faster without write barriers, and what does that cost?"),
            metric: "throughput",
            levels: vec![("on".to_owned(), 14.3e6), ("off".to_owned(), 61.7e6)],
            blocks: 12,
            discarded: vec![4],
            cv: 0.03,
            latency: true,
            command: false,
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): small, and the same everywhere.
#[derive(Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Uniform in [0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// About normal: twelve uniform numbers.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// A count from a positive figure.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "made-up figures are small and positive"
)]
pub(crate) fn whole(value: f64) -> u64 {
    value.max(0.0) as u64
}

/// The run of a scene, without verdicts.
pub(crate) fn run(scene: &Scene) -> RunRecord {
    let metric = metric::find(scene.metric);
    let configurations: Vec<Configuration> =
        scene.levels.iter().map(|(level, _)| configuration(scene, level)).collect();
    let baseline = scene.levels.first().map(|(level, _)| level.clone()).unwrap_or_default();
    let experiment = Experiment {
        name: scene.name.to_owned(),
        question: scene.question.map(str::to_owned),
        factors: vec![Factor {
            name: "barrier".to_owned(),
            levels: scene.levels.iter().map(|(level, _)| level.clone()).collect(),
            ..Factor::default()
        }],
        configurations,
        baseline_factor: "barrier".to_owned(),
        baseline_level: baseline.clone(),
        decide: Decide {
            metric: scene.metric.to_owned(),
            baseline,
            margin: Fraction(0.03),
            confidence: Fraction(0.95),
            blocks: iostone_model::experiment::BlockBudget::default(),
            time: None,
            conditioning: false,
            covariates: Vec::new(),
            claim: Claim::default(),
        },
        trials: Trials::default(),
        gates: Gates::default(),
        machine: MachineSpec::default(),
    };
    let plan = Plan {
        schema: PLAN_SCHEMA.to_owned(),
        run_id: "k3v9q2ha".to_owned(),
        created_at: "2026-11-21T19:40:07Z".to_owned(),
        iostone_version: "0.1.0".to_owned(),
        experiment,
        unit: metric.map_or(Unit::Plain, |metric| metric.unit),
        better: metric.map_or(Direction::Higher, |metric| metric.direction),
        seed: 0x5eed,
        quick: false,
        shrunk: Some(iostone_model::run::Shrunk { sizes: true, of_configurations: 2 }),
        identical_levels: false,
        overrides: Vec::new(),
        tags: Vec::new(),
        destroy: Vec::new(),
        superblock: 0,
        confounded: Some(Vec::new()),
    };
    let (trials, blocks) = trials(scene);
    RunRecord {
        directory: format!("20261121T194007-{}-k3v9q2ha", scene.name),
        plan,
        experiment_text: experiment_text(scene),
        environment: environment(),
        trials,
        pilots: Vec::new(),
        declared_ramp: None,
        covariates: Vec::new(),
        blocks,
        verdicts: None,
        finished: true,
        ended: Some("decided".to_owned()),
        defects: Vec::new(),
        audit: None,
        explanation: None,
    }
}

fn experiment_text(scene: &Scene) -> String {
    format!(
        "name = \"{}\"\n\n[stack]\nvolume     = {{ kind = \"loop\", size = \"1GiB\" }}\n\
         filesystem = {{ kind = \"ext4\" }}\nmount      = {{ options = [\"noatime\"] }}\n\n[[factor]]\n\
         name = \"barrier\"\nlevels = {{ on = {{ mount.options = [\"barrier=1\"] }}, off = {{ mount.options = [\"barrier=0\"] }} }}\n\n\
         [workload]\nkind = \"io\"\nrw = \"randwrite\"\nbs = \"4KiB\"\niodepth = 8\nfdatasync = 1\nruntime = \"10s\"\n\n\
         [decide]\nmetric = \"{}\"\nbaseline = \"on\"\nmargin = \"3%\"\n",
        scene.name, scene.metric
    )
}

fn configuration(scene: &Scene, level: &str) -> Configuration {
    let io = IoWorkload {
        iodepth: 8,
        size: Some(Bytes(512 << 20)),
        runtime: Some(iostone_model::experiment::Timing::Fixed(Span(Duration::from_secs(10)))),
        direct: true,
        fdatasync: 1,
        ..IoWorkload::new(Rw::RandWrite)
    };
    let command = iostone_model::experiment::CommandWorkload {
        argv: ["make", "-j4", "all"].map(str::to_owned).to_vec(),
        ..Default::default()
    };
    Configuration {
        name: level.to_owned(),
        levels: BTreeMap::from([("barrier".to_owned(), level.to_owned())]),
        stack: Stack {
            volume: Volume::Loop(LoopVolume {
                directory: Some(PathBuf::from("/srv/lab")),
                ..LoopVolume::new(Bytes(1 << 30))
            }),
            array: Array::None,
            queue: Queue::default(),
            limit: iostone_model::experiment::Limit::default(),
            link: None,
            governor: None,
            container: iostone_model::experiment::Container::None,
            sysctl: iostone_model::experiment::Sysctl::default(),
            filesystem: Filesystem::Ext4(Ext4::default()),
            mount: Mount { options: vec!["noatime".to_owned()] },
        },
        workload: if scene.command { Workload::Command(command) } else { Workload::Io(Box::new(io)) },
        machine: MachineSpec::default(),
        price: None,
    }
}

fn trials(scene: &Scene) -> (Vec<TrialRecord>, Vec<BlockRecord>) {
    let mut random = Random(7);
    let mut trials = Vec::new();
    let mut blocks = Vec::new();
    for block in 0..scene.blocks {
        let mut order: Vec<usize> = (0..scene.levels.len()).collect();
        if random.uniform() < 0.5 {
            order.reverse();
        }
        let discarded = scene.discarded.contains(&block);
        let weather = random.normal() * scene.cv * 0.5;
        for (position, index) in order.iter().enumerate() {
            let (level, typical) = &scene.levels[*index];
            let figure = typical * (1.0 + weather + random.normal() * scene.cv);
            let fails = discarded && position == 0;
            let steal = if fails { 0.071 } else { 0.004 * random.uniform() };
            trials.push(trial(
                scene,
                &mut random,
                trials.len(),
                (block, position),
                (*index, level),
                (figure, steal),
            ));
        }
        blocks.push(BlockRecord {
            number: block,
            order: order.iter().map(|index| scene.levels[*index].0.clone()).collect(),
            counted: !discarded,
            reason: discarded.then(|| "steal".to_owned()),
            loss: None,
        });
    }
    (trials, blocks)
}

#[expect(clippy::too_many_lines, reason = "a record field by field")]
fn trial(
    scene: &Scene,
    random: &mut Random,
    done: usize,
    (block, position): (u32, usize),
    (index, level): (usize, &str),
    (figure, steal): (f64, f64),
) -> TrialRecord {
    let number = u32::try_from(done + 1).unwrap_or(u32::MAX);
    let valid = steal <= 0.05;
    let seconds = 10.0;
    let written = if scene.metric == "throughput" { whole(figure * seconds) } else { 320_000_000 };
    let flushes = if index == 0 { 18_342 + whole(200.0 * random.uniform()) } else { 0 };
    let served = DiskCounters {
        writes: written / 4096,
        written_bytes: written + written / 50,
        flushes,
        busy_ms: 9_700,
        ..DiskCounters::default()
    };
    let gates = vec![
        GateOutcome {
            gate: "steal".to_owned(),
            passed: valid,
            message: format!("steal {:.1} % of CPU time, limit 5 %", steal * 100.0),
            unjudged: false,
            reading: Some(GateReading { value: steal, limit: 0.05, unit: Unit::Share }),
        },
        GateOutcome {
            gate: "served".to_owned(),
            passed: true,
            message: "served 102 % of what was claimed".to_owned(),
            unjudged: false,
            reading: None,
        },
    ];
    let option = if index == 0 { "barrier=1" } else { "barrier=0" };
    let check = Check {
        layer: "mount".to_owned(),
        asked: option.to_owned(),
        read_back: if index == 0 { "barrier (default)" } else { "nobarrier" }.to_owned(),
        from: "/proc/fs/ext4/loop0/options".to_owned(),
    };
    let latency = if scene.latency { histogram(random, index) } else { Vec::new() };
    let report = WorkloadReport {
        kind: if scene.command { "command" } else { "io" }.to_owned(),
        measured_seconds: seconds,
        claimed_read_bytes: 0,
        claimed_written_bytes: written,
        error: None,
        facts: BTreeMap::from([("engine".to_owned(), "io_uring, 8 in flight".to_owned())]),
        operations_per_100ms: if scene.latency {
            timeline(random, figure / 4096.0 / 10.0)
        } else {
            Vec::new()
        },
        latency_histogram: latency,
        ..WorkloadReport::default()
    };
    TrialRecord {
        schema: TRIAL_SCHEMA.to_owned(),
        number,
        block,
        position: u32::try_from(position).unwrap_or(u32::MAX),
        configuration: level.to_owned(),
        session: 0,
        started_at: format!("2026-11-21T19:{:02}:{:02}Z", 40 + number / 3, number % 60),
        total_seconds: 14.2,
        phases: None,
        conditioned_seconds: None,
        metrics: BTreeMap::from([(scene.metric.to_owned(), figure)]),
        ramp_seconds: 0.0,
        steady_state: None,
        taken: None,
        workload: report,
        checks: vec![check],
        notes: vec!["backing file on ext4, buffered".to_owned()],
        syncs_dropped_below: None,
        guest: None,
        container: None,
        space: None,
        governor: None,
        signals: SignalSummary {
            seconds,
            samples: 100,
            steal: Some(steal),
            cpu: None,
            cpu_busy: 0.21,
            throttled: None,
            io_pressure: Some(0.88),
            dirty_peak_bytes: 4 << 20,
            devices: vec![
                DeviceActivity {
                    name: "loop0".to_owned(),
                    role: "stack".to_owned(),
                    flushes_counted: true,
                    volatile_cache: None,
                    served,
                },
                DeviceActivity {
                    name: "nvme0n1".to_owned(),
                    role: "below".to_owned(),
                    flushes_counted: true,
                    volatile_cache: None,
                    served,
                },
            ],
            nvme: Vec::new(),
            probe_cpu_seconds: 0.02,
            clock_jump_seconds: 0.0,
        },
        gates,
        valid,
    }
}

/// Latencies about log-normal with a rare slow mode, in buckets of a sixteenth of an octave.
fn histogram(random: &mut Random, index: usize) -> Vec<(u64, u64)> {
    let typical = 120e3 * f64::from(u32::try_from(index + 1).unwrap_or(u32::MAX)).powf(0.7);
    let mut buckets: BTreeMap<u64, u64> = BTreeMap::new();
    for drawn in 0..3_000 {
        let slow = if drawn % 700 == 3 { 18.0 } else { 1.0 };
        let ns = typical * slow * (random.normal() * 0.28).exp();
        let bucket = ((ns.log2() * 16.0).round() / 16.0).exp2();
        *buckets.entry(whole(bucket)).or_default() += 1;
    }
    buckets.into_iter().collect()
}

fn timeline(random: &mut Random, typical: f64) -> Vec<u64> {
    let slot = |at: u32, random: &mut Random| {
        let dip = if at % 37 == 20 { 0.35 } else { 1.0 };
        whole(typical * dip * (1.0 + 0.06 * random.normal()))
    };
    (0..100).map(|at| slot(at, random)).collect()
}

/// A host that is nobody's.
pub(crate) fn environment() -> Environment {
    Environment {
        schema: iostone_model::environment::ENVIRONMENT_SCHEMA.to_owned(),
        iostone_version: "0.1.0".to_owned(),
        taken_at: "2026-11-21T19:40:07Z".to_owned(),
        host: "bench-07".to_owned(),
        dmi: BTreeMap::from([("product_name".to_owned(), "m5.large".to_owned())]),
        platform: None,
        virtualisation: Virtualisation { hypervisor: "kvm".to_owned(), container: None, steal: None },
        cpu: Cpu {
            model: "AMD EPYC 7543P 32-Core Processor".to_owned(),
            architecture: "x86_64".to_owned(),
            logical: 64,
            cores: Some(32),
            sockets: Some(1),
            numa_nodes: Some(2),
            governor: Some("performance".to_owned()),
            mitigations: None,
        },
        memory: Memory { total_bytes: 128 << 30, available_bytes: 120 << 30, ..Memory::default() },
        kernel: Kernel {
            release: "6.12.9-amd64".to_owned(),
            version: "#1 SMP PREEMPT_DYNAMIC".to_owned(),
            command_line: None,
            io_uring_disabled: Some(0),
        },
        os: Some("Debian GNU/Linux 13 (trixie)".to_owned()),
        block_devices: vec![BlockDevice {
            name: "nvme0n1".to_owned(),
            number: "259:0".to_owned(),
            size_bytes: 1_920_383_410_176,
            model: Some("SAMSUNG MZQL21T9HCJR".to_owned()),
            firmware: Some("GDC5602Q".to_owned()),
            scheduler: Some("none".to_owned()),
            write_cache: Some("write back".to_owned()),
            ..BlockDevice::default()
        }],
        cgroup: Cgroup { mode: "v2".to_owned(), ..Cgroup::default() },
        clocksource: Some("kvm-clock".to_owned()),
        pressure_stall_information: true,
        root: true,
        ..Environment::default()
    }
}
