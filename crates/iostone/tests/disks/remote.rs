//! The agent boundary: the same run through `iostone agent`, and frames by hand.

use std::io::Write;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::lab::{Lab, flushes, needs_root, small_barrier, wait_until, words};

#[test]
fn a_run_through_an_agent_finds_the_same() {
    needs_root!();
    let lab = Lab::new();
    let binary = env!("CARGO_BIN_EXE_iostone");
    let text = format!(
        "{}\n[machine]\nkind = \"agent\"\nargv = [\"{binary}\", \"agent\"]\n",
        small_barrier("write back", 6)
    );
    let file = lab.write("experiment.toml", &text);
    let output = lab.iostone(&["run", &file, "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let record = lab.record();
    assert!(flushes(&record, "on").iter().all(|count| *count > 0), "{:?}", flushes(&record, "on"));
    assert!(flushes(&record, "off").iter().all(|count| *count == 0), "{:?}", flushes(&record, "off"));
    lab.assert_nothing_left();
}

/// Kills the asker `after` its agent has attached a loop device, and waits until the agent has undone it.
fn kill_the_asker(runtime: &str, settle: &str, after: Duration) {
    let lab = Lab::new();
    let binary = env!("CARGO_BIN_EXE_iostone");
    let text = format!(
        "{}\n[machine]\nkind = \"agent\"\nargv = [\"{binary}\", \"agent\"]\n",
        small_barrier("write back", 6).replace("400ms", runtime).replace("20ms", settle)
    );
    let file = lab.write("experiment.toml", &text);
    let mut child = lab.iostone(&["run", &file]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until(&mut child, || !lab.attached_loops().is_empty());
    sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    let journals = lab.path().join("state/journals");
    let deadline = Instant::now() + Duration::from_secs(120);
    let left = || std::fs::read_dir(&journals).map_or(0, |entries| entries.flatten().count());
    while left() > 0 && Instant::now() < deadline {
        sleep(Duration::from_millis(20));
    }
    lab.assert_nothing_left();
}

#[test]
fn an_agent_whose_asker_dies_while_the_workload_runs_undoes_everything() {
    needs_root!();
    kill_the_asker("20s", "20ms", Duration::from_secs(1));
}

#[test]
fn an_agent_whose_asker_dies_while_it_settles_undoes_everything() {
    needs_root!();
    kill_the_asker("400ms", "10s", Duration::from_millis(1500));
}

#[test]
fn a_stream_that_is_no_protocol_ends_the_agent_with_a_reason() {
    let lab = Lab::new();
    let mut child = lab
        .iostone(&["agent"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success());
    assert!(words(&output).contains("not an iostone agent"), "{}", words(&output));
}

#[test]
fn an_agent_answers_frames_and_greets_first() {
    let lab = Lab::new();
    let frame = |text: &str| {
        let mut bytes = u32::try_from(text.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend_from_slice(text.as_bytes());
        bytes
    };
    let mut child = lab.iostone(&["agent"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for request in [
        r#"{"id":1,"request":"toolbox"}"#,
        r#"{"id":2,"request":"hello","version":4}"#,
        r#"{"id":3,"request":"toolbox"}"#,
        r#"{"id":4,"request":"verify"}"#,
    ] {
        stdin.write_all(&frame(request)).unwrap();
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("the first request must be `hello`"), "{text}");
    assert!(text.contains(r#""reply":"hello","version":4"#), "{text}");
    assert!(text.contains("mkfs.ext4"), "{text}");
    assert!(text.contains("no session was started"), "{text}");
}
