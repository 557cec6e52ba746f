//! A table as CSV: the names of its columns and its rows with their lines, whatever separates the cells.

use iostone_model::cell::unguarded;
use iostone_model::figures::counted;

use crate::Malformed;

/// A table of figures is read whole; what is larger is a log of samples.
pub(crate) const LARGEST_BYTES: u64 = 64 << 20;

/// Each row becomes an observation of its own, some 3 KB of memory.
const MOST_ROWS: usize = 200_000;

/// A figure or a name is short; what is longer is text of another kind.
const LONGEST_CELL: usize = 64 << 10;

/// What may stand between cells, in the order in which they are preferred.
const SEPARATORS: [u8; 3] = [b'\t', b';', b','];

/// A table: every row has as many cells as there are columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sheet {
    /// The names of the columns, trimmed; empty where a column has none.
    pub(crate) columns: Vec<String>,
    /// The rows that hold anything, in the order of the file.
    pub(crate) rows: Vec<Row>,
    /// Whether a comma may be a decimal comma, because something else stands between cells.
    pub(crate) comma_is_free: bool,
    /// What stands between cells, in words.
    pub(super) separator: &'static str,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// Where it begins, from 1.
    pub(crate) line: u64,
    /// Its cells, trimmed, without their quotes.
    pub(crate) cells: Vec<String>,
}

impl Sheet {
    /// Reads a table: comma, semicolon or tab between cells, quotes as in RFC 4180, lines that begin with `#` are
    /// comments, a byte order mark is skipped. What is not UTF-8 is replaced.
    ///
    /// # Errors
    /// A header without names, a name that stands twice, a row of another length, no row at all.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        Self::read_up_to(MOST_ROWS, bytes)
    }

    /// [`Self::read`], of at most so many rows.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    pub(super) fn read_up_to(most_rows: usize, bytes: &[u8]) -> Result<Self, Malformed> {
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        // Excel's first line, which says what stands between cells, becomes a comment of the same length.
        let commented = excel(text).map(|_| text.replacen("sep=", "#ep=", 1));
        let (said, text) = (excel(text), commented.as_deref().unwrap_or(text));
        let separator = said.or_else(|| separator(text)).unwrap_or(b',');
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .comment(Some(b'#'))
            .delimiter(separator)
            .from_reader(text.as_bytes());
        let mut lines = Lines { text, byte: 0, line: 1 };
        let mut columns: Option<Vec<String>> = None;
        let mut rows = Vec::new();
        for record in reader.records() {
            // Text in memory that is UTF-8 has nothing that the reader could refuse.
            let record =
                record.map_err(|error| Malformed::new(lines.line, "cells of text", &error.to_string()))?;
            let line = record.position().map_or(lines.line, |position| lines.of(to_index(position.byte())));
            if record.iter().all(str::is_empty) {
                continue;
            }
            if record.iter().any(|cell| cell.len() > LONGEST_CELL) {
                let expected = format!("cells of at most {LONGEST_CELL} bytes");
                return Err(Malformed { line, expected, found: "a longer one".to_owned() });
            }
            let cells: Vec<String> = record.iter().map(|cell| unguarded(cell).to_owned()).collect();
            match &columns {
                None => columns = Some(header(line, cells)?),
                Some(_) if rows.len() == most_rows => {
                    return Err(Malformed {
                        line,
                        expected: format!(
                            "at most {most_rows} rows, each a result; more are a log of samples"
                        ),
                        found: "another row".to_owned(),
                    });
                }
                Some(columns) if columns.len() == cells.len() => rows.push(Row { line, cells }),
                Some(columns) => {
                    return Err(Malformed {
                        line,
                        expected: format!(
                            "{} as in the header; a cell with {} in it stands in quotes",
                            counted(columns.len(), "cell"),
                            name_of(separator)
                        ),
                        found: counted(cells.len(), "cell"),
                    });
                }
            }
        }
        let end = lines.of(text.len());
        let Some(columns) = columns else {
            return Err(Malformed::at_end(end, "a first line that names the columns"));
        };
        if rows.is_empty() {
            return Err(Malformed::at_end(end, "at least one row below the names of the columns"));
        }
        let mut sheet =
            Self { columns, rows, comma_is_free: separator != b',', separator: name_of(separator) };
        sheet.drop_thousands();
        Ok(sheet)
    }

    /// Takes signs of thousands out of numbers, where no other reading is left: `1,234.5` has both signs, and so has
    /// `1.234,5` where a comma is free; beside the latter, `1.234` of the same column is one thousand as well.
    fn drop_thousands(&mut self) {
        for index in 0..self.columns.len() {
            let european =
                self.comma_is_free && self.column(index).any(|cell| grouped(cell, '.', ',') == Some(true));
            for cell in self.rows.iter_mut().filter_map(|row| row.cells.get_mut(index)) {
                if !european && grouped(cell, ',', '.') == Some(true) {
                    *cell = cell.replace(',', "");
                } else if european && grouped(cell, '.', ',').is_some() {
                    *cell = cell.replace('.', "");
                }
            }
        }
    }

    /// The cells of a column, from top to bottom.
    pub(crate) fn column(&self, index: usize) -> impl Iterator<Item = &str> {
        self.rows.iter().map(move |row| row.cell(index))
    }
}

impl Row {
    /// One of its cells.
    pub(crate) fn cell(&self, index: usize) -> &str {
        self.cells.get(index).map_or("", String::as_str)
    }
}

/// Whether a number is written in groups of three digits; if so, whether a decimal sign follows.
fn grouped(cell: &str, sign: char, decimal: char) -> Option<bool> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) =
        cell.split_once(decimal).map_or((cell, None), |(whole, fraction)| (whole, Some(fraction)));
    let (first, rest) = whole.strip_prefix('-').unwrap_or(whole).split_once(sign)?;
    let right = digits(first)
        && first.len() <= 3
        && rest.split(sign).all(|group| group.len() == 3 && digits(group))
        && fraction.is_none_or(digits);
    right.then_some(fraction.is_some())
}

/// What `sep=;` on the first line says.
fn excel(text: &str) -> Option<u8> {
    let line = text.lines().next()?.strip_prefix("sep=")?;
    SEPARATORS.into_iter().find(|separator| line.as_bytes() == [*separator])
}

/// Files are far smaller than an address space.
fn to_index(byte: u64) -> usize {
    usize::try_from(byte).unwrap_or(usize::MAX)
}

fn name_of(separator: u8) -> &'static str {
    match separator {
        b'\t' => "a tab",
        b';' => "a semicolon",
        _ => "a comma",
    }
}

fn header(line: u64, cells: Vec<String>) -> Result<Vec<String>, Malformed> {
    let number = |cell: &&String| cell.parse::<f64>().is_ok();
    let numbers = cells.iter().filter(number).count();
    // One word among numbers is the level of a first row.
    if cells.iter().filter(|cell| !cell.is_empty() && !number(cell)).count() <= usize::from(numbers > 0) {
        return Err(Malformed::new(
            line,
            "a header line, which names the columns (lines that begin with `#` are comments)",
            &cells.join(", "),
        ));
    }
    for (index, cell) in cells.iter().enumerate() {
        if !cell.is_empty() && cells.iter().take(index).any(|earlier| earlier == cell) {
            return Err(Malformed {
                line,
                expected: "a different name for every column".to_owned(),
                found: format!("column `{cell}` twice"),
            });
        }
    }
    Ok(cells)
}

/// The lines that hold a row: neither blank nor a comment, nor what Excel says of separators.
pub(crate) fn filled_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#') && excel(line).is_none())
}

/// How often a separator stands in a line outside quotes.
pub(crate) fn occurrences(line: &str, separator: u8) -> usize {
    let mut quoted = false;
    let mut count = 0;
    for byte in line.bytes() {
        quoted ^= byte == b'"';
        count += usize::from(!quoted && byte == separator);
    }
    count
}

/// What stands between cells: the header and the line below it have it equally often; else what the header has most of.
pub(crate) fn separator(text: &str) -> Option<u8> {
    let mut lines = filled_lines(text);
    let header = lines.next()?;
    let below = lines.next().unwrap_or(header);
    let found: Vec<(u8, usize)> = SEPARATORS
        .iter()
        .map(|separator| (*separator, occurrences(header, *separator)))
        .filter(|(_, count)| *count > 0)
        .collect();
    let agreeing = found.iter().find(|(separator, count)| occurrences(below, *separator) == *count);
    let most = || found.iter().rev().max_by_key(|(_, count)| *count);
    agreeing.or_else(most).map(|(separator, _)| *separator)
}

/// Counts lines up to a byte, moving on only.
struct Lines<'a> {
    text: &'a str,
    byte: usize,
    line: u64,
}

impl Lines<'_> {
    /// The line of the record that begins at or after a byte: the reader tells where it was before it skipped comments
    /// and blank lines.
    fn of(&mut self, byte: usize) -> u64 {
        let bytes = self.text.as_bytes();
        let passed = bytes.get(self.byte..byte).unwrap_or_default();
        self.line += passed.split(|byte| *byte == b'\n').skip(1).count() as u64;
        self.byte = self.byte.max(byte);
        while let Some(rest) = bytes.get(self.byte..)
            && let Some(end) = rest.iter().position(|byte| *byte == b'\n')
            && let Some(line) = rest.get(..end)
            && (line.starts_with(b"#") || line.iter().all(u8::is_ascii_whitespace))
        {
            self.byte += end + 1;
            self.line += 1;
        }
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Sheet {
        Sheet::read(text.as_bytes()).unwrap()
    }

    fn refuse(text: &str) -> String {
        Sheet::read(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn rows_know_their_lines_past_comments_blank_lines_and_quoted_ends_of_lines() {
        for end in ["\n", "\r\n"] {
            let text = "# one\n\na,b\n# two\n1,\"x\ny\"\n\n\n2,z\n   \n,\n3,w".replace('\n', end);
            let sheet = read(&text);
            assert_eq!(sheet.columns, ["a", "b"]);
            let rows: Vec<(u64, &str)> = sheet.rows.iter().map(|row| (row.line, row.cell(0))).collect();
            assert_eq!(rows, [(5, "1"), (9, "2"), (12, "3")], "{end:?}");
        }
    }

    #[test]
    fn the_separator_is_told_from_the_first_lines() {
        assert_eq!(separator("a;b,c;d\n1;2,5;3\n"), Some(b';'));
        assert_eq!(separator("a\tb\n1,5\t2,5\n"), Some(b'\t'));
        assert_eq!(separator("\"a;b\",c\n1,2\n"), Some(b','));
        assert_eq!(separator("alone\n1\n"), None);
        assert_eq!(separator(""), None);
        assert_eq!(read("a;b\n1,5;2\n").rows[0].cells, ["1,5", "2"]);
    }

    #[test]
    fn what_is_no_table_is_refused_with_its_line() {
        assert_eq!(
            refuse("# c\na,b\n1,2\n3\n"),
            "line 4: expected 2 cells as in the header; a cell with a comma in it stands in quotes, found 1 cell"
        );
        assert_eq!(
            refuse("a,b,a\n1,2,3\n"),
            "line 1: expected a different name for every column, found column `a` twice"
        );
        assert!(refuse("1,2\n3,4\n").contains("line 1: expected a header line, which names the columns"));
        assert!(refuse("").contains("found the end of the file"));
        assert!(refuse("a,b\n").contains("line 2: expected at least one row"));
    }

    #[test]
    fn a_log_of_samples_is_no_table() {
        let text = format!("a,b\n{}", "1,2\n".repeat(MOST_ROWS + 1));
        assert!(refuse(&text).starts_with("line 200002: expected at most 200000 rows"));
    }

    #[test]
    fn a_byte_order_mark_is_skipped_and_bytes_that_are_no_text_are_replaced() {
        let sheet = Sheet::read(b"\xef\xbb\xbfa,b\n1,\xb5s\n").unwrap();
        assert_eq!(sheet.columns, ["a", "b"]);
        assert_eq!(sheet.rows[0].cell(1), "\u{fffd}s");
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[a-c,;\t\"#\r\n 0-9]{0,60}") {
            let _ = Sheet::read(text.as_bytes());
        }

        #[test]
        fn a_row_stands_on_the_line_that_is_told(words in proptest::collection::vec("[a-z]{0,3}", 1..20)) {
            // Blank where the word is empty, a comment where it has an `x`.
            let mut text = "name,place\n".to_owned();
            for word in &words {
                let (before, behind) = match word.as_str() {
                    "" => ("", ""),
                    word if word.contains('x') => ("# ", ""),
                    _ => ("", ",1"),
                };
                text.extend([before, word, behind, "\n"]);
            }
            if let Ok(sheet) = Sheet::read(text.as_bytes()) {
                for row in &sheet.rows {
                    let line = text.lines().nth(usize::try_from(row.line).unwrap() - 1).unwrap();
                    prop_assert_eq!(line, row.cells.join(","));
                }
            }
        }
    }
}
