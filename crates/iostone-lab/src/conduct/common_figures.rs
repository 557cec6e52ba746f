//! The figures that every trial has beside its workload's own, where the machine told what they are reckoned from.

use iostone_machine::Measured;
use iostone_model::experiment::Workload;
use iostone_model::sample::Sample;
use iostone_model::trial::{FileSpace, MOST_FILES, SpaceRecord};
use iostone_model::units::Bytes;

use super::served_in_time::{self, Served};

/// Adds them to the figures of a workload that came to its end; those that cannot be told are left out.
pub(super) fn add(measured: &mut Measured, workload: &Workload, samples: &[Sample]) {
    if measured.report.error.is_some() {
        return;
    }
    let served = served_in_time::reckon(measured, workload, samples);
    for (name, figure) in reckon(measured, workload, served.as_ref().ok().and_then(Option::as_ref)) {
        // A figure of the workload's own is never another's, and one that it says cannot be told is not reckoned.
        let can_be_told = !measured.report.absent.contains_key(name);
        if let Some(figure) = figure.filter(|figure| figure.is_finite() && can_be_told) {
            measured.metrics.entry(name.to_owned()).or_insert(figure);
        }
    }
    let report = &measured.report;
    let mut reasons = Vec::new();
    if let Err(reason) = served {
        let claims = [report.claimed_written_bytes, report.claimed_read_bytes];
        let names = ["written_per_claimed_byte", "read_per_claimed_byte"].into_iter().zip(claims);
        reasons.extend(names.filter(|(_, claimed)| *claimed > 0).map(|(name, _)| (name, reason.clone())));
    }
    if let Some(reason) = measured.space.as_ref().and_then(|space| holes(&space.files)) {
        reasons.extend(["space_per_file_byte", "extents_per_gib"].map(|name| (name, reason.clone())));
    }
    // They came with the image or lay in the lower directory, before the filesystem counted as made.
    if workload.profile().lower_files.is_some() {
        measured.metrics.remove("space_per_file_byte");
        let reason = "the workload's files were there before it began".to_owned();
        reasons.push(("space_per_file_byte", reason));
    }
    for (name, reason) in reasons {
        measured.report.absent.entry(name.to_owned()).or_insert(reason);
    }
}

/// Why nothing is told of what files take up: a hole takes up nothing, and would look better than any data. Compressed files
/// may occupy less than their size without one.
fn holes(files: &FileSpace) -> Option<String> {
    // What a filesystem keeps within its inodes is less than this.
    const HELD: f64 = 0.99;
    let is_sparse = (files.allocated_bytes as f64) < HELD * files.bytes as f64;
    (files.bytes > 0 && is_sparse && files.encoded_extents == 0).then(|| {
        let (held, size) = (Bytes(files.allocated_bytes).approximate(), Bytes(files.bytes).approximate());
        format!("the workload's files are sparse or punched: of {size} they hold {held}, and holes take up no room")
    })
}

/// Why one of them may be missing, in a sentence without its point; none for any other figure.
pub(super) fn reason_without(name: &str) -> Option<&'static str> {
    Some(match name {
        "cores_used" => "nobody told the CPU time of the workload",
        "cpu_per_io" => "the workload does not tell how many I/Os it did, or nobody told its CPU time",
        "written_per_claimed_byte" => "no device was watched, or the workload claims no bytes written",
        "read_per_claimed_byte" => "no device was watched, or the workload claims no bytes read",
        "space_per_file_byte" => {
            "it is told of a filesystem of the stack's own on which the workload left files; add a `filesystem`"
        }
        "extents_per_gib" => {
            "it is told of files on a filesystem of the stack's own that has FIEMAP; add a `filesystem`"
        }
        _ => return None,
    })
}

fn reckon(
    measured: &Measured,
    workload: &Workload,
    served: Option<&Served>,
) -> [(&'static str, Option<f64>); 6] {
    let report = &measured.report;
    let cores = measured.signals.cpu.as_ref().and_then(|account| {
        let used = account.used_seconds()?;
        (account.wall_seconds > 0.0).then(|| used / account.wall_seconds)
    });
    let of_files =
        measured.space.as_ref().filter(|space| space.files.bytes > 0 && holes(&space.files).is_none());
    let each = |served: Option<f64>, claimed: u64| served.and_then(|served| per(served, claimed));
    [
        ("cores_used", cores),
        // The CPU time covers a ramp as well, of which the I/Os are not told: so by the rates of both.
        ("cpu_per_io", cores.zip(ios_a_second(measured, workload)).map(|(cores, rate)| cores / rate)),
        (
            "written_per_claimed_byte",
            each(served.map(|served| served.written_bytes), report.claimed_written_bytes),
        ),
        ("read_per_claimed_byte", each(served.map(|served| served.read_bytes), report.claimed_read_bytes)),
        ("space_per_file_byte", of_files.and_then(|space| per(taken(space)? as f64, space.files.bytes))),
        (
            "extents_per_gib",
            of_files.and_then(|space| per(space.files.extents? as f64 * GIB, space.files.bytes)),
        ),
    ]
}

/// The room that came into use for the workload's files; none where a reading is missing, or not all files were counted.
fn taken(space: &SpaceRecord) -> Option<u64> {
    let is_whole = space.used_made_bytes > 0 && space.files.count < MOST_FILES;
    space.used_after_bytes.checked_sub(space.used_made_bytes).filter(|_| is_whole)
}

const GIB: f64 = (1u64 << 30) as f64;

fn per(amount: f64, bytes: u64) -> Option<f64> {
    (bytes > 0).then(|| amount / bytes as f64)
}

/// Reads, writes and discards a second of the measured time; none where the workload does not tell.
fn ios_a_second(measured: &Measured, workload: &Workload) -> Option<f64> {
    let report = &measured.report;
    // The rate of requests alone leaves out the pauses that the CPU time covers too.
    let own_rate = || measured.metrics.get("iops").filter(|_| !workload.profile().pauses).copied();
    let counted = report.operations.filter(|_| report.measured_seconds > 0.0);
    let rate = counted.map(|ios| ios as f64 / report.measured_seconds);
    rate.or_else(own_rate).filter(|rate| *rate > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::sample::DiskCounters;
    use iostone_model::trial::{CpuAccount, DeviceActivity, SignalSummary, WorkloadReport};

    fn measured() -> Measured {
        let served = DiskCounters { written_bytes: 3000, read_bytes: 50, ..DiskCounters::default() };
        let account = CpuAccount {
            wall_seconds: 4.0,
            user_seconds: Some(1.0),
            system_seconds: Some(1.0),
            ..CpuAccount::default()
        };
        let device = DeviceActivity { role: "stack".to_owned(), served, ..DeviceActivity::default() };
        Measured {
            report: WorkloadReport {
                measured_seconds: 2.0,
                claimed_written_bytes: 1000,
                operations: Some(100),
                ..WorkloadReport::default()
            },
            signals: SignalSummary { cpu: Some(account), devices: vec![device], ..SignalSummary::default() },
            space: Some(Box::new(SpaceRecord {
                used_made_bytes: 500,
                used_after_bytes: 2500,
                files: FileSpace {
                    bytes: 1000,
                    allocated_bytes: 1000,
                    extents: Some(2),
                    ..FileSpace::default()
                },
                ..SpaceRecord::default()
            })),
            ..Measured::default()
        }
    }

    /// Without a ramp.
    fn workload() -> Workload {
        let text = include_str!("../../../../experiments/barrier.toml");
        let mut workload =
            iostone_model::experiment::read(text, &[]).unwrap().configurations[0].workload.clone();
        if let Workload::Io(io) = &mut workload {
            io.ramp_time = iostone_model::experiment::Timing::default();
        }
        workload
    }

    fn figures(measured: &Measured) -> Vec<(String, f64)> {
        let mut measured = measured.clone();
        add(&mut measured, &workload(), &[]);
        measured.metrics.into_iter().collect()
    }

    #[test]
    fn each_is_reckoned_from_what_the_machine_told() {
        let found = figures(&measured());
        let expected = [
            ("cores_used", 0.5),
            ("cpu_per_io", 0.01),
            ("extents_per_gib", 2.0 * GIB / 1000.0),
            ("space_per_file_byte", 2.0),
            ("written_per_claimed_byte", 3.0),
        ];
        assert_eq!(found.len(), expected.len(), "nothing was claimed to be read: {found:?}");
        for ((name, figure), (expected_name, expected)) in found.iter().zip(expected) {
            assert_eq!(name, expected_name);
            assert!((figure - expected).abs() < 1e-6 * expected, "{name}: {figure}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_left_out() {
        assert_eq!(figures(&Measured::default()), []);
        let mut failed = measured();
        failed.report.error = Some("EIO".to_owned());
        assert_eq!(figures(&failed), []);
        let mut uncounted = measured();
        uncounted.report.operations = None;
        assert!(!figures(&uncounted).iter().any(|(name, _)| name == "cpu_per_io"));
        uncounted.metrics.insert("iops".to_owned(), 50.0);
        assert!(figures(&uncounted).contains(&("cpu_per_io".to_owned(), 0.01)));
    }

    #[test]
    fn a_rate_without_its_pauses_is_no_rate_of_the_whole_time() {
        let text = include_str!("../../../../experiments/barrier.toml");
        let set = iostone_model::experiment::Override {
            path: "workload".to_owned(),
            value: "{ kind = \"ioping\", count = 10 }".to_owned(),
        };
        let metric = iostone_model::experiment::Override {
            path: "decide.metric".to_owned(),
            value: "\"latency_mean\"".to_owned(),
        };
        let workload =
            iostone_model::experiment::read(text, &[set, metric]).unwrap().configurations[0].workload.clone();
        let mut pinged = measured();
        pinged.metrics.insert("iops".to_owned(), 5000.0);
        let counted = {
            let mut counted = pinged.clone();
            add(&mut counted, &workload, &[]);
            counted.metrics["cpu_per_io"]
        };
        assert!((counted - 0.01).abs() < 1e-9, "{counted}");
        pinged.report.operations = None;
        add(&mut pinged, &workload, &[]);
        assert!(!pinged.metrics.contains_key("cpu_per_io"));
    }

    #[test]
    fn what_the_workload_says_cannot_be_told_is_not_reckoned() {
        let mut warmed = measured();
        warmed.report.absent.insert("cpu_per_io".to_owned(), "a cache was warmed".to_owned());
        add(&mut warmed, &workload(), &[]);
        assert!(!warmed.metrics.contains_key("cpu_per_io") && warmed.metrics.contains_key("cores_used"));
        assert_eq!(warmed.report.absent["cpu_per_io"], "a cache was warmed");
    }

    #[test]
    fn a_hole_wins_nothing() {
        let mut sparse = measured();
        let space = sparse.space.as_mut().unwrap();
        (space.files.allocated_bytes, space.used_after_bytes) = (0, 500);
        add(&mut sparse, &workload(), &[]);
        assert!(
            !sparse.metrics.contains_key("space_per_file_byte")
                && !sparse.metrics.contains_key("extents_per_gib")
        );
        assert!(sparse.report.absent["space_per_file_byte"].contains("holes take up no room"));
    }

    #[test]
    fn every_common_figure_has_a_reason_to_be_missing() {
        for metric in iostone_model::metric::COMMON_METRICS {
            assert!(reason_without(metric.name).is_some(), "{}", metric.name);
        }
        let reckoned = reckon(&Measured::default(), &workload(), None);
        let names: Vec<&str> = reckoned.iter().map(|(name, _)| *name).collect();
        let declared: Vec<&str> =
            iostone_model::metric::COMMON_METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names, declared);
    }
}
