//! `trend`: runs of one condition that are not a steady state: they climb, fall, or step to another level.

use iostone_model::audit::{Finding, Severity};
use iostone_model::dataset::Dataset;
use iostone_model::units::p_value;
use iostone_stats::median::median;
use iostone_stats::series::{level_shift, trend};

use super::conditions::{Table, at, metrics, tables};
use super::timeline::{blocked, repetitions_in_time};
use super::wording::{condition_name, in_table, percent};
use crate::{Outcome, Rule, finding};

/// Of all tests together: below it, a warning.
const SURE: f64 = 0.01;
/// Of all tests of a table together: below it, a note.
const REMARKABLE: f64 = 0.2;
/// Of a single test: below it, it is shown among the evidence.
const SHOWN: f64 = 0.05;
/// Fewer runs are no series: of four, even the steepest has p = 0.08.
const FEWEST_RUNS: usize = 5;
/// Longer series are cut into so many pieces, of which the medians count.
const LONGEST: usize = 200;
/// So many lines of evidence at most.
const MOST_LINES: usize = 6;

pub(super) struct Trend;

/// What one test came to.
struct Test {
    p_value: f64,
    sentence: String,
}

/// The figures of one condition in the order of time.
struct Series {
    name: String,
    values: Vec<f64>,
    /// How many runs there were.
    runs: usize,
    /// How many of them each value is the median of.
    per_value: usize,
}

impl Rule for Trend {
    fn name(&self) -> &'static str {
        "trend"
    }

    fn looks_for(&self) -> &'static str {
        "repetitions that climb, fall or step to another level in the course of time"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let families: Vec<(Vec<Test>, bool)> = tables(dataset)
            .iter()
            // Blocks are there to bear a drift; where all figures stand in blocks it costs nothing but time.
            .map(|table| (tests_of(dataset, table), blocked(dataset, &table.members)))
            .filter(|(tests, _)| !tests.is_empty())
            .collect();
        if families.is_empty() {
            return Outcome::NotApplicable;
        }
        let all = families.iter().map(|(tests, _)| tests.len()).sum();
        Outcome::Looked(
            families
                .into_iter()
                .filter_map(|(tests, in_blocks)| judge(self, tests, all, in_blocks))
                .collect(),
        )
    }
}

/// Judges the tests of one table; `all` are those of the whole dataset, over which a warning must be certain.
fn judge(rule: &dyn Rule, mut tests: Vec<Test>, all: usize, in_blocks: bool) -> Option<Finding> {
    tests.sort_by(|a, b| a.p_value.total_cmp(&b.p_value));
    let strongest = tests.first()?;
    // Bonferroni: of many tests some come out small.
    let overall = (strongest.p_value * tests.len() as f64).min(1.0);
    let sure = strongest.p_value * all as f64 <= SURE;
    let (severity, verdict) = match (sure, in_blocks) {
        (true, false) => (Severity::Warning, "the runs are not repetitions of one state"),
        (true, true) => (Severity::Note, "the state drifted; the blocks compare within it"),
        (false, false) if overall < REMARKABLE => {
            (Severity::Note, "worth a look, though chance gives such things too")
        }
        _ => return None,
    };
    let among = if tests.len() == 1 {
        p_value(overall)
    } else {
        format!(
            "{} by itself, {} among the {} tests made",
            p_value(strongest.p_value),
            p_value(overall),
            tests.len()
        )
    };
    let message = format!("{}, {among}: {verdict}", strongest.sentence);
    let shown = tests.iter().filter(|test| test.p_value < SHOWN).take(MOST_LINES);
    let evidence = shown.map(|test| format!("{}, {}", test.sentence, p_value(test.p_value))).collect();
    let advice = if in_blocks {
        "Judge by the ratios within blocks, not by the medians of the conditions."
    } else {
        "Find out what changes with time (warm-up, caches, credits, a filling disk), run longer until it has settled, \
         and compare within blocks."
    };
    Some(Finding { evidence, ..finding(rule, severity, message, advice) })
}

fn tests_of(dataset: &Dataset, table: &Table<'_>) -> Vec<Test> {
    let orders: Vec<(String, Vec<usize>)> = table
        .conditions
        .iter()
        .filter(|condition| condition.members.len() >= FEWEST_RUNS)
        .filter_map(|condition| {
            Some((condition_name(table, condition), repetitions_in_time(dataset, &condition.members)?))
        })
        .collect();
    let mut tests = Vec::new();
    for metric in metrics(dataset, &table.members) {
        let series: Vec<Series> = orders
            .iter()
            .map(|(name, places)| {
                let value = |place: &usize| at(dataset, *place)?.value(metric);
                Series::new(name.clone(), places.iter().filter_map(value).collect())
            })
            .filter(|series| series.values.len() >= FEWEST_RUNS)
            .collect();
        tests.extend(series.iter().filter_map(|one| climb(metric, one)));
        tests.extend(step(metric, &series, &in_table(table)));
        // Within blocks the judging itself watches the ratio.
        if !blocked(dataset, &table.members) {
            tests.extend(diverge(metric, &series));
        }
    }
    tests
}

impl Series {
    /// The medians of equal pieces, where a series is very long.
    fn new(name: String, values: Vec<f64>) -> Self {
        let runs = values.len();
        let per_value = runs.div_ceil(LONGEST).max(1);
        let values =
            if per_value == 1 { values } else { values.chunks(per_value).filter_map(median).collect() };
        Self { name, values, runs, per_value }
    }
}

fn way(up: bool) -> &'static str {
    if up { "climbs" } else { "falls" }
}

/// A trend of one series.
fn climb(metric: &str, series: &Series) -> Option<Test> {
    let found = trend(&series.values)?;
    let way = way(found.tau > 0.0);
    let count = series.runs;
    let sentence =
        format!("{metric} {way} over the {count} runs of {} (Kendall's tau {:+.2})", series.name, found.tau);
    Some(Test { p_value: found.p_value, sentence })
}

/// A step at the same place of all series.
fn step(metric: &str, series: &[Series], in_table: &str) -> Option<Test> {
    let all: Vec<&[f64]> = series.iter().map(|one| one.values.as_slice()).collect();
    let found = level_shift(&all)?;
    let changes = series.iter().filter_map(|one| {
        let (early, late) = one.values.split_at_checked(found.after)?;
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        let ratio = mean(late) / mean(early);
        (ratio.is_finite() && ratio > 0.0).then(|| percent(ratio.ln()))
    });
    let changes: Vec<String> = changes.collect();
    let way = if found.up { "up" } else { "down" };
    let per_value = series.iter().map(|one| one.per_value).max().unwrap_or(1);
    let sentence = format!(
        "{metric} steps {way} after run {}{in_table} ({} on the mean, condition by condition)",
        found.after * per_value,
        super::wording::list(&changes)
    );
    Some(Test { p_value: found.p_value, sentence })
}

/// Conditions whose ratio changes with the number of the run.
fn diverge(metric: &str, series: &[Series]) -> Vec<Test> {
    let Some((first, others)) = series.split_first() else { return Vec::new() };
    let ratio = |other: &Series| {
        if other.values.len() != first.values.len()
            || other.per_value != first.per_value
            || first.values.iter().chain(&other.values).any(|value| *value <= 0.0)
        {
            return None;
        }
        let ratios: Vec<f64> = other.values.iter().zip(&first.values).map(|(a, b)| (a / b).ln()).collect();
        let found = trend(&ratios)?;
        let (from, to) = (ratios.first()?, ratios.last()?);
        let sentence = format!(
            "{metric} of {} against {} {} run by run, from {} to {} (Kendall's tau {:+.2})",
            other.name,
            first.name,
            way(found.tau > 0.0),
            percent(*from),
            percent(*to),
            found.tau
        );
        Some(Test { p_value: found.p_value, sentence })
    };
    others.iter().filter_map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::design::examples::{findings, two_conditions};
    use iostone_model::dataset::Order;

    #[test]
    fn a_long_climb_is_a_warning_and_in_blocks_a_note() {
        let climb: Vec<f64> = (0..10).map(|run| 100.0 + f64::from(run)).collect();
        let mut dataset = two_conditions(&climb, &climb);
        let found = findings(&Trend, &dataset);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Warning));
        assert!(found[0].message.contains("throughput"), "{}", found[0].message);
        for (index, observation) in dataset.observations.iter_mut().enumerate() {
            observation.block = Some(index as u64 % 10);
        }
        assert_eq!(findings(&Trend, &dataset)[0].severity, Severity::Note);
    }

    #[test]
    fn all_runs_of_a_long_series_are_counted() {
        let climb: Vec<f64> = (0..500).map(|run| 100.0 + f64::from(run)).collect();
        let found = findings(&Trend, &two_conditions(&climb, &[]));
        let told = found[0].evidence.join("; ");
        assert!(told.contains("over the 500 runs of"), "{told}");
        let step: Vec<f64> =
            (0..500).map(|run| f64::from(100 + run * 7 % 5 + 50 * i32::from(run >= 249))).collect();
        let told = findings(&Trend, &two_conditions(&step, &[]))[0].evidence.join("; ");
        assert!(told.contains("steps up after run 249"), "{told}");
    }

    #[test]
    fn a_ratio_that_moves_run_by_run_is_worth_a_note() {
        let dataset = two_conditions(
            &[198.832, 198.525, 197.24, 198.003, 193.24],
            &[195.168, 196.525, 196.241, 197.79, 195.378],
        );
        let found = findings(&Trend, &dataset);
        assert_eq!(found[0].severity, Severity::Note);
        let start = "throughput of `barrier=0` against `barrier=1` climbs run by run, from -1.8 % to +1.1 %";
        assert!(found[0].message.starts_with(start), "{}", found[0].message);
        assert!(found[0].message.contains("p = 0.017 by itself"), "{}", found[0].message);
    }

    #[test]
    fn noise_is_clear_and_short_or_unordered_series_are_not_looked_at() {
        let dataset = two_conditions(&[1.0, 1.2, 0.9, 1.1, 1.05, 0.95], &[1.1, 0.9, 1.05, 1.0, 0.97, 1.02]);
        assert!(findings(&Trend, &dataset).is_empty());
        assert_eq!(Trend.look(&two_conditions(&[1.0, 2.0, 3.0, 4.0], &[])), Outcome::NotApplicable);
        let mut unordered = dataset;
        unordered.order = Order::Unknown;
        for observation in &mut unordered.observations {
            observation.run = None;
        }
        assert_eq!(Trend.look(&unordered), Outcome::NotApplicable);
    }
}
