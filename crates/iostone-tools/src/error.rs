//! Why a file could not be read.

use std::io;

/// A line that is not what its format asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: expected {expected}, found {found}")]
pub struct Malformed {
    /// Where, from 1.
    pub line: u64,
    /// What should stand there: `a latency in ms`.
    pub expected: String,
    /// What does, in backticks, shortened; or `the end of the file`.
    pub found: String,
}

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system's reason.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is not as expected.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// How much of a line is repeated in a message.
const SHOWN: usize = 60;

impl Malformed {
    /// Of a line and the text that was found on it.
    pub fn new(line: u64, expected: impl Into<String>, found: &str) -> Self {
        let mut shown: String = found.trim().chars().take(SHOWN).collect();
        if shown.len() < found.trim().len() {
            shown.push('…');
        }
        let found = if shown.is_empty() { "an empty line".to_owned() } else { format!("`{shown}`") };
        Self { line, expected: expected.into(), found }
    }

    /// Of a file that ended too early.
    pub fn at_end(line: u64, expected: impl Into<String>) -> Self {
        Self { line, expected: expected.into(), found: "the end of the file".to_owned() }
    }
}
