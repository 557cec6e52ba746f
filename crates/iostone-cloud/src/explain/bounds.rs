//! The ceilings of an instance and its volumes in what they let a figure be.

use iostone_model::cloud::CeilingKind;
use iostone_model::metric::Unit;
use iostone_model::units::Bytes;
use jiff::civil::{Date, date};

use super::{Bound, BoundBurst, Known, latest};
use crate::catalogue::Catalogue;
use crate::ceiling::Counted;
use crate::prediction::{Ceiling, CeilingRate, Pattern, PredictError, Question, Route, Work};

/// Since when instances have a link to EBS of their own, "EBS-optimized", announced together with Provisioned IOPS (AWS News
/// Blog, 2012-08-01). Before it EBS shared their network.
const OWN_LINK_SINCE: Date = date(2012, 8, 1);

/// Which way bytes move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// From the volumes.
    Read,
    /// To the volumes.
    Write,
    /// Reads and writes counted together.
    Both,
}

/// I/Os of a workload, all of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoShape {
    /// Bytes of each.
    pub bytes: u64,
    /// Whether they follow each other.
    pub sequential: bool,
}

/// Every ceiling of what is known of a machine, in bytes or I/Os a second as `unit` says, and a sentence for each that there
/// is but that cannot be held against. Of I/Os of unknown size, they are taken for the largest that a volume counts as one.
pub fn bounds_of(
    catalogue: &Catalogue,
    known: &Known,
    flow: Flow,
    io: Option<IoShape>,
    unit: Unit,
) -> (Vec<Bound>, Vec<String>) {
    let mut bounds = Vec::new();
    let mut notes = Vec::new();
    let day = known.date.unwrap_or_else(latest);
    let work = work(flow, io);
    let mut add = |question: &Question| match Route::of(catalogue, question) {
        Ok(route) => {
            let ceilings = route.ceilings(&work);
            bounds.extend(ceilings.iter().filter_map(|ceiling| bound(ceiling, known, flow, io, unit)));
        }
        Err(PredictError::Unlimited(_)) => {}
        Err(error) => notes.push(error.to_string()),
    };
    let question = Question::new(work.clone(), day);
    let too_early = known.date.filter(|date| date.day() < OWN_LINK_SINCE);
    if let Some(instance) = known.instance.clone().filter(|_| too_early.is_none()) {
        add(&Question { instance: Some(instance), ..question.clone() });
    }
    if let Some(volumes) = known.volumes.clone() {
        add(&Question { volumes: Some(volumes), ..question });
    }
    if let (Some(instance), Some(date)) = (&known.instance, too_early) {
        notes.push(format!(
            "what the catalogue knows of {instance}'s link is of later than {date}: instances with a link of their own to EBS \
             came in 2012-08, and before it EBS shared their network"
        ));
    }
    (bounds, notes)
}

/// Some work of that kind; how much of it does not matter.
fn work(flow: Flow, io: Option<IoShape>) -> Work {
    const SOME: Bytes = Bytes(1 << 30);
    let (read, write) = match flow {
        Flow::Read => (SOME, Bytes(0)),
        Flow::Write => (Bytes(0), SOME),
        Flow::Both => (SOME, SOME),
    };
    let pattern = match io {
        Some(IoShape { sequential: false, .. }) => Pattern::Random,
        _ => Pattern::Sequential,
    };
    Work { io_size: io.map(|io| Bytes(io.bytes)), pattern, ..Work::sequential(read, write) }
}

/// A ceiling of the link or of the volumes in a figure's unit; the others hang on what a workload does beside.
fn bound(ceiling: &Ceiling, known: &Known, flow: Flow, io: Option<IoShape>, unit: Unit) -> Option<Bound> {
    if !matches!(ceiling.kind, CeilingKind::Link | CeilingKind::Volume | CeilingKind::Array) {
        return None;
    }
    let rate = match flow {
        Flow::Read => ceiling.reads,
        Flow::Write => ceiling.writes,
        Flow::Both => ceiling.mixed,
    }?;
    let (sustained, burst) = in_unit(rate, unit)?;
    let size = io.map_or(1.0, |io| io.bytes.max(1) as f64);
    let capacity =
        rate.burst_bytes.map(|bytes| if unit == Unit::BytesPerSecond { bytes } else { bytes / size });
    Some(Bound {
        kind: Some(ceiling.kind),
        name: name(ceiling, known, io.is_none()),
        sustained,
        burst: burst.map(|rate| BoundBurst { rate, capacity }),
        basis: ceiling.basis,
        source: match (ceiling.kind, known.date) {
            (CeilingKind::Link, Some(date)) => {
                format!("{}; taken to have been the same in {date}", ceiling.source)
            }
            _ => ceiling.source.clone(),
        },
    })
}

fn in_unit(rate: CeilingRate, unit: Unit) -> Option<(f64, Option<f64>)> {
    match unit {
        Unit::BytesPerSecond => Some((rate.bytes_per_second, rate.burst_bytes_per_second)),
        _ => Some((rate.ios_per_second?, rate.burst_ios_per_second)),
    }
}

/// "the link of c4.large", "160MiB/s of gp2:220GiB".
fn name(ceiling: &Ceiling, known: &Known, of_unknown_ios: bool) -> String {
    let name = ceiling.name.split(", ").next().unwrap_or(&ceiling.name);
    let ios = ceiling.counted == Counted::Ios;
    match (&known.instance, ceiling.kind) {
        (Some(instance), CeilingKind::Link) if ios => format!("{name} of {instance}"),
        (Some(instance), CeilingKind::Link) if name.starts_with("the network") => {
            format!("the network of {instance}, which EBS shares")
        }
        (Some(instance), CeilingKind::Link) => format!("the link of {instance}"),
        _ if ios && of_unknown_ios => format!("{name} of the largest I/Os"),
        _ => name.to_owned(),
    }
}
