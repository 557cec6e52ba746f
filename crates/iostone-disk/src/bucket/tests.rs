//! Tests of the token bucket against its closed forms.

use proptest::prelude::*;

use super::*;

const SECOND_NS: u64 = 1_000_000_000;

impl Bucket {
    /// When a request begins that waits for nothing else.
    pub(crate) fn take(&mut self, cost: u64, turn_ns: u64) -> u64 {
        let start_ns = self.ready_ns(cost, turn_ns);
        self.pay(cost, start_ns);
        start_ns
    }
}

/// Start times of requests of `cost` one after the other, each coming as soon as the one before it has begun.
fn saturated(bucket: &mut Bucket, cost: u64, count: u64) -> u64 {
    (0..count).fold(0, |turn_ns, _| bucket.take(cost, turn_ns))
}

#[test]
fn a_saturated_bucket_gives_its_rate_exactly_after_ten_hours() {
    let (rate, cost) = (40_000_001_u64, 1_u64 << 20);
    let mut bucket = Bucket::pacing(rate);
    let count = rate * 36_000 / cost;
    let ended_ns = saturated(&mut bucket, cost, count);
    let parts = u128::from(count * cost) * 1_000_000_000 - u128::from(rate) * u128::from(PACE_NS);
    assert_eq!(u128::from(ended_ns), parts.div_ceil(u128::from(rate)), "no rounding has added up");
}

#[test]
fn a_request_larger_than_the_bucket_begins_when_it_is_paid_for() {
    let mut bucket = Bucket::pacing(1_000_000);
    assert_eq!(bucket.take(1_000_000, 0), 990_000_000, "10 ms of it were there");
    assert_eq!(bucket.take(0, 990_000_000), 990_000_000, "and nothing is owed any more");
    assert_eq!(bucket.take(1_000, 990_000_000), 991_000_000);
}

#[test]
fn a_slow_pacer_still_grants_one_whole_unit_at_once() {
    let mut bucket = Bucket::pacing(10);
    assert_eq!(bucket.take(1, 5), 5);
    assert_eq!(bucket.take(1, 5), 5 + SECOND_NS / 10);
}

#[test]
fn a_bucket_does_not_fill_before_its_first_use() {
    let mut bucket = Bucket::credits(100, 1_000, 0);
    assert_eq!(bucket.take(1, 3_600 * SECOND_NS), 3_600 * SECOND_NS + SECOND_NS / 100);
}

#[test]
fn credits_accrue_at_the_rate_up_to_the_capacity() {
    let mut bucket = Bucket::credits(100, 1_000, 500);
    bucket.take(0, 0);
    assert!((bucket.balance(0) - 500.0).abs() < 1e-9);
    assert!((bucket.balance(2 * SECOND_NS) - 700.0).abs() < 1e-9);
    assert!((bucket.balance(60 * SECOND_NS) - 1_000.0).abs() < 1e-9);
    bucket.set_balance(5_000, 60 * SECOND_NS);
    assert!((bucket.balance(60 * SECOND_NS) - 1_000.0).abs() < 1e-9, "not above its capacity");
    bucket.set_balance(0, 60 * SECOND_NS);
    bucket.set_rate(200, 60 * SECOND_NS);
    assert!((bucket.balance(61 * SECOND_NS) - 200.0).abs() < 1e-9);
}

#[test]
fn a_change_of_pace_holds_from_then_on() {
    let mut bucket = Bucket::pacing(1_000);
    assert_eq!(bucket.take(1_010, 0), SECOND_NS);
    bucket.set_pace(2_000, SECOND_NS);
    assert_eq!(bucket.take(1_000, SECOND_NS), SECOND_NS + SECOND_NS / 2);
}

#[test]
fn a_request_that_waited_for_something_else_saves_nothing_up() {
    let mut bucket = Bucket::pacing(1_000);
    assert_eq!(bucket.ready_ns(1, 0), 0);
    bucket.pay(1, 60 * SECOND_NS);
    let at_once = (0..100).filter(|_| bucket.take(1, 60 * SECOND_NS) == 60 * SECOND_NS).count();
    assert_eq!(at_once, 9, "ten with it");
}

#[test]
fn the_largest_numbers_do_not_overflow() {
    let mut bucket = Bucket::pacing(u64::MAX);
    assert_eq!(bucket.take(u64::MAX, u64::MAX), u64::MAX);
    let mut slow = Bucket::pacing(1);
    assert_eq!(slow.take(u64::MAX, 0), u64::MAX);
    assert_eq!(slow.take(u64::MAX, u64::MAX), u64::MAX);
}

proptest! {
    #[test]
    fn no_window_is_granted_more_than_rate_and_burst(
        rate in 1_u64..200_000_000,
        requests in prop::collection::vec((0_u64..50_000_000, 0_u64..3_000_000), 1..80),
    ) {
        let mut bucket = Bucket::pacing(rate);
        let capacity = bucket.capacity;
        let (mut arrived_ns, mut turn_ns) = (0, 0);
        let mut granted: Vec<(u64, i128)> = Vec::new();
        for (after_ns, cost) in requests {
            arrived_ns += after_ns;
            turn_ns = bucket.take(cost, turn_ns.max(arrived_ns));
            granted.push((turn_ns, i128::from(cost) * PARTS));
        }
        for (first, (from_ns, first_cost)) in granted.iter().enumerate() {
            let mut sum = 0;
            for (until_ns, cost) in granted.iter().skip(first) {
                sum += cost;
                // A start is a whole nanosecond, at which up to one nanosecond's worth more has come in.
                let most = i128::from(rate) * i128::from(until_ns - from_ns + 1) + capacity.max(*first_cost);
                prop_assert!(sum <= most, "{sum} parts in {} ns", until_ns - from_ns);
            }
        }
    }

    #[test]
    fn a_saturated_client_gets_the_rate(rate in 1_000_u64..2_000_000_000, cost in 1_u64..1_000_000) {
        let mut bucket = Bucket::pacing(rate);
        let settled_ns = bucket.take(rate / 100 + 1, 0);
        let ended_ns = (0..2_000).fold(settled_ns, |turn_ns, _| bucket.take(cost, turn_ns));
        let expected_ns = 2_000.0 * cost as f64 / rate as f64 * 1e9;
        // Starts are whole nanoseconds.
        prop_assert!(((ended_ns - settled_ns) as f64 - expected_ns).abs() <= expected_ns * 1e-3 + 1.0);
    }

    #[test]
    fn a_full_bucket_lasts_credits_over_burst_minus_base(
        base in 50_u64..500,
        above in 100_u64..5_000,
        credits in 1_000_u64..20_000,
    ) {
        let mut pace = Bucket::pacing(base + above);
        let mut bucket = Bucket::credits(base, credits, credits);
        let (mut turn_ns, mut paced_ns) = (0, 0);
        while turn_ns == paced_ns {
            paced_ns = pace.ready_ns(1, turn_ns);
            turn_ns = bucket.ready_ns(1, turn_ns).max(paced_ns);
            pace.pay(1, turn_ns);
            bucket.pay(1, turn_ns);
        }
        let seconds = credits as f64 / above as f64;
        // What the pacer grants at once comes out of the bucket earlier, by its 10 ms of the burst rate, or one I/O.
        let early = (f64::from(10) / 1e3 * (base + above) as f64 + 2.0) / above as f64;
        let measured = paced_ns as f64 / 1e9;
        prop_assert!(measured <= seconds + 2.0 / above as f64 && measured >= seconds - early, "{measured} {seconds}");
    }
}
