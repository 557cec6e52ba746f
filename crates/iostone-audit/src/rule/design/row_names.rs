//! Which labels only name a row or say when it was made: a uuid, a log file, a comment, an end time. Nobody varied them.

use std::collections::{BTreeMap, BTreeSet};

use iostone_model::dataset::{CIRCUMSTANCES, Dataset};

use super::conditions::at;

/// Words about a row rather than what it was made under.
const REMARKS: &[&str] =
    &["comment", "comments", "note", "notes", "remark", "remarks", "description", "message", "uuid", "guid"];
/// How files end that a run leaves behind.
const OUTPUTS: &[&str] = &[".log", ".json", ".txt", ".csv", ".out", ".err", ".html", ".xml", ".gz", ".png"];

/// The different values of every label among those observations.
pub(super) type Values<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// The different values of every label there.
pub(super) fn values_of<'a>(dataset: &'a Dataset, members: &[usize]) -> Values<'a> {
    let mut values = Values::new();
    for observation in members.iter().filter_map(|place| at(dataset, *place)) {
        for (label, value) in &observation.labels {
            values.entry(label).or_default().insert(value);
        }
    }
    values
}

/// The labels that name rows among `rows` observations.
///
/// They are known by what they say (remarks, uuids, output files, times), or because they are different in every row while
/// a factor comes back. Circumstances keep their meaning: a kernel in every row is still a kernel.
pub(super) fn row_names<'a>(dataset: &Dataset, values: &Values<'a>, rows: usize) -> BTreeSet<&'a str> {
    let free = |label: &str| !CIRCUMSTANCES.contains(&label);
    let mut names: BTreeSet<&str> = values
        .iter()
        .filter(|(label, of)| free(label) && of.len() > 1 && tells_of_a_row(label, of))
        .map(|(label, _)| *label)
        .collect();
    let is_factor = |label: &str| dataset.factors.iter().any(|factor| factor == label);
    let compared = values.iter().any(|(label, of)| {
        is_factor(label) && !names.contains(label) && of.len() > 1 && of.len() * 2 <= rows
    });
    let varied = values.iter().any(|(label, of)| is_factor(label) && of.len() > 1);
    for (label, of) in values {
        if free(label) && of.len() == rows && (compared || (varied && !is_factor(label))) {
            names.insert(label);
        }
    }
    names
}

fn tells_of_a_row(label: &str, values: &BTreeSet<&str>) -> bool {
    let mut words = label.split(|letter: char| !letter.is_alphanumeric()).map(str::to_lowercase);
    let all = |is: fn(&str) -> bool| values.iter().all(|value| is(value));
    words.any(|word| REMARKS.contains(&word.as_str())) || all(is_uuid) || all(is_time) || all(is_output)
}

/// 32 hexadecimal digits or 64, with dashes or without; 40 are a commit, which can be what was varied.
fn is_uuid(text: &str) -> bool {
    let digits = || text.chars().filter(|letter| *letter != '-');
    matches!(digits().count(), 32 | 64) && digits().all(|letter| letter.is_ascii_hexdigit())
}

/// A date with a time of day, in whatever order: `2026-11-21T19:40:07Z`, `Sun Nov 22 05:16:39 2026`, `19:40:07`.
pub(super) fn is_time(text: &str) -> bool {
    let digits = |part: &str| (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split([' ', 'T']).any(|word| {
        let mut parts = word.splitn(3, ':');
        let seconds = |part: &str| part.starts_with(|letter: char| letter.is_ascii_digit());
        parts.next().is_some_and(&digits)
            && parts.next().is_some_and(&digits)
            && parts.next().is_some_and(seconds)
    })
}

fn is_output(text: &str) -> bool {
    OUTPUTS.iter().any(|end| text.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::design::examples::{dataset, observation};
    use iostone_model::dataset::Order;

    fn names(columns: &[(&str, &[&str])]) -> Vec<String> {
        let row = |index: usize| {
            let labels: Vec<(&str, &str)> = columns.iter().map(|(name, of)| (*name, of[index])).collect();
            observation(&labels, &[("throughput", 1.0 + index as f64)])
        };
        let factors: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let set = dataset(&factors, Order::Unknown, (0..columns[0].1.len()).map(row).collect());
        let values = values_of(&set, &[0, 1, 2, 3]);
        row_names(&set, &values, 4).into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn what_names_a_row_is_known_by_its_values_or_because_a_factor_comes_back() {
        let fs: (&str, &[&str]) = ("fs", &["a", "a", "b", "b"]);
        assert_eq!(names(&[fs, ("id", &["7", "8", "9", "12"])]), ["id"]);
        assert_eq!(names(&[("model", &["x", "y", "z", "w"])]), [""; 0], "nothing else tells them apart");
        assert_eq!(names(&[fs, ("comment", &["", "slow", "slow", ""])]), ["comment"]);
        assert_eq!(names(&[fs, ("log", &["r1.log", "r1.log", "r2.log", "r2.log"])]), ["log"]);
        let ended: &[&str] =
            &["2026-11-21 19:40:07", "2026-11-21 19:40:07", "2026-11-21T19:41:07Z", "19:42:00"];
        assert_eq!(names(&[fs, ("ended", ended)]), ["ended"]);
        assert_eq!(names(&[fs, ("kernel", &["1", "2", "3", "4"])]), [""; 0], "a circumstance");
    }

    #[test]
    fn commits_ratios_and_days_are_no_names_of_rows() {
        assert!(!is_uuid("77c120509a6f1c2d3e4f5061728394a5b6c7d8e9"));
        assert!(is_uuid("6ecd8c99-4036-403d-bf84-cf8400f67836"));
        assert!(!is_time("16:9") && !is_time("2026-11-21") && !is_time("a:b:c") && is_time("5:16:39.5"));
    }
}
