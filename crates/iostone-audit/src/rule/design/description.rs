//! Which labels describe another one rather than vary beside it: a price, a long name, the day of a commit.

use std::collections::BTreeSet;

use iostone_model::dataset::CIRCUMSTANCES;

use super::wording::words;

/// Words of a name that stands for the entire condition: what goes with it says what it means.
const NAMES: &[&str] = &[
    "name",
    "title",
    "label",
    "job",
    "jobname",
    "test",
    "task",
    "workload",
    "scenario",
    "benchmark",
    "case",
    "command",
    "url",
];
/// Words of money: a price belongs to what it buys.
const MONEY: &[&str] = &["price", "cost", "usd", "eur", "dollar", "dollars", "euro", "euros"];
/// Words of a state of some source code, which has a day of its own.
const VERSIONS: &[&str] = &["commit", "version", "revision", "release", "build", "tag", "sha", "hash"];
/// Two settings that were changed by mistake at once have few levels; attributes of a thing have as many as there are
/// things.
const MANY: usize = 5;

/// Whether one of two labels describes the other, where `pairs` holds each level of the factor with the value beside it.
///
/// Where something ran is never a description: a host that changes with every level is a fault, however many there are.
pub(super) fn describes(factor: &str, other: &str, pairs: &[(&str, &str)]) -> bool {
    let has = |label: &str, some: &[&str]| words(label).iter().any(|word| some.contains(&word.as_str()));
    if [factor, other].iter().any(|label| has(label, MONEY)) {
        return true;
    }
    if other == "date" && has(factor, VERSIONS) {
        return true;
    }
    if pairs.iter().all(|(level, value)| stands_in(value, level) || stands_in(level, value)) {
        return true;
    }
    if CIRCUMSTANCES.contains(&other) || CIRCUMSTANCES.contains(&factor) {
        return false;
    }
    let recoded = |label: &str, of: &dyn Fn(&(&str, &str)) -> bool| label.len() > 2 && pairs.iter().any(of);
    has(factor, NAMES)
        || has(other, NAMES)
        || pairs.len() >= MANY
        || recoded(factor, &|(_, value)| stands_in(factor, value))
        || recoded(other, &|(level, _)| stands_in(other, level))
}

/// Whether the words of one text are among those of another: `ext4` in `ext4-small`.
fn stands_in(part: &str, whole: &str) -> bool {
    let (part, whole): (BTreeSet<String>, BTreeSet<String>) = (words(part), words(whole));
    !part.is_empty() && part.is_subset(&whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_name_prices_and_attributes_of_many_things_describe() {
        assert!(describes("condition", "fs", &[("ext4-small", "ext4"), ("xfs-small", "xfs")]));
        assert!(describes("instance_type", "usd_per_hour", &[("m5", "0.1"), ("c5", "0.2")]));
        assert!(describes("commit", "date", &[("77c1205", "2026-11-21"), ("8065bf5", "2026-11-22")]));
        assert!(describes("job", "rw", &[("first", "read"), ("second", "write")]));
        assert!(describes(
            "month",
            "mon",
            &[("Jan", "1"), ("Feb", "2"), ("Mar", "3"), ("Apr", "4"), ("May", "5")]
        ));
        assert!(describes("state", "barrier", &[("no barrier", "0"), ("barrier", "1")]));
    }

    #[test]
    fn two_settings_and_places_do_not() {
        assert!(!describes("filesystem", "scheduler", &[("ext4", "none"), ("xfs", "bfq")]));
        assert!(!describes("barrier", "date", &[("0", "2026-11-21"), ("1", "2026-11-22")]));
        let hosts = [("1", "a"), ("2", "b"), ("4", "c"), ("8", "d"), ("16", "e")];
        assert!(!describes("threads", "host", &hosts));
        assert!(!describes("size", "threads", &[("1", "16"), ("2", "32")]));
    }
}
