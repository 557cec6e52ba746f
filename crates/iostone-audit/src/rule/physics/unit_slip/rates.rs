//! Printed rates that contradict the bytes and seconds beside them, or the operations and their size.

use iostone_model::dataset::{Dataset, Figure, Observation};
use iostone_model::metric::Unit;
use iostone_model::units::Bytes;

use super::super::case::{of_all, row, size, times};
use super::super::slip::{Slip, nearest};
use super::super::traffic::{self, Traffic};
use super::{AGREES, NEAR, Slipped, named};

/// A few percent may be time that the rate does not count; only a ratio this near to the factor is a mix-up.
const EXACT: f64 = 0.002;
/// Rows that show it.
const SHOWN: usize = 3;

/// Labels that give the size of each operation.
const SIZES: &[&str] = &["bs", "block_size", "blocksize"];

/// Looks at every observation with a rate, and bytes and seconds or operations and their size; none if there is none.
pub(super) fn look(dataset: &Dataset) -> Option<Vec<Slipped>> {
    let mut looked = 0usize;
    let columns = columns_agree(dataset);
    let mut found: Vec<(Slip, String, Vec<usize>, Vec<String>)> = Vec::new();
    for (index, observation) in dataset.observations.iter().enumerate() {
        for (metric, figure) in &observation.figures {
            let Some(calculated) = calculated(dataset, observation, metric, columns) else { continue };
            looked += 1;
            let Some(slip) = slipped(*figure, calculated.rate) else { continue };
            let unit = Unit::BytesPerSecond;
            let text = format!(
                "{metric} is printed as {}, but {} {}, {} it",
                unit.format(figure.value),
                calculated.of,
                unit.format(calculated.rate),
                times(calculated.rate / figure.value)
            );
            let line = format!("{}: {text}", row(dataset, index));
            match found.iter_mut().find(|(known, ..)| *known == slip) {
                Some((_, _, rows, lines)) => {
                    rows.push(index);
                    if lines.len() < SHOWN {
                        lines.push(line);
                    }
                }
                None => found.push((slip, text, vec![index], vec![line])),
            }
        }
    }
    let told = found.into_iter().map(|(slip, text, observations, evidence)| {
        let (severity, mix_up) = named(Some(slip));
        let rows = of_all(observations.len(), looked, "rate");
        Slipped { severity, message: format!("{text}, {mix_up}, in {rows}"), evidence, observations }
    });
    let told = told.collect();
    (looked > 0).then_some(told)
}

/// A rate, and what it was calculated of: `232 GB in 3763 s are`.
struct Calculated {
    rate: f64,
    of: String,
}

/// `columns`: whether columns of bytes and seconds are those of the rates.
fn calculated(
    dataset: &Dataset,
    observation: &Observation,
    metric: &str,
    columns: bool,
) -> Option<Calculated> {
    if dataset.unit_of(metric) != Unit::BytesPerSecond {
        return None;
    }
    of_bytes(observation, metric)
        .or_else(|| of_operations(observation, metric))
        .or_else(|| columns.then(|| of_columns(dataset, observation))?)
}

/// Words that columns of bytes and of seconds consist of where nothing else is meant by them.
const BYTES: &[&str] =
    &["bytes", "transferred", "total", "written", "read", "amount", "data", "moved", "copied"];
const SECONDS: &[&str] = &["seconds", "time", "wall", "elapsed", "duration", "runtime", "total", "real"];

/// The only column of bytes over the only one of seconds.
fn of_columns(dataset: &Dataset, observation: &Observation) -> Option<Calculated> {
    let only = |unit: Unit, words: &[&str]| {
        let fits = |metric: &str| {
            let mut parts = metric.split('_');
            dataset.unit_of(metric) == unit && parts.all(|part| words.contains(&part))
        };
        let mut found = observation.figures.iter().filter(|(metric, _)| fits(metric));
        found.next().filter(|(_, figure)| figure.value > 0.0 && found.next().is_none())
    };
    let ((_, bytes), (_, seconds)) = (only(Unit::Bytes, BYTES)?, only(Unit::Seconds, SECONDS)?);
    let of = format!("{} in {} are", size(bytes.value), Unit::Seconds.format(seconds.value));
    Some(Calculated { rate: bytes.value / seconds.value, of })
}

/// Whether there is one rate beside them, and nearly all rows either agree or show the same mix-up: then the columns are
/// of the same work, and no ratio is chance.
fn columns_agree(dataset: &Dataset) -> bool {
    let mut rows = 0_usize;
    let mut alike: Vec<(Option<Slip>, usize)> = Vec::new();
    for observation in &dataset.observations {
        let is_rate = |(metric, _): &(&String, &Figure)| dataset.unit_of(metric) == Unit::BytesPerSecond;
        let mut rates = observation.figures.iter().filter(is_rate);
        let (Some((_, rate)), None) = (rates.next(), rates.next()) else { continue };
        let Some(Calculated { rate: calculated, .. }) = of_columns(dataset, observation) else { continue };
        rows += 1;
        let near = (calculated / rate.value - 1.0).abs() <= AGREES.max(rate.step / rate.value);
        let slip = slipped(*rate, calculated);
        if near || slip.is_some() {
            match alike.iter_mut().find(|(known, _)| *known == slip) {
                Some((_, count)) => *count += 1,
                None => alike.push((slip, 1)),
            }
        }
    }
    let known: usize = alike.iter().map(|(_, count)| count).sum();
    rows > 1 && alike.len() <= 2 && known as f64 >= 0.9 * rows as f64
}

fn of_bytes(observation: &Observation, metric: &str) -> Option<Calculated> {
    let seconds = traffic::seconds(observation)?;
    let bytes = match traffic::of_figure(observation, metric) {
        Traffic::Unknown => return None,
        traffic => traffic::claimed(observation, traffic)?,
    };
    let of = format!("{} in {} are", size(bytes), Unit::Seconds.format(seconds));
    Some(Calculated { rate: bytes / seconds, of })
}

fn of_operations(observation: &Observation, metric: &str) -> Option<Calculated> {
    let operations = observation.value(&metric.replace("throughput", "iops"));
    let operations = operations.filter(|operations| *operations > 0.0 && metric.ends_with("throughput"))?;
    let label = SIZES.iter().find_map(|name| observation.labels.get(*name))?;
    let bytes: Bytes = label.parse().ok()?;
    let of = format!("{} of {label} are", Unit::PerSecond.format(operations));
    Some(Calculated { rate: operations * bytes.0 as f64, of })
}

fn slipped(printed: Figure, calculated: f64) -> Option<Slip> {
    let ratio = calculated / printed.value;
    let rounded = 0.5 * printed.step / printed.value;
    if !ratio.is_finite() || ratio <= 0.0 || (ratio - 1.0).abs() <= AGREES.max(rounded) {
        return None;
    }
    nearest(ratio, NEAR)
        .filter(|slip| slip.gross || nearest(ratio, EXACT + rounded).is_some_and(|near| near == *slip))
}

#[cfg(test)]
mod tests {
    use super::super::super::made_up::{dataset, observation};
    use super::*;
    use iostone_model::audit::Severity;

    fn dd(rate: f64, step: f64) -> Dataset {
        let mut made = observation(&[], &[("printed_rate", rate), ("wall_time", 3763.15)]);
        made.facts.claimed_written_bytes = Some(232_303_771_648);
        made.figures.get_mut("printed_rate").unwrap().step = step;
        let mut set = dataset(vec![made]);
        let note = iostone_model::dataset::MetricNote {
            unit: Unit::BytesPerSecond,
            better: None,
            title: "printed rate".to_owned(),
        };
        set.metrics.insert("printed_rate".to_owned(), note);
        set
    }

    #[test]
    fn a_rate_that_agrees_with_bytes_and_seconds_is_clear() {
        assert!(look(&dd(61.7e6, 0.1e6)).unwrap().is_empty());
        assert!(look(&dd(62e6, 1e6)).unwrap().is_empty());
        assert!(look(&dd(60.0e6, 0.1e6)).unwrap().is_empty(), "3 % may be time that was not counted");
    }

    #[test]
    fn mib_printed_as_mb_and_bits_for_bytes_are_found() {
        let found = look(&dd(58.87e6, 0.01e6)).unwrap();
        assert_eq!((found.len(), found[0].severity), (1, Severity::Warning));
        assert!(
            found[0].message.contains("4.9 % above it, as with MB taken for MiB"),
            "{}",
            found[0].message
        );
        assert_eq!(look(&dd(493.8e6, 0.1e6)).unwrap()[0].severity, Severity::Serious);
    }

    #[test]
    fn kib_printed_as_kb_are_found_from_operations_and_their_size() {
        let of = |rate: f64| {
            dataset(vec![observation(&[("bs", "4KiB")], &[("iops", 1000.0), ("throughput", rate)])])
        };
        let found = look(&of(4_000_000.0)).unwrap();
        assert!(
            found[0].message.contains("1\u{202f}000 /s of 4KiB are 4.10 MB/s, 2.4 % above it"),
            "{}",
            found[0].message
        );
        assert!(look(&of(4_096_000.0)).unwrap().is_empty());
    }

    #[test]
    fn columns_of_bytes_and_seconds_tell_the_rate_where_all_rows_agree() {
        let of = |rates: &[f64]| {
            let row = |(index, rate): (usize, &f64)| {
                let seconds = 10.0 + index as f64;
                observation(&[], &[("bytes", 1e9), ("seconds", seconds), ("throughput", rate / seconds)])
            };
            let mut set = dataset(rates.iter().enumerate().map(row).collect());
            for (name, unit) in [("bytes", Unit::Bytes), ("seconds", Unit::Seconds)] {
                let note = iostone_model::dataset::MetricNote { unit, better: None, title: String::new() };
                set.metrics.insert(name.to_owned(), note);
            }
            set
        };
        assert!(look(&of(&[1e9, 1e9, 1e9])).unwrap().is_empty());
        let mib = look(&of(&[1e9 / 1.048_576; 3])).unwrap();
        assert!(mib[0].message.contains("MB taken for MiB"), "{}", mib[0].message);
        assert_eq!(look(&of(&[8e9, 8e9, 8e9])).unwrap()[0].severity, Severity::Serious);
        assert_eq!(look(&of(&[1e9, 1e9, 8e9])).unwrap()[0].observations, [2]);
        assert!(look(&of(&[3e9, 8e9, 5e9])).is_none_or(|found| found.is_empty()), "of other work");
    }

    #[test]
    fn without_bytes_or_seconds_nothing_is_looked_at() {
        let mut set = dd(61.7e6, 0.0);
        set.observations[0].facts.claimed_written_bytes = None;
        assert!(look(&set).is_none());
    }
}
