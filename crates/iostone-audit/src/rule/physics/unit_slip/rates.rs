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
    let mut found: Vec<(Slip, String, Vec<usize>, Vec<String>)> = Vec::new();
    for (index, observation) in dataset.observations.iter().enumerate() {
        for (metric, figure) in &observation.figures {
            let Some(calculated) = calculated(dataset, observation, metric) else { continue };
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

fn calculated(dataset: &Dataset, observation: &Observation, metric: &str) -> Option<Calculated> {
    if dataset.unit_of(metric) != Unit::BytesPerSecond {
        return None;
    }
    of_bytes(observation, metric).or_else(|| of_operations(observation, metric))
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
    fn without_bytes_or_seconds_nothing_is_looked_at() {
        let mut set = dd(61.7e6, 0.0);
        set.observations[0].facts.claimed_written_bytes = None;
        assert!(look(&set).is_none());
    }
}
