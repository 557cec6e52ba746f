//! Emulated volumes: a cloud volume's limits on files of this machine, by control groups or by the disk server.

mod cgroup;
mod server;

use iostone_model::experiment::{EmulatedBy, EmulatedVolume, Link};
use iostone_model::trial::Check;

use super::image::BLOCK_BYTES;
use crate::disk_server;
use crate::error::StackError;
use crate::layer::Layer;
use crate::site::Site;
use cgroup::CgroupVolumes;
use server::ServerVolumes;

pub(crate) use server::{ServerAttachment, serve_volumes};

/// The layer of `emulated` volumes.
#[derive(Debug)]
pub(crate) enum EmulatedLayer {
    /// Loop devices, which a layer above limits.
    Cgroup(CgroupVolumes),
    /// Devices at the sockets of a server of ours.
    Server(ServerVolumes),
}

impl EmulatedLayer {
    /// # Errors
    /// [`StackError::Usage`] for what cannot be built, on whatever machine.
    pub(crate) fn new(volume: &EmulatedVolume, link: Option<Link>) -> Result<Self, StackError> {
        if volume.size.0 == 0 || !volume.size.0.is_multiple_of(BLOCK_BYTES) {
            return Err(StackError::usage("volume.size", "it must be a multiple of 4KiB, and not zero"));
        }
        if volume.count == 0 {
            return Err(StackError::usage("volume.count", "it must be 1 or more"));
        }
        match volume.effective_by(link) {
            EmulatedBy::Cgroup => {
                if let Some(key) = volume.server_keys().first() {
                    return Err(StackError::Usage {
                        object: format!("stack.volume.{key}"),
                        reason: "cgroups cannot emulate it: leave `by = \"cgroup\"` out".to_owned(),
                    });
                }
                Ok(Self::Cgroup(CgroupVolumes::new(volume, link.is_some())))
            }
            EmulatedBy::Server => Ok(Self::Server(ServerVolumes::new(volume, link))),
        }
    }
}

impl Layer for EmulatedLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let members = match self {
            Self::Cgroup(volumes) => volumes.apply(site)?,
            Self::Server(volumes) => volumes.apply(site)?,
        };
        // With several, an array, or a filesystem that is one, says what the workload's device is.
        site.device = if let [only] = members.as_slice() { Some(only.clone()) } else { None };
        site.members = members;
        Ok(())
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        match self {
            Self::Cgroup(volumes) => volumes.verify(),
            Self::Server(volumes) => {
                // What this machine's disk failed is no property of the volume that was asked for.
                site.disk_control.as_deref().map_or(Ok(()), disk_server::check_below)?;
                volumes.verify()
            }
        }
    }

    fn release(&mut self) {
        match self {
            Self::Cgroup(volumes) => volumes.release(),
            Self::Server(volumes) => volumes.release(),
        }
    }
}
