//! Whether a device is one that a session may have set: claimed by it, or attached or joined, which its marks tell.

use crate::array::{arrays_of, mapped_name};
use crate::device::{BlockDevice, DeviceNumber, read_attribute};
use crate::journal::{Claim, Journal};
use crate::site::own_directory_name;
use crate::step::Step;
use crate::volume::{is_carried_by_us, loop_name, open_attached};

pub(super) fn is_own(journal: &Journal, number: DeviceNumber, diskseq: Option<u64>) -> bool {
    journal.claims.contains(&Claim { number, diskseq })
        || BlockDevice::numbered(number).is_ok_and(|device| is_marked(journal, &device))
}

fn is_marked(journal: &Journal, device: &BlockDevice) -> bool {
    let token = &journal.owner.token;
    let is_own_loop = || {
        open_attached(&device.path)
            .is_ok_and(|attached| attached.is_some_and(|(_, status)| status.file_name() == loop_name(token)))
    };
    let is_own_volume = || {
        read_attribute(&device.sysfs().join("dm/name"))
            .is_ok_and(|name| name == mapped_name(&own_directory_name(token)))
    };
    let is_own_array = || {
        journal.entries.iter().any(
            |entry| matches!(&entry.step, Step::MdArray { uuid, .. } if arrays_of(uuid).contains(device)),
        )
    };
    is_own_loop() || is_own_volume() || is_own_array() || is_carried_by_us(device.number)
}
