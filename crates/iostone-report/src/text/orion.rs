//! An ORION test for the terminal: the answers, every load of both axes as a bar, and the matrix in small.

use iostone_model::metric::Unit;
use iostone_model::orion::{LoadPoint, OrionFindings, OrionRecord};

use super::wrap::{columns, wrap};
use super::{Page, TextStyle};
use crate::figures::figure;
use crate::ink::{Ink, clean, dye};
use crate::load_points::{self, Aspect, Reading, axes_of, first_column, first_row, readings};

/// Eighths of a block, so that a bar of few columns still tells neighbours apart.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
/// A bar longer than this is no easier to read.
const LONGEST_BAR: usize = 32;
/// What stands above the large loads and beside the small ones.
const CORNER: &str = "large\\small";
/// Figures of a row of loads: what it is, and how long the slow I/Os take.
const FIGURES: usize = 5;

/// See [`crate::orion_text()`].
pub(crate) fn write(record: &OrionRecord, findings: &OrionFindings, style: TextStyle) -> String {
    let mut page = Page::new(style);
    let readings = readings(record);
    page.add(dye(Ink::Bold, &wrap(&clean(&load_points::answer(record, findings)), page.width)));
    let ended = load_points::ending(record).map(|ended| page.heed(&ended)).unwrap_or_default();
    page.add(ended);
    page.add(dye(Ink::Dim, &wrap(&clean(&terms(record)), page.width)));
    let answers = answers(record, findings);
    page.add_list("Answers", &answers);
    let (large, row) = first_row(&readings);
    let title = format!("Small I/O{}", beside("Large", large));
    page.add(loads(&title, "Small", &row, Aspect::Iops, page.width));
    let (small, column) = first_column(&readings);
    let title = format!("Large I/O{}", beside("Small", small));
    page.add(loads(&title, "Large", &column, Aspect::Throughput, page.width));
    for aspect in Aspect::ALL {
        page.add(matrix(&readings, aspect, page.width).unwrap_or_default());
    }
    if readings.iter().any(|reading| reading.error.is_some()) {
        let sentence = "~ marks points that were not measured but estimated from their neighbours.";
        page.add(dye(Ink::Dim, &wrap(sentence, page.width)));
    }
    let remarks = load_points::first_remarks(&findings.remarks);
    let remarks: Vec<String> = remarks.iter().map(|remark| page.heed(remark)).collect();
    page.add(remarks.join("\n"));
    page.finish(style)
}

fn beside(other: &str, load: u32) -> String {
    if load == 0 { String::new() } else { format!(" beside {other}={load}") }
}

/// "29 points, 2 LUNs, 20.0 GiB together, -write 20, page cache bypassed".
fn terms(record: &OrionRecord) -> String {
    let header = &record.header;
    let writes = header.test.write_percent;
    let writes = if writes > 0 { format!("{writes} % writes") } else { "reads only".to_owned() };
    let cache = if header.direct { "page cache bypassed" } else { "through the page cache" };
    format!("{}, {writes}, {cache}", load_points::extent_words(record))
}

/// The maxima with where they lie, what bounds them, and the knee.
fn answers(record: &OrionRecord, findings: &OrionFindings) -> Vec<(String, String)> {
    let maxima = &findings.maxima;
    let mut answers: Vec<(String, String)> = [
        ("Maximum IOPS", Aspect::Iops, maxima.iops),
        ("Maximum MBPS", Aspect::Throughput, maxima.throughput),
        ("Lowest latency", Aspect::Latency, maxima.latency),
    ]
    .into_iter()
    .filter_map(|(name, aspect, maximum)| {
        let maximum = maximum?;
        // Of a single point, the line of its load says it better.
        if aspect == Aspect::Latency && record.points.len() == 1 {
            return None;
        }
        let place = load_points::place_words(&maximum, record);
        Some((name.to_owned(), format!("{} {place}", aspect.write(maximum.value))))
    })
    .collect();
    let ceilings = findings.ceilings.iter().map(|ceiling| {
        let name = if ceiling.small { "Small ceiling" } else { "Large ceiling" };
        (name.to_owned(), clean(&ceiling.sentence))
    });
    answers.extend(ceilings);
    answers.extend(findings.knee.as_ref().map(|knee| {
        let sentence = load_points::knee_sentence(knee, &record.points);
        let sentence = match load_points::knee_words(knee) {
            Some(words) => format!("{}. {sentence}", crate::svg::forest::capitalised(&words)),
            None => sentence,
        };
        ("Knee".to_owned(), sentence)
    }));
    answers
}

/// A line for each load: its rate as a bar and as a figure, and its latencies.
fn loads(title: &str, axis: &str, readings: &[Reading<'_>], aspect: Aspect, width: usize) -> String {
    let lines: Vec<(u32, f64, [String; FIGURES])> = readings
        .iter()
        .filter_map(|reading| {
            let value = reading.get(aspect)?;
            let load = if aspect == Aspect::Throughput { reading.point.large } else { reading.point.small };
            Some((load, value, figures(reading, aspect, value)))
        })
        .collect();
    let highest = lines.iter().map(|(_, value, _)| *value).fold(0.0, f64::max);
    if lines.is_empty() || highest <= 0.0 {
        return String::new();
    }
    let rate = if aspect == Aspect::Throughput { "MB/s" } else { "IOPS" };
    let head = [rate, "mean", "p50", "p99", "p99.9"].map(str::to_owned);
    let rows = || std::iter::once(&head).chain(lines.iter().map(|(_, _, figures)| figures));
    let widths: Vec<usize> = (0..FIGURES)
        .map(|at| rows().filter_map(|row| row.get(at)).map(|text| columns(text)).max().unwrap_or(0))
        .collect();
    let taken = 2 + 6 + widths.iter().map(|width| width + 2).sum::<usize>();
    let room = width.saturating_sub(taken + 2).min(LONGEST_BAR);
    let line = |load: &str, figures: &[String; FIGURES], bar: &str| {
        let mut line = format!("  {load:>6}");
        for (text, width) in figures.iter().zip(&widths) {
            line.push_str(&" ".repeat(2 + width.saturating_sub(columns(text))));
            line.push_str(text);
        }
        format!("{line}  {bar}").trim_end().to_owned()
    };
    let mut text = vec![dye(Ink::Bold, title), dye(Ink::Dim, &line(axis, &head, ""))];
    for (load, value, figures) in &lines {
        // A bar of two columns would say nothing.
        let bar = if room < 4 { String::new() } else { bar(value / highest, room) };
        text.push(line(&load.to_string(), figures, &bar));
    }
    text.join("\n")
}

fn figures(reading: &Reading<'_>, aspect: Aspect, value: f64) -> [String; FIGURES] {
    let about = if reading.error.is_some() { "~" } else { "" };
    let rate = match aspect {
        Aspect::Throughput => load_points::three(value / 1e6),
        _ => load_points::iops(value),
    };
    let io = reading.record.and_then(|point| match aspect {
        Aspect::Throughput => point.large_io.as_ref(),
        _ => point.small_io.as_ref(),
    });
    let latency = io.and_then(|io| io.latency.as_ref());
    let seconds = |seconds: f64| figure(Unit::Seconds, seconds);
    let mean = latency.map(|latency| seconds(latency.mean));
    let mean = mean.or_else(|| {
        reading.latency.filter(|_| aspect == Aspect::Iops).map(|mean| format!("~{}", seconds(mean)))
    });
    [
        format!("{about}{rate}"),
        mean.unwrap_or_default(),
        latency.map(|latency| seconds(latency.p50)).unwrap_or_default(),
        latency.map(|latency| seconds(latency.p99)).unwrap_or_default(),
        latency.map(|latency| seconds(latency.p99_9)).unwrap_or_default(),
    ]
}

/// A bar of at most `room` columns.
fn bar(share: f64, room: usize) -> String {
    let wanted = share.clamp(0.0, 1.0) * room as f64 * 8.0;
    let mut bar = String::new();
    // Column by column: whole blocks, then the rest in eighths; something always shows.
    for column in 0..room {
        let rest = wanted - column as f64 * 8.0;
        let eighths = (1..=8_usize).filter(|eighth| rest >= *eighth as f64 - 0.5).count();
        let Some(block) = eighths.checked_sub(1).and_then(|at| EIGHTHS.get(at)) else { break };
        bar.push(*block);
    }
    if bar.is_empty() { EIGHTHS.first().map(char::to_string).unwrap_or_default() } else { bar }
}

/// Rows and columns of one figure, as many columns as fit; nothing where the points are no matrix.
fn matrix(readings: &[Reading<'_>], aspect: Aspect, width: usize) -> Option<String> {
    let (loads, rows) = axes_of(readings, aspect)?;
    let highest = readings.iter().filter_map(|reading| reading.get(aspect)).fold(0.0, f64::max);
    let (divisor, unit) = match aspect {
        Aspect::Iops if highest >= 1e5 => (1e3, "thousands a second"),
        Aspect::Iops => (1.0, "a second"),
        Aspect::Latency if highest >= 1e-2 => (1e-3, "ms"),
        Aspect::Latency => (1e-6, "µs"),
        Aspect::Throughput => (1e6, "MB/s"),
    };
    let write = |small: u32, large: u32| {
        let point = LoadPoint { small, large };
        let Some(reading) = readings.iter().find(|reading| reading.point == point) else {
            return "·".to_owned();
        };
        let about = if reading.error.is_some() { "~" } else { "" };
        let value = reading.get(aspect).map(|value| match aspect {
            Aspect::Iops if divisor > 1.0 => load_points::three(value / divisor),
            Aspect::Iops => load_points::iops(value),
            _ => load_points::three(value / divisor),
        });
        value.map_or_else(|| "·".to_owned(), |value| format!("{about}{value}"))
    };
    let widest =
        rows.iter().flat_map(|large| loads.iter().map(|small| columns(&write(*small, *large)))).max()?;
    let cell = widest.max(loads.last().map_or(0, |load| load.to_string().len())) + 1;
    let first = columns(CORNER);
    let fits = width.saturating_sub(first) / cell;
    let shown = thinned(&loads, fits.max(2));
    let mut title = format!("{} at every pair of loads, {unit}", aspect.title());
    if shown.len() < loads.len() {
        title = format!("{title}; {} of {} small loads", shown.len(), loads.len());
    }
    let mut lines = vec![dye(Ink::Bold, &wrap(&title, width))];
    let joined = |label: &str, cells: Vec<String>| {
        let cells: String =
            cells.iter().map(|text| " ".repeat(cell.saturating_sub(columns(text))) + text).collect();
        format!("{}{label}{cells}", " ".repeat(first.saturating_sub(columns(label))))
    };
    let head = joined(CORNER, shown.iter().map(u32::to_string).collect());
    lines.push(dye(Ink::Dim, &head));
    lines.extend(
        rows.iter().map(|large| {
            joined(&large.to_string(), shown.iter().map(|small| write(*small, *large)).collect())
        }),
    );
    Some(lines.join("\n"))
}

/// At most so many of them, evenly, the first and the last always.
fn thinned(loads: &[u32], most: usize) -> Vec<u32> {
    if loads.len() <= most {
        return loads.to_vec();
    }
    let last = loads.len() - 1;
    let steps = most.saturating_sub(1).max(1);
    (0..most).filter_map(|at| loads.get((at * last + steps / 2) / steps).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        assert_eq!(bar(1.0, 4), "████");
        assert_eq!(bar(0.5, 4), "██");
        assert_eq!(bar(0.53125, 4), "██▏");
        assert_eq!(bar(0.0, 4), "▏");
    }

    #[test]
    fn the_first_and_the_last_load_stay() {
        let loads: Vec<u32> = (0..=20).collect();
        assert_eq!(thinned(&loads, 5), [0, 5, 10, 15, 20]);
        assert_eq!(thinned(&loads, 30), loads);
        assert_eq!(thinned(&[1, 2, 3], 2), [1, 3]);
    }
}
