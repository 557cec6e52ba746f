//! The first question in small: what does not stick is said, and the demo answers.

use crate::lab::{Lab, needs_root, small_barrier, words};

#[test]
fn a_mount_option_that_does_not_stick_is_an_error_that_says_so() {
    needs_root!();
    let lab = Lab::new();
    let file =
        lab.write("experiment.toml", &small_barrier("write back", 8).replace("barrier=0", "nosuchoption"));
    let output = lab.iostone(&["run", &file]).output().unwrap();
    assert!(!output.status.success());
    assert!(words(&output).contains("nosuchoption"), "{}", words(&output));
    lab.assert_nothing_left();
}

#[test]
fn the_demo_leaves_the_machine_as_it_was_and_a_report() {
    needs_root!();
    let lab = Lab::new();
    let short =
        ["workload.runtime=300ms", "workload.size=8MiB", "stack.volume.size=48MiB", "decide.blocks.max=6"];
    let mut arguments = vec!["demo"];
    for setting in &short {
        arguments.extend(["--set", setting]);
    }
    let output = lab.iostone(&arguments).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let first = String::from_utf8_lossy(&output.stdout).lines().next().unwrap().to_owned();
    assert!(first.contains("off") && first.contains("on"), "the first line answers: {first}");
    assert!(lab.the_run().join("report.html").exists());
    lab.assert_nothing_left();
}
