//! The files of a test: those that somebody else changed are kept.

use std::fs;

use super::{bench_with, point, prefix};

#[test]
fn a_file_that_was_edited_is_not_written_in_another_layout() {
    let bench = bench_with(&["a"]);
    point(&bench, &[]).ended_with(0);
    let prefix = prefix(&bench);
    let resume = ["orion", "--resume", &prefix, "--format"];
    bench.iostone(&[&resume[..], &["11.1"]].concat()).ended_with(0);
    let [summary, lat] = ["summary.txt", "lat.csv"].map(|ending| format!("{prefix}_{ending}"));
    fs::write(bench.path(&summary), "my remarks").unwrap();
    let before = fs::read(bench.path(&lat)).unwrap();
    let said = bench.iostone(&[&resume[..], &["12"]].concat()).ended_with(3);
    said.complains_of(&format!("`mv --no-clobber {summary} {summary}.old`"));
    assert_eq!(fs::read_to_string(bench.path(&summary)).unwrap(), "my remarks");
    assert_eq!(fs::read(bench.path(&lat)).unwrap(), before, "none is replaced");
    fs::rename(bench.path(&summary), bench.path("aside")).unwrap();
    bench.iostone(&[&resume[..], &["12"]].concat()).ended_with(0);
    assert_ne!(fs::read(bench.path(&lat)).unwrap(), before);
}

#[test]
fn a_file_beside_the_results_is_left_alone() {
    let bench = bench_with(&["a"]);
    point(&bench, &[]).ended_with(0);
    let prefix = prefix(&bench);
    let beside = format!("{prefix}_summary.txt.part");
    bench.write(&beside, "somebody's");
    bench.iostone(&["orion", "--resume", &prefix, "--format", "11.1"]).ended_with(0);
    assert_eq!(fs::read_to_string(bench.path(&beside)).unwrap(), "somebody's");
}
