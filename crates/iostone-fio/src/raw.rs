//! The text of one option's value, and the ways to read it by type.

use std::time::Duration;

use iostone_model::load::BlockRange;
use iostone_model::units::{Bytes, Span};

use crate::number::{self, Unit};
use crate::values::{KbBase, SizeRange};

/// A value as it was written, after expansion.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Raw<'a> {
    pub(crate) text: Option<&'a str>,
    pub(crate) kb_base: KbBase,
}

/// Most of what fio stores in 32 bits.
const MOST: i64 = u32::MAX as i64;

impl<'a> Raw<'a> {
    /// The text, which must not be empty.
    pub(crate) fn text(self) -> Result<&'a str, String> {
        self.text.map(str::trim).filter(|text| !text.is_empty()).ok_or_else(|| "it needs a value".into())
    }

    /// The text behind the `=`; blanks in front are kept for those who care.
    pub(crate) fn exact(self) -> Result<&'a str, String> {
        self.text.filter(|text| !text.trim().is_empty()).ok_or_else(|| "it needs a value".into())
    }

    /// `0` or `1`.
    pub(crate) fn bool(self) -> Result<bool, String> {
        match self.text()? {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err("it must be 0 or 1".into()),
        }
    }

    /// Nothing, or `0` or any other number.
    pub(crate) fn flag(self) -> Result<bool, String> {
        match self.text {
            None => Ok(true),
            Some(_) => number::whole(self.exact()?, self.kb_base, 0, MOST)
                .map(|number| number != 0)
                .map_err(|_| "it stands alone, or is 0 or 1".into()),
        }
    }

    /// A whole number of 32 bits.
    pub(crate) fn count(self, least: u32, most: u32) -> Result<u32, String> {
        let number = number::whole(self.exact()?, self.kb_base, least.into(), most.into())?;
        u32::try_from(number).map_err(|_| format!("it must be from {least} to {most}"))
    }

    /// A whole number of 64 bits.
    pub(crate) fn number(self) -> Result<u64, String> {
        number::size(self.exact()?, self.kb_base)
    }

    /// A whole number that may be negative.
    pub(crate) fn signed(self, least: i32, most: i32) -> Result<i32, String> {
        let number = number::whole(self.exact()?, self.kb_base, least.into(), most.into())?;
        i32::try_from(number).map_err(|_| format!("it must be from {least} to {most}"))
    }

    /// A percentage, written without its sign.
    pub(crate) fn percent(self) -> Result<u32, String> {
        self.count(0, 100)
    }

    /// A size.
    pub(crate) fn size(self) -> Result<Bytes, String> {
        number::size(self.exact()?, self.kb_base).map(Bytes)
    }

    /// A size of at least one byte.
    pub(crate) fn some_size(self) -> Result<Bytes, String> {
        self.size().and_then(|size| if size.0 == 0 { Err("it must be at least 1".into()) } else { Ok(size) })
    }

    /// A size, or two with `-`, `:` or `,` between.
    pub(crate) fn size_range(self) -> Result<SizeRange, String> {
        let (least, most) = self.pair(|text| number::size(text, self.kb_base))?;
        if least.min(most) == 0 {
            return Err("it must be at least 1".into());
        }
        Ok(SizeRange { least: Bytes(least.min(most)), most: Bytes(least.max(most)) })
    }

    /// A time.
    pub(crate) fn span(self, unit: Unit) -> Result<Span, String> {
        number::time(self.exact()?, unit).map(Span)
    }

    /// A time, or two with `-`, `:` or `,` between.
    pub(crate) fn span_range(self) -> Result<(Span, Span), String> {
        let (least, most): (Duration, Duration) = self.pair(|text| number::time(text, Unit::Seconds))?;
        Ok((Span(least.min(most)), Span(least.max(most))))
    }

    fn pair<T: Copy>(self, read: impl Fn(&str) -> Result<T, String>) -> Result<(T, T), String> {
        match number::split_values(self.exact()?).as_slice() {
            [one] => read(one).map(|one| (one, one)),
            [one, two] => Ok((read(one)?, read(two)?)),
            _ => Err("it is one value or a range of two".into()),
        }
    }

    /// Up to three values for reads, writes, trims. One serves all; of two, the second serves writes and trims; an empty
    /// one leaves its direction as it was. A comma at the end ends the list: `500k,` is for reads alone.
    pub(crate) fn triple<T: Copy>(
        self,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<[Option<T>; 3], String> {
        let parts = number::split_values(self.exact()?);
        let value = |part: &str| if part.is_empty() { Ok(None) } else { read(part).map(Some) };
        let triple = match parts.as_slice() {
            [one] => [value(one)?; 3],
            [one, two] => {
                let second = value(two)?;
                [value(one)?, second, second]
            }
            [one, two, three] => [value(one)?, value(two)?, value(three)?],
            _ => return Err("there are more than three values (reads, writes, trims)".into()),
        };
        if triple.iter().all(Option::is_none) { Err("it needs a value".into()) } else { Ok(triple) }
    }

    /// [`Self::triple`] of whole numbers.
    pub(crate) fn counts(self, least: u32, most: u32) -> Result<[Option<u32>; 3], String> {
        self.triple(|text| Raw { text: Some(text), ..self }.count(least, most))
    }

    /// [`Self::triple`] of sizes.
    pub(crate) fn sizes(self) -> Result<[Option<Bytes>; 3], String> {
        self.triple(|text| number::size(text, self.kb_base).map(Bytes))
    }

    /// [`Self::triple`] of sizes of at least one byte.
    pub(crate) fn some_sizes(self) -> Result<[Option<Bytes>; 3], String> {
        self.triple(|text| Raw { text: Some(text), ..self }.some_size())
    }

    /// [`Self::triple`] of times.
    pub(crate) fn spans(self, unit: Unit) -> Result<[Option<Span>; 3], String> {
        self.triple(|text| number::time(text, unit).map(Span))
    }

    /// `1k-4k,8k-16k`: ranges, one for each direction. Only commas part them.
    pub(crate) fn ranges(self) -> Result<[Option<BlockRange>; 3], String> {
        let parts: Vec<&str> = self.exact()?.split(',').collect();
        let read = |part: &&str| if part.is_empty() { Ok(None) } else { self.range(part).map(Some) };
        match parts.iter().map(read).collect::<Result<Vec<_>, String>>()?.as_slice() {
            [one] => Ok([*one; 3]),
            [one, two] => Ok([*one, *two, *two]),
            [one, two, three] => Ok([*one, *two, *three]),
            _ => Err("there are more than three ranges (reads, writes, trims)".into()),
        }
    }

    fn range(self, text: &str) -> Result<BlockRange, String> {
        if text.contains('/') {
            return Err("fio does not read on behind a `/`; put a comma between ranges".into());
        }
        let (one, two) = text
            .split_once('-')
            .or_else(|| text.split_once(':'))
            .ok_or("it is a range of two, as in `1k-4k`")?;
        let (one, two) = (number::size(one, self.kb_base)?, number::size(two, self.kb_base)?);
        if one.min(two) == 0 {
            return Err("a block of 0 bytes is no block".into());
        }
        Ok(BlockRange { min: Bytes(one.min(two)), max: Bytes(one.max(two)) })
    }

    /// One of the words.
    pub(crate) fn choice<T: Copy>(self, choices: &[(&str, T)]) -> Result<T, String> {
        choose(self.text()?, choices)
    }

    /// Numbers with `:` between.
    pub(crate) fn reals(self, most: usize, low: f64, high: f64) -> Result<Vec<f64>, String> {
        let numbers = self
            .text()?
            .split(':')
            .map(|text| number::real(text, low, high))
            .collect::<Result<Vec<_>, _>>()?;
        if numbers.len() > most { Err(format!("it takes at most {most} numbers")) } else { Ok(numbers) }
    }
}

/// Finds a word among choices.
pub(crate) fn choose<T: Copy>(text: &str, choices: &[(&str, T)]) -> Result<T, String> {
    choices.iter().find(|(word, _)| *word == text).map(|(_, value)| *value).ok_or_else(|| {
        let words = choices.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        format!("it must be one of {words}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw<'_> {
        Raw { text: Some(text), kb_base: KbBase::Binary }
    }

    #[test]
    fn one_value_serves_all_directions_and_the_second_the_rest() {
        let b = |bytes| Some(Bytes(bytes));
        for (text, triple) in [
            ("4k", [b(4096), b(4096), b(4096)]),
            ("4k,8k", [b(4096), b(8192), b(8192)]),
            ("4k,", [b(4096), None, None]),
            (",8k", [None, b(8192), b(8192)]),
            (",,8k", [None, None, b(8192)]),
            ("4k,,8k", [b(4096), None, b(8192)]),
            ("4k,8k,", [b(4096), b(8192), None]),
            ("1:2:3", [b(1), b(2), b(3)]),
        ] {
            assert_eq!(raw(text).sizes(), Ok(triple), "{text}");
        }
        assert!(raw("1,2,3,4").sizes().is_err());
        assert!(raw(",").sizes().is_err());
        assert!(raw("4k,foo").sizes().is_err());
    }

    #[test]
    fn a_flag_stands_alone_and_a_switch_does_not() {
        let alone = Raw { text: None, kb_base: KbBase::Binary };
        assert_eq!((alone.flag(), raw("0").flag(), raw("7").flag()), (Ok(true), Ok(false), Ok(true)));
        assert!(raw("").flag().is_err());
        assert!(alone.bool().is_err());
        assert!(raw("true").bool().is_err());
        assert_eq!(raw("1").bool(), Ok(true));
    }

    #[test]
    fn ranges_may_run_backwards() {
        let range = BlockRange { min: Bytes(1024), max: Bytes(4096) };
        assert_eq!(raw("4k-1k").ranges(), Ok([Some(range); 3]));
        assert_eq!(raw("1k:4k").ranges(), Ok([Some(range); 3]));
        assert!(raw("1k-4k/8k-16k").ranges().unwrap_err().contains("comma"));
        assert!(raw("4k").ranges().is_err());
    }
}
