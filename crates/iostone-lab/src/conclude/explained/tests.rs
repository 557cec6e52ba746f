//! What bound made-up runs: emulated instances and volumes, and a file below a loop device.

use std::collections::BTreeMap;

use iostone_model::experiment::read;
use iostone_model::explanation::{ExcessCause, ExplainedFigure};
use iostone_model::run::BlockRecord;
use iostone_model::trial::WorkloadReport;

use super::super::tests::trial;
use super::*;
use crate::plan::{PlanOptions, make_plan};

const EMULATED: &str = r#"
name = "emulated"
[stack]
volume = { kind = "emulated", type = "gp2", size = "100GiB", fill = false }
filesystem = { kind = "ext4" }
[[factor]]
name = "instance"
[factor.levels]
"small" = { machine = { emulate = "c4.large" } }
"large" = { machine = { emulate = "c4.4xlarge" } }
[workload]
kind = "dd"
size = "128MiB"
bs = "16MiB"
source = "/dev/zero"
oflag = ["direct"]
conv = []
[decide]
metric = "wall_time"
baseline = "small"
[machine]
kind = "emulate"
emulate = "c4.large"
speed = 200
date = "2017-07"
"#;

const LOOP: &str = r#"
name = "loop"
[stack]
volume = { kind = "loop", size = "256MiB" }
filesystem = { kind = "ext4" }
[[factor]]
name = "bs"
levels = { small = { workload.bs = "4KiB" }, large = { workload.bs = "1MiB" } }
[workload]
kind = "io"
rw = "randread"
size = "64MiB"
runtime = "1s"
direct = true
[decide]
metric = "throughput"
baseline = "small"
[machine]
kind = "local"
instance = "c4.large"
"#;

/// A run of the experiment with one trial.
fn run(text: &str, trial: TrialRecord) -> RunRecord {
    RunRecord {
        directory: "made-up".to_owned(),
        plan: make_plan(read(text, &[]).unwrap(), PlanOptions::default()).unwrap(),
        experiment_text: text.to_owned(),
        environment: Environment::default(),
        trials: vec![trial],
        pilots: Vec::new(),
        declared_ramp: None,
        covariates: Vec::new(),
        blocks: vec![BlockRecord { number: 0, order: Vec::new(), counted: true, reason: None, loss: None }],
        verdicts: None,
        finished: true,
        ended: None,
        defects: Vec::new(),
        audit: None,
        explanation: None,
    }
}

/// dd of 128 MiB on the small instance.
fn copied() -> TrialRecord {
    let mut trial = trial(1, 0, 0, "small", 1.0, 0);
    trial.metrics = BTreeMap::from([("throughput".to_owned(), 62.2e6), ("wall_time".to_owned(), 2.16)]);
    trial.workload = WorkloadReport {
        kind: "dd".to_owned(),
        measured_seconds: 2.16,
        claimed_written_bytes: 128 << 20,
        must_reach_device: true,
        ..WorkloadReport::default()
    };
    let served = DiskCounters { read_bytes: 20480, written_bytes: 128 << 20, ..DiskCounters::default() };
    trial.signals.devices[0].served = served;
    trial.signals.seconds = 2.2;
    trial
}

fn of_named<'a>(part: &'a ExplainedPart, name: &str) -> &'a ExplainedFigure {
    part.figures.iter().find(|figure| figure.figure == name).expect("it is a figure")
}

#[test]
fn an_emulated_machine_is_named_and_its_ios_and_credits_are_held_against() {
    let explanation = explain_run(&run(EMULATED, copied()), &Overrides::default());
    let part = &explanation.parts[0];
    assert_eq!(part.instance.as_deref(), Some("c4.large"));
    assert_eq!(part.instance_from.as_deref(), Some("`machine.emulate`"));
    assert_eq!(part.volumes.as_deref(), Some("gp2:100GiB"));
    assert_eq!(part.date.map(|date| date.to_string()).as_deref(), Some("2017-07"));
    let figure = of_named(part, "throughput");
    let ios = figure
        .ceilings
        .iter()
        .find(|held| held.ceiling.name == "300 IOPS of gp2:100GiB")
        .expect("gp2 counts");
    // 300 I/Os of 256 KiB in the long run, more while its bucket lasts.
    assert!(
        (ios.ceiling.at_most - 300.0 * 262_144.0).abs() < 1.0 && ios.at_best > ios.ceiling.at_most,
        "{ios:?}"
    );
    assert_eq!(figure.binds.as_deref(), Some("the link of 62.5MB/s"));
    assert_eq!(part.notes, Vec::<String>::new());
    let bucket = part.balances.iter().find(|balance| balance.bucket == "the I/O credits of the volume");
    let bucket = bucket.expect("gp2 has a bucket of I/Os");
    // 128 MiB are 512 I/Os, and 2.2 s gave 660 back, so that a full bucket stayed full.
    assert_eq!((bucket.capacity, bucket.end), (27_000.0, 27_000.0));
    // Nobody asked for the metadata that was read.
    let flows: Vec<_> = part.figures.iter().map(|figure| (figure.figure.as_str(), figure.flow)).collect();
    assert_eq!(flows, [("throughput", Some(Flow::Write)), (SERVED, Some(Flow::Write))]);
}

#[test]
fn what_the_user_names_takes_the_place_of_what_is_emulated() {
    let record = run(EMULATED, copied());
    let overrides = |instance: Option<&str>, volumes: Option<&str>| Overrides {
        instance: instance.map(str::to_owned),
        volumes: volumes.map(|spec| spec.parse().unwrap()),
        date: None,
    };
    let names = |overrides: &Overrides| -> Vec<String> {
        let explanation = explain_run(&record, overrides);
        let figure = of_named(&explanation.parts[0], "throughput").clone();
        figure.ceilings.into_iter().map(|held| held.ceiling.name).collect()
    };
    let link = names(&overrides(Some("m5.large"), None));
    assert!(link.contains(&"the link of m5.large".to_owned()), "{link:?}");
    assert!(link.contains(&"128MiB/s of gp2:100GiB".to_owned()), "{link:?}");
    assert!(!link.contains(&"the link of 62.5MB/s".to_owned()), "{link:?}");
    let both = overrides(Some("m5.large"), Some("gp3:100GiB"));
    let path = names(&both);
    assert!(!path.iter().any(|name| name.ends_with("gp2:100GiB")), "{path:?}");
    let explanation = explain_run(&record, &both);
    assert_eq!(explanation.parts[0].instance_from.as_deref(), Some("`--instance`"));
    assert!(explanation.parts[0].balances.is_empty() && explanation.predictions.is_empty());
}

#[test]
fn direct_reads_of_a_loop_device_were_answered_by_the_page_cache_below_it() {
    let mut read = trial(1, 0, 0, "large", 8720.0, 0);
    read.metrics.insert("throughput".to_owned(), 9.14e9);
    read.workload.claimed_read_bytes = 9_140_000_000;
    read.workload.measured_seconds = 1.0;
    read.signals.seconds = 1.05;
    read.signals.devices[0].served =
        DiskCounters { read_bytes: 9_140_000_000, reads: 8720, ..DiskCounters::default() };
    let mut disk = read.signals.devices[0].clone();
    disk.name = "vda".to_owned();
    disk.role = "below".to_owned();
    disk.served = DiskCounters { read_bytes: 630_000, reads: 9, ..DiskCounters::default() };
    read.signals.devices.push(disk);
    let explanation = explain_run(&run(LOOP, read), &Overrides::default());
    for name in ["throughput", "iops", SERVED] {
        let excess = of_named(&explanation.parts[0], name).excess.clone().expect("146 times the link");
        assert_eq!(excess.because, ExcessCause::PageCache, "{name}");
        assert!(
            excess.words.contains("of the 9.14 GB that loop0 moved, vda moved 630 kB"),
            "{}",
            excess.words
        );
    }
}

/// A run of 4 KiB reads, one at a time, with latencies of 1 ms.
fn waiting(rate: f64, options: &str) -> Explanation {
    let text = LOOP.replace("direct = true", &format!("direct = true\n{options}"));
    let mut read = trial(1, 0, 0, "small", 1.0, 0);
    read.metrics = BTreeMap::from([("iops".to_owned(), rate), ("throughput".to_owned(), rate * 4096.0)]);
    read.workload.claimed_read_bytes = 1 << 20;
    read.workload.measured_seconds = 1.0;
    read.workload.latency_histogram = vec![(1_000_000, 1000)];
    read.signals.devices.clear();
    explain_run(&run(&text, read), &Overrides::default())
}

#[test]
fn queue_depth_1_holds_a_rate_and_has_no_share_that_could_be_exceeded() {
    let explanation = waiting(990.0, "");
    for name in ["iops", "throughput"] {
        let figure = of_named(&explanation.parts[0], name);
        assert_eq!(figure.queue_depth, Some(QueueDepth { depth: 1, seconds: 0.001 }), "{name}");
        assert_eq!(figure.binds.as_deref(), Some("queue depth 1"));
        assert!(figure.ceilings.iter().all(|held| held.ceiling.kind != Some(CeilingKind::QueueDepth)));
    }
    // More than latencies allow is one trial's rate beside another's latency, and nothing is exceeded.
    assert!(of_named(&waiting(1195.0, "").parts[0], "iops").excess.is_none());
    // Where time passed between the I/Os, or several were under way, the depth is not what held it.
    for explanation in [waiting(500.0, ""), waiting(990.0, "iodepth = 4"), waiting(990.0, "rate_iops = 990")]
    {
        assert_eq!(of_named(&explanation.parts[0], "iops").queue_depth, None);
    }
}
