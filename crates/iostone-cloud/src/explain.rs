//! A measured rate held against every ceiling that is known: which one binds, how far it is to the next, and what explains
//! a figure above them.

mod bounds;
mod excess;
mod known;
mod predicted;

use iostone_model::ceiling::{ALLOWANCE, Ceiling, Held, HeldState, QueueDepth};
use iostone_model::explanation::{ExcessCause, ExplainedFigure, Headroom};
use iostone_model::metric::Unit;

pub use bounds::{IoShape, RateShape, bounds_of, bounds_of_stack, undoubted};
pub use iostone_model::explanation::Flow;
pub use known::{Known, Overrides, known_of, latest};
pub use predicted::{beside, dirty_share};

/// `vm.dirty_ratio` as the kernel sets it: the share of available memory that may be dirty before writers are made to write
/// back (Documentation/admin-guide/sysctl/vm.rst).
pub const USUAL_DIRTY_SHARE: f64 = 0.2;

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
    /// The queue depth, where each I/O was waited for and nothing else took any time.
    pub queue_depth: Option<QueueDepth>,
    /// Ratio of measured to ceiling above which a ceiling counts as exceeded: [`iostone_model::ceiling::ALLOWANCE`] of what was
    /// published, [`iostone_model::ceiling::exceeded_from`] of what was run.
    pub tolerance: f64,
}

impl Measured {
    /// A rate of which nothing else is known.
    pub fn of(unit: Unit, value: f64) -> Self {
        Self {
            figure: String::new(),
            unit,
            value,
            seconds: None,
            flow: None,
            reached_device: None,
            memory_bytes: None,
            dirty_limit: None,
            working_set_bytes: None,
            at_most_bytes: None,
            claimed_and_served_bytes: None,
            below: None,
            queue_depth: None,
            tolerance: ALLOWANCE,
        }
    }
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

/// Holds a figure against ceilings. The sentence of it is made where it is shown.
pub fn hold(measured: &Measured, bounds: Vec<Ceiling>) -> ExplainedFigure {
    let mut ceilings: Vec<Held> = bounds
        .into_iter()
        .filter(|bound| bound.at_most > 0.0 && bound.at_most.is_finite())
        .map(|bound| bound.hold(measured.value, measured.seconds, measured.tolerance))
        .collect();
    // What another ceiling held, or memory answered, happens to be near the long run of this one: that says nothing of its credits.
    let is_explained =
        |held: &Held| matches!(held.state, HeldState::Binds | HeldState::BindsInBurst | HeldState::Exceeded);
    if ceilings.iter().any(is_explained) {
        for held in ceilings.iter_mut().filter(|held| held.state == HeldState::BindsInLongRun) {
            held.state = HeldState::Free;
        }
    }
    ceilings.sort_by(|one, other| one.ceiling.at_most.total_cmp(&other.ceiling.at_most));
    let narrowest = ceilings.iter().min_by(|one, other| one.at_best.total_cmp(&other.at_best));
    let excess = excess::of(measured, ceilings.first(), narrowest);
    // Below the device memory takes all of it in, at whatever rate.
    let cached = excess.as_ref().is_some_and(|excess| {
        excess.because == ExcessCause::PageCache
            && measured.flow == Some(Flow::Write)
            && measured.reached_device != Some(true)
    });
    let exceeded = narrowest.is_some_and(|held| held.state == HeldState::Exceeded);
    let binding = if exceeded {
        // What memory took in came on top of what the ceiling let through.
        narrowest.filter(|_| cached)
    } else {
        let binding = ceilings.iter().filter(|held| held.binds());
        binding.min_by(|one, other| one.at_best.total_cmp(&other.at_best))
    };
    // Where a device is bound, how long each I/O takes follows from that.
    let queue_depth = measured.queue_depth.filter(|_| binding.is_none() && excess.is_none());
    let binds = binding
        .map(|held| held.ceiling.name.clone())
        .or_else(|| queue_depth.map(|queue| format!("queue depth {}", queue.depth)));
    let headroom = binding.or(narrowest).and_then(|from| headroom(&ceilings, from));
    ExplainedFigure {
        figure: measured.figure.clone(),
        flow: measured.flow,
        unit: measured.unit,
        measured: measured.value,
        binds,
        headroom,
        excess,
        passed_device: measured.reached_device,
        uncounted: false,
        queue_depth,
        sentence: String::new(),
        ceilings,
    }
}

/// The next ceiling above one: what would hold the rate if that were lifted, at its best.
fn headroom(ceilings: &[Held], from: &Held) -> Option<Headroom> {
    let holds_at = from.holds_at();
    let next = ceilings
        .iter()
        .filter(|held| held.ceiling.name != from.ceiling.name && held.at_best > holds_at * 1.005)
        .min_by(|one, other| one.at_best.total_cmp(&other.at_best))?;
    Some(Headroom { next: next.ceiling.name.clone(), times: next.at_best / holds_at })
}

#[cfg(test)]
mod tests;
