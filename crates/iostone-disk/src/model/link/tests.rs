//! Tests of the shared link: against a plain bucket where requests come in order, and for what it adds where not.

use proptest::prelude::*;

use super::*;
use crate::bucket::Bucket;

const SECOND_NS: u64 = 1_000_000_000;

fn link(rate: u64) -> LinkState {
    LinkState::new(Some(ByteRate(rate)))
}

#[test]
fn without_a_rate_nothing_waits_but_bytes_are_counted() {
    let mut link = LinkState::new(None);
    assert_eq!(link.take(1 << 30, 7, 0), 7);
    assert_eq!(link.bytes(), 1 << 30);
}

#[test]
fn a_promise_for_later_does_not_keep_the_link_from_others() {
    let mut link = link(1_000_000);
    let late_ns = link.take(500_000, 10 * SECOND_NS, SECOND_NS);
    assert_eq!(late_ns, 10 * SECOND_NS + 490_000_000);
    let early_ns = link.take(500_000, SECOND_NS, SECOND_NS);
    assert_eq!(early_ns, SECOND_NS + 490_000_000, "as if the other were not there");
    let between_ns = link.take(9_000_000, SECOND_NS, SECOND_NS);
    assert!(between_ns > late_ns, "what does not fit before it goes around it");
    let end_ns = link.take(0, SECOND_NS, SECOND_NS);
    assert_eq!(end_ns, SECOND_NS);
    assert_eq!(link.bytes(), 10_000_000);
}

#[test]
fn a_gap_that_fits_exactly_is_filled() {
    let mut link = link(1_000);
    // From 1.99 s to 2.99 s, as ten milliseconds are granted at once.
    assert_eq!(link.take(1_000, 2 * SECOND_NS, SECOND_NS), 2_990_000_000);
    assert_eq!(link.take(1_000, SECOND_NS, SECOND_NS), 1_990_000_000);
    assert_eq!(link.take(10, SECOND_NS, SECOND_NS), 3 * SECOND_NS, "both are one stretch now");
    assert_eq!(link.timetable.as_ref().unwrap().busy.len(), 1);
}

#[test]
fn what_is_owed_is_paid_at_the_new_rate() {
    let mut link = link(1_000);
    link.take(1_010, SECOND_NS, SECOND_NS);
    link.set_rate(Some(ByteRate(2_000)), SECOND_NS);
    assert_eq!(link.take(2_000, SECOND_NS, SECOND_NS), 2 * SECOND_NS + SECOND_NS / 2);
    link.set_rate(None, SECOND_NS);
    assert_eq!(link.take(u64::from(u32::MAX), SECOND_NS, SECOND_NS), SECOND_NS);
    assert_eq!(link.rate(), None);
}

#[test]
fn the_past_is_forgotten() {
    let mut link = link(1_000_000);
    for second in 1..1_000 {
        link.take(1_000, second * SECOND_NS, second * SECOND_NS);
    }
    assert!(link.timetable.unwrap().busy.len() <= 2);
}

proptest! {
    #[test]
    fn requests_in_order_are_served_as_by_a_bucket(
        rate in 1_000_u64..2_000_000_000,
        requests in prop::collection::vec((0_u64..30_000_000, 0_u64..2_000_000), 1..80),
    ) {
        let mut link = link(rate);
        let mut bucket = Bucket::pacing(rate);
        let (mut now_ns, mut ready_ns) = (SECOND_NS, SECOND_NS);
        for (after_ns, bytes) in requests {
            now_ns += after_ns;
            // A bucket serves one after the other, and so does the link where nobody is ready out of turn.
            ready_ns = if bytes == 0 { ready_ns } else { bucket.take(bytes, now_ns.max(ready_ns)) };
            prop_assert_eq!(link.take(bytes, now_ns, now_ns), if bytes == 0 { now_ns } else { ready_ns });
        }
    }

    // A request that fills gaps between others is under way together with them, so single windows have no bound of
    // their own; what is through by a moment has, and that promises do not overlap is the property below.
    #[test]
    fn no_more_is_through_by_any_moment_than_the_rate_allows(
        rate in 1_000_u64..200_000_000,
        requests in prop::collection::vec((0_u64..20_000_000, 0_u64..500_000_000, 1_u64..1_000_000), 1..60),
    ) {
        let mut link = link(rate);
        let mut now_ns = SECOND_NS;
        let mut through: Vec<(u64, u64)> = Vec::new();
        for (after_ns, later_ns, bytes) in requests {
            now_ns += after_ns;
            let at_ns = link.take(bytes, now_ns + later_ns, now_ns);
            prop_assert!(at_ns >= now_ns + later_ns);
            through.push((at_ns, bytes));
        }
        through.sort_unstable();
        let mut sum = 0;
        for (at_ns, bytes) in through {
            sum += u128::from(bytes) * BYTE_PARTS;
            prop_assert!(sum <= u128::from(rate) * u128::from(at_ns - SECOND_NS + PACE_NS));
        }
    }

    #[test]
    fn promises_neither_overlap_nor_touch(
        requests in prop::collection::vec((0_u64..5_000_000, 0_u64..100_000_000, 1_u64..100_000), 1..60),
    ) {
        let mut link = link(1_000_000);
        let (mut now_ns, mut sum) = (SECOND_NS, 0);
        for (after_ns, later_ns, bytes) in requests {
            now_ns += after_ns;
            link.take(bytes, now_ns + later_ns, now_ns);
            sum += u128::from(bytes) * BYTE_PARTS;
            let busy = &link.timetable.as_ref().unwrap().busy;
            let mut before = None;
            for (from, to) in busy {
                prop_assert!(from < to && before.is_none_or(|end| end < *from));
                before = Some(*to);
            }
            let held: u128 = busy.iter().map(|(from, to)| to - from).sum();
            prop_assert!(held <= sum, "no more is promised than was asked for");
        }
    }
}
