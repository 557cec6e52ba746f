//! Many runs: summaries, the index, filters of `list`, and exports of one run and of all.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::runs::PROGRAM;
use crate::support::Bench;

/// Two runs of one experiment, of which the first is tagged, and an import.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("experiment.toml", PROGRAM);
    bench.iostone(&["run", "experiment.toml", "--tag", "nightly", "--tag", "v2.1"]).ended_with(0);
    bench.iostone(&["run", "experiment.toml", "--set", "trials.seed=7"]).ended_with(0);
    bench.write("figures.csv", "load,iops\na,1\nb,2\n");
    bench.iostone(&["import", "figures.csv", "--name", "=table"]).ended_with(0);
    bench
}

fn summary(run: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(run.join("summary.json")).unwrap()).unwrap()
}

/// Makes the files of a run as old as those of nobody, and another text of the same length: who reads them would notice.
fn spoil(path: &Path) {
    let length = fs::metadata(path).unwrap().len();
    fs::write(path, vec![b'x'; usize::try_from(length).unwrap()]).unwrap();
}

#[test]
fn runs_are_listed_newest_first_and_found_by_what_they_are() {
    let bench = bench();
    let runs = bench.run_directories();
    let of_program: Vec<Value> =
        runs.iter().map(|run| summary(run)).filter(|one| one["experiment"] == "program").collect();
    assert_eq!(of_program.len(), 2);
    // A seed makes no other experiment.
    assert_eq!(of_program[0]["experiment_digest"], of_program[1]["experiment_digest"]);
    let host = of_program[0]["machine"]["host"].as_str().unwrap().to_owned();
    let kernel = of_program[0]["machine"]["kernel"].as_str().unwrap().to_owned();

    let lines = |arguments: &[&str]| -> Vec<String> {
        let all: Vec<&str> = ["list"].into_iter().chain(arguments.iter().copied()).collect();
        bench.iostone(&all).ended_with(0).stdout.lines().map(str::to_owned).collect()
    };
    let all = lines(&[]);
    assert_eq!(all.len(), 3, "{all:?}");
    assert!(all[0].contains("2 observations  imported from 1 file of csv"), "{all:?}");
    assert!(all[2].ends_with("[nightly, v2.1]"), "{all:?}");
    for (arguments, expected) in [
        (&["--experiment", "program"][..], 2),
        (&["--experiment", "*ROG*"], 2),
        (&["--experiment", "=*"], 1),
        (&["--tag", "nightly", "--tag", "v2*"], 1),
        (&["--tag", "weekly"], 0),
        (&["--host", &host, "--kernel", &kernel], 2),
        (&["--host", "elsewhere"], 0),
        (&["--since", "1h"], 3),
        (&["--until", "2026-01-01"], 0),
        (&["--since", "2020-01-01", "--until", "1h"], 0),
    ] {
        assert_eq!(lines(arguments).len(), expected, "{arguments:?}");
    }
    let listed = bench.iostone(&["list", "--json", "--tag", "nightly"]).ended_with(0).json();
    let verdict = listed[0]["comparisons"][0]["verdict"].as_str().unwrap();
    assert!(!lines(&["--verdict", verdict]).is_empty());
    assert_eq!((&listed[0]["state"], &listed[0]["finished"]), (&"finished".into(), &true.into()));
    assert_eq!(listed[0]["tags"], serde_json::json!(["nightly", "v2.1"]));
    bench.iostone(&["list", "--verdict", "better"]).ended_with(2).complains_of("expected one of faster");
    bench.iostone(&["list", "--since", "yesterday"]).ended_with(2).complains_of("how long ago (12h, 7d, 4w)");
    bench.iostone(&["run", "experiment.toml", "--tag", "two words"]).ended_with(2).complains_of("a tag has");
    bench.iostone(&["run", "--resume", "latest", "--tag", "late"]).ended_with(2);
}

#[test]
fn the_index_answers_for_runs_that_are_as_they_were() {
    let bench = bench();
    let first = bench.iostone(&["list", "--json"]).ended_with(0).json();
    let index = bench.path("state/index.sqlite3");
    assert!(fs::read(&index).unwrap().starts_with(b"SQLite format 3\0"));
    let run = bench.run_directories().into_iter().find(|run| run.join("trials").exists()).unwrap();
    // Trials are no business of a list.
    for trial in fs::read_dir(run.join("trials")).unwrap() {
        spoil(&trial.unwrap().path().join("trial.json"));
    }
    assert_eq!(bench.iostone(&["list", "--json"]).ended_with(0).json(), first);
    for spoilt in ["", "no index", "SQLite format 3\0 and what follows is none at all"] {
        fs::write(&index, spoilt).unwrap();
        let said = bench.iostone(&["list", "--json"]).ended_with(0);
        assert_eq!((said.json(), said.stderr.as_str()), (first.clone(), ""), "{spoilt:?}");
    }
    let without = |value: &str| {
        let said = bench.command(&["list", "--json"]).env("IOSTONE_INDEX", value).output().unwrap();
        serde_json::from_slice::<Value>(&said.stdout).unwrap()
    };
    assert_eq!(without("off"), first);
    // What somebody else wrote stays, though it is no index.
    let notes = bench.path("notes");
    fs::write(&notes, "not yours").unwrap();
    assert_eq!(without(&notes.display().to_string()), first);
    assert_eq!(fs::read(&notes).unwrap(), b"not yours");
    assert_eq!(without("/proc/nowhere/index"), first);
    // A run that changes is read again, and one that is gone is forgotten.
    spoil(&run.join("plan.json"));
    let said = bench.iostone(&["list", "--json"]).ended_with(0);
    said.complains_of("plan.json` is damaged");
    assert_eq!(said.json().as_array().unwrap().len(), 2);
    fs::remove_dir_all(&run).unwrap();
    let said = bench.iostone(&["list", "--json"]).ended_with(0);
    assert_eq!((said.json().as_array().unwrap().len(), said.stderr.as_str()), (2, ""));
}

#[test]
fn what_is_exported_is_judged_as_the_run_was() {
    let bench = Bench::new();
    // Names that a spreadsheet would run, and one that holds what parts cells.
    let text = PROGRAM
        .replace("levels = { a = ", "levels = { \"=a;1\" = ")
        .replace("}, b = ", "}, \"-b\" = ")
        .replace("baseline = \"a\"", "baseline = \"=a;1\"");
    bench.write("experiment.toml", text);
    bench.iostone(&["run", "experiment.toml"]).ended_with(0);
    let report = bench.iostone(&["report", "--format", "json"]).ended_with(0).json();
    let ratio = &report["verdicts"]["comparisons"][0]["ratio"];
    for format in ["csv", "csv-wide"] {
        let exported = bench.iostone(&["export", "--format", format]).ended_with(0).stdout;
        assert!(exported.contains("'=a;1") && exported.contains("'-b"), "{exported}");
        bench.write("exported.csv", &exported);
        let judged = bench.iostone(&[
            "judge",
            "exported.csv",
            "--metric",
            "wall_time",
            "--by",
            "which",
            "--baseline",
            "=a;1",
            "--block",
            "block",
            "--order",
            "order",
            "--randomised",
            "--json",
        ]);
        let judged = judged.ended_with(0).json();
        assert_eq!(&judged["comparisons"][0]["ratio"], ratio, "{format}");
        assert_eq!(judged["comparisons"][0]["level"], "-b", "{format}");
    }
}

#[test]
fn all_runs_that_are_meant_are_exported_below_their_folders() {
    let bench = bench();
    bench.iostone(&["export", "--all"]).ended_with(2).complains_of("--output");
    bench.iostone(&["export", "--tag", "nightly"]).ended_with(2).complains_of("need `--all`");
    bench.iostone(&["export", "latest", "--all", "--output", "x"]).ended_with(2);
    bench
        .iostone(&["export", "--format", "parquet"])
        .ended_with(2)
        .complains_of("name a file with `--output`");
    let export = |arguments: &[&str]| {
        let all: Vec<&str> = ["export", "--all"].into_iter().chain(arguments.iter().copied()).collect();
        bench.iostone(&all).ended_with(0).stderr
    };
    assert!(export(&["--format", "parquet", "--output", "all"]).contains("wrote 3 files below all"));
    // Once more: its own files are replaced.
    export(&["--format", "parquet", "--output", "all", "--experiment", "program"]);
    let folder = bench.path("all/experiment=%3Dtable/host=__HIVE_DEFAULT_PARTITION__");
    let file = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    assert!(file.extension().is_some_and(|ending| ending == "parquet"));
    assert!(fs::read(file).unwrap().starts_with(b"PAR1"));
    export(&["--format", "otava", "--output", "history", "--experiment", "program"]);
    let host = fs::read_dir(bench.path("history/experiment=program")).unwrap().next().unwrap().unwrap();
    let history = fs::read_to_string(host.path().join("history.csv")).unwrap();
    assert_eq!(history.lines().count(), 3, "{history}");
    // A file of somebody else's is not replaced, and a run that cannot be read takes nothing from the others.
    fs::write(bench.path("all/mine"), "").unwrap();
    let run = bench.run_directories().into_iter().find(|run| run.join("trials").exists()).unwrap();
    let trial = fs::read_dir(run.join("trials")).unwrap().next().unwrap().unwrap().path();
    fs::write(trial.join("trial.json"), "{").unwrap();
    let said = bench.iostone(&["export", "--all", "--format", "go", "--output", "go"]).ended_with(2);
    said.complains_of("1 of 3 runs could not be exported");
    said.complains_of("wrote 2 files below go");
}

#[test]
fn every_plot_of_a_report_is_a_file_of_its_own() {
    let bench = bench();
    let run = bench.run_directories().into_iter().find(|run| run.join("trials").exists()).unwrap();
    let run = run.to_str().unwrap();
    bench.iostone(&["export", run, "--format", "svg"]).ended_with(2).complains_of("name their directory");
    bench.iostone(&["export", run, "--format", "svg", "--output", "plots"]).ended_with(0);
    let plots: Vec<String> = fs::read_dir(bench.path("plots"))
        .unwrap()
        .map(|plot| plot.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert!(plots.contains(&"forest.svg".to_owned()) && plots.contains(&"order.svg".to_owned()), "{plots:?}");
    for plot in plots {
        let svg = fs::read_to_string(bench.path("plots").join(plot)).unwrap();
        assert!(svg.starts_with("<?xml") && svg.trim_end().ends_with("</svg>"));
        assert!(!svg.contains("var(--") && !svg.contains("light-dark"), "{svg}");
    }
    bench.iostone(&["export", "latest", "--format", "svg", "--output", "none"]).ended_with(2);
}
