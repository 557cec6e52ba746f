//! Results in fio's own forms: JSON, JSON with histograms, terse lines and logs, as fio 3.33 prints them.
//!
//! Tools that read fio's results read these unchanged: keys, their order, types and units are fio's. Where the engine
//! measures more exactly than fio does (percentiles, rates over less than a millisecond) the figure is the exact one.
//! What fio has no key for is under the key `iostone` of each job.
//!
//! Nothing here knows how a job came to be: a caller fills in a [`Session`] and gets text.

mod bins;
mod disk_util;
mod entry;
mod extras;
mod figures;
mod json;
mod logs;
mod merge;
mod session;
mod shares;
mod steady;
mod terse;
mod tree;

pub use bins::{bin_latencies, bin_of};
pub use disk_util::{DiskUtil, DiskWatch, SlavesUtil};
pub use json::{Detail, write_json};
pub use logs::{LogError, LogFile, LogRequest, LogText, LogValue, check_log_window, log_paths, logs_of};
pub use merge::merge_outcomes;
pub use session::{DEFAULT_PERCENTILES, FIO_VERSION, Percentiles, Reported, Session, Unified};
pub use terse::write_terse;
