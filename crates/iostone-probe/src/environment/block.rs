//! Block devices: what stands on what, and the settings of their queues.

use iostone_model::environment::BlockDevice;

use super::pick_chosen;
use crate::root::Root;

const SECTOR_BYTES: u64 = 512;

/// Reads `/sys/class/block` (Documentation/ABI/stable/sysfs-block).
pub(super) fn read_block_devices(root: &Root) -> Vec<BlockDevice> {
    root.entries("/sys/class/block").into_iter().map(|name| read_device(root, name)).collect()
}

fn read_device(root: &Root, name: String) -> BlockDevice {
    let folder = format!("/sys/class/block/{name}");
    let word = |file: &str| root.word(format!("{folder}/{file}"));
    let queue = |file: &str| word(&format!("queue/{file}"));
    let number = |file: &str| queue(file).and_then(|text| text.parse::<u32>().ok());
    let switch = |file: &str| number(file).map(|value| value != 0);
    let first = |files: &[&str]| files.iter().find_map(|file| word(file));
    BlockDevice {
        number: word("dev").unwrap_or_default(),
        parent: root.exists(format!("{folder}/partition")).then(|| find_parent(root, &folder)).flatten(),
        slaves: root.entries(format!("{folder}/slaves")),
        backing_file: root
            .text(format!("{folder}/loop/backing_file"))
            .map(|path| path.strip_suffix('\n').map_or_else(|| path.clone(), str::to_owned))
            .filter(|path| !path.is_empty()),
        size_bytes: word("size")
            .and_then(|text| text.parse::<u64>().ok())
            .unwrap_or_default()
            .saturating_mul(SECTOR_BYTES),
        model: first(&["device/model", "device/name"]).filter(|text| !text.chars().all(char::is_control)),
        serial: first(&["serial", "device/serial"]).or_else(|| read_scsi_serial(root, &folder)),
        firmware: first(&["device/firmware_rev", "device/rev", "device/fwrev"]),
        scheduler: queue("scheduler").and_then(|choice| pick_chosen(&choice)),
        write_cache: queue("write_cache"),
        rotational: switch("rotational"),
        logical_block_bytes: number("logical_block_size"),
        physical_block_bytes: number("physical_block_size"),
        read_ahead_kib: number("read_ahead_kb"),
        nr_requests: number("nr_requests"),
        max_sectors_kib: number("max_sectors_kb"),
        fua: switch("fua"),
        name,
    }
}

/// The whole device of a partition: the folder that its own lies in, `../../devices/.../block/sda/sda1`.
fn find_parent(root: &Root, folder: &str) -> Option<String> {
    let target = root.link(folder)?;
    Some(target.parent()?.file_name()?.to_string_lossy().into_owned())
}

/// The serial number in the SCSI vital product data page 0x80 (SPC-4, 7.8.15): four bytes of header, of which the last
/// two are the length, then text.
fn read_scsi_serial(root: &Root, folder: &str) -> Option<String> {
    parse_serial_page(&root.bytes(format!("{folder}/device/vpd_pg80"))?)
}

fn parse_serial_page(page: &[u8]) -> Option<String> {
    let (&[_, 0x80, high, low], text) = page.split_first_chunk::<4>()? else {
        return None;
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    let serial = String::from_utf8_lossy(text.get(..length).unwrap_or(text));
    let serial = serial.trim_matches(|letter: char| letter.is_whitespace() || letter.is_control());
    (!serial.is_empty()).then(|| serial.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_serial_page_is_read() {
        assert_eq!(parse_serial_page(b"\x00\x80\x00\x06 AB12 junk").as_deref(), Some("AB12"));
        assert_eq!(parse_serial_page(b"\x00\x80\x00\xffAB").as_deref(), Some("AB"));
        assert_eq!(parse_serial_page(b"\x00\x83\x00\x02AB"), None);
        assert_eq!(parse_serial_page(b"\x00\x80\x00\x00"), None);
    }

    proptest! {
        #[test]
        fn no_page_makes_it_panic(page: Vec<u8>) {
            let _ = parse_serial_page(&page);
        }
    }
}
