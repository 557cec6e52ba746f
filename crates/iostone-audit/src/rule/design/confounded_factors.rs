//! `confounded-factors`: a factor that changes together with another factor or with a circumstance.

use std::collections::{BTreeMap, BTreeSet};

use iostone_model::audit::{Finding, Severity};
use iostone_model::dataset::{CIRCUMSTANCES, Dataset, Observation};
use iostone_model::evidence::Evidence;

use super::conditions::{Table, at, tables};
use super::description::describes;
use super::row_names::{row_names, values_of};
use super::timeline::in_time;
use super::wording::{in_table, list, reworded};
use crate::{Outcome, Rule, finding};

/// From this share of the rows on, two labels change nearly together.
const NEARLY: f64 = 0.9;
/// Of fewer rows, nine tenths fall together by chance too often.
const FEWEST_FOR_NEARLY: usize = 12;
/// Levels of these are machines: each necessarily has a host of its own.
const MACHINES: &[&str] = &["instance", "region"];

/// How two labels hang together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Bond {
    /// In most rows.
    Nearly,
    /// Each level of the factor has one value of the other, and several levels may share it: those can be compared.
    Partly,
    /// One level, one value.
    Fully,
}

pub(super) struct ConfoundedFactors;

impl Rule for ConfoundedFactors {
    fn name(&self) -> &'static str {
        "confounded-factors"
    }

    fn looks_for(&self) -> &'static str {
        "factors that change together with each other or with any other label: host, kernel, image, drive and the like"
    }

    /// A run tells what was set and what was met: `confounded-levels` and `confounded-circumstances` look at that.
    fn judge(&self, evidence: &Evidence<'_>) -> Outcome {
        if evidence.run.is_some() { Outcome::NotApplicable } else { self.look(evidence) }
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let mut applies = false;
        let mut findings = Vec::new();
        for table in tables(dataset).iter().filter(|table| table.compares) {
            let mut told: Vec<&str> = Vec::new();
            // Where the order is known, a day says no more than it, and the order has a rule of its own.
            let dated = in_time(dataset, &table.members).is_none();
            let names = row_names(dataset, &values_of(dataset, &table.members), table.members.len());
            for factor in dataset.factors.iter().filter(|factor| !names.contains(factor.as_str())) {
                let others: Vec<&str> = partners(dataset, factor)
                    .into_iter()
                    .filter(|other| !names.contains(other) && !told.contains(other))
                    .filter(|other| dated || *other != "date")
                    .collect();
                let pairs = |other: &str| pairs(dataset, table, factor, other);
                let mut bonds: Vec<(&str, Bond, String)> = others
                    .into_iter()
                    .filter_map(|other| {
                        let pairs = pairs(other)?;
                        applies = true;
                        let best = commonest(&pairs);
                        let levels = best.iter().map(|(level, (value, _))| (*level, *value));
                        if describes(factor, other, &levels.collect::<Vec<_>>()) {
                            return None;
                        }
                        let both = dataset.factors.iter().any(|known| known == other);
                        Some((other, bond(&pairs, both)?, evidence(factor, other, &pairs)))
                    })
                    .collect();
                // One option that the tool prints is how the condition was made; two are two things that changed.
                let options = bonds.iter().filter(|(other, ..)| is_option(dataset, table, other)).count();
                bonds.retain(|(other, ..)| options != 1 || !is_option(dataset, table, other));
                if !bonds.is_empty() {
                    findings.push(describe(self, dataset, table, factor, &bonds));
                    // Said once, from the side of the factor that comes first.
                    told.push(factor);
                }
            }
        }
        if applies { Outcome::Looked(findings) } else { Outcome::NotApplicable }
    }
}

/// Whether a label is what a tool printed of its own options, rather than somebody's word in a table.
fn is_option(dataset: &Dataset, table: &Table<'_>, label: &str) -> bool {
    let first = table.members.first().and_then(|place| at(dataset, *place));
    first.is_some_and(|first| !first.tool.is_empty())
        && !CIRCUMSTANCES.contains(&label)
        && !dataset.factors.iter().any(|factor| factor == label)
}

/// The labels a factor may be confounded with: the other factors, the circumstances, and every other label.
fn partners<'a>(dataset: &'a Dataset, factor: &str) -> Vec<&'a str> {
    let labels = dataset.observations.iter().flat_map(|observation| observation.labels.keys());
    let others: BTreeSet<&str> =
        labels.map(String::as_str).filter(|label| !CIRCUMSTANCES.contains(label)).collect();
    let known = dataset.factors.iter().map(String::as_str).chain(CIRCUMSTANCES.iter().copied());
    let mut partners: Vec<&str> = Vec::new();
    for label in known.chain(others) {
        if label != factor && !partners.contains(&label) {
            partners.push(label);
        }
    }
    partners
}

/// How often each pair of levels occurs, over the rows that have both; none where either does not vary there.
fn pairs<'a>(
    dataset: &'a Dataset,
    table: &Table<'_>,
    factor: &str,
    other: &str,
) -> Option<BTreeMap<(&'a str, &'a str), usize>> {
    let of = |observation: &'a Observation| -> Option<(&'a str, &'a str)> {
        Some((observation.labels.get(factor)?.as_str(), observation.labels.get(other)?.as_str()))
    };
    let mut pairs = BTreeMap::new();
    let members = || table.members.iter().filter_map(|place| at(dataset, *place));
    // What has no figure, because it never ended, is compared with nothing; where none has, their charts were compared.
    let all_bare = members().all(|observation| observation.figures.is_empty());
    let shown = members().filter(|observation| all_bare || !observation.figures.is_empty());
    for pair in shown.filter_map(of) {
        *pairs.entry(pair).or_insert(0) += 1;
    }
    let rows: usize = pairs.values().sum();
    let (levels, values) = (marginal(&pairs, true), marginal(&pairs, false));
    // A value for each row names the row: a date, a run, a file.
    let known = dataset.factors.iter().any(|label| label == other) || CIRCUMSTANCES.contains(&other);
    let names_rows = values.len() == rows && (levels.len() < rows || other == "date" || !known);
    (levels.len() > 1 && values.len() > 1 && !names_rows).then_some(pairs)
}

fn marginal<'a>(pairs: &BTreeMap<(&'a str, &'a str), usize>, first: bool) -> BTreeMap<&'a str, usize> {
    let mut sums = BTreeMap::new();
    for ((level, value), count) in pairs {
        *sums.entry(if first { *level } else { *value }).or_insert(0) += count;
    }
    sums
}

/// For each level of the factor the commonest value beside it, and in how many rows.
fn commonest<'a>(pairs: &BTreeMap<(&'a str, &'a str), usize>) -> BTreeMap<&'a str, (&'a str, usize)> {
    let mut best: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    for ((level, value), count) in pairs {
        let entry = best.entry(level).or_insert((value, 0));
        if *count > entry.1 {
            *entry = (value, *count);
        }
    }
    best
}

/// `factors` says that both labels were varied on purpose.
fn bond(pairs: &BTreeMap<(&str, &str), usize>, factors: bool) -> Option<Bond> {
    let best = commonest(pairs);
    // The same thing in two labels is not two things that change.
    if best.iter().all(|(level, (value, _))| reworded(level, value)) || proportional(&best) {
        return None;
    }
    let values: BTreeSet<&str> = best.values().map(|(value, _)| *value).collect();
    if values.len() < 2 {
        return None;
    }
    if pairs.len() == best.len() {
        return Some(if values.len() == best.len() { Bond::Fully } else { Bond::Partly });
    }
    // Where each value of the other factor has one level of this one, it is told from the side of the other.
    if factors && apart(pairs) && pairs.len() > marginal(pairs, false).len() {
        return Some(Bond::Partly);
    }
    let rows: usize = pairs.values().sum();
    let following: usize = best.values().map(|(_, count)| count).sum();
    let nearly = rows >= FEWEST_FOR_NEARLY && following as f64 >= NEARLY * rows as f64;
    nearly.then_some(Bond::Nearly)
}

/// Whether the levels fall into groups that share no value of the other label, not even by way of a third level.
fn apart(pairs: &BTreeMap<(&str, &str), usize>) -> bool {
    let Some((first, _)) = pairs.keys().next() else { return false };
    let (mut levels, mut values) = (BTreeSet::from([*first]), BTreeSet::new());
    loop {
        let before = levels.len() + values.len();
        for (level, value) in pairs.keys() {
            if levels.contains(level) || values.contains(value) {
                levels.insert(level);
                values.insert(*value);
            }
        }
        if levels.len() + values.len() == before {
            return pairs.keys().any(|(level, _)| !levels.contains(level));
        }
    }
}

/// Whether the numbers of one label are those of the other times a constant: `25 %` and `250000`.
fn proportional(best: &BTreeMap<&str, (&str, usize)>) -> bool {
    let number = |text: &str| -> Option<f64> {
        let digits = |letter: char| !(letter.is_ascii_digit() || letter == '.');
        let text = text.trim().trim_matches(digits);
        text.parse().ok().filter(|number| *number > 0.0)
    };
    let ratios: Vec<f64> =
        best.iter().filter_map(|(level, (value, _))| Some(number(value)? / number(level)?)).collect();
    let Some(first) = ratios.first() else { return false };
    ratios.len() > 1
        && ratios.len() == best.len()
        && ratios.iter().all(|ratio| (ratio / first - 1.0).abs() < 1e-6)
}

/// Each value of the other label with the levels beside it.
fn evidence(factor: &str, other: &str, pairs: &BTreeMap<(&str, &str), usize>) -> String {
    let mut by_value: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for ((level, value), count) in pairs {
        let rows = if *count > 1 { format!(" in {count} rows") } else { String::new() };
        by_value.entry(value).or_default().push(format!("{factor}={level}{rows}"));
    }
    let lines = by_value.iter().map(|(value, levels)| format!("{other}={value} with {}", list(levels)));
    lines.take(6).collect::<Vec<_>>().join("; ")
}

fn describe(
    rule: &dyn Rule,
    dataset: &Dataset,
    table: &Table<'_>,
    factor: &str,
    bonds: &[(&str, Bond, String)],
) -> Finding {
    let strongest = bonds.iter().map(|(_, bond, _)| *bond).max().unwrap_or(Bond::Nearly);
    let others: Vec<&str> =
        bonds.iter().filter(|(_, bond, _)| *bond == strongest).map(|(other, _, _)| *other).collect();
    let names = all(&others);
    let whom = if others.len() == 1 { "either" } else { "any of them" };
    let inherent = MACHINES.contains(&factor) && others == ["host"];
    let in_table = in_table(table);
    let (severity, message) = match strongest {
        _ if inherent => {
            let message = format!(
                "each `{factor}`{in_table} has hosts of its own: the figures are of those machines, not of their kind"
            );
            (Severity::Warning, message)
        }
        Bond::Fully if others.iter().all(|other| is_option(dataset, table, other)) => {
            let message = format!(
                "levels of `{factor}`{in_table} differ in {names} at once: which of them makes the difference is unknown"
            );
            (Severity::Warning, message)
        }
        Bond::Fully => {
            let message = format!(
                "`{factor}`{in_table} changes only together with {names}: a difference may be due to {whom}"
            );
            (Severity::Serious, message)
        }
        Bond::Partly => {
            let message = format!(
                "levels of `{factor}`{in_table} differ in {names} as well: only those that share it can be compared"
            );
            (Severity::Warning, message)
        }
        Bond::Nearly => {
            let message = format!(
                "`{factor}`{in_table} changes nearly always together with {names}: a difference may be due to {whom}"
            );
            (Severity::Warning, message)
        }
    };
    let between_factors = others.iter().any(|other| dataset.factors.iter().any(|known| known == other));
    let advice = if inherent {
        "Measure several machines of each kind.".to_owned()
    } else if between_factors {
        format!("Run the missing combinations of `{factor}` and {names}, so that each varies by itself.")
    } else {
        format!("Keep {names} the same and vary `{factor}` alone, in random order.")
    };
    let mut told: Vec<&(&str, Bond, String)> = bonds.iter().collect();
    told.sort_by_key(|(_, bond, _)| std::cmp::Reverse(*bond));
    Finding {
        evidence: told.into_iter().map(|(_, _, evidence)| evidence.clone()).take(6).collect(),
        observations: table.members.clone(),
        ..finding(rule, severity, message, &advice)
    }
}

/// All names, none left out: which they are is the finding.
fn all(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => quoted.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::design::examples::{dataset, findings, observation};
    use iostone_model::dataset::Order;

    fn rows(of: &[&[(&str, &str)]]) -> Vec<Observation> {
        of.iter()
            .enumerate()
            .map(|(index, labels)| observation(labels, &[("throughput", index as f64)]))
            .collect()
    }

    #[test]
    fn a_filesystem_that_came_with_its_kernel_and_host_is_serious() {
        let old: &[(&str, &str)] =
            &[("filesystem", "btrfs"), ("kernel", "3.18.1"), ("host", "a"), ("place", "host")];
        let new: &[(&str, &str)] =
            &[("filesystem", "ext4"), ("kernel", "3.18.6"), ("host", "b"), ("place", "host")];
        let dataset = dataset(&["filesystem"], Order::Unknown, rows(&[old, old, new, new]));
        let found = findings(&ConfoundedFactors, &dataset);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Serious));
        assert!(
            found[0].message.starts_with("`filesystem` changes only together with `host` and `kernel`"),
            "{}",
            found[0].message
        );
    }

    #[test]
    fn factors_that_never_vary_apart_are_told_once() {
        let rows = rows(&[
            &[("barrier", "1"), ("kernel", "431")],
            &[("barrier", "0"), ("kernel", "504")],
            &[("barrier", "1"), ("kernel", "431")],
        ]);
        let found = findings(&ConfoundedFactors, &dataset(&["barrier", "kernel"], Order::Unknown, rows));
        assert_eq!((found.len(), found[0].severity), (1, Severity::Serious));
        assert!(found[0].advice.starts_with("Run the missing combinations"));
    }

    #[test]
    fn crossed_factors_shared_hosts_and_restatements_are_clear() {
        let crossed = rows(&[
            &[("barrier", "1"), ("kernel", "431"), ("host", "a")],
            &[("barrier", "0"), ("kernel", "431"), ("host", "b")],
            &[("barrier", "1"), ("kernel", "504"), ("host", "b")],
            &[("barrier", "0"), ("kernel", "504"), ("host", "a")],
        ]);
        assert!(
            findings(&ConfoundedFactors, &dataset(&["barrier", "kernel"], Order::Unknown, crossed))
                .is_empty()
        );
        let restated = rows(&[
            &[("quota", "25 %"), ("quota_us", "250000"), ("os", "x")],
            &[("quota", "40 %"), ("quota_us", "400000"), ("os", "x")],
        ]);
        assert!(
            findings(&ConfoundedFactors, &dataset(&["quota", "quota_us"], Order::Unknown, restated))
                .is_empty()
        );
    }

    #[test]
    fn nearly_together_is_a_warning_and_one_machine_each_as_well() {
        let [a, b]: [&[(&str, &str)]; 2] =
            [&[("barrier", "1"), ("kernel", "431")], &[("barrier", "0"), ("kernel", "504")]];
        let odd: &[(&str, &str)] = &[("barrier", "1"), ("kernel", "504")];
        let found = findings(
            &ConfoundedFactors,
            &dataset(&["barrier"], Order::Unknown, rows(&[a, a, a, a, a, a, b, b, b, b, b, odd])),
        );
        assert_eq!(found[0].severity, Severity::Warning);
        let [a, b]: [&[(&str, &str)]; 2] =
            [&[("instance", "m1"), ("host", "x")], &[("instance", "c4"), ("host", "y")]];
        let found =
            findings(&ConfoundedFactors, &dataset(&["instance"], Order::Unknown, rows(&[a, a, b, b])));
        assert_eq!(found[0].severity, Severity::Warning);
        assert!(found[0].message.ends_with("not of their kind"), "{}", found[0].message);
    }

    #[test]
    fn levels_that_share_a_circumstance_can_be_compared() {
        let rows = rows(&[
            &[("kernel", "431"), ("os", "CentOS")],
            &[("kernel", "504"), ("os", "CentOS")],
            &[("kernel", "3.14"), ("os", "Amazon")],
        ]);
        let found = findings(&ConfoundedFactors, &dataset(&["kernel"], Order::Unknown, rows));
        assert_eq!((found.len(), found[0].severity), (1, Severity::Warning));
        assert!(
            found[0].message.starts_with("levels of `kernel` differ in `os` as well"),
            "{}",
            found[0].message
        );
        assert_eq!(
            found[0].evidence,
            ["os=Amazon with kernel=3.14; os=CentOS with kernel=431 and kernel=504"]
        );
    }

    #[test]
    fn any_label_that_comes_with_a_factor_is_found_whatever_its_name() {
        let [a, b]: [&[(&str, &str)]; 2] =
            [&[("pool", "fast"), ("drive_model", "X1")], &[("pool", "slow"), ("drive_model", "Y2")]];
        let mut rows = rows(&[a, a, b, b]);
        for (index, row) in rows.iter_mut().enumerate() {
            row.labels.insert("log".to_owned(), format!("{index}.txt"));
        }
        let found = findings(&ConfoundedFactors, &dataset(&["pool"], Order::Unknown, rows));
        assert_eq!((found.len(), found[0].severity), (1, Severity::Serious));
        assert_eq!(
            found[0].message,
            "`pool` changes only together with `drive_model`: a difference may be due to either"
        );
    }

    #[test]
    fn levels_under_a_limit_of_their_own_are_told_beside_rows_without_figures() {
        let mut rows = rows(&[
            &[("instance", "t1.micro"), ("limit", "30 % limit")],
            &[("instance", "m1.small"), ("limit", "no limit")],
            &[("instance", "c3.large"), ("limit", "no limit")],
            &[("instance", "t2.micro"), ("limit", "burst")],
            &[("instance", "t2.micro"), ("limit", "10 % baseline")],
        ]);
        let told = |rows: &[Observation]| {
            let set = dataset(&["limit", "instance"], Order::Unknown, rows.to_vec());
            let found = findings(&ConfoundedFactors, &set);
            assert_eq!((found.len(), found[0].severity), (1, Severity::Warning));
            found[0].message.clone()
        };
        assert!(told(&rows).contains("differ in"), "{}", told(&rows));
        rows[4].figures.clear();
        assert!(told(&rows).starts_with("levels of `instance` differ in `limit` as well"), "{}", told(&rows));
    }

    #[test]
    fn an_option_that_makes_the_condition_and_columns_that_describe_it_are_clear() {
        let of = |name: &'static str, bs: &'static str, depth: &'static str| {
            let mut row =
                observation(&[("condition", name), ("bs", bs), ("iodepth", depth)], &[("iops", 1.0)]);
            row.tool = "fio".to_owned();
            row
        };
        let found = |rows: Vec<Observation>, factors: &[&str]| {
            findings(&ConfoundedFactors, &dataset(factors, Order::Unknown, rows))
        };
        let small =
            [of("small", "4k", "1"), of("small", "4k", "1"), of("large", "1m", "1"), of("large", "1m", "1")];
        assert!(found(small.to_vec(), &["condition"]).is_empty());
        let both = [
            of("small", "4k", "32"),
            of("small", "4k", "32"),
            of("large", "1m", "1"),
            of("large", "1m", "1"),
        ];
        let told = found(both.to_vec(), &["condition"]);
        assert_eq!((told.len(), told[0].severity), (1, Severity::Warning));
        let [a, b]: [&[(&str, &str)]; 2] = [
            &[
                ("instance_type", "m5.large"),
                ("price_usd", "0.096"),
                ("long_name", "general purpose, 2 vCPUs"),
            ],
            &[
                ("instance_type", "c5.large"),
                ("price_usd", "0.085"),
                ("long_name", "compute optimised, 2 vCPUs"),
            ],
        ];
        assert!(found(rows(&[a, a, b, b]), &["instance_type", "price_usd", "long_name"]).is_empty());
        let [a, b]: [&[(&str, &str)]; 2] = [
            &[("commit", "77c1205"), ("date", "2026-11-21")],
            &[("commit", "8065bf5"), ("date", "2026-11-22")],
        ];
        assert!(found(rows(&[a, a, b, b]), &["commit"]).is_empty());
    }

    #[test]
    fn one_label_alone_cannot_be_confounded() {
        let rows = rows(&[&[("barrier", "1")], &[("barrier", "0")]]);
        assert_eq!(
            ConfoundedFactors.look(&dataset(&["barrier"], Order::Unknown, rows)),
            Outcome::NotApplicable
        );
    }
}
