//! Exports, read back by the programs that they are for: pyarrow, Polars, `DuckDB`, Prometheus' parser, benchstat, Otava.
//!
//! `tests/install-readers.sh` puts them below `target/readers`; the test is skipped by name without them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lab::{Lab, UNGATED};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/exports/read_back.py");

/// Where the readers are.
fn readers() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    std::env::var_os("IOSTONE_TEST_READERS").map_or_else(|| target.join("readers"), PathBuf::from)
}

/// An experiment with levels that are text of every kind to a table, each trial over in a tenth of a second.
const EXPERIMENT: &str = r#"name = "NAME"
[stack]
volume = { kind = "directory" }
[[factor]]
name = "load"
levels = { "-O2" = { workload.bs = "4KiB" }, "a \"b\"" = { workload.bs = "8KiB" } }
[workload]
kind = "io"
rw = "randwrite"
size = "1MiB"
runtime = "50ms"
[decide]
metric = "iops"
baseline = "-O2"
blocks = { min = 6, max = 6 }
"#;

#[test]
fn exports_are_read_back_bit_by_bit() {
    let readers = readers();
    let python = readers.join("bin/python");
    if !python.exists() {
        eprintln!("skipped: needs the readers that `tests/install-readers.sh` installs");
        return;
    }
    let lab = Lab::new();
    let run = |arguments: &[&str]| {
        let said = lab.iostone(arguments).output().unwrap();
        assert!(said.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&said.stderr));
    };
    for name in ["first", "first", "other"] {
        lab.write("experiment.toml", &format!("{EXPERIMENT}{UNGATED}").replace("NAME", name));
        run(&["run", "experiment.toml", "--json"]);
    }
    for (format, file) in [
        ("csv", "one.csv"),
        ("csv-wide", "wide.csv"),
        ("parquet", "one.parquet"),
        ("json", "one.json"),
        ("openmetrics", "one.prom"),
        ("bencher", "one.bmf.json"),
        ("go", "one.go"),
    ] {
        run(&["export", "latest", "--format", format, "--output", file]);
    }
    run(&["export", "--all", "--format", "parquet", "--output", "all"]);
    run(&["export", "--all", "--format", "otava", "--output", "history", "--experiment", "first"]);
    let mut command = Command::new(&python);
    command.arg(SCRIPT).arg(lab.path());
    let benchstat = readers.join("bin/benchstat");
    if benchstat.exists() {
        command.env("BENCHSTAT", benchstat);
    }
    let said = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert!(said.status.success(), "{stdout}\n{stderr}");
    eprintln!("{stdout}");
}
