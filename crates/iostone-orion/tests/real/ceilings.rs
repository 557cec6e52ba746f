//! A volume with limits is measured for real: the limits are found, bind, and are named.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its own functions as well")]

mod ground;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ground::{TestGroup, TestLoop};
use iostone_model::orion::{
    BoundBy, KnownLimit, LimitKind, LunKind, ORION_SCHEMA, OrionFindings, OrionHeader, OrionRecord,
    OrionTest, PointRecord, RunLevel,
};
use iostone_model::units::Span;
use iostone_orion::findings::find;
use iostone_orion::limits::known_limits;
use iostone_orion::schedule::schedule;
use iostone_orion::{Assignment, Lun, Observer, OrionError, conduct};

const DEVICE_BYTES: u64 = 32 << 20;
const ATTEMPTS: usize = 4;

struct Silent;

impl Observer for Silent {
    fn measured(&mut self, _record: &PointRecord) -> Result<(), OrionError> {
        Ok(())
    }
}

fn lun(path: &Path, kind: LunKind) -> Lun {
    Lun { name: path.display().to_string(), path: path.to_owned(), kind, bytes: DEVICE_BYTES, pin: None }
}

/// Looks for the knee of a device, with a percentage of writes, under the limits that are known.
fn look_for_knee(lun: &Lun, write_percent: u32) -> OrionRecord {
    let mut test = OrionTest::new(RunLevel::Simple);
    (test.write_percent, test.duration) = (write_percent, Span(Duration::from_secs(1)));
    let luns = [lun.clone()];
    let header = OrionHeader {
        schema: ORION_SCHEMA.to_owned(),
        iostone_version: String::new(),
        started_at: String::new(),
        arguments: Vec::new(),
        directory: None,
        total_points: 8,
        test,
        num_disks: 1,
        luns: luns.iter().map(Lun::to_record).collect(),
        seed: 11,
        direct: true,
        data: iostone_model::orion::FileData::Random,
        until: None,
        knee: true,
        adaptive: None,
        limits: known_limits(&luns),
        machine: BTreeMap::new(),
    };
    let schedule = schedule(&header);
    let assignment =
        Assignment { header: &header, luns: &luns, schedule: schedule.as_ref(), done: Vec::new() };
    let (points, end) = conduct(assignment, &mut Silent, &AtomicBool::new(false)).unwrap();
    assert!(end.finished, "{end:?}");
    OrionRecord { header, points, end: Some(end) }
}

/// Looks until what is found is as it should be: a busy machine may keep loads from reaching a limit.
fn assert_found(lun: &Lun, write_percent: u32, is_so: impl Fn(&OrionFindings) -> bool) {
    let mut found = Vec::new();
    for _ in 0..ATTEMPTS {
        found.push(find(&look_for_knee(lun, write_percent)));
        if found.last().is_some_and(&is_so) {
            return;
        }
    }
    panic!("{found:#?}");
}

/// Limits are the process's, so that everything that needs a group is in one test.
#[test]
fn limits_are_found_bind_and_are_named() {
    let name = "limits_are_found_bind_and_are_named";
    if !rustix::process::geteuid().is_root() {
        eprintln!("{name} skipped: needs root");
        return;
    }
    let Some(group) = TestGroup::enter() else {
        eprintln!("{name} skipped: no control group with limits can be made");
        return;
    };
    // In memory where there is a place for it, so that nothing but the limits is slow.
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir_in("/var/tmp")).unwrap();
    let image = directory.path().join("image");
    fs::write(&image, vec![0x5a; 32 << 20]).unwrap();
    let below = TestLoop::new(&image);
    let above = TestLoop::new(&below.0);
    group.limit(&above, LimitKind::ReadIops, 2000);
    group.limit(&above, LimitKind::WriteIops, 700);
    group.limit(&below, LimitKind::WriteIops, 500);
    let found = |luns: &[Lun]| -> Vec<(LimitKind, f64, String)> {
        known_limits(luns).into_iter().map(|limit| (limit.kind, limit.value, limit.on)).collect()
    };
    let expected =
        vec![(LimitKind::ReadIops, 2000.0, above.name()), (LimitKind::WriteIops, 500.0, below.name())];
    let device = lun(&above.0, LunKind::Device);
    assert_eq!(found(std::slice::from_ref(&device)), expected);
    assert_eq!(found(&[lun(&image, LunKind::File)]), vec![], "the file under both is limited by neither");
    // Half of the volume under the limits: all of it may do twice as much.
    let half = found(&[device, lun(&image, LunKind::File)]);
    assert_eq!(half[1], (LimitKind::WriteIops, 1000.0, format!("{} (50.0 % of the volume)", below.name())));
    drop(above);

    group.limit(&below, LimitKind::ReadIops, 2000);
    let device = lun(&below.0, LunKind::Device);
    let bound = |limit: &KnownLimit| limit.kind == LimitKind::WriteIops && limit.on == below.name();
    assert_found(&device, 100, |flat| {
        matches!(&flat.ceilings[0].bound_by, BoundBy::Limit { limit, .. } if bound(limit))
            && flat.ceilings[0].sentence.starts_with("500 writes a second")
            && flat.knee.as_ref().is_some_and(|knee| knee.small)
    });
    assert_found(&device, 20, |mixed| matches!(&mixed.ceilings[0].bound_by, BoundBy::Limit { .. }));
}
