//! `iostone emulate` through the binary: the command stands on the volume, ends as it would alone, no rate is above what is
//! emulated, buckets drain as published, and nothing is left, also after a kill.

use std::process::{Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::lab::{Lab, needs_root, needs_tool, words};

fn emulated(lab: &Lab, options: &[&str], script: &str) -> Output {
    let place = lab.path().display().to_string();
    let mut arguments = vec!["emulate", "c4.large", "--date", "2017-07", "--no-cpu", "--directory", &place];
    arguments.extend(options);
    arguments.extend(["--", "sh", "-c", script]);
    lab.iostone(&arguments).output().unwrap()
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", words(output)))
}

/// The server grants by its own clock, so the time is never below the prediction; a busy machine may take longer.
fn assert_no_faster_than_predicted(document: &Value) {
    let (took, least) = (document["wall_seconds"].as_f64().unwrap(), &document["predicted"]["seconds"]);
    let least = least.as_f64().unwrap();
    assert!(took > least * 0.97, "{took} s, and {least} s were predicted");
}

#[test]
fn a_write_takes_as_long_as_the_link_lets_it_and_the_command_ends_as_it_would_alone() {
    needs_root!();
    needs_tool!("nbdfuse");
    let lab = Lab::new();
    let script = "test \"$PWD\" = \"$IOSTONE_EMULATED_DIR\" && \
                  dd if=/dev/zero of=file bs=8M count=12 oflag=direct 2>&1 && exit 7";
    let output = emulated(&lab, &["--volume", "gp2:220GiB", "--speed", "500", "--json"], script);
    assert_eq!(output.status.code(), Some(7), "{}", words(&output));
    let document = document(&output);
    assert_eq!(document["schema"], "iostone/emulate/1");
    assert_eq!((&document["exit_code"], &document["signal"]), (&7.into(), &Value::Null));
    assert!(document["written_bytes"].as_u64().unwrap() >= 96 << 20);
    assert_eq!(document["predicted"]["binds"], "link");
    assert_no_faster_than_predicted(&document);
    lab.assert_nothing_left();
}

#[test]
fn a_bucket_drains_and_the_rate_of_the_long_run_is_left() {
    needs_root!();
    needs_tool!("nbdfuse");
    let lab = Lab::new();
    // 5.4 million credits a thousandth: 5400, which 3000 IOPS of 4 KiB spend in 1.86 s; then 100 IOPS.
    let (volume, options) = ("gp2:33GiB", ["--speed", "1000", "--filesystem", "none", "--json"]);
    let script = "exec dd if=$IOSTONE_EMULATED_DEVICE of=/dev/null bs=256K count=128 iflag=direct 2>&1";
    let all = [&["--volume", volume][..], &options[..]].concat();
    let full = document(&emulated(&lab, &all, script));
    let empty = document(&emulated(&lab, &[&all[..], &["--start", "empty"]].concat(), script));
    for document in [&full, &empty] {
        assert_no_faster_than_predicted(document);
    }
    let credits = |document: &Value, end: &str| document["buckets"][0][end].as_f64().unwrap();
    assert!(credits(&full, "from") > 5000.0 && credits(&full, "to") < credits(&full, "from"), "{full}");
    assert!(credits(&empty, "from") < 100.0, "{empty}");
    assert!(empty["wall_seconds"].as_f64() > full["wall_seconds"].as_f64(), "{full} {empty}");
    lab.assert_nothing_left();
}

#[test]
fn after_a_kill_cleanup_takes_everything_away() {
    needs_root!();
    needs_tool!("nbdfuse");
    let lab = Lab::new();
    let place = lab.path().display().to_string();
    let ready = lab.path().join("ready").display().to_string();
    let script = format!("touch {ready}; sleep 1000");
    let mut child = lab
        .iostone(&[
            "emulate",
            "c4.large",
            "--volume",
            "gp2:220GiB",
            "--speed",
            "5000",
            "--no-cpu",
            "--directory",
            &place,
            "--",
            "sh",
            "-c",
            &script,
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !lab.path().join("ready").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before its command had begun");
        sleep(Duration::from_millis(10));
    }
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    let cleaned = lab.iostone(&["cleanup"]).output().unwrap();
    assert!(cleaned.status.success(), "{}", words(&cleaned));
    lab.assert_nothing_left();
}

#[test]
fn copies_of_a_mirror_are_counted_once_and_options_that_no_kernel_takes_are_a_usage_error() {
    needs_root!();
    needs_tool!("nbdfuse");
    needs_tool!("mkfs.btrfs");
    let lab = Lab::new();
    let options =
        ["--volume", "2xgp2:100GiB", "--speed", "200", "--filesystem", "btrfs", "--raid", "raid1", "--json"];
    let document =
        document(&emulated(&lab, &options, "dd if=/dev/zero of=file bs=8M count=8 oflag=direct 2>&1"));
    let written = document["written_bytes"].as_f64().unwrap();
    assert!(written >= f64::from(2 * (64 << 20)), "two copies: {document}");
    let seconds = document["predicted"]["seconds"].as_f64().unwrap();
    let over_the_link = written / 62.5e6;
    assert!((seconds / over_the_link - 1.0).abs() < 0.1, "{over_the_link} s by hand: {document}");
    assert!(document["predicted"]["share_of_time"].as_f64().unwrap() <= 1.0);
    let options = ["--volume", "gp2:100GiB", "--speed", "400", "--mount-options", "bogus"];
    let refused = emulated(&lab, &options, "true");
    assert_eq!(refused.status.code(), Some(2), "{}", words(&refused));
    lab.assert_nothing_left();
}

#[test]
fn volumes_are_striped_by_btrfs_and_share_the_link() {
    needs_root!();
    needs_tool!("nbdfuse");
    needs_tool!("mkfs.btrfs");
    let lab = Lab::new();
    let options = ["--volume", "2xgp2:220GiB", "--speed", "400", "--filesystem", "btrfs", "--json"];
    let output = emulated(&lab, &options, "dd if=/dev/zero of=file bs=8M count=8 oflag=direct 2>&1");
    assert!(output.status.success(), "{}", words(&output));
    let document = document(&output);
    assert_eq!(document["predicted"]["binds"], "link");
    assert_no_faster_than_predicted(&document);
    lab.assert_nothing_left();
}
