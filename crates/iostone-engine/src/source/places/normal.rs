//! Places around a mean: the normal distribution, cut off at the ends of the span.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::super::chance::{draw_share, whole};

/// Draws places of `0..places` around a mean. What falls outside is drawn again, so that a mean at one end gives
/// half a bell; with a deviation of 10 % around the middle that is one draw in two million.
#[derive(Debug, Clone)]
pub(crate) struct Normal {
    places: f64,
    mean: f64,
    deviation: f64,
    /// The polar method gives two numbers at a time.
    spare: Option<f64>,
}

impl Normal {
    /// A mean at the share `center` of the span and a standard deviation in percent of it.
    pub(crate) fn new(places: u64, center: f64, deviation_percent: f64) -> Self {
        let places = places.max(1) as f64;
        // Half a place from the ends, so that even no deviation at all finds a place.
        let mean = (center * places).clamp(0.5, places - 0.5);
        // What is not a number is above nothing.
        let percent = if deviation_percent > 0.0 { deviation_percent.min(100.0) } else { 0.0 };
        let deviation = percent / 100.0 * places;
        Self { places, mean, deviation, spare: None }
    }

    /// A place.
    #[inline]
    pub(crate) fn draw(&mut self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        loop {
            let place = self.mean + self.deviation * self.draw_standard(rng);
            if (0.0..self.places).contains(&place) {
                return whole(place);
            }
        }
    }

    /// A number of the standard normal distribution: Marsaglia's polar method (Marsaglia and Bray, "A Convenient
    /// Method for Generating Normal Variables", SIAM Review 6, 1964).
    #[inline]
    fn draw_standard(&mut self, rng: &mut Xoshiro256PlusPlus) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * draw_share(rng) - 1.0, 2.0 * draw_share(rng) - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let stretch = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(y * stretch);
                return x * stretch;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_xoshiro::rand_core::SeedableRng;

    fn shares(center: f64, deviation_percent: f64) -> Vec<f64> {
        let places = 1u64 << 30;
        let mut normal = Normal::new(places, center, deviation_percent);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(21);
        (0..200_000).map(|_| normal.draw(&mut rng) as f64 / places as f64).collect()
    }

    #[test]
    fn mean_deviation_and_tails_are_those_asked_for() {
        for (center, deviation) in [(0.5, 0.10), (0.25, 0.05), (0.6, 0.01)] {
            let drawn = shares(center, deviation * 100.0);
            let count = drawn.len() as f64;
            let mean = drawn.iter().sum::<f64>() / count;
            let variance = drawn.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / count;
            assert!((mean - center).abs() < 0.01 * deviation, "{mean}");
            assert!((variance.sqrt() / deviation - 1.0).abs() < 0.01, "{}", variance.sqrt());
            let within = |sigmas: f64| {
                drawn.iter().filter(|share| (*share - center).abs() < sigmas * deviation).count() as f64
                    / count
            };
            assert!((within(1.0) - 0.6827).abs() < 0.004, "{}", within(1.0));
            assert!((within(2.0) - 0.9545).abs() < 0.002, "{}", within(2.0));
        }
    }

    #[test]
    fn a_mean_at_the_end_gives_half_a_bell() {
        let drawn = shares(0.0, 10.0);
        let near = drawn.iter().filter(|share| **share < 0.1).count() as f64 / drawn.len() as f64;
        assert!((near - 0.6827).abs() < 0.004, "{near}");
    }

    proptest! {
        #[test]
        fn a_place_is_one_of_them(
            places in 1u64..1 << 50,
            center in 0.0f64..=1.0,
            deviation in prop::sample::select(vec![0.0, 1e-300, 1.0, 100.0, f64::INFINITY, f64::NAN]),
            seed in any::<u64>(),
        ) {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut normal = Normal::new(places, center, deviation);
            for _ in 0..20 {
                prop_assert!(normal.draw(&mut rng) < places);
            }
        }
    }
}
