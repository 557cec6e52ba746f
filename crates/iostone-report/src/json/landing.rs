//! Where a configuration's bytes landed, for machines.

use iostone_model::trial::{ContainerFacts, SpaceRecord};
use serde::Serialize;

use crate::landing::{Cost, Landing};

/// As trials read it back, and medians of what their work took; null where no trial tells.
#[derive(Serialize)]
pub(super) struct LandingPart<'a> {
    filesystem: Option<&'a str>,
    device: Option<String>,
    /// The last trial's.
    container: Option<&'a ContainerFacts>,
    /// The last trial's.
    space: Option<&'a SpaceRecord>,
    space_per_file_byte: Option<f64>,
    extents: Option<f64>,
    written_per_claimed_byte: Option<f64>,
    read_per_claimed_byte: Option<f64>,
    cores_used: Option<f64>,
    cpu_per_io_seconds: Option<f64>,
}

impl<'a> LandingPart<'a> {
    pub(super) fn of(landing: &Landing<'a>) -> Self {
        Self {
            filesystem: landing.filesystem,
            device: landing.device.clone(),
            container: landing.container,
            space: landing.space,
            space_per_file_byte: landing.cost(Cost::SpacePerByte),
            extents: landing.cost(Cost::Extents),
            written_per_claimed_byte: landing.cost(Cost::WrittenPerByte),
            read_per_claimed_byte: landing.cost(Cost::ReadPerByte),
            cores_used: landing.cost(Cost::Cores),
            cpu_per_io_seconds: landing.cost(Cost::CpuPerIo),
        }
    }
}
