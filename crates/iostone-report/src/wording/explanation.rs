//! Words for what bound a run, the same in every format.

use iostone_model::explanation::{BucketBalance, ExplainedFigure, ExplainedPart, Explanation, HeldCeiling};

use crate::figures::{counted, figure, percent};

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
pub(crate) fn share_words(held: &HeldCeiling) -> String {
    percent(held.share)
}

/// Who says each ceiling, once: the names of the ceilings of a source, and the source, in the order of the figures.
pub(crate) fn sources(explanation: &Explanation) -> Vec<(String, String)> {
    let mut sources: Vec<(Vec<&str>, &str)> = Vec::new();
    let figures = explanation.parts.iter().flat_map(|part| &part.figures);
    for held in figures.flat_map(|figure| &figure.ceilings).filter(|held| !held.source.is_empty()) {
        match sources.iter_mut().find(|(_, source)| *source == held.source) {
            Some((names, _)) if names.contains(&held.name.as_str()) => {}
            Some((names, _)) => names.push(&held.name),
            None => sources.push((vec![&held.name], &held.source)),
        }
    }
    sources.into_iter().map(|(names, source)| (names.join("; "), source.to_owned())).collect()
}

/// Whether a figure stands at a ceiling, or above one.
pub(crate) fn stands(figure: &ExplainedFigure) -> bool {
    figure.binds.is_some() || figure.excess.is_some()
}

/// The figure that comes closest to its lowest ceiling, where none stands at one.
pub(crate) fn closest(part: &ExplainedPart) -> Option<&ExplainedFigure> {
    let share = |figure: &ExplainedFigure| figure.ceilings.first().map_or(0.0, |held| held.share);
    let known = part.figures.iter().filter(|figure| !figure.ceilings.is_empty());
    let closest = known.max_by(|one, other| share(one).total_cmp(&share(other)));
    closest.filter(|_| !part.figures.iter().any(stands))
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

/// What a report says of a part: a sentence for each figure at a ceiling or above one, one for how many stand below; the
/// closest of those where none does more. Nothing where no ceiling is known.
pub(crate) fn summary(part: &ExplainedPart) -> Vec<String> {
    let known = || part.figures.iter().filter(|figure| !figure.ceilings.is_empty());
    let mut said: Vec<String> =
        known().filter(|figure| stands(figure)).map(|figure| figure.sentence.clone()).collect();
    let below = known().filter(|figure| !stands(figure)).count();
    if said.is_empty() {
        said.extend(closest(part).map(|figure| figure.sentence.clone()));
    } else if below > 0 {
        said.push(format!("{} below every ceiling that is known", counted(below as u64, "more figure")));
    }
    if !known().any(|_| true) {
        return part.proofs.clone();
    }
    said.extend(part.proofs.iter().cloned());
    said.extend(part.balances.iter().map(balance_sentence));
    said
}
