//! CSV lines of bonnie++: 27 fields in 1.03, 48 in 1.93 to 1.97, 50 from 1.98 on.
//!
//! The layouts are those of `BonTimer::DoReportIO` and `DoReportFile` (`bon_time.cpp`). Their faults are worked around: the
//! number of directories stands in the field of the file chunk size, and before 1.97 a run with `-s 0` misses some commas,
//! so that its line is read from the right.

use super::record::{Cell, Record, latency, number_of, size};

/// What a line is.
pub(super) enum Row {
    /// A run.
    Record(Box<Record>),
    /// The names of the columns.
    Header,
    /// No CSV of bonnie++.
    Other,
}

/// Where things stand in a line that names its format.
struct Layout {
    fields: usize,
    /// Of the rate of writing by the byte; its CPU share follows, then the next phase.
    rates: usize,
    /// Of the number of files.
    files: usize,
}

const FORMAT_1_97: Layout = Layout { fields: 48, rates: 7, files: 19 };
const FORMAT_1_98: Layout = Layout { fields: 50, rates: 9, files: 21 };
/// Of a run of 1.93 to 1.96 without a file, whose commas are missing.
const FEWEST_FIELDS: usize = 44;
const FIELDS_1_03: usize = 27;
/// From the number of files to the end: five about the files, twelve of rates and shares, twelve latencies.
const FROM_FILES: usize = 29;

/// Whether it begins with a format and a version, as every line since 1.93 does.
fn begins_with_format(text: &str) -> bool {
    let mut fields = text.trim().split(',');
    // Both always have a point, as the `2,184.3` of other tables has not.
    let mut from = |least: f64| {
        let pointed = fields.next().filter(|field| field.contains('.'));
        pointed.and_then(number_of).is_some_and(|number| (least..3.0).contains(&number))
    };
    // The version is older than the format where the line was written from figures of an older run.
    from(1.9) && from(1.0) && fields.next().is_some()
}

/// Whether nothing but bonnie++ prints such a line: it begins with a format, has the fields of one, or at least a size with
/// its unit where the file's stands. Tables of other figures begin with numbers too.
pub(super) fn is_own(text: &str) -> bool {
    let fields: Vec<&str> = text.trim().split(',').collect();
    let file = fields.get(5).copied().unwrap_or_default();
    let sized = file.ends_with(['M', 'G', 'T']) && size(file).is_some();
    begins_with_format(text) && (sized || (FEWEST_FIELDS..=FORMAT_1_98.fields).contains(&fields.len()))
}

/// Reads a line.
///
/// # Errors
/// What should stand there, if it begins like one of bonnie++ but is none.
pub(super) fn read(text: &str) -> Result<Row, String> {
    let text = text.trim();
    let fields: Vec<&str> = text.split(',').collect();
    if text.starts_with("format_version,")
        || text.starts_with("name,file_size,")
        || text.starts_with("name,size,")
    {
        return Ok(Row::Header);
    }
    if begins_with_format(text) {
        return with_format(&fields).map(|record| Row::Record(Box::new(record)));
    }
    let sized = fields.get(1).is_some_and(|field| {
        let field = field.split(':').next().unwrap_or_default();
        field.ends_with(['M', 'G', 'T']) && size(field).is_some()
    });
    let empty = fields.iter().skip(1).take(13).all(|field| field.is_empty());
    if fields.len() == FIELDS_1_03
        && (sized || empty)
        && let Some(record) = without_format(&fields)
    {
        return Ok(Row::Record(Box::new(record)));
    }
    if sized && fields.len() > 12 {
        return Err(format!("the {FIELDS_1_03} fields of a CSV line of bonnie++ 1.03, not {}", fields.len()));
    }
    Ok(Row::Other)
}

fn with_format(fields: &[&str]) -> Result<Record, String> {
    let text = |place: usize| (*fields.get(place).unwrap_or(&"")).to_owned();
    let seekers_told = number_of(&text(0)).is_some_and(|format| format >= 1.98);
    let layout = if seekers_told { FORMAT_1_98 } else { FORMAT_1_97 };
    let files = if fields.len() == layout.fields {
        layout.files
    } else {
        from_the_right(fields).ok_or_else(|| {
            format!("the {} fields of a CSV line of format {}, not {}", layout.fields, text(0), fields.len())
        })?
    };
    let mut record = Record {
        format: text(0),
        version: text(1),
        name: text(2),
        concurrency: text(3),
        file_size: text(5),
        chunk: text(6),
        files: files_of(fields.get(files..files + 5).unwrap_or_default()),
        ..Record::default()
    };
    if seekers_told && !record.file_size.is_empty() {
        record.set_seeks(&text(7), &text(8));
    }
    if !record.file_size.is_empty() && size(&record.file_size).is_none() {
        return Err("a file size such as `16G` in field 6".to_owned());
    }
    let cells = |from: usize, count: usize| fields.get(from..from + count).unwrap_or_default();
    if fields.len() == layout.fields {
        fill(&mut record, 0, cells(layout.rates, 12), layout.rates)?;
    }
    fill(&mut record, 6, cells(files + 5, 12), files + 5)?;
    for (place, text) in cells(files + 17, 12).iter().enumerate() {
        let read = latency(text).ok_or_else(|| {
            format!("a latency in `us`, `ms` or `s` in field {}, not `{text}`", files + 18 + place)
        })?;
        if let Some(slot) = record.latencies.get_mut(place) {
            *slot = read;
        }
    }
    Ok(record)
}

/// The place of the number of files in a line that has too few or too many commas because there was no file to test.
fn from_the_right(fields: &[&str]) -> Option<usize> {
    let files = fields.len().checked_sub(FROM_FILES).filter(|files| *files > 5)?;
    let nothing = fields.get(5..files)?.iter().all(|field| field.is_empty());
    (nothing && fields.get(files)?.parse::<u64>().is_ok()).then_some(files)
}

/// `num[:max[:min]][/dirs]` of the five fields about files.
fn files_of(fields: &[&str]) -> String {
    let [number, max, min, directories, chunk] = fields else { return String::new() };
    let mut files = (*number).to_owned();
    for size in [max, min] {
        if !size.is_empty() {
            files.push(':');
            files.push_str(size);
        }
    }
    // The number of directories is printed one field too late.
    let directories = if directories.is_empty() { chunk } else { directories };
    if directories.parse::<u64>().is_ok() {
        files.push('/');
        files.push_str(directories);
    }
    files
}

/// Rates and CPU shares of phases from that one on; `field` is the place of the first, for messages.
fn fill(record: &mut Record, phase: usize, cells: &[&str], field: usize) -> Result<(), String> {
    for (offset, pair) in cells.chunks(2).enumerate() {
        let (Some(rate), Some(cpu)) = (pair.first(), pair.get(1)) else { break };
        let place = phase + offset;
        let number = field + 2 * offset + 1;
        let slots = record.rates.get_mut(place).zip(record.cpus.get_mut(place));
        let Some((rate_slot, cpu_slot)) = slots else { break };
        *rate_slot = Cell::rate(rate, place)
            .ok_or_else(|| format!("a rate, `+++++` or nothing in field {number}, not `{rate}`"))?;
        *cpu_slot = Cell::cpu(cpu).ok_or_else(|| {
            format!("percent of a CPU, `+++` or nothing in field {}, not `{cpu}`", number + 1)
        })?;
    }
    Ok(())
}

/// A line of 1.03: `name,size[:chunk]`, twelve fields, `num[:max[:min]][/dirs]`, twelve fields. Its version is not told.
fn without_format(fields: &[&str]) -> Option<Record> {
    let (file_size, chunk) = fields.get(1)?.split_once(':').unwrap_or((fields.get(1)?, ""));
    let mut record = Record {
        name: (*fields.first()?).to_owned(),
        file_size: file_size.to_owned(),
        chunk: chunk.to_owned(),
        files: (*fields.get(14)?).to_owned(),
        ..Record::default()
    };
    fill(&mut record, 0, fields.get(2..14)?, 2).ok()?;
    fill(&mut record, 6, fields.get(15..27)?, 15).ok()?;
    let number = record.files.split([':', '/']).next().unwrap_or_default();
    let named = !record.file_size.is_empty() || number.parse::<u64>().is_ok();
    (named && (record.files.is_empty() || number.parse::<u64>().is_ok())).then_some(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(text: &str) -> Record {
        match read(text) {
            Ok(Row::Record(record)) => *record,
            Ok(_) => panic!("not a record"),
            Err(expected) => panic!("{expected}"),
        }
    }

    #[test]
    fn a_run_without_a_file_is_read_from_the_right() {
        let tail =
            "2,,,,,1024,7,+++++,+++,2048,9,512,5,+++++,+++,700,8,,,,,,,530us,375us,416us,113us,34us,680us";
        for commas in [",,,,,,,,,,,,,,,", ",,,,,,,,,,,,,"] {
            let line = record(&format!("1.96,1.96,host,1,17{commas},{tail}"));
            assert_eq!((line.files.as_str(), line.file_size.as_str()), ("2", ""));
            assert_eq!(line.rates[6], Cell::rate("1024", 6).unwrap());
            assert_eq!(line.latencies[11], latency("680us").unwrap());
        }
    }

    #[test]
    fn directories_are_found_one_field_late() {
        assert_eq!(files_of(&["1", "2000", "10", "", "3"]), "1:2000:10/3");
        assert_eq!(files_of(&["1", "link", "", "", ""]), "1:link");
        assert_eq!(files_of(&["", "", "", "", ""]), "");
    }

    #[test]
    fn other_tables_are_left_alone() {
        assert!(matches!(read("a,b,c"), Ok(Row::Other)));
        assert!(matches!(read("1.96"), Ok(Row::Other)));
        assert!(read("1.98,2.00a,host,1,1,64M").is_err());
        assert!(read("host,4G,30348,47,35023,5,12701,2,30363,49,44790,6,165.0,0,16").is_err());
    }
}
