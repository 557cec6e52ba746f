//! Tests of a whole volume under clients of any queue depth, in simulated time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use iostone_model::experiment::{Burst, ErrorFault, Fault, Link, StallFault};
use iostone_model::units::{Bytes, Fraction};
use proptest::prelude::*;

use super::*;

const SECOND_NS: u64 = 1_000_000_000;
const MIB: u32 = 1 << 20;

fn plain() -> EmulatedVolume {
    EmulatedVolume::new(Bytes(1 << 40))
}

fn capped(throughput: u64) -> EmulatedVolume {
    EmulatedVolume { throughput: Some(ByteRate(throughput)), ..plain() }
}

fn with_iops(iops: u32) -> EmulatedVolume {
    EmulatedVolume { iops: Some(iops), ..plain() }
}

fn milliseconds(count: u64) -> Span {
    Span(Duration::from_millis(count))
}

/// A client with a queue of its own, which it keeps full.
struct Client {
    volume: VolumeState,
    depth: usize,
    length: u32,
    /// Every so-manieth request is a write; 0 for none.
    writes: u64,
    sequential: bool,
}

impl Client {
    fn new(volume: &EmulatedVolume, depth: usize, length: u32) -> Self {
        Self { volume: VolumeState::new(volume, 1), depth, length, writes: 0, sequential: true }
    }
}

/// What became of a request.
#[derive(Debug, Clone, Copy)]
struct Done {
    arrived_ns: u64,
    admission: Admission,
}

/// Runs clients against their volumes behind one link until `end_ns`; what was answered by then, for each client.
fn run(clients: &mut [Client], link: &mut LinkState, end_ns: u64) -> Vec<Vec<Done>> {
    let mut due: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    // A clock never begins at zero.
    for (index, client) in clients.iter().enumerate() {
        due.extend((0..client.depth).map(|_| Reverse((SECOND_NS, index))));
    }
    let mut done = vec![Vec::new(); clients.len()];
    let mut number = 0;
    while let Some(Reverse((now_ns, index))) = due.pop() {
        if now_ns >= SECOND_NS + end_ns {
            continue;
        }
        number += 1;
        let client = &mut clients[index];
        let is_write = client.writes > 0 && number % client.writes == 0;
        let operation = if is_write { Operation::Write } else { Operation::Read };
        let place = if client.sequential { number } else { number.wrapping_mul(7_919) % 100_000 };
        let offset = place * u64::from(client.length);
        let admission = client.volume.admit(link, operation, offset, client.length, now_ns);
        let answered_ns = admission.not_before_ns;
        client.volume.completed(operation, client.length, now_ns, answered_ns, admission.error.is_some());
        if answered_ns <= SECOND_NS + end_ns {
            done[index].push(Done { arrived_ns: now_ns - SECOND_NS, admission });
        }
        // A client needs a moment, without which one request at a time would spin for ever where nothing limits it.
        due.push(Reverse((answered_ns + 1_000, index)));
    }
    done
}

/// Bytes a second, or I/Os a second with lengths of 1.
fn rate(done: &[Done], length: u32, end_ns: u64) -> f64 {
    done.len() as f64 * f64::from(length) / (end_ns as f64 / 1e9)
}

fn assert_near(actual: f64, expected: f64, tolerance: f64) {
    assert!((actual / expected - 1.0).abs() <= tolerance, "{actual} instead of {expected}");
}

#[test]
fn caps_hold_at_every_size_and_depth() {
    let end_ns = 10 * SECOND_NS;
    for (depth, length) in [(1, MIB), (8, MIB), (1, 65_536), (32, 4096)] {
        let done =
            run(&mut [Client::new(&capped(40_000_000), depth, length)], &mut LinkState::new(None), end_ns);
        assert_near(rate(&done[0], length, end_ns), 40e6, 0.005);
    }
    for depth in [1, 32] {
        let done = run(&mut [Client::new(&with_iops(1_000), depth, 4096)], &mut LinkState::new(None), end_ns);
        assert_near(rate(&done[0], 1, end_ns), 1_000.0, 0.005);
    }
}

#[test]
fn reads_and_writes_are_counted_together() {
    let mut clients = [Client { writes: 3, ..Client::new(&capped(40_000_000), 4, 65_536) }];
    let done = run(&mut clients, &mut LinkState::new(None), 10 * SECOND_NS);
    assert_near(rate(&done[0], 65_536, 10 * SECOND_NS), 40e6, 0.005);
    let counters = clients[0].volume.counters();
    assert!(counters.writes.requests * 2 <= counters.reads.requests + 2);
}

#[test]
fn the_tighter_of_two_limits_binds() {
    let volume = EmulatedVolume { iops: Some(1_000), ..capped(40_000_000) };
    let end_ns = 10 * SECOND_NS;
    let small = run(&mut [Client::new(&volume, 8, 4096)], &mut LinkState::new(None), end_ns);
    assert_near(rate(&small[0], 1, end_ns), 1_000.0, 0.005);
    let large = run(&mut [Client::new(&volume, 8, MIB)], &mut LinkState::new(None), end_ns);
    assert_near(rate(&large[0], MIB, end_ns), 40e6, 0.005);
}

#[test]
fn a_large_request_counts_as_several_ios() {
    let volume = EmulatedVolume { io_size: Some(Bytes(16 << 10)), ..with_iops(400) };
    let end_ns = 10 * SECOND_NS;
    for (length, expected) in [(4096, 400.0), (16_384, 400.0), (65_536, 100.0)] {
        let done = run(&mut [Client::new(&volume, 4, length)], &mut LinkState::new(None), end_ns);
        assert_near(rate(&done[0], 1, end_ns), expected, 0.01);
    }
}

#[test]
fn the_link_caps_all_volumes_together_and_is_shared_fairly() {
    let end_ns = 60 * SECOND_NS;
    for (count, expected) in [(1, 40e6), (2, 62.5e6), (4, 62.5e6)] {
        let mut clients: Vec<Client> = (0..count).map(|_| Client::new(&capped(40_000_000), 8, MIB)).collect();
        let mut link = LinkState::new(Some(Link::of(ByteRate(62_500_000))));
        let done = run(&mut clients, &mut link, end_ns);
        let rates: Vec<f64> = done.iter().map(|done| rate(done, MIB, end_ns)).collect();
        assert_near(rates.iter().sum(), expected, 0.005);
        for one in rates {
            // Who comes first at the start stays a request or two ahead.
            assert_near(one, expected / f64::from(count), 0.015);
        }
    }
}

#[test]
fn a_slow_volume_does_not_keep_the_link_from_another() {
    let end_ns = 5 * SECOND_NS;
    let mut clients = [Client::new(&capped(10_000_000), 32, MIB), Client::new(&plain(), 4, 65_536)];
    let done = run(&mut clients, &mut LinkState::new(Some(Link::of(ByteRate(62_500_000)))), end_ns);
    assert_near(rate(&done[0], MIB, end_ns), 10e6, 0.05);
    assert_near(rate(&done[1], 65_536, end_ns), 52.5e6, 0.02);
    let longest_ns =
        done[1].iter().map(|done| done.admission.not_before_ns - SECOND_NS - done.arrived_ns).max();
    assert!(longest_ns.unwrap() < 100_000_000, "{longest_ns:?} ns: it waited for the other's queue");
}

fn bursting(base: u32, burst: u32, credits: u64) -> EmulatedVolume {
    let burst = Burst {
        iops: Some(burst),
        credits: Some(credits),
        throughput: None,
        credit_bytes: None,
        start: None,
    };
    EmulatedVolume { burst: Some(burst), ..with_iops(base) }
}

/// When I/Os came at the burst's pace for the last time, in seconds.
fn exhaustion_seconds(done: &[Done], base: u32) -> f64 {
    let slow_ns = SECOND_NS / u64::from(base) / 2;
    let starts: Vec<u64> = done.iter().map(|done| done.admission.start_ns - SECOND_NS).collect();
    let last = starts.windows(2).filter(|pair| pair[1] - pair[0] < slow_ns).map(|pair| pair[1]).max();
    last.unwrap() as f64 / 1e9
}

#[test]
fn a_scaled_gp2_bursts_as_long_as_its_credits_last() {
    let mut clients = [Client::new(&bursting(100, 3_000, 27_000), 16, 16_384)];
    let mut link = LinkState::new(None);
    let done = run(&mut clients, &mut link, 20 * SECOND_NS);
    // 27,000 credits and 20 seconds of 100; duration = credits / (burst - base) = 9.31 s.
    assert_near(done[0].len() as f64, 29_020.0, 0.002);
    assert_near(exhaustion_seconds(&done[0], 100), 27_000.0 / 2_900.0, 0.003);
    let credits = clients[0].volume.counters_at(SECOND_NS + 30 * SECOND_NS).credits.unwrap();
    assert_near(credits, 1_000.0, 0.03);
}

#[test]
fn a_short_burst_ends_as_the_formula_says() {
    let done = run(
        &mut [Client::new(&bursting(100, 1_000, 5_000), 4, 4096)],
        &mut LinkState::new(None),
        8 * SECOND_NS,
    );
    assert_near(exhaustion_seconds(&done[0], 100), 5.56, 0.005);
}

#[test]
fn a_burst_may_begin_empty_and_be_filled_by_hand() {
    let mut volume = bursting(100, 3_000, 27_000);
    volume.burst.as_mut().unwrap().start = Some(Fraction(0.0));
    let mut clients = [Client::new(&volume, 4, 4096)];
    let done = run(&mut clients, &mut LinkState::new(None), 10 * SECOND_NS);
    assert_near(done[0].len() as f64, 1_000.0, 0.01);
    assert!(clients[0].volume.set_credits(2_000, 11 * SECOND_NS));
    assert!(!clients[0].volume.set_credit_bytes(2_000, 11 * SECOND_NS), "it has none of bytes");
    let credits = clients[0].volume.counters_at(11 * SECOND_NS).credits.unwrap();
    assert!((1_999.0..=2_003.0).contains(&credits), "{credits}");
}

#[test]
fn a_throughput_volume_bursts_in_bytes() {
    let burst = Burst {
        iops: None,
        credits: None,
        throughput: Some(ByteRate(250_000_000)),
        credit_bytes: Some(Bytes(1_050_000_000)),
        start: None,
    };
    let volume = EmulatedVolume { burst: Some(burst), ..capped(40_000_000) };
    let done = run(&mut [Client::new(&volume, 4, MIB)], &mut LinkState::new(None), 10 * SECOND_NS);
    // 1050 MB and ten seconds of 40 MB/s, after 1050 / (250 - 40) = 5 s at 250 MB/s.
    assert_near(rate(&done[0], MIB, 10 * SECOND_NS), 145e6, 0.003);
    let fast = done[0].iter().filter(|done| done.admission.start_ns <= SECOND_NS + 5 * SECOND_NS).count();
    assert_near(fast as f64 * f64::from(MIB), 1_250e6, 0.005);
}

#[test]
fn nothing_is_answered_below_its_latency() {
    let mut volume = EmulatedVolume { latency: Some(milliseconds(2)), ..plain() };
    let done = run(&mut [Client::new(&volume, 8, 4096)], &mut LinkState::new(None), SECOND_NS);
    assert!(done[0].iter().all(|done| done.admission.not_before_ns - done.admission.start_ns == 2_000_000));
    volume.iops = Some(1_000);
    let done = run(&mut [Client::new(&volume, 8, 4096)], &mut LinkState::new(None), SECOND_NS);
    assert!(done[0].iter().all(|done| done.admission.not_before_ns >= done.admission.start_ns + 2_000_000));
    assert_near(done[0].len() as f64, 1_000.0, 0.02);
}

#[test]
fn a_flush_waits_for_no_bucket_but_takes_its_time() {
    let volume = EmulatedVolume { flush_latency: Some(milliseconds(4)), ..with_iops(1) };
    let (mut state, mut link) = (VolumeState::new(&volume, 1), LinkState::new(None));
    for _ in 0..5 {
        state.admit(&mut link, Operation::Write, 0, 4096, SECOND_NS);
    }
    let flush = state.admit(&mut link, Operation::Flush, 0, 0, SECOND_NS);
    assert_eq!((flush.start_ns, flush.not_before_ns), (SECOND_NS, SECOND_NS + 4_000_000));
}

#[test]
fn nothing_begins_and_nothing_is_answered_in_a_stall() {
    let stall = StallFault { every: milliseconds(1_000), lasts: milliseconds(300) };
    let volume = EmulatedVolume {
        latency: Some(milliseconds(5)),
        faults: vec![Fault::Stall(stall)],
        ..with_iops(1_000)
    };
    let done = run(&mut [Client::new(&volume, 8, 4096)], &mut LinkState::new(None), 4 * SECOND_NS);
    let stalled = |at_ns: u64| at_ns >= 2 * SECOND_NS && at_ns % SECOND_NS < 300_000_000;
    assert!(done[0].iter().all(|done| !stalled(done.admission.start_ns)));
    assert!(done[0].iter().all(|done| !stalled(done.admission.not_before_ns)));
    // Three stalls of 0.3 s in four seconds, without a burst after each beyond the 10 ms.
    assert_near(done[0].len() as f64, 3_100.0, 0.02);
}

#[test]
fn a_stall_by_control_also_holds_what_was_admitted_before() {
    let volume = EmulatedVolume { latency: Some(milliseconds(10)), ..plain() };
    let (mut state, mut link) = (VolumeState::new(&volume, 1), LinkState::new(None));
    let admission = state.admit(&mut link, Operation::Read, 0, 512, SECOND_NS);
    state.stall(milliseconds(500), SECOND_NS + 1);
    assert_eq!(state.may_answer_ns(admission.not_before_ns), SECOND_NS + 500_000_001);
    let next = state.admit(&mut link, Operation::Read, 0, 512, SECOND_NS + 2);
    assert_eq!(next.start_ns, SECOND_NS + 500_000_001);
}

#[test]
fn errors_are_counted_and_carry_no_bytes() {
    let error = ErrorFault { offset: Bytes(1 << 20), length: Some(Bytes(4096)), on: None, share: None };
    let volume = EmulatedVolume { faults: vec![Fault::Error(error)], ..plain() };
    let (mut state, mut link) = (VolumeState::new(&volume, 1), LinkState::new(None));
    for offset in [0, 1 << 20, 2 << 20] {
        let admission = state.admit(&mut link, Operation::Read, offset, 4096, SECOND_NS);
        assert_eq!(admission.error, (offset == 1 << 20).then_some(EIO));
        state.completed(Operation::Read, 4096, SECOND_NS, SECOND_NS + 100, admission.error.is_some());
    }
    let counters = state.counters();
    assert_eq!((counters.reads.requests, counters.reads.bytes, counters.errors()), (3, 8192, 1));
    assert_eq!(counters.reads.service.count(), 2);
    assert_eq!(counters.reads.service.mean_ns(), Some(100.0));
    state.reset_counters();
    assert_eq!(state.counters().reads.requests, 0);
}

#[test]
fn without_power_everything_fails_at_once() {
    let mut state = VolumeState::new(&with_iops(1), 1);
    let mut link = LinkState::new(None);
    state.set_powered(false);
    for operation in [Operation::Read, Operation::Write, Operation::Flush, Operation::Discard] {
        let admission = state.admit(&mut link, operation, 0, 4096, 7);
        assert_eq!(admission, Admission { start_ns: 7, not_before_ns: 7, error: Some(EIO) });
    }
    assert!(!state.counters().powered);
}

#[test]
fn limits_change_while_requests_go_on() {
    let mut clients = [Client::new(&with_iops(1_000), 4, 4096)];
    let mut link = LinkState::new(None);
    run(&mut clients, &mut link, SECOND_NS);
    let changed_ns = 2 * SECOND_NS;
    let measure = |client: &mut Client, link: &mut LinkState| {
        let mut now_ns = changed_ns;
        for _ in 0..600 {
            now_ns = client.volume.admit(link, Operation::Read, 0, 4096, now_ns).not_before_ns;
        }
        now_ns - changed_ns
    };
    let mut client = Client { volume: clients[0].volume.clone(), ..Client::new(&plain(), 1, 4096) };
    client.volume.set_iops(Some(300), changed_ns);
    assert_near(measure(&mut client, &mut link) as f64, 2e9, 0.02);
    client.volume = clients[0].volume.clone();
    client.volume.set_iops(None, changed_ns);
    assert!(measure(&mut client, &mut link) < 10_000_000, "only what was admitted before has a turn");
    client.volume.set_throughput(Some(ByteRate(600 * 4096)), changed_ns + SECOND_NS);
    assert_eq!(client.volume.counters().credits, None);
}

#[test]
fn nobody_queues_behind_a_client_that_is_gone() {
    let (mut state, mut link) = (VolumeState::new(&bursting(1, 2, 5), 1), LinkState::new(None));
    for _ in 0..100 {
        state.admit(&mut link, Operation::Read, 0, 4096, SECOND_NS);
    }
    let now_ns = 50 * SECOND_NS;
    assert!(state.admit(&mut link, Operation::Read, 0, 4096, now_ns).start_ns > 90 * SECOND_NS);
    state.abandon_backlog(now_ns);
    for later in 1..5 {
        let start_ns = state.admit(&mut link, Operation::Read, 0, 4096, now_ns).start_ns;
        assert_eq!(start_ns, now_ns + later * SECOND_NS, "the bucket is as empty as it was left");
    }
    let credits = state.counters().credits.unwrap();
    assert!((0.0..1.0).contains(&credits));
    state.abandon_backlog(100 * SECOND_NS);
    assert!((state.counters_at(200 * SECOND_NS).credits.unwrap() - 5.0).abs() < 1e-9, "and fills as ever");
}

#[test]
fn hours_of_nothing_grant_no_more_than_the_burst() {
    let (mut state, mut link) = (VolumeState::new(&with_iops(1_000), 1), LinkState::new(None));
    state.admit(&mut link, Operation::Read, 0, 4096, SECOND_NS);
    let later_ns = 36_000 * SECOND_NS;
    let at_once =
        (0..100).filter(|_| state.admit(&mut link, Operation::Read, 0, 4096, later_ns).start_ns == later_ns);
    assert_eq!(at_once.count(), 10);
}

proptest! {
    #[test]
    fn requests_begin_in_the_order_of_arrival_and_within_every_limit(
        iops in 10_u32..5_000,
        throughput in 1_000_000_u64..100_000_000,
        requests in prop::collection::vec((0_u64..5_000_000, 1_u32..2_000_000, any::<bool>()), 1..100),
    ) {
        let volume = EmulatedVolume { iops: Some(iops), ..capped(throughput) };
        let (mut state, mut link) = (VolumeState::new(&volume, 1), LinkState::new(None));
        let mut now_ns = SECOND_NS;
        let mut started: Vec<(u64, u32)> = Vec::new();
        for (after_ns, length, is_write) in requests {
            now_ns += after_ns;
            let operation = if is_write { Operation::Write } else { Operation::Read };
            let admission = state.admit(&mut link, operation, 0, length, now_ns);
            prop_assert!(admission.start_ns >= started.last().map_or(now_ns, |last| last.0.max(now_ns)));
            started.push((admission.start_ns, length));
        }
        for (first, (from_ns, first_bytes)) in started.iter().enumerate() {
            let (mut ios, mut bytes) = (0.0, 0.0);
            for (until_ns, length) in started.iter().skip(first) {
                ios += 1.0;
                bytes += f64::from(*length);
                let seconds = (until_ns - from_ns + 1) as f64 / 1e9;
                let most_ios = f64::from(iops) * seconds + (f64::from(iops) / 100.0).max(1.0);
                let most_bytes = throughput as f64 * seconds + (throughput as f64 / 100.0).max(f64::from(*first_bytes));
                prop_assert!(ios <= most_ios * (1.0 + 1e-9) && bytes <= most_bytes * (1.0 + 1e-9));
            }
        }
    }
}
