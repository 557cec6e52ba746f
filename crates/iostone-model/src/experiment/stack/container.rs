//! The container layer: whether the workload works beneath an engine or an overlay, and where its bytes land.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What stands between the filesystem and the workload.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Container {
    /// Nothing: the workload works on the filesystem.
    #[default]
    None,
    /// A plain overlayfs mount, lower and upper directory on the stack's filesystem; needs no engine, and the workload
    /// runs on the host.
    Overlay(Contained),
    /// A container of a Docker daemon of iostone's own, whose data root lies on the stack's filesystem.
    Docker(Contained),
    /// A container of Podman, whose storage lies on the stack's filesystem.
    Podman(Contained),
}

/// How the container is made, and where in it the workload works.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Contained {
    /// The engine's storage driver; left out, `overlay2`, which Podman calls `overlay`. A plain overlay has no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<StorageDriver>,
    /// Where the workload works.
    #[serde(default)]
    pub place: ContainerPlace,
    /// Whether the writable layer drops every fsync (overlayfs `volatile`), as Podman does for `--rm` containers. Docker
    /// has no such thing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub volatile: bool,
}

impl Contained {
    /// The storage driver, with the default in its place.
    pub fn effective_driver(&self) -> StorageDriver {
        self.driver.unwrap_or(StorageDriver::Overlay2)
    }
}

/// How an engine keeps the layers of images and containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StorageDriver {
    /// overlayfs; Podman's name for it, `overlay`, is taken as well.
    #[serde(alias = "overlay")]
    Overlay2,
    /// Snapshots of btrfs subvolumes; needs a btrfs.
    Btrfs,
    /// A full copy of every layer.
    Vfs,
}

/// Where in or beside a container the workload works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ContainerPlace {
    /// Outside, in a directory of the stack's filesystem; the engine runs beside it all the same.
    Host,
    /// Inside, in a directory of the stack's filesystem that is mounted there.
    Bind,
    /// Inside, in a named volume of the engine's; a plain overlay has none.
    Volume,
    /// Inside, in the container's own writable layer.
    #[default]
    Layer,
    /// Inside, in memory: no byte reaches the stack.
    Tmpfs,
}

impl Container {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// The word used in the experiment file.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Overlay(_) => "overlay",
            Self::Docker(_) => "docker",
            Self::Podman(_) => "podman",
        }
    }

    /// How it is made; none without one.
    pub fn contained(&self) -> Option<&Contained> {
        match self {
            Self::None => None,
            Self::Overlay(contained) | Self::Docker(contained) | Self::Podman(contained) => Some(contained),
        }
    }

    /// How many copies of what lies in its image the layers hold; none without an engine. With Docker's driver `vfs` the
    /// image's layer, the one that starts the container, and the container's own are each a full copy; Podman has no
    /// layer between.
    pub fn copies_of_image(&self) -> u64 {
        let Some(layers) = self.contained().filter(|_| self.has_engine()) else { return 0 };
        match (layers.effective_driver(), self) {
            (StorageDriver::Overlay2 | StorageDriver::Btrfs, _) => 1,
            (StorageDriver::Vfs, Self::Podman(_)) => 2,
            (StorageDriver::Vfs, _) => 3,
        }
    }

    /// Whether an engine runs it, so that the workload has an agent of its own.
    pub fn has_engine(&self) -> bool {
        matches!(self, Self::Docker(_) | Self::Podman(_))
    }
}

impl StorageDriver {
    /// As Docker calls it.
    pub fn docker_name(self) -> &'static str {
        match self {
            Self::Overlay2 => "overlay2",
            Self::Btrfs => "btrfs",
            Self::Vfs => "vfs",
        }
    }

    /// As Podman calls it.
    pub fn podman_name(self) -> &'static str {
        match self {
            Self::Overlay2 => "overlay",
            Self::Btrfs => "btrfs",
            Self::Vfs => "vfs",
        }
    }
}

impl ContainerPlace {
    /// The word used in the experiment file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Bind => "bind",
            Self::Volume => "volume",
            Self::Layer => "layer",
            Self::Tmpfs => "tmpfs",
        }
    }
}
