//! A sweep in words and on its axis: which level is best, which are not shown to be worse, what the search took.

use iostone_model::metric::{Direction, Unit};
use iostone_model::run::RunRecord;
use iostone_model::verdict::{SweepFit, SweepLevel, SweepOutcome, SweepState, SweepVerdict};

use crate::figures::{counted, declared_percent, figure, percent};

/// Whether what is varied is an ordered factor whose best level is looked for.
pub(crate) fn is_sweep(run: &RunRecord) -> bool {
    run.plan.experiment.factors.iter().any(|factor| factor.sweep.is_some())
}

/// How a level stands, in words.
pub(crate) fn state_words(state: SweepState) -> &'static str {
    match state {
        SweepState::Best => "best",
        SweepState::NotShownWorse => "not shown worse",
        SweepState::Worse => "worse",
        SweepState::BeyondWorse => "passed over",
        SweepState::Open => "open",
    }
}

/// Whether a level was not raced to an end of its own.
pub(crate) fn is_passed_over(state: SweepState) -> bool {
    matches!(state, SweepState::BeyondWorse | SweepState::Open)
}

/// Whether positions are best shown by their logarithms: each about the same multiple of the one before.
pub(crate) fn is_geometric(sweep: &SweepVerdict) -> bool {
    let positions: Vec<f64> = sweep.levels.iter().map(|level| level.position).collect();
    let ratios = || positions.windows(2).filter_map(|pair| Some(pair.last()? / pair.first()?));
    let (low, high) = ratios().fold((f64::INFINITY, 0.0), |(low, high), r| (r.min(low), f64::max(r, high)));
    positions.len() > 2 && positions.iter().all(|position| *position > 0.0) && low >= 1.5 && high / low < 1.34
}

/// "It took 39 trials; racing all 10 levels to the same guarantee would have taken about 72, so 54 % of those were enough."
pub(crate) fn effort_sentence(sweep: &SweepVerdict) -> String {
    let trials = counted(sweep.trials, "trial");
    let levels = counted(sweep.levels.len() as u64, "level");
    match sweep.trials_of_racing_all.filter(|all| *all > 0) {
        // Without an answer nothing was enough yet.
        Some(all) if matches!(sweep.outcome, SweepOutcome::Open | SweepOutcome::Unstable) => format!(
            "So far it took {trials}; racing all {levels} to the same guarantee takes about {}.",
            crate::figures::count(all.into()),
        ),
        Some(all) if all < sweep.trials => format!(
            "It took {trials}; racing all {levels} to the same guarantee would have taken fewer (about {}), as there was \
             little to pass over.",
            crate::figures::count(all.into())
        ),
        Some(all) => format!(
            "It took {trials}; racing all {levels} to the same guarantee would have taken about {}, so {} of those were enough.",
            crate::figures::count(all.into()),
            percent(f64::from(sweep.trials) / f64::from(all))
        ),
        None => format!("It took {trials} over {levels}."),
    }
}

/// What was taken for granted, as a sentence.
pub(crate) fn assumption_sentence(sweep: &SweepVerdict) -> Option<String> {
    let assumption = sweep.assumption.trim().trim_end_matches('.');
    (!assumption.is_empty()).then(|| format!("Taken for granted: {assumption}."))
}

/// What the race came to, and which levels may be the best.
pub(crate) fn set_sentence(sweep: &SweepVerdict, margin: f64) -> Option<String> {
    let own = sweep.best.as_deref().or(sweep.leader.as_deref());
    let others: Vec<&str> =
        sweep.not_shown_worse.iter().map(String::as_str).filter(|level| Some(*level) != own).collect();
    let (margin, others) = (declared_percent(margin), others.join(", "));
    match (sweep.outcome, &sweep.best, &sweep.leader) {
        (SweepOutcome::Unstable, ..) => Some(
            "Unstable: levels were shown to be worse than each other, so the effect changed during the run."
                .to_owned(),
        ),
        (_, Some(best), _) if others.is_empty() => {
            Some(format!("Every other level is worse than {best}, or lies beyond one that is."))
        }
        (SweepOutcome::WithinMargin, Some(best), _) => Some(format!(
            "Whichever level is the best, {best} is within {margin} of it. Not shown worse by more than that: {others}."
        )),
        (_, Some(best), _) => Some(format!("Not shown worse than {best} by more than {margin}: {others}.")),
        (_, None, Some(leader)) => {
            let rest =
                if others.is_empty() { String::new() } else { format!("; still in the race: {others}") };
            let blocks = sweep.blocks_to_go.map_or_else(String::new, |blocks| {
                format!("; about {} still at the spread seen", counted(blocks, "block"))
            });
            Some(format!("Open: {leader} leads{rest}{blocks}."))
        }
        (_, None, None) => None,
    }
}

/// Why a level that is no better has a better median than the best: levels did not all run in the same blocks.
pub(crate) fn tie_sentence(sweep: &SweepVerdict, better: Direction) -> Option<String> {
    let best = sweep.levels.iter().find(|level| level.state == SweepState::Best)?;
    let is_ahead = |level: &SweepLevel| {
        let score = |level: &SweepLevel| Some(level.median? * better.sign());
        score(level).zip(score(best)).is_some_and(|(own, best)| own > best)
    };
    let ahead = sweep.levels.iter().find(|level| is_ahead(level))?;
    Some(format!(
        "{} has the better median, but {} is ahead within blocks, by which levels are compared.",
        ahead.level, best.level
    ))
}

/// What ratios are held against: the best, or the level that leads while there is none.
pub(crate) fn against_words(sweep: &SweepVerdict) -> &'static str {
    if sweep.best.is_some() { "the best" } else { "the leader" }
}

/// What the curve through the levels says, and that nothing was decided by it.
pub(crate) fn fit_sentence(sweep: &SweepVerdict, unit: Unit) -> Option<String> {
    let fit = sweep.fit.as_ref().filter(|fit| fit.optimum.is_finite() && fit.value.is_finite())?;
    Some(format!(
        "Description only: a parabola through the levels around the best has its optimum {} with {}; no level was chosen \
         by it.",
        place(sweep, fit),
        figure(unit, fit.value)
    ))
}

/// Where the optimum of the fit lies, told by the levels' own names.
fn place(sweep: &SweepVerdict, fit: &SweepFit) -> String {
    let nearest = |(below, above): (&SweepLevel, &SweepLevel)| {
        let share = (fit.optimum - below.position) / (above.position - below.position);
        match share {
            share if share < 0.1 => format!("about at {}", below.level),
            share if share > 0.9 => format!("about at {}", above.level),
            _ => format!("between {} and {}", below.level, above.level),
        }
    };
    let pairs = sweep.levels.iter().zip(sweep.levels.iter().skip(1));
    let mut around =
        pairs.filter(|(below, above)| below.position <= fit.optimum && fit.optimum <= above.position);
    match (around.next(), sweep.levels.first(), sweep.levels.last()) {
        (Some(pair), _, _) => nearest(pair),
        (None, Some(first), _) if fit.optimum < first.position => format!("below {}", first.level),
        (None, _, Some(last)) => format!("beyond {}", last.level),
        (None, _, None) => "nowhere".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(positions: &[f64]) -> SweepVerdict {
        let level = |position: &f64| SweepLevel {
            level: format!("L{position}"),
            position: *position,
            trials: 1,
            median: None,
            median_interval: [None, None],
            ratio: None,
            ratio_interval: [None, None],
            state: SweepState::Open,
        };
        SweepVerdict {
            factor: "depth".to_owned(),
            outcome: SweepOutcome::Open,
            leader: None,
            blocks_to_go: None,
            best: None,
            not_shown_worse: Vec::new(),
            levels: positions.iter().map(level).collect(),
            fit: None,
            trials: 12,
            trials_of_racing_all: Some(40),
            optima: 1,
            assumption: "the curve has one optimum.".to_owned(),
        }
    }

    #[test]
    fn doubling_positions_have_a_logarithmic_axis() {
        assert!(is_geometric(&sweep(&[1.0, 2.0, 4.0, 8.0])));
        assert!(!is_geometric(&sweep(&[10.0, 20.0, 30.0, 40.0])));
        assert!(!is_geometric(&sweep(&[0.0, 2.0, 4.0])) && !is_geometric(&sweep(&[1.0, 2.0])));
    }

    #[test]
    fn the_optimum_of_a_fit_is_told_by_the_names_of_levels() {
        let at = |optimum: f64| {
            let fit = SweepFit { optimum, value: 1.0, points: Vec::new() };
            place(&sweep(&[1.0, 2.0, 4.0]), &fit)
        };
        assert_eq!(at(1.05), "about at L1");
        assert_eq!(at(3.0), "between L2 and L4");
        assert_eq!((at(0.5).as_str(), at(5.0).as_str()), ("below L1", "beyond L4"));
    }

    #[test]
    fn the_effort_is_held_against_that_of_racing_all() {
        let open = sweep(&[1.0, 2.0]);
        let said = effort_sentence(&open);
        assert!(said.starts_with("So far it took 12") && said.ends_with("takes about 40."), "{said}");
        let decided = SweepVerdict { outcome: SweepOutcome::UniqueBest, ..open };
        let said = effort_sentence(&decided);
        assert!(said.ends_with("about 40, so 30.0\u{a0}% of those were enough."), "{said}");
        assert_eq!(
            assumption_sentence(&sweep(&[])).unwrap(),
            "Taken for granted: the curve has one optimum."
        );
        let flat = SweepVerdict { trials: 60, ..decided };
        assert!(effort_sentence(&flat).contains("would have taken fewer (about 40)"));
        let mut tied = sweep(&[1.0, 2.0]);
        assert_eq!(tie_sentence(&tied, Direction::Lower), None);
        (tied.levels[0].state, tied.levels[0].median, tied.levels[1].median) =
            (SweepState::Best, Some(1.0), Some(0.99));
        assert_eq!(tie_sentence(&tied, Direction::Higher), None);
        assert!(
            tie_sentence(&tied, Direction::Lower).unwrap().starts_with("L2 has the better median, but L1")
        );
        assert!(set_sentence(&sweep(&[1.0]), 0.03).is_none());
    }
}
