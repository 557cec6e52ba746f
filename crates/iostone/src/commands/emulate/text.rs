//! What `iostone emulate` says for people: before the command one line, after it a table.

use std::time::Duration;

use iostone_model::metric::Unit;
use iostone_model::units::Bytes;
use iostone_report::clean;
use iostone_stack::Applied;

use super::document::EmulateDocument;
use super::request::EmulationRequest;
use crate::progress::in_words;

/// Below this share of its time the command was not held by its volumes.
const HELD: f64 = 0.9;

/// Where the command works, and on what.
pub(super) fn welcome(asked: &EmulationRequest, applied: &Applied) -> String {
    let target = &applied.target;
    let place = target.directory.as_ref().or(target.device.as_ref());
    let place = place.map_or_else(|| "nowhere".to_owned(), |path| path.display().to_string());
    let filesystem = asked.stack.filesystem.name().unwrap_or("no filesystem");
    let link = asked
        .stack
        .link
        .map_or_else(|| "no link".to_owned(), |link| format!("a link of {}", link.in_words()));
    let size = asked.volume().map_or(Bytes(0), iostone_model::experiment::EmulatedVolume::total_size);
    clean(&format!(
        "iostone emulate: {} behind {link} of {}, {}: {} of {filesystem} in {place}",
        asked.volumes,
        asked.instance.emulate,
        pace(asked.instance.speed),
        size.approximate()
    ))
}

fn pace(speed: f64) -> String {
    if speed > 1.0 { format!("{speed} times faster") } else { "in real time".to_owned() }
}

/// A table, a line for each figure.
pub(super) fn describe(document: &EmulateDocument) -> String {
    let mut rows: Vec<(&str, String)> = Vec::new();
    let here = Unit::Seconds.format(document.wall_seconds);
    let stood_for = Duration::try_from_secs_f64(document.real_seconds).map(in_words).unwrap_or_default();
    rows.push((
        "time",
        if document.speed > 1.0 { format!("{here}, which stand for {stood_for}") } else { here },
    ));
    rows.push((
        "stands for",
        format!(
            "{} on {}, limits of {}, {}",
            document.volumes,
            document.instance,
            document.date,
            pace(document.speed)
        ),
    ));
    match (document.read_bytes, document.written_bytes) {
        (Some(read), Some(written)) => {
            let size = |bytes: u64| Bytes(bytes).approximate();
            let ios =
                document.ios.map(|ios| format!(", {ios} I/Os as the volumes count")).unwrap_or_default();
            rows.push(("passed", format!("{} read, {} written{ios}", size(read), size(written))));
        }
        _ => rows.push(("passed", "unknown: the disk server did not report it".to_owned())),
    }
    if let Some(rate) = document.bytes_per_second {
        rows.push(("rate", Unit::BytesPerSecond.format(rate)));
    }
    if let Some(predicted) = &document.predicted {
        let least = Unit::Seconds.format(predicted.seconds);
        let share = predicted.share_of_time * 100.0;
        let words = if predicted.share_of_time >= HELD {
            format!("{} binds: needs at least {least}, {share:.1} % of the time", predicted.binding)
        } else {
            format!(
                "none of these limits: the volumes need at least {least}, {share:.1} % of the time; the lowest ceiling is {}",
                predicted.binding
            )
        };
        rows.push(("bound by", words));
    }
    for bucket in &document.buckets {
        rows.push((
            "bucket",
            format!("{}: {:.0} at the start, {:.0} at the end", bucket.name, bucket.from, bucket.to),
        ));
    }
    if let Some(record) = &document.governor {
        rows.push(("processors", record.governor.in_words()));
    }
    let how = match document.signal {
        Some(signal) => format!("ended by signal {signal}"),
        None => format!("ended with status {}", document.exit_code),
    };
    let name = document.command.first().map_or("the command", String::as_str);
    let mut lines = vec![format!("iostone emulate: `{name}` {how}")];
    lines.extend(rows.into_iter().map(|(name, value)| format!("  {name:<12}{value}")));
    lines.iter().map(|line| clean(line)).collect::<Vec<_>>().join("\n") + "\n"
}
