//! Volume types: what a volume of a type and size may do at a date, with its bursts and how it counts.

mod apply;
mod emulated;
mod laws;
mod price;
mod row;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeMap;

use iostone_model::cloud::{CatalogueDate, VolumeSpec};
use iostone_model::diagnostic::nearest;
use iostone_model::experiment::Basis;
use iostone_model::units::{Bytes, BytesPerSecond, Fraction, Span};
use serde::{Deserialize, Serialize};

pub use price::{
    HOURS_A_MONTH, MonthlyPrice, PricePart, UnknownVolumePrice, VOLUME_PRICES_AS_OF, volume_price,
    volume_price_regions,
};
pub use row::{
    IopsLaw, ManyIos, OffNitro, Step, ThroughputBurst, ThroughputLaw, Tier, VolumeRow, VolumeRowError,
};

/// The built-in rows; its head says where they are from.
const TABLE: &str = include_str!("../data/volumes.toml");

/// What one volume may do. What is not known, or not limited, is absent.
#[derive(Debug, Clone, PartialEq)]
pub struct VolumeLimits {
    /// The row of the catalogue: "gp2 since 2018-12-03".
    pub row: String,
    /// I/Os a second, reads and writes together unless `write_iops` is there too.
    pub iops: Option<Quantity>,
    /// I/Os a second of writes, where they have a limit of their own; `iops` is then that of reads.
    pub write_iops: Option<Quantity>,
    /// Bytes a second, reads and writes together unless `write_throughput` is there too.
    pub throughput: Option<Quantity>,
    /// Bytes a second of writes, where they have a limit of their own.
    pub write_throughput: Option<Quantity>,
    /// How large an I/O may be to count as one.
    pub io_size: Option<Bytes>,
    /// Whether adjacent small I/Os are counted together until they fill `io_size`.
    pub merge: bool,
    /// Whether an I/O that is smaller than `io_size` and not merged takes a whole one's bytes (st1, sc1).
    pub whole_ios: bool,
    /// The time of one I/O, where it is stated as a figure.
    pub latency: Option<Span>,
    /// The most on an instance that is not built on Nitro, where it is less; see [`VolumeLimits::on_instance`].
    pub off_nitro: Option<OffNitro>,
    /// How much of these limits the provider says that a volume delivers, where it says so.
    pub delivered: Option<Delivered>,
    /// What the figures rest on.
    pub basis: Basis,
    /// Who says so, and as of when.
    pub source: String,
    /// What else is to be known: a date between two laws, a size that a real volume cannot have. A sentence each, without its point.
    pub notes: Vec<String>,
}

/// A limit of something a second: in the long run, and for a while.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity {
    /// Units a second in the long run.
    pub base: f64,
    /// More for a while.
    pub burst: Option<QuantityBurst>,
}

/// A bucket that fills at the base and may be spent faster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantityBurst {
    /// Units a second while it lasts.
    pub rate: f64,
    /// Units that it holds.
    pub capacity: f64,
}

/// At least this share of its limits for this share of the time: "within 10 % of its performance 99 % of a year" is 90 % and 99 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivered {
    /// Of the limits.
    pub share: Fraction,
    /// Of the time.
    pub of_time: Fraction,
}

/// Why nothing is known of a volume.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VolumeError {
    /// No such type.
    #[error(
        "the catalogue knows no volume type `{volume_type}`{}",
        nearest.as_ref().map(|name| format!(", did you mean `{name}`?")).unwrap_or_default()
    )]
    Unknown {
        /// The type asked for.
        volume_type: String,
        /// The one that is spelled most like it.
        nearest: Option<String>,
    },
    /// The type was not there yet, or its limits of then are not known.
    #[error("`{volume_type}` has no known limits of {date}: {reason}")]
    NotThen {
        /// The type.
        volume_type: String,
        /// The date.
        date: CatalogueDate,
        /// Since when there are.
        reason: String,
    },
    /// A size, or something provisioned, that the type does not have.
    #[error("`{volume}`: {reason}")]
    Impossible {
        /// The volume in its words.
        volume: String,
        /// What it can have.
        reason: String,
    },
    /// Limits that an emulated volume cannot have.
    #[error("`{volume}` cannot be emulated: {reason}")]
    NotEmulated {
        /// The volume in its words.
        volume: String,
        /// Which limits, and what to do.
        reason: String,
    },
}

/// The volume types of a catalogue, each with its limits over time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct VolumeTypes {
    /// The rows of each type by the day from which they are in force for certain, undated ones first.
    rows: BTreeMap<String, Vec<VolumeRow>>,
}

/// The file of rows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    volume: Vec<VolumeRow>,
}

impl VolumeTypes {
    /// What is built in.
    pub fn built_in() -> Self {
        let table: Table = toml::from_str(TABLE).expect("the built-in table is whole, as a test says");
        let mut types = Self::default();
        for row in table.volume {
            types.insert(row).expect("the built-in rows are sound, as a test says");
        }
        types
    }

    /// Adds a row, in place of the one of the same type and `since`. A row without `since` replaces all of its type: it says what holds
    /// at any date.
    ///
    /// # Errors
    /// [`VolumeRowError`]: what [`VolumeRow::check`] finds.
    pub fn insert(&mut self, row: VolumeRow) -> Result<(), VolumeRowError> {
        row.check()?;
        let rows = self.rows.entry(row.name.clone()).or_default();
        match row.since {
            None => rows.clear(),
            Some(since) => rows.retain(|old| old.since.is_some_and(|old| old.day() != since.day())),
        }
        rows.push(row);
        rows.sort_by_key(|row| row.certain_since().map(CatalogueDate::day));
        Ok(())
    }

    /// Every type by its name, `gp2` or `azure/premium-ssd`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rows.keys().map(String::as_str)
    }

    /// The rows of a type, the oldest first; a tier's name (`azure/P30`) stands for its type, and `GP2` for `gp2`.
    ///
    /// # Errors
    /// [`VolumeError::Unknown`], with the name that is most like it.
    pub fn history(&self, name: &str) -> Result<&[VolumeRow], VolumeError> {
        let name = name.strip_prefix("aws/").unwrap_or(name);
        if let Some(rows) = self.rows.get(name).or_else(|| self.rows.get(&name.to_ascii_lowercase())) {
            return Ok(rows);
        }
        let (provider, tier) = name.split_once('/').unwrap_or(("aws", name));
        let has_tier = |rows: &&Vec<VolumeRow>| {
            let tiers = rows.iter().filter(|row| row.provider() == provider).flat_map(|row| &row.tiers);
            tiers.into_iter().any(|own| own.is_named(tier))
        };
        self.rows.values().find(has_tier).map(Vec::as_slice).ok_or_else(|| {
            let tiers = self.rows.values().flatten().flat_map(|row| {
                row.tiers
                    .iter()
                    .filter_map(|tier| Some(format!("{}/{}", row.provider(), tier.name.as_ref()?)))
            });
            let known: Vec<String> = self.names().map(str::to_owned).chain(tiers).collect();
            VolumeError::Unknown {
                volume_type: name.to_owned(),
                nearest: nearest(name, known.iter().map(String::as_str)).map(str::to_owned),
            }
        })
    }

    /// The row of a type that is in force at a date, with what is to be said about that. Of a day between the earliest and the latest
    /// on which limits may have changed, the earlier law is taken, and so it is of a month or a year in which they did; one in which the
    /// type came has the first law.
    ///
    /// # Errors
    /// [`VolumeError::Unknown`], [`VolumeError::NotThen`].
    pub fn row_at(&self, name: &str, date: CatalogueDate) -> Result<(&VolumeRow, Vec<String>), VolumeError> {
        let rows = self.history(name)?;
        let (mut day, last) = (date.day(), date.last_day());
        let came =
            rows.first().and_then(VolumeRow::certain_since).filter(|came| (day..=last).contains(&came.day()));
        if let Some(came) = came.filter(|came| came.day() > day) {
            // Only the part of the month or year in which there was such a volume can be meant.
            day = came.day();
        }
        let not_then = |reason: String| VolumeError::NotThen { volume_type: name.to_owned(), date, reason };
        let has_begun = |since: Option<CatalogueDate>| since.is_none_or(|since| since.day() <= day);
        let mut notes = Vec::new();
        let current = match rows.iter().rposition(|row| has_begun(row.certain_since())) {
            Some(index) => index,
            // Not for certain, but there is no earlier law to take.
            None if rows.first().is_some_and(|row| has_begun(row.since)) => 0,
            None => {
                let first = rows.first();
                let since = first.and_then(|row| row.since).map(|since| since.to_string());
                let since = since.unwrap_or_default();
                return Err(not_then(match first.and_then(|row| row.launched) {
                    Some(launched) if launched.day() <= day => {
                        format!("it came on {launched}, its limits are known since {since}")
                    }
                    _ => format!("it came on {since}"),
                }));
            }
        };
        let Some(row) = rows.get(current) else { return Err(not_then("it has no rows".to_owned())) };
        if let Some(until) = row.until
            && until.day() <= day
        {
            let successor =
                row.successor.as_ref().map(|name| format!("; `{name}` took its place")).unwrap_or_default();
            return Err(not_then(format!("it ended before {until}{successor}")));
        }
        if let Some(as_of) = row.as_of {
            if last < as_of.day() {
                return Err(not_then(format!("they are documented as of {as_of}, not since when they hold")));
            }
            notes.push(format!("its limits are those documented as of {as_of}"));
        } else if row.since.is_none() {
            notes.push("its limits bear no date: whether they held then is not known".to_owned());
        }
        if let Some(came) = came.filter(|came| came.day() > date.day()) {
            notes.push(format!("it came on {came}, and the limits of then are taken for {date}"));
        }
        let next = rows.get(current + 1);
        if let Some(next) = next.and_then(VolumeRow::certain_since)
            && next.day() > day
            && next.day() <= last
        {
            notes.push(format!("its limits changed on {next}, within {date}; those before are taken"));
        }
        let next = next.filter(|next| has_begun(next.since));
        let uncertain = next.or(Some(row).filter(|row| !has_begun(row.certain_since())));
        if let Some(VolumeRow { since: Some(earliest), since_latest: Some(latest), .. }) = uncertain {
            notes.push(match next {
                Some(_) => {
                    format!(
                        "the next limits came between {earliest} and {latest}; the earlier ones are taken"
                    )
                }
                None => format!("it came between {earliest} and {latest}"),
            });
        }
        Ok((row, notes))
    }

    /// What one of these volumes may do at a date. Sizes count as they are, to the byte.
    ///
    /// # Errors
    /// [`VolumeError`] where the type, its limits of then or what is provisioned cannot be.
    pub fn limits(&self, spec: &VolumeSpec, date: CatalogueDate) -> Result<VolumeLimits, VolumeError> {
        let (row, notes) = self.row_at(&name_of(spec), date)?;
        let mut limits = row.apply(spec)?;
        limits.notes.splice(0..0, notes);
        Ok(limits)
    }
}

/// The name of a volume's type in the catalogue.
fn name_of(spec: &VolumeSpec) -> String {
    match spec.provider.as_str() {
        "aws" => spec.volume_type.clone(),
        provider => format!("{provider}/{}", spec.volume_type),
    }
}

impl VolumeLimits {
    /// Nothing is limited, and the rest is as the row has it.
    fn of_row(row: &VolumeRow) -> Self {
        Self {
            row: row.title(),
            iops: None,
            write_iops: None,
            throughput: None,
            write_throughput: None,
            io_size: row.io_size,
            merge: row.merge,
            whole_ios: row.whole_ios,
            latency: row.latency,
            off_nitro: row.off_nitro,
            delivered: row.delivered,
            basis: row.basis,
            source: row.source.clone(),
            notes: Vec::new(),
        }
    }

    /// The limits on an instance that is, or is not, built on Nitro: io1 and io2 do less elsewhere (EC2 API Reference, `CreateVolume`:
    /// 32,000 IOPS; EC2 User Guide: 500 MiB/s).
    #[must_use]
    pub fn on_instance(mut self, is_nitro: bool) -> Self {
        if let Some(OffNitro { iops, throughput }) = self.off_nitro.take_if(|_| !is_nitro) {
            for quantity in [&mut self.iops, &mut self.write_iops].into_iter().flatten() {
                *quantity = quantity.capped(iops);
            }
            if let Some(BytesPerSecond(most)) = throughput {
                for quantity in [&mut self.throughput, &mut self.write_throughput].into_iter().flatten() {
                    *quantity = quantity.capped(most);
                }
            }
        }
        self
    }
}

impl Quantity {
    /// A limit without a burst.
    pub fn of(base: f64) -> Self {
        Self { base, burst: None }
    }

    /// The most a second, while its bucket lasts.
    pub fn peak(self) -> f64 {
        self.burst.map_or(self.base, |burst| burst.rate.max(self.base))
    }

    /// For how long a full bucket lasts at its burst rate, in seconds; it fills at the base meanwhile.
    pub fn burst_seconds(self) -> Option<f64> {
        self.burst.map(|burst| burst.capacity / (burst.rate - self.base))
    }

    fn scaled(self, factor: f64) -> Self {
        let burst = self
            .burst
            .map(|burst| QuantityBurst { rate: burst.rate * factor, capacity: burst.capacity * factor });
        Self { base: self.base * factor, burst }
    }

    fn capped(self, most: f64) -> Self {
        let base = self.base.min(most);
        let burst = self.burst.map(|burst| QuantityBurst { rate: burst.rate.min(most), ..burst });
        Self { base, burst: burst.filter(|burst| burst.rate > base) }
    }
}
