//! The page's section on emulated CPU allowances.

use iostone_model::metric::Unit;
use iostone_model::run::RunRecord;

use super::prose::Prose;
use super::{FULL, Figure, SLIM};
use crate::figures::{figure, percent, round_number};
use crate::governed::{self, Emulation, GovernedRow};
use crate::svg::{Drawing, balance};
use crate::view::View;

/// What one configuration got.
pub(super) struct GovernedLine {
    pub(super) mark: String,
    pub(super) name: String,
    pub(super) wall: String,
    /// Each law's name and its wall time.
    pub(super) laws: Vec<(String, String)>,
    pub(super) slow: String,
    pub(super) times: String,
    pub(super) used: String,
    pub(super) allowed: String,
    pub(super) excess: String,
}

/// A law whose prediction has a column.
pub(super) struct LawHead {
    pub(super) name: String,
    pub(super) in_force: bool,
}

/// One allowance.
pub(super) struct AllowancePart {
    pub(super) title: Prose,
    pub(super) facts: Vec<(&'static str, Prose)>,
    pub(super) laws: Vec<LawHead>,
    pub(super) lines: Vec<GovernedLine>,
    pub(super) figure: Option<Figure>,
    pub(super) left_out: usize,
}

/// Every allowance of the run.
pub(super) fn parts(run: &RunRecord, view: &View<'_>) -> Vec<AllowancePart> {
    let emulations = governed::emulations(run, view);
    emulations.iter().enumerate().map(|(index, emulation)| part(index, emulation)).collect()
}

fn part(index: usize, emulation: &Emulation<'_>) -> AllowancePart {
    let allowance = &emulation.governor.allowance;
    let mut facts = vec![
        ("Law", Prose::of(&governed::law_words(emulation.governor))),
        ("Basis", Prose::of(basis_sentence(allowance.basis))),
        ("Source", Prose::of(&allowance.source)),
    ];
    if let Some(sentence) = governed::error_sentence(emulation) {
        facts.push(("Error", Prose::of(&format!("{}.", crate::svg::forest::capitalised(&sentence)))));
    }
    let names = governed::law_names(emulation);
    let draw =
        |width: f64, suffix: &str| balance::draw(emulation, width, &format!("balance-{index}-{suffix}"));
    let (wide, narrow) = (draw(FULL, "wide"), draw(SLIM, "narrow"));
    let left_out = wide.as_ref().map_or(0, |(_, left_out)| *left_out);
    AllowancePart {
        title: Prose::of(&emulation.governor.in_words()),
        facts,
        lines: emulation.rows.iter().filter(|row| row.used.is_some()).map(|row| line(row, &names)).collect(),
        laws: names
            .into_iter()
            .map(|name| LawHead { in_force: name == allowance.name, name: name.to_owned() })
            .collect(),
        figure: wide.zip(narrow).map(|((wide, _), (narrow, _))| Figure { wide, narrow }),
        left_out,
    }
}

fn basis_sentence(basis: iostone_model::experiment::Basis) -> &'static str {
    use iostone_model::experiment::Basis;
    match basis {
        Basis::Published => "Published: the provider says so.",
        Basis::Measured => "Measured: somebody measured it; the provider does not say it.",
        Basis::Assumed => "Assumed: nobody says or measured exactly this.",
    }
}

fn line(row: &GovernedRow<'_>, laws: &[&str]) -> GovernedLine {
    let mut mark = Drawing::new(14.0, 14.0);
    mark.mark(row.index, "mark", (7.0, 7.0), 5.0, "");
    let seconds =
        |value: Option<f64>| value.map_or_else(String::new, |seconds| figure(Unit::Seconds, seconds));
    let of_law = |name: &&str| {
        let wall = row.laws.iter().find(|(law, _)| law == name).map(|(_, wall)| *wall);
        (format!("by {name}"), seconds(wall))
    };
    GovernedLine {
        mark: mark.finish_hidden(),
        name: row.name.to_owned(),
        wall: seconds(row.wall),
        laws: laws.iter().map(of_law).collect(),
        slow: seconds(row.slow),
        times: row.times.map(round_number).unwrap_or_default(),
        used: seconds(row.used),
        allowed: seconds(row.allowed),
        excess: row.excess.map(percent).unwrap_or_default(),
    }
}
