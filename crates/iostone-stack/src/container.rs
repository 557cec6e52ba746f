//! The container layer: an overlay, or a container of an engine, between the filesystem and the workload.

mod alike;
mod docker;
mod engine;
mod image;
mod inside;
mod overlay;
mod podman;
mod room;

pub(crate) use overlay::BASE as OVERLAY_BASE;
pub use room::check_room_for_stream;

use std::path::PathBuf;

use iostone_model::experiment::{Container, ContainerPlace, LowerFiles, Stack};
use iostone_model::trial::{Check, ContainerFacts};
use serde::{Deserialize, Serialize};

use crate::control_groups::Hierarchies;
use crate::error::StackError;
use crate::layer::Layer;
use crate::limit::unheld;
use crate::site::Site;

/// The environment variable by which the agent inside a container is found among the host's processes; its value is
/// random for each container.
pub const AGENT_VARIABLE: &str = "IOSTONE_CONTAINED";

/// The environment variable by which an engine, what it started, and what runs in its containers are known.
pub(crate) const ENGINE_VARIABLE: &str = "IOSTONE_ENGINE";

/// What a container is made of that is not of the stack: an archive with the agent in it, and files of the workload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provision {
    /// A tar archive with the root directory of the image; needed by engines only.
    pub archive: Option<PathBuf>,
    /// The words that start iostone in it, without `agent`: `["/iostone/bin/iostone"]`.
    pub program: Vec<String>,
    /// Files that lie in the lowest layer, in the directory that the workload works in.
    pub lower: Option<LowerFiles>,
}

/// An overlay or a container that stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StandingContainer {
    /// The command that starts the agent there: `docker ... exec --interactive NAME /iostone/bin/iostone agent`, or this
    /// program itself for a place outside. Empty for a plain overlay, on which the workload runs in this process.
    pub agent: Vec<String>,
    /// The directory to work in, as that agent sees it.
    pub directory: PathBuf,
    /// The same on this host: the upper directory of a layer, the mountpoint of a volume; none for memory.
    pub backing: Option<PathBuf>,
    /// The value of [`AGENT_VARIABLE`] in that agent's environment.
    pub mark: String,
    /// What the engine told of it, with the driver as it calls it, the place and, in `volatile`, what was asked for; [`Session::recognise`](crate::Session::recognise) completes it from inside.
    pub facts: ContainerFacts,
}

/// What the agent saw from where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InsideView {
    /// The line of its `/proc/self/mountinfo` that the directory lies on.
    pub mount_line: String,
    /// `st_dev` of the directory (stat(2)), major and minor.
    pub device: (u32, u32),
    /// `f_type` of the directory (statfs(2)).
    pub filesystem_magic: u64,
}

/// The layer of a stack's container; none without one.
///
/// # Errors
/// [`StackError::Usage`] for what cannot be built, on whatever machine.
pub(crate) fn layer_of(stack: &Stack) -> Result<Option<Box<dyn Layer>>, StackError> {
    Ok(match &stack.container {
        Container::None => None,
        Container::Overlay(contained) => Some(Box::new(overlay::OverlayLayer::new(contained)?)),
        Container::Docker(contained) => Some(Box::new(docker::DockerLayer::new(contained)?)),
        Container::Podman(contained) => Some(Box::new(podman::PodmanLayer::new(contained)?)),
    })
}

/// What this machine lacks for a stack's container. Reading only.
///
/// # Errors
/// [`StackError::NeedsRoot`], [`StackError::MissingTool`] without the engine, [`StackError::Unexpected`] without overlayfs in
/// the kernel, [`StackError::Usage`] for a driver that the stack's filesystem does not carry.
pub(crate) fn examine(stack: &Stack) -> Result<(), StackError> {
    match &stack.container {
        Container::None => Ok(()),
        Container::Overlay(_) => overlay::examine(stack),
        Container::Docker(_) => docker::examine(stack),
        Container::Podman(_) => podman::examine(stack),
    }
}

/// Holds what was asked and what the engine told against what is seen from inside, and completes the facts. Of a plain
/// overlay the layer has given the same checks already, so that none is given here.
///
/// # Errors
/// [`StackError::NotApplied`] where they differ: another driver, another mount, another device than the stack's.
pub(crate) fn recognise(site: &Site, view: &InsideView) -> Result<(ContainerFacts, Vec<Check>), StackError> {
    let (mut facts, checks) = engine::recognise(site, view)?;
    facts.unheld_limits = unheld_limits(site);
    let is_told = site.container.as_ref().is_some_and(|standing| standing.agent.is_empty());
    Ok((facts, if is_told { Vec::new() } else { checks }))
}

/// What holds iostone and not what works in the container; none where nothing does, or the workload is beside it.
fn unheld_limits(site: &Site) -> Option<String> {
    let standing = site.container.as_ref()?;
    if standing.agent.is_empty() || standing.facts.place == ContainerPlace::Host.word() {
        return None;
    }
    let of_limits = site.groups.iter().flat_map(|groups| groups.enter.iter().cloned());
    let entered: Vec<PathBuf> =
        of_limits.chain(site.throttle.iter().map(|group| group.path.clone())).collect();
    let limits = unheld(&Hierarchies::look().ok()?, &entered);
    (!limits.is_empty()).then(|| limits.join("; "))
}

/// What the user should know of a stack's container before anything is built: limits that will not hold it. `entered` are
/// the places of the groups that the trial makes.
pub(crate) fn note_of_limits(stack: &Stack, entered: &[PathBuf]) -> Option<String> {
    let contained = stack.container.contained().filter(|_| stack.container.has_engine())?;
    if contained.place == ContainerPlace::Host {
        return None;
    }
    let limits = unheld(&Hierarchies::look().ok()?, entered);
    (!limits.is_empty()).then(|| {
        format!(
            "iostone's own limits ({}) do not apply to a container, so its figures are not comparable with those of `place = \
             \"host\"`; start iostone outside of that cgroup",
            limits.join("; ")
        )
    })
}
