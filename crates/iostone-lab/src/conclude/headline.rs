//! The answer in a sentence or two.

mod curve;
mod sweep;

use iostone_model::units::ratio_digits;
use iostone_model::verdict::{Comparison, CurveVerdict, Verdict, Verdicts};

/// From this ratio on people say "4.3 times", below they say "12 %".
const FACTOR_FROM: f64 = 1.5;

/// Says what the comparisons came to, in plain words, the firm ones first.
pub fn headline(verdicts: &Verdicts) -> String {
    if let Some(noise) = &verdicts.noise {
        let any = |wanted: &[Verdict]| {
            verdicts.comparisons.iter().filter_map(|c| c.verdict).any(|verdict| wanted.contains(&verdict))
        };
        let difference = if any(&[Verdict::Faster, Verdict::Slower]) {
            "Identical trials came out different, so this machine is not fit for comparisons now."
        } else if any(&[Verdict::Unstable]) {
            "Identical trials drifted apart and back: this machine is not steady now."
        } else {
            "Identical trials were not told apart, as it should be."
        };
        let place = if verdicts.curves.is_empty() { "Here" } else { "At the noisiest point" };
        return format!(
            "{difference} {place} {} blocks would show a difference of {}, and {} blocks one of {}.",
            verdicts.blocks.complete,
            percent(noise.detectable_at_run),
            noise.budget,
            percent(noise.detectable)
        );
    }
    if let Some(swept) = &verdicts.sweep {
        return sweep::sentence(swept, verdicts);
    }
    let answers = answers(verdicts);
    match answers.as_slice() {
        [] => "No block is complete yet, so nothing can be said.".to_owned(),
        few if few.len() <= 3 => {
            few.iter().map(|answer| answer.sentence.as_str()).collect::<Vec<_>>().join(" ")
        }
        several => count(several, verdicts),
    }
}

/// What is said of one level.
struct Answer {
    verdict: Option<Verdict>,
    /// A curve that is ahead at some loads and behind at others.
    crosses: bool,
    /// The typical ratio, of a curve the largest; nothing counts as 0.
    ratio: f64,
    sentence: String,
}

fn answers(verdicts: &Verdicts) -> Vec<Answer> {
    if verdicts.curves.is_empty() {
        let of_comparison = |comparison: &Comparison| Answer {
            verdict: comparison.verdict,
            crosses: false,
            ratio: comparison.ratio.unwrap_or(0.0),
            sentence: sentence(comparison, verdicts),
        };
        return verdicts.comparisons.iter().map(of_comparison).collect();
    }
    let of_curve = |curve: &CurveVerdict| Answer {
        verdict: Some(curve.verdict),
        crosses: curve.crosses(),
        ratio: curve.points_of(verdicts).filter_map(|point| point.ratio).fold(0.0, f64::max),
        sentence: curve::sentence(curve, verdicts),
    };
    verdicts.curves.iter().map(of_curve).collect()
}

/// More than a reader takes in sentence by sentence: how many of each verdict, and the largest gain.
fn count(several: &[Answer], verdicts: &Verdicts) -> String {
    let count = |verdict: Verdict| {
        several.iter().filter(|answer| answer.verdict == Some(verdict) && !answer.crosses).count()
    };
    let crossing = several.iter().filter(|answer| answer.crosses).count();
    let words =
        [Verdict::Faster, Verdict::Slower, Verdict::Equivalent, Verdict::Undecided, Verdict::Unstable];
    let counts: Vec<String> = words
        .iter()
        .filter(|verdict| count(**verdict) > 0)
        .map(|verdict| format!("{} {}", count(*verdict), verdict.word()))
        .chain((crossing > 0).then(|| format!("{crossing} crossing the baseline's")))
        .collect();
    let best = several
        .iter()
        .filter(|answer| answer.verdict == Some(Verdict::Faster))
        .max_by(|left, right| left.ratio.total_cmp(&right.ratio));
    let what = if verdicts.curves.is_empty() { "comparisons" } else { "curves compared" };
    let against = format!("Of {} {what} with {}: {}.", several.len(), verdicts.baseline, counts.join(", "));
    match best {
        Some(best) => format!("{against} The largest: {}", best.sentence),
        None => against,
    }
}

fn percent(ratio: f64) -> String {
    let value = ratio * 100.0;
    if value < 0.095 { format!("{value:.2} %") } else { format!("{value:.1} %") }
}

/// "4.3", "24.4", "580": as many digits as people take in.
fn factor(ratio: f64) -> String {
    if (0.1..10.0).contains(&ratio) { format!("{ratio:.1}") } else { ratio_digits(ratio) }
}

/// The level, with the stratum it is compared in.
fn at_stratum(level: &str, stratum: &str) -> String {
    if stratum.is_empty() { level.to_owned() } else { format!("{level} (at {stratum})") }
}

/// "3.2 to 4.8 times", or "-1.6 to +0.4 %".
fn interval([low, high]: [Option<f64>; 2], as_factor: bool) -> Option<String> {
    match (low, high) {
        (Some(low), Some(high)) if as_factor => {
            Some(format!("{} to {}", ratio_digits(low), ratio_digits(high)))
        }
        (Some(low), Some(high)) => {
            Some(format!("{:+.1} to {:+.1} %", (low - 1.0) * 100.0, (high - 1.0) * 100.0))
        }
        (Some(low), None) => Some(format!("{:+.1} % or more", (low - 1.0) * 100.0)),
        (None, Some(high)) => Some(format!("{:+.1} % or less", (high - 1.0) * 100.0)),
        (None, None) => None,
    }
}

fn confidence(verdicts: &Verdicts) -> String {
    format!("{} %", iostone_model::units::Fraction(verdicts.confidence).to_string().trim_end_matches('%'))
}

fn margin(verdicts: &Verdicts) -> String {
    format!("{} %", iostone_model::units::Fraction(verdicts.margin).to_string().trim_end_matches('%'))
}

fn sentence(comparison: &Comparison, verdicts: &Verdicts) -> String {
    let level = at_stratum(&comparison.level, &comparison.stratum);
    let baseline = &comparison.baseline;
    let blocks = match comparison.blocks {
        1 => "1 block".to_owned(),
        count => format!("{count} blocks"),
    };
    let Some(ratio) = comparison.ratio else { return without_ratio(comparison, &level, &blocks) };
    let times = factor(ratio);
    let as_factor = ratio >= FACTOR_FROM || ratio <= 1.0 / FACTOR_FROM;
    let within = |interval: Option<String>| {
        interval.map(|interval| format!(", {} interval {interval}", confidence(verdicts))).unwrap_or_default()
    };
    let interval_text = interval(comparison.ratio_interval, as_factor);
    match comparison.verdict {
        Some(Verdict::Faster) if as_factor => {
            format!("{level} is {times} times as fast as {baseline} ({blocks}{}).", within(interval_text))
        }
        Some(Verdict::Faster) => {
            let gain = (ratio - 1.0) * 100.0;
            format!("{level} is {gain:.1} % faster than {baseline} ({blocks}{}).", within(interval_text))
        }
        Some(Verdict::Slower) if as_factor => {
            let share = factor(1.0 / ratio);
            let [low, high] = comparison.ratio_interval;
            let turned = interval([high.map(f64::recip), low.map(f64::recip)], true);
            format!("{level} is {share} times as slow as {baseline} ({blocks}{}).", within(turned))
        }
        Some(Verdict::Slower) => {
            let loss = (1.0 - ratio) * 100.0;
            format!("{level} is {loss:.1} % slower than {baseline} ({blocks}{}).", within(interval_text))
        }
        Some(Verdict::Equivalent) => {
            let range = interval(comparison.equivalence_interval, false);
            let range = range.map(|range| format!(", {range}")).unwrap_or_default();
            format!("{level} and {baseline} are equivalent within {} ({blocks}{range}).", margin(verdicts))
        }
        Some(Verdict::Unstable) => format!(
            "The effect of {level} against {baseline} changed during the run ({blocks}), so no one ratio describes it."
        ),
        Some(Verdict::Undecided) => undecided(comparison, &level, &blocks, interval_text.as_deref()),
        None => format!("{level} against {baseline}: the figures were not blocked, so there is no verdict."),
    }
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
        None => format!("{level} against {baseline}: the figures were not blocked, so there is no verdict."),
    }
}

fn undecided(comparison: &Comparison, level: &str, blocks: &str, interval: Option<&str>) -> String {
    let baseline = &comparison.baseline;
    if let Some(flag) = comparison.flags.iter().find(|flag| flag.name == "no-flush") {
        return format!(
            "No difference can be claimed between {level} and {baseline} ({blocks}): {}.",
            flag.message
        );
    }
    if let Some(flag) = comparison.flags.iter().find(|flag| flag.name == "withheld") {
        return format!("{level} against {baseline} stays undecided ({blocks}): {}.", flag.message);
    }
    let known = interval.map(|interval| format!("; the difference is {interval}")).unwrap_or_default();
    let more = comparison.forecast.and_then(|forecast| {
        let at = [forecast.difference_at, forecast.equivalence_at].into_iter().flatten().min()?;
        Some(format!(" About {at} blocks would decide it."))
    });
    format!("{level} against {baseline} is undecided after {blocks}{known}.{}", more.unwrap_or_default())
}
