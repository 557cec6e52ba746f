//! Jobs are read, written and refused.

use super::*;
use iostone_model::load::RandomDistribution;

fn refused(change: impl FnOnce(&mut Job)) -> String {
    let mut job = Job::new("/nowhere", Rw::Write);
    change(&mut job);
    job.check().unwrap_err().to_string()
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
            job.engine = IoEngine::Sync;
            job.iodepth = 2;
        })
        .contains("one I/O in flight per thread")
    );
    assert!(
        refused(|job| job.walk.distribution = RandomDistribution::Zipf { theta: 1.0, center: None })
            .contains("theta must be above 0, below 100 and not 1")
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
    assert!(!shaped(|job| job.bs.write = BlockSizes::Range("512B-1KiB".parse().unwrap())));
    // What reads would do does not matter to a job that only writes.
    assert!(shaped(|job| job.bs.read = BlockSizes::Range("512B-1KiB".parse().unwrap())));
}

/// `iostone io --json` prints jobs: what it calls things stays.
#[test]
fn the_form_of_documents_stays() {
    let mut job = Job::new("/f", Rw::ReadWrite);
    job.bs.read = BlockSizes::Range("4KiB-16KiB".parse().unwrap());
    job.bs.write = BlockSizes::Split("4KiB/60:8KiB/40".parse().unwrap());
    let form = |job: &Job| serde_json::to_value(job).unwrap();
    let shares = serde_json::json!([{"bs": "4KiB", "percent": 60}, {"bs": "8KiB", "percent": 40}]);
    assert_eq!(
        form(&job)["bs"],
        serde_json::json!({"read": {"min": "4KiB", "max": "16KiB"}, "write": shares, "trim": "4KiB"})
    );
    let never = serde_json::json!({"every": 0, "wait_before": false, "write": false, "wait_after": false});
    assert_eq!(form(&job)["sync_file_range"], never);
    assert_eq!(form(&job)["pace"]["arrivals"], "constant");
    assert_eq!((&form(&job)["rw"], &form(&job)["engine"]), (&"rw".into(), &"auto".into()));
    assert_eq!(form(&job)["walk"]["distribution"], "uniform");
    job.walk.distribution = RandomDistribution::Zipf { theta: 1.2, center: None };
    job.engine = IoEngine::IoUringNop;
    let zipf = serde_json::json!({"zipf": {"theta": 1.2, "center": null}});
    assert_eq!((&form(&job)["walk"]["distribution"], &form(&job)["engine"]), (&zipf, &"io_uring_nop".into()));
    job.walk.distribution =
        RandomDistribution::Zoned("zoned:100/40".parse::<RandomDistribution>().unwrap().zones());
    let zoned = serde_json::json!({"zoned": [{"access_percent": 100.0, "extent": {"percent": 40.0}}]});
    assert_eq!(form(&job)["walk"]["distribution"], zoned);
}
