//! A row on an instance type, of which any part may be absent: what files say, and what changes from one catalogue to another.

use std::collections::BTreeMap;

use iostone_model::cloud::CatalogueDate;
use iostone_model::units::{ByteRate, Bytes};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::disks::LocalDisks;
use super::instance::{Ebs, Instance, Network, Said};
use super::words::{Architecture, EbsSupport, Status};

/// Makes the row, its keys, and the reading of one key by its type.
macro_rules! row {
    ($($(#[doc = $doc:literal])* $key:ident: $type:ty,)*) => {
        /// What is said of an instance type; what is absent is not said, or not known.
        #[derive(Debug, Clone, PartialEq, Default, Serialize)]
        pub struct InstanceRow {
            $($(#[doc = $doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $key: Option<$type>,)*
        }

        impl InstanceRow {
            /// The keys of a row, in the order in which they are written.
            pub const KEYS: &[&str] = &[$(stringify!($key)),*];

            /// Takes the value of a key; none if there is no such key.
            pub(super) fn set(&mut self, key: &str, value: Value) -> Option<Result<(), String>> {
                match key {
                    $(stringify!($key) => Some(
                        <$type>::deserialize(value)
                            .map(|value| self.$key = Some(value))
                            .map_err(|error| error.message().to_owned()),
                    ),)*
                    _ => None,
                }
            }

            /// The keys that it says something of.
            pub(super) fn said(&self) -> Vec<&'static str> {
                let mut said = Vec::new();
                $(if self.$key.is_some() { said.push(stringify!($key)); })*
                said
            }
        }
    };
}

row! {
    /// Whether it can still be had.
    status: Status,
    /// Virtual processors.
    vcpus: u32,
    /// Memory.
    memory: Bytes,
    /// Instruction sets.
    architectures: Vec<Architecture>,
    /// `nitro`, `xen`, `metal`.
    hypervisor: String,
    /// Sustained clock in GHz.
    clock_ghz: f64,
    /// EC2 compute units.
    ecu: f64,
    /// Whether it has a link to EBS of its own.
    ebs_support: EbsSupport,
    /// Bytes a second to EBS in the long run.
    ebs_baseline: ByteRate,
    /// I/Os a second of 16 KiB to EBS in the long run.
    ebs_baseline_iops: u32,
    /// Bytes a second to EBS for 30 minutes.
    ebs_maximum: ByteRate,
    /// I/Os a second of 16 KiB to EBS for 30 minutes.
    ebs_maximum_iops: u32,
    /// Bytes a second of network in the long run.
    network_baseline: ByteRate,
    /// Bytes a second of network at most.
    network_peak: ByteRate,
    /// Disks of its own, or `none`.
    local_disks: LocalDisks,
    /// Where the row is from.
    source: String,
    /// As of when.
    date: CatalogueDate,
    /// US dollars an hour on demand, by region.
    usd_per_hour: BTreeMap<String, f64>,
}

/// A key of a row whose value cannot be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conflict {
    pub(super) key: &'static str,
    pub(super) message: String,
    pub(super) expected: String,
}

impl Conflict {
    fn new(key: &'static str, message: impl Into<String>, expected: &str) -> Self {
        Self { key, message: message.into(), expected: expected.to_owned() }
    }
}

/// Keys that tell where a row is from, and nothing of the instance.
pub(super) const PROVENANCE: [&str; 2] = ["source", "date"];

impl InstanceRow {
    /// Everything that is known of an instance, with its prices by region.
    pub fn of(instance: &Instance, usd_per_hour: BTreeMap<String, f64>) -> Self {
        let said = instance.said.as_ref();
        Self {
            status: Some(instance.status),
            vcpus: instance.vcpus,
            memory: instance.memory,
            architectures: (!instance.architectures.is_empty()).then(|| instance.architectures.clone()),
            hypervisor: instance.hypervisor.clone(),
            clock_ghz: instance.clock_ghz,
            ecu: instance.ecu,
            ebs_support: instance.ebs_support,
            ebs_baseline: instance.ebs.map(|ebs| ebs.baseline),
            ebs_baseline_iops: instance.ebs.and_then(|ebs| ebs.baseline_iops),
            ebs_maximum: instance.ebs.map(|ebs| ebs.maximum),
            ebs_maximum_iops: instance.ebs.and_then(|ebs| ebs.maximum_iops),
            network_baseline: instance.network.map(|network| network.baseline),
            network_peak: instance.network.map(|network| network.peak),
            local_disks: instance.disks.clone(),
            source: said
                .and_then(|said| said.source.clone())
                .or_else(|| Some(instance.source.clone()).filter(|source| !source.is_empty())),
            date: instance.date,
            usd_per_hour: Some(usd_per_hour).filter(|prices| !prices.is_empty()),
        }
    }

    /// Its keys with their values as they stand in a file, in order.
    pub fn fields(&self) -> Table {
        // A row of plain values always goes into a table.
        Table::try_from(self).unwrap_or_default()
    }

    /// What cannot be whatever the row is laid over.
    pub(super) fn conflicts(&self) -> Vec<Conflict> {
        const LEAVE_OUT: &str = "leave out what is not known";
        let mut found = Vec::new();
        let wholes = [
            ("vcpus", self.vcpus.map(u64::from)),
            ("memory", self.memory.map(|memory| memory.0)),
            ("ebs_baseline", self.ebs_baseline.map(|rate| rate.0)),
            ("ebs_baseline_iops", self.ebs_baseline_iops.map(u64::from)),
            ("ebs_maximum", self.ebs_maximum.map(|rate| rate.0)),
            ("ebs_maximum_iops", self.ebs_maximum_iops.map(u64::from)),
            ("network_baseline", self.network_baseline.map(|rate| rate.0)),
            ("network_peak", self.network_peak.map(|rate| rate.0)),
        ];
        for (key, _) in wholes.iter().filter(|(_, value)| *value == Some(0)) {
            found.push(Conflict::new(key, format!("`{key}` is 0"), LEAVE_OUT));
        }
        for (key, value) in [("clock_ghz", self.clock_ghz), ("ecu", self.ecu)] {
            if value.is_some_and(|value| !(value.is_finite() && value > 0.0)) {
                found.push(Conflict::new(key, format!("`{key}` is not above 0"), LEAVE_OUT));
            }
        }
        for (region, usd) in self.usd_per_hour.iter().flatten() {
            if !(usd.is_finite() && *usd > 0.0) {
                let message = format!("a price of `{region}` is not above 0");
                found.push(Conflict::new("usd_per_hour", message, LEAVE_OUT));
            }
            if !is_region(region) {
                let message = format!("`{region}` is not a region");
                found.push(Conflict::new("usd_per_hour", message, "expected letters, digits and `-`"));
            }
        }
        if self.architectures.as_ref().is_some_and(Vec::is_empty) {
            found.push(Conflict::new("architectures", "`architectures` is empty", LEAVE_OUT));
        }
        for (key, text) in [("hypervisor", &self.hypervisor), ("source", &self.source)] {
            if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
                found.push(Conflict::new(key, format!("`{key}` is empty"), LEAVE_OUT));
            }
        }
        found
    }

    /// Lays the row over what is known of a type, field by field. Of a link or network of which one figure is said, the other
    /// one gives way: a baseline above the known maximum lifts it.
    pub(super) fn over(
        &self,
        name: &str,
        known: Option<&Instance>,
        file: &str,
    ) -> Result<Instance, Conflict> {
        let mut instance = known.cloned().unwrap_or_else(|| Instance::named(name));
        let said: Vec<&'static str> =
            self.said().into_iter().filter(|key| !PROVENANCE.contains(key)).collect();
        instance.status = match self.status {
            Some(status) => status,
            // Whoever writes a type down can have it.
            None if known.is_none() && !said.is_empty() => Status::Current,
            None => instance.status,
        };
        instance.vcpus = self.vcpus.or(instance.vcpus);
        instance.memory = self.memory.or(instance.memory);
        if let Some(architectures) = &self.architectures {
            instance.architectures.clone_from(architectures);
        }
        instance.hypervisor = self.hypervisor.clone().or(instance.hypervisor);
        instance.clock_ghz = self.clock_ghz.or(instance.clock_ghz);
        instance.ecu = self.ecu.or(instance.ecu);
        instance.ebs_support = self.ebs_support.or(instance.ebs_support);
        instance.ebs = self.ebs_over(instance.ebs)?;
        instance.network = self.network_over(instance.network)?;
        instance.disks = self.local_disks.clone().or(instance.disks);
        let words = words_of(file, &said, self, known.is_none());
        instance.source =
            if instance.source.is_empty() { words } else { format!("{}; {words}", instance.source) };
        // The date of the rest says nothing of a row that has none.
        instance.date = self.date.or(instance.date);
        instance.said =
            Some(Said { keys: said, file: file.to_owned(), source: self.source.clone(), date: self.date });
        Ok(instance)
    }

    fn ebs_over(&self, known: Option<Ebs>) -> Result<Option<Ebs>, Conflict> {
        let Some(baseline) = self.ebs_baseline.or(known.map(|ebs| ebs.baseline)) else {
            let keys = [
                ("ebs_maximum", self.ebs_maximum.is_some()),
                ("ebs_baseline_iops", self.ebs_baseline_iops.is_some()),
                ("ebs_maximum_iops", self.ebs_maximum_iops.is_some()),
            ];
            return match keys.iter().find(|(_, is_said)| *is_said) {
                Some((key, _)) => Err(Conflict::new(
                    key,
                    format!("`{key}` is said of a link whose baseline is not known"),
                    "add `ebs_baseline`",
                )),
                None => Ok(None),
            };
        };
        let maximum = bound(
            ("ebs_baseline", self.ebs_baseline, baseline),
            ("ebs_maximum", self.ebs_maximum, known.map(|ebs| ebs.maximum)),
        )?;
        let known_iops = known.and_then(|ebs| ebs.baseline_iops);
        let known_most = known.and_then(|ebs| ebs.maximum_iops);
        let baseline_iops = self.ebs_baseline_iops.or(known_iops);
        let maximum_iops = match baseline_iops {
            Some(iops) => Some(bound(
                ("ebs_baseline_iops", self.ebs_baseline_iops, iops),
                ("ebs_maximum_iops", self.ebs_maximum_iops, known_most),
            )?),
            None => self.ebs_maximum_iops.or(known_most),
        };
        Ok(Some(Ebs { baseline, baseline_iops, maximum, maximum_iops }))
    }

    fn network_over(&self, known: Option<Network>) -> Result<Option<Network>, Conflict> {
        let Some(baseline) = self.network_baseline.or(known.map(|network| network.baseline)) else {
            return match self.network_peak {
                Some(_) => Err(Conflict::new(
                    "network_peak",
                    "`network_peak` is said of a network whose baseline is not known",
                    "add `network_baseline`",
                )),
                None => Ok(None),
            };
        };
        let peak = bound(
            ("network_baseline", self.network_baseline, baseline),
            ("network_peak", self.network_peak, known.map(|network| network.peak)),
        )?;
        Ok(Some(Network { baseline, peak }))
    }
}

/// The upper figure of a pair: as said, else as known but never below the lower one.
fn bound<T: Ord + Copy>(
    (low_key, said_low, low): (&'static str, Option<T>, T),
    (high_key, said_high, known_high): (&'static str, Option<T>, Option<T>),
) -> Result<T, Conflict> {
    match said_high {
        Some(high) if high < low => {
            let key = if said_low.is_some() { low_key } else { high_key };
            Err(Conflict::new(
                key,
                format!("`{low_key}` is above `{high_key}`"),
                "say both, the maximum not below the baseline",
            ))
        }
        Some(high) => Ok(high),
        None => Ok(known_high.map_or(low, |high| high.max(low))),
    }
}

/// Who says so: "vcpus, memory: your catalogue, FILE (`DescribeInstanceTypes`, 2026-11-01)".
fn words_of(file: &str, said: &[&str], row: &InstanceRow, is_all: bool) -> String {
    let from: Vec<String> =
        row.source.iter().cloned().chain(row.date.iter().map(ToString::to_string)).collect();
    let from = if from.is_empty() { String::new() } else { format!(" ({})", from.join(", ")) };
    if is_all || said.is_empty() {
        format!("your catalogue, {file}{from}")
    } else {
        format!("{}: your catalogue, {file}{from}", said.join(", "))
    }
}

/// Whether it is written as regions are: `us-east-1`, `us-gov-west-1`, `europe-west4`.
pub(super) fn is_region(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Whether it is written as instance types are: letters, digits, `.`, `-` and `_`.
pub(super) fn is_type(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    !text.is_empty() && text.len() <= 64 && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;

    #[test]
    fn a_row_says_of_an_instance_what_is_known_of_it() {
        let catalogue = Catalogue::built_in();
        let row = catalogue.row(catalogue.instance("c4.large").unwrap());
        let fields = row.fields();
        assert_eq!(fields["ebs_baseline"].as_str(), Some("62.5MB/s"));
        assert_eq!(fields["memory"].as_str(), Some("3840MiB"));
        assert_eq!(fields["local_disks"].as_str(), Some("none"));
        let named = catalogue.row(catalogue.instance("hi1.4xlarge").unwrap()).fields();
        assert!(named.get("memory").is_none() && named.get("local_disks").is_none(), "{named:?}");
    }

    #[test]
    fn a_baseline_lifts_the_known_maximum_and_a_maximum_below_it_is_refused() {
        let known = Catalogue::built_in();
        let known = known.instance("c4.large").unwrap();
        let rate = |megabytes: u64| Some(ByteRate(megabytes * 1_000_000));
        let lifted = InstanceRow { ebs_baseline: rate(100), ..InstanceRow::default() };
        let ebs = lifted.over("c4.large", Some(known), "f").unwrap().ebs.unwrap();
        assert_eq!((Some(ebs.baseline), Some(ebs.maximum)), (rate(100), rate(100)));
        let low = InstanceRow { ebs_maximum: rate(50), ..InstanceRow::default() };
        assert_eq!(low.over("c4.large", Some(known), "f").unwrap_err().key, "ebs_maximum");
        let unfounded = InstanceRow { ebs_maximum_iops: Some(1), ..InstanceRow::default() };
        assert_eq!(unfounded.over("mine", None, "f").unwrap_err().key, "ebs_maximum_iops");
    }
}
