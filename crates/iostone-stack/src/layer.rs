//! What every layer of a stack can do: apply itself, and prove from the kernel that it did.

use iostone_model::experiment::{Array, Filesystem, Stack, Volume};
use iostone_model::trial::Check;

use crate::array;
use crate::container;
use crate::error::StackError;
use crate::filesystem;
use crate::limit;
use crate::mount::MountLayer;
use crate::queue::QueueLayer;
use crate::site::Site;
use crate::sysctl::SysctlLayer;
use crate::throttle::ThrottleLayer;
use crate::volume::{BlockLayer, DirectoryLayer, EmulatedLayer, LoopLayer};

/// One layer. Undoing is the journal's: a layer writes each step down before it does it, and the step knows how it is
/// taken back, in this process or in one that comes after a crash.
pub(crate) trait Layer: Send {
    /// Builds the layer on what those below have made.
    ///
    /// # Errors
    /// Whatever stands in the way; the caller then undoes the steps in the journal.
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError>;

    /// Reads back from the kernel that the layer is as asked; one check for each setting.
    ///
    /// # Errors
    /// [`StackError::NotApplied`] for the first setting that is not as asked.
    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError>;

    /// The workload begins: what is used up is as it was asked for then, whatever building the stack took of it.
    ///
    /// # Errors
    /// Where that cannot be had.
    fn begin_workload(&mut self) -> Result<(), StackError> {
        Ok(())
    }

    /// Lets go of what this process itself holds, before the journal's steps are undone.
    fn release(&mut self) {}
}

/// The layers of a stack, bottom up, each with its part of the description checked.
///
/// # Errors
/// [`StackError::Usage`] for what cannot be built, on whatever machine.
pub(crate) fn layers_of(stack: &Stack) -> Result<Vec<Box<dyn Layer>>, StackError> {
    let mut layers: Vec<Box<dyn Layer>> = Vec::new();
    let mut is_throttled = false;
    let on_device = match &stack.volume {
        Volume::Loop(volume) => {
            layers.push(Box::new(LoopLayer::new(volume)?));
            // Before the filesystem is made, so that the group goes after the unmount and before the devices.
            if let Some(throttle) = ThrottleLayer::of(volume) {
                layers.push(Box::new(limited_too(throttle, stack)?));
                is_throttled = true;
            }
            true
        }
        Volume::Block(volume) => {
            layers.push(Box::new(BlockLayer::new(volume)?));
            true
        }
        Volume::Emulated(volume) => {
            layers.push(Box::new(EmulatedLayer::new(volume, stack.link)?));
            if let Some(throttle) = ThrottleLayer::of_emulated(volume, stack.link) {
                if volume.burst.is_some() && stack.limit.io.is_some() {
                    return Err(StackError::usage(
                        "limit.io",
                        "`volume.burst` already changes the volume's limits; leave out one of the two",
                    ));
                }
                layers.push(Box::new(limited_too(throttle, stack)?));
                is_throttled = true;
            }
            true
        }
        Volume::Directory(volume) => {
            layers.push(Box::new(DirectoryLayer::new(volume)));
            false
        }
    };
    if let Some(array) = array::layer_of(stack)? {
        layers.push(array);
    }
    if !stack.queue.is_empty() && !on_device {
        return Err(StackError::usage("queue", "a `directory` volume has no block queue"));
    }
    if let Some(queue) = QueueLayer::of(stack)? {
        layers.push(Box::new(queue));
    }
    match &stack.filesystem {
        Filesystem::None if !stack.mount.is_empty() => {
            return Err(StackError::usage(
                "mount.options",
                "nothing is mounted: `stack.filesystem` is `none`",
            ));
        }
        Filesystem::None => {}
        _ if !on_device => {
            return Err(StackError::usage(
                "filesystem",
                "a `directory` volume is already on a filesystem; leave it out, or use `loop` or `block`",
            ));
        }
        _ => {
            layers.push(filesystem::layer_of(stack)?);
            layers.push(Box::new(MountLayer::new(stack)?));
            layers.extend(filesystem::mounted_layer_of(stack)?);
        }
    }
    if !stack.container.is_none() && stack.filesystem == Filesystem::None {
        return Err(StackError::usage(
            "container",
            "its layers need a filesystem in the stack; add `filesystem = { kind = \"ext4\" }`",
        ));
    }
    layers.extend(container::layer_of(stack)?);
    if stack.limit.io.is_some() && !on_device {
        return Err(StackError::usage("limit.io", "a `directory` volume has no device to limit"));
    }
    if let Some(sysctl) = SysctlLayer::of(&stack.sysctl)? {
        layers.push(Box::new(sysctl));
    }
    // On top, so that neither mkfs nor the filling of images is held to them.
    limit::push_layers(&mut layers, &stack.limit, stack.governor.as_deref(), is_throttled)?;
    Ok(layers)
}

/// The limits of volumes where the workload has some too. Those on the stack's device are the volume's own unless an
/// array stands between.
fn limited_too(throttle: ThrottleLayer, stack: &Stack) -> Result<ThrottleLayer, StackError> {
    let Some(asked) = limit::LimitRequest::of(&stack.limit, stack.governor.as_deref(), true)? else {
        return Ok(throttle);
    };
    let throttle = throttle.together_with(asked.controllers());
    let is_own = matches!(stack.array, Array::None | Array::Btrfs(_));
    Ok(match stack.limit.io.filter(|_| is_own) {
        Some(io) => throttle.within(io),
        None => throttle,
    })
}
