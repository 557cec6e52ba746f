//! Made-up datasets as a careful engineer would have taken them: nothing an audit may warn of.

use std::collections::BTreeMap;

use iostone_model::dataset::{
    Ceiling, DataKind, Dataset, Ending, Facts, Figure, MetricNote, Observation, Order,
};
use iostone_model::metric::{Direction, Unit, find};

use crate::chance::{Chance, NOISES, noise};

const GIB: u64 = 1 << 30;

/// A figure that a tool prints: its typical value, how it follows the speed of the run, and its significant digits
/// (0 for figures kept as they were computed).
struct Printed {
    name: &'static str,
    typical: f64,
    power: f64,
    own_cv: f64,
    digits: i32,
}

const fn printed(name: &'static str, typical: f64, power: f64, own_cv: f64, digits: i32) -> Printed {
    Printed { name, typical, power, own_cv, digits }
}

/// What a tool prints, and the label that is most often varied with it.
struct Kind {
    tool: &'static str,
    figures: &'static [Printed],
    factor: (&'static str, &'static [&'static str]),
    facts: fn() -> Facts,
}

const KINDS: &[Kind] = &[
    Kind {
        tool: "dbench",
        figures: &[printed("throughput", 1.9e8, 1.0, 0.0, 6), printed("latency_max", 0.35, -0.5, 0.4, 6)],
        factor: ("barrier", &["1", "0"]),
        facts: buffered,
    },
    Kind {
        tool: "fio",
        figures: &[
            printed("iops", 14_000.0, 1.0, 0.0, 7),
            printed("throughput", 5.7e7, 1.0, 0.0, 8),
            printed("latency_mean", 2.2e-3, -1.0, 0.01, 7),
            printed("latency_p99", 6.1e-3, -1.0, 0.1, 4),
            printed("latency_max", 0.04, -0.5, 0.4, 6),
        ],
        factor: ("scheduler", &["none", "mq-deadline", "kyber", "bfq"]),
        facts: direct,
    },
    Kind {
        tool: "bonnie++",
        figures: &[
            printed("block_write", 8.1e7, 1.0, 0.02, 5),
            printed("rewrite", 3.9e7, 1.0, 0.02, 5),
            printed("block_read", 1.2e8, 1.0, 0.02, 6),
            printed("random_seeks", 431.0, 1.0, 0.03, 4),
            printed("block_write.cpu", 0.12, 0.5, 0.05, 2),
        ],
        factor: ("disks", &["1", "2", "4"]),
        facts: buffered,
    },
    Kind {
        tool: "dd",
        figures: &[printed("throughput", 6.173e7, 1.0, 0.0, 6), printed("wall_time", 3763.15, -1.0, 0.0, 6)],
        factor: ("instance", &["c4.large", "c4.xlarge", "c4.2xlarge"]),
        facts: direct,
    },
    Kind {
        tool: "time",
        figures: &[
            printed("wall_time", 1021.667, -1.0, 0.0, 7),
            printed("user_time", 601.062, -0.1, 0.01, 6),
            printed("system_time", 201.857, -0.1, 0.01, 6),
        ],
        factor: ("quota", &["25 %", "30 %", "40 %"]),
        facts: build,
    },
    Kind {
        tool: "sysbench",
        figures: &[printed("events", 1234.56, 1.0, 0.0, 6), printed("latency_mean", 8.1e-4, -1.0, 0.0, 2)],
        factor: ("governor", &["performance", "powersave"]),
        facts: build,
    },
    Kind {
        tool: "io",
        figures: &[
            printed("throughput", 4.1e8, 1.0, 0.0, 0),
            printed("iops", 50_000.0, 1.0, 0.0, 0),
            printed("latency_mean", 6.4e-4, -1.0, 0.005, 0),
            printed("latency_p99", 2.1e-3, -1.0, 0.05, 0),
            printed("latency_max", 0.03, -0.5, 0.3, 0),
        ],
        factor: ("filesystem", &["ext4", "xfs", "btrfs"]),
        facts: direct,
    },
    Kind {
        tool: "",
        figures: &[printed("milliseconds", 4.41, -1.0, 0.0, 3)],
        factor: ("threads", &["1", "2", "4", "8"]),
        facts: Facts::default,
    },
];

fn direct() -> Facts {
    Facts {
        work: Some("randread 8KiB, depth 32".to_owned()),
        claimed_read_bytes: Some(64 * GIB),
        served_read_bytes: Some(64 * GIB + (1 << 20)),
        claimed_written_bytes: Some(8 * GIB),
        served_written_bytes: Some(8 * GIB),
        working_set_bytes: Some(16 * GIB),
        memory_bytes: Some(4 * GIB),
        volume_bytes: Some(64 * GIB),
        direct: Some(true),
        flushed: Some(true),
        served_flushes: Some(18_342),
        volatile_cache: Some(true),
        source: Some("memory, random bytes".to_owned()),
        source_bytes_per_second: Some(2e10),
        data: Some(DataKind::Random),
        ..unhindered()
    }
}

fn buffered() -> Facts {
    Facts {
        work: Some("clients 5, 60 s".to_owned()),
        working_set_bytes: Some(12 * GIB),
        memory_bytes: Some(4 * GIB),
        volume_bytes: Some(64 * GIB),
        direct: Some(false),
        flushed: Some(true),
        served_flushes: Some(18_342),
        volatile_cache: Some(true),
        data: Some(DataKind::Random),
        ..unhindered()
    }
}

fn build() -> Facts {
    Facts { work: Some("make all".to_owned()), command: Some("make -j2 all".to_owned()), ..unhindered() }
}

fn unhindered() -> Facts {
    Facts {
        steal: Some(0.0),
        throttled: Some(0.0),
        cpus: Some(2.0),
        cpus_used: Some(0.4),
        ending: Some(Ending::Completed),
        ..Facts::default()
    }
}

/// How a clean dataset's runs were ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Design {
    /// In randomised blocks.
    Blocks,
    /// In one random order over all runs.
    Shuffled,
    /// Each condition after the other: a fault.
    Sequential,
    /// One condition, repeated.
    Alone,
}

/// What a dataset was made of, for a failed test to tell.
pub(crate) struct Made {
    pub(crate) dataset: Dataset,
    pub(crate) recipe: String,
}

/// A dataset of that design; `effect` allows its conditions to differ.
pub(crate) fn make(chance: &mut Chance, design: Design, effect: bool) -> Made {
    let kind = &KINDS[chance.below(KINDS.len())];
    let levels = match design {
        Design::Alone => 1,
        _ => 2 + chance.below(kind.factor.1.len() - 1),
    };
    let second = if design != Design::Alone && chance.share() < 0.25 { 2 } else { 1 };
    let conditions = levels * second;
    let repetitions = 6 + chance.below(15);
    let cv = chance.between(0.005, 0.1);
    // Whoever measures without blocks needs a machine that holds still.
    let shape = if design == Design::Blocks { chance.pick(&NOISES) } else { NOISES[0] };
    let runs = conditions * repetitions;
    let slow = noise(chance, shape, runs, conditions, cv);
    // More of a resource has an effect of its own; a random one beside it would be no scaling any more.
    let levels_differ = effect && !scales(kind);
    let gains: Vec<f64> =
        (0..levels).map(|_| if levels_differ { chance.between(0.6, 2.0) } else { 1.0 }).collect();
    let gain_of_second = if effect { chance.between(0.6, 2.0) } else { 1.0 };
    let hosts = 1 + chance.below(4);
    let order = sequence(chance, design, conditions, repetitions);

    let mut dataset = Dataset::new("synthetic");
    let extra = "place";
    dataset.factors = match (levels, second) {
        (1, _) => Vec::new(),
        (_, 1) => vec![kind.factor.0.to_owned()],
        _ => vec![kind.factor.0.to_owned(), extra.to_owned()],
    };
    dataset.order = if design == Design::Blocks { Order::RandomisedBlocks } else { Order::Unknown };
    dataset.metrics = kind.figures.iter().map(|figure| (figure.name.to_owned(), note(figure.name))).collect();
    let scale = chance.between(0.3, 3.0);
    for (moment, condition) in order.into_iter().enumerate() {
        let block = moment / conditions;
        let level = condition % levels;
        let gain = gains[level] * if condition >= levels { gain_of_second } else { 1.0 };
        let speed = gain * scaling(kind, level) * slow[moment].exp();
        let mut labels = BTreeMap::from([
            (kind.factor.0.to_owned(), kind.factor.1[level].to_owned()),
            ("host".to_owned(), format!("h{}", block % hosts)),
            ("os".to_owned(), "Debian 13".to_owned()),
            ("date".to_owned(), format!("2026-11-{:02}", 1 + block / 4)),
        ]);
        labels.entry("kernel".to_owned()).or_insert_with(|| "6.12.9".to_owned());
        if second > 1 {
            labels.insert(extra.to_owned(), ["host", "container"][condition / levels].to_owned());
        }
        if kind.factor.0 == "instance" {
            labels.insert("host".to_owned(), format!("{}-{}", kind.factor.1[level], block % 4));
        }
        dataset.observations.push(Observation {
            file: "figures.csv".to_owned(),
            line: Some(moment as u64 + 2),
            tool: kind.tool.to_owned(),
            labels,
            block: (design == Design::Blocks).then_some(block as u64),
            order: Some(moment as f64),
            figures: kind.figures.iter().map(|one| figure(chance, one, speed, scale, cv)).collect(),
            facts: (kind.facts)(),
            ..Observation::default()
        });
    }
    // Half of the sets are listed by condition, as tables in articles are.
    if chance.share() < 0.5 {
        dataset.observations.sort_by(|a, b| a.labels.get(kind.factor.0).cmp(&b.labels.get(kind.factor.0)));
    }
    if chance.share() < 0.3 {
        dataset.ceilings.push(generous_ceiling(&dataset));
    }
    let recipe = format!(
        "{}, {design:?}, {shape:?}, cv {cv:.3}, {conditions} conditions, {repetitions} runs each",
        kind.tool
    );
    Made { dataset, recipe }
}

/// Which condition runs at each moment.
fn sequence(chance: &mut Chance, design: Design, conditions: usize, repetitions: usize) -> Vec<usize> {
    match design {
        Design::Blocks => (0..repetitions).flat_map(|_| chance.order(conditions)).collect(),
        Design::Sequential | Design::Alone => {
            (0..conditions).flat_map(|condition| vec![condition; repetitions]).collect()
        }
        Design::Shuffled => {
            chance.order(conditions * repetitions).into_iter().map(|place| place % conditions).collect()
        }
    }
}

/// More disks or threads help, but less than in proportion.
fn scaling(kind: &Kind, level: usize) -> f64 {
    let count: f64 = kind.factor.1[level].parse().unwrap_or(1.0);
    if scales(kind) { count.powf(0.6) } else { 1.0 }
}

fn scales(kind: &Kind) -> bool {
    ["disks", "threads"].contains(&kind.factor.0)
}

fn figure(chance: &mut Chance, printed: &Printed, speed: f64, scale: f64, cv: f64) -> (String, Figure) {
    let own = (printed.own_cv * chance.normal()).exp();
    let value = printed.typical * (speed * scale).powf(printed.power) * own;
    // Nothing is ever wholly without a scatter of its own.
    let value = value * (0.02 * cv * chance.normal()).exp();
    if printed.digits == 0 {
        return (printed.name.to_owned(), Figure::from(value));
    }
    #[expect(clippy::cast_possible_truncation, reason = "a small exponent")]
    let exponent = value.log10().floor() as i32 + 1 - printed.digits;
    let step = 10_f64.powi(exponent);
    (printed.name.to_owned(), Figure { value: (value / step).round() * step, step })
}

fn note(name: &str) -> MetricNote {
    match find(name) {
        Some(metric) => {
            MetricNote { unit: metric.unit, better: Some(metric.direction), title: metric.title.to_owned() }
        }
        None => MetricNote { unit: Unit::Plain, better: Some(Direction::Lower), title: name.to_owned() },
    }
}

/// A link far above everything measured.
fn generous_ceiling(dataset: &Dataset) -> Ceiling {
    let rates = dataset.observations.iter().flat_map(|observation| observation.figures.iter());
    let rates = rates.filter(|(name, _)| dataset.unit_of(name) == Unit::BytesPerSecond);
    let largest = rates.map(|(_, figure)| figure.value).fold(1e6, f64::max);
    Ceiling {
        name: "instance link".to_owned(),
        limit: format!("{:.0}Mbps", largest * 1.7 * 8.0 / 1e6).parse().unwrap(),
        restated: None,
        metrics: Vec::new(),
        applies: BTreeMap::new(),
        source: "the provider's documentation".to_owned(),
    }
}
