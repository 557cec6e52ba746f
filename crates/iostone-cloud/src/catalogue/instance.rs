//! Instance types of EC2, from the table that is built in.

use std::collections::BTreeMap;

use csv::StringRecord;
use iostone_model::cloud::CatalogueDate;
use iostone_model::experiment::{Basis, Burst, Law, Link};
use iostone_model::units::{ByteRate, Bytes, Fraction};

use super::disks::LocalDisks;
use super::words::{Architecture, EbsSupport, Status};
use crate::allowance::allowances;

const TABLE: &str = include_str!("../../data/instances.csv");

/// Seconds for which an instance may go faster to its volumes than its baseline: "for 30 minutes at least once every 24 hours"
/// (EC2 User Guide, Amazon EBS-optimized instances).
pub(crate) const LINK_BURST_SECONDS: f64 = 1800.0;

/// As of when the links, processors and memory are: the day of the newest dump that the table is made of.
pub const CATALOGUE_AS_OF: &str = "2026-10-27";
/// Seconds for which an instance may go faster over its network than its baseline: "typically from 5 to 60 minutes, depending on
/// the instance size" (EC2 User Guide, Amazon EC2 instance network bandwidth).
pub(crate) const NETWORK_BURST_SECONDS: [f64; 2] = [300.0, 3600.0];
/// What is taken between them, for want of a figure for each size.
pub(crate) const NETWORK_BURST_TAKEN: f64 = 1800.0;

/// An instance type. What is not known is absent.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// Its name: `c4.large`.
    pub name: String,
    /// Whether it can still be had.
    pub status: Status,
    /// Virtual processors.
    pub vcpus: Option<u32>,
    /// Memory.
    pub memory: Option<Bytes>,
    /// Instruction sets.
    pub architectures: Vec<Architecture>,
    /// `nitro`, `xen`, `metal`.
    pub hypervisor: Option<String>,
    /// Sustained clock in GHz.
    pub clock_ghz: Option<f64>,
    /// EC2 compute units, of the generations that state them.
    pub ecu: Option<f64>,
    /// Whether it has a link to EBS of its own.
    pub ebs_support: Option<EbsSupport>,
    /// That link.
    pub ebs: Option<Ebs>,
    /// Volumes that can be attached to it at once.
    pub attachments: Option<u32>,
    /// Its network.
    pub network: Option<Network>,
    /// Disks of its own; that it has none is known too ([`LocalDisks::count`] is 0).
    pub disks: Option<LocalDisks>,
    /// Who says so, and as of when, in one line.
    pub source: String,
    /// As of when its figures are; of rows of the user's if they say.
    pub date: Option<CatalogueDate>,
    /// What rows of the user's say of it.
    pub said: Option<Said>,
}

/// A link to EBS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ebs {
    /// Bytes a second in the long run.
    pub baseline: ByteRate,
    /// I/Os a second of 16 KiB in the long run.
    pub baseline_iops: Option<u32>,
    /// Bytes a second for 30 minutes; the baseline where it does not burst.
    pub maximum: ByteRate,
    /// I/Os a second of 16 KiB for 30 minutes.
    pub maximum_iops: Option<u32>,
}

/// A network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// Bytes a second in the long run.
    pub baseline: ByteRate,
    /// Bytes a second at most.
    pub peak: ByteRate,
}

/// How a burstable instance earns processor time: EC2 User Guide, "Key concepts for burstable performance instances".
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuCredits {
    /// Credits an hour, of the whole instance; one is a processor at full speed for a minute.
    pub earned_per_hour: f64,
    /// The most that it keeps.
    pub maximum: f64,
    /// What each processor gets when there are none.
    pub baseline: Fraction,
    /// Credits at each start in standard mode.
    pub launch: f64,
    /// Whether more may be spent, for money, unless another mode is chosen.
    pub is_unlimited: bool,
}

/// What rows of the user's say of an instance type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The keys that they give.
    pub keys: Vec<&'static str>,
    /// The file they stand in.
    pub file: String,
    /// Where they are from, in the user's words.
    pub source: Option<String>,
    /// As of when.
    pub date: Option<CatalogueDate>,
}

impl Instance {
    /// A type of which the name is known and nothing more.
    pub(super) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            status: Status::Named,
            vcpus: None,
            memory: None,
            architectures: Vec::new(),
            hypervisor: None,
            clock_ghz: None,
            ecu: None,
            ebs_support: None,
            ebs: None,
            attachments: None,
            network: None,
            disks: None,
            source: String::new(),
            date: None,
            said: None,
        }
    }

    /// How it earns processor time, if it is a burstable one; from the table of allowances.
    pub fn credits(&self) -> Option<CpuCredits> {
        let known = allowances(&self.name).ok()?;
        let published = |unlimited_wanted: Option<bool>| {
            known.iter().filter(|one| one.basis == Basis::Published).find_map(|one| match one.law {
                Law::Credits { baseline, earned_per_hour, maximum, launch, unlimited }
                    if unlimited_wanted.is_none_or(|wanted| wanted == unlimited) =>
                {
                    Some(CpuCredits { earned_per_hour, maximum, baseline, launch, is_unlimited: unlimited })
                }
                _ => None,
            })
        };
        let default = published(None)?;
        // Launch credits are of standard mode, also where that is not the default.
        let launch = published(Some(false)).map_or(default.launch, |standard| standard.launch);
        Some(CpuCredits { launch, ..default })
    }

    /// Whether it has disks of its own; absent if that is not known.
    pub fn has_local_disks(&self) -> Option<bool> {
        self.disks.as_ref().map(|disks| disks.count > 0)
    }

    /// Its family: `c4` of `c4.large`.
    pub fn family(&self) -> &str {
        self.name.split_once('.').map_or(self.name.as_str(), |(family, _)| family)
    }

    /// Whether it is built on Nitro, where that is known: some volumes do less elsewhere.
    pub fn is_nitro(&self) -> Option<bool> {
        self.hypervisor.as_deref().map(|name| name != "xen")
    }

    /// The link to its volumes as it is emulated and reckoned with: EBS's own where it has one, else the network. Bursts
    /// are buckets of (maximum - baseline) x 30 min that fill with what is left unused below the baseline, which nobody documents;
    /// a network's lasts 5 to 60 minutes, of which 30 are taken as well.
    pub fn link(&self) -> Option<Link> {
        if let Some(ebs) = self.ebs {
            let burst = (ebs.maximum > ebs.baseline).then(|| {
                let over = |most: u64, base: u64| above(ByteRate(most), ByteRate(base), LINK_BURST_SECONDS);
                let ios = ebs.maximum_iops.zip(ebs.baseline_iops).filter(|(most, base)| most > base);
                Burst {
                    throughput: Some(ebs.maximum),
                    credit_bytes: Some(Bytes(over(ebs.maximum.0, ebs.baseline.0))),
                    iops: ios.map(|(most, _)| most),
                    credits: ios.map(|(most, base)| over(most.into(), base.into())),
                    start: None,
                }
            });
            return Some(Link { throughput: ebs.baseline, iops: ebs.baseline_iops, burst });
        }
        self.network.map(|network| {
            let burst = (network.peak > network.baseline).then(|| Burst {
                throughput: Some(network.peak),
                credit_bytes: Some(Bytes(above(network.peak, network.baseline, NETWORK_BURST_TAKEN))),
                iops: None,
                credits: None,
                start: None,
            });
            Link { burst, ..Link::of(network.baseline) }
        })
    }
}

/// Units that are moved at most, and not at the base, in so many seconds.
fn above(most: ByteRate, base: ByteRate, seconds: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and positive")]
    let units = (most.0.saturating_sub(base.0) as f64 * seconds) as u64;
    units
}

/// The table that is built in.
pub(super) fn table() -> BTreeMap<String, Instance> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(TABLE.as_bytes());
    let rows = reader.records().filter_map(Result::ok);
    rows.filter_map(|row| instance(&row)).map(|instance| (instance.name.clone(), instance)).collect()
}

fn instance(row: &StringRecord) -> Option<Instance> {
    let text = |index: usize| row.get(index).filter(|text| !text.is_empty());
    let number = |index: usize| text(index).and_then(|text| text.parse::<f64>().ok());
    let whole = |index: usize| text(index).and_then(|text| text.parse::<u32>().ok());
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rates of the table are small and positive"
    )]
    let bits = |index: usize, factor: f64| {
        number(index).map(|value| ByteRate((value * factor / 8.0).round() as u64))
    };
    let ebs = bits(9, 1e6).map(|baseline| Ebs {
        baseline,
        baseline_iops: whole(10),
        maximum: bits(11, 1e6).unwrap_or(baseline),
        maximum_iops: whole(12).or(whole(10)),
    });
    let network = bits(14, 1e9).map(|baseline| Network { baseline, peak: bits(15, 1e9).unwrap_or(baseline) });
    let (source, date) = source(text(16).unwrap_or_default());
    Some(Instance {
        name: text(0)?.to_owned(),
        status: match text(1)? {
            "c" => Status::Current,
            "p" => Status::Previous,
            "r" => Status::Retired,
            _ => Status::Named,
        },
        vcpus: whole(2),
        memory: whole(3).map(|mib| Bytes(u64::from(mib) << 20)),
        architectures: text(4)
            .map(|words| words.split('+').filter_map(Architecture::of_word).collect())
            .unwrap_or_default(),
        hypervisor: text(5).map(str::to_owned),
        clock_ghz: number(6),
        ecu: number(7),
        ebs_support: text(8).and_then(|letter| match letter {
            "d" => Some(EbsSupport::Default),
            "s" => Some(EbsSupport::OnRequest),
            "u" => Some(EbsSupport::None),
            _ => None,
        }),
        ebs,
        attachments: whole(17),
        network,
        disks: text(13).and_then(|words| words.parse().ok()),
        source: source.to_owned(),
        date: date.parse().ok(),
        said: None,
    })
}

/// Who says so and as of when, by the letters that the table's head explains. The dates are those of the packages.
fn source(code: &str) -> (&'static str, &'static str) {
    match code {
        "m" => ("DescribeInstanceTypes as dumped in moto 5.2.5 of 2026-10-27", "2026-10-27"),
        "mg" => (
            "DescribeInstanceTypes as dumped in moto 5.2.5 of 2026-10-27; EC2 User Guide of 2018-02",
            "2026-10-27",
        ),
        "i" => ("ec2-instances-info of 2025-05-28", "2025-05-28"),
        _ => ("the list of names in botocore 1.44.5 of 2026-11-17", "2026-11-17"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn rows() -> Vec<StringRecord> {
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(TABLE.as_bytes());
        reader.records().map(|row| row.unwrap()).collect()
    }

    #[test]
    fn every_row_of_the_table_is_read_whole() {
        let rows = rows();
        assert_eq!(rows.len(), 1437);
        let names: BTreeSet<&str> = rows.iter().map(|row| &row[0]).collect();
        assert_eq!(names.len(), rows.len(), "a name stands there twice");
        let table = table();
        assert_eq!(table.len(), rows.len());
        for row in &rows {
            let instance = &table[&row[0]];
            let known = [
                (2, instance.vcpus.is_some()),
                (3, instance.memory.is_some()),
                (4, !instance.architectures.is_empty()),
                (5, instance.hypervisor.is_some()),
                (6, instance.clock_ghz.is_some()),
                (7, instance.ecu.is_some()),
                (8, instance.ebs_support.is_some()),
                (9, instance.ebs.is_some()),
                (13, instance.disks.is_some()),
                (14, instance.network.is_some()),
                (17, instance.attachments.is_some()),
            ];
            for (column, known) in known {
                assert_eq!(!row[column].is_empty(), known, "{}, column {column}", &row[0]);
            }
            let words = instance.disks.as_ref().map(|disks| disks.words.as_str());
            assert_eq!(words.unwrap_or_default(), &row[13], "{}", &row[0]);
            assert!(instance.date.is_some() && instance.source.contains("20"), "{}", &row[0]);
        }
    }

    #[test]
    fn the_counts_are_those_of_the_sources() {
        let table = table();
        let count = |is: fn(&Instance) -> bool| table.values().filter(|instance| is(instance)).count();
        assert_eq!(count(|instance| instance.status == Status::Current), 1259);
        assert_eq!(count(|instance| instance.status == Status::Previous), 136);
        assert_eq!(count(|instance| instance.status == Status::Retired), 34);
        assert_eq!(count(|instance| instance.status == Status::Named), 8);
        assert_eq!(count(|instance| instance.ebs.is_some()), 1393);
        assert_eq!(count(|instance| instance.attachments.is_some()), 1395);
        assert_eq!(count(|instance| instance.ebs_support == Some(EbsSupport::None)), 19);
        assert_eq!(count(|instance| instance.credits().is_some()), 28);
        assert_eq!(count(|instance| instance.has_local_disks().is_none()), 8);
        assert_eq!(count(|instance| instance.has_local_disks() == Some(false)), 840);
        assert_eq!(count(|instance| instance.has_local_disks() == Some(true)), 589);
    }

    #[test]
    fn every_figure_is_plausible() {
        for instance in table().values() {
            let name = &instance.name;
            if let Some(ebs) = instance.ebs {
                assert!(ebs.baseline.0 > 0 && ebs.baseline <= ebs.maximum, "{name}: {ebs:?}");
                assert!(ebs.baseline_iops <= ebs.maximum_iops, "{name}: {ebs:?}");
                assert!(ebs.baseline_iops.is_some_and(|iops| iops > 0), "{name}: {ebs:?}");
                // 16 KiB an I/O is no more than a few times what the bytes allow.
                let bytes = f64::from(ebs.maximum_iops.unwrap()) * 16384.0;
                let ratio = bytes / ebs.maximum.0 as f64;
                assert!((0.2..5.0).contains(&ratio), "{name}: {ratio}");
            }
            if let Some(network) = instance.network {
                assert!(network.baseline.0 > 0 && network.baseline <= network.peak, "{name}: {network:?}");
            }
            assert!(instance.vcpus.is_none_or(|vcpus| (1..=1920).contains(&vcpus)), "{name}");
            assert!(instance.memory.is_none_or(|memory| memory.0 >= 500 << 20), "{name}");
            assert!(instance.clock_ghz.is_none_or(|clock| (1.0..6.0).contains(&clock)), "{name}");
            assert!(instance.ecu.is_none_or(|ecu| ecu > 0.0), "{name}");
            assert!(instance.status == Status::Named || instance.vcpus.is_some(), "{name}");
        }
    }

    #[test]
    fn a_network_bursts_above_its_baseline_and_the_newest_figures_have_their_day() {
        let table = table();
        let link = table["t2.micro"].link().expect("a link");
        let burst = link.burst.expect("a burst");
        assert_eq!((link.throughput, burst.throughput), (ByteRate(8_000_000), Some(ByteRate(128_000_000))));
        assert_eq!(burst.credit_bytes, Some(Bytes(120_000_000 * 1800)));
        assert!(table["g3.4xlarge"].link().is_none(), "nobody knows it");
        let newest =
            table.values().filter(|instance| instance.ebs.is_some()).filter_map(|instance| instance.date);
        assert_eq!(newest.max().map(|date| date.to_string()).as_deref(), Some(CATALOGUE_AS_OF));
    }

    #[test]
    fn what_the_field_reports_ran_on_has_its_published_limits() {
        let table = table();
        let small = &table["c4.large"];
        let ebs = small.ebs.unwrap();
        assert_eq!((ebs.baseline, ebs.maximum), (ByteRate(62_500_000), ByteRate(62_500_000)));
        assert_eq!(ebs.baseline_iops, Some(4000));
        assert_eq!(small.memory, Some(Bytes(3840 << 20)));
        assert_eq!(table["c4.4xlarge"].ebs.unwrap().baseline, ByteRate(250_000_000));
        let disks = table["c1.xlarge"].disks.clone().unwrap();
        assert_eq!((disks.count, disks.each), (4, Some(Bytes(420_000_000_000))));
        let credits = table["t2.micro"].credits().unwrap();
        assert_eq!((credits.earned_per_hour, credits.maximum, credits.launch), (6.0, 144.0, 30.0));
        assert!(!credits.is_unlimited && table["t3.micro"].credits().unwrap().is_unlimited);
        assert!(table["t1.micro"].credits().is_none() && small.credits().is_none());
    }
}
