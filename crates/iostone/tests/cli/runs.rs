//! `run` in a directory, which needs no root, and what `list`, `show` and `report` make of it.

mod another_baseline;
mod conditioning;
mod damage;
mod interrupt;
mod pilots;
mod shapes;
mod superblock;
mod sweeps;

use std::fs;

use serde_json::Value;

use crate::support::{Bench, FLUSH_PRICE, Said, masked};

/// An experiment on a program that is over at once.
pub(crate) const PROGRAM: &str = r#"name = "program"
question = "Is <a> different from <b>?"

[stack]
volume = { kind = "directory" }

[[factor]]
name = "which"
levels = { a = { workload.env = { WHICH = "a" } }, b = { workload.env = { WHICH = "b" } } }

[workload]
kind = "command"
argv = ["sh", "-c", "echo $WHICH in $IOSTONE_CONFIGURATION"]

[decide]
metric = "wall_time"
baseline = "a"
blocks = { min = 6, max = 6 }

[trials]
settle = "1ms"
warmups = 0

# What else goes on on the machine that tests run on is no matter here.
[gates]
steal = "off"
throttling = "off"
served = "off"
idle = "off"
clock = "off"
"#;

/// The flush-price experiment, each trial over within a tenth of a second.
pub(crate) fn small_io() -> String {
    let gates = PROGRAM.split("[trials]").nth(1).unwrap();
    let text = FLUSH_PRICE
        .replace("size = \"64MiB\"", "size = \"1MiB\"")
        .replace("ramp_time = \"500ms\"", "ramp_time = \"0s\"")
        .replace("runtime = \"5s\"", "runtime = \"50ms\"")
        .replace("max = 40", "max = 6");
    format!("{text}\n[trials]{gates}")
}

/// Runs an experiment to its end.
pub(crate) fn finished(text: &str) -> Bench {
    let bench = Bench::new();
    bench.write("experiment.toml", text);
    bench.iostone(&["run", "experiment.toml"]).ended_with(0);
    bench.assert_undone();
    bench
}

#[test]
fn a_finished_run_can_be_listed_shown_and_reported() {
    let bench = finished(&small_io());
    let run = bench.only_run();
    let name = run.file_name().unwrap().to_str().unwrap();

    let listed = bench.iostone(&["list"]).ended_with(0);
    assert!(listed.stdout.starts_with(&format!("{name}  12 trials  cached faster ")), "{}", listed.stdout);
    assert_eq!(listed.stderr, "");
    let listed = bench.iostone(&["list", "--json"]).ended_with(0).json();
    assert_eq!(listed[0]["directory"], name);
    assert_eq!((&listed[0]["trials"], &listed[0]["finished"]), (&12.into(), &true.into()));
    assert!(listed[0]["headline"].as_str().is_some_and(|headline| headline.contains("synced")));

    let shown = bench.iostone(&["show"]).ended_with(0).stdout;
    assert!(shown.contains("What does making every write durable cost in this directory?"), "{shown}");
    assert_eq!(shown.lines().filter(|line| line.contains("synced") || line.contains("cached")).count(), 12);
    let record = bench.iostone(&["show", name, "--json"]).ended_with(0).json();
    assert_eq!(record["trials"].as_array().unwrap().len(), 12);
    assert_eq!(record["blocks"].as_array().unwrap().len(), 6);
    // By a part of its name, by its path, and from elsewhere.
    let path = run.display().to_string();
    for named in ["flush-price", &path, "latest", &name[name.len() - 8..]] {
        assert!(bench.iostone(&["show", named]).ended_with(0).stdout == shown, "`{named}` is another run");
    }

    let trial = bench.iostone(&["show", "--trial", "3"]).ended_with(0).stdout;
    for heading in ["trial 3: ", "\n  iops ", "\nread back\n", "\nserved\n", "\ngates\n", "\nfacts\n"] {
        assert!(trial.contains(heading), "`{heading}` is not in:\n{trial}");
    }
    let trial = bench.iostone(&["show", "--trial", "3", "--json"]).ended_with(0).json();
    assert_eq!((&trial["number"], &trial["workload"]["kind"]), (&3.into(), &"io".into()));
    let missing = bench.iostone(&["show", "--trial", "99"]).ended_with(2);
    assert_eq!(missing.stderr, format!("error: run {name} has no trial 99; it has 12\n"));

    report_in_all_formats(&bench, &run);
    report_and_audit_agree(&bench, name);
}

/// One judge: what the report of a run says is doubtful is what the audit says, in its words, once.
fn report_and_audit_agree(bench: &Bench, name: &str) {
    let audit = bench.iostone(&["audit", name, "--json"]).ended_with(0).json();
    let report = bench.iostone(&["report", "--format", "json"]).ended_with(0).json();
    assert_eq!(report["audit"], audit);
    let text = bench.iostone(&["report", "--full"]).ended_with(0).stdout;
    let findings = audit["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["rule"] == "not-flushed"), "{audit}");
    for finding in findings {
        let (rule, severity) = (finding["rule"].as_str().unwrap(), finding["severity"].as_str().unwrap());
        assert_eq!(text.matches(&format!("{rule} ({severity}): ")).count(), 1, "{rule} in:\n{text}");
        assert!(!text.contains(&format!("! {rule}: ")), "{rule} is told as a flag too:\n{text}");
        let flags = report["verdicts"]["flags"].as_array().unwrap();
        let is_told =
            |flag: &Value| (&flag["name"], &flag["severity"]) == (&finding["rule"], &finding["severity"]);
        assert!(flags.iter().any(is_told), "{rule} in {flags:?}");
    }
}

fn report_in_all_formats(bench: &Bench, run: &std::path::Path) {
    let text = bench.iostone(&["report"]).ended_with(0).stdout;
    assert!(text.contains("vs baseline") && text.contains("synced") && text.contains("12 trials"), "{text}");
    let json = bench.iostone(&["report", "--format", "json"]).ended_with(0).json();
    assert!(json.to_string().contains("What does making every write durable cost"));
    let html = bench.iostone(&["report", "--format", "html"]).ended_with(0).stdout;
    assert!(html.contains("What does making every write durable cost in this directory?"));
    for outside in
        ["src=\"http", "href=\"http", "src=\"//", "href=\"//", "url(http", "@import", "<script src"]
    {
        assert!(!html.contains(outside), "the page fetches something: `{outside}`");
    }
    assert_eq!(fs::read_to_string(run.join("report.html")).unwrap(), html);
    bench.iostone(&["report", "--output", "report.txt"]).ended_with(0);
    assert_eq!(fs::read_to_string(bench.path("report.txt")).unwrap(), text);
    let said = bench.iostone(&["report", "--output", "missing/report.txt"]).ended_with(2);
    assert_eq!(said.stderr, "error: open `missing/report.txt`: No such file or directory (os error 2)\n");
    let said = bench.iostone(&["report", "--format", "pdf"]).ended_with(2);
    said.complains_of("[possible values: text, html, json]");
}

#[test]
fn a_run_tells_what_it_does_on_stderr_and_what_it_found_on_stdout() {
    let bench = Bench::new();
    bench.write("experiment.toml", PROGRAM);
    let said = bench.iostone(&["run", "experiment.toml"]).ended_with(0);
    let stderr = masked(&said.stderr, &bench, "program");
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines.first(), Some(&"program in runs/[date]-program-[id]"), "{stderr}");
    assert_eq!(lines.last(), Some(&"report: runs/[date]-program-[id]/report.html"), "{stderr}");
    assert_eq!(lines.iter().filter(|line| line.starts_with("block ")).count(), 12, "{stderr}");
    assert!(said.stdout.contains("6 blocks (12 trials)"), "{}", said.stdout);
    // What the program printed is kept beside the record.
    let run = bench.only_run();
    let printed = fs::read_to_string(run.join("trials/000001/raw/stdout.txt")).unwrap();
    assert!(printed == "a in a\n" || printed == "b in b\n", "{printed}");
    for name in ["experiment.toml", "plan.json", "environment.json", "journal.jsonl", "verdicts.json"] {
        assert!(run.join(name).exists(), "{name}");
    }
    assert_eq!(fs::read_to_string(run.join("experiment.toml")).unwrap(), PROGRAM);
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("Is &lt;a&gt; different") || page.contains("Is &#60;a&#62; different"));
}

#[test]
fn quiet_leaves_the_findings_alone() {
    let bench = Bench::new();
    bench.write("experiment.toml", PROGRAM);
    let said = bench.iostone(&["run", "experiment.toml", "--quiet"]).ended_with(0);
    assert_eq!(said.stderr, "");
    assert!(
        said.stdout.contains("baseline") && !said.stdout.contains("6 blocks (12 trials)"),
        "{}",
        said.stdout
    );
}

#[test]
fn the_variable_for_quiet_takes_what_people_write() {
    let bench = Bench::new();
    for (value, quiet) in [("1", true), ("true", true), ("0", false), ("false", false), ("", false)] {
        let said = Said::from(bench.command(&["list"]).env("IOSTONE_QUIET", value).output().unwrap());
        assert_eq!(said.ended_with(0).stderr.is_empty(), quiet, "{value}");
    }
}

#[test]
fn json_on_stdout_is_one_document() {
    let bench = Bench::new();
    bench.write("experiment.toml", PROGRAM);
    let verdicts = bench.iostone(&["run", "experiment.toml", "--json"]).ended_with(0).json();
    assert_eq!(verdicts["schema"], "iostone/verdicts/1");
    assert_eq!((&verdicts["metric"], &verdicts["baseline"]), (&"wall_time".into(), &"a".into()));
    let written: Value =
        serde_json::from_str(&fs::read_to_string(bench.only_run().join("verdicts.json")).unwrap()).unwrap();
    assert_eq!(written, verdicts);
}

#[test]
fn a_rehearsal_takes_one_block_and_claims_nothing() {
    let bench = Bench::new();
    bench.write("experiment.toml", FLUSH_PRICE);
    // Neighbours of a busy machine are not what is tested.
    let ungated = ["--set", "gates.steal=off", "--set", "gates.idle=off", "--set", "gates.throttling=off"];
    let rehearsal = [&["run", "experiment.toml", "--quick", "--json"][..], &ungated].concat();
    let said = bench.iostone(&rehearsal).ended_with(0);
    let comparison = &said.json()["comparisons"][0];
    assert!(matches!(comparison["verdict"].as_str(), None | Some("undecided")), "{comparison:#}");
    assert_eq!(said.json()["blocks"]["complete"], 1);
    let text = bench.iostone(&["report"]).ended_with(0).stdout;
    for word in ["faster than", "slower than", "are equivalent"] {
        assert!(!text.contains(word), "`{word}` is in:\n{text}");
    }
}

#[test]
fn a_noise_run_holds_the_baseline_against_itself() {
    let bench = Bench::new();
    bench.write("experiment.toml", PROGRAM.replace("max = 6", "max = 12"));
    let said = bench.iostone(&["run", "experiment.toml", "--aa", "--json"]).ended_with(0).json();
    assert_eq!((&said["comparisons"][0]["level"], &said["baseline"]), (&"B".into(), &"A".into()));
    assert!(said["noise"]["sigma"].as_f64().is_some_and(|sigma| sigma >= 0.0), "{said:#}");
    let record = bench.iostone(&["show", "--json"]).ended_with(0).json();
    let environments: Vec<&Value> = record["plan"]["experiment"]["configurations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|configuration| &configuration["workload"]["env"]["WHICH"])
        .collect();
    assert_eq!(environments, ["a", "a"]);
}

#[test]
fn two_runs_at_once_do_not_disturb_each_other() {
    let bench = Bench::new();
    bench.write("experiment.toml", PROGRAM);
    let mut children: Vec<_> = (0..2)
        .map(|_| {
            let mut command = bench.command(&["run", "experiment.toml", "--quiet", "--json"]);
            command.stdout(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    let codes: Vec<Option<i32>> = children.iter_mut().map(|child| child.wait().unwrap().code()).collect();
    assert_eq!(codes, [Some(0), Some(0)]);
    assert_eq!(bench.run_directories().len(), 2);
    bench.assert_undone();
    let listed = bench.iostone(&["list", "--json"]).ended_with(0).json();
    assert!(listed.as_array().unwrap().iter().all(|run| run["trials"] == 12 && run["finished"] == true));
}
