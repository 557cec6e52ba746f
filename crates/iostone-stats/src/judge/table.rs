//! Figures sorted into blocks, with everything that could make them unfit checked.

use std::collections::BTreeMap;

use iostone_model::covariate::Exposure;
use iostone_model::figures::quoted;
use iostone_model::metric::Direction;

use super::sequence::Sequence;
use super::{CENSORED_LOG_RATIO, Figure, FigureSet, JudgeError, Rules};
use crate::boundary::LARGEST_BUDGET;
use crate::order_effect::RunOrder;

/// One figure in its place.
#[derive(Debug, Clone)]
pub(super) struct Trial {
    pub(super) stratum: usize,
    pub(super) level: usize,
    pub(super) value: f64,
    /// Logarithm, signed so that larger is better; minus infinity for a run that never ended.
    pub(super) score: f64,
    pub(super) order: Option<f64>,
    pub(super) exposure: Exposure,
    /// The level that ran just before, in this block or at the end of the one before; none where unknown.
    pub(super) before: Option<usize>,
}

/// The baseline's and a level's trials of one block.
pub(super) struct BlockPair<'t> {
    /// The block's number.
    pub(super) block: u64,
    pub(super) baseline: &'t Trial,
    pub(super) level: &'t Trial,
}

impl BlockPair<'_> {
    /// Above zero where the level is better. A run that never ended is worse than any other and equal to its like.
    pub(super) fn log_ratio(&self) -> f64 {
        match (self.level.score.is_finite(), self.baseline.score.is_finite()) {
            (true, true) => self.level.score - self.baseline.score,
            (true, false) => CENSORED_LOG_RATIO,
            (false, true) => -CENSORED_LOG_RATIO,
            (false, false) => 0.0,
        }
    }

    /// By how much the level's trial was exposed more or less to one covariate than the baseline's; 0 where that is not known.
    pub(super) fn differs_in(&self, covariate: usize) -> f64 {
        let of = |trial: &Trial| trial.exposure.get(covariate).copied().flatten();
        of(self.level).zip(of(self.baseline)).map_or(0.0, |(level, baseline)| level - baseline)
    }

    pub(super) fn order(&self) -> RunOrder {
        match self.baseline.order.zip(self.level.order).map(|(a, b)| a.total_cmp(&b)) {
            Some(std::cmp::Ordering::Less) => RunOrder::BaselineFirst,
            Some(std::cmp::Ordering::Greater) => RunOrder::LevelFirst,
            // The same position twice says nothing.
            Some(std::cmp::Ordering::Equal) | None => RunOrder::Unknown,
        }
    }
}

/// The trials of a superblock.
pub(super) struct Superblock<'t> {
    /// Each level's trial with the baseline's of the same turn: what describes the figures, not what decides.
    pub(super) block_pairs: Vec<BlockPair<'t>>,
    /// The log ratio of every trial of the level to every one of the baseline.
    pub(super) differences: Vec<f64>,
}

/// Where one level's standard deviation is larger than the other's by this factor, their trials are no draws of one lot.
const UNLIKE: f64 = 3.0;
/// No scatter alone sets levels apart by so many of the larger standard deviation.
const FAR: f64 = 4.0;

impl Superblock<'_> {
    /// How many times as much the figures of one of the two levels scatter as those of the other, where that is too much.
    ///
    /// The U of Mann and Whitney is exact where equal levels have equal laws. Where one scatters far more, all of its trials are on
    /// one side of the other's in up to `2^(1 - trials)` of runs, and not in `2 / C(2 trials, trials)`. Equal levels of normal noise are
    /// passed over by this in one of ten runs. Clear differences are not.
    pub(super) fn unlike_spreads(&self) -> Option<f64> {
        let moments = |of: fn(&BlockPair<'_>) -> f64| {
            let scores: Vec<f64> = self.block_pairs.iter().map(of).collect();
            let degrees = scores.len().saturating_sub(1).max(1) as f64;
            let mean = scores.iter().sum::<f64>() / scores.len() as f64;
            let variance = scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / degrees;
            (mean, variance.sqrt())
        };
        let ((mean, baseline), (other, level)) = (moments(|m| m.baseline.score), moments(|m| m.level.score));
        let (wider, ratio) = (baseline.max(level), baseline.max(level) / baseline.min(level));
        // Of runs that never ended no spread is known.
        let unlike = wider.is_finite() && ratio > UNLIKE && (other - mean).abs() < FAR * wider;
        unlike.then_some(ratio)
    }
}

/// All figures, checked.
#[derive(Debug)]
pub(super) struct Table<'a> {
    pub(super) levels: Vec<&'a str>,
    pub(super) strata: Vec<&'a str>,
    pub(super) baseline: usize,
    /// Which way is better.
    pub(super) direction: Direction,
    /// Blocks by their number; one without meaning where the figures are not blocked.
    blocks: BTreeMap<u64, Vec<Trial>>,
    blocked: bool,
    /// The number of the superblock, where there is one.
    superblock: Option<u64>,
    /// Two blocks that overlap in time.
    pub(super) overlap: Option<[u64; 2]>,
}

impl<'a> Table<'a> {
    /// Checks a set; `sequence` is that of all sets which it is judged with.
    pub(super) fn read(
        set: FigureSet<'a>,
        rules: &Rules,
        sequence: &Sequence<'a>,
    ) -> Result<Self, JudgeError> {
        check_rules(rules)?;
        let FigureSet { figures, direction } = set;
        if figures.is_empty() {
            return Err(JudgeError::NoFigures);
        }
        let blocked = figures.iter().any(|figure| figure.block.is_some());
        let first = figures.iter().filter_map(|figure| figure.block).min();
        let superblock = first.filter(|_| rules.looks.superblock() > 0);
        let (mut levels, mut strata) = (Vec::new(), Vec::new());
        let mut blocks = BTreeMap::<u64, Vec<Trial>>::new();
        for (number, figure) in (1..).zip(figures) {
            check_figure(number, figure, blocked)?;
            let trial = Trial {
                stratum: place(&mut strata, &figure.stratum),
                level: place(&mut levels, &figure.level),
                value: figure.value,
                score: if figure.value.is_finite() {
                    direction.sign() * figure.value.ln()
                } else {
                    f64::NEG_INFINITY
                },
                order: figure.order,
                exposure: figure.exposure,
                before: None,
            };
            let block = blocks.entry(figure.block.unwrap_or(0)).or_default();
            if blocked
                && figure.block != superblock
                && block.iter().any(|other| (other.stratum, other.level) == (trial.stratum, trial.level))
            {
                return Err(JudgeError::Duplicate {
                    block: figure.block.unwrap_or(0),
                    level: figure.level.clone(),
                    stratum: figure.stratum.clone(),
                });
            }
            block.push(trial);
        }
        note_predecessors(&mut blocks, &levels, &strata, sequence);
        let baseline = levels.iter().position(|level| *level == rules.baseline);
        let baseline = baseline.ok_or_else(|| JudgeError::UnknownBaseline {
            baseline: rules.baseline.clone(),
            levels: quoted(&levels).join(", "),
        })?;
        let overlap = sequence.overlap();
        let table = Self { levels, strata, baseline, direction, blocks, blocked, superblock, overlap };
        table.check_strata()?;
        Ok(table)
    }

    /// Whether the figures carry blocks.
    pub(super) fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Every (stratum, level) to be held against the stratum's baseline.
    pub(super) fn pairs(&self) -> Vec<(usize, usize)> {
        let places = (0..self.strata.len()).flat_map(|s| (0..self.levels.len()).map(move |level| (s, level)));
        places
            .filter(|(s, level)| *level != self.baseline && self.trials(*s, *level).next().is_some())
            .collect()
    }

    /// All trials of one place.
    pub(super) fn trials(&self, stratum: usize, level: usize) -> impl Iterator<Item = &Trial> {
        self.blocks.values().flatten().filter(move |trial| trial.stratum == stratum && trial.level == level)
    }

    /// The blocks that hold both the level and its baseline; a superblock is none of them.
    pub(super) fn block_pairs(&self, stratum: usize, level: usize) -> impl Iterator<Item = BlockPair<'_>> {
        let blocks = self.blocks.iter().filter(|(number, _)| Some(**number) != self.superblock);
        blocks.filter_map(move |(block, trials)| {
            let find = |wanted: usize| trials.iter().find(|t| t.stratum == stratum && t.level == wanted);
            Some(BlockPair { block: *block, baseline: find(self.baseline)?, level: find(level)? })
        })
    }

    pub(super) fn count_blocks(&self, stratum: usize, level: usize) -> usize {
        self.block_pairs(stratum, level).count()
    }

    /// What the superblock holds of the level and its baseline: none where either lacks one of its `trials`.
    pub(super) fn superblock(&self, stratum: usize, level: usize, trials: u32) -> Option<Superblock<'_>> {
        let block = self.superblock?;
        let of = |wanted: usize| -> Vec<&Trial> {
            let all = self.blocks.get(&block).into_iter().flatten();
            all.filter(|trial| trial.stratum == stratum && trial.level == wanted).collect()
        };
        let (baselines, levels) = (of(self.baseline), of(level));
        if [baselines.len(), levels.len()] != [trials as usize; 2] {
            return None;
        }
        let meet = |baseline, level| BlockPair { block, baseline, level };
        Some(Superblock {
            block_pairs: baselines
                .iter()
                .zip(&levels)
                .map(|(baseline, level)| meet(*baseline, *level))
                .collect(),
            differences: levels
                .iter()
                .flat_map(|level| baselines.iter().map(move |baseline| meet(*baseline, *level).log_ratio()))
                .collect(),
        })
    }

    fn check_strata(&self) -> Result<(), JudgeError> {
        if let [level] = self.levels.as_slice() {
            return Err(JudgeError::SingleLevel { level: (*level).to_owned() });
        }
        for (index, stratum) in self.strata.iter().enumerate() {
            if self.trials(index, self.baseline).next().is_none() {
                let present: Vec<&str> = (0..self.levels.len())
                    .filter(|level| self.trials(index, *level).next().is_some())
                    .filter_map(|level| self.levels.get(level).copied())
                    .collect();
                return Err(JudgeError::MissingBaseline {
                    stratum: (*stratum).to_owned(),
                    baseline: self.levels.get(self.baseline).copied().unwrap_or_default().to_owned(),
                    levels: quoted(&present).join(", "),
                });
            }
        }
        Ok(())
    }
}

/// The name's number, by first appearance.
fn place<'a>(names: &mut Vec<&'a str>, name: &'a str) -> usize {
    names.iter().position(|known| *known == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}

fn check_rules(rules: &Rules) -> Result<(), JudgeError> {
    let bad =
        |rule, value, expected: &str| Err(JudgeError::BadRule { rule, value, expected: expected.to_owned() });
    let not_negative = |value: f64| value.is_finite() && value >= 0.0;
    if !not_negative(rules.margin) {
        return bad("margin", rules.margin, "zero or more");
    }
    if !(0.5..1.0).contains(&rules.confidence) {
        return bad("confidence", rules.confidence, "from 0.5 to below 1, as in 0.95");
    }
    if !not_negative(rules.resolution) {
        return bad("resolution", rules.resolution, "zero or more");
    }
    if rules.budget == 0 || rules.budget > LARGEST_BUDGET {
        return bad("budget", f64::from(rules.budget), &format!("from 1 to {LARGEST_BUDGET} blocks"));
    }
    Ok(())
}

fn check_figure(number: usize, figure: &Figure, blocked: bool) -> Result<(), JudgeError> {
    let level = || figure.level.clone();
    if blocked && figure.block.is_none() {
        return Err(JudgeError::MissingBlock { number, level: level(), value: figure.value });
    }
    if figure.value.is_nan() || figure.value <= 0.0 {
        return Err(JudgeError::NotPositive {
            number,
            level: level(),
            block: figure.block,
            value: figure.value,
        });
    }
    if figure.order.is_some_and(f64::is_nan) {
        return Err(JudgeError::BadOrder { number, level: level(), block: figure.block });
    }
    Ok(())
}

/// Notes for each trial which level ran just before it. One that has no figure in this set is neither side of any of its
/// comparisons, so it is noted as a level beyond all others.
fn note_predecessors(
    blocks: &mut BTreeMap<u64, Vec<Trial>>,
    levels: &[&str],
    strata: &[&str],
    sequence: &Sequence<'_>,
) {
    for (number, trials) in blocks {
        for trial in trials {
            let place = strata.get(trial.stratum).zip(levels.get(trial.level));
            let before = place.and_then(|(stratum, level)| sequence.before(*number, stratum, level));
            trial.before =
                before.map(|before| levels.iter().position(|level| *level == before).unwrap_or(levels.len()));
        }
    }
}
