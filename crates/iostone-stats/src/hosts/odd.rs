//! Hosts that are unlike the rest.
//!
//! A host is named where its distance from the median of all hosts, in robust standard deviations, is larger than that of the
//! farthest of healthy hosts is in 19 of 20 fleets of that size. Healthy hosts are taken to vary as Student's law with 15 degrees
//! of freedom does, a little heavier in its tails than a normal one; where single hosts of a healthy fleet often lie far out,
//! more are named. The median deviation is no larger for a few odd hosts, so that they do not hide each other.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::median::{NORMAL_SCALE, median, median_deviation};
use crate::schedule::SplitMix64;

/// The fewest hosts of which one can be odd: of fewer, half are the rest.
pub const FEWEST: usize = 5;

/// The chance that a healthy fleet has any host named.
pub const FALSE_NAMES: f64 = 0.05;

/// The degrees of freedom of the law of healthy hosts.
const FREEDOM: f64 = 15.0;

/// A host that is unlike the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OddHost {
    /// Its place in the list of values.
    pub host: usize,
    /// How far its value lies from the median of all, as log ratio: below zero for a worse host.
    pub distance: f64,
    /// The same in robust standard deviations.
    pub deviations: f64,
    /// From how many of them on a host is named in a fleet of this size.
    pub limit: f64,
}

/// Names the odd hosts, the worst first. `values` are the medians of each host's log figures, signed so that larger is better;
/// `uncertainty` is the standard error of one such value, below which no spread is believed (0 if it is not known).
pub fn odd_hosts(values: &[f64], uncertainty: f64) -> Vec<OddHost> {
    if values.len() < FEWEST {
        return Vec::new();
    }
    let Some((centre, spread)) = centre_and_spread(values) else { return Vec::new() };
    let spread = spread.max(uncertainty);
    if spread <= 0.0 {
        return Vec::new();
    }
    let limit = limit(values.len());
    let mut odd: Vec<OddHost> = values
        .iter()
        .enumerate()
        .map(|(host, value)| {
            let distance = value - centre;
            OddHost { host, distance, deviations: distance.abs() / spread, limit }
        })
        .filter(|host| host.deviations > limit)
        .collect();
    odd.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    odd
}

fn centre_and_spread(values: &[f64]) -> Option<(f64, f64)> {
    let centre = median(values)?;
    Some((centre, NORMAL_SCALE * median_deviation(values, centre)?))
}

/// The deviations of the farthest host that [`FALSE_NAMES`] of simulated healthy fleets exceed; kept for the life of the process.
fn limit(hosts: usize) -> f64 {
    static LIMITS: OnceLock<Mutex<HashMap<usize, f64>>> = OnceLock::new();
    let limits = LIMITS.get_or_init(Mutex::default);
    if let Some(found) = limits.lock().unwrap_or_else(PoisonError::into_inner).get(&hosts) {
        return *found;
    }
    let fleets = (400_000 / hosts).clamp(1_000, 8_000);
    let mut generator = SplitMix64::new(hosts as u64);
    let mut farthest: Vec<f64> = (0..fleets)
        .filter_map(|_| {
            let values: Vec<f64> = (0..hosts).map(|_| student(&mut generator)).collect();
            let (centre, spread) = centre_and_spread(&values)?;
            let distance = values.iter().map(|value| (value - centre).abs()).fold(0.0, f64::max);
            Some(distance / spread.max(f64::MIN_POSITIVE))
        })
        .collect();
    farthest.sort_unstable_by(f64::total_cmp);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a list")]
    let place = ((1.0 - FALSE_NAMES) * farthest.len() as f64) as usize;
    let found = farthest.get(place).copied().unwrap_or(f64::INFINITY);
    limits.lock().unwrap_or_else(PoisonError::into_inner).insert(hosts, found);
    found
}

/// A number of Student's law, by the method of Bailey (1994).
fn student(generator: &mut SplitMix64) -> f64 {
    let radius = (FREEDOM * ((1.0 - generator.next_unit()).powf(-2.0 / FREEDOM) - 1.0)).sqrt();
    radius * (2.0 * std::f64::consts::PI * generator.next_unit()).cos()
}
