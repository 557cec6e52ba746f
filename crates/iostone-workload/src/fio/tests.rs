//! Jobs that are let through or refused, and what becomes of fio's output.

use std::sync::atomic::AtomicBool;

use super::guard::check;
use super::*;

fn spec(job: &str) -> FioWorkload {
    FioWorkload {
        job_file: None,
        job: Some(job.to_owned()),
        sections: Vec::new(),
        program: FioProgram::default(),
        timeout: None,
    }
}

fn refusal(job: &str) -> String {
    match check(&spec(job)) {
        Err(WorkloadError::Refused(message)) => message,
        other => panic!("{job}: {other:?}"),
    }
}

#[test]
fn a_job_may_only_touch_files_of_the_trial() {
    for (line, why) in [
        ("filename=/dev/sda", "an absolute path"),
        ("filename=a:/etc/passwd", "an absolute path"),
        ("filename=../x", "climbs out"),
        ("filename=a/../../x", "climbs out"),
        ("filename=${HOME}/x", "a variable could lead anywhere"),
        ("filename=-", "is no file"),
        ("directory = /tmp", "an absolute path"),
        ("opendir=/usr", "an absolute path"),
        ("filename_format=../$jobname", "climbs out"),
        ("write_bw_log=/tmp/x", "an absolute path"),
        ("write_iolog=../x", "climbs out"),
        ("mem=mmap:/dev/sda", "an absolute path"),
        ("iomem=mmapshared:/etc/passwd", "an absolute path"),
        ("exec_prerun=rm -rf x", "a shell's line"),
        ("exec_postrun=true", "a shell's line"),
        ("ioscheduler=none", "stack.queue"),
        ("read_iolog=x", "files and devices of its own"),
        ("ioengine=exec", "only engines that work on the files"),
        ("ioengine=external:/tmp/x.so", "only engines that work on the files"),
        ("ioengine=net", "only engines that work on the files"),
        ("ioengine=null", "only engines that work on the files"),
        ("EXEC_PRERUN=true", "it would run a shell's line"),
        ("name=/dev/sda", "names its files"),
        ("${X}=1", "could be any option"),
    ] {
        let said = refusal(&format!("[a]\nrw=read\n  {line} ; a comment\n"));
        assert!(said.contains(why) && said.contains("workload.job:3:"), "{line}: {said}");
    }
    assert!(refusal("[/dev/sda]\nrw=write").contains("an absolute path"));
    assert!(refusal("[a/b]\nrw=write").contains("names its files"));
    assert!(refusal("[global]\nfilename=/dev/sda\n[a]\nrw=write").contains("workload.job:2:"));
    assert!(
        check(&spec("[a]\nrw=read\nfilename=sub/x:y\ndirectory=d\nmem=mmaphuge\nioengine=libaio")).is_ok()
    );
}

#[test]
fn what_is_no_job_is_said_with_its_line() {
    for (job, why) in [
        ("rw=read", "workload.job:1:"),
        ("[a\nrw=read", "the `]` is missing"),
        ("[global]\nrw=read", "has no job"),
        ("", "has no job"),
        ("[a]\ninclude /no/such/file", "cannot be read"),
        ("[a]\ninclude -", "cannot be read"),
    ] {
        let Err(WorkloadError::Unsuitable { reason: said, .. }) = check(&spec(job)) else {
            panic!("{job} was taken")
        };
        assert!(said.contains(why), "{job}: {said}");
    }
    let unknown = FioWorkload { sections: vec!["b".to_owned()], ..spec("[a]\nrw=read") };
    assert!(check(&unknown).unwrap_err().to_string().contains("has no section `b`"));
}

#[test]
fn included_files_are_checked_in_their_place_and_sections_left_out_are_not_run() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("job.fio");
    std::fs::write(&file, "[global]\ninclude common.inc\n[a]\nrw=read\n[b]\nfilename=/dev/sda\n").unwrap();
    std::fs::write(directory.path().join("common.inc"), "size=1M # small\nbs=4k\n").unwrap();
    let whole = FioWorkload { job_file: Some(file), job: None, ..spec("") };
    let said = check(&whole).unwrap_err().to_string();
    assert!(said.contains("job.fio:6:1") && said.contains("`filename=/dev/sda`"), "{said}");
    let chosen = FioWorkload { sections: vec!["a".to_owned()], ..whole };
    assert_eq!(check(&chosen).unwrap().text, "[global]\nsize=1M\nbs=4k\n[a]\nrw=read\n");
    std::fs::write(directory.path().join("common.inc"), "directory=/tmp\n").unwrap();
    assert!(check(&chosen).unwrap_err().to_string().contains("common.inc:1:1"));
}

#[test]
fn every_job_must_be_direct_for_all_bytes_to_reach_the_device() {
    let direct = |job: &str| check(&spec(job)).unwrap().is_direct;
    assert!(direct("[global]\ndirect=1\n[a]\nrw=read\n[b]\nrw=write\nioengine=io_uring"));
    assert!(direct("[a]\nbuffered=0\nrw=read"));
    assert!(!direct("[a]\ndirect=1\n[b]\nrw=write"));
    assert!(!direct("[global]\ndirect=1\n[a]\ndirect=0"));
    assert!(!direct("[a]\ndirect=1\nioengine=mmap"));
}

#[test]
fn rates_add_up_only_where_jobs_run_together() {
    let phases = |job: &str| check(&spec(job)).unwrap().in_phases;
    assert!(phases("[a]\nrw=read\n[b]\nstonewall\nrw=read"));
    assert!(phases("[a]\nrw=read\n[b]\nwait_for_previous\nrw=read"));
    assert!(phases("[global]\nstonewall=1\n[a]\nrw=read\n[b]\nrw=read"));
    assert!(!phases("[a]\nstonewall\nrw=read\n[b]\nrw=read"));
}

fn run_job(job: &str) -> Measurement {
    let directory = tempfile::tempdir().unwrap();
    let place = Place { directory: Some(directory.path().to_owned()), device: None };
    let context = TrialContext {
        number: 1,
        configuration: "a".to_owned(),
        seed: 1,
        marker: ("IOSTONE_RUN".to_owned(), "test".to_owned()),
        groups: Vec::new(),
    };
    let stop = AtomicBool::new(false);
    prepare(&spec(job), &place, &context, &stop).unwrap().run(&stop).unwrap()
}

fn installed() -> bool {
    let there = tool::version("fio", "--version").is_ok();
    if !there {
        eprintln!("skipped: needs fio");
    }
    there
}

/// What fio printed of one job's direction.
fn printed(measured: &Measurement, job: usize, direction: &str) -> serde_json::Value {
    let json = &measured.raw.iter().find(|raw| raw.name == "fio.json").unwrap().text;
    let document: serde_json::Value = serde_json::from_str(json).unwrap();
    document["jobs"][job][direction].clone()
}

#[test]
fn the_figures_of_one_job_are_those_that_fio_prints() {
    if !installed() {
        return;
    }
    let measured = run_job("[a]\nrw=randwrite\nbs=4k\nsize=4M\nfsync=16\n");
    assert_eq!(measured.report.error, None);
    let write = printed(&measured, 0, "write");
    let figure = |name: &str| measured.metrics[name];
    assert_eq!(Some(figure("iops")), write["iops"].as_f64());
    assert_eq!(Some(figure("write.throughput")), write["bw_bytes"].as_f64());
    assert_eq!(write["io_bytes"], measured.report.claimed_written_bytes);
    for (name, percentile) in [("p50", "50.000000"), ("p99", "99.000000"), ("p99_99", "99.990000")] {
        let ns = write["clat_ns"]["percentile"][percentile].as_f64().unwrap();
        assert!((figure(&format!("latency_{name}")) - ns / 1e9).abs() < 1e-12, "{name}");
    }
    assert!(figure("sync.latency_mean") > 0.0);
    assert!(
        !measured.report.latency_histogram.is_empty() && !measured.report.sync_latency_histogram.is_empty()
    );
    assert!(!measured.metrics.contains_key("read.iops"));
    assert_eq!(
        measured.raw.iter().find(|raw| raw.name == "job.fio").unwrap().text.lines().next(),
        Some("[a]")
    );
}

#[test]
fn jobs_that_run_together_are_summed_and_their_histograms_merged() {
    if !installed() {
        return;
    }
    let measured = run_job("[global]\nbs=4k\nsize=2M\nrw=randread\n[a]\n[b]\n");
    assert_eq!(measured.report.error, None);
    let sum: f64 = [0, 1].iter().map(|job| printed(&measured, *job, "read")["iops"].as_f64().unwrap()).sum();
    assert!((measured.metrics["iops"] - sum).abs() < 1e-6 * sum);
    let requests: u64 = measured.report.latency_histogram.iter().map(|(_, count)| count).sum();
    assert_eq!(requests, 1024);
    assert_eq!(measured.report.claimed_read_bytes, 4 << 20);
}

#[test]
fn phases_are_not_summed() {
    if !installed() {
        return;
    }
    let measured = run_job("[global]\nbs=64k\nsize=4M\nrw=read\n[a]\n[b]\nstonewall\n");
    let rate = |job| printed(&measured, job, "read")["bw_bytes"].as_f64().unwrap();
    assert!(measured.metrics["throughput"] < rate(0) + rate(1));
    assert!(measured.report.facts.contains_key("phases"));
}

#[test]
fn a_job_that_fails_yields_no_figures_but_a_reason() {
    if !installed() {
        return;
    }
    let stop = AtomicBool::new(false);
    let place = Place { directory: Some(std::env::temp_dir()), device: None };
    let context = TrialContext {
        number: 1,
        configuration: "a".to_owned(),
        seed: 1,
        marker: ("IOSTONE_RUN".to_owned(), "test".to_owned()),
        groups: Vec::new(),
    };
    let error = prepare(&spec("[a]\nrw=wriite\nsize=1M\n"), &place, &context, &stop).err().unwrap();
    assert!(error.to_string().contains("fio: failed parsing rw=wriite"), "{error}");
}

#[test]
fn bytes_that_are_told_as_one_are_claimed_neither_way() {
    let transfers =
        r#"{ "io_bytes": 1048576, "bw_bytes": 104857600, "iops": 25600.0, "runtime": 10, "total_ios": 256 }"#;
    let claims = |direction: &str| {
        let job = format!(r#"{{ "jobname": "a", "{direction}": {transfers} }}"#);
        let text = format!(r#"{{ "fio version": "fio-3.33", "jobs": [{job}] }}"#);
        let mut measured = Measurement::default();
        merged::read(&text, false, false).unwrap().fill(&mut measured);
        assert_eq!(measured.report.error, None);
        assert!(measured.metrics["throughput"] > 0.0);
        let is_excused = measured.report.absent.contains_key("read_per_claimed_byte");
        (measured.report.claimed_read_bytes, measured.report.claimed_written_bytes, is_excused)
    };
    assert_eq!(claims("mixed"), (0, 0, true));
    assert_eq!(claims("write"), (0, 1 << 20, false));
}

#[test]
fn output_that_is_not_fios_is_named() {
    let said = merged::read("fio: hello\n", false, false).unwrap_err();
    assert!(said.contains("not its JSON"), "{said}");
    let said = merged::read(r#"{ "fio version": "fio-2.2.10", "jobs": [] }"#, false, false).unwrap_err();
    assert!(said.contains("fio 3 is needed"), "{said}");
    assert!(merged::read("{}", true, false).unwrap_err().contains("16 MiB"));
}
