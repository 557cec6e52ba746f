//! The step to which figures were rounded, from the figures themselves.

use std::collections::BTreeMap;

use crate::judge::Figure;

/// The step of figures whose last written digit has the step `written`, 0 where that is not known.
///
/// Figures may be coarser than they are written: where fewer than half of them are distinct, the step is at least the
/// smallest gap between two of them. Levels each of which has one value only say nothing of steps.
pub fn infer(figures: &[Figure], written: f64) -> f64 {
    let mut values: Vec<f64> = figures.iter().map(|figure| figure.value).filter(|v| v.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    let all = values.len();
    values.dedup();
    let mut groups = BTreeMap::<(&str, &str), f64>::new();
    let varies = figures.iter().filter(|figure| figure.value.is_finite()).any(|figure| {
        let first = groups.entry((&figure.stratum, &figure.level)).or_insert(figure.value);
        first.total_cmp(&figure.value).is_ne()
    });
    if !varies || 2 * values.len() >= all {
        return written;
    }
    let gap = values.windows(2).map(|pair| pair[1] - pair[0]).reduce(f64::min).unwrap_or(0.0);
    // A gap of one written step differs from it by rounding alone.
    if gap > written * (1.0 + 1e-6) { gap } else { written }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(of: &[(&str, &[f64])]) -> Vec<Figure> {
        let one =
            |level: &str, value: &f64| Figure { level: level.to_owned(), value: *value, ..Figure::default() };
        of.iter().flat_map(|(level, values)| values.iter().map(move |value| one(level, value))).collect()
    }

    #[test]
    fn figures_that_repeat_are_as_coarse_as_their_gaps() {
        let near = |found: f64, expected: f64| (found - expected).abs() < 1e-9;
        let fives =
            figures(&[("on", &[95.0, 100.0, 100.0, 95.0]), ("off", &[105.0, 110.0, 110.0, 105.0, 105.0])]);
        assert!(near(infer(&fives, 1.0), 5.0));
        let distinct = figures(&[("on", &[95.0, 100.0, 101.0]), ("off", &[105.0, 110.0, 110.0])]);
        assert!(near(infer(&distinct, 1.0), 1.0));
        let constant = figures(&[("on", &[100.0; 6]), ("off", &[188.0; 6])]);
        assert!(near(infer(&constant, 0.01), 0.01));
        let tenths = figures(&[("on", &[1.1, 1.2, 1.1, 1.2]), ("off", &[1.2, 1.3, 1.3, 1.2])]);
        assert!(infer(&tenths, 0.1).total_cmp(&0.1).is_eq());
        assert!(near(infer(&tenths, 0.001), 0.1));
        let endless = figures(&[("on", &[f64::INFINITY, 3.0, 3.0]), ("off", &[f64::INFINITY; 3])]);
        assert!(near(infer(&endless, 0.5), 0.5));
    }
}
