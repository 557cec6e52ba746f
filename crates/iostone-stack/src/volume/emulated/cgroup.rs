//! Volumes for control groups to limit: loop devices side by side on one image, with a device for the instance's link
//! between if there is such a link.
//!
//! The loop driver charges whoever sent a request at every level, so that a limit on the device below is shared by all
//! volumes on it. A single volume without a link is what a `loop` volume with limits is.

use iostone_model::experiment::EmulatedVolume;
use iostone_model::trial::Check;

use crate::device::BlockDevice;
use crate::error::StackError;
use crate::site::Site;
use crate::volume::attach::{Attached, Backing};
use crate::volume::image::{Images, open_image};

/// The loop devices of emulated volumes.
#[derive(Debug)]
pub(crate) struct CgroupVolumes {
    volume: EmulatedVolume,
    /// Whether a device for the instance stands below.
    linked: bool,
    /// Bottom up.
    attached: Vec<Attached>,
}

impl CgroupVolumes {
    pub(super) fn new(volume: &EmulatedVolume, linked: bool) -> Self {
        Self { volume: volume.clone(), linked, attached: Vec::new() }
    }

    /// Makes the image and the devices on it; gives the volumes in order.
    pub(super) fn apply(&mut self, site: &mut Site) -> Result<Vec<BlockDevice>, StackError> {
        let total_bytes = self.volume.total_size().0;
        let images = Images {
            directory: self.volume.directory.as_deref(),
            count: 1,
            size_bytes: total_bytes,
            fill: self.volume.fill,
            io: "direct I/O",
        };
        let Some(image) = images.make(site)?.into_iter().next() else {
            return Err(StackError::unexpected("volume", "no image was made"));
        };
        site.check_interrupt()?;
        let mut backing = Backing {
            file: open_image(&image, true)?,
            path: image.path.clone(),
            identity: image.identity,
            offset: 0,
            size_bytes: total_bytes,
            direct: true,
        };
        site.image = Some(image);
        if self.linked {
            let (attached, instance) = Attached::new(site, &backing)?;
            self.attached.push(attached);
            backing = Backing::open(&instance.path, total_bytes, true)?;
            site.instance = Some(instance);
        }
        let mut volumes = Vec::new();
        backing.size_bytes = self.volume.size.0;
        for _ in 0..self.volume.count {
            let (attached, device) = Attached::new(site, &backing)?;
            self.attached.push(attached);
            volumes.push(device);
            backing.offset = backing.offset.saturating_add(backing.size_bytes);
        }
        Ok(volumes)
    }

    pub(super) fn verify(&self) -> Result<Vec<Check>, StackError> {
        let mut checks = Vec::new();
        for attached in self.attached.iter().rev() {
            checks.extend(attached.verify()?);
        }
        Ok(checks)
    }

    pub(super) fn release(&mut self) {
        // From the top: a device is not free before what stands on it is.
        while self.attached.pop().is_some() {}
    }
}
