//! Every ceiling of a route in what it lets through, each way apart: what a measurement is held against.

use iostone_model::cloud::CeilingKind;
use iostone_model::experiment::Basis;

use super::{Route, Work};
use crate::ceiling::{Counted, Lane};

/// A ceiling, in what it lets I/Os of some size move.
#[derive(Debug, Clone, PartialEq)]
pub struct Ceiling {
    /// What it is one of.
    pub kind: CeilingKind,
    /// What it counts by itself.
    pub counted: Counted,
    /// Its name with its own figure: "the link of 62.5MB/s".
    pub name: String,
    /// What it lets reads move; none where they are no concern of it.
    pub reads: Option<CeilingRate>,
    /// What it lets writes move.
    pub writes: Option<CeilingRate>,
    /// What it lets reads and writes move together, in the mixture of the work.
    pub mixed: Option<CeilingRate>,
    /// What the figure rests on.
    pub basis: Basis,
    /// Who says so, and as of when.
    pub source: String,
}

/// A rate, in the workload's own bytes and I/Os.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CeilingRate {
    /// Bytes a second in the long run.
    pub bytes_per_second: f64,
    /// Bytes a second while its bucket lasts.
    pub burst_bytes_per_second: Option<f64>,
    /// I/Os a second in the long run, where their size is known.
    pub ios_per_second: Option<f64>,
    /// I/Os a second while its bucket lasts.
    pub burst_ios_per_second: Option<f64>,
    /// Bytes that it lets through from a full bucket until that is empty, beside what it lets through in the long run.
    pub burst_bytes: Option<f64>,
}

impl Route {
    /// Every ceiling of work like this, in the order of the path; how much of it there is does not matter.
    pub fn ceilings(&self, work: &Work) -> Vec<Ceiling> {
        let written = crate::ceiling::Load::of(work).written();
        let path = self.path(work);
        let all = path.iter().map(|lane| {
            let (basis, source) = self.source(lane, work);
            Ceiling {
                kind: lane.kind,
                counted: lane.counted,
                name: self.name(lane, work),
                reads: rate(lane, 0.0, work),
                writes: rate(lane, 1.0, work),
                mixed: rate(lane, written, work),
                basis,
                source,
            }
        });
        all.collect()
    }
}

/// What a ceiling lets a mixture move; none where it costs nothing there.
fn rate(lane: &Lane, written: f64, work: &Work) -> Option<CeilingRate> {
    let cost = lane.cost(written);
    if cost <= 0.0 {
        return None;
    }
    let size = work.io_size.map(|size| size.0.max(1) as f64);
    let ios = |bytes: f64| size.map(|size| bytes / size);
    let sustained = lane.sustained(written);
    let burst = lane.burst(written).filter(|burst| *burst > sustained);
    Some(CeilingRate {
        bytes_per_second: sustained,
        burst_bytes_per_second: burst,
        ios_per_second: ios(sustained),
        burst_ios_per_second: burst.and_then(ios),
        burst_bytes: burst.and(lane.burst).map(|bucket| bucket.capacity / cost),
    })
}
