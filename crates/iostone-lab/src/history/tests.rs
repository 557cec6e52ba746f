//! Histories of made-up summaries.

use iostone_stats::schedule::SplitMix64;
use serde_json::json;

use super::*;

/// A finished run of `weekly` on that day, with the throughput of its two levels.
pub(crate) fn summary(day: usize, kernel: &str, throughput: f64) -> NamedSummary {
    let figure =
        |median: f64| json!({ "trials": 6, "median": median, "cv": 0.01, "minimum": null, "maximum": null });
    let configuration = |name: &str, baseline: bool, median: f64| {
        let values: Vec<f64> =
            (0..8).map(|block| median * (1.0 + 0.004 * f64::from(block * 3 % 8) - 0.01)).collect();
        json!({
            "name": name, "levels": { "barrier": name }, "baseline": baseline, "trials": 8,
            "figures": { "throughput": figure(median), "latency_p99": figure(1.0 / median) },
            "blocks": (0..8).collect::<Vec<u64>>(), "values": { "throughput": values },
        })
    };
    let note = |unit: &str, better: &str| json!({ "unit": unit, "better": better, "title": "Throughput" });
    let summary = json!({
        "schema": "iostone/summary/1", "record_bytes": 1, "run_id": format!("run{day:05}"), "experiment": "weekly",
        "experiment_digest": "d1", "state": "finished", "started_at": format!("2026-{:02}-{:02}T03:00:00Z", 1 + day / 28, 1 + day % 28),
        "iostone_version": "0.1.0",
        "machine": { "host": "h1", "kernel": kernel, "cpu": "c", "architecture": "x86_64", "logical_cpus": 2, "memory_bytes": 1 },
        "factors": [], "trials": 16, "blocks": 8,
        "decided": { "metric": "throughput", "margin": 0.03, "confidence": 0.95, "factor": "barrier", "baseline": "on" },
        "metrics": { "throughput": note("bytes_per_second", "higher"), "latency_p99": note("seconds", "lower") },
        "configurations": [configuration("on", true, throughput), configuration("off", false, 1.5 * throughput)],
    });
    NamedSummary { directory: format!("run-{day}"), summary: serde_json::from_value(summary).unwrap() }
}

/// Runs of `days` days with 2 % of noise, and from `changed` on 10 % less on another kernel.
pub(crate) fn year(days: usize, changed: usize) -> Vec<NamedSummary> {
    let mut generator = SplitMix64::new(3);
    let noise = |generator: &mut SplitMix64| (0..12).map(|_| generator.next_unit()).sum::<f64>() - 6.0;
    (0..days)
        .map(|day| {
            let (kernel, level) = if day < changed { ("6.1", 1e8) } else { ("6.12", 0.9e8) };
            summary(day, kernel, level * (0.02 * noise(&mut generator)).exp())
        })
        .collect()
}

fn weekly() -> Subject {
    Subject { experiment: "weekly".to_owned(), digest: None }
}

fn of(runs: &[NamedSummary]) -> History {
    follow(&weekly(), runs, Apart::Host, Followed::Decided, Hazard::In500)
}

#[test]
fn a_change_is_named_with_what_changed_there() {
    let history = of(&year(40, 24));
    assert_eq!(history.series.len(), 2, "one a configuration");
    for series in &history.series {
        let [change] = series.changes.as_slice() else { panic!("{:?}", series.changes) };
        // Where exactly the noise decides; the kernel is looked for nearby.
        assert!(change.first.abs_diff(24) <= 3 && change.worse == Some(true), "{change:?}");
        assert_eq!(change.circumstances_at, Some(24));
        assert!((change.ratio - 0.9).abs() < 0.04, "{change:?}");
        let [kernel] = change.circumstances.as_slice() else { panic!("{change:?}") };
        assert_eq!((kernel.name.as_str(), kernel.after.as_deref()), ("kernel", Some("6.12")));
        assert!(!series.runs_depend);
    }
    // Of a latency more is worse, whatever the sign of its change.
    let latency =
        follow(&weekly(), &year(40, 24), Apart::Nothing, Followed::Metric("latency_p99"), Hazard::In500);
    let change = &latency.series[0].changes[0];
    assert!(change.worse == Some(true) && change.ratio > 1.07, "{change:?}");
}

#[test]
fn runs_that_are_no_part_of_the_series_are_left_out_with_the_reason() {
    let mut runs = year(20, 20);
    runs[3].summary.rehearsal = true;
    runs[4].summary.identical_levels = true;
    runs[5].summary.state = RunState::Interrupted;
    runs[6].summary.experiment_digest = Some("d0".to_owned());
    runs[7].summary.machine.host = "h2".to_owned();
    runs[8].summary.experiment = "other".to_owned();
    let history = of(&runs);
    assert_eq!(history.left_out.len(), 4, "{:?}", history.left_out);
    let lengths: Vec<usize> = history.series.iter().map(|series| series.runs.len()).collect();
    assert_eq!(lengths, [14, 14, 1, 1]);
    assert!(history.series[2].runs_until_alarm > 0);
    let together = follow(&weekly(), &runs, Apart::Nothing, Followed::All, Hazard::In500);
    assert_eq!(together.series.len(), 4, "two metrics of two configurations");
}

#[test]
fn a_thousand_runs_of_twenty_figures_take_no_time() {
    let runs = year(250, 125);
    let begun = std::time::Instant::now();
    let history = follow(&weekly(), &runs, Apart::Host, Followed::All, Hazard::In500);
    let taken = begun.elapsed();
    assert_eq!(history.series.len(), 4);
    // A twentieth of 1,000 runs with 20 figures each, unoptimised.
    assert!(taken.as_millis() < 1000, "{taken:?}");
}
