//! Jobs of a group as one.

use iostone_fio::output::{Detail, Reported, merge_outcomes, write_json, write_terse};

use super::made_up::{job, outcome, recorded, session};
use super::ordered::Ordered;

#[test]
fn outcomes_add_up_exactly() {
    let (first, mut second) = (outcome(), outcome());
    second.reads.latency = recorded([5; 101]);
    second.elapsed = "2s".parse().unwrap();
    second.series.ios.push(4);
    second.series.bytes.push(4 * 4096);
    second.series.latency.push(first.series_of.read.latency[0]);
    let all = merge_outcomes(&[&first, &second]).unwrap();
    let mut latencies = recorded((1..=101).map(|us| us * 1000));
    latencies.merge(&recorded([5; 101]));
    assert_eq!(all.reads.latency, latencies);
    assert_eq!((all.reads.ios, all.writes.ios, all.syncs.count), (202, 100, 4));
    assert_eq!(all.elapsed, second.elapsed);
    assert_eq!(all.threads, 2);
    assert_eq!(all.series.ios, [40, 40, 40, 40, 40, 20, 20, 20, 20, 20, 2, 4]);
    // Nobody else completed anything in the last interval, so its latencies are known.
    assert!(all.series.latency[11].is_some() && all.series.latency[0].is_none());
    assert!(all.series_of.read.latency[0].is_none());
    assert_eq!(all.cpu.submitters.user.0, first.cpu.submitters.user.0 * 2);
    assert_eq!(all.cpu.process, first.cpu.process);
    assert_eq!(merge_outcomes(&[&first]), Some(first));
    assert_eq!(merge_outcomes(&[]), None);
}

#[test]
fn grouped_jobs_are_one_entry_and_others_are_not() {
    let (job, outcome) = (job(), outcome());
    let reported =
        |name, group, is_grouped| Reported { group, is_grouped, ..Reported::new(name, &job, &outcome) };
    let session = session(vec![
        reported("alone", 0, false),
        reported("first", 0, true),
        reported("second", 0, true),
        reported("other", 1, true),
    ]);
    let document = Ordered::read(&write_json(&session, Detail::Json));
    let Ordered::Array(jobs) = document.at("jobs") else { panic!() };
    let names: Vec<&Ordered> = jobs.iter().map(|job| job.at("jobname")).collect();
    assert_eq!(names, ["alone", "first", "other"].map(|name| Ordered::Text(name.into())).each_ref());
    let read = document.at("jobs/1/read");
    assert_eq!(read.at("total_ios").number(), 202.0);
    // Rates of jobs beside each other add up, and all their windows count.
    assert_eq!((read.at("iops_mean").number(), read.at("iops_samples").number()), (200.0, 4.0));
    assert_eq!(document.at("jobs/1/job_runtime").number(), 2100.0);
    assert_eq!(document.at("jobs/1/usr_cpu").number(), 10.0);
    // Of the group's three jobs one is the first entry, and two are the second.
    let shares = ["jobs/0/read/bw_agg", "jobs/1/read/bw_agg"].map(|path| document.at(path).number());
    assert!((shares[1] / shares[0] - 2.0).abs() < 1e-6, "{shares:?}");
    assert_eq!(write_terse(&session).lines().count(), 3);
}
