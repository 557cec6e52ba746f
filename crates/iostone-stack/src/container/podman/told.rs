//! What Podman tells of itself, as far as it is used (podman-info(1)); of containers it tells what Docker tells.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

/// `podman info`.
#[derive(Debug, Deserialize)]
pub(super) struct Info {
    pub(super) host: Host,
    pub(super) store: Store,
    pub(super) version: Version,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Host {
    pub(super) oci_runtime: Runtime,
}

#[derive(Debug, Deserialize)]
pub(super) struct Runtime {
    pub(super) name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Store {
    #[serde(rename = "graphDriverName")]
    pub(super) driver: String,
    #[serde(rename = "graphRoot")]
    pub(super) root: PathBuf,
    /// Words, and of some drivers lists.
    #[serde(rename = "graphStatus", default)]
    pub(super) status: Option<BTreeMap<String, serde_json::Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Version {
    pub(super) version: String,
}

impl Info {
    /// The filesystem below, as Podman names it.
    pub(super) fn backing_filesystem(&self) -> Option<&str> {
        self.store.status.as_ref()?.get("Backing Filesystem")?.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::docker::told::Inspected;

    #[test]
    fn what_podman_4_3_told_is_read() {
        let info: Info = serde_json::from_str(
            r#"{"host":{"arch":"amd64","ociRuntime":{"name":"runc","path":"/usr/bin/runc"}},
                "store":{"graphDriverName":"overlay","graphRoot":"/m/podman","graphStatus":{
                "Backing Filesystem":"extfs","Native Overlay Diff":"true"}},
                "version":{"APIVersion":"4.3.1","Version":"4.3.1","Built":0}}"#,
        )
        .unwrap();
        assert_eq!(info.backing_filesystem(), Some("extfs"));
        assert_eq!((info.version.version.as_str(), info.host.oci_runtime.name.as_str()), ("4.3.1", "runc"));
        let inspected: Inspected = serde_json::from_str(
            r#"{"State":{"Status":"running","Running":true,"Pid":7,"Error":""},"GraphDriver":{"Name":"overlay",
                "Data":{"LowerDir":"/a/diff","UpperDir":"/b/diff"}},"Mounts":[{"Type":"volume","Name":"v",
                "Source":"/m/volumes/v/_data","Destination":"/iostone/volume","Options":[]}]}"#,
        )
        .unwrap();
        assert_eq!(inspected.graph_driver.upper(), Some(PathBuf::from("/b/diff")));
        assert_eq!(inspected.mounts[0].kind, "volume");
    }
}
