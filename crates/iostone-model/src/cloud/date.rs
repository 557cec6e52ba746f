//! The date whose limits hold: a day, or a month or year that stands for its first day.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// `2017`, `2017-07` or `2017-07-10`; written as it was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CatalogueDate {
    /// The day, the first one where only the month or year was said.
    day: Date,
    /// Parts that were said: 1, 2 or 3.
    parts: u8,
}

/// Why a piece of text is not a date.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a date: expected a day, month or year, as in 2017-07-10, 2017-07 or 2017")]
pub struct DateError {
    /// The text as it was given.
    pub text: String,
}

impl CatalogueDate {
    /// A day.
    pub fn of_day(day: Date) -> Self {
        Self { day, parts: 3 }
    }

    /// The day, the first one where only a month or year was said.
    pub fn day(self) -> Date {
        self.day
    }

    /// The last day that it may mean: that of the month or the year where only these were said.
    pub fn last_day(self) -> Date {
        match self.parts {
            1 => self.day.last_of_year(),
            2 => self.day.last_of_month(),
            _ => self.day,
        }
    }

    /// "on 2017-07-10", "in 2017-07".
    pub fn in_words(self) -> String {
        format!("{} {self}", if self.parts == 3 { "on" } else { "in" })
    }
}

impl FromStr for CatalogueDate {
    type Err = DateError;

    fn from_str(text: &str) -> Result<Self, DateError> {
        let wrong = || DateError { text: text.to_owned() };
        let parts: Vec<&str> = text.trim().split('-').collect();
        let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        if !parts.iter().all(is_number) || !matches!(lengths.as_slice(), [4] | [4, 2] | [4, 2, 2]) {
            return Err(wrong());
        }
        let part = |index: usize| parts.get(index).map_or(Ok(1), |part| part.parse::<i16>());
        let (year, month, day) = (part(0), part(1), part(2));
        let (Ok(year), Ok(month), Ok(day)) = (year, month, day) else { return Err(wrong()) };
        let (Ok(month), Ok(day)) = (i8::try_from(month), i8::try_from(day)) else { return Err(wrong()) };
        let day = Date::new(year, month, day).map_err(|_| wrong())?;
        Ok(Self { day, parts: u8::try_from(parts.len()).map_err(|_| wrong())? })
    }
}

impl fmt::Display for CatalogueDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let day = self.day;
        match self.parts {
            1 => write!(f, "{:04}", day.year()),
            2 => write!(f, "{:04}-{:02}", day.year(), day.month()),
            _ => write!(f, "{day}"),
        }
    }
}

impl Serialize for CatalogueDate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CatalogueDate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for CatalogueDate {
    fn schema_name() -> Cow<'static, str> {
        "CatalogueDate".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_stands_for_its_first_day_and_is_written_as_said() {
        for (text, day) in [("2017-07", "2017-07-01"), ("2015", "2015-01-01"), ("2018-12-03", "2018-12-03")] {
            let date: CatalogueDate = text.parse().expect(text);
            assert_eq!((date.to_string().as_str(), date.day().to_string().as_str()), (text, day));
        }
        for (text, last, words) in [
            ("2016", "2016-12-31", "in 2016"),
            ("2016-02", "2016-02-29", "in 2016-02"),
            ("2017-07-10", "2017-07-10", "on 2017-07-10"),
        ] {
            let date: CatalogueDate = text.parse().expect(text);
            assert_eq!((date.last_day().to_string().as_str(), date.in_words().as_str()), (last, words));
        }
        for wrong in ["", "17-07", "2017-13", "2017-02-30", "2017-7", "July 2017", "2017-07-10-1", "+017"] {
            assert!(wrong.parse::<CatalogueDate>().is_err(), "{wrong}");
        }
    }
}
