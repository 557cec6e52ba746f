//! Verdicts from figures: schedules, intervals, flags and forecasts, as pure functions.
//!
//! [`judge::judge`] is the single door: figures in, one [`Comparison`](iostone_model::verdict::Comparison) for each
//! level out, whether the figures come from a run in progress, from last year's or from a table in an article.
//! Its procedure is the sequential signed-rank test on randomised blocks ([`sequential`]): if two levels are equal,
//! which of them wins a block is a coin toss whatever the machine was doing, so the block ratios are ranked by size
//! and the lopsidedness of their signs is held against exact limits that allow a look after 6, 7, 8, ... blocks with
//! at most the declared chance of a wrong verdict over all looks and all levels.
//!
//! ```
//! use iostone_model::metric::Direction;
//! use iostone_model::verdict::Verdict;
//! use iostone_stats::judge::{Figure, Rules, judge};
//! use iostone_stats::schedule::BlockOrders;
//!
//! let mut figures = Vec::new();
//! for (block, order) in BlockOrders::new(1, 2).take(7).enumerate() {
//!     for (position, level) in order.into_iter().enumerate() {
//!         let noise = 0.3 * ((block * 5 + level) % 4) as f64;
//!         figures.push(Figure {
//!             level: ["on", "off"][level].to_owned(),
//!             stratum: String::new(),
//!             value: [100.0, 188.0][level] + noise,
//!             block: Some(block as u64),
//!             order: Some(position as f64),
//!             ..Figure::default()
//!         });
//!     }
//! }
//! let rules = Rules::new("on", Direction::Higher);
//! let judgement = judge(&figures, &rules)?;
//! assert_eq!(judgement.comparisons[0].verdict, Some(Verdict::Faster));
//! # Ok::<(), iostone_stats::judge::JudgeError>(())
//! ```

pub mod across;
pub mod batch_means;
mod boundary;
pub mod breakeven;
pub mod covariate;
pub mod curve;
pub mod flags;
pub mod flatness;
pub mod forecast;
mod gate;
pub mod history;
pub mod hosts;
pub mod judge;
pub mod median;
mod order_effect;
pub mod race;
mod rank;
pub mod resolution;
pub mod schedule;
pub mod sequential;
pub mod series;
mod special;
pub mod steady;
mod step_down;
pub mod trial_length;
mod unpaired;
#[cfg(test)]
mod vectors;
mod walsh;
pub mod warmup;

pub use boundary::{FEWEST_BLOCKS, FewestBlocks, LARGEST_BUDGET, fewest_blocks, looks, superblock_trials};

/// A length as the counts of the model's types.
fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
