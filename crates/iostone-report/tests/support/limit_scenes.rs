//! Made-up runs in which CPU time is limited: four quotas under an emulated allowance, and a sweep over ten.

use iostone_model::experiment::{Allowance, AllowanceStart, Basis, CpuLimit, CpuQuota, Governor, Law, Limit};
use iostone_model::run::RunRecord;
use iostone_model::trial::{CpuAccount, GovernorRecord, TrialRecord};
use iostone_model::units::Fraction;
use iostone_model::verdict::{Flag, SweepFit, SweepLevel, SweepOutcome, SweepState, SweepVerdict, Verdicts};

use super::judged;
use crate::synthetic::{Random, Scene};

/// Seconds between two looks at the balance.
const STEP: f64 = 0.05;

/// The law of a bucket that being emptied costs, 20 times faster.
fn governor() -> Governor {
    Governor {
        allowance: Allowance {
            instance: "t1.micro".to_owned(),
            name: "penalty".to_owned(),
            vcpus: 1,
            law: Law::Bucket {
                capacity_seconds: 20.0,
                refill: Fraction(0.2),
                throttled_refill: Fraction(0.1),
                slow: Fraction(0.03),
                resume: Fraction(0.97),
            },
            basis: Basis::Measured,
            source: "Fitted to the build times of a t1.micro that a field report gives; the provider publishes no law."
                .to_owned(),
        },
        speed: 20.0,
        start: AllowanceStart::Launch,
    }
}

/// What the law lets a job of `work` CPU seconds do under a quota: wall, slow seconds, times slow, balance.
fn emulate(work: f64, quota: f64) -> (f64, f64, u32, Vec<(f64, f64)>) {
    let (mut balance, mut slow, mut done) = (1.0_f64, false, 0.0);
    let (mut at, mut slow_seconds, mut times) = (0.0, 0.0, 0);
    let mut series = vec![(0.0, balance)];
    while done < work {
        let used = quota.min(if slow { 0.03 } else { 1.0 }) * STEP;
        let refill = if slow { 0.1 } else { 0.2 };
        balance = (balance + refill * STEP).min(1.0) - used;
        slow_seconds += if slow { STEP } else { 0.0 };
        if balance <= 0.0 && !slow {
            (slow, times) = (true, times + 1);
        } else if slow && balance >= 0.97 {
            slow = false;
        }
        done += used;
        at += STEP;
        series.push((at, balance));
    }
    (at, slow_seconds, times, series)
}

/// Stretches a trial to what the law gives, and accounts for its time.
fn govern(trial: &mut TrialRecord, quota: Option<f64>, random: &mut Random) {
    let noise = 1.0 + 0.012 * random.normal();
    let (user, system) = (2.45 * noise, 0.38 * noise);
    let (wall, slow, times, balance) = emulate(user + system, quota.unwrap_or(1.0));
    let busy = (wall - user - system - 0.12).max(0.0);
    let throttled = quota.map(|quota| ((wall - slow) * (1.0 - quota)).min(busy));
    let io_wait = 0.06;
    trial.metrics = [("wall_time".to_owned(), wall)].into();
    trial.workload.measured_seconds = wall;
    trial.signals.steal = None;
    trial.signals.cpu = Some(CpuAccount {
        wall_seconds: wall,
        processors: 2,
        machine_user_seconds: user + 0.2,
        machine_system_seconds: system + 0.1,
        machine_iowait_seconds: io_wait,
        machine_idle_seconds: 2.0 * wall - user - system - 0.3 - io_wait,
        machine_steal_seconds: None,
        user_seconds: Some(user),
        system_seconds: Some(system),
        throttled_seconds: throttled,
        governed_seconds: Some(busy - throttled.unwrap_or(0.0)),
        io_wait_seconds: Some(io_wait),
        ..CpuAccount::default()
    });
    trial.governor = Some(Box::new(GovernorRecord {
        governor: governor(),
        allowed_cpu_seconds: wall * 0.2 + 1.0,
        used_cpu_seconds: user + system,
        excess_share: 0.004 + 0.001 * random.uniform(),
        throttled_times: times,
        slow_seconds: slow,
        balance,
        step_seconds: (0.005, 0.0071),
        late_seconds: 0.0,
        other_laws: vec![
            ("bucket".to_owned(), wall * if times > 0 { 0.77 } else { 1.0 }),
            ("penalty".to_owned(), wall * 0.995),
        ],
    }));
}

/// Gives a run's configurations their quotas and the governor, and its trials what comes of them.
fn limit(run: &mut RunRecord, factor: &str, gives: fn(f64) -> f64) {
    let quota_of = |level: &str| level.strip_suffix('%')?.parse::<f64>().ok().map(|percent| percent / 100.0);
    let experiment = &mut run.plan.experiment;
    for one in &mut experiment.factors {
        factor.clone_into(&mut one.name);
    }
    factor.clone_into(&mut experiment.baseline_factor);
    for configuration in &mut experiment.configurations {
        configuration.levels = [(factor.to_owned(), configuration.name.clone())].into();
        let cpu = quota_of(&configuration.name).map(|share| CpuQuota::of_share(Fraction(share)));
        configuration.stack.limit =
            Limit { cpu: cpu.map_or(CpuLimit::None, CpuLimit::Quota), ..Limit::default() };
        configuration.stack.governor = Some(Box::new(governor()));
    }
    let mut random = Random(11);
    for trial in &mut run.trials {
        let quota = quota_of(&trial.configuration);
        govern(trial, quota.map(gives), &mut random);
        trial.gates.retain(|gate| gate.gate != "steal");
    }
}

fn scene(name: &'static str, question: &'static str, levels: &[&str], blocks: u32) -> Scene {
    Scene {
        name,
        question: Some(question),
        metric: "wall_time",
        levels: levels.iter().map(|level| ((*level).to_owned(), 10.0)).collect(),
        blocks,
        discarded: Vec::new(),
        latency: false,
        command: true,
        ..Scene::barrier()
    }
}

/// The summaries and comparisons of figures that were changed after the scene was judged.
fn rejudged(run: RunRecord, headline: &str) -> RunRecord {
    let verdicts = super::conclusions(&run, 1.02, headline);
    RunRecord { verdicts: Some(verdicts), ..run }
}

/// Four quotas on an emulated t1.micro: a limit just above the allowance more than halves the build.
pub(crate) fn cpu_limit() -> RunRecord {
    let question = "Which CPU limit makes a build on a t1.micro fastest?";
    let mut run = judged(&scene("cpu-limit", question, &["none", "25%", "30%", "40%"], 8), 1.02, "");
    limit(&mut run, "quota", |quota| quota);
    let mut run =
        rejudged(run, "With a limit of 30% the build takes less than half as long as without a limit.");
    if let Some(verdicts) = &mut run.verdicts {
        verdicts.flags = vec![Flag::new(
            "cpu-time-differs",
            "the same work took 1.6 times as much CPU time under `none` as under `30%`: stolen time may be booked as CPU time",
        )];
    }
    run
}

/// A build on both processors of a guest that sees steal, without any limit.
pub(crate) fn parallel() -> RunRecord {
    let question = "Does a second job help?";
    let mut run = judged(&scene("jobs", question, &["-j1", "-j2"], 6), 1.1, "Two jobs are faster.");
    for trial in &mut run.trials {
        let jobs = if trial.configuration == "-j2" { 1.9 } else { 0.97 };
        let wall = 20.0 / jobs;
        trial.metrics = [("wall_time".to_owned(), wall)].into();
        trial.signals.cpu = Some(CpuAccount {
            wall_seconds: wall,
            processors: 2,
            machine_user_seconds: 17.5,
            machine_system_seconds: 2.6,
            machine_iowait_seconds: 0.4,
            machine_idle_seconds: 2.0 * wall - 21.2,
            machine_steal_seconds: Some(0.7),
            user_seconds: Some(16.6),
            system_seconds: Some(2.4),
            throttled_seconds: None,
            governed_seconds: None,
            io_wait_seconds: Some(0.8),
            ..CpuAccount::default()
        });
    }
    rejudged(run, "Two jobs are faster.")
}

/// A sweep over ten quotas, of which three were raced to the end.
pub(crate) fn sweep() -> RunRecord {
    let mut run = sweep_begun();
    let raced = |block: u32, level: &str| match level {
        "20%" | "30%" | "40%" => true,
        "50%" => block < 5,
        _ => block == 0,
    };
    run.finished = true;
    run.ended = Some("decided".to_owned());
    for block in &mut run.blocks {
        let number = block.number;
        block.order.retain(|level| raced(number, level));
    }
    run.trials.retain(|trial| raced(trial.block, &trial.configuration));
    let found = raced_levels(&run);
    let headline = "30% is best: the build takes 9.46 s; 20% and 50% are worse, and what lies beyond them was passed over; 40% is not shown worse.";
    let mut verdicts = super::conclusions(&run, 1.02, headline);
    verdicts.comparisons.clear();
    verdicts.baseline = String::new();
    verdicts.sweep = Some(found);
    verdicts.permanent = vec!["iostone limit 30% -- make -j1".to_owned()];
    run.verdicts = Some(verdicts);
    run
}

/// The same after its first blocks, before anything was judged.
pub(crate) fn sweep_begun() -> RunRecord {
    let levels: Vec<String> = (1..=10).map(|tenth| format!("{}%", tenth * 10)).collect();
    let names: Vec<&str> = levels.iter().map(String::as_str).collect();
    let scene = scene("cpu-sweep", "Which CPU limit is best for a build on a t1.micro?", &names, 9);
    let mut run = judged(&scene, 1.02, "");
    // As if the law left a second level as good as the best.
    limit(&mut run, "limit.cpu", |quota| if (quota - 0.4).abs() < 0.01 { 0.297 } else { quota });
    run.plan.experiment.baseline_level = String::new();
    for factor in &mut run.plan.experiment.factors {
        factor.sweep = Some((1..=10).map(|tenth| f64::from(tenth) / 10.0).collect());
    }
    run.verdicts = None;
    (run.finished, run.ended) = (false, None);
    run
}

/// Rough stand-ins for what a race gives.
fn raced_levels(run: &RunRecord) -> SweepVerdict {
    let Verdicts { configurations, .. } = super::conclusions(run, 1.02, "");
    let best = configurations.iter().find(|summary| summary.name == "30%").and_then(|summary| summary.median);
    let level = |(index, summary): (u32, &iostone_model::verdict::ConfigurationSummary)| {
        let state = match summary.name.as_str() {
            "30%" => SweepState::Best,
            "40%" => SweepState::NotShownWorse,
            "20%" | "50%" => SweepState::Worse,
            "100%" => SweepState::Open,
            _ => SweepState::BeyondWorse,
        };
        let ratio =
            best.zip(summary.median).map(|(best, own)| best / own).filter(|_| state != SweepState::Best);
        let width = if summary.trials > 1 { 1.03 } else { 1.3 };
        SweepLevel {
            level: summary.name.clone(),
            position: f64::from(index) / 10.0,
            trials: summary.trials,
            median: summary.median,
            median_interval: summary.median_interval,
            ratio,
            ratio_interval: [ratio.map(|ratio| ratio / width), ratio.map(|ratio| ratio * width)],
            state,
        }
    };
    let levels: Vec<SweepLevel> = (1..).zip(&configurations).map(level).collect();
    let fit = |position: f64| {
        let x = (position / 0.27).ln();
        9.1 * (1.6 * x * x).exp()
    };
    SweepVerdict {
        factor: "limit.cpu".to_owned(),
        outcome: SweepOutcome::WithinMargin,
        best: Some("30%".to_owned()),
        leader: Some("30%".to_owned()),
        blocks_to_go: None,
        not_shown_worse: vec!["30%".to_owned(), "40%".to_owned()],
        fit: Some(SweepFit {
            optimum: 0.27,
            value: 9.1,
            points: (0..=40).map(|at| 0.15 + 0.0075 * f64::from(at)).map(|x| (x, fit(x))).collect(),
        }),
        trials: levels.iter().map(|level| level.trials).sum(),
        levels,
        trials_of_racing_all: Some(72),
        optima: 1,
        assumption: "the figures have one optimum along the axis: past a level that is worse than a neighbour they only get \
                     worse"
            .to_owned(),
    }
}

/// A sweep of doubling depths whose factor, levels and source try to be markup.
pub(crate) fn hostile_sweep() -> RunRecord {
    let mut run = sweep();
    let bad = "<script>alert(8)</script>\u{1b}[2J";
    for trial in &mut run.trials {
        if let Some(record) = &mut trial.governor {
            record.governor.allowance.source = format!("</dd>{bad}");
            record.governor.allowance.name = format!("</code>{bad}");
            record.balance.push((f64::NAN, f64::INFINITY));
            record.other_laws.push((format!("</th>{bad}"), f64::NAN));
        }
        if let Some(account) = &mut trial.signals.cpu {
            account.user_seconds = Some(f64::NAN);
        }
    }
    if let Some(found) = run.verdicts.as_mut().and_then(|verdicts| verdicts.sweep.as_mut()) {
        found.factor = format!("</h2>{bad}");
        found.assumption = format!("</li>{bad}");
        for (level, doubled) in
            found.levels.iter_mut().zip([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0])
        {
            level.position = doubled;
            level.ratio = Some(f64::NAN);
        }
        if let Some(level) = found.levels.last_mut() {
            (level.level, level.median) = (format!("</td>{bad}"), Some(f64::INFINITY));
        }
        (found.best, found.outcome) = (None, SweepOutcome::Open);
        found.not_shown_worse.clear();
        found.fit = Some(SweepFit { optimum: f64::NAN, value: 1.0, points: vec![(f64::NAN, 1.0)] });
    }
    run
}
