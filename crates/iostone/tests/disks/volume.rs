//! A trial never sees what another left, and reads are of real data.

use crate::lab::{Lab, needs_root, small_barrier, words};

#[test]
fn a_planted_file_is_gone_in_the_next_trial() {
    needs_root!();
    let lab = Lab::new();
    // Each trial fails if it finds what an earlier one planted, and plants it.
    let script = "test ! -e planted && head -c 1000000 /dev/zero > planted && sync";
    let text = small_barrier("write back", 6);
    let workload = text.find("[workload]").unwrap();
    let decide = text.find("[decide]").unwrap();
    let text = format!(
        "{}[workload]\nkind = \"command\"\nargv = [\"sh\", \"-c\", \"{script}\"]\n\n{}",
        &text[..workload],
        text[decide..].replace("\"iops\"", "\"wall_time\"")
    );
    let file = lab.write("experiment.toml", &text);
    let output = lab.iostone(&["run", &file]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let record = lab.record();
    assert!(record["trials"].as_array().unwrap().iter().all(|trial| trial["valid"] == true));
    lab.assert_nothing_left();
}

#[test]
fn direct_reads_are_served_by_the_device() {
    needs_root!();
    let lab = Lab::new();
    let text = small_barrier("write back", 6)
        .replace("randwrite", "randread")
        .replace("fdatasync = 1", "direct = true");
    let file = lab.write("experiment.toml", &text);
    let output = lab.iostone(&["run", &file]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    for trial in lab.record()["trials"].as_array().unwrap() {
        let claimed = trial["workload"]["claimed_read_bytes"].as_u64().unwrap();
        let served = trial["signals"]["devices"][0]["served"]["read_bytes"].as_u64().unwrap();
        assert!(claimed > 0 && served >= claimed, "claimed {claimed}, served {served}");
    }
}

#[test]
fn a_filesystem_in_memory_is_refused_where_flushes_are_the_question() {
    needs_root!();
    let lab = Lab::new();
    let text = small_barrier("write back", 6)
        .replace("backing_io = \"buffered\"", "backing_io = \"buffered\", directory = \"/dev/shm\"");
    let file = lab.write("experiment.toml", &text);
    let output = lab.iostone(&["run", &file]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
    assert!(words(&output).contains("tmpfs"), "{}", words(&output));
}

#[test]
fn a_disk_that_is_too_full_is_said_before_anything_is_written() {
    needs_root!();
    let lab = Lab::new();
    let text = small_barrier("write back", 6).replace("48MiB", "900TiB");
    let file = lab.write("experiment.toml", &text);
    let output = lab.iostone(&["run", &file]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
    lab.assert_nothing_left();
}
