//! Jobs for fio and the same for the engine.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use iostone_engine::{
    Checksum, Job, Outcome, Rate, SteadyLimit, SteadyOf, SteadyRule, Verify, prepare, run_together,
};
use iostone_fio::output::{DiskUtil, DiskWatch, FIO_VERSION, Percentiles, Reported, Session, Unified};
use iostone_model::load::{IoEngine, Rw};
use iostone_model::units::Bytes;

/// A job in fio's words and in the engine's.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// What fio is told beside name, file and size.
    pub(crate) arguments: &'static [&'static str],
    /// The same job, `clones` times.
    pub(crate) make: fn(&mut Job),
    pub(crate) clones: u32,
    /// How it is reported.
    pub(crate) dress: fn(&mut Reported<'_>),
}

/// What was run, with all that a report borrows.
pub(crate) struct Done {
    jobs: Vec<Job>,
    outcomes: Vec<Outcome>,
    disk_util: Vec<DiskUtil>,
    elapsed: Duration,
}

impl Case {
    fn new(
        name: &'static str,
        rw: &'static [&'static str],
        make: fn(&mut Job),
        dress: fn(&mut Reported<'_>),
    ) -> Self {
        Self { name, arguments: rw, make, clones: 1, dress }
    }

    /// Runs the job in fio; what it prints, or None where there is no fio of the version whose schema this is.
    pub(crate) fn run_fio(&self, folder: &Path, format: &str) -> Option<String> {
        let version = Command::new("fio").arg("--version").output().ok()?;
        if String::from_utf8_lossy(&version.stdout).trim() != FIO_VERSION {
            return None;
        }
        let output = Command::new("fio")
            .current_dir(folder)
            .args(["--name=case", "--filename=data", "--size=1m", "--thread"])
            .arg(format!("--numjobs={}", self.clones))
            .arg(format!("--output-format={format}"))
            .args(self.arguments)
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{}: {text}{}", self.name, String::from_utf8_lossy(&output.stderr));
        Some(text)
    }

    /// Runs the job in the engine.
    pub(crate) fn run(&self, folder: &Path) -> Done {
        let begun = Instant::now();
        let mut job = Job::new(folder.join("data"), Rw::Read);
        job.size = Some(Bytes(1 << 20));
        job.engine = IoEngine::Sync;
        (self.make)(&mut job);
        let jobs = vec![job; self.clones as usize];
        let prepared = jobs.iter().map(|job| prepare(job).unwrap()).collect();
        // Nothing reaches the targets of the engine that does nothing.
        let touched = jobs.iter().filter(|job| job.engine != IoEngine::Null);
        let watch = DiskWatch::start(touched.flat_map(|job| &job.targets));
        let outcomes = run_together(prepared, &AtomicBool::new(false), &mut |_| ()).unwrap();
        Done { jobs, outcomes, disk_util: watch.finish(), elapsed: begun.elapsed() }
    }

    pub(crate) fn report<'a>(&self, done: &'a Done) -> Session<'a> {
        let report = |(job, outcome): (&'a Job, &'a Outcome)| {
            let mut reported = Reported::new("case", job, outcome);
            reported.options = vec![("name".into(), "case".into())];
            (self.dress)(&mut reported);
            reported
        };
        Session {
            version: FIO_VERSION,
            finished: jiff::Zoned::now(),
            elapsed: done.elapsed,
            global_options: Vec::new(),
            jobs: done.jobs.iter().zip(&done.outcomes).map(report).collect(),
            disk_util: done.disk_util.clone(),
        }
    }
}

fn milliseconds(ms: u64) -> iostone_model::units::Span {
    iostone_model::units::Span(Duration::from_millis(ms))
}

/// Reported as it comes.
fn plain(_: &mut Reported<'_>) {}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = directions();
    cases.extend(reports());
    cases.extend(endings());
    if iostone_engine::uring_available().is_ok() {
        cases.extend(rings());
    }
    cases.extend(clones());
    cases
}

/// Two clones that read and write for three windows of 200 ms and half of one.
pub(crate) fn logged_case() -> Case {
    let arguments = &[
        "--rw=randrw",
        "--runtime=700ms",
        "--time_based",
        "--write_bw_log=log",
        "--write_iops_log=log",
        "--write_lat_log=log",
        "--log_avg_msec=200",
    ];
    let make = |job: &mut Job| (job.rw, job.runtime) = (Rw::RandRw, Some(milliseconds(700)));
    Case { clones: 2, ..Case::new("logs", arguments, make, plain) }
}

fn directions() -> Vec<Case> {
    vec![
        Case::new("read", &["--rw=read"], |job| job.rw = Rw::Read, plain),
        Case::new(
            "write with fsync",
            &["--rw=write", "--fsync=16"],
            |job| (job.rw, job.fsync) = (Rw::Write, 16),
            plain,
        ),
        Case::new("randwrite", &["--rw=randwrite"], |job| job.rw = Rw::RandWrite, plain),
        Case::new("rw", &["--rw=rw"], |job| job.rw = Rw::ReadWrite, plain),
        Case::new("randrw", &["--rw=randrw"], |job| job.rw = Rw::RandRw, plain),
        Case::new(
            "trim",
            &["--rw=trim", "--ioengine=null"],
            |job| (job.rw, job.engine) = (Rw::Trim, IoEngine::Null),
            plain,
        ),
        Case::new(
            "randtrim",
            &["--rw=randtrim", "--ioengine=null"],
            |job| (job.rw, job.engine) = (Rw::RandTrim, IoEngine::Null),
            plain,
        ),
        Case::new(
            "trimwrite",
            &["--rw=trimwrite", "--ioengine=null"],
            |job| (job.rw, job.engine) = (Rw::TrimWrite, IoEngine::Null),
            plain,
        ),
        Case::new(
            "rate",
            &["--rw=randread", "--rate_iops=2000"],
            |job| (job.rw, job.pace.rate.read) = (Rw::RandRead, Some(Rate::Iops(2000.0))),
            plain,
        ),
    ]
}

fn reports() -> Vec<Case> {
    vec![
        Case::new(
            "description and percentiles",
            &[
                "--rw=randread",
                "--description=a \"text\"",
                "--lat_percentiles=1",
                "--clat_percentiles=0",
                "--percentile_list=99.9:50",
            ],
            |job| job.rw = Rw::RandRead,
            |reported| {
                reported.description = Some("a \"text\"");
                let list = vec![99.9, 50.0];
                reported.percentiles =
                    Percentiles { submission: false, completion: false, total: true, list };
            },
        ),
        Case::new(
            "mixed",
            &["--rw=randrw", "--unified_rw_reporting=mixed"],
            |job| job.rw = Rw::RandRw,
            |reported| reported.unified = Unified::Mixed,
        ),
        Case::new(
            "both",
            &["--rw=randrw", "--unified_rw_reporting=both"],
            |job| job.rw = Rw::RandRw,
            |reported| reported.unified = Unified::Both,
        ),
    ]
}

fn endings() -> Vec<Case> {
    vec![
        Case::new(
            "errors outlived",
            &["--rw=randread", "--continue_on_error=all"],
            |job| (job.rw, job.continue_on_error) = (Rw::RandRead, true),
            plain,
        ),
        Case::new(
            "steady",
            &["--rw=randread", "--steadystate=iops:100%", "--ss_dur=2", "--runtime=6", "--time_based"],
            |job| {
                job.rw = Rw::RandRead;
                job.runtime = Some(milliseconds(6000));
                job.steady = Some(SteadyRule {
                    of: SteadyOf::Iops,
                    limit: SteadyLimit::Percent(100.0),
                    over: milliseconds(2000),
                    ramp: milliseconds(0),
                    interval: milliseconds(1000),
                });
            },
            plain,
        ),
        Case::new(
            "write for a later check",
            &["--rw=randwrite", "--verify=crc32c", "--do_verify=0"],
            |job| {
                job.rw = Rw::RandWrite;
                job.verify =
                    Some(Verify { checksum: Checksum::Crc32c, read_back: false, ..Verify::default() });
            },
            plain,
        ),
    ]
}

fn rings() -> Vec<Case> {
    vec![
        Case::new(
            "randread on a ring, timed",
            &["--rw=randread", "--ioengine=io_uring", "--iodepth=8", "--runtime=1200ms", "--time_based"],
            |job| {
                job.rw = Rw::RandRead;
                job.runtime = Some(milliseconds(1200));
                (job.engine, job.iodepth) = (IoEngine::IoUring, 8);
            },
            plain,
        ),
        Case::new(
            "randwrite on a ring",
            &["--rw=randwrite", "--ioengine=io_uring", "--iodepth=4"],
            |job| (job.rw, job.engine, job.iodepth) = (Rw::RandWrite, IoEngine::IoUring, 4),
            plain,
        ),
    ]
}

fn clones() -> Vec<Case> {
    let two = |name, arguments, dress| Case {
        clones: 2,
        ..Case::new(name, arguments, |job| job.rw = Rw::RandRead, dress)
    };
    vec![
        two("clones", &["--rw=randread"], plain),
        two("a group", &["--rw=randread", "--group_reporting"], |reported: &mut Reported<'_>| {
            reported.is_grouped = true;
        }),
    ]
}
