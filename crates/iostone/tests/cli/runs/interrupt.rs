//! Runs that do not come to their end at once: interrupted, resumed, failing.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use super::PROGRAM;
use crate::support::{Bench, Said, masked};

/// Starts a run and interrupts it once its first trial is recorded.
pub(super) fn interrupted(bench: &Bench) -> Said {
    let mut command = bench.command(&["run", "experiment.toml"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("\nblock ") {
        assert_ne!(stderr.read_line(&mut said).unwrap(), 0, "it ended by itself:\n{said}");
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    stderr.read_to_string(&mut said).unwrap();
    let output = child.wait_with_output().unwrap();
    Said { stderr: said, ..Said::from(output) }
}

#[test]
fn an_interrupted_run_is_undone_kept_and_resumed() {
    let bench = Bench::new();
    bench.write("experiment.toml", PROGRAM.replace("echo $WHICH in $IOSTONE_CONFIGURATION", "sleep 0.2"));
    let said = interrupted(&bench).ended_with(130);
    assert_eq!(said.stdout, "");
    let last = masked(said.stderr.lines().last().unwrap(), &bench, "program");
    assert_eq!(
        last,
        "error: interrupted; the trials so far are kept: resume with `iostone run --resume runs/[date]-program-[id]`"
    );
    bench.assert_undone();

    let before = bench.iostone(&["list", "--json"]).ended_with(0).json();
    assert_eq!(before[0]["finished"], false);
    let kept = before[0]["trials"].as_u64().unwrap();
    assert!((1..12).contains(&kept), "{before:#}");
    let listed = bench.iostone(&["list"]).ended_with(0).stdout;
    assert!(listed.contains("  interrupted"), "{listed}");
    let report = bench.iostone(&["report"]).ended_with(0).stdout;
    assert!(report.contains("Ended before its time: interrupted.\n"), "{report}");

    let resumed = bench.iostone(&["run", "--resume", "latest", "--json"]).ended_with(0);
    assert_eq!(resumed.json()["blocks"]["complete"], 6);
    let after = bench.iostone(&["show", "--json"]).ended_with(0).json();
    let trials = after["trials"].as_array().unwrap();
    assert!(trials.len() >= 12, "{}", trials.len());
    let first = |session: u64| trials.iter().filter(|trial| trial["session"] == session).count() as u64;
    assert_eq!(first(0), kept, "a trial of the first session was lost");
    assert_eq!(bench.run_directories().len(), 1);

    let again = bench.iostone(&["run", "--resume", "latest"]).ended_with(2);
    let again = masked(&again.stderr, &bench, "program");
    assert_eq!(
        again,
        "error: `[here]/runs/[date]-program-[id]` has finished; show it with `iostone report \
         [here]/runs/[date]-program-[id]`\n"
    );
}

#[test]
fn a_failing_program_ends_the_run_with_its_reason() {
    let bench = Bench::new();
    let failing = PROGRAM.replace("echo $WHICH in $IOSTONE_CONFIGURATION", "echo no frobnicator >&2; exit 3");
    bench.write("experiment.toml", failing);
    let said = bench.iostone(&["run", "experiment.toml", "--json"]).ended_with(1);
    said.complains_of("the workload failed under `");
    said.complains_of("`sh` ended with status 3 (it failed in 3 of 3 blocks), saying: no frobnicator; the trials so far are kept");
    assert_eq!(said.stdout, "");
    let trial = bench.iostone(&["show", "--trial", "1"]).ended_with(0).stdout;
    assert!(trial.contains("  failed: `sh` ended with status 3\n"), "{trial}");
    assert!(trial.ends_with("end of standard error\nno frobnicator\n\n"), "{trial}");
    let listed = bench.iostone(&["list"]).ended_with(0).stdout;
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 1, "the reason stands for the headline: {listed}");
    assert!(lines[0].contains("  failed: the workload failed under `"), "{listed}");
    let report = bench.iostone(&["report"]).ended_with(0).stdout;
    assert!(report.contains("Ended before its time: the workload failed under `"), "{report}");
    let page = bench.iostone(&["report", "--format", "html"]).ended_with(0).stdout;
    assert!(page.contains("Ended before its time: the workload failed under <code>"));
    // It fails the next time as well, and for the same reason.
    bench.iostone(&["run", "--resume", "latest"]).ended_with(1).complains_of("saying: no frobnicator");
    bench.assert_undone();

    // In a warm-up nothing has been recorded that could be resumed.
    let warm = Bench::new();
    let text = std::fs::read_to_string(bench.path("experiment.toml")).unwrap();
    warm.write("experiment.toml", text.replace("warmups = 0", "warmups = 1"));
    let said = warm.iostone(&["run", "experiment.toml"]).ended_with(1);
    let last = said.stderr.lines().last().unwrap();
    assert_eq!(
        last,
        "error: the workload failed under `a`: `sh` ended with status 3 (in the warm-up), saying: no frobnicator"
    );
    let listed = warm.iostone(&["list"]).ended_with(0).stdout;
    assert!(listed.contains("  failed: the workload failed under `a`"), "{listed}");
    let report = warm.iostone(&["report"]).ended_with(0).stdout;
    assert!(!report.contains("yet") && report.contains("Ended before its time: "), "{report}");

    // Nor does a rehearsal claim that it worked.
    let rehearsal = Bench::new();
    rehearsal.write("experiment.toml", std::fs::read_to_string(bench.path("experiment.toml")).unwrap());
    rehearsal.iostone(&["run", "experiment.toml", "--quick"]).ended_with(1);
    for command in ["list", "report"] {
        let said = rehearsal.iostone(&[command]).ended_with(0).stdout;
        assert!(!said.contains("every step"), "{said}");
    }
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let bench = Bench::new();
    bench.write("experiment.toml", PROGRAM.replace("argv = [\"sh\"", "argv = [\"no-such-program\""));
    let said = bench.iostone(&["run", "experiment.toml"]).ended_with(2);
    said.complains_of("`no-such-program` cannot be found: no such program in PATH");
    assert!(bench.run_directories().is_empty(), "refused before a run is made");
    bench.assert_undone();
}

#[test]
fn a_program_that_takes_too_long_is_ended() {
    let bench = Bench::new();
    let slow =
        PROGRAM.replace("echo $WHICH in $IOSTONE_CONFIGURATION\"]", "sleep 60\"]\ntimeout = \"100ms\"");
    bench.write("experiment.toml", slow);
    let said = bench.iostone(&["run", "experiment.toml"]).ended_with(1);
    said.complains_of("`sh` was ended after its timeout of 100ms");
}
