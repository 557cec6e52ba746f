//! The first question, end to end: with a volatile cache barriers cost, without one they cannot.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use crate::lab::{Lab, flushes, needs_root, small_barrier, words};
use serde_json::Value;

fn judged(lab: &Lab, text: &str) -> Value {
    let file = lab.write("experiment.toml", text);
    let output = lab.iostone(&["run", &file, "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    lab.assert_nothing_left();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// From here on a flush is most of what a small synced write takes.
const DEAR_FSYNC_SECONDS: f64 = 0.0001;

/// What a small write with its fsync takes at this place, in the middle of so many.
fn fsync_seconds(place: &Path) -> f64 {
    let file = File::create(place.join("synced")).unwrap();
    let synced = |number: u64| {
        let begun = Instant::now();
        file.write_all_at(&[0x5a; 4096], number * 4096).unwrap();
        file.sync_data().unwrap();
        begun.elapsed().as_secs_f64()
    };
    let mut seconds: Vec<f64> = (0..50).map(synced).collect();
    seconds.sort_by(f64::total_cmp);
    seconds[25]
}

#[test]
fn without_barriers_a_disk_with_a_volatile_cache_is_faster_and_the_flushes_say_why() {
    needs_root!();
    let lab = Lab::new();
    let verdicts = judged(&lab, &small_barrier("write back", 24));
    // Which way it goes is the disk's: where a flush of the image below costs nothing, barriers do not either.
    if fsync_seconds(lab.path()) > DEAR_FSYNC_SECONDS {
        assert_eq!(verdicts["comparisons"][0]["verdict"], "faster", "{verdicts:#}");
        assert!(verdicts["comparisons"][0]["ratio"].as_f64().unwrap() > 1.5);
    } else {
        eprintln!("skipped: which is faster, as fsync costs too little on this disk");
    }
    let record = lab.record();
    assert!(flushes(&record, "on").iter().all(|count| *count > 0), "{:?}", flushes(&record, "on"));
    assert!(flushes(&record, "off").iter().all(|count| *count == 0), "{:?}", flushes(&record, "off"));
    let off = verdicts["evidence"]
        .as_array()
        .unwrap()
        .iter()
        .find(|evidence| evidence["configuration"] == "off")
        .unwrap();
    assert!(
        off["sentence"].as_str().unwrap().contains("barrier=0: read back as nobarrier, flushes a trial: 0"),
        "{off}"
    );
    assert!(verdicts["permanent"].to_string().contains("noatime,barrier=0"));
    assert!(lab.the_run().join("report.html").exists());
}

#[test]
fn without_a_volatile_cache_no_difference_is_claimed_and_the_reason_is_given() {
    needs_root!();
    let lab = Lab::new();
    let verdicts = judged(&lab, &small_barrier("write through", 8));
    let verdict = verdicts["comparisons"][0]["verdict"].as_str().unwrap();
    assert!(!["faster", "slower"].contains(&verdict), "{verdicts:#}");
    let text = verdicts.to_string();
    assert!(text.contains("no-flush") && text.contains("the kernel sent no flush"), "{verdicts:#}");
    let record = lab.record();
    for configuration in ["on", "off"] {
        assert!(flushes(&record, configuration).iter().all(|count| *count == 0));
    }
}

#[test]
fn identical_levels_are_not_told_apart_and_the_noise_is_named() {
    needs_root!();
    let lab = Lab::new();
    let file = lab.write("experiment.toml", &small_barrier("write through", 8));
    let output = lab.iostone(&["run", &file, "--aa", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let verdicts: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(verdicts["noise"]["sigma"].as_f64().unwrap() > 0.0);
    assert!(verdicts["noise"]["detectable"].as_f64().unwrap() > 0.0);
    assert_eq!(verdicts["comparisons"][0]["level"], "B");
    lab.assert_nothing_left();
}

#[test]
fn without_root_the_demo_prices_a_flush_and_names_the_way_to_the_rest() {
    needs_root!();
    let lab = Lab::new();
    // The user nobody must be able to reach the directory and the binary.
    let directory = tempfile::tempdir_in("/var/tmp").unwrap();
    let binary = directory.path().join("iostone");
    std::fs::copy(env!("CARGO_BIN_EXE_iostone"), &binary).unwrap();
    std::os::unix::fs::chown(directory.path(), Some(65534), Some(65534)).unwrap();
    let output = {
        use std::os::unix::process::CommandExt;
        let mut command = std::process::Command::new(&binary);
        command
            .args(["demo", "--set", "workload.runtime=300ms", "--set", "workload.size=8MiB"])
            .args(["--set", "decide.blocks.max=6"])
            .current_dir(directory.path())
            .env_clear()
            .env("HOME", directory.path())
            .env("PATH", "/usr/bin:/bin")
            .uid(65534)
            .gid(65534);
        command.output().unwrap()
    };
    assert!(output.status.success(), "{}", words(&output));
    let text = words(&output);
    assert!(text.contains("cached") && text.contains("synced"), "{text}");
    assert!(text.contains("sudo"), "{text}");
    lab.assert_nothing_left();
}
