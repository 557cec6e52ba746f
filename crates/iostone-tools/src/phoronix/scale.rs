//! What a test's results are counted in, told from the words that its profile prints beside them.

use iostone_model::dataset::MetricNote;
use iostone_model::metric::{self, Direction, Unit};

/// A scale with the figure that its results become.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scale {
    /// The name of the figure.
    pub(super) name: String,
    /// How much one is of the base unit.
    pub(super) factor: f64,
    pub(super) note: MetricNote,
}

/// Words for rates and times in the `ResultScale` of its test profiles; all others are figures without a known unit.
/// Capitals tell bytes from bits there.
const KNOWN: &[(&[&str], &str, Unit, f64)] = &[
    (&["MB/s", "MB/sec"], "throughput", Unit::BytesPerSecond, 1e6),
    (&["GB/s", "GB/sec"], "throughput", Unit::BytesPerSecond, 1e9),
    (&["KB/s", "kB/s", "KB/sec"], "throughput", Unit::BytesPerSecond, 1e3),
    (&["KiB/s"], "throughput", Unit::BytesPerSecond, 1024.0),
    (&["MiB/s"], "throughput", Unit::BytesPerSecond, 1_048_576.0),
    (&["GiB/s"], "throughput", Unit::BytesPerSecond, 1_073_741_824.0),
    (&["byte/s", "bytes/s"], "throughput", Unit::BytesPerSecond, 1.0),
    (&["Mb/s", "Mbps", "Mbit/s", "Mbits/sec"], "throughput", Unit::BytesPerSecond, 1e6 / 8.0),
    (&["Gb/s", "Gbps", "Gbit/s", "Gbits/sec"], "throughput", Unit::BytesPerSecond, 1e9 / 8.0),
    (&["IOPS"], "iops", Unit::PerSecond, 1.0),
    (&["Seconds", "Second", "Sec", "sec", "s"], "wall_time", Unit::Seconds, 1.0),
    (&["Minutes"], "wall_time", Unit::Seconds, 60.0),
    (&["ms", "Milliseconds"], "duration", Unit::Seconds, 1e-3),
    (&["us", "Microseconds"], "duration", Unit::Seconds, 1e-6),
    (&["ns", "Nanoseconds"], "duration", Unit::Seconds, 1e-9),
];

impl Scale {
    pub(super) fn of(words: &str, proportion: &str) -> Self {
        let told = match proportion {
            "HIB" => Some(Direction::Higher),
            "LIB" => Some(Direction::Lower),
            _ => None,
        };
        let Some((_, name, unit, factor)) = KNOWN.iter().find(|(all, ..)| all.contains(&words)) else {
            let title = if words.is_empty() { "result" } else { words };
            let note = MetricNote { unit: Unit::Plain, better: told, title: title.to_owned() };
            return Self { name: name_of(title), factor: 1.0, note };
        };
        let natural = if *unit == Unit::Seconds { Direction::Lower } else { Direction::Higher };
        let title = metric::find(name).map_or("time of an operation", |metric| metric.title);
        let note = MetricNote { unit: *unit, better: Some(told.unwrap_or(natural)), title: title.to_owned() };
        let mut scale = Self { name: (*name).to_owned(), factor: *factor, note };
        if told.is_some_and(|told| told != natural) {
            // An uptime or a drain: not to be judged together with what goes the usual way.
            scale.name.push_str(scale.suffix());
        }
        scale
    }

    /// What tells the figure from one of the same name that is better the other way.
    pub(super) fn suffix(&self) -> &'static str {
        match self.note.better {
            Some(Direction::Higher) => "_higher_is_better",
            Some(Direction::Lower) => "_lower_is_better",
            None => "_undirected",
        }
    }
}

/// `frames_per_second` of `Frames Per Second`; never the name of a figure that means something else.
fn name_of(words: &str) -> String {
    let parts = words.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    let mut name = parts.map(str::to_lowercase).collect::<Vec<_>>().join("_");
    let taken = KNOWN.iter().any(|(_, known, ..)| *known == name) || metric::find(&name).is_some();
    if name.is_empty() || taken {
        name.push_str("_result");
    }
    name.trim_start_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_not_bits() {
        let bytes = Scale::of("MB/s", "HIB");
        let bits = Scale::of("Mb/s", "HIB");
        assert_eq!((&bytes.name, &bytes.note), (&bits.name, &bits.note));
        assert!((bytes.factor / bits.factor - 8.0).abs() < 1e-12);
    }

    #[test]
    fn a_figure_is_named_by_its_scale_and_way() {
        let named = |words, proportion| Scale::of(words, proportion).name;
        assert_eq!(named("Frames Per Second", "HIB"), "frames_per_second");
        assert_eq!(named("Seconds", "LIB"), "wall_time");
        assert_eq!(named("Seconds", "HIB"), "wall_time_higher_is_better");
        assert_eq!(named("", ""), "result");
        assert_eq!(named("Events", ""), "events_result");
        assert_eq!(named("%", ""), "result");
    }
}
