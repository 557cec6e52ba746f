//! Loads that cannot be done: what is said, with the place, and that nothing is touched.

use std::fs;

use crate::support::{Bench, assert_text, masked};

/// Every case, and what was said to it. Each must end with code 2 and nothing on stdout.
fn ask(bench: &Bench, cases: &[&[&str]]) -> String {
    let mut all = String::new();
    for case in cases {
        let said = bench.iostone(&[&["io"], *case].concat());
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{case:?}: {}", said.stderr);
        let said = said.stderr.trim_end().replace('\n', "\n    ");
        all += &format!("{}\n    {said}\n", case.join(" "));
    }
    let here = fs::canonicalize(bench.path("")).unwrap().display().to_string();
    masked(&all.replace(&here, "[here]"), bench, "none")
}

#[test]
fn loads_that_cannot_be_done_are_refused() {
    let bench = Bench::new();
    bench.write("data", vec![0u8; 1 << 20]);
    fs::create_dir(bench.path("directory")).unwrap();
    let cases: &[&[&str]] = &[
        &[],
        &["--filename=missing/data", "--size=1MiB"],
        &["--filename=new", "--rw=read"],
        &["--filename=directory", "--rw=read", "--size=64k"],
        &["--filename=directory", "--rw=write", "--size=64k"],
        &["--filename=data", "--size=4MiB"],
        &["--filename=data", "--offset=2MiB"],
        &["--filename=data", "--bs=1MiB", "--size=4KiB"],
        &["--filename=data", "--bs=1000B", "--direct"],
        &["--name=j", "--size=1MiB", "--nrfiles=3", "--allow_file_create=0"],
        &["missing.fio"],
        &["directory"],
    ];
    assert_text("io_refusals", &ask(&bench, cases));
    let huge = bench.iostone(&["io", "--filename=new", "--size=900TiB", "--rw=write"]).ended_with(2);
    huge.complains_of("free but 900 TiB is needed");
    assert_eq!(bench.names(), ["data", "directory"]);
}

#[test]
fn values_that_make_no_sense_are_refused() {
    let bench = Bench::new();
    bench.write("data", vec![0u8; 1 << 20]);
    let cases: &[&[&str]] = &[
        &["--bs=0B"],
        &["--bs=4KiBs"],
        &["--bs"],
        &["--iodepth=0"],
        &["--iodepth=65536", "--ioengine=io_uring"],
        &["--numjobs=0"],
        &["--rw=randwirte"],
        &["--rw=randrw", "--rwmixread=101"],
        &["--bssplit=4k/80:8k/80"],
        &["--random_distribution=zipf:1"],
        &["--runtime=1fortnight"],
        &["--rate_iops=many"],
        &["--ioengine=libpmem"],
        &["--verify=md6"],
        &["--size=1.5g"],
        &["--output-format=xml"],
        &["--json", "--output-format=json"],
    ];
    let cases: Vec<Vec<&str>> = cases.iter().map(|case| [&["--filename=data"], *case].concat()).collect();
    let cases: Vec<&[&str]> = cases.iter().map(Vec::as_slice).collect();
    assert_text("io_values", &ask(&bench, &cases));
    assert_eq!(bench.names(), ["data"]);
}

#[test]
fn options_that_nobody_knows_are_refused_with_what_may_be_meant() {
    let bench = Bench::new();
    bench.write("included.fio", "bs=4k\nblocsize=8k\n");
    bench.write(
        "job.fio",
        "[global]\nsize=1m\ninclude included.fio\n\n[j]\nrw=read\niodpeth=4\nfrobnicate=1\n",
    );
    bench.write("section.fio", "[j\nrw=read\n");
    bench.write("value.fio", "; a comment\n[j]\nrw=read\nsize=1m\n    bs = 0\n");
    bench.write("nothing.fio", "[global]\nrw=read\n");
    bench.write("again.fio", "[global]\ninclude again.fio\n[j]\nrw=read\n");
    let cases: &[&[&str]] = &[
        &["--filename=data", "--iodpeth=4"],
        &["--filename=data", "--seed=7"],
        &["--filename=data", "--frobnicate"],
        &["job.fio"],
        &["section.fio"],
        &["value.fio"],
        &["nothing.fio"],
        &["again.fio"],
        &["job.fio", "--section=other"],
    ];
    assert_text("io_unknown", &ask(&bench, cases));
}

#[test]
fn what_a_load_without_a_sense_of_its_own_would_do_is_done() {
    let bench = Bench::new();
    bench.write("data", vec![0u8; 1 << 20]);
    // Each of these was refused once, and is what fio does too.
    for words in [
        ["--bs=4096", "--number_ios=1"],
        ["--runtime=10", "--number_ios=1"],
        ["--runtime=0", "--number_ios=1"],
        ["--fsync=1", "--number_ios=1"],
        ["--direct=1", "--number_ios=1"],
        ["--number_ios=1", "--direct"],
    ] {
        let said = bench.iostone(&[&["io", "--filename=data"], &words[..]].concat()).ended_with(0);
        assert!(said.stdout.contains("1 reads of 4096 bytes each"), "{words:?}: {}", said.stdout);
    }
}
