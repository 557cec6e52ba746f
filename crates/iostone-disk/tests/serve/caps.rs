//! Caps and latencies, measured by a client and by the server's own stamps.

use super::*;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;
/// A block that a busy machine disturbed is measured again, so many times in all.
const ATTEMPTS: usize = 3;

/// Sends all requests and gives how many were answered a second, from the first answer after `lead` on.
fn rate(client: &mut Client, depth: usize, lead: usize, requests: &[(Command, u64, u32)]) -> f64 {
    let mut data = vec![0; 4 << 20];
    let mut begun = None;
    let mut answered = 0;
    let mut requests = requests.iter();
    loop {
        while client.in_flight() < depth
            && let Some(&(command, offset, length)) = requests.next()
        {
            let payload = vec![0x5a; if command == Command::Write { length as usize } else { 0 }];
            client.submit(command, 0, offset, length, &payload);
        }
        if client.in_flight() == 0 {
            break;
        }
        client.send().unwrap();
        assert_eq!(client.receive(&mut data).unwrap().error, 0);
        answered += 1;
        if answered == lead {
            begun = Some(Instant::now());
        }
    }
    f64::from(u32::try_from(answered - lead).unwrap()) / begun.unwrap().elapsed().as_secs_f64()
}

/// Figures are measured one after the other, whatever else the harness runs.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Measures until the rate is within a share of what it should be.
fn assert_rate(expected: f64, within: f64, mut measure: impl FnMut() -> f64) {
    let mut found = Vec::new();
    for _ in 0..ATTEMPTS {
        let rate = measure();
        if (rate / expected - 1.0).abs() <= within {
            return;
        }
        found.push(rate);
    }
    panic!("{found:?} instead of {expected}");
}

#[test]
fn bytes_a_second_are_capped_for_reads_and_writes_together() {
    let _alone = alone();
    let mut model = volume(64 * MIB);
    model.throughput = Some(ByteRate(40_000_000));
    let served = Served::new(&[model], None);
    let mut client = served.client(0);
    let length = 256 << 10;
    let commands = [Command::Read, Command::Write];
    let requests: Vec<_> = (0..480)
        .map(|number| (commands[number % 2], (number as u64 * u64::from(length)) % (32 * MIB), length))
        .collect();
    let expected = 40e6 / f64::from(length);
    assert_rate(expected, 0.03, || rate(&mut client, 16, 24, &requests));
}

#[test]
fn ios_a_second_are_capped_whether_or_not_there_are_data() {
    let _alone = alone();
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(64 * MIB).unwrap();
    let mut model = volume(64 * MIB);
    model.iops = Some(2000);
    let served =
        Served::with(&[model], None, |_| Store::File { path: file.path().to_owned(), direct: false });
    let mut client = served.client(0);
    // The first half is data, and the second one large hole.
    served.control().set(None, &["iops=none".parse().unwrap()]).unwrap();
    let writes = (0..32).map(|number| (Command::Write, number * MIB, 1 << 20));
    keep_in_flight(&mut client, 8, writes);
    served.control().set(None, &["iops=2000".parse().unwrap()]).unwrap();
    let reads: Vec<_> = scattered(6400, 4096, 64 * MIB).map(|offset| (Command::Read, offset, 4096)).collect();
    assert!(reads.iter().filter(|read| read.1 >= 32 * MIB).count() > 3000);
    assert_rate(2000.0, 0.03, || rate(&mut client, 16, 400, &reads));
}

#[test]
fn a_link_caps_all_volumes_together_and_leaves_one_to_its_own_cap() {
    let _alone = alone();
    let mut model = volume(64 * MIB);
    model.throughput = Some(ByteRate(40_000_000));
    let served = Served::new(&[model.clone(), model], Some(ByteRate(62_500_000)));
    let length = 128 << 10;
    let requests: Vec<_> =
        (0..600).map(|number| (Command::Read, number * u64::from(length) % (64 * MIB), length)).collect();
    let alone = 40e6 / f64::from(length);
    assert_rate(alone, 0.03, || rate(&mut served.client(0), 16, 30, &requests));
    let both = 62.5e6 / f64::from(length);
    assert_rate(both, 0.04, || {
        let rates: Vec<f64> = std::thread::scope(|scope| {
            let threads = [0, 1].map(|number| {
                let (served, requests) = (&served, &requests);
                scope.spawn(move || rate(&mut served.client(number), 16, 30, requests))
            });
            threads.map(|thread| thread.join().unwrap()).to_vec()
        });
        rates.iter().sum()
    });
}

#[test]
fn a_thousand_ios_a_second_hold_at_any_depth() {
    let _alone = alone();
    let mut model = volume(64 * MIB);
    model.iops = Some(1000);
    let served = Served::new(&[model], None);
    let requests: Vec<_> =
        scattered(3200, 4096, 64 * MIB).map(|offset| (Command::Write, offset, 4096)).collect();
    for depth in [1, 32] {
        assert_rate(1000.0, 0.03, || rate(&mut served.client(0), depth, 200, &requests));
    }
}

#[test]
fn latency_is_a_floor_and_the_mean_is_near_it() {
    let _alone = alone();
    let mut model = volume(64 * MIB);
    model.latency = Some("2ms".parse().unwrap());
    model.flush_latency = Some("5ms".parse().unwrap());
    let served = Served::new(&[model], None);
    let mut client = served.client(0);
    let mut means = Vec::new();
    // Short blocks: some are left in peace even where others use the processors. How late those make any sleeper is measured
    // beside each.
    for _ in 0..20 {
        served.control().reset_counters().unwrap();
        let lateness = mean_lateness_ns(Duration::from_millis(2), 50);
        let reads = scattered(200, 4096, 64 * MIB).map(|offset| (Command::Read, offset, 4096));
        keep_in_flight(&mut client, 4, reads);
        client.flush().unwrap();
        let report = served.control().counters().unwrap();
        let counters = &report.volumes[0].counters;
        assert!(counters.reads.service.min_ns().unwrap() >= 2_000_000);
        assert!(counters.flushes.service.min_ns().unwrap() >= 5_000_000);
        let mean = mean_ns(&counters.reads);
        if mean <= 2_040_000.0 + lateness {
            return;
        }
        means.push((mean, lateness));
    }
    panic!("means and what a plain sleep is late by: {means:?} ns");
}

/// By how much plain sleeps end too late on this machine at this time.
fn mean_lateness_ns(time: Duration, count: u32) -> f64 {
    let begun = Instant::now();
    (0..count).for_each(|_| std::thread::sleep(time));
    (begun.elapsed().saturating_sub(time * count)).as_secs_f64() * 1e9 / f64::from(count)
}
