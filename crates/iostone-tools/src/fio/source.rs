//! A reader of lines and of JSON in turn, which knows the line it is at.

use std::io::{self, BufRead, ErrorKind, Read};

use crate::{Input, Line, Malformed, ReadError};

/// How much is taken from the file at a time.
const CHUNK: usize = 64 << 10;

/// How much of what was already read is kept, to be shown in a message.
const KEPT: usize = 64;

/// Longer lines are in no log: a file of one endless line must not fill the memory.
const LONGEST: usize = 16 << 20;

/// What an [`Input`] has left, by bytes and by lines in turn.
pub(super) struct Source<'r, 'a> {
    reader: &'r mut (dyn BufRead + 'a),
    chunk: Vec<u8>,
    at: usize,
    line: u64,
}

impl<'r, 'a> Source<'r, 'a> {
    /// From where the input stands. A byte order mark at the beginning of a file is dropped.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn new(input: &'r mut Input<'a>) -> Result<Self, ReadError> {
        let line = input.line() + 1;
        let mut source = Self { reader: input.reader(), chunk: Vec::new(), at: 0, line };
        if line == 1 && source.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
            source.at += 3;
        }
        Ok(source)
    }

    /// The number of the line of the next byte, from 1.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// The end of what was read last, on its line: where an error stands.
    pub(super) fn recent(&self) -> String {
        let read = self.chunk.get(..self.at).unwrap_or_default();
        let from = read.len().saturating_sub(KEPT);
        let text = String::from_utf8_lossy(read.get(from..).unwrap_or_default()).into_owned();
        text.trim_end().rsplit('\n').next().unwrap_or_default().trim().to_owned()
    }

    /// The first byte on this line that is no blank, which itself is not read; None at the end of the line or file.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn peek_in_line(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.fill_buf()?.first().copied() {
                Some(b' ' | b'\t') => self.consume(1),
                Some(b'\r' | b'\n') | None => return Ok(None),
                other => return Ok(other),
            }
        }
    }

    /// What is left of this line, without its end; None at the end of the file.
    ///
    /// # Errors
    /// The system's, or a line longer than 16 MiB.
    pub(super) fn next_line(&mut self) -> Result<Option<Line>, ReadError> {
        let number = self.line;
        let mut bytes = Vec::new();
        loop {
            let piece = self.fill_buf()?;
            if piece.is_empty() && bytes.is_empty() {
                return Ok(None);
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(piece.len(), |end| end + 1);
            bytes.extend_from_slice(piece.get(..taken).unwrap_or_default());
            let ended = end.is_some() || taken == 0;
            self.consume(taken);
            if ended {
                break;
            }
            if bytes.len() > LONGEST {
                return Err(Malformed::new(number, "a line shorter than 16 MiB", "").into());
            }
        }
        while bytes.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            bytes.pop();
        }
        Ok(Some(Line { number, text: String::from_utf8_lossy(&bytes).into_owned() }))
    }

    /// Takes the next chunk from the file; what was shown last stays before it.
    fn refill(&mut self) -> io::Result<()> {
        self.chunk.drain(..self.at.saturating_sub(KEPT));
        self.at = self.chunk.len();
        let taken = loop {
            match self.reader.fill_buf() {
                Ok(bytes) => {
                    let taken = bytes.len().min(CHUNK);
                    self.chunk.extend_from_slice(bytes.get(..taken).unwrap_or_default());
                    break taken;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        };
        self.reader.consume(taken);
        Ok(())
    }

    fn count(&mut self, taken: usize) {
        let end = self.at.saturating_add(taken).min(self.chunk.len());
        let taken = self.chunk.get(self.at..end).unwrap_or_default();
        self.line += taken.iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>();
        self.at = end;
    }
}

impl Read for Source<'_, '_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.chunk.len() {
            self.refill()?;
        }
        let left = self.chunk.get(self.at..).unwrap_or_default();
        let taken = left.len().min(out.len());
        for (to, from) in out.iter_mut().zip(left) {
            *to = *from;
        }
        self.count(taken);
        Ok(taken)
    }
}

impl BufRead for Source<'_, '_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at >= self.chunk.len() {
            self.refill()?;
        }
        Ok(self.chunk.get(self.at..).unwrap_or_default())
    }

    fn consume(&mut self, taken: usize) {
        self.count(taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_bytes_may_be_read_in_turn() {
        let mut input = Input::of_text("x", "\u{feff}one\n  {\n}two\r\nlast");
        let mut source = Source::new(&mut input).unwrap();
        assert_eq!(source.next_line().unwrap().unwrap().text, "one");
        assert_eq!(source.peek_in_line().unwrap(), Some(b'{'));
        let mut bytes = [0; 3];
        source.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"{\n}");
        assert_eq!((source.line(), source.recent()), (3, "}".to_owned()));
        assert_eq!(source.next_line().unwrap().unwrap(), Line { number: 3, text: "two".to_owned() });
        assert_eq!(source.next_line().unwrap().unwrap().text, "last");
        assert_eq!(source.next_line().unwrap(), None);
    }

    #[test]
    fn an_endless_line_is_refused_before_it_fills_the_memory() {
        let mut input = Input::new("x", io::BufReader::new(io::repeat(b'x')));
        let error = Source::new(&mut input).unwrap().next_line().unwrap_err();
        assert!(error.to_string().contains("shorter than 16 MiB"), "{error}");
    }
}
