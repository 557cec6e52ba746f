//! `diff` and `history`: one run that was made, and others that differ from it in what is recorded.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::Bench;

/// A bench with so many runs of `weekly`, a day apart; `change` is what differs in the summary of each.
fn bench_of(runs: usize, change: impl Fn(usize, &mut Value)) -> Bench {
    let bench = Bench::new();
    bench.write("a.sh", "sleep 0.01\n");
    bench.write("b.sh", "sleep 0.02\n");
    let line = [
        "compare",
        "sh a.sh",
        "sh b.sh",
        "-n",
        "a",
        "-n",
        "b",
        "--confidence",
        "95%",
        "--save",
        "weekly.toml",
    ];
    bench.iostone(&line).ended_with(0);
    let text = fs::read_to_string(bench.path("weekly.toml")).unwrap();
    bench.write("weekly.toml", text.replace("name = \"compare-command\"", "name = \"weekly\""));
    bench.iostone(&["run", "weekly.toml", "--set", "decide.blocks={ min = 6, max = 6 }"]).ended_with(0);
    let first = bench.only_run();
    for run in 0..runs {
        let path = bench.runs().join(format!("run-{run:03}"));
        fs::create_dir(&path).unwrap();
        for entry in fs::read_dir(&first).unwrap().map(Result::unwrap).filter(|e| e.path().is_file()) {
            fs::copy(entry.path(), path.join(entry.file_name())).unwrap();
        }
        edit(&path.join("plan.json"), |plan| plan["created_at"] = day(run).into());
        edit(&path.join("summary.json"), |summary| {
            summary["started_at"] = day(run).into();
            // A little noise, which repeats and is no change.
            scale(summary, 1.0 + 0.01 * ((run * 7 % 11) as f64 / 11.0 - 0.5));
            change(run, summary);
        });
    }
    fs::remove_dir_all(first).unwrap();
    bench
}

fn day(run: usize) -> String {
    format!("2026-{:02}-{:02}T03:00:00Z", 1 + run / 28, 1 + run % 28)
}

fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut document: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut document);
    fs::write(path, serde_json::to_vec(&document).unwrap()).unwrap();
}

/// Multiplies the wall times of all configurations.
fn scale(summary: &mut Value, factor: f64) {
    for configuration in summary["configurations"].as_array_mut().unwrap() {
        // Each run alike but for the factor, whatever this machine's noise was.
        let median = if configuration["name"] == "a" { 0.01 } else { 0.02 };
        configuration["figures"]["wall_time"]["median"] = (median * factor).into();
        for value in configuration["values"]["wall_time"].as_array_mut().unwrap() {
            *value = (value.as_f64().unwrap() * factor).into();
        }
    }
}

fn slower_on_another_kernel(run: usize, summary: &mut Value) {
    summary["machine"]["kernel"] = if run < 24 { "6.1.0-1" } else { "6.12.0-2" }.into();
    if run >= 24 {
        scale(summary, 1.2 + 0.01 * ((run * 5 % 7) as f64 / 7.0));
    }
}

#[test]
fn a_history_names_a_change_with_what_changed_there_and_writes_how_to_confirm_it() {
    let bench = bench_of(36, slower_on_another_kernel);
    let said = bench.iostone(&["history", "weekly"]).ended_with(0);
    assert!(said.stdout.contains("weekly: 2 changes in 2 figures, 2 for the worse."), "{said:?}");
    assert!(said.stdout.contains('▲') && said.stdout.contains('▇'), "{said:?}");
    let flat = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("run 25 of 36") && flat.contains("kernel 6.1.0-1 → 6.12.0-2"), "{flat}");
    let document =
        bench.iostone(&["history", "weekly.toml", "--json", "--metric", "wall_time"]).ended_with(0).json();
    assert_eq!(document["schema"], "iostone/history/1");
    assert_eq!(document["series"][0]["changes"][0]["circumstances"][0]["name"], "kernel");

    bench.iostone(&["history", "week", "--html", "history.html", "-q"]).ended_with(0);
    let page = fs::read_to_string(bench.path("history.html")).unwrap();
    assert!(page.contains("History of weekly") && page.contains("<svg") && page.contains("6.12.0-2"));

    let said = bench.iostone(&["history", "weekly", "--confirm", "confirm.toml"]).ended_with(0);
    assert!(said.stderr.contains("run it with `iostone run confirm.toml`"), "{said:?}");
    assert!(said.stderr.contains("99.81%") && said.stderr.contains("11 blocks"), "{said:?}");
    let confirming = fs::read_to_string(bench.path("confirm.toml")).unwrap();
    assert!(
        confirming.contains("kernel = \"6.1.0-1\"") && confirming.contains("\"state=6.1.0-1\""),
        "{confirming}"
    );
    bench.iostone(&["run", "confirm.toml", "--dry-run"]).ended_with(0);
}

#[test]
fn a_history_without_a_change_says_so_and_one_that_nothing_explains_says_that() {
    let bench = bench_of(30, |run, summary| {
        if run >= 20 {
            scale(summary, 0.7);
        }
        if run == 3 {
            summary["rehearsal"] = true.into();
        }
    });
    let said = bench.iostone(&["history", "weekly", "--configuration", "a"]).ended_with(0);
    let flat = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("1 change in 1 figure, 0 for the worse."), "{flat}");
    assert!(
        flat.contains("nothing recorded changed there") && flat.contains("1 run left out: a rehearsal"),
        "{flat}"
    );
    let said = bench.iostone(&["history", "weekly", "--confirm", "confirm.toml"]).ended_with(0);
    assert!(
        said.stderr.contains("cannot be brought back") && !bench.path("confirm.toml").exists(),
        "{said:?}"
    );

    let quiet = bench_of(14, |_, _| {});
    let said = quiet.iostone(&["history", "latest"]).ended_with(0);
    assert!(said.stdout.contains("weekly: no change in 2 figures over 14 runs of it."), "{said:?}");
    quiet
        .iostone(&["history", "weekly", "--confirm", "c.toml"])
        .ended_with(2)
        .complains_of("nothing changed");
    quiet.iostone(&["history", "monthly"]).ended_with(2).complains_of("there are runs of weekly");
    quiet
        .iostone(&["history", "weekly", "--metric", "iops"])
        .ended_with(2)
        .complains_of("has a figure `iops`");
}

#[test]
fn a_diff_tells_first_what_differs_and_gives_a_verdict_only_on_a_ground() {
    let bench = bench_of(9, |run, summary| {
        if run == 8 {
            summary["machine"]["kernel"] = "6.12.0-2".into();
            summary["configurations"][0]["mount_options"] = serde_json::json!(["noatime"]);
            scale(summary, 1.5);
        }
    });
    let said = bench.iostone(&["diff", "run-000", "last"]).ended_with(0);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert!(lines.len() <= 40, "more than a screen:\n{}", said.stdout);
    let at = |words: &str| {
        lines.iter().position(|line| line.contains(words)).unwrap_or_else(|| panic!("{words}: {said:?}"))
    };
    assert!(at("kernel") < at("a, ") && at("noatime") < at("a, "), "{said:?}");
    assert!(said.stdout.contains("differs: by the spread of 7 other runs"), "{said:?}");
    assert!(said.stdout.contains("b / a"), "{said:?}");

    let document = bench.iostone(&["diff", "last", "last-1", "--json"]).ended_with(0).json();
    assert_eq!(document["schema"], "iostone/diff/1");
    let rows = document["figures"].as_array().unwrap();
    let grounds: Vec<&str> = rows.iter().map(|row| row["answers"][0]["ground"].as_str().unwrap()).collect();
    assert_eq!(grounds, ["history", "history", "common-level"]);
    // The same blocks but for a factor: the ratio to the common level is the same.
    assert_eq!(rows[2]["answers"][0]["differs"], false);

    // Four runs know nothing of how far runs lie apart.
    let few = bench_of(4, |run, summary| scale(summary, if run > 1 { 3.0 } else { 1.0 }));
    let said = few.iostone(&["diff", "last-3..last"]).ended_with(0);
    assert!(
        said.stdout.contains("no verdict: the day may be all of it") && !said.stdout.contains(", differs:"),
        "{said:?}"
    );
}

#[test]
fn hosts_are_told_apart_by_their_runs_and_ranges_name_several() {
    let bench = bench_of(10, |run, summary| {
        summary["machine"]["host"] = if run % 2 == 0 { "st02" } else { "st04" }.into();
        scale(summary, if run % 2 == 0 { 1.0 } else { 1.4 });
    });
    let said = bench.iostone(&["diff", "last-20..last", "--by", "host"]).ended_with(0);
    assert!(
        said.stdout.contains("st02") && said.stdout.contains(", differs: by ranks of 10 runs"),
        "{said:?}"
    );
    let document = bench.iostone(&["diff", "last..last-2", "run-009", "--json"]).ended_with(0).json();
    let names: Vec<&str> = document["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["run-007", "run-008", "run-009"]);
    // The others have no trials of their own, but it is found.
    bench.iostone(&["show", "last-3"]).ended_with(2).complains_of("run-006/trials");
    bench.iostone(&["diff", "last"]).ended_with(2).complains_of("one run alone");
    bench.iostone(&["diff", "run-000", "run-002", "--by", "host"]).ended_with(2).complains_of("of one host");
    bench.iostone(&["diff", "run-000", "last-99"]).ended_with(2).complains_of("there are only 10 runs");
    bench.iostone(&["diff", "last-1", "last", "--metric", "iops"]).ended_with(2).complains_of("is no figure");
}
