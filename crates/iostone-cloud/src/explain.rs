//! A measured rate held against every ceiling that is known: which one binds, how far it is to the next, and what explains
//! a figure above them.

mod bounds;
mod excess;
mod known;
mod predicted;
mod words;

use iostone_model::cloud::CeilingKind;
use iostone_model::experiment::Basis;
use iostone_model::explanation::{ExcessCause, ExplainedFigure, Headroom, HeldCeiling, HeldState};
use iostone_model::metric::Unit;

pub use bounds::{IoShape, bounds_of, undoubted};
pub use iostone_model::explanation::Flow;
pub use known::{Known, Overrides, known_of, latest};
pub use predicted::{beside, dirty_share};

/// A ceiling of which this share is used binds.
pub const BINDS: f64 = 0.95;

/// `vm.dirty_ratio` as the kernel sets it: the share of available memory that may be dirty before writers are made to write
/// back (Documentation/admin-guide/sysctl/vm.rst).
pub const USUAL_DIRTY_SHARE: f64 = 0.2;

/// A ceiling in what it lets a figure be.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// What it is one of, where that is known.
    pub kind: Option<CeilingKind>,
    /// Its name: "the link of c4.large".
    pub name: String,
    /// What it lets through in the long run, in the figure's unit.
    pub sustained: f64,
    /// More for a while.
    pub burst: Option<BoundBurst>,
    /// What it rests on.
    pub basis: Basis,
    /// Who says so.
    pub source: String,
}

/// A bucket, in what it lets a figure be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundBurst {
    /// What it lets through while it lasts, in the figure's unit.
    pub rate: f64,
    /// What it holds, in the figure's unit times seconds; none where that is not known.
    pub capacity: Option<f64>,
}

impl Bound {
    /// The most that it lets through on average over a time, out of a full bucket; while its bucket lasts where the time or
    /// the capacity is not known.
    pub fn at_best(&self, seconds: Option<f64>) -> f64 {
        let Some(burst) = self.burst else { return self.sustained };
        match (burst.capacity, seconds.filter(|seconds| *seconds > 0.0)) {
            (Some(capacity), Some(seconds)) => {
                burst.rate.min(self.sustained + capacity / seconds).max(self.sustained)
            }
            _ => burst.rate.max(self.sustained),
        }
    }
}

/// A rate as it was measured, with what is known of how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The metric, or [`iostone_model::explanation::SERVED`].
    pub figure: String,
    /// Its unit.
    pub unit: Unit,
    /// The figure, the median where there are several.
    pub value: f64,
    /// Seconds that it covers.
    pub seconds: Option<f64>,
    /// Which way its bytes moved; none where nothing tells.
    pub flow: Option<Flow>,
    /// Whether all of it passed the devices while it was measured; none where nothing tells.
    pub reached_device: Option<bool>,
    /// Memory of the machine, in bytes.
    pub memory_bytes: Option<f64>,
    /// Bytes of memory that may be dirty, in words and as a number; the kernel's usual share of the memory where left out.
    pub dirty_limit: Option<(f64, String)>,
    /// Bytes worked on.
    pub working_set_bytes: Option<f64>,
    /// More than these cannot have been worked on, where no more is known: the volume's, or those that the workload says it moved.
    pub at_most_bytes: Option<f64>,
    /// Bytes that the workload says it moved, and bytes that the devices served of them.
    pub claimed_and_served_bytes: Option<(f64, f64)>,
    /// What stands below the device that the workload's bytes passed, where memory may stand between; none where nothing does.
    pub below: Option<Below>,
    /// From which share of a ceiling on it is exceeded: published figures are round, and the kernel grants in slices.
    pub tolerance: f64,
}

/// What lies below a device that is itself a file: the page cache, and the device that holds the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Below {
    /// The device that the workload's bytes passed, by its kernel's name: "loop2".
    pub device: String,
    /// Bytes that it moved.
    pub moved: f64,
    /// The devices that hold its file, and the bytes that they moved; none where none was watched.
    pub holders: Option<(String, f64)>,
}

/// Holds a figure against ceilings.
pub fn hold(measured: &Measured, bounds: Vec<Bound>) -> ExplainedFigure {
    let mut ceilings: Vec<HeldCeiling> = bounds
        .into_iter()
        .filter(|bound| bound.sustained > 0.0 && bound.sustained.is_finite())
        .map(|bound| held(measured, bound))
        .collect();
    ceilings.sort_by(|one, other| one.at_most.total_cmp(&other.at_most));
    // Where the devices are bound, how long each I/O takes follows from that, and the depth is none of the reasons.
    let is_depth = |held: &HeldCeiling| held.kind == Some(CeilingKind::QueueDepth);
    let path = |held: &&HeldCeiling| !is_depth(held);
    let narrowest =
        ceilings.iter().filter(path).min_by(|one, other| one.at_best.total_cmp(&other.at_best)).cloned();
    let lowest = ceilings.iter().find(path).cloned();
    let excess = excess::of(measured, lowest.as_ref(), narrowest.as_ref());
    let stands = |held: &&HeldCeiling| matches!(held.state, HeldState::Binds | HeldState::BindsInBurst);
    // Below the device memory takes all of it in, at whatever rate.
    let cached = excess.as_ref().is_some_and(|excess| {
        excess.because == ExcessCause::PageCache
            && measured.flow == Some(Flow::Write)
            && measured.reached_device != Some(true)
    });
    let exceeded = narrowest.as_ref().is_some_and(|held| held.state == HeldState::Exceeded);
    let binding = if exceeded {
        // What memory took in came on top of what the ceiling let through.
        narrowest.as_ref().filter(|_| cached)
    } else {
        let of_path = ceilings.iter().filter(path).filter(stands);
        of_path
            .min_by(|one, other| one.at_best.total_cmp(&other.at_best))
            .or_else(|| ceilings.iter().filter(|held| is_depth(held)).find(stands))
    };
    let binds = binding.map(|held| held.name.clone());
    let headroom = headroom(&ceilings, binding.or(narrowest.as_ref()));
    let mut figure = ExplainedFigure {
        figure: measured.figure.clone(),
        flow: measured.flow,
        unit: measured.unit,
        measured: measured.value,
        binds,
        headroom,
        excess,
        sentence: String::new(),
        ceilings,
    };
    figure.sentence = words::sentence(measured, &figure, narrowest.as_ref());
    figure
}

fn held(measured: &Measured, bound: Bound) -> HeldCeiling {
    let at_best = bound.at_best(measured.seconds);
    let (value, tolerance) = (measured.value, measured.tolerance);
    let beyond_long_run = bound.burst.is_some() && value > bound.sustained * tolerance;
    let state = if value > at_best * tolerance {
        HeldState::Exceeded
    } else if value >= BINDS * at_best {
        if beyond_long_run { HeldState::BindsInBurst } else { HeldState::Binds }
    } else if beyond_long_run {
        HeldState::OnCredits
    } else {
        // Its bucket may have let more through, so that what it gives in the long run is not what held the rate.
        HeldState::Free
    };
    HeldCeiling {
        kind: bound.kind,
        name: bound.name,
        at_most: bound.sustained,
        burst: bound.burst.map(|burst| burst.rate),
        at_best,
        share: value / bound.sustained,
        state,
        basis: bound.basis,
        source: bound.source,
    }
}

/// The next ceiling of the path above one: what would hold the rate if that were lifted, both at their best.
fn headroom(ceilings: &[HeldCeiling], from: Option<&HeldCeiling>) -> Option<Headroom> {
    let from = from?;
    let path = ceilings.iter().filter(|held| held.kind != Some(CeilingKind::QueueDepth));
    let next = path
        .filter(|held| held.at_best > from.at_best * 1.005)
        .min_by(|one, other| one.at_best.total_cmp(&other.at_best))?;
    Some(Headroom { next: next.name.clone(), times: next.at_best / from.at_best })
}

#[cfg(test)]
mod tests;
