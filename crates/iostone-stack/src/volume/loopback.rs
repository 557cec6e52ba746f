//! A loop device over a file of ours, with an instance's device between if one is asked for: attached anew for each
//! trial, known by its file and never by its number.

use iostone_model::experiment::{BackingIo, LoopVolume};
use iostone_model::trial::Check;

use super::attach::{Attached, Backing};
use super::image::{BLOCK_BYTES, Images, open_image};
use crate::error::StackError;
use crate::layer::Layer;
use crate::site::Site;

/// The layer of a `loop` volume.
#[derive(Debug)]
pub(crate) struct LoopLayer {
    volume: LoopVolume,
    /// Bottom up: the instance's device, if there is one, then the volume's.
    attached: Vec<Attached>,
}

impl LoopLayer {
    /// # Errors
    /// [`StackError::Usage`] for a size that is no multiple of 4 KiB, or none at all.
    pub(crate) fn new(volume: &LoopVolume) -> Result<Self, StackError> {
        if volume.size.0 == 0 || !volume.size.0.is_multiple_of(BLOCK_BYTES) {
            return Err(StackError::usage("volume.size", "it must be a multiple of 4KiB, and not zero"));
        }
        Ok(Self { volume: volume.clone(), attached: Vec::new() })
    }
}

impl Layer for LoopLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let size_bytes = self.volume.size.0;
        let direct = self.volume.effective_backing_io() == BackingIo::Direct;
        let images = Images {
            directory: self.volume.directory.as_deref(),
            count: 1,
            size_bytes,
            fill: self.volume.fill,
            io: if direct { "direct I/O" } else { "buffered I/O" },
        };
        let Some(image) = images.make(site)?.into_iter().next() else {
            return Err(StackError::unexpected("volume", "no image was made"));
        };
        site.check_interrupt()?;
        let backing = Backing {
            file: open_image(&image, direct)?,
            path: image.path.clone(),
            identity: image.identity,
            offset: 0,
            size_bytes,
            direct,
        };
        site.image = Some(image);
        let (attached, mut device) = Attached::new(site, &backing)?;
        self.attached.push(attached);
        if self.volume.instance.is_some() {
            site.instance = Some(device.clone());
            let backing = Backing::open(&device.path, size_bytes, direct)?;
            let (attached, above) = Attached::new(site, &backing)?;
            self.attached.push(attached);
            device = above;
        }
        site.members = vec![device.clone()];
        site.device = Some(device);
        Ok(())
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let device = site.members.first();
        if self.attached.last().map(|top| top.number) != device.map(|device| device.number) {
            return Err(StackError::unexpected("volume", "its device is not attached"));
        }
        let mut checks = Vec::new();
        for attached in self.attached.iter().rev() {
            checks.extend(attached.verify()?);
        }
        Ok(checks)
    }

    fn release(&mut self) {
        // From the top: a device is not free before what stands on it is.
        while self.attached.pop().is_some() {}
    }
}
