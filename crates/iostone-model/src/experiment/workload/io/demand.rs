//! What the load engine asks of its volume.

use super::super::profile::Demand;
use crate::experiment::{BlockSizes, IoEngine, IoWorkload, Rates, SyncMode};
use crate::units::{ByteRate, Bytes, Fraction};

/// What a load asks of its volume, or why that cannot be told.
pub(super) fn demand(io: &IoWorkload) -> Result<Demand, &'static str> {
    if let Some(reason) = unknown(io) {
        return Err(reason);
    }
    let jobs = u64::from(io.numjobs.max(1));
    let amount = |each: Bytes| {
        let all = each.0.saturating_mul(jobs) as f64;
        let write = whole(all * written(io));
        [Bytes(whole(all).saturating_sub(write)), Bytes(write)]
    };
    let time = io.asked_runtime();
    let size = mean_size(io);
    // Several jobs, each in sequence, are no sequence to the volume unless each job's I/Os are large.
    let depth = if io.engine == IoEngine::Sync { 1 } else { io.iodepth.max(1) };
    Ok(Demand {
        amount: io.io_size.or(io.size.filter(|_| time.is_none())).map(amount),
        time,
        written: Fraction(written(io)),
        io_size: io.direct.then_some(size),
        depth: io.direct.then_some(depth.saturating_mul(io.numjobs.max(1))),
        random: io.rw.is_random(),
        rate: pace(io, size),
        leaves_dirty: io.rw.writes() && !io.direct,
        goes_around: true,
    })
}

/// Why the demand of a load cannot be told, where it cannot.
fn unknown(io: &IoWorkload) -> Option<&'static str> {
    let flushes = io.fsync > 0 || io.fdatasync > 0 || io.sync != SyncMode::None;
    if io.rw.trims() {
        Some("discards have no known ceiling")
    } else if io.rw.writes() && flushes {
        Some("it flushes again and again, and what a flush takes is not known")
    } else if io.thinktime.is_some() {
        Some("it pauses between requests")
    } else if !io.direct && io.rw.is_random() {
        Some("what the page cache makes of random I/O depends on what is in it; `direct = true` goes past it")
    } else if io.runtime.is_none() && io.size.is_none() && io.io_size.is_none() {
        Some("neither an amount nor a time is given")
    } else if io.skew().is_some() && !io.direct {
        Some("some places are hit again and again, and memory answers for them")
    } else {
        None
    }
}

/// The share of bytes that is written.
fn written(io: &IoWorkload) -> f64 {
    if io.rw.is_mixed() {
        1.0 - f64::from(io.rwmixread.unwrap_or(50).min(100)) / 100.0
    } else if io.rw.writes() {
        1.0
    } else {
        0.0
    }
}

/// Bytes of an I/O on average.
fn mean_size(io: &IoWorkload) -> Bytes {
    match io.block_sizes() {
        BlockSizes::Fixed(bytes) => bytes,
        BlockSizes::Range(range) => Bytes(u64::midpoint(range.min.0, range.max.0)),
        BlockSizes::Split(split) => {
            let sum: u64 = split.shares().iter().map(|(bytes, percent)| bytes.0 * u64::from(*percent)).sum();
            Bytes(sum / 100)
        }
    }
}

/// Bytes a second that an open loop asks for.
fn pace(io: &IoWorkload, size: Bytes) -> Option<ByteRate> {
    let jobs = u64::from(io.numjobs.max(1));
    let (reads, writes) = (io.rw.reads(), io.rw.writes());
    let sum = |of_reads: u64, of_writes: u64| {
        (if reads { of_reads } else { 0 }).saturating_add(if writes { of_writes } else { 0 })
    };
    let bytes = io.rate.map(|rate: Rates<ByteRate>| sum(rate.reads().0, rate.writes().0));
    let ios = io
        .rate_iops
        .map(|rate| sum(u64::from(rate.reads()), u64::from(rate.writes())).saturating_mul(size.0));
    bytes.into_iter().chain(ios).min().map(|rate| ByteRate(rate.saturating_mul(jobs)))
}

fn whole(bytes: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casting saturates")]
    let whole = bytes.round() as u64;
    whole
}
