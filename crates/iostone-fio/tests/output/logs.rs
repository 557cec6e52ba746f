//! Logs of the made-up outcome, line by line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use iostone_fio::output::{LogFile, LogRequest, LogText, LogValue, check_log_window, log_paths, logs_of};

use super::made_up::{outcome, recorded};

fn request(window_ms: u64) -> LogRequest {
    let file = LogFile { prefix: "name".into(), window: Duration::from_millis(window_ms) };
    LogRequest {
        bandwidth: Some(file.clone()),
        iops: Some(file.clone()),
        latency: Some(file),
        number: 3,
        ..LogRequest::default()
    }
}

/// The lines of the log of that name.
fn lines(logs: &[LogText], name: &str) -> Vec<String> {
    let log = logs.iter().find(|log| log.path == Path::new(name)).unwrap_or_else(|| panic!("{name}"));
    log.lines.lines().map(str::to_owned).collect()
}

#[test]
fn averages_stand_at_the_end_of_their_windows() {
    let logs = logs_of(&request(500), &outcome()).unwrap();
    let names = ["name_bw.3.log", "name_iops.3.log", "name_lat.3.log", "name_slat.3.log", "name_clat.3.log"];
    assert_eq!(log_paths(&request(500)), names.map(PathBuf::from));
    assert_eq!(logs.iter().map(|log| log.path.clone()).collect::<Vec<_>>(), names.map(PathBuf::from));
    assert_eq!(lines(&logs, names[0]), ["500, 400, 0, 0, 0", "500, 400, 1, 0, 0", "1000, 400, 0, 0, 0"]);
    assert_eq!(lines(&logs, names[1]), ["500, 100, 0, 0, 0", "500, 100, 1, 0, 0", "1000, 100, 0, 0, 0"]);
    let latencies =
        ["500, 25500, 0, 0, 0", "500, 10000, 1, 0, 0", "1000, 75500, 0, 0, 0", "1050, 101000, 0, 0, 0"];
    assert_eq!(lines(&logs, names[2]), latencies);
    assert!(lines(&logs, names[3]).is_empty());
    assert_eq!(lines(&logs, names[4]), latencies);
}

#[test]
fn shared_logs_have_one_name_for_all_jobs() {
    let wanted = LogRequest { is_shared: true, latency: None, bandwidth: None, ..request(1000) };
    let logs = logs_of(&wanted, &outcome()).unwrap();
    assert_eq!(log_paths(&wanted), [PathBuf::from("name_iops.log")]);
    assert_eq!(lines(&logs, "name_iops.log"), ["1000, 100, 0, 0, 0", "1000, 50, 1, 0, 0"]);
}

#[test]
fn entries_may_hold_the_largest_value_and_count_from_1970() {
    let mut wanted = LogRequest { bandwidth: None, iops: None, ..request(500) };
    wanted.value = LogValue::Largest;
    let logs = logs_of(&wanted, &outcome()).unwrap();
    assert_eq!(lines(&logs, "name_lat.3.log")[0], "500, 50000, 0, 0, 0");
    wanted.value = LogValue::Both;
    wanted.epoch = Some(Duration::from_secs(1_700_000_000));
    let logs = logs_of(&wanted, &outcome()).unwrap();
    assert_eq!(lines(&logs, "name_lat.3.log")[0], "1700000000500, 25500, 50000, 0, 0, 0");
}

#[test]
fn a_run_shorter_than_a_window_is_one_entry() {
    let logs = logs_of(&request(5000), &outcome()).unwrap();
    assert_eq!(lines(&logs, "name_iops.3.log"), ["1050, 96, 0, 0, 0", "1050, 47, 1, 0, 0"]);
    assert_eq!(lines(&logs, "name_lat.3.log")[1], "1050, 10000, 1, 0, 0");
}

#[test]
fn an_open_loop_has_no_completion_latency_by_time() {
    let mut outcome = outcome();
    outcome.reads.response = recorded([1_000_000; 101]);
    let logs = logs_of(&request(1000), &outcome).unwrap();
    assert_eq!(lines(&logs, "name_clat.3.log"), ["1000, 10000, 1, 0, 0"]);
    assert_eq!(lines(&logs, "name_lat.3.log").len(), 3);
}

#[test]
fn windows_that_the_series_does_not_have_are_refused() {
    for bad in [0, 50, 250] {
        let error = check_log_window(Duration::from_millis(bad)).unwrap_err().to_string();
        assert!(error.contains("multiples of 100 ms") && error.contains(&format!("{bad} ms")), "{error}");
    }
    check_log_window(Duration::from_secs(1)).unwrap();
    assert!(logs_of(&request(250), &outcome()).is_err());
}
