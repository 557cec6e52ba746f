//! dd as it is started, and what becomes of its output.

use std::sync::atomic::AtomicBool;

use super::*;

fn spec(direction: DdDirection) -> DdWorkload {
    DdWorkload {
        direction,
        size: Bytes(8 << 20),
        bs: Bytes(1 << 20),
        source: None,
        conv: None,
        oflag: Vec::new(),
        iflag: Vec::new(),
    }
}

fn line(spec: &DdWorkload, file: Option<&str>) -> String {
    arguments(spec, spec.size, file).join(" ")
}

fn run(spec: &DdWorkload) -> (tempfile::TempDir, Result<Measurement, WorkloadError>) {
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
    let measured = prepare(spec, &place, &context, &stop).and_then(|prepared| prepared.run(&stop));
    (directory, measured)
}

#[test]
fn the_source_is_measured_by_the_same_line_written_nowhere() {
    let mut write = spec(DdDirection::Write);
    assert_eq!(
        line(&write, Some(FILE_NAME)),
        "dd of=iostone.data bs=1048576 count=8 conv=fdatasync iflag=fullblock"
    );
    assert_eq!(line(&write, None), "dd of=/dev/null bs=1048576 count=8 iflag=fullblock");
    write.source = Some("/dev/zero".to_owned());
    write.conv = Some(Vec::new());
    write.oflag = vec!["direct".to_owned()];
    assert_eq!(
        line(&write, Some(FILE_NAME)),
        "dd if=/dev/zero of=iostone.data bs=1048576 count=8 oflag=direct iflag=fullblock"
    );
    assert_eq!(line(&write, None), "dd if=/dev/zero of=/dev/null bs=1048576 count=8 iflag=fullblock");
    let mut read = spec(DdDirection::Read);
    read.iflag = vec!["direct".to_owned()];
    assert_eq!(
        line(&read, Some(FILE_NAME)),
        "dd if=iostone.data of=/dev/null bs=1048576 count=8 iflag=direct"
    );
}

#[test]
fn generated_data_is_written_whole_and_does_not_compress() {
    let (directory, measured) = run(&spec(DdDirection::Write));
    let measured = measured.unwrap();
    assert_eq!(measured.report.error, None);
    assert_eq!(measured.report.claimed_written_bytes, 8 << 20);
    assert!(measured.report.must_reach_device);
    assert!(measured.metrics["throughput"] > 0.0 && measured.metrics["wall_time"] > 0.0);
    assert!(measured.report.facts["source_rate"].contains("a ceiling"));
    let written = std::fs::read(directory.path().join(FILE_NAME)).unwrap();
    assert_eq!(written.len(), 8 << 20);
    let sectors: std::collections::HashSet<&[u8]> = written.chunks(512).collect();
    assert_eq!(sectors.len(), written.len() / 512);
}

#[test]
fn a_file_is_laid_out_for_reads_and_read_whole() {
    let mut read = spec(DdDirection::Read);
    read.size = Bytes(3 * 1000);
    read.bs = Bytes(1000);
    let (_directory, measured) = run(&read);
    let measured = measured.unwrap();
    assert_eq!(measured.report.error, None);
    assert_eq!((measured.report.claimed_read_bytes, measured.report.claimed_written_bytes), (3000, 0));
    assert!(!measured.report.must_reach_device);
}

#[test]
fn sources_that_end_early_or_might_wait_are_refused_before_anything_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let short = directory.path().join("short");
    std::fs::write(&short, b"short").unwrap();
    for (source, reason) in [
        (short.display().to_string(), "holds 5B, less than the 8MiB"),
        ("/dev/null".to_owned(), "neither a regular file nor a device such as"),
        ("/dev/tty".to_owned(), "neither a regular file nor a device such as"),
        ("/no/such/file".to_owned(), "cannot be looked at"),
    ] {
        let mut write = spec(DdDirection::Write);
        write.source = Some(source);
        let (place, measured) = run(&write);
        let said = measured.unwrap_err().to_string();
        assert!(said.contains(reason), "{said}");
        assert!(!place.path().join(FILE_NAME).exists());
    }
}

#[test]
fn an_interrupt_ends_the_look_at_the_source() {
    let directory = tempfile::tempdir().unwrap();
    let place = Place { directory: Some(directory.path().to_owned()), device: None };
    let context = TrialContext {
        number: 1,
        configuration: "a".to_owned(),
        seed: 1,
        marker: ("IOSTONE_RUN".to_owned(), "test".to_owned()),
        groups: Vec::new(),
    };
    let mut endless = spec(DdDirection::Write);
    endless.size = Bytes(1 << 40);
    let error = prepare(&endless, &place, &context, &AtomicBool::new(true)).err().unwrap();
    assert!(matches!(error, WorkloadError::Interrupted), "{error}");
}

#[test]
fn a_source_is_the_limit_only_near_its_own_rate() {
    let fact = |throughput: f64| compare_with_source(throughput, 100e6).map(|(fact, _)| fact);
    assert_eq!(fact(80e6), None);
    assert_eq!(fact(91e6), Some("source_limited"));
    assert_eq!(fact(109e6), Some("source_limited"));
    // Nobody copies faster than the source gives.
    assert_eq!(fact(111e6), Some("source_unsound"));
}
