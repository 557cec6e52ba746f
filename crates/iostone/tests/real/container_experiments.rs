//! The experiments on containers and on flat writes, rehearsed: every step runs, each trial tells where its bytes landed,
//! nothing is left.

use serde_json::Value;

use crate::experiments::{rehearse, trial};
use crate::lab::{Lab, needs_root, needs_tool, words};

/// The trials that count, `count` of them: a rehearsal has one block, whatever its gates find.
fn all_valid(record: &Value, count: usize) -> Vec<&Value> {
    let trials = record["trials"].as_array().unwrap().iter();
    let valid: Vec<&Value> = trials.filter(|trial| trial["valid"] == true).collect();
    assert!(valid.len() >= count, "{} trials of {count}", valid.len());
    assert_eq!(record["verdicts"]["confounded"].as_array().map_or(0, Vec::len), 0);
    valid
}

fn line(trial: &Value) -> &str {
    trial["container"]["mount_line"].as_str().unwrap()
}

/// Every filesystem in every place; what lies there, and that each load has its point.
fn filesystems_and_places_are_measured(settings: &[&str], trials: usize, points: usize) {
    let lab = Lab::new();
    let record = rehearse(&lab, "filesystem-container", settings);
    for trial in all_valid(&record, trials) {
        let name = trial["configuration"].as_str().unwrap();
        let (filesystem, rest) = name.split_once(", ").unwrap();
        let (place, _) = rest.split_once(", ").unwrap();
        assert_eq!(trial["container"]["place"], place);
        assert_eq!(trial["container"]["backing_filesystem"], filesystem, "{trial:#}");
        let seen = if place == "layer" { " - overlay " } else { filesystem };
        assert!(line(trial).contains(seen), "{name}: {}", line(trial));
        let metrics = trial["metrics"].as_object().unwrap();
        assert!(metrics.keys().filter(|name| name.starts_with("iops@")).count() >= points, "{name}");
    }
    let names: Vec<&str> = record["trials"]
        .as_array()
        .unwrap()
        .iter()
        .map(|trial| trial["configuration"].as_str().unwrap())
        .collect();
    for of in ["ext4, host", "ext4, bind", "ext4, layer", "btrfs, host", "btrfs, bind", "btrfs, layer"] {
        assert!(names.iter().any(|name| name.starts_with(of)), "{of}: {names:?}");
    }
    answers_which_filesystem(&lab);
}

/// The question that the file says is another look at its trials: each level of btrfs beside that of ext4.
fn answers_which_filesystem(lab: &Lab) {
    let arguments = ["report", "latest", "--baseline", "ext4", "--format", "json"];
    let output = lab.iostone(&arguments).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["verdicts"]["baseline"], "ext4");
    for configuration in report["configurations"].as_array().unwrap() {
        let name = configuration["name"].as_str().unwrap();
        assert_eq!(configuration["baseline"], name.starts_with("ext4"), "{name}");
    }
}

/// An engine takes seconds for each container, so one mix at a few loads: the steps are those of all.
const FEW: [&str; 2] = ["combine.exclude=[{ mix = \"read\" }, { mix = \"mixed\" }]", "workload.num_disks=1"];

#[test]
fn filesystems_and_places_are_measured_at_every_load() {
    needs_root!();
    needs_tool!("mkfs.btrfs");
    filesystems_and_places_are_measured(&[], 18, 20);
}

#[test]
fn filesystems_and_places_are_measured_in_containers_of_docker() {
    needs_root!();
    needs_tool!("mkfs.btrfs");
    needs_tool!("dockerd");
    filesystems_and_places_are_measured(&[FEW[0], FEW[1], "stack.container.kind=\"docker\""], 6, 5);
}

#[test]
fn filesystems_and_places_are_measured_in_containers_of_podman() {
    needs_root!();
    needs_tool!("mkfs.btrfs");
    needs_tool!("podman");
    filesystems_and_places_are_measured(&[FEW[0], FEW[1], "stack.container.kind=\"podman\""], 6, 5);
}

fn first_write_is_dear_in_a_layer(container: &[&str]) {
    let lab = Lab::new();
    let record = rehearse(&lab, "copy-up", container);
    for trial in all_valid(&record, 3) {
        let copied = trial["workload"]["facts"]["copied_up"].as_str().unwrap();
        assert!(trial["metrics"]["copy_up_time"].as_f64().unwrap() > 0.0);
        assert_eq!(copied.starts_with("yes"), trial["container"]["place"] == "layer", "{trial:#}");
    }
}

#[test]
fn a_first_write_in_an_overlay_copies_the_file() {
    needs_root!();
    first_write_is_dear_in_a_layer(&[]);
}

#[test]
fn a_first_write_in_a_container_of_podman_copies_the_file() {
    needs_root!();
    needs_tool!("podman");
    first_write_is_dear_in_a_layer(&["stack.container.kind=\"podman\""]);
}

fn an_fsync_that_is_none_is_told(container: &[&str]) {
    let lab = Lab::new();
    let record = rehearse(&lab, "volatile-layer", container);
    all_valid(&record, 2);
    let (kept, dropped) = (trial(&record, "kept"), trial(&record, "dropped"));
    assert_eq!(
        (&kept["container"]["volatile"], &dropped["container"]["volatile"]),
        (&false.into(), &true.into())
    );
    // The paths of the run hold the word as well.
    let is_volatile = |trial| {
        let options = line(trial).rsplit(' ').next().unwrap().split(',');
        options.into_iter().any(|option| ["volatile", "fsync=volatile"].contains(&option))
    };
    assert!(is_volatile(dropped) && !is_volatile(kept), "{} / {}", line(dropped), line(kept));
    assert!(record["verdicts"].to_string().contains("sync-dropped"), "{:#}", record["verdicts"]);
}

#[test]
fn a_volatile_overlay_is_measured_and_flagged() {
    needs_root!();
    an_fsync_that_is_none_is_told(&[]);
}

#[test]
fn a_volatile_layer_of_podman_is_measured_and_flagged() {
    needs_root!();
    needs_tool!("podman");
    an_fsync_that_is_none_is_told(&["stack.container.kind=\"podman\""]);
}

#[test]
fn every_storage_driver_of_docker_makes_its_first_write() {
    needs_root!();
    needs_tool!("dockerd");
    needs_tool!("mkfs.btrfs");
    let lab = Lab::new();
    let record = rehearse(&lab, "storage-driver", &[]);
    for trial in all_valid(&record, 3) {
        let driver = trial["configuration"].as_str().unwrap();
        assert_eq!(trial["container"]["driver"], driver, "{trial:#}");
        assert!(trial["metrics"]["copy_up_time"].as_f64().unwrap() > 0.0);
        // All lie on btrfs, where overlayfs clones the file; below a snapshot or a copy nothing is to be copied up.
        let copied = trial["workload"]["facts"]["copied_up"].as_str().unwrap();
        let expected = if driver == "overlay2" { "by reference: " } else { "no: " };
        assert!(copied.starts_with(expected), "{driver}: {copied}");
    }
}

#[test]
fn a_flat_write_curve_is_told_from_a_limited_one() {
    needs_root!();
    let lab = Lab::new();
    let record = rehearse(&lab, "flat-writes", &[]);
    all_valid(&record, 4);
    let most = |name: &str| trial(&record, name)["metrics"]["max_iops"].as_f64().unwrap();
    // The kernel grants the limit in slices, and a rehearsal's points are little longer than one.
    assert!(most("on, limited") < 1500.0, "{}", most("on, limited"));
    assert!(most("on, unlimited") > 0.0);
}
