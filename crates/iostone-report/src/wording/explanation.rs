//! Words for what bound a run, the same in every format.

use iostone_model::ceiling::Held;
use iostone_model::explanation::{BucketBalance, ExplainedPart, Explanation};

use super::ceiling::sentence;
use crate::figures::{figure, percent};

/// The section's heading.
pub(crate) fn heading(explanation: &Explanation) -> &'static str {
    if explanation.rehearsal { "What bound this rehearsal" } else { "What bound it" }
}

/// "c4.large (by the fact `instance`), gp2:220GiB, limits of 2017-07; median of 5".
pub(crate) fn machine_words(part: &ExplainedPart) -> String {
    let instance = part.instance.as_ref().map(|instance| match &part.instance_from {
        Some(from) => format!("{instance} (by {from})"),
        None => instance.clone(),
    });
    let date = part.date.map(|date| format!("limits of {date}"));
    let named: Vec<String> = [instance, part.volumes.clone(), date].into_iter().flatten().collect();
    let of =
        if part.trials > 1 { format!("median of {}", part.trials) } else { "one measurement".to_owned() };
    if named.is_empty() { of } else { format!("{}; {of}", named.join(", ")) }
}

/// A held ceiling's share: "98.8 %".
pub(crate) fn share_words(held: &Held) -> String {
    percent(held.share)
}

/// Who says each ceiling, once: the names of the ceilings of a source, and the source, in the order of the figures.
pub(crate) fn sources(explanation: &Explanation) -> Vec<(String, String)> {
    let mut sources: Vec<(Vec<&str>, &str)> = Vec::new();
    let figures = explanation.parts.iter().flat_map(|part| &part.figures);
    for held in figures.flat_map(|figure| &figure.ceilings).filter(|held| !held.ceiling.source.is_empty()) {
        match sources.iter_mut().find(|(_, source)| *source == held.ceiling.source) {
            Some((names, _)) if names.contains(&held.ceiling.name.as_str()) => {}
            Some((names, _)) => names.push(&held.ceiling.name),
            None => sources.push((vec![&held.ceiling.name], &held.ceiling.source)),
        }
    }
    sources.into_iter().map(|(names, source)| (names.join("; "), source.to_owned())).collect()
}

/// "the byte credits of the link: 3.20 TB at the start, 3.10 TB at the end, of 3.20 TB (reckoned from ...)".
pub(crate) fn balance_sentence(balance: &BucketBalance) -> String {
    let amount = |value: f64| figure(balance.unit, value);
    format!(
        "{}: {} at the start, {} at the end, of {} ({})",
        balance.bucket,
        amount(balance.start),
        amount(balance.end),
        amount(balance.capacity),
        balance.source
    )
}

/// What a report says of a part: a sentence for the figure that tells most of each direction, if it stands at a ceiling or above one; the
/// closest of those where none does more. Nothing where no ceiling is known.
pub(crate) fn summary(part: &ExplainedPart) -> Vec<String> {
    let telling = part.telling();
    if telling.is_empty() {
        return part.proofs.clone();
    }
    let mut said: Vec<String> = telling.into_iter().map(sentence).collect();
    said.extend(part.proofs.iter().cloned());
    said.extend(part.balances.iter().map(balance_sentence));
    said
}
