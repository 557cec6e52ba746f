//! Arrays: several volumes made into one device; one file for each way.

mod kernel_support;
mod label;
mod lvm;
mod md;
mod planned;
mod superblock;

use iostone_model::experiment::{Array, Stack};

use crate::device::BlockDevice;
use crate::error::StackError;
use crate::layer::Layer;
use crate::site::Site;

pub(crate) use label::PhysicalVolume;
pub(crate) use lvm::{VOLUME_NAME, find_mapped, mapped_name};
pub(crate) use md::array_name;
pub(crate) use planned::plan;
pub(crate) use superblock::{MdSuperblock, Wiped, arrays_of, uuids_on};

/// The array of a trial, by what tells it from any other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OwnArray {
    /// UUID of a software RAID.
    Md(String),
    /// The device mapper's name of a logical volume.
    Mapped(String),
}

/// The layer of a stack's array; none where nothing is joined, or where the filesystem itself joins its devices.
///
/// # Errors
/// [`StackError::Usage`] for what cannot be built, on whatever machine.
pub(crate) fn layer_of(stack: &Stack) -> Result<Option<Box<dyn Layer>>, StackError> {
    let layer: Box<dyn Layer> = match &stack.array {
        Array::None | Array::Btrfs(_) => return Ok(None),
        Array::Md(md) => Box::new(md::MdLayer::new(md, stack.volume.members())?),
        Array::Lvm(lvm) => Box::new(lvm::LvmLayer::new(lvm, stack.volume.members())?),
    };
    Ok(Some(layer))
}

/// What can be known before anything is touched: the programs, and what the kernel has. Reading only.
///
/// # Errors
/// [`StackError::MissingTool`]; [`StackError::Usage`] for a kernel that cannot do it, with the guest that can.
pub(crate) fn examine(stack: &Stack) -> Result<(), StackError> {
    match &stack.array {
        Array::None | Array::Btrfs(_) => Ok(()),
        Array::Md(md) => {
            kernel_support::examine_md(md.level)?;
            md::find_tool().map(drop)
        }
        Array::Lvm(_) => {
            kernel_support::examine_mapper()?;
            lvm::Tools::find().map(drop)
        }
    }
}

/// The members, or the one device where a volume is only that.
fn members_of(site: &Site, key: &'static str) -> Result<Vec<BlockDevice>, StackError> {
    if site.members.is_empty() {
        return Ok(vec![site.require_device(key)?.clone()]);
    }
    Ok(site.members.clone())
}

/// The name by which a member is found again, after a reboot too.
fn lasting_path(member: &BlockDevice) -> std::path::PathBuf {
    member.stable_path().unwrap_or_else(|| member.path.clone())
}
