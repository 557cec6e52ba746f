//! Ranges of quantities as people type them: `4`, `4..8`, `16GiB..`, `..500Mbps`; both ends are within.

use std::fmt::Display;
use std::str::FromStr;

/// What is wanted of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeOf<T> {
    /// The least.
    pub from: Option<T>,
    /// The most.
    pub to: Option<T>,
}

/// Why a piece of text is no range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// One of its ends is not of that kind.
    #[error("{0}")]
    End(String),
    /// There is nothing within.
    #[error("`{0}` ends before it begins")]
    Empty(String),
    /// There is nothing that it asks for.
    #[error("`{0}` has no end; expected a range as in 4..8, 4.. or ..8")]
    Open(String),
}

impl<T: PartialOrd> RangeOf<T> {
    /// Whether a quantity is within.
    pub fn holds(&self, value: &T) -> bool {
        self.from.as_ref().is_none_or(|from| from <= value) && self.to.as_ref().is_none_or(|to| value <= to)
    }
}

impl<T: FromStr<Err: Display> + PartialOrd + Clone> FromStr for RangeOf<T> {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Self, RangeError> {
        let end = |part: &str| match part.trim() {
            "" => Ok(None),
            part => part.parse::<T>().map(Some).map_err(|error| RangeError::End(error.to_string())),
        };
        let (from, to) = match text.split_once("..") {
            Some((from, to)) => (end(from)?, end(to)?),
            None => (end(text)?, end(text)?),
        };
        match (&from, &to) {
            (None, None) => Err(RangeError::Open(text.to_owned())),
            (Some(from), Some(to)) if from > to => Err(RangeError::Empty(text.to_owned())),
            _ => Ok(Self { from, to }),
        }
    }
}

#[cfg(test)]
mod tests {
    use iostone_model::units::{ByteRate, Bytes};

    use super::*;

    #[test]
    fn ranges_hold_their_ends() {
        let range: RangeOf<u32> = "4..8".parse().unwrap();
        assert_eq!([3, 4, 8, 9].map(|count| range.holds(&count)), [false, true, true, false]);
        let memory: RangeOf<Bytes> = "16GiB..".parse().unwrap();
        assert!(memory.holds(&Bytes(16 << 30)) && !memory.holds(&Bytes(15 << 30)));
        let rate: RangeOf<ByteRate> = "..500Mbps".parse().unwrap();
        assert!(rate.holds(&ByteRate(62_500_000)) && !rate.holds(&ByteRate(62_500_001)));
        assert_eq!("4".parse::<RangeOf<u32>>(), Ok(RangeOf { from: Some(4), to: Some(4) }));
        for (wrong, reason) in
            [("8..4", "ends before"), ("..", "no end"), ("", "no end"), ("x..", "invalid digit")]
        {
            let error = wrong.parse::<RangeOf<u32>>().unwrap_err().to_string();
            assert!(error.contains(reason), "{wrong}: {error}");
        }
    }
}
