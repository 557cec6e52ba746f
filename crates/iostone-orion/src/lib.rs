//! Oracle ORION's storage test: LUNs in, load points measured one after another through the engine, its files out.
//!
//! ORION (Oracle I/O Numbers) is closed and no longer offered for download. This crate takes its input file, follows its
//! load points ([`iostone_model::orion`]), and writes its files, beside a record of its own from which everything can be
//! written again.
//!
//! A test is [conducted](conduct()) by a [`Schedule`], which says what point is next: the whole matrix in ORION's order, or only
//! what a knee or a stated error needs.

pub mod ceiling;
pub mod conduct;
pub mod error;
pub mod files;
pub mod findings;
pub mod limits;
pub mod lun;
pub mod point;
pub mod precision;
pub mod record;
mod refusal;
pub mod schedule;
pub mod warming;
pub mod written;

pub use conduct::{Assignment, Observer, conduct};
pub use error::OrionError;
pub use lun::{Lun, read_lun_file};
pub use schedule::Schedule;
