//! Caps, latencies and bursts of the served volume as a load on ext4 measures them, and counts that agree everywhere.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use iostone_disk::Counters;
use serde_json::Value;

use super::rig::{Aligned, BLOCK, Rig, open_direct, read_block};
use crate::lab::{needs_root, needs_tool};

/// What this machine cannot keep up with for a moment it does at another.
const ATTEMPTS: usize = 12;
const SYNCS: u64 = 50;

/// A load past the page cache on a file of ext4, which is there afterwards.
fn load(rig: &Rig, options: &[&str]) -> Value {
    let file = rig.path().join("load");
    let always = ["--filename", file.to_str().unwrap(), "--size=32MiB", "--direct", "--time_based"];
    rig.io(&[&always, options].concat())
}

/// Asserts that a figure comes out within 3 % of what it should be once, and never above the most it may be.
#[expect(clippy::print_stderr, reason = "what was measured is worth knowing")]
fn assert_near(what: &str, expected: f64, most: f64, mut measure: impl FnMut() -> f64) {
    let mut measured = Vec::new();
    for _ in 0..ATTEMPTS {
        let figure = measure();
        measured.push(figure);
        assert!(figure <= most, "{what}: {figure}, not {expected}, and {most} is the most");
        if (figure / expected - 1.0).abs() <= 0.03 {
            eprintln!("{what}: {measured:.3?} of {expected}");
            return;
        }
    }
    panic!("{what}: {measured:?}, not {expected}");
}

#[test]
fn a_filesystem_gets_the_bytes_and_the_iops_of_the_volume() {
    needs_root!();
    needs_tool!("nbdfuse");
    let rig = Rig::with_ext4(&["--throughput", "40MB/s", "--iops", "1000"]);
    // What completes in a window was granted in it, or in flight at its beginning; a pacer grants 10 ms of its rate at once.
    let most = |rate: f64, in_flight: f64| rate + (0.01 * rate + in_flight) / 0.5;
    let window = ["--ramp_time=200ms", "--runtime=500ms"];
    for (direction, kind) in [("write", "writes"), ("read", "reads")] {
        assert_near(&format!("bytes a second, {kind}"), 40e6, most(40e6, 4.0 * 262_144.0), || {
            let rw = format!("--rw={direction}");
            let job = load(&rig, &[&[&*rw, "--bs=256KiB", "--iodepth=4"], &window[..]].concat());
            assert!(job[kind]["ios"].as_u64().unwrap() > 0);
            job["throughput_bytes_per_second"].as_f64().unwrap()
        });
        assert_near(&format!("I/Os a second, {kind}"), 1000.0, most(1000.0, 8.0), || {
            let rw = format!("--rw=rand{direction}");
            let job = load(&rig, &[&[&*rw, "--bs=4KiB", "--iodepth=8"], &window[..]].concat());
            job["iops"].as_f64().unwrap()
        });
    }
    rig.end();
}

#[test]
fn a_filesystem_is_never_answered_before_the_latency_is_over_and_the_server_keeps_to_it() {
    needs_root!();
    needs_tool!("nbdfuse");
    let rig = Rig::with_ext4(&["--latency", "2ms"]);
    for (direction, kind) in [("write", "writes"), ("read", "reads")] {
        for depth in ["--iodepth=1", "--iodepth=4"] {
            assert_near(&format!("a sleep over the server's median, {kind}, {depth}"), 1.0, 1.0, || {
                rig.control(&["reset"]);
                let rw = format!("--rw=rand{direction}");
                // A machine that is late to wake anybody is late to wake the server.
                let sleeper = std::thread::spawn(|| median_sleep_ns(Duration::from_millis(2), 200));
                let job = load(&rig, &[&rw, "--bs=4KiB", depth, "--runtime=500ms"]);
                let possible_ns = sleeper.join().unwrap();
                let fastest_ns = job[kind]["latency"]["min_ns"].as_u64().unwrap();
                assert!(fastest_ns >= 2_000_000, "{kind}: {fastest_ns} ns through the filesystem");
                let counters = rig.counters();
                let service = if kind == "reads" { &counters.reads } else { &counters.writes };
                let service = &service.service;
                assert!(service.min_ns().unwrap() >= 2_000_000, "{service:?}");
                eprintln!("{kind}, {depth}: {:?} ns in the mean, sleeps {possible_ns} ns", service.mean_ns());
                // The median, as whatever else runs here lengthens a mean; at most 2 %, as 1 / 1.02 is 0.98.
                (possible_ns / service.percentile_ns(0.5).unwrap() as f64).min(1.0) - 0.01
            });
        }
    }
    rig.end();
}

/// How long a sleep takes on this machine, in the middle of so many.
fn median_sleep_ns(asked: Duration, count: usize) -> f64 {
    let mut slept: Vec<u128> = (0..count)
        .map(|_| {
            let begun = Instant::now();
            std::thread::sleep(asked);
            begun.elapsed().as_nanos()
        })
        .collect();
    slept.sort_unstable();
    slept[count / 2] as f64
}

#[test]
fn a_burst_lasts_as_long_as_its_credits() {
    needs_root!();
    needs_tool!("nbdfuse");
    let bursting = ["--iops", "300", "--burst-iops", "1500", "--burst-credits", "1800"];
    let rig = Rig::with_ext4(&bursting);
    load(&rig, &["--rw=randread", "--bs=4KiB", "--runtime=100ms"]);
    // 1,800 credits at 1,200 a second more than flow in: 1.5 s of 1,500 I/Os, then 300 a second.
    let expected = 1500.0 * 1.5 + 300.0 * 1.5;
    assert_near("I/Os in three seconds of a burst", expected, expected * 1.03, || {
        rig.control(&["fill", "--credits", "1800"]);
        let job = load(&rig, &["--rw=randread", "--bs=4KiB", "--iodepth=8", "--runtime=3s"]);
        let tenths = job["per_100ms"]["all"]["ios"].as_array().unwrap();
        let tenths: Vec<f64> = tenths.iter().map(|ios| ios.as_f64().unwrap()).collect();
        let (first, third): (f64, f64) = (tenths[..10].iter().sum(), tenths[20..30].iter().sum());
        eprintln!("{first} in the first second, {third} in the third");
        // Whoever cannot keep up with the burst has credits left when it should be over.
        let is_in_shape = (first / 1500.0 - 1.0).abs() < 0.03 && (third / 300.0 - 1.0).abs() < 0.03;
        if is_in_shape { tenths[..30].iter().sum() } else { 0.0 }
    });
    rig.end();
}

/// Requests as the block device counted them: reads, sectors read, writes, sectors written, flushes
/// (`Documentation/block/stat.rst`).
fn statistics(rig: &Rig) -> [u64; 5] {
    let path = format!("/sys/block/{}/stat", rig.device().trim_start_matches("/dev/"));
    let text = std::fs::read_to_string(path).unwrap();
    let all: Vec<u64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    [all[0], all[2], all[4], all[6], all[15]]
}

/// Has a filesystem read and write 500 blocks each; what the server counted, and what the block device did.
fn count(rig: &Rig, file: &File) -> (Counters, [u64; 5]) {
    let mut buffer = Aligned::new();
    rig.control(&["reset"]);
    let before = statistics(rig);
    for number in 0..500 {
        read_block(file, number * 7919 % 1024, &mut buffer).unwrap();
        file.write_all_at(buffer.bytes(), number * 104_729 % 1024 * BLOCK as u64).unwrap();
        if number % (500 / SYNCS) == 0 {
            file.sync_data().unwrap();
        }
    }
    file.sync_all().unwrap();
    let after = statistics(rig);
    let counters = rig.counters();
    (counters, std::array::from_fn(|place| after[place] - before[place]))
}

#[test]
fn the_server_counts_what_the_filesystem_asked_of_its_device() {
    needs_root!();
    needs_tool!("nbdfuse");
    let rig = Rig::with_ext4(&[]);
    let file = open_direct(&rig.write_file(4 << 20));
    // Whoever looks for filesystems reads every device there is, also between two of our counts.
    let mut counted = (0..ATTEMPTS).map(|_| count(&rig, &file));
    let (counters, asked) = counted.find(|(_, asked)| asked[0] == 500).unwrap();
    let [reads, read_sectors, writes, written_sectors, flushes] = asked;
    assert_eq!((counters.reads.requests, counters.reads.bytes / 512), (reads, read_sectors), "reads");
    assert_eq!(counters.flushes.requests, flushes, "flushes");
    assert_eq!(counters.writes.bytes / 512, written_sectors, "sectors written");
    // A flush that comes without data is a write of no sectors to the kernel, and no write to anybody else.
    let without_data = writes - counters.writes.requests;
    assert!(without_data <= flushes, "{asked:?}, {counters:?}");
    assert!(written_sectors >= 500 * 8 && flushes >= SYNCS, "{asked:?}");
    assert_eq!(counters.errors(), 0);
    drop(file);
    rig.end();
}
