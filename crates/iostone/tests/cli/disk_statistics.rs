//! `disk statistics` on saved pages, and the choice not to ask a cloud's metadata service.

use std::io::Write;
use std::process::Stdio;

use iostone_model::sample::{NvmeCounters, NvmeKind, NvmeLatencyBin, NvmeSizeClass, NvmeStatistics};
use iostone_probe::nvme::encode_page;

use crate::support::Bench;

fn bins(counts: [u32; 3]) -> Vec<NvmeLatencyBin> {
    let bounds = [(0, Some(512)), (512, Some(1024)), (1024, None)];
    let bin = |((lower_us, upper_us), count)| NvmeLatencyBin { lower_us, upper_us, count };
    bounds.into_iter().zip(counts).map(bin).collect()
}

fn volume() -> NvmeStatistics {
    NvmeStatistics {
        kind: NvmeKind::Ebs,
        version: 0,
        counters: NvmeCounters {
            reads: 100,
            writes: 200,
            read_bytes: 1 << 20,
            written_bytes: 3 << 30,
            read_time_us: 50_000,
            write_time_us: 400_000,
            volume_iops_exceeded_us: Some(1_500_000),
            volume_throughput_exceeded_us: Some(0),
            instance_iops_exceeded_us: 0,
            instance_throughput_exceeded_us: 61_000_000,
            read_latency: bins([60, 39, 1]),
            write_latency: bins([0, 0, 200]),
            by_size: Vec::new(),
        },
        queue_length: 7,
    }
}

#[test]
fn a_saved_page_is_told_in_words() {
    let bench = Bench::new();
    bench.write("page", encode_page(&volume()));
    let said = bench.iostone(&["disk", "statistics", "page"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    insta::assert_snapshot!(said.stdout, @r"
    page: EBS volume, since the volume was attached or the instance started
      reads                           100, 1.00 MiB, 500 us each
      writes                          200, 3.00 GiB, 2000 us each
      queue                           7 now
      above the volume's IOPS         1.500 s
      above the volume's throughput   0.000 s
      above the instance's IOPS       0.000 s
      above the instance's throughput 61.000 s
    latency of reads: p50 up to 512 us, p90 up to 1024 us, p99 up to 1024 us, p99.9 above 1024 us
      0 to 512 us                     60
      512 to 1024 us                  39
      above 1024 us                   1
    latency of writes: p50 above 1024 us, p90 above 1024 us, p99 above 1024 us, p99.9 above 1024 us
      above 1024 us                   200
    ");
}

#[test]
fn a_saved_page_is_told_in_json() {
    let bench = Bench::new();
    let mut disk = volume();
    disk.kind = NvmeKind::InstanceStore;
    disk.version = 1;
    disk.counters.volume_iops_exceeded_us = None;
    disk.counters.volume_throughput_exceeded_us = None;
    disk.counters.by_size =
        vec![NvmeSizeClass { largest_bytes: Some(4096), reads: vec![1, 2, 3], writes: vec![0, 0, 4] }];
    bench.write("page", encode_page(&disk));
    let said = bench.iostone(&["disk", "statistics", "page", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(told["schema"], "iostone/nvme-statistics/1");
    let read: NvmeStatistics = serde_json::from_value(told["statistics"].clone()).unwrap();
    assert_eq!(read, disk);
    let counters = &told["statistics"]["counters"];
    assert_eq!(counters.get("volume_iops_exceeded_us"), None, "unknown is absent, not zero");
    let words = bench.iostone(&["disk", "statistics", "page"]).stdout;
    assert!(
        words.contains("reads of up to 4.00 KiB: 0 to 512 us 1, 512 to 1024 us 2, above 1024 us 3"),
        "{words}"
    );
    assert!(!words.contains("above the volume's"), "{words}");
}

#[test]
fn what_is_no_page_and_no_device_is_refused() {
    let bench = Bench::new();
    bench.write("short", "x");
    bench.write("zeros", [0; 4096]);
    bench.write("page", encode_page(&volume()));
    for (arguments, reason) in [
        (
            ["short"].as_slice(),
            "the statistics of `short` cannot be understood: 1 bytes, and a page has 4096",
        ),
        (&["zeros"], "it begins with 0x00000000"),
        (&["nvme999n1"], "`/dev/nvme999n1` cannot be opened"),
        (&["/dev/null"], "`/dev/null` is not an NVMe device"),
        (&["page", "--interval", "1s"], "`page` is a saved log page, whose counters do not change"),
    ] {
        let said = bench.iostone(&[&["disk", "statistics"], arguments].concat());
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.stderr.contains(reason), "{said:?}");
    }
}

#[test]
fn a_page_comes_through_a_pipe_and_a_fifo_is_not_waited_for() {
    let bench = Bench::new();
    let mut command = bench.command(&["disk", "statistics", "/dev/stdin", "--json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&encode_page(&volume())).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["statistics"]["counters"]["reads"], 100, "{told}");
    let fifo = bench.path("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let said = bench.iostone(&["disk", "statistics", "fifo"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("`fifo` is not an NVMe device"), "{said:?}");
}

#[test]
fn the_metadata_service_can_be_left_alone() {
    let bench = Bench::new();
    for arguments in [["doctor", "--json"].as_slice(), &["doctor", "--json", "--no-metadata"]] {
        assert_eq!(bench.iostone(arguments).code, Some(0), "{arguments:?}");
    }
}
