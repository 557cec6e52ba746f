//! Blocks that are verified: what is written is found by another process, and damage is named with its file, offset,
//! what was expected and what is there.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;

use serde_json::Value;

use super::{ios, job};
use crate::support::{Bench, Said};

const UNIT: usize = 4096;

/// Where a unit begins.
fn at(number: usize) -> u64 {
    (number * UNIT) as u64
}

/// Files with a ledger: the words of a load that writes or checks them.
fn load<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let all = ["--filename=data", "--size=1MiB", "--verify=crc32c", "--ledger=ledger"];
    [&all[..], more].concat()
}

fn write(bench: &Bench) {
    let written = job(bench, &load(&["--rw=randwrite"]));
    assert_eq!((ios(&written), &written["verify"]["mismatch_count"]), ([0, 256, 0], &0.into()));
}

/// What another process says that only looks.
fn look(bench: &Bench, more: &[&str]) -> Said {
    bench.iostone(&[&["io"], &load(&["--rw=randwrite", "--verify_only"])[..], more].concat())
}

fn data(bench: &Bench) -> File {
    OpenOptions::new().read(true).write(true).open(bench.path("data")).unwrap()
}

fn unit(bench: &Bench, number: usize) -> Vec<u8> {
    let mut bytes = vec![0; UNIT];
    data(bench).read_exact_at(&mut bytes, at(number)).unwrap();
    bytes
}

fn put(bench: &Bench, number: usize, bytes: &[u8]) {
    data(bench).write_all_at(bytes, at(number)).unwrap();
}

#[test]
fn what_was_written_is_found_by_another_process() {
    let bench = Bench::new();
    write(&bench);
    let said = look(&bench, &[]).ended_with(0);
    assert!(
        said.stdout.contains("verified 256 blocks (1.00 MiB): each holds what was written"),
        "{}",
        said.stdout
    );
    let read = job(&bench, &load(&["--rw=randread", "--bs=16k", "--verify_interval=4k"]));
    assert_eq!((ios(&read), &read["verify"]["units_checked"]), ([64, 0, 0], &256.into()));
    // Again and again: generations count on.
    write(&bench);
    look(&bench, &[]).ended_with(0);
}

#[test]
fn without_a_ledger_blocks_still_say_where_they_belong() {
    let bench = Bench::new();
    let plain = ["--filename=data", "--size=1MiB", "--verify=sha256"];
    job(&bench, &[&plain[..], &["--rw=write"]].concat());
    let read = job(&bench, &[&plain[..], &["--rw=read"]].concat());
    assert_eq!(read["verify"]["units_checked"], 256);
    let three = unit(&bench, 3);
    put(&bench, 5, &three);
    let said = bench.iostone(&[&["io"], &plain[..], &["--rw=read"]].concat()).ended_with(1);
    said.complains_of("error: `data` has a misplaced write at byte 20480: expected ");
}

/// Damages one unit of a file that was written twice; what a process says that looks.
#[track_caller]
fn assert_found(
    damage: impl FnOnce(&Bench, &dyn Fn(usize) -> Vec<u8>),
    kind: &str,
    byte: u64,
    words: &[&str],
) {
    let bench = Bench::new();
    write(&bench);
    let old = std::fs::read(bench.path("data")).unwrap();
    write(&bench);
    damage(&bench, &|number| old[number * UNIT..][..UNIT].to_vec());
    let said = look(&bench, &["--json"]).ended_with(1);
    let document = said.json();
    let verify = &document["jobs"][0]["verify"];
    assert_eq!((&verify["mismatch_count"], &verify["units_checked"]), (&1.into(), &256.into()));
    assert_eq!(verify["mismatches"][0]["kind"], kind, "{}", said.stderr);
    assert!(said.stderr.starts_with("error: `data` has "), "{}", said.stderr);
    for word in [&[format!(" at byte {byte}").as_str(), "expected ", ", found "], words].concat() {
        said.complains_of(word);
    }
    // People are told on stdout as well, below the count.
    let shown = look(&bench, &[]).ended_with(1);
    assert!(
        shown
            .stdout
            .contains("verified 256 blocks (1.00 MiB): 1 does not hold what was written\n! `data` has ")
    );
}

#[test]
fn a_flipped_bit_is_found() {
    let damage = |bench: &Bench, _: &dyn Fn(usize) -> Vec<u8>| {
        let mut three = unit(bench, 3);
        three[700] ^= 0x20;
        put(bench, 3, &three);
    };
    assert_found(damage, "flipped", at(3) + 700, &["in the unit at 12288", "of generation 2", "bit 5"]);
}

#[test]
fn a_torn_block_is_found() {
    let damage = |bench: &Bench, old: &dyn Fn(usize) -> Vec<u8>| {
        data(bench).write_all_at(&old(7)[2048..], at(7) + 2048).unwrap();
    };
    let words =
        ["expected all of it of generation 2", "generation 2 from byte 0", "generation 1 from byte 2048"];
    assert_found(damage, "torn", at(7) + 2048, &words);
}

#[test]
fn a_stale_block_is_found() {
    let damage = |bench: &Bench, old: &dyn Fn(usize) -> Vec<u8>| put(bench, 100, &old(100));
    assert_found(damage, "stale", at(100), &["expected generation 2", "found generation 1"]);
}

#[test]
fn a_misplaced_block_is_found() {
    let damage = |bench: &Bench, _: &dyn Fn(usize) -> Vec<u8>| put(bench, 200, &unit(bench, 50));
    assert_found(damage, "misplaced", at(200), &["204800"]);
}

#[test]
fn a_zeroed_block_is_found() {
    let damage = |bench: &Bench, _: &dyn Fn(usize) -> Vec<u8>| put(bench, 255, &[0; UNIT]);
    assert_found(damage, "zeros", at(255), &["zeros"]);
}

#[test]
fn a_block_of_another_program_is_found() {
    let damage = |bench: &Bench, _: &dyn Fn(usize) -> Vec<u8>| put(bench, 0, &[0x5a; UNIT]);
    assert_found(damage, "foreign", 0, &["5a 5a 5a 5a"]);
}

#[test]
fn blocks_behind_a_new_end_are_missing() {
    let bench = Bench::new();
    write(&bench);
    data(&bench).set_len(at(254)).unwrap();
    let said = look(&bench, &["--json"]).ended_with(1);
    said.complains_of("`data` has ")
        .complains_of(" at byte 1040384: expected a unit of 4096 bytes, found the end");
    assert_eq!(said.json()["jobs"][0]["verify"]["mismatch_count"], 2);
    assert_eq!(bench.path("data").metadata().unwrap().len(), at(254), "looking changes nothing");
}

#[test]
fn looking_changes_nothing_and_makes_nothing_ours() {
    let bench = Bench::new();
    write(&bench);
    put(&bench, 9, &[1; UNIT]);
    let before = std::fs::read(bench.path("data")).unwrap();
    look(&bench, &[]).ended_with(1);
    assert!(std::fs::read(bench.path("data")).unwrap() == before);
    // What somebody wrote in the file stays theirs: a writing load must still be let at it.
    bench.iostone(&[&["io"], &load(&["--rw=randwrite"])[..]].concat()).ended_with(3);
}

#[test]
fn every_job_of_a_load_checks_what_it_read_meanwhile() {
    let bench = Bench::new();
    for rw in ["randrw", "rw"] {
        let words = ["--filename=data", "--size=1MiB", "--verify=crc32c", "--ledger=ledger", "--rw", rw];
        for _ in 0..2 {
            assert_eq!(job(&bench, &words)["verify"]["mismatch_count"], 0, "{rw}");
        }
        std::fs::remove_file(bench.path("ledger")).unwrap();
    }
    let backlog = ["--filename=other", "--size=1MiB", "--verify=crc32c", "--rw=write", "--verify_backlog=16"];
    let done = job(&bench, &backlog);
    assert_eq!(
        (&done["verify"]["units_checked"], &done["verify"]["mismatch_count"]),
        (&256.into(), &0.into())
    );
}

#[test]
fn clones_verify_what_each_of_them_wrote() {
    let bench = Bench::new();
    bench.write(
        "v.fio",
        "[w]\nrw=randwrite\nsize=256k\nverify=crc32c\nnumjobs=2\n[r]\nstonewall\nrw=read\nfilename=w.1.0\nsize=256k\n\
         verify=crc32c\n",
    );
    let done = super::jobs(&bench, &["v.fio"]);
    assert_eq!(done.len(), 3);
    for job in &done {
        assert_eq!(
            (&job["verify"]["mismatch_count"], &job["verify"]["units_checked"]),
            (&0.into(), &64.into())
        );
    }
    let shared = ["io", "--filename=x", "--rw=write", "--size=64k", "--verify=crc32c", "--numjobs=2"];
    bench.iostone(&shared).ended_with(2).complains_of("`offset_increment`");
}

#[test]
fn a_ledger_of_another_load_is_refused() {
    let bench = Bench::new();
    write(&bench);
    for (words, why) in [
        (["--filename=other", "--size=1MiB"], "other"),
        (["--filename=data", "--size=512KiB"], "ledger"),
        (["--filename=data", "--bs=8k"], "ledger"),
    ] {
        let load = ["io", "--rw=randread", "--verify=crc32c", "--ledger=ledger", "--size=1MiB"];
        let said = bench.iostone(&[&load[..], &words[..]].concat());
        said.ended_with(2).complains_of(why);
    }
    std::fs::remove_file(bench.path("ledger")).unwrap();
    look(&bench, &[]).ended_with(2).complains_of("it does not exist");
    // Without what it is about, it is a mistake.
    let said = bench.iostone(&["io", "--filename=data", "--rw=randread", "--ledger=ledger"]);
    said.ended_with(2).complains_of("`--verify`");
}

/// The kinds of everything that does not match.
fn kinds(document: &Value) -> Vec<String> {
    let list = document["jobs"][0]["verify"]["mismatches"].as_array().unwrap();
    list.iter().map(|mismatch| mismatch["kind"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn all_damage_is_listed_unless_the_first_is_fatal() {
    let bench = Bench::new();
    write(&bench);
    for number in [3, 30, 130] {
        put(&bench, number, &[0; UNIT]);
    }
    let said = look(&bench, &["--json"]).ended_with(1);
    assert_eq!(kinds(&said.json()), ["zeros"; 3]);
    let said = look(&bench, &["--json", "--verify_fatal=1"]).ended_with(1);
    assert_eq!(said.json()["jobs"][0]["verify"]["mismatch_count"], 1);
}
