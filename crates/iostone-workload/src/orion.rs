//! The `orion` workload: the load points of Oracle ORION's test on files of the stack, or on the bare device.

mod luns;
mod report;

use std::sync::atomic::AtomicBool;

use iostone_model::experiment::OrionWorkload;
use iostone_model::orion::{LoadPoint, ORION_SCHEMA, OrionHeader, OrionRecord, OrionTest, PointRecord};
use iostone_orion::limits::known_limits;
use iostone_orion::schedule::WholePlan;
use iostone_orion::{Assignment, Lun, Observer, OrionError, conduct};

use crate::{CpuUse, Measurement, Place, Prepared, TrialContext, WorkloadError};

struct PreparedOrion {
    spec: OrionWorkload,
    test: OrionTest,
    luns: Vec<Lun>,
    /// What was done about blocks that were never written.
    laid_out: String,
    seed: u64,
}

pub(crate) fn prepare(
    spec: &OrionWorkload,
    place: &Place,
    context: &TrialContext,
    stop: &AtomicBool,
) -> Result<Box<dyn Prepared>, WorkloadError> {
    let test = spec.test().map_err(|error| WorkloadError::Refused(format!("the ORION test: {error}")))?;
    let (luns, laid_out) = luns::prepare(spec, place, context.seed, stop)?;
    Ok(Box::new(PreparedOrion { spec: spec.clone(), test, luns, laid_out, seed: context.seed }))
}

/// Keeps nothing itself: a trial's record is written once, by whoever keeps the trial.
struct Silent;

impl Observer for Silent {
    fn measured(&mut self, _: &PointRecord) -> Result<(), OrionError> {
        Ok(())
    }
}

impl Prepared for PreparedOrion {
    fn run(self: Box<Self>, stop: &AtomicBool) -> Result<Measurement, WorkloadError> {
        let points = self.spec.points();
        let header = self.header(&points);
        let schedule = WholePlan(points);
        let assignment =
            Assignment { header: &header, luns: &self.luns, schedule: &schedule, done: Vec::new() };
        let before = CpuUse::of_this_process();
        let (points, end) = conduct(assignment, &mut Silent, stop).map_err(failure)?;
        let cpu = CpuUse::of_this_process().since(before);
        let record = OrionRecord { header, points, end: Some(end) };
        Ok(Measurement { cpu: Some(cpu), ..report::measurement(&self.spec, &record, &self.laid_out) })
    }
}

impl PreparedOrion {
    fn header(&self, points: &[LoadPoint]) -> OrionHeader {
        OrionHeader {
            schema: ORION_SCHEMA.to_owned(),
            iostone_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: jiff::Timestamp::now().to_string(),
            arguments: self.arguments(),
            directory: None,
            test: self.test.clone(),
            num_disks: self.spec.disks(&self.test),
            luns: self.luns.iter().map(Lun::to_record).collect(),
            seed: self.seed,
            direct: self.spec.direct,
            data: self.spec.data,
            until: self.spec.until.map(iostone_model::experiment::Precision::share),
            knee: false,
            adaptive: None,
            total_points: u32::try_from(points.len()).unwrap_or(u32::MAX),
            // Of the control group that the trial is in by now, which holds the limits of the stack's volume.
            limits: known_limits(&self.luns),
            machine: std::collections::BTreeMap::new(),
        }
    }

    /// The command line as it was written, or what the keys would be as one.
    fn arguments(&self) -> Vec<String> {
        let line = self.spec.arguments.clone().unwrap_or_else(|| self.spec.command_line());
        line.split_whitespace().map(str::to_owned).collect()
    }
}

/// What kept the test from beginning. A failed I/O is none of it: that is in the record.
fn failure(error: OrionError) -> WorkloadError {
    match error {
        OrionError::Interrupted => WorkloadError::Interrupted,
        OrionError::Engine(error) => error.into(),
        error => WorkloadError::Preparation(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
