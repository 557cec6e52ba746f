//! On-demand prices of instances, built in: Linux, shared tenancy, without volumes.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use iostone_model::diagnostic::nearest;
use iostone_model::experiment::Price;

/// One row an instance type, one column a region; its head says where it is from.
const TABLE: &str = include_str!("../data/prices.csv");

/// The day of the prices; they change, mostly downwards.
pub const AS_OF: &str = "2025-05-28";

/// The region whose prices are taken where nobody says another.
pub const DEFAULT_REGION: &str = "us-east-1";

/// Why a price is not known: one sentence without its point.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownPrice {
    /// No such region in the catalogue.
    #[error("the catalogue has no prices of the region `{region}`, only of {}", known.join(" and "))]
    Region {
        /// The region asked for.
        region: String,
        /// Those that it has.
        known: Vec<String>,
    },
    /// No such instance type.
    #[error(
        "the catalogue of {AS_OF} knows no price of `{instance}`{}; say it with `machine.usd_per_hour`",
        nearest.as_ref().map(|name| format!(", did you mean `{name}`?")).unwrap_or_default()
    )]
    Instance {
        /// The type asked for.
        instance: String,
        /// The one that is spelled most like it.
        nearest: Option<String>,
    },
    /// The type is not offered in that region.
    #[error(
        "the catalogue of {AS_OF} knows no price of `{instance}` in {region}; say it with `machine.usd_per_hour`"
    )]
    NotThere {
        /// The type asked for.
        instance: String,
        /// The region asked for.
        region: String,
    },
}

/// The columns of regions, and the prices by type in their order.
struct Catalogue {
    regions: Vec<String>,
    prices: BTreeMap<String, Vec<Option<f64>>>,
}

fn catalogue() -> &'static Catalogue {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    CATALOGUE.get_or_init(|| {
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(TABLE.as_bytes());
        let regions = reader
            .headers()
            .map(|names| names.iter().skip(1).map(str::to_owned).collect())
            .unwrap_or_default();
        let row = |record: csv::StringRecord| {
            let instance = record.get(0)?.to_owned();
            Some((instance, record.iter().skip(1).map(|field| field.parse().ok()).collect()))
        };
        Catalogue { regions, prices: reader.records().filter_map(Result::ok).filter_map(row).collect() }
    })
}

/// The regions that prices are known of.
pub fn regions() -> &'static [String] {
    &catalogue().regions
}

/// What an hour of an instance costs on demand in a region, in US dollars.
///
/// # Errors
/// [`UnknownPrice`]: the region or the type is not in the catalogue, or the type has no price there.
pub fn price(instance: &str, region: &str) -> Result<Price, UnknownPrice> {
    let catalogue = catalogue();
    let Some(column) = catalogue.regions.iter().position(|known| known == region) else {
        return Err(UnknownPrice::Region { region: region.to_owned(), known: catalogue.regions.clone() });
    };
    let Some(prices) = catalogue.prices.get(instance) else {
        let nearest = nearest(instance, catalogue.prices.keys().map(String::as_str)).map(str::to_owned);
        return Err(UnknownPrice::Instance { instance: instance.to_owned(), nearest });
    };
    let not_there = || UnknownPrice::NotThere { instance: instance.to_owned(), region: region.to_owned() };
    let usd_per_hour = prices.get(column).copied().flatten().ok_or_else(not_there)?;
    let source = format!("on demand in {region} on {AS_OF}, Linux, without volumes");
    Ok(Price { usd_per_hour, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instances_of_the_first_reports_have_their_price() {
        let usd = |instance: &str| price(instance, DEFAULT_REGION).unwrap().usd_per_hour;
        let known = [("t1.micro", 0.02), ("m1.large", 0.175), ("m1.xlarge", 0.35), ("m2.2xlarge", 0.49)];
        for (instance, expected) in known {
            assert!((usd(instance) - expected).abs() < 1e-9, "{instance}: {}", usd(instance));
        }
        let tokyo = price("m1.large", "ap-northeast-1").unwrap();
        assert!((tokyo.usd_per_hour - 0.243).abs() < 1e-9);
        assert!(tokyo.source.contains("ap-northeast-1 on 2025-05-28"), "{}", tokyo.source);
    }

    #[test]
    fn every_price_in_the_table_is_a_price() {
        let catalogue = catalogue();
        assert_eq!(catalogue.regions, ["us-east-1", "ap-northeast-1"]);
        assert!(catalogue.prices.len() > 900, "{}", catalogue.prices.len());
        let known = catalogue.prices.values().flatten().flatten().count();
        assert_eq!(known, 1712);
        assert!(catalogue.prices.values().flatten().flatten().all(|usd| *usd > 0.0));
        assert!(TABLE.contains(AS_OF));
    }

    #[test]
    fn what_is_unknown_is_said_with_the_nearest_name() {
        let error = price("m1.lrage", DEFAULT_REGION).unwrap_err().to_string();
        assert!(error.contains("did you mean `m1.large`?"), "{error}");
        let error = price("cc2.8xlarge.metal.turbo", DEFAULT_REGION).unwrap_err().to_string();
        assert!(!error.contains("did you mean"), "{error}");
        let error = price("m1.large", "mars-1").unwrap_err().to_string();
        assert!(error.contains("`mars-1`, only of us-east-1 and ap-northeast-1"), "{error}");
    }
}
