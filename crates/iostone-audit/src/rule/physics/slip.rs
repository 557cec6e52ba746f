//! The factors that mixed-up units are off by.

/// A mix-up of units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Slip {
    /// What it is off by, above 1.
    pub(super) factor: f64,
    /// What was mixed up.
    pub(super) what: &'static str,
    /// Whether it is so large that nothing else explains it; a few percent may be noise.
    pub(super) gross: bool,
}

const fn slip(factor: f64, what: &'static str, gross: bool) -> Slip {
    Slip { factor, what, gross }
}

/// Every mix-up that is looked for: powers of 1024 for powers of 1000, bits for bytes, a prefix too many.
const SLIPS: &[Slip] = &[
    slip(1.024, "a prefix of 1000 taken for one of 1024 (as kB for KiB, or 1000 MiB for 1 GiB)", false),
    slip(1.048_576, "MB taken for MiB", false),
    slip(1.073_741_824, "GB taken for GiB", false),
    slip(1.099_511_627_776, "TB taken for TiB", false),
    slip(8.0, "bits taken for bytes", true),
    slip(8.192, "bits taken for bytes, and kB for KiB", true),
    slip(8.388_608, "bits taken for bytes, and MB for MiB", true),
    slip(8.589_934_592, "bits taken for bytes, and GB for GiB", true),
    slip(1000.0, "one prefix too many, of 1000", true),
    slip(1024.0, "one prefix too many, of 1024", true),
    slip(1e6, "two prefixes too many, of 1000", true),
    slip(1_048_576.0, "two prefixes too many, of 1024", true),
];

/// The mix-up that a ratio, or its inverse, comes nearest to, within a tolerance as a share.
pub(super) fn nearest(ratio: f64, tolerance: f64) -> Option<Slip> {
    if !(ratio.is_finite() && ratio > 0.0) {
        return None;
    }
    let ratio = if ratio < 1.0 { ratio.recip() } else { ratio };
    let off = |slip: &Slip| (ratio / slip.factor - 1.0).abs();
    SLIPS
        .iter()
        .copied()
        .filter(|slip| off(slip) <= tolerance)
        .min_by(|one, other| off(one).total_cmp(&off(other)))
}

/// Half the step of a number's last written digit, as a share of it: 0.0085 for `59min`.
pub(super) fn rounding(text: &str) -> f64 {
    let number: String = text.trim().chars().take_while(|c| c.is_ascii_digit() || matches!(c, '.')).collect();
    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let step = 10f64.powi(-i32::try_from(decimals).unwrap_or(i32::MAX));
    match number.parse::<f64>() {
        Ok(value) if value > 0.0 => 0.5 * step / value,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_up_is_known_by_its_factor_either_way_round() {
        assert_eq!(nearest(65_536_000.0 / 62_500_000.0, 0.01).unwrap().what, "MB taken for MiB");
        assert_eq!(nearest(62_500_000.0 / 65_536_000.0, 0.01).unwrap().what, "MB taken for MiB");
        assert_eq!(nearest(0.125, 0.01).unwrap().what, "bits taken for bytes");
        assert_eq!(nearest(1.0, 0.01), None);
        assert_eq!(nearest(1.5, 0.01), None);
        assert_eq!(nearest(f64::NAN, 0.01), None);
        assert_eq!(nearest(0.0, 0.01), None);
    }

    #[test]
    fn rounding_is_half_a_step_of_the_last_digit() {
        assert!((rounding("59min") - 0.5 / 59.0).abs() < 1e-12);
        assert!((rounding("62.5MiB/s") - 0.05 / 62.5).abs() < 1e-12);
        assert!(rounding("min").abs() < 1e-12);
    }
}
