//! The dbench workload against what dbench 4.00 printed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::*;
use crate::CpuUse;

/// What dbench 4.00 printed here for `-t 10 2`, some lines left out.
const LOG: &str = "\
dbench version 4.00 - Copyright Andrew Tridgell 1999-2004

Running for 10 seconds with load '/usr/share/dbench/client.txt' and minimum warmup 2 secs
0 of 2 processes prepared for launch   0 sec
2 of 2 processes prepared for launch   0 sec
releasing clients
   2     68187   767.97 MB/sec  warmup   1 sec  latency 7.234 ms
   2    217607   813.53 MB/sec  execute   1 sec  latency 5.726 ms
   2    688829   740.61 MB/sec  execute   8 sec  latency 4.918 ms
   2    756428   739.64 MB/sec  execute   9 sec  latency 15.184 ms
   2  cleanup  10 sec
   0  cleanup  10 sec

 Operation      Count    AvgLat    MaxLat
 ----------------------------------------
 NTCreateX     238201     0.018    14.601
 Close         174949     0.001     1.381
 Flush          16695     0.369     6.850

Throughput 739.641 MB/sec  2 clients  2 procs  max_latency=15.184 ms
";
/// The same on a volume of 64 MiB with 5 clients, which ended with status 1.
const FULL: &str = "\
dbench version 4.00 - Copyright Andrew Tridgell 1999-2004

Running for 12 seconds with load '/usr/share/dbench/client.txt' and minimum warmup 2 secs
5 of 5 processes prepared for launch   0 sec
releasing clients
[244] write failed on handle 9962 (No space left on device)
[184] wrote 49152 bytes, expected to write 65536 bytes on handle 9954
Child failed with status 1
";

fn spec(lines: &str) -> DbenchWorkload {
    let text = format!(
        "name = \"d\"\n[stack]\nvolume = {{ kind = \"directory\" }}\n[[factor]]\nname = \"n\"\npath = \"workload.no_resolve\"\n\
         values = [false, true]\n[workload]\nkind = \"dbench\"\n{lines}\n[decide]\nmetric = \"throughput\"\n\
         baseline = \"false\"\n"
    );
    match iostone_model::experiment::read(&text, &[])
        .map(|experiment| experiment.configurations[0].workload.clone())
    {
        Ok(iostone_model::experiment::Workload::Dbench(dbench)) => dbench,
        other => panic!("{other:?}"),
    }
}

fn measured(stdout: &str, error: Option<&str>) -> Measurement {
    let finished = Finished {
        error: error.map(str::to_owned),
        status: String::new(),
        wall: Duration::from_millis(12_100),
        cpu: CpuUse::default(),
        stdout: stdout.to_owned(),
        stderr: String::new(),
        interrupted: false,
    };
    let prepared = PreparedDbench {
        spec: spec("clients = 2\nseconds = 10"),
        version: version("4.00"),
        loadfile: LoadFile::named("/usr/share/dbench/client.txt"),
        program: Program {
            argv: vec!["dbench".to_owned()],
            directory: PathBuf::from("."),
            environment: BTreeMap::new(),
            timeout: None,
            groups: Vec::new(),
        },
    };
    prepared.measurement(&finished)
}

fn version(text: &str) -> Version {
    Version::of_banner(&format!("dbench version {text} - Copyright")).unwrap()
}

fn argv(version_text: &str, lines: &str) -> String {
    let (spec, loadfile) = (spec(lines), LoadFile::named("/l"));
    CommandLine { spec: &spec, version: &version(version_text), loadfile: &loadfile, folder: "f" }
        .argv()
        .join(" ")
}

#[test]
fn the_figure_is_that_of_the_last_line() {
    let measurement = measured(LOG, None);
    assert_eq!(measurement.report.error, None);
    assert_eq!(measurement.metrics["throughput"].to_bits(), 739.641e6f64.to_bits());
    assert!((measurement.metrics["latency_max"] - 0.015_184).abs() < 1e-9);
    assert!((measurement.metrics["Flush.latency_mean"] - 0.000_369).abs() < 1e-9);
    assert!(measurement.metrics["pass_time"] > 1.0);
    let report = &measurement.report;
    assert_eq!(report.measured_seconds.to_bits(), 9f64.to_bits());
    let claimed = report.claimed_read_bytes + report.claimed_written_bytes;
    assert!(claimed.abs_diff(6_656_769_000) < 10, "{claimed}");
    assert_eq!(report.series["throughput"].values.len(), 3);
    assert!(
        report.facts["operations"].starts_with("NTCreateX 238201 (mean 0.018 ms, maximum 14.601 ms); Close")
    );
    assert_eq!(measurement.raw[0].name, "stdout.txt");
}

#[test]
fn a_full_volume_is_told_as_such() {
    let measurement = measured(FULL, Some("`dbench` ended with status 1"));
    let error = measurement.report.error.unwrap();
    assert!(error.starts_with("the volume was full"), "{error}");
    assert!(measurement.metrics.is_empty());
    let in_part = FULL.lines().filter(|line| !line.contains("No space left")).collect::<Vec<_>>().join("\n");
    let error = measured(&in_part, Some("`dbench` ended with status 1")).report.error.unwrap();
    assert!(error.starts_with("the volume was full"), "{error}");
}

#[test]
fn a_log_without_its_last_line_yields_no_figure() {
    let cut = LOG.split("Throughput").next().unwrap();
    let measurement = measured(cut, None);
    assert!(measurement.report.error.unwrap().contains("cannot be read"));
    assert!(measurement.metrics.is_empty());
}

#[test]
fn a_client_that_fails_is_quoted() {
    let log = "dbench version 4.00 - C\n\n[3] open /x/clients/client0 failed for handle 16385 (Permission denied)\nChild failed with status 1\n";
    let error = measured(log, Some("`dbench` ended with status 1")).report.error.unwrap();
    assert!(error.contains("status 1, saying: [3] open /x/clients/client0 failed"), "{error}");
}

#[test]
fn each_version_is_asked_in_its_own_way() {
    assert_eq!(argv("4.00", "clients = 5\nseconds = 20"), "dbench --loadfile=/l -t 20 -D f 5");
    assert_eq!(
        argv(
            "5.0",
            "clients = 6\nseconds = 20\nsync = true\nclients_per_process = 2\ntarget_rate = \"10MB/s\""
        ),
        "dbench -B fileio --warmup=4 --loadfile=/l -t 20 -D f -s -R 10 --clients-per-process=2 3"
    );
}

#[test]
fn a_warm_up_that_version_4_cannot_be_told_is_refused() {
    let asked = spec("seconds = 20\nwarm_up = 10");
    let error = version("4.00").check(&asked).unwrap_err().to_string();
    assert!(error.contains("a fifth of `workload.seconds`, 4 s"), "{error}");
    version("5.0").check(&asked).unwrap();
    version("4.00").check(&spec("seconds = 20\nwarm_up = 4")).unwrap();
    assert!(version("3.04").check(&spec("")).unwrap_err().to_string().contains("4 or 5 is needed"));
}

#[test]
fn a_loadfile_that_is_not_there_is_named() {
    let error = LoadFile::of(&spec("loadfile = \"/nope\"")).unwrap_err().to_string();
    assert_eq!(error, "dbench: `workload.loadfile` names `/nope`, which is no file");
}
