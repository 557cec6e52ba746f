//! A comparison freed of what others took of the machine: by how much in each block, and what stands against it.

use iostone_model::covariate::Covariate;
use iostone_model::figures::list;
use iostone_model::verdict::Flag;

use super::Rules;
use super::table::BlockPair;
use crate::covariate::is_moved;
use crate::median::shamos_spread;
use crate::order_effect::{CENSORED_FROM, RunOrder};
use crate::sequential::{Design, Ssr};
use crate::walsh::WalshAverages;

/// The log ratios of a comparison without and with adjustment.
pub(super) struct Adjustment {
    /// As they were measured.
    measured: Vec<f64>,
    /// What is taken from each.
    pub(super) amounts: Vec<f64>,
    /// What it is adjusted for.
    covariates: Vec<Covariate>,
    /// Of these, what the level itself seems to act on.
    moved: Vec<Covariate>,
}

impl Adjustment {
    /// None where the rules adjust for nothing.
    pub(super) fn of(block_pairs: &[BlockPair<'_>], rules: &Rules) -> Option<Self> {
        let measured: Vec<f64> = block_pairs.iter().map(BlockPair::log_ratio).collect();
        let mut amounts = vec![0.0; measured.len()];
        let (mut covariates, mut moved) = (Vec::new(), Vec::new());
        for (index, (covariate, slope)) in Covariate::ALL.into_iter().zip(rules.slopes).enumerate() {
            if slope == 0.0 {
                continue;
            }
            covariates.push(covariate);
            let differences: Vec<f64> =
                block_pairs.iter().map(|block_pair| block_pair.differs_in(index)).collect();
            if is_moved(&differences) {
                moved.push(covariate);
            }
            for ((amount, difference), ratio) in amounts.iter_mut().zip(differences).zip(&measured) {
                if ratio.abs() < CENSORED_FROM {
                    *amount += slope * difference;
                }
            }
        }
        (!covariates.is_empty()).then_some(Self { measured, amounts, covariates, moved })
    }

    /// The log ratios to be judged.
    pub(super) fn log_ratios(&self) -> Vec<f64> {
        self.measured.iter().zip(&self.amounts).map(|(ratio, amount)| ratio - amount).collect()
    }

    /// What forbids the verdict of `adjusted`. Where the level may act on a covariate itself, freeing it of that would take away
    /// part of its effect: then it has a verdict only if that holds without adjustment too. As every verdict is one of the
    /// adjusted figures, the choice adds no chance of error.
    pub(super) fn obstacle(&self, adjusted: &Ssr, orders: &[RunOrder], design: Design) -> Option<Flag> {
        if self.moved.is_empty() {
            return None;
        }
        let mut measured = Ssr::new(design);
        for (ratio, order) in self.measured.iter().zip(orders) {
            measured.push(*ratio, *order);
        }
        let verdict = |of: &Ssr| of.found_within(design.family.max(1)).map(|found| found.verdict);
        let without = verdict(&measured);
        (without.is_none() || without != verdict(adjusted)).then(|| {
            let message = format!(
                "the level itself changes {} (signed-rank test, p below 0.05), and adjusted and unadjusted figures do not give the \
                 same verdict; remove `{}` from `decide.covariates` to judge unadjusted figures",
                in_words(&self.moved),
                key(&self.moved)
            );
            Flag::new("covariate-moved", message)
        })
    }

    /// `adjusted`: for what, and what that changed.
    pub(super) fn note(&self, adjusted: &[f64]) -> Option<Flag> {
        let typical =
            WalshAverages::of(&self.measured).estimate().filter(|ratio| ratio.abs() < CENSORED_FROM)?;
        let (before, after) = (shamos_spread(&self.measured)?, shamos_spread(adjusted)?);
        let percent = |log_spread: f64| format!("{:.1} %", 100.0 * log_spread);
        let message = format!(
            "adjusted for {} by the slopes of the pilots: the standard deviation of a block's ratio is {}, unadjusted {}; the \
             unadjusted ratio is {:.3}",
            in_words(&self.covariates),
            percent(after),
            percent(before),
            typical.exp()
        );
        Some(Flag::new("adjusted", message))
    }
}

fn in_words(covariates: &[Covariate]) -> String {
    let names: Vec<String> = covariates.iter().map(Covariate::to_string).collect();
    list(&names)
}

fn key(covariates: &[Covariate]) -> String {
    let names = covariates.iter().map(|covariate| covariate.key());
    names.collect::<Vec<_>>().join("`, `")
}

#[cfg(test)]
mod tests {
    use iostone_model::covariate::log_left;
    use iostone_model::metric::Direction;
    use iostone_model::verdict::Verdict;

    use crate::judge::{Figure, Judgement, Rules, judge};
    use crate::schedule::SplitMix64;

    /// Blocks in which others take up to half of the machine, and `level` changes the rate and what others take.
    fn judged(slope: f64, effect: f64, moves: f64, blocks: u32) -> Judgement {
        let mut generator = SplitMix64::new(11);
        let mut figures = Vec::new();
        for block in 0..u64::from(blocks) {
            let swapped = generator.next_unit() < 0.5;
            for position in 0..2 {
                let is_level = (position == 0) == swapped;
                let own = if is_level { moves } else { 0.0 };
                let share = (0.4 * generator.next_unit() + own).min(0.9);
                let noise = 0.01 * generator.next_normal() + if is_level { effect } else { 0.0 };
                figures.push(Figure {
                    level: if is_level { "level" } else { "base" }.to_owned(),
                    value: 1000.0 * (log_left(share) + noise).exp(),
                    block: Some(block),
                    order: Some(f64::from(position)),
                    exposure: [Some(log_left(share)), None],
                    ..Figure::default()
                });
            }
        }
        let rules = Rules { slopes: [slope, 0.0], ..Rules::new("base", Direction::Higher) };
        judge(&figures, &rules).unwrap()
    }

    fn names(judgement: &Judgement) -> Vec<&str> {
        judgement.comparisons[0].flags.iter().map(|flag| flag.name.as_str()).collect()
    }

    #[test]
    fn what_others_took_is_taken_out() {
        let raw = judged(0.0, 0.0, 0.0, 14);
        let adjusted = judged(1.0, 0.0, 0.0, 14);
        assert_eq!(raw.comparisons[0].verdict, Some(Verdict::Undecided));
        let found = &adjusted.comparisons[0];
        assert_eq!(found.verdict, Some(Verdict::Equivalent), "{:?}", found.flags);
        assert!(names(&adjusted).contains(&"adjusted") && !names(&raw).contains(&"adjusted"));
        for (block, amount) in found.adjustments.iter().enumerate() {
            let measured = raw.comparisons[0].log_ratios[block];
            assert!((measured - amount - found.log_ratios[block]).abs() < 1e-12);
        }
    }

    #[test]
    fn a_level_that_acts_on_the_covariate_needs_both_verdicts() {
        // It takes a third of the machine away: as measured it is slower, adjusted it is equal.
        let moved = judged(1.0, 0.0, 0.5, 14);
        assert_eq!(moved.comparisons[0].verdict, Some(Verdict::Undecided));
        assert!(names(&moved).contains(&"covariate-moved") && names(&moved).contains(&"withheld"));
        // Both ways slower.
        let both = judged(1.0, -0.2, 0.5, 14);
        assert_eq!(both.comparisons[0].verdict, Some(Verdict::Slower), "{:?}", names(&both));
    }
}
