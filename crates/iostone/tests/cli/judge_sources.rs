//! `judge`: what it makes of tables as people write them, of other tools' files and of its own exports, and what it suggests.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::earlier_runs::unpacked;
use crate::support::{Bench, Said, assert_text};

/// Eight rounds in random order, with what spreadsheets of Europe put into a table.
fn spreadsheet() -> String {
    let mut table = "\u{feff}round;order;scheduler;Latency (ms);host\n".to_owned();
    for round in 0..8u32 {
        let none_first = [0, 3, 4, 6].contains(&round);
        let wobble = f64::from(round % 5);
        for (place, none) in [none_first, !none_first].into_iter().enumerate() {
            let (name, figure) = if none { ("none", 4.40) } else { ("mq-deadline", 5.20) };
            let figure = format!("{:.3}", figure + 0.01 * wobble + 0.003 * place as f64).replace('.', ",");
            writeln!(table, "{round};{place};{name};{figure};db1").unwrap();
        }
    }
    table
}

const SPREADSHEET: &[&str] = &[
    "--metric",
    "Latency (ms)",
    "--by",
    "scheduler",
    "--baseline",
    "none",
    "--block",
    "round",
    "--order",
    "order",
];

fn judge(table: impl AsRef<[u8]>, arguments: &[&str]) -> Said {
    let bench = Bench::new();
    bench.write("table.csv", table);
    bench.iostone(&[&["judge", "table.csv"], arguments].concat())
}

/// The words of the line that is suggested, behind `iostone`.
fn suggested(said: &Said) -> Vec<String> {
    let line = said.stdout.lines().last().unwrap();
    let words = shell_words::split(line.trim()).unwrap();
    assert_eq!(words[0], "iostone", "{}", said.stdout);
    words[1..].to_vec()
}

/// Judges as suggested.
fn follow(bench: &Bench, said: &Said) -> Value {
    let words = suggested(said);
    let words: Vec<&str> = words.iter().map(String::as_str).chain(["--json"]).collect();
    bench.iostone(&words).ended_with(0).json()
}

#[test]
fn without_options_the_columns_and_a_line_to_type_are_printed() {
    let bench = Bench::new();
    bench.write("table.csv", spreadsheet());
    let said = bench.iostone(&["judge", "table.csv"]).ended_with(0);
    assert_text("judge_suggestion", &said.stdout);
    let judged = follow(&bench, &said);
    assert_eq!(judged["comparisons"][0]["verdict"], "slower", "{}", judged["headline"]);
    // What is given stays.
    let said = bench.iostone(&["judge", "table.csv", "--baseline", "mq-deadline"]).ended_with(0);
    assert!(suggested(&said).join(" ").contains("--baseline mq-deadline --block round"), "{}", said.stdout);
    assert_eq!(follow(&bench, &said)["comparisons"][0]["verdict"], "faster");
}

#[test]
fn a_column_that_changes_with_the_levels_is_told() {
    let said = judge("fs,bs,iops\next4,4k,100\nxfs,8k,120\next4,4k,101\nxfs,8k,119\n", &["--by", "fs"])
        .ended_with(0);
    let line = "--within         no; `bs` differs with `fs`: a ratio would be of both";
    assert!(said.stdout.contains(line), "{}", said.stdout);
}

#[test]
fn what_no_script_may_take_for_a_verdict_is_an_error() {
    for option in [&["--json"][..], &["--fail-if", "mq-deadline slower than none"]] {
        let said = judge(spreadsheet(), option).ended_with(2);
        assert_eq!(said.stdout, "");
        said.complains_of(
            "`--metric`, `--by` and `--baseline` are missing: `iostone judge table.csv --metric",
        );
    }
    let said = judge("name,note\na,b\nb,c\n", &[]).ended_with(2);
    said.complains_of("nothing to suggest for `--metric`, `--by` and `--baseline`: no column holds numbers");
    judge("iops\n1\n2\n", &["--metric", "iops"]).ended_with(2).complains_of("no column of levels varies");
}

#[test]
fn a_direction_that_is_not_known_is_suggested_as_a_guess() {
    let said = judge("level,score\na,1.5\nb,2.5\na,1.6\nb,2.4\n", &[]).ended_with(0);
    assert!(said.stdout.contains("a guess: `--better lower` where less is better"), "{}", said.stdout);
    assert!(suggested(&said).ends_with(&["--better".to_owned(), "higher".to_owned()]));
}

#[test]
fn tables_are_read_as_import_reads_them() {
    let plain = judge(spreadsheet(), &[SPREADSHEET, &["--json"]].concat()).ended_with(0).json();
    assert_eq!(plain["comparisons"][0]["verdict"], "slower");
    assert_eq!(plain["unit"], "seconds");
    let of = |table: String| {
        judge(table, &[SPREADSHEET, &["--json"]].concat()).ended_with(0).json()["comparisons"].clone()
    };
    assert_eq!(of(spreadsheet().replace(';', "\t")), plain["comparisons"]);
    assert_eq!(of(spreadsheet().replace(',', ".").replace(';', ",")), plain["comparisons"]);
    assert_eq!(of(format!("sep=;\n{}", spreadsheet().trim_start_matches('\u{feff}'))), plain["comparisons"]);
    // Each cell in the unit that fits it.
    let cells = spreadsheet().replace(" (ms)", "").replace(";db1", " ms;db1").replace("4,400 ms", "4400 us");
    let arguments = [&["--metric", "Latency"], &SPREADSHEET[2..], &["--json"]].concat();
    let carried = judge(cells, &arguments).ended_with(0).json();
    assert_eq!(carried["comparisons"][0]["verdict"], "slower");
    assert_eq!(carried["unit"], "seconds");
    assert_eq!(carried["configurations"][0]["median"], plain["configurations"][0]["median"]);
}

#[test]
fn fios_thousands_and_signs_of_thousands_are_read() {
    let table = "mode,iops\na,44.7k\na,44.9k\nb,980\nb,990\na,\nb,-\n";
    let arguments = ["--metric", "iops", "--by", "mode", "--baseline", "a"];
    let said = judge(table, &[&arguments[..], &["--json"]].concat()).ended_with(0);
    assert_eq!(said.json()["configurations"][0]["median"], 44_800.0);
    assert_eq!(said.json()["comparisons"][0]["unpaired"]["sizes"], json!([2, 2]));
    said.complains_of("2 rows without a figure in `iops` left out");
    let table = "mode;iops\na;1.234,5\na;1.240,5\nb;2.468,5\nb;2.470,5\n";
    let judged = judge(table, &[&arguments[..], &["--json"]].concat()).ended_with(0).json();
    assert_eq!(judged["configurations"][0]["median"], 1_237.5);
}

#[test]
fn levels_are_compared_within_combinations_of_other_factors() {
    let mut table = "round,order,fs,size,mount,iops\n".to_owned();
    for round in 0..8u32 {
        let mut place = 0;
        for (fs, size) in [("ext4", "4k"), ("ext4", "1M"), ("xfs", "4k"), ("xfs", "1M")] {
            let noatime_first = [0, 3, 4, 6].contains(&round) != (fs == "xfs");
            for noatime in [noatime_first, !noatime_first] {
                let (mount, figure) = if noatime { ("noatime", 1250.0) } else { ("relatime", 1000.0) };
                writeln!(table, "{round},{place},{fs},{size},{mount},{}", figure + f64::from(round % 3))
                    .unwrap();
                place += 1;
            }
        }
    }
    let arguments = ["--metric", "iops", "--by", "mount", "--baseline", "relatime", "--block", "round"];
    let arguments = [&arguments[..], &["--order", "order", "--within", "fs", "--within", "size"]].concat();
    let judged = judge(&table, &[&arguments[..], &["--json"]].concat()).ended_with(0).json();
    let comparisons = judged["comparisons"].as_array().unwrap();
    let strata: Vec<&Value> = comparisons.iter().map(|one| &one["stratum"]).collect();
    assert_eq!(strata, ["fs=ext4, size=4k", "fs=ext4, size=1M", "fs=xfs, size=4k", "fs=xfs, size=1M"]);
    assert!(comparisons.iter().all(|one| one["verdict"] == "faster"), "{judged:#}");
    assert_eq!(
        judged["configurations"][0]["levels"],
        json!({ "fs": "ext4", "mount": judged["configurations"][0]["levels"]["mount"], "size": "4k" })
    );
    judge(&table, &[&arguments[..], &["--within", "fs"]].concat())
        .ended_with(2)
        .complains_of("`--within` and `--within` name the same column, `fs`");
    // Without one of them its values would stand in one block.
    judge(&table, &arguments[..arguments.len() - 2]).ended_with(2).complains_of("`--within COLUMN`");
    let bench = Bench::new();
    bench.write("table.csv", &table);
    let said = bench.iostone(&["judge", "table.csv", "--by", "mount"]).ended_with(0);
    assert_eq!(follow(&bench, &said)["comparisons"].as_array().unwrap().len(), 4);
}

/// Ten files of fio as it writes them, `b` a fifth quicker than `a`.
fn ten_files(bench: &Bench) -> Vec<String> {
    let mut names = Vec::new();
    for (setting, factor) in [("a", 1.0), ("b", 1.2)] {
        for run in 1..=5u32 {
            let iops = 1000.0 * factor * (1.0 + 0.003 * f64::from(run * 7 % 5));
            let read = json!({ "io_bytes": 4_096_000, "bw": iops * 4.0, "bw_bytes": iops * 4096.0, "iops": iops, "runtime": 1000,
                "total_ios": 1000, "lat_ns": { "min": 1, "max": 9, "mean": 5.0, "stddev": 1.0, "N": 1000 } });
            let document = json!({ "fio version": "fio-3.33", "timestamp": 1, "time": "Fri Nov 27 10:00:00 2026",
                "global options": {}, "jobs": [{ "jobname": "j", "error": 0, "job options": { "rw": "read", "bs": "4k" },
                "read": read, "write": { "io_bytes": 0, "bw": 0, "iops": 0.0, "runtime": 0, "total_ios": 0 } }] });
            let name = format!("{setting}-{run}.json");
            bench.write(&name, serde_json::to_string_pretty(&document).unwrap());
            names.push(name);
        }
    }
    names
}

#[test]
fn ten_files_of_fio_are_one_line() {
    let bench = Bench::new();
    let names = ten_files(&bench);
    let files: Vec<&str> = std::iter::once("judge").chain(names.iter().map(String::as_str)).collect();
    let options = ["--by", "{setting}-{run}.json", "--metric", "iops", "--baseline", "a"];
    let judged = bench.iostone(&[&files[..], &options].concat()).ended_with(0);
    assert!(
        judged.stdout.starts_with("b delivers") || judged.stdout.starts_with("operations per second of b is"),
        "{}",
        judged.stdout
    );
    assert!(judged.stdout.contains("p = 0.008"), "{}", judged.stdout);
    // Where the number is that of a round and somebody vouches for its order there is a verdict, from six rounds on.
    let options =
        ["--by", "{setting}-{block}.json", "--metric", "iops", "--baseline", "a", "--randomised", "--json"];
    let judged = bench.iostone(&[&files[..], &options].concat()).ended_with(0).json();
    assert_eq!(judged["comparisons"][0]["verdict"], "undecided");
    assert_eq!(judged["comparisons"][0]["blocks"], 5);
    // Names that follow the usual pattern need no option to be understood.
    let said = bench.iostone(&files).ended_with(0);
    let line = suggested(&said).join(" ");
    assert!(line.contains("--metric iops --by {setting}-{run}.json --baseline a"), "{line}");
    assert_eq!(follow(&bench, &said)["comparisons"][0]["level"], "b");
    // A file that cannot be read would change the answer.
    bench.write("b-5.json", "hello\n");
    let said = bench.iostone(
        &[&files[..], &["--by", "{setting}-{run}.json", "--metric", "iops", "--baseline", "a"]].concat(),
    );
    said.ended_with(2).complains_of(
        "1 of 10 files could not be read, so that nothing is judged; see the warnings above. `iostone import",
    );
}

#[test]
fn an_export_is_judged_as_its_run_was() {
    let bench = unpacked();
    let mut tried = 0;
    for run in bench.run_directories() {
        let name = run.file_name().unwrap().to_str().unwrap();
        let report = bench.iostone(&["report", name, "--format", "json"]).ended_with(0).json();
        let verdicts = &report["verdicts"];
        // An import has none.
        let Ok(plan) = std::fs::read_to_string(run.join("plan.json")) else { continue };
        let experiment = &serde_json::from_str::<Value>(&plan).unwrap()["experiment"];
        let curve = verdicts["curves"].as_array().is_some_and(|curves| !curves.is_empty());
        if verdicts.is_null() || verdicts["comparisons"][0]["verdict"].is_null() || curve {
            continue;
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let percent = |value: &Value| format!("{}%", 100.0 * value.as_f64().unwrap());
        let by = text(&experiment["baseline_factor"]);
        let mut options: Vec<String> = Vec::new();
        for (option, value) in [
            ("--metric", text(&verdicts["metric"])),
            ("--by", by.clone()),
            ("--baseline", text(&verdicts["baseline"])),
            ("--better", text(&verdicts["better"])),
            ("--margin", percent(&verdicts["margin"])),
            ("--confidence", percent(&verdicts["confidence"])),
            ("--budget", verdicts["blocks"]["maximum"].to_string()),
        ] {
            options.extend([option.to_owned(), value]);
        }
        let levels = verdicts["configurations"][0]["levels"].as_object().unwrap();
        for factor in levels.keys().filter(|factor| **factor != by) {
            options.extend(["--within".to_owned(), factor.clone()]);
        }
        let options: Vec<&str> =
            options.iter().map(String::as_str).chain(["--randomised", "--json"]).collect();
        for format in ["csv", "json"] {
            let file = format!("{name}.{format}");
            bench.iostone(&["export", name, "--format", format, "--output", &file]).ended_with(0);
            let judged = bench.iostone(&[&["judge", &file], &options[..]].concat()).ended_with(0).json();
            for expected in verdicts["comparisons"].as_array().unwrap() {
                let is_same =
                    |one: &&Value| one["level"] == expected["level"] && one["stratum"] == expected["stratum"];
                let found =
                    judged["comparisons"].as_array().unwrap().iter().find(is_same).unwrap_or_else(|| {
                        panic!("{file} {options:?}: {expected:#} in {:#}", judged["comparisons"])
                    });
                for field in ["verdict", "ratio"] {
                    assert_eq!(found[field], expected[field], "{file}: {field} of {}", expected["level"]);
                }
            }
        }
        tried += 1;
    }
    assert!(tried >= 5, "only {tried} runs");
}
