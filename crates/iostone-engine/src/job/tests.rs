//! Jobs are read, written and refused.

use super::*;

fn refused(change: impl FnOnce(&mut Job)) -> String {
    let mut job = Job::new("/nowhere", Rw::Write);
    change(&mut job);
    job.check().unwrap_err().to_string()
}

#[test]
fn a_job_needs_no_more_than_target_and_direction() {
    let job: Job = serde_json::from_str(r#"{"targets": ["/dev/zero"], "rw": "randread"}"#).unwrap();
    assert_eq!(job, Job::new("/dev/zero", Rw::RandRead));
    job.check().unwrap();
}

#[test]
fn a_job_reads_back_the_same() {
    let mut job = Job::new("/tmp/f", Rw::RandWrite);
    job.size = Some(Bytes(1 << 20));
    job.runtime = "1500ms".parse().ok();
    job.sync = WriteSync::Dsync;
    job.engine = EngineChoice::IoUring;
    job.stamp = Stamp::PerIo;
    job.seed = u64::MAX;
    job.bs.read = BlockSize::Range { min: Bytes(4096), max: Bytes(16_384) };
    job.bs.write = BlockSize::Split(vec![SizeShare { bs: Bytes(4096), percent: 100 }]);
    job.walk.distribution = Distribution::Zipf { theta: 1.2, center: None };
    job.pace.rate.write = Some(Rate::Iops(100.0));
    job.data.content = Content::Pattern(vec![1, 2]);
    job.verify = Some(Verify::default());
    let text = serde_json::to_string(&job).unwrap();
    assert_eq!(serde_json::from_str::<Job>(&text).unwrap(), job);
}

#[test]
fn an_unknown_field_is_refused() {
    assert!(serde_json::from_str::<Job>(r#"{"targets": ["a"], "rw": "read", "iodpeth": 4}"#).is_err());
}

#[test]
fn contradictions_are_named_with_what_would_be_right() {
    assert_eq!(refused(|job| job.iodepth = 0), "`iodepth` of `0` is refused: it must be from 1 to 32768");
    assert!(refused(|job| job.bs = Bytes(0).into()).contains("`bs`"));
    assert!(refused(|job| job.numjobs = 0).contains("`numjobs`"));
    assert!(refused(|job| job.targets.clear()).contains("`targets`"));
    assert!(refused(|job| job.size = Some(Bytes(1024))).contains("smaller than one block of 4KiB"));
    let message = refused(|job| job.io_size = Some(Bytes(10_000)));
    assert!(message.contains("not a multiple of `bs` = 4KiB; the next below is 8KiB"), "{message}");
    assert!(refused(|job| job.runtime = Some(Span::default())).contains("`runtime`"));
    assert!(
        refused(|job| {
            job.rw = Rw::Read;
            job.fdatasync = 1;
        })
        .contains("`fdatasync` of `1`")
    );
    assert!(
        refused(|job| {
            job.engine = EngineChoice::Sync;
            job.iodepth = 2;
        })
        .contains("one I/O in flight per thread")
    );
    let split = BlockSize::Split(vec![SizeShare { bs: Bytes(4096), percent: 60 }]);
    assert!(refused(|job| job.bs.write = split).contains("add up to 100 %"));
    assert!(
        refused(|job| job.walk.distribution = Distribution::Zipf { theta: 1.0, center: None })
            .contains("theta must be above 0 and not 1")
    );
    assert!(refused(|job| job.pace.rate.write = Some(Rate::Iops(0.0))).contains("`rate`"));
}

#[test]
fn only_the_simplest_shapes_are_plain() {
    let plain = Job::new("/nowhere", Rw::RandWrite);
    assert!(plain.is_plain());
    let shaped = |change: fn(&mut Job)| {
        let mut job = plain.clone();
        change(&mut job);
        job.is_plain()
    };
    assert!(!shaped(|job| job.rw = Rw::RandRw));
    assert!(!shaped(|job| job.rw = Rw::Trim));
    assert!(shaped(|job| job.walk.revisits = true));
    assert!(!shaped(|job| job.walk.run_length = 8));
    assert!(!shaped(|job| job.targets.push("/elsewhere".into())));
    assert!(!shaped(|job| job.bs.write = BlockSize::Range { min: Bytes(512), max: Bytes(1024) }));
    // What reads would do does not matter to a job that only writes.
    assert!(shaped(|job| job.bs.read = BlockSize::Range { min: Bytes(512), max: Bytes(1024) }));
}
