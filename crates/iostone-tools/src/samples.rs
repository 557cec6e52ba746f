//! What samplers print, gathered: the mean of every column and its course over time, within bounded memory.

use std::collections::BTreeMap;

use iostone_model::dataset::{Figure, MetricNote, Observation, Series};
use iostone_model::metric::{self, Direction, Unit};

/// A single series is never longer than this: neighbours are averaged in pairs when it is full.
const LONGEST_SERIES: usize = 100_000;
/// Nor are all series of a file together, as long as each may have [`SHORTEST_SERIES`]: hosts have hundreds of devices.
const ALL_SERIES: usize = 2_000_000;
const SHORTEST_SERIES: usize = 1_000;

/// Figures of samplers that no workload of iostone's own has: name, unit, which way is better, what it is.
const SAMPLED: &[(&str, Unit, Option<Direction>, &str)] = &[
    ("steal", Unit::Share, Some(Direction::Lower), "CPU time that the hypervisor kept for others"),
    ("cpu_user", Unit::Share, None, "CPU time in user mode"),
    ("cpu_nice", Unit::Share, None, "CPU time in user mode at low priority"),
    ("cpu_system", Unit::Share, None, "CPU time in the kernel"),
    ("cpu_interrupts", Unit::Share, None, "CPU time in interrupts"),
    ("cpu_soft_interrupts", Unit::Share, None, "CPU time in deferred interrupts"),
    ("cpu_guest", Unit::Share, None, "CPU time given to guests"),
    ("cpu_idle", Unit::Share, None, "CPU time unused"),
    ("io_wait", Unit::Share, None, "CPU time unused while I/O was awaited"),
    ("running", Unit::Plain, None, "processes running or ready to"),
    ("blocked", Unit::Plain, None, "processes held up by I/O"),
    ("interrupts", Unit::PerSecond, None, "interrupts per second"),
    ("context_switches", Unit::PerSecond, None, "context switches per second"),
    ("swap_in", Unit::BytesPerSecond, Some(Direction::Lower), "swapped in"),
    ("swap_out", Unit::BytesPerSecond, Some(Direction::Lower), "swapped out"),
    ("block_in", Unit::BytesPerSecond, None, "read from all block devices"),
    ("block_out", Unit::BytesPerSecond, None, "written to all block devices"),
    ("transfers", Unit::PerSecond, None, "requests per second"),
    ("discards", Unit::PerSecond, None, "discards per second"),
    ("flushes", Unit::PerSecond, None, "flushes per second"),
    ("discard.throughput", Unit::BytesPerSecond, None, "discarded"),
    ("discard.latency_mean", Unit::Seconds, Some(Direction::Lower), "mean latency of discards"),
    ("flush.latency_mean", Unit::Seconds, Some(Direction::Lower), "mean latency of flushes"),
    ("request_size", Unit::Bytes, None, "mean size of requests"),
    ("read.request_size", Unit::Bytes, None, "mean size of reads"),
    ("write.request_size", Unit::Bytes, None, "mean size of writes"),
    ("queue_length", Unit::Plain, None, "requests under way"),
    ("utilisation", Unit::Share, None, "time in which the device had work"),
];

/// Values over time that are averaged in pairs, again and again, rather than grow without end.
#[derive(Debug, Clone, Default)]
pub(crate) struct DecimatedSeries {
    at: Vec<f64>,
    values: Vec<f64>,
    /// How many samples one element stands for.
    grouped: u32,
    /// The samples of the element that is not complete yet: how many, and the sums of their times and values.
    open: (u32, f64, f64),
}

impl DecimatedSeries {
    /// Adds a value; `longest` is at least 2.
    pub(crate) fn push(&mut self, at_seconds: f64, value: f64, longest: usize) {
        if self.values.len() >= longest {
            halve(&mut self.at);
            halve(&mut self.values);
            self.grouped = self.grouped.max(1).saturating_mul(2);
        }
        self.open = (self.open.0 + 1, self.open.1 + at_seconds, self.open.2 + value);
        if self.open.0 >= self.grouped.max(1) {
            self.close();
        }
    }

    fn close(&mut self) {
        let (count, at, value) = self.open;
        if count > 0 {
            self.at.push(at / f64::from(count));
            self.values.push(value / f64::from(count));
            self.open = (0, 0.0, 0.0);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty() && self.open.0 == 0
    }

    pub(crate) fn into_series(mut self, unit: Unit) -> Series {
        self.close();
        Series { unit, at_seconds: self.at, values: self.values }
    }
}

/// Every pair becomes its mean; an element that is left over stays.
fn halve(values: &mut Vec<f64>) {
    let halved = values.chunks(2).map(|pair| pair.iter().sum::<f64>() / pair.len() as f64).collect();
    *values = halved;
}

/// One column: its weighted mean and its course.
#[derive(Debug, Clone, Default)]
struct Column {
    sum: f64,
    weight: f64,
    step: f64,
    course: DecimatedSeries,
}

/// One sample of one figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    /// The figure's name, one of `SAMPLED` or of the workloads' tables.
    pub(crate) name: &'static str,
    pub(crate) figure: Figure,
    /// How much it counts for in the mean: how many requests a latency is the mean of. With none it was not measured.
    pub(crate) weight: f64,
}

/// A label and its value; none for the machine as a whole.
type Thing = Option<(&'static str, String)>;

/// What a sampler printed of several things (devices, CPUs) over time.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    groups: Vec<(Thing, BTreeMap<&'static str, Column>)>,
    places: BTreeMap<Thing, usize>,
    series: usize,
}

impl Samples {
    /// Adds what was sampled of one thing, named by a label, or of the machine as a whole.
    pub(crate) fn add(
        &mut self,
        thing: Option<(&'static str, &str)>,
        at_seconds: f64,
        row: impl IntoIterator<Item = Sample>,
    ) {
        let key = thing.map(|(label, value)| (label, value.to_owned()));
        let place = if let Some(place) = self.places.get(&key) {
            *place
        } else {
            self.groups.push((key.clone(), BTreeMap::new()));
            self.places.insert(key, self.groups.len() - 1);
            self.groups.len() - 1
        };
        let longest = (ALL_SERIES / self.series.max(1)).clamp(SHORTEST_SERIES, LONGEST_SERIES);
        let Some((_, columns)) = self.groups.get_mut(place) else { return };
        for Sample { name, figure, weight } in row {
            let column = columns.entry(name).or_insert_with(|| {
                self.series += 1;
                Column::default()
            });
            column.step = column.step.max(figure.step);
            if weight > 0.0 {
                column.sum += figure.value * weight;
                column.weight += weight;
                column.course.push(at_seconds, figure.value, longest);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// One observation for each thing, in the order of first appearance, like `template` in everything else.
    ///
    /// The step of a mean is the step of a single sample: rounding errors of a steady figure do not cancel out.
    pub(crate) fn into_observations(self, template: &Observation) -> Vec<Observation> {
        let each_cpu = self.groups.iter().any(|(thing, _)| matches!(thing, Some(("cpu", _))));
        let made = self.groups.into_iter().map(|(thing, columns)| {
            let mut observation = template.clone();
            // Beside single CPUs, what is of all of them is a condition of its own.
            if each_cpu && thing.is_none() && columns.contains_key("cpu_idle") {
                observation.labels.insert("cpu".to_owned(), "all".to_owned());
            }
            if let Some((label, value)) = thing {
                observation.labels.insert(label.to_owned(), value);
            }
            for (name, column) in columns {
                if column.weight > 0.0 {
                    let mean = Figure { value: column.sum / column.weight, step: column.step };
                    observation.figures.insert(name.to_owned(), mean);
                }
                if !column.course.is_empty() {
                    observation.series.insert(name.to_owned(), column.course.into_series(unit_of(name)));
                }
            }
            observation.facts.steal = observation.value("steal");
            observation
        });
        made.collect()
    }
}

/// The unit of one of the figures above or of a workload's.
fn unit_of(name: &str) -> Unit {
    let sampled = SAMPLED.iter().find(|(sampled, ..)| *sampled == name).map(|(_, unit, ..)| *unit);
    sampled.or_else(|| metric::find(name).map(|metric| metric.unit)).unwrap_or(Unit::Plain)
}

/// What is to be said of the figures that are in no workload's table.
pub(crate) fn notes(observations: &[Observation]) -> BTreeMap<String, MetricNote> {
    let names = observations.iter().flat_map(|observation| observation.figures.keys());
    let unknown = names.filter(|name| metric::find(name).is_none());
    let noted = unknown.filter_map(|name| {
        let (_, unit, better, title) = SAMPLED.iter().find(|(sampled, ..)| sampled == name)?;
        Some((name.clone(), MetricNote { unit: *unit, better: *better, title: (*title).to_owned() }))
    });
    noted.collect()
}

/// The labels `device` and `cpu`, where observations differ in them.
pub(crate) fn things_that_differ(observations: &[Observation]) -> Vec<String> {
    let differ = |label: &&str| {
        let mut values = observations.iter().filter_map(|observation| observation.labels.get(*label));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    ["device", "cpu"].iter().filter(|label| differ(label)).map(|label| (*label).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample(name: &'static str, value: f64, weight: f64) -> Sample {
        Sample { name, figure: Figure { value, step: 0.01 }, weight }
    }

    #[test]
    fn a_latency_counts_by_the_requests_it_is_the_mean_of() {
        let mut samples = Samples::default();
        samples.add(Some(("device", "sda")), 1.0, [sample("read.latency_mean", 0.001, 99.0)]);
        samples.add(Some(("device", "sda")), 2.0, [sample("read.latency_mean", 0.101, 1.0)]);
        samples.add(Some(("device", "sda")), 3.0, [sample("read.latency_mean", 0.0, 0.0)]);
        let observations = samples.into_observations(&Observation::default());
        let [observation] = observations.as_slice() else { panic!("one device") };
        assert!((observation.value("read.latency_mean").unwrap() - 0.002).abs() < 1e-12);
        assert_eq!(observation.series["read.latency_mean"].values.len(), 2);
        assert_eq!(observation.labels["device"], "sda");
    }

    #[test]
    fn mean_steal_becomes_a_fact() {
        let mut samples = Samples::default();
        samples.add(None, 1.0, [sample("steal", 0.1, 1.0)]);
        samples.add(None, 2.0, [sample("steal", 0.3, 1.0)]);
        let observations = samples.into_observations(&Observation::default());
        assert_eq!(observations[0].facts.steal, Some(0.2));
        assert_eq!(notes(&observations)["steal"].better, Some(Direction::Lower));
    }

    proptest! {
        #[test]
        fn a_course_stays_short_and_keeps_its_mean(values in prop::collection::vec(0.0..1e3f64, 1..400), half in 1usize..20) {
            let mut course = DecimatedSeries::default();
            for (at, value) in values.iter().enumerate() {
                course.push(at as f64, *value, half * 2);
            }
            let grouped = f64::from(course.grouped.max(1));
            let left_over = f64::from(course.open.0);
            let series = course.into_series(Unit::Plain);
            prop_assert!(series.values.len() <= half * 2 + 1);
            prop_assert_eq!(series.values.len(), series.at_seconds.len());
            prop_assert!(series.at_seconds.windows(2).all(|pair| pair[0] < pair[1]));
            let last = series.values.len() - 1;
            let weight = |at: usize| if at == last && left_over > 0.0 { left_over } else { grouped };
            let sum: f64 = series.values.iter().enumerate().map(|(at, value)| value * weight(at)).sum();
            prop_assert!((sum - values.iter().sum::<f64>()).abs() < 1e-6);
        }
    }
}
