//! JSON and terse of the made-up outcome, word for word and figure by figure.

use iostone_engine::{IoFault, Operation, Rate, Steadiness, SteadyLimit, SteadyOf, SteadyRule};
use iostone_fio::output::{Detail, Percentiles, Reported, Unified, write_json, write_terse};
use iostone_model::units::Bytes;

use super::made_up::{job, outcome, recorded, session};
use super::ordered::Ordered;

#[track_caller]
fn assert_near(value: &Ordered, expected: f64) {
    let value = value.number();
    assert!((value - expected).abs() <= expected.abs() * 1e-6 + 1e-9, "{value}, and not {expected}");
}

fn of_one(change: impl FnOnce(&mut Reported<'_>)) -> String {
    let (job, outcome) = (job(), outcome());
    let mut reported = Reported::new("one", &job, &outcome);
    reported.options = vec![("rw".into(), "randrw".into()), ("iodepth".into(), "1".into())];
    change(&mut reported);
    write_json(&session(vec![reported]), Detail::Json)
}

#[test]
fn a_known_outcome_gives_a_known_document() {
    let text = of_one(|reported| reported.description = Some("\"mixed\" work"));
    let version = format!("\"version\" : \"{}\"", env!("CARGO_PKG_VERSION"));
    assert_eq!(text.replace(&version, "\"version\" : \"VERSION\""), include_str!("made_up.json"));
}

#[test]
fn a_known_outcome_gives_a_known_terse_line() {
    let (job, outcome) = (job(), outcome());
    let mut reported = Reported::new("one;two", &job, &outcome);
    reported.description = Some("mixed\nwork");
    assert_eq!(write_terse(&session(vec![reported])), include_str!("made_up.terse"));
}

#[test]
fn figures_are_those_of_the_outcome() {
    let document = Ordered::read(&of_one(|_| ()));
    let read = document.at("jobs/0/read");
    assert_near(read.at("iops"), 101.0 / 1.05);
    assert_near(read.at("bw_bytes"), (101.0f64 * 4096.0 / 1.05).floor());
    assert_near(read.at("runtime"), 1050.0);
    assert_near(read.at("clat_ns/mean"), 51_000.0);
    assert_near(read.at("clat_ns/percentile/50.000000"), 51_072.0);
    // Two full windows of 500 ms: 50 I/Os and 200 KiB in each.
    assert_eq!(read.at("iops_samples").number(), 2.0);
    assert_near(read.at("iops_mean"), 100.0);
    assert_near(read.at("bw_mean"), 400.0);
    // Nothing was written in the second one.
    assert_eq!(document.at("jobs/0/write/iops_samples").number(), 1.0);
    assert_near(document.at("jobs/0/usr_cpu"), 10.0);
    assert_near(document.at("jobs/0/sys_cpu"), 20.0);
    assert_near(document.at("jobs/0/iodepth_level/1"), 100.0);
    let shares: f64 = ["latency_ns", "latency_us", "latency_ms"]
        .map(|unit| document.at(&format!("jobs/0/{unit}")).numbers().iter().sum::<f64>())
        .iter()
        .sum();
    assert!((shares - 100.0).abs() < 1e-4, "{shares}");
}

#[test]
fn deviation_is_that_of_the_latencies() {
    let document = Ordered::read(&of_one(|_| ()));
    let exact = ((1..=101).map(|us| (f64::from(us) - 51.0).powi(2)).sum::<f64>() / 100.0).sqrt() * 1000.0;
    let told = document.at("jobs/0/read/clat_ns/stddev").number();
    assert!((told / exact - 1.0).abs() < 0.005, "{told} for {exact}");
    assert_eq!(document.at("jobs/0/write/clat_ns/stddev").number(), 0.0);
}

#[test]
fn total_latency_is_from_the_intended_start_in_an_open_loop() {
    let (mut job, mut outcome) = (job(), outcome());
    job.pace.rate.read = Some(Rate::Iops(100.0));
    outcome.reads.response = recorded([7_000_000; 102]);
    let text = write_json(&session(vec![Reported::new("one", &job, &outcome)]), Detail::Json);
    let document = Ordered::read(&text);
    assert_eq!(document.at("jobs/0/read/lat_ns/mean").number(), 7e6);
    assert_eq!(document.at("jobs/0/read/lat_ns/N").number(), 102.0);
    assert_near(document.at("jobs/0/read/clat_ns/mean"), 51_000.0);
    assert_eq!(document.at("jobs/0/write/lat_ns/mean").number(), 10_000.0);
    assert_eq!(document.at("jobs/0/iostone/open_loop"), &Ordered::Truth(true));
}

#[test]
fn percentiles_are_those_asked_for_in_order() {
    let document = Ordered::read(&of_one(|reported| {
        let list = vec![99.0, 50.0, 100.0, 0.0, 200.0];
        reported.percentiles = Percentiles { submission: true, completion: false, total: true, list };
    }));
    let Ordered::Object(listed) = document.at("jobs/0/read/lat_ns/percentile") else { panic!() };
    let keys: Vec<&str> = listed.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["50.000000", "99.000000", "100.000000"]);
    assert_eq!(listed[2].1.number(), 101_000.0);
    let Ordered::Object(completion) = document.at("jobs/0/read/clat_ns") else { panic!() };
    assert!(completion.iter().all(|(key, _)| key != "percentile"));
}

#[test]
fn mixed_reports_add_the_directions() {
    let document = Ordered::read(&of_one(|reported| reported.unified = Unified::Mixed));
    let mixed = document.at("jobs/0/mixed");
    assert_eq!(mixed.at("total_ios").number(), 151.0);
    assert_eq!(mixed.at("clat_ns/N").number(), 151.0);
    assert_eq!(mixed.at("clat_ns/max").number(), 101_000.0);
    assert_near(mixed.at("iops_mean"), 200.0);
    let Ordered::Object(job) = document.at("jobs/0") else { panic!() };
    assert!(job.iter().all(|(key, _)| !["read", "write", "trim", "sync"].contains(&key.as_str())));
}

#[test]
fn a_failure_is_told_by_its_errno_and_in_words() {
    let (mut job, mut outcome) = (job(), outcome());
    job.continue_on_error = true;
    outcome.errors = 3;
    outcome.error = Some(IoFault {
        operation: Operation::Write,
        target: Some("/data/file".into()),
        errno: 28,
        name: "ENOSPC".into(),
        offset: Bytes(8192),
        length: Bytes(4096),
        transferred: Bytes(0),
        completed_ios: 151,
    });
    let reported = Reported::new("one", &job, &outcome);
    let document = Ordered::read(&write_json(&session(vec![reported.clone()]), Detail::Json));
    assert_eq!(document.at("jobs/0/error").number(), 28.0);
    assert_eq!(document.at("jobs/0/total_err").number(), 3.0);
    assert_eq!(document.at("jobs/0/first_error").number(), 28.0);
    let words = "ENOSPC when writing 4096 bytes at offset 8192 of `/data/file`, after 151 I/Os";
    assert_eq!(document.at("jobs/0/iostone/fault"), &Ordered::Text(words.into()));
    let line = write_terse(&session(vec![reported]));
    assert!(line.trim_end().ends_with(";3;28"), "{line}");
}

#[test]
fn a_steady_rule_is_told_with_its_last_samples() {
    let (mut job, mut outcome) = (job(), outcome());
    let tenths = |tenths: u64| format!("{}ms", tenths * 100).parse().unwrap();
    job.steady = Some(SteadyRule {
        of: SteadyOf::Iops,
        limit: SteadyLimit::Percent(0.5),
        over: "1500ms".parse().unwrap(),
        ramp: tenths(0),
        interval: tenths(5),
    });
    outcome.steady = Some(Steadiness { attained: true, criterion: 0.25, after: tenths(10) });
    let document =
        Ordered::read(&write_json(&session(vec![Reported::new("one", &job, &outcome)]), Detail::Json));
    let steady = document.at("jobs/0/steadystate");
    assert_eq!(steady.at("ss"), &Ordered::Text("iops:0.500000%".into()));
    assert_eq!(steady.at("criterion"), &Ordered::Text("0.250000%".into()));
    assert_eq!(steady.at("attained").number(), 1.0);
    // Three samples are wanted and the run was as long as two.
    assert_eq!(steady.at("data/iops").numbers(), [0.0, 200.0, 100.0]);
    assert_eq!(steady.at("data/iops_mean").number(), 100.0);
    assert_eq!(steady.at("max_deviation").number(), 100.0);
}
