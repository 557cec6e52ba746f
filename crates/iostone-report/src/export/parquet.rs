//! Parquet files of flat tables, by <https://parquet.apache.org/docs/file-format/> (read 2026-11): one row group, uncompressed
//! pages of version 1. Text is encoded by dictionary, numbers are plain.
//!
//! A writer of its own, because the crate of Arrow takes 33 others along. Three readers prove it: pyarrow, Polars, `DuckDB`.

mod thrift;

use std::collections::BTreeMap;

use thrift::Struct;

/// A column: its name and a value for each row, none where there is nothing.
pub(super) struct Column<'a> {
    pub(super) name: &'static str,
    pub(super) values: Values<'a>,
}

/// The values of a column, all of one type.
pub(super) enum Values<'a> {
    Text(Vec<Option<&'a str>>),
    Whole(Vec<Option<i64>>),
    Number(Vec<Option<f64>>),
    /// Microseconds since 1970, UTC.
    Time(Vec<Option<i64>>),
}

const MAGIC: &[u8] = b"PAR1";

/// Numbers of `parquet.thrift`.
mod number {
    pub(super) const INT64: i32 = 2;
    pub(super) const DOUBLE: i32 = 5;
    pub(super) const BYTE_ARRAY: i32 = 6;
    pub(super) const OPTIONAL: i32 = 1;
    pub(super) const UTF8: i32 = 0;
    pub(super) const TIMESTAMP_MICROS: i32 = 10;
    pub(super) const PLAIN: i32 = 0;
    pub(super) const RLE: i32 = 3;
    pub(super) const RLE_DICTIONARY: i32 = 8;
    pub(super) const DATA_PAGE: i32 = 0;
    pub(super) const DICTIONARY_PAGE: i32 = 2;
    pub(super) const UNCOMPRESSED: i32 = 0;
}

/// Where a column lies in the file.
struct Chunk {
    dictionary_offset: Option<i64>,
    data_offset: i64,
    bytes: i64,
}

/// The bytes of a file with those columns, all of one length.
pub(super) fn write(columns: &[Column<'_>]) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    let chunks: Vec<Chunk> = columns.iter().map(|column| write_chunk(&mut file, &column.values)).collect();
    let rows = columns.first().map_or(0, |column| column.values.len());
    let footer = footer(columns, &chunks, rows);
    file.extend(&footer);
    file.extend(u32::try_from(footer.len()).unwrap_or(u32::MAX).to_le_bytes());
    file.extend(MAGIC);
    file
}

impl Values<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Whole(values) | Self::Time(values) => values.len(),
            Self::Number(values) => values.len(),
        }
    }

    /// Which rows have a value: 1, or 0.
    fn levels(&self) -> Vec<u32> {
        fn of<T>(values: &[Option<T>]) -> Vec<u32> {
            values.iter().map(|value| u32::from(value.is_some())).collect()
        }
        match self {
            Self::Text(values) => of(values),
            Self::Whole(values) | Self::Time(values) => of(values),
            Self::Number(values) => of(values),
        }
    }

    fn physical_type(&self) -> i32 {
        match self {
            Self::Text(_) => number::BYTE_ARRAY,
            Self::Whole(_) | Self::Time(_) => number::INT64,
            Self::Number(_) => number::DOUBLE,
        }
    }

    fn encoding(&self) -> i32 {
        if matches!(self, Self::Text(_)) { number::RLE_DICTIONARY } else { number::PLAIN }
    }
}

/// Writes a column: the dictionary of a text, then one page with all values.
fn write_chunk(file: &mut Vec<u8>, values: &Values<'_>) -> Chunk {
    let start = file.len();
    let levels = runs(&values.levels(), 1);
    let mut page = length(levels.len()).to_le_bytes().to_vec();
    page.extend(levels);
    let mut dictionary_offset = None;
    match values {
        Values::Text(values) => {
            let (words, indices) = dictionary(values);
            let mut plain = Vec::new();
            for word in &words {
                plain.extend(length(word.len()).to_le_bytes());
                plain.extend(word.as_bytes());
            }
            dictionary_offset = Some(long(file.len()));
            let of_dictionary = Struct::new().short(1, count(words.len())).short(2, number::PLAIN).end();
            write_page(file, number::DICTIONARY_PAGE, 7, &of_dictionary, &plain);
            let width = u32::BITS - length(words.len().saturating_sub(1)).leading_zeros();
            page.push(u8::try_from(width).unwrap_or_default());
            page.extend(runs(&indices, width));
        }
        Values::Whole(values) | Values::Time(values) => {
            page.extend(values.iter().flatten().flat_map(|value| value.to_le_bytes()));
        }
        Values::Number(values) => {
            page.extend(values.iter().flatten().flat_map(|value| value.to_le_bytes()));
        }
    }
    let data_offset = long(file.len());
    let of_data = Struct::new()
        .short(1, count(values.len()))
        .short(2, values.encoding())
        .short(3, number::RLE)
        .short(4, number::RLE)
        .end();
    write_page(file, number::DATA_PAGE, 5, &of_data, &page);
    Chunk { dictionary_offset, data_offset, bytes: long(file.len() - start) }
}

fn write_page(file: &mut Vec<u8>, kind: i32, field: i16, of_kind: &[u8], content: &[u8]) {
    let header = Struct::new()
        .short(1, kind)
        .short(2, count(content.len()))
        .short(3, count(content.len()))
        .structure(field, of_kind)
        .end();
    file.extend(header);
    file.extend(content);
}

/// The different words in the order of first appearance, and which each row has.
fn dictionary<'a>(values: &[Option<&'a str>]) -> (Vec<&'a str>, Vec<u32>) {
    let mut places: BTreeMap<&str, u32> = BTreeMap::new();
    let mut words = Vec::new();
    let indices = values
        .iter()
        .flatten()
        .map(|word| {
            *places.entry(word).or_insert_with(|| {
                words.push(*word);
                length(words.len() - 1)
            })
        })
        .collect();
    (words, indices)
}

/// Numbers of `width` bits as runs of equal ones, the simpler half of the hybrid encoding that Parquet calls RLE.
fn runs(numbers: &[u32], width: u32) -> Vec<u8> {
    let mut encoded = Vec::new();
    for run in numbers.chunk_by(|one, other| one == other) {
        thrift::varint(&mut encoded, (run.len() as u64) << 1);
        let value = run.first().copied().unwrap_or_default().to_le_bytes();
        encoded.extend(value.iter().take(width.div_ceil(8) as usize));
    }
    encoded
}

fn footer(columns: &[Column<'_>], chunks: &[Chunk], rows: usize) -> Vec<u8> {
    let root = Struct::new().text(4, "schema").short(5, count(columns.len())).end();
    let schema: Vec<Vec<u8>> = std::iter::once(root).chain(columns.iter().map(schema_of)).collect();
    let parts: Vec<Vec<u8>> =
        columns.iter().zip(chunks).map(|(column, chunk)| chunk_of(column, chunk, rows)).collect();
    let bytes = chunks.iter().map(|chunk| chunk.bytes).sum();
    let group = Struct::new().structures(1, &parts).long(2, bytes).long(3, long(rows)).end();
    Struct::new()
        .short(1, 1)
        .structures(2, &schema)
        .long(3, long(rows))
        .structures(4, &[group])
        .text(6, concat!("iostone version ", env!("CARGO_PKG_VERSION")))
        .end()
}

fn schema_of(column: &Column<'_>) -> Vec<u8> {
    let element =
        Struct::new().short(1, column.values.physical_type()).short(3, number::OPTIONAL).text(4, column.name);
    match &column.values {
        Values::Text(_) => {
            // LogicalType: STRING is its first field, an empty structure.
            let string = Struct::new().structure(1, &Struct::new().end()).end();
            element.short(6, number::UTF8).structure(10, &string).end()
        }
        Values::Time(_) => {
            let unit = Struct::new().structure(2, &Struct::new().end()).end();
            let timestamp = Struct::new().truth(1).structure(2, &unit).end();
            let logical = Struct::new().structure(8, &timestamp).end();
            element.short(6, number::TIMESTAMP_MICROS).structure(10, &logical).end()
        }
        Values::Whole(_) | Values::Number(_) => element.end(),
    }
}

fn chunk_of(column: &Column<'_>, chunk: &Chunk, rows: usize) -> Vec<u8> {
    let mut encodings = vec![number::RLE, column.values.encoding()];
    if chunk.dictionary_offset.is_some() {
        encodings.push(number::PLAIN);
    }
    let metadata = Struct::new()
        .short(1, column.values.physical_type())
        .shorts(2, &encodings)
        .texts(3, &[column.name])
        .short(4, number::UNCOMPRESSED)
        .long(5, long(rows))
        .long(6, chunk.bytes)
        .long(7, chunk.bytes)
        .long(9, chunk.data_offset);
    let metadata = match chunk.dictionary_offset {
        Some(dictionary) => metadata.long(11, dictionary),
        None => metadata,
    };
    let first = chunk.dictionary_offset.unwrap_or(chunk.data_offset);
    Struct::new().long(2, first).structure(3, &metadata.end()).end()
}

fn long(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

fn count(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}

fn length(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_are_runs_and_words_stand_once() {
        assert_eq!(runs(&[1, 1, 1, 0], 1), [6, 1, 2, 0]);
        assert_eq!(runs(&[300; 100], 9), [200, 1, 44, 1]);
        assert_eq!(runs(&[0, 0], 0), [4]);
        let (words, indices) = dictionary(&[Some("b"), None, Some("a"), Some("b")]);
        assert_eq!((words, indices), (vec!["b", "a"], vec![0, 1, 0]));
    }

    #[test]
    fn a_file_begins_and_ends_as_the_format_says() {
        let columns = [Column { name: "x", values: Values::Number(vec![Some(1.5), None]) }];
        let file = write(&columns);
        assert!(file.starts_with(MAGIC) && file.ends_with(MAGIC));
        let footer = u32::from_le_bytes(file[file.len() - 8..file.len() - 4].try_into().unwrap()) as usize;
        assert!(footer < file.len() - 12, "{footer} of {}", file.len());
        assert!(file.windows(8).any(|bytes| bytes == 1.5_f64.to_le_bytes()));
    }
}
