//! The storage stack of an experiment: layers that apply, verify and undo themselves, the guard, the undo journal.
//!
//! Nothing here touches the machine without having written down first how to take it back: every step goes into a
//! journal of the machine's [`Registry`] before it is done, so that a crash at any moment leaves a list that
//! [`Registry::cleanup`] can replay. A block device of the user's is only ever written after the guard found that
//! nothing on or above it is alive and that it carries nothing.

mod aligned;
mod array;
mod below;
mod container;
mod control_groups;
mod device;
mod disk_server;
mod entry;
mod error;
mod filesystem;
mod fill;
#[doc(hidden)]
pub mod fuzzing;
mod governor;
mod guard;
mod handover;
mod ioctl;
mod journal;
mod layer;
mod limit;
mod load_file;
mod mount;
mod mountinfo;
mod occupants;
mod output_file;
mod own_uuid;
mod owner;
mod plan;
mod preflight;
mod private;
mod provide;
mod queue;
mod registry;
mod seal;
mod session;
mod site;
mod space;
mod step;
mod sysctl;
mod throttle;
mod tool;
mod trust;
mod undo;
mod volume;
mod whole_file;

pub use below::{Role, StackDevice};
pub use container::{AGENT_VARIABLE, InsideView, Provision, StandingContainer, check_room_for_stream};
pub use control_groups::CgroupVersion;
pub use entry::Entry;
pub use error::{Refusal, RefusalReason, StackError, UndoFailure};
pub use fill::check_room;
pub use governor::{GovernorPlan, ServeError, serve as serve_governor};
pub use guard::{DeviceLoad, is_device_named, name_content, strange_words};
pub use handover::leave_to_caller;
pub use limit::{AppliedLimits, LimitControllers, TrialGroups};
pub use load_file::{
    FileOwner, Writing, create_own_file, file_owner, file_writing, guard_file, keeps_marks, mark_own_file,
    mark_writing, refuse_file_in_use, unmark_file,
};
pub use output_file::{OutputFile, Permit, Placing};
pub use owner::Owner;
pub use plan::{PlannedStep, plan_guest_steps, plan_steps};
pub use preflight::{Permission, Preflight, capacity};
pub use provide::{Drive, DriveSource, Provided};
pub use registry::{CleanupReport, JournalOutcome, Registry};
pub use session::{Applied, Session, SessionOptions, Target};
pub use space::SpaceWatch;
pub use throttle::{Bounds, Confinement, ThrottleController};
pub use tool::quote;
pub use trust::{refuse_exposed, refuse_exposed_runs};
pub use undo::is_frozen;
pub use whole_file::write_whole_file;
