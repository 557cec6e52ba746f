//! Workload shapes: which blocks, of which size, in which direction, how often, after which pauses.

use std::collections::BTreeMap;
use std::fs;

use super::{bytes, filled, ios, job, jobs};
use crate::support::Bench;

const MIB: u64 = 1 << 20;

#[test]
fn a_mix_has_exactly_its_share_of_reads_in_every_hundred() {
    let bench = Bench::new();
    for (rw, percent) in [("randrw", 70), ("rw", 30), ("randrw", 1), ("randrw", 100), ("rw", 0)] {
        let share = format!("--rwmixread={percent}");
        let mixed = job(&bench, &["--filename=data", "--rw", rw, "--size=4MiB", "--number_ios=1000", &share]);
        assert_eq!(ios(&mixed), [percent * 10, 1000 - percent * 10, 0], "{rw} {percent}");
    }
    // fio's other way to say it.
    let mixed = job(
        &bench,
        &["--filename=data", "--rw=randrw", "--size=4MiB", "--number_ios=1000", "--rwmixwrite=20"],
    );
    assert_eq!(ios(&mixed), [800, 200, 0]);
}

#[test]
fn a_split_of_block_sizes_covers_the_file_once() {
    let bench = Bench::new();
    for rw in ["write", "randwrite"] {
        let split = job(&bench, &["--filename=data", "--rw", rw, "--size=8MiB", "--bssplit=4k/50:16k/50"]);
        assert_eq!(bytes(&split), [0, 8 * MIB, 0]);
        let [_, writes, _] = ios(&split);
        // Of sizes that are as frequent as each other the mean is 10 KiB; where 16 KiB do not fit any more, there is
        // less.
        assert!((780..1100).contains(&writes), "{rw}: {writes}");
        assert_eq!(filled(&fs::read(bench.path("data")).unwrap()), [(0, 8 << 20)]);
    }
}

#[test]
fn directions_have_block_sizes_of_their_own() {
    let bench = Bench::new();
    let mixed = job(
        &bench,
        &[
            "--filename=data",
            "--rw=randrw",
            "--size=4MiB",
            "--bs=4k,16k",
            "--number_ios=200",
            "--norandommap",
        ],
    );
    assert_eq!(bytes(&mixed), [100 * 4096, 100 * 16384, 0]);
}

/// How many of a file's blocks of 4 KiB are not zeros.
fn blocks_filled(bench: &Bench, name: &str) -> usize {
    let content = fs::read(bench.path(name)).unwrap();
    content.chunks(4096).filter(|block| block.iter().any(|byte| *byte != 0)).count()
}

#[test]
fn skewed_loads_come_back_to_the_same_blocks() {
    let bench = Bench::new();
    let mut reached = BTreeMap::new();
    for distribution in ["random", "zipf:1.2", "pareto:0.1", "normal:5", "zoned:90/10:10/90"] {
        let name = distribution.replace([':', '/', '.'], "-");
        let skew = format!("--random_distribution={distribution}");
        // As many I/Os as there are blocks. The file begins as a hole: nothing but the load writes to it.
        let load = ["--rw=randwrite", "--size=4MiB", "--fallocate=truncate", "--norandommap", &skew];
        let done = job(&bench, &[&["--filename", &name], &load[..]].concat());
        assert_eq!(ios(&done), [0, 1024, 0], "{distribution}");
        reached.insert(distribution, blocks_filled(&bench, &name));
    }
    // Uniform draws with replacement reach 1 - 1/e of the blocks: 647.
    assert!((600..700).contains(&reached["random"]), "{reached:?}");
    for skewed in ["zipf:1.2", "pareto:0.1", "normal:5", "zoned:90/10:10/90"] {
        assert!(reached[skewed] < 350, "{reached:?}");
    }
}

#[test]
fn without_revisits_a_random_pass_reaches_every_block() {
    let bench = Bench::new();
    let load = ["--rw=randwrite", "--size=4MiB", "--fallocate=truncate"];
    job(&bench, &[&["--filename=data"], &load[..]].concat());
    assert_eq!(blocks_filled(&bench, "data"), 1024);
    job(&bench, &[&["--filename=half", "--io_size=2MiB"], &load[..]].concat());
    assert_eq!(blocks_filled(&bench, "half"), 512);
}

#[test]
fn hot_zones_get_their_share() {
    let bench = Bench::new();
    job(
        &bench,
        &[
            "--filename=data",
            "--rw=randwrite",
            "--size=4MiB",
            "--fallocate=truncate",
            "--number_ios=300",
            "--norandommap",
            "--random_distribution=zoned:100/25:0/75",
        ],
    );
    let content = fs::read(bench.path("data")).unwrap();
    assert!(filled(&content).iter().all(|(_, end)| *end <= 1 << 20), "{:?}", filled(&content));
}

#[test]
fn a_region_is_kept_to() {
    let bench = Bench::new();
    let load = ["--offset=256KiB", "--size=128KiB", "--rw=randwrite", "--bs=4KiB"];
    let done = job(&bench, &[&["--filename=data"], &load[..]].concat());
    assert_eq!(ios(&done), [0, 32, 0]);
    assert_eq!(filled(&fs::read(bench.path("data")).unwrap()), [(256 << 10, 384 << 10)]);
}

#[test]
fn sequences_may_leave_gaps_go_backwards_and_stay_in_zones() {
    let bench = Bench::new();
    let run = |name: &str, words: &[&str]| {
        let filename = ["--filename", name, "--size=64KiB", "--fallocate=truncate"];
        job(&bench, &[&filename[..], words].concat());
        filled(&fs::read(bench.path(name)).unwrap())
    };
    let every_other: Vec<(usize, usize)> = (0..8).map(|n| (n * 8192, n * 8192 + 4096)).collect();
    assert_eq!(run("gaps", &["--rw=write:4k"]), every_other);
    // As in fio the first block comes first, and then backwards from the end.
    assert_eq!(run("back", &["--rw=write:-8k", "--number_ios=4"]), [(0, 4096), (49152, 61440)]);
    let zones = ["--rw=write", "--zonemode=strided", "--zonesize=8k", "--zonerange=8k", "--zoneskip=8k"];
    let zones = run("zones", &[&zones[..], &["--io_size=32k"]].concat());
    assert_eq!(zones, [(0, 8192), (16384, 24576), (32768, 40960), (49152, 57344)]);
}

#[test]
fn several_files_share_the_size_and_take_turns() {
    let bench = Bench::new();
    fs::create_dir(bench.path("dir")).unwrap();
    let load =
        ["--name=j", "--directory=dir", "--nrfiles=4", "--size=256KiB", "--rw=write", "--number_ios=8"];
    job(&bench, &[&load[..], &["--fallocate=truncate"]].concat());
    for number in 0..4 {
        let name = format!("dir/j.0.{number}");
        assert_eq!(filled(&fs::read(bench.path(&name)).unwrap()), [(0, 8192)], "{name}");
        assert_eq!(bench.path(&name).metadata().unwrap().len(), 64 << 10);
    }
    // One after the other instead.
    let load = ["--name=s", "--nrfiles=4", "--size=256KiB", "--rw=write", "--number_ios=20"];
    job(&bench, &[&load[..], &["--fallocate=truncate", "--file_service_type=sequential"]].concat());
    let ends: Vec<usize> = (0..4)
        .map(|number| {
            filled(&fs::read(bench.path(&format!("s.0.{number}"))).unwrap()).first().map_or(0, |run| run.1)
        })
        .collect();
    assert_eq!(ends, [64 << 10, 16 << 10, 0, 0]);
    // Two names, as `filename` lists them.
    let two = job(&bench, &["--filename=x:y", "--size=64KiB", "--rw=write"]);
    assert_eq!(ios(&two), [0, 16, 0]);
    assert_eq!(bench.path("y").metadata().unwrap().len(), 32 << 10);
}

#[test]
fn clones_have_files_of_their_own_unless_one_is_named() {
    let bench = Bench::new();
    let clones = jobs(&bench, &["--name=c", "--size=64KiB", "--rw=write", "--numjobs=3"]);
    assert_eq!(clones.iter().map(ios).collect::<Vec<_>>(), [[0, 16, 0]; 3]);
    assert_eq!(bench.names(), ["c.0.0", "c.1.0", "c.2.0"]);
    let seeds: Vec<u64> = clones.iter().map(|clone| clone["job"]["seed"].as_u64().unwrap()).collect();
    assert!(seeds[0] != seeds[1] && seeds[1] != seeds[2], "{seeds:?}");
    jobs(
        &bench,
        &[
            "--name=f",
            "--size=8KiB",
            "--rw=write",
            "--numjobs=2",
            "--filename_format=$jobname-$jobnum-$filenum.dat",
        ],
    );
    assert!(bench.path("f-0-0.dat").exists() && bench.path("f-1-0.dat").exists(), "{:?}", bench.names());
    // Each begins where the one before it has ended.
    let load = ["--filename=shared", "--size=64KiB", "--rw=write", "--numjobs=3", "--offset_increment=128k"];
    jobs(&bench, &[&load[..], &["--fallocate=truncate"]].concat());
    let runs = filled(&fs::read(bench.path("shared")).unwrap());
    assert_eq!(runs, [(0, 64 << 10), (128 << 10, 192 << 10), (256 << 10, 320 << 10)]);
}

#[test]
fn ends_by_number_by_bytes_and_by_loops() {
    let bench = Bench::new();
    let write = |words: &[&str]| {
        ios(&job(&bench, &[&["--filename=data", "--rw=write", "--size=64KiB"], words].concat()))[1]
    };
    assert_eq!(write(&["--number_ios=7"]), 7);
    assert_eq!(write(&["--number_ios=100"]), 16, "fio's `number_ios` does not prolong a pass");
    assert_eq!(write(&["--io_size=16KiB"]), 4);
    assert_eq!(write(&["--io_size=160KiB"]), 40);
    assert_eq!(write(&["--loops=3"]), 48);
    assert_eq!(write(&["--loops=3", "--number_ios=7"]), 21);
    // Without `time_based` a pass is a pass, however much time there would be.
    assert_eq!(write(&["--runtime=10"]), 16);
    let timed = write(&["--runtime=50ms", "--time_based"]);
    assert!(timed > 16, "{timed}");
}

#[test]
fn pauses_lengthen_a_job_and_change_nothing_else() {
    let bench = Bench::new();
    let load = ["--filename=data", "--rw=write", "--size=64KiB", "--thinktime=20ms", "--thinktime_blocks=4"];
    let paused = job(&bench, &load);
    assert_eq!(ios(&paused), [0, 16, 0]);
    // A pause behind each four I/Os but the last; sleeping may take longer, never shorter.
    let elapsed = paused["elapsed_seconds"].as_f64().unwrap();
    assert!(elapsed >= 0.060, "{elapsed}");
}

#[test]
fn deep_queues_are_filled() {
    let bench = Bench::new();
    if iostone_engine::uring_available().is_err() {
        eprintln!("skipped: needs io_uring");
        return;
    }
    let load = ["--filename=data", "--rw=randread", "--size=8MiB", "--iodepth=16", "--direct=1"];
    let deep = job(&bench, &load);
    assert_eq!((ios(&deep), &deep["engine"]["kind"]), ([2048, 0, 0], &"io_uring".into()));
    let levels: Vec<u64> =
        deep["depth_levels"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    assert_eq!(levels.iter().sum::<u64>(), 2048);
    assert_eq!(levels[5..], [0, 0], "no more than 16 at once");
    assert!(levels[4] > 0, "and 16 at some time: {levels:?}");
}

#[test]
fn the_content_compresses_and_repeats_as_asked() {
    let bench = Bench::new();
    let write = |words: &[&str]| {
        job(&bench, &[&["--filename=data", "--rw=write", "--size=1MiB"], words].concat());
        fs::read(bench.path("data")).unwrap()
    };
    assert!(write(&["--zero_buffers"]).iter().all(|byte| *byte == 0));
    assert!(write(&["--buffer_pattern=\"iostone!\""]).chunks(8).all(|piece| piece == b"iostone!"));
    let content = write(&["--dedupe_percentage=50", "--randseed=5"]);
    let distinct: std::collections::HashSet<&[u8]> = content.chunks(4096).collect();
    assert!((90..180).contains(&distinct.len()), "of 256 blocks {} are distinct", distinct.len());
    let content = write(&["--buffer_compress_percentage=75"]);
    // Each 512 bytes have so much of zeros at their end.
    let sparse = content.chunks(512).filter(|chunk| chunk.ends_with(&[0; 370])).count();
    assert!(sparse > 2000, "of 2048 chunks {sparse} end in zeros");
}
