//! `report --baseline`: the recorded trials held against another level, of the run's own factor or of another one.

use std::fs;
use std::path::{Path, PathBuf};

use super::{PROGRAM, finished};
use crate::support::Bench;

/// Two factors, of which the second makes all the difference. The run's own question is about the first.
fn two_factors() -> String {
    PROGRAM
        .replace(
            "[workload]",
            "[[factor]]\nname = \"nap\"\nlevels = { short = { workload.env.NAP = \"0.01\" }, \
             long = { workload.env.NAP = \"0.2\" } }\n\n[workload]",
        )
        .replace(
            "argv = [\"sh\", \"-c\", \"echo $WHICH in $IOSTONE_CONFIGURATION\"]",
            "argv = [\"sh\", \"-c\", \"sleep $NAP\"]",
        )
        .replace("blocks = { min = 6, max = 6 }", "blocks = { min = 8, max = 8 }")
}

/// Every file of a run with its content.
fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let content = fs::read(&path).unwrap();
            found.push((path, content));
        }
    }
    found.sort();
    found
}

#[test]
fn recorded_trials_answer_another_question_and_stay_as_they_are() {
    let bench = finished(&two_factors());
    let before = files(&bench.only_run());
    let own = bench.iostone(&["report", "--format", "json"]).ended_with(0).json();
    assert_eq!(own["verdicts"]["baseline"], "a");

    let json = ["report", "latest", "--format", "json", "--baseline"];
    let other = bench.iostone(&[&json[..], &["long"]].concat()).ended_with(0).json();
    let verdicts = &other["verdicts"];
    assert_eq!(verdicts["baseline"], "long");
    let comparisons = verdicts["comparisons"].as_array().unwrap();
    let found: Vec<[&str; 3]> = comparisons
        .iter()
        .map(|one| ["level", "stratum", "verdict"].map(|field| one[field].as_str().unwrap()))
        .collect();
    assert_eq!(found, [["short", "which=a", "faster"], ["short", "which=b", "faster"]]);
    assert_eq!(verdicts["blocks"], own["verdicts"]["blocks"]);
    let flag = &verdicts["flags"][0];
    assert_eq!(flag["name"], "another-baseline");
    let message = flag["message"].as_str().unwrap();
    assert!(
        message.contains("against `long` of `nap`") && message.contains("against `a` of `which`"),
        "{message}"
    );

    let named = bench.iostone(&[&json[..], &["nap=long"]].concat()).ended_with(0).json();
    assert_eq!(&named["verdicts"], verdicts);
    let same = bench.iostone(&[&json[..], &["a"]].concat()).ended_with(0).json();
    assert_eq!(same, own, "the run's own baseline is its own question");

    let text = bench.iostone(&["report", "--baseline", "long"]).ended_with(0).stdout;
    assert!(text.contains("short (at which=a) is faster: long takes "), "{text}");
    assert!(text.contains("! another-baseline: another look at trials that are there"), "{text}");
    let html = bench.iostone(&["report", "--baseline", "long", "--format", "html"]).ended_with(0).stdout;
    assert!(html.contains("another-baseline") && html.contains("is faster: long takes "));
    bench.iostone(&["report", "--baseline", "long", "--output", "long.txt"]).ended_with(0);
    assert_eq!(fs::read_to_string(bench.path("long.txt")).unwrap(), text);

    assert!(files(&bench.only_run()) == before, "a report changed its run");
}

#[test]
fn a_baseline_that_the_run_does_not_have_is_refused() {
    let bench = finished(PROGRAM);
    let said = bench.iostone(&["report", "--baseline", "c"]).ended_with(2);
    said.complains_of("error[io0008]: there is no level `c`").complains_of("--baseline c");
    let said = bench.iostone(&["report", "--baseline", "witch=b"]).ended_with(2);
    said.complains_of("error[io0008]: there is no level `witch=b`");
    assert_eq!(said.stdout, "");
    let html = bench.iostone(&["report", "--baseline", "b", "--format", "html"]).ended_with(0).stdout;
    assert!(html.contains("another-baseline"));
}

/// What the flags `confounded-levels` of a report say, those of its comparisons and of the run.
fn confounded(bench: &Bench, baseline: &str) -> Vec<String> {
    let arguments = ["report", "latest", "--format", "json", "--baseline", baseline];
    let verdicts = bench.iostone(&arguments).ended_with(0).json()["verdicts"].clone();
    let own = verdicts["comparisons"].as_array().unwrap().iter().map(|one| &one["flags"]);
    let flags = own.chain([&verdicts["flags"]]).flat_map(|flags| flags.as_array().into_iter().flatten());
    let flags = flags.filter(|flag| flag["name"] == "confounded-levels");
    flags.map(|flag| flag["message"].as_str().map(str::to_owned).unwrap()).collect::<Vec<_>>()
}

/// The levels differ in the program and in its environment.
fn two_things(names: [&str; 2]) -> String {
    let levels = names.map(|name| {
        format!(
            "{name} = {{ workload = {{ env = {{ WHICH = \"{name}\" }}, argv = [\"echo\", \"{name}\"] }} }}"
        )
    });
    let text = PROGRAM.replace("baseline = \"a\"", &format!("baseline = \"{}\"", names[0]));
    let (start, rest) = text.split_once("levels = ").unwrap();
    let (_, end) = rest.split_once('\n').unwrap();
    format!("{start}levels = {{ {} }}\n{end}", levels.join(", "))
}

#[test]
fn levels_that_change_two_things_are_seen_from_the_other_baseline() {
    let bench = finished(&two_things(["a", "b"]));
    let [told] = &confounded(&bench, "b")[..] else { panic!("one flag") };
    assert!(told.starts_with("`a` differs from `b` in 2 things at once"), "{told}");
    // As a file of another version may be, which is not understood today.
    fs::write(bench.only_run().join("experiment.toml"), "name = \"of tomorrow\"\n").unwrap();
    assert_eq!(confounded(&bench, "b"), [told.as_str()]);
}

#[test]
fn identical_levels_change_nothing_whatever_the_levels_of_the_file_are_called() {
    let bench = Bench::new();
    bench.write("experiment.toml", two_things(["A", "B"]));
    bench.iostone(&["run", "experiment.toml", "--aa"]).ended_with(0);
    assert_eq!(confounded(&bench, "B"), Vec::<String>::new());
}

#[test]
fn imported_figures_have_no_baseline_to_replace() {
    let bench = Bench::new();
    bench.write("dd.log", "1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.5 s, 2.1 MB/s\n");
    bench.iostone(&["import", "dd.log"]).ended_with(0);
    let said = bench.iostone(&["report", "--baseline", "on"]).ended_with(2);
    said.complains_of("is an import without a baseline").complains_of("iostone judge FILE.csv --baseline");
}
