//! Logs of the made-up outcome, line by line.

use std::fs;
use std::path::Path;
use std::time::Duration;

use iostone_fio::output::{LogFile, LogRequest, LogValue, check_log_window, write_logs};

use crate::made_up::{outcome, recorded};

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

fn read(folder: &Path, name: &str) -> Vec<String> {
    fs::read_to_string(folder.join(name)).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn averages_stand_at_the_end_of_their_windows() {
    let folder = tempfile::tempdir().unwrap();
    let files = write_logs(folder.path(), &request(500), &outcome()).unwrap();
    let names: Vec<_> = files.iter().map(|file| file.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(
        names,
        ["name_bw.3.log", "name_iops.3.log", "name_lat.3.log", "name_slat.3.log", "name_clat.3.log"]
    );
    assert_eq!(
        read(folder.path(), names[0]),
        ["500, 400, 0, 0, 0", "500, 400, 1, 0, 0", "1000, 400, 0, 0, 0"]
    );
    assert_eq!(
        read(folder.path(), names[1]),
        ["500, 100, 0, 0, 0", "500, 100, 1, 0, 0", "1000, 100, 0, 0, 0"]
    );
    let latencies =
        ["500, 25500, 0, 0, 0", "500, 10000, 1, 0, 0", "1000, 75500, 0, 0, 0", "1050, 101000, 0, 0, 0"];
    assert_eq!(read(folder.path(), names[2]), latencies);
    assert!(read(folder.path(), names[3]).is_empty());
    assert_eq!(read(folder.path(), names[4]), latencies);
}

#[test]
fn shared_logs_go_on_where_the_last_job_ended_and_others_begin_anew() {
    let folder = tempfile::tempdir().unwrap();
    let mut wanted = LogRequest { is_shared: true, latency: None, bandwidth: None, ..request(1000) };
    for _ in 0..2 {
        let files = write_logs(folder.path(), &wanted, &outcome()).unwrap();
        assert_eq!(files, [folder.path().join("name_iops.log")]);
    }
    let lines = ["1000, 100, 0, 0, 0", "1000, 50, 1, 0, 0"];
    assert_eq!(read(folder.path(), "name_iops.log"), [lines, lines].concat());
    wanted.is_shared = false;
    for _ in 0..2 {
        write_logs(folder.path(), &wanted, &outcome()).unwrap();
    }
    assert_eq!(read(folder.path(), "name_iops.3.log"), lines);
}

#[test]
fn entries_may_hold_the_largest_value_and_count_from_1970() {
    let folder = tempfile::tempdir().unwrap();
    let mut wanted = LogRequest { bandwidth: None, iops: None, ..request(500) };
    wanted.value = LogValue::Largest;
    write_logs(folder.path(), &wanted, &outcome()).unwrap();
    assert_eq!(read(folder.path(), "name_lat.3.log")[0], "500, 50000, 0, 0, 0");
    wanted.value = LogValue::Both;
    wanted.epoch = Some(Duration::from_secs(1_700_000_000));
    write_logs(folder.path(), &wanted, &outcome()).unwrap();
    assert_eq!(read(folder.path(), "name_lat.3.log")[0], "1700000000500, 25500, 50000, 0, 0, 0");
}

#[test]
fn a_run_shorter_than_a_window_is_one_entry() {
    let folder = tempfile::tempdir().unwrap();
    write_logs(folder.path(), &request(5000), &outcome()).unwrap();
    assert_eq!(read(folder.path(), "name_iops.3.log"), ["1050, 96, 0, 0, 0", "1050, 47, 1, 0, 0"]);
    assert_eq!(read(folder.path(), "name_lat.3.log")[1], "1050, 10000, 1, 0, 0");
}

#[test]
fn an_open_loop_has_no_completion_latency_by_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut outcome = outcome();
    outcome.reads.response = recorded([1_000_000; 101]);
    write_logs(folder.path(), &request(1000), &outcome).unwrap();
    assert_eq!(read(folder.path(), "name_clat.3.log"), ["1000, 10000, 1, 0, 0"]);
    assert_eq!(read(folder.path(), "name_lat.3.log").len(), 3);
}

#[test]
fn windows_that_the_series_does_not_have_are_refused() {
    for bad in [0, 50, 250] {
        let error = check_log_window(Duration::from_millis(bad)).unwrap_err().to_string();
        assert!(error.contains("multiples of 100 ms") && error.contains(&format!("{bad} ms")), "{error}");
    }
    check_log_window(Duration::from_secs(1)).unwrap();
    let error = write_logs(Path::new("/nowhere"), &request(100), &outcome()).unwrap_err().to_string();
    assert!(error.contains("`/nowhere/name_bw.3.log`"), "{error}");
}
