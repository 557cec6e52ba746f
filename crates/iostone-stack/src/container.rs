//! The container layer: an overlay, or a container of an engine, between the filesystem and the workload.

mod docker;
mod engine;
mod image;
mod inside;
mod overlay;
mod podman;

pub(crate) use overlay::BASE as OVERLAY_BASE;

use std::path::PathBuf;

use iostone_model::experiment::{Container, LowerFiles, Stack};
use iostone_model::trial::{Check, ContainerFacts};
use serde::{Deserialize, Serialize};

use crate::error::StackError;
use crate::layer::Layer;

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
pub(crate) fn recognise(
    site: &crate::site::Site,
    view: &InsideView,
) -> Result<(ContainerFacts, Vec<Check>), StackError> {
    let (facts, checks) = engine::recognise(site, view)?;
    let is_told = site.container.as_ref().is_some_and(|standing| standing.agent.is_empty());
    Ok((facts, if is_told { Vec::new() } else { checks }))
}
