//! Shapes that are accepted and contradictions that are refused.

use crate::experiment::{Experiment, Workload, read};

const FLUSH_PRICE: &str = include_str!("../../../../../../../experiments/flush-price.toml");

fn experiment(lines: &str) -> Result<Experiment, Vec<String>> {
    let (before, _) = FLUSH_PRICE.split_once("[[factor]]").unwrap();
    let text = format!(
        "{before}[[factor]]\nname = \"jobs\"\npath = \"workload.numjobs\"\nvalues = [1, 2]\n\n[workload]\nkind = \"io\"\n\
         size = \"64MiB\"\nruntime = \"1s\"\n{lines}\n\n[decide]\nmetric = \"service_p99\"\nbaseline = \"1\"\n"
    );
    read(&text, &[]).map_err(|errors| errors.into_iter().map(|error| error.message).collect())
}

fn refused(lines: &str) -> Vec<String> {
    experiment(lines).expect_err(lines)
}

#[test]
fn shapes_are_read() {
    for lines in [
        "rw = \"randrw\"\nrwmixread = 70\nbssplit = \"4KiB/60:64KiB/40\"\niodepth = 8",
        "rw = \"randrw\"\nrate_iops = \"1400,600\"\nrate_process = \"poisson\"\nrandom_distribution = \"zipf:1.2\"",
        "rw = \"rw\"\nrate = \"4MB/s\"\nbsrange = \"4KiB-64KiB\"",
        "rw = \"randtrimwrite\"\nrandom_distribution = \"hot-cold:90/10\"",
        "rw = \"trim\"\noffset = \"1MiB\"\ndirect = true",
        "rw = \"randwrite\"\nengine = \"mmap\"\nfdatasync = 8\nthinktime = \"1ms\"\nthinktime_blocks = 4",
        "rw = \"randwrite\"\nflags = [\"dsync\", \"dontcache\"]\nmax_latency = \"1s\"\nnorandommap = true",
        "rw = \"randwrite\"\nverify = \"crc32c\"\nbuffer_compress_percentage = 50\nbuffer_compress_chunk = \"4KiB\"",
        "rw = \"write\"\ndedupe_percentage = 30\nsync_file_range = \"write:32\"",
    ] {
        let experiment = experiment(lines).unwrap_or_else(|errors| panic!("{lines}: {errors:?}"));
        let Workload::Io(io) = &experiment.configurations[0].workload else { panic!("an io workload") };
        let text = serde_json::to_string(io).unwrap();
        assert_eq!(serde_json::from_str::<crate::experiment::IoWorkload>(&text).unwrap(), **io, "{text}");
    }
}

#[test]
fn flags_that_make_writes_durable_are_syncs() {
    let syncs = |lines: &str| experiment(lines).unwrap().configurations[0].workload.syncs();
    assert!(syncs("rw = \"randwrite\"\nflags = [\"dsync\"]"));
    assert!(syncs("rw = \"randrw\"\nflags = [\"sync\"]"));
    assert!(!syncs("rw = \"randwrite\"\nflags = [\"nowait\"]"));
    assert!(!syncs("rw = \"randwrite\"\nsync_file_range = \"write:1\""));
}

#[test]
fn only_what_must_reach_the_device_is_held_against_it() {
    let must = |lines: &str| match &experiment(lines).unwrap().configurations[0].workload {
        Workload::Io(io) => io.must_reach_device(),
        _ => unreachable!(),
    };
    assert!(must("rw = \"randrw\"\ndirect = true"));
    assert!(must("rw = \"randwrite\"\nfdatasync = 8"));
    assert!(must("rw = \"randwrite\"\nflags = [\"dsync\"]\nnorandommap = true"));
    // The reads may come from the cache; two writes of one block before a sync are one to the device.
    assert!(!must("rw = \"randrw\"\nfdatasync = 1"));
    assert!(!must("rw = \"randwrite\"\nfdatasync = 8\nrandom_distribution = \"zipf:1.2\""));
    assert!(!must("rw = \"randwrite\""));
}

#[test]
fn a_mix_at_a_rate_is_given_as_two_rates() {
    assert_eq!(
        refused("rw = \"randrw\"\nrwmixread = 70\nrate_iops = 2000"),
        ["`rwmixread` and `rate_iops` both set the share of reads"]
    );
    let factor = "rw = \"randread\"\nrate_iops = \"1400,600\"";
    assert_eq!(refused(factor), ["`rw = \"randread\"` does not mix reads and writes"]);
}

#[test]
fn a_mapping_has_one_request_in_flight_and_the_page_cache_only() {
    let lines = "rw = \"randwrite\"\nengine = \"mmap\"\niodepth = 2\ndirect = true\nsync = \"dsync\"\nflags = [\"dsync\"]";
    assert_eq!(
        refused(lines),
        [
            "a mapping cannot keep 2 requests in flight",
            "mmap I/O always uses the page cache",
            "`sync` has no effect on mmap stores",
            "mmap I/O has no requests to flag",
        ]
    );
}

#[test]
fn what_is_moved_is_whole_blocks_where_all_blocks_are_alike() {
    assert_eq!(
        refused("rw = \"randread\"\nbs = \"12KiB\"\nio_size = \"64MiB\""),
        ["64MiB is not a multiple of the block size of 12KiB"]
    );
    experiment("rw = \"randread\"\nbsrange = \"4KiB-12KiB\"\nio_size = \"64MiB\"").unwrap();
    // Of a file only the whole blocks are used.
    experiment("rw = \"randread\"\nbs = \"12KiB\"").unwrap();
    assert_eq!(
        refused("rw = \"read\"\nbs = \"64MiB\""),
        ["64MiB is less than 2 blocks of 64MiB, one for each job"]
    );
    experiment("rw = \"randread\"\nbs = \"64MiB\"").unwrap();
}
