//! Noise as machines make it: the logarithm of what each trial is off by, block by block in running order.
//!
//! Where nothing else is said a trial has independent noise of 3 %. Level 0 is the baseline.

use iostone_stats::schedule::{BlockOrders, SplitMix64};

/// Noise of each block, in running order, from the levels in running order.
pub(crate) type Series = fn(&mut Noise, &[Vec<usize>]) -> Vec<Vec<f64>>;

/// How the order of trials comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Drawn by lot in each block, as a run does.
    Drawn,
    /// All trials of the baseline, then all of the level.
    Sequential,
    /// The baseline first in every block.
    BaselineFirst,
    /// The baseline first in one block, the level in the next.
    Turns,
    /// The baseline first but in every twelfth block.
    MostlyBaselineFirst,
}

impl Order {
    /// The levels in running order, a row for each block; for [`Order::Sequential`] a row for each trial.
    pub(crate) fn rows(self, seed: u64, levels: usize, blocks: usize) -> Vec<Vec<usize>> {
        let upwards: Vec<usize> = (0..levels).collect();
        let downwards: Vec<usize> = (0..levels).rev().collect();
        let from = |is_upwards: &dyn Fn(usize) -> bool| -> Vec<Vec<usize>> {
            (0..blocks).map(|n| if is_upwards(n) { &upwards } else { &downwards }.clone()).collect()
        };
        match self {
            Self::Drawn => BlockOrders::new(seed, levels).take(blocks).collect(),
            Self::Sequential => {
                upwards.iter().flat_map(|level| std::iter::repeat_n(vec![*level], blocks)).collect()
            }
            Self::BaselineFirst => from(&|_| true),
            Self::Turns => from(&|block| block % 2 == 0),
            Self::MostlyBaselineFirst => from(&|block| block % 12 != 5),
        }
    }
}

/// A kind of noise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Model {
    pub(crate) name: &'static str,
    /// Whether it keeps the premise that a fair coin decides which of two equal levels wins a block.
    pub(crate) keeps_premise: bool,
    /// The step that figures are rounded to, as a share of the usual figure; 0 for full precision.
    pub(crate) step: f64,
    /// Whether the judge is told the step.
    pub(crate) step_is_told: bool,
    pub(crate) order: Order,
    pub(crate) noise: Series,
}

/// A source of random numbers.
pub(crate) struct Noise(pub(crate) SplitMix64);

impl Noise {
    /// A uniform number in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        self.0.next_unit()
    }

    /// A standard normal number (Box and Muller 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (-self.unit()).ln_1p()).sqrt();
        radius * (2.0 * std::f64::consts::PI * self.unit()).cos()
    }

    /// An exponential number of mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -(-self.unit()).ln_1p()
    }

    pub(crate) fn happens(&mut self, chance: f64) -> bool {
        self.unit() < chance
    }
}

/// What is known of a trial: its number in the run, its block, its place there, its level and the one that ran before.
pub(crate) struct Trial {
    pub(crate) number: usize,
    pub(crate) block: usize,
    pub(crate) place: usize,
    pub(crate) level: usize,
    pub(crate) before: Option<usize>,
}

/// Noise trial by trial.
pub(crate) fn each(orders: &[Vec<usize>], mut noise: impl FnMut(&Trial) -> f64) -> Vec<Vec<f64>> {
    let (mut number, mut before) = (0, None);
    // The machine does the same whether or not the first of its blocks are one superblock.
    let levels = orders.iter().map(Vec::len).min().unwrap_or(1).max(1);
    let mut blocks = Vec::with_capacity(orders.len());
    for order in orders {
        let mut of_block = Vec::with_capacity(order.len());
        for level in order {
            let (block, place) = (number / levels, number % levels);
            of_block.push(noise(&Trial { number, block, place, level: *level, before }));
            number += 1;
            before = Some(*level);
        }
        blocks.push(of_block);
    }
    blocks
}

pub(crate) fn independent(noise: &mut Noise, orders: &[Vec<usize>], spread: f64) -> Vec<Vec<f64>> {
    each(orders, |_| spread * noise.normal())
}

/// First-order autoregressive noise whose own spread is 3 %, and 0.5 % of each trial.
fn autoregressive(noise: &mut Noise, orders: &[Vec<usize>], memory: f64) -> Vec<Vec<f64>> {
    let mut state = 0.03 * noise.normal();
    each(orders, |_| {
        state = memory * state + 0.03 * (1.0 - memory * memory).sqrt() * noise.normal();
        state + 0.005 * noise.normal()
    })
}

/// A part that depends on the trial, beside independent noise.
pub(crate) fn beside(
    noise: &mut Noise,
    orders: &[Vec<usize>],
    spread: f64,
    part: impl Fn(&Trial) -> f64,
) -> Vec<Vec<f64>> {
    each(orders, |trial| part(trial) + spread * noise.normal())
}

pub(crate) const fn keeps(name: &'static str, noise: Series) -> Model {
    Model { name, keeps_premise: true, step: 0.0, step_is_told: false, order: Order::Drawn, noise }
}

/// The models that keep the premise.
pub(crate) const MODELS: &[Model] = &[
    keeps("independent 1 %", |noise, orders| independent(noise, orders, 0.01)),
    keeps("independent 3 %", |noise, orders| independent(noise, orders, 0.03)),
    keeps("independent 10 %", |noise, orders| independent(noise, orders, 0.10)),
    keeps("Student t, 2 degrees", |noise, orders| {
        each(orders, |_| 0.02 * noise.normal() / noise.exponential().sqrt())
    }),
    keeps("Cauchy", |noise, orders| {
        each(orders, |_| (0.01 * noise.normal() / noise.normal()).clamp(-9.0, 9.0))
    }),
    keeps("exponential tail", |noise, orders| each(orders, |_| -0.03 * noise.exponential())),
    keeps("bimodal, fresh", |noise, orders| {
        each(orders, |_| if noise.happens(0.3) { -0.15 } else { 0.0 } + 0.01 * noise.normal())
    }),
    keeps("bimodal, persistent", |noise, orders| {
        let mut slow = false;
        each(orders, |_| {
            slow ^= noise.happens(0.1);
            let part = if slow { -0.15 } else { 0.0 };
            part + 0.01 * noise.normal()
        })
    }),
    keeps("autoregressive 0.7", |noise, orders| autoregressive(noise, orders, 0.7)),
    keeps("autoregressive 0.95", |noise, orders| autoregressive(noise, orders, 0.95)),
    keeps("random walk", |noise, orders| {
        let mut state = 0.0;
        each(orders, |_| {
            state += 0.01 * noise.normal();
            state + 0.01 * noise.normal()
        })
    }),
    keeps("trend of 1 % a trial", |noise, orders| beside(noise, orders, 0.02, |at| 0.01 * at.number as f64)),
    keeps("warm start", |noise, orders| {
        beside(noise, orders, 0.02, |at| -0.3 * (-(at.number as f64) / 5.0).exp())
    }),
    keeps("period of two trials", |noise, orders| {
        beside(noise, orders, 0.02, |at| if at.number % 2 == 0 { 0.05 } else { 0.0 })
    }),
    keeps("period of four trials", |noise, orders| {
        beside(noise, orders, 0.02, |at| if at.number % 4 < 2 { 0.05 } else { 0.0 })
    }),
    keeps("sine of 7.3 trials", |noise, orders| {
        beside(noise, orders, 0.02, |at| 0.05 * (at.number as f64 * std::f64::consts::TAU / 7.3).sin())
    }),
    keeps("outliers, 8 %", |noise, orders| {
        each(orders, |_| if noise.happens(0.08) { -0.4 } else { 0.0 } + 0.03 * noise.normal())
    }),
    keeps("order effect 2 %", |noise, orders| beside(noise, orders, 0.03, |at| 0.02 * at.place as f64)),
    keeps("order effect 5 %", |noise, orders| beside(noise, orders, 0.03, |at| 0.05 * at.place as f64)),
    keeps("order effect 10 %", |noise, orders| beside(noise, orders, 0.03, |at| 0.10 * at.place as f64)),
    keeps("order effect that grows", |noise, orders| {
        beside(noise, orders, 0.03, |at| 0.003 * (at.place * at.block) as f64)
    }),
    keeps("order effect of random sign", |noise, orders| {
        let mut sign = (usize::MAX, 1.0);
        each(orders, |at| {
            if sign.0 != at.block {
                sign = (at.block, if noise.happens(0.5) { 1.0 } else { -1.0 });
            }
            0.05 * sign.1 * at.place as f64 + 0.02 * noise.normal()
        })
    }),
    keeps("order effect, autoregressive", |noise, orders| {
        let mut blocks = autoregressive(noise, orders, 0.7);
        for value in blocks.iter_mut().flat_map(|block| block.iter_mut().skip(1)) {
            *value += 0.05;
        }
        blocks
    }),
    keeps("spread by level, 1 to 6 %", |noise, orders| {
        each(orders, |at| if at.level == 0 { 0.01 } else { 0.06 } * noise.normal())
    }),
    keeps("spread that grows", |noise, orders| {
        each(orders, |at| (0.01 + 0.001 * at.number as f64) * noise.normal())
    }),
    keeps("spread that shrinks", |noise, orders| {
        each(orders, |at| 0.1 * (-(at.number as f64) / 25.0).exp().max(0.1) * noise.normal())
    }),
    keeps("bursts of steal", |noise, orders| {
        let mut left = 0;
        each(orders, |_| {
            left = if left > 0 {
                left - 1
            } else if noise.happens(0.05) {
                3
            } else {
                0
            };
            let part = if left > 0 { -0.05 - 0.25 * noise.unit() } else { 0.0 };
            part + 0.02 * noise.normal()
        })
    }),
    keeps("spreads in turns", |noise, orders| {
        each(orders, |at| if (at.number / 16) % 2 == 0 { 0.01 } else { 0.06 } * noise.normal())
    }),
    keeps("another level each day", |noise, orders| {
        let mut day = (usize::MAX, 0.0);
        each(orders, |at| {
            if day.0 != at.block / 8 {
                day = (at.block / 8, 0.1 * noise.normal());
            }
            day.1 + 0.03 * noise.normal()
        })
    }),
    keeps("an effect that varies by block", |noise, orders| {
        each(orders, |at| if at.level == 0 { 0.0 } else { 0.02 * noise.normal() } + 0.02 * noise.normal())
    }),
    keeps("credits spent after 30 trials", |noise, orders| {
        beside(noise, orders, 0.02, |at| if at.number < 30 { 0.0 } else { -0.5 })
    }),
    keeps("two values", |noise, orders| each(orders, |_| if noise.happens(0.5) { 0.04 } else { 0.0 })),
    Model {
        step: 0.02,
        step_is_told: true,
        ..keeps("rounded to 2 %, and said so", |noise, orders| independent(noise, orders, 0.02))
    },
    keeps("throughputs that dbench printed, drawn with replacement", |noise, orders| {
        const TRACE: [f64; 10] =
            [198.832, 198.525, 197.24, 198.003, 193.24, 195.168, 196.525, 196.241, 197.79, 195.378];
        each(orders, |_| {
            let drawn = noise.0.next_below(TRACE.len() as u64);
            TRACE
                .iter()
                .zip(0..)
                .find(|(_, place)| *place == drawn)
                .map_or(0.0, |(value, _)| (value / 197.0).ln())
        })
    }),
    keeps("all at once", |noise, orders| {
        let mut blocks = autoregressive(noise, orders, 0.7);
        let more = each(orders, |at| {
            let burst = if noise.happens(0.05) { -0.3 } else { 0.0 };
            0.002 * at.number as f64 + 0.02 * at.place as f64 + burst + 0.01 * noise.normal()
        });
        for (value, more) in blocks.iter_mut().flatten().zip(more.into_iter().flatten()) {
            *value += more;
        }
        blocks
    }),
];
