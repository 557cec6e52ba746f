//! What the daemon tells of itself and of a container, as far as it is used (docs.docker.com, "Docker Engine API").

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

/// `docker info`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Info {
    pub(super) driver: String,
    /// Pairs such as `Backing Filesystem`, `extfs`.
    #[serde(default)]
    pub(super) driver_status: Option<Vec<Vec<String>>>,
    pub(super) server_version: String,
    #[serde(default)]
    pub(super) default_runtime: String,
    #[serde(default)]
    pub(super) docker_root_dir: PathBuf,
}

/// `docker inspect` of a container.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::container) struct Inspected {
    pub(in crate::container) state: State,
    pub(in crate::container) graph_driver: GraphDriver,
    #[serde(default)]
    pub(in crate::container) mounts: Vec<Mount>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::container) struct State {
    pub(in crate::container) status: String,
    pub(in crate::container) running: bool,
    pub(in crate::container) pid: u32,
    #[serde(default)]
    pub(in crate::container) error: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::container) struct GraphDriver {
    /// `UpperDir` and its like; overlayfs only.
    #[serde(default)]
    pub(in crate::container) data: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::container) struct Mount {
    /// `bind`, `volume`.
    #[serde(rename = "Type")]
    pub(in crate::container) kind: String,
    #[serde(default)]
    pub(in crate::container) source: PathBuf,
    pub(in crate::container) destination: PathBuf,
}

impl Info {
    /// One word of the driver's status.
    pub(super) fn status(&self, name: &str) -> Option<&str> {
        let pairs = self.driver_status.iter().flatten();
        pairs
            .filter(|pair| pair.first().is_some_and(|first| first == name))
            .find_map(|pair| pair.get(1))
            .map(String::as_str)
    }
}

impl GraphDriver {
    /// The directories of the layers below the container's own, top first.
    pub(in crate::container) fn lower(&self) -> Vec<PathBuf> {
        let listed = self.data.as_ref().and_then(|data| data.get("LowerDir"));
        listed.map(|listed| listed.split(':').map(PathBuf::from).collect()).unwrap_or_default()
    }

    /// The directory of the container's own layer.
    pub(in crate::container) fn upper(&self) -> Option<PathBuf> {
        self.data.as_ref()?.get("UpperDir").map(PathBuf::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_dockerd_20_10_told_is_read() {
        let info: Info = serde_json::from_str(
            r#"{"ID":"x","Driver":"overlay2","DriverStatus":[["Backing Filesystem","extfs"],["Supports d_type","true"]],
                "ServerVersion":"20.10.24+dfsg1","DefaultRuntime":"runc","DockerRootDir":"/m/docker"}"#,
        )
        .unwrap();
        assert_eq!(info.status("Backing Filesystem"), Some("extfs"));
        assert_eq!(info.status("Version"), None);
        let inspected: Inspected = serde_json::from_str(
            r#"{"State":{"Status":"running","Running":true,"Pid":4328,"ExitCode":0,"Error":""},
                "GraphDriver":{"Data":{"LowerDir":"/a-init/diff:/b/diff","UpperDir":"/a/diff"}},
                "Mounts":[{"Type":"bind","Source":"/m/bind","Destination":"/iostone/bind","RW":true}]}"#,
        )
        .unwrap();
        assert_eq!(inspected.graph_driver.upper(), Some(PathBuf::from("/a/diff")));
        assert_eq!(inspected.graph_driver.lower().len(), 2);
        assert_eq!(inspected.mounts[0].kind, "bind");
        let vfs: GraphDriver = serde_json::from_str(r#"{"Data":null}"#).unwrap();
        assert_eq!((vfs.lower(), vfs.upper()), (Vec::new(), None));
    }
}
