//! The I/Os behind a figure of a dataset: how large they are and whether they follow each other, as far as it tells.

use iostone_cloud::explain::{Flow, IoShape};
use iostone_model::dataset::Observation;
use iostone_model::units::Bytes;

/// Rates are printed with three digits or so: this far from a power of two a quotient of two of them still is one.
const DIGITS: f64 = 0.02;
/// No I/O of any tool is larger.
const LARGEST: f64 = 4_294_967_296.0;
const RANDOM_WORDS: &[&str] =
    &["rand", "random", "randread", "randwrite", "randrw", "rndrd", "rndwr", "rndrw"];
const SEQUENTIAL_WORDS: &[&str] = &["seq", "sequential", "seqread", "seqwrite", "seqrd", "seqwr", "seqrewr"];

/// The I/Os of a figure.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct FigureIo {
    /// Their shape, where it is known or has to be assumed.
    pub(crate) shape: Option<IoShape>,
    /// Whether their number can be held against what volumes count: not where memory puts others in their place, nor where the kernel
    /// and the volume join them and nobody knows how many make one.
    pub(crate) are_the_volumes: bool,
    /// What was assumed, a sentence without its point.
    pub(crate) assumed: Option<String>,
}

/// Whether a figure is a number of I/Os that carry data.
pub(crate) fn is_counted(metric: &str) -> bool {
    metric == "iops" || metric.strip_suffix(".iops").is_some_and(|way| way != "trim")
}

/// Whether a figure of one direction is that of all: where a tool prints both, nothing else moved.
pub(crate) fn is_repeated(observation: &Observation, metric: &str) -> bool {
    let whole = ["read.", "write."].iter().find_map(|prefix| metric.strip_prefix(prefix));
    let both = whole.and_then(|whole| observation.value(whole)).zip(observation.value(metric));
    both.is_some_and(|(whole, part)| (whole - part).abs() <= f64::EPSILON * whole.abs())
}

/// The I/Os of a figure whose bytes went that way.
pub(crate) fn of_figure(observation: &Observation, metric: &str, flow: Option<Flow>) -> FigureIo {
    let sequential = is_sequential(observation, metric);
    let is_buffered = observation.facts.direct == Some(false);
    // Readahead and write-back make I/Os of their own; only reads anywhere reach a device much as they were asked for.
    if is_buffered && !(flow == Some(Flow::Read) && sequential == Some(false)) {
        return FigureIo::default();
    }
    let labelled = || labelled(observation).filter(|_| is_counted(metric) || sequential.is_some());
    let size = quotient(observation, metric).or_else(labelled);
    let shape = size.map(|bytes| IoShape { bytes, sequential: sequential == Some(true), request: None });
    let assumed = match (sequential, size) {
        (None, Some(_)) => Some(
            "whether I/Os followed each other is not recorded: they are taken to lie anywhere, for adjacent small ones are \
             counted together",
        ),
        (Some(false) | None, None) if is_counted(metric) => {
            Some("the size of an I/O is not recorded: each is taken to count as one")
        }
        _ => None,
    };
    FigureIo {
        shape,
        are_the_volumes: size.is_some() || sequential != Some(true),
        assumed: assumed.map(str::to_owned),
    }
}

/// Bytes a second over I/Os a second.
fn quotient(observation: &Observation, metric: &str) -> Option<u64> {
    let way = metric.strip_suffix("iops").or_else(|| metric.strip_suffix("throughput"))?;
    if !(way.is_empty() || way.ends_with('.')) {
        return None;
    }
    let bytes = observation.value(&format!("{way}throughput"))?;
    whole(bytes / observation.value(&format!("{way}iops"))?)
}

/// A whole number of bytes, a power of two where it is near one.
fn whole(bytes: f64) -> Option<u64> {
    if !(bytes.is_finite() && (1.0..=LARGEST).contains(&bytes)) {
        return None;
    }
    let power = bytes.log2().round().exp2();
    let near = if (bytes / power - 1.0).abs() <= DIGITS { power } else { bytes.round() };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and 2^32")]
    let whole = near as u64;
    Some(whole)
}

/// As a label says it: fio's `bs`, elbencho's `block_size`; a range of sizes is none.
fn labelled(observation: &Observation) -> Option<u64> {
    let text = ["bs", "block_size"].iter().find_map(|label| observation.labels.get(*label))?;
    let text = text.trim().to_ascii_lowercase();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let unit = match unit {
        "" | "b" => "B",
        "k" | "kb" | "kib" => "KiB",
        "m" | "mb" | "mib" => "MiB",
        _ => return None,
    };
    let Bytes(bytes) = format!("{number}{unit}").parse().ok()?;
    (bytes > 0).then_some(bytes)
}

/// Whether the I/Os follow each other; none where nothing tells.
fn is_sequential(observation: &Observation, metric: &str) -> Option<bool> {
    let label = |name: &str| observation.labels.get(name).map(|value| value.trim().to_ascii_lowercase());
    match label("random").as_deref() {
        Some("yes" | "1" | "true") => return Some(false),
        Some("no" | "0" | "false") => return Some(true),
        _ => {}
    }
    if let Some(rw) = label("rw") {
        return match rw.split(':').next().unwrap_or_default() {
            "read" | "write" | "rw" | "readwrite" => Some(true),
            rw if rw.starts_with("rand") => Some(false),
            _ => None,
        };
    }
    let told = |text: &str| {
        let text = text.to_ascii_lowercase();
        let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        let has = |some: &[&str]| words.iter().any(|word| some.contains(word));
        match (has(RANDOM_WORDS), has(SEQUENTIAL_WORDS)) {
            (true, false) => Some(false),
            (false, true) => Some(true),
            _ => None,
        }
    };
    let labels = || ["pattern", "mode", "test"].iter().find_map(|name| told(&label(name)?));
    let work = || observation.facts.work.as_deref().and_then(told);
    told(metric).or_else(labels).or_else(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(labels: &[(&str, &str)], figures: &[(&str, f64)]) -> Observation {
        let mut made = Observation::default();
        made.labels.extend(labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        made.figures.extend(figures.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())));
        made
    }

    #[test]
    fn the_size_is_bytes_over_ios_or_what_the_tool_was_told() {
        let of = |labels: &[(&str, &str)], figures: &[(&str, f64)], metric: &str| {
            of_figure(&made(labels, figures), metric, Some(Flow::Read)).shape.map(|shape| shape.bytes)
        };
        let pair = [("throughput", 154e6), ("iops", 37_700.0)];
        assert_eq!(of(&[], &pair, "throughput"), Some(4096));
        assert_eq!(of(&[], &pair, "iops"), Some(4096));
        assert_eq!(of(&[], &[("read.throughput", 12e6), ("read.iops", 1000.0)], "read.iops"), Some(12_000));
        assert_eq!(of(&[("bs", "16k"), ("rw", "randread")], &[("iops", 9.0)], "iops"), Some(16_384));
        assert_eq!(of(&[("bs", "4k-64k")], &[("iops", 9.0)], "iops"), None);
        assert_eq!(of(&[("bs", "512")], &[("throughput", 1e8)], "throughput"), None);
        assert_eq!(of(&[], &[("throughput", 1e8), ("iops", 0.0)], "iops"), None);
    }

    #[test]
    fn what_memory_puts_in_their_place_is_not_what_volumes_count() {
        let of = |rw: &str, direct: Option<bool>, flow: Flow| {
            let mut made = made(&[("rw", rw)], &[("throughput", 81.92e6), ("iops", 20_000.0)]);
            made.facts.direct = direct;
            let io = of_figure(&made, "iops", Some(flow));
            (io.are_the_volumes, io.shape.map(|shape| shape.sequential), io.assumed.is_some())
        };
        assert_eq!(of("randread", Some(true), Flow::Read), (true, Some(false), false));
        assert_eq!(of("read", Some(true), Flow::Read), (true, Some(true), false));
        assert_eq!(of("randread", Some(false), Flow::Read), (true, Some(false), false));
        assert_eq!(of("read", Some(false), Flow::Read), (false, None, false));
        assert_eq!(of("randwrite", Some(false), Flow::Write), (false, None, false));
        assert_eq!(of("trimwrite", Some(true), Flow::Write), (true, Some(false), true));
    }

    #[test]
    fn a_direction_that_is_all_there_was_is_told_once() {
        let read = made(&[], &[("iops", 9.0), ("read.iops", 9.0), ("write.iops", 1.0)]);
        assert!(is_repeated(&read, "read.iops") && !is_repeated(&read, "write.iops"));
        assert!(!is_repeated(&read, "iops"));
        assert!(is_counted("read.iops") && !is_counted("trim.iops") && !is_counted("random_seeks"));
    }
}
