//! A row of the table of volume types: a law as data, with the time in which it held and who says so.

use iostone_model::cloud::CatalogueDate;
use iostone_model::experiment::Basis;
use iostone_model::units::{Bytes, BytesPerSecond, Fraction, Span};
use serde::{Deserialize, Serialize};

use super::Delivered;
use super::words::grouped;

/// What volumes of a type may do from one date to another. Read from TOML, the built-in table and that of a user alike; what is
/// left out is not known, or not limited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of the file, true or left out")]
pub struct VolumeRow {
    /// The type: `gp2` of AWS, `azure/premium-ssd` of anybody else.
    pub name: String,
    /// When the type itself came, where its first limits are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launched: Option<CatalogueDate>,
    /// From when these limits held; the earliest day where that is not known to the day. Ever since the type exists if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<CatalogueDate>,
    /// By when they held for certain, where `since` is only the earliest day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_latest: Option<CatalogueDate>,
    /// The first day on which the type was no more; the next row of the type ends this one by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<CatalogueDate>,
    /// What took its place then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<String>,
    /// The date of the document, where nobody says since when its limits hold. Nothing is claimed of earlier days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<CatalogueDate>,
    /// The smallest and the largest volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<[Bytes; 2]>,
    /// Whether sizes are whole GiB.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole_gib: bool,
    /// Whether all volumes of the type on one machine have these limits together. Each is then given its part.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub together: bool,
    /// I/Os a second, reads and writes together unless `write_iops` is there too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<IopsLaw>,
    /// I/Os a second of writes, where they have a limit of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_iops: Option<IopsLaw>,
    /// Bytes a second, reads and writes together unless `write_throughput` is there too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<ThroughputLaw>,
    /// Bytes a second of writes, where they have a limit of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_throughput: Option<ThroughputLaw>,
    /// Sizes with their limits, the smallest first, where they follow no formula. A volume has those of the smallest tier that
    /// holds it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<Tier>,
    /// For how long a full bucket lasts at the tiers' burst rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_time: Option<Span>,
    /// How large an I/O may be to count as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_size: Option<Bytes>,
    /// Whether adjacent small I/Os are counted together until they fill `io_size`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merge: bool,
    /// Whether an I/O below `io_size` that is not merged takes a whole one's bytes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole_ios: bool,
    /// The most on instances that are not built on Nitro.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_nitro: Option<OffNitro>,
    /// The time of one I/O, where it is stated as a figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Span>,
    /// How much of its limits a volume is said to deliver, and for how much of the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered: Option<Delivered>,
    /// What the figures rest on.
    pub basis: Basis,
    /// What else is to be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Who says so.
    pub source: String,
}

/// How many I/Os a second a volume may do.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "law", rename_all = "kebab-case", deny_unknown_fields)]
pub enum IopsLaw {
    /// As many, whatever its size.
    Constant {
        /// I/Os a second.
        iops: f64,
    },
    /// As many for each GiB.
    Size {
        /// For each GiB.
        per_gib: f64,
        /// Beside those, whatever the size.
        #[serde(default, skip_serializing_if = "is_zero")]
        base: f64,
        /// At least.
        #[serde(default, skip_serializing_if = "is_zero")]
        floor: f64,
        /// At most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cap: Option<f64>,
        /// While credits last, where that is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        burst: Option<f64>,
        /// I/Os that the full bucket holds; it fills at the long-run rate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        credits: Option<f64>,
    },
    /// As many as were asked for when it was made.
    Provisioned {
        /// Where nothing is asked for; something has to be, if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        included: Option<u32>,
        /// At least.
        min: u32,
        /// At most.
        max: u32,
        /// At most for each GiB, though never less than `min`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        per_gib: Option<f64>,
    },
}

/// How many bytes a second a volume may move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "law", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ThroughputLaw {
    /// As many, whatever its size.
    Constant {
        /// Bytes a second.
        rate: BytesPerSecond,
    },
    /// By its size.
    Steps {
        /// The smallest sizes first.
        steps: Vec<Step>,
    },
    /// As many for each TiB.
    Size {
        /// For each TiB.
        per_tib: BytesPerSecond,
        /// Beside those, whatever the size.
        #[serde(default, skip_serializing_if = "is_no_rate")]
        base: BytesPerSecond,
        /// At most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cap: Option<BytesPerSecond>,
        /// More while credits last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        burst: Option<ThroughputBurst>,
    },
    /// So many for each I/O a second that it may do.
    PerIo {
        /// For each I/O.
        per_io: Bytes,
        /// At most.
        cap: BytesPerSecond,
        /// Where it may do more I/Os than this, the larger of what the two laws give.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        above: Option<ManyIos>,
    },
    /// As many as were asked for when it was made.
    Provisioned {
        /// Where nothing is asked for; something has to be, if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        included: Option<BytesPerSecond>,
        /// At least.
        min: BytesPerSecond,
        /// At most.
        max: BytesPerSecond,
        /// At most for each provisioned I/O a second, though never less than `included`.
        per_iops: BytesPerSecond,
    },
}

/// The throughput of volumes up to a size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The largest of them; all others if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to: Option<Bytes>,
    /// Bytes a second.
    pub rate: BytesPerSecond,
}

/// More throughput for each TiB, out of a bucket that fills at the long-run rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThroughputBurst {
    /// Bytes a second for each TiB.
    pub per_tib: BytesPerSecond,
    /// At most.
    pub cap: BytesPerSecond,
    /// What the full bucket holds for each TiB.
    pub credit_per_tib: Bytes,
}

/// The throughput of volumes that may do more than so many I/Os a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManyIos {
    /// More than these.
    pub iops: u32,
    /// For each I/O.
    pub per_io: Bytes,
    /// At most.
    pub cap: BytesPerSecond,
}

/// A size with its limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tier {
    /// Its name, by which it can be asked for too: `P30`. Names hold within a provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The largest volume of the tier.
    pub size: Bytes,
    /// I/Os a second; of reads where `write_iops` is there too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<f64>,
    /// I/Os a second of writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_iops: Option<f64>,
    /// Bytes a second; of reads where `write_throughput` is there too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<BytesPerSecond>,
    /// Bytes a second of writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_throughput: Option<BytesPerSecond>,
    /// I/Os a second for the row's `burst_time`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_iops: Option<f64>,
    /// Bytes a second for the row's `burst_time`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_throughput: Option<BytesPerSecond>,
}

/// The most that a volume does on an instance that is not built on Nitro.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OffNitro {
    /// I/Os a second.
    pub iops: f64,
    /// Bytes a second, where that is said too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<BytesPerSecond>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(figure: &f64) -> bool {
    *figure == 0.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_no_rate(rate: &BytesPerSecond) -> bool {
    rate.0 == 0.0
}

/// What is wrong with a row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the volume type `{name}`: {reason}")]
pub struct VolumeRowError {
    /// The row's name.
    pub name: String,
    /// What is wrong, and what would be right.
    pub reason: String,
}

impl VolumeRow {
    /// From when it is in force for certain.
    pub fn certain_since(&self) -> Option<CatalogueDate> {
        self.since_latest.or(self.since)
    }

    /// The provider, `aws` where the name says none.
    pub fn provider(&self) -> &str {
        self.name.split_once('/').map_or("aws", |(provider, _)| provider)
    }

    /// What is wrong with it: a name that no volume can be asked by, a limit that is not above zero, dates and sizes the wrong way round.
    ///
    /// # Errors
    /// [`VolumeRowError`].
    pub fn check(&self) -> Result<(), VolumeRowError> {
        let wrong = |reason: String| Err(VolumeRowError { name: self.name.clone(), reason });
        let is_word = |word: &str| {
            !word.is_empty()
                && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        let parts: Vec<&str> = self.name.split('/').collect();
        if parts.len() > 2 || !parts.iter().all(|part| is_word(part)) || parts.first() == Some(&"aws") {
            return wrong(
                "its name must be TYPE for AWS, or PROVIDER/TYPE, of letters, digits, `-`, `_` and `.`"
                    .into(),
            );
        }
        let limits = [
            ("iops", self.iops.is_some()),
            ("write_iops", self.write_iops.is_some()),
            ("throughput", self.throughput.is_some()),
            ("write_throughput", self.write_throughput.is_some()),
        ];
        let given = limits.iter().find(|(_, given)| *given);
        match (given, self.tiers.is_empty()) {
            (Some((key, _)), false) => return wrong(format!("`{key}` beside `tiers`; keep one of them")),
            (None, true) => {
                return wrong("it limits nothing: give it `iops`, `throughput` or `tiers`".into());
            }
            _ => {}
        }
        if (self.write_iops.is_some() && self.iops.is_none())
            || (self.write_throughput.is_some() && self.throughput.is_none())
        {
            return wrong("it limits writes without reads; give `iops` beside `write_iops`, `throughput` beside `write_throughput`".into());
        }
        if self.size.is_some_and(|[least, most]| least > most || least.0 == 0) {
            return wrong("`size` must be the smallest volume, above nothing, and then the largest".into());
        }
        if !self.tiers.is_sorted_by(|left, right| left.size < right.size) {
            return wrong("`tiers` must be in the order of their sizes".into());
        }
        let day = |date: Option<CatalogueDate>| date.map(CatalogueDate::day);
        if self.since_latest.is_some() && (self.since.is_none() || day(self.since) > day(self.since_latest)) {
            return wrong("`since_latest` must not be before `since`".into());
        }
        if self.until.is_some() && day(self.certain_since()) >= day(self.until) {
            return wrong("`until` must be after `since`".into());
        }
        if (self.merge || self.whole_ios) && self.io_size.is_none() {
            return wrong("`merge` and `whole_ios` need `io_size`".into());
        }
        if let Some((key, figure)) = self.figures().find(|(_, figure)| !figure.is_finite() || *figure <= 0.0)
        {
            return wrong(format!("`{key}` is {figure}, and must be above zero"));
        }
        match self.orders().into_iter().find(|order| order.lesser.1 > order.greater.1) {
            Some(Order { law, lesser, greater }) => wrong(format!(
                "`{law}.{}` is {}, and must not be above `{}`, which is {}",
                lesser.0,
                grouped(lesser.1),
                greater.0,
                grouped(greater.1)
            )),
            None => Ok(()),
        }
    }

    /// Pairs of figures of which the first may not be above the second.
    fn orders(&self) -> Vec<Order> {
        let mut orders = Vec::new();
        for (key, law) in [("iops", self.iops), ("write_iops", self.write_iops)] {
            orders.extend(law.iter().flat_map(IopsLaw::orders).map(|pair| Order::of(key, pair)));
        }
        for (key, law) in [("throughput", &self.throughput), ("write_throughput", &self.write_throughput)] {
            orders.extend(law.iter().flat_map(ThroughputLaw::orders).map(|pair| Order::of(key, pair)));
        }
        orders
    }

    /// Every figure that has to be above zero, by its key.
    fn figures(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let mut figures = Vec::new();
        for law in [self.iops, self.write_iops].into_iter().flatten() {
            law.figures(&mut figures);
        }
        for law in [&self.throughput, &self.write_throughput].into_iter().flatten() {
            law.figures(&mut figures);
        }
        for tier in &self.tiers {
            tier.figures(&mut figures);
        }
        if let Some(off_nitro) = self.off_nitro {
            figures.push(("off_nitro.iops", off_nitro.iops));
            figures.extend(off_nitro.throughput.map(|rate| ("off_nitro.throughput", rate.0)));
        }
        if let Some(Delivered { share: Fraction(share), of_time: Fraction(of_time) }) = self.delivered {
            figures.extend([("delivered.share", share), ("delivered.of_time", of_time)]);
        }
        figures.extend(self.io_size.map(|size| ("io_size", size.0 as f64)));
        figures.extend(self.burst_time.map(|span| ("burst_time", span.0.as_secs_f64())));
        figures.into_iter()
    }
}

/// A figure of a law, by its key.
type Figure = (&'static str, f64);

/// Two figures of a law, of which the first may not be above the second.
struct Order {
    law: &'static str,
    lesser: Figure,
    greater: Figure,
}

/// Two of them where both are given.
type Pair = ((&'static str, Option<f64>), (&'static str, Option<f64>));

impl Order {
    fn of(law: &'static str, (lesser, greater): (Figure, Figure)) -> Self {
        Self { law, lesser, greater }
    }
}

/// Those of which both figures are given.
fn given<const N: usize>(pairs: [Pair; N]) -> Vec<(Figure, Figure)> {
    let both = |((lesser, least), (greater, most)): Pair| Some(((lesser, least?), (greater, most?)));
    pairs.into_iter().filter_map(both).collect()
}

impl IopsLaw {
    fn orders(&self) -> Vec<(Figure, Figure)> {
        match *self {
            Self::Constant { .. } => Vec::new(),
            Self::Size { floor, cap, .. } => given([(("floor", Some(floor)), ("cap", cap))]),
            Self::Provisioned { included, min, max, .. } => {
                let (min, max) = (f64::from(min), f64::from(max));
                let included = included.map(f64::from);
                given([
                    (("min", Some(min)), ("max", Some(max))),
                    (("min", Some(min)), ("included", included)),
                    (("included", included), ("max", Some(max))),
                ])
            }
        }
    }

    fn figures(self, figures: &mut Vec<(&'static str, f64)>) {
        match self {
            Self::Constant { iops } => figures.push(("iops", iops)),
            Self::Size { per_gib, cap, burst, credits, base, floor } => {
                figures.push(("per_gib", per_gib));
                figures
                    .extend([base, floor].into_iter().filter(|part| *part != 0.0).map(|part| ("base", part)));
                figures.extend(cap.map(|cap| ("cap", cap)));
                figures.extend(burst.map(|burst| ("burst", burst)));
                figures.extend(credits.map(|credits| ("credits", credits)));
            }
            Self::Provisioned { included, min, max, per_gib } => {
                figures.extend([("min", f64::from(min)), ("max", f64::from(max))]);
                figures.extend(included.map(|included| ("included", f64::from(included))));
                figures.extend(per_gib.map(|per_gib| ("per_gib", per_gib)));
            }
        }
    }
}

impl ThroughputLaw {
    fn orders(&self) -> Vec<(Figure, Figure)> {
        match self {
            Self::Constant { .. } | Self::Steps { .. } | Self::PerIo { .. } => Vec::new(),
            Self::Size { base, cap, .. } => given([(("base", Some(base.0)), ("cap", cap.map(|cap| cap.0)))]),
            Self::Provisioned { included, min, max, .. } => {
                let included = included.map(|included| included.0);
                given([
                    (("min", Some(min.0)), ("max", Some(max.0))),
                    (("min", Some(min.0)), ("included", included)),
                    (("included", included), ("max", Some(max.0))),
                ])
            }
        }
    }

    fn figures(&self, figures: &mut Vec<(&'static str, f64)>) {
        match self {
            Self::Constant { rate } => figures.push(("rate", rate.0)),
            // Without steps nothing is allowed, which is as wrong as a rate of zero.
            Self::Steps { steps } if steps.is_empty() => figures.push(("steps", 0.0)),
            Self::Steps { steps } => figures.extend(steps.iter().map(|step| ("rate", step.rate.0))),
            Self::Size { per_tib, base: _, cap, burst } => {
                figures.push(("per_tib", per_tib.0));
                figures.extend(cap.map(|cap| ("cap", cap.0)));
                if let Some(burst) = burst {
                    figures.extend([("burst.per_tib", burst.per_tib.0), ("burst.cap", burst.cap.0)]);
                    figures.push(("burst.credit_per_tib", burst.credit_per_tib.0 as f64));
                }
            }
            Self::PerIo { per_io, cap, above } => {
                figures.extend([("per_io", per_io.0 as f64), ("cap", cap.0)]);
                if let Some(above) = above {
                    figures.extend([("above.per_io", above.per_io.0 as f64), ("above.cap", above.cap.0)]);
                }
            }
            Self::Provisioned { included, min, max, per_iops } => {
                figures.extend([("min", min.0), ("max", max.0), ("per_iops", per_iops.0)]);
                figures.extend(included.map(|included| ("included", included.0)));
            }
        }
    }
}

impl Tier {
    fn figures(&self, figures: &mut Vec<(&'static str, f64)>) {
        let rate = |rate: Option<BytesPerSecond>| rate.map(|rate| rate.0);
        let of_tier = [
            ("tiers.size", Some(self.size.0 as f64)),
            ("tiers.iops", self.iops),
            ("tiers.write_iops", self.write_iops),
            ("tiers.throughput", rate(self.throughput)),
            ("tiers.write_throughput", rate(self.write_throughput)),
            ("tiers.burst_iops", self.burst_iops),
            ("tiers.burst_throughput", rate(self.burst_throughput)),
        ];
        figures.extend(of_tier.into_iter().filter_map(|(key, figure)| Some((key, figure?))));
    }
}
