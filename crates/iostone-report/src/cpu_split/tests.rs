//! Parts add up to the whole, whatever was recorded.

use super::*;
use proptest::prelude::*;

fn account() -> CpuAccount {
    CpuAccount {
        wall_seconds: 10.0,
        processors: 2,
        machine_user_seconds: 3.0,
        machine_system_seconds: 1.0,
        machine_idle_seconds: 15.5,
        machine_iowait_seconds: 0.5,
        machine_steal_seconds: None,
        user_seconds: Some(2.5),
        system_seconds: Some(0.5),
        throttled_seconds: Some(4.0),
        governed_seconds: None,
        io_wait_seconds: Some(0.5),
        ..CpuAccount::default()
    }
}

#[test]
fn one_thing_at_a_time_is_split_over_the_wall_time() {
    let (split, whole) = of_one(&account()).unwrap();
    assert_eq!((whole, split.whole), (Whole::Wall, 10.0));
    assert_eq!(split.seconds(Part::Other), Some(2.5));
    assert_eq!((split.seconds(Part::Steal), split.seconds(Part::Governed)), (None, None));
}

#[test]
fn what_exceeds_the_wall_time_is_split_over_all_processors() {
    let parallel = CpuAccount { user_seconds: Some(12.0), ..account() };
    let (split, whole) = of_one(&parallel).unwrap();
    assert_eq!((whole, split.whole), (Whole::Processors, 20.0));
    assert_eq!(split.seconds(Part::Other), Some(3.0));
}

#[test]
fn without_the_workloads_own_times_the_machines_are_shown() {
    let unknown = CpuAccount { user_seconds: None, ..account() };
    let (split, whole) = of_one(&unknown).unwrap();
    assert_eq!((whole, split.seconds(Part::User)), (Whole::Processors, Some(3.0)));
}

#[test]
fn steal_is_drawn_as_far_as_there_is_room_and_told_in_full() {
    let stolen = CpuAccount { machine_steal_seconds: Some(9.0), io_wait_seconds: Some(9.0), ..account() };
    let (split, _) = of_one(&stolen).unwrap();
    let drawn = split.drawn();
    assert_eq!(split.seconds(Part::Steal), Some(9.0));
    assert!(drawn.contains(&(Part::Steal, 3.0)) && drawn.contains(&(Part::IoWait, 0.0)), "{drawn:?}");
}

#[test]
fn no_wall_time_is_no_split() {
    assert!(of_one(&CpuAccount { wall_seconds: 0.0, ..account() }).is_none());
    assert!(of_one(&CpuAccount { wall_seconds: f64::NAN, ..account() }).is_none());
}

#[test]
fn the_machine_s_pressure_is_told_and_no_part_of_the_bar() {
    let one = CpuAccount {
        io_wait_seconds: None,
        machine_io_pressure_seconds: Some(3.6),
        machine_steal_seconds: None,
        host_steal_seconds: Some(1.0),
        ..account()
    };
    let (split, _) = of_one(&one).unwrap();
    assert_eq!((split.seconds(Part::IoWait), split.seconds(Part::Pressure)), (None, Some(3.6)));
    assert!(split.drawn().iter().all(|(part, _)| *part != Part::Pressure));
    assert_eq!((split.seconds(Part::Steal), split.steal_from_host), (Some(1.0), true));
}

#[test]
fn what_rounding_leaves_of_nothing_is_nothing() {
    let one = CpuAccount {
        wall_seconds: 0.3,
        user_seconds: Some(0.1),
        system_seconds: Some(0.2 - 1e-16),
        throttled_seconds: None,
        io_wait_seconds: None,
        ..account()
    };
    assert_eq!(of_one(&one).unwrap().0.seconds(Part::Other), Some(0.0));
}

proptest! {
    #[test]
    fn what_is_drawn_fills_the_whole(
        wall in 0.01f64..1e4,
        processors in 1u32..64,
        own in proptest::collection::vec(proptest::option::of(-1.0f64..2e4), 6),
        machine in proptest::collection::vec(0.0f64..2e4, 3),
    ) {
        let account = CpuAccount {
            wall_seconds: wall,
            processors,
            machine_user_seconds: machine[0],
            machine_system_seconds: machine[1],
            machine_iowait_seconds: machine[2],
            machine_idle_seconds: 0.0,
            machine_steal_seconds: own[0],
            user_seconds: own[1],
            system_seconds: own[2],
            throttled_seconds: own[3],
            governed_seconds: own[4],
            io_wait_seconds: own[5],
            machine_io_pressure_seconds: own[5].map(|seconds| seconds * 2.0),
            host_steal_seconds: own[0].map(|seconds| seconds / 2.0),
        };
        let (split, _) = of_one(&account).unwrap();
        let drawn = split.drawn();
        let sum: f64 = drawn.iter().map(|(_, seconds)| seconds).sum();
        prop_assert!((sum - split.whole).abs() <= 1e-9 * split.whole, "{sum} of {}", split.whole);
        prop_assert!(drawn.iter().all(|(_, seconds)| *seconds >= 0.0));
        prop_assert!(split.whole >= split.wall * 0.999_999);
    }
}
