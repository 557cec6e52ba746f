//! Images that are traps, are no images, or do not say what they are.

use std::fs;

use super::{assert_no_leftovers, assert_ran, assert_refused, has, qemu_img};
use crate::support::{Bench, Said};

/// The text of a flat vmdk, with lines for its extents.
fn cover(extents: &str) -> String {
    format!(
        "# Disk DescriptorFile\nversion=1\nCID=1\nparentCID=ffffffff\ncreateType=\"monolithicFlat\"\n{extents}\n"
    )
}

#[test]
fn extents_that_only_qemu_would_see_are_not_read() {
    needs!("qemu-img");
    let bench = Bench::new();
    bench.write("secret", vec![b's'; 4096]);
    bench.write("decoy", vec![0; 4096]);
    let decoy = "RW 8 FLAT \"decoy\" 0\n";
    let secret = "RW 8 FLAT \"secret\" 0\n";
    let refused = |name: &str, content: &[u8], words: &str| {
        bench.write("trap.vmdk", content);
        // What leaks is what QEMU reads: else the trap would be none.
        qemu_img(&bench, &["convert", "-f", "vmdk", "-O", "raw", "trap.vmdk", "leak.bin"]);
        assert!(fs::read(bench.path("leak.bin")).unwrap().contains(&b's'), "{name} is no trap");
        for command in [&["check", "trap.vmdk"][..], &["convert", "trap.vmdk", "x.raw"][..]] {
            let said = bench.iostone(&[&["image"], command, &["--with-backing"]].concat());
            assert_refused(&said, 2, words);
        }
        assert!(!bench.path("x.raw").exists());
        assert_refused(&bench.iostone(&["image", "check", "trap.vmdk"]), 3, "the extent `decoy`");
        assert_ran(&bench.iostone(&["image", "info", "trap.vmdk"]));
    };
    let padding = "#\n".repeat(40_000);
    refused("a long text", cover(&format!("{decoy}{padding}{secret}")).as_bytes(), "its descriptor has 80");
    refused(
        "numbers and types",
        cover(&format!("{decoy}RW 8VMFS \"secret\"")).as_bytes(),
        "as VMware writes them",
    );

    // Sparse headers without capacity: offset and size of the text stand in sectors behind the grain size.
    let sparse = |offset: u64, sectors: u64, texts: &[(usize, String)]| {
        let mut bytes = vec![0; 160 << 10];
        bytes[..8].copy_from_slice(b"KDMV\x01\0\0\0");
        bytes[20..28].copy_from_slice(&128_u64.to_le_bytes());
        bytes[28..36].copy_from_slice(&offset.to_le_bytes());
        bytes[36..44].copy_from_slice(&sectors.to_le_bytes());
        for (at, text) in texts {
            bytes[*at..at + text.len()].copy_from_slice(text.as_bytes());
        }
        bytes
    };
    let far = sparse(200, 20, &[(512, cover(decoy)), (200 * 512, cover(secret))]);
    refused("a text far behind", &far, "its capacity is nothing");
    let hidden = format!("{decoy}{}{secret}", "#\n".repeat(8000));
    let short = sparse(1, 1, &[(512, cover(&hidden))]);
    refused("a text longer than stated", &short, "its capacity is nothing");
    assert_no_leftovers(&bench);
}

#[test]
fn a_disk_of_which_qemu_leaves_a_part_out_is_not_converted() {
    needs!("qemu-img");
    let bench = Bench::new();
    bench.write("end", vec![b'e'; 4096]);
    bench.write("skipped.vmdk", cover("RW 63 ZERO\nRW 8 FLAT \"end\" 0"));
    qemu_img(&bench, &["convert", "-f", "vmdk", "-O", "raw", "skipped.vmdk", "shifted.bin"]);
    assert_eq!(fs::read(bench.path("shifted.bin")).unwrap(), vec![b'e'; 4096], "QEMU leaves it out no more");
    let said = bench.iostone(&["image", "convert", "skipped.vmdk", "x.raw", "--with-backing"]);
    assert_refused(&said, 2, "QEMU skips its extent `RW 63 ZERO`");
    assert!(!bench.path("x.raw").exists());
    assert_no_leftovers(&bench);
}

#[test]
fn what_is_packed_or_unknown_is_not_taken_for_a_raw_disk() {
    needs!("qemu-img");
    let bench = Bench::new();
    let mut tar = vec![0; 10240];
    tar[257..262].copy_from_slice(b"ustar");
    bench.write("box.ova", &tar);
    bench.write("disk.img", [&b"\x1f\x8b\x08"[..], &[0; 1021]].concat());
    for (name, words) in [("box.ova", "the header of tar"), ("disk.img", "the header of gzip")] {
        for command in [&["info", name][..], &["check", name], &["convert", name, "x.qcow2"]] {
            assert_refused(&bench.iostone(&[&["image"], command].concat()), 2, words);
        }
    }
    assert_ran(&bench.iostone(&["image", "convert", "box.ova", "x.qcow2", "--from", "raw"]));

    bench.write("unknown", [7; 4096]);
    let said = bench.iostone(&["image", "convert", "unknown", "y.qcow2"]);
    assert_refused(&said, 2, "next: `--from raw` if it is");
    assert!(!bench.path("y.qcow2").exists());
    let said = bench.iostone(&["image", "convert", "unknown", "y.qcow2", "--from", "raw"]);
    assert_ran(&said);
    assert!(!said.stdout.contains("recognised as a raw disk by its name only"), "{said:?}");
    bench.write("named.img", [7; 4096]);
    let said = bench.iostone(&["image", "convert", "named.img", "z.qcow2"]);
    assert_ran(&said);
    assert!(said.stdout.contains("recognised as a raw disk by its name only"), "{said:?}");
    assert_no_leftovers(&bench);
}

#[test]
fn snapshots_that_are_left_behind_are_told() {
    needs!("qemu-img");
    let bench = Bench::new();
    qemu_img(&bench, &["create", "-q", "-f", "qcow2", "a.qcow2", "1M"]);
    let words = "snapshots, which are not converted";
    assert!(!bench.iostone(&["image", "info", "a.qcow2"]).stdout.contains("snapshot"));
    qemu_img(&bench, &["snapshot", "-c", "one", "a.qcow2"]);
    qemu_img(&bench, &["snapshot", "-c", "two", "a.qcow2"]);
    for command in [&["info", "a.qcow2"][..], &["check", "a.qcow2"], &["convert", "a.qcow2", "b.vmdk"]] {
        let said = bench.iostone(&[&["image"], command].concat());
        assert_ran(&said);
        assert!(said.stdout.contains(&format!("it has 2 {words}")), "{said:?}");
    }
}

#[test]
fn what_cannot_be_read_or_made_comes_with_what_to_do() {
    needs!("qemu-img");
    let bench = Bench::new();
    bench.write("a.raw", [1; 4096]);
    bench.write("empty.raw", "");
    assert_refused(&bench.iostone(&["image", "info", "/dev/null"]), 2, "; next: name a regular file");
    assert_refused(&bench.iostone(&["image", "info", "."]), 2, "; next: name a regular file");
    assert_refused(&bench.iostone(&["image", "info", "gone.raw"]), 2, "; next: check the path");
    assert_refused(
        &bench.iostone(&["image", "info", "empty.raw"]),
        2,
        "is empty; next: download or create it again",
    );
    let said = bench.iostone(&["image", "convert", "a.raw", "no/where.raw"]);
    assert_refused(&said, 2, "; next: create it, or choose another target");
    bench.write("short.qcow2", b"QFI\xfb\0\0\0\x03");
    assert_refused(
        &bench.iostone(&["image", "info", "short.qcow2"]),
        1,
        "; next: download or create it again",
    );
    // Without a journal nothing is made.
    let mut command = bench.command(&["image", "convert", "a.raw", "b.qcow2"]);
    let said = Said::from(command.env("IOSTONE_STATE_DIR", "/proc/iostone").output().unwrap());
    assert_refused(&said, 2, "IOSTONE_STATE_DIR");
    assert!(!bench.path("b.qcow2").exists());
}
