//! A long JSON+ log of fio is read in little memory; alone in its program, since it looks at that program's memory.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its own functions as well")]

use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufReader, Read};

use iostone_tools::{Input, find};

/// What the log is long, unless `IOSTONE_FIO_LOG_MIB` says otherwise.
const LOG_MIB: u64 = 48;

/// What the program may grow by: a little, and an eighth of the log for what was read of its jobs.
fn most_growth_kib(mib: u64) -> u64 {
    (8 + mib / 8) << 10
}

/// JSON+ of many jobs, made while it is read.
struct Log {
    job: Vec<u8>,
    /// What is being handed out, and how much of it was.
    piece: Vec<u8>,
    at: usize,
    jobs_left: u64,
    ended: bool,
}

impl Log {
    fn new(bytes: u64) -> (Self, u64) {
        let job = job();
        let jobs = bytes / job.len() as u64;
        let head = b"fio: a warning before it\n{\"fio version\" : \"fio-3.33\",\n\"jobs\" : [\n".to_vec();
        (Self { job, piece: head, at: 0, jobs_left: jobs, ended: false }, jobs)
    }

    /// The next piece; none at the end.
    fn go_on(&mut self) -> bool {
        self.at = 0;
        if self.jobs_left > 0 {
            self.jobs_left -= 1;
            self.piece.clone_from(&self.job);
            if self.jobs_left > 0 {
                self.piece.extend(b",\n");
            }
            return true;
        }
        if std::mem::replace(&mut self.ended, true) {
            self.piece.clear();
        } else {
            self.piece = b"],\n\"disk_util\" : []\n}\n".to_vec();
        }
        !self.piece.is_empty()
    }
}

/// A job with every bin that a direction can have.
fn job() -> Vec<u8> {
    let bins = |text: &mut String| {
        for bin in 0..1800u64 {
            let comma = if bin == 0 { "" } else { "," };
            write!(text, "{comma}\n\"{}\" : {}", bin * bin * 977, bin % 7 + 1).unwrap();
        }
    };
    let mut text = "{\"jobname\" : \"job\", \"groupid\" : 0, \"error\" : 0,\n".to_owned();
    for way in ["read", "write"] {
        write!(text, "\"{way}\" : {{\"io_bytes\" : 4096, \"io_kbytes\" : 4, \"bw_bytes\" : 4096, \"bw\" : 4, \"iops\" : 1.0, ")
            .unwrap();
        text.push_str(
            "\"runtime\" : 1000, \"total_ios\" : 1, \"clat_ns\" : {\"max\" : 9, \"mean\" : 5.0, \"N\" : 1,",
        );
        text.push_str("\"percentile\" : {\"50.000000\" : 5, \"90.000000\" : 6, \"99.000000\" : 7, ");
        text.push_str("\"99.900000\" : 8, \"99.990000\" : 9}, \"bins\" : {");
        bins(&mut text);
        text.push_str("}}},\n");
    }
    text.push_str("\"usr_cpu\" : 1.0, \"sys_cpu\" : 2.0}");
    text.into_bytes()
}

impl Read for Log {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.piece.len() && !self.go_on() {
            return Ok(0);
        }
        let taken = (&self.piece[self.at..]).read(out)?;
        self.at += taken;
        Ok(taken)
    }
}

/// The most memory that this program ever had.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_long_log_is_read_in_little_memory() {
    let mib = std::env::var("IOSTONE_FIO_LOG_MIB").map_or(LOG_MIB, |mib| mib.parse().unwrap());
    let (log, jobs) = Log::new(mib << 20);
    let before = peak_kib();
    let reading = find("fio").unwrap().read(&mut Input::new("long.json", BufReader::new(log))).unwrap();
    let growth = peak_kib() - before;
    assert_eq!(reading.observations.len() as u64, jobs);
    assert_eq!(reading.observations[0].value("read.latency_p99"), Some(7.0 * 1e-9));
    assert!(growth < most_growth_kib(mib), "{growth} KiB more for {mib} MiB");
}
