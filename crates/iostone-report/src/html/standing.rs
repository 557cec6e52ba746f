//! The verdicts in a word each, beside the heading and, on a telephone, at the top of the screen.

use iostone_model::run::RunRecord;
use iostone_model::verdict::{Comparison, Verdict};

use crate::svg::ratios;
use crate::view::{View, name_in};
use crate::wording::{curve::verdict_word, verdict_words};

/// More verdicts than this are counted only: the table has them.
const MOST: usize = 4;

/// A verdict in a word.
pub(super) struct Badge {
    pub(super) name: String,
    /// What distinguishes it without colour.
    pub(super) sign: &'static str,
    pub(super) word: String,
    pub(super) ratio: String,
    /// Of the style sheet.
    pub(super) class: &'static str,
}

impl Badge {
    fn of(name: String, verdict: Option<Verdict>, word: String, ratio: String) -> Self {
        let sign = match verdict {
            Some(Verdict::Faster) => "\u{25b2}",
            Some(Verdict::Slower) => "\u{25bc}",
            Some(Verdict::Equivalent) => "=",
            Some(Verdict::Undecided | Verdict::Unstable) => "?",
            _ => "",
        };
        Self { name, sign, word, ratio, class: verdict.map_or("none", Verdict::word) }
    }

    fn plain(word: String) -> Self {
        Self::of(String::new(), None, word, String::new())
    }
}

/// The verdicts of a run, the first of many; of a rehearsal that it claims none.
pub(super) fn badges(run: &RunRecord, view: &View<'_>) -> Vec<Badge> {
    if view.rehearsal {
        return vec![Badge::plain("rehearsal: no verdict".to_owned())];
    }
    let curves = run.verdicts.iter().flat_map(|verdicts| &verdicts.curves).map(|curve| {
        let name = name_in(&curve.level, &curve.stratum);
        Badge::of(name, Some(curve.verdict), verdict_word(curve).to_owned(), String::new())
    });
    let best = view.found.and_then(|found| match (&found.best, &found.leader) {
        (Some(best), _) => Some(Badge { class: "faster", ..found_badge(best, "best") }),
        (None, Some(leader)) => Some(found_badge(leader, "leads")),
        (None, None) => None,
    });
    let compared = view.comparisons().into_iter().map(|(name, comparison)| compared(name, comparison, view));
    let mut badges: Vec<Badge> = curves.chain(best).chain(compared).collect();
    let more = badges.len().saturating_sub(MOST);
    badges.truncate(MOST);
    if more > 0 {
        badges.push(Badge::plain(format!("and {more} more")));
    }
    if badges.is_empty() {
        badges.push(Badge::plain("no verdict".to_owned()));
    }
    badges
}

fn found_badge(level: &str, word: &str) -> Badge {
    Badge::of(level.to_owned(), None, word.to_owned(), String::new())
}

fn compared(name: String, comparison: &Comparison, view: &View<'_>) -> Badge {
    // The margin stands in the headline and in the table.
    let word = comparison
        .verdict
        .map_or_else(|| verdict_words(comparison, 0.0, false), |verdict| verdict.word().to_owned());
    let has_ratio = comparison.ratio.is_some_and(f64::is_finite) || comparison.unpaired.is_some();
    let ratio = if has_ratio { ratios::written(comparison, view.better).0 } else { String::new() };
    Badge::of(name, comparison.verdict, word, ratio)
}
