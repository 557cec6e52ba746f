//! Conclusions on curves from made-up records: every point a comparison, one verdict on the whole.

use iostone_model::experiment::CurvePoint;
use iostone_model::metric::{Direction, Unit};
use iostone_model::orion::LoadPoint;
use iostone_model::verdict::CurveVerdict;
use iostone_stats::judge::Next;

use super::*;

/// Four small loads and two large ones, as the basic matrix of a curve of both figures has them.
const LOADS: [(&str, u32, u32); 6] = [
    ("iops", 1, 0),
    ("iops", 2, 0),
    ("iops", 3, 0),
    ("iops", 4, 0),
    ("throughput", 0, 1),
    ("throughput", 0, 2),
];

fn curve(loads: &[(&str, u32, u32)]) -> Vec<CurvePoint> {
    let point = |(figure, small, large): &(&str, u32, u32)| CurvePoint {
        metric: format!("{figure}@{small},{large}"),
        unit: if *figure == "iops" { Unit::PerSecond } else { Unit::BytesPerSecond },
        direction: if *figure == "latency" { Direction::Lower } else { Direction::Higher },
        point: LoadPoint { small: *small, large: *large },
    };
    loads.iter().map(point).collect()
}

fn subject() -> Subject {
    Subject::of_curves(&[Some(curve(&LOADS)), Some(curve(&LOADS))])
}

/// Records whose points are those of `off` times the factors given, within a noise that favours nobody.
fn records_of(blocks: u32, factors: [f64; 6]) -> (Vec<TrialRecord>, Vec<Entry>) {
    let (mut trials, entries) = records(blocks, (1000.0, 500), (1000.0, 1), &[]);
    for trial in &mut trials {
        let base = trial.metrics["iops"];
        let figures = curve(&LOADS).into_iter().zip(factors).map(|(point, factor)| {
            (point.metric, if trial.configuration == "off" { base * factor } else { base })
        });
        trial.metrics = figures.collect();
    }
    (trials, entries)
}

fn concluded_of(records: &(Vec<TrialRecord>, Vec<Entry>)) -> Verdicts {
    conclude_subject(&plan("", ""), &subject(), &records.0, &records.1, &Environment::default(), false)
        .unwrap()
}

fn only(verdicts: &Verdicts) -> &CurveVerdict {
    assert_eq!(verdicts.curves.len(), 1);
    &verdicts.curves[0]
}

#[test]
fn a_curve_that_is_faster_at_some_points_and_slower_at_none_is_faster() {
    let verdicts = concluded_of(&records_of(12, [1.1, 1.2, 1.0, 1.0, 1.0, 1.0]));
    let curve = only(&verdicts);
    assert_eq!(curve.verdict, Verdict::Faster);
    assert_eq!((curve.faster, curve.slower, curve.equivalent, curve.points), (2, 0, 4, 6));
    assert_eq!(
        verdicts.headline,
        "off is faster than on at 2 of 6 load points and slower at none (typical differences +10.1 to +20.1 %, 4 \
         equivalent within 3 %, 12 blocks)."
    );
    assert!(verdicts.permanent.iter().any(|line| line.contains("barrier=0")), "{:?}", verdicts.permanent);
    let points: Vec<&str> = verdicts.comparisons.iter().map(|c| c.point.as_str()).collect();
    assert_eq!(points, ["iops@1,0", "iops@2,0", "iops@3,0", "iops@4,0", "throughput@0,1", "throughput@0,2"]);
    let configurations = verdicts.configurations.iter().map(|c| (c.trials, c.invalid_trials, c.median));
    assert_eq!(configurations.collect::<Vec<_>>(), [(12, 0, None); 2]);
}

#[test]
fn curves_that_cross_are_undecided_and_say_where_each_is_ahead() {
    let verdicts = concluded_of(&records_of(12, [1.9, 1.9, 1.0, 0.5, 0.5, 0.5]));
    assert_eq!(only(&verdicts).verdict, Verdict::Undecided);
    assert_eq!(
        verdicts.headline,
        "off crosses on: faster for IOPS at Small=1 to 2 and Large=0, slower for IOPS at Small=4 and Large=0; and \
         throughput at Small=0 and Large=1 to 2 (2 and 3 of 6 load points, 12 blocks)."
    );
    assert!(only(&verdicts).flags.iter().any(|flag| flag.name == "crossing"));
    assert!(verdicts.permanent.is_empty());
}

#[test]
fn sizes_that_are_equal_are_told_once_and_small_ones_with_digits_that_count() {
    let verdicts = concluded_of(&records_of(12, [5.0, 5.0, 1.0, 1.0, 1.0, 1.0]));
    assert!(verdicts.headline.contains("(typical ratio 5.00, 4 equivalent"), "{}", verdicts.headline);
    let verdicts = concluded_of(&records_of(12, [0.0026, 0.01, 1.0, 1.0, 1.0, 1.0]));
    assert!(verdicts.headline.contains("(typical ratios 0.0026 to 0.010, 4"), "{}", verdicts.headline);
}

#[test]
fn curves_that_are_alike_everywhere_are_equivalent() {
    let verdicts = concluded_of(&records_of(12, [1.0; 6]));
    assert_eq!(only(&verdicts).verdict, Verdict::Equivalent);
    assert_eq!(verdicts.headline, "off and on are equivalent within 3 % at all 6 load points (12 blocks).");
    assert_eq!(verdicts.permanent, ["# nothing to change: no level is faster than on"]);
}

#[test]
fn six_points_need_as_many_blocks_as_one_and_say_so_once() {
    assert_eq!(only(&concluded_of(&records_of(6, [2.0; 6]))).verdict, Verdict::Faster);
    let verdicts = concluded_of(&records_of(5, [2.0; 6]));
    let curve = only(&verdicts);
    assert_eq!(curve.verdict, Verdict::Undecided);
    let names: Vec<&str> = curve.flags.iter().map(|flag| flag.name.as_str()).collect();
    assert!(names.contains(&"too-few-blocks"), "{names:?}");
    assert!(verdicts.comparisons.iter().all(|c| c.flags.iter().all(|flag| flag.name != "too-few-blocks")));
    assert_eq!(verdicts.headline.split_once(';'), None);
    assert!(verdicts.headline.starts_with("off against on is undecided after 5 blocks at all 6 load points"));
}

#[test]
fn a_point_that_was_never_measured_is_undecided_and_forbids_equivalence() {
    let mut lacking = records_of(12, [1.0; 6]);
    for trial in lacking.0.iter_mut().filter(|trial| trial.configuration == "off") {
        trial.metrics.remove("iops@4,0");
    }
    let verdicts = concluded_of(&lacking);
    assert_eq!(only(&verdicts).verdict, Verdict::Undecided);
    assert_eq!((only(&verdicts).equivalent, only(&verdicts).points), (5, 6));
    let point = verdicts.comparisons.iter().find(|c| c.point == "iops@4,0").unwrap();
    assert_eq!(point.flags[0].name, "no-figures");
    assert_eq!(point.flags[0].message, "`off` has no figure in any of 12 blocks");
    assert_eq!(point.blocks, 0);
}

#[test]
fn a_curve_is_not_faster_while_a_point_has_figures_of_one_level_only() {
    let mut lacking = records_of(12, [1.5, 1.5, 1.0, 1.0, 1.0, 1.0]);
    for trial in lacking.0.iter_mut().filter(|trial| trial.configuration == "off" && trial.block > 2) {
        trial.metrics.remove("throughput@0,2");
        let why = "at Small=0 and Large=2 nothing completed within 1.0 s".to_owned();
        trial.workload.absent.insert("throughput@0,2".to_owned(), why);
    }
    let verdicts = concluded_of(&lacking);
    assert_eq!((only(&verdicts).verdict, only(&verdicts).faster), (Verdict::Undecided, 2));
    let point = verdicts.comparisons.iter().find(|c| c.point == "throughput@0,2").unwrap();
    let flag = point.flags.iter().find(|flag| flag.name == "no-figures").unwrap();
    assert_eq!(
        flag.message,
        "`off` has no figure in 9 of 12 blocks (at Small=0 and Large=2 nothing completed within 1.0 s)"
    );
    assert_eq!(
        verdicts.headline,
        "off against on stays undecided (12 blocks): most blocks have the figure of one level only for throughput at \
         Small=0 and Large=2; elsewhere `off` is shown faster."
    );
    assert!(verdicts.permanent.is_empty(), "{:?}", verdicts.permanent);
}

#[test]
fn nothing_against_nothing_is_a_tie() {
    let mut idle = records_of(12, [1.5, 1.0, 1.0, 1.0, 1.0, 1.0]);
    for trial in &mut idle.0 {
        trial.metrics.insert("throughput@0,2".to_owned(), 0.0);
    }
    let verdicts = concluded_of(&idle);
    assert_eq!((only(&verdicts).verdict, only(&verdicts).equivalent), (Verdict::Faster, 5));
    assert!(verdicts.configurations.iter().all(|c| c.points["throughput@0,2"].abs() < f64::EPSILON));
}

#[test]
fn no_level_with_any_figure_is_undecided_and_says_who_lacks_them() {
    let mut lacking = records_of(12, [1.0; 6]);
    for trial in lacking.0.iter_mut().filter(|trial| trial.configuration == "on") {
        trial.metrics.clear();
    }
    let verdicts = concluded_of(&lacking);
    assert_eq!((only(&verdicts).verdict, only(&verdicts).points), (Verdict::Undecided, 6));
    assert_eq!(only(&verdicts).flags[0].message, "`on` has no figure in any of 12 blocks");
}

#[test]
fn a_point_where_nothing_completed_counts_as_the_worst() {
    let verdicts = concluded_of(&records_of(12, [1.0, 1.0, 1.0, 0.0, 1.0, 1.0]));
    assert_eq!(only(&verdicts).verdict, Verdict::Slower);
    let point = verdicts.comparisons.iter().find(|c| c.point == "iops@4,0").unwrap();
    assert_eq!((point.verdict, point.ratio), (Some(Verdict::Slower), None));
}

#[test]
fn a_verdict_withheld_is_withheld_at_every_point() {
    let through = plan("write back", "write through");
    let (mut trials, entries) = records_of(12, [1.5; 6]);
    for trial in &mut trials {
        trial.signals.devices[0].served.flushes = 0;
    }
    let verdicts =
        conclude_subject(&through, &subject(), &trials, &entries, &Environment::default(), false).unwrap();
    assert_eq!(only(&verdicts).verdict, Verdict::Undecided);
    let names: Vec<&str> = only(&verdicts).flags.iter().map(|flag| flag.name.as_str()).collect();
    assert!(names.contains(&"no-flush") && names.contains(&"withheld"), "{names:?}");
    assert!(verdicts.headline.contains("the kernel sent no flush"), "{}", verdicts.headline);
}

#[test]
fn a_run_goes_on_until_every_point_is_decided_or_the_curves_cross() {
    let next = |blocks, factors| {
        let (trials, entries) = records_of(blocks, factors);
        let figures = subject().figures(&plan("", ""), &trials, &block_records(&entries), &[]);
        figures.next_step(&rules(&plan("", ""), &[])).unwrap()
    };
    assert_eq!(next(12, [1.1, 1.2, 1.0, 1.0, 1.0, 1.0]), Next::Decided);
    assert!(matches!(next(5, [1.1; 6]), Next::Continue { .. }));
    assert_eq!(next(6, [1.9, 1.9, 1.9, 0.5, 0.5, 0.5]), Next::Decided);
}

#[test]
fn only_points_that_both_configurations_have_are_compared() {
    let subject = Subject::of_curves(&[Some(curve(&LOADS)), Some(curve(&LOADS[..3]))]);
    let plan = plan("", "");
    assert_eq!(subject.declared(&plan), 3);
    let (trials, entries) = records_of(12, [1.0; 6]);
    let verdicts =
        conclude_subject(&plan, &subject, &trials, &entries, &Environment::default(), false).unwrap();
    assert_eq!(verdicts.comparisons.len(), 3);
    assert_eq!(only(&verdicts).verdict, Verdict::Equivalent);
    let flag = only(&verdicts).flags.iter().find(|flag| flag.name == "no-counterpart").unwrap();
    assert_eq!(
        flag.message,
        "not compared: IOPS at Small=4 and Large=0; and throughput at Small=0 and Large=1 to 2 of `on` without a \
         counterpart in `off`"
    );
}

#[test]
fn the_curve_of_an_experiment_is_planned_and_judged_point_by_point() {
    let text = include_str!("../../../../../experiments/orion.toml");
    let plan = make_plan(read(text, &[]).unwrap(), PlanOptions::default()).unwrap();
    let subject = Subject::of(&plan);
    // 20 small loads and 8 large ones, in different units.
    assert_eq!((subject.points.len(), subject.declared(&plan), plan.unit), (28, 28, Unit::Plain));
    let (mut trials, entries) = records(12, (1000.0, 500), (1000.0, 1), &[]);
    for trial in &mut trials {
        let value = trial.metrics["iops"];
        // The least loads gain, the others do not.
        let gain =
            |metric: &str| if trial.configuration == "off" && metric == "iops@1,0" { 1.2 } else { 1.0 };
        let figures = subject.points.iter().map(|point| (point.metric.clone(), value * gain(&point.metric)));
        trial.metrics = figures.collect();
    }
    assert_eq!(subject.describe(&plan, &trials[0]).unwrap(), "28 points");
    let verdicts = conclude(&plan, &trials, &entries, &Environment::default(), false).unwrap();
    assert_eq!(only(&verdicts).verdict, Verdict::Faster);
    assert!(
        verdicts.headline.starts_with("off is faster than on at 1 of 28 load points and slower at none"),
        "{}",
        verdicts.headline
    );
}

#[test]
fn a_curve_needs_the_blocks_of_one_figure_and_a_budget_below_is_refused() {
    let text = include_str!("../../../../../experiments/orion.toml")
        .replace("min = 6, max = 20", "min = 5, max = 5");
    let refused = make_plan(read(&text, &[]).unwrap(), PlanOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("1 curve") && refused.contains("decide.blocks.max=6"), "{refused}");
}

#[test]
fn a_latency_curve_is_better_where_it_is_lower() {
    let text = include_str!("../../../../../experiments/orion.toml");
    let text = text.replace("metric = \"curve\"", "metric = \"latency_curve\"");
    let plan = make_plan(read(&text, &[]).unwrap(), PlanOptions::default()).unwrap();
    assert_eq!((plan.unit, plan.better), (Unit::Seconds, Direction::Lower));
    assert_eq!(Subject::of(&plan).points.len(), 20);
}
