//! Text from outside that would steer a terminal: names in a file, a program's last words, cells of a table.

use std::fs;

use crate::runs::PROGRAM;
use crate::support::{Bench, Said};

/// The same as on a terminal: styles are written, and nothing is stripped on the way.
fn on_a_terminal(bench: &Bench, arguments: &[&str]) -> Said {
    Said::from(bench.command(arguments).env("CLICOLOR_FORCE", "1").output().unwrap())
}

/// Fails if anything but line feeds, tabs and styles would reach the terminal.
#[track_caller]
fn assert_harmless(said: &Said) {
    for text in [&said.stdout, &said.stderr] {
        for hostile in ["esc\u{1b}", "\u{1b}[2J", "\u{1b}]0;"] {
            assert!(!text.contains(hostile), "{text:?}");
        }
        let mut pieces = text.split("\u{1b}[");
        let mut plain = pieces.next().unwrap().to_owned();
        for piece in pieces {
            let (style, rest) = piece.split_once('m').expect("every escape is a style");
            assert!(style.chars().all(|c| c.is_ascii_digit() || c == ';'), "{text:?}");
            plain += rest;
        }
        assert!(plain.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()), "{text:?}");
    }
}

/// Level `a` steers the terminal by its name, level `b` breaks the line.
fn experiment(script: &str) -> String {
    PROGRAM
        .replace("Is <a> different", "\\u001b]0;owned\\u0007 Is <a>\\nreally different")
        .replace("{ a = {", "{ \"esc\\u001b[31m\\u009b2J\" = {")
        .replace("b = { workload", "\"line\\nbreak\" = { workload")
        .replace("baseline = \"a\"", "baseline = \"esc\\u001b[31m\\u009b2J\"")
        .replace("echo $WHICH in $IOSTONE_CONFIGURATION", script)
}

#[test]
fn names_of_a_file_cannot_steer_the_terminal() {
    let bench = Bench::new();
    bench.write("experiment.toml", experiment("true"));
    for arguments in [
        &["run", "experiment.toml", "--dry-run"][..],
        &["run", "experiment.toml"],
        &["list"],
        &["show"],
        &["show", "--trial", "1"],
        &["report"],
    ] {
        let said = on_a_terminal(&bench, arguments).ended_with(0);
        assert_harmless(&said);
        let all = said.stdout + &said.stderr;
        // The seed decides which of the two levels the first trial has.
        let names_a_level = all.contains("esc\\x1b[31m\\u009b2J") || all.contains("line break");
        assert!(names_a_level, "{arguments:?}: {all}");
        assert!(!all.contains("line\nbreak"), "{arguments:?}: {all}");
    }
    // JSON says the same as before, in escapes of its own.
    for arguments in [&["list", "--json"][..], &["show", "--json"], &["report", "--format", "json"]] {
        let said = on_a_terminal(&bench, arguments).ended_with(0);
        assert_harmless(&said);
        let document = said.json();
        if let Some(name) = document.pointer("/plan/experiment/configurations/0/name") {
            assert_eq!(name, "esc\u{1b}[31m\u{9b}2J");
        }
    }
}

#[test]
fn the_last_words_of_a_program_cannot_steer_the_terminal() {
    let bench = Bench::new();
    bench.write(
        "experiment.toml",
        experiment("printf '\\\\033[2Jgone\\\\nagain\\\\033]0;t\\\\007' >&2; exit 3"),
    );
    let said = on_a_terminal(&bench, &["run", "experiment.toml"]).ended_with(1);
    assert_harmless(&said);
    said.complains_of("\\x1b]0;t\\x07");
    for arguments in [&["list"][..], &["show"], &["report"]] {
        assert_harmless(&on_a_terminal(&bench, arguments).ended_with(0));
    }
    let trial = on_a_terminal(&bench, &["show", "--trial", "1"]).ended_with(0);
    assert_harmless(&trial);
    assert!(
        trial.stdout.contains("end of standard error\n\\x1b[2Jgone\nagain\\x1b]0;t\\x07"),
        "{}",
        trial.stdout
    );
}

#[test]
fn a_wrong_file_cannot_steer_the_terminal() {
    let bench = Bench::new();
    let wrong =
        experiment("true").replace("[decide]", "\"esc\\u001b[2J\" = 1 # \u{9b}2J \u{202e} \n[decied]");
    bench.write("wrong.toml", wrong);
    let said = on_a_terminal(&bench, &["run", "wrong.toml"]).ended_with(2);
    assert_harmless(&said);
    assert!(!said.stderr.contains('\u{202e}'), "{}", said.stderr);
    bench.write("raw.toml", PROGRAM.replace("[decide]", "# \u{1b}[2J \u{7}\n[decide]"));
    assert_harmless(&on_a_terminal(&bench, &["run", "raw.toml"]).ended_with(2));
}

#[test]
fn cells_of_a_table_cannot_steer_the_terminal() {
    let bench = Bench::new();
    let header = "block,level,\"esc\u{1b}[2J\nx\",iops\n";
    let rows = "1,\"esc\u{1b}[2J\nx\",1,5\n1,b,2,5\n";
    bench.write("table.csv", format!("{header}{rows}"));
    bench.write("twice.csv", format!("{header}{rows}{rows}"));
    bench.write("word.csv", format!("{header}1,b,1,\"esc\u{1b}[2J\nx\"\n"));
    let plain = ["--metric", "iops", "--by", "level", "--block", "block", "--baseline", "b"];
    for (file, change, code) in [
        ("table.csv", None, 0),
        ("table.csv", Some(("iops", "no-such-column")), 2),
        ("table.csv", Some(("b", "no-such-level")), 2),
        ("twice.csv", None, 2),
        ("word.csv", None, 2),
    ] {
        let mut arguments = vec!["judge", file];
        arguments
            .extend(plain.map(|word| change.filter(|(old, _)| *old == word).map_or(word, |(_, new)| new)));
        let said = on_a_terminal(&bench, &arguments).ended_with(code);
        assert_harmless(&said);
        let all = said.stdout + &said.stderr;
        assert!(all.contains("esc\\x1b[2J x"), "{file} {change:?}: {all}");
    }
}

#[test]
fn names_of_directories_cannot_steer_the_terminal() {
    let bench = Bench::new();
    let hostile = bench.runs().join("esc\u{1b}[2J");
    fs::create_dir_all(&hostile).unwrap();
    fs::write(hostile.join("plan.json"), "{").unwrap();
    for arguments in [&["list"][..], &["report", "latest"], &["report", "esc\u{1b}[2J"]] {
        let said = on_a_terminal(&bench, arguments);
        assert_harmless(&said);
        said.complains_of("esc\\x1b[2J");
    }
}
