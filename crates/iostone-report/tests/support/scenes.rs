//! Conclusions for made-up runs: rough stand-ins for the judge's, good enough to be drawn.

#[path = "landing_scenes.rs"]
mod landing_scenes;
#[path = "limit_scenes.rs"]
mod limit_scenes;

use std::collections::BTreeMap;

use iostone_model::experiment::{Timing, Workload};
use iostone_model::metric::Direction;
use iostone_model::run::RunRecord;
use iostone_model::units::Span;
use iostone_model::verdict::{
    BlockCount, Comparison, ConfigurationSummary, Forecast, VERDICTS_SCHEMA, Verdict, Verdicts, Verified,
};
use iostone_model::warm_up::{DeclaredRamp, PILOT_SCHEMA, PilotCut, PilotRecord, SteadyState};

use crate::synthetic::{Scene, run};
pub(crate) use landing_scenes::{containers, hostile_containers};
pub(crate) use limit_scenes::{cpu_limit, hostile_sweep, parallel, sweep, sweep_begun};

/// The figures of a configuration's counted trials, sorted.
fn figures(run: &RunRecord, name: &str) -> Vec<f64> {
    let counted = |block: u32| run.blocks.iter().any(|b| b.number == block && b.counted);
    let mut values: Vec<f64> = run
        .trials
        .iter()
        .filter(|trial| trial.configuration == name && trial.valid && counted(trial.block))
        .filter_map(|trial| trial.metrics.get(&run.plan.experiment.decide.metric).copied())
        .collect();
    values.sort_by(f64::total_cmp);
    values
}

fn summary(run: &RunRecord, name: &str) -> ConfigurationSummary {
    let values = figures(run, name);
    let all = run.trials.iter().filter(|trial| trial.configuration == name).count();
    let median = values.get(values.len() / 2).copied();
    let outer = |from_end: bool| {
        let at = if from_end { values.len().checked_sub(2)? } else { 1 };
        if values.len() < 6 { None } else { values.get(at).copied() }
    };
    let spread = |middle: f64| {
        let mut apart: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
        apart.sort_by(f64::total_cmp);
        apart.get(apart.len() / 2).map(|mad| 1.4826 * mad / middle)
    };
    ConfigurationSummary {
        name: name.to_owned(),
        levels: BTreeMap::from([("barrier".to_owned(), name.to_owned())]),
        trials: u32::try_from(values.len()).unwrap_or(u32::MAX),
        invalid_trials: u32::try_from(all - values.len()).unwrap_or(u32::MAX),
        median,
        median_interval: [outer(false), outer(true)],
        minimum: values.first().copied(),
        maximum: values.last().copied(),
        cv: median.and_then(spread),
        points: BTreeMap::new(),
    }
}

/// Of every counted block in which both have a figure; above 0 is better.
fn log_ratios(run: &RunRecord, level: &str, baseline: &str) -> Vec<f64> {
    let figure = |block: u32, name: &str| {
        let of = run.trials.iter().find(|trial| trial.block == block && trial.configuration == name)?;
        of.metrics.get(&run.plan.experiment.decide.metric).copied()
    };
    let counted = run.blocks.iter().filter(|block| block.counted);
    let ratio = |block: u32| Some((figure(block, level)? / figure(block, baseline)?).ln());
    let ratios = counted.filter_map(|block| ratio(block.number));
    ratios.map(|log| if run.plan.better == Direction::Lower { -log } else { log }).collect()
}

fn comparison(run: &RunRecord, level: &str, baseline: &str, width: f64) -> Comparison {
    let middle = |name: &str| {
        let values = figures(run, name);
        values.get(values.len() / 2).copied()
    };
    let ratio = middle(level).zip(middle(baseline)).map(|(level, baseline)| match run.plan.better {
        Direction::Higher => level / baseline,
        Direction::Lower => baseline / level,
    });
    let bounds = [ratio.map(|ratio| ratio / width), ratio.map(|ratio| ratio * width)];
    let [low, high] = bounds;
    let verdict = match (low, high) {
        (Some(low), Some(high)) if low > 0.97 && high < 1.03 => Verdict::Equivalent,
        (Some(low), _) if low > 1.0 => Verdict::Faster,
        (_, Some(high)) if high < 1.0 => Verdict::Slower,
        _ => Verdict::Undecided,
    };
    let forecast = Forecast {
        difference_at: Some(18),
        equivalence_at: None,
        budget: 40,
        chance: Some(0.73),
        between: Some([12, 26]),
    };
    Comparison {
        level: level.to_owned(),
        baseline: baseline.to_owned(),
        stratum: String::new(),
        verdict: Some(verdict),
        ratio,
        ratio_interval: bounds,
        equivalence_interval: bounds,
        mean_ratio: ratio,
        blocks: run.blocks.iter().map(|block| u32::from(block.counted)).sum(),
        decided_at: None,
        spread: None,
        flags: Vec::new(),
        forecast: (verdict == Verdict::Undecided).then_some(forecast),
        unpaired: None,
        log_ratios: log_ratios(run, level, baseline),
        adjustments: Vec::new(),
        point: String::new(),
        gate: None,
        blocks_to_prove: None,
    }
}

/// The run of a scene with conclusions; the intervals of ratios go from `ratio / width` to `ratio * width`.
pub(crate) fn judged(scene: &Scene, width: f64, headline: &str) -> RunRecord {
    let mut run = run(scene);
    run.verdicts = Some(conclusions(&run, width, headline));
    run
}

/// What may be concluded from a run with one factor.
fn conclusions(run: &RunRecord, width: f64, headline: &str) -> Verdicts {
    let experiment = &run.plan.experiment;
    let names: Vec<String> = experiment.configurations.iter().map(|one| one.name.clone()).collect();
    let baseline = experiment.baseline_level.clone();
    Verdicts {
        schema: VERDICTS_SCHEMA.to_owned(),
        source: run.directory.clone(),
        question: run.plan.experiment.question.clone(),
        headline: headline.to_owned(),
        metric: experiment.decide.metric.clone(),
        unit: run.plan.unit,
        better: run.plan.better,
        margin: 0.03,
        confidence: 0.95,
        sweep: None,
        comparisons: names.iter().skip(1).map(|level| comparison(run, level, &baseline, width)).collect(),
        baseline: baseline.clone(),
        configurations: names.iter().map(|name| summary(run, name)).collect(),
        blocks: BlockCount {
            superblock: 0,
            complete: run.blocks.iter().map(|block| u32::from(block.counted)).sum(),
            discarded: run.blocks.iter().map(|block| u32::from(!block.counted)).sum(),
            maximum: 40,
        },
        flags: Vec::new(),
        evidence: Vec::new(),
        ceilings: Vec::new(),
        predictions: Vec::new(),
        permanent: Vec::new(),
        noise: None,
        audit: None,
        flatness: Vec::new(),
        curves: Vec::new(),
        scope: "measured on 1 host".to_owned(),
    }
}

/// The write barrier's run with a ramp that pilots led to, and one trial that was not steady behind it.
pub(crate) fn piloted() -> RunRecord {
    let mut run = barrier();
    let seconds = |seconds: u64| Span(std::time::Duration::from_secs(seconds));
    for configuration in &mut run.plan.experiment.configurations {
        if let Workload::Io(io) = &mut configuration.workload {
            io.ramp_time = Timing::Auto;
        }
    }
    for (trial, range_fraction) in
        run.trials.iter_mut().zip([0.31, 0.04].into_iter().chain(std::iter::repeat(0.02)))
    {
        let slope_fraction = -range_fraction / 2.0;
        trial.ramp_seconds = 4.0;
        trial.steady_state = Some(if range_fraction > 0.2 {
            let reason = "its windows lie 31.0 % apart (limit 20 %)".to_owned();
            SteadyState::NotSteady { range_fraction, slope_fraction, reason }
        } else {
            SteadyState::Steady { range_fraction, slope_fraction }
        });
    }
    for (number, (trial, cut)) in (1..).zip(run.trials.iter().take(2).zip([4, 1])) {
        run.pilots.push(PilotRecord {
            schema: PILOT_SCHEMA.to_owned(),
            number,
            configuration: trial.configuration.clone(),
            session: 0,
            started_at: trial.started_at.clone(),
            total_seconds: 24.0,
            runtime: seconds(20),
            cut: Some(PilotCut { after: seconds(cut), at_limit: false }),
            metrics: trial.metrics.clone(),
            workload: trial.workload.clone(),
            checks: trial.checks.clone(),
            notes: Vec::new(),
            signals: trial.signals.clone(),
            gates: trial.gates.clone(),
            seconds: Vec::new(),
        });
    }
    run.declared_ramp = Some(DeclaredRamp {
        ramp: seconds(4),
        rule: "largest".to_owned(),
        pilots: 2,
        asked_by: run.trials[0].configuration.clone(),
        at_limit: false,
        runtime: None,
    });
    run
}

/// The write barrier's run as it should come out.
pub(crate) fn barrier() -> RunRecord {
    let headline = "Without write barriers ext4 writes 4.3 times as fast here, and it sends the disk no flush at all: \
                    what was acknowledged can be lost when the power fails.";
    let mut run = judged(&Scene::barrier(), 1.1, headline);
    let evidence = |configuration: &str, sentence: &str| Verified {
        configuration: configuration.to_owned(),
        sentence: sentence.to_owned(),
    };
    if let Some(verdicts) = &mut run.verdicts {
        verdicts.evidence = vec![
            evidence("on", "barrier=1: read back as barrier (default), 18 342 flushes reached the device"),
            evidence("off", "barrier=0: read back as nobarrier, 0 flushes against 18 342"),
        ];
        verdicts.permanent = vec![
            "# /etc/fstab".to_owned(),
            "UUID=2f0e5b6c-8f0c-4a53-9d0e-7f6a1c1f9b57 /srv ext4 noatime,barrier=0 0 2".to_owned(),
        ];
        verdicts.flags = vec![iostone_model::verdict::Flag::new(
            "no-flush",
            "under `off` no flush reached the device although the workload asked for durability 18 342 times",
        )];
    }
    run
}

/// Five configurations of which one is undecided and one equivalent.
pub(crate) fn five() -> RunRecord {
    let levels = [("raw", 410.0), ("ext4", 409.5), ("overlay", 402.0), ("loop", 298.0), ("mirror", 221.0)];
    let scene = Scene {
        name: "layers-randread",
        question: Some("What does each storage layer cost a 4 KiB random read?"),
        metric: "iops",
        levels: levels.iter().map(|(name, value)| ((*name).to_owned(), value * 1e3)).collect(),
        blocks: 16,
        discarded: vec![6],
        cv: 0.012,
        ..Scene::barrier()
    };
    judged(
        &scene,
        1.018,
        "ext4 is equivalent to the raw device within 3 %. A loop file costs 27 % and a mirror 46 %; \
                           what overlayfs costs is undecided.",
    )
}

/// The same barrier run before it could be decided.
pub(crate) fn undecided() -> RunRecord {
    let levels = vec![("on".to_owned(), 14.3e6), ("off".to_owned(), 14.5e6)];
    let scene = Scene { levels, blocks: 8, discarded: Vec::new(), cv: 0.06, ..Scene::barrier() };
    judged(
        &scene,
        1.07,
        "Undecided: whether ext4 runs faster without write barriers is not settled by 8 blocks.",
    )
}

/// Begun, not judged yet.
pub(crate) fn no_verdict() -> RunRecord {
    let mut run = run(&Scene { blocks: 2, discarded: Vec::new(), ..Scene::barrier() });
    (run.finished, run.ended) = (false, None);
    run
}

/// Nothing has run.
pub(crate) fn empty() -> RunRecord {
    let mut run = run(&Scene { blocks: 0, discarded: Vec::new(), question: None, ..Scene::barrier() });
    (run.finished, run.ended) = (false, None);
    run
}

/// A rehearsal whose first trial failed.
pub(crate) fn failed() -> RunRecord {
    let scene = Scene { blocks: 1, discarded: vec![0], ..Scene::barrier() };
    let mut run = judged(&scene, 1.2, "A rehearsal: every step worked once, in small; it claims no verdict.");
    run.plan.quick = true;
    run.trials.truncate(1);
    let reason =
        "the workload failed under `on`: `sh` ended with status 3, saying: \u{1b}[2Jno <b>frobnicator";
    (run.finished, run.ended) = (false, Some(reason.to_owned()));
    run
}

/// Half of the blocks failed a gate, so all are kept; the time was up, and a trial has been lost since.
pub(crate) fn unfit() -> RunRecord {
    let scene = Scene { blocks: 8, discarded: vec![0, 2, 4, 6], ..Scene::barrier() };
    let mut raw = run(&scene);
    for block in &mut raw.blocks {
        block.counted = true;
    }
    raw.ended = Some("budget of time spent".to_owned());
    raw.defects = vec!["trial 17 is missing though the journal has it".to_owned()];
    let verdicts =
        judged(&Scene { discarded: Vec::new(), ..scene }, 1.2, "off is 4.3 times as fast as on.").verdicts;
    RunRecord { verdicts, ..raw }
}

/// One block of a rehearsal; its verdict must not be shown.
pub(crate) fn quick() -> RunRecord {
    let scene = Scene { blocks: 1, discarded: Vec::new(), ..Scene::barrier() };
    let mut run = judged(&scene, 1.2, "Faster than light.");
    run.plan.quick = true;
    run
}

/// One configuration, a program, no latencies.
pub(crate) fn command() -> RunRecord {
    let scene = Scene {
        name: "kernel-build",
        question: Some("How long does the build take?"),
        metric: "wall_time",
        levels: vec![("plain".to_owned(), 312.0)],
        blocks: 7,
        discarded: Vec::new(),
        latency: false,
        command: true,
        ..Scene::barrier()
    };
    judged(&scene, 1.1, "One configuration, so there is nothing to compare.")
}

/// Twelve configurations with long names.
pub(crate) fn twelve() -> RunRecord {
    let level = |at: u32| {
        let name = format!("level {at:02} of a dozen whose names go on for about sixty letters");
        (name, 300.0 + 17.0 * f64::from(at))
    };
    let scene = Scene {
        name: "a-dozen",
        question: None,
        metric: "latency_p99",
        levels: (0..12).map(level).map(|(name, value)| (name, value * 1e-6)).collect(),
        blocks: 10,
        discarded: vec![2, 7],
        ..Scene::barrier()
    };
    judged(&scene, 1.04, "Eleven levels against one.")
}

/// Text and figures at their worst: markup and escapes as names, figures that are none, open intervals.
pub(crate) fn hostile() -> RunRecord {
    let name = "<script>alert(1)</script> & \"quotes\" 'n' \u{1b}[31m \u{202e}sixty";
    let levels = vec![("on".to_owned(), 1e-9), (name.to_owned(), 1e12)];
    let scene = Scene { levels, blocks: 7, discarded: vec![0], latency: false, ..Scene::barrier() };
    let mut run = judged(&scene, 1.5, "</p><script>alert('headline')</script>");
    run.environment.host = String::from("</dd><img src=x onerror=alert(2)>\u{1b}]0;title\u{7}");
    run.experiment_text = String::from("# </pre></details><script>alert(3)</script>");
    run.plan.experiment.name = String::from("</title><script>alert(4)</script>");
    run.plan.experiment.question = Some("</h1><svg onload=alert(5)>?".to_owned());
    for (trial, figure) in run.trials.iter_mut().zip([f64::NAN, f64::INFINITY, 0.0, -1.0]) {
        trial.metrics.insert("throughput".to_owned(), figure);
    }
    if let Some(verdicts) = &mut run.verdicts {
        verdicts.permanent = vec!["</pre><script>alert(6)</script>".to_owned()];
        for comparison in &mut verdicts.comparisons {
            comparison.ratio = Some(f64::INFINITY);
            comparison.ratio_interval = [Some(0.8), None];
            comparison.flags =
                vec![iostone_model::verdict::Flag::new("<b>tail", "</li><script>alert(7)</script>")];
        }
    }
    run
}

/// Every trial failed its gate.
pub(crate) fn all_invalid() -> RunRecord {
    let scene = Scene { blocks: 3, discarded: vec![0, 1, 2], ..Scene::barrier() };
    let mut run = judged(&scene, 1.1, "No verdict: no block is complete.");
    for trial in &mut run.trials {
        trial.valid = false;
    }
    run
}

/// Identical levels: the noise of the machine.
pub(crate) fn identical() -> RunRecord {
    let levels = vec![("a".to_owned(), 50e6), ("b".to_owned(), 50e6)];
    let scene = Scene { levels, discarded: Vec::new(), latency: false, ..Scene::barrier() };
    let mut run = judged(&scene, 1.02, "Identical levels came out equivalent within 3 %.");
    run.plan.identical_levels = true;
    if let Some(verdicts) = &mut run.verdicts {
        verdicts.noise = Some(iostone_model::verdict::NoiseFloor {
            sigma: 0.014,
            detectable: 0.0085,
            detectable_at_run: 0.0182,
            budget: 40,
        });
    }
    run
}

/// Two factors: a baseline in each stratum.
pub(crate) fn strata() -> RunRecord {
    let named = |name: &str, figure: f64| (name.to_owned(), figure);
    let levels = vec![
        named("on, 4KiB", 14e6),
        named("off, 4KiB", 60e6),
        named("on, 1MiB", 210e6),
        named("off, 1MiB", 212e6),
    ];
    let scene = Scene { levels, latency: false, ..Scene::barrier() };
    let mut run =
        judged(&scene, 1.015, "Without barriers small writes are 4.3 times as fast, large ones are not.");
    let split = |name: &str| {
        let (barrier, size) = name.split_once(", ").unwrap_or((name, ""));
        BTreeMap::from([("barrier".to_owned(), barrier.to_owned()), ("bs".to_owned(), size.to_owned())])
    };
    let experiment = &mut run.plan.experiment;
    let factor = |name: &str, levels: [&str; 2]| iostone_model::experiment::Factor {
        name: name.to_owned(),
        levels: levels.map(str::to_owned).to_vec(),
        ..iostone_model::experiment::Factor::default()
    };
    experiment.factors = vec![factor("barrier", ["on", "off"]), factor("bs", ["4KiB", "1MiB"])];
    experiment.baseline_level = String::from("on");
    for configuration in &mut experiment.configurations {
        configuration.levels = split(&configuration.name);
    }
    let compared = |size: &str| {
        let (level, baseline) = (format!("off, {size}"), format!("on, {size}"));
        let found = comparison(&run, &level, &baseline, 1.015);
        let (level, baseline) = ("off".to_owned(), "on".to_owned());
        Comparison { level, baseline, stratum: format!("bs={size}"), ..found }
    };
    let comparisons = vec![compared("4KiB"), compared("1MiB")];
    if let Some(verdicts) = &mut run.verdicts {
        verdicts.baseline = String::from("on");
        verdicts.comparisons = comparisons;
        for summary in &mut verdicts.configurations {
            summary.levels = split(&summary.name);
        }
    }
    run
}

/// A scene and the name it is called by.
pub(crate) type NamedScene = (&'static str, fn() -> RunRecord);

/// Every scene.
pub(crate) const ALL: [NamedScene; 22] = [
    ("barrier", barrier),
    ("piloted", piloted),
    ("five", five),
    ("undecided", undecided),
    ("no_verdict", no_verdict),
    ("empty", empty),
    ("failed", failed),
    ("unfit", unfit),
    ("quick", quick),
    ("command", command),
    ("twelve", twelve),
    ("hostile", hostile),
    ("all_invalid", all_invalid),
    ("identical", identical),
    ("strata", strata),
    ("cpu_limit", cpu_limit),
    ("parallel", parallel),
    ("sweep", sweep),
    ("sweep_begun", sweep_begun),
    ("hostile_sweep", hostile_sweep),
    ("containers", containers),
    ("hostile_containers", hostile_containers),
];
