//! What people see first: a report of one screen, help by groups, verdicts that fail a pipeline, the run that is live.

use std::process::Stdio;

use super::runs::PROGRAM;
use crate::support::{Bench, Said};

/// Twelve blocks in which `new` takes longer than `old`.
fn figures() -> String {
    let mut table = "block,order,version,seconds\n".to_owned();
    for block in 0..12 {
        let (first, second) = if block * 7 % 3 == 0 { (1, 2) } else { (2, 1) };
        let drift = f64::from(block % 5) / 100.0;
        table.push_str(&format!("{block},{first},old,{}\n", 10.0 + drift));
        table.push_str(&format!("{block},{second},new 2,{}\n", 12.0 + drift * 2.0));
    }
    table
}

fn judge(bench: &Bench, more: &[&str]) -> Said {
    bench.write("figures.csv", figures());
    let judge = [
        "judge",
        "figures.csv",
        "--metric",
        "seconds",
        "--by",
        "version",
        "--baseline",
        "old",
        "--block",
        "block",
        "--order",
        "order",
    ];
    bench.iostone(&[&judge[..], more].concat())
}

#[test]
fn two_levels_are_reported_on_one_screen_and_in_full_when_asked() {
    let bench = Bench::new();
    bench.write("experiment.toml", PROGRAM);
    let said = bench.iostone(&["run", "experiment.toml"]).ended_with(0);
    // The path of the report and the empty line above it come on standard error.
    assert!(said.stdout.lines().count() + 2 <= 30, "{}", said.stdout);
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 80), "{}", said.stdout);
    assert!(said.stdout.contains("\n`--full` shows more: "), "{}", said.stdout);
    assert!(!said.stdout.contains("Measured on"), "{}", said.stdout);

    let again = bench.iostone(&["report"]).ended_with(0);
    assert_eq!(again.stdout, said.stdout);
    again.complains_of("report.html");
    let full = bench.iostone(&["report", "--full"]).ended_with(0).stdout;
    assert!(full.contains("\nMeasured on\n") && !full.contains("--full"), "{full}");
    assert!(full.lines().count() > said.stdout.lines().count());

    let quiet = bench.iostone(&["report", "--quiet"]).ended_with(0);
    assert_eq!(quiet.stderr, "");
    assert!(said.stdout.starts_with(quiet.stdout.lines().next().unwrap()), "{}", quiet.stdout);
    assert!(quiet.stdout.trim_end().ends_with('─') && !quiet.stdout.contains("blocks "), "{}", quiet.stdout);

    for wrong in [&["--full", "--json"][..], &["--full", "--format", "html"], &["--json", "--format", "text"]]
    {
        bench.iostone(&[&["report"], wrong].concat()).ended_with(2);
    }
}

#[test]
fn json_is_asked_for_in_the_same_way_everywhere() {
    let bench = Bench::new();
    bench.write("experiment.toml", PROGRAM);
    bench.iostone(&["run", "experiment.toml"]).ended_with(0);
    for command in ["report", "export"] {
        let short = bench.iostone(&[command, "--json"]).ended_with(0);
        let long = bench.iostone(&[command, "--format", "json"]).ended_with(0);
        assert_eq!(short.json(), long.json(), "{command}");
    }
    let page = ["report", "--format", "html", "--output", "page.html"];
    bench.iostone(&page).ended_with(0).complains_of("wrote page.html");
    bench.iostone(&["export", "--output", "figures.csv"]).ended_with(0).complains_of("wrote figures.csv");
    let quiet = bench.iostone(&["export", "--output", "figures.csv", "--quiet"]).ended_with(0);
    assert_eq!(quiet.stderr, "");
}

#[test]
fn a_verdict_that_must_not_be_ends_with_1_and_its_reason() {
    let bench = Bench::new();
    for (condition, code) in [
        ("new 2 slower than old", 1),
        ("old faster than new 2", 1),
        ("new 2 not faster than old", 1),
        ("new 2 not equivalent to old", 1),
        ("new 2 faster than old", 0),
        ("new 2 not slower than old", 0),
        ("old equivalent to new 2", 0),
        ("undecided", 0),
    ] {
        let said = judge(&bench, &["--quiet", "--fail-if", condition]).ended_with(code);
        assert!(said.stdout.contains("slower"), "{}", said.stdout);
        assert_eq!(said.stderr.lines().count(), code.unsigned_abs() as usize, "{condition}: {}", said.stderr);
    }
    judge(&bench, &["--fail-if", "undecided", "--fail-if", "old faster than new 2"])
        .ended_with(1)
        .complains_of("failed: old is faster than new 2 (`--fail-if 'old faster than new 2'`)");
    let json = judge(&bench, &["--json", "--fail-if", "new 2 slower than old"]).ended_with(1).json();
    assert_eq!(json["comparisons"][0]["verdict"], "slower");
    judge(&bench, &["--fail-if", "new slower than old"])
        .ended_with(2)
        .complains_of("`new` is no level that is compared; the levels are `old`, `new 2`");
    judge(&bench, &["--fail-if", "new 2 is slow"])
        .ended_with(2)
        .complains_of("write `undecided`, or a verdict");
}

#[test]
fn a_run_refuses_an_unknown_level_before_it_measures() {
    let bench = Bench::new();
    bench.write("experiment.toml", PROGRAM);
    for more in [&[][..], &["--dry-run"]] {
        let run = [&["run", "experiment.toml", "--fail-if", "c slower than a"], more].concat();
        bench
            .iostone(&run)
            .ended_with(2)
            .complains_of("`c` is no level that is compared; the levels are `a`, `b`");
    }
    let quick = ["run", "experiment.toml", "--quick", "--fail-if", "undecided"];
    bench.iostone(&quick).ended_with(2).complains_of("a rehearsal claims none");
    assert!(!bench.runs().exists(), "nothing was begun");

    // Two of the three can be asked of any run; whichever verdict it came to, one of them holds.
    let conditions = ["b faster than a", "b not faster than a"];
    let codes = conditions.map(|condition| {
        let code = bench.iostone(&["run", "experiment.toml", "--fail-if", condition]).code.unwrap();
        assert_eq!(bench.iostone(&["report", "--fail-if", condition]).code, Some(code), "{condition}");
        code
    });
    assert!(codes.iter().all(|code| [0, 1].contains(code)), "{codes:?}");
    let report = |condition: &str| bench.iostone(&["report", "--fail-if", condition]).code.unwrap();
    assert_eq!(report(conditions[0]) + report(conditions[1]), 1);
    bench.iostone(&["report", "--fail-if", "a slower than c"]).ended_with(2).complains_of("`c` is no level");
}

#[test]
fn the_run_that_goes_on_is_listed_as_such() {
    let bench = Bench::new();
    bench.write("experiment.toml", PROGRAM.replace("echo $WHICH in $IOSTONE_CONFIGURATION", "sleep 0.3"));
    let mut command = bench.command(&["run", "experiment.toml"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let is_live = |bench: &Bench| {
        let listed = bench.iostone(&["list", "--json"]).ended_with(0).json();
        listed.as_array().unwrap().first().map(|run| run["live"].clone())
    };
    while is_live(&bench).is_none_or(|live| live == false) {
        assert!(child.try_wait().unwrap().is_none(), "it ended without having been listed as live");
    }
    let listed = bench.iostone(&["list"]).ended_with(0).stdout;
    assert!(listed.ends_with("  running now\n") && listed.lines().count() == 1, "{listed}");
    child.kill().unwrap();
    child.wait().unwrap();
    let listed = bench.iostone(&["list"]).ended_with(0);
    assert!(listed.stdout.contains("  unfinished"), "{}", listed.stdout);
    listed.complains_of("resume with `iostone run --resume ");
    assert_eq!(is_live(&bench), Some(false.into()));
}

#[test]
fn the_name_alone_says_what_to_try_and_help_groups_the_commands() {
    let bench = Bench::new();
    let first = bench.iostone(&[]).ended_with(0).stdout;
    assert_eq!(
        first.lines().filter(|line| line.contains("  ") && line.contains("iostone ")).count(),
        4,
        "{first}"
    );
    let help = bench.iostone(&["--help"]).ended_with(0).stdout;
    for heading in [
        "\nMeasure:\n",
        "\nRead:\n",
        "\nJudge figures of others:\n",
        "\nCloud:\n",
        "\nMachine:\n",
        "\nOptions:\n",
    ] {
        assert!(help.contains(heading), "{heading}:\n{help}");
    }
    for typed in ["agen", "governer"] {
        let said = bench.iostone(&[typed]).ended_with(2).stderr;
        assert!(!said.contains("'agent'") && !said.contains("governor"), "{said}");
    }
    bench.iostone(&["reprot"]).ended_with(2).complains_of("'report'");
    assert!(!help.contains("agent") && !help.contains("governor"), "{help}");
    let run = bench.iostone(&["run", "--help"]).ended_with(0).stdout;
    assert!(run.contains("\nExamples:\n  iostone run experiment.toml --dry-run\n"), "{run}");
}
