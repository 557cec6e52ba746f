//! Tests of faults.

use std::time::Duration;

use iostone_model::experiment::StallFault;
use iostone_model::units::{Bytes, Fraction, Span};
use rand_xoshiro::rand_core::SeedableRng;

use super::*;

const SECOND_NS: u64 = 1_000_000_000;

fn error(offset: u64, length: Option<u64>, on: Option<FaultyOperation>, share: Option<f64>) -> Faults {
    let length = length.map(Bytes);
    let share = share.map(Fraction);
    Faults::new(&[Fault::Error(ErrorFault { offset: Bytes(offset), length, on, share })])
}

fn stall(every: u64, lasts: u64) -> Fault {
    let span = |milliseconds| Span(Duration::from_millis(milliseconds));
    Fault::Stall(StallFault { every: span(every), lasts: span(lasts) })
}

fn strikes(faults: &Faults, operation: Operation, offset: u64, length: u32) -> bool {
    faults.strikes(operation, offset, length, &mut Xoshiro256PlusPlus::seed_from_u64(1))
}

#[test]
fn errors_are_exactly_where_they_are_asked_for() {
    let faults = error(8192, Some(4096), None, None);
    assert!(!strikes(&faults, Operation::Read, 0, 8192));
    assert!(strikes(&faults, Operation::Read, 0, 8193));
    assert!(strikes(&faults, Operation::Write, 12_287, 1));
    assert!(!strikes(&faults, Operation::Write, 12_288, 4096));
    assert!(!strikes(&faults, Operation::Flush, 0, 0), "flushes only if asked for");
}

#[test]
fn errors_without_a_length_go_to_the_end() {
    let faults = error(4096, None, Some(FaultyOperation::Write), None);
    assert!(strikes(&faults, Operation::Write, u64::MAX - 1, 1));
    assert!(strikes(&faults, Operation::Discard, 4096, 1), "a discard changes data as a write does");
    assert!(!strikes(&faults, Operation::Read, 4096, 1));
}

#[test]
fn a_flush_fails_wherever_the_range_is() {
    let faults = error(1 << 30, Some(1), Some(FaultyOperation::Flush), None);
    assert!(strikes(&faults, Operation::Flush, 0, 0));
    assert!(!strikes(&faults, Operation::Write, 1 << 30, 1));
}

#[test]
fn a_share_of_requests_fails() {
    let faults = error(0, None, None, Some(0.1));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let failed = (0..100_000).filter(|_| faults.strikes(Operation::Read, 0, 512, &mut random)).count();
    // The standard deviation is 95.
    assert!((9_500..10_500).contains(&failed), "{failed}");
}

#[test]
fn stalls_come_after_the_first_request_again_and_again() {
    let mut faults = Faults::new(&[stall(5_000, 500)]);
    assert_eq!(faults.clear_of_stalls(5 * SECOND_NS), 5 * SECOND_NS, "nothing was asked yet");
    faults.note_request(SECOND_NS);
    faults.note_request(2 * SECOND_NS);
    assert_eq!(faults.clear_of_stalls(SECOND_NS), SECOND_NS, "the first comes after as long");
    assert_eq!(faults.clear_of_stalls(6 * SECOND_NS - 1), 6 * SECOND_NS - 1);
    assert_eq!(faults.clear_of_stalls(6 * SECOND_NS), 6_500_000_000);
    assert_eq!(faults.clear_of_stalls(6_499_999_999), 6_500_000_000);
    assert_eq!(faults.clear_of_stalls(6_500_000_000), 6_500_000_000);
    assert_eq!(faults.clear_of_stalls(3_601 * SECOND_NS + 1), 3_601_500_000_000, "and an hour later");
}

#[test]
fn a_stall_that_ends_in_another_is_followed_by_it() {
    let mut faults = Faults::new(&[stall(1_400, 200), stall(1_000, 450)]);
    faults.note_request(0);
    assert_eq!(faults.clear_of_stalls(1_100_000_000), 1_600_000_000);
}

#[test]
fn a_stall_asked_for_holds_until_it_ends() {
    let mut faults = Faults::new(&[]);
    faults.stall(10, 90);
    assert_eq!(faults.clear_of_stalls(9), 9);
    assert_eq!(faults.clear_of_stalls(10), 100);
    assert_eq!(faults.clear_of_stalls(100), 100);
}
