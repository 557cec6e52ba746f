//! The container of a trial, from the agent's side: what goes into its image, the agent that runs the workload there, and
//! the place that it takes up.

mod companion;
mod image;
mod inside;

pub(crate) use companion::Companion;
pub(crate) use image::{Images, check_carriage};
pub(crate) use inside::Entered;
