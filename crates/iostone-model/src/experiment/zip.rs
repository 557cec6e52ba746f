//! Exceptions from the full combination: factors that go together level by level, and combinations left out.

use std::collections::BTreeMap;

use toml::Table;

use super::CombineFile;
use super::combine::{Places, RawFactor, list};
use crate::diagnostic::{Diagnostic, nearest};

/// Turns each list of factors that go together into one factor at the place of its first.
pub(super) fn zip(
    mut factors: Vec<RawFactor>,
    combining: &Option<CombineFile>,
    places: &Places<'_>,
    errors: &mut Vec<Diagnostic>,
) -> Vec<RawFactor> {
    for (index, names) in combining.iter().flat_map(|combining| &combining.zip).enumerate() {
        let path = format!("combine.zip[{index}]");
        if let Err(error) = zip_one(&mut factors, names, &path, places) {
            errors.push(error);
        }
    }
    factors
}

fn zip_one(
    factors: &mut Vec<RawFactor>,
    names: &[String],
    path: &str,
    places: &Places<'_>,
) -> Result<(), Diagnostic> {
    let wrong = |message: String, path: &str, label: &str| {
        Err(places.at_value(Diagnostic::new("io0007", message), path, label))
    };
    if names.len() < 2 {
        return wrong("one factor alone cannot go together".to_owned(), path, "name two or more factors");
    }
    let mut found = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let path = format!("{path}[{place}]");
        let Some(index) = factors.iter().position(|factor| factor.name == *name) else {
            return Err(unknown(name, factors, &path, places));
        };
        if found.contains(&index) {
            return wrong(format!("`{name}` is named twice"), &path, "the second of them");
        }
        found.push(index);
    }
    let parts: Vec<&RawFactor> = found.iter().filter_map(|&index| factors.get(index)).collect();
    let counts: Vec<usize> = parts.iter().map(|part| part.levels.len()).collect();
    if counts.iter().any(|count| counts.first() != Some(count)) {
        let each: Vec<String> =
            parts.iter().map(|part| format!("`{}` has {}", part.name, part.levels.len())).collect();
        let message = format!("factors that go together have as many levels: {}", each.join(", "));
        return wrong(message, path, "not as many levels");
    }
    let joined = RawFactor {
        name: parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join("+"),
        levels: (0..counts.first().copied().unwrap_or_default())
            .map(|level| join_levels(&parts, level))
            .collect(),
    };
    let first = found.iter().copied().min().unwrap_or_default();
    let mut index = 0;
    factors.retain(|_| {
        index += 1;
        !found.contains(&(index - 1))
    });
    factors.insert(first.min(factors.len()), joined);
    Ok(())
}

/// The levels at one place of every part as one; a name that all of them have is said once.
fn join_levels(parts: &[&RawFactor], level: usize) -> (String, Vec<(Table, String)>) {
    let of: Vec<_> = parts.iter().filter_map(|part| part.levels.get(level)).collect();
    let mut names: Vec<&str> = of.iter().map(|(name, _)| name.as_str()).collect();
    names.dedup();
    (names.join("+"), of.iter().flat_map(|(_, settings)| settings.clone()).collect())
}

/// A combination that is left out.
pub(super) struct Exclusion(BTreeMap<String, String>);

impl Exclusion {
    /// Whether a combination of levels is one of those.
    pub(super) fn holds(&self, levels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|(factor, level)| levels.get(factor) == Some(level))
    }
}

/// What is left out, each factor and level of it known.
pub(super) fn exclusions(
    factors: &[RawFactor],
    combining: &Option<CombineFile>,
    places: &Places<'_>,
    errors: &mut Vec<Diagnostic>,
) -> Vec<Exclusion> {
    let mut exclusions = Vec::new();
    for (index, excluded) in combining.iter().flat_map(|combining| &combining.exclude).enumerate() {
        let path = format!("combine.exclude[{index}]");
        if excluded.is_empty() {
            let error = Diagnostic::new("io0007", "an exclusion without a level leaves everything out");
            errors.push(places.at_value(error, &path, "name levels, as in { volumes = \"4\" }"));
            continue;
        }
        let found = excluded.iter().map(|(name, level)| {
            let path = format!("{path}.{name}");
            let factor = factors.iter().find(|factor| factor.name == *name);
            let factor = factor.ok_or_else(|| unknown(name, factors, &path, places))?;
            let levels: Vec<&str> = factor.levels.iter().map(|(level, _)| level.as_str()).collect();
            if levels.contains(&level.as_str()) {
                return Ok(());
            }
            let error = Diagnostic::new("io0007", format!("`{name}` has no level `{level}`"));
            let error = places.at_value(error, &path, "not a level of it");
            Err(error.note(format!("expected {}", list(&levels))))
        });
        match found.collect::<Result<(), Diagnostic>>() {
            Ok(()) => exclusions.push(Exclusion(excluded.clone())),
            Err(error) => errors.push(error),
        }
    }
    exclusions
}

fn unknown(name: &str, factors: &[RawFactor], path: &str, places: &Places<'_>) -> Diagnostic {
    let names: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
    let error = Diagnostic::new("io0007", format!("no factor is called `{name}`"));
    let error = places.at_value(error, path, "not a factor");
    match nearest(name, names.iter().copied()) {
        Some(near) => error.fix(format!("\"{near}\"")),
        None => error.note(format!("expected {}", list(&names))),
    }
}
