//! The engine through its public face: jobs, mixes, volumes, devices, verification.

mod devices;
mod jobs;
mod mixed;
mod verify;
mod volume;
