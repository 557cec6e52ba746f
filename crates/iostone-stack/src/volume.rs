//! Volumes: where the bytes lie.

mod attach;
mod attach_fuse;
mod attach_nbd;
mod block;
mod directory;
mod emulated;
mod image;
mod loop_devices;
mod loopback;

pub(crate) use attach::check_own_attachment;
pub(crate) use attach_nbd::{disconnect as disconnect_nbd, is_carried_by_us};
pub(crate) use block::BlockLayer;
pub(crate) use directory::DirectoryLayer;
pub(crate) use emulated::{EmulatedLayer, ServerAttachment, serve_volumes};
pub(crate) use image::Images;
pub(crate) use loop_devices::{attached_loops, decode_device, loop_name, loops_over, open_attached};
pub(crate) use loopback::LoopLayer;
