//! Tests of the timetable: its entries stay few, apart from each other, and no more than what was asked for.

use proptest::prelude::*;

use super::*;
use crate::bucket::PACE_NS;

const SECOND_NS: u64 = 1_000_000_000;

impl Timetable {
    /// Takes what waits for nothing else.
    fn serve(&mut self, units: u64, ready_ns: u64, now_ns: u64) -> u64 {
        self.note_time(now_ns);
        let claim = self.claim(units, ready_ns);
        let start_ns = claim.ready_ns().max(ready_ns);
        claim.pay();
        start_ns
    }
}

#[test]
fn a_gap_that_fits_exactly_is_filled() {
    let mut table = Timetable::pacing(1_000, PACE_NS);
    // From 1.99 s to 2.99 s, as ten milliseconds are granted at once.
    assert_eq!(table.serve(1_000, 2 * SECOND_NS, SECOND_NS), 2_990_000_000);
    assert_eq!(table.serve(1_000, SECOND_NS, SECOND_NS), 1_990_000_000);
    assert_eq!(table.serve(10, SECOND_NS, SECOND_NS), 3 * SECOND_NS, "both are one stretch now");
    assert_eq!(table.busy().len(), 1);
}

#[test]
fn the_past_is_forgotten() {
    let mut table = Timetable::pacing(1_000_000, PACE_NS);
    for second in 1..1_000 {
        table.serve(1_000, second * SECOND_NS, second * SECOND_NS);
    }
    assert!(table.busy().len() <= 2);
    // Of a bucket of hours too, as long as what is taken follows on what was.
    let mut table = Timetable::credits(100, 5_400_000, 5_400_000);
    let mut now_ns = SECOND_NS;
    for _ in 0..10_000 {
        now_ns = table.serve(3, now_ns + 1_000_000, now_ns);
    }
    assert!(table.busy().len() <= 2, "{}", table.busy().len());
}

proptest! {
    #[test]
    fn promises_neither_overlap_nor_touch_and_balances_are_what_is_left(
        capacity in 10_000_u64..2_000_000,
        level in 0_u64..2_000_000,
        requests in prop::collection::vec((0_u64..5_000_000, 0_u64..100_000_000, 1_u64..100_000, 0_u64..3_000_000), 1..60),
    ) {
        let mut table = Timetable::credits(1_000_000, capacity, level);
        let (mut now_ns, mut sum) = (SECOND_NS, u128::from(capacity.saturating_sub(level)) * UNIT_PARTS);
        for (after_ns, later_ns, units, more_ns) in requests {
            now_ns += after_ns;
            table.note_time(now_ns);
            let ready_ns = now_ns + later_ns;
            // Another bucket may let it wait longer.
            let mut claim = table.claim(units, ready_ns);
            let start_ns = claim.ready_ns().max(ready_ns) + more_ns;
            claim.wait_until(start_ns);
            claim.pay();
            // What overflows while it waits is taken too.
            sum += u128::from(units) * UNIT_PARTS + u128::from(start_ns - ready_ns) * 1_000_000;
            let mut before = None;
            for (from, to) in table.busy() {
                prop_assert!(from < to && before.is_none_or(|end| end < *from));
                before = Some(*to);
            }
            let held: u128 = table.busy().iter().map(|(from, to)| to - from).sum();
            prop_assert!(held <= sum, "no more is taken than was asked for, and overflowed");
            let balance = table.balance(now_ns);
            prop_assert!((0.0..=capacity as f64).contains(&balance));
        }
    }

    #[test]
    fn a_balance_that_was_set_is_there_and_promises_stand(
        level in 0_u64..1_000_000,
        requests in prop::collection::vec((0_u64..100_000_000, 1_u64..100_000), 0..20),
    ) {
        let mut table = Timetable::credits(1_000_000, 1_000_000, 500_000);
        let mut last_ns = SECOND_NS;
        for (later_ns, units) in requests {
            last_ns = last_ns.max(table.serve(units, SECOND_NS + later_ns, SECOND_NS));
        }
        table.set_balance(level, SECOND_NS);
        prop_assert!((table.balance(SECOND_NS) - level as f64).abs() < 1e-6);
        let other = table.changed_to(Timetable::credits(3_000_000, 1_000_000, 0), SECOND_NS);
        prop_assert!((other.balance(SECOND_NS) - level as f64).abs() < 1e-6);
    }
}
