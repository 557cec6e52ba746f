//! Direct requests from a few threads for a while, counted: enough to fill any limit that a test sets.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "this is test code; within the crate's own tests it is allowed anyway"
)]

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// `O_DIRECT` wants buffers aligned to the sector; a page is enough everywhere.
const ALIGNMENT: usize = 4096;

/// What to send to a device.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    pub(crate) path: PathBuf,
    pub(crate) writes: bool,
    pub(crate) block_bytes: usize,
    pub(crate) threads: u64,
    /// The part of the device that is used, from its start.
    pub(crate) span_bytes: u64,
}

/// What a load came to, a second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rates {
    pub(crate) bytes: f64,
    pub(crate) requests: f64,
}

/// A limit that holds is reached in one of so many attempts, if the machine lets it.
const ATTEMPTS: usize = 5;
/// A sleep that ends later than this had to wait for a processor.
const LATE: Duration = Duration::from_millis(5);
/// Of an attempt's time so much late is too much for what it came to to say anything.
const LATE_SHARE_MAX: f64 = 0.01;
/// Without the limit a device has to be so many times as fast, or the limit is not what holds the load.
const UNLIMITED_LEAST: f64 = 1.5;

/// Holds loads against their limits. `attempt` gives what each came to as a share of its limit, and `unlimited` the same
/// without the limit. No attempt may be above by more than the tolerance; one of a few has to be as near from below, unless
/// the machine itself was too slow: that is said by the test's name.
pub(crate) fn hold(
    test: &str,
    tolerance: f64,
    mut attempt: impl FnMut() -> Vec<f64>,
    unlimited: impl FnOnce() -> Vec<f64>,
) {
    let mut short = Vec::new();
    let mut is_starved = true;
    for _ in 0..ATTEMPTS {
        let (shares, late) = beside_a_sleeper(&mut attempt);
        assert!(shares.iter().all(|share| *share <= 1.0 + tolerance), "faster than its limit: {shares:?}");
        if shares.iter().all(|share| *share >= 1.0 - tolerance) {
            return;
        }
        is_starved &= late > LATE_SHARE_MAX;
        short.push(shares);
    }
    if is_starved {
        eprintln!("{test} skipped from here: processes wait for a processor: {short:?}");
        return;
    }
    let raw = unlimited();
    if raw.iter().any(|share| *share < UNLIMITED_LEAST) {
        eprintln!("{test} skipped from here: without the limit it is {raw:?}, under it {short:?}");
        return;
    }
    panic!("{test}: below its limit in every attempt: {short:?}, without it {raw:?}");
}

/// What an attempt gives, and the share of its time by which a thread that just sleeps beside it was late.
fn beside_a_sleeper(attempt: &mut impl FnMut() -> Vec<f64>) -> (Vec<f64>, f64) {
    let (at_work, ended) = mpsc::channel::<()>();
    let begun = Instant::now();
    thread::scope(|scope| {
        let sleeper = scope.spawn(move || {
            let (sleep, mut late) = (Duration::from_millis(2), Duration::ZERO);
            loop {
                let begun = Instant::now();
                if ended.recv_timeout(sleep) != Err(RecvTimeoutError::Timeout) {
                    return late;
                }
                late += Some(begun.elapsed().saturating_sub(sleep))
                    .filter(|over| *over > LATE)
                    .unwrap_or_default();
            }
        });
        let shares = attempt();
        let took = begun.elapsed();
        // Hung up, also where the attempt panics, so that the sleeper ends.
        drop(at_work);
        (shares, sleeper.join().unwrap().as_secs_f64() / took.as_secs_f64())
    })
}

/// Runs all loads at once: for `ramp` without counting, then for `counted`.
pub(crate) fn run(loads: &[Load], ramp: Duration, counted: Duration) -> Vec<Rates> {
    let counts: Vec<AtomicU64> = loads.iter().map(|_| AtomicU64::new(0)).collect();
    let start = Instant::now() + ramp;
    let end = start + counted;
    thread::scope(|scope| {
        for (load, count) in loads.iter().zip(&counts) {
            for thread in 0..load.threads {
                scope.spawn(move || send(load, thread, start, end, count));
            }
        }
    });
    loads
        .iter()
        .zip(&counts)
        .map(|(load, count)| {
            let requests = count.load(Ordering::Relaxed) as f64 / counted.as_secs_f64();
            Rates { bytes: requests * load.block_bytes as f64, requests }
        })
        .collect()
}

/// Each thread takes every so-manieth block, so that no two requests are the same or adjacent at once.
fn send(load: &Load, thread: u64, start: Instant, end: Instant, count: &AtomicU64) {
    let file = open(&load.path, load.writes);
    let mut storage = vec![0x5a_u8; load.block_bytes + ALIGNMENT];
    let skip = storage.as_ptr().align_offset(ALIGNMENT);
    let buffer = &mut storage[skip..skip + load.block_bytes];
    let blocks = load.span_bytes / load.block_bytes as u64;
    let mut block = thread;
    while Instant::now() < end {
        let offset = block % blocks * load.block_bytes as u64;
        if load.writes {
            file.write_all_at(buffer, offset).unwrap();
        } else {
            file.read_exact_at(buffer, offset).unwrap();
        }
        // Counted when it ends, as the limits see it.
        let now = Instant::now();
        if now >= start && now < end {
            count.fetch_add(1, Ordering::Relaxed);
        }
        block += load.threads * 7 + 1;
    }
}

fn open(path: &Path, writes: bool) -> File {
    OpenOptions::new().read(true).write(writes).custom_flags(libc::O_DIRECT).open(path).unwrap()
}
