//! The baseline: the level that others are held against, as the file names it or as a report asks for another.

use super::super::combine::{Places, list};
use super::super::decode::missing;
use super::super::read::swept_range;
use super::super::{Configuration, Decide, Experiment, Factor};
use crate::diagnostic::{Diagnostic, nearest};

/// Why a name is none of a baseline.
struct Misnamed {
    message: String,
    /// What is to be said of the place where it was written.
    label: &'static str,
    hint: Hint,
}

enum Hint {
    Fix(String),
    Note(String),
}

impl Misnamed {
    /// The diagnostic, pointed at its place by `at`.
    fn told(self, at: impl FnOnce(Diagnostic, &str) -> Diagnostic) -> Diagnostic {
        let error = at(Diagnostic::new("io0008", self.message), self.label);
        match self.hint {
            Hint::Fix(replacement) => error.fix(replacement),
            Hint::Note(note) => error.note(note),
        }
    }
}

fn of_sweep() -> Misnamed {
    Misnamed {
        message: "a sweep has no baseline: it searches for its best level".to_owned(),
        label: "leave it out",
        hint: Hint::Note("to compare levels with one of them, list them as `values`".to_owned()),
    }
}

/// Finds the factor and level that the baseline names.
pub(in super::super) fn baseline(
    decide: &Decide,
    factors: &[Factor],
    places: &Places<'_>,
    errors: &mut Vec<Diagnostic>,
) -> (String, String) {
    let at = |error: Diagnostic, label: &str| places.at_value(error, "decide.baseline", label);
    // What was given is held against the levels below, be it empty.
    let is_given = !decide.baseline.is_empty() || places.source.value("decide.baseline").is_some();
    if let Some(swept) = factors.iter().find(|factor| factor.sweep.is_some()) {
        if is_given {
            errors.push(of_sweep().told(at));
        }
        return (swept.name.clone(), String::new());
    }
    // A sweep whose range is wrong is none of the factors, and has no baseline either.
    let is_swept = |index: &usize| swept_range(*index, places.source).is_some();
    let written = places.source.table.get("factor").and_then(toml::Value::as_array).map_or(0, Vec::len);
    if !is_given && factors.len() < written && (0..written).any(|index| is_swept(&index)) {
        return (String::new(), String::new());
    }
    if !is_given {
        errors.push(missing(places, "decide", "baseline"));
        return (String::new(), String::new());
    }
    if factors.is_empty() {
        return (String::new(), decide.baseline.clone());
    }
    let (_, level) = parts(&decide.baseline, factors);
    match named(&decide.baseline, factors) {
        Ok(factor) => (factor.name.clone(), level.to_owned()),
        Err(misnamed) => {
            errors.push(misnamed.told(at));
            (String::new(), level.to_owned())
        }
    }
}

/// The factor, where it is named, and the level, whose own name may hold an `=`: `barrier=0`, `mount=barrier=0`.
fn parts<'a>(baseline: &'a str, factors: &[Factor]) -> (Option<&'a str>, &'a str) {
    let split = baseline.split_once('=').map(|(factor, level)| (factor.trim(), level.trim()));
    match split.filter(|(name, _)| factors.iter().any(|factor| factor.name == *name)) {
        Some((factor, level)) => (Some(factor), level),
        None => (None, baseline.trim()),
    }
}

/// The one factor with the level.
fn named<'a>(baseline: &str, factors: &'a [Factor]) -> Result<&'a Factor, Misnamed> {
    let (of_factor, level) = parts(baseline, factors);
    let holders: Vec<&Factor> = factors
        .iter()
        .filter(|factor| of_factor.is_none_or(|name| name == factor.name))
        .filter(|factor| factor.levels.iter().any(|candidate| candidate == level))
        .collect();
    match holders.as_slice() {
        [factor] => Ok(factor),
        [] => {
            let levels: Vec<&str> =
                factors.iter().flat_map(|factor| &factor.levels).map(String::as_str).collect();
            // Behind a factor's name that is none, the level may still be right.
            let behind = level.rsplit_once('=').map(|(_, level)| level.trim());
            let near = |level: &str| nearest(level, levels.iter().copied());
            let hint = match near(level).or_else(|| near(behind?)) {
                Some(near) => Hint::Fix(format!("\"{near}\"")),
                None => Hint::Note(format!("expected {}", list(&levels))),
            };
            Err(Misnamed { message: format!("there is no level `{baseline}`"), label: "not a level", hint })
        }
        several => {
            let choices: Vec<String> =
                several.iter().map(|factor| format!("{}={level}", factor.name)).collect();
            Err(Misnamed {
                message: format!("several factors have a level `{level}`"),
                label: "name its factor",
                hint: Hint::Note(format!("write {}", list(&choices))),
            })
        }
    }
}

impl Experiment {
    /// The same experiment, its levels held against another one: a level of any factor, or `factor=level`. What has no such
    /// baseline to be held against, because its combination was left out, is compared with nothing.
    ///
    /// # Errors
    /// As for `decide.baseline`, without a place; or no combination with this level has another to compare with it.
    pub fn with_baseline(&self, baseline: &str) -> Result<Self, Diagnostic> {
        let placeless = |error: Diagnostic, _: &str| error;
        if self.sweep().is_some() {
            return Err(of_sweep().told(placeless));
        }
        if self.factors.is_empty() {
            let error = Diagnostic::new("io0008", format!("there is no level `{baseline}`"));
            return Err(error.note("the run has only one level, so there is nothing to compare"));
        }
        let factor = named(baseline, &self.factors).map_err(|misnamed| misnamed.told(placeless))?;
        let (_, level) = parts(baseline, &self.factors);
        let mut other = self.clone();
        other.baseline_factor.clone_from(&factor.name);
        level.clone_into(&mut other.baseline_level);
        baseline.clone_into(&mut other.decide.baseline);
        let is_baseline = |one: &&Configuration| other.compared_level(one) == level;
        let mut baselines = other.configurations.iter().filter(is_baseline);
        let has_company = baselines.any(|baseline| {
            let mut others = other.configurations.iter().filter(|one| !is_baseline(one));
            others.any(|one| other.stratum(one) == other.stratum(baseline))
        });
        if has_company {
            return Ok(other);
        }
        let error =
            Diagnostic::new("io0008", format!("nothing in the run can be compared with `{baseline}`"));
        Err(error.note("no other level was measured with it under the same levels of the other factors"))
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::read;

    const TWO: &str = r#"name = "two"
[stack]
volume = { kind = "directory" }
[[factor]]
name = "size"
levels = { small = { workload.bs = "4KiB" }, large = { workload.bs = "64KiB" } }
[[factor]]
name = "sync"
levels = { none = { workload.fdatasync = 0 }, each = { workload.fdatasync = 1 } }
[workload]
kind = "io"
rw = "randwrite"
size = "1MiB"
runtime = "1s"
[decide]
metric = "iops"
baseline = "small"
"#;

    #[test]
    fn another_baseline_takes_its_factor_along() {
        let own = read(TWO, &[]).unwrap();
        for asked in ["each", "sync=each", "sync = each"] {
            let other = own.with_baseline(asked).unwrap();
            assert_eq!((other.baseline_factor.as_str(), other.baseline_level.as_str()), ("sync", "each"));
            assert_eq!(other.decide.baseline, asked);
            assert_eq!(other.configurations, own.configurations);
        }
        let error = own.with_baseline("smal").unwrap_err();
        assert_eq!((error.code.as_str(), error.message.as_str()), ("io0008", "there is no level `smal`"));
        assert_eq!(error.fix.as_deref(), Some("\"small\""));
        let error = own.with_baseline("mount=each").unwrap_err();
        assert_eq!(error.message, "there is no level `mount=each`");
    }

    #[test]
    fn a_level_of_several_factors_needs_its_factor() {
        let text = TWO.replace("each = ", "small = ");
        let own = read(&text.replace("baseline = \"small\"", "baseline = \"size=small\""), &[]).unwrap();
        let error = own.with_baseline("small").unwrap_err();
        assert_eq!(error.message, "several factors have a level `small`");
        assert_eq!(error.notes, ["write `size=small` or `sync=small`"]);
        assert_eq!(own.with_baseline("sync=small").unwrap().baseline_factor, "sync");
    }

    #[test]
    fn what_was_left_out_leaves_nothing_to_hold_against_a_level() {
        let mut own = read(TWO, &[]).unwrap();
        own.configurations.retain(|one| one.levels["sync"] == "none");
        let error = own.with_baseline("none").unwrap_err();
        assert_eq!(error.message, "nothing in the run can be compared with `none`");
        assert_eq!(own.with_baseline("large").unwrap().baseline_factor, "size");
    }

    #[test]
    fn a_sweep_has_no_other_baseline_either() {
        let at = TWO.find("[[factor]]").unwrap();
        let rest = TWO.find("[workload]").unwrap();
        let swept = "[[factor]]\npath = \"workload.iodepth\"\nname = \"depth\"\nsweep = \"1..8 doubling\"\n";
        let text = format!("{}{swept}{}", &TWO[..at], &TWO[rest..].replace("baseline = \"small\"\n", ""));
        let error = read(&text, &[]).unwrap().with_baseline("4").unwrap_err();
        assert_eq!(error.message, "a sweep has no baseline: it searches for its best level");
    }
}
