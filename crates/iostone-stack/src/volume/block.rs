//! A whole block device of the user's: guarded, claimed for the session, and written by nobody but the layers above.

use std::path::PathBuf;

use iostone_model::experiment::BlockVolume;
use iostone_model::trial::Check;

use crate::device::{BlockDevice, size_in_words};
use crate::error::StackError;
use crate::guard::{self, Allowance};
use crate::layer::Layer;
use crate::site::Site;

/// The layer of a `block` volume.
#[derive(Debug)]
pub(crate) struct BlockLayer {
    device: PathBuf,
}

impl BlockLayer {
    /// # Errors
    /// [`StackError::Usage`] unless exactly one device is named, by an absolute path.
    pub(crate) fn new(volume: &BlockVolume) -> Result<Self, StackError> {
        let [device] = volume.devices.as_slice() else {
            return Err(StackError::usage(
                "volume.devices",
                format!("exactly one device is taken, {} are named", volume.devices.len()),
            ));
        };
        if !device.is_absolute() {
            return Err(StackError::usage(
                "volume.devices",
                format!("`{}` is not an absolute path such as `/dev/disk/by-id/...`", device.display()),
            ));
        }
        Ok(Self { device: device.clone() })
    }

    pub(crate) fn path(&self) -> &PathBuf {
        &self.device
    }
}

impl Layer for BlockLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let allowance = Allowance { destroy: &site.destroy, claims: &site.claims };
        let guarded = guard::inspect(&self.device, &allowance)?;
        if let std::collections::btree_map::Entry::Vacant(place) = site.claims.entry(guarded.device.number) {
            place.insert(guard::claim(&guarded)?);
            // Looked at once more under the lock: the first look and the lock are two moments.
            guard::inspect(&self.device, &Allowance { destroy: &site.destroy, claims: &site.claims })?;
        }
        site.notes.extend(guarded.notes);
        site.notes.push(
            "a block volume is not filled before a trial: blocks never written may read fast".to_owned(),
        );
        // By the kernel's own node from here on: while the claim is held its number belongs to no other device,
        // whereas a link of udev's may be turned to one.
        let device = BlockDevice::numbered(guarded.device.number)?;
        site.members = vec![device.clone()];
        site.device = Some(device);
        Ok(())
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let asked = site.require_device("volume")?;
        let now = BlockDevice::at(&self.device)?;
        let same = |now: &BlockDevice| now.number == asked.number && now.size_bytes == asked.size_bytes;
        if !now.as_ref().is_some_and(same) {
            return Err(StackError::NotApplied {
                layer: "volume",
                asked: format!("{} ({}:{})", asked.name, asked.number.0, asked.number.1),
                read_back: now.map_or("no block device".to_owned(), |now| {
                    format!(
                        "{} ({}:{}), {}",
                        now.name,
                        now.number.0,
                        now.number.1,
                        size_in_words(now.size_bytes)
                    )
                }),
                from: self.device.display().to_string(),
            });
        }
        Ok(vec![Check {
            layer: "volume".to_owned(),
            asked: self.device.display().to_string(),
            read_back: format!("{}, {}", asked.name, size_in_words(asked.size_bytes)),
            from: asked.sysfs().display().to_string(),
        }])
    }
}
