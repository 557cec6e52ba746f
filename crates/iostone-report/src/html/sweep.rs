//! The page's section on a sweep.

use iostone_model::verdict::{SweepLevel, SweepState, SweepVerdict};

use super::prose::Prose;
use super::{FULL, Figure, SLIM};
use crate::figures::{NO_FIGURE, count, figure, range, ratio};
use crate::svg::sparkline;
use crate::svg::sweep::draw;
use crate::sweep;
use crate::view::View;

/// A level's line.
pub(super) struct LevelLine {
    pub(super) level: String,
    pub(super) median: String,
    pub(super) interval: String,
    pub(super) ratio: String,
    pub(super) ratio_interval: String,
    pub(super) state: &'static str,
    pub(super) class: &'static str,
    pub(super) trials: String,
    pub(super) sparkline: String,
}

/// Everything that the section shows.
pub(super) struct SweepSection {
    pub(super) factor: String,
    pub(super) figure: Option<Figure>,
    pub(super) start: &'static str,
    pub(super) lines: Vec<LevelLine>,
    pub(super) sentences: Vec<Prose>,
    pub(super) has_fit: bool,
    pub(super) against: &'static str,
}

impl SweepSection {
    /// The section of what a sweep found.
    pub(super) fn of(view: &View<'_>, found: &SweepVerdict, margin: f64) -> Self {
        let (wide, narrow) =
            (draw(view, found, FULL, "sweep-figure-wide"), draw(view, found, SLIM, "sweep-figure-narrow"));
        let start = wide.as_ref().map_or("", |(_, start)| start.sentence());
        let sentences = [
            sweep::set_sentence(found, margin),
            sweep::tie_sentence(found, view.better),
            Some(sweep::effort_sentence(found)),
            sweep::assumption_sentence(found),
            sweep::fit_sentence(found, view.unit),
        ];
        Self {
            factor: found.factor.clone(),
            figure: wide.zip(narrow).map(|((wide, _), (narrow, _))| Figure { wide, narrow }),
            start,
            lines: found.levels.iter().map(|level| line(view, found, level)).collect(),
            sentences: sentences.into_iter().flatten().map(|sentence| Prose::of(&sentence)).collect(),
            has_fit: found.fit.is_some(),
            against: sweep::against_words(found),
        }
    }
}

fn line(view: &View<'_>, found: &SweepVerdict, level: &SweepLevel) -> LevelLine {
    let against = ratio(level.ratio, level.ratio_interval);
    let (estimate, ratio_interval) = match (level.state, level.ratio) {
        (SweepState::Best, _) | (_, None) => (String::new(), String::new()),
        (_, Some(_)) => (
            against.estimate.clone(),
            against.interval_with_unit().unwrap_or_else(|| "no interval".to_owned()),
        ),
    };
    let row = view.rows.iter().enumerate().find(|(_, row)| row.name == level.level);
    LevelLine {
        level: level.level.clone(),
        median: level.median.map_or_else(|| NO_FIGURE.to_owned(), |median| figure(view.unit, median)),
        interval: match level.median_interval {
            [Some(low), Some(high)] => range(view.unit, low, high),
            _ if level.trials < 6 => "n<6: no interval".to_owned(),
            _ => "no interval".to_owned(),
        },
        ratio: estimate,
        ratio_interval,
        state: if found.best.is_none() && found.leader.as_ref() == Some(&level.level) {
            "leads"
        } else {
            sweep::state_words(level.state)
        },
        class: match level.state {
            SweepState::Best => "faster",
            SweepState::Worse => "slower",
            SweepState::NotShownWorse => "equivalent",
            SweepState::BeyondWorse | SweepState::Open => "soft",
        },
        trials: count(level.trials.into()),
        sparkline: row.and_then(|(_, row)| sparkline::draw(row, 0)).unwrap_or_default(),
    }
}
