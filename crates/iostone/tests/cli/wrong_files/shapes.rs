//! What is wrong with the shape of a load: each contradiction at the line that can be changed.

use super::{Case, complaints, whole};
use crate::support::assert_text;

/// An experiment in a directory whose workload has these lines.
fn load(name: &'static str, lines: &str) -> Case {
    let text = format!(
        "name = \"shape\"\n\n[stack]\nvolume = {{ kind = \"directory\" }}\n\n[[factor]]\nname = \"depth\"\n\
         path = \"workload.numjobs\"\nvalues = [1, 2]\n\n[workload]\nkind = \"io\"\nsize = \"64MiB\"\nruntime = \"1s\"\n\
         {lines}\n\n[decide]\nmetric = \"iops\"\nbaseline = \"1\"\n"
    );
    whole(name, text)
}

#[test]
fn blocks_and_orders_that_contradict_are_refused() {
    assert_text(
        "wrong_shapes",
        &complaints(vec![
            load("an unknown order", "rw = \"randomrw\""),
            load("a share of reads without a mix", "rw = \"randread\"\nrwmixread = 70"),
            load("more than all reads", "rw = \"randrw\"\nrwmixread = 170"),
            load("a size and a split", "rw = \"randread\"\nbs = \"4KiB\"\nbssplit = \"4KiB/60:64KiB/40\""),
            load("a split that is not whole", "rw = \"randread\"\nbssplit = \"4KiB/60:64KiB/30\""),
            load("a split without shares", "rw = \"randread\"\nbssplit = \"4KiB:64KiB\""),
            load("a range that runs backwards", "rw = \"randread\"\nbsrange = \"64KiB-4KiB\""),
            load("a range with direct", "rw = \"randread\"\nbsrange = \"100B-4KiB\"\ndirect = true"),
            load("a range of a wrong unit", "rw = \"randread\"\nbsrange = \"4KiB-8s\""),
            load(
                "what is no whole number of blocks",
                "rw = \"randread\"\nbs = \"12KiB\"\nio_size = \"64MiB\"",
            ),
            load("an offset that is not aligned", "rw = \"randread\"\noffset = \"100B\"\ndirect = true"),
            load("a skew in sequence", "rw = \"write\"\nrandom_distribution = \"zipf:1.2\""),
            load("a zipf of 1", "rw = \"randread\"\nrandom_distribution = \"zipf:1\""),
            load(
                "zones that leave out a part",
                "rw = \"randread\"\nrandom_distribution = \"zoned:60/10:30/20\"",
            ),
            load("an unknown distribution", "rw = \"randread\"\nrandom_distribution = \"uniform\""),
            load("a distribution that is a number", "rw = \"randread\"\nrandom_distribution = 1.2"),
            load("no map in sequence", "rw = \"read\"\nnorandommap = true"),
        ]),
    );
}

#[test]
fn paces_that_contradict_are_refused() {
    assert_text(
        "wrong_paces",
        &complaints(vec![
            load("two kinds of rate", "rw = \"randread\"\nrate_iops = 100\nrate = \"1MB/s\""),
            load("a mix beside a rate", "rw = \"randrw\"\nrwmixread = 70\nrate_iops = 2000"),
            load("two rates of one direction", "rw = \"randread\"\nrate_iops = \"1400,600\""),
            load("a rate of nothing", "rw = \"randread\"\nrate_iops = 0"),
            load("a rate that is no number", "rw = \"randread\"\nrate_iops = \"fast\""),
            load("a rate that is no whole number", "rw = \"randread\"\nrate_iops = 0.5"),
            load("a rate without a unit", "rw = \"randread\"\nrate = 1000"),
            load("a rate of a size", "rw = \"randread\"\nrate = \"40MB\""),
            load("arrivals without a rate", "rw = \"randread\"\nrate_process = \"poisson\""),
            load("unknown arrivals", "rw = \"randread\"\nrate_iops = 100\nrate_process = \"constant\""),
            load("when to pause, not for how long", "rw = \"randread\"\nthinktime_blocks = 8"),
            load("pauses after nothing", "rw = \"randread\"\nthinktime = \"1ms\"\nthinktime_blocks = 0"),
            load("a limit of no time", "rw = \"randread\"\nmax_latency = \"0s\""),
        ]),
    );
}

#[test]
fn data_that_contradicts_is_refused() {
    assert_text(
        "wrong_data",
        &complaints(vec![
            load("a mapping with depth", "rw = \"randread\"\nengine = \"mmap\"\niodepth = 8"),
            load("a mapping past the cache", "rw = \"randread\"\nengine = \"mmap\"\ndirect = true"),
            load("a mapping with flags", "rw = \"randwrite\"\nengine = \"mmap\"\nflags = [\"dsync\"]"),
            load("an unknown flag", "rw = \"randwrite\"\nflags = [\"odsync\"]"),
            load("a flag twice", "rw = \"randwrite\"\nflags = [\"dsync\", \"dsync\"]"),
            load("a durable read", "rw = \"randread\"\nflags = [\"dsync\"]"),
            load("an atomic write through the cache", "rw = \"randwrite\"\nflags = [\"atomic\"]"),
            load("a discard that syncs", "rw = \"trim\"\nfdatasync = 1"),
            load("a sync of ranges without a number", "rw = \"write\"\nsync_file_range = \"write\""),
            load("discards that are verified", "rw = \"trimwrite\"\nverify = \"crc32c\""),
            load("reads that are verified", "rw = \"randread\"\nverify = \"crc32c\""),
            load("an unknown checksum", "rw = \"randwrite\"\nverify = \"md5\""),
            load("blocks too small to be verified", "rw = \"randwrite\"\nbs = \"64B\"\nverify = \"crc32c\""),
            load(
                "duplicates that are verified",
                "rw = \"randwrite\"\ndedupe_percentage = 30\nverify = \"crc32c\"",
            ),
            load("more than all compresses", "rw = \"randwrite\"\nbuffer_compress_percentage = 101"),
            load("a chunk of what does not compress", "rw = \"randwrite\"\nbuffer_compress_chunk = \"4KiB\""),
        ]),
    );
}
