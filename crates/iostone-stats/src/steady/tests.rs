//! The steady-state rule on vectors, by its definition, and on series made for it.

use super::*;
use crate::vectors;
use proptest::prelude::*;

#[test]
fn windows_match_the_vectors() {
    for case in vectors::list("snia") {
        let found = windows(&vectors::numbers(&case["y"])).unwrap();
        for (mean, expected) in found.means.iter().zip(case["window_means"].as_array().unwrap()) {
            vectors::assert_close(*mean, expected);
        }
        vectors::assert_close(found.mean, &case["mean"]);
        vectors::assert_close(found.range, &case["range_frac"]);
        vectors::assert_close(found.slope.abs(), &case["slope_frac"]);
        // The vectors are those of the limits alone.
        let bare = Windows { error: 0.0, ..found };
        assert_eq!(bare.is_steady(), case["steady"].as_bool().unwrap());
        assert_eq!(found.complaint().is_none(), found.is_steady());
    }
}

#[test]
fn nothing_can_be_said_of_nothing() {
    assert_eq!(windows(&[1.0; 4]), None);
    assert_eq!(windows(&[0.0; 50]), None);
    assert_eq!(windows(&[f64::NAN; 50]), None);
    assert_eq!(windows(&[f64::MAX; 50]), None);
    assert!(windows(&[1.0; 5]).unwrap().is_steady());
}

#[test]
fn what_does_not_fill_the_windows_is_left_out_at_the_start() {
    let mut samples = vec![1e9, 1e9];
    samples.extend([7.0; 10]);
    let found = windows(&samples).unwrap();
    assert!(found.means.iter().all(|mean| (mean - 7.0).abs() < 1e-12), "{found:?}");
}

#[test]
fn each_broken_limit_is_named_with_its_figure() {
    let by_window = |means: [f64; 5]| {
        let samples: Vec<f64> = means.into_iter().flat_map(|mean| [mean; 10]).collect();
        windows(&samples).unwrap().complaint()
    };
    assert_eq!(by_window([100.0; 5]), None);
    assert_eq!(
        by_window([106.0, 103.0, 100.0, 97.0, 94.0]).unwrap(),
        "it falls by 12.0 % of its mean (limit 10 %)"
    );
    assert_eq!(
        by_window([100.0, 88.0, 112.0, 88.0, 112.0]).unwrap(),
        "its windows lie 24.0 % apart (limit 20 %)"
    );
    assert_eq!(
        by_window([80.0, 90.0, 100.0, 110.0, 120.0]).unwrap(),
        "it rises by 40.0 % of its mean (limit 10 %) and its windows lie 40.0 % apart (limit 20 %)"
    );
}

#[test]
fn short_and_sparse_series_are_not_checked() {
    let short = check_counts(&[1000; 24]);
    assert_eq!(short, Steadiness::NotChecked(Unchecked::Short { samples: 24, needed: 25 }));
    let sparse = check_counts(&[4; 100]);
    assert_eq!(sparse, Steadiness::NotChecked(Unchecked::Sparse { operations: 400, needed: 500 }));
    assert!(matches!(check_counts(&[5; 100]), Steadiness::Steady(_)));
    assert!(matches!(check_counts(&[u64::MAX; 30]), Steadiness::Steady(_)));
}

#[test]
fn an_interval_that_was_not_measured_whole_plays_no_part() {
    for (measured, whole) in [(0.45, 4), (0.5, 5), (0.499_9, 5), (9.0, 5), (0.0, 0), (f64::NAN, 0), (-1.0, 0)]
    {
        assert_eq!(whole_intervals(&[1, 2, 3, 4, 5], measured, 0.1).len(), whole, "{measured}");
    }
    assert_eq!(whole_intervals(&[1, 2, 3], 1.0, 0.0).len(), 3);
}

#[test]
fn one_series_tells_from_where_on_it_is_steady() {
    let say = |operations: &[u64]| Onset::of(operations, 0.1).to_string();
    assert_eq!(say(&[100; 60]), "steady from the start");
    assert_eq!(
        say(&[100; 10]),
        "steadiness unknown: 1.0 s are too short, 2.5 s behind the warm-up are needed"
    );
    assert_eq!(say(&[1; 60]), "steadiness unknown: 60 operations are too few, 500 are needed");
    let climbing: Vec<u64> = (0..100).map(|i| 100 + 10 * i).collect();
    assert_eq!(say(&climbing), "not steady: the rate still settles in the second half of 10.0 s; run longer");
    let swinging: Vec<u64> = (0..100).map(|i| if i / 20 % 2 == 0 { 100 } else { 200 }).collect();
    let onset = Onset::of(&swinging, 0.1);
    assert_eq!(onset.steady_from_seconds(), None);
    assert!(onset.to_string().starts_with("not steady: "), "{onset}");
    let mut settling = vec![50; 40];
    settling.extend([100; 120]);
    assert_eq!(Onset::of(&settling, 0.1).steady_from_seconds(), Some(4.0));
}

proptest! {
    #[test]
    fn another_unit_changes_no_share(samples in prop::collection::vec(1.0..1e6, 5..120), factor in 1e-6..1e6) {
        let scaled: Vec<f64> = samples.iter().map(|sample| sample * factor).collect();
        let (one, other) = (windows(&samples).unwrap(), windows(&scaled).unwrap());
        prop_assert!((one.range - other.range).abs() < 1e-9 && (one.slope - other.slope).abs() < 1e-9);
    }

    #[test]
    fn a_series_read_backwards_scatters_alike_and_slopes_the_other_way(
        samples in prop::collection::vec(1.0..1e6, 5..24)
    ) {
        let samples: Vec<f64> = samples.into_iter().flat_map(|sample| [sample; 5]).collect();
        let backwards: Vec<f64> = samples.iter().rev().copied().collect();
        let (one, other) = (windows(&samples).unwrap(), windows(&backwards).unwrap());
        prop_assert!((one.range - other.range).abs() < 1e-9 && (one.slope + other.slope).abs() < 1e-9);
    }

    #[test]
    fn a_shift_upward_only_makes_a_series_steadier(
        samples in prop::collection::vec(1.0..1e3, 5..60), shift in 0.0..1e5
    ) {
        let shifted: Vec<f64> = samples.iter().map(|sample| sample + shift).collect();
        let (one, other) = (windows(&samples).unwrap(), windows(&shifted).unwrap());
        prop_assert!(other.range <= one.range + 1e-9 && other.slope.abs() <= one.slope.abs() + 1e-9);
    }

    #[test]
    fn the_slope_is_that_of_a_line_fitted_by_the_textbook(samples in prop::collection::vec(1.0..1e6, 5..100)) {
        let found = windows(&samples).unwrap();
        let places = [1.0, 2.0, 3.0, 4.0, 5.0];
        let covariance: f64 = places.iter().zip(found.means).map(|(x, y)| (x - 3.0) * (y - found.mean)).sum();
        let variance: f64 = places.iter().map(|x| (x - 3.0f64).powi(2)).sum();
        prop_assert!((found.slope - 4.0 * covariance / variance / found.mean).abs() < 1e-9);
    }

    #[test]
    fn no_series_of_counts_panics(operations in prop::collection::vec(any::<u64>(), 0..120)) {
        let _ = check_counts(&operations);
        let _ = Onset::of(&operations, 0.1).to_string();
    }
}

/// How often a series of that length at 10 Hz is called not steady though its law never changes: an autoregression of the
/// first order with samples that scatter by `cv` and lean on the one before by `phi`.
fn false_alarms(length: usize, cv: f64, phi: f64) -> f64 {
    const SERIES: u32 = 2000;
    let mut rng = crate::schedule::SplitMix64::new(11);
    let innovation = cv * (1.0 - phi * phi).sqrt();
    let is_alarm = |rng: &mut crate::schedule::SplitMix64| {
        let mut state = cv * rng.next_normal();
        let samples: Vec<f64> = (0..length)
            .map(|_| {
                state = phi * state + innovation * rng.next_normal();
                1.0 + state
            })
            .collect();
        windows(&samples).is_some_and(|windows| !windows.is_steady())
    };
    (0..SERIES).filter(|_| is_alarm(&mut rng)).count() as f64 / f64::from(SERIES)
}

/// The table of `docs/concepts/warm-up.md`: shares of false alarms in percent.
#[test]
fn false_alarms_are_those_that_the_page_states() {
    let page = include_str!("../../../../docs/concepts/warm-up.md");
    for (seconds, cv) in [(4, 0.05), (4, 0.10), (4, 0.20), (10, 0.10), (10, 0.20), (30, 0.20)] {
        let shares = [0.0, 0.5, 0.8, 0.9].map(|phi| 100.0 * false_alarms(seconds * 10, cv, phi));
        let shares = shares.map(|share| if share < 0.1 { "0".to_owned() } else { format!("{share:.1}") });
        let line = format!("| {seconds} s | {:.0} % | {} |", cv * 100.0, shares.join(" | "));
        assert!(page.contains(&line), "docs/concepts/warm-up.md lacks {line}");
    }
}
