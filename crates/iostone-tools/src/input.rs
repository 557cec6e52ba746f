//! A file being read: its lines with their numbers, or the bytes themselves, never more than a line at a time.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use crate::ReadError;
use crate::error::Malformed;

/// Longer lines are in no log; a file of one endless line must not fill the memory.
const LONGEST_LINE: u64 = 16 << 20;

/// The beginning of a file, by which its format is told.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// The file's name without its folder.
    pub name: &'a str,
    /// Its first 64 KiB as text; what is not UTF-8 is replaced, and colours are dropped.
    pub text: &'a str,
}

/// One line without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 1.
    pub number: u64,
    /// Its text; what is not UTF-8 is replaced, colours and a carriage return at its end are dropped.
    pub text: String,
}

impl Line {
    /// Says what should have stood here.
    pub fn malformed(&self, expected: impl Into<String>) -> Malformed {
        Malformed::new(self.number, expected, &self.text)
    }
}

/// A file being read.
pub struct Input<'a> {
    name: String,
    reader: Box<dyn BufRead + 'a>,
    line: u64,
    ended: bool,
}

impl<'a> Input<'a> {
    /// Of a file's name without its folder, and its content.
    pub fn new(name: impl Into<String>, reader: impl BufRead + 'a) -> Self {
        Self { name: name.into(), reader: Box::new(reader), line: 0, ended: true }
    }

    /// The file's name without its folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of the line read last.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Whether the line read last had an end. One without may have been cut off within a number.
    pub fn line_has_end(&self) -> bool {
        self.ended
    }

    /// The next line; None at the end. A byte order mark before the first one is dropped.
    ///
    /// # Errors
    /// The system's, or a line longer than 16 MiB.
    pub fn next_line(&mut self) -> Result<Option<Line>, ReadError> {
        let mut bytes = Vec::new();
        let mut limited = (&mut self.reader).take(LONGEST_LINE);
        let length = limited.read_until(b'\n', &mut bytes)?;
        if length == 0 {
            return Ok(None);
        }
        self.line += 1;
        if length as u64 == LONGEST_LINE && !bytes.ends_with(b"\n") {
            return Err(Malformed {
                line: self.line,
                expected: "a line shorter than 16 MiB".to_owned(),
                found: "a longer one".to_owned(),
            }
            .into());
        }
        if self.line == 1 && bytes.starts_with(b"\xef\xbb\xbf") {
            bytes.drain(..3);
        }
        self.ended = bytes.ends_with(b"\n");
        while bytes.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            bytes.pop();
        }
        Ok(Some(Line {
            number: self.line,
            text: without_escapes(&String::from_utf8_lossy(&bytes)).into_owned(),
        }))
    }

    /// The bytes that were not read yet, for readers of JSON, XML and CSV.
    pub fn reader(&mut self) -> &mut (dyn BufRead + 'a) {
        &mut self.reader
    }

    /// All lines that are left, for files known to be small.
    ///
    /// # Errors
    /// As [`Self::next_line`].
    pub fn lines(&mut self) -> Result<Vec<Line>, ReadError> {
        let mut lines = Vec::new();
        while let Some(line) = self.next_line()? {
            lines.push(line);
        }
        Ok(lines)
    }
}

impl<'a> Input<'a> {
    /// Of text that is already in memory: what a workload's program printed.
    pub fn of_text(name: &str, text: &'a str) -> Self {
        Self::new(name, io::Cursor::new(text.as_bytes()))
    }
}

/// Text without the control sequences of terminals, which `script` records and sysstat prints with `S_COLORS=always`:
/// colours and cursor movements, titles of windows, choices of character sets (ECMA-48, sections 5.3 to 5.6). One that is
/// cut off ends with its line.
pub(crate) fn without_escapes(text: &str) -> Cow<'_, str> {
    const ESCAPE: char = '\u{1b}';
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(ESCAPE) {
        plain.push_str(before);
        rest = after_sequence(after);
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// What follows a control sequence, of which the escape character was read.
fn after_sequence(text: &str) -> &str {
    let mut signs = text.char_indices();
    let (is_end, skipped): (fn(char) -> bool, usize) = match signs.next() {
        // Parameters and intermediates are below `@`.
        Some((_, '[')) => (|sign| matches!(sign, '@'..='~'), 1),
        // A title ends with a bell or with `ESC \`, of which the escape character is found next.
        Some((_, ']' | 'P' | '^' | '_')) => {
            let end = text.find(['\u{7}', '\u{1b}', '\n']).unwrap_or(text.len());
            let rest = text.get(end..).unwrap_or_default();
            return rest.strip_prefix('\u{7}').or_else(|| rest.strip_prefix("\u{1b}\\")).unwrap_or(rest);
        }
        // Intermediates, then one sign: `(B`.
        _ => (|sign| matches!(sign, '0'..='~'), 0),
    };
    for (at, sign) in text.char_indices().skip(skipped) {
        if sign == '\n' {
            return text.get(at..).unwrap_or_default();
        }
        if is_end(sign) {
            return text.get(at + 1..).unwrap_or_default();
        }
        if !sign.is_ascii() {
            return text.get(at..).unwrap_or_default();
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_titles_are_no_text() {
        for (coloured, plain) in [
            ("\u{1b}[32;22mloop0 \u{1b}[0m \u{1b}[34;1m0.00\u{1b}[0m", "loop0  0.00"),
            ("\u{1b}]0;user@db1: ~\u{7}$ vmstat 1", "$ vmstat 1"),
            ("\u{1b}]0;title\u{1b}\\$ x", "$ x"),
            ("\u{1b}(B\u{1b}[mx\u{1b}[?2004h", "x"),
            ("a\u{1b}[3", "a"),
            ("a\u{1b}[3\nb\u{1b}", "a\nb"),
            ("a\u{1b}[é", "aé"),
            ("plain", "plain"),
        ] {
            assert_eq!(without_escapes(coloured), plain, "{coloured:?}");
        }
    }

    #[test]
    fn a_line_of_a_recorded_session_is_plain_and_knows_its_end() {
        let mut input = Input::of_text("x", "\u{1b}[1mone\u{1b}[0m\r\r\ntwo");
        assert_eq!(input.next_line().unwrap().unwrap().text, "one");
        assert!(input.line_has_end());
        assert_eq!(input.next_line().unwrap().unwrap().text, "two");
        assert!(!input.line_has_end());
    }
}
