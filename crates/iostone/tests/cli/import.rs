//! `import`, `audit` and `export`: figures of other tools on their way in, through, and out again.

use std::fs;

use crate::support::Bench;

/// A log as dbench 4 prints it, shortened to what is read.
fn dbench(throughput: f64, latency: f64) -> String {
    format!(
        "dbench version 4.00 - Copyright Andrew Tridgell 1999-2004\n\n\
         Running for 20 seconds with load '/usr/share/dbench/client.txt' and minimum warmup 4 secs\n\
         0 of 5 processes prepared for launch   0 sec\n\
         5 of 5 processes prepared for launch   0 sec\n\
         releasing clients\n   \
         5     13261   {throughput:.2} MB/sec  execute  20 sec  latency {latency:.3} ms\n   \
         5  cleanup  20 sec\n   0  cleanup  20 sec\n\n \
         Operation      Count    AvgLat    MaxLat\n \
         ----------------------------------------\n \
         NTCreateX       5768     0.157     8.415\n \
         ReadX          10000     0.010     1.000\n\n\
         Throughput {throughput} MB/sec  5 clients  5 procs  max_latency={latency:.3} ms\n"
    )
}

/// Five logs of either setting, named by it.
pub(crate) fn logs(bench: &Bench) -> Vec<String> {
    let mut names = Vec::new();
    for (condition, figures) in [
        ("on", [198.832, 198.525, 197.24, 198.003, 193.24]),
        ("off", [195.168, 196.525, 196.241, 197.79, 195.378]),
    ] {
        for (run, figure) in figures.into_iter().enumerate() {
            let name = format!("{condition}-{}.log", run + 1);
            bench.write(&name, dbench(figure, 200.0 + 10.0 * figure / 7.0 + run as f64));
            names.push(name);
        }
    }
    names
}

fn arguments<'a>(first: &[&'a str], names: &'a [String]) -> Vec<&'a str> {
    first.iter().copied().chain(names.iter().map(String::as_str)).collect()
}

#[test]
fn logs_become_a_run_with_conditions_from_their_names() {
    let bench = Bench::new();
    let names = logs(&bench);
    let said =
        bench.iostone(&arguments(&["import", "--by", "{barrier}-{run}.log", "--name", "barrier"], &names));
    let said = said.ended_with(0);
    assert!(said.stdout.contains("10 observations from 10 files of dbench"), "{}", said.stdout);
    assert!(said.stdout.contains("barrier=on"), "{}", said.stdout);
    let run = bench.only_run();
    for name in &names {
        assert_eq!(fs::read(run.join("raw").join(name)).unwrap(), fs::read(bench.path(name)).unwrap());
    }
    let list = bench.iostone(&["list"]).ended_with(0).stdout;
    assert!(list.contains("10 observations") && list.contains("imported from 10 files of dbench"), "{list}");
    let id = run.file_name().unwrap().to_str().unwrap().to_owned();
    let show = bench.iostone(&["show", &id]).ended_with(0).stdout;
    assert!(show.contains("barrier=off") && show.contains("throughput 195 MB/s"), "{show}");
    let page = bench.iostone(&["report", &id, "--format", "html"]).ended_with(0).stdout;
    assert!(page.starts_with("<!doctype html>") && page.contains("barrier=off"));
    let judged =
        bench.iostone(&["judge", &id, "--metric", "throughput", "--by", "barrier", "--baseline", "on"]);
    let judged = judged.ended_with(0).stdout;
    assert!(
        judged.contains("throughput of off is 0.9 % lower than that of on, p = 0.222; without blocks"),
        "{judged}"
    );
    let csv = bench.iostone(&["export", &id]).ended_with(0).stdout;
    assert!(csv.lines().any(|line| line.contains("throughput,198832000,B/s")), "{csv}");
}

#[test]
fn runs_in_blocks_are_judged_from_an_import() {
    let bench = Bench::new();
    let mut names = Vec::new();
    for block in 0..7 {
        for (condition, figure) in [("on", 100.0), ("off", 125.0)] {
            let name = format!("{condition}-{block}.log");
            bench.write(&name, dbench(figure + 0.1 * f64::from(block), 100.0 + f64::from(block)));
            names.push(name);
        }
    }
    bench.iostone(&arguments(&["import", "dbench", "--by", "{barrier}-{block}.log"], &names)).ended_with(0);
    let said = bench.iostone(&[
        "judge",
        "latest",
        "--metric",
        "throughput",
        "--by",
        "barrier",
        "--baseline",
        "on",
        "--block",
        "block",
        "--randomised",
    ]);
    let said = said.ended_with(0);
    assert!(said.stdout.contains("off is faster than on: throughput 24.9"), "{}", said.stdout);
}

#[test]
fn a_malformed_file_gives_nothing_and_names_its_line() {
    let bench = Bench::new();
    bench.write("good.log", dbench(198.832, 291.996));
    bench.write("bad.log", dbench(198.832, 291.996).replace("Throughput 198.832", "Throughput fast"));
    let said = bench.iostone(&["import", "good.log", "bad.log"]).ended_with(2);
    assert!(said.stderr.contains("`bad.log`, line "), "{}", said.stderr);
    assert!(said.stderr.contains("expected"), "{}", said.stderr);
    assert!(said.stdout.contains("1 observation from 1 file"), "{}", said.stdout);
    assert!(!bench.only_run().join("raw/bad.log").exists());

    let nothing = Bench::new();
    nothing.write("bad.log", "once upon a time\n");
    let said = nothing.iostone(&["import", "bad.log"]).ended_with(2);
    assert!(said.stderr.contains("nothing was imported"), "{}", said.stderr);
    assert_eq!(nothing.run_directories(), Vec::<std::path::PathBuf>::new());
    let said = nothing.iostone(&["import", "no-such.log"]).ended_with(2);
    assert!(said.stderr.contains("no-such.log"), "{}", said.stderr);
    let said = nothing.iostone(&["import", "--tool", "dbnch", "bad.log"]).ended_with(2);
    assert!(said.stderr.contains("did you mean `dbench`?"), "{}", said.stderr);
    let said = nothing.iostone(&["import", "--by", "{a}{b}.log", "bad.log"]).ended_with(2);
    assert!(said.stderr.contains("--by"), "{}", said.stderr);
}

#[test]
fn an_audit_of_files_knows_what_the_user_knows() {
    let bench = Bench::new();
    let names = logs(&bench);
    let all = [
        "audit",
        "--by",
        "{barrier}-{run}.log",
        "--ceiling",
        "instance link=1000Mbps",
        "--order",
        "as-listed",
    ];
    let said = bench.iostone(&arguments(&all, &names)).ended_with(0);
    for rule in ["above-ceiling (serious)", "order-confounded", "few-runs (warning)", "zero-data"] {
        assert!(said.stdout.contains(rule), "{rule}\n{}", said.stdout);
    }
    bench.iostone(&arguments(&[&all[..], &["--fail-on", "serious"]].concat(), &names)).ended_with(1);
    let report = bench.iostone(&arguments(&[&all[..], &["--json"]].concat(), &names)).ended_with(0).json();
    assert_eq!(report["schema"], "iostone/audit/1");
    assert_eq!(report["observations"], 10);
    let said = bench.iostone(&["audit", "--ceiling", "link", "on-1.log"]).ended_with(2);
    assert!(said.stderr.contains("instance link=500Mbps"), "{}", said.stderr);
    let said = bench.iostone(&["audit", "--ceiling", "link=fast", "on-1.log"]).ended_with(2);
    assert!(said.stderr.contains("`fast` is not a quantity"), "{}", said.stderr);
}

#[test]
fn a_described_dataset_is_audited_with_its_own_ceilings() {
    let bench = Bench::new();
    bench.write("figures.csv", "instance,mb_s\nc4.large,61.7\nc4.4xlarge,171\n");
    bench.write(
        "figures.toml",
        r#"
factors = ["instance"]
[[table]]
file = "figures.csv"
[table.columns]
instance = "label"
mb_s = { metric = "throughput", unit = "MB/s", better = "higher" }
[[ceiling]]
name = "instance link"
limit = "500Mbps"
restated = "62.5MiB/s"
where = { instance = "c4.large" }
source = "a table"
"#,
    );
    let said = bench.iostone(&["audit", "figures.toml"]).ended_with(0);
    assert!(said.stdout.contains("unit-slip (warning)"), "{}", said.stdout);
    assert!(said.stdout.contains("at-ceiling (note)"), "{}", said.stdout);
    bench.write("wrong.toml", "factors = [\"instance\"]\nceilings = 3\n");
    let said = bench.iostone(&["audit", "wrong.toml"]).ended_with(2);
    assert!(said.stderr.contains("wrong.toml") && said.stderr.contains("ceiling"), "{}", said.stderr);
}

#[test]
fn what_cannot_be_exported_says_so() {
    let bench = Bench::new();
    bench.write("on.log", dbench(198.832, 291.996));
    bench.iostone(&["import", "on.log"]).ended_with(0);
    let said = bench.iostone(&["export", "--format", "bonnie"]).ended_with(2);
    assert!(said.stderr.contains("no results of bonnie++ phases"), "{}", said.stderr);
    let json = bench.iostone(&["export", "--format", "json"]).ended_with(0).json();
    assert_eq!(json["schema"], "iostone/dataset/1");
}

#[test]
fn hostile_names_and_contents_stay_text() {
    let bench = Bench::new();
    let log = dbench(198.832, 291.996).replace("client.txt", "<script>alert(1)</script>\u{1b}[31m");
    bench.write("<script>-1.log", log);
    let said = bench.iostone(&["import", "--by", "{condition}-{run}.log", "<script>-1.log"]).ended_with(0);
    assert!(!said.stdout.contains('\u{1b}') && !said.stderr.contains('\u{1b}'));
    let page = bench.iostone(&["report", "--format", "html"]).ended_with(0).stdout;
    assert!(!page.contains("<script>alert") && !page.contains("<script>-1"));
}

/// A shell's `time`, so many seconds long.
fn time(seconds: f64) -> String {
    format!("\nreal\t0m{seconds:.3}s\nuser\t0m0.100s\nsys\t0m0.100s\n")
}

#[test]
fn an_import_knows_which_way_its_figures_are_better() {
    let bench = Bench::new();
    let mut names = Vec::new();
    for block in 0..7 {
        for (condition, seconds) in [("slow", 2.0), ("quick", 1.0)] {
            let name = format!("{condition}-{block}.txt");
            bench.write(&name, time(seconds + 0.001 * f64::from(block)));
            names.push(name);
        }
    }
    bench.iostone(&arguments(&["import", "--by", "{c}-{block}.txt"], &names)).ended_with(0);
    let judge = [
        "judge",
        "latest",
        "--metric",
        "wall_time",
        "--by",
        "c",
        "--baseline",
        "slow",
        "--block",
        "block",
        "--randomised",
    ];
    let said = bench.iostone(&judge).ended_with(0).stdout;
    assert!(said.contains("lower is better") && said.contains("quick is faster"), "{said}");
    let said = bench.iostone(&[&judge[..], &["--better", "higher"]].concat()).ended_with(0).stdout;
    assert!(said.contains("higher is better"), "{said}");
}

#[test]
fn what_is_not_there_is_told_and_fails() {
    let bench = Bench::new();
    bench.write("on-1.log", dbench(198.832, 291.996));
    let said = bench.iostone(&["audit", "on-1.log", "off-1.log"]).ended_with(2);
    assert!(said.stdout.contains("1 observation") && said.stderr.contains("off-1.log"), "{}", said.stderr);
    let said = bench.iostone(&["audit", "--factor", "colour", "on-1.log"]).ended_with(2);
    assert!(said.stderr.contains("no observation has a label `colour`; "), "{}", said.stderr);
}

#[test]
fn standard_input_is_a_file_like_any_other() {
    let bench = Bench::new();
    bench.write("on.log", dbench(198.832, 291.996));
    let file = fs::File::open(bench.path("on.log")).unwrap();
    let output = bench.command(&["import", "-"]).stdin(file).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(bench.only_run().join("raw/standard-input").exists());
}
