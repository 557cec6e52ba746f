//! Random numbers of known seed, and the noise that real machines put on figures.

use iostone_stats::schedule::SplitMix64;

/// A source of random numbers.
pub(crate) struct Chance(SplitMix64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// Uniform from 0 up to 1.
    pub(crate) fn share(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A whole number below that bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.0.next_below(bound as u64)).unwrap()
    }

    /// One of those.
    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Between two positive numbers, evenly on the logarithmic scale.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.share())
    }

    /// Standard normal (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.share()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.share()).cos()
    }

    /// A random order of the numbers below `count`.
    pub(crate) fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }
}

/// Kinds of noise, all honest: none of them is a fault of whoever measured in blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Noise {
    Independent,
    /// Neighbours in time resemble each other.
    Correlated,
    /// The machine gets slower or faster all the time.
    Drifting,
    /// The first runs are slow.
    Warming,
    /// One run in twenty is far off.
    Bursts,
    /// Two hosts of different speed, changing from block to block.
    TwoStates,
    /// Student's t with two degrees of freedom.
    HeavyTailed,
    /// Ever wilder.
    Growing,
}

pub(crate) const NOISES: [Noise; 8] = [
    Noise::Independent,
    Noise::Correlated,
    Noise::Drifting,
    Noise::Warming,
    Noise::Bursts,
    Noise::TwoStates,
    Noise::HeavyTailed,
    Noise::Growing,
];

/// The logarithms of the noise of so many runs in the order of time, `block` at a time, of that coefficient of
/// variation (of their bulk).
pub(crate) fn noise(chance: &mut Chance, kind: Noise, runs: usize, block: usize, cv: f64) -> Vec<f64> {
    let mut state = chance.normal();
    let mut fast = true;
    (0..runs)
        .map(|run| {
            let time = run as f64 / runs as f64;
            let plain = chance.normal();
            let units = match kind {
                Noise::Independent => plain,
                Noise::Correlated => {
                    state = 0.7 * state + (1.0_f64 - 0.49).sqrt() * plain;
                    state
                }
                Noise::Drifting => plain + 4.0 * time,
                Noise::Warming => plain - 5.0 * (-(run as f64) / 3.0).exp(),
                Noise::Bursts => plain - if chance.share() < 0.05 { 8.0 } else { 0.0 },
                Noise::TwoStates => {
                    if run % block == 0 {
                        fast = chance.share() < 0.5;
                    }
                    plain + if fast { 3.0 } else { -3.0 }
                }
                Noise::HeavyTailed => {
                    let chi: f64 = (0..2).map(|_| chance.normal().powi(2)).sum();
                    (plain / (chi / 2.0).sqrt()).clamp(-15.0, 15.0)
                }
                Noise::Growing => plain * (0.5 + 2.0 * time),
            };
            (cv * units).clamp(-1.0, 1.0)
        })
        .collect()
}
