//! What verdicts are adjusted for: the slope of each covariate, from the seconds of the pilots, before the first block.

use iostone_model::covariate::{Covariate, DeclaredCovariate, SplitBytes, Worth};
use iostone_model::warm_up::{PilotRecord, PilotSecond};
use iostone_stats::covariate::{Fit, Second, fit};

/// A rate does not fall faster than with that power of what others leave of the disk: a queue makes it steeper than 1, not that much.
const STEEPEST_OF_DISK: f64 = 3.0;

/// The slopes of the covariates that are wanted. What one explains is taken out before the next is looked for.
pub(crate) fn declare(wanted: &[Covariate], pilots: &[PilotRecord]) -> Vec<DeclaredCovariate> {
    let behind_cut: Vec<&[PilotSecond]> = pilots.iter().filter_map(steady_seconds).collect();
    let mut log_rates: Vec<Vec<f64>> = behind_cut
        .iter()
        .map(|pilot| pilot.iter().map(|second| (second.operations as f64).ln()).collect())
        .collect();
    let wanted = Covariate::ALL.into_iter().filter(|covariate| wanted.contains(covariate));
    let declared = wanted.map(|covariate| {
        let whole = (covariate == Covariate::ForeignIo).then(|| whole_of_disk(&behind_cut)).flatten();
        let exposures: Vec<Vec<Option<f64>>> = behind_cut
            .iter()
            .map(|pilot| pilot.iter().map(|second| second.taken.exposure(covariate, whole)).collect())
            .collect();
        let seconds: Vec<Vec<Second>> = exposures.iter().zip(&log_rates).map(|(x, y)| paired(x, y)).collect();
        let count = seconds.iter().map(Vec::len).sum::<usize>();
        let worth = worth(covariate, &seconds, largest(covariate, pilots));
        if let Worth::Slope(slope) = worth {
            for (rates, exposures) in log_rates.iter_mut().zip(&exposures) {
                for (rate, exposure) in rates.iter_mut().zip(exposures) {
                    *rate -= slope * exposure.unwrap_or_default();
                }
            }
        }
        DeclaredCovariate { covariate, seconds: u32::try_from(count).unwrap_or(u32::MAX), whole, worth }
    });
    declared.collect()
}

/// The seconds behind the warm-up; none of a pilot whose warm-up had no end.
fn steady_seconds(pilot: &PilotRecord) -> Option<&[PilotSecond]> {
    let cut = pilot.cut.filter(|cut| !cut.at_limit)?;
    let warm = cut.after.0.as_secs_f64().ceil();
    let passed = (0_u32..).zip(&pilot.seconds).take_while(|(second, _)| f64::from(*second) < warm).count();
    pilot.seconds.get(passed..)
}

/// The most that the disk served in a second.
fn whole_of_disk(pilots: &[&[PilotSecond]]) -> Option<f64> {
    let served = pilots.iter().flat_map(|pilot| pilot.iter().filter_map(|second| second.taken.disk_bytes));
    let most = served.map(|SplitBytes { own, foreign }| own + foreign).fold(0.0, f64::max);
    (most > 0.0).then_some(most)
}

fn paired(exposures: &[Option<f64>], log_rates: &[f64]) -> Vec<Second> {
    let both = exposures.iter().zip(log_rates).filter(|(_, log_rate)| log_rate.is_finite());
    both.filter_map(|(exposure, log_rate)| Some(Second { log_rate: *log_rate, exposure: (*exposure)? }))
        .collect()
}

/// The steepest slope: steal is averaged over all processors, and may all have fallen on the one that the workload ran on.
fn largest(covariate: Covariate, pilots: &[PilotRecord]) -> f64 {
    match covariate {
        Covariate::Steal => {
            let processors =
                pilots.iter().filter_map(|pilot| pilot.signals.cpu.as_ref().map(|cpu| cpu.processors));
            f64::from(processors.max().unwrap_or(1).max(1))
        }
        Covariate::ForeignIo => STEEPEST_OF_DISK,
    }
}

fn worth(covariate: Covariate, seconds: &[Vec<Second>], largest: f64) -> Worth {
    let reason = match fit(seconds, largest) {
        Fit::Slope(slope) => return Worth::Slope(slope),
        _ if seconds.iter().all(Vec::is_empty) => format!("{covariate} is not observable here"),
        Fit::Rare(0) => format!("the pilots saw no {covariate}"),
        Fit::Rare(1) => format!("the pilots saw {covariate} in 1 second only"),
        Fit::Rare(some) => format!("the pilots saw {covariate} in {some} seconds only"),
        Fit::Unrelated => format!("the rate of the pilots does not follow {covariate}"),
    };
    Worth::NotAdjusted(reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::covariate::Taken;
    use iostone_model::trial::{CpuAccount, SignalSummary, WorkloadReport};
    use iostone_model::units::Span;
    use iostone_model::warm_up::{PILOT_SCHEMA, PilotCut};
    use std::time::Duration;

    /// A pilot of 30 s behind a warm-up of 2 s, on two processors, with the share `stolen` of each second.
    fn pilot(stolen: impl Fn(u32) -> Option<f64>, foreign: impl Fn(u32) -> Option<f64>) -> PilotRecord {
        let second = |at: u32| {
            let (steal, foreign) = (stolen(at), foreign(at));
            let left =
                (1.0 - steal.unwrap_or_default()).powf(1.5) * (1.0 - foreign.unwrap_or_default() / 1000.0);
            let warm = if at < 2 { 0.1 } else { 1.0 };
            PilotSecond {
                operations: iostone_model::units::round_count(1e6 * left * warm) + u64::from(at % 3),
                taken: Taken {
                    seconds: 1.0,
                    steal,
                    disk_bytes: foreign.map(|foreign| SplitBytes { own: 1000.0 - foreign, foreign }),
                },
            }
        };
        PilotRecord {
            schema: PILOT_SCHEMA.to_owned(),
            number: 1,
            configuration: "on".to_owned(),
            session: 0,
            started_at: String::new(),
            total_seconds: 32.0,
            runtime: Span(Duration::from_secs(32)),
            cut: Some(PilotCut { after: Span(Duration::from_millis(1200)), at_limit: false }),
            metrics: std::collections::BTreeMap::new(),
            workload: WorkloadReport::default(),
            checks: Vec::new(),
            notes: Vec::new(),
            signals: SignalSummary {
                cpu: Some(CpuAccount { processors: 2, ..CpuAccount::default() }),
                ..SignalSummary::default()
            },
            gates: Vec::new(),
            seconds: (0..32).map(second).collect(),
        }
    }

    fn burst(at: u32, every: u32, share: f64) -> f64 {
        if at.is_multiple_of(every) { share } else { 0.0 }
    }

    #[test]
    fn slopes_are_those_of_the_pilots_behind_their_warm_up() {
        let both = pilot(|at| Some(burst(at, 3, 0.2)), |at| Some(burst(at, 5, 400.0)));
        let declared = declare(&[Covariate::ForeignIo, Covariate::Steal], &[both]);
        let slopes: Vec<f64> = declared.iter().filter_map(DeclaredCovariate::slope).collect();
        assert_eq!(declared.iter().map(|one| one.covariate).collect::<Vec<_>>(), Covariate::ALL);
        assert!((slopes[0] - 1.5).abs() < 0.1 && (slopes[1] - 1.0).abs() < 0.1, "{slopes:?}");
        assert_eq!((declared[0].seconds, declared[1].whole), (30, Some(1000.0)));
    }

    #[test]
    fn what_the_pilots_do_not_show_is_not_adjusted_for() {
        let reason = |pilots: &[PilotRecord]| declare(&[Covariate::Steal], pilots)[0].to_string();
        let none = pilot(|_| Some(0.0), |_| None);
        assert_eq!(reason(std::slice::from_ref(&none)), "steal: not adjusted, the pilots saw no steal");
        let unseen = pilot(|_| None, |_| None);
        assert_eq!(reason(&[unseen]), "steal: not adjusted, steal is not observable here");
        let rare = pilot(|at| Some(burst(at, 20, 0.3)), |_| None);
        assert_eq!(reason(&[rare]), "steal: not adjusted, the pilots saw steal in 1 second only");
        let endless = PilotRecord { cut: Some(PilotCut { after: Span::default(), at_limit: true }), ..none };
        assert_eq!(reason(&[endless]), "steal: not adjusted, steal is not observable here");
    }
}
