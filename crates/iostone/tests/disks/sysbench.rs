//! sysbench through the binary: figures are those that it prints, its files are laid out before and gone after.

use crate::lab::{Lab, needs_root, needs_tool};
use crate::tools::{experiment, figure, raw, rehearsed};

/// The number behind a label in sysbench's report.
#[track_caller]
fn printed(report: &str, label: &str) -> f64 {
    let line = report.lines().find(|line| line.trim_start().starts_with(label)).unwrap();
    line.rsplit(' ').next().unwrap().trim_end_matches('s').parse().unwrap()
}

#[test]
fn the_figures_of_a_file_test_are_those_that_sysbench_prints() {
    needs_root!();
    needs_tool!("sysbench");
    let lab = Lab::new();
    let workload = "kind = \"sysbench\"\ntest = \"fileio\"\nfile_test_mode = \"rndrw\"\nfile_total_size = \"16MiB\"\n\
                    file_num = 4\nthreads = 2\nseconds = 1";
    for trial in rehearsed(&lab, &experiment("small-sysbench", "writes", workload)) {
        let report = raw(&lab, &trial, "stdout.txt");
        for (name, label) in [("reads", "reads/s:"), ("writes", "writes/s:"), ("fsyncs", "fsyncs/s:")] {
            assert!((figure(&trial, name) - printed(&report, label)).abs() < 1e-9, "{name}");
        }
        let mib = |label| printed(&report, label) * 1_048_576.0;
        assert!((figure(&trial, "read.throughput") - mib("read, MiB/s:")).abs() < 1e-3);
        assert!((figure(&trial, "write.throughput") - mib("written, MiB/s:")).abs() < 1e-3);
        let p95 = printed(&report, "95th percentile:");
        assert!((figure(&trial, "latency_p95") * 1e3 - p95).abs() < 1e-9);
        assert!((figure(&trial, "wall_time") - printed(&report, "total time:")).abs() < 1e-9);
        assert!(trial["workload"]["facts"]["laid_out"].as_str().unwrap().contains("sysbench prepare"));
        assert!(!trial["workload"]["latency_histogram"].as_array().unwrap().is_empty());
    }
}

#[test]
fn the_cpu_test_counts_events() {
    needs_root!();
    needs_tool!("sysbench");
    let lab = Lab::new();
    let workload = "kind = \"sysbench\"\ntest = \"cpu\"\nseconds = 1\ncpu_max_prime = 5000";
    for trial in rehearsed(&lab, &experiment("small-cpu", "events", workload)) {
        let report = raw(&lab, &trial, "stdout.txt");
        assert!((figure(&trial, "events") - printed(&report, "events per second:")).abs() < 1e-9);
    }
}
