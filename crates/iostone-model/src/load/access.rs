//! The direction and order of requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The direction and order of requests; fio's `rw`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rw {
    /// Sequential reads.
    #[default]
    Read,
    /// Sequential writes.
    Write,
    /// Random reads.
    RandRead,
    /// Random writes.
    RandWrite,
    /// Sequential reads and writes, mixed by `rwmixread`.
    #[serde(rename = "rw")]
    ReadWrite,
    /// Random reads and writes, mixed by `rwmixread`.
    RandRw,
    /// Sequential discards.
    Trim,
    /// Random discards.
    RandTrim,
    /// Each block is discarded, then written, in sequence.
    TrimWrite,
    /// Each block is discarded, then written, in random order.
    RandTrimWrite,
}

impl Rw {
    /// Whether some of it reads.
    pub fn reads(self) -> bool {
        matches!(self, Self::Read | Self::RandRead) || self.is_mixed()
    }

    /// Whether some of it writes.
    pub fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::RandRead | Self::Trim | Self::RandTrim)
    }

    /// Whether some of it discards.
    pub fn trims(self) -> bool {
        matches!(self, Self::Trim | Self::RandTrim | Self::TrimWrite | Self::RandTrimWrite)
    }

    /// Whether the load changes its target.
    pub fn changes_target(self) -> bool {
        self.writes() || self.trims()
    }

    /// The directions that it goes in.
    pub fn directions(self) -> impl Iterator<Item = Direction> {
        Direction::ALL.into_iter().filter(move |direction| match direction {
            Direction::Read => self.reads(),
            Direction::Write => self.writes(),
            Direction::Trim => self.trims(),
        })
    }

    /// Whether blocks are visited in random order.
    pub fn is_random(self) -> bool {
        !matches!(self, Self::Read | Self::Write | Self::ReadWrite | Self::Trim | Self::TrimWrite)
    }

    /// Whether reads and writes are mixed by a percentage.
    pub fn is_mixed(self) -> bool {
        matches!(self, Self::ReadWrite | Self::RandRw)
    }

    /// fio's word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::RandRead => "randread",
            Self::RandWrite => "randwrite",
            Self::ReadWrite => "rw",
            Self::RandRw => "randrw",
            Self::Trim => "trim",
            Self::RandTrim => "randtrim",
            Self::TrimWrite => "trimwrite",
            Self::RandTrimWrite => "randtrimwrite",
        }
    }
}

/// What one request does to its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Reads it.
    Read = 0,
    /// Writes it.
    Write = 1,
    /// Discards it: afterwards it holds no data.
    Trim = 2,
}

impl Direction {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Trim];
}

/// One value for each direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct PerDirection<T> {
    /// For reads.
    pub read: T,
    /// For writes.
    pub write: T,
    /// For discards.
    pub trim: T,
}

impl<T> PerDirection<T> {
    /// The value for one direction.
    #[inline]
    pub fn of(&self, direction: Direction) -> &T {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
            Direction::Trim => &self.trim,
        }
    }

    /// The value for one direction, to be changed.
    #[inline]
    pub fn of_mut(&mut self, direction: Direction) -> &mut T {
        match direction {
            Direction::Read => &mut self.read,
            Direction::Write => &mut self.write,
            Direction::Trim => &mut self.trim,
        }
    }

    /// The values in the order of the directions.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        [&self.read, &self.write, &self.trim].into_iter()
    }

    /// A value made for each direction.
    pub fn from_fn(mut make: impl FnMut(Direction) -> T) -> Self {
        Self { read: make(Direction::Read), write: make(Direction::Write), trim: make(Direction::Trim) }
    }
}

impl<T: Clone> PerDirection<T> {
    /// The same value for all directions.
    pub fn all(value: T) -> Self {
        Self { read: value.clone(), write: value.clone(), trim: value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_file() {
        for word in [
            "read",
            "write",
            "randread",
            "randwrite",
            "rw",
            "randrw",
            "trim",
            "randtrim",
            "trimwrite",
            "randtrimwrite",
        ] {
            let rw: Rw = serde_json::from_value(word.into()).unwrap();
            assert_eq!(rw.word(), word);
            assert_eq!(rw.is_random(), word.starts_with("rand"));
            assert_eq!(rw.trims(), word.contains("trim"));
            assert_eq!(rw.writes(), word.contains("write") || word.ends_with("rw"));
            assert_eq!(rw.reads(), word.contains("read") || word.ends_with("rw"));
        }
    }
}
