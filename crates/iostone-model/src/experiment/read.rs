//! Reads an experiment file: syntax, then types, then sense; every error points at its place.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::combine::{Combination, LAYERS, Origin, Places, RawFactor, combine};
use super::decode::{Absent, decode, missing, missing_sections, unknown_key};
use super::factors::read_factors;
use super::source::{Source, join, set};
use super::zip::{exclusions, zip};
use super::{
    Array, CombineFile, Configuration, Container, Decide, Experiment, Factor, Filesystem, Gates, Limit,
    MachineSpec, Mount, Queue, Stack, Sysctl, Trials, apart, check, kinds,
};
use crate::diagnostic::{Diagnostic, nearest};
use crate::figures::{count, list, quoted};

/// A setting given on the command line: `--set stack.volume.size=1GiB`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The path, as it would stand in the file.
    pub path: String,
    /// The value: TOML, or plain text.
    pub value: String,
}

/// A block of as many trials of a few seconds takes an hour; `combine.exclude` does not count.
const MOST_CONFIGURATIONS: u64 = 2000;
const REQUIRED: &[&str] = &["name", "stack", "workload", "decide"];
const SECTIONS: &[&str] =
    &["name", "question", "stack", "factor", "combine", "workload", "decide", "trials", "gates", "machine"];

/// What whoever knows more of machines than the file's format does has against one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineProblem {
    /// The key within `machine`: `cpu`, `law`.
    pub key: &'static str,
    /// What is wrong: "`t1.micro` has no law `peanlty`".
    pub message: String,
    /// What would be right: "expected `penalty` or `bucket`".
    pub expected: String,
}

/// Reads the text of an experiment file with the command line's overrides laid over it.
///
/// # Errors
/// Everything wrong with it, in the order of the file; never empty.
pub fn read(text: &str, overrides: &[Override]) -> Result<Experiment, Vec<Diagnostic>> {
    read_with(text, overrides, &|_| None)
}

/// As [`read`], with a catalogue that every machine is held against.
///
/// # Errors
/// As [`read`].
pub fn read_with(
    text: &str,
    overrides: &[Override],
    against: &dyn Fn(&MachineSpec) -> Option<MachineProblem>,
) -> Result<Experiment, Vec<Diagnostic>> {
    let source = Source::parse(text)?;
    let mut errors = Vec::new();
    let mut table = source.table.clone();
    let origins = apply_overrides(&mut table, overrides, &mut errors);
    let places = Places { source: &source, origins };

    for key in table.keys().filter(|key| !SECTIONS.contains(&key.as_str())) {
        errors.push(unknown_key(&places, key, key, SECTIONS));
    }
    errors.extend(missing_sections(&absent(&table, REQUIRED, SECTIONS)));
    let name = required_text(&table, "name", &places, &mut errors);
    let question = section::<Option<String>>(&table, "question", &places, &mut errors).flatten();
    let decide = section::<Decide>(&table, "decide", &places, &mut errors);
    let trials =
        section::<Option<Trials>>(&table, "trials", &places, &mut errors).map(Option::unwrap_or_default);
    let gates =
        section::<Option<Gates>>(&table, "gates", &places, &mut errors).map(Option::unwrap_or_default);
    let machine = match table.get("machine") {
        None => Some(MachineSpec::default()),
        Some(value) => keep(kinds::machine(value, "machine", &places), &mut errors),
    };
    let combining = section::<Option<CombineFile>>(&table, "combine", &places, &mut errors).flatten();
    let factors = read_factors(&table, &places, &mut errors);
    let factors = zip(factors, combining.as_ref(), &places, &mut errors);
    let excluded = exclusions(&factors, combining.as_ref(), &places, &mut errors);

    let mut base = base_of(&table, &places, &mut errors);
    if base.len() < 2 {
        return Err(distinct(errors));
    }
    if let Some(value) = table.get("machine") {
        base.insert("machine".to_owned(), value.clone());
    }
    if !factors.is_empty() {
        errors.extend(check_base(&base, &places, &source));
    }

    if let Some(error) = too_many(&factors, &places) {
        errors.push(error);
        return Err(distinct(errors));
    }
    let swept = (0..factors.len()).find_map(|index| swept_range(index, &source));
    let mut configurations = Vec::new();
    let combinations = combine(&base, &places.origins, &factors, &source);
    // A value that is wrong has no effect for another reason.
    if errors.is_empty() {
        errors.extend(without_effect(overrides, &places, &combinations, &factors));
    }
    for combination in combinations {
        if excluded.iter().any(|excluded| excluded.holds(&combination.levels)) {
            continue;
        }
        let mut keep_found =
            |found: Vec<Diagnostic>| errors.extend(of_level(found, swept.as_ref(), &combination.name));
        match read_configuration(&combination) {
            Ok(configuration) => {
                keep_found(check::configuration(&configuration, &combination.places));
                let problem = against(&configuration.machine);
                keep_found(problem.map(|found| of_machine(found, &combination.places)).into_iter().collect());
                configurations.push(configuration);
            }
            Err(found) => keep_found(found),
        }
    }
    let (Some(name), Some(decide), Some(trials), Some(gates), Some(machine)) =
        (name, decide, trials, gates, machine)
    else {
        return Err(distinct(errors));
    };
    let named: Vec<Factor> = factors
        .iter()
        .map(|factor| Factor {
            name: factor.name.clone(),
            levels: factor.levels.iter().map(|level| level.0.clone()).collect(),
            sweep: factor.sweep.clone(),
            crowded: Vec::new(),
        })
        .collect();
    let (baseline_factor, baseline_level) = check::baseline(&decide, &named, &places, &mut errors);
    let mut experiment = Experiment {
        name,
        question,
        factors: named,
        configurations,
        baseline_factor,
        baseline_level,
        decide,
        trials,
        gates,
        machine,
    };
    if errors.is_empty() {
        errors.extend(check::baselines(&experiment, &places));
    }
    // What could not be read of a level is what may set it apart.
    let levels_are_read = errors.iter().all(|error| error.code != "io0007");
    errors.extend(check::experiment(&experiment, &places));
    if levels_are_read {
        errors.extend(check::twins(&experiment, &places));
    }
    if !errors.is_empty() {
        return Err(distinct(errors));
    }
    apart::mark_crowded(&mut experiment, &base, &factors, &excluded, &places);
    Ok(experiment)
}

/// What every level's settings are laid over: the stack and the workload, where they are tables.
fn base_of(table: &Table, places: &Places<'_>, errors: &mut Vec<Diagnostic>) -> Table {
    let mut base = Table::new();
    for part in ["stack", "workload"] {
        match table.get(part) {
            Some(value @ Value::Table(_)) => {
                base.insert(part.to_owned(), value.clone());
            }
            Some(_) => errors.push(places.at_value(
                Diagnostic::new("io0004", format!("`{part}` is not a table")),
                part,
                &format!("write `[{part}]`, with its settings below"),
            )),
            None => {}
        }
    }
    base
}

fn of_machine(problem: MachineProblem, places: &Places<'_>) -> Diagnostic {
    let MachineProblem { key, message, expected } = problem;
    places.at_value(Diagnostic::new("io0006", message), &join("machine", key), &expected)
}

/// The levels of a sweep do not stand in the file, so that an error in one says which it is.
fn of_level(found: Vec<Diagnostic>, swept: Option<&Range<usize>>, name: &str) -> Vec<Diagnostic> {
    let named = |error: Diagnostic| match error.labels.first() {
        Some(label) if swept == Some(&label.span) => error.note(format!("this is the level `{name}`")),
        _ => error,
    };
    found.into_iter().map(named).collect()
}

/// Where the range of a factor stands, if that is a sweep.
pub(super) fn swept_range(index: usize, source: &Source) -> Option<Range<usize>> {
    let long = || {
        let levels = source.table.get("factor")?.get(index)?.get("levels")?;
        // Levels are tables, so that one may be called `sweep`.
        levels.get("sweep")?.is_str().then(|| source.value(&format!("factor[{index}].levels.sweep")))?
    };
    source.value(&format!("factor[{index}].sweep")).or_else(long)
}

/// What is wrong in the experiment's own settings even where every level replaces them. What they lack, the levels
/// may bring.
fn check_base(base: &Table, places: &Places<'_>, source: &Source) -> Vec<Diagnostic> {
    combine(base, &places.origins, &[], source)
        .iter()
        .filter_map(|combination| read_configuration(combination).err())
        .flatten()
        .filter(|error| error.code != "io0003")
        .collect()
}

/// The required keys that a table lacks, without those that were meant by a mistyped one, of which is spoken already.
fn absent<'a>(table: &Table, required: &[&'a str], known: &[&str]) -> Vec<&'a str> {
    let meant: Vec<&str> = table
        .keys()
        .filter(|key| !known.contains(&key.as_str()))
        .filter_map(|key| nearest(key, known.iter().copied()))
        .collect();
    required.iter().copied().filter(|key| !table.contains_key(*key) && !meant.contains(key)).collect()
}

/// Errors in the base stack come up once for every configuration; each is said once.
/// Each finding once: what is wrong at one place is so in every configuration, be it with other figures.
fn distinct(errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut kept: Vec<Diagnostic> = Vec::new();
    let same_place = |one: &Diagnostic, other: &Diagnostic| {
        one.code == other.code && !one.labels.is_empty() && one.labels == other.labels
    };
    for error in errors {
        if !kept.iter().any(|other| *other == error || same_place(other, &error)) {
            kept.push(error);
        }
    }
    kept.sort_by_key(|error| error.labels.first().map_or(usize::MAX, |label| label.span.start));
    kept
}

fn keep<T>(result: Result<T, Diagnostic>, errors: &mut Vec<Diagnostic>) -> Option<T> {
    result.map_err(|error| errors.push(error)).ok()
}

fn apply_overrides(
    table: &mut Table,
    overrides: &[Override],
    errors: &mut Vec<Diagnostic>,
) -> BTreeMap<String, Origin> {
    let mut origins = BTreeMap::new();
    for Override { path, value } in overrides {
        let typed = format!("{path}={value}");
        // `1GiB` is no TOML value but `5` and `["a"]` are; what does not parse is text.
        let parsed = toml::from_str::<Table>(&format!("value = {value}"))
            .ok()
            .and_then(|mut table| table.remove("value"))
            .unwrap_or_else(|| Value::String(value.clone()));
        if let Err(reason) = set(table, path, parsed) {
            errors.push(Diagnostic::new("io0009", format!("`--set {typed}` cannot be applied: {reason}")));
        }
        origins.insert(path.clone(), Origin::CommandLine(typed));
    }
    origins
}

/// Factors whose levels make more configurations than a run has: each is one trial of every block.
fn too_many(factors: &[RawFactor], places: &Places<'_>) -> Option<Diagnostic> {
    let all = factors.iter().try_fold(1_u64, |all, factor| all.checked_mul(factor.levels.len() as u64));
    if all.is_some_and(|all| all <= MOST_CONFIGURATIONS) {
        return None;
    }
    let counts: Vec<String> = factors.iter().map(|factor| factor.levels.len().to_string()).collect();
    let made = all.map_or_else(|| "more than 2^64".to_owned(), count);
    let message = format!(
        "the factors make {made} configurations ({}); at most {} can be run",
        counts.join(" x "),
        count(MOST_CONFIGURATIONS)
    );
    let error = places.at_key(Diagnostic::new("io0007", message), "factor", "the factors");
    Some(error.note("a block has one trial of each: leave levels out, or ask one question a run"))
}

/// Settings of the command line that every level replaces by its own.
fn without_effect(
    overrides: &[Override],
    base: &Places<'_>,
    combinations: &[Combination<'_>],
    factors: &[RawFactor],
) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    for Override { path, value } in overrides {
        let typed = format!("{path}={value}");
        let is_varied = ["stack.", "workload.", "machine."].iter().any(|section| path.starts_with(section));
        // One that a later `--set` replaced is not taken away by a level.
        let is_in_base = base.keeps(path, &typed);
        if !is_varied
            || !is_in_base
            || combinations.iter().any(|combination| combination.places.keeps(path, &typed))
        {
            continue;
        }
        let names: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
        let error =
            Diagnostic::new("io0009", format!("`--set {typed}` has no effect: every level sets `{path}`"));
        errors.push(error.note(format!(
            "it is what {} {} varies; edit the levels in the file",
            if names.len() == 1 { "the factor" } else { "one of the factors" },
            list(&quoted(&names))
        )));
    }
    errors
}

fn required_text(
    table: &Table,
    key: &str,
    places: &Places<'_>,
    errors: &mut Vec<Diagnostic>,
) -> Option<String> {
    keep(decode(table.get(key)?.clone(), key, places), errors)
}

/// Decodes a top-level section. An `Option` type makes it optional.
fn section<T: DeserializeOwned>(
    table: &Table,
    key: &str,
    places: &Places<'_>,
    errors: &mut Vec<Diagnostic>,
) -> Option<T> {
    match table.get(key) {
        Some(value) => keep(decode(value.clone(), key, places), errors),
        None => T::deserialize(Absent).ok(),
    }
}

pub(super) fn read_configuration(combination: &Combination<'_>) -> Result<Configuration, Vec<Diagnostic>> {
    let Combination { name, levels, settings, places } = combination;
    let mut errors = Vec::new();
    let stack = match settings.get("stack") {
        Some(Value::Table(table)) => read_stack(table, places, &mut errors),
        _ => None,
    };
    let workload = settings
        .get("workload")
        .and_then(|value| keep(kinds::workload(value, "workload", places), &mut errors));
    let machine = match settings.get("machine") {
        None => Some(MachineSpec::default()),
        Some(value) => keep(kinds::machine(value, "machine", places), &mut errors),
    };
    match (stack, workload, machine) {
        (Some(mut stack), Some(workload), Some(machine)) if errors.is_empty() => {
            stack.link = machine.link();
            let (name, levels) = (name.clone(), levels.clone());
            Ok(Configuration { name, levels, stack, workload, machine, price: None })
        }
        _ => Err(errors),
    }
}

fn read_stack(table: &Table, places: &Places<'_>, errors: &mut Vec<Diagnostic>) -> Option<Stack> {
    for key in table.keys().filter(|key| !LAYERS.contains(&key.as_str())) {
        errors.push(unknown_key(places, &join("stack", key), key, LAYERS));
    }
    let volume = if let Some(value) = table.get("volume") {
        keep(kinds::volume(value, "stack.volume", places), errors)
    } else {
        let lacking = absent(table, &["volume"], LAYERS);
        errors.extend(lacking.iter().map(|key| missing(places, "stack", key)));
        None
    };
    let filesystem = match table.get("filesystem") {
        Some(value) => keep(kinds::filesystem(value, "stack.filesystem", places), errors),
        None => Some(Filesystem::None),
    };
    let array = match table.get("array") {
        Some(value) => keep(kinds::array(value, "stack.array", places), errors),
        None => Some(Array::None),
    };
    let container = match table.get("container") {
        Some(value) => keep(kinds::container(value, "stack.container", places), errors),
        None => Some(Container::None),
    };
    let queue = layer::<Queue>(table, "queue", places, errors);
    let mount = layer::<Mount>(table, "mount", places, errors);
    let sysctl = layer::<Sysctl>(table, "sysctl", places, errors);
    let limit = layer::<Limit>(table, "limit", places, errors);
    Some(Stack {
        volume: volume?,
        array: array?,
        queue: queue?,
        filesystem: filesystem?,
        mount: mount?,
        container: container?,
        sysctl: sysctl?,
        limit: limit?,
        link: None,
        governor: None,
    })
}

fn layer<T: DeserializeOwned + Default>(
    table: &Table,
    key: &str,
    places: &Places<'_>,
    errors: &mut Vec<Diagnostic>,
) -> Option<T> {
    match table.get(key) {
        Some(value) => keep(decode(value.clone(), &join("stack", key), places), errors),
        None => Some(T::default()),
    }
}

#[cfg(test)]
mod tests;
