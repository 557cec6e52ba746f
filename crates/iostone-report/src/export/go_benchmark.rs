//! The Go benchmark format (<https://go.dev/design/14313-benchmark-format>), which benchstat reads: a line for each observation.

use std::fmt::Write;

use iostone_model::metric::{Direction, Unit};

use super::Exported;

pub(super) fn write(run: &Exported<'_>) -> String {
    let mut text = String::new();
    for (key, value) in [("experiment", run.experiment), ("host", run.host), ("run", run.directory)] {
        let value = value.replace(['\n', '\r'], " ");
        if !value.trim().is_empty() {
            let _ = writeln!(text, "{key}: {value}");
        }
    }
    for (name, note) in &run.dataset.metrics {
        if let Some(better) = note.better {
            let better = match better {
                Direction::Higher => "higher",
                Direction::Lower => "lower",
            };
            let _ = writeln!(text, "Unit {} better={better}", unit_of(name, note.unit));
        }
    }
    text.push('\n');
    for observation in &run.dataset.observations {
        let levels = run.dataset.factors.iter().filter_map(|factor| {
            Some(format!("/{}={}", word(factor), word(observation.labels.get(factor)?)))
        });
        let mut name =
            format!("Benchmark{}{}", capitalised(&word(run.experiment)), levels.collect::<String>());
        // A number behind a dash would be taken for GOMAXPROCS.
        if let Some((head, tail)) = name.rsplit_once('-')
            && !tail.is_empty()
            && tail.bytes().all(|byte| byte.is_ascii_digit())
        {
            name = format!("{head}_{tail}");
        }
        let figures = observation.figures.iter().filter(|(_, figure)| figure.value.is_finite());
        let figures: Vec<String> = figures
            .map(|(metric, figure)| {
                format!("{} {}", figure.value, unit_of(metric, run.dataset.unit_of(metric)))
            })
            .collect();
        if !figures.is_empty() {
            let _ = writeln!(text, "{name} 1 {}", figures.join(" "));
        }
    }
    text
}

/// The metric with its base unit behind a dash, as `ns` and `MB` would be rescaled: `throughput-B/s`, `latency_p99-sec`.
fn unit_of(metric: &str, unit: Unit) -> String {
    let metric = word(metric).replace('-', "_");
    match unit {
        Unit::Seconds => format!("{metric}-sec"),
        Unit::BytesPerSecond => format!("{metric}-B/s"),
        Unit::Bytes => format!("{metric}-B"),
        Unit::PerSecond => format!("{metric}/s"),
        Unit::Share | Unit::Plain => metric,
    }
}

/// A name without what parts the words of a line, and the parts of a name.
fn word(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_whitespace() || c.is_control() || "/=\"".contains(c) { '_' } else { c })
        .collect()
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}
