//! Finds bytes that a tool claims and the device never served: page cache.

use std::collections::BTreeMap;

use iostone_model::audit::Severity;
use iostone_model::dataset::Dataset;

use super::case::{Case, concluded, condition, percent, size};
use crate::Outcome;
use crate::rule::Rule;

/// Less than this is the moment at which a counter was read, or a request that was under way.
const NOTED: f64 = 0.03;
/// From here on the figure is visibly not the device's.
const WARNED: f64 = 0.10;
/// From here on most of it is memory's.
const GRAVE: f64 = 0.50;

/// Bytes claimed beyond bytes served.
pub(super) struct PageCache;

/// Both counts of one condition.
#[derive(Debug, Default)]
struct Counts {
    first: usize,
    condition: String,
    claimed: [f64; 2],
    missing: [f64; 2],
    /// What compressed it above the device.
    compressed: Option<String>,
}

impl Counts {
    /// The share of what was claimed that was not served.
    fn share(&self) -> f64 {
        self.missing.iter().sum::<f64>() / self.claimed.iter().sum::<f64>()
    }
}

impl Rule for PageCache {
    fn name(&self) -> &'static str {
        "page-cache"
    }

    fn looks_for(&self) -> &'static str {
        "more bytes claimed by the tool than served by the device"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let mut conditions = count(dataset);
        // The message is of the worst, and so is the first line of evidence.
        conditions.sort_by(|one, other| other.share().total_cmp(&one.share()));
        let mut worst: Option<(f64, String)> = None;
        let mut cases = Vec::new();
        for counts in &conditions {
            let (claimed, share) = (counts.claimed.iter().sum::<f64>(), counts.share());
            let severity = match share {
                share if share > GRAVE => Severity::Serious,
                share if share > WARNED => Severity::Warning,
                share if share > NOTED => Severity::Note,
                _ => continue,
            };
            let text = text(counts);
            let under = if counts.condition.is_empty() {
                String::new()
            } else {
                format!("under {} ", counts.condition)
            };
            if let Some(by) = &counts.compressed {
                let message = format!(
                    "{under}{} of the {} that the tool claims never passed the device: compressed by {by}, so that nothing \
                     is known of the page cache",
                    percent(share),
                    size(claimed)
                );
                // What a cache took is worse than what was only packed.
                if worst.is_none() {
                    worst = Some((0.0, message));
                }
                let text = format!("{text}; compressed by {by}");
                cases.push(Case { index: counts.first, severity: Severity::Note, text });
                continue;
            }
            let message = format!(
                "{under}{} of the {} that the tool claims never passed the device: page cache",
                percent(share),
                size(claimed)
            );
            if worst.as_ref().is_none_or(|(so_far, _)| share > *so_far) {
                worst = Some((share, message));
            }
            cases.push(Case { index: counts.first, severity, text });
        }
        let message = worst.map(|(_, message)| message);
        concluded(
            !conditions.is_empty(),
            self,
            dataset,
            cases,
            message,
            "Judge by what the device served, or take the cache out of the way: O_DIRECT, a flush before the clock \
             stops, or files of at least twice the memory.",
        )
    }
}

/// Sums over each condition of each table, where both counts are known.
fn count(dataset: &Dataset) -> Vec<Counts> {
    let mut conditions: Vec<Counts> = Vec::new();
    let mut places: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (index, observation) in dataset.observations.iter().enumerate() {
        let facts = &observation.facts;
        let pairs = [
            facts.claimed_read_bytes.zip(facts.served_read_bytes),
            facts.claimed_written_bytes.zip(facts.served_written_bytes),
        ];
        if pairs.iter().flatten().all(|(claimed, _)| *claimed == 0) {
            continue;
        }
        let condition = condition(dataset, observation);
        let key = (observation.table.clone(), condition.clone());
        let place = *places.entry(key).or_insert_with(|| {
            conditions.push(Counts { first: index, condition, ..Counts::default() });
            conditions.len() - 1
        });
        let Some(counts) = conditions.get_mut(place) else { continue };
        counts.compressed = counts.compressed.take().or_else(|| facts.compressed_by.clone());
        let sums = counts.claimed.iter_mut().zip(counts.missing.iter_mut());
        for (pair, (claimed_sum, missing_sum)) in pairs.iter().zip(sums) {
            if let Some((claimed, served)) = pair {
                *claimed_sum += *claimed as f64;
                *missing_sum += claimed.saturating_sub(*served) as f64;
            }
        }
    }
    conditions
}

fn text(counts: &Counts) -> String {
    let parts = counts.claimed.iter().zip(&counts.missing).zip(["read", "written"]);
    let told = parts.filter(|((claimed, missing), _)| **claimed > 0.0 && **missing > 0.0).map(
        |((claimed, missing), verb)| {
            format!("{} claimed as {verb}, {} of them served", size(*claimed), size(claimed - missing))
        },
    );
    told.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{dataset, findings, observation, only, silent};
    use super::*;
    use iostone_model::dataset::Observation;

    fn read(claimed: u64, served: Option<u64>) -> Observation {
        let mut made = observation(&[("place", "layer")], &[("throughput", 1e6)]);
        made.facts.claimed_read_bytes = Some(claimed);
        made.facts.served_read_bytes = served;
        made
    }

    #[test]
    fn bytes_that_the_device_never_served_are_page_cache() {
        let mut set =
            dataset(vec![read(1_000_000_000, Some(100_000_000)), read(1_000_000_000, Some(300_000_000))]);
        set.factors = vec!["place".to_owned()];
        let found = only(&PageCache, &set);
        assert_eq!(found.severity, Severity::Serious);
        assert_eq!(
            found.message,
            "under place=layer 80.0 % of the 2.00 GB that the tool claims never passed the device: page cache"
        );
        assert_eq!(
            found.evidence,
            ["made-up.csv (place=layer): 2.00 GB claimed as read, 400 MB of them served"]
        );
    }

    #[test]
    fn severity_goes_by_the_share() {
        let severity = |served| only(&PageCache, &dataset(vec![read(1_000, Some(served))])).severity;
        assert_eq!(severity(950), Severity::Note);
        assert_eq!(severity(800), Severity::Warning);
        assert_eq!(severity(400), Severity::Serious);
    }

    #[test]
    fn more_served_than_claimed_is_metadata_and_clear() {
        assert!(findings(&PageCache, &dataset(vec![read(1_000, Some(1_200))])).is_empty());
        assert!(findings(&PageCache, &dataset(vec![read(1_000, Some(980))])).is_empty());
    }

    #[test]
    fn without_the_devices_count_nothing_is_looked_at() {
        assert!(silent(&PageCache, &dataset(vec![read(1_000, None)])));
        assert!(silent(&PageCache, &dataset(vec![read(0, Some(0))])));
    }
}
