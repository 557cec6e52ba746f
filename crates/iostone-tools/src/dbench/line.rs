//! The lines of a dbench log, told apart.

use iostone_model::dataset::Figure;

use crate::units::{figure, step};

/// The last line of every run, as messages call it.
pub(super) const THROUGHPUT: &str = "`Throughput N MB/sec … procs`, the last line of a dbench run";
const SECOND: &str = "`CLIENTS LINE N MB/sec execute N sec latency N ms`";
const OPERATION: &str = "an operation with its count, mean and maximum latency in ms";

/// dbench counts a megabyte as 10^6 bytes (`1.0e-6 * total_bytes / t`).
const MEGABYTE: f64 = 1e6;

/// A rate in MB/s printed by `%7.2f`, exactly.
fn megabytes(text: &str) -> Option<Figure> {
    figure(&format!("{text}e6"), 1.0)
}

/// A time in ms printed by `%.03f`, exactly.
fn milliseconds(text: &str) -> Option<Figure> {
    figure(&format!("{text}e-3"), 1.0)
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Line<'a> {
    /// `dbench version 4.00 - …`.
    Version(&'a str),
    /// `Running for 12 seconds with load 'PATH' and minimum warmup 2 secs`.
    Running { seconds: u64, loadfile: &'a str, warm_up_seconds: u64 },
    /// What is printed once a second.
    Second(Second),
    /// The heading of a table of operations.
    Heading,
    /// `Per client results:`; the tables after it repeat the first one, client by client.
    PerClient,
    /// A row of such a table.
    Operation { name: &'a str, count: u64, mean: Option<Figure>, max: Option<Figure> },
    /// The last line.
    Throughput(Throughput),
    /// `Child failed with status 1`, after which nothing more comes.
    Failed(&'a str),
    /// What a client complains of.
    Complaint(&'a str),
    /// Anything else.
    Other,
}

/// What a one-second line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Before the counters are set to zero.
    WarmUp,
    /// The measured part.
    Execute,
    /// After it, while clients delete their files.
    CleanUp,
}

/// What is printed once a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Second {
    pub(super) phase: Phase,
    /// How many clients there are; None where the line counts only those still busy.
    pub(super) clients: Option<u64>,
    /// Lines of the loadfile that a client has come through since its start, warm-up included, on average. None where
    /// dbench's counter, an `int` summed over the clients, has run over into negative numbers.
    pub(super) lines: Option<u64>,
    /// The mean rate since the phase began.
    pub(super) rate: Option<Figure>,
    /// Whole seconds since the measured part (or the warm-up) began.
    pub(super) seconds: f64,
    /// The worst latency of that second; not in version 3.
    pub(super) latency: Option<Figure>,
    /// Whether it was printed for machines.
    pub(super) for_machines: bool,
}

/// The last line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Throughput {
    pub(super) rate: Figure,
    pub(super) sync: String,
    /// Not in version 3, where each process is one client.
    pub(super) clients: Option<u64>,
    pub(super) processes: u64,
    pub(super) latency_max: Option<Figure>,
    pub(super) for_machines: bool,
}

impl<'a> Line<'a> {
    /// Tells what a line is.
    ///
    /// # Errors
    /// What should stand there, where it begins like a line of dbench but does not go on like one.
    pub(super) fn of(text: &'a str) -> Result<Self, &'static str> {
        let trimmed = text.trim();
        if let Some(rest) = trimmed.strip_prefix("dbench version ") {
            return Ok(Self::Version(rest.split_whitespace().next().unwrap_or_default()));
        }
        if let Some(rest) = trimmed.strip_prefix("Running for ") {
            return running(rest).ok_or("`Running for N seconds with load 'FILE' and minimum warmup N secs`");
        }
        if trimmed.starts_with("Throughput ") {
            return throughput(trimmed).map(Self::Throughput).ok_or(THROUGHPUT);
        }
        if trimmed.starts_with(';') && trimmed.ends_with(';') && trimmed.matches(';').count() == 5 {
            return throughput_for_machines(trimmed)
                .map(Self::Throughput)
                .ok_or("`;N;CLIENTS;PROCS;LATENCY;`");
        }
        if ["@W@", "@R@", "@C@"].iter().any(|begin| trimmed.starts_with(begin)) {
            let rest = trimmed.trim_start_matches('@');
            return second_for_machines(rest)
                .map(Self::Second)
                .ok_or("`@W|R|C@CLIENTS@LINE@RATE@SECONDS@LATENCY@`");
        }
        if trimmed.starts_with(':') && trimmed.ends_with(':') && trimmed.matches(':').count() == 5 {
            return operation(trimmed.trim_matches(':').split(':')).ok_or(OPERATION);
        }
        let phase = [" warmup ", " execute ", " cleanup "].iter().any(|phase| trimmed.contains(phase));
        if phase && trimmed.starts_with(|first: char| first.is_ascii_digit()) && trimmed.contains(" sec") {
            return second(trimmed).map(Self::Second).ok_or(SECOND);
        }
        if trimmed.starts_with("Operation ") && trimmed.ends_with("MaxLat") {
            return Ok(Self::Heading);
        }
        if trimmed == "Per client results:" {
            return Ok(Self::PerClient);
        }
        if trimmed.starts_with("Child failed with status") || trimmed.starts_with("FAILED TO START") {
            return Ok(Self::Failed(trimmed));
        }
        let complaint = trimmed.contains("ERROR")
            || is_short_write(trimmed)
            || (trimmed.starts_with(['[', '(']) && trimmed.contains("failed"));
        Ok(if complaint { Self::Complaint(trimmed) } else { Self::Other })
    }

    /// A row of a table of operations in the human form; only asked for while in such a table.
    ///
    /// # Errors
    /// What should stand there.
    pub(super) fn operation(text: &'a str) -> Result<Self, &'static str> {
        operation(text.split_whitespace()).ok_or(OPERATION)
    }
}

/// `[72] wrote 4096 bytes, expected to write 65536 bytes on handle 9941` (fileio.c): write(2) writes a part only where the
/// volume has no room for the rest.
pub(super) fn is_short_write(text: &str) -> bool {
    text.contains("wrote ") && text.contains(" bytes, expected to write ")
}

fn running(rest: &str) -> Option<Line<'_>> {
    let (seconds, rest) = rest.split_once(" seconds with load '")?;
    let (loadfile, rest) = rest.rsplit_once("' and minimum warmup ")?;
    let warm_up_seconds = rest.strip_suffix(" secs")?.parse().ok()?;
    Some(Line::Running { seconds: seconds.parse().ok()?, loadfile, warm_up_seconds })
}

/// `   2     55372   627.96 MB/sec  warmup   1 sec  latency 5.751 ms`, in version 3 without latency; from version 4 on
/// the clean-up has only `   2  cleanup  12 sec`.
fn second(text: &str) -> Option<Second> {
    let mut words = text.split_whitespace();
    let clients: u64 = words.next()?.parse().ok()?;
    let mut word = words.next()?;
    let (mut lines, mut rate) = (None, None);
    if word != "cleanup" {
        lines = counter(word)?;
        rate = Some(megabytes(words.next()?)?);
        (words.next()? == "MB/sec").then_some(())?;
        word = words.next()?;
    }
    let phase = match word {
        "warmup" => Phase::WarmUp,
        "execute" => Phase::Execute,
        "cleanup" => Phase::CleanUp,
        _ => return None,
    };
    let seconds = words.next()?.parse().ok()?;
    (words.next()? == "sec").then_some(())?;
    let latency = match words.next() {
        None => None,
        Some("latency") => Some(milliseconds(words.next()?)?),
        Some(_) => return None,
    };
    // Version 4 and 5 count only the busy ones while warming or cleaning up.
    let clients = (phase == Phase::Execute).then_some(clients);
    Some(Second { phase, clients, lines, rate, seconds, latency, for_machines: false })
}

/// `R@2@47350@543.41@1@5.652@`.
fn second_for_machines(text: &str) -> Option<Second> {
    let mut parts = text.split('@');
    let phase = match parts.next()? {
        "W" => Phase::WarmUp,
        "R" => Phase::Execute,
        "C" => Phase::CleanUp,
        _ => return None,
    };
    parts.next()?.parse::<u64>().ok()?;
    let lines = counter(parts.next()?)?;
    let rate = Some(megabytes(parts.next()?)?);
    let seconds = parts.next()?.parse().ok()?;
    let latency = Some(milliseconds(parts.next()?)?);
    (parts.next() == Some("")).then_some(())?;
    Some(Second { phase, clients: None, lines, rate, seconds, latency, for_machines: true })
}

/// A counter that may have run over; the outer None is for what is no number.
#[expect(clippy::option_option, reason = "two different absences")]
fn counter(text: &str) -> Option<Option<u64>> {
    text.parse::<i64>().ok().map(|lines| u64::try_from(lines).ok())
}

fn operation<'a>(mut parts: impl Iterator<Item = &'a str>) -> Option<Line<'a>> {
    let name = parts.next()?;
    let count = parts.next()?.parse().ok()?;
    // A client that did none of them has `-nan` as its mean.
    let time = |text: &str| {
        if text.ends_with("nan") { Some(None) } else { milliseconds(text).map(Some) }
    };
    let mean = time(parts.next()?)?;
    let max = time(parts.next()?)?;
    parts.next().is_none().then_some(Line::Operation { name, count, mean, max })
}

/// `Throughput 23.831 MB/sec (sync open) (sync dirs)  2 clients  2 procs  max_latency=27.931 ms`; version 3 ends with
/// ` 2 procs`.
fn throughput(text: &str) -> Option<Throughput> {
    let (rate, mut rest) = text.strip_prefix("Throughput ")?.split_once(" MB/sec")?;
    let mut sync = Vec::new();
    for (shown, name) in [(" (sync open)", "open"), (" (sync dirs)", "dirs")] {
        if let Some(after) = rest.strip_prefix(shown) {
            sync.push(name);
            rest = after;
        }
    }
    let words: Vec<&str> = rest.split_whitespace().collect();
    let (clients, processes, latency_max) = match words.as_slice() {
        [processes, "procs"] => (None, processes, None),
        [clients, "clients", processes, "procs"] => (Some(clients), processes, None),
        [clients, "clients", processes, "procs", latency, "ms"] => {
            let latency = milliseconds(latency.strip_prefix("max_latency=")?)?;
            (Some(clients), processes, Some(latency))
        }
        [processes, "procs", latency, "ms"] => {
            (None, processes, Some(milliseconds(latency.strip_prefix("max_latency=")?)?))
        }
        _ => return None,
    };
    Some(Throughput {
        rate: six_digits(rate)?,
        sync: if sync.is_empty() { "none".to_owned() } else { sync.join(" and ") },
        clients: clients.map(|clients| clients.parse()).transpose().ok()?,
        processes: processes.parse().ok()?,
        latency_max,
        for_machines: false,
    })
}

/// `;0;2;2;16.517;`. Its options are not told.
fn throughput_for_machines(text: &str) -> Option<Throughput> {
    let mut parts = text.trim_matches(';').split(';');
    let rate = six_digits(parts.next()?)?;
    let clients = Some(parts.next()?.parse().ok()?);
    let processes = parts.next()?.parse().ok()?;
    let latency_max = Some(milliseconds(parts.next()?)?);
    Some(Throughput { rate, sync: String::new(), clients, processes, latency_max, for_machines: true })
}

/// A rate printed by `%g`: six significant digits, of which zeros at the end are left out.
fn six_digits(text: &str) -> Option<Figure> {
    let printed = figure(text, MEGABYTE)?;
    let value = text.trim().parse::<f64>().ok()?;
    if value == 0.0 {
        return Some(Figure { step: step("0.00001") * MEGABYTE, ..printed });
    }
    Some(Figure { step: 10f64.powf(value.abs().log10().floor() - 5.0) * MEGABYTE, ..printed })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_second_of_each_version_is_read() {
        let Ok(Line::Second(three)) = Line::of("   2    109759  1216.43 MB/sec  warmup   1 sec   ") else {
            panic!()
        };
        assert_eq!((three.phase, three.lines, three.latency), (Phase::WarmUp, Some(109_759), None));
        let Ok(Line::Second(four)) = Line::of("   2  cleanup  12 sec") else { panic!() };
        assert_eq!((four.phase, four.rate, four.seconds), (Phase::CleanUp, None, 12.0));
        let Ok(Line::Second(five)) = Line::of("@R@2@47350@543.41@1@5.652@") else { panic!() };
        assert_eq!(five.rate, figure("543.41e6", 1.0));
        assert!(Line::of("   2     55372   6x7.96 MB/sec  warmup   1 sec").is_err());
    }

    #[test]
    fn the_last_line_of_each_version_is_read() {
        let line =
            "Throughput 23.831 MB/sec (sync open) (sync dirs)  2 clients  2 procs  max_latency=27.931 ms";
        let Ok(Line::Throughput(four)) = Line::of(line) else { panic!() };
        assert_eq!((four.sync.as_str(), four.clients, four.processes), ("open and dirs", Some(2), 2));
        assert!((four.rate.step - 100.0).abs() < 1e-9, "{:?}", four.rate);
        let Ok(Line::Throughput(three)) = Line::of("Throughput 866.803 MB/sec 2 procs") else { panic!() };
        assert_eq!((three.clients, three.latency_max), (None, None));
        let Ok(Line::Throughput(fast)) = Line::of("Throughput 1.00001e+06 MB/sec 2 procs") else { panic!() };
        assert_eq!(fast.rate.value.to_bits(), 1.00001e12f64.to_bits());
        assert!(Line::of("Throughput 866.803 MB/sec 2").is_err());
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "\\PC{0,80}") {
            let _ = Line::of(&text);
            let _ = Line::operation(&text);
        }
    }
}
