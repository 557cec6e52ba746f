//! What a plan compares: one figure, or every point of a curve, each with its figures and its direction.

use std::collections::BTreeMap;

use iostone_model::covariate::{DeclaredCovariate, exposure};
use iostone_model::experiment::CurvePoint;
use iostone_model::metric::{Direction, Unit};
use iostone_model::run::{BlockRecord, Plan};
use iostone_model::trial::TrialRecord;
use iostone_model::verdict::{Comparison, Verdict};
use iostone_stats::judge::{
    Figure, FigureSet, JudgeError, Judgement, Next, Rules, judge_together, next_step_together,
};

use super::rates::finite_median;

/// What is compared, point by point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Whether it is a curve. One figure is a subject of one point.
    pub curve: bool,
    /// The points, in the order of the curve.
    pub points: Vec<SubjectPoint>,
}

/// A metric of a trial and whose trials have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectPoint {
    /// The key of a trial's metrics.
    pub metric: String,
    /// Which way is better.
    pub direction: Direction,
    /// The unit of its values.
    pub unit: Unit,
    /// For each configuration of the plan, whether its workload yields it.
    yielded: Vec<bool>,
}

/// The figures of a subject: those of each point.
#[derive(Debug, Clone, PartialEq)]
pub struct SubjectFigures {
    points: Vec<(SubjectPoint, Vec<Figure>)>,
    /// Comparisons planned over all points.
    declared: usize,
}

impl Subject {
    /// What the plan's metric stands for.
    pub fn of(plan: &Plan) -> Self {
        let configurations = &plan.experiment.configurations;
        let metric = &plan.experiment.decide.metric;
        let curves: Vec<Option<Vec<CurvePoint>>> =
            configurations.iter().map(|configuration| configuration.workload.curve(metric)).collect();
        if curves.iter().any(Option::is_some) {
            return Self::of_curves(&curves);
        }
        let point = SubjectPoint {
            metric: metric.clone(),
            direction: plan.better,
            unit: plan.unit,
            yielded: vec![true; configurations.len()],
        };
        Self { curve: false, points: vec![point] }
    }

    /// The points of the curves that each configuration's workload yields.
    pub fn of_curves(curves: &[Option<Vec<CurvePoint>>]) -> Self {
        let mut points: Vec<SubjectPoint> = Vec::new();
        for (configuration, curve) in curves.iter().enumerate() {
            for point in curve.iter().flatten() {
                let at = points.iter().position(|known| known.metric == point.metric);
                let at = at.unwrap_or_else(|| {
                    points.push(SubjectPoint {
                        metric: point.metric.clone(),
                        direction: point.direction,
                        unit: point.unit,
                        yielded: vec![false; curves.len()],
                    });
                    points.len() - 1
                });
                let known = points.get_mut(at).and_then(|known| known.yielded.get_mut(configuration));
                if let Some(yielded) = known {
                    *yielded = true;
                }
            }
        }
        Self { curve: true, points }
    }

    /// The comparisons that the plan declares: of each point, the pairs both of whose configurations yield it.
    pub fn declared(&self, plan: &Plan) -> usize {
        self.points.iter().map(|point| point.pairs(plan).len()).sum()
    }

    /// Whether a trial has what is compared; of a curve, some point.
    pub fn is_in(&self, metrics: &BTreeMap<String, f64>) -> bool {
        self.points.iter().any(|point| metrics.contains_key(&point.metric))
    }

    /// What a trial measured, in a few words: its figure, or how many points of its curve have one. None without any.
    pub fn describe(&self, plan: &Plan, trial: &TrialRecord) -> Option<String> {
        let metrics = &trial.metrics;
        if !self.curve {
            let point = self.points.first()?;
            return metrics.get(&point.metric).map(|value| point.unit.format(*value));
        }
        let configurations = &plan.experiment.configurations;
        let configuration = configurations.iter().position(|c| c.name == trial.configuration)?;
        let yielded = || self.points.iter().filter(|point| point.is_yielded(configuration));
        let all = yielded().count();
        match yielded().filter(|point| metrics.contains_key(&point.metric)).count() {
            0 => None,
            some if some == all => Some(format!("{all} points")),
            some => Some(format!("{some} of {all} points")),
        }
    }

    /// The figures of all trials that count.
    pub fn figures(
        &self,
        plan: &Plan,
        trials: &[TrialRecord],
        blocks: &[BlockRecord],
        covariates: &[DeclaredCovariate],
    ) -> SubjectFigures {
        let experiment = &plan.experiment;
        // When an environment turns out unfit, blocks that had been discarded count again; the budget stays what it was.
        let mut left = experiment.decide.blocks.max;
        let within =
            |block: &&BlockRecord| left.checked_sub(block.count()).inspect(|rest| left = *rest).is_some();
        let counted: Vec<u32> = blocks
            .iter()
            .filter(|block| block.counted)
            .take_while(within)
            .map(|block| block.number)
            .collect();
        let counting: Vec<&TrialRecord> =
            trials.iter().filter(|trial| counted.contains(&trial.block)).collect();
        let figure = |point: &SubjectPoint, trial: &TrialRecord| {
            let configuration = experiment.configurations.iter().find(|c| c.name == trial.configuration)?;
            let value = *trial.metrics.get(&point.metric)?;
            Some(Figure {
                level: experiment.compared_level(configuration).to_owned(),
                stratum: experiment.stratum(configuration),
                value: if self.curve || value == 0.0 { of_point(value, point.direction)? } else { value },
                block: Some(u64::from(trial.block)),
                order: Some(f64::from(trial.position)),
                exposure: exposure(covariates, &trial.taken.unwrap_or_default()),
            })
        };
        let points = self
            .points
            .iter()
            .map(|point| {
                let mut figures: Vec<Figure> =
                    counting.iter().filter_map(|trial| figure(point, trial)).collect();
                tie_nothing_with_nothing(&mut figures);
                (point.clone(), comparable(figures, plan))
            })
            .collect();
        SubjectFigures { points, declared: self.declared(plan) }
    }
}

/// A rate of nothing is the worst of all, as a run that never ends is; a time of nothing was not measured.
fn of_point(value: f64, direction: Direction) -> Option<f64> {
    match direction {
        Direction::Higher if value == 0.0 => Some(f64::INFINITY),
        _ => (value > 0.0).then_some(value),
    }
}

/// Where no level of a block completed anything they are equal, which is a measurement as good as any other.
fn tie_nothing_with_nothing(figures: &mut [Figure]) {
    // Any value has the ratio 1 to itself; a usual one leaves the medians of the levels where they are.
    let usual = finite_median(figures.iter().map(|figure| figure.value)).unwrap_or(1.0);
    let place = |figure: &Figure| (figure.block, figure.stratum.clone());
    let moved: Vec<_> = figures.iter().filter(|figure| figure.value.is_finite()).map(place).collect();
    for figure in figures.iter_mut().filter(|figure| figure.value.is_infinite()) {
        if !moved.contains(&place(figure)) {
            figure.value = usual;
        }
    }
}

/// Leaves out strata in which a point has no figure of the baseline, or of nothing else. A sweep has no baseline.
fn comparable(mut figures: Vec<Figure>, plan: &Plan) -> Vec<Figure> {
    if plan.experiment.sweep().is_some() {
        return figures;
    }
    let baseline = &plan.experiment.baseline_level;
    let all = figures.clone();
    let has = |stratum: &str, of_baseline: bool| {
        all.iter().any(|figure| figure.stratum == stratum && (figure.level == *baseline) == of_baseline)
    };
    figures.retain(|figure| has(&figure.stratum, true) && has(&figure.stratum, false));
    figures
}

impl SubjectPoint {
    /// Whether a trial has a figure of it that can be compared.
    pub(super) fn is_measured(&self, trial: &TrialRecord) -> bool {
        trial.metrics.get(&self.metric).is_some_and(|value| of_point(*value, self.direction).is_some())
    }

    /// Whether a configuration's workload yields it.
    pub(super) fn is_yielded(&self, configuration: usize) -> bool {
        self.yielded.get(configuration).copied().unwrap_or(false)
    }

    /// The (stratum, level) that the plan compares at this point.
    fn pairs(&self, plan: &Plan) -> Vec<(String, String)> {
        let planned = plan.comparisons().into_iter();
        planned
            .filter(|pair| self.is_yielded(pair.configuration) && self.is_yielded(pair.baseline))
            .map(|pair| (pair.stratum, pair.level))
            .collect()
    }
}

impl SubjectFigures {
    /// Whether there is nothing to judge.
    pub fn is_empty(&self) -> bool {
        self.points.iter().all(|(_, figures)| figures.is_empty())
    }

    /// The figures of the first point, which is the only one of a subject that is no curve.
    pub(crate) fn of_first_point(&self) -> &[Figure] {
        self.points.first().map(|(_, figures)| figures.as_slice()).unwrap_or_default()
    }

    fn sets(&self) -> Vec<FigureSet<'_>> {
        self.measured().map(|(point, figures)| FigureSet { figures, direction: point.direction }).collect()
    }

    fn measured(&self) -> impl Iterator<Item = &(SubjectPoint, Vec<Figure>)> {
        self.points.iter().filter(|(_, figures)| !figures.is_empty())
    }

    /// What to do after the blocks so far.
    ///
    /// # Errors
    /// Figures that cannot be judged.
    pub fn next_step(&self, rules: &Rules) -> Result<Next, JudgeError> {
        next_step_together(&self.sets(), self.declared, rules, true)
    }

    /// Judges all points as one family. The comparisons of a curve name their points, and those that the plan declares
    /// but no figure was measured for are undecided.
    ///
    /// # Errors
    /// Figures that cannot be judged.
    pub fn judge(&self, subject: &Subject, plan: &Plan, rules: &Rules) -> Result<Judgement, JudgeError> {
        let sets = self.sets();
        let judged = if sets.is_empty() { Vec::new() } else { judge_together(&sets, self.declared, rules)? };
        let mut whole = Judgement { comparisons: Vec::new(), flags: Vec::new() };
        for ((point, _), judgement) in self.measured().zip(judged) {
            for mut comparison in judgement.comparisons {
                if subject.curve {
                    comparison.point.clone_from(&point.metric);
                }
                whole.comparisons.push(comparison);
            }
            for flag in judgement.flags {
                if !whole.flags.iter().any(|known| known.name == flag.name) {
                    whole.flags.push(flag);
                }
            }
        }
        self.add_unmeasured(subject, plan, &mut whole.comparisons);
        Ok(whole)
    }

    /// Adds the comparisons without figures, and brings all into the plan's order, point by point.
    fn add_unmeasured(&self, subject: &Subject, plan: &Plan, comparisons: &mut Vec<Comparison>) {
        let mut ordered = Vec::with_capacity(comparisons.len());
        for (stratum, level) in plan.comparisons().into_iter().map(|pair| (pair.stratum, pair.level)) {
            for (point, _) in &self.points {
                if !point.pairs(plan).contains(&(stratum.clone(), level.clone())) {
                    continue;
                }
                let name = if subject.curve { point.metric.as_str() } else { "" };
                let found = comparisons
                    .iter()
                    .position(|c| c.point == name && c.stratum == stratum && c.level == level);
                ordered.push(match found {
                    Some(found) => comparisons.swap_remove(found),
                    None => unmeasured(plan, name, &stratum, &level),
                });
            }
        }
        *comparisons = ordered;
    }
}

fn unmeasured(plan: &Plan, point: &str, stratum: &str, level: &str) -> Comparison {
    Comparison {
        level: level.to_owned(),
        baseline: plan.experiment.baseline_level.clone(),
        stratum: stratum.to_owned(),
        point: point.to_owned(),
        verdict: Some(Verdict::Undecided),
        // Who lacked the figure, and why, is told of all comparisons alike.
        ..Comparison::default()
    }
}
