//! Rows of volume types in words, for tables, notes and errors.

use iostone_model::figures::group_digits;
use iostone_model::units::{ByteRate, Bytes, BytesPerSecond, three_digits};

use super::row::{IopsLaw, ThroughputLaw, VolumeRow};

/// `16000` as `16 000`; what is no whole number with three digits.
pub(super) fn grouped(figure: f64) -> String {
    if figure.fract() != 0.0 || figure.abs() >= 1e15 {
        return three_digits(figure);
    }
    group_digits(&format!("{figure:.0}"))
}

/// A rate in the unit that shows it exactly, where there is one: `250MiB/s`, `25MB/s`, `0.25MiB/s`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rates are positive and far below 2^53"
)]
pub(super) fn rate(bytes_per_second: f64) -> String {
    let mib = bytes_per_second / f64::from(1 << 20);
    if bytes_per_second.fract() == 0.0 && bytes_per_second % 1e6 == 0.0 {
        return ByteRate(bytes_per_second as u64).to_string();
    }
    // Whole quarters and the like are how provisioned throughput is stated.
    if (mib * 1000.0).fract() == 0.0 {
        return format!("{mib}MiB/s");
    }
    BytesPerSecond(bytes_per_second).to_string()
}

/// `1GiB to 16TiB`, or the one size that there is.
pub(super) fn sizes([least, most]: [Bytes; 2]) -> String {
    if least == most { least.to_string() } else { format!("{least} to {most}") }
}

fn upwards(most: Option<f64>, words: impl Fn(f64) -> String) -> String {
    most.map(|most| format!(", {} at most", words(most))).unwrap_or_default()
}

impl VolumeRow {
    /// The name with the time: "gp2 since 2018-12-03"; the document's date where that is all that is known.
    pub fn title(&self) -> String {
        match (self.since, self.as_of) {
            (Some(since), _) => format!("{} since {since}", self.name),
            (None, Some(as_of)) => format!("{} as of {as_of}", self.name),
            (None, None) => self.name.clone(),
        }
    }

    /// When it is in force, of a row that the next one of its type ends: "2015-03-05 (by 2015-04-02) to 2016-06-29", "since 2018-12-03",
    /// "as of 2023-03-16", "undated".
    pub fn period(&self, next: Option<&Self>) -> String {
        let Some(since) = self.since else {
            return self.as_of.map_or_else(|| "undated".to_owned(), |as_of| format!("as of {as_of}"));
        };
        let latest = self.since_latest.map(|latest| format!(" (by {latest})")).unwrap_or_default();
        let end = self.until.or(next.and_then(Self::certain_since));
        match end.and_then(|end| end.day().yesterday().ok()) {
            Some(last) => format!("{since}{latest} to {last}"),
            None => format!("since {since}{latest}"),
        }
    }

    /// The sizes that it has: "1GiB to 16TiB"; none where they are not known.
    pub fn sizes(&self) -> Option<String> {
        let of_tiers = || {
            let most = self.tiers.last()?.size;
            let tiers = self.tiers.len();
            Some(if tiers == 1 {
                format!("{most} at most")
            } else {
                format!("{most} at most, in {tiers} tiers")
            })
        };
        self.size.map(sizes).or_else(of_tiers)
    }

    /// How many I/Os a second it may do: "3 per GiB, 100 at least, 16,000 at most; 3,000 while 5,400,000 credits last".
    pub fn iops_words(&self) -> Option<String> {
        let of_tiers = || span(self.tiers.iter().map(|tier| tier.iops), grouped);
        both(
            self.iops.map(IopsLaw::words).or_else(of_tiers),
            self.write_iops
                .map(IopsLaw::words)
                .or_else(|| span(self.tiers.iter().map(|tier| tier.write_iops), grouped)),
        )
    }

    /// How many bytes a second it may move.
    pub fn throughput_words(&self) -> Option<String> {
        let law = |law: &Option<ThroughputLaw>| law.as_ref().map(ThroughputLaw::words);
        let rates = |of: fn(&super::Tier) -> Option<BytesPerSecond>| {
            span(self.tiers.iter().map(|tier| of(tier).map(|rate| rate.0)), rate)
        };
        both(
            law(&self.throughput).or_else(|| rates(|tier| tier.throughput)),
            law(&self.write_throughput).or_else(|| rates(|tier| tier.write_throughput)),
        )
    }

    /// How it counts I/Os: "256KiB count as one, adjacent ones are merged".
    pub fn accounting_words(&self) -> Option<String> {
        let size = self.io_size?;
        let merged = if self.merge { ", adjacent ones together" } else { "" };
        let whole = if self.whole_ios { ", a smaller one as a whole one" } else { "" };
        Some(format!("up to {size} as one{merged}{whole}"))
    }
}

fn both(reads: Option<String>, writes: Option<String>) -> Option<String> {
    match (reads, writes) {
        (Some(reads), Some(writes)) => Some(format!("reads {reads}; writes {writes}")),
        (reads, _) => reads,
    }
}

/// The least and the most of the tiers.
fn span(figures: impl Iterator<Item = Option<f64>>, words: impl Fn(f64) -> String) -> Option<String> {
    let figures: Vec<f64> = figures.flatten().collect();
    let least = figures.iter().copied().reduce(f64::min)?;
    let most = figures.iter().copied().reduce(f64::max)?;
    let (least, most) = (words(least), words(most));
    Some(if least == most { least } else { format!("{least} to {most} by tier") })
}

impl IopsLaw {
    fn words(self) -> String {
        match self {
            Self::Constant { iops } => grouped(iops),
            Self::Size { per_gib, base, floor, cap, burst, credits } => {
                let base = if base > 0.0 { format!("{} and ", grouped(base)) } else { String::new() };
                let floor =
                    if floor > 0.0 { format!(", {} at least", grouped(floor)) } else { String::new() };
                let burst = burst.zip(credits).map(|(rate, credits)| {
                    format!("; {} while {} credits last", grouped(rate), grouped(credits))
                });
                format!(
                    "{base}{per_gib} per GiB{floor}{}{}",
                    upwards(cap, grouped),
                    burst.unwrap_or_default()
                )
            }
            Self::Provisioned { included, min, max, per_gib } => {
                let range =
                    format!("provisioned, {} to {}", grouped(f64::from(min)), grouped(f64::from(max)));
                let ratio = per_gib
                    .map(|per_gib| format!(", {} per GiB at most", grouped(per_gib)))
                    .unwrap_or_default();
                let included = included
                    .map(|included| format!(", {} included", grouped(f64::from(included))))
                    .unwrap_or_default();
                format!("{range}{ratio}{included}")
            }
        }
    }
}

impl ThroughputLaw {
    fn words(&self) -> String {
        match self {
            Self::Constant { rate: constant } => rate(constant.0),
            Self::Steps { steps } => {
                let step = |step: &super::Step| match step.up_to {
                    Some(size) => format!("{} up to {size}", rate(step.rate.0)),
                    None => format!("{} above", rate(step.rate.0)),
                };
                steps.iter().map(step).collect::<Vec<_>>().join(", ")
            }
            Self::Size { per_tib, base, cap, burst } => {
                let base = if base.0 > 0.0 { format!("{} and ", rate(base.0)) } else { String::new() };
                let burst = burst.map(|burst| {
                    format!(
                        "; {} per TiB, {} at most, while credits of {} per TiB last",
                        rate(burst.per_tib.0),
                        rate(burst.cap.0),
                        burst.credit_per_tib
                    )
                });
                let cap = upwards(cap.map(|cap| cap.0), rate);
                format!("{base}{} per TiB{cap}{}", rate(per_tib.0), burst.unwrap_or_default())
            }
            Self::PerIo { per_io, cap, above } => {
                let above = above.map(|above| {
                    format!(
                        "; above {} IOPS {} for each, {} at most",
                        grouped(f64::from(above.iops)),
                        above.per_io,
                        rate(above.cap.0)
                    )
                });
                format!("{per_io} for each I/O, {} at most{}", rate(cap.0), above.unwrap_or_default())
            }
            Self::Provisioned { included, min, max, per_iops } => {
                let included =
                    included.map(|included| format!(", {} included", rate(included.0))).unwrap_or_default();
                let range = format!("provisioned, {} to {}", rate(min.0), rate(max.0));
                format!("{range}, {} for each I/O at most{included}", rate(per_iops.0))
            }
        }
    }
}
