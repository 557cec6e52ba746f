//! What tests of points share.

use iostone_model::orion::{LunKind, ORION_SCHEMA, OrionHeader, OrionTest};

use crate::lun::Lun;

/// The header of a test on one LUN that nothing reads.
pub(crate) fn header(test: OrionTest) -> OrionHeader {
    OrionHeader {
        schema: ORION_SCHEMA.to_owned(),
        iostone_version: "0.1.0".to_owned(),
        started_at: "2026-01-01T00:00:00+00:00".to_owned(),
        arguments: Vec::new(),
        directory: None,
        test,
        num_disks: 1,
        luns: Vec::new(),
        seed: 42,
        direct: true,
        data: iostone_model::orion::FileData::Random,
        until: None,
        knee: false,
        adaptive: None,
        total_points: 1,
        limits: Vec::new(),
        machine: std::collections::BTreeMap::new(),
    }
}

/// LUNs of these sizes, which are not there.
pub(crate) fn luns(sizes: &[u64]) -> Vec<Lun> {
    let lun = |(number, bytes): (usize, &u64)| {
        let name = format!("lun-{number}");
        Lun { path: format!("/nowhere/{name}").into(), name, kind: LunKind::File, bytes: *bytes, pin: None }
    };
    sizes.iter().enumerate().map(lun).collect()
}
