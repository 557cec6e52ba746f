//! Rows of a table divided by its columns, for the question whether levels stand beside each other in every part.

use std::collections::{BTreeMap, HashMap};

use super::figures::Prepared;

/// Rows in groups that a column after the other divides further.
#[derive(Clone)]
pub(super) struct Groups<'a> {
    /// The level of each row.
    levels: Vec<&'a str>,
    /// The values of the other columns of each row.
    others: Vec<Option<&'a BTreeMap<String, String>>>,
    /// The group of each row.
    parts: Vec<usize>,
}

impl<'a> Groups<'a> {
    /// All rows in one group.
    pub(super) fn of(prepared: &'a Prepared) -> Self {
        let levels: Vec<&str> = prepared.figures.iter().map(|figure| figure.level.as_str()).collect();
        let others = prepared.figures.iter().map(|figure| prepared.strata.get(&figure.stratum)).collect();
        Self { parts: vec![0; levels.len()], levels, others }
    }

    /// The values of a column, one a row.
    pub(super) fn values(&self, name: &str) -> Vec<&'a str> {
        self.others
            .iter()
            .map(|others| others.and_then(|others| others.get(name)).map_or("", String::as_str))
            .collect()
    }

    /// The groups divided by the values of a column.
    pub(super) fn split(&self, values: &[&str]) -> Self {
        let mut places: HashMap<(usize, &str), usize> = HashMap::new();
        let parts = self.parts.iter().zip(values).map(|(group, value)| {
            let next = places.len();
            *places.entry((*group, *value)).or_insert(next)
        });
        Self { parts: parts.collect(), ..self.clone() }
    }

    /// Whether every group has the level and another.
    pub(super) fn all_hold(&self, baseline: &str) -> bool {
        let mut held: HashMap<usize, (bool, bool)> = HashMap::new();
        for (group, level) in self.parts.iter().zip(&self.levels) {
            let (has_baseline, has_other) = held.entry(*group).or_default();
            *(if *level == baseline { has_baseline } else { has_other }) = true;
        }
        held.values().all(|(has_baseline, has_other)| *has_baseline && *has_other)
    }

    /// Whether a column has one value in all rows of a level.
    pub(super) fn is_one_for_each_level(&self, values: &[&str]) -> bool {
        let mut known: HashMap<&str, &str> = HashMap::new();
        self.levels.iter().zip(values).all(|(level, value)| known.entry(level).or_insert(value) == value)
    }
}
