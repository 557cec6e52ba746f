//! How noisy two single runs may have been for their ratio to mean anything.

/// Standard deviations that bound 95 % of a normal law.
const NORMAL_95: f64 = 1.959_963_984_540_054;

/// The coefficient of variation (a fraction) at which the ratio of two single runs just stops to differ from one.
///
/// `|ln ratio| / (1.96 sqrt 2)`: the difference of two logarithms has sqrt 2 times the spread of one, and 1.96
/// (1.959964, to be exact) spreads bound 95 % of a normal law. If single runs scatter by more than this, the ratio
/// shows nothing. None for a ratio that is not a positive number.
pub fn breakeven_cv(ratio: f64) -> Option<f64> {
    (ratio.is_finite() && ratio > 0.0).then(|| ratio.ln().abs() / (NORMAL_95 * std::f64::consts::SQRT_2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;

    #[test]
    fn the_published_single_runs_match_the_vectors() {
        for case in vectors::list("breakeven_cv") {
            vectors::assert_close(breakeven_cv(case["ratio"].as_f64().unwrap()).unwrap(), &case["cv"]);
        }
        assert_eq!(breakeven_cv(0.0), None);
        assert_eq!(breakeven_cv(f64::NAN), None);
    }
}
