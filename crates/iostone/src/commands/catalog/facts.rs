//! What is known of an instance type, in words and figures.

use iostone_cloud::{Catalogue, EbsSupport, Instance, allowances};
use iostone_model::figures::{count, without_zeros};
use iostone_model::units::{ByteRate, Bytes, round_count, three_digits};
use iostone_report::clean;

/// What stands where a fact is not known.
pub(super) const UNKNOWN: &str = "unknown";

/// Something that may be known of an instance type.
pub(super) struct Fact {
    pub(super) label: String,
    /// In full, with every unit; absent if it is not known.
    pub(super) words: Option<String>,
    /// In short, where that is another.
    pub(super) short: Option<String>,
    /// The figure that types are compared by.
    pub(super) figure: Option<f64>,
}

impl Fact {
    fn words(label: &str, words: Option<String>) -> Self {
        Self { label: label.to_owned(), words, short: None, figure: None }
    }

    fn figure(label: &str, figure: Option<f64>, words: impl Fn(f64) -> String) -> Self {
        Self { label: label.to_owned(), words: figure.map(words), short: None, figure }
    }

    fn rate(label: &str, rate: Option<ByteRate>) -> Self {
        Self {
            label: label.to_owned(),
            words: rate.map(every_unit),
            short: rate.map(|rate| format!("{} MB/s", megabytes(rate))),
            figure: rate.map(|rate| rate.0 as f64),
        }
    }
}

/// Everything, in the order in which it is shown.
pub(super) fn of(catalogue: &Catalogue, instance: &Instance) -> Vec<Fact> {
    let ebs = instance.ebs;
    let burst = ebs.filter(|ebs| ebs.maximum > ebs.baseline);
    let joined = |words: Vec<&str>| (!words.is_empty()).then(|| words.join(", "));
    let architectures = joined(instance.architectures.iter().map(|one| one.word()).collect());
    let support = instance.ebs_support.map(|support| match support {
        EbsSupport::Default => "dedicated EBS bandwidth (EBS-optimized by default)",
        EbsSupport::OnRequest => "dedicated EBS bandwidth if requested (EBS-optimized option)",
        EbsSupport::None => "no dedicated EBS bandwidth: EBS shares the network",
    });
    let mut facts = vec![
        Fact {
            short: Some(instance.status.word().to_owned()),
            ..Fact::words("status", Some(instance.status.meaning().to_owned()))
        },
        Fact::figure("vCPUs", instance.vcpus.map(f64::from), |vcpus| without_zeros(vcpus, 3)),
        Fact {
            figure: instance.memory.map(|memory| memory.0 as f64),
            short: instance.memory.map(Bytes::in_words),
            ..Fact::words("memory", instance.memory.map(|memory| format!("{} ({memory})", memory.in_words())))
        },
        Fact::words("architecture", architectures),
        Fact::words("hypervisor", instance.hypervisor.as_deref().map(clean)),
        Fact::figure("clock", instance.clock_ghz, |clock| format!("{} GHz", without_zeros(clock, 3))),
        Fact::figure("ECU", instance.ecu, |ecu| without_zeros(ecu, 3)),
        Fact {
            short: instance.ebs_support.map(|support| match support {
                EbsSupport::Default => "own link".to_owned(),
                EbsSupport::OnRequest => "on request".to_owned(),
                EbsSupport::None => "shares the network".to_owned(),
            }),
            ..Fact::words("EBS", support.map(str::to_owned))
        },
        Fact::rate("EBS baseline", ebs.map(|ebs| ebs.baseline)),
        Fact::figure("EBS IOPS (16 KiB)", ebs.and_then(|ebs| ebs.baseline_iops).map(f64::from), whole),
    ];
    if ebs.is_some() {
        let words = Fact::rate("EBS for 30 min", burst.map(|burst| burst.maximum));
        let none = || "as the baseline".to_owned();
        facts.push(Fact {
            words: words.words.or_else(|| Some(none())),
            short: ebs.map(|ebs| format!("{} MB/s", megabytes(ebs.maximum))),
            figure: ebs.map(|ebs| ebs.maximum.0 as f64),
            ..words
        });
    }
    if let Some(burst) = burst {
        facts.push(Fact::figure("IOPS for 30 min", burst.maximum_iops.map(f64::from), whole));
        let bucket = instance.link().and_then(|link| link.burst);
        let bytes = bucket.and_then(|bucket| bucket.credit_bytes);
        facts.push(Fact {
            figure: bytes.map(|bytes| bytes.0 as f64),
            short: bytes.map(|bytes| format!("{} GB", three_digits(bytes.0 as f64 / 1e9))),
            ..Fact::words(
                "EBS burst bucket",
                bytes.map(|bytes| {
                    format!(
                        "{} GB = 30 min of what the maximum is above the baseline; assumed to refill with the bandwidth \
                         unused below the baseline",
                        three_digits(bytes.0 as f64 / 1e9)
                    )
                }),
            )
        });
    }
    facts.push(Fact::rate("network", instance.network.map(|network| network.baseline)));
    facts.push(Fact::rate("network peak", instance.network.map(|network| network.peak)));
    facts.push(Fact {
        figure: instance
            .disks
            .as_ref()
            .and_then(iostone_cloud::LocalDisks::total)
            .map(|total| total.0 as f64),
        ..Fact::words("local disks", instance.disks.as_ref().map(disks))
    });
    facts.push(Fact {
        short: Some(match instance.credits() {
            Some(credits) => format!("{} an hour", without_zeros(credits.earned_per_hour, 3)),
            None if has_another_law(instance) => "another law".to_owned(),
            None if is_only_users(instance) => UNKNOWN.to_owned(),
            None => "none".to_owned(),
        }),
        figure: instance.credits().map(|credits| credits.earned_per_hour),
        ..Fact::words("CPU credits", credits(instance))
    });
    let prices = catalogue.prices(&instance.name);
    for region in catalogue.regions() {
        let usd = prices.get(region).copied();
        facts.push(Fact::figure(&format!("USD/h {region}"), usd, |usd| usd.to_string()));
    }
    facts
}

fn disks(disks: &iostone_cloud::LocalDisks) -> String {
    match (disks.count, disks.each, disks.kind) {
        (0, _, _) => "none".to_owned(),
        (count, Some(each), Some(kind)) => {
            format!("{count} x {} GB {}", without_zeros(each.0 as f64 / 1e9, 3), kind.word())
        }
        _ => clean(&disks.words),
    }
}

/// Whether its processor is given by a law that is not one of credits an hour, as that of t1.micro.
fn has_another_law(instance: &Instance) -> bool {
    instance.credits().is_none() && allowances(&instance.name).is_ok()
}

/// Whether all that is known of it are rows of the user's, which say nothing of credits.
fn is_only_users(instance: &Instance) -> bool {
    instance.said.is_some() && Catalogue::built_in().instance(&instance.name).is_err()
}

fn credits(instance: &Instance) -> Option<String> {
    let Some(credits) = instance.credits() else {
        if has_another_law(instance) {
            let name = clean(&instance.name);
            return Some(format!(
                "none published, but burstable by a model of its own; see `iostone credits {name}`"
            ));
        }
        let none = "none: not known to be burstable";
        return (!is_only_users(instance)).then(|| none.to_owned());
    };
    Some(format!(
        "{} per hour, {} at most, {} at launch in standard mode; baseline {} of each vCPU; {} by default",
        without_zeros(credits.earned_per_hour, 3),
        without_zeros(credits.maximum, 3),
        without_zeros(credits.launch, 3),
        credits.baseline,
        if credits.is_unlimited { "unlimited" } else { "standard" }
    ))
}

/// A rate in every unit that it is found in: `500 Mbps = 62.5 MB/s = 59.6 MiB/s`.
pub(super) fn every_unit(rate: ByteRate) -> String {
    let bytes = rate.0 as f64;
    format!(
        "{} Mbps = {} MB/s = {} MiB/s",
        without_zeros(bytes * 8.0 / 1e6, 3),
        megabytes(rate),
        three_digits(bytes / 1_048_576.0)
    )
}

/// Decimal megabytes a second.
pub(super) fn megabytes(rate: ByteRate) -> String {
    without_zeros(rate.0 as f64 / 1e6, 3)
}

/// A whole number: `4 000`.
fn whole(value: f64) -> String {
    count(round_count(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_told_in_every_unit() {
        assert_eq!(every_unit(ByteRate(62_500_000)), "500 Mbps = 62.5 MB/s = 59.6 MiB/s");
    }
}
