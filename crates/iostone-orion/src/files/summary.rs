//! `_summary.txt`: what was asked, of which LUNs, and the maxima.

use std::fmt::Write;

use iostone_model::figures::counted;
use iostone_model::orion::{LargeIo, OrionRecord, OrionTest, RunLevel, SimulatedArray};
use iostone_model::units::Bytes;

use super::Format;
use super::cells::{listed_columns, listed_rows};
use super::results::{maxima, one_line, reservations, told_points};
use super::tables::push_loads;

const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;

/// The text of the summary. Its first line is ORION's, since readers tell the layout and the unit of latencies by it; a line
/// below says who measured.
pub fn summary(record: &OrionRecord, format: Format) -> String {
    let header = &record.header;
    let mut text = match format {
        Format::V11_1 => format!("ORION VERSION {}\n", format.banner_version()),
        Format::V12 => format!("ORION: ORacle IO Numbers -- Version {}\n", format.banner_version()),
    };
    let _ = write!(text, "\nCommandline:\n{}\n\n", command_line(&header.arguments));
    push_settings(&mut text, &header.test);
    text.push_str("Small Columns:");
    push_loads(&mut text, &listed_columns(record));
    text.push_str("\nLarge Columns:");
    push_loads(&mut text, &listed_rows(record));
    let _ = writeln!(text, "\nTotal Data Points: {}\n", told_points(record));
    let _ = writeln!(
        text,
        "Measured by iostone {}, in the layout of ORION {format}",
        one_line(&header.iostone_version)
    );
    for line in conditions(record).into_iter().chain(reservations(record)) {
        let _ = writeln!(text, "{line}");
    }
    text.push('\n');
    for lun in &header.luns {
        let _ = writeln!(text, "Name: {} Size: {}", one_line(&lun.name), lun.bytes);
    }
    let files = match format {
        Format::V11_1 => "FILEs",
        Format::V12 => "files",
    };
    let _ = writeln!(text, "{} {files} found.\n", header.luns.len());
    text + &maxima(record, format)
}

/// What iostone measured otherwise than ORION would have.
fn conditions(record: &OrionRecord) -> Vec<String> {
    let header = &record.header;
    let mut lines = Vec::new();
    if header.test.run == RunLevel::Dss {
        lines.push("The large loads of dss are those of iostone: ORION's are not publicly known".to_owned());
    }
    if !header.direct {
        lines.push(
            "The page cache was not gone around: these are figures of memory as much as of storage"
                .to_owned(),
        );
    }
    if let Some(until) = header.until {
        lines.push(format!(
            "A point ended once its rate was known within {:.2} %, and at the duration above at the latest",
            until * 100.0
        ));
    }
    let noted = record.points.iter().filter(|point| !point.notes.is_empty()).count();
    if noted > 0 {
        lines.push(format!("Notes on {} are in the trace", counted(noted, "point")));
    }
    lines
}

/// The words as they were typed; those with blanks in quotes.
fn command_line(arguments: &[String]) -> String {
    let shown = arguments.iter().map(|word| {
        let word = one_line(word);
        if word.is_empty() || word.contains(' ') { format!("'{word}'") } else { word }
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn push_settings(text: &mut String, asked: &OrionTest) {
    let large = match asked.large_io {
        LargeIo::Rand => "Large Random IOs",
        LargeIo::Seq => "Large Sequential Streams",
    };
    let _ = write!(
        text,
        "This maps to this test:\n\
         Test: {}\n\
         Small IO size: {} KB\n\
         Large IO size: {} KB\n\
         IO Types: Small Random IOs, {large}\n",
        one_line(&asked.test_name),
        in_units(asked.size_small, KB),
        in_units(asked.size_large, KB),
    );
    if asked.large_io == LargeIo::Seq {
        let _ = writeln!(text, "Number of Concurrent IOs Per Stream: {}", asked.num_stream_io);
    }
    match asked.simulate {
        SimulatedArray::Concat => text.push_str("Simulated Array Type: CONCAT\n"),
        SimulatedArray::Raid0 => {
            let stripe = in_units(asked.stripe, KB);
            let _ = write!(text, "Simulated Array Type: RAID 0\nStripe Depth: {stripe} KB\n");
        }
    }
    let _ = writeln!(text, "Write: {}%", asked.write_percent);
    match asked.cache_size {
        Some(size) => {
            let _ = writeln!(text, "Cache Size: {} MB", in_units(size, MB));
        }
        None => text.push_str("Cache Size: Not Entered\n"),
    }
    let _ = writeln!(text, "Duration for each Data Point: {} seconds", asked.duration.0.as_secs_f64());
}

/// A size in ORION's binary units, with a fraction only where it is none of them.
fn in_units(size: Bytes, unit: u64) -> String {
    (size.0 as f64 / unit as f64).to_string()
}
