//! What the firmware says the machine is.

use std::collections::BTreeMap;

use crate::root::Root;

/// Strings that name a kind of machine. Serial numbers and UUIDs, which name one machine, are left out: a run
/// directory is made to be handed round.
const FIELDS: [&str; 12] = [
    "sys_vendor",
    "product_name",
    "product_version",
    "product_family",
    "board_vendor",
    "board_name",
    "board_version",
    "bios_vendor",
    "bios_version",
    "bios_date",
    "chassis_vendor",
    "chassis_asset_tag",
];

/// Reads `/sys/class/dmi/id` (SMBIOS 3, types 0 to 3), or the model of a device tree as `product_name` where there is
/// no DMI. Empty where there is neither.
pub(super) fn read_dmi(root: &Root) -> BTreeMap<String, String> {
    let mut dmi: BTreeMap<String, String> = FIELDS
        .iter()
        .filter_map(|field| Some(((*field).to_owned(), root.word(format!("/sys/class/dmi/id/{field}"))?)))
        .collect();
    if dmi.is_empty()
        && let Some(model) = root.word("/proc/device-tree/model")
    {
        dmi.insert("product_name".to_owned(), model);
    }
    dmi
}
