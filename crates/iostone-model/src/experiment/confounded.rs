//! Finds factors whose levels change more than one thing, so that what they show cannot be put down to any one of them.

mod mount_options;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Configuration, Experiment, Factor, Workload};
use crate::figures::{list, quoted};
use mount_options::changed_options;

/// Keys of a machine that name it or price it, and change nothing that is measured.
const LABELS: &[&str] = &["instance", "usd_per_hour"];
/// What an instance of one name has, besides the name.
const OF_AN_INSTANCE: &[&str] = &["link", "cpus", "memory"];
/// Parts of the stack that are worked out of the machine's settings, which are looked at themselves.
const DERIVED: &[&str] = &["link", "governor"];
/// Settings that say the same in two units.
const SAME: &[(&str, &str)] = &[
    ("queue.readahead", "queue.read_ahead_kb"),
    ("sysctl.vm.dirty_ratio", "sysctl.vm.dirty_bytes"),
    ("sysctl.vm.dirty_background_ratio", "sysctl.vm.dirty_background_bytes"),
];
/// Keys of a workload that say one thing together: which share of the I/O reads.
const MIX: &[&str] = &["rw", "rwmixread", "rwmixwrite"];
/// What a program is given to begin with; another program may need something else.
const OF_A_PROGRAM: &[&str] = &["files", "prepare"];
/// Keys of an `orion` workload, and those that only some of their values take.
const BELONGINGS: &[(&str, &[&str])] = &[
    ("matrix", &["num_small", "num_large"]),
    ("type", &["num_stream_io", "cache_size"]),
    ("simulate", &["stripe"]),
];

/// A level that differs from the one it is held against in more than one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfoundedLevel {
    /// The factor's name.
    pub factor: String,
    /// The level.
    pub level: String,
    /// The level that it is held against: the baseline, or the factor's first.
    pub against: String,
    /// The things that differ, by the settings that name them: `filesystem.kind`, `machine.kernel`.
    pub things: Vec<String>,
    /// Whether the experiment says itself that so many factors go together (`combine.zip`): only their name has a `+`, and
    /// none of them changes several things by itself.
    pub declared: bool,
}

impl Experiment {
    /// The levels of factors that change more than one thing, all other factors held equal. What belongs to one thing:
    /// a volume with everything said of it and the array over several of them; a filesystem of another kind with its
    /// options of mkfs and its own mount options; a container with what is said of it where the other level has none.
    pub fn confounded_levels(&self) -> Vec<ConfoundedLevel> {
        let mut found = Vec::new();
        for factor in &self.factors {
            let is_compared = factor.name == self.baseline_factor && !self.baseline_level.is_empty();
            let first = if is_compared { Some(&self.baseline_level) } else { factor.levels.first() };
            let Some(against) = first else { continue };
            for level in factor.levels.iter().filter(|level| *level != against) {
                let things = things_between(&self.configurations, &factor.name, against, level);
                if things.len() > 1 {
                    found.push(ConfoundedLevel {
                        factor: factor.name.clone(),
                        level: level.clone(),
                        against: against.clone(),
                        declared: factor.name.split('+').count() >= things.len()
                            && !factor.is_crowded(against, level),
                        things: things.into_iter().collect(),
                    });
                }
            }
        }
        found
    }
}

impl Factor {
    /// Whether one of several factors that go together changes several things by itself between two levels.
    fn is_crowded(&self, one: &str, other: &str) -> bool {
        let is_pair =
            |[left, right]: &[String; 2]| (left == one && right == other) || (left == other && right == one);
        self.crowded.iter().any(is_pair)
    }
}

/// What differs between two levels of a factor, over all levels of the others.
pub(super) fn things_between(
    configurations: &[Configuration],
    factor: &str,
    one: &str,
    other: &str,
) -> BTreeSet<String> {
    let at = |level: &str| {
        let level = level.to_owned();
        configurations.iter().filter(move |c| c.levels.get(factor) == Some(&level))
    };
    let mut things = BTreeSet::new();
    for left in at(one) {
        let alike = |right: &&Configuration| {
            right.levels.iter().all(|(name, level)| name == factor || left.levels.get(name) == Some(level))
        };
        for right in at(other).filter(alike) {
            things.extend(left.things_unlike(right));
        }
    }
    things
}

impl Configuration {
    /// The things in which two configurations differ, each by the setting that names it.
    pub fn things_unlike(&self, other: &Self) -> BTreeSet<String> {
        let sides = [self, other].map(|one| Side {
            stack: table(&one.stack),
            workload: workload_table(&one.workload),
            machine: table(&one.machine),
        });
        let [left, right] = &sides;
        let mut things = BTreeSet::new();
        things.extend(volume(left, right));
        filesystem(left, right, &mut things);
        things.extend(container(left, right));
        for part in ["queue", "limit"] {
            let (one, other) = (below(&left.stack, part), below(&right.stack, part));
            things.extend(changed_keys(&one, &other).into_iter().map(|key| format!("{part}.{key}")));
        }
        let (one, other) = (below(&left.stack, "sysctl"), below(&right.stack, "sysctl"));
        let changed = changed_keys(&below(&one, "vm"), &below(&other, "vm"));
        things.extend(changed.into_iter().map(|key| format!("sysctl.vm.{key}")));
        // Either is the same setting in another unit.
        for (one, other) in SAME {
            if things.contains(*one) {
                things.remove(*other);
            }
        }
        let known = ["volume", "array", "filesystem", "mount", "container", "queue", "sysctl", "limit"];
        let rest = changed_keys(&left.stack, &right.stack);
        let is_rest = |key: &String| !known.contains(&key.as_str()) && !DERIVED.contains(&key.as_str());
        things.extend(rest.into_iter().filter(is_rest));
        things.extend(machine(&left.machine, &right.machine));
        things.extend(workload(&left.workload, &right.workload));
        things
    }
}

/// A configuration as tables of settings.
struct Side {
    stack: Map<String, Value>,
    workload: Map<String, Value>,
    machine: Map<String, Value>,
}

/// As it is written into records; nothing of it fails to be.
fn table(part: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(part) {
        Ok(Value::Object(table)) => table,
        _ => Map::new(),
    }
}

/// ORION's options are one thing each, as keys or on its command line.
fn workload_table(workload: &Workload) -> Map<String, Value> {
    match workload {
        Workload::Orion(orion) => table(&Workload::Orion(Box::new(orion.with_keys()))),
        other => table(other),
    }
}

/// A table in a table; an empty one where there is none, or something else.
fn below(table: &Map<String, Value>, key: &str) -> Map<String, Value> {
    table.get(key).and_then(Value::as_object).cloned().unwrap_or_default()
}

/// The keys whose values differ, or that only one side has.
fn changed_keys(left: &Map<String, Value>, right: &Map<String, Value>) -> Vec<String> {
    let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    keys.into_iter().filter(|key| left.get(*key) != right.get(*key)).cloned().collect()
}

/// The one key that differs behind the name of its table, `kind` if that is among several, else the table.
fn name_of(table: &str, keys: &[String]) -> Option<String> {
    match keys {
        [] => None,
        [key] => Some(format!("{table}.{key}")),
        several if several.iter().any(|key| key == "kind") => Some(format!("{table}.kind")),
        _ => Some(table.to_owned()),
    }
}

/// A volume, all that is said of it, and the array over several are one thing.
fn volume(left: &Side, right: &Side) -> Option<String> {
    let keys = |part: &str| changed_keys(&below(&left.stack, part), &below(&right.stack, part));
    name_of("volume", &keys("volume")).or_else(|| name_of("array", &keys("array")))
}

/// A filesystem of another kind has its own words for mkfs and mount; with the same kind each of them is a thing.
fn filesystem(left: &Side, right: &Side, things: &mut BTreeSet<String>) {
    let (one, other) = (below(&left.stack, "filesystem"), below(&right.stack, "filesystem"));
    let is_other_kind = one.get("kind") != other.get("kind");
    if is_other_kind {
        things.insert("filesystem.kind".to_owned());
    } else {
        things.extend(changed_keys(&one, &other).into_iter().map(|key| format!("filesystem.{key}")));
    }
    let changed = changed_options(&[left, right].map(|side| (kind_of(side), options_of(side))));
    things.extend(changed.into_iter().map(|option| format!("mount option {option}")));
    let (one, other) = (below(&left.stack, "mount"), below(&right.stack, "mount"));
    let further = changed_keys(&one, &other).into_iter().filter(|key| key != "options");
    things.extend(further.map(|key| format!("mount.{key}")));
}

/// The kind of the filesystem; empty without one.
fn kind_of(side: &Side) -> String {
    let kind = below(&side.stack, "filesystem").get("kind").and_then(Value::as_str).map(str::to_owned);
    kind.unwrap_or_default()
}

/// The mount options that are asked for.
fn options_of(side: &Side) -> Vec<String> {
    let words =
        below(&side.stack, "mount").get("options").and_then(Value::as_array).cloned().unwrap_or_default();
    let words = words.iter().filter_map(Value::as_str).filter(|word| *word != "defaults");
    words.map(str::to_owned).collect()
}

/// Where one level has no container, the other's is one thing, whatever is said of it.
fn container(left: &Side, right: &Side) -> Vec<String> {
    let (one, other) = (below(&left.stack, "container"), below(&right.stack, "container"));
    let is_none = |table: &Map<String, Value>| {
        table.get("kind").and_then(Value::as_str).is_none_or(|kind| kind == "none")
    };
    match (is_none(&one), is_none(&other)) {
        (true, true) => Vec::new(),
        (false, false) => {
            changed_keys(&one, &other).into_iter().map(|key| format!("container.{key}")).collect()
        }
        _ => vec!["container.kind".to_owned()],
    }
}

/// A machine of another kind is one thing, and so is an instance of another name. Of one kind each setting is a thing:
/// a kernel with its modules, an allowance with its law.
fn machine(left: &Map<String, Value>, right: &Map<String, Value>) -> Vec<String> {
    let mut keys = changed_keys(left, right);
    if keys.iter().any(|key| key == "kind") {
        return vec!["machine.kind".to_owned()];
    }
    let is_other_instance = keys.iter().any(|key| key == "instance");
    keys.retain(|key| !LABELS.contains(&key.as_str()));
    if is_other_instance && keys.iter().any(|key| OF_AN_INSTANCE.contains(&key.as_str())) {
        keys.retain(|key| !OF_AN_INSTANCE.contains(&key.as_str()));
        keys.push("instance".to_owned());
    }
    let has = |key: &str| keys.iter().any(|one| one == key);
    let goes_with = |key: &str| {
        (key == "modules" && has("kernel"))
            || (matches!(key, "law" | "link") && (has("cpu") || has("emulate")))
    };
    keys.iter().filter(|key| !goes_with(key)).map(|key| format!("machine.{key}")).collect()
}

/// A workload of another kind is one thing; of one kind each setting is, but for those that say one thing together.
fn workload(left: &Map<String, Value>, right: &Map<String, Value>) -> BTreeSet<String> {
    let keys = changed_keys(left, right);
    if keys.iter().any(|key| key == "kind") {
        return BTreeSet::from(["workload.kind".to_owned()]);
    }
    // Of ORION: what one side says of a matrix, say, that the other has not.
    let has = |key: &str| keys.iter().any(|one| one == key);
    let is_one_sided = |key: &str| left.contains_key(key) != right.contains_key(key);
    let goes_with = |key: &str| {
        (has("argv") && OF_A_PROGRAM.contains(&key))
            || BELONGINGS.iter().any(|(to, own)| own.contains(&key) && has(to) && is_one_sided(key))
    };
    let keys: Vec<&String> = keys.iter().filter(|key| !goes_with(key)).collect();
    let mix: Vec<&String> = keys.iter().copied().filter(|key| MIX.contains(&key.as_str())).collect();
    let rest = keys.iter().copied().filter(|key| !MIX.contains(&key.as_str()));
    rest.chain(mix.first().copied()).map(|key| format!("workload.{key}")).collect()
}

/// Sentences without their point: one for each set of things that a factor changes at once.
pub fn confounded_sentences(levels: &[ConfoundedLevel]) -> Vec<String> {
    let mut groups: Vec<(&ConfoundedLevel, Vec<&str>)> = Vec::new();
    for level in levels {
        match groups.iter_mut().find(|(one, _)| one.factor == level.factor && one.things == level.things) {
            Some((_, names)) => names.push(&level.level),
            None => groups.push((level, vec![&level.level])),
        }
    }
    let tell = |(one, names): &(&ConfoundedLevel, Vec<&str>)| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let verb = if names.len() == 1 { "differs" } else { "differ" };
        let ending = if one.declared {
            "as the experiment declares; the result applies to all together"
        } else {
            "the result cannot be attributed to any one of them; vary one at a time, or make each its own factor"
        };
        format!(
            "factor `{}` changes {} at once: {} {verb} from `{}` in {}; {ending}",
            one.factor,
            counted(one.things.len()),
            list(&names),
            one.against,
            one.things_in_words()
        )
    };
    groups.iter().map(tell).collect()
}

impl ConfoundedLevel {
    /// `filesystem.kind` and `machine.kernel`, in backquotes.
    pub fn things_in_words(&self) -> String {
        list(&quoted(&self.things))
    }
}

fn counted(things: usize) -> String {
    match things {
        2 => "two things".to_owned(),
        3 => "three things".to_owned(),
        more => format!("{more} things"),
    }
}

#[cfg(test)]
mod tests;
