//! What the published figures of five field reports can mean: each trap in them is found, and nothing that is not there.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its own functions as well")]

use std::collections::BTreeMap;

use iostone_audit::audit;
use iostone_model::audit::{AuditReport, Finding, Severity};
use iostone_model::dataset::{
    Ceiling, DataKind, Dataset, Ending, Facts, Figure, MetricNote, Observation, Order, Prediction, Series,
};
use iostone_model::metric::{self, Unit};
use proptest::prelude::*;

/// One row of a published table: labels, figures with the steps they were printed in.
fn row(labels: &[(&str, &str)], figures: &[(&str, f64, f64)], facts: Facts) -> Observation {
    let text = |text: &str| text.to_owned();
    let figure = |(name, value, step): &(&str, f64, f64)| (text(name), Figure { value: *value, step: *step });
    Observation {
        file: "published.csv".to_owned(),
        labels: labels.iter().map(|(label, value)| (text(label), text(value))).collect(),
        figures: figures.iter().map(figure).collect(),
        facts,
        ..Observation::default()
    }
}

fn published(factors: &[&str], observations: Vec<Observation>) -> Dataset {
    let mut dataset = Dataset::new("published");
    dataset.factors = factors.iter().map(|factor| (*factor).to_owned()).collect();
    for name in observations.iter().flat_map(|observation| observation.figures.keys()) {
        let note = |known: &metric::Metric| MetricNote {
            unit: known.unit,
            better: Some(known.direction),
            title: known.title.to_owned(),
        };
        dataset.metrics.extend(metric::find(name).map(|known| (name.clone(), note(known))));
    }
    dataset.observations = observations;
    dataset
}

fn ceiling(name: &str, limit: &str, applies: &[(&str, &str)]) -> Ceiling {
    Ceiling {
        name: name.to_owned(),
        limit: limit.parse().unwrap(),
        restated: None,
        metrics: Vec::new(),
        applies: applies.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect(),
        source: "the provider's documentation".to_owned(),
    }
}

fn found<'a>(report: &'a AuditReport, rule: &str) -> Vec<&'a Finding> {
    report.findings.iter().filter(|finding| finding.rule == rule).collect()
}

fn only<'a>(report: &'a AuditReport, rule: &str) -> &'a Finding {
    let all = found(report, rule);
    assert_eq!(all.len(), 1, "{rule}: {all:#?}");
    all[0]
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes of machines")]
fn gib(gib: f64) -> u64 {
    (gib * 1_073_741_824.0) as u64
}

#[test]
fn dbench_faster_than_the_instances_link_measured_memory() {
    let rows =
        [("1", 198.832, 198.525), ("0", 195.168, 196.525)].into_iter().flat_map(|(barrier, one, two)| {
            [one, two].map(|rate| {
                row(&[("barrier", barrier)], &[("throughput", rate * 1e6, 1e3)], Facts::default())
            })
        });
    let mut dataset = published(&["barrier"], rows.collect());
    dataset.ceilings = vec![ceiling("instance link", "1000Mbps", &[])];
    let report = audit(&dataset);
    let above = only(&report, "above-ceiling");
    assert_eq!(above.severity, Severity::Serious);
    assert_eq!(above.observations, [0, 1, 2, 3]);
    assert!(above.message.contains("59.1 % above the limit of `instance link`"), "{}", above.message);
}

/// Report 2: instance, its memory in GiB, disks, block write, rewrite and read in kB/s, seeks a second.
const RAID0: &[(&str, f64, &str, f64, f64, f64, f64)] = &[
    ("t1.micro", 0.6, "1", 28395.0, 21940.0, 138_660.0, 7528.0),
    ("t1.micro", 0.6, "2", 34970.0, 27271.0, 162_178.0, 4549.0),
    ("t1.micro", 0.6, "4", 36763.0, 26447.0, 173_878.0, 4507.0),
    ("m1.large", 7.5, "1", 40685.0, 47039.0, 1_141_063.0, 9474.0),
    ("m1.large", 7.5, "2", 78498.0, 75381.0, 1_123_610.0, 10670.0),
    ("m1.large", 7.5, "4", 86972.0, 80442.0, 1_135_758.0, 11368.0),
    ("m1.xlarge", 15.0, "1", 34706.0, 42305.0, 1_625_674.0, 7723.0),
    ("m1.xlarge", 15.0, "2", 81722.0, 86559.0, 1_573_818.0, 12684.0),
    ("m1.xlarge", 15.0, "4", 113_565.0, 107_232.0, 1_551_414.0, 14466.0),
    ("m2.2xlarge", 34.2, "1", 42641.0, 50221.0, 2_066_364.0, 13876.0),
    ("m2.2xlarge", 34.2, "2", 70917.0, 71262.0, 1_961_041.0, 13252.0),
    ("m2.2xlarge", 34.2, "4", 82137.0, 80513.0, 1_961_634.0, 16166.0),
];

#[test]
fn striped_volumes_read_faster_than_the_network_are_memory() {
    let rows = RAID0.iter().map(|(instance, memory, disks, write, rewrite, read, seeks)| {
        let facts = Facts {
            memory_bytes: Some(gib(*memory)),
            // The array of four disks had 15.1 GiB.
            volume_bytes: Some(gib(15.1 / 4.0 * disks.parse::<f64>().unwrap())),
            ..Facts::default()
        };
        let figures = [
            ("block_write", write * 1e3, 1e3),
            ("rewrite", rewrite * 1e3, 1e3),
            ("block_read", read * 1e3, 1e3),
            ("random_seeks", *seeks, 1.0),
        ];
        row(&[("instance", instance), ("disks", disks)], &figures, facts)
    });
    let mut dataset = published(&["instance", "disks"], rows.collect());
    dataset.ceilings = vec![ceiling("network", "1Gbps", &[])];
    let report = audit(&dataset);
    let above = only(&report, "above-ceiling");
    assert_eq!(above.observations, (0..12).collect::<Vec<_>>());
    assert!(above.message.starts_with("block reads: 2.07 GB/s, 16.5 times"), "{}", above.message);
    let small = only(&report, "small-file");
    assert_eq!(small.severity, Severity::Serious);
    // The micro instance has room for twice its memory, and the large one at four disks for just that.
    assert_eq!(small.observations, [3, 4, 6, 7, 8, 9, 10, 11]);
    let rewrite = only(&report, "rewrite-faster");
    assert_eq!(rewrite.severity, Severity::Warning);
    assert_eq!(rewrite.observations, [3, 6, 7, 9, 10]);
}

fn build(instance: &str, limit: &str, real: f64, user: f64, system: f64) -> Observation {
    let facts = Facts {
        work: Some("perlbrew install perl-5.18.2".to_owned()),
        command: Some("time perlbrew install perl-5.18.2".to_owned()),
        ending: Some(Ending::Completed),
        ..Facts::default()
    };
    let figures = [("wall_time", real, 1e-3), ("user_time", user, 1e-3), ("system_time", system, 1e-3)];
    row(&[("instance", instance), ("limit", limit)], &figures, facts)
}

#[test]
fn a_build_under_a_cpu_limit_shows_steal_booked_as_cpu_time_and_its_downloads() {
    let dataset = published(
        &["limit"],
        vec![
            build("t1.micro", "none", 11219.721, 7674.352, 3112.487),
            build("t1.micro", "25 %", 5408.645, 904.317, 331.501),
            build("t1.micro", "30 %", 4503.421, 901.468, 324.844),
            build("t1.micro", "40 %", 5246.738, 1420.645, 530.737),
        ],
    );
    let report = audit(&dataset);
    let time = only(&report, "cpu-time");
    assert_eq!(time.severity, Severity::Serious);
    assert!(time.message.contains("8.80 times the CPU time"), "{}", time.message);
    assert_eq!(time.evidence.len(), 4);
    assert!(only(&report, "network-inside").message.contains("`perlbrew install` downloads"));
}

#[test]
fn the_build_on_other_instances_shows_steal_and_one_that_never_ended() {
    let mut rows = vec![
        build("m1.small", "none", 2763.623, 1794.188, 654.853),
        build("m1.medium", "none", 1533.974, 917.969, 300.599),
        build("m3.medium", "none", 1902.804, 1125.818, 467.473),
        build("c3.large", "none", 1001.832, 571.712, 205.633),
        build("t2.micro", "burst", 886.383, 533.064, 26.884),
    ];
    rows[2].facts.steal = Some(0.45);
    let facts = Facts { ending: Some(Ending::GivenUp("after two weeks".to_owned())), ..Facts::default() };
    rows.push(row(
        &[("instance", "t2.micro"), ("limit", "baseline")],
        &[("wall_time", 14.0 * 86400.0, 86400.0)],
        facts,
    ));
    let mut dataset = published(&["instance", "limit"], rows);
    dataset.predictions = vec![Prediction {
        metric: "wall_time".to_owned(),
        expected: "93min".parse().unwrap(),
        applies: [("limit".to_owned(), "baseline".to_owned())].into(),
        amount: None,
        rate: None,
        source: "the baseline of 10 %".to_owned(),
    }];
    let report = audit(&dataset);
    let steal = only(&report, "steal");
    assert_eq!((steal.severity, steal.observations.as_slice()), (Severity::Serious, [2].as_slice()));
    assert_eq!(only(&report, "cpu-time").severity, Severity::Note);
    let given_up = only(&report, "given-up");
    assert!(given_up.evidence[0].contains("it hung rather than was slow"), "{:?}", given_up.evidence);
}

/// Report 4, with the author's expectations.
fn bandwidth() -> Dataset {
    let dd = |instance: &str, bytes: u64, seconds: f64, memory: f64| {
        let facts = Facts {
            claimed_written_bytes: Some(bytes),
            memory_bytes: Some(gib(memory)),
            direct: Some(false),
            flushed: Some(false),
            source: Some("/dev/urandom".to_owned()),
            ending: Some(Ending::DiskFull),
            ..Facts::default()
        };
        let figures = [("throughput", bytes as f64 / seconds, 0.0), ("wall_time", seconds, 0.01)];
        row(&[("instance", instance)], &figures, facts)
    };
    let rows = vec![
        dd("c4.large", 232_303_771_648, 3763.15, 3.75),
        dd("c4.4xlarge", 232_303_767_552, 1354.88, 30.0),
    ];
    let mut dataset = published(&["instance"], rows);
    let link = |instance: &str, limit: &str, restated: &str| Ceiling {
        restated: Some(restated.parse().unwrap()),
        ..ceiling("instance link", limit, &[("instance", instance)])
    };
    dataset.ceilings = vec![
        ceiling("volume", "160MiB/s", &[]),
        link("c4.large", "500Mbps", "62.5MiB/s"),
        link("c4.4xlarge", "2000Mbps", "250MiB/s"),
    ];
    let expected = |instance: &str, expected: &str, rate: &str| Prediction {
        metric: "wall_time".to_owned(),
        expected: expected.parse().unwrap(),
        applies: [("instance".to_owned(), instance.to_owned())].into(),
        amount: Some("220GiB".parse().unwrap()),
        rate: Some(rate.parse().unwrap()),
        source: "the article".to_owned(),
    };
    dataset.predictions =
        vec![expected("c4.large", "23min", "160MiB/s"), expected("c4.large", "59min", "62.5MiB/s")];
    dataset
}

#[test]
fn dd_beyond_its_volume_is_the_page_cache_and_at_its_link_is_the_link() {
    let report = audit(&bandwidth());
    let above = only(&report, "above-ceiling");
    assert_eq!(above.observations, [1]);
    assert!(above.message.contains("2.2 % above the limit of `volume`"), "{}", above.message);
    assert!(above.message.contains("20 % of 30.0 GiB = 6.44 GB"), "{}", above.message);
    let at = only(&report, "at-ceiling");
    assert_eq!((at.severity, at.observations.as_slice()), (Severity::Note, [0].as_slice()));
    assert!(at.message.contains("98.8 % of the limit of `instance link`, 500Mbps"), "{}", at.message);
    let flushed = only(&report, "not-flushed");
    assert_eq!((flushed.severity, flushed.observations.len()), (Severity::Warning, 2));
    assert_eq!(only(&report, "disk-full").observations, [0, 1]);
    assert_eq!(only(&report, "source-limited").observations, [1]);
}

#[test]
fn the_units_of_dds_limits_and_predictions_were_mixed_up() {
    let report = audit(&bandwidth());
    let slips = found(&report, "unit-slip");
    assert_eq!(slips.len(), 3, "{slips:#?}");
    assert!(slips[0].message.contains("500Mbps in one place and 62.5MiB/s in another, 4.9 % above"));
    assert!(slips[1].message.contains("2000Mbps in one place and 250MiB/s in another, 4.9 % above"));
    assert!(slips[2].message.starts_with("220GiB at 62.5MiB/s take 60.1 min"), "{}", slips[2].message);
    assert!(slips[2].evidence[1].ends_with("232 GB at 500Mbps take 3717 s; measured 3763 s, 1.2 % above"));
    let beyond = only(&report, "prediction-beyond-ceiling").message.clone();
    assert!(
        beyond.starts_with("23min was expected from 160MiB/s, which is above the limit of `instance link`")
    );
}

#[test]
fn curves_over_files_of_zeros_by_a_tool_on_one_core_are_doubted() {
    let facts = Facts {
        source: Some("/dev/zero".to_owned()),
        data: Some(DataKind::Zeros),
        cpus: Some(2.0),
        cpus_used: Some(1.0),
        ..Facts::default()
    };
    let rows = ["btrfs", "ext4"]
        .map(|filesystem| row(&[("filesystem", filesystem)], &[("iops", 900.0, 1.0)], facts.clone()));
    let report = audit(&published(&["filesystem"], rows.into()));
    assert_eq!(only(&report, "zero-data").severity, Severity::Warning);
    assert_eq!(only(&report, "one-core").severity, Severity::Warning);
}

/// Values that arithmetic stumbles over.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -1e12..1e12,
        1 => prop::sample::select(vec![0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, f64::MAX]),
    ]
}

fn bytes() -> impl Strategy<Value = Option<u64>> {
    prop::option::of(prop_oneof![any::<u64>(), 0u64..10])
}

prop_compose! {
    fn facts()(
        [read, written, served_read, served_written, set, memory, volume] in [bytes(), bytes(), bytes(), bytes(), bytes(), bytes(), bytes()],
        [steal, throttled, quota, cpus, used, source_rate] in
            [value(), value(), value(), value(), value(), value()].prop_map(|all| all.map(Some)),
        flags in (prop::option::of(any::<bool>()), prop::option::of(any::<bool>())),
        text in "\\PC{0,30}",
        how in 0..5,
    ) -> Facts {
        let ending = match how {
            0 => Some(Ending::Completed),
            1 => Some(Ending::DiskFull),
            2 => Some(Ending::GivenUp(text.clone())),
            3 => Some(Ending::Failed(text.clone())),
            _ => None,
        };
        Facts {
            work: (how % 2 == 0).then(|| text.clone()),
            claimed_read_bytes: read,
            claimed_written_bytes: written,
            served_read_bytes: served_read,
            served_written_bytes: served_written,
            working_set_bytes: set,
            memory_bytes: memory,
            volume_bytes: volume,
            direct: flags.0,
            flushed: flags.1,
            source: (how > 2).then(|| "/dev/urandom".to_owned()),
            source_bytes_per_second: source_rate,
            steal, throttled, cpu_quota: quota, cpus, cpus_used: used,
            command: Some(text.clone()),
            ending,
            too_fast: vec![text.clone()],
            remarks: vec![text],
            ..Facts::default()
        }
    }
}

prop_compose! {
    fn observations()(
        facts in facts(),
        figures in prop::collection::btree_map(
            prop::sample::select(vec![
                "throughput", "iops", "latency_mean", "wall_time", "user_time", "system_time", "block_write", "rewrite",
                "block_read", "random_seeks", "steal",
            ]),
            (value(), value()),
            0..8,
        ),
        labels in prop::collection::btree_map("(instance|iodepth|condition|large)", "[0-9a-c]{0,3}", 0..4),
        series in prop::collection::vec(value(), 0..4),
    ) -> Observation {
        let figures = figures.into_iter().map(|(name, (value, step))| (name.to_owned(), Figure { value, step }));
        let at_seconds = (0u32..).map(f64::from).take(series.len()).collect();
        let steal = Series { unit: Unit::Share, at_seconds, values: series };
        Observation {
            labels,
            figures: figures.collect(),
            series: BTreeMap::from([("steal".to_owned(), steal)]),
            facts,
            ..Observation::default()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Imported files hold anything; a rule that fails on it would take the whole audit along.
    #[test]
    fn no_figures_break_a_rule(all in prop::collection::vec(observations(), 0..6), limit in value(), listed in any::<bool>()) {
        let mut dataset = published(&["condition"], all);
        dataset.order = if listed { Order::AsListed } else { Order::Unknown };
        let mut odd = ceiling("odd", "1MB/s", &[]);
        odd.limit.value = limit;
        odd.restated = Some("1MiB/s".parse().unwrap());
        dataset.ceilings = vec![odd, ceiling("volume", "160MiB/s", &[])];
        dataset.predictions = bandwidth().predictions;
        for prediction in &mut dataset.predictions {
            prediction.applies.clear();
            prediction.expected.value = limit;
        }
        let report = audit(&dataset);
        prop_assert_eq!(report.observations, dataset.observations.len());
        for finding in &report.findings {
            prop_assert!(!finding.message.is_empty() && !finding.advice.is_empty());
            prop_assert!(finding.observations.iter().all(|index| *index < dataset.observations.len()));
        }
    }
}
