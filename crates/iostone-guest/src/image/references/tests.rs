//! Headers of images from outside: what they name, what of it is followed, and what is refused.

use super::*;

fn header(head: Vec<u8>) -> Header {
    let size_bytes = head.len() as u64;
    Header { head, tail: Vec::new(), size_bytes }
}

fn qcow2(features: u64) -> Vec<u8> {
    let mut head = vec![0; 4096];
    head[..8].copy_from_slice(b"QFI\xfb\0\0\0\x03");
    head[72..80].copy_from_slice(&features.to_be_bytes());
    head[100..104].copy_from_slice(&104_u32.to_be_bytes());
    head
}

#[test]
fn a_backing_file_is_named_and_its_name_cannot_steer_a_terminal() {
    let mut head = qcow2(0);
    assert!(other_files(ImageFormat::Qcow2, &header(head.clone())).is_empty());
    head[8..16].copy_from_slice(&1024_u64.to_be_bytes());
    head[16..20].copy_from_slice(&12_u32.to_be_bytes());
    head[1024..1036].copy_from_slice(b"/etc/\x1bshadow");
    assert_eq!(
        other_files(ImageFormat::Qcow2, &header(head.clone())),
        ["the backing file `/etc/\\u{1b}shadow`"]
    );
    // A name outside of what is read is a backing file all the same.
    head[8..16].copy_from_slice(&u64::MAX.to_be_bytes());
    assert_eq!(other_files(ImageFormat::Qcow2, &header(head)), ["a backing file"]);
}

#[test]
fn an_external_data_file_is_named() {
    let mut head = qcow2(EXTERNAL_DATA);
    assert_eq!(other_files(ImageFormat::Qcow2, &header(head.clone())), ["a data file"]);
    head[104..108].copy_from_slice(&DATA_FILE_NAME.to_be_bytes());
    head[108..112].copy_from_slice(&8_u32.to_be_bytes());
    head[112..120].copy_from_slice(b"/dev/sda");
    assert_eq!(other_files(ImageFormat::Qcow2, &header(head)), ["the data file `/dev/sda`"]);
}

#[test]
fn a_descriptor_names_its_extents_and_its_parent() {
    let text =
        "# Disk DescriptorFile\nversion=1\nparentFileNameHint=\"/etc/shadow\"\nRW 4 FLAT \"x-flat.vmdk\" 0\n";
    let found = other_files(ImageFormat::Vmdk, &header(text.into()));
    assert_eq!(found, ["the parent `/etc/shadow`", "the extent `x-flat.vmdk`"]);
}

#[test]
fn a_parent_is_found_wherever_it_is_hidden() {
    let hidden =
        "version=1\nparentCID=11111111\nddb.x = 1; parentFileNameHint=\"/etc/passwd\"\nRW\t4 FLAT \"x\" 0\n";
    let vmdk = header(hidden.into());
    assert_eq!(other_files(ImageFormat::Vmdk, &vmdk), ["the parent `/etc/passwd`", "the extent `x`"]);
    let named = named(ImageFormat::Vmdk, &vmdk).unwrap();
    assert_eq!((named.backing, named.extents), (Some(("/etc/passwd".into(), None)), vec!["x".to_owned()]));
    let numbered = header("version=1\nparentCID = 11111111\nRW 4 FLAT \"x\" 0\n".into());
    assert!(other_files(ImageFormat::Vmdk, &numbered)[0].contains("by its number only"));
    assert!(super::named(ImageFormat::Vmdk, &numbered).unwrap_err().contains("a number only"));
    let two =
        header("version=1\nparentFileNameHint=\"a\"\nparentFileNameHint=\"b\"\nRW 4 FLAT \"x\" 0\n".into());
    assert!(super::named(ImageFormat::Vmdk, &two).unwrap_err().contains("more than one"));
    let whole = header("version=1\nparentCID=ffffffff\nRW 4 FLAT \"x\" 0\n".into());
    assert_eq!(other_files(ImageFormat::Vmdk, &whole), ["the extent `x`"]);
}

#[test]
fn only_files_are_followed_and_the_stated_format_goes_with_the_name() {
    let mut head = qcow2(0);
    head[8..16].copy_from_slice(&1024_u64.to_be_bytes());
    head[16..20].copy_from_slice(&8_u32.to_be_bytes());
    head[104..108].copy_from_slice(&BACKING_FORMAT.to_be_bytes());
    head[108..112].copy_from_slice(&3_u32.to_be_bytes());
    head[112..115].copy_from_slice(b"raw");
    head[1024..1032].copy_from_slice(b"base:img");
    assert!(named(ImageFormat::Qcow2, &header(head.clone())).unwrap_err().contains("protocols"));
    head[1024..1032].copy_from_slice(b"./ba:img");
    let found = named(ImageFormat::Qcow2, &header(head)).unwrap();
    assert_eq!(found.backing, Some(("./ba:img".to_owned(), Some("raw".to_owned()))));
}

#[test]
fn a_sparse_disk_names_itself_but_not_with_a_capacity_of_nothing() {
    let mut head = vec![0; 4096];
    head[..4].copy_from_slice(b"KDMV");
    head[12] = 8;
    head[28] = 1;
    head[36] = 2;
    let text = b"version=1\nRW 8 SPARSE \"x.vmdk\"\n";
    head[512..512 + text.len()].copy_from_slice(text);
    assert!(other_files(ImageFormat::Vmdk, &header(head.clone())).is_empty());
    head[12] = 0;
    let found = other_files(ImageFormat::Vmdk, &header(head.clone()));
    assert_eq!(found, ["extents in other files", "the extent `x.vmdk`"]);
    let reason = named(ImageFormat::Vmdk, &header(head)).unwrap_err();
    assert!(reason.contains("capacity is nothing"), "{reason}");
}

#[test]
fn a_descriptor_that_goes_on_behind_what_was_read_is_not_followed() {
    let text = "version=1\nparentCID=ffffffff\nRW 8 FLAT \"decoy\" 0\n";
    assert_eq!(named(ImageFormat::Vmdk, &header(text.into())).unwrap().extents, ["decoy"]);
    let longer = Header { size_bytes: 70_000, ..header(text.into()) };
    assert!(named(ImageFormat::Vmdk, &longer).unwrap_err().contains("70000 bytes"));
    let found = other_files(ImageFormat::Vmdk, &longer);
    assert_eq!(found, ["extents in other files", "the extent `decoy`"]);
}

#[test]
fn an_extent_that_sscanf_would_read_otherwise_is_not_followed() {
    let long = format!("RW 8 VMFS \"{}\"", "x".repeat(512));
    let strange = [
        "RW 8VMFS \"/secret\"",
        "RW 8 VMFSSPARSE\"/secret\"",
        "RW\n8 VMFS \"/secret\"",
        "RW 8 VMFS\n\"/secret\"",
        "\x0bRW +8 VMFS \"/secret\"",
        "RW 8 VMFS \"/secret\r\"",
        "RW 8 VMFS \"/secret",
        "RW 8 VMFS \"/sec\u{fffd}ret\"",
        &long,
    ];
    for line in strange {
        let text = format!("version=1\nparentCID=ffffffff\nRW 8 FLAT \"decoy\" 0\n{line}\n");
        assert!(named(ImageFormat::Vmdk, &header(text.into())).is_err(), "{line:?}");
    }
    for line in ["RW 8 FLAT \"x y.vmdk\" 0\r", "\tRW  8\tSPARSE  \"x y.vmdk\""] {
        let text = format!("version=1\nparentCID=ffffffff\n{line}\n");
        assert_eq!(named(ImageFormat::Vmdk, &header(text.into())).unwrap().extents, ["x y.vmdk"]);
    }
}

#[test]
fn a_disk_of_differences_and_an_encrypted_one_are_told() {
    let mut tail = b"conectix".to_vec();
    tail.resize(512, 0);
    tail[63] = 4;
    let vhd = Header { head: Vec::new(), tail, size_bytes: 512 };
    assert!(unreadable(ImageFormat::Vhd, &vhd).unwrap().contains("differencing disk"));
    let mut head = qcow2(0);
    head[35] = 2;
    assert!(unreadable(ImageFormat::Qcow2, &header(head)).unwrap().contains("encrypted"));
}

#[test]
fn a_descriptor_longer_than_what_is_looked_at_for_its_parent_is_read_to_its_end() {
    let lines = (1..=250).map(|number| format!("RW 4192256 SPARSE \"warehouse-2015-s{number:03}.vmdk\"\n"));
    let lines: String = lines.collect();
    let text = format!(
        "# Disk DescriptorFile\nversion=1\nCID=1\nparentCID=ffffffff\ncreateType=\"twoGbMaxExtentSparse\"\n{lines}"
    );
    assert!(
        text.len() > DESCRIPTOR_BYTES && text.as_bytes()[DESCRIPTOR_BYTES - 1] != b'\n',
        "{}",
        text.len()
    );
    let found = named(ImageFormat::Vmdk, &header(text.clone().into())).unwrap();
    assert_eq!((found.backing, found.extents.len()), (None, 250));
    assert_eq!(found.extents[249], "warehouse-2015-s250.vmdk");
    assert_eq!(other_files(ImageFormat::Vmdk, &header(text.clone().into())).len(), 250);
    // A parent beyond the place where QEMU looks for one is told, and not followed.
    let text = format!("{text}parentFileNameHint=\"base.vmdk\"\n");
    let reason = named(ImageFormat::Vmdk, &header(text.into())).unwrap_err();
    assert!(reason.contains("not where QEMU reads it"), "{reason}");
}

#[test]
fn an_extent_that_qemu_leaves_out_makes_the_disk_unreadable() {
    let reason_of = |line: &str| {
        let text = format!("version=1\nparentCID=ffffffff\nRW 8 FLAT \"x\" 0\n{line}\nRW 8 FLAT \"y\" 0\n");
        unreadable(ImageFormat::Vmdk, &header(text.into()))
    };
    for line in ["RW 63 ZERO", "RW 63 ZERO\r", "NOACCESS 63 ZERO", "RDONLY 8 FLAT \"z\" 0"] {
        let reason = reason_of(line).unwrap();
        let shown = line.trim();
        assert!(reason.contains(&format!("QEMU skips its extent `{}`", shown.escape_debug())), "{reason}");
    }
    assert_eq!(reason_of("RW 8 FLAT \"ZERO\" 0"), None);
    assert_eq!(reason_of("# RW 63 ZERO"), None);
}
