//! dd through the binary: bytes over seconds as it printed them, its source as a ceiling, a full disk said.

use crate::lab::{Lab, needs_root};
use crate::tools::{experiment, figure, raw, refused, rehearsed};

#[test]
fn throughput_is_the_bytes_that_dd_printed_over_its_seconds() {
    needs_root!();
    let lab = Lab::new();
    let trials = rehearsed(&lab, &experiment("small-dd", "throughput", "kind = \"dd\"\nsize = \"16MiB\""));
    for trial in &trials {
        let printed = raw(&lab, trial, "stderr.txt");
        let line = printed.lines().last().unwrap();
        let bytes: f64 = line.split_whitespace().next().unwrap().parse().unwrap();
        let seconds = line.split(", ").find_map(|part| part.strip_suffix(" s")).unwrap();
        let seconds: f64 = seconds.parse().unwrap();
        assert!((figure(trial, "throughput") / (bytes / seconds) - 1.0).abs() < 1e-12, "{line}");
        assert!((figure(trial, "wall_time") - seconds).abs() < 1e-12);
        let workload = &trial["workload"];
        assert_eq!(workload["claimed_written_bytes"], 16 << 20);
        // Generated data and `conv=fdatasync`: all of it passed the device.
        assert_eq!(workload["must_reach_device"], true);
        let served = trial["gates"].as_array().unwrap().iter().find(|gate| gate["gate"] == "served").unwrap();
        assert!(served["message"].as_str().unwrap().contains("claimed"), "{served}");
        assert!(workload["facts"]["source_rate"].as_str().unwrap().contains("a ceiling"));
        assert!(workload["facts"]["argv"].as_str().unwrap().contains("conv=fdatasync"));
    }
}

#[test]
fn a_read_past_the_cache_is_of_data_that_was_laid_out() {
    needs_root!();
    let lab = Lab::new();
    let workload = "kind = \"dd\"\nsize = \"16MiB\"\ndirection = \"read\"\niflag = [\"direct\"]";
    for trial in rehearsed(&lab, &experiment("small-dd-read", "throughput", workload)) {
        assert_eq!(trial["workload"]["claimed_read_bytes"], 16 << 20);
        let served = trial["signals"]["devices"][0]["served"]["read_bytes"].as_u64().unwrap();
        assert!(served >= 16 << 20, "{served}");
    }
}

#[test]
fn a_volume_that_is_full_before_the_end_is_an_error_in_dds_words() {
    needs_root!();
    let lab = Lab::new();
    let text = experiment("full-dd", "throughput", "kind = \"dd\"\nsize = \"48MiB\"\nsource = \"/dev/zero\"")
        .replace("96MiB", "48MiB");
    let said = refused(&lab, &text, 1);
    assert!(said.contains("No space left on device"), "{said}");
}

#[test]
fn a_source_that_might_be_waited_for_is_refused_before_anything_is_built() {
    needs_root!();
    let lab = Lab::new();
    let workload = "kind = \"dd\"\nsize = \"1MiB\"\nsource = \"/dev/tty\"";
    let said = refused(&lab, &experiment("bad-dd", "throughput", workload), 2);
    assert!(said.contains("`/dev/tty` is neither a regular file nor a device such as"), "{said}");
}
