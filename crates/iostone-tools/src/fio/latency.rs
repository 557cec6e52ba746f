//! Latencies in fio's JSON: read without keeping their bins, unless a percentile must be found from them.

use std::fmt;

use iostone_model::dataset::Figure;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::flow::{Latency, PERCENTS, index_of};

/// More bins than any fio has (29 groups of 64).
const MOST_BINS: usize = 1 << 16;

/// A latency object: in nanoseconds since 3.0 (`clat_ns`), in microseconds before (`clat`).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Printed {
    max: f64,
    mean: f64,
    /// How many samples; not printed before 3.7.
    samples: Option<f64>,
    percentiles: [Option<f64>; 5],
}

impl Printed {
    /// In seconds, of a unit of so many; None where nothing was measured.
    pub(super) fn latency(&self, unit: f64) -> Option<Latency> {
        if self.samples == Some(0.0) || (self.samples.is_none() && self.max <= 0.0 && self.mean <= 0.0) {
            return None;
        }
        // Whole units, but for the mean, which has six decimals.
        let whole = |value: f64| Figure { value: value * unit, step: unit };
        let mut latency = Latency {
            mean: Some(Figure { value: self.mean * unit, step: 1e-6 * unit }),
            max: Some(whole(self.max)),
            percentiles: [None; 5],
        };
        for (percent, value) in PERCENTS.iter().zip(self.percentiles) {
            if let Some(value) = value {
                latency.set_percentile(*percent, whole(value));
            }
        }
        Some(latency)
    }
}

impl<'de> Deserialize<'de> for Printed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PrintedVisitor)
    }
}

struct PrintedVisitor;

impl<'de> Visitor<'de> for PrintedVisitor {
    type Value = Printed;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("latencies")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Printed, A::Error> {
        let mut printed = Printed::default();
        let mut bins = Bins::default();
        while let Some(key) = map.next_key::<Box<str>>()? {
            match &*key {
                "max" => printed.max = map.next_value()?,
                "mean" => printed.mean = map.next_value()?,
                "N" => printed.samples = Some(map.next_value()?),
                "percentile" => printed.percentiles = map.next_value::<Percentiles>()?.0,
                // Thousands of numbers that the percentiles already sum up.
                "bins" if printed.percentiles.iter().any(Option::is_none) => bins = map.next_value()?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        for (percent, slot) in PERCENTS.iter().zip(&mut printed.percentiles) {
            *slot = slot.or_else(|| bins.percentile(*percent));
        }
        Ok(printed)
    }
}

/// `"99.000000" : 12345` for each listed percentile.
#[derive(Default)]
struct Percentiles([Option<f64>; 5]);

impl<'de> Deserialize<'de> for Percentiles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PercentilesVisitor)
    }
}

struct PercentilesVisitor;

impl<'de> Visitor<'de> for PercentilesVisitor {
    type Value = Percentiles;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("percentiles")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Percentiles, A::Error> {
        let mut percentiles = Percentiles::default();
        while let Some((key, value)) = map.next_entry::<Box<str>, f64>()? {
            let percent: f64 =
                key.trim().parse().map_err(|_| Error::custom(format!("`{key}`, expected a percentage")))?;
            // Versions before 3.0 fill the list up with `"0.00" : 0`, which is none of ours.
            if let Some(slot) = index_of(percent).and_then(|place| percentiles.0.get_mut(place)) {
                *slot = Some(value);
            }
        }
        Ok(percentiles)
    }
}

/// `"87552" : 1`: how many latencies there were in the bin with that middle.
#[derive(Default)]
struct Bins {
    counts: Vec<(u64, u64)>,
    /// 2.14 to 2.21 print the number of a bin instead of its middle.
    numbered: bool,
}

impl Bins {
    /// The middle of the first bin with at least that share of all in it and below, as fio's `calc_clat_percentiles`
    /// has it; None of numbered bins.
    fn percentile(&mut self, percent: f64) -> Option<f64> {
        if self.numbered {
            return None;
        }
        self.counts.sort_unstable();
        let total = self.counts.iter().fold(0.0, |sum, (_, count)| sum + *count as f64);
        let mut sum = 0.0;
        let reached = self.counts.iter().find(|(_, count)| {
            sum += *count as f64;
            sum >= percent / 100.0 * total
        });
        reached.map(|(middle, _)| *middle as f64)
    }
}

impl<'de> Deserialize<'de> for Bins {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(BinsVisitor)
    }
}

struct BinsVisitor;

impl<'de> Visitor<'de> for BinsVisitor {
    type Value = Bins;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("bins of latencies")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Bins, A::Error> {
        let mut bins = Bins::default();
        while let Some((key, count)) = map.next_entry::<Box<str>, u64>()? {
            if key.starts_with("FIO_IO_U_PLAT") {
                bins.numbered = true;
                continue;
            }
            let middle = key.parse().map_err(|_| Error::custom(format!("`{key}`, expected a latency")))?;
            if bins.counts.len() >= MOST_BINS {
                return Err(Error::custom("more bins than fio has"));
            }
            if count > 0 {
                bins.counts.push((middle, count));
            }
        }
        Ok(bins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_taken_as_printed_and_the_rest_from_bins() {
        let text = r#"{"min": 1, "max": 900, "mean": 250.5, "N": 10, "percentile": {"99.000000": 800, "1.0": 5},
            "bins": {"100": 4, "200": 1, "300": 4, "900": 1}}"#;
        let latency = serde_json::from_str::<Printed>(text).unwrap().latency(1e-9).unwrap();
        let [p50, p90, p99, p999, _] = latency.percentiles.map(|figure| figure.unwrap().value);
        assert_eq!((p50, p90, p99, p999), (200.0 * 1e-9, 300.0 * 1e-9, 800.0 * 1e-9, 900.0 * 1e-9));
        assert_eq!(latency.max.unwrap(), Figure { value: 900.0 * 1e-9, step: 1e-9 });
    }

    #[test]
    fn fillers_and_numbered_bins_yield_no_percentile() {
        let text = r#"{"max": 9, "mean": 5, "percentile": {"50.00": 4, "0.00": 0},
            "bins": {"0": 0, "7": 3, "FIO_IO_U_PLAT_BITS": 6}}"#;
        let latency = serde_json::from_str::<Printed>(text).unwrap().latency(1e-6).unwrap();
        assert_eq!(latency.percentiles.iter().flatten().count(), 1);
        assert_eq!(serde_json::from_str::<Printed>(r#"{"max": 0, "mean": 0}"#).unwrap().latency(1.0), None);
        assert_eq!(serde_json::from_str::<Printed>(r#"{"N": 0, "max": 0}"#).unwrap().latency(1.0), None);
    }

    #[test]
    fn a_percentile_that_is_no_number_is_refused() {
        let error = serde_json::from_str::<Printed>(r#"{"percentile": {"x": 1}}"#).unwrap_err();
        assert!(error.to_string().starts_with("`x`, expected a percentage"), "{error}");
    }
}
