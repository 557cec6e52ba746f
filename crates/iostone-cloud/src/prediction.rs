//! How long work takes on an instance and its volumes, and which ceiling binds when.

mod configuration;
mod document;
mod names;
mod route;
#[cfg(test)]
mod tests;
mod work;

use iostone_model::cloud::{CatalogueDate, VolumeSpec};
use iostone_model::experiment::{Array, Link};
use iostone_model::prediction::Prediction;
use iostone_model::units::{Bytes, Fraction, Span};

use crate::catalogue::{Catalogue, UnknownInstance};
use crate::ceiling::FilesystemKind;
use crate::prices::UnknownPrice;
use crate::volume::VolumeError;

pub use configuration::{UnknownDemand, predict_configuration, work_of};
pub use route::{Route, RouteCpu};
pub use work::{Amount, CacheUse, Order, Pattern, Work};

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The instance type; nothing is known of a link, of processors and of memory without one.
    pub instance: Option<String>,
    /// The volumes, striped where there are several and `array` says nothing else.
    pub volumes: Option<VolumeSpec>,
    /// The date whose limits hold.
    pub date: CatalogueDate,
    /// The work.
    pub work: Work,
    /// What joins several volumes.
    pub array: Array,
    /// The filesystem, just made: how much fits, and what it writes beside.
    pub filesystem: Option<FilesystemKind>,
    /// Memory, in place of the instance's.
    pub memory: Option<Bytes>,
    /// A link, in place of the instance's.
    pub link: Option<Link>,
    /// What every bucket holds at the start; if absent, volumes and link are full and CPU credits are those of a launch.
    pub start: Option<Fraction>,
    /// The time that an I/O takes, in place of the volume's.
    pub latency: Option<Span>,
    /// Processors, in place of the instance's allowance: 0.3 for a limit of 30 %.
    pub processors: Option<f64>,
    /// An emulation so many times faster: volumes and buckets are divided by it. The work is what is really moved then.
    pub speed: f64,
    /// The region whose price holds; the catalogue's default if absent.
    pub region: Option<String>,
}

impl Question {
    /// Some work, and nothing said of what it runs on.
    pub fn new(work: Work, date: CatalogueDate) -> Self {
        Self {
            instance: None,
            volumes: None,
            date,
            work,
            array: Array::None,
            filesystem: None,
            memory: None,
            link: None,
            start: None,
            latency: None,
            processors: None,
            speed: 1.0,
            region: None,
        }
    }
}

/// Why nothing can be predicted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PredictError {
    /// No such instance type.
    #[error(transparent)]
    Instance(#[from] UnknownInstance),
    /// Nothing is known of the volume.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// No such region.
    #[error(transparent)]
    Price(#[from] UnknownPrice),
    /// No ceiling is known, so the time may be anything.
    #[error("no ceiling that is known holds up this work, {0}: name an instance, a volume or a source")]
    Unlimited(String),
    /// A ceiling lets nothing through.
    #[error("{work} never ends: {ceiling} lets nothing through")]
    Never {
        /// The work.
        work: String,
        /// What holds it.
        ceiling: String,
    },
    /// What a workload demands cannot be told.
    #[error(transparent)]
    Demand(#[from] UnknownDemand),
    /// A figure of the question that cannot be.
    #[error("{0}")]
    Impossible(String),
}

/// How long work takes.
///
/// # Errors
/// [`PredictError`].
pub fn predict(catalogue: &Catalogue, question: &Question) -> Result<Prediction, PredictError> {
    Route::of(catalogue, question)?.predict(&question.work)
}
