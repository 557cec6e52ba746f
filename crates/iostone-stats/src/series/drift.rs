//! Whether a steady drift in time could make the difference between two conditions run one after the other.

use crate::special::student_two_sided;

/// What one steady drift, as strong as it shows within the two conditions, leaves of their difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// The drift: change of the natural logarithm per step of position.
    pub slope: f64,
    /// Two-sided p of no drift (Student).
    pub slope_p_value: f64,
    /// The difference of the means of the logarithms, second less first, as it stands.
    pub difference: f64,
    /// The same with the drift taken out.
    pub without_drift: f64,
    /// Its interval; all numbers where the series are too short to bound it.
    pub interval: [f64; 2],
    /// Two-sided p of no difference beside the drift (Student).
    pub p_value: f64,
}

/// Fits one slope in time to two series and tests what remains of their difference (analysis of covariance).
///
/// Each series is of (position in time, figure above zero); the logarithm is fitted by least squares with a level
/// for each series and a common slope. Normal noise and a straight drift are assumed, which a handful of runs cannot
/// show: the answer says what could be, not what is. `confidence` (0.95, say) is that of the interval. None where
/// there are fewer than four runs, where no series has two, or where a figure is not above zero.
pub fn drift(first: &[(f64, f64)], second: &[(f64, f64)], confidence: f64) -> Option<Drift> {
    let runs = first.len() + second.len();
    let usable = |pairs: &[(f64, f64)]| {
        pairs.iter().all(|(at, figure)| at.is_finite() && figure.is_finite() && *figure > 0.0)
    };
    if runs < 4 || first.is_empty() || second.is_empty() || !usable(first) || !usable(second) {
        return None;
    }
    let logs = |pairs: &[(f64, f64)]| -> Vec<(f64, f64)> {
        pairs.iter().map(|(at, figure)| (*at, figure.ln())).collect()
    };
    let sides = [logs(first), logs(second)];
    let centres = sides.each_ref().map(|side| {
        let n = side.len() as f64;
        (side.iter().map(|(at, _)| at).sum::<f64>() / n, side.iter().map(|(_, log)| log).sum::<f64>() / n)
    });
    let offsets: Vec<(f64, f64)> = sides
        .iter()
        .zip(centres)
        .flat_map(|(side, (middle, mean))| side.iter().map(move |(at, log)| (at - middle, log - mean)))
        .collect();
    let spread_in_time: f64 = offsets.iter().map(|(at, _)| at * at).sum();
    if spread_in_time <= 0.0 {
        return None;
    }
    let slope = offsets.iter().map(|(at, log)| at * log).sum::<f64>() / spread_in_time;
    let residual: f64 = offsets.iter().map(|(at, log)| (log - slope * at).powi(2)).sum();
    let freedom = runs as f64 - 3.0;
    let gap = centres[1].0 - centres[0].0;
    let difference = centres[1].1 - centres[0].1;
    let without_drift = difference - slope * gap;
    let per_size = 1.0 / first.len() as f64 + 1.0 / second.len() as f64;
    let error = (residual / freedom * (per_size + gap * gap / spread_in_time)).sqrt();
    let p_of = |size: f64, error: f64| {
        if error > 0.0 {
            student_two_sided(size.abs() / error, freedom)
        } else if size.abs() > 0.0 {
            0.0
        } else {
            1.0
        }
    };
    let p_value = p_of(without_drift, error);
    let slope_p_value = p_of(slope, (residual / freedom / spread_in_time).sqrt());
    let reach = student_critical(1.0 - confidence, freedom) * error;
    Some(Drift {
        slope,
        slope_p_value,
        difference,
        without_drift,
        interval: [without_drift - reach, without_drift + reach],
        p_value,
    })
}

/// The t whose two-sided tail under Student's law is `alpha`, by bisection.
fn student_critical(alpha: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1e6_f64);
    for _ in 0..100 {
        let middle = low.midpoint(high);
        if student_two_sided(middle, freedom) > alpha {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: u32, figures: &[f64]) -> Vec<(f64, f64)> {
        figures.iter().enumerate().map(|(index, figure)| (f64::from(start) + index as f64, *figure)).collect()
    }

    #[test]
    fn critical_values_are_students() {
        assert!((student_critical(0.05, 7.0) - 2.364_624).abs() < 1e-5);
        assert!((student_critical(0.05, 1.0) - 12.706_205).abs() < 1e-4);
    }

    #[test]
    fn a_drift_as_seen_could_explain_the_barrier_figures() {
        let on = at(0, &[198.832, 198.525, 197.24, 198.003, 193.24]);
        let off = at(5, &[195.168, 196.525, 196.241, 197.79, 195.378]);
        let found = drift(&on, &off, 0.95).unwrap();
        assert!((found.difference.exp() - 0.9951).abs() < 5e-4, "{found:?}");
        assert!(found.slope < 0.0 && found.without_drift > 0.0 && found.p_value > 0.3, "{found:?}");
        assert!(found.interval[0] < 0.0 && found.interval[1] > 0.0);
    }

    #[test]
    fn no_drift_within_explains_a_threefold_difference() {
        let old = at(0, &[58.7519, 60.9603, 58.7519, 63.2337, 61.4362]);
        let new = at(5, &[195.168, 196.525, 196.241, 197.79, 195.378]);
        let found = drift(&old, &new, 0.95).unwrap();
        assert!(found.p_value < 1e-6 && found.interval[0] > 1.0, "{found:?}");
    }

    #[test]
    fn a_pure_drift_leaves_nothing() {
        let line: Vec<(f64, f64)> = (0..10).map(|i| (f64::from(i), (0.01 * f64::from(i)).exp())).collect();
        let found = drift(&line[..5], &line[5..], 0.95).unwrap();
        assert!(found.without_drift.abs() < 1e-9 && (found.slope - 0.01).abs() < 1e-9, "{found:?}");
        assert_eq!(drift(&line[..1], &line[1..3], 0.95), None);
        assert_eq!(drift(&at(0, &[1.0, 0.0]), &line[..5], 0.95), None);
    }
}
