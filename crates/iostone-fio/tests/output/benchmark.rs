//! A benchmark in the layout of bench-fio, for fio-plot to draw.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use iostone_engine::{Job, Outcome, prepare, run_together, uring_available};
use iostone_fio::output::{
    Detail, DiskWatch, FIO_VERSION, LogFile, LogRequest, Reported, Session, logs_of, write_json,
};
use iostone_model::load::{IoEngine, Rw};
use iostone_model::units::{Bytes, Span};

const DEPTHS: [u32; 4] = [1, 4, 16, 64];
const CLONES: [u32; 2] = [1, 2];

/// Runs one load and leaves its results as bench-fio would have.
fn measure(folder: &Path, target: &Path, rw: Rw, depth: u32, clones: u32, seconds: u64) {
    let mut job = Job::new(target, rw);
    job.size = Some(Bytes(64 << 20));
    job.runtime = Some(Span(Duration::from_secs(seconds)));
    (job.engine, job.iodepth, job.direct) = (IoEngine::IoUring, depth, true);
    let jobs = vec![job; clones as usize];
    let prepared = jobs.iter().map(|job| prepare(job).unwrap()).collect();
    let watch = DiskWatch::start([target]);
    let outcomes: Vec<Outcome> = run_together(prepared, &AtomicBool::new(false), &mut |_| ()).unwrap();
    let word = rw.word();
    let options: Vec<(String, String)> = [
        ("rw", word.to_owned()),
        ("bs", "4k".to_owned()),
        ("iodepth", depth.to_string()),
        ("numjobs", clones.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let reported =
        |(job, outcome)| Reported { options: options.clone(), ..Reported::new(word, job, outcome) };
    let session = Session {
        version: FIO_VERSION,
        finished: jiff::Zoned::now(),
        elapsed: Duration::from_secs(seconds),
        global_options: vec![("ioengine".to_owned(), "io_uring".to_owned())],
        jobs: jobs.iter().zip(&outcomes).map(reported).collect(),
        disk_util: watch.finish(),
    };
    let json = write_json(&session, Detail::JsonPlus);
    fs::write(folder.join(format!("{word}-{depth}-{clones}.json")), json).unwrap();
    let prefix = format!("{word}-iodepth-{depth}-numjobs-{clones}");
    let file = LogFile { prefix, window: Duration::from_millis(200) };
    for (number, outcome) in (1..).zip(&outcomes) {
        let request = LogRequest {
            bandwidth: Some(file.clone()),
            iops: Some(file.clone()),
            latency: Some(file.clone()),
            number,
            ..LogRequest::default()
        };
        for log in logs_of(&request, outcome).unwrap() {
            fs::write(folder.join(log.path), log.lines).unwrap();
        }
    }
}

/// What fio-plot is asked to draw of folders with benchmarks.
const CHARTS: [(&str, &[&str]); 7] = [
    ("depths", &["-r", "randread", "-l", "--show-cpu", "-d", "1", "4", "16", "64", "-n", "1"]),
    ("clones", &["-r", "randread", "-N", "-d", "4", "-n", "1", "2"]),
    ("surface", &["-r", "randread", "-L", "-t", "iops", "-d", "1", "4", "16", "64", "-n", "1", "2"]),
    ("latencies", &["-r", "randread", "-H", "-d", "16", "-n", "1"]),
    ("writes", &["-r", "randrw", "-f", "write", "-l", "-d", "1", "4", "16", "64", "-n", "1"]),
    ("time", &["-r", "randread", "-g", "-t", "iops", "lat", "bw", "-d", "4", "16", "-n", "1"]),
    ("mixed", &["-r", "randrw", "-f", "read", "write", "-g", "-t", "iops", "clat", "-d", "16", "-n", "2"]),
];

#[test]
#[ignore = "takes a minute; needs fio-plot on the path"]
fn fio_plot_draws_what_is_written() {
    if uring_available().is_err() || Command::new("fio-plot").arg("-h").output().is_err() {
        eprintln!("skipped: needs io_uring and `fio-plot`");
        return;
    }
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fio-plot");
    let _ = fs::remove_dir_all(&root);
    let data = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folders = ["first", "second"].map(|name| root.join(name));
    for folder in &folders {
        fs::create_dir_all(folder).unwrap();
        for depth in DEPTHS {
            for clones in CLONES {
                for rw in [Rw::RandRead, Rw::RandRw] {
                    measure(folder, &data.path().join("data"), rw, depth, clones, 2);
                }
            }
        }
    }
    for (name, arguments) in CHARTS {
        draw(&root, name, &folders[..1], arguments);
    }
    draw(&root, "compared", &folders, &["-r", "randread", "-C", "-d", "16", "-n", "1"]);
}

fn draw(root: &Path, name: &str, folders: &[std::path::PathBuf], arguments: &[&str]) {
    let chart = root.join(format!("{name}.png"));
    let output = Command::new("fio-plot")
        .arg("-i")
        .args(folders)
        .args(["-T", name, "-s", "iostone", "-o"])
        .arg(&chart)
        .args(arguments)
        .output()
        .unwrap();
    let told =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && chart.exists(), "{name}: {told}");
}
