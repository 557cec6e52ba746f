//! What the load engine is asked to do, for people.

use super::super::parts;
use crate::experiment::{IoEngine, IoWorkload, RateProcess, SyncMode, Timing};
use crate::units::Span;

pub(super) fn summary(io: &IoWorkload) -> Vec<String> {
    let sync = match io.sync {
        SyncMode::None => None,
        SyncMode::Dsync => Some("O_DSYNC".to_owned()),
        SyncMode::Sync => Some("O_SYNC".to_owned()),
    };
    let flags: Vec<String> =
        io.flags.iter().map(|flag| format!("RWF_{}", flag.word().to_uppercase())).collect();
    parts([
        Some(format!("{} {}", io.rw.word(), io.block_sizes())),
        mix(io),
        io.skew().map(|distribution| format!("spread {distribution}")),
        io.norandommap.then(|| "blocks drawn anew each time".to_owned()),
        open_loop(io),
        Some(format!("depth {}", io.iodepth)),
        (io.numjobs > 1).then(|| format!("{} threads", io.numjobs)),
        io.thinktime.filter(|time| !time.0.is_zero()).map(|time| pauses(time, io.thinktime_blocks)),
        io.runtime.map(|time| match time {
            Timing::Fixed(span) => span.to_string(),
            Timing::Auto => "runtime chosen from the pilots".to_owned(),
        }),
        io.io_size.map(|size| format!("{size} in all")),
        io.size.map(|size| format!("file of {size}")),
        (io.offset.0 > 0).then(|| format!("from {} on", io.offset)),
        Some(if io.direct { "O_DIRECT".to_owned() } else { "through the page cache".to_owned() }),
        (io.engine == IoEngine::Mmap).then(|| "by a mapping".to_owned()),
        (io.fsync > 0).then(|| after_writes("fsync", io.fsync)),
        (io.fdatasync > 0).then(|| after_writes("fdatasync", io.fdatasync)),
        io.sync_file_range.map(|sync| after_writes("sync_file_range", sync.every)),
        sync,
        (!flags.is_empty()).then(|| flags.join(" ")),
        io.buffer_compress_percentage
            .filter(|percent| *percent > 0)
            .map(|percent| format!("{percent} % compressible")),
        (io.dedupe_percentage > 0).then(|| format!("{} % duplicates", io.dedupe_percentage)),
        io.max_latency.map(|limit| format!("fails above {limit}")),
        io.verifies().then(|| format!("verified with {}", io.verify.word())),
    ])
}

/// The share of reads in a mix; at a rate of each, the rates say it.
fn mix(io: &IoWorkload) -> Option<String> {
    (io.rw.is_mixed() && !io.is_open_loop()).then(|| format!("{} % reads", io.rwmixread.unwrap_or(50)))
}

fn open_loop(io: &IoWorkload) -> Option<String> {
    let rates = match (io.rate_iops, io.rate) {
        (Some(rates), _) if io.rw.is_mixed() => {
            format!("{} reads/s and {} writes/s", rates.reads(), rates.writes())
        }
        (Some(rates), _) => format!("{}/s", rates.reads()),
        (None, Some(rates)) if io.rw.is_mixed() => {
            format!("{} of reads and {} of writes", rates.reads(), rates.writes())
        }
        (None, Some(rates)) => rates.reads().to_string(),
        (None, None) => return None,
    };
    let thread = if io.numjobs > 1 { " a thread" } else { "" };
    let poisson = if io.rate_process == Some(RateProcess::Poisson) { " at random" } else { "" };
    Some(format!("open loop of {rates}{thread}{poisson}"))
}

fn pauses(time: Span, blocks: Option<u32>) -> String {
    match blocks.unwrap_or(1) {
        1 => format!("a pause of {time} after every request"),
        blocks => format!("a pause of {time} after every {blocks} requests"),
    }
}

/// "fdatasync after every write", "fsync after every 8 writes".
fn after_writes(call: &str, every: u32) -> String {
    if every == 1 {
        format!("{call} after every write")
    } else {
        format!("{call} after every {every} writes")
    }
}
