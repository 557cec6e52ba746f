//! Network interfaces with their drivers.

use iostone_model::environment::NetworkInterface;

use crate::root::Root;

/// Reads `/sys/class/net`. The speed of an interface that is down cannot be read, and a virtual one's is -1: both are
/// `None`.
pub(super) fn read_interfaces(root: &Root) -> Vec<NetworkInterface> {
    root.entries("/sys/class/net")
        .into_iter()
        // `bonding_masters` is a file among the interfaces.
        .filter(|name| name != "bonding_masters")
        .map(|name| {
            let folder = format!("/sys/class/net/{name}");
            NetworkInterface {
                driver: root.link_name(format!("{folder}/device/driver")),
                speed_mbit: root
                    .number::<i64>(format!("{folder}/speed"))
                    .and_then(|speed| u64::try_from(speed).ok()),
                name,
            }
        })
        .collect()
}
