//! One level against its baseline over their common blocks: verdict, interval, flags.

use std::collections::BTreeMap;

use iostone_model::experiment::Claim;
use iostone_model::figures::{counted, list};
use iostone_model::verdict::{Comparison, Flag, GateState, Verdict};

use super::Rules;
use super::adjustment::Adjustment;
use super::decision::Decision;
use super::family::FamilySize;
use super::table::{BlockPair, Superblock, Table};
use crate::boundary::{FewestBlocks, alpha, fewest_blocks};
use crate::flags::order::{OrderRecord, order_effect};
use crate::flags::{carry_over, shape};
use crate::forecast::forecast;
use crate::gate::blocks_that_prove_equality;
use crate::median::{median, shamos_spread};
use crate::order_effect::{CENSORED_FROM, RunOrder};
use crate::sequential::{Design, Looks, Ssr, Strengths};

/// Before the first look an estimate of the spread says too little for a forecast.
const FEWEST_FOR_FORECAST: usize = 6;

/// A comparison with the state of its sequential procedure.
pub(super) struct Pair<'a> {
    pub(super) stratum: &'a str,
    pub(super) level: &'a str,
    pub(super) baseline: &'a str,
    /// The number of each block; of those after a superblock, as are the log ratios and the orders.
    numbers: Vec<u64>,
    /// Freed of what others took, where the rules say so.
    log_ratios: Vec<f64>,
    orders: Vec<RunOrder>,
    /// The log ratios of the superblock, turn by turn: what describes it, not what decides.
    turns: Vec<f64>,
    log_ratio_of_medians: f64,
    rounding: f64,
    /// Blocks in which the baseline's run, the level's, or both never ended.
    censored: [usize; 3],
    /// The procedure, taken through all blocks.
    pub(super) ssr: Ssr,
    /// Whether each block shows what a level leaves behind.
    exposed: Vec<Option<bool>>,
    adjustment: Option<Adjustment>,
    /// What forbids a verdict: carry-over, a level that acts on what it was adjusted for, or an order that no lot drew.
    obstacles: Vec<Flag>,
    /// What else the order says, and that the superblock does not count.
    order_notes: Vec<Flag>,
}

impl<'a> Pair<'a> {
    pub(super) fn judge(
        table: &Table<'a>,
        stratum: usize,
        level: usize,
        rules: &Rules,
        budget: u32,
        family: u32,
    ) -> Self {
        let block_pairs: Vec<BlockPair<'_>> = table.block_pairs(stratum, level).collect();
        let superblock = table.superblock(stratum, level, rules.looks.superblock());
        let passed_over = match &superblock {
            _ if rules.looks.superblock() == 0 => None,
            None => Some(superblock_incomplete()),
            Some(superblock) => superblock.unlike_spreads().map(superblock_passed_over),
        };
        let (turns, differences) = match superblock.filter(|_| passed_over.is_none()) {
            Some(Superblock { block_pairs, differences }) => (block_pairs, Some(differences)),
            None => (Vec::new(), None),
        };
        let everything = || turns.iter().chain(&block_pairs);
        let median_of = |values: Vec<f64>| median(&values).unwrap_or(f64::NAN);
        let baseline_median = median_of(everything().map(|m| m.baseline.value).collect());
        let level_median = median_of(everything().map(|m| m.level.value).collect());
        // The worst rounding error of one log ratio; a run that never ended has none.
        let rounding = rules.resolution / 2.0 * (baseline_median.recip() + level_median.recip());
        let adjustment = Adjustment::of(&block_pairs, rules);
        let as_measured = || block_pairs.iter().map(BlockPair::log_ratio).collect();
        let log_ratios: Vec<f64> = adjustment.as_ref().map_or_else(as_measured, Adjustment::log_ratios);
        let orders: Vec<RunOrder> = block_pairs.iter().map(BlockPair::order).collect();
        let design = Design {
            alpha: alpha(rules.confidence),
            margin: rules.margin,
            budget,
            minimum: rules.minimum,
            rounding: if rounding.is_finite() { rounding } else { 0.0 },
            adjust_order: rules.adjust_order,
            family,
            // Without its superblock a comparison rests on the blocks alone.
            looks: if passed_over.is_some() { Looks::Sequential } else { rules.looks },
        };
        let mut ssr = match differences {
            Some(differences) => Ssr::after(design, differences),
            None => Ssr::new(design),
        };
        for (ratio, order) in log_ratios.iter().zip(&orders) {
            ssr.push(*ratio, *order);
        }
        let exposed: Vec<Option<bool>> = block_pairs
            .iter()
            .map(|m| carry_over::is_exposed(table.baseline, level, m.baseline.before, m.level.before))
            .collect();
        let name = |index: usize| table.levels.get(index).copied().unwrap_or_default();
        let (baseline, level) = (name(table.baseline), name(level));
        let order = OrderRecord {
            baseline,
            level,
            orders: &orders,
            overlap: table.overlap,
            first_throughout: first_throughout(&block_pairs, baseline, level),
            randomised: rules.randomised,
            complete: ssr.blocks() >= budget,
        };
        let order = order.assess();
        let carry_over = carry_over::flag(ssr.adjusted(), &exposed, baseline, level);
        let moved = adjustment.as_ref().and_then(|adjustment| adjustment.obstacle(&ssr, &orders, design));
        let obstacles = carry_over.into_iter().chain(order.forbidding).chain(moved).collect();
        let count = |wanted: [bool; 2]| {
            let ended =
                |m: &&BlockPair<'_>| [m.baseline.value.is_finite(), m.level.value.is_finite()] == wanted;
            everything().filter(ended).count()
        };
        Self {
            stratum: table.strata.get(stratum).copied().unwrap_or_default(),
            level,
            baseline,
            log_ratio_of_medians: table.direction.sign() * (level_median / baseline_median).ln(),
            rounding,
            censored: [count([false, true]), count([true, false]), count([false, false])],
            turns: turns.iter().map(BlockPair::log_ratio).collect(),
            numbers: block_pairs.iter().map(|block_pair| block_pair.block).collect(),
            log_ratios,
            orders,
            ssr,
            exposed,
            adjustment,
            obstacles,
            order_notes: passed_over.into_iter().chain(order.notes).collect(),
        }
    }

    /// The blocks with an order.
    pub(super) fn blocks(&self) -> usize {
        self.log_ratios.len()
    }

    /// All blocks; a superblock counts as its trials of each level.
    fn all_blocks(&self) -> usize {
        self.turns.len() + self.log_ratios.len()
    }

    pub(super) fn unknown_orders(&self) -> usize {
        self.orders.iter().filter(|order| **order == RunOrder::Unknown).count()
    }

    /// Whether nothing forbids a verdict, and something was measured.
    pub(super) fn is_fit(&self) -> bool {
        self.obstacles.is_empty() && !self.nothing_ended()
    }

    /// What is rejected of it; nothing where a verdict is withheld, which decides nothing for the others either.
    pub(super) fn strengths(&self) -> Strengths {
        if self.is_fit() { self.ssr.strengths() } else { Strengths::default() }
    }

    /// The log ratio of each block, freed of the order effect and moved towards none by the rounding error that it may have.
    pub(super) fn rounded_ratios(&self) -> BTreeMap<u64, f64> {
        let towards_none = |ratio: &f64| ratio - ratio.clamp(-self.rounding, self.rounding);
        self.numbers.iter().copied().zip(self.ssr.adjusted().iter().map(towards_none)).collect()
    }

    /// Whether neither side ever ended in any block: ties in rank, but of nothing that was measured.
    fn nothing_ended(&self) -> bool {
        let [_, _, both] = self.censored;
        both == self.all_blocks() && both > 0
    }

    /// Whether it still needs blocks, with its verdict as one of a family.
    pub(super) fn is_open(&self, verdict: Verdict, rules: &Rules) -> bool {
        match rules.claim {
            Claim::Difference => verdict == Verdict::Undecided,
            Claim::NotWorse => verdict != Verdict::Unstable && self.gate(rules) == GateState::Unsettled,
        }
    }

    /// How it stands to the question of a gate: by the one-sided bounds at its share of the chance of error.
    fn gate(&self, rules: &Rules) -> GateState {
        let (_, bounds) = self.ssr.intervals();
        if !self.is_fit() || self.ssr.is_unstable() {
            return GateState::Unsettled;
        }
        GateState::of_bounds([bounds.lower, bounds.upper].map(as_ratio), rules.margin)
    }

    /// Everything said of it, with its verdict as one of a family.
    pub(super) fn describe(
        &self,
        rules: &Rules,
        decision: &Decision,
        size: FamilySize,
        budget: u32,
    ) -> Comparison {
        let verdict = decision.verdict();
        let adjusted = self.ssr.adjusted();
        let (difference, equivalence) = self.ssr.intervals();
        // That of all blocks may lie outside what all looks together leave.
        let estimate = self.ssr.estimate().map(|typical| {
            if self.ssr.is_unstable() { typical } else { typical.clamp(difference.lower, difference.upper) }
        });
        let all = || self.turns.iter().chain(adjusted);
        let mean = all().sum::<f64>() / self.all_blocks() as f64;
        let whole = all().all(|ratio| ratio.abs() < CENSORED_FROM);
        let forecast = (verdict == Verdict::Undecided
            && self.obstacles.is_empty()
            && rules.looks == Looks::Sequential
            && self.blocks() >= FEWEST_FOR_FORECAST
            && self.ssr.blocks() < budget)
            .then(|| forecast(&self.alone(rules, size, budget)))
            .flatten();
        Comparison {
            level: self.level.to_owned(),
            baseline: self.baseline.to_owned(),
            stratum: self.stratum.to_owned(),
            verdict: Some(verdict),
            ratio: estimate.and_then(as_ratio),
            ratio_interval: [difference.lower, difference.upper].map(as_ratio),
            equivalence_interval: [equivalence.lower, equivalence.upper].map(as_ratio),
            mean_ratio: Some(mean).filter(|_| whole).and_then(as_ratio),
            blocks: self.ssr.blocks(),
            spread: shamos_spread(adjusted),
            decided_at: decision.found.map(|found| found.blocks),
            gate: (rules.claim == Claim::NotWorse).then(|| self.gate(rules)),
            blocks_to_prove: shamos_spread(adjusted)
                .filter(|_| rules.claim == Claim::NotWorse && self.gate(rules) == GateState::Unsettled)
                .and_then(|spread| {
                    let family = size.comparisons as usize;
                    blocks_that_prove_equality(spread, rules.margin, rules.confidence, family)
                }),
            flags: self.flags(rules, decision, size, budget),
            forecast,
            unpaired: None,
            log_ratios: self.log_ratios.clone(),
            adjustments: self.adjustment.as_ref().map(|of| of.amounts.clone()).unwrap_or_default(),
            point: String::new(),
        }
    }

    /// The procedure with this comparison's share of the chance of error, as if it stood alone.
    fn alone(&self, rules: &Rules, size: FamilySize, budget: u32) -> Ssr {
        let design = *self.ssr.design();
        let mut alone = Ssr::new(Design {
            alpha: alpha(rules.confidence) / f64::from(size.shares.max(1)),
            family: 1,
            budget,
            ..design
        });
        for (ratio, order) in self.log_ratios.iter().zip(&self.orders) {
            alone.push(*ratio, *order);
        }
        alone
    }

    fn flags(&self, rules: &Rules, decision: &Decision, size: FamilySize, budget: u32) -> Vec<Flag> {
        let verdict = decision.verdict();
        let mut flags = self.obstacles.clone();
        if !self.obstacles.is_empty() {
            let causes: Vec<&str> = self.obstacles.iter().map(|flag| flag.name.as_str()).collect();
            flags.push(Flag::new("withheld", format!("no verdict is given because of {}", list(&causes))));
        }
        if verdict == Verdict::Undecided {
            flags.extend(self.too_few_blocks(rules, size.shares, budget));
        }
        flags.extend(self.wider_interval(decision, size.comparisons));
        flags.extend(self.changed_since(verdict));
        let claims = matches!(verdict, Verdict::Faster | Verdict::Slower | Verdict::Equivalent);
        if claims && !rules.conditioned {
            let interval = self.ssr.intervals().0;
            flags.extend(carry_over::unchecked(&self.exposed, interval));
            flags.extend(carry_over::suspected(self.ssr.adjusted(), &self.exposed, interval));
        }
        flags.extend(self.censored_runs());
        let adjusted = self.ssr.adjusted();
        let estimate = self.ssr.estimate();
        flags.extend(self.order_notes.iter().cloned());
        flags.extend(order_effect(&self.log_ratios, adjusted, &self.orders));
        flags
            .extend(estimate.and_then(|estimate| shape::tail(adjusted, estimate, self.baseline, self.level)));
        flags.extend(shape::trend(adjusted));
        match &self.adjustment {
            Some(adjustment) => flags.extend(adjustment.note(adjusted)),
            // The medians are those of figures as measured.
            None => {
                flags.extend(shape::drifted_levels(self.log_ratio_of_medians, self.ssr.intervals().0));
            }
        }
        flags.extend(shape::coarse_resolution(self.rounding, rules.margin));
        flags
    }

    fn too_few_blocks(&self, rules: &Rules, shares: u32, budget: u32) -> Option<Flag> {
        if rules.looks == Looks::Once {
            let message = || format!("{} blocks of the {budget} that were planned", self.blocks());
            return (self.blocks() < budget as usize).then(|| Flag::new("too-few-blocks", message()));
        }
        let first = match self.ssr.design().looks.superblock() {
            0 => fewest_blocks(shares as usize, rules.confidence),
            trials => FewestBlocks { difference: trials, equivalence: trials },
        };
        // There is a verdict at a look only.
        let look =
            |first: u32| self.ssr.looks().find(|look| *look >= first).unwrap_or(first.max(rules.minimum));
        let needed =
            FewestBlocks { difference: look(first.difference), equivalence: look(first.equivalence) };
        (self.ssr.blocks() < needed.difference).then(|| {
            let beyond = if needed.difference > budget {
                format!(", and the budget is {budget}")
            } else {
                String::new()
            };
            let message = format!("{}; {needed}{beyond}", counted(self.ssr.blocks(), "block"));
            Flag::new("too-few-blocks", message)
        })
    }

    /// `step-down` and `joint`: the printed interval does not show what the verdict says.
    fn wider_interval(&self, decision: &Decision, family: u32) -> Option<Flag> {
        let claims = matches!(decision.verdict(), Verdict::Faster | Verdict::Slower | Verdict::Equivalent);
        let strictest = self.ssr.found_within(family).map(|found| found.verdict);
        if !claims || strictest == decision.found.map(|found| found.verdict) {
            return None;
        }
        Some(if decision.joint {
            let message = format!(
                "decided jointly with the other points of the curve, whose trials share one coin a block; the interval                  shown is that of one comparison among {family} and wider than the verdict needs"
            );
            Flag::new("joint", message)
        } else {
            let message = format!(
                "decided by step-down over {family} comparisons; the intervals shown hold for all of them at once and                  are wider than the verdict needs"
            );
            Flag::new("step-down", message)
        })
    }

    /// `unstable`: later looks contradict the one that found the verdict.
    fn changed_since(&self, verdict: Verdict) -> Option<Flag> {
        (self.ssr.is_unstable() && verdict != Verdict::Unstable).then(|| {
            let message = "the intervals of successive looks do not overlap: the effect changed in the course of the                            blocks, and no one ratio describes it";
            Flag::new("unstable", message)
        })
    }

    fn censored_runs(&self) -> Option<Flag> {
        let [baseline, level, both] = self.censored;
        (baseline + level + both > 0).then(|| {
            let message = format!(
                "runs never ended, or completed nothing, in {} of {} blocks (`{}` in {}, `{}` in {}): they count as worst, and blocks where \
                 neither ended as ties",
                baseline + level + both,
                self.all_blocks(),
                self.baseline,
                baseline + both,
                self.level,
                level + both
            );
            Flag::new("censored", message)
        })
    }
}

fn superblock_incomplete() -> Flag {
    let message = "superblock ignored, as one of its trials has no figure: only the blocks after it count";
    Flag::new("superblock-incomplete", message)
}

fn superblock_passed_over(spreads: f64) -> Flag {
    let message = format!(
        "superblock ignored, as one level scatters {} the other and unequal spread alone can set their trials apart: only the \
         blocks after it count",
        if spreads < 1000.0 { format!("{spreads:.0} times as much as") } else { "far more than".to_owned() }
    );
    Flag::new("unlike-spreads", message)
}

/// The level whose trials all ran before those of the other.
fn first_throughout<'a>(block_pairs: &[BlockPair<'_>], baseline: &'a str, level: &'a str) -> Option<&'a str> {
    let orders =
        |of: fn(&BlockPair<'_>) -> Option<f64>| block_pairs.iter().map(of).collect::<Option<Vec<f64>>>();
    let (base, other) = (orders(|m| m.baseline.order)?, orders(|m| m.level.order)?);
    let before = |a: &[f64], b: &[f64]| a.iter().all(|early| b.iter().all(|late| early < late));
    match (before(&base, &other), before(&other, &base)) {
        (true, false) => Some(baseline),
        (false, true) => Some(level),
        _ => None,
    }
}

/// A log ratio as a ratio; none where unbounded, or decided by runs that never ended.
fn as_ratio(log_ratio: f64) -> Option<f64> {
    (log_ratio.abs() < CENSORED_FROM).then(|| log_ratio.exp()).filter(|ratio| ratio.is_finite())
}
