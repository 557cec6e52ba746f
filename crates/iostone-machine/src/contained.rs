//! The container of a trial, from the agent's side: what goes into its image, the agent that runs the workload there, and
//! the place that it takes up.

mod container_agent;
mod image;
mod inside;
mod process;

pub(crate) use container_agent::ContainerAgent;
pub(crate) use image::{Images, check_carriage, check_room_for_image};
pub(crate) use inside::Entered;
