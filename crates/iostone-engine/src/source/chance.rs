//! Single draws from the generator: a number below a bound, a share of one, a percentage.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A number from `0..bound`, or 0 where that is empty.
///
/// The upper half of a 128-bit product (Lemire, "Fast Random Integer Generation in an Interval", 2019) without its
/// rejection step: a number's probability is off by less than `bound / 2^64` of itself, which no run can tell.
#[inline]
pub(crate) fn draw_below(rng: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(bound)) >> u64::BITS) as u64
}

/// A share from 0 to 1, not included, in steps of `2^-53`.
#[inline]
pub(crate) fn draw_share(rng: &mut Xoshiro256PlusPlus) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << f64::MANTISSA_DIGITS) as f64;
    (rng.next_u64() >> (u64::BITS - f64::MANTISSA_DIGITS)) as f64 * STEP
}

/// True `percent` times in a hundred on average.
#[inline]
pub(crate) fn draw_percent(rng: &mut Xoshiro256PlusPlus, percent: u32) -> bool {
    draw_below(rng, 100) < u64::from(percent)
}

/// A generator whose numbers have nothing to do with those that `rng` gives later.
pub(crate) fn branch(rng: &mut Xoshiro256PlusPlus) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(rng.next_u64())
}

/// The whole part of a number; 0 below 0.
#[inline]
pub(crate) fn whole(number: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "cutting off is the purpose, and `as` saturates at both ends"
    )]
    let whole = number as u64;
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_below_a_bound_are_even() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[usize::try_from(draw_below(&mut rng, 10)).unwrap()] += 1;
        }
        // Chi-square of 9 degrees of freedom: 27.9 is exceeded once in a thousand seeds.
        let chi_square: f64 =
            counts.iter().map(|count| (f64::from(*count) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi_square < 27.9, "{counts:?}");
        assert_eq!(draw_below(&mut rng, 0), 0);
    }

    #[test]
    fn shares_and_percentages_have_the_right_mean() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
        let shares: Vec<f64> = (0..100_000).map(|_| draw_share(&mut rng)).collect();
        assert!(shares.iter().all(|share| (0.0..1.0).contains(share)));
        assert!((shares.iter().sum::<f64>() / 100_000.0 - 0.5).abs() < 0.004);
        let hits = (0..100_000).filter(|_| draw_percent(&mut rng, 30)).count();
        assert!((29_400..30_600).contains(&hits), "{hits}");
        assert!((0..1000).all(|_| draw_percent(&mut rng, 100) && !draw_percent(&mut rng, 0)));
    }
}
