//! Ceilings in words: a held figure in one sentence, the same in every format.

use iostone_model::ceiling::{Held, HeldState, QueueDepth};
use iostone_model::cloud::CeilingKind;
use iostone_model::explanation::{ExcessCause, ExplainedFigure, Explanation, Flow, PredictedFigure, SERVED};
use iostone_model::metric::Unit;
use iostone_model::units::three_digits;

/// Where a limit of I/Os may bind.
const UNCOUNTED: &str = "how many I/Os the limits of IOPS count is not known";

/// The same with the sentence of each figure, as documents have it.
pub(crate) fn worded(mut explanation: Explanation) -> Explanation {
    for figure in explanation.parts.iter_mut().flat_map(|part| &mut part.figures) {
        figure.sentence = sentence(figure);
    }
    for predicted in &mut explanation.predictions {
        predicted.sentence = predicted_sentence(predicted);
    }
    explanation
}

/// How a ceiling stands to a figure.
pub(crate) fn state(state: HeldState) -> &'static str {
    match state {
        HeldState::Binds => "binds",
        HeldState::BindsInBurst => "binds, in its burst",
        HeldState::BindsInLongRun => "binds, credits spent",
        HeldState::OnCredits => "on credits",
        HeldState::Exceeded => "exceeded",
        HeldState::Free => "free",
    }
}

/// A prediction beside what was measured, in one sentence without its point.
pub(crate) fn predicted_sentence(predicted: &PredictedFigure) -> String {
    let PredictedFigure { metric, unit, measured, predicted_interval: [low, high], .. } = predicted;
    let binds = if predicted.binds == CeilingKind::PageCache {
        "memory takes it in".to_owned()
    } else {
        format!("{} binds", predicted.binding)
    };
    // A width that no printed digit shows is none.
    let (between, place) = if unit.format(*low) == unit.format(*high) {
        (String::new(), "")
    } else {
        let between = format!(" ({} to {})", unit.format(*low), unit.format(*high));
        (between, if (low..=high).contains(&measured) { ", inside" } else { ", outside" })
    };
    let why = predicted.explained.as_ref().map(|why| format!("; {why}")).unwrap_or_default();
    format!(
        "{metric}: predicted {}{between}, measured {}{place}, {}; {binds}{why}",
        unit.format(predicted.predicted),
        unit.format(*measured),
        difference(predicted.ratio)
    )
}

/// "−3.1 %" of a ratio.
pub(crate) fn difference(ratio: f64) -> String {
    let sign = if ratio < 1.0 { "−" } else { "+" };
    format!("{sign}{:.1}\u{a0}%", (ratio - 1.0).abs() * 100.0)
}

/// All of it in one sentence without its point.
pub(crate) fn sentence(figure: &ExplainedFigure) -> String {
    let told = told(figure);
    let unit = figure.unit;
    let because = figure.excess.as_ref().map(|excess| format!(": {}", excess.words)).unwrap_or_default();
    if let Some(QueueDepth { depth, seconds }) = figure.queue_depth {
        let each = Unit::Seconds.format(seconds);
        return format!("{told}: limited by queue depth {depth}, at {each} an I/O");
    }
    let Some(narrowest) = figure.narrowest() else {
        let known = if figure.uncounted { UNCOUNTED } else { "no ceiling of it is known" };
        return format!("{told}; {known}");
    };
    if narrowest.state == HeldState::Exceeded {
        let above =
            format!("{told}, {} {}", times(figure.measured / narrowest.at_best), named(narrowest, unit));
        return format!("{above}{}{because}", path(figure));
    }
    match figure.binding() {
        Some(held) if held.state == HeldState::BindsInBurst => {
            let share = three_digits(figure.measured / held.at_best * 100.0);
            let over = if held.ceiling.burst.is_some_and(|burst| burst > held.at_best * 1.005) {
                "lets through on average, its bucket spent"
            } else {
                "bursts to"
            };
            format!(
                "{told}, {share} % of the {} that {} {over}: it binds; {} in the long run",
                unit.format(held.at_best),
                held.ceiling.name,
                unit.format(held.ceiling.at_most)
            )
        }
        Some(held) if held.state == HeldState::BindsInLongRun => {
            let (share, at_most) = (percent(held), unit.format(held.ceiling.at_most));
            let name = &held.ceiling.name;
            format!(
                "{told}, {share} % of the long run of {name} ({at_most}): it binds, its credits spent{}",
                next(figure)
            )
        }
        Some(held) => {
            format!("{told}, {} % of {}: it binds{}", percent(held), named(held, unit), next(figure))
        }
        None => unbound(figure, narrowest, &because),
    }
}

/// Where no ceiling binds: on credits, or below all that are known.
fn unbound(figure: &ExplainedFigure, narrowest: &Held, because: &str) -> String {
    let (told, unit) = (told(figure), figure.unit);
    if let Some(credits) = figure.ceilings.iter().find(|held| held.state == HeldState::OnCredits) {
        let above = times(figure.measured / credits.ceiling.at_most);
        return format!("{told}, {above} {} in the long run{because}", named(credits, unit));
    }
    let lowest = figure.ceilings.first().unwrap_or(narrowest);
    let (share, name) = (percent(lowest), named(lowest, unit));
    if figure.uncounted {
        return format!("what binds is not known: {told}, {share} % of {name}; {UNCOUNTED}");
    }
    format!("no known ceiling binds: {told}, {share} % of the lowest, {name}{}", unspent(lowest))
}

/// What a figure above the narrowest ceiling that nothing explains says of the path.
fn path(figure: &ExplainedFigure) -> &'static str {
    let is_unexplained =
        figure.excess.as_ref().is_some_and(|excess| excess.because == ExcessCause::AboveEveryCeiling);
    let exceeded = |held: &Held| held.state == HeldState::Exceeded;
    match (is_unexplained, figure.ceilings.len() > 1 && figure.ceilings.iter().all(exceeded)) {
        (true, true) => ", above every ceiling that is known",
        (true, false) => ", which the path cannot carry",
        (false, _) => "",
    }
}

/// "throughput is 61.7 MB/s", "61.7 MB/s were written to the devices".
fn told(figure: &ExplainedFigure) -> String {
    let value = figure.unit.format(figure.measured);
    match (figure.figure.as_str(), figure.flow) {
        (SERVED, Some(Flow::Read)) => format!("the devices served {value} of reads"),
        (SERVED, Some(Flow::Write)) => format!("the devices took {value} of writes"),
        (SERVED, _) => format!("the devices served {value}"),
        (name, _) => format!("{name} is {value}"),
    }
}

/// What holds a rate once a bucket is empty does not before.
fn unspent(held: &Held) -> &'static str {
    if held.binds_when_spent() { ", which binds once its bucket is empty" } else { "" }
}

fn next(figure: &ExplainedFigure) -> String {
    figure.headroom.as_ref().map_or_else(String::new, |headroom| {
        format!("; the next, {}, allows {} times as much", headroom.next, three_digits(headroom.times))
    })
}

fn percent(held: &Held) -> String {
    three_digits(held.share * 100.0)
}

/// "2.2 % above", "16.6 times".
fn times(ratio: f64) -> String {
    if ratio < 2.0 {
        format!("{:.1} % above", (ratio - 1.0) * 100.0)
    } else {
        format!("{} times", three_digits(ratio))
    }
}

/// A ceiling with its figure, unless its name has that: "the link of c4.large (62.5 MB/s)".
fn named(held: &Held, unit: Unit) -> String {
    let squeezed = |text: &str| text.replace(' ', "");
    let (name, at_most) = (&held.ceiling.name, held.ceiling.at_most);
    let scaled = unit.format(at_most);
    let has_more = held.at_best > at_most;
    if squeezed(name).contains(&squeezed(&scaled)) || held.ceiling.burst.is_some() && has_more {
        let best = (held.at_best > at_most * 1.005)
            .then(|| format!(" ({scaled}, {} at best)", unit.format(held.at_best)));
        format!("{name}{}", best.unwrap_or_default())
    } else {
        format!("{name} ({scaled})")
    }
}

#[cfg(test)]
mod tests {
    use iostone_model::ceiling::Ceiling;
    use iostone_model::experiment::Basis;
    use iostone_model::explanation::{Excess, Headroom};

    use super::*;

    fn link() -> Ceiling {
        Ceiling::constant(None, "the link of c4.large", 62.5e6, Basis::Published, "")
    }

    fn of(value: f64, ceilings: Vec<Ceiling>) -> ExplainedFigure {
        let ceilings: Vec<Held> =
            ceilings.into_iter().map(|one| one.hold(value, Some(100.0), 1.02)).collect();
        ExplainedFigure {
            figure: "throughput".to_owned(),
            flow: Some(Flow::Write),
            unit: Unit::BytesPerSecond,
            measured: value,
            binds: ceilings.iter().find(|held| held.binds()).map(|held| held.ceiling.name.clone()),
            ceilings,
            headroom: None,
            excess: None,
            passed_device: None,
            uncounted: false,
            queue_depth: None,
            sentence: String::new(),
        }
    }

    #[test]
    fn what_binds_is_told_with_its_share_and_the_next() {
        let mut figure = of(61.7e6, vec![link()]);
        assert_eq!(
            sentence(&figure),
            "throughput is 61.7 MB/s, 98.7 % of the link of c4.large (62.5 MB/s): it binds"
        );
        figure.headroom = Some(Headroom { next: "160MiB/s of gp2".to_owned(), times: 2.68 });
        assert!(sentence(&figure).ends_with("; the next, 160MiB/s of gp2, allows 2.68 times as much"));
        figure.figure = SERVED.to_owned();
        assert!(sentence(&figure).starts_with("the devices took 61.7 MB/s of writes"));
        let free = "no known ceiling binds: throughput is 31.0 MB/s, 49.6 % of the lowest, the link of c4.large (62.5 MB/s)";
        assert_eq!(sentence(&of(31e6, vec![link()])), free);
        assert_eq!(sentence(&of(31e6, Vec::new())), "throughput is 31.0 MB/s; no ceiling of it is known");
    }

    #[test]
    fn queue_depth_1_is_named_without_a_share() {
        let mut figure = of(846.0, vec![link()]);
        (figure.figure, figure.unit) = ("iops".to_owned(), Unit::PerSecond);
        figure.queue_depth = Some(QueueDepth { depth: 1, seconds: 0.001_18 });
        assert_eq!(sentence(&figure), "iops is 846 /s: limited by queue depth 1, at 1.18 ms an I/O");
    }

    #[test]
    fn credits_are_told_spent_or_not() {
        let bucket = |start_known: bool| {
            vec![Ceiling { burst: Some(200e6), capacity: Some(5e9), start_known, ..link() }]
        };
        assert_eq!(
            sentence(&of(62.4e6, bucket(false))),
            "throughput is 62.4 MB/s, 99.8 % of the long run of the link of c4.large (62.5 MB/s): it binds, its credits spent"
        );
        assert!(sentence(&of(62.4e6, bucket(true))).ends_with("which binds once its bucket is empty"));
        let bursting = sentence(&of(112e6, bucket(true)));
        assert!(
            bursting
                .contains("lets through on average, its bucket spent: it binds; 62.5 MB/s in the long run")
        );
    }

    #[test]
    fn no_sentence_ends_after_its_colon() {
        for value in [31e6, 62.4e6, 70e6, 80e6, 112e6, 300e6] {
            for start_known in [true, false] {
                let bucket = Ceiling { burst: Some(200e6), capacity: Some(5e9), start_known, ..link() };
                for ceilings in [Vec::new(), vec![link()], vec![bucket.clone()], vec![link(), bucket]] {
                    for words in [None, Some("nothing explains it")] {
                        let mut figure = of(value, ceilings.clone());
                        figure.excess = words.map(|words| Excess {
                            because: ExcessCause::AboveEveryCeiling,
                            beyond: None,
                            allowed: None,
                            unserved: false,
                            words: words.to_owned(),
                        });
                        let told = sentence(&figure);
                        assert!(!told.trim_end().ends_with(':'), "{told}");
                    }
                }
            }
        }
    }
}
