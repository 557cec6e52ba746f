//! Summaries of made-up records, and of directories in which something is wrong.

use std::fs;

use iostone_model::dataset::{Dataset, Observation};
use iostone_model::environment::{BlockDevice, Environment};
use iostone_model::run::IMPORT_SCHEMA;
use iostone_model::trial::Check;

use super::*;
use crate::conclude::tests::{plan, trial};

/// Two blocks of the barrier experiment, of which the second does not count.
fn run() -> RunRecord {
    let plan = plan("", "");
    let block =
        |number, counted| BlockRecord { number, order: Vec::new(), counted, reason: None, loss: None };
    let mut trials = vec![
        trial(1, 0, 0, "on", 100.0, 5),
        trial(2, 0, 1, "off", 200.0, 0),
        trial(3, 1, 0, "off", 900.0, 0),
    ];
    let check = |asked: &str| Check {
        layer: "mount".to_owned(),
        asked: asked.to_owned(),
        read_back: "nobarrier".to_owned(),
        from: "/proc/self/mountinfo".to_owned(),
    };
    trials[1].checks = vec![check("barrier=0"), check(&format!("/dev/loop0 on /runs/{}", plan.run_id))];
    trials[1].signals.samples = 10;
    trials[1].signals.steal = Some(0.02);
    let device = |name: &str, size_bytes| BlockDevice {
        name: name.to_owned(),
        size_bytes,
        model: Some("disk".to_owned()),
        ..BlockDevice::default()
    };
    let below = iostone_model::trial::DeviceActivity {
        name: "vda".to_owned(),
        ..trials[0].signals.devices[0].clone()
    };
    trials[0].signals.devices.push(below);
    RunRecord {
        directory: "run".to_owned(),
        experiment_text: "name = \"a\"".to_owned(),
        environment: Environment {
            host: "h1".to_owned(),
            block_devices: vec![device("loop0", 0), device("vda", 1 << 30)],
            ..Environment::default()
        },
        trials,
        pilots: Vec::new(),
        declared_ramp: None,
        covariates: Vec::new(),
        blocks: vec![block(0, true), block(1, false)],
        verdicts: None,
        finished: false,
        ended: Some("interrupted".to_owned()),
        defects: Vec::new(),
        audit: None,
        explanation: None,
        plan,
    }
}

#[test]
fn only_what_counts_is_summarised_and_nothing_that_the_run_made_for_itself() {
    let summary = summarize(&run(), Some("2026-11-28T00:00:00Z".to_owned()), 7);
    assert_eq!((summary.state, summary.trials, summary.blocks), (RunState::Interrupted, 3, 1));
    let [on, off] = summary.configurations.as_slice() else { panic!("{summary:?}") };
    assert!(on.baseline && !off.baseline);
    assert_eq!((off.trials, off.invalid_trials, off.figures["iops"].median), (1, 1, Some(200.0)));
    assert_eq!((&off.blocks, &off.values["iops"]), (&vec![0], &vec![Some(200.0)]));
    assert_eq!(off.settings.keys().collect::<Vec<_>>(), ["mount barrier=0"]);
    assert_eq!(summary.machine.devices.keys().collect::<Vec<_>>(), ["vda"]);
    assert_eq!((summary.machine.host.as_str(), summary.machine.steal), ("h1", Some(0.02)));
    assert_eq!(summary.metrics["iops"].better, Some(iostone_model::metric::Direction::Higher));
    let text = serde_json::to_string(&summary).unwrap();
    assert_eq!(serde_json::from_str::<RunSummary>(&text).unwrap(), summary);
    assert!(text.len() < 4000, "{} bytes: {text}", text.len());
}

#[test]
fn an_end_is_told_by_its_reason() {
    let ended = |finished, reason: Option<&str>| {
        let ended = reason.map(str::to_owned);
        state(&RunRecord { finished, ended, ..run() })
    };
    assert_eq!(ended(true, Some("decided")), RunState::Finished);
    assert_eq!(ended(false, None), RunState::Unfinished);
    assert_eq!(ended(false, Some("waits for a reboot: kernel 6.1")), RunState::Waiting);
    assert_eq!(ended(false, Some("no space left on device")), RunState::Failed);
}

#[test]
fn an_import_is_grouped_by_what_was_varied() {
    let mut dataset = Dataset::new("logs");
    dataset.factors = vec!["barrier".to_owned()];
    for (level, value) in [("on", 3.0), ("off", 5.0), ("on", 4.0)] {
        let labels = [("barrier", level), ("host", "h9")];
        dataset.observations.push(Observation {
            labels: labels.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            figures: [("throughput".to_owned(), value.into())].into(),
            ..Observation::default()
        });
    }
    let record = ImportRecord {
        schema: IMPORT_SCHEMA.to_owned(),
        run_id: "abcdefgh".to_owned(),
        created_at: "2026-11-28T00:00:00Z".to_owned(),
        iostone_version: "0.1.0".to_owned(),
        by: None,
        dataset,
    };
    let summary = summarize_import(&record, 1);
    assert_eq!((summary.state, summary.machine.host.as_str()), (RunState::Imported, "h9"));
    let told: Vec<_> = summary
        .configurations
        .iter()
        .map(|one| {
            (one.name.as_str(), one.trials, one.figures["throughput"].first, one.figures["throughput"].last)
        })
        .collect();
    assert_eq!(told, [("barrier=on", 2, Some(3.0), Some(4.0)), ("barrier=off", 1, Some(5.0), Some(5.0))]);
}

#[test]
fn a_summary_that_is_no_file_of_today_is_not_read() {
    let place = tempfile::tempdir().unwrap();
    let summary = summarize(&run(), None, 4);
    let (journal, kept) = (place.path().join("journal.jsonl"), place.path().join(SUMMARY));
    let write = |summary: &RunSummary| fs::write(&kept, serde_json::to_vec(summary).unwrap()).unwrap();
    fs::write(&journal, "1234").unwrap();
    assert_eq!(read(place.path()), None);
    write(&summary);
    assert_eq!(read(place.path()).as_ref(), Some(&summary));
    write(&RunSummary { schema: "iostone/summary/0".to_owned(), ..summary.clone() });
    assert_eq!(read(place.path()), None, "another version");
    write(&summary);
    fs::write(&journal, "12345").unwrap();
    assert_eq!(read(place.path()), None, "older than the journal");
    fs::write(&journal, "1234").unwrap();
    let whole = fs::read(&kept).unwrap();
    fs::write(&kept, &whole[..whole.len() / 2]).unwrap();
    assert_eq!(read(place.path()), None, "cut");
    fs::remove_file(&kept).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &kept, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert_eq!(read(place.path()), None, "a FIFO");
    fs::remove_file(&kept).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &kept).unwrap();
    assert_eq!(read(place.path()), None, "a link to what has no end");
}
