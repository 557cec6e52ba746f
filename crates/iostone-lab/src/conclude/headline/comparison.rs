//! What one comparison came to, in a sentence: the metric's own change, led by its interval.

use iostone_model::metric::{self, Direction, Unit};
use iostone_model::units::{p_value, ratio_digits};
use iostone_model::verdict::{Comparison, UnpairedTest, Verdict, Verdicts};

use super::{FACTOR_FROM, at_stratum, confidence, factor, margin, percent_of, undecided, whole_percent};

/// Why figures that were not measured in blocks get no verdict.
pub(super) const NOT_BLOCKED: &str = "without blocks in random order there is no verdict";

/// The answer for one level.
pub(super) fn sentence(comparison: &Comparison, verdicts: &Verdicts) -> String {
    let level = at_stratum(&comparison.level, &comparison.stratum);
    let blocks = match comparison.blocks {
        count if verdicts.blocks.superblock > 0 => format!("{count} trials each"),
        1 => "1 block".to_owned(),
        count => format!("{count} blocks"),
    };
    let (title, unit) = title(verdicts);
    let told = Told { comparison, verdicts, level: &level, blocks: &blocks, title, unit };
    if let Some(test) = &comparison.unpaired {
        return format!("{}, {}; {NOT_BLOCKED}.", told.unblocked(test), p_value(test.p_value));
    }
    let Some(ratio) = comparison.ratio else { return without_ratio(comparison, &level, &blocks) };
    let baseline = &comparison.baseline;
    match comparison.verdict {
        Some(Verdict::Faster | Verdict::Slower) if is_factor(ratio) => told.factor(ratio),
        Some(Verdict::Faster) => told.change("faster", ratio),
        Some(Verdict::Slower) => told.change("slower", ratio),
        Some(Verdict::Equivalent) => told.equivalent(),
        Some(Verdict::Unstable) => format!(
            "The effect of {level} against {baseline} changed during the run ({blocks}), so no one ratio describes it."
        ),
        Some(Verdict::Undecided) => {
            let interval = own(comparison.ratio_interval, verdicts.better);
            undecided(comparison, &level, &blocks, &told.open_difference(interval))
        }
        None => format!("{level} against {baseline}: {NOT_BLOCKED}."),
    }
}

/// What is compared, as people call it; of figures from elsewhere the name of the column.
pub(super) fn title(verdicts: &Verdicts) -> (String, Unit) {
    match metric::find(&verdicts.metric) {
        Some(metric) => (metric.title.to_owned(), metric.unit),
        None => (format!("`{}`", verdicts.metric), verdicts.unit),
    }
}

fn is_factor(ratio: f64) -> bool {
    ratio >= FACTOR_FROM || ratio <= 1.0 / FACTOR_FROM
}

/// An interval of "better" as one of the metric's own ratio: of a latency, lower is better.
fn own([low, high]: [Option<f64>; 2], better: Direction) -> [Option<f64>; 2] {
    match better {
        Direction::Higher => [low, high],
        Direction::Lower => [high.map(f64::recip), low.map(f64::recip)],
    }
}

/// A comparison and what its sentence is made of.
struct Told<'a> {
    comparison: &'a Comparison,
    verdicts: &'a Verdicts,
    level: &'a str,
    blocks: &'a str,
    title: String,
    unit: Unit,
}

impl Told<'_> {
    /// "dsync delivers 1/116 of the throughput of on", "throughput of off is 0.9 % lower than that of on".
    fn unblocked(&self, test: &UnpairedTest) -> String {
        let (level, baseline, title) = (self.level, &self.comparison.baseline, &self.title);
        let [ratio, _] = own([Some(test.ratio), Some(test.ratio)], self.verdicts.better);
        // A run that never ended stands beyond every ratio.
        let Some(ratio) = ratio.filter(|ratio| *ratio > 0.0 && *ratio < f64::MAX) else {
            return format!("{level} against {baseline}: most runs of one of the two never ended");
        };
        if is_factor(ratio) {
            let times = if ratio > 1.0 {
                format!("{} times", factor(ratio))
            } else {
                format!("1/{} of", factor(ratio.recip()))
            };
            return format!("{level} {} {times} the {title} of {baseline}", self.verb());
        }
        let side = if ratio >= 1.0 { "higher" } else { "lower" };
        format!("{title} of {level} is {} % {side} than that of {baseline}", percent_of((ratio - 1.0).abs()))
    }

    fn verb(&self) -> &'static str {
        match self.unit {
            Unit::BytesPerSecond | Unit::PerSecond => "delivers",
            Unit::Seconds if self.title.ends_with("time") => "takes",
            _ => "has",
        }
    }

    /// "off delivers 3.0 to 3.3 times the throughput of on (95 %, 6 blocks; typical 3.1)."
    fn factor(&self, ratio: f64) -> String {
        let (level, baseline) = (self.level, &self.comparison.baseline);
        let [low, high] = self.comparison.ratio_interval;
        // Of two ratios that are each other's inverse people understand the one above 1.
        let (ratio, range) = if ratio >= 1.0 {
            (ratio, [low, high])
        } else {
            (ratio.recip(), [high.map(f64::recip), low.map(f64::recip)])
        };
        let faster = self.comparison.verdict == Some(Verdict::Faster);
        let more = faster == (self.verdicts.better == Direction::Higher);
        let verb = self.verb();
        let (times, title) = (times(range, ratio), &self.title);
        let basis = self.basis(&format!("typical {}", factor(ratio)), range);
        let word = if faster { "faster" } else { "slower" };
        if more {
            format!("{level} {verb} {times} the {title} of {baseline} ({basis}).")
        } else {
            format!("{level} is {word}: {baseline} {verb} {times} the {title} ({basis}).")
        }
    }

    /// "off is faster than on: throughput 0.6 to 9.1 % higher (95 %, 6 blocks; typical 4.8 %)."
    fn change(&self, word: &str, ratio: f64) -> String {
        let range = self.comparison.ratio_interval;
        let [own_ratio, _] = own([Some(ratio), Some(ratio)], self.verdicts.better);
        let own_ratio = own_ratio.unwrap_or(ratio);
        let size = percent_of((own_ratio - 1.0).abs());
        let change = change(own(range, self.verdicts.better)).unwrap_or_else(|| {
            format!("about {size} % {}", if own_ratio >= 1.0 { "higher" } else { "lower" })
        });
        let basis = if self.is_first_proof(ratio) {
            format!("best guess {size} %, likely too high because the run stopped at the first proof")
        } else {
            format!("typical {size} %")
        };
        let basis = self.basis(&basis, range);
        let (level, baseline, title) = (self.level, &self.comparison.baseline, &self.title);
        format!("{level} is {word} than {baseline}: {title} {change} ({basis}).")
    }

    /// "off and on are equivalent within 3 %: throughput 1.3 to 1.8 % higher (90 %, 6 blocks), less than what matters."
    fn equivalent(&self) -> String {
        let (level, baseline) = (self.level, &self.comparison.baseline);
        let margin = margin(self.verdicts);
        let range = own(self.comparison.equivalence_interval, self.verdicts.better);
        // Each of its bounds holds at the confidence. Rounded, so that 95 % gives the very number 90 %.
        let two_sided = ((2.0 * self.verdicts.confidence - 1.0) * 1e12).round() / 1e12;
        let of = format!("{}, {}", whole_percent(two_sided), self.blocks);
        match change(range) {
            Some(change) => {
                format!(
                    "{level} and {baseline} are equivalent within {margin}: {} {change} ({of}).",
                    self.title
                )
            }
            None => format!("{level} and {baseline} are equivalent within {margin} ({}).", self.blocks),
        }
    }

    /// ": throughput is anything from 63 % lower to 2.9 times as high (95 %)", as far as it is known.
    fn open_difference(&self, interval: [Option<f64>; 2]) -> String {
        let (title, confidence) = (&self.title, confidence(self.verdicts));
        let side = |ratio: f64| match ratio {
            ratio if ratio >= FACTOR_FROM => format!("{} times as high", factor(ratio)),
            ratio if ratio >= 1.0 => format!("{} % higher", percent_of(ratio - 1.0)),
            ratio => format!("{} % lower", percent_of(1.0 - ratio)),
        };
        match interval {
            [Some(low), Some(high)] => {
                format!(": {title} is anything from {} to {} ({confidence})", side(low), side(high))
            }
            [Some(low), None] => format!(": {title} is at least {} ({confidence})", side(low)),
            [None, Some(high)] => format!(": {title} is at most {} ({confidence})", side(high)),
            [None, None] => String::new(),
        }
    }

    /// "95 %, 6 blocks; typical 3.1", or without the confidence where there is no interval that it is of.
    fn basis(&self, typical: &str, range: [Option<f64>; 2]) -> String {
        let of_interval = range.iter().any(Option::is_some);
        let confidence = if of_interval { format!("{}, ", confidence(self.verdicts)) } else { String::new() };
        format!("{confidence}{}; {typical}", self.blocks)
    }

    /// Whether the run stopped at the look that showed it, by a ratio that was only just large enough: such ratios are
    /// larger than the truth more often than not.
    fn is_first_proof(&self, ratio: f64) -> bool {
        let [low, high] = self.comparison.ratio_interval;
        let near = if ratio >= 1.0 { low } else { high };
        self.comparison.decided_at == Some(self.comparison.blocks)
            && near.is_none_or(|near| near.ln().abs() < 0.5 * ratio.ln().abs())
    }
}

/// "3.0 to 3.3 times", "at least 3.0 times", "about 3.1 times".
fn times([low, high]: [Option<f64>; 2], ratio: f64) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("{} to {} times", ratio_digits(low), ratio_digits(high)),
        (Some(low), None) => format!("at least {} times", ratio_digits(low)),
        _ => format!("about {} times", factor(ratio)),
    }
}

/// "0.6 to 9.1 % higher", "-1.1 to +0.4 %", "at least 0.6 % higher"; none without an end.
fn change([low, high]: [Option<f64>; 2]) -> Option<String> {
    let size = |ratio: f64| percent_of((ratio - 1.0).abs());
    Some(match (low, high) {
        (Some(low), Some(high)) if low >= 1.0 => format!("{} to {} % higher", size(low), size(high)),
        (Some(low), Some(high)) if high <= 1.0 => format!("{} to {} % lower", size(high), size(low)),
        (Some(low), Some(high)) => {
            format!("{:+.1} to {:+.1} %", (low - 1.0) * 100.0, (high - 1.0) * 100.0)
        }
        (Some(low), None) if low >= 1.0 => format!("at least {} % higher", size(low)),
        (None, Some(high)) if high <= 1.0 => format!("at least {} % lower", size(high)),
        _ => return None,
    })
}

/// Runs that never ended have no ratio, but may well have a verdict.
fn without_ratio(comparison: &Comparison, level: &str, blocks: &str) -> String {
    let baseline = &comparison.baseline;
    match comparison.verdict {
        Some(Verdict::Faster) => {
            format!(
                "{level} is faster than {baseline}, whose runs never ended or completed nothing ({blocks}); no ratio can be given."
            )
        }
        Some(Verdict::Slower) => {
            format!(
                "{level} is slower than {baseline}: its runs never ended or completed nothing ({blocks}); no ratio can be given."
            )
        }
        Some(verdict) => {
            format!("{level} against {baseline} is {} ({blocks}); no ratio can be given.", verdict.word())
        }
        None => format!("{level} against {baseline}: {NOT_BLOCKED}."),
    }
}
