//! How many digits of a number people take in, and counts that were reckoned with fractions.

/// Three significant digits, or whole numbers from 100 up.
pub fn three_digits(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 99.95 {
        format!("{value:.0}")
    } else if magnitude >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// A ratio with three digits, below a tenth with two that count (`0.0026`), and with an exponent only beyond a million
/// either way.
pub fn ratio_digits(ratio: f64) -> String {
    let magnitude = ratio.abs();
    if magnitude >= 1e6 || (magnitude > 0.0 && magnitude < 1e-6) {
        format!("{ratio:.1e}")
    } else if magnitude >= 0.0995 || magnitude == 0.0 {
        three_digits(ratio)
    } else {
        let steps = [(0.00995, 3), (0.000_995, 4), (0.000_099_5, 5), (0.000_009_95, 6)];
        let decimals = steps.iter().find(|(from, _)| magnitude >= *from).map_or(7, |(_, decimals)| *decimals);
        format!("{ratio:.decimals$}")
    }
}

/// A count that was reckoned with fractions, such as a median of counters or a share of bytes: the nearest whole one, and none
/// below zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casting saturates, and nothing below zero is left"
)]
pub fn round_count(value: f64) -> u64 {
    value.max(0.0).round() as u64
}

/// `p = 0.039`, `p = 0.0006`, `p < 0.0001`.
pub fn p_value(p: f64) -> String {
    if p < 1e-4 {
        "p < 0.0001".to_owned()
    } else if p < 1e-3 {
        format!("p = {p:.4}")
    } else {
        format!("p = {p:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_ratios_keep_the_digits_that_count() {
        let written = [0.0, 0.0026, 0.01, 0.0996, 0.5, 5.0, 580.0, 2e6, 3e-7].map(ratio_digits);
        assert_eq!(written, ["0.00", "0.0026", "0.010", "0.10", "0.50", "5.00", "580", "2.0e6", "3.0e-7"]);
    }

    #[test]
    fn counts_are_rounded_and_never_below_zero() {
        assert_eq!([0.4, 0.5, 2.6, -3.0, f64::NAN, 1e30].map(round_count), [0, 1, 3, 0, 0, u64::MAX]);
    }
}
