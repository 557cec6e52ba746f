//! Ranks by Zipf's law, in constant time and memory however many there are.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::super::chance::{draw_share, whole};

/// Draws rank `k` of `1..=n` with probability proportional to `1 / k^theta`.
///
/// Rejection-inversion (Hörmann and Derflinger, "Rejection-Inversion to Generate Variates from Monotone Discrete
/// Distributions", ACM TOMACS 6(3), 1996): a place on the area under the curve `x^-theta` is drawn and inverted, and
/// the rank it rounds to is taken unless the place lies where the curve's area exceeds the rank's probability. That
/// happens in a few per cent of draws at most. The result is exact, where fio's method (Gray et al.) gives the two
/// first ranks their due and the others an approximation, and needs a sum over up to ten million ranks to begin.
#[derive(Debug, Clone)]
pub(crate) struct Zipf {
    ranks: f64,
    theta: f64,
    /// The area before rank 1, and from there to the end.
    area_before: f64,
    area: f64,
    /// Ranks that are at most this much above the inverse need no closer look.
    surely: f64,
}

/// `theta` is kept this far from 1 and from 0, where the formulas divide by zero and nothing is a curve.
const NEAREST: f64 = 1e-9;

impl Zipf {
    /// Over `ranks`, with `theta` above 0.
    pub(crate) fn new(ranks: u64, theta: f64) -> Self {
        let theta = theta.max(NEAREST);
        let theta = if (theta - 1.0).abs() < NEAREST { 1.0 + NEAREST } else { theta };
        let ranks = ranks.max(1) as f64;
        let mut zipf = Self { ranks, theta, area_before: 0.0, area: 0.0, surely: 0.0 };
        zipf.area_before = zipf.integrate(1.5) - 1.0;
        zipf.area = zipf.integrate(ranks + 0.5) - zipf.area_before;
        zipf.surely = 2.0 - zipf.invert(zipf.integrate(2.5) - zipf.weigh(2.0));
        zipf
    }

    /// The weight of rank `x`.
    fn weigh(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// The integral of the weight from 1 to `x`, well-behaved for `theta` near 1.
    fn integrate(&self, x: f64) -> f64 {
        let rest = 1.0 - self.theta;
        (rest * x.ln()).exp_m1() / rest
    }

    /// The `x` up to which the integral is `area`.
    #[inline]
    fn invert(&self, area: f64) -> f64 {
        let rest = 1.0 - self.theta;
        let power = rest * area;
        // `ln_1p` is slow; it is needed only where the division would blow up the rounding of `1 + power`.
        let logarithm = if rest.abs() < 1e-4 { power.ln_1p() } else { (1.0 + power).ln() };
        (logarithm / rest).exp()
    }

    /// A rank, counted from 0.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        loop {
            let place = self.area_before + self.area * (1.0 - draw_share(rng));
            let x = self.invert(place);
            let rank = x.round().clamp(1.0, self.ranks);
            if rank - x <= self.surely || place >= self.integrate(rank + 0.5) - self.weigh(rank) {
                return whole(rank) - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_xoshiro::rand_core::SeedableRng;

    /// Chi-square over the ranks below `cells - 1` and the rest as one.
    fn chi_square(ranks: u64, theta: f64, cells: usize, draws: u32) -> f64 {
        let zipf = Zipf::new(ranks, theta);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
        let mut counts = vec![0u32; cells];
        for _ in 0..draws {
            counts[usize::try_from(zipf.draw(&mut rng)).unwrap().min(cells - 1)] += 1;
        }
        let weights: Vec<f64> = (1..=ranks).map(|rank| (rank as f64).powf(-theta)).collect();
        let all: f64 = weights.iter().sum();
        let mut expected = weights[..cells - 1].to_vec();
        expected.push(weights[cells - 1..].iter().sum());
        let pairs = counts.iter().zip(expected);
        pairs
            .map(|(count, weight)| {
                let expected = weight / all * f64::from(draws);
                (f64::from(*count) - expected).powi(2) / expected
            })
            .sum()
    }

    #[test]
    fn ranks_have_the_probabilities_of_zipfs_law() {
        // 99 degrees of freedom: 148.2 is exceeded once in a thousand seeds.
        for theta in [0.2, 0.8, 0.99, 1.0 + 1e-8, 1.2, 2.0] {
            let found = chi_square(20_000, theta, 100, 400_000);
            assert!(found < 148.2, "theta {theta}: chi-square {found}");
        }
        // All of a short list: 9 degrees of freedom.
        let found = chi_square(10, 1.5, 10, 200_000);
        assert!(found < 27.9, "chi-square {found}");
    }

    #[test]
    fn the_hot_set_of_a_trillion_ranks_is_as_large_as_theory_says() {
        // For theta = 0.5 the first tenth gets sqrt(0.1) = 31.6 % of all (the sums are near 2 sqrt(n)).
        let ranks = 1u64 << 40;
        let zipf = Zipf::new(ranks, 0.5);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(12);
        let hot = (0..200_000).filter(|_| zipf.draw(&mut rng) < ranks / 10).count();
        assert!((62_600..63_900).contains(&hot), "{hot}");
    }

    proptest! {
        #[test]
        fn a_rank_is_one_of_them(ranks in 1u64..u64::MAX / 2, theta in 0.001f64..99.0, seed in any::<u64>()) {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            for ranks in [ranks, 1 + ranks % 5] {
                let zipf = Zipf::new(ranks, theta);
                for _ in 0..20 {
                    prop_assert!(zipf.draw(&mut rng) <= ranks);
                }
            }
            prop_assert_eq!(Zipf::new(1, theta).draw(&mut rng), 0);
        }
    }
}
