//! A held figure in one sentence.

use iostone_model::cloud::CeilingKind;
use iostone_model::explanation::{ExcessCause, ExplainedFigure, HeldCeiling, HeldState, SERVED};
use iostone_model::metric::Unit;
use iostone_model::units::three_digits;

use super::{Flow, Measured};

/// All of it in one sentence without its point; `narrowest` is the ceiling of the path that lets through least at its best.
pub(super) fn sentence(
    measured: &Measured,
    figure: &ExplainedFigure,
    narrowest: Option<&HeldCeiling>,
) -> String {
    let told = told(measured);
    let binding =
        figure.binds.as_ref().and_then(|name| figure.ceilings.iter().find(|held| held.name == *name));
    let because = figure.excess.as_ref().map(|excess| excess.words.as_str()).unwrap_or_default();
    match (narrowest.or(figure.ceilings.first()), binding) {
        (None, _) => format!("{told}; no ceiling of it is known"),
        (Some(held), _) if held.state == HeldState::Exceeded => {
            let above =
                format!("{told}, {} {}", times(measured.value / held.at_best), named(held, measured.unit));
            let flag = figure.excess.as_ref().map(|excess| excess.because);
            if flag == Some(ExcessCause::AboveEveryCeiling) {
                let all = figure.ceilings.iter().filter(|held| held.kind != Some(CeilingKind::QueueDepth));
                let (count, over) = all.fold((0u32, 0u32), |(count, over), held| {
                    (count + 1, over + u32::from(held.state == HeldState::Exceeded))
                });
                let path = if count > 1 && count == over {
                    ", above every ceiling that is known"
                } else {
                    ", which the path cannot carry"
                };
                format!("{above}{path}: {because}")
            } else {
                format!("{above}: {because}")
            }
        }
        (Some(_), Some(held)) if held.kind == Some(CeilingKind::QueueDepth) => {
            format!(
                "{told}, {} % of {}: more at once would move more",
                percent(held),
                named(held, measured.unit)
            )
        }
        (Some(_), Some(held)) if held.state == HeldState::BindsInBurst => {
            let share = three_digits(measured.value / held.at_best * 100.0);
            let over = if held.burst.is_some_and(|burst| burst > held.at_best * 1.005) {
                "lets through on average, its bucket spent"
            } else {
                "bursts to"
            };
            format!(
                "{told}, {share} % of the {} that {} {over}: it binds; {} in the long run",
                measured.unit.format(held.at_best),
                held.name,
                measured.unit.format(held.at_most)
            )
        }
        (Some(_), Some(held)) => {
            format!("{told}, {} % of {}: it binds{}", percent(held), named(held, measured.unit), next(figure))
        }
        (Some(held), None) => {
            let credits = figure.ceilings.iter().find(|held| held.state == HeldState::OnCredits);
            match credits {
                Some(credits) => format!(
                    "{told}, {} {} in the long run: {because}",
                    times(measured.value / credits.at_most),
                    named(credits, measured.unit)
                ),
                None => format!(
                    "no known ceiling binds: {told}, {} % of the lowest, {}{}",
                    percent(held),
                    named(held, measured.unit),
                    unspent(held)
                ),
            }
        }
    }
}

/// "throughput is 61.7 MB/s", "61.7 MB/s were written to the devices".
fn told(measured: &Measured) -> String {
    let value = measured.unit.format(measured.value);
    match (measured.figure.as_str(), measured.flow) {
        (SERVED, Some(Flow::Read)) => format!("the devices served {value} of reads"),
        (SERVED, Some(Flow::Write)) => format!("the devices took {value} of writes"),
        (SERVED, _) => format!("the devices served {value}"),
        (figure, _) => format!("{figure} is {value}"),
    }
}

/// What holds a rate once a bucket is empty does not before.
fn unspent(held: &HeldCeiling) -> &'static str {
    if held.share >= super::BINDS && held.at_best > held.at_most {
        ", which binds once its bucket is empty"
    } else {
        ""
    }
}

fn next(figure: &ExplainedFigure) -> String {
    figure.headroom.as_ref().map_or_else(String::new, |headroom| {
        format!("; the next, {}, allows {} times as much", headroom.next, three_digits(headroom.times))
    })
}

fn percent(held: &HeldCeiling) -> String {
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
fn named(held: &HeldCeiling, unit: Unit) -> String {
    let squeezed = |text: &str| text.replace(' ', "");
    let scaled = unit.format(held.at_most);
    if squeezed(&held.name).contains(&squeezed(&scaled))
        || held.burst.is_some() && held.at_best > held.at_most
    {
        let best = (held.at_best > held.at_most * 1.005)
            .then(|| format!(" ({scaled}, {} at best)", unit.format(held.at_best)));
        format!("{}{}", held.name, best.unwrap_or_default())
    } else {
        format!("{} ({scaled})", held.name)
    }
}
