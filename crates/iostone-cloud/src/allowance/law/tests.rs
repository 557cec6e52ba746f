//! A law step by step.

use iostone_model::experiment::{AllowanceStart, Governor};

use super::*;
use crate::allowance;

fn state(instance: &str, law: Option<&str>, start: AllowanceStart) -> LawState {
    LawState::begin(&Governor { allowance: allowance(instance, law).unwrap(), speed: 20.0, start })
}

fn same(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}

#[test]
fn a_bucket_begins_full_and_is_slow_from_empty_to_full() {
    let mut bucket = state("t1.micro", Some("costly-bucket"), AllowanceStart::Launch);
    assert!(same(bucket.balance_seconds(), 1.0) && same(bucket.processors(), 1.0));
    bucket.advance(1.25, 1.25);
    assert!(bucket.is_slow() && same(bucket.processors(), 0.03));
    bucket.advance(1.0 / 0.07 - 0.1, 0.03 * (1.0 / 0.07 - 0.1));
    assert!(bucket.is_slow());
    bucket.advance(0.1, 0.003);
    assert!(!bucket.is_slow() && same(bucket.balance_seconds(), 1.0));
}

#[test]
fn what_a_step_takes_beyond_a_bucket_stays_a_debt() {
    let mut bucket = state("t1.micro", Some("bucket"), AllowanceStart::Empty);
    assert!(bucket.is_slow());
    bucket.advance(0.1, 0.5);
    assert!(same(bucket.balance_seconds(), -0.48));
}

#[test]
fn launch_credits_are_spent_first_and_kept_beside_the_maximum() {
    let mut credits = state("t2.micro", None, AllowanceStart::Full);
    assert!(same(credits.balance_seconds(), (144.0 + 30.0) * 3.0));
    credits.advance(10.0, 10.0);
    assert!(same(credits.launch_seconds(), 80.0) && same(credits.lost_seconds(), 1.0));
    let started = state("t2.micro", None, AllowanceStart::Launch);
    assert!(same(started.balance_seconds(), 90.0) && same(started.processors(), 1.0));
    let busy = state("t2.micro", None, AllowanceStart::Empty);
    assert!(busy.is_slow() && same(busy.processors(), 0.1));
}

#[test]
fn surplus_is_paid_back_before_anything_is_kept() {
    let mut unlimited = state("t3.micro", None, AllowanceStart::Launch);
    unlimited.advance(10.0, 20.0);
    assert!(
        same(unlimited.surplus_seconds(), 18.0)
            && same(unlimited.balance_seconds(), 0.0)
            && !unlimited.is_slow()
    );
    unlimited.advance(100.0, 0.0);
    assert!(same(unlimited.surplus_seconds(), 0.0) && same(unlimited.balance_seconds(), 2.0));
}

#[test]
fn a_window_is_slow_while_its_use_is_above_the_threshold() {
    let mut window = state("t1.micro", Some("window"), AllowanceStart::Launch);
    window.advance(1.0, 1.0);
    assert!(!window.is_slow() && same(window.balance_seconds(), 0.0));
    window.advance(0.5, 0.5);
    assert!(window.is_slow() && same(window.processors(), 0.03));
    window.advance(3.5, 0.0);
    assert!(window.is_slow());
    // Half a second of the busy time leaves, which is what was too much.
    window.advance(0.5, 0.0);
    assert!(!window.is_slow() && same(window.earned_seconds(), 0.5));
}

#[test]
fn a_law_says_how_long_it_goes_on() {
    let bucket = state("t1.micro", Some("costly-bucket"), AllowanceStart::Launch);
    assert!(
        same(bucket.lasts(1.0), 1.25) && bucket.lasts(0.2).is_infinite() && bucket.lasts(0.1).is_infinite()
    );
    let credits = state("t2.micro", None, AllowanceStart::Launch);
    assert!(same(credits.lasts(1.0), 90.0));
    assert!(state("t2.micro", None, AllowanceStart::Empty).lasts(0.1).is_infinite());
    assert!(state("c3.large", None, AllowanceStart::Empty).lasts(1.0).is_infinite());
}
