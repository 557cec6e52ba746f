//! Laws in words, and slow phases read off a balance.

use super::*;
use iostone_model::experiment::{Allowance, AllowanceStart, Basis};
use iostone_model::units::Fraction;

fn governor(law: Law, speed: f64) -> Governor {
    let allowance = Allowance {
        instance: "t1.micro".to_owned(),
        name: "penalty".to_owned(),
        vcpus: 1,
        law,
        basis: Basis::Measured,
        source: "a report".to_owned(),
    };
    Governor { allowance, speed, start: AllowanceStart::Launch }
}

fn bucket() -> Law {
    Law::Bucket {
        capacity_seconds: 20.0,
        refill: Fraction(0.2),
        throttled_refill: Fraction(0.1),
        slow: Fraction(0.03),
        resume: Fraction(0.5),
    }
}

fn record(law: Law, balance: Vec<(f64, f64)>) -> GovernorRecord {
    GovernorRecord {
        governor: governor(law, 20.0),
        allowed_cpu_seconds: 1.0,
        used_cpu_seconds: 1.0,
        excess_share: 0.0,
        throttled_times: 1,
        slow_seconds: 1.0,
        balance,
        step_seconds: (0.005, 0.01),
        late_seconds: 0.0,
        other_laws: Vec::new(),
    }
}

#[test]
fn a_bucket_is_slow_from_empty_until_it_resumes() {
    let balance = vec![(0.0, 1.0), (1.0, 0.0), (2.0, 0.2), (4.0, 0.5), (5.0, 0.1), (6.0, -0.01), (7.0, 0.1)];
    assert_eq!(slow_phases(&record(bucket(), balance)), [(1.0, 4.0), (6.0, 7.0)]);
}

#[test]
fn credits_are_slow_while_there_are_none_and_unlimited_ones_never() {
    let credits = |unlimited| Law::Credits {
        baseline: Fraction(0.1),
        earned_per_hour: 6.0,
        maximum: 144.0,
        launch: 30.0,
        unlimited,
    };
    let balance = vec![(0.0, 1.0), (10.0, 0.0), (10.01, 0.001), (10.02, 0.0), (20.0, 0.0)];
    assert_eq!(slow_phases(&record(credits(false), balance.clone())), [(10.0, 20.0)]);
    assert!(slow_phases(&record(credits(true), balance)).is_empty());
    let words = law_words(&governor(credits(false), 60.0));
    assert!(words.ends_with("; at this speed a credit is a processor for 1.00\u{a0}s"), "{words}");
}

#[test]
fn a_law_is_told_with_what_it_is_at_this_speed() {
    let words = law_words(&governor(bucket(), 20.0));
    assert!(words.ends_with("; at this speed a bucket of 1.00\u{a0}s"), "{words}");
    assert!(!law_words(&governor(bucket(), 1.0)).contains("at this speed"));
}
