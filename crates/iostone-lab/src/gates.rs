//! The gates: whether a trial counts, by rules that were settled before the run and never look at its figure.

use std::fmt::Write;

use iostone_machine::{Measured, Settled};
use iostone_model::covariate::{Covariate, DeclaredCovariate, slopes};
use iostone_model::experiment::{Configuration, Experiment, Gate};
use iostone_model::figures::percent;
use iostone_model::metric::Unit;
use iostone_model::trial::{GateOutcome, GateReading, GovernorRecord, MEMORY, compressed_by};
use iostone_model::units::Bytes;

/// A governor that is later than a period of the kernel's quota (100 ms) has not governed.
const LATEST_SECONDS: f64 = 0.1;
/// As much is within the kernel's own error: it hands out a period's quota at once, and to each processor in slices.
const LITTLE_EXCESS_SECONDS: f64 = 0.02;
/// Why the gates on steal and throttling do not judge, where they do not.
const OFF: &str = "off: the experiment limits CPU time itself";

/// Holds a trial against every gate that its experiment declares.
pub(crate) fn evaluate(
    experiment: &Experiment,
    configuration: &Configuration,
    settled: &Settled,
    measured: &Measured,
    covariates: &[DeclaredCovariate],
) -> Vec<GateOutcome> {
    let (gates, signals) = (&experiment.gates, &measured.signals);
    // A gate must not judge what a factor acts on; and where all configurations have the same quota, it would discard
    // all of them.
    let off = experiment.limits_cpu();
    let mut outcomes = vec![match &measured.report.error {
        None => outcome("workload", true, "the workload ended without an error"),
        Some(error) => outcome("workload", false, error.clone()),
    }];
    if let Gate::Limit(limit) = gates.steal {
        outcomes.push(match signals.steal {
            Some(share) if off => unjudged("steal", format!("{OFF} (steal {} of CPU time)", percent(share))),
            // What verdicts are adjusted for need not be discarded.
            Some(share) if slopes(covariates)[Covariate::Steal as usize] > 0.0 => {
                let message = format!(
                    "steal {} of CPU time, not limited: verdicts are adjusted for it",
                    percent(share)
                );
                unjudged("steal", message)
            }
            Some(share) => {
                let message = format!("steal {} of CPU time, limit {}", percent(share), percent(limit.0));
                held("steal", share, limit.0, Unit::Share, message)
            }
            None if off => unjudged("steal", format!("{OFF} (steal: not observable on this machine)")),
            None => unjudged("steal", "steal: not observable on this machine"),
        });
    }
    if let Gate::Limit(limit) = gates.throttling {
        outcomes.push(match signals.throttled {
            Some(share) if off => {
                unjudged("throttling", format!("{OFF} (throttled in {} of its periods)", percent(share)))
            }
            None if off => unjudged("throttling", OFF),
            None => unjudged("throttling", "no CPU quota on this control group"),
            Some(share) => {
                let message =
                    format!("throttled in {} of its periods, limit {}", percent(share), percent(limit.0));
                held("throttling", share, limit.0, Unit::Share, message)
            }
        });
    }
    if let Gate::Limit(limit) = gates.served {
        outcomes.push(served(configuration, measured, limit.0));
    }
    if let Gate::Limit(limit) = gates.idle {
        let device = settled.busiest.as_deref().unwrap_or("no device");
        let rate = Unit::BytesPerSecond.format(settled.bytes_per_second);
        let message = format!(
            "{device} served {rate} just before the start, limit {}",
            Unit::BytesPerSecond.format(limit.0)
        );
        let read = held("idle", settled.bytes_per_second, limit.0, Unit::BytesPerSecond, message);
        outcomes.push(GateOutcome { passed: settled.at_rest, ..read });
    }
    if let Gate::Limit(limit) = gates.clock {
        let (jump, limit) = (signals.clock_jump_seconds.abs(), limit.0.as_secs_f64());
        let message = format!(
            "the wall clock moved by {} against the monotonic one, limit {}",
            Unit::Seconds.format(jump),
            Unit::Seconds.format(limit)
        );
        outcomes.push(held("clock", jump, limit, Unit::Seconds, message));
    }
    if let Gate::Limit(limit) = gates.governor
        && let Some(record) = &measured.governor
    {
        outcomes.push(governed(record, limit.0));
    }
    outcomes
}

/// What ran under a law that was not held to counts for nothing: CPU time beyond it, or a law that was late.
fn governed(record: &GovernorRecord, limit: f64) -> GateOutcome {
    let excess = record.excess_share * record.used_cpu_seconds;
    let is_exact = record.excess_share <= limit || excess <= LITTLE_EXCESS_SECONDS;
    let is_prompt = record.late_seconds <= LATEST_SECONDS;
    let mut message = format!(
        "{} of the CPU time used was beyond what the law `{}` allowed, limit {}",
        percent(record.excess_share),
        record.governor.allowance.name,
        percent(limit)
    );
    if !is_prompt {
        let late = Unit::Seconds.format(record.late_seconds);
        let latest = Unit::Seconds.format(LATEST_SECONDS);
        let _ = write!(message, "; the governor was held up and moved the quota {late} late, limit {latest}");
    }
    let read = held("governor", record.excess_share, limit, Unit::Share, message);
    GateOutcome { passed: is_exact && is_prompt, ..read }
}

fn outcome(gate: &str, passed: bool, message: impl Into<String>) -> GateOutcome {
    GateOutcome { gate: gate.to_owned(), passed, message: message.into(), unjudged: false, reading: None }
}

/// The outcome of a gate that compares a value with its limit.
fn held(gate: &str, value: f64, limit: f64, unit: Unit, message: String) -> GateOutcome {
    let reading = Some(GateReading { value, limit, unit });
    GateOutcome { reading, ..outcome(gate, value <= limit, message) }
}

/// Of a gate that is off, or sees nothing here.
fn unjudged(gate: &str, message: impl Into<String>) -> GateOutcome {
    GateOutcome { unjudged: true, ..outcome(gate, true, message) }
}

fn served(configuration: &Configuration, measured: &Measured, tolerance: f64) -> GateOutcome {
    // Of some programs only the trial knows: a job file says what it does where it lies.
    let profile = configuration.workload.profile();
    let must_reach = profile.must_reach_device.unwrap_or(measured.report.must_reach_device);
    if measured.container.as_ref().is_some_and(|container| container.place == MEMORY) {
        return unjudged("served", "not asked: the workload worked in memory, and no device serves that");
    }
    // That it was asked for is known: a layer that drops fsync unasked fails its trial when it is read back.
    let is_volatile = measured.container.as_ref().is_some_and(|container| container.volatile);
    if is_volatile && must_reach && profile.direct == Some(false) {
        return unjudged(
            "served",
            "not asked: the layer drops every fsync (`container.volatile`), so that writes stay in the page cache",
        );
    }
    let Some(device_under_test) = measured.signals.device_under_test().filter(|_| must_reach) else {
        return unjudged("served", "not asked: the workload may use the page cache");
    };
    // A gate must not judge what a factor acts on, nor what the filesystem does to the bytes.
    if let Some(by) = compressed_by(&configuration.stack, measured.space.as_deref()) {
        let message = format!("off: compressed by {by}: served bytes say nothing about the cache");
        return unjudged("served", message);
    }
    let claimed = measured.report.claimed_read_bytes + measured.report.claimed_written_bytes;
    let (name, served) = (device_under_test.name, device_under_test.served);
    let reached = served.read_bytes + served.written_bytes;
    // What the device serves beyond the claim is metadata, the ramp and the journal; only less is wrong.
    let limit = reached as f64 * (1.0 + tolerance);
    let message = format!(
        "{} claimed, {name} served {}; the difference would be page cache",
        Bytes(claimed).approximate(),
        Bytes(reached).approximate()
    );
    held("served", claimed as f64, limit, Unit::Bytes, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::experiment::Workload;
    use iostone_model::sample::DiskCounters;
    use iostone_model::trial::{DeviceActivity, SignalSummary, WorkloadReport};

    fn settled() -> Settled {
        Settled {
            at_rest: true,
            waited_seconds: 0.1,
            bytes_per_second: 0.0,
            busiest: Some("loop0".to_owned()),
        }
    }

    fn synced(text: &str) -> Configuration {
        let experiment = include_str!("../../../experiments/barrier.toml").replace("fdatasync = 1", text);
        iostone_model::experiment::read(&experiment, &[]).unwrap().configurations[0].clone()
    }

    fn measured(claimed: u64, written_bytes: u64) -> Measured {
        let served = DiskCounters { written_bytes, ..DiskCounters::default() };
        let device = DeviceActivity {
            name: "loop0".to_owned(),
            role: "stack".to_owned(),
            served,
            ..Default::default()
        };
        Measured {
            report: WorkloadReport { claimed_written_bytes: claimed, ..WorkloadReport::default() },
            signals: SignalSummary { devices: vec![device], ..SignalSummary::default() },
            ..Measured::default()
        }
    }

    fn experiment(text: &str) -> Experiment {
        let with = include_str!("../../../experiments/barrier.toml").replace("[workload]", text);
        iostone_model::experiment::read(&with, &[]).unwrap()
    }

    fn failed(workload: &Configuration, settled: &Settled, measured: &Measured) -> Vec<String> {
        let outcomes = evaluate(&experiment("[workload]"), workload, settled, measured, &[]);
        outcomes.into_iter().filter(|outcome| !outcome.passed).map(|outcome| outcome.gate).collect()
    }

    #[test]
    fn bytes_that_never_reached_the_device_fail_a_trial_that_syncs() {
        let workload = synced("fdatasync = 1");
        assert_eq!(failed(&workload, &settled(), &measured(1000, 1000)), Vec::<String>::new());
        assert_eq!(failed(&workload, &settled(), &measured(1000, 500)), ["served"]);
    }

    #[test]
    fn what_is_worked_on_in_memory_is_not_held_to_a_device() {
        let workload = synced("fdatasync = 1");
        let mut trial = measured(1000, 0);
        let place = |word: &str| {
            let facts = iostone_model::trial::ContainerFacts { place: word.to_owned(), ..Default::default() };
            Some(Box::new(facts))
        };
        trial.container = place("layer");
        assert_eq!(failed(&workload, &settled(), &trial), ["served"]);
        trial.container = place("tmpfs");
        assert_eq!(failed(&workload, &settled(), &trial), Vec::<String>::new());
        let outcomes = evaluate(&experiment("[workload]"), &workload, &settled(), &trial, &[]);
        let gate = outcomes.iter().find(|outcome| outcome.gate == "served").unwrap();
        assert!(gate.unjudged && gate.message.contains("memory"), "{gate:?}");
    }

    #[test]
    fn what_waits_for_a_dropped_fsync_is_not_held_to_a_device_but_direct_writes_are() {
        let mut trial = measured(1000, 0);
        let facts = iostone_model::trial::ContainerFacts {
            place: "layer".to_owned(),
            volatile: true,
            ..Default::default()
        };
        trial.container = Some(Box::new(facts));
        let workload = synced("fdatasync = 1");
        let outcomes = evaluate(&experiment("[workload]"), &workload, &settled(), &trial, &[]);
        let gate = outcomes.iter().find(|outcome| outcome.gate == "served").unwrap();
        assert!(gate.unjudged && gate.message.contains("drops every fsync"), "{gate:?}");
        let direct = synced("direct = true\nfdatasync = 1");
        assert_eq!(failed(&direct, &settled(), &trial), ["served"]);
    }

    #[test]
    fn what_is_compressed_or_never_synced_is_not_judged() {
        let gate = |configuration: &Configuration, trial: &Measured| {
            let outcomes = evaluate(&experiment("[workload]"), configuration, &settled(), trial, &[]);
            outcomes.into_iter().find(|outcome| outcome.gate == "served").unwrap()
        };
        let mut compressing = synced("fdatasync = 1");
        compressing.stack.filesystem =
            iostone_model::experiment::Filesystem::Btrfs(iostone_model::experiment::Btrfs::default());
        compressing.stack.mount.options = vec!["compress-force=zstd".to_owned()];
        let told = gate(&compressing, &measured(1000, 10));
        assert!(
            told.passed && told.unjudged && told.message.contains("mounted `compress-force=zstd`"),
            "{told:?}"
        );
        compressing.stack.mount.options.push("compress=no".to_owned());
        assert!(!gate(&compressing, &measured(1000, 10)).passed);
        let mut found = measured(1000, 10);
        let mut space = iostone_model::trial::SpaceRecord::default();
        (space.filesystem, space.files.encoded_extents) = ("btrfs".to_owned(), 3);
        found.space = Some(Box::new(space));
        assert!(gate(&compressing, &found).unjudged);
    }

    #[test]
    fn a_workload_that_may_use_the_cache_is_not_held_to_it() {
        assert_eq!(failed(&synced("fdatasync = 0"), &settled(), &measured(1000, 0)), Vec::<String>::new());
    }

    #[test]
    fn reads_beside_synced_writes_may_come_from_the_cache() {
        let mut configuration = synced("fdatasync = 1");
        let Workload::Io(io) = &mut configuration.workload else { panic!("an io workload") };
        io.rw = iostone_model::experiment::Rw::RandRw;
        assert_eq!(failed(&configuration, &settled(), &measured(1000, 500)), Vec::<String>::new());
    }

    #[test]
    fn a_foreign_program_is_held_to_its_claim_where_the_trial_says_so() {
        let text = include_str!("../../../experiments/barrier.toml");
        let (head, rest) = text.split_once("[workload]").unwrap();
        let (_, decide) = rest.split_once("[decide]").unwrap();
        let fio = format!("{head}[workload]\nkind = \"fio\"\njob = \"[j]\"\n[decide]{decide}");
        let workload = iostone_model::experiment::read(&fio, &[]).unwrap().configurations[0].clone();
        let mut trial = measured(1000, 500);
        assert_eq!(failed(&workload, &settled(), &trial), Vec::<String>::new());
        trial.report.must_reach_device = true;
        assert_eq!(failed(&workload, &settled(), &trial), ["served"]);
    }

    #[test]
    fn steal_throttling_clock_unrest_and_errors_fail_a_trial() {
        let mut trial = measured(1, 1);
        trial.signals.steal = Some(0.07);
        trial.signals.throttled = Some(0.5);
        trial.signals.clock_jump_seconds = -3600.0;
        trial.report.error = Some("`sh` ended with status 1".to_owned());
        let unrest = Settled { at_rest: false, ..settled() };
        let gates = failed(&synced("fdatasync = 1"), &unrest, &trial);
        assert_eq!(gates, ["workload", "steal", "throttling", "idle", "clock"]);
        let all = evaluate(&experiment("[workload]"), &synced("fdatasync = 1"), &unrest, &trial, &[]);
        let steal = all.iter().find(|outcome| outcome.gate == "steal").and_then(|outcome| outcome.reading);
        assert_eq!(steal, Some(GateReading { value: 0.07, limit: 0.05, unit: Unit::Share }));
    }

    #[test]
    fn what_the_experiment_itself_acts_on_is_not_judged() {
        let mut trial = measured(1, 1);
        trial.signals.steal = Some(0.07);
        trial.signals.throttled = Some(0.5);
        let limited = experiment("[stack.limit]\ncpu = \"30%\"\n[workload]");
        let workload = synced("fdatasync = 1");
        let messages = |trial: &Measured| -> Vec<String> {
            let outcomes = evaluate(&limited, &workload, &settled(), trial, &[]);
            assert!(outcomes.iter().all(|outcome| outcome.passed), "{outcomes:?}");
            let own = outcomes.into_iter().filter(|one| matches!(one.gate.as_str(), "steal" | "throttling"));
            own.map(|outcome| outcome.message).collect()
        };
        assert_eq!(
            messages(&trial),
            [
                "off: the experiment limits CPU time itself (steal 7.0 % of CPU time)",
                "off: the experiment limits CPU time itself (throttled in 50.0 % of its periods)"
            ]
        );
        trial.signals.steal = None;
        assert!(messages(&trial)[0].ends_with("(steal: not observable on this machine)"));
        assert!(!experiment("[stack.limit]\nmemory = \"1GiB\"\n[workload]").limits_cpu());
    }

    #[test]
    fn a_governor_that_was_late_or_let_too_much_through_fails_its_trial() {
        let machine = "[machine]\nkind = \"governed\"\ncpu = \"t1.micro\"\n[workload]";
        let plan = crate::make_plan(experiment(machine), crate::PlanOptions::default()).unwrap();
        let governor = plan.experiment.configurations[0].stack.governor.as_deref().unwrap().clone();
        let of = |excess_share, late_seconds| {
            let mut trial = measured(1, 1);
            trial.governor = Some(Box::new(GovernorRecord {
                governor: governor.clone(),
                allowed_cpu_seconds: 1.0,
                used_cpu_seconds: 1.0,
                excess_share,
                throttled_times: 1,
                slow_seconds: 0.5,
                balance: Vec::new(),
                step_seconds: (0.005, 0.01),
                late_seconds,
                other_laws: Vec::new(),
            }));
            let all = evaluate(&plan.experiment, &synced("fdatasync = 1"), &settled(), &trial, &[]);
            all.into_iter().find(|outcome| outcome.gate == "governor").unwrap()
        };
        assert!(of(0.01, 0.01).passed);
        let excess = of(0.136, 0.01);
        assert!(!excess.passed && excess.message.starts_with("13.6 % of the CPU time"), "{excess:?}");
        let late = of(0.0, 7.7);
        assert!(!late.passed && late.message.contains("held up"), "{late:?}");
    }

    #[test]
    fn steal_that_cannot_be_seen_fails_no_trial() {
        let outcomes =
            evaluate(&experiment("[workload]"), &synced("fdatasync = 1"), &settled(), &measured(1, 1), &[]);
        let steal = outcomes.iter().find(|outcome| outcome.gate == "steal").unwrap();
        assert_eq!((steal.passed, steal.message.as_str()), (true, "steal: not observable on this machine"));
    }
}
