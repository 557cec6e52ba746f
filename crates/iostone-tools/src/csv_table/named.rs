//! What a column of figures is by its name alone: its unit, and which way it is better.

use iostone_model::dataset::MetricNote;
use iostone_model::metric::{self, Direction, Unit};

use super::column::{note, note_of};
use super::measure::{Measure, snake};

/// A column of figures, by its name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NamedFigure {
    /// The unit of its values after multiplication by `factor`, which way they are better, and what they are.
    pub(super) note: MetricNote,
    /// How many base units one of the column's is: 0.001 for `latency_ms`.
    pub(super) factor: f64,
}

/// Words of which more is better where no unit tells.
const HIGHER: &[&str] = &["throughput", "bandwidth", "bw", "iops", "tps", "qps", "rps", "ops", "speed"];
/// Words of which less is better where no unit tells.
const LOWER: &[&str] =
    &["latency", "lat", "clat", "slat", "time", "duration", "elapsed", "wall", "real", "delay", "jitter"];

/// What `column` is: a known metric, a name that ends in a unit, or a name with a word of the trade. A known metric without a
/// unit in its name keeps its values as they are, since `throughput` may be in MB/s.
pub(super) fn named_figure(column: &str) -> NamedFigure {
    let plain = snake(column);
    if let Some(known) = metric::find(column).or_else(|| metric::find(&plain)) {
        let unit = if known.unit == Unit::PerSecond { known.unit } else { Unit::Plain };
        return NamedFigure { note: MetricNote { unit, ..note_of(known) }, factor: 1.0 };
    }
    let (measure, note) = match Measure::of_name(column) {
        Some((base, measure)) => (measure, metric_or(&base, measure)),
        None => (Measure::PLAIN, note(Unit::Plain, &plain)),
    };
    NamedFigure {
        note: MetricNote { better: note.better.or_else(|| by_words(&plain)), ..note },
        factor: measure.factor,
    }
}

fn metric_or(base: &str, measure: Measure) -> MetricNote {
    let known = metric::find(base).filter(|known| known.unit == measure.unit);
    known.map_or_else(|| note(measure.unit, base), note_of)
}

fn by_words(plain: &str) -> Option<Direction> {
    let has = |words: &[&str]| plain.split('_').any(|word| words.contains(&word));
    match (has(HIGHER), has(LOWER)) {
        (true, false) => Some(Direction::Higher),
        (false, true) => Some(Direction::Lower),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_unit_and_which_way_is_better() {
        let is = |name: &str, unit: Unit, factor: f64, better: Option<Direction>| {
            let figure = named_figure(name);
            assert_eq!(
                (figure.note.unit, figure.factor, figure.note.better),
                (unit, factor, better),
                "{name}"
            );
        };
        let (higher, lower) = (Some(Direction::Higher), Some(Direction::Lower));
        is("wall_time", Unit::Plain, 1.0, lower);
        is("Wall Time", Unit::Plain, 1.0, lower);
        is("latency_ms", Unit::Seconds, 1e-3, lower);
        is("seconds", Unit::Seconds, 1.0, lower);
        is("real_s", Unit::Seconds, 1.0, lower);
        is("iops", Unit::PerSecond, 1.0, higher);
        is("throughput", Unit::Plain, 1.0, higher);
        is("throughput_mb_s", Unit::BytesPerSecond, 1e6, higher);
        is("reads_per_s", Unit::PerSecond, 1.0, higher);
        is("read_latency", Unit::Plain, 1.0, lower);
        is("p99_lat", Unit::Plain, 1.0, lower);
        is("write_bw", Unit::Plain, 1.0, higher);
        is("score", Unit::Plain, 1.0, None);
        is("size_mb", Unit::Bytes, 1e6, None);
        is("steal_percent", Unit::Share, 0.01, None);
        is("throughput_time", Unit::Plain, 1.0, None);
    }
}
