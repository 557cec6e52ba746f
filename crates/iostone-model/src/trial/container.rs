//! The container that a trial ran in, as it was read back.

use serde::{Deserialize, Serialize};

/// The container of a trial: what the engine says of it, and what the kernel says from inside.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ContainerFacts {
    /// `overlay`, `docker`, `podman`.
    pub kind: String,
    /// The engine's version, as it tells it; none for a plain overlay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine_version: Option<String>,
    /// The runtime that started it, with its version: `runc 1.1.5`; none for a plain overlay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// The storage driver as the engine reports it: `overlay2`.
    pub driver: String,
    /// The filesystem that the layers lie on, as the engine or statfs(2) names it: `ext4`.
    pub backing_filesystem: String,
    /// Where the workload worked: `host`, `bind`, `volume`, `layer`, `tmpfs`.
    pub place: String,
    /// The directory that it worked in, as it was seen there.
    pub directory: String,
    /// The line of `/proc/self/mountinfo` that this directory lies on, as seen from there.
    pub mount_line: String,
    /// Whether fsync is dropped there.
    pub volatile: bool,
    /// Kernel name of the device that the directory's bytes end on; none for memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Seconds until the daemon answered; none without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daemon_seconds: Option<f64>,
    /// Seconds that importing the image took; none without an engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import_seconds: Option<f64>,
    /// Seconds from asking for the container until the agent inside answered; none without an engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_seconds: Option<f64>,
    /// Limits on the control groups that iostone itself is in that did not hold what worked in this container, in words; none
    /// where everything that holds iostone held it too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unheld_limits: Option<String>,
}
