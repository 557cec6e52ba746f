//! The ceiling of an ORION test: which known limit held a rate, as most trials of a configuration found it.

use iostone_model::run::BlockRecord;
use iostone_model::trial::TrialRecord;

use super::counted;

/// The facts by which a trial tells what bounds its small and its large I/O, and what they are called here.
const FACTS: [(&str, &str); 2] = [("ceiling_small", "small I/O"), ("ceiling_large", "large I/O")];

/// One sentence for small and one for large I/O, where a limit held its rate in most trials: "small I/O: 500 writes a
/// second on loop0 bind: 499 were measured, 99.8 % (all 8 trials)". The figures are those of the trial in the middle.
pub(super) fn sentences(configuration: &str, trials: &[TrialRecord], blocks: &[BlockRecord]) -> Vec<String> {
    let trials: Vec<&TrialRecord> = counted(configuration, trials, blocks).collect();
    FACTS
        .iter()
        .filter_map(|(fact, what)| typical(&trials, fact).map(|words| format!("{what}: {words}")))
        .collect()
}

fn typical(trials: &[&TrialRecord], fact: &str) -> Option<String> {
    let told: Vec<&str> = trials
        .iter()
        .filter_map(|trial| trial.workload.facts.get(fact))
        .map(String::as_str)
        .filter(|told| names_limit(told))
        .collect();
    let alike = |limit: &str| told.iter().copied().filter(|own| limit_of(own) == limit).collect::<Vec<_>>();
    let mut most = told.iter().map(|own| alike(&limit_of(own))).max_by_key(Vec::len)?;
    if most.len() * 2 <= trials.len() {
        return None;
    }
    most.sort_by(|left, right| share_of(left).total_cmp(&share_of(right)));
    let middle = most.get(most.len() / 2)?;
    let share = if most.len() == trials.len() {
        match trials.len() {
            1 => "in the one trial".to_owned(),
            all => format!("median of {all} trials"),
        }
    } else {
        format!("median of the {} of {} trials that it held", most.len(), trials.len())
    };
    Some(format!("{middle} ({share})"))
}

/// Whether a known limit held the rate; the end of growth by itself has a rate of its own in each trial.
fn names_limit(sentence: &str) -> bool {
    sentence.contains(" were measured")
}

/// The limit alone, without its device's number: each trial has a loop device of its own.
fn limit_of(sentence: &str) -> String {
    let limit = sentence.split_once(": ").map_or(sentence, |(limit, _)| limit);
    let (what, device) = limit.split_once(" on ").unwrap_or((limit, ""));
    format!("{what} on {}", device.chars().filter(|c| !c.is_ascii_digit()).collect::<String>())
}

/// The share of the limit that was measured, in percent; nothing where the sentence has none.
fn share_of(sentence: &str) -> f64 {
    let figures = sentence.split_once(": ").map_or("", |(_, figures)| figures);
    let number = figures.split('%').next().and_then(|before| before.split_whitespace().last());
    number.and_then(|number| number.parse().ok()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_most_trials_is_told_with_the_share_in_the_middle() {
        let trial = |words: Option<&str>| {
            let mut trial: TrialRecord = super::super::super::tests::trial(1, 0, 0, "a", 1.0, 0);
            if let Some(words) = words {
                trial.workload.facts.insert("ceiling_small".to_owned(), words.to_owned());
            }
            trial
        };
        let words = |device: u32, share: &str| {
            format!("500 writes a second on loop{device} bind: 499 were measured, {share} %")
        };
        let trials =
            [trial(Some(&words(0, "99.2"))), trial(Some(&words(1, "99.8"))), trial(Some(&words(2, "100")))];
        let all: Vec<&TrialRecord> = trials.iter().collect();
        assert_eq!(
            typical(&all, "ceiling_small").unwrap(),
            "500 writes a second on loop1 bind: 499 were measured, 99.8 % (median of 3 trials)"
        );
        let (free, other) = (trial(None), trial(None));
        let most: Vec<&TrialRecord> = trials.iter().chain([&free]).collect();
        assert!(
            typical(&most, "ceiling_small").unwrap().ends_with("(median of the 3 of 4 trials that it held)")
        );
        let few: Vec<&TrialRecord> = trials.iter().take(1).chain([&free, &other]).collect();
        assert_eq!(typical(&few, "ceiling_small"), None);
        assert_eq!(typical(&all, "ceiling_large"), None);
    }
}
