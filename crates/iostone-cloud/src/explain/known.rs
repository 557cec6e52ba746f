//! What machine figures are of, as far as somebody says: the instance, its volumes, the date whose limits held.

use iostone_model::cloud::{CatalogueDate, VolumeSpec};
use jiff::civil::date;

/// The machine and its volumes by their names in the catalogue.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Known {
    /// The instance type.
    pub instance: Option<String>,
    /// How that is known, in words.
    pub instance_from: Option<String>,
    /// The volumes.
    pub volumes: Option<VolumeSpec>,
    /// The date whose limits hold; the latest that are known where left out.
    pub date: Option<CatalogueDate>,
}

/// What a user says in place of what was recorded.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overrides {
    /// The instance type.
    pub instance: Option<String>,
    /// The volumes.
    pub volumes: Option<VolumeSpec>,
    /// The date.
    pub date: Option<CatalogueDate>,
}

/// The date for the latest limits that are known.
pub fn latest() -> CatalogueDate {
    CatalogueDate::of_day(date(9999, 12, 31))
}

/// What is known, with what the user says over it.
pub fn known_of(recorded: Known, overrides: &Overrides) -> Known {
    let said = overrides.instance.is_some();
    Known {
        instance: overrides.instance.clone().or(recorded.instance),
        instance_from: if said { Some("`--instance`".to_owned()) } else { recorded.instance_from },
        volumes: overrides.volumes.clone().or(recorded.volumes),
        date: overrides.date.or(recorded.date),
    }
}
