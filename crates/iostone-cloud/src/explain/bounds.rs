//! The ceilings of an instance, its volumes and a stack, in what they let a figure be: those that predictions go by.

use iostone_model::ceiling::Ceiling;
use iostone_model::cloud::{CatalogueDate, CeilingKind, VolumeSpec};
use iostone_model::experiment::{Configuration, Volume};
use iostone_model::explanation::Flow;
use iostone_model::metric::Unit;
use iostone_model::units::Bytes;
use jiff::civil::{Date, date};

use super::{Known, latest};
use crate::catalogue::Catalogue;
use crate::ceiling::{Counted, Lane};
use crate::prediction::{Pattern, PredictError, Question, Route, Work};

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
    /// Bytes of a request to the device on average, where it counted them: the kernel splits what is large.
    pub request: Option<u64>,
}

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateShape {
    /// Which way its bytes move.
    pub flow: Flow,
    /// Of bytes that move both ways, the share that is written.
    pub written: f64,
    /// Its I/Os, where they are known.
    pub io: Option<IoShape>,
    /// Its unit: bytes or I/Os a second.
    pub unit: Unit,
}

/// What follows the source of a figure that is of another time than the measurement.
const TAKEN_SAME: &str = "; taken to have been the same ";

/// Figures of instances change seldom: those of so many days before or after need no word.
const SAME_TIME_DAYS: i32 = 183;

/// The source of a ceiling without its doubt, for a figure that somebody else states of the time in question.
pub fn undoubted(source: &str) -> &str {
    source.split_once(TAKEN_SAME).map_or(source, |(source, _)| source)
}

/// Every ceiling of what is known of a machine, in bytes or I/Os a second as the figure is, and a sentence for each that there
/// is but that cannot be held against. Of I/Os of unknown size, they are taken for the largest that a volume counts as one where bytes
/// are counted, and each for one where they are counted themselves. Where limits may have changed at the date the higher are taken.
pub fn bounds_of(catalogue: &Catalogue, known: &Known, rate: RateShape) -> (Vec<Ceiling>, Vec<String>) {
    let asked = BoundQuery { catalogue, known, rate, start_known: false };
    let mut notes = Vec::new();
    let day = known.date.unwrap_or_else(latest);
    let mut bounds = Vec::new();
    match (&known.instance, known.date.filter(|date| date.last_day() < OWN_LINK_SINCE)) {
        (Some(_), Some(date)) => notes.push(format!(
            "what the catalogue knows of links is of later than {date}: instances with a link of their own to EBS came in \
             2012-08, and before it EBS shared their network"
        )),
        (Some(_), None) => match asked.of(None, day) {
            Ok(found) => bounds.extend(found.into_iter().map(|(_, bound)| bound)),
            Err(error) => notes.push(error.to_string()),
        },
        (None, _) => {}
    }
    if let Some(spec) = &known.volumes {
        match asked.of_volumes(spec, day) {
            Ok((found, note)) => {
                bounds.extend(found.into_iter().map(|(_, bound)| bound));
                notes.extend(note);
            }
            Err(error) => notes.push(error.to_string()),
        }
    }
    (bounds, notes)
}

/// The ceilings of a configuration's stack as its plan settled them, and whether it limits I/Os of which nobody knows how many there
/// were. Of a device of the machine's own nothing is known here.
pub fn bounds_of_stack(
    catalogue: &Catalogue,
    configuration: &Configuration,
    rate: RateShape,
) -> (Vec<Ceiling>, bool) {
    let mut route = Route::of_configuration(catalogue, configuration);
    route.link = configuration.stack.link;
    let emulated = matches!(configuration.stack.volume, Volume::Emulated(_));
    let asked = BoundQuery { catalogue, known: &Known::default(), rate, start_known: emulated };
    let mut found = asked.along(&route);
    // How the kernel cuts what nobody sees is not assumed of limits that are known so well.
    found.retain(|(counted, _)| rate.io.is_some() || *counted != Counted::Ios);
    let of_volume = route.limits.as_ref().is_some_and(|limits| limits.iops.or(limits.write_iops).is_some());
    let limits_ios = of_volume || route.link.is_some_and(|link| link.iops.is_some());
    let uncounted = limits_ios && !found.iter().any(|(counted, _)| *counted == Counted::Ios);
    (found.into_iter().map(|(_, bound)| bound).collect(), uncounted)
}

/// A ceiling with what it counts.
type CountedBound = (Counted, Ceiling);

/// What is held against ceilings, and whose they are.
struct BoundQuery<'a> {
    catalogue: &'a Catalogue,
    known: &'a Known,
    rate: RateShape,
    /// Whether buckets are known to have begun as the route says.
    start_known: bool,
}

impl BoundQuery<'_> {
    /// The ceilings of the instance's link, or of volumes as the instance lets them be.
    fn of(
        &self,
        volumes: Option<&VolumeSpec>,
        day: CatalogueDate,
    ) -> Result<Vec<CountedBound>, PredictError> {
        let instance = self.known.instance.clone();
        // Of volumes behind an instance that nobody knows their own limits are known all the same.
        let instance = instance.filter(|name| volumes.is_none() || self.catalogue.instance(name).is_ok());
        let question = Question { instance, volumes: volumes.cloned(), ..Question::new(self.work(), day) };
        let found = match Route::of(self.catalogue, &question) {
            Ok(route) => self.along(&route),
            Err(PredictError::Unlimited(_)) => Vec::new(),
            Err(error) => return Err(error),
        };
        let is_asked = |bound: &CountedBound| (bound.1.kind == Some(CeilingKind::Link)) == volumes.is_none();
        Ok(found.into_iter().filter(is_asked).collect())
    }

    /// Those of volumes, the highest of all laws that may have held, with a note where they differ.
    fn of_volumes(
        &self,
        spec: &VolumeSpec,
        date: CatalogueDate,
    ) -> Result<(Vec<CountedBound>, Option<String>), PredictError> {
        let laws = self.catalogue.volumes().laws_at(spec, date);
        let mut found = laws.into_iter().map(|day| self.of(Some(spec), day));
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
                if bound.at_best(None) > old.at_best(None) || bound.at_most > old.at_most {
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
        let counted = IoShape { bytes: 1, sequential: false, request: None };
        self.rate.io.or_else(|| (self.rate.unit != Unit::BytesPerSecond).then_some(counted))
    }

    /// Some work of that kind; how much of it does not matter.
    fn work(&self) -> Work {
        let io = self.shape();
        let pattern = match io {
            Some(IoShape { sequential: false, .. }) => Pattern::Random,
            _ => Pattern::Sequential,
        };
        let (io_size, request) = (io.map(|io| Bytes(io.bytes)), io.and_then(|io| io.request).map(Bytes));
        Work { io_size, request, pattern, ..Work::sequential(Bytes(0), Bytes(0)) }
    }

    /// The ceilings of the link and of the volumes along a route.
    fn along(&self, route: &Route) -> Vec<CountedBound> {
        let work = self.work();
        let path = route.path(&work);
        path.iter().filter_map(|lane| Some((lane.counted, self.ceiling(route, lane, &work)?))).collect()
    }

    /// A ceiling of the link or of the volumes in a figure's unit; the others hang on what a workload does beside, and of I/Os whose size
    /// nobody knows bytes say nothing.
    fn ceiling(&self, route: &Route, lane: &Lane, work: &Work) -> Option<Ceiling> {
        let RateShape { flow, written, io, unit } = self.rate;
        let is_of_path = matches!(lane.kind, CeilingKind::Link | CeilingKind::Volume | CeilingKind::Array);
        let is_bytes = unit == Unit::BytesPerSecond;
        let is_comparable = io.is_some() || is_bytes || lane.counted == Counted::Ios;
        let written = match flow {
            Flow::Read => 0.0,
            Flow::Write => 1.0,
            Flow::Both => written,
        };
        let cost = lane.cost(written);
        if !(is_of_path && is_comparable && cost > 0.0) {
            return None;
        }
        let each = if is_bytes { 1.0 } else { self.shape().map_or(1.0, |io| io.bytes.max(1) as f64) };
        let at_most = lane.sustained(written);
        let burst = lane.burst(written).filter(|burst| *burst > at_most);
        let (basis, source) = route.source(lane, work);
        let doubt = if lane.kind == CeilingKind::Link { self.doubt() } else { None };
        Some(Ceiling {
            kind: Some(lane.kind),
            name: self.name(&route.name(lane, work), lane),
            at_most: at_most / each,
            burst: burst.map(|burst| burst / each),
            capacity: burst.and(lane.burst).map(|bucket| bucket.level / cost / each),
            start_known: burst.is_some() && self.start_known,
            basis,
            source: format!("{source}{}", doubt.unwrap_or_default()),
        })
    }

    /// "the link of c4.large", "160MiB/s of gp2:220GiB".
    fn name(&self, full: &str, lane: &Lane) -> String {
        let name = full.split(", ").next().unwrap_or(full);
        // Which way it is of says nothing more where all goes one way.
        let side = ["reads at ", "writes at "].iter().find_map(|side| name.strip_prefix(side));
        let name = side.filter(|_| self.rate.flow != Flow::Both).unwrap_or(name);
        let ios = lane.counted == Counted::Ios;
        match (&self.known.instance, lane.kind) {
            (Some(instance), CeilingKind::Link) if ios => format!("{name} of {instance}"),
            (Some(instance), CeilingKind::Link) if name.starts_with("the network") => {
                format!("the network of {instance}, which EBS shares")
            }
            (Some(instance), CeilingKind::Link) => format!("the link of {instance}"),
            _ if ios && self.shape().is_none() => format!("{name} of the largest I/Os"),
            _ => name.to_owned(),
        }
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

/// "128MiB/s" of "128MiB/s of io1:300GiB:1000iops".
fn figure_of(name: &str) -> &str {
    name.split_once(" of ").map_or(name, |(figure, _)| figure)
}
