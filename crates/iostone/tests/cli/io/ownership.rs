//! Whose a file is: what iostone did not make is not written over, and what it made is taken again.

use std::fs;

use super::{job, jobs};
use crate::support::Bench;

#[test]
fn a_file_of_somebody_elses_is_not_written_over() {
    let bench = Bench::new();
    bench.write("thesis", "years of work");
    let write = ["io", "--filename", "thesis", "--rw", "write", "--size", "64KiB"];
    bench.iostone(&write).ended_with(3).complains_of("--destroy thesis");
    for rw in ["trim", "randrw", "trimwrite"] {
        let said = bench.iostone(&["io", "--filename=thesis", "--rw", rw, "--size=8k"]);
        said.ended_with(3).complains_of("--destroy thesis");
    }
    assert_eq!(fs::read_to_string(bench.path("thesis")).unwrap(), "years of work");
    bench.iostone(&["io", "--filename", "thesis", "--rw", "read", "--size", "64KiB"]).ended_with(2);
    assert_eq!(fs::read_to_string(bench.path("thesis")).unwrap(), "years of work");
    bench.iostone(&[&write[..], &["--destroy", "thesis"]].concat()).ended_with(0);
    assert_eq!(fs::metadata(bench.path("thesis")).unwrap().len(), 64 << 10);
}

#[test]
fn one_foreign_file_among_several_keeps_all_of_them_as_they_are() {
    let bench = Bench::new();
    bench.write("thesis", "years of work");
    let write = ["io", "--filename=new:thesis", "--rw=write", "--size=64KiB"];
    bench.iostone(&write).ended_with(3).complains_of("`thesis`");
    assert_eq!(bench.names(), ["thesis"]);
    // Of jobs beside each other too, and without the first having laid anything out.
    let write =
        ["io", "--size=64KiB", "--rw=rw", "--name=a", "--filename=new", "--name=b", "--filename=thesis"];
    bench.iostone(&write).ended_with(3).complains_of("`thesis`");
    assert_eq!(bench.names(), ["thesis"]);
}

#[test]
fn own_files_are_taken_again_until_somebody_writes_to_them() {
    let bench = Bench::new();
    let load = ["--filename=data", "--rw=randrw", "--size=64KiB"];
    for _ in 0..3 {
        job(&bench, &load);
    }
    fs::write(bench.path("data"), vec![7; 64 << 10]).unwrap();
    bench.iostone(&[&["io"], &load[..]].concat()).ended_with(3);
}

#[test]
fn jobs_and_clones_may_share_a_file_that_one_of_them_makes() {
    let bench = Bench::new();
    // Clones lay out one file, each up to its own end.
    let clones = jobs(
        &bench,
        &["--filename=shared", "--rw=rw", "--size=64KiB", "--numjobs=3", "--offset_increment=64KiB"],
    );
    assert_eq!(clones.len(), 3);
    assert_eq!(bench.path("shared").metadata().unwrap().len(), 192 << 10);
    jobs(
        &bench,
        &[
            "--size=64KiB",
            "--name=a",
            "--filename=x",
            "--rw=randrw",
            "--name=b",
            "--filename=x",
            "--rw=write",
        ],
    );
    assert_eq!(bench.names(), ["shared", "x"]);
}

#[test]
fn clones_write_over_a_foreign_file_when_it_is_named_again() {
    let bench = Bench::new();
    bench.write("old", vec![0; 64 << 10]);
    let load = ["--filename=old", "--rw=randwrite", "--size=64KiB", "--numjobs=2", "--destroy", "old"];
    assert_eq!(jobs(&bench, &load).len(), 2);
}

#[test]
fn a_device_that_is_not_there_is_no_file_to_be_made() {
    let bench = Bench::new();
    let load = ["io", "--filename", "/dev/no-such-disk", "--rw", "randwrite", "--size", "4k"];
    bench.iostone(&load).ended_with(2).complains_of("there is no device `/dev/no-such-disk`");
    assert!(!std::path::Path::new("/dev/no-such-disk").exists());
}

#[test]
fn a_check_makes_nothing_and_readonly_loads_do_not_write() {
    let bench = Bench::new();
    let check =
        ["io", "--filename", "f", "--rw", "write", "--size", "64k", "--verify", "crc32c", "--verify_only"];
    bench.iostone(&check).ended_with(2).complains_of("there is nothing to check");
    let write = ["io", "--filename", "f", "--rw", "write", "--size", "64k", "--readonly"];
    bench.iostone(&write).ended_with(2).complains_of("`--readonly` forbids that");
    assert!(bench.names().is_empty());
}

#[test]
fn what_is_written_to_a_file_has_no_colours() {
    let bench = Bench::new();
    let load = ["io", "--filename", "f", "--rw", "write", "--size", "64k", "--output", "said", "--eta=never"];
    assert_eq!(bench.iostone(&load).ended_with(0).stdout, "");
    assert!(!fs::read_to_string(bench.path("said")).unwrap().contains('\x1b'));
}
