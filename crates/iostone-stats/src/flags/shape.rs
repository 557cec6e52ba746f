//! Flags on the shape of a comparison's log ratios: tails, trends, drifted levels, coarse figures.

use iostone_model::verdict::Flag;

use crate::median::{NORMAL_SCALE, median_deviation};
use crate::rank::spearman_with_position;
use crate::special::sign_test;
use crate::walsh::Interval;
use iostone_model::units::p_value;

/// `tail`: the blocks far from the typical ratio favour one side.
///
/// Far is more than three robust standard deviations (1.4826 median absolute deviations about the estimate); the
/// side is judged by a two-sided sign test, raised below p = 0.05. The interval stays valid, but for the typical
/// ratio only.
pub(crate) fn tail(ratios: &[f64], estimate: f64, baseline: &str, level: &str) -> Option<Flag> {
    let far = 3.0 * NORMAL_SCALE * median_deviation(ratios, estimate)?;
    let outlying: Vec<f64> =
        ratios.iter().map(|ratio| ratio - estimate).filter(|off| off.abs() > far).collect();
    let above = outlying.iter().filter(|off| **off > 0.0).count();
    let p = sign_test(above as u64, outlying.len() as u64);
    (p < 0.05).then(|| {
        let all = outlying.len();
        let (favoured, name, other) =
            if 2 * above > all { (above, level, baseline) } else { (all - above, baseline, level) };
        let message = format!(
            "{favoured} of {all} outlying blocks favour `{name}`, {}: `{other}` has more bad trials than the typical \
             ratio shows",
            p_value(p)
        );
        Flag::new("tail", message)
    })
}

/// `trend`: the ratio moves with the block's number (Spearman, p < 0.01).
pub(crate) fn trend(ratios: &[f64]) -> Option<Flag> {
    let (correlation, p) = spearman_with_position(ratios)?;
    (p < 0.01).then(|| {
        let way = if correlation > 0.0 { "rises" } else { "falls" };
        let message = format!(
            "the ratio {way} over the {} blocks (Spearman {correlation:.2}, {}): the effect itself changes in time",
            ratios.len(),
            p_value(p)
        );
        Flag::new("trend", message)
    })
}

/// `drifted-levels`: the ratio of the levels' medians lies outside the interval of the block ratios.
pub(crate) fn drifted_levels(log_ratio_of_medians: f64, interval: Interval) -> Option<Flag> {
    // Where every block has the same ratio the interval has no width, and rounding alone would step out of it.
    const ROUNDING: f64 = 1e-9;
    let judged = log_ratio_of_medians.is_finite() && !interval.is_empty();
    let within = (interval.lower - ROUNDING..=interval.upper + ROUNDING).contains(&log_ratio_of_medians);
    (judged && !within).then(|| {
        let message = format!(
            "the ratio of the medians is {:.3}, outside the interval, because the levels drifted, are bimodal, or order \
             mattered: trust the ratio within blocks",
            log_ratio_of_medians.exp()
        );
        Flag::new("drifted-levels", message)
    })
}

/// `coarse-resolution`: rounding alone can move a ratio by more than a tenth of the margin.
pub(crate) fn coarse_resolution(rounding: f64, margin: f64) -> Option<Flag> {
    (margin > 0.0 && rounding > margin / 10.0).then(|| {
        let message = format!(
            "rounding of the figures alone can move a ratio by {:.2} %, more than a tenth of the margin of {:.2} %; \
             intervals are widened by it",
            100.0 * rounding,
            100.0 * margin
        );
        Flag::new("coarse-resolution", message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;
    use crate::walsh::WalshAverages;

    #[test]
    fn the_tail_flag_matches_the_vectors() {
        for case in vectors::list("tail_flag") {
            let ratios = vectors::numbers(&case["d"]);
            let estimate = WalshAverages::of(&ratios).estimate().unwrap();
            vectors::assert_close(estimate, &case["hl"]);
            vectors::assert_close(
                NORMAL_SCALE * median_deviation(&ratios, estimate).unwrap(),
                &case["mad_sd"],
            );
            vectors::assert_close(ratios.iter().sum::<f64>() / ratios.len() as f64, &case["mean"]);
            let favoured = case["favour_A"].as_u64().unwrap();
            vectors::assert_relative(sign_test(favoured, case["n_out"].as_u64().unwrap()), &case["p"]);
            let flag = tail(&ratios, estimate, "on", "off").unwrap();
            assert!(
                flag.message.starts_with("6 of 6 outlying blocks favour `on`, p = 0.031"),
                "{}",
                flag.message
            );
        }
        assert_eq!(tail(&[0.01, 0.02, 0.015, 0.5], 0.0175, "on", "off"), None);
    }

    #[test]
    fn a_steady_climb_is_a_trend() {
        let climb: Vec<f64> = (0..8).map(f64::from).collect();
        assert!(
            trend(&climb).unwrap().message.starts_with("the ratio rises over the 8 blocks (Spearman 1.00")
        );
        assert_eq!(trend(&[0.3, -0.1, 0.2, 0.0, 0.1, -0.2, 0.25, 0.05]), None);
    }

    #[test]
    fn coarse_figures_and_drifted_levels_are_flagged() {
        assert!(coarse_resolution(0.004, 0.03).is_some());
        assert_eq!(coarse_resolution(0.002, 0.03), None);
        let interval = Interval { lower: -0.01, upper: 0.01 };
        assert!(drifted_levels(0.02, interval).is_some());
        assert_eq!(drifted_levels(0.0, interval), None);
        assert_eq!(drifted_levels(0.1 + 0.2, Interval { lower: 0.3, upper: 0.3 }), None);
        assert_eq!(drifted_levels(0.02, Interval::ALL), None);
    }
}
