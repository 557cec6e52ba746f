//! Looking for instance types: words, ranges and kinds, sorted.

use std::cmp::Ordering;

use iostone_model::diagnostic::nearest;
use iostone_model::units::{ByteRate, Bytes};

use super::range::RangeOf;
use super::words::{Architecture, Status};
use super::{Catalogue, Instance};

/// What is looked for; what is absent does not matter.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Search {
    /// Each is part of the name, or a word of what is known of the type: `arm64`, `nitro`, `ssd`, `current`, `burstable`.
    pub words: Vec<String>,
    /// Virtual processors.
    pub vcpus: Option<RangeOf<u32>>,
    /// Memory.
    pub memory: Option<RangeOf<Bytes>>,
    /// Bytes a second to EBS in the long run, over a link for that alone.
    pub ebs: Option<RangeOf<ByteRate>>,
    /// An instruction set that it has.
    pub architecture: Option<Architecture>,
    /// US dollars an hour, on demand in `region`.
    pub max_price: Option<f64>,
    /// The region whose prices are meant.
    pub region: String,
    /// Whether it earns CPU credits.
    pub is_burstable: bool,
    /// Whether it has disks of its own.
    pub has_local_disks: bool,
    /// Whether it can still be had.
    pub status: Option<Status>,
    /// What comes first.
    pub sort: SortBy,
}

/// What comes first. Types of which it is not known come last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SortBy {
    /// Families by name, each from its smallest type up.
    #[default]
    Name,
    /// The cheapest.
    Price,
    /// The one with the fewest processors.
    Vcpus,
    /// The one with the least memory.
    Memory,
    /// The one with the slowest link to EBS.
    Ebs,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found<'a> {
    /// What fits, sorted.
    pub instances: Vec<&'a Instance>,
    /// How many types there are in all.
    pub of: usize,
    /// How many would perhaps fit: something that was asked for is not known of them.
    pub unknown: usize,
    /// Where nothing fits: the name that is spelled most like one of the words.
    pub nearest: Option<String>,
}

/// Whether a type fits what was asked for.
enum Fit {
    Yes,
    No,
    Unknown,
}

impl Catalogue {
    /// The instance types that fit.
    pub fn search(&self, search: &Search) -> Found<'_> {
        let mut unknown = 0;
        let mut instances: Vec<&Instance> = Vec::new();
        for instance in self.instances.values() {
            match self.fits(instance, search) {
                Fit::Yes => instances.push(instance),
                Fit::No => {}
                Fit::Unknown => unknown += 1,
            }
        }
        instances.sort_by(|one, other| self.order(one, other, search));
        let names = || self.instances.keys().map(String::as_str);
        let near = |word: &String| nearest(word, names()).map(str::to_owned);
        let nearest = search.words.iter().filter(|_| instances.is_empty()).find_map(near);
        Found { instances, of: self.instances.len(), unknown, nearest }
    }

    fn fits(&self, instance: &Instance, search: &Search) -> Fit {
        let words = search.words.iter().all(|word| is_word_of(instance, word));
        let status = search.status.is_none_or(|status| status == instance.status);
        let burstable = !search.is_burstable || instance.credits().is_some();
        if !(words && status && burstable) {
            return Fit::No;
        }
        let price = || self.usd_per_hour(&instance.name, &search.region);
        let has = |wanted: Architecture| instance.architectures.contains(&wanted);
        let mut is_unknown = false;
        let asked: [Option<Option<bool>>; 6] = [
            search.vcpus.map(|range| instance.vcpus.map(|vcpus| range.holds(&vcpus))),
            search.memory.map(|range| instance.memory.map(|memory| range.holds(&memory))),
            search.ebs.map(|range| instance.ebs.map(|ebs| range.holds(&ebs.baseline))),
            search.architecture.map(|wanted| (!instance.architectures.is_empty()).then(|| has(wanted))),
            search.max_price.map(|most| price().map(|usd| usd <= most)),
            search.has_local_disks.then(|| instance.has_local_disks()),
        ];
        for answer in asked.into_iter().flatten() {
            match answer {
                Some(true) => {}
                Some(false) => return Fit::No,
                None => is_unknown = true,
            }
        }
        if is_unknown { Fit::Unknown } else { Fit::Yes }
    }

    fn order(&self, one: &Instance, other: &Instance, search: &Search) -> Ordering {
        let price = |instance: &Instance| self.usd_per_hour(&instance.name, &search.region);
        let first = match search.sort {
            SortBy::Name => Ordering::Equal,
            SortBy::Price => last_if_absent(price(one), price(other), f64::total_cmp),
            SortBy::Vcpus => last_if_absent(one.vcpus, other.vcpus, Ord::cmp),
            SortBy::Memory => last_if_absent(one.memory, other.memory, Ord::cmp),
            SortBy::Ebs => {
                let rate = |instance: &Instance| instance.ebs.map(|ebs| ebs.baseline);
                last_if_absent(rate(one), rate(other), Ord::cmp)
            }
        };
        first
            .then_with(|| one.family().cmp(other.family()))
            .then_with(|| last_if_absent(one.vcpus, other.vcpus, Ord::cmp))
            .then_with(|| last_if_absent(one.memory, other.memory, Ord::cmp))
            .then_with(|| one.name.cmp(&other.name))
    }
}

fn last_if_absent<T>(one: Option<T>, other: Option<T>, order: impl Fn(&T, &T) -> Ordering) -> Ordering {
    match (one, other) {
        (Some(one), Some(other)) => order(&one, &other),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

fn is_word_of(instance: &Instance, word: &str) -> bool {
    let word = word.to_lowercase();
    let kind = instance.disks.as_ref().and_then(|disks| disks.kind).map(super::DiskKind::word);
    let burstable = || instance.credits().map(|_| "burstable");
    instance.name.contains(&word)
        || instance.status.word() == word
        || instance.architectures.iter().any(|architecture| architecture.word() == word)
        || instance.hypervisor.as_ref().is_some_and(|hypervisor| *hypervisor == word)
        || kind.is_some_and(|kind| kind == word)
        || (word == "burstable" && burstable().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::DEFAULT_REGION;

    fn search() -> Search {
        Search { region: DEFAULT_REGION.to_owned(), ..Search::default() }
    }

    #[test]
    fn everything_is_found_where_nothing_is_asked() {
        let catalogue = Catalogue::built_in();
        let found = catalogue.search(&search());
        assert_eq!((found.instances.len(), found.of, found.unknown, found.nearest), (1437, 1437, 0, None));
        let names: Vec<&str> = found
            .instances
            .iter()
            .map(|one| one.name.as_str())
            .filter(|name| name.starts_with("c4."))
            .collect();
        assert_eq!(names, ["c4.large", "c4.xlarge", "c4.2xlarge", "c4.4xlarge", "c4.8xlarge"]);
    }

    #[test]
    fn what_is_not_known_is_neither_taken_nor_dropped_in_silence() {
        let catalogue = Catalogue::built_in();
        let asked = Search { vcpus: "4..8".parse().ok(), has_local_disks: true, ..search() };
        let found = catalogue.search(&asked);
        assert!(found.unknown > 0, "{}", found.unknown);
        for instance in found.instances {
            assert!(instance.vcpus.is_some_and(|vcpus| (4..=8).contains(&vcpus)), "{}", instance.name);
            assert_eq!(instance.has_local_disks(), Some(true), "{}", instance.name);
        }
    }

    #[test]
    fn the_cheapest_comes_first_and_a_misspelt_word_has_its_nearest() {
        let catalogue = Catalogue::built_in();
        let asked = Search { words: vec!["burstable".to_owned()], sort: SortBy::Price, ..search() };
        let found = catalogue.search(&asked);
        assert_eq!(found.instances.len(), 28);
        let prices: Vec<f64> = found
            .instances
            .iter()
            .filter_map(|one| catalogue.usd_per_hour(&one.name, DEFAULT_REGION))
            .collect();
        assert!(prices.is_sorted() && prices.len() > 20, "{prices:?}");
        let asked = Search { words: vec!["c4.lagre".to_owned()], ..search() };
        let found = catalogue.search(&asked);
        assert!(found.instances.is_empty());
        assert_eq!(found.nearest.as_deref(), Some("c4.large"));
    }
}
