//! On-demand prices of instances: Linux, shared tenancy, without volumes. Built in, with rows of the user's laid over them.

use std::collections::BTreeMap;

use iostone_model::diagnostic::nearest;
use iostone_model::experiment::Price;
use iostone_model::figures::list;

use crate::catalogue::catalogue;

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
    #[error("the catalogue has no prices of the region `{region}`, only of {}", list(known))]
    Region {
        /// The region asked for.
        region: String,
        /// Those that it has.
        known: Vec<String>,
    },
    /// No such instance type.
    #[error(
        "the catalogue of {AS_OF} knows no price of `{instance}`{} say it with `machine.usd_per_hour`",
        nearest.as_ref().map_or_else(|| ";".to_owned(), |name| format!(", did you mean `{name}`?"))
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

/// Prices by instance type and region: those built in, with rows of the user's laid over them.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Prices {
    /// In the order in which they came.
    regions: Vec<String>,
    by_type: BTreeMap<String, BTreeMap<String, Known>>,
}

/// A price, and who says so if that is the user.
#[derive(Debug, Clone, PartialEq)]
struct Known {
    usd_per_hour: f64,
    said: Option<String>,
}

impl Known {
    fn price(&self, region: &str) -> Price {
        let source = match &self.said {
            Some(said) => format!("on demand in {region}: {said}"),
            None => format!("on demand in {region} on {AS_OF}, Linux, without volumes"),
        };
        Price { usd_per_hour: self.usd_per_hour, source }
    }
}

impl Prices {
    /// What is built in.
    pub(crate) fn built_in() -> Self {
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(TABLE.as_bytes());
        let regions: Vec<String> = reader
            .headers()
            .map(|names| names.iter().skip(1).map(str::to_owned).collect())
            .unwrap_or_default();
        let mut by_type = BTreeMap::new();
        for record in reader.records().filter_map(Result::ok) {
            let Some(instance) = record.get(0) else { continue };
            let known = regions.iter().zip(record.iter().skip(1)).filter_map(|(region, field)| {
                let usd_per_hour = field.parse().ok()?;
                Some((region.clone(), Known { usd_per_hour, said: None }))
            });
            by_type.insert(instance.to_owned(), known.collect());
        }
        Self { regions, by_type }
    }

    /// Lays a price of the user's over what is known, with the words of who says so.
    pub(crate) fn set(&mut self, instance: &str, region: &str, usd_per_hour: f64, said: String) {
        if !self.regions.iter().any(|known| known == region) {
            self.regions.push(region.to_owned());
        }
        let prices = self.by_type.entry(instance.to_owned()).or_default();
        prices.insert(region.to_owned(), Known { usd_per_hour, said: Some(said) });
    }

    /// The regions that prices are known of.
    pub(crate) fn regions(&self) -> &[String] {
        &self.regions
    }

    /// What is known of an instance type, by region.
    pub(crate) fn of(&self, instance: &str) -> BTreeMap<String, f64> {
        let prices = self.by_type.get(instance);
        prices.into_iter().flatten().map(|(region, known)| (region.clone(), known.usd_per_hour)).collect()
    }

    /// See [`price`].
    pub(crate) fn price(&self, instance: &str, region: &str) -> Result<Price, UnknownPrice> {
        if !self.regions.iter().any(|known| known == region) {
            return Err(UnknownPrice::Region { region: region.to_owned(), known: self.regions.clone() });
        }
        let Some(prices) = self.by_type.get(instance) else {
            let nearest = nearest(instance, self.by_type.keys().map(String::as_str)).map(str::to_owned);
            return Err(UnknownPrice::Instance { instance: instance.to_owned(), nearest });
        };
        let known = prices.get(region).ok_or_else(|| UnknownPrice::NotThere {
            instance: instance.to_owned(),
            region: region.to_owned(),
        })?;
        Ok(known.price(region))
    }

    /// The price with its source; none where it is unknown, without a search for similar names.
    pub(crate) fn known(&self, instance: &str, region: &str) -> Option<Price> {
        Some(self.by_type.get(instance)?.get(region)?.price(region))
    }

    /// The price alone, $/h.
    pub(crate) fn usd_per_hour(&self, instance: &str, region: &str) -> Option<f64> {
        Some(self.by_type.get(instance)?.get(region)?.usd_per_hour)
    }
}

/// The regions that prices are known of, in the catalogue in force.
pub fn regions() -> &'static [String] {
    catalogue().regions()
}

/// What an hour of an instance costs on demand in a region, in US dollars, by the catalogue in force.
///
/// # Errors
/// [`UnknownPrice`]: the region or the type is not in the catalogue, or the type has no price there.
pub fn price(instance: &str, region: &str) -> Result<Price, UnknownPrice> {
    catalogue().price(instance, region)
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
        let prices = Prices::built_in();
        assert_eq!(prices.regions(), ["us-east-1", "ap-northeast-1"]);
        assert!(prices.by_type.len() > 900, "{}", prices.by_type.len());
        let known: Vec<f64> =
            prices.by_type.values().flat_map(BTreeMap::values).map(|known| known.usd_per_hour).collect();
        assert_eq!(known.len(), 1712);
        assert!(known.iter().all(|usd| *usd > 0.0));
        assert!(TABLE.contains(AS_OF));
    }

    #[test]
    fn a_price_of_the_user_goes_before_and_brings_its_region() {
        let mut prices = Prices::built_in();
        prices.set("c4.large", "mars-1", 0.5, "your catalogue, f".to_owned());
        prices.set("c4.large", DEFAULT_REGION, 0.01, "your catalogue, f".to_owned());
        assert_eq!(prices.regions().last().map(String::as_str), Some("mars-1"));
        let price = prices.price("c4.large", DEFAULT_REGION).unwrap();
        assert!((price.usd_per_hour - 0.01).abs() < 1e-12);
        assert_eq!(price.source, "on demand in us-east-1: your catalogue, f");
        let error = prices.price("m1.large", "mars-1").unwrap_err().to_string();
        assert!(error.contains("knows no price of `m1.large` in mars-1"), "{error}");
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
