//! Stacks on real loop devices: built, refused, killed, undone. They need root, and are skipped by name without it.

mod common {
    pub(crate) mod groups;
    pub(crate) mod limits;
    pub(crate) mod load;
    pub(crate) mod machine;
    pub(crate) mod members;
}

mod aftermath;
mod arrays;
mod block;
mod containers;
mod crash;
mod emptiness;
mod emulated;
mod filesystems;
mod lifecycle;
mod limits;
mod members;
mod settings;
mod space;
mod throttle;
mod users;
