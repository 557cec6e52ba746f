//! Direct requests from a few threads for a while, counted: enough to fill any limit that a test sets.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(
    clippy::unwrap_used,
    reason = "this is test code; within the crate's own tests it is allowed anyway"
)]

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
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
