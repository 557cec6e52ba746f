//! What a gate came to, in a sentence: the one-sided bound that decided it, as a change of the metric's own.

use iostone_model::metric::Direction;
use iostone_model::verdict::{Comparison, GateState, Verdicts};

use super::comparison::title;
use super::{at_stratum, confidence, margin, percent};

/// The answer for one level.
pub(super) fn sentence(comparison: &Comparison, gate: GateState, verdicts: &Verdicts) -> String {
    let level = at_stratum(&comparison.level, &comparison.stratum);
    let at_point = match comparison.point.as_str() {
        "" => String::new(),
        point => format!(" at {point}"),
    };
    let baseline = &comparison.baseline;
    let (title, _) = title(verdicts);
    let blocks = match comparison.blocks {
        1 => "1 block".to_owned(),
        count => format!("{count} blocks"),
    };
    let held = format!("({}, {blocks})", confidence(verdicts));
    let [lower, upper] = comparison.equivalence_interval;
    let change = |ratio: f64| change(ratio, verdicts.better);
    match (gate, lower, upper) {
        (GateState::NotWorse, Some(lower), _) if lower >= 1.0 => {
            format!(
                "{level} is better than {baseline}{at_point}: its {title} is at least {} {held}.",
                change(lower)
            )
        }
        (GateState::NotWorse, Some(lower), _) => format!(
            "{level} is not worse than {baseline}{at_point} by the {} that matter: its {title} is at most {} {held}.",
            margin(verdicts),
            change(lower)
        ),
        (GateState::Worse, _, Some(upper)) => {
            let guess =
                comparison.ratio.map(|ratio| format!("; best guess {}", change(ratio))).unwrap_or_default();
            format!(
                "{level} is worse than {baseline}{at_point}: its {title} is at least {} {held}{guess}.",
                change(upper)
            )
        }
        _ => unsettled(comparison, &level, &title, &blocks, verdicts),
    }
}

fn unsettled(comparison: &Comparison, level: &str, title: &str, blocks: &str, verdicts: &Verdicts) -> String {
    let baseline = &comparison.baseline;
    if let Some(flag) = comparison.flags.iter().find(|flag| flag.name == "withheld") {
        return format!(
            "Cannot tell whether {level} is worse than {baseline} after {blocks}: {}.",
            flag.message
        );
    }
    let hidden = match comparison.equivalence_interval[0] {
        Some(lower) => format!(
            "its {title} may be up to {} ({}), and {} matter",
            change(lower, verdicts.better),
            confidence(verdicts),
            margin(verdicts)
        ),
        None => "nothing is ruled out yet".to_owned(),
    };
    let needed = comparison
        .blocks_to_prove
        .filter(|needed| *needed > comparison.blocks)
        .map(|needed| format!(" If they are equal, about {needed} blocks would prove it at this noise."))
        .unwrap_or_default();
    format!("Cannot tell whether {level} is worse than {baseline} after {blocks}: {hidden}.{needed}")
}

/// "1.2 % lower": a ratio above 1 for better as a change of the metric.
fn change(ratio: f64, better: Direction) -> String {
    let own = match better {
        Direction::Higher => ratio,
        Direction::Lower => ratio.recip(),
    };
    let word = if own < 1.0 { "lower" } else { "higher" };
    format!("{} {word}", percent((own - 1.0).abs()))
}
