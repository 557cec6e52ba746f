//! The recipes of everyday questions, each rehearsed by its name on a real loop device: every step runs, nothing is left.

use serde_json::Value;

use crate::experiments::rehearse;
use crate::lab::{Lab, needs_root, needs_tool, words};

#[test]
fn every_everyday_recipe_runs_by_its_name() {
    needs_root!();
    needs_tool!("mkfs.ext4");
    needs_tool!("mkfs.xfs");
    needs_tool!("mkfs.btrfs");
    let lab = Lab::new();
    let listed = lab.iostone(&["new", "--json"]).output().unwrap();
    let recipes: Vec<Value> = serde_json::from_slice(&listed.stdout).unwrap();
    let mut tried = 0;
    for recipe in recipes.iter().filter(|recipe| recipe["everyday"] == true) {
        let name = recipe["name"].as_str().unwrap();
        // It boots a guest, as the experiments on arrays do.
        if name == "raid-level" {
            continue;
        }
        let gates = ["gates.steal=off", "gates.idle=off", "gates.throttling=off"];
        let settings = gates.iter().flat_map(|setting| ["--set", setting]);
        let arguments: Vec<&str> = ["run", name, "--quick", "--quiet"].into_iter().chain(settings).collect();
        let output = lab.iostone(&arguments).output().unwrap();
        assert!(output.status.success(), "{name}: {}", words(&output));
        lab.assert_nothing_left();
        tried += 1;
    }
    assert!(tried >= 15, "{tried}");
}

#[test]
fn redundancy_is_rehearsed_in_a_guest() {
    needs_root!();
    needs_tool!("qemu-system-x86_64");
    needs_tool!("mdadm");
    let lab = Lab::new();
    let fetched = lab.iostone(&["guest", "kernels", "--fetch", "debian:6.1"]).output().unwrap();
    if !fetched.status.success() {
        eprintln!("skipped: needs the kernel debian:6.1: {}", words(&fetched));
        return;
    }
    let record = rehearse(&lab, "raid-level", &["machine.memory=384MiB"]);
    assert_eq!(record["trials"].as_array().unwrap().len(), 3);
}

#[test]
fn a_line_compares_settings_on_a_loop_device() {
    needs_root!();
    needs_tool!("mkfs.ext4");
    needs_tool!("mkfs.xfs");
    let lab = Lab::new();
    let line =
        ["compare", "--fs", "ext4", "xfs", "--mount", "relatime", "noatime", "--load", "wal-8k", "--quick"];
    let output = lab.iostone(&line).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    lab.assert_nothing_left();
    let record = lab.record();
    let options = |configuration: &str| {
        let trials = record["trials"].as_array().unwrap();
        let trial = trials.iter().find(|trial| trial["configuration"] == configuration).unwrap();
        trial["checks"].to_string()
    };
    assert!(options("noatime, xfs").contains("noatime") && options("relatime, ext4").contains("relatime"));
}

#[test]
fn a_job_file_is_the_load_of_two_filesystems_by_either_program() {
    needs_root!();
    needs_tool!("mkfs.ext4");
    needs_tool!("mkfs.xfs");
    let lab = Lab::new();
    let job = lab.write("job.fio", "[log]\nrw=write\nbs=8k\nsize=8m\nfdatasync=1\nio_size=2m\n");
    for program in ["fio", "iostone"] {
        if program == "fio" {
            needs_tool!("fio");
        }
        let setting = format!("workload.program={program}");
        let line = ["compare", "--fs", "ext4", "xfs", "--load", &job, "--quick", "--set", &setting];
        let output = lab.iostone(&line).output().unwrap();
        assert!(output.status.success(), "{program}: {}", words(&output));
        lab.assert_nothing_left();
    }
}
