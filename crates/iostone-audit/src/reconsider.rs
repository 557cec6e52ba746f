//! Judges a published comparison again: the figures as they stand, and what they allow to be said.

mod statement;

use iostone_cloud::explain::Overrides;
use iostone_model::case::{
    CASE_SCHEMA, Case, CaseReport, KnownLimit, LevelFigures, Reconsidered, ReconsideredLevel,
    StatedComparison,
};
use iostone_model::dataset::{Dataset, Observation, Order};
use iostone_model::explanation::Explanation;
use iostone_model::verdict::Comparison;
use iostone_stats::breakeven::breakeven_cv;
use iostone_stats::judge::{Figure, Rules, judge};
use iostone_stats::resolution::infer;

use crate::audit;

/// Of all intervals; no author of a published table ever named another.
const CONFIDENCE: f64 = 0.95;
/// The blocks that a verdict would have been allowed.
const BUDGET: u32 = 40;

/// Judges every comparison of a case again and audits its figures.
pub fn reconsider(case: &Case) -> CaseReport {
    CaseReport {
        schema: CASE_SCHEMA.to_owned(),
        name: case.dataset.name.clone(),
        question: case.question.clone(),
        conclusion: case.conclusion.clone(),
        source: case.source.clone(),
        comparisons: case.comparisons.iter().map(|stated| compare(&case.dataset, stated)).collect(),
        audit: audit(&case.dataset),
        explanation: explanation(&case.dataset),
    }
}

/// What bound the figures, where the case says which machine they are of.
fn explanation(dataset: &Dataset) -> Option<Explanation> {
    let names_machine = dataset
        .observations
        .iter()
        .any(|observation| observation.facts.instance.is_some() || observation.facts.volume.is_some());
    let explanation = names_machine.then(|| crate::explain_dataset(dataset, &Overrides::default()))?;
    explanation.parts.iter().any(|part| !part.figures.is_empty()).then_some(explanation)
}

/// Judges one comparison of a dataset.
pub fn compare(dataset: &Dataset, stated: &StatedComparison) -> Reconsidered {
    let (figures, step) = collect(dataset, stated);
    let listed = list(dataset, stated);
    let rules = Rules {
        randomised: dataset.order == Order::RandomisedBlocks,
        margin: stated.margin,
        confidence: CONFIDENCE,
        budget: BUDGET,
        resolution: infer(&figures, step),
        adjust_order: false,
        ..Rules::new(&stated.baseline, stated.better)
    };
    let (levels, unjudged) = match judge(&figures, &rules) {
        Ok(judgement) => {
            let levels = judgement.comparisons.into_iter();
            (levels.map(|comparison| level(comparison, &listed, stated)).collect(), None)
        }
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let unit = dataset.unit_of(&stated.metric);
    Reconsidered { stated: stated.clone(), unit, figures: listed, levels, unjudged }
}

/// The observations that a comparison is about, with the figure and the level.
fn concerned<'a>(
    dataset: &'a Dataset,
    stated: &'a StatedComparison,
) -> impl Iterator<Item = (&'a Observation, iostone_model::dataset::Figure, &'a str)> {
    let in_table =
        |observation: &&Observation| stated.table.as_ref().is_none_or(|table| *table == observation.table);
    dataset.observations.iter().filter(in_table).filter_map(|observation| {
        let figure = observation.figures.get(&stated.metric)?;
        Some((observation, *figure, observation.labels.get(&stated.by)?.as_str()))
    })
}

/// The figures as they are to be shown, with the limits that bound them.
fn list(dataset: &Dataset, stated: &StatedComparison) -> Vec<LevelFigures> {
    let unit = dataset.unit_of(&stated.metric);
    let mut listed: Vec<LevelFigures> = Vec::new();
    for (observation, figure, level) in concerned(dataset, stated) {
        let stratum = stratum(observation, &stated.within);
        let bounding = dataset.ceilings.iter().filter(|c| c.bounds(observation, &stated.metric, unit));
        let ceilings: Vec<KnownLimit> = bounding
            .map(|ceiling| KnownLimit {
                name: ceiling.name.clone(),
                text: ceiling.limit.text.clone(),
                value: ceiling.limit.value,
            })
            .collect();
        match listed.iter_mut().find(|known| known.level == level && known.stratum == stratum) {
            Some(known) => {
                known.values.push(figure.value);
                known.ceilings.retain(|ceiling| ceilings.contains(ceiling));
            }
            None => listed.push(LevelFigures {
                level: level.to_owned(),
                stratum,
                values: vec![figure.value],
                ceilings,
            }),
        }
    }
    listed
}

/// The figures that a comparison is about, and the coarsest step that one of them was rounded to.
fn collect(dataset: &Dataset, stated: &StatedComparison) -> (Vec<Figure>, f64) {
    let mut blocks: Vec<&str> = Vec::new();
    let mut figures = Vec::new();
    let mut step: f64 = 0.0;
    for (observation, figure, level) in concerned(dataset, stated) {
        step = step.max(figure.step);
        let block = match &stated.block {
            Some(label) => observation.labels.get(label).map(|name| number(&mut blocks, name)),
            None => observation.block,
        };
        figures.push(Figure {
            level: level.to_owned(),
            stratum: stratum(observation, &stated.within),
            value: figure.value,
            block,
            order: observation.order,
            ..Figure::default()
        });
    }
    (figures, step)
}

fn number<'a>(known: &mut Vec<&'a str>, name: &'a str) -> u64 {
    let place = known.iter().position(|candidate| *candidate == name).unwrap_or_else(|| {
        known.push(name);
        known.len() - 1
    });
    place as u64
}

fn stratum(observation: &Observation, within: &[String]) -> String {
    let levels = within.iter().map(|label| {
        let level = observation.labels.get(label).map_or("", String::as_str);
        format!("{label}={level}")
    });
    levels.collect::<Vec<_>>().join(", ")
}

fn level(comparison: Comparison, listed: &[LevelFigures], stated: &StatedComparison) -> ReconsideredLevel {
    let of = |level: &str| -> &[f64] {
        let found = listed.iter().find(|f| f.level == level && f.stratum == comparison.stratum);
        found.map_or(&[], |figures| &figures.values)
    };
    let breakeven_cv = match (of(&comparison.baseline), of(&comparison.level)) {
        ([baseline], [level]) => breakeven_cv(level / baseline),
        _ => None,
    };
    let statement = statement::write(&comparison, breakeven_cv, stated);
    ReconsideredLevel { comparison, breakeven_cv, statement }
}

#[cfg(test)]
mod tests;
