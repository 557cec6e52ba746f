//! The answer in a sentence or two.

mod comparison;
mod curve;
mod gate;
mod sweep;

use iostone_model::units::ratio_digits;
use iostone_model::verdict::{Comparison, CurveVerdict, GateState, UnpairedTest, Verdict, Verdicts};

/// From this ratio on people say "4.3 times", below they say "12 %".
const FACTOR_FROM: f64 = 1.5;

/// Says what the comparisons came to, in plain words, the firm ones first, and whether the result is provisional.
pub fn headline(verdicts: &Verdicts) -> String {
    let answer = answer(verdicts);
    if verdicts.is_provisional() {
        format!("{answer} Provisional: the machine was too busy to discard disturbed blocks.")
    } else {
        answer
    }
}

fn answer(verdicts: &Verdicts) -> String {
    if let Some(noise) = &verdicts.noise {
        let any = |wanted: &[Verdict]| {
            verdicts.comparisons.iter().filter_map(|c| c.verdict).any(|verdict| wanted.contains(&verdict))
        };
        let check = if any(&[Verdict::Faster, Verdict::Slower]) {
            let chance = whole_percent(1.0 - verdicts.confidence);
            format!(
                "A/A check failed: identical levels differ. Chance alone does that in {chance} of runs; repeat it."
            )
        } else if any(&[Verdict::Unstable]) {
            "A/A check failed: identical levels drifted apart and back, so this machine is not steady now."
                .to_owned()
        } else {
            "A/A check passed.".to_owned()
        };
        let place = if verdicts.curves.is_empty() { "" } else { "at the noisiest point " };
        let run = verdicts.blocks.complete;
        let (shown, planned) = (percent(noise.detectable_at_run), percent(noise.detectable));
        let more = if run == noise.budget {
            String::new()
        } else {
            format!(", with {} above {planned}", noise.budget)
        };
        return format!(
            "{check} With {run} blocks this machine {place}can only detect differences above {shown}{more}."
        );
    }
    if let Some(swept) = &verdicts.sweep {
        return sweep::sentence(swept, verdicts);
    }
    if let Some(state) = verdicts.gate() {
        return of_gate(state, verdicts);
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

/// The answer of a gate: what is worse, else what is open, else all of it.
fn of_gate(state: GateState, verdicts: &Verdicts) -> String {
    let deciding: Vec<&Comparison> =
        verdicts.comparisons.iter().filter(|comparison| comparison.gate == Some(state)).collect();
    let told: Vec<String> =
        deciding.iter().take(3).map(|comparison| gate::sentence(comparison, state, verdicts)).collect();
    let more = match deciding.len().saturating_sub(told.len()) {
        0 => String::new(),
        more => format!(" And {more} more alike."),
    };
    format!("{}{more}", told.join(" "))
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
            sentence: comparison::sentence(comparison, verdicts),
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
    if verdicts.comparisons.iter().all(|comparison| comparison.verdict.is_none()) {
        return count_unblocked(verdicts);
    }
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

/// How many of several comparisons without blocks chance hardly explains, and the largest of them.
fn count_unblocked(verdicts: &Verdicts) -> String {
    let all = verdicts.comparisons.len();
    // Bonferroni's share of the chance of error; rounded, so that 95 % gives the very number 0.05.
    let chance = ((1.0 - verdicts.confidence) * 1e12).round() / 1e12;
    let limit = chance / all as f64;
    let shown = || {
        let tested = verdicts.comparisons.iter().filter_map(|one| Some((one, one.unpaired.as_ref()?)));
        tested.filter(|(_, test)| test.p_value <= limit)
    };
    let distance = |test: &UnpairedTest| test.ratio.ln().abs();
    let largest = shown().max_by(|(_, left), (_, right)| distance(left).total_cmp(&distance(right)));
    let (differ, baseline) = (shown().count(), &verdicts.baseline);
    let counted = format!("{differ} of {all} levels differ from {baseline} (p below {limit:.4})");
    match largest {
        Some((largest, _)) => {
            format!(
                "{counted}; {}. The largest: {}",
                comparison::NOT_BLOCKED,
                comparison::sentence(largest, verdicts)
            )
        }
        None => format!("{counted}; {}.", comparison::NOT_BLOCKED),
    }
}

fn percent(ratio: f64) -> String {
    format!("{} %", percent_of(ratio))
}

/// "11.6", "0.04".
fn percent_of(ratio: f64) -> String {
    let value = ratio * 100.0;
    if value < 0.095 { format!("{value:.2}") } else { format!("{value:.1}") }
}

/// "4.3", "24.4", "580": as many digits as people take in.
fn factor(ratio: f64) -> String {
    if (0.1..10.0).contains(&ratio) { format!("{ratio:.1}") } else { ratio_digits(ratio) }
}

/// The level, with the stratum it is compared in.
fn at_stratum(level: &str, stratum: &str) -> String {
    if stratum.is_empty() { level.to_owned() } else { format!("{level} (at {stratum})") }
}

/// "-1.6 to +0.4 %".
fn interval([low, high]: [Option<f64>; 2]) -> Option<String> {
    match (low, high) {
        (Some(low), Some(high)) => {
            Some(format!("{:+.1} to {:+.1} %", (low - 1.0) * 100.0, (high - 1.0) * 100.0))
        }
        (Some(low), None) => Some(format!("{:+.1} % or more", (low - 1.0) * 100.0)),
        (None, Some(high)) => Some(format!("{:+.1} % or less", (high - 1.0) * 100.0)),
        (None, None) => None,
    }
}

fn confidence(verdicts: &Verdicts) -> String {
    whole_percent(verdicts.confidence)
}

fn margin(verdicts: &Verdicts) -> String {
    whole_percent(verdicts.margin)
}

/// A share as it was declared: "95 %".
fn whole_percent(share: f64) -> String {
    format!("{} %", iostone_model::units::Fraction(share).to_string().trim_end_matches('%'))
}

fn undecided(comparison: &Comparison, level: &str, blocks: &str, known: &str) -> String {
    let baseline = &comparison.baseline;
    if let Some(flag) = comparison.flags.iter().find(|flag| flag.name == "no-flush") {
        return format!(
            "No difference can be claimed between {level} and {baseline} ({blocks}): {}.",
            flag.message
        );
    }
    if let Some(flag) = comparison.flags.iter().find(|flag| flag.name == "withheld") {
        return format!("No verdict between {level} and {baseline} after {blocks}: {}.", flag.message);
    }
    let more = comparison.forecast.and_then(|forecast| {
        let [low, high] = forecast.between?;
        Some(format!(
            " Forecast: settled after {low} to {high} blocks, with a chance of {:.0} %.",
            100.0 * forecast.chance?
        ))
    });
    format!("No verdict between {level} and {baseline} after {blocks}{known}.{}", more.unwrap_or_default())
}
