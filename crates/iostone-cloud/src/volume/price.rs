//! On-demand prices of volumes, built in: what a month of one costs, with its provisioned I/Os and throughput.

use std::sync::OnceLock;

use iostone_model::cloud::VolumeSpec;
use iostone_model::figures::list;

use super::words::grouped;

/// One row a price; its head says where each is from.
const TABLE: &str = include_str!("../../data/volume-prices.csv");

/// The day of the prices.
pub const VOLUME_PRICES_AS_OF: &str = "2026-10-15";

/// Hours in the month that prices are said for, as providers reckon it: 365 days of 24 hours over 12.
pub const HOURS_A_MONTH: f64 = 730.0;

/// What volumes cost a month, in US dollars.
#[derive(Debug, Clone, PartialEq)]
pub struct MonthlyPrice {
    /// All volumes together.
    pub usd: f64,
    /// What it consists of, for all volumes together.
    pub parts: Vec<PricePart>,
    /// What is charged beside it and depends on use: "0.05 USD for each million I/Os", or that the price of that is not known. None of
    /// most types.
    pub by_use: Option<String>,
    /// Where and as of when.
    pub source: String,
}

/// A part of a price.
#[derive(Debug, Clone, PartialEq)]
pub struct PricePart {
    /// What is paid for: "GiB-month", "IOPS-month", "MiB/s-month".
    pub unit: String,
    /// So many.
    pub quantity: f64,
    /// What one costs, in US dollars.
    pub usd_each: f64,
    /// What they cost, in US dollars.
    pub usd: f64,
}

/// Why a price is not known: one sentence without its point.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownVolumePrice {
    /// No such region in the table.
    #[error("the catalogue has no prices of volumes in the region `{region}`, only in {}", list(known))]
    Region {
        /// The region asked for.
        region: String,
        /// Those that it has.
        known: Vec<String>,
    },
    /// No price of the type.
    #[error("the catalogue of {VOLUME_PRICES_AS_OF} knows no price of `{volume_type}` in {region}")]
    Type {
        /// The type asked for.
        volume_type: String,
        /// The region asked for.
        region: String,
    },
    /// Its I/Os are paid for, and nobody said how many.
    #[error("what `{volume}` costs depends on its provisioned IOPS, which are missing")]
    Unprovisioned {
        /// The volume.
        volume: String,
    },
}

/// A price of one thing of one type in one region, for what lies above `above` of it.
#[derive(Debug, Clone, PartialEq)]
struct Rate {
    volume_type: String,
    region: String,
    unit: String,
    above: f64,
    usd: f64,
}

fn rates() -> &'static [Rate] {
    static RATES: OnceLock<Vec<Rate>> = OnceLock::new();
    RATES.get_or_init(|| {
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(TABLE.as_bytes());
        let rate = |record: csv::StringRecord| {
            Some(Rate {
                volume_type: record.get(0)?.to_owned(),
                region: record.get(1)?.to_owned(),
                unit: record.get(2)?.to_owned(),
                above: record.get(3)?.parse().ok()?,
                usd: record.get(4)?.parse().ok()?,
            })
        };
        reader.records().filter_map(Result::ok).filter_map(rate).collect()
    })
}

/// The regions that prices of volumes are known of.
pub fn volume_price_regions() -> Vec<String> {
    let mut regions: Vec<String> = Vec::new();
    for rate in rates() {
        if !regions.contains(&rate.region) {
            regions.push(rate.region.clone());
        }
    }
    regions
}

/// What these volumes cost a month in a region, on demand: for each GiB, and for each provisioned I/O and MiB a second above what is
/// included. Prices are those of [`VOLUME_PRICES_AS_OF`], whatever the date of the limits.
///
/// # Errors
/// [`UnknownVolumePrice`].
pub fn volume_price(spec: &VolumeSpec, region: &str) -> Result<MonthlyPrice, UnknownVolumePrice> {
    let known = volume_price_regions();
    if !known.iter().any(|own| own == region) {
        return Err(UnknownVolumePrice::Region { region: region.to_owned(), known });
    }
    let name = super::name_of(spec);
    let own: Vec<&Rate> =
        rates().iter().filter(|rate| rate.volume_type == name && rate.region == region).collect();
    if own.is_empty() {
        return Err(UnknownVolumePrice::Type { volume_type: name, region: region.to_owned() });
    }
    let mut parts = Vec::new();
    for unit in ["GiB-month", "IOPS-month", "MiB/s-month"] {
        let tiers: Vec<&Rate> = own.iter().copied().filter(|rate| rate.unit == unit).collect();
        let Some(first) = tiers.first() else { continue };
        let quantity = match unit {
            "GiB-month" => spec.size.0 as f64 / f64::from(1 << 30),
            // What is not asked for is what is included, which costs nothing.
            "IOPS-month" => match spec.iops {
                Some(iops) => f64::from(iops),
                None if first.above > 0.0 => continue,
                None => return Err(UnknownVolumePrice::Unprovisioned { volume: spec.to_string() }),
            },
            _ => match spec.throughput {
                Some(rate) => rate.0 as f64 / f64::from(1 << 20),
                None => continue,
            },
        };
        for (index, rate) in tiers.iter().enumerate() {
            let upper = tiers.get(index + 1).map_or(f64::INFINITY, |next| next.above);
            let of_tier = (quantity.min(upper) - rate.above) * f64::from(spec.count);
            if of_tier > 0.0 {
                let usd = of_tier * rate.usd;
                parts.push(PricePart { unit: unit.to_owned(), quantity: of_tier, usd_each: rate.usd, usd });
            }
        }
    }
    // What is charged somewhere is charged everywhere, also where nobody tells how much.
    let of_ios = |rate: &&Rate| rate.volume_type == name && rate.unit == "million-IOs";
    let by_use = own.iter().copied().find(of_ios).map_or_else(
        || {
            let elsewhere = rates().iter().find(of_ios)?;
            Some(format!(
                "each million I/Os is charged for, and its price in {region} is not known ({} USD in {})",
                elsewhere.usd, elsewhere.region
            ))
        },
        |rate| Some(format!("{} USD for each million I/Os", rate.usd)),
    );
    Ok(MonthlyPrice {
        usd: parts.iter().map(|part| part.usd).sum(),
        parts,
        by_use,
        source: format!("on demand in {region} on {VOLUME_PRICES_AS_OF}, AWS price list"),
    })
}

impl MonthlyPrice {
    /// What an hour costs, in US dollars: a month has [`HOURS_A_MONTH`].
    pub fn usd_per_hour(&self) -> f64 {
        self.usd / HOURS_A_MONTH
    }

    /// "500 GiB-month at 0.08 USD, 3,000 IOPS-month at 0.005 USD".
    pub fn in_words(&self) -> String {
        let part =
            |part: &PricePart| format!("{} {} at {} USD", grouped(part.quantity), part.unit, part.usd_each);
        self.parts.iter().map(part).collect::<Vec<_>>().join(", ")
    }
}
