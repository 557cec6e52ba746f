//! Stacks that need a container engine, and rates of real devices. They need root, and are skipped by name without it.

#[path = "../common"]
mod common {
    pub(crate) mod contained;
    pub(crate) mod limits;
    pub(crate) mod load;
    pub(crate) mod machine;
}

mod docker;
mod emulated;
mod podman;
mod throttle;
