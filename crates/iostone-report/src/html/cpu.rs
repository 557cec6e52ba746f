//! The page's section on where the CPU time went.

use iostone_model::metric::Unit;

use super::{FULL, Figure, SLIM};
use crate::cpu_split::{CpuTimes, Part, Split, Whole};
use crate::figures::{count, counted, figure, percent};
use crate::svg::{Drawing, cpu_bars};
use crate::view::View;

/// Trials that get a bar of their own; a page must stay small.
const MOST_TRIALS: usize = 160;
/// Width of a trial's bar in pixels.
const BAR: f64 = 220.0;

/// A part in the legend and in the heads of columns.
pub(super) struct Key {
    pub(super) swatch: String,
    pub(super) name: &'static str,
    pub(super) meaning: &'static str,
    /// Whether it is in the bars, and so in the legend.
    pub(super) drawn: bool,
}

/// A configuration's line: its figures, and each part's seconds, share and name.
pub(super) struct CpuLine {
    pub(super) mark: String,
    pub(super) name: String,
    pub(super) wall: String,
    pub(super) cells: Vec<(String, String, &'static str)>,
}

/// A trial's line.
pub(super) struct TrialLine {
    pub(super) number: String,
    pub(super) block: String,
    pub(super) name: String,
    pub(super) bar: String,
    pub(super) wall: String,
    pub(super) cells: Vec<String>,
    pub(super) counted: bool,
}

/// Everything that the section shows.
pub(super) struct CpuSection {
    pub(super) figure: Figure,
    pub(super) whole: &'static str,
    pub(super) keys: Vec<Key>,
    pub(super) lines: Vec<CpuLine>,
    pub(super) trials: Vec<TrialLine>,
    pub(super) heading_of_trials: String,
    pub(super) note: String,
}

impl CpuSection {
    /// The section; nothing where no trial has an account of its CPU time.
    pub(super) fn of(view: &View<'_>) -> Option<Self> {
        let times = CpuTimes::of(view)?;
        let parts = times.parts();
        let figure = Figure {
            wide: cpu_bars::draw(&times, FULL, "cpu-figure-wide")?,
            narrow: cpu_bars::draw(&times, SLIM, "cpu-figure-narrow")?,
        };
        let trials = trial_lines(&times, &parts);
        let all: usize = times.rows.iter().map(|row| row.trials.len()).sum();
        let heading = counted(all as u64, "trial");
        let left_out = all.saturating_sub(trials.len());
        let heading = if left_out > 0 {
            format!("The first {} of {heading} one by one", count(trials.len() as u64))
        } else {
            format!("All {heading} one by one")
        };
        Some(Self {
            figure,
            whole: if times.whole == Whole::Wall { "Wall time" } else { "Wall × processors" },
            keys: parts.iter().map(|part| key(*part)).collect(),
            lines: times.rows.iter().map(|row| line(&times, row, &parts)).collect(),
            trials,
            heading_of_trials: heading,
            note: times.note(),
        })
    }
}

fn key(part: Part) -> Key {
    Key { swatch: cpu_bars::swatch(part), name: part.name(), meaning: part.meaning(), drawn: part.is_drawn() }
}

fn line(times: &CpuTimes<'_>, row: &crate::cpu_split::CpuRow<'_>, parts: &[Part]) -> CpuLine {
    let mut mark = Drawing::new(14.0, 14.0);
    mark.mark(row.index, "mark", (7.0, 7.0), 5.0, "");
    let cell = |part: &Part| match row.typical.seconds(*part) {
        Some(seconds) if !part.is_drawn() => (figure(Unit::Seconds, seconds), String::new(), part.name()),
        Some(seconds) => (figure(Unit::Seconds, seconds), percent(seconds / row.typical.whole), part.name()),
        None => (unknown(*part), String::new(), part.name()),
    };
    CpuLine {
        mark: mark.finish_hidden(),
        name: row.name.to_owned(),
        wall: figure(Unit::Seconds, full(times, &row.typical)),
        cells: parts.iter().map(cell).collect(),
    }
}

fn full(times: &CpuTimes<'_>, split: &Split) -> f64 {
    if times.whole == Whole::Wall { split.wall } else { split.whole }
}

/// What stands where there is no figure: never 0.
fn unknown(part: Part) -> String {
    match part {
        Part::Throttled | Part::Governed => "no limit".to_owned(),
        _ => "not observable".to_owned(),
    }
}

/// In the order in which they ran.
fn trial_lines(times: &CpuTimes<'_>, parts: &[Part]) -> Vec<TrialLine> {
    let mut all: Vec<_> = times
        .rows
        .iter()
        .flat_map(|row| row.trials.iter().map(move |(point, split)| (row.name, point, split)))
        .collect();
    all.sort_by_key(|(_, point, _)| point.record.number);
    let longest = all.iter().map(|(_, _, split)| split.whole).fold(0.0, f64::max);
    let line = |(name, point, split): &(&str, &crate::view::Point<'_>, &Split)| TrialLine {
        number: count(point.record.number.into()),
        block: count(u64::from(point.record.block) + 1),
        name: (*name).to_owned(),
        bar: cpu_bars::draw_one(split, longest, BAR),
        wall: figure(Unit::Seconds, full(times, split)),
        cells: parts
            .iter()
            .map(|part| {
                split.seconds(*part).map_or_else(|| unknown(*part), |seconds| figure(Unit::Seconds, seconds))
            })
            .collect(),
        counted: point.counts,
    };
    all.iter().take(MOST_TRIALS).map(line).collect()
}
