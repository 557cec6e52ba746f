//! Figures in writing: numbers with their unit, ranges, ratios and spans, rounded for people.

pub(crate) use iostone_model::figures::{count, counted};
use iostone_model::figures::{group_digits, without_zeros};
use iostone_model::metric::{Direction, Unit};
use iostone_model::units::ratio_digits;

/// What stands for a figure that is missing, infinite or not a number.
pub(crate) const NO_FIGURE: &str = "no figure";

/// A value with its unit: `61.7 MB/s`. Very small and very large values are written with an exponent.
pub(crate) fn figure(unit: Unit, value: f64) -> String {
    if !value.is_finite() {
        return NO_FIGURE.to_owned();
    }
    let written = if value.abs() >= 1e15 || (value != 0.0 && value.abs() < smallest(unit)) {
        format!("{value:.2e}{}", bare_suffix(unit))
    } else {
        unit.format(value)
    };
    typeset(&written)
}

/// A round value on an axis with all its digits and no more: `100 µs`, `50 MB/s`, `100.2 MB/s`.
pub(crate) fn tick(unit: Unit, value: f64) -> String {
    let written = figure(unit, value);
    if value == 0.0 {
        return "0".to_owned();
    }
    let (number, suffix) = match written.split_once('\u{a0}') {
        Some((number, unit)) => (number, format!("\u{a0}{unit}")),
        None => (written.as_str(), String::new()),
    };
    if number.contains('e') {
        return written;
    }
    format!("{}{suffix}", round_number(value / prefix_factor(&suffix)))
}

/// What the prefix of a unit in writing multiplies by.
fn prefix_factor(suffix: &str) -> f64 {
    match suffix.trim_start_matches('\u{a0}').chars().next() {
        Some('G') => 1e9,
        Some('M') => 1e6,
        Some('k') => 1e3,
        Some('m') => 1e-3,
        Some('µ') => 1e-6,
        Some('n') => 1e-9,
        Some('%') => 0.01,
        _ => 1.0,
    }
}

/// A multiple of a round step, without the noise of binary fractions: `0.15`, never `0.15000000000000002`.
pub(crate) fn round_number(value: f64) -> String {
    typeset(&group_digits(&without_zeros(value, 6)))
}

/// A round change on an axis: `+5 %`, `−0.05 %`.
pub(crate) fn tick_percent(share: f64) -> String {
    let value = share * 100.0;
    let text = without_zeros(value, 4);
    let sign = if value > 0.0 && text != "0" { "+" } else { "" };
    format!("{sign}{}\u{a0}%", typeset(&text))
}

/// Below this a value would be rounded to nothing by the smallest prefix of its unit.
fn smallest(unit: Unit) -> f64 {
    match unit {
        Unit::BytesPerSecond | Unit::PerSecond | Unit::Bytes => 0.01,
        Unit::Seconds => 1e-11,
        Unit::Plain | Unit::Share => 0.0,
    }
}

/// The unit without any prefix, with the space before it.
fn bare_suffix(unit: Unit) -> &'static str {
    match unit {
        Unit::BytesPerSecond => " B/s",
        Unit::PerSecond => " /s",
        Unit::Seconds => " s",
        Unit::Bytes => " B",
        Unit::Share => " %",
        Unit::Plain => "",
    }
}

/// A true minus sign and no-break spaces.
fn typeset(number: &str) -> String {
    number.replace('-', "\u{2212}").replace("e\u{2212}", "e-").replace(' ', "\u{a0}")
}

/// Two values with their unit written once where it is the same: `61.0–62.4 MB/s`.
pub(crate) fn range(unit: Unit, low: f64, high: f64) -> String {
    let (low, high) = (figure(unit, low), figure(unit, high));
    let suffix_of = |text: &str| text.split_once('\u{a0}').map(|(_, suffix)| suffix.to_owned());
    match (low.split_once('\u{a0}'), suffix_of(&high)) {
        (Some((number, suffix)), Some(other)) if suffix == other => format!("{number}\u{2013}{high}"),
        _ => format!("{low}\u{2013}{high}"),
    }
}

/// A share as a percentage with one decimal, two below a tenth of a percent: `1.2 %`.
pub(crate) fn percent(share: f64) -> String {
    if !share.is_finite() {
        return NO_FIGURE.to_owned();
    }
    format!("{}\u{a0}%", percent_number(share, false))
}

/// The same with its sign always written: `+1.2 %`.
pub(crate) fn signed_percent(share: f64) -> String {
    if !share.is_finite() {
        return NO_FIGURE.to_owned();
    }
    format!("{}\u{a0}%", percent_number(share, true))
}

/// A declared share such as a margin, exactly and without needless decimals: `3 %`, `2.5 %`, `0.001 %`.
pub(crate) fn declared_percent(share: f64) -> String {
    // Nine decimals are more than anybody declares and fewer than the noise of binary fractions.
    format!("{}\u{a0}%", without_zeros(share * 100.0, 9))
}

fn percent_number(share: f64, signed: bool) -> String {
    let value = share * 100.0;
    let digits = if value == 0.0 || value.abs() >= 0.095 { 1 } else { 2 };
    let written =
        if value.abs() >= 1e6 { format!("{value:.1e}") } else { group_digits(&format!("{value:.digits$}")) };
    let written = if written.trim_start_matches('-').chars().all(|c| c == '0' || c == '.') {
        written.trim_start_matches('-').to_owned()
    } else if signed && value > 0.0 {
        format!("+{written}")
    } else {
        written
    };
    typeset(&written)
}

/// A ratio to the baseline in writing, with its interval beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RatioText {
    /// `−0.9 %`, or `×4.31` where the change is larger than half.
    pub(crate) estimate: String,
    /// `[−1.6, −0.2]` in the same terms; none where neither bound is known.
    pub(crate) interval: Option<String>,
    /// Whether the interval is in percent.
    pub(crate) in_percent: bool,
}

impl RatioText {
    /// The interval with its unit: `[−1.6, −0.2] %`, `×[3.90, 4.80]`.
    pub(crate) fn interval_with_unit(&self) -> Option<String> {
        let interval = self.interval.as_deref()?;
        Some(if self.in_percent { format!("{interval}\u{a0}%") } else { format!("\u{d7}{interval}") })
    }
}

/// Writes how a figure differs from the baseline's: of one that is better where it is lower the figure's own ratio, because
/// "11.6 % more" is what people read off a latency that is 10.4 % worse.
pub(crate) fn own_ratio(better: Direction, estimate: Option<f64>, interval: [Option<f64>; 2]) -> RatioText {
    let [estimate, _] = own_interval(better, [estimate, estimate]);
    ratio(estimate, own_interval(better, interval))
}

/// An interval of ratios above 1 where the level is better, as one of the metric's own ratios.
pub(crate) fn own_interval(better: Direction, [low, high]: [Option<f64>; 2]) -> [Option<f64>; 2] {
    match better {
        Direction::Higher => [low, high],
        Direction::Lower => [high.map(f64::recip), low.map(f64::recip)],
    }
}

/// Writes a ratio: as a change in percent within half of the baseline, as a factor beyond.
///
/// An unbounded end is written as what it is on the scale of ratios: nothing (−100 %, ×0) below, ∞ above.
pub(crate) fn ratio(estimate: Option<f64>, interval: [Option<f64>; 2]) -> RatioText {
    let usable = |value: Option<f64>| value.filter(|v| v.is_finite() && *v >= 0.0);
    let (estimate, [low, high]) = (usable(estimate), interval.map(usable));
    let in_percent = estimate.or(high).or(low).is_none_or(|ratio| (0.5..=1.5).contains(&ratio));
    let write = |ratio: f64| {
        if in_percent { percent_number(ratio - 1.0, true) } else { typeset(&factor_digits(ratio)) }
    };
    let written = match estimate {
        Some(ratio) if in_percent => format!("{}\u{a0}%", write(ratio)),
        Some(ratio) => format!("\u{d7}{}", write(ratio)),
        None => NO_FIGURE.to_owned(),
    };
    let interval = (low.is_some() || high.is_some()).then(|| {
        let high = high.map_or_else(|| "\u{221e}".to_owned(), write);
        format!("[{},\u{a0}{high}]", write(low.unwrap_or(0.0)))
    });
    RatioText { estimate: written, interval, in_percent }
}

/// A factor: three digits, and below a tenth the two that count.
pub(crate) fn factor_digits(ratio: f64) -> String {
    group_digits(&ratio_digits(ratio))
}

/// Seconds for people: `45 s`, `12 min`, `2 h 11 min`.
pub(crate) fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return NO_FIGURE.to_owned();
    }
    if seconds < 59.5 {
        return if seconds < 9.95 { format!("{seconds:.1}\u{a0}s") } else { format!("{seconds:.0}\u{a0}s") };
    }
    let minutes = (seconds / 60.0).round();
    if minutes < 60.0 {
        format!("{minutes:.0}\u{a0}min")
    } else {
        let hours = (minutes / 60.0).floor();
        let rest = minutes - hours * 60.0;
        format!("{hours:.0}\u{a0}h\u{a0}{rest:.0}\u{a0}min")
    }
}

/// A size in decimal units with three digits: `4.29 GB`.
pub(crate) fn bytes(value: u64) -> String {
    let written = match value {
        0..1_000 => format!("{value} B"),
        _ => Unit::Bytes.format(value as f64),
    };
    typeset(&written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extreme_figures_stay_short() {
        assert_eq!(figure(Unit::BytesPerSecond, 1e-9), "1.00e-9\u{a0}B/s");
        assert_eq!(figure(Unit::BytesPerSecond, 1e12), "1\u{202f}000\u{a0}GB/s");
        assert_eq!(figure(Unit::Seconds, 1e-9), "1.00\u{a0}ns");
        assert_eq!(figure(Unit::Seconds, 1e12), "1\u{202f}000\u{202f}000\u{202f}000\u{202f}000\u{a0}s");
        assert_eq!(figure(Unit::Seconds, f64::NAN), NO_FIGURE);
        assert_eq!(figure(Unit::PerSecond, f64::INFINITY), NO_FIGURE);
        assert_eq!(figure(Unit::Plain, 1e18), "1.00e18");
    }

    #[test]
    fn ticks_have_no_needless_decimals() {
        assert_eq!(tick(Unit::Seconds, 1e-4), "100\u{a0}µs");
        assert_eq!(tick(Unit::BytesPerSecond, 2e6), "2\u{a0}MB/s");
        assert_eq!(tick(Unit::PerSecond, 50.0), "50\u{a0}/s");
        assert_eq!(tick(Unit::Plain, 0.25), "0.25");
        assert_eq!(round_number(3.0 * 0.05), "0.15");
        assert_eq!(round_number(-0.0), "0");
    }

    #[test]
    fn neighbouring_ticks_are_told_apart() {
        assert_eq!(tick(Unit::BytesPerSecond, 100.2e6), "100.2\u{a0}MB/s");
        assert_eq!(tick(Unit::Seconds, 3.0 * 0.05), "150\u{a0}ms");
        assert_eq!(tick(Unit::Seconds, 1.0005), "1.0005\u{a0}s");
        assert_eq!(tick(Unit::PerSecond, 123_450.0), "123.45\u{a0}k/s");
    }

    #[test]
    fn declared_shares_are_written_as_they_were_declared() {
        for (share, written) in
            [(0.03, "3"), (0.025, "2.5"), (0.000_01, "0.001"), (0.999_999, "99.9999"), (0.07, "7")]
        {
            assert_eq!(declared_percent(share), format!("{written}\u{a0}%"));
        }
    }

    #[test]
    fn percent_ticks_keep_the_decimals_they_need() {
        assert_eq!(tick_percent(0.0005), "+0.05\u{a0}%");
        assert_eq!(tick_percent(-0.4), "−40\u{a0}%");
        assert_eq!(tick_percent(-1e-17), "0\u{a0}%");
    }

    #[test]
    fn a_range_names_its_unit_once() {
        assert_eq!(range(Unit::BytesPerSecond, 61.0e6, 62.4e6), "61.0\u{2013}62.4\u{a0}MB/s");
        assert_eq!(range(Unit::Seconds, 0.0009, 0.0011), "900\u{a0}µs\u{2013}1.10\u{a0}ms");
    }

    #[test]
    fn small_changes_are_percentages_and_large_ones_factors() {
        let small = ratio(Some(0.991), [Some(0.984), Some(0.998)]);
        assert_eq!(small.estimate, "−0.9\u{a0}%");
        assert_eq!(small.interval_with_unit().unwrap(), "[−1.6,\u{a0}−0.2]\u{a0}%");
        let large = ratio(Some(4.31), [Some(3.9), Some(4.8)]);
        assert_eq!(large.estimate, "×4.31");
        assert_eq!(large.interval_with_unit().unwrap(), "×[3.90,\u{a0}4.80]");
    }

    #[test]
    fn unbounded_and_missing_bounds_are_written_as_such() {
        assert_eq!(ratio(Some(1.02), [None, Some(1.1)]).interval.unwrap(), "[−100.0,\u{a0}+10.0]");
        assert_eq!(ratio(Some(2.5), [Some(1.1), None]).interval.unwrap(), "[1.10,\u{a0}∞]");
        assert_eq!(ratio(Some(1.0), [None, None]).interval, None);
        assert_eq!(ratio(Some(f64::NAN), [None, None]).estimate, NO_FIGURE);
        assert_eq!(ratio(Some(1.0), [None, None]).estimate, "0.0\u{a0}%");
    }

    #[test]
    fn spans_are_rounded_for_people() {
        assert_eq!(duration(7860.0), "2\u{a0}h\u{a0}11\u{a0}min");
        assert_eq!(duration(3.21), "3.2\u{a0}s");
        assert_eq!(duration(59.9), "1\u{a0}min");
        assert_eq!(duration(f64::NAN), NO_FIGURE);
    }
}
