//! What holds of every law, start, speed and demand.

use iostone_model::experiment::{Allowance, AllowanceStart, Basis, Law};
use iostone_model::units::Fraction;
use proptest::prelude::*;

use crate::allowance::{Demand, LawState, simulate};
use iostone_model::experiment::Governor;

fn laws() -> impl Strategy<Value = Law> {
    let bucket = (0.5..200.0, 0.05..0.9, 0.1..1.0, 0.0..0.9, 0.1..1.0).prop_map(
        |(capacity_seconds, refill, throttled, slow, resume)| Law::Bucket {
            capacity_seconds,
            refill: Fraction(refill),
            throttled_refill: Fraction(refill * throttled),
            slow: Fraction(refill * throttled * slow),
            resume: Fraction(resume),
        },
    );
    let credits =
        (1u32..5, 0.02..0.5, 0.0..60.0, any::<bool>()).prop_map(|(vcpus, baseline, launch, unlimited)| {
            let earned_per_hour = f64::from(vcpus) * baseline * 60.0;
            Law::Credits {
                baseline: Fraction(baseline),
                earned_per_hour,
                maximum: 24.0 * earned_per_hour,
                launch,
                unlimited,
            }
        });
    let window = (5.0..200.0, 0.05..0.6, 0.01..0.9).prop_map(|(window_seconds, threshold, slow)| {
        Law::Window { window_seconds, threshold: Fraction(threshold), slow: Fraction(threshold * slow) }
    });
    let share = (0.05..=1.0).prop_map(|share| Law::Share { share: Fraction(share) });
    prop_oneof![4 => bucket, 4 => credits, 3 => window, 1 => share]
}

fn governors() -> impl Strategy<Value = Governor> {
    let starts =
        prop_oneof![Just(AllowanceStart::Launch), Just(AllowanceStart::Full), Just(AllowanceStart::Empty)];
    (laws(), 0.5..50.0, starts).prop_map(|(law, speed, start)| {
        let vcpus = match &law {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "one to four")]
            Law::Credits { baseline, earned_per_hour, .. } => {
                (earned_per_hour / baseline.0 / 60.0).round() as u32
            }
            _ => 1,
        };
        let allowance = Allowance {
            instance: "made-up".to_owned(),
            name: "made-up".to_owned(),
            vcpus,
            law,
            basis: Basis::Assumed,
            source: String::new(),
        };
        Governor { allowance, speed, start }
    })
}

/// Work that takes some turns of most laws.
fn demands() -> impl Strategy<Value = Demand> {
    (0.01..400.0, 0.05..4.0, prop::option::of(0.05..2.0))
        .prop_map(|(cpu_seconds, processors, limit)| Demand { cpu_seconds, processors, limit })
}

/// The work as a governor does it: it looks so often, and gives until the next look what the law says then. Debts and
/// the largest balance are given with the time.
fn stepped(governor: &Governor, demand: &Demand, step: f64) -> (f64, f64, f64) {
    let mut state = LawState::begin(governor);
    let (mut seconds, mut remaining) = (0.0, demand.cpu_seconds);
    let (mut least, mut most) = (state.balance_seconds(), state.balance_seconds());
    loop {
        let rate = state.processors().min(demand.wanted());
        if remaining <= rate * step {
            return (seconds + remaining / rate, least, most);
        }
        state.advance(step, rate * step);
        remaining -= rate * step;
        seconds += step;
        least = least.min(state.balance_seconds());
        most = most.max(state.balance_seconds());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(192) })]

    #[test]
    fn what_was_there_and_earned_is_spent_left_or_lost(governor in governors(), demand in demands()) {
        let result = simulate(&governor, &demand);
        prop_assert!(result.wall_seconds.is_finite());
        prop_assert!((result.cpu_seconds - demand.cpu_seconds).abs() <= 1e-9 * demand.cpu_seconds.max(1.0));
        if !matches!(governor.allowance.law, Law::Share { .. }) {
            let had = result.begin_seconds + result.earned_seconds + result.surplus_seconds;
            let gone = result.cpu_seconds + result.left_seconds + result.lost_seconds;
            prop_assert!((had - gone).abs() <= 1e-6 * had.max(1.0), "{had} {gone}");
        }
    }

    #[test]
    fn a_balance_stays_between_nothing_and_the_most(governor in governors(), demand in demands()) {
        let most = LawState::begin(&governor).most_seconds();
        let result = simulate(&governor, &demand);
        let launch = match governor.allowance.law {
            Law::Credits { launch, .. } => launch * 60.0 / governor.speed,
            _ => 0.0,
        };
        // While a window is over its threshold, its slow share may go on filling it.
        let debt = match governor.allowance.law {
            Law::Window { window_seconds, slow, .. } => slow.0 * window_seconds / governor.speed,
            _ => 0.0,
        };
        for point in &result.course {
            prop_assert!(point.balance_seconds >= -debt - 1e-6 * most, "{point:?}");
            prop_assert!(point.balance_seconds <= most + launch + 1e-6, "{point:?}");
        }
        prop_assert!(result.course.windows(2).all(|pair| pair[0].at_seconds <= pair[1].at_seconds));
    }

    #[test]
    fn more_work_is_never_faster(governor in governors(), demand in demands(), more in 1.0..3.0) {
        let further = Demand { cpu_seconds: demand.cpu_seconds * more, ..demand };
        let (first, second) = (simulate(&governor, &demand), simulate(&governor, &further));
        prop_assert!(second.wall_seconds >= first.wall_seconds * (1.0 - 1e-9));
    }

    #[test]
    fn speed_scales_time_and_nothing_else(governor in governors(), demand in demands()) {
        let faster = Governor { speed: governor.speed * 4.0, ..governor.clone() };
        let less = Demand { cpu_seconds: demand.cpu_seconds / 4.0, ..demand };
        let (one, other) = (simulate(&governor, &demand), simulate(&faster, &less));
        prop_assert!((one.wall_seconds - 4.0 * other.wall_seconds).abs() <= 1e-6 * one.wall_seconds);
        prop_assert!((one.left_seconds - 4.0 * other.left_seconds).abs() <= 1e-6 * one.begin_seconds.max(1.0));
        prop_assert_eq!(one.slow_times, other.slow_times);
    }

    #[test]
    fn a_law_looked_at_in_steps_goes_the_same_way(governor in governors(), demand in demands()) {
        // A share knows no steps, but waiting that steps do not know.
        prop_assume!(!matches!(governor.allowance.law, Law::Share { .. }));
        let exact = simulate(&governor, &demand);
        let most = LawState::begin(&governor).most_seconds();
        let step = (exact.wall_seconds / 20_000.0).min((0.002 * most.max(1e-3)).max(1e-4));
        prop_assume!(exact.wall_seconds / step < 2e6);
        let (seconds, least, largest) = stepped(&governor, &demand, step);
        // Each turn may come a step late, and an exhausted law gives full speed for a step now and then.
        let turns = 2.0 + 2.0 * (exact.slow_times as f64);
        let slowest = exact.course.iter().map(|point| point.processors).filter(|rate| *rate > 0.0).fold(1.0, f64::min);
        let late = turns * step * (1.0 + demand.wanted() / slowest) + 0.01 * exact.wall_seconds;
        prop_assert!((seconds - exact.wall_seconds).abs() <= late, "{seconds} against {}", exact.wall_seconds);
        let owed = f64::from(governor.allowance.vcpus) * step;
        let debt = match governor.allowance.law {
            Law::Window { window_seconds, slow, .. } => slow.0 * window_seconds / governor.speed,
            _ => 0.0,
        };
        prop_assert!(least >= -owed - debt - 1e-9, "{least}");
        let launch = match governor.allowance.law {
            Law::Credits { launch, .. } => launch * 60.0 / governor.speed,
            _ => 0.0,
        };
        prop_assert!(largest <= most + launch + 1e-9);
    }
}
