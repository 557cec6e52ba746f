//! A prediction in words, a small table and a line of the balance.

use std::fmt::Write;

use iostone_cloud::{Agreement, Simulation};
use iostone_model::experiment::{Allowance, Basis, Law};
use iostone_model::metric::Unit;
use iostone_model::units::{ratio_digits, three_digits};

use super::list::{basis, figures};
use super::settle::{Settled, amount};
use super::{Measured, Prediction, has_credits};
use crate::printer::bold;

/// Phases shown of a law that goes slow and fast in turns.
const PHASES_SHOWN: usize = 6;
/// Characters of the line of the balance.
const LINE_WIDTH: usize = 48;

/// CPU seconds below which a balance is nothing to draw.
const LEAST_DRAWN: f64 = 1e-3;

/// Work in which nothing changes for a while.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Phase {
    pub(super) from_seconds: f64,
    pub(super) to_seconds: f64,
    pub(super) processors: f64,
    pub(super) slow: bool,
    /// CPU seconds at hand when it begins and ends.
    pub(super) balance_seconds: (f64, f64),
}

pub(super) fn of(prediction: &Prediction) -> String {
    let Prediction { settled, simulation, .. } = prediction;
    let allowance = &settled.governor.allowance;
    let mut text = format!("{}\n", bold(&headline(prediction)));
    for line in explanation(prediction) {
        let _ = writeln!(text, "  {line}");
    }
    let phases = phases(simulation);
    if !matches!(allowance.law, Law::Share { .. }) && simulation.wall_seconds.is_finite() {
        let _ = writeln!(text, "\n{}", phase_table(allowance, &phases, simulation).trim_end());
        if simulation.course.iter().any(|point| point.balance_seconds > LEAST_DRAWN) {
            let kept = if has_credits(allowance) { "credits" } else { "at hand" };
            let _ = writeln!(text, "\n  {kept}  {}", balance_line(simulation));
        }
    }
    let _ = writeln!(text, "\n{}", law_table(prediction).trim_end());
    let _ = writeln!(text, "\n{} ({}): {}", bold(&allowance.name), basis(allowance.basis), allowance.source);
    for warning in &prediction.warnings {
        let _ = writeln!(text, "{} {warning}", bold("!"));
    }
    text
}

fn headline(prediction: &Prediction) -> String {
    let Prediction { settled, simulation, .. } = prediction;
    let demand = &settled.demand;
    let limit = demand.limit.map(|limit| format!(" under a limit of {}", percent(limit))).unwrap_or_default();
    format!(
        "{} takes {} for {} of CPU time at {} of a processor{limit}",
        settled.governor.allowance.instance,
        duration(simulation.wall_seconds),
        duration(demand.cpu_seconds),
        percent(demand.processors)
    )
}

fn explanation(prediction: &Prediction) -> Vec<String> {
    let Prediction { settled, simulation, .. } = prediction;
    let allowance = &settled.governor.allowance;
    let mut lines = Vec::new();
    match allowance.law {
        Law::Share { share } => lines.push(format!(
            "The CPU time is that of the fastest processor in the table; this one does {} as much in the same time.",
            percent(share.0)
        )),
        Law::Credits { .. } => {
            let net = simulation.begin_seconds - simulation.left_seconds;
            let change = match net {
                net if net.abs() < LEAST_DRAWN => String::new(),
                net if net > 0.0 => format!(": {} fewer", amount(allowance, net)),
                net => format!(": {} more", amount(allowance, -net)),
            };
            let lost = if simulation.lost_seconds < LEAST_DRAWN {
                String::new()
            } else {
                format!(" ({} of them lost, as there was no room)", amount(allowance, simulation.lost_seconds))
            };
            lines.push(format!(
                "Credits: {} at the start, {} spent, {} earned{lost}, {} left{change}.",
                amount(allowance, simulation.begin_seconds),
                amount(allowance, simulation.cpu_seconds),
                amount(allowance, simulation.earned_seconds),
                amount(allowance, simulation.left_seconds)
            ));
            if simulation.launch_spent_seconds > 0.0 {
                let launch = amount(allowance, simulation.launch_spent_seconds);
                lines.push(format!("{launch} of those spent were launch credits, given at the start and never earned again."));
            }
            if simulation.surplus_seconds > 0.0 {
                let surplus = amount(allowance, simulation.surplus_seconds);
                lines.push(format!("{surplus} of those spent were beyond what there was: earned back later, or paid for."));
            }
        }
        Law::Bucket { .. } | Law::Window { .. } => {}
    }
    lines.extend(running_out(prediction));
    if let Some((limit, seconds)) = prediction.best_limit {
        lines.push(format!("A CPU limit of {} would do it in {}.", percent(limit), duration(seconds)));
    }
    if let Some(measured) = prediction.measured {
        lines.push(measured_line(measured, simulation.wall_seconds));
    }
    lines
}

/// When the allowance is used up, and what is left then.
fn running_out(prediction: &Prediction) -> Option<String> {
    let Prediction { settled, simulation, .. } = prediction;
    let allowance = &settled.governor.allowance;
    let left = match &allowance.law {
        Law::Share { .. } => return None,
        Law::Credits { unlimited: true, .. } => {
            return Some("Credits may be overspent, so it is never slow.".to_owned());
        }
        Law::Credits { baseline, .. } => baseline.0 * f64::from(allowance.vcpus),
        Law::Bucket { slow, .. } | Law::Window { slow, .. } => slow.0 * f64::from(allowance.vcpus),
    };
    let what = if has_credits(allowance) { "The credits" } else { "The allowance" };
    let runs = if has_credits(allowance) { "run out" } else { "runs out" };
    Some(match (simulation.slow_from_seconds, prediction.runs_out_after) {
        (Some(0.0), _) if simulation.begin_seconds <= 0.0 => {
            format!("There is nothing to spend: {} of a processor is all it gets.", percent(left))
        }
        (Some(from), _) => format!(
            "{what} {runs} after {}; then {} of a processor is left. Slow for {} of the time in all.",
            duration(from),
            percent(left),
            percent(simulation.slow_seconds / simulation.wall_seconds)
        ),
        (None, Some(after)) => format!(
            "{what} would last {} at this pace; then {} of a processor would be left.",
            duration(after),
            percent(left)
        ),
        (None, None) => format!(
            "{what} never {} at this pace.",
            if has_credits(allowance) { "run out" } else { "runs out" }
        ),
    })
}

fn measured_line(measured: Measured, predicted_seconds: f64) -> String {
    let Measured { seconds, ratio, agreement } = measured;
    let (seconds, predicted) = (duration(seconds), duration(predicted_seconds));
    match agreement {
        Agreement::Agrees => format!("Measured: {seconds}, {} times that: it agrees.", ratio_digits(ratio)),
        Agreement::Differs => {
            format!("Measured: {seconds}, {} times that: more than rounding.", ratio_digits(ratio))
        }
        Agreement::Contradicts => {
            format!("Measured: {seconds}, {} times the {predicted} predicted.", ratio_digits(ratio))
        }
    }
}

/// What is wrong, or not sure, beside the prediction.
pub(super) fn warnings(
    settled: &Settled,
    simulation: &Simulation,
    measured: Option<Measured>,
) -> Vec<String> {
    let allowance = &settled.governor.allowance;
    let mut warnings = Vec::new();
    if let Some(Measured { seconds, ratio, agreement: Agreement::Contradicts }) = measured {
        let law = if has_credits(allowance) {
            "the credit law".to_owned()
        } else {
            format!("the law `{}`", allowance.name)
        };
        let (times, side, advice) = if ratio >= 1.0 {
            (
                ratio,
                "longer",
                "Something else held the work up, such as memory, a network or a hang, or it was more work",
            )
        } else {
            (1.0 / ratio, "shorter", "It was less work, it began with more, or another law held")
        };
        warnings.push(format!(
            "contradicts {law}: {} is {} times {side} than the {} that it gives. {advice}.",
            duration(seconds),
            ratio_digits(times),
            duration(simulation.wall_seconds)
        ));
    }
    if allowance.basis == Basis::Assumed {
        warnings.push("assumed: nobody published or measured exactly this law.".to_owned());
    }
    if let Some(wanted) = settled.cut_from {
        warnings.push(format!(
            "{} can be used of this type here, so `--utilisation` counts as {}, not {}.",
            if allowance.vcpus == 1 {
                "one processor".to_owned()
            } else {
                format!("{} processors", allowance.vcpus)
            },
            percent(settled.demand.processors),
            percent(wanted)
        ));
    }
    warnings
}

/// The course as stretches in which work goes on alike.
pub(super) fn phases(simulation: &Simulation) -> Vec<Phase> {
    let mut phases: Vec<Phase> = Vec::new();
    for pair in simulation.course.windows(2) {
        let [from, to] = pair else { continue };
        match phases.last_mut() {
            Some(last) if (last.processors - from.processors).abs() < 1e-9 && last.slow == from.slow => {
                last.to_seconds = to.at_seconds;
                last.balance_seconds.1 = to.balance_seconds;
            }
            _ => phases.push(Phase {
                from_seconds: from.at_seconds,
                to_seconds: to.at_seconds,
                processors: from.processors,
                slow: from.slow,
                balance_seconds: (from.balance_seconds, to.balance_seconds),
            }),
        }
    }
    phases
}

fn phase_table(allowance: &Allowance, phases: &[Phase], simulation: &Simulation) -> String {
    let kept = if has_credits(allowance) { "credits" } else { "at hand" };
    let mut rows = vec![["from", "to", "processor", kept, ""].map(str::to_owned).to_vec()];
    for phase in phases.iter().take(PHASES_SHOWN) {
        let (before, after) = phase.balance_seconds;
        rows.push(vec![
            duration(phase.from_seconds),
            duration(phase.to_seconds),
            percent(phase.processors),
            format!("{} to {}", amount(allowance, before), amount(allowance, after)),
            if phase.slow { "slow".to_owned() } else { String::new() },
        ]);
    }
    let mut text = table(&rows, &[0, 1, 2]);
    if phases.len() > PHASES_SHOWN {
        let _ = writeln!(
            text,
            "  and so on: slow {} times, {} in all",
            simulation.slow_times,
            duration(simulation.slow_seconds)
        );
    }
    text
}

fn law_table(prediction: &Prediction) -> String {
    let mut rows = vec![["law", "takes", "slow", "figures"].map(str::to_owned).to_vec()];
    for (allowance, simulation) in &prediction.laws {
        let slow =
            if simulation.slow_times == 0 { "never".to_owned() } else { duration(simulation.slow_seconds) };
        rows.push(vec![allowance.name.clone(), duration(simulation.wall_seconds), slow, figures(allowance)]);
    }
    table(&rows, &[1, 2])
}

/// The balance over the time of the work in block characters, from nothing to the most that it was.
fn balance_line(simulation: &Simulation) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = simulation.course.iter().map(|point| point.balance_seconds).fold(0.0, f64::max);
    let end = simulation.course.last().map_or(0.0, |point| point.at_seconds);
    let steps = (0..LINE_WIDTH).map(|step| end * (step as f64 + 0.5) / LINE_WIDTH as f64);
    let level = |at: f64| {
        let after = simulation.course.partition_point(|point| point.at_seconds <= at).max(1);
        let [from, to] = simulation.course.get(after - 1..=after)? else { return None };
        let share = (at - from.at_seconds) / (to.at_seconds - from.at_seconds);
        Some(from.balance_seconds + share * (to.balance_seconds - from.balance_seconds))
    };
    let block = |balance: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to the blocks there are"
        )]
        let index = (balance / most * 8.0).clamp(0.0, 7.0) as usize;
        BLOCKS.get(index).copied().unwrap_or(' ')
    };
    steps.map(|at| level(at).filter(|_| most > 0.0).map_or('▁', block)).collect()
}

/// Rows with a heading, in columns; those listed are set flush right.
pub(super) fn table(rows: &[Vec<String>], right: &[usize]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let cell = |row: &Vec<String>, column: usize| row.get(column).cloned().unwrap_or_default();
    let widths: Vec<usize> = (0..columns)
        .map(|column| rows.iter().map(|row| cell(row, column).chars().count()).max().unwrap_or_default())
        .collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (column, width) in widths.iter().enumerate() {
            let content = cell(row, column);
            let aligned = if right.contains(&column) {
                format!("{content:>width$}")
            } else {
                format!("{content:<width$}")
            };
            line.push_str("  ");
            line.push_str(&aligned);
        }
        let line = line.trim_end();
        let _ = writeln!(text, "{}", if index == 0 { bold(line) } else { line.to_owned() });
    }
    text
}

/// A share in percent, without zeros that tell nothing.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let text = match percent {
        percent if percent >= 99.95 => format!("{percent:.0}"),
        percent if percent > 0.0 && percent < 0.1 => ratio_digits(percent),
        percent => format!("{percent:.1}"),
    };
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// A time in the unit that people would take, with three digits: `14.8 min`, `1.56 h`, `14.0 d`.
pub(super) fn duration(seconds: f64) -> String {
    const DAY: f64 = 86400.0;
    match seconds {
        seconds if !seconds.is_finite() => "forever".to_owned(),
        0.0 => "0 s".to_owned(),
        seconds if seconds >= 2.0 * DAY => format!("{} d", three_digits(seconds / DAY)),
        seconds if seconds >= 3600.0 => format!("{} h", three_digits(seconds / 3600.0)),
        seconds if seconds >= 60.0 => format!("{} min", three_digits(seconds / 60.0)),
        seconds if seconds < 0.995 => Unit::Seconds.format(seconds),
        seconds => format!("{} s", three_digits(seconds)),
    }
}
