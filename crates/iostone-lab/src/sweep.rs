//! A sweep of a run: its race from the records, and what the next block holds.

use iostone_model::experiment::Factor;
use iostone_model::run::{BlockRecord, Plan};
use iostone_model::trial::TrialRecord;
use iostone_model::verdict::SweepVerdict;
use iostone_stats::race::{Axis, RaceFigure, RaceRules, Sweep, SweepStatus};

use crate::conclude::Subject;
use crate::error::LabError;

/// A sweep with the blocks of a run so far: a pure function of the records, so that a resumed run goes on as it would have.
#[derive(Debug, Clone)]
pub(crate) struct PlannedSweep<'a> {
    factor: &'a Factor,
    positions: &'a [f64],
    race: Sweep,
    rehearsal: bool,
}

impl<'a> PlannedSweep<'a> {
    /// The sweep of a plan; none where the plan holds levels against a baseline.
    ///
    /// # Errors
    /// Figures that cannot be judged.
    pub(crate) fn of(
        plan: &'a Plan,
        trials: &[TrialRecord],
        blocks: &[BlockRecord],
    ) -> Result<Option<Self>, LabError> {
        let Some((factor, positions)) = plan.experiment.sweep() else { return Ok(None) };
        let decide = &plan.experiment.decide;
        let rules = RaceRules {
            direction: plan.better,
            margin: decide.margin.0,
            confidence: decide.confidence.0,
            budget: decide.blocks.max,
            minimum: decide.blocks.min,
            adjust_order: true,
        };
        let mut race = Sweep::new(factor.levels.len(), rules)?;
        for block in figures(plan, factor, trials, blocks) {
            race.push(&block)?;
        }
        Ok(Some(Self { factor, positions, race, rehearsal: plan.quick }))
    }

    /// Blocks that have a figure.
    pub(crate) fn blocks(&self) -> u32 {
        self.race.blocks()
    }

    pub(crate) fn status(&self) -> SweepStatus {
        self.race.status()
    }

    pub(crate) fn verdict(&self) -> SweepVerdict {
        let axis = Axis { factor: &self.factor.name, levels: &self.factor.levels, positions: self.positions };
        self.race.verdict(axis, self.rehearsal)
    }
}

/// The figures of every block that counts, by the number of the level.
fn figures(
    plan: &Plan,
    factor: &Factor,
    trials: &[TrialRecord],
    blocks: &[BlockRecord],
) -> Vec<Vec<RaceFigure>> {
    let subject = Subject::of(plan).figures(plan, trials, blocks, &[]);
    let mut found: Vec<(u64, Vec<RaceFigure>)> = Vec::new();
    for figure in subject.of_first_point() {
        let Some(level) = factor.levels.iter().position(|level| *level == figure.level) else { continue };
        let block = figure.block.unwrap_or(0);
        let figure = RaceFigure { level, value: figure.value, order: figure.order };
        match found.iter_mut().find(|(number, _)| *number == block) {
            Some((_, figures)) => figures.push(figure),
            None => found.push((block, vec![figure])),
        }
    }
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, figures)| figures).collect()
}
