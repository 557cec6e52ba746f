//! `orion`: ORION's command line, its LUNs, its load points and its files, on files of a temporary directory.

mod ends;
mod kept;
mod luns;
mod options;
mod safety;
mod whole;

use std::fs;

use crate::support::{Bench, Said};

/// The shortest test that there is: one small I/O at a time, for a second.
const POINT: [&str; 9] =
    ["orion", "-run", "advanced", "-matrix", "point", "-num_small", "1", "-num_large", "0"];

/// Small enough to be filled in no time, large enough for a large I/O.
const LUN_BYTES: usize = 2 << 20;

/// A bench with `orion.lun` and what it names, full of data that is nobody's.
fn bench_with(luns: &[&str]) -> Bench {
    let bench = Bench::new();
    for lun in luns {
        bench.write(lun, noise(LUN_BYTES));
    }
    bench.write("orion.lun", luns.iter().map(|lun| format!("{lun}\n")).collect::<String>());
    bench
}

/// Data without zeros in it.
fn noise(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| u8::try_from(at * 31 % 251).unwrap() + 1).collect()
}

/// The shortest test with these options besides.
fn point(bench: &Bench, further: &[&str]) -> Said {
    bench.iostone(&[&POINT[..], &["-duration", "1"], further].concat())
}

/// The names of everything that tests left, without what differs between them.
fn results(bench: &Bench, test_name: &str) -> Vec<String> {
    let begin = format!("{test_name}_2");
    let names = bench.names().into_iter().filter(|name| name.starts_with(&begin));
    names
        .map(|name| name["name_20261122_0730_".len() - "name".len() + test_name.len()..].to_owned())
        .collect()
}

/// The prefix of the only test that left a record.
fn prefix(bench: &Bench) -> String {
    let names = bench.names();
    let records: Vec<&str> = names.iter().filter_map(|name| name.strip_suffix("_record.jsonl")).collect();
    assert_eq!(records.len(), 1, "{names:?}");
    records[0].to_owned()
}

/// How many points a record holds.
fn recorded(bench: &Bench, prefix: &str) -> usize {
    let record = fs::read_to_string(bench.path(&format!("{prefix}_record.jsonl"))).unwrap();
    record.lines().filter(|line| line.contains("\"line\":\"point\"")).count()
}
