//! Virtual machines: finding a kernel and its modules, packing what is carried in, starting QEMU and watching it.
//!
//! Nothing here knows of experiments or agents: a [`Boot`] says what to start, a [`Running`] is what came of it.

mod error;

pub use error::GuestError;
