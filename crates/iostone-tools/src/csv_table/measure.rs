//! The unit of a column: as its name ends, as it is written beside the name, or as every cell carries it.

use iostone_model::dataset::{Figure, Quantity};
use iostone_model::metric::Unit;

use super::column::{is_endless, is_missing};
use super::sheet::Sheet;
use crate::units;

/// A unit, and how many base units one of it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measure {
    pub(crate) unit: Unit,
    pub(crate) factor: f64,
}

const KIB: f64 = 1024.0;
const MIB: f64 = KIB * KIB;
const GIB: f64 = MIB * KIB;
const TIB: f64 = GIB * KIB;

/// How names end, with what that means. Longer endings stand before those they end with.
const ENDINGS: &[(&str, Unit, f64)] = &[
    ("bytes_per_second", Unit::BytesPerSecond, 1.0),
    ("bytes_per_s", Unit::BytesPerSecond, 1.0),
    ("bytes_s", Unit::BytesPerSecond, 1.0),
    ("kib_s", Unit::BytesPerSecond, KIB),
    ("mib_s", Unit::BytesPerSecond, MIB),
    ("gib_s", Unit::BytesPerSecond, GIB),
    ("kb_s", Unit::BytesPerSecond, 1e3),
    ("mb_s", Unit::BytesPerSecond, 1e6),
    ("gb_s", Unit::BytesPerSecond, 1e9),
    ("kbit_s", Unit::BytesPerSecond, 125.0),
    ("mbit_s", Unit::BytesPerSecond, 125e3),
    ("gbit_s", Unit::BytesPerSecond, 125e6),
    ("kbps", Unit::BytesPerSecond, 125.0),
    ("mbps", Unit::BytesPerSecond, 125e3),
    ("gbps", Unit::BytesPerSecond, 125e6),
    ("per_second", Unit::PerSecond, 1.0),
    ("per_s", Unit::PerSecond, 1.0),
    ("iops", Unit::PerSecond, 1.0),
    ("nanoseconds", Unit::Seconds, 1e-9),
    ("microseconds", Unit::Seconds, 1e-6),
    ("milliseconds", Unit::Seconds, 1e-3),
    ("seconds", Unit::Seconds, 1.0),
    ("minutes", Unit::Seconds, 60.0),
    ("hours", Unit::Seconds, 3600.0),
    ("secs", Unit::Seconds, 1.0),
    ("sec", Unit::Seconds, 1.0),
    ("ns", Unit::Seconds, 1e-9),
    ("us", Unit::Seconds, 1e-6),
    ("ms", Unit::Seconds, 1e-3),
    ("s", Unit::Seconds, 1.0),
    ("bytes", Unit::Bytes, 1.0),
    ("kib", Unit::Bytes, KIB),
    ("mib", Unit::Bytes, MIB),
    ("gib", Unit::Bytes, GIB),
    ("tib", Unit::Bytes, TIB),
    ("kb", Unit::Bytes, 1e3),
    ("mb", Unit::Bytes, 1e6),
    ("gb", Unit::Bytes, 1e9),
    ("tb", Unit::Bytes, 1e12),
    ("percent", Unit::Share, 0.01),
    ("pct", Unit::Share, 0.01),
];

/// What is counted, so that `_s` behind it means a second, not seconds.
const COUNTED: &[&str] = &[
    "ops",
    "operations",
    "requests",
    "reads",
    "writes",
    "seeks",
    "files",
    "transactions",
    "queries",
    "events",
    "fsyncs",
    "flushes",
    "syncs",
    "messages",
    "packets",
];

impl Measure {
    /// No unit that iostone knows.
    pub(crate) const PLAIN: Self = Self { unit: Unit::Plain, factor: 1.0 };

    /// A unit as it is written in quantities: `MB/s`, `ms`, `%`, `GiB`, `/s`; also `share`, of which 1 is the whole,
    /// `bytes` and `plain`.
    pub(crate) fn of_text(text: &str) -> Option<Self> {
        match text {
            "plain" => return Some(Self::PLAIN),
            "share" => return Some(Self { unit: Unit::Share, factor: 1.0 }),
            "bytes" => return Some(Self { unit: Unit::Bytes, factor: 1.0 }),
            _ => {}
        }
        // A unit begins with its letter: otherwise `1` and `.5` would make a number of their own.
        if text.starts_with(|symbol: char| symbol.is_ascii_digit() || ".e+-".contains(symbol)) {
            return None;
        }
        let one: Quantity = format!("1{text}").parse().ok()?;
        (one.unit != Unit::Plain).then_some(Self { unit: one.unit, factor: one.value })
    }

    /// The unit at the end of a column's name, and the name without it: `throughput_mb_s`, `Throughput (MB/s)`. Where
    /// the name is nothing but a unit (`seconds`), or its end is part of it (`read_iops`), it stays whole.
    pub(crate) fn of_name(name: &str) -> Option<(String, Self)> {
        if let Some((rest, unit)) = in_brackets(name) {
            let prefix = match unit {
                "k" | "K" => Some(1e3),
                "M" => Some(1e6),
                _ => None,
            };
            // Thousands of a count, where a unit of bytes would be meant by the letter alone.
            if let (Some(prefix), Some((base, measure))) = (prefix, Self::of_name(rest))
                && measure.unit == Unit::PerSecond
            {
                return Some((base, Self { factor: measure.factor * prefix, ..measure }));
            }
            let measure =
                Self::of_text(unit).or_else(|| Self::of_ending(&format!("_{}", snake(unit)), unit))?;
            return Some((snake(rest), measure));
        }
        let snake = snake(name);
        let measure = Self::of_ending(&format!("_{snake}"), name)?;
        let ending =
            ENDINGS.iter().find(|(ending, _, _)| format!("_{snake}").ends_with(&format!("_{ending}")));
        let base = ending.and_then(|(ending, _, _)| snake.strip_suffix(ending)).unwrap_or_default();
        let base = base.trim_end_matches('_');
        let counted = measure.unit == Unit::Seconds
            && snake.ends_with("_s")
            && COUNTED.contains(&base.rsplit('_').next().unwrap_or_default());
        if counted {
            return Some((base.to_owned(), Self { unit: Unit::PerSecond, factor: 1.0 }));
        }
        let whole = base.is_empty() || snake.ends_with("iops");
        Some((if whole { snake } else { base.to_owned() }, measure))
    }

    /// `MBps` is bytes, `Mbps` and `mbps` are bits: the only place where the case of a name tells.
    fn of_ending(snake: &str, written: &str) -> Option<Self> {
        let (ending, unit, factor) =
            ENDINGS.iter().find(|(ending, _, _)| snake.ends_with(&format!("_{ending}")))?;
        let bytes = ending.ends_with("bps") && written.ends_with("Bps");
        Some(Self { unit: *unit, factor: if bytes { factor * 8.0 } else { *factor } })
    }
}

/// `Throughput (MB/s)` or `throughput [MB/s]`.
fn in_brackets(name: &str) -> Option<(&str, &str)> {
    let (inner, open) = match name.strip_suffix(')') {
        Some(inner) => (inner, '('),
        None => (name.strip_suffix(']')?, '['),
    };
    let (rest, unit) = inner.rsplit_once(open)?;
    (!rest.trim().is_empty()).then_some((rest.trim(), unit.trim()))
}

/// A name in small letters with underscores: `Max Latency` is `max_latency`.
pub(crate) fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len());
    for symbol in name.trim().chars().flat_map(char::to_lowercase) {
        let symbol = if matches!(symbol, ' ' | '-' | '/') { '_' } else { symbol };
        if symbol != '_' || !snake.ends_with('_') {
            snake.push(symbol);
        }
    }
    snake
}

/// A number with the comma of its cell as a decimal point, where a comma is free to be one.
pub(crate) fn with_point(text: &str, comma_is_free: bool) -> std::borrow::Cow<'_, str> {
    let decimal = comma_is_free && !text.contains('.') && text.matches(',').count() == 1;
    if decimal { text.replace(',', ".").into() } else { text.into() }
}

/// A quantity that carries its unit (`61.7 MB/s`), or a plain number, with the step of its last digit.
pub(crate) fn written(text: &str) -> Option<(Figure, Unit)> {
    if let Some(figure) = units::figure(text, 1.0) {
        return Some((figure, Unit::Plain));
    }
    let digits = text.find(|symbol: char| !symbol.is_ascii_digit() && symbol != '.')?;
    let (number, unit) = text.split_at_checked(digits)?;
    let measure = Measure::of_text(unit.trim())?;
    Some((units::figure(number, measure.factor)?, measure.unit))
}

/// Thousands, millions and billions of something that is counted, as fio prints operations: `44.7k`. A bare number is as
/// many.
pub(crate) fn count(text: &str) -> Option<Figure> {
    let (number, factor) = match text.chars().last()? {
        'k' | 'K' => (text.get(..text.len() - 1)?, 1e3),
        'M' => (text.get(..text.len() - 1)?, 1e6),
        'G' => (text.get(..text.len() - 1)?, 1e9),
        _ => (text, 1.0),
    };
    units::figure(number, factor)
}

/// Whether all cells of a column are counts, one of them in thousands or more.
pub(super) fn are_counts(sheet: &Sheet, index: usize) -> bool {
    let cells = || sheet.column(index).filter(|cell| !is_missing(cell) && !is_endless(cell));
    cells().all(|cell| count(&with_point(cell, sheet.comma_is_free)).is_some())
        && cells().any(|cell| cell.ends_with(['k', 'K', 'M', 'G']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_name(name: &str) -> Option<(String, Unit, f64)> {
        Measure::of_name(name).map(|(base, measure)| (base, measure.unit, measure.factor))
    }

    #[test]
    fn a_name_tells_its_unit() {
        let is = |name: &str, base: &str, unit: Unit, factor: f64| {
            assert_eq!(of_name(name), Some((base.to_owned(), unit, factor)), "{name}");
        };
        is("throughput_mb_s", "throughput", Unit::BytesPerSecond, 1e6);
        is("throughput_MiB_s", "throughput", Unit::BytesPerSecond, 1_048_576.0);
        is("Throughput (MB/s)", "throughput", Unit::BytesPerSecond, 1e6);
        is("Throughput MB/s", "throughput", Unit::BytesPerSecond, 1e6);
        is("Block Read [kB/s]", "block_read", Unit::BytesPerSecond, 1e3);
        is("link_mbps", "link", Unit::BytesPerSecond, 125e3);
        is("link_Mbps", "link", Unit::BytesPerSecond, 125e3);
        is("link_MBps", "link", Unit::BytesPerSecond, 1e6);
        is("max_latency_ms", "max_latency", Unit::Seconds, 1e-3);
        is("real_s", "real", Unit::Seconds, 1.0);
        is("random_seeks_s", "random_seeks", Unit::PerSecond, 1.0);
        is("reads_per_s", "reads", Unit::PerSecond, 1.0);
        is("read_iops", "read_iops", Unit::PerSecond, 1.0);
        is("seconds", "seconds", Unit::Seconds, 1.0);
        is("bytes", "bytes", Unit::Bytes, 1.0);
        is("steal_percent", "steal", Unit::Share, 0.01);
        is("IOPS (k)", "iops", Unit::PerSecond, 1e3);
        is("Reads/s [M]", "reads", Unit::PerSecond, 1e6);
        is("cpu (%)", "cpu", Unit::Share, 0.01);
        assert_eq!(of_name("disks"), None);
        assert_eq!(of_name("price_usd_h"), None);
        assert_eq!(of_name("status"), None);
        assert_eq!(of_name("mode (direct)"), None);
    }

    #[test]
    fn endings_that_end_alike_stand_longest_first() {
        for (index, (ending, _, _)) in ENDINGS.iter().enumerate() {
            let earlier =
                ENDINGS.iter().take(index).find(|(other, _, _)| ending.ends_with(&format!("_{other}")));
            assert_eq!(earlier, None, "{ending}");
        }
    }

    #[test]
    fn a_unit_is_read_as_in_quantities() {
        assert_eq!(Measure::of_text("MB/s"), Some(Measure { unit: Unit::BytesPerSecond, factor: 1e6 }));
        assert_eq!(Measure::of_text("%"), Some(Measure { unit: Unit::Share, factor: 0.01 }));
        assert_eq!(Measure::of_text("min"), Some(Measure { unit: Unit::Seconds, factor: 60.0 }));
        for wrong in ["", "5", "e5", ".5", "MB/h", "fast"] {
            assert_eq!(Measure::of_text(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_cell_with_its_unit_keeps_its_last_digit() {
        let (figure, unit) = written("61.7 MB/s").unwrap();
        assert_eq!((figure.value, unit), (61.7 * 1e6, Unit::BytesPerSecond));
        assert!((figure.step - 1e5).abs() < 1e-6);
        assert_eq!(written("12").unwrap().1, Unit::Plain);
        assert_eq!(written("fast"), None);
        assert_eq!(with_point("1,5", true), "1.5");
        assert_eq!(with_point("1,5", false), "1,5");
        assert_eq!(with_point("1.234,5", true), "1.234,5");
    }
}
