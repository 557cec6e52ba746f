//! bonnie++ through the binary: its figures are those of its own line, what it cannot time is told as such, and a file
//! that does not fit is refused before it is written.

use crate::lab::{Lab, needs_root, needs_tool, words};

fn experiment(metric: &str, workload: &str) -> String {
    format!(
        r#"
name = "small-bonnie"

[stack]
volume = {{ kind = "loop", size = "64MiB", backing_io = "buffered" }}
queue = {{ write_cache = "write back" }}
filesystem = {{ kind = "ext4" }}

[[factor]]
name = "barrier"
levels = {{ on = {{ mount.options = ["barrier=1"] }}, off = {{ mount.options = ["barrier=0"] }} }}

[workload]
kind = "bonnie"
fast = true
seeks = 200
{workload}

[decide]
metric = "{metric}"
baseline = "on"

[trials]
settle = "20ms"

# A machine that runs tests is neither quiet nor its own master.
[gates]
steal = "off"
idle = "off"
throttling = "off"
"#
    )
}

/// KiB/s or /s as bonnie++ 1.98 printed it in that column; none where it was too fast to time.
fn column(line: &str, index: usize) -> Option<f64> {
    line.split(',').nth(index).unwrap().parse().ok()
}

#[test]
fn the_figures_of_bonnie_are_those_of_its_own_line() {
    needs_root!();
    needs_tool!("bonnie++");
    let lab = Lab::new();
    let workload = "size = \"16MiB\"\nmemory = \"8MiB\"\nfiles = 1\nno_write_buffering = true\nuser = \"nobody\"\nseed = 77";
    let file = lab.write("experiment.toml", &experiment("sequential_create", workload));
    let output = lab.iostone(&["run", &file, "--quick"]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    lab.assert_nothing_left();
    for trial in lab.record()["trials"].as_array().unwrap() {
        let raw = lab.the_run().join(format!("trials/{:06}/raw", trial["number"].as_u64().unwrap()));
        let line = std::fs::read_to_string(raw.join("bonnie.csv")).unwrap();
        assert!(line.starts_with("1.98,") || line.starts_with("1.97,"), "{line}");
        assert!(line.contains(",iostone,1,77,16M,"), "{line}");
        let shift = if line.starts_with("1.97,") { 2 } else { 0 };
        for (metric, index, unit) in
            [("block_write", 11, 1024.0), ("sequential_create", 26, 1.0), ("random_delete", 36, 1.0)]
        {
            let printed = column(&line, index - shift).map(|value| value * unit);
            assert_eq!(trial["metrics"][metric].as_f64(), printed, "{metric} of {line}");
            assert_eq!(trial["workload"]["absent"][metric].is_string(), printed.is_none());
        }
        assert!(trial["workload"]["facts"]["argv"].as_str().unwrap().contains("-u nobody"));
        assert!(trial["workload"]["claimed_written_bytes"].as_u64().unwrap() >= 32 << 20);
        let converter =
            std::process::Command::new("bon_csv2html").stdin(std::process::Stdio::null()).output();
        if converter.is_ok() && shift == 0 {
            let table = std::fs::read_to_string(raw.join("bonnie.html")).unwrap();
            assert!(table.contains("<table") && table.contains("iostone"));
        }
    }
}

#[test]
fn a_phase_that_is_too_fast_to_time_fails_the_trial_it_was_to_decide() {
    needs_root!();
    needs_tool!("bonnie++");
    let lab = Lab::new();
    let file = lab
        .write("experiment.toml", &experiment("block_read", "size = \"16MiB\"\nmemory = \"0B\"\nfiles = 0"));
    let output = lab.iostone(&["run", &file]).output().unwrap();
    let said = words(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in ["there is no figure `block_read`", "too fast to time", "raise `workload.size`"] {
        assert!(said.contains(part), "{said}");
    }
    lab.assert_nothing_left();
}

#[test]
fn a_file_of_twice_the_memory_that_does_not_fit_is_refused_before_anything_is_written() {
    needs_root!();
    needs_tool!("bonnie++");
    let lab = Lab::new();
    let file = lab.write("experiment.toml", &experiment("block_write", "files = 0"));
    let output = lab.iostone(&["run", &file]).output().unwrap();
    let said = words(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for part in ["twice this machine's memory", "the volume has 64.0 MiB", "--set stack.volume.size="] {
        assert!(said.contains(part), "{said}");
    }
    assert!(!lab.runs().exists(), "a run was begun");
    let file = lab.write("experiment.toml", &experiment("block_write", "size = \"32MiB\"\nfiles = 0"));
    let output = lab.iostone(&["run", &file]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(words(&output).contains("smaller than twice this machine's memory"), "{}", words(&output));
}
