//! Reads the order of observations: positions, seconds of any clock, or times.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// What an order is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writing {
    Number,
    /// RFC 3339, with an offset: a moment.
    Moment,
    /// A date and time without an offset: a moment on a clock that nobody set meanwhile.
    Civil,
}

impl Writing {
    /// What the cells of such a column should be.
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Self::Number => "a number, as the column begins with",
            Self::Moment => "a time with an offset, as in `2026-11-21T19:40:07Z`, as the column begins with",
            Self::Civil => "a time without an offset, as in `2026-11-21 19:40:07`, as the column begins with",
        }
    }
}

/// A position as it is, a time in seconds; larger is later.
pub(crate) fn moment(text: &str) -> Option<(f64, Writing)> {
    let seconds = |time: Timestamp| time.as_duration().as_secs_f64();
    let number = || text.parse::<f64>().ok().filter(|value| value.is_finite());
    let timestamp = || text.parse::<Timestamp>().ok().map(seconds);
    let civil =
        || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|time| seconds(time.timestamp()));
    number()
        .map(|value| (value, Writing::Number))
        .or_else(|| timestamp().map(|value| (value, Writing::Moment)))
        .or_else(|| civil().map(|value| (value, Writing::Civil)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_and_times_are_read() {
        assert_eq!(moment("3"), Some((3.0, Writing::Number)));
        assert_eq!(moment("1970-01-01T00:01:00Z"), Some((60.0, Writing::Moment)));
        assert_eq!(moment("1970-01-01 00:01:00"), Some((60.0, Writing::Civil)));
        assert_eq!(moment("soon"), None);
        assert_eq!(moment("inf"), None);
    }
}
