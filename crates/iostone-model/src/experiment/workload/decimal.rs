//! A number with up to six decimals that is kept exactly, so that what is printed reads back the same.

use std::fmt;
use std::str::FromStr;

const PARTS: u64 = 1_000_000;

/// A number of 0 or more with up to six decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal {
    millionths: u64,
}

impl Decimal {
    /// A whole number.
    pub const fn whole(number: u32) -> Self {
        Self { millionths: number as u64 * PARTS }
    }

    /// The nearest floating-point number.
    pub fn as_f64(self) -> f64 {
        self.millionths as f64 / PARTS as f64
    }

    /// The sum; None where it is too large.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.millionths.checked_add(other.millionths).map(|millionths| Self { millionths })
    }

    /// The difference; None below 0.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.millionths.checked_sub(other.millionths).map(|millionths| Self { millionths })
    }
}

impl FromStr for Decimal {
    /// Why, as a clause.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || format!("`{text}` is not a number with up to six decimals");
        let trimmed = text.trim();
        let (whole, decimals) = trimmed.split_once('.').unwrap_or((trimmed, "0"));
        let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !are_digits(whole) || !are_digits(decimals) || decimals.len() > 6 {
            return Err(refused());
        }
        let fraction: u64 = format!("{decimals:0<6}").parse().map_err(|_| refused())?;
        let whole: u64 = whole.parse().map_err(|_| refused())?;
        whole
            .checked_mul(PARTS)
            .and_then(|millionths| millionths.checked_add(fraction))
            .map(|millionths| Self { millionths })
            .ok_or_else(refused)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.millionths / PARTS)?;
        match self.millionths % PARTS {
            0 => Ok(()),
            rest => write!(f, ".{}", format!("{rest:06}").trim_end_matches('0')),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers from one to another, in millionths.
    pub(crate) fn decimals(millionths: std::ops::RangeInclusive<u64>) -> impl Strategy<Value = Decimal> {
        millionths.prop_map(|millionths| Decimal { millionths })
    }

    #[test]
    fn decimals_are_exact_or_refused() {
        let read = |text: &str| text.parse::<Decimal>().unwrap().to_string();
        assert_eq!(
            (read("1.20"), read("007"), read("0.000001")),
            ("1.2".into(), "7".into(), "0.000001".into())
        );
        for wrong in ["", ".5", "1.", "-1", "1e3", "0.0000001", "nan", "99999999999999999999"] {
            assert!(wrong.parse::<Decimal>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn decimals_print_and_read_back_the_same(decimal in decimals(0..=u64::MAX)) {
            prop_assert_eq!(decimal.to_string().parse(), Ok(decimal));
        }
    }
}
