//! Random places: block numbers (or targets) by a distribution, each draw independent of those before.

mod normal;
mod scatter;
mod zipf;

use iostone_model::load::{Extent, RandomDistribution, Zone};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::chance::{draw_below, draw_share, whole};
use normal::Normal;
use scatter::{Arrangement, Scatter};
use zipf::Zipf;

/// Draws places of `0..places`.
#[derive(Debug, Clone)]
pub(crate) enum Places {
    /// There are none.
    Nowhere,
    /// All as likely.
    Uniform(u64),
    /// Zipf's law.
    Zipf(Zipf, Arrangement),
    /// Self-similar.
    Pareto(Pareto, Arrangement),
    /// Around a mean.
    Normal(Normal),
    /// By shares of the span.
    Zoned(Vec<Share>),
}

impl Places {
    /// Places that are `step_bytes` apart. Ranks of a distribution without a centre are scattered; generators in the
    /// same state scatter them alike.
    pub(crate) fn of_blocks(
        distribution: &RandomDistribution,
        places: u64,
        step_bytes: u64,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Self {
        Self::new(distribution, places, step_bytes, |places| {
            Arrangement::Scattered(Scatter::new(places, rng))
        })
    }

    /// `targets` of `1 << bits` places each. Where the distribution has no centre, the likeliest place is the first
    /// of a target that is drawn.
    pub(crate) fn of_targets(
        distribution: &RandomDistribution,
        targets: u64,
        bits: u32,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Self {
        Self::new(distribution, targets << bits, 1, |places| Arrangement::From {
            first: draw_below(rng, targets) << bits,
            places,
        })
    }

    /// Without a centre, `arrange` says where ranks lie.
    fn new(
        distribution: &RandomDistribution,
        places: u64,
        step_bytes: u64,
        arrange: impl FnOnce(u64) -> Arrangement,
    ) -> Self {
        if places == 0 {
            return Self::Nowhere;
        }
        let arrange = |center: &Option<f64>| match center {
            Some(center) => Arrangement::around(*center, places),
            None => arrange(places),
        };
        match distribution {
            RandomDistribution::Random => Self::Uniform(places),
            RandomDistribution::Zipf { theta, center } => {
                Self::Zipf(Zipf::new(places, *theta), arrange(center))
            }
            RandomDistribution::Pareto { h, center } => {
                Self::Pareto(Pareto::new(places, *h), arrange(center))
            }
            RandomDistribution::Normal { deviation_percent, center } => {
                Self::Normal(Normal::new(places, center.unwrap_or(0.5), *deviation_percent))
            }
            RandomDistribution::Zoned(_) | RandomDistribution::HotCold { .. } => {
                Self::Zoned(share_out(&distribution.zones(), places, step_bytes))
            }
        }
    }

    /// A place; none if there are none.
    #[inline]
    pub(crate) fn draw(&mut self, rng: &mut Xoshiro256PlusPlus) -> Option<u64> {
        Some(match self {
            Self::Nowhere => return None,
            Self::Uniform(places) => draw_below(rng, *places),
            Self::Zipf(zipf, arrangement) => arrangement.locate(zipf.draw(rng)),
            Self::Pareto(pareto, arrangement) => arrangement.locate(pareto.draw(rng)),
            Self::Normal(normal) => normal.draw(rng),
            Self::Zoned(shares) => draw_of_shares(shares, rng),
        })
    }
}

/// Self-similar ranks (Gray et al., "Quickly Generating Billion-Record Synthetic Databases", SIGMOD 1994):
/// `1 - h` of the draws fall on the first `h` of the ranks, `1 - h` of those on the first `h` of these, and so on.
/// fio's `pareto:0.2` is the rule of 80 to 20.
#[derive(Debug, Clone)]
pub(crate) struct Pareto {
    ranks: u64,
    exponent: f64,
}

impl Pareto {
    fn new(ranks: u64, h: f64) -> Self {
        Self { ranks, exponent: h.ln() / (1.0 - h).ln() }
    }

    #[inline]
    fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        whole(draw_share(rng).powf(self.exponent) * self.ranks as f64).min(self.ranks - 1)
    }
}

/// A zone, ready to be drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    /// The share of I/Os that go to this and the earlier zones.
    cumulated: f64,
    first: u64,
    places: u64,
}

/// Lays zones out over places, one after the other. Zones without access are only passed over, and where a zone is
/// shorter than a block its accesses go to the block that it lies in.
fn share_out(zones: &[Zone], places: u64, step_bytes: u64) -> Vec<Share> {
    let (mut from, mut cumulated) = (0.0, 0.0);
    let mut shares = Vec::with_capacity(zones.len());
    for zone in zones {
        let length = match zone.extent {
            Extent::Percent(percent) => percent / 100.0 * places as f64,
            Extent::Bytes(bytes) => bytes.0 as f64 / step_bytes.max(1) as f64,
        };
        // Whole places, and what rounding lost on the way to a sum that should be whole.
        let place = |exact: f64| whole(exact + 1e-6).min(places);
        let first = place(from).min(places - 1);
        from += length;
        if zone.access_percent > 0.0 {
            cumulated += zone.access_percent / 100.0;
            shares.push(Share { cumulated, first, places: place(from).saturating_sub(first).max(1) });
        }
    }
    if shares.is_empty() {
        shares.push(Share { cumulated: 1.0, first: 0, places });
    }
    shares
}

#[inline]
fn draw_of_shares(shares: &[Share], rng: &mut Xoshiro256PlusPlus) -> u64 {
    let drawn = draw_share(rng);
    // The last one also takes what rounding left between the sum and 1.
    let zone = shares.partition_point(|share| share.cumulated <= drawn).min(shares.len() - 1);
    shares[zone].first + draw_below(rng, shares[zone].places)
}

#[cfg(test)]
mod tests;
