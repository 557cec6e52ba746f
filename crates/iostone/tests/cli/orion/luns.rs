//! The `.lun` file and what it names: classic mistakes, blocks that were never written, files to be made.

use std::fs::{self, File};

use super::{LUN_BYTES, bench_with, noise, point, results};
use crate::support::Bench;

/// Asks for the shortest test with that `.lun` file; it must be refused as a mistake.
#[track_caller]
fn refused(bench: &Bench, lun: &str, complaint: &str) {
    bench.write("orion.lun", lun);
    point(bench, &[]).ended_with(2).complains_of(complaint);
}

#[test]
fn the_classic_mistakes_are_called_by_their_names() {
    let bench = Bench::new();
    point(&bench, &[]).ended_with(2).complains_of("there is no `orion.lun`");
    bench.write("orion.lun", "a\n");
    point(&bench, &["-testname", "orion.lun"]).ended_with(2).complains_of("`-testname orion`");
    fs::create_dir(bench.path("folder")).unwrap();
    bench.write("a", noise(LUN_BYTES));
    bench.write("b", noise(LUN_BYTES));
    bench.write("small", noise(4096));
    bench.write("empty", "");
    let here = bench.path("").canonicalize().unwrap();
    let joined = format!("{}{}\n", here.join("a").display(), here.join("b").display());
    for (lun, complaint) in [
        ("", "`orion.lun`"),
        ("folder\n", "director"),
        ("a\nnone\n", "--create"),
        (joined.as_str(), "newline"),
        ("a\na\n", "`a`"),
        ("# disks\na\n", "#"),
        ("empty\n", "empty"),
        ("small\n", "`small`"),
        ("/dev/null\n", "/dev/null"),
        ("\\\\.\\E:\n", "Windows"),
    ] {
        refused(&bench, lun, complaint);
    }
    assert_eq!(results(&bench, "orion"), Vec::<String>::new());
}

#[test]
fn no_file_is_made_from_a_mistake() {
    let bench = bench_with(&["a"]);
    let here = bench.path("").canonicalize().unwrap();
    let joined = format!("{}{}\n", here.join("n2").display(), here.join("n3").display());
    let long = format!("{}\n", "x".repeat(5_000));
    for (lun, complaint) in [
        ("n1 # the first\n", "`n1 # the first` ends in a comment"),
        ("n6,n7\n", "a comma stands"),
        ("\"n8\"\n", "write `n8`"),
        (joined.as_str(), "a newline is missing between them"),
        (long.as_str(), "has 5000 bytes"),
    ] {
        bench.write("orion.lun", lun);
        for further in [&["--create", "2MiB"][..], &[]] {
            let said = point(&bench, further).ended_with(2);
            said.complains_of(complaint);
            assert!(said.stderr.len() < 1000, "{}", said.stderr);
        }
        assert_eq!(bench.names(), ["a", "orion.lun"], "{lun}");
    }
    bench.write("orion.lun", "a # the first\n");
    point(&bench, &[]).ended_with(2).complains_of("write `a` alone");
    point(&bench, &["-testname", "x\ny"]).ended_with(2).complains_of("`-testname` is `x\\ny`");
}

#[test]
fn only_sizes_that_are_used_are_asked_of_a_lun() {
    let bench = Bench::new();
    bench.write("a", noise(64 << 10));
    bench.write("orion.lun", "a\n");
    point(&bench, &[]).ended_with(0);
    let said = point(&bench, &["-size_small", "102400"]).ended_with(2);
    said.complains_of("(`-size_small`)");
    assert!(!said.stderr.contains("-size_large"), "{}", said.stderr);
    let words = ["orion", "-run", "advanced", "-matrix", "point", "-num_small", "1", "-num_large", "1"];
    bench.iostone(&words).ended_with(2).complains_of("less than one I/O of 1 MiB (`-size_large`)");
}

#[test]
fn a_missing_last_newline_and_carriage_returns_are_fine() {
    let bench = bench_with(&["a", "b"]);
    bench.write("orion.lun", "a\r\nb");
    point(&bench, &[]).ended_with(0);
}

#[test]
fn blocks_that_were_never_written_are_refused_filled_or_measured_as_asked() {
    let bench = Bench::new();
    bench.write("orion.lun", "sparse\n");
    File::create(bench.path("sparse")).unwrap().set_len(LUN_BYTES as u64).unwrap();
    point(&bench, &[]).ended_with(2).complains_of("--prefill").complains_of("--allow-unwritten");
    assert_eq!(results(&bench, "orion"), Vec::<String>::new());
    point(&bench, &["--allow-unwritten"]).ended_with(0);
    // Nothing is lost by filling holes.
    point(&bench, &["--prefill"]).ended_with(0).complains_of("filled sparse");
    assert!(fs::read(bench.path("sparse")).unwrap().iter().any(|byte| *byte != 0));
    point(&bench, &[]).ended_with(0);
    // What needs no filling is not refused either.
    point(&bench, &["--prefill"]).ended_with(0);
    // Zeros that somebody wrote may mean something.
    bench.write("orion.lun", "zeros\n");
    bench.write("zeros", vec![0; LUN_BYTES]);
    point(&bench, &["--prefill"]).ended_with(3).complains_of("--destroy zeros").complains_of("each MiB");
    assert!(fs::read(bench.path("zeros")).unwrap().iter().all(|byte| *byte == 0));
    point(&bench, &["--prefill", "--destroy", "./zeros"]).ended_with(0).complains_of("filled zeros");
}

#[test]
fn files_are_made_where_they_are_missing_and_stay_iostones() {
    let bench = bench_with(&["a"]);
    bench.write("orion.lun", "a\nnew\n");
    point(&bench, &[]).ended_with(2).complains_of("--create");
    point(&bench, &["--create", "2MiB"]).ended_with(0).complains_of("filled new");
    assert_eq!(fs::read(bench.path("a")).unwrap(), noise(LUN_BYTES));
    let made = fs::read(bench.path("new")).unwrap();
    assert_eq!(made.len(), LUN_BYTES);
    assert!(made.chunks(512).all(|sector| sector.iter().any(|byte| *byte != 0)));
    // Only the other one is anybody else's.
    let said = point(&bench, &["-write", "100"]).ended_with(3);
    assert!(!said.stderr.contains("--destroy new"), "{}", said.stderr);
    bench.write("orion.lun", "new\n");
    point(&bench, &["-write", "100"]).ended_with(0);
    point(&bench, &["-write", "100"]).ended_with(0);
}

#[test]
fn a_test_that_is_refused_leaves_none_of_the_files_that_it_was_to_make() {
    let bench = bench_with(&["a"]);
    bench.write("orion.lun", "a\nnew\n");
    point(&bench, &["-write", "20", "--create", "2MiB"]).ended_with(3).complains_of("--destroy a");
    assert_eq!(bench.names(), ["a", "orion.lun"]);
    bench.write("orion.lun", "/dev/iostone-is-not-there\n");
    point(&bench, &["--create", "2MiB"]).ended_with(2).complains_of("/dev/iostone-is-not-there");
}

#[test]
fn a_file_that_was_left_half_made_is_made_anew() {
    let bench = bench_with(&[]);
    bench.write("orion.lun", "new\n");
    bench.write("new", noise(4096));
    let new = File::open(bench.path("new")).unwrap();
    if !iostone_stack::keeps_marks(&new) {
        eprintln!("skipped: needs a filesystem with extended attributes");
        return;
    }
    iostone_stack::mark_writing(&new, &bench.path("new"), "create").unwrap();
    point(&bench, &["--create", "2MiB"]).ended_with(0).complains_of("half made").complains_of("filled new");
    assert_eq!(fs::metadata(bench.path("new")).unwrap().len(), LUN_BYTES as u64);
    // Somebody else's never is.
    bench.write("new", noise(LUN_BYTES + 1));
    point(&bench, &["--create", "4MiB"]).ended_with(0);
    assert_eq!(fs::read(bench.path("new")).unwrap(), noise(LUN_BYTES + 1));
}
