//! What the engine's own parts cost: recording latencies, and the ring without any I/O behind it.

use std::process::Command;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use iostone_engine::{Job, Outcome, Stamp, run};
use iostone_model::load::{IoEngine, Rw};
use iostone_model::units::Bytes;

use crate::arguments::Arguments;
use crate::child::Child;
use crate::figures::Spread;
use crate::grounds::{CACHED_BYTES, Ground, Grounds};
use crate::interrupt;
use crate::parse;
use crate::tools::Found;

const DEPTH: u32 = 128;
const RUNTIME: &str = "700ms";
/// Whole seconds; `t/io_uring` can do no less.
const T_SECONDS: &str = "2";
/// How much of the rate recording may cost, in parts of one.
const MOST_PER_BATCH: f64 = 0.05;
const MOST_PER_IO: f64 = 0.12;

/// What recording costs: the share of the I/Os per second of processor time that is lost by it.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) name: &'static str,
    pub(crate) cost: Spread,
    pub(crate) most: f64,
}

/// Requests that do nothing.
#[derive(Debug)]
pub(crate) struct Nop {
    /// Per second.
    pub(crate) rate: Spread,
    /// Ratios to `t/io_uring -N1 -t1`, where that is here.
    pub(crate) ratio: Option<Spread>,
}

/// All of it.
#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) recordings: Vec<Recording>,
    pub(crate) nop: Nop,
}

/// Measures in rounds, each in an order of its own.
///
/// # Errors
/// When the engine or `t/io_uring` fails, or Ctrl-C arrives.
pub(crate) fn measure(grounds: &Grounds, found: &Found, arguments: &Arguments) -> Result<Own> {
    let (mut per_batch, mut per_io) = (Vec::new(), Vec::new());
    let (mut rates, mut ratios) = (Vec::new(), Vec::new());
    for round in 0..arguments.rounds() {
        // By processor time, which work of others blurs less than a rate: the differences are small.
        let mut per_cpu_second = [0.0; 3];
        for number in iostone_stats::schedule::block_order(round, round, per_cpu_second.len()) {
            let stamp = [Stamp::None, Stamp::PerBatch, Stamp::PerIo][number];
            let outcome = run_engine(grounds, IoEngine::IoUring, stamp)?;
            per_cpu_second[number] = outcome.ios() as f64 / outcome.cpu.process.total_seconds();
        }
        let [none, batch, each] = per_cpu_second;
        per_batch.push(1.0 - batch / none);
        per_io.push(1.0 - each / none);
        let nop = run_engine(grounds, IoEngine::IoUringNop, Stamp::PerBatch)?.iops();
        rates.push(nop);
        if let Some(peer) = peer_nop(grounds, found)? {
            ratios.push(nop / peer);
        }
    }
    let spread = |figures: &[f64]| Spread::of(figures).context("no rounds");
    Ok(Own {
        recordings: vec![
            Recording {
                name: "every latency, one stamp per batch",
                cost: spread(&per_batch)?,
                most: MOST_PER_BATCH,
            },
            Recording { name: "every latency, a stamp per I/O", cost: spread(&per_io)?, most: MOST_PER_IO },
        ],
        nop: Nop { rate: spread(&rates)?, ratio: Spread::of(&ratios) },
    })
}

fn run_engine(grounds: &Grounds, engine: IoEngine, stamp: Stamp) -> Result<Outcome> {
    let mut job = Job::new(grounds.path(Ground::Cached), Rw::RandRead);
    job.size = Some(Bytes(CACHED_BYTES));
    job.runtime = Some(RUNTIME.parse()?);
    job.engine = engine;
    job.iodepth = DEPTH;
    job.stamp = stamp;
    job.invalidate = false;
    let outcome = run(&job, &AtomicBool::new(false), &mut |_| ())?;
    if interrupt::is_raised() {
        bail!("stopped while measuring the engine's own cost");
    }
    Ok(outcome)
}

fn peer_nop(grounds: &Grounds, found: &Found) -> Result<Option<f64>> {
    let Some(program) = &found.t_io_uring else { return Ok(None) };
    let mut command = Command::new(program);
    command.args(["-d128", "-s32", "-c32", "-p0", "-O0", "-t1", "-N1", "-r", T_SECONDS]);
    command.arg(grounds.path(Ground::Cached)).current_dir("/");
    Ok(Some(parse::of_t_io_uring(&Child::run(&mut command)?.output)?))
}
