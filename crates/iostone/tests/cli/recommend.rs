//! `recommend`: the published job, its mistake refused, pages and documents, and what cannot be asked.

use std::fs;

use serde_json::Value;

use crate::support::Bench;

const JOB: [&str; 7] = ["recommend", "--write", "220GiB", "--within", "25min", "--date", "2017-07"];

fn asked<'a>(more: &[&'a str]) -> Vec<&'a str> {
    JOB.iter().copied().chain(more.iter().copied()).collect()
}

/// The words of a `predict` command as it was printed, and `--json`.
fn predicted(bench: &Bench, choice: &Value) -> Value {
    let words: Vec<&str> = choice["predict"].as_str().unwrap().split(' ').skip(1).chain(["--json"]).collect();
    bench.iostone(&words).ended_with(0).json()
}

#[test]
fn the_published_job_is_done_for_less_and_the_printed_command_shows_it() {
    let bench = Bench::new();
    let found = bench.iostone(&asked(&["--json"])).ended_with(0).json();
    assert_eq!((&found["is_met"], &found["schema"]), (&true.into(), &"iostone/recommendation/1".into()));
    // c4.4xlarge on demand in us-east-1, without its volume.
    assert!(found["chosen"]["usd_per_hour"].as_f64().unwrap() < 0.796, "{found}");
    for choice in [&found["chosen"], &found["runner_up"]] {
        let seconds = predicted(&bench, choice)["seconds"].as_f64().unwrap();
        assert!(seconds <= 1500.0, "{choice}");
        assert!((seconds / choice["seconds"].as_f64().unwrap() - 1.0).abs() < 1e-6, "{choice}");
    }
    for miss in found["misses"].as_array().unwrap() {
        assert!(predicted(&bench, miss)["seconds"].as_f64().unwrap() > 1500.0, "{miss}");
    }
}

#[test]
fn a_rate_in_the_long_run_is_shown_by_its_command_too() {
    let bench = Bench::new();
    let words =
        ["recommend", "--iops", "20000", "--bs", "16KiB", "--size", "100GiB", "--family", "m*", "--json"];
    let found = bench.iostone(&words).ended_with(0).json();
    let shown = predicted(&bench, &found["chosen"]);
    assert!(shown["ios_per_second"].as_f64().unwrap() >= 20_000.0 * (1.0 - 1e-6), "{shown}");
    assert!(found["chosen"]["instance"].as_str().unwrap().starts_with('m'));
}

#[test]
fn the_published_mistake_is_refused_for_its_link() {
    let bench = Bench::new();
    let said = bench.iostone(&asked(&["--family", "c4.large"])).ended_with(1);
    let text = said.stdout.replace('\u{a0}', " ");
    assert!(text.starts_with("Nothing in the catalogue does it. The fastest there is: c4.large"), "{text}");
    assert!(text.contains("the link"), "{text}");
}

#[test]
fn the_answer_comes_first_and_what_was_left_out_is_named_where_asked() {
    let bench = Bench::new();
    let said = bench.iostone(&asked(&["--family", "c4"])).ended_with(0);
    let text = said.stdout.replace('\u{a0}', " ");
    assert!(text.starts_with("c4."), "{text}");
    for part in ["Runner-up: ", "What each further dollar buys", "iostone predict --instance c4.", "Prices"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let brief = bench.iostone(&asked(&[])).ended_with(0).stdout;
    let whole = bench.iostone(&asked(&["--all"])).ended_with(0).stdout;
    assert!(whole.len() > brief.len() + 1000);
}

#[test]
fn rows_of_the_user_count() {
    let bench = Bench::new();
    let rows = "[instance.\"c4.4xlarge\"]\nusd_per_hour = { us-east-1 = 0.0001 }\n";
    let file = bench.write("rows.toml", rows);
    let mut command = bench.command(&asked(&["--json"]));
    let output = command.env("IOSTONE_CATALOGUE", bench.path(file)).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{text}"));
    assert_eq!(found["chosen"]["instance"], "c4.4xlarge", "{found}");
}

#[test]
fn a_link_of_which_only_bytes_are_known_is_no_answer_for_ios() {
    let bench = Bench::new();
    let rows = "[instance.\"c4.4xlarge\"]\nebs_baseline = \"90GB/s\"\n[instance.\"x9.mine\"]\nvcpus = 4\nebs_baseline = \"90GB/s\"\nusd_per_hour = { us-east-1 = 0.0001 }\n";
    let file = bench.write("rows.toml", rows);
    let words = ["recommend", "--iops", "20000", "--bs", "16KiB", "--size", "100GiB", "--json"];
    let output = bench.command(&words).env("IOSTONE_CATALOGUE", bench.path(file)).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{text}"));
    assert_ne!(found["chosen"]["instance"], "x9.mine", "{found}");
    let unknown = found["unknown"].as_array().unwrap();
    let own = unknown.iter().find(|one| one["name"] == "x9.mine").unwrap();
    assert!(own["reason"].as_str().unwrap().contains("I/Os a second"), "{own}");
}

#[test]
fn no_specification_is_cut_and_work_has_its_price() {
    let bench = Bench::new();
    let found = bench
        .iostone(&["recommend", "--write", "220GiB", "--within", "25min", "--date", "2026-01", "--json"])
        .ended_with(0)
        .json();
    let text = bench
        .iostone(&["recommend", "--write", "220GiB", "--within", "25min", "--date", "2026-01"])
        .ended_with(0)
        .stdout;
    assert!(!text.contains('…') && text.contains("work costs"), "{text}");
    assert!(text.contains("on at least 220GiB"), "{text}");
    for choice in found["front"].as_array().unwrap().iter().take(10) {
        assert!(text.contains(choice["volumes"].as_str().unwrap()), "{choice}: {text}");
    }
}

#[test]
fn the_page_loads_nothing_and_marks_by_shape_and_word() {
    let bench = Bench::new();
    bench.iostone(&asked(&["--html", "page.html"])).ended_with(0);
    let page = fs::read_to_string(bench.path("page.html")).unwrap();
    for part in [
        "the cheapest that is enough",
        "the runner-up",
        "cheaper, and not enough",
        "cheapest: ",
        "runner-up: ",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(
        !page.contains("http://")
            || page.matches("http://").count() == page.matches("http://www.w3.org").count()
    );
    assert!(
        !page.contains("https://") && page.contains("prefers-color-scheme") | page.contains("light-dark")
    );
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let bench = Bench::new();
    let cases: [(&[&str], &str); 8] = [
        (&["recommend"], "give a target"),
        (&["recommend", "--within", "25min"], "--write SIZE"),
        (&["recommend", "--throughput", "500MB/s"], "--size"),
        (&["recommend", "--throughput", "500", "--size", "1TiB"], "500"),
        (
            &["recommend", "--write", "220GiB", "--within", "25min", "--size", "100GiB"],
            "less than the 220GiB",
        ),
        (&["recommend", "--iops", "9", "--size", "1GiB", "--region", "mars-1"], "mars-1"),
        (&["recommend", "--iops", "9", "--size", "1GiB", "--volume-type", "gp33"], "did you mean `gp3`"),
        (&["recommend", "--iops", "9", "--size", "1GiB", "--start", "empty"], "--for"),
    ];
    for (words, reason) in cases {
        let said = bench.iostone(words).ended_with(2);
        assert!(said.stderr.contains(reason), "{words:?}: {}", said.stderr);
    }
}
