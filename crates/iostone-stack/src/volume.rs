//! Volumes: where the bytes lie.

mod block;
mod directory;
mod emulated;
mod loop_devices;
mod loopback;

pub(crate) use block::BlockLayer;
pub(crate) use directory::DirectoryLayer;
pub(crate) use emulated::EmulatedLayer;
pub(crate) use loop_devices::{AttachedLoop, attached_loops, is_of_file, loops_over, open_attached};
pub(crate) use loopback::LoopLayer;
