//! Reads the range of a sweep: its ends, its steps, and the levels that follow.

use toml::Value;

use crate::units::{ByteRate, Bytes, Fraction, Span};

/// The steps of a range that names none.
const LEVELS: u32 = 10;
/// Below, there is nothing to look for between the ends.
const FEWEST: usize = 3;
/// Above, a first pass alone takes longer than most runs.
const MOST: usize = 64;

/// One level of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    /// As it would be written in an experiment file.
    pub(super) value: Value,
    /// Its place on the axis, in the base of its unit: 1 for 100 %, bytes, bytes per second, seconds, or the number itself.
    pub(super) position: f64,
}

/// What a sweep's values are, with a whole number of the smallest amount that its ends and steps can be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Ten-thousandths of a per cent, as shares are printed.
    Share,
    Size,
    Rate,
    /// Nanoseconds.
    Time,
    /// Millionths of a plain number.
    Number,
}

const PAGE: u64 = 4096;
const SECTOR: u64 = 512;
const SHARE_UNIT: f64 = 1e6;
const NUMBER_UNIT: u64 = 1_000_000;

/// An end or a step: a whole number of its kind's smallest amount, above zero or zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Quantity {
    kind: Kind,
    amount: u64,
    /// Whether round values are those of powers of two: the unit is a binary one.
    binary: bool,
    /// Whether it is a size in bytes, `512B`, which is of neither kind of unit.
    bare: bool,
}

/// How the levels follow each other.
enum Steps {
    Even,
    By(Quantity),
    Doubling,
}

/// The levels of `10%..100%`, `10%..100% step 5%` or `1..64 doubling`, ascending.
///
/// Without a step there are ten, evenly spaced and rounded to what people would write, both ends as they are. Plain numbers
/// are multiples of `grain`.
///
/// # Errors
/// What is wrong, and what would be right, in a sentence without its end.
pub(super) fn steps(text: &str, grain: u64) -> Result<Vec<Step>, String> {
    let form =
        || format!("`{text}` is not a range; expected `10%..100%`, `10%..100% step 5%` or `1..64 doubling`");
    let (low, rest) = text.trim().split_once("..").ok_or_else(form)?;
    if low.trim().is_empty() || rest.trim().is_empty() || rest.starts_with('.') {
        return Err(form());
    }
    let (high, steps) = match rest.trim().split_once(char::is_whitespace) {
        None => (rest.trim(), Steps::Even),
        Some((high, "doubling")) => (high, Steps::Doubling),
        Some((high, words)) => {
            let step = words.trim().strip_prefix("step ").ok_or_else(form)?;
            (high, Steps::By(quantity(step)?))
        }
    };
    let (low, high) = (quantity(low)?, quantity(high)?);
    if low.kind != high.kind {
        return Err(format!(
            "the ends of `{text}` have different units; write both with the same kind of unit"
        ));
    }
    if low.amount >= high.amount {
        return Err(format!("`{text}` does not increase; write the lower end first"));
    }
    let amounts = match &steps {
        Steps::Even => even(low, high, grain),
        Steps::By(step) => by_steps(low, high, *step, text)?,
        Steps::Doubling => doubling(low, high, text)?,
    };
    if grain > 1
        && low.kind == Kind::Number
        && let Some(odd) = amounts.iter().find(|amount| !amount.is_multiple_of(grain * NUMBER_UNIT))
    {
        let odd = low.name(*odd);
        return Err(format!(
            "`{text}` has the level {odd}, but this setting takes multiples of {grain}; use such ends, with `step {grain}` or \
             `doubling`"
        ));
    }
    if amounts.len() < FEWEST {
        let few = amounts.len();
        return Err(format!(
            "`{text}` has {few} levels, but a sweep needs at least {FEWEST}; list them as `values`"
        ));
    }
    if amounts.len() > MOST {
        let many = match steps {
            Steps::By(step) => (high.amount - low.amount) / step.amount + 1,
            Steps::Even | Steps::Doubling => amounts.len() as u64,
        };
        return Err(format!("`{text}` has {many} levels, but a sweep has at most {MOST}; use larger steps"));
    }
    let written_as = Quantity { binary: is_binary(low, high), ..low };
    Ok(amounts.into_iter().map(|amount| written_as.step(amount)).collect())
}

fn by_steps(low: Quantity, high: Quantity, step: Quantity, text: &str) -> Result<Vec<u64>, String> {
    if step.kind != low.kind || step.amount == 0 {
        return Err(format!("the step of `{text}` has another unit than its ends; write it with theirs"));
    }
    let span = high.amount - low.amount;
    if !span.is_multiple_of(step.amount) {
        let last = low.name(low.amount + span / step.amount * step.amount);
        return Err(format!(
            "steps of {} from {} do not reach {}; end at {last}, or use another step",
            low.name(step.amount),
            low.name(low.amount),
            low.name(high.amount)
        ));
    }
    // One more than are allowed is enough to be refused.
    Ok((0..=span / step.amount).take(MOST + 1).map(|count| low.amount + count * step.amount).collect())
}

fn doubling(low: Quantity, high: Quantity, text: &str) -> Result<Vec<u64>, String> {
    if low.amount == 0 {
        return Err(format!("doubling 0 stays 0 in `{text}`; begin above 0"));
    }
    let amounts: Vec<u64> = std::iter::successors(Some(low.amount), |amount| amount.checked_mul(2))
        .take_while(|a| *a <= high.amount)
        .collect();
    match amounts.last() {
        Some(last) if *last != high.amount => {
            let next = last.checked_mul(2).map(|next| format!(" or {}", low.name(next))).unwrap_or_default();
            let (from, to) = (low.name(low.amount), low.name(high.amount));
            Err(format!("doubling {from} does not reach {to}; end at {}{next}", low.name(*last)))
        }
        _ => Ok(amounts),
    }
}

/// Ten values from one end to the other; those between are rounded to the largest of 1, 2 and 5 times a power of ten (a
/// power of two of a binary unit) that is at most a quarter of a step.
fn even(low: Quantity, high: Quantity, grain: u64) -> Vec<u64> {
    let span = high.amount - low.amount;
    let steps = u64::from(LEVELS - 1);
    let smallest = low.kind.whole(low, high, grain);
    let round = if span.is_multiple_of(steps) && (span / steps).is_multiple_of(smallest) {
        smallest
    } else {
        next_multiple(rounding(span / steps / 4, is_binary(low, high)), smallest)
    };
    let mut amounts: Vec<u64> = (0..=steps)
        .map(|index| {
            // Of numbers up to 2^64, so that no product overflows.
            let exact = u128::from(low.amount) + u128::from(span) * u128::from(index) / u128::from(steps);
            let rounded = (exact + u128::from(round / 2)) / u128::from(round) * u128::from(round);
            match index {
                0 => low.amount,
                _ if index == steps => high.amount,
                _ => u64::try_from(rounded).unwrap_or(high.amount).clamp(low.amount, high.amount),
            }
        })
        .collect();
    amounts.dedup();
    amounts
}

/// Whether levels between two ends are written in binary units: also from nothing up, or from bytes.
fn is_binary(low: Quantity, high: Quantity) -> bool {
    high.binary && (low.binary || low.bare || low.amount == 0) || low.binary && high.bare
}

/// Of what is rounded to, a whole number of the finest step.
fn next_multiple(round: u64, smallest: u64) -> u64 {
    round.checked_next_multiple_of(smallest.max(1)).unwrap_or(round)
}

fn rounding(at_most: u64, binary: bool) -> u64 {
    if binary {
        return at_most.checked_ilog2().map_or(1, |power| 1 << power);
    }
    let ten = at_most.checked_ilog10().map_or(1, |power| 10u64.pow(power));
    [5, 2].into_iter().map(|factor| factor * ten).find(|round| *round <= at_most).unwrap_or(ten)
}

impl Kind {
    /// The finest step between levels: whole numbers between whole numbers, else what can be written.
    ///
    /// Sizes keep to pages and sectors where their ends do: little that is made of bytes takes another one.
    fn whole(self, low: Quantity, high: Quantity, grain: u64) -> u64 {
        let both = |unit: u64| low.amount.is_multiple_of(unit) && high.amount.is_multiple_of(unit);
        match self {
            Self::Number if both(NUMBER_UNIT) => NUMBER_UNIT * grain,
            Self::Size if both(PAGE) => PAGE,
            Self::Size if both(SECTOR) => SECTOR,
            Self::Share if both(10_000) => 10_000,
            _ => 1,
        }
    }
}

impl Quantity {
    fn step(self, amount: u64) -> Step {
        let units = amount as f64;
        let position = match self.kind {
            Kind::Share => units / SHARE_UNIT,
            Kind::Size | Kind::Rate => units,
            Kind::Time => units / 1e9,
            Kind::Number => units / NUMBER_UNIT as f64,
        };
        let value = match self.kind {
            Kind::Number if amount.is_multiple_of(NUMBER_UNIT) => {
                i64::try_from(amount / NUMBER_UNIT).map_or(Value::Float(position), Value::Integer)
            }
            Kind::Number => Value::Float(position),
            _ => Value::String(self.name(amount)),
        };
        Step { value, position }
    }

    /// As people write it.
    fn name(self, amount: u64) -> String {
        match self.kind {
            Kind::Share => Fraction(amount as f64 / SHARE_UNIT).to_string(),
            Kind::Size if self.binary || amount == 0 => Bytes(amount).to_string(),
            // Bytes are printed by the largest unit that divides them, and 128kB are 125KiB.
            Kind::Size => decimal_name(amount),
            Kind::Rate => ByteRate(amount).to_string(),
            Kind::Time => Span(std::time::Duration::from_nanos(amount)).to_string(),
            Kind::Number => (amount as f64 / NUMBER_UNIT as f64).to_string(),
        }
    }
}

fn decimal_name(bytes: u64) -> String {
    let units =
        [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1u64)];
    let exact = units.iter().find(|(_, factor)| bytes.is_multiple_of(*factor));
    exact.map_or_else(|| format!("{bytes}B"), |(unit, factor)| format!("{}{unit}", bytes / factor))
}

/// Reads an end or a step by its unit.
fn quantity(text: &str) -> Result<Quantity, String> {
    let text = text.trim();
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim_start();
    let small = |value: f64| {
        // Exact for whatever can be written with six decimals.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be within")]
        (0.0..9e15)
            .contains(&value)
            .then(|| value.round() as u64)
            .ok_or_else(|| format!("`{text}` is too large"))
    };
    let read = |kind: Kind, amount: Result<u64, String>| {
        Ok(Quantity {
            kind,
            amount: amount?,
            binary: unit.contains('i') && unit != "min",
            bare: unit.eq_ignore_ascii_case("b"),
        })
    };
    if unit.is_empty() {
        let number: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
        return read(Kind::Number, small(number * NUMBER_UNIT as f64));
    }
    if unit == "%" {
        let share = text.parse::<Fraction>().map_err(|error| error.to_string())?;
        return read(Kind::Share, small(share.0 * SHARE_UNIT));
    }
    if unit.ends_with("/s") || unit.ends_with("bps") {
        return read(
            Kind::Rate,
            text.parse::<ByteRate>().map(|rate| rate.0).map_err(|error| error.to_string()),
        );
    }
    if let Ok(Span(time)) = text.parse::<Span>() {
        let nanoseconds = u64::try_from(time.as_nanos()).map_err(|_| format!("`{text}` is too long"));
        return read(Kind::Time, nanoseconds);
    }
    match text.parse::<Bytes>() {
        Ok(size) => read(Kind::Size, Ok(size.0)),
        Err(_) => Err(format!(
            "`{text}` is not a quantity; expected a number, or one with %, KiB, MiB/s, ms or the like"
        )),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(text: &str) -> Vec<String> {
        let name = |step: Step| match step.value {
            Value::String(name) => name,
            other => other.to_string(),
        };
        steps(text, 1).unwrap().into_iter().map(name).collect()
    }

    fn positions(text: &str) -> Vec<f64> {
        steps(text, 1).unwrap().into_iter().map(|step| step.position).collect()
    }

    #[test]
    fn a_range_without_a_step_has_ten_round_levels() {
        let tens = ["10%", "20%", "30%", "40%", "50%", "60%", "70%", "80%", "90%", "100%"];
        assert_eq!(names("10%..100%"), tens);
        assert_eq!(positions("10%..100%"), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
        assert_eq!(names("1..64"), ["1", "8", "15", "22", "29", "36", "43", "50", "57", "64"]);
        assert_eq!(names("1..5"), ["1", "2", "3", "4", "5"]);
        assert_eq!(names("1..100")[..3], ["1", "12", "23"]);
        assert_eq!(names("1..33")[..4], ["1", "5", "8", "12"]);
        assert_eq!(names("5%..50%")[..3], ["5%", "10%", "15%"]);
        let sizes = names("4KiB..1MiB");
        assert_eq!((sizes[0].as_str(), sizes[1].as_str(), sizes[9].as_str()), ("4KiB", "112KiB", "1MiB"));
    }

    #[test]
    fn levels_between_sizes_are_pages_or_sectors_in_the_units_of_the_ends() {
        assert_eq!(names("4KiB..64KiB")[..3], ["4KiB", "12KiB", "16KiB"]);
        assert_eq!(names("512B..4KiB")[..3], ["512B", "1KiB", "1536B"]);
        assert_eq!(names("0B..1MiB")[..2], ["0B", "112KiB"]);
        assert_eq!(names("1kB..1MB")[..2], ["1kB", "112kB"]);
        assert_eq!(names("64kB..256kB step 64kB"), ["64kB", "128kB", "192kB", "256kB"]);
    }

    #[test]
    fn levels_between_plain_numbers_are_what_their_setting_takes() {
        let levels = |text| steps(text, 8).map(|steps| steps.iter().map(|s| s.position).collect::<Vec<_>>());
        assert_eq!(levels("8..96").unwrap()[..3], [8.0, 16.0, 24.0]);
        let refused = levels("8..100").unwrap_err();
        assert!(refused.contains("has the level 100") && refused.contains("`step 8`"), "{refused}");
    }

    #[test]
    fn steps_and_doublings_meet_both_ends() {
        assert_eq!(names("10%..100% step 30%"), ["10%", "40%", "70%", "100%"]);
        assert_eq!(names("0B..1MiB step 512KiB"), ["0B", "512KiB", "1MiB"]);
        assert_eq!(names("0.5..2 step 0.5"), ["0.5", "1", "1.5", "2"]);
    }

    #[test]
    fn a_doubling_counts_in_powers_of_two() {
        assert_eq!(names("1..64 doubling"), ["1", "2", "4", "8", "16", "32", "64"]);
        assert_eq!(names("4KiB..1MiB doubling")[6..], ["256KiB", "512KiB", "1MiB"]);
        assert_eq!(names("10ms..80ms doubling"), ["10ms", "20ms", "40ms", "80ms"]);
        assert_eq!(names("5MB/s..20MB/s doubling"), ["5MB/s", "10MB/s", "20MB/s"]);
        assert_eq!(positions("10ms..40ms doubling"), [0.01, 0.02, 0.04]);
    }

    #[test]
    fn whatever_is_no_range_is_refused_with_what_would_be_right() {
        let wrong = |text: &str, part: &str| {
            let error = steps(text, 1).unwrap_err();
            assert!(error.contains(part), "{error}");
        };
        wrong("10%", "expected `10%..100%`");
        wrong("10%..100% by 5%", "expected `10%..100%`");
        wrong("100%..10%", "the lower end first");
        wrong("10%..64", "different units");
        wrong("10%..100% step 7", "with theirs");
        wrong("10%..100% step 25%", "end at 85%");
        wrong("1..100 doubling", "end at 64 or 128");
        wrong("0..64 doubling", "begin above 0");
        wrong("1..2", "has 2 levels");
        wrong("1..1000 step 1", "has 1000 levels, but a sweep has at most 64");
        wrong("..", "expected `10%..100%`");
        wrong("10%..", "expected `10%..100%`");
        wrong("10%...100%", "`10%...100%` is not a range");
        wrong("a..b", "`a` is not a quantity");
        wrong("1x..2x", "not a quantity");
    }

    proptest! {
        #[test]
        fn levels_ascend_from_end_to_end(low in 0u32..5000, span in 2u32..100_000) {
            let high = low + span;
            let positions = positions(&format!("{low}..{high}"));
            prop_assert!(positions.is_sorted_by(|a, b| a < b));
            prop_assert_eq!(positions.first().copied(), Some(f64::from(low)));
            prop_assert_eq!(positions.last().copied(), Some(f64::from(high)));
            prop_assert!(positions.len() <= 10);
        }

        #[test]
        fn no_text_panics(text in "[0-9.%a-zA-Z/ ]{0,24}") {
            let _ = steps(&text, 8);
        }
    }
}
