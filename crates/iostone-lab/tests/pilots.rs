//! Runs on a machine made of a script: pilots, the ramp they declare, and runs that find none.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iostone_lab::{
    Conductor, Ending, LabError, Observer, PlanOptions, Progress, RunDirectory, make_plan, read_run,
};
use iostone_machine::{Event, Failure, FailureKind, Machine, Measured, Reply, Request};
use iostone_model::experiment::{IoWorkload, Timing, Workload, read};
use iostone_model::run::{Plan, RunRecord};
use iostone_model::sample::{CpuTimes, Sample};
use iostone_model::trial::{SignalSummary, WorkloadReport};
use iostone_model::units::{Span, round_count};
use iostone_model::verdict::{Verdict, Verdicts};

const BARRIER: &str = include_str!("../../../experiments/barrier.toml");

/// Operations in a tenth of a second, so many tenths after the start of the load.
type Rate = fn(configuration: &str, tenths: u32) -> u64;

/// The share of all CPU time that is stolen in a tenth of a second of a run, by the number of the run.
type Steal = fn(run: usize, tenths: u32) -> f64;

/// A machine on which nothing takes any time.
struct Scripted {
    rate: Rate,
    /// Work follows what is left; none where the kernel sees no steal.
    steal: Option<Steal>,
    prepared: Option<(String, IoWorkload)>,
    /// What was run: configuration, ramp and runtime.
    run: Vec<(String, Timing, Span)>,
    /// Raised once so many runs are over.
    stop_after: Option<(usize, Arc<AtomicBool>)>,
    finished: bool,
}

impl Scripted {
    fn new(rate: Rate) -> Self {
        Self { rate, steal: None, prepared: None, run: Vec::new(), stop_after: None, finished: false }
    }

    fn measure(&mut self) -> Measured {
        let (configuration, io) = self.prepared.take().unwrap();
        let tenths = |span: Span| u32::try_from(span.0.as_millis() / 100).unwrap();
        let (ramp, runtime) = (tenths(io.ramp_time.span()), io.asked_runtime().unwrap());
        let series: Vec<u64> =
            (ramp..ramp + tenths(runtime)).map(|at| self.completed(&configuration, at)).collect();
        let seconds = runtime.0.as_secs_f64();
        // Every run differs a little, as it does on a machine.
        let noise = 1.0 + 1e-4 * f64::from(u32::try_from(self.run.len() * 7 % 5).unwrap());
        let iops = series.iter().sum::<u64>() as f64 / seconds * noise;
        let signals = self.signals(ramp + tenths(runtime));
        self.run.push((configuration, io.ramp_time, runtime));
        if let Some((runs, stop)) = &self.stop_after {
            stop.fetch_or(self.run.len() >= *runs, Ordering::Relaxed);
        }
        Measured {
            metrics: [("iops".to_owned(), iops)].into(),
            report: WorkloadReport {
                kind: "io".to_owned(),
                measured_seconds: seconds,
                operations_per_100ms: series,
                ..WorkloadReport::default()
            },
            signals,
            ..Measured::default()
        }
    }

    fn stolen(&self, tenths: u32) -> f64 {
        self.steal.map_or(0.0, |steal| steal(self.run.len(), tenths))
    }

    fn completed(&self, configuration: &str, tenths: u32) -> u64 {
        let rate = (self.rate)(configuration, tenths) as f64;
        round_count(rate * (1.0 - self.stolen(tenths)))
    }

    fn signals(&self, tenths: u32) -> SignalSummary {
        let all: f64 = (0..tenths).map(|at| self.stolen(at)).sum();
        SignalSummary {
            seconds: f64::from(tenths) / 10.0,
            steal: self.steal.map(|_| all / f64::from(tenths)),
            ..SignalSummary::default()
        }
    }

    /// What the probe saw of the run that is about to be measured: two processors, half idle but for what is stolen.
    fn samples(&self) -> Vec<Sample> {
        let Some((_, io)) = &self.prepared else { return Vec::new() };
        let whole = io.ramp_time.span().0 + io.asked_runtime().unwrap().0;
        let tenths = u32::try_from(whole.as_millis() / 100).unwrap();
        let mut cpu = CpuTimes::default();
        let sample = |at: u32| {
            let sample = Sample { at_ns: u64::from(at) * 100_000_000, cpu, ..Sample::default() };
            let stolen = round_count(2e8 * self.stolen(at));
            cpu.steal_ns += stolen;
            cpu.idle_ns += 200_000_000 - stolen;
            sample
        };
        (0..=tenths).map(sample).collect()
    }
}

impl Machine for Scripted {
    fn call(&mut self, request: Request, events: &mut dyn FnMut(Event)) -> Result<Reply, Failure> {
        // From JSON, as over the wire: what replies hold is the stack's affair.
        let reply = |text: &str| serde_json::from_str(text).unwrap();
        Ok(match request {
            Request::Describe { .. } => Reply::Environment(Box::default()),
            Request::Preflight { .. } => Reply::Preflight { stacks: Vec::new() },
            Request::Apply { .. } => reply(
                r#"{"reply":"applied","target":{"directory":"/","device":null,"mount":null},"checks":[],"notes":[],"devices":[]}"#,
            ),
            Request::Verify => Reply::Verified { checks: Vec::new() },
            Request::Prepare(prepare) => {
                let Workload::Io(io) = prepare.workload else { panic!("an io workload") };
                self.prepared = Some((prepare.configuration, *io));
                reply(r#"{"reply":"prepared","seconds":0.0}"#)
            }
            Request::Settle(_) => reply(
                r#"{"reply":"settled","at_rest":true,"waited_seconds":0.0,"bytes_per_second":0.0,"busiest":null}"#,
            ),
            Request::Run(_) => {
                events(Event::Samples { samples: self.samples() });
                Reply::Measured(Box::new(self.measure()))
            }
            Request::Finish => {
                self.finished = true;
                Reply::Done
            }
            Request::Begin(_) | Request::Undo => Reply::Done,
            other => return Err(Failure::new(FailureKind::Usage, format!("{other:?} is not scripted"))),
        })
    }
}

/// Keeps what a run told of its pilots.
#[derive(Default)]
struct Told(Vec<String>);

impl Observer for Told {
    fn observe(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::PilotRecorded { record } => self.0.push(format!("pilot {}", record.configuration)),
            Progress::RampDeclared { ramp } => self.0.push(format!("declared {}", ramp.ramp)),
            Progress::TrialBegun { block: 1, .. } => self.0.push("trial".to_owned()),
            _ => {}
        }
    }
}

fn plan(text: &str) -> Plan {
    make_plan(read(text, &[]).unwrap(), PlanOptions::default()).unwrap()
}

fn with_pilots() -> String {
    // Whether a run is decided at its last look depends on the order of its trials, so that is fixed.
    let seeded = BARRIER.replace("[decide]", "[trials]\nseed = 1\n\n[decide]");
    seeded.replace("ramp_time = \"1s\"", "ramp_time = \"auto\"").replace("max = 40", "max = 8")
}

/// Conducts a session and gives how it ended, what it told and what is on the disk.
fn conduct(
    plan: &Plan,
    directory: &mut RunDirectory,
    machine: &mut Scripted,
) -> (Result<(Ending, Verdicts), LabError>, Vec<String>) {
    let mut told = Told::default();
    let stop = match &machine.stop_after {
        Some((_, stop)) => Arc::clone(stop),
        None => Arc::new(AtomicBool::new(false)),
    };
    let ended = Conductor::new(plan, directory, machine, &mut told, stop).unwrap().run();
    assert!(machine.finished, "the session was left open");
    (ended, told.0)
}

fn new_run(parent: &Path, text: &str) -> (Plan, RunDirectory) {
    let plan = plan(text);
    let directory = RunDirectory::create(parent, &plan, text).unwrap();
    (plan, directory)
}

fn record(directory: &RunDirectory) -> RunRecord {
    let record = read_run(directory.path()).unwrap();
    assert_eq!(record.defects, Vec::<String>::new());
    record
}

fn seconds(seconds: u64) -> Span {
    Span(Duration::from_secs(seconds))
}

/// `on` warms up for three seconds, `off` for six; then `off` is twice as fast.
fn settling(configuration: &str, tenths: u32) -> u64 {
    match configuration {
        "on" if tenths < 30 => 100,
        "on" => 1000,
        _ if tenths < 60 => 5000,
        _ => 2000,
    }
}

#[test]
fn the_longest_cut_is_declared_and_every_trial_has_it() {
    let parent = tempfile::tempdir().unwrap();
    let (plan, mut directory) = new_run(parent.path(), &with_pilots());
    let mut machine = Scripted::new(settling);
    let (ended, told) = conduct(&plan, &mut directory, &mut machine);
    let (ending, verdicts) = ended.unwrap();
    assert_eq!(ending, Ending::Decided);
    assert_eq!(told[..4], ["pilot on", "pilot off", "declared 6s", "trial"], "{told:?}");
    // A warm-up and a pilot of each, then the blocks.
    let pilots: Vec<_> = machine.run[2..4].iter().map(|(_, ramp, runtime)| (*ramp, *runtime)).collect();
    assert_eq!(pilots, [(Timing::default(), seconds(20)); 2]);
    for (configuration, ramp, runtime) in &machine.run[4..] {
        assert_eq!((*ramp, *runtime), (Timing::Fixed(seconds(6)), seconds(10)), "{configuration}");
    }
    // With the warm-up in it `off` would be two and a half times as fast, and `on` would have been steady nowhere.
    assert_eq!(verdicts.comparisons[0].verdict, Some(Verdict::Faster));
    assert!((verdicts.comparisons[0].ratio.unwrap() - 2.0).abs() < 0.01);
    assert!(!verdicts.flags.iter().any(|flag| flag.name == "not-steady"), "{:?}", verdicts.flags);
    let record = record(&directory);
    assert_eq!((record.pilots.len(), record.trials.len()), (2, machine.run.len() - 4));
    let declared = record.declared_ramp.unwrap();
    assert_eq!((declared.ramp, declared.asked_by.as_str(), declared.pilots), (seconds(6), "off", 2));
    assert!(record.trials.iter().all(|trial| (trial.ramp_seconds - 6.0).abs() < 1e-9));
    // The plan stays as it was declared: the ramp stands in the journal.
    assert_eq!(record.plan, plan);
}

#[test]
fn an_interrupted_run_goes_on_with_the_pilots_it_has_and_the_ramp_it_declared() {
    let parent = tempfile::tempdir().unwrap();
    let (plan, mut directory) = new_run(parent.path(), &with_pilots());
    let path = directory.path().to_owned();
    let mut machine = Scripted::new(settling);
    machine.stop_after = Some((3, Arc::new(AtomicBool::new(false))));
    let (ended, told) = conduct(&plan, &mut directory, &mut machine);
    assert!(ended.unwrap_err().is_interrupt());
    assert_eq!(told, ["pilot on"]);
    drop(directory);

    let (mut directory, plan, _) = RunDirectory::resume(&path).unwrap();
    let mut machine = Scripted::new(settling);
    machine.stop_after = Some((5, Arc::new(AtomicBool::new(false))));
    let (ended, told) = conduct(&plan, &mut directory, &mut machine);
    assert!(ended.unwrap_err().is_interrupt());
    assert_eq!(told, ["pilot off", "declared 6s", "trial", "trial"]);
    drop(directory);

    // Even if pilots would now show something else.
    let (mut directory, plan, _) = RunDirectory::resume(&path).unwrap();
    let mut machine = Scripted::new(|_, _| 1000);
    let (_, told) = conduct(&plan, &mut directory, &mut machine);
    assert_eq!(told[0], "declared 6s");
    assert!(machine.run[2..].iter().all(|(_, ramp, _)| *ramp == Timing::Fixed(seconds(6))));
    let sessions: Vec<u32> = record(&directory).pilots.iter().map(|pilot| pilot.session).collect();
    assert_eq!(sessions, [0, 1]);
}

#[test]
fn a_rate_that_never_settles_ends_the_run_after_three_pilots() {
    let parent = tempfile::tempdir().unwrap();
    let (plan, mut directory) = new_run(parent.path(), &with_pilots());
    let path = directory.path().to_owned();
    let climbing: Rate = |_, tenths| 100 + u64::from(tenths);
    let mut machine = Scripted::new(climbing);
    let (ended, told) = conduct(&plan, &mut directory, &mut machine);
    let error = ended.unwrap_err().to_string();
    assert!(error.contains("the warm-up of `on` has no end within half of a pilot of 80s"), "{error}");
    assert_eq!(told, ["pilot on"; 3]);
    let lengths: Vec<Span> = machine.run[2..].iter().map(|(_, _, runtime)| *runtime).collect();
    assert_eq!(lengths, [20, 40, 80].map(seconds));
    let ended = record(&directory);
    assert!(ended.trials.is_empty() && ended.declared_ramp.is_none());
    assert!(ended.ended.unwrap().contains("has no end"));
    drop(directory);

    // It is known when the run is taken up again.
    let (mut directory, plan, _) = RunDirectory::resume(&path).unwrap();
    let (ended, told) = conduct(&plan, &mut directory, &mut Scripted::new(climbing));
    assert!(ended.is_err() && told.is_empty(), "{told:?}");
}

#[test]
fn of_twenty_configurations_one_odd_pilot_does_not_decide_for_all() {
    let values: Vec<String> = (1..=20).map(|depth| depth.to_string()).collect();
    let text = with_pilots()
        .replace(
            "name = \"barrier\"\n",
            &format!("name = \"depth\"\npath = \"workload.iodepth\"\nvalues = [{}]\n", values.join(", ")),
        )
        .lines()
        .filter(|line| !line.starts_with("levels ="))
        .collect::<Vec<_>>()
        .join("\n")
        .replace("baseline = \"on\"", "baseline = \"1\"")
        .replace("max = 8", "max = 16");
    let parent = tempfile::tempdir().unwrap();
    let (plan, mut directory) = new_run(parent.path(), &text);
    // Depth 7 takes eight seconds, the others up to two, in steps of half a second.
    let mut machine = Scripted::new(|depth, tenths| {
        let slow = if depth == "7" { 80 } else { 5 * (depth.parse::<u32>().unwrap() / 5) };
        if tenths < slow { 100 } else { 1000 }
    });
    machine.stop_after = Some((40, Arc::new(AtomicBool::new(false))));
    let (ended, _) = conduct(&plan, &mut directory, &mut machine);
    assert!(ended.unwrap_err().is_interrupt());
    let declared = record(&directory).declared_ramp.unwrap();
    assert_eq!((declared.rule.as_str(), declared.pilots), ("90th percentile", 20));
    assert_eq!(declared.ramp, Span(Duration::from_millis(1500)));
}

#[test]
fn a_fixed_ramp_runs_no_pilot_and_trials_that_fall_are_flagged() {
    let parent = tempfile::tempdir().unwrap();
    let text = with_pilots().replace("\"auto\"", "\"1s\"");
    let (plan, mut directory) = new_run(parent.path(), &text);
    let mut machine = Scripted::new(
        |configuration, tenths| {
            if configuration == "on" { 1000 } else { 3000 - 10 * u64::from(tenths) }
        },
    );
    let (ended, told) = conduct(&plan, &mut directory, &mut machine);
    assert_eq!(told, ["trial", "trial"]);
    assert!(machine.run.iter().all(|(_, ramp, _)| *ramp == Timing::Fixed(seconds(1))));
    let (_, verdicts) = ended.unwrap();
    let flag = verdicts.flags.iter().find(|flag| flag.name == "not-steady").unwrap();
    // How many blocks it takes is a matter of the drawn orders.
    assert!(flag.message.contains(" under `off` (it falls)"), "{}", flag.message);
    let audit = read_run(directory.path()).unwrap().audit.unwrap();
    let finding = audit.findings.iter().find(|finding| finding.rule == "not-steady").unwrap();
    assert!(finding.advice.contains("`workload.ramp_time = \"auto\"`"), "{}", finding.advice);
    assert!(record(&directory).pilots.is_empty());
    assert!(!directory.path().join("pilots").exists());
}

/// Whole seconds are stolen from, more of some runs than of others.
fn bursts(run: usize, tenths: u32) -> f64 {
    let bursts = u32::try_from(run * 7 % 6).unwrap();
    if tenths / 10 % 6 < bursts { 0.3 } else { 0.0 }
}

#[test]
fn what_was_stolen_is_taken_out_by_the_slope_that_the_pilots_show() {
    let equal: Rate = |_, _| 1000;
    let text = with_pilots()
        .replace("[decide]", "[decide]\ncovariates = [\"steal\"]")
        .replace("max = 8", "max = 12");
    let parent = tempfile::tempdir().unwrap();
    let (plan, mut directory) = new_run(parent.path(), &text);
    let mut machine = Scripted { steal: Some(bursts), ..Scripted::new(equal) };
    let (ending, verdicts) = conduct(&plan, &mut directory, &mut machine).0.unwrap();
    assert_eq!(ending, Ending::Decided, "{:?}", verdicts.comparisons);
    let found = &verdicts.comparisons[0];
    assert_eq!(found.verdict, Some(Verdict::Equivalent));
    assert!(found.flags.iter().any(|flag| flag.name == "adjusted"), "{:?}", found.flags);
    let record = record(&directory);
    assert!((record.covariates[0].slope().unwrap() - 1.0).abs() < 0.02, "{:?}", record.covariates);
    // The pilots are long enough to see bursts, and no trial is discarded for them.
    assert_eq!(record.pilots[0].runtime, seconds(30));
    let gate = |trial: &iostone_model::trial::TrialRecord| {
        trial.gates.iter().find(|gate| gate.gate == "steal").map(|gate| (gate.passed, gate.unjudged))
    };
    assert!(record.trials.iter().all(|trial| gate(trial) == Some((true, true))));
}

#[test]
fn where_nothing_is_stolen_nothing_is_adjusted_and_a_resumed_run_keeps_what_was_declared() {
    let text = with_pilots().replace("[decide]", "[decide]\ncovariates = [\"steal\"]");
    let parent = tempfile::tempdir().unwrap();
    let (plan, mut directory) = new_run(parent.path(), &text);
    let stop = Arc::new(AtomicBool::new(false));
    let mut machine = Scripted { stop_after: Some((9, stop)), ..Scripted::new(settling) };
    conduct(&plan, &mut directory, &mut machine).0.unwrap_err();
    let declared = record(&directory).covariates;
    assert_eq!(declared[0].to_string(), "steal: not adjusted, steal is not observable here");
    let mut later = Scripted { steal: Some(bursts), ..Scripted::new(settling) };
    conduct(&plan, &mut directory, &mut later).0.unwrap();
    assert_eq!(record(&directory).covariates, declared);
}
