//! Numbers as tools print them: with a point or a comma, a prefix, and the step of their last digit.

use iostone_model::dataset::Figure;

/// A decimal number as printed, in a unit of which one is `factor` base units. None if it is no finite number.
pub(crate) fn figure(text: &str, factor: f64) -> Option<Figure> {
    let text = text.trim();
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite())?;
    Some(Figure { value: value * factor, step: step(text) * factor })
}

/// The step of the last printed digit: 0.01 for `61.70`, 1000 for `6.1e4`.
pub(crate) fn step(text: &str) -> f64 {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let decimals = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let exponent = exponent.parse::<i32>().unwrap_or(0);
    10f64.powi(exponent.saturating_sub(i32::try_from(decimals).unwrap_or(i32::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_knows_its_last_digit() {
        assert_eq!(figure("61.7", 1e6), Some(Figure { value: 61.7 * 1e6, step: 0.1 * 1e6 }));
        assert_eq!(figure("62", 1.0), Some(Figure { value: 62.0, step: 1.0 }));
        assert_eq!(figure("2.31e-05", 1.0).map(|figure| figure.step), Some(1e-7));
        assert_eq!(figure("nan", 1.0), None);
        assert_eq!(figure("", 1.0), None);
    }
}
