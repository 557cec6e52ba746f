//! Which runs are meant: by experiment, host, kernel, verdict, date and tag.

use iostone_model::summary::RunListing;
use iostone_model::verdict::Verdict;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

/// What a run must be to be meant; what is left open all are. Words match as a whole, whatever the case, with `*` for any
/// part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// The experiment's name.
    pub experiment: Option<String>,
    /// The host's name.
    pub host: Option<String>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// A verdict that a level came to.
    pub verdict: Option<Verdict>,
    /// Not before.
    pub since: Option<Timestamp>,
    /// Not after.
    pub until: Option<Timestamp>,
    /// All of these tags.
    pub tags: Vec<String>,
}

impl RunFilter {
    /// Whether a run is meant.
    pub fn admits(&self, run: &RunListing) -> bool {
        let word = |pattern: &Option<String>, word: &str| {
            pattern.as_ref().is_none_or(|pattern| matches(pattern, word))
        };
        let at = || run.created_at.parse::<Timestamp>().ok();
        word(&self.experiment, &run.experiment)
            && word(&self.host, &run.host)
            && word(&self.kernel, &run.kernel)
            && self.verdict.is_none_or(|verdict| came_to(run, verdict))
            && self.since.is_none_or(|since| at().is_some_and(|at| at >= since))
            && self.until.is_none_or(|until| at().is_some_and(|at| at <= until))
            && self.tags.iter().all(|pattern| run.tags.iter().any(|tag| matches(pattern, tag)))
    }
}

/// Whether some level came to a verdict; levels that are identical differ by chance alone.
fn came_to(run: &RunListing, verdict: Verdict) -> bool {
    !run.identical_levels && run.comparisons.iter().any(|one| one.verdict == Some(verdict))
}

/// Whether a word is one of a pattern with `*`.
fn matches(pattern: &str, word: &str) -> bool {
    let (pattern, word) = (pattern.to_lowercase(), word.to_lowercase());
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == word };
    let Some(mut left) = word.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let tail = parts.pop().unwrap_or_default();
    for part in parts {
        match left.find(part) {
            Some(at) => left = left.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    left.ends_with(tail)
}

/// A moment as it is typed: a date (its first moment in UTC, or its last), a time of RFC 3339, or how long ago (`7d`, `12h`).
///
/// # Errors
/// What would be right.
pub fn moment(typed: &str, is_end: bool, now: Timestamp) -> Result<Timestamp, String> {
    if let Ok(date) = typed.parse::<Date>() {
        let date = if is_end { date.tomorrow().map_err(|error| error.to_string())? } else { date };
        let start = date.to_zoned(TimeZone::UTC).map_err(|error| error.to_string())?.timestamp();
        let nanosecond = Span::new().nanoseconds(i64::from(is_end));
        return start.checked_sub(nanosecond).map_err(|error| error.to_string());
    }
    if let Ok(moment) = typed.parse::<Timestamp>() {
        return Ok(moment);
    }
    let expected =
        || "expected a date (2026-11-21), a time (2026-11-21T12:00:00Z), or how long ago (12h, 7d, 4w)";
    let unit = typed.chars().last().filter(char::is_ascii_alphabetic).ok_or_else(expected)?;
    let hours_each = match unit {
        'h' => 1,
        'd' => 24,
        'w' => 7 * 24,
        _ => return Err(expected().to_owned()),
    };
    let number: i64 = typed.trim_end_matches(unit).parse().map_err(|_| expected().to_owned())?;
    let hours = number.checked_mul(hours_each).filter(|hours| *hours >= 0).ok_or_else(expected)?;
    let span = Span::new().try_hours(hours).map_err(|_| expected().to_owned())?;
    now.checked_sub(span).map_err(|_| expected().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_part() {
        for (pattern, word) in
            [("6.1", "6.1"), ("6.1*", "6.1.0-56"), ("*BARRIER*", "ext4-barrier"), ("a*b*c", "axbybc")]
        {
            assert!(matches(pattern, word), "{pattern} {word}");
        }
        for (pattern, word) in [("6.1", "6.12"), ("a*b", "abc"), ("*x*", "abc"), ("ab*ba", "aba")] {
            assert!(!matches(pattern, word), "{pattern} {word}");
        }
    }

    #[test]
    fn a_moment_is_a_date_a_time_or_how_long_ago() {
        let now: Timestamp = "2026-11-28T12:00:00Z".parse().unwrap();
        let read = |typed: &str, is_end| moment(typed, is_end, now).map(|at| at.to_string());
        assert_eq!(read("2026-11-21", false).unwrap(), "2026-11-21T00:00:00Z");
        assert_eq!(read("2026-11-21", true).unwrap(), "2026-11-21T23:59:59.999999999Z");
        assert_eq!(read("2026-11-21T08:00:00Z", true).unwrap(), "2026-11-21T08:00:00Z");
        assert_eq!(read("7d", false).unwrap(), "2026-11-21T12:00:00Z");
        for wrong in ["", "yesterday", "-7d", "7", "9999999999999999w", "2026-13-01", "é"] {
            assert!(read(wrong, false).is_err(), "{wrong}");
        }
    }
}
