//! How a test ends before its time, and goes on.

use std::fs;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{bench_with, prefix, recorded, results};
use crate::support::{Bench, Said};

/// Four points of a second each.
const ROW: [&str; 10] =
    ["orion", "-run", "advanced", "-matrix", "max", "-num_small", "3", "-num_large", "0", "-duration"];

/// Starts a test, and sends a signal once a point is in its record. Once more if it came to its end before, as it may on a
/// busy machine.
fn struck(bench: &Bench, further: &[&str], signal: Signal) -> Said {
    let mut said = struck_once(bench, further, signal);
    for _ in 0..3 {
        if recorded_in(bench, "\"finished\":true") {
            let names = bench.names().into_iter().filter(|name| name.starts_with("orion_"));
            names.for_each(|name| fs::remove_file(bench.path(&name)).unwrap());
            said = struck_once(bench, further, signal);
        }
    }
    said
}

fn struck_once(bench: &Bench, further: &[&str], signal: Signal) -> Said {
    let mut command = bench.command(&[&ROW[..], &["1"], further].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while child.try_wait().unwrap().is_none() && !recorded_in(bench, "\"line\":\"point\"") {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    strike(&mut child, signal);
    Said::from(child.wait_with_output().unwrap())
}

fn strike(child: &mut Child, signal: Signal) {
    if child.try_wait().unwrap().is_none() {
        kill_process(Pid::from_child(child), signal).unwrap();
    }
}

/// Whether words are in a record.
fn recorded_in(bench: &Bench, words: &str) -> bool {
    bench.names().iter().any(|name| {
        name.ends_with("_record.jsonl")
            && fs::read_to_string(bench.path(name)).is_ok_and(|record| record.contains(words))
    })
}

#[test]
fn a_test_that_was_killed_goes_on_and_ends_with_whole_files() {
    let bench = bench_with(&["a"]);
    let said = struck(&bench, &["--seed", "7"], Signal::KILL);
    assert_eq!(said.code, None, "{said:?}");
    let prefix = prefix(&bench);
    let before = recorded(&bench, &prefix);
    assert!((1..4).contains(&before), "{before}");
    assert_eq!(results(&bench, "orion"), ["record.jsonl"]);

    let document = bench.iostone(&["orion", "--resume", &prefix, "--json"]).ended_with(0).json();
    assert_eq!(document["finished"], true);
    assert_eq!(document["header"]["seed"], 7);
    let points = document["points"].as_array().unwrap();
    let loads: Vec<u64> = points.iter().map(|point| point["small"].as_u64().unwrap()).collect();
    assert_eq!(loads, [0, 1, 2, 3]);
    assert_eq!(recorded(&bench, &prefix), 4);
    for file in document["files"].as_array().unwrap() {
        assert!(fs::metadata(bench.path(file.as_str().unwrap())).unwrap().len() > 0, "{file}");
    }
    // There is nothing left to do, except for a file that went.
    bench.iostone(&["orion", "--resume", &prefix]).ended_with(2).complains_of("is finished");
    let again = bench.iostone(&["orion", "--resume", &prefix, "--json"]).ended_with(0).json();
    assert_eq!(again["points"], document["points"]);
    bench.iostone(&["orion", "--resume", &prefix, "--format", "11.1"]).ended_with(0);
    let summary = fs::read_to_string(bench.path(&format!("{prefix}_summary.txt"))).unwrap();
    assert!(summary.starts_with("ORION VERSION 11.1"), "{summary}");
    fs::remove_file(bench.path(&format!("{prefix}_lat.csv"))).unwrap();
    bench.iostone(&["orion", "--resume", &format!("{prefix}_record.jsonl")]).ended_with(0);
    assert!(bench.path(&format!("{prefix}_lat.csv")).exists());
}

#[test]
fn an_interrupted_test_keeps_what_it_measured_and_says_how_to_go_on() {
    let bench = bench_with(&["a"]);
    let said = struck(&bench, &["--json", "--format", "11.1"], Signal::INT).ended_with(130);
    let prefix = prefix(&bench);
    said.complains_of(&format!("iostone orion --resume {prefix}"));
    let document = said.json();
    assert_eq!(
        (&document["finished"], &document["reason"]),
        (&Value::from(false), &Value::from("interrupted"))
    );
    let summary = fs::read_to_string(bench.path(&format!("{prefix}_summary.txt"))).unwrap();
    assert!(summary.contains("Not finished"), "{summary}");
    // The layout is that of the first session.
    bench.iostone(&["orion", "--resume", &prefix]).ended_with(0);
    let summary = fs::read_to_string(bench.path(&format!("{prefix}_summary.txt"))).unwrap();
    assert!(summary.contains("11.1.0.7.0") && !summary.contains("Not finished"), "{summary}");
    assert!(!results(&bench, "orion").contains(&"hist.txt".to_owned()));
}

#[test]
fn a_test_does_not_go_on_with_other_luns() {
    let bench = bench_with(&["a"]);
    struck(&bench, &[], Signal::INT).ended_with(130);
    let prefix = prefix(&bench);
    let resume = ["orion", "--resume", &prefix];
    fs::create_dir(bench.path("elsewhere")).unwrap();
    let mut command = bench.command(&["orion", "--resume", &format!("../{prefix}")]);
    let said = Said::from(command.current_dir(bench.path("elsewhere")).output().unwrap()).ended_with(2);
    let here = bench.path("").canonicalize().unwrap().display().to_string();
    said.complains_of(&format!("the test was begun in `{here}`")).complains_of(&format!("cd {here} && "));
    // A copy has the name and the size.
    fs::copy(bench.path("a"), bench.path("copy")).unwrap();
    fs::rename(bench.path("copy"), bench.path("a")).unwrap();
    bench.iostone(&resume).ended_with(2).complains_of("another file");
    // Of one that grew, the end was never written: that it grew is what counts.
    fs::File::options().write(true).open(bench.path("a")).unwrap().set_len(4 << 20).unwrap();
    bench.iostone(&resume).ended_with(2).complains_of("it has 4MiB now");
    bench.write("a", super::noise(super::LUN_BYTES * 2));
    bench.iostone(&resume).ended_with(2).complains_of("`a`");
    bench.write("orion.lun", "b\n");
    bench.write("b", super::noise(super::LUN_BYTES));
    bench.iostone(&resume).ended_with(2).complains_of("`b`");
}

#[test]
fn a_killed_test_that_wrote_goes_on_unless_its_files_were_written_to_since() {
    let bench = bench_with(&["a"]);
    if !iostone_stack::keeps_marks(&fs::File::open(bench.path("a")).unwrap()) {
        eprintln!("skipped: needs a filesystem with extended attributes");
        return;
    }
    struck(&bench, &["-write", "100", "--destroy", "a"], Signal::KILL);
    let prefix = prefix(&bench);
    let resume = ["orion", "--resume", &prefix];
    // It is the test's, and nobody else's.
    bench.iostone(&[&ROW[..], &["1", "-write", "100"]].concat()).ended_with(3).complains_of("--destroy a");
    let touch = |at| fs::File::options().write(true).open(bench.path("a")).unwrap().set_modified(at).unwrap();
    let written = fs::metadata(bench.path("a")).unwrap().modified().unwrap();
    touch(written + std::time::Duration::from_secs(3600));
    let next = format!("iostone orion --resume {prefix} --destroy a");
    let said = bench.iostone(&resume).ended_with(3);
    said.complains_of(&next).complains_of("written to again long after that");
    assert!(!said.stderr.contains("--create"), "{}", said.stderr);
    touch(written);
    bench.iostone(&resume).ended_with(0);
    // Ended in order, it is iostone's.
    bench.iostone(&[&ROW[..], &["1", "-write", "100"]].concat()).ended_with(0);
}
