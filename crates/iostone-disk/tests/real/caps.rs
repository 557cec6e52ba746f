//! Caps and latencies, measured by a client and by the server's own stamps.

use crate::served::*;
use std::time::{Duration, Instant};

/// A block that a busy machine disturbed is measured again, so many times in all.
const ATTEMPTS: usize = 12;

/// Requests answered a second.
#[derive(Clone, Copy)]
struct Rates {
    /// Of all, the ones too that the pacer grants at once. Nothing is measured late in it that would make it larger.
    whole: f64,
    /// From the answer after so many on.
    steady: f64,
}

/// Sends all requests and gives how many were answered a second, from the first answer after `lead` on too.
fn rate(client: &mut Client, depth: usize, lead: usize, requests: &[(Command, u64, u32)]) -> Rates {
    let start = Instant::now();
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
    let since = |count: usize, begun: Instant| count as f64 / begun.elapsed().as_secs_f64();
    Rates { whole: since(answered, start), steady: since(answered - lead, begun.unwrap()) }
}

/// Measures until the steady rate is within a share of what it should be. Of so many requests, what is expected and what the
/// pacer grants at once, 10 ms of it or one request, is never exceeded.
fn assert_rate(expected: f64, within: f64, count: usize, mut measure: impl FnMut() -> Rates) {
    let count = count as f64;
    let most = count / ((count - (0.01 * expected).max(1.0)) / expected);
    let mut found = Vec::new();
    for _ in 0..ATTEMPTS {
        let rates = measure();
        assert!(rates.whole <= most * 1.002, "{} a second, and {most} is the most", rates.whole);
        if (rates.steady / expected - 1.0).abs() <= within {
            return;
        }
        found.push(rates.steady);
    }
    panic!("{found:?} instead of {expected}");
}

#[test]
fn bytes_a_second_are_capped_for_reads_and_writes_together() {
    let mut model = volume(64 * MIB);
    model.throughput = Some(ByteRate(40_000_000));
    let served = Served::new(&[model], None);
    let mut client = served.client(0);
    let length = 256 << 10;
    let commands = [Command::Read, Command::Write];
    let requests: Vec<_> = (0..120)
        .map(|number| (commands[number % 2], (number as u64 * u64::from(length)) % (32 * MIB), length))
        .collect();
    let expected = 40e6 / f64::from(length);
    assert_rate(expected, 0.03, requests.len(), || rate(&mut client, 16, 24, &requests));
}

#[test]
fn ios_a_second_are_capped_whether_or_not_there_are_data() {
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
    let reads: Vec<_> = scattered(1600, 4096, 64 * MIB).map(|offset| (Command::Read, offset, 4096)).collect();
    assert!(reads.iter().filter(|read| read.1 >= 32 * MIB).count() > 750);
    assert_rate(2000.0, 0.03, reads.len(), || rate(&mut client, 16, 200, &reads));
}

#[test]
fn a_link_caps_all_volumes_together_and_leaves_one_to_its_own_cap() {
    let mut model = volume(64 * MIB);
    model.throughput = Some(ByteRate(40_000_000));
    let served = Served::new(&[model.clone(), model], Some(ByteRate(62_500_000)));
    let length = 128 << 10;
    let requests: Vec<_> =
        (0..150).map(|number| (Command::Read, number * u64::from(length) % (64 * MIB), length)).collect();
    let alone = 40e6 / f64::from(length);
    assert_rate(alone, 0.03, requests.len(), || rate(&mut served.client(0), 16, 30, &requests));
    let both = 62.5e6 / f64::from(length);
    assert_rate(both, 0.04, 2 * requests.len(), || {
        let start = Instant::now();
        let rates: Vec<Rates> = std::thread::scope(|scope| {
            let threads = [0, 1].map(|number| {
                let (served, requests) = (&served, &requests);
                scope.spawn(move || rate(&mut served.client(number), 16, 30, requests))
            });
            threads.map(|thread| thread.join().unwrap()).to_vec()
        });
        let whole = (2 * requests.len()) as f64 / start.elapsed().as_secs_f64();
        Rates { whole, steady: rates.iter().map(|one| one.steady).sum() }
    });
}

#[test]
fn a_thousand_ios_a_second_hold_at_any_depth() {
    let mut model = volume(64 * MIB);
    model.iops = Some(1000);
    let served = Served::new(&[model], None);
    let requests: Vec<_> =
        scattered(800, 4096, 64 * MIB).map(|offset| (Command::Write, offset, 4096)).collect();
    for depth in [1, 32] {
        assert_rate(1000.0, 0.03, requests.len(), || rate(&mut served.client(0), depth, 100, &requests));
    }
}

#[test]
fn latency_is_a_floor_and_the_mean_is_near_it() {
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
