//! Sweeps beside races of all levels on eleven curves: their trials, what they leave open, and how often they err.

use iostone_model::metric::Direction;
use iostone_stats::judge::JudgeError;
use iostone_stats::race::{Outcome, Race, RaceFigure, RaceRules, Sweep};
use iostone_stats::schedule::{SplitMix64, block_order};

/// The curves, as times over the levels; the best takes about 1.
pub(crate) const CURVES: [Curve; 11] = [
    Curve { name: "wall", of: |x, levels| wall(x, levels) },
    Curve { name: "falling", of: |x, _| (0.94 * (1.0 - x)).exp() },
    Curve { name: "rising", of: |x, _| (0.94 * x).exp() },
    Curve { name: "slope20", of: |x, _| 1.2 - 0.2 * x },
    Curve { name: "bowl10", of: |x, _| bowl(x, 0.1) },
    Curve { name: "bowl30", of: |x, _| bowl(x, 0.3) },
    Curve { name: "bowl100", of: |x, _| bowl(x, 1.0) },
    Curve { name: "flat", of: |_, _| 1.0 },
    Curve { name: "saturating", of: |x, _| 1.0 + (-6.0 * x).exp() },
    // Teeth of four levels, each as deep as the others but for a slow rise.
    Curve { name: "sawtooth", of: |x, levels| 1.0 + 0.1 * ((x * (levels - 1.0)).round() % 4.0) + 0.05 * x },
    // The first dip is the lesser one by a tenth.
    Curve {
        name: "two-dips",
        of: |x, _| (1.1 + 6.0 * (x - 0.22).powi(2)).min(1.0 + 6.0 * (x - 0.78).powi(2)),
    },
];
const MARGIN: f64 = 0.03;
const BUDGET: u32 = 40;

/// A curve over an axis from 0 to 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Curve {
    /// Its name.
    pub(crate) name: &'static str,
    of: fn(f64, f64) -> f64,
}

/// A limit just above the allowance is best, one below it slow, one above it as bad as none.
fn wall(x: f64, levels: f64) -> f64 {
    let (level, best) = ((x * (levels - 1.0)).round(), (0.2 * (levels - 1.0)).round());
    if level > best { 1.65 + 0.25 * x } else { 1.0 + 0.5 * (best - level) }
}

/// Best at 45 % of the axis, worse by `depth` at its far end.
fn bowl(x: f64, depth: f64) -> f64 {
    1.0 + depth * ((x - 0.45) / 0.55).powi(2)
}

/// What came of one curve, number of levels and noise.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Row {
    /// Of the sweep.
    pub(crate) sweep: Tally,
    /// Of the race of all levels.
    pub(crate) race: Tally,
}

/// Counts over repetitions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    /// Repetitions.
    pub(crate) runs: u32,
    /// Trials of all of them.
    pub(crate) trials: u32,
    /// Nothing was decided within the budget.
    pub(crate) open: u32,
    /// A level was named that is worse than claimed, or levels were shown to be worse than each other.
    pub(crate) wrong: u32,
    /// A level within the margin of the best was named.
    pub(crate) picked: u32,
}

impl Tally {
    /// The counts of both together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            runs: self.runs + other.runs,
            trials: self.trials + other.trials,
            open: self.open + other.open,
            wrong: self.wrong + other.wrong,
            picked: self.picked + other.picked,
        }
    }

    fn count(&mut self, curve: &[f64], outcome: Option<Outcome>) {
        let best = curve.iter().copied().fold(f64::INFINITY, f64::min);
        let at = |level: usize| curve.get(level).copied().unwrap_or(f64::INFINITY);
        let within = |level: usize| at(level) <= best * (1.0 + MARGIN);
        self.runs += 1;
        match outcome {
            Some(Outcome::Unique(level)) => {
                self.picked += u32::from(within(level));
                self.wrong += u32::from(at(level) > best * (1.0 + 1e-9));
            }
            Some(Outcome::WithinMargin(level)) => {
                self.picked += u32::from(within(level));
                self.wrong += u32::from(!within(level));
            }
            Some(Outcome::Unstable) => self.wrong += 1,
            None => self.open += 1,
        }
    }
}

/// A machine that is slower at times, for a whole block.
struct Machine<'a> {
    curve: &'a [f64],
    noise: f64,
    generator: SplitMix64,
    seed: u64,
    block: u64,
}

impl<'a> Machine<'a> {
    fn new(curve: &'a [f64], noise: f64, seed: u64) -> Self {
        Self { curve, noise, generator: SplitMix64::new(seed ^ 0x5EED), seed, block: 0 }
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (-self.generator.next_unit()).ln_1p()).sqrt();
        radius * (2.0 * std::f64::consts::PI * self.generator.next_unit()).cos()
    }

    fn run(&mut self, held: &[usize]) -> Vec<RaceFigure> {
        let order = block_order(self.seed, self.block, self.curve.len());
        self.block += 1;
        let host = 0.1 * self.normal();
        let mut figures = Vec::new();
        for (place, level) in (0u32..).zip(order.into_iter().filter(|level| held.contains(level))) {
            let time = self.curve.get(level).copied().unwrap_or(1.0);
            let value = time * (host + self.noise * self.normal()).exp();
            figures.push(RaceFigure { level, value, order: Some(f64::from(place)) });
        }
        figures
    }
}

/// One curve, number of levels and noise.
///
/// # Errors
/// None of these rules and figures is refused.
pub(crate) fn cell(curve: Curve, levels: usize, noise: f64, repetitions: u64) -> Result<Row, JudgeError> {
    let last = levels.saturating_sub(1).max(1) as f64;
    let times: Vec<f64> = (0..levels).map(|level| (curve.of)(level as f64 / last, levels as f64)).collect();
    let rules = RaceRules {
        direction: Direction::Lower,
        margin: MARGIN,
        confidence: 0.95,
        budget: BUDGET,
        minimum: 6,
        adjust_order: true,
    };
    let mut row = Row::default();
    for seed in 0..repetitions {
        let mut machine = Machine::new(&times, noise, seed);
        let mut sweep = Sweep::new(levels, rules)?;
        let mut status = sweep.status();
        while sweep.blocks() == 0 || status.outcome.is_none() && sweep.blocks() < BUDGET {
            let block = machine.run(&status.active);
            row.sweep.trials += u32::try_from(block.len()).unwrap_or(u32::MAX);
            sweep.push(&block)?;
            status = sweep.status();
        }
        row.sweep.count(&times, status.outcome);
        let mut machine = Machine::new(&times, noise, seed);
        let mut race = Race::new(levels, rules)?;
        while race.outcome().is_none() && race.blocks() < BUDGET {
            let block = machine.run(race.alive());
            row.race.trials += u32::try_from(block.len()).unwrap_or(u32::MAX);
            race.push(&block)?;
        }
        row.race.count(&times, race.outcome());
    }
    Ok(row)
}
