//! The terminal report of curves.

use crate::scenes;
use iostone_model::verdict::{Comparison, CurveVerdict, Flag, Verdict, Verdicts};
use iostone_report::{Extent, TextStyle, text, verdicts_text};

/// Verdicts on a curve: each point with the letter of its verdict and its ratio.
fn judged(points: &[(String, char, f64)]) -> Verdicts {
    let mut verdicts = scenes::barrier().verdicts.expect("it was judged");
    let model = verdicts.comparisons.remove(0);
    let point = |(name, letter, ratio): &(String, char, f64)| Comparison {
        point: name.clone(),
        verdict: Some(match letter {
            '+' => Verdict::Faster,
            '-' => Verdict::Slower,
            '=' => Verdict::Equivalent,
            _ => Verdict::Undecided,
        }),
        ratio: Some(*ratio),
        ratio_interval: [Some(ratio * 0.98), Some(ratio * 1.02)],
        equivalence_interval: [Some(ratio * 0.985), Some(ratio * 1.015)],
        forecast: None,
        ..model.clone()
    };
    verdicts.comparisons = points.iter().map(point).collect();
    let count =
        |letter| u32::try_from(points.iter().filter(|(_, own, _)| *own == letter).count()).expect("a few");
    verdicts.curves = vec![CurveVerdict {
        level: model.level.clone(),
        baseline: model.baseline,
        stratum: String::new(),
        verdict: Verdict::Faster,
        faster: count('+'),
        slower: count('-'),
        equivalent: count('='),
        points: u32::try_from(points.len()).expect("a few"),
        flags: vec![Flag::new("order-effect", "running second costs 2 %")],
    }];
    verdicts.headline = String::from("off is faster than on at 3 of 6 load points and slower at none.");
    verdicts.metric = String::from("curve");
    verdicts.flags = Vec::new();
    for summary in &mut verdicts.configurations {
        summary.median = None;
        summary.median_interval = [None, None];
    }
    verdicts
}

fn basic() -> Verdicts {
    let points = [
        ("iops@1,0", '+', 1.12),
        ("iops@2,0", '+', 1.31),
        ("iops@4,0", '+', 1.9),
        ("iops@8,0", '=', 1.001),
        ("throughput@0,1", '?', 1.02),
        ("throughput@0,2", '=', 0.999),
    ];
    judged(&points.map(|(name, letter, ratio)| (name.to_owned(), letter, ratio)))
}

/// A matrix of ten small and four large loads: a corner is faster, one point is open.
fn matrix() -> Verdicts {
    let mut points = Vec::new();
    for large in 0..4 {
        for small in 1..=10 {
            let letter = match (small, large) {
                (10, 3) => '?',
                (1..=4, 0..=1) => '+',
                _ => '=',
            };
            let ratio = if letter == '+' { 1.05 + 0.02 * f64::from(small) } else { 1.0 };
            points.push((format!("iops@{small},{large}"), letter, ratio));
        }
    }
    judged(&points)
}

/// The same with the medians of both levels.
fn with_medians(mut verdicts: Verdicts) -> Verdicts {
    let ratios: Vec<(String, f64)> =
        verdicts.comparisons.iter().filter_map(|c| Some((c.point.clone(), c.ratio?))).collect();
    let level = verdicts.curves[0].level.clone();
    for summary in &mut verdicts.configurations {
        let own = |ratio: f64| if summary.name == level { ratio } else { 1.0 };
        let base = |name: &str| if name.starts_with("iops") { 1500.0 } else { 61.7e6 };
        let points = ratios.iter().map(|(name, ratio)| (name.clone(), base(name) * own(*ratio)));
        summary.points = points.collect();
    }
    verdicts
}

#[test]
fn a_row_has_the_medians_of_both_levels_within_the_width() {
    for width in [40, 80, 120] {
        let written = verdicts_text(&with_medians(basic()), Extent::Full, TextStyle { width, colour: false });
        assert!(
            written.contains("1\u{202f}500\u{a0}/s") && written.contains("1\u{202f}680\u{a0}/s"),
            "{written}"
        );
        let widest = written.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(width < 80 || widest <= width, "{widest}: {written}");
    }
    insta::assert_snapshot!(verdicts_text(
        &with_medians(basic()),
        Extent::Full,
        TextStyle { width: 100, colour: false }
    ));
    insta::assert_snapshot!(verdicts_text(&with_medians(matrix()), Extent::Full, TextStyle::default()));
}

#[test]
fn an_equivalent_point_shows_the_interval_that_decided_and_a_step_down_is_marked() {
    let mut verdicts = basic();
    verdicts.comparisons[3].ratio_interval = [Some(0.655), Some(2.199)];
    verdicts.comparisons[3].equivalence_interval = [Some(0.99), Some(1.012)];
    verdicts.comparisons[0].ratio_interval = [Some(0.98), Some(1.3)];
    verdicts.comparisons[0].flags = vec![Flag::new("step-down", "decided by Holm's rule")];
    let written = verdicts_text(&verdicts, Extent::Full, TextStyle { width: 200, colour: false });
    assert!(written.contains("[\u{2212}1.0,\u{a0}+1.2]\u{a0}%") && !written.contains("119.9"), "{written}");
    assert_eq!(written.matches("faster\u{a0}†").count(), 1, "{written}");
    assert!(
        written.contains("interval of the equivalence test") && written.contains("†: decided together"),
        "{written}"
    );
}

#[test]
fn ratios_of_one_row_are_in_one_style() {
    let points: Vec<(String, char, f64)> =
        (1..=20).map(|n| (format!("iops@{n},0"), '-', if n == 1 { 0.0026 } else { 0.6 })).collect();
    let written = verdicts_text(&judged(&points), Extent::Full, TextStyle { width: 200, colour: false });
    assert!(written.contains("\u{d7}0.0026 to \u{d7}0.60"), "{written}");
}

#[test]
fn curves_that_cross_are_called_so() {
    let mut verdicts = basic();
    verdicts.curves[0].verdict = Verdict::Undecided;
    verdicts.curves[0].slower = 1;
    verdicts.curves[0].flags.push(Flag::new("crossing", "the curves cross"));
    verdicts.curves[0].equivalent = 1;
    let written = verdicts_text(&verdicts, Extent::Full, TextStyle { width: 200, colour: false });
    assert!(written.contains("off against on: crosses (3 of 6 points faster, 1 slower"), "{written}");
}

#[test]
fn a_rehearsal_of_a_curve_shows_what_was_measured() {
    let mut run = scenes::barrier();
    run.plan.quick = true;
    let mut verdicts = with_medians(basic());
    (verdicts.curves, verdicts.comparisons) = (Vec::new(), Vec::new());
    run.verdicts = Some(verdicts);
    run.plan.experiment.decide.metric = "curve".to_owned();
    let spec: iostone_model::experiment::OrionWorkload =
        iostone_model::experiment::OrionWorkload::new(iostone_model::orion::RunLevel::Simple);
    for configuration in &mut run.plan.experiment.configurations {
        configuration.workload = iostone_model::experiment::Workload::Orion(Box::new(spec.clone()));
    }
    let written = text(&run, Extent::Full, TextStyle::default());
    assert!(written.contains("IOPS") && written.contains("2\u{202f}850\u{a0}/s"), "{written}");
}

#[test]
fn a_short_curve_has_a_row_for_each_point_under_its_verdict() {
    insta::assert_snapshot!(verdicts_text(&basic(), Extent::Full, TextStyle::default()));
}

#[test]
fn many_points_are_folded_into_ranges_of_load() {
    let written = verdicts_text(&matrix(), Extent::Full, TextStyle::default());
    let table: Vec<&str> =
        written.lines().filter(|line| line.contains(" to ") && line.contains('[')).collect();
    assert_eq!(table.len(), 4, "{written}");
    insta::assert_snapshot!(written);
}

#[test]
fn flags_of_points_are_told_once_a_name() {
    let mut verdicts = basic();
    for index in [0, 1] {
        verdicts.comparisons[index].flags.push(Flag::new("tail", format!("evidence {index}")));
    }
    verdicts.comparisons[4].flags.push(Flag::new("trend", "it rises"));
    let written = verdicts_text(&verdicts, Extent::Full, TextStyle { width: 200, colour: false });
    assert!(
        written.contains("! tail: at 2 of 6 points (IOPS at Small=1 to 2 and Large=0), first: evidence 0"),
        "{written}"
    );
    assert!(written.contains("! trend: throughput at Small=0 and Large=1: it rises"), "{written}");
    assert!(written.contains("! order-effect: running second costs 2 %"), "{written}");
}

#[test]
fn a_run_shows_its_curves_in_place_of_the_table_of_figures() {
    let mut run = scenes::barrier();
    run.verdicts = Some(basic());
    let written = text(&run, Extent::Full, TextStyle::default());
    assert!(written.contains("off against on: faster (3 of 6 points faster, none slower"), "{written}");
    assert!(!written.contains("median"), "{written}");
}

#[test]
fn no_width_breaks_a_curve() {
    for width in [40, 60, 80, 120, 200] {
        let written = verdicts_text(&matrix(), Extent::Full, TextStyle { width, colour: false });
        assert!(written.contains("faster"), "{written}");
    }
}

#[test]
fn scattered_points_end_in_a_count() {
    let points: Vec<(String, char, f64)> = (0..90)
        .map(|n| (format!("iops@{},0", n + 1), if n % 2 == 0 { '+' } else { '=' }, 1.0 + f64::from(n) / 1e3))
        .collect();
    let written = verdicts_text(&judged(&points), Extent::Full, TextStyle::default());
    assert!(written.contains("and 50 more points"), "{written}");
}
