//! What can be known about emulated volumes before anything is touched.

use std::path::Path;

use iostone_model::experiment::{EmulatedBy, EmulatedVolume, Link};

use super::{Place, Preflight, require_loop_devices};
use crate::below::describe_filesystem;
use crate::error::StackError;
use crate::fill;
use crate::throttle::{ThrottleController, ThrottleLayer};
use crate::volume::ServerAttachment;

/// Whether volumes can be made devices of this host.
pub(super) fn examine(
    volume: &EmulatedVolume,
    link: Option<Link>,
    flush_matters: bool,
    work_directory: &Path,
    found: &mut Preflight,
) -> Result<(), StackError> {
    match volume.effective_by(link) {
        EmulatedBy::Cgroup => {
            require_loop_devices()?;
            if ThrottleLayer::of_emulated(volume, link).is_some() {
                let controller = ThrottleController::find()?;
                found.notes.push(format!(
                    "limited by {} in `{}`",
                    controller.version.in_words(),
                    controller.parent.display()
                ));
            }
        }
        EmulatedBy::Server => {
            if let ServerAttachment::Fuse(_) = ServerAttachment::find(volume)? {
                require_loop_devices()?;
                if !Path::new("/dev/fuse").exists() {
                    return Err(StackError::unexpected(
                        "/dev/fuse",
                        "the kernel has no FUSE, which `nbdfuse` needs; load it with `modprobe fuse`",
                    ));
                }
            }
        }
    }
    examine_images(volume, flush_matters, work_directory, found)
}

/// Whether the images of the volumes have a place.
pub(super) fn examine_images(
    volume: &EmulatedVolume,
    flush_matters: bool,
    work_directory: &Path,
    found: &mut Preflight,
) -> Result<(), StackError> {
    let place = Place::find(volume.directory.as_deref(), work_directory, "volume.directory")?;
    // What a flush costs on a server is the server's to say, whatever the files lie on.
    let is_timed = volume.flush_latency.is_some() || volume.cache.is_some();
    place.refuse_memory(flush_matters && !is_timed)?;
    fill::check_room_for_image(place.path, volume.total_size().0)?;
    found.disk_bytes = volume.total_size().0;
    found.notes.push(format!("backing files on {}", describe_filesystem(place.path)?));
    Ok(())
}
