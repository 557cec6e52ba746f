//! Shapes of the experiment file reach the engine, and what it did reaches the trial.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use iostone_engine::Outcome;
use iostone_model::experiment::{Rates, Workload, read};
use iostone_model::load::{Extent, IoEngine, RateProcess, Rw, Zone};

use super::*;

const FLUSH_PRICE: &str = include_str!("../../../../experiments/flush-price.toml");

/// The workload of an experiment file on a directory, if it is one that can be carried out.
fn workload(lines: &str) -> Option<IoWorkload> {
    let (before, _) = FLUSH_PRICE.split_once("[[factor]]").unwrap();
    let text = format!(
        "{before}[[factor]]\nname = \"ramp\"\npath = \"workload.ramp_time\"\nvalues = [\"0s\", \"1ms\"]\n\n[workload]\n\
         kind = \"io\"\nsize = \"1MiB\"\n{lines}\n\n[decide]\nmetric = \"iops\"\nbaseline = \"0s\"\n"
    );
    let experiment = read(&text, &[]).ok()?;
    match &experiment.configurations[0].workload {
        Workload::Io(io) => Some((**io).clone()),
        _ => None,
    }
}

fn run(lines: &str, folder: &Path) -> (IoWorkload, Outcome) {
    let spec = workload(lines).unwrap_or_else(|| panic!("refused: {lines}"));
    let job = job(&spec, folder.join("f"), 1);
    let outcome = iostone_engine::run(&job, &AtomicBool::new(false), &mut |_| ()).unwrap();
    (spec, outcome)
}

/// A shape of each kind, with values that are neither defaults nor equal to each other.
const SHAPES: &[&str] = &[
    "rw = \"read\"",
    "rw = \"rw\"\nrwmixread = 30\nbsrange = \"4KiB-16KiB\"\nnumjobs = 2",
    "rw = \"randrw\"\nbssplit = \"4KiB/60:16KiB/40\"\nrandom_distribution = \"zipf:1.2:0.5\"",
    "rw = \"randrw\"\nrate_iops = \"1000,3000\"\nrate_process = \"poisson\"\niodepth = 4",
    "rw = \"randread\"\nrate = \"40MB/s\"\nrandom_distribution = \"normal:20\"",
    "rw = \"trim\"\noffset = \"64KiB\"",
    "rw = \"randtrim\"\nrandom_distribution = \"pareto:0.2\"",
    "rw = \"trimwrite\"\nfdatasync = 8",
    "rw = \"randtrimwrite\"\nnorandommap = true",
    "rw = \"randwrite\"\nrandom_distribution = \"zoned:60/10:30/20:10/70\"\nthinktime = \"10us\"\nthinktime_blocks = 16",
    "rw = \"write\"\nengine = \"mmap\"\nsync_file_range = \"wait_before,write:4\"\nmax_latency = \"1min\"",
    "rw = \"randwrite\"\nflags = [\"dsync\"]\nbuffer_compress_percentage = 40\ndedupe_percentage = 20",
    "rw = \"randwrite\"\nverify = \"sha256\"\nbuffer_compress_percentage = 40\nbuffer_compress_chunk = \"4KiB\"",
];

#[test]
fn every_shape_that_the_file_takes_is_run_by_the_engine() {
    for shape in SHAPES {
        let folder = tempfile::tempdir().unwrap();
        let (spec, outcome) = run(&format!("{shape}\nio_size = \"256KiB\""), folder.path());
        let measured = measurement(&spec, &outcome);
        assert_eq!(measured.report.error, None, "{shape}");
        for metric in iostone_model::metric::IO_METRICS {
            assert!(measured.metrics.contains_key(metric.name), "{} under {shape}", metric.name);
        }
        assert_eq!(measured.report.claimed_read_bytes > 0, spec.rw.reads(), "{shape}");
        assert_eq!(measured.report.claimed_written_bytes > 0, spec.rw.writes(), "{shape}");
        assert_eq!(outcome.trims.bytes.0 > 0, spec.rw.trims(), "{shape}");
    }
}

/// What the engine refuses whatever the target is, the experiment file refuses with a line and a column.
#[test]
fn file_and_engine_agree_on_what_is_refused() {
    type Change = dyn Fn(&mut IoWorkload);
    let refused_by_engine = |change: &Change| {
        let mut spec = workload("rw = \"randwrite\"\nruntime = \"1s\"").unwrap();
        change(&mut spec);
        job(&spec, "/nowhere".into(), 0).check().is_err()
    };
    let cases: &[(&str, &Change)] = &[
        ("bs = \"0B\"", &|io| io.bs = "0B".parse().ok()),
        ("bs = \"12KiB\"\nio_size = \"64KiB\"", &|io| {
            (io.bs, io.io_size) = ("12KiB".parse().ok(), "64KiB".parse().ok());
        }),
        ("iodepth = 0", &|io| io.iodepth = 0),
        ("numjobs = 0", &|io| io.numjobs = 0),
        ("engine = \"mmap\"\ndirect = true", &|io| {
            (io.engine, io.direct) = (IoEngine::Mmap, true);
        }),
        ("engine = \"mmap\"\niodepth = 2", &|io| (io.engine, io.iodepth) = (IoEngine::Mmap, 2)),
        ("engine = \"sync\"\niodepth = 2", &|io| (io.engine, io.iodepth) = (IoEngine::Sync, 2)),
        ("rate_iops = 0", &|io| io.rate_iops = Some(Rates::Each(0))),
        ("rate = \"2000GB/s\"", &|io| io.rate = "2000GB/s".parse().ok()),
        ("thinktime = \"1s\"\nthinktime_blocks = 0", &|io| {
            (io.thinktime, io.thinktime_blocks) = ("1s".parse().ok(), Some(0));
        }),
        ("buffer_compress_percentage = 101", &|io| io.buffer_compress_percentage = Some(101)),
        ("dedupe_percentage = 101", &|io| io.dedupe_percentage = 101),
        ("bs = \"64B\"\nverify = \"crc32c\"", &|io| {
            (io.bs, io.verify) = ("64B".parse().ok(), Verification::Crc32c);
        }),
        ("bsrange = \"4KiB-6KiB\"\nverify = \"crc32c\"", &|io| {
            (io.bsrange, io.verify) = ("4KiB-6KiB".parse().ok(), Verification::Crc32c);
        }),
        ("io_size = \"1KiB\"", &|io| io.io_size = "1KiB".parse().ok()),
    ];
    for (lines, change) in cases {
        assert!(refused_by_engine(change), "the engine takes {lines}");
        let lines = format!("rw = \"randwrite\"\nruntime = \"1s\"\n{lines}");
        assert!(workload(&lines).is_none(), "the file takes {lines}");
    }
}

#[test]
fn values_reach_the_job_that_they_are_meant_for() {
    let spec = |lines: &str| job(&workload(&format!("{lines}\nruntime = \"1s\"")).unwrap(), "/f".into(), 7);
    let mixed = spec("rw = \"rw\"\nrwmixread = 30\nbsrange = \"4KiB-16KiB\"");
    assert_eq!((mixed.rw, mixed.rwmixread, mixed.seed), (Rw::ReadWrite, 30, 7));
    let paced = spec("rw = \"randrw\"\nrate_iops = \"1000,3000\"\nrate_process = \"poisson\"");
    assert_eq!(paced.pace.rate.read, Some(Rate::Iops(1000.0)));
    assert_eq!((paced.pace.rate.write, paced.pace.rate.trim), (Some(Rate::Iops(3000.0)), None));
    assert_eq!(paced.pace.arrivals, RateProcess::Poisson);
    let each = spec("rw = \"trimwrite\"\nrate = \"1MB/s\"").pace.rate;
    assert_eq!((each.read, each.write), (None, Some(Rate::Bytes(BytesPerSecond(1e6)))));
    assert_eq!(each.trim, each.write);
    let hot = spec("rw = \"randread\"\nrandom_distribution = \"hot-cold:90/10\"").walk.distribution.zones();
    let zones = [(90.0, 10.0), (10.0, 90.0)]
        .map(|(access_percent, percent)| Zone { access_percent, extent: Extent::Percent(percent) });
    assert_eq!(hot, zones);
    assert_eq!(spec("rw = \"randread\"\nthinktime = \"0s\"").think, None);
}

#[test]
fn an_open_loop_says_so_and_tells_response_from_service() {
    let folder = tempfile::tempdir().unwrap();
    let lines = "rw = \"randrw\"\nrate_iops = \"2000,1000\"\nrate_process = \"poisson\"\nruntime = \"200ms\"\n\
                 random_distribution = \"zipf:1.2\"";
    let (spec, outcome) = run(lines, folder.path());
    let measured = measurement(&spec, &outcome);
    let fact = |name: &str| measured.report.facts.get(name).map(String::as_str).unwrap_or_default();
    assert_eq!(
        fact("loop"),
        "open: 2000 reads and 1000 writes a second a thread, at random (Poisson), up to 1 in flight"
    );
    assert_eq!(fact("distribution"), "zipf:1.2");
    assert!(fact("mix").contains(" % reads: "), "{}", fact("mix"));
    assert!(fact("unserved").contains(" arrivals found no room"), "{}", fact("unserved"));
    assert!(fact("cpu_per_io").contains(" µs user"), "{}", fact("cpu_per_io"));
    assert!(fact("latency").starts_with("from the intended start"), "{}", fact("latency"));
    assert!(measured.metrics["service_mean"] > 0.0);
}

#[test]
fn reads_of_a_mix_count_beside_writes_that_wait_for_their_sync() {
    let folder = tempfile::tempdir().unwrap();
    let (spec, outcome) = run("rw = \"randrw\"\nfdatasync = 1\nio_size = \"256KiB\"", folder.path());
    let counted: u64 = measurement(&spec, &outcome).report.latency_histogram.iter().map(|(_, n)| n).sum();
    assert_eq!(counted, outcome.ios());
}

#[test]
fn a_mismatch_fails_the_trial_with_its_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let (spec, mut outcome) =
        run("rw = \"randwrite\"\nverify = \"crc32c\"\nio_size = \"256KiB\"", folder.path());
    let verify = outcome.verify.as_mut().unwrap();
    assert!(verify.units_checked >= 64, "{verify:?}");
    verify.mismatch_count = 2;
    verify.mismatches = vec![iostone_engine::Mismatch {
        target: "/dev/loop0".into(),
        offset: iostone_model::units::Bytes(4096),
        at: iostone_model::units::Bytes(4100),
        kind: iostone_engine::MismatchKind::Stale,
        expected: "generation 2".to_owned(),
        found: "generation 1".to_owned(),
    }];
    let measured = measurement(&spec, &outcome);
    let error = measured.report.error.unwrap();
    assert!(error.starts_with("`/dev/loop0` has ") && error.ends_with("; and 1 more"), "{error}");
    assert!(measured.metrics.is_empty());
    assert!(measured.report.facts["verify"].contains("2 wrong"));
}
