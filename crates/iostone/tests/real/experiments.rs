//! The experiments on volumes, arrays and kernels, rehearsed in real guests: every step runs, caps hold, nothing is left.

use serde_json::Value;

use crate::lab::{Lab, needs_root, needs_tool, words};

/// Skips a test by name where none of these kernels can be had.
macro_rules! needs_kernels {
    ($lab:expr, $($kernel:literal),+) => {
        let fetched = $lab.iostone(&["guest", "kernels", $("--fetch", $kernel),+]).output().unwrap();
        if !fetched.status.success() {
            eprintln!("skipped: needs the kernels {}: {}", [$($kernel),+].join(", "), words(&fetched));
            return;
        }
    };
}

/// A program that is built for tests is several times as large as what users have, and a guest's root is half of its memory.
const ROOM_FOR_THE_PROGRAM: &str = "machine.memory=384MiB";

/// Rehearses an experiment of the repository, and gives the run's record.
pub(crate) fn rehearse(lab: &Lab, name: &str, settings: &[&str]) -> Value {
    let file = format!("{}/../../experiments/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    // A machine that runs tests is neither quiet nor its own master.
    let gates = ["gates.steal=off", "gates.idle=off", "gates.throttling=off"];
    let settings = gates.iter().chain(settings).flat_map(|setting| ["--set", setting]);
    let arguments: Vec<&str> = ["run", &file, "--quick"].into_iter().chain(settings).collect();
    let output = lab.iostone(&arguments).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    lab.assert_nothing_left();
    lab.record()
}

/// The one trial of a configuration.
pub(crate) fn trial<'a>(record: &'a Value, configuration: &str) -> &'a Value {
    let trials = record["trials"].as_array().unwrap();
    trials.iter().find(|trial| trial["configuration"] == configuration).unwrap()
}

fn metric(record: &Value, configuration: &str, metric: &str) -> f64 {
    trial(record, configuration)["metrics"][metric].as_f64().unwrap()
}

#[test]
fn two_striped_volumes_are_bound_by_the_link_and_one_by_itself() {
    needs_root!();
    needs_tool!("qemu-system-x86_64");
    needs_tool!("mdadm");
    needs_tool!("mkfs.xfs");
    needs_tool!("bonnie++");
    let lab = Lab::new();
    needs_kernels!(lab, "debian:6.1");
    let record = rehearse(&lab, "raid0", &[ROOM_FOR_THE_PROGRAM]);
    let rate = |configuration| metric(&record, configuration, "direct_read_throughput") / 1e6;
    let rates = [rate("one"), rate("two"), rate("four")];
    // Caps are never exceeded; how near a busy machine comes to them is not this test's business.
    assert!(rates[0] < 41.2 && rates[1] < 64.4 && rates[2] < 64.4, "{rates:?}");
    // An emulated processor that one volume keeps busy is no faster with two.
    if rates[0] > 0.9 * 40.0 {
        assert!(rates[1] > rates[0] * 1.2 && rates[2] > rates[0] * 1.2, "{rates:?}");
    } else {
        eprintln!(
            "skipped: one volume alone is below its cap on this machine, so that more are not compared: {rates:?}"
        );
    }
    for (configuration, members) in [("one", 1), ("two", 2), ("four", 4)] {
        let trial = trial(&record, configuration);
        let read_back = |words: &str| {
            let checks = trial["checks"].as_array().unwrap();
            assert!(
                checks.iter().any(|check| check["read_back"].as_str().unwrap().contains(words)),
                "{words}: {checks:?}"
            );
        };
        read_back("262144");
        read_back(&members.to_string());
        let devices = trial["signals"]["devices"].as_array().unwrap();
        assert_eq!(devices.iter().filter(|device| device["role"] == "member").count(), members);
        assert!(trial["guest"]["uname"].as_str().unwrap().starts_with("Linux 6.1."), "{}", trial["guest"]);
        let notes = trial["notes"].to_string();
        assert!(notes.contains("ARRAY /dev/md"), "{notes}");
    }
    let ceilings = record["verdicts"]["ceilings"].as_array().unwrap();
    assert!(ceilings.iter().any(|ceiling| ceiling.to_string().contains("link")), "{ceilings:?}");
}

#[test]
fn disks_of_the_instance_answer_no_faster_than_their_arms() {
    needs_root!();
    needs_tool!("qemu-system-x86_64");
    needs_tool!("mdadm");
    needs_tool!("mkfs.xfs");
    let lab = Lab::new();
    needs_kernels!(lab, "debian:6.1");
    let record = rehearse(&lab, "ephemeral", &[ROOM_FOR_THE_PROGRAM]);
    // A second of load may begin with what a bucket holds for the first moments.
    for (configuration, at_most) in [("one", 130.0), ("two", 260.0), ("four", 520.0)] {
        let iops = metric(&record, configuration, "iops");
        assert!(iops > 0.0 && iops < at_most, "{configuration}: {iops}");
    }
}

#[test]
fn each_kernel_tells_its_own_name() {
    needs_root!();
    needs_tool!("qemu-system-x86_64");
    needs_tool!("dbench");
    let lab = Lab::new();
    needs_kernels!(lab, "debian:6.1", "debian:6.12", "debian:5.10");
    let record = rehearse(&lab, "kernel", &[]);
    for kernel in ["6.1", "6.12", "5.10"] {
        let uname = trial(&record, kernel)["guest"]["uname"].as_str().unwrap();
        assert!(uname.starts_with(&format!("Linux {kernel}.")), "{uname}");
        assert!(metric(&record, kernel, "throughput") > 0.0);
    }
}
