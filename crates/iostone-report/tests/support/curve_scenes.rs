//! Made-up runs in which whole curves are judged: every load point of ORION's matrix is a metric of each trial.

use std::collections::BTreeMap;

use iostone_model::orion::{LoadPoint, OrionTest, RunLevel};
use iostone_model::run::RunRecord;
use iostone_model::verdict::{
    BlockCount, Comparison, CurveShape, CurveVerdict, Flag, FlatCause, FlatnessVerdict, LoadCurve,
    VERDICTS_SCHEMA, Verdict, Verdicts,
};

use crate::synthetic::{Random, Scene, run};

/// The figures of a load point: IOPS, mean latency, throughput.
fn figures(point: LoadPoint, level: usize, noise: f64) -> Vec<(String, f64)> {
    let (small, large) = (f64::from(point.small), f64::from(point.large));
    // The second level is faster under light loads, the third slower under heavy ones.
    let gain = match level {
        1 => 1.0 + 0.3 / small.max(large).max(1.0),
        2 => 1.0 - 0.02 * small.max(large),
        _ => 1.0,
    };
    let mut figures = Vec::new();
    if point.small > 0 {
        let iops = (small / 0.9e-3).min(2000.0) / (1.0 + 0.09 * large) * gain * noise;
        figures.push((format!("iops@{},{}", point.small, point.large), iops));
        figures.push((format!("latency@{},{}", point.small, point.large), small / iops));
        figures.push((format!("latency_p99@{},{}", point.small, point.large), 2.7 * small / iops));
    }
    if point.large > 0 {
        let rate = (large * 37e6).min(64e6) / (1.0 + 0.012 * small) * gain * noise;
        figures.push((format!("throughput@{},{}", point.small, point.large), rate));
    }
    figures
}

fn comparison(level: &str, point: &str, ratio: f64) -> Comparison {
    let verdict = match ratio {
        better if better > 1.045 => Verdict::Faster,
        worse if worse < 0.955 => Verdict::Slower,
        close if (close - 1.0).abs() < 0.02 => Verdict::Equivalent,
        _ => Verdict::Undecided,
    };
    Comparison {
        level: level.to_owned(),
        baseline: "host".to_owned(),
        stratum: String::new(),
        point: point.to_owned(),
        verdict: Some(verdict),
        ratio: Some(ratio),
        ratio_interval: [Some(ratio / 1.015), Some(ratio * 1.015)],
        equivalence_interval: [Some(ratio / 1.012), Some(ratio * 1.012)],
        mean_ratio: Some(ratio),
        blocks: 7,
        decided_at: None,
        spread: None,
        flags: if point == "iops@3,0" {
            vec![Flag::new("tail", "some trials are far off")]
        } else {
            Vec::new()
        },
        forecast: None,
        unpaired: None,
        log_ratios: Vec::new(),
        adjustments: Vec::new(),
        gate: None,
        blocks_to_prove: None,
    }
}

/// The verdicts on every point and curve of the levels beside the baseline.
fn verdicts(run: &RunRecord, levels: &[(String, f64)], points: &[LoadPoint]) -> Verdicts {
    let mut comparisons = Vec::new();
    let mut curves = Vec::new();
    for (index, (level, _)) in levels.iter().enumerate().skip(1) {
        let of_level: Vec<Comparison> = points
            .iter()
            .flat_map(|point| figures(*point, index, 1.0).into_iter().zip(figures(*point, 0, 1.0)))
            .filter(|((name, _), _)| !name.starts_with("latency"))
            .map(|((name, own), (_, baseline))| comparison(level, &name, own / baseline))
            .collect();
        let count = |verdict| of_level.iter().map(|c| u32::from(c.verdict == Some(verdict))).sum::<u32>();
        let (faster, slower) = (count(Verdict::Faster), count(Verdict::Slower));
        let verdict = match (faster, slower) {
            (1.., 0) => Verdict::Faster,
            (0, 1..) => Verdict::Slower,
            _ => Verdict::Undecided,
        };
        curves.push(CurveVerdict {
            level: level.clone(),
            baseline: "host".to_owned(),
            stratum: String::new(),
            verdict,
            faster,
            slower,
            equivalent: count(Verdict::Equivalent),
            points: u32::try_from(of_level.len()).unwrap_or(u32::MAX),
            flags: vec![Flag::new("page-cache", format!("`{level}` was read from memory in part"))],
        });
        comparisons.extend(of_level);
    }
    Verdicts {
        schema: VERDICTS_SCHEMA.to_owned(),
        source: run.directory.clone(),
        question: None,
        headline: "mounted is faster at 6 of 14 load points and slower at none.".to_owned(),
        metric: "curve".to_owned(),
        unit: run.plan.unit,
        better: run.plan.better,
        margin: 0.03,
        confidence: 0.95,
        baseline: "host".to_owned(),
        comparisons,
        curves,
        sweep: None,
        configurations: Vec::new(),
        blocks: BlockCount { complete: 7, superblock: 0, discarded: 0, maximum: 40 },
        flags: Vec::new(),
        evidence: Vec::new(),
        ceilings: Vec::new(),
        predictions: Vec::new(),
        permanent: Vec::new(),
        noise: None,
        audit: None,
        flatness: Vec::new(),
        scope: "measured on 1 host".to_owned(),
    }
}

fn judged(test: &OrionTest, levels: [&str; 3]) -> RunRecord {
    let levels: Vec<(String, f64)> = levels.map(|level| (level.to_owned(), 1.0)).to_vec();
    let scene = Scene {
        name: "containers",
        question: Some("What does a container cost a database's I/O?"),
        levels: levels.clone(),
        blocks: 7,
        discarded: Vec::new(),
        latency: false,
        ..Scene::barrier()
    };
    let points = test.points(2);
    let mut run = run(&scene);
    run.plan.experiment.decide.metric = String::from("curve");
    let mut random = Random(5);
    for trial in &mut run.trials {
        let level = levels.iter().position(|(level, _)| *level == trial.configuration).unwrap_or(0);
        let of_trial = points.iter().flat_map(|point| {
            let noise = 1.0 + 0.012 * random.normal();
            figures(*point, level, noise)
        });
        trial.metrics = of_trial.collect::<BTreeMap<String, f64>>();
    }
    run.verdicts = Some(verdicts(&run, &levels, &points));
    run
}

/// The first row and the first column under three configurations.
pub(crate) fn basic() -> RunRecord {
    judged(&OrionTest::new(RunLevel::Simple), ["host", "mounted", "layer"])
}

/// The whole matrix.
pub(crate) fn detailed() -> RunRecord {
    judged(&OrionTest::new(RunLevel::Normal), ["host", "mounted", "layer"])
}

/// The same curves beside a metric that is one figure.
pub(crate) fn beside_a_figure() -> RunRecord {
    let mut run = basic();
    run.plan.experiment.decide.metric = String::from("max_iops");
    for trial in &mut run.trials {
        trial.metrics.insert("max_iops".to_owned(), 2000.0 + f64::from(trial.number));
    }
    if let Some(verdicts) = &mut run.verdicts {
        verdicts.metric = String::from("max_iops");
        verdicts.comparisons.clear();
        verdicts.curves.clear();
    }
    run
}

/// A curve that crosses the baseline's, and a verdict that only the step-down bears out.
pub(crate) fn crossing() -> RunRecord {
    let mut run =
        judged(&OrionTest::new(RunLevel::Simple), ["host", "limited to half the throughput", "layer"]);
    let Some(verdicts) = &mut run.verdicts else { return run };
    if let Some(curve) = verdicts.curves.first_mut() {
        curve.verdict = Verdict::Undecided;
        curve.flags = vec![Flag::new("crossing", "faster at IOPS, slower at throughput")];
        curve.faster = 8;
        curve.slower = 4;
        curve.equivalent = 1;
    }
    for comparison in verdicts.comparisons.iter_mut().take(14) {
        if comparison.point.starts_with("throughput") {
            comparison.verdict = Some(Verdict::Slower);
            comparison.ratio = Some(0.49);
            comparison.ratio_interval = [Some(0.48), Some(0.50)];
        } else if comparison.verdict == Some(Verdict::Faster) {
            comparison.flags.push(Flag::new("step-down", "decided by Holm's rule over 28 comparisons"));
        }
    }
    run
}

/// Small writes over load: one pair of curves put down to barriers, one to the volume.
pub(crate) fn flat_writes() -> RunRecord {
    let mut run = judged(&OrionTest::new(RunLevel::Simple), ["host", "mounted", "layer"]);
    let curve = |configuration: &str, plateau: f64, limit: Option<&str>| LoadCurve {
        configuration: configuration.to_owned(),
        shape: CurveShape::Flat,
        slope: Some(0.01),
        slope_interval: [Some(-0.01), Some(0.02)],
        stray: Some(0.02),
        missing: Vec::new(),
        loads: [1, 20],
        plateau: Some(plateau),
        limit: limit.map(str::to_owned),
        limit_share: limit.map(|_| 0.998),
        limit_share_interval: [limit.map(|_| 0.99), limit.map(|_| 1.0)],
        flushes_per_write: Some(0.5),
        cores: Some(0.31),
        trials: 7,
    };
    let verdict = |stratum: &str, cause, limit, ratio: f64, sentence: &str| FlatnessVerdict {
        stratum: stratum.to_owned(),
        with: curve("barriers, fast", 499.0, limit),
        without: curve("no barriers, fast", 499.0 * ratio, limit),
        margin: 0.05,
        fewest_blocks: 7,
        interval_confidence: 0.983,
        ratio: Some(ratio),
        ratio_interval: [Some(ratio * 0.97), Some(ratio * 1.02)],
        cause,
        sentence: sentence.to_owned(),
    };
    if let Some(verdicts) = &mut run.verdicts {
        verdicts.flatness = vec![
            verdict(
                "volume=fast",
                FlatCause::Barriers,
                None,
                6.2,
                "the flat curve is put down to barriers: barriers, fast is flat over Small=1 to 20, slope 0.01 (-0.01 to 0.02), \
                 499 IOPS; no barriers, fast rises over Small=1 to 20, slope 0.62 (0.58 to 0.66), 3090 IOPS; without barriers the \
                 upper loads reach 6.2 times the rate (6.01 to 6.32); 0.5 flushes a write were served with barriers",
            ),
            verdict(
                "volume=limited",
                FlatCause::Volume,
                Some("500 writes/s"),
                1.0,
                "the flat curve is put down to the volume's limit, not to barriers: barriers, limited is flat over Small=1 to 20, \
                 slope 0.01 (-0.01 to 0.02), 499 IOPS, 99.8 % of 500 writes/s; no barriers, limited is flat over Small=1 to 20, \
                 slope 0.00 (-0.01 to 0.01), 500 IOPS, 100 % of 500 writes/s",
            ),
        ];
    }
    run
}

/// Markup as names of levels and points.
pub(crate) fn hostile() -> RunRecord {
    let mut run = judged(
        &OrionTest::new(RunLevel::Simple),
        ["host", "<script>alert(1)</script>", "</td><img src=x onerror=alert(2)>\u{202e}"],
    );
    if let Some(comparison) = run.verdicts.as_mut().and_then(|verdicts| verdicts.comparisons.first_mut()) {
        comparison.point = String::from("</td><script>alert(3)</script>");
        comparison.ratio = Some(f64::NAN);
        comparison.ratio_interval = [None, Some(f64::INFINITY)];
    }
    for (trial, value) in run.trials.iter_mut().zip([f64::NAN, f64::INFINITY, 0.0, -1.0]) {
        trial.metrics.insert("iops@1,0".to_owned(), value);
        trial.metrics.insert("latency@1,0".to_owned(), value);
    }
    run
}

/// A made-up run and the name it is called by.
pub(crate) type NamedRun = (&'static str, fn() -> RunRecord);

/// Every one.
pub(crate) const ALL: [NamedRun; 6] = [
    ("basic", basic),
    ("detailed", detailed),
    ("beside_a_figure", beside_a_figure),
    ("crossing", crossing),
    ("flat_writes", flat_writes),
    ("hostile", hostile),
];
