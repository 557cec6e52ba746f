//! Combines factors: every combination of levels, each with its settings laid over the experiment's own.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::{Table, Value};

use super::source::{Source, join};
use crate::diagnostic::{Diagnostic, nearest};
use crate::figures::{choice, quoted};

/// The layers a level's settings may start with; each stands for itself below `stack`.
pub(super) const LAYERS: &[&str] =
    &["volume", "array", "queue", "filesystem", "mount", "container", "sysctl", "limit"];

/// What a level's settings may start with, and so may the path of a factor.
pub(super) fn varied() -> Vec<&'static str> {
    LAYERS.iter().copied().chain(["workload", "machine"]).collect()
}

/// Where a setting came from, so that an error in it points there.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    /// A path of the file.
    File(String),
    /// `--set`, as it was typed.
    CommandLine(String),
}

/// The file's places, and the origins of settings that were laid over others.
pub(super) struct Places<'a> {
    pub(super) source: &'a Source,
    pub(super) origins: BTreeMap<String, Origin>,
}

/// The origin of a path: of its longest leading part that was laid over, else the file's own.
fn origin(origins: &BTreeMap<String, Origin>, path: &str) -> Origin {
    let mut end = path.len();
    loop {
        let part = path.get(..end).unwrap_or_default();
        match origins.get(part) {
            Some(Origin::File(from)) => {
                return Origin::File(format!("{from}{}", path.get(end..).unwrap_or_default()));
            }
            Some(origin @ Origin::CommandLine(_)) => return origin.clone(),
            None => {}
        }
        match part.rfind(['.', '[']) {
            Some(shorter) => end = shorter,
            None => return Origin::File(path.to_owned()),
        }
    }
}

impl Places<'_> {
    /// Points a diagnostic at the value of a path.
    pub(super) fn at_value(&self, diagnostic: Diagnostic, path: &str, text: &str) -> Diagnostic {
        // What a factor gives a setting that it varies is one value of the list, or the range of the sweep.
        if let Some(written) = self.varied_value(path) {
            return diagnostic.at(self.source.value(&written), text);
        }
        self.at(diagnostic, path, text, |source, path| source.value(path).or_else(|| source.nearest(path)))
    }

    /// Points a diagnostic at the key of a path.
    pub(super) fn at_key(&self, diagnostic: Diagnostic, path: &str, text: &str) -> Diagnostic {
        if let Some(written) = self.varied_path(path) {
            return diagnostic.at(self.source.value(&written), text);
        }
        self.at(diagnostic, path, text, |source, path| source.key(path).or_else(|| source.nearest(path)))
    }

    /// Where the name of a setting stands that a factor varies by `path` with `values` or `sweep`: `factor[1].path`.
    pub(super) fn varied_path(&self, path: &str) -> Option<String> {
        let Origin::File(from) = origin(&self.origins, path) else { return None };
        let rest = [".values[", ".sweep", ".levels.sweep"];
        let (factor, _) = rest.into_iter().find_map(|rest| from.split_once(rest))?;
        let index = factor.strip_prefix("factor[")?.strip_suffix(']')?;
        index.parse::<usize>().is_ok().then(|| format!("{factor}.path"))
    }

    /// Where the range of the sweep stands that gave a setting its value.
    fn varied_value(&self, path: &str) -> Option<String> {
        let Origin::File(from) = origin(&self.origins, path) else { return None };
        self.varied_path(path)?;
        [".levels.sweep", ".sweep"].into_iter().find_map(|key| {
            let (factor, _) = from.split_once(key)?;
            let written = format!("{factor}{key}");
            self.source.value(&written).is_some().then_some(written)
        })
    }

    fn at(
        &self,
        diagnostic: Diagnostic,
        path: &str,
        text: &str,
        find: impl Fn(&Source, &str) -> Option<Range<usize>>,
    ) -> Diagnostic {
        match self.origin(path) {
            Origin::File(from) => diagnostic.at(find(self.source, &from), text),
            // There is nothing to underline, so that what would stand there is said as well.
            Origin::CommandLine(typed) => diagnostic.note(format!("{text}; this came from `--set {typed}`")),
        }
    }

    /// Whether a setting of the command line is still there, or a part of it, after the levels were laid over it.
    pub(super) fn keeps(&self, path: &str, typed: &str) -> bool {
        self.origins.iter().any(|(laid, origin)| {
            let is_its = matches!(origin, Origin::CommandLine(command_line) if command_line == typed);
            is_its && (laid == path || is_below(laid, path))
        })
    }

    /// The origin of a path. A table that the file does not have came with whatever was set below it.
    fn origin(&self, path: &str) -> Origin {
        let from = origin(&self.origins, path);
        if let Origin::File(place) = &from
            && self.source.key(place).is_none()
        {
            let below = format!("{path}.");
            let set = self.origins.iter().find(|(known, origin)| {
                known.starts_with(&below) && matches!(origin, Origin::CommandLine(_))
            });
            if let Some((_, typed)) = set {
                return typed.clone();
            }
        }
        from
    }
}

/// A factor as the file has it.
#[derive(Clone)]
pub(super) struct RawFactor {
    pub(super) name: String,
    pub(super) levels: Vec<RawLevel>,
    /// Of a sweep: where each level stands on the axis.
    pub(super) sweep: Option<Vec<f64>>,
}

/// A level's name and what it sets: settings (`stack`, `workload` and `machine` at the top), each with its path in the
/// file. A level of factors that go together has those of each.
pub(super) type RawLevel = (String, Vec<(Table, String)>);

/// The settings of one combination of levels.
pub(super) struct Combination<'a> {
    pub(super) name: String,
    pub(super) levels: BTreeMap<String, String>,
    pub(super) settings: Table,
    pub(super) places: Places<'a>,
}

/// Every combination of the factors' levels over the base settings, the first factor varying slowest.
pub(super) fn combine<'a>(
    base: &Table,
    origins: &BTreeMap<String, Origin>,
    factors: &[RawFactor],
    source: &'a Source,
) -> Vec<Combination<'a>> {
    let start = Combination {
        name: String::new(),
        levels: BTreeMap::new(),
        settings: base.clone(),
        places: Places { source, origins: origins.clone() },
    };
    let mut combinations = vec![start];
    for factor in factors {
        combinations = combinations
            .into_iter()
            .flat_map(|combination| {
                factor.levels.iter().map(move |level| extend(&combination, factor, level)).collect::<Vec<_>>()
            })
            .collect();
    }
    for combination in &mut combinations {
        if combination.name.is_empty() {
            "only".clone_into(&mut combination.name);
        }
    }
    combinations
}

fn extend<'a>(
    combination: &Combination<'a>,
    factor: &RawFactor,
    (level, parts): &RawLevel,
) -> Combination<'a> {
    let mut extended = Combination {
        name: if combination.name.is_empty() {
            level.clone()
        } else {
            format!("{}, {level}", combination.name)
        },
        levels: combination.levels.clone(),
        settings: combination.settings.clone(),
        places: Places { source: combination.places.source, origins: combination.places.origins.clone() },
    };
    extended.levels.insert(factor.name.clone(), level.clone());
    for (settings, path) in parts {
        for (section, values) in settings {
            // Settings of the stack stand in a level without `stack.`, so their place in the file is one segment shorter.
            let from = if section == "stack" { path.clone() } else { join(path, section) };
            lay_over(&mut extended.settings, section, values, section, &from, &mut extended.places.origins);
        }
    }
    extended
}

/// Lays a value over what stands at a key: tables are merged, mount options are added by name, the rest is replaced.
fn lay_over(
    table: &mut Table,
    key: &str,
    value: &Value,
    path: &str,
    from: &str,
    origins: &mut BTreeMap<String, Origin>,
) {
    match (table.get_mut(key), value) {
        // Another kind of layer has other settings: those of the base do not go into it.
        (Some(Value::Table(below)), Value::Table(above))
            if above.get("kind").is_none_or(|kind| below.get("kind").is_none_or(|old| old == kind)) =>
        {
            for (inner, value) in above {
                lay_over(below, inner, value, &join(path, inner), &join(from, inner), origins);
            }
        }
        (Some(Value::Array(below)), Value::Array(above)) if path == "stack.mount.options" => {
            // An entry keeps its origin wherever the merged list has it.
            let entry = |path: &str, index: usize| origin(origins, &format!("{path}[{index}]"));
            let kept = below.iter().enumerate().filter(|(_, old)| !is_replaced(old, above));
            let kept = kept.map(|(index, old)| (old.clone(), entry(path, index)));
            let added = above.iter().enumerate();
            let added = added.map(|(index, new)| (new.clone(), Origin::File(format!("{from}[{index}]"))));
            let (merged, places): (Vec<Value>, Vec<Origin>) = kept.chain(added).unzip();
            *below = merged;
            origins.insert(path.to_owned(), Origin::File(from.to_owned()));
            for (index, place) in places.into_iter().enumerate() {
                origins.insert(format!("{path}[{index}]"), place);
            }
        }
        _ => {
            table.insert(key.to_owned(), value.clone());
            origins.retain(|laid, _| !is_below(laid, path));
            origins.insert(path.to_owned(), Origin::File(from.to_owned()));
        }
    }
}

/// Whether a path is that of something in the table or list at another: `stack.mount.options[0]` is in `stack.mount`.
fn is_below(path: &str, other: &str) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.starts_with(['.', '[']))
}

/// Whether a level has a mount option of the same name, which then takes the other's place.
fn is_replaced(old: &Value, above: &[Value]) -> bool {
    let name = |option: &Value| option.as_str().map(option_name);
    above.iter().any(|new| name(new).is_some() && name(new) == name(old))
}

/// What a mount option is about: `barrier` for `barrier=0` and `nobarrier`, `atime` for `noatime` and `relatime`.
pub(super) fn option_name(option: &str) -> String {
    let name = option.split('=').next().unwrap_or(option);
    match name {
        "noatime" | "relatime" | "strictatime" | "norelatime" | "nostrictatime" => "atime".to_owned(),
        "ro" | "rw" => "rw".to_owned(),
        // `norecovery` and `noload` are names of their own; the prefix is dropped for all alike, which only means
        // that `no...` and its positive exclude each other.
        _ => name.strip_prefix("no").filter(|rest| rest.len() > 2).unwrap_or(name).to_owned(),
    }
}

/// Figures of two workloads cannot be compared.
pub(super) fn kind_varied() -> Diagnostic {
    Diagnostic::new("io0007", "the kind of workload cannot be varied")
        .note("two kinds of workload cannot be compared; write two experiments")
}

/// Reads a level's table: its first keys are layers of the stack, `stack` itself, or `workload`.
pub(super) fn level_settings(
    table: &Table,
    path: &str,
    source: &Source,
    errors: &mut Vec<Diagnostic>,
) -> Table {
    let mut stack = Table::new();
    let mut settings = Table::new();
    for (key, value) in table {
        match (key.as_str(), value) {
            ("workload", Value::Table(workload)) if workload.contains_key("kind") => {
                let place = source.key(&join(&join(path, key), "kind"));
                errors.push(kind_varied().at(place, "leave it out"));
            }
            ("workload" | "machine", Value::Table(_)) => {
                settings.insert(key.clone(), value.clone());
            }
            ("stack", _) => errors.push(
                Diagnostic::new("io0007", "a level's settings of the stack are written without `stack.`")
                    .at(source.key(&join(path, key)), "write `mount.options`, `queue.write_cache`, ..."),
            ),
            (layer, _) if LAYERS.contains(&layer) => {
                stack.insert(key.clone(), value.clone());
            }
            (quoted, _) if quoted.split_once('.').is_some_and(|(layer, _)| varied().contains(&layer)) => {
                let message = format!("`\"{key}\"` is one name with a dot in it, not a setting");
                let label = format!("write it without quotes: `{key}`");
                errors.push(Diagnostic::new("io0007", message).at(source.key(&join(path, key)), label));
            }
            _ => {
                let mut error = Diagnostic::new("io0007", format!("a level cannot set `{key}`"))
                    .at(source.key(&join(path, key)), "not a layer of the stack, nor `workload` or `machine`")
                    .note(format!("a level sets something below {}", list(&varied())));
                if let Some(near) = nearest(key, varied()) {
                    error = error.fix(near);
                }
                errors.push(error);
            }
        }
    }
    if !stack.is_empty() {
        settings.insert("stack".to_owned(), Value::Table(stack));
    }
    settings
}

/// `a`, `b` or `c`, as they are typed.
pub(super) fn list<S: AsRef<str>>(words: &[S]) -> String {
    choice(&quoted(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(below: &[&str], above: &[&str]) -> (Value, BTreeMap<String, Origin>) {
        let list =
            |options: &[&str]| Value::Array(options.iter().map(|o| Value::String((*o).to_owned())).collect());
        let mut table = Table::from_iter([("options".to_owned(), list(below))]);
        let mut origins = BTreeMap::new();
        lay_over(&mut table, "options", &list(above), "stack.mount.options", "level", &mut origins);
        (table["options"].clone(), origins)
    }

    #[test]
    fn a_levels_option_takes_the_place_of_one_of_the_same_name() {
        let added = merged(&["noatime", "barrier=1"], &["nobarrier"]).0;
        assert_eq!(added, Value::try_from(["noatime", "nobarrier"]).unwrap());
        let added = merged(&["noatime"], &["relatime", "commit=1"]).0;
        assert_eq!(added, Value::try_from(["relatime", "commit=1"]).unwrap());
    }

    #[test]
    fn each_option_of_a_merged_list_knows_where_it_was_written() {
        let (_, origins) = merged(&["barrier=1", "noatime"], &["nobarrier"]);
        let place = |index: usize| match &origins[&format!("stack.mount.options[{index}]")] {
            Origin::File(place) => place.clone(),
            Origin::CommandLine(_) => panic!("nothing came from the command line"),
        };
        assert_eq!((place(0), place(1)), ("stack.mount.options[1]".to_owned(), "level[0]".to_owned()));
    }
}
