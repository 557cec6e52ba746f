//! Whether successive runs depend on each other: the rank version of von Neumann's ratio (Bartels 1982).

use crate::rank::doubled_ranks;
use crate::special::normal_two_sided;

/// Below this p runs are said to depend.
const SUSPICIOUS: f64 = 0.05;

/// The fewest runs of which it is asked: Bartels' normal approximation is good from ten on.
const FEWEST: usize = 10;

/// What the ratio says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dependence {
    /// The sum of squared steps of ranks from run to run over that about their mean: 2 for independent runs, towards 0 where
    /// neighbours are alike.
    pub ratio: f64,
    /// The chance of a ratio that small if runs are independent.
    pub p_value: f64,
}

impl Dependence {
    /// The ratio of runs in order of time; none below ten, or where all are equal.
    pub fn of(runs: &[f64]) -> Option<Self> {
        if runs.len() < FEWEST {
            return None;
        }
        let ranks: Vec<f64> = doubled_ranks(runs).0.into_iter().map(f64::from).collect();
        let n = runs.len() as f64;
        let about_mean: f64 = ranks.iter().map(|rank| (rank - (n + 1.0)).powi(2)).sum();
        if about_mean <= 0.0 {
            return None;
        }
        let steps: f64 = ranks.windows(2).map(|two| (two[0] - two[1]).powi(2)).sum();
        let ratio = steps / about_mean;
        let variance =
            4.0 * (n - 2.0) * (5.0 * n * n - 2.0 * n - 9.0) / (5.0 * n * (n + 1.0) * (n - 1.0).powi(2));
        let z = (ratio - 2.0) / variance.sqrt();
        let beyond = normal_two_sided(z) / 2.0;
        Some(Self { ratio, p_value: if z < 0.0 { beyond } else { 1.0 - beyond } })
    }

    /// Whether the runs are so much alike that alarms about them mean little.
    pub fn is_suspicious(self) -> bool {
        self.p_value < SUSPICIOUS
    }
}
