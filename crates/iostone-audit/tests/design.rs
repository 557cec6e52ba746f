//! What the rules on how figures were taken say of published figures, and of clean sets with a fault planted in them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its own functions as well")]

use std::collections::BTreeMap;

use iostone_audit::audit;
use iostone_model::audit::{AuditReport, Finding, Severity};
use iostone_model::dataset::{Aggregate, Averaged, Dataset, Figure, MetricNote, Observation, Order};
use iostone_model::metric::{Direction, Unit};
use proptest::prelude::*;

use crate::chance::Chance;
use crate::clean::{Design, Made, make};

/// Rows of `label,...|figure,...`; figures are scaled to base units.
fn rows(table: &str, labels: &[&str], figures: &[(&str, f64)], text: &str) -> Vec<Observation> {
    let mut runs: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    let lines = text.trim().lines().enumerate();
    lines
        .map(|(index, line)| {
            let (names, numbers) = line.trim().split_once('|').unwrap();
            let names: Vec<String> = names.split(',').map(|name| name.trim().to_owned()).collect();
            let run = runs.entry(names.clone()).or_default();
            *run += 1;
            let figure = |(text, (name, scale)): (&str, &(&str, f64))| {
                let decimals = text.trim().split_once('.').map_or(0, |(_, decimals)| decimals.len());
                let step = scale * 10_f64.powi(-i32::try_from(decimals).unwrap());
                ((*name).to_owned(), Figure { value: text.trim().parse::<f64>().unwrap() * scale, step })
            };
            Observation {
                table: table.to_owned(),
                file: format!("{table}.csv"),
                line: Some(index as u64 + 2),
                run: Some(run.to_string()),
                labels: labels.iter().map(|label| (*label).to_owned()).zip(names).collect(),
                figures: numbers.split(',').zip(figures).map(figure).collect(),
                ..Observation::default()
            }
        })
        .collect()
}

fn dataset(factors: &[&str], order: Order, observations: Vec<Observation>) -> Dataset {
    let mut dataset = Dataset::new("published");
    dataset.factors = factors.iter().map(|factor| (*factor).to_owned()).collect();
    dataset.order = order;
    dataset.observations = observations;
    let units = [
        ("throughput", Unit::BytesPerSecond, Direction::Higher),
        ("block_write", Unit::BytesPerSecond, Direction::Higher),
        ("rewrite", Unit::BytesPerSecond, Direction::Higher),
        ("block_read", Unit::BytesPerSecond, Direction::Higher),
        ("random_seeks", Unit::PerSecond, Direction::Higher),
        ("latency_max", Unit::Seconds, Direction::Lower),
        ("wall_time", Unit::Seconds, Direction::Lower),
        ("user_time", Unit::Seconds, Direction::Lower),
        ("system_time", Unit::Seconds, Direction::Lower),
    ];
    for (name, unit, better) in units {
        let note = MetricNote { unit, better: Some(better), title: name.to_owned() };
        dataset.metrics.insert(name.to_owned(), note);
    }
    dataset
}

fn of<'a>(report: &'a AuditReport, rule: &str) -> Vec<&'a Finding> {
    report.findings.iter().filter(|finding| finding.rule == rule).collect()
}

fn only<'a>(report: &'a AuditReport, rule: &str) -> &'a Finding {
    let found = of(report, rule);
    assert_eq!(found.len(), 1, "{rule}: {:#?}", report.findings);
    found[0]
}

const DBENCH: &[(&str, f64)] = &[("throughput", 1e6), ("latency_max", 1e-3)];

const BARRIER: &str = "
barrier=1|198.832,291.996
barrier=1|198.525,231.604
barrier=1|197.24,529.609
barrier=1|198.003,537.408
barrier=1|193.24,500.507
barrier=0|195.168,336.223
barrier=0|196.525,341.762
barrier=0|196.241,664.540
barrier=0|197.79,814.218
barrier=0|195.378,441.299";

const KERNEL: &str = "
2.6.32-431|58.7519,204.272
2.6.32-431|60.9603,197.062
2.6.32-431|58.7519,204.272
2.6.32-431|63.2337,658.214
2.6.32-431|61.4362,984.695
2.6.32-504|195.168,336.223
2.6.32-504|196.525,341.762
2.6.32-504|196.241,664.540
2.6.32-504|197.79,814.218
2.6.32-504|195.378,441.299
Amazon Linux 2014.09|330.06,557.884
Amazon Linux 2014.09|331.476,326.321
Amazon Linux 2014.09|329.715,614.967
Amazon Linux 2014.09|333.588,302.362
Amazon Linux 2014.09|332.771,418.299";

#[test]
fn report_one_copied_rows_and_order() {
    let both =
        [rows("barrier", &["condition"], DBENCH, BARRIER), rows("kernel", &["condition"], DBENCH, KERNEL)];
    let report = audit(&dataset(&["condition"], Order::AsListed, both.concat()));

    let same = only(&report, "same-data");
    assert_eq!((same.severity, same.observations.len()), (Severity::Serious, 10));
    assert!(
        same.message.starts_with("all 5 rows under `condition=2.6.32-504` in table `kernel`"),
        "{}",
        same.message
    );

    let identical = only(&report, "identical-rows");
    assert_eq!((identical.severity, identical.observations.as_slice()), (Severity::Serious, &[10, 12][..]));
    assert!(identical.evidence[0].contains("throughput 58.7519 MB/s, latency_max 204.272 ms"));

    let order = of(&report, "order-confounded");
    assert_eq!(order.len(), 2);
    assert_eq!(order[0].severity, Severity::Serious, "a drift explains the barrier's half percent");
    assert!(order[0].message.contains("table `barrier`"), "{}", order[0].message);
    assert_eq!(order[1].severity, Severity::Warning, "but not a factor of three");

    let few = of(&report, "few-runs");
    assert_eq!(few.len(), 2);
    assert!(few.iter().all(|finding| finding.severity == Severity::Warning));
    assert!(of(&report, "single-run").is_empty() && of(&report, "order-unrecorded").is_empty());
}

#[test]
fn report_one_series_are_not_steady() {
    let report = audit(&dataset(&["condition"], Order::AsListed, rows("", &["condition"], DBENCH, BARRIER)));
    let trend = only(&report, "trend");
    assert_eq!(trend.severity, Severity::Note);
    let evidence = trend.evidence.join("\n");
    assert!(evidence.contains("climbs run by run, from -1.8 % to +1.1 %"), "{evidence}");
    assert!(evidence.contains("latency_max steps up after run 2 (+99.6 % and +88.8 %"), "{evidence}");
}

const BONNIE: &str = "
t1.micro,1|28395,21940,138660,7528
t1.micro,2|34970,27271,162178,4549
t1.micro,4|36763,26447,173878,4507
m1.large,1|40685,47039,1141063,9474
m1.large,2|78498,75381,1123610,10670
m1.large,4|86972,80442,1135758,11368
m1.xlarge,1|34706,42305,1625674,7723
m1.xlarge,2|81722,86559,1573818,12684
m1.xlarge,4|113565,107232,1551414,14466
m2.2xlarge,1|42641,50221,2066364,13876
m2.2xlarge,2|70917,71262,1961041,13252
m2.2xlarge,4|82137,80513,1961634,16166";

#[test]
fn report_two_averages_and_scaling() {
    let figures = [("block_write", 1e3), ("rewrite", 1e3), ("block_read", 1e3), ("random_seeks", 1.0)];
    let mut observations = rows("", &["instance", "disks"], &figures, BONNIE);
    for observation in &mut observations {
        observation.facts.averaged =
            Some(Averaged { executions: None, by: Aggregate::Mean, spread_known: false });
    }
    let report = audit(&dataset(&["instance", "disks"], Order::Unknown, observations));
    assert!(
        only(&report, "no-spread").message.starts_with("12 rows are averages of an unstated number of runs")
    );
    let scaling = only(&report, "superlinear");
    let start = "block_write grows by a factor of 2.35 from disks=1 to disks=2, 34.7 MB/s to 81.7 MB/s with instance=m1.xlarge";
    assert!(scaling.message.starts_with(start), "{}", scaling.message);
    let reversed = only(&report, "reversed-scaling");
    let start = "random_seeks falls by 39.6 % from disks=1 to disks=2 with instance=t1.micro";
    assert!(reversed.message.starts_with(start), "{}", reversed.message);
    assert_eq!(only(&report, "order-unrecorded").severity, Severity::Note);
    assert!(of(&report, "single-run").is_empty() && of(&report, "same-data").is_empty());
}

const QUOTAS: &str = "
t1.micro,no limit,-1|11219.721,7674.352,3112.487
t1.micro,25 %,250000|5408.645,904.317,331.501
t1.micro,30 %,300000|4503.421,901.468,324.844
t1.micro,40 %,400000|5246.738,1420.645,530.737";

const INSTANCES: &str = "
t1.micro,30 % limit|4503.421,901.468,324.844
m1.small,no limit|2763.623,1794.188,654.853
m1.medium,no limit|1533.974,917.969,300.599
m3.medium,no limit|1902.804,1125.818,467.473
c1.medium,no limit|1501.527,916.129,334.785
c3.large,no limit|1001.832,571.712,205.633
m3.large,no limit|1021.667,601.062,201.857
t2.micro,burst|886.383,533.064,26.884";

#[test]
fn report_three_single_runs() {
    let times = [("wall_time", 1.0), ("user_time", 1.0), ("system_time", 1.0)];
    let both = [
        rows("quotas", &["instance", "condition", "cfs_quota_us"], &times, QUOTAS),
        rows("instances", &["instance", "condition"], &times, INSTANCES),
    ];
    let report = audit(&dataset(&["instance", "condition"], Order::Unknown, both.concat()));
    let single = of(&report, "single-run");
    assert_eq!(single.len(), 2);
    assert!(single.iter().all(|finding| finding.severity == Severity::Warning));
    assert!(single[0].message.contains("each of the 4 conditions in table `quotas` was run once"));
    assert!(single[0].evidence[1].ends_with("a factor of 1.165, means nothing if runs scatter by 5.5 %"));
    // The limited micro build stands in both tables under two wordings: one measurement.
    assert_eq!(only(&report, "same-data").severity, Severity::Note);
    assert!(of(&report, "few-runs").is_empty());
    // In the second table two of the eight machines ran under a condition of their own.
    let partly = only(&report, "confounded-factors");
    assert_eq!(partly.severity, Severity::Warning);
    assert!(
        partly.message.contains("in table `instances` differ in `condition` as well"),
        "{}",
        partly.message
    );
}

#[test]
fn report_four_single_copies() {
    let text = "c4.large|61.7,3763.15\nc4.4xlarge|171,1354.88";
    let observations = rows("", &["instance"], &[("throughput", 1e6), ("wall_time", 1.0)], text);
    let report = audit(&dataset(&["instance"], Order::Unknown, observations));
    assert_eq!(only(&report, "single-run").severity, Severity::Warning);
    assert!(of(&report, "coarse-digits").is_empty() && of(&report, "superlinear").is_empty());
}

#[test]
fn report_five_filesystems_that_came_with_everything_else() {
    let labels = ["filesystem", "place", "os", "kernel", "container_engine", "host", "hypervisor", "storage"];
    let text = "
btrfs,host,CoreOS 557.2,3.18.1,Docker 1.4,tk2a,2.1,st02|100
btrfs,layer,CoreOS 557.2,3.18.1,Docker 1.4,tk2a,2.1,st02|110
ext4,host,CoreOS 593.0,3.18.6,Docker 1.5,tk2b,2.0,st04|120
ext4,layer,CoreOS 593.0,3.18.6,Docker 1.5,tk2b,2.0,st04|130";
    let mut observations = rows("", &labels, &[("throughput", 1e6)], text);
    for observation in &mut observations {
        observation.facts.averaged =
            Some(Averaged { executions: Some(5), by: Aggregate::Median, spread_known: false });
    }
    let report = audit(&dataset(&["filesystem", "place"], Order::Unknown, observations));
    let confounded = only(&report, "confounded-factors");
    assert_eq!(confounded.severity, Severity::Serious);
    for label in ["host", "hypervisor", "kernel", "os", "storage", "container_engine"] {
        assert!(confounded.message.contains(&format!("`{label}`")), "{label}: {confounded:#?}");
    }
    assert!(!confounded.message.contains("place"));
    assert!(only(&report, "no-spread").message.contains("medians of 5 runs"));
    assert!(only(&report, "few-runs").message.contains("(5)"));
}

/// A clean set of a tool that prints several figures of fine digits, so that copies can be told at all.
fn clean_set(chance: &mut Chance, design: Design) -> Made {
    loop {
        let made = make(chance, design, true);
        let tools = ["dbench", "fio", "bonnie++"];
        let fine =
            made.dataset.observations.iter().all(|observation| tools.contains(&observation.tool.as_str()));
        if fine && made.dataset.factors.len() == 1 {
            return made;
        }
    }
}

/// How often a fault planted in clean sets is found.
fn found(seed: u64, rule: &str, design: Design, plant: impl Fn(&mut Dataset)) -> usize {
    let mut chance = Chance::new(seed);
    (0..50)
        .filter(|_| {
            let Made { mut dataset, recipe } = clean_set(&mut chance, design);
            let before = audit(&dataset);
            assert!(of(&before, rule).iter().all(|finding| finding.severity == Severity::Note), "{recipe}");
            plant(&mut dataset);
            of(&audit(&dataset), rule).iter().any(|finding| finding.severity > Severity::Note)
        })
        .count()
}

/// The places of the first two levels of the first factor.
fn two_levels(dataset: &Dataset) -> [Vec<usize>; 2] {
    let factor = &dataset.factors[0];
    let levels: Vec<String> = dataset.values_of(factor).into_iter().take(2).map(str::to_owned).collect();
    [0, 1].map(|index| {
        let of_level =
            |(_, observation): &(usize, &Observation)| observation.labels.get(factor) == levels.get(index);
        dataset.observations.iter().enumerate().filter(of_level).map(|(place, _)| place).collect()
    })
}

#[test]
fn a_copied_row_is_found_in_nearly_every_set() {
    let times = found(1, "identical-rows", Design::Blocks, |dataset| {
        let [first, _] = two_levels(dataset);
        dataset.observations[first[3]].figures = dataset.observations[first[1]].figures.clone();
    });
    assert!(times >= 45, "{times} of 50");
}

#[test]
fn rows_copied_to_another_condition_are_found_in_every_set() {
    let times = found(2, "same-data", Design::Blocks, |dataset| {
        let [first, second] = two_levels(dataset);
        for (from, to) in first.into_iter().zip(second) {
            dataset.observations[to].figures = dataset.observations[from].figures.clone();
        }
    });
    assert_eq!(times, 50);
}

#[test]
fn an_unnoticed_second_kernel_is_found_in_every_set() {
    let times = found(3, "confounded-factors", Design::Shuffled, |dataset| {
        let [first, _] = two_levels(dataset);
        for place in first {
            dataset.observations[place].labels.insert("kernel".to_owned(), "6.12.10".to_owned());
        }
    });
    assert_eq!(times, 50);
}

#[test]
fn blocks_of_one_order_are_found_in_every_set() {
    let times = found(4, "order-fixed", Design::Blocks, |dataset| {
        let factor = dataset.factors[0].clone();
        dataset.order = Order::Unknown;
        let levels: Vec<String> = dataset.values_of(&factor).into_iter().map(str::to_owned).collect();
        for observation in &mut dataset.observations {
            let position =
                levels.iter().position(|level| observation.labels.get(&factor) == Some(level)).unwrap();
            observation.order = Some(position as f64);
        }
    });
    assert_eq!(times, 50);
}

#[test]
fn a_machine_that_slows_down_is_found_in_most_unblocked_sets() {
    let times = found(5, "trend", Design::Shuffled, |dataset| {
        for observation in &mut dataset.observations {
            // Half its speed at the end.
            let slower = 1.0 / (1.0 + observation.order.unwrap() / 40.0);
            for figure in observation.figures.values_mut() {
                figure.value *= slower;
            }
        }
    });
    assert!(times >= 40, "{times} of 50");
}

#[test]
fn conditions_with_real_differences_one_after_another_are_found_in_every_set() {
    let mut chance = Chance::new(6);
    for _ in 0..50 {
        let report = audit(&clean_set(&mut chance, Design::Sequential).dataset);
        assert!(only(&report, "order-confounded").severity > Severity::Note);
    }
}

/// Figures, labels and moments of any kind.
fn odd_observation() -> impl Strategy<Value = Observation> {
    let figure = prop_oneof![
        Just(0.0),
        Just(-1.0),
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::MIN_POSITIVE),
        1.0..1e9_f64,
        (1_u8..4).prop_map(f64::from),
    ];
    let step = prop_oneof![Just(0.0), Just(0.1), Just(f64::NAN), Just(1e12)];
    let figures = proptest::collection::btree_map(
        "(throughput|wall_time|latency_max|plain)",
        (figure.clone(), step),
        0..4,
    );
    let labels =
        proptest::collection::btree_map("(barrier|disks|host|kernel|date|rw)", "(|1|2|4|x|30 %)", 0..5);
    let moment = (proptest::option::of(0_u64..3), proptest::option::of(figure));
    let average = proptest::option::of((proptest::option::of(0_u32..9), any::<bool>()));
    (figures, labels, moment, average, "(|a|b)").prop_map(
        |(figures, labels, (block, order), average, table)| {
            let mut observation = Observation { labels, block, order, table, ..Observation::default() };
            observation.figures =
                figures.into_iter().map(|(name, (value, step))| (name, Figure { value, step })).collect();
            observation.facts.averaged = average.map(|(executions, spread_known)| Averaged {
                executions,
                by: Aggregate::Best,
                spread_known,
            });
            observation
        },
    )
}

proptest! {
    #[test]
    fn no_dataset_makes_a_rule_fail_and_every_finding_says_something(
        observations in proptest::collection::vec(odd_observation(), 0..40),
        as_listed in any::<bool>(),
    ) {
        let order = if as_listed { Order::AsListed } else { Order::Unknown };
        let count = observations.len();
        let report = audit(&dataset(&["barrier", "disks"], order, observations));
        for finding in report.findings {
            prop_assert!(!finding.message.is_empty() && !finding.message.ends_with('.'), "{:?}", finding);
            prop_assert!(finding.advice.ends_with('.'), "{:?}", finding);
            prop_assert!(!finding.message.contains("NaN") && !finding.message.contains("inf "), "{:?}", finding);
            prop_assert!(finding.observations.iter().all(|place| *place < count), "{:?}", finding);
        }
    }
}
