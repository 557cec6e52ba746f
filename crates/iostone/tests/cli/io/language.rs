//! fio's language through the binary: job files with variables and includes, units of both kinds, options by both
//! spellings, and what is dropped where leniency is asked for.

use super::{bytes, ios, job, jobs};
use crate::support::{Bench, Said};

#[test]
fn variables_and_includes_are_taken_from_where_fio_takes_them() {
    let bench = Bench::new();
    bench.write("common.fio", "size=${SIZE}\nbs=16k\n");
    bench.write("job.fio", "[global]\nrw=write\ninclude common.fio\n[first]\nfilename=${NAME}.dat\n[other]\nsize=8k\nbs=$pagesize\n");
    let mut command = bench.command(&["io", "job.fio", "--json"]);
    let output = command.env("SIZE", "64k").env("NAME", "here").output().unwrap();
    let done = Said::from(output).ended_with(0).json();
    assert_eq!((ios(&done["jobs"][0]), bytes(&done["jobs"][0])), ([0, 4, 0], [0, 64 << 10, 0]));
    assert_eq!(done["jobs"][1]["job"]["targets"][0], "other.0.0");
    assert_eq!(bytes(&done["jobs"][1]), [0, 8192, 0]);
    assert_eq!(bench.names(), ["common.fio", "here.dat", "job.fio", "other.0.0"]);
}

#[test]
fn units_are_of_both_kinds_on_the_command_line_and_of_fios_in_files() {
    let bench = Bench::new();
    let size = |words: &[&str]| {
        let name = format!("--filename=f{}", words.concat().replace(['-', '='], ""));
        bytes(&job(&bench, &[&[name.as_str(), "--rw=write"], words].concat()))[1]
    };
    assert_eq!(size(&["--size=64k", "--bs=4096"]), 65536);
    assert_eq!(size(&["--size=64KiB", "--bs=4k"]), 65536);
    assert_eq!(size(&["--size=64kB", "--bs=1kB"]), 64000);
    assert_eq!(size(&["--size=0x10000", "--bs=4KiB"]), 65536);
    // `KiB` in a job file is what fio takes it for: a thousand.
    bench.write("units.fio", "[u]\nrw=write\nsize=64KiB\nbs=1KiB\n");
    assert_eq!(bytes(&job(&bench, &["units.fio"])), [0, 64000, 0]);
}

#[test]
fn both_spellings_of_an_option_and_its_other_names_are_one() {
    let bench = Bench::new();
    let spelled: [&[&str]; 4] = [
        &["--filename=data", "--rw=write", "--size=64k", "--bs=8k"],
        &["--filename", "data", "--readwrite", "write", "--size", "64k", "--blocksize", "8k"],
        &["-filename=data", "-rw=write", "-size=64k", "-bs=8k"],
        &["--filename=data", "--rw=write", "--size=64k", "--bs=8k", "--engine=psync"],
    ];
    for words in spelled {
        assert_eq!(ios(&job(&bench, words)), [0, 8, 0], "{words:?}");
    }
}

#[test]
fn command_lines_hold_several_jobs_and_go_with_files() {
    let bench = Bench::new();
    bench.write("one.fio", "[one]\nrw=write\nsize=8k\n");
    bench.write("two.fio", "[two]\nrw=write\nsize=16k\n");
    let done = jobs(&bench, &["one.fio", "two.fio"]);
    assert_eq!(done.iter().map(ios).collect::<Vec<_>>(), [[0, 2, 0], [0, 4, 0]]);
    let done = jobs(&bench, &["--rw=write", "--name=a", "--size=8k", "--name=b", "--size=12k"]);
    assert_eq!(done.iter().map(ios).collect::<Vec<_>>(), [[0, 2, 0], [0, 3, 0]]);
}

#[test]
fn a_job_file_may_come_through_standard_input() {
    use std::io::Write;
    let bench = Bench::new();
    let mut command = bench.command(&["io", "-", "--json"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"[piped]\nrw=write\nsize=8k\n").unwrap();
    let said = Said::from(child.wait_with_output().unwrap()).ended_with(0);
    assert_eq!(said.json()["jobs"][0]["name"], "piped");
}

#[test]
fn leniency_drops_what_is_not_honoured_and_says_so() {
    let bench = Bench::new();
    bench.write("l.fio", "[global]\nrw=write\nsize=8k\n[j]\ncgroup=foo\nread_iolog=trace\nbs=4k\n");
    let strict = bench.iostone(&["io", "l.fio"]).ended_with(2);
    for place in
        ["l.fio:5:1: `cgroup=foo` is not honoured: ", "l.fio:6:1: `read_iolog=trace` is not honoured: "]
    {
        strict.complains_of(place);
    }
    assert_eq!(strict.stdout, "");
    let lenient = bench.iostone(&["io", "l.fio", "--lenient", "--json"]).ended_with(0);
    for place in ["l.fio:5:1: `cgroup` was dropped: ", "l.fio:6:1: `read_iolog` was dropped: "] {
        lenient.complains_of(place);
    }
    assert_eq!(ios(&lenient.json()["jobs"][0]), [0, 2, 0]);
    // Leniency is about what fio can do and iostone does not, not about mistakes.
    bench.write("m.fio", "[j]\nrw=write\nsize=8k\niodpeth=4\n");
    bench.iostone(&["io", "m.fio", "--lenient"]).ended_with(2).complains_of("did you mean `iodepth`?");
}

#[test]
fn what_means_something_else_than_it_seems_is_remarked_upon() {
    let bench = Bench::new();
    bench.write("r.fio", "[j]\nrw=write\nsize=8k\nioengine=libaio\niodepth=4\n[k]\nrw=write\nsize=8k\nioengine=sync\niodepth=4\n");
    let said = bench.iostone(&["io", "r.fio"]).ended_with(0);
    said.complains_of("warning: r.fio:4:1: the depth of `libaio` is kept by `io_uring`\n");
    said.complains_of(
        "warning: r.fio:10:1: `iodepth` means nothing to `sync`, which has one I/O in flight\n",
    );
}
