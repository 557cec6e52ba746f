//! Predictions against the figures of published reports.

use iostone_model::experiment::{AllowanceStart, Governor};

use super::*;
use crate::allowance;

fn state(instance: &str, law: Option<&str>) -> LawState {
    let allowance = allowance(instance, law).unwrap();
    LawState::begin(&Governor { allowance, speed: 1.0, start: AllowanceStart::Launch })
}

#[test]
fn credits_last_as_long_as_they_are_spent_faster_than_earned() {
    let busy = runs_out_after(state("t2.micro", None), &Demand::busy(1.0)).unwrap();
    assert!((busy - 30.0 * 60.0 / 0.9).abs() < 1e-6);
    let at_baseline = Demand { limit: Some(0.1), ..Demand::busy(1.0) };
    assert_eq!(runs_out_after(state("t2.micro", None), &at_baseline), None);
    assert_eq!(runs_out_after(state("t3.micro", None), &Demand::busy(1.0)), None);
    assert_eq!(runs_out_after(state("m3.medium", None), &Demand::busy(1.0)), None);
    let burst = runs_out_after(state("t1.micro", None), &Demand::busy(1.0)).unwrap();
    assert!((burst - 7.0 / 0.675).abs() < 1e-9);
}

#[test]
fn a_limit_of_thirty_percent_suits_a_t1_micro_and_none_a_t2_micro() {
    let (limit, seconds) = best_limit(&state("t1.micro", None), &Demand::busy(1230.0)).unwrap();
    assert!((limit - 0.3).abs() < 1e-12 && (seconds - 4100.0).abs() < 1e-6);
    assert_eq!(
        best_limit(&state("t1.micro", None), &Demand { limit: Some(0.3), ..Demand::busy(1230.0) }),
        None
    );
    assert_eq!(best_limit(&state("t2.micro", None), &Demand::busy(3600.0)), None);
}

#[test]
fn two_weeks_contradict_an_hour_and_a_half() {
    let (ratio, agreement) = hold_against(5598.0, 14.0 * 86400.0);
    assert_eq!((ratio.round(), agreement), (216.0, Agreement::Contradicts));
    assert_eq!(hold_against(888.6, 886.4).1, Agreement::Agrees);
    assert_eq!(hold_against(100.0, 70.0).1, Agreement::Differs);
    assert_eq!(hold_against(f64::INFINITY, 70.0).1, Agreement::Contradicts);
}
