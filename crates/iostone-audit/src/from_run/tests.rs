//! Tests of datasets made of runs, and of what the rules say of healthy and of unhealthy ones.

use iostone_model::audit::{AuditReport, Severity};
use iostone_model::environment::Environment;
use iostone_model::experiment::{self, Rw, Workload};
use iostone_model::metric::{Direction, Unit};
use iostone_model::run::{BlockRecord, PLAN_SCHEMA};
use iostone_model::sample::DiskCounters;
use iostone_model::trial::{ContainerFacts, DeviceActivity, SignalSummary, TRIAL_SCHEMA};

use super::*;
use crate::judge;

/// A run of the experiment on write barriers with eight blocks, of which one does not count.
fn run() -> RunRecord {
    let text = include_str!("../../../../experiments/barrier.toml");
    let experiment = experiment::read(text, &[]).unwrap();
    let mut environment = Environment {
        host: "bench-07".to_owned(),
        iostone_version: "0.1.0".to_owned(),
        ..Environment::default()
    };
    environment.memory.total_bytes = 16 << 30;
    environment.cpu.logical = 4;
    environment.kernel.release = "6.12.9-amd64".to_owned();
    let mut run = RunRecord {
        directory: "20261121T194007-ext4-barrier-k3v9q2ha".to_owned(),
        plan: Plan {
            schema: PLAN_SCHEMA.to_owned(),
            run_id: "k3v9q2ha".to_owned(),
            created_at: "2026-11-21T19:40:07Z".to_owned(),
            iostone_version: "0.1.0".to_owned(),
            experiment,
            unit: Unit::PerSecond,
            better: Direction::Higher,
            seed: 7,
            quick: false,
            shrunk: None,
            identical_levels: false,
            overrides: Vec::new(),
            tags: Vec::new(),
            destroy: Vec::new(),
            superblock: 0,
            confounded: Some(Vec::new()),
        },
        experiment_text: text.to_owned(),
        environment,
        trials: Vec::new(),
        pilots: Vec::new(),
        declared_ramp: None,
        covariates: Vec::new(),
        blocks: Vec::new(),
        verdicts: None,
        finished: true,
        ended: Some("decided".to_owned()),
        defects: Vec::new(),
        audit: None,
        explanation: None,
    };
    for block in 0..8u32 {
        let order = if block % 3 == 1 { ["off", "on"] } else { ["on", "off"] };
        for (position, name) in (0u32..).zip(order) {
            let number = block * 2 + position + 1;
            run.trials.push(trial(number, block, name));
        }
        let counted = block != 3;
        let order = order.map(str::to_owned).to_vec();
        run.blocks.push(BlockRecord {
            number: block,
            order,
            counted,
            reason: (!counted).then(|| "steal".to_owned()),
            loss: None,
        });
    }
    run
}

fn trial(number: u32, block: u32, name: &str) -> TrialRecord {
    // Not rounded, and no two alike.
    let noise = 1.0 + 0.02 * (f64::from(number) * 12.9898).sin();
    let iops = if name == "on" { 1449.3 } else { 1502.7 } * noise;
    let written = 4096 * u64::from(number + 14_000);
    let served =
        DiskCounters { written_bytes: written + written / 50, flushes: 9_000, ..DiskCounters::default() };
    TrialRecord {
        schema: TRIAL_SCHEMA.to_owned(),
        number,
        block,
        position: (number + 1) % 2,
        configuration: name.to_owned(),
        session: 0,
        started_at: format!("2026-11-21T19:{:02}:07.25Z", 40 + number),
        total_seconds: 14.2,
        phases: None,
        conditioned_seconds: None,
        metrics: [("iops", iops), ("throughput", iops * 4096.0), ("latency_mean", 1.0 / iops)]
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
        ramp_seconds: 1.0,
        guest: None,
        container: None,
        space: None,
        governor: None,
        steady_state: None,
        taken: None,
        workload: WorkloadReport {
            kind: "io".to_owned(),
            measured_seconds: 10.0,
            claimed_written_bytes: written,
            ..WorkloadReport::default()
        },
        checks: Vec::new(),
        notes: Vec::new(),
        syncs_dropped_below: None,
        signals: SignalSummary {
            seconds: 10.0,
            samples: 100,
            steal: Some(0.004),
            devices: vec![
                DeviceActivity {
                    name: "nvme0n1".to_owned(),
                    role: "below".to_owned(),
                    ..DeviceActivity::default()
                },
                DeviceActivity {
                    name: "loop0".to_owned(),
                    role: "stack".to_owned(),
                    served,
                    flushes_counted: true,
                    volatile_cache: None,
                },
            ],
            ..SignalSummary::default()
        },
        gates: Vec::new(),
        valid: true,
    }
}

/// The workload of every configuration, changed.
fn with_io(mut run: RunRecord, change: impl Fn(&mut experiment::IoWorkload)) -> RunRecord {
    for configuration in &mut run.plan.experiment.configurations {
        let Workload::Io(io) = &mut configuration.workload else { panic!("an io workload") };
        change(io);
    }
    run
}

fn doubts(report: &AuditReport) -> Vec<(&str, Severity)> {
    let grave = report.findings.iter().filter(|finding| finding.severity > Severity::Note);
    grave.map(|finding| (finding.rule.as_str(), finding.severity)).collect()
}

#[test]
fn only_trials_of_counted_blocks_are_observations() {
    let run = run();
    let dataset = evidence_of_run(&run);
    assert_eq!(dataset.observations.len(), 14);
    assert_eq!(dataset.files.len(), 14);
    assert!(dataset.observations.iter().all(|observation| observation.block != Some(3)));
}

#[test]
fn in_an_unfit_environment_the_trials_that_were_judged_are_audited() {
    let mut run = run();
    for block in &mut run.blocks {
        block.counted = true;
    }
    for trial in run.trials.iter_mut().filter(|trial| trial.block < 4) {
        trial.valid = false;
    }
    run.plan.experiment.decide.blocks.max = 7;
    let dataset = evidence_of_run(&run);
    assert_eq!(
        dataset.observations.len(),
        run.trials.len(),
        "failed gates and all, as the report shows them"
    );
}

#[test]
fn an_observation_carries_what_the_run_knows() {
    let run = run();
    let dataset = evidence_of_run(&run);
    assert_eq!(
        (dataset.order, dataset.factors.as_slice()),
        (Order::RandomisedBlocks, ["barrier".to_owned()].as_slice())
    );
    let first = &dataset.observations[0];
    assert_eq!(first.file, "20261121T194007-ext4-barrier-k3v9q2ha/trials/000001/trial.json");
    assert_eq!(first.labels["barrier"], "on");
    assert_eq!(first.labels["kernel"], "6.12.9-amd64");
    assert_eq!((first.block, first.run.as_deref()), (Some(0), Some("1")));
    let later = dataset.observations[1].order.unwrap() - first.order.unwrap();
    assert!((later - 60.0).abs() < 1e-6);
    let facts = &first.facts;
    assert_eq!((facts.claimed_read_bytes, facts.claimed_written_bytes), (Some(0), Some(4096 * 14_001)));
    assert_eq!(facts.served_written_bytes, Some(4096 * 14_001 * 51 / 50));
    assert_eq!((facts.working_set_bytes, facts.volume_bytes), (Some(256 << 20), Some(1 << 30)));
    assert_eq!((facts.memory_bytes, facts.cpus), (Some(16 << 30), Some(4.0)));
    assert_eq!((facts.direct, facts.flushed), (Some(false), Some(true)));
    assert_eq!(facts.ending, Some(Ending::Completed));
    assert_eq!(dataset.metrics["iops"].unit, Unit::PerSecond);
    let works: Vec<_> = dataset.observations.iter().map(|observation| &observation.facts.work).collect();
    assert!(works.iter().all(|work| work.is_some() && *work == works[0]));
}

#[test]
fn times_that_cannot_be_read_leave_the_order_of_numbers() {
    let mut run = run();
    run.trials[2].started_at = "yesterday".to_owned();
    let orders: Vec<_> = evidence_of_run(&run).observations.iter().map(|one| one.order.unwrap()).collect();
    assert_eq!(orders[..3], [1.0, 2.0, 3.0]);
}

#[test]
fn a_healthy_run_raises_no_doubt() {
    let report = judge(&evidence_of_run(&run()));
    assert_eq!(doubts(&report), [], "{:#?}", report.findings);
}

#[test]
fn bytes_that_the_device_never_served_are_told_of_a_run_too() {
    let mut run = with_io(run(), |io| io.rw = Rw::RandRead);
    for trial in &mut run.trials {
        trial.workload.claimed_read_bytes = std::mem::take(&mut trial.workload.claimed_written_bytes);
    }
    let report = judge(&evidence_of_run(&run));
    let doubts = doubts(&report);
    assert!(doubts.contains(&("page-cache", Severity::Serious)), "{doubts:?}");
    assert!(doubts.contains(&("small-file", Severity::Serious)), "{doubts:?}");
}

#[test]
fn what_a_ramp_was_served_does_not_clear_what_memory_answered_later() {
    let mut run = with_io(run(), |io| io.rw = Rw::RandRead);
    for trial in &mut run.trials {
        let claimed = std::mem::take(&mut trial.workload.claimed_written_bytes);
        trial.workload.claimed_read_bytes = claimed;
        for device in &mut trial.signals.devices {
            device.served.read_bytes = claimed;
        }
    }
    let is_cached = |run: &RunRecord| {
        let report = judge(&evidence_of_run(run));
        doubts(&report).contains(&("page-cache", Severity::Serious))
    };
    assert!(!is_cached(&run), "without the ratio nothing is known of the ramp");
    for trial in &mut run.trials {
        trial.metrics.insert("read_per_claimed_byte".to_owned(), 0.25);
    }
    let first = &evidence_of_run(&run).observations[0];
    assert_eq!(first.facts.served_read_bytes, Some(1024 * 14_001));
    assert!(is_cached(&run));
}

#[test]
fn work_in_memory_is_held_to_no_device() {
    let mut run = run();
    for trial in &mut run.trials {
        let facts = ContainerFacts { place: "tmpfs".to_owned(), ..ContainerFacts::default() };
        trial.container = Some(Box::new(facts));
        for device in &mut trial.signals.devices {
            (device.served, device.volatile_cache) = (DiskCounters::default(), Some(true));
        }
    }
    let dataset = evidence_of_run(&run);
    let facts = &dataset.observations[0].facts;
    assert_eq!((facts.served_read_bytes, facts.served_written_bytes), (None, None));
    assert_eq!((facts.served_flushes, facts.volatile_cache), (None, None));
    let report = judge(&dataset);
    let is_of_a_device = |rule: &str| matches!(rule, "page-cache" | "sync-dropped");
    assert!(!report.findings.iter().any(|found| is_of_a_device(&found.rule)), "{:#?}", report.findings);
}

#[test]
fn first_touches_that_are_synced_in_a_layer_without_syncs_are_serious() {
    let found = |sync: bool| {
        let mut run = run();
        for configuration in &mut run.plan.experiment.configurations {
            let touches = format!(r#"{{ "kind": "copy-up", "sync": {sync} }}"#);
            configuration.workload = serde_json::from_str(&touches).unwrap();
        }
        for trial in &mut run.trials {
            trial.container = Some(Box::new(ContainerFacts { volatile: true, ..ContainerFacts::default() }));
        }
        let report = judge(&evidence_of_run(&run));
        report.findings.iter().find(|found| found.rule == "sync-dropped").map(|found| found.severity)
    };
    assert_eq!((found(true), found(false)), (Some(Severity::Serious), None));
}

#[test]
fn writes_left_in_memory_and_data_that_compresses_are_told_too() {
    let run = with_io(run(), |io| {
        io.fdatasync = 0;
        io.buffer_compress_percentage = Some(100);
    });
    let mut run = run;
    for trial in &mut run.trials {
        trial.signals.devices.clear();
    }
    let report = judge(&evidence_of_run(&run));
    let doubts = doubts(&report);
    assert!(doubts.contains(&("not-flushed", Severity::Serious)), "{doubts:?}");
    assert!(doubts.contains(&("zero-data", Severity::Warning)), "{doubts:?}");
}

#[test]
fn a_full_disk_is_an_ending_of_its_own() {
    let mut report = WorkloadReport::default();
    assert_eq!(ending(&report), Ending::Completed);
    report.error = Some("ENOSPC when writing 4096 bytes at offset 0, after 17 I/Os".to_owned());
    report.errno = Some(NO_SPACE);
    assert_eq!(ending(&report), Ending::DiskFull);
    report.errno = None;
    report.error = Some("it was killed".to_owned());
    assert_eq!(ending(&report), Ending::Failed("it was killed".to_owned()));
}

#[test]
fn a_guest_is_described_and_not_its_host() {
    let mut run = run();
    run.environment.cgroup.limits.insert("cpu.max".to_owned(), "50000 100000".to_owned());
    for trial in &mut run.trials {
        trial.guest = Some(Box::new(iostone_model::trial::GuestFacts {
            kernel_release: "6.1.0-guest".to_owned(),
            memory_bytes: 128 << 20,
            cpus: 1,
            accelerator: "tcg".to_owned(),
            ..Default::default()
        }));
    }
    let first = &evidence_of_run(&run).observations[0];
    assert_eq!(
        (first.labels["kernel"].as_str(), first.labels["hypervisor"].as_str()),
        ("6.1.0-guest", "qemu")
    );
    assert!(
        !first.labels.contains_key("os") && !first.labels.contains_key("cpu_model"),
        "{:?}",
        first.labels
    );
    let facts = &first.facts;
    assert_eq!((facts.memory_bytes, facts.cpus, facts.cpu_quota), (Some(128 << 20), Some(1.0), None));
}

#[test]
fn throttling_is_no_fault_of_a_run_that_limits_cpu_time_itself_and_steal_comes_on_top() {
    let withheld = |limited: bool| {
        let mut run = run();
        for trial in &mut run.trials {
            trial.signals.throttled = Some(0.9);
            trial.signals.steal = Some(0.3);
        }
        if limited {
            let quota = experiment::CpuQuota::of_share(iostone_model::units::Fraction(0.3));
            run.plan.experiment.configurations[0].stack.limit.cpu = experiment::CpuLimit::Quota(quota);
        }
        judge(&evidence_of_run(&run))
    };
    let found = doubts(&withheld(false)).iter().map(|(rule, _)| *rule).collect::<Vec<_>>().join(" ");
    assert!(found.contains("throttled") && found.contains("steal"), "{found}");
    let report = withheld(true);
    assert_eq!(doubts(&report), [("steal", Severity::Serious)]);
    assert!(report.findings[0].message.ends_with("no gate judged it"), "{:#?}", report.findings);
    assert!(report.not_applicable.iter().any(|name| name == "throttled"), "{:?}", report.not_applicable);
}
