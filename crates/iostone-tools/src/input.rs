//! A file being read: its lines with their numbers, or the bytes themselves, never more than a line at a time.

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
    /// Its first 64 KiB as text; what is not UTF-8 is replaced.
    pub text: &'a str,
}

/// One line without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 1.
    pub number: u64,
    /// Its text; what is not UTF-8 is replaced, a carriage return at its end is dropped.
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
}

impl<'a> Input<'a> {
    /// Of a file's name without its folder, and its content.
    pub fn new(name: impl Into<String>, reader: impl BufRead + 'a) -> Self {
        Self { name: name.into(), reader: Box::new(reader), line: 0 }
    }

    /// The file's name without its folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of the line read last.
    pub fn line(&self) -> u64 {
        self.line
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
            return Err(Malformed::new(self.line, "a line shorter than 16 MiB", "").into());
        }
        if self.line == 1 && bytes.starts_with(b"\xef\xbb\xbf") {
            bytes.drain(..3);
        }
        while bytes.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            bytes.pop();
        }
        Ok(Some(Line { number: self.line, text: String::from_utf8_lossy(&bytes).into_owned() }))
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
