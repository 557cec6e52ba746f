//! Crash tests with the ledger: a writer that is killed leaves nothing that is taken for damage, and after a loss of
//! power what no sync had made durable may be older, and nothing else.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::process::Stdio;

use super::job;
use crate::support::Bench;

const UNIT: usize = 4096;

fn load<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let all = ["--filename=data", "--size=1MiB", "--verify=crc32c", "--ledger=ledger"];
    [&all[..], more].concat()
}

/// What a ledger holds behind its head.
fn generations(bench: &Bench) -> Vec<u8> {
    let bytes = fs::read(bench.path("ledger")).unwrap_or_default();
    bytes.get(65_536..).unwrap_or_default().iter().copied().skip_while(|byte| *byte == 0).collect()
}

#[test]
fn a_writer_that_is_killed_leaves_what_a_ledger_can_be_held_to() {
    let bench = Bench::new();
    // A file of ours, so that the writer is let at it each time it comes back.
    for (round, engine) in ["psync", "io_uring", "mmap"].into_iter().enumerate() {
        let depth = if engine == "io_uring" { "--iodepth=16" } else { "--iodepth=1" };
        if engine == "io_uring" && iostone_engine::uring_available().is_err() {
            continue;
        }
        let engine = format!("--ioengine={engine}");
        let words =
            load(&["--rw=randwrite", "--time_based", "--runtime=10min", depth, &engine, "--destroy", "data"]);
        let mut command = bench.command(&[&["io"], &words[..]].concat());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // In the middle of its writes: once some more are on record.
        let before = generations(&bench);
        while generations(&bench) == before {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // As somebody would who finds the file after a crash: it need not be told that the file may be overwritten.
        let checked = job(&bench, &load(&["--rw=randwrite", "--verify_only"]));
        assert_eq!(checked["verify"]["mismatch_count"], 0, "round {round}: {}", checked["verify"]);
        assert!(checked["verify"]["units_checked"].as_u64().unwrap() > 0);
    }
}

/// A file written three times: `old` is its content after the first pass, which a sync made durable.
fn written_thrice(bench: &Bench) -> Vec<u8> {
    job(bench, &load(&["--rw=write", "--end_fsync=1"]));
    let old = fs::read(bench.path("data")).unwrap();
    job(bench, &load(&["--rw=write", "--do_verify=0"]));
    job(bench, &load(&["--rw=write", "--do_verify=0"]));
    old
}

fn put(bench: &Bench, number: usize, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(bench.path("data")).unwrap();
    file.write_all_at(bytes, (number * UNIT) as u64).unwrap();
}

#[test]
fn after_a_loss_of_power_what_was_not_synced_may_be_older() {
    let bench = Bench::new();
    let old = written_thrice(&bench);
    put(&bench, 7, &old[7 * UNIT..8 * UNIT]);
    let look = load(&["--rw=write", "--verify_only"]);
    let said = bench.iostone(&[&["io"], &look[..]].concat()).ended_with(1);
    said.complains_of("expected generation 3, found generation 1");
    let looked = job(&bench, &[&look[..], &["--after-crash"]].concat());
    assert_eq!(
        (&looked["verify"]["units_checked"], &looked["verify"]["mismatch_count"]),
        (&256.into(), &0.into())
    );
    // From now on it is known which one was found.
    bench.iostone(&[&["io"], &look[..]].concat()).ended_with(0);
}

#[test]
fn after_a_loss_of_power_what_was_synced_must_be_there() {
    let bench = Bench::new();
    let _ = written_thrice(&bench);
    let third = fs::read(bench.path("data")).unwrap();
    job(&bench, &load(&["--rw=write", "--end_fsync=1", "--do_verify=0"]));
    put(&bench, 7, &third[7 * UNIT..8 * UNIT]);
    put(&bench, 9, &[0; UNIT]);
    let look = load(&["--rw=write", "--verify_only", "--after-crash", "--json"]);
    let said = bench.iostone(&[&["io"], &look[..]].concat()).ended_with(1);
    said.complains_of("`data` has ").complains_of("at byte 28672: expected generation 4, found generation 3");
    assert_eq!(said.json()["jobs"][0]["verify"]["mismatch_count"], 2);
}

#[test]
fn the_rule_after_a_crash_needs_a_ledger_and_one_job() {
    let bench = Bench::new();
    let words = ["io", "--filename=data", "--size=64k", "--rw=write", "--after-crash"];
    bench.iostone(&words).ended_with(2).complains_of("`--verify`");
    let said = bench.iostone(&[&words[..], &["--verify=crc32c"]].concat());
    said.ended_with(2).complains_of("`--after-crash` needs the `--ledger`");
    let two = ["io", "--ledger=l", "--rw=write", "--size=64k", "--verify=crc32c", "--name=a", "--name=b"];
    bench.iostone(&two).ended_with(2).complains_of("there are 2");
    assert_eq!(bench.names(), Vec::<String>::new());
}
