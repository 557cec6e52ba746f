//! Block devices of the user's: guarded, claimed for the session, and written by nobody but the layers above.

mod kinship;

use std::path::{Path, PathBuf};

use iostone_model::experiment::BlockVolume;
use iostone_model::trial::Check;

use crate::device::{BlockDevice, named, size_in_words};
use crate::error::StackError;
use crate::guard::{self, Allowance, Guarded};
use crate::journal::Claim;
use crate::layer::Layer;
use crate::provide::DRIVE_SERIAL;
use crate::site::Site;

/// The layer of a `block` volume.
#[derive(Debug)]
pub(crate) struct BlockLayer {
    /// As the experiment names them.
    devices: Vec<PathBuf>,
}

impl BlockLayer {
    /// # Errors
    /// [`StackError::Usage`] unless devices are named, each once, by an absolute path or a stable id.
    pub(crate) fn new(volume: &BlockVolume) -> Result<Self, StackError> {
        if volume.devices.is_empty() {
            return Err(StackError::usage("volume.devices", "no device is named"));
        }
        for (index, device) in volume.devices.iter().enumerate() {
            named::check(device)?;
            if volume.devices.iter().take(index).any(|earlier| earlier == device) {
                return Err(StackError::usage(
                    "volume.devices",
                    format!("`{}` is named twice", device.display()),
                ));
            }
        }
        Ok(Self { devices: volume.devices.clone() })
    }

    /// Looks at every device: whether they are different ones, of equal size, and the guard has nothing against any.
    /// Reading only.
    ///
    /// # Errors
    /// The guard's refusal; [`StackError::Usage`] for devices that do not go together.
    pub(crate) fn inspect(&self, allowance: &Allowance<'_>) -> Result<Inspected, StackError> {
        let paths: Vec<PathBuf> =
            self.devices.iter().map(|device| named::resolve(device)).collect::<Result<_, _>>()?;
        // Before the guard, which would rather say of a disk that it has partitions than that one of them is a member.
        let there: Vec<(&Path, BlockDevice)> = self
            .devices
            .iter()
            .zip(&paths)
            .filter_map(|(word, path)| Some((word.as_path(), BlockDevice::at(path).ok().flatten()?)))
            .collect();
        kinship::refuse_doubles(&there)?;
        let members: Vec<Guarded> =
            paths.iter().map(|path| guard::inspect(path, allowance)).collect::<Result<_, _>>()?;
        let devices: Vec<&BlockDevice> = members.iter().map(Guarded::device).collect();
        kinship::refuse_unequal(&devices)?;
        let notes = kinship::notes(&devices);
        Ok(Inspected { members, notes })
    }
}

/// Devices that may be written, in the order in which they are named.
#[derive(Debug)]
pub(crate) struct Inspected {
    pub(crate) members: Vec<Guarded>,
    /// What is worth saying of all of them together.
    pub(crate) notes: Vec<String>,
}

impl Layer for BlockLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let inspected = self.inspect(&site.allowance())?;
        for guarded in &inspected.members {
            let device = guarded.device();
            let claim = site.claims.get(&device.number);
            if claim.is_some_and(|claim| claim.is_cleared) {
                continue;
            }
            if claim.is_none() {
                site.claims.insert(device.number, guard::claim(guarded)?);
            }
            site.journal.claim(Claim::of(device))?;
            // Looked at once more under the lock: the first look and the lock are two moments.
            guard::inspect(&device.path, &Allowance { early: true, ..site.allowance() })?;
            if let Some(claim) = site.claims.get_mut(&device.number) {
                claim.is_cleared = true;
            }
        }
        // In a guest the host has made the drives: what they hold is known, and was said there.
        if !self.devices.iter().all(|device| is_provided(device)) {
            site.notes.extend(inspected.members.iter().flat_map(|guarded| guarded.notes.clone()));
            site.notes.extend(inspected.notes);
            site.notes.push(
                "a block volume is not filled before a trial: blocks never written may read fast".to_owned(),
            );
        }
        // By the kernel's own node from here on: while the claim is held its number belongs to no other device,
        // whereas a link of udev's may be turned to one.
        site.members = inspected
            .members
            .iter()
            .map(|guarded| BlockDevice::numbered(guarded.device().number))
            .collect::<Result<_, _>>()?;
        site.device = match site.members.as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        };
        Ok(())
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        self.devices.iter().zip(&site.members).map(|(word, member)| check(word, member)).collect()
    }
}

/// Whether a name is that of a drive which iostone made for a guest.
fn is_provided(device: &Path) -> bool {
    let name = device.to_str().and_then(|text| text.strip_prefix("serial:"));
    name.is_some_and(|serial| serial.starts_with(DRIVE_SERIAL))
}

/// Whether a name still leads to the device that was guarded and claimed.
fn check(word: &Path, asked: &BlockDevice) -> Result<Check, StackError> {
    let path = named::resolve(word)?;
    let now = BlockDevice::at(&path)?;
    let same = |now: &BlockDevice| now.number == asked.number && now.size_bytes == asked.size_bytes;
    if !now.as_ref().is_some_and(same) {
        return Err(StackError::NotApplied {
            layer: "volume",
            asked: format!("{} ({}:{})", asked.name, asked.number.0, asked.number.1),
            read_back: now.map_or("no block device".to_owned(), |now| {
                format!("{} ({}:{}), {}", now.name, now.number.0, now.number.1, size_in_words(now.size_bytes))
            }),
            from: path.display().to_string(),
        });
    }
    Ok(Check {
        layer: "volume".to_owned(),
        asked: word.display().to_string(),
        read_back: format!("{}, {}", asked.name, size_in_words(asked.size_bytes)),
        from: asked.sysfs().display().to_string(),
    })
}
