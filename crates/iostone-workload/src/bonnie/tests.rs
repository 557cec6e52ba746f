//! The bonnie workload against what bonnie++ 2.00a printed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::*;
use crate::CpuUse;

/// A workload with these further lines.
pub(super) fn spec(lines: &str) -> BonnieWorkload {
    let text = format!(
        "name = \"b\"\n[stack]\nvolume = {{ kind = \"directory\" }}\n[[factor]]\nname = \"n\"\npath = \"workload.no_write_buffering\"\n\
         values = [false, true]\n[workload]\nkind = \"bonnie\"\n{lines}\n[decide]\nmetric = \"block_write\"\n\
         baseline = \"false\"\n"
    );
    match iostone_model::experiment::read(&text, &[])
        .map(|experiment| experiment.configurations[0].workload.clone())
    {
        Ok(iostone_model::experiment::Workload::Bonnie(bonnie)) => bonnie,
        other => panic!("{other:?}"),
    }
}

/// What bonnie++ 2.00a printed here for `-q -d . -m iostone -s 64 -r 32 -n 0 -f -x 2`, its header shortened.
const TWO_RUNS: &str = "\
format_version,bonnie_version,name,concurrency,seed,file_size,io_chunk_size,putc,putc_cpu,put_block,put_block_cpu,rewrite,rewrite_cpu,getc,getc_cpu,get_block,get_block_cpu,seeks,seeks_cpu,num_files,max_size,min_size,num_dirs,file_chunk_size,seq_create,seq_create_cpu,seq_stat,seq_stat_cpu,seq_del,seq_del_cpu,ran_create,ran_create_cpu,ran_stat,ran_stat_cpu,ran_del,ran_del_cpu,putc_latency,put_block_latency,rewrite_latency,getc_latency,get_block_latency,seeks_latency,seq_create_latency,seq_stat_latency,seq_del_latency,ran_create_latency,ran_stat_latency,ran_del_latency
1.98,2.00a,iostone,1,7,64M,,8192,5,,,+++++,+++,+++++,+++,,,+++++,+++,+++++,+++,,,,,,,,,,,,,,,,,,,27266us,9007us,,12084us,23967us,,,,,,
1.98,2.00a,iostone,1,7,64M,,8192,5,,,+++++,+++,+++++,+++,,,+++++,+++,+++++,+++,,,,,,,,,,,,,,,,,,,8126us,4379us,,8059us,24100us,,,,,,
";
/// The same for `-s 64:65536:500:3 -r 32 -n 1:1000:10:2`.
const ONE_RUN: &str = "1.98,2.00a,iostone,1,12345,64M,,500,3,584,43,115399,34,+++++,+++,996,38,+++++,+++,+++++,+++,1,1000,10,,2,+++++,+++,+++++,+++,275,2,+++++,+++,+++++,+++,325,3,191ms,28210us,8498us,104ms,10us,4181us,8188us,5067us,12017us,12159us,16124us,27421us\n";

fn finished(stdout: &str, stderr: &str, error: Option<&str>) -> Finished {
    Finished {
        error: error.map(str::to_owned),
        status: String::new(),
        wall: Duration::from_secs(19),
        cpu: CpuUse::default(),
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
        interrupted: false,
    }
}

fn measured(lines: &str, finished: &Finished) -> Measurement {
    let spec = spec(lines);
    let program = Program {
        argv: vec!["bonnie++".to_owned()],
        directory: PathBuf::from("."),
        environment: BTreeMap::new(),
        timeout: None,
        groups: Vec::new(),
    };
    PreparedBonnie { spec, file_size: Bytes(64 << 20), program, seed: 7 }.measurement(finished)
}

#[test]
fn the_figures_are_those_of_its_line_and_what_was_too_fast_is_absent_with_a_reason() {
    let measurement =
        measured("size = \"64MiB\"\nmemory = \"32MiB\"\nfiles = 1", &finished(ONE_RUN, "", None));
    assert_eq!(measurement.report.error, None);
    assert_eq!(measurement.metrics["block_write"].to_bits(), (115_399.0 * 1024.0f64).to_bits());
    assert_eq!(measurement.metrics["sequential_delete"].to_bits(), 275f64.to_bits());
    assert!((measurement.metrics["rewrite.latency_max"] - 0.008_498).abs() < 1e-9);
    assert!(measurement.report.absent["rewrite"].contains("too fast to time; raise `workload.size`"));
    assert!(measurement.report.facts["too_fast"].contains("rewrite"));
    assert!(!measurement.metrics.contains_key("rewrite"));
}

#[test]
fn a_trial_of_several_runs_has_their_medians() {
    let lines = "size = \"64MiB\"\nmemory = \"32MiB\"\nfiles = 0\nfast = true\nruns = 2";
    let measurement = measured(lines, &finished(TWO_RUNS, "", None));
    assert_eq!(measurement.report.error, None);
    assert!((measurement.metrics["block_write.latency_max"] - 0.017_696).abs() < 1e-9);
    assert!(measurement.report.facts["runs"].contains("too fast, too fast"));
    let measurement = measured(&lines.replace("runs = 2", "runs = 3"), &finished(TWO_RUNS, "", None));
    assert_eq!(measurement.report.error.as_deref(), Some("bonnie++ printed 2 runs of 3"));
}

#[test]
fn a_full_volume_and_other_refusals_are_told_in_a_sentence() {
    let full =
        finished("", "Can't write block.: No space left on device\n", Some("`bonnie++` ended with status 1"));
    let report = measured("", &full).report;
    assert_eq!(report.errno, Some(NO_SPACE));
    let error = report.error.unwrap();
    assert!(error.starts_with("the volume was full"), "{error}");
    let unknown = finished("", "Can't find user nosuch\n", Some("`bonnie++` ended with status 1"));
    let error = measured("", &unknown).report.error.unwrap();
    assert_eq!(error, "`bonnie++` ended with status 1, saying: Can't find user nosuch");
    let error = measured("", &finished("nonsense\n", "", None)).report.error.unwrap();
    assert!(
        error.contains("what bonnie++ printed cannot be read") || error.contains("0 runs of 1"),
        "{error}"
    );
}

#[test]
fn the_seed_fits_an_int() {
    assert_eq!(small_seed(u64::MAX), 0x7fff_ffff);
    assert_eq!(small_seed(1 << 40 | 5), 5);
}
