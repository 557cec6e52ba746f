//! Limits of devices and of the instance above them, measured.

use std::time::Duration;

use crate::common::limits::{bare, groups_of_tests, mixed, needs_limits, take_turns};
use crate::common::load::{self, Load};
use crate::common::machine::{self, MIB, Machine};
use iostone_model::experiment::{Limits, LoopVolume};
use iostone_model::units::{ByteRate, Bytes};
use iostone_stack::{Role, Session};

#[test]
fn limits_hold_in_bytes_and_in_requests_for_each_direction_apart() {
    if needs_limits("limits_hold_in_bytes_and_in_requests_for_each_direction_apart") {
        return;
    }
    let _turn = take_turns();
    let machine = Machine::new();
    let mut session = machine.session();
    let stack = bare(mixed());
    let preflight = Session::preflight(&stack, false, &machine.work()).unwrap();
    assert!(preflight.notes.iter().any(|note| note.starts_with("limited by cgroup v")), "{preflight:?}");
    let applied = session.apply(&stack, 1, 7).unwrap();
    let device = applied.target.device.clone().unwrap();
    let name = applied.devices[0].name.clone();
    let read_back: Vec<_> = applied
        .checks
        .iter()
        .filter(|check| check.layer == "throttle")
        .map(|check| &check.read_back)
        .collect();
    assert_eq!(read_back, [&format!("{name} reads 16MB/s"), &format!("{name} writes 400 IOPS")]);
    assert!(applied.notes.iter().any(|note| note.contains("direct I/O")), "{:?}", applied.notes);

    let reads = Load { path: device, writes: false, block_bytes: 64 << 10, threads: 4, span_bytes: 64 * MIB };
    let writes = Load { writes: true, block_bytes: 4 << 10, ..reads.clone() };
    let loads = [reads, writes];
    let shares = |seconds| {
        let rates = load::run(&loads, Duration::from_secs(1), Duration::from_secs(seconds));
        vec![rates[0].bytes / 16e6, rates[1].requests / 400.0]
    };
    let attempt = || {
        let confinement = session.confine().unwrap().expect("the stack has limits");
        let shares = shares(5);
        confinement.leave().unwrap();
        shares
    };
    load::hold("limits_hold_in_bytes_and_in_requests_for_each_direction_apart", 0.03, attempt, || shares(1));

    assert_eq!(session.verify().unwrap(), applied.checks);
    assert_eq!(groups_of_tests().len(), 1);
    session.undo().unwrap();
    assert!(groups_of_tests().is_empty());
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn an_instance_binds_a_volume_that_may_do_more() {
    if needs_limits("an_instance_binds_a_volume_that_may_do_more") {
        return;
    }
    let _turn = take_turns();
    let machine = Machine::new();
    let mut session = machine.session();
    let volume = LoopVolume {
        throughput: Some(ByteRate(64_000_000)),
        instance: Some(Limits { throughput: Some(ByteRate(16_000_000)), ..Limits::default() }),
        ..LoopVolume::new(Bytes(64 * MIB))
    };
    let applied = session.apply(&bare(volume), 1, 7).unwrap();
    assert_eq!(machine::loops_under(machine.path()), 1, "the volume's device stands on the instance's");
    assert_eq!((applied.devices[0].role, applied.devices[1].role), (Role::Stack, Role::Below));
    let limited = |index: usize| format!("{} limited by cgroup v", applied.devices[index].name);
    assert!((0..2).all(|index| applied.notes.iter().any(|note| note.starts_with(&limited(index)))));
    let path = applied.target.device.clone().unwrap();
    let load = Load { path, writes: true, block_bytes: 64 << 10, threads: 4, span_bytes: 64 * MIB };
    let loads = [load];
    let share = |seconds| {
        vec![load::run(&loads, Duration::from_secs(1), Duration::from_secs(seconds))[0].bytes / 16e6]
    };
    let attempt = || {
        let confinement = session.confine().unwrap().unwrap();
        let shares = share(3);
        drop(confinement);
        shares
    };
    load::hold("an_instance_binds_a_volume_that_may_do_more", 0.05, attempt, || share(1));
    session.finish().unwrap();
    assert!(groups_of_tests().is_empty());
    machine.assert_clean();
}
