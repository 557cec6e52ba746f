//! What bonnie++ of every version prints is read, and what is written back is accepted by its own programs.

use std::io::Write as _;
use std::process::{Command, Stdio};

use iostone_model::dataset::Observation;
use iostone_tools::{Format, Head, Input, Likeness, ReadError, Reading, bonnie_csv, find};
use proptest::prelude::*;

const FIXTURES: &[(&str, &str)] = &[
    // Ran here and there with bonnie++ 2.00a of Debian, whose `bon_csv2txt` made the last of them. `quiet` is one run with
    // `-q`: its CSV and its table, at the end of which the program crashed.
    ("2.00a", include_str!("fixtures/bonnie/2.00a.txt")),
    ("2.00a-512M", include_str!("fixtures/bonnie/2.00a-512M.txt")),
    ("2.00a-too-fast", include_str!("fixtures/bonnie/2.00a-too-fast.txt")),
    ("2.00a-runs", include_str!("fixtures/bonnie/2.00a-runs.csv")),
    ("2.00a-quiet-csv", include_str!("fixtures/bonnie/2.00a-quiet.csv")),
    ("2.00a-quiet-text", include_str!("fixtures/bonnie/2.00a-quiet.txt")),
    ("2.00a-links", include_str!("fixtures/bonnie/2.00a-links.txt")),
    ("2.00a-csv2txt", include_str!("fixtures/bonnie/2.00a-csv2txt.txt")),
    // Published by users of those versions; two host names are changed.
    ("1.97", include_str!("fixtures/bonnie/1.97.txt")),
    ("1.97-csv2txt", include_str!("fixtures/bonnie/1.97-csv2txt.txt")),
    ("1.96", include_str!("fixtures/bonnie/1.96.txt")),
    ("1.96-no-bytes", include_str!("fixtures/bonnie/1.96-no-bytes.txt")),
    ("1.96-lines", include_str!("fixtures/bonnie/1.96-lines.csv")),
    ("1.03", include_str!("fixtures/bonnie/1.03.txt")),
    ("1.03-tables", include_str!("fixtures/bonnie/1.03-tables.txt")),
];

fn bonnie() -> &'static dyn Format {
    find("bonnie").expect("a format")
}

fn read(text: &str) -> Result<Reading, ReadError> {
    bonnie().read(&mut Input::of_text("bonnie.log", text))
}

fn fixture(name: &str) -> &'static str {
    FIXTURES.iter().find(|(other, _)| *other == name).expect("a fixture").1
}

fn observations(name: &str) -> Vec<Observation> {
    read(fixture(name)).expect("a good fixture").observations
}

/// Everything that any fixture holds, as one CSV.
fn everything() -> String {
    let all: Vec<Observation> = FIXTURES.iter().flat_map(|(name, _)| observations(name)).collect();
    bonnie_csv(&all.iter().collect::<Vec<_>>())
}

#[test]
fn every_version_is_recognised_and_read() {
    for (name, text) in FIXTURES {
        assert_eq!(bonnie().recognise(&Head { name: "x", text }), Likeness::Certain, "{name}");
        insta::assert_snapshot!(*name, serde_json::to_string_pretty(&observations(name)).unwrap());
    }
    let line = fixture("1.03").lines().last().unwrap();
    assert_eq!(bonnie().recognise(&Head { name: "x", text: line }), Likeness::Likely);
    assert_eq!(bonnie().recognise(&Head { name: "bonnie.csv", text: "a,b,c\n1,2,3\n" }), Likeness::No);
}

#[test]
fn a_run_that_stands_there_twice_counts_once() {
    for name in ["2.00a", "2.00a-512M", "2.00a-too-fast", "1.97", "1.96-no-bytes", "1.03", "2.00a-links"] {
        assert_eq!(observations(name).len(), 1, "{name}");
    }
    let both = format!("{}{}", fixture("2.00a-quiet-csv"), fixture("2.00a-quiet-text"));
    let observations = read(&both).unwrap().observations;
    assert_eq!(observations.len(), 1);
    assert_eq!(observations[0].value("sequential_create"), Some(2045.0));
}

#[test]
fn tables_of_version_2_are_not_believed_about_files() {
    let table = &observations("2.00a-quiet-text")[0];
    assert!(!table.figures.contains_key("sequential_create"));
    assert!(table.figures.contains_key("sequential_create.cpu"));
    assert!(table.facts.remarks[0].contains("wrong rates"));
    let right = &observations("2.00a-csv2txt");
    assert_eq!(right[0].value("sequential_create"), Some(17_125.0));
}

#[test]
fn blank_columns_are_told_apart() {
    let table = &observations("1.97-csv2txt")[1];
    assert_eq!(table.value("block_read"), Some(102_046.0 * 1024.0));
    assert_eq!((table.value("char_read"), table.value("random_seeks.cpu")), (None, Some(1.78)));
    assert_eq!(table.value("rewrite.latency_max"), Some(0.229));
    assert_eq!(table.value("random_delete"), Some(21_245.0));
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let message = |text: &str| read(text).unwrap_err().to_string();
    let line = fixture("1.97").lines().last().unwrap();
    let short = &line[..line.len() - 30];
    assert!(message(short).starts_with("line 1: expected the 48 fields of a CSV line of format 1.97, not 4"));
    assert!(
        message(&line.replace("735ms", "735"))
            .contains("expected a latency in `us`, `ms` or `s` in field 38")
    );
    assert!(
        message(&line.replace("43190", "fast")).contains("expected a rate, `+++++` or nothing in field 12")
    );
    let first = |count: usize| fixture("1.97").lines().take(count).collect::<Vec<_>>().join("\n");
    let table = first(4);
    assert!(message(&table.replace("43190", "fast")).starts_with("line 4: expected a row of bonnie++"));
    assert!(message(&first(3)).starts_with("line 4: expected a row of bonnie++"));
    assert!(message("Writing intelligently...done\n").contains("expected a table or a CSV line of bonnie++"));
}

#[test]
fn its_own_lines_come_back_as_they_were() {
    for name in ["2.00a", "2.00a-512M", "2.00a-too-fast", "2.00a-quiet-csv"] {
        let line = fixture(name).lines().find(|line| line.starts_with("1.98")).unwrap();
        let mut fields: Vec<&str> = line.split(',').collect();
        // The seed and the default numbers of seeks and seekers are not kept; directories move to their own column.
        (fields[4], fields[7], fields[8]) = ("", "", "");
        fields.swap(24, 25);
        assert_eq!(bonnie_csv(&[&observations(name)[0]]).trim_end(), fields.join(","), "{name}");
    }
}

#[test]
fn what_is_written_is_read_back() {
    let again = read(&everything()).unwrap().observations;
    let all: Vec<Observation> = FIXTURES.iter().flat_map(|(name, _)| observations(name)).collect();
    assert_eq!(again.len(), all.len());
    for (again, first) in again.iter().zip(&all) {
        assert_eq!(again.facts.too_fast, first.facts.too_fast);
        assert_eq!(again.figures.keys().collect::<Vec<_>>(), first.figures.keys().collect::<Vec<_>>());
    }
}

/// Feeds a program its input, and gives what it wrote and complained of; None if it is not installed.
fn run(program: &str, input: &str) -> Option<(String, String)> {
    let piped = || Stdio::piped();
    let mut child = Command::new(program).stdin(piped()).stdout(piped()).stderr(piped()).spawn().ok()?;
    child.stdin.take()?.write_all(input.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Some((text(&output.stdout), text(&output.stderr)))
}

#[test]
fn the_programs_of_bonnie_accept_what_is_written() {
    let csv = everything();
    let lines = csv.lines().count();
    let Some((html, complaints)) = run("bon_csv2html", &csv) else {
        eprintln!("skipped: needs bon_csv2html");
        return;
    };
    assert_eq!(complaints, "");
    assert_eq!(html.matches("Latency</td>").count(), 2 * lines);
    let Some((text, complaints)) = run("bon_csv2txt", &csv) else {
        eprintln!("skipped: needs bon_csv2txt");
        return;
    };
    assert!(!complaints.contains("Expected 1.98"), "{complaints}");
    assert!(text.contains("Sequential Create"));
}

proptest! {
    #[test]
    fn no_line_is_too_strange(line in "(1\\.9[678],)?(Latency|Version  1\\.97 ------Sequential Output------|[ -~]{0,60})(,[0-9+]{0,5}){0,60}") {
        let _ = read(&line);
        let _ = read(&format!("{}\n%CP\n{line}", fixture("1.03").lines().next().unwrap_or_default()));
        let _ = bonnie().recognise(&Head { name: "x", text: &line });
    }
}

#[test]
fn a_table_of_numbers_is_not_bonnies() {
    for text in [
        "order,block,mode,a\n1,1,b,184.3\n2,1,c,200.9\n",
        "ratio,version,mode\n2.5,1.2,c\n",
        "1.97,1.98,1.99,2,3\n",
        "2,1,c\n",
    ] {
        let head = Head { name: "x.csv", text };
        assert_eq!(find("bonnie").unwrap().recognise(&head), Likeness::No, "{text}");
    }
    // A line that was cut off is its own nevertheless, and refused as such.
    let head = Head { name: "x.csv", text: "1.98,2.00a,host,1,1790000000,64M,,8192,5,100\n" };
    assert_eq!(find("bonnie").unwrap().recognise(&head), Likeness::Certain);
}
