//! Compares the engines on a cached file, where their own cost shows.
//!
//! `cargo bench -p iostone-engine` prints medians of interleaved rounds.
#![expect(clippy::print_stdout, reason = "a benchmark's output is for its reader")]

use std::error::Error;
use std::sync::atomic::AtomicBool;

use iostone_engine::{Job, Stamp, run};
use iostone_model::load::{IoEngine, Rw};
use iostone_model::units::Bytes;

/// Enough for a median; each round runs every case once.
const ROUNDS: usize = 7;

struct Case {
    name: &'static str,
    engine: IoEngine,
    iodepth: u32,
    stamp: Stamp,
}

const CASES: [Case; 6] = [
    Case { name: "sync, depth 1", engine: IoEngine::Sync, iodepth: 1, stamp: Stamp::PerBatch },
    Case { name: "sync, depth 1, stamp per I/O", engine: IoEngine::Sync, iodepth: 1, stamp: Stamp::PerIo },
    Case { name: "io_uring, depth 1", engine: IoEngine::IoUring, iodepth: 1, stamp: Stamp::PerBatch },
    Case { name: "io_uring, depth 32", engine: IoEngine::IoUring, iodepth: 32, stamp: Stamp::PerBatch },
    Case { name: "io_uring, depth 128", engine: IoEngine::IoUring, iodepth: 128, stamp: Stamp::PerBatch },
    Case {
        name: "io_uring, 128, stamp per I/O",
        engine: IoEngine::IoUring,
        iodepth: 128,
        stamp: Stamp::PerIo,
    },
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let mut rates = vec![Vec::new(); CASES.len()];
    for round in 0..=ROUNDS {
        for (case, rates) in CASES.iter().zip(&mut rates) {
            let mut job = Job::new(folder.path().join("cached"), Rw::RandRead);
            job.size = Some(Bytes(8 << 20));
            job.runtime = Some("500ms".parse()?);
            job.engine = case.engine;
            job.iodepth = case.iodepth;
            job.stamp = case.stamp;
            job.invalidate = false;
            let rate = run(&job, &AtomicBool::new(false), &mut |_| ())?.iops();
            // The first round only warms the cache.
            if round > 0 {
                rates.push(rate);
            }
        }
    }
    let mut medians = rates.into_iter().map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        rates[ROUNDS / 2]
    });
    let baseline = medians.next().unwrap_or(f64::NAN);
    println!("{:<30} {:>8.0} I/Os per millisecond", CASES[0].name, baseline / 1e3);
    for (case, median) in CASES.iter().skip(1).zip(medians) {
        println!(
            "{:<30} {:>8.0} I/Os per millisecond, ratio {:.2}",
            case.name,
            median / 1e3,
            median / baseline
        );
    }
    Ok(())
}
