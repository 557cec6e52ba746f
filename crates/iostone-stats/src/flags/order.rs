//! What the order of trials says against a verdict: an order that no lot drew, blocks that are none, an effect of
//! running second.

use iostone_model::verdict::Flag;

use crate::median::median;
use crate::order_effect::{CENSORED_FROM, RunOrder};
use crate::special::sign_test;
use crate::unpaired::mann_whitney;
use iostone_model::units::p_value;

/// Fewer coin tosses that agree are no evidence of anything.
const FEWEST_FOR_FIXED: usize = 5;
const FEWEST_FOR_ALTERNATING: usize = 6;
/// An order that a fair coin gives less often was not drawn by one.
const THRESHOLD: f64 = 0.01;

/// What is known of the order of a comparison's trials.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OrderRecord<'a> {
    pub(crate) baseline: &'a str,
    pub(crate) level: &'a str,
    /// Which of the two ran first in each block.
    pub(crate) orders: &'a [RunOrder],
    /// The numbers of two blocks that overlap in time.
    pub(crate) overlap: Option<[u64; 2]>,
    /// The level all of whose trials ran before all of the other's.
    pub(crate) first_throughout: Option<&'a str>,
    /// Whether somebody vouches that the order was drawn by lot.
    pub(crate) randomised: bool,
    /// Whether no further block was planned.
    pub(crate) complete: bool,
}

/// The flags on an order, by whether they forbid a verdict.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct OrderFlags {
    pub(crate) forbidding: Vec<Flag>,
    pub(crate) notes: Vec<Flag>,
}

impl OrderRecord<'_> {
    /// Everything that the order says against a verdict.
    ///
    /// `fixed-order` and `alternating-order` come out of a fair coin too, from six blocks each in 3 %. Where the order was drawn
    /// by lot the limits hold over all draws, those included, so that a further block is worth waiting for, but none is needed:
    /// they forbid nothing when the last planned block is there, unless a fair coin would give that order in less than 1 %.
    pub(crate) fn assess(&self) -> OrderFlags {
        let mut found = OrderFlags::default();
        found.forbidding.extend(self.unknown());
        found.forbidding.extend(self.overlapping());
        found.forbidding.extend(self.lopsided());
        let excused = self.randomised && self.complete && self.chance_of_regular() >= THRESHOLD;
        let regular = self.fixed().into_iter().chain(self.alternating());
        if excused {
            let drawn = "; it was drawn by lot, and the limits hold over all draws";
            found.notes.extend(
                regular.map(|(name, fact)| Flag::new(name, format!("{fact}{drawn}, so the verdict stands"))),
            );
        } else {
            let more = if self.randomised && !self.complete {
                "wait for a block of another order"
            } else {
                "randomise the order"
            };
            found.forbidding.extend(
                regular.map(|(name, fact)| Flag::new(name, format!("{fact}: {}; {more}", doubt(name)))),
            );
        }
        found
    }

    /// The chance that a fair coin puts the same one first in every block, and that it takes strict turns.
    fn chance_of_regular(&self) -> f64 {
        sign_test(0, self.orders.len() as u64)
    }

    fn unknown(&self) -> Option<Flag> {
        let unknown = self.orders.iter().filter(|order| **order == RunOrder::Unknown).count();
        (unknown > 0 && !self.randomised).then(|| {
            let share = match self.orders.len() {
                all if all == unknown => "any block".to_owned(),
                all => format!("{unknown} of {all} blocks"),
            };
            let message = format!(
                "which trial ran first is not known for {share}: a machine that drifted, or an effect of running second, \
                 would look like one of the level; give the order, or say that it was drawn by lot"
            );
            Flag::new("order-unknown", message)
        })
    }

    fn overlapping(&self) -> Option<Flag> {
        let [one, other] = self.overlap?;
        let between = format!("blocks {one} and {other} overlap in time, so they are no blocks");
        let message = match self.first_throughout {
            Some(first) => {
                let second = if first == self.baseline { self.level } else { self.baseline };
                format!(
                    "all `{first}` ran before all `{second}`: a machine that drifted would look like a difference of the \
                     levels; {between}"
                )
            }
            None => format!(
                "{between}: what changed on the machine between their trials would look like a difference of the levels"
            ),
        };
        Some(Flag::new("blocks-overlap", message))
    }

    /// The same of the two ran first in every block.
    fn fixed(&self) -> Option<(&'static str, String)> {
        let first = *self.orders.first()?;
        let fixed = first != RunOrder::Unknown
            && self.orders.len() >= FEWEST_FOR_FIXED
            && self.orders.iter().all(|order| *order == first);
        fixed.then(|| {
            let fact =
                format!("`{}` ran first in each of the {} blocks", self.name(first), self.orders.len());
            ("fixed-order", fact)
        })
    }

    /// One of the two ran first far more often, by a two-sided sign test.
    fn lopsided(&self) -> Option<Flag> {
        let count = |wanted: RunOrder| self.orders.iter().filter(|order| **order == wanted).count();
        let [baseline, level] = [RunOrder::BaselineFirst, RunOrder::LevelFirst].map(count);
        let known = baseline + level;
        let p = sign_test(baseline as u64, known as u64);
        let lopsided = p < THRESHOLD && baseline.max(level) < self.orders.len();
        lopsided.then(|| {
            let first = if baseline > level { RunOrder::BaselineFirst } else { RunOrder::LevelFirst };
            let message = format!(
                "`{}` ran first in {} of {known} blocks, {}: {}; randomise the order",
                self.name(first),
                baseline.max(level),
                p_value(p),
                doubt("lopsided-order")
            );
            Flag::new("lopsided-order", message)
        })
    }

    /// The two took strict turns at running first.
    fn alternating(&self) -> Option<(&'static str, String)> {
        let alternates = self.orders.len() >= FEWEST_FOR_ALTERNATING
            && self.orders.windows(2).all(|pair| pair[0] != pair[1] && !pair.contains(&RunOrder::Unknown));
        alternates.then(|| {
            (
                "alternating-order",
                format!("the order alternates strictly over all {} blocks", self.orders.len()),
            )
        })
    }

    fn name(&self, first: RunOrder) -> &str {
        if first == RunOrder::BaselineFirst { self.baseline } else { self.level }
    }
}

/// What such an order leaves open.
fn doubt(name: &str) -> &'static str {
    if name == "alternating-order" {
        "a disturbance of the same rhythm cannot be told from the level's effect"
    } else {
        "neither a drift of the machine nor an effect of running second can be told from the level's"
    }
}

/// `order-effect`: running second mattered.
///
/// Raised where the raw log ratios of the two orders differ over all blocks (Mann-Whitney, p < 0.01). The effect is half
/// the Hodges-Lehmann shift between them.
pub(crate) fn order_effect(raw: &[f64], adjusted: &[f64], orders: &[RunOrder]) -> Option<Flag> {
    let group = |wanted: RunOrder| -> Vec<f64> {
        let of =
            raw.iter().zip(orders).filter(|(ratio, order)| **order == wanted && ratio.abs() < CENSORED_FROM);
        of.map(|(ratio, _)| *ratio).collect()
    };
    let (second, first) = (group(RunOrder::BaselineFirst), group(RunOrder::LevelFirst));
    let p = mann_whitney(&second, &first).filter(|p| *p < THRESHOLD)?;
    let shifts: Vec<f64> = second.iter().flat_map(|a| first.iter().map(move |b| a - b)).collect();
    let effect = median(&shifts)? / 2.0;
    let way = if effect > 0.0 { "better" } else { "worse" };
    let removed = raw.iter().zip(adjusted).filter(|(raw, adjusted)| (*raw - *adjusted).abs() > 0.0).count();
    let message = format!(
        "the second trial of a block is about {:.1} % {way} whichever level it runs, {}; removed from {removed} of {} blocks",
        100.0 * effect.exp_m1().abs(),
        p_value(p),
        raw.len()
    );
    Some(Flag::new("order-effect", message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use RunOrder::{BaselineFirst, LevelFirst, Unknown};

    fn record(orders: &[RunOrder]) -> OrderRecord<'_> {
        OrderRecord {
            baseline: "on",
            level: "off",
            orders,
            overlap: None,
            first_throughout: None,
            randomised: false,
            complete: false,
        }
    }

    fn forbidding(record: OrderRecord<'_>) -> Vec<String> {
        record.assess().forbidding.into_iter().map(|flag| flag.name).collect()
    }

    #[test]
    fn orders_that_no_coin_would_give_forbid_a_verdict() {
        let fixed = record(&[LevelFirst; 6]).assess().forbidding;
        assert!(fixed[0].message.starts_with("`off` ran first in each of the 6 blocks: neither a drift"));
        assert_eq!(forbidding(record(&[LevelFirst; 4])), [""; 0]);
        assert_eq!(forbidding(record(&[Unknown; 9])), ["order-unknown"]);
        let turns = [BaselineFirst, LevelFirst].repeat(3);
        assert_eq!(forbidding(record(&turns)), ["alternating-order"]);
        assert_eq!(forbidding(record(&turns[1..])), [""; 0]);
        let mut mostly = [BaselineFirst; 12];
        mostly[7] = LevelFirst;
        let flag = &record(&mostly).assess().forbidding[0];
        assert!(flag.message.starts_with("`on` ran first in 11 of 12 blocks, p = 0.006"), "{}", flag.message);
        mostly[2] = LevelFirst;
        assert_eq!(forbidding(record(&mostly)), [""; 0]);
    }

    #[test]
    fn a_vouched_order_may_be_unknown_but_not_incredible() {
        let vouched = |orders, complete| OrderRecord { randomised: true, complete, ..record(orders) };
        assert_eq!(vouched(&[Unknown; 9], false).assess(), OrderFlags::default());
        assert_eq!(forbidding(vouched(&[LevelFirst; 6], false)), ["fixed-order"]);
        let drawn = vouched(&[LevelFirst; 6], true).assess();
        assert_eq!((drawn.forbidding.len(), drawn.notes[0].name.as_str()), (0, "fixed-order"));
        assert_eq!(forbidding(vouched(&[LevelFirst; 8], true)), ["fixed-order"]);
        let turns = [BaselineFirst, LevelFirst].repeat(4);
        assert_eq!(forbidding(vouched(&turns, true)), ["alternating-order"]);
        assert_eq!(forbidding(vouched(&turns[..6], true)), [""; 0]);
    }

    #[test]
    fn blocks_that_overlap_say_what_ran_before_what() {
        let orders = [BaselineFirst, BaselineFirst, LevelFirst];
        let overlap = OrderRecord { overlap: Some([1, 2]), ..record(&orders) };
        let flag = &overlap.assess().forbidding[0];
        assert!(flag.message.starts_with("blocks 1 and 2 overlap in time"), "{}", flag.message);
        let apart = OrderRecord { first_throughout: Some("off"), ..overlap }.assess().forbidding;
        assert!(apart[0].message.starts_with("all `off` ran before all `on`"), "{}", apart[0].message);
    }

    #[test]
    fn an_order_effect_is_told_where_there_is_one() {
        let orders = [BaselineFirst, LevelFirst].repeat(5);
        let raw: Vec<f64> =
            (0..10).map(|i| if i % 2 == 0 { 0.05 } else { -0.05 } + 0.001 * f64::from(i)).collect();
        let flag = order_effect(&raw, &raw, &orders).unwrap();
        assert!(
            flag.message.starts_with("the second trial of a block is about 5.1 % better"),
            "{}",
            flag.message
        );
        assert!(flag.message.ends_with("p = 0.008; removed from 0 of 10 blocks"), "{}", flag.message);
        assert_eq!(order_effect(&raw[..8], &raw[..8], &orders[..8]), None);
        assert_eq!(order_effect(&[0.05], &[0.05], &[BaselineFirst]), None);
    }
}
