//! The rule of the curve, and what is said beside it.

use proptest::prelude::*;

use super::*;

fn point(name: &str, verdict: Verdict, flags: &[(&str, &str)]) -> Comparison {
    Comparison {
        level: "off".to_owned(),
        baseline: "on".to_owned(),
        stratum: String::new(),
        point: name.to_owned(),
        verdict: Some(verdict),
        ratio: Some(1.0),
        ratio_interval: [None, None],
        equivalence_interval: [None, None],
        mean_ratio: None,
        blocks: 12,
        decided_at: None,
        spread: None,
        flags: flags.iter().map(|(name, message)| Flag::new(name, *message)).collect(),
        forecast: None,
        unpaired: None,
        log_ratios: Vec::new(),
        adjustments: Vec::new(),
        gate: None,
        blocks_to_prove: None,
    }
}

/// A row of small loads 1, 2, ... with a letter for each verdict.
fn row(verdicts: &str) -> Vec<Comparison> {
    let verdict = |letter| match letter {
        '+' => Verdict::Faster,
        '-' => Verdict::Slower,
        '=' => Verdict::Equivalent,
        '~' => Verdict::Unstable,
        _ => Verdict::Undecided,
    };
    (1..)
        .zip(verdicts.chars())
        .map(|(small, letter)| point(&format!("iops@{small},0"), verdict(letter), &[]))
        .collect()
}

fn conclude_row(verdicts: &str) -> CurveVerdict {
    let curves = conclude_curves(&mut row(verdicts));
    assert_eq!(curves.len(), 1);
    curves.into_iter().next().unwrap()
}

#[test]
fn a_curve_is_faster_only_where_no_point_is_slower_and_some_point_is_faster() {
    for (row, verdict) in [
        ("+?=", Verdict::Faster),
        ("+", Verdict::Faster),
        ("?-==", Verdict::Slower),
        ("===", Verdict::Equivalent),
        ("==?", Verdict::Undecided),
        ("???", Verdict::Undecided),
        ("+=-", Verdict::Undecided),
        ("=~", Verdict::Undecided),
        ("+~", Verdict::Faster),
    ] {
        assert_eq!(conclude_row(row).verdict, verdict, "{row}");
    }
    let counted = conclude_row("++-=?");
    assert_eq!((counted.faster, counted.slower, counted.equivalent, counted.points), (2, 1, 1, 5));
}

#[test]
fn curves_that_cross_say_where() {
    let curve = conclude_row("++=--+");
    let flag = &curve.flags[0];
    assert_eq!(flag.name, "crossing");
    assert_eq!(
        flag.message,
        "the curves cross: faster for IOPS at Small=1 to 2 and Large=0; and IOPS at Small=6 and Large=0, slower for \
         IOPS at Small=4 to 5 and Large=0"
    );
    assert!(conclude_row("+~").flags.iter().any(|flag| flag.name == "unstable-points"));
    assert_eq!(conclude_row("+?").flags, []);
}

#[test]
fn scattered_points_are_counted_where_they_cannot_be_named() {
    let points = row("+?+?++?+?+?+");
    let points: Vec<&Comparison> = points.iter().collect();
    let named = name_ranges(&points, Verdict::Faster);
    assert!(named.starts_with("IOPS at Small=5 to 6 and Large=0; "), "{named}");
    assert!(named.ends_with("; and 2 more points"), "{named}");
}

#[test]
fn a_flag_that_all_points_share_is_raised_once() {
    let mut points = vec![
        point(
            "iops@1,0",
            Verdict::Undecided,
            &[("too-few-blocks", "4 blocks"), ("carry-over", "p = 0.001"), ("tail", "x")],
        ),
        point("iops@2,0", Verdict::Undecided, &[("too-few-blocks", "4 blocks"), ("carry-over", "p = 0.002")]),
    ];
    let curves = conclude_curves(&mut points);
    let flags: Vec<(&str, &str)> =
        curves[0].flags.iter().map(|flag| (flag.name.as_str(), flag.message.as_str())).collect();
    assert_eq!(
        flags,
        [
            ("too-few-blocks", "4 blocks"),
            ("carry-over", "at every point, as for IOPS at Small=1 and Large=0: p = 0.001")
        ]
    );
    let left: Vec<Vec<&str>> =
        points.iter().map(|c| c.flags.iter().map(|flag| flag.name.as_str()).collect()).collect();
    assert_eq!(left, [vec!["carry-over", "tail"], vec!["carry-over"]]);
}

#[test]
fn single_figures_and_figures_without_blocks_make_no_curve() {
    assert_eq!(conclude_curves(&mut [point("", Verdict::Faster, &[])]), []);
    let unblocked = Comparison { verdict: None, ..point("iops@1,0", Verdict::Faster, &[]) };
    assert_eq!(conclude_curves(&mut [unblocked]), []);
}

#[test]
fn each_level_and_stratum_has_a_curve_of_its_own() {
    let of = |level: &str, stratum: &str, verdict| Comparison {
        level: level.to_owned(),
        stratum: stratum.to_owned(),
        ..point("iops@1,0", verdict, &[])
    };
    let mut points =
        [of("a", "x", Verdict::Faster), of("b", "x", Verdict::Slower), of("a", "y", Verdict::Equivalent)];
    let verdicts: Vec<Verdict> = conclude_curves(&mut points).iter().map(|curve| curve.verdict).collect();
    assert_eq!(verdicts, [Verdict::Faster, Verdict::Slower, Verdict::Equivalent]);
}

proptest! {
    #[test]
    fn the_verdict_is_that_of_the_rule_whatever_the_points(verdicts in "[-+=?~]{1,40}") {
        let curve = conclude_row(&verdicts);
        let has = |letter| verdicts.contains(letter);
        let expected = match (has('+'), has('-')) {
            (true, false) => Verdict::Faster,
            (false, true) => Verdict::Slower,
            (false, false) if verdicts.chars().all(|letter| letter == '=') => Verdict::Equivalent,
            _ => Verdict::Undecided,
        };
        prop_assert_eq!(curve.verdict, expected);
        prop_assert_eq!(curve.flags.iter().any(|flag| flag.name == "crossing"), has('+') && has('-'));
    }
}
