//! The same experiment on many hosts. Ansible carries: it pushes the program, starts it detached and fetches run directories.
//! iostone decides its own trials on each host, and judges over hosts here.
//!
//! Nothing in this crate listens on a port, and nothing of it is on the wire during trials but a rare question for a host's
//! status. What comes from a host is untrusted: names, archives and figures are checked and bounded before they are kept.

mod archive;
mod campaign;
mod collect;
mod collection;
mod directory;
mod engine;
mod error;
mod figures;
mod host;
mod inventory;
mod judge;
mod manifest;
mod reason;
mod signature;
mod template;
mod totals;

pub use archive::{Bounds, seal, unpack};
pub use campaign::{Campaign, News, Programs, Timing};
pub use collect::{Collected, collect};
pub use collection::{FILES as COLLECTION_FILES, unpack as unpack_collection};
pub use directory::{FleetDirectory, is_fleet, seed_of};
pub use error::FleetError;
pub use host::{HostDirectory, write_status};
pub use inventory::{InventoryHost, read_inventory};
pub use judge::judge;
pub use manifest::{MANIFEST, check as check_manifest, content_digest, write as write_manifest};
pub use signature::{NAMESPACE, SIGNATURE, sign, verify};
pub use template::{Job, kubernetes, slurm};
