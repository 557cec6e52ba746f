//! What the page says about a run's validity: chips, verification, what devices served, what was discarded.

use iostone_model::median::median;
use iostone_model::run::RunRecord;
use iostone_model::trial::TrialRecord;
use iostone_model::units::round_count;
use iostone_model::verdict::Verdicts;

use super::prose::Prose;
use crate::figures::{bytes, count, counted, percent};
use crate::view::{Row, View};
use crate::warm_up::Tally;
use crate::wording::Discard;

/// A short statement below the headline.
pub(super) struct Chip {
    /// `good`, `heed` or `plain`; the sign before the text says the same.
    pub(super) class: &'static str,
    pub(super) text: String,
}

fn good(text: impl AsRef<str>) -> Chip {
    Chip { class: "good", text: format!("✓ {}", text.as_ref()) }
}

fn heed(text: impl AsRef<str>) -> Chip {
    Chip { class: "heed", text: format!("! {}", text.as_ref()) }
}

fn plain(text: String) -> Chip {
    Chip { class: "plain", text }
}

/// Everything that makes the figures more or less to be trusted, in order of weight.
pub(super) fn chips(run: &RunRecord, view: &View<'_>, discards: &[Discard]) -> Vec<Chip> {
    let mut chips = Vec::new();
    if run.plan.quick {
        chips.push(heed("rehearsal: no verdict"));
    }
    if !run.finished {
        chips.push(heed("unfinished, can be resumed"));
    }
    if run.plan.identical_levels {
        chips.push(plain("identical levels: measures noise".to_owned()));
    }
    chips.extend(gates(run));
    let tally = Tally::of(run);
    if tally.not_steady > 0 {
        let checked = counted(tally.checked(), "trial");
        chips.push(heed(format!("{} of {checked} not steady", tally.not_steady)));
    } else if tally.steady > 0 {
        chips.push(good(format!("rate steady in {}", counted(tally.steady, "trial"))));
    }
    // That a directory lies where it was made is no setting.
    let checks =
        run.trials.iter().flat_map(|trial| &trial.checks).filter(|check| check.from != "lstat").count();
    if checks > 0 {
        chips.push(good(format!("{} read back from the kernel", counted(checks as u64, "setting"))));
    }
    if !run.blocks.is_empty() {
        let all = counted(run.blocks.len() as u64, "block");
        chips.push(match discards.len() {
            _ if run.verdicts.as_ref().is_some_and(Verdicts::is_provisional) => {
                heed("machine too busy: disturbed blocks count")
            }
            0 => good("no block discarded"),
            some => heed(format!("{some} of {all} discarded")),
        });
    }
    if let Some(verdicts) = &run.verdicts {
        if let Some(noise) = &verdicts.noise {
            chips.push(plain(format!("noise floor ±{}", percent(noise.detectable_at_run))));
        }
        if !verdicts.scope.is_empty() {
            chips.push(plain(verdicts.scope.clone()));
        }
    }
    chips.extend(spread(view).map(plain));
    chips
}

/// One chip for each gate that judged a trial, so that what was not checked is not claimed.
fn gates(run: &RunRecord) -> Vec<Chip> {
    let judged = run.trials.iter().flat_map(|trial| &trial.gates).filter(|gate| !gate.unjudged);
    let mut names: Vec<&str> = judged.map(|gate| gate.gate.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let failed = |name: &str| {
        let fails = |trial: &&TrialRecord| trial.gates.iter().any(|gate| gate.gate == name && !gate.passed);
        run.trials.iter().filter(fails).count() as u64
    };
    let (passed, broken): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| failed(name) == 0);
    let mut chips: Vec<Chip> = broken
        .into_iter()
        .map(|name| {
            let gates = run.trials.iter().flat_map(|trial| &trial.gates).filter(|gate| gate.gate == name);
            let readings = gates.filter_map(|gate| gate.reading).filter(|read| read.value > read.limit);
            let worst = readings.max_by(|one, other| one.value.total_cmp(&other.value)).map(|read| {
                format!(" (up to {}, limit {})", read.unit.format(read.value), read.unit.format(read.limit))
            });
            heed(format!(
                "{name} gate failed in {} of {}{}",
                failed(name),
                counted(run.trials.len() as u64, "trial"),
                worst.unwrap_or_default()
            ))
        })
        .collect();
    if !passed.is_empty() {
        let plural = if passed.len() == 1 { "gate" } else { "gates" };
        let looked = |name: &str| {
            let is_seen =
                |trial: &&TrialRecord| trial.gates.iter().any(|gate| gate.gate == name && !gate.unjudged);
            run.trials.iter().filter(is_seen).count()
        };
        let everywhere = passed.iter().all(|name| looked(name) == run.trials.len());
        let where_it_looked = if everywhere {
            format!("in all {}", counted(run.trials.len() as u64, "trial"))
        } else {
            "in every trial that could be judged".to_owned()
        };
        chips.push(good(format!("{} {plural} passed {where_it_looked}", passed.join(", "))));
    }
    chips
}

/// "robust spread 1.0 % to 4.3 %".
fn spread(view: &View<'_>) -> Option<String> {
    let spreads = view.rows.iter().filter_map(Row::robust_spread);
    let (low, high) = crate::svg::scale::extent(spreads)?;
    let (low, high) = (percent(low), percent(high));
    Some(if low == high { format!("robust spread {low}") } else { format!("robust spread {low} to {high}") })
}

/// A device below that served this much of what was claimed served others too: journals and metadata add far less.
const SHARED_FROM: f64 = 1.5;

/// One device under one configuration.
pub(super) struct ServedLine {
    pub(super) configuration: String,
    pub(super) claimed: String,
    pub(super) device: String,
    pub(super) served: String,
    pub(super) share: String,
    pub(super) flushes: String,
}

/// Claimed against served, one line a configuration and place in the stack.
pub(super) fn served(view: &View<'_>) -> Vec<ServedLine> {
    view.rows.iter().flat_map(served_by_row).collect()
}

/// A trial may stand on another loop device than the one before, so devices are told apart by their place.
fn served_by_row(row: &Row<'_>) -> Vec<ServedLine> {
    let trials = || row.trials.iter().filter(|point| point.counts).map(|point| point.record);
    let claims =
        trials().map(|t| t.workload.claimed_read_bytes as f64 + t.workload.claimed_written_bytes as f64);
    let claimed = median(claims).unwrap_or(0.0);
    let depth = trials().map(|trial| trial.signals.devices.len()).max().unwrap_or(0);
    let line = |place: usize| {
        let devices = || trials().filter_map(move |trial| trial.signals.devices.get(place));
        let mut names: Vec<&str> = devices().map(|device| device.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let role = devices().next().map(|device| device.role.as_str()).unwrap_or_default();
        let served = median(devices().map(|d| d.served.read_bytes as f64 + d.served.written_bytes as f64))?;
        // A kernel that does not count flushes says zero; that must not read as "none".
        let counts = devices().all(|device| device.flushes_counted);
        let flushes = median(devices().map(|d| d.served.flushes as f64))?;
        let device = match names.as_slice() {
            [one] => (*one).to_owned(),
            [first, .., last] => format!("{first} to {last}"),
            [] => String::new(),
        };
        let first = place == 0;
        Some(ServedLine {
            configuration: row.name.to_owned(),
            claimed: if first && claimed > 0.0 { bytes(round_count(claimed)) } else { String::new() },
            device: if role == "below" { format!("{device} (below)") } else { device },
            served: bytes(round_count(served)),
            share: match claimed > 0.0 {
                // The device below serves the whole machine.
                true if role == "below" && served > claimed * SHARED_FROM => "other I/O too".to_owned(),
                true => percent(served / claimed),
                false => String::new(),
            },
            flushes: if counts { count(round_count(flushes)) } else { "not counted here".to_owned() },
        })
    };
    (0..depth).filter_map(line).collect()
}

/// A discarded block as a line of the table.
pub(super) struct DiscardLine {
    pub(super) block: String,
    pub(super) reason: Prose,
    pub(super) failed: String,
}

/// The table of discarded blocks.
pub(super) fn discard_lines(discards: &[Discard]) -> Vec<DiscardLine> {
    let line = |discard: &Discard| {
        let failed: Vec<String> = discard
            .failed
            .iter()
            .map(|(number, configuration)| format!("{number} ({configuration})"))
            .collect();
        DiscardLine {
            block: count(u64::from(discard.block) + 1),
            reason: Prose::of(&discard.reason),
            failed: failed.join(", "),
        }
    };
    discards.iter().map(line).collect()
}
