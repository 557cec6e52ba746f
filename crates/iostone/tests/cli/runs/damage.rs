//! Runs that are not there, not whole, or nowhere to be put.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

use super::{PROGRAM, finished};
use crate::support::{Bench, Said, assert_text, masked};

#[test]
fn a_damaged_run_is_named_and_the_others_are_shown() {
    let bench = finished(PROGRAM);
    let run = bench.only_run();
    let mut all = String::new();
    let mut say = |what: &str, arguments: &[&str], code: i32| {
        let said = bench.iostone(arguments).ended_with(code);
        all += &format!("{what}: {}\n{}", arguments.join(" "), said.stderr);
        said.stdout
    };
    let journal = fs::read(run.join("journal.jsonl")).unwrap();
    let plan = fs::read(run.join("plan.json")).unwrap();

    // A crash cuts the last line short: that one is not believed, all others are.
    fs::write(run.join("journal.jsonl"), &journal[..journal.len() - 20]).unwrap();
    let listed = say("a journal cut short", &["list"], 0);
    let name = run.file_name().unwrap().to_str().unwrap();
    assert!(listed.contains("  unfinished"), "{listed}");
    say("a journal cut short", &["report"], 0);
    say("a journal cut short", &["run", "--resume", name, "--quiet"], 0);
    assert!(!say("the same resumed", &["list"], 0).contains("unfinished"));

    let text = String::from_utf8(journal.clone()).unwrap();
    let third = text.lines().nth(2).unwrap();
    fs::write(run.join("journal.jsonl"), text.replacen(third, "{}", 1)).unwrap();
    say("a journal with a wrong line", &["report"], 2);
    assert_eq!(say("a journal with a wrong line", &["list"], 0), "");
    fs::write(run.join("journal.jsonl"), &journal).unwrap();

    fs::write(run.join("plan.json"), "{\n").unwrap();
    for arguments in [&["report", "."][..], &["show", "."], &["run", "--resume", "."]] {
        let named = run.display().to_string();
        let arguments: Vec<&str> =
            arguments.iter().map(|&word| if word == "." { &named } else { word }).collect();
        say("a damaged plan", &arguments, 2);
    }
    assert_eq!(say("a damaged plan", &["list"], 0), "");
    say("a damaged plan", &["report", "latest"], 2);
    say("a damaged plan", &["report", name], 2);
    say("a damaged plan", &["report", "program"], 2);
    fs::write(run.join("plan.json"), &plan).unwrap();

    fs::write(run.join("trials/000002/trial.json"), "").unwrap();
    say("an empty trial", &["report"], 2);
    assert_text("damaged_runs", &masked(&all, &bench, "program"));
}

#[test]
fn a_run_that_may_not_be_read_is_named_with_the_reason() {
    let bench = finished(PROGRAM);
    let run = bench.only_run();
    let root = rustix::process::geteuid().is_root();
    fs::set_permissions(&run, fs::Permissions::from_mode(if root { 0o700 } else { 0 })).unwrap();
    fs::set_permissions(bench.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    let say = |arguments: &[&str]| {
        let mut command = bench.command(arguments);
        if root {
            // Root may read everything, so it asks as nobody.
            command.uid(65534).gid(65534);
        }
        command.output().map(Said::from)
    };
    let Ok(said) = say(&["list"]) else {
        eprintln!("skipped: `nobody` may not start the binary where it is");
        return;
    };
    let name = run.file_name().unwrap().to_str().unwrap();
    let reason = "cannot be read: Permission denied (os error 13)";
    let warning = format!("warning: `{}` {reason}\n", run.display());
    assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (Some(0), "", warning.as_str()));
    let named = say(&["report", name]).unwrap().ended_with(2);
    assert_eq!(named.stderr, format!("error: `{}` {reason}\n", run.display()));
    let latest = say(&["report", "latest"]).unwrap().ended_with(2);
    assert_eq!(
        latest.stderr,
        format!("{warning}error: no run in `{}` can be read\n", bench.runs().display())
    );
    fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_trial_that_is_missing_is_told_of_everywhere() {
    let bench = finished(PROGRAM);
    fs::remove_dir_all(bench.only_run().join("trials/000003")).unwrap();
    let text = bench.iostone(&["report"]).ended_with(0).stdout;
    assert!(text.lines().any(|line| line.starts_with("! damaged: ") && line.contains('3')), "{text}");
    let shown = bench.iostone(&["show"]).ended_with(0).stdout;
    assert!(shown.lines().any(|line| line.starts_with("! damaged: ")), "{shown}");
    let page = bench.iostone(&["report", "--format", "html"]).ended_with(0).stdout;
    assert!(page.contains("<span class=\"tag\">damaged</span>"));
    let document = bench.iostone(&["report", "--format", "json"]).ended_with(0).json();
    assert_eq!(document["run"]["defects"].as_array().map(Vec::len), Some(1), "{}", document["run"]);
}

#[test]
fn a_run_that_is_not_there_is_said_to_be_missing() {
    let bench = Bench::new();
    bench.write("file", "");
    let mut all = String::new();
    let mut say = |arguments: &[&str], code: i32| {
        let said = bench.iostone(arguments).ended_with(code);
        all += &format!("{}\n{}{}", arguments.join(" "), said.stdout, said.stderr);
    };
    say(&["list"], 0);
    say(&["list", "--json"], 0);
    say(&["list", "--runs", "file"], 2);
    say(&["report"], 2);
    say(&["report", "nothing"], 2);
    say(&["show", "file"], 2);
    say(&["run", "--resume", "latest"], 2);
    say(&["run", "--resume", "."], 2);
    assert_text("missing_runs", &masked(&all, &bench, "none"));
    assert_eq!(bench.names(), ["file"]);
}

#[test]
fn a_name_that_fits_several_runs_is_not_guessed() {
    let bench = finished(PROGRAM);
    bench.iostone(&["run", "experiment.toml", "--quiet"]).ended_with(0);
    let said = bench.iostone(&["show", "program"]).ended_with(2);
    assert_eq!(
        masked(&said.stderr, &bench, "program"),
        "error: `program` matches several runs: [date]-program-[id], [date]-program-[id]; give more of the name\n"
    );
}

#[test]
fn runs_that_cannot_be_kept_are_not_begun() {
    let bench = Bench::new();
    bench.write("experiment.toml", PROGRAM);
    bench.write("file", "");
    let said = bench.iostone(&["run", "experiment.toml", "--runs", "file"]).ended_with(2);
    assert_eq!(
        masked(&said.stderr, &bench, "program"),
        "error: making `[here]/file`: File exists (os error 17)\n"
    );
    // Not even root makes directories there.
    let said = bench.iostone(&["run", "experiment.toml", "--runs", "/sys/iostone-runs"]).ended_with(2);
    said.complains_of("error: making `/sys/iostone-runs`: ");
    bench.assert_undone();
}
