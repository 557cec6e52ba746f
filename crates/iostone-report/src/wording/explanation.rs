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
    let stands = |figure: &&ExplainedFigure| figure.binds.is_some() || figure.excess.is_some();
    let mut said: Vec<String> = known().filter(stands).map(|figure| figure.sentence.clone()).collect();
    let below: Vec<&ExplainedFigure> = known().filter(|figure| !stands(figure)).collect();
    let share = |figure: &ExplainedFigure| figure.ceilings.first().map_or(0.0, |held| held.share);
    if said.is_empty() {
        let closest = below.iter().max_by(|one, other| share(one).total_cmp(&share(other)));
        said.extend(closest.map(|figure| figure.sentence.clone()));
    } else if !below.is_empty() {
        said.push(format!(
            "{} below every ceiling that is known",
            counted(below.len() as u64, "more figure")
        ));
    }
    if !known().any(|_| true) {
        return part.proofs.clone();
    }
    said.extend(part.proofs.iter().cloned());
    said.extend(part.balances.iter().map(balance_sentence));
    said
}
