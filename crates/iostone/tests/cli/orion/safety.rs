//! What a test may write to: files of somebody else's only when they are named twice.

use std::fs;

use super::{LUN_BYTES, bench_with, noise, point, results};

#[test]
fn a_test_that_reads_leaves_every_file_as_it_is() {
    let bench = bench_with(&["a", "b"]);
    let before = fs::metadata(bench.path("a")).unwrap().modified().unwrap();
    point(&bench, &[]).ended_with(0);
    assert_eq!(fs::read(bench.path("a")).unwrap(), noise(LUN_BYTES));
    assert_eq!(fs::metadata(bench.path("a")).unwrap().modified().unwrap(), before);
}

#[test]
fn a_foreign_file_is_written_over_only_when_it_is_named_again() {
    let bench = bench_with(&["a", "b"]);
    let said = point(&bench, &["-write", "100"]).ended_with(3);
    said.complains_of("--destroy a --destroy b").complains_of("iostone orion -run advanced");
    point(&bench, &["-write", "100", "--destroy", "a"]).ended_with(3).complains_of("--destroy b");
    point(&bench, &["-write", "100", "--destroy", "c"]).ended_with(2).complains_of("none of the LUNs");
    point(&bench, &["--destroy", "a"]).ended_with(2).complains_of("only reads");
    for name in ["a", "b"] {
        assert_eq!(fs::read(bench.path(name)).unwrap(), noise(LUN_BYTES), "{name}");
    }
    assert_eq!(results(&bench, "orion"), Vec::<String>::new());
    let absolute = std::path::absolute(bench.path("b")).unwrap();
    let words = ["-write", "100", "--destroy", "a", "--destroy", absolute.to_str().unwrap()];
    point(&bench, &words).ended_with(0);
    assert_ne!(fs::read(bench.path("a")).unwrap(), noise(LUN_BYTES));
}
