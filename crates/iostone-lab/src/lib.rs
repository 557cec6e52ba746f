//! From a plan to trials to a run directory, and from what was recorded to verdicts.
//!
//! Recording ([`Conductor`]), judging ([`conclude`]) and reporting are separate: a directory written by one version
//! can be concluded anew by another.

mod boot;
mod circumstances;
pub mod conclude;
mod conduct;
mod covariate;
pub mod difference;
mod directory;
mod error;
mod estimate;
mod gates;
pub mod history;
mod imported;
mod index;
mod journal;
mod link;
mod pilot;
mod plan;
mod steadiness;
mod summary;
mod sweep;
mod underway;

pub use boot::reboots;
pub use conduct::{Conductor, Ending, Observer, Progress};
pub use directory::{RunDirectory, read_run, read_run_against};
pub use error::LabError;
pub use estimate::{Estimate, estimate};
pub use imported::{is_import, read_import, write_import};
pub use index::{
    FoundRuns, Index, RunFilter, Shelf, ShownRuns, index_file, is_at_work, moment, stamp_of_run,
};
pub use journal::{BlockEnd, Entry, JournalEvent};
pub use link::Link;
pub use pilot::first_pilot;
pub use plan::{
    InstanceNote, InstancePart, PlanOptions, SettledInstance, make_plan, new_id, plan_notes, plan_warnings,
    settle_instance, settle_link, settle_volume,
};
pub use summary::{SUMMARY, read_or_make, summarize, summarize_import};
pub use underway::read_underway;
