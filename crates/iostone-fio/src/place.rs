//! Where something was written: a line of a job file, or an argument of the command line.

use std::fmt;
use std::sync::Arc;

/// Where an option, a section or an error is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// In a job file or a file that it includes.
    File {
        /// The path as it was opened; `-` is standard input.
        path: Arc<str>,
        /// The line, from 1. A file that cannot be read at all has its errors on line 1.
        line: u32,
        /// The character within the line, from 1.
        column: u32,
    },
    /// On the command line.
    Argument {
        /// Which of the arguments handed over, from 1.
        position: u32,
    },
}

impl Place {
    /// A place in a file.
    pub fn in_file(path: &Arc<str>, line: u32, column: u32) -> Self {
        Self::File { path: Arc::clone(path), line, column }
    }

    /// The same line, `characters` further on.
    #[must_use]
    pub fn further(&self, characters: usize) -> Self {
        match self {
            Self::File { path, line, column } => Self::File {
                path: Arc::clone(path),
                line: *line,
                column: column.saturating_add(u32::try_from(characters).unwrap_or(u32::MAX)),
            },
            Self::Argument { .. } => self.clone(),
        }
    }

    /// The line, where it is in a file.
    pub fn line(&self) -> Option<u32> {
        match self {
            Self::File { line, .. } => Some(*line),
            Self::Argument { .. } => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line, column } => write!(f, "{path}:{line}:{column}"),
            Self::Argument { position } => write!(f, "argument {position}"),
        }
    }
}
