//! The page of `iostone credits` against its JSON and its laws.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::pages::page;

fn json(arguments: &[&str]) -> Value {
    let mut iostone = Command::new(assert_cmd::cargo::cargo_bin!("iostone"));
    let output = iostone.arg("credits").args(arguments).arg("--json").output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Words in backticks in the first cells of the table whose first heading is this.
fn first_words(heading: &str) -> BTreeSet<String> {
    let text = page("docs/reference/credits.md").text;
    let start = format!("| {heading} |");
    let rows = text.lines().skip_while(|line| !line.starts_with(&start)).skip(2);
    let cells = rows.map_while(|line| line.strip_prefix("| ")?.split(" |").next());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test]
fn the_page_has_every_key_and_no_other() {
    let document = json(&["t2.micro", "--work", "1h", "--measured", "1h"]);
    let object = document.as_object().unwrap();
    assert_eq!(first_words("key"), object.keys().cloned().collect());
    let text = page("docs/reference/credits.md").text;
    let inner = [&document["credits"], &document["timeline"][0], &document["laws"][0], &document["measured"]];
    for key in inner.iter().flat_map(|value| value.as_object().unwrap().keys()) {
        assert!(text.contains(&format!("`{key}`")), "{key}");
    }
}

#[test]
fn the_page_has_every_law_and_no_other() {
    let list = json(&["--list"]);
    let laws =
        list["allowances"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned());
    assert_eq!(first_words("law"), laws.collect());
}
