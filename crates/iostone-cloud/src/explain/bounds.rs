//! The ceilings of an instance and its volumes in what they let a figure be.

use iostone_model::cloud::{CatalogueDate, CeilingKind, VolumeSpec};
use iostone_model::explanation::Flow;
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

/// I/Os of a workload, all of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoShape {
    /// Bytes of each.
    pub bytes: u64,
    /// Whether they follow each other.
    pub sequential: bool,
}

/// What follows the source of a figure that is of another time than the measurement.
const TAKEN_SAME: &str = "; taken to have been the same ";

/// Figures of instances change seldom: those of so many days before or after need no word.
const SAME_TIME_DAYS: i32 = 183;

/// The source of a ceiling without its doubt, for a figure that somebody else states of the time in question.
pub fn undoubted(source: &str) -> &str {
    source.split_once(TAKEN_SAME).map_or(source, |(source, _)| source)
}

/// Every ceiling of what is known of a machine, in bytes or I/Os a second as `unit` says, and a sentence for each that there
/// is but that cannot be held against. Of I/Os of unknown size, they are taken for the largest that a volume counts as one where bytes
/// are counted, and each for one where they are counted themselves. Where limits may have changed at the date the higher are taken.
pub fn bounds_of(
    catalogue: &Catalogue,
    known: &Known,
    flow: Flow,
    io: Option<IoShape>,
    unit: Unit,
) -> (Vec<Bound>, Vec<String>) {
    let held = Held { catalogue, known, flow, io, unit };
    let mut notes = Vec::new();
    let day = known.date.unwrap_or_else(latest);
    let mut bounds = Vec::new();
    match (&known.instance, known.date.filter(|date| date.last_day() < OWN_LINK_SINCE)) {
        (Some(_), Some(date)) => notes.push(format!(
            "what the catalogue knows of links is of later than {date}: instances with a link of their own to EBS came in \
             2012-08, and before it EBS shared their network"
        )),
        (Some(instance), None) => {
            let question = |work| Question { instance: Some(instance.clone()), ..Question::new(work, day) };
            match held.of(question) {
                Ok(found) => bounds.extend(found.into_iter().map(|(_, bound)| bound)),
                Err(error) => notes.push(error.to_string()),
            }
        }
        (None, _) => {}
    }
    if let Some(spec) = &known.volumes {
        match held.of_volumes(spec, day) {
            Ok((found, note)) => {
                bounds.extend(found.into_iter().map(|(_, bound)| bound));
                notes.extend(note);
            }
            Err(error) => notes.push(error.to_string()),
        }
    }
    (bounds, notes)
}

/// A ceiling with what it counts.
type CountedBound = (Counted, Bound);

/// What is held against ceilings, and how.
struct Held<'a> {
    catalogue: &'a Catalogue,
    known: &'a Known,
    flow: Flow,
    io: Option<IoShape>,
    unit: Unit,
}

impl Held<'_> {
    /// The ceilings of a question, each with what it counts; none where nothing is limited.
    fn of(&self, question: impl FnOnce(Work) -> Question) -> Result<Vec<CountedBound>, PredictError> {
        let work = work(self.flow, self.shape());
        let route = match Route::of(self.catalogue, &question(work.clone())) {
            Ok(route) => route,
            Err(PredictError::Unlimited(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let ceilings = route.ceilings(&work);
        Ok(ceilings.iter().filter_map(|ceiling| Some((ceiling.counted, self.bound(ceiling)?))).collect())
    }

    /// Those of volumes, the highest of all laws that may have held, with a note where they differ.
    fn of_volumes(
        &self,
        spec: &VolumeSpec,
        date: CatalogueDate,
    ) -> Result<(Vec<CountedBound>, Option<String>), PredictError> {
        let laws = self.catalogue.volumes().laws_at(spec, date);
        let mut found = laws
            .into_iter()
            .map(|day| self.of(|work| Question { volumes: Some(spec.clone()), ..Question::new(work, day) }));
        let mut first = found.next().unwrap_or_else(|| Ok(Vec::new()));
        let mut changes: Vec<String> = Vec::new();
        // A law that is not known, or does not know such a volume, leaves it to the others.
        for later in found.flatten() {
            let Ok(highest) = &mut first else {
                first = Ok(later);
                continue;
            };
            for (counted, bound) in later {
                let same = highest.iter_mut().find(|(own, old)| *own == counted && old.kind == bound.kind);
                let Some((_, old)) = same else { continue };
                if old.name != bound.name {
                    changes.push(format!("{}, then {}", figure_of(&old.name), figure_of(&bound.name)));
                }
                if bound.at_best(None) > old.at_best(None) || bound.sustained > old.sustained {
                    *old = bound;
                }
            }
        }
        let note = (!changes.is_empty()).then(|| {
            format!(
                "the limits of {spec} changed {}, and on which side of that the figures are is not known: {}; the higher are taken",
                date.in_words(),
                changes.join("; ")
            )
        });
        first.map(|bounds| (bounds, note))
    }

    /// The I/Os, each taken for one that counts as one where their number alone is known.
    fn shape(&self) -> Option<IoShape> {
        let counted = IoShape { bytes: 1, sequential: false };
        self.io.or_else(|| (self.unit != Unit::BytesPerSecond).then_some(counted))
    }

    /// A ceiling of the link or of the volumes in a figure's unit; the others hang on what a workload does beside, and of I/Os whose size
    /// nobody knows bytes say nothing.
    fn bound(&self, ceiling: &Ceiling) -> Option<Bound> {
        let is_of_path = matches!(ceiling.kind, CeilingKind::Link | CeilingKind::Volume | CeilingKind::Array);
        let is_comparable =
            self.io.is_some() || self.unit == Unit::BytesPerSecond || ceiling.counted == Counted::Ios;
        if !(is_of_path && is_comparable) {
            return None;
        }
        let rate = match self.flow {
            Flow::Read => ceiling.reads,
            Flow::Write => ceiling.writes,
            Flow::Both => ceiling.mixed,
        }?;
        let (sustained, burst) = in_unit(rate, self.unit)?;
        let size = self.shape().map_or(1.0, |io| io.bytes.max(1) as f64);
        let is_bytes = self.unit == Unit::BytesPerSecond;
        let capacity = rate.burst_bytes.map(|bytes| if is_bytes { bytes } else { bytes / size });
        let doubt = if ceiling.kind == CeilingKind::Link { self.doubt() } else { None };
        Some(Bound {
            kind: Some(ceiling.kind),
            name: name(ceiling, self.known, self.shape().is_none()),
            sustained,
            burst: burst.map(|rate| BoundBurst { rate, capacity }),
            basis: ceiling.basis,
            source: format!("{}{}", ceiling.source, doubt.unwrap_or_default()),
        })
    }

    /// What is to be said of an instance's figures that are of another time.
    fn doubt(&self) -> Option<String> {
        let date = self.known.date?;
        let as_of = self.catalogue.instance(self.known.instance.as_deref()?).ok()?.date;
        let days = |from: Date, to: Date| (to - from).get_days().abs();
        let is_of_then = as_of.is_some_and(|as_of| days(date.last_day(), as_of.day()) <= SAME_TIME_DAYS);
        (!is_of_then).then(|| format!("{TAKEN_SAME}{}", date.in_words()))
    }
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

/// "128MiB/s" of "128MiB/s of io1:300GiB:1000iops".
fn figure_of(name: &str) -> &str {
    name.split_once(" of ").map_or(name, |(figure, _)| figure)
}
