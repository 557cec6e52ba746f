//! Caps, bursts and links of volumes that control groups emulate, measured: a limit holds from above in each attempt, and from
//! below in one of a few.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::time::Duration;

use crate::common::limits::{needs_limits, take_turns};
use crate::common::load::{self, Load};
use crate::common::machine::{self, MIB, Machine};
use iostone_model::experiment::{Burst, EmulatedBy, EmulatedVolume, Link, Stack, Volume};
use iostone_model::units::{ByteRate, Bytes};
use iostone_stack::{Role, Session};

fn emulated(volume: EmulatedVolume) -> Stack {
    Stack::of(Volume::Emulated(volume))
}

fn load(stack: &iostone_stack::StackDevice, writes: bool, block_bytes: usize, threads: u64) -> Load {
    let path = std::path::PathBuf::from(format!("/dev/{}", stack.name));
    Load { path, writes, block_bytes, threads, span_bytes: 32 * MIB }
}

#[test]
fn one_volume_is_held_to_its_caps_in_bytes_and_in_requests() {
    if needs_limits("one_volume_is_held_to_its_caps_in_bytes_and_in_requests") {
        return;
    }
    let _turn = take_turns();
    let machine = Machine::new();
    let mut session = machine.session();
    let volume = EmulatedVolume {
        throughput: Some(ByteRate(20_000_000)),
        iops: Some(500),
        ..EmulatedVolume::new(Bytes(32 * MIB))
    };
    let stack = emulated(volume);
    let found = Session::preflight(&stack, true, &machine.work()).unwrap();
    assert_eq!(found.disk_bytes, 32 * MIB);
    let applied = session.apply(&stack, 1, 7).unwrap();
    assert_eq!(machine::loops_under(machine.path()), 1, "no instance without a link");
    assert!(
        applied.notes.iter().any(|note| note.contains("as the kernel issues them")),
        "{:?}",
        applied.notes
    );
    let top = &applied.devices[0];
    assert_eq!(top.role, Role::Stack);
    let loads = [load(top, false, 4096, 4), load(top, true, 64 << 10, 4)];
    let shares = |seconds| {
        let rates = load::run(&loads, Duration::from_secs(1), Duration::from_secs(seconds));
        vec![rates[0].requests / 500.0, rates[1].bytes / 20e6]
    };
    let attempt = || {
        let confinement = session.confine().unwrap().unwrap();
        let shares = shares(5);
        confinement.leave().unwrap();
        shares
    };
    load::hold("one_volume_is_held_to_its_caps_in_bytes_and_in_requests", 0.03, attempt, || shares(1));
    assert_eq!(session.verify().unwrap(), applied.checks);
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn two_volumes_reach_the_cap_of_their_link_and_one_its_own() {
    if needs_limits("two_volumes_reach_the_cap_of_their_link_and_one_its_own") {
        return;
    }
    let _turn = take_turns();
    let machine = Machine::new();
    let mut session = machine.session();
    let volume = EmulatedVolume {
        count: 2,
        throughput: Some(ByteRate(16_000_000)),
        ..EmulatedVolume::new(Bytes(32 * MIB))
    };
    let stack = Stack { link: Some(Link::of(ByteRate(25_000_000))), ..emulated(volume) };
    let applied = session.apply(&stack, 1, 7).unwrap();
    assert_eq!(applied.target.device, None, "several volumes are no device before an array joins them");
    let roles: Vec<Role> = applied.devices.iter().map(|device| device.role).collect();
    assert_eq!(roles[..3], [Role::Member, Role::Member, Role::Below], "{:?}", applied.devices);
    let members = &applied.devices[..2];
    let test = "two_volumes_reach_the_cap_of_their_link_and_one_its_own";
    let both = [load(&members[0], true, 64 << 10, 4), load(&members[1], true, 64 << 10, 4)];
    let one = [load(&members[1], false, 64 << 10, 4)];
    for (loads, cap, tolerance) in [(&both[..], 25e6, 0.05), (&one[..], 16e6, 0.03)] {
        let share = |seconds| {
            let rates = load::run(loads, Duration::from_secs(1), Duration::from_secs(seconds));
            vec![rates.iter().map(|rate| rate.bytes).sum::<f64>() / cap]
        };
        let attempt = || {
            let confinement = session.confine().unwrap().unwrap();
            let shares = share(4);
            confinement.leave().unwrap();
            shares
        };
        load::hold(test, tolerance, attempt, || share(1));
    }
    session.finish().unwrap();
    machine.assert_clean();
}

/// What bursts is the server's unless somebody says otherwise.
fn by_control_groups(volume: EmulatedVolume) -> EmulatedVolume {
    EmulatedVolume { by: Some(EmulatedBy::Cgroup), ..volume }
}

#[test]
fn credits_are_spent_at_the_burst_and_then_the_long_run_holds() {
    if needs_limits("credits_are_spent_at_the_burst_and_then_the_long_run_holds") {
        return;
    }
    let _turn = take_turns();
    let machine = Machine::new();
    let mut session = machine.session();
    // gp2 scaled down: 4,000 credits at 1,100 a second are gone after 4 s.
    let burst =
        Burst { iops: Some(1100), credits: Some(4000), throughput: None, credit_bytes: None, start: None };
    let volume = by_control_groups(EmulatedVolume {
        iops: Some(100),
        burst: Some(burst),
        ..EmulatedVolume::new(Bytes(32 * MIB))
    });
    let applied = session.apply(&emulated(volume), 1, 7).unwrap();
    assert!(applied.notes.iter().any(|note| note.contains("out of 4000 credits")), "{:?}", applied.notes);
    let seconds = 7;
    let loads = [load(&applied.devices[0], false, 4096, 4)];
    let requests = |seconds| load::run(&loads, Duration::ZERO, Duration::from_secs(seconds))[0].requests;
    let attempt = || {
        let confinement = session.confine().unwrap().unwrap();
        session.begin_workload().unwrap();
        let total = requests(seconds) * seconds as f64;
        confinement.leave().unwrap();
        vec![total / (4000.0 + 100.0 * seconds as f64)]
    };
    let test = "credits_are_spent_at_the_burst_and_then_the_long_run_holds";
    load::hold(test, 0.03, attempt, || vec![requests(1) / 1100.0]);
    // Whatever the limit is at this moment, its bounds are as they were.
    assert_eq!(session.verify().unwrap(), applied.checks);
    session.finish().unwrap();
    machine.assert_clean();
}

/// A load, what the law gives it in so many seconds, and the rate of the burst.
struct Law {
    writes: bool,
    block_bytes: usize,
    seconds: u64,
    total: f64,
    burst_rate: f64,
}

/// Holds a link to its law after its buckets were used before the workload begins.
fn hold_to_law(test: &str, link: Link, law: &Law, of: fn(&load::Rates) -> f64) {
    let machine = Machine::new();
    let mut session = machine.session();
    let volume = by_control_groups(EmulatedVolume::new(Bytes(32 * MIB)));
    let stack = Stack { link: Some(link), ..emulated(volume) };
    let applied = session.apply(&stack, 1, 7).unwrap();
    assert!(applied.notes.iter().any(|note| note.contains("out of")), "{:?}", applied.notes);
    let loads = [load(&applied.devices[0], law.writes, law.block_bytes, 4)];
    let rate = |time| of(&load::run(&loads, Duration::ZERO, time)[0]);
    let attempt = || {
        let confinement = session.confine().unwrap().unwrap();
        rate(Duration::from_millis(500));
        session.begin_workload().unwrap();
        let total = rate(Duration::from_secs(law.seconds)) * law.seconds as f64;
        confinement.leave().unwrap();
        vec![total / law.total]
    };
    load::hold(test, 0.03, attempt, || vec![rate(Duration::from_secs(1)) / law.burst_rate]);
    assert_eq!(session.verify().unwrap(), applied.checks);
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn a_link_bursts_in_bytes_and_in_requests_and_the_long_run_holds() {
    let test = "a_link_bursts_in_bytes_and_in_requests_and_the_long_run_holds";
    if needs_limits(test) {
        return;
    }
    let _turn = take_turns();
    let burst = Burst {
        iops: None,
        credits: None,
        throughput: Some(ByteRate(40_000_000)),
        credit_bytes: Some(Bytes(96_000_000)),
        start: None,
    };
    let link = Link { burst: Some(burst), ..Link::of(ByteRate(8_000_000)) };
    let total = 96e6 + 8e6 * 7.0;
    let law = Law { writes: false, block_bytes: 64 << 10, seconds: 7, total, burst_rate: 40e6 };
    hold_to_law(test, link, &law, |rates| rates.bytes);
    let burst =
        Burst { iops: Some(1100), credits: Some(4000), throughput: None, credit_bytes: None, start: None };
    let link = Link { iops: Some(100), burst: Some(burst), ..Link::of(ByteRate(1_000_000_000)) };
    let total = 4000.0 + 100.0 * 7.0;
    let law = Law { writes: true, block_bytes: 4096, seconds: 7, total, burst_rate: 1100.0 };
    hold_to_law(test, link, &law, |rates| rates.requests);
}
