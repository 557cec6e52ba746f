//! How rows, figures and chances are written in findings.

use std::collections::BTreeSet;

use iostone_model::dataset::{Dataset, Figure, Observation};
use iostone_model::figures;
use iostone_model::metric::Unit;

use super::conditions::{Condition, Table, metrics};

/// So many figures of a row are shown.
const MOST_FIGURES: usize = 4;
/// So many members of a list are named before the rest is counted.
const MOST_NAMES: usize = 4;

/// The step of a figure's last digit: as noted, or that of the shortest decimal number that reads back as its value.
pub(super) fn step_of(figure: Figure) -> f64 {
    if figure.step > 0.0 {
        return figure.step;
    }
    let text = format!("{:e}", figure.value);
    let Some((digits, exponent)) = text.split_once('e') else { return 0.0 };
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let decimals = i32::try_from(decimals).unwrap_or(i32::MAX);
    exponent.parse::<i32>().map_or(0.0, |exponent| 10_f64.powi(exponent.saturating_sub(decimals)))
}

/// A figure with all the digits that it was printed with: `58.7519 MB/s`.
pub(super) fn printed(unit: Unit, figure: Figure) -> String {
    let scales: &[(f64, &str)] = match unit {
        Unit::BytesPerSecond => &[(1e9, " GB/s"), (1e6, " MB/s"), (1e3, " kB/s"), (1.0, " B/s")],
        Unit::Bytes => &[(1e9, " GB"), (1e6, " MB"), (1e3, " kB"), (1.0, " B")],
        Unit::Seconds => &[(1.0, " s"), (1e-3, " ms"), (1e-6, " µs"), (1e-9, " ns")],
        Unit::PerSecond => &[(1.0, " /s")],
        Unit::Share => &[(0.01, " %")],
        Unit::Plain => &[(1.0, "")],
    };
    let fits = |scale: &&(f64, &str)| figure.value.abs() >= scale.0;
    let (divisor, suffix) = scales.iter().find(fits).or(scales.last()).copied().unwrap_or((1.0, ""));
    let step = step_of(figure) / divisor;
    let decimals = if step > 0.0 && step < 1.0 { (-step.log10()).ceil().min(6.0) } else { 0.0 };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 6")]
    let decimals = decimals as usize;
    format!("{:.decimals$}{suffix}", figure.value / divisor)
}

/// A row with its place and figures, for evidence: `dbench.csv, line 4: throughput 58.7519 MB/s, ...`.
pub(super) fn row(dataset: &Dataset, place: usize) -> String {
    let Some(observation) = dataset.observations.get(place) else { return String::new() };
    let names = metrics(dataset, &[place]);
    let shown = names.iter().take(MOST_FIGURES).filter_map(|name| {
        let figure = observation.figures.get(*name)?;
        Some(format!("{name} {}", printed(dataset.unit_of(name), *figure)))
    });
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if names.len() > MOST_FIGURES {
        text = format!("{text} and {} more", names.len() - MOST_FIGURES);
    }
    let place = whereabouts(observation);
    if text.is_empty() { place } else { format!("{place}: {text}") }
}

/// Where a row stands and which run it is: `dbench.csv, line 4, run 3`.
pub(super) fn whereabouts(observation: &Observation) -> String {
    let place = observation.place();
    match &observation.run {
        Some(run) if place.is_empty() => format!("run {run}"),
        Some(run) => format!("{place}, run {run}"),
        None => place,
    }
}

/// Which condition is meant: its levels, or the whole table where nothing is varied.
pub(super) fn condition_name(table: &Table<'_>, condition: &Condition) -> String {
    match (condition.name.is_empty(), table.name.is_empty()) {
        (false, _) => format!("`{}`", condition.name),
        (true, false) => format!("table `{}`", table.name),
        (true, true) => "the only condition".to_owned(),
    }
}

/// ` in table NAME`, or nothing where there is but one.
pub(super) fn in_table(table: &Table<'_>) -> String {
    if table.name.is_empty() { String::new() } else { format!(" in table `{}`", table.name) }
}

/// `a`, `a and b`, `a, b and c`, `a, b, c, d and 3 more`.
pub(super) fn list(names: &[String]) -> String {
    let shown = if names.len() > MOST_NAMES + 1 { MOST_NAMES } else { names.len() };
    let mut parts: Vec<String> = names.iter().take(shown).cloned().collect();
    if names.len() > shown {
        parts.push(format!("{} more", names.len() - shown));
    }
    figures::list(&parts)
}

/// A difference of logarithms as a signed percentage: `-0.5 %`.
pub(super) fn percent(log_ratio: f64) -> String {
    let percent = 100.0 * log_ratio.exp_m1();
    // `-0.0 %` would read as a mistake.
    let percent = if percent.abs() < 0.05 { 0.0 } else { percent };
    if percent.abs() >= 1000.0 { format!("x{:.3}", log_ratio.exp()) } else { format!("{percent:+.1} %") }
}

/// A small chance: `1 in 3000`, `less than 1 in a million`.
pub(super) fn one_in(chance: f64) -> String {
    if chance < 1e-6 {
        return "less than 1 in a million".to_owned();
    }
    let times = 1.0 / chance;
    let grain = 10_f64.powf(times.log10().floor());
    format!("about 1 in {:.0}", (times / grain).floor() * grain)
}

/// Whether two levels say the same in other words: `30 %` and `30 % limit`.
///
/// They are equal, or have the same numbers, and the words of one are among those of the other; `no limit` and
/// `limit`, or `1` and `16`, are not the same.
pub(super) fn reworded(one: &str, other: &str) -> bool {
    let (one, other) = (words(one), words(other));
    let numbers = |of: &BTreeSet<String>| -> BTreeSet<String> {
        of.iter().filter(|word| word.contains(|letter: char| letter.is_ascii_digit())).cloned().collect()
    };
    one == other
        || (!numbers(&one).is_empty()
            && numbers(&one) == numbers(&other)
            && (one.is_subset(&other) || other.is_subset(&one)))
}

/// The words of a text, in small letters.
pub(super) fn words(text: &str) -> BTreeSet<String> {
    let parts = text.split(|letter: char| !letter.is_alphanumeric());
    parts.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_their_printed_digits() {
        let print = |unit, value, step| printed(unit, Figure { value, step });
        assert_eq!(print(Unit::BytesPerSecond, 58_751_900.0, 100.0), "58.7519 MB/s");
        assert_eq!(print(Unit::BytesPerSecond, 58_751_900.0, 0.0), "58.7519 MB/s");
        assert_eq!(print(Unit::Seconds, 0.204_272, 1e-6), "204.272 ms");
        assert_eq!(print(Unit::Seconds, 3763.15, 0.01), "3763.15 s");
        assert_eq!(print(Unit::PerSecond, 7528.0, 1.0), "7528 /s");
        assert_eq!(print(Unit::Share, 0.1, 0.01), "10 %");
        assert_eq!(print(Unit::Plain, 0.0, 0.0), "0");
        assert_eq!(print(Unit::Plain, 198.0, 1.0), "198");
    }

    #[test]
    fn steps_are_read_off_the_number_itself() {
        let step = |value: f64| step_of(Figure::from(value));
        assert!((step(58.7519) - 1e-4).abs() < 1e-12);
        assert!((step(198_832_000.0) - 1000.0).abs() < 1e-9);
        assert!((step(0.25) - 0.01).abs() < 1e-12);
    }

    #[test]
    fn lists_and_chances_read_as_spoken() {
        let names = |count: usize| (0..count).map(|index| index.to_string()).collect::<Vec<_>>();
        assert_eq!(list(&names(1)), "0");
        assert_eq!(list(&names(2)), "0 and 1");
        assert_eq!(list(&names(5)), "0, 1, 2, 3 and 4");
        assert_eq!(list(&names(7)), "0, 1, 2, 3 and 3 more");
        assert_eq!(one_in(2.9e-4), "about 1 in 3000");
        assert_eq!(one_in(1e-9), "less than 1 in a million");
        assert_eq!(percent(0.0), "+0.0 %");
        assert_eq!(percent(-0.005), "-0.5 %");
    }

    #[test]
    fn levels_in_other_words_are_the_same() {
        assert!(reworded("30 %", "30 % limit") && reworded("btrfs", "Btrfs"));
        assert!(
            !reworded("no limit", "limit") && !reworded("1", "16") && !reworded("barrier=0", "2.6.32-504")
        );
    }
}
