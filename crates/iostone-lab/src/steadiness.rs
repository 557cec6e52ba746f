//! Whether a trial was steady over its measured time: kept with its record, never a reason to discard it.

use iostone_model::trial::WorkloadReport;
use iostone_model::warm_up::SteadyState;
use iostone_stats::steady::{Steadiness, Unchecked, check_counts};

use crate::pilot::{INTERVAL, whole_intervals};

/// Checks a trial's series; none for a workload that tells no rate over time, and for one that failed.
pub(crate) fn check(report: &WorkloadReport) -> Option<SteadyState> {
    if report.error.is_some() || report.operations_per_100ms.is_empty() {
        return None;
    }
    Some(match check_counts(whole_intervals(report)) {
        Steadiness::Steady(windows) => {
            SteadyState::Steady { range_fraction: windows.range, slope_fraction: windows.slope }
        }
        Steadiness::NotSteady(windows) => SteadyState::NotSteady {
            range_fraction: windows.range,
            slope_fraction: windows.slope,
            reason: windows.complaint().unwrap_or_default(),
        },
        Steadiness::NotChecked(why) => SteadyState::NotChecked { reason: describe(why) },
    })
}

fn describe(why: Unchecked) -> String {
    let seconds = |samples: usize| samples as f64 * INTERVAL.as_secs_f64();
    match why {
        Unchecked::Short { samples, needed } => {
            format!("too short: {:.1} s measured, {:.1} s needed", seconds(samples), seconds(needed))
        }
        Unchecked::Sparse { operations, needed } => {
            format!("too few operations: {operations}, {needed} needed")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(series: Vec<u64>) -> WorkloadReport {
        let measured_seconds = series.len() as f64 / 10.0;
        WorkloadReport { measured_seconds, operations_per_100ms: series, ..WorkloadReport::default() }
    }

    #[test]
    fn a_trial_is_steady_or_not_or_bears_no_check() {
        let steady = check(&report(vec![100; 50])).unwrap();
        assert_eq!(steady, SteadyState::Steady { range_fraction: 0.0, slope_fraction: 0.0 });
        assert_eq!(steady.flag(), None);
        let rising = check(&report((0..50).map(|i| 100 + 2 * i).collect())).unwrap();
        let flag = rising.flag().unwrap();
        assert_eq!(flag.name, "not-steady");
        assert!(
            flag.message.starts_with("not steady: it rises by 53.7 % of its mean (limit 10 %) and"),
            "{}",
            flag.message
        );
        let reason = |series| match check(&report(series)).unwrap() {
            SteadyState::NotChecked { reason } => reason,
            other => panic!("{other:?}"),
        };
        assert_eq!(reason(vec![100; 20]), "too short: 2.0 s measured, 2.5 s needed");
        assert_eq!(reason(vec![1; 50]), "too few operations: 50, 500 needed");
    }

    #[test]
    fn what_tells_no_rate_and_what_failed_is_not_checked() {
        assert_eq!(check(&report(Vec::new())), None);
        let failed = WorkloadReport { error: Some("EIO".to_owned()), ..report(vec![100; 50]) };
        assert_eq!(check(&failed), None);
    }
}
