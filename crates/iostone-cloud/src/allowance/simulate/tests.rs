//! Simulations against published figures, theory and the stepped law.

mod properties;

use iostone_model::experiment::AllowanceStart;

use super::*;
use crate::{CREDIT_SECONDS, allowance};

/// The build of field report 3: CPU seconds, user and system, in the runs of 25 and 30 %, which agree within 1 %.
const BUILD_ON_T1: f64 = 1230.0;
/// What that build used of its quota in both of them, by its own CPU time over its elapsed time.
const USED_OF_QUOTA: f64 = 0.91;
/// Its CPU seconds on a t2.micro, and the share of a processor that it used there.
const BUILD_ON_T2: f64 = 9.33 * 60.0;
const USED_ON_T2: f64 = 0.63;

fn governor(instance: &str, law: Option<&str>, speed: f64, start: AllowanceStart) -> Governor {
    Governor { allowance: allowance(instance, law).unwrap(), speed, start }
}

fn near(value: f64, expected: f64, within: f64) {
    assert!((value / expected - 1.0).abs() <= within, "{value} is not within {within} of {expected}");
}

#[test]
fn the_penalty_law_gives_the_elapsed_times_of_the_report_in_their_order() {
    let t1 = governor("t1.micro", Some("penalty"), 1.0, AllowanceStart::Launch);
    let wall = |quota: Option<f64>| {
        let demand = Demand {
            cpu_seconds: BUILD_ON_T1,
            processors: USED_OF_QUOTA,
            limit: quota.map(|quota| quota * USED_OF_QUOTA),
        };
        simulate(&t1, &demand).wall_seconds
    };
    let (none, at_25, at_30, at_40) = (wall(None), wall(Some(0.25)), wall(Some(0.3)), wall(Some(0.4)));
    for (simulated, published) in [(none, 11219.721), (at_25, 5408.645), (at_30, 4503.421), (at_40, 5246.738)]
    {
        near(simulated, published, 0.01);
    }
    assert!(at_30 < at_40 && at_40 < at_25 && none > 2.0 * at_25);
}

#[test]
fn the_penalty_law_bursts_and_stalls_as_was_measured() {
    let t1 = governor("t1.micro", Some("penalty"), 1.0, AllowanceStart::Launch);
    let busy = simulate(&t1, &Demand::busy(100.0));
    let burst = busy.slow_from_seconds.unwrap();
    assert!((8.0..=15.0).contains(&burst), "{burst}");
    let cycle = busy.course.iter().filter(|point| !point.slow).nth(1).unwrap().at_seconds;
    assert!((75.0..=150.0).contains(&cycle), "{cycle}");
}

#[test]
fn in_a_plain_bucket_or_window_no_limit_loses_nothing_and_with_a_penalty_it_does() {
    let wall = |law: &str, limit: Option<f64>| {
        let t1 = governor("t1.micro", Some(law), 1.0, AllowanceStart::Launch);
        simulate(&t1, &Demand { limit, ..Demand::busy(BUILD_ON_T1) }).wall_seconds
    };
    for law in ["bucket", "window"] {
        for limit in [0.2, 0.25, 0.3, 0.4, 0.6] {
            assert!(wall(law, None) <= wall(law, Some(limit)) * 1.02, "{law} {limit}");
        }
    }
    for law in ["penalty", "costly-bucket"] {
        assert!(wall(law, None) > 1.4 * wall(law, Some(0.25)), "{law}");
    }
}

#[test]
fn a_costly_bucket_holds_a_short_job_up_as_theory_says() {
    // Ten times faster than real time, a bucket of 2 CPU seconds, 6 CPU seconds of work.
    let t1 = governor("t1.micro", Some("costly-bucket"), 10.0, AllowanceStart::Launch);
    let wall = |limit: f64| simulate(&t1, &Demand { limit: Some(limit), ..Demand::busy(6.0) });
    near(wall(0.25).wall_seconds, 24.0, 1e-9);
    near(wall(0.3).wall_seconds, 20.0, 1e-9);
    // 10 s until it is empty, 2 / 0.07 s until it is full, the rest at 40 %.
    let slow = 2.0 / 0.07;
    near(wall(0.4).wall_seconds, 10.0 + slow + (6.0 - 4.0 - 0.03 * slow) / 0.4, 1e-9);
    near(wall(0.4).slow_seconds, slow, 1e-9);
}

#[test]
fn the_build_on_a_t2_micro_spends_what_its_author_read() {
    let demand = Demand { processors: USED_ON_T2, ..Demand::busy(BUILD_ON_T2) };
    let t2 = governor("t2.micro", None, 1.0, AllowanceStart::Launch);
    let burst = simulate(&t2, &demand);
    near(burst.wall_seconds, 14.8 * 60.0, 0.002);
    near((burst.begin_seconds - burst.left_seconds) / CREDIT_SECONDS, 7.85, 0.001);
    near(burst.left_seconds / CREDIT_SECONDS, 22.0, 0.01);
    assert_eq!(burst.slow_times, 0);
    near(burst.launch_spent_seconds, BUILD_ON_T2, 1e-9);
    for other in ["t2.small", "t2.medium"] {
        let other = simulate(&governor(other, None, 1.0, AllowanceStart::Launch), &demand);
        near(other.wall_seconds, burst.wall_seconds, 1e-12);
    }
    let empty = simulate(&governor("t2.micro", None, 1.0, AllowanceStart::Empty), &demand);
    near(empty.wall_seconds, BUILD_ON_T2 / 0.1, 1e-9);
    assert_eq!((empty.slow_times, empty.slow_from_seconds), (1, Some(0.0)));
}

#[test]
fn credits_run_out_and_then_the_baseline_holds() {
    let t2 = governor("t2.micro", None, 1.0, AllowanceStart::Launch);
    // 30 credits of launch while 0.1 a minute is earned: they last 30 minutes, what was earned another 3.33.
    let result = simulate(&t2, &Demand::busy(3600.0));
    near(result.slow_from_seconds.unwrap(), 30.0 * 60.0 / 0.9, 1e-9);
    near(result.wall_seconds, 2000.0 + (3600.0 - 2000.0) / 0.1, 1e-9);
    near(result.launch_spent_seconds, 1800.0, 1e-9);
    assert!(result.left_seconds.abs() < 1e-3);
    let unlimited = simulate(
        &governor("t2.micro", Some("unlimited"), 1.0, AllowanceStart::Launch),
        &Demand::busy(3600.0),
    );
    near(unlimited.wall_seconds, 3600.0, 1e-12);
    near(unlimited.surplus_seconds, 3600.0 * 0.9, 1e-9);
}

#[test]
fn a_share_stretches_what_is_computed_and_not_what_is_waited_for() {
    let on = |instance: &str, demand: &Demand| {
        simulate(&governor(instance, None, 1.0, AllowanceStart::Launch), demand)
    };
    let result = on("c3.large", &Demand::busy(10.0));
    near(result.wall_seconds, 10.0 / (559.948 / 777.345), 1e-12);
    assert_eq!((result.slow_seconds, result.slow_times), (0.0, 0));
    // The published elapsed times of the build, from its time on a t2.micro and the CPU times alone.
    let build = Demand { processors: USED_ON_T2, ..Demand::busy(BUILD_ON_T2) };
    let published =
        [("m1.small", 2763.623), ("m1.medium", 1533.974), ("m3.medium", 1902.804), ("c1.medium", 1501.527)];
    for (instance, seconds) in published {
        near(on(instance, &build).wall_seconds, seconds, 0.06);
    }
    for (instance, seconds) in [("c3.large", 1001.832), ("m3.large", 1021.667)] {
        near(on(instance, &build).wall_seconds, seconds, 0.12);
    }
}

#[test]
fn a_window_gives_its_threshold_on_average() {
    let t1 = governor("t1.micro", Some("window"), 1.0, AllowanceStart::Launch);
    let result = simulate(&t1, &Demand::busy(2000.0));
    near(result.cpu_seconds / result.wall_seconds, 0.2, 0.02);
    near(result.slow_from_seconds.unwrap(), 20.0, 1e-9);
    let below = simulate(&t1, &Demand { limit: Some(0.19), ..Demand::busy(2000.0) });
    assert_eq!(below.slow_times, 0);
    near(below.wall_seconds, 2000.0 / 0.19, 1e-9);
}

#[test]
fn work_that_gets_nothing_never_ends_and_no_work_takes_no_time() {
    let t2 = governor("t2.micro", None, 1.0, AllowanceStart::Launch);
    assert!(simulate(&t2, &Demand { limit: Some(0.0), ..Demand::busy(1.0) }).wall_seconds.is_infinite());
    assert!(simulate(&t2, &Demand::busy(0.0)).wall_seconds.abs() < 1e-12);
}

#[test]
fn the_other_laws_of_a_type_are_told_beside_the_one_in_force() {
    let t1 = governor("t1.micro", Some("bucket"), 20.0, AllowanceStart::Launch);
    let others = simulate_others(&t1, &Demand::busy(3.0));
    let names: Vec<&str> = others.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["bucket", "penalty", "costly-bucket", "window"]);
    near(others[0].1, simulate(&t1, &Demand::busy(3.0)).wall_seconds, 1e-12);
}

#[test]
fn work_of_decades_is_extrapolated_from_the_rounds_of_its_law() {
    for law in ["penalty", "costly-bucket", "bucket", "window"] {
        let t1 = governor("t1.micro", Some(law), 1.0, AllowanceStart::Launch);
        // Both are many rounds: the longer takes as many times as long, with the full allowance of the start apart.
        let (short, long) = (simulate(&t1, &Demand::busy(1e6)), simulate(&t1, &Demand::busy(1.8e9)));
        near(long.wall_seconds, short.wall_seconds * 1800.0, 0.001);
        near(long.cpu_seconds, 1.8e9, 1e-9);
        let kept = long.begin_seconds + long.earned_seconds - long.cpu_seconds - long.lost_seconds;
        assert!((kept - long.left_seconds).abs() < 1.0, "{law}: {kept} is not {}", long.left_seconds);
        assert!(long.slow_seconds <= long.wall_seconds);
    }
}
