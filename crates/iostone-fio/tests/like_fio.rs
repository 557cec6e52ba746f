//! The same text given to fio itself: what it takes and what numbers it reads.
//!
//! Skipped where fio is not installed. Options that its version does not know are not asked about.

use std::process::Command;

use crate::support::read_text;
use iostone_fio::values::Portion;
use iostone_model::units::{Bytes, Span};

/// fio's view of a job file: whether it takes it, and what it says while it reads; none where there is no fio.
fn ask_fio(text: &str) -> Option<(bool, String)> {
    let folder = tempfile::tempdir().expect("a folder for the job file");
    let path = folder.path().join("job.fio");
    std::fs::write(&path, text).expect("the folder is new");
    let output = Command::new("fio").arg("--parse-only").arg("--debug=parse").arg(&path).output().ok()?;
    Some((output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned()))
}

const SKIPPED: &str = "skipped: needs fio";

fn job(line: &str) -> String {
    format!("[job]\nsize=1g\n{line}\n")
}

/// The numbers that fio read for an option, in order.
fn numbers(log: &str, option: &str) -> Vec<i128> {
    let mark = format!("__handle_option={option},");
    let lines: Vec<&str> = log.lines().collect();
    let outs = lines.windows(2).filter(|pair| pair[0].contains(&mark));
    outs.filter_map(|pair| pair[1].split_once("out=").and_then(|(_, number)| number.trim().parse().ok()))
        .collect()
}

/// Lines that both take.
const BOTH_TAKE: &[&str] = &[
    "bs=4k,8k",
    "bs=4k,",
    "bs=,8k",
    "bsrange=1k-4k",
    "bsrange=1k-4k,8k-16k",
    "rw=randrw",
    "rw=randread:8",
    "rw=read:-8k",
    "readwrite=trimwrite",
    "bssplit=4k/10:64k/50:32k/40",
    "bssplit=4k/50:1k/:2k/",
    "rate=1m,500k",
    "rate=,500k",
    "rate=500k,",
    "runtime=30",
    "timeout=30s",
    "time_based",
    "time_based=1",
    "time_based=0",
    "norandommap",
    "random_distribution=zipf:1.2",
    "random_distribution=zipf:1.2:0.5",
    "random_distribution=pareto:0.9",
    "random_distribution=normal:30",
    "random_distribution=zoned:60/10:30/20:8/30:2/40",
    "random_distribution=zoned:50/5:30/15:20/",
    "random_distribution=zoned_abs:60/20G:40/100G",
    "percentage_random=50,60,70",
    "file_service_type=random:8",
    "file_service_type=zipf:1.2",
    "size=20%",
    "io_size=20%",
    "offset=20%",
    "filesize=1m-2m",
    "startdelay=5-10",
    "percentile_list=1:50:99.9",
    "sync_file_range=wait_before,write:8",
    "verify_pattern=0xff%o\"abcd\"-12",
    "buffer_pattern=0xdeadface",
    "steadystate=iops:2%",
    "ss=bw_slope:1m",
    "thinktime=1ms",
    "max_latency=10ms",
    "continue_on_error=io",
    "cpus_allowed=0",
    "log_avg_msec=500",
    "stonewall",
    "wait_for_previous",
    "group_reporting",
    "direct=1",
    "sync=dsync",
    "fallocate=keep",
    "write_bw_log",
    "write_bw_log=x",
    "iodepth=4k",
    "thread",
    "threads=1",
    "rate_process=poisson",
    "verifysort=1",
    "loops=3",
];

/// Lines that both refuse.
const BOTH_REFUSE: &[&str] = &[
    "nosuch=1",
    "bs",
    "bs=",
    "bs=k",
    "direct",
    "direct=true",
    "direct=2",
    "iodepth=0",
    "rw=randwrote",
    "rw=RANDREAD",
    "time_based=",
    "rwmixread=101",
    "rwmixcycle=1",
    "bsrange=4k",
    "random_distribution=gauss:1",
    "random_distribution=zipf:1",
    "random_distribution=pareto:1",
    "random_distribution=zoned:50/50",
    "random_distribution=zipf:1.2:2",
    "file_service_type=zipf=1.2",
    "hipri",
    "userspace_reap",
    "verify=md6",
    "buffer_pattern=abc",
    "buffer_pattern=\"abc",
    "verify_pattern=%x",
    "steadystate=speed:1%",
    "steadystate=iops:x%",
    "percentile_list=101",
    "continue_on_error=maybe",
    "log_entries=5",
    "kb_base=1001",
    "nice=100",
];

/// Lines of which fio reads something else than is written, and says nothing.
const ONLY_WE_REFUSE: &[&str] = &[
    "bs= 4k",
    "size=1.5g",
    "runtime=1min",
    "bs=4k,foo",
    "bsrange=1k-4k/8k-16k",
    "rate=1,2,3,4",
    "bs=4q",
    "bssplit=4k/80:8k/80",
    "numjobs=0",
];

#[test]
fn fio_takes_and_refuses_the_same_lines() {
    let taken: Vec<String> = BOTH_TAKE.iter().chain(ONLY_WE_REFUSE).map(|line| job(line)).collect();
    let Some((taken, log)) = ask_fio(&taken.concat()) else {
        return eprintln!("{SKIPPED}");
    };
    assert!(taken, "{log}");
    for line in BOTH_REFUSE {
        let Some((taken, log)) = ask_fio(&job(line)) else {
            return eprintln!("{SKIPPED}");
        };
        assert!(!taken, "fio takes {line}\n{log}");
    }
    for line in BOTH_TAKE {
        assert!(read_text(&job(line)).is_ok(), "{line}: {:?}", read_text(&job(line)).err());
    }
    for line in BOTH_REFUSE.iter().chain(ONLY_WE_REFUSE) {
        assert!(read_text(&job(line)).is_err(), "{line}");
    }
}

#[test]
fn sizes_are_the_numbers_that_fio_reads() {
    let suffixes =
        ["", "b", "k", "K", "kb", "KiB", "ki", "m", "MB", "mib", "g", "GiB", "t", "tb", "TiB", "p", "pib"];
    for base in ["1024", "1000"] {
        let texts: Vec<String> = suffixes
            .iter()
            .flat_map(|suffix| ["1", "7", "4096", "12"].map(|number| format!("{number}{suffix}")))
            .chain(["0x1000", "0XfF", "0x89", "+5k"].map(str::to_owned))
            .collect();
        let lines: Vec<String> = texts.iter().map(|text| format!("size={text}")).collect();
        let head = format!("[job]\nkb_base={base}\n");
        let Some((taken, log)) = ask_fio(&format!("{head}{}\n", lines.join("\n"))) else {
            return eprintln!("{SKIPPED}");
        };
        assert!(taken, "{log}");
        let theirs = numbers(&log, "size");
        assert_eq!(theirs.len(), texts.len());
        for (text, theirs) in texts.iter().zip(theirs) {
            let ours = read_text(&format!("{head}size={text}\n")).unwrap().sections[0].options.size;
            assert_eq!(
                ours,
                Some(Portion::Bytes(Bytes(u64::try_from(theirs).unwrap()))),
                "{text} under {base}"
            );
        }
    }
}

#[test]
fn times_are_the_numbers_that_fio_reads() {
    let texts = ["5", "30s", "2m", "1h", "1d", "500ms", "20us", "20usec", "7msec", "3S", "4M", "0"];
    let lines: Vec<String> = texts.iter().map(|text| format!("runtime={text}")).collect();
    let Some((taken, log)) = ask_fio(&format!("[job]\n{}\n", lines.join("\n"))) else {
        return eprintln!("{SKIPPED}");
    };
    assert!(taken, "{log}");
    // fio's default comes first where it prints it.
    let theirs = numbers(&log, "runtime");
    let theirs = &theirs[theirs.len() - texts.len()..];
    for (text, theirs) in texts.iter().zip(theirs) {
        let ours = read_text(&format!("[job]\nruntime={text}\n")).unwrap().sections[0].options.runtime;
        let ours = ours.map(|Span(time)| time.as_micros());
        assert_eq!(ours, u128::try_from(*theirs).ok(), "{text}");
    }
}
