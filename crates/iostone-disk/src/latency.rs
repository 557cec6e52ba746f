//! How long a request takes at least, and how that scatters.

use std::f64::consts::TAU;

use iostone_model::experiment::{EmulatedVolume, LatencySpread};
use iostone_model::units::Span;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

use crate::model::Operation;

/// The sigma of the lognormal spread: the 99th percentile is `exp(2.326 * 0.5)` = 3.2 medians.
const LOGNORMAL_SIGMA: f64 = 0.5;

/// The least times of service of one volume, in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct Latencies {
    pub(crate) read_ns: u64,
    /// That of writes and discards, where it is not that of reads.
    pub(crate) write_ns: Option<u64>,
    pub(crate) flush_ns: u64,
    pub(crate) spread: Option<LatencySpread>,
}

impl Latencies {
    /// Those that a volume asks for.
    pub(crate) fn new(volume: &EmulatedVolume) -> Self {
        Self {
            read_ns: volume.latency.map_or(0, nanoseconds),
            write_ns: volume.write_latency.map(nanoseconds),
            flush_ns: volume.flush_latency.map_or(0, nanoseconds),
            spread: volume.latency_spread,
        }
    }

    /// The latency of one request in nanoseconds, drawn anew each time where it scatters.
    pub(crate) fn draw(&self, operation: Operation, random: &mut Xoshiro256PlusPlus) -> u64 {
        let nominal_ns = match operation {
            Operation::Read => self.read_ns,
            Operation::Write | Operation::Discard => self.write_ns.unwrap_or(self.read_ns),
            Operation::Flush => self.flush_ns,
        };
        match self.spread {
            Some(spread) if nominal_ns > 0 => scatter(nominal_ns, spread, random),
            _ => nominal_ns,
        }
    }
}

/// A latency of that distribution around `nominal_ns`, with `u` and `v` uniform in [0, 1):
///
/// - exponential, of mean `n`: `-n ln(1 - u)`;
/// - lognormal, of median `n`: `n exp(0.5 z)`, where `z = sqrt(-2 ln(1 - u)) cos(2 pi v)` is normal (Box and Muller
///   1958);
/// - uniform: `n (0.5 + u)`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and none is negative"
)]
fn scatter(nominal_ns: u64, spread: LatencySpread, random: &mut Xoshiro256PlusPlus) -> u64 {
    let factor = match spread {
        LatencySpread::Exponential => -(1.0 - unit_interval(random)).ln(),
        LatencySpread::Uniform => 0.5 + unit_interval(random),
        LatencySpread::Lognormal => {
            let radius = (-2.0 * (1.0 - unit_interval(random)).ln()).sqrt();
            let normal = radius * (TAU * unit_interval(random)).cos();
            (LOGNORMAL_SIGMA * normal).exp()
        }
    };
    (nominal_ns as f64 * factor).round() as u64
}

/// A number from 0 up to, but not, 1, with the 53 bits that an f64 holds.
pub(crate) fn unit_interval(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A span in nanoseconds, at most 584 years.
pub(crate) fn nanoseconds(span: Span) -> u64 {
    u64::try_from(span.0.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
