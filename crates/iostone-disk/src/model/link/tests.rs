//! Tests of the shared link: against plain buckets where requests come in order, and for what it adds where not.

use iostone_model::units::{Bytes, Fraction};
use proptest::prelude::*;

use super::*;
use crate::bucket::Bucket;

const SECOND_NS: u64 = 1_000_000_000;

fn link(rate: u64) -> LinkState {
    LinkState::new(Some(Link::of(ByteRate(rate))))
}

/// A link whose bytes burst.
fn bursting(base: u64, high: u64, credit_bytes: u64) -> Link {
    let burst = Burst {
        iops: None,
        credits: None,
        throughput: Some(ByteRate(high)),
        credit_bytes: Some(Bytes(credit_bytes)),
        start: None,
    };
    Link { burst: Some(burst), ..Link::of(ByteRate(base)) }
}

#[test]
fn without_a_rate_nothing_waits_but_bytes_and_ios_are_counted() {
    let mut link = LinkState::new(None);
    assert_eq!(link.take(1 << 30, 4096, 7, 0), 7);
    let counted = LinkCounters { bytes: 1 << 30, ios: 4096, credit_bytes: None, credits: None };
    assert_eq!(link.counters_at(7), counted);
}

#[test]
fn a_promise_for_later_does_not_keep_the_link_from_others() {
    let mut link = link(1_000_000);
    let late_ns = link.take(500_000, 1, 10 * SECOND_NS, SECOND_NS);
    assert_eq!(late_ns, 10 * SECOND_NS + 490_000_000);
    let early_ns = link.take(500_000, 1, SECOND_NS, SECOND_NS);
    assert_eq!(early_ns, SECOND_NS + 490_000_000, "as if the other were not there");
    let between_ns = link.take(9_000_000, 1, SECOND_NS, SECOND_NS);
    assert!(between_ns > late_ns, "what does not fit before it goes around it");
    let end_ns = link.take(0, 0, SECOND_NS, SECOND_NS);
    assert_eq!(end_ns, SECOND_NS);
    assert_eq!(link.counters_at(0).bytes, 10_000_000);
}

#[test]
fn what_is_owed_is_paid_at_the_new_rate() {
    let mut link = link(1_000);
    link.take(1_010, 1, SECOND_NS, SECOND_NS);
    link.set_rate(Some(ByteRate(2_000)), SECOND_NS);
    assert_eq!(link.take(2_000, 1, SECOND_NS, SECOND_NS), 2 * SECOND_NS + SECOND_NS / 2);
    link.set_rate(None, SECOND_NS);
    assert_eq!(link.take(u64::from(u32::MAX), 1, SECOND_NS, SECOND_NS), SECOND_NS);
    assert_eq!(link.link(), None);
}

#[test]
fn credits_last_as_long_as_the_arithmetic_says() {
    // m5.large scaled: 81.25 MB/s, 593.75 MB/s while 5,125 MB of credits last, which is 10 s.
    let mut link = LinkState::new(Some(bursting(81_250_000, 593_750_000, 5_125_000_000)));
    let (mut now_ns, mut sum, mut ended_ns) = (SECOND_NS, 0_u64, 0);
    while now_ns < 21 * SECOND_NS {
        now_ns = link.take(262_144, 1, now_ns, now_ns);
        sum += 262_144;
        if ended_ns == 0 && link.counters_at(now_ns).credit_bytes.unwrap() < 262_144.0 {
            ended_ns = now_ns - SECOND_NS;
        }
    }
    assert!((ended_ns as f64 / 1e10 - 1.0).abs() < 2e-3, "{ended_ns}");
    let law = 5_125_000_000.0 + 81_250_000.0 * (now_ns - SECOND_NS) as f64 / 1e9;
    assert!((sum as f64 / law - 1.0).abs() < 1e-3, "{sum} for {law}");
}

#[test]
fn ios_are_limited_beside_bytes_and_merged_requests_cost_none() {
    let mut link = LinkState::new(Some(Link { iops: Some(100), ..Link::of(ByteRate(1_000_000)) }));
    let mut now_ns = SECOND_NS;
    for _ in 0..201 {
        now_ns = link.take(4096, 1, now_ns, now_ns);
    }
    assert!(now_ns.abs_diff(3 * SECOND_NS) <= 20, "100 I/Os a second bind: {now_ns}");
    for _ in 0..244 {
        now_ns = link.take(4096, 0, now_ns, now_ns);
    }
    // 4,096 bytes are 4.1 ms.
    assert!(now_ns.abs_diff(4 * SECOND_NS - 10_000_000) < 10_000_000, "bytes bind: {now_ns}");
}

#[test]
fn a_workload_begins_with_the_share_that_was_asked() {
    let mut wanted = bursting(1_000_000, 10_000_000, 9_000_000);
    wanted.burst = wanted.burst.map(|burst| Burst { start: Some(Fraction(0.25)), ..burst });
    let mut link = LinkState::new(Some(wanted));
    let at = |link: &LinkState, now_ns| link.counters_at(now_ns).credit_bytes.unwrap();
    assert!((at(&link, 50 * SECOND_NS) - 2_250_000.0).abs() < 1e-6, "nothing flows in before the first use");
    link.take(3_000_000, 1, 60 * SECOND_NS, 60 * SECOND_NS);
    assert!(at(&link, 61 * SECOND_NS) < 300_000.0);
    assert!(link.set_credit_bytes(1 << 60, 61 * SECOND_NS));
    assert!((at(&link, 61 * SECOND_NS) - 9_000_000.0).abs() < 1e-6);
    link.begin(61 * SECOND_NS);
    assert!((at(&link, 61 * SECOND_NS) - 2_250_000.0).abs() < 1e-6);
    assert!((at(&link, 62 * SECOND_NS) - 3_250_000.0).abs() < 1e-6);
    assert!(!link.set_credits(5, 61 * SECOND_NS));
}

/// The link as four plain buckets, for requests in order.
struct Plain([Option<Bucket>; 4]);

impl Plain {
    fn new(link: Link) -> Self {
        let pacing = |base: u64, burst: Option<(u64, u64)>| {
            Bucket::pacing(burst.map_or(base, |(high, _)| high.max(base)))
        };
        let credits =
            |base: u64, burst: Option<(u64, u64)>| burst.map(|(_, full)| Bucket::credits(base, full, full));
        let (bytes, ios) = (byte_burst(link.burst), io_burst(link.burst));
        let per_second = link.iops.map(u64::from);
        Self([
            Some(pacing(link.throughput.0, bytes)),
            credits(link.throughput.0, bytes),
            per_second.map(|rate| pacing(rate, ios)),
            per_second.and_then(|rate| credits(rate, ios)),
        ])
    }

    fn take(&mut self, bytes: u64, ios: u64, turn_ns: u64) -> u64 {
        let costs = [bytes, bytes, ios, ios];
        let with_costs = |one: &mut [Option<Bucket>; 4], visit: &mut dyn FnMut(&mut Bucket, u64)| {
            for (bucket, cost) in one.iter_mut().zip(costs) {
                if let Some(bucket) = bucket {
                    visit(bucket, cost);
                }
            }
        };
        let mut start_ns = turn_ns;
        with_costs(&mut self.0, &mut |bucket, cost| start_ns = start_ns.max(bucket.ready_ns(cost, turn_ns)));
        with_costs(&mut self.0, &mut |bucket, cost| bucket.pay(cost, start_ns));
        start_ns
    }
}

prop_compose! {
    fn any_link()(
        base in 100_000_u64..500_000_000,
        factor in 1_u64..12,
        bytes in prop::option::of(0_u64..500_000_000),
        iops in prop::option::of(50_u32..50_000),
        ios in prop::option::of(0_u64..100_000),
    ) -> Link {
        let burst = Burst {
            throughput: bytes.map(|_| ByteRate(base * factor)),
            credit_bytes: bytes.map(Bytes),
            iops: ios.and(iops).map(|iops| iops * 3),
            credits: ios.filter(|_| iops.is_some()),
            start: None,
        };
        Link { throughput: ByteRate(base), iops, burst: Some(burst) }
    }
}

proptest! {
    #[test]
    fn requests_in_order_are_served_as_by_buckets(
        wanted in any_link(),
        requests in prop::collection::vec((0_u64..30_000_000, 1_u64..2_000_000, 1_u64..9), 1..120),
    ) {
        let mut link = LinkState::new(Some(wanted));
        let mut plain = Plain::new(wanted);
        let (mut now_ns, mut turn_ns) = (SECOND_NS, SECOND_NS);
        for (number, (after_ns, bytes, ios)) in (1_u64..).zip(requests) {
            now_ns += after_ns;
            turn_ns = plain.take(bytes, ios, now_ns.max(turn_ns));
            let start_ns = link.take(bytes, ios, now_ns, now_ns);
            // Whoever waits behind another asks before its turn; what overflows meanwhile differs by a rounding each time.
            prop_assert!(start_ns.abs_diff(turn_ns) <= 1 + number, "{start_ns} for {turn_ns}");
            turn_ns = start_ns;
        }
    }

    #[test]
    fn no_window_has_more_than_the_rate_and_what_a_bucket_holds(
        wanted in any_link(),
        requests in prop::collection::vec((0_u64..30_000_000, 1_u64..2_000_000, 1_u64..9), 1..80),
    ) {
        let mut link = LinkState::new(Some(wanted));
        let mut now_ns = SECOND_NS;
        let mut starts: Vec<(u64, u64, u64)> = Vec::new();
        for (after_ns, bytes, ios) in requests {
            now_ns += after_ns;
            starts.push((link.take(bytes, ios, now_ns, now_ns), bytes, ios));
        }
        let full = |base: u64, burst: Option<(u64, u64)>, largest: u64| {
            let high = burst.map_or(base, |(high, _)| high.max(base));
            let pace = (high, (high / 100 + 1).max(largest));
            [Some(pace), burst.map(|(_, full)| (base, full.max(largest)))]
        };
        let bytes = full(wanted.throughput.0, byte_burst(wanted.burst), 2_000_000);
        let ios = wanted.iops.map(|iops| full(u64::from(iops), io_burst(wanted.burst), 9));
        for (first, &(from_ns, ..)) in starts.iter().enumerate() {
            let (mut sum, mut count) = (0_u64, 0_u64);
            for &(to_ns, length, number) in &starts[first..] {
                (sum, count) = (sum + length, count + number);
                let most = |(rate, held): (u64, u64)| rate as f64 * (to_ns - from_ns + 3) as f64 / 1e9 + held as f64 + 1.0;
                for bucket in bytes.into_iter().flatten() {
                    prop_assert!(sum as f64 <= most(bucket), "{sum} bytes");
                }
                for bucket in ios.into_iter().flatten().flatten() {
                    prop_assert!(count as f64 <= most(bucket), "{count} I/Os");
                }
            }
        }
    }

    // A request that fills gaps between others is under way together with them, so single windows have no bound of
    // their own; what is through by a moment has.
    #[test]
    fn no_more_is_through_by_any_moment_than_flowed_in(
        wanted in any_link(),
        requests in prop::collection::vec((0_u64..20_000_000, 0_u64..500_000_000, 1_u64..1_000_000), 1..60),
    ) {
        let mut link = LinkState::new(Some(wanted));
        let mut now_ns = SECOND_NS;
        let mut through: Vec<(u64, u64)> = Vec::new();
        for (after_ns, later_ns, bytes) in requests {
            now_ns += after_ns;
            let at_ns = link.take(bytes, 1, now_ns + later_ns, now_ns);
            prop_assert!(at_ns >= now_ns + later_ns);
            through.push((at_ns, bytes));
            let counters = link.counters_at(now_ns);
            prop_assert!(counters.credit_bytes.is_none_or(|left| left >= 0.0));
            prop_assert!(counters.credits.is_none_or(|left| left >= 0.0));
        }
        through.sort_unstable();
        let (base, burst) = (wanted.throughput.0, byte_burst(wanted.burst));
        let high = burst.map_or(base, |(high, _)| high.max(base));
        let mut sum = 0.0;
        for (ios, (at_ns, bytes)) in (1_u32..).zip(through) {
            sum += bytes as f64;
            let seconds = (at_ns - SECOND_NS) as f64 / 1e9;
            prop_assert!(sum <= high as f64 * (seconds + 0.01) + 1.0);
            if let Some((_, full)) = burst {
                prop_assert!(sum <= base as f64 * seconds + full as f64 + 1.0);
            }
            if let Some((iops, full)) = wanted.iops.zip(io_burst(wanted.burst).map(|(_, full)| full)) {
                prop_assert!(f64::from(ios) <= f64::from(iops) * seconds + full as f64 + 1.0);
            }
        }
    }
}
