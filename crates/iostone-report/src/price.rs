//! What a configuration costs, and what it does for a dollar. What is unknown is not told, and never zero.

use iostone_model::experiment::Configuration;
use iostone_model::metric::{Direction, Unit};
use iostone_model::run::RunRecord;

use crate::figures::figure;
use crate::view::{Row, View};

const SECONDS_PER_HOUR: f64 = 3600.0;

/// A price and what follows from it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Priced<'a> {
    /// The configuration.
    pub(crate) name: &'a str,
    /// US dollars an hour, without volumes.
    pub(crate) usd_per_hour: f64,
    /// Who says so.
    pub(crate) source: &'a str,
    /// The metric for a dollar, of the instance: in its time, not in that of a faster emulation.
    pub(crate) value: Option<Value>,
    /// How many times faster than on the instance an emulated allowance was spent and earned.
    pub(crate) speed: f64,
}

impl Priced<'_> {
    /// A figure set against its price, and whose time it is in.
    fn in_words(&self, value: Value) -> String {
        let (words, speed) = (value.in_words(), self.speed);
        if speed <= 1.0 {
            return words;
        }
        match value {
            Value::DollarsPerRun(_) => {
                format!("{words} of the instance, which takes {speed} times as long as here")
            }
            Value::BytesPerDollar(_) | Value::OperationsPerDollar(_) => {
                format!("{words}, at the instance's rate, which is the same in {speed} times as long")
            }
        }
    }
}

/// A figure set against its price.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    /// Bytes moved for a dollar.
    BytesPerDollar(f64),
    /// Operations for a dollar.
    OperationsPerDollar(f64),
    /// US dollars for as long as the metric says, on the instance.
    DollarsPerRun(f64),
}

impl Value {
    /// From the median of a metric: a rate for a dollar's time (`rate * 3600 / price`), or a time's cost.
    ///
    /// At a `speed` a second stands for so many of the instance, in which it does as many times the work: a time costs so
    /// many times more, and a rate stays.
    fn of(unit: Unit, better: Direction, median: f64, usd_per_hour: f64, speed: f64) -> Option<Self> {
        if !(median.is_finite() && median > 0.0 && usd_per_hour > 0.0) {
            return None;
        }
        let for_a_dollar = median * SECONDS_PER_HOUR / usd_per_hour;
        match (unit, better) {
            (Unit::BytesPerSecond, _) => Some(Self::BytesPerDollar(for_a_dollar)),
            (Unit::PerSecond, _) => Some(Self::OperationsPerDollar(for_a_dollar)),
            (Unit::Seconds, Direction::Lower) => {
                Some(Self::DollarsPerRun(median * speed / SECONDS_PER_HOUR * usd_per_hour))
            }
            _ => None,
        }
    }

    /// "1.28 TB for a dollar", "12.3 million operations for a dollar", "0.00421 USD a run".
    pub(crate) fn in_words(self) -> String {
        match self {
            Self::BytesPerDollar(bytes) if bytes >= 0.9995e12 => {
                format!("{} TB for a dollar", iostone_model::units::three_digits(bytes / 1e12))
            }
            Self::BytesPerDollar(bytes) => format!("{} for a dollar", figure(Unit::Bytes, bytes)),
            Self::OperationsPerDollar(count) => {
                let (count, word) = if count >= 0.9995e9 {
                    (count / 1e9, " billion")
                } else if count >= 0.9995e6 {
                    (count / 1e6, " million")
                } else {
                    (count, "")
                };
                format!("{}{word} operations for a dollar", iostone_model::units::three_digits(count))
            }
            Self::DollarsPerRun(usd) => format!("{} USD a run", usd_digits(usd)),
        }
    }
}

/// Every configuration with a price.
pub(crate) fn priced<'a>(run: &'a RunRecord, view: &View<'a>) -> Vec<Priced<'a>> {
    let of_row = |row: &Row<'a>| {
        let configuration = configuration_of(run, row.name)?;
        let price = configuration.price.as_ref()?;
        // A latency is not the time of a run: only elapsed times have a cost.
        let is_elapsed = view.unit != Unit::Seconds || matches!(view.metric, "wall_time" | "pass_time");
        let median = row.summary.and_then(|summary| summary.median).filter(|_| is_elapsed && !view.curve);
        let speed = configuration.machine.speed();
        Some(Priced {
            name: row.name,
            usd_per_hour: price.usd_per_hour,
            source: &price.source,
            value: median
                .and_then(|median| Value::of(view.unit, view.better, median, price.usd_per_hour, speed)),
            speed,
        })
    };
    view.rows.iter().filter_map(of_row).collect()
}

fn configuration_of<'a>(run: &'a RunRecord, name: &str) -> Option<&'a Configuration> {
    run.plan.experiment.configurations.iter().find(|configuration| configuration.name == name)
}

/// Name and sentence of every configuration that has a price, or an instance without one; empty where no one has either.
pub(crate) fn sentences(run: &RunRecord, view: &View<'_>) -> Vec<(String, String)> {
    let priced = priced(run, view);
    let sentence = |row: &Row<'_>| {
        let configuration = configuration_of(run, row.name)?;
        let instance = configuration.machine.instance();
        let sentence = match (priced.iter().find(|priced| priced.name == row.name), instance) {
            (Some(priced), instance) => {
                let instance = instance.map(|instance| format!("{instance}, ")).unwrap_or_default();
                let value =
                    priced.value.map(|value| format!(": {}", priced.in_words(value))).unwrap_or_default();
                if priced.usd_per_hour == 0.0 {
                    // Whatever it does is done for nothing: no figure for a dollar exists.
                    return Some((
                        row.name.to_owned(),
                        format!("{instance}costs nothing ({})", priced.source),
                    ));
                }
                let usd = usd_digits(priced.usd_per_hour);
                format!("{instance}{usd} USD an hour ({}){value}", priced.source)
            }
            (None, Some(instance)) => format!("{instance}, price unknown"),
            (None, None) => return None,
        };
        Some((row.name.to_owned(), sentence))
    };
    view.rows.iter().filter_map(sentence).collect()
}

/// Prices as they are written: as many digits as they have, three where they are computed.
fn usd_digits(usd: f64) -> String {
    let exact = format!("{usd}");
    if exact.len() <= 7 { exact } else { format!("{:.*}", decimals(usd), usd) }
}

/// Three digits that count.
fn decimals(usd: f64) -> usize {
    (0..14)
        .find(|decimals| usd.abs() * 10f64.powi(*decimals) >= 99.95)
        .map_or(14, |decimals| usize::try_from(decimals).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_told_for_a_dollar_and_a_time_by_its_cost() {
        let words =
            |unit, better, median, usd| Value::of(unit, better, median, usd, 1.0).map(Value::in_words);
        let higher = Direction::Higher;
        assert_eq!(words(Unit::BytesPerSecond, higher, 62.5e6, 0.175).unwrap(), "1.29 TB for a dollar");
        assert_eq!(
            words(Unit::PerSecond, higher, 1000.0, 0.02).unwrap(),
            "180 million operations for a dollar"
        );
        assert_eq!(words(Unit::Seconds, Direction::Lower, 4500.0, 0.02).unwrap(), "0.025 USD a run");
        assert_eq!(words(Unit::BytesPerSecond, higher, 62.5e6, 0.0), None);
        assert_eq!(words(Unit::BytesPerSecond, higher, f64::NAN, 0.1), None);
        let faster = |unit, better| {
            let value = Value::of(unit, better, 4500.0, 0.02, 20.0).unwrap();
            Priced { name: "", usd_per_hour: 0.02, source: "", value: Some(value), speed: 20.0 }
                .in_words(value)
        };
        assert_eq!(
            faster(Unit::Seconds, Direction::Lower),
            "0.5 USD a run of the instance, which takes 20 times as long as here"
        );
        assert!(faster(Unit::PerSecond, higher).starts_with("810 million operations for a dollar, at"));
        assert_eq!(usd_digits(0.012_345_678), "0.0123");
        assert_eq!(usd_digits(0.175), "0.175");
    }
}
